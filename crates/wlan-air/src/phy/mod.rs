//! PHY rates and the airtime of a PPDU, for 802.11b, a, g, n and ac.
//!
//! A [`Phy`] declares one PHY of the standard: its rates, channels, timing and limits. A [`Mode`] contains
//! everything that determines the airtime and the errors of one PPDU. A [`Bss`] contains the parameters that
//! all its stations share: slot, SIFS, the rates of control responses. Clauses cite IEEE Std 802.11-2020.
//!
//! Each PHY is one file, which declares it, and one line in [`PHYS`]. All that depends on a PHY derives from
//! its declaration: the words of scenarios and their errors, the levels of studies, the medium.
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
//! - `dsss`: clauses 15 and 16; `ofdm`: clause 17; `erp`: clause 18; `ht`: clause 19; `vht`: clause 21;
//! - `values`: the values that describe a rate; `data`: the airtime of octets;
//! - `bss`: the parameters of a BSS, including the choice of response rates (10.6.6.5, 10.6.11).

use std::hash::{Hash, Hasher};
use std::{fmt, iter, ptr};

use crate::Nanos;

mod bss;
mod data;
mod dsss;
mod erp;
mod ht;
mod ofdm;
mod values;
mod vht;

pub use bss::Bss;
pub use data::Data;
pub use dsss::DSSS;
pub use erp::{ERP, ErpSlot};
pub use ht::HT;
pub use ofdm::OFDM;
pub use values::{Band, CodeRate, Coding, Format, GuardInterval, Modulation, Preamble, Rate, Settings};
pub use vht::{VHT, VHT_MPDU_LENS_B};

use values::Mbps;

/// All PHYs, in the order of their clauses.
pub static PHYS: &[&Phy] = &[&DSSS, &OFDM, &ERP, &HT, &VHT];

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
/// Octets of the longest MPDU whose length has 12 bits: LENGTH of 17.3.4.3, and MPDU Length in the delimiter
/// of an HT A-MPDU (9.7.1).
pub const NON_VHT_MPDU_MAX_B: usize = 4_095;

/// The declaration of one PHY.
///
/// Declare it as a `static`: two PHYs are equal only if they are the same `static`.
pub struct Phy {
    /// Name in scenarios and studies, such as `ht`.
    pub word: &'static str,
    /// The amendment that introduced it, such as `802.11n`.
    pub amendment: &'static str,
    /// The word of products for it, such as `wifi4`; none if products use the amendment.
    pub generation: Option<&'static str>,
    /// Name in the text of a mode, of OpenWrt and of minstrel, and in lower case of iw, such as `HT`.
    pub label: &'static str,
    /// How frames, elements and drivers describe its PPDUs.
    pub format: Format,
    /// Lines of hostapd.conf that a PHY has in addition to those of the PHYs that it extends: key and value. A value may
    /// contain `{ht40}`, `{short_gi_20_40}` and `{short_gi_80}`, which are capabilities or empty, `{chwidth}` and
    /// `{centre}`, which are numbers.
    pub hostapd: &'static [(&'static str, &'static str)],
    /// The clauses that define it, such as `clause 19`.
    pub clauses: &'static str,
    /// Frequency bands. Stations that choose none use the first.
    pub bands: &'static [Band],
    /// Channel widths, MHz.
    pub bandwidths_mhz: &'static [u16],
    /// Data subcarriers N_SD of each channel width; empty without MCSs.
    pub data_subcarriers: &'static [u16],
    /// Guard intervals.
    pub guard_intervals: &'static [GuardInterval],
    /// DSSS preambles; only the long preamble if the PHY has no DSSS.
    pub preambles: &'static [Preamble],
    /// Largest number of spatial streams.
    pub max_streams: u8,
    /// The rates.
    pub rates: Rates,
    /// The rate of stations that choose none.
    pub usual_rate: Rate,
    /// The PHYs that its stations also support: at most one per band.
    pub extends: &'static [&'static Phy],
    /// Slot, SIFS and `aCCATime`; none if they are the same as in a BSS of the PHY that this PHY extends.
    pub timing: Option<Timing>,
    /// `aCWmin`, slots. HT and later PHYs use the parameters of EDCA instead.
    pub cw_min: u16,
    /// Octets of the longest MPDU in a PPDU without an A-MSDU.
    pub max_mpdu_len_b: usize,
    /// Limits of A-MPDUs and A-MSDUs; none if the PHY is older than HT. A PHY with aggregation uses QoS data
    /// frames and EDCA.
    pub aggregation: Option<AggregationLimits>,
    /// Converts settings to a mode. Only the rate and its combination with other settings remain to be
    /// checked.
    pub mode: fn(&Settings) -> Result<Mode, PhyError>,
}

