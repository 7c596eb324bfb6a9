//! One case, measured for all that can do it: interleaved, in random order, medians.

use std::fmt;
use std::time::{Duration, Instant};

use wlan_ciphers::{Backend, KeyError, OpenError, SealError, Suite};

use crate::clock;
use crate::contestant::{Engine, Idle, Peer, Work, keys};
use crate::frames::{Frames, Random, Sizes};
use crate::library::{Interface, Library, Run};

/// Frames of a batch.
pub const BATCH: usize = 96;

/// Nanoseconds that a slice takes, or what one batch takes if that is longer.
const SLICE_NS: f64 = 100_000.0;
/// A slice during which the core's clock moved by more than this share, or someone else had the core for longer than this
/// share, is thrown away.
const STEADY: f64 = 0.03;
/// Slices of each contestant that are kept even if there is no time left, but for a machine so busy that twice the time and
/// twice as many slices are not enough for that.
const LEAST_SLICES: usize = 7;
/// A batch is long if it takes more nanoseconds than this: it needs no warming up, and fewer slices.
const LONG_NS: f64 = 10.0 * SLICE_NS;
/// [`LEAST_SLICES`] of a long batch: the fewest whose quartiles are not their extremes.
const LEAST_LONG_SLICES: usize = 5;

/// Every suite that can be measured: all but BIP, which protects no data.
pub fn suites() -> impl Iterator<Item = Suite> {
    Suite::ALL.into_iter().filter(|suite| !suite.is_bip())
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// One of [`suites`].
    pub suite: Suite,
    /// Sizes of the payloads.
    pub sizes: Sizes,
    /// Opening instead of sealing.
    pub open: bool,
    /// A key for each frame instead of one.
    pub key_each: bool,
    /// Each frame is done before the next starts, instead of a batch of [`BATCH`].
    pub one_by_one: bool,
}

/// Who does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The engine with a backend; WEP and TKIP have none of their own choosing.
    Airtoll(Backend),
    /// A library through one of its interfaces.
    Peer(Interface),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Airtoll(backend) => write!(f, "airtoll {backend}"),
            Who::Peer(interface) => interface.fmt(f),
        }
    }
}

/// How long to measure.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Rounds, at most.
    pub rounds: usize,
    /// No round starts after this time but for the first few, and those that make up for slices thrown away.
    pub within: Duration,
}

/// A median, and between which values the middle half lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// First and third quartile.
    pub quartiles: (f64, f64),
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_unstable_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let at = |quarter: usize| values[last * quarter / 4];
        Some(Spread {
            median: at(2),
            quartiles: (at(1), at(3)),
        })
    }

    fn less(self, other: f64) -> Spread {
        Spread {
            median: self.median - other,
            quartiles: (self.quartiles.0 - other, self.quartiles.1 - other),
        }
    }
}

/// What one contestant took.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Who.
    pub who: Who,
    /// Nanoseconds for a frame.
    pub ns_per_frame: Spread,
    /// Cycles of the core for a frame; `None` where they cannot be counted.
    pub cycles_per_frame: Option<Spread>,
}

/// What all took for a case, the fastest first.
#[derive(Debug, Clone)]
pub struct Figures {
    /// The case.
    pub case: Case,
    /// Mean octets of a payload.
    pub payload_b: f64,
    /// One for each contestant for whom the clock was steady long enough.
    pub figures: Vec<Figure>,
}

impl Figures {
    /// The fastest of those that `wanted` names.
    pub fn best(&self, wanted: impl Fn(Who) -> bool) -> Option<&Figure> {
        self.figures.iter().find(|figure| wanted(figure.who))
    }
}

