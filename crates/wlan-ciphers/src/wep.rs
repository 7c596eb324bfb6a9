//! WEP-40 and WEP-104, IEEE 802.11-2020 12.3.2.
//!
//! ```text
//!  MPDU       MAC header   IV header (4)   ciphertext   encrypted ICV (4)   [FCS, not included]
//!
//!  IV header, octet   0-2   3
//!                     IV    bits 6-7 key ID, bits 0-5 zero; bit 5 set means the header of another suite (12.5.2.2)
//! ```
//! RC4 is keyed with the IV and the key, and the ICV is the CRC-32 of the plaintext. WEP has no replay protection. Its
//! ICV detects noise but not forgery, and its key can be recovered from captured frames. WEP is supported to measure
//! its cost and to read old captures.
//!
//! The caller supplies the 24-bit IV as a counter value, most significant octet first. WEP permits the counter to wrap,
//! and no value is skipped. Skipping "weak" IVs was a vendor's remedy outside the standard: it shortens the cycle and
//! does not stop attacks that require no weak IVs.
//!
//! Opening supports Data frames only. The third frame of shared key authentication, the only other frame that WEP
//! encrypts, is not opened.

use core::fmt;

use arrayvec::ArrayVec;
use wlan_frames::{DataFrame, fcs};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::aad::{HeaderError, Priority};
use crate::ccmp::PROTECTED_IN_OCTET_1;
use crate::half::Half;
use crate::lanes::WINDOW;
use crate::rc4::{self, Text};
use crate::{KeyId, OpenError, OpenJob, Opened, PacketNumber, SealError, SealFault, SealJob, Suite};

const HEADER_LEN: usize = Suite::Wep104.header_len();
pub(crate) const ICV_LEN: usize = 4;

const IV_LEN: usize = 3;
const KEY_ID_OCTET: usize = 3;
/// Ext IV in the Key ID octet: set in the headers of TKIP, CCMP and GCMP.
pub const EXT_IV: u8 = 0x20;

/// The key has neither 5 nor 13 octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid WEP key length: expected 5 octets (WEP-40) or 13 (WEP-104), got {given}")]
pub struct KeyLength {
    /// Octets given.
    pub given: usize,
}

/// One WEP key. It is wiped when dropped and never printed.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Wep {
    /// The RC4 key, with zeros in place of the IV. The 8-octet key of WEP-40 is repeated.
    seed: [u8; rc4::KEY_LEN],
    #[zeroize(skip)]
    suite: Suite,
}

impl fmt::Debug for Wep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wep")
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}

impl Wep {
    /// Creates a key from 5 octets (WEP-40) or 13 octets (WEP-104).
    ///
    /// # Errors
    /// [`KeyLength`] for any other length.
    pub fn new(key: &[u8]) -> Result<Wep, KeyLength> {
        let suite = match key.len() {
            5 => Suite::Wep40,
            13 => Suite::Wep104,
            given => return Err(KeyLength { given }),
        };
        let mut seed = [0; rc4::KEY_LEN];
        for part in seed.chunks_exact_mut(IV_LEN + key.len()) {
            part[IV_LEN..].copy_from_slice(key);
        }
        Ok(Wep { seed, suite })
    }

