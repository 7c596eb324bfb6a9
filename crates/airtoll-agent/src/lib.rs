//! airtoll's own measurement programs, which run on the hosts at the ends of a measurement.
//!
//! - [`pingpong`]: the round-trip time of one message at a time, over UDP or TCP
//! - [`video`]: a video stream over RTP, its sender and its receiver
//! - [`program`]: command lines, errors and timeouts, shared by both programs
//!
//! Each program is a library function with a command line; a host runs it through the Python package.

#![forbid(unsafe_code)]

pub mod pingpong;
pub mod program;
pub mod video;
