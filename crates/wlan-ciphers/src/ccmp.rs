//! The cipher header that CCMP and GCMP share, IEEE 802.11-2020 12.5.3.2 and 12.5.5.2.
//!
//! ```text
//!  MPDU     MAC header   CCMP header (8)   ciphertext   MIC (8 or 16)   [FCS, not included]
//!
//!  CCMP header, octet    0    1    2    3                                4    5    6    7
//!                        PN0  PN1  0    bits 6-7 key ID, bit 5 Ext IV    PN2  PN3  PN4  PN5
//! ```

use core::ops::Range;

use wlan_frames::FrameControl;

use crate::aad::{Header, HeaderError, Parser};
use crate::engine::MAX_PAYLOAD_LEN;
use crate::{KeyId, OpenError, Opened, PacketNumber, SealFault, SealJob};

/// Octets of the CCMP or GCMP header.
pub(crate) const HEADER_LEN: usize = 8;

/// The Protected bit, bit 14 of Frame Control, in the second octet (9.2.4.1.9).
pub(crate) const PROTECTED_IN_OCTET_1: u8 = FrameControl::PROTECTED.to_le_bytes()[1];

const EXT_IV: u8 = 0x20;

/// The unverified packet number and key identifier of a received MPDU, for selecting the key.
///
/// # Errors
/// [`OpenError::Short`], [`OpenError::NotProtected`], [`OpenError::BadHeader`].
pub fn peek(mpdu: &[u8]) -> Result<(PacketNumber, KeyId), OpenError> {
    let (_, pn, key_id) = parse(&mut Parser::new(), mpdu)?;
    Ok((pn, key_id))
}

/// Parses the MAC header and the CCMP header after it.
#[inline(always)]
fn parse<'a>(parser: &mut Parser, mpdu: &'a [u8]) -> Result<(Header<'a>, PacketNumber, KeyId), OpenError> {
    let header = parser.parse(mpdu).map_err(|error| match error {
        HeaderError::Short => OpenError::Short,
        HeaderError::NotProtectable => OpenError::BadHeader,
    })?;
    if !header.is_protected() {
        return Err(OpenError::NotProtected);
    }
    let Some(&[pn0, pn1, _, key_octet, pn2, pn3, pn4, pn5]) = mpdu[header.len()..].first_chunk() else {
        return Err(OpenError::Short);
    };
    if key_octet & EXT_IV == 0 {
        return Err(OpenError::BadHeader);
    }
    // Octet 2 and the other bits of the key octet are reserved and therefore ignored on reception (9.2.2).
    let pn = PacketNumber::from_be_octets([pn5, pn4, pn3, pn2, pn1, pn0]);
    Ok((header, pn, KeyId::from_key_id_octet(key_octet)))
}

/// The MAC header of a frame to seal with a MIC of `mic_len` octets, and the range of its payload.
#[inline(always)]
pub(crate) fn to_seal<'j>(
    parser: &mut Parser,
    job: &'j SealJob<'_>,
    mic_len: usize,
) -> Result<(Header<'j>, Range<usize>), SealFault> {
    let header = parser.parse(job.mpdu).map_err(|error| match error {
        HeaderError::Short => SealFault::Short,
        HeaderError::NotProtectable => SealFault::NotProtectable,
    })?;
    let (given, implied) = (job.header_len, header.len());
    if given != implied {
        return Err(SealFault::HeaderLen { given, implied });
    }
    let start = implied + HEADER_LEN;
    match job.mpdu.len().checked_sub(start + mic_len) {
        None => Err(SealFault::Short),
        Some(payload_len) if payload_len > MAX_PAYLOAD_LEN => Err(SealFault::Long),
        Some(payload_len) => Ok((header, start..start + payload_len)),
    }
}

/// Sets the Protected bit and writes the CCMP header. The job must have passed [`to_seal`].
#[inline(always)]
pub(crate) fn emit(job: &mut SealJob<'_>) {
    let pn = job.pn.get();
    let key_octet = u64::from(job.key_id.get() << 6 | EXT_IV);
    let header = (pn & 0xffff | key_octet << 24 | pn >> 16 << 32).to_le_bytes();
    job.mpdu[1] |= PROTECTED_IN_OCTET_1;
    job.mpdu[job.header_len..][..HEADER_LEN].copy_from_slice(&header);
}

/// The MAC header of a frame to open, and its verdict if its MIC of `mic_len` octets turns out to be correct.
#[inline(always)]
pub(crate) fn to_open<'a>(
    parser: &mut Parser,
    mpdu: &'a [u8],
    expected: KeyId,
    mic_len: usize,
) -> Result<(Header<'a>, Opened), OpenError> {
    let (header, pn, found) = parse(parser, mpdu)?;
    let start = header.len() + HEADER_LEN;
    let payload_len = mpdu.len().checked_sub(start + mic_len).ok_or(OpenError::Short)?;
    if payload_len > MAX_PAYLOAD_LEN {
        return Err(OpenError::Long);
    }
    if found != expected {
        return Err(OpenError::KeyMismatch { expected, found });
    }
    let opened = Opened {
        pn,
        key_id: found,
        priority: header.priority(),
        payload: start..start + payload_len,
    };
    Ok((header, opened))
}
