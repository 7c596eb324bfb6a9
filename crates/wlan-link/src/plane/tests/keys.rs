//! Keys that are replaced, reinstalled and removed; and a hot path without allocations.

use super::*;

#[test]
fn replacing_a_key_loses_no_packet() {
    let (mut ap, [mut station, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    let mut in_flight = station.send(plain(), &packet(2, 1, 1, 100));
    ap.install(STATIONS[0], Direction::Receive, 1, Suite::Ccmp128, &OTHER_KEY);
    station.install(AP, Direction::Transmit, 1, Suite::Ccmp128, &OTHER_KEY);
    in_flight.extend(station.send(plain(), &packet(2, 1, 2, 100)));
    in_flight.reverse();
    ap.receive(&mut in_flight);
    assert_eq!(ap.got().len(), 2, "{:?}", ap.counters.read());
    let old = Key::new(&KEY[..Suite::Ccmp128.key_len()]);
    ap.published.retire(STATIONS[0], &old).unwrap();
    ap.receive(&mut station.send(plain(), &packet(2, 1, 3, 100)));
    assert_eq!(ap.got().len(), 1);
}

#[test]
fn reinstalling_a_key_does_not_reset_its_packet_numbers() {
    let (mut ap, [mut station, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    let first = station.send(plain(), &packet(2, 1, 1, 100));
    station.install(AP, Direction::Transmit, 0, Suite::Ccmp128, &KEY);
    station.install(AP, Direction::Transmit, 1, Suite::Ccmp128, &KEY);
    let second = station.send(plain(), &packet(2, 1, 1, 100));
    assert_ne!(
        first[0][26..34],
        second[0][26..34],
        "the same packet number under the same key"
    );
    ap.receive(&mut first.clone());
    ap.install(STATIONS[0], Direction::Receive, 0, Suite::Ccmp128, &KEY);
    ap.receive(&mut first.clone());
    assert_eq!((ap.got().len(), ap.counters.read().inbound.replayed), (1, 1));
    let other = PairwiseKey {
        key_id: KeyId::PAIRWISE,
        suite: Suite::Gcmp128,
        key: Key::new(&KEY[..16]),
        direction: Direction::Transmit,
    };
    let other = station.published.install(AP, other);
    assert!(other.is_err(), "the key stream would be used twice");
}

#[test]
fn nothing_is_sent_without_keys_or_stations() {
    let (mut ap, [mut station, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    assert!(station.published.remove(AP) && !station.published.remove(AP));
    assert_eq!(station.send(plain(), &packet(2, 1, 1, 100)).len(), 0);
    assert_eq!(station.counters.read().outbound.unroutable, 1);
    station.published.admit(AP, endpoint(AP), &[]).unwrap();
    assert_eq!(station.send(plain(), &packet(2, 1, 1, 100)).len(), 0);
    assert_eq!(station.counters.read().outbound.no_key, 1);
    assert_eq!(ap.send(plain(), &packet(1, 99, 1, 100)).len(), 0);
    assert_eq!(ap.counters.read().outbound.unroutable, 1);
    assert_eq!(ap.send(plain(), &packet(1, 2, 1, 1500)).len(), 0);
    assert_eq!(ap.counters.read().outbound.too_long, 1);
}

#[test]
fn the_hot_path_allocates_nothing() {
    let (mut ap, [mut station, ..]) = bss(Kind::Ip, Suite::Enhanced(wlan_ciphers::Lanes::Four), true);
    let frames: Vec<Vec<u8>> = (0..100)
        .flat_map(|tag| station.send(plain(), &packet(2, 1, tag, 700)))
        .collect();
    let relayed: Vec<Vec<u8>> = (0..40)
        .flat_map(|tag| station.send(plain(), &packet(2, 3, tag, 700)))
        .collect();
    let vnet = plain().emit();
    for tag in 0..50 {
        station
            .host
            .send(&[&vnet[..], &packet(2, 1, tag, 700)].concat())
            .unwrap();
    }
    /// Discards frames.
    struct Nowhere;
    impl Outlet for Nowhere {
        fn splits(&self) -> bool {
            true
        }
        fn broadcast(&self) -> Option<Endpoint> {
            None
        }
        fn send(&self, _: &[u8], _: &[Message]) -> usize {
            0
        }
    }
    ap.view.refresh();
    station.view.refresh();
    let mut frames = [frames, relayed].concat();
    let allocated = allocation_counter::measure(|| {
        let Pipeline {
            source,
            tun,
            view,
            egress,
            counters,
            ..
        } = &mut station;
        while source
            .read(tun, view.table(), egress, &Nowhere, &counters.outbound)
            .unwrap()
        {}
        egress.flush(view.table(), &Nowhere, &counters.outbound);
        let Pipeline {
            end,
            view,
            relay,
            tun,
            counters,
            control,
            ..
        } = &mut ap;
        let ingress = Ingress {
            end: *end,
            device: tun,
            outlet: &Nowhere,
            counters,
            control,
            mpdu_b: MPDU_B,
        };
        let frames = frames
            .iter_mut()
            .map(|frame| (endpoint(AP), frame.as_mut_slice()));
        view.refresh();
        ingress.receive(view.table(), relay, frames);
    });
    assert_eq!(station.counters.read().outbound.sealed, 190);
    let counted = ap.counters.read();
    assert_eq!((counted.inbound.opened, counted.relayed.sealed), (140, 40));
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
}
