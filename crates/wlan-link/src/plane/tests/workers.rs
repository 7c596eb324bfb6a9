//! Several workers per end: no packet of a flow overtakes another.

use std::collections::VecDeque;
use std::os::fd::AsFd;

use proptest::prelude::*;

use super::*;
use crate::plane::steering::Share;

/// Sockets of `workers` workers, each with the kernel's filter for its share, and the end that sends to all of them.
fn filtered(workers: usize) -> Vec<(UnixDatagram, UnixDatagram)> {
    (0..workers)
        .map(|worker| {
            let (sender, socket) = UnixDatagram::pair().unwrap();
            socket.set_nonblocking(true).unwrap();
            Share { worker, workers }.select(socket.as_fd()).unwrap();
            (sender, socket)
        })
        .collect()
}

/// The workers that receive a frame.
fn receivers(sockets: &[(UnixDatagram, UnixDatagram)], frame: &[u8]) -> Vec<usize> {
    let receives = |(sender, socket): &(UnixDatagram, UnixDatagram)| {
        // The kernel reports a dropped datagram as sent.
        sender.send(frame).unwrap();
        socket.recv(&mut [0; 2048]).is_ok()
    };
    (0..)
        .zip(sockets)
        .filter(|(_, pair)| receives(pair))
        .map(|(n, _)| n)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_frame_has_one_worker(
        frame in proptest::collection::vec(any::<u8>(), 1..80),
        workers in 1_usize..=8,
    ) {
        let found = receivers(&filtered(workers), &frame);
        prop_assert_eq!(found.len(), 1);
        if frame.len() < 25 || frame[0] & 0xc == 0 {
            let address: usize = frame.get(15).copied().unwrap_or(0).into();
            prop_assert!(frame.len() >= 25 && found[0] == address % workers || found[0] == 0);
        }
    }

    /// Two stations with several workers each send flows to an access point with several workers. The network delays
    /// every worker's frames by any amount but keeps their order, and the access point's workers run in any order. The
    /// host receives all packets, and those of a flow in order.
    #[test]
    fn flows_arrive_complete_and_in_order(
        sending in 1_u8..=4,
        receiving in 1_usize..=4,
        flows in proptest::collection::vec((0_usize..2, 0_usize..4, 1_usize..60), 1..12),
        schedule in proptest::collection::vec((any::<bool>(), any::<prop::sample::Index>(), 1_usize..40), 1..200),
    ) {
        let suite = Suite::Ccmp128;
        let end = |role, address| End { role, address, kind: Kind::Ip };
        let (first_ap, [first_a, first_b, _]) = bss(Kind::Ip, suite, true);
        let mut senders: Vec<Pipeline> = [(first_a, STATIONS[0]), (first_b, STATIONS[1])]
            .into_iter()
            .flat_map(|(first, address)| {
                (0..sending).map(move |tid| {
                    Pipeline::worker(end(Role::Sta, address), Tid(tid), Arc::clone(&first.published), true)
                })
            })
            .collect();
        let mut workers: Vec<Pipeline> = (0..receiving)
            .map(|_| Pipeline::worker(end(Role::Ap, AP), Tid(0), Arc::clone(&first_ap.published), true))
            .collect();
        let sockets = filtered(receiving);
        // What each sending worker has still to send, what is on its way to each receiving worker.
        let mut waiting: Vec<VecDeque<Vec<u8>>> = senders.iter().map(|_| VecDeque::new()).collect();
        for (flow, &(station, worker, packets)) in (0_u32..).zip(&flows) {
            let queue = &mut waiting[station * usize::from(sending) + worker % usize::from(sending)];
            for n in 0..u32::try_from(packets).unwrap() {
                let host = u8::try_from(station).unwrap() + 2;
                queue.push_back(packet(host, 1, flow << 16 | n, 10));
            }
        }
        let count = waiting.iter().map(VecDeque::len).sum::<usize>();
        let mut on_air: Vec<VecDeque<Vec<u8>>> = workers.iter().map(|_| VecDeque::new()).collect();
        let mut got = Vec::new();
        let all = (0..senders.len()).map(|n| (true, n, usize::MAX));
        let rest = all.chain((0..receiving).map(|n| (false, n, usize::MAX)));
        let asked = schedule.iter().map(|(sends, index, count)| {
            let ends = if *sends { waiting.len() } else { receiving };
            (*sends, index.index(ends), *count)
        });
        for (sends, index, count) in asked.collect::<Vec<_>>().into_iter().chain(rest) {
            if sends {
                let queue = &mut waiting[index];
                for octets in queue.drain(..count.min(queue.len())) {
                    let frame = senders[index].send(plain(), &octets).remove(0);
                    let to = receivers(&sockets, &frame);
                    on_air[to[0]].push_back(frame);
                }
            } else {
                let queue = &mut on_air[index];
                let mut frames: Vec<Vec<u8>> = queue.drain(..count.min(queue.len())).collect();
                // The queue of the test's device holds fewer than 300 packets.
                for some in frames.chunks_mut(100) {
                    workers[index].receive(some);
                    got.extend(workers[index].got());
                }
            }
        }
        prop_assert_eq!(got.len(), count);
        for flow in (0_u32..).take(flows.len()) {
            let tags = got.iter().map(|packet| u32::from_be_bytes(*packet[24..].first_chunk().unwrap()));
            let numbers: Vec<u32> = tags.filter(|tag| tag >> 16 == flow).map(|tag| tag & 0xffff).collect();
            prop_assert!(numbers.is_sorted(), "{numbers:?}");
        }
    }
}

#[test]
fn a_worker_that_sends_late_loses_no_frame_to_the_window() {
    let (mut ap, [mut fast, ..]) = bss(Kind::Ip, Suite::Ccmp128, true);
    let mut late = Pipeline::worker(fast.end, Tid(1), Arc::clone(&fast.published), true);
    let mut held = late.send(plain(), &packet(2, 1, 1, 10));
    // More frames than the window holds overtake it.
    for n in 0..5000 {
        let mut frames = fast.send(plain(), &packet(2, 1, n, 10));
        ap.receive(&mut frames);
        assert_eq!(ap.got().len(), 1);
    }
    ap.receive(&mut held.clone());
    assert_eq!(ap.got(), [packet(2, 1, 1, 10)]);
    ap.receive(&mut held);
    assert_eq!((ap.got().len(), ap.counters.read().inbound.replayed), (0, 1));
}
