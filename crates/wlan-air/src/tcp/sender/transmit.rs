//! Transmission of segments, and its limits.

use super::{Phase, Probe, Sender, State, SuperPacket, Timer};
use crate::Nanos;
use crate::tcp::congestion::NO_THRESHOLD;
use crate::tcp::{MERGED_MAX_B, Segment, Span};

/// Windows up to this many octets are filled with whole segments.
const HALF_WINDOW_ABOVE_B: u64 = 536;
/// Octets of the largest super-packet, and the least segments of a full one (`tcp_min_tso_segs`).
const SUPER_PACKET_MAX_B: u64 = MERGED_MAX_B as u64;
const SUPER_PACKET_LEAST: u32 = 2;
/// The addition to super-packets on short paths halves with every 2^9 us of the round-trip time (`tcp_tso_rtt_log`).
const SHORT_PATH_BITS: u32 = 9;
/// A super-packet waits for an ACK only this long after the last one, and only if the ACK is expected within this time.
const DEFER_MOST: Nanos = Nanos::from_ms(1);

/// The next step of the sender.
enum Next {
    Send(Span),
    /// Wait for the next ACK, because of the congestion window or for another reason.
    Defer {
        congested: bool,
    },
    None,
}

impl Sender {
    /// The next segment to send at `now`, or `None`. Each returned segment counts as sent.
    pub fn poll(&mut self, now: Nanos) -> Option<Segment> {
        if self.control_due {
            self.control_due = false;
            return Some(self.control(now));
        }
        if self.phase != Phase::Open {
            return None;
        }
        if self.probe_due {
            self.probe_due = false;
            if let Some(segment) = self.send_probe(now) {
                return Some(segment);
            }
        }
        if self.board.outstanding() == 0 && self.sent < self.supply {
            self.restart(now);
        }
        let mut deferred = false;
        if self.board.in_flight() < self.cwnd.segments {
            if self.state != State::Open && self.board.any_waiting() {
                let oldest_at = self.board.oldest_at();
                if let Some(span) = self.board.resend_lost(now) {
                    // The timer refers to the oldest segment (RFC 6298, 5.1).
                    if self.board.oldest_at() != oldest_at {
                        self.timer = Some((Timer::Retransmission, now + self.rtt.timeout()));
                    }
                    return Some(self.resent(span, now));
                }
            }
            match self.next_span(now) {
                Next::Send(span) => return Some(self.send_new(span, now)),
                Next::Defer { congested } => deferred = congested,
                Next::None => {}
            }
        }
        let limited = deferred || self.board.in_flight() >= self.cwnd.segments;
        if self.sent_since_check || limited {
            self.sent_since_check = false;
            self.check_limited(limited);
        }
        None
    }

    fn control(&self, now: Nanos) -> Segment {
        Segment {
            syn: self.phase == Phase::Opening,
            seq: self.sent,
            sent_at: now,
            echo: self.echo,
            retransmission: self.phase == Phase::Opening && self.syns > 1,
            timestamps: self.config.timestamps,
            ..Segment::default()
        }
    }

    /// The next new octets that the application has and the receiver's window allows.
    fn new_span(&self) -> Option<Span> {
        let mss_b = u64::from(self.config.mss_b);
        // A window of less than two segments is filled in halves, so that the receiver answers at once (RFC
        // 9293, 3.8.6.2.1; Linux's tcp_bound_to_half_wnd).
        let full_b = if self.window_max_b > HALF_WINDOW_ABOVE_B {
            mss_b.min(self.window_max_b / 2)
        } else {
            mss_b.min(self.window_max_b)
        };
        let len_b = full_b.min(self.supply - self.sent);
        let span = Span {
            start: self.sent,
            end: self.sent + len_b,
        };
        let waits = len_b < full_b && self.holds_small();
        (len_b > 0 && span.end <= self.window_end && !waits).then_some(span)
    }

