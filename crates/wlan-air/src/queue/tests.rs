//! The behaviour that RFC 8290 requires of a queue.

use proptest::prelude::*;

use super::*;

const FQ: Discipline = Discipline::FqCodel(FqCodelConfig::rfc8290());

fn packet(at: Nanos, flow: u32, len_b: usize, frame: u64) -> Packet<u64> {
    Packet {
        arrival: at,
        len_b,
        flow,
        frame,
    }
}

fn next(queue: &mut Queue<u64>, now: Nanos, dropped: &mut Vec<Packet<u64>>) -> Option<Packet<u64>> {
    let head = queue.head(now, dropped).copied();
    assert_eq!(queue.head(now, dropped).copied(), head, "the head changed");
    assert_eq!(queue.pop(), head);
    head
}

#[test]
fn a_full_fifo_drops_arrivals() {
    let mut queue = Queue::new(Discipline::Fifo, 2).unwrap();
    for frame in 0..4 {
        let dropped = queue.push(packet(Nanos::ZERO, 0, 100, frame));
        assert_eq!(dropped.map(|p| p.frame), (frame > 1).then_some(frame));
    }
    let out = [queue.pop(), queue.pop(), queue.pop()].map(|p| p.map(|p| p.frame));
    assert_eq!(out, [Some(0), Some(1), None]);
}

#[test]
fn a_full_fq_codel_drops_from_the_head_of_the_fattest_flow() {
    let mut queue = Queue::new(FQ, 4).unwrap();
    for (flow, len_b, frame) in [(1, 100, 0), (2, 1500, 1), (1, 100, 2), (1, 100, 3)] {
        assert_eq!(queue.push(packet(Nanos::ZERO, flow, len_b, frame)), None);
    }
    let dropped = queue.push(packet(Nanos::ZERO, 3, 100, 4)).unwrap();
    assert_eq!((dropped.flow, dropped.frame), (2, 1), "octets count, not packets");
    assert_eq!(queue.len(), 4);
}

#[test]
fn flows_share_octets_fairly_not_packets() {
    let mut queue = Queue::new(FQ, 10_000).unwrap();
    for i in 0..3000 {
        queue.push(packet(Nanos::ZERO, 1, 1500, i));
        queue.push(packet(Nanos::ZERO, 2, 300, i));
    }
    let mut octets = [0, 0, 0];
    for _ in 0..1800 {
        let sent = next(&mut queue, Nanos::ZERO, &mut Vec::new()).unwrap();
        octets[sent.flow as usize] += sent.len_b;
    }
    assert!(octets[1].abs_diff(octets[2]) <= 2 * 1514, "{octets:?}");
}

#[test]
fn a_sparse_flow_is_served_before_backlogged_flows() {
    let mut queue = Queue::new(FQ, 1000).unwrap();
    for i in 0..100 {
        queue.push(packet(Nanos::ZERO, 1, 1500, i));
        queue.push(packet(Nanos::ZERO, 2, 1500, i));
    }
    for round in 0..20 {
        for _ in 0..4 {
            assert_ne!(next(&mut queue, Nanos::ZERO, &mut Vec::new()).unwrap().flow, 3);
        }
        queue.push(packet(Nanos::ZERO, 3, 100, round));
        // At most the rest of the current turn.
        let flows: Vec<u32> = (0..3)
            .map(|_| next(&mut queue, Nanos::ZERO, &mut Vec::new()).unwrap().flow)
            .collect();
        assert!(flows.contains(&3), "round {round}: {flows:?}");
    }
}

/// One packet per millisecond leaves, and 11 arrive in 10 ms regardless of drops.
#[test]
fn codel_bounds_the_delay_and_a_fifo_does_not() {
    let worst_delay = |discipline| {
        let mut queue = Queue::new(discipline, 1000).unwrap();
        let mut dropped = Vec::new();
        let mut worst = Nanos::ZERO;
        for ms in 0..20_000_u64 {
            let now = Nanos::from_ms(ms);
            for _ in 0..=u64::from(ms % 10 == 0) {
                queue.push(packet(now, 1, 1500, ms));
            }
            if let Some(sent) = next(&mut queue, now, &mut dropped)
                && ms > 15_000
            {
                worst = worst.max(now - sent.arrival);
            }
        }
        worst
    };
    assert!(worst_delay(Discipline::Fifo) > Nanos::from_ms(990));
    let codel = worst_delay(FQ);
    assert!(codel < Nanos::from_ms(50), "{codel}");
}

#[test]
fn contradictory_queues_are_refused() {
    let error = |discipline, limit| Queue::<u64>::new(discipline, limit).unwrap_err();
    let fq = FqCodelConfig::rfc8290();
    assert_eq!(error(Discipline::Fifo, 0), QueueError::Limit);
    let flows = FqCodelConfig { flows: 0, ..fq };
    assert_eq!(error(Discipline::FqCodel(flows), 1), QueueError::Flows);
    let quantum = FqCodelConfig { quantum_b: 0, ..fq };
    assert_eq!(error(Discipline::FqCodel(quantum), 1), QueueError::Quantum);
    let interval = Nanos::from_secs(5);
    let long = FqCodelConfig { interval, ..fq };
    assert_eq!(
        error(Discipline::FqCodel(long), 1),
        QueueError::Interval(interval)
    );
}

#[test]
fn a_grown_queue_allocates_nothing() {
    for discipline in [Discipline::Fifo, FQ] {
        let mut queue = Queue::new(discipline, 100).unwrap();
        let mut dropped = Vec::with_capacity(200);
        let mut run = |from: u64| {
            for ms in from..from + 500 {
                for flow in 0..7 {
                    queue.push(packet(Nanos::from_ms(ms), flow, 1500, ms));
                }
                for _ in 0..3 {
                    dropped.clear();
                    next(&mut queue, Nanos::from_ms(ms), &mut dropped);
                }
            }
        };
        run(0);
        assert_eq!(allocation_counter::measure(|| run(500)).count_total, 0);
    }
}

proptest! {
    #[test]
    fn every_packet_leaves_once_in_the_order_of_its_flow(
        steps in prop::collection::vec((0_u32..6, 40_usize..1600, 0_u64..8, prop::bool::ANY), 1..400),
        limit in 1_usize..60,
        fair: bool,
    ) {
        let config = FqCodelConfig { flows: 4, ..FqCodelConfig::rfc8290() };
        let discipline = if fair { Discipline::FqCodel(config) } else { Discipline::Fifo };
        let mut queue = Queue::new(discipline, limit).unwrap();
        let mut now = Nanos::ZERO;
        let (mut sent, mut dropped) = (Vec::new(), Vec::new());
        for (number, &(flow, len_b, wait_ms, take)) in steps.iter().enumerate() {
            now += Nanos::from_ms(wait_ms);
            dropped.extend(queue.push(packet(now, flow, len_b, number as u64)));
            prop_assert!(queue.len() <= limit);
            if take {
                sent.extend(next(&mut queue, now, &mut dropped));
            }
        }
        while let Some(last) = next(&mut queue, now, &mut dropped) {
            sent.push(last);
        }
        prop_assert!(queue.is_empty());
        for flow in 0..6 {
            let frames: Vec<u64> = sent.iter().filter(|p| p.flow == flow).map(|p| p.frame).collect();
            prop_assert!(frames.is_sorted());
        }
        let mut all: Vec<u64> = sent.iter().chain(&dropped).map(|p| p.frame).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..steps.len() as u64).collect::<Vec<_>>());
    }
}
