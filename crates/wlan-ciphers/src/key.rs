//! Temporal keys of the AES suites, which seal and open batches.
//!
//! A batch is processed in windows of up to 128 frames:
//!
//! 1. (each frame) parse the header, build the nonce and AAD blocks; then, if no frame is malformed, write the cipher
//!    headers;
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

use crate::aad::{Profile, Recipe};
use crate::ccmp;
#[cfg(feature = "study")]
use crate::engine::pass::{CTR, MIC};
use crate::engine::pass::{OPEN, Pass, SEAL};
use crate::engine::{self, Backend, BlocksInOrder, Frame, Machine, Mode, Schedule, Task, WINDOW, Window};
use crate::enhanced::Lanes;
#[cfg(feature = "study")]
use crate::half::Half;
use crate::{KeyId, Method, OpenError, OpenJob, Opened, SealError, SealFault, SealJob, Suite};

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
    profile: Profile,
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
        let mode = match suite.method() {
            Method::Ccm | Method::Lanes(Lanes::One) => Mode::Ccm,
            Method::Gcm => Mode::Gcm,
            Method::Lanes(lanes) => Mode::Lanes(lanes.count()),
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
            profile: Profile::new(mode, b0_flags(suite), suite.mic_len()),
            schedule,
        })
    }

    /// Turns SPP A-MSDU protection on or off. Turn it on if both stations set SPP A-MSDU Capable in their RSN
    /// Capabilities (9.4.2.24.4): the MIC then covers A-MSDU Present of QoS Control (12.5.3.3.3). By default the AAD
    /// masks that bit.
    #[must_use]
    pub fn with_spp_amsdu(mut self, on: bool) -> TemporalKey {
        self.profile = self.profile.with_spp_amsdu(on);
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
    /// Seals every MPDU of the batch in place: sets its Protected bit, writes the cipher header, encrypts the plaintext
    /// and writes the MIC.
    ///
    /// # Errors
    /// [`SealError`] for the first malformed job; the batch is then unchanged.
    pub fn seal(&self, batch: &mut [SealJob<'_>]) -> Result<(), SealError> {
        if let [job] = batch {
            return self.seal_one(job).map_err(|fault| SealError { job: 0, fault });
        }
        let key = self.by_value();
        let later = check(batch.iter().map(|job| (key, job)), WINDOW);
        let jobs = batch.iter_mut().map(|job| (key, job));
        engine::perform(self.schedule.kind, Sealing { jobs, later })
    }

    /// Opens every MPDU of the batch in place and sets the verdict of each job.
    pub fn open(&self, batch: &mut [OpenJob<'_>]) {
        if let [job] = batch {
            return self.open_one(job);
        }
        let key = self.by_value();
        let jobs = batch.iter_mut().map(|job| (key, job));
        engine::perform(self.schedule.kind, Opening { jobs });
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

    /// Seals one MPDU in place, like [`seal`](TemporalKey::seal).
    ///
    /// # Errors
    /// The job's fault; the job is then unchanged.
    pub fn seal_one(&self, job: &mut SealJob<'_>) -> Result<(), SealFault> {
        self.pass_over::<SEAL>(job)
    }

    /// Every step adds to the latency of a single frame, so this path does as little as possible.
    #[inline(always)]
    fn pass_over<const PASS: Pass>(&self, job: &mut SealJob<'_>) -> Result<(), SealFault> {
        let key = self.by_value();
        let (header, payload) = ccmp::to_seal(job, key.profile.mic_len())?;
        let blocks = header.blocks(key.profile, job.pn, payload.len());
        let mut frame = key.frame_to_seal(job, payload, blocks);
        frame.write_header();
        engine::protect_one::<PASS>(&mut frame);
        Ok(())
    }

    /// Opens one MPDU in place and sets the verdict of the job, like [`open`](TemporalKey::open).
    pub fn open_one(&self, job: &mut OpenJob<'_>) {
        let (mpdu, expected, verdict) = job.parts();
        *verdict = self.open_mpdu(mpdu, expected);
    }

    #[inline(always)]
    fn open_mpdu(&self, mpdu: &mut [u8], expected: KeyId) -> Result<Opened, OpenError> {
        let key = self.by_value();
        let header = ccmp::header_to_open(mpdu)?;
        let opened = ccmp::to_open(&header, mpdu, expected, key.profile.mic_len())?;
        let blocks = header.blocks(key.profile, opened.pn, opened.payload.len());
        let mut frame = Frame::new(mpdu, opened.payload.clone(), key.schedule, blocks);
        engine::protect_one::<OPEN>(&mut frame);
        check_mic(&mut frame)?;
        Ok(opened)
    }

    /// The key as the loops over a batch use it.
    #[inline(always)]
    fn by_value(&self) -> KeyOfFrame<'_> {
        KeyOfFrame {
            schedule: &self.schedule,
            profile: self.profile,
        }
    }
}

/// The key of a frame. It is passed by value: a loop that writes to MPDUs would otherwise read its fields again for each
/// of them.
#[derive(Clone, Copy)]
struct KeyOfFrame<'k> {
    schedule: &'k Schedule,
    profile: Profile,
}

impl<'k> KeyOfFrame<'k> {
    /// The frame. Its MPDU is unchanged until the frame's header is written. A `Result` with a frame would be copied.
    #[inline(always)]
    fn frame_to_seal<'a>(
        self,
        job: &'a mut SealJob<'_>,
        payload: Range<usize>,
        blocks: BlocksInOrder,
    ) -> Frame<'a, 'k> {
        let cipher_header = ccmp::header(job.pn, job.key_id);
        Frame::new(job.mpdu, payload, self.schedule, blocks).with_cipher_header(cipher_header)
    }
}

