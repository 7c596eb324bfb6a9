//! MPDUs on their way between two hosts, and the buffers that they live in.

use wlan_ciphers::{Opened, PacketNumber};

/// Octets of a frame buffer: the largest MSDU (IEEE 802.11-2020 9.2.4.8.1: 2304) with its header and security
/// fields, rounded up.
const BUFFER_B: usize = 2400;

/// An MPDU on its way: header, security header, LLC/SNAP, IP packet and MIC in a buffer of its own, no FCS.
pub struct Frame {
    pub(crate) buffer: Box<[u8]>,
    /// End of the MPDU in the buffer.
    pub(crate) len_b: usize,
    /// Given at the first transmission, kept for every later one.
    pub(crate) numbers: Option<Numbers>,
    pub(crate) state: State,
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
        }
    }
}

impl Frame {
    /// The MPDU without its FCS.
    pub fn mpdu(&self) -> &[u8] {
        &self.buffer[..self.len_b]
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

    /// Takes a frame back.
    pub fn give(&mut self, frame: Frame) {
        self.0.push(frame);
    }
}
