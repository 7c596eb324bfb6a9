//! CCMP-128: CTR with CBC-MAC over AES-128, IEEE 802.11-2020 12.5.3.
//!
//! ```text
//!  MPDU     MAC header   CCMP header (8)   ciphertext   MIC (8)   [FCS, not ours]
//!
//!  CCMP header, octet    0    1    2    3                                4    5    6    7
//!                        PN0  PN1  0    bits 6-7 key ID, bit 5 Ext IV    PN2  PN3  PN4  PN5
//! ```

use std::fmt;

use aes::Aes128;
use ccm::aead::inout::InOutBuf;
use ccm::consts::{U8, U13};
use ccm::{AeadInOut, KeyInit, Tag};
use wlan_frames::FrameControl;

use crate::aad::{Header, HeaderError};
use crate::{KeyId, OpenError, OpenJob, Opened, PacketNumber, SealError, SealFault, SealJob, Suite};

/// CCM with M = 8 and L = 2 (12.5.3.1).
pub(crate) type Ccm = ccm::Ccm<Aes128, U8, U13>;

const HEADER_LEN: usize = Suite::Ccmp128.header_len();
const MIC_LEN: usize = Suite::Ccmp128.mic_len();
/// The length field of CCM has L = 2 octets (RFC 3610 section 2).
const MAX_PAYLOAD_LEN: usize = 0xffff;

/// The Protected bit, 14 of Frame Control, as it lies in the second octet (9.2.4.1.9).
const PROTECTED_IN_OCTET_1: u8 = FrameControl::PROTECTED.to_le_bytes()[1];

const KEY_ID_OCTET: usize = 3;
const EXT_IV: u8 = 0x20;

/// One temporal key. It is wiped when dropped and never printed.
#[derive(Clone)]
pub struct Ccmp {
    ccm: Ccm,
}

impl fmt::Debug for Ccmp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ccmp").finish_non_exhaustive()
    }
}

impl Ccmp {
    /// Expands a temporal key.
    #[must_use]
    pub fn new(tk: &[u8; 16]) -> Ccmp {
        Ccmp {
            ccm: Ccm::new(tk.into()),
        }
    }

    /// Seals every MPDU of the batch in place: sets its Protected bit, writes the CCMP header, enciphers the
    /// plaintext and writes the MIC.
    ///
    /// # Errors
    /// [`SealError`] for the first job that is malformed; then no job was changed.
    pub fn seal(&self, batch: &mut [SealJob<'_>]) -> Result<(), SealError> {
        for (job, seal) in batch.iter().enumerate() {
            check(seal).map_err(|fault| SealError { job, fault })?;
        }
        for seal in batch {
            self.seal_one(seal);
        }
        Ok(())
    }

    /// Opens every MPDU of the batch in place and leaves each its verdict.
    pub fn open(&self, batch: &mut [OpenJob<'_>]) {
        for job in batch {
            let verdict = self.open_one(job.mpdu, job.key_id);
            job.set_verdict(verdict);
        }
    }

    fn seal_one(&self, job: &mut SealJob<'_>) {
        let (header, body) = job.mpdu.split_at_mut(job.header_len);
        header[1] |= PROTECTED_IN_OCTET_1;
        let Ok(header) = Header::parse(header) else {
            unreachable!("checked before the batch was touched")
        };
        let (ccmp_header, rest) = body.split_at_mut(HEADER_LEN);
        let (payload, mic) = rest.split_at_mut(rest.len() - MIC_LEN);
        ccmp_header.copy_from_slice(&emit_header(job.pn, job.key_id));
        let sealed = self.ccm.encrypt_inout_detached(
            &header.nonce(job.pn).into(),
            header.aad().as_slice(),
            InOutBuf::from(payload),
        );
        mic.copy_from_slice(&sealed.expect("CCM refuses only lengths, checked before the batch was touched"));
    }

    fn open_one(&self, mpdu: &mut [u8], expected: KeyId) -> Result<Opened, OpenError> {
        let (pn, found) = peek(mpdu)?;
        if found != expected {
            return Err(OpenError::KeyMismatch { expected, found });
        }
        let header = parse_mac_header(mpdu)?;
        let (priority, aad, nonce) = (header.priority(), header.aad(), header.nonce(pn));
        let start = header.len() + HEADER_LEN;
        let end = mpdu.len() - MIC_LEN;
        let (payload, mic) = mpdu[start..].split_at_mut(end - start);
        let mut tag = Tag::<U8>::default();
        tag.copy_from_slice(mic);
        let opened = self.ccm.decrypt_inout_detached(
            &nonce.into(),
            aad.as_slice(),
            InOutBuf::from(&mut *payload),
            &tag,
        );
        if opened.is_err() {
            payload.fill(0);
            return Err(OpenError::Mic);
        }
        Ok(Opened {
            pn,
            key_id: found,
            priority,
            payload: start..end,
        })
    }
}

/// Packet number and key identifier that a received MPDU claims, before anything is verified: for choosing the key.
///
/// # Errors
/// Each kind of [`OpenError`] but `Pending`, `KeyMismatch` and `Mic`.
pub fn peek(mpdu: &[u8]) -> Result<(PacketNumber, KeyId), OpenError> {
    let header = parse_mac_header(mpdu)?;
    if !header.is_protected() {
        return Err(OpenError::NotProtected);
    }
    let body = &mpdu[header.len()..];
    if body.len() < HEADER_LEN + MIC_LEN {
        return Err(OpenError::Short);
    }
    if body.len() > HEADER_LEN + MAX_PAYLOAD_LEN + MIC_LEN {
        return Err(OpenError::Long);
    }
    let key_octet = body[KEY_ID_OCTET];
    if key_octet & EXT_IV == 0 {
        return Err(OpenError::BadHeader);
    }
    // Octet 2 and the other bits of the key octet are reserved, thus ignored on reception (9.2.2).
    let pn = PacketNumber::from_be_octets([body[7], body[6], body[5], body[4], body[1], body[0]]);
    Ok((pn, KeyId::from_key_id_octet(key_octet)))
}

fn parse_mac_header(mpdu: &[u8]) -> Result<Header<'_>, OpenError> {
    Header::parse(mpdu).map_err(|error| match error {
        HeaderError::Short => OpenError::Short,
        HeaderError::NotProtectable => OpenError::BadHeader,
    })
}

fn check(job: &SealJob<'_>) -> Result<(), SealFault> {
    let header = Header::parse(job.mpdu).map_err(|error| match error {
        HeaderError::Short => SealFault::Short,
        HeaderError::NotProtectable => SealFault::NotProtectable,
    })?;
    if job.header_len != header.len() {
        return Err(SealFault::HeaderLen {
            given: job.header_len,
            implied: header.len(),
        });
    }
    match job
        .mpdu
        .len()
        .checked_sub(header.len() + Suite::Ccmp128.overhead())
    {
        None => Err(SealFault::Short),
        Some(payload_len) if payload_len > MAX_PAYLOAD_LEN => Err(SealFault::Long),
        Some(_) => Ok(()),
    }
}

fn emit_header(pn: PacketNumber, key_id: KeyId) -> [u8; HEADER_LEN] {
    let [pn5, pn4, pn3, pn2, pn1, pn0] = pn.be_octets();
    [pn0, pn1, 0, key_id.get() << 6 | EXT_IV, pn2, pn3, pn4, pn5]
}
