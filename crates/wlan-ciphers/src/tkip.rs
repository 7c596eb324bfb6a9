//! TKIP, IEEE 802.11-2020 12.5.2.
//!
//! ```text
//!  MPDU      MAC header   TKIP header (8)   encrypted: data   Michael MIC (8)   ICV (4)   [FCS, not included]
//!
//!  TKIP header, octet   0     1                     2     3                                4-7
//!                       TSC1  (TSC1 | 20) & 7F      TSC0  bits 6-7 key ID, bit 5 Ext IV    TSC2 TSC3 TSC4 TSC5
//! ```
//! The MIC belongs to the MSDU, not the MPDU. It is computed before fragmentation and fragmented with the data, so only
//! an unfragmented MSDU ends as shown. [`Tkip::seal`] handles this usual case in one call. For fragments, the caller
//! gets the MIC from [`Tkip::msdu_mic`], fragments the MSDU, and calls [`Tkip::seal_fragments`]. At the receiver,
//! [`Tkip::open`] verifies the MIC of unfragmented MSDUs. For fragments, the caller reassembles the MSDU and calls
//! [`Tkip::verify_msdu`].
//!
//! The receiver's steps, in order (12.5.2.1.3):
//!
//! 1. Compare the TSC with the replay counter ([`ReplayWindow::check`]). A frame out of order is dropped without
//!    checking its MIC, so that replays cannot trigger the countermeasures.
//! 2. Check the ICV. [`OpenError::Icv`] means noise or another key.
//! 3. Check the MIC. [`OpenError::Mic`] after a correct ICV is a forgery. The caller applies the countermeasures of
//!    12.5.2.4.
//! 4. Advance the replay counter ([`ReplayWindow::accept`]).
//!
//! The TSC is a packet number. Neither RC4 nor the S-box of the key mixing runs in constant time.
//!
//! [`ReplayWindow::check`]: crate::ReplayWindow::check
//! [`ReplayWindow::accept`]: crate::ReplayWindow::accept

mod mixing;

use core::fmt;

use arrayvec::ArrayVec;
use subtle::ConstantTimeEq;
use wlan_frames::{DataFrame, MacAddr, Role, fcs};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::aad::{HeaderError, Priority};
use crate::ccmp::PROTECTED_IN_OCTET_1;
use crate::half::Half;
use crate::lanes::WINDOW;
use crate::michael::{self, Message, MichaelHeader, MichaelKey};
use crate::rc4::{self, Text};
use crate::wep::{EXT_IV, ICV_LEN};
use crate::{KeyId, OpenError, OpenJob, Opened, PacketNumber, SealError, SealFault, SealJob, Suite};
use mixing::{Mixer, TemporalKey, wep_seed_octet};

const HEADER_LEN: usize = Suite::Tkip.header_len();
const KEY_ID_OCTET: usize = 3;

/// One temporal key with its Michael keys. It is wiped when dropped and never printed.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Tkip {
    tk: TemporalKey,
    transmit: MichaelKey,
    receive: MichaelKey,
}

impl fmt::Debug for Tkip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tkip").finish_non_exhaustive()
    }
}

impl Tkip {
    /// The key of one end: each direction has its own Michael key (12.8.1). Splits the 256 bits into the temporal key
    /// (16 octets), the Michael key for frames of the authenticator (8) and the Michael key for frames of the
    /// supplicant (8). The access point is the authenticator.
    #[must_use]
    pub fn new(key: &[u8; 32], role: Role) -> Tkip {
        let (words, _) = key.as_chunks();
        let michael = |at: usize| {
            let mut octets = [0; michael::KEY_LEN];
            octets.copy_from_slice(&key[at..at + michael::KEY_LEN]);
            MichaelKey::from(octets)
        };
        let (authenticator, supplicant) = (michael(16), michael(24));
        let (transmit, receive) = match role {
            Role::Ap => (authenticator, supplicant),
            Role::Sta => (supplicant, authenticator),
        };
        Tkip {
            tk: core::array::from_fn(|n| u16::from_le_bytes(words[n])),
            transmit,
            receive,
        }
    }

