//! An access point, its stations and the medium between them, in virtual time. This caller of the state machines also
//! checks their guarantees.

#![allow(dead_code)]

#[path = "../common/mod.rs"]
mod common;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub use common::TestRng;
use wlan_ciphers::{KeyId, Suite};
use wlan_frames::MacAddr;
use wlan_rsn::authenticator::Limits;
use wlan_rsn::{
    Akm, Association, Authenticator, Direction, Elements, Failure, GroupKey, Key, Output, PairwiseKey, Pmk,
    Policy, Protocol, Supplicant, Timing,
};

pub const AP: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 1]);
pub const STA: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 2]);

/// A PMK that requires no key derivation.
pub fn pmk(octet: u8) -> Pmk {
    Pmk::of_psk(Key::new(&[octet; 32]))
}

pub fn policy(suite: Suite) -> Policy {
    Policy::of(Protocol::Rsn, Akm::WpaPsk, suite)
}

/// A packet in flight.
#[derive(Debug, Clone)]
pub struct Flight {
    pub from: MacAddr,
    pub to: MacAddr,
    pub packet: Vec<u8>,
    /// The key that sealed the packet.
    pub key: Option<Key>,
}

/// The keys installed at one end of a link.
#[derive(Debug, Default)]
pub struct End {
    pub transmit: Option<(KeyId, Key)>,
    pub receive: Vec<(KeyId, Key)>,
    pub groups: BTreeMap<u8, Key>,
    pub integrity: BTreeMap<u8, Key>,
    /// Packet numbers of the group keys at their installation.
    pub rsc: u64,
    pub ipn: u64,
    pub is_established: bool,
    pub established: u32,
    pub failures: Vec<(Failure, bool)>,
    pub michael_failures: u32,
    /// All keys ever installed, with their use.
    history: Vec<(u8, Key)>,
}

impl End {
    /// Executes an output, and checks that no key is delivered twice for the same use.
    fn apply(&mut self, output: Output) {
        match output {
            Output::InstallPairwise { key: installed, .. } => {
                let PairwiseKey {
                    key_id,
                    key,
                    direction,
                    ..
                } = installed;
                self.once(direction as u8, &key);
                match direction {
                    Direction::Receive => self.receive.push((key_id, key)),
                    Direction::Transmit => self.transmit = Some((key_id, key)),
                }
            }
            Output::Retire { key, .. } => {
                let before = self.receive.len();
                self.receive.retain(|(_, known)| *known != key);
                assert_eq!(self.receive.len() + 1, before, "the retired key was installed");
                let in_use = self.transmit.as_ref().is_some_and(|(_, known)| *known == key);
                assert!(!in_use, "the retired key is not in use");
            }
            Output::InstallGroup { key: installed, .. } => {
                let GroupKey { key_id, key, rsc, .. } = installed;
                self.once(2, &key);
                self.rsc = rsc.get();
                self.groups.insert(key_id.get(), key);
            }
            Output::RetireGroup { key_id, .. } => {
                self.groups
                    .remove(&key_id.get())
                    .expect("the retired group key was installed");
            }
            Output::InstallIntegrity { key_id, key, ipn, .. } => {
                self.once(3, &key);
                self.ipn = ipn.get();
                self.integrity.insert(key_id.get(), key);
            }
            Output::Established { .. } => {
                self.is_established = true;
                self.established += 1;
                assert_eq!(
                    self.transmit.as_ref(),
                    self.receive.last(),
                    "one key for both directions"
                );
            }
            Output::Failed {
                reason,
                still_established,
                ..
            } => {
                self.failures.push((reason, still_established));
                if !still_established {
                    self.is_established = false;
                    self.transmit = None;
                    self.receive.clear();
                    self.groups.clear();
                    self.integrity.clear();
                }
            }
            Output::MichaelFailure { .. } => self.michael_failures += 1,
            Output::Send { .. } => unreachable!("sent"),
        }
    }

    fn once(&mut self, what: u8, key: &Key) {
        let entry = (what, key.clone());
        assert!(key.as_octets().iter().any(|&octet| octet != 0), "a key of zeros");
        assert!(!self.history.contains(&entry), "a key was installed twice");
        self.history.push(entry);
    }

    pub fn tk(&self) -> &Key {
        &self.transmit.as_ref().expect("a key for transmission").1
    }

    fn opens(&self, key: &Key) -> bool {
        self.receive.iter().any(|(_, known)| known == key)
    }
}

pub struct World {
    pub ap: Authenticator,
    pub stations: BTreeMap<MacAddr, Supplicant>,
    /// The access point's end of each link.
    pub ap_ends: BTreeMap<MacAddr, End>,
    /// The stations' ends.
    pub ends: BTreeMap<MacAddr, End>,
    /// The access point's own group keys. The last one is in use.
    pub group: Vec<(u8, Key)>,
    pub air: VecDeque<Flight>,
    /// All packets ever sent.
    pub sent: Vec<Flight>,
    pub now: Duration,
    pub rng: TestRng,
    pub elements: Elements,
}

impl World {
    /// Creates an access point without stations.
    pub fn new(elements: Elements) -> World {
        World::with_limits(elements, Limits::default())
    }

    pub fn with_limits(elements: Elements, limits: Limits) -> World {
        let mut rng = TestRng(1);
        let ap = Authenticator::new(AP, elements.clone(), Timing::default(), limits, &mut rng).unwrap();
        let mut world = World {
            ap,
            stations: BTreeMap::new(),
            ap_ends: BTreeMap::new(),
            ends: BTreeMap::new(),
            group: Vec::new(),
            air: VecDeque::new(),
            sent: Vec::new(),
            now: Duration::ZERO,
            rng,
            elements,
        };
        world.collect();
        world
    }

