//! Segmentation: splits a super-packet of the host's stack into complete packets.

use super::field::{
    IPV4_CHECKSUM, IPV4_FLAGS, IPV4_FRAGMENT, IPV4_ID, IPV4_LEN, IPV4_PROTOCOL, IPV4_TOTAL_LENGTH, IPV6_LEN,
    IPV6_NEXT_HEADER, IPV6_PAYLOAD_LENGTH, PROTOCOL_TCP, PROTOCOL_UDP, TCP_CHECKSUM, TCP_CWR,
    TCP_DATA_OFFSET, TCP_FIN, TCP_FLAGS, TCP_LEN, TCP_PSH, TCP_SEQUENCE, UDP_CHECKSUM, UDP_LEN, UDP_LENGTH,
    get_u16, get_u32, put_u16, put_u32,
};
use super::{GsoKind, PartialChecksum, VnetHeader, checksum};

/// A super-packet is inconsistent with itself or with its virtio-net header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The virtio-net header requests no segmentation, or segments without payload.
    #[error("the virtio-net header requests no valid segmentation")]
    NotSplit,
    /// The incomplete checksum is not in the protocol's checksum field.
    #[error("the incomplete checksum is not in the protocol's checksum field")]
    ChecksumPlace,
    /// The headers are longer than the packet, of another protocol, or of a fragment.
    #[error("the headers do not match the protocol in the virtio-net header")]
    Headers,
    /// The length in the IP header is not the length of the packet.
    #[error("the length in the IP header is not the length of the packet")]
    Length,
}

/// Completes a checksum in place.
///
/// # Errors
/// [`SegmentError::ChecksumPlace`] if the field is outside the packet.
pub fn complete_checksum(packet: &mut [u8], partial: PartialChecksum) -> Result<(), SegmentError> {
    let (start, offset) = (usize::from(partial.start), usize::from(partial.offset));
    let covered = packet
        .get_mut(start..)
        .filter(|covered| covered.len() >= offset + 2)
        .ok_or(SegmentError::ChecksumPlace)?;
    put_checksum(covered, offset);
    Ok(())
}

/// Whether an incomplete checksum is the checksum of the TCP or UDP header directly after the IP header, and not of a
/// packet inside a tunnel.
pub fn is_of_transport(packet: &[u8], partial: PartialChecksum) -> bool {
    let (end, protocol) = match packet.first().map(|octet| (octet >> 4, octet & 0xf)) {
        Some((4, words)) => (usize::from(words) * 4, packet.get(IPV4_PROTOCOL)),
        Some((6, _)) => (IPV6_LEN, packet.get(IPV6_NEXT_HEADER)),
        _ => return false,
    };
    let field = match protocol {
        Some(&PROTOCOL_TCP) => TCP_CHECKSUM,
        Some(&PROTOCOL_UDP) => UDP_CHECKSUM,
        _ => return false,
    };
    (usize::from(partial.start), usize::from(partial.offset)) == (end, field) && packet.len() >= end
}

/// Replaces the sum of the pseudo-header in the checksum field of a TCP segment or UDP datagram by the checksum.
///
/// A UDP checksum of zero is sent as 0xffff, because zero means that the datagram has no checksum (RFC 768). TCP lacks
/// this rule, and receivers report 0xffff there as wrong (RFC 1624 section 3).
fn put_checksum(transport: &mut [u8], offset: usize) {
    let checksum = match (!checksum::sum(transport), offset) {
        (0, UDP_CHECKSUM) => 0xffff,
        (checksum, _) => checksum,
    };
    put_u16(transport, offset, checksum);
}

/// A super-packet with valid headers.
#[derive(Debug)]
pub struct SuperPacket<'a> {
    packet: &'a [u8],
    is_ipv4: bool,
    is_tcp: bool,
    transport_at: usize,
    payload_at: usize,
    size_b: usize,
    /// Sum of the pseudo-header without the length.
    pseudo: u16,
}

impl<'a> SuperPacket<'a> {
    /// Checks the headers of an IP packet.
    ///
    /// # Errors
    /// See [`SegmentError`].
    pub fn new(vnet: &VnetHeader, packet: &'a [u8]) -> Result<Self, SegmentError> {
        let gso = vnet
            .gso
            .filter(|gso| gso.size_b > 0)
            .ok_or(SegmentError::NotSplit)?;
        // The checksum of a super-packet must be incomplete: a complete one would be wrong in every segment.
        let partial = vnet.partial.ok_or(SegmentError::ChecksumPlace)?;
        let is_tcp = gso.kind != GsoKind::Udp;
        let (protocol, checksum_offset) = if is_tcp {
            (PROTOCOL_TCP, TCP_CHECKSUM)
        } else {
            (PROTOCOL_UDP, UDP_CHECKSUM)
        };
        if usize::from(partial.offset) != checksum_offset {
            return Err(SegmentError::ChecksumPlace);
        }
        let transport_at = usize::from(partial.start);
        let is_ipv4 = match (packet.first().map(|octet| octet >> 4), gso.kind) {
            (Some(4), GsoKind::Tcp4 | GsoKind::Udp) => true,
            (Some(6), GsoKind::Tcp6 | GsoKind::Udp) => false,
            _ => return Err(SegmentError::Headers),
        };
        let ip = if is_ipv4 {
            ipv4(packet, transport_at, protocol)
        } else {
            ipv6(packet, transport_at, protocol)
        };
        if ip? != packet.len() {
            return Err(SegmentError::Length);
        }
        let transport = &packet[transport_at..];
        let header_b = if is_tcp {
            let data_offset = transport.get(TCP_DATA_OFFSET).ok_or(SegmentError::Headers)?;
            usize::from(data_offset >> 4) * 4
        } else {
            UDP_LEN
        };
        let least_b = if is_tcp { TCP_LEN } else { UDP_LEN };
        if header_b < least_b || transport.len() <= header_b {
            return Err(SegmentError::Headers);
        }
        if !is_tcp && usize::from(get_u16(transport, UDP_LENGTH)) != transport.len() {
            return Err(SegmentError::Length);
        }
        // The field holds the sum of the pseudo-header with the length of the super-packet. It is not recomputed from
        // the addresses, because with an IPv6 routing header the pseudo-header has another destination (RFC 8200 8.1).
        let length_b = u16::try_from(transport.len()).map_err(|_| SegmentError::Length)?;
        Ok(Self {
            packet,
            is_ipv4,
            is_tcp,
            transport_at,
            payload_at: transport_at + header_b,
            size_b: gso.size_b.into(),
            pseudo: checksum::subtract(get_u16(transport, checksum_offset), length_b),
        })
    }

