//! Benchmarks of the frame-protection engine `wlan-ciphers` beside OpenSSL and libipsec-mb, in one process.
//!
//! # Architecture
//!
//! `wlan-speed` has the cases, the frames, the engine on one frame at a time, and the turns.
//!
//! 1. [`Who`]: the contestants of a case: the engine on batches or frames, and the libraries, which take packets;
//! 2. [`measure()`] compares every output octet by octet, runs all contestants in turns of short slices, and returns
//!    [`Figures`];
//! 3. [`Limit`]: the limit of this CPU's AES unit and multiplier, for comparison with the figures.
//!
//! The program `airtoll-peers` serves `airtoll ciphers` and measures the goals of `benches/peers`.
//!
//! By default, this crate does not link to a library. If a library's header is present at build time, a shim in C opens
//! the library at run time; [`Library::version`] returns the reason if the library is not usable. The feature `crates`
//! links AWS-LC and ring; only `make -C benches/peers newest` enables it. `docs/explanation/ciphers.md` describes how
//! figures are measured and what they include.
//!
//! `unsafe` is confined to [`library`], for the shims.

mod contestant;
pub mod library;
pub mod limit;
pub mod measure;
mod packet;
mod who;

pub use library::{Absent, Interface, Library};
pub use limit::{Bound, Limit};
pub use measure::{Figure, Figures, compare, measure};
pub use who::Who;
