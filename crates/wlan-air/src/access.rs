//! Channel access and the size of a transmission: DCF, EDCA, aggregation and framing.

use crate::phy::{Bss, MAX_PPDU_DURATION, Mode};
use crate::{ConfigError, Nanos};

/// Octets of the delimiter before each MPDU of an A-MPDU (9.7.1).
pub(crate) const DELIMITER_LEN_B: usize = 4;
/// Each subframe of an A-MPDU except the last is padded to a multiple of this many octets (9.7.1).
const SUBFRAME_ALIGN_B: usize = 4;
/// MPDUs that a compressed `BlockAck` can acknowledge, which is also the transmit window (9.3.1.8.2).
pub(crate) const BLOCK_ACK_WINDOW: usize = 64;
/// Octets of the header of each subframe of an A-MSDU: DA, SA, length (9.3.2.2.2).
const AMSDU_HEADER_LEN_B: usize = 14;

/// The countdown rule of a backoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Countdown {
    /// DCF: the counter decreases by one for each whole idle slot after the interframe space (10.3.4.3).
    PerIdleSlot,
    /// EDCA: the counter decreases at each slot boundary, including the boundary at the end of AIFS and the
    /// boundary at which another station starts. A frozen counter is therefore one lower than with DCF
    /// (10.23.2.4).
    PerBoundary,
}

/// An EDCA access category, in ascending order of priority (10.2.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Background.
    Bk,
    /// Best effort.
    Be,
    /// Video.
    Vi,
    /// Voice.
    Vo,
}

/// Parameters of DCF or of one EDCA access category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Interframe space after SIFS, in slots; 2 gives DIFS.
    pub aifsn: u8,
    /// Contention window of the first transmission, in slots; a power of two minus one.
    pub cw_min: u16,
    /// Largest contention window, in slots; a power of two minus one.
    pub cw_max: u16,
    /// Largest number of exchanges per MPDU, including exchanges that end with a failed RTS
    /// (dot11ShortRetryLimit). Then the MPDU is dropped. With [`RateControl::Driver`], it limits only the
    /// consecutive failed RTSs of an MPDU; the driver limits the transmissions.
    ///
    /// [`RateControl::Driver`]: crate::RateControl::Driver
    pub retry_limit: u8,
    /// Largest duration of a TXOP; zero allows a single exchange (9.4.2.28).
    pub txop_limit: Nanos,
    /// The countdown rule.
    pub countdown: Countdown,
}

impl Access {
    /// DCF with OFDM: DIFS, contention window 15 to 1023, 7 transmissions (10.3, Table 17-21).
    #[must_use]
    pub const fn dcf() -> Access {
        Access {
            aifsn: 2,
            cw_min: 15,
            cw_max: 1023,
            retry_limit: 7,
            txop_limit: Nanos::ZERO,
            countdown: Countdown::PerIdleSlot,
        }
    }

    /// EDCA with OFDM and later PHYs: the parameters that WMM defines for stations and that hostapd and Linux
    /// use. They equal Table 9-155, except that WMM sets the TXOP limit of best effort and background to
    /// zero, which allows one exchange per TXOP.
    #[must_use]
    pub const fn edca(category: Category) -> Access {
        let (aifsn, cw_min, cw_max, txop_limit_us) = match category {
            Category::Bk => (7, 15, 1023, 0),
            Category::Be => (3, 15, 1023, 0),
            Category::Vi => (2, 7, 15, 3008),
            Category::Vo => (2, 3, 7, 1504),
        };
        Access {
            aifsn,
            cw_min,
            cw_max,
            txop_limit: Nanos::from_us(txop_limit_us),
            countdown: Countdown::PerBoundary,
            ..Access::dcf()
        }
    }

    /// EDCA, best effort: AIFSN 3, contention window 15 to 1023, one exchange per TXOP.
    #[must_use]
    pub const fn edca_best_effort() -> Access {
        Access::edca(Category::Be)
    }

    /// The access of an access point's beacons: PIFS, no backoff, one frame at a time (AIFSN 1, contention
    /// window 0). It is the last element of [`StationConfig::access`], after the access categories, so it has
    /// the highest priority. A driver that builds beacons sends them there as group-addressed frames.
    /// [`MediumConfig::beacons`] requires no contender.
    ///
    /// [`StationConfig::access`]: crate::StationConfig::access
    /// [`MediumConfig::beacons`]: crate::MediumConfig::beacons
    #[must_use]
    pub const fn beacon() -> Access {
        Access {
            aifsn: 1,
            cw_min: 0,
            cw_max: 0,
            ..Access::edca(Category::Be)
        }
    }

