//! The header of CCMP and GCMP, which is the same: IEEE 802.11-2020 12.5.3.2 and 12.5.5.2.
//!
//! ```text
//!  MPDU     MAC header   CCMP header (8)   ciphertext   MIC (8 or 16)   [FCS, not ours]
//!
//!  CCMP header, octet    0    1    2    3                                4    5    6    7
//!                        PN0  PN1  0    bits 6-7 key ID, bit 5 Ext IV    PN2  PN3  PN4  PN5
//! ```

use wlan_frames::FrameControl;

use crate::aad::{Header, HeaderError};
use crate::{KeyId, OpenError, PacketNumber, Suite, TemporalKey};

/// Octets of the CCMP or GCMP header.
pub(crate) const HEADER_LEN: usize = 8;

/// The Protected bit, 14 of Frame Control, as it lies in the second octet (9.2.4.1.9).
pub(crate) const PROTECTED_IN_OCTET_1: u8 = FrameControl::PROTECTED.to_le_bytes()[1];

const EXT_IV: u8 = 0x20;

/// Packet number and key identifier that a received MPDU claims, before anything is verified: for choosing the key.
///
/// # Errors
/// [`OpenError::Short`], [`OpenError::NotProtected`], [`OpenError::BadHeader`].
pub fn peek(mpdu: &[u8]) -> Result<(PacketNumber, KeyId), OpenError> {
    let (_, pn, key_id) = parse(mpdu)?;
    Ok((pn, key_id))
}

/// The MAC header, and what the CCMP header after it says.
#[inline(always)]
pub(crate) fn parse(mpdu: &[u8]) -> Result<(Header<'_>, PacketNumber, KeyId), OpenError> {
    let header = Header::parse(mpdu).map_err(|error| match error {
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
    // Octet 2 and the other bits of the key octet are reserved, thus ignored on reception (9.2.2).
    let pn = PacketNumber::from_be_octets([pn5, pn4, pn3, pn2, pn1, pn0]);
    Ok((header, pn, KeyId::from_key_id_octet(key_octet)))
}

/// The CCMP header of a frame.
#[inline]
pub(crate) fn emit(pn: PacketNumber, key_id: KeyId) -> [u8; HEADER_LEN] {
    let pn = pn.get();
    let key_octet = u64::from(key_id.get() << 6 | EXT_IV);
    (pn & 0xffff | key_octet << 24 | pn >> 16 << 32).to_le_bytes()
}

/// A [`TemporalKey`] of CCMP-128.
#[derive(Debug, Clone)]
pub struct Ccmp(TemporalKey);

impl Ccmp {
    /// Expands a temporal key.
    #[must_use]
    pub fn new(tk: &[u8; 16]) -> Ccmp {
        Ccmp(TemporalKey::new(Suite::Ccmp128, tk).expect("the length is the suite's"))
    }
}

impl std::ops::Deref for Ccmp {
    type Target = TemporalKey;

    fn deref(&self) -> &TemporalKey {
        &self.0
    }
}
