//! How a station gets at the medium, and how much it sends when it has it.

use crate::phy::Mode;
use crate::{ConfigError, Nanos};

/// Octets of the delimiter before each MPDU of an A-MPDU (9.7.1).
const DELIMITER_LEN_B: usize = 4;
/// Each subframe of an A-MPDU but the last is padded to a multiple of this many octets (9.7.1).
const SUBFRAME_ALIGN_B: usize = 4;

/// Which of the standard's two countdown rules a backoff follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Countdown {
    /// DCF: the counter falls by one for each whole idle slot after the interframe space (10.3.4.3).
    PerIdleSlot,
    /// EDCA: the counter falls at each slot boundary, the one at the end of AIFS and the one at which another
    /// station starts included, so that a frozen counter is one lower than with DCF (10.23.2.4).
    PerBoundary,
}

/// Parameters of DCF or of one EDCA access category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Interframe space beyond SIFS, in slots: 2 is DIFS.
    pub aifsn: u8,
    /// Contention window of a first transmission, slots; a power of two less one.
    pub cw_min: u16,
    /// Largest contention window, slots; a power of two less one.
    pub cw_max: u16,
    /// Transmissions of an MPDU before it is given up (dot11ShortRetryLimit).
    pub retry_limit: u8,
    /// How a backoff counts down.
    pub countdown: Countdown,
    /// Whether a station that heard a collision waits EIFS, as 10.3.7 says, and one that took part waits
    /// `AckTimeout`. Models after Bianchi let every station go on after a plain interframe space: `false` is
    /// for checks against them.
    pub eifs: bool,
}

impl Access {
    /// DCF with OFDM: DIFS 34 us, contention window 15 to 1023, 7 transmissions (10.3, Table 17-21).
    #[must_use]
    pub const fn dcf() -> Access {
        Access {
            aifsn: 2,
            cw_min: 15,
            cw_max: 1023,
            retry_limit: 7,
            countdown: Countdown::PerIdleSlot,
            eifs: true,
        }
    }

    /// EDCA, best effort: AIFSN 3, contention window 15 to 1023, TXOP limit 0, so one PPDU a TXOP (Table
    /// 9-155).
    #[must_use]
    pub const fn edca_best_effort() -> Access {
        Access {
            aifsn: 3,
            countdown: Countdown::PerBoundary,
            ..Access::dcf()
        }
    }

    /// DIFS or AIFS on a PHY: SIFS and `aifsn` slots (10.3.2.3.5, 10.3.2.3.6).
    #[must_use]
    pub fn ifs(&self, mode: &Mode) -> Nanos {
        mode.sifs() + mode.slot() * u64::from(self.aifsn)
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let window = |cw: u16| cw < u16::MAX && (cw + 1).is_power_of_two();
        if !window(self.cw_min) || !window(self.cw_max) || self.cw_min > self.cw_max {
            return Err(ConfigError::ContentionWindow {
                min: self.cw_min,
                max: self.cw_max,
            });
        }
        if self.retry_limit == 0 {
            return Err(ConfigError::RetryLimit);
        }
        Ok(())
    }
}

/// Whether and how far MPDUs are joined in one PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregation {
    /// One MPDU a PPDU, answered by an Ack.
    None,
    /// Two or more waiting MPDUs form an A-MPDU, answered by a `BlockAck`; one alone goes as without
    /// aggregation.
    Ampdu {
        /// MPDUs in one A-MPDU: at most 64, the bitmap of the compressed `BlockAck`.
        max_mpdus: usize,
        /// Octets of the A-MPDU, delimiters and padding included.
        max_len_b: usize,
        /// Airtime of the PPDU.
        max_duration: Nanos,
    },
}

impl Aggregation {
    /// The longest A-MPDU of HT: 64 MPDUs, 65 535 octets (Maximum A-MPDU Length Exponent 3, 9.4.2.55.3),
    /// 5.484 ms.
    ///
    /// The airtime is not aPPDUMaxTime of Table 19-25 (10 ms): an HT-mixed PPDU announces its length in
    /// L-SIG, whose 12 bits at 6 Mbit/s reach 20 us + 4 us * (4095 + 3) / 3 = 5484 us (19.3.9.3.5, 10.27.4).
    #[must_use]
    pub const fn ht() -> Aggregation {
        Aggregation::Ampdu {
            max_mpdus: 64,
            max_len_b: 65_535,
            max_duration: Nanos(5_484_000),
        }
    }

    pub(crate) fn check(&self, mode: &Mode) -> Result<(), ConfigError> {
        match *self {
            Aggregation::None => Ok(()),
            Aggregation::Ampdu { .. } if !mode.is_ht() => Err(ConfigError::AmpduWithoutHt(*mode)),
            Aggregation::Ampdu { max_mpdus, .. } if !(1..=64).contains(&max_mpdus) => {
                Err(ConfigError::AmpduCount(max_mpdus))
            }
            Aggregation::Ampdu { .. } => Ok(()),
        }
    }
}

/// [`Aggregation`] on one mode: what of a queue goes into the next PPDU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packer {
    max_mpdus: usize,
    max_len_b: usize,
}

impl Packer {
    pub(crate) fn new(aggregation: &Aggregation, mode: &Mode) -> Packer {
        match *aggregation {
            Aggregation::None => Packer {
                max_mpdus: 1,
                max_len_b: 0,
            },
            Aggregation::Ampdu {
                max_mpdus,
                max_len_b,
                max_duration,
            } => Packer {
                max_mpdus,
                max_len_b: max_len_b.min(mode.max_psdu_len_b(max_duration)),
            },
        }
    }

    /// Number of MPDUs and octets of the PSDU that a station sends when MPDUs of these lengths wait, oldest
    /// first. The oldest is taken whatever the limits.
    pub(crate) fn pack(&self, mut lens_b: impl Iterator<Item = usize>) -> (usize, usize) {
        let first_b = lens_b.next().expect("a station sends only when an MPDU waits");
        let mut psdu_b = DELIMITER_LEN_B + first_b;
        let mut mpdus = 1;
        for len_b in lens_b.take(self.max_mpdus.saturating_sub(1)) {
            let longer_b = psdu_b.next_multiple_of(SUBFRAME_ALIGN_B) + DELIMITER_LEN_B + len_b;
            if longer_b > self.max_len_b {
                break;
            }
            psdu_b = longer_b;
            mpdus += 1;
        }
        if mpdus == 1 { (1, first_b) } else { (mpdus, psdu_b) }
    }
}
