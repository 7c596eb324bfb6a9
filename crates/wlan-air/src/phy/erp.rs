//! ERP-OFDM (clause 18): 802.11g.

use super::{
    Band, Bss, DSSS, Format, GuardInterval, Mode, NON_VHT_MPDU_MAX_B, Phy, PhyError, Preamble, Rate, Rates,
    Settings, Timing, ofdm,
};
use crate::Nanos;

/// 802.11g: the rates of clause 17 in the 2.4 GHz band, with the short slot.
pub static ERP: Phy = Phy {
    word: "erp",
    amendment: "802.11g",
    generation: None,
    label: "ERP-OFDM",
    format: Format::Ofdm,
    hostapd: &[],
    clauses: "clause 18",
    bands: &[Band::Ghz2_4],
    bandwidths_mhz: &[20],
    data_subcarriers: &[],
    guard_intervals: &[GuardInterval::Long],
    preambles: &[Preamble::Long],
    max_streams: 1,
    rates: Rates::NonHt(&ofdm::RATES),
    usual_rate: Rate::Kbps(54_000),
    extends: &[&DSSS],
    timing: Some(ErpSlot::Short.timing()),
    cw_min: ofdm::CW_MIN,
    max_mpdu_len_b: NON_VHT_MPDU_MAX_B,
    aggregation: None,
    mode,
};

/// Silence after a PPDU of OFDM symbols in the 2.4 GHz band, us (18.3.2.4, 19.3.2).
pub(super) const SIGNAL_EXTENSION_US: u8 = 6;

/// `aSlotTime` of an ERP BSS (Table 18-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErpSlot {
    /// 9 us: all stations of the BSS are of clause 18 or later.
    Short,
    /// 20 us: the BSS may contain stations of clause 16.
    Long,
}

impl ErpSlot {
    /// Table 18-5.
    const fn timing(self) -> Timing {
        let (slot_us, cca_us) = match self {
            ErpSlot::Short => (9, 4),
            ErpSlot::Long => (20, 15),
        };
        Timing {
            slot: Nanos::from_us(slot_us),
            sifs: Nanos::from_us(10),
            cca_time: Nanos::from_us(cca_us),
        }
    }
}

fn mode(settings: &Settings) -> Result<Mode, PhyError> {
    at(settings.rate)
}

impl Mode {
    /// An ERP-OFDM rate of clause 18, in Mbit/s: the rates of clause 17 in the 2.4 GHz band (18.3.2.4).
    ///
    /// # Errors
    /// [`PhyError::Undefined`] for any other rate.
    pub const fn erp(rate_mbps: u16) -> Result<Mode, PhyError> {
        at(Rate::Kbps(1_000 * rate_mbps as u32))
    }
}

const fn at(rate: Rate) -> Result<Mode, PhyError> {
    match ofdm::parameters(rate, Band::Ghz2_4, SIGNAL_EXTENSION_US) {
        Some(parameters) => Ok(Mode::new(&ERP, parameters)),
        None => Err(ofdm::undefined(&ERP, rate)),
    }
}

impl Bss {
    /// An 802.11g BSS with this slot, and with this preamble of DSSS frames that all stations must hear.
    #[must_use]
    pub fn erp(slot: ErpSlot, preamble: Preamble) -> Bss {
        Bss::new(&ERP, Band::Ghz2_4)
            .with_timing(slot.timing())
            .with_preamble(preamble)
    }

    /// The same BSS with this slot. A BSS without ERP stations has a single slot, and stays the same: 9 us in the 5 GHz
    /// band (Tables 17-21, 19-25, 21-29), 20 us with 802.11b (Table 16-4).
    #[must_use]
    pub fn with_slot(self, slot: ErpSlot) -> Bss {
        if self.is_erp() {
            self.with_timing(slot.timing())
        } else {
            self
        }
    }

    /// The same BSS with an associated 802.11b station. A BSS without ERP stations stays the same.
    ///
    /// The BSS then has the long slot (9.4.1.4) and, as hostapd's BSSs, the basic rates 1, 2, 5.5 and 11 Mbit/s,
    /// because every station must support all basic rates. Frames that protect a PPDU from the station have such a
    /// rate (10.27.2).
    #[must_use]
    pub fn with_dot11b_stations(self) -> Bss {
        if self.is_erp() {
            self.with_slot(ErpSlot::Long).for_dot11b_stations()
        } else {
            self
        }
    }
}
