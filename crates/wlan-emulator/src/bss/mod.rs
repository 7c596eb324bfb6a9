//! The emulated BSS: its keys, what its access point announces, and how stations join it.

pub mod beacon;
pub mod joining;
pub mod keys;
