//! Frames between two hosts: the packets of a host's stack become sealed MPDUs, and the peer's MPDUs become packets.
//!
//! - `frame`: MPDUs and their buffers
//! - `protection`: keys, packet numbers and the replay check of any cipher suite
//! - `delivery`: a thread that hands packets up to a host
//! - `host`: a host's device; conversion of IP packets to frames, and back
//! - `reassembly`, `station`, `fragments`: one end of an association, which seals and opens complete MSDUs or fragments
//! - `sent`: frames with their times and modes on the air

pub mod delivery;
pub mod fragments;
pub mod frame;
pub mod host;
pub mod protection;
mod reassembly;
pub mod sent;
pub mod station;
