//! The data field of a PPDU: the airtime of its octets.

use super::{CodeRate, GuardInterval};
use crate::Nanos;

/// A symbol with the 800 ns guard interval (Tables 17-5, 19-6, 21-5).
const SYMBOL: Nanos = Nanos::from_us(4);
/// A symbol with the 400 ns guard interval (Tables 19-6, 21-5).
const SYMBOL_SHORT_GI: Nanos = Nanos(3_600);
/// SERVICE field, bits (17.3.5.2, 19.3.11.2, 21.3.10.2).
const SERVICE_BITS: u64 = 16;
/// Tail of one BCC encoder, bits (17.3.5.3, 19.3.4, 21.3.10.1).
const TAIL_BITS: u64 = 6;

/// How the data field of a PPDU carries its octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Data {
    /// DSSS and CCK: octets at a constant rate. The PPDU lasts a whole number of microseconds, the unit of
    /// LENGTH (16.2.3.5, 16.3.4).
    Octets {
        /// Rate in kbit/s.
        rate_kbps: u32,
    },
    /// OFDM: symbols that carry SERVICE, the PSDU, a tail per encoder and pad bits (N_SYM of 17.3.5.4,
    /// 19.3.11.4, 21.4.3).
    Symbols {
        /// Data bits per symbol, N_DBPS.
        bits: u16,
        /// BCC encoders, N_ES.
        encoders: u8,
        /// Guard interval, which determines the duration of a symbol.
        gi: GuardInterval,
    },
}

impl Data {
    /// Data rate in kbit/s, rounded down.
    pub(super) const fn rate_kbps(self) -> u64 {
        match self {
            Data::Octets { rate_kbps } => rate_kbps as u64,
            Data::Symbols { bits, gi, .. } => bits as u64 * 1_000_000 / symbol(gi).0,
        }
    }

    /// Duration of the data field with a PSDU of `psdu_len_b` octets.
    pub(super) const fn duration(self, psdu_len_b: usize) -> Nanos {
        match self {
            Data::Octets { rate_kbps } => {
                Nanos::from_us((8_000 * psdu_len_b as u64).div_ceil(rate_kbps as u64))
            }
            Data::Symbols { bits, encoders, gi } => {
                let carried = SERVICE_BITS + 8 * psdu_len_b as u64 + TAIL_BITS * encoders as u64;
                let symbols = symbol(gi).0 * carried.div_ceil(bits as u64);
                // With the short guard interval, the PPDU ends at a multiple of 4 us (19.4.3, 21.4.3),
                // because L-SIG counts 4 us symbols.
                Nanos(symbols.next_multiple_of(SYMBOL.0))
            }
        }
    }

    /// The inverse of [`Data::duration`]: octets of the longest PSDU.
    pub(super) fn max_psdu_len_b(self, duration: Nanos) -> usize {
        let bits = match self {
            Data::Octets { rate_kbps } => duration.0 / 1_000 * u64::from(rate_kbps) / 1_000,
            Data::Symbols { bits, encoders, gi } => {
                let symbols = (duration.0 - duration.0 % SYMBOL.0) / symbol(gi).0;
                let overhead = SERVICE_BITS + TAIL_BITS * u64::from(encoders);
                (symbols * u64::from(bits)).saturating_sub(overhead)
            }
        };
        usize::try_from(bits / 8).unwrap_or(usize::MAX)
    }

    /// Coded bits of all streams, Mbit/s.
    pub(super) fn coded_mbps(self, code_rate: CodeRate) -> f64 {
        let (bits, gi) = match self {
            Data::Octets { rate_kbps } => return f64::from(rate_kbps) / 1e3,
            Data::Symbols { bits, gi, .. } => (bits, gi),
        };
        let (numerator, denominator) = code_rate.ratio();
        let coded_bits = f64::from(bits) * f64::from(denominator) / f64::from(numerator);
        coded_bits / symbol(gi).as_us_f64()
    }
}

const fn symbol(gi: GuardInterval) -> Nanos {
    match gi {
        GuardInterval::Long => SYMBOL,
        GuardInterval::Short => SYMBOL_SHORT_GI,
    }
}
