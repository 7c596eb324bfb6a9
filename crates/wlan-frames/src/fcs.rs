//! Frame check sequence: the CRC-32 in the last four octets of every MPDU, IEEE 802.11-2020 9.2.4.8.
//!
//! The FCS is the CRC-32 of IEEE 802.3. In memory, its least significant octet comes first.

use alloc::vec::Vec;

use crate::FrameError;
use crate::error::need;

/// Length of the FCS in octets.
pub const FCS_LEN: usize = 4;

/// Computes the FCS of an MPDU.
#[must_use]
#[inline]
pub fn fcs(mpdu: &[u8]) -> u32 {
    crc32fast::hash(mpdu)
}

/// Fills the last four octets of `frame` with the FCS of the preceding octets.
///
/// # Panics
/// If `frame` is shorter than four octets.
#[inline]
pub fn fill(frame: &mut [u8]) {
    let (mpdu, tail) = frame.split_at_mut(frame.len() - FCS_LEN);
    tail.copy_from_slice(&fcs(mpdu).to_le_bytes());
}

/// Appends the FCS of an MPDU to it.
pub fn append(mpdu: &mut Vec<u8>) {
    mpdu.extend_from_slice(&fcs(mpdu).to_le_bytes());
}

/// Checks the FCS at the end of a frame and returns the MPDU without it.
///
/// # Errors
/// [`FrameError::Truncated`]; [`FrameError::Field`] if the FCS is wrong.
#[inline]
pub fn check(frame: &[u8]) -> Result<&[u8], FrameError> {
    need("a frame check sequence", frame, FCS_LEN)?;
    let (mpdu, tail) = frame.split_at(frame.len() - FCS_LEN);
    if fcs(mpdu).to_le_bytes() != tail {
        return Err(FrameError::Field("the frame check sequence is wrong"));
    }
    Ok(mpdu)
}
