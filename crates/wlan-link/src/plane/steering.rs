//! The assignment of packets and frames to workers, which keeps the order of every flow.
//!
//! Each worker has a queue of the device, a socket and a TID:
//!
//! ```text
//!  host ── hash of the flow ──► queue, worker n ── TID n ──► network ──► socket, worker m ──► host
//! ```
//! - Outbound, the kernel assigns each flow of the host to one queue ([`Tun::queues`](wlan_host::tun::Tun::queues)), so
//!   one worker numbers, seals and sends its packets in order.
//! - Inbound over Ethernet, the last octet of the transmitter address and the TID select the worker. All frames of a
//!   flow have both in common.
//! - Inbound over UDP, the kernel selects the socket by the addresses and ports of the datagram (`SO_REUSEPORT`). All
//!   frames of a station therefore have one worker. The TID cannot select the socket: a network card or the kernel
//!   coalesces datagrams of equal addresses, ports and length (`UDP_GRO`) whatever their TID.
//! - An access point forwards a packet to another station on the worker that received it.

use std::io;
use std::os::fd::BorrowedFd;

use wlan_host::sys::filter::{self, Instruction};

use super::wire::{QOS_AT, TIDS, TRANSMITTER_END, TYPE_BITS};

/// The frames of one of several sockets that receive the same frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Number of the socket.
    pub worker: usize,
    /// Number of sockets.
    pub workers: usize,
}

impl Share {
    /// All frames.
    pub const ALL: Self = Self {
        worker: 0,
        workers: 1,
    };

    /// Makes the kernel drop frames for other sockets before it copies them to this one.
    ///
    /// # Errors
    /// The kernel refuses the filter: memory is short.
    pub fn select(self, socket: BorrowedFd<'_>) -> io::Result<()> {
        if self == Self::ALL {
            return Ok(());
        }
        filter::attach(socket, &self.program())
    }

    /// The program that accepts this share. Frames without a TID belong to the first socket.
    #[allow(clippy::cast_possible_truncation)] // offsets in a header, and at most 8 workers
    fn program(self) -> [Instruction; 15] {
        let to_short = if self.worker == 0 { 11 } else { 12 };
        [
            Instruction::len(),
            Instruction::jump_if_at_least(QOS_AT as u32 + 1, 0, to_short),
            // Management frames have no TID.
            Instruction::octet(0),
            Instruction::jump_if_any(TYPE_BITS.into(), 0, 2),
            Instruction::octet(QOS_AT as u32),
            Instruction::jump(1),
            Instruction::number(0),
            Instruction::and(u32::from(TIDS) - 1),
            Instruction::copy_to_x(),
            Instruction::octet(TRANSMITTER_END as u32 - 1),
            Instruction::add_x(),
            Instruction::modulo(self.workers as u32),
            Instruction::jump_if_equal(self.worker as u32, 0, 1),
            Instruction::accept(),
            Instruction::drop(),
        ]
    }
}
