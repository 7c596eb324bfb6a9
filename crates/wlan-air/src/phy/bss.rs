//! The parameters that the stations of a BSS share: slot, SIFS, basic rates, and all values derived from
//! them.

use super::{
    ACK_LEN_B, BLOCK_ACK_LEN_B, Band, CTS_LEN_B, Class, Format, Mode, PhyError, Preamble, RTS_LEN_B, ofdm,
};
use crate::Nanos;

/// aSlotTime of an ERP BSS (Table 18-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErpSlot {
    /// 9 us: all stations of the BSS are of clause 18 or later.
    Short,
    /// 20 us: the BSS may contain stations of clause 16.
    Long,
}

/// A family of non-HT rates, in which Control response frames are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Dsss,
    Ofdm,
    Erp,
}

/// The rates of each family in kbit/s, and whether a rate is mandatory (clauses 15 to 18).
const DSSS_RATES: [(u32, bool); 4] = [(1_000, true), (2_000, true), (5_500, true), (11_000, true)];
const OFDM_RATES: [(u32, bool); 8] = [
    (6_000, true),
    (9_000, false),
    (12_000, true),
    (18_000, false),
    (24_000, true),
    (36_000, false),
    (48_000, false),
    (54_000, false),
];

impl Family {
    const fn rates(self) -> &'static [(u32, bool)] {
        match self {
            Family::Dsss => &DSSS_RATES,
            Family::Ofdm | Family::Erp => &OFDM_RATES,
        }
    }

    /// First bit of the family's rates in the `basic` field of [`Bss`].
    const fn first_bit(self) -> usize {
        match self {
            Family::Dsss => 0,
            Family::Ofdm | Family::Erp => DSSS_RATES.len(),
        }
    }

    /// The mode of a rate of [`Family::rates`].
    fn mode(self, rate_kbps: u32, preamble: Preamble) -> Mode {
        let mbps = u16::try_from(rate_kbps / 1_000).unwrap_or(u16::MAX);
        match self {
            Family::Dsss if rate_kbps == 1_000 => Mode::dsss(rate_kbps, Preamble::Long),
            Family::Dsss => Mode::dsss(rate_kbps, preamble),
            Family::Ofdm => Mode::ofdm(mbps),
            Family::Erp => Mode::erp(mbps),
        }
        .expect("a rate of the family's table")
    }
}

/// The family of the answer to a mode, and the rate that limits the answer, kbit/s: the mode's own rate, or
/// for HT and VHT the non-HT reference rate (10.6.11).
fn answered_by(mode: &Mode) -> (Family, u32) {
    let reference = || 1_000 * u32::from(ofdm::reference_rate_mbps(mode.modulation, mode.code_rate));
    match mode.format {
        Format::Dsss { rate_kbps, .. } => (Family::Dsss, rate_kbps),
        Format::Erp
        | Format::HtMixed {
            band: Band::Ghz2_4, ..
        } => (Family::Erp, reference()),
        _ => (Family::Ofdm, reference()),
    }
}

/// The parameters that all stations of a BSS share.
///
/// They follow from the PHY, the band and the BSSBasicRateSet. A station's rate matters only to methods that
/// take a [`Mode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bss {
    class: Class,
    band: Band,
    slot: ErpSlot,
    /// Preamble of DSSS frames that all stations must hear.
    preamble: Preamble,
    /// BSSBasicRateSet: one bit per rate, first the DSSS rates, then the OFDM or ERP-OFDM rates.
    basic: u16,
}

/// Default BSSBasicRateSet: 1 and 2 Mbit/s for DSSS, 6, 12 and 24 Mbit/s for OFDM and ERP-OFDM.
const DSSS_BASIC: u16 = 0b11;
const OFDM_BASIC: u16 = 0b0001_0101 << DSSS_RATES.len();

impl Bss {
    /// 802.11b: slot 20 us, SIFS 10 us, basic rates 1 and 2 Mbit/s, so that a station of clause 15 can join.
    #[must_use]
    pub const fn dsss(preamble: Preamble) -> Bss {
        Bss {
            class: Class::Dsss,
            band: Band::Ghz2_4,
            slot: ErpSlot::Long,
            preamble,
            basic: DSSS_BASIC,
        }
    }

