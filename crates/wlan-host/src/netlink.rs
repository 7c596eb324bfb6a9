//! Netlink sockets (netlink(7)), and generic netlink (`Documentation/userspace-api/netlink` of Linux).
//!
//! ```text
//!  octet 0 length   4 type (2)   6 flags (2)   8 sequence   12 port    then a header of the protocol, and attributes
//!  acknowledgement (type 2), end of a dump (type 3): at octet 16 an error number, 0 or negative
//!  generic netlink: 16 command   17 version   18 reserved (2)
//!  attribute: 0 length (2)   2 type (2)   4 value, padded to a multiple of 4
//! ```
//! Integers are in host byte order.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::sockopt::{RcvBuf, ReceiveTimeout};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, connect, recv, send, setsockopt,
    socket,
};
use nix::sys::time::{TimeVal, TimeValLike};

use crate::sys::set_option;

const HEADER_B: usize = 16;
const GENERIC_HEADER_B: usize = 4;
const ATTRIBUTE_HEADER_B: usize = 4;
/// More than the 32 KiB that the kernel puts into a datagram of a dump.
const DATAGRAM_B: usize = 64 << 10;
/// Octets of messages that wait for [`Socket::poll`]: enough for the events between two readings.
const EVENTS_B: usize = 1 << 18;
/// Without the flags of a type: nested, in network byte order.
const TYPE_MASK: u16 = 0x3fff;

/// The family that resolves the names of the other families, and its words (`linux/genetlink.h`).
mod control {
    pub const ID: u16 = 16;
    pub const GET_FAMILY: u8 = 3;
    pub const FAMILY_ID: u16 = 1;
    pub const FAMILY_NAME: u16 = 2;
    pub const GROUPS: u16 = 7;
    pub const GROUP_NAME: u16 = 1;
    pub const GROUP_ID: u16 = 2;
}

/// Attributes: types and values.
pub type Attributes<'a> = [(u16, &'a [u8])];

/// A socket in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    /// The sequence number of the last request.
    sequence: u32,
    received: Vec<u8>,
}

/// A family of generic netlink.
#[derive(Debug)]
pub struct Family {
    /// The type of its messages.
    pub id: u16,
    /// The names and numbers of its multicast groups.
    pub groups: Vec<(String, u32)>,
}

