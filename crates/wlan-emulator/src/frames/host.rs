//! A host's end of the link: converts packets from the host's device to frames, and hands received packets up to the
//! device. The device carries IP packets or Ethernet frames; the type and payload of an Ethernet frame form the packet.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use arrayvec::ArrayVec;
use wlan_air::Nanos;
use wlan_frames::{EtherType, LlcSnap, MacAddr, SequenceControl};
use wlan_host::clock::Clock;
use wlan_host::offload::VnetHeader;
use wlan_host::offload::coalesce::{MAX_PACKETS, Run, Takes};
use wlan_host::offload::segment::{SuperPacket, complete_checksum};
use wlan_host::tun::{ETHERNET_B, Kind, Offloads, TYPES_FROM, Tun};

use crate::frames::delivery::{Delivered, Delivery};
use crate::frames::frame::{Around, Frame, Pool};

/// Size of the largest super-packet (Linux `GSO_LEGACY_MAX_SIZE`) in octets.
const SUPER_PACKET_B: usize = 65_536;

/// Size of the type field of an Ethernet frame in octets.
const TYPE_B: usize = 2;

/// Least number of datagrams that a separate thread hands up: for fewer, waking the thread takes longer than handing
/// them up.
const MANY: usize = 8;

/// Largest payload of these datagrams in octets. The air carries fewer of longer ones than the MAC thread can hand up.
const SHORT_B: usize = 512;

/// The outcome of reading a host's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The number of packets for the link that one packet of the host was split into.
    Packets(usize),
    /// A packet that is neither IPv4 nor IPv6, or an Ethernet frame without a type.
    Unclassified,
    /// A packet that cannot be converted to MSDUs: too long for one, or without valid segmentation fields.
    Unsplittable,
    /// No packet is waiting.
    Nothing,
}

/// A host.
pub struct Host {
    tun: Arc<Tun>,
    around: Around,
    /// Hands many short datagrams up; `None` if the caller's thread hands everything up.
    delivery: Option<Delivery>,
    /// The packet types that the host accepts coalesced.
    takes: Takes,
    /// Buffer for a packet of the device, with its virtio-net header.
    octets: Box<[u8]>,
}

impl Host {
    /// Creates a host with this device. `around` is the frame layout of the link. With `coalesce`, received packets are
    /// coalesced as far as the device allows.
    pub fn new(tun: Tun, around: Around, coalesce: bool) -> Self {
        let offloads = tun.offloads();
        Self {
            tun: Arc::new(tun),
            around,
            delivery: None,
            takes: Takes {
                tcp: coalesce && offloads.tcp,
                udp: coalesce && offloads.udp,
            },
            octets: vec![0; VnetHeader::LEN + ETHERNET_B + SUPER_PACKET_B].into_boxed_slice(),
        }
    }

    /// Hands super-packets of many short datagrams up on a separate thread from now on. `clock` tells their lateness.
    ///
    /// TCP remains on the caller's thread: its stack answers within the call that hands a segment up, and the answer
    /// leaves at the time of the segment.
    ///
    /// # Errors
    /// The kernel refuses the thread.
    pub fn deliver_on_thread(&mut self, clock: Clock) -> io::Result<()> {
        self.delivery = Some(Delivery::start(Arc::clone(&self.tun), clock)?);
        Ok(())
    }

    /// The outcomes of the separate thread since the last call.
    pub fn delivered(&mut self) -> impl Iterator<Item = Delivered> {
        self.delivery.iter_mut().flat_map(Delivery::delivered)
    }

    /// The offloads that the host's stack leaves to the device.
    pub fn offloads(&self) -> Offloads {
        self.tun.offloads()
    }

    /// The host's device, for polling.
    pub fn device(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }

    /// Reads one packet from the host, splits it if it is a super-packet, and passes each part to `queue`. Each part is
    /// in a frame, after the LLC/SNAP header and with space for the security fields.
    ///
    /// # Errors
    /// The device cannot be read.
    pub fn read(&mut self, pool: &mut Pool, mut queue: impl FnMut(Frame)) -> io::Result<Arrival> {
        let mut frame = pool.take();
        let arrival = self.read_into(&mut frame, pool, &mut queue);
        if let Ok(Arrival::Packets(_)) = arrival {
            queue(frame);
        } else {
            pool.give(frame);
        }
        arrival
    }

