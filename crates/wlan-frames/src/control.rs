//! Control frames that answer data: Ack and compressed BlockAck, IEEE 802.11-2020 9.3.1.
//!
//! ```text
//!  Ack       octet 0 frame control   2 duration   4 RA                                             (10)
//!  BlockAck  octet 0 frame control   2 duration   4 RA   10 TA   16 BA control
//!                  18 starting sequence control   20 bitmap (8)                                    (28)
//! ```
//! Lengths without FCS.

use crate::bytes::{array, get_addr, get_u16, put};
use crate::error::need;
use crate::frame_control::{SUBTYPE_ACK, SUBTYPE_BLOCK_ACK};
use crate::{FrameControl, FrameError, FrameType, MacAddr, SequenceControl};

const DURATION: usize = 2;
const RA: usize = 4;
const TA: usize = 10;
const BA_CONTROL: usize = 16;
const STARTING_SEQUENCE: usize = 18;
const BITMAP: usize = 20;

/// BA Type of the compressed variant (9.3.1.8.1).
const BA_TYPE_COMPRESSED: u16 = 2;

/// Checks version, type, subtype and length of a control frame.
fn expect(what: &'static str, bytes: &[u8], subtype: u8, len: usize) -> Result<(), FrameError> {
    let fc = FrameControl::parse(bytes)?;
    let found = fc.frame_type();
    if found != FrameType::Control {
        return Err(FrameError::Type {
            expected: FrameType::Control,
            found,
        });
    }
    if fc.subtype() != subtype {
        return Err(FrameError::Subtype {
            frame_type: found,
            subtype: fc.subtype(),
        });
    }
    need(what, bytes, len)
}

/// An Ack frame, IEEE 802.11-2020 9.3.1.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// What the frame reserves of the medium after itself, in microseconds; 0 except while fragments follow.
    pub duration_us: u16,
    /// Receiver: the transmitter of the acknowledged frame.
    pub ra: MacAddr,
}

impl Ack {
    /// Length in octets, without FCS.
    pub const LEN: usize = 10;

    /// Writes the frame at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// If `buf` is shorter than [`LEN`](Self::LEN).
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        put(
            buf,
            0,
            FrameControl::new(FrameType::Control, SUBTYPE_ACK).0.to_le_bytes(),
        );
        put(buf, DURATION, self.duration_us.to_le_bytes());
        put(buf, RA, self.ra.0);
        Self::LEN
    }

    /// Reads the frame at the start of `bytes`.
    ///
    /// # Errors
    /// [`FrameError::Version`], [`FrameError::Type`], [`FrameError::Subtype`], [`FrameError::Truncated`].
    pub fn parse(bytes: &[u8]) -> Result<Ack, FrameError> {
        expect("an Ack frame", bytes, SUBTYPE_ACK, Self::LEN)?;
        Ok(Ack {
            duration_us: get_u16(bytes, DURATION),
            ra: get_addr(bytes, RA),
        })
    }
}

/// A compressed BlockAck frame with a bitmap of 64 MSDUs, IEEE 802.11-2020 9.3.1.8.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockAck {
    /// What the frame reserves of the medium after itself, in microseconds.
    pub duration_us: u16,
    /// Receiver: the originator of the acknowledged frames.
    pub ra: MacAddr,
    /// Transmitter: their recipient.
    pub ta: MacAddr,
    /// The traffic identifier that is acknowledged, 0 to 15.
    pub tid: u8,
    /// Sequence number of the first MSDU of the bitmap, 0 to 4095.
    pub starting_sequence: u16,
    /// Bit n is set if the MSDU with sequence number `starting_sequence` + n (modulo 4096) arrived.
    pub bitmap: u64,
}

impl BlockAck {
    /// Length in octets, without FCS.
    pub const LEN: usize = 28;

    /// Writes the frame at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// If `buf` is shorter than [`LEN`](Self::LEN), or `tid` or `starting_sequence` is out of its range.
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        assert!(self.tid < 16, "TID {} does not fit 4 bits", self.tid);
        let start = SequenceControl {
            number: self.starting_sequence,
            fragment: 0,
        };
        let control = BA_TYPE_COMPRESSED << 1 | u16::from(self.tid) << 12;
        put(
            buf,
            0,
            FrameControl::new(FrameType::Control, SUBTYPE_BLOCK_ACK)
                .0
                .to_le_bytes(),
        );
        put(buf, DURATION, self.duration_us.to_le_bytes());
        put(buf, RA, self.ra.0);
        put(buf, TA, self.ta.0);
        put(buf, BA_CONTROL, control.to_le_bytes());
        put(buf, STARTING_SEQUENCE, start.bits().to_le_bytes());
        put(buf, BITMAP, self.bitmap.to_le_bytes());
        Self::LEN
    }

    /// Reads the frame at the start of `bytes`.
    ///
    /// # Errors
    /// [`FrameError::Version`], [`FrameError::Type`], [`FrameError::Subtype`], [`FrameError::Truncated`];
    /// [`FrameError::Field`] for the other variants of BlockAck and other bitmap lengths.
    pub fn parse(bytes: &[u8]) -> Result<BlockAck, FrameError> {
        expect("a compressed BlockAck frame", bytes, SUBTYPE_BLOCK_ACK, Self::LEN)?;
        let control = get_u16(bytes, BA_CONTROL);
        if control >> 1 & 0xf != BA_TYPE_COMPRESSED {
            return Err(FrameError::Field("the BlockAck is not of the compressed variant"));
        }
        let start = SequenceControl::from_bits(get_u16(bytes, STARTING_SEQUENCE));
        if start.fragment != 0 {
            // The fragment number tells the length of the bitmap (9.3.1.8.2); 0 is 8 octets.
            return Err(FrameError::Field("the BlockAck bitmap is not of 8 octets"));
        }
        Ok(BlockAck {
            duration_us: get_u16(bytes, DURATION),
            ra: get_addr(bytes, RA),
            ta: get_addr(bytes, TA),
            tid: control.to_le_bytes()[1] >> 4,
            starting_sequence: start.number,
            bitmap: u64::from_le_bytes(array(bytes, BITMAP)),
        })
    }
}
