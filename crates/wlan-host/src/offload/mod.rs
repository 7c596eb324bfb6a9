//! Offloads of the device: the work that the host's stack leaves to its network card.
//!
//! The stack sends super-packets: one IP header, one TCP or UDP header, the payload of many packets, and an incomplete
//! checksum. The air carries ordinary packets, so super-packets are split ([`segment`]) before they are queued.
//! Received packets may be coalesced to super-packets ([`coalesce`]), which saves the receiving stack most of its work.
//!
//! These modules are pure functions of octets: they access no device and keep no state between packets.

pub mod checksum;
pub mod coalesce;
pub mod flow;
pub mod segment;

#[cfg(any(test, feature = "testing"))]
#[allow(missing_docs)] // test helpers
pub mod packet;
#[cfg(test)]
mod tests;

/// The header of every packet of a device with `IFF_VNET_HDR`: `virtio_net_hdr` (VIRTIO 1.3, 5.1.6) in the kernel's
/// format for legacy devices, which is in host byte order.
///
/// ```text
///  octet  0      1         2-3            4-5       6-7             8-9
///         flags  GSO type  header length  GSO size  checksum start  checksum offset
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VnetHeader {
    /// The checksum to complete, if it is incomplete.
    pub partial: Option<PartialChecksum>,
    /// The segmentation of a super-packet; `None` for an ordinary packet.
    pub gso: Option<Gso>,
    /// Octets of all headers of a super-packet; a hint.
    pub header_len_b: u16,
}

/// The place of an incomplete checksum. The checksum covers the octets from `start` to the end of the packet; its field
/// holds only the sum of the pseudo-header so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialChecksum {
    /// Start of the covered octets, which is the transport header, in octets from the start of the packet.
    pub start: u16,
    /// Offset of the checksum field in octets from `start`.
    pub offset: u16,
}

/// The segmentation of a super-packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gso {
    /// Protocols of the super-packet.
    pub kind: GsoKind,
    /// Octets of payload in every packet except the last, which holds the rest.
    pub size_b: u16,
    /// TCP with CWR set, which applies only to the first segment (RFC 3168 6.1.2).
    pub ecn: bool,
}

/// Protocols of a super-packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GsoKind {
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// UDP over IPv4 or IPv6.
    Udp,
}

const NEEDS_CSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;
const GSO_ECN: u8 = 0x80;

impl VnetHeader {
    /// Octets of the header.
    pub const LEN: usize = 10;

    /// Parses the header; `None` for a type of super-packet that the device does not request.
    pub fn parse(octets: &[u8; Self::LEN]) -> Option<Self> {
        let [flags, gso_type, rest @ ..] = *octets;
        let field = |at: usize| u16::from_ne_bytes([rest[at], rest[at + 1]]);
        let kind = match gso_type & !GSO_ECN {
            GSO_NONE => None,
            GSO_TCPV4 => Some(GsoKind::Tcp4),
            GSO_TCPV6 => Some(GsoKind::Tcp6),
            GSO_UDP_L4 => Some(GsoKind::Udp),
            _ => return None,
        };
        Some(Self {
            partial: (flags & NEEDS_CSUM != 0).then(|| PartialChecksum {
                start: field(4),
                offset: field(6),
            }),
            gso: kind.map(|kind| Gso {
                kind,
                size_b: field(2),
                ecn: gso_type & GSO_ECN != 0,
            }),
            header_len_b: field(0),
        })
    }

    /// The header in the kernel's format.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let (start, offset) = self
            .partial
            .map_or((0, 0), |partial| (partial.start, partial.offset));
        let gso_type = self.gso.map_or(GSO_NONE, |gso| {
            let kind = match gso.kind {
                GsoKind::Tcp4 => GSO_TCPV4,
                GsoKind::Tcp6 => GSO_TCPV6,
                GsoKind::Udp => GSO_UDP_L4,
            };
            kind | if gso.ecn { GSO_ECN } else { 0 }
        });
        let mut octets = [0; Self::LEN];
        octets[0] = if self.partial.is_some() { NEEDS_CSUM } else { 0 };
        octets[1] = gso_type;
        let size_b = self.gso.map_or(0, |gso| gso.size_b);
        for (to, field) in
            octets[2..]
                .as_chunks_mut::<2>()
                .0
                .iter_mut()
                .zip([self.header_len_b, size_b, start, offset])
        {
            *to = field.to_ne_bytes();
        }
        octets
    }
}

/// Fields of IP, TCP and UDP headers, in octets from the start of each (RFC 791 3.1, RFC 8200 3, RFC 9293 3.1,
/// RFC 768).
mod field {
    pub const IPV4_LEN: usize = 20;
    pub const IPV4_TOTAL_LENGTH: usize = 2;
    pub const IPV4_ID: usize = 4;
    pub const IPV4_FLAGS: usize = 6;
    pub const IPV4_DONT_FRAGMENT: u16 = 0x4000;
    /// More Fragments and the fragment offset: zero in an unfragmented packet.
    pub const IPV4_FRAGMENT: u16 = 0x3fff;
    pub const IPV4_PROTOCOL: usize = 9;
    pub const IPV4_CHECKSUM: usize = 10;
    pub const IPV4_ADDRESSES: usize = 12;

    pub const IPV6_LEN: usize = 40;
    pub const IPV6_PAYLOAD_LENGTH: usize = 4;
    pub const IPV6_NEXT_HEADER: usize = 6;
    pub const IPV6_ADDRESSES: usize = 8;

    pub const PROTOCOL_TCP: u8 = 6;
    pub const PROTOCOL_UDP: u8 = 17;

    pub const TCP_LEN: usize = 20;
    pub const TCP_SEQUENCE: usize = 4;
    pub const TCP_ACKNOWLEDGEMENT: usize = 8;
    pub const TCP_DATA_OFFSET: usize = 12;
    pub const TCP_FLAGS: usize = 13;
    pub const TCP_WINDOW: usize = 14;
    pub const TCP_CHECKSUM: usize = 16;
    pub const TCP_URGENT: usize = 18;
    pub const TCP_FIN: u8 = 0x01;
    pub const TCP_SYN: u8 = 0x02;
    pub const TCP_RST: u8 = 0x04;
    pub const TCP_PSH: u8 = 0x08;
    pub const TCP_URG: u8 = 0x20;
    pub const TCP_CWR: u8 = 0x80;

    pub const UDP_LEN: usize = 8;
    pub const UDP_LENGTH: usize = 4;
    pub const UDP_CHECKSUM: usize = 6;

    pub fn get_u16(octets: &[u8], at: usize) -> u16 {
        u16::from_be_bytes([octets[at], octets[at + 1]])
    }

    pub fn put_u16(octets: &mut [u8], at: usize, value: u16) {
        octets[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }

    pub fn get_u32(octets: &[u8], at: usize) -> u32 {
        u32::from(get_u16(octets, at)) << 16 | u32::from(get_u16(octets, at + 2))
    }

    pub fn put_u32(octets: &mut [u8], at: usize, value: u32) {
        octets[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }
}
