//! The sender.

use std::collections::VecDeque;

mod application;
mod config;
mod recovery;
mod transmit;

pub use config::{SendBuffer, SenderConfig, Supply};

use super::congestion::{Cwnd, Round};
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::{Segment, TcpError};
use crate::Nanos;

/// Added to the timers for reordering and tail loss; Linux's `TCP_TIMEOUT_MIN_US`.
const TIMER_SLACK: Nanos = Nanos::from_ms(2);
/// Maximum ACK delay that a tail loss probe assumes for a single segment (RFC 8985, 7.2: `WCDelAckT`; Linux:
/// `TCP_RTO_MIN`).
const WORST_ACK_DELAY: Nanos = Nanos::from_ms(200);
/// Four times the maximum burst that Linux passes to a device.
const BURSTS_B: u64 = 4 * 65_536;

/// The counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Data segments sent, including retransmissions.
    pub segments: u64,
    /// Retransmitted data segments.
    pub retransmissions: u64,
    /// Number of reductions of the window after a loss.
    pub recoveries: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Recoveries and timeouts that were spurious and undone.
    pub undone: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed,
    Opening,
    Open,
}

/// The state of loss recovery; Linux's `CA_Open` and `CA_Disorder` are one state here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Recovery,
    Loss,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    Retransmission,
    Probe,
    Reordering,
}

/// Proportional rate reduction (RFC 6937).
#[derive(Clone, Copy, Debug, Default)]
struct Reduction {
    prior: u32,
    delivered: u32,
    out: u32,
}

/// The state that is restored after a spurious recovery.
#[derive(Clone, Copy, Debug)]
struct Undo {
    window: u32,
    threshold: u32,
    /// Time of the first retransmission of this recovery.
    resent_at: Option<Nanos>,
    /// Retransmissions not yet reported as duplicates; `None` before the first retransmission.
    unexplained: Option<u32>,
    from: u64,
}

/// A tail loss probe in flight (RFC 8985, 7.4).
#[derive(Clone, Copy, Debug)]
struct Probe {
    end: u64,
    resent: bool,
}

/// A super-packet: the stack passes several segments to the device at once, which splits them. The last one of several
/// segments has PSH.
#[derive(Clone, Copy, Debug)]
struct SuperPacket {
    end: u64,
    push: bool,
}

/// A TCP sender. Call [`Sender::open`], then pass arriving segments to [`Sender::on_segment`] and expired
/// timeouts to [`Sender::on_timeout`]. After each call, send all segments that [`Sender::poll`] returns.
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    phase: Phase,
    state: State,
    board: Scoreboard,
    rtt: Rtt,
    cwnd: Cwnd,
    /// Octets acknowledged, octets sent, and the total octets of the application.
    acked: u64,
    sent: u64,
    supply: u64,
    /// End of the receiver's window, its latest size, and its largest size so far.
    window_end: u64,
    last_window_b: u64,
    window_max_b: u64,
    /// Losses before this octet belong to the current recovery.
    recover: u64,
    reduction: Reduction,
    undo: Option<Undo>,
    probe: Option<Probe>,
    probe_due: bool,
    timer: Option<(Timer, Nanos)>,
    /// Whether a segment without data must be sent: the SYN, or the ACK that ends the handshake.
    control_due: bool,
    syns: u64,
    syn_at: Nanos,
    echo: Nanos,
    last_sent: Nanos,
    /// Whether the window limited the sender during the last window of data (Linux's `tcp_cwnd_validate`).
    limited: bool,
    limited_until: u64,
    most_outstanding: u32,
    sent_since_check: bool,
    /// The rest of a super-packet that the device is splitting.
    super_packet: Option<SuperPacket>,
    /// End of the last segment that was not full.
    small_end: u64,
    /// Ends of the packets in the send buffer that were passed to the device.
    packets: VecDeque<u64>,
    /// Calls of the application before it asks again whether the socket is writable.
    writes_left: u32,
    /// Time until which the host's CPU is busy with writes and packets.
    busy_until: Nanos,
    stopped: bool,
    counters: SenderCounters,
}

impl Sender {
    /// A sender that has not opened its connection.
    ///
    /// # Errors
    /// [`TcpError`] if the configuration is invalid.
    pub fn new(config: SenderConfig) -> Result<Sender, TcpError> {
        config.check()?;
        Ok(Sender {
            config,
            phase: Phase::Closed,
            state: State::Open,
            board: Scoreboard::new(),
            rtt: Rtt::new(),
            cwnd: Cwnd::new(config.congestion, config.initial_window),
            acked: 0,
            sent: 0,
            supply: if config.greeting_b > 0 {
                config.greeting_b
            } else {
                config.first_supply()
            },
            window_end: 0,
            last_window_b: 0,
            window_max_b: 0,
            recover: 0,
            reduction: Reduction::default(),
            undo: None,
            probe: None,
            probe_due: false,
            timer: None,
            control_due: false,
            syns: 0,
            syn_at: Nanos::ZERO,
            echo: Nanos::ZERO,
            last_sent: Nanos::ZERO,
            limited: false,
            limited_until: 0,
            most_outstanding: 0,
            sent_since_check: false,
            super_packet: None,
            small_end: 0,
            packets: VecDeque::new(),
            writes_left: 0,
            busy_until: Nanos::ZERO,
            stopped: false,
            counters: SenderCounters::default(),
        })
    }

