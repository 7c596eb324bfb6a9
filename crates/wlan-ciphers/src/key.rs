//! Temporal keys of the AES suites, which seal and open batches.
//!
//! A batch is processed in windows of up to 128 frames:
//!
//! 1. (each frame) parse the header, write the cipher header, build the nonce and AAD blocks;
//! 2. (window) sort the frames by backend, suite and length, longest first;
//! 3. (groups of frames) run the engine, which writes the MICs of sealed frames;
//! 4. (each opened frame) compare the MIC and set the verdict.

// The flags of B0 fit an octet.
#![allow(clippy::cast_possible_truncation)]

use core::fmt;
use core::ops::Range;

use arrayvec::ArrayVec;
use subtle::ConstantTimeEq;
use zeroize::ZeroizeOnDrop;

use crate::aad::{Header, Parser};
use crate::ccmp;
#[cfg(feature = "study")]
use crate::engine::pass::{CTR, MIC};
use crate::engine::pass::{OPEN, Pass, SEAL};
use crate::engine::{self, Backend, Blocks, Frame, Mode, Schedule, WINDOW, Window};
use crate::enhanced::Lanes;
#[cfg(feature = "study")]
use crate::half::Half;
use crate::{KeyId, OpenError, OpenJob, Opened, PacketNumber, SealError, SealFault, SealJob, Suite};

/// Why a key cannot be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key does not have the suite's length.
    #[error("invalid key length: expected {} octets for {}, got {found}", suite.key_len(), suite.name())]
    Length {
        /// The suite.
        suite: Suite,
        /// Octets given.
        found: usize,
    },
    /// This type of key does not support the suite.
    #[error("this type of key does not support the suite {}", .0.name())]
    Suite(Suite),
    /// The CPU lacks instructions that the backend requires.
    #[error("this CPU does not support the backend {0}")]
    Backend(Backend),
}

/// The expanded temporal key of an AES suite. It is wiped when dropped and never printed.
#[derive(Clone, ZeroizeOnDrop)]
pub struct TemporalKey {
    #[zeroize(skip)]
    suite: Suite,
    #[zeroize(skip)]
    mic_len: usize,
    #[zeroize(skip)]
    b0_flags: u8,
    #[zeroize(skip)]
    spp_amsdu: bool,
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
        Ok(TemporalKey {
            suite,
            mic_len: suite.mic_len(),
            b0_flags: b0_flags(suite),
            spp_amsdu: false,
            schedule,
        })
    }

    /// Turns SPP A-MSDU protection on or off. Turn it on if both stations set SPP A-MSDU Capable in their RSN
    /// Capabilities (9.4.2.24.4): the MIC then covers A-MSDU Present of QoS Control (12.5.3.3.3). By default the AAD
    /// masks that bit.
    #[must_use]
    pub fn with_spp_amsdu(mut self, on: bool) -> TemporalKey {
        self.spp_amsdu = on;
        self
    }

    /// The suite of the key.
    #[must_use]
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// The backend that seals and opens with this key.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.schedule.kind.backend
    }

    /// The expanded key.
    #[cfg(feature = "study")]
    #[inline(always)]
    pub(crate) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Seals every MPDU of the batch in place: sets its Protected bit, writes the cipher header, encrypts the plaintext
    /// and writes the MIC.
    ///
    /// # Errors
    /// [`SealError`] for the first malformed job; the batch is then unchanged.
    pub fn seal(&self, batch: &mut [SealJob<'_>]) -> Result<(), SealError> {
        if let [job] = batch {
            return self.seal_one(job);
        }
        // A mode that is known in advance leaves no choice to the loop.
        match self.schedule.kind.mode {
            Mode::Gcm => self.seal_batch::<true>(batch),
            _ => self.seal_batch::<false>(batch),
        }
    }

    #[inline(never)]
    fn seal_batch<const GCM: bool>(&self, batch: &mut [SealJob<'_>]) -> Result<(), SealError> {
        let mut key = self.by_value();
        if GCM {
            key.mode = Mode::Gcm;
        }
        check(batch.iter().map(|job| (key, job)))?;
        seal_checked(batch.iter_mut().map(|job| (key, job)));
        Ok(())
    }

    /// Opens every MPDU of the batch in place and sets the verdict of each job.
    pub fn open(&self, batch: &mut [OpenJob<'_>]) {
        if let [job] = batch {
            return self.open_one(job);
        }
        let key = self.by_value();
        open_all(batch.iter_mut().map(|job| (key, job)));
    }

    /// Runs one half of sealing an MPDU in place. Both halves in the order given by [`half`](crate::half) are
    /// equivalent to [`seal`](TemporalKey::seal). For measurements only: do not transmit a frame after one half.
    ///
    /// # Errors
    /// The job's fault; the job is then unchanged.
    #[cfg(feature = "study")]
    pub fn seal_half(&self, half: Half, job: &mut SealJob<'_>) -> Result<(), SealFault> {
        match half {
            Half::Mic => self.pass_over::<MIC>(job),
            Half::Cipher => self.pass_over::<CTR>(job),
        }
    }

    fn seal_one(&self, job: &mut SealJob<'_>) -> Result<(), SealError> {
        self.pass_over::<SEAL>(job)
            .map_err(|fault| SealError { job: 0, fault })
    }

    /// Every step adds to the latency of a single frame, so this path does as little as possible.
    #[inline(always)]
    fn pass_over<const PASS: Pass>(&self, job: &mut SealJob<'_>) -> Result<(), SealFault> {
        let key = self.by_value();
        let (header, payload) = ccmp::to_seal(&mut Parser::new(), job, key.mic_len)?;
        let blocks = key.blocks(&header, job.pn, payload.len());
        let mut frame = key.frame_to_seal(job, payload, blocks);
        engine::protect_one::<PASS>(&mut frame);
        Ok(())
    }

    fn open_one(&self, job: &mut OpenJob<'_>) {
        let (mpdu, expected, verdict) = job.parts();
        *verdict = self
            .by_value()
            .frame_to_open(&mut Parser::new(), mpdu, expected)
            .and_then(|(mut frame, opened)| {
                engine::protect_one::<OPEN>(&mut frame);
                check_mic(&mut frame).map(|()| opened)
            });
    }

    /// The key as the loops over a batch use it.
    #[inline(always)]
    fn by_value(&self) -> KeyOfFrame<'_> {
        KeyOfFrame {
            schedule: &self.schedule,
            mode: self.schedule.kind.mode,
            mic_len: self.mic_len,
            b0_flags: self.b0_flags,
            spp_amsdu: self.spp_amsdu,
        }
    }
}

/// The key of a frame. It is passed by value: a loop that writes to MPDUs would otherwise read its fields again for each
/// of them.
#[derive(Clone, Copy)]
struct KeyOfFrame<'k> {
    schedule: &'k Schedule,
    mode: Mode,
    mic_len: usize,
    b0_flags: u8,
    spp_amsdu: bool,
}

