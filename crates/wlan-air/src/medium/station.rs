//! One station: its view of the medium, and its backoffs.

use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

use super::config::{Protection, StationConfig};
use super::flow::Flow;
use crate::Nanos;
use crate::access::{Access, Countdown};
use crate::phy::{Bss, Mode};
use crate::rate::{Choice, RateControl};

/// The virtual carrier sense of one station (10.3.2.4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Nav {
    until: Nanos,
    /// Set for an RTS: time at which the NAV may be reset if nothing is heard after the RTS.
    reset_at: Option<Nanos>,
}

impl Nav {
    /// Applies the Duration field of a frame to another station; `reset_at` is set if the frame is an RTS.
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

    /// End of the NAV if nothing more is heard.
    pub fn end(&self) -> Nanos {
        self.reset_at
            .map_or(self.until, |reset_at| reset_at.min(self.until))
    }
}

/// The exchange in progress at a station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub contender: usize,
    pub flow: usize,
    /// The receiving station; none for a group-addressed frame.
    pub to: Option<usize>,
    pub mode: Mode,
    pub kind: Payload,
    pub psdu_len_b: usize,
    /// The frame that must still be sent before the payload.
    pub protection: Protection,
    /// Whether the payload was sent, not only the RTS before it.
    pub payload_sent: bool,
    /// End of the TXOP; none if the TXOP ends with this exchange.
    pub txop_end: Option<Nanos>,
}

/// The payload of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    /// The number of MPDUs, and the rate chosen for them.
    Data {
        mpdus: usize,
        choice: Choice,
    },
    Beacon,
}

#[derive(Debug)]
pub(super) struct Station<F> {
    pub contenders: Vec<Contender<F>>,
    /// Number of PPDUs of other stations that it currently hears.
    pub heard: usize,
    pub transmitting: bool,
    /// The PPDU that it is receiving.
    pub receiving: Option<u64>,
    /// Another PPDU overlapped the PPDU being received: nothing can be decoded until the medium is idle.
    pub garbled: bool,
    /// Time at which the medium became busy for the station, while it is busy.
    pub busy_from: Nanos,
    /// The end of the last PPDU that it sent or heard, or of its wait for an answer.
    pub idle_from: Nanos,
    pub nav: Nav,
    /// Whether the last PPDU that it heard could not be decoded.
    pub eifs: bool,
    pub exchange: Option<Exchange>,
    /// Time at which its next beacon is due.
    pub beacon_due: Option<Nanos>,
    /// Whether its next start must be computed again.
    pub stale: bool,
}

impl<F> Station<F> {
    /// A station that hears nothing and has nothing to send.
    pub fn new(config: &StationConfig, bss: &Bss) -> Station<F> {
        let has_driver = config.rate == RateControl::Driver;
        let contender = |access: &Access| Contender {
            reset_after: (!has_driver).then_some(access.retry_limit),
            ..Contender::new(*access, access.ifs(bss))
        };
        Station {
            contenders: config.access.iter().map(contender).collect(),
            heard: 0,
            transmitting: false,
            receiving: None,
            garbled: false,
            busy_from: Nanos::ZERO,
            idle_from: Nanos::ZERO,
            nav: Nav::default(),
            eifs: false,
            exchange: None,
            beacon_due: None,
            stale: false,
        }
    }

    /// Whether it may count down: neither physical carrier sense nor an exchange of its own prevents it.
    pub fn is_free(&self) -> bool {
        self.heard == 0 && !self.transmitting && self.exchange.is_none()
    }

    /// Time from which interframe spaces count; `eifs` is EIFS minus DIFS.
    pub fn access_from(&self, eifs: Nanos) -> Nanos {
        let from = self.idle_from.max(self.nav.end());
        if self.eifs {
            from.max(self.idle_from + eifs)
        } else {
            from
        }
    }

    /// The next transmission if nothing is heard before, and its contender: [`BEACON`], or the contender with
    /// the highest priority if several start at the same time.
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

/// The contender index of a beacon.
pub(super) const BEACON: usize = usize::MAX;

/// DCF, or one EDCA function: a queue with its own backoff.
#[derive(Debug)]
pub(super) struct Contender<F> {
    pub access: Access,
    pub ifs: Nanos,
    /// Contention window, slots.
    pub cw: u16,
    /// Consecutive failed exchanges (`QSRC`, 10.23.2.2; the station short retry count, 10.3.3).
    failures: u8,
    /// Consecutive failed exchanges after which the contention window is reset: the retry limit. None if a
    /// driver ends the transmissions of an MPDU, which then also resets the contention window.
    reset_after: Option<u8>,
    /// Remaining slots of a backoff, counted from the end of the interframe space. `None`: no backoff is
    /// pending, and a frame may be sent at once.
    pub backoff: Option<u16>,
    /// A start that was decided before the medium became busy, too late to be cancelled.
    pub committed: Option<Nanos>,
    /// Waiting MSDUs by destination, including MSDUs on the air.
    pub flows: Vec<Flow<F>>,
    /// Number of waiting MSDUs; the contender contends if it is above zero.
    pub backlog: usize,
    /// Arrival of the first waiting MSDU, as long as no backoff is pending.
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
            reset_after: Some(access.retry_limit),
            backoff: None,
            committed: None,
            flows: Vec::new(),
            backlog: 0,
            since: Nanos::ZERO,
            served: 0,
        }
    }

    /// The time at which it transmits on an idle medium; `from` is [`Station::access_from`].
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

    /// Records a successful exchange: the contention window is reset.
    pub fn succeed(&mut self) {
        self.failures = 0;
        self.cw = self.access.cw_min;
    }

    /// Records a failed exchange: the contention window doubles, or is reset at the retry limit (10.3.3,
    /// 10.23.2.2). The limit counts exchanges, not MPDUs: one MPDU may be dropped while others are new.
    pub fn fail(&mut self) {
        self.failures = self.failures.saturating_add(1);
        if self.reset_after.is_some_and(|limit| self.failures >= limit) {
            self.succeed();
        } else {
            self.cw = self.access.cw_max.min(2 * self.cw + 1);
        }
    }

    /// Stops the countdown when an idle medium becomes busy at `busy_from`.
    pub fn freeze(&mut self, from: Nanos, slot: Nanos, busy_from: Nanos, cca: Nanos, rng: &mut Pcg32) {
        let Some(slots) = self.backoff else {
            // The medium became busy during the interframe space of a frame that required no backoff.
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

/// A uniform backoff of 0 to `cw` slots; `cw` is a power of two minus one, so the mask is exact.
fn draw(rng: &mut Pcg32, cw: u16) -> u16 {
    let [low, high, ..] = rng.next_u32().to_le_bytes();
    u16::from_le_bytes([low, high]) & cw
}
