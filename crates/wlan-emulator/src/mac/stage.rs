//! Servers that process one frame at a time and delay it: the processor of a wireless card, or one direction of a wire.
//! Their times are ideal: each is computed from the arrival of a frame and the completion of the previous frame, never
//! from the clock.

use std::collections::VecDeque;

use wlan_air::Nanos;
use wlan_air::sim::{Processor, Server, Wired};
use wlan_frames::LlcSnap;

use crate::frames::frame::{Around, Frame};
use crate::roster::AP;

/// Shortest interval between two deliveries to a host. It models interrupt moderation: a card raises interrupts no more
/// often than this, and its driver then takes all frames that have arrived, so that they can be coalesced.
const MODERATION: Nanos = Nanos::from_us(50);

/// The processing step of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A processor sealed the frame, which goes to the air.
    Sealed,
    /// A processor opened the frame, which goes to the host or is forwarded.
    Opened,
    /// The frame crossed the wire.
    Crossed,
}

/// A frame in a server.
struct Waiting {
    /// When the frame leaves the server.
    at: Nanos,
    way: Way,
    /// Whether the frame goes up to the host behind the server.
    up: bool,
    /// Whether a host may soon observe the frame.
    prompt: bool,
    frame: Frame,
}

/// A server with a queue.
pub struct Stage {
    server: Server,
    waiting: VecDeque<Waiting>,
    /// Number of waiting frames to seal, which occupy transmit buffers of the card.
    sealing: usize,
    /// Number of waiting frames that a host may soon observe.
    prompts: usize,
    /// Number of other frames that it holds.
    limit: usize,
    held_until: Nanos,
    /// Frames dropped because the queue was full.
    pub drops: u64,
}

impl Stage {
    fn new(limit: usize) -> Self {
        Self {
            server: Server::default(),
            waiting: VecDeque::new(),
            sealing: 0,
            prompts: 0,
            limit,
            held_until: Nanos::ZERO,
            drops: 0,
        }
    }

    /// Takes a frame that arrived at `came`, occupies the server for `interval` and leaves `waiting.at` later. Returns
    /// the frame if the queue is full.
    fn take(&mut self, came: Nanos, interval: Nanos, mut waiting: Waiting) -> Option<Frame> {
        let seals = waiting.way == Way::Sealed;
        if !seals && self.waiting.len() - self.sealing >= self.limit {
            self.drops += 1;
            return Some(waiting.frame);
        }
        self.sealing += usize::from(seals);
        self.prompts += usize::from(waiting.prompt);
        waiting.at = self.server.serve(came, interval, waiting.at);
        self.waiting.push_back(waiting);
        None
    }

    /// When the next frame leaves.
    fn due(&self) -> Option<Nanos> {
        self.waiting.front().map(|next| {
            if next.up {
                next.at.max(self.held_until)
            } else {
                next.at
            }
        })
    }

    /// Whether the next frame goes up to the host behind the server.
    pub fn hands_up(&self) -> bool {
        self.waiting.front().is_some_and(|next| next.up)
    }

    /// Whether the next frame must be delivered at its exact time: it goes up, and interrupt moderation does not delay
    /// it.
    pub fn is_sharp(&self) -> bool {
        let next = self.waiting.front();
        next.is_some_and(|next| next.up && next.at >= self.held_until)
    }

    /// Removes and returns the next frame if it is due by `until`.
    pub fn pop(&mut self, until: Nanos) -> Option<(Way, Frame)> {
        self.due().filter(|due| *due <= until)?;
        let next = self.waiting.pop_front()?;
        self.prompts -= usize::from(next.prompt);
        self.sealing -= usize::from(next.way == Way::Sealed);
        Some((next.way, next.frame))
    }

    /// Records that the host was handed frames at `now`.
    pub fn handed_up(&mut self, now: Nanos) {
        self.held_until = now + MODERATION;
    }

