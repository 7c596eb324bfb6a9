//! What protects the frames of a station, as a server that takes its time.

use std::collections::VecDeque;

use crate::Nanos;

/// The time that sealing or opening a frame takes: a fixed part and a part for each octet. One frame is worked on at
/// a time, in the order in which they come.
///
/// With it stands a wireless card's own processor, or the host's CPU with the engine of this project.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Processor {
    /// For each frame.
    pub frame: Nanos,
    /// For each octet of the MSDU, ns.
    pub octet_ns: f64,
}

impl Processor {
    /// Takes no time: an open link.
    pub const NONE: Processor = Processor {
        frame: Nanos::ZERO,
        octet_ns: 0.0,
    };

    /// Time for an MSDU of `len_b` octets.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // ns of one frame
    pub fn service(&self, len_b: usize) -> Nanos {
        self.frame + Nanos((self.octet_ns * len_b as f64 + 0.5) as u64)
    }
}

/// A processor at work.
#[derive(Clone, Debug)]
pub(super) struct Working {
    processor: Processor,
    limit: usize,
    waiting: usize,
    free_at: Nanos,
    pub busy: Nanos,
    pub drops: u64,
    /// Saturated flows that found no room: each departs again when there is some.
    pub refused: VecDeque<u32>,
}

impl Working {
    /// Holds at most `limit` frames, the one that it works on included.
    pub fn new(processor: Processor, limit: usize) -> Working {
        Working {
            processor,
            limit,
            waiting: 0,
            free_at: Nanos::ZERO,
            busy: Nanos::ZERO,
            drops: 0,
            refused: VecDeque::new(),
        }
    }

    /// Takes in `frames` frames of one batch with `len_b` octets in all: when they are done, unless there is no room.
    pub fn take(&mut self, now: Nanos, frames: u64, len_b: usize) -> Option<Nanos> {
        if !self.has_room() {
            self.drops += 1;
            return None;
        }
        self.waiting += 1;
        let service = self.processor.service(len_b) + self.processor.frame * (frames - 1);
        self.busy += service;
        self.free_at = self.free_at.max(now) + service;
        Some(self.free_at)
    }

    /// Whether it can take a frame in.
    pub fn has_room(&self) -> bool {
        self.waiting < self.limit
    }

    /// A frame is done: the flow that waits for its room.
    pub fn release(&mut self) -> Option<u32> {
        self.waiting -= 1;
        self.refused.pop_front()
    }

    pub fn takes_no_time(&self) -> bool {
        self.processor == Processor::NONE
    }
}
