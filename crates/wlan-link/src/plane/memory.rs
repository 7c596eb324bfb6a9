//! The pipelines of both ends, from memory to memory: their speed without devices, sockets and the kernel.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::net::Ipv4Addr;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use wlan_ciphers::{KeyId, Suite};
use wlan_frames::MacAddr;
use wlan_host::offload::{Gso, GsoKind, PartialChecksum, VnetHeader, checksum};
use wlan_host::tun::{Offloads, Read, split};
use wlan_rsn::{Direction, Key, PairwiseKey};

use super::counters::Counters;
use super::device::Device;
use super::egress::Egress;
use super::endpoint::{Endpoint, Message, Outlet};
use super::ingress::Ingress;
use super::source::Source;
use super::table::{Network, Published, TableError, View};
use super::waiting::Waiting;
use super::wire::{End, Kind, Role, Tid};

const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
/// Addresses of the packets.
const SOURCE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const DESTINATION: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// Maximum octets of a frame: space for a packet of 1422 octets and the longest MIC.
const MPDU_B: usize = 1480;
/// Octets of IPv4 and TCP headers.
const HEADERS_B: usize = 40;
/// Payload octets per packet, and packets per super-packet: as many as a stack sends at once.
const SEGMENT_B: usize = 1382;
const SEGMENTS: usize = 47;

/// The result of [`carry`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// Rate of TCP payload that all workers together sealed, opened and delivered, in Mbit/s.
    pub mbps: f64,
    /// Frames that were not delivered; 0 unless the pipelines are wrong.
    pub lost: u64,
}

/// A host that always has a TCP super-packet to send, and counts the packets that it receives.
struct Host {
    vnet: [u8; VnetHeader::LEN],
    packet: Vec<u8>,
    /// Whether the next read returns the packet.
    has_packet: Cell<bool>,
    received: RefCell<Vec<u8>>,
}

impl Host {
    fn new() -> Self {
        let transport_b = u16::try_from(HEADERS_B - 20 + SEGMENTS * SEGMENT_B).expect("below 64 KiB");
        let mut packet = vec![0; HEADERS_B + SEGMENTS * SEGMENT_B];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(20 + transport_b).to_be_bytes());
        // Don't Fragment; TTL 64; TCP.
        packet[6..10].copy_from_slice(&[0x40, 0, 64, 6]);
        packet[12..16].copy_from_slice(&SOURCE.octets());
        packet[16..20].copy_from_slice(&DESTINATION.octets());
        // A data offset of 5 words; ACK.
        packet[32..34].copy_from_slice(&[0x50, 0x10]);
        let pseudo = checksum::pseudo_header(&packet[12..20], 6, transport_b);
        packet[36..38].copy_from_slice(&pseudo.to_be_bytes());
        for (octet, number) in packet[HEADERS_B..].iter_mut().zip((0..=u8::MAX).cycle()) {
            *octet = number;
        }
        let vnet = VnetHeader {
            partial: Some(PartialChecksum {
                start: 20,
                offset: 16,
            }),
            gso: Some(Gso {
                kind: GsoKind::Tcp4,
                size_b: u16::try_from(SEGMENT_B).expect("below 64 KiB"),
                ecn: false,
            }),
            header_len_b: 40,
        };
        Self {
            vnet: vnet.emit(),
            packet,
            has_packet: Cell::new(true),
            received: RefCell::new(vec![0; 1 << 16]),
        }
    }
}

impl Device for Host {
    fn offloads(&self) -> Offloads {
        Offloads { tcp: true, udp: true }
    }

    fn read<'o>(&self, octets: &'o mut [u8]) -> io::Result<Option<Read<'o>>> {
        if !self.has_packet.replace(false) {
            return Ok(None);
        }
        let octets = &mut octets[..VnetHeader::LEN + self.packet.len()];
        octets[..VnetHeader::LEN].copy_from_slice(&self.vnet);
        octets[VnetHeader::LEN..].copy_from_slice(&self.packet);
        Ok(Some(split(octets)))
    }

    fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let mut received = self.received.borrow_mut();
        let mut at = 0;
        for part in parts {
            received[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        Ok(())
    }
}

/// A transport that stores frames.
#[derive(Default)]
struct Air {
    octets: RefCell<Vec<u8>>,
    lengths_b: RefCell<Vec<usize>>,
}

impl Outlet for Air {
    fn splits(&self) -> bool {
        true
    }

    fn broadcast(&self) -> Option<Endpoint> {
        None
    }