impl<'k> KeyOfFrame<'k> {
    #[inline(always)]
    fn blocks(self, header: &Header<'_>, pn: PacketNumber, payload_len: usize) -> Blocks {
        match self.mode {
            Mode::Ccm | Mode::Lanes(_) => header.ccm_blocks(pn, self.b0_flags, payload_len, self.spp_amsdu),
            Mode::Gcm => header.gcm_blocks(pn, payload_len, self.spp_amsdu),
        }
    }

    #[inline(always)]
    fn frame_to_seal<'a>(
        self,
        job: &'a mut SealJob<'_>,
        payload: Range<usize>,
        blocks: Blocks,
    ) -> Frame<'a, 'k> {
        ccmp::emit(job);
        Frame::new(job.mpdu, payload, self.schedule, blocks)
    }

    /// The frame, and its verdict if the MIC turns out to be correct.
    #[inline(always)]
    fn frame_to_open<'a>(
        self,
        parser: &mut Parser,
        mpdu: &'a mut [u8],
        expected: KeyId,
    ) -> Result<(Frame<'a, 'k>, Opened), OpenError> {
        let (header, opened) = ccmp::to_open(parser, mpdu, expected, self.mic_len)?;
        let payload = opened.payload.clone();
        let blocks = self.blocks(&header, opened.pn, payload.len());
        let frame = Frame::new(mpdu, payload, self.schedule, blocks);
        Ok((frame, opened))
    }
}

/// Flags of B0: Adata, L = 2 in bits 0 to 2, (M - 2) / 2 in bits 3 to 5 (RFC 3610 section 2.2). The flags of Enhanced
/// CCMP are disjoint from these.
#[inline(always)]
pub(crate) const fn b0_flags(suite: Suite) -> u8 {
    match suite {
        Suite::Enhanced(lanes) => lanes.b0_flags(),
        _ => 0x41 | (((suite.mic_len() - 2) / 2) << 3) as u8,
    }
}

/// A [`TemporalKey`] of CCMP-128.
#[derive(Debug, Clone)]
pub struct Ccmp(TemporalKey);

