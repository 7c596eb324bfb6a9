//! A PHY with rates and timing of its own, declared outside of the crate, in a medium.

mod common;

use common::{exchange, msdu, route};
use wlan_air::phy::{
    ACK_LEN_B, Band, Bss, CodeRate, Data, Format, GuardInterval, Mode, ModeParameters, Modulation, NonHtRate,
    Phy, PhyError, Preamble, Rate, Rates, Settings, Timing, Undefined,
};
use wlan_air::{Access, Medium, MediumConfig, Nanos, StationConfig};

static TOY: Phy = Phy {
    word: "toy",
    amendment: "802.11toy",
    generation: None,
    label: "TOY",
    format: Format::Dsss,
    hostapd: &[],
    clauses: "clause 99",
    bands: &[Band::Ghz2_4],
    bandwidths_mhz: &[1],
    data_subcarriers: &[],
    guard_intervals: &[GuardInterval::Long],
    preambles: &[Preamble::Long],
    max_streams: 1,
    rates: Rates::NonHt(&[
        NonHtRate {
            kbps: 100,
            is_mandatory: true,
            is_basic: true,
        },
        NonHtRate {
            kbps: 400,
            is_mandatory: false,
            is_basic: false,
        },
    ]),
    usual_rate: Rate::Kbps(400),
    extends: &[],
    timing: Some(Timing {
        slot: Nanos::from_us(50),
        sifs: Nanos::from_us(30),
        cca_time: Nanos::from_us(40),
    }),
    cw_min: 7,
    max_mpdu_len_b: 4_095,
    aggregation: None,
    mode,
};

fn mode(settings: &Settings) -> Result<Mode, PhyError> {
    let rate_kbps = match settings.rate {
        Rate::Kbps(kbps @ (100 | 400)) => kbps,
        rate => {
            return Err(PhyError::Undefined {
                phy: &TOY,
                value: Undefined::Rate(rate),
                clauses: TOY.clauses,
                allowed: "0.1, 0.4",
            });
        }
    };
    let parameters = ModeParameters {
        band: settings.band,
        bandwidth_mhz: settings.bandwidth_mhz,
        streams: 1,
        mcs: None,
        dsss_preamble: None,
        modulation: Modulation::Dbpsk,
        code_rate: CodeRate::Uncoded,
        data: Data::Octets { rate_kbps },
        preamble_us: 200,
        header_bits: 20,
        signal_extension_us: 0,
    };
    Ok(Mode::new(&TOY, parameters))
}

fn at(kbps: u32) -> Result<Mode, PhyError> {
    let settings = Settings {
        rate: Rate::Kbps(kbps),
        bandwidth_mhz: 1,
        gi: GuardInterval::Long,
        streams: None,
        band: Band::Ghz2_4,
        preamble: Preamble::Long,
    };
    Mode::of(&TOY, &settings)
}

#[test]
fn its_bss_has_its_own_timing_and_rates() {
    let fast = at(400).unwrap();
    let bss = Bss::for_mode(&fast);
    assert_eq!(bss.control_response(&fast), at(100).unwrap());
    assert_eq!(bss.beacon_mode(), at(100).unwrap());
    // 14 octets at 100 kbit/s.
    assert_eq!(bss.ack_duration(&fast), Nanos::from_us(200 + 1_120));
    assert_eq!(bss.ack_timeout(&fast), Nanos::from_us(30 + 50 + 200));
    assert_eq!(bss.eifs_less_difs(), Nanos::from_us(30 + 200 + 1_120));
    let both = [at(100).unwrap(), fast];
    assert_eq!(bss.with_basic_rates(&both).unwrap().control_response(&fast), fast);
    assert_eq!(Access::for_mode(&fast).cw_min, 7);
    assert_eq!(fast.to_string(), "TOY 0.4 Mbit/s");
    assert_eq!(
        at(200).unwrap_err().to_string(),
        "802.11toy has no rate of 0.2 Mbit/s (clause 99); allowed: 0.1, 0.4"
    );
}

#[test]
fn an_exchange_takes_the_time_that_it_declares() {
    let mode = at(400).unwrap();
    let bss = Bss::for_mode(&mode);
    let config = MediumConfig::new(bss, &StationConfig::new(mode, 0), 2, 1);
    let mut medium = Medium::new(config).unwrap();
    medium.enqueue(route(1, 0), msdu(Nanos::ZERO, 500, ()));
    let seen = exchange(&mut medium);
    // MAC header 24 and FCS 4 around the MSDU.
    let data = Nanos::from_us(200 + (528 * 8_000_u64).div_ceil(400));
    assert_eq!(seen.end - seen.start, data);
    let ack = at(100).unwrap().ppdu_duration(ACK_LEN_B);
    assert_eq!(seen.idle - seen.end, Nanos::from_us(30) + ack);
    assert_eq!(seen.delivered.len(), 1);
}
