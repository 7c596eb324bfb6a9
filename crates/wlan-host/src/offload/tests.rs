//! Segmentation and coalescing against each other, and against checksums computed as in RFC 1071 section 1.

use proptest::prelude::*;

use super::coalesce::{Run, Takes};
use super::packet::{ACK, CWR, FIN, PSH, Packet, assert_checksums_are_right, usual, usual_ones};
use super::segment::{SegmentError, SuperPacket, complete_checksum, is_of_transport};
use super::{GsoKind, PartialChecksum, VnetHeader};

const ALL: Takes = Takes { tcp: true, udp: true };

fn split(vnet: &VnetHeader, packet: &[u8]) -> Vec<Vec<u8>> {
    let whole = SuperPacket::new(vnet, packet).unwrap();
    let mut room = vec![0; whole.longest_b()];
    (0..whole.packets())
        .map(|index| {
            let len_b = whole.write(index, &mut room);
            room[..len_b].to_vec()
        })
        .collect()
}

/// Coalesces these packets and returns the runs as they would be written to the device.
fn join(takes: Takes, packets: &[Vec<u8>]) -> Vec<(VnetHeader, Vec<u8>)> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for packet in packets {
        if !runs.last_mut().is_some_and(|run| run.join(packet, false)) {
            runs.push(Run::new(takes, packet, false));
        }
    }
    runs.iter()
        .map(|run| {
            let mut written = run.head().to_vec();
            written.extend(run.payloads().concat());
            let (vnet, packet) = written.split_first_chunk().unwrap();
            (VnetHeader::parse(vnet).unwrap(), packet.to_vec())
        })
        .collect()
}

fn join_and_split(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    join(ALL, packets)
        .iter()
        .flat_map(|(vnet, packet)| match vnet.gso {
            Some(_) => split(vnet, packet),
            None => vec![packet.clone()],
        })
        .collect()
}

