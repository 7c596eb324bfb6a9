//! `airtoll link`: an open network connects hosts whose CPUs encrypt and decrypt the frames.
//!
//! - [`daemon`]: `airtoll link ap` and `airtoll link sta`, the process around the other modules
//! - [`privileges`]: the privileges that the process keeps and drops
//! - [`phases`]: discovery, authentication, keys, data and termination, as state machines without I/O
//! - [`plane`]: the data plane and its hot path, step by step
//! - `lock`: locks that survive a panic
//!
//! Each module uses only modules further down the list.

#![forbid(unsafe_code)]

pub mod daemon;
mod lock;
pub mod phases;
pub mod plane;
pub mod privileges;