/// The rates of a PHY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rates {
    /// Non-HT rates, in ascending order. They also carry Control response frames.
    NonHt(&'static [NonHtRate]),
    /// The MCSs 0 to `last`.
    Mcs {
        /// The last MCS.
        last: u8,
        /// MCSs per number of streams, if the MCS implies the number; otherwise none.
        per_stream: Option<u8>,
        /// The codings of one stream by MCS.
        codings: &'static [Coding],
    },
}

impl Rates {
    /// The non-HT rates; empty for a PHY with MCSs.
    #[must_use]
    pub const fn non_ht(&self) -> &'static [NonHtRate] {
        match self {
            Rates::NonHt(rates) => rates,
            Rates::Mcs { .. } => &[],
        }
    }
}

/// A non-HT rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonHtRate {
    /// The rate in kbit/s.
    pub kbps: u32,
    /// Whether every station supports the rate.
    pub is_mandatory: bool,
    /// Whether the rate belongs to the default BSSBasicRateSet.
    pub is_basic: bool,
}

/// The time parameters of a PHY that the stations of a BSS share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// `aSlotTime`.
    pub slot: Nanos,
    /// `aSIFSTime`.
    pub sifs: Nanos,
    /// `aCCATime`: the time after which a station senses a preamble.
    pub cca_time: Nanos,
}

/// Limits of the aggregation of MSDUs and MPDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AggregationLimits {
    /// Octets of the longest A-MPDU.
    pub max_ampdu_len_b: usize,
    /// Octets of the longest A-MSDU.
    pub max_amsdu_len_b: usize,
    /// Octets of the longest MPDU in an A-MPDU, if an A-MSDU can exceed them.
    pub max_mpdu_in_ampdu_b: Option<usize>,
    /// Whether a PPDU always carries an A-MPDU, even for a single MPDU.
    pub always_ampdu: bool,
}

impl Phy {
    /// The PHY that this PHY extends in a band.
    #[must_use]
    pub fn predecessor(&self, band: Band) -> Option<&'static Phy> {
        self.extends.iter().find(|phy| phy.bands.contains(&band)).copied()
    }

    /// Whether stations of this PHY support another PHY, because it is the same PHY or because this PHY
    /// extends it in the band.
    #[must_use]
    pub fn supports(&'static self, other: &Phy, band: Band) -> bool {
        self.lineage(band).any(|phy| phy == other)
    }

    /// This PHY and the PHYs that it extends in a band, from the newest to the oldest.
    pub fn lineage(&'static self, band: Band) -> impl Iterator<Item = &'static Phy> {
        iter::successors(Some(self), move |phy| phy.predecessor(band))
    }

    /// Data subcarriers of a channel width, MHz.
    pub(crate) const fn data_subcarriers_at(&self, bandwidth_mhz: u16) -> Option<u16> {
        let mut place = 0;
        while place < self.data_subcarriers.len() {
            if self.bandwidths_mhz[place] == bandwidth_mhz {
                return Some(self.data_subcarriers[place]);
            }
            place += 1;
        }
        None
    }

    /// Whether the PHY is HT or later: it has QoS data frames, EDCA and aggregation.
    #[must_use]
    pub const fn is_ht(&self) -> bool {
        self.aggregation.is_some()
    }
}

