//! Scenarios in words, and their results.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use wlan_air::sim::Processor;

use super::contract::KEYS;
use super::testing::{read, scenario, text};
use super::{Scenario, Words};
use crate::words::Level;
use wlan_rsn::Akm;

pub(super) fn refused(words: &[(&str, Value)]) -> String {
    read(words)
        .and_then(|scenario| scenario.check())
        .expect_err("the scenario is invalid")
        .to_string()
}

pub(super) fn number(answer: &Value, path: &str) -> f64 {
    answer.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN)
}

/// At 11.52 Mbit/s, a datagram of 1440 octets is due every 1 ms. iperf3's default timer sends each of them at its time.
/// A timer of 4 ms sends four at once, which the air delivers one after the other.
#[test]
fn the_jitter_of_a_load_is_that_of_the_program_that_sends_it() {
    let jitter_ms = |words: &[(&str, Value)]| {
        let load = [
            ("traffic", "cbr".into()),
            ("offered_mbps", 11.52.into()),
            ("packet_size", 1440.into()),
        ];
        let answer = scenario(&[&load, words].concat()).simulate().unwrap();
        assert!((number(&answer, "/throughput_mbps") / 11.52 - 1.0).abs() < 0.01);
        number(&answer, "/jitter_ms")
    };
    let even_ms = jitter_ms(&[("pacing", "even".into())]);
    assert!(even_ms < 0.001, "{even_ms}");
    assert!((jitter_ms(&[]) - even_ms).abs() < 1e-9);
    let on_air_ms = 0.39; // DIFS 34 us, mean backoff 67.5 us, PPDU 248 us, SIFS 16 us, Ack 28 us
    let bursts_ms = jitter_ms(&[("pacing_timer_us", 4000.into())]);
    assert!((bursts_ms / on_air_ms - 1.5).abs() < 0.1, "{bursts_ms}");
    // iperf 2 on Linux waits until the exact time; between hosts with clocks of 15.6 ms, it sends bursts too.
    assert!(jitter_ms(&[("pacing", "iperf2".into())]) < 0.001);
    let coarse = |seed: u64| {
        jitter_ms(&[
            ("pacing", "iperf2".into()),
            ("clock_resolution_us", 15_625.into()),
            ("seed", seed.into()),
        ])
    };
    // If the receiver's clock advances during a burst, iperf 2 reports twice the interval of 1 ms, more after the first
    // datagram of a burst: 15.6 ms / 16 * (1 + r^n) / (1 - r^15.6), where r is 15/16, and n the datagrams of a burst after
    // the clock has advanced. Otherwise it reports 0.
    let coarse_ms: Vec<f64> = (1..=8).map(coarse).collect();
    let most_ms = coarse_ms.iter().copied().fold(0.0, f64::max);
    assert!((2.1..=3.1).contains(&most_ms), "{coarse_ms:?}");
    assert!(coarse_ms.iter().any(|&ms| ms < 0.001), "{coarse_ms:?}");
}

#[test]
fn a_simulation_agrees_with_its_closed_form() {
    for (words, tolerance) in [
        (vec![], 0.01),
        (vec![("security", "ccmp".into())], 0.01),
        (
            vec![
                ("phy", "vht".into()),
                ("rate", "mcs9".into()),
                ("bandwidth", 80.into()),
                ("streams", 3.into()),
            ],
            0.01,
        ),
        (vec![("phy", "dsss".into()), ("rate", "11 Mbit/s".into())], 0.01),
        (
            vec![("stations", 5.into()), ("topology", "stations".into())],
            0.03,
        ),
        // The threshold is between the lengths of the MPDU and the A-MPDU: the length of the PSDU decides.
        (
            vec![
                ("phy", "ht".into()),
                ("rate", "mcs7".into()),
                ("stations", 5.into()),
                ("topology", "stations".into()),
                ("rts_threshold", 3000.into()),
                ("duration_s", 5.0.into()),
            ],
            0.03,
        ),
    ] {
        let scenario = scenario(&words);
        let (measured, model) = (scenario.simulate().unwrap(), scenario.model().unwrap());
        let expected = number(&model, "/countdown/throughput_mbps");
        let measured = number(&measured, "/throughput_mbps");
        assert!(
            (measured / expected - 1.0).abs() < tolerance,
            "{words:?}: {measured}, {expected}"
        );
    }
}