/// Why a case cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Outputs are not the same: one of the two is wrong.
    #[error("{case:?}: the output of {who} differs from the portable engine's in frame {frame}")]
    Differs {
        /// The case.
        case: Case,
        /// Whose output.
        who: Who,
        /// Index in the batch.
        frame: usize,
    },
    /// A library refused.
    #[error("{who} failed at line {line} of its shim")]
    Failed {
        /// Which.
        who: Who,
        /// Where.
        line: i32,
    },
    /// The engine has no such key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The engine does not seal the frames.
    #[error(transparent)]
    Seal(SealError),
    /// The engine does not open the frames.
    #[error("a sealed frame does not open: {0}")]
    Open(OpenError),
}

/// A case set up: the frames before, and after it is done.
struct Stage {
    case: Case,
    keys: Vec<Vec<u8>>,
    before: Frames,
    after: Frames,
}

impl Stage {
    fn new(case: Case, count: usize) -> Result<Stage, Fault> {
        let plain = Frames::new(case.suite, case.sizes, count);
        let keys = keys(case.suite, if case.key_each { count } else { 1 });
        let sealing = Case {
            open: false,
            one_by_one: false,
            ..case
        };
        let mut engine = Engine::new(sealing, Backend::Portable, &keys, plain.clone())?;
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

    fn engine(&self, backend: Backend) -> Result<Box<dyn Work>, Fault> {
        let frames = self.before.clone();
        Ok(Box::new(Engine::new(self.case, backend, &self.keys, frames)?))
    }

    fn peers(&self) -> impl Iterator<Item = (Who, Box<dyn Work>)> {
        let interfaces = Library::ALL
            .iter()
            .flat_map(|library| library.interfaces(self.case.suite));
        interfaces.filter_map(|&interface| {
            let run = Run::new(interface, self.before.clone(), &self.keys, self.case.open)?;
            let one_by_one = self.case.one_by_one;
            let peer = Peer {
                interface,
                one_by_one,
                run,
            };
            Some((Who::Peer(interface), Box::new(peer) as Box<dyn Work>))
        })
    }

    /// Does it once and compares every octet but the MIC that opening leaves.
    fn same(&self, who: Who, work: &mut dyn Work) -> Result<(), Fault> {
        work.run()?;
        let got = work.frames();
        let mic_len = if self.case.open {
            self.case.suite.mic_len()
        } else {
            0
        };
        for (frame, &(at, len)) in self.after.places.iter().enumerate() {
            let place = at..at + len - mic_len;
            if got.buffer[place.clone()] != self.after.buffer[place] {
                let case = self.case;
                return Err(Fault::Differs { case, who, frame });
            }
        }
        got.buffer.copy_from_slice(&self.before.buffer);
        Ok(())
    }
}

/// Compares what every backend of this CPU and every library makes of `count` frames, at most [`BATCH`], with what the
/// portable engine makes of them as a batch; who they were.
///
/// # Errors
/// Each kind of [`Fault`].
pub fn compare(case: Case, count: usize) -> Result<Vec<Who>, Fault> {
    let stage = Stage::new(case, count)?;
    let mut compared = Vec::new();
    for backend in Backend::available() {
        stage.same(Who::Airtoll(backend), &mut *stage.engine(backend)?)?;
        compared.push(Who::Airtoll(backend));
    }
    for (who, mut work) in stage.peers() {
        stage.same(who, &mut *work)?;
        compared.push(who);
    }
    Ok(compared)
}

/// Measures a case for these backends and every library that can do it. Every output, those of all other backends
/// too, is first compared with that of the portable engine.
///
/// # Errors
/// Each kind of [`Fault`].
pub fn measure(case: Case, backends: &[Backend], effort: Effort) -> Result<Figures, Fault> {
    let start = Instant::now();
    let stage = Stage::new(case, BATCH)?;
    let mut all = Vec::new();
    // Opening needs fresh ciphertext: all copy it first, and the time of the copy alone is taken off.
    if case.open {
        all.push(Contestant::new(None, Box::new(Idle(stage.before.clone()))));
    }
    let is_aes = !matches!(case.suite, Suite::Wep40 | Suite::Wep104 | Suite::Tkip);
    for backend in Backend::available() {
        let mut work = stage.engine(backend)?;
        stage.same(Who::Airtoll(backend), &mut *work)?;
        // WEP and TKIP do not know backends: they are measured once.
        let wanted = if is_aes {
            backends
        } else {
            &backends[..1.min(backends.len())]
        };
        if wanted.contains(&backend) {
            all.push(Contestant::new(Some(Who::Airtoll(backend)), work));
        }
    }
    for (who, mut work) in stage.peers() {
        stage.same(who, &mut *work)?;
        all.push(Contestant::new(Some(who), work));
    }

    for contestant in &mut all {
        contestant.calibrate(&stage)?;
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
        for contestant in &mut all {
            if !(late && contestant.has_enough()) {
                contestant.slice(&stage)?;
            }
        }
    }
    let copy = all.iter_mut().find(|contestant| contestant.who.is_none());
    let copy = copy.and_then(Contestant::spreads);
    let mut figures: Vec<Figure> = all.iter_mut().filter_map(Contestant::figure).collect();
    if let Some((ns, cycles)) = copy {
        for figure in &mut figures {
            figure.ns_per_frame = figure.ns_per_frame.less(ns.median);
            figure.cycles_per_frame = figure
                .cycles_per_frame
                .zip(cycles)
                .map(|(figure, copy)| figure.less(copy.median));
        }
    }
    figures.sort_by(|a, b| a.ns_per_frame.median.total_cmp(&b.ns_per_frame.median));
    Ok(Figures {
        case,
        payload_b: stage.before.payloads_b() as f64 / BATCH as f64,
        figures,
    })
}

struct Contestant {
    /// Nobody, where the copy alone is measured.
    who: Option<Who>,
    work: Box<dyn Work>,
    /// Times that a slice does the batch.
    repeat: u32,
    /// Whether a batch is long.
    long: bool,
    /// For a frame.
    ns: Vec<f64>,
    cycles: Vec<f64>,
}

impl Contestant {
    fn new(who: Option<Who>, work: Box<dyn Work>) -> Contestant {
        Contestant {
            who,
            work,
            repeat: 1,
            long: false,
            ns: Vec::new(),
            cycles: Vec::new(),
        }
    }

