//! Measurements at the receiver of traffic.

use hdrhistogram::Histogram;

use super::PLAYOUT_DEADLINE;
use crate::Nanos;

/// Percentiles count delays above this limit, one hour, as the limit.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Significant digits of percentiles: they are exact to a thousandth.
const DIGITS: u8 = 3;

/// The distribution of delays, in a log-linear histogram whose memory does not depend on the number of
/// delays.
#[derive(Clone, Debug)]
pub struct Delays {
    histogram: Histogram<u64>,
    sum_ns: u128,
    count: u64,
    max: Nanos,
}

impl Default for Delays {
    fn default() -> Delays {
        Delays {
            histogram: Histogram::new_with_bounds(1, LONGEST_NS, DIGITS)
                .expect("1 ns to 1 h, 3 digits: valid bounds"),
            sum_ns: 0,
            count: 0,
            max: Nanos::ZERO,
        }
    }
}

impl Delays {
    /// Records a delay.
    pub fn record(&mut self, delay: Nanos) {
        self.histogram.saturating_record(delay.0);
        self.sum_ns += u128::from(delay.0);
        self.count += 1;
        self.max = self.max.max(delay);
    }

    /// Adds the delays of another meter.
    pub fn merge(&mut self, other: &Delays) {
        self.histogram
            .add(&other.histogram)
            .expect("all histograms have the same bounds");
        self.sum_ns += other.sum_ns;
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    /// Number of delays.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean delay, exact to the nanosecond; `None` without delays.
    #[must_use]
    pub fn mean(&self) -> Option<Nanos> {
        let mean = self.sum_ns.checked_div(u128::from(self.count))?;
        Some(Nanos(
            u64::try_from(mean).expect("a mean does not exceed the maximum"),
        ))
    }

    /// The delay that `percent` percent of all delays do not exceed, exact to a thousandth; `None` without
    /// delays.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<Nanos> {
        (self.count > 0).then(|| Nanos(self.histogram.value_at_percentile(percent)).min(self.max))
    }

    /// The longest delay; `None` without delays.
    #[must_use]
    pub fn max(&self) -> Option<Nanos> {
        (self.count > 0).then_some(self.max)
    }
}

/// Interarrival jitter (RFC 3550, 6.4.1), computed as in its appendix A.8, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// The receiver's clock, if its resolution matters.
    clock: Option<Clock>,
    last_transit_ns: Option<i64>,
    /// Sixteen times the jitter.
    jitter_x16_ns: u64,
    /// Time of the last packet, start of the mean, and the integral of the jitter over the time between them.
    last: Nanos,
    since: Option<Nanos>,
    integral_x16_ns2: u128,
}

/// A clock that advances in steps, at `phase` and every `step` later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clock {
    step: Nanos,
    phase: Nanos,
    /// Time stamp of the last packet, number of time stamps since the start of the mean, and the sum of the jitters after
    /// the first packets of these time stamps.
    last_stamp: Option<Nanos>,
    stamps: u64,
    sum_x16_ns: u128,
}

impl Clock {
    fn read(&self, at: Nanos) -> Nanos {
        let steps = at.saturating_sub(self.phase).0 / self.step.0;
        Nanos(steps * self.step.0) + self.phase
    }
}

impl Default for Jitter {
    /// By a receiver with an exact clock.
    fn default() -> Jitter {
        Jitter {
            clock: None,
            last_transit_ns: None,
            jitter_x16_ns: 0,
            last: Nanos::ZERO,
            since: None,
            integral_x16_ns2: 0,
        }
    }
}

impl Jitter {
    /// By iperf 2 between hosts whose clocks advance in steps of `step`, the receiver's at `phase` and every `step` later.
    #[must_use]
    pub fn by_clock(step: Nanos, phase: Nanos) -> Jitter {
        let clock = Clock {
            step: step.max(Nanos(1)),
            phase,
            last_stamp: None,
            stamps: 0,
            sum_x16_ns: 0,
        };
        Jitter {
            clock: Some(clock),
            ..Jitter::default()
        }
    }

    /// Records a packet that was sent at `sent` and arrived at `arrived`.
    #[allow(clippy::cast_possible_wrap)] // differences of times of a run, far below 2^63 ns
    pub fn record(&mut self, sent: Nanos, arrived: Nanos) {
        if let Some(since) = self.since {
            let held = arrived.saturating_sub(self.last.max(since));
            self.integral_x16_ns2 += u128::from(self.jitter_x16_ns) * u128::from(held.0);
        }
        self.last = arrived;
        let stamp = self.clock.map_or(arrived, |clock| clock.read(arrived));
        let transit_ns = stamp.0 as i64 - sent.0 as i64;
        if let Some(last_ns) = self.last_transit_ns {
            let difference_ns = transit_ns.abs_diff(last_ns);
            self.jitter_x16_ns = self.jitter_x16_ns + difference_ns - ((self.jitter_x16_ns + 8) >> 4);
        }
        self.last_transit_ns = Some(transit_ns);
        if let Some(clock) = &mut self.clock
            && clock.last_stamp.replace(sent) != Some(sent)
            && self.since.is_some()
        {
            clock.stamps += 1;
            clock.sum_x16_ns += u128::from(self.jitter_x16_ns);
        }
    }

