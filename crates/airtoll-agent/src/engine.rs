//! The time that this CPU takes for one frame: MIC, cipher, sealing and opening, with the crate `wlan-ciphers`.
//!
//! [`run`] is the command. It pins itself to one core if permitted, measures in turns of short slices
//! ([`wlan_speed::measure_parts`]) and prints one JSON object.

use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::utsname::uname;
use nix::unistd::Pid;
use serde_json::{Value, json};
use wlan_ciphers::Backend;
use wlan_speed::{PartTime, Scheme, clock, measure_parts};

use crate::program::{self, ProgramError, parse, seconds};

const USAGE: &str = "engine SCHEME PAYLOAD_OCTETS SECONDS";

/// Runs the command with these arguments. Returns the exit status.
pub fn run(args: impl IntoIterator<Item = String>) -> i32 {
    program::run("engine", USAGE, args, |args| {
        let [scheme, payload_b, within] = args else {
            return Err(ProgramError::usage("three arguments are required"));
        };
        let known = Scheme::all().find(|known| known.name() == scheme);
        let scheme = known.ok_or_else(|| ProgramError::usage(format!("'{scheme}' is not a suite")))?;
        let payload_b = parse(payload_b, "a number of octets")?;
        println!("{}", measure(scheme, payload_b, seconds(within)?)?);
        Ok(())
    })
}

/// The times of a scheme's parts on frames with payloads of `payload_b` octets, and the machine.
fn measure(scheme: Scheme, payload_b: usize, within: Duration) -> Result<Value, ProgramError> {
    let core = pin();
    let backend = Backend::available()
        .last()
        .ok_or_else(|| ProgramError::usage("this CPU has no backend"))?;
    let start = Instant::now();
    let parts = measure_parts(scheme, payload_b, backend, within)
        .map_err(|fault| ProgramError::Own(Box::new(fault)))?;
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "suite": scheme.name(),
        "payload_bytes": payload_b,
        "backend": backend.name(),
        "cpu_model": clock::cpu_model(),
        "architecture": uname().ok().map(|name| name.machine().to_string_lossy().into_owned()),
        "ghz": clock::ghz(),
        "core": core,
        "took_s": start.elapsed().as_secs_f64(),
        "parts": parts.iter().map(words).collect::<Vec<_>>(),
    }))
}

fn words(time: &PartTime) -> Value {
    let spread = time.ns_per_frame;
    json!({
        "part": time.part.name(),
        "us": spread.median / 1e3,
        "us_quartiles": [spread.quartiles.0 / 1e3, spread.quartiles.1 / 1e3],
        "slices": spread.count,
        "cycles": time.cycles_per_frame.map(|cycles| cycles.median),
    })
}

/// Pins this thread to its last permitted core, which gets the fewest interrupts; `None` if that is not permitted.
fn pin() -> Option<usize> {
    let own = Pid::from_raw(0);
    let permitted = sched_getaffinity(own).ok()?;
    let core = (0..CpuSet::count())
        .rev()
        .find(|core| permitted.is_set(*core) == Ok(true))?;
    let mut only = CpuSet::new();
    only.set(core).ok()?;
    sched_setaffinity(own, &only).ok()?;
    Some(core)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_the_parts_and_the_machine() {
        let scheme = Scheme::all().find(|scheme| scheme.name() == "ccmp").unwrap();
        let report = measure(scheme, 100, Duration::from_millis(50)).unwrap();
        assert_eq!(
            (&report["suite"], &report["payload_bytes"]),
            (&json!("ccmp"), &json!(100))
        );
        for part in report["parts"].as_array().unwrap() {
            assert!(part["us"].as_f64() > Some(0.0), "{part}");
        }
    }

    #[test]
    fn an_invalid_request_exits_with_2() {
        for line in [
            "",
            "open 100 0.1",
            "ccmp many 0.1",
            "ccmp 100 -1",
            "ccmp 100 0.1 x",
        ] {
            assert_eq!(run(line.split_whitespace().map(String::from)), 2, "{line}");
        }
    }
}
