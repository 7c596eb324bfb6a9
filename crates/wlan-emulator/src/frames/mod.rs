//! Frames between two hosts: what a host's stack sends becomes sealed MPDUs, and the peer's MPDUs become packets.
//!
//! - `frame`: MPDUs and their buffers
//! - `protection`: keys, packet numbers and the replay check of any cipher suite
//! - `host`: a host's device; IP packets to frames, and back
//! - `reassembly`, `station`, `fragments`: one end of an association, which seals and opens whole MSDUs or fragments
//! - `sent`: frames as they go over the air

pub mod fragments;
pub mod frame;
pub mod host;
pub mod protection;
mod reassembly;
pub mod sent;
pub mod station;
