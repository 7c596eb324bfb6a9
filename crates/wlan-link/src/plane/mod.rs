//! The data plane of `airtoll link`: an open network connects the hosts, and their CPUs protect the frames.
//!
//! One end is the access point, the other ends are stations. Packets that the host sends to a TUN or TAP device
//! become complete 802.11 MPDUs, sealed by the batch engine of `wlan-ciphers`. The network between the ends carries
//! them as Ethernet frames or UDP datagrams (`endpoint`); `docs/reference/link-protocol.md` specifies every octet.
//! Each end has one or more workers (`steering`). A worker has two threads, one per direction, and holds no lock during
//! a system call. At high frame rates, a thread that has emptied
//! its input rests briefly before it polls again, instead of being woken for each frame (`threads`).
//!
//! Outbound (`source`, `egress`):
//! 1. read packets and super-packets from the device until none is left or the batch is full (sequential)
//! 2. find the station, or for a group all stations, split the packet into frame bodies, write each body directly into
//!    the send buffer (sequential)
//! 3. assign packet numbers and sequence numbers (sequential)
//! 4. seal the batch (parallel over frames)
//! 5. send the batch: messages of several frames with `UDP_SEGMENT`, or `sendmmsg`. A group addressed frame is sealed once,
//!    under the group key, and sent to each station over UDP or once over Ethernet
//!
//! Inbound (`ingress`, `deliver`):
//! 1. take received frames in the kernel's buffer (sequential)
//! 2. check each frame, cheapest checks first: length, kind, receiver, transmitter, key; per batch, packet numbers
//!    (sequential)
//! 3. open the batch in place (parallel over frames)
//! 4. check for replays (sequential)
//! 5. coalesce packets of one flow and write them to the device; an access point seals and forwards packets to stations
//!
//! The control plane performs the handshakes and manages the keys: [`Handle::admit`], [`Handle::install`],
//! [`Handle::install_group`], [`Handle::remove`]. It receives all frames other than data ([`Running::control`]) and sends its own
//! ([`Handle::send_eapol`], [`Handle::send_management`]).

mod config;
mod control;
mod counters;
mod deliver;
mod device;
mod egress;
mod endpoint;
mod ingress;
mod link;
pub mod memory;
mod replay;
mod shared;
mod source;
mod steering;
mod table;
mod threads;
mod waiting;
pub(crate) mod wire;

#[cfg(test)]
mod tests;

pub use config::{Config, Transport};
pub use control::{Handle, SendError, StationState, as_text};
pub use counters::{InboundTotals, OutboundTotals, Totals};
pub use endpoint::{ETHERTYPE, Endpoint};
pub use link::Link;
pub use shared::LinkError;
pub use table::{Network, TableError};
pub use threads::Running;
/// Maximum number of workers of an end: each has its own TID.
pub const WORKERS: usize = wire::TIDS as usize;

pub use waiting::{ControlBody, ControlFrame, Strangers, Waiting};
pub use wire::{Kind, Role};
