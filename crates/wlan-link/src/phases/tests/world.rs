//! A world in virtual time: both ends of links, their data planes and the channel between them.

#[path = "../../../../wlan-rsn/tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::time::Duration;

pub use common::TestRng;
use rand_core::Rng;
use wlan_bss::Beacons;
use wlan_bss::elements::of_request;
use wlan_ciphers::PacketNumber;
use wlan_frames::management::{Body, Management};
use wlan_rsn::{Direction, psk};

use wlan_eap::{Secret, peer};

use super::super::*;
use super::radius_server::{CA, CLIENT, RadiusServer, SECRET, SERVER_NAME};
use crate::plane::{ControlBody, ControlFrame};

pub const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xa0]);
pub const SSID: &[u8] = b"office";

pub fn station(last: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, last])
}

pub fn credentials(akm: Akm, passphrase: &str) -> Credentials {
    match akm {
        Akm::Sae => {
            let password = Password::new(SSID, passphrase.as_bytes(), None, &GROUPS).unwrap();
            Credentials::Sae(Arc::new(password))
        }
        Akm::Owe => Credentials::Owe,
        Akm::WpaEap | Akm::WpaEapSha256 => Credentials::Eap(akm),
        // Skips PBKDF2, which is slow and has its own tests.
        _ => {
            let mut key = [0; psk::PSK_LEN];
            key[..passphrase.len()].copy_from_slice(passphrase.as_bytes());
            Credentials::Psk(Pmk::of_psk(Key::new(&key)))
        }
    }
}

pub fn settings(address: MacAddr, akm: Akm, passphrase: &str) -> Settings {
    Settings {
        ssid: SSID.to_vec(),
        address,
        kind: Kind::Ip,
        ciphers: vec![Suite::Gcmp256, Suite::Ccmp128],
        credentials: credentials(akm, passphrase),
        rekey_after: Duration::from_secs(3600),
        rekey_packets: 1 << 40,
        keep_alive: Duration::from_secs(10),
    }
}

/// The elements of an Association Request that chooses this cipher, and `more`.
pub fn request(akm: Akm, cipher: Suite, more: &[u8]) -> Vec<u8> {
    let network = settings(AP, akm, "x").network(&[cipher], Suite::Gcmp256);
    of_request(&network, true, more)
}

/// The advertisements of an access point that offers these ciphers.
pub fn beacons(akm: Akm, ciphers: &[Suite]) -> Beacons {
    let network = settings(AP, akm, "x").network(ciphers, ciphers[0]);
    Beacons::new(AP, &network, 1000, &frames::link(Kind::Ip), None).unwrap()
}

pub fn ap_settings(akm: Akm) -> ApSettings {
    let prefixes = ["192.0.2.1/24".parse().unwrap(), "2001:db8::1/64".parse().unwrap()];
    ApSettings {
        common: settings(AP, akm, "correct horse"),
        beacons_to: Some(Endpoint::Ethernet(MacAddr::BROADCAST)),
        addressing: Addressing::new(&prefixes, true),
        stations: 2007,
        rekey_group_after: Duration::from_secs(86_400),
        radius: akm.is_eap().then(|| RadiusSettings {
            secret: Secret::new(SECRET.to_vec().into()),
            nas_identifier: "office".into(),
            framed_mtu_b: 1400,
            authenticate_after: None,
        }),
    }
}

pub fn sta_settings(last: u8, akm: Akm) -> StaSettings {
    StaSettings {
        common: settings(station(last), akm, "correct horse"),
        probes_to: Endpoint::Ethernet(MacAddr::BROADCAST),
        bssid: None,
        eap: akm.is_eap().then(|| eap_settings(CA, SERVER_NAME, CLIENT)),
    }
}

pub fn eap_settings(ca: &[u8], name: &str, client: &[u8]) -> Arc<peer::Settings> {
    Arc::new(peer::Settings {
        method: peer::Method::Tls,
        identity: b"station@airtoll.example".to_vec(),
        anonymous_identity: None,
        tls: peer::Tls::new(ca, name, Some((client, client))).unwrap(),
    })
}

/// The keys and addresses that an end has installed, in place of its data plane.
#[derive(Default, Debug)]
pub struct Plane {
    pub peers: BTreeMap<MacAddr, Peer>,
    pub events: Vec<Event>,
    pub assigned: Vec<Prefix>,
    /// All transmit keys that were ever installed.
    pub used: Vec<(MacAddr, Key)>,
    /// The installed group keys by key identifier, with the packet number after which each starts.
    pub groups: BTreeMap<u8, (Key, PacketNumber)>,
    /// The group keys in the order of their installation; at a station, those of its session.
    pub group_keys: Vec<(u8, Key)>,
    /// Packet numbers used of the access point's group key.
    pub group_used: u64,
}

