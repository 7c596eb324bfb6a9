//! PHY rates and the airtime of a PPDU.
//!
//! OFDM of clause 17 (802.11a, 20 MHz) and HT-mixed of clause 19 (802.11n), both in the 5 GHz band: SIFS 16
//! us, slot 9 us, no signal extension. Clauses are those of IEEE Std 802.11-2020.
//!
//! ```text
//! OFDM      | L-STF 8 | L-LTF 8 | SIGNAL 4 |                                  | symbols, 4 us each          |
//! HT-mixed  | L-STF 8 | L-LTF 8 | L-SIG 4  | HT-SIG 8 | HT-STF 4 | HT-LTF 4n | symbols, 4 or 3.6 us each   |
//! symbols carry: SERVICE 16 bits, PSDU, tail 6 bits an encoder, pad to a whole symbol of N_DBPS bits
//! ```

use std::fmt;

use crate::Nanos;

/// Octets of an Ack frame: Frame Control, Duration, RA, FCS (9.3.1.4).
pub const ACK_LEN_B: usize = 14;
/// Octets of a compressed `BlockAck`: Frame Control, Duration, RA, TA, BA Control, Starting Sequence Control,
/// bitmap of 64 MPDUs, FCS (9.3.1.8.2).
pub const BLOCK_ACK_LEN_B: usize = 32;
/// aRxPHYStartDelay of OFDM at 20 MHz spacing (Table 17-21), the format of every answer: preamble and SIGNAL.
const RX_PHY_START_DELAY: Nanos = Nanos::from_us(20);
/// Legacy preamble (L-STF, L-LTF) and SIGNAL, common to every OFDM PPDU (17.3.2, 19.3.2).
const LEGACY_PREAMBLE: Nanos = Nanos::from_us(20);
/// A symbol with the 800 ns guard interval (Tables 17-5, 19-6).
const SYMBOL_LONG_GI: Nanos = Nanos::from_us(4);
/// A symbol with the 400 ns guard interval (Table 19-6).
const SYMBOL_SHORT_GI: Nanos = Nanos(3_600);
/// SERVICE field, bits (17.3.5.2, 19.3.11.2).
const SERVICE_BITS: usize = 16;
/// Tail of one BCC encoder, bits (17.3.5.3, 19.3.4).
const TAIL_BITS: usize = 6;

/// What can be wrong with a PHY rate that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PhyError {
    /// Not a rate of clause 17.
    #[error("802.11a has no rate of {0} Mbit/s; allowed: 6, 9, 12, 18, 24, 36, 48, 54")]
    OfdmRate(u16),
    /// Not an equal-modulation MCS of clause 19.
    #[error("802.11n MCS {0} is not supported; allowed: 0 to 31")]
    HtMcs(u8),
    /// Not a channel width of clause 19.
    #[error("802.11n has no channel width of {0} MHz; allowed: 20, 40")]
    HtBandwidth(u16),
}

/// Guard interval of the data symbols of an HT PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GuardInterval {
    /// 800 ns: 4 us symbols.
    Long,
    /// 400 ns: 3.6 us symbols.
    Short,
}

/// The PPDU format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Format {
    NonHt,
    HtMixed {
        mcs: u8,
        bandwidth_mhz: u16,
        gi: GuardInterval,
    },
}

/// One concrete PHY rate: all that the airtime of a PPDU depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    format: Format,
    /// Data bits a symbol, N_DBPS.
    bits_per_symbol: u16,
    /// BCC encoders, N_ES.
    encoders: u8,
    /// The rate that chooses the rate of the response, Mbit/s: itself, or the non-HT reference rate.
    reference_mbps: u16,
}

impl Mode {
    /// An OFDM rate of clause 17 with 20 MHz spacing, in Mbit/s: 6, 9, 12, 18, 24, 36, 48 or 54 (Table 17-4).
    ///
    /// # Errors
    /// [`PhyError::OfdmRate`] for any other rate.
    pub const fn ofdm(rate_mbps: u16) -> Result<Mode, PhyError> {
        match rate_mbps {
            6 | 9 | 12 | 18 | 24 | 36 | 48 | 54 => Ok(Mode {
                format: Format::NonHt,
                bits_per_symbol: rate_mbps * 4,
                encoders: 1,
                reference_mbps: rate_mbps,
            }),
            _ => Err(PhyError::OfdmRate(rate_mbps)),
        }
    }

