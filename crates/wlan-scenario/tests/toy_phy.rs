//! A new PHY requires one file, which declares it, and one line in a table of PHYs. Then scenarios support it.

mod toy;

use serde_json::{Value, json};
use wlan_air::Nanos;
use wlan_air::phy::{Bss, Mode, OFDM, PHYS, Phy};
use wlan_scenario::{Scenario, rate_words};

use toy::TOY;

/// The standard's PHYs, and the line that adds the toy PHY.
fn phys() -> Vec<&'static Phy> {
    let mut phys = PHYS.to_vec();
    phys.push(&TOY);
    phys
}

fn read(words: &[(&str, Value)]) -> Result<Scenario, String> {
    let mut all = json!({
        "phy": "toy", "rate": "mcs1", "bandwidth": 320, "gi": "long", "streams": 2,
        "security": "ccmp", "crypto_at": "host", "stations": 1, "topology": "point-to-point",
        "direction": "up", "transport": "udp", "ip": "ipv4", "packet_size": 1472, "traffic": "saturated",
        "error_model": "none", "seed": 1, "duration_s": 0.2, "warmup_s": 0.1,
    });
    for (word, value) in words {
        all[*word] = value.clone();
    }
    Scenario::read_with(&all.to_string(), &phys()).map_err(|error| error.to_string())
}

fn refusal(words: &[(&str, Value)]) -> String {
    let scenario = read(words);
    scenario
        .and_then(|scenario| scenario.check().map_err(|error| error.to_string()))
        .unwrap_err()
}

fn throughput_mbps(answer: &Value) -> f64 {
    answer["throughput_mbps"].as_f64().unwrap()
}

#[test]
fn a_scenario_simulates_the_toy_phy() {
    let scenario = read(&[]).unwrap();
    let mode = scenario.mode();
    // 52 bits per 20 MHz, 16 times the width, 2 streams, 4 us.
    assert_eq!(mode.rate_kbps(), 416_000);
    assert_eq!(mode.to_string(), "TOY MCS 1, 2 streams, 320 MHz, GI 800 ns");
    let simulated = throughput_mbps(&scenario.simulate().unwrap());
    let predicted = throughput_mbps(&scenario.model().unwrap()["single_station"]);
    assert!(
        (simulated / predicted - 1.0).abs() < 0.01,
        "{simulated} Mbit/s, but {predicted} predicted"
    );
    assert!(simulated > 300.0);
    let slow = read(&[("rate", "mcs0".into())]).unwrap();
    assert!(throughput_mbps(&slow.simulate().unwrap()) < simulated);
}

#[test]
fn noise_and_rate_control_use_its_rates() {
    let noisy = [
        ("rate_control", "minstrel".into()),
        ("error_model", "nist".into()),
        ("snr_db", 30.into()),
        ("stations", 3.into()),
        ("topology", "stations".into()),
    ];
    let answer = read(&noisy).unwrap().simulate().unwrap();
    assert!(throughput_mbps(&answer) > 200.0);
}

#[test]
fn its_frames_are_answered_in_the_phy_that_it_extends() {
    let mode = read(&[]).unwrap().mode();
    let bss = Bss::for_mode(&mode);
    assert_eq!(bss.control_response(&mode), Mode::ofdm(12).unwrap());
    assert_eq!((bss.slot(), bss.sifs()), (Nanos::from_us(9), Nanos::from_us(16)));
    assert!(bss.carries(&Mode::ofdm(54).unwrap()));
    assert!(!Bss::new(&OFDM, mode.band()).carries(&mode));
}

#[test]
fn its_words_and_errors_derive_from_its_declaration() {
    assert_eq!(rate_words(&TOY), ["mcs0", "mcs1"]);
    for (words, line) in [
        (
            ("phy", "he".into()),
            "phy: 'he' is not one of dsss, ofdm, erp, ht, vht, toy",
        ),
        (
            ("rate", "54 Mbit/s".into()),
            "rate: '54 Mbit/s' is not one of mcs0 to mcs1",
        ),
        (
            ("rate", "mcs2".into()),
            "802.11toy has no MCS 2 (99.5); allowed: 0, 1",
        ),
        (
            ("bandwidth", 40.into()),
            "bandwidth 40 MHz with phy toy is impossible: 802.11toy has only 20 or 320 MHz \
             (IEEE Std 802.11-2020, clause 99)",
        ),
        (
            ("streams", 3.into()),
            "streams 3 with phy toy is impossible: 802.11toy has only 1 to 2 spatial streams \
             (IEEE Std 802.11-2020, clause 99)",
        ),
        (
            ("band", "2.4 GHz".into()),
            "band 2.4 GHz with phy toy is impossible: 802.11toy has only band 5 GHz \
             (IEEE Std 802.11-2020, clause 99)",
        ),
    ] {
        assert_eq!(refusal(&[words]), line);
    }
    assert!(refusal(&[("security", "tkip".into())]).contains("phy toy"));
    assert!(refusal(&[("amsdu_bytes", 11_399.into())]).contains("TOY MCS 1"));
}

#[test]
fn the_standard_table_does_not_contain_the_toy() {
    let unknown = Scenario::read(r#"{"phy": "toy", "rate": "mcs1", "bandwidth": 20, "gi": "long"}"#);
    assert!(unknown.is_err());
}
