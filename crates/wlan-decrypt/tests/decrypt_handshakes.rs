//! Captures with handshakes decrypt with the passphrase alone, for every cipher and key management and in every order.

mod made;

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use made::{AP, Air, Bss, PASSPHRASE, SSID, STA};
use proptest::prelude::*;
use wlan_ciphers::Suite;
use wlan_decrypt::{DecryptError, Decrypted, Finding, Passphrase, Secrets, decrypt};
use wlan_frames::rsn::RsnCapabilities;
use wlan_frames::{EtherType, MacAddr, pcap};
use wlan_rsn::psk::psk;
use wlan_rsn::{Akm, Elements, Pmk, Policy, Protocol};

const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);
const PACKET: &[u8] = b"E the toll of the air, a packet that is long enough to be cut into pieces";
const UP: bool = false;
const DOWN: bool = true;

/// Computed once, because PBKDF2 is slow without optimisation.
static PMK: LazyLock<Pmk> = LazyLock::new(|| Pmk::of_psk(psk(PASSPHRASE, SSID).unwrap()));

fn pmk() -> Pmk {
    PMK.clone()
}

/// The PSK in hexadecimal digits.
fn digits() -> String {
    PMK.as_octets()
        .iter()
        .map(|octet| format!("{octet:02X}"))
        .collect()
}

fn bss_of(suite: Suite) -> Bss {
    Bss::new(AP, SSID, pmk(), &Policy::of(Protocol::Rsn, Akm::WpaPsk, suite))
}

fn passphrase(text: &[u8]) -> Secrets {
    Secrets {
        passphrase: Some(Passphrase::parse(text).unwrap()),
        ..Secrets::default()
    }
}