    /// An HT-mixed rate of clause 19 with equal modulation, BCC and no STBC: MCS 0 to 31 at 20 or 40 MHz.
    ///
    /// # Errors
    /// [`PhyError::HtMcs`] or [`PhyError::HtBandwidth`] for what clause 19 lacks.
    pub const fn ht(mcs: u8, bandwidth_mhz: u16, gi: GuardInterval) -> Result<Mode, PhyError> {
        if mcs > 31 {
            return Err(PhyError::HtMcs(mcs));
        }
        // Data subcarriers N_SD (Table 19-6).
        let data_subcarriers: u16 = match bandwidth_mhz {
            20 => 52,
            40 => 108,
            _ => return Err(PhyError::HtBandwidth(bandwidth_mhz)),
        };
        // Coded bits a subcarrier and stream, coding rate in twelfths (Tables 19-27 to 19-34), and the non-HT
        // reference rate of that modulation and coding (10.6.11).
        let (coded_bits, rate_twelfths, reference_mbps) = match mcs % 8 {
            0 => (1, 6, 6),
            1 => (2, 6, 12),
            2 => (2, 9, 18),
            3 => (4, 6, 24),
            4 => (4, 9, 36),
            5 => (6, 8, 48),
            6 => (6, 9, 54),
            _ => (6, 10, 54),
        };
        let streams = (mcs / 8 + 1) as u16;
        let bits_per_symbol = data_subcarriers * coded_bits * streams * rate_twelfths / 12;
        Ok(Mode {
            format: Format::HtMixed {
                mcs,
                bandwidth_mhz,
                gi,
            },
            bits_per_symbol,
            // Two encoders above 300 Mbit/s with 4 us symbols: MCS 21-23 and 28-31 at 40 MHz (Tables 19-33,
            // 19-34).
            encoders: if bits_per_symbol > 1200 { 2 } else { 1 },
            reference_mbps,
        })
    }
}

impl Mode {
    /// Rate of the data symbols, kbit/s (72 222 for MCS 7 at 20 MHz with the short guard interval).
    #[must_use]
    pub fn rate_kbps(&self) -> u64 {
        u64::from(self.bits_per_symbol) * 1_000_000 / self.symbol().0
    }

    /// Whether the mode is of clause 19 and so carries QoS data frames and A-MPDUs.
    #[must_use]
    pub const fn is_ht(&self) -> bool {
        matches!(self.format, Format::HtMixed { .. })
    }

    /// All that stands before the data symbols: 20 us for OFDM; 36, 40, 48, 48 us for HT-mixed of 1 to 4
    /// streams.
    #[must_use]
    pub fn preamble(&self) -> Nanos {
        match self.format {
            Format::NonHt => LEGACY_PREAMBLE,
            Format::HtMixed { mcs, .. } => {
                // HT data long training fields for the number of streams (Table 19-13).
                let training_fields = [1, 2, 4, 4][usize::from(mcs / 8)];
                // HT-SIG 8 us, HT-STF 4 us, each HT-LTF 4 us (19.3.2).
                LEGACY_PREAMBLE + Nanos::from_us(12) + Nanos::from_us(4) * training_fields
            }
        }
    }

    /// Airtime of the PPDU that carries a PSDU of `psdu_len_b` octets: TXTIME of 17.4.3 (OFDM) and 19.4.3
    /// (HT-mixed).
    #[must_use]
    pub fn ppdu_duration(&self, psdu_len_b: usize) -> Nanos {
        let bits = (SERVICE_BITS + 8 * psdu_len_b + TAIL_BITS * usize::from(self.encoders)) as u64;
        let data = self.symbol() * bits.div_ceil(u64::from(self.bits_per_symbol));
        // With the short guard interval the PPDU is padded to whole 4 us symbols (19.4.3), for L-SIG counts
        // in those.
        self.preamble() + Nanos(data.0.next_multiple_of(SYMBOL_LONG_GI.0))
    }

    /// Octets of the longest PSDU whose PPDU lasts at most `duration`; 0 when not even an empty one does.
    #[must_use]
    pub fn max_psdu_len_b(&self, duration: Nanos) -> usize {
        let data = duration.saturating_sub(self.preamble());
        let symbols = (data.0 - data.0 % SYMBOL_LONG_GI.0) / self.symbol().0;
        let bits = symbols * u64::from(self.bits_per_symbol);
        let overhead = (SERVICE_BITS + TAIL_BITS * usize::from(self.encoders)) as u64;
        usize::try_from(bits.saturating_sub(overhead) / 8).unwrap_or(usize::MAX)
    }

    /// aSlotTime: 9 us (Table 17-21, Table 19-25 in the 5 GHz band).
    #[must_use]
    pub const fn slot(&self) -> Nanos {
        Nanos::from_us(9)
    }

    /// aSIFSTime: 16 us (Table 17-21, Table 19-25 in the 5 GHz band).
    #[must_use]
    pub const fn sifs(&self) -> Nanos {
        Nanos::from_us(16)
    }

