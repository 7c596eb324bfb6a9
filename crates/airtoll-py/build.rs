//! Determines the version that results record: the version of the package and the commit of its sources
//! (`0.1.0+g0123456789ab`), with `.dirty` if the sources differ from that commit.
//!
//! In a checkout, `tools/commit.sh` prints the commit. In a source distribution, the file `commit` contains it; the
//! build back end wrote the script's output there. Without either, the version is the package's version alone.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Paths relative to this package.
const SCRIPT: &str = "../../tools/commit.sh";
const FILE: &str = "commit";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let package = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let commit = of_checkout().or_else(of_source_distribution);
    let version = commit.map_or(package.clone(), |commit| format!("{package}+g{commit}"));
    println!("cargo::rustc-env=AIRTOLL_VERSION={version}");
}

/// The commit of the checkout, if there is one.
fn of_checkout() -> Option<String> {
    if !Path::new(SCRIPT).is_file() {
        return None;
    }
    println!("cargo::rerun-if-changed={SCRIPT}");
    let commit = output(&[])?.trim().to_owned();
    if commit.is_empty() {
        return None;
    }
    for file in output(&["--watch"])?.lines() {
        println!("cargo::rerun-if-changed={file}");
    }
    Some(commit)
}

/// The commit from which the source distribution was made, if it is recorded.
fn of_source_distribution() -> Option<String> {
    let commit = fs::read_to_string(FILE).ok()?.trim().to_owned();
    println!("cargo::rerun-if-changed={FILE}");
    (!commit.is_empty()).then_some(commit)
}

/// The output of the script with these arguments.
fn output(arguments: &[&str]) -> Option<String> {
    let done = Command::new(SCRIPT).args(arguments).output();
    let failed = match &done {
        Ok(done) if done.status.success() => return String::from_utf8(done.stdout.clone()).ok(),
        Ok(done) => String::from_utf8_lossy(&done.stderr).replace('\n', " "),
        Err(error) => error.to_string(),
    };
    println!("cargo::warning=the version lacks the commit: {SCRIPT}: {failed}");
    None
}
