//! OFDM (clause 17, 20 MHz spacing): 802.11a. Later PHYs share its rates and its preamble.

use super::{
    Band, Bss, CodeRate, Data, Format, GuardInterval, Mode, ModeParameters, Modulation, NON_VHT_MPDU_MAX_B,
    NonHtRate, Phy, PhyError, Preamble, Rate, Rates, Settings, Timing, Undefined,
};
use crate::Nanos;

/// 802.11a. The basic rates are 6, 12 and 24 Mbit/s, which clause 17 makes mandatory.
pub static OFDM: Phy = Phy {
    word: "ofdm",
    amendment: "802.11a",
    generation: None,
    label: "OFDM",
    format: Format::Ofdm,
    hostapd: &[],
    clauses: "clause 17",
    bands: &[Band::Ghz5],
    bandwidths_mhz: &[20],
    data_subcarriers: &[],
    guard_intervals: &[GuardInterval::Long],
    preambles: &[Preamble::Long],
    max_streams: 1,
    rates: Rates::NonHt(&RATES),
    usual_rate: Rate::Kbps(54_000),
    extends: &[],
    // Table 17-21.
    timing: Some(Timing {
        slot: Nanos::from_us(9),
        sifs: Nanos::from_us(16),
        cca_time: Nanos::from_us(4),
    }),
    cw_min: CW_MIN,
    max_mpdu_len_b: NON_VHT_MPDU_MAX_B,
    aggregation: None,
    mode,
};

/// The rates of Table 17-4.
pub(super) const RATES: [NonHtRate; 8] = [
    rate(6_000, true),
    rate(9_000, false),
    rate(12_000, true),
    rate(18_000, false),
    rate(24_000, true),
    rate(36_000, false),
    rate(48_000, false),
    rate(54_000, false),
];
/// `aCWmin` (Tables 17-21, 18-5, 19-25, 21-29), slots.
pub(super) const CW_MIN: u16 = 15;
/// Duration of L-STF, L-LTF and SIGNAL, common to every OFDM PPDU, us (17.3.2, 19.3.2, 21.3.2).
pub(super) const PREAMBLE_US: u16 = 20;
/// Bits of SIGNAL and L-SIG, BPSK with the code of rate 1/2 (17.3.4, 19.3.9.3.5).
pub(super) const SIGNAL_BITS: u8 = 24;

/// The mandatory rates are the default basic rates.
const fn rate(kbps: u32, is_mandatory: bool) -> NonHtRate {
    NonHtRate {
        kbps,
        is_mandatory,
        is_basic: is_mandatory,
    }
}

fn mode(settings: &Settings) -> Result<Mode, PhyError> {
    at(settings.rate)
}

impl Mode {
    /// An OFDM rate of clause 17 with 20 MHz spacing, in Mbit/s: 6, 9, 12, 18, 24, 36, 48 or 54 (Table 17-4).
    ///
    /// # Errors
    /// [`PhyError::Undefined`] for any other rate.
    pub const fn ofdm(rate_mbps: u16) -> Result<Mode, PhyError> {
        at(Rate::Kbps(1_000 * rate_mbps as u32))
    }
}

const fn at(rate: Rate) -> Result<Mode, PhyError> {
    match parameters(rate, Band::Ghz5, 0) {
        Some(parameters) => Ok(Mode::new(&OFDM, parameters)),
        None => Err(undefined(&OFDM, rate)),
    }
}

/// The error for a rate that Table 17-4 does not define.
pub(super) const fn undefined(phy: &'static Phy, rate: Rate) -> PhyError {
    PhyError::Undefined {
        phy,
        value: Undefined::Rate(rate),
        clauses: phy.clauses,
        allowed: "6, 9, 12, 18, 24, 36, 48, 54",
    }
}

/// The mode of a rate of Table 17-4 in a band.
pub(super) const fn parameters(rate: Rate, band: Band, signal_extension_us: u8) -> Option<ModeParameters> {
    let Rate::Kbps(kbps) = rate else { return None };
    let (modulation, code_rate, bits) = match kbps {
        6_000 => (Modulation::Bpsk, CodeRate::Half, 24),
        9_000 => (Modulation::Bpsk, CodeRate::ThreeQuarters, 36),
        12_000 => (Modulation::Qpsk, CodeRate::Half, 48),
        18_000 => (Modulation::Qpsk, CodeRate::ThreeQuarters, 72),
        24_000 => (Modulation::Qam16, CodeRate::Half, 96),
        36_000 => (Modulation::Qam16, CodeRate::ThreeQuarters, 144),
        48_000 => (Modulation::Qam64, CodeRate::TwoThirds, 192),
        54_000 => (Modulation::Qam64, CodeRate::ThreeQuarters, 216),
        _ => return None,
    };
    Some(ModeParameters {
        band,
        bandwidth_mhz: 20,
        streams: 1,
        mcs: None,
        dsss_preamble: None,
        modulation,
        code_rate,
        data: Data::Symbols {
            bits,
            encoders: 1,
            gi: GuardInterval::Long,
        },
        preamble_us: PREAMBLE_US,
        header_bits: SIGNAL_BITS,
        signal_extension_us,
    })
}

impl Bss {
    /// An 802.11a BSS.
    #[must_use]
    pub fn ofdm() -> Bss {
        Bss::new(&OFDM, Band::Ghz5)
    }
}
