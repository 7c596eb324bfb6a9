//! Sources, hosts and sinks around a medium, in virtual time.
//!
//! - [`saturated`]: stations that always have a frame to send, without hosts: the case that the models solve;
//! - [`Scenario`], [`simulate`]: flows of datagrams and TCP between hosts, across processors that protect
//!   frames, a wired segment behind the access point, and the air.
//!
//! ```text
//! source -> [wired segment] -> processor -> queue, medium -> processor -> [again from the access point] -> sink
//! ```

mod check;
mod ends;
mod events;
mod host;
mod network;
mod outcome;
mod processor;
mod programs;
mod saturated;
mod scenario;
mod socket;
mod wake_ups;

pub use network::simulate;
pub use outcome::{FlowOutcome, Outcome, ProcessorOutcome};
pub use processor::{FrameTime, Processor, Server};
pub use saturated::{Saturated, saturated};
pub use scenario::{End, Flow, Scenario, ScenarioError, Source, Tcp, Wired};
pub use socket::UdpSockets;
