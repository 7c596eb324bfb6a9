//! IEEE 802.11 frames and capture records as plain values, without I/O or clocks. Sending a frame allocates nothing.
//!
//! # Architecture
//!
//! Each wire type has its own module and the same three parts:
//!
//! - a **field map**: the offsets, with the clause that defines them;
//! - an **owned form** (`DataHeader`, `Ack`, `Radiotap`, ...) whose public fields are numbers with their unit in the
//!   name;
//! - `len()` in octets, `emit(&self, &mut [u8]) -> usize` and `parse(&[u8]) -> Result<Self, _>`. Parsing an emitted
//!   value returns the same value (property tests in `tests/roundtrip.rs`).
//!
//! | module | contents | source |
//! |---|---|---|
//! | [`frame_control`] | the first two octets, and the header length | IEEE 802.11-2020 9.2.4.1, 9.3.2.1 |
//! | [`MacHeader`] | the fields that the headers of Data and management frames share | 9.3.2.1, 9.3.3.2 |
//! | [`data`] | MAC header of Data and QoS Data frames, as a view and as a value | 9.3.2 |
//! | [`control`] | RTS, CTS, Ack, compressed BlockAck and BlockAckReq | 9.3.1 |
//! | [`beacon`] | Beacon frames and the elements in them | 9.3.3.2, 9.4 |
//! | [`management`] | other management frames for probing, authentication and association | 9.3.3 |
//! | [`rsn`] | RSN and WPA elements | 9.4.2.24 |
//! | [`eapol`] | EAPOL-Key frames, and the elements and KDEs in their key data | 12.7.2 |
//! | [`llc`] | LLC/SNAP header of an IP packet | IEEE Std 802-2014, RFC 1042 |
//! | [`ampdu`] | MPDU delimiter and padding of an A-MPDU | 9.7.1 |
//! | [`fcs`] | the CRC-32 at the end of every MPDU | 9.2.4.8 |
//! | [`radiotap`] | capture metadata of a frame | radiotap.org |
//! | [`pcap`] | capture files, classic and pcapng | pcap-savefile(5), draft-ietf-opsawg-pcapng |
//! | [`link`] | lengths within the data frames of `airtoll link` | `docs/reference/link-protocol.md` |
//! | [`captured`] | the MPDU within a record of any 802.11 link type | tcpdump.org/linktypes |
//!
//! # Panics and errors
//!
//! `parse` never panics on any input: it returns [`FrameError`] (or [`pcap::PcapError`]). `emit` panics if the buffer
//! is shorter than `len()` or if fields contradict each other (documented for each type). Both are errors of the
//! caller, never of a received frame.
//!
//! Without the default feature `std` the crate requires only `alloc`.
//!
//! Frames are MPDUs *without* their FCS unless a function states otherwise.

#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod addr;
mod bytes;
mod error;
mod frame_type;
mod mac_header;
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

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use addr::{AddrError, MacAddr};
pub use data::{AckPolicy, DataFrame, DataHeader, QosControl, SequenceControl};
pub use eapol::{EapolKey, KeyData};
pub use error::FrameError;
pub use frame_control::FrameControl;
pub use frame_type::FrameType;
pub use llc::{EtherType, LlcSnap};
pub use mac_header::MacHeader;
pub use management::Management;
pub use role::Role;
pub use rsn::{RsnElement, WpaElement};
