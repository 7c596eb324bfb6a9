//! One station: what it senses of the medium, and its backoffs.

use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

use super::flow::Flow;
use crate::Nanos;
use crate::access::{Access, Countdown};
use crate::phy::Mode;
use crate::rate::Choice;

/// The virtual carrier sense of one station (10.3.2.4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Nav {
    until: Nanos,
    /// Set by an RTS: nothing was heard since, and the NAV may be reset at this time if that stays so.
    reset_at: Option<Nanos>,
}

impl Nav {
    /// Takes the Duration field of a frame to other stations; `reset_at` if the frame is an RTS.
    pub fn set(&mut self, until: Nanos, reset_at: Option<Nanos>) {
        if until > self.until {
            *self = Nav { until, reset_at };
        }
    }

    /// A PPDU starts.
    pub fn sense(&mut self, at: Nanos) {
        if let Some(reset_at) = self.reset_at.take()
            && at >= reset_at
        {
            self.until = reset_at;
        }
    }

    /// When it ends if nothing more is heard.
    pub fn end(&self) -> Nanos {
        self.reset_at
            .map_or(self.until, |reset_at| reset_at.min(self.until))
    }
}

/// The exchange that a station has begun and not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub contender: usize,
    pub flow: usize,
    pub mode: Mode,
    pub kind: Payload,
    pub psdu_len_b: usize,
    /// The payload went on the air, and not only the RTS before it.
    pub payload_sent: bool,
    /// When the TXOP must end; none: after this exchange.
    pub txop_end: Option<Nanos>,
}

/// What an exchange is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    /// So many MPDUs, at the rate that was chosen for them.
    Data {
        mpdus: usize,
        choice: Choice,
    },
    Beacon,
}

#[derive(Debug)]
pub(super) struct Station<F> {
    pub contenders: Vec<Contender<F>>,
    /// PPDUs of others that it hears now.
    pub heard: usize,
    pub transmitting: bool,
    /// The PPDU that it is receiving.
    pub receiving: Option<u64>,
    /// Another PPDU fell into that one: nothing can be read until the medium falls idle.
    pub garbled: bool,
    /// When it began to hear PPDUs, while it does.
    pub busy_from: Nanos,
    /// The end of the last PPDU that it sent or heard, or of its wait for an answer.
    pub idle_from: Nanos,
    pub nav: Nav,
    /// The last thing it heard could not be read.
    pub eifs: bool,
    pub exchange: Option<Exchange>,
    /// When its next beacon has to go.
    pub beacon_due: Option<Nanos>,
    /// When it starts next is not yet reckoned.
    pub stale: bool,
}

impl<F> Station<F> {
    /// Whether neither carrier sense nor an exchange of its own keeps it from counting down.
    pub fn is_free(&self) -> bool {
        self.heard == 0 && !self.transmitting && self.exchange.is_none()
    }

    /// From when on interframe spaces count; `eifs` is what EIFS is longer than DIFS.
    pub fn access_from(&self, eifs: Nanos) -> Nanos {
        let from = self.idle_from.max(self.nav.end());
        if self.eifs {
            from.max(self.idle_from + eifs)
        } else {
            from
        }
    }

    /// When it transmits next if it hears nothing before, and which contender does: [`BEACON`], or of those
    /// that start at one time the one with the highest priority.
    pub fn next_start(&self, eifs: Nanos, slot: Nanos, pifs: Nanos) -> Option<(Nanos, usize)> {
        let free = self.is_free();
        let from = self.access_from(eifs);
        let mut next = self
            .beacon_due
            .filter(|_| free)
            .map(|due| (due.max(from + pifs), BEACON));
        for (index, contender) in self.contenders.iter().enumerate().rev() {
            let start = if free {
                contender.start(from, slot)
            } else {
                contender.committed
            };
            if let Some(start) = start
                && next.is_none_or(|(earliest, _)| start < earliest)
            {
                next = Some((start, index));
            }
        }
        next
    }
}

