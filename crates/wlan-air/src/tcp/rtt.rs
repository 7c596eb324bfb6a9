//! Round-trip time and retransmission timeout (RFC 6298), with Linux's variance.

use crate::Nanos;

/// Timeout before the first sample (RFC 6298, 2.1).
const INITIAL: Nanos = Nanos::from_secs(1);
/// Minimum difference of the timeout and the round-trip time; Linux's `TCP_RTO_MIN`.
const MIN_ABOVE_RTT: i64 = 200_000_000;
/// Maximum timeout; Linux's `TCP_RTO_MAX`.
const MAX: Nanos = Nanos::from_secs(120);

/// The estimator. Linux differs from RFC 6298 in two ways. A falling round-trip time raises the variance more
/// slowly than a rising one. The variance in use is the maximum over the last round trip and at least 200 ms,
/// so the timeout exceeds the smoothed round-trip time by at least 200 ms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rtt {
    /// Eight times the smoothed round-trip time, ns; 0 before the first sample.
    srtt_x8: i64,
    /// Four times the mean deviation, ns.
    mdev_x4: i64,
    mdev_max: i64,
    var: i64,
    /// The maximum of the deviation is reset when this octet is acknowledged.
    round_end: u64,
    backoff: u32,
    min: Nanos,
}

impl Rtt {
    pub(super) fn new() -> Rtt {
        Rtt {
            srtt_x8: 0,
            mdev_x4: 0,
            mdev_max: 0,
            var: 0,
            round_end: 0,
            backoff: 0,
            min: Nanos::MAX,
        }
    }

    /// Records a sample from a segment that was sent once (Karn's rule). `acked` and `sent` count the octets
    /// acknowledged and sent.
    pub(super) fn sample(&mut self, rtt: Nanos, acked: u64, sent: u64) {
        let rtt_ns = i64::try_from(rtt.0).unwrap_or(i64::MAX / 16).max(1);
        if self.srtt_x8 == 0 {
            self.srtt_x8 = rtt_ns * 8;
            self.mdev_x4 = rtt_ns * 2;
            self.var = self.mdev_x4.max(MIN_ABOVE_RTT);
            self.mdev_max = self.var;
            self.round_end = sent;
        } else {
            let error = rtt_ns - self.srtt_x8 / 8;
            self.srtt_x8 += error;
            let mut change = error.abs() - self.mdev_x4 / 4;
            if error < 0 && change > 0 {
                change /= 8;
            }
            self.mdev_x4 += change;
            if self.mdev_x4 > self.mdev_max {
                self.mdev_max = self.mdev_x4;
                self.var = self.var.max(self.mdev_max);
            }
            if acked > self.round_end {
                if self.mdev_max < self.var {
                    self.var -= (self.var - self.mdev_max) / 4;
                }
                self.round_end = sent;
                self.mdev_max = MIN_ABOVE_RTT;
            }
        }
        self.backoff = 0;
    }

    /// Records a sample for the minimum round-trip time.
    pub(super) fn sample_min(&mut self, rtt: Nanos) {
        self.min = self.min.min(rtt.max(Nanos(1)));
    }

    /// The minimum round-trip time so far. Linux discards it after 300 s, but these paths do not change.
    pub(super) fn min(&self) -> Nanos {
        self.min
    }

    /// Smoothed round-trip time; `None` before the first sample.
    pub(super) fn smoothed(&self) -> Option<Nanos> {
        (self.srtt_x8 > 0).then(|| Nanos(self.srtt_x8.unsigned_abs() / 8))
    }

    /// Retransmission timeout.
    pub(super) fn timeout(&self) -> Nanos {
        let base = match self.smoothed() {
            Some(srtt) => srtt + Nanos(self.var.unsigned_abs()),
            None => INITIAL,
        };
        Nanos(base.0.saturating_mul(1 << self.backoff.min(20))).min(MAX)
    }

    /// Doubles the timeout after it expired (RFC 6298, 5.5).
    pub(super) fn back_off(&mut self) {
        self.backoff += 1;
    }
}
