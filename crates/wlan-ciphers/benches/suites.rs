//! Throughput of each suite by frame size: `cargo bench -p wlan-ciphers`, or a subset selected by benchmark name,
//! `cargo bench -p wlan-ciphers -- 'ccmp-128/open/vaes512/one key/batch'`.
//!
//! Every benchmark seals or opens 96 complete MPDUs; frames per second and payload octets per second refer to all of
//! them. The fastest backend runs all cases, the others only 1500 octets in a batch. Frames and jobs are recreated
//! before each run, outside the timed section, because opening overwrites the ciphertext. Without `--bench`, as in
//! `cargo test`, each case runs once without measurement.

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use wlan_ciphers::{
    Backend, KeyId, Lanes, OpenJob, PacketNumber, SealJob, Suite, TemporalKey, open_each, seal_each,
};

/// Frames per run: full groups of every backend, and full cycles of IMIX.
const FRAMES: usize = 96;

/// QoS Data to the access point.
const HEADER: [u8; 26] = *b"\x88\x01\0\0\x02AAAAA\x02BBBBB\x02CCCCC\x10\0\x05\0";

const SUITES: [(&str, Suite); 7] = [
    ("ccmp-128", Suite::Ccmp128),
    ("ccmp-256", Suite::Ccmp256),
    ("gcmp-128", Suite::Gcmp128),
    ("gcmp-256", Suite::Gcmp256),
    ("enhanced-2", Suite::Enhanced(Lanes::Two)),
    ("enhanced-4", Suite::Enhanced(Lanes::Four)),
    ("enhanced-8", Suite::Enhanced(Lanes::Eight)),
];

/// Octets of the payload of frame `n`.
#[derive(Clone, Copy)]
enum Sizes {
    All(usize),
    /// Per twelve frames, 7 of 64, 4 of 576 and 1 of 1500 octets ("simple IMIX").
    Imix,
}

impl Sizes {
    const TABLE: [Sizes; 6] = [
        Sizes::All(64),
        Sizes::All(128),
        Sizes::All(512),
        Sizes::All(1500),
        Sizes::All(7935),
        Sizes::Imix,
    ];

    fn of(self, n: usize) -> usize {
        match (self, n % 12) {
            (Sizes::All(size), _) => size,
            (Sizes::Imix, 0..7) => 64,
            (Sizes::Imix, 7..11) => 576,
            (Sizes::Imix, _) => 1500,
        }
    }

    fn name(self) -> String {
        match self {
            Sizes::All(size) => size.to_string(),
            Sizes::Imix => "IMIX".to_string(),
        }
    }
}

/// How frames are distributed over calls and keys.
#[derive(Clone, Copy)]
enum Calls {
    /// One call per frame, all with one key.
    Alone,
    /// One call for all frames, with one key.
    Batch,
    /// One call for all frames, each with its own key.
    KeyEach,
}

impl Calls {
    const ALL: [Calls; 3] = [Calls::Alone, Calls::Batch, Calls::KeyEach];

    fn name(self) -> &'static str {
        match self {
            Calls::Alone => "one key/alone",
            Calls::Batch => "one key/batch",
            Calls::KeyEach => "key each/batch",
        }
    }
}

struct Case {
    keys: Vec<TemporalKey>,
    plain: Vec<Vec<u8>>,
    sealed: Vec<Vec<u8>>,
}

impl Case {
    fn new(suite: Suite, backend: Backend, sizes: Sizes, calls: Calls) -> Case {
        let key = |n: usize| {
            let tk: Vec<_> = n
                .to_le_bytes()
                .into_iter()
                .cycle()
                .take(suite.key_len())
                .collect();
            TemporalKey::with_backend(suite, &tk, backend).expect("the backend is available")
        };
        let each = matches!(calls, Calls::KeyEach);
        let keys = (0..FRAMES).map(|n| key(if each { n } else { 0 })).collect();
        let laid_out = |n| {
            let mut mpdu = HEADER.to_vec();
            mpdu.resize(HEADER.len() + suite.overhead() + sizes.of(n), 0x5a);
            mpdu
        };
        let case = Case {
            keys,
            plain: (0..FRAMES).map(laid_out).collect(),
            sealed: Vec::new(),
        };
        let mut sealed = case.plain.clone();
        case.seal(calls, &mut sealed);
        Case { sealed, ..case }
    }

