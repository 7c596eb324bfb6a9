//! Readings of the machine and of its radios at a fixed rate, without a process per reading.
//!
//! A row has the time of its reading, `t_ns` of the monotonic clock, and the values that were asked for. A value that the
//! machine does not have is absent. Events since the previous row are in `events`, each with the time at which a reading
//! found it. The first row is read when the sampling starts, and the last one when it ends.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wlan_host::clock::monotonic_ns;

use super::links::Links;
use super::machine;
use super::nl80211::Radios;
use super::output::Output;

/// Highest rate of readings, in Hz.
const RATE_MAX_HZ: f64 = 1000.0;

/// Rows are sent together after this time.
const BATCH: Duration = Duration::from_millis(250);

/// Time between two readings of memory and of channels, which take the kernel or the radio's firmware longer than the
/// others. The first and the last row have them too.
const SLOW_PERIOD: Duration = Duration::from_millis(250);

/// The readings to take, and their rate.
#[derive(Debug, Deserialize)]
pub struct Sampling {
    rate_hz: f64,
    /// Whether to read CPU times, memory and energy, which all network namespaces of a machine share.
    machine: bool,
    /// Network interfaces, whose carriers, peers and channels are read.
    interfaces: Vec<String>,
}

/// Rows on their way to the controller.
#[derive(Serialize)]
struct Batch<'b> {
    sampler: u32,
    rows: &'b [Row],
}

/// One reading. Values that are absent are left out.
#[derive(Debug, Default, Serialize)]
struct Row {
    t_ns: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    idle_s: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steal_s: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    available_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    energy_uj: Vec<Option<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    carrier: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    radios: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<Value>,
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
            let mut sources = Sources::find(&sampling);
            let period = Duration::from_secs_f64(1.0 / sampling.rate_hz);
            let (mut due, mut sent, mut rows) = (Instant::now(), Instant::now(), Vec::new());
            loop {
                rows.push(sources.read(false));
                // A reading that the machine delayed is not made up for: rows are no closer than the period.
                while due <= Instant::now() {
                    due += period;
                }
                let ended = match stopped.recv_timeout(due.saturating_duration_since(Instant::now())) {
                    Err(RecvTimeoutError::Timeout) => false,
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
                };
                if ended {
                    rows.push(sources.read(true));
                }
                if ended || sent.elapsed() >= BATCH {
                    output.send(
                        &Batch {
                            sampler: number,
                            rows: &rows,
                        },
                        &[],
                    );
                    sent = Instant::now();
                    rows.clear();
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

/// The sources of readings.
struct Sources {
    slow_due: Instant,
    machine: Option<Machine>,
    links: Option<Links>,
    radios: Option<Radios>,
}

impl Sources {
    fn find(sampling: &Sampling) -> Self {
        let asks_links = !sampling.interfaces.is_empty();
        Self {
            slow_due: Instant::now(),
            machine: sampling.machine.then(Machine::find),
            links: asks_links
                .then(|| Links::watch(&sampling.interfaces).ok())
                .flatten(),
            // Kernels without Wi-Fi have no nl80211.
            radios: asks_links.then(|| Radios::open().ok()).flatten(),
        }
    }

    /// One row.
    fn read(&mut self, is_last: bool) -> Row {
        let mut row = Row {
            t_ns: monotonic_ns(),
            ..Row::default()
        };
        let now = Instant::now();
        let with_slow = is_last || now >= self.slow_due;
        if with_slow {
            self.slow_due = now + SLOW_PERIOD;
        }
        if let Some(machine) = &mut self.machine {
            machine.read(&mut row, with_slow);
        }
        if let Some(links) = &mut self.links {
            let mut events = links.changes();
            row.carrier = Some(links.carriers());
            if let Some(radios) = &mut self.radios {
                let read = links
                    .interfaces()
                    .map(|(name, index)| (name.to_owned(), Value::Object(radios.read(index, with_slow))));
                row.radios = Some(Value::Object(read.collect()));
                events.extend(radios.events(|index| links.name(index)));
            }
            row.events = events;
        }
        row
    }
}

/// Files of the machine.
struct Machine {
    stat: Option<Reread>,
    meminfo: Option<Reread>,
    energy: Vec<Package>,
}

impl Machine {
    fn find() -> Self {
        let zones = fs::read_dir("/sys/class/powercap").into_iter().flatten();
        let mut zones: Vec<_> = zones
            .filter_map(|zone| Some(zone.ok()?.path()))
            // "intel-rapl:0" is a package; "intel-rapl:0:0" is a part of it. Linux has the same name on AMD.
            .filter(|zone| zone.to_string_lossy().matches(':').count() == 1)
            .collect();
        zones.sort();
        Self {
            stat: Reread::open("/proc/stat").ok(),
            meminfo: Reread::open("/proc/meminfo").ok(),
            energy: zones.iter().filter_map(|zone| Package::open(zone).ok()).collect(),
        }
    }

    fn read(&mut self, row: &mut Row, with_slow: bool) {
        if let Some(cores) = self
            .stat
            .as_mut()
            .and_then(|file| machine::idle_and_steal_s(file.text().ok()?).ok())
        {
            (row.idle_s, row.steal_s) = cores.into_iter().unzip();
        }
        if let Some(file) = &mut self.meminfo
            && with_slow
        {
            row.available_bytes = file
                .text()
                .ok()
                .and_then(|text| machine::memory_in(text, "MemAvailable"));
        }
        row.energy_uj = self.energy.iter_mut().map(Package::read).collect();
    }
}

/// A package of the processor, whose energy RAPL counts in microjoules from 0 to a maximum.
struct Package {
    counter: Reread,
    span_uj: u64,
    last_uj: u64,
    total_uj: u64,
}

impl Package {
    fn open(zone: &Path) -> io::Result<Self> {
        let mut counter = Reread::open(zone.join("energy_uj"))?;
        let span = fs::read_to_string(zone.join("max_energy_range_uj"))?;
        Ok(Self {
            last_uj: counter.number()?,
            counter,
            span_uj: span.trim().parse().map_err(io::Error::other)?,
            total_uj: 0,
        })
    }

    /// The energy since the first reading, in microjoules; `None` if the counter cannot be read.
    fn read(&mut self) -> Option<u64> {
        let now_uj = self.counter.number().ok()?;
        self.total_uj += now_uj
            .checked_sub(self.last_uj)
            .unwrap_or_else(|| self.span_uj.saturating_sub(self.last_uj) + now_uj);
        self.last_uj = now_uj;
        Some(self.total_uj)
    }
}

/// A file of the kernel that is read again and again.
struct Reread {
    file: File,
    octets: Vec<u8>,
}

impl Reread {
    fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
            octets: vec![0; 4096],
        })
    }

