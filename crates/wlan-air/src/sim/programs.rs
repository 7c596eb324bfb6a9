//! The programs at the ends of a flow, which run some time after the event for which they waited.

use super::events::Packet;
use super::scenario::Flow;
use crate::Nanos;
use crate::traffic::{Draws, WakeUp};

/// The wake-ups draw other numbers than the source of their flow.
const STREAM: u64 = 0x5851_f42d_4c95_7f2d;

/// The programs of a flow: at its end, and at its start.
pub(super) struct Programs {
    wake_up: WakeUp,
    draws: Draws,
    /// Whether a program is about to run.
    pub waking: [bool; 2],
    /// Datagrams that a program will read when it runs.
    pub waiting: [Vec<Packet>; 2],
}

impl Programs {
    pub fn new(flow: &Flow, seed: u64) -> Programs {
        Programs {
            wake_up: flow.cpu.wake_up,
            draws: Draws::new(seed ^ STREAM),
            waking: [false; 2],
            waiting: [Vec::new(), Vec::new()],
        }
    }

    pub fn run_at_once(&self) -> bool {
        self.wake_up == WakeUp::Instant
    }

    /// Time at which a program runs that sets a timer to `at` now. The program does not wait for a time that has passed.
    pub fn timer(&mut self, now: Nanos, at: Nanos) -> Nanos {
        if at <= now {
            now
        } else {
            at + self.wake_up.draw(&mut self.draws)
        }
    }

    /// Time until a sender runs that waited for space in its send buffer.
    pub fn resume(&mut self) -> Nanos {
        self.wake_up.draw(&mut self.draws)
    }

    /// Time until a program runs because of an event now; `None` if it is about to run anyway.
    pub fn wake(&mut self, back: bool) -> Option<Nanos> {
        let waking = &mut self.waking[usize::from(back)];
        (!std::mem::replace(waking, true)).then(|| self.wake_up.draw(&mut self.draws))
    }
}
