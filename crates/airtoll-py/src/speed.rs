//! The speed of the engine and its peers, for `airtoll.ciphers.speed`.

use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use wlan_ciphers::{Backend, Suite};
use wlan_peers::{
    Bound, Case, Effort, Figure, Figures, Library, Limit, PartTime, Scheme, Sizes, Spread, Who, clock,
    measure, measure_parts, suites,
};

/// The implementations that can be measured on this machine, and its CPU.
#[pyclass(frozen, get_all)]
pub struct SpeedHost {
    cpu_model: Option<String>,
    ghz: Option<f64>,
    /// Available backends, the slowest first.
    backends: Vec<&'static str>,
    /// Name, version, and the reason if the library is absent.
    libraries: Vec<(&'static str, Option<&'static str>, Option<String>)>,
    cycles_per_aes_round: Option<f64>,
    cycles_of_aes_latency: Option<f64>,
}

/// Describes this machine.
#[pyfunction]
pub fn speed_host(py: Python<'_>) -> SpeedHost {
    py.detach(|| {
        let limit = Limit::of_this_cpu();
        SpeedHost {
            cpu_model: clock::cpu_model(),
            ghz: clock::ghz(),
            backends: Backend::available().map(Backend::name).collect(),
            libraries: Library::ALL
                .iter()
                .map(|library| {
                    let version = library.version();
                    let absent = version.as_ref().err().map(ToString::to_string);
                    (library.name(), version.ok(), absent)
                })
                .collect(),
            cycles_per_aes_round: limit.map(|limit| limit.round()),
            cycles_of_aes_latency: limit.map(|limit| limit.latency),
        }
    })
}

/// Names of the suites that can be measured.
#[pyfunction]
pub fn speed_suites() -> Vec<&'static str> {
    suites().map(Suite::name).collect()
}

/// Median and quartiles of one implementation in a case.
#[pyclass(frozen, get_all)]
pub struct Speed {
    implementation: &'static str,
    interface: Option<&'static str>,
    gbit_per_s: f64,
    gbit_per_s_quartiles: (f64, f64),
    cycles_per_byte: Option<f64>,
    cycles_per_byte_quartiles: Option<(f64, f64)>,
}

/// The measurement of a case.
#[pyclass(frozen, get_all)]
pub struct SpeedCase {
    payload_b: f64,
    limit_cycles_per_byte: Option<f64>,
    /// The part of the CPU that sets the limit.
    limited_by: Option<&'static str>,
    /// All interfaces of all libraries, the fastest first.
    speeds: Vec<Py<Speed>>,
}

/// Measures a case for about `within_s` seconds. `size_b` is in octets; `None` selects IMIX.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // a case in its parts
pub fn measure_speed(
    py: Python<'_>,
    suite: &str,
    size_b: Option<usize>,
    opening: bool,
    key_each: bool,
    one_by_one: bool,
    backend: &str,
    within_s: f64,
) -> PyResult<SpeedCase> {
    let (suite, backend) = (named_suite(suite)?, named_backend(backend)?);
    let case = Case {
        suite,
        sizes: size_b.map_or(Sizes::Imix, Sizes::Fixed),
        open: opening,
        key_each,
        one_by_one,
    };
    let effort = Effort {
        rounds: MOST_ROUNDS,
        within: duration(within_s)?,
    };
    let (figures, limit) = py
        .detach(|| {
            let figures = measure(case, &[backend], effort)?;
            Ok((figures, Limit::of_this_cpu()))
        })
        .map_err(|fault: wlan_peers::Fault| PyRuntimeError::new_err(fault.to_string()))?;
    let speeds = figures
        .figures
        .iter()
        .map(|figure| Py::new(py, speed(&figures, figure)));
    Ok(SpeedCase {
        payload_b: figures.payload_b,
        limit_cycles_per_byte: limit
            .and_then(|limit| limit.cycles_per_frame(&case))
            .map(|cycles| cycles / figures.payload_b),
        limited_by: limit.and_then(|limit| limit.bound(&case)).map(Bound::name),
        speeds: speeds.collect::<PyResult<_>>()?,
    })
}

const MOST_ROUNDS: usize = 60;

fn speed(figures: &Figures, figure: &Figure) -> Speed {
    let (implementation, interface) = match figure.who {
        Who::Airtoll(backend) => {
            let is_rc4 = figures.case.suite.is_rc4();
            ("airtoll", (!is_rc4).then(|| backend.name()))
        }
        Who::Prepared(backend) => ("airtoll-prepared", Some(backend.name())),
        Who::FrontEnd(backend) => ("airtoll-front-end", Some(backend.name())),
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

/// Time of one part of processing a frame: `mic`, `cipher`, `seal` or `open`.
#[pyclass(frozen, get_all)]
pub struct PartSpeed {
    part: &'static str,
    us: f64,
    us_quartiles: (f64, f64),
    /// Number of valid time slices of the measurement.
    slices: usize,
    cycles: Option<f64>,
}

/// Measures the parts of sealing and opening frames one after the other under one key, for about `within_s` seconds in
/// total. `scheme` is a suite, or `paper-lanes` with a number of lanes.
#[pyfunction]
#[pyo3(name = "measure_parts")]
pub fn measure_part_speeds(
    py: Python<'_>,
    scheme: &str,
    payload_b: usize,
    backend: &str,
    within_s: f64,
) -> PyResult<Vec<PartSpeed>> {
    let found = Scheme::all().find(|known| known.name() == scheme);
    let scheme = found.ok_or_else(|| PyValueError::new_err("unknown suite"))?;
    let (backend, within) = (named_backend(backend)?, duration(within_s)?);
    let times = py
        .detach(|| measure_parts(scheme, payload_b, backend, within))
        .map_err(|fault| PyRuntimeError::new_err(fault.to_string()))?;
    Ok(times.iter().map(part_speed).collect())
}

fn part_speed(time: &PartTime) -> PartSpeed {
    let Spread {
        median,
        quartiles: (low, high),
        count,
    } = time.ns_per_frame;
    PartSpeed {
        part: time.part.name(),
        us: median / 1e3,
        us_quartiles: (low / 1e3, high / 1e3),
        slices: count,
        cycles: time.cycles_per_frame.map(|cycles| cycles.median),
    }
}

fn named_suite(name: &str) -> PyResult<Suite> {
    let found = suites().find(|known| known.name() == name);
    found.ok_or_else(|| PyValueError::new_err("unknown suite"))
}

fn named_backend(name: &str) -> PyResult<Backend> {
    let found = Backend::available().find(|known| known.name() == name);
    found.ok_or_else(|| PyValueError::new_err("unknown backend"))
}

fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(crate::value_error)
}