    fn batch(&mut self, stage: &Stage) -> Result<(), Fault> {
        if stage.case.open {
            self.work.frames().buffer.copy_from_slice(&stage.before.buffer);
        }
        self.work.run()
    }

    /// Makes a slice as long as it shall be.
    fn calibrate(&mut self, stage: &Stage) -> Result<(), Fault> {
        let mut least_ns = f64::INFINITY;
        for _ in 0..3 {
            let from = clock::ticks();
            self.batch(stage)?;
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
        self.ns.len()
            >= if self.long {
                LEAST_LONG_SLICES
            } else {
                LEAST_SLICES
            }
    }

    fn slice(&mut self, stage: &Stage) -> Result<(), Fault> {
        if !self.long {
            self.batch(stage)?;
        }
        let (before, had) = (clock::cycles_per_tick(), clock::thread_ns());
        let from = clock::ticks();
        for _ in 0..self.repeat {
            self.batch(stage)?;
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

    fn spreads(&mut self) -> Option<(Spread, Option<Spread>)> {
        let ns = Spread::of(std::mem::take(&mut self.ns))?;
        Some((ns, Spread::of(std::mem::take(&mut self.cycles))))
    }

    fn figure(&mut self) -> Option<Figure> {
        let who = self.who?;
        let (ns_per_frame, cycles_per_frame) = self.spreads()?;
        Some(Figure {
            who,
            ns_per_frame,
            cycles_per_frame,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_enclose_the_median() {
        let spread = Spread::of(vec![9.0, 1.0, 3.0, 7.0, 5.0]).unwrap();
        assert_eq!((spread.median, spread.quartiles), (5.0, (3.0, 7.0)));
        assert_eq!(Spread::of(vec![]), None);
    }
}
