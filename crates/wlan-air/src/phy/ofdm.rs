//! OFDM (clause 17, 802.11a, 20 MHz spacing), ERP-OFDM (clause 18, 802.11g), and the data field, which HT and
//! VHT share.

use super::{CodeRate, Format, Mode, Modulation, PhyError};
use crate::Nanos;

/// L-STF, L-LTF and SIGNAL, common to every OFDM PPDU (17.3.2, 19.3.2, 21.3.2).
pub(super) const PREAMBLE: Nanos = Nanos::from_us(20);
/// A symbol with the 800 ns guard interval (Tables 17-5, 19-6, 21-5).
pub(super) const SYMBOL: Nanos = Nanos::from_us(4);
/// A symbol with the 400 ns guard interval (Tables 19-6, 21-5).
pub(super) const SYMBOL_SHORT_GI: Nanos = Nanos(3_600);
/// SERVICE field, bits (17.3.5.2, 19.3.11.2, 21.3.10.2).
const SERVICE_BITS: u64 = 16;
/// Tail of one BCC encoder, bits (17.3.5.3, 19.3.4, 21.3.10.1).
const TAIL_BITS: u64 = 6;

impl Mode {
    /// An OFDM rate of clause 17 with 20 MHz spacing, in Mbit/s: 6, 9, 12, 18, 24, 36, 48 or 54 (Table 17-4).
    ///
    /// # Errors
    /// [`PhyError::OfdmRate`] for any other rate.
    pub const fn ofdm(rate_mbps: u16) -> Result<Mode, PhyError> {
        match mode(Format::Ofdm, rate_mbps) {
            Some(mode) => Ok(mode),
            None => Err(PhyError::OfdmRate(rate_mbps)),
        }
    }

    /// An ERP-OFDM rate of clause 18, in Mbit/s: the rates of clause 17 in the 2.4 GHz band (18.3.2.4).
    ///
    /// # Errors
    /// [`PhyError::ErpRate`] for any other rate.
    pub const fn erp(rate_mbps: u16) -> Result<Mode, PhyError> {
        match mode(Format::Erp, rate_mbps) {
            Some(mode) => Ok(mode),
            None => Err(PhyError::ErpRate(rate_mbps)),
        }
    }
}

/// The rates of Table 17-4.
const fn mode(format: Format, rate_mbps: u16) -> Option<Mode> {
    let (modulation, code_rate) = match rate_mbps {
        6 => (Modulation::Bpsk, CodeRate::Half),
        9 => (Modulation::Bpsk, CodeRate::ThreeQuarters),
        12 => (Modulation::Qpsk, CodeRate::Half),
        18 => (Modulation::Qpsk, CodeRate::ThreeQuarters),
        24 => (Modulation::Qam16, CodeRate::Half),
        36 => (Modulation::Qam16, CodeRate::ThreeQuarters),
        48 => (Modulation::Qam64, CodeRate::TwoThirds),
        54 => (Modulation::Qam64, CodeRate::ThreeQuarters),
        _ => return None,
    };
    Some(Mode {
        format,
        modulation,
        code_rate,
        bits_per_symbol: rate_mbps * 4,
        encoders: 1,
    })
}

/// The rate of clause 17 or 18 with this modulation and coding, Mbit/s. This is the non-HT reference rate of
/// an HT or VHT MCS (10.6.11); 64-QAM 5/6 and all of 256-QAM have a reference rate of 54 Mbit/s.
pub(super) const fn reference_rate_mbps(modulation: Modulation, code_rate: CodeRate) -> u16 {
    let half = matches!(code_rate, CodeRate::Half);
    match modulation {
        Modulation::Bpsk if half => 6,
        Modulation::Bpsk => 9,
        Modulation::Qpsk if half => 12,
        Modulation::Qpsk => 18,
        Modulation::Qam16 if half => 24,
        Modulation::Qam16 => 36,
        Modulation::Qam64 if matches!(code_rate, CodeRate::TwoThirds) => 48,
        _ => 54,
    }
}

/// Duration of the data field: SERVICE, PSDU, tails and pad, in symbols of `bits_per_symbol` bits (N_SYM of
/// 17.3.5.4, 19.3.11.4, 21.4.3).
pub(super) const fn data_duration(
    psdu_len_b: usize,
    bits_per_symbol: u16,
    encoders: u8,
    symbol: Nanos,
) -> Nanos {
    let bits = SERVICE_BITS + 8 * psdu_len_b as u64 + TAIL_BITS * encoders as u64;
    let symbols = symbol.0 * bits.div_ceil(bits_per_symbol as u64);
    // With the short guard interval, the PPDU ends at a multiple of 4 us (19.4.3, 21.4.3), because L-SIG
    // counts 4 us symbols.
    Nanos(symbols.next_multiple_of(SYMBOL.0))
}

/// The inverse of [`data_duration`].
pub(super) fn max_psdu_len_b(data: Nanos, bits_per_symbol: u16, encoders: u8, symbol: Nanos) -> usize {
    let symbols = (data.0 - data.0 % SYMBOL.0) / symbol.0;
    let bits = symbols * u64::from(bits_per_symbol);
    let overhead = SERVICE_BITS + TAIL_BITS * u64::from(encoders);
    usize::try_from(bits.saturating_sub(overhead) / 8).unwrap_or(usize::MAX)
}
