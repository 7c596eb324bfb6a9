//! An access point and several stations on a medium that loses nothing.

use std::time::Duration;

use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use wlan_bss::{AccessPoint, Beacons, Capabilities, End, Event, Failure, Network, Security, Station};
use wlan_ciphers::Suite;
use wlan_frames::beacon::{CAPABILITY_ESS, CAPABILITY_QOS};
use wlan_frames::management::{AID_BITS, Body, status};
use wlan_frames::{MacAddr, Management};
use wlan_rsn::{Akm, Group, Key, ManagementProtection};

const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const SSID: &[u8] = b"air";
const PASSPHRASE: &[u8] = b"correct horse battery";

const DISABLED: ManagementProtection = ManagementProtection {
    is_capable: false,
    is_required: false,
    of_beacons: false,
};
const OPTIONAL: ManagementProtection = ManagementProtection {
    is_capable: true,
    ..DISABLED
};
const REQUIRED: ManagementProtection = ManagementProtection {
    is_required: true,
    ..OPTIONAL
};

fn address(station: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 1, station])
}

fn network(akms: &[Akm], management: ManagementProtection) -> Network {
    let security = Security::of(
        Suite::Ccmp128,
        akms,
        [SSID, PASSPHRASE],
        &[Group::P256],
        management,
    );
    Network {
        security: Some(security.unwrap()),
        ..open()
    }
}

fn open() -> Network {
    Network {
        ssid: SSID.to_vec(),
        capabilities: Capabilities {
            information: CAPABILITY_ESS | CAPABILITY_QOS,
            elements: vec![1, 3, 0x8c, 0x98, 0xb0],
        },
        security: None,
    }
}

/// Every frame reaches every end, at once.
struct World {
    access_point: AccessPoint,
    stations: Vec<Station>,
    now: Duration,
    /// All frames, in the order in which they were sent.
    frames: Vec<Vec<u8>>,
    /// The events of the access point, and of each station.
    events: Vec<Vec<(MacAddr, Event)>>,
    /// The packets for the hosts of the same ends.
    packets: Vec<Vec<Vec<u8>>>,
}

impl World {
    fn new(network: Network, bigtk: Option<Key>) -> Self {
        let beacons = Beacons::new(AP, &network, 100, &[], bigtk).unwrap();
        Self {
            access_point: AccessPoint::new(network, beacons, &mut UnwrapErr(SysRng)).unwrap(),
            stations: Vec::new(),
            now: Duration::ZERO,
            frames: Vec::new(),
            events: vec![Vec::new()],
            packets: vec![Vec::new()],
        }
    }

    fn add(&mut self, address: MacAddr, network: Network) {
        let mut station = Station::new(address, network);
        station.probe();
        self.stations.push(station);
        self.events.push(Vec::new());
        self.packets.push(Vec::new());
        self.settle();
    }

    fn ends(&mut self) -> impl Iterator<Item = &mut End> {
        let stations = self.stations.iter_mut().map(|station| &mut station.end);
        std::iter::once(&mut self.access_point.end).chain(stations)
    }

    /// Carries frames until no end sends any more.
    fn settle(&mut self) {
        let rng = &mut UnwrapErr(SysRng);
        loop {
            let outputs: Vec<_> = self.ends().map(End::take_output).collect();
            let mut frames = Vec::new();
            for (end, output) in outputs.into_iter().enumerate() {
                self.events[end].extend(output.events);
                self.packets[end].extend(output.packets);
                frames.extend(output.frames);
            }
            if frames.is_empty() {
                return;
            }
            for mpdu in frames {
                self.now += Duration::from_micros(100);
                self.access_point.receive(self.now, &mpdu, rng);
                for station in &mut self.stations {
                    station.receive(self.now, &mpdu, rng);
                }
                self.frames.push(mpdu);
            }
        }
    }

