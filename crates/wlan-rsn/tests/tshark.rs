//! Handshakes between both state machines, decrypted with only the passphrase by tshark, airdecap-ng and our own
//! observer.

mod world;

use test_support::{capture, tshark};
use wlan_ciphers::{Cipher, IntegrityKeyId, KeyId, PacketNumber, Role, SealJob, Suite};
use wlan_frames::radiotap::{FLAG_FCS, Radiotap};
use wlan_frames::{DataHeader, EtherType, LlcSnap, MacAddr, SequenceControl, fcs};
use wlan_rsn::{Akm, Elements, Key, Learned, Observer, Pmk, Policy, Protocol, psk::psk};
use world::{AP, STA, World, policy};

const SSID: &[u8] = b"airtoll";
const PASSPHRASE: &[u8] = b"a toll on the air";
const WRONG: &[u8] = b"a troll on the air";
const MESSAGE: &[u8] = b"the toll of the air";

/// An IPv4 packet with a UDP datagram, without checksums.
fn ip_packet(message: &[u8]) -> Vec<u8> {
    let udp_len = u8::try_from(8 + message.len()).unwrap();
    let ip = [
        &[0x45, 0, 0, 20 + udp_len, 0, 0, 0x40, 0, 64, 17, 0, 0][..],
        &[10, 0, 0, 1, 10, 0, 0, 2],
    ];
    let udp = [0x14, 0x51, 0x14, 0x52, 0, udp_len, 0, 0];
    [&ip.concat()[..], &udp, message].concat()
}

/// The protection of a data frame.
enum Seal<'a> {
    Open,
    With(Suite, KeyId, &'a Key),
}

/// The frames of a capture, in order.
#[derive(Default)]
struct Air {
    frames: Vec<Vec<u8>>,
    sequence: u16,
    numbers: u64,
}

impl Air {
    fn push(&mut self, mut mpdu: Vec<u8>) {
        let radiotap = Radiotap {
            flags: Some(FLAG_FCS),
            rate_500kbps: Some(12),
            ..Radiotap::default()
        };
        let mut frame = vec![0; radiotap.len()];
        radiotap.emit(&mut frame);
        fcs::append(&mut mpdu);
        frame.extend(mpdu);
        self.frames.push(frame);
    }

    fn beacon(&mut self, elements: &Elements) {
        let elements = [&elements.rsn[..], &elements.rsnx, &elements.wpa];
        self.push(test_support::beacon(AP, SSID, &elements));
    }

    fn data(&mut self, from: MacAddr, to: MacAddr, ethertype: EtherType, payload: &[u8], seal: &Seal<'_>) {
        self.sequence += 1;
        let from_ap = from == AP;
        let header = DataHeader {
            to_ds: !from_ap,
            from_ds: from_ap,
            addr1: if from_ap { to } else { AP },
            addr2: from,
            addr3: if from_ap { AP } else { to },
            sequence: SequenceControl {
                number: self.sequence,
                fragment: 0,
            },
            ..DataHeader::default()
        };
        let overhead = match seal {
            Seal::Open => (0, 0),
            Seal::With(suite, ..) => (suite.header_len(), suite.mic_len()),
        };
        let mut mpdu = vec![0; header.len() + overhead.0 + LlcSnap::LEN + payload.len() + overhead.1];
        let at = header.emit(&mut mpdu) + overhead.0;
        let at = at + LlcSnap { ethertype }.emit(&mut mpdu[at..]);
        mpdu[at..at + payload.len()].copy_from_slice(payload);
        if let Seal::With(suite, key_id, key) = *seal {
            self.numbers += 1;
            let mut batch = [SealJob {
                mpdu: &mut mpdu,
                header_len: header.len(),
                pn: PacketNumber::new(self.numbers).unwrap(),
                key_id,
            }];
            let role = if from_ap { Role::Ap } else { Role::Sta };
            let cipher = Cipher::new(suite, key.as_octets(), role).unwrap();
            cipher.seal(&mut batch).unwrap();
        }
        self.push(mpdu);
    }
}

/// Delivers every EAPOL packet over the air, including the packets sent in response.
fn deliver_all(air: &mut Air, world: &mut World, pairwise: Suite) {
    while let Some(flight) = world.air.pop_front() {
        let key = flight.key.clone();
        let seal = match &key {
            Some(key) => Seal::With(pairwise, KeyId::PAIRWISE, key),
            None => Seal::Open,
        };
        air.data(flight.from, flight.to, EtherType::EAPOL, &flight.packet, &seal);
        assert_eq!(world.deliver(&flight), Some(Ok(())));
    }
}

