//! The emulated air in real time. Hosts in network namespaces communicate over the medium of `wlan-air` in real 802.11
//! frames, which real ciphers seal.
//!
//! - [`process`]: the emulator as a process with an interface in lines of JSON
//! - [`emulator`]: creates the hosts and starts the MAC thread
//! - [`hwsim`]: the medium beneath the radios of mac80211_hwsim
//! - [`hosts`]: hosts without a medium
//! - [`config`]: the configuration of an emulated link
//! - [`running`]: a link that runs: hosts, thread, errors
//! - `mac`: the MAC thread and its hot path, step by step
//! - `capture`: a capture of the air, as an observer would record it
//! - `bss`: the keys and beacons of the BSS, and the joining of stations
//! - `frames`: conversion of IP packets to sealed frames, and back
//! - `roster`: names and addresses of the hosts
//!
//! Each module uses only modules further down the list.

#![forbid(unsafe_code)]

mod bss;
mod capture;
pub mod config;
pub mod emulator;
mod frames;
pub mod hosts;
pub mod hwsim;
mod mac;
pub mod process;
mod roster;
pub mod running;