    /// Seals all frames and returns the time taken.
    fn seal(&self, calls: Calls, mpdus: &mut [Vec<u8>]) -> Duration {
        let job = |(n, mpdu)| SealJob {
            mpdu,
            header_len: HEADER.len(),
            pn: PacketNumber::new(n).expect("the number is small"),
            key_id: KeyId::PAIRWISE,
        };
        let jobs = (1..).zip(mpdus.iter_mut().map(Vec::as_mut_slice)).map(job);
        let key = &self.keys[0];
        let sealed = "the frames are well-formed";
        match calls {
            Calls::Alone => {
                let mut jobs: Vec<_> = jobs.collect();
                timed(|| {
                    for job in jobs.chunks_mut(1) {
                        key.seal(job).expect(sealed);
                    }
                })
            }
            Calls::Batch => {
                let mut jobs: Vec<_> = jobs.collect();
                timed(|| key.seal(&mut jobs).expect(sealed))
            }
            Calls::KeyEach => {
                let mut jobs: Vec<_> = self.keys.iter().zip(jobs).collect();
                timed(|| seal_each(&mut jobs).expect(sealed))
            }
        }
    }

    /// Opens all frames and returns the time taken.
    fn open(&self, calls: Calls, mpdus: &mut [Vec<u8>]) -> Duration {
        let jobs = mpdus.iter_mut().map(|mpdu| OpenJob::new(mpdu, KeyId::PAIRWISE));
        let key = &self.keys[0];
        let opened = |job: &OpenJob<'_>| assert!(job.verdict().is_ok());
        if let Calls::KeyEach = calls {
            let mut jobs: Vec<_> = self.keys.iter().zip(jobs).collect();
            let time = timed(|| open_each(&mut jobs));
            jobs.iter().for_each(|(_, job)| opened(job));
            return time;
        }
        let mut jobs: Vec<_> = jobs.collect();
        let time = timed(|| match calls {
            Calls::Alone => jobs.chunks_mut(1).for_each(|job| key.open(job)),
            _ => key.open(&mut jobs),
        });
        jobs.iter().for_each(opened);
        time
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn bench(criterion: &mut Criterion, (name, suite): (&str, Suite), backend: Backend, sizes: Sizes) {
    let fastest = backend == Backend::detect();
    let mut group = criterion.benchmark_group(name);
    let bytes: usize = (0..FRAMES).map(|n| sizes.of(n)).sum();
    group.throughput(Throughput::ElementsAndBytes {
        elements: FRAMES as u64,
        bytes: bytes as u64,
    });
    for calls in Calls::ALL {
        if !fastest && !matches!(calls, Calls::Batch) {
            continue;
        }
        for open in [false, true] {
            let operation = if open { "open" } else { "seal" };
            let id = BenchmarkId::new(format!("{operation}/{backend}/{}", calls.name()), sizes.name());
            let mut case = None;
            group.bench_function(id, |bencher| {
                let case = case.get_or_insert_with(|| Case::new(suite, backend, sizes, calls));
                let mut mpdus = case.plain.clone();
                bencher.iter_custom(|runs| {
                    (0..runs)
                        .map(|_| {
                            let fresh = if open { &case.sealed } else { &case.plain };
                            mpdus.clone_from(fresh);
                            if open {
                                case.open(calls, &mut mpdus)
                            } else {
                                case.seal(calls, &mut mpdus)
                            }
                        })
                        .sum()
                });
            });
        }
    }
    group.finish();
}

fn main() {
    let suites = || Backend::available().flat_map(|backend| SUITES.map(|suite| (suite, backend)));
    if !std::env::args().any(|arg| arg == "--bench") {
        for ((_, suite), backend) in suites() {
            for calls in Calls::ALL {
                let case = Case::new(suite, backend, Sizes::Imix, calls);
                case.open(calls, &mut case.sealed.clone());
            }
        }
        return;
    }
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500))
        .configure_from_args();
    for (suite, backend) in suites() {
        if backend == Backend::detect() {
            for sizes in Sizes::TABLE {
                bench(&mut criterion, suite, backend, sizes);
            }
        } else {
            bench(&mut criterion, suite, backend, Sizes::All(1500));
        }
    }
    criterion.final_summary();
}
