//! One case, measured for all that can do it: interleaved, in random order, medians in core cycles.

use wlan_ciphers::{
    Backend, KeyId, OpenJob, PacketNumber, SealJob, Suite, TemporalKey, open_each, seal_each,
};

use crate::clock;
use crate::frames::{Frames, HEADER_LEN, Random, Sizes};
use crate::library::{Library, Run};

/// What is measured.
#[derive(Clone, Copy, PartialEq)]
pub struct Case {
    pub suite: Suite,
    pub sizes: Sizes,
    pub open: bool,
    /// A key for each frame instead of one.
    pub key_each: bool,
    /// One frame after the other instead of in a batch.
    pub one_by_one: bool,
}

/// Who does it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Who {
    Airtoll(Backend),
    Library(Library),
    /// Copying the frames, which opening needs before each run and which is taken off again.
    Copy,
}

impl std::fmt::Display for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Who::Airtoll(backend) => write!(f, "airtoll {backend}"),
            Who::Library(library) => f.write_str(library.name()),
            Who::Copy => f.write_str("copy"),
        }
    }
}

/// A median, and how far the middle half of the values reaches.
pub struct Figure {
    pub who: Who,
    pub cycles_per_frame: f64,
    pub quartiles: (f64, f64),
}

pub struct Figures {
    pub case: Case,
    /// Mean payload of a frame.
    pub payload_b: f64,
    pub figures: Vec<Figure>,
}

/// Frames of a batch.
const BATCH: usize = 96;

struct Contestant {
    who: Who,
    job: Box<dyn FnMut(usize)>,
    /// Times that a slice does the batch, and of how many frames.
    repeat: usize,
    frames: usize,
    cycles: Vec<f64>,
}

pub fn keys(suite: Suite, count: usize) -> Vec<Vec<u8>> {
    let mut random = Random(7);
    (0..count)
        .map(|_| (0..suite.key_len()).map(|_| random.next() as u8).collect())
        .collect()
}

/// Measures a case in `rounds` rounds. Everyone's output is first compared with the engine's portable one.
pub fn measure(case: Case, backends: &[Backend], rounds: usize) -> Figures {
    let Case {
        suite, sizes, open, ..
    } = case;
    let plain = Frames::new(suite, sizes, BATCH);
    let tks = keys(suite, if case.key_each { BATCH } else { 1 });
    let mut sealed = plain.clone();
    airtoll(Backend::Portable, case, &tks, &mut sealed, false);

    let (before, after) = if open {
        (&sealed, &plain)
    } else {
        (&plain, &sealed)
    };
    let mut all = Vec::new();
    if open {
        all.push(copying(before.clone()));
    }
    for &backend in backends {
        let mut frames = before.clone();
        airtoll(backend, case, &tks, &mut frames, open);
        same(&frames, after, Who::Airtoll(backend), open);
        all.push(engine(backend, case, &tks, before.clone()));
    }
    for &library in Library::of(suite) {
        let mut run = Run::new(library, suite, Box::new(before.clone()), &tks, open);
        run.run(0, BATCH);
        same(run.frames(), after, Who::Library(library), open);
        run.frames().buffer.copy_from_slice(&before.buffer);
        all.push(peer(library, run, case, before.clone()));
    }

    for contestant in &mut all {
        calibrate(contestant);
    }
    let mut random = Random(99);
    for _ in 0..rounds {
        for i in (1..all.len()).rev() {
            all.swap(i, random.below(i + 1));
        }
        for contestant in &mut all {
            slice(contestant);
        }
    }
    let mut figures: Vec<Figure> = all.into_iter().map(figure).collect();
    let copy = figures
        .iter()
        .find(|f| f.who == Who::Copy)
        .map_or(0.0, |f| f.cycles_per_frame);
    figures.retain(|f| f.who != Who::Copy);
    for figure in &mut figures {
        figure.cycles_per_frame -= copy;
    }
    figures.sort_by(|a, b| a.cycles_per_frame.total_cmp(&b.cycles_per_frame));
    let payload_b = (0..BATCH).map(|i| plain.payload_b(i) as f64).sum::<f64>() / BATCH as f64;
    Figures {
        case,
        payload_b,
        figures,
    }
}

fn same(got: &Frames, wanted: &Frames, who: Who, open: bool) {
    for (i, &(at, len)) in wanted.places.iter().enumerate() {
        // Opening leaves the MIC.
        let len = if open { len - wanted.mic_len } else { len };
        assert!(
            got.buffer[at..][..len] == wanted.buffer[at..][..len],
            "{who} differs from the portable engine in frame {i} of {len} octets"
        );
    }
}

fn airtoll(backend: Backend, case: Case, tks: &[Vec<u8>], frames: &mut Frames, open: bool) {
    engine_run(&expand(backend, case.suite, tks), frames, open, case.key_each);
}

fn expand(backend: Backend, suite: Suite, tks: &[Vec<u8>]) -> Vec<TemporalKey> {
    tks.iter()
        .map(|tk| TemporalKey::with_backend(suite, tk, backend).expect("the backend is available"))
        .collect()
}

