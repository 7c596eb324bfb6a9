//! `airtoll._rust`, the one door from Python to the Rust crates: conversions only, no logic.

mod decrypt;
mod protection;
mod speed;

use std::io::{self, BufReader};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wlan_link::config::{Air, ConfigError};

/// Serves one emulated link on standard input and output until the input ends; returns the exit status.
#[pyfunction]
fn emulate(py: Python<'_>) -> i32 {
    py.detach(
        || match wlan_link::process::serve(BufReader::new(io::stdin()), io::stdout()) {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("{error}");
                1
            }
        },
    )
}

/// MSDUs a second that one station with always something to send delivers, in closed form, when each carries
/// an IP packet of `packet_b` octets.
#[pyfunction]
fn saturated_msdus_per_s(
    phy: String,
    rate: String,
    bandwidth: u16,
    gi: String,
    security: &str,
    packet_b: usize,
) -> PyResult<f64> {
    let saturated = Air {
        phy,
        rate,
        bandwidth,
        gi,
    }
    .saturated(security, packet_b)
    .map_err(value_error)?;
    Ok(saturated.mpdus_per_s())
}

/// Mean round trip in microseconds of an IP packet of `packet_b` octets on the idle air that is answered at once
/// by as long a packet, in closed form: what the medium alone contributes.
#[pyfunction]
fn idle_round_trip_us(
    phy: String,
    rate: String,
    bandwidth: u16,
    gi: String,
    security: &str,
    packet_b: usize,
) -> PyResult<f64> {
    let round_trip = Air {
        phy,
        rate,
        bandwidth,
        gi,
    }
    .idle_round_trip(security, packet_b)
    .map_err(value_error)?;
    Ok(round_trip.total_us())
}

/// Runs one end of a ping-pong with these arguments; returns the exit status.
#[pyfunction]
fn pingpong(py: Python<'_>, argv: Vec<String>) -> i32 {
    py.detach(|| wlan_link::pingpong::run(argv))
}

fn value_error(error: ConfigError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymodule]
mod _rust {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    const DEVICE_NAME: &str = wlan_link::DEVICE_NAME;
    #[pymodule_export]
    use super::decrypt::decrypt_capture;
    #[pymodule_export]
    use super::protection::{Protection, Window, backends, suites};
    #[pymodule_export]
    use super::{emulate, idle_round_trip_us, pingpong, saturated_msdus_per_s};
    #[pymodule_export]
    const SPEED_BATCH: usize = wlan_peers::BATCH;
    #[pymodule_export]
    use super::speed::{Speed, SpeedCase, SpeedHost, measure_speed, speed_host, speed_suites};
}
