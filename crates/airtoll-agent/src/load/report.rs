//! The output of the client, as lines of JSON.
//!
//! The first line is an object with the settings and the start, `origin_ns`. Times of other lines are nanoseconds since
//! that start. Each further line is an object with one key:
//!
//! - `interval`: start, end, octets of load that arrived, connections
//! - `foreign`: start of a probe on a new connection, its TCP handshake, its request; null without an answer
//! - `own`: start of a request on a connection of the load, its time; null without an answer
//! - `echo`: start of a datagram, round-trip time, and the differences of both ends' clocks up and down; null without an
//!   answer
//! - `end`: start and end of the window, or null if the throughput was not stable in time. It shows that the output is
//!   complete.

use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;

use serde_json::json;

use super::client::{Measured, PATIENCE, Settings};
use super::nanoseconds;
use super::protocol::UNSENT_MAX_B;

/// Writes the lines.
pub fn write(
    settings: &Settings,
    server: SocketAddr,
    measured: &Measured,
    output: impl Write,
) -> io::Result<()> {
    let mut output = BufWriter::new(output);
    let head = json!({
        "load": env!("CARGO_PKG_VERSION"),
        "server": server.to_string(),
        "direction": settings.direction.name(),
        "interval_ns": nanoseconds(settings.interval),
        "connections_most": settings.connections,
        "limit_ns": nanoseconds(settings.limit),
        "patience_ns": nanoseconds(PATIENCE),
        "probe_ns": nanoseconds(settings.probe),
        "echo_ns": nanoseconds(settings.echo),
        "echo_octets": settings.echo_len_b,
        "unsent_most_octets": UNSENT_MAX_B,
        "origin_ns": measured.origin_ns,
    });
    writeln!(output, "{head}")?;
    for (start, end, octets, connections) in &measured.intervals {
        let row = json!({"interval": [nanoseconds(*start), nanoseconds(*end), octets, connections]});
        writeln!(output, "{row}")?;
    }
    for (start, took) in &measured.foreign {
        let (connected, answered) = took.unzip();
        let row =
            json!({"foreign": [nanoseconds(*start), connected.map(nanoseconds), answered.map(nanoseconds)]});
        writeln!(output, "{row}")?;
    }
    for (start, took) in &measured.own {
        let row = json!({"own": [nanoseconds(*start), took.map(nanoseconds)]});
        writeln!(output, "{row}")?;
    }
    for echo in &measured.echoes {
        writeln!(output, "{}", json!({"echo": echo.row()}))?;
    }
    let window = measured
        .window
        .map(|(opens, closes)| [nanoseconds(opens), nanoseconds(closes)]);
    writeln!(output, "{}", json!({"end": window}))?;
    output.flush()
}
