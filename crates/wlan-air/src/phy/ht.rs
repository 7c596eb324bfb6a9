//! HT-mixed (clause 19): 802.11n.

use super::{
    AggregationLimits, Band, Bss, CodeRate, Coding, Data, ERP, Format, GuardInterval, Mode, ModeParameters,
    Modulation, NON_VHT_MPDU_MAX_B, OFDM, Phy, PhyError, Preamble, Rate, Rates, Settings, Undefined, erp,
    ofdm,
};

/// 802.11n. Its BSS equals the BSS of 802.11a in the 5 GHz band, and the BSS of 802.11g in the 2.4 GHz band.
pub static HT: Phy = Phy {
    word: "ht",
    amendment: "802.11n",
    generation: Some("wifi4"),
    label: "HT",
    format: Format::Ht,
    hostapd: &[("ieee80211n", "1"), ("ht_capab", "{ht40}{short_gi_20_40}")],
    clauses: "clause 19",
    bands: &[Band::Ghz5, Band::Ghz2_4],
    bandwidths_mhz: &[20, 40],
    // Table 19-6.
    data_subcarriers: &[52, 108],
    guard_intervals: &[GuardInterval::Long, GuardInterval::Short],
    preambles: &[Preamble::Long],
    max_streams: 4,
    rates: Rates::Mcs {
        last: MCS_LAST,
        per_stream: Some(MCS_PER_STREAM),
        codings: CODINGS.split_at(MCS_PER_STREAM as usize).0,
    },
    usual_rate: Rate::Mcs(7),
    extends: &[&OFDM, &ERP],
    timing: None,
    cw_min: ofdm::CW_MIN,
    max_mpdu_len_b: NON_VHT_MPDU_MAX_B,
    // Table 9-25, 9.4.2.55.3; MPDU Length in the delimiter (9.7.1).
    aggregation: Some(AggregationLimits {
        max_ampdu_len_b: 65_535,
        max_amsdu_len_b: 7_935,
        max_mpdu_in_ampdu_b: Some(NON_VHT_MPDU_MAX_B),
        always_ampdu: false,
    }),
    mode,
};

/// The last MCS with equal modulation (19.5).
const MCS_LAST: u8 = 31;
/// MCSs per number of spatial streams (19.5).
const MCS_PER_STREAM: u8 = 8;
/// Bits of HT-SIG, BPSK with the code of rate 1/2 (19.3.9.4.3).
const HT_SIG_BITS: u8 = 48;

fn mode(settings: &Settings) -> Result<Mode, PhyError> {
    let Rate::Mcs(mcs) = settings.rate else {
        return Err(undefined(Undefined::Rate(settings.rate), "0 to 31"));
    };
    let mcs = with_streams(mcs, settings.streams)?;
    Mode::ht(mcs, settings.bandwidth_mhz, settings.gi, settings.band)
}

/// The MCS with its number of streams: MCS 7 on two streams is MCS 15.
fn with_streams(mcs: u8, streams: Option<u8>) -> Result<u8, PhyError> {
    let of_mcs = mcs / MCS_PER_STREAM + 1;
    match streams {
        Some(streams) if of_mcs == 1 && (1..=HT.max_streams).contains(&streams) => {
            Ok(mcs + MCS_PER_STREAM * (streams - 1))
        }
        Some(streams) if of_mcs != streams => {
            let value = Undefined::McsWithStreams { mcs, streams };
            Err(undefined(
                value,
                "MCS 0 to 7, or the streams that the MCS implies",
            ))
        }
        _ => Ok(mcs),
    }
}

impl Mode {
    /// An HT-mixed rate of clause 19 with equal modulation, BCC and no STBC: MCS 0 to 31 at 20 or 40 MHz.
    ///
    /// # Errors
    /// [`PhyError::Undefined`] if clause 19 does not define the MCS or the channel width.
    pub const fn ht(mcs: u8, bandwidth_mhz: u16, gi: GuardInterval, band: Band) -> Result<Mode, PhyError> {
        if mcs > MCS_LAST {
            return Err(undefined(Undefined::Rate(Rate::Mcs(mcs)), "0 to 31"));
        }
        let Some(data_subcarriers) = HT.data_subcarriers_at(bandwidth_mhz) else {
            return Err(undefined(Undefined::Bandwidth(bandwidth_mhz), "20, 40"));
        };
        let streams = mcs / MCS_PER_STREAM + 1;
        let (modulation, coded_bits, code_rate) = CODINGS[(mcs % MCS_PER_STREAM) as usize];
        let (numerator, denominator) = code_rate.ratio();
        let bits = data_subcarriers * coded_bits * streams as u16 * numerator / denominator;
        // HT data long training fields for the number of streams (Table 19-13).
        let training_fields = [1, 2, 4, 4][streams as usize - 1];
        let parameters = ModeParameters {
            band,
            bandwidth_mhz,
            streams,
            mcs: Some(mcs),
            dsss_preamble: None,
            modulation,
            code_rate,
            data: Data::Symbols {
                bits,
                // Two encoders above 300 Mbit/s with 4 us symbols: MCS 21-23 and 28-31 at 40 MHz (Tables
                // 19-33, 19-34).
                encoders: if bits > 1200 { 2 } else { 1 },
                gi,
            },
            // Legacy preamble and L-SIG, HT-SIG 8 us, HT-STF 4 us, 4 us per HT-LTF (19.3.2).
            preamble_us: ofdm::PREAMBLE_US + 8 + 4 + 4 * training_fields,
            header_bits: ofdm::SIGNAL_BITS + HT_SIG_BITS,
            signal_extension_us: match band {
                Band::Ghz2_4 => erp::SIGNAL_EXTENSION_US,
                Band::Ghz5 => 0,
            },
        };
        Ok(Mode::new(&HT, parameters))
    }
}

const fn undefined(value: Undefined, allowed: &'static str) -> PhyError {
    PhyError::Undefined {
        phy: &HT,
        value,
        clauses: "19.5",
        allowed,
    }
}

/// The codings of one stream, HT MCS 0 to 7 and VHT MCS 0 to 9 (Tables 19-27, 21-30).
pub(super) static CODINGS: &[Coding] = &[
    (Modulation::Bpsk, 1, CodeRate::Half),
    (Modulation::Qpsk, 2, CodeRate::Half),
    (Modulation::Qpsk, 2, CodeRate::ThreeQuarters),
    (Modulation::Qam16, 4, CodeRate::Half),
    (Modulation::Qam16, 4, CodeRate::ThreeQuarters),
    (Modulation::Qam64, 6, CodeRate::TwoThirds),
    (Modulation::Qam64, 6, CodeRate::ThreeQuarters),
    (Modulation::Qam64, 6, CodeRate::FiveSixths),
    (Modulation::Qam256, 8, CodeRate::ThreeQuarters),
    (Modulation::Qam256, 8, CodeRate::FiveSixths),
];

impl Bss {
    /// An 802.11n BSS.
    #[must_use]
    pub fn ht(band: Band) -> Bss {
        Bss::new(&HT, band)
    }
}