/// A beacon, a handshake, a data frame in each direction and a broadcast; then a group rekey, and a broadcast under
/// the new key.
fn conversation(policy: &Policy) -> (Vec<Vec<u8>>, World) {
    let elements = Elements::of(policy);
    let pmk = Pmk::of_psk(psk(PASSPHRASE, SSID).unwrap());
    let mut air = Air::default();
    air.beacon(&elements);
    let mut world = World::new(elements.clone());
    world.join(STA, &elements, &pmk, &pmk);
    deliver_all(&mut air, &mut world, policy.pairwise[0]);
    let packet = ip_packet(MESSAGE);
    let tk = world.ends[&STA].tk().clone();
    let pairwise = Seal::With(policy.pairwise[0], KeyId::PAIRWISE, &tk);
    air.data(AP, STA, EtherType::IPV4, &packet, &pairwise);
    air.data(STA, AP, EtherType::IPV4, &packet, &pairwise);
    let to_all = |air: &mut Air, world: &World| {
        let (key_id, key) = world.group.last().unwrap();
        let group = Seal::With(policy.group, KeyId::new(*key_id).unwrap(), key);
        air.data(AP, MacAddr::BROADCAST, EtherType::IPV4, &packet, &group);
    };
    to_all(&mut air, &world);
    world.ap.rekey_group(world.now, &mut world.rng);
    world.collect();
    deliver_all(&mut air, &mut world, policy.pairwise[0]);
    to_all(&mut air, &world);
    (air.frames, world)
}

fn policies() -> Vec<Policy> {
    let of = |protocol, akm, suite| Policy::of(protocol, akm, suite);
    vec![
        of(Protocol::Wpa, Akm::WpaPsk, Suite::Tkip),
        policy(Suite::Tkip),
        policy(Suite::Ccmp128),
        of(Protocol::Rsn, Akm::WpaPskSha256, Suite::Ccmp128),
        policy(Suite::Ccmp256),
        policy(Suite::Gcmp128),
        policy(Suite::Gcmp256),
        Policy {
            group: Suite::Tkip,
            ..policy(Suite::Ccmp128)
        },
    ]
}

#[test]
fn tshark_decrypts_with_the_passphrase_alone() {
    for policy in policies() {
        // tshark 4.0 cannot read a group key from RC4-encrypted key data with KDEs, as in RSN. It decrypts group
        // addressed frames with the pairwise cipher.
        let is_rsn_with_rc4 = policy.protocol == Protocol::Rsn && policy.pairwise[0] == Suite::Tkip;
        let all = if is_rsn_with_rc4 || policy.group != policy.pairwise[0] {
            2
        } else {
            4
        };
        for (passphrase, expected) in [(PASSPHRASE, all), (WRONG, 0)] {
            let (frames, _) = conversation(&policy);
            let key = format!(
                "uat:80211_keys:\"wpa-pwd\",\"{}:{}\"",
                String::from_utf8_lossy(passphrase),
                String::from_utf8_lossy(SSID)
            );
            let options = ["-o", "wlan.enable_decryption:TRUE", "-o", &key];
            let Some(seen) = tshark(&capture(&frames), &options, &["ip.src", "data.data"]) else {
                return;
            };
            let message: String = MESSAGE.iter().map(|octet| format!("{octet:02x}")).collect();
            let read = seen
                .iter()
                .filter(|frame| frame[..] == ["10.0.0.1", &message])
                .count();
            assert_eq!(read, expected, "{policy:?}");
        }
    }
}

