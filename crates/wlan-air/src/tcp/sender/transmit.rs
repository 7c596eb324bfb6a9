//! Transmission of segments, and its limits.

use super::{Phase, Probe, Sender, State, Timer};
use crate::Nanos;
use crate::tcp::congestion::NO_THRESHOLD;
use crate::tcp::{Segment, Span};

/// Windows up to this many octets are filled with whole segments.
const HALF_WINDOW_ABOVE_B: u64 = 536;

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
            if let Some(span) = self.next_span() {
                return Some(self.send_new(span, now));
            }
        }
        let limited = self.board.in_flight() >= self.cwnd.segments;
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
            ..Segment::default()
        }
    }

    /// The next new octets that the application has and the receiver's window allows.
    fn next_span(&self) -> Option<Span> {
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
        (len_b > 0 && span.end <= self.window_end).then_some(span)
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
        let segment = if let Some(span) = self.next_span() {
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
