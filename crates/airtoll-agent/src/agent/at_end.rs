//! Commands that restore the host when the connection ends, for any reason: the controller may have been killed.
//!
//! The worker keeps them in the agent's folder, where the supervisor finds them after the worker's end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::files;

/// Time for one command.
const LIMIT: Duration = Duration::from_secs(30);

/// Time between two looks at a running command.
const POLL: Duration = Duration::from_millis(10);

fn folder(of_agent: &Path) -> PathBuf {
    of_agent.join("at-end")
}

fn file(of_agent: &Path, number: u32) -> PathBuf {
    folder(of_agent).join(format!("{number:010}"))
}

/// Keeps a command to run at the end, under a number. A higher number runs earlier.
///
/// # Errors
/// The file cannot be written.
pub fn keep(of_agent: &Path, number: u32, argv: &[String]) -> io::Result<()> {
    files::create(of_agent)?;
    files::create(&folder(of_agent))?;
    files::put(&file(of_agent, number), 0o600, &serde_json::to_vec(argv)?)
}

/// Forgets a command, because the host has been restored.
///
/// # Errors
/// The number is unknown.
pub fn forget(of_agent: &Path, number: u32) -> io::Result<()> {
    fs::remove_file(file(of_agent, number))
}

/// Runs the kept commands, the latest first. A command that fails does not keep the others from running.
pub fn run(of_agent: &Path) {
    let entries = fs::read_dir(folder(of_agent)).into_iter().flatten();
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    for file in files.iter().rev() {
        if let Err(error) = run_one(file) {
            super::complain(&io::Error::new(
                error.kind(),
                format!("restoring the host: {error}"),
            ));
        }
    }
}

fn run_one(file: &Path) -> io::Result<()> {
    let argv: Vec<String> = serde_json::from_slice(&fs::read(file)?)?;
    let (program, args) = argv.split_first().ok_or(io::ErrorKind::InvalidData)?;
    let null = || Stdio::null();
    let mut child = Command::new(program)
        .args(args)
        .stdin(null())
        .stdout(null())
        .stderr(null())
        .spawn()?;
    let deadline = Instant::now() + LIMIT;
    while child.try_wait()?.is_none() {
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(io::ErrorKind::TimedOut, program.clone()));
        }
        thread::sleep(POLL);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::files::Folder;
    use super::*;

    #[test]
    fn the_latest_command_runs_first_and_a_failure_stops_none() {
        let own = Folder::reserve();
        files::create(own.path()).unwrap();
        let log = own.path().join("log");
        let say = |word: &str| {
            vec![
                "sh".to_owned(),
                "-c".to_owned(),
                format!("echo {word} >> {}", log.display()),
            ]
        };
        keep(own.path(), 1, &say("first")).unwrap();
        keep(own.path(), 2, &say("forgotten")).unwrap();
        keep(own.path(), 3, &["/nonexistent".to_owned()]).unwrap();
        keep(own.path(), 10, &say("last")).unwrap();
        forget(own.path(), 2).unwrap();
        run(own.path());
        assert_eq!(fs::read_to_string(log).unwrap(), "last\nfirst\n");
    }
}
