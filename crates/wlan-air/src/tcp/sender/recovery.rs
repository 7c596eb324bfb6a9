//! Loss recovery: lost segments, the reduction of the window, and the timers.

use super::{Phase, Reduction, Sender, State, TIMER_SLACK, Timer, Undo, WORST_ACK_DELAY};
use crate::Nanos;
use crate::tcp::Segment;
use crate::tcp::scoreboard::Progress;

impl Sender {
    /// Counts spurious retransmissions (RFC 2883, RFC 3708).
    pub(super) fn note_duplicate(&mut self, segment: &Segment) {
        if let (Some(duplicate), Some(undo)) = (segment.sack.duplicate(), &mut self.undo)
            && duplicate.end > undo.from
            && let Some(unexplained) = &mut undo.unexplained
        {
            *unexplained = unexplained.saturating_sub(1);
        }
    }

    /// RFC 8985, 7.4: a probe that repaired a loss reduces the window like any loss.
    pub(super) fn finish_probe(&mut self, segment: &Segment, progress: &Progress) {
        let Some(probe) = self.probe else { return };
        if segment.ack < probe.end {
            return;
        }
        let repeated = segment.sack.duplicate().is_some();
        if !probe.resent || repeated {
            self.probe = None;
        } else if segment.ack > probe.end {
            self.probe = None;
            if self.state == State::Open {
                self.cwnd.threshold = self.cwnd.after_loss();
                self.cwnd.segments = self.cwnd.threshold;
                self.cwnd.credit = 0;
                self.counters.recoveries += 1;
            }
        } else if !progress.advanced && !progress.sacked {
            // The original and the probe were both acknowledged, so no segment was lost.
            self.probe = None;
        }
    }

    pub(super) fn handle_losses(&mut self, now: Nanos, segment: &Segment, progress: &Progress) {
        if self.state != State::Open {
            if (progress.advanced || segment.sack.duplicate().is_some()) && self.was_spurious(segment) {
                self.undo_reduction();
            } else if self.acked >= self.recover {
                if self.state == State::Recovery {
                    self.cwnd.segments = self.cwnd.threshold;
                }
                self.settle();
            }
        }
        if self.board.outstanding() == 0 {
            return;
        }
        let srtt = self.rtt.smoothed().unwrap_or(Nanos::ZERO);
        let wait = self
            .board
            .detect_losses(now, self.state != State::Open, self.rtt.min(), srtt);
        if let Some(wait) = wait {
            self.timer = Some((Timer::Reordering, now + wait + TIMER_SLACK));
        }
        if self.board.any_waiting() && self.state == State::Open {
            self.enter_recovery();
        }
    }

    fn enter_recovery(&mut self) {
        self.remember();
        self.recover = self.sent;
        self.probe = None;
        self.reduction = Reduction {
            prior: self.cwnd.segments,
            ..Reduction::default()
        };
        self.cwnd.credit = 0;
        self.cwnd.threshold = self.cwnd.after_loss();
        self.state = State::Recovery;
        self.counters.recoveries += 1;
    }

    fn remember(&mut self) {
        self.undo = Some(Undo {
            window: self.cwnd.segments,
            threshold: if self.cwnd.in_slow_start() {
                self.cwnd.threshold
            } else {
                self.cwnd.threshold.max(self.cwnd.segments / 4 * 3)
            },
            resent_at: None,
            unexplained: None,
            from: self.acked,
        });
    }

    /// The recovery ends.
    fn settle(&mut self) {
        self.state = State::Open;
        self.undo = None;
    }

    /// Eifel detection (RFC 3522): the acknowledgment answers a segment sent before the first retransmission,
    /// or all retransmissions were reported as duplicates.
    fn was_spurious(&self, segment: &Segment) -> bool {
        self.undo.is_some_and(|undo| {
            undo.unexplained == Some(0)
                || (segment.echo > Nanos::ZERO && undo.resent_at.is_some_and(|at| segment.echo < at))
        })
    }

    fn undo_reduction(&mut self) {
        if let Some(undo) = self.undo {
            self.cwnd.segments = self.cwnd.segments.max(undo.window);
            self.cwnd.threshold = self.cwnd.threshold.max(undo.threshold);
            self.counters.undone += 1;
        }
        if self.state == State::Loss {
            self.board.clear_losses();
        }
        self.settle();
    }

