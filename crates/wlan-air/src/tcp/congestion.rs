//! Growth of the congestion window and its reduction after a loss: Reno (RFC 5681) and CUBIC (RFC 9438).
//!
//! Windows count segments, as in Linux.

use crate::Nanos;

/// A congestion control algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CongestionControl {
    /// Grows by one segment per round trip, halves after a loss (RFC 5681).
    Reno,
    /// Grows with the cubic of the time since the last loss (RFC 9438), with `HyStart`: Linux's default.
    Cubic,
}

/// Slow start threshold before the first loss.
pub(super) const NO_THRESHOLD: u32 = i32::MAX as u32;

/// The congestion window.
#[derive(Clone, Debug)]
pub(super) struct Cwnd {
    /// Segments that may be in flight.
    pub(super) segments: u32,
    /// Slow start is used below this window.
    pub(super) threshold: u32,
    /// Acknowledged segments that count towards the next increase.
    pub(super) credit: u32,
    law: Law,
}

#[derive(Clone, Debug)]
enum Law {
    Reno,
    Cubic(Cubic),
}

/// The input of congestion control from an acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub(super) now: Nanos,
    /// Octets acknowledged and octets sent, counted from the first octet of the stream.
    pub(super) acked: u64,
    pub(super) sent: u64,
    /// Round-trip time of the latest acknowledged segment.
    pub(super) rtt: Nanos,
    /// Duration of 4 maximum bursts of the sender, at most 1 ms.
    pub(super) burst: Nanos,
}

impl Cwnd {
    pub(super) fn new(control: CongestionControl, initial: u32) -> Cwnd {
        Cwnd {
            segments: initial,
            threshold: NO_THRESHOLD,
            credit: 0,
            law: match control {
                CongestionControl::Reno => Law::Reno,
                CongestionControl::Cubic => Law::Cubic(Cubic::default()),
            },
        }
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.segments < self.threshold
    }

    /// Records a round-trip time, after which CUBIC's `HyStart` may end slow start.
    pub(super) fn measured(&mut self, round: &Round) {
        let slow_start = self.in_slow_start();
        if let Law::Cubic(cubic) = &mut self.law
            && cubic.measured(round, slow_start, self.segments)
        {
            self.threshold = self.segments;
        }
    }

    /// `acked` segments left the network while the window limited the sender.
    pub(super) fn grow(&mut self, now: Nanos, mut acked: u32) {
        if self.in_slow_start() {
            let grown = (self.segments + acked).min(self.threshold);
            acked -= grown - self.segments;
            self.segments = grown;
            if acked == 0 {
                return;
            }
        }
        let per_segment = match &mut self.law {
            Law::Reno => self.segments,
            Law::Cubic(cubic) => cubic.update(now, self.segments, acked),
        };
        if self.credit >= per_segment {
            self.credit = 0;
            self.segments += 1;
        }
        self.credit += acked;
        self.segments += self.credit / per_segment;
        self.credit %= per_segment;
    }

    /// The slow start threshold after a loss.
    pub(super) fn after_loss(&mut self) -> u32 {
        match &mut self.law {
            Law::Reno => (self.segments / 2).max(2),
            Law::Cubic(cubic) => cubic.after_loss(self.segments),
        }
    }

    /// Discards the state of the path after a retransmission timeout.
    pub(super) fn timed_out(&mut self, now: Nanos, sent: u64) {
        if let Law::Cubic(cubic) = &mut self.law {
            *cubic = Cubic::default();
            cubic.start_round(now, sent);
        }
    }

    /// The connection opens, and the first round of slow start begins.
    pub(super) fn opened(&mut self, now: Nanos) {
        if let Law::Cubic(cubic) = &mut self.law {
            cubic.start_round(now, 0);
        }
    }

    /// The sender was idle for this long, which the cubic function does not count.
    pub(super) fn idled(&mut self, idle: Nanos) {
        if let Law::Cubic(Cubic {
            epoch: Some(start), ..
        }) = &mut self.law
        {
            *start += idle;
        }
    }
}

