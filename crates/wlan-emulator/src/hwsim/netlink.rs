//! Generic netlink (netlink(7), `Documentation/userspace-api/netlink` of Linux), as far as mac80211_hwsim requires it.
//!
//! ```text
//!  octet 0 length   4 type (2)   6 flags (2)   8 sequence   12 port   16 command   17 version   18 reserved (2)
//!  attribute: 0 length (2)   2 type (2)   4 value, padded to a multiple of 4
//! ```
//! Integers are in host byte order.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::sockopt::{RcvBufForce, SndBufForce};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, setsockopt,
    socket,
};

/// Octets of the headers of netlink and generic netlink.
const HEADERS_B: usize = 20;
/// Octets of the header of netlink.
const NETLINK_HEADER_B: usize = 16;
const ATTRIBUTE_HEADER_B: usize = 4;
/// The kernel queues a frame of up to 4 KB for each MSDU that it holds.
const SOCKET_BUFFER_B: usize = 32 << 20;

/// The family that resolves the names of the other families, and its words (`linux/genetlink.h`).
const CONTROL: u16 = 16;
const CONTROL_GET_FAMILY: u8 = 3;
const CONTROL_FAMILY_ID: u16 = 1;
const CONTROL_FAMILY_NAME: u16 = 2;

const TYPE_MASK: u16 = 0x3fff;
#[allow(clippy::cast_possible_truncation)] // constants of 16 bits
const REQUEST: u16 = libc::NLM_F_REQUEST as u16;
#[allow(clippy::cast_possible_truncation)] // constants of 16 bits
const WITH_ACK: u16 = REQUEST | libc::NLM_F_ACK as u16;
#[allow(clippy::cast_possible_truncation)] // constants of 16 bits
const ERROR: u16 = libc::NLMSG_ERROR as u16;

/// A socket of one family.
pub struct Socket {
    fd: OwnedFd,
    family: u16,
    queued: Vec<u8>,
}

/// A message of the kernel.
pub struct Message<'m> {
    /// The command; `None` for an acknowledgement.
    pub command: Option<u8>,
    body: &'m [u8],
}

