//! Measures one case for all contestants that support it: interleaved, in random order, with medians.

use std::time::Instant;

use wlan_ciphers::Backend;
use wlan_speed::contestant::{Idle, OneByOne, Pass, Work};
use wlan_speed::stage::Stage;
use wlan_speed::turns::{Contestant, Taken, take_turns, without};
use wlan_speed::{BATCH, Case, Effort, Fault, Spread};

use crate::contestant::{Engine, Peer};
use crate::library::{Library, Run};
use crate::who::Who;

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
    /// One figure per contestant. Contestants that other load disturbed too much are omitted.
    pub figures: Vec<Figure>,
}

impl Figures {
    /// The fastest contestant that satisfies `wanted`.
    pub fn best(&self, wanted: impl Fn(Who) -> bool) -> Option<&Figure> {
        self.figures.iter().find(|figure| wanted(figure.who))
    }
}

fn engine(stage: &Stage, backend: Backend) -> Result<Box<dyn Work>, Fault> {
    let frames = stage.before.clone();
    if !stage.case.one_by_one {
        return Ok(Box::new(Engine::new(stage.case, backend, &stage.keys, frames)?));
    }
    let pass = if stage.case.open { Pass::Open } else { Pass::Seal };
    Ok(Box::new(OneByOne::new(pass, backend, &stage.keys, frames)?))
}

fn peers(stage: &Stage) -> impl Iterator<Item = (Who, Box<dyn Work>)> {
    let interfaces = Library::ALL
        .iter()
        .flat_map(|library| library.interfaces(stage.case.suite));
    interfaces.filter_map(|&interface| {
        let run = Run::new(interface, stage.before.clone(), &stage.keys, stage.case.open)?;
        let one_by_one = stage.case.one_by_one;
        let peer = Peer {
            interface,
            one_by_one,
            run,
        };
        Some((Who::Peer(interface), Box::new(peer) as Box<dyn Work>))
    })
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
        stage.same(&Who::Airtoll(backend), &mut *engine(&stage, backend)?)?;
        compared.push(Who::Airtoll(backend));
    }
    for (who, mut work) in peers(&stage) {
        stage.same(&who, &mut *work)?;
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
        let mut work = engine(&stage, backend)?;
        stage.same(&Who::Airtoll(backend), &mut *work)?;
        // WEP and TKIP do not depend on the backend, so they are measured once.
        let wanted = if case.suite.is_rc4() {
            &backends[..1.min(backends.len())]
        } else {
            backends
        };
        if wanted.contains(&backend) {
            all.push(Contestant::new(Some(Who::Airtoll(backend)), work, fresh));
        }
    }
    for (who, mut work) in peers(&stage) {
        stage.same(&who, &mut *work)?;
        all.push(Contestant::new(Some(who), work, fresh));
    }

    take_turns(&mut all, effort, start)?;
    let copy = all.iter_mut().find(|contestant| contestant.id.is_none());
    let copy = copy.and_then(Contestant::taken);
    let mut figures: Vec<Figure> = if case.open && copy.is_none() {
        Vec::new()
    } else {
        let figures = all.iter_mut().map(|contestant| figure(contestant, copy));
        figures.flatten().collect()
    };
    figures.sort_by(|a, b| a.ns_per_frame.median.total_cmp(&b.ns_per_frame.median));
    Ok(Figures {
        case,
        payload_b: stage.before.payloads_b() as f64 / BATCH as f64,
        figures,
    })
}

/// The time of a contestant without that of the copy; `None` if the machine disturbed one of them too much.
fn figure(contestant: &mut Contestant<'_, Option<Who>>, copy: Option<Taken>) -> Option<Figure> {
    let who = contestant.id?;
    let taken = contestant.taken()?;
    let (ns_per_frame, cycles_per_frame) = copy.map_or(Some(taken), |copy| without(taken, copy))?;
    Some(Figure {
        who,
        ns_per_frame,
        cycles_per_frame,
    })
}