#[test]
fn sealing_costs_a_whole_symbol_at_54() {
    // 1500 octets: 57 symbols without security, 58 with CCMP's 16 octets (Table 17-4: 216 bits per symbol).
    let cycle = |security: &str| {
        let model = scenario(&[("security", security.into())]).model().unwrap();
        number(&model, "/single_station/cycle_us")
    };
    assert!((cycle("open") - (34.0 + 67.5 + 20.0 + 57.0 * 4.0 + 16.0 + 28.0)).abs() < 1e-9);
    assert!((cycle("ccmp") - cycle("open") - 4.0).abs() < 1e-9);
}

#[test]
fn a_slow_card_costs_delay_and_a_fast_host_does_not() {
    let round_trip = |words: &[(&str, Value)]| {
        let words = [
            words,
            &[
                ("traffic", "request-response".into()),
                ("security", "ccmp".into()),
            ],
        ]
        .concat();
        number(&scenario(&words).simulate().unwrap(), "/rtt_ms/mean")
    };
    let host = round_trip(&[("crypto_at", "host".into())]);
    let card = round_trip(&[("crypto_at", "card".into())]);
    let slower = round_trip(&[
        ("crypto_at", "card".into()),
        ("processor", json!({"frame_us": 1000.0, "byte_ns": 0.0})),
    ]);
    assert!(card > host + 1.0, "{card} {host}");
    // Frames are sealed and opened in both directions: four times 1 ms, or 5 us and 225 ns per octet for 1508 octets.
    assert!(
        (slower - card - 4.0 * (1.0 - 0.3443)).abs() < 0.001,
        "{slower} {card}"
    );
}

#[test]
fn traffic_that_crosses_the_air_twice_has_half_the_throughput() {
    let throughput = |topology: &str| {
        let words = [("topology", topology.into()), ("security", "ccmp".into())];
        number(&scenario(&words).simulate().unwrap(), "/throughput_mbps")
    };
    let (direct, relayed) = (throughput("point-to-point"), throughput("through-ap"));
    assert!((0.4..0.6).contains(&(relayed / direct)), "{direct} {relayed}");
    assert!((throughput("wired-ap") / direct - 1.0).abs() < 0.01);
}

#[test]
fn a_video_that_fits_is_on_time_and_one_that_does_not_is_late() {
    // 54 Mbit/s carry 29 Mbit/s of payload.
    let answer = |offered: f64, duration_s: f64| {
        let words = [
            ("traffic", "video".into()),
            ("offered_mbps", offered.into()),
            ("duration_s", duration_s.into()),
        ];
        scenario(&words).simulate().unwrap()
    };
    let (light, heavy) = (answer(5.0, 2.0), answer(60.0, 2.0));
    // The clip lasts as long as the measurement, so the throughput is the offered load, except for packets in transit
    // at both ends.
    assert!((number(&light, "/throughput_mbps") / 5.0 - 1.0).abs() < 0.05);
    assert_eq!(
        (number(&light, "/loss"), number(&light, "/late_frames")),
        (0.0, 0.0)
    );
    let (delay_ms, rtt_ms) = (number(&light, "/delay_ms/mean"), number(&light, "/rtt_ms/mean"));
    assert!(
        0.0 < delay_ms && delay_ms < 2.0 * rtt_ms && rtt_ms < 10.0,
        "{delay_ms} {rtt_ms}"
    );
    assert!((25.0..31.0).contains(&number(&heavy, "/throughput_mbps")));
    assert!(number(&heavy, "/loss") > 0.3 && number(&heavy, "/late_frames") > 0.5);
    // Other traffic has no frames, and frames whose deadline is after the end are not counted.
    assert_eq!(scenario(&[]).simulate().unwrap()["late_frames"], Value::Null);
    assert_eq!(answer(5.0, 0.09)["late_frames"], Value::Null);
}

