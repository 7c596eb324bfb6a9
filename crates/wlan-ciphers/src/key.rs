//! Temporal keys of the AES suites, and the batches that they seal and open.
//!
//! A batch goes through in windows of [`WINDOW`] frames:
//!
//! 1. (each frame) parse the header, write the cipher header, build nonce and AAD blocks;
//! 2. (window) order the frames by backend, suite and length, longest first;
//! 3. (groups of 1 to 16 frames, in lock step) the [engine](crate::engine);
//! 4. (each frame) write the MIC, or compare it and leave the verdict.

// Places in a window and payload lengths fit the integers that carry them: below 128 and 65536.
#![allow(clippy::cast_possible_truncation)]

use std::fmt;

use arrayvec::ArrayVec;
use subtle::ConstantTimeEq;
use zeroize::ZeroizeOnDrop;

use crate::aad::{Header, HeaderError, Layout};
use crate::ccmp::{self, HEADER_LEN, PROTECTED_IN_OCTET_1};
use crate::engine::{self, Backend, Blocks, Frame, Mode, Schedule};
use crate::enhanced::Lanes;
use crate::{KeyId, OpenError, OpenJob, Opened, PacketNumber, SealError, SealFault, SealJob, Suite};

/// Frames that are ordered by length together, at most.
const WINDOW: usize = 128;

/// The most octets of a payload: the length field of CCM has L = 2 octets (RFC 3610 section 2). No MPDU that 802.11
/// can carry comes near (9.2.4.7.1), so GCMP is held to it too.
const MAX_PAYLOAD_LEN: usize = 0xffff;

/// Why there is no such key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The key is not as long as the suite's are.
    #[error("a temporal key of {suite:?} has {} octets, not {found}", suite.key_len())]
    Length {
        /// The suite.
        suite: Suite,
        /// Octets given.
        found: usize,
    },
    /// The suite is not one of those that this engine runs.
    #[error("{0:?} has no key of this kind")]
    Suite(Suite),
    /// The CPU lacks instructions that the backend needs.
    #[error("this CPU cannot run the backend {0}")]
    Backend(Backend),
}

/// The temporal key of an AES suite, expanded. It is wiped when dropped and never printed.
#[derive(Clone, ZeroizeOnDrop)]
pub struct TemporalKey {
    #[zeroize(skip)]
    suite: Suite,
    schedule: Schedule,
}

impl fmt::Debug for TemporalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemporalKey")
            .field("suite", &self.suite)
            .field("backend", &self.schedule.kind.backend)
            .finish_non_exhaustive()
    }
}

impl TemporalKey {
    /// Expands a temporal key for the fastest backend of this CPU.
    ///
    /// # Errors
    /// [`KeyError::Length`], [`KeyError::Suite`].
    pub fn new(suite: Suite, tk: &[u8]) -> Result<TemporalKey, KeyError> {
        TemporalKey::with_backend(suite, tk, Backend::detect())
    }

    /// Expands a temporal key for a backend.
    ///
    /// # Errors
    /// Each kind of [`KeyError`].
    pub fn with_backend(suite: Suite, tk: &[u8], backend: Backend) -> Result<TemporalKey, KeyError> {
        let mode = match suite {
            Suite::Ccmp128 | Suite::Ccmp256 => Mode::Ccm,
            Suite::Gcmp128 | Suite::Gcmp256 => Mode::Gcm,
            Suite::Enhanced(Lanes::One) => Mode::Ccm,
            Suite::Enhanced(lanes) => Mode::Lanes(lanes.count()),
            _ => return Err(KeyError::Suite(suite)),
        };
        if tk.len() != suite.key_len() {
            return Err(KeyError::Length {
                suite,
                found: tk.len(),
            });
        }
        let schedule = Schedule::new(tk, mode, backend).ok_or(KeyError::Backend(backend))?;
        Ok(TemporalKey { suite, schedule })
    }