    /// aCCATime: a station senses a preamble only after this time (< 4 us, Table 17-21), so two stations that
    /// start less than it apart collide.
    #[must_use]
    pub const fn cca_time(&self) -> Nanos {
        Nanos::from_us(4)
    }

    /// Mode of the Ack or `BlockAck`: the highest basic rate not above this rate, for HT not above the non-HT
    /// reference rate (10.6.6.5, 10.6.11). The basic rates are the mandatory ones of clause 17: 6, 12 and 24
    /// Mbit/s.
    #[must_use]
    pub fn control_response(&self) -> Mode {
        let rate_mbps = match self.reference_mbps {
            24.. => 24,
            12.. => 12,
            _ => 6,
        };
        Mode {
            format: Format::NonHt,
            bits_per_symbol: rate_mbps * 4,
            encoders: 1,
            reference_mbps: rate_mbps,
        }
    }

    /// Airtime of the Ack that answers this mode.
    #[must_use]
    pub fn ack_duration(&self) -> Nanos {
        self.control_response().ppdu_duration(ACK_LEN_B)
    }

    /// Airtime of the compressed `BlockAck` that answers this mode.
    #[must_use]
    pub fn block_ack_duration(&self) -> Nanos {
        self.control_response().ppdu_duration(BLOCK_ACK_LEN_B)
    }

    /// `AckTimeout`: how long after its PPDU a station waits before it takes the lack of an answer for a
    /// failure: SIFS, a slot and aRxPHYStartDelay (10.3.2.11).
    #[must_use]
    pub fn ack_timeout(&self) -> Nanos {
        self.sifs() + self.slot() + RX_PHY_START_DELAY
    }

    /// EIFS - DIFS: SIFS and an Ack at the lowest mandatory rate, which a station leaves free after a frame
    /// that it could not read (10.3.2.3.7, 10.3.7).
    #[must_use]
    pub fn eifs_less_difs(&self) -> Nanos {
        let lowest = Mode {
            format: Format::NonHt,
            bits_per_symbol: 24,
            encoders: 1,
            reference_mbps: 6,
        };
        self.sifs() + lowest.ppdu_duration(ACK_LEN_B)
    }