    /// 802.11a: slot 9 us, SIFS 16 us, basic rates 6, 12 and 24 Mbit/s, which clause 17 makes mandatory.
    #[must_use]
    pub const fn ofdm() -> Bss {
        Bss {
            class: Class::Ofdm,
            band: Band::Ghz5,
            slot: ErpSlot::Short,
            preamble: Preamble::Long,
            basic: OFDM_BASIC,
        }
    }

    /// 802.11g: SIFS 10 us; the caller chooses slot and DSSS preamble; basic rates 1, 2, 6, 12 and 24 Mbit/s.
    #[must_use]
    pub const fn erp(slot: ErpSlot, preamble: Preamble) -> Bss {
        Bss {
            class: Class::Erp,
            band: Band::Ghz2_4,
            slot,
            preamble,
            basic: DSSS_BASIC | OFDM_BASIC,
        }
    }

    /// 802.11n: equal to [`Bss::ofdm`] in the 5 GHz band, and to [`Bss::erp`] with the short slot and the
    /// long preamble in the 2.4 GHz band.
    #[must_use]
    pub const fn ht(band: Band) -> Bss {
        let legacy = match band {
            Band::Ghz2_4 => Bss::erp(ErpSlot::Short, Preamble::Long),
            Band::Ghz5 => Bss::ofdm(),
        };
        Bss {
            class: Class::Ht,
            ..legacy
        }
    }

    /// 802.11ac: equal to [`Bss::ofdm`].
    #[must_use]
    pub const fn vht() -> Bss {
        Bss {
            class: Class::Vht,
            ..Bss::ofdm()
        }
    }

    /// The default BSS of a mode: the BSS of its class; for ERP-OFDM, with the short slot and the long
    /// preamble.
    #[must_use]
    pub const fn for_mode(mode: &Mode) -> Bss {
        match mode.format {
            Format::Dsss { preamble, .. } => Bss::dsss(preamble),
            Format::Ofdm => Bss::ofdm(),
            Format::Erp => Bss::erp(ErpSlot::Short, Preamble::Long),
            Format::HtMixed { band, .. } => Bss::ht(band),
            Format::Vht { .. } => Bss::vht(),
        }
    }

    /// The same BSS with another BSSBasicRateSet: at least one non-HT rate of its PHY. The preamble of a DSSS
    /// rate is ignored.
    ///
    /// # Errors
    /// [`PhyError::NoBasicRate`] for an empty set, [`PhyError::BasicRate`] for a mode that cannot be a basic
    /// rate.
    pub fn with_basic_rates(self, rates: &[Mode]) -> Result<Bss, PhyError> {
        let mut basic = 0;
        for rate in rates {
            let (family, rate_kbps) = answered_by(rate);
            if !matches!(rate.class(), Class::Dsss | Class::Ofdm | Class::Erp) || !self.carries(rate) {
                return Err(PhyError::BasicRate(*rate));
            }
            let index = family.rates().iter().position(|&(kbps, _)| kbps == rate_kbps);
            basic |= 1 << (family.first_bit() + index.ok_or(PhyError::BasicRate(*rate))?);
        }
        if basic == 0 {
            return Err(PhyError::NoBasicRate);
        }
        Ok(Bss { basic, ..self })
    }

    /// Whether stations can send frames of this mode in the BSS: modes of the BSS's own clause and of the
    /// clauses that it extends, in the same band.
    #[must_use]
    pub fn carries(&self, mode: &Mode) -> bool {
        self.band == mode.band() && mode.class() <= self.class
    }

    /// aSlotTime: 20 us (Table 16-4), 9 us (Tables 17-21, 19-25, 21-29), or either value (Table 18-5).
    #[must_use]
    pub const fn slot(&self) -> Nanos {
        match self.slot {
            ErpSlot::Short => Nanos::from_us(9),
            ErpSlot::Long => Nanos::from_us(20),
        }
    }

