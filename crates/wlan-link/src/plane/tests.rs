//! Two pipelines and a network in memory between them, which each test controls.

use std::cell::RefCell;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::time::Duration;

use getrandom::SysRng;
use rand_core::UnwrapErr;
use wlan_ciphers::{KeyId, PacketNumber, Suite};
use wlan_frames::{DataHeader, MacAddr};
use wlan_host::offload::VnetHeader;
use wlan_host::offload::packet::{ACK, Packet};
use wlan_host::offload::segment::SuperPacket;
use wlan_host::tun::{Offloads, Tun};
use wlan_rsn::{Direction, GroupKey, Key, PairwiseKey};

use super::counters::Counters;
use super::egress::Egress;
use super::endpoint::{Endpoint, Message, Outlet};
use super::ingress::Ingress;
use super::source::Source;
use super::table::{Network, Published, View};
use super::waiting::{ControlBody, Waiting};
use super::wire::{ETHERNET_B, End, Kind, Role, Tid};
use crate::phases::{AccessPoint, Action, Addressing, ApSettings, Credentials, Machine as _, Settings};

mod groups;
mod keys;
mod network;
mod observed;
mod workers;

const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const STATIONS: [MacAddr; 3] = [
    MacAddr([2, 0, 0, 0, 0, 2]),
    MacAddr([2, 0, 0, 0, 0, 3]),
    MacAddr([2, 0, 0, 0, 0, 4]),
];
const MPDU_B: usize = 1472;
const KEY: [u8; 32] = [7; 32];
const OTHER_KEY: [u8; 32] = [8; 32];
const GROUP_KEY: [u8; 32] = [9; 32];

/// Sent frames in order.
#[derive(Default)]
struct Sent {
    frames: RefCell<Vec<(Endpoint, Vec<u8>)>>,
    splits: bool,
    /// Whether the transport supports broadcast, as Ethernet does and UDP does not.
    broadcasts: bool,
}

impl Outlet for Sent {
    fn splits(&self) -> bool {
        self.splits
    }

    fn broadcast(&self) -> Option<Endpoint> {
        self.broadcasts.then_some(endpoint(MacAddr::BROADCAST))
    }

    fn send(&self, octets: &[u8], messages: &[Message]) -> usize {
        for message in messages {
            let octets = &octets[message.at..message.at + message.len_b];
            let frames = octets
                .chunks(message.segment_b)
                .map(|frame| (message.to, frame.to_vec()));
            self.frames.borrow_mut().extend(frames);
        }
        0
    }
}

/// An end without threads.
struct Pipeline {
    published: Arc<Published>,
    view: View,
    end: End,
    egress: Egress,
    relay: Egress,
    source: Source,
    tun: Tun,
    /// The host's side of the device.
    host: UnixDatagram,
    sent: Sent,
    counters: Counters,
    control: Waiting,
}

fn endpoint(address: MacAddr) -> Endpoint {
    Endpoint::Ethernet(address)
}

impl Pipeline {
    fn new(role: Role, address: MacAddr, kind: Kind, offloads: bool) -> Self {
        let end = End { role, address, kind };
        Self::worker(end, Tid::default(), Arc::default(), offloads)
    }

    /// A worker of an end with this table.
    fn worker(end: End, tid: Tid, published: Arc<Published>, offloads: bool) -> Self {
        let (host, device) = UnixDatagram::pair().unwrap();
        host.set_nonblocking(true).unwrap();
        Self {
            view: View::new(Arc::clone(&published)),
            published,
            end,
            egress: Egress::new(end, tid, MPDU_B),
            relay: Egress::new(end, tid, MPDU_B),
            source: Source::default(),
            tun: Tun::of(
                device,
                Offloads {
                    tcp: offloads,
                    udp: offloads,
                },
            ),
            host,
            sent: Sent {
                splits: true,
                ..Sent::default()
            },
            counters: Counters::default(),
            control: Waiting::new(8),
        }
    }

    fn admit(&self, peer: MacAddr, suite: Suite, networks: &[Network]) {
        self.published.admit(peer, endpoint(peer), networks).unwrap();
        self.install(peer, Direction::Transmit, 0, suite, &KEY);
        self.install(peer, Direction::Receive, 0, suite, &KEY);
    }

