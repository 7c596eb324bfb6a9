//! The program that airtoll runs on every host of a measurement: the agent, and airtoll's own measuring ends.
//!
//! - [`pingpong`]: the round-trip time of one message at a time, over UDP or TCP
//! - [`load`]: responsiveness and delay under load
//! - [`video`]: a video stream over RTP, its sender and its receiver
//! - [`ftp`]: an FTP server for one transfer of a generated file
//! - [`engine`]: the time that this CPU takes to seal and open a frame
//! - [`agent`]: the agent itself, which serves a controller
//! - [`program`]: command lines, errors and timeouts, shared by these programs
//!
//! Each is a subcommand of the binary `airtoll-agent`, which needs nothing of the host but its kernel.

#![forbid(unsafe_code)]

pub mod agent;
pub mod engine;
pub mod ftp;
pub mod load;
pub mod pingpong;
pub mod program;
pub mod video;