/// Multiplicative decrease in 1/1024: 0.7 (RFC 9438, 4.6).
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1024;
/// Acknowledged segments, in eighths of a window, per additional segment of the Reno-friendly window: the
/// inverse of alpha = 3 (1 - beta) / (1 + beta), rounded as in Linux (RFC 9438, 4.3).
const RENO_ACKED_EIGHTHS: u64 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// C = 0.4 segments per second cubed, as 410 / 1024 (RFC 9438, 5).
const C_1024: u64 = 410;
/// Fraction bits of the time in seconds.
const TIME_BITS: u32 = 10;
/// Minimum time until an unchanged window is computed again.
const UPDATE_INTERVAL: Nanos = Nanos(31_250_000);

/// Slow start can end only above this window, segments.
const HYSTART_LOW_WINDOW: u32 = 16;
/// Maximum distance of the ACKs of one train.
const HYSTART_ACK_GAP: Nanos = Nanos::from_ms(2);
/// Number of round-trip times in a round before the smallest is used.
const HYSTART_SAMPLES: u8 = 8;
/// Growth of the smallest round-trip time that ends slow start: an eighth, within these bounds.
const HYSTART_DELAY: (Nanos, Nanos) = (Nanos::from_ms(4), Nanos::from_ms(16));

#[derive(Clone, Debug, Default)]
struct Cubic {
    /// Window at the last loss, segments.
    last_max: u32,
    last_window: u32,
    last_update: Nanos,
    /// Start of the current congestion avoidance.
    epoch: Option<Nanos>,
    /// Time from the epoch to the plateau, 1/1024 s.
    k: u64,
    /// Window of the plateau.
    origin: u32,
    /// Acknowledged segments per additional segment of the window.
    per_segment: u32,
    /// The window that Reno would have.
    reno_window: u32,
    reno_acked: u64,
    /// Smallest round-trip time.
    min_rtt: Option<Nanos>,
    round_start: Nanos,
    round_end: u64,
    round_rtt: Option<Nanos>,
    round_samples: u8,
    last_ack: Nanos,
    found: bool,
}

impl Cubic {
    fn start_round(&mut self, now: Nanos, sent: u64) {
        self.round_start = now;
        self.last_ack = now;
        self.round_end = sent;
        self.round_rtt = None;
        self.round_samples = 0;
    }

    /// Records a round-trip time. Returns whether slow start ends.
    fn measured(&mut self, round: &Round, slow_start: bool, window: u32) -> bool {
        // Round-trip times right after a recovery are not representative of the path.
        if self
            .epoch
            .is_some_and(|start| round.now < start + Nanos::from_secs(1))
        {
            return false;
        }
        let min_rtt = self.min_rtt.map_or(round.rtt, |min| min.min(round.rtt));
        self.min_rtt = Some(min_rtt);
        if self.found || !slow_start {
            return false;
        }
        if round.acked > self.round_end {
            self.start_round(round.now, round.sent);
        }
        if window < HYSTART_LOW_WINDOW {
            return false;
        }
        if round.now.saturating_sub(self.last_ack) <= HYSTART_ACK_GAP {
            self.last_ack = round.now;
            // If the ACKs of a round continue for half the round-trip time, the forward path is full.
            self.found = round.now.saturating_sub(self.round_start).0 > (min_rtt + round.burst).0 / 2;
        }
        let round_rtt = self.round_rtt.map_or(round.rtt, |least| least.min(round.rtt));
        self.round_rtt = Some(round_rtt);
        if self.round_samples < HYSTART_SAMPLES {
            self.round_samples += 1;
        } else {
            let growth = Nanos(min_rtt.0 / 8).clamp(HYSTART_DELAY.0, HYSTART_DELAY.1);
            self.found |= round_rtt > min_rtt + growth;
        }
        self.found
    }