    /// The current jitter; zero before the second packet.
    #[must_use]
    pub fn value(&self) -> Nanos {
        Nanos(self.jitter_x16_ns >> 4)
    }

    /// Starts the mean.
    pub fn start_mean(&mut self, now: Nanos) {
        self.since = Some(now);
    }

    /// Mean of the jitter over the time from the start of the mean to the last packet, which is the mean of the values
    /// that a receiver reports at regular times. The current jitter if no time has passed.
    ///
    /// By iperf 2, the mean of the values that it would report at the end of the test. The test ends after the first
    /// datagram of a step of the sender's clock, because the loop of the sender compares the time stamps with the duration
    /// (`Client.cpp`). The report has the current jitter (`Reporter.c`).
    #[must_use]
    pub fn mean(&self) -> Nanos {
        let mean_x16_ns = match self.clock {
            Some(clock) => clock.sum_x16_ns.checked_div(u128::from(clock.stamps)),
            None => {
                let span = self.since.map_or(0, |since| self.last.saturating_sub(since).0);
                self.integral_x16_ns2.checked_div(u128::from(span))
            }
        };
        let mean_x16_ns = mean_x16_ns.and_then(|mean| u64::try_from(mean).ok());
        Nanos(mean_x16_ns.unwrap_or(self.jitter_x16_ns) >> 4)
    }
}

/// Packet loss, from sequence numbers (RFC 3550, A.3): expected minus received packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    range: Option<(u64, u64)>,
    received: u64,
}

impl Loss {
    /// Records the arrival of the packet with this sequence number.
    pub fn record(&mut self, sequence: u64) {
        let (first, last) = self.range.unwrap_or((sequence, sequence));
        self.range = Some((first.min(sequence), last.max(sequence)));
        self.received += 1;
    }

    /// Number of packets received.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Number of packets from the lowest to the highest sequence number received.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.range.map_or(0, |(first, last)| last - first + 1)
    }

    /// Fraction of the expected packets that were lost; `None` before the first packet. Losses after the last
    /// received packet are not detected, and a duplicate hides a loss.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    pub fn share(&self) -> Option<f64> {
        let expected = self.expected();
        (expected > 0).then(|| expected.saturating_sub(self.received) as f64 / expected as f64)
    }
}

/// Frames of a video that are incomplete at their deadline. Its memory is a few octets per frame.
#[derive(Clone, Debug, Default)]
pub struct FrameMeter {
    /// Capture time of each frame, and the number of its missing packets.
    frames: Vec<(Nanos, u32)>,
}

impl FrameMeter {
    /// Records the capture of the next frame, which has `packets` packets.
    pub fn captured(&mut self, at: Nanos, packets: u32) {
        self.frames.push((at, packets));
    }

    /// Records the arrival of a packet of a frame, numbered from 0; duplicates are not allowed.
    pub fn arrived(&mut self, frame: u64, at: Nanos) {
        let frame = usize::try_from(frame)
            .ok()
            .and_then(|frame| self.frames.get_mut(frame));
        if let Some((captured, missing)) = frame
            && at <= *captured + PLAYOUT_DEADLINE
        {
            *missing = missing.saturating_sub(1);
        }
    }

    /// The number of frames captured from `from` to `until` whose deadline is not after `until`, and the
    /// number of late frames among them.
    #[must_use]
    pub fn late(&self, from: Nanos, until: Nanos) -> (u64, u64) {
        let judged = self
            .frames
            .iter()
            .filter(|(captured, _)| *captured >= from && *captured + PLAYOUT_DEADLINE <= until);
        judged.fold((0, 0), |(all, late), (_, missing)| {
            (all + 1, late + u64::from(*missing > 0))
        })
    }
}

/// All measurements of one flow.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// Delay from departure to arrival.
    pub delays: Delays,
    /// Variation of the delay.
    pub jitter: Jitter,
    /// Lost packets.
    pub loss: Loss,
    /// Octets of payload received.
    pub octets: u64,
}

impl Meter {
    /// Records packet `sequence` with `len_b` octets of payload, which was sent at `sent` and arrived at
    /// `arrived`.
    pub fn record(&mut self, sequence: u64, sent: Nanos, arrived: Nanos, len_b: usize) {
        self.delays.record(arrived.saturating_sub(sent));
        self.jitter.record(sent, arrived);
        self.loss.record(sequence);
        self.octets += len_b as u64;
    }

    /// Mean payload rate over `span`, Mbit/s.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    pub fn goodput_mbps(&self, span: Nanos) -> f64 {
        self.octets as f64 * 8e-6 / span.as_secs_f64()
    }
}
