//! Losses: detection, repair, and their effect on the window.

use proptest::prelude::*;

use super::*;
use CongestionControl::{Cubic, Reno};

/// First octet of the n-th full segment.
fn first_of(n: u64) -> u64 {
    n * u64::from(MSS_IPV4_B)
}

#[test]
fn a_gap_is_filled_after_three_duplicates_and_the_window_is_halved() {
    // Slow start ends at 40 segments; the 500th segment is lost.
    let mut pipe = Pipe::linux(Reno, 100.0, 25, 1000).losing(|n, _| n == 500);
    pipe.sender.leave_slow_start_at(40);
    let mut window = 0;
    while !pipe
        .sent
        .last()
        .is_some_and(|(_, segment)| segment.retransmission)
    {
        window = pipe.sender.congestion_window();
        pipe.step();
    }
    let (at, again) = *pipe.sent.last().unwrap();
    assert_eq!(again.seq, first_of(500));
    let lost_at = pipe.sent.iter().find(|(_, s)| s.seq == first_of(500)).unwrap().0;
    let waited = at - lost_at;
    assert!(
        waited > Nanos::from_ms(50) && waited < Nanos::from_ms(60),
        "{waited}"
    );
    let duplicates = pipe
        .acks
        .iter()
        .filter(|(arrival, s)| *arrival <= at && s.ack == first_of(500) && !s.sack.blocks().is_empty());
    assert_eq!(duplicates.count(), 3);
    pipe.run_until(at + Nanos::from_ms(60));
    let counters = pipe.sender.counters();
    assert_eq!(
        (counters.recoveries, counters.retransmissions, counters.timeouts),
        (1, 1, 0)
    );
    assert!(pipe.sender.congestion_window().abs_diff(window / 2) <= 2);
}

#[test]
fn all_losses_of_a_window_recover_in_one_round_trip() {
    let lost = |n: u64| (600..640).contains(&n) && n.is_multiple_of(2);
    let mut pipe = Pipe::linux(Reno, 100.0, 25, 2000).losing(move |n, _| lost(n));
    pipe.sender.leave_slow_start_at(200);
    while pipe.sender.acked_b() <= first_of(640) {
        pipe.step();
    }
    let counters = pipe.sender.counters();
    assert_eq!(
        (counters.recoveries, counters.retransmissions, counters.timeouts),
        (1, 20, 0)
    );
    let again: Vec<Nanos> = pipe
        .sent
        .iter()
        .filter(|(_, s)| s.retransmission)
        .map(|&(at, _)| at)
        .collect();
    let spread = again[again.len() - 1] - again[0];
    assert!(spread < Nanos::from_ms(55), "{spread}");
}

#[test]
fn a_lost_retransmission_is_detected_without_a_timeout() {
    // RFC 8985, 1: RFC 6675 cannot detect this loss.
    let mut times = 0;
    let mut pipe = Pipe::linux(Cubic, 100.0, 25, 2000).losing(move |_, segment| {
        let lost = segment.seq == first_of(500) && times < 2;
        times += u32::from(lost);
        lost
    });
    while pipe.sender.acked_b() <= first_of(501) {
        pipe.step();
    }
    let counters = pipe.sender.counters();
    assert_eq!((counters.retransmissions, counters.timeouts), (2, 0));
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    let config = SenderConfig {
        supply: Supply::Octets(first_of(8)),
        ..SenderConfig::bulk(Cubic)
    };
    let mut pipe =
        Pipe::new(config, ReceiverConfig::linux(), 100.0, Nanos::from_ms(10), 100).losing(|n, _| n == 7);
    while !pipe.sender.is_done() {
        pipe.step();
    }
    let counters = pipe.sender.counters();
    assert_eq!(
        (counters.probes, counters.timeouts, counters.retransmissions),
        (1, 0, 1)
    );
    assert!(pipe.now < Nanos::from_ms(300), "{}", pipe.now);
}

#[test]
fn consecutive_timeouts_double() {
    // After a probe: every segment from the 10th on is lost.
    let mut pipe = Pipe::linux(Cubic, 100.0, 10, 100).losing(|n, _| n >= 10);
    pipe.run_until(Nanos::from_secs(30));
    let head: Vec<Nanos> = pipe
        .sent
        .iter()
        .filter(|(_, s)| s.retransmission && s.seq == first_of(10))
        .map(|&(at, _)| at)
        .collect();
    assert!(head.len() >= 6, "{head:?}");
    for three in head.windows(3) {
        assert_eq!(three[2] - three[1], (three[1] - three[0]) * 2);
    }
    // A round-trip time of 20 ms plus 200 ms, doubled (RFC 6298; Linux's minimum).
    let first = (head[1] - head[0]).as_us_f64() / 1e3;
    assert!((440.0..445.0).contains(&first), "{first} ms");
    assert_eq!(pipe.sender.congestion_window(), 1);
}

