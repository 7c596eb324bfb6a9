//! The receiver.

use super::buffer::{Buffer, Window};
use super::{Sack, Segment, Span, TcpError, check_mss};
use crate::Nanos;

/// Maximum number of immediate ACKs at the start; Linux's `TCP_MAX_QUICKACKS`.
const QUICK_ACKS: u64 = 16;
/// Duplicate ACKs of a gap that are sent at once before SACKs are compressed (RFC 5681, 3.2).
const DUPLICATE_ACKS: u8 = 3;
/// Islands whose order Linux remembers (`TCP_NUM_SACKS`).
const SACK_MEMORY: usize = 4;
/// Maximum number of ACKs that one compressed ACK replaces (`tcp_comp_sack_nr`).
const COMPRESSED_ACKS: u8 = 44;

/// The configuration of a [`Receiver`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Octets of payload of a full segment.
    pub mss_b: u32,
    /// Receive window.
    pub window: Window,
    /// Maximum delay of the ACK of a single segment (RFC 5681, 4.2: below 500 ms; Linux: 40 ms); `None`
    /// answers each segment at once.
    pub delayed_ack: Option<Nanos>,
    /// Maximum delay of the ACKs of a gap after the third ACK (Linux: 1 ms, and a twentieth of the round-trip
    /// time). One ACK then reports several segments. `None` sends each ACK.
    pub sack_compression: Option<Nanos>,
    /// Octets that the application reads per call.
    pub read_b: u64,
    /// Whether segments carry timestamps (RFC 7323).
    pub timestamps: bool,
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
            read_b: 128 << 10,
            timestamps: true,
        }
    }

    fn check(&self) -> Result<(), TcpError> {
        check_mss(self.mss_b)?;
        let (initial_b, max_b) = match self.window {
            Window::Fixed(window_b) | Window::Socket(window_b) => (window_b, window_b),
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

/// The counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Data segments that arrived; a merged segment counts once.
    pub segments: u64,
    /// Segments without new data.
    pub duplicates: u64,
    /// ACKs sent.
    pub acks: u64,
}

/// Octets above a gap.
#[derive(Clone, Copy, Debug)]
struct Island {
    span: Span,
    /// Position in the order of changes of islands.
    touched: u64,
}

/// A TCP receiver. Pass arriving segments to [`Receiver::on_segment`] and expired timeouts to
/// [`Receiver::on_timeout`]. After the segments that arrive at the same time, call [`Receiver::read`] until it
/// returns `None`. Each call returns the answer, if it must be sent now.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    /// Octets that arrived without a gap.
    received: u64,
    /// Octets acknowledged.
    acked: u64,
    /// Sorted and disjoint.
    islands: Vec<Island>,
    touches: u64,
    buffer: Buffer,
    /// Right edge of the window, which never decreases.
    window_end: u64,
    /// `sent_at` of the segment that the next ACK answers (RFC 7323, 4.3).
    echo: Nanos,
    last_echoed: Nanos,
    rtt_x8: u64,
    opened: bool,
    quick: u64,
    /// Whether data arrived since the last ACK, and whether a segment with PSH or a short segment did
    /// (`ICSK_ACK_PUSHED`).
    unanswered: bool,
    pushed: bool,
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
    /// [`TcpError`] if the configuration is invalid.
    pub fn new(config: ReceiverConfig) -> Result<Receiver, TcpError> {
        config.check()?;
        let buffer = Buffer::new(config.window, config.mss_b);
        Ok(Receiver {
            config,
            received: 0,
            acked: 0,
            islands: Vec::new(),
            touches: 0,
            window_end: buffer.first_window_b(),
            buffer,
            echo: Nanos::ZERO,
            last_echoed: Nanos::ZERO,
            rtt_x8: 0,
            opened: false,
            quick: 0,
            unanswered: false,
            pushed: false,
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

    /// The counters since the start.
    #[must_use]
    pub fn counters(&self) -> ReceiverCounters {
        self.counters
    }

    /// Time of the next [`Receiver::on_timeout`]; `None` if no timer is active.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Nanos> {
        match (self.delayed_until, self.compressed_until) {
            (Some(delayed), Some(compressed)) => Some(delayed.min(compressed)),
            (delayed, compressed) => delayed.or(compressed),
        }
    }

    /// Handles a segment from the sender; segments that a driver merged ([`Segment::merge`]) count as one.
    pub fn on_segment(&mut self, now: Nanos, segment: &Segment) -> Option<Segment> {
        if segment.syn {
            self.opened = true;
            self.echo = segment.sent_at;
            self.buffer.open(now);
            return Some(self.answer(now, true, None));
        }
        // The ACK that ends the handshake requires no answer; data may arrive before it.
        if segment.len_b == 0 || !self.opened {
            return None;
        }
        self.counters.segments += 1;
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
            self.buffer.queue_above(segment);
            self.note(segment);
            // Linux sends an ACK before there are more new islands than it remembers.
            if self.compressed > 0 && self.islands.len() > islands.max(SACK_MEMORY) {
                return Some(self.answer(now, false, None));
            }
            return self.answer_gap(now);
        }
        self.buffer.queue(span.end - self.received, segment);
        self.received = span.end;
        let fills_gap = self.join_islands();
        self.note(segment);
        if fills_gap || self.is_due() || self.config.delayed_ack.is_none() {
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

    /// The application reads, until an ACK is due or the buffer is empty (`tcp_cleanup_rbuf`).
    pub fn read(&mut self, now: Nanos) -> Option<Segment> {
        while !self.buffer.is_empty() {
            self.buffer.read(self.config.read_b);
            if self.buffer.is_empty() {
                self.buffer.tune(now, self.received, Nanos(self.rtt_x8 / 8));
            }
            let drained = self.pushed && self.buffer.is_free();
            let several = self.received - self.acked > self.buffer.segment_b;
            if self.unanswered && (several || drained) || self.doubles_window() {
                return Some(self.answer(now, false, None));
            }
        }
        None
    }

    /// Whether the reads have freed so much memory that the window at least doubles.
    fn doubles_window(&self) -> bool {
        let window_b = self.window_end.saturating_sub(self.received);
        if 2 * window_b > self.buffer.clamp_b() {
            return false;
        }
        let next_b = self.buffer.window_b();
        next_b > 0 && next_b >= 2 * window_b
    }

    /// Handles the properties of a segment with new data: its size, and whether the window may grow.
    fn note(&mut self, segment: &Segment) {
        self.unanswered = true;
        let is_full = self.buffer.measure(segment);
        self.pushed |= segment.push || !is_full;
        if self.counters.segments == 1 {
            let window_b = self.window_end - self.acked;
            self.quick = (window_b / (2 * self.buffer.segment_b)).clamp(2, QUICK_ACKS);
        }
        if self.buffer.grow(segment) {
            self.quick = self.quick.max(1);
        }
    }

    /// Whether data in sequence is acknowledged before the application reads it: two segments, if they have not
    /// reduced the free part of the buffer below the window, or quick ACKs (`__tcp_ack_snd_check`).
    fn is_due(&mut self) -> bool {
        if self.received - self.acked > self.buffer.segment_b {
            if self.buffer.is_short() {
                self.quick = 0;
            }
            if self.buffer.window_b() >= self.window_end - self.acked {
                return true;
            }
        }
        self.quick > 0
    }

    /// Executes the timer that is due at `now`; does nothing before its time.
    pub fn on_timeout(&mut self, now: Nanos) -> Option<Segment> {
        self.next_timeout().filter(|&at| at <= now)?;
        Some(self.answer(now, false, None))
    }

    fn answer(&mut self, now: Nanos, syn: bool, duplicate: Option<Span>) -> Segment {
        self.delayed_until = None;
        self.compressed_until = None;
        self.compressed = 0;
        if self.buffer.is_short() {
            self.quick = 0;
        }
        self.quick = self.quick.saturating_sub(u64::from(self.unanswered));
        self.unanswered = false;
        self.pushed = false;
        self.acked = self.received;
        self.window_end = self.window_end.max(self.received + self.buffer.window_b());
        self.counters.acks += 1;
        let mut sack = Sack::default();
        if let Some(span) = duplicate {
            sack.push(span);
            sack.duplicate = true;
        }
        // The blocks that changed last, in reverse order of change (RFC 2018, 4).
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
            timestamps: self.config.timestamps,
            ..Segment::default()
        }
    }

    /// An ACK of data above a gap. The first ACKs are sent at once, so that the sender receives three
    /// duplicates; later ACKs are compressed.
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

    /// Moves data that is no longer above a gap to the received octets. Returns whether the last gap was
    /// filled.
    fn join_islands(&mut self) -> bool {
        let reached = self
            .islands
            .iter()
            .take_while(|island| island.span.start <= self.received)
            .count();
        let before = self.received;
        for island in self.islands.drain(..reached) {
            self.received = self.received.max(island.span.end);
        }
        if reached > 0 {
            self.buffer.join(self.received - before, self.islands.is_empty());
        }
        reached > 0 && self.islands.is_empty()
    }

    /// Measures the receiver's round-trip time from the timestamps of its own ACKs.
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
}
