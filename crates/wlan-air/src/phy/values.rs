//! Values that describe a rate and the PPDUs that carry it.

use std::fmt;

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
#[non_exhaustive]
pub enum GuardInterval {
    /// 800 ns: 4 us symbols.
    Long,
    /// 400 ns: 3.6 us symbols.
    Short,
}

/// How frames, elements and drivers describe the PPDUs of a PHY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A rate of DSSS or HR/DSSS.
    Dsss,
    /// A rate of OFDM.
    Ofdm,
    /// An MCS of HT.
    Ht,
    /// An MCS of VHT.
    Vht,
}

/// Modulation, coded bits per subcarrier and stream (N_BPSCS), and code rate of an MCS.
pub type Coding = (Modulation, u16, CodeRate);

/// Frequency band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Band {
    /// 2.4 GHz: DSSS, HR/DSSS, ERP, HT.
    Ghz2_4,
    /// 5 GHz: OFDM, HT, VHT.
    Ghz5,
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
    #[must_use]
    pub const fn ratio(self) -> (u16, u16) {
        match self {
            CodeRate::Uncoded => (1, 1),
            CodeRate::Half => (1, 2),
            CodeRate::TwoThirds => (2, 3),
            CodeRate::ThreeQuarters => (3, 4),
            CodeRate::FiveSixths => (5, 6),
        }
    }
}

/// A rate as a station chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rate {
    /// A non-HT rate, in kbit/s.
    Kbps(u32),
    /// An MCS of HT or a later PHY.
    Mcs(u8),
}

/// A station's choices for its PPDUs. A PHY converts it to a [`Mode`](super::Mode).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// The rate.
    pub rate: Rate,
    /// Channel width, MHz.
    pub bandwidth_mhz: u16,
    /// Guard interval.
    pub gi: GuardInterval,
    /// Spatial streams; none for the number that the MCS implies, or 1.
    pub streams: Option<u8>,
    /// Frequency band.
    pub band: Band,
    /// Preamble of a DSSS PPDU.
    pub preamble: Preamble,
}

/// Prints a rate in kbit/s as Mbit/s, such as 5.5.
pub(super) struct Mbps(pub(super) u64);

impl fmt::Display for Mbps {
    #[allow(clippy::cast_precision_loss)] // rates are far below 2^53 kbit/s
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0 as f64 / 1e3)
    }
}
