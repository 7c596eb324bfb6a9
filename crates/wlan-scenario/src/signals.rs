//! The names of stations, and counts of the signals that they received, as JSON.

use serde_json::{Map, Value, json};
use wlan_air::channel::SignalCounts;

/// The name of a station of a medium with `on_air` stations: `ap`; `sta` if there is one other station, else `sta1`,
/// `sta2`, ...
#[must_use]
pub fn station_name(station: usize, on_air: usize) -> String {
    match (station, on_air) {
        (0, _) => "ap".into(),
        (_, 2) => "sta".into(),
        (station, _) => format!("sta{station}"),
    }
}

/// The received PPDUs by `snr_db`, `power_dbm` and `noise_dbm`: objects with the value, to 0.01 dB, as key and the number
/// of PPDUs as value.
#[must_use]
pub fn counts(signals: &SignalCounts) -> Value {
    json!({
        "snr_db": by_value(signals.by_snr_db()),
        "power_dbm": by_value(signals.by_power_dbm()),
        "noise_dbm": by_value(signals.by_noise_dbm()),
    })
}

fn by_value(counts: impl Iterator<Item = (f64, u64)>) -> Map<String, Value> {
    counts
        .map(|(value, count)| (format!("{value:.2}"), count.into()))
        .collect()
}
