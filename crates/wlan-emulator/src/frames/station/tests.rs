//! Both ends of an association, back to back: packets from one host's stack arrive at the other's.

use std::os::unix::net::UnixDatagram;

use wlan_ciphers::Suite;
use wlan_host::offload::VnetHeader;
use wlan_host::offload::packet::{Packet, assert_checksums_are_right, usual, usual_ones};
use wlan_host::tun::{Offloads, Tun};

use super::*;
use crate::frames::frame::Pool;
use crate::frames::host::{Arrival, Host};

/// A host's stack, its device and its end of the association.
pub(in crate::frames) struct Side {
    stack: UnixDatagram,
    pub(in crate::frames) host: Host,
    pub(in crate::frames) end: End,
}

fn side(role: Role, suite: Option<Suite>, coalesce: bool) -> Side {
    let (stack, device) = UnixDatagram::pair().unwrap();
    stack.set_nonblocking(true).unwrap();
    let tid = match suite {
        Some(suite) if suite.is_rc4() => None,
        _ => Some(6),
    };
    let key: Vec<u8> = (0..64).collect();
    let protection = suite.map(|suite| Protection::new(suite, &key[..suite.key_len()], role).unwrap());
    let tun = Tun::of(device, Offloads { tcp: true, udp: true });
    let end = End::new(role, 1, tid, protection, 0);
    Side {
        stack,
        host: Host::new(tun, end.around(), coalesce),
        end,
    }
}

pub(in crate::frames) fn pair(suite: Option<Suite>, coalesce: bool) -> (Side, Side) {
    (side(Role::Sta, suite, coalesce), side(Role::Ap, suite, coalesce))
}

impl Side {
    pub(in crate::frames) fn sends(&self, vnet: VnetHeader, packet: &[u8]) {
        self.stack.send(&[&vnet.emit(), packet].concat()).unwrap();
    }

    /// Reads all packets of the stack.
    pub(in crate::frames) fn read(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Arrival {
        loop {
            let found = self.host.read(pool, |frame| frames.push(frame));
            match found.unwrap() {
                Arrival::Packets(_) => {}
                other => return other,
            }
        }
    }

    /// Hands up received frames; returns the number of rejected frames.
    fn deliver<'f>(&mut self, frames: impl Iterator<Item = &'f Frame>) -> usize {
        let mut up = self.host.up(None);
        let mut rejected = 0;
        for frame in frames {
            if self.end.accept(frame) {
                up.push(frame);
            } else {
                rejected += 1;
            }
        }
        assert_eq!(up.finish().refused, 0, "the stack refuses nothing");
        rejected
    }

    pub(in crate::frames) fn received(&self) -> Vec<(VnetHeader, Vec<u8>)> {
        let mut buffer = vec![0; 70_000];
        let mut all = Vec::new();
        while let Ok(len) = self.stack.recv(&mut buffer) {
            let (vnet, packet) = buffer[..len].split_first_chunk().unwrap();
            all.push((VnetHeader::parse(vnet).unwrap(), packet.to_vec()));
        }
        all
    }
}

/// A super-packet of `segments` packets with 100 octets of payload each.
fn whole(of: &Packet, segments: usize) -> Packet {
    Packet {
        payload: (0..100 * segments)
            .map(|at| u8::try_from(at % 251).unwrap())
            .collect(),
        ..of.clone()
    }
}

#[test]
fn a_super_packet_is_split_for_the_air_and_arrives_complete_with_every_suite() {
    let suites = Suite::ALL.into_iter().filter(|suite| !suite.is_bip()).map(Some);
    for suite in suites.chain([None]) {
        for packet in usual_ones() {
            let packet = whole(&packet, 40);
            let (mut sta, mut ap) = pair(suite, true);
            let mut frames = Vec::new();
            sta.sends(packet.vnet(100), &packet.with_partial_checksum());
            assert_eq!(sta.read(&mut Pool::new(0), &mut frames), Arrival::Nothing);
            assert_eq!(frames.len(), 40);
            sta.end.seal(frames.iter_mut(), 0);
            let plaintext = &packet.payload[..20];
            let is_readable = frames[0].mpdu().windows(20).any(|octets| octets == plaintext);
            assert_eq!(is_readable, suite.is_none(), "{suite:?}");
            ap.end.open(frames.iter_mut());
            assert_eq!(ap.deliver(frames.iter()), 0);
            assert_eq!(
                ap.received(),
                [(packet.vnet(100), packet.with_partial_checksum())],
                "{suite:?}"
            );
        }
    }
}

