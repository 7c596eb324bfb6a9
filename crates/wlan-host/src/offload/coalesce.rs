//! Coalescing of consecutive packets of one flow to a super-packet, by the rules of Linux's GRO. It is lossless:
//! splitting the super-packet gives the same packets.
//!
//! A packet is added to the previous run if
//! - all headers are equal except for lengths, checksums, IPv4 identification, TCP sequence number, PSH and FIN: equal
//!   addresses, ports, TTL, traffic class and ECN marks, acknowledgement number, window and TCP options;
//! - IP has no options, extension headers or fragments, and TCP no SYN, RST, URG or CWR;
//! - it is next in sequence: TCP sequence number, IPv4 identification (one higher, or equal with Don't Fragment);
//! - it has payload, not more than the first packet of the run, and no packet of the run has less than the first;
//! - no packet of the run has PSH or FIN;
//! - its checksums are valid; they must be verified here, because the super-packet no longer contains them. Only a
//!   transport checksum that the caller knows to be valid is not computed again.

use arrayvec::ArrayVec;

use super::field::{
    IPV4_ADDRESSES, IPV4_CHECKSUM, IPV4_DONT_FRAGMENT, IPV4_FLAGS, IPV4_FRAGMENT, IPV4_ID, IPV4_LEN,
    IPV4_PROTOCOL, IPV4_TOTAL_LENGTH, IPV6_ADDRESSES, IPV6_LEN, IPV6_NEXT_HEADER, IPV6_PAYLOAD_LENGTH,
    PROTOCOL_TCP, PROTOCOL_UDP, TCP_ACKNOWLEDGEMENT, TCP_CHECKSUM, TCP_CWR, TCP_DATA_OFFSET, TCP_FIN,
    TCP_FLAGS, TCP_LEN, TCP_PSH, TCP_RST, TCP_SEQUENCE, TCP_SYN, TCP_URG, TCP_URGENT, TCP_WINDOW,
    UDP_CHECKSUM, UDP_LEN, UDP_LENGTH, get_u16, get_u32, put_u16,
};
use super::{Gso, GsoKind, PartialChecksum, VnetHeader, checksum};

/// Largest number of packets in a run: the limit of an A-MPDU. Linux accepts up to 128 in a UDP super-packet
/// (`UDP_MAX_SEGMENTS`).
pub const MAX_PACKETS: usize = 64;

/// Largest size of an IP packet in octets (RFC 791 3.1).
const MAX_PACKET_B: usize = 65_535;

/// Largest size of virtio-net, IP and TCP headers in octets; the TCP header has up to 60 (RFC 9293 3.1).
const MAX_HEAD_B: usize = VnetHeader::LEN + IPV6_LEN + 60;

/// The super-packets that the receiving stack accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Takes {
    /// TCP over IPv4 and IPv6.
    pub tcp: bool,
    /// UDP over IPv4 and IPv6.
    pub udp: bool,
}

/// Consecutive packets that are handed up together.
pub struct Run<'a> {
    /// The first packet.
    first: &'a [u8],
    /// The headers of the first packet, if packets can be added to it.
    headers: Option<Headers<'a>>,
    /// Whether the transport checksum of the first packet is known to be valid.
    is_checked: bool,
    /// Whether the checksums of the first packet have been verified, which is deferred until a second packet arrives.
    verified: bool,
    /// The payload of each packet. With a single packet, the complete packet.
    payloads: ArrayVec<&'a [u8], MAX_PACKETS>,
    /// Octets of the super-packet so far.
    len_b: usize,
    /// Whether the last packet ended the run: PSH, FIN, or less payload than the first.
    ended: bool,
}

/// Virtio-net, IP and transport headers of a super-packet.
pub type Head = ArrayVec<u8, MAX_HEAD_B>;

