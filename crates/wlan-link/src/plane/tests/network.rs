//! Networks that lose, duplicate, damage and reorder frames.

use proptest::prelude::*;

use super::*;
use crate::plane::wire;

/// The effect of the network on a frame.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Arrives,
    Lost,
    Twice,
    Damaged,
}

fn fates() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Arrives),
        1 => Just(Fate::Lost),
        1 => Just(Fate::Twice),
        1 => Just(Fate::Damaged),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// On a network that loses, duplicates, damages and reorders frames, the host receives each packet at most once,
    /// exactly the packets whose frames arrive undamaged, and each packet unchanged.
    #[test]
    fn packets_arrive_at_most_once_and_unchanged(
        packets in proptest::collection::vec((0_u8..2, 1_usize..1300, fates(), any::<u32>()), 1..120),
        suite in proptest::sample::select(&Suite::OF_TEMPORAL_KEYS[..]),
        kind in prop_oneof![Just(Kind::Ip), Just(Kind::Ethernet)],
        offloads: bool,
    ) {
        let (mut ap, [mut station, ..]) = bss(kind, suite, offloads);
        let (mut wire, mut expected) = (Vec::new(), Vec::new());
        for (n, &(flow, payload_b, fate, order)) in (0_u32..).zip(&packets) {
            let inner = packet(2, 1 + flow * 9, n * 1300, payload_b);
            let octets = match kind {
                Kind::Ip => inner,
                Kind::Ethernet => ethernet(STATIONS[0], AP, &inner),
            };
            let frame = station.send(plain(), &octets).remove(0);
            // Slightly reordered.
            let place = n * 4 + order % 40;
            match fate {
                Fate::Lost => continue,
                Fate::Arrives => wire.push((place, frame)),
                Fate::Twice => wire.extend([(place, frame.clone()), (place + 30, frame)]),
                Fate::Damaged => {
                    let mut frame = frame;
                    let at = 34 + order as usize % (frame.len() - 34);
                    frame[at] ^= 0x10;
                    wire.push((place, frame));
                    continue;
                }
            }
            expected.push(octets);
        }
        wire.sort_by_key(|&(place, _)| place);
        let mut frames: Vec<Vec<u8>> = wire.into_iter().map(|(_, frame)| frame).collect();
        let mut got = Vec::new();
        for frames in frames.chunks_mut(37) {
            ap.receive(frames);
            got.extend(ap.got());
        }
        got.sort();
        expected.sort();
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn arbitrary_octets_never_panic(
        mut frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..90), 0..80),
        kind in prop_oneof![Just(Kind::Ip), Just(Kind::Ethernet)],
        real_header: bool,
        to_group: bool,
    ) {
        let (mut ap, [mut station, ..]) = bss(kind, Suite::Ccmp128, true);
        let mut header = match to_group {
            true => ap.end.group_header(MacAddr::BROADCAST, STATIONS[1]),
            false => station.end.header(AP),
        };
        header[1] |= 0x40;
        for frame in frames.iter_mut().filter(|_| real_header) {
            for (to, from) in frame.iter_mut().zip(header) {
                *to = from;
            }
        }
        let count = frames.len() as u64;
        let receiver = if to_group { &mut station } else { &mut ap };
        receiver.receive(&mut frames);
        let counted = receiver.counters.read().inbound;
        prop_assert_eq!((counted.frames, counted.opened), (count, 0));
    }

    /// Any plaintext under the group key leads to a whole frame or to none.
    #[test]
    fn any_body_of_a_group_addressed_frame_is_delivered_whole_or_refused(
        body in proptest::collection::vec(any::<u8>(), 0..60),
        kind in prop_oneof![Just(Kind::Ip), Just(Kind::Ethernet)],
        has_llc: bool,
    ) {
        let (ap, [mut station, ..]) = bss(kind, Suite::Ccmp128, true);
        let llc: &[u8] = if has_llc { &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0] } else { &[] };
        let header = ap.end.group_header(MacAddr::BROADCAST, STATIONS[1]);
        station.receive(&mut [groups::forged(&header, &[llc, &body].concat(), 1, 1)]);
        let counted = station.counters.read().inbound;
        prop_assert_eq!((counted.opened, counted.bad_body + counted.written), (1, 1));
        for got in station.got() {
            prop_assert!(got.ends_with(&body));
        }
    }

    #[test]
    fn every_kind_of_ethernet_frame_arrives_unchanged(
        header in any::<[u8; ETHERNET_B]>(),
        payload in proptest::collection::vec(any::<u8>(), 0..300),
        to_group: bool,
    ) {
        let (mut ap, [mut station, ..]) = bss(Kind::Ethernet, Suite::Gcmp128, true);
        let mut octets = [&header[..], &payload].concat();
        if to_group {
            octets[0] |= 1;
        } else {
            octets[..6].copy_from_slice(&STATIONS[0].0);
        }
        // A length field must equal the length of the payload (IEEE Std 802.3-2018 3.2.6).
        let field = u16::from_be_bytes([octets[12], octets[13]]);
        if field < 0x600 {
            prop_assume!(!to_group || payload.len() >= wire::GROUP_PAYLOAD_MIN_B);
            octets[12..14].copy_from_slice(&u16::try_from(payload.len()).unwrap().to_be_bytes());
        }
        let mut frames = ap.send(plain(), &octets);
        station.receive(&mut frames[..1]);
        prop_assert_eq!(station.got(), vec![octets]);
    }
}