    fn install(&self, peer: MacAddr, direction: Direction, key_id: u8, suite: Suite, key: &[u8]) {
        let key = PairwiseKey {
            key_id: KeyId::new(key_id).unwrap(),
            suite,
            key: Key::new(&key[..suite.key_len()]),
            direction,
        };
        self.published.install(peer, key).unwrap();
    }

    fn install_group(&self, key_id: u8, suite: Suite, key: &[u8], after: u64) {
        let key = GroupKey {
            key_id: KeyId::new(key_id).unwrap(),
            suite,
            key: Key::new(&key[..suite.key_len()]),
            rsc: PacketNumber::new(after).unwrap(),
        };
        match self.end.role {
            Role::Ap => self.published.install_group_sealer(AP, key),
            Role::Sta => self.published.install_group_opener(AP, key),
        }
        .unwrap();
    }

    /// Sends a packet of the host. Returns the frames that leave.
    fn send(&mut self, vnet: VnetHeader, octets: &[u8]) -> Vec<Vec<u8>> {
        self.transmit(vnet, octets);
        self.left()
    }

    /// Sends a packet of the host.
    fn transmit(&mut self, vnet: VnetHeader, octets: &[u8]) {
        self.view.refresh();
        self.host.send(&[&vnet.emit(), octets].concat()).unwrap();
        let Self {
            source,
            tun,
            view,
            egress,
            sent,
            counters,
            ..
        } = self;
        assert!(
            source
                .read(tun, view.table(), egress, sent, &counters.outbound)
                .unwrap()
        );
        egress.flush(view.table(), sent, &counters.outbound);
    }

    fn left(&mut self) -> Vec<Vec<u8>> {
        self.sent
            .frames
            .take()
            .into_iter()
            .map(|(_, frame)| frame)
            .collect()
    }

    fn receive(&mut self, frames: &mut [Vec<u8>]) {
        self.receive_from(endpoint(AP), frames);
    }

    fn receive_from(&mut self, from: Endpoint, frames: &mut [Vec<u8>]) {
        self.view.refresh();
        let Self {
            end,
            view,
            relay,
            tun,
            sent,
            counters,
            control,
            ..
        } = self;
        let ingress = Ingress {
            end: *end,
            device: tun,
            outlet: sent,
            counters,
            control,
            mpdu_b: MPDU_B,
        };
        let frames = frames.iter_mut().map(|frame| (from, frame.as_mut_slice()));
        ingress.receive(view.table(), relay, frames);
    }

    /// The packets that the host received, with super-packets split.
    fn got(&self) -> Vec<Vec<u8>> {
        let ethernet_b = if self.end.kind == Kind::Ethernet {
            ETHERNET_B
        } else {
            0
        };
        let mut got = Vec::new();
        let mut buffer = vec![0; 70_000];
        while let Ok(len) = self.host.recv(&mut buffer) {
            let (vnet, octets) = buffer[..len].split_first_chunk().unwrap();
            let vnet = VnetHeader::parse(vnet).unwrap();
            if vnet.gso.is_none() {
                got.push(octets.to_vec());
                continue;
            }
            let vnet = super::source::shifted(vnet, |at| at.checked_sub(ethernet_b)).unwrap();
            let whole = SuperPacket::new(&vnet, &octets[ethernet_b..]).unwrap();
            for index in 0..whole.packets() {
                let mut packet = vec![0; whole.longest_b()];
                let packet_b = whole.write(index, &mut packet);
                got.push([&octets[..ethernet_b], &packet[..packet_b]].concat());
            }
        }
        got
    }
}

fn host_network(host: u8) -> Network {
    Network::new(std::net::Ipv4Addr::new(192, 0, 2, host).into(), 32).unwrap()
}

/// An access point and its stations 192.0.2.2, 192.0.2.3 and 192.0.2.4, with a pairwise and a group key.
fn bss(kind: Kind, suite: Suite, offloads: bool) -> (Pipeline, [Pipeline; 3]) {
    let ap = Pipeline::new(Role::Ap, AP, kind, offloads);
    ap.install_group(1, suite, &GROUP_KEY, 0);
    for (number, station) in (2..).zip(STATIONS) {
        ap.admit(station, suite, &[host_network(number)]);
    }
    let stations = STATIONS.map(|address| {
        let station = Pipeline::new(Role::Sta, address, kind, offloads);
        station.admit(AP, suite, &[]);
        station.install_group(1, suite, &GROUP_KEY, 0);
        station
    });
    (ap, stations)
}

