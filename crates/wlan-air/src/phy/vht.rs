//! VHT (clause 21): 802.11ac, one user.

use super::{Format, GuardInterval, Mode, PhyError, ht, ofdm};
use crate::Nanos;

/// Maximum data bits per symbol of one BCC encoder, N_DBPS: 600 Mbit/s with 3.6 us symbols (21.5).
const ENCODER_BITS: u32 = 2_160;

impl Mode {
    /// A VHT rate of clause 21 with BCC and no STBC: MCS 0 to 9, 1 to 8 spatial streams, 20, 40, 80 or 160
    /// MHz (80+80 MHz equals 160 MHz).
    ///
    /// Every VHT PPDU carries an A-MPDU: see [`Mode::always_ampdu`].
    ///
    /// # Errors
    /// - [`PhyError::VhtMcs`], [`PhyError::VhtStreams`], [`PhyError::VhtBandwidth`] if clause 21 does not
    ///   define the value.
    /// - [`PhyError::VhtCombination`] if clause 21 does not define the MCS at this width and number of
    ///   streams, because the coded bits of a symbol do not divide into whole punctured blocks of every
    ///   encoder (21.5).
    pub const fn vht(mcs: u8, streams: u8, bandwidth_mhz: u16, gi: GuardInterval) -> Result<Mode, PhyError> {
        if mcs > 9 {
            return Err(PhyError::VhtMcs(mcs));
        }
        if streams == 0 || streams > 8 {
            return Err(PhyError::VhtStreams(streams));
        }
        // Data subcarriers N_SD (Table 21-5).
        let data_subcarriers: u32 = match bandwidth_mhz {
            20 => 52,
            40 => 108,
            80 => 234,
            160 => 468,
            _ => return Err(PhyError::VhtBandwidth(bandwidth_mhz)),
        };
        if !defined(mcs, streams, bandwidth_mhz) {
            return Err(PhyError::VhtCombination {
                mcs,
                streams,
                bandwidth_mhz,
            });
        }
        let (modulation, subcarrier_bits, code_rate) = ht::coding(mcs);
        let (numerator, denominator) = code_rate.ratio();
        let coded_bits = data_subcarriers * subcarrier_bits as u32 * streams as u32;
        let bits_per_symbol = coded_bits * numerator as u32 / denominator as u32;
        // The number of encoders that the rate requires, or the next larger number that divides the coded
        // bits into whole punctured blocks (the tables of 21.5, NOTE on N_ES).
        let mut encoders = bits_per_symbol.div_ceil(ENCODER_BITS);
        while !coded_bits.is_multiple_of(encoders * denominator as u32) {
            encoders += 1;
        }
        #[allow(clippy::cast_possible_truncation)] // at most 24 960 bits and 12 encoders
        Ok(Mode {
            format: Format::Vht {
                mcs,
                streams,
                bandwidth_mhz,
                gi,
            },
            modulation,
            code_rate,
            bits_per_symbol: bits_per_symbol as u16,
            encoders: encoders as u8,
        })
    }
}

/// Whether the tables of 21.5 define the MCS.
const fn defined(mcs: u8, streams: u8, bandwidth_mhz: u16) -> bool {
    match (bandwidth_mhz, mcs) {
        (20, 9) => matches!(streams, 3 | 6),
        (80, 6) => !matches!(streams, 3 | 7),
        (80, 9) => streams != 6,
        (160, 9) => streams != 3,
        _ => true,
    }
}

/// The alternatives to an MCS that is not [`defined`].
pub(super) const fn allowed_instead(mcs: u8, bandwidth_mhz: u16) -> &'static str {
    match (bandwidth_mhz, mcs) {
        (20, _) => "MCS 0 to 8, or MCS 9 with 3 or 6 streams",
        (80, 6) => "another MCS, or MCS 6 with 1, 2, 4, 5, 6 or 8 streams",
        _ => "MCS 0 to 8, or MCS 9 with another number of streams",
    }
}

/// Legacy preamble and L-SIG, VHT-SIG-A 8 us, VHT-STF 4 us, 4 us per VHT-LTF, VHT-SIG-B 4 us (21.3.2).
pub(super) const fn preamble(streams: u8) -> Nanos {
    // VHT long training fields for the number of space-time streams (Table 21-13).
    let training_fields = [1, 2, 4, 4, 6, 6, 8, 8][streams as usize - 1];
    Nanos::from_us(ofdm::PREAMBLE.0 / 1_000 + 8 + 4 + 4 * training_fields + 4)
}
