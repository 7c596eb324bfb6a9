//! Packets for tests, built field by field, with checksums computed as in RFC 1071 section 1.

use super::{Gso, GsoKind, PartialChecksum, VnetHeader};

/// The fields of a packet.
#[derive(Clone, Debug)]
pub struct Packet {
    pub ipv6: bool,
    pub tcp: bool,
    pub traffic_class: u8,
    pub ttl: u8,
    pub id: u16,
    pub dont_fragment: bool,
    pub ports: [u16; 2],
    pub sequence: u32,
    pub acknowledgement: u32,
    pub flags: u8,
    pub window: u16,
    pub options: Vec<u8>,
    pub payload: Vec<u8>,
}

pub const FIN: u8 = 0x01;
pub const PSH: u8 = 0x08;
pub const ACK: u8 = 0x10;
pub const CWR: u8 = 0x80;

impl Packet {
    pub fn transport_at(&self) -> usize {
        if self.ipv6 { 40 } else { 20 }
    }

    /// Octets of IP and transport header.
    pub fn headers_b(&self) -> usize {
        self.transport_at() + if self.tcp { 20 + self.options.len() } else { 8 }
    }

    pub fn checksum_offset(&self) -> usize {
        if self.tcp { 16 } else { 6 }
    }

    pub fn octets(&self) -> Vec<u8> {
        let mut octets = self.with_partial_checksum();
        let (ip, transport) = octets.split_at_mut(self.transport_at());
        let at = self.checksum_offset();
        transport[at..at + 2].fill(0);
        let sum = !slow_sum(&[&pseudo_header(ip, transport.len()), transport]);
        let absent = !self.tcp && sum == 0; // "an all zero transmitted checksum value means none" (RFC 768)
        transport[at..at + 2].copy_from_slice(&if absent { 0xffff } else { sum }.to_be_bytes());
        octets
    }

    /// The packet as the stack sends it: the checksum field contains the sum of the pseudo-header.
    pub fn with_partial_checksum(&self) -> Vec<u8> {
        let mut transport: Vec<u8> = self.ports.iter().flat_map(|port| port.to_be_bytes()).collect();
        if self.tcp {
            transport.extend(self.sequence.to_be_bytes());
            transport.extend(self.acknowledgement.to_be_bytes());
            transport.push(u8::try_from(5 + self.options.len() / 4).unwrap() << 4);
            transport.push(self.flags);
            transport.extend(self.window.to_be_bytes());
            transport.extend([0; 4]);
            transport.extend(&self.options);
        } else {
            transport.extend(u16::try_from(8 + self.payload.len()).unwrap().to_be_bytes());
            transport.extend([0; 2]);
        }
        transport.extend(&self.payload);
        let protocol = if self.tcp { 6 } else { 17 };
        let mut ip = if self.ipv6 {
            let mut ip = vec![
                0x60 | self.traffic_class >> 4,
                self.traffic_class << 4 | 0x5,
                0x43,
                0x21,
            ];
            ip.extend(u16::try_from(transport.len()).unwrap().to_be_bytes());
            ip.extend([protocol, self.ttl]);
            ip.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
            ip.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
            ip
        } else {
            let mut ip = vec![0x45, self.traffic_class];
            ip.extend(u16::try_from(20 + transport.len()).unwrap().to_be_bytes());
            ip.extend(self.id.to_be_bytes());
            ip.extend([
                if self.dont_fragment { 0x40 } else { 0 },
                0,
                self.ttl,
                protocol,
                0,
                0,
            ]);
            ip.extend([192, 0, 2, 1, 192, 0, 2, 2]);
            let sum = !slow_sum(&[&ip]);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            ip
        };
        let at = self.checksum_offset();
        let sum = slow_sum(&[&pseudo_header(&ip, transport.len())]);
        transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        ip.extend(transport);
        ip
    }

    /// The virtio-net header of a super-packet with these headers.
    pub fn vnet(&self, size_b: u16) -> VnetHeader {
        VnetHeader {
            partial: Some(self.partial()),
            gso: Some(Gso {
                kind: match (self.tcp, self.ipv6) {
                    (true, false) => GsoKind::Tcp4,
                    (true, true) => GsoKind::Tcp6,
                    (false, _) => GsoKind::Udp,
                },
                size_b,
                ecn: false,
            }),
            header_len_b: u16::try_from(self.headers_b()).unwrap(),
        }
    }

    pub fn partial(&self) -> PartialChecksum {
        PartialChecksum {
            start: u16::try_from(self.transport_at()).unwrap(),
            offset: u16::try_from(self.checksum_offset()).unwrap(),
        }
    }

    /// The next packet of the flow.
    pub fn following(&self, payload: &[u8]) -> Packet {
        Packet {
            id: self.id.wrapping_add(1),
            sequence: self
                .sequence
                .wrapping_add(u32::try_from(self.payload.len()).unwrap()),
            payload: payload.to_vec(),
            ..self.clone()
        }
    }
}

pub fn usual(ipv6: bool, tcp: bool) -> Packet {
    Packet {
        ipv6,
        tcp,
        traffic_class: 0,
        ttl: 64,
        id: 7,
        dont_fragment: true,
        ports: [5201, 40_000],
        sequence: 1000,
        acknowledgement: 2000,
        flags: ACK,
        window: 512,
        options: vec![1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8],
        payload: vec![0xa5; 100],
    }
}

/// TCP and UDP over both versions of IP.
pub fn usual_ones() -> impl Iterator<Item = Packet> {
    [(false, true), (true, true), (false, false), (true, false)]
        .into_iter()
        .map(|(ipv6, tcp)| usual(ipv6, tcp))
}

/// RFC 1071 section 1, word by word; an odd part is padded with a zero.
pub fn slow_sum(parts: &[&[u8]]) -> u16 {
    parts
        .iter()
        .flat_map(|part| part.chunks(2))
        .fold(0, |sum: u16, word| {
            let word = u16::from_be_bytes([word[0], *word.get(1).unwrap_or(&0)]);
            let (sum, carry) = sum.overflowing_add(word);
            sum + u16::from(carry)
        })
}

/// RFC 9293 3.1 and RFC 8200 8.1.
pub fn pseudo_header(ip: &[u8], transport_b: usize) -> Vec<u8> {
    let (addresses, protocol) = if ip[0] >> 4 == 4 {
        (&ip[12..20], ip[9])
    } else {
        (&ip[8..40], ip[6])
    };
    let mut pseudo = addresses.to_vec();
    pseudo.extend([0, protocol]);
    pseudo.extend(u16::try_from(transport_b).unwrap().to_be_bytes());
    pseudo
}

pub fn assert_checksums_are_right(packet: &[u8]) {
    let transport_at = if packet[0] >> 4 == 4 { 20 } else { 40 };
    let (ip, transport) = packet.split_at(transport_at);
    if transport_at == 20 {
        assert_eq!(slow_sum(&[ip]), 0xffff, "IPv4 header");
    }
    assert_eq!(
        slow_sum(&[&pseudo_header(ip, transport.len()), transport]),
        0xffff,
        "transport"
    );
}
