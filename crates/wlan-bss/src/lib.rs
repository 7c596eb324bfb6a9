//! An access point's and a station's side of a BSS (IEEE Std 802.11-2020), without I/O, clocks or random generators.
//!
//! # Architecture
//!
//! ```text
//!   MPDUs, time, randomness ──► AccessPoint ─┐
//!                               Station ─────┴─ End: associations, keys, frames ──► MPDUs, packets, events
//!                                  └─ Admission, Attempt ── wlan_rsn: SAE, OWE, 4-way and group key handshakes
//! ```
//! A caller carries MPDUs (without FCS) between [`AccessPoint`]s and [`Station`]s, over radios or an emulated medium.
//! After each call, [`End::take_output`] returns the MPDUs to send, the Ethernet frames for the host, and [`Event`]s. The
//! medium acknowledges and retransmits frames; the ends repeat requests without an answer.
//!
//! | module | contents | source |
//! |---|---|---|
//! | [`network`] | the configuration of an end: SSID, capabilities, key management | |
//! | [`elements`] | the elements of management frames, in the order of the standard | 9.3.3, 9.4.2 |
//! | [`beacons`] | beacons and their protection | 9.3.3.2, 11.52 |
//! | `keys` | keys that seal and open MPDUs | |
//! | `end` | keys, Data frames, protected management frames, answers to SA Queries | 11.13, 12.5 |
//! | [`admission`] | an access point's authentications, choice of suites and handshakes, for any transport | 11.3, 12 |
//! | [`attempt`] | a station's authentication and association, for any transport | 11.3, 12.4 |
//! | `access_point` | discovery, authentication, association and keys of all stations | 11.1.4, 11.3, 12.7 |
//! | `station` | the same of a station | |
//! | [`sa_query`] | the timer of SA Queries | 11.13 |
//! | `event` | changes of associations and keys | |
//!
//! # Limits
//!
//! Frames are neither fragmented nor aggregated. An access point delivers all packets to its host, also those for other
//! stations. A TKIP station takes no countermeasures.

#![forbid(unsafe_code)]

mod access_point;
pub mod admission;
pub mod attempt;
pub mod beacons;
pub mod elements;
mod end;
mod event;
mod keys;
pub mod network;
pub mod sa_query;
mod station;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use access_point::AccessPoint;
pub use beacons::Beacons;
pub use end::{Counts, End, Outbox};
pub use event::{Event, Failure};
pub use keys::{Opening, Sealing};
pub use network::{Capabilities, Network, SecretError, Security};
pub use station::Station;

/// Listen interval of stations in beacon intervals (9.4.1.6).
pub const LISTEN_INTERVAL: u16 = 1;
