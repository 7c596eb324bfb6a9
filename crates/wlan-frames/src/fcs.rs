//! Frame check sequence: the CRC-32 in the last four octets of every MPDU, IEEE 802.11-2020 9.2.4.8.
//!
//! The FCS is the CRC-32 of IEEE 802.3, sent so that it lies in memory least significant octet first.

use crate::FrameError;
use crate::error::need;

/// Length of the FCS in octets.
pub const FCS_LEN: usize = 4;

/// The FCS of an MPDU given without it.
#[must_use]
pub fn fcs(mpdu: &[u8]) -> u32 {
    crc32fast::hash(mpdu)
}

/// Fills the last four octets of `frame` with the FCS of those before them.
///
/// # Panics
/// If `frame` is shorter than four octets.
pub fn fill(frame: &mut [u8]) {
    let (mpdu, tail) = frame.split_at_mut(frame.len() - FCS_LEN);
    tail.copy_from_slice(&fcs(mpdu).to_le_bytes());
}

/// Appends its FCS to an MPDU.
pub fn append(mpdu: &mut Vec<u8>) {
    mpdu.extend_from_slice(&fcs(mpdu).to_le_bytes());
}

/// The MPDU of a frame that ends with its FCS.
///
/// # Errors
/// [`FrameError::Truncated`]; [`FrameError::Field`] if the FCS is wrong.
pub fn check(frame: &[u8]) -> Result<&[u8], FrameError> {
    need("a frame check sequence", frame, FCS_LEN)?;
    let (mpdu, tail) = frame.split_at(frame.len() - FCS_LEN);
    if fcs(mpdu).to_le_bytes() != tail {
        return Err(FrameError::Field("the frame check sequence is wrong"));
    }
    Ok(mpdu)
}