impl<'a> Run<'a> {
    /// Starts a run with one IP packet. The TCP or UDP checksum of a packet that `is_checked` is known to be valid.
    pub fn new(takes: Takes, packet: &'a [u8], is_checked: bool) -> Self {
        let headers = Headers::parse(packet).filter(|headers| match headers.is_tcp {
            true => takes.tcp,
            false => takes.udp,
        });
        Self {
            first: packet,
            is_checked,
            verified: false,
            payloads: ArrayVec::from_iter([packet]),
            len_b: packet.len(),
            ended: headers.as_ref().is_some_and(Headers::ends_run),
            headers,
        }
    }

    /// Adds the next packet to the run; returns `false` if it does not belong to the run. `is_checked` as in
    /// [`new`](Self::new).
    pub fn join(&mut self, packet: &'a [u8], is_checked: bool) -> bool {
        let Some(first) = self.headers.as_ref() else {
            return false;
        };
        if self.ended || self.payloads.is_full() {
            return false;
        }
        let Some(next) = Headers::parse(packet) else {
            return false;
        };
        let len_b = self.len_b + next.payload().len();
        if len_b > MAX_PACKET_B
            || !first.is_followed_by(&next, self.payloads.len())
            || !(self.verified || first.is_valid(self.is_checked))
            || !next.is_valid(is_checked)
        {
            return false;
        }
        if !self.verified {
            self.verified = true;
            self.payloads[0] = first.payload();
        }
        self.payloads.push(next.payload());
        self.len_b = len_b;
        self.ended = next.ends_run() || next.payload().len() < first.payload().len();
        if let (true, Some(first)) = (next.is_tcp, self.headers.as_mut()) {
            first.last_flags |= next.last_flags;
        }
        true
    }

    /// Number of packets in the run.
    pub fn packets(&self) -> usize {
        self.payloads.len()
    }

    /// Whether the run is a super-packet of UDP datagrams.
    pub fn is_of_datagrams(&self) -> bool {
        self.payloads.len() > 1 && self.headers.as_ref().is_some_and(|headers| !headers.is_tcp)
    }

    /// The octets before the [`payloads`](Self::payloads): the virtio-net header, and, if the run has several packets,
    /// the headers of the super-packet.
    pub fn head(&self) -> Head {
        let mut head = Head::new();
        let push = |head: &mut Head, octets: &[u8]| {
            head.try_extend_from_slice(octets)
                .expect("the headers of TCP over IPv6 are the longest");
        };
        let (Some(headers), true) = (&self.headers, self.payloads.len() > 1) else {
            push(&mut head, &VnetHeader::default().emit());
            return head;
        };
        let (partial, header_len_b) = (headers.partial(), short(headers.payload_at));
        let kind = match (headers.is_tcp, headers.is_ipv4()) {
            (true, true) => GsoKind::Tcp4,
            (true, false) => GsoKind::Tcp6,
            (false, _) => GsoKind::Udp,
        };
        let vnet = VnetHeader {
            partial: Some(partial),
            gso: Some(Gso {
                kind,
                size_b: short(headers.payload().len()),
                ecn: false,
            }),
            header_len_b,
        };
        push(&mut head, &vnet.emit());
        push(&mut head, &self.first[..headers.payload_at]);
        headers.finish(&mut head[VnetHeader::LEN..], self.len_b);
        head
    }

    /// The octets after the [`head`](Self::head), in order.
    pub fn payloads(&self) -> &[&'a [u8]] {
        &self.payloads
    }
}

/// The headers of a packet that can start or continue a run.
struct Headers<'a> {
    packet: &'a [u8],
    is_tcp: bool,
    transport_at: usize,
    payload_at: usize,
    /// PSH and FIN of the last packet of the run.
    last_flags: u8,
}