impl PartialEq for Phy {
    fn eq(&self, other: &Phy) -> bool {
        ptr::eq(self, other)
    }
}

impl Eq for Phy {}

impl Hash for Phy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.word.hash(state);
    }
}

impl fmt::Debug for Phy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word)
    }
}

/// A value that a PHY does not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undefined {
    /// A rate.
    Rate(Rate),
    /// The short preamble at a rate in kbit/s.
    ShortPreamble(u32),
    /// A channel width, MHz.
    Bandwidth(u16),
    /// A number of spatial streams.
    Streams(u8),
    /// An MCS with a number of spatial streams.
    McsWithStreams {
        /// MCS index.
        mcs: u8,
        /// Spatial streams.
        streams: u8,
    },
    /// An MCS at a channel width with a number of spatial streams.
    McsAtWidth {
        /// MCS index.
        mcs: u8,
        /// Channel width, MHz.
        bandwidth_mhz: u16,
        /// Spatial streams.
        streams: u8,
    },
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |streams| if streams == 1 { "" } else { "s" };
        match *self {
            Undefined::Rate(Rate::Kbps(kbps)) => write!(f, "rate of {} Mbit/s", Mbps(kbps.into())),
            Undefined::Rate(Rate::Mcs(mcs)) => write!(f, "MCS {mcs}"),
            Undefined::ShortPreamble(kbps) => write!(f, "short preamble at {} Mbit/s", Mbps(kbps.into())),
            Undefined::Bandwidth(mhz) => write!(f, "channel width of {mhz} MHz"),
            Undefined::Streams(streams) => write!(f, "{streams} spatial streams"),
            Undefined::McsWithStreams { mcs, streams } => {
                write!(f, "MCS {mcs} with {streams} spatial stream{}", plural(streams))
            }
            Undefined::McsAtWidth {
                mcs,
                bandwidth_mhz,
                streams,
            } => {
                let plural = plural(streams);
                write!(
                    f,
                    "MCS {mcs} at {bandwidth_mhz} MHz with {streams} spatial stream{plural}"
                )
            }
        }
    }
}

/// An invalid PHY rate or BSSBasicRateSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PhyError {
    /// The PHY does not define the value.
    #[error("{} has no {value} ({clauses}); allowed: {allowed}", .phy.amendment)]
    Undefined {
        /// The PHY.
        phy: &'static Phy,
        /// The value.
        value: Undefined,
        /// The clauses of IEEE Std 802.11-2020 that define the allowed values.
        clauses: &'static str,
        /// The allowed values.
        allowed: &'static str,
    },
    /// The mode is not a non-HT rate of the BSS.
    #[error("{0} cannot be a basic rate of this BSS (10.6.6.5); allowed: the non-HT rates of its PHY")]
    BasicRate(Mode),
    /// The BSSBasicRateSet is empty.
    #[error("a BSS requires at least one basic rate (10.6.5)")]
    NoBasicRate,
}

/// A PHY rate: everything that determines the airtime and the error rate of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    phy: &'static Phy,
    parameters: ModeParameters,
}

/// The parameters of a [`Mode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModeParameters {
    /// Frequency band.
    pub band: Band,
    /// Width of the channel, MHz.
    pub bandwidth_mhz: u16,
    /// Spatial streams.
    pub streams: u8,
    /// MCS index; none for a non-HT rate.
    pub mcs: Option<u8>,
    /// The DSSS preamble; none for other modes.
    pub dsss_preamble: Option<Preamble>,
    /// Modulation of the data field.
    pub modulation: Modulation,
    /// Code rate of the data field.
    pub code_rate: CodeRate,
    /// The data field.
    pub data: Data,
    /// Duration of the preamble and the PHY headers before the data field, us.
    pub preamble_us: u16,
    /// Bits of the PHY headers. All are required to receive the PPDU.
    pub header_bits: u8,
    /// Signal extension: silence after the data field, in which a decoder that is designed for OFDM's SIFS of
    /// 16 us finishes, us (18.3.2.4, 19.3.2).
    pub signal_extension_us: u8,
}

