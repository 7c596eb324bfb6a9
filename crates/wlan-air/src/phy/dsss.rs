//! DSSS (clause 15) and HR/DSSS (clause 16): 802.11b.

use std::fmt;

use super::{CodeRate, Format, Mode, Modulation, PhyError, Preamble};
use crate::Nanos;

impl Mode {
    /// A rate of clauses 15 and 16, in kbit/s: 1000, 2000, 5500 or 11000 (16.2.3.3; CCK, no PBCC).
    ///
    /// # Errors
    /// [`PhyError::DsssRate`] for any other rate; [`PhyError::ShortPreamble`] for 1 Mbit/s with the short
    /// preamble, whose header is already sent at 2 Mbit/s (16.2.2.3).
    pub const fn dsss(rate_kbps: u32, preamble: Preamble) -> Result<Mode, PhyError> {
        let (modulation, bits_per_symbol) = match rate_kbps {
            1_000 => (Modulation::Dbpsk, 1),
            2_000 => (Modulation::Dqpsk, 2),
            5_500 => (Modulation::Cck5_5, 4),
            11_000 => (Modulation::Cck11, 8),
            _ => return Err(PhyError::DsssRate(rate_kbps)),
        };
        if rate_kbps == 1_000 && matches!(preamble, Preamble::Short) {
            return Err(PhyError::ShortPreamble);
        }
        Ok(Mode {
            format: Format::Dsss { rate_kbps, preamble },
            modulation,
            code_rate: CodeRate::Uncoded,
            bits_per_symbol,
            encoders: 0,
        })
    }
}

/// SYNC, SFD and PHY header: 144 + 48 bits at 1 Mbit/s, or 72 bits at 1 Mbit/s and 48 bits at 2 Mbit/s
/// (16.2.2).
pub(super) const fn preamble(preamble: Preamble) -> Nanos {
    match preamble {
        Preamble::Long => Nanos::from_us(144 + 48),
        Preamble::Short => Nanos::from_us(72 + 24),
    }
}

/// Duration of the PSDU, rounded up to a whole microsecond, the unit of LENGTH (16.2.3.5, 16.3.4).
pub(super) const fn data_duration(rate_kbps: u32, psdu_len_b: usize) -> Nanos {
    Nanos::from_us((8_000 * psdu_len_b as u64).div_ceil(rate_kbps as u64))
}

/// The inverse of [`data_duration`].
pub(super) fn max_psdu_len_b(rate_kbps: u32, data: Nanos) -> usize {
    let bits = data.0 / 1_000 * u64::from(rate_kbps) / 1_000;
    usize::try_from(bits / 8).unwrap_or(usize::MAX)
}

/// Prints a rate in kbit/s as Mbit/s, such as 5.5.
pub(super) struct Mbps(pub(super) u32);

impl fmt::Display for Mbps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.0) / 1e3)
    }
}
