//! Sets the device's addresses, brings it up or down, and finds networks of other devices, with rtnetlink(7).
//!
//! ```text
//!  ifaddrmsg    octet 0 family   1 prefix length   4 device (4)
//!  rtmsg        octet 0 family   1 prefix length   7 type   8 flags (4)
//! ```

use std::io;
use std::net::IpAddr;

use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::SockProtocol;
use wlan_host::netlink::{Attributes, Message, Socket, attributes, word};

use super::accepted::Addressed;
use crate::phases::Prefix;

const IFADDRMSG_B: usize = 8;
const RTMSG_B: usize = 12;
/// Attempts to read a table that changes meanwhile.
const DUMPS: usize = 5;

/// A network device of this host.
pub struct Device {
    index: u32,
    netlink: Socket,
    assigned: Vec<Prefix>,
}

impl Device {
    /// Finds a device by name in the calling thread's network namespace.
    ///
    /// # Errors
    /// The device does not exist, or a netlink socket cannot be created.
    pub fn new(name: &str) -> io::Result<Self> {
        Ok(Self {
            netlink: Socket::open(SockProtocol::NetlinkRoute)?,
            index: if_nametoindex(name)?,
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
        for _ in 0..DUMPS {
            let (mut found, mut has_changed) = (None, false);
            let head = vec![0; body_b];
            self.netlink
                .exchange(kind, libc::NLM_F_DUMP, &head, &[], |message| {
                    has_changed |= libc::c_int::from(message.flags) & libc::NLM_F_DUMP_INTR != 0;
                    found = found
                        .take()
                        .or_else(|| networks(message, self.index).into_iter().find_map(&wanted));
                })?;
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
        self.ask(libc::RTM_NEWLINK, 0, &body, &[])
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
        let attributes = [libc::IFA_LOCAL, libc::IFA_ADDRESS].map(|attribute| (attribute, &octets[..]));
        self.ask(kind, flags, &body, &attributes)
    }

    fn ask(
        &mut self,
        kind: u16,
        flags: libc::c_int,
        head: &[u8],
        attributes: &Attributes<'_>,
    ) -> io::Result<()> {
        self.netlink
            .exchange(kind, flags | libc::NLM_F_ACK, head, attributes, |_| {})
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

/// The networks in a message of a dump of addresses or routes. Omits networks of the device with the index `own`, default
/// routes, and routes that the kernel derives from addresses.
#[must_use]
pub fn networks(message: &Message<'_>, own: u32) -> Vec<Prefix> {
    match message.kind {
        libc::RTM_NEWADDR => networks_of_address(message.body, own),
        libc::RTM_NEWROUTE => network_of_route(message.body, own).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn networks_of_address(body: &[u8], own: u32) -> Vec<Prefix> {
    let (Some(&[family, bits, ..]), Some(device)) = (body.first_chunk::<IFADDRMSG_B>(), word(body, 4)) else {
        return Vec::new();
    };
    attributes(&body[IFADDRMSG_B..])
        // The address, and the other end of a link between two ends.
        .filter(|(kind, _)| device != own && [libc::IFA_LOCAL, libc::IFA_ADDRESS].contains(kind))
        .filter_map(|(_, value)| network(family, value, bits))
        .collect()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wlan_host::netlink::{messages, put};

    use super::*;

    fn with(kind: u16, head: &[u8], attributes: &Attributes<'_>) -> Vec<u8> {
        let mut message = Vec::new();
        put(&mut message, kind, 0, 0, head, attributes);
        message
    }

    fn route(bits: u8, kind: u8, attributes: &Attributes<'_>) -> Vec<u8> {
        with(
            libc::RTM_NEWROUTE,
            &[2, bits, 0, 0, 254, 3, 0, kind, 0, 0, 0, 0],
            attributes,
        )
    }

    fn address(device: u32) -> Vec<u8> {
        let head = [&[2, 24, 0, 0][..], &device.to_ne_bytes()].concat();
        let values: [(u16, &[u8]); 2] = [
            (libc::IFA_LOCAL, &[10, 1, 1, 1]),
            (libc::IFA_ADDRESS, &[10, 1, 2, 2]),
        ];
        with(libc::RTM_NEWADDR, &head, &values)
    }

    #[test]
    fn a_dump_names_the_networks_of_other_devices_only() {
        let ten = (libc::RTA_DST, &[10, 0, 0, 0][..]);
        let (own, other) = (5_u32.to_ne_bytes(), 3_u32.to_ne_bytes());
        let [own, other] = [(libc::RTA_OIF, &own[..]), (libc::RTA_OIF, &other[..])];
        let dump = [
            route(8, libc::RTN_UNICAST, &[ten, other]),
            // Its own, a default route and half of one, a route that belongs to an address.
            route(9, libc::RTN_UNICAST, &[ten, own]),
            route(0, libc::RTN_UNICAST, &[other]),
            route(1, libc::RTN_UNICAST, &[(libc::RTA_DST, &[0; 4]), other]),
            route(32, libc::RTN_LOCAL, &[ten, other]),
            // Through several devices.
            route(10, libc::RTN_UNICAST, &[ten]),
            address(3),
            address(5),
            // The end of the dump.
            with(3, &[0; 4], &[]),
        ];
        let dump = dump.concat();
        let found: Vec<Prefix> = messages(&dump)
            .flat_map(|message| networks(&message, 5))
            .collect();
        let expected = ["10.0.0.0/8", "10.0.0.0/10", "10.1.1.1/24", "10.1.2.2/24"];
        assert_eq!(found, expected.map(|text| text.parse().unwrap()));
    }

    proptest! {
        #[test]
        fn a_dump_of_any_octets_is_read(octets in proptest::collection::vec(any::<u8>(), 0..200), kind in 20_u16..25) {
            let message = with(kind, &octets, &[]);
            let _ = messages(&message).flat_map(|message| networks(&message, 1)).count();
        }
    }
}