#[derive(Default, Debug)]
pub struct Peer {
    pub transmit: Option<(KeyId, Key)>,
    pub receive: BTreeMap<u8, Key>,
    pub received: u64,
    pub used: u64,
}

impl Plane {
    pub fn count(&self, outcome: Outcome) -> usize {
        self.events
            .iter()
            .filter(|event| event.outcome == outcome)
            .count()
    }

    pub fn told(&self, text: &str) -> bool {
        self.events.iter().any(|event| event.text.contains(text))
    }

    fn traffic(&self) -> Vec<Traffic> {
        let each = self.peers.iter().map(|(&peer, of)| Traffic {
            peer,
            received: of.received,
            packet_numbers_used: of.used,
        });
        each.collect()
    }
}

/// A frame in flight.
#[derive(Clone, Debug)]
pub struct Flight {
    pub at: Duration,
    pub order: u64,
    pub from: MacAddr,
    /// Where the frame comes from: over this transport, the address of an interface.
    pub endpoint: MacAddr,
    /// The interface that receives the frame; all of them if `None`.
    pub to: Option<MacAddr>,
    pub body: ControlBody,
    pub key: Option<(KeyId, Key)>,
}

/// Impairments of the channel, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Channel {
    pub lost: u32,
    pub doubled: u32,
    pub damaged: u32,
    pub delay_ms: u32,
}

/// All ends and the channel between them.
pub struct World {
    pub ends: BTreeMap<MacAddr, (End, Plane)>,
    pub air: Vec<Flight>,
    /// Frames to interfaces that belong to no end.
    pub elsewhere: Vec<Flight>,
    pub now: Duration,
    /// Offset of the ends' clocks.
    pub jump: Duration,
    pub rng: TestRng,
    pub channel: Channel,
    pub order: u64,
    /// Number of times that the access point's timers were served.
    pub wakes: u64,
    pub cut: bool,
    pub server: RadiusServer,
    pub server_is_up: bool,
}

impl World {
    pub fn new(akm: Akm, stations: u8, seed: u64) -> Self {
        let mut world = Self {
            ends: BTreeMap::new(),
            air: Vec::new(),
            elsewhere: Vec::new(),
            now: Duration::ZERO,
            jump: Duration::ZERO,
            rng: TestRng(seed),
            channel: Channel::default(),
            order: 0,
            wakes: 0,
            cut: false,
            server: RadiusServer::default(),
            server_is_up: true,
        };
        world.start_ap(akm);
        for last in 1..=stations {
            world.start_sta(last, sta_settings(last, akm));
        }
        world
    }

    pub fn start_ap(&mut self, akm: Akm) {
        let ap = AccessPoint::new(ap_settings(akm), &mut self.rng).unwrap();
        self.ends.insert(AP, (End::Ap(Box::new(ap)), Plane::default()));
    }

    pub fn start_sta(&mut self, last: u8, settings: StaSettings) {
        let end = End::Sta(Box::new(Station::new(settings)));
        self.ends.insert(station(last), (end, Plane::default()));
    }

    pub fn plane(&self, address: MacAddr) -> &Plane {
        &self.ends[&address].1
    }

    pub fn ap(&mut self) -> &mut AccessPoint {
        match &mut self.ends.get_mut(&AP).unwrap().0 {
            End::Ap(ap) => ap,
            End::Sta(_) => unreachable!(),
        }
    }

    pub fn sta(&self, last: u8) -> StaState {
        match &self.ends[&station(last)].0 {
            End::Sta(station) => station.state(),
            End::Ap(_) => unreachable!(),
        }
    }