    /// Seals every MPDU of the batch in place: sets its Protected bit, writes the TKIP header, MIC and ICV, and
    /// encrypts. Each MPDU must hold a complete MSDU.
    ///
    /// # Errors
    /// [`SealError`] for the first job that is malformed or a fragment; the batch is then unchanged.
    pub fn seal(&self, batch: &mut [SealJob<'_>]) -> Result<(), SealError> {
        check_whole(batch.iter())?;
        seal_checked(batch.iter_mut().map(|job| (self, job)), None);
        Ok(())
    }

    /// Runs one half of sealing an MPDU with a complete MSDU in place: MIC and ICV, or key mixing and RC4. For
    /// measurements only: do not transmit a frame after one half.
    ///
    /// # Errors
    /// The job's fault; the job is then unchanged.
    #[cfg(feature = "study")]
    pub fn seal_half(&self, half: Half, job: &mut SealJob<'_>) -> Result<(), SealFault> {
        check_whole(core::iter::once(&*job)).map_err(|error| error.fault)?;
        seal_checked(core::iter::once((self, job)), Some(half));
        Ok(())
    }

    /// Seals every MPDU of the batch in place, each a fragment. Its plaintext is a part of the MSDU and MIC; only the
    /// ICV is added after it.
    ///
    /// # Errors
    /// [`SealError`] for the first malformed job; the batch is then unchanged.
    pub fn seal_fragments(&self, batch: &mut [SealJob<'_>]) -> Result<(), SealError> {
        check(batch.iter(), ICV_LEN, |_| Ok(()))?;
        for window in batch.chunks_mut(WINDOW) {
            encipher(window.iter_mut().map(|job| (self, job)), None);
        }
        Ok(())
    }

    /// Opens every MPDU of the batch in place and sets the verdict of each job. The payload of a fragment may hold a
    /// part of the MIC, which is not verified yet.
    pub fn open(&self, batch: &mut [OpenJob<'_>]) {
        open_all(batch.iter_mut().map(|job| (self, job)));
    }

    /// The MIC that the caller appends to an MSDU before fragmenting it.
    #[must_use]
    pub fn msdu_mic(&self, header: MichaelHeader, msdu: &[u8]) -> [u8; michael::MIC_LEN] {
        michael::mic(&Message {
            key: &self.transmit,
            header,
            msdu,
        })
    }

    /// Verifies the MIC at the end of a reassembled MSDU and returns the MSDU.
    ///
    /// # Errors
    /// [`OpenError::Short`] if there are fewer octets than a MIC has; [`OpenError::Mic`], and then all octets are
    /// zeroed.
    pub fn verify_msdu<'a>(
        &self,
        header: MichaelHeader,
        msdu_and_mic: &'a mut [u8],
    ) -> Result<&'a [u8], OpenError> {
        let Some((msdu, mic)) = msdu_and_mic.split_last_chunk::<{ michael::MIC_LEN }>() else {
            return Err(OpenError::Short);
        };
        let message = Message {
            key: &self.receive,
            header,
            msdu,
        };
        if !equal(&michael::mic(&message), mic) {
            msdu_and_mic.fill(0);
            return Err(OpenError::Mic);
        }
        Ok(&msdu_and_mic[..msdu_and_mic.len() - michael::MIC_LEN])
    }
}

/// Seals every MPDU of the batch in place, each with its own keys and a complete MSDU, like [`Tkip::seal`].
///
/// # Errors
/// [`SealError`] for the first job that is malformed or a fragment; the batch is then unchanged.
pub fn seal_each(batch: &mut [(&Tkip, SealJob<'_>)]) -> Result<(), SealError> {
    check_whole(batch.iter().map(|(_, job)| job))?;
    seal_checked(batch.iter_mut().map(|(tkip, job)| (*tkip, job)), None);
    Ok(())
}

/// Opens every MPDU of the batch in place, each with its own keys, and sets the verdict of each job, like
/// [`Tkip::open`].
pub fn open_each(batch: &mut [(&Tkip, OpenJob<'_>)]) {
    open_all(batch.iter_mut().map(|(tkip, job)| (*tkip, job)));
}

/// Seals jobs that have been checked, or runs only the half `only`.
fn seal_checked<'b, 'j: 'b>(
    mut jobs: impl ExactSizeIterator<Item = (&'b Tkip, &'b mut SealJob<'j>)>,
    only: Option<Half>,
) {
    while jobs.len() > 0 {
        let mut window: ArrayVec<(&Tkip, &mut SealJob<'_>), WINDOW> = jobs.by_ref().take(WINDOW).collect();
        if only != Some(Half::Cipher) {
            write_mics(&mut window);
        }
        encipher(window.iter_mut().map(|(tkip, job)| (*tkip, &mut **job)), only);
    }
}

/// Writes the MICs after the MSDUs of at most a window of checked jobs.
fn write_mics(window: &mut [(&Tkip, &mut SealJob<'_>)]) {
    let messages: ArrayVec<Message<'_>, WINDOW> = window
        .iter()
        .map(|(tkip, job)| Message {
            key: &tkip.transmit,
            header: MichaelHeader::from(&parse_checked(job.mpdu)),
            msdu: &job.mpdu[job.header_len + HEADER_LEN..mic_offset(job.mpdu)],
        })
        .collect();
    let mut mics = [[0; michael::MIC_LEN]; WINDOW];
    let mics = compute(&messages, &mut mics);
    drop(messages);
    for ((_, job), mic) in window.iter_mut().zip(mics) {
        let at = mic_offset(job.mpdu);
        job.mpdu[at..at + michael::MIC_LEN].copy_from_slice(mic);
    }
}

/// Writes header and ICV and encrypts at most a window of checked jobs, or runs only the half `only`.
fn encipher<'b, 'j: 'b>(window: impl Iterator<Item = (&'b Tkip, &'b mut SealJob<'j>)>, only: Option<Half>) {
    let mut mixer = Mixer::default();
    let mut texts: ArrayVec<Text<'_>, WINDOW> = ArrayVec::new();
    for (tkip, job) in window {
        let (header, body) = job.mpdu.split_at_mut(job.header_len);
        header[1] |= PROTECTED_IN_OCTET_1;
        let frame = parse_checked(header);
        let (tkip_header, rest) = body.split_at_mut(HEADER_LEN);
        tkip_header.copy_from_slice(&emit_header(job.pn, job.key_id));
        if only != Some(Half::Cipher) {
            fcs::fill(rest);
        }
        if only != Some(Half::Mic) {
            texts.push(Text {
                key: mixer.seed(&tkip.tk, frame.transmitter(), job.pn),
                text: rest,
            });
        }
    }
    rc4::apply(&mut texts);
}

fn open_all<'b, 'j: 'b>(mut jobs: impl ExactSizeIterator<Item = (&'b Tkip, &'b mut OpenJob<'j>)>) {
    let mut mixer = Mixer::default();
    while jobs.len() > 0 {
        // 1. Select the frames that have a valid TKIP header.
        let mut claims: ArrayVec<(Claim<'_>, &mut Result<Opened, OpenError>), WINDOW> = ArrayVec::new();
        let mut texts: ArrayVec<Text<'_>, WINDOW> = ArrayVec::new();
        for (tkip, job) in jobs.by_ref().take(WINDOW) {
            let (mpdu, expected, verdict) = job.parts();
            match examine(tkip, mpdu, expected) {
                Ok(claim) => {
                    texts.push(Text {
                        key: mixer.seed(&tkip.tk, claim.transmitter, claim.opened.pn),
                        text: &mut mpdu[claim.opened.payload.start..],
                    });
                    claims.push((claim, verdict));
                }
                Err(error) => *verdict = Err(error),
            }
        }
        // 2. Decrypt.
        rc4::apply(&mut texts);
        // 3. Check the ICV, and compute the MIC of unfragmented MSDUs.
        for (text, (claim, verdict)) in texts.iter().zip(&mut claims) {
            **verdict = match fcs::check(text.text) {
                Ok(_) => Ok(claim.opened.clone()),
                Err(_) => Err(OpenError::Icv),
            };
        }
        let (mut messages, mut mics) = (ArrayVec::<_, WINDOW>::new(), [[0; michael::MIC_LEN]; WINDOW]);
        for (text, (claim, verdict)) in texts.iter().zip(&claims) {
            if claim.is_whole && verdict.is_ok() {
                messages.push(Message {
                    key: claim.michael_key,
                    header: claim.michael,
                    msdu: &text.text[..claim.opened.payload.len()],
                });
            }
        }
        let mics = compute(&messages, &mut mics);
        drop(messages);
        // 4. Compare the MICs. Zero frames with a wrong ICV or MIC.
        let mut mics = mics.iter();
        for (text, (claim, verdict)) in texts.iter_mut().zip(claims) {
            if claim.is_whole && verdict.is_ok() {
                let at = claim.opened.payload.len();
                let right = mics
                    .next()
                    .is_some_and(|mic| equal(&text.text[at..at + michael::MIC_LEN], mic));
                if !right {
                    *verdict = Err(OpenError::Mic);
                }
            }
            if verdict.is_err() {
                text.text.fill(0);
            }
        }
    }
}

/// The unverified TSC and key identifier of a received MPDU, for selecting the key and for the replay check before
/// opening.
///
/// # Errors
/// Each kind of [`OpenError`] except `Pending`, `KeyMismatch`, `Icv` and `Mic`.
pub fn peek(mpdu: &[u8]) -> Result<(PacketNumber, KeyId), OpenError> {
    let (_, header) = parse_protected(mpdu)?;
    Ok(parse_header(header))
}

/// The unverified header of a job.
struct Claim<'k> {
    /// The verdict if ICV and MIC are correct.
    opened: Opened,
    transmitter: MacAddr,
    michael: MichaelHeader,
    michael_key: &'k MichaelKey,
    /// Whether the MPDU holds a complete MSDU with its MIC.
    is_whole: bool,
}

fn examine<'k>(tkip: &'k Tkip, mpdu: &[u8], expected: KeyId) -> Result<Claim<'k>, OpenError> {
    let (frame, header) = parse_protected(mpdu)?;
    let (pn, found) = parse_header(header);
    if found != expected {
        return Err(OpenError::KeyMismatch { expected, found });
    }
    let is_whole = !frame.is_fragment();
    let end = if is_whole {
        mic_offset(mpdu)
    } else {
        mpdu.len() - ICV_LEN
    };
    Ok(Claim {
        opened: Opened {
            pn,
            key_id: found,
            priority: Priority::Tid(frame.tid()),
            payload: frame.header_len() + HEADER_LEN..end,
        },
        transmitter: frame.transmitter(),
        michael: MichaelHeader::from(&frame),
        michael_key: &tkip.receive,
        is_whole,
    })
}

/// The MICs of at most a window of MSDUs.
fn compute<'a>(
    messages: &[Message<'_>],
    mics: &'a mut [[u8; michael::MIC_LEN]; WINDOW],
) -> &'a [[u8; michael::MIC_LEN]] {
    let mics = &mut mics[..messages.len()];
    michael::mics(messages, mics);
    mics
}

/// Offset of the MIC in an MPDU that is long enough for it.
fn mic_offset(mpdu: &[u8]) -> usize {
    mpdu.len() - ICV_LEN - michael::MIC_LEN
}

/// The header of a checked job.
fn parse_checked(mpdu: &[u8]) -> DataFrame<'_> {
    let Ok(frame) = DataFrame::parse(mpdu) else {
        unreachable!("jobs are checked before the batch is changed")
    };
    frame
}

