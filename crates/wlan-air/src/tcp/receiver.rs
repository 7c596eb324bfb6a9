//! The receiving end.

use super::{Sack, Segment, Span, TcpError, check_mss};
use crate::Nanos;

/// ACKs that answer every segment at the start, at most; Linux's `TCP_MAX_QUICKACKS`.
const QUICK_ACKS: u64 = 16;
/// Duplicate ACKs of a gap that go at once before SACKs are compressed (RFC 5681, 3.2).
const DUPLICATE_ACKS: u8 = 3;
/// Islands that Linux remembers the order of (`TCP_NUM_SACKS`).
const SACK_MEMORY: usize = 4;
/// ACKs that one compressed ACK replaces, at most (`tcp_comp_sack_nr`).
const COMPRESSED_ACKS: u8 = 44;

/// How much the receiver lets the sender have under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// Always this many octets, as when an application sets its receive buffer.
    Fixed(u64),
    /// As Linux tunes it: it keeps ahead of what arrives in a round-trip time.
    Auto {
        /// At the start, octets.
        initial_b: u64,
        /// At most, octets: half of the last number of `tcp_rmem`.
        max_b: u64,
    },
}

impl Window {
    /// Linux's defaults: 64 KiB at the start and 3 MiB at most.
    #[must_use]
    pub const fn linux() -> Window {
        Window::Auto {
            initial_b: 65_536,
            max_b: 3 << 20,
        }
    }
}

/// How a receiver behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Octets of payload of a full segment.
    pub mss_b: u32,
    /// Receive window.
    pub window: Window,
    /// How long an ACK for a single segment waits (RFC 5681, 4.2: below 500 ms; Linux 40 ms); `None` answers
    /// each segment at once.
    pub delayed_ack: Option<Nanos>,
    /// How long ACKs of a gap are held back after the third, at most, so that one tells of many segments
    /// (Linux: 1 ms, and a twentieth of the round-trip time); `None` sends each.
    pub sack_compression: Option<Nanos>,
}

impl ReceiverConfig {
    /// Linux's defaults over IPv4.
    #[must_use]
    pub const fn linux() -> ReceiverConfig {
        ReceiverConfig {
            mss_b: super::MSS_IPV4_B,
            window: Window::linux(),
            delayed_ack: Some(Nanos::from_ms(40)),
            sack_compression: Some(Nanos::from_ms(1)),
        }
    }

    fn check(&self) -> Result<(), TcpError> {
        check_mss(self.mss_b)?;
        let (initial_b, max_b) = match self.window {
            Window::Fixed(window_b) => (window_b, window_b),
            Window::Auto { initial_b, max_b } => (initial_b, max_b),
        };
        if initial_b < u64::from(self.mss_b) {
            return Err(TcpError::Window {
                window_b: initial_b,
                mss_b: self.mss_b,
            });
        }
        if initial_b > max_b {
            return Err(TcpError::WindowOrder { initial_b, max_b });
        }
        Ok(())
    }
}

/// What a receiver did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Data segments that arrived, a merged one counted once.
    pub segments: u64,
    /// Segments with nothing new.
    pub duplicates: u64,
    /// ACKs sent.
    pub acks: u64,
}

/// Octets beyond a gap.
#[derive(Clone, Copy, Debug)]
struct Island {
    span: Span,
    /// Place in the order in which islands changed.
    touched: u64,
}

/// Linux's dynamic right-sizing of the receive window.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    /// What the buffer takes, and what of it is advertised.
    buffer_b: u64,
    advertised_b: u64,
    max_b: u64,
    /// Octets that a round trip brought, since when and from which octet the next is counted.
    space_b: u64,
    since: Nanos,
    from: u64,
}

/// A TCP receiver whose application reads at once. Each call gives the segment that answers, if one goes now.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    /// Octets that arrived without a gap.
    received: u64,
    /// Octets acknowledged.
    acked: u64,
    /// Sorted, apart from one another.
    islands: Vec<Island>,
    touches: u64,
    tuning: Tuning,
    /// Right edge of the window, which never moves back.
    window_end: u64,
    /// `sent_at` of the segment that the next ACK answers (RFC 7323, 4.3).
    echo: Nanos,
    last_echoed: Nanos,
    rtt_x8: u64,
    opened: bool,
    quick: u64,
    delayed_until: Option<Nanos>,
    compressed_until: Option<Nanos>,
    compressed: u8,
    duplicates_at: (u64, u8),
    counters: ReceiverCounters,
}