    /// Serves the timers of the access point.
    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now = self.access_point.next_timeout(self.now).clamp(self.now, until);
            self.access_point.timeout(self.now);
            self.settle();
        }
    }

    /// Sends a packet from the host of an end to an address; returns the ends that receive it.
    fn receivers(&mut self, from: usize, to: MacAddr) -> Vec<usize> {
        let source = if from == 0 { AP } else { self.address_of(from) };
        let packet = [&to.0[..], &source.0, &[0x08, 0x00], b"payload"].concat();
        self.ends().nth(from).unwrap().packet(&packet);
        self.settle();
        let received = self.packets.iter_mut().map(std::mem::take);
        let is_heard = received.map(|packets| packets == [packet.clone()]);
        is_heard
            .enumerate()
            .filter_map(|(end, heard)| heard.then_some(end))
            .collect()
    }

    fn address_of(&self, end: usize) -> MacAddr {
        address(u8::try_from(end).unwrap())
    }

    fn is_established(&self, end: usize) -> bool {
        self.events[end]
            .iter()
            .any(|(_, event)| *event == Event::Established)
    }

    fn failures(&self, end: usize) -> Vec<&Failure> {
        let failures = self.events[end].iter().filter_map(|(_, event)| match event {
            Event::Failed(why) => Some(why),
            _ => None,
        });
        failures.collect()
    }
}

/// A world with this network and two stations that have joined.
fn joined(network: Network, bigtk: Option<Key>) -> World {
    let mut world = World::new(network.clone(), bigtk);
    for station in 1..=2 {
        world.add(address(station), network.clone());
    }
    for end in 0..=2 {
        assert!(world.is_established(end), "{:?}", world.events);
    }
    world
}

fn assert_exchange(world: &mut World) {
    assert_eq!(world.receivers(0, address(1)), [1]);
    assert_eq!(world.receivers(0, address(2)), [2]);
    assert_eq!(world.receivers(1, AP), [0]);
    assert_eq!(world.receivers(2, AP), [0]);
    assert_eq!(world.receivers(0, MacAddr::BROADCAST), [1, 2]);
}

#[test]
fn an_access_point_exchanges_packets_with_each_of_its_stations_across_rekeys() {
    for akm in [Akm::WpaPsk, Akm::WpaPskSha256, Akm::Sae, Akm::Owe] {
        let mut world = joined(network(&[akm], REQUIRED), None);
        let key = |end: &End, peer| end.pairwise_key(peer).unwrap().1.key().clone();
        let keys = [1, 2].map(|station| key(&world.access_point.end, address(station)));
        assert!(keys[0] != keys[1]);
        assert_exchange(&mut world);
        let rng = &mut UnwrapErr(SysRng);
        world.access_point.rekey_pairwise(address(1), world.now, rng);
        world.settle();
        world.access_point.rekey_group(world.now, rng);
        world.settle();
        assert!(key(&world.access_point.end, address(1)) != keys[0]);
        assert!(key(&world.access_point.end, address(2)) == keys[1]);
        assert_exchange(&mut world);
        for end in world.ends() {
            let counts = end.counts();
            assert_eq!((counts.unprotected, counts.replays), (0, 0));
        }
    }
}

#[test]
fn stations_of_an_open_network_exchange_packets() {
    let mut world = joined(open(), None);
    assert_exchange(&mut world);
    assert!(world.access_point.end.pairwise_key(address(1)).is_none());
}

#[test]
fn a_network_in_transition_mode_serves_stations_of_both_key_managements() {
    let mut world = World::new(network(&[Akm::WpaPsk, Akm::Sae], OPTIONAL), None);
    world.add(address(1), network(&[Akm::WpaPsk], DISABLED));
    world.add(address(2), network(&[Akm::Sae], OPTIONAL));
    let associated = world.events[0].iter().filter_map(|(peer, event)| match event {
        Event::Associated { akm, mfp, .. } => Some((*peer, akm.unwrap(), *mfp)),
        _ => None,
    });
    let expected = [(address(1), Akm::WpaPsk, false), (address(2), Akm::Sae, true)];
    assert!(associated.eq(expected));
    assert_exchange(&mut world);
}