fn equal(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

/// Parses the frame and its TKIP header.
fn parse_protected(mpdu: &[u8]) -> Result<(DataFrame<'_>, &[u8; HEADER_LEN]), OpenError> {
    let frame = DataFrame::parse(mpdu).map_err(|error| match error.into() {
        HeaderError::Short => OpenError::Short,
        HeaderError::NotProtectable => OpenError::BadHeader,
    })?;
    if !frame.is_protected() {
        return Err(OpenError::NotProtected);
    }
    let body = &mpdu[frame.header_len()..];
    let mic_len = if frame.is_fragment() { 0 } else { michael::MIC_LEN };
    if body.len() < HEADER_LEN + mic_len + ICV_LEN {
        return Err(OpenError::Short);
    }
    let header = body.first_chunk().ok_or(OpenError::Short)?;
    if header[KEY_ID_OCTET] & EXT_IV == 0 {
        return Err(OpenError::BadHeader);
    }
    Ok((frame, header))
}

/// Octet 1 follows from octet 0 and is ignored, like the reserved bits.
fn parse_header(header: &[u8; HEADER_LEN]) -> (PacketNumber, KeyId) {
    let [tsc1, _, tsc0, key_octet, tsc2, tsc3, tsc4, tsc5] = *header;
    let pn = PacketNumber::from_be_octets([tsc5, tsc4, tsc3, tsc2, tsc1, tsc0]);
    (pn, KeyId::from_key_id_octet(key_octet))
}

fn emit_header(pn: PacketNumber, key_id: KeyId) -> [u8; HEADER_LEN] {
    let [tsc5, tsc4, tsc3, tsc2, tsc1, tsc0] = pn.be_octets();
    let key_octet = key_id.get() << 6 | EXT_IV;
    [
        tsc1,
        wep_seed_octet(tsc1),
        tsc0,
        key_octet,
        tsc2,
        tsc3,
        tsc4,
        tsc5,
    ]
}

fn check_whole<'b, 'j: 'b>(batch: impl Iterator<Item = &'b SealJob<'j>>) -> Result<(), SealError> {
    check(batch, michael::MIC_LEN + ICV_LEN, |frame| {
        if frame.is_fragment() {
            return Err(SealFault::Fragment);
        }
        Ok(())
    })
}

