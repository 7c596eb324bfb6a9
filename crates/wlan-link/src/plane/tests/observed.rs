//! Wireshark's view of the frames.

use test_support::{capture, tshark};

use super::*;
use crate::plane::endpoint::ETHERTYPE;

/// The Ethernet frame with this payload, as an observer captures it.
fn on_the_wire(from: MacAddr, to: MacAddr, payload: &[u8]) -> Vec<u8> {
    [&to.0[..], &from.0, &ETHERTYPE.0.to_be_bytes(), payload].concat()
}

#[test]
fn wireshark_reads_the_frames_and_with_the_key_the_packets_in_them() {
    let [key, group_key] = [KEY, GROUP_KEY].map(|key| {
        let digits: String = key[..16].iter().map(|octet| format!("{octet:02x}")).collect();
        format!("uat:80211_keys:\"tk\",\"{digits}\"")
    });
    let options = [
        "-o",
        // 14 octets of Ethernet header, then an MPDU.
        r#"uat:user_dlts:"User 0 (DLT=147)","wlan_withoutfcs","14","","0","""#,
        "-o",
        "wlan.enable_decryption:TRUE",
        "-o",
        &key,
        "-o",
        &group_key,
    ];
    let fields = [
        "wlan.fc.type_subtype",
        "wlan.ra",
        "wlan.ta",
        "wlan.bssid",
        "wlan.qos.amsdupresent",
        "wlan.ccmp.extiv",
        "wlan.seq",
        "ip.dst",
        "tcp.seq_raw",
    ];
    for kind in [Kind::Ip, Kind::Ethernet] {
        let (mut ap, [mut station, ..]) = bss(kind, Suite::Ccmp128, true);
        let [up, down] = [packet(2, 1, 5, 50), packet(1, 2, 6, 50)];
        let [up, down] = match kind {
            Kind::Ip => [up, down],
            Kind::Ethernet => [ethernet(STATIONS[0], AP, &up), ethernet(AP, STATIONS[0], &down)],
        };
        let group = match kind {
            Kind::Ip => MacAddr::BROADCAST,
            Kind::Ethernet => groups::MULTICAST,
        };
        let frames = [
            on_the_wire(STATIONS[0], AP, &station.send(plain(), &up)[0]),
            on_the_wire(AP, STATIONS[0], &ap.send(plain(), &down)[0]),
            on_the_wire(
                AP,
                MacAddr::BROADCAST,
                &ap.send(plain(), &groups::to_group(kind, 1, 7))[0],
            ),
        ];
        // A user-defined link type, which the option maps to 802.11: tshark's Ethernet dissector does not pass
        // payloads to 802.11.
        let mut file = capture(&frames);
        file[20..24].copy_from_slice(&147_u32.to_le_bytes());
        let Some(seen) = tshark(&file, &options, &fields) else {
            return;
        };
        let is_ethernet = kind == Kind::Ethernet;
        for (seen, (from, to, is_amsdu, host, tag)) in seen.iter().zip([
            (STATIONS[0], AP, is_ethernet, "192.0.2.1", 5),
            (AP, STATIONS[0], is_ethernet, "192.0.2.2", 6),
            (AP, group, false, "224.0.0.251", 7),
        ]) {
            let expected = [
                "0x0028".to_owned(),
                to.to_string(),
                from.to_string(),
                AP.to_string(),
                is_amsdu.to_string(),
                "0x000000000001".to_owned(),
                "1".to_owned(),
                host.to_owned(),
                tag.to_string(),
            ];
            let told = |text: &String| match text.as_str() {
                "1" | "True" | "true" => "true".to_owned(),
                "0" | "False" | "false" => "false".to_owned(),
                other => other.to_owned(),
            };
            assert_eq!(seen[..4], expected[..4], "{kind:?}");
            assert_eq!(told(&seen[4]), expected[4]);
            assert_eq!(seen[7..9], expected[7..9], "{kind:?} {seen:?}");
        }
        assert_eq!(seen.len(), 3);
    }
}