/// Flags of B0: Adata, L = 2 in bits 0 to 2, (M - 2) / 2 in bits 3 to 5 (RFC 3610 section 2.2). The flags of Enhanced
/// CCMP are disjoint from these.
#[inline(always)]
pub(crate) const fn b0_flags(suite: Suite) -> u8 {
    match suite.lanes() {
        Some(lanes) => lanes.b0_flags(),
        None => 0x41 | (((suite.mic_len() - 2) / 2) << 3) as u8,
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
    let Some((first, _)) = batch.first() else {
        return Ok(());
    };
    let kind = first.schedule.kind;
    let later = check(batch.iter().map(|(key, job)| (key.by_value(), job)), WINDOW);
    let jobs = batch.iter_mut().map(|(key, job)| (key.by_value(), job));
    engine::perform(kind, Sealing { jobs, later })
}

/// Opens every MPDU of the batch in place, each with its own key, and sets the verdict of each job. Suites may be
/// mixed.
pub fn open_each(batch: &mut [(&TemporalKey, OpenJob<'_>)]) {
    if let Some((first, _)) = batch.first() {
        let kind = first.schedule.kind;
        let jobs = batch.iter_mut().map(|(key, job)| (key.by_value(), job));
        engine::perform(kind, Opening { jobs });
    }
}

/// Checks the jobs from number `from` on.
#[inline(always)]
fn check<'b, 'j: 'b>(
    jobs: impl Iterator<Item = (KeyOfFrame<'b>, &'b SealJob<'j>)>,
    from: usize,
) -> Result<(), SealError> {
    for (job, (key, seal)) in jobs.enumerate().skip(from) {
        ccmp::to_seal(seal, key.profile.mic_len()).map_err(|fault| SealError { job, fault })?;
    }
    Ok(())
}

/// Seals a batch.
struct Sealing<I> {
    jobs: I,
    /// The result of checking the jobs after the first window.
    later: Result<(), SealError>,
}

impl<'b, 'j: 'b, I> Task for Sealing<I>
where
    I: ExactSizeIterator<Item = (KeyOfFrame<'b>, &'b mut SealJob<'j>)>,
{
    type Output = Result<(), SealError>;

    #[inline(always)]
    fn run<M: Machine>(self, m: M) -> Result<(), SealError> {
        let Sealing { mut jobs, later } = self;
        let mut done = 0;
        while jobs.len() > 0 {
            let mut window = Window::new();
            let mut recipe = Recipe::none();
            // `collect` would move the whole window.
            for place in 0..jobs.len().min(WINDOW) {
                let Some((key, job)) = jobs.next() else { break };
                let failed = |fault| SealError {
                    job: done + place,
                    fault,
                };
                let header = match recipe.header(key.profile, job.mpdu) {
                    Some(header) => header,
                    None => {
                        let header = ccmp::header_to_seal(job.mpdu).map_err(failed)?;
                        recipe = header.recipe(key.profile);
                        header
                    }
                };
                let payload = ccmp::payload_to_seal(&header, job, key.profile.mic_len()).map_err(failed)?;
                let blocks = recipe.blocks(m, &header, job.pn, payload.len());
                window.push(key.frame_to_seal(job, payload, blocks));
            }
            // Nothing is written until all jobs are checked.
            later?;
            done += window.frames().len();
            window.frames().iter_mut().for_each(Frame::write_header);
            window.protect::<SEAL>();
        }
        Ok(())
    }
}

/// Opens a batch.
struct Opening<I> {
    jobs: I,
}

impl<'b, 'j: 'b, I: ExactSizeIterator<Item = (KeyOfFrame<'b>, &'b mut OpenJob<'j>)>> Task for Opening<I> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(mut self, m: M) {
        while self.jobs.len() > 0 {
            let (mut window, mut recipe) = (Window::new(), Recipe::none());
            let mut verdicts: ArrayVec<&mut Result<Opened, OpenError>, WINDOW> = ArrayVec::new();
            for (key, job) in self.jobs.by_ref().take(WINDOW) {
                let (mpdu, expected, verdict) = job.parts();
                let header = match recipe.header(key.profile, mpdu) {
                    Some(header) => Ok(header),
                    None => ccmp::header_to_open(mpdu).inspect(|header| recipe = header.recipe(key.profile)),
                };
                let opened = header.and_then(|header| {
                    let opened = ccmp::to_open(&header, mpdu, expected, key.profile.mic_len())?;
                    let blocks = recipe.blocks(m, &header, opened.pn, opened.payload.len());
                    Ok((opened, blocks))
                });
                match opened {
                    Ok((opened, blocks)) => {
                        window.push(Frame::new(mpdu, opened.payload.clone(), key.schedule, blocks));
                        *verdict = Ok(opened);
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
