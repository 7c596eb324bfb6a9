//! The system calls of the data plane that `nix` has no wrappers for, or none that allocate nothing.
#![allow(unsafe_code)]

pub mod datagrams;
pub mod interface;
pub mod ring;

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::libc;

/// Sets a socket option.
///
/// # Errors
/// The kernel does not know it, or refuses the value.
pub fn set_option<T: Copy>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: T,
) -> io::Result<()> {
    let len = libc::socklen_t::try_from(size_of::<T>()).expect("options have some octets");
    // SAFETY: the pointer is to `value`, which has `len` octets and lives through the call.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), len) };
    nix::errno::Errno::result(done)?;
    Ok(())
}