    /// WEP-40 or WEP-104, according to the length of the key.
    #[must_use]
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// Seals every MPDU of the batch in place: sets its Protected bit, writes the IV header and the ICV, and encrypts
    /// plaintext and ICV. The job's `pn` is the IV.
    ///
    /// # Errors
    /// [`SealError`] for the first malformed job; the batch is then unchanged.
    pub fn seal(&self, batch: &mut [SealJob<'_>]) -> Result<(), SealError> {
        check_all(batch.iter())?;
        seal_checked(batch.iter_mut().map(|job| (self, job)), None);
        Ok(())
    }

    /// Runs one half of sealing an MPDU in place: the ICV, or RC4 over plaintext and ICV. For measurements only: do not
    /// transmit a frame after one half.
    ///
    /// # Errors
    /// The job's fault; the job is then unchanged.
    #[cfg(feature = "study")]
    pub fn seal_half(&self, half: Half, job: &mut SealJob<'_>) -> Result<(), SealFault> {
        check(job)?;
        seal_checked(core::iter::once((self, job)), Some(half));
        Ok(())
    }

    /// Opens every MPDU of the batch in place and sets the verdict of each job. A wrong ICV is [`OpenError::Icv`].
    pub fn open(&self, batch: &mut [OpenJob<'_>]) {
        open_all(batch.iter_mut().map(|job| (self, job)));
    }

    fn rc4_key(&self, iv: [u8; IV_LEN]) -> [u8; rc4::KEY_LEN] {
        let mut key = self.seed;
        for part in key.chunks_exact_mut(IV_LEN + self.suite.key_len()) {
            part[..IV_LEN].copy_from_slice(&iv);
        }
        key
    }
}

/// Seals every MPDU of the batch in place, each with its own key, like [`Wep::seal`]. WEP-40 and WEP-104 may be mixed.
///
/// # Errors
/// [`SealError`] for the first malformed job; the batch is then unchanged.
pub fn seal_each(batch: &mut [(&Wep, SealJob<'_>)]) -> Result<(), SealError> {
    check_all(batch.iter().map(|(_, job)| job))?;
    seal_checked(batch.iter_mut().map(|(wep, job)| (*wep, job)), None);
    Ok(())
}

/// Opens every MPDU of the batch in place, each with its own key, and sets the verdict of each job. WEP-40 and WEP-104
/// may be mixed.
pub fn open_each(batch: &mut [(&Wep, OpenJob<'_>)]) {
    open_all(batch.iter_mut().map(|(wep, job)| (*wep, job)));
}

/// Seals jobs that have been checked, or runs only the half `only`.
fn seal_checked<'b, 'j: 'b>(
    mut jobs: impl ExactSizeIterator<Item = (&'b Wep, &'b mut SealJob<'j>)>,
    only: Option<Half>,
) {
    while jobs.len() > 0 {
        let mut texts: ArrayVec<Text<'_>, WINDOW> = ArrayVec::new();
        for (wep, job) in jobs.by_ref().take(WINDOW) {
            let (header, body) = job.mpdu.split_at_mut(job.header_len);
            header[1] |= PROTECTED_IN_OCTET_1;
            let iv = iv_octets(job.pn);
            let (iv_header, rest) = body.split_at_mut(HEADER_LEN);
            iv_header[..IV_LEN].copy_from_slice(&iv);
            iv_header[KEY_ID_OCTET] = job.key_id.get() << 6;
            if only != Some(Half::Cipher) {
                fcs::fill(rest);
            }
            if only != Some(Half::Mic) {
                texts.push(Text {
                    key: wep.rc4_key(iv),
                    text: rest,
                });
            }
        }
        rc4::apply(&mut texts);
    }
}

fn open_all<'b, 'j: 'b>(mut jobs: impl ExactSizeIterator<Item = (&'b Wep, &'b mut OpenJob<'j>)>) {
    while jobs.len() > 0 {
        let mut claims: ArrayVec<(Claim, &mut Result<Opened, OpenError>), WINDOW> = ArrayVec::new();
        let mut texts: ArrayVec<Text<'_>, WINDOW> = ArrayVec::new();
        for (wep, job) in jobs.by_ref().take(WINDOW) {
            let (mpdu, expected, verdict) = job.parts();
            match examine(mpdu, expected) {
                Ok(claim) => {
                    texts.push(Text {
                        key: wep.rc4_key(claim.iv),
                        text: &mut mpdu[claim.text_at..],
                    });
                    claims.push((claim, verdict));
                }
                Err(error) => *verdict = Err(error),
            }
        }
        rc4::apply(&mut texts);
        for (text, (claim, verdict)) in texts.iter_mut().zip(claims) {
            *verdict = conclude(text.text, &claim);
        }
    }
}

/// The unverified IV and key identifier of a received MPDU, for selecting the key.
///
/// # Errors
/// Each kind of [`OpenError`] except `Pending`, `KeyMismatch`, `Icv` and `Mic`.
pub fn peek(mpdu: &[u8]) -> Result<(PacketNumber, KeyId), OpenError> {
    let (_, header) = parse_protected(mpdu)?;
    Ok((iv_number(header), KeyId::from_key_id_octet(header[KEY_ID_OCTET])))
}

/// The unverified header of a job.
struct Claim {
    iv: [u8; IV_LEN],
    key_id: KeyId,
    priority: crate::Priority,
    /// Offset of the ciphertext.
    text_at: usize,
}

fn examine(mpdu: &[u8], expected: KeyId) -> Result<Claim, OpenError> {
    let (frame, header) = parse_protected(mpdu)?;
    let found = KeyId::from_key_id_octet(header[KEY_ID_OCTET]);
    if found != expected {
        return Err(OpenError::KeyMismatch { expected, found });
    }
    let [a, b, c, _] = *header;
    Ok(Claim {
        iv: [a, b, c],
        key_id: found,
        priority: Priority::Tid(frame.tid()),
        text_at: frame.header_len() + HEADER_LEN,
    })
}

fn conclude(text: &mut [u8], claim: &Claim) -> Result<Opened, OpenError> {
    if fcs::check(text).is_err() {
        text.fill(0);
        return Err(OpenError::Icv);
    }
    let [a, b, c] = claim.iv;
    Ok(Opened {
        pn: PacketNumber::from_be_octets([0, 0, 0, a, b, c]),
        key_id: claim.key_id,
        priority: claim.priority,
        payload: claim.text_at..claim.text_at + text.len() - ICV_LEN,
    })
}

/// Parses the frame and its IV header.
fn parse_protected(mpdu: &[u8]) -> Result<(DataFrame<'_>, &[u8; HEADER_LEN]), OpenError> {
    let frame = DataFrame::parse(mpdu).map_err(|error| match error.into() {
        HeaderError::Short => OpenError::Short,
        HeaderError::NotProtectable => OpenError::BadHeader,
    })?;
    if !frame.is_protected() {
        return Err(OpenError::NotProtected);
    }
    let body = &mpdu[frame.header_len()..];
    if body.len() < HEADER_LEN + ICV_LEN {
        return Err(OpenError::Short);
    }
    let header = body.first_chunk().ok_or(OpenError::Short)?;
    if header[KEY_ID_OCTET] & EXT_IV != 0 {
        return Err(OpenError::BadHeader);
    }
    Ok((frame, header))
}

fn check_all<'b, 'j: 'b>(batch: impl Iterator<Item = &'b SealJob<'j>>) -> Result<(), SealError> {
    for (job, seal) in batch.enumerate() {
        check(seal).map_err(|fault| SealError { job, fault })?;
    }
    Ok(())
}

fn check(job: &SealJob<'_>) -> Result<(), SealFault> {
    let header = DataFrame::parse(job.mpdu).map_err(|error| match error.into() {
        HeaderError::Short => SealFault::Short,
        HeaderError::NotProtectable => SealFault::NotProtectable,
    })?;
    if job.header_len != header.header_len() {
        return Err(SealFault::HeaderLen {
            given: job.header_len,
            implied: header.header_len(),
        });
    }
    if job.mpdu.len() < header.header_len() + HEADER_LEN + ICV_LEN {
        return Err(SealFault::Short);
    }
    if job.pn.be_octets()[..IV_LEN] != [0; IV_LEN] {
        return Err(SealFault::Iv);
    }
    Ok(())
}

fn iv_octets(pn: PacketNumber) -> [u8; IV_LEN] {
    let [_, _, _, a, b, c] = pn.be_octets();
    [a, b, c]
}

fn iv_number(header: &[u8; HEADER_LEN]) -> PacketNumber {
    PacketNumber::from_be_octets([0, 0, 0, header[0], header[1], header[2]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{Octets, load};
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Vector {
        name: String,
        key: Octets,
        iv: Octets,
        key_id: u8,
        header: Octets,
        iv_header: Octets,
        plaintext: Octets,
        ciphertext: Octets,
        icv: Octets,
    }

    #[test]
    fn sealing_gives_the_printed_wep_mpdu_which_opens() {
        let vectors: Vec<Vector> = load("wep/ieee80211.json");
        assert_eq!(vectors.len(), 1);
        for v in vectors {
            let wep = Wep::new(&v.key.0).unwrap();
            let [a, b, c] = v.iv.0[..] else {
                panic!("{}: IV", v.name)
            };
            let (pn, key_id) = (
                PacketNumber::from_be_octets([0, 0, 0, a, b, c]),
                KeyId::new(v.key_id).unwrap(),
            );
            let printed = [&v.header, &v.iv_header, &v.ciphertext, &v.icv]
                .map(|part| &part.0[..])
                .concat();

            let mut mpdu = [&v.header.0[..], &[0xee; 4], &v.plaintext.0, &[0xee; 4]].concat();
            let header_len = v.header.0.len();
            wep.seal(&mut [SealJob {
                mpdu: &mut mpdu,
                header_len,
                pn,
                key_id,
            }])
            .unwrap();
            assert_eq!(mpdu, printed, "{}", v.name);

            let mut jobs = [OpenJob::new(&mut mpdu, key_id)];
            wep.open(&mut jobs);
            assert_eq!(jobs[0].payload().unwrap(), v.plaintext.0, "{}", v.name);
            assert_eq!(jobs[0].verdict().unwrap().pn, pn, "{}", v.name);
        }
    }
}