impl Socket {
    /// Opens a socket in the calling thread's network namespace and resolves the family.
    ///
    /// # Errors
    /// The kernel does not have the family (`NotFound`), or refuses the socket or its buffers.
    pub fn open(family: &str) -> io::Result<Self> {
        let fd = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkGeneric,
        )?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        setsockopt(&fd, RcvBufForce, &SOCKET_BUFFER_B)?;
        setsockopt(&fd, SndBufForce, &SOCKET_BUFFER_B)?;
        let mut socket = Self {
            fd,
            family: CONTROL,
            queued: Vec::new(),
        };
        socket.family = socket.resolve(family)?;
        Ok(socket)
    }

    fn resolve(&mut self, family: &str) -> io::Result<u16> {
        let name = [family.as_bytes(), b"\0"].concat();
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("the kernel has no {family}"));
        self.queue(REQUEST, CONTROL_GET_FAMILY, &[(CONTROL_FAMILY_NAME, &name)]);
        self.flush()?;
        let mut buffer = [0; 4096];
        let len = self.receive(&mut buffer, MsgFlags::empty())?;
        messages(&buffer[..len])
            .filter(|message| message.command.is_some())
            .flat_map(|message| message.attributes())
            .find(|(kind, _)| *kind == CONTROL_FAMILY_ID)
            .and_then(|(_, value)| Some(u16::from_ne_bytes(value.try_into().ok()?)))
            .ok_or_else(missing)
    }

    /// Sends one command and waits for its acknowledgement.
    ///
    /// # Errors
    /// The kernel refuses the command.
    pub fn request(&mut self, command: u8, attributes: &[(u16, &[u8])]) -> io::Result<()> {
        self.queue(WITH_ACK, command, attributes);
        self.flush()?;
        let mut buffer = [0; 4096];
        loop {
            let len = self.receive(&mut buffer, MsgFlags::empty())?;
            if let Some(ack) = messages(&buffer[..len]).find(|message| message.command.is_none()) {
                return match ack.error() {
                    // mac80211_hwsim acknowledges a new radio with the radio's number.
                    Some(error) if error < 0 => Err(io::Error::from_raw_os_error(-error)),
                    _ => Ok(()),
                };
            }
        }
    }

    /// Queues a command without acknowledgement.
    pub fn command(&mut self, command: u8, attributes: &[(u16, &[u8])]) {
        self.queue(REQUEST, command, attributes);
    }

    fn queue(&mut self, flags: u16, command: u8, attributes: &[(u16, &[u8])]) {
        let start = self.queued.len();
        self.queued.extend([0; 4]);
        self.queued.extend(self.family.to_ne_bytes());
        self.queued.extend(flags.to_ne_bytes());
        self.queued.extend([0; 8]);
        self.queued.extend([command, 1, 0, 0]);
        for (kind, value) in attributes {
            let len =
                u16::try_from(ATTRIBUTE_HEADER_B + value.len()).expect("an attribute is a frame at most");
            self.queued.extend(len.to_ne_bytes());
            self.queued.extend(kind.to_ne_bytes());
            self.queued.extend(*value);
            self.queued.resize(self.queued.len().next_multiple_of(4), 0);
        }
        let len = u32::try_from(self.queued.len() - start).expect("a message is a few kilobytes");
        self.queued[start..start + 4].copy_from_slice(&len.to_ne_bytes());
    }

    /// Whether commands are queued.
    pub fn is_pending(&self) -> bool {
        !self.queued.is_empty()
    }

    /// Sends the queued commands in one call; the kernel executes them in order before the call returns.
    ///
    /// # Errors
    /// The kernel refuses the datagram as a whole. Errors of single commands arrive as messages.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.is_pending() {
            send(self.fd.as_raw_fd(), &self.queued, MsgFlags::empty())?;
            self.queued.clear();
        }
        Ok(())
    }

    /// Receives one datagram if one waits. Returns its length in octets.
    ///
    /// # Errors
    /// The kernel reports an error, for example that it dropped messages (`ENOBUFS`).
    pub fn poll(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.receive(buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(len) => Ok(Some(len)),
            Err(Errno::EAGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn receive(&self, buffer: &mut [u8], flags: MsgFlags) -> nix::Result<usize> {
        loop {
            match recv(self.fd.as_raw_fd(), buffer, flags) {
                Err(Errno::EINTR) => {}
                outcome => return outcome,
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl<'m> Message<'m> {
    /// The attributes: type and value.
    pub fn attributes(&self) -> impl Iterator<Item = (u16, &'m [u8])> + use<'m> {
        let mut rest = self.body;
        std::iter::from_fn(move || {
            let len = usize::from(u16::from_ne_bytes(*rest.first_chunk()?));
            let kind = u16::from_ne_bytes(*rest.get(2..)?.first_chunk()?) & TYPE_MASK;
            let value = rest.get(ATTRIBUTE_HEADER_B..len)?;
            rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
            Some((kind, value))
        })
    }

    /// The error number of an acknowledgement: zero or negative.
    fn error(&self) -> Option<i32> {
        Some(i32::from_ne_bytes(*self.body.first_chunk()?))
    }
}

/// The messages of a datagram.
pub fn messages(datagram: &[u8]) -> impl Iterator<Item = Message<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let len = u32::from_ne_bytes(*rest.first_chunk()?) as usize;
        let kind = u16::from_ne_bytes(*rest.get(4..)?.first_chunk()?);
        let message = rest.get(..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(if kind == ERROR {
            Message {
                command: None,
                body: message.get(NETLINK_HEADER_B..)?,
            }
        } else {
            Message {
                command: Some(*message.get(NETLINK_HEADER_B)?),
                body: message.get(HEADERS_B..)?,
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(command: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let (end, _other) = std::os::unix::net::UnixDatagram::pair().unwrap();
        let mut socket = Socket {
            fd: end.into(),
            family: 20,
            queued: Vec::new(),
        };
        socket.command(command, attributes);
        socket.queued
    }

    #[test]
    fn a_command_has_the_layout_of_the_kernel() {
        let octets = message(2, &[(5, &[1, 2, 3, 4, 5])]);
        assert_eq!(octets[..4], 32_u32.to_ne_bytes());
        assert_eq!(octets[4..6], 20_u16.to_ne_bytes());
        assert_eq!(octets[16..18], [2, 1]);
        assert_eq!(octets[20..22], 9_u16.to_ne_bytes());
        assert_eq!(octets[24..], [1, 2, 3, 4, 5, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn parsing_returns_what_was_queued(
            command: u8, attributes in proptest::collection::vec((0_u16..100, proptest::collection::vec(any::<u8>(), 0..50)), 0..6)
        ) {
            let borrowed: Vec<(u16, &[u8])> = attributes.iter().map(|(kind, value)| (*kind, &value[..])).collect();
            let octets = message(command, &borrowed);
            let found: Vec<_> = messages(&octets).collect();
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!(found[0].command, Some(command));
            prop_assert_eq!(found[0].attributes().collect::<Vec<_>>(), borrowed);
        }

        #[test]
        fn any_octets_are_parsed_without_a_panic(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
            for message in messages(&octets) {
                message.attributes().for_each(drop);
            }
        }
    }
}
