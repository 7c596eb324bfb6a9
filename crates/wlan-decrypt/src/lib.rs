//! Captures decrypted: from 802.11 frames to the Ethernet frames within.
//!
//! - [`decap`]: the records of a capture, decrypted in batches with keys that are given or learned on the way; no I/O
//! - [`decrypt`]: a capture file of any size in, a capture file of Ethernet frames out; learns keys from the handshakes in it

#![forbid(unsafe_code)]

pub mod decap;
mod files;

pub use files::{DecryptError, Decrypted, Finding, Passphrase, SecretError, Secrets, Station, decrypt};
