//! The receive buffer: the memory of the segments that wait for the application, and the window that follows from
//! the free memory, as in Linux.

use std::collections::VecDeque;

use super::Segment;
use crate::Nanos;

/// The ratio of payload to memory is in 1/256 (`TCP_RMEM_TO_WIN_SCALE`), and 1/2 before the first full segment.
const RATIO_BITS: u32 = 8;
const FIRST_RATIO: u64 = 1 << (RATIO_BITS - 1);
/// Segment size that Linux assumes before the first full segment (`TCP_MSS_DEFAULT`).
const FIRST_MSS_B: u64 = 536;
/// Shorter segments say nothing about the size of full ones (`TCP_MIN_MSS`, less the options of a header).
const SHORT_LEAST_B: u64 = 76;
/// Segments shorter than this do not grow the window.
const GROWS_FROM_B: u32 = 128;

/// IPv4 and TCP headers with timestamps.
const HEADERS_B: u64 = 52;
/// Octets before a packet in its memory (`NET_SKB_PAD`), and after it (`struct skb_shared_info`).
const PADDING_B: u64 = 64;
const SHARED_B: u64 = 320;
/// Octets of `struct sk_buff`.
const DESCRIPTOR_B: u64 = 256;
/// Memory for the headers of a packet (`SKB_SMALL_HEAD_CACHE_SIZE`).
const SMALL_HEAD_B: u64 = 704;
const PAGE_B: u64 = 4096;

/// The receive window, which limits the data in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Window {
    /// A fixed number of octets, regardless of the memory that they take.
    Fixed(u64),
    /// The window of a socket whose `SO_RCVBUF` is this number of octets. Linux doubles it and charges each
    /// packet with the memory that the packet takes, so that the window follows the free memory: it exceeds
    /// the given number after a read of full segments, and is smaller while segments wait.
    Socket(u64),
    /// Autotuned as in Linux: it exceeds the data that arrives per round-trip time.
    Auto {
        /// Initial window in octets.
        initial_b: u64,
        /// Maximum window in octets: half of the last number of `tcp_rmem`.
        max_b: u64,
    },
}

impl Window {
    /// Linux's defaults: 64 KiB at the start, at most 3 MiB.
    #[must_use]
    pub const fn linux() -> Window {
        Window::starting_with(128 << 10)
    }

    /// Linux's default with a receive buffer of `buffer_b` octets at the start, the second number of `tcp_rmem`.
    #[must_use]
    pub const fn starting_with(buffer_b: u64) -> Window {
        let initial_b = buffer_b / 2;
        let max_b = 3 << 20;
        Window::Auto {
            initial_b,
            max_b: if initial_b > max_b { initial_b } else { max_b },
        }
    }
}

/// The memory that Linux charges for a packet from a TUN device (`skb->truesize`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Charge {
    /// Descriptor, and the linear part.
    head_b: u64,
    /// The payload, if it is in pages: a packet that does not fit a page with its headers.
    pages_b: u64,
}

impl Charge {
    fn of(len_b: u32) -> Charge {
        let len_b = u64::from(len_b);
        if PADDING_B + HEADERS_B + len_b < PAGE_B {
            let object_b = PADDING_B + HEADERS_B + len_b + SHARED_B;
            let allocated_b = if object_b <= SMALL_HEAD_B {
                SMALL_HEAD_B
            } else {
                object_b.next_power_of_two()
            };
            Charge {
                head_b: DESCRIPTOR_B + allocated_b,
                pages_b: 0,
            }
        } else {
            Charge {
                head_b: DESCRIPTOR_B + SMALL_HEAD_B,
                pages_b: len_b.next_multiple_of(PAGE_B),
            }
        }
    }

    fn total_b(self) -> u64 {
        self.head_b + self.pages_b
    }
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    len_b: u64,
    charge_b: u64,
}

/// The receive buffer of a socket.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    window: Window,
    mss_b: u64,
    /// Memory in octets (`sk_rcvbuf`), its maximum, and the used part.
    size_b: u64,
    size_max_b: u64,
    used_b: u64,
    /// Octets of the window per octet of memory, in 1/256.
    ratio: u64,
    /// Upper limits of the window: the whole buffer, and a limit that grows with arriving segments
    /// (`window_clamp`, `rcv_ssthresh`).
    clamp_b: u64,
    threshold_b: u64,
    /// Windows are multiples of this, because of their scale.
    step_b: u64,
    /// Octets of the payload of a full segment, estimated from the arriving segments (`rcv_mss`).
    pub(super) segment_b: u64,
    last_short_b: u64,
    waiting: VecDeque<Waiting>,
    /// Octets above a gap, and their memory.
    above: Waiting,
    /// Octets that the last round trip delivered; start time and first octet of the current round trip.
    space_b: u64,
    since: Nanos,
    from: u64,
}