fn check<'b, 'j: 'b>(
    batch: impl Iterator<Item = &'b SealJob<'j>>,
    trailer: usize,
    also: impl Fn(&DataFrame<'_>) -> Result<(), SealFault>,
) -> Result<(), SealError> {
    let check_one = |job: &SealJob<'_>| {
        let frame = DataFrame::parse(job.mpdu).map_err(|error| match error.into() {
            HeaderError::Short => SealFault::Short,
            HeaderError::NotProtectable => SealFault::NotProtectable,
        })?;
        if job.header_len != frame.header_len() {
            return Err(SealFault::HeaderLen {
                given: job.header_len,
                implied: frame.header_len(),
            });
        }
        also(&frame)?;
        if job.mpdu.len() < frame.header_len() + HEADER_LEN + trailer {
            return Err(SealFault::Short);
        }
        Ok(())
    };
    for (job, seal) in batch.enumerate() {
        check_one(seal).map_err(|fault| SealError { job, fault })?;
    }
    Ok(())
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
        tsc: Octets,
        key_id: u8,
        header: Octets,
        tkip_header: Octets,
        seed: Octets,
        plaintext: Octets,
        mic: Octets,
        ciphertext: Octets,
        icv: Octets,
    }

    impl Vector {
        fn load() -> Vector {
            let mut vectors: Vec<Vector> = load("tkip/ieee80211.json");
            assert_eq!(vectors.len(), 1);
            vectors.remove(0)
        }

        fn tkip(&self, role: Role) -> Tkip {
            Tkip::new(self.key.0[..].try_into().unwrap(), role)
        }

        fn pn(&self) -> PacketNumber {
            PacketNumber::from_be_octets(self.tsc.0[..].try_into().unwrap())
        }

        fn key_id(&self) -> KeyId {
            KeyId::new(self.key_id).unwrap()
        }

        fn sealed(&self) -> Vec<u8> {
            [&self.header, &self.tkip_header, &self.ciphertext, &self.icv]
                .map(|part| &part.0[..])
                .concat()
        }
    }

    #[test]
    fn sealing_gives_the_printed_mpdu() {
        let v = Vector::load();
        let frame = DataFrame::parse(&v.header.0).ok().unwrap();
        // The frame comes from the access point.
        let ap = v.tkip(Role::Ap);
        assert_eq!(
            Mixer::default().seed(&ap.tk, frame.transmitter(), v.pn())[..],
            v.seed.0
        );
        assert_eq!(
            ap.msdu_mic(MichaelHeader::from(&frame), &v.plaintext.0)[..],
            v.mic.0
        );
        let mut mpdu = [&v.header.0[..], &[0xee; 8], &v.plaintext.0, &[0xee; 12]].concat();
        let job = SealJob {
            mpdu: &mut mpdu,
            header_len: v.header.0.len(),
            pn: v.pn(),
            key_id: v.key_id(),
        };
        ap.seal(&mut [job]).unwrap();
        assert_eq!(mpdu, v.sealed(), "{}", v.name);
    }

    #[test]
    fn opening_the_printed_mpdu_gives_its_plaintext() {
        let v = Vector::load();
        let mut mpdu = v.sealed();
        let mut jobs = [OpenJob::new(&mut mpdu, v.key_id())];
        v.tkip(Role::Sta).open(&mut jobs);
        assert_eq!(jobs[0].payload().unwrap(), v.plaintext.0, "{}", v.name);
        assert_eq!(jobs[0].verdict().unwrap().pn, v.pn());
    }
}
