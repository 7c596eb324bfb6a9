//! Packets on their way, and what is planned for them.

use crate::Nanos;
use crate::tcp::Segment;

/// Index of a packet under way: what the medium carries.
pub(super) type PacketId = u32;

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub flow: u32,
    /// From the flow's end to its start: ACKs and responses.
    pub back: bool,
    pub body: Body,
    pub sent: Nanos,
    pub ip_len_b: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    /// The n-th datagram of its flow.
    Datagram(u64),
    Segment(Segment),
    /// The n-th packet of a video, of this frame; whether it is the frame's last.
    Picture {
        number: u64,
        frame: u64,
        last: bool,
    },
}

/// A place on the way of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A station that is to send it, before its processor.
    Sender(usize),
    /// After it.
    Sealed(usize),
    /// A station that received it, after its processor.
    Opened(usize),
    /// The end of the wired segment towards the server (`true`) or the access point.
    Wire { up: bool },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A source sends its next packet.
    Depart(u32),
    /// A TCP end's timer may have run out: the sender's or the receiver's.
    Timer { flow: u32, receiver: bool },
    /// The n-th request was not answered.
    RequestTimeout { flow: u32, number: u64 },
    /// A packet reaches a place.
    Reach(PacketId, Place),
    /// The measured window begins.
    Measure,
}

/// Ordered by time, then by the order of planning.
pub(super) struct Planned {
    pub at: Nanos,
    pub number: u64,
    pub what: What,
}

impl PartialEq for Planned {
    fn eq(&self, other: &Planned) -> bool {
        self.number == other.number
    }
}

impl Eq for Planned {}

impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Planned) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Planned {
    fn cmp(&self, other: &Planned) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
