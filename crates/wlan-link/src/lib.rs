//! All I/O of the Rust side: TUN devices, network namespaces, threads and clocks.
//!
//! - [`emulator`]: the emulated link in real time, and its hot path step by step
//! - [`process`]: the emulator as a process that is spoken to in lines of JSON
//! - [`config`]: what a link is to be like, by name
//! - [`pingpong`]: round-trip times over real sockets
//! - [`decrypt`]: capture files decrypted
//!
//! Beneath them, private: `station` (IP packets to MPDUs and back), `capture` (what an observer of the air
//! would see), `netns`, `tun`, `clock`, `schedule` (the kernel's side). `unsafe` stands only in modules named
//! `sys`, one ioctl and one scheduling call.

mod capture;
mod clock;
pub mod config;
mod counters;
pub mod decrypt;
pub mod emulator;
mod netns;
pub mod pingpong;
pub mod process;
mod schedule;
mod station;
mod tun;

pub use tun::DEVICE_NAME;
