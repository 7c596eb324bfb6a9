//! Slot and protection, received signals, and the buffers that A-MPDUs fill.

use serde_json::{Value, json};

use super::testing::scenario;
use super::tests::{number, refused};

/// The long slot adds 22 us to DIFS and 82.5 us to the mean backoff; a CTS-to-self at 11 Mbit/s and its SIFS take 213 us.
#[test]
fn dot11b_stations_cost_the_long_slot_and_the_protection() {
    let closed = |words: &[(&str, Value)]| {
        let mut all = vec![("phy", json!("erp"))];
        all.extend_from_slice(words);
        let model = scenario(&all).model().unwrap();
        let of = |part: &str| number(&model, &format!("/single_station/{part}"));
        (of("ifs_us"), of("backoff_us"), of("protection_us"))
    };
    assert_eq!(closed(&[]), (28.0, 67.5, 0.0));
    assert_eq!(closed(&[("slot", "long".into())]), (50.0, 150.0, 0.0));
    assert_eq!(closed(&[("dot11b_stations", true.into())]), (50.0, 150.0, 213.0));
    let rts = [("dot11b_stations", true.into()), ("protection", "rts-cts".into())];
    assert_eq!(closed(&rts), (50.0, 150.0, 430.0));
    assert_eq!(closed(&[("dot11b_stations", false.into())]), (28.0, 67.5, 0.0));
    // The short preamble takes 96 us less.
    let short = [("dot11b_stations", true.into()), ("preamble", "short".into())];
    assert_eq!(closed(&short), (50.0, 150.0, 117.0));
}

/// A study compares 802.11a and g with the same settings: 802.11b has no channel in the 5 GHz band.
#[test]
fn the_5_ghz_band_has_one_slot_and_no_dot11b_stations() {
    let plain = scenario(&[]).simulate().unwrap();
    let words = [("slot", "long".into()), ("dot11b_stations", true.into())];
    assert_eq!(scenario(&words).simulate().unwrap(), plain);
}

#[test]
fn what_dot11b_stations_do_not_support_is_refused() {
    for (words, reason) in [
        (
            vec![("dot11b_stations", true.into()), ("slot", json!("short"))],
            "slot short with dot11b_stations is impossible: 802.11b has only the slot of 20 us (IEEE Std 802.11-2020, \
             9.4.1.4, Table 16-4)",
        ),
        (
            vec![("dot11b_stations", true.into()), ("protection", "none".into())],
            "protection none with dot11b_stations is impossible: 802.11b stations do not decode OFDM (IEEE Std \
             802.11-2020, 10.27.2)",
        ),
        (
            vec![
                ("phy", "dsss".into()),
                ("rate", "11 Mbit/s".into()),
                ("slot", "short".into()),
            ],
            "slot short with phy dsss is impossible: 802.11b has only the slot of 20 us (IEEE Std 802.11-2020, Table 16-4)",
        ),
    ] {
        let mut all: Vec<(&str, Value)> = vec![("phy", json!("erp"))];
        all.extend(words);
        assert_eq!(refused(&all), reason);
    }
}

