//! Sets the device's addresses and brings it up or down, with rtnetlink(7).
//!
//! ```text
//!  octet 0 length   4 type (2)   6 flags (2)   8 sequence   12 port    then ifaddrmsg or ifinfomsg, and attributes
//!  acknowledgement: type 2, the request's sequence number, at octet 16 an error number, 0 or negative
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

use crate::phases::Prefix;

const HEADER_B: usize = 16;

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

    /// Sets the addresses of the device. Removes previously assigned addresses that are not in `addresses`.
    ///
    /// # Errors
    /// The kernel refuses the change.
    pub fn assign(&mut self, addresses: &[Prefix]) -> io::Result<()> {
        for old in std::mem::take(&mut self.assigned) {
            if !addresses.contains(&old) {
                match self.address(libc::RTM_DELADDR, 0, old) {
                    // Already removed by another process.
                    Err(error) if error.raw_os_error() == Some(libc::EADDRNOTAVAIL) => {}
                    other => other?,
                }
            }
        }
        for &new in addresses {
            self.address(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, new)?;
            self.assigned.push(new);
        }
        Ok(())
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

    /// Sends a request and waits for its acknowledgement. Other messages are skipped, such as the late
    /// acknowledgement of a request that timed out.
    fn ask(&mut self, kind: u16, flags: libc::c_int, body: &[u8]) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let flags = u16::try_from(flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK).expect("16 bits");
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

/// Sequence number and error code of an acknowledgement; `None` for other messages.
#[must_use]
pub fn acknowledgement(message: &[u8]) -> Option<(u32, i32)> {
    let word = |at: usize| message.get(at..at + 4)?.first_chunk().copied();
    let kind = u16::from_ne_bytes(*message.get(4..6)?.first_chunk()?);
    let is_acknowledgement = libc::c_int::from(kind) == libc::NLMSG_ERROR;
    let (sequence, code) = (u32::from_ne_bytes(word(8)?), i32::from_ne_bytes(word(HEADER_B)?));
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