/// A complete IPv4 packet between hosts 192.0.2.x.
fn packet(from: u8, to: u8, tag: u32, payload_b: usize) -> Vec<u8> {
    let mut octets = Packet {
        ipv6: false,
        tcp: true,
        traffic_class: 0,
        ttl: 64,
        id: 1,
        dont_fragment: true,
        ports: [1000, 2000],
        sequence: tag,
        acknowledgement: 0,
        flags: ACK,
        window: 100,
        options: Vec::new(),
        payload: vec![tag.to_le_bytes()[0]; payload_b],
    }
    .octets();
    // Updates the addresses and both checksums; the TCP checksum covers the addresses too.
    for (at, host) in [(12, from), (16, to)] {
        let old = wlan_host::offload::checksum::sum(&octets[at..at + 4]);
        octets[at..at + 4].copy_from_slice(&[192, 0, 2, host]);
        let new = wlan_host::offload::checksum::sum(&octets[at..at + 4]);
        for field in [10, 36] {
            let sum = !u16::from_be_bytes([octets[field], octets[field + 1]]);
            let sum =
                wlan_host::offload::checksum::add(wlan_host::offload::checksum::subtract(sum, old), new);
            octets[field..field + 2].copy_from_slice(&(!sum).to_be_bytes());
        }
    }
    octets
}

fn ethernet(from: MacAddr, to: MacAddr, payload: &[u8]) -> Vec<u8> {
    [&to.0[..], &from.0, &[8, 0], payload].concat()
}

fn plain() -> VnetHeader {
    VnetHeader::default()
}

#[test]
fn every_suite_carries_packets_both_ways_without_plaintext() {
    for suite in Suite::OF_TEMPORAL_KEYS {
        for kind in [Kind::Ip, Kind::Ethernet] {
            let (mut ap, [mut station, ..]) = bss(kind, suite, true);
            let (up, down) = match kind {
                Kind::Ip => (packet(2, 1, 5, 900), packet(1, 2, 6, 900)),
                Kind::Ethernet => (
                    ethernet(STATIONS[0], AP, &packet(2, 1, 5, 900)),
                    ethernet(AP, STATIONS[0], &packet(1, 2, 6, 900)),
                ),
            };
            let mut frames = station.send(plain(), &up);
            assert_eq!(frames.len(), 1);
            assert!(
                !frames[0].windows(16).any(|octets| octets == [5; 16]),
                "{suite:?} shows plaintext"
            );
            let header = DataHeader::parse(&frames[0]).unwrap();
            assert!(header.to_ds && header.protected && header.addr1 == AP && header.addr2 == STATIONS[0]);
            assert_eq!(header.sequence.number, 1);
            ap.receive(&mut frames);
            assert_eq!(ap.got(), [up], "{suite:?} {:?}", ap.counters.read());
            let mut frames = ap.send(plain(), &down);
            station.receive(&mut frames);
            assert_eq!(station.got(), [down]);
        }
    }
}

#[test]
fn stations_reach_each_other_and_all_stations_through_the_access_point() {
    for kind in [Kind::Ip, Kind::Ethernet] {
        let (mut ap, [mut a, mut b, mut c]) = bss(kind, Suite::Ccmp128, true);
        let across = packet(2, 3, 1, 100);
        let to_all = [
            &packet(2, 3, 2, 100)[..16],
            &[224, 0, 0, 251],
            &packet(2, 3, 2, 100)[20..],
        ]
        .concat();
        let (across, to_all) = match kind {
            Kind::Ip => (across, to_all),
            Kind::Ethernet => (
                ethernet(STATIONS[0], STATIONS[1], &across),
                ethernet(STATIONS[0], MacAddr::BROADCAST, &to_all),
            ),
        };
        ap.receive(&mut a.send(plain(), &across));
        let mut relayed = ap.left();
        assert_eq!((relayed.len(), ap.got().len()), (1, 0));
        b.receive(&mut relayed.clone());
        c.receive(&mut relayed);
        assert_eq!(b.got(), [across]);
        assert_eq!(c.got(), Vec::<Vec<u8>>::new());
        ap.receive(&mut a.send(plain(), &to_all));
        assert_eq!(ap.got(), std::slice::from_ref(&to_all));
        let relayed = ap.left();
        assert!(
            relayed.iter().all(|frame| *frame == relayed[0]),
            "one sealed frame"
        );
        assert_eq!(relayed.len(), 3, "to each station");
        for station in [&mut a, &mut b, &mut c] {
            station.receive(&mut relayed[..1].to_vec());
        }
        assert_eq!(
            (a.got().len(), b.got(), c.got()),
            (0, vec![to_all.clone()], vec![to_all])
        );
        assert_eq!(a.counters.read().inbound.echoed, 1);
    }
}

