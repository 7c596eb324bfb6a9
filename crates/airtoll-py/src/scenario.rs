//! Simulations and models: JSON in, JSON out.

use pyo3::prelude::*;
use wlan_scenario::{BadScenario, Scenario};

use crate::value_error;

/// Says whether a scenario can be; `ValueError` with one line if not.
#[pyfunction]
pub fn check_scenario(scenario: &str) -> PyResult<()> {
    Scenario::read(scenario)
        .and_then(|scenario| scenario.check())
        .map_err(value_error)
}

/// Performs a scenario in virtual time.
#[pyfunction]
pub fn simulate(py: Python<'_>, scenario: String) -> PyResult<String> {
    py.detach(|| Ok::<_, BadScenario>(Scenario::read(&scenario)?.simulate()?.to_string()))
        .map_err(value_error)
}

/// What closed forms say of a scenario.
#[pyfunction]
pub fn model(scenario: &str) -> PyResult<String> {
    Scenario::read(scenario)
        .and_then(|scenario| scenario.model())
        .map(|answer| answer.to_string())
        .map_err(value_error)
}