#[test]
fn impossible_scenarios_are_refused_in_one_line_with_the_clause() {
    let matrix = json!([[0.0, 20.0, 20.0], [20.0, 0.0, 20.0], [20.0, 20.0, 0.0]]);
    for (words, named) in [
        (vec![("phy", "vht".into()), ("rate", "mcs9".into())], "21.5"),
        (vec![("txop_limit_us", 3_000_000.into())], "9.4.2.28"),
        (
            vec![
                ("phy", "ht".into()),
                ("rate", "mcs7".into()),
                ("security", "tkip".into()),
            ],
            "12.6.3",
        ),
        (vec![("snr_db", matrix), ("error_model", "nist".into())], "2"),
        (vec![("stations", 0.into())], "4.3.2"),
        (vec![("ampdu", true.into())], "9.7"),
        (vec![("fragmentation_threshold", 100.into())], "10.4"),
        (vec![("traffic", "cbr".into())], "offered"),
        (
            vec![
                ("traffic", "cbr".into()),
                ("offered_mbps", 5.into()),
                ("pacing_timer_us", 0.into()),
            ],
            "pacing_timer",
        ),
        (
            vec![("traffic", "video".into()), ("packet_size", 36.into())],
            "RFC 3550",
        ),
        (
            vec![("security", "paper-lanes".into())],
            "docs/explanation/enhanced-ccmp.md",
        ),
        (vec![("colour", "red".into())], "colour"),
    ] {
        let line = refused(&words);
        assert!(line.contains(named) && !line.contains('\n'), "{words:?}: {line}");
    }
}

/// A study may be a stranger's: each packet of a full queue takes memory.
#[test]
fn the_queues_of_all_stations_together_are_limited() {
    let cell = |stations: usize, limit: usize| {
        [
            ("topology", "stations".into()),
            ("stations", stations.into()),
            ("queue_limit", limit.into()),
        ]
    };
    for (stations, limit) in [(1, 262_144), (255, 2048)] {
        assert!(scenario(&cell(stations, limit)).check().is_ok());
        assert_eq!(
            refused(&cell(stations, limit + 1)),
            format!(
                "queue_limit: {} is not allowed: the queues of all stations together hold at most 524288 packets",
                limit + 1
            )
        );
    }
    // The usual limit of a fast PHY, for the largest BSS.
    let fast = [
        ("phy", "vht".into()),
        ("rate", "mcs9".into()),
        ("bandwidth", 160.into()),
    ];
    assert!(scenario(&[&cell(2007, 433)[..], &fast].concat()).check().is_ok());
}

#[test]
fn sealing_adds_the_octets_of_its_suite_and_a_link_those_of_its_frames() {
    let added_b = |security: &str, crypto_at: &str| {
        let words = [
            ("phy", "ofdm".into()),
            ("rate", "54 Mbit/s".into()),
            ("security", security.into()),
            ("crypto_at", crypto_at.into()),
        ];
        scenario(&words).build().unwrap().medium.stations[0]
            .framing
            .security_b
    };
    for (security, octets) in [
        ("open", 0),
        ("wep40", 8),
        ("tkip", 20),
        ("ccmp", 16),
        ("ccmp256", 24),
        ("gcmp", 24),
    ] {
        assert_eq!(
            (added_b(security, "host"), added_b(security, "card")),
            (octets, octets)
        );
    }
    // MAC header, cipher header, LLC/SNAP and MIC are in the body of an open frame. A card that knows the suite adds no
    // more than with CCMP.
    assert_eq!(added_b("enhanced4", "host"), 26 + 8 + 8 + 8);
    assert_eq!(added_b("enhanced4", "card"), 16);
}

