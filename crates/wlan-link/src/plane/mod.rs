//! The data plane of `airtoll link`: hosts joined by an open network, their frames sealed by the host CPU.
//!
//! One end is the access point, the others are stations. What the host sends to a TUN or TAP device becomes whole 802.11
//! MPDUs, sealed by the batch engine of `wlan-ciphers`, on any network between the ends that carries Ethernet frames or
//! datagrams of UDP (`endpoint`); `docs/reference/link-protocol.md` draws every octet. Two threads an end, and no lock
//! that is held over a system call. When frames come thick, a thread that has taken all rests a moment before it looks
//! again, instead of being woken for each (`threads`):
//!
//! Way out (`source`, `egress`):
//! 1. read packets and super-packets from the device, until none waits or the batch is full (sequential)
//! 2. find the station, split into the bodies of frames, each where it will be sent from (sequential)
//! 3. packet numbers and sequence numbers (sequential)
//! 4. seal the batch (parallel over frames)
//! 5. hand it to the kernel: messages of many frames with `UDP_SEGMENT`, or `sendmmsg`
//!
//! Way in (`ingress`, `deliver`):
//! 1. take what was received, where the kernel left it (sequential)
//! 2. look at each frame, the cheapest first: length, kind, receiver, transmitter, key, packet number (sequential)
//! 3. open the batch in place (parallel over frames)
//! 4. replay check (sequential)
//! 5. join runs of one flow and write them to the device; on an access point, or seal and pass on
//!
//! Keys come from whoever does the handshakes: [`Handle::admit`], [`Handle::install`], [`Handle::remove`]. Frames that are
//! not data go there ([`Running::control`]) and come from there ([`Handle::send_eapol`], [`Handle::send_management`]).

mod config;
mod control;
mod counters;
mod deliver;
mod egress;
mod endpoint;
mod ingress;
mod link;
mod replay;
mod shared;
mod source;
mod table;
mod threads;
mod waiting;
pub(crate) mod wire;

#[cfg(test)]
mod tests;

pub use config::{Config, Transport};
pub use control::{Handle, SendError, StationState};
pub use counters::{InboundTotals, OutboundTotals, Totals};
pub use endpoint::{ETHERTYPE, Endpoint};
pub use link::Link;
pub use shared::LinkError;
pub use table::{Direction, Network, TableError};
pub use threads::Running;
pub use waiting::{ControlBody, ControlFrame, Strangers, Waiting};
pub use wire::{Kind, Role};
