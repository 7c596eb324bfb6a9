//! A host's end of the link: converts packets from the host's device to frames, and hands received packets up to the
//! device. The device carries IP packets or Ethernet frames; the type and payload of an Ethernet frame form the packet.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

use arrayvec::ArrayVec;
use wlan_frames::{EtherType, LlcSnap, MacAddr, SequenceControl};
use wlan_host::offload::VnetHeader;
use wlan_host::offload::coalesce::{MAX_PACKETS, Run, Takes};
use wlan_host::offload::segment::{SuperPacket, complete_checksum};
use wlan_host::tun::{ETHERNET_B, Kind, Offloads, TYPES_FROM, Tun};

use crate::frames::frame::{Around, Frame, Pool};

/// Size of the largest super-packet (Linux `GSO_LEGACY_MAX_SIZE`) in octets.
const SUPER_PACKET_B: usize = 65_536;

/// Size of the type field of an Ethernet frame in octets.
const TYPE_B: usize = 2;

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
    tun: Tun,
    around: Around,
    /// The packet types that the host accepts coalesced.
    takes: Takes,
    /// Buffer for a packet longer than a frame's buffer, including its beginning.
    long: Box<[u8]>,
}

impl Host {
    /// Creates a host with this device. `around` is the frame layout of the link. With `coalesce`, received packets are
    /// coalesced as far as the device allows.
    pub fn new(tun: Tun, around: Around, coalesce: bool) -> Self {
        let offloads = tun.offloads();
        Self {
            tun,
            around,
            takes: Takes {
                tcp: coalesce && offloads.tcp,
                udp: coalesce && offloads.udp,
            },
            long: vec![0; SUPER_PACKET_B + Frame::default().buffer.len()].into_boxed_slice(),
        }
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
        let room_b = until - packet_at;
        let mut vnet = [0; VnetHeader::LEN];
        let packet = &mut frame.buffer[packet_at..until];
        let Some(packet_b) = self.tun.read(&mut vnet, packet, &mut self.long[room_b..])? else {
            return Ok(Arrival::Nothing);
        };
        // The version is the first field of the IPv4 and IPv6 headers (RFC 791 3.1, RFC 8200 3).
        let ethertype = match packet[0] >> 4 {
            4 => EtherType::IPV4,
            6 => EtherType::IPV6,
            _ => return Ok(Arrival::Unclassified),
        };
        let Some(vnet) = VnetHeader::parse(&vnet) else {
            return Ok(Arrival::Unsplittable);
        };
        let encapsulate = |frame: &mut Frame, packet_b: usize| {
            LlcSnap { ethertype }.emit(&mut frame.buffer[packet_at - LlcSnap::LEN..]);
            frame.len_b = packet_at + packet_b + mic_b;
            frame.addresses = None;
            frame.renew();
        };
        if vnet.gso.is_none() {
            let completed = match vnet.partial {
                _ if packet_b > room_b => return Ok(Arrival::Unsplittable),
                Some(partial) => complete_checksum(&mut packet[..packet_b], partial),
                None => Ok(()),
            };
            if completed.is_err() {
                return Ok(Arrival::Unsplittable);
            }
            encapsulate(frame, packet_b);
            return Ok(Arrival::Packets(1));
        }
        self.long[..room_b].copy_from_slice(packet);
        let Ok(whole) = SuperPacket::new(&vnet, &self.long[..packet_b]) else {
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

    /// Reads one Ethernet frame in place; its type field becomes the type field of the LLC/SNAP header. Super-packets
    /// are unsplittable: no sender on such devices relies on segmentation offload.
    fn read_ethernet(&mut self, frame: &mut Frame) -> io::Result<Arrival> {
        let Around { packet_at, mic_b } = self.around;
        let (start, until) = (packet_at - ETHERNET_B, frame.buffer.len() - mic_b);
        let mut vnet = [0; VnetHeader::LEN];
        let octets = &mut frame.buffer[start..until];
        let Some(len_b) = self.tun.read(&mut vnet, octets, &mut self.long)? else {
            return Ok(Arrival::Nothing);
        };
        let plain = VnetHeader::parse(&vnet).is_some_and(|vnet| vnet.gso.is_none() && vnet.partial.is_none());
        if !plain || len_b > octets.len() {
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
        ) = octets[..len_b].first_chunk::<ETHERNET_B>()
        else {
            return Ok(Arrival::Unclassified);
        };
        let ethertype = u16::from_be_bytes([high, low]);
        if ethertype < TYPES_FROM {
            return Ok(Arrival::Unclassified);
        }
        LlcSnap {
            ethertype: EtherType(ethertype),
        }
        .emit(&mut frame.buffer[packet_at - LlcSnap::LEN..]);
        frame.len_b = start + len_b + mic_b;
        frame.addresses = Some([
            MacAddr([da0, da1, da2, da3, da4, da5]),
            MacAddr([sa0, sa1, sa2, sa3, sa4, sa5]),
        ]);
        frame.renew();
        Ok(Arrival::Packets(1))
    }

    /// Starts handing packets up to the host.
    pub fn up(&self) -> Up<'_, '_> {
        Up {
            host: self,
            run: None,
            previous: None,
            refused: 0,
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

    /// Hands a run up to the host; returns the number of refused packets.
    fn hand_up(&self, run: &Run<'_>) -> usize {
        let head = run.head();
        let mut parts: ArrayVec<IoSlice<'_>, { 1 + MAX_PACKETS }> = ArrayVec::new();
        parts.push(IoSlice::new(&head));
        parts.extend(run.payloads().iter().map(|payload| IoSlice::new(payload)));
        match self.tun.write(&parts) {
            Ok(()) => 0,
            Err(_) => run.packets(),
        }
    }
}

/// Packets on their way up to a host, in order. Packets are not coalesced across a lost MPDU.
pub struct Up<'h, 'f> {
    host: &'h Host,
    run: Option<Run<'f>>,
    previous: Option<u16>,
    refused: usize,
}

impl<'f> Up<'_, 'f> {
    /// Hands up the packet in a frame.
    pub fn push(&mut self, frame: &'f Frame) {
        if let Some(addresses) = frame.addresses {
            self.refused += self.host.hand_up_ethernet(addresses, frame);
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
        if let Some(run) = &mut self.run {
            if follows && run.join(packet, false) {
                return;
            }
            self.refused += self.host.hand_up(run);
        }
        self.run = Some(Run::new(self.host.takes, packet, false));
    }

    /// Hands up the remaining packets; returns the total number of packets that the host's stack refused.
    pub fn finish(self) -> usize {
        self.refused + self.run.map_or(0, |run| self.host.hand_up(&run))
    }
}
