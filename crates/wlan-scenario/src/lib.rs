//! A cell of a study in words: air, security and traffic. [`Scenario`] parses the words, checks them once, and converts
//! them to the types of `wlan-air`, `wlan-ciphers` and `wlan-rsn`.
//!
//! - [`scenario`]: all words of a cell; its simulation in virtual time and its closed forms, both as JSON
//! - `air`: the PHY and its rate
//! - `words`: enumerations with their words
//! - [`signals`]: counts of received signals as JSON
//! - [`beacon`]: the length of beacons and the suite that protects them
//!
//! No I/O and no clock.

#![forbid(unsafe_code)]

mod air;
pub mod beacon;
pub mod scenario;
pub mod signals;
mod words;

pub use air::{AirError, ModeWords, band_word, gi_word, modes_at, rate_word, rate_words};
pub use scenario::contract;
pub use scenario::{BadScenario, KeyError, Scenario};