/// Decrypts a capture. Returns the result, and the output if there is one.
fn run(capture: &[u8], secrets: Secrets) -> (Result<Decrypted, DecryptError>, Option<Vec<u8>>) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder: PathBuf =
        std::env::temp_dir().join(format!("airtoll-handshakes-{}-{number}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let (from, to) = (folder.join("in.pcap"), folder.join("out.pcap"));
    fs::write(&from, capture).unwrap();
    let decrypted = decrypt(&from, &to, secrets, |_| ControlFlow::Continue(()));
    let out = fs::read(&to).ok();
    fs::remove_dir_all(&folder).unwrap();
    (decrypted, out)
}

/// Decrypts with the passphrase and expects all frames of the capture.
fn expect_all(air: &Air) -> Decrypted {
    let (decrypted, out) = run(&air.file, passphrase(PASSPHRASE));
    let decrypted = decrypted.unwrap();
    assert_eq!(decrypted.broken, None);
    let expected = air.expected.as_ref().unwrap();
    assert_eq!(
        decrypted.counts.frames,
        expected.len() as u64,
        "{}",
        decrypted.counts
    );
    assert!(out.unwrap() == air.decrypted());
    decrypted
}

fn finding(decrypted: &Decrypted, station: MacAddr) -> Finding {
    let found = decrypted.stations.iter().find(|one| one.ends.station == station);
    found.expect("the station is in the capture").finding
}

#[test]
fn every_cipher_and_key_management_decrypts_unicast_group_fragmented_and_aggregated_frames() {
    let of = |protocol, akm, suite| Policy::of(protocol, akm, suite);
    let mixed = Policy {
        group: Suite::Tkip,
        ..of(Protocol::Rsn, Akm::WpaPsk, Suite::Ccmp128)
    };
    for policy in [
        of(Protocol::Wpa, Akm::WpaPsk, Suite::Tkip),
        of(Protocol::Wpa, Akm::WpaPsk, Suite::Ccmp128),
        of(Protocol::Rsn, Akm::WpaPsk, Suite::Tkip),
        of(Protocol::Rsn, Akm::WpaPsk, Suite::Ccmp128),
        of(Protocol::Rsn, Akm::WpaPskSha256, Suite::Ccmp128).with_mfp(Suite::BipCmac128),
        of(Protocol::Rsn, Akm::WpaPsk, Suite::Ccmp256),
        of(Protocol::Rsn, Akm::WpaPsk, Suite::Gcmp128),
        of(Protocol::Rsn, Akm::WpaPsk, Suite::Gcmp256),
        mixed,
    ] {
        let mut air = Air::new();
        let mut bss = Bss::new(AP, SSID, pmk(), &policy);
        bss.beacon(&mut air, SSID);
        bss.join(&mut air, STA);
        for from_ap in [UP, DOWN] {
            bss.send(&mut air, from_ap, STA, EtherType::IPV4, PACKET);
            bss.send_amsdu(&mut air, from_ap, STA, PACKET);
            bss.send_fragments(&mut air, from_ap, STA, PACKET);
        }
        bss.send(&mut air, DOWN, MacAddr::BROADCAST, EtherType::ARP, PACKET);
        let decrypted = expect_all(&air);
        assert_eq!(finding(&decrypted, STA), Finding::Learned);
        assert_eq!(finding(&decrypted, MacAddr::BROADCAST), Finding::Learned);
        let station = decrypted
            .stations
            .iter()
            .find(|one| one.ends.station == STA)
            .unwrap();
        assert_eq!(station.suite, Some(policy.pairwise[0]));
        assert_eq!(station.akm.as_deref(), Some(policy.akms[0].name()));
        assert_eq!(station.messages, [1, 1, 1, 1]);
        // WPA distributes its group key in a separate handshake of two sealed messages.
        let of_group = if policy.protocol == Protocol::Wpa { 2 } else { 0 };
        let counts = station.counts;
        assert_eq!((counts.decrypted, counts.other), (6 + of_group, 4), "{policy:?}");
    }
}

/// Between two ends with SPP A-MSDU capability, the MIC covers A-MSDU Present (IEEE 802.11-2020 9.4.2.24.4,
/// 12.5.3.3.3). A beacon or message 3 shows the capability of the access point, message 2 that of the station.
#[test]
fn spp_amsdus_are_decrypted_if_both_ends_support_them() {
    let policy = |capabilities| Policy {
        capabilities: RsnCapabilities(capabilities),
        ..Policy::of(Protocol::Rsn, Akm::WpaPsk, Suite::Ccmp128)
    };
    let spp = policy(RsnCapabilities::SPP_AMSDU_CAPABLE);
    for (ap, station, spp_amsdu) in [
        (&spp, &spp, true),
        (&spp, &policy(0), false),
        (&policy(0), &spp, false),
    ] {
        // With a beacon, and without one, in which case the PMK cannot be derived from the passphrase alone.
        for has_beacon in [true, false] {
            let mut air = Air::new();
            let mut bss = Bss::new(AP, SSID, pmk(), ap);
            bss.spp_amsdu = spp_amsdu;
            if has_beacon {
                bss.beacon(&mut air, SSID);
            }
            bss.join_as(&mut air, STA, &Elements::of(station));
            for from_ap in [UP, DOWN] {
                bss.send_amsdu(&mut air, from_ap, STA, PACKET);
                bss.send(&mut air, from_ap, STA, EtherType::IPV4, PACKET);
            }
            bss.rekey(&mut air, STA);
            bss.send_amsdu(&mut air, DOWN, STA, PACKET);
            let (decrypted, out) = run(&air.file, passphrase(digits().as_bytes()));
            let decrypted = decrypted.unwrap();
            assert!(out.unwrap() == air.decrypted(), "{spp_amsdu}, {has_beacon}");
            let station = decrypted
                .stations
                .iter()
                .find(|one| one.ends.station == STA)
                .unwrap();
            assert_eq!((station.keys, station.counts.wrong_key), (2, 0));
        }
    }
    // Invalid: A-MSDUs between two capable ends whose MIC does not cover the bit.
    let mut air = Air::new();
    let mut bss = Bss::new(AP, SSID, pmk(), &spp);
    bss.spp_amsdu = false;
    bss.beacon(&mut air, SSID);
    bss.join(&mut air, STA);
    bss.send_amsdu(&mut air, UP, STA, PACKET);
    let decrypted = run(&air.file, passphrase(PASSPHRASE)).0.unwrap();
    let station = decrypted
        .stations
        .iter()
        .find(|one| one.ends.station == STA)
        .unwrap();
    assert_eq!((station.counts.decrypted, station.counts.wrong_key), (0, 1));
}

#[test]
fn sae_and_owe_decrypt_with_the_pmk_and_report_that_no_passphrase_derives_it() {
    for (akm, len) in [
        (Akm::Sae, 32),
        (Akm::SaeExtKey, 32),
        (Akm::SaeExtKey, 48),
        (Akm::SaeExtKey, 64),
        (Akm::Owe, 32),
        (Akm::Owe, 48),
        (Akm::Owe, 64),
    ] {
        let octets = vec![0x5a; len];
        let mut air = Air::new();
        let policy = Policy::of(Protocol::Rsn, akm, Suite::Ccmp128).with_mfp(Suite::BipCmac128);
        let mut bss = Bss::new(AP, SSID, Pmk::agreed(&octets, [7; 16]).unwrap(), &policy);
        bss.beacon(&mut air, SSID);
        bss.join(&mut air, STA);
        bss.send(&mut air, UP, STA, EtherType::IPV4, PACKET);
        let (decrypted, out) = run(&air.file, passphrase(PASSPHRASE));
        assert_eq!(finding(&decrypted.unwrap(), STA), Finding::NotOfPassphrase);
        assert_eq!(out, None);
        let mut secrets = Secrets::default();
        secrets.add_pmk(&octets).unwrap();
        let (decrypted, out) = run(&air.file, secrets);
        assert_eq!(finding(&decrypted.unwrap(), STA), Finding::Learned);
        assert!(out.unwrap() == air.decrypted());
    }
}

#[test]
fn keys_are_followed_through_rekeys_in_the_middle_of_a_batch() {
    for suite in [Suite::Tkip, Suite::Ccmp128, Suite::Gcmp256] {
        for extended in [false, true] {
            let mut policy = Policy::of(Protocol::Rsn, Akm::WpaPsk, suite);
            if extended {
                policy = policy.with_extended_key_id();
            }
            let mut air = Air::new();
            let mut bss = Bss::new(AP, SSID, pmk(), &policy);
            bss.beacon(&mut air, SSID);
            bss.join(&mut air, STA);
            bss.join(&mut air, OTHER);
            for _ in 0..3 {
                for station in [STA, OTHER] {
                    bss.send(&mut air, UP, station, EtherType::IPV4, PACKET);
                    bss.send(&mut air, DOWN, station, EtherType::IPV4, PACKET);
                }
                bss.send(&mut air, DOWN, MacAddr::BROADCAST, EtherType::ARP, PACKET);
                bss.rekey(&mut air, STA);
                bss.rekey_group(&mut air);
            }
            let decrypted = expect_all(&air);
            let keys = |station| {
                let mut stations = decrypted.stations.iter();
                stations.find(|one| one.ends.station == station).unwrap().keys
            };
            assert_eq!((keys(STA), keys(OTHER)), (4, 1));
            assert!(keys(MacAddr::BROADCAST) >= 4);
        }
    }
}

#[test]
fn roaming_stations_and_other_networks_are_distinguished() {
    let (far, foreign) = (MacAddr([2, 0, 0, 0, 0, 9]), MacAddr([2, 0, 0, 0, 0, 10]));
    let policy = Policy::of(Protocol::Rsn, Akm::WpaPsk, Suite::Ccmp128);
    let mut air = Air::new();
    let mut near = Bss::new(AP, SSID, pmk(), &policy);
    let mut far = Bss::new(far, SSID, pmk(), &policy);
    let of_foreign = Pmk::of_psk(psk(PASSPHRASE, b"foreign").unwrap());
    let mut foreign = Bss::new(foreign, b"foreign", of_foreign, &policy);
    near.beacon(&mut air, SSID);
    far.management(&mut air, 5, 12, STA);
    near.join(&mut air, STA);
    near.send(&mut air, UP, STA, EtherType::IPV4, PACKET);
    far.join(&mut air, STA);
    far.send(&mut air, UP, STA, EtherType::IPV4, PACKET);
    near.join(&mut air, STA);
    near.send(&mut air, DOWN, STA, EtherType::IPV4, PACKET);
    let asked = air.expected.clone();
    foreign.beacon(&mut air, b"foreign");
    foreign.join(&mut air, OTHER);
    foreign.send(&mut air, UP, OTHER, EtherType::IPV4, PACKET);
    let all = expect_all(&air);
    assert_eq!(all.ssids, [&b"airtoll"[..], b"foreign"]);

    let mut secrets = passphrase(PASSPHRASE);
    secrets.set_ssid(SSID).unwrap();
    air.expected = asked;
    let (decrypted, out) = run(&air.file, secrets);
    assert!(out.unwrap() == air.decrypted());
    assert_eq!(finding(&decrypted.unwrap(), OTHER), Finding::OtherNetwork);
}

#[test]
fn a_hidden_ssid_is_learned_from_an_association_request_or_the_user_even_after_the_handshake() {
    for (subtype, fixed_len) in [(0, 4), (2, 10), (5, 12)] {
        for before in [true, false] {
            let mut air = Air::new();
            let mut bss = bss_of(Suite::Ccmp128);
            bss.beacon(&mut air, b"");
            bss.beacon(&mut air, &[0; 7]);
            if before {
                bss.management(&mut air, subtype, fixed_len, STA);
            }
            bss.join(&mut air, STA);
            if !before {
                bss.management(&mut air, subtype, fixed_len, STA);
            }
            bss.send(&mut air, UP, STA, EtherType::IPV4, PACKET);
            expect_all(&air);
        }
    }
    let mut air = Air::new();
    let mut bss = bss_of(Suite::Ccmp128);
    bss.beacon(&mut air, b"");
    bss.join(&mut air, STA);
    bss.send(&mut air, UP, STA, EtherType::IPV4, PACKET);
    let (decrypted, out) = run(&air.file, passphrase(PASSPHRASE));
    assert_eq!(finding(&decrypted.unwrap(), STA), Finding::NoSsid);
    assert_eq!(out, None);
    let mut with_ssid = passphrase(PASSPHRASE);
    with_ssid.set_ssid(SSID).unwrap();
    for secrets in [with_ssid, passphrase(digits().as_bytes())] {
        let (decrypted, out) = run(&air.file, secrets);
        assert_eq!(finding(&decrypted.unwrap(), STA), Finding::Learned);
        assert!(out.unwrap() == air.decrypted());
    }
}

#[test]
fn missing_handshake_messages_are_reported_and_earlier_frames_skipped() {
    let mut air = Air::new();
    let mut bss = bss_of(Suite::Ccmp128);
    bss.beacon(&mut air, SSID);
    bss.join(&mut air, STA);
    bss.send(&mut air, UP, STA, EtherType::IPV4, PACKET);
    let records: Vec<_> = (0..air.records.len()).map(|n| air.octets(n)).collect();
    assert_eq!(records.len(), 6, "a beacon, four messages, a frame");
    let of = |order: &[usize]| {
        let mut file = pcap::file_header().to_vec();
        order.iter().for_each(|&n| file.extend(records[n]));
        let (decrypted, out) = run(&file, passphrase(PASSPHRASE));
        let decrypted = decrypted.unwrap();
        assert_eq!(out.is_some(), decrypted.counts.frames > 0);
        let station = decrypted
            .stations
            .iter()
            .find(|one| one.ends.station == STA)
            .unwrap();
        (
            station.finding,
            station.counts.decrypted,
            station.counts.without_key,
        )
    };
    for (order, expected) in [
        (&[0, 1, 2, 5][..], (Finding::Learned, 1, 0)),
        (&[0, 2, 3, 5], (Finding::Learned, 1, 0)),
        (&[0, 5, 1, 2, 5], (Finding::Learned, 1, 1)),
        (&[0, 5, 1, 2, 3, 4], (Finding::Learned, 0, 1)),
        (&[0, 1, 3, 4, 5], (Finding::HalfHandshake, 0, 1)),
        (&[0, 2, 4, 5], (Finding::HalfHandshake, 0, 1)),
        (&[0, 5], (Finding::NoHandshake, 0, 1)),
        (&[1, 2, 3, 4, 5], (Finding::NoSsid, 0, 1)),
    ] {
        assert_eq!(of(order), expected, "{order:?}");
    }
    let (decrypted, out) = run(&air.file, passphrase(b"a troll on the air"));
    assert_eq!(finding(&decrypted.unwrap(), STA), Finding::WrongPassphrase);
    assert_eq!(out, None);
}

#[test]
fn frames_of_all_ciphers_keep_the_order_of_the_capture() {
    let mut air = Air::new();
    let mut networks: Vec<Bss> = [Suite::Tkip, Suite::Ccmp128, Suite::Gcmp256]
        .into_iter()
        .zip(20u8..)
        .map(|(suite, n)| {
            let policy = Policy::of(Protocol::Rsn, Akm::WpaPsk, suite);
            let mut bss = Bss::new(MacAddr([2, 0, 0, 0, 0, n]), SSID, pmk(), &policy);
            bss.beacon(&mut air, SSID);
            bss.join(&mut air, STA);
            bss
        })
        .collect();
    let long = [0x45; 1400];
    for n in 0usize..900 {
        let payload = &long[..40 + n * 37 % 1360];
        networks[n % 3].send(&mut air, n % 2 == 0, STA, EtherType::IPV4, payload);
    }
    expect_all(&air);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// With records in any order, omitted, repeated and damaged, nothing panics and no frame is invented.
    #[test]
    fn reordered_and_damaged_captures_yield_no_false_frames(
        picks in prop::collection::vec((0usize..64, prop::option::weighted(0.2, (any::<prop::sample::Index>(), 1u8..))), 0..80),
    ) {
        let mut air = Air::new();
        let mut bss = bss_of(Suite::Ccmp128);
        bss.beacon(&mut air, SSID);
        bss.join(&mut air, STA);
        bss.send(&mut air, UP, STA, EtherType::IPV4, PACKET);
        bss.send_amsdu(&mut air, DOWN, STA, PACKET);
        bss.send(&mut air, DOWN, MacAddr::BROADCAST, EtherType::ARP, PACKET);
        bss.rekey(&mut air, STA);
        bss.send(&mut air, UP, STA, EtherType::IPV4, PACKET);
        let mut file = pcap::file_header().to_vec();
        for (n, damage) in picks {
            let mut record = air.octets(n % air.records.len()).to_vec();
            if let Some((at, change)) = damage {
                let at = 16 + at.index(record.len() - 16);
                record[at] ^= change;
            }
            file.extend(record);
        }
        let (decrypted, out) = run(&file, passphrase(digits().as_bytes()));
        prop_assert_eq!(decrypted.unwrap().broken, None);
        let genuine: Vec<_> = air.expected.as_ref().unwrap().iter().map(|(_, frame)| &frame[..]).collect();
        for record in pcap::records(&out.unwrap_or_else(|| pcap::file_header_of(1).to_vec())) {
            let (_, record) = record.unwrap();
            prop_assert!(genuine.contains(&record.data));
        }
    }
}