impl Socket {
    /// Opens a socket to the kernel. It receives messages from the kernel only.
    ///
    /// # Errors
    /// The kernel refuses the socket.
    pub fn open(protocol: SockProtocol) -> io::Result<Self> {
        let fd = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            protocol,
        )?;
        setsockopt(&fd, ReceiveTimeout, &TimeVal::seconds(1))?;
        connect(fd.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Self::of(fd))
    }

    fn of(fd: OwnedFd) -> Self {
        Self {
            fd,
            sequence: 0,
            received: vec![0; DATAGRAM_B],
        }
    }

    /// Receives the messages of a multicast group from now on.
    ///
    /// # Errors
    /// The kernel refuses the group.
    pub fn join(&self, group: u32) -> io::Result<()> {
        let fd = self.as_fd();
        setsockopt(&fd, RcvBuf, &EVENTS_B)?;
        // Messages that did not fit are lost either way; the error would hide the messages that follow.
        set_option(fd, libc::SOL_NETLINK, libc::NETLINK_NO_ENOBUFS, 1)?;
        set_option(
            fd,
            libc::SOL_NETLINK,
            libc::NETLINK_ADD_MEMBERSHIP,
            group.cast_signed(),
        )
    }

    /// Resolves the name of a family.
    ///
    /// # Errors
    /// The kernel does not have the family (`NotFound`).
    pub fn family(&mut self, name: &str) -> io::Result<Family> {
        let zero_terminated = [name.as_bytes(), b"\0"].concat();
        let asked = [(control::FAMILY_NAME, &zero_terminated[..])];
        let mut found = None;
        let head = generic(control::GET_FAMILY);
        let outcome = self.exchange(control::ID, libc::NLM_F_ACK, &head, &asked, |message| {
            found = found
                .take()
                .or(message.generic().and_then(|(_, body)| family(body)));
        });
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("the kernel has no {name}"));
        match outcome {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => found.ok_or_else(missing),
        }
    }

    /// Sends a request with `NLM_F_ACK` or `NLM_F_DUMP`, and passes the messages of its answer to `take`, including the last one.
    ///
    /// # Errors
    /// The kernel refuses the request, or does not answer within a second.
    pub fn exchange(
        &mut self,
        kind: u16,
        flags: libc::c_int,
        head: &[u8],
        attributes: &Attributes<'_>,
        mut take: impl FnMut(&Message<'_>),
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut request = Vec::new();
        put(&mut request, kind, flags, self.sequence, head, attributes);
        self.send(&request)?;
        loop {
            let len = self.receive(MsgFlags::empty())?;
            // A late answer to a request that failed is not that of this one.
            for message in messages(&self.received[..len]).filter(|message| message.sequence == self.sequence)
            {
                take(&message);
                match message.code() {
                    Some(code) if code < 0 => {
                        return Err(io::Error::from_raw_os_error(code.saturating_neg()));
                    }
                    Some(_) => return Ok(()),
                    None => {}
                }
            }
        }
    }

    /// Sends messages in one call. The kernel executes them in order before the call returns.
    ///
    /// # Errors
    /// The kernel refuses the datagram as a whole.
    pub fn send(&self, messages: &[u8]) -> io::Result<()> {
        send(self.fd.as_raw_fd(), messages, MsgFlags::empty())?;
        Ok(())
    }

    /// Receives one datagram if one waits.
    ///
    /// # Errors
    /// The kernel reports an error, for example that it dropped messages (`ENOBUFS`).
    pub fn poll(&mut self) -> io::Result<Option<&[u8]>> {
        match self.receive(MsgFlags::MSG_DONTWAIT) {
            Ok(len) => Ok(Some(&self.received[..len])),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn receive(&mut self, flags: MsgFlags) -> io::Result<usize> {
        loop {
            match recv(
                self.fd.as_raw_fd(),
                &mut self.received,
                flags | MsgFlags::MSG_TRUNC,
            ) {
                Err(Errno::EINTR) => {}
                Ok(len) if len > self.received.len() => return Err(io::ErrorKind::FileTooLarge.into()),
                outcome => return Ok(outcome?),
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn family(body: &[u8]) -> Option<Family> {
    let groups = attributes(find(body, control::GROUPS).unwrap_or_default()).filter_map(|(_, group)| {
        let name = find(group, control::GROUP_NAME)?.strip_suffix(b"\0")?;
        let id = find(group, control::GROUP_ID)?.first_chunk()?;
        Some((
            String::from_utf8_lossy(name).into_owned(),
            u32::from_ne_bytes(*id),
        ))
    });
    Some(Family {
        id: u16::from_ne_bytes(*find(body, control::FAMILY_ID)?.first_chunk()?),
        groups: groups.collect(),
    })
}

/// The header of generic netlink for a command.
#[must_use]
pub const fn generic(command: u8) -> [u8; GENERIC_HEADER_B] {
    [command, 1, 0, 0]
}

/// Appends a request: `head`, a header of its protocol, and attributes.
///
/// # Panics
/// An attribute exceeds 65531 octets.
pub fn put(
    queue: &mut Vec<u8>,
    kind: u16,
    flags: libc::c_int,
    sequence: u32,
    head: &[u8],
    attributes: &Attributes<'_>,
) {
    let flags = u16::try_from(flags | libc::NLM_F_REQUEST).expect("16 bits");
    let start = queue.len();
    queue.extend([0; 4]);
    queue.extend(kind.to_ne_bytes());
    queue.extend(flags.to_ne_bytes());
    queue.extend(sequence.to_ne_bytes());
    queue.extend([0; 4]);
    queue.extend(head);
    for (kind, value) in attributes {
        let len = u16::try_from(ATTRIBUTE_HEADER_B + value.len()).expect("at most 65531 octets");
        queue.extend(len.to_ne_bytes());
        queue.extend(kind.to_ne_bytes());
        queue.extend(*value);
        queue.resize(queue.len().next_multiple_of(4), 0);
    }
    let len = u32::try_from(queue.len() - start).expect("a request is short");
    queue[start..start + 4].copy_from_slice(&len.to_ne_bytes());
}

/// A message of the kernel.
#[derive(Debug, Clone, Copy)]
pub struct Message<'m> {
    /// Its type.
    pub kind: u16,
    /// Its flags.
    pub flags: u16,
    /// The sequence number of the request that it answers.
    pub sequence: u32,
    /// The header of its protocol, and its attributes.
    pub body: &'m [u8],
}

impl<'m> Message<'m> {
    /// The error number at the end of an answer, 0 or negative; `None` for other messages.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        let is_end = matches!(self.kind.into(), libc::NLMSG_ERROR | libc::NLMSG_DONE);
        is_end.then(|| word(self.body, 0).map_or(-libc::EBADMSG, u32::cast_signed))
    }

    /// The command of a message of generic netlink, and the octets of its attributes; `None` for other messages.
    #[must_use]
    pub fn generic(&self) -> Option<(u8, &'m [u8])> {
        let (head, attributes) = self.body.split_at_checked(GENERIC_HEADER_B)?;
        (libc::c_int::from(self.kind) >= libc::NLMSG_MIN_TYPE).then_some((head[0], attributes))
    }
}

/// The messages of a datagram.
pub fn messages(mut datagram: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let (message, rest) = cut(datagram, word(datagram, 0)?, HEADER_B)?;
        datagram = rest;
        Some(Message {
            kind: half(message, 4)?,
            flags: half(message, 6)?,
            sequence: word(message, 8)?,
            body: &message[HEADER_B..],
        })
    })
}

/// The attributes in a nest or after a header: types and values.
pub fn attributes(mut nest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (attribute, rest) = cut(nest, half(nest, 0)?.into(), ATTRIBUTE_HEADER_B)?;
        nest = rest;
        Some((half(attribute, 2)? & TYPE_MASK, &attribute[ATTRIBUTE_HEADER_B..]))
    })
}