    /// Proportional rate reduction (RFC 6937, 3; the conservative bound with slow start, as in Linux).
    pub(super) fn reduce(&mut self, delivered: u32, in_order: bool) {
        let Reduction { prior, .. } = self.reduction;
        if delivered == 0 && self.reduction.out > 0 || prior == 0 {
            return;
        }
        self.reduction.delivered += delivered;
        let Reduction {
            delivered: all, out, ..
        } = self.reduction;
        let in_flight = self.board.in_flight();
        let threshold = self.cwnd.threshold;
        let may_send = if in_flight > threshold {
            let share = (u64::from(threshold) * u64::from(all)).div_ceil(u64::from(prior));
            u32::try_from(share).unwrap_or(u32::MAX).saturating_sub(out)
        } else {
            let owed = all.saturating_sub(out).max(delivered) + u32::from(in_order);
            owed.min(threshold - in_flight)
        };
        // The first retransmission is sent at once.
        self.cwnd.segments = in_flight + may_send.max(u32::from(out == 0));
    }

    /// Executes the timer that is due at `now`; does nothing before its time.
    pub fn on_timeout(&mut self, now: Nanos) {
        let Some((timer, _)) = self.timer.filter(|&(_, at)| at <= now) else {
            return;
        };
        self.timer = None;
        if self.phase == Phase::Opening {
            self.rtt.back_off();
            self.syn(now);
            return;
        }
        match timer {
            Timer::Retransmission => self.time_out(now),
            Timer::Probe => {
                self.probe_due = self.probe.is_none();
                if !self.probe_due {
                    self.arm_retransmission(now, false);
                }
            }
            Timer::Reordering => {
                let losses = self.board.losses();
                let srtt = self.rtt.smoothed().unwrap_or(Nanos::ZERO);
                self.board
                    .detect_losses(now, self.state != State::Open, self.rtt.min(), srtt);
                if self.board.any_waiting() && self.state == State::Open {
                    self.enter_recovery();
                }
                if self.state == State::Recovery && self.board.losses() > losses {
                    self.reduce(1, false);
                }
                self.arm_retransmission(now, false);
            }
        }
    }

    /// Handles a retransmission timeout (RFC 5681, 3.1 and RFC 6298, 5.4 to 5.6).
    fn time_out(&mut self, now: Nanos) {
        if self.board.outstanding() == 0 {
            return;
        }
        self.counters.timeouts += 1;
        if self.state != State::Loss || self.acked >= self.recover {
            if self.state == State::Open || self.undo.is_none() {
                self.remember();
            }
            self.cwnd.threshold = self.cwnd.after_loss();
        }
        let srtt = self.rtt.smoothed().unwrap_or(Nanos::ZERO);
        self.board.mark_timed_out(now, self.rtt.min(), srtt);
        self.cwnd.segments = self.board.in_flight() + 1;
        self.cwnd.credit = 0;
        self.cwnd.timed_out(now, self.sent);
        self.recover = self.sent;
        self.state = State::Loss;
        self.probe = None;
        self.probe_due = false;
        self.rtt.back_off();
        self.timer = Some((Timer::Retransmission, now + self.rtt.timeout()));
    }

    /// Starts the timer after an acknowledgment: for a probe if it may be sent, otherwise for a
    /// retransmission.
    pub(super) fn arm(&mut self, now: Nanos, advanced: bool) {
        if self.board.outstanding() == 0 {
            self.timer = None;
        } else {
            let restart = !matches!(self.timer, Some((Timer::Probe | Timer::Reordering, _)));
            if !self.arm_probe(now, advanced) {
                self.arm_retransmission(now, restart);
            }
        }
    }

    /// Counts from now if `restart`, otherwise from the last transmission of the oldest segment.
    pub(super) fn arm_retransmission(&mut self, now: Nanos, restart: bool) {
        let Some(oldest_at) = self.board.oldest_at() else {
            return;
        };
        let from = if restart { now } else { oldest_at };
        let at = (from + self.rtt.timeout()).max(now + Nanos(1_000));
        self.timer = Some((Timer::Retransmission, at));
    }

    /// Starts the timer of the probe, if a probe may be sent (RFC 8985, 7.2).
    pub(super) fn arm_probe(&mut self, now: Nanos, advanced: bool) -> bool {
        let (Some(srtt), Some(oldest_at)) = (self.rtt.smoothed(), self.board.oldest_at()) else {
            return false;
        };
        if self.state != State::Open || self.board.any_out_of_order() {
            return false;
        }
        let slack = if self.board.outstanding() == 1 {
            WORST_ACK_DELAY
        } else {
            TIMER_SLACK
        };
        let retransmission_at = if advanced { now } else { oldest_at } + self.rtt.timeout();
        let at = (now + srtt * 2 + slack).min(retransmission_at.max(now));
        self.timer = Some((Timer::Probe, at));
        true
    }
}
