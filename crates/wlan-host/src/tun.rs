//! TUN and TAP devices: the end of a link that a host's IP stack uses.
//!
//! Each packet has a [`VnetHeader`], so that the stack can leave checksums and segmentation to the device and receive
//! super-packets from it.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use nix::libc;
use serde::{Deserialize, Serialize};

use crate::offload::VnetHeader;
use crate::os_error::about;

/// Name of the device in the namespace of each host.
pub const DEVICE_NAME: &str = "wlan0";

/// Octets of an Ethernet header, and of an A-MSDU subframe header.
pub const ETHERNET_B: usize = 14;
/// Smallest value of the length/type field that is a type (IEEE Std 802.3-2018 3.2.6).
pub const TYPES_FROM: u16 = 0x600;

/// The offloads that the host's stack leaves to the device and accepts from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Offloads {
    /// Checksums, and segmentation of TCP over IPv4 and IPv6.
    pub tcp: bool,
    /// Segmentation of UDP over IPv4 and IPv6 (Linux 6.2 and later).
    pub udp: bool,
}

/// The type of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// TUN: IP packets.
    Ip,
    /// TAP: Ethernet frames.
    Ethernet,
}

/// A packet with its virtio-net header.
pub type Read<'o> = (&'o [u8; VnetHeader::LEN], &'o mut [u8]);

/// Splits octets into the virtio-net header and the packet.
///
/// # Panics
/// If they are shorter than the header.
pub fn split(octets: &mut [u8]) -> Read<'_> {
    let (header, packet) = octets
        .split_first_chunk_mut()
        .expect("a packet follows its virtio-net header");
    (header, packet)
}

/// A TUN or TAP device, or one queue of it. Each read or write transfers one IP packet, super-packet or Ethernet frame.
pub struct Tun {
    device: File,
    /// Writes packets instead of `device`, if the device has several queues; see [`Tun::queues`].
    writer: Option<Arc<File>>,
    kind: Kind,
    offloads: Offloads,
}

impl Tun {
    /// Creates the device in the calling thread's network namespace. Dropping the value removes the device.
    ///
    /// # Errors
    /// `/dev/net/tun` is missing or cannot be opened, or the kernel refuses the device, for example because the name is
    /// taken.
    pub fn named(name: &str, kind: Kind) -> io::Result<Self> {
        let device = open(name, kind, 0)?;
        let offloads = request_offloads(&device);
        Ok(Self {
            device,
            writer: None,
            kind,
            offloads,
        })
    }

    /// Creates a device with `count` queues. Each flow of the host has one queue as long as the device exists, so
    /// that one reader per queue keeps the order of every flow. Dropping all queues removes the device.
    ///
    /// The kernel assigns a flow to a queue by its hash, until a packet of the flow is written to another queue, which
    /// moves the flow. All packets are therefore written to one more queue, which is detached: the kernel neither
    /// assigns flows to such a queue nor moves flows for its packets (`tun_get_user` of Linux 4.16 and later).
    ///
    /// # Errors
    /// Same as [`named`](Self::named).
    pub fn queues(name: &str, kind: Kind, count: usize) -> io::Result<Vec<Self>> {
        if count == 1 {
            return Ok(vec![Self::named(name, kind)?]);
        }
        // The first queue creates the device, and fails if another process has it.
        let mut devices = vec![open(name, kind, libc::IFF_MULTI_QUEUE | libc::IFF_TUN_EXCL)?];
        for _ in 0..count {
            devices.push(open(name, kind, libc::IFF_MULTI_QUEUE)?);
        }
        let offloads = request_offloads(&devices[0]);
        let writer = Arc::new(devices.pop().expect("there is one more than `count`"));
        sys::detach_queue(&writer).map_err(about(format_args!("a queue of the device {name}")))?;
        let queue = |device| Self {
            device,
            writer: Some(Arc::clone(&writer)),
            kind,
            offloads,
        };
        Ok(devices.into_iter().map(queue).collect())
    }

