//! Sources keep their rates and shapes; meters give the textbook values.

use proptest::prelude::*;

use super::*;

#[test]
fn cbr_packets_are_evenly_spaced_without_drift() {
    // 1470 octets at 7 Mbit/s: 1680 us.
    let mut cbr = Cbr::new(7_000_000, 1470, Nanos::from_ms(5), Pace::Even).unwrap();
    let first: Vec<Nanos> = cbr.by_ref().take(3).map(|d| d.at).collect();
    assert_eq!(first, [5_000, 6_680, 8_360].map(Nanos::from_us));
    // An error of a third of a nanosecond per packet would be 33 us after 100 000 packets.
    let last = Cbr::new(3, 1, Nanos::ZERO, Pace::Even).unwrap().nth(90).unwrap();
    assert_eq!(last.at, Nanos::from_secs(240));
}

/// A timer of 1 ms at 2.5 datagrams per ms: bursts of 3 and 2 datagrams, at the ends of the periods.
#[test]
fn a_timer_sends_what_is_due_when_it_expires() {
    let cbr = Cbr::new(20_000_000, 1000, Nanos::ZERO, Pace::Timer(Nanos::from_ms(1))).unwrap();
    let at: Vec<u64> = cbr.take(9).map(|d| d.at.0 / 1_000_000).collect();
    assert_eq!(at, [0, 1, 1, 2, 2, 2, 3, 3, 4]);
    // A datagram every 4 ms leaves at its time, which is the end of a period.
    let rare = Cbr::new(2_000_000, 1000, Nanos::ZERO, Pace::Timer(Nanos::from_ms(1))).unwrap();
    assert_eq!(rare.take(3).last().unwrap().at, Nanos::from_ms(8));
}

/// Bursts of `n` datagrams over a link that carries one datagram at a time: the transit time grows by the time on the
/// link, `n` - 1 times, and then falls by the sum.
#[test]
fn the_jitter_of_bursts_has_a_closed_form() {
    let on_link = Nanos::from_us(250);
    for n in [1, 2, 3, 4] {
        let mut jitter = Jitter::default();
        let rate_bps = 8_000_000 * n;
        let cbr = Cbr::new(rate_bps, 1000, Nanos::ZERO, Pace::Timer(Nanos::from_ms(1))).unwrap();
        let mut free_at = Nanos::ZERO;
        // The first datagram is a burst of its own.
        for (index, departure) in cbr.skip(1).take(8_000).enumerate() {
            free_at = free_at.max(departure.at) + on_link;
            jitter.record(departure.at, free_at);
            if index == 4_000 {
                jitter.start_mean(free_at);
            }
        }
        #[allow(clippy::cast_precision_loss)] // a few
        let expected_us = 250.0 * 2.0 * (n - 1) as f64 / n as f64;
        let mean_us = jitter.mean().as_us_f64();
        // The report is the mean over time, in which a burst's last value holds until the next burst.
        assert!(
            (mean_us - expected_us).abs() <= 0.05 * expected_us,
            "{n}: {mean_us} us"
        );
    }
}

/// iperf 2 between hosts whose clocks advance every 10 ms: 20 datagrams leave at each step of the sender's clock. If
/// the receiver's clock advances while they arrive, one of them seems 10 ms later than its predecessor and the next
/// burst 10 ms earlier: the mean jitter is twice the mean interval, 1 ms. Otherwise all of them seem to take the same time.
/// iperf 2 reports the jitter after the first datagram of a burst, where it is larger.
#[test]
fn coarse_clocks_give_a_jitter_of_more_than_twice_the_interval() {
    let jitter_us = |phase| {
        let step = Nanos::from_ms(10);
        let mut jitter = Jitter::by_clock(step, phase);
        let cbr = Cbr::new(16_000_000, 1000, Nanos::ZERO, Pace::Clock(step)).unwrap();
        let mut free_at = Nanos::ZERO;
        for departure in cbr.take(10_000) {
            free_at = free_at.max(departure.at) + Nanos::from_us(300);
            jitter.record(departure.at, free_at);
            if departure.at == Nanos::from_secs(1) {
                jitter.start_mean(free_at);
            }
        }
        jitter.mean().as_us_f64()
    };
    // Each step adds a sixteenth to the jitter, which each datagram reduces by a sixteenth. The receiver's clock advances
    // before the tenth of 20 datagrams, so that the jitter decays 11 times before the next burst.
    let kept = |datagrams| (15.0_f64 / 16.0).powi(datagrams);
    let expected_us = 10_000.0 / 16.0 * (1.0 + kept(11)) / (1.0 - kept(20));
    let during_us = jitter_us(Nanos::from_ms(3));
    assert!((during_us / expected_us - 1.0).abs() < 0.01, "{during_us} us");
    assert!(jitter_us(Nanos::from_ms(8)) < 1.0);
}

/// A program whose timer of 1 ms wakes it up 300 us later sends what is due then: of datagrams every 400 us, the first at
/// once, the second at 1.3 ms with the third and the fourth, which are due at 0.8 and 1.2 ms.
#[test]
fn a_program_that_wakes_up_late_sends_all_datagrams_that_are_due() {
    let late = WakeUp::Lognormal {
        mean: Nanos::from_us(300),
        deviation: Nanos::ZERO,
    };
    let times_us = |pace| -> Vec<u64> {
        let cbr = Cbr::new(20_000_000, 1000, Nanos::ZERO, pace).unwrap();
        let departures = cbr.with_wake_ups(late, 1);
        departures.take(6).map(|d| d.at.0 / 1000).collect()
    };
    assert_eq!(
        times_us(Pace::Timer(Nanos::from_ms(1))),
        [0, 1300, 1300, 1300, 2300, 2300]
    );
    assert_eq!(times_us(Pace::Even), [0, 700, 1100, 1500, 1900, 2300]);
    let spinning = Pace::Clock(Nanos::from_ms(1));
    assert_eq!(times_us(spinning), [0, 1000, 1000, 2000, 2000, 2000]);
}

