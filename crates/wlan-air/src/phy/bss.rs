//! The parameters that the stations of a BSS share: slot, SIFS, basic rates, and all values derived from
//! them.

use super::{
    ACK_LEN_B, BLOCK_ACK_LEN_B, Band, CTS_LEN_B, CodeRate, Format, GuardInterval, Mode, Modulation,
    NonHtRate, Phy, PhyError, Preamble, RTS_LEN_B, Rate, Settings, Timing,
};
use crate::Nanos;

/// The parameters that all stations of a BSS share.
///
/// They follow from the PHY, the band and the BSSBasicRateSet. A station's rate matters only to methods that
/// take a [`Mode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bss {
    phy: &'static Phy,
    band: Band,
    timing: Timing,
    /// Preamble of DSSS frames that all stations must hear.
    preamble: Preamble,
    /// BSSBasicRateSet: one bit per non-HT rate of the PHYs that the stations support, oldest PHY first.
    basic: u32,
    /// Whether an 802.11b station is associated (`NonERP_Present`, 9.4.2.11).
    has_dot11b_stations: bool,
}

impl Bss {
    /// The default BSS of a PHY in a band, with the long preamble.
    ///
    /// # Panics
    /// If no PHY that the stations support in the band declares its timing.
    #[must_use]
    pub fn new(phy: &'static Phy, band: Band) -> Bss {
        let timing = phy.lineage(band).find_map(|phy| phy.timing);
        let mut bss = Bss {
            phy,
            band,
            timing: timing.expect("a PHY, or a PHY that it extends, declares its timing"),
            preamble: Preamble::Long,
            basic: 0,
            has_dot11b_stations: false,
        };
        for (bit, _, rate) in bss.non_ht_rates() {
            bss.basic |= u32::from(rate.is_basic) << bit;
        }
        bss
    }

    /// The default BSS of a mode: the BSS of its PHY, with the mode's DSSS preamble.
    #[must_use]
    pub fn for_mode(mode: &Mode) -> Bss {
        Bss::new(mode.phy(), mode.band()).with_preamble(mode.dsss_preamble().unwrap_or(Preamble::Long))
    }

    /// The same BSS with another preamble of the DSSS frames that all stations must hear.
    #[must_use]
    pub fn with_preamble(self, preamble: Preamble) -> Bss {
        Bss { preamble, ..self }
    }

    /// The same BSS with another slot, SIFS and `aCCATime`.
    #[must_use]
    pub fn with_timing(self, timing: Timing) -> Bss {
        Bss { timing, ..self }
    }

    /// The same BSS with an associated 802.11b station: its DSSS rates are its basic rates.
    pub(super) fn for_dot11b_stations(self) -> Bss {
        let dsss = self
            .non_ht_modes()
            .filter(|(_, mode)| mode.dsss_preamble().is_some());
        Bss {
            basic: dsss.fold(0, |basic, (bit, _)| basic | 1 << bit),
            has_dot11b_stations: true,
            ..self
        }
    }

    /// Whether an 802.11b station is associated, which cannot decode OFDM (`NonERP_Present`, 9.4.2.11).
    #[must_use]
    pub const fn has_dot11b_stations(&self) -> bool {
        self.has_dot11b_stations
    }

    /// Whether the BSS has the rates of clause 16 and those of clause 18.
    pub(super) fn is_erp(&self) -> bool {
        let is_dsss = |(_, mode): (usize, Mode)| mode.dsss_preamble().is_some();
        self.non_ht_modes().any(is_dsss) && !self.non_ht_modes().all(is_dsss)
    }