#[test]
fn after_a_timeout_slow_start_delivers_everything_again() {
    let mut pipe = Pipe::linux(Cubic, 100.0, 10, 100)
        .losing(|_, segment| (Nanos::from_ms(500)..Nanos::from_ms(1500)).contains(&segment.sent_at));
    pipe.run_until(Nanos::from_secs(5));
    assert!(pipe.sender.counters().timeouts > 0);
    let goodput = pipe.goodput_mbps(Nanos::from_secs(5), Nanos::from_secs(10));
    assert!(goodput > 90.0, "{goodput}");
}

#[test]
fn a_spurious_recovery_is_undone() {
    // No segment moves for 400 ms, and none is lost: RFC 3522.
    let receiver = ReceiverConfig {
        window: Window::Fixed(first_of(60)),
        ..ReceiverConfig::linux()
    };
    let mut pipe = Pipe::new(SenderConfig::bulk(Reno), receiver, 50.0, Nanos::from_ms(10), 1000);
    pipe.run_until(Nanos::from_secs(1));
    let window = pipe.sender.congestion_window();
    for (at, _) in pipe.forth.iter_mut().chain(&mut pipe.back) {
        *at += Nanos::from_ms(400);
    }
    pipe.free_at += Nanos::from_ms(400);
    pipe.run_until(Nanos::from_ms(1600));
    let counters = pipe.sender.counters();
    assert!(counters.timeouts >= 1 && counters.undone == 1, "{counters:?}");
    assert!(pipe.sender.congestion_window() >= window);
}

/// Both ends with segments that may be lost, delayed and thus reordered. Returns the octets delivered.
fn deliver(octets: u64, congestion: CongestionControl, fates: &[(bool, u64)]) -> Result<u64, TestCaseError> {
    let config = SenderConfig {
        supply: Supply::Octets(octets),
        ..SenderConfig::bulk(congestion)
    };
    let mut sender = Sender::new(config).unwrap();
    let mut receiver = Receiver::new(ReceiverConfig::linux()).unwrap();
    sender.open(Nanos::ZERO);
    // Segments in transit: the arrival time, and whether they travel to the receiver.
    let mut way: Vec<(Nanos, bool, Segment)> = Vec::new();
    let mut fate = fates.iter().cycle();
    let mut now = Nanos::ZERO;
    let mut arrived: Vec<Span> = Vec::new();
    for events in 0.. {
        prop_assert!(events < 200_000, "the transfer never ends");
        let mut launch = |segment: Segment, forth: bool| {
            let &(lost, delay_ms) = fate.next().unwrap();
            if !lost {
                way.push((now + Nanos::from_ms(1 + delay_ms), forth, segment));
            }
        };
        while let Some(segment) = sender.poll(now) {
            prop_assert!(segment.span().end <= octets);
            launch(segment, true);
        }
        if sender.is_done() {
            break;
        }
        let next = way
            .iter()
            .enumerate()
            .min_by_key(|(i, (at, ..))| (*at, *i))
            .map(|(i, _)| i);
        let arrival = next.map(|i| way[i].0);
        let timers = [sender.next_timeout(), receiver.next_timeout()];
        now = [arrival, timers[0], timers[1]]
            .into_iter()
            .flatten()
            .min()
            .unwrap();
        let answer = if let Some(i) = next.filter(|_| arrival == Some(now)) {
            let (_, forth, segment) = way.remove(i);
            if forth {
                arrived.push(segment.span());
                let answer = receiver.on_segment(now, &segment);
                answer.or(receiver.read(now))
            } else {
                sender.on_segment(now, &segment);
                None
            }
        } else {
            sender.on_timeout(now);
            receiver.on_timeout(now)
        };
        if let Some(segment) = answer {
            let &(lost, delay_ms) = fates.iter().cycle().nth(events % fates.len()).unwrap();
            if !lost {
                way.push((now + Nanos::from_ms(1 + delay_ms), false, segment));
            }
        }
        // The receiver counts exactly the octets that arrived without a gap.
        let mut reached = 0;
        arrived.sort_unstable_by_key(|span| span.start);
        for span in &arrived {
            if span.start <= reached {
                reached = reached.max(span.end);
            }
        }
        prop_assert_eq!(receiver.received_b(), reached);
        prop_assert!(sender.acked_b() <= reached);
        arrived.retain(|span| span.end > reached);
        arrived.insert(
            0,
            Span {
                start: 0,
                end: reached,
            },
        );
    }
    Ok(receiver.received_b())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn all_octets_arrive_once_despite_loss_and_reordering(
        octets in 1_u64..200_000,
        reno: bool,
        fates in prop::collection::vec((prop::bool::weighted(0.15), 0_u64..30), 20..97),
    ) {
        let congestion = if reno { Reno } else { Cubic };
        // Enough segments must arrive, or the transfer never ends.
        prop_assume!(fates.iter().filter(|(lost, _)| !lost).count() * 2 > fates.len());
        prop_assert_eq!(deliver(octets, congestion, &fates)?, octets);
    }
}
