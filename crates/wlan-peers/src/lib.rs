//! The frame-protection engine of `wlan-ciphers` measured beside OpenSSL and libipsec-mb, in one process.
//!
//! # Architecture
//!
//! 1. [`Case`]: a suite, payload sizes, sealing or opening, one key or a key for each frame, in a batch or one by one;
//! 2. [`Frames`](frames::Frames): the batch, as MPDUs for the engine and as packets for the libraries;
//! 3. [`measure()`] compares every output octet by octet, lets all take turns in short slices, and gives [`Figures`];
//! 4. [`measure_parts()`] does the same with what sealing and opening a frame consist of: MIC, cipher, and both;
//! 5. [`Limit`]: what the AES unit of this CPU allows, to hold the figures against.
//!
//! Nothing links to a library: where its header is when this is built, a shim in C opens it at run time
//! ([`Library::version`] says why it cannot, if it cannot). `docs/explanation/ciphers.md` says how figures come about
//! and what they count.
//!
//! `unsafe` is in [`clock`], for the time stamp counter and chains of instructions, and in [`library`], for the shims.

mod case;
pub mod clock;
mod contestant;
pub mod frames;
pub mod library;
pub mod limit;
pub mod measure;
pub mod parts;
pub mod turns;

pub use case::{BATCH, Case, Fault, Who};
pub use frames::Sizes;
pub use library::{Absent, Interface, Library};
pub use limit::Limit;
pub use measure::{Figure, Figures, compare, measure, suites};
pub use parts::{Part, PartTime, measure_parts};
pub use turns::{Effort, Spread};