    /// Number of frames to seal.
    pub fn sealing(&self) -> usize {
        self.sealing
    }

    /// When the server is free for the next frame.
    pub fn free_at(&self) -> Nanos {
        self.server.free_at()
    }

    /// Busy time up to `now`.
    pub fn busy(&self, now: Nanos) -> Nanos {
        self.server.busy(now)
    }
}

/// Identifies a server of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The processor of a station.
    Processor(usize),
    /// The wire from the access point to the server.
    Up,
    /// The wire from the server to the access point.
    Down,
}

/// The servers of a link. There are none if the hosts seal the frames and there is no server behind the access point.
pub struct Stages {
    around: Around,
    processor: Processor,
    /// By station; empty without cards.
    processors: Vec<Stage>,
    wired: Wired,
    /// Up and down; `None` without a server.
    wires: Option<[Stage; 2]>,
}

impl Stages {
    /// Creates a processor of this kind for each of `stations`, with buffers for this number of received frames, and the
    /// wire if there is one.
    pub fn new(
        around: Around,
        card: Option<(Processor, usize)>,
        stations: usize,
        wired: Option<Wired>,
    ) -> Self {
        let (processor, limit) = card.unwrap_or((Processor::NONE, 0));
        Self {
            around,
            processor,
            processors: (0..if card.is_some() { stations } else { 0 })
                .map(|_| Stage::new(limit))
                .collect(),
            wired: wired.unwrap_or(Wired::gigabit()),
            wires: wired.map(|wired| [(); 2].map(|()| Stage::new(wired.queue_limit))),
        }
    }

    /// Whether the link has neither processors nor a wire.
    pub fn is_empty(&self) -> bool {
        self.processors.is_empty() && self.wires.is_none()
    }

    /// Whether stations have processors.
    pub fn has_processors(&self) -> bool {
        !self.processors.is_empty()
    }

    /// The server that releases a frame next, and when. Ties go to the lowest station; the wire is last.
    pub fn next(&self) -> Option<(Nanos, Which)> {
        self.earliest(|_| true)
    }

    /// Like [`next`](Self::next), but only for servers that hold frames which a host may soon observe: frames that go
    /// up to the host, or onto the wire to it.
    pub fn next_prompt(&self) -> Option<(Nanos, Which)> {
        self.earliest(|stage| stage.prompts > 0)
    }

    fn earliest(&self, of: impl Fn(&Stage) -> bool) -> Option<(Nanos, Which)> {
        let processors = self.processors.iter().enumerate();
        let wires = self.wires.iter().flatten().zip([Which::Up, Which::Down]);
        processors
            .map(|(station, stage)| (stage, Which::Processor(station)))
            .chain(wires)
            .filter(|(stage, _)| of(stage))
            .filter_map(|(stage, which)| Some((stage.due()?, which)))
            .min_by_key(|(at, _)| *at)
    }

    /// The server, if the link has it.
    pub fn get(&self, which: Which) -> Option<&Stage> {
        match which {
            Which::Processor(station) => self.processors.get(station),
            Which::Up => self.wires.as_ref().map(|[up, _]| up),
            Which::Down => self.wires.as_ref().map(|[_, down]| down),
        }
    }

    /// The server, if the link has it.
    pub fn get_mut(&mut self, which: Which) -> Option<&mut Stage> {
        match which {
            Which::Processor(station) => self.processors.get_mut(station),
            Which::Up => self.wires.as_mut().map(|[up, _]| up),
            Which::Down => self.wires.as_mut().map(|[_, down]| down),
        }
    }