    /// Creates an access point and one station with this policy, and starts the handshake.
    pub fn of(policy: &Policy) -> World {
        let elements = Elements::of(policy);
        let mut world = World::new(elements.clone());
        world.join(STA, &elements, &pmk(7), &pmk(7));
        world
    }

    /// Associates a station, with its PMK and the access point's.
    pub fn join(&mut self, station: MacAddr, elements: &Elements, its: &Pmk, ours: &Pmk) {
        let association = Association::negotiate(&self.elements, elements).unwrap();
        let mut supplicant =
            Supplicant::new(station, AP, association, its.clone(), Timing::default()).unwrap();
        supplicant.start(self.now, &mut self.rng);
        self.stations.insert(station, supplicant);
        self.ends.insert(station, End::default());
        self.ap
            .start(station, elements, ours, self.now, &mut self.rng)
            .unwrap();
        self.collect();
    }

    /// Executes the outputs of all state machines.
    pub fn collect(&mut self) {
        while let Some(output) = self.ap.poll_output() {
            let peer = peer_of(&output);
            match output {
                Output::Send { to, packet, sealed } => {
                    let end = self.ap_ends.entry(to).or_default();
                    let key = sealed.then(|| end.tk().clone());
                    self.fly(Flight {
                        from: AP,
                        to,
                        packet,
                        key,
                    });
                }
                Output::InstallGroup { key, .. } => self.group.push((key.key_id.get(), key.key)),
                Output::InstallIntegrity { .. } => {}
                output => self.ap_ends.entry(peer).or_default().apply(output),
            }
        }
        for (&from, station) in &mut self.stations {
            let end = self.ends.entry(from).or_default();
            while let Some(output) = station.poll_output() {
                match output {
                    Output::Send { to, packet, sealed } => {
                        let key = sealed.then(|| end.tk().clone());
                        let flight = Flight {
                            from,
                            to,
                            packet,
                            key,
                        };
                        self.sent.push(flight.clone());
                        self.air.push_back(flight);
                    }
                    output => end.apply(output),
                }
            }
            assert_eq!(station.is_established(), end.is_established);
        }
    }

    fn fly(&mut self, flight: Flight) {
        self.sent.push(flight.clone());
        self.air.push_back(flight);
    }

    /// Delivers a packet. It is opened if the receiver has its key, and lost otherwise.
    pub fn deliver(&mut self, flight: &Flight) -> Option<Result<(), wlan_rsn::Discard>> {
        let sealed = flight.key.is_some();
        let (now, rng) = (self.now, &mut self.rng);
        let outcome = if flight.to == AP {
            let end = self.ap_ends.entry(flight.from).or_default();
            if flight.key.as_ref().is_some_and(|key| !end.opens(key)) {
                return None;
            }
            self.ap.receive(flight.from, &flight.packet, sealed, now, rng)
        } else {
            let end = self.ends.entry(flight.to).or_default();
            if flight.key.as_ref().is_some_and(|key| !end.opens(key)) {
                return None;
            }
            let station = self.stations.get_mut(&flight.to)?;
            station.receive(&flight.packet, sealed, now, rng)
        };
        self.collect();
        Some(outcome)
    }

    /// Delivers all packets in order, including the packets sent in response.
    pub fn run(&mut self) {
        while let Some(flight) = self.air.pop_front() {
            let _ = self.deliver(&flight);
        }
    }

    /// Removes and returns the next packet in flight.
    pub fn next(&mut self) -> Flight {
        self.air.pop_front().expect("a packet is on its way")
    }

    /// Advances the time to the next deadline. Returns false if there is none.
    pub fn wait(&mut self) -> bool {
        let stations = self.stations.values();
        let deadlines = stations.map(|station| station.next_timeout(self.now));
        let Some(next) = deadlines.chain([self.ap.next_timeout(self.now)]).flatten().min() else {
            return false;
        };
        self.now = self.now.max(next);
        self.ap.timeout(self.now);
        for station in self.stations.values_mut() {
            station.timeout(self.now);
        }
        self.collect();
        true
    }

    /// Runs until no deadline is left and no packet is in flight.
    pub fn settle(&mut self) {
        for _ in 0..1000 {
            self.run();
            if !self.wait() {
                return;
            }
        }
        panic!("the state machines do not come to rest");
    }

    /// Whether both ends of a station's link have the same keys.
    pub fn agrees(&self, station: MacAddr) -> bool {
        let (Some(ap), Some(end)) = (self.ap_ends.get(&station), self.ends.get(&station)) else {
            return false;
        };
        let (id, group) = self.group.last().expect("the access point has a group key");
        ap.is_established
            && end.is_established
            && ap.transmit == end.transmit
            && end.groups.get(id) == Some(group)
    }

    /// Whether both ends could decrypt each other's data.
    pub fn data_flows(&self, station: MacAddr) -> bool {
        let (ap, end) = (&self.ap_ends[&station], &self.ends[&station]);
        let one_way = |from: &End, to: &End| {
            let (key_id, key) = from.transmit.as_ref().expect("a key for transmission");
            to.receive.contains(&(*key_id, key.clone()))
        };
        one_way(ap, end) && one_way(end, ap)
    }
}

fn peer_of(output: &Output) -> MacAddr {
    match output {
        Output::Send { to, .. } => *to,
        Output::InstallPairwise { peer, .. }
        | Output::Retire { peer, .. }
        | Output::InstallGroup { peer, .. }
        | Output::RetireGroup { peer, .. }
        | Output::InstallIntegrity { peer, .. }
        | Output::Established { peer }
        | Output::Failed { peer, .. }
        | Output::MichaelFailure { peer } => *peer,
    }
}