impl<'a> Headers<'a> {
    /// Parses the headers; `None` if the packet cannot be part of a run.
    fn parse(packet: &'a [u8]) -> Option<Self> {
        let (transport_at, protocol, len_b) = match packet.first()? {
            // Version and header length of IPv4 without options.
            0x45 => {
                let header = packet.first_chunk::<IPV4_LEN>()?;
                if get_u16(header, IPV4_FLAGS) & IPV4_FRAGMENT != 0 {
                    return None;
                }
                let len_b = get_u16(header, IPV4_TOTAL_LENGTH);
                (IPV4_LEN, header[IPV4_PROTOCOL], usize::from(len_b))
            }
            0x60..0x70 => {
                let header = packet.first_chunk::<IPV6_LEN>()?;
                let payload_b = get_u16(header, IPV6_PAYLOAD_LENGTH);
                (
                    IPV6_LEN,
                    header[IPV6_NEXT_HEADER],
                    IPV6_LEN + usize::from(payload_b),
                )
            }
            _ => return None,
        };
        let transport = &packet[transport_at..];
        let (is_tcp, header_b, last_flags) = match protocol {
            PROTOCOL_TCP => {
                let header = transport.first_chunk::<TCP_LEN>()?;
                let header_b = usize::from(header[TCP_DATA_OFFSET] >> 4) * 4;
                let flags = header[TCP_FLAGS];
                if header_b < TCP_LEN || flags & (TCP_SYN | TCP_RST | TCP_URG | TCP_CWR) != 0 {
                    return None;
                }
                (true, header_b, flags & (TCP_PSH | TCP_FIN))
            }
            PROTOCOL_UDP => {
                let header = transport.first_chunk::<UDP_LEN>()?;
                if usize::from(get_u16(header, UDP_LENGTH)) != transport.len()
                    || get_u16(header, UDP_CHECKSUM) == 0
                {
                    return None;
                }
                (false, UDP_LEN, 0)
            }
            _ => return None,
        };
        // An empty payload (a pure acknowledgement) cannot be coalesced, and the payload of a packet with padding
        // cannot be continued.
        (len_b == packet.len() && transport.len() > header_b).then_some(Self {
            packet,
            is_tcp,
            transport_at,
            payload_at: transport_at + header_b,
            last_flags,
        })
    }

    fn is_ipv4(&self) -> bool {
        self.transport_at == IPV4_LEN
    }