    /// Number of packets that the super-packet is split into, at least 1.
    pub fn packets(&self) -> usize {
        (self.packet.len() - self.payload_at).div_ceil(self.size_b)
    }

    /// Octets of the longest packet, which is the first.
    pub fn longest_b(&self) -> usize {
        self.packet.len().min(self.payload_at + self.size_b)
    }

    /// Writes packet `index` to the start of `into` and returns its length in octets.
    ///
    /// The packet is identical to the packet that the stack itself would have sent: lengths, IPv4 identification
    /// incremented per packet (as in Linux), TCP sequence number, PSH and FIN only in the last packet, CWR only in the
    /// first (RFC 3168 6.1.2), and checksums.
    ///
    /// # Panics
    /// If `index` is out of range, or `into` is shorter than [`longest_b`](Self::longest_b).
    pub fn write(&self, index: usize, into: &mut [u8]) -> usize {
        assert!(index < self.packets(), "packet index {index} is out of range");
        let from = self.payload_at + index * self.size_b;
        let payload = &self.packet[from..self.packet.len().min(from + self.size_b)];
        let len_b = self.payload_at + payload.len();
        let into = &mut into[..len_b];
        let (headers, copied) = into.split_at_mut(self.payload_at);
        headers.copy_from_slice(&self.packet[..self.payload_at]);
        copied.copy_from_slice(payload);

        let (ip, transport) = headers.split_at_mut(self.transport_at);
        if self.is_ipv4 {
            put_u16(ip, IPV4_TOTAL_LENGTH, short(len_b));
            put_u16(ip, IPV4_ID, get_u16(ip, IPV4_ID).wrapping_add(short(index)));
            put_u16(ip, IPV4_CHECKSUM, 0);
            let sum = checksum::sum(ip);
            put_u16(ip, IPV4_CHECKSUM, !sum);
        } else {
            put_u16(ip, IPV6_PAYLOAD_LENGTH, short(len_b - IPV6_LEN));
        }
        let transport_b = short(len_b - self.transport_at);
        let checksum_at = if self.is_tcp {
            #[allow(clippy::cast_possible_truncation)] // an offset into 64 KiB
            let sequence = get_u32(transport, TCP_SEQUENCE).wrapping_add((index * self.size_b) as u32);
            put_u32(transport, TCP_SEQUENCE, sequence);
            if index > 0 {
                transport[TCP_FLAGS] &= !TCP_CWR;
            }
            if index + 1 < self.packets() {
                transport[TCP_FLAGS] &= !(TCP_PSH | TCP_FIN);
            }
            TCP_CHECKSUM
        } else {
            put_u16(transport, UDP_LENGTH, transport_b);
            UDP_CHECKSUM
        };
        put_u16(transport, checksum_at, checksum::add(self.pseudo, transport_b));
        put_checksum(&mut into[self.transport_at..], checksum_at);
        len_b
    }
}

/// Converts a count of octets or packets of an IP packet, which is at most 65 535.
fn short(number: usize) -> u16 {
    u16::try_from(number).expect("an IP packet has at most 65535 octets")
}

/// The length in the header, if the packet is an unfragmented packet of this protocol and its header ends at `end`.
fn ipv4(packet: &[u8], end: usize, protocol: u8) -> Result<usize, SegmentError> {
    let header = packet
        .get(..end)
        .filter(|header| header.len() >= IPV4_LEN)
        .ok_or(SegmentError::Headers)?;
    let right = usize::from(header[0] & 0xf) * 4 == end
        && header[IPV4_PROTOCOL] == protocol
        && get_u16(header, IPV4_FLAGS) & IPV4_FRAGMENT == 0;
    right
        .then(|| get_u16(header, IPV4_TOTAL_LENGTH).into())
        .ok_or(SegmentError::Headers)
}

/// Like [`ipv4`], but extension headers may precede `end`.
fn ipv6(packet: &[u8], end: usize, protocol: u8) -> Result<usize, SegmentError> {
    let header = packet
        .get(..end)
        .filter(|header| header.len() >= IPV6_LEN)
        .ok_or(SegmentError::Headers)?;
    if end == IPV6_LEN && header[IPV6_NEXT_HEADER] != protocol {
        return Err(SegmentError::Headers);
    }
    Ok(IPV6_LEN + usize::from(get_u16(header, IPV6_PAYLOAD_LENGTH)))
}
