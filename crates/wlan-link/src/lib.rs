//! `airtoll link`: hosts joined by an open network, whose frames the host CPU encrypts and decrypts.
//!
//! - [`daemon`]: `airtoll link ap` and `airtoll link sta`, the process around the other modules
//! - [`privileges`]: the privileges that the process keeps, and the privileges that it drops
//! - [`phases`]: discovery, authentication, keys, data and termination, as state machines without I/O
//! - [`plane`]: the data plane and its hot path, step by step
//! - `lock`: locks that outlive a panic
//!
//! Each module uses only modules further down the list.

#![forbid(unsafe_code)]

pub mod daemon;
mod lock;
pub mod phases;
pub mod plane;
pub mod privileges;