fn any_packet(payload_b: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Packet> {
    let flags = prop::sample::select(vec![ACK, ACK | PSH, ACK | FIN, ACK | PSH | FIN]);
    let options = prop::collection::vec(any::<[u8; 4]>(), 0..=10).prop_map(|words| words.concat());
    (
        any::<[bool; 3]>(),
        any::<(u8, u8, u16, [u16; 2], u32, u32, u16)>(),
        flags,
        options,
        prop::collection::vec(any::<u8>(), payload_b),
    )
        .prop_map(|([ipv6, tcp, dont_fragment], numbers, flags, options, payload)| {
            let (traffic_class, ttl, id, ports, sequence, acknowledgement, window) = numbers;
            Packet {
                ipv6,
                tcp,
                traffic_class,
                ttl,
                id,
                dont_fragment,
                ports,
                sequence,
                acknowledgement,
                flags,
                window,
                options,
                payload,
            }
        })
}

proptest! {
    #[test]
    fn a_completed_checksum_is_correct(packet in any_packet(0..300)) {
        let mut completed = packet.with_partial_checksum();
        complete_checksum(&mut completed, packet.partial()).unwrap();
        prop_assert_eq!(completed, packet.octets());
    }

    #[test]
    fn split_packets_equal_those_of_a_stack(packet in any_packet(1..900), size_b in 1_u16..400, cwr: bool) {
        let packet = Packet { flags: packet.flags | if cwr { CWR } else { 0 }, ..packet };
        let parts = split(&packet.vnet(size_b), &packet.with_partial_checksum());
        let payloads: Vec<&[u8]> = packet.payload.chunks(size_b.into()).collect();
        prop_assert_eq!(parts.len(), payloads.len());
        let mut expected = Packet { payload: Vec::new(), ..packet };
        for (index, (part, payload)) in parts.iter().zip(&payloads).enumerate() {
            expected = if index == 0 {
                Packet { payload: payload.to_vec(), ..expected }
            } else {
                expected.following(payload)
            };
            let last = index + 1 == payloads.len();
            let not_here = if last { 0 } else { PSH | FIN } | if index == 0 { 0 } else { CWR };
            let sent = Packet { flags: expected.flags & !not_here, ..expected.clone() };
            prop_assert_eq!(part, &sent.octets());
            assert_checksums_are_right(part);
        }
    }

    #[test]
    fn split_then_join_is_the_identity(packet in any_packet(2..3000), size_b in 1_u16..600) {
        let size_b = size_b.max(u16::try_from(packet.payload.len().div_ceil(64)).unwrap());
        prop_assume!(packet.payload.len() > size_b.into());
        let whole = packet.with_partial_checksum();
        let vnet = packet.vnet(size_b);
        let parts = split(&vnet, &whole);
        prop_assert_eq!(join(ALL, &parts), [(vnet, whole)]);
    }

    #[test]
    fn join_then_split_is_the_identity(
        first in any_packet(1..40),
        steps in prop::collection::vec((0_usize..40, 0_u8..12, any::<bool>()), 0..100),
    ) {
        let mut packet = first;
        let mut packets = vec![packet.octets()];
        for (payload_b, what, damaged) in steps {
            packet = packet.following(&vec![0x5a; payload_b]);
            match what {
                0 => packet.flags ^= PSH,
                1 => packet.sequence = packet.sequence.wrapping_add(1),
                2 => packet.id = packet.id.wrapping_sub(1),
                3 => packet.ports[1] ^= 1,
                4 => packet.traffic_class ^= 1,
                _ => packet.payload.resize(20, 1),
            }
            let mut octets = packet.octets();
            if damaged && what > 9 {
                *octets.last_mut().unwrap() ^= 1;
            }
            packets.push(octets);
        }
        // Packets with Don't Fragment and equal identifications get incremented identifications.
        let ids_apart = |packets: &[Vec<u8>]| -> Vec<Vec<u8>> {
            packets.iter().map(|octets| {
                let mut octets = octets.clone();
                if octets[0] == 0x45 && octets[6] & 0x40 != 0 {
                    octets[4..6].fill(0);
                    octets[10..12].fill(0);
                }
                octets
            }).collect()
        };
        prop_assert_eq!(ids_apart(&join_and_split(&packets)), ids_apart(&packets));
    }

    #[test]
    fn arbitrary_octets_are_split_or_refused(
        vnet: [u8; 10],
        packet in prop::collection::vec(any::<u8>(), 0..100),
        right in any_packet(1..40),
        at: prop::sample::Index,
        octet: u8,
    ) {
        let try_all = |vnet: &VnetHeader, packet: &[u8]| {
            if let Ok(whole) = SuperPacket::new(vnet, packet) {
                let mut room = vec![0; whole.longest_b()];
                for index in 0..whole.packets() {
                    assert!(whole.write(index, &mut room) <= room.len());
                }
            }
            let _ = Run::new(ALL, packet, false).join(packet, false);
        };
        if let Some(vnet) = VnetHeader::parse(&vnet) {
            try_all(&vnet, &packet);
        }
        let mut damaged = right.with_partial_checksum();
        let at = at.index(damaged.len());
        damaged[at] = octet;
        try_all(&right.vnet(10), &damaged);
        try_all(&right.vnet(10), &damaged[..at]);
    }
}

#[test]
fn an_emitted_header_parses_to_the_same_value() {
    for packet in usual_ones() {
        let vnet = packet.vnet(1448);
        assert_eq!(VnetHeader::parse(&vnet.emit()), Some(vnet));
    }
    assert_eq!(VnetHeader::parse(&[0; 10]), Some(VnetHeader::default()));
    // VIRTIO_NET_HDR_GSO_UDP, fragments of a datagram, is not requested.
    assert_eq!(VnetHeader::parse(&[0, 3, 0, 0, 0, 0, 0, 0, 0, 0]), None);
}

#[test]
fn only_udp_sends_a_checksum_of_zero_as_its_complement() {
    for (tcp, ipv6, checksum_at, sent) in [
        (false, false, 26, [0xff, 0xff]),
        (false, true, 46, [0xff, 0xff]),
        (true, false, 36, [0, 0]),
        (true, true, 56, [0, 0]),
    ] {
        let mut packet = usual(ipv6, tcp);
        packet.payload[..2].fill(0);
        let octets = packet.octets();
        // A checksum of zero requires these octets to equal the checksum of the packet with zeroes in their place.
        packet.payload[..2].copy_from_slice(&octets[checksum_at..checksum_at + 2]);

        let mut completed = packet.with_partial_checksum();
        complete_checksum(&mut completed, packet.partial()).unwrap();
        assert_eq!(completed[checksum_at..checksum_at + 2], sent, "{packet:?}");
        assert_checksums_are_right(&completed);

        let only_part = u16::try_from(packet.payload.len()).unwrap();
        let parts = split(&packet.vnet(only_part), &packet.with_partial_checksum());
        assert_eq!(parts, [completed]);
    }
}

#[test]
fn inconsistent_super_packets_are_refused() {
    type Damage = fn(&mut VnetHeader, &mut Vec<u8>);
    let all: [(Damage, SegmentError); 5] = [
        (|vnet, _| vnet.gso = None, SegmentError::NotSplit),
        (
            |vnet, _| vnet.gso.as_mut().unwrap().size_b = 0,
            SegmentError::NotSplit,
        ),
        (|vnet, _| vnet.partial = None, SegmentError::ChecksumPlace),
        (|_, packet| packet.push(0), SegmentError::Length),
        (
            |vnet, _| vnet.partial.as_mut().unwrap().start += 300,
            SegmentError::Headers,
        ),
    ];
    for packet in usual_ones() {
        for (damage, error) in all {
            let (mut vnet, mut octets) = (packet.vnet(10), packet.with_partial_checksum());
            damage(&mut vnet, &mut octets);
            assert_eq!(SuperPacket::new(&vnet, &octets).unwrap_err(), error, "{packet:?}");
        }
    }
    let refuse = |packet: &Packet, damage: Damage| {
        let (mut vnet, mut octets) = (packet.vnet(10), packet.with_partial_checksum());
        damage(&mut vnet, &mut octets);
        SuperPacket::new(&vnet, &octets).unwrap_err()
    };
    let (tcp, udp) = (usual(false, true), usual(false, false));
    assert_eq!(
        refuse(&tcp, |_, packet| packet[6] = 0x20),
        SegmentError::Headers,
        "a fragment"
    );
    assert_eq!(
        refuse(&tcp, |_, packet| packet[9] = 17),
        SegmentError::Headers,
        "UDP"
    );
    assert_eq!(
        refuse(&tcp, |_, packet| packet[32] = 0x40),
        SegmentError::Headers,
        "data offset"
    );
    let tiny = Packet {
        payload: vec![1; 8],
        ..usual(false, true)
    };
    assert_eq!(
        refuse(&tiny, |_, packet| packet[32] = 0xf0),
        SegmentError::Headers,
        "headers longer than the packet"
    );
    assert_eq!(
        refuse(&udp, |_, packet| packet[25] ^= 1),
        SegmentError::Length,
        "UDP length"
    );
    assert_eq!(
        refuse(&udp, |vnet, _| vnet.gso.as_mut().unwrap().kind = GsoKind::Tcp4),
        SegmentError::ChecksumPlace
    );
    assert_eq!(
        complete_checksum(&mut [0; 30], PartialChecksum { start: 20, offset: 9 }),
        Err(SegmentError::ChecksumPlace)
    );
}

#[test]
fn only_consecutive_packets_of_a_flow_are_joined() {
    type Change = fn(&mut Packet);
    let joined = |packets: &[Packet]| {
        let octets: Vec<_> = packets.iter().map(Packet::octets).collect();
        join(ALL, &octets).len() < octets.len()
    };
    let for_both: [(&str, Change); 6] = [
        ("port", |next| next.ports[0] ^= 1),
        ("TTL", |next| next.ttl -= 1),
        ("congestion experienced", |next| next.traffic_class |= 3),
        ("more payload", |next| next.payload.push(0)),
        ("no payload", |next| next.payload.clear()),
        ("other protocol", |next| next.tcp = !next.tcp),
    ];
    let for_tcp: [(&str, Change); 8] = [
        ("sequence", |next| next.sequence += 1),
        ("acknowledgement", |next| next.acknowledgement += 1),
        ("window", |next| next.window += 1),
        ("options", |next| next.options[7] += 1),
        ("SYN", |next| next.flags |= 0x02),
        ("RST", |next| next.flags |= 0x04),
        ("URG", |next| next.flags |= 0x20),
        ("CWR", |next| next.flags |= CWR),
    ];
    for first in usual_ones() {
        let next = first.following(&[1; 100]);
        assert!(joined(&[first.clone(), next.clone()]), "{first:?}");
        let changes = for_both.iter().chain(for_tcp.iter().filter(|_| first.tcp));
        for (what, change) in changes {
            let mut changed = next.clone();
            change(&mut changed);
            assert!(!joined(&[first.clone(), changed]), "{what} {first:?}");
        }
        let short = first.following(&[1; 99]);
        let after_short = short.following(&[1; 99]);
        assert!(
            joined(&[first.clone(), short.clone()]),
            "a shorter payload is the last of its run"
        );
        let octets: Vec<_> = [&first, &short, &after_short].map(Packet::octets).into();
        assert_eq!(join(ALL, &octets).len(), 2, "a shorter payload ends the run");
    }
    for ipv6 in [false, true] {
        let first = usual(ipv6, true);
        let pushed = Packet {
            flags: ACK | PSH,
            ..first.clone()
        };
        assert!(
            !joined(&[pushed.clone(), pushed.following(&[1; 100])]),
            "PSH ends the run"
        );
        assert!(joined(&[
            first.clone(),
            Packet {
                flags: ACK | PSH,
                ..first.following(&[1; 100])
            }
        ]));
    }
    let jump = |by, dont_fragment| {
        let first = Packet {
            dont_fragment,
            ..usual(false, false)
        };
        let next = Packet {
            id: first.id + by,
            ..first.following(&[1; 100])
        };
        joined(&[first, next])
    };
    assert!(jump(1, true) && jump(1, false) && jump(0, true));
    assert!(!jump(0, false) && !jump(2, true));
}

#[test]
fn a_packet_with_a_wrong_checksum_is_delivered_alone_and_unchanged() {
    for first in usual_ones() {
        let packets = [
            first.clone(),
            first.following(&[1; 100]),
            first.following(&[1; 100]).following(&[2; 100]),
        ];
        for damaged in 0..3 {
            let mut octets = packets.each_ref().map(Packet::octets);
            *octets[damaged].last_mut().unwrap() ^= 1;
            let up = join(ALL, &octets);
            assert!(
                up.contains(&(VnetHeader::default(), octets[damaged].clone())),
                "{damaged} of {first:?}"
            );
        }
    }
}

#[test]
fn packets_that_the_stack_would_refuse_are_not_joined() {
    for first in usual_ones() {
        let octets = [first.octets(), first.following(&[1; 100]).octets()];
        let takes = Takes {
            tcp: !first.tcp,
            udp: first.tcp,
        };
        assert_eq!(join(takes, &octets).len(), 2);
    }
}

#[test]
fn a_super_packet_never_exceeds_the_length_field_of_ip() {
    let mut packet = Packet {
        payload: vec![1; 1448],
        ..usual(false, true)
    };
    let mut packets = Vec::new();
    for _ in 0..100 {
        packets.push(packet.octets());
        packet = packet.following(&[1; 1448]);
    }
    let up = join(ALL, &packets);
    assert_eq!(up.len(), 3, "45 packets of 1448 octets fit 65535");
    assert!(up.iter().all(|(_, packet)| packet.len() <= 65_535));
    assert_eq!(join_and_split(&packets), packets);
}

#[test]
fn a_checked_packet_joins_a_run_whatever_its_transport_checksum() {
    for packet in usual_ones() {
        let first = packet.octets();
        let mut wrong = packet.following(&packet.payload).octets();
        wrong[packet.transport_at() + packet.checksum_offset()] ^= 1;
        assert!(!Run::new(ALL, &first, false).join(&wrong, false));
        assert!(Run::new(ALL, &first, false).join(&wrong, true));
        let mut first = first;
        first[packet.transport_at() + packet.checksum_offset()] ^= 1;
        assert!(!Run::new(ALL, &first, false).join(&wrong, true));
        assert!(Run::new(ALL, &first, true).join(&wrong, true));
        if !packet.ipv6 {
            wrong[10] ^= 1;
            assert!(
                !Run::new(ALL, &first, true).join(&wrong, true),
                "the checksum of IPv4"
            );
        }
    }
}

#[test]
fn only_the_checksum_of_the_outer_transport_header_counts() {
    for packet in usual_ones() {
        let octets = packet.with_partial_checksum();
        let partial = packet.partial();
        assert!(is_of_transport(&octets, partial));
        let inner = PartialChecksum {
            start: partial.start + 8,
            ..partial
        };
        let other_field = PartialChecksum {
            offset: partial.offset + 2,
            ..partial
        };
        assert!(!is_of_transport(&octets, inner) && !is_of_transport(&octets, other_field));
        for len_b in 0..packet.transport_at() {
            assert!(!is_of_transport(&octets[..len_b], partial));
        }
    }
}