#[test]
fn sae_requires_protected_management_frames() {
    let with = |word: Option<&str>, security: &str| {
        let mut words = vec![("wpa_key_mgmt", "sae".into()), ("security", security.into())];
        words.extend(word.map(|word| ("ieee80211w", word.into())));
        words
    };
    for word in ["disabled", "optional"] {
        let said = refused(&with(Some(word), "ccmp"));
        assert!(
            said.starts_with("wpa_key_mgmt sae requires ieee80211w required"),
            "{said}"
        );
        assert!(!said.contains('\n'));
    }
    for word in [None, Some("required")] {
        let management = scenario(&with(word, "ccmp")).management_protection();
        assert!(management.is_capable && management.is_required);
        let of_open = scenario(&with(word, "open")).management_protection();
        assert!(!of_open.is_capable);
    }
}

#[test]
fn a_network_in_transition_mode_protects_frames_of_stations_that_can() {
    let with = |akms: &[&str], word: &str| {
        vec![
            ("wpa_key_mgmt", akms.into()),
            ("ieee80211w", word.into()),
            ("security", "ccmp".into()),
        ]
    };
    let transition = ["wpa-psk", "sae"];
    let said = refused(&with(&transition, "disabled"));
    assert!(
        said.contains("disabled is not allowed in transition mode"),
        "{said}"
    );
    for (word, is_required) in [("optional", false), ("required", true)] {
        let scenario = scenario(&with(&transition, word));
        assert_eq!(scenario.key_management(), [Akm::WpaPsk, Akm::Sae]);
        let management = scenario.management_protection();
        assert!(management.is_capable && management.is_required == is_required);
    }
    let said = refused(&with(&["sae", "sae-ext-key"], "optional"));
    assert!(said.contains("sae requires ieee80211w required"), "{said}");
    let said = refused(&with(&[], "optional"));
    assert!(said.contains("wpa_key_mgmt: the list is empty"), "{said}");
}

#[test]
fn suites_restrict_the_key_management() {
    for (akm, security, expected) in [
        ("sae", "tkip", Some("tkip uses WPA")),
        ("wpa-eap", "tkip", None),
        ("wpa-eap-suite-b-192", "ccmp", Some("requires gcmp256")),
        ("wpa-eap-suite-b-192", "gcmp256", None),
        ("owe", "open", None),
    ] {
        let words = [("wpa_key_mgmt", akm.into()), ("security", security.into())];
        match expected {
            Some(text) => assert!(refused(&words).contains(text), "{akm} {security}"),
            None => assert_eq!(scenario(&words).key_management().len(), 1),
        }
    }
}