    /// The same BSS with another BSSBasicRateSet: at least one non-HT rate of its PHY. The preamble of a DSSS
    /// rate is ignored.
    ///
    /// # Errors
    /// [`PhyError::NoBasicRate`] for an empty set, [`PhyError::BasicRate`] for a mode that cannot be a basic
    /// rate.
    pub fn with_basic_rates(self, rates: &[Mode]) -> Result<Bss, PhyError> {
        let mut basic = 0;
        for mode in rates {
            let is_same = |phy: &Phy, rate: NonHtRate| phy == mode.phy() && is_rate_of(rate, mode);
            let found = self.non_ht_rates().find(|&(_, phy, rate)| is_same(phy, rate));
            let (bit, ..) = found.ok_or(PhyError::BasicRate(*mode))?;
            basic |= 1 << bit;
        }
        if basic == 0 {
            return Err(PhyError::NoBasicRate);
        }
        Ok(Bss { basic, ..self })
    }

    /// Whether stations can send frames of this mode in the BSS: modes of the BSS's own PHY and of the PHYs
    /// that it extends, in the same band.
    #[must_use]
    pub fn carries(&self, mode: &Mode) -> bool {
        self.band == mode.band() && self.phy.supports(mode.phy(), self.band)
    }

    /// The band.
    #[must_use]
    pub const fn band(&self) -> Band {
        self.band
    }

