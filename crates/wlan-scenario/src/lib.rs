//! A cell of a study in words: which air, which security, which traffic. [`Scenario`] reads the words, checks them once,
//! and turns them into the types of `wlan-air`, `wlan-ciphers` and `wlan-rsn`.
//!
//! - [`scenario`]: all words of a cell; its simulation in virtual time and the closed forms beside it, both as JSON
//! - [`words`]: the words for the PHY rate and the security level
//! - [`beacon`]: the length of beacons and the suite that protects them
//!
//! No I/O and no clock.

#![forbid(unsafe_code)]

pub mod beacon;
pub mod scenario;
pub mod words;

pub use scenario::{BadScenario, Scenario};
pub use words::WordError;
