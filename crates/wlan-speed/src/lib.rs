//! Times of the frame-protection engine `wlan-ciphers`, in turns of short slices. No other library takes part:
//! `wlan-peers` adds OpenSSL and libipsec-mb.
//!
//! # Architecture
//!
//! 1. [`Case`]: a suite, payload sizes, sealing or opening, one key or one key per frame, in a batch or one by one;
//! 2. [`Frames`](frames::Frames): the batch of MPDUs;
//! 3. [`Stage`](stage::Stage): a case with its keys and the expected output, with which every output is compared;
//! 4. [`contestant`]: the engine on one frame after another;
//! 5. [`turns`]: runs contestants in turns of short slices and returns medians and quartiles;
//! 6. [`measure_parts()`]: the times of the parts of sealing and opening a frame: MIC, cipher, and both.
//!
//! `unsafe` is confined to [`clock`], for the time stamp counter and chains of instructions.

mod case;
pub mod clock;
pub mod contestant;
pub mod frames;
pub mod parts;
pub mod stage;
pub mod turns;

pub use case::{BATCH, Case, Fault, suites};
pub use frames::Sizes;
pub use parts::{Part, PartTime, Scheme, measure_parts};
pub use turns::{Effort, Spread};