    fn send(&self, octets: &[u8], messages: &[Message]) -> usize {
        for message in messages {
            let octets = &octets[message.at..message.at + message.len_b];
            self.octets.borrow_mut().extend_from_slice(octets);
            let lengths_b = octets.chunks(message.segment_b).map(<[u8]>::len);
            self.lengths_b.borrow_mut().extend(lengths_b);
        }
        0
    }
}

/// Carries packets from a station to an access point with `workers` workers for `duration`: each worker reads
/// super-packets from memory, seals their frames, copies the frames to the access point's worker of the same number,
/// opens them and writes the packets to memory. All workers have one key, as between two ends.
///
/// # Errors
/// The suite does not support links.
pub fn carry(suite: Suite, workers: u8, duration: Duration) -> Result<Carried, TableError> {
    let key = |direction| PairwiseKey {
        key_id: KeyId::PAIRWISE,
        suite,
        key: Key::new(&[7; 32][..suite.key_len()]),
        direction,
    };
    let [station, ap]: [Arc<Published>; 2] = Default::default();
    let network = Network::new(SOURCE.into(), 32);
    for (end, peer, network) in [(&station, AP, None), (&ap, STATION, network)] {
        end.admit(peer, Endpoint::Ethernet(peer), network.as_slice())?;
        end.install(peer, key(Direction::Transmit))?;
        end.install(peer, key(Direction::Receive))?;
    }
    let barrier = Barrier::new(workers.into());
    let totals = thread::scope(|scope| {
        let started: Vec<_> = (0..workers)
            .map(|worker| {
                let views = [&station, &ap].map(|end| View::new(Arc::clone(end)));
                let barrier = &barrier;
                scope.spawn(move || carry_with_one(views, Tid(worker), barrier, duration))
            })
            .collect();
        let ended = started.into_iter().map(|worker| worker.join());
        ended
            .map(|worker| worker.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Vec<_>>()
    });
    #[allow(clippy::cast_precision_loss)] // a measurement
    let mbps = |(delivered, _, elapsed): &(u64, u64, Duration)| {
        (delivered * SEGMENT_B as u64 * 8) as f64 / elapsed.as_secs_f64() / 1e6
    };
    Ok(Carried {
        mbps: totals.iter().map(mbps).sum(),
        lost: totals
            .iter()
            .map(|(delivered, sealed, _)| sealed - delivered)
            .sum(),
    })
}

/// One worker of each end. Returns the numbers of frames delivered and sealed, and the elapsed time.
fn carry_with_one(
    [station, ap]: [View; 2],
    tid: Tid,
    barrier: &Barrier,
    duration: Duration,
) -> (u64, u64, Duration) {
    let [from, to] = [(Role::Sta, STATION), (Role::Ap, AP)].map(|(role, address)| End {
        role,
        address,
        kind: Kind::Ip,
    });
    let (host, air, control) = (Host::new(), Air::default(), Waiting::new(1));
    let [mut egress, mut relay] = [from, to].map(|end| Egress::new(end, tid, MPDU_B));
    let mut source = Source::default();
    let counters: [Counters; 2] = Default::default();
    let ingress = Ingress {
        end: to,
        device: &host,
        outlet: &air,
        counters: &counters[1],
        control: &control,
        mpdu_b: MPDU_B,
    };
    barrier.wait();
    let start = Instant::now();
    while start.elapsed() < duration {
        host.has_packet.set(true);
        let outbound = &counters[0].outbound;
        while source
            .read(&host, station.table(), &mut egress, &air, outbound)
            .expect("memory is readable")
        {}
        egress.flush(station.table(), &air, outbound);
        let (mut octets, mut lengths_b) = (air.octets.borrow_mut(), air.lengths_b.borrow_mut());
        let mut rest = &mut octets[..];
        let frames = lengths_b.iter().map(|&len_b| {
            let (frame, others) = std::mem::take(&mut rest).split_at_mut(len_b);
            rest = others;
            (Endpoint::Ethernet(STATION), frame)
        });
        ingress.receive(ap.table(), &mut relay, frames);
        octets.clear();
        lengths_b.clear();
    }
    let elapsed = start.elapsed();
    let (sent, received) = (counters[0].read().outbound, counters[1].read().inbound);
    (received.opened, sent.sealed, elapsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_of_one_key_carry_all_frames() {
        for suite in [Suite::Ccmp128, Suite::Gcmp256] {
            let carried = carry(suite, 3, Duration::from_millis(50)).unwrap();
            assert!(carried.mbps > 0.0 && carried.lost == 0, "{carried:?}");
        }
    }
}
