//! A cell of a study in words: air, security and traffic. [`Scenario`] parses the words, checks them once, and converts
//! them to the types of `wlan-air`, `wlan-ciphers` and `wlan-rsn`.
//!
//! - [`scenario`]: all words of a cell; its simulation in virtual time and its closed forms, both as JSON
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
