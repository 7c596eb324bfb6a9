//! The emulator as a process that reads and writes lines of JSON.
//!
//! The first input line is the [`Config`]. The process answers with one line that describes the link, or with
//! `{"error": ...}`. It answers each further line `"counters"` with a [`Report`](crate::emulator::Report). The end of
//! the input ends the emulator, so the emulator stops even if its parent process dies.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;

use serde::Serialize;

use crate::config::Config;
use crate::emulator::{Emulator, Facts, HostFacts};

#[derive(Serialize)]
struct Ready {
    /// The process ID in the `/proc` of the caller: the emulator runs in its own PID namespace.
    pid: u32,
    /// The descriptor of each host's network namespace.
    namespace_fds: BTreeMap<String, i32>,
    /// The addresses of each host.
    addresses: BTreeMap<String, Addresses>,
    #[serde(flatten)]
    facts: Facts,
}

#[derive(Serialize)]
struct Addresses {
    ipv4: Ipv4Addr,
    ipv6: Ipv6Addr,
    mac: String,
}

#[derive(Serialize)]
struct Failure {
    error: String,
}

/// Serves one emulated link until `input` ends.
///
/// # Errors
/// A description of the failure, in one line.
pub fn serve(input: impl BufRead, mut output: impl Write) -> Result<(), String> {
    let outcome = converse(input, &mut output);
    if let Err(error) = &outcome {
        // The reader may be gone; the exit status also reports the failure.
        let _ = answer(&mut output, &Failure { error: error.clone() });
    }
    outcome
}

fn converse(input: impl BufRead, output: &mut impl Write) -> Result<(), String> {
    let mut lines = input.lines();
    let Some(first) = lines.next() else { return Ok(()) };
    let config: Config = first
        .map_err(|error| error.to_string())
        .and_then(|line| serde_json::from_str(&line).map_err(|error| format!("configuration: {error}")))?;
    let emulator = Emulator::start(&config).map_err(|error| error.to_string())?;
    let pid = std::fs::read_link("/proc/self")
        .ok()
        .and_then(|link| link.to_str()?.parse().ok())
        .ok_or("/proc is not mounted")?;
    let fd = |host: HostFacts<'_>| (host.name, host.namespace.as_raw_fd());
    let addresses = |host: HostFacts<'_>| {
        let HostFacts {
            name,
            ipv4,
            ipv6,
            mac,
            ..
        } = host;
        let mac = mac.to_string();
        (name, Addresses { ipv4, ipv6, mac })
    };
    answer(
        output,
        &Ready {
            pid,
            namespace_fds: emulator.hosts().map(fd).collect(),
            addresses: emulator.hosts().map(addresses).collect(),
            facts: emulator.facts(),
        },
    )?;
    for line in lines {
        match line.map_err(|error| error.to_string())?.as_str() {
            "\"counters\"" => match emulator.report() {
                Some(report) => answer(output, &report)?,
                None => break,
            },
            other => return Err(format!("unknown request {other}")),
        }
    }
    emulator.stop().map_err(|error| error.to_string())
}

fn answer(output: &mut impl Write, value: &impl Serialize) -> Result<(), String> {
    serde_json::to_writer(&mut *output, value).map_err(|error| error.to_string())?;
    output
        .write_all(b"\n")
        .and_then(|()| output.flush())
        .map_err(|error| error.to_string())
}
