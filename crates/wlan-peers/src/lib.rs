//! Benchmarks of the frame-protection engine `wlan-ciphers` beside OpenSSL and libipsec-mb, in one process.
//!
//! # Architecture
//!
//! 1. [`Case`]: a suite, payload sizes, sealing or opening, one key or one key per frame, in a batch or one by one;
//! 2. [`Frames`](frames::Frames): the batch, as MPDUs for the engine and as packets for the libraries;
//! 3. [`measure()`] compares every output octet by octet, runs all contestants in turns of short slices, and returns
//!    [`Figures`];
//! 4. [`measure_parts()`] does the same for the parts of sealing and opening a frame: MIC, cipher, and both;
//! 5. [`Limit`]: the limit of this CPU's AES unit and multiplier, for comparison with the figures.
//!
//! By default, this crate does not link to a library. If a library's header is present at build time, a shim in C opens
//! the library at run time; [`Library::version`] returns the reason if the library is not usable. The feature `crates`
//! links AWS-LC and ring; only `make -C benches/peers newest` enables it. `docs/explanation/ciphers.md` describes how
//! figures are measured and what they include.
//!
//! `unsafe` is confined to [`clock`], for the time stamp counter and chains of instructions, and [`library`], for the
//! shims.

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
pub use limit::{Bound, Limit};
pub use measure::{Figure, Figures, compare, measure, suites};
pub use parts::{Part, PartTime, Scheme, measure_parts};
pub use turns::{Effort, Spread};
