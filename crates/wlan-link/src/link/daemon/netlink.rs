//! The device's addresses and whether it is up, by rtnetlink(7).
//!
//! ```text
//!  octet 0 length   4 type (2)   6 flags (2)   8 sequence   12 port    then ifaddrmsg or ifinfomsg, and attributes
//!  answer: type 2, at octet 16 an error number, 0 or negative
//! ```
//! Numbers in the host's order.

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

use crate::link::phases::Prefix;

const HEADER_B: usize = 16;

/// A device of this host.
pub struct Device {
    index: u32,
    netlink: OwnedFd,
    assigned: Vec<Prefix>,
}

impl Device {
    /// The device of this name, in the calling thread's network namespace.
    ///
    /// # Errors
    /// There is none, or no netlink.
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
            assigned: Vec::new(),
        })
    }

    /// Gives it these addresses, and takes those that it was given before and that are none of them.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn assign(&mut self, addresses: &[Prefix]) -> io::Result<()> {
        for old in std::mem::take(&mut self.assigned) {
            if !addresses.contains(&old) {
                match self.address(libc::RTM_DELADDR, 0, old) {
                    // Somebody took it before.
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

    /// Brings it up, or down.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_up(&self, up: bool) -> io::Result<()> {
        let flag = u32::try_from(libc::IFF_UP).expect("one bit");
        let mut body = vec![0; 4];
        body.extend(self.index.to_ne_bytes());
        body.extend(if up { flag } else { 0 }.to_ne_bytes());
        body.extend(flag.to_ne_bytes());
        self.ask(libc::RTM_NEWLINK, 0, &body)
    }

    fn address(&self, kind: u16, flags: libc::c_int, prefix: Prefix) -> io::Result<()> {
        let (family, octets) = match prefix.address {
            IpAddr::V4(address) => (libc::AF_INET, address.octets().to_vec()),
            IpAddr::V6(address) => (libc::AF_INET6, address.octets().to_vec()),
        };
        let family = u8::try_from(family).expect("2 or 10");
        // Nobody on this link can have the same: the access point hands them out.
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

    /// Sends a request, and waits for its acknowledgement.
    fn ask(&self, kind: u16, flags: libc::c_int, body: &[u8]) -> io::Result<()> {
        let flags = u16::try_from(flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK).expect("16 bits");
        let len = u32::try_from(HEADER_B + body.len()).expect("a request is short");
        let mut message = Vec::with_capacity(HEADER_B + body.len());
        message.extend(len.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend([0; 8]);
        message.extend(body);
        let to = NetlinkAddr::new(0, 0);
        sendto(self.netlink.as_raw_fd(), &message, &to, MsgFlags::empty())?;
        let mut answer = [0; 4096];
        let len = recv(self.netlink.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        let code = answer[..len]
            .get(HEADER_B..HEADER_B + 4)
            .and_then(|code| code.first_chunk());
        match code.map(|&code| i32::from_ne_bytes(code)) {
            Some(0) => Ok(()),
            Some(code) => Err(io::Error::from_raw_os_error(-code)),
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}