    /// The next segment of the current super-packet, or of a new one (`tcp_write_xmit`).
    fn next_span(&mut self, now: Nanos) -> Next {
        let Some(mut span) = self.new_span() else {
            // A super-packet may end with a part of a segment, at the end of the window.
            return match self.super_packet.filter(|rest| rest.end > self.sent) {
                Some(rest) => Next::Send(Span {
                    start: self.sent,
                    end: rest.end,
                }),
                None => Next::None,
            };
        };
        if !self.config.segmentation_offload {
            self.note_packet(now, span.end);
            if span.end - span.start < u64::from(self.config.mss_b) {
                self.small_end = span.end;
            }
            return Next::Send(span);
        }
        if self.super_packet.is_none_or(|rest| rest.end <= self.sent) {
            let mss_b = u64::from(self.config.mss_b);
            let most = self.segments_per_super_packet();
            if self.supply - self.sent > mss_b
                && let Some(congested) = self.defers(now, most)
            {
                return Next::Defer { congested };
            }
            let quota = (self.cwnd.segments - self.board.in_flight()).min(most);
            let possible_b = (self.window_end - self.sent).min(self.supply - self.sent);
            let len_b = if u64::from(quota) * mss_b <= possible_b {
                u64::from(quota) * mss_b
            } else if self.acked < self.small_end || span.end - span.start < mss_b {
                // Only one small segment may be in flight (Minshall's variant of Nagle).
                (possible_b / mss_b * mss_b).max(span.end - span.start)
            } else {
                possible_b
            };
            if len_b % mss_b > 0 {
                self.small_end = self.sent + len_b;
            }
            self.note_packet(now, self.sent + len_b);
            self.super_packet = Some(SuperPacket {
                end: self.sent + len_b,
                push: len_b > mss_b,
            });
        }
        if let Some(rest) = self.super_packet {
            span.end = span.end.min(rest.end);
        }
        Next::Send(span)
    }

    /// Segments of a full super-packet: what the sender's rate carries in 1/1024 s, and more on a short path
    /// (`tcp_tso_autosize`).
    fn segments_per_super_packet(&self) -> u32 {
        let mss_b = u64::from(self.config.mss_b);
        let per_mss = self.time_at_rate(mss_b).0.max(1);
        let mut octets = (1_000_000_000 / 1024) * mss_b / per_mss;
        let halvings = (self.rtt.min().0 / 1000) >> SHORT_PATH_BITS;
        if halvings < 32 {
            octets += SUPER_PACKET_MAX_B >> halvings;
        }
        let segments = octets.min(SUPER_PACKET_MAX_B) / mss_b;
        u32::try_from(segments)
            .unwrap_or(u32::MAX)
            .max(SUPER_PACKET_LEAST)
    }

    /// Whether to wait for the next ACK, because the super-packet would not be full (`tcp_tso_should_defer`): `Some`,
    /// and whether the congestion window is the reason.
    fn defers(&self, now: Nanos, most: u32) -> Option<bool> {
        let mss_b = u64::from(self.config.mss_b);
        let srtt = self.rtt.smoothed()?;
        let oldest_at = self.board.oldest_at()?;
        let recent = now.saturating_sub(self.last_sent) <= DEFER_MOST;
        let window_b = self.window_end - self.sent;
        let congestion_b = u64::from(self.cwnd.segments - self.board.in_flight()) * mss_b;
        let least_b = window_b.min(congestion_b);
        let third_b = self.last_window_b.min(u64::from(self.cwnd.segments) * mss_b) / 3;
        let soon = (oldest_at + srtt).saturating_sub(now) <= Nanos(srtt.0 / 2).min(DEFER_MOST);
        let waits = self.state == State::Open
            && recent
            && least_b < u64::from(most) * mss_b
            && least_b < third_b
            && soon;
        waits.then_some(congestion_b < window_b)
    }

    fn data(&mut self, span: Span, now: Nanos, retransmission: bool) -> Segment {
        let len_b = u32::try_from(span.end - span.start).expect("at most an MSS");
        self.counters.segments += 1;
        self.last_sent = now;
        if self.state == State::Recovery {
            self.reduction.out += 1;
        }
        Segment {
            seq: span.start,
            len_b,
            sent_at: now,
            echo: self.echo,
            retransmission,
            push: !retransmission
                && (self.ends_writes(span)
                    || self.super_packet.is_some_and(|it| it.push && it.end == span.end)),
            timestamps: self.config.timestamps,
            ..Segment::default()
        }
    }