/// Every data PPDU that a station receives has the SNR of the setting, over the noise of its width.
#[test]
fn received_signals_are_those_of_the_channel() {
    let answer = |words: &[(&str, Value)]| scenario(words).simulate().unwrap();
    assert_eq!(answer(&[])["received"], Value::Null);
    let given = answer(&[("snr_db", 24.5.into()), ("error_model", "nist".into())]);
    let ppdus = &given["received"]["ap"]["snr_db"]["24.50"];
    assert!(ppdus.as_u64().unwrap() > 2000, "{given}");
    assert_eq!(
        given["received"],
        json!({"ap": {
            "snr_db": {"24.50": ppdus}, "noise_dbm": {"-93.99": ppdus}, "power_dbm": {"-69.49": ppdus},
        }})
    );
    // 16 dBm less 46.73 dB at 1 m and 30 dB per decade, as in wlan-air.
    let far = answer(&[
        ("path_loss", json!({"distance_m": 10.0})),
        ("error_model", "nist".into()),
    ]);
    assert_eq!(
        far["received"]["ap"]["power_dbm"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["-60.73"]
    );
}

/// The events of a channel that loses nothing are those of a medium without a channel.
#[test]
fn a_channel_without_errors_changes_only_what_receivers_report() {
    let mut with = scenario(&[("snr_db", 3.0.into())]).simulate().unwrap();
    assert_ne!(with["received"], Value::Null);
    with["received"] = Value::Null;
    assert_eq!(with, scenario(&[]).simulate().unwrap());
}

/// Rayleigh: the power is exponential, with 10 % of the blocks below -9.77 dB and a mean of -2.51 dB (Euler's constant
/// times 10 / ln 10).
#[test]
fn fading_spreads_the_snr_around_the_setting() {
    let words = [
        ("snr_db", 40.0.into()),
        ("fading", "rayleigh".into()),
        ("coherence_time_us", 1000.0.into()),
        ("duration_s", 4.0.into()),
    ];
    let answer = scenario(&words).simulate().unwrap();
    let counts = answer["received"]["ap"]["snr_db"].as_object().unwrap();
    let (mut sum_db, mut ppdus, mut weak) = (0.0, 0.0, 0.0);
    for (snr_db, count) in counts {
        let (snr_db, count) = (snr_db.parse::<f64>().unwrap(), count.as_f64().unwrap());
        sum_db += snr_db * count;
        ppdus += count;
        weak += if snr_db < 40.0 - 9.77 { count } else { 0.0 };
    }
    assert!((sum_db / ppdus - (40.0 - 2.51)).abs() < 0.5, "{}", sum_db / ppdus);
    assert!((weak / ppdus - 0.1).abs() < 0.02, "{}", weak / ppdus);
}

#[test]
fn a_channel_that_contradicts_itself_is_refused() {
    let distance = json!({"distance_m": 5.0, "fading": "rician"});
    for (words, reason) in [
        (
            vec![("fading", json!("rayleigh"))],
            "fading requires snr or path_loss",
        ),
        (
            vec![("fading", json!("rayleigh")), ("path_loss", distance)],
            "fading and path_loss.fading exclude each other",
        ),
        (
            vec![("path_loss", json!({"distance_m": 5.0, "model": "tgn-x"}))],
            "path_loss.model: 'tgn-x' is not one of log-distance, tgn-a, tgn-b, tgn-c, tgn-d, tgn-e, tgn-f",
        ),
    ] {
        assert_eq!(refused(&words), reason);
    }
}

/// 8 KB are 16 384 octets of memory in Linux: seven datagrams of 1472 octets at the receiver, eight at the sender. A sender
/// that waits fills A-MPDUs of at most eight. The sender above a TUN device does not wait, and the receiver keeps six of each
/// A-MPDU.
#[test]
fn udp_buffers_limit_the_datagrams_of_an_ampdu() {
    let answer = |more: &[(&str, Value)]| {
        let mut words: Vec<(&str, Value)> = vec![
            ("phy", "ht".into()),
            ("rate", "mcs7".into()),
            ("traffic", "cbr".into()),
            ("offered_mbps", 60.0.into()),
            ("queue_limit", 64.into()),
        ];
        words.extend_from_slice(more);
        let answer = scenario(&words).simulate().unwrap();
        (number(&answer, "/throughput_mbps"), number(&answer, "/loss"))
    };
    let of_tun = [("udp_buffer_bytes", json!(8192)), ("udp_tun", true.into())];
    let (free_mbps, _) = answer(&[]);
    let (waiting_mbps, lost_waiting) = answer(&of_tun[..1]);
    let (tun_mbps, lost_by_tun) = answer(&of_tun);
    assert!((0.0..=0.126).contains(&lost_waiting), "{lost_waiting}");
    assert!(lost_by_tun > 0.5, "{lost_by_tun}");
    assert!(
        tun_mbps < 0.5 * waiting_mbps && waiting_mbps < free_mbps,
        "{tun_mbps} {waiting_mbps} {free_mbps}"
    );
}
