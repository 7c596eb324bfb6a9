//! The emulator as a process that reads and writes lines of JSON.
//!
//! The first input line is the configuration of the link. The process answers with one line that describes the link, or with
//! `{"error": ...}`. It answers each further line `"counters"` with a [`Running::Report`]. The end of
//! the input ends the emulator, so the emulator stops even if its parent process dies.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;

use serde::Serialize;

use crate::running::{HostFacts, Running};

#[derive(Serialize)]
struct Ready<F> {
    /// The process ID in the `/proc` of the caller: the emulator runs in its own PID namespace.
    pid: u32,
    /// The descriptor of each host's network namespace.
    namespace_fds: BTreeMap<String, i32>,
    /// The addresses of each host.
    addresses: BTreeMap<String, Addresses>,
    #[serde(flatten)]
    facts: F,
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

/// Serves one link until `input` ends.
///
/// # Errors
/// A description of the failure, in one line.
pub fn serve<L: Running>(input: impl BufRead, mut output: impl Write) -> Result<(), String> {
    let outcome = converse::<L>(input, &mut output);
    if let Err(error) = &outcome {
        // The reader may be gone; the exit status also reports the failure.
        let _ = answer(&mut output, &Failure { error: error.clone() });
    }
    outcome
}

fn converse<L: Running>(input: impl BufRead, output: &mut impl Write) -> Result<(), String> {
    let mut lines = input.lines();
    let Some(first) = lines.next() else { return Ok(()) };
    let config: L::Config = first
        .map_err(|error| error.to_string())
        .and_then(|line| serde_json::from_str(&line).map_err(|error| format!("configuration: {error}")))?;
    let link = L::start(&config).map_err(|error| error.to_string())?;
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
            namespace_fds: link.hosts().map(fd).collect(),
            addresses: link.hosts().map(addresses).collect(),
            facts: link.facts(),
        },
    )?;
    for line in lines {
        match line.map_err(|error| error.to_string())?.as_str() {
            "\"counters\"" => match link.report() {
                Some(report) => answer(output, &report)?,
                None => break,
            },
            other => return Err(format!("unknown request {other}")),
        }
    }
    link.stop().map_err(|error| error.to_string())
}

fn answer(output: &mut impl Write, value: &impl Serialize) -> Result<(), String> {
    serde_json::to_writer(&mut *output, value).map_err(|error| error.to_string())?;
    output
        .write_all(b"\n")
        .and_then(|()| output.flush())
        .map_err(|error| error.to_string())
}