impl Ccmp {
    /// Expands a temporal key.
    #[must_use]
    pub fn new(tk: &[u8; 16]) -> Ccmp {
        Ccmp(TemporalKey::new(Suite::Ccmp128, tk).expect("the key has the suite's length"))
    }
}

impl core::ops::Deref for Ccmp {
    type Target = TemporalKey;

    fn deref(&self) -> &TemporalKey {
        &self.0
    }
}

/// Seals every MPDU of the batch in place, each with its own key. Suites may be mixed.
///
/// # Errors
/// [`SealError`] for the first malformed job; the batch is then unchanged.
pub fn seal_each(batch: &mut [(&TemporalKey, SealJob<'_>)]) -> Result<(), SealError> {
    check(batch.iter().map(|(key, job)| (key.by_value(), job)))?;
    seal_checked(batch.iter_mut().map(|(key, job)| (key.by_value(), job)));
    Ok(())
}

/// Opens every MPDU of the batch in place, each with its own key, and sets the verdict of each job. Suites may be
/// mixed.
pub fn open_each(batch: &mut [(&TemporalKey, OpenJob<'_>)]) {
    open_all(batch.iter_mut().map(|(key, job)| (key.by_value(), job)));
}

/// Checks all jobs of a batch before the batch is changed.
#[inline(always)]
fn check<'b, 'j: 'b>(jobs: impl Iterator<Item = (KeyOfFrame<'b>, &'b SealJob<'j>)>) -> Result<(), SealError> {
    let mut parser = Parser::new();
    for (job, (key, seal)) in jobs.enumerate() {
        ccmp::to_seal(&mut parser, seal, key.mic_len).map_err(|fault| SealError { job, fault })?;
    }
    Ok(())
}

#[inline(always)]
fn seal_checked<'b, 'j: 'b>(mut jobs: impl ExactSizeIterator<Item = (KeyOfFrame<'b>, &'b mut SealJob<'j>)>) {
    while jobs.len() > 0 {
        let (mut window, mut parser) = (Window::new(), Parser::new());
        // `collect` would move the whole window.
        for _ in 0..jobs.len().min(WINDOW) {
            let Some((key, job)) = jobs.next() else { break };
            let Ok((header, payload)) = ccmp::to_seal(&mut parser, job, key.mic_len) else {
                unreachable!("jobs are checked before the batch is changed")
            };
            let blocks = key.blocks(&header, job.pn, payload.len());
            window.push(key.frame_to_seal(job, payload, blocks));
        }
        window.protect::<SEAL>();
    }
}

#[inline(never)]
fn open_all<'b, 'j: 'b>(mut jobs: impl ExactSizeIterator<Item = (KeyOfFrame<'b>, &'b mut OpenJob<'j>)>) {
    while jobs.len() > 0 {
        let (mut window, mut parser) = (Window::new(), Parser::new());
        let mut verdicts: ArrayVec<&mut Result<Opened, OpenError>, WINDOW> = ArrayVec::new();
        for (key, job) in jobs.by_ref().take(WINDOW) {
            let (mpdu, expected, verdict) = job.parts();
            match key.frame_to_open(&mut parser, mpdu, expected) {
                Ok((frame, opened)) => {
                    *verdict = Ok(opened);
                    window.push(frame);
                    verdicts.push(verdict);
                }
                Err(error) => *verdict = Err(error),
            }
        }
        window.protect::<OPEN>();
        for (frame, verdict) in window.frames().iter_mut().zip(verdicts) {
            if let Err(error) = check_mic(frame) {
                *verdict = Err(error);
            }
        }
    }
}

/// Compares the MIC after the payload, and zeroes the payload if the MIC is wrong.
#[inline(always)]
pub(crate) fn check_mic(frame: &mut Frame<'_, '_>) -> Result<(), OpenError> {
    let (mic, payload, field) = frame.parts();
    if is_mic(field, mic) {
        return Ok(());
    }
    payload.fill(0);
    Err(OpenError::Mic)
}

/// Whether `field`, of 8 or 16 octets, equals the MIC or its first half. Runs in constant time.
#[inline(always)]
fn is_mic(field: &[u8], mic: [u8; 16]) -> bool {
    let half = |octets: &[u8], at: usize| {
        let octets = octets[at..].first_chunk().expect("a MIC has 8 or 16 octets");
        u64::from_ne_bytes(*octets)
    };
    let mut difference = half(field, 0) ^ half(&mic, 0);
    if field.len() == 16 {
        difference |= half(field, 8) ^ half(&mic, 8);
    }
    difference.ct_eq(&0).into()
}