    fn payload(&self) -> &'a [u8] {
        &self.packet[self.payload_at..]
    }

    fn transport_header(&self) -> &'a [u8] {
        &self.packet[self.transport_at..self.payload_at]
    }

    /// Whether the packet asks for immediate delivery (PSH or FIN) and thus ends the run.
    fn ends_run(&self) -> bool {
        self.last_flags != 0
    }

    /// Whether `next` continues a run of `packets` packets that starts with this packet.
    fn is_followed_by(&self, next: &Headers<'_>, packets: usize) -> bool {
        if (self.payload_at, self.transport_at, self.is_tcp)
            != (next.payload_at, next.transport_at, next.is_tcp)
            || next.payload().len() > self.payload().len()
        {
            return false;
        }
        let (a, b) = (self.packet, next.packet);
        let ip = if self.is_ipv4() {
            // Version and traffic class; flags, TTL and protocol; addresses.
            a[..IPV4_TOTAL_LENGTH] == b[..IPV4_TOTAL_LENGTH]
                && a[IPV4_FLAGS..IPV4_CHECKSUM] == b[IPV4_FLAGS..IPV4_CHECKSUM]
                && a[IPV4_ADDRESSES..IPV4_LEN] == b[IPV4_ADDRESSES..IPV4_LEN]
                && self.is_followed_by_id(next, packets)
        } else {
            a[..IPV6_PAYLOAD_LENGTH] == b[..IPV6_PAYLOAD_LENGTH]
                && a[IPV6_NEXT_HEADER..IPV6_LEN] == b[IPV6_NEXT_HEADER..IPV6_LEN]
        };
        let (a, b) = (self.transport_header(), next.transport_header());
        // Ports.
        if !ip || a[..4] != b[..4] {
            return false;
        }
        if !self.is_tcp {
            return true;
        }
        #[allow(clippy::cast_possible_truncation)] // at most 64 KiB
        let passed = (packets * self.payload().len()) as u32;
        get_u32(b, TCP_SEQUENCE) == get_u32(a, TCP_SEQUENCE).wrapping_add(passed)
            && a[TCP_ACKNOWLEDGEMENT..TCP_FLAGS] == b[TCP_ACKNOWLEDGEMENT..TCP_FLAGS]
            && (a[TCP_FLAGS] ^ b[TCP_FLAGS]) & !(TCP_PSH | TCP_FIN) == 0
            && a[TCP_WINDOW..TCP_CHECKSUM] == b[TCP_WINDOW..TCP_CHECKSUM]
            && a[TCP_URGENT..] == b[TCP_URGENT..]
    }

    fn is_followed_by_id(&self, next: &Headers<'_>, packets: usize) -> bool {
        let (a, b) = (get_u16(self.packet, IPV4_ID), get_u16(next.packet, IPV4_ID));
        // Packets that must not be fragmented need no identification (RFC 6864 4.1); Linux often gives them equal ones.
        let atomic = get_u16(self.packet, IPV4_FLAGS) & IPV4_DONT_FRAGMENT != 0;
        b == a.wrapping_add(short(packets)) || atomic && a == b
    }

    /// Whether the checksums are valid. A transport checksum that `is_checked` is not computed again.
    fn is_valid(&self, is_checked: bool) -> bool {
        let ip = !self.is_ipv4() || checksum::sum(&self.packet[..IPV4_LEN]) == 0xffff;
        if !ip || is_checked {
            return ip;
        }
        let transport = &self.packet[self.transport_at..];
        checksum::add(self.pseudo_header(transport.len()), checksum::sum(transport)) == 0xffff
    }

    /// Sum of the pseudo-header for `transport_b` octets of transport header and payload.
    fn pseudo_header(&self, transport_b: usize) -> u16 {
        let addresses = if self.is_ipv4() {
            IPV4_ADDRESSES
        } else {
            IPV6_ADDRESSES
        };
        let protocol = if self.is_tcp { PROTOCOL_TCP } else { PROTOCOL_UDP };
        let addresses = &self.packet[addresses..self.transport_at];
        checksum::pseudo_header(addresses, protocol, short(transport_b))
    }

    fn partial(&self) -> PartialChecksum {
        PartialChecksum {
            start: short(self.transport_at),
            offset: short(if self.is_tcp { TCP_CHECKSUM } else { UDP_CHECKSUM }),
        }
    }

    /// Converts the first packet's headers to the headers of the super-packet of `len_b` octets.
    fn finish(&self, headers: &mut [u8], len_b: usize) {
        let (ip, transport) = headers.split_at_mut(self.transport_at);
        if self.is_ipv4() {
            put_u16(ip, IPV4_TOTAL_LENGTH, short(len_b));
            put_u16(ip, IPV4_CHECKSUM, 0);
            let sum = checksum::sum(ip);
            put_u16(ip, IPV4_CHECKSUM, !sum);
        } else {
            put_u16(ip, IPV6_PAYLOAD_LENGTH, short(len_b - IPV6_LEN));
        }
        let transport_b = len_b - self.transport_at;
        let checksum_at = if self.is_tcp {
            transport[TCP_FLAGS] |= self.last_flags;
            TCP_CHECKSUM
        } else {
            put_u16(transport, UDP_LENGTH, short(transport_b));
            UDP_CHECKSUM
        };
        // The field holds only the sum of the pseudo-header: the stack treats such a checksum as verified.
        put_u16(transport, checksum_at, self.pseudo_header(transport_b));
    }
}

/// Converts a count of octets or packets of an IP packet, which is at most 65 535.
fn short(number: usize) -> u16 {
    u16::try_from(number).expect("an IP packet has at most 65535 octets")
}
