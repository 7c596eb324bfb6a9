//! Frame protection: encrypts ("seals") and decrypts ("opens") complete 802.11 MPDUs in place, in batches.
//!
//! # Architecture
//!
//! A batch is a slice of jobs. Each job holds one MPDU in the caller's buffer; nothing is allocated.
//!
//! 1. (sequential, caller) number the frame: [`PacketNumber::next`];
//! 2. (parallel over frames) [`TemporalKey::seal`] writes the cipher header, ciphertext and MIC into the MPDU;
//! 3. the frames are transmitted;
//! 4. (parallel over frames) [`TemporalKey::open`] gives each job its own verdict, [`Opened`] or [`OpenError`];
//! 5. (sequential, caller) [`ReplayWindow::accept`], in the order of reception and only for frames that opened.
//!
//! Replays are checked after opening, so a forged frame cannot advance the window.
//!
//! | module | contents | source |
//! |---|---|---|
//! | [`suite`] | the suites and the facts of each | 9.4.2.24.2 |
//! | [`cipher`] | the key of any suite, at one end of a link | |
//! | [`wep`] | WEP-40 and WEP-104 | IEEE 802.11-2020 12.3.2 |
//! | [`tkip`], [`michael`] | TKIP and its MIC | 12.5.2 |
//! | [`bip`] | BIP for group addressed management frames | 12.5.4 |
//! | [`key`] | CCMP, GCMP and Enhanced CCMP on batches | 12.5.3, 12.5.5 |
//! | [`ccmp`] | the cipher header of CCMP and GCMP | 12.5.3.2, 12.5.5.2 |
//! | [`job`] | the jobs of a batch, their verdicts and errors | |
//! | [`pn`] | packet numbers and key identifiers | 12.5.3.2 |
//! | [`replay`] | the receiver's replay counters | 12.5.3.4.4 |
//! | `half` (feature `study`) | MIC and cipher of a frame separately, for measurements | |
//! | [`enhanced`] | Enhanced CCMP: lanes within a frame | `docs/explanation/enhanced-ccmp.md` |
//! | `study` (feature `study`) | the forgeable lane split of a paper, never for a link | `docs/explanation/enhanced-ccmp.md` |
//!
//! A private module builds the AAD and nonces of CCMP, GCMP and Enhanced CCMP (12.5.3.3.3, 12.5.3.3.4).
//!
//! # Features
//!
//! With the default feature `std`, [`Backend::detect`] asks the CPU which instructions it has. Without `std` the crate
//! requires only `alloc`, and [`Backend::detect`] considers only the instructions that the program is compiled for
//! (`-C target-feature`).
//!
//! # Limits
//!
//! The key schedule is wiped when a key is dropped. MICs are compared in constant time. AES has no secret-dependent
//! table lookups: it uses either the CPU's AES instructions or bit-sliced code. Not wiped are copies of a key that the
//! caller keeps or that a move leaves on the stack. Frame lengths and transmission times are not hidden. RC4 and the
//! S-box of TKIP use secret-dependent table lookups and do not run in constant time; WEP and TKIP are broken anyway and
//! exist for measurement and study.

#![cfg_attr(not(any(feature = "std", test)), no_std)]

#[macro_use]
mod cpu;

mod aad;
pub mod bip;
pub mod ccmp;
pub mod cipher;
mod engine;
pub mod enhanced;
#[cfg(feature = "study")]
pub mod half;
#[cfg(not(feature = "study"))]
mod half;
pub mod job;
pub mod key;
mod lanes;
pub mod michael;
pub mod pn;
mod rc4;
pub mod replay;
#[cfg(feature = "study")]
pub mod study;
pub mod suite;
pub mod tkip;
pub mod wep;

#[cfg(test)]
mod vectors;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use aad::Priority;
pub use bip::{Bip, IntegrityKeyId};
pub use cipher::Cipher;
pub use engine::Backend;
pub use enhanced::Lanes;
#[cfg(feature = "study")]
pub use half::Half;
pub use job::{OpenError, OpenJob, Opened, SealError, SealFault, SealJob};
pub use key::{Ccmp, KeyError, TemporalKey, open_each, seal_each};
pub use pn::{KeyId, PacketNumber, PnExhausted};
pub use replay::{Replay, ReplayWindow};
pub use suite::{Method, Suite};
pub use tkip::Tkip;
pub use wep::Wep;
pub use wlan_frames::Role;
