//! MPDUs in transit between two hosts, and their buffers.

use arrayvec::ArrayVec;
use wlan_ciphers::{Opened, PacketNumber};
use wlan_frames::{EtherType, LlcSnap, MacAddr};

/// Size of a frame buffer: the largest MSDU (IEEE 802.11-2020 9.2.4.8.1: 2304 octets) with its header and security
/// fields, rounded up.
const BUFFER_B: usize = 2400;

/// An MPDU in transit, in its own buffer: header, security header, LLC/SNAP, packet and MIC, without FCS.
pub struct Frame {
    pub(crate) buffer: Box<[u8]>,
    /// End of the MPDU in the buffer.
    pub(crate) len_b: usize,
    /// Assigned at the first transmission and kept for retransmissions.
    pub(crate) numbers: Option<Numbers>,
    pub(crate) state: State,
    /// The hosts that send and receive the packet. Beyond the access point, they differ from the ends of this hop.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Destination and source of the Ethernet frame; `None` for an IP packet.
    pub(crate) addresses: Option<[MacAddr; 2]>,
    /// The fragments of the frame. If none has been sent, the frame is sent unfragmented.
    pub(crate) fragments: Option<Box<Fragments>>,
}

/// Largest number of fragments of an MSDU: fragment numbers have four bits (9.2.4.4.3).
pub const MAX_FRAGMENTS: usize = 16;

/// Packet numbers of the fragments that have been sent; `None` for each on an open link.
pub type PacketNumbers = ArrayVec<Option<PacketNumber>, MAX_FRAGMENTS>;

/// The fragments of a frame in transit.
pub struct Fragments {
    /// The MPDU of the fragment sent last.
    pub(crate) buffer: Box<[u8]>,
    /// End of the MPDU in the buffer.
    pub(crate) len_b: usize,
    pub(crate) state: State,
    /// Packet numbers of all fragments sent so far.
    pub(crate) pns: PacketNumbers,
}

impl Default for Fragments {
    fn default() -> Self {
        Self {
            buffer: vec![0; BUFFER_B].into_boxed_slice(),
            len_b: 0,
            state: State::Plain,
            pns: PacketNumbers::new(),
        }
    }
}

impl Fragments {
    /// The MPDU without its FCS.
    pub fn mpdu(&self) -> &[u8] {
        &self.buffer[..self.len_b]
    }
}

/// Octets of a frame around its packet; equal on all hops of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Around {
    /// Octets before the packet: MAC header, security header, LLC/SNAP.
    pub packet_at: usize,
    /// Octets after the packet: MIC.
    pub mic_b: usize,
}

impl Around {
    /// Octets of an MPDU around its MSDU, without FCS.
    pub fn msdu_b(self) -> usize {
        self.packet_at - LlcSnap::LEN + self.mic_b
    }
}

/// The numbers that identify an MPDU of a sender.
#[derive(Clone, Copy)]
pub struct Numbers {
    pub sequence: u16,
    /// `None` on an open link.
    pub pn: Option<PacketNumber>,
}

/// Processing state of an MPDU.
#[derive(PartialEq, Eq)]
pub enum State {
    /// Not yet sealed.
    Plain,
    /// Sealed.
    Sealed,
    /// Opened by the receiver, with the result. A retransmission is sealed again, to the same octets.
    Opened(Opened),
    /// Rejected by the receiver: invalid header or MIC.
    Rejected,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            buffer: vec![0; BUFFER_B].into_boxed_slice(),
            len_b: 0,
            numbers: None,
            state: State::Plain,
            from: 0,
            to: 0,
            addresses: None,
            fragments: None,
        }
    }
}

impl Frame {
    /// The IP packet, or the payload of the Ethernet frame, in an unsealed frame.
    pub fn packet(&self, around: Around) -> &[u8] {
        &self.buffer[around.packet_at..self.len_b - around.mic_b]
    }

    /// The type of the packet in an unsealed frame.
    pub fn ethertype(&self, around: Around) -> EtherType {
        let at = around.packet_at - 2;
        EtherType(u16::from_be_bytes([self.buffer[at], self.buffer[at + 1]]))
    }

    /// Resets the frame to unsent.
    pub fn renew(&mut self) {
        self.numbers = None;
        self.state = State::Plain;
        if let Some(fragments) = &mut self.fragments {
            fragments.pns.clear();
        }
    }

    /// Whether the packet is an Ethernet frame to a group address.
    pub fn is_for_many(&self) -> bool {
        self.addresses
            .is_some_and(|[destination, _]| destination.is_group())
    }

    /// The MPDU without its FCS.
    pub fn mpdu(&self) -> &[u8] {
        &self.buffer[..self.len_b]
    }

    /// The MPDU on the air: the frame itself, or its current fragment.
    pub fn mpdu_on_air(&self) -> &[u8] {
        match &self.fragments {
            Some(fragments) if !fragments.pns.is_empty() => fragments.mpdu(),
            _ => self.mpdu(),
        }
    }
}

/// Largest number of preallocated frames, 29 MB: two queues of the usual length at 6.9 Gbit/s.
const PREALLOCATED_MAX: usize = 12_000;

/// Frames to reuse. The frame returned last is reused first, because it is still in the caches.
pub struct Pool(Vec<Frame>);

impl Pool {
    /// Creates a pool with `frames` preallocated frames, or with fewer: a long queue allocates frames as it fills.
    pub fn new(frames: usize) -> Self {
        let preallocated = frames.min(PREALLOCATED_MAX);
        Self((0..preallocated).map(|_| Frame::default()).collect())
    }

    /// Takes a frame with unspecified contents.
    pub fn take(&mut self) -> Frame {
        self.0.pop().unwrap_or_default()
    }

    /// Copies an opened frame, because the sender may have to retransmit the original.
    pub fn copy(&mut self, of: &Frame) -> Frame {
        let mut frame = self.take();
        frame.buffer[..of.len_b].copy_from_slice(of.mpdu());
        frame.len_b = of.len_b;
        frame.numbers = of.numbers;
        frame.state = State::Plain;
        (frame.from, frame.to, frame.addresses) = (of.from, of.to, of.addresses);
        frame
    }

    /// Returns a frame to the pool.
    pub fn give(&mut self, frame: Frame) {
        self.0.push(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_queue_allocates_its_frames_as_it_fills() {
        let mut pool = Pool::new(1 << 32);
        assert!(pool.0.len() < 1 << 16);
        while !pool.0.is_empty() {
            pool.take();
        }
        assert_eq!(pool.take().len_b, 0);
    }
}
