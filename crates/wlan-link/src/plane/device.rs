//! The host's end of a link: a TUN or TAP device, or memory in measurements.

use std::io::{self, IoSlice};

use wlan_host::tun::{Offloads, Read, Tun};

/// A device from which the packets of a host are read and to which its packets are written.
pub trait Device {
    /// The offloads that the host's stack leaves to the device and accepts from it.
    fn offloads(&self) -> Offloads;

    /// Reads one packet into `octets`, after its virtio-net header. Returns both, or `None` if no packet is waiting.
    ///
    /// # Errors
    /// The device cannot be read.
    fn read<'o>(&self, octets: &'o mut [u8]) -> io::Result<Option<Read<'o>>>;

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

    fn read<'o>(&self, octets: &'o mut [u8]) -> io::Result<Option<Read<'o>>> {
        Self::read(self, octets)
    }

    fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        Self::write(self, parts)
    }
}