    /// Performs the pending actions of an end.
    pub fn settle(&mut self, address: MacAddr) {
        let (end, plane) = self.ends.get_mut(&address).unwrap();
        let mut out = Vec::new();
        while let Some(action) = end.poll_action() {
            let transmit = |peer: &MacAddr| plane.peers.get(peer).and_then(|peer| peer.transmit.clone());
            match action {
                Action::Management { to, protected, frame } => {
                    let parsed = Management::parse(&frame);
                    let da = MacAddr(frame[4..10].try_into().unwrap());
                    let key = if protected { transmit(&da) } else { None };
                    if protected && key.is_none() {
                        continue;
                    }
                    assert!(parsed.is_ok() || wlan_frames::beacon::Beacon::parse(&frame).is_ok());
                    let to = match to {
                        Endpoint::Ethernet(to) if to == MacAddr::BROADCAST => None,
                        Endpoint::Ethernet(to) => Some(to),
                        Endpoint::Udp(_) => unreachable!(),
                    };
                    out.push((to, ControlBody::Management(frame), key));
                }
                Action::Eapol {
                    peer,
                    to,
                    protected,
                    pdu,
                } => {
                    let key = if protected { transmit(&peer) } else { None };
                    assert!(!protected || key.is_some(), "no key protects the rekey");
                    let to = match to {
                        // The data plane knows where the peer is now.
                        _ if protected => peer,
                        Endpoint::Ethernet(to) => to,
                        Endpoint::Udp(_) => unreachable!(),
                    };
                    out.push((Some(to), ControlBody::Eapol(pdu), key));
                }
                Action::Admit { peer, .. } => {
                    plane.peers.insert(peer, Peer::default());
                }
                Action::Install { peer, key: new } => {
                    let PairwiseKey {
                        key_id,
                        key,
                        direction,
                        ..
                    } = new;
                    let of = plane.peers.get_mut(&peer).expect("the peer was admitted");
                    match direction {
                        Direction::Receive => {
                            of.receive.insert(key_id.get(), key);
                        }
                        Direction::Transmit => {
                            let entry = (peer, key.clone());
                            assert!(!plane.used.contains(&entry), "a transmit key was installed twice");
                            plane.used.push(entry);
                            of.transmit = Some((key_id, key));
                            of.used = 0;
                        }
                    }
                }
                Action::Retire { peer, key } => {
                    let of = plane.peers.get_mut(&peer).expect("the peer was admitted");
                    of.receive.retain(|_, installed| *installed != key);
                }
                Action::InstallGroup { peer, key: new } => {
                    let GroupKey { key_id, key, rsc, .. } = new;
                    let entry = (key_id.get(), key.clone());
                    assert!(
                        !plane.group_keys.contains(&entry),
                        "a group key was installed twice"
                    );
                    plane.group_keys.push(entry);
                    plane.groups.insert(key_id.get(), (key, rsc));
                    plane.group_used = 0;
                    assert_eq!(peer, AP);
                }
                Action::RetireGroup { key_id, .. } => {
                    let retired = plane.groups.remove(&key_id.get());
                    retired.expect("the group key was installed");
                }
                Action::Remove { peer } => {
                    plane.peers.remove(&peer).expect("the peer was admitted");
                    // A station that returns may get the same key, with its packet number.
                    if peer == AP {
                        plane.groups.clear();
                        plane.group_keys.clear();
                    }
                }
                Action::Assign(addresses) => {
                    plane.assigned.clone_from(&addresses);
                    end.note_assigned(Ok(addresses));
                }
                Action::Radius(datagram) => {
                    if self.server_is_up {
                        let answer = self.server.answer(&datagram);
                        end.radius(&answer, self.now + self.jump, &mut self.rng);
                    }
                }
                Action::Tell(event) => plane.events.push(event),
            }
        }
        for (to, body, key) in out {
            self.send(address, to, body, key);
        }
    }

    fn send(&mut self, from: MacAddr, to: Option<MacAddr>, body: ControlBody, key: Option<(KeyId, Key)>) {
        let chance = |rng: &mut TestRng, hundredths: u32| rng.next_u32() % 100 < hundredths;
        if self.cut || chance(&mut self.rng, self.channel.lost) {
            return;
        }
        let copies = 1 + u32::from(chance(&mut self.rng, self.channel.doubled));
        for _ in 0..copies {
            let delay = 200 + self.rng.next_u64() % (1 + u64::from(self.channel.delay_ms) * 1000);
            let mut body = body.clone();
            // A damaged sealed frame cannot be opened, which is the same as a loss.
            if key.is_none() && chance(&mut self.rng, self.channel.damaged) {
                let (ControlBody::Eapol(octets) | ControlBody::Management(octets)) = &mut body;
                let at = self.rng.next_u32() as usize % octets.len();
                octets[at] ^= 1 << (self.rng.next_u32() % 8);
            }
            self.order += 1;
            self.air.push(Flight {
                at: self.now + Duration::from_micros(delay),
                order: self.order,
                from,
                endpoint: from,
                to,
                body,
                key: key.clone(),
            });
        }
    }

    pub fn deliver(&mut self, flight: &Flight) {
        if flight.to.is_some_and(|to| !self.ends.contains_key(&to)) {
            self.elsewhere.push(flight.clone());
        }
        let all: Vec<MacAddr> = self.ends.keys().copied().collect();
        for address in all {
            if address == flight.from || flight.to.is_some_and(|to| to != address) {
                continue;
            }
            let (end, plane) = self.ends.get_mut(&address).unwrap();
            if let Some((key_id, key)) = &flight.key {
                let Some(peer) = plane.peers.get_mut(&flight.from) else {
                    let from = Endpoint::Ethernet(flight.endpoint);
                    end.stranger(flight.from, from, self.now + self.jump);
                    self.settle(address);
                    continue;
                };
                if peer.receive.get(&key_id.get()) != Some(key) {
                    continue;
                }
                peer.received += 1;
            }
            let frame = ControlFrame {
                transmitter: flight.from,
                endpoint: Endpoint::Ethernet(flight.endpoint),
                protected: flight.key.is_some(),
                body: flight.body.clone(),
            };
            let now = self.now + self.jump;
            end.note_group_packets(plane.group_used);
            end.receive(&frame, now, &mut self.rng);
            self.settle(address);
        }
    }