/// The value of the first attribute of a type.
#[must_use]
pub fn find(nest: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(nest).find_map(|(found, value)| (found == kind).then_some(value))
}

/// Cuts off a message or attribute of `len` octets, at least the `header_b` octets of its header, with the padding after it.
fn cut(octets: &[u8], len: u32, header_b: usize) -> Option<(&[u8], &[u8])> {
    let len = usize::try_from(len).ok().filter(|&len| len >= header_b)?;
    let (item, _) = octets.split_at_checked(len)?;
    Some((item, octets.get(len.next_multiple_of(4)..).unwrap_or_default()))
}

/// The 32-bit integer at an offset.
#[must_use]
pub fn word(octets: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*octets.get(at..)?.first_chunk()?))
}

fn half(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*octets.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use nix::net::if_::if_nametoindex;
    use proptest::prelude::*;

    use super::*;

    fn message(kind: u16, flags: libc::c_int, sequence: u32, body: &[u8]) -> Vec<u8> {
        let mut octets = Vec::new();
        put(&mut octets, kind, flags, sequence, body, &[]);
        octets
    }

    #[test]
    fn a_command_has_the_layout_of_the_kernel() {
        let mut octets = vec![9; 4];
        put(&mut octets, 20, 4, 7, &generic(2), &[(5, &[1, 2, 3, 4, 5])]);
        let octets = &octets[4..];
        assert_eq!(octets[..4], 32_u32.to_ne_bytes());
        assert_eq!(octets[4..6], 20_u16.to_ne_bytes());
        assert_eq!(octets[6..8], 5_u16.to_ne_bytes());
        assert_eq!(octets[8..12], 7_u32.to_ne_bytes());
        assert_eq!(octets[16..18], [2, 1]);
        assert_eq!(octets[20..22], 9_u16.to_ne_bytes());
        assert_eq!(octets[24..], [1, 2, 3, 4, 5, 0, 0, 0]);
    }

    /// The flags of the messages of a dump that a kernel answers with these datagrams, and its outcome.
    fn dump(datagrams: &[Vec<u8>]) -> (Vec<u16>, Option<i32>) {
        let (end, kernel) = UnixDatagram::pair().unwrap();
        for datagram in datagrams {
            kernel.send(datagram).unwrap();
        }
        let mut flags = Vec::new();
        let outcome = Socket::of(end.into()).exchange(24, libc::NLM_F_DUMP, &[], &[], |message| {
            flags.push(message.flags);
        });
        (flags, outcome.err().map(|error| error.raw_os_error().unwrap()))
    }

    #[test]
    fn an_answer_ends_with_its_own_error_number() {
        const END: u16 = 3;
        let part = message(20, 2, 1, &[0; 8]);
        let other = message(END, 2, 9, &[0; 4]);
        let done = message(END, libc::NLM_F_DUMP_INTR, 1, &[0; 4]);
        let failed = message(END, 2, 1, &(-libc::ENOBUFS).to_ne_bytes());
        let incomplete = message(END, 2, 1, &[]);
        let both = [other, part.clone()].concat();
        assert_eq!(
            dump(&[part.clone(), [both.clone(), done].concat()]),
            (vec![3, 3, 17], None)
        );
        assert_eq!(dump(&[both, failed]), (vec![3, 3], Some(libc::ENOBUFS)));
        assert_eq!(dump(&[incomplete]), (vec![3], Some(libc::EBADMSG)));
    }

    #[test]
    fn a_late_acknowledgement_is_not_matched_to_the_next_request() {
        // RTM_GETLINK requires no privilege. The header is an ifinfomsg with the interface index at octet 4.
        let about = |index: u32| [[0_u8; 4], index.to_ne_bytes(), [0; 4], [0; 4]].concat();
        let lo = about(if_nametoindex("lo").unwrap());
        let absent = about(i32::MAX.cast_unsigned());
        let mut socket = Socket::open(SockProtocol::NetlinkRoute).unwrap();
        for nobody_waits_for in [&absent, &lo] {
            // As if its acknowledgement had arrived too late.
            let late = message(
                libc::RTM_GETLINK,
                libc::NLM_F_ACK,
                socket.sequence,
                nobody_waits_for,
            );
            socket.send(&late).unwrap();
            let mut ask = |head| socket.exchange(libc::RTM_GETLINK, libc::NLM_F_ACK, head, &[], |_| {});
            ask(&lo).unwrap();
            assert_eq!(ask(&absent).unwrap_err().raw_os_error(), Some(libc::ENODEV));
        }
    }

    #[test]
    fn a_family_has_the_identifier_and_the_groups_of_the_kernel() {
        let mut socket = Socket::open(SockProtocol::NetlinkGeneric).unwrap();
        let control = socket.family("nlctrl").unwrap();
        assert_eq!(control.id, control::ID);
        assert_eq!(control.groups, [("notify".to_owned(), 16)]);
        let absent = socket.family("absent").unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
    }

    proptest! {
        #[test]
        fn parsing_returns_what_was_put(
            command: u8, written in proptest::collection::vec((0_u16..100, proptest::collection::vec(any::<u8>(), 0..50)), 0..6)
        ) {
            let borrowed: Vec<(u16, &[u8])> = written.iter().map(|(kind, value)| (*kind, &value[..])).collect();
            let mut octets = Vec::new();
            put(&mut octets, 20, 0, 7, &generic(command), &borrowed);
            let found: Vec<_> = messages(&octets).collect();
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!((found[0].kind, found[0].flags, found[0].sequence), (20, 1, 7));
            let (found_command, body) = found[0].generic().unwrap();
            prop_assert_eq!(found_command, command);
            prop_assert_eq!(attributes(body).collect::<Vec<_>>(), borrowed);
        }

        #[test]
        fn any_octets_are_parsed_without_a_panic(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
            for message in messages(&octets) {
                let _ = (message.code(), message.generic());
                attributes(message.body).for_each(drop);
            }
        }
    }
}