/// A BSS with SAE, QoS and protected beacons: its beacon, message 2, message 3 and a group message. tshark gets the
/// PMK.
#[test]
fn tshark_reads_the_extension_element_and_the_key_of_beacons() {
    let policy = Policy::of(Protocol::Rsn, Akm::Sae, Suite::Ccmp128)
        .with_mfp(Suite::BipCmac128)
        .with_qos();
    let elements = Elements::of(&policy);
    let pmk = Pmk::agreed(&[0x5a; 32], [3; 16]).unwrap();
    let mut air = Air::default();
    air.beacon(&elements);
    let mut world = World::new(elements.clone());
    let key_id = IntegrityKeyId::new(6).unwrap();
    world.ap.protect_beacons(key_id, Key::new(&[0xb1; 16])).unwrap();
    world.ap.note_beacon_number(0x0102);
    world.join(STA, &elements, &pmk, &pmk);
    deliver_all(&mut air, &mut world, Suite::Ccmp128);
    world.ap.rekey_group(world.now, &mut world.rng);
    world.collect();
    deliver_all(&mut air, &mut world, Suite::Ccmp128);

    let key = format!("uat:80211_keys:\"wpa-psk\",\"{}\"", "5a".repeat(32));
    let options = ["-o", "wlan.enable_decryption:TRUE", "-o", &key];
    let fields = [
        "wlan_rsna_eapol.keydes.msgnr",
        "wlan.rsn.capabilities.ptksa_replay_counter",
        "wlan.rsn.capabilities.mfpr",
        "wlan.rsn.capabilities.mfpc",
        "wlan.rsnx.sae_hash_to_element",
        "wlan.rsn.ie.bigtk_kde.key_id",
        "wlan.rsn.ie.bigtk_kde.bipn",
        "wlan.rsn.ie.bigtk_kde.bigtk",
        "_ws.malformed",
    ];
    let Some(seen) = tshark(&capture(&air.frames), &options, &fields) else {
        return;
    };
    let bigtk = "b1".repeat(16);
    let says = |message: &str| {
        let frame = seen.iter().find(|frame| frame[0] == message);
        frame.unwrap_or_else(|| panic!("message {message}: {seen:?}"))
    };
    let elements = ["0x0003", "1", "1", "1"];
    assert_eq!(says("")[1..], [&elements[..], &["", "", "", ""]].concat());
    assert_eq!(says("2")[1..], [&elements[..], &["", "", "", ""]].concat());
    let of_beacons = ["6", "258", &bigtk, ""];
    assert_eq!(says("3")[1..], [&elements[..], &of_beacons].concat());
    assert_eq!(seen[5][1..], [&["", "", "", ""], &of_beacons[..]].concat());
}

#[test]
fn tshark_finds_nothing_wrong_with_the_elements_and_packets() {
    for policy in policies() {
        let (frames, _) = conversation(&policy);
        let fields = [
            "_ws.malformed",
            "_ws.expert.message",
            "wlan_rsna_eapol.keydes.msgnr",
        ];
        let Some(seen) = tshark(&capture(&frames), &[], &fields) else {
            return;
        };
        let numbers: Vec<&str> = seen.iter().map(|frame| frame[2].as_str()).collect();
        assert_eq!(numbers[..5], ["", "1", "2", "3", "4"], "{policy:?}");
        for frame in seen {
            assert_eq!(frame[..2], ["", ""], "{policy:?}");
        }
    }
}

/// airdecap-ng supports TKIP and CCMP, with SHA-1.
#[test]
fn airdecap_decrypts_with_the_passphrase_alone() {
    let folder = std::env::temp_dir().join(format!("airtoll-rsn-{}", std::process::id()));
    for policy in &policies()[..3] {
        let (frames, _) = conversation(policy);
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("handshake.cap");
        // airdecap-ng reads only captures with times in microseconds (pcap-savefile(5)); our times are whole seconds.
        let mut octets = capture(&frames);
        octets[..4].copy_from_slice(&0xa1b2_c3d4_u32.to_le_bytes());
        std::fs::write(&file, octets).unwrap();
        let text = |octets| std::str::from_utf8(octets).unwrap();
        let options = ["-e", text(SSID), "-p", text(PASSPHRASE)];
        let Some(decrypted) = test_support::airdecap(&file, &options) else {
            return;
        };
        // Both unicast data frames; airdecap-ng ignores group addressed frames.
        let read = decrypted
            .windows(MESSAGE.len())
            .filter(|octets| *octets == MESSAGE)
            .count();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(read >= 2, "{policy:?}");
    }
}

