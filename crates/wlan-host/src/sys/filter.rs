//! Programs that select the frames of a socket: classic BPF (Documentation/networking/filter.rst).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::libc;

/// An instruction on the accumulator and the register X. Jumps skip a number of instructions.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Instruction(libc::sock_filter);

impl Instruction {
    #[allow(clippy::cast_possible_truncation)] // all codes fit 16 bits
    const fn new(code: u32, value: u32, if_true: u8, if_false: u8) -> Self {
        Self(libc::sock_filter {
            code: code as u16,
            jt: if_true,
            jf: if_false,
            k: value,
        })
    }

    /// Loads the length of the frame in octets.
    #[must_use]
    pub const fn len() -> Self {
        Self::new(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, 0, 0, 0)
    }

    /// Loads the octet at an offset. The program drops a frame that ends before it.
    #[must_use]
    pub const fn octet(at: u32) -> Self {
        Self::new(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, at, 0, 0)
    }

    /// Loads a number.
    #[must_use]
    pub const fn number(value: u32) -> Self {
        Self::new(libc::BPF_LD | libc::BPF_IMM, value, 0, 0)
    }

    /// Copies the accumulator to X.
    #[must_use]
    pub const fn copy_to_x() -> Self {
        Self::new(libc::BPF_MISC | libc::BPF_TAX, 0, 0, 0)
    }

    /// Adds X to the accumulator.
    #[must_use]
    pub const fn add_x() -> Self {
        Self::new(libc::BPF_ALU | libc::BPF_ADD | libc::BPF_X, 0, 0, 0)
    }

    /// Keeps the bits of a mask.
    #[must_use]
    pub const fn and(mask: u32) -> Self {
        Self::new(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, mask, 0, 0)
    }

    /// Keeps the remainder of a division.
    #[must_use]
    pub const fn modulo(divisor: u32) -> Self {
        Self::new(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, divisor, 0, 0)
    }

    /// Skips instructions.
    #[must_use]
    pub const fn jump(skipped: u32) -> Self {
        Self::new(libc::BPF_JMP | libc::BPF_JA, skipped, 0, 0)
    }

    const fn branch(condition: u32, value: u32, if_true: u8, if_false: u8) -> Self {
        Self::new(libc::BPF_JMP | condition | libc::BPF_K, value, if_true, if_false)
    }

    /// Skips instructions, depending on whether the accumulator is at least `value`.
    #[must_use]
    pub const fn jump_if_at_least(value: u32, if_true: u8, if_false: u8) -> Self {
        Self::branch(libc::BPF_JGE, value, if_true, if_false)
    }

    /// Skips instructions, depending on whether the accumulator has any bit of `mask`.
    #[must_use]
    pub const fn jump_if_any(mask: u32, if_true: u8, if_false: u8) -> Self {
        Self::branch(libc::BPF_JSET, mask, if_true, if_false)
    }

    /// Skips instructions, depending on whether the accumulator equals `value`.
    #[must_use]
    pub const fn jump_if_equal(value: u32, if_true: u8, if_false: u8) -> Self {
        Self::branch(libc::BPF_JEQ, value, if_true, if_false)
    }

    /// Accepts the frame.
    #[must_use]
    pub const fn accept() -> Self {
        Self::new(libc::BPF_RET | libc::BPF_K, u32::MAX, 0, 0)
    }

    /// Drops the frame.
    #[must_use]
    pub const fn drop() -> Self {
        Self::new(libc::BPF_RET | libc::BPF_K, 0, 0, 0)
    }
}

/// Attaches a program to a socket. Frames that arrive from now on and that the program drops do not reach the socket.
///
/// # Errors
/// The kernel refuses the program: it is invalid, or memory is short.
pub fn attach(socket: BorrowedFd<'_>, program: &[Instruction]) -> io::Result<()> {
    let len = libc::c_ushort::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog {
        len,
        filter: program.as_ptr().cast_mut().cast(),
    };
    let value_b = libc::socklen_t::try_from(size_of::<libc::sock_fprog>()).expect("some octets");
    // SAFETY: the pointer is to `program`, which has `value_b` octets. Its `filter` points to `len` instructions, whose
    // type has the representation of sock_filter. Both live through the call, and the kernel only reads them.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            value_b,
        )
    };
    nix::errno::Errno::result(done)?;
    Ok(())
}
