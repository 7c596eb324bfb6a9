//! PHY rates and the airtime of a PPDU, for 802.11b, a, g, n and ac.
//!
//! A [`Mode`] contains everything that determines the airtime and the errors of one PPDU. A [`Bss`] contains
//! the parameters that all its stations share: slot, SIFS, the rates of control responses. Clauses cite IEEE
//! Std 802.11-2020.
//!
//! ```text
//! DSSS, HR/DSSS | long: preamble 144 + header 48; short: 72 + 24      | PSDU at 1, 2, 5.5, 11 Mbit/s  |
//! OFDM          | L-STF 8 | L-LTF 8 | SIGNAL 4                        | symbols, 4 us                 |
//! ERP-OFDM      | the same                                            | the same | extension 6        |
//! HT-mixed      | L-STF 8 | L-LTF 8 | L-SIG 4 | HT-SIG 8              | symbols, 4 or 3.6 us each     |
//!               | HT-STF 4 | HT-LTF 4n                                | (2.4 GHz: extension 6)        |
//! VHT           | L-STF 8 | L-LTF 8 | L-SIG 4 | VHT-SIG-A 8           | symbols, 4 or 3.6 us each     |
//!               | VHT-STF 4 | VHT-LTF 4n | VHT-SIG-B 4                |                               |
//! OFDM symbols carry: SERVICE 16 bits, PSDU, tail 6 bits per encoder, pad to a whole symbol of N_DBPS bits
//! ```
//!
//! Each PHY is modelled in the form that every product supports: BCC, equal modulation, no STBC, one user.
//! Most 802.11ac products also use LDPC if both ends support it. PPDUs with LDPC differ from those with BCC
//! by at most one symbol (19.3.11.7.5, 21.3.10.5.4) and are decoded at a lower SNR.
//!
//! - `dsss`: clauses 15 and 16; `ofdm`: clauses 17 and 18; `ht`: clause 19; `vht`: clause 21;
//! - `bss`: the parameters of a BSS, including the choice of response rates (10.6.6.5, 10.6.11).

use std::fmt;

use crate::Nanos;

mod bss;
mod dsss;
mod ht;
mod ofdm;
mod vht;

pub use bss::{Bss, ErpSlot};

/// Octets of an RTS frame: Frame Control, Duration, RA, TA, FCS (9.3.1.2).
pub const RTS_LEN_B: usize = 20;
/// Octets of a CTS frame: Frame Control, Duration, RA, FCS (9.3.1.3).
pub const CTS_LEN_B: usize = 14;
/// Octets of an Ack frame: Frame Control, Duration, RA, FCS (9.3.1.4).
pub const ACK_LEN_B: usize = 14;
/// Octets of a compressed `BlockAck`: Frame Control, Duration, RA, TA, BA Control, Starting Sequence Control,
/// bitmap of 64 MPDUs, FCS (9.3.1.8.2).
pub const BLOCK_ACK_LEN_B: usize = 32;
/// Airtime of the longest HT-mixed or VHT PPDU (Table 9-25): L-SIG announces it with 12 bits at 6 Mbit/s, 20
/// us + 4 us * (4095 + 3) / 3 (19.3.9.3.5, 21.4.3).
pub const MAX_PPDU_DURATION: Nanos = Nanos::from_us(5_484);
/// Values of Maximum MPDU Length in the VHT Capabilities element, octets (9.4.2.157.2).
pub const VHT_MPDU_LENS_B: [usize; 3] = [3_895, 7_991, 11_454];