impl Receiver {
    /// A receiver that waits for a connection.
    ///
    /// # Errors
    /// [`TcpError`] where the configuration contradicts itself.
    pub fn new(config: ReceiverConfig) -> Result<Receiver, TcpError> {
        config.check()?;
        let (initial_b, max_b) = match config.window {
            Window::Fixed(window_b) => (window_b, window_b),
            Window::Auto { initial_b, max_b } => (initial_b, max_b),
        };
        Ok(Receiver {
            config,
            received: 0,
            acked: 0,
            islands: Vec::new(),
            touches: 0,
            tuning: Tuning {
                buffer_b: initial_b,
                advertised_b: initial_b,
                max_b,
                space_b: initial_b.min(10 * u64::from(config.mss_b)),
                since: Nanos::ZERO,
                from: 0,
            },
            window_end: initial_b,
            echo: Nanos::ZERO,
            last_echoed: Nanos::ZERO,
            rtt_x8: 0,
            opened: false,
            quick: 0,
            delayed_until: None,
            compressed_until: None,
            compressed: 0,
            duplicates_at: (0, 0),
            counters: ReceiverCounters::default(),
        })
    }

    /// Octets that arrived without a gap.
    #[must_use]
    pub fn received_b(&self) -> u64 {
        self.received
    }

    /// What it did so far.
    #[must_use]
    pub fn counters(&self) -> ReceiverCounters {
        self.counters
    }

