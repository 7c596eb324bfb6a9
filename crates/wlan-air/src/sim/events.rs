//! Packets in transit, and the scheduled events.

use super::scenario::LLC_SNAP_LEN_B;
use crate::Nanos;
use crate::tcp::Segment;

/// Index of a packet in transit; the medium carries the index.
pub(super) type PacketId = u32;

/// A packet in transit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub flow: u32,
    /// Whether it travels from the flow's end to its start, as ACKs and responses do.
    pub back: bool,
    pub body: Body,
    pub sent: Nanos,
    pub ip_len_b: u32,
    /// Number of fragments of its datagram, 1 if it is not fragmented, and whether it is the last one.
    pub fragments: u8,
    pub last: bool,
    /// Whether another packet of its flow has arrived with it, in the same PPDU. The processor that opens the frames
    /// of a PPDU is not free for the application before the last one.
    pub more: bool,
}

impl Packet {
    /// A packet of its own, with a whole datagram or a segment.
    pub fn whole(flow: u32, back: bool, body: Body, sent: Nanos, ip_len_b: usize) -> Packet {
        Packet {
            flow,
            back,
            body,
            sent,
            ip_len_b: u32::try_from(ip_len_b).unwrap_or(u32::MAX),
            fragments: 1,
            last: true,
            more: false,
        }
    }

    /// Octets of the MSDU that carries it.
    pub fn msdu_len_b(&self) -> usize {
        self.ip_len_b as usize + LLC_SNAP_LEN_B
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    /// Number of the datagram in its flow.
    Datagram(u64),
    Segment(Segment),
    /// A packet of a video: its number, its video frame, and whether it is the last packet of the frame.
    Picture {
        number: u64,
        frame: u64,
        last: bool,
    },
}

/// A place on the path of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The sending station, before its processor.
    Sender(usize),
    /// The sending station, after its processor.
    Sealed(usize),
    /// The receiving station, after its processor.
    Opened(usize),
    /// The end of the wired segment towards the server (`true`) or the access point.
    Wire { up: bool },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A source sends its next packet.
    Depart(u32),
    /// The CPU of a source of datagrams has written and sent its next packet.
    Send(u32),
    /// The CPU of a TCP sender is free for the application's next write.
    Write(u32),
    /// A program that waited at an end of a flow runs: at the flow's end, or at its start.
    Wake { flow: u32, back: bool },
    /// The timer of a TCP end may have expired, at the sender or the receiver.
    Timer { flow: u32, receiver: bool },
    /// The request with this number was not answered in time.
    RequestTimeout { flow: u32, number: u64 },
    /// A packet arrives at a place.
    Reach(PacketId, Place),
    /// The measured window begins.
    Measure,
}

/// Ordered by time, then by the order of scheduling.
pub(super) struct Scheduled {
    pub at: Nanos,
    pub number: u64,
    pub event: Event,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Scheduled) -> bool {
        self.number == other.number
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Scheduled) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Scheduled) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
