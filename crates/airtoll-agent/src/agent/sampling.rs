//! Readings of the machine at a fixed rate, without a process per reading.

use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::machine::{self, CpuTimes};
use super::output::Output;

/// Highest rate of readings, in Hz.
const RATE_MAX_HZ: f64 = 1000.0;

/// Rows are sent together after this time.
const BATCH: Duration = Duration::from_millis(250);

/// The readings to take, and their rate.
#[derive(Debug, Deserialize)]
pub struct Sampling {
    rate_hz: f64,
    /// Network interfaces whose state is read: whether it has a carrier.
    #[serde(default)]
    interfaces: Vec<String>,
}

/// The running samplers, by the number that the controller gave them.
#[derive(Default)]
pub struct Samplers(HashMap<u32, (Sender<()>, JoinHandle<()>)>);

impl Samplers {
    /// Starts to sample on a thread of its own.
    ///
    /// # Errors
    /// The rate is out of range, or the number is in use.
    pub fn start(&mut self, number: u32, sampling: Sampling, output: &Output) -> io::Result<()> {
        if !(sampling.rate_hz > 0.0 && sampling.rate_hz <= RATE_MAX_HZ) {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                format!("rate_hz: 0 to {RATE_MAX_HZ}"),
            ));
        }
        if self.0.contains_key(&number) {
            return Err(io::Error::new(
                ErrorKind::AlreadyExists,
                format!("sampler {number} exists"),
            ));
        }
        let (stop, stopped) = mpsc::channel();
        let output = output.clone();
        let thread = thread::spawn(move || {
            let sources = Sources::find(sampling.interfaces);
            let period = Duration::from_secs_f64(1.0 / sampling.rate_hz);
            let (mut due, mut sent, mut rows) = (Instant::now(), Instant::now(), Vec::new());
            loop {
                rows.push(sources.read());
                due += period;
                let ended = match stopped.recv_timeout(due.saturating_duration_since(Instant::now())) {
                    Err(RecvTimeoutError::Timeout) => false,
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
                };
                if ended || sent.elapsed() >= BATCH {
                    output.send(&json!({"sampler": number, "rows": rows}), &[]);
                    (sent, rows) = (Instant::now(), Vec::new());
                }
                if ended {
                    return;
                }
            }
        });
        self.0.insert(number, (stop, thread));
        Ok(())
    }

    /// Ends a sampler. Its last rows have been sent when this returns.
    ///
    /// # Errors
    /// The sampler is unknown.
    pub fn stop(&mut self, number: u32) -> io::Result<()> {
        let (stop, thread) = self
            .0
            .remove(&number)
            .ok_or_else(|| io::Error::new(ErrorKind::NotFound, format!("no sampler {number}")))?;
        drop(stop);
        thread.join().map_err(|_| io::Error::other("the sampler failed"))
    }
}

/// The files that are read.
struct Sources {
    /// Packages of the processor: RAPL counts their energy in microjoules up to a maximum.
    energy: Vec<PathBuf>,
    interfaces: Vec<(String, PathBuf)>,
}

impl Sources {
    fn find(interfaces: Vec<String>) -> Self {
        let zones = fs::read_dir("/sys/class/powercap").into_iter().flatten();
        let mut energy: Vec<_> = zones
            .filter_map(|zone| Some(zone.ok()?.path()))
            // "intel-rapl:0" is a package; "intel-rapl:0:0" is a part of it. Linux has the same name on AMD.
            .filter(|zone| zone.to_string_lossy().matches(':').count() == 1)
            .map(|zone| zone.join("energy_uj"))
            .filter(|file| fs::read_to_string(file).is_ok())
            .collect();
        energy.sort();
        let interfaces = interfaces
            .into_iter()
            .map(|name| {
                (
                    name.clone(),
                    PathBuf::from("/sys/class/net").join(name).join("carrier"),
                )
            })
            .collect();
        Self { energy, interfaces }
    }

    /// One row. A reading that the machine does not have is absent.
    fn read(&self) -> Value {
        let mut row = json!({});
        if let Ok(times) = CpuTimes::read() {
            row["t_ns"] = times.at_ns.into();
            row["idle_s"] = times.cores.iter().map(|(idle, _)| *idle).collect();
            row["steal_s"] = times.cores.iter().map(|(_, steal)| *steal).collect();
        }
        if let Some(available) = machine::memory_b("MemAvailable") {
            row["available_bytes"] = available.into();
        }
        if !self.energy.is_empty() {
            row["energy_uj"] = self.energy.iter().map(number_in).collect();
        }
        if !self.interfaces.is_empty() {
            let states = self
                .interfaces
                .iter()
                .map(|(name, file)| (name.clone(), number_in(file)));
            row["carrier"] = Value::Object(states.collect());
        }
        row
    }
}

fn number_in(file: &PathBuf) -> Value {
    fs::read_to_string(file)
        .ok()
        .and_then(|text| text.trim().parse::<u64>().ok())
        .into()
}
