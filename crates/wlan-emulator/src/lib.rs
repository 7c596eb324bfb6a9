//! The emulated air in real time: hosts in network namespaces, joined by the medium of `wlan-air`, with real 802.11 frames
//! that real ciphers seal.
//!
//! - [`process`]: the emulator as a process that is spoken to in lines of JSON
//! - [`emulator`]: makes the hosts and starts the MAC thread
//! - [`config`]: the configuration of a link, by name
//! - `mac`: the MAC thread and its hot path, step by step
//! - `capture`: the capture file that an observer of the air would write
//! - `bss`: the keys and beacons of the BSS, and how stations join it
//! - `frames`: IP packets to sealed frames, and back
//! - `roster`: who the hosts are
//!
//! Each module uses only modules further down the list.

#![forbid(unsafe_code)]

mod bss;
mod capture;
pub mod config;
pub mod emulator;
mod frames;
mod mac;
pub mod process;
mod roster;
