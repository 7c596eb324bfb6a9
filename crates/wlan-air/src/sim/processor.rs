//! The processor that protects a station's frames, modelled as a server with a service time.

use std::collections::VecDeque;

use crate::Nanos;

/// The time to seal or open a frame: a constant part and a part per octet. Frames are processed one at a
/// time, in order of arrival.
///
/// It models the processor of a wireless card, or the host's CPU with this project's engine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Processor {
    /// Time per frame.
    pub frame: Nanos,
    /// Time per octet of the MSDU, ns.
    pub octet_ns: f64,
}

impl Processor {
    /// A processor that takes no time: an open link.
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
    )] // ns per frame
    pub fn service(&self, len_b: usize) -> Nanos {
        self.frame + Nanos((self.octet_ns * len_b as f64 + 0.5) as u64)
    }
}

/// A processor with its queue.
#[derive(Clone, Debug)]
pub(super) struct Working {
    processor: Processor,
    limit: usize,
    waiting: usize,
    free_at: Nanos,
    pub busy: Nanos,
    pub drops: u64,
    /// Saturated flows that were refused: each sends again when the processor has space.
    pub refused: VecDeque<u32>,
}

impl Working {
    /// A processor that holds at most `limit` frames, including the frame in service.
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

    /// Accepts `frames` frames of one batch with `len_b` octets in total. Returns the time at which they are
    /// finished, or `None` if the queue is full.
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

    /// Whether it can accept a frame.
    pub fn has_room(&self) -> bool {
        self.waiting < self.limit
    }

    /// A frame is finished: returns the flow that waits for its space.
    pub fn release(&mut self) -> Option<u32> {
        self.waiting -= 1;
        self.refused.pop_front()
    }

    pub fn takes_no_time(&self) -> bool {
        self.processor == Processor::NONE
    }
}