/// Stands for a contender where a beacon is meant.
pub(super) const BEACON: usize = usize::MAX;

/// DCF, or one EDCA function: a queue with a backoff of its own.
#[derive(Debug)]
pub(super) struct Contender<F> {
    pub access: Access,
    pub ifs: Nanos,
    /// Contention window, slots.
    pub cw: u16,
    /// Exchanges that failed in a row (`QSRC`, 10.23.2.2; the station short retry count, 10.3.3).
    failures: u8,
    /// Slots left of a backoff, counted from the end of the interframe space. None: no backoff is pending, a
    /// frame may go at once.
    pub backoff: Option<u16>,
    /// A start that was decided before the medium turned busy, too late to be called off.
    pub committed: Option<Nanos>,
    /// MSDUs that wait, on the air included, by destination.
    pub flows: Vec<Flow<F>>,
    /// Number of those MSDUs: above zero it contends.
    pub backlog: usize,
    /// When the first of them came, as long as no backoff is pending.
    pub since: Nanos,
    /// The flow that was served last.
    pub served: usize,
}

impl<F> Contender<F> {
    pub fn new(access: Access, ifs: Nanos) -> Contender<F> {
        Contender {
            access,
            ifs,
            cw: access.cw_min,
            failures: 0,
            backoff: None,
            committed: None,
            flows: Vec::new(),
            backlog: 0,
            since: Nanos::ZERO,
            served: 0,
        }
    }

    /// When it transmits on a medium that is idle; `from`: [`Station::access_from`].
    pub fn start(&self, from: Nanos, slot: Nanos) -> Option<Nanos> {
        if self.backlog == 0 {
            return None;
        }
        Some(match self.backoff {
            Some(slots) => from + self.ifs + slot * u64::from(slots),
            None => (from + self.ifs).max(self.since),
        })
    }

    /// Draws a backoff.
    pub fn draw(&mut self, rng: &mut Pcg32) {
        self.backoff = Some(draw(rng, self.cw));
    }

    /// An exchange succeeded: the contention window starts afresh.
    pub fn succeed(&mut self) {
        self.failures = 0;
        self.cw = self.access.cw_min;
    }

    /// An exchange failed: the contention window doubles, or starts afresh at the retry limit (10.3.3, 10.23.2.2). The
    /// exchange counts, not its MPDUs: one of them may be given up while others are new.
    pub fn fail(&mut self) {
        self.failures += 1;
        if self.failures >= self.access.retry_limit {
            self.succeed();
        } else {
            self.cw = self.access.cw_max.min(2 * self.cw + 1);
        }
    }

    /// Stops the countdown, for a medium that was idle turned busy at `busy_from`.
    pub fn freeze(&mut self, from: Nanos, slot: Nanos, busy_from: Nanos, cca: Nanos, rng: &mut Pcg32) {
        let Some(slots) = self.backoff else {
            // The busy medium cuts short the interframe space of a frame that needed no backoff.
            if self.backlog > 0 {
                self.draw(rng);
            }
            return;
        };
        let slots_from = from + self.ifs;
        let passed = if busy_from < slots_from {
            0
        } else {
            let boundary = u64::from(self.access.countdown == Countdown::PerBoundary);
            (busy_from - slots_from).0 / slot.0 + boundary
        };
        let left = slots.saturating_sub(u16::try_from(passed).unwrap_or(u16::MAX));
        let end = slots_from + slot * u64::from(slots);
        self.backoff = if self.backlog == 0 && (left == 0 || end < busy_from + cca) {
            None
        } else {
            Some(left)
        };
    }
}

/// A backoff uniform on 0 to `cw` slots; `cw` is a power of two less one, so the mask is exact.
fn draw(rng: &mut Pcg32, cw: u16) -> u16 {
    let [low, high, ..] = rng.next_u32().to_le_bytes();
    u16::from_le_bytes([low, high]) & cw
}
