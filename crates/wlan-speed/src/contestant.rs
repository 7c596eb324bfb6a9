//! The engine on one frame after another, with the frames and keys of a case, and the idle contestant.

use wlan_ciphers::study::{Head, PaperLanes, Split};
use wlan_ciphers::{
    Backend, Cipher, Half, KeyError, KeyId, Lanes, OpenJob, PacketNumber, Role, SealError, SealFault,
    SealJob, Suite,
};

use crate::case::Fault;
use crate::clock;
use crate::frames::{Frames, HEADER_LEN, Random};

/// Seals or opens its frames as the case specifies.
pub trait Work {
    /// Processes the whole batch in place.
    ///
    /// # Errors
    /// The reason why a frame was not processed.
    fn run(&mut self) -> Result<(), Fault>;
    /// The frames, before or after a run.
    fn frames(&mut self) -> &mut Frames;
}

/// Keys that look random.
pub fn keys(suite: Suite, count: usize) -> Vec<Vec<u8>> {
    let mut random = Random(7);
    let key = |_| {
        let mut key = vec![0; suite.key_len()];
        random.fill(&mut key);
        key
    };
    (0..count).map(key).collect()
}

/// The engine's keys with a backend. With TKIP, the station seals and the access point opens.
///
/// # Errors
/// If a key has a wrong length, or the CPU lacks the instructions.
pub fn ciphers(
    suite: Suite,
    keys: &[Vec<u8>],
    backend: Backend,
    is_opening: bool,
) -> Result<Vec<Cipher>, KeyError> {
    let role = if is_opening { Role::Ap } else { Role::Sta };
    let cipher = |key: &Vec<u8>| Cipher::with_backend(suite, key, role, backend);
    keys.iter().map(cipher).collect()
}

/// Processes one frame. Nothing here refers to the kernels for several frames, which would enlarge a program.
fn pass_over(cipher: &Cipher, pass: Pass, mpdu: &mut [u8], pn: u64) -> Result<(), Fault> {
    match pass {
        Pass::Open => {
            let mut job = open_job(mpdu);
            cipher.open_one(&mut job);
            verdict(&job)
        }
        Pass::Seal => cipher.seal_one(&mut seal_job(mpdu, pn)).map_err(seal_fault),
        Pass::Half(half) => cipher
            .seal_half(half, &mut seal_job(mpdu, pn))
            .map_err(seal_fault),
    }
}

fn seal_fault(fault: SealFault) -> Fault {
    Fault::Seal(SealError { job: 0, fault })
}

/// Whether the frame was opened.
///
/// # Errors
/// [`Fault::Open`].
#[inline]
pub fn verdict(job: &OpenJob<'_>) -> Result<(), Fault> {
    job.verdict().map(|_| ()).map_err(Fault::Open)
}

/// The processing of each frame by [`OneByOne`] and [`Printed`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// One half of sealing.
    Half(Half),
    /// Sealing.
    Seal,
    /// Opening.
    Open,
}

/// The engine on one frame after another.
pub struct OneByOne {
    pass: Pass,
    keys: Vec<Cipher>,
    frames: Frames,
}

impl OneByOne {
    /// Takes one key, or one key per frame.
    ///
    /// # Errors
    /// [`Fault::Key`].
    pub fn new(pass: Pass, backend: Backend, keys: &[Vec<u8>], frames: Frames) -> Result<Self, Fault> {
        let keys = ciphers(frames.suite, keys, backend, pass == Pass::Open)?;
        Ok(OneByOne { pass, keys, frames })
    }
}

impl Work for OneByOne {
    fn run(&mut self) -> Result<(), Fault> {
        let first_pn = self.frames.pn(0);
        let mpdus = split(&mut self.frames.buffer, &self.frames.places).zip(first_pn..);
        // Keys take turns as in `Frames::packets`.
        for ((mpdu, pn), key) in mpdus.zip(self.keys.iter().cycle()) {
            pass_over(key, self.pass, mpdu, pn)?;
            clock::fence();
        }
        Ok(())
    }

    fn frames(&mut self) -> &mut Frames {
        &mut self.frames
    }
}

/// The lanes of Hayajneh et al. as printed, frame by frame with one key: complete sealing, opening, or one half of
/// sealing. The blocks go to the lanes in turn and B0 and the AAD to the first lane, as in `rtl/`.
pub struct Printed {
    pass: Pass,
    key: PaperLanes,
    frames: Frames,
}

impl Printed {
    /// Takes a key of CCMP-128.
    ///
    /// # Errors
    /// If the key has a wrong length.
    pub fn new(pass: Pass, lanes: Lanes, key: &[u8], frames: Frames) -> Result<Self, KeyError> {
        let key = key.try_into().map_err(|_| KeyError::Length {
            suite: Suite::Ccmp128,
            found: key.len(),
        })?;
        Ok(Printed {
            pass,
            key: PaperLanes::new(key, lanes, Split::Interleaved, Head::FirstLane),
            frames,
        })
    }
}

impl Work for Printed {
    fn run(&mut self) -> Result<(), Fault> {
        let first_pn = self.frames.pn(0);
        for (mpdu, pn) in split(&mut self.frames.buffer, &self.frames.places).zip(first_pn..) {
            let sealed = match self.pass {
                Pass::Half(half) => self.key.seal_half(half, &mut seal_job(mpdu, pn)),
                Pass::Seal => self.key.seal(&mut seal_job(mpdu, pn)),
                Pass::Open => {
                    let mut job = open_job(mpdu);
                    self.key.open(&mut job);
                    verdict(&job)?;
                    Ok(())
                }
            };
            sealed.map_err(seal_fault)?;
            clock::fence();
        }
        Ok(())
    }

    fn frames(&mut self) -> &mut Frames {
        &mut self.frames
    }
}

/// Splits the buffer into its MPDUs, which are in order.
pub fn split<'a>(
    buffer: &'a mut [u8],
    places: &'a [(usize, usize)],
) -> impl ExactSizeIterator<Item = &'a mut [u8]> {
    let (mut rest, mut offset) = (buffer, 0);
    places.iter().map(move |&(at, len)| {
        let (mpdu, after) = std::mem::take(&mut rest)[at - offset..].split_at_mut(len);
        (rest, offset) = (after, at + len);
        mpdu
    })
}

/// The job that seals a frame with this packet number.
///
/// # Panics
/// If the packet number exceeds 48 bits.
#[inline]
pub fn seal_job(mpdu: &mut [u8], pn: u64) -> SealJob<'_> {
    SealJob {
        mpdu,
        header_len: HEADER_LEN,
        pn: PacketNumber::new(pn).expect("48 bits"),
        key_id: KeyId::PAIRWISE,
    }
}

/// The job that opens a frame.
#[inline]
pub fn open_job(mpdu: &mut [u8]) -> OpenJob<'_> {
    OpenJob::new(mpdu, KeyId::PAIRWISE)
}

/// Does nothing, so that only the copy that opening requires before each run is timed.
pub struct Idle(
    /// The frames of the case.
    pub Frames,
);

impl Work for Idle {
    fn run(&mut self) -> Result<(), Fault> {
        std::hint::black_box(&mut self.0.buffer);
        Ok(())
    }

    fn frames(&mut self) -> &mut Frames {
        &mut self.0
    }
}
