//! `airtoll._rust`, the only interface from Python to the Rust crates: conversions only, no logic.

mod decrypt;
mod link;
mod protection;
mod scenario;
mod suites;
mod table;

use std::io::{self, BufReader};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wlan_emulator::emulator::Emulator;
use wlan_emulator::running::Running;
use wlan_emulator::{hosts, hwsim, process};

/// Serves one emulated link on standard input and output until the input ends. Returns the exit status.
#[pyfunction]
fn emulate(py: Python<'_>) -> i32 {
    serve::<Emulator>(py)
}

/// Serves the medium beneath radios of mac80211_hwsim on standard input and output until the input ends. Returns the
/// exit status.
#[pyfunction]
fn emulate_radios(py: Python<'_>) -> i32 {
    serve::<hwsim::link::Link>(py)
}

/// Holds hosts without a medium until standard input ends. Returns the exit status.
#[pyfunction]
fn hold_hosts(py: Python<'_>) -> i32 {
    serve::<hosts::Hosts>(py)
}

fn serve<L: Running>(py: Python<'_>) -> i32 {
    py.detach(
        || match process::serve::<L>(BufReader::new(io::stdin()), io::stdout()) {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("{error}");
                1
            }
        },
    )
}

fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymodule]
mod _rust {
    #[pymodule_export]
    const VERSION: &str = env!("AIRTOLL_VERSION");
    #[pymodule_export]
    const DEVICE_NAME: &str = wlan_host::DEVICE_NAME;
    #[pymodule_export]
    const AGENT_VERSION: &str = airtoll_agent::agent::VERSION;
    #[pymodule_export]
    use super::decrypt::{CaptureStation, check_passphrase, decrypt_capture};
    #[pymodule_export]
    use super::link::{link_overhead, run_link};
    #[pymodule_export]
    use super::protection::{Protection, Window, backends};
    #[pymodule_export]
    use super::scenario::{
        Phy, ScenarioKey, Values, check_scenario, model, modes_at, phys, refusal, scenario_keys, simulate,
        unused_keys,
    };
    #[pymodule_export]
    use super::suites::{AkmFacts, SuiteFacts, akms, suites};
    #[pymodule_export]
    use super::{emulate, emulate_radios, hold_hosts};
    #[pymodule_export]
    const VIDEO_DEADLINE_NS: u64 = wlan_air::traffic::PLAYOUT_DEADLINE.0;
    #[pymodule_export]
    const VIDEO_HEADER_B: usize = wlan_air::traffic::RTP_HEADER_LEN_B;
    #[pymodule_export]
    use super::table::{read_parquet, write_parquet};
}
