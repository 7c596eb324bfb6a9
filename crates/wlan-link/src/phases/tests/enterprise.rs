//! 802.1X: a server authenticates the stations, before the keys and again during a session.

use wlan_eap::eapol;
use wlan_eap::packet::{Code, Packet};

use super::radius_server::{CA, SERVER, SERVER_NAME};
use super::*;

fn is_eap(flight: &Flight, wanted: Code) -> bool {
    match &flight.body {
        ControlBody::Eapol(pdu) => match eapol::Pdu::parse(pdu) {
            Some(eapol::Pdu::Eap(packet)) => {
                Packet::parse(packet).is_some_and(|packet| packet.code == wanted)
            }
            _ => false,
        },
        ControlBody::Management(_) => false,
    }
}

fn transmit_key(world: &World, of: MacAddr, peer: MacAddr) -> Option<Key> {
    world
        .plane(of)
        .peers
        .get(&peer)?
        .transmit
        .clone()
        .map(|(_, key)| key)
}

#[test]
fn a_lost_success_does_not_prevent_the_handshake() {
    let mut world = World::new(Akm::WpaEapSha256, 1, 21);
    assert!(world.run(5, |world| {
        world.air.iter().any(|flight| is_eap(flight, Code::Success))
    }));
    world.air.retain(|flight| !is_eap(flight, Code::Success));
    let took = world.now;
    assert!(world.run(2, |world| world.is_connected(1)));
    assert!(world.now - took < Duration::from_millis(100), "without a timeout");
}

#[test]
fn a_station_that_the_server_rejects_gets_no_keys() {
    let mut world = World::new(Akm::WpaEap, 0, 22);
    let mut settings = sta_settings(1, Akm::WpaEap);
    // The certificate of a server is not one of a station.
    settings.eap = Some(eap_settings(CA, SERVER_NAME, SERVER));
    world.start_sta(1, settings);
    assert!(!world.run(20, |world| world.is_connected(1)));
    assert!(
        world
            .plane(AP)
            .told("the authentication server rejects \"station@airtoll.example\"")
    );
    assert!(
        world
            .plane(station(1))
            .told("TLS with the authentication server failed")
    );
    assert_eq!(world.plane(AP).used.len() + world.plane(station(1)).used.len(), 0);
    assert_eq!(world.server.accepted, 0);
    assert!(
        (2..=6).contains(&world.server.rejected),
        "the station waits longer and longer before it tries again"
    );
    assert_eq!(world.ap().kept(), [0; 5]);
}

#[test]
fn a_server_without_answers_ends_the_attempt_and_leaves_no_state() {
    let mut world = World::new(Akm::WpaEap, 1, 23);
    world.server_is_up = false;
    assert!(world.run(30, |world| world.plane(AP).told("does not answer")));
    assert!(world.run(10, |world| world.plane(station(1)).told("next try in")));
    world.server_is_up = true;
    assert!(world.run(60, |world| world.is_connected(1)));
}

#[test]
fn a_station_authenticates_again_and_its_session_goes_on() {
    for akm in [Akm::WpaEap, Akm::WpaEapSha256] {
        let mut world = World::new(akm, 1, 24);
        world.server.session_timeout_s = Some(60);
        assert!(world.run(2, |world| world.is_connected(1)));
        let before = transmit_key(&world, AP, station(1)).unwrap();
        assert!(world.run(70, |world| world.server.accepted == 2 && world.is_connected(1)));
        assert!(world.run(5, |world| {
            world.is_connected(1) && transmit_key(world, AP, station(1)).is_some_and(|key| key != before)
        }));
        assert_eq!(world.plane(AP).count(Outcome::Established), 1);
        assert_eq!(world.plane(station(1)).count(Outcome::Ended), 0);
        // And again after another session timeout.
        assert!(world.run(70, |world| world.server.accepted == 3 && world.is_connected(1)));
    }
}

#[test]
fn a_session_ends_if_its_station_cannot_authenticate_again() {
    let mut world = World::new(Akm::WpaEapSha256, 1, 25);
    world.server.session_timeout_s = Some(60);
    assert!(world.run(2, |world| world.is_connected(1)));
    world.server_is_up = false;
    assert!(world.run(100, |world| world.plane(AP).peers.is_empty()));
    assert!(
        world
            .plane(AP)
            .told("not authenticated again: the authentication server does not answer")
    );
    assert!(world.run(1, |world| world.plane(station(1)).told("reason code 23")));
}

#[test]
fn packets_in_the_clear_do_not_disturb_a_session() {
    let mut world = World::new(Akm::WpaEapSha256, 1, 26);
    assert!(world.run(2, |world| world.is_connected(1)));
    let key = transmit_key(&world, AP, station(1));
    let identity = [1, 9, 0, 5, 1];
    for pdu in [
        eapol::start(),
        vec![2, 2, 0, 0],
        eapol::of_eap(&[3, 9, 0, 4]),
        eapol::of_eap(&[4, 9, 0, 4]),
        eapol::of_eap(&identity),
    ] {
        for (from, to) in [(AP, station(1)), (station(1), AP)] {
            world.inject(from, from, to, ControlBody::Eapol(pdu.clone()));
            world.run(1, |world| world.air.is_empty());
        }
    }
    assert!(world.is_connected(1));
    assert_eq!(transmit_key(&world, AP, station(1)), key);
    assert_eq!(
        (world.server.accepted, world.plane(AP).count(Outcome::Established)),
        (1, 1)
    );
}