impl Buffer {
    pub(super) fn new(window: Window, mss_b: u32) -> Buffer {
        let mss_b = u64::from(mss_b);
        let (initial_b, max_b) = match window {
            Window::Fixed(window_b) | Window::Socket(window_b) => (window_b, window_b),
            Window::Auto { initial_b, max_b } => (initial_b, max_b),
        };
        let threshold_b = match window {
            Window::Fixed(_) => initial_b,
            Window::Socket(_) | Window::Auto { .. } => initial_b / mss_b * mss_b,
        };
        Buffer {
            window,
            mss_b,
            size_b: 2 * initial_b,
            size_max_b: 2 * max_b,
            used_b: 0,
            ratio: FIRST_RATIO,
            clamp_b: initial_b,
            threshold_b,
            step_b: 1 << max_b.ilog2().saturating_sub(15).min(14),
            segment_b: mss_b.min(threshold_b / 2).min(FIRST_MSS_B),
            last_short_b: 0,
            waiting: VecDeque::new(),
            above: Waiting {
                len_b: 0,
                charge_b: 0,
            },
            space_b: threshold_b.min(10 * mss_b),
            since: Nanos::ZERO,
            from: 0,
        }
    }

    /// The window before the first segment.
    pub(super) fn first_window_b(&self) -> u64 {
        self.threshold_b
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether no segment takes memory.
    pub(super) fn is_free(&self) -> bool {
        self.used_b == 0
    }

    /// The upper limit of the window.
    pub(super) fn clamp_b(&self) -> u64 {
        self.clamp_b
    }

    /// The window that `memory_b` octets allow.
    fn window_of(&self, memory_b: u64) -> u64 {
        (memory_b * self.ratio) >> RATIO_BITS
    }

    fn free_b(&self) -> u64 {
        self.window_of(self.size_b.saturating_sub(self.used_b))
    }

    /// The window for the next acknowledgment, unless the previous one allowed more (`__tcp_select_window`).
    pub(super) fn window_b(&self) -> u64 {
        if let Window::Fixed(window_b) = self.window {
            return window_b;
        }
        let whole_b = self.window_of(self.size_b);
        let full_b = whole_b.min(self.clamp_b);
        let mut free_b = self.free_b();
        if free_b < full_b / 2 {
            free_b -= free_b % self.step_b;
            if free_b < whole_b / 16 || free_b < self.segment_b.min(full_b) {
                return 0;
            }
        }
        free_b.min(self.threshold_b).next_multiple_of(self.step_b)
    }

    /// Whether less than half of the buffer is free, which ends quick acknowledgments.
    pub(super) fn is_short(&self) -> bool {
        !matches!(self.window, Window::Fixed(_))
            && self.free_b() < self.window_of(self.size_b).min(self.clamp_b) / 2
    }

    /// A segment in sequence waits for the application.
    pub(super) fn queue(&mut self, len_b: u64, segment: &Segment) {
        let charge = Charge::of(segment.len_b);
        // Pages are appended to the last packet, without a descriptor of their own (`tcp_try_coalesce`).
        let appends = charge.pages_b > 0;
        let charge_b = match self.waiting.back_mut() {
            Some(last) if appends => {
                last.len_b += len_b;
                last.charge_b += charge.pages_b;
                charge.pages_b
            }
            _ => {
                let charge_b = charge.total_b();
                self.waiting.push_back(Waiting { len_b, charge_b });
                charge_b
            }
        };
        self.used_b += charge_b;
    }

    /// A segment arrived above a gap.
    pub(super) fn queue_above(&mut self, segment: &Segment) {
        let charge_b = Charge::of(segment.len_b).total_b();
        self.above.len_b += u64::from(segment.len_b);
        self.above.charge_b += charge_b;
        self.used_b += charge_b;
    }

    /// `len_b` octets above a gap are now in sequence; `all` if there is no gap left.
    pub(super) fn join(&mut self, len_b: u64, all: bool) {
        let Waiting {
            len_b: above_b,
            charge_b,
        } = self.above;
        let joined_b = if all {
            charge_b
        } else {
            charge_b * len_b.min(above_b) / above_b.max(1)
        };
        self.above.charge_b -= joined_b;
        self.above.len_b = if all { 0 } else { above_b.saturating_sub(len_b) };
        self.waiting.push_back(Waiting {
            len_b,
            charge_b: joined_b,
        });
    }

    /// The application reads at most `most_b` octets. The memory of a packet becomes free when all its octets are
    /// read.
    pub(super) fn read(&mut self, most_b: u64) {
        let mut left_b = most_b;
        while let Some(first) = self.waiting.front_mut() {
            if first.len_b > left_b {
                first.len_b -= left_b;
                return;
            }
            left_b -= first.len_b;
            self.used_b -= first.charge_b;
            self.waiting.pop_front();
        }
    }

    /// Estimates the size of full segments, and from each new size the ratio of payload to memory
    /// (`tcp_measure_rcv_mss`). Returns whether the segment was full.
    pub(super) fn measure(&mut self, segment: &Segment) -> bool {
        let last_short_b = std::mem::take(&mut self.last_short_b);
        let len_b = u64::from(segment.piece_b());
        if len_b >= self.segment_b {
            if len_b != self.segment_b {
                let charge_b = Charge::of(segment.len_b).total_b();
                self.ratio = ((u64::from(segment.len_b) << RATIO_BITS) / charge_b).max(1);
                if !matches!(self.window, Window::Fixed(_)) {
                    self.clamp_b = self.window_of(self.size_b);
                    self.space_b = self.space_b.min(self.clamp_b);
                }
            }
            self.segment_b = len_b.min(self.mss_b);
            return true;
        }
        if len_b >= FIRST_MSS_B || (len_b >= SHORT_LEAST_B && !segment.push) {
            self.last_short_b = len_b;
            if len_b == last_short_b {
                self.segment_b = len_b;
            }
        }
        false
    }

    /// The window may grow by two segments, or by twice the segment, if the payload is worth its memory
    /// (`tcp_grow_window`). Returns whether it grew.
    pub(super) fn grow(&mut self, segment: &Segment) -> bool {
        if matches!(self.window, Window::Fixed(_)) || segment.len_b < GROWS_FROM_B {
            return false;
        }
        let room_b = self.clamp_b.min(self.free_b()).saturating_sub(self.threshold_b);
        let charge = Charge::of(segment.len_b);
        let charge_b = if charge.pages_b > 0 {
            charge.pages_b
        } else {
            charge.head_b
        };
        let len_b = u64::from(segment.len_b);
        let step_b = if self.window_of(charge_b) <= len_b {
            2 * self.mss_b
        } else {
            self.step_of_costly(charge_b, len_b)
        };
        if room_b == 0 || step_b == 0 {
            return false;
        }
        self.threshold_b += room_b.min(step_b.max(2 * len_b));
        true
    }

    /// The growth for a segment that takes more memory than its share (`__tcp_grow_window`).
    fn step_of_costly(&self, charge_b: u64, len_b: u64) -> u64 {
        let mut charge_b = self.window_of(charge_b) / 2;
        let mut window_b = self.window_of(self.size_max_b) / 2;
        while self.threshold_b <= window_b {
            if charge_b <= len_b {
                return 2 * self.segment_b;
            }
            charge_b /= 2;
            window_b /= 2;
        }
        0
    }

    /// The connection opens.
    pub(super) fn open(&mut self, now: Nanos) {
        self.since = now;
    }

    /// Once per round trip, sets the buffer to twice the data of the last round trip, and more while this
    /// amount grows (`tcp_rcv_space_adjust`). `received` octets arrived without a gap, and the application has read them.
    pub(super) fn tune(&mut self, now: Nanos, received: u64, rtt: Nanos) {
        if rtt == Nanos::ZERO || now.saturating_sub(self.since) < rtt {
            return;
        }
        let copied_b = received - self.from;
        if copied_b > self.space_b {
            if matches!(self.window, Window::Auto { .. }) {
                let window_b = 2 * copied_b + 16 * self.mss_b;
                let growth_b = window_b * (copied_b - self.space_b) / self.space_b;
                let size_b = ((window_b + 2 * growth_b) << RATIO_BITS) / self.ratio;
                let size_b = size_b.min(self.size_max_b);
                if size_b > self.size_b {
                    self.size_b = size_b;
                    self.clamp_b = self.window_of(size_b);
                }
            }
            self.space_b = copied_b;
        }
        self.since = now;
        self.from = received;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_window_is_half_of_the_receive_buffer() {
        let first_window_b = |window| Buffer::new(window, 1448).first_window_b();
        assert_eq!(Window::linux(), Window::starting_with(131_072));
        assert_eq!(first_window_b(Window::starting_with(131_072)), 65_160); // full segments
        assert_eq!(first_window_b(Window::starting_with(8 << 20)), 4_193_408);
    }

    /// Memory and windows of Linux 7.3 whose socket has `SO_RCVBUF` 65536, from a capture: 2304 octets per packet
    /// of 1500 octets, and pages for super-packets of 4, 10 and 6 segments.
    #[test]
    fn windows_follow_the_memory_as_in_linux() {
        let segment = |len_b| Segment {
            len_b,
            ..Segment::default()
        };
        let mut buffer = Buffer::new(Window::Socket(65_536), 1460);
        assert_eq!(buffer.first_window_b(), 64_240);
        let full = segment(1460);
        for _ in 0..20 {
            buffer.queue(1460, &full);
            buffer.measure(&full);
            buffer.grow(&full);
            buffer.read(1460);
        }
        // One packet waited when the window grew last.
        assert_eq!(buffer.window_b(), 81_486);
        let windows = [2, 39].map(|packets| {
            for _ in 0..packets {
                buffer.queue(1460, &full);
            }
            buffer.window_b()
        });
        assert_eq!(windows, [80_028, 23_166]);
        buffer.read(41 * 1460);
        assert!(buffer.is_free() && buffer.is_empty());
        let windows = [4, 10, 6].map(|segments| {
            buffer.queue(u64::from(segments) * 1448, &segment(segments * 1448));
            buffer.window_b()
        });
        assert_eq!(windows, [77_152, 66_784, 59_008]);
    }
}
