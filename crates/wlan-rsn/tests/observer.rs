//! What an observer of a handshake learns beside the keys.

mod world;

use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_frames::rsn::RsnCapabilities;
use wlan_rsn::{Learned, Observer, Policy};
use world::{AP, STA, World, pmk, policy};

const SPP: RsnCapabilities = RsnCapabilities(RsnCapabilities::SPP_AMSDU_CAPABLE);
const NONE: RsnCapabilities = RsnCapabilities(0);

/// Whether SPP A-MSDUs are known to be in use after messages 1 and 2 of stations with `capabilities`, when `beacons` were
/// seen before.
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

/// IEEE 802.11-2020 9.4.2.24.4: both ends must be capable of SPP A-MSDUs.
#[test]
fn spp_amsdus_take_a_beacon_and_a_station_that_announce_them() {
    let other = MacAddr([2, 9, 9, 9, 9, 9]);
    assert!(is_spp(SPP, &[(AP, SPP)]));
    assert!(!is_spp(NONE, &[(AP, SPP)]));
    for beacons in [&[][..], &[(AP, NONE)], &[(other, SPP)]] {
        assert!(!is_spp(SPP, beacons));
    }
}

#[test]
fn the_access_points_that_are_remembered_are_bounded() {
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
