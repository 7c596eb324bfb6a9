//! One end of a link, from Python.

use std::path::PathBuf;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use wlan_ciphers::Suite;
use wlan_frames::Role;
use wlan_frames::link::overhead_b;
use wlan_link::daemon::{DaemonError, run};

/// Octets that a link adds to a packet with this suite.
#[pyfunction]
pub(crate) fn link_overhead(suite: &str) -> PyResult<usize> {
    Suite::from_name(suite)
        .map(|suite| overhead_b(suite.mic_len()))
        .ok_or_else(|| PyValueError::new_err(format!("unknown suite '{suite}'")))
}

/// Runs one end of a link, `ap` or `sta`, until SIGINT or SIGTERM. Raises `ValueError` if the configuration is invalid
/// and `RuntimeError` if the link cannot start or fails, with one line each.
#[pyfunction]
pub(crate) fn run_link(py: Python<'_>, access_point: bool, config: PathBuf) -> PyResult<()> {
    let role = if access_point { Role::Ap } else { Role::Sta };
    py.detach(|| run(role, &config)).map_err(|error| match error {
        DaemonError::Config(error) => PyValueError::new_err(error.to_string()),
        other => PyRuntimeError::new_err(other.to_string()),
    })
}
