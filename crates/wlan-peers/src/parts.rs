//! Times of the parts of sealing and opening one frame: the MIC, the cipher, and both together.
//!
//! Frames are processed one after another with one key, so each figure is the delay of a frame. The halves are those of
//! [`Half`]. With AES, sealing takes less than the sum of its halves, because the engine interleaves them.

use std::time::{Duration, Instant};

use wlan_ciphers::{Backend, Half, Suite};

use crate::case::{BATCH, Case, Fault, Who};
use crate::contestant::{HalfOfEngine, Idle, Work};
use crate::frames::Sizes;
use crate::measure::Stage;
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

    const fn half(self) -> Option<Half> {
        match self {
            Part::Mic => Some(Half::Mic),
            Part::Cipher => Some(Half::Cipher),
            Part::Seal | Part::Open => None,
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

/// Times the parts of one of the [`suites`](crate::suites) on frames with payloads of `payload_b` octets (between the
/// suite's header and its MIC), in turns, for about `within`. Parts during which the clock was never steady are
/// omitted.
///
/// First compares the output of both halves in sequence, and the output of opening, with the frames of the portable
/// engine.
///
/// # Errors
/// Each kind of [`Fault`] except [`Fault::Failed`].
pub fn measure_parts(
    suite: Suite,
    payload_b: usize,
    backend: Backend,
    within: Duration,
) -> Result<Vec<PartTime>, Fault> {
    let start = Instant::now();
    let sealing = Stage::new(case(suite, payload_b, false), BATCH)?;
    let opening = Stage::new(case(suite, payload_b, true), BATCH)?;
    compare_halves(suite, backend, &sealing)?;
    // Opening requires fresh ciphertext, so the time of the copy is subtracted.
    let fresh = Some(&opening.before.buffer[..]);
    let mut all = vec![Contestant::new(
        None,
        Box::new(Idle(opening.before.clone())),
        fresh,
    )];
    for part in Part::ALL {
        let stage = if part == Part::Open { &opening } else { &sealing };
        let mut work = match part.half() {
            Some(half) => Box::new(half_of(half, backend, stage)?),
            None => stage.engine(backend)?,
        };
        if part.half().is_none() {
            stage.same(Who::Airtoll(backend), &mut *work)?;
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
            Part::Open => without(of(Some(part))?, of(None)?),
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

fn half_of(half: Half, backend: Backend, sealing: &Stage) -> Result<HalfOfEngine, Fault> {
    HalfOfEngine::new(half, backend, &sealing.keys[0], sealing.before.clone())
}

fn compare_halves(suite: Suite, backend: Backend, sealing: &Stage) -> Result<(), Fault> {
    let [first, second] = Half::in_order(suite);
    let mut first = half_of(first, backend, sealing)?;
    first.run()?;
    let mut second = half_of(second, backend, sealing)?;
    second.frames().buffer.copy_from_slice(&first.frames().buffer);
    second.run()?;
    sealing.compare(Who::Airtoll(backend), second.frames())
}