    fn send_new(&mut self, span: Span, now: Nanos) -> Segment {
        let first = self.board.outstanding() == 0;
        self.board.send(span, now);
        self.sent = span.end;
        self.sent_since_check = true;
        if first || self.timer.is_none() || matches!(self.timer, Some((Timer::Probe, _))) {
            self.arm_retransmission(now, first);
        }
        self.arm_probe(now, false);
        self.data(span, now, false)
    }

    fn resent(&mut self, span: Span, now: Nanos) -> Segment {
        self.counters.retransmissions += 1;
        if let Some(undo) = &mut self.undo {
            undo.resent_at.get_or_insert(now);
            undo.unexplained = Some(undo.unexplained.unwrap_or(0) + 1);
        }
        self.data(span, now, true)
    }

    /// RFC 8985, 7.3: sends new octets if there are any, otherwise the newest segment again.
    fn send_probe(&mut self, now: Nanos) -> Option<Segment> {
        if self.board.outstanding() == 0 {
            return None;
        }
        let segment = if let Some(span) = self.new_span() {
            let segment = self.send_new(span, now);
            self.probe = Some(Probe {
                end: self.sent,
                resent: false,
            });
            Some(segment)
        } else if let Some(span) = self.board.resend_newest(now) {
            self.probe = Some(Probe {
                end: self.sent,
                resent: true,
            });
            Some(self.resent(span, now))
        } else {
            None
        };
        self.counters.probes += u64::from(segment.is_some());
        self.timer = None;
        self.arm_retransmission(now, segment.is_some());
        segment
    }

    /// RFC 5681, 4.1: after an idle time longer than the timeout, the window halves once per timeout, down to
    /// the initial window.
    fn restart(&mut self, now: Nanos) {
        let idle = now.saturating_sub(self.last_sent);
        if self.last_sent == Nanos::ZERO || idle == Nanos::ZERO {
            return;
        }
        self.cwnd.idled(idle);
        let timeout = self.rtt.timeout();
        let floor = self.config.initial_window.min(self.cwnd.segments);
        if idle > timeout {
            self.cwnd.threshold = self.cwnd.threshold.max(self.cwnd.segments / 4 * 3);
            let mut left = idle - timeout;
            while left > Nanos::ZERO && self.cwnd.segments > floor {
                self.cwnd.segments /= 2;
                left = left.saturating_sub(timeout);
            }
            self.cwnd.segments = self.cwnd.segments.max(floor);
        }
        // Not repeated before the next transmission.
        self.last_sent = now;
    }

    fn check_limited(&mut self, limited: bool) {
        let outstanding = self.board.outstanding();
        if self.acked >= self.limited_until
            || limited
            || (!self.limited && outstanding > self.most_outstanding)
        {
            self.limited = limited;
            self.most_outstanding = outstanding;
            self.limited_until = self.sent;
        }
    }

    /// Whether the window limits the sender, so that it may grow; in slow start, half of the window must be
    /// in use.
    pub(super) fn is_window_limited(&self) -> bool {
        self.limited || (self.cwnd.in_slow_start() && self.cwnd.segments < 2 * self.most_outstanding)
    }

    /// Time to send `octets` at the rate that Linux derives from the window: twice the window per round trip
    /// in the first half of slow start, 1.2 times the window later.
    pub(super) fn time_at_rate(&self, octets: u64) -> Nanos {
        let Some(srtt) = self.rtt.smoothed() else {
            return Nanos::ZERO;
        };
        let early = self.cwnd.threshold == NO_THRESHOLD || self.cwnd.segments < self.cwnd.threshold / 2;
        let percent = if early { 200 } else { 120 };
        let segments = self.cwnd.segments.max(self.board.outstanding()).max(1);
        let window_b = u64::from(segments) * u64::from(self.config.mss_b);
        let ns = u128::from(octets) * u128::from(srtt.0) * 100 / (u128::from(window_b) * percent);
        Nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}