    /// The newest PHY of this format that the stations support.
    #[must_use]
    pub fn phy_with(&self, format: Format) -> Option<&'static Phy> {
        self.phy.lineage(self.band).find(|phy| phy.format == format)
    }

    /// `aSlotTime`: 20 us (Table 16-4), 9 us (Tables 17-21, 19-25, 21-29), or either value (Table 18-5).
    #[must_use]
    pub const fn slot(&self) -> Nanos {
        self.timing.slot
    }

    /// `aSIFSTime`: 10 us in the 2.4 GHz band, 16 us in the 5 GHz band (Tables 16-4, 17-21, 18-5, 19-25).
    #[must_use]
    pub const fn sifs(&self) -> Nanos {
        self.timing.sifs
    }

    /// `aCCATime`: the time after which a station senses a preamble (15 us with the 20 us slot, 4 us with the
    /// 9 us slot: Tables 16-4, 17-21, 18-5). Two stations that start within this time collide.
    #[must_use]
    pub const fn cca_time(&self) -> Nanos {
        self.timing.cca_time
    }

    /// Mode of the Control frame that answers `mode` (Ack, `BlockAck`, CTS). It is the highest basic rate of
    /// the same modulation class that does not exceed the rate, or for HT and VHT the non-HT reference rate.
    /// If no basic rate qualifies, it is the highest mandatory rate of the PHY within this limit (10.6.6.5,
    /// 10.6.11). A DSSS frame is answered in DSSS with the same preamble, any other frame in OFDM or
    /// ERP-OFDM.
    #[must_use]
    pub fn control_response(&self, mode: &Mode) -> Mode {
        let (phy, limit_kbps) = self.answered_by(mode);
        let first_bit = self.first_bit(phy);
        let highest = |is_allowed: &dyn Fn(usize, &NonHtRate) -> bool| {
            let rates = phy.rates.non_ht().iter().enumerate().rev();
            rates
                .filter(|(index, rate)| u64::from(rate.kbps) <= limit_kbps && is_allowed(*index, rate))
                .map(|(_, rate)| *rate)
                .next()
        };
        let rate = highest(&|index, _| self.basic >> (first_bit + index) & 1 == 1)
            .or_else(|| highest(&|_, rate| rate.is_mandatory))
            .expect("the lowest rate of a PHY is mandatory");
        self.non_ht_mode(phy, rate, mode.dsss_preamble().unwrap_or(self.preamble))
    }

    /// The PHY of the answer to a mode, and the rate that limits the answer, kbit/s: the mode's own rate, or
    /// for HT and VHT the non-HT reference rate (10.6.11).
    fn answered_by(&self, mode: &Mode) -> (&'static Phy, u64) {
        let phy = mode
            .phy()
            .lineage(self.band)
            .find(|phy| !phy.rates.non_ht().is_empty())
            .expect("a PHY, or a PHY that it extends, has non-HT rates");
        let limit_kbps = if phy == mode.phy() {
            mode.rate_kbps()
        } else {
            reference_rate_kbps(mode.modulation(), mode.code_rate())
        };
        (phy, limit_kbps)
    }

    /// Airtime of the Ack for a frame of `mode`.
    #[must_use]
    pub fn ack_duration(&self, mode: &Mode) -> Nanos {
        self.control_response(mode).ppdu_duration(ACK_LEN_B)
    }

    /// Airtime of the compressed `BlockAck` for a frame of `mode`.
    #[must_use]
    pub fn block_ack_duration(&self, mode: &Mode) -> Nanos {
        self.control_response(mode).ppdu_duration(BLOCK_ACK_LEN_B)
    }

    /// Mode of the RTS before a frame of `mode`: that of the frame's control response. The standard leaves this choice
    /// to the station (10.6.6.2), unless the RTS must reach 802.11b stations (10.27.2).
    #[must_use]
    pub fn rts_mode(&self, mode: &Mode) -> Mode {
        self.erp_protection_mode()
            .filter(|_| self.has_dot11b_stations)
            .unwrap_or_else(|| self.control_response(mode))
    }

    /// Airtime of the RTS before a frame of `mode`.
    #[must_use]
    pub fn rts_duration(&self, mode: &Mode) -> Nanos {
        self.rts_mode(mode).ppdu_duration(RTS_LEN_B)
    }

    /// Airtime of the CTS that answers this RTS.
    #[must_use]
    pub fn cts_duration(&self, mode: &Mode) -> Nanos {
        self.control_response(&self.rts_mode(mode))
            .ppdu_duration(CTS_LEN_B)
    }

    /// Mode of the CTS-to-self before a frame of `mode` (10.27.2).
    #[must_use]
    pub fn cts_to_self_mode(&self, mode: &Mode) -> Mode {
        self.erp_protection_mode()
            .unwrap_or_else(|| self.control_response(mode))
    }

    /// `AckTimeout` and `CTSTimeout`: the time after its PPDU for which a station waits for an answer. It is
    /// SIFS, a slot and aRxPHYStartDelay of the answer's PHY, which is its preamble (10.3.2.9, 10.3.2.11;
    /// Tables 16-4, 17-21, 18-5).
    #[must_use]
    pub fn ack_timeout(&self, mode: &Mode) -> Nanos {
        self.sifs() + self.slot() + self.control_response(mode).preamble()
    }

    /// EIFS - DIFS: SIFS and an Ack at the lowest mandatory rate, which a station waits for after a frame
    /// that it could not decode (10.3.2.3.7, 10.3.7). The rate is 1 Mbit/s with the long preamble in the 2.4
    /// GHz band, where ERP and HT include DSSS, and 6 Mbit/s otherwise.
    #[must_use]
    pub fn eifs_less_difs(&self) -> Nanos {
        let mut rates = self.non_ht_rates();
        let (_, phy, lowest) = rates.next().expect("a BSS has non-HT rates");
        let mode = self.non_ht_mode(phy, lowest, Preamble::Long);
        self.sifs() + mode.ppdu_duration(ACK_LEN_B)
    }

    /// Mode of beacons and other group-addressed management frames: the lowest basic rate with the preamble
    /// of the BSS (10.6.5 allows any basic rate).
    #[must_use]
    pub fn beacon_mode(&self) -> Mode {
        self.basic_rates()
            .min_by_key(Mode::rate_kbps)
            .expect("with_basic_rates ensures that a BSS has a basic rate")
    }

    /// Mode of frames that protect a PPDU from stations of clause 15 or 16 (CTS-to-self, 10.27.2): the
    /// highest basic DSSS rate. `None` without such stations: in the 5 GHz band, or if no DSSS rate is basic.
    #[must_use]
    pub fn erp_protection_mode(&self) -> Option<Mode> {
        self.basic_rates()
            .filter(|mode| mode.dsss_preamble().is_some())
            .last()
    }

    /// The BSSBasicRateSet in ascending order, DSSS before OFDM.
    pub fn basic_rates(&self) -> impl Iterator<Item = Mode> + use<> {
        let basic = self.basic;
        self.non_ht_modes()
            .filter(move |(bit, _)| basic >> bit & 1 == 1)
            .map(|(_, mode)| mode)
    }

    /// All non-HT rates of the BSS in kbit/s, in ascending order, DSSS before OFDM, and whether each is a
    /// basic rate.
    pub fn supported_rates(&self) -> impl Iterator<Item = (u32, bool)> + use<> {
        let bss = *self;
        bss.non_ht_rates()
            .map(move |(bit, _, rate)| (rate.kbps, bss.basic >> bit & 1 == 1))
    }

    /// The modes of these rates, with the preamble of the BSS, or with the long preamble if the rate has no other.
    pub fn supported_modes(&self) -> impl Iterator<Item = Mode> + use<> {
        self.non_ht_modes().map(|(_, mode)| mode)
    }

    /// The non-HT rates of the PHYs that the stations support, oldest PHY first, each with its bit in the
    /// BSSBasicRateSet.
    fn non_ht_rates(&self) -> impl Iterator<Item = (usize, &'static Phy, NonHtRate)> + use<> {
        let (phy, band) = (self.phy, self.band);
        let generations = phy.lineage(band).count();
        (0..generations)
            .rev()
            .filter_map(move |age| phy.lineage(band).nth(age))
            .flat_map(|phy| phy.rates.non_ht().iter().map(move |rate| (phy, *rate)))
            .enumerate()
            .map(|(bit, (phy, rate))| (bit, phy, rate))
    }

    /// The modes of [`Bss::non_ht_rates`], each with its bit in the BSSBasicRateSet.
    fn non_ht_modes(&self) -> impl Iterator<Item = (usize, Mode)> + use<> {
        let bss = *self;
        bss.non_ht_rates()
            .map(move |(bit, phy, rate)| (bit, bss.non_ht_mode(phy, rate, bss.preamble)))
    }

    /// The bit of a PHY's first non-HT rate in the BSSBasicRateSet.
    fn first_bit(&self, phy: &'static Phy) -> usize {
        let older = phy.lineage(self.band).skip(1);
        older.map(|phy| phy.rates.non_ht().len()).sum()
    }

    /// The mode of a non-HT rate, with the long preamble if the rate has no other.
    fn non_ht_mode(&self, phy: &'static Phy, rate: NonHtRate, preamble: Preamble) -> Mode {
        let settings = |preamble| Settings {
            rate: Rate::Kbps(rate.kbps),
            bandwidth_mhz: phy.bandwidths_mhz[0],
            gi: GuardInterval::Long,
            streams: None,
            band: self.band,
            preamble,
        };
        Mode::of(phy, &settings(preamble))
            .or_else(|_| Mode::of(phy, &settings(Preamble::Long)))
            .expect("a PHY defines the rates that it declares")
    }
}

fn is_rate_of(rate: NonHtRate, mode: &Mode) -> bool {
    u64::from(rate.kbps) == mode.rate_kbps()
}

/// The non-HT reference rate of an HT or VHT MCS, kbit/s: the rate of clause 17 or 18 with its modulation and
/// coding (10.6.11). 64-QAM 5/6 and all of 256-QAM have a reference rate of 54 Mbit/s.
fn reference_rate_kbps(modulation: Modulation, code_rate: CodeRate) -> u64 {
    let is_half = code_rate == CodeRate::Half;
    match modulation {
        Modulation::Bpsk if is_half => 6_000,
        Modulation::Bpsk => 9_000,
        Modulation::Qpsk if is_half => 12_000,
        Modulation::Qpsk => 18_000,
        Modulation::Qam16 if is_half => 24_000,
        Modulation::Qam16 => 36_000,
        Modulation::Qam64 if code_rate == CodeRate::TwoThirds => 48_000,
        _ => 54_000,
    }
}
