//! Facts and CPU times of the machine, from /proc and /sys.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;

use nix::sys::utsname::uname;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};
use serde_json::{Value, json};

use super::process_ids::ProcessId;

/// Description of the machine for the record. A fact that the machine does not tell is null.
///
/// `boot_id` identifies the machine: it is unique per boot of a kernel, and the same in all its namespaces (random(4)).
#[must_use]
pub fn facts() -> Value {
    let kernel = uname().ok();
    let word = |name: Option<&std::ffi::OsStr>| name.map(|name| name.to_string_lossy().into_owned());
    json!({
        "boot_id": text("/proc/sys/kernel/random/boot_id"),
        "kernel": word(kernel.as_ref().map(|kernel| kernel.release())),
        "architecture": word(kernel.as_ref().map(|kernel| kernel.machine())),
        "os": os_name(),
        "processor": processor(),
        "cores": thread::available_parallelism().ok().map(std::num::NonZero::get),
        "memory_bytes": text("/proc/meminfo").and_then(|lines| memory_in(&lines, "MemTotal")),
        "cpu_governor": text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    })
}

fn text(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned()).filter(|text| !text.is_empty())
}

fn os_name() -> Option<String> {
    let release = text("/etc/os-release").or_else(|| text("/usr/lib/os-release"))?;
    let line = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches(['"', '\'']).to_owned())
}

/// The name of the processor; on Arm, Linux names only the model of the machine.
fn processor() -> Option<String> {
    let lines = text("/proc/cpuinfo")?;
    let named = |key: &str| {
        let line = lines
            .lines()
            .find(|line| line.split(':').next().map(str::trim) == Some(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    named("model name")
        .or_else(|| named("Model"))
        .or_else(|| text("/sys/firmware/devicetree/base/model"))
}

/// A line of /proc/meminfo, in octets.
pub(super) fn memory_in(lines: &str, name: &str) -> Option<u64> {
    let line = lines
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(1024 * line.split_whitespace().next()?.parse::<u64>().ok()?)
}

/// The time of day in nanoseconds since 1970.
///
/// # Errors
/// The system call fails.
pub fn realtime_ns() -> io::Result<i64> {
    let now = clock_gettime(ClockId::CLOCK_REALTIME)?;
    Ok(now.tv_sec() * 1_000_000_000 + now.tv_nsec())
}

/// Idle time and time of the hypervisor per core since boot, in seconds, in the text of /proc/stat. Most kernels count in
/// steps of 1/100 s. The rest of a core's time is busy: Linux measures idle time, but counts busy time only at ticks of
/// its clock, and misses most of the work that timers start between two ticks.
///
/// # Errors
/// The text has an unknown form.
pub fn idle_and_steal_s(lines: &str) -> io::Result<Vec<(f64, f64)>> {
    let ticks_per_s = ticks_per_s()?;
    lines
        .lines()
        .filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "))
        .map(|line| {
            let field = |number| line.split_whitespace().nth(number)?.parse::<f64>().ok();
            // proc(5): user, nice, system, idle, iowait, irq, softirq, steal
            Some(((field(4)? + field(5)?) / ticks_per_s, field(8)? / ticks_per_s))
        })
        .collect::<Option<_>>()
        .ok_or_else(|| io::Error::other("/proc/stat has an unknown form"))
}

/// CPU time of all threads of a process, in seconds; `None` if it has ended.
#[must_use]
pub fn process_cpu_s(process: ProcessId) -> Option<f64> {
    let stat = process.stat()?;
    // proc_pid_stat(5): utime and stime are fields 14 and 15, and `stat` begins with the third.
    let ticks: f64 = stat
        .get(11..13)?
        .iter()
        .filter_map(|field| field.parse::<f64>().ok())
        .sum();
    Some(ticks / ticks_per_s().ok()?)
}

/// The threads of a process by number, with the time in seconds that each has run and has waited for a CPU. Threads of a
/// kernel that does not count these times (`CONFIG_SCHED_INFO`) are absent.
pub fn thread_times_s(process: ProcessId) -> impl Iterator<Item = (String, [f64; 2])> {
    let threads = fs::read_dir(process.file("task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| {
        let schedule = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        // sched-stats.rst: time on the CPU and time in a run queue, in nanoseconds, and the number of turns.
        let mut times = schedule
            .split_whitespace()
            .filter_map(|ns| Some(ns.parse::<f64>().ok()? / 1e9));
        let times = [times.next()?, times.next()?];
        Some((thread.file_name().into_string().ok()?, times))
    })
}

fn ticks_per_s() -> io::Result<f64> {
    let ticks = sysconf(SysconfVar::CLK_TCK)?.unwrap_or(100);
    #[expect(clippy::cast_precision_loss, reason = "100 to 1000")]
    Ok(ticks as f64)
}