#[test]
fn an_unknown_word_is_named_with_the_allowed_words() {
    let path_loss = |word: &str| json!({"distance_m": 5, "fading": word});
    for (key, value, words) in [
        (
            "phy",
            "fhss".into(),
            "phy: 'fhss' is not one of dsss, ofdm, erp, ht, vht",
        ),
        ("gi", "LONG".into(), "gi: 'LONG' is not one of long, short"),
        (
            "band",
            "6 GHz".into(),
            "band: '6 GHz' is not one of 2.4 GHz, 5 GHz",
        ),
        ("preamble", "".into(), "preamble: '' is not one of long, short"),
        (
            "security",
            "rot13".into(),
            "security: 'rot13' is not one of open, wep40, wep104, tkip, ccmp, ccmp256, gcmp, gcmp256, enhanced1, \
             enhanced2, enhanced4, enhanced8",
        ),
        (
            "security",
            "paper-lanes".into(),
            "security: 'paper-lanes' is forgeable and only for study (docs/explanation/enhanced-ccmp.md); use enhanced",
        ),
        (
            "wpa_key_mgmt",
            "wpa3".into(),
            "wpa_key_mgmt: 'wpa3' is not one of wpa-psk, wpa-psk-sha256, sae, sae-ext-key, owe, wpa-eap, \
             wpa-eap-sha256, wpa-eap-suite-b-192",
        ),
        (
            "ieee80211w",
            "2".into(),
            "ieee80211w: '2' is not one of disabled, optional, required",
        ),
        (
            "crypto_at",
            "dpu".into(),
            "crypto_at: 'dpu' is not one of host, card",
        ),
        (
            "topology",
            "mesh".into(),
            "topology: 'mesh' is not one of point-to-point, wired-ap, through-ap, stations",
        ),
        (
            "direction",
            "sideways".into(),
            "direction: 'sideways' is not one of up, down, both",
        ),
        (
            "transport",
            "sctp".into(),
            "transport: 'sctp' is not one of tcp, udp",
        ),
        ("ip", "ipx".into(), "ip: 'ipx' is not one of ipv4, ipv6"),
        (
            "traffic",
            "voice".into(),
            "traffic: 'voice' is not one of saturated, cbr, request-response, video",
        ),
        (
            "congestion_control",
            "bbr".into(),
            "congestion_control: 'bbr' is not one of reno, cubic",
        ),
        (
            "access_category",
            "ac_be".into(),
            "access_category: 'ac_be' is not one of be, bk, vi, vo",
        ),
        (
            "rate_control",
            "aarf".into(),
            "rate_control: 'aarf' is not one of fixed, minstrel",
        ),
        (
            "protection",
            "rts".into(),
            "protection: 'rts' is not one of none, cts-to-self, rts-cts",
        ),
        ("queue", "red".into(), "queue: 'red' is not one of fifo, fq_codel"),
        (
            "error_model",
            "per".into(),
            "error_model: 'per' is not one of none, nist, yans",
        ),
        (
            "path_loss",
            path_loss("nakagami"),
            "path_loss.fading: 'nakagami' is not one of none, rayleigh, rician",
        ),
    ] {
        assert_eq!(refused(&[(key, value)]), words);
    }
}

#[test]
fn every_refused_key_is_named_in_one_line() {
    for (key, value, words) in [
        (
            "bandwidth",
            json!("wide"),
            "bandwidth: invalid type: string \"wide\", expected u16",
        ),
        (
            "phy",
            json!(11),
            "phy: invalid type: integer `11`, expected a string",
        ),
        ("seed", json!(null), "seed: invalid type: null, expected u64"),
        (
            "wired",
            json!(100),
            "wired: invalid type: integer `100`, expected an object",
        ),
        (
            "wired",
            json!({"rate_mbps": "fast"}),
            "wired_rate: invalid type: string \"fast\", expected f64",
        ),
        (
            "wired",
            json!({"rate": 100}),
            "wired: unknown field `rate`, expected `rate_mbps` or `delay_us`",
        ),
        (
            "path_loss",
            json!({"fading": "none"}),
            "path_loss: missing field `distance_m`",
        ),
        (
            "path_loss",
            json!({"distance": 5}),
            "path_loss: unknown field `distance`, expected one of `model`, `distance_m`, `exponent`, `tx_power_dbm`, \
             `noise_figure_db`, `reference_distance_m`, `reference_loss_db`, `shadowing_db`, `fading`, `k_factor_db`, \
             `coherence_ms`",
        ),
        (
            "snr_db",
            json!("loud"),
            "snr: expected a number or a matrix of numbers",
        ),
    ] {
        assert_eq!(refused(&[(key, value)]), words);
    }
    let unknown = refused(&[("colour", "red".into())]);
    assert!(
        unknown.starts_with("scenario: unknown field `colour`, expected one of "),
        "{unknown}"
    );
    assert!(unknown.contains(" `phy`, `rate`, "), "{unknown}");
}

