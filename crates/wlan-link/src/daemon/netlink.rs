//! Sets the device's addresses, brings it up or down, and finds networks of other devices, with rtnetlink(7).
//!
//! ```text
//!  octet 0 length   4 type (2)   6 flags (2)   8 sequence   12 port    then a structure, and attributes
//!  acknowledgement: type 2, the request's sequence number, at octet 16 an error number, 0 or negative
//!  dump: datagrams of several messages, each 4-aligned, until type 3
//!  ifaddrmsg    octet 0 family   1 prefix length   4 device (4)
//!  rtmsg        octet 0 family   1 prefix length   7 type   8 flags (4)
//!  attribute    octet 0 length (2)   2 type (2)   4 value, 4-aligned
//! ```
//! Integers are in host byte order.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, setsockopt, socket,
};
use nix::sys::time::{TimeVal, TimeValLike};

use super::accepted::Addressed;
use crate::phases::Prefix;

const HEADER_B: usize = 16;
const IFADDRMSG_B: usize = 8;
const RTMSG_B: usize = 12;
/// More than the 32 KiB that the kernel puts into a datagram of a dump.
const DATAGRAM_B: usize = 64 * 1024;
/// Attempts to read a table that changes meanwhile.
const DUMPS: usize = 5;

/// A network device of this host.
pub struct Device {
    index: u32,
    netlink: OwnedFd,
    /// The sequence number of the last request.
    sequence: u32,
    assigned: Vec<Prefix>,
}