#[test]
fn a_station_that_has_left_can_join_again_and_its_aid_is_reused() {
    let of_all = network(&[Akm::WpaPsk], DISABLED);
    let mut world = joined(of_all.clone(), None);
    world.stations[0].leave();
    world.settle();
    assert_eq!(world.receivers(0, address(1)), [0; 0]);
    assert_eq!(world.receivers(0, address(2)), [2]);
    world.add(address(3), of_all.clone());
    world.access_point.deauthenticate(address(2));
    world.settle();
    assert_eq!(world.failures(2), [&Failure::Ended(3)]);
    world.add(address(4), of_all);
    assert_eq!(world.receivers(0, address(3)), [3]);
    assert_eq!(world.receivers(0, address(4)), [4]);
    let aids = world
        .frames
        .iter()
        .filter_map(|mpdu| match Management::parse(mpdu) {
            Ok(Management {
                body: Body::AssociationResponse { aid, .. },
                ..
            }) => Some(aid & !AID_BITS),
            _ => None,
        });
    assert!(aids.eq([1, 2, 1, 2]));
}

/// 11.3.5.3, 11.13.
#[test]
fn forged_management_frames_end_no_association_with_protected_management_frames() {
    let of_all = network(&[Akm::WpaPsk], REQUIRED);
    let mut world = joined(of_all, None);
    let elements = &[][..];
    let reason = 3;
    for (sa, da) in [(AP, address(1)), (AP, MacAddr::BROADCAST), (address(1), AP)] {
        for body in [
            Body::Deauthentication { reason, elements },
            Body::Disassociation { reason, elements },
            Body::AssociationRequest {
                capability: 0,
                listen_interval: 1,
                elements,
            },
        ] {
            let frame = Management {
                da,
                sa,
                bssid: AP,
                sequence: 4000,
                retry: false,
                protected: false,
                body,
            };
            let mpdu = frame.to_vec();
            world
                .access_point
                .receive(world.now, &mpdu, &mut UnwrapErr(SysRng));
            world.stations[0].receive(world.now, &mpdu, &mut UnwrapErr(SysRng));
        }
    }
    world.settle();
    let refusals = world.frames.iter().filter(|mpdu| {
        let body = Management::parse(mpdu).map(|frame| frame.body);
        matches!(
            body,
            Ok(Body::AssociationResponse {
                status: status::REFUSED_TEMPORARILY,
                ..
            })
        )
    });
    assert_eq!(refusals.count(), 1);
    world.run(Duration::from_secs(2));
    let answered = world
        .stations
        .iter()
        .map(|station| station.end.counts().queries_answered);
    assert!(answered.eq([1, 0]));
    assert_exchange(&mut world);
}

/// 11.3.5.3, 11.13.
#[test]
fn a_station_that_has_lost_its_keys_joins_again_once_an_sa_query_has_no_answer() {
    for akm in [Akm::WpaPsk, Akm::Sae] {
        let of_all = network(&[akm], REQUIRED);
        let mut world = joined(of_all.clone(), None);
        let join_again = |world: &mut World| {
            world.events[1].clear();
            world.stations[0] = Station::new(address(1), of_all.clone());
            world.stations[0].probe();
            world.settle();
        };
        join_again(&mut world);
        let refusal = Failure::AssociationRefused(status::REFUSED_TEMPORARILY);
        assert_eq!(world.failures(1), [&refusal]);
        world.run(Duration::from_millis(1100));
        join_again(&mut world);
        assert!(world.is_established(1), "{:?}", world.events);
        assert_exchange(&mut world);
    }
}

#[test]
fn stations_verify_protected_beacons() {
    let of_all = network(&[Akm::Sae], REQUIRED);
    let mut world = joined(of_all, Some(Key::new(&[0x5a; 16])));
    for _ in 0..3 {
        world.now = world.access_point.next_timeout(world.now).max(world.now);
        world.access_point.timeout(world.now);
        world.settle();
    }
    let beacon = world.frames.last().unwrap().clone();
    let mut forged = beacon.clone();
    forged[40] ^= 1;
    for station in &mut world.stations {
        station.receive(world.now, &forged, &mut UnwrapErr(SysRng));
        station.receive(world.now, &beacon, &mut UnwrapErr(SysRng));
        let counts = station.end.counts();
        assert_eq!((counts.beacons_verified, counts.beacons_rejected), (3, 2));
    }
}
