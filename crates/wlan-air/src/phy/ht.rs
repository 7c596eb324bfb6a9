//! HT-mixed (clause 19): 802.11n.

use super::{Band, CodeRate, Format, GuardInterval, Mode, Modulation, PhyError, ofdm};
use crate::Nanos;

impl Mode {
    /// An HT-mixed rate of clause 19 with equal modulation, BCC and no STBC: MCS 0 to 31 at 20 or 40 MHz.
    ///
    /// # Errors
    /// [`PhyError::HtMcs`] or [`PhyError::HtBandwidth`] if clause 19 does not define the value.
    pub const fn ht(mcs: u8, bandwidth_mhz: u16, gi: GuardInterval, band: Band) -> Result<Mode, PhyError> {
        if mcs > 31 {
            return Err(PhyError::HtMcs(mcs));
        }
        // Data subcarriers N_SD (Table 19-6).
        let data_subcarriers: u16 = match bandwidth_mhz {
            20 => 52,
            40 => 108,
            _ => return Err(PhyError::HtBandwidth(bandwidth_mhz)),
        };
        let (modulation, coded_bits, code_rate) = coding(mcs % 8);
        let (numerator, denominator) = code_rate.ratio();
        let bits_per_symbol = data_subcarriers * coded_bits * streams(mcs) as u16 * numerator / denominator;
        Ok(Mode {
            format: Format::HtMixed {
                mcs,
                bandwidth_mhz,
                gi,
                band,
            },
            modulation,
            code_rate,
            bits_per_symbol,
            // Two encoders above 300 Mbit/s with 4 us symbols: MCS 21-23 and 28-31 at 40 MHz (Tables 19-33,
            // 19-34).
            encoders: if bits_per_symbol > 1200 { 2 } else { 1 },
        })
    }
}

/// Modulation, coded bits per subcarrier and stream (N_BPSCS) and coding rate of an MCS with one stream, HT 0
/// to 7 and VHT 0 to 9 (Tables 19-27, 21-30).
pub(super) const fn coding(mcs: u8) -> (Modulation, u16, CodeRate) {
    match mcs {
        0 => (Modulation::Bpsk, 1, CodeRate::Half),
        1 => (Modulation::Qpsk, 2, CodeRate::Half),
        2 => (Modulation::Qpsk, 2, CodeRate::ThreeQuarters),
        3 => (Modulation::Qam16, 4, CodeRate::Half),
        4 => (Modulation::Qam16, 4, CodeRate::ThreeQuarters),
        5 => (Modulation::Qam64, 6, CodeRate::TwoThirds),
        6 => (Modulation::Qam64, 6, CodeRate::ThreeQuarters),
        7 => (Modulation::Qam64, 6, CodeRate::FiveSixths),
        8 => (Modulation::Qam256, 8, CodeRate::ThreeQuarters),
        _ => (Modulation::Qam256, 8, CodeRate::FiveSixths),
    }
}

/// Spatial streams of an HT MCS, 1 to 4.
pub(super) const fn streams(mcs: u8) -> u8 {
    mcs / 8 + 1
}

/// Legacy preamble and L-SIG, HT-SIG 8 us, HT-STF 4 us, 4 us per HT-LTF (19.3.2).
pub(super) const fn preamble(streams: u8) -> Nanos {
    // HT data long training fields for the number of streams (Table 19-13).
    let training_fields = [1, 2, 4, 4][streams as usize - 1];
    Nanos::from_us(ofdm::PREAMBLE.0 / 1_000 + 8 + 4 + 4 * training_fields)
}