/// An invalid PHY rate or BSSBasicRateSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PhyError {
    /// The rate is not defined in clauses 15 and 16.
    #[error("802.11b has no rate of {} Mbit/s (clauses 15, 16); allowed: 1, 2, 5.5, 11", dsss::Mbps(*.0))]
    DsssRate(u32),
    /// 1 Mbit/s with the short preamble.
    #[error(
        "802.11b has no short preamble at 1 Mbit/s (16.2.2.3); allowed: the long preamble, or 2, 5.5, 11 Mbit/s"
    )]
    ShortPreamble,
    /// The rate is not defined in clause 17.
    #[error("802.11a has no rate of {0} Mbit/s; allowed: 6, 9, 12, 18, 24, 36, 48, 54")]
    OfdmRate(u16),
    /// The ERP-OFDM rate is not defined in clause 18.
    #[error("802.11g has no OFDM rate of {0} Mbit/s (clause 18); allowed: 6, 9, 12, 18, 24, 36, 48, 54")]
    ErpRate(u16),
    /// The MCS is not an equal-modulation MCS of clause 19.
    #[error("802.11n MCS {0} is not supported; allowed: 0 to 31")]
    HtMcs(u8),
    /// The channel width is not defined in clause 19.
    #[error("802.11n has no channel width of {0} MHz; allowed: 20, 40")]
    HtBandwidth(u16),
    /// The MCS is not defined in clause 21.
    #[error("802.11ac has no MCS {0} (21.5); allowed: 0 to 9")]
    VhtMcs(u8),
    /// The number of spatial streams is not defined in clause 21.
    #[error("802.11ac has no {0} spatial streams (21.5); allowed: 1 to 8")]
    VhtStreams(u8),
    /// The channel width is not defined in clause 21.
    #[error("802.11ac has no channel width of {0} MHz (21.5); allowed: 20, 40, 80, 160")]
    VhtBandwidth(u16),
    /// The tables of 21.5 do not define the MCS at this width and number of streams.
    #[error(
        "802.11ac has no MCS {mcs} at {bandwidth_mhz} MHz with {streams} spatial stream{} (tables of 21.5); \
         allowed: {}",
        if *.streams == 1 { "" } else { "s" },
        vht::allowed_instead(*.mcs, *.bandwidth_mhz)
    )]
    VhtCombination {
        /// VHT-MCS index.
        mcs: u8,
        /// Spatial streams.
        streams: u8,
        /// Channel width, MHz.
        bandwidth_mhz: u16,
    },
    /// The mode is not a non-HT rate of the BSS.
    #[error("{0} cannot be a basic rate of this BSS (10.6.6.5); allowed: the non-HT rates of its PHY")]
    BasicRate(Mode),
    /// The BSSBasicRateSet is empty.
    #[error("a BSS requires at least one basic rate (10.6.5)")]
    NoBasicRate,
}

/// PHY preamble and header of a DSSS or HR/DSSS PPDU (16.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preamble {
    /// 144 + 48 us, at 1 Mbit/s: every station of clauses 15 and 16 supports it.
    Long,
    /// 72 us at 1 Mbit/s and 24 us at 2 Mbit/s.
    Short,
}

/// Guard interval of the data symbols of an HT or VHT PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GuardInterval {
    /// 800 ns: 4 us symbols.
    Long,
    /// 400 ns: 3.6 us symbols.
    Short,
}

/// Frequency band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Band {
    /// 2.4 GHz: DSSS, HR/DSSS, ERP, HT.
    Ghz2_4,
    /// 5 GHz: OFDM, HT, VHT.
    Ghz5,
}

/// Modulation class (10.6.8); DSSS and HR/DSSS form one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// DSSS and HR/DSSS, clauses 15 and 16: 802.11b.
    Dsss,
    /// OFDM, clause 17: 802.11a.
    Ofdm,
    /// ERP-OFDM, clause 18: 802.11g.
    Erp,
    /// HT-mixed, clause 19: 802.11n.
    Ht,
    /// VHT, clause 21: 802.11ac.
    Vht,
}

/// Modulation of one carrier or subcarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Modulation {
    /// 1 Mbit/s of clause 15: differential BPSK, Barker code.
    Dbpsk,
    /// 2 Mbit/s of clause 15: differential QPSK, Barker code.
    Dqpsk,
    /// 5.5 Mbit/s of clause 16: complementary code keying, 4 bits per code word.
    Cck5_5,
    /// 11 Mbit/s of clause 16: complementary code keying, 8 bits per code word.
    Cck11,
    /// 1 bit per subcarrier.
    Bpsk,
    /// 2 bits per subcarrier.
    Qpsk,
    /// 4 bits per subcarrier.
    Qam16,
    /// 6 bits per subcarrier.
    Qam64,
    /// 8 bits per subcarrier.
    Qam256,
}

/// Rate of the convolutional code, R (17.3.5.6, 19.3.11.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeRate {
    /// No code: DSSS and HR/DSSS.
    Uncoded,
    /// 1/2.
    Half,
    /// 2/3.
    TwoThirds,
    /// 3/4.
    ThreeQuarters,
    /// 5/6.
    FiveSixths,
}

impl CodeRate {
    /// Numerator and denominator.
    pub(crate) const fn ratio(self) -> (u16, u16) {
        match self {
            CodeRate::Uncoded => (1, 1),
            CodeRate::Half => (1, 2),
            CodeRate::TwoThirds => (2, 3),
            CodeRate::ThreeQuarters => (3, 4),
            CodeRate::FiveSixths => (5, 6),
        }
    }
}

/// The PPDU format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Format {
    Dsss {
        rate_kbps: u32,
        preamble: Preamble,
    },
    Ofdm,
    Erp,
    HtMixed {
        mcs: u8,
        bandwidth_mhz: u16,
        gi: GuardInterval,
        band: Band,
    },
    Vht {
        mcs: u8,
        streams: u8,
        bandwidth_mhz: u16,
        gi: GuardInterval,
    },
}

