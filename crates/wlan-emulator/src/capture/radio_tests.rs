//! Signals and the ERP element of captures, as tshark decodes them.

use super::tests::{performed, seen, words};
use super::*;
use serde_json::{Value, json};
use wlan_scenario::scenario::testing::scenario;

/// Every frame has the signal of its PPDU at its receiver; beacons have it at station 1.
#[test]
fn frames_have_the_signal_and_the_noise_at_their_receiver() {
    let mut of = json!({
        "phy": "ht", "rate": "mcs0", "ampdu": false, "beacon_interval_tu": 10, "snr_db": 30.0, "fading": "rician",
        "coherence_time_us": 2000.0,
    });
    let channel = scenario(&words(&of)).build().unwrap().medium.channel.unwrap();
    let (told, file) = performed(&words(&of), 10, 10, Nanos::from_ms(45));
    let fields = [
        "radiotap.dbm_antsignal",
        "radiotap.dbm_antnoise",
        "wlan_radio.snr",
    ];
    let Some(frames) = seen(&told, &file, &fields) else {
        return;
    };
    let mut signals = Vec::new();
    for (told, frames) in &frames {
        let ppdu = &told.ppdu;
        let receiver = ppdu.receiver.unwrap_or(1 - ppdu.sender);
        let signal = channel.signal(ppdu.sender, receiver, ppdu.mode.bandwidth_mhz(), ppdu.start);
        let (signal_dbm, noise_dbm) = (signal.power_dbm().round(), signal.noise_dbm.round());
        let snr_db = signal_dbm - noise_dbm;
        for frame in frames {
            assert_eq!(
                frame[..3],
                [signal_dbm, noise_dbm, snr_db].map(|value| value.to_string()),
                "{ppdu:?}"
            );
        }
        signals.push(signal_dbm.to_string());
    }
    signals.sort();
    signals.dedup();
    assert!(signals.len() > 5, "the fading changes the signal: {signals:?}");

    for word in ["snr_db", "fading", "coherence_time_us"] {
        of[word] = Value::Null;
    }
    let (told, file) = performed(&words(&of), 1, 0, Nanos::ZERO);
    for (_, frames) in seen(&told, &file, &fields).unwrap() {
        assert_eq!(frames[0][..3], ["", "", ""], "a medium without a channel");
    }
}

/// 9.4.1.4 and 9.4.2.11: `NonERP_Present`, `Use_Protection`, `Barker_Preamble_Mode`, and no short slot. 10.27.2: a
/// CTS-to-self at the highest basic DSSS rate.
#[test]
fn beacons_announce_802_11b_stations_and_frames_are_protected_from_them() {
    let fields = [
        "wlan.erp_info.erp_present",
        "wlan.erp_info.use_protection",
        "wlan.erp_info.barker_preamble_mode",
        "wlan.fixed.capabilities.short_slot_time",
        "wlan_radio.data_rate",
    ];
    for (mut of, announced, cts_mbps) in [
        (json!({}), ["0", "0", "0", "1"], None),
        (json!({"slot": "long"}), ["0", "0", "0", "0"], None),
        (
            json!({"protection": "cts-to-self"}),
            ["1", "1", "0", "1"],
            Some("2"),
        ),
        (json!({"dot11b_stations": true}), ["1", "1", "1", "0"], Some("11")),
    ] {
        of["phy"] = "erp".into();
        of["beacon_interval_tu"] = 20.into();
        let (told, file) = performed(&words(&of), 1, 0, Nanos::from_ms(25));
        let Some(seen) = seen(&told, &file, &fields) else {
            return;
        };
        let of_kind = |kind| {
            let frames = seen.iter().find(|(told, _)| told.ppdu.kind == kind);
            frames.map(|(_, frames)| &frames[0])
        };
        let flags = of_kind(Kind::Beacon).unwrap()[..4].iter();
        let flags: Vec<_> = flags
            .map(|flag| flag.replace("True", "1").replace("False", "0"))
            .collect();
        assert_eq!(flags, announced, "{of}");
        let mbps = of_kind(Kind::CtsToSelf).map(|frame| &frame[4][..]);
        assert_eq!(mbps, cts_mbps, "{of}");
    }
}
