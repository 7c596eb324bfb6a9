//! A PHY that the standard does not have: OFDM symbols in 320 MHz, which extends 802.11a.

use wlan_air::phy::{
    AggregationLimits, Band, CodeRate, Data, Format, GuardInterval, Mode, ModeParameters, Modulation, OFDM,
    Phy, PhyError, Preamble, Rate, Rates, Settings, Undefined,
};

pub static TOY: Phy = Phy {
    word: "toy",
    amendment: "802.11toy",
    generation: None,
    label: "TOY",
    format: Format::Vht,
    hostapd: &[],
    clauses: "clause 99",
    bands: &[Band::Ghz5],
    bandwidths_mhz: &[20, 320],
    data_subcarriers: &[52, 832],
    guard_intervals: &[GuardInterval::Long],
    preambles: &[Preamble::Long],
    max_streams: 2,
    rates: Rates::Mcs {
        last: 1,
        per_stream: None,
        codings: &[
            (Modulation::Bpsk, 1, CodeRate::Half),
            (Modulation::Qpsk, 2, CodeRate::Half),
        ],
    },
    usual_rate: Rate::Mcs(1),
    extends: &[&OFDM],
    timing: None,
    cw_min: 15,
    max_mpdu_len_b: 11_454,
    aggregation: Some(AggregationLimits {
        max_ampdu_len_b: 1_048_575,
        max_amsdu_len_b: 11_398,
        max_mpdu_in_ampdu_b: None,
        always_ampdu: true,
    }),
    mode,
};

fn mode(settings: &Settings) -> Result<Mode, PhyError> {
    let (mcs, modulation, bits_at_20_mhz) = match settings.rate {
        Rate::Mcs(0) => (0, Modulation::Bpsk, 26),
        Rate::Mcs(1) => (1, Modulation::Qpsk, 52),
        rate => {
            return Err(PhyError::Undefined {
                phy: &TOY,
                value: Undefined::Rate(rate),
                clauses: "99.5",
                allowed: "0, 1",
            });
        }
    };
    let streams = settings.streams.unwrap_or(1);
    let parameters = ModeParameters {
        band: settings.band,
        bandwidth_mhz: settings.bandwidth_mhz,
        streams,
        mcs: Some(mcs),
        dsss_preamble: None,
        modulation,
        code_rate: CodeRate::Half,
        data: Data::Symbols {
            bits: bits_at_20_mhz * settings.bandwidth_mhz / 20 * u16::from(streams),
            encoders: 1,
            gi: settings.gi,
        },
        preamble_us: 48,
        header_bits: 90,
        signal_extension_us: 0,
    };
    Ok(Mode::new(&TOY, parameters))
}
