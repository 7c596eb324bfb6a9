//! The threads of the Rust side, and what they carry.
//!
//! - [`emulator`]: the emulated link in real time, and its hot path step by step
//! - [`process`]: the emulator as a process that is spoken to in lines of JSON
//! - [`config`]: what a link is to be like, by name
//! - [`link`]: hosts joined by an open network, and the hot path of that step by step
//!
//! Beneath them, private: `roster` (who the hosts are), `host` (IP packets to frames and back), `station` (MPDUs sealed
//! and opened at the ends of an association, whole MSDUs or fragments), `joining` (how stations
//! come to the link, and get their keys), `stage` (processors and wires that take their time), `frame` (the MPDUs and
//! their buffers), `protection` (any cipher suite), `capture` (what an observer of the air would see), `beacon` (what the
//! access point says of its BSS).

mod beacon;
mod capture;
pub mod config;
mod counters;
pub mod emulator;
mod frame;
mod host;
mod joining;
pub mod link;
pub mod process;
mod protection;
mod roster;
mod stage;
mod station;
