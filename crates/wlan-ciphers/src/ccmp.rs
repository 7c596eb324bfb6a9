//! The cipher header that CCMP and GCMP share, IEEE 802.11-2020 12.5.3.2 and 12.5.5.2.
//!
//! ```text
//!  MPDU     MAC header   CCMP header (8)   ciphertext   MIC (8 or 16)   [FCS, not included]
//!
//!  CCMP header, octet    0    1    2    3                                4    5    6    7
//!                        PN0  PN1  0    bits 6-7 key ID, bit 5 Ext IV    PN2  PN3  PN4  PN5
//! ```

use core::ops::Range;

use crate::aad::{Header, HeaderError};
use crate::engine::MAX_PAYLOAD_LEN;
pub(crate) use crate::engine::{CIPHER_HEADER_LEN as HEADER_LEN, PROTECTED_IN_OCTET_1};
use crate::{KeyId, OpenError, Opened, PacketNumber, SealFault, SealJob};

const EXT_IV: u8 = 0x20;

/// The unverified packet number and key identifier of a received MPDU, for selecting the key.
///
/// # Errors
/// [`OpenError::Short`], [`OpenError::NotProtected`], [`OpenError::BadHeader`].
pub fn peek(mpdu: &[u8]) -> Result<(PacketNumber, KeyId), OpenError> {
    parse(&header_to_open(mpdu)?, mpdu)
}

/// The MAC header of a frame to open.
#[inline(always)]
pub(crate) fn header_to_open(mpdu: &[u8]) -> Result<Header<'_>, OpenError> {
    let header = Header::parse(mpdu).map_err(|error| match error {
        HeaderError::Short => OpenError::Short,
        HeaderError::NotProtectable => OpenError::BadHeader,
    })?;
    if header.is_protected() {
        Ok(header)
    } else {
        Err(OpenError::NotProtected)
    }
}

/// Parses the CCMP header after a MAC header.
#[inline(always)]
fn parse(header: &Header<'_>, mpdu: &[u8]) -> Result<(PacketNumber, KeyId), OpenError> {
    let Some(&[pn0, pn1, _, key_octet, pn2, pn3, pn4, pn5]) = mpdu[header.len()..].first_chunk() else {
        return Err(OpenError::Short);
    };
    if key_octet & EXT_IV == 0 {
        return Err(OpenError::BadHeader);
    }
    // Octet 2 and the other bits of the key octet are reserved and therefore ignored on reception (9.2.2).
    let pn = PacketNumber::from_be_octets([pn5, pn4, pn3, pn2, pn1, pn0]);
    Ok((pn, KeyId::from_key_id_octet(key_octet)))
}

/// The MAC header of a frame to seal.
#[inline(always)]
pub(crate) fn header_to_seal(mpdu: &[u8]) -> Result<Header<'_>, SealFault> {
    Header::parse(mpdu).map_err(|error| match error {
        HeaderError::Short => SealFault::Short,
        HeaderError::NotProtectable => SealFault::NotProtectable,
    })
}

/// The range of the payload of a frame to seal with a MIC of `mic_len` octets.
#[inline(always)]
pub(crate) fn payload_to_seal(
    header: &Header<'_>,
    job: &SealJob<'_>,
    mic_len: usize,
) -> Result<Range<usize>, SealFault> {
    let (given, implied) = (job.header_len, header.len());
    if given != implied {
        return Err(SealFault::HeaderLen { given, implied });
    }
    let start = implied + HEADER_LEN;
    match job.mpdu.len().checked_sub(start + mic_len) {
        None => Err(SealFault::Short),
        Some(payload_len) if payload_len > MAX_PAYLOAD_LEN => Err(SealFault::Long),
        Some(payload_len) => Ok(start..start + payload_len),
    }
}

/// The MAC header of a frame to seal with a MIC of `mic_len` octets, and the range of its payload.
#[inline(always)]
pub(crate) fn to_seal<'j>(
    job: &'j SealJob<'_>,
    mic_len: usize,
) -> Result<(Header<'j>, Range<usize>), SealFault> {
    let header = header_to_seal(job.mpdu)?;
    let payload = payload_to_seal(&header, job, mic_len)?;
    Ok((header, payload))
}

/// The CCMP header.
#[inline(always)]
pub(crate) fn header(pn: PacketNumber, key_id: KeyId) -> [u8; HEADER_LEN] {
    let pn = pn.get();
    let key_octet = u64::from(key_id.get() << 6 | EXT_IV);
    (pn & 0xffff | key_octet << 24 | pn >> 16 << 32).to_le_bytes()
}

/// The verdict of a frame to open if its MIC of `mic_len` octets turns out to be correct.
#[inline(always)]
pub(crate) fn to_open(
    header: &Header<'_>,
    mpdu: &[u8],
    expected: KeyId,
    mic_len: usize,
) -> Result<Opened, OpenError> {
    let (pn, found) = parse(header, mpdu)?;
    let start = header.len() + HEADER_LEN;
    let payload_len = mpdu.len().checked_sub(start + mic_len).ok_or(OpenError::Short)?;
    if payload_len > MAX_PAYLOAD_LEN {
        return Err(OpenError::Long);
    }
    if found != expected {
        return Err(OpenError::KeyMismatch { expected, found });
    }
    Ok(Opened {
        pn,
        key_id: found,
        priority: header.priority(),
        payload: start..start + payload_len,
    })
}