    /// aSIFSTime: 10 us in the 2.4 GHz band, 16 us in the 5 GHz band (Tables 16-4, 17-21, 18-5, 19-25).
    #[must_use]
    pub const fn sifs(&self) -> Nanos {
        match self.band {
            Band::Ghz2_4 => Nanos::from_us(10),
            Band::Ghz5 => Nanos::from_us(16),
        }
    }

    /// aCCATime: the time after which a station senses a preamble (15 us with the 20 us slot, 4 us with the 9
    /// us slot: Tables 16-4, 17-21, 18-5). Two stations that start within this time collide.
    #[must_use]
    pub const fn cca_time(&self) -> Nanos {
        match self.slot {
            ErpSlot::Short => Nanos::from_us(4),
            ErpSlot::Long => Nanos::from_us(15),
        }
    }

    /// Mode of the Control frame that answers `mode` (Ack, `BlockAck`, CTS). It is the highest basic rate of
    /// the same modulation class that does not exceed the rate, or for HT and VHT the non-HT reference rate.
    /// If no basic rate qualifies, it is the highest mandatory rate of the PHY within this limit (10.6.6.5,
    /// 10.6.11). A DSSS frame is answered in DSSS with the same preamble, any other frame in OFDM or
    /// ERP-OFDM.
    #[must_use]
    pub fn control_response(&self, mode: &Mode) -> Mode {
        let (family, limit_kbps) = answered_by(mode);
        let highest = |allowed: &dyn Fn(usize, bool) -> bool| {
            let rates = family.rates().iter().enumerate().rev();
            rates
                .filter(|&(index, &(kbps, mandatory))| kbps <= limit_kbps && allowed(index, mandatory))
                .map(|(_, &(kbps, _))| kbps)
                .next()
        };
        let rate_kbps = highest(&|index, _| self.basic >> (family.first_bit() + index) & 1 == 1)
            .or_else(|| highest(&|_, mandatory| mandatory))
            .expect("the lowest rate of a family is mandatory");
        family.mode(rate_kbps, mode.dsss_preamble().unwrap_or(self.preamble))
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

    /// Airtime of the RTS before a frame of `mode`. The RTS has the rate of the frame's control response; the
    /// standard leaves this choice to the station (10.6.6.2).
    #[must_use]
    pub fn rts_duration(&self, mode: &Mode) -> Nanos {
        self.control_response(mode).ppdu_duration(RTS_LEN_B)
    }

    /// Airtime of the CTS that answers this RTS.
    #[must_use]
    pub fn cts_duration(&self, mode: &Mode) -> Nanos {
        self.control_response(&self.control_response(mode))
            .ppdu_duration(CTS_LEN_B)
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
        let family = match self.band {
            Band::Ghz2_4 => Family::Dsss,
            Band::Ghz5 => Family::Ofdm,
        };
        let lowest = family.mode(family.rates()[0].0, Preamble::Long);
        self.sifs() + lowest.ppdu_duration(ACK_LEN_B)
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
    /// highest basic DSSS rate. None without such stations: in the 5 GHz band, or if no DSSS rate is basic.
    #[must_use]
    pub fn erp_protection_mode(&self) -> Option<Mode> {
        self.basic_rates()
            .filter(|mode| mode.class() == Class::Dsss)
            .last()
    }

    /// The BSSBasicRateSet in ascending order, DSSS before OFDM.
    pub fn basic_rates(&self) -> impl Iterator<Item = Mode> + use<> {
        let bss = *self;
        let ofdm = match bss.band {
            Band::Ghz2_4 => Family::Erp,
            Band::Ghz5 => Family::Ofdm,
        };
        [Family::Dsss, ofdm].into_iter().flat_map(move |family| {
            let is_basic = move |index: usize| bss.basic >> (family.first_bit() + index) & 1 == 1;
            let rates = family.rates().iter().enumerate();
            rates
                .filter(move |&(index, _)| is_basic(index))
                .map(move |(_, &(kbps, _))| family.mode(kbps, bss.preamble))
        })
    }
}