    /// Acknowledged segments per additional segment of the window (RFC 9438, 4.2 to 4.5).
    fn update(&mut self, now: Nanos, window: u32, acked: u32) -> u32 {
        self.reno_acked += u64::from(acked);
        if self.epoch.is_some()
            && self.last_window == window
            && now.saturating_sub(self.last_update) <= UPDATE_INTERVAL
        {
            return self.per_segment;
        }
        self.last_window = window;
        self.last_update = now;
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.reno_acked = u64::from(acked);
            self.reno_window = window;
            if self.last_max <= window {
                self.k = 0;
                self.origin = window;
            } else {
                let below = u64::from(self.last_max - window);
                self.k = cube_root((below << (TIME_BITS + 3 * TIME_BITS)) / C_1024);
                self.origin = self.last_max;
            }
            now
        });
        // The target is the window one round trip later.
        let elapsed = now.saturating_sub(epoch) + self.min_rtt.unwrap_or(Nanos::ZERO);
        let t = u64::try_from((u128::from(elapsed.0) << TIME_BITS) / 1_000_000_000).unwrap_or(u64::MAX);
        let off = u128::from(t.abs_diff(self.k));
        let delta = (u128::from(C_1024) * off.pow(3)) >> (TIME_BITS + 3 * TIME_BITS);
        let delta = u32::try_from(delta).unwrap_or(NO_THRESHOLD).min(NO_THRESHOLD);
        let target = if t < self.k {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        };
        let mut per_segment = if target > window {
            window / (target - window)
        } else {
            100 * window
        };
        // Before the first loss there is no plateau to approach slowly.
        if self.last_max == 0 {
            per_segment = per_segment.min(20);
        }
        let reno_step = (u64::from(window) * RENO_ACKED_EIGHTHS) >> 3;
        while self.reno_acked > reno_step {
            self.reno_acked -= reno_step;
            self.reno_window += 1;
        }
        if self.reno_window > window {
            per_segment = per_segment.min(window / (self.reno_window - window));
        }
        // At most one segment per two acknowledged segments (RFC 9438, 4.4: the target is at most 1.5
        // windows).
        self.per_segment = per_segment.max(2);
        self.per_segment
    }

    fn after_loss(&mut self, window: u32) -> u32 {
        self.epoch = None;
        let scaled = |factor: u64, by: u64| {
            u32::try_from(u64::from(window) * factor / by).expect("a fraction of a window fits")
        };
        // Fast convergence: a flow with a loss below its last maximum releases bandwidth (RFC 9438, 4.7).
        self.last_max = if window < self.last_max {
            scaled(BETA_SCALE + BETA, 2 * BETA_SCALE)
        } else {
            window
        };
        scaled(BETA, BETA_SCALE).max(2)
    }
}

