//! Reads and changes the properties of network interfaces by name (netdevice(7)).

use std::ffi::c_char;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use wlan_frames::MacAddr;

/// A handle for requests about one interface in the calling thread's network namespace.
pub struct Interface {
    socket: OwnedFd,
    name: [libc::c_char; libc::IFNAMSIZ],
}

impl Interface {
    /// Creates a handle for the interface `name`.
    ///
    /// # Errors
    /// The name is empty, longer than 15 octets or contains NUL, or no socket can be created.
    pub fn named(name: &str) -> io::Result<Self> {
        let mut octets = [0; libc::IFNAMSIZ];
        if name.is_empty() || name.len() >= octets.len() || name.contains('\0') {
            let wrong = format!("\"{name}\" is not an interface name (expected 1 to 15 octets)");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, wrong));
        }
        for (to, from) in octets.iter_mut().zip(name.bytes()) {
            *to = c_char::from_ne_bytes([from]);
        }
        Ok(Self {
            socket: socket(
                AddressFamily::Unix,
                SockType::Datagram,
                SockFlag::SOCK_CLOEXEC,
                None,
            )?,
            name: octets,
        })
    }

    fn ask(&self, request: libc::c_ulong, set: impl FnOnce(&mut libc::ifreq)) -> io::Result<libc::ifreq> {
        // SAFETY: ifreq is a plain C struct for which all zeroes is a valid value.
        let mut asked: libc::ifreq = unsafe { std::mem::zeroed() };
        asked.ifr_name = self.name;
        set(&mut asked);
        // SAFETY: the descriptor is open, and all requests used here read and write one ifreq, which is `asked`.
        let done = unsafe { libc::ioctl(self.socket.as_fd().as_raw_fd(), request as _, &raw mut asked) };
        nix::errno::Errno::result(done)?;
        Ok(asked)
    }

    /// The index of the interface.
    ///
    /// # Errors
    /// The interface does not exist.
    pub fn index(&self) -> io::Result<i32> {
        let answer = self.ask(libc::SIOCGIFINDEX, |_| ())?;
        // SAFETY: this request fills the index, and all octet values are valid.
        Ok(unsafe { answer.ifr_ifru.ifru_ifindex })
    }

    /// The MTU of the interface in octets.
    ///
    /// # Errors
    /// The interface does not exist.
    pub fn mtu_b(&self) -> io::Result<usize> {
        let answer = self.ask(libc::SIOCGIFMTU, |_| ())?;
        // SAFETY: this request fills the MTU, and all octet values are valid.
        Ok(usize::try_from(unsafe { answer.ifr_ifru.ifru_mtu }).unwrap_or(0))
    }

    /// The MAC address of the interface.
    ///
    /// # Errors
    /// The interface does not exist or is not an Ethernet interface.
    pub fn address(&self) -> io::Result<MacAddr> {
        let answer = self.ask(libc::SIOCGIFHWADDR, |_| ())?;
        // SAFETY: this request fills the address, and all octet values are valid.
        let address = unsafe { answer.ifr_ifru.ifru_hwaddr };
        if address.sa_family != libc::ARPHRD_ETHER {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the interface is not an Ethernet interface",
            ));
        }
        let mut octets = [0; 6];
        for (to, from) in octets.iter_mut().zip(address.sa_data) {
            [*to] = from.to_ne_bytes();
        }
        Ok(MacAddr(octets))
    }

    /// Sets the MAC address.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_address(&self, address: MacAddr) -> io::Result<()> {
        let mut data = [0; 14];
        for (to, from) in data.iter_mut().zip(address.0) {
            *to = c_char::from_ne_bytes([from]);
        }
        self.ask(libc::SIOCSIFHWADDR, |asked| {
            asked.ifr_ifru.ifru_hwaddr = libc::sockaddr {
                sa_family: libc::ARPHRD_ETHER,
                sa_data: data,
            };
        })
        .map(drop)
    }

    /// Sets the MTU in octets.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_mtu_b(&self, mtu_b: usize) -> io::Result<()> {
        let mtu = libc::c_int::try_from(mtu_b).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.ask(libc::SIOCSIFMTU, |asked| asked.ifr_ifru.ifru_mtu = mtu)
            .map(drop)
    }

    /// Brings the interface up.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_up(&self) -> io::Result<()> {
        let answer = self.ask(libc::SIOCGIFFLAGS, |_| ())?;
        // SAFETY: this request fills the flags, and all octet values are valid.
        let flags = unsafe { answer.ifr_ifru.ifru_flags };
        #[allow(clippy::cast_possible_truncation)] // the flag is 1
        let up = libc::IFF_UP as libc::c_short;
        self.ask(libc::SIOCSIFFLAGS, |asked| asked.ifr_ifru.ifru_flags = flags | up)
            .map(drop)
    }
}