/// The whole batch, jobs made anew as a caller makes them.
fn engine_run(keys: &[TemporalKey], frames: &mut Frames, open: bool, key_each: bool) {
    let first_pn = frames.pn(0);
    let mut rest = &mut frames.buffer[..];
    let mut offset = 0;
    let mut mpdus = Vec::with_capacity(frames.places.len());
    for &(at, len) in &frames.places {
        let (mpdu, after) = rest[at - offset..].split_at_mut(len);
        mpdus.push(mpdu);
        offset = at + len;
        rest = after;
    }
    let seal = |(mpdu, pn)| SealJob {
        mpdu,
        header_len: HEADER_LEN,
        pn: PacketNumber::new(pn).expect("48 bits"),
        key_id: KeyId::PAIRWISE,
    };
    let jobs = mpdus.into_iter().zip(first_pn..);
    match (open, key_each) {
        (false, false) => {
            let mut batch: Vec<_> = jobs.map(seal).collect();
            keys[0].seal(&mut batch).expect("the frames are well formed");
        }
        (false, true) => {
            let mut batch: Vec<_> = keys.iter().zip(jobs.map(seal)).collect();
            seal_each(&mut batch).expect("the frames are well formed");
        }
        (true, false) => {
            let mut batch: Vec<_> = jobs
                .map(|(mpdu, _)| OpenJob::new(mpdu, KeyId::PAIRWISE))
                .collect();
            keys[0].open(&mut batch);
            assert!(batch.iter().all(|job| job.verdict().is_ok()));
        }
        (true, true) => {
            let jobs = jobs.map(|(mpdu, _)| OpenJob::new(mpdu, KeyId::PAIRWISE));
            let mut batch: Vec<_> = keys.iter().zip(jobs).collect();
            open_each(&mut batch);
            assert!(batch.iter().all(|(_, job)| job.verdict().is_ok()));
        }
    }
}

fn engine(backend: Backend, case: Case, tks: &[Vec<u8>], mut frames: Frames) -> Contestant {
    let keys = expand(backend, case.suite, tks);
    let before = frames.clone();
    let job = move |count: usize| {
        if case.open {
            frames.buffer.copy_from_slice(&before.buffer);
        }
        if case.one_by_one {
            for i in 0..count {
                let (at, len) = frames.places[i];
                let mpdu = &mut frames.buffer[at..][..len];
                if case.open {
                    let mut batch = [OpenJob::new(mpdu, KeyId::PAIRWISE)];
                    keys[0].open(&mut batch);
                    assert!(batch[0].verdict().is_ok());
                } else {
                    let pn = PacketNumber::new(0x0102_0304_0000 + i as u64).expect("48 bits");
                    let (header_len, key_id) = (HEADER_LEN, KeyId::PAIRWISE);
                    let job = SealJob {
                        mpdu,
                        header_len,
                        pn,
                        key_id,
                    };
                    keys[0].seal(&mut [job]).expect("the frames are well formed");
                }
                clock::fence();
            }
        } else {
            engine_run(&keys, &mut frames, case.open, case.key_each);
        }
    };
    contestant(Who::Airtoll(backend), Box::new(job))
}

fn peer(library: Library, mut run: Run, case: Case, before: Frames) -> Contestant {
    let job = move |count: usize| {
        if case.open {
            run.frames().buffer.copy_from_slice(&before.buffer);
        }
        if case.one_by_one {
            for i in 0..count {
                run.run(i, 1);
                clock::fence();
            }
        } else {
            run.run(0, BATCH);
        }
    };
    contestant(Who::Library(library), Box::new(job))
}

fn copying(before: Frames) -> Contestant {
    let mut frames = before.clone();
    let job = move |_| {
        frames.buffer.copy_from_slice(&before.buffer);
        std::hint::black_box(&mut frames.buffer);
    };
    contestant(Who::Copy, Box::new(job))
}

fn contestant(who: Who, job: Box<dyn FnMut(usize)>) -> Contestant {
    Contestant {
        who,
        job,
        repeat: 1,
        frames: BATCH,
        cycles: Vec::new(),
    }
}

/// Makes a slice some 100 microseconds long.
fn calibrate(contestant: &mut Contestant) {
    const SLICE_TICKS: u64 = 300_000;
    let mut best = u64::MAX;
    for _ in 0..5 {
        let from = clock::ticks();
        (contestant.job)(BATCH);
        best = best.min(clock::ticks() - from);
    }
    contestant.repeat = (SLICE_TICKS / best.max(1)).max(1) as usize;
}

fn slice(contestant: &mut Contestant) {
    (contestant.job)(contestant.frames);
    let before = clock::cycles_per_tick();
    let from = clock::ticks();
    for _ in 0..contestant.repeat {
        (contestant.job)(contestant.frames);
    }
    let ticks = clock::ticks() - from;
    let after = clock::cycles_per_tick();
    // The clock changed, or someone else had the core.
    if (before / after - 1.0).abs() > 0.03 {
        return;
    }
    let frames = (contestant.repeat * contestant.frames) as f64;
    contestant
        .cycles
        .push(ticks as f64 * (before + after) / 2.0 / frames);
}

fn figure(mut contestant: Contestant) -> Figure {
    let cycles = &mut contestant.cycles;
    assert!(
        !cycles.is_empty(),
        "the clock was never steady for {}",
        contestant.who
    );
    cycles.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| cycles[((cycles.len() - 1) as f64 * share) as usize];
    Figure {
        who: contestant.who,
        cycles_per_frame: at(0.5),
        quartiles: (at(0.25), at(0.75)),
    }
}
