//! The keys, counts and capabilities that an observer learns from handshakes.

mod world;

use wlan_ciphers::{IntegrityKeyId, Suite};
use wlan_frames::MacAddr;
use wlan_frames::rsn::RsnCapabilities;
use wlan_rsn::{Elements, Key, Learned, Observer, Policy};
use world::{AP, STA, World, pmk, policy};

const SPP: RsnCapabilities = RsnCapabilities(RsnCapabilities::SPP_AMSDU_CAPABLE);
const NONE: RsnCapabilities = RsnCapabilities(0);

/// Whether SPP A-MSDUs are known to be in use after messages 1 and 2 of a station with `capabilities`, given
/// previously seen `beacons`.
fn is_spp(capabilities: RsnCapabilities, beacons: &[(MacAddr, RsnCapabilities)]) -> bool {
    let policy = Policy {
        capabilities,
        ..policy(Suite::Ccmp128)
    };
    let mut world = World::of(&policy);
    world.run();
    let mut observer = Observer::new();
    observer.add_pmk(None, pmk(7));
    for &(bssid, capabilities) in beacons {
        observer.note_access_point(bssid, capabilities);
    }
    let learned: Vec<Learned> = world.sent[..2]
        .iter()
        .flat_map(|flight| observer.packet(AP, STA, &flight.packet).unwrap())
        .collect();
    match learned[..] {
        [Learned::Pairwise { spp_amsdu, .. }] => spp_amsdu,
        _ => panic!("{learned:?}"),
    }
}

/// IEEE 802.11-2020 9.4.2.24.4: both ends must support SPP A-MSDUs.
#[test]
fn spp_amsdus_require_a_beacon_and_a_station_that_announce_them() {
    let other = MacAddr([2, 9, 9, 9, 9, 9]);
    assert!(is_spp(SPP, &[(AP, SPP)]));
    assert!(!is_spp(NONE, &[(AP, SPP)]));
    for beacons in [&[][..], &[(AP, NONE)], &[(other, SPP)]] {
        assert!(!is_spp(SPP, beacons));
    }
}

#[test]
fn the_number_of_remembered_access_points_is_limited() {
    let others = |count: u16| {
        (0..count).map(|n| {
            let [high, low] = n.to_be_bytes();
            (MacAddr([2, 8, 0, 0, high, low]), SPP)
        })
    };
    let before = |count| others(count).chain([(AP, SPP)]).collect::<Vec<_>>();
    assert!(is_spp(SPP, &before(4095)));
    assert!(!is_spp(SPP, &before(4096)));
}

#[test]
fn packets_answers_and_keys_are_counted() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    world.run();
    let mut observer = Observer::new();
    observer.add_pmk(None, pmk(7));
    for flight in &world.sent {
        observer.packet(AP, STA, &flight.packet).unwrap();
    }
    let counts = observer.counts();
    assert_eq!((counts.packets, counts.answers, counts.verified), (4, 1, 1));
}

#[test]
fn the_oldest_of_too_many_conversations_is_forgotten() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    world.run();
    let (message_1, message_2) = (&world.sent[0].packet, &world.sent[1].packet);
    for (others, learns) in [(4095_u16, true), (4096, false)] {
        let mut observer = Observer::new();
        observer.add_pmk(None, pmk(7));
        observer.packet(AP, STA, message_1).unwrap();
        for n in 0..others {
            let [high, low] = n.to_be_bytes();
            let station = MacAddr([2, 8, 0, 0, high, low]);
            observer.packet(AP, station, message_1).unwrap();
        }
        let learned = observer.packet(AP, STA, message_2).unwrap();
        assert_eq!(!learned.is_empty(), learns, "{others} others");
    }
}

/// An observer that knows the PMK.
fn observer() -> Observer {
    let mut observer = Observer::new();
    observer.add_pmk(None, pmk(7));
    observer
}

/// Protected management frames and beacons: a 4-way handshake and a group key handshake, then a second 4-way handshake.
fn with_integrity_keys() -> World {
    let elements = Elements::of(&policy(Suite::Ccmp128).with_mfp(Suite::BipCmac128));
    let mut world = World::new(elements.clone());
    let for_beacons = IntegrityKeyId::new(6).unwrap();
    world
        .ap
        .protect_beacons(for_beacons, Key::new(&[0x5a; 16]))
        .unwrap();
    world.join(STA, &elements, &pmk(7), &pmk(7));
    world.run();
    assert!(world.ap.rekey_group(world.now, &mut world.rng));
    world.collect();
    world.run();
    assert!(world.ap.rekey_pairwise(STA, world.now, &mut world.rng));
    world.collect();
    world.run();
    assert_eq!(world.sent.len(), 4 + 2 + 4);
    world
}

/// The kinds of the learned keys, with the Key IDs of group and integrity keys.
fn kinds(learned: &[Learned]) -> Vec<String> {
    let kind = |learned: &Learned| match learned {
        Learned::Pairwise { .. } => "pairwise".into(),
        Learned::Group { key_id, .. } => format!("group {}", key_id.get()),
        Learned::Integrity { key_id, .. } => format!("integrity {}", key_id.get()),
    };
    learned.iter().map(kind).collect()
}