    /// Creates a device on a datagram socket, at whose other end a test takes the kernel's role.
    ///
    /// # Panics
    /// If the socket cannot be made non-blocking.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn of(socket: std::os::unix::net::UnixDatagram, offloads: Offloads) -> Self {
        socket.set_nonblocking(true).unwrap();
        Self {
            device: File::from(std::os::fd::OwnedFd::from(socket)),
            writer: None,
            kind: Kind::Ip,
            offloads,
        }
    }

    /// The type of the device.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The offloads that the kernel granted.
    pub fn offloads(&self) -> Offloads {
        self.offloads
    }

    /// Reads one packet into `octets`. Returns its virtio-net header and the packet, or `None` if no packet is waiting.
    ///
    /// A read into one buffer takes 14 % less time than a vectored read that spares a copy of the packet.
    ///
    /// # Errors
    /// Any error of the kernel except "would block".
    ///
    /// # Panics
    /// If `octets` are shorter than the header.
    pub fn read<'o>(&self, octets: &'o mut [u8]) -> io::Result<Option<Read<'o>>> {
        loop {
            match (&self.device).read(octets) {
                Ok(len) => return Ok(Some(split(&mut octets[..len.max(VnetHeader::LEN)]))),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Hands one packet up to the host's stack. `parts` are its virtio-net header and the packet, split anywhere.
    ///
    /// # Errors
    /// The kernel refuses the packet: the device is down, or memory is short.
    pub fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let mut device = self.writer.as_deref().unwrap_or(&self.device);
        device.write_vectored(parts).map(|_| ())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// Opens a queue of the device, with more `flags` of `IFF_`.
fn open(name: &str, kind: Kind, flags: libc::c_int) -> io::Result<File> {
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")
        .map_err(about("/dev/net/tun"))?;
    sys::set_interface(&device, name, kind, flags)
        .map_err(about(format_args!("creating the device {name}")))?;
    Ok(device)
}

/// Requests all offloads of a device, which are common to its queues, and returns the granted offloads.
fn request_offloads(device: &File) -> Offloads {
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
    let udp = libc::TUN_F_USO4 | libc::TUN_F_USO6;
    // A kernel that lacks one of the offloads refuses all of them.
    [(true, true), (true, false)]
        .map(|(tcp, udp)| Offloads { tcp, udp })
        .into_iter()
        .find(|asked| sys::set_offload(device, tcp | if asked.udp { udp } else { 0 }).is_ok())
        .unwrap_or(Offloads {
            tcp: false,
            udp: false,
        })
}

/// The ioctls that turn an open `/dev/net/tun` into a device.
#[allow(unsafe_code)]
mod sys {
    use std::ffi::c_char;

    use super::{AsRawFd, File, Kind, io, libc};

    nix::ioctl_write_ptr_bad!(
        tun_set_interface,
        nix::request_code_write!(b'T', 202, size_of::<libc::c_int>()),
        libc::ifreq
    );
    nix::ioctl_write_int_bad!(
        tun_set_offload,
        nix::request_code_write!(b'T', 208, size_of::<libc::c_uint>())
    );
    nix::ioctl_write_ptr_bad!(
        tun_set_queue,
        nix::request_code_write!(b'T', 217, size_of::<libc::c_int>()),
        libc::ifreq
    );

    /// Requests device `name` without packet information, with virtio-net headers and with more `flags` of `IFF_`.
    pub fn set_interface(control: &File, name: &str, kind: Kind, flags: libc::c_int) -> io::Result<()> {
        // SAFETY: ifreq is a plain C struct for which all zeroes is a valid value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request
            .ifr_name
            .iter_mut()
            .zip(name.bytes().take(libc::IFNAMSIZ - 1))
        {
            *to = c_char::from_ne_bytes([from]);
        }
        let mode = match kind {
            Kind::Ip => libc::IFF_TUN,
            Kind::Ethernet => libc::IFF_TAP,
        };
        #[allow(clippy::cast_possible_truncation)] // all flags fit in the short that the kernel reads
        let flags = (mode | flags | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        request.ifr_ifru.ifru_flags = flags;
        // SAFETY: the descriptor is open for the whole call and TUNSETIFF reads one ifreq, which `request` is.
        unsafe { tun_set_interface(control.as_raw_fd(), &raw const request) }?;
        Ok(())
    }

    /// Detaches a queue from its device. Packets can still be written to it.
    pub fn detach_queue(queue: &File) -> io::Result<()> {
        // SAFETY: ifreq is a plain C struct for which all zeroes is a valid value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        #[allow(clippy::cast_possible_truncation)] // the flag fits in the short that the kernel reads
        let flags = libc::IFF_DETACH_QUEUE as libc::c_short;
        request.ifr_ifru.ifru_flags = flags;
        // SAFETY: the descriptor is open for the whole call and TUNSETQUEUE reads one ifreq, which `request` is.
        unsafe { tun_set_queue(queue.as_raw_fd(), &raw const request) }?;
        Ok(())
    }

    /// Requests these offloads, a sum of `TUN_F_` constants.
    pub fn set_offload(device: &File, offloads: libc::c_uint) -> io::Result<()> {
        // SAFETY: the descriptor is open for the whole call, and TUNSETOFFLOAD takes a number, not a pointer.
        unsafe { tun_set_offload(device.as_raw_fd(), offloads.cast_signed()) }?;
        Ok(())
    }
}
