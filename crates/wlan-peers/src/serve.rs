//! Measurements for `airtoll ciphers`: one request per line of standard input, one answer per line of standard output,
//! both JSON. The answer to a request that fails is an object with the key `error`.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wlan_ciphers::Backend;
use wlan_peers::{Bound, Figure, Figures, Library, Limit, Who, measure};
use wlan_speed::{BATCH, Case, Effort, Scheme, Sizes, Spread, clock, measure_parts, suites};

const MOST_ROUNDS: usize = 60;

/// A request.
#[derive(Deserialize)]
#[serde(tag = "request", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// The implementations that can be measured on this machine, and its CPU.
    Host {},
    /// The speed of every implementation in a case.
    Case {
        suite: String,
        /// Octets of each payload; `null` selects IMIX.
        size_b: Option<usize>,
        operation: Operation,
        /// Frames per batch: 1 or [`BATCH`].
        batch: usize,
        /// Keys of [`BATCH`] frames: 1 or [`BATCH`].
        keys: usize,
        backend: String,
        within_s: f64,
    },
    /// The times of the parts of one frame. `scheme` is a suite, or `paper-lanes` with a number of lanes.
    Parts {
        scheme: String,
        payload_b: usize,
        backend: String,
        within_s: f64,
    },
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Seal,
    Open,
}

/// Answers requests until the input ends.
pub fn serve(requests: impl BufRead, mut answers: impl Write) -> io::Result<()> {
    for line in requests.lines() {
        let answer = answer(&line?).unwrap_or_else(|error| json!({ "error": error }));
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
    Ok(())
}

fn answer(line: &str) -> Result<Value, String> {
    match serde_json::from_str(line).map_err(|error| error.to_string())? {
        Request::Host {} => Ok(host()),
        Request::Case {
            suite,
            size_b,
            operation,
            batch,
            keys,
            backend,
            within_s,
        } => {
            let suite = suites().find(|known| known.name() == suite);
            let case = Case {
                suite: suite.ok_or("unknown suite")?,
                sizes: size_b.map_or(Sizes::Imix, Sizes::Fixed),
                open: operation == Operation::Open,
                key_each: one_or_batch("keys", keys)?,
                one_by_one: !one_or_batch("batch", batch)?,
            };
            speeds(case, named(&backend)?, seconds(within_s)?)
        }
        Request::Parts {
            scheme,
            payload_b,
            backend,
            within_s,
        } => {
            let scheme = Scheme::all().find(|known| known.name() == scheme);
            let scheme = scheme.ok_or("unknown suite")?;
            let times = measure_parts(scheme, payload_b, named(&backend)?, seconds(within_s)?);
            let times = times.map_err(|fault| fault.to_string())?;
            let us = |time: &wlan_speed::PartTime| {
                let us = time.ns_per_frame.median / 1e3;
                (time.part.name().to_string(), json!(us))
            };
            Ok(Value::Object(times.iter().map(us).collect()))
        }
    }
}

fn host() -> Value {
    let limit = Limit::of_this_cpu();
    let libraries = Library::ALL.iter().map(|library| {
        let version = library.version();
        let absent = version.as_ref().err().map(ToString::to_string);
        let library_and_state = json!({ "version": version.ok(), "absent": absent });
        (library.name().to_string(), library_and_state)
    });
    json!({
        "cpu_model": clock::cpu_model(),
        "ghz": clock::ghz(),
        "backends": Backend::available().map(Backend::name).collect::<Vec<_>>(), // the slowest first
        "libraries": Value::Object(libraries.collect()),
        "cycles_per_aes_round": limit.map(|limit| limit.round()),
        "cycles_of_aes_latency": limit.map(|limit| limit.latency),
    })
}

/// Median and quartiles of one implementation in a case.
#[derive(Serialize)]
struct Speed {
    implementation: &'static str,
    interface: Option<&'static str>,
    gbit_per_s: f64,
    gbit_per_s_quartiles: (f64, f64),
    cycles_per_byte: Option<f64>,
    cycles_per_byte_quartiles: Option<(f64, f64)>,
}

/// The figures of all interfaces of all libraries, the fastest first.
fn speeds(case: Case, backend: Backend, within: Duration) -> Result<Value, String> {
    let effort = Effort {
        rounds: MOST_ROUNDS,
        within,
    };
    let figures = measure(case, &[backend], effort).map_err(|fault| fault.to_string())?;
    let limit = Limit::of_this_cpu();
    let cycles_per_frame = limit.and_then(|limit| limit.cycles_per_frame(&case));
    let speeds = figures.figures.iter().map(|figure| speed(&figures, figure));
    Ok(json!({
        "payload_b": figures.payload_b,
        "limit_cycles_per_byte": cycles_per_frame.map(|cycles| cycles / figures.payload_b),
        "limited_by": limit.and_then(|limit| limit.bound(&case)).map(Bound::name),
        "speeds": speeds.collect::<Vec<_>>(),
    }))
}

fn speed(figures: &Figures, figure: &Figure) -> Speed {
    let (implementation, interface) = match figure.who {
        Who::Airtoll(backend) => {
            let is_rc4 = figures.case.suite.is_rc4();
            ("airtoll", (!is_rc4).then(|| backend.name()))
        }
        Who::Peer(interface) => (interface.library().name(), Some(interface.name())),
    };
    let bits = 8.0 * figures.payload_b;
    let Spread {
        median, quartiles, ..
    } = figure.ns_per_frame;
    let octets = figures.payload_b;
    let per_byte = |Spread {
                        median,
                        quartiles: (low, high),
                        ..
                    }| (median / octets, (low / octets, high / octets));
    let cycles = figure.cycles_per_frame.map(per_byte);
    Speed {
        implementation,
        interface,
        gbit_per_s: bits / median,
        gbit_per_s_quartiles: (bits / quartiles.1, bits / quartiles.0),
        cycles_per_byte: cycles.map(|(median, _)| median),
        cycles_per_byte_quartiles: cycles.map(|(_, quartiles)| quartiles),
    }
}

/// Whether a number of frames or keys is that of a batch.
fn one_or_batch(name: &str, number: usize) -> Result<bool, String> {
    match number {
        1 => Ok(false),
        BATCH => Ok(true),
        _ => Err(format!("{name} is 1 or {BATCH}, not {number}")),
    }
}

fn named(backend: &str) -> Result<Backend, String> {
    let found = Backend::available().find(|known| known.name() == backend);
    found.ok_or_else(|| String::from("unknown backend"))
}

fn seconds(within_s: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(within_s).map_err(|error| error.to_string())
}