    /// The default access of stations that send in this mode: DCF with aCWmin of the PHY, or EDCA best effort
    /// with HT and VHT.
    #[must_use]
    pub const fn for_mode(mode: &Mode) -> Access {
        if mode.phy().is_ht() {
            return Access::edca_best_effort();
        }
        Access {
            cw_min: mode.phy().cw_min,
            ..Access::dcf()
        }
    }

    /// DIFS or AIFS in a BSS: SIFS plus `aifsn` slots (10.3.2.3.5, 10.3.2.3.6).
    #[must_use]
    pub fn ifs(&self, bss: &Bss) -> Nanos {
        bss.sifs() + bss.slot() * u64::from(self.aifsn)
    }

    /// Largest TXOP limit of the EDCA Parameter Set element: 65 535 units of 32 us (9.4.2.28).
    pub const TXOP_LIMIT_MAX: Nanos = Nanos::from_us(65_535 * 32);

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
        if self.txop_limit > Access::TXOP_LIMIT_MAX {
            return Err(ConfigError::TxopLimit(self.txop_limit));
        }
        Ok(())
    }
}

/// Limits of the aggregation of MSDUs and MPDUs in one PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Aggregation {
    /// Largest number of MPDUs in one A-MPDU, which a `BlockAck` acknowledges: at most 64, the bitmap of the
    /// compressed `BlockAck`. With 1, no A-MPDU is formed and each MPDU is acknowledged by an Ack. A single
    /// MPDU is sent without aggregation.
    pub max_mpdus: usize,
    /// Largest A-MPDU in octets, including delimiters and padding.
    pub max_len_b: usize,
    /// Largest A-MSDU in octets, which is the body of its MPDU; zero means one MSDU per MPDU.
    pub max_amsdu_len_b: usize,
}

impl Aggregation {
    /// One MPDU per PPDU, one MSDU per MPDU.
    pub const NONE: Aggregation = Aggregation {
        max_mpdus: 1,
        max_len_b: 0,
        max_amsdu_len_b: 0,
    };

    /// The largest A-MPDUs of this mode: 64 MPDUs; 65 535 octets with HT (Maximum A-MPDU Length Exponent 3,
    /// 9.4.2.55.3) or 1 048 575 with VHT (exponent 7, 9.4.2.157.2); 5.484 ms. [`Aggregation::NONE`] for a
    /// mode without aggregation.
    ///
    /// The limit of the airtime is not aPPDUMaxTime of Table 19-25 (10 ms). An HT-mixed PPDU announces its
    /// length in L-SIG, whose 12 bits at 6 Mbit/s allow 20 us + 4 us * (4095 + 3) / 3 = 5484 us (19.3.9.3.5,
    /// 10.27.4).
    #[must_use]
    pub const fn ampdu(mode: &Mode) -> Aggregation {
        match mode.max_ampdu_len_b() {
            None => Aggregation::NONE,
            Some(max_len_b) => Aggregation {
                max_mpdus: BLOCK_ACK_WINDOW,
                max_len_b,
                ..Aggregation::NONE
            },
        }
    }

    /// Octets of the longest A-MSDU for a PPDU of this mode that lasts at most `duration`; zero if no A-MSDU
    /// is formed.
    pub(crate) fn max_amsdu_b(&self, mode: &Mode, framing: &Framing, duration: Nanos) -> usize {
        let psdu_b = mode.max_psdu_len_b(MAX_PPDU_DURATION.min(duration));
        let around_b = framing.mpdu_len_b(0) + DELIMITER_LEN_B;
        self.max_amsdu_len_b.min(psdu_b.saturating_sub(around_b))
    }

    /// Checks the number of MPDUs, which does not depend on the mode.
    pub(crate) fn check_count(&self) -> Result<(), ConfigError> {
        if (1..=BLOCK_ACK_WINDOW).contains(&self.max_mpdus) {
            Ok(())
        } else {
            Err(ConfigError::AmpduCount(self.max_mpdus))
        }
    }

    pub(crate) fn check(&self, mode: &Mode, framing: &Framing) -> Result<(), ConfigError> {
        self.check_count()?;
        let Some(limits) = &mode.phy().aggregation else {
            return if self.max_mpdus > 1 || self.max_amsdu_len_b > 0 {
                Err(ConfigError::AggregationWithoutHt(*mode))
            } else {
                Ok(())
            };
        };
        if self.max_mpdus > 1 && self.max_len_b > limits.max_ampdu_len_b {
            return Err(ConfigError::AmpduLength {
                len_b: self.max_len_b,
                max_len_b: limits.max_ampdu_len_b,
                mode: *mode,
            });
        }
        if self.max_amsdu_len_b > limits.max_amsdu_len_b {
            return Err(ConfigError::AmsduLength {
                len_b: self.max_amsdu_len_b,
                max_len_b: limits.max_amsdu_len_b,
                mode: *mode,
            });
        }
        let len_b = framing.mpdu_len_b(self.max_amsdu_len_b);
        match limits.max_mpdu_in_ampdu_b {
            Some(max_len_b) if self.max_mpdus > 1 && len_b > max_len_b => {
                Err(ConfigError::MpduInAmpdu { len_b, max_len_b })
            }
            _ => Ok(()),
        }
    }
}

