//! The processor of a station, modelled as a pipeline with an interval and a latency.

use std::collections::VecDeque;

use crate::Nanos;

/// A time per frame and a time per octet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameTime {
    /// Time per frame.
    pub frame: Nanos,
    /// Time per octet of the MSDU, ns.
    pub octet_ns: f64,
}

impl FrameTime {
    /// No time.
    pub const ZERO: FrameTime = FrameTime {
        frame: Nanos::ZERO,
        octet_ns: 0.0,
    };

    /// Time of an MSDU of `len_b` octets.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // ns per frame
    pub fn of(&self, len_b: usize) -> Nanos {
        self.frame + Nanos((self.octet_ns * len_b as f64 + 0.5) as u64)
    }
}

impl std::ops::Add for FrameTime {
    type Output = FrameTime;

    fn add(self, other: FrameTime) -> FrameTime {
        FrameTime {
            frame: self.frame + other.frame,
            octet_ns: self.octet_ns + other.octet_ns,
        }
    }
}

/// The time that a station takes for a frame, to forward it and to seal or open it.
///
/// It models the processor of a wireless card, or the host's CPU with this project's engine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Processor {
    /// Time for which a frame occupies the processor, in order of arrival.
    pub interval: FrameTime,
    /// Time after that until the frame leaves, as in pipelined hardware.
    pub latency: FrameTime,
}

impl Processor {
    /// A processor that takes no time: an open link.
    pub const NONE: Processor = Processor {
        interval: FrameTime::ZERO,
        latency: FrameTime::ZERO,
    };
}

/// A server that handles one frame at a time, in order of arrival: a processor, or one direction of a wire.
#[derive(Clone, Copy, Debug, Default)]
pub struct Server {
    free_at: Nanos,
    /// When the frame that arrived last leaves.
    last: Nanos,
    busy: Nanos,
}

impl Server {
    /// Serves a frame that arrived at `came`, occupies the server for `interval`, and leaves `latency` later. Returns
    /// when it leaves, which is not before the frames that arrived earlier.
    pub fn serve(&mut self, came: Nanos, interval: Nanos, latency: Nanos) -> Nanos {
        self.free_at = self.free_at.max(came) + interval;
        self.busy += interval;
        self.last = self.last.max(self.free_at + latency);
        self.last
    }

    /// When the server is free for the next frame.
    #[must_use]
    pub fn free_at(&self) -> Nanos {
        self.free_at
    }

    /// Busy time up to `now`.
    #[must_use]
    pub fn busy(&self, now: Nanos) -> Nanos {
        self.busy.saturating_sub(self.free_at.saturating_sub(now))
    }
}

/// A station's processor with the buffers of its card.
#[derive(Clone, Debug)]
pub(super) struct Working {
    processor: Processor,
    server: Server,
    /// Frames to seal. They share the transmit buffers of the card with the frames that wait for the air.
    pub sealing: usize,
    /// Frames to open, at most `receive_limit`.
    opening: usize,
    receive_limit: usize,
    pub drops: u64,
    /// Saturated flows that found no buffer: each sends again when a frame has left the station.
    pub refused: VecDeque<u32>,
}

impl Working {
    /// A processor whose receive buffers hold at most `receive_limit` frames, including those in service.
    pub fn new(processor: Processor, receive_limit: usize) -> Working {
        Working {
            processor,
            server: Server::default(),
            sealing: 0,
            opening: 0,
            receive_limit,
            drops: 0,
            refused: VecDeque::new(),
        }
    }

    /// Accepts a frame to seal, for which the card has a transmit buffer. Returns when it is sealed.
    pub fn seal(&mut self, now: Nanos, len_b: usize) -> Nanos {
        self.sealing += 1;
        self.serve(now, len_b)
    }

    /// Accepts `frames` frames to open, with `len_b` octets in total, from which the driver makes one packet. Returns
    /// when the last one is opened, or `None` if all receive buffers are occupied.
    pub fn open(&mut self, now: Nanos, frames: usize, len_b: usize) -> Option<Nanos> {
        if self.opening >= self.receive_limit {
            self.drops += 1;
            return None;
        }
        self.opening += 1;
        let mut done = now;
        for frame in 0..frames {
            // Frames share the octets equally; the first frames take the remainder.
            let part_b = len_b / frames + usize::from(frame < len_b % frames);
            done = self.serve(now, part_b);
        }
        Some(done)
    }

    /// A packet is opened.
    pub fn release_opened(&mut self) {
        self.opening -= 1;
    }

    fn serve(&mut self, now: Nanos, len_b: usize) -> Nanos {
        self.server.serve(
            now,
            self.processor.interval.of(len_b),
            self.processor.latency.of(len_b),
        )
    }

    /// Busy time up to `now`.
    pub fn busy(&self, now: Nanos) -> Nanos {
        self.server.busy(now)
    }

    pub fn takes_no_time(&self) -> bool {
        self.processor == Processor::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(of: u64) -> Nanos {
        Nanos::from_us(of)
    }

    #[test]
    fn frames_leave_a_pipeline_in_the_order_in_which_they_came() {
        let mut server = Server::default();
        assert_eq!(server.serve(us(0), us(10), us(90)), us(100));
        // The second frame has a short latency, but leaves with the first one.
        assert_eq!(server.serve(us(0), us(10), us(0)), us(100));
        assert_eq!(server.free_at(), us(20));
        assert_eq!(server.serve(us(30), us(20), us(60)), us(110));
        assert_eq!(server.busy(us(40)), us(10 + 10 + 10));
    }

    #[test]
    fn each_frame_of_a_packet_occupies_the_processor() {
        let processor = Processor {
            interval: FrameTime {
                frame: us(10),
                octet_ns: 1000.0,
            },
            latency: FrameTime {
                frame: us(1),
                octet_ns: 2000.0,
            },
        };
        let mut working = Working::new(processor, 1);
        // 11, 11 and 10 octets: 30 + 32 us, and the latency of the last frame.
        assert_eq!(working.open(us(0), 3, 32), Some(us(62 + 21)));
        assert_eq!(working.open(us(0), 1, 1), None);
        assert_eq!(working.drops, 1);
        working.release_opened();
        assert_eq!(working.open(us(100), 1, 0), Some(us(111)));
    }
}