#[test]
fn without_coalescing_every_packet_is_delivered_separately() {
    for packet in usual_ones() {
        let packet = whole(&packet, 5);
        let (mut sta, mut ap) = pair(Some(Suite::Ccmp128), false);
        let mut frames = Vec::new();
        sta.sends(packet.vnet(100), &packet.with_partial_checksum());
        sta.read(&mut Pool::new(0), &mut frames);
        sta.end.seal(frames.iter_mut(), 0);
        ap.end.open(frames.iter_mut());
        ap.deliver(frames.iter());
        let received = ap.received();
        assert_eq!(received.len(), 5);
        for (vnet, packet) in received {
            assert_eq!(vnet, VnetHeader::default());
            assert_checksums_are_right(&packet);
        }
    }
}

#[test]
fn packets_are_not_coalesced_across_a_lost_mpdu() {
    // Without an identification field, a lost datagram leaves no trace in the following datagrams.
    for packet in [usual(true, false), usual(true, true)] {
        let packet = whole(&packet, 6);
        let (mut sta, mut ap) = pair(Some(Suite::Ccmp128), true);
        let mut frames = Vec::new();
        sta.sends(packet.vnet(100), &packet.with_partial_checksum());
        sta.read(&mut Pool::new(0), &mut frames);
        sta.end.seal(frames.iter_mut(), 0);
        ap.end.open(frames.iter_mut());
        let arrived = frames.iter().enumerate().filter(|(index, _)| *index != 2);
        ap.deliver(arrived.map(|(_, frame)| frame));
        let sizes: Vec<_> = ap
            .received()
            .iter()
            .map(|(_, up)| up.len() - packet.headers_b())
            .collect();
        assert_eq!(sizes, [200, 300]);
    }
}

#[test]
fn a_frame_is_delivered_once_and_only_if_it_opened() {
    let packet = usual(false, false);
    let (mut sta, mut ap) = pair(Some(Suite::Ccmp128), true);
    let mut frames = Vec::new();
    sta.sends(VnetHeader::default(), &packet.octets());
    sta.read(&mut Pool::new(0), &mut frames);
    sta.end.seal(frames.iter_mut(), 0);
    assert_eq!(ap.deliver(frames.iter()), 1, "still sealed");
    ap.end.open(frames.iter_mut());
    assert_eq!(ap.deliver(frames.iter()), 0);
    assert_eq!(ap.deliver(frames.iter()), 1, "replayed");
    // A retransmission, as after a lost Ack: the same octets except for the Retry bit, and a replay.
    let first = |frames: &[Frame]| frames[0].mpdu().to_vec();
    sta.end.seal(frames.iter_mut(), 0);
    let again = first(&frames);
    sta.end.seal(frames.iter_mut(), 0);
    assert_eq!(first(&frames), again);
    ap.end.open(frames.iter_mut());
    assert_eq!(ap.deliver(frames.iter()), 1);
    // A damaged frame.
    frames[0].buffer[60] ^= 1;
    sta.end.seal(frames.iter_mut(), 0);
    frames[0].buffer[60] ^= 1;
    ap.end.open(frames.iter_mut());
    assert_eq!(ap.deliver(frames.iter()), 1);
    assert_eq!(ap.received().len(), 1);
}

#[test]
fn invalid_msdus_are_counted_and_dropped() {
    let (mut sta, _) = pair(None, true);
    let mut frames = Vec::new();
    let packet = whole(&usual(false, true), 30);
    let unsplittable: [(VnetHeader, Vec<u8>); 4] = [
        (VnetHeader::default(), packet.octets()),
        (packet.vnet(2500), packet.with_partial_checksum()),
        (packet.vnet(0), packet.with_partial_checksum()),
        (packet.vnet(100), packet.with_partial_checksum()[..200].to_vec()),
    ];
    for (vnet, octets) in unsplittable {
        sta.sends(vnet, &octets);
        assert_eq!(sta.read(&mut Pool::new(0), &mut frames), Arrival::Unsplittable);
    }
    sta.sends(VnetHeader::default(), &[0x11; 40]);
    assert_eq!(sta.read(&mut Pool::new(0), &mut frames), Arrival::Unclassified);
    assert!(frames.is_empty());
}

#[test]
fn the_data_path_allocates_nothing() {
    for suite in [None, Some(Suite::Ccmp128), Some(Suite::Gcmp256)] {
        let (mut sta, mut ap) = pair(suite, true);
        let packets: Vec<Packet> = usual_ones().map(|packet| whole(&packet, 16)).collect();
        let (mut pool, mut frames) = (Pool::new(80), Vec::with_capacity(64));
        for packet in &packets {
            sta.sends(packet.vnet(100), &packet.with_partial_checksum());
        }
        let allocated = allocation_counter::measure(|| {
            sta.read(&mut pool, &mut frames);
            sta.end.seal(frames.iter_mut(), 0);
            ap.end.open(frames.iter_mut());
            ap.deliver(frames.iter());
            frames.drain(..).for_each(|frame| pool.give(frame));
        });
        assert_eq!(allocated.count_total, 0, "{suite:?}: {allocated:?}");
        assert_eq!(ap.received().len(), packets.len());
    }
}
