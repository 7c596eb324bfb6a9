//! One case, measured for all that can do it: interleaved, in random order, medians.

use std::time::Instant;

use wlan_ciphers::{Backend, Suite};

use crate::case::{BATCH, Case, Fault, Who};
use crate::contestant::{Engine, Idle, Peer, Work, keys};
use crate::frames::Frames;
use crate::library::{Library, Run};
use crate::turns::{Contestant, Effort, Spread, take_turns, without};

/// Every suite that can be measured: all but BIP, which protects no data.
pub fn suites() -> impl Iterator<Item = Suite> {
    Suite::ALL.into_iter().filter(|suite| !suite.is_bip())
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

/// A case set up: the frames before, and after it is done.
pub(crate) struct Stage {
    case: Case,
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) before: Frames,
    after: Frames,
}

impl Stage {
    pub(crate) fn new(case: Case, count: usize) -> Result<Stage, Fault> {
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

    pub(crate) fn engine(&self, backend: Backend) -> Result<Box<dyn Work>, Fault> {
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
    pub(crate) fn same(&self, who: Who, work: &mut dyn Work) -> Result<(), Fault> {
        work.run()?;
        self.compare(who, work.frames())
    }

    /// Compares what became of the frames, and makes them as they were before.
    pub(crate) fn compare(&self, who: Who, got: &mut Frames) -> Result<(), Fault> {
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
    let fresh = case.open.then_some(&stage.before.buffer[..]);
    // Opening needs fresh ciphertext: all copy it first, and the time of the copy alone is taken off.
    if case.open {
        all.push(Contestant::new(None, Box::new(Idle(stage.before.clone())), fresh));
    }
    for backend in Backend::available() {
        let mut work = stage.engine(backend)?;
        stage.same(Who::Airtoll(backend), &mut *work)?;
        // WEP and TKIP do not know backends: they are measured once.
        let wanted = if case.suite.is_rc4() {
            &backends[..1.min(backends.len())]
        } else {
            backends
        };
        if wanted.contains(&backend) {
            all.push(Contestant::new(Some(Who::Airtoll(backend)), work, fresh));
        }
    }
    for (who, mut work) in stage.peers() {
        stage.same(who, &mut *work)?;
        all.push(Contestant::new(Some(who), work, fresh));
    }

    take_turns(&mut all, effort, start)?;
    let copy = all.iter_mut().find(|contestant| contestant.id.is_none());
    let copy = copy.and_then(Contestant::taken);
    let mut figures: Vec<Figure> = all.iter_mut().filter_map(figure).collect();
    if let Some(copy) = copy {
        for figure in &mut figures {
            let taken = (figure.ns_per_frame, figure.cycles_per_frame);
            (figure.ns_per_frame, figure.cycles_per_frame) = without(taken, copy);
        }
    }
    figures.sort_by(|a, b| a.ns_per_frame.median.total_cmp(&b.ns_per_frame.median));
    Ok(Figures {
        case,
        payload_b: stage.before.payloads_b() as f64 / BATCH as f64,
        figures,
    })
}

fn figure(contestant: &mut Contestant<'_, Option<Who>>) -> Option<Figure> {
    let who = contestant.id?;
    let (ns_per_frame, cycles_per_frame) = contestant.taken()?;
    Some(Figure {
        who,
        ns_per_frame,
        cycles_per_frame,
    })
}