#[test]
fn each_key_is_learned_once_and_is_the_key_that_the_station_installed() {
    let world = with_integrity_keys();
    let mut observer = observer();
    let mut all = Vec::new();
    let expected: [&[&str]; 10] = [
        &[],
        &["pairwise"],
        &["group 1", "integrity 4", "integrity 6"],
        &[],
        // The beacon key is unchanged.
        &["group 2", "integrity 5"],
        &[],
        &[],
        &["pairwise"],
        &[],
        &[],
    ];
    for (flight, expected) in world.sent.iter().zip(expected) {
        let learned = observer.packet(AP, STA, &flight.packet).unwrap();
        assert_eq!(kinds(&learned), expected);
        all.extend(learned);
        // A retransmission contains nothing new.
        assert_eq!(observer.packet(AP, STA, &flight.packet).unwrap(), []);
    }
    let end = &world.ends[&STA];
    // The second handshake has retired the first pairwise key.
    for learned in &all {
        let (is_installed, suite) = match learned {
            Learned::Pairwise { key, suite, .. } => (
                end.receive.iter().any(|(_, known)| known == key) || all[0] == *learned,
                suite,
            ),
            Learned::Group {
                key_id, key, suite, ..
            } => (end.groups.get(&key_id.get()) == Some(key), suite),
            Learned::Integrity {
                key_id, key, suite, ..
            } => (end.integrity.get(&key_id.get()) == Some(key), suite),
        };
        assert!(is_installed, "{learned:?}");
        let is_integrity = matches!(learned, Learned::Integrity { .. });
        assert_eq!(
            *suite,
            if is_integrity {
                Suite::BipCmac128
            } else {
                Suite::Ccmp128
            }
        );
    }
    let counts = observer.counts();
    assert_eq!((counts.packets, counts.answers, counts.verified), (20, 4, 4));
}

#[test]
fn keys_are_learned_from_messages_in_any_order() {
    let world = with_integrity_keys();
    let packet = |at: usize| &world.sent[at].packet;
    let (message_1, message_2, message_3) = (packet(0), packet(1), packet(2));
    let (second_1, second_2) = (packet(6), packet(7));
    let of_message_3 = ["pairwise", "group 1", "integrity 4", "integrity 6"];
    let learn = |order: &[&Vec<u8>]| {
        let mut observer = observer();
        let learned: Vec<_> = order
            .iter()
            .flat_map(|packet| observer.packet(AP, STA, packet).unwrap())
            .collect();
        kinds(&learned)
    };
    // Without message 1: message 3 also contains the ANonce.
    assert_eq!(learn(&[message_2, message_3]), of_message_3);
    assert_eq!(learn(&[message_3, message_2]), of_message_3);
    // Another handshake in between, or many repetitions of message 1, displace neither the nonce nor message 3.
    let between = [message_1, message_3, second_1, second_2, message_2];
    assert_eq!(learn(&between), [&["pairwise"], &of_message_3[..]].concat());
    let again = [
        &[message_3],
        &[message_1; 100][..],
        &[second_1; 100],
        &[message_2],
    ]
    .concat();
    assert_eq!(learn(&again), of_message_3);
}

#[test]
fn a_pmk_of_one_access_point_is_tried_with_that_access_point_only() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    world.run();
    for (bssid, learns) in [(AP, true), (MacAddr([2, 9, 9, 9, 9, 9]), false)] {
        let mut observer = Observer::new();
        observer.add_pmk(Some(bssid), pmk(7));
        let learned = world.sent[..2]
            .iter()
            .flat_map(|flight| observer.packet(AP, STA, &flight.packet).unwrap());
        assert_eq!(learned.count(), usize::from(learns));
    }
}

#[test]
fn unsupported_suites_are_counted() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    world.run();
    let mut message_2 = world.sent[1].packet.clone();
    // The AKM of the RSN element: fast transition over 802.1X instead of PSK.
    let psk = [0x00, 0x0f, 0xac, 2];
    let at = message_2.windows(4).rposition(|octets| octets == psk).unwrap();
    message_2[at + 3] = 3;
    let mut observer = observer();
    for _ in 0..2 {
        assert_eq!(observer.packet(AP, STA, &message_2).unwrap(), []);
    }
    let counts = observer.counts();
    assert_eq!((counts.answers, counts.unknown_suites, counts.open), (2, 2, 0));
}

/// Message 3 repeats the RSN element of the beacon, so the capability is known even without a captured beacon.
#[test]
fn message_3_tells_whether_the_access_point_is_capable_of_spp_amsdus() {
    let elements = |capabilities| {
        Elements::of(&Policy {
            capabilities,
            ..policy(Suite::Ccmp128)
        })
    };
    for (of_access_point, of_station) in [(SPP, SPP), (SPP, NONE), (NONE, SPP), (NONE, NONE)] {
        let mut world = World::new(elements(of_access_point));
        world.join(STA, &elements(of_station), &pmk(7), &pmk(7));
        world.run();
        let mut observer = observer();
        let mut known = Vec::new();
        // Message 3 arrives twice.
        for at in [0, 1, 2, 2] {
            for learned in observer.packet(AP, STA, &world.sent[at].packet).unwrap() {
                if let Learned::Pairwise { spp_amsdu, .. } = learned {
                    known.push(spp_amsdu);
                }
            }
        }
        let both = of_access_point == SPP && of_station == SPP;
        assert_eq!(known, if both { vec![false, true] } else { vec![false] });
    }
}
