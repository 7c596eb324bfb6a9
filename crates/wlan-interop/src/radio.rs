//! A radio in monitor mode: the process builds every frame itself, and the kernel only puts it on the air.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc::ETH_P_ALL;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use wlan_frames::radiotap::{FLAG_FCS, Radiotap};
use wlan_host::sys::datagrams::{RawAddress, bind};
use wlan_host::sys::interface::Interface;

const FCS_B: usize = 4;
/// The longest MPDU without A-MSDU, with its radiotap header.
const BUFFER_B: usize = 4096;

/// A radiotap header of a frame to transmit: version 0, 10 octets, and the field "TX flags" (bit 15) with the bit
/// "use the preconfigured sequence number" (radiotap.org).
const TX_HEADER: [u8; 10] = [0, 0, 10, 0, 0, 0x80, 0, 0, 0x10, 0];
/// The bit of the field "TX flags", which the kernel adds to frames that this machine sent.
const TX_FLAGS: u32 = 1 << 15;

/// A radio in monitor mode.
pub struct Radio {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Radio {
    /// Opens the radio with this interface, which must be in monitor mode and up.
    ///
    /// # Errors
    /// The interface does not exist, or the process lacks CAP_NET_RAW.
    pub fn open(interface: &str) -> io::Result<Self> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll)?;
        let index = Interface::named(interface)?.index()?;
        let ethertype = u16::try_from(ETH_P_ALL).expect("a type of Ethernet frames has 16 bits");
        bind(socket.as_fd(), RawAddress::of_link(index, ethertype, [0; 6]))?;
        Ok(Self {
            socket,
            buffer: vec![0; BUFFER_B],
        })
    }

    /// The next received MPDU without FCS, or `None` if none is waiting. The radio hears all frames on its channel,
    /// except its own.
    ///
    /// # Errors
    /// The interface is down.
    pub fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            let len = match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
                Ok(len) => len,
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let Ok((header, at)) = Radiotap::parse(&self.buffer[..len]) else {
                continue;
            };
            let present = u32::from_le_bytes(self.buffer[4..8].try_into().expect("four octets"));
            if present & TX_FLAGS != 0 {
                continue;
            }
            let has_fcs = header.flags.is_some_and(|flags| flags & FLAG_FCS != 0);
            let end = len.saturating_sub(if has_fcs { FCS_B } else { 0 }).max(at);
            return Ok(Some(&self.buffer[at..end]));
        }
    }

    /// Sends an MPDU without FCS.
    ///
    /// # Errors
    /// The interface is down, or its queue is full.
    pub fn send(&self, mpdu: &[u8]) -> io::Result<()> {
        let frame = [&TX_HEADER, mpdu].concat();
        send(self.socket.as_raw_fd(), &frame, MsgFlags::empty())?;
        Ok(())
    }
}

impl AsFd for Radio {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
