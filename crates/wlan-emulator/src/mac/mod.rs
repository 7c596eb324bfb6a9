//! The MAC thread of a link: the medium in real time, and the way of frames between it and the hosts.
//!
//! - `stage`: processors and wires, which take their time over a frame
//! - `counters`, `report`: the counters, and the report that contains them
//! - `state`: what the thread works on
//! - `relay`: the way of a frame between a host and the medium
//! - `thread`: the hot path, step by step

pub mod counters;
mod relay;
pub mod report;
pub mod stage;
pub mod state;
mod thread;
