//! The CPU of a host: the time that it takes to send, and the time until a program runs that waited.

use crate::Nanos;
use crate::traffic::WakeUp;

/// Times of a host's CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cpu {
    /// Time of a call by which a program writes: a datagram, or octets of a stream.
    pub write: Nanos,
    /// Time in which the stack builds a packet and passes it to the device. With segmentation offload, a super-packet
    /// is one packet.
    pub packet: Nanos,
    /// Time until a program runs that waited for a timer, for packets, or for space in a send buffer.
    pub wake_up: WakeUp,
}

impl Cpu {
    /// A host that takes no time, like the hosts of lab air in virtual time, whose system calls take 20 ns.
    pub const NONE: Cpu = Cpu {
        write: Nanos::ZERO,
        packet: Nanos::ZERO,
        wake_up: WakeUp::Instant,
    };

    /// Time to write a datagram and to send its packet.
    #[must_use]
    pub fn datagram(self) -> Nanos {
        self.write + self.packet
    }
}