#[test]
fn poisson_has_its_mean_and_the_variance_of_an_exponential() {
    let source = Poisson::new(8_000_000, 1000, Nanos::ZERO, 1).unwrap();
    let times: Vec<f64> = source.take(20_001).map(|d| d.at.as_us_f64()).collect();
    let gaps: Vec<f64> = times.windows(2).map(|t| t[1] - t[0]).collect();
    let mean = gaps.iter().sum::<f64>() / 20_000.0;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / 20_000.0;
    assert!((mean / 1000.0 - 1.0).abs() < 0.03, "{mean} us");
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.05);
}

#[test]
fn draws_are_the_same_on_every_machine() {
    // Fixed values: the test must fail if a new generator or different mathematics changes the results.
    let source = Poisson::new(8_000_000, 1000, Nanos::ZERO, 7).unwrap();
    let times: Vec<u64> = source.take(3).map(|d| d.at.0).collect();
    assert_eq!(times, vec![342_244, 2_653_074, 2_667_380]);
}

#[test]
fn a_client_pauses_after_each_answer() {
    let client = RequestResponse::new(100, 2000, Nanos::from_ms(10)).unwrap();
    let asked = client.next_request(Nanos::from_ms(3));
    assert_eq!((asked.at, asked.len_b), (Nanos::from_ms(13), 100));
    assert_eq!(client.response(Nanos::from_ms(14)).len_b, 2000);
}

#[test]
fn contradictory_traffic_is_refused() {
    let even = |rate_bps, packet_b| Cbr::new(rate_bps, packet_b, Nanos::ZERO, Pace::Even).unwrap_err();
    assert_eq!(even(1, 0), TrafficError::Packet);
    let (rate_bps, packet_b) = (0, 100);
    let error = TrafficError::Rate { rate_bps, packet_b };
    assert_eq!(even(rate_bps, packet_b), error);
    for pace in [Pace::Timer(Nanos::ZERO), Pace::Clock(Nanos::ZERO)] {
        assert_eq!(
            Cbr::new(1, 1, Nanos::ZERO, pace).unwrap_err(),
            TrafficError::Period
        );
    }
    assert_eq!(
        RequestResponse::new(1, 0, Nanos::ZERO).unwrap_err(),
        TrafficError::Packet
    );
}

#[test]
fn jitter_is_that_of_rfc_3550() {
    // Transit times alternate by 16 ms: J approaches 16 ms by 1/16 of the difference per packet.
    let mut jitter = Jitter::default();
    let mut expected = 0.0;
    for n in 0..200_u64 {
        let sent = Nanos::from_ms(20 * n);
        jitter.record(sent, sent + Nanos::from_ms(5 + 16 * (n % 2)));
        if n > 0 {
            expected += (16.0 - expected) / 16.0;
        }
        assert!((jitter.value().as_us_f64() / 1e3 - expected).abs() < 1e-4);
    }
    assert!(jitter.value() > Nanos(15_999_000));
}

#[test]
fn loss_counts_the_gaps() {
    let mut loss = Loss::default();
    assert_eq!(loss.share(), None);
    for sequence in [10, 11, 14, 13, 19] {
        loss.record(sequence);
    }
    assert_eq!(
        (loss.expected(), loss.received(), loss.share()),
        (10, 5, Some(0.5))
    );
}

#[test]
fn delays_beyond_the_longest_saturate_in_percentiles_only() {
    let mut delays = Delays::default();
    let day = Nanos::from_secs(86_400);
    delays.record(day);
    assert_eq!((delays.mean(), delays.max()), (Some(day), Some(day)));
    assert!(delays.percentile(50.0).unwrap() < Nanos::from_secs(3_700));
    assert_eq!(Delays::default().percentile(50.0), None);
}

#[test]
fn a_meter_allocates_nothing_over_time() {
    let mut meter = Meter::default();
    let measured = allocation_counter::measure(|| {
        for n in 0..10_000 {
            meter.record(n, Nanos(n), Nanos(n + n * n * 1000), 1400);
        }
    });
    assert_eq!(measured.count_total, 0);
    assert!((meter.goodput_mbps(Nanos::from_secs(1)) - 112.0).abs() < 1e-9);
}

proptest! {
    #[test]
    fn percentiles_are_those_of_the_sorted_delays(
        mut ns in prop::collection::vec(1_u64..10_000_000_000, 1..300),
        percent in 0.1_f64..100.0,
    ) {
        let (left, right) = ns.split_at(ns.len() / 2);
        let mut halves = [left, right].map(|half| {
            let mut delays = Delays::default();
            half.iter().for_each(|&ns| delays.record(Nanos(ns)));
            delays
        });
        let other = halves[1].clone();
        halves[0].merge(&other);
        let delays = &halves[0];
        ns.sort_unstable();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let rank = ((percent / 100.0 * ns.len() as f64).ceil() as usize).clamp(1, ns.len());
        let exact = ns[rank - 1];
        let found = delays.percentile(percent).unwrap().0;
        prop_assert!(found >= exact && found <= exact + exact / 500, "{} against {}", found, exact);
        prop_assert_eq!(delays.max(), ns.last().map(|&ns| Nanos(ns)));
        let sum: u64 = ns.iter().sum();
        prop_assert_eq!(delays.mean(), Some(Nanos(sum / ns.len() as u64)));
    }
}
