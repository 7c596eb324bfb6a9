//! Helpers that the tests of several crates share: independent programs that decode frames, and skips.
//!
//! A test that cannot run on a machine calls [`skip`] and returns. `AIRTOLL_REQUIRE_ALL=1`, which continuous
//! integration sets, turns the skip into a failure, so that a missing program cannot hide a test. The only exception is
//! [`captures_of_others`], because those files are not part of the project.

use std::ffi::OsStr;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use wlan_frames::beacon::{Beacon, CAPABILITY_ESS, CAPABILITY_PRIVACY, ID_SSID, push_element};
use wlan_frames::{MacAddr, pcap};

/// Reports why a test cannot run; the test must then return.
///
/// # Panics
/// If `AIRTOLL_REQUIRE_ALL` is `1`.
pub fn skip(reason: &str) {
    assert!(
        std::env::var_os("AIRTOLL_REQUIRE_ALL").as_deref() != Some(OsStr::new("1")),
        "AIRTOLL_REQUIRE_ALL=1 allows no skip: {reason}"
    );
    report(reason);
}

/// Prints a skip past the test runner, which shows only the output of failed tests.
fn report(reason: &str) {
    // A closed standard error must not fail the test.
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// The path of a capture from another project, in the directory that `AIRTOLL_CAPTURES` names. `None`, with the reason
/// printed, if the variable is not set.
#[must_use]
pub fn captures_of_others(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("AIRTOLL_CAPTURES");
    if folder.is_none() {
        report(&format!("AIRTOLL_CAPTURES is not set: no directory with {name}"));
    }
    folder.map(|folder| Path::new(&folder).join(name))
}

/// Starts a program. `None`, after a [`skip`], if it is not installed.
///
/// # Panics
/// If the program is installed but cannot be started.
#[must_use]
pub fn start(command: &mut Command) -> Option<Child> {
    let program = command.get_program().to_owned();
    match command.spawn() {
        Ok(child) => Some(child),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            skip(&format!("{} is not installed", program.display()));
            None
        }
        Err(error) => panic!("{} cannot be started: {error}", program.display()),
    }
}

/// Runs a program to completion. `None`, after a [`skip`], if it is not installed.
///
/// # Panics
/// As [`start`].
#[must_use]
pub fn output(command: &mut Command) -> Option<Output> {
    let child = start(
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
    )?;
    Some(child.wait_with_output().expect("the output can be read"))
}

/// A capture file of frames that begin with a radiotap header. The time stamp of frame n is n + 1 seconds.
#[must_use]
pub fn capture(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = pcap::file_header().to_vec();
    for (second, frame) in (1u64..).zip(frames) {
        file.extend(pcap::record_header(second * 1_000_000_000, frame.len()));
        file.extend(frame);
    }
    file
}

/// A beacon of a protected network, without FCS: the SSID, four supported rates, then `elements`.
///
/// # Panics
/// If the SSID is longer than an element.
#[must_use]
pub fn beacon(bssid: MacAddr, ssid: &[u8], elements: &[&[u8]]) -> Vec<u8> {
    let mut all = Vec::new();
    push_element(&mut all, ID_SSID, ssid);
    // Supported Rates: 6, 9, 12 and 18 Mbit/s.
    push_element(&mut all, 1, &[0x8c, 0x12, 0x98, 0x24]);
    all.extend(elements.concat());
    let beacon = Beacon {
        bssid,
        sequence: 1,
        timestamp_us: 1,
        interval_tu: 100,
        capability: CAPABILITY_ESS | CAPABILITY_PRIVACY,
        elements: &all,
    };
    let mut mpdu = vec![0; beacon.len()];
    beacon.emit(&mut mpdu);
    mpdu
}

/// The values of `fields` that tshark decodes for each frame of `capture`, as text. `None`, after a [`skip`], if tshark
/// is not installed.
///
/// # Panics
/// If tshark fails.
#[must_use]
pub fn tshark(capture: &[u8], options: &[&str], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command.args(["-r", "-", "-n", "-T", "fields"]);
    command.args(["-E", "separator=|", "-E", "occurrence=f"]);
    command.args(options);
    for field in fields {
        command.args(["-e", field]);
    }
    let mut child = start(
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
    )?;
    let mut stdin = child.stdin.take().expect("piped");
    let file = capture.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&file));
    let output = child.wait_with_output().expect("tshark ends");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark: {complaint}");
    writer
        .join()
        .expect("the writer ends")
        .expect("tshark reads the whole capture");
    let text = String::from_utf8(output.stdout).expect("fields are text");
    Some(
        text.lines()
            .map(|line| line.split('|').map(str::to_owned).collect())
            .collect(),
    )
}

/// The capture file that airdecap-ng writes for `capture`, with `options` for the keys. `None`, after a [`skip`], if
/// airdecap-ng is not installed. airdecap-ng only reads time stamps in microseconds.
///
/// # Panics
/// If airdecap-ng fails.
#[must_use]
pub fn airdecap(capture: &Path, options: &[&str]) -> Option<Vec<u8>> {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let out = std::env::temp_dir().join(format!("airtoll-airdecap-{}-{run}", std::process::id()));
    let output = output(
        Command::new("airdecap-ng")
            .args(options)
            .arg("-o")
            .arg(&out)
            .arg(capture),
    )?;
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "airdecap-ng: {told}");
    let file = std::fs::read(&out).expect("airdecap-ng writes its output");
    std::fs::remove_file(out).expect("the output can be removed");
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs one of the ignored tests below with `AIRTOLL_REQUIRE_ALL` set to `value`.
    fn run(test: &str, value: &str) -> Output {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", test]);
        command.env("AIRTOLL_REQUIRE_ALL", value);
        command.env_remove("AIRTOLL_CAPTURES");
        command.output().unwrap()
    }

    #[test]
    #[ignore = "run by the test of skips"]
    fn needs_a_missing_program() {
        assert!(start(&mut Command::new("airtoll-missing-program")).is_none());
    }

    #[test]
    #[ignore = "run by the test of skips"]
    fn needs_captures_of_others() {
        assert_eq!(captures_of_others("one.cap"), None);
    }

    #[test]
    fn a_missing_program_fails_the_test_where_all_tests_are_required() {
        let reason = "airtoll-missing-program is not installed";
        for (value, passes) in [("1", false), ("0", true), ("", true)] {
            let done = run("tests::needs_a_missing_program", value);
            assert_eq!(done.status.success(), passes, "{value:?}: {done:?}");
            let printed = [done.stdout, done.stderr].concat();
            assert!(String::from_utf8_lossy(&printed).contains(reason), "{value:?}");
        }
    }

    #[test]
    fn captures_of_others_are_never_required() {
        let done = run("tests::needs_captures_of_others", "1");
        assert!(done.status.success(), "{done:?}");
        let printed = String::from_utf8_lossy(&done.stderr);
        assert!(printed.contains("skipped: AIRTOLL_CAPTURES is not set: no directory with one.cap"));
    }
}
