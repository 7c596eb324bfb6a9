//! Simulations and models: JSON in, JSON out.

use pyo3::prelude::*;
use wlan_scenario::{BadScenario, Scenario};

use crate::value_error;

/// Checks a scenario. Raises `ValueError` with one line if it is invalid.
#[pyfunction]
pub fn check_scenario(scenario: &str) -> PyResult<()> {
    Scenario::read(scenario)
        .and_then(|scenario| scenario.check())
        .map_err(value_error)
}

/// Simulates a scenario in virtual time.
#[pyfunction]
pub fn simulate(py: Python<'_>, scenario: String) -> PyResult<String> {
    py.detach(|| Ok::<_, BadScenario>(Scenario::read(&scenario)?.simulate()?.to_string()))
        .map_err(value_error)
}

/// Evaluates the closed forms of a scenario.
#[pyfunction]
pub fn model(scenario: &str) -> PyResult<String> {
    Scenario::read(scenario)
        .and_then(|scenario| scenario.model())
        .map(|answer| answer.to_string())
        .map_err(value_error)
}