/// A PHY rate: everything that determines the airtime and the error rate of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    format: Format,
    modulation: Modulation,
    code_rate: CodeRate,
    /// Data bits per symbol, N_DBPS; with DSSS, bits per code word.
    bits_per_symbol: u16,
    /// BCC encoders, N_ES; 0 with DSSS.
    encoders: u8,
}

impl Mode {
    /// Modulation class, which is the clause that defines the mode.
    #[must_use]
    pub const fn class(&self) -> Class {
        match self.format {
            Format::Dsss { .. } => Class::Dsss,
            Format::Ofdm => Class::Ofdm,
            Format::Erp => Class::Erp,
            Format::HtMixed { .. } => Class::Ht,
            Format::Vht { .. } => Class::Vht,
        }
    }

    /// Frequency band.
    #[must_use]
    pub const fn band(&self) -> Band {
        match self.format {
            Format::Dsss { .. } | Format::Erp => Band::Ghz2_4,
            Format::Ofdm | Format::Vht { .. } => Band::Ghz5,
            Format::HtMixed { band, .. } => band,
        }
    }

    /// Width of the channel, MHz: 22 for DSSS (the width of its spectrum mask, 15.4.5.5), 20 to 160
    /// otherwise.
    #[must_use]
    pub const fn bandwidth_mhz(&self) -> u16 {
        match self.format {
            Format::Dsss { .. } => 22,
            Format::Ofdm | Format::Erp => 20,
            Format::HtMixed { bandwidth_mhz, .. } | Format::Vht { bandwidth_mhz, .. } => bandwidth_mhz,
        }
    }

    /// Spatial streams, 1 to 8.
    #[must_use]
    pub const fn streams(&self) -> u8 {
        match self.format {
            Format::HtMixed { mcs, .. } => ht::streams(mcs),
            Format::Vht { streams, .. } => streams,
            _ => 1,
        }
    }

    /// MCS index of HT (0 to 31, which includes the streams) and VHT (0 to 9); None for other modes.
    #[must_use]
    pub const fn mcs(&self) -> Option<u8> {
        match self.format {
            Format::HtMixed { mcs, .. } | Format::Vht { mcs, .. } => Some(mcs),
            _ => None,
        }
    }

    /// Guard interval of HT and VHT; None for other modes, whose guard interval is fixed.
    #[must_use]
    pub const fn guard_interval(&self) -> Option<GuardInterval> {
        match self.format {
            Format::HtMixed { gi, .. } | Format::Vht { gi, .. } => Some(gi),
            _ => None,
        }
    }

    /// The DSSS preamble; None for other modes.
    #[must_use]
    pub const fn dsss_preamble(&self) -> Option<Preamble> {
        match self.format {
            Format::Dsss { preamble, .. } => Some(preamble),
            _ => None,
        }
    }

    /// Modulation of the data symbols.
    #[must_use]
    pub const fn modulation(&self) -> Modulation {
        self.modulation
    }

    /// Code rate of the data symbols.
    #[must_use]
    pub const fn code_rate(&self) -> CodeRate {
        self.code_rate
    }

    /// Data rate in kbit/s, rounded down (72 222 for HT MCS 7 at 20 MHz with the short guard interval).
    #[must_use]
    pub fn rate_kbps(&self) -> u64 {
        match self.format {
            Format::Dsss { rate_kbps, .. } => u64::from(rate_kbps),
            _ => u64::from(self.bits_per_symbol) * 1_000_000 / self.symbol().0,
        }
    }

    /// Octets of the longest A-MPDU (Table 9-25, 9.4.2.55.3, 9.4.2.157.2); None if the mode carries no
    /// A-MPDU.
    #[must_use]
    pub const fn max_ampdu_len_b(&self) -> Option<usize> {
        match self.class() {
            Class::Dsss | Class::Ofdm | Class::Erp => None,
            Class::Ht => Some(65_535),
            Class::Vht => Some(1_048_575),
        }
    }

    /// Octets of the longest MPDU: 11 454 in a VHT PPDU, the largest of [`VHT_MPDU_LENS_B`]; 4 095 otherwise,
    /// because LENGTH of 17.3.4.3 and MPDU Length in the delimiter of an HT A-MPDU (9.7.1) have 12 bits. Only
    /// an HT PPDU without an A-MPDU may carry a longer MPDU (Table 9-25, an A-MSDU of 7 935 octets).
    #[must_use]
    pub const fn max_mpdu_len_b(&self) -> usize {
        match self.class() {
            Class::Vht => VHT_MPDU_LENS_B[2],
            _ => 4_095,
        }
    }

    /// Whether a PPDU always carries an A-MPDU, even for a single MPDU: true for VHT. Such an S-MPDU has its
    /// delimiter of 4 octets (9.7.1, 10.12.8) in the PSDU and is answered by an Ack.
    #[must_use]
    pub const fn always_ampdu(&self) -> bool {
        matches!(self.class(), Class::Vht)
    }