/// Octets that an MPDU adds to its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Framing {
    /// MAC header and FCS: 28, or 30 with the QoS Control field (9.3.2.1).
    pub mac_b: usize,
    /// Security header and trailer of the cipher suite (12.5).
    pub security_b: usize,
    /// The part of `security_b` that belongs to the MSDU rather than to each MPDU: the MIC of TKIP
    /// (12.5.2.1.2), and all octets that the hosts added above the MAC.
    pub security_of_msdu_b: usize,
}

impl Framing {
    /// The framing of this mode (QoS data frames with HT and VHT) with `security_b` octets of security.
    #[must_use]
    pub const fn new(mode: &Mode, security_b: usize) -> Framing {
        let qos_b = if mode.phy().is_ht() { 2 } else { 0 };
        Framing {
            mac_b: 24 + 4 + qos_b,
            security_b,
            security_of_msdu_b: 0,
        }
    }

    /// Length in octets of an MPDU with a body of `body_b` octets.
    #[must_use]
    pub const fn mpdu_len_b(&self, body_b: usize) -> usize {
        self.mac_b + self.security_b + body_b
    }

    /// Length in octets of an MPDU with `part_b` octets of an MSDU and its MIC.
    #[must_use]
    pub const fn fragment_len_b(&self, part_b: usize) -> usize {
        self.mpdu_len_b(part_b) - self.security_of_msdu_b
    }
}

/// Length in octets of an A-MSDU of `body_b` octets after an MSDU of `msdu_b` octets is appended.
///
/// All subframes except the last are padded to a multiple of four octets (9.3.2.2.2).
pub(crate) fn amsdu_len_b(body_b: usize, msdu_b: usize) -> usize {
    body_b.next_multiple_of(4) + AMSDU_HEADER_LEN_B + msdu_b
}

/// The PSDU of MPDUs that join one by one.
///
/// A VHT PPDU always carries an A-MPDU, even of one MPDU (10.12.8). In the other modes, a single MPDU has no
/// delimiter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Psdu {
    always_ampdu: bool,
    max_len_b: usize,
    max_mpdus: usize,
    mpdus: usize,
    /// Length in octets as an A-MPDU.
    ampdu_b: usize,
    first_b: usize,
}

impl Psdu {
    /// An empty PSDU for PPDUs of this mode that last at most `duration`.
    pub fn new(aggregation: &Aggregation, mode: &Mode, duration: Nanos) -> Psdu {
        let carried_b = mode.max_ampdu_len_b().unwrap_or(0);
        let max_mpdus = if carried_b == 0 { 1 } else { aggregation.max_mpdus };
        let max_len_b = if max_mpdus == 1 {
            0
        } else {
            let by_time_b = mode.max_psdu_len_b(MAX_PPDU_DURATION.min(duration));
            aggregation.max_len_b.min(carried_b).min(by_time_b)
        };
        Psdu {
            always_ampdu: mode.always_ampdu(),
            max_len_b,
            max_mpdus,
            mpdus: 0,
            ampdu_b: 0,
            first_b: 0,
        }
    }

    /// Adds an MPDU of `len_b` octets if it fits. The first MPDU is accepted regardless of the limits.
    pub fn join(&mut self, len_b: usize) -> bool {
        let longer_b = self.ampdu_b.next_multiple_of(SUBFRAME_ALIGN_B) + DELIMITER_LEN_B + len_b;
        if self.mpdus > 0 && (self.mpdus == self.max_mpdus || longer_b > self.max_len_b) {
            return false;
        }
        if self.mpdus == 0 {
            self.first_b = len_b;
        }
        self.ampdu_b = longer_b;
        self.mpdus += 1;
        true
    }

    /// Whether no further MPDU may join.
    pub fn is_full(&self) -> bool {
        self.mpdus >= self.max_mpdus
    }

    /// The number of MPDUs.
    pub fn mpdus(&self) -> usize {
        self.mpdus
    }

    /// Length of the PSDU in octets.
    pub fn len_b(&self) -> usize {
        if self.mpdus == 1 && !self.always_ampdu {
            self.first_b
        } else {
            self.ampdu_b
        }
    }
}
