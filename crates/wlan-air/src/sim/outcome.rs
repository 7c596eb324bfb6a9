//! What a simulation measured.

use crate::traffic::{Delays, Meter};
use crate::{Airtime, Counters, Nanos};

/// What was measured in the window of a [`super::Scenario`].
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Length of the window.
    pub span: Nanos,
    /// By flow.
    pub flows: Vec<FlowOutcome>,
    /// What the medium counted since the start, the time before the window included.
    pub counters: Counters,
    /// What the time of the medium went to in the window.
    pub airtime: Airtime,
    /// By station.
    pub processors: Vec<ProcessorOutcome>,
    /// Frames dropped at the ends of the wired segment.
    pub wired_drops: u64,
    /// Events of the medium: what the simulation's own cost is proportional to.
    pub events: u64,
}

/// What one flow did in the window.
#[derive(Clone, Debug, Default)]
pub struct FlowOutcome {
    /// Datagrams that left after the window's start, as they arrived. Of TCP the delays of segments alone, those sent
    /// again left out.
    pub meter: Meter,
    /// From a request to its response; of video, from a frame's last packet to its answer.
    pub round_trips: Delays,
    /// Requests without an answer.
    pub timeouts: u64,
    /// Frames of video captured in the window whose deadline was before its end.
    pub frames: u64,
    /// Those of them that were not there as a whole by their deadline.
    pub late_frames: u64,
    /// Octets of payload that arrived within the window: UDP payload, octets of the TCP stream in order, or pictures.
    pub octets: u64,
    /// TCP segments sent again since the start.
    pub retransmissions: u64,
}

impl FlowOutcome {
    /// Throughput of payload over the window, Mbit/s.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    pub fn throughput_mbps(&self, span: Nanos) -> f64 {
        self.octets as f64 * 8e-6 / span.as_secs_f64()
    }
}

/// What the processor of a station did since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorOutcome {
    /// Time at work.
    pub busy: Nanos,
    /// Frames dropped because too many waited.
    pub drops: u64,
}