impl Mode {
    /// A mode of a PHY. Only the file that declares the PHY requires it.
    #[must_use]
    pub const fn new(phy: &'static Phy, parameters: ModeParameters) -> Mode {
        Mode { phy, parameters }
    }

    /// The mode of settings that [`Phy::mode`] converts.
    ///
    /// # Errors
    /// [`PhyError::Undefined`] if the PHY does not define the rate with these settings.
    pub fn of(phy: &'static Phy, settings: &Settings) -> Result<Mode, PhyError> {
        (phy.mode)(settings)
    }

    /// The settings that give this mode.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings {
            rate: match self.mcs() {
                Some(mcs) => Rate::Mcs(mcs),
                None => Rate::Kbps(u32::try_from(self.rate_kbps()).unwrap_or(u32::MAX)),
            },
            bandwidth_mhz: self.bandwidth_mhz(),
            gi: self.guard_interval().unwrap_or(GuardInterval::Long),
            streams: Some(self.streams()),
            band: self.band(),
            preamble: self.dsss_preamble().unwrap_or(Preamble::Long),
        }
    }

    /// The PHY that defines the mode.
    #[must_use]
    pub const fn phy(&self) -> &'static Phy {
        self.phy
    }

    /// Frequency band.
    #[must_use]
    pub const fn band(&self) -> Band {
        self.parameters.band
    }

    /// Width of the channel, MHz: 22 for DSSS (the width of its spectrum mask, 15.4.5.5), 20 to 160
    /// otherwise.
    #[must_use]
    pub const fn bandwidth_mhz(&self) -> u16 {
        self.parameters.bandwidth_mhz
    }

    /// Spatial streams, 1 to 8.
    #[must_use]
    pub const fn streams(&self) -> u8 {
        self.parameters.streams
    }

    /// MCS index of HT (0 to 31, which includes the streams) and VHT (0 to 9); `None` for other modes.
    #[must_use]
    pub const fn mcs(&self) -> Option<u8> {
        self.parameters.mcs
    }

    /// Guard interval of HT and VHT; `None` for other modes, whose guard interval is fixed.
    #[must_use]
    pub const fn guard_interval(&self) -> Option<GuardInterval> {
        match (self.mcs(), self.parameters.data) {
            (Some(_), Data::Symbols { gi, .. }) => Some(gi),
            _ => None,
        }
    }

    /// The DSSS preamble; `None` for other modes.
    #[must_use]
    pub const fn dsss_preamble(&self) -> Option<Preamble> {
        self.parameters.dsss_preamble
    }

    /// Modulation of the data symbols.
    #[must_use]
    pub const fn modulation(&self) -> Modulation {
        self.parameters.modulation
    }

    /// Code rate of the data symbols.
    #[must_use]
    pub const fn code_rate(&self) -> CodeRate {
        self.parameters.code_rate
    }

    /// Bits of the PHY headers.
    #[must_use]
    pub const fn header_bits(&self) -> u8 {
        self.parameters.header_bits
    }

    /// Data rate in kbit/s, rounded down (72 222 for HT MCS 7 at 20 MHz with the short guard interval).
    #[must_use]
    pub const fn rate_kbps(&self) -> u64 {
        self.parameters.data.rate_kbps()
    }

    /// Octets of the longest A-MPDU (Table 9-25, 9.4.2.55.3, 9.4.2.157.2); `None` if the mode carries no
    /// A-MPDU.
    #[must_use]
    pub const fn max_ampdu_len_b(&self) -> Option<usize> {
        match &self.phy.aggregation {
            Some(limits) => Some(limits.max_ampdu_len_b),
            None => None,
        }
    }

    /// Octets of the longest MPDU: 11 454 in a VHT PPDU, the largest of [`VHT_MPDU_LENS_B`];
    /// [`NON_VHT_MPDU_MAX_B`] otherwise. Only an HT PPDU without an A-MPDU may carry a longer MPDU (Table
    /// 9-25, an A-MSDU of 7 935 octets).
    #[must_use]
    pub const fn max_mpdu_len_b(&self) -> usize {
        self.phy.max_mpdu_len_b
    }

    /// Whether a PPDU always carries an A-MPDU, even for a single MPDU: true for VHT. Such an S-MPDU has its
    /// delimiter of 4 octets (9.7.1, 10.12.8) in the PSDU and is answered by an Ack.
    #[must_use]
    pub const fn always_ampdu(&self) -> bool {
        match &self.phy.aggregation {
            Some(limits) => limits.always_ampdu,
            None => false,
        }
    }

    /// Duration of the preamble and PHY headers before the data: 192 or 96 us for DSSS; 20 us for OFDM and
    /// ERP-OFDM; 36, 40, 48, 48 us for HT-mixed of 1 to 4 streams; 40, 44, 52, 52, 60, 60, 68, 68 us for VHT
    /// of 1 to 8 streams.
    #[must_use]
    pub const fn preamble(&self) -> Nanos {
        Nanos::from_us(self.parameters.preamble_us as u64)
    }

    /// Airtime of the PPDU that carries a PSDU of `psdu_len_b` octets: TXTIME of 16.3.4 (DSSS), 17.4.3
    /// (OFDM), 18.5.3 (ERP-OFDM), 19.4.3 (HT-mixed) and 21.4.3 (VHT; the PSDU is an A-MPDU, with its
    /// delimiters). ERP-OFDM and HT in the 2.4 GHz band end with a signal extension of 6 us.
    #[must_use]
    pub const fn ppdu_duration(&self, psdu_len_b: usize) -> Nanos {
        let data = self.parameters.data.duration(psdu_len_b);
        Nanos(self.preamble().0 + data.0 + self.signal_extension().0)
    }

    /// Octets of the longest PSDU whose PPDU lasts at most `duration`; 0 if even an empty PSDU exceeds it.
    #[must_use]
    pub fn max_psdu_len_b(&self, duration: Nanos) -> usize {
        let data = duration.saturating_sub(self.preamble() + self.signal_extension());
        self.parameters.data.max_psdu_len_b(data)
    }

    const fn signal_extension(&self) -> Nanos {
        Nanos::from_us(self.parameters.signal_extension_us as u64)
    }

    /// Coded bits of all streams, Mbit/s. An error model divides the energy per second by this number.
    pub(crate) fn coded_mbps(&self) -> f64 {
        self.parameters.data.coded_mbps(self.code_rate())
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.phy.label)?;
        match (self.phy.rates, self.mcs()) {
            (Rates::Mcs { per_stream: None, .. }, Some(mcs)) => {
                let plural = if self.streams() == 1 { "" } else { "s" };
                write!(f, "MCS {mcs}, {} stream{plural}", self.streams())?;
            }
            (_, Some(mcs)) => write!(f, "MCS {mcs}")?,
            (_, None) => write!(f, "{} Mbit/s", Mbps(self.rate_kbps()))?,
        }
        if let Some(gi) = self.guard_interval() {
            let gi_ns = if gi == GuardInterval::Short { 400 } else { 800 };
            write!(f, ", {} MHz, GI {gi_ns} ns", self.bandwidth_mhz())?;
        }
        match self.dsss_preamble() {
            Some(Preamble::Long) => write!(f, ", long preamble")?,
            Some(Preamble::Short) => write!(f, ", short preamble")?,
            None => {}
        }
        match self.band() {
            Band::Ghz2_4 if self.phy.bands.len() > 1 => write!(f, ", 2.4 GHz"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod bss_tests;
#[cfg(test)]
mod tests;
