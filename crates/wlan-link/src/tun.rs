//! TUN devices: the end of the emulated link that a host's IP stack sees.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

/// Name of the device in each host's namespace.
pub const DEVICE_NAME: &str = "wlan0";

/// A TUN device without packet information: one IP packet a read or write.
pub struct Tun(File);

impl Tun {
    /// Creates the device in the calling thread's network namespace; it goes when the value is dropped.
    ///
    /// # Errors
    /// `/dev/net/tun` is missing or may not be opened, or the device is refused.
    pub fn create() -> io::Result<Self> {
        let control = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open("/dev/net/tun")
            .map_err(|error| io::Error::new(error.kind(), format!("/dev/net/tun: {error}")))?;
        sys::set_interface(&control, DEVICE_NAME)
            .map_err(|error| io::Error::new(error.kind(), format!("creating a TUN device: {error}")))?;
        Ok(Self(control))
    }

    /// Reads one IP packet into `buffer`; `None` when none is waiting.
    ///
    /// # Errors
    /// Whatever the kernel says but "would block".
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match (&self.0).read(buffer) {
                Ok(len) => return Ok(Some(len)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Hands one IP packet to the host's stack.
    ///
    /// # Errors
    /// The kernel refuses the packet: the device is down, or memory is short.
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        (&self.0).write(packet).map(|_| ())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The one ioctl that makes a TUN device of an open `/dev/net/tun`.
#[allow(unsafe_code)]
mod sys {
    use super::{AsRawFd, File, io, libc};

    nix::ioctl_write_ptr_bad!(
        tun_set_interface,
        nix::request_code_write!(b'T', 202, size_of::<libc::c_int>()),
        libc::ifreq
    );

    /// Asks for device `name` in TUN mode without packet information.
    pub fn set_interface(control: &File, name: &str) -> io::Result<()> {
        // SAFETY: ifreq is a plain C struct for which all zeroes is a valid value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request
            .ifr_name
            .iter_mut()
            .zip(name.bytes().take(libc::IFNAMSIZ - 1))
        {
            *to = from.cast_signed();
        }
        #[allow(clippy::cast_possible_truncation)] // both flags fit in the short that the kernel reads
        let flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        request.ifr_ifru.ifru_flags = flags;
        // SAFETY: the descriptor is open for the whole call and TUNSETIFF reads one ifreq, which `request` is.
        unsafe { tun_set_interface(control.as_raw_fd(), &raw const request) }?;
        Ok(())
    }
}