    /// Duration of the preamble and PHY headers before the data: 192 or 96 us for DSSS; 20 us for OFDM and
    /// ERP-OFDM; 36, 40, 48, 48 us for HT-mixed of 1 to 4 streams; 40, 44, 52, 52, 60, 60, 68, 68 us for VHT
    /// of 1 to 8 streams.
    #[must_use]
    pub const fn preamble(&self) -> Nanos {
        match self.format {
            Format::Dsss { preamble, .. } => dsss::preamble(preamble),
            Format::Ofdm | Format::Erp => ofdm::PREAMBLE,
            Format::HtMixed { mcs, .. } => ht::preamble(ht::streams(mcs)),
            Format::Vht { streams, .. } => vht::preamble(streams),
        }
    }

    /// Airtime of the PPDU that carries a PSDU of `psdu_len_b` octets: TXTIME of 16.3.4 (DSSS), 17.4.3
    /// (OFDM), 18.5.3 (ERP-OFDM), 19.4.3 (HT-mixed) and 21.4.3 (VHT; the PSDU is an A-MPDU, with its
    /// delimiters). ERP-OFDM and HT in the 2.4 GHz band end with a signal extension of 6 us.
    #[must_use]
    pub const fn ppdu_duration(&self, psdu_len_b: usize) -> Nanos {
        let data = match self.format {
            Format::Dsss { rate_kbps, .. } => dsss::data_duration(rate_kbps, psdu_len_b),
            _ => ofdm::data_duration(psdu_len_b, self.bits_per_symbol, self.encoders, self.symbol()),
        };
        Nanos(self.preamble().0 + data.0 + self.signal_extension().0)
    }

    /// Octets of the longest PSDU whose PPDU lasts at most `duration`; 0 if even an empty PSDU exceeds it.
    #[must_use]
    pub fn max_psdu_len_b(&self, duration: Nanos) -> usize {
        let data = duration.saturating_sub(self.preamble() + self.signal_extension());
        match self.format {
            Format::Dsss { rate_kbps, .. } => dsss::max_psdu_len_b(rate_kbps, data),
            _ => ofdm::max_psdu_len_b(data, self.bits_per_symbol, self.encoders, self.symbol()),
        }
    }

    /// Signal extension: silence after the symbols, in which a decoder that is designed for OFDM's SIFS of 16
    /// us finishes (18.3.2.4, 19.3.2).
    const fn signal_extension(&self) -> Nanos {
        match self.format {
            Format::Erp
            | Format::HtMixed {
                band: Band::Ghz2_4, ..
            } => Nanos::from_us(6),
            _ => Nanos::ZERO,
        }
    }

    /// Coded bits of all streams, Mbit/s. An error model divides the energy per second by this number.
    pub(crate) fn coded_mbps(&self) -> f64 {
        let (numerator, denominator) = self.code_rate.ratio();
        let coded_bits = f64::from(self.bits_per_symbol) * f64::from(denominator) / f64::from(numerator);
        coded_bits / self.symbol().as_us_f64()
    }

    const fn symbol(&self) -> Nanos {
        match self.guard_interval() {
            Some(GuardInterval::Short) => ofdm::SYMBOL_SHORT_GI,
            _ => ofdm::SYMBOL,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gi_ns = |gi| if gi == GuardInterval::Short { 400 } else { 800 };
        match self.format {
            Format::Dsss { rate_kbps, preamble } => {
                let preamble = if preamble == Preamble::Short {
                    "short"
                } else {
                    "long"
                };
                write!(f, "DSSS {} Mbit/s, {preamble} preamble", dsss::Mbps(rate_kbps))
            }
            Format::Ofdm => write!(f, "OFDM {} Mbit/s", self.bits_per_symbol / 4),
            Format::Erp => write!(f, "ERP-OFDM {} Mbit/s", self.bits_per_symbol / 4),
            Format::HtMixed {
                mcs,
                bandwidth_mhz,
                gi,
                band,
            } => {
                write!(f, "HT MCS {mcs}, {bandwidth_mhz} MHz, GI {} ns", gi_ns(gi))?;
                match band {
                    Band::Ghz2_4 => write!(f, ", 2.4 GHz"),
                    Band::Ghz5 => Ok(()),
                }
            }
            Format::Vht {
                mcs,
                streams,
                bandwidth_mhz,
                gi,
            } => {
                let plural = if streams == 1 { "" } else { "s" };
                write!(
                    f,
                    "VHT MCS {mcs}, {streams} stream{plural}, {bandwidth_mhz} MHz, GI {} ns",
                    gi_ns(gi)
                )
            }
        }
    }
}

#[cfg(test)]
mod bss_tests;
#[cfg(test)]
mod tests;