/// The keys that our observer learns if it sees only the packets selected by `seen` (handshake and group rekey).
fn learn(world: &World, passphrase: &[u8], seen: impl Fn(usize) -> bool) -> (Vec<Learned>, Observer) {
    let mut observer = Observer::new();
    observer.add_pmk(Some(AP), Pmk::of_psk(psk(passphrase, SSID).unwrap()));
    let mut learned = Vec::new();
    for (n, flight) in world.sent.iter().enumerate() {
        if seen(n) {
            learned.extend(observer.packet(AP, STA, &flight.packet).unwrap());
        }
    }
    (learned, observer)
}

#[test]
fn our_observer_learns_all_keys() {
    for policy in policies() {
        let (_, world) = conversation(&policy);
        let (learned, observer) = learn(&world, PASSPHRASE, |_| true);
        let pairwise: Vec<&Key> = learned
            .iter()
            .filter_map(|learned| match learned {
                Learned::Pairwise { key, suite, .. } => {
                    assert_eq!(*suite, policy.pairwise[0]);
                    Some(key)
                }
                _ => None,
            })
            .collect();
        assert_eq!(pairwise, [world.ends[&STA].tk()], "{policy:?}");
        let groups: Vec<(u8, &Key)> = learned
            .iter()
            .filter_map(|learned| match learned {
                Learned::Group { key, key_id, .. } => Some((key_id.get(), key)),
                _ => None,
            })
            .collect();
        let expected: Vec<(u8, &Key)> = world.group.iter().map(|(id, key)| (*id, key)).collect();
        assert_eq!(groups, expected, "{policy:?}");
        assert_eq!((observer.counts().verified, observer.counts().open), (1, 0));

        let (nothing, observer) = learn(&world, WRONG, |_| true);
        assert_eq!(nothing, []);
        assert_eq!((observer.counts().verified, observer.counts().open), (0, 1));
    }
}

#[test]
fn our_observer_requires_only_half_of_a_handshake() {
    let (_, world) = conversation(&policy(Suite::Ccmp128));
    for (seen, keys) in [
        // Messages 1 and 2 give the pairwise key; 2 and 3 also the group key. Without message 2 there is no SNonce.
        (&[0, 1][..], 1),
        (&[1, 2][..], 2),
        (&[0, 1, 2][..], 2),
        (&[0, 2, 3, 4, 5][..], 0),
        (&[1, 3][..], 0),
        (&[1, 2, 4][..], 3),
    ] {
        let (learned, _) = learn(&world, PASSPHRASE, |n| seen.contains(&n));
        assert_eq!(learned.len(), keys, "packets {seen:?}");
    }
}

#[test]
fn our_observer_copes_with_disorder_and_repetition() {
    let (_, mut world) = conversation(&policy(Suite::Ccmp128).with_mfp(Suite::BipCmac128));
    let in_order = learn(&world, PASSPHRASE, |_| true).0;
    assert_eq!(in_order.len(), 5, "a pairwise key, and two of each group key");
    world.sent.reverse();
    let twice = [world.sent.clone(), world.sent.clone()].concat();
    world.sent = twice;
    let mut backwards = learn(&world, PASSPHRASE, |_| true).0;
    assert_eq!(backwards.len(), in_order.len());
    backwards.retain(|key| !in_order.contains(key));
    assert_eq!(backwards, []);
}

#[test]
fn our_observer_follows_rekeys_and_several_stations() {
    let offered = policy(Suite::Ccmp128).with_extended_key_id();
    let elements = Elements::of(&offered);
    let mut world = World::of(&offered);
    let other = MacAddr([2, 0, 0, 0, 0, 3]);
    world.join(other, &elements, &world::pmk(7), &world::pmk(7));
    world.run();
    for _ in 0..3 {
        world.ap.rekey_pairwise(STA, world.now, &mut world.rng);
        world.collect();
        world.run();
    }
    let mut observer = Observer::new();
    observer.add_pmk(None, world::pmk(9));
    observer.add_pmk(None, world::pmk(7));
    let mut pairwise = Vec::new();
    for flight in &world.sent {
        let station = if flight.to == AP { flight.from } else { flight.to };
        for learned in observer.packet(AP, station, &flight.packet).unwrap() {
            if let Learned::Pairwise { station, key, .. } = learned {
                pairwise.push((station, key));
            }
        }
    }
    assert_eq!(pairwise.len(), 5, "four of one station, one of the other");
    assert_eq!(pairwise.last().unwrap(), &(STA, world.ends[&STA].tk().clone()));
    assert!(pairwise.contains(&(other, world.ends[&other].tk().clone())));
}
