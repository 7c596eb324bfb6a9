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
