//! Networks that lose, duplicate, damage and reorder frames.

use proptest::prelude::*;

use super::*;

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
    ) {
        let (mut ap, [station, ..]) = bss(kind, Suite::Ccmp128, true);
        if real_header {
            for frame in &mut frames {
                let mut header = station.end.header(AP);
                header[1] |= 0x40;
                for (to, from) in frame.iter_mut().zip(header) {
                    *to = from;
                }
            }
        }
        let count = frames.len() as u64;
        ap.receive(&mut frames);
        let counted = ap.counters.read().inbound;
        prop_assert_eq!((counted.frames, counted.opened), (count, 0));
    }

    #[test]
    fn every_kind_of_ethernet_frame_arrives_unchanged(
        header in any::<[u8; ETHERNET_B]>(),
        payload in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let (mut ap, [mut station, ..]) = bss(Kind::Ethernet, Suite::Gcmp128, true);
        let mut octets = [&header[..], &payload].concat();
        octets[..6].copy_from_slice(&STATIONS[0].0);
        // A length field must equal the length of the payload (IEEE Std 802.3-2018 3.2.6).
        let field = u16::from_be_bytes([octets[12], octets[13]]);
        if field < 0x600 {
            octets[12..14].copy_from_slice(&u16::try_from(payload.len()).unwrap().to_be_bytes());
        }
        let mut frames = ap.send(plain(), &octets);
        station.receive(&mut frames);
        prop_assert_eq!(station.got(), vec![octets]);
    }
}
