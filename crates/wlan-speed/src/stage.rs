//! A prepared case, with the keys of the engine and the expected output.

use std::fmt::Display;

use wlan_ciphers::Backend;

use crate::case::{Case, Fault};
use crate::contestant::{OneByOne, Pass, Work, keys};
use crate::frames::Frames;

/// A prepared case, with the frames before and after processing.
pub struct Stage {
    /// The case.
    pub case: Case,
    /// One key, or one key per frame.
    pub keys: Vec<Vec<u8>>,
    /// The frames that a contestant receives.
    pub before: Frames,
    after: Frames,
}

impl Stage {
    /// Prepares `count` frames. The portable engine seals them.
    ///
    /// # Errors
    /// [`Fault::Key`] or [`Fault::Seal`].
    pub fn new(case: Case, count: usize) -> Result<Stage, Fault> {
        let plain = Frames::new(case.suite, case.sizes, count);
        let keys = keys(case.suite, if case.key_each { count } else { 1 });
        let mut engine = OneByOne::new(Pass::Seal, Backend::Portable, &keys, plain.clone())?;
        engine.run()?;
        let sealed = engine.frames().clone();
        let (before, after) = if case.open {
            (sealed, plain)
        } else {
            (plain, sealed)
        };
        Ok(Stage {
            case,
            keys,
            before,
            after,
        })
    }

    /// Replaces the sealed frames with those of another scheme, whose layout of frames is the same.
    ///
    /// # Errors
    /// The error of the scheme.
    pub fn reseal(
        &mut self,
        sealer: impl FnOnce(&[u8], Frames) -> Result<Box<dyn Work>, Fault>,
    ) -> Result<(), Fault> {
        let (plain, sealed) = if self.case.open {
            (&self.after, &mut self.before)
        } else {
            (&self.before, &mut self.after)
        };
        let mut sealer = sealer(&self.keys[0], plain.clone())?;
        sealer.run()?;
        sealed.clone_from(sealer.frames());
        Ok(())
    }

    /// Processes the batch once and compares every octet, except the MIC after opening. `who` names the contestant.
    ///
    /// # Errors
    /// The error of the contestant, or [`Fault::Differs`].
    pub fn same(&self, who: &dyn Display, work: &mut dyn Work) -> Result<(), Fault> {
        work.run()?;
        self.compare(who, work.frames())
    }

    /// Compares the processed frames with the expected ones, and restores the original frames.
    ///
    /// # Errors
    /// [`Fault::Differs`].
    pub fn compare(&self, who: &dyn Display, got: &mut Frames) -> Result<(), Fault> {
        let mic_len = if self.case.open {
            self.case.suite.mic_len()
        } else {
            0
        };
        for (frame, &(at, len)) in self.after.places.iter().enumerate() {
            let place = at..at + len - mic_len;
            if got.buffer[place.clone()] != self.after.buffer[place] {
                let (case, who) = (self.case, who.to_string());
                return Err(Fault::Differs { case, who, frame });
            }
        }
        got.buffer.copy_from_slice(&self.before.buffer);
        Ok(())
    }
}
