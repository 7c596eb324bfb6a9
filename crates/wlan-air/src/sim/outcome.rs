//! The measurements of a simulation.

use super::scenario::{Flow, Source};
use crate::channel::SignalCounts;
use crate::traffic::{Delays, Draws, Jitter, Meter, Pace};
use crate::{Airtime, Counters, Nanos};

/// The measurements in the window of a [`super::Scenario`].
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Length of the window.
    pub span: Nanos,
    /// Results of each flow.
    pub flows: Vec<FlowOutcome>,
    /// Counters of the medium since the start, including the time before the window.
    pub counters: Counters,
    /// Usage of the medium's time in the window.
    pub airtime: Airtime,
    /// Results of each station's processor.
    pub processors: Vec<ProcessorOutcome>,
    /// Frames dropped at the ends of the wired segment.
    pub wired_drops: u64,
    /// Events of the medium. The run time of the simulation is proportional to this number.
    pub events: u64,
    /// Signals of the data PPDUs that each station received in the window; empty on a medium without a channel.
    pub signals: Vec<SignalCounts>,
}

/// The results of one flow in the window.
#[derive(Clone, Debug, Default)]
pub struct FlowOutcome {
    /// Datagrams that left after the start of the window, at their arrival. For TCP, only the delays of
    /// segments, without retransmitted segments.
    pub meter: Meter,
    /// Time from a request to its response; for video, from a frame's last packet to its answer.
    pub round_trips: Delays,
    /// Requests without an answer.
    pub timeouts: u64,
    /// Video frames captured in the window whose deadline was before the end of the window.
    pub frames: u64,
    /// The number of these frames that were incomplete at their deadline.
    pub late_frames: u64,
    /// Octets of payload that arrived in the window: UDP payload, octets of the TCP stream in order, or
    /// pictures.
    pub octets: u64,
    /// Retransmitted TCP segments since the start.
    pub retransmissions: u64,
}

impl FlowOutcome {
    /// The empty outcome of a flow, whose receiver's clock has the flow's resolution and a random phase.
    pub(super) fn of(flow: &Flow, seed: u64) -> FlowOutcome {
        let mut outcome = FlowOutcome::default();
        if let Source::Cbr {
            pace: Pace::Clock(step),
            ..
        } = flow.source
        {
            let phase = Draws::new(seed).within(step);
            outcome.meter.jitter = Jitter::by_clock(step, phase);
        }
        outcome
    }

    /// Throughput of payload over the window, Mbit/s.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    pub fn throughput_mbps(&self, span: Nanos) -> f64 {
        self.octets as f64 * 8e-6 / span.as_secs_f64()
    }
}

/// The results of a station's processor since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorOutcome {
    /// Busy time.
    pub busy: Nanos,
    /// Frames dropped because the queue of the processor was full.
    pub drops: u64,
}