impl Device {
    /// Finds a device by name in the calling thread's network namespace.
    ///
    /// # Errors
    /// The device does not exist, or a netlink socket cannot be created.
    pub fn new(name: &str) -> io::Result<Self> {
        let netlink = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        )?;
        setsockopt(&netlink, ReceiveTimeout, &TimeVal::seconds(1))?;
        Ok(Self {
            index: if_nametoindex(name)?,
            netlink,
            sequence: 0,
            assigned: Vec::new(),
        })
    }

    /// Adds an address. It is this end's to remove if it was not there, or `is_own`.
    fn add(&mut self, new: Prefix, is_own: bool) -> io::Result<()> {
        match self.address(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL, new) {
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) && !is_own => return Ok(()),
            Err(error) if error.raw_os_error() != Some(libc::EEXIST) => return Err(error),
            _ => {}
        }
        if !self.assigned.contains(&new) {
            self.assigned.push(new);
        }
        Ok(())
    }

    /// Removes addresses. Returns the first error after the attempt to remove all.
    fn remove(&mut self, addresses: &[Prefix]) -> io::Result<()> {
        let mut outcome = Ok(());
        for &old in addresses {
            match self.address(libc::RTM_DELADDR, 0, old) {
                // Already removed by another process.
                Err(error) if error.raw_os_error() == Some(libc::EADDRNOTAVAIL) => {}
                done => outcome = outcome.and(done),
            }
        }
        outcome
    }

    /// The first network of a table of the kernel that `wanted` selects.
    fn dump<T>(
        &mut self,
        kind: u16,
        body_b: usize,
        wanted: impl Fn(Prefix) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let mut datagram = vec![0; DATAGRAM_B];
        for _ in 0..DUMPS {
            self.send(kind, libc::NLM_F_DUMP, &vec![0; body_b])?;
            let (mut found, mut has_changed) = (None, false);
            loop {
                let len = recv(self.netlink.as_raw_fd(), &mut datagram, MsgFlags::MSG_TRUNC)?;
                let part = dumped(
                    datagram.get(..len).ok_or(io::ErrorKind::FileTooLarge)?,
                    self.sequence,
                    self.index,
                );
                has_changed |= part.has_changed;
                found = found.or_else(|| part.networks.into_iter().find_map(&wanted));
                match part.end {
                    Some(0) => break,
                    Some(code) => return Err(io::Error::from_raw_os_error(code.saturating_neg())),
                    None => {}
                }
            }
            if found.is_some() || !has_changed {
                return Ok(found);
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Brings the device up or down.
    ///
    /// # Errors
    /// The kernel refuses the change.
    pub fn set_up(&mut self, up: bool) -> io::Result<()> {
        let flag = u32::try_from(libc::IFF_UP).expect("one bit");
        let mut body = vec![0; 4];
        body.extend(self.index.to_ne_bytes());
        body.extend(if up { flag } else { 0 }.to_ne_bytes());
        body.extend(flag.to_ne_bytes());
        self.ask(libc::RTM_NEWLINK, 0, &body)
    }

    fn address(&mut self, kind: u16, flags: libc::c_int, prefix: Prefix) -> io::Result<()> {
        let (family, octets) = match prefix.address {
            IpAddr::V4(address) => (libc::AF_INET, address.octets().to_vec()),
            IpAddr::V6(address) => (libc::AF_INET6, address.octets().to_vec()),
        };
        let family = u8::try_from(family).expect("2 or 10");
        // Duplicate address detection is unnecessary, because the access point assigns unique addresses.
        let address_flags = u8::try_from(libc::IFA_F_NODAD).expect("one bit");
        let mut body = vec![family, prefix.bits, address_flags, libc::RT_SCOPE_UNIVERSE];
        body.extend(self.index.to_ne_bytes());
        for attribute in [libc::IFA_LOCAL, libc::IFA_ADDRESS] {
            let len = u16::try_from(4 + octets.len()).expect("an address is short");
            body.extend(len.to_ne_bytes());
            body.extend(attribute.to_ne_bytes());
            body.extend(&octets);
        }
        self.ask(kind, flags, &body)
    }

    /// Sends a request with the next sequence number.
    fn send(&mut self, kind: u16, flags: libc::c_int, body: &[u8]) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let flags = u16::try_from(flags | libc::NLM_F_REQUEST).expect("16 bits");
        let len = u32::try_from(HEADER_B + body.len()).expect("a request is short");
        let mut message = Vec::with_capacity(HEADER_B + body.len());
        message.extend(len.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        let to = NetlinkAddr::new(0, 0);
        sendto(self.netlink.as_raw_fd(), &message, &to, MsgFlags::empty())?;
        Ok(())
    }

    /// Sends a request and waits for its acknowledgement. Other messages are skipped, such as the late
    /// acknowledgement of a request that timed out.
    fn ask(&mut self, kind: u16, flags: libc::c_int, body: &[u8]) -> io::Result<()> {
        self.send(kind, flags | libc::NLM_F_ACK, body)?;
        loop {
            let mut answer = [0; 4096];
            let len = recv(self.netlink.as_raw_fd(), &mut answer, MsgFlags::empty())?;
            match acknowledgement(&answer[..len]) {
                Some((sequence, 0)) if sequence == self.sequence => return Ok(()),
                Some((sequence, code)) if sequence == self.sequence => {
                    return Err(io::Error::from_raw_os_error(-code));
                }
                _ => {}
            }
        }
    }
}

impl Addressed for Device {
    fn assigned(&self) -> &[Prefix] {
        &self.assigned
    }

    fn assign(&mut self, addresses: &[Prefix]) -> io::Result<()> {
        let before = std::mem::take(&mut self.assigned);
        let (kept, old): (Vec<Prefix>, Vec<Prefix>) =
            before.into_iter().partition(|old| addresses.contains(old));
        let mut outcome = self.remove(&old);
        for &new in addresses {
            if outcome.is_ok() {
                outcome = self.add(new, kept.contains(&new));
            }
        }
        if outcome.is_err() {
            let added = std::mem::take(&mut self.assigned);
            let _ = self.remove(&[kept, added].concat());
        }
        outcome
    }

    fn used_elsewhere(&mut self, addresses: &[Prefix]) -> io::Result<Option<(Prefix, Prefix)>> {
        for (kind, body_b) in [(libc::RTM_GETADDR, IFADDRMSG_B), (libc::RTM_GETROUTE, RTMSG_B)] {
            let used = self.dump(kind, body_b, |network| {
                let overlapped = addresses.iter().find(|one| one.overlaps(network));
                overlapped.map(|&one| (one, network))
            })?;
            if used.is_some() {
                return Ok(used);
            }
        }
        Ok(None)
    }
}

/// The content of one datagram of a dump of addresses or routes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Dumped {
    /// The networks of other devices.
    pub networks: Vec<Prefix>,
    /// Whether the table has changed since the start of the dump.
    pub has_changed: bool,
    /// The error code at the end of the dump: 0 or negative.
    pub end: Option<i32>,
}

/// Reads a datagram of the dump with this sequence number. Omits networks of the device with the index `own`, default
/// routes, and routes that the kernel derives from addresses. Messages of other requests are skipped.
#[must_use]
pub fn dumped(mut datagram: &[u8], sequence: u32, own: u32) -> Dumped {
    let mut found = Dumped::default();
    while let Some((message, rest)) = cut(datagram, word(datagram, 0), HEADER_B) {
        datagram = rest;
        let Some([kind, flags]) = half(message, 4).zip(half(message, 6)).map(<[u16; 2]>::from) else {
            break;
        };
        if word(message, 8) != Some(sequence) {
            continue;
        }
        found.has_changed |= libc::c_int::from(flags) & libc::NLM_F_DUMP_INTR != 0;
        let body = &message[HEADER_B..];
        match libc::c_int::from(kind) {
            // Both carry the error number.
            libc::NLMSG_DONE | libc::NLMSG_ERROR => {
                found.end = Some(word(body, 0).map_or(-libc::EBADMSG, u32::cast_signed));
            }
            _ if kind == libc::RTM_NEWADDR => networks_of_address(body, own, &mut found.networks),
            _ if kind == libc::RTM_NEWROUTE => found.networks.extend(network_of_route(body, own)),
            _ => {}
        }
    }
    found
}

fn networks_of_address(body: &[u8], own: u32, networks: &mut Vec<Prefix>) {
    let (Some(&[family, bits, ..]), Some(device)) = (body.first_chunk::<IFADDRMSG_B>(), word(body, 4)) else {
        return;
    };
    for (kind, value) in attributes(&body[IFADDRMSG_B..]) {
        // The address, and the other end of a link between two ends.
        if device != own && [libc::IFA_LOCAL, libc::IFA_ADDRESS].contains(&kind) {
            networks.extend(network(family, value, bits));
        }
    }
}

fn network_of_route(body: &[u8], own: u32) -> Option<Prefix> {
    let &[family, bits, .., kind, _, _, _, _] = body.first_chunk::<RTMSG_B>()?;
    let of_addresses = [
        libc::RTN_LOCAL,
        libc::RTN_BROADCAST,
        libc::RTN_ANYCAST,
        libc::RTN_MULTICAST,
    ];
    // Tunnels replace the default route by two routes with a prefix of one bit.
    let longest_default = if libc::c_int::from(family) == libc::AF_INET {
        7
    } else {
        6
    };
    if of_addresses.contains(&kind) || bits <= longest_default {
        return None;
    }
    let (mut destination, mut device) = (None, None);
    for (kind, value) in attributes(&body[RTMSG_B..]) {
        match kind {
            libc::RTA_DST => destination = network(family, value, bits),
            libc::RTA_OIF => device = word(value, 0),
            _ => {}
        }
    }
    // A route to several devices, or to none, has no device here.
    destination.filter(|_| device != Some(own))
}

fn network(family: u8, address: &[u8], bits: u8) -> Option<Prefix> {
    let address: IpAddr = match libc::c_int::from(family) {
        libc::AF_INET => <[u8; 4]>::try_from(address).ok()?.into(),
        libc::AF_INET6 => <[u8; 16]>::try_from(address).ok()?.into(),
        _ => return None,
    };
    let prefix = Prefix { address, bits };
    prefix.network().map(|_| prefix)
}

/// Types and values of attributes.
fn attributes(mut octets: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (attribute, rest) = cut(octets, half(octets, 0).map(u32::from), 4)?;
        octets = rest;
        Some((half(attribute, 2)?, &attribute[4..]))
    })
}

