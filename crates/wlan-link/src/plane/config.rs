//! The configuration of one end of a link.

use std::net::SocketAddr;

use wlan_ciphers::Suite;
use wlan_frames::{EtherType, MacAddr};

use super::wire::{Kind, Role};

/// The transport of the frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Ethernet frames on an interface; this end has the interface's address.
    Ethernet {
        /// The interface's name.
        interface: String,
        /// EtherType of sealed frames; default [`ETHERTYPE`](super::ETHERTYPE).
        ethertype: EtherType,
    },
    /// UDP datagrams.
    Udp {
        /// Address and port of this end.
        local: SocketAddr,
        /// Path MTU in octets; default 1500.
        outer_mtu_b: usize,
        /// Address of this end in 802.11 headers, an individual address.
        address: MacAddr,
    },
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Access point or station.
    pub role: Role,
    /// The transport of the frames.
    pub transport: Transport,
    /// Name of the host's device, 1 to 15 octets.
    pub device: String,
    /// Whether the device carries IP packets or Ethernet frames; must be equal at all ends.
    pub kind: Kind,
    /// The suites that may be installed. Their longest MIC determines the MTU of the device.
    pub suites: Vec<Suite>,
    /// Number of workers, 1 to 8. Each worker has two threads, one per direction, and a queue of the device.
    pub workers: usize,
}
