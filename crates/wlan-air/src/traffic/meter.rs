//! What is measured where traffic arrives.

use hdrhistogram::Histogram;

use super::PLAYOUT_DEADLINE;
use crate::Nanos;

/// Delays above this are counted as this in percentiles: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Percentiles are exact to a thousandth.
const DIGITS: u8 = 3;

/// The distribution of delays, in a log-linear histogram: memory is the same for ten delays and for a
/// billion.
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
    /// Counts a delay.
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

    /// Delays counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean, exact to the nanosecond; `None` without delays.
    #[must_use]
    pub fn mean(&self) -> Option<Nanos> {
        let mean = self.sum_ns.checked_div(u128::from(self.count))?;
        Some(Nanos(u64::try_from(mean).expect("a mean is at most the largest")))
    }

    /// The delay that `percent` of all do not exceed, to a thousandth; `None` without delays.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<Nanos> {
        (self.count > 0).then(|| Nanos(self.histogram.value_at_percentile(percent)).min(self.max))
    }

    /// The longest; `None` without delays.
    #[must_use]
    pub fn max(&self) -> Option<Nanos> {
        (self.count > 0).then_some(self.max)
    }
}

/// Interarrival jitter (RFC 3550, 6.4.1), computed as its appendix A.8 does, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    last_transit_ns: Option<u64>,
    /// Sixteen times the jitter.
    jitter_x16_ns: u64,
}

impl Jitter {
    /// A packet sent at `sent` arrived at `arrived`.
    pub fn record(&mut self, sent: Nanos, arrived: Nanos) {
        let transit_ns = arrived.saturating_sub(sent).0;
        if let Some(last_ns) = self.last_transit_ns {
            let difference_ns = transit_ns.abs_diff(last_ns);
            self.jitter_x16_ns = self.jitter_x16_ns + difference_ns - ((self.jitter_x16_ns + 8) >> 4);
        }
        self.last_transit_ns = Some(transit_ns);
    }

    /// The jitter now; zero before the second packet.
    #[must_use]
    pub fn value(&self) -> Nanos {
        Nanos(self.jitter_x16_ns >> 4)
    }
}

/// Packets lost, by their sequence numbers (RFC 3550, A.3): those expected less those that came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    range: Option<(u64, u64)>,
    received: u64,
}

impl Loss {
    /// The packet with this number arrived.
    pub fn record(&mut self, sequence: u64) {
        let (first, last) = self.range.unwrap_or((sequence, sequence));
        self.range = Some((first.min(sequence), last.max(sequence)));
        self.received += 1;
    }

    /// Packets that arrived.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Packets from the first to the last that arrived.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.range.map_or(0, |(first, last)| last - first + 1)
    }

    /// Share of the packets expected that did not come; `None` before the first. Packets lost after the last
    /// one that came are not seen; a packet that came twice hides one that did not.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    pub fn share(&self) -> Option<f64> {
        let expected = self.expected();
        (expected > 0).then(|| expected.saturating_sub(self.received) as f64 / expected as f64)
    }
}

/// Frames of a video that are not there as a whole by their deadline. It keeps a few octets for each frame.
#[derive(Clone, Debug, Default)]
pub struct FrameMeter {
    /// When each was captured, and how many of its packets are not there yet.
    frames: Vec<(Nanos, u32)>,
}

impl FrameMeter {
    /// The next frame, of `packets` packets, was captured.
    pub fn captured(&mut self, at: Nanos, packets: u32) {
        self.frames.push((at, packets));
    }

    /// A packet of a frame, numbered from 0, arrived; no packet comes twice.
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

    /// Frames captured in a stretch of time, without those whose deadline is after its end, and how many of them were
    /// late.
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

/// All of these for one flow.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// Delay from departure to arrival.
    pub delays: Delays,
    /// Its variation.
    pub jitter: Jitter,
    /// What did not arrive.
    pub loss: Loss,
    /// Octets of payload that arrived.
    pub octets: u64,
}

impl Meter {
    /// The packet numbered `sequence` with `len_b` octets of payload, sent at `sent`, arrived at `arrived`.
    pub fn record(&mut self, sequence: u64, sent: Nanos, arrived: Nanos, len_b: usize) {
        self.delays.record(arrived.saturating_sub(sent));
        self.jitter.record(sent, arrived);
        self.loss.record(sequence);
        self.octets += len_b as u64;
    }

    /// Payload a second over `span`, Mbit/s.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    pub fn goodput_mbps(&self, span: Nanos) -> f64 {
        self.octets as f64 * 8e-6 / span.as_secs_f64()
    }
}
