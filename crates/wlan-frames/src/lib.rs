//! IEEE 802.11 frames and capture records as plain values: no I/O, no clock, no allocation on the way to the air.
//!
//! # Architecture
//!
//! Every wire type has one shape, one module each:
//!
//! - a **field map**: the offsets, with the clause that fixes them;
//! - an **owned form** (`DataHeader`, `Ack`, `Radiotap`, ...) whose public fields are numbers with their unit in the
//!   name;
//! - `len()` in octets, `emit(&self, &mut [u8]) -> usize` and `parse(&[u8]) -> Result<Self, _>`, where parsing what was
//!   emitted gives the value back (property tests in `tests/roundtrip.rs`).
//!
//! | module | what | source |
//! |---|---|---|
//! | [`frame_control`] | the first two octets, and the header length they imply | IEEE 802.11-2020 9.2.4.1, 9.3.2.1 |
//! | [`data`] | MAC header of Data and QoS Data frames, as a view and as a value | 9.3.2 |
//! | [`control`] | RTS, CTS, Ack, compressed BlockAck and BlockAckReq | 9.3.1 |
//! | [`beacon`] | Beacon frames and the elements in them | 9.3.3.2, 9.4 |
//! | [`management`] | the other management frames around an association | 9.3.3 |
//! | [`rsn`] | RSN and WPA elements | 9.4.2.24 |
//! | [`eapol`] | EAPOL-Key frames, elements and KDEs in their key data | 12.7.2 |
//! | [`llc`] | LLC/SNAP in front of an IP packet | IEEE Std 802-2014, RFC 1042 |
//! | [`ampdu`] | MPDU delimiter and padding of an A-MPDU | 9.7.1 |
//! | [`fcs`] | the CRC-32 that closes every MPDU | 9.2.4.8 |
//! | [`radiotap`] | what the capturing side knew about a frame | radiotap.org |
//! | [`pcap`] | capture files, classic and pcapng | pcap-savefile(5), draft-ietf-opsawg-pcapng |
//! | [`link`] | lengths in the data frames of `airtoll link` | `docs/reference/link-protocol.md` |
//! | [`captured`] | the MPDU within a record of any 802.11 link type | tcpdump.org/linktypes |
//!
//! # Panics and errors
//!
//! `parse` never panics, whatever the octets: it returns [`FrameError`] (or [`pcap::PcapError`]). `emit` panics when
//! the buffer is shorter than `len()` or when fields contradict each other (documented at each type): both are faults
//! of the caller, not of the air.
//!
//! A frame here is an MPDU *without* its FCS unless a function says otherwise.

#![forbid(unsafe_code)]

mod addr;
mod bytes;
mod error;
mod frame_type;
mod role;

pub mod ampdu;
pub mod beacon;
pub mod captured;
pub mod control;
pub mod data;
pub mod eapol;
pub mod fcs;
pub mod frame_control;
pub mod link;
pub mod llc;
pub mod management;
pub mod pcap;
pub mod radiotap;
pub mod rsn;

pub use addr::{AddrError, MacAddr};
pub use data::{AckPolicy, DataFrame, DataHeader, QosControl, SequenceControl};
pub use eapol::{EapolKey, KeyData};
pub use error::FrameError;
pub use frame_control::FrameControl;
pub use frame_type::FrameType;
pub use llc::{EtherType, LlcSnap};
pub use management::Management;
pub use role::Role;
pub use rsn::{RsnElement, WpaElement};