    /// The suite it is a key of.
    #[must_use]
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// What it seals and opens with.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.schedule.kind.backend
    }

    /// Seals every MPDU of the batch in place: sets its Protected bit, writes the cipher header, enciphers the
    /// plaintext and writes the MIC.
    ///
    /// # Errors
    /// [`SealError`] for the first job that is malformed; then no job was changed.
    pub fn seal(&self, batch: &mut [SealJob<'_>]) -> Result<(), SealError> {
        let mut layout = Layout::NONE;
        for (job, seal) in batch.iter().enumerate() {
            self.check(seal, &mut layout)
                .map_err(|fault| SealError { job, fault })?;
        }
        seal_checked(batch.iter_mut().map(|job| (self, job)));
        Ok(())
    }

    /// Opens every MPDU of the batch in place and leaves each its verdict.
    pub fn open(&self, batch: &mut [OpenJob<'_>]) {
        open_all(batch.iter_mut().map(|job| (self, job)));
    }

    #[inline(always)]
    fn check(&self, job: &SealJob<'_>, layout: &mut Layout) -> Result<(), SealFault> {
        *layout = Layout::of(job.mpdu, *layout).map_err(|error| match error {
            HeaderError::Short => SealFault::Short,
            HeaderError::NotProtectable => SealFault::NotProtectable,
        })?;
        let implied = layout.len();
        let given = job.header_len;
        if given != implied {
            return Err(SealFault::HeaderLen { given, implied });
        }
        match job.mpdu.len().checked_sub(implied + self.suite.overhead()) {
            None => Err(SealFault::Short),
            Some(payload_len) if payload_len > MAX_PAYLOAD_LEN => Err(SealFault::Long),
            Some(_) => Ok(()),
        }
    }

    #[inline(always)]
    fn blocks(&self, header: &Header<'_>, pn: PacketNumber, payload_len: usize) -> Blocks {
        match self.schedule.kind.mode {
            Mode::Ccm | Mode::Lanes(_) => header.ccm_blocks(pn, b0_flags(self.suite), payload_len),
            Mode::Gcm => header.gcm_blocks(pn, payload_len),
        }
    }

    #[inline(always)]
    fn frame_to_seal<'a>(&'a self, job: &'a mut SealJob<'_>, layout: &mut Layout) -> Frame<'a, 'a> {
        let start = job.header_len + HEADER_LEN;
        let end = job.mpdu.len() - self.suite.mic_len();
        let header = Layout::of(job.mpdu, *layout).and_then(|found| {
            *layout = found;
            Header::parse_as(job.mpdu, found)
        });
        let Ok(header) = header else {
            unreachable!("checked before the batch was touched")
        };
        let blocks = self.blocks(&header, job.pn, end - start);
        job.mpdu[1] |= PROTECTED_IN_OCTET_1;
        job.mpdu[job.header_len..start].copy_from_slice(&ccmp::emit(job.pn, job.key_id));
        Frame::new(job.mpdu, start..end, &self.schedule, blocks)
    }

    /// The frame, and the verdict that it gets if its MIC is right.
    #[inline(always)]
    fn frame_to_open<'a>(
        &'a self,
        mpdu: &'a mut [u8],
        expected: KeyId,
        layout: &mut Layout,
    ) -> Result<(Frame<'a, 'a>, Opened), OpenError> {
        let (header, pn, found) = ccmp::parse(mpdu, layout)?;
        let start = header.len() + HEADER_LEN;
        let Some(end) = mpdu
            .len()
            .checked_sub(self.suite.mic_len())
            .filter(|&end| end >= start)
        else {
            return Err(OpenError::Short);
        };
        if end - start > MAX_PAYLOAD_LEN {
            return Err(OpenError::Long);
        }
        if found != expected {
            return Err(OpenError::KeyMismatch { expected, found });
        }
        let opened = Opened {
            pn,
            key_id: found,
            priority: header.priority(),
            payload: start..end,
        };
        let blocks = self.blocks(&header, pn, end - start);
        let frame = Frame::new(mpdu, start..end, &self.schedule, blocks);
        Ok((frame, opened))
    }
}

/// Flags of B0: Adata, L = 2 in bits 0 to 2, (M - 2) / 2 in bits 3 to 5 (RFC 3610 section 2.2); those of Enhanced CCMP are
/// in a space of their own.
#[inline(always)]
pub(crate) const fn b0_flags(suite: Suite) -> u8 {
    match suite {
        Suite::Enhanced(lanes) => lanes.b0_flags(),
        _ => 0x41 | (((suite.mic_len() - 2) / 2) << 3) as u8,
    }
}

