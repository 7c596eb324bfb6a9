//! Measures one case for all contestants that support it: interleaved, in random order, with medians.

use std::time::Instant;

use wlan_ciphers::{Backend, Suite};

use crate::case::{BATCH, Case, Fault, Who};
use crate::contestant::{Engine, FrontEnd, Idle, OneByOne, Pass, Peer, Prepared, Work, keys};
use crate::frames::Frames;
use crate::library::{Library, Run};
use crate::turns::{Contestant, Effort, Spread, take_turns, without};

/// Every suite that can be measured: all except BIP, which does not protect data.
pub fn suites() -> impl Iterator<Item = Suite> {
    Suite::ALL.into_iter().filter(|suite| !suite.is_bip())
}

/// The time of one contestant.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// The contestant.
    pub who: Who,
    /// Nanoseconds per frame.
    pub ns_per_frame: Spread,
    /// Core cycles per frame; `None` if they cannot be counted.
    pub cycles_per_frame: Option<Spread>,
}

/// The times of all contestants of a case, the fastest first.
#[derive(Debug, Clone)]
pub struct Figures {
    /// The case.
    pub case: Case,
    /// Mean octets of a payload.
    pub payload_b: f64,
    /// One figure per contestant. Contestants during whose slices the clock was not steady are omitted.
    pub figures: Vec<Figure>,
}

impl Figures {
    /// The fastest contestant that satisfies `wanted`.
    pub fn best(&self, wanted: impl Fn(Who) -> bool) -> Option<&Figure> {
        self.figures.iter().find(|figure| wanted(figure.who))
    }
}

/// A prepared case, with the frames before and after processing.
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
    pub(crate) fn reseal(
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

    pub(crate) fn engine(&self, backend: Backend) -> Result<Box<dyn Work>, Fault> {
        let frames = self.before.clone();
        if !self.case.one_by_one {
            return Ok(Box::new(Engine::new(self.case, backend, &self.keys, frames)?));
        }
        let pass = if self.case.open { Pass::Open } else { Pass::Seal };
        Ok(Box::new(OneByOne::new(pass, backend, &self.keys, frames)?))
    }

    /// The engine on prepared packets, for the suites that it supports in this form.
    pub(crate) fn prepared(&self, backend: Backend) -> Result<Option<Box<dyn Work>>, Fault> {
        if !matches!(self.case.suite, Suite::Gcmp128 | Suite::Gcmp256) {
            return Ok(None);
        }
        let frames = self.before.clone();
        let work = Prepared::new(self.case, backend, &self.keys, frames)?;
        Ok(Some(Box::new(work)))
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

    /// Processes the batch once and compares every octet, except the MIC after opening.
    pub(crate) fn same(&self, who: Who, work: &mut dyn Work) -> Result<(), Fault> {
        work.run()?;
        self.compare(who, work.frames())
    }

    /// Compares the processed frames with the expected ones, and restores the original frames.
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

/// Processes `count` frames, at most [`BATCH`], with every backend of this CPU and every library, and compares the
/// outputs with those of the portable engine on the batch. Returns the contestants.
///
/// # Errors
/// Each kind of [`Fault`].
pub fn compare(case: Case, count: usize) -> Result<Vec<Who>, Fault> {
    let stage = Stage::new(case, count)?;
    let mut compared = Vec::new();
    for backend in Backend::available() {
        stage.same(Who::Airtoll(backend), &mut *stage.engine(backend)?)?;
        compared.push(Who::Airtoll(backend));
        if let Some(mut work) = stage.prepared(backend)? {
            stage.same(Who::Prepared(backend), &mut *work)?;
            compared.push(Who::Prepared(backend));
        }
    }
    for (who, mut work) in stage.peers() {
        stage.same(who, &mut *work)?;
        compared.push(who);
    }
    Ok(compared)
}

/// Measures a case for these backends and every library that supports it. First compares every output, including those
/// of all other backends, with the output of the portable engine.
///
/// # Errors
/// Each kind of [`Fault`].
pub fn measure(case: Case, backends: &[Backend], effort: Effort) -> Result<Figures, Fault> {
    let start = Instant::now();
    let stage = Stage::new(case, BATCH)?;
    let mut all = Vec::new();
    let fresh = case.open.then_some(&stage.before.buffer[..]);
    // Opening requires fresh ciphertext: all contestants copy it first, and the time of the copy is subtracted.
    if case.open {
        all.push(Contestant::new(None, Box::new(Idle(stage.before.clone())), fresh));
    }
    for backend in Backend::available() {
        let mut work = stage.engine(backend)?;
        stage.same(Who::Airtoll(backend), &mut *work)?;
        // WEP and TKIP do not depend on the backend, so they are measured once.
        let wanted = if case.suite.is_rc4() {
            &backends[..1.min(backends.len())]
        } else {
            backends
        };
        if wanted.contains(&backend) {
            all.push(Contestant::new(Some(Who::Airtoll(backend)), work, fresh));
            if let Some(mut work) = stage.prepared(backend)? {
                stage.same(Who::Prepared(backend), &mut *work)?;
                all.push(Contestant::new(Some(Who::Prepared(backend)), work, fresh));
            }
            if !case.suite.is_rc4() && !case.open && !case.one_by_one {
                let work = FrontEnd::new(case, backend, &stage.keys, stage.before.clone())?;
                all.push(Contestant::new(
                    Some(Who::FrontEnd(backend)),
                    Box::new(work),
                    None,
                ));
            }
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