#[test]
fn a_station_cannot_use_the_address_of_another() {
    for kind in [Kind::Ip, Kind::Ethernet] {
        let (mut ap, [mut a, ..]) = bss(kind, Suite::Gcmp256, true);
        let forged = match kind {
            Kind::Ip => packet(3, 1, 1, 100),
            Kind::Ethernet => ethernet(STATIONS[1], AP, &packet(2, 1, 1, 100)),
        };
        ap.receive(&mut a.send(plain(), &forged));
        assert_eq!((ap.got().len(), ap.counters.read().inbound.spoofed), (0, 1));
    }
}

#[test]
fn invalid_frames_are_counted_and_dropped() {
    let (mut ap, [mut station, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    let good = station.send(plain(), &packet(2, 1, 1, 500)).remove(0);
    let changed = |change: fn(&mut Vec<u8>)| {
        let mut frame = good.clone();
        change(&mut frame);
        frame
    };
    let mut bad = vec![
        vec![],
        vec![0x88; 23],
        changed(|frame| frame.truncate(30)),
        changed(|frame| frame[60] ^= 1),
        changed(|frame| *frame.last_mut().unwrap() ^= 1),
        changed(|frame| frame[4] ^= 8),
        changed(|frame| frame[15] = 99),
        changed(|frame| frame[1] &= !0x40),
        changed(|frame| frame[29] |= 0x80),
        changed(|frame| frame[0] |= 3),
        changed(|frame| frame[1] ^= 3),
        changed(|frame| frame.truncate(40)),
    ];
    ap.receive(&mut bad);
    assert_eq!(ap.got().len(), 0);
    let counted = ap.counters.read().inbound;
    assert_eq!((counted.frames, counted.opened), (12, 0));
    assert_eq!((counted.truncated, counted.forged), (4, 2), "{counted:?}");
    assert_eq!((counted.not_for_us, counted.unknown_transmitter), (1, 1));
    let mut stranger = STATIONS[0];
    stranger.0[5] = 99;
    assert_eq!(ap.control.strangers().as_slice(), [(stranger, endpoint(AP))]);
    assert_eq!(
        (counted.unprotected, counted.no_key, counted.bad_header),
        (1, 1, 2)
    );
    // No bad frame moved the replay window.
    ap.receive(&mut [good.clone(), good.clone()]);
    ap.receive(&mut [good]);
    assert_eq!((ap.got().len(), ap.counters.read().inbound.replayed), (1, 2));
}

#[test]
fn an_msdu_is_not_accepted_as_an_amsdu_nor_the_reverse() {
    // The MIC does not cover A-MSDU Present.
    for kind in [Kind::Ip, Kind::Ethernet] {
        let (mut ap, [mut station, ..]) = bss(kind, Suite::Ccmp128, true);
        let octets = match kind {
            Kind::Ip => packet(2, 1, 1, 100),
            Kind::Ethernet => ethernet(STATIONS[0], AP, &packet(2, 1, 1, 100)),
        };
        let mut frames = station.send(plain(), &octets);
        frames[0][24] ^= 0x80;
        ap.receive(&mut frames);
        assert_eq!((ap.got().len(), ap.counters.read().inbound.bad_body), (0, 1));
    }
}

#[test]
fn only_authentic_new_frames_move_the_endpoint_of_a_station() {
    let (mut ap, [mut station, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    let place = |ap: &Pipeline| ap.published.table().stations()[0].endpoint();
    let first = station.send(plain(), &packet(2, 1, 1, 100)).remove(0);
    let second = station.send(plain(), &packet(2, 1, 2, 100)).remove(0);
    let mut forged = second.clone();
    forged[50] ^= 1;
    for (mut frame, from, then) in [
        (first.clone(), STATIONS[1], STATIONS[1]),
        (first, STATIONS[2], STATIONS[1]),
        (forged, STATIONS[2], STATIONS[1]),
        (second, STATIONS[0], STATIONS[0]),
    ] {
        ap.receive_from(endpoint(from), std::slice::from_mut(&mut frame));
        assert_eq!(place(&ap), endpoint(then));
    }
}

#[test]
fn a_frame_that_an_attacker_held_back_does_not_move_the_endpoint_of_a_station() {
    let (mut ap, [mut station, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    let place = |ap: &Pipeline| ap.published.table().stations()[0].endpoint();
    let mut frames: Vec<Vec<u8>> = (0..4)
        .flat_map(|tag| station.send(plain(), &packet(2, 1, tag, 100)))
        .collect();
    let mut next = || frames.pop().unwrap();
    let (fourth, third, second, first) = (next(), next(), next(), next());
    ap.receive_from(endpoint(STATIONS[0]), &mut [second]);
    ap.receive_from(endpoint(STATIONS[2]), &mut [first]);
    assert_eq!(place(&ap), endpoint(STATIONS[0]));
    // The newest frame of a batch counts, in any order.
    ap.receive_from(endpoint(STATIONS[1]), &mut [fourth, third]);
    assert_eq!(place(&ap), endpoint(STATIONS[1]));
    // Frames under the previous key are older, whatever their packet numbers are.
    let held_back = station.send(plain(), &packet(2, 1, 5, 100));
    ap.install(STATIONS[0], Direction::Receive, 1, Suite::Ccmp128, &OTHER_KEY);
    station.install(AP, Direction::Transmit, 1, Suite::Ccmp128, &OTHER_KEY);
    ap.receive_from(
        endpoint(STATIONS[0]),
        &mut station.send(plain(), &packet(2, 1, 6, 100)),
    );
    ap.receive_from(endpoint(STATIONS[2]), &mut held_back.clone());
    assert_eq!(place(&ap), endpoint(STATIONS[0]));
    assert_eq!(ap.got().len(), 6, "all packets are delivered");
}

#[test]
fn frames_of_other_workers_do_not_move_the_endpoint_of_a_station_back() {
    let (mut ap, [mut station, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    let mut other = Pipeline::worker(station.end, Tid(1), Arc::clone(&station.published), true);
    let mut held_back = other.send(plain(), &packet(2, 1, 1, 100));
    ap.receive_from(
        endpoint(STATIONS[0]),
        &mut station.send(plain(), &packet(2, 1, 2, 100)),
    );
    ap.receive_from(endpoint(STATIONS[2]), &mut held_back);
    assert_eq!(
        ap.published.table().stations()[0].endpoint(),
        endpoint(STATIONS[0])
    );
    assert_eq!(ap.got().len(), 2);
}

#[test]
fn a_default_route_of_ipv6_does_not_contain_ipv4() {
    let (mut ap, [mut station, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    let everywhere = Network::new(std::net::Ipv6Addr::UNSPECIFIED.into(), 0).unwrap();
    ap.admit(STATIONS[0], Suite::Ccmp128, &[host_network(2), everywhere]);
    // IPv4 from and to a host that belongs to no station.
    ap.receive(&mut station.send(plain(), &packet(99, 1, 1, 100)));
    assert_eq!((ap.got().len(), ap.counters.read().inbound.spoofed), (0, 1));
    assert_eq!(ap.send(plain(), &packet(1, 99, 2, 100)).len(), 0);
    assert_eq!(ap.counters.read().outbound.unroutable, 1);
    // Its own IPv4 address, and every IPv6 address.
    let v6 = Packet {
        ipv6: true,
        tcp: true,
        traffic_class: 0,
        ttl: 64,
        id: 0,
        dont_fragment: true,
        ports: [1000, 2000],
        sequence: 3,
        acknowledgement: 0,
        flags: ACK,
        window: 100,
        options: Vec::new(),
        payload: vec![3; 100],
    }
    .octets();
    assert_eq!(ap.send(plain(), &v6).len(), 1);
    assert_eq!(ap.send(plain(), &packet(1, 2, 4, 100)).len(), 1);
    ap.receive(&mut station.send(plain(), &packet(2, 1, 5, 100)));
    assert_eq!(ap.got().len(), 1);
}

#[test]
fn unprotected_frames_longer_than_an_mpdu_do_not_reach_the_control_plane() {
    let (mut ap, [station, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    let header = station.end.header(AP);
    let eapol = [&header[..], &[0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e]].concat();
    let deauthentication = [&[0xc0, 0, 0, 0], &header[4..22], &[0, 0, 7, 0]].concat();
    for mut frame in [eapol, deauthentication] {
        for (len_b, queued) in [(MPDU_B, 1), (MPDU_B + 1, 0), (60_000, 0)] {
            frame.resize(len_b, 0);
            let before = ap.counters.read().inbound;
            ap.receive(&mut [frame.clone()]);
            let after = ap.counters.read().inbound;
            assert_eq!(after.control - before.control, queued, "{len_b} octets");
            assert_eq!(after.too_long - before.too_long, 1 - queued);
        }
    }
}

#[test]
fn unprotected_handshakes_reach_the_control_plane_up_to_a_limit() {
    let (mut ap, [station, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    let header = station.end.header(AP);
    let frame = [&header[..], &[0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e], &[2, 3, 0, 0]].concat();
    ap.receive(&mut vec![frame; 20]);
    let counted = ap.counters.read().inbound;
    assert_eq!((counted.control, counted.control_dropped), (8, 12));
    let heard = ap.control.try_recv().unwrap();
    assert_eq!((heard.transmitter, heard.protected), (STATIONS[0], false));
    assert_eq!(heard.body, ControlBody::Eapol(vec![2, 3, 0, 0]));
}

#[test]
fn frames_for_a_full_control_queue_are_counted_and_not_copied() {
    let (mut ap, [station, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    let header = station.end.header(AP);
    let eapol = [&header[..], &[0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e], &[2, 3, 0, 0]].concat();
    let deauthentication = [&[0xc0, 0, 0, 0], &header[4..22], &[0, 0, 7, 0]].concat();
    ap.receive(&mut vec![eapol.clone(); 8]);
    let mut flood = [vec![eapol; 30], vec![deauthentication; 30]].concat();
    let allocated = allocation_counter::measure(|| ap.receive(&mut flood));
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
    let counted = ap.counters.read().inbound;
    assert_eq!((counted.control, counted.control_dropped), (8, 60));
}

#[test]
fn the_answer_to_an_unknown_transmitter_is_no_longer_than_its_frame() {
    let (mut ap, [station, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    let settings = ApSettings {
        common: Settings {
            ssid: b"office".to_vec(),
            address: AP,
            kind: Kind::Ip,
            ciphers: vec![Suite::Ccmp128],
            credentials: Credentials::Owe,
            rekey_after: Duration::from_secs(3600),
            rekey_packets: 1 << 32,
            keep_alive: Duration::from_secs(30),
        },
        beacons_to: None,
        addressing: Addressing::new(&["192.0.2.1/24".parse().unwrap()], true),
        stations: 1,
        rekey_group_after: Duration::from_secs(86_400),
        radius: None,
    };
    let mut machine = AccessPoint::new(settings, &mut UnwrapErr(SysRng)).unwrap();
    let mut stranger = STATIONS[0];
    stranger.0[5] = 99;
    let mut answered = 0;
    // Data frames and Deauthentication frames: Protected, packet number 1, key identifier 0.
    for (control, header_b) in [([0x88, 0x41], 26), ([0xc0, 0x40], 24)] {
        let mut whole = station.end.header(AP)[..header_b].to_vec();
        whole[..2].copy_from_slice(&control);
        whole[10..16].copy_from_slice(&stranger.0);
        whole.extend([1, 0, 0, 0x20, 0, 0, 0, 0]);
        whole.resize(80, 0);
        for len_b in 0..=whole.len() {
            ap.receive(&mut [whole[..len_b].to_vec()]);
            for (station, from) in ap.control.strangers() {
                machine.stranger(station, from, Duration::from_secs(answered));
            }
            while let Some(action) = machine.poll_action() {
                let Action::Management { frame, .. } = action else {
                    panic!("{action:?}")
                };
                assert!(frame.len() <= len_b, "{} octets for {len_b}", frame.len());
                answered += 1;
            }
        }
    }
    assert!(answered > 80, "{answered}");
}
