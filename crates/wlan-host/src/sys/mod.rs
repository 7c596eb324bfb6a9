//! The system calls of the data plane that `nix` does not wrap, or wraps only with allocations.
#![allow(unsafe_code)]
// The size of time in musl changed in its version 1.2.0: `option_values!` checks the one in use.
#![cfg_attr(target_env = "musl", allow(deprecated))]

pub mod datagrams;
pub mod interface;
pub mod ring;

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::libc;

/// The value of a socket option.
///
/// # Safety
/// The type consists of integers without padding, so that its octets may be read and all octet values are valid.
pub unsafe trait OptionValue: Copy {}

// SAFETY: an integer.
unsafe impl OptionValue for libc::c_int {}

/// The start of `struct tcp_info` (`linux/tcp.h`, since Linux 4.1), which the option `TCP_INFO` of a connection has.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcpOctets {
    others: [u64; 15],
    /// Octets that the peer has acknowledged.
    pub acknowledged: u64,
    /// Octets that have arrived in order.
    pub received: u64,
}

/// Implements [`OptionValue`] for C structures of integers whose fields fill the structure.
macro_rules! option_values {
    ($($type:path { $($field:ident: $integer:ty),* })*) => {$(
        // SAFETY: the constant compiles only if these integers are all fields and fill the structure.
        unsafe impl OptionValue for $type {}
        const _: () = {
            let _ = |value: $type| {
                let $type { $($field),* } = value;
                $(let _: $integer = $field;)*
            };
            assert!(size_of::<$type>() == 0 $(+ size_of::<$integer>())*);
        };
    )*};
}
option_values! {
    TcpOctets { others: [u64; 15], acknowledged: u64, received: u64 }
    libc::timeval { tv_sec: libc::time_t, tv_usec: libc::suseconds_t }
    libc::tpacket_req { tp_block_size: u32, tp_block_nr: u32, tp_frame_size: u32, tp_frame_nr: u32 }
    libc::tpacket_stats { tp_packets: u32, tp_drops: u32 }
}

/// Sets a socket option.
///
/// # Errors
/// The kernel does not know the option, or refuses the value.
pub fn set_option<T: OptionValue>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: T,
) -> io::Result<()> {
    let len = libc::socklen_t::try_from(size_of::<T>()).expect("the length of an option fits");
    // SAFETY: the pointer is to `value`, which has `len` initialized octets and lives through the call.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), len) };
    nix::errno::Errno::result(done)?;
    Ok(())
}

/// Sets the policy of the calling thread to `SCHED_BATCH`, unless it has another policy than `SCHED_OTHER`. When the
/// thread wakes, it then does not preempt the thread that is filling its queue.
pub fn work_in_batches() {
    // SAFETY: the call only reads the policy of the calling thread.
    if unsafe { libc::sched_getscheduler(0) } != libc::SCHED_OTHER {
        return;
    }
    // SAFETY: a plain C struct for which all zeroes is a valid value, which this policy requires.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to `parameters`, which lives through the call. A refusal only costs speed.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) };
}

/// Reads a socket option.
///
/// # Errors
/// The kernel does not know the option.
pub fn option<T: OptionValue>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
) -> io::Result<T> {
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    let mut len = libc::socklen_t::try_from(size_of::<T>()).expect("the length of an option fits");
    // SAFETY: the pointers are to `value`, which has `len` octets, and to `len`; both live through the call.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            value.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    nix::errno::Errno::result(done)?;
    // SAFETY: `value` was zeroed, and any octets that the kernel wrote are a valid `OptionValue`.
    Ok(unsafe { value.assume_init() })
}
