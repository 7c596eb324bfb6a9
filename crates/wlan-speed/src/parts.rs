//! Times of the parts of sealing and opening one frame: the MIC, the cipher, and both together.
//!
//! Frames are processed one after another with one key, so each figure is the delay of a frame. The halves are those of
//! [`Half`]. With AES, sealing takes less than the sum of its halves, because the engine interleaves them.

use std::time::{Duration, Instant};

use wlan_ciphers::{Backend, Half, Lanes, Suite};

use crate::case::{BATCH, Case, Fault, suites};
use crate::contestant::{Idle, OneByOne, Pass, Printed, Work};
use crate::frames::Sizes;
use crate::stage::Stage;
use crate::turns::{Contestant, Effort, Spread, take_turns, without};

/// A timed part of processing a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The MIC, or the suite's equivalent, alone.
    Mic,
    /// Encryption of the payload alone.
    Cipher,
    /// Sealing.
    Seal,
    /// Opening.
    Open,
}

impl Part {
    /// All four.
    pub const ALL: [Part; 4] = [Part::Mic, Part::Cipher, Part::Seal, Part::Open];

    /// `mic`, `cipher`, `seal`, `open`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Part::Mic => "mic",
            Part::Cipher => "cipher",
            Part::Seal => "seal",
            Part::Open => "open",
        }
    }

    const fn pass(self) -> Pass {
        match self {
            Part::Mic => Pass::Half(Half::Mic),
            Part::Cipher => Pass::Half(Half::Cipher),
            Part::Seal => Pass::Seal,
            Part::Open => Pass::Open,
        }
    }
}

/// A scheme whose parts can be timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// One of the [`suites`], with the engine.
    Suite(Suite),
    /// The lanes of Hayajneh et al. as printed: CCMP-128 with a MIC that can be forged. Only its times are of interest.
    Printed(Lanes),
}

impl Scheme {
    /// All suites, and the printed scheme with each number of lanes.
    pub fn all() -> impl Iterator<Item = Scheme> {
        suites().map(Scheme::Suite).chain(Lanes::ALL.map(Scheme::Printed))
    }

    /// The suite's name, or `paper-lanes1`, `paper-lanes2`, `paper-lanes4`, `paper-lanes8`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::Suite(suite) => suite.name(),
            Scheme::Printed(Lanes::One) => "paper-lanes1",
            Scheme::Printed(Lanes::Two) => "paper-lanes2",
            Scheme::Printed(Lanes::Four) => "paper-lanes4",
            Scheme::Printed(Lanes::Eight) => "paper-lanes8",
        }
    }

    /// The suite with the same layout of frames.
    const fn suite(self) -> Suite {
        match self {
            Scheme::Suite(suite) => suite,
            Scheme::Printed(_) => Suite::Ccmp128,
        }
    }
}

/// The time of one part.
#[derive(Debug, Clone, Copy)]
pub struct PartTime {
    /// The part.
    pub part: Part,
    /// Nanoseconds per frame.
    pub ns_per_frame: Spread,
    /// Core cycles per frame; `None` if they cannot be counted.
    pub cycles_per_frame: Option<Spread>,
}

/// Times the parts of a scheme on frames with payloads of `payload_b` octets (between the
/// suite's header and its MIC), in turns, for about `within`. Parts during which the clock was never steady are
/// omitted.
///
/// First compares the output of both halves in sequence, and the output of opening, with the frames of the portable
/// engine or, for the printed scheme, of complete sealing. The printed scheme does not depend on the backend.
///
/// # Errors
/// Each kind of [`Fault`] except [`Fault::Failed`].
pub fn measure_parts(
    scheme: Scheme,
    payload_b: usize,
    backend: Backend,
    within: Duration,
) -> Result<Vec<PartTime>, Fault> {
    let start = Instant::now();
    let stage = |open| {
        let mut stage = Stage::new(case(scheme.suite(), payload_b, open), BATCH)?;
        if let Scheme::Printed(lanes) = scheme {
            stage.reseal(|key, frames| Ok(Box::new(Printed::new(Pass::Seal, lanes, key, frames)?)))?;
        }
        Ok::<_, Fault>(stage)
    };
    let (sealing, opening) = (stage(false)?, stage(true)?);
    compare_halves(scheme, backend, &sealing)?;
    // Opening requires fresh ciphertext, so the time of the copy is subtracted.
    let fresh = Some(&opening.before.buffer[..]);
    let mut all = vec![Contestant::new(
        None,
        Box::new(Idle(opening.before.clone())),
        fresh,
    )];
    for part in Part::ALL {
        let stage = if part == Part::Open { &opening } else { &sealing };
        let mut work = work(scheme, part.pass(), backend, stage)?;
        if matches!(part, Part::Seal | Part::Open) {
            stage.same(&format_args!("airtoll {backend}"), &mut *work)?;
        }
        all.push(Contestant::new(
            Some(part),
            work,
            fresh.filter(|_| part == Part::Open),
        ));
    }
    let effort = Effort {
        rounds: usize::MAX,
        within,
    };
    take_turns(&mut all, effort, start)?;
    let taken: Vec<_> = all.iter_mut().map(|one| (one.id, one.taken())).collect();
    let of = |id| {
        taken
            .iter()
            .find(|(found, _)| *found == id)
            .and_then(|&(_, taken)| taken)
    };
    let figure = |part| {
        let taken = match part {
            Part::Open => without(of(Some(part))?, of(None)?)?,
            _ => of(Some(part))?,
        };
        Some(PartTime {
            part,
            ns_per_frame: taken.0,
            cycles_per_frame: taken.1,
        })
    };
    Ok(Part::ALL.into_iter().filter_map(figure).collect())
}

fn case(suite: Suite, payload_b: usize, open: bool) -> Case {
    Case {
        suite,
        sizes: Sizes::Fixed(payload_b),
        open,
        key_each: false,
        one_by_one: true,
    }
}

/// A pass over the frames of a stage.
fn work(scheme: Scheme, pass: Pass, backend: Backend, stage: &Stage) -> Result<Box<dyn Work>, Fault> {
    let frames = stage.before.clone();
    Ok(match scheme {
        Scheme::Suite(_) => Box::new(OneByOne::new(pass, backend, &stage.keys, frames)?),
        Scheme::Printed(lanes) => Box::new(Printed::new(pass, lanes, &stage.keys[0], frames)?),
    })
}

fn compare_halves(scheme: Scheme, backend: Backend, sealing: &Stage) -> Result<(), Fault> {
    let of = |half| work(scheme, Pass::Half(half), backend, sealing);
    let [first, second] = Half::in_order(scheme.suite());
    let mut first = of(first)?;
    first.run()?;
    let mut second = of(second)?;
    second.frames().buffer.copy_from_slice(&first.frames().buffer);
    second.run()?;
    sealing.compare(&format_args!("airtoll {backend}"), second.frames())
}
