//! The MAC thread of a link: the medium in real time, and the path of frames between it and the hosts.
//!
//! - `stage`: processors and wires, which delay each frame
//! - `counters`, `report`: the counters, and the report that contains them
//! - `state`: the state of the thread
//! - `relay`: the path of a frame between a host and the medium
//! - `thread`: the hot path, step by step

pub mod counters;
mod relay;
pub mod report;
pub mod stage;
pub mod state;
mod thread;
