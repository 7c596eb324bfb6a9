//! Assigns packets to flows, for queues that serve flows in turn.

use std::hash::{DefaultHasher, Hash, Hasher};

use wlan_frames::EtherType;

use super::field::*;

/// The flow label in the first four octets of an IPv6 header (RFC 8200 3).
const FLOW_LABEL: u32 = 0x000f_ffff;

/// A hash of the fields that Linux's `skb_get_hash` uses to identify a flow, as `fq_codel` and mac80211 do: addresses,
/// protocol and, with TCP and UDP, ports. An IPv6 flow label replaces the ports (RFC 6437). All fragments of a packet
/// belong to one flow, identified without ports, because only the first fragment has them. All non-IP packets of an
/// `EtherType` belong to one flow.
///
/// `seed` perturbs the hash, so that flows that share a queue with one seed need not share it with another (RFC 8290,
/// 6.2).
pub fn hash(ethertype: EtherType, packet: &[u8], seed: u64) -> u32 {
    let mut hasher = DefaultHasher::new();
    (seed, ethertype.0).hash(&mut hasher);
    match ethertype {
        EtherType::IPV4 => hash_ipv4(packet, &mut hasher),
        EtherType::IPV6 => hash_ipv6(packet, &mut hasher),
        _ => None,
    };
    let [a, b, c, d, ..] = hasher.finish().to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn hash_ipv4(packet: &[u8], hasher: &mut DefaultHasher) -> Option<()> {
    let header = packet.first_chunk::<IPV4_LEN>()?;
    let protocol = header[IPV4_PROTOCOL];
    (protocol, &header[IPV4_ADDRESSES..]).hash(hasher);
    if get_u16(header, IPV4_FLAGS) & IPV4_FRAGMENT != 0 {
        return None;
    }
    let header_b = usize::from(header[0] & 0xf) * 4;
    hash_ports(protocol, packet.get(header_b..)?, hasher)
}

fn hash_ipv6(packet: &[u8], hasher: &mut DefaultHasher) -> Option<()> {
    let header = packet.first_chunk::<IPV6_LEN>()?;
    header[IPV6_ADDRESSES..].hash(hasher);
    let label = get_u32(header, 0) & FLOW_LABEL;
    if label != 0 {
        label.hash(hasher);
        return None;
    }
    // Without a label, packets with extension headers, including fragments, are distinguished only by their addresses.
    let protocol = header[IPV6_NEXT_HEADER];
    protocol.hash(hasher);
    hash_ports(protocol, &packet[IPV6_LEN..], hasher)
}

fn hash_ports(protocol: u8, transport: &[u8], hasher: &mut DefaultHasher) -> Option<()> {
    if matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP) {
        transport.first_chunk::<4>()?.hash(hasher);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::packet::{Packet, usual, usual_ones};

    fn of(packet: &[u8], seed: u64) -> u32 {
        let ethertype = if packet[0] >> 4 == 6 {
            EtherType::IPV6
        } else {
            EtherType::IPV4
        };
        hash(ethertype, packet, seed)
    }

    /// The octets of the packet without a flow label.
    fn unlabelled(packet: &Packet) -> Vec<u8> {
        let mut octets = packet.octets();
        if packet.ipv6 {
            (octets[1], octets[2], octets[3]) = (octets[1] & 0xf0, 0, 0);
        }
        octets
    }

    #[test]
    fn a_flow_is_its_addresses_protocol_and_ports() {
        for packet in usual_ones() {
            let here = of(&unlabelled(&packet), 1);
            let mut later = packet.following(&[7; 50]);
            later.ttl = 3;
            assert_eq!(of(&unlabelled(&later), 1), here, "{packet:?}");
            for port in 0..2 {
                let mut other = packet.clone();
                other.ports[port] ^= 1;
                assert_ne!(of(&unlabelled(&other), 1), here, "{packet:?}");
            }
            for last in if packet.ipv6 { [23, 39] } else { [15, 19] } {
                let mut other = unlabelled(&packet);
                other[last] ^= 1;
                assert_ne!(of(&other, 1), here, "octet {last} of {packet:?}");
            }
            assert_ne!(of(&unlabelled(&packet), 2), here, "another seed");
        }
        let tcp = of(&unlabelled(&usual(false, true)), 1);
        assert_ne!(of(&unlabelled(&usual(false, false)), 1), tcp);
    }

    #[test]
    fn all_fragments_of_a_packet_have_one_flow() {
        let mut first = usual(false, false).octets();
        first[6] = 0x20; // More Fragments
        let mut second = first.clone();
        (second[6], second[7]) = (0, 185);
        second[20..24].fill(0xee);
        assert_eq!(of(&first, 1), of(&second, 1));
    }

    #[test]
    fn an_ipv6_flow_label_replaces_the_ports() {
        let packet = usual(true, true);
        let mut other = packet.clone();
        other.ports[0] ^= 1;
        assert_eq!(of(&packet.octets(), 1), of(&other.octets(), 1));
        let mut relabelled = packet.octets();
        relabelled[3] ^= 1;
        assert_ne!(of(&relabelled, 1), of(&packet.octets(), 1));
    }

    #[test]
    fn arbitrary_octets_have_a_flow() {
        for packet in usual_ones() {
            let octets = packet.octets();
            for len_b in 0..octets.len() {
                for ethertype in [EtherType::IPV4, EtherType::IPV6, EtherType(0x888e)] {
                    hash(ethertype, &octets[..len_b], 1);
                }
            }
        }
        assert_eq!(hash(EtherType(0x0806), &[1], 1), hash(EtherType(0x0806), &[2], 1));
    }
}
