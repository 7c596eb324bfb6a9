//! Control frames that accompany data: RTS, CTS, Ack, compressed BlockAck and BlockAckReq, IEEE 802.11-2020 9.3.1.
//!
//! ```text
//!  CTS, Ack     octet 0 frame control   2 duration   4 RA                                          (10)
//!  RTS          octet 0 frame control   2 duration   4 RA   10 TA                                  (16)
//!  BlockAckReq  octet 0 frame control   2 duration   4 RA   10 TA   16 BAR control
//!                     18 starting sequence control                                                 (20)
//!  BlockAck     octet 0 frame control   2 duration   4 RA   10 TA   16 BA control
//!                     18 starting sequence control   20 bitmap (8)                                 (28)
//! ```
//! Lengths exclude the FCS.

use crate::bytes::{array, get_addr, get_u16, put};
use crate::error::need;
use crate::frame_control::{SUBTYPE_ACK, SUBTYPE_BLOCK_ACK, SUBTYPE_BLOCK_ACK_REQ, SUBTYPE_CTS, SUBTYPE_RTS};
use crate::{FrameControl, FrameError, FrameType, MacAddr, SequenceControl};

const DURATION: usize = 2;
const RA: usize = 4;
const TA: usize = 10;
const BA_CONTROL: usize = 16;
const STARTING_SEQUENCE: usize = 18;
const BITMAP: usize = 20;

/// BA Type and BAR Type of the compressed variants (9.3.1.8.1, 9.3.1.7.1).
const TYPE_COMPRESSED: u16 = 2;

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

/// Writes the common start of all control frames.
fn put_head(buf: &mut [u8], subtype: u8, duration_us: u16, ra: MacAddr) {
    put(
        buf,
        0,
        FrameControl::new(FrameType::Control, subtype).0.to_le_bytes(),
    );
    put(buf, DURATION, duration_us.to_le_bytes());
    put(buf, RA, ra.0);
}

/// Writes the Control and Starting Sequence Control fields of a BlockAck or BlockAckReq.
fn put_sequence(buf: &mut [u8], tid: u8, starting_sequence: u16) {
    assert!(tid < 16, "TID {tid} does not fit 4 bits");
    let start = SequenceControl {
        number: starting_sequence,
        fragment: 0,
    };
    let control = TYPE_COMPRESSED << 1 | u16::from(tid) << 12;
    put(buf, BA_CONTROL, control.to_le_bytes());
    put(buf, STARTING_SEQUENCE, start.bits().to_le_bytes());
}

/// Reads the TID and Starting Sequence Control of a BlockAck or BlockAckReq. `other` is the error for other variants.
fn get_sequence(bytes: &[u8], other: &'static str) -> Result<(u8, SequenceControl), FrameError> {
    let control = get_u16(bytes, BA_CONTROL);
    if control >> 1 & 0xf != TYPE_COMPRESSED {
        return Err(FrameError::Field(other));
    }
    let start = SequenceControl::from_bits(get_u16(bytes, STARTING_SEQUENCE));
    Ok((control.to_le_bytes()[1] >> 4, start))
}

/// An RTS frame, IEEE 802.11-2020 9.3.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rts {
    /// How long the frame reserves the medium after its end, in microseconds: CTS, data and acknowledgement.
    pub duration_us: u16,
    /// Receiver of the frame and of the data.
    pub ra: MacAddr,
    /// Transmitter.
    pub ta: MacAddr,
}

impl Rts {
    /// Length in octets, excluding the FCS.
    pub const LEN: usize = 16;

    /// Writes the frame at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// If `buf` is shorter than [`LEN`](Self::LEN).
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        put_head(buf, SUBTYPE_RTS, self.duration_us, self.ra);
        put(buf, TA, self.ta.0);
        Self::LEN
    }

    /// Reads the frame at the start of `bytes`.
    ///
    /// # Errors
    /// [`FrameError::Version`], [`FrameError::Type`], [`FrameError::Subtype`], [`FrameError::Truncated`].
    pub fn parse(bytes: &[u8]) -> Result<Rts, FrameError> {
        expect("an RTS frame", bytes, SUBTYPE_RTS, Self::LEN)?;
        Ok(Rts {
            duration_us: get_u16(bytes, DURATION),
            ra: get_addr(bytes, RA),
            ta: get_addr(bytes, TA),
        })
    }
}

/// A CTS frame, IEEE 802.11-2020 9.3.1.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cts {
    /// How long the frame reserves the medium after its end, in microseconds.
    pub duration_us: u16,
    /// Receiver: the transmitter of the RTS, or of the CTS itself for a CTS-to-self.
    pub ra: MacAddr,
}

impl Cts {
    /// Length in octets, excluding the FCS.
    pub const LEN: usize = 10;

    /// Writes the frame at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// If `buf` is shorter than [`LEN`](Self::LEN).
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        put_head(buf, SUBTYPE_CTS, self.duration_us, self.ra);
        Self::LEN
    }

    /// Reads the frame at the start of `bytes`.
    ///
    /// # Errors
    /// [`FrameError::Version`], [`FrameError::Type`], [`FrameError::Subtype`], [`FrameError::Truncated`].
    pub fn parse(bytes: &[u8]) -> Result<Cts, FrameError> {
        expect("a CTS frame", bytes, SUBTYPE_CTS, Self::LEN)?;
        Ok(Cts {
            duration_us: get_u16(bytes, DURATION),
            ra: get_addr(bytes, RA),
        })
    }
}