    /// When [`Receiver::on_timeout`] is to be called; `None` while no timer runs.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Nanos> {
        match (self.delayed_until, self.compressed_until) {
            (Some(delayed), Some(compressed)) => Some(delayed.min(compressed)),
            (delayed, compressed) => delayed.or(compressed),
        }
    }

    /// A segment of the sender arrives; several that a driver merged ([`Segment::merge`]) count as one.
    pub fn on_segment(&mut self, now: Nanos, segment: &Segment) -> Option<Segment> {
        if segment.syn {
            self.opened = true;
            self.echo = segment.sent_at;
            self.tuning.since = now;
            return Some(self.answer(now, true, None));
        }
        // The ACK that ends the handshake needs no answer; data may overtake it.
        if segment.len_b == 0 || !self.opened {
            return None;
        }
        self.counters.segments += 1;
        if self.counters.segments == 1 {
            self.quick = (self.tuning.advertised_b / (2 * u64::from(self.config.mss_b))).min(QUICK_ACKS);
        }
        if segment.seq <= self.acked && segment.sent_at >= self.echo {
            self.echo = segment.sent_at;
        }
        self.measure_rtt(now, segment);

        let span = segment.span();
        if span.end <= self.received || self.is_known(span) {
            self.counters.duplicates += 1;
            self.quick = self.quick.max(QUICK_ACKS);
            return Some(self.answer(now, false, Some(span)));
        }
        if span.start > self.received {
            let islands = self.islands.len();
            self.add_island(span);
            // Before more islands are new than Linux keeps, it tells of them.
            if self.compressed > 0 && self.islands.len() > islands.max(SACK_MEMORY) {
                return Some(self.answer(now, false, None));
            }
            return self.answer_gap(now);
        }
        self.received = span.end;
        let fills_gap = self.join_islands();
        self.grow_window(segment);
        self.tune(now);
        let more_than_one = self.received - self.acked > u64::from(self.config.mss_b);
        if fills_gap || more_than_one || self.quick > 0 || self.config.delayed_ack.is_none() {
            return Some(self.answer(now, false, None));
        }
        if !self.islands.is_empty() {
            return self.answer_gap(now);
        }
        if self.delayed_until.is_none() {
            self.delayed_until = self.config.delayed_ack.map(|delay| now + delay);
        }
        None
    }

    /// Performs the timer that is due at `now`; does nothing before its time.
    pub fn on_timeout(&mut self, now: Nanos) -> Option<Segment> {
        self.next_timeout().filter(|&at| at <= now)?;
        Some(self.answer(now, false, None))
    }

    fn answer(&mut self, now: Nanos, syn: bool, duplicate: Option<Span>) -> Segment {
        self.delayed_until = None;
        self.compressed_until = None;
        self.compressed = 0;
        self.quick = self.quick.saturating_sub(1);
        self.acked = self.received;
        self.window_end = self.window_end.max(self.received + self.tuning.advertised_b);
        self.counters.acks += 1;
        let mut sack = Sack::default();
        if let Some(span) = duplicate {
            sack.push(span);
            sack.duplicate = true;
        }
        // The blocks that changed last, the last first (RFC 2018, 4).
        let mut below = u64::MAX;
        while usize::from(sack.len) < Sack::MAX {
            let latest = self.islands.iter().filter(|island| island.touched < below);
            let Some(island) = latest.max_by_key(|island| island.touched) else {
                break;
            };
            below = island.touched;
            sack.push(island.span);
        }
        Segment {
            syn,
            ack: self.received,
            window_b: self.window_end - self.received,
            sack,
            sent_at: now,
            echo: self.echo,
            ..Segment::default()
        }
    }

    /// An ACK beyond a gap: the first ones at once, so that the sender sees three duplicates, the later ones
    /// compressed.
    fn answer_gap(&mut self, now: Nanos) -> Option<Segment> {
        let Some(longest) = self.config.sack_compression else {
            return Some(self.answer(now, false, None));
        };
        if self.duplicates_at.0 != self.received {
            self.duplicates_at = (self.received, 0);
        }
        if self.duplicates_at.1 < DUPLICATE_ACKS || self.compressed >= COMPRESSED_ACKS || self.quick > 0 {
            self.duplicates_at.1 = self.duplicates_at.1.saturating_add(1);
            return Some(self.answer(now, false, None));
        }
        self.compressed += 1;
        let delay = longest.min(Nanos(self.rtt_x8 / 8 / 20));
        self.compressed_until.get_or_insert(now + delay);
        None
    }

    fn is_known(&self, span: Span) -> bool {
        let island = self.islands.partition_point(|island| island.span.end < span.end);
        self.islands
            .get(island)
            .is_some_and(|island| island.span.start <= span.start && span.end <= island.span.end)
    }

    fn add_island(&mut self, span: Span) {
        self.touches += 1;
        let from = self
            .islands
            .partition_point(|island| island.span.end < span.start);
        let to = self
            .islands
            .partition_point(|island| island.span.start <= span.end);
        let mut joined = span;
        if from < to {
            joined.start = joined.start.min(self.islands[from].span.start);
            joined.end = joined.end.max(self.islands[to - 1].span.end);
        }
        let island = Island {
            span: joined,
            touched: self.touches,
        };
        self.islands.splice(from..to, [island]);
    }

    /// Takes in what is no longer beyond a gap; says whether the last gap was filled.
    fn join_islands(&mut self) -> bool {
        let reached = self
            .islands
            .iter()
            .take_while(|island| island.span.start <= self.received)
            .count();
        for island in self.islands.drain(..reached) {
            self.received = self.received.max(island.span.end);
        }
        reached > 0 && self.islands.is_empty()
    }

    /// The receiver's view of the round-trip time, from its own ACKs' timestamps.
    fn measure_rtt(&mut self, now: Nanos, segment: &Segment) {
        if segment.echo == self.last_echoed || segment.len_b < self.config.mss_b {
            return;
        }
        self.last_echoed = segment.echo;
        let rtt = now.saturating_sub(segment.echo).0.max(1);
        self.rtt_x8 = if self.rtt_x8 == 0 {
            rtt * 8
        } else {
            self.rtt_x8 - self.rtt_x8 / 8 + rtt
        };
    }

    /// What is advertised follows the buffer by two segments for each that arrives (`tcp_grow_window`).
    fn grow_window(&mut self, segment: &Segment) {
        let step_b = 2 * u64::from(segment.len_b.max(self.config.mss_b));
        self.tuning.advertised_b = (self.tuning.advertised_b + step_b).min(self.tuning.buffer_b);
    }

    /// Once a round trip: room for twice what it brought, and more while that grows
    /// (`tcp_rcv_space_adjust`).
    fn tune(&mut self, now: Nanos) {
        let tuning = &mut self.tuning;
        if self.rtt_x8 == 0 || now.saturating_sub(tuning.since).0 < self.rtt_x8 / 8 {
            return;
        }
        let copied_b = self.received - tuning.from;
        if copied_b > tuning.space_b {
            let window_b = 2 * copied_b + 16 * u64::from(self.config.mss_b);
            let growth_b = window_b * (copied_b - tuning.space_b) / tuning.space_b;
            tuning.buffer_b = (window_b + 2 * growth_b).min(tuning.max_b).max(tuning.buffer_b);
            tuning.space_b = copied_b;
        }
        tuning.since = now;
        tuning.from = self.received;
    }
}
