//! A-MPDU: the delimiter before each MPDU and the padding after it, IEEE 802.11-2020 9.7.1.
//!
//! ```text
//!  bit   0    1         2-15                      16-23  24-31
//!        EOF  reserved  MPDU length, octets       CRC-8  signature 4E
//!                       (low 12 bits from bit 4,
//!                       high 2 bits in bits 2-3)
//! ```
//! HT PPDUs use only the low 12 bits of the length and no EOF.

use crate::FrameError;
use crate::bytes::{get_u16, put};
use crate::error::need;

const SIGNATURE: u8 = 0x4e;

/// An MPDU delimiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delimiter {
    /// EOF (end of frame): set for padding in VHT PPDUs and before the single MPDU of an S-MPDU.
    pub eof: bool,
    /// Length of the following MPDU in octets, FCS included: 0 to 16383, at most 4095 in HT PPDUs.
    pub mpdu_len: u16,
}

impl Delimiter {
    /// Length in octets.
    pub const LEN: usize = 4;
    /// The longest MPDU in octets that a delimiter of a VHT PPDU can announce.
    pub const MAX_MPDU_LEN: u16 = 0x3fff;

    /// Writes the delimiter at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// If `buf` is shorter than [`LEN`](Self::LEN), or `mpdu_len` is over [`MAX_MPDU_LEN`](Self::MAX_MPDU_LEN).
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        assert!(
            self.mpdu_len <= Self::MAX_MPDU_LEN,
            "MPDU length {} does not fit 14 bits",
            self.mpdu_len
        );
        let high = self.mpdu_len >> 12;
        let fields = (u16::from(self.eof) | high << 2 | self.mpdu_len << 4).to_le_bytes();
        put(buf, 0, [fields[0], fields[1], crc8(fields), SIGNATURE]);
        Self::LEN
    }

    /// Reads the delimiter at the start of `bytes`.
    ///
    /// # Errors
    /// [`FrameError::Truncated`]; [`FrameError::Field`] for a wrong signature or CRC.
    pub fn parse(bytes: &[u8]) -> Result<Delimiter, FrameError> {
        need("an MPDU delimiter", bytes, Self::LEN)?;
        if bytes[3] != SIGNATURE {
            return Err(FrameError::Field("the MPDU delimiter signature is not 4E"));
        }
        if bytes[2] != crc8([bytes[0], bytes[1]]) {
            return Err(FrameError::Field("the CRC of the MPDU delimiter is wrong"));
        }
        let fields = get_u16(bytes, 0);
        Ok(Delimiter {
            eof: fields & 1 == 1,
            mpdu_len: fields >> 4 | (fields >> 2 & 0b11) << 12,
        })
    }
}

/// Length in octets of the A-MPDU subframe of an MPDU of `mpdu_len` octets (FCS included): delimiter, MPDU, and
/// padding to a multiple of four. The last subframe of an HT A-MPDU has no padding: see [`unpadded_subframe_len`].
#[must_use]
pub fn subframe_len(mpdu_len: usize) -> usize {
    unpadded_subframe_len(mpdu_len).next_multiple_of(4)
}

/// Length in octets of the last subframe of an HT A-MPDU, which is not padded (9.7.1).
#[must_use]
pub fn unpadded_subframe_len(mpdu_len: usize) -> usize {
    Delimiter::LEN + mpdu_len
}

/// CRC-8 of 9.7.2: x^8 + x^2 + x + 1, preset to all ones, complemented. Bits are processed in transmission order
/// (least significant first), so the polynomial is bit-reversed.
fn crc8(fields: [u8; 2]) -> u8 {
    const MIRRORED_POLYNOMIAL: u8 = 0xe0;
    let mut crc = 0xffu8;
    for octet in fields {
        crc ^= octet;
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ MIRRORED_POLYNOMIAL
            } else {
                crc >> 1
            };
        }
    }
    !crc
}
