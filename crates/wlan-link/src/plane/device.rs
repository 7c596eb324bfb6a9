//! The host's end of a link: a TUN or TAP device, or memory in measurements.

use std::io::{self, IoSlice};

use wlan_host::offload::VnetHeader;
use wlan_host::tun::{Offloads, Tun};

/// A device from which the packets of a host are read and to which its packets are written.
pub trait Device {
    /// The offloads that the host's stack leaves to the device and accepts from it.
    fn offloads(&self) -> Offloads;

    /// Reads one packet and its virtio-net header. Returns the length of the packet in octets, or `None` if no packet is
    /// waiting.
    ///
    /// # Errors
    /// The device cannot be read.
    fn read(&self, header: &mut [u8; VnetHeader::LEN], packet: &mut [u8]) -> io::Result<Option<usize>>;

    /// Writes one packet. `parts` are its virtio-net header and the packet, split anywhere.
    ///
    /// # Errors
    /// The host refuses the packet.
    fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<()>;
}

impl Device for Tun {
    fn offloads(&self) -> Offloads {
        Self::offloads(self)
    }

    fn read(&self, header: &mut [u8; VnetHeader::LEN], packet: &mut [u8]) -> io::Result<Option<usize>> {
        Self::read(self, header, packet, &mut [])
    }

    fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        Self::write(self, parts)
    }
}
