//! Rogue access points: a host with an address of its own that advertises the link's name and answers before the genuine
//! access point. It has no credentials, so that only its unprotected frames count.

use wlan_eap::eapol;

use super::*;

const ROGUE: MacAddr = MacAddr([2, 0, 0, 0, 0, 0x66]);

/// A rogue access point that station 1 has chosen.
struct Rogue(frames::Writer);

impl Rogue {
    /// Lets the station choose the rogue, up to its Association Request.
    fn choosing(world: &mut World, akm: Akm) -> Self {
        let mut rogue = Self(frames::Writer::new(ROGUE));
        let advertised = beacons(akm, &[Suite::Gcmp256, Suite::Ccmp128]);
        rogue.send(world, advertised.probe_response(Duration::ZERO));
        rogue.send(
            world,
            Body::Authentication {
                algorithm: 0,
                transaction: 2,
                status: 0,
                rest: &frames::cookie(&[7; 16]),
            },
        );
        assert_eq!(world.sta(1).access_point, Some(ROGUE));
        rogue
    }

    fn send(&mut self, world: &mut World, body: Body<'_>) {
        let frame = self.0.frame(station(1), ROGUE, body);
        world.inject(ROGUE, ROGUE, station(1), ControlBody::Management(frame));
    }

    fn answer_association(&mut self, world: &mut World, status: u16) {
        self.send(
            world,
            Body::AssociationResponse {
                capability: frames::CAPABILITY,
                status,
                aid: 0xc001,
                elements: &[],
            },
        );
    }
}

/// Runs for at most `for_s` seconds, in which the rogue acts at an interval. Returns the time until the station has joined the
/// genuine access point.
fn joined_after(
    world: &mut World,
    for_s: u64,
    every: Duration,
    mut act: impl FnMut(&mut World),
) -> Option<Duration> {
    let began = world.now;
    while world.now < began + Duration::from_secs(for_s) {
        act(world);
        if world.run_until(world.now + every, |world| world.is_connected(1)) {
            return Some(world.now - began);
        }
    }
    None
}

#[test]
fn a_rogue_that_asks_for_the_identity_for_ever_holds_a_station_for_90_seconds() {
    for akm in [Akm::WpaEap, Akm::WpaEapSha256] {
        // Just before the station gives up, and all the time.
        for every in [Duration::from_secs(25), Duration::from_millis(100)] {
            let mut world = World::new(akm, 1, 61);
            let mut rogue = Rogue::choosing(&mut world, akm);
            rogue.answer_association(&mut world, status::SUCCESS);
            let mut identifier = 0_u8;
            let took = joined_after(&mut world, 200, every, |world| {
                identifier = identifier.wrapping_add(1);
                let request = eapol::of_eap(&[1, identifier, 0, 5, 1]);
                world.inject(ROGUE, ROGUE, station(1), ControlBody::Eapol(request));
            });
            let took = took.unwrap_or_else(|| panic!("{}: {:?}", akm.name(), world.sta(1)));
            assert!(took < Duration::from_secs(91), "{}: {took:?}", akm.name());
            assert!(world.plane(station(1)).told("takes too long"));
        }
    }
}

#[test]
fn a_rogue_that_postpones_associations_holds_a_station_for_ten_seconds() {
    for akm in [Akm::WpaPskSha256, Akm::Owe, Akm::WpaEapSha256] {
        // Before each transmission, and all the time.
        for every in [Duration::from_millis(1500), Duration::from_millis(1)] {
            let mut world = World::new(akm, 1, 62);
            let mut rogue = Rogue::choosing(&mut world, akm);
            let took = joined_after(&mut world, 60, every, |world| {
                rogue.answer_association(world, status::REFUSED_TEMPORARILY);
            });
            let took = took.unwrap_or_else(|| panic!("{}: {:?}", akm.name(), world.sta(1)));
            assert!(took < Duration::from_secs(11), "{}: {took:?}", akm.name());
        }
    }
}