/// The largest integer whose cube does not exceed `n`.
fn cube_root(n: u64) -> u64 {
    let mut root = 0_u64;
    for bit in (0..22).rev() {
        let larger = root | 1 << bit;
        if u128::from(larger).pow(3) <= u128::from(n) {
            root = larger;
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cube_root_is_exact(n: u64) {
            let root = u128::from(cube_root(n));
            prop_assert!(root.pow(3) <= u128::from(n));
            prop_assert!((root + 1).pow(3) > u128::from(n));
        }
    }

    /// Acknowledges one window per round trip and compares every window with W(t) = C (t - K)^3 + `W_max`.
    #[test]
    fn cubic_grows_as_its_closed_form() {
        let rtt = Nanos::from_ms(100);
        let w_max = 1000_u32;
        let mut cwnd = Cwnd::new(CongestionControl::Cubic, w_max);
        cwnd.threshold = cwnd.after_loss();
        cwnd.segments = cwnd.threshold;
        assert_eq!(cwnd.segments, 700);
        let start = Nanos::from_secs(10);
        let k_s = (f64::from(w_max) * 0.3 / 0.4).cbrt();
        let mut now = start;
        while now < start + Nanos::from_secs(20) {
            // The ACKs of one round trip are evenly spaced.
            let window = cwnd.segments;
            for i in 0..window {
                cwnd.grow(now + Nanos(rtt.0 * u64::from(i) / u64::from(window)), 1);
            }
            now += rtt;
            let t_s = (now - start).as_secs_f64();
            let closed = 0.4 * (t_s - k_s).powi(3) + f64::from(w_max);
            let error = (f64::from(cwnd.segments) - closed) / closed;
            // The window lags by one round trip, and the error is largest where it grows fastest.
            assert!(
                error.abs() < 0.035,
                "t {t_s} s: {} against {closed:.0}",
                cwnd.segments
            );
        }
        assert!(
            now > start + Nanos::from_secs(18) && cwnd.segments > 1500,
            "{}",
            cwnd.segments
        );
    }

    #[test]
    fn cubic_is_no_slower_than_reno_on_a_short_path() {
        // RFC 9438, 4.3: alpha is 3 * 0.3 / 1.7 = 0.53 segments per round trip, starting at 0.7 of the
        // window.
        let rtt = Nanos::from_ms(40);
        let mut cwnd = Cwnd::new(CongestionControl::Cubic, 40);
        cwnd.threshold = cwnd.after_loss();
        cwnd.segments = cwnd.threshold;
        let mut now = Nanos::ZERO;
        let mut rounds = 0;
        while cwnd.segments < 40 {
            for _ in 0..cwnd.segments {
                cwnd.grow(now, 1);
            }
            now += rtt;
            rounds += 1;
        }
        assert!(
            (20..=26).contains(&rounds),
            "{rounds} round trips for 12 segments at 0.53"
        );
    }

    #[test]
    fn fast_convergence_lowers_the_plateau_of_a_flow_that_loses_early() {
        let mut cubic = Cubic::default();
        assert_eq!(cubic.after_loss(100), 70);
        assert_eq!(cubic.last_max, 100);
        assert_eq!(cubic.after_loss(90), 63);
        assert_eq!(cubic.last_max, 76, "0.85 of 90");
    }

    #[test]
    fn reno_adds_one_segment_per_window_and_halves_on_loss() {
        let mut cwnd = Cwnd::new(CongestionControl::Reno, 10);
        cwnd.threshold = 10;
        for _ in 0..10 {
            cwnd.grow(Nanos::ZERO, 1);
        }
        assert_eq!(cwnd.segments, 11);
        assert_eq!(cwnd.after_loss(), 5);
        cwnd.segments = 3;
        assert_eq!(cwnd.after_loss(), 2, "never below 2 (RFC 5681, equation 4)");
    }

    fn slow_start_end(rtts: impl Iterator<Item = (Nanos, Nanos)>) -> Option<u32> {
        let mut cwnd = Cwnd::new(CongestionControl::Cubic, 10);
        cwnd.opened(Nanos::ZERO);
        let mut acked = 0;
        for (now, rtt) in rtts {
            acked += 1;
            cwnd.measured(&Round {
                now,
                acked,
                sent: acked + u64::from(cwnd.segments),
                rtt,
                burst: Nanos::ZERO,
            });
            if !cwnd.in_slow_start() {
                return Some(cwnd.segments);
            }
            cwnd.grow(now, 1);
        }
        None
    }

    #[test]
    fn hystart_ends_slow_start_when_the_round_trip_grows() {
        // ACKs 3 ms apart are no train; the round-trip time grows from 40 ms by 1 ms per ACK.
        let ended = slow_start_end((0..200).map(|i| (Nanos::from_ms(40 + 3 * i), Nanos::from_ms(40 + i))));
        assert!(
            ended.is_some_and(|window| (16..100).contains(&window)),
            "{ended:?}"
        );
        let flat = slow_start_end((0..200).map(|i| (Nanos::from_ms(40 + 3 * i), Nanos::from_ms(40))));
        assert_eq!(flat, None);
    }

    #[test]
    fn hystart_ends_slow_start_when_acks_span_half_a_round_trip() {
        let train = slow_start_end((0..200).map(|i| (Nanos::from_ms(40 + i), Nanos::from_ms(40))));
        assert!(
            train.is_some_and(|window| (16..64).contains(&window)),
            "{train:?}"
        );
    }
}
