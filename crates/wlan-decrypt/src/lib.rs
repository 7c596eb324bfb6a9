//! Decryption of captures: 802.11 frames in, their Ethernet frames out.
//!
//! - [`decap`]: decrypts the records of a capture in batches, with given keys and keys learned from handshakes; no
//!   I/O
//! - [`decrypt`]: converts a capture file of any size to one of Ethernet frames; learns keys from its handshakes

#![forbid(unsafe_code)]

pub mod decap;
mod files;

pub use files::{
    BadCompression, Broken, DecryptError, Decrypted, Finding, Passphrase, SecretError, Secrets, Station,
    decrypt,
};