/// An Ack frame, IEEE 802.11-2020 9.3.1.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// How long the frame reserves the medium after its end, in microseconds; 0 unless more fragments follow.
    pub duration_us: u16,
    /// Receiver: the transmitter of the acknowledged frame.
    pub ra: MacAddr,
}

impl Ack {
    /// Length in octets, excluding the FCS.
    pub const LEN: usize = 10;

    /// Writes the frame at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// If `buf` is shorter than [`LEN`](Self::LEN).
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        put_head(buf, SUBTYPE_ACK, self.duration_us, self.ra);
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

/// A compressed BlockAck frame with a 64-bit bitmap, IEEE 802.11-2020 9.3.1.8.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockAck {
    /// How long the frame reserves the medium after its end, in microseconds.
    pub duration_us: u16,
    /// Receiver: the originator of the acknowledged frames.
    pub ra: MacAddr,
    /// Transmitter: the recipient of the acknowledged frames.
    pub ta: MacAddr,
    /// The acknowledged traffic identifier, 0 to 15.
    pub tid: u8,
    /// Sequence number of the first MSDU in the bitmap, 0 to 4095.
    pub starting_sequence: u16,
    /// Bit n is set if the MSDU with sequence number `starting_sequence` + n (modulo 4096) was received.
    pub bitmap: u64,
}

impl BlockAck {
    /// Length in octets, excluding the FCS.
    pub const LEN: usize = 28;

    /// Writes the frame at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// If `buf` is shorter than [`LEN`](Self::LEN), or `tid` or `starting_sequence` is out of range.
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        put_head(buf, SUBTYPE_BLOCK_ACK, self.duration_us, self.ra);
        put(buf, TA, self.ta.0);
        put_sequence(buf, self.tid, self.starting_sequence);
        put(buf, BITMAP, self.bitmap.to_le_bytes());
        Self::LEN
    }

    /// Reads the frame at the start of `bytes`.
    ///
    /// # Errors
    /// [`FrameError::Version`], [`FrameError::Type`], [`FrameError::Subtype`], [`FrameError::Truncated`];
    /// [`FrameError::Field`] for other BlockAck variants and bitmap lengths.
    pub fn parse(bytes: &[u8]) -> Result<BlockAck, FrameError> {
        expect("a compressed BlockAck frame", bytes, SUBTYPE_BLOCK_ACK, Self::LEN)?;
        let (tid, start) = get_sequence(bytes, "unsupported BlockAck variant (expected compressed)")?;
        if start.fragment != 0 {
            // The fragment number encodes the length of the bitmap (9.3.1.8.2); 0 means 8 octets.
            return Err(FrameError::Field(
                "unsupported BlockAck bitmap length (expected 8 octets)",
            ));
        }
        Ok(BlockAck {
            duration_us: get_u16(bytes, DURATION),
            ra: get_addr(bytes, RA),
            ta: get_addr(bytes, TA),
            tid,
            starting_sequence: start.number,
            bitmap: u64::from_le_bytes(array(bytes, BITMAP)),
        })
    }
}

/// A compressed BlockAckReq frame, IEEE 802.11-2020 9.3.1.7.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockAckReq {
    /// How long the frame reserves the medium after its end, in microseconds: the BlockAck.
    pub duration_us: u16,
    /// Receiver: the recipient of the data.
    pub ra: MacAddr,
    /// Transmitter: the originator of the data.
    pub ta: MacAddr,
    /// The requested traffic identifier, 0 to 15.
    pub tid: u8,
    /// Sequence number of the first requested MSDU, 0 to 4095.
    pub starting_sequence: u16,
}

impl BlockAckReq {
    /// Length in octets, excluding the FCS.
    pub const LEN: usize = 20;

    /// Writes the frame at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// If `buf` is shorter than [`LEN`](Self::LEN), or `tid` or `starting_sequence` is out of range.
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        put_head(buf, SUBTYPE_BLOCK_ACK_REQ, self.duration_us, self.ra);
        put(buf, TA, self.ta.0);
        put_sequence(buf, self.tid, self.starting_sequence);
        Self::LEN
    }

    /// Reads the frame at the start of `bytes`.
    ///
    /// # Errors
    /// [`FrameError::Version`], [`FrameError::Type`], [`FrameError::Subtype`], [`FrameError::Truncated`];
    /// [`FrameError::Field`] for other BlockAckReq variants and for a request for a fragment.
    pub fn parse(bytes: &[u8]) -> Result<BlockAckReq, FrameError> {
        expect(
            "a compressed BlockAckReq frame",
            bytes,
            SUBTYPE_BLOCK_ACK_REQ,
            Self::LEN,
        )?;
        let (tid, start) = get_sequence(bytes, "unsupported BlockAckReq variant (expected compressed)")?;
        if start.fragment != 0 {
            return Err(FrameError::Field(
                "the fragment number of the BlockAckReq is not 0",
            ));
        }
        Ok(BlockAckReq {
            duration_us: get_u16(bytes, DURATION),
            ra: get_addr(bytes, RA),
            ta: get_addr(bytes, TA),
            tid,
            starting_sequence: start.number,
        })
    }
}
