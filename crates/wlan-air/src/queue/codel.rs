//! `CoDel` (RFC 8289): drops packets by the time that they spend in a queue.

use super::{FqCodelConfig, Packet};
use crate::Nanos;

/// The longest interval; its square fits into a `u64`.
pub(super) const LONGEST_INTERVAL: Nanos = Nanos::from_secs(4);

/// The drop rate is remembered for this many intervals (RFC 8289, 5.4).
const MEMORY_INTERVALS: u64 = 16;

/// The state of one queue, named as in RFC 8289, 5.1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Codel {
    first_above: Option<Nanos>,
    drop_next: Nanos,
    count: u64,
    last_count: u64,
    dropping: bool,
}

impl Codel {
    /// The packet to send next (RFC 8289, 5.5). `take` returns the oldest packet of the queue and the octets
    /// that remain behind it. Dropped packets are added to `dropped`.
    pub(super) fn dequeue<F>(
        &mut self,
        config: &FqCodelConfig,
        now: Nanos,
        mut take: impl FnMut() -> Option<(Packet<F>, u64)>,
        dropped: &mut Vec<Packet<F>>,
    ) -> Option<Packet<F>> {
        let (mut packet, mut may_drop) = self.take_and_judge(config, now, &mut take);
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                dropped.extend(packet);
                self.count += 1;
                (packet, may_drop) = self.take_and_judge(config, now, &mut take);
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next = control_law(self.drop_next, config.interval, self.count);
                }
            }
        } else if may_drop {
            dropped.extend(packet);
            (packet, _) = self.take_and_judge(config, now, &mut take);
            self.dropping = true;
            // Start near the drop rate that was required a short time ago.
            let since_last = self.count - self.last_count;
            let recent = now.saturating_sub(self.drop_next) < config.interval * MEMORY_INTERVALS;
            self.count = if since_last > 1 && recent { since_last } else { 1 };
            self.last_count = self.count;
            self.drop_next = control_law(now, config.interval, self.count);
        }
        packet
    }

    fn take_and_judge<F>(
        &mut self,
        config: &FqCodelConfig,
        now: Nanos,
        take: &mut impl FnMut() -> Option<(Packet<F>, u64)>,
    ) -> (Option<Packet<F>>, bool) {
        let Some((packet, left_b)) = take() else {
            self.first_above = None;
            return (None, false);
        };
        let may_drop = self.may_drop(config, packet.arrival, left_b, now);
        (Some(packet), may_drop)
    }

    fn may_drop(&mut self, config: &FqCodelConfig, arrival: Nanos, left_b: u64, now: Nanos) -> bool {
        if now.saturating_sub(arrival) < config.target || left_b <= u64::from(config.mtu_b) {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + config.interval);
                false
            }
            Some(at) => now >= at,
        }
    }
}

/// The time of the next drop: an interval divided by the square root of the number of drops (RFC 8289, 5.3).
/// Exact: the floor of `interval / sqrt(count)` is the integer root of the floor of `interval^2 / count`.
fn control_law(from: Nanos, interval: Nanos, count: u64) -> Nanos {
    from + Nanos((interval.0 * interval.0 / count.max(1)).isqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CONFIG: FqCodelConfig = FqCodelConfig::rfc8290();

    proptest! {
        #[test]
        fn control_law_is_the_floor_of_the_quotient(interval in 1..=LONGEST_INTERVAL.0, count in 1_u64..1 << 40) {
            let step = u128::from(control_law(Nanos::ZERO, Nanos(interval), count).0);
            let square = u128::from(interval).pow(2);
            prop_assert!(step.pow(2) * u128::from(count) <= square);
            prop_assert!((step + 1).pow(2) * u128::from(count) > square);
        }
    }

    /// Removes a packet every millisecond that has waited for `waited`, with `left_b` octets behind it.
    /// Returns the times of the drops, ms.
    fn drops(codel: &mut Codel, ms: std::ops::Range<u64>, waited: Nanos, left_b: u64) -> Vec<u64> {
        ms.filter(|&ms| {
            let now = Nanos::from_ms(ms);
            let packet = Packet {
                arrival: now - waited,
                len_b: 1500,
                flow: 0,
                frame: (),
            };
            let mut dropped = Vec::new();
            let sent = codel.dequeue(&CONFIG, now, || Some((packet, left_b)), &mut dropped);
            assert!(sent.is_some() && dropped.len() < 2);
            !dropped.is_empty()
        })
        .collect()
    }

    #[test]
    fn drops_start_after_an_interval_and_accelerate() {
        // 100, then 100 / sqrt(1), 100 / sqrt(2), 100 / sqrt(3), ... ms, rounded up to a whole millisecond.
        let found = drops(&mut Codel::default(), 1000..1600, Nanos::from_ms(6), 100_000);
        assert_eq!(
            found,
            [1100, 1200, 1271, 1329, 1379, 1424, 1464, 1502, 1538, 1571]
        );
    }

    #[test]
    fn delay_below_the_target_drops_nothing() {
        let just_below = Nanos(CONFIG.target.0 - 1);
        assert_eq!(
            drops(&mut Codel::default(), 1000..3000, just_below, 100_000),
            Vec::<u64>::new()
        );
    }

    #[test]
    fn a_burst_that_leaves_within_an_interval_loses_nothing() {
        let mut codel = Codel::default();
        assert_eq!(
            drops(&mut codel, 1000..1099, Nanos::from_ms(50), 100_000),
            Vec::<u64>::new()
        );
        assert_eq!(
            drops(&mut codel, 1099..1100, Nanos::from_ms(1), 100_000),
            Vec::<u64>::new()
        );
        assert_eq!(
            drops(&mut codel, 1100..1199, Nanos::from_ms(50), 100_000),
            Vec::<u64>::new()
        );
    }

    #[test]
    fn the_last_packet_is_never_dropped() {
        let waited = Nanos::from_ms(500);
        assert_eq!(
            drops(&mut Codel::default(), 1000..2000, waited, 1514),
            Vec::<u64>::new()
        );
        assert_ne!(
            drops(&mut Codel::default(), 1000..2000, waited, 1515),
            Vec::<u64>::new()
        );
    }

    #[test]
    fn dropping_resumes_near_the_previous_rate() {
        let mut codel = Codel::default();
        let first = drops(&mut codel, 1000..1600, Nanos::from_ms(6), 100_000);
        assert_eq!(first.len(), 10, "the count increased from 1 to 10");
        assert_eq!(
            drops(&mut codel, 1600..1601, Nanos::from_ms(1), 100_000),
            Vec::<u64>::new()
        );
        // Then the distance is not 100 ms, but 100 / sqrt(9) and 100 / sqrt(10).
        let again = drops(&mut codel, 1601..1800, Nanos::from_ms(6), 100_000);
        assert_eq!(again, [1701, 1735, 1766, 1797]);
    }
}
