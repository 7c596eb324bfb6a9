//! The configuration of one end of a link.

use std::net::SocketAddr;

use wlan_ciphers::Suite;
use wlan_frames::{EtherType, MacAddr};

use super::wire::{Kind, Role};

/// What carries the frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Ethernet frames on an interface; this end's address is the interface's.
    Ethernet {
        /// The interface's name.
        interface: String,
        /// EtherType of sealed frames: [`ETHERTYPE`](super::ETHERTYPE) unless there is a reason.
        ethertype: EtherType,
    },
    /// Datagrams of UDP.
    Udp {
        /// Address and port of this end.
        local: SocketAddr,
        /// Octets of the longest IP packet on the path: 1500 unless there is a reason.
        outer_mtu_b: usize,
        /// This end's address in 802.11 headers, an individual one.
        address: MacAddr,
    },
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Access point or station.
    pub role: Role,
    /// What carries the frames.
    pub transport: Transport,
    /// Name of the device that the host sees, 1 to 15 octets.
    pub device: String,
    /// Whether the device carries IP packets or Ethernet frames; the same at all ends.
    pub kind: Kind,
    /// The suites that may be installed: how long a packet can be depends on their MICs.
    pub suites: Vec<Suite>,
}