#[test]
fn keys_must_be_present_and_unique() {
    for (written, words) in [
        (
            r#"{"phy": "ofdm", "phy": "ht"}"#,
            "scenario: duplicate field `phy`",
        ),
        ("{}", "scenario: missing field `phy`"),
        ("[]", "scenario: invalid type: sequence, expected an object"),
        ("{", "scenario: EOF while parsing an object"),
    ] {
        let line = Scenario::read(written)
            .expect_err("the text is not a scenario")
            .to_string();
        assert!(line.starts_with(words) && !line.contains('\n'), "{line}");
    }
    let twice = text(&[]).replacen('{', r#"{"wired": {"delay_us": 1, "delay_us": 1}, "#, 1);
    let error = Scenario::read(&twice).expect_err("a key is duplicate");
    assert_eq!(error.to_string(), "wired: duplicate field `delay_us`");
}

#[test]
fn null_is_the_default_of_an_optional_key() {
    let answer = |words: &[(&str, Value)]| scenario(words).simulate().unwrap();
    let keys = [
        "band",
        "queue",
        "processor",
        "wired",
        "path_loss",
        "hears",
        "coalesce",
    ];
    let nulls = keys.map(|key| (key, Value::Null));
    assert_eq!(answer(&nulls), answer(&[]));
}

#[test]
fn sealing_takes_time_with_every_suite() {
    for crypto_at in ["host", "card"] {
        for suite in Level::suites() {
            let words = [("security", suite.name().into()), ("crypto_at", crypto_at.into())];
            let processor = scenario(&words).build().unwrap().processors[0];
            assert_ne!(processor, Processor::NONE, "{crypto_at} {}", suite.name());
        }
    }
}

/// An access point with a MIPS 24KEc at 266 MHz, which seals WPA3 in software, carries 7.5 to 10.2 Mbit/s
/// (openwrt/openwrt#25041); the model without a kind is two to three times too fast.
#[test]
fn a_kind_of_processor_has_its_measured_cycles() {
    let rate_mbps = |kind: &str| {
        let processor = json!({"clock_mhz": 266.0, "kind": kind});
        let words = [
            ("security", "ccmp".into()),
            ("crypto_at", "card".into()),
            ("processor", processor),
        ];
        let taken = scenario(&words).build().unwrap().processors[0].interval;
        8e-6 * 1500.0 / taken.of(1500).as_secs_f64()
    };
    assert!(
        (7.5..10.2).contains(&rate_mbps("mips-24k")),
        "{}",
        rate_mbps("mips-24k")
    );
    assert!(rate_mbps("model") > 2.0 * rate_mbps("mips-24k"));
    assert!(rate_mbps("mips-1004k") < rate_mbps("cortex-a53"));
}

/// A key that only the contract has could not be read, and a key that only a struct has could not be written.
#[test]
fn the_contract_has_the_fields_of_the_structs() {
    let objects = KEYS.iter().flat_map(|key| match key.json.split_once('.') {
        Some((object, field)) => vec![(key.group, object), (object, field)],
        None => {
            let parameters = key.values.parameters.iter().map(|(name, _)| (key.json, *name));
            [(key.group, key.json)].into_iter().chain(parameters).collect()
        }
    });
    let mut declared: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (object, field) in objects.filter(|(object, _)| !object.is_empty()) {
        declared.entry(object).or_default().insert(field);
    }
    assert_eq!(declared.len(), 8 + 3);
    for (object, fields) in declared {
        let error = match serde_json::from_value::<Words>(json!({object: {"?": 0}})) {
            Err(error) if error.to_string().starts_with("unknown field `?`") => error.to_string(),
            _ => refused(&[(object, json!({"?": 0}))]),
        };
        let found: BTreeSet<&str> = error.split('`').skip(1).step_by(2).skip(1).collect();
        assert_eq!(found, fields, "{object}: {error}");
    }
}

#[test]
fn a_rate_is_refused_only_if_no_width_and_number_of_streams_allow_it() {
    let refusal = |rate: &str, is_of_any_width: bool| {
        let text = text(&[("phy", "vht".into()), ("rate", rate.into())]);
        Scenario::refusal(&text, is_of_any_width).map(|refusal| refusal.to_string())
    };
    assert_eq!(refusal("mcs8", false), None);
    assert!(refusal("mcs9", false).unwrap().contains("21.5"));
    assert_eq!(refusal("mcs9", true), None);
    assert_eq!(refusal("mcs10", true), refusal("mcs10", false));
    assert!(refusal("mcs10", true).is_some());
}