    /// Opens the connection with a SYN. Further calls have no effect.
    pub fn open(&mut self, now: Nanos) {
        if self.phase == Phase::Closed {
            self.phase = Phase::Opening;
            self.syn(now);
        }
    }

    fn syn(&mut self, now: Nanos) {
        self.control_due = true;
        self.syns += 1;
        self.syn_at = now;
        self.timer = Some((Timer::Retransmission, now + self.rtt.timeout()));
    }

    /// The application writes `octets` more octets; a bulk stream has them already.
    pub fn write(&mut self, octets: u64) {
        self.supply = self.supply.saturating_add(octets);
    }

    /// The application writes no more octets than have been sent.
    pub fn stop(&mut self) {
        self.supply = self.supply.min(self.sent);
        self.stopped = true;
    }

    /// Octets acknowledged.
    #[must_use]
    pub fn acked_b(&self) -> u64 {
        self.acked
    }

    /// Whether all octets of the application are acknowledged; always false for a bulk stream that has not
    /// stopped.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let ends = self.stopped || matches!(self.config.supply, Supply::Octets(_));
        self.phase == Phase::Open && ends && self.acked == self.supply
    }

    /// Congestion window, segments.
    #[must_use]
    pub fn congestion_window(&self) -> u32 {
        self.cwnd.segments
    }

    /// Smoothed round-trip time; `None` before the handshake.
    #[must_use]
    pub fn smoothed_rtt(&self) -> Option<Nanos> {
        self.rtt.smoothed()
    }

    /// Leaves slow start at this window.
    #[cfg(test)]
    pub(super) fn leave_slow_start_at(&mut self, threshold: u32) {
        self.cwnd.threshold = threshold;
    }

    /// The counters since the start.
    #[must_use]
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// Time of the next [`Sender::on_timeout`]; `None` if no timer is active.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Nanos> {
        self.timer.map(|(_, at)| at)
    }

    /// Handles a segment from the receiver.
    pub fn on_segment(&mut self, now: Nanos, segment: &Segment) {
        match self.phase {
            Phase::Opening if segment.syn => {
                self.phase = Phase::Open;
                self.control_due = true;
                self.echo = segment.sent_at;
                self.timer = None;
                self.window_end = segment.window_b;
                self.last_window_b = segment.window_b;
                self.window_max_b = segment.window_b;
                let rtt = now.saturating_sub(segment.echo);
                self.rtt.sample(rtt, 0, 0);
                self.rtt.sample_min(rtt);
                self.cwnd.opened(now);
            }
            // The answer to a repeated SYN, or an ACK that arrived after data.
            Phase::Open if segment.syn => self.control_due = true,
            Phase::Open if segment.ack >= self.acked && segment.ack <= self.sent => self.on_ack(now, segment),
            _ => {}
        }
    }

    fn on_ack(&mut self, now: Nanos, segment: &Segment) {
        self.echo = self.echo.max(segment.sent_at);
        self.window_end = self.window_end.max(segment.ack + segment.window_b);
        self.last_window_b = segment.window_b;
        self.window_max_b = self.window_max_b.max(segment.window_b);

        let losses = self.board.losses();
        let progress = self.board.acknowledge(segment, now, self.rtt.min());
        if self.acked < self.config.greeting_b && segment.ack >= self.config.greeting_b && !self.stopped {
            self.supply = self.supply.saturating_add(self.config.first_supply());
        }
        self.acked = segment.ack;
        self.free_packets();
        if let Some(rtt) = progress.last_rtt {
            self.rtt.sample_min(rtt);
        }
        if let Some(rtt) = progress.first_rtt {
            self.rtt.sample(rtt, self.acked, self.sent);
        } else if progress.advanced && segment.echo > Nanos::ZERO {
            // RFC 7323, 4: timestamps identify the transmission that was acknowledged.
            self.rtt
                .sample(now.saturating_sub(segment.echo), self.acked, self.sent);
        }
        if let Some(rtt) = progress.last_rtt {
            self.cwnd.measured(&Round {
                now,
                acked: self.acked,
                sent: self.sent,
                rtt,
                burst: self.time_at_rate(BURSTS_B).min(Nanos::from_ms(1)),
            });
        }

        self.note_duplicate(segment);
        self.finish_probe(segment, &progress);
        if progress.advanced {
            self.arm(now, true);
        }
        self.handle_losses(now, segment, &progress);

        if self.state == State::Recovery {
            let newly_lost = self.board.losses() > losses;
            self.reduce(progress.delivered, progress.advanced && !newly_lost);
        } else if (progress.advanced || (progress.sacked && self.board.reorders()))
            && self.is_window_limited()
        {
            self.cwnd.grow(now, progress.delivered);
        }
    }
}
