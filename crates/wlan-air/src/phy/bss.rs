//! What the stations of a BSS agree on: slot, SIFS, basic rates, and what follows from them.

use super::{
    ACK_LEN_B, BLOCK_ACK_LEN_B, Band, CTS_LEN_B, Class, Format, Mode, PhyError, Preamble, RTS_LEN_B, ofdm,
};
use crate::Nanos;

/// aSlotTime of an ERP BSS (Table 18-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErpSlot {
    /// 9 us: every station of the BSS is of clause 18 or later.
    Short,
    /// 20 us: stations of clause 16 may be there.
    Long,
}

/// A family of non-HT rates: what a Control response frame is sent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Dsss,
    Ofdm,
    Erp,
}

/// Rates of a family, kbit/s, and whether the PHY must have them (clauses 15 to 18).
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

    /// First bit of the family's rates in [`Bss::basic`].
    const fn first_bit(self) -> usize {
        match self {
            Family::Dsss => 0,
            Family::Ofdm | Family::Erp => DSSS_RATES.len(),
        }
    }

    /// A rate of [`Family::rates`] as a mode.
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

/// The family that answers a mode, and the rate that counts, kbit/s: its own, or of HT and VHT the non-HT
/// reference rate (10.6.11).
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

/// What all stations of a BSS agree on.
///
/// Everything here follows from the PHY, the band and the BSSBasicRateSet; nothing depends on one station's
/// rate but through the [`Mode`] that a method is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bss {
    class: Class,
    band: Band,
    slot: ErpSlot,
    /// Of frames sent in DSSS for all to hear.
    preamble: Preamble,
    /// BSSBasicRateSet: a bit a rate, those of DSSS first, then those of OFDM or ERP-OFDM.
    basic: u16,
}

/// BSSBasicRateSet by default: 1 and 2 Mbit/s for DSSS, 6, 12 and 24 Mbit/s for OFDM and ERP-OFDM.
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

    /// 802.11a: slot 9 us, SIFS 16 us, basic rates 6, 12 and 24 Mbit/s, the mandatory ones of clause 17.
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

    /// 802.11g: SIFS 10 us, slot and DSSS preamble as given; basic rates 1, 2, 6, 12 and 24 Mbit/s.
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

    /// 802.11n: in the 5 GHz band as [`Bss::ofdm`], in the 2.4 GHz band as [`Bss::erp`] with the short slot
    /// and the long preamble.
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

    /// 802.11ac: as [`Bss::ofdm`].
    #[must_use]
    pub const fn vht() -> Bss {
        Bss {
            class: Class::Vht,
            ..Bss::ofdm()
        }
    }

    /// The usual BSS of a mode: the one of its class; for ERP-OFDM with the short slot and the long preamble.
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

    /// The same BSS with another BSSBasicRateSet: non-HT rates of its PHY, at least one. The preamble of a
    /// DSSS rate does not matter.
    ///
    /// # Errors
    /// [`PhyError::NoBasicRate`] for an empty set, [`PhyError::BasicRate`] for a mode that cannot be basic.
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

    /// Whether frames of a mode can be sent in this BSS: modes of its own clause and, in the same band, of
    /// those that it extends.
    #[must_use]
    pub fn carries(&self, mode: &Mode) -> bool {
        self.band == mode.band() && mode.class() <= self.class
    }

    /// aSlotTime: 20 us (Table 16-4), 9 us (Tables 17-21, 19-25, 21-29), either of them (Table 18-5).
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

    /// aCCATime: a station senses a preamble only after this time (15 us with the 20 us slot, 4 us with the 9
    /// us slot: Tables 16-4, 17-21, 18-5), so two stations that start less than it apart collide.
    #[must_use]
    pub const fn cca_time(&self) -> Nanos {
        match self.slot {
            ErpSlot::Short => Nanos::from_us(4),
            ErpSlot::Long => Nanos::from_us(15),
        }
    }

    /// Mode of the Control frame that answers a mode (Ack, `BlockAck`, CTS): the highest basic rate of the
    /// same modulation class that is not above the rate, or for HT and VHT not above the non-HT reference
    /// rate; if there is none, the highest such mandatory rate of the PHY (10.6.6.5, 10.6.11). A DSSS frame
    /// is answered in DSSS with the same kind of preamble, any other in OFDM or ERP-OFDM.
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

    /// Airtime of the Ack that answers a mode.
    #[must_use]
    pub fn ack_duration(&self, mode: &Mode) -> Nanos {
        self.control_response(mode).ppdu_duration(ACK_LEN_B)
    }

    /// Airtime of the compressed `BlockAck` that answers a mode.
    #[must_use]
    pub fn block_ack_duration(&self, mode: &Mode) -> Nanos {
        self.control_response(mode).ppdu_duration(BLOCK_ACK_LEN_B)
    }

    /// Airtime of the RTS before a frame of a mode, sent as an answer to it would be: at the highest basic
    /// rate that the data would be answered at (the choice is the station's, 10.6.6.2).
    #[must_use]
    pub fn rts_duration(&self, mode: &Mode) -> Nanos {
        self.control_response(mode).ppdu_duration(RTS_LEN_B)
    }

    /// Airtime of the CTS that answers such an RTS.
    #[must_use]
    pub fn cts_duration(&self, mode: &Mode) -> Nanos {
        self.control_response(&self.control_response(mode))
            .ppdu_duration(CTS_LEN_B)
    }

    /// `AckTimeout` and `CTSTimeout`: how long after its PPDU a station waits before it takes the lack of an
    /// answer for a failure: SIFS, a slot and aRxPHYStartDelay of the answer's PHY, its preamble (10.3.2.9,
    /// 10.3.2.11; Tables 16-4, 17-21, 18-5).
    #[must_use]
    pub fn ack_timeout(&self, mode: &Mode) -> Nanos {
        self.sifs() + self.slot() + self.control_response(mode).preamble()
    }

    /// EIFS - DIFS: SIFS and an Ack at the lowest mandatory rate, which a station leaves free after a frame
    /// that it could not read (10.3.2.3.7, 10.3.7): 1 Mbit/s with the long preamble in the 2.4 GHz band, for
    /// ERP and HT include DSSS there; else 6 Mbit/s.
    #[must_use]
    pub fn eifs_less_difs(&self) -> Nanos {
        let family = match self.band {
            Band::Ghz2_4 => Family::Dsss,
            Band::Ghz5 => Family::Ofdm,
        };
        let lowest = family.mode(family.rates()[0].0, Preamble::Long);
        self.sifs() + lowest.ppdu_duration(ACK_LEN_B)
    }

    /// Mode of beacons and other group-addressed management frames: the lowest basic rate (10.6.5 leaves
    /// the choice among them), with the preamble of the BSS.
    #[must_use]
    pub fn beacon_mode(&self) -> Mode {
        self.basic_rates()
            .min_by_key(Mode::rate_kbps)
            .expect("a BSS has a basic rate, with_basic_rates sees to it")
    }

    /// Mode of frames that protect a PPDU from stations of clause 15 or 16 (CTS-to-self, 10.27.2): the
    /// highest DSSS rate that is basic. None where there are no such stations: the 5 GHz band, or no DSSS
    /// rate is basic.
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
