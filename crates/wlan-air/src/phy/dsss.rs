//! DSSS (clause 15) and HR/DSSS (clause 16): 802.11b.

use super::{
    Band, Bss, CodeRate, Data, Format, GuardInterval, Mode, ModeParameters, Modulation, NON_VHT_MPDU_MAX_B,
    NonHtRate, Phy, PhyError, Preamble, Rate, Rates, Settings, Timing, Undefined,
};
use crate::Nanos;

/// 802.11b. The basic rates are 1 and 2 Mbit/s, so that a station of clause 15 can join.
pub static DSSS: Phy = Phy {
    word: "dsss",
    amendment: "802.11b",
    generation: None,
    label: "DSSS",
    format: Format::Dsss,
    hostapd: &[],
    clauses: "clauses 15, 16",
    bands: &[Band::Ghz2_4],
    bandwidths_mhz: &[20],
    data_subcarriers: &[],
    guard_intervals: &[GuardInterval::Long],
    preambles: &[Preamble::Long, Preamble::Short],
    max_streams: 1,
    rates: Rates::NonHt(&[
        rate(1_000, true),
        rate(2_000, true),
        rate(5_500, false),
        rate(11_000, false),
    ]),
    usual_rate: Rate::Kbps(11_000),
    extends: &[],
    // Table 16-4.
    timing: Some(Timing {
        slot: Nanos::from_us(20),
        sifs: Nanos::from_us(10),
        cca_time: Nanos::from_us(15),
    }),
    // Tables 15-6, 16-4.
    cw_min: 31,
    max_mpdu_len_b: NON_VHT_MPDU_MAX_B,
    aggregation: None,
    mode,
};

/// Width of the spectrum mask, which contains the noise that a receiver sees, MHz (15.4.5.5).
const MASK_MHZ: u16 = 22;
/// Bits of the PHY header: SIGNAL, SERVICE, LENGTH, CRC (15.2.3, 16.2.3).
const HEADER_BITS: u8 = 48;

/// Every rate of clauses 15 and 16 is mandatory.
const fn rate(kbps: u32, is_basic: bool) -> NonHtRate {
    NonHtRate {
        kbps,
        is_mandatory: true,
        is_basic,
    }
}

fn mode(settings: &Settings) -> Result<Mode, PhyError> {
    match settings.rate {
        Rate::Kbps(rate_kbps) => Mode::dsss(rate_kbps, settings.preamble),
        Rate::Mcs(_) => Err(undefined(settings.rate)),
    }
}

impl Mode {
    /// A rate of clauses 15 and 16, in kbit/s: 1000, 2000, 5500 or 11000 (16.2.3.3; CCK, no PBCC).
    ///
    /// # Errors
    /// [`PhyError::Undefined`] for any other rate, and for 1 Mbit/s with the short preamble, whose header is
    /// already sent at 2 Mbit/s (16.2.2.3).
    pub const fn dsss(rate_kbps: u32, preamble: Preamble) -> Result<Mode, PhyError> {
        let modulation = match rate_kbps {
            1_000 => Modulation::Dbpsk,
            2_000 => Modulation::Dqpsk,
            5_500 => Modulation::Cck5_5,
            11_000 => Modulation::Cck11,
            _ => return Err(undefined(Rate::Kbps(rate_kbps))),
        };
        if rate_kbps == 1_000 && matches!(preamble, Preamble::Short) {
            return Err(PhyError::Undefined {
                phy: &DSSS,
                value: Undefined::ShortPreamble(rate_kbps),
                clauses: "16.2.2.3",
                allowed: "the long preamble, or 2, 5.5, 11 Mbit/s",
            });
        }
        let parameters = ModeParameters {
            band: Band::Ghz2_4,
            bandwidth_mhz: MASK_MHZ,
            streams: 1,
            mcs: None,
            dsss_preamble: Some(preamble),
            modulation,
            code_rate: CodeRate::Uncoded,
            data: Data::Octets { rate_kbps },
            // SYNC, SFD and PHY header: 144 + 48 bits at 1 Mbit/s, or 72 bits at 1 Mbit/s and 48 bits at
            // 2 Mbit/s (16.2.2).
            preamble_us: match preamble {
                Preamble::Long => 144 + 48,
                Preamble::Short => 72 + 24,
            },
            header_bits: HEADER_BITS,
            signal_extension_us: 0,
        };
        Ok(Mode::new(&DSSS, parameters))
    }
}

const fn undefined(rate: Rate) -> PhyError {
    PhyError::Undefined {
        phy: &DSSS,
        value: Undefined::Rate(rate),
        clauses: DSSS.clauses,
        allowed: "1, 2, 5.5, 11",
    }
}

impl Bss {
    /// An 802.11b BSS with this preamble of frames that all stations must hear.
    #[must_use]
    pub fn dsss(preamble: Preamble) -> Bss {
        Bss::new(&DSSS, Band::Ghz2_4).with_preamble(preamble)
    }
}
