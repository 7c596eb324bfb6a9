//! Throughput compared with published laws.

use super::*;
use CongestionControl::{Cubic, Reno};

/// Goodput in segments per round trip if every `period`-th segment is lost on a path that is never full.
fn mean_window(congestion: CongestionControl, delay_ms: u64, period: u64, seconds: u64) -> f64 {
    let mut pipe =
        Pipe::linux(congestion, 1e5, delay_ms, 100_000).losing(move |n, _| n % period == period - 1);
    let from = Nanos::from_secs(seconds / 3);
    let to = from + Nanos::from_secs(seconds);
    let goodput_mbps = pipe.goodput_mbps(from, to);
    assert_eq!(pipe.sender.counters().timeouts, 0);
    goodput_mbps * 1e6 / 8.0 / f64::from(MSS_IPV4_B) * (2.0 * Nanos::from_ms(delay_ms).as_secs_f64())
}

#[test]
fn reno_follows_the_inverse_root_of_the_loss() {
    // Mathis et al. (1997): a sawtooth from W/2 to W with 3/8 W^2 segments per loss has the mean sqrt(3 /
    // 2p). Every acknowledged segment counts, so delayed ACKs do not change it. The law ignores recovery, one
    // round trip without growth at half the window, which lowers the mean by at most 2 segments.
    for (period, delay_ms, seconds) in [(200, 10, 30), (1000, 10, 40), (1000, 50, 100), (5000, 10, 50)] {
        let law = (1.5 * f64::from(u32::try_from(period).unwrap())).sqrt();
        let found = mean_window(Reno, delay_ms, period, seconds);
        assert!(
            (law - 2.0..=law).contains(&found),
            "1/{period}, {delay_ms} ms: {found:.1} against {law:.1}"
        );
    }
}

#[test]
fn cubic_follows_its_response_function() {
    // RFC 9438, 5.1: (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4), which applies where Reno would
    // have less. The law ignores fast convergence, which makes the plateau depend on the position of a loss
    // in its cycle: from one loss per 10 000 segments on, it acts on fewer losses, and the window is up to 20 % larger.
    let per_loss: f64 = 0.4 * 3.7 / (4.0 * 0.3);
    let law = per_loss.powf(0.25) * (0.1 * 9000_f64).powf(0.75);
    let found = mean_window(Cubic, 50, 9000, 60);
    assert!((found / law - 1.0).abs() < 0.15, "{found:.1} against {law:.1}");
}

#[test]
fn a_buffer_of_one_round_trip_keeps_the_bottleneck_busy() {
    for congestion in [Reno, Cubic] {
        let mut pipe = Pipe::linux(congestion, 20.0, 10, 50);
        let goodput = pipe.goodput_mbps(Nanos::from_secs(2), Nanos::from_secs(12));
        let full = 20.0 * 1448.0 / 1500.0;
        // Octets above a gap at the start or the end of the window are at most 40 segments, 0.24 % of the goodput.
        assert!((goodput / full - 1.0).abs() < 0.0025, "{congestion:?}: {goodput}");
        assert!(pipe.drops > 0);
    }
}

#[test]
fn equal_runs_are_equal() {
    let run = || {
        let mut pipe = Pipe::linux(Cubic, 30.0, 7, 40).losing(|n, _| n % 997 == 5);
        pipe.run_until(Nanos::from_secs(3));
        (
            pipe.receiver.received_b(),
            pipe.sender.counters(),
            pipe.acks.len(),
            pipe.now,
        )
    };
    assert_eq!(run(), run());
}