    fn text(&mut self) -> io::Result<&str> {
        // The kernel composes the text anew for each call, and fills the buffer unless the text ends.
        let len = loop {
            let len = self.file.read_at(&mut self.octets, 0)?;
            if len < self.octets.len() {
                break len;
            }
            self.octets.resize(2 * len, 0);
        };
        std::str::from_utf8(&self.octets[..len]).map_err(io::Error::other)
    }

    fn number(&mut self) -> io::Result<u64> {
        self.text()?.trim().parse().map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A zone whose counter has this value.
    fn zone(name: &str, energy_uj: u64) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("airtoll-rapl-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("max_energy_range_uj"), "1000\n").unwrap();
        fs::write(folder.join("energy_uj"), format!("{energy_uj}\n")).unwrap();
        folder
    }

    #[test]
    fn energy_continues_when_its_counter_wraps_around() {
        let folder = zone("wraps", 900);
        let mut package = Package::open(&folder).unwrap();
        assert_eq!(package.read(), Some(0));
        fs::write(folder.join("energy_uj"), "950\n").unwrap();
        assert_eq!(package.read(), Some(50));
        fs::write(folder.join("energy_uj"), "30\n").unwrap();
        assert_eq!(package.read(), Some(130));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn rows_have_what_was_asked_for() {
        let asked = |machine, interfaces: &[&str]| Sampling {
            rate_hz: 1.0,
            machine,
            interfaces: interfaces.iter().map(|name| (*name).to_owned()).collect(),
        };
        let row = Sources::find(&asked(true, &[])).read(false);
        assert!(!row.idle_s.is_empty() && row.idle_s.len() == row.steal_s.len());
        assert!(row.available_bytes > Some(0) && row.carrier.is_none());
        let row = Sources::find(&asked(false, &["lo"])).read(false);
        assert_eq!(row.carrier, Some(serde_json::json!({"lo": true})));
        let text = serde_json::to_string(&row).unwrap();
        assert!(
            text.starts_with(r#"{"t_ns":"#) && !text.contains("idle_s"),
            "{text}"
        );
    }
}