    /// Passes a frame that arrived at `at` to a server. Returns the frame if the queue is full or the link lacks this
    /// server. Frames to seal are always accepted: the caller knows the transmit buffers of the card.
    pub fn take(&mut self, which: Which, at: Nanos, way: Way, frame: Frame) -> Option<Frame> {
        let packet_b = frame.packet(self.around).len();
        let (interval, latency) = match which {
            Which::Processor(_) => {
                let msdu_b = LlcSnap::LEN + packet_b;
                (
                    self.processor.interval.of(msdu_b),
                    self.processor.latency.of(msdu_b),
                )
            }
            Which::Up | Which::Down => (self.wired.frame(packet_b), self.wired.delay),
        };
        let up = match which {
            Which::Processor(station) => way == Way::Opened && frame.to == station,
            Which::Up => true,
            Which::Down => frame.to == AP,
        };
        // The server's host number follows the number of the last station.
        let to_server = way == Way::Opened && frame.to == self.processors.len();
        let waiting = Waiting {
            at: latency,
            way,
            up,
            prompt: up || to_server,
            frame,
        };
        match self.get_mut(which) {
            Some(stage) => stage.take(at, interval, waiting),
            None => Some(waiting.frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use wlan_air::sim::FrameTime;

    use super::*;

    const AROUND: Around = Around {
        packet_at: 40,
        mic_b: 8,
    };

    fn frame(packet_b: usize) -> Frame {
        Frame {
            len_b: AROUND.packet_at + packet_b + AROUND.mic_b,
            ..Frame::default()
        }
    }

    fn us(of: u64) -> Nanos {
        Nanos::from_us(of)
    }

    #[test]
    fn a_processor_handles_one_frame_at_a_time_with_a_cost_per_octet() {
        let processor = Processor {
            interval: FrameTime {
                frame: us(100),
                octet_ns: 1000.0,
            },
            latency: FrameTime::ZERO,
        };
        let mut stages = Stages::new(AROUND, Some((processor, 1)), 2, None);
        let first = Which::Processor(1);
        // 92 octets and 8 of LLC/SNAP: 100 us more.
        assert!(stages.take(first, us(10), Way::Sealed, frame(92)).is_none());
        assert!(stages.take(first, us(20), Way::Opened, frame(92)).is_none());
        assert!(
            stages.take(first, us(30), Way::Opened, frame(92)).is_some(),
            "full"
        );
        assert_eq!(stages.get(first).unwrap().sealing(), 1);
        assert_eq!(stages.next(), Some((us(210), first)));
        let stage = stages.get_mut(first).unwrap();
        assert!(stage.pop(us(209)).is_none());
        assert_eq!(stage.pop(us(210)).map(|(way, _)| way), Some(Way::Sealed));
        assert_eq!(stages.next(), Some((us(410), first)));
        let stage = stages.get(first).unwrap();
        assert_eq!(
            (stage.drops, stage.free_at(), stage.busy(us(310))),
            (1, us(410), us(300))
        );
        assert!(
            stages.take(Which::Up, us(0), Way::Crossed, frame(1)).is_some(),
            "no wire"
        );
    }

    #[test]
    fn a_wire_sends_the_next_frame_while_the_previous_one_is_in_transit() {
        let wired = Wired {
            rate_bps: 8_000_000, // one octet per microsecond
            delay: us(5000),
            queue_limit: 10,
        };
        let mut stages = Stages::new(AROUND, None, 2, Some(wired));
        for _ in 0..2 {
            assert!(stages.take(Which::Up, us(0), Way::Crossed, frame(62)).is_none());
        }
        // IEEE Std 802.3, 3.1.1: 14 + 4 + 8 + 12 octets around the packet.
        assert_eq!(stages.next(), Some((us(5100), Which::Up)));
        let up = stages.get_mut(Which::Up).unwrap();
        assert!(up.pop(us(5100)).is_some());
        assert_eq!(up.due(), Some(us(5200)));
        assert!(up.is_sharp());
        up.handed_up(us(5170));
        // The next interrupt is due `MODERATION` after the last delivery.
        assert_eq!(stages.next_prompt(), Some((us(5220), Which::Up)));
        assert!(!stages.get(Which::Up).unwrap().is_sharp());
    }
}