    /// Reads one packet from the host. Its last or only part is returned in `frame`.
    fn read_into(
        &mut self,
        frame: &mut Frame,
        pool: &mut Pool,
        queue: &mut impl FnMut(Frame),
    ) -> io::Result<Arrival> {
        if self.tun.kind() == Kind::Ethernet {
            return self.read_ethernet(frame);
        }
        let Around { packet_at, mic_b } = self.around;
        let until = frame.buffer.len() - mic_b;
        let Some((vnet, packet)) = self.tun.read(&mut self.octets)? else {
            return Ok(Arrival::Nothing);
        };
        // The version is the first field of the IPv4 and IPv6 headers (RFC 791 3.1, RFC 8200 3).
        let ethertype = match packet.first().map(|octet| octet >> 4) {
            Some(4) => EtherType::IPV4,
            Some(6) => EtherType::IPV6,
            _ => return Ok(Arrival::Unclassified),
        };
        let Some(vnet) = VnetHeader::parse(vnet) else {
            return Ok(Arrival::Unsplittable);
        };
        let encapsulate = |frame: &mut Frame, packet_b: usize| {
            LlcSnap { ethertype }.emit(&mut frame.buffer[packet_at - LlcSnap::LEN..]);
            frame.len_b = packet_at + packet_b + mic_b;
            frame.addresses = None;
            frame.renew();
        };
        let room_b = until - packet_at;
        if vnet.gso.is_none() {
            let completed = match vnet.partial {
                _ if packet.len() > room_b => return Ok(Arrival::Unsplittable),
                Some(partial) => complete_checksum(packet, partial),
                None => Ok(()),
            };
            if completed.is_err() {
                return Ok(Arrival::Unsplittable);
            }
            frame.buffer[packet_at..packet_at + packet.len()].copy_from_slice(packet);
            encapsulate(frame, packet.len());
            return Ok(Arrival::Packets(1));
        }
        let Ok(whole) = SuperPacket::new(&vnet, packet) else {
            return Ok(Arrival::Unsplittable);
        };
        if whole.longest_b() > room_b {
            return Ok(Arrival::Unsplittable);
        }
        let last = whole.packets() - 1;
        let mut next = pool.take();
        for index in 0..last {
            let packet_b = whole.write(index, &mut next.buffer[packet_at..until]);
            encapsulate(&mut next, packet_b);
            queue(next);
            next = pool.take();
        }
        pool.give(next);
        let packet_b = whole.write(last, &mut frame.buffer[packet_at..until]);
        encapsulate(frame, packet_b);
        Ok(Arrival::Packets(last + 1))
    }

    /// Reads one Ethernet frame; its type field becomes the type field of the LLC/SNAP header. Super-packets
    /// are unsplittable: no sender on such devices relies on segmentation offload.
    fn read_ethernet(&mut self, frame: &mut Frame) -> io::Result<Arrival> {
        let Around { packet_at, mic_b } = self.around;
        let (start, until) = (packet_at - ETHERNET_B, frame.buffer.len() - mic_b);
        let Some((vnet, octets)) = self.tun.read(&mut self.octets)? else {
            return Ok(Arrival::Nothing);
        };
        let plain = VnetHeader::parse(vnet).is_some_and(|vnet| vnet.gso.is_none() && vnet.partial.is_none());
        if !plain || octets.len() > until - start {
            return Ok(Arrival::Unsplittable);
        }
        let Some(
            &[
                da0,
                da1,
                da2,
                da3,
                da4,
                da5,
                sa0,
                sa1,
                sa2,
                sa3,
                sa4,
                sa5,
                high,
                low,
            ],
        ) = octets.first_chunk::<ETHERNET_B>()
        else {
            return Ok(Arrival::Unclassified);
        };
        let ethertype = u16::from_be_bytes([high, low]);
        if ethertype < TYPES_FROM {
            return Ok(Arrival::Unclassified);
        }
        frame.buffer[start..start + octets.len()].copy_from_slice(octets);
        LlcSnap {
            ethertype: EtherType(ethertype),
        }
        .emit(&mut frame.buffer[packet_at - LlcSnap::LEN..]);
        frame.len_b = start + octets.len() + mic_b;
        frame.addresses = Some([
            MacAddr([da0, da1, da2, da3, da4, da5]),
            MacAddr([sa0, sa1, sa2, sa3, sa4, sa5]),
        ]);
        frame.renew();
        Ok(Arrival::Packets(1))
    }