/// Seals every MPDU of the batch in place, each with its own key; suites may be mixed.
///
/// # Errors
/// [`SealError`] for the first job that is malformed; then no job was changed.
pub fn seal_each(batch: &mut [(&TemporalKey, SealJob<'_>)]) -> Result<(), SealError> {
    let mut layout = Layout::NONE;
    for (job, (key, seal)) in batch.iter().enumerate() {
        key.check(seal, &mut layout)
            .map_err(|fault| SealError { job, fault })?;
    }
    seal_checked(batch.iter_mut().map(|(key, job)| (*key, job)));
    Ok(())
}

/// Opens every MPDU of the batch in place, each with its own key, and leaves each its verdict; suites may be mixed.
pub fn open_each(batch: &mut [(&TemporalKey, OpenJob<'_>)]) {
    open_all(batch.iter_mut().map(|(key, job)| (*key, job)));
}

fn seal_checked<'b, 'j: 'b>(jobs: impl ExactSizeIterator<Item = (&'b TemporalKey, &'b mut SealJob<'j>)>) {
    // A frame on its own should not have to touch the stack that many need.
    match jobs.len() {
        1 => seal_in_windows::<1>(jobs),
        _ => seal_in_windows::<WINDOW>(jobs),
    }
}

fn seal_in_windows<'b, 'j: 'b, const WINDOW: usize>(
    mut jobs: impl ExactSizeIterator<Item = (&'b TemporalKey, &'b mut SealJob<'j>)>,
) {
    let mut layout = Layout::NONE;
    while jobs.len() > 0 {
        let mut frames: ArrayVec<Frame<'_, '_>, WINDOW> = ArrayVec::new();
        // No `collect`, which moves the whole window.
        for (key, job) in jobs.by_ref().take(WINDOW) {
            frames.push(key.frame_to_seal(job, &mut layout));
        }
        protect::<false>(&mut frames);
        for frame in &mut frames {
            let (mic, _, field) = frame.parts();
            // Of a fixed size, for copying so few octets.
            match field.first_chunk_mut::<16>() {
                Some(field) => *field = *mic,
                None => field.copy_from_slice(&mic[..8]),
            }
        }
    }
}

fn open_all<'b, 'j: 'b>(jobs: impl ExactSizeIterator<Item = (&'b TemporalKey, &'b mut OpenJob<'j>)>) {
    match jobs.len() {
        1 => open_in_windows::<1>(jobs),
        _ => open_in_windows::<WINDOW>(jobs),
    }
}

fn open_in_windows<'b, 'j: 'b, const WINDOW: usize>(
    mut jobs: impl ExactSizeIterator<Item = (&'b TemporalKey, &'b mut OpenJob<'j>)>,
) {
    let mut layout = Layout::NONE;
    while jobs.len() > 0 {
        let mut frames: ArrayVec<Frame<'_, '_>, WINDOW> = ArrayVec::new();
        let mut verdicts: ArrayVec<&mut Result<Opened, OpenError>, WINDOW> = ArrayVec::new();
        for (key, job) in jobs.by_ref().take(WINDOW) {
            let (mpdu, expected, verdict) = job.parts();
            match key.frame_to_open(mpdu, expected, &mut layout) {
                Ok((frame, opened)) => {
                    *verdict = Ok(opened);
                    frames.push(frame);
                    verdicts.push(verdict);
                }
                Err(error) => *verdict = Err(error),
            }
        }
        protect::<true>(&mut frames);
        for (frame, verdict) in frames.iter_mut().zip(verdicts) {
            let (mic, payload, field) = frame.parts();
            let right = match field.first_chunk::<16>() {
                Some(field) => halves(field)[..].ct_eq(&halves(mic)),
                None => mic[..8].ct_eq(field),
            };
            if !bool::from(right) {
                payload.fill(0);
                *verdict = Err(OpenError::Mic);
            }
        }
    }
}

/// Orders the frames and hands them to the engine.
fn protect<const OPEN: bool>(frames: &mut [Frame<'_, '_>]) {
    let [first, rest @ ..] = &*frames else {
        return;
    };
    // Frames of one key and length are the rule, and they are in order.
    if rest.iter().all(|frame| frame.is_like(first)) {
        return engine::protect::<OPEN>(frames, &IN_PLACE[..frames.len()]);
    }
    // Kind, then length from long to short, then place.
    let mut order: ArrayVec<u32, WINDOW> = ArrayVec::new();
    for (frame, place) in frames.iter().zip(0..) {
        let shortness = (MAX_PAYLOAD_LEN - frame.payload_len()) as u32;
        order.push(u32::from(frame.kind().rank()) << 24 | shortness << 8 | place);
    }
    order.sort_unstable();
    let mut places: ArrayVec<u8, WINDOW> = ArrayVec::new();
    for rank in order {
        places.push(rank.to_le_bytes()[0]);
    }
    let mut rest = &places[..];
    while let [first, ..] = rest {
        let kind = frames[usize::from(*first)].kind();
        let alike = rest
            .iter()
            .take_while(|&&place| frames[usize::from(place)].kind() == kind)
            .count();
        let (of_kind, others) = rest.split_at(alike);
        engine::protect::<OPEN>(frames, of_kind);
        rest = others;
    }
}

/// The places of a window, in order.
const IN_PLACE: [u8; WINDOW] = {
    let mut places = [0; WINDOW];
    let mut i = 0;
    while i < WINDOW {
        places[i] = i as u8;
        i += 1;
    }
    places
};

/// A MIC as words, for comparing so many at once.
fn halves(mic: &[u8; 16]) -> [u64; 2] {
    let mic = u128::from_ne_bytes(*mic);
    [mic as u64, (mic >> 64) as u64]
}