/// Cuts off a message or attribute of `len` octets, at least the `header_b` octets of its header, with the padding after it.
fn cut(octets: &[u8], len: Option<u32>, header_b: usize) -> Option<(&[u8], &[u8])> {
    let len = usize::try_from(len?).ok().filter(|&len| len >= header_b)?;
    let (item, _) = octets.split_at_checked(len)?;
    Some((item, octets.get(len.next_multiple_of(4)..).unwrap_or_default()))
}

fn word(octets: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*octets.get(at..)?.first_chunk()?))
}

fn half(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*octets.get(at..)?.first_chunk()?))
}

/// Sequence number and error code of an acknowledgement; `None` for other messages.
#[must_use]
pub fn acknowledgement(message: &[u8]) -> Option<(u32, i32)> {
    let is_acknowledgement = libc::c_int::from(half(message, 4)?) == libc::NLMSG_ERROR;
    let (sequence, code) = (word(message, 8)?, word(message, HEADER_B)?.cast_signed());
    is_acknowledgement.then_some((sequence, code))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn only_a_complete_acknowledgement_has_a_result(
            mut octets in proptest::collection::vec(any::<u8>(), 0..64), is_acknowledgement: bool
        ) {
            if let (true, Some(kind)) = (is_acknowledgement, octets.get_mut(4..6)) {
                kind.copy_from_slice(&2_u16.to_ne_bytes());
            }
            let is_complete = octets.len() >= HEADER_B + 4 && octets[4..6] == 2_u16.to_ne_bytes();
            prop_assert_eq!(acknowledgement(&octets).is_some(), is_complete);
        }
    }

    fn message(kind: u16, flags: libc::c_int, sequence: u32, body: &[u8]) -> Vec<u8> {
        let len = u32::try_from(HEADER_B + body.len()).unwrap();
        let mut message = len.to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend(u16::try_from(flags).unwrap().to_ne_bytes());
        message.extend(sequence.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        message.resize(message.len().next_multiple_of(4), 0);
        message
    }

    fn with(mut head: Vec<u8>, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        for (kind, value) in attributes {
            head.extend(u16::try_from(4 + value.len()).unwrap().to_ne_bytes());
            head.extend(kind.to_ne_bytes());
            head.extend(*value);
            head.resize(head.len().next_multiple_of(4), 0);
        }
        head
    }

    fn route(bits: u8, kind: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        with(vec![2, bits, 0, 0, 254, 3, 0, kind, 0, 0, 0, 0], attributes)
    }

    #[test]
    fn a_dump_names_the_networks_of_other_devices_only() {
        let oif = |device: u32| device.to_ne_bytes();
        let ten = [10, 0, 0, 0];
        let address = |device: u32| {
            let head = [&[2, 24, 0, 0][..], &device.to_ne_bytes()].concat();
            let values: [(u16, &[u8]); 2] = [
                (libc::IFA_LOCAL, &[10, 1, 1, 1]),
                (libc::IFA_ADDRESS, &[10, 1, 2, 2]),
            ];
            with(head, &values)
        };
        let new_route = |body: &[u8]| message(libc::RTM_NEWROUTE, 2, 7, body);
        let routes = [
            new_route(&route(
                8,
                libc::RTN_UNICAST,
                &[(libc::RTA_DST, &ten), (libc::RTA_OIF, &oif(3))],
            )),
            // Its own, a default route and half of one, a route that belongs to an address.
            new_route(&route(
                9,
                libc::RTN_UNICAST,
                &[(libc::RTA_DST, &ten), (libc::RTA_OIF, &oif(5))],
            )),
            new_route(&route(0, libc::RTN_UNICAST, &[(libc::RTA_OIF, &oif(3))])),
            new_route(&route(
                1,
                libc::RTN_UNICAST,
                &[(libc::RTA_DST, &[0; 4]), (libc::RTA_OIF, &oif(3))],
            )),
            new_route(&route(
                32,
                libc::RTN_LOCAL,
                &[(libc::RTA_DST, &ten), (libc::RTA_OIF, &oif(3))],
            )),
            // Through several devices.
            new_route(&route(10, libc::RTN_UNICAST, &[(libc::RTA_DST, &ten)])),
            message(libc::RTM_NEWADDR, 2, 7, &address(3)),
            message(libc::RTM_NEWADDR, 2, 7, &address(5)),
            // The answer to another request.
            message(libc::RTM_NEWADDR, 2, 6, &address(3)),
        ];
        let networks = ["10.0.0.0/8", "10.0.0.0/10", "10.1.1.1/24", "10.1.2.2/24"];
        let mut expected = Dumped {
            networks: networks.map(|text| text.parse().unwrap()).to_vec(),
            ..Dumped::default()
        };
        assert_eq!(dumped(&routes.concat(), 7, 5), expected);
        let done = message(3, libc::NLM_F_DUMP_INTR, 7, &(-libc::ENOBUFS).to_ne_bytes());
        (expected.has_changed, expected.end) = (true, Some(-libc::ENOBUFS));
        assert_eq!(dumped(&[routes.concat(), done].concat(), 7, 5), expected);
    }

    proptest! {
        #[test]
        fn a_dump_of_any_octets_is_read(octets in proptest::collection::vec(any::<u8>(), 0..200), cut: u8) {
            let routes = message(libc::RTM_NEWROUTE, 2, 0, &[&route(8, 1, &[])[..], &octets].concat());
            let _ = dumped(&routes[..usize::from(cut).min(routes.len())], 0, 1);
            let _ = dumped(&octets, 0, 1);
        }
    }

    #[test]
    fn a_late_acknowledgement_is_not_matched_to_the_next_request() {
        // RTM_GETLINK requires no privilege. The body is an ifinfomsg with the interface index at octet 4.
        let about = |index: u32| [[0_u8; 4], index.to_ne_bytes(), [0; 4], [0; 4]].concat();
        let mut device = Device::new("lo").unwrap();
        let lo = about(device.index);
        for nobody_waits_for in [about(i32::MAX.cast_unsigned()), lo.clone()] {
            // As if its acknowledgement had arrived too late.
            let flags = u16::try_from(libc::NLM_F_REQUEST | libc::NLM_F_ACK).unwrap();
            let mut message = 32_u32.to_ne_bytes().to_vec();
            message.extend(libc::RTM_GETLINK.to_ne_bytes());
            message.extend(flags.to_ne_bytes());
            message.extend(device.sequence.to_ne_bytes());
            message.extend([0; 4]);
            message.extend(nobody_waits_for);
            let to = NetlinkAddr::new(0, 0);
            sendto(device.netlink.as_raw_fd(), &message, &to, MsgFlags::empty()).unwrap();
            device.ask(libc::RTM_GETLINK, 0, &lo).unwrap();
            let absent = device.ask(libc::RTM_GETLINK, 0, &about(i32::MAX.cast_unsigned()));
            assert_eq!(absent.unwrap_err().raw_os_error(), Some(libc::ENODEV));
        }
    }
}