    /// Starts handing packets up to the host that were due at `due`, if their lateness counts.
    pub fn up(&mut self, due: Option<Nanos>) -> Up<'_, '_> {
        Up {
            host: self,
            run: None,
            previous: None,
            due,
            handed: Handed::default(),
        }
    }

    /// Hands an Ethernet frame up to the host; returns the number of refused packets.
    fn hand_up_ethernet(&self, addresses: [MacAddr; 2], frame: &Frame) -> usize {
        let Around { packet_at, mic_b } = self.around;
        let [MacAddr(da), MacAddr(sa)] = addresses;
        let parts = [
            IoSlice::new(&[0; VnetHeader::LEN]),
            IoSlice::new(&da),
            IoSlice::new(&sa),
            IoSlice::new(&frame.buffer[packet_at - TYPE_B..frame.len_b - mic_b]),
        ];
        usize::from(self.tun.write(&parts).is_err())
    }

    /// Hands a run up to the host that was due at `due`, if its lateness counts.
    fn hand_up(&mut self, run: &Run<'_>, due: Option<Nanos>) -> Handed {
        let head = run.head();
        let is_many = run.is_of_datagrams() && run.packets() >= MANY && run.payloads()[0].len() <= SHORT_B;
        if let Some(delivery) = self
            .delivery
            .as_mut()
            .filter(|delivery| is_many || delivery.is_busy())
        {
            let parts = [&head[..]].into_iter().chain(run.payloads().iter().copied());
            delivery.hand_over(parts, run.packets(), due);
            return Handed {
                refused: 0,
                lateness_follows: due.is_some(),
            };
        }
        let mut parts: ArrayVec<IoSlice<'_>, { 1 + MAX_PACKETS }> = ArrayVec::new();
        parts.push(IoSlice::new(&head));
        parts.extend(run.payloads().iter().map(|payload| IoSlice::new(payload)));
        Handed {
            refused: match self.tun.write(&parts) {
                Ok(()) => 0,
                Err(_) => run.packets(),
            },
            lateness_follows: false,
        }
    }
}

/// The outcome of handing packets up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handed {
    /// The number of packets that the host's stack refused so far.
    pub refused: usize,
    /// Whether [`Host::delivered`] will return the lateness.
    pub lateness_follows: bool,
}

/// Packets on their way up to a host, in order. Packets are not coalesced across a lost MPDU.
pub struct Up<'h, 'f> {
    host: &'h mut Host,
    run: Option<Run<'f>>,
    previous: Option<u16>,
    /// When the packets were due, if their lateness counts and the first of them was not handed up yet.
    due: Option<Nanos>,
    handed: Handed,
}

impl<'f> Up<'_, 'f> {
    /// Hands up the packet in a frame.
    pub fn push(&mut self, frame: &'f Frame) {
        if let Some(addresses) = frame.addresses {
            self.handed.refused += self.host.hand_up_ethernet(addresses, frame);
            return;
        }
        let packet = frame.packet(self.host.around);
        let sequence = frame.numbers.map(|numbers| numbers.sequence);
        // Packets from the wire have no sequence number, and none of them was lost on the air.
        let next = self
            .previous
            .map(|previous| (previous + 1) % SequenceControl::MODULUS);
        let follows = sequence == next;
        self.previous = sequence;
        if let Some(run) = &mut self.run
            && follows
            && run.join(packet, false)
        {
            return;
        }
        self.hand_up();
        self.run = Some(Run::new(self.host.takes, packet, false));
    }

    fn hand_up(&mut self) {
        if let Some(run) = self.run.take() {
            let handed = self.host.hand_up(&run, self.due.take());
            self.handed.refused += handed.refused;
            self.handed.lateness_follows |= handed.lateness_follows;
        }
    }

    /// Hands up the remaining packets; returns the outcome for all packets.
    pub fn finish(mut self) -> Handed {
        self.hand_up();
        self.handed
    }
}
