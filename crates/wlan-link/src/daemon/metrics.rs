//! Counters and state as OpenMetrics 1.0 text.

use std::fmt::Write as _;

use super::Shown;
use crate::plane::{StationState, Totals};

/// Media type of [`text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics of a link.
pub fn text(name: &str, shown: &Shown, stations: &[StationState], totals: &Totals) -> String {
    let mut out = String::new();
    let link = label(name);
    let connected = match (&shown.station, &shown.members) {
        (Some(station), _) => usize::from(station.connected),
        (None, members) => members.as_ref().map_or(0, Vec::len),
    };
    family(
        &mut out,
        "airtoll_link_connected",
        "gauge",
        "Peers with a session.",
    );
    let _ = writeln!(out, "airtoll_link_connected{{link=\"{link}\"}} {connected}");
    for (metric, help, value) in [
        (
            "airtoll_link_connections",
            "Sessions established.",
            shown.established,
        ),
        (
            "airtoll_link_failures",
            "Failed attempts to connect.",
            shown.failed,
        ),
    ] {
        family(&mut out, metric, "counter", help);
        let _ = writeln!(out, "{metric}_total{{link=\"{link}\"}} {value}");
    }
    // The names are derived from the counters, so that none is omitted.
    let totals = serde_json::to_value(totals).unwrap_or_default();
    for (way, counters) in totals.as_object().into_iter().flatten() {
        for (counter, value) in counters.as_object().into_iter().flatten() {
            let metric = format!("airtoll_link_{way}_{counter}");
            family(
                &mut out,
                &metric,
                "counter",
                "See docs/how-to/protect-an-open-network.md.",
            );
            let _ = writeln!(out, "{metric}_total{{link=\"{link}\"}} {value}");
        }
    }
    let (sent, received) = ("airtoll_link_station_sent", "airtoll_link_station_received");
    let mut of_stations = |metric: &str, help: &str, value: &dyn Fn(&StationState) -> u64| {
        family(&mut out, metric, "counter", help);
        for station in stations {
            let (address, value) = (station.address, value(station));
            let _ = writeln!(
                out,
                "{metric}_total{{link=\"{link}\",station=\"{address}\"}} {value}"
            );
        }
    };
    of_stations(sent, "MPDUs sent to the station.", &|station| station.sent);
    of_stations(
        received,
        "Authentic MPDUs received from the station.",
        &|station| station.received,
    );
    out.push_str("# EOF\n");
    out
}

fn family(out: &mut String, metric: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# TYPE {metric} {kind}\n# HELP {metric} {help}");
}

/// Escapes the value of a label.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
