//! Runs contestants in turns: short slices, in random order. Disturbed slices are discarded.

use std::time::{Duration, Instant};

use crate::case::{BATCH, Fault};
use crate::clock;
use crate::contestant::Work;
use crate::frames::Random;

/// Target duration of a slice in nanoseconds. A slice has at least one batch.
const SLICE_NS: f64 = 100_000.0;
/// A slice is discarded if the core's clock changed by more than this share, or if the thread did not run for more than
/// this share.
const STEADY: f64 = 0.03;
/// Minimum number of slices per contestant, even after the time limit. On a very busy machine, measuring stops after
/// twice the time and at least twice as many rounds.
const LEAST_SLICES: usize = 7;
/// A batch is long if it takes more nanoseconds than this. Long batches require no warm-up and fewer slices.
const LONG_NS: f64 = 10.0 * SLICE_NS;
/// [`LEAST_SLICES`] of a long batch: the smallest number whose quartiles are not its extremes.
const LEAST_LONG_SLICES: usize = 5;

/// How long to measure.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Maximum number of rounds.
    pub rounds: usize,
    /// No round starts after this time, except to reach the minimum number of slices.
    pub within: Duration,
}

/// A median and the quartiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// First and third quartile.
    pub quartiles: (f64, f64),
    /// Number of values.
    pub count: usize,
}

impl Spread {
    /// The median and the quartiles of these values; `None` without values.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len();
        let at = |quarter: usize| values[(count - 1) * quarter / 4];
        (count > 0).then(|| Spread {
            median: at(2),
            quartiles: (at(1), at(3)),
            count,
        })
    }

    /// Subtracts a constant part of every value; `None` if nothing remains of the first quartile.
    #[must_use]
    pub fn less(self, other: f64) -> Option<Spread> {
        let quartiles = (self.quartiles.0 - other, self.quartiles.1 - other);
        (quartiles.0 > 0.0).then_some(Spread {
            median: self.median - other,
            quartiles,
            ..self
        })
    }
}

/// Time per frame: nanoseconds, and core cycles if they can be counted.
pub type Taken = (Spread, Option<Spread>);

/// Subtracts the median of a common part from a contestant's time; `None` if other load on the machine made the common
/// part longer than the whole.
#[must_use]
pub fn without((ns, cycles): Taken, common: Taken) -> Option<Taken> {
    let cycles = match cycles.zip(common.1) {
        Some((cycles, common)) => Some(cycles.less(common.median)?),
        None => None,
    };
    Some((ns.less(common.0.median)?, cycles))
}

/// A contestant with the identifier `id`.
pub struct Contestant<'s, I> {
    /// The identifier.
    pub id: I,
    work: Box<dyn Work>,
    /// The frames before each batch, if they must be restored.
    fresh: Option<&'s [u8]>,
    /// Batches per slice.
    repeat: u32,
    /// Whether a batch is long.
    long: bool,
    /// Nanoseconds per frame, one value per slice.
    ns: Vec<f64>,
    cycles: Vec<f64>,
}

impl<'s, I> Contestant<'s, I> {
    /// A contestant that processes the frames of `work`. `fresh` restores them before each batch.
    pub fn new(id: I, work: Box<dyn Work>, fresh: Option<&'s [u8]>) -> Contestant<'s, I> {
        Contestant {
            id,
            work,
            fresh,
            repeat: 1,
            long: false,
            ns: Vec::new(),
            cycles: Vec::new(),
        }
    }

    fn batch(&mut self) -> Result<(), Fault> {
        if let Some(fresh) = self.fresh {
            self.work.frames().buffer.copy_from_slice(fresh);
        }
        self.work.run()
    }

    /// Chooses the number of batches per slice.
    fn calibrate(&mut self) -> Result<(), Fault> {
        let mut least_ns = f64::INFINITY;
        for _ in 0..3 {
            let from = clock::ticks();
            self.batch()?;
            least_ns = least_ns.min((clock::ticks() - from) as f64 * clock::ns_per_tick());
            self.long = least_ns > LONG_NS;
            if self.long {
                break;
            }
        }
        while f64::from(self.repeat + 1) * least_ns <= SLICE_NS {
            self.repeat += 1;
        }
        Ok(())
    }

    fn has_enough(&self) -> bool {
        let least = if self.long {
            LEAST_LONG_SLICES
        } else {
            LEAST_SLICES
        };
        self.ns.len() >= least
    }

    fn slice(&mut self) -> Result<(), Fault> {
        if !self.long {
            self.batch()?;
        }
        let (before, had) = (clock::cycles_per_tick(), clock::thread_ns());
        let from = clock::ticks();
        for _ in 0..self.repeat {
            self.batch()?;
        }
        let ticks = (clock::ticks() - from) as f64;
        let per_frame = ticks / f64::from(self.repeat) / BATCH as f64;
        let had = had.zip(clock::thread_ns()).map(|(from, to)| to - from);
        let ns = ticks * clock::ns_per_tick();
        if had.is_some_and(|had| ns - had > STEADY * ns) {
            return Ok(());
        }
        if let Some((before, after)) = before.zip(clock::cycles_per_tick()) {
            if (before / after - 1.0).abs() > STEADY {
                return Ok(());
            }
            self.cycles.push(per_frame * (before + after) / 2.0);
        }
        self.ns.push(per_frame * clock::ns_per_tick());
        Ok(())
    }

    /// The measured time; `None` if no slice was kept.
    pub fn taken(&mut self) -> Option<Taken> {
        let ns = Spread::of(std::mem::take(&mut self.ns))?;
        Some((ns, Spread::of(std::mem::take(&mut self.cycles))))
    }
}

/// Runs all contestants in turns as long as `effort` specifies. The time limit starts at `start`.
///
/// # Errors
/// The error of a contestant.
pub fn take_turns<I>(all: &mut [Contestant<'_, I>], effort: Effort, start: Instant) -> Result<(), Fault> {
    for contestant in &mut *all {
        contestant.calibrate()?;
    }
    let mut random = Random(99);
    for round in 0..effort.rounds {
        let elapsed = start.elapsed();
        let late = elapsed >= effort.within;
        let busy = round >= 2 * LEAST_SLICES && elapsed / 2 >= effort.within;
        if late && (busy || all.iter().all(Contestant::has_enough)) {
            break;
        }
        for i in (1..all.len()).rev() {
            all.swap(i, random.below(i + 1));
        }
        for contestant in &mut *all {
            if !(late && contestant.has_enough()) {
                contestant.slice()?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_enclose_the_median() {
        let spread = Spread::of(vec![9.0, 1.0, 3.0, 7.0, 5.0]).unwrap();
        assert_eq!((spread.median, spread.quartiles), (5.0, (3.0, 7.0)));
        assert_eq!(spread.count, 5);
        assert_eq!(Spread::of(vec![]), None);
    }

    #[test]
    fn a_part_is_never_longer_than_the_whole() {
        let spread = |values: &[f64]| Spread::of(values.to_vec()).unwrap();
        let (whole, common) = (spread(&[4.0, 5.0, 6.0]), spread(&[3.0]));
        let (ns, cycles) = without((whole, None), (common, None)).unwrap();
        assert_eq!((ns.median, ns.quartiles, cycles), (2.0, (1.0, 2.0), None));
        let disturbed = spread(&[9.0]);
        assert_eq!(without((whole, None), (disturbed, None)), None);
        assert_eq!(without((whole, Some(whole)), (common, Some(disturbed))), None);
    }
}