    const fn symbol(&self) -> Nanos {
        match self.format {
            Format::HtMixed {
                gi: GuardInterval::Short,
                ..
            } => SYMBOL_SHORT_GI,
            _ => SYMBOL_LONG_GI,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.format {
            Format::NonHt => write!(f, "OFDM {} Mbit/s", self.reference_mbps),
            Format::HtMixed {
                mcs,
                bandwidth_mhz,
                gi,
            } => {
                let gi_ns = if gi == GuardInterval::Short { 400 } else { 800 };
                write!(f, "HT MCS {mcs}, {bandwidth_mhz} MHz, GI {gi_ns} ns")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ofdm(rate_mbps: u16) -> Mode {
        Mode::ofdm(rate_mbps).unwrap()
    }

    fn ht(mcs: u8, bandwidth_mhz: u16, gi: GuardInterval) -> Mode {
        Mode::ht(mcs, bandwidth_mhz, gi).unwrap()
    }

    /// Values of ns-3's tx-duration-test.cc, which has those of 802.11a from Gast's "Wireless throughput"
    /// (2003).
    #[test]
    fn durations_agree_with_published_ones() {
        let mcs7 = ht(7, 20, GuardInterval::Long);
        for (mode, psdu_len_b, us) in [
            (ofdm(54), 1536, 248),
            (ofdm(54), 76, 32),
            (ofdm(54), 14, 24),
            (mcs7, 1536, 228),
            (mcs7, 76, 48),
            (mcs7, 14, 40),
        ] {
            assert_eq!(
                mode.ppdu_duration(psdu_len_b),
                Nanos::from_us(us),
                "{mode}, {psdu_len_b} octets"
            );
        }
    }

    /// 1536 octets at MCS 0 are 474 symbols of 3.6 us, 1706.4 us: 19.4.3 rounds that up to 427 times 4 us.
    #[test]
    fn short_guard_interval_is_padded_to_whole_long_symbols() {
        assert_eq!(
            ht(0, 20, GuardInterval::Short).ppdu_duration(1536),
            Nanos::from_us(36 + 1708)
        );
    }

    /// Rates of Tables 17-4 and 19-27 to 19-34, Mbit/s times ten.
    #[test]
    fn rates_agree_with_the_tables() {
        for rate in [6, 9, 12, 18, 24, 36, 48, 54] {
            assert_eq!(ofdm(rate).rate_kbps(), u64::from(rate) * 1000);
        }
        let tables: [(u16, GuardInterval, [u64; 8]); 4] = [
            (20, GuardInterval::Long, [65, 130, 195, 260, 390, 520, 585, 650]),
            (20, GuardInterval::Short, [72, 144, 217, 289, 433, 578, 650, 722]),
            (
                40,
                GuardInterval::Long,
                [135, 270, 405, 540, 810, 1080, 1215, 1350],
            ),
            (
                40,
                GuardInterval::Short,
                [150, 300, 450, 600, 900, 1200, 1350, 1500],
            ),
        ];
        for (bandwidth, gi, one_stream) in tables {
            for (mcs, tenths) in (0..).zip(one_stream) {
                assert_eq!(
                    (ht(mcs, bandwidth, gi).rate_kbps() + 50) / 100,
                    tenths,
                    "MCS {mcs}"
                );
            }
        }
        assert_eq!(ht(15, 40, GuardInterval::Short).rate_kbps(), 300_000);
        assert_eq!(ht(31, 40, GuardInterval::Short).rate_kbps(), 600_000);
    }

    /// N_ES of Tables 19-27 to 19-34: two encoders at 40 MHz for MCS 21 to 23 and 28 to 31, one elsewhere.
    #[test]
    fn encoders_agree_with_the_tables() {
        for bandwidth in [20, 40] {
            for mcs in 0..32 {
                let two = bandwidth == 40 && matches!(mcs, 21..=23 | 28..=31);
                let encoders = ht(mcs, bandwidth, GuardInterval::Long).encoders;
                assert_eq!(encoders, 1 + u8::from(two), "MCS {mcs}, {bandwidth} MHz");
            }
        }
    }

    #[test]
    fn preamble_grows_with_the_training_fields() {
        let preambles = [0, 8, 16, 24].map(|mcs| ht(mcs, 20, GuardInterval::Long).preamble());
        assert_eq!(preambles, [36, 40, 48, 48].map(Nanos::from_us));
    }

    #[test]
    fn answers_use_the_highest_basic_rate_below() {
        for (rate, basic) in [
            (6, 6),
            (9, 6),
            (12, 12),
            (18, 12),
            (24, 24),
            (36, 24),
            (48, 24),
            (54, 24),
        ] {
            assert_eq!(ofdm(rate).control_response(), ofdm(basic));
        }
        for (mcs, basic) in [(0, 6), (1, 12), (2, 12), (3, 24), (7, 24), (8, 6), (31, 24)] {
            assert_eq!(ht(mcs, 40, GuardInterval::Short).control_response(), ofdm(basic));
        }
        assert_eq!(
            [6, 12, 24].map(|r| ofdm(r).ack_duration()),
            [44, 32, 28].map(Nanos::from_us)
        );
        assert_eq!(
            [6, 12, 24].map(|r| ofdm(r).block_ack_duration()),
            [68, 44, 32].map(Nanos::from_us)
        );
        // EIFS of 802.11a is 94 us.
        assert_eq!(ofdm(54).eifs_less_difs() + Nanos::from_us(34), Nanos::from_us(94));
    }

    #[test]
    fn unknown_rates_are_refused_in_one_clear_line() {
        let errors = [
            Mode::ofdm(11).unwrap_err(),
            Mode::ht(32, 20, GuardInterval::Long).unwrap_err(),
            Mode::ht(0, 80, GuardInterval::Long).unwrap_err(),
        ];
        assert_eq!(
            errors,
            [
                PhyError::OfdmRate(11),
                PhyError::HtMcs(32),
                PhyError::HtBandwidth(80)
            ]
        );
        assert_eq!(
            errors[0].to_string(),
            "802.11a has no rate of 11 Mbit/s; allowed: 6, 9, 12, 18, 24, 36, 48, 54"
        );
    }

    fn any_mode() -> impl Strategy<Value = Mode> {
        let gi = prop_oneof![Just(GuardInterval::Long), Just(GuardInterval::Short)];
        prop_oneof![
            prop::sample::select(&[6, 9, 12, 18, 24, 36, 48, 54][..]).prop_map(ofdm),
            (0..32u8, prop::sample::select(&[20, 40][..]), gi).prop_map(|(mcs, mhz, gi)| ht(mcs, mhz, gi)),
        ]
    }

    proptest! {
        #[test]
        fn the_longest_psdu_fits_and_one_octet_more_does_not(mode in any_mode(), us in 100u64..10_000) {
            let limit = Nanos::from_us(us);
            let longest = mode.max_psdu_len_b(limit);
            prop_assume!(longest > 0);
            prop_assert!(mode.ppdu_duration(longest) <= limit);
            prop_assert!(mode.ppdu_duration(longest + 1) > limit);
        }
    }
}
