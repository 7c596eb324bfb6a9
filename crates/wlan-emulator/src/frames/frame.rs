//! MPDUs on their way between two hosts, and the buffers that they live in.

use arrayvec::ArrayVec;
use wlan_ciphers::{Opened, PacketNumber};
use wlan_frames::{EtherType, LlcSnap, MacAddr};

/// Octets of a frame buffer: the largest MSDU (IEEE 802.11-2020 9.2.4.8.1: 2304) with its header and security
/// fields, rounded up.
const BUFFER_B: usize = 2400;

/// An MPDU on its way: header, security header, LLC/SNAP, packet and MIC in a buffer of its own, no FCS.
pub struct Frame {
    pub(crate) buffer: Box<[u8]>,
    /// End of the MPDU in the buffer.
    pub(crate) len_b: usize,
    /// Given at the first transmission, kept for every later one.
    pub(crate) numbers: Option<Numbers>,
    pub(crate) state: State,
    /// The hosts that its packet comes from and goes to; behind the access point others than those of this hop.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Destination and source of the Ethernet frame that it was; none of an IP packet.
    pub(crate) addresses: Option<[MacAddr; 2]>,
    /// Its fragments; without any that was sent, it goes as a whole.
    pub(crate) fragments: Option<Box<Fragments>>,
}

/// Numbers of an MSDU's fragments have four bits (9.2.4.4.3).
pub const MAX_FRAGMENTS: usize = 16;

/// The packet numbers of the fragments of an MSDU that were sent, none on an open link.
pub type PacketNumbers = ArrayVec<Option<PacketNumber>, MAX_FRAGMENTS>;

/// A frame on its way in fragments.
pub struct Fragments {
    /// The MPDU of the one that was sent last.
    pub(crate) buffer: Box<[u8]>,
    /// Its end in the buffer.
    pub(crate) len_b: usize,
    pub(crate) state: State,
    /// Of all that were sent.
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

/// Octets of a frame around its packet; the same on every hop of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Around {
    /// Before it: MAC header, security header, LLC/SNAP.
    pub packet_at: usize,
    /// Behind it.
    pub mic_b: usize,
}

impl Around {
    /// Octets of an MPDU, without FCS, around its MSDU.
    pub fn msdu_b(self) -> usize {
        self.packet_at - LlcSnap::LEN + self.mic_b
    }
}

/// What tells an MPDU from every other of its sender.
#[derive(Clone, Copy)]
pub struct Numbers {
    pub sequence: u16,
    /// None on an open link.
    pub pn: Option<PacketNumber>,
}

/// How far an MPDU is.
#[derive(PartialEq, Eq)]
pub enum State {
    /// To be sealed.
    Plain,
    /// Sealed.
    Sealed,
    /// Opened by the receiver, with what it found. If it is sent again, it is sealed again, to the same octets.
    Opened(Opened),
    /// Its header or MIC was wrong at the receiver.
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
    /// The IP packet, or the payload of an Ethernet frame, in a frame that is not sealed.
    pub fn packet(&self, around: Around) -> &[u8] {
        &self.buffer[around.packet_at..self.len_b - around.mic_b]
    }

    /// What its packet is, in a frame that is not sealed.
    pub fn ethertype(&self, around: Around) -> EtherType {
        let at = around.packet_at - 2;
        EtherType(u16::from_be_bytes([self.buffer[at], self.buffer[at + 1]]))
    }

    /// Makes it a frame that no one has sent yet.
    pub fn renew(&mut self) {
        self.numbers = None;
        self.state = State::Plain;
        if let Some(fragments) = &mut self.fragments {
            fragments.pns.clear();
        }
    }

    /// Whether it was an Ethernet frame to a group address.
    pub fn is_for_many(&self) -> bool {
        self.addresses
            .is_some_and(|[destination, _]| destination.is_group())
    }

    /// The MPDU without its FCS.
    pub fn mpdu(&self) -> &[u8] {
        &self.buffer[..self.len_b]
    }

    /// The MPDU that is sent of it: itself, or a fragment.
    pub fn mpdu_on_air(&self) -> &[u8] {
        match &self.fragments {
            Some(fragments) if !fragments.pns.is_empty() => fragments.mpdu(),
            _ => self.mpdu(),
        }
    }
}

/// Frames to use again. The one given back last is the first to go out, since the caches still hold it.
pub struct Pool(Vec<Frame>);

impl Pool {
    /// A pool that has `frames` before it must allocate.
    pub fn new(frames: usize) -> Self {
        Self((0..frames).map(|_| Frame::default()).collect())
    }

    /// A frame whose content is whatever it was.
    pub fn take(&mut self) -> Frame {
        self.0.pop().unwrap_or_default()
    }

    /// A copy of an opened frame: the sender may have to send its own again.
    pub fn copy(&mut self, of: &Frame) -> Frame {
        let mut frame = self.take();
        frame.buffer[..of.len_b].copy_from_slice(of.mpdu());
        frame.len_b = of.len_b;
        frame.numbers = of.numbers;
        frame.state = State::Plain;
        (frame.from, frame.to, frame.addresses) = (of.from, of.to, of.addresses);
        frame
    }

    /// Takes a frame back.
    pub fn give(&mut self, frame: Frame) {
        self.0.push(frame);
    }
}