    /// Advances time by at most `for_s` seconds. Returns whether `done` became true.
    pub fn run(&mut self, for_s: u64, done: impl FnMut(&mut Self) -> bool) -> bool {
        self.run_until(self.now + Duration::from_secs(for_s), done)
    }

    /// Advances time, at most to `until`. Returns whether `done` became true.
    pub fn run_until(&mut self, until: Duration, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let mut rounds = 0;
        while self.now < until {
            rounds += 1;
            assert!(rounds < 100_000, "a state machine does not advance time");
            if done(self) {
                return true;
            }
            let next_flight = self.air.iter().map(|flight| (flight.at, flight.order)).min();
            let next_timer = self.ends.values().map(|(end, _)| end.next_timeout());
            let next_timer = next_timer.min().map_or(until, |at| at.saturating_sub(self.jump));
            match next_flight {
                Some((at, order)) if at <= next_timer => {
                    self.now = self.now.max(at);
                    let n = self.air.iter().position(|flight| flight.order == order).unwrap();
                    let flight = self.air.swap_remove(n);
                    self.deliver(&flight);
                }
                _ => {
                    self.now = next_timer.max(self.now).min(until);
                    let now = self.now + self.jump;
                    let all: Vec<MacAddr> = self.ends.keys().copied().collect();
                    for address in all {
                        let (end, plane) = self.ends.get_mut(&address).unwrap();
                        if end.next_timeout() <= now {
                            self.wakes += u64::from(matches!(end, End::Ap(_)));
                            end.note_group_packets(plane.group_used);
                            end.observe(&plane.traffic(), now, &mut self.rng);
                            end.timeout(now, &mut self.rng);
                        }
                        self.settle(address);
                    }
                }
            }
        }
        done(self)
    }

    /// Whether a station and the access point have matching keys, and the station has its addresses.
    pub fn is_connected(&self, last: u8) -> bool {
        let (ap, sta) = (self.plane(AP), self.plane(station(last)));
        let (Some(there), Some(here)) = (ap.peers.get(&station(last)), sta.peers.get(&AP)) else {
            return false;
        };
        let fits = |from: &Peer, to: &Peer| {
            let fit = |(key_id, key): &(KeyId, Key)| to.receive.get(&key_id.get()) == Some(key);
            from.transmit.as_ref().is_some_and(fit)
        };
        fits(there, here) && fits(here, there) && self.sta(last).connected && sta.assigned.len() == 2
    }

    /// Whether a station can open the group addressed frames of the access point.
    pub fn opens_group(&self, last: u8) -> bool {
        let (key_id, key) = self
            .plane(AP)
            .group_keys
            .last()
            .expect("the access point has a group key");
        let here = self.plane(station(last)).groups.get(key_id);
        here.is_some_and(|(known, _)| known == key)
    }

    /// Sends a packet of a station's host. To the state machines, it is any sealed frame.
    pub fn talk(&mut self, last: u8) {
        let own = station(last);
        let key = self.plane(own).peers[&AP].transmit.clone();
        let mut writer = frames::Writer::new(own);
        let body = Body::Action {
            category: 126,
            rest: &[],
        };
        let body = ControlBody::Management(writer.frame(AP, AP, body));
        self.send(own, Some(AP), body, key);
    }

    /// A management frame in the name of `claimed`, which arrives at once from the interface with that address.
    pub fn forge(&mut self, claimed: MacAddr, to: MacAddr, body: Body<'_>) {
        self.forge_from(claimed, claimed, to, body);
    }

    /// A management frame in the name of `claimed`, which arrives at once from the interface `endpoint`.
    pub fn forge_from(&mut self, endpoint: MacAddr, claimed: MacAddr, to: MacAddr, body: Body<'_>) {
        let bssid = AP;
        let frame = Management {
            da: to,
            sa: claimed,
            bssid,
            sequence: 1,
            retry: false,
            protected: false,
            body,
        };
        let mut octets = frame.to_vec();
        octets.resize(octets.len().max(46), 0);
        self.inject(endpoint, claimed, to, ControlBody::Management(octets));
    }

    /// An unprotected frame in the name of `claimed`, which arrives at once from the interface `endpoint`.
    pub fn inject(&mut self, endpoint: MacAddr, claimed: MacAddr, to: MacAddr, body: ControlBody) {
        let flight = Flight {
            at: self.now,
            order: 0,
            from: claimed,
            endpoint,
            to: Some(to),
            body,
            key: None,
        };
        self.deliver(&flight);
    }
}
