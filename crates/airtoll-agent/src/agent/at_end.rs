//! Commands that restore the host when the connection ends, for any reason: the controller may have been killed.
//!
//! The worker keeps them in the agent's folder, one file per command, where the supervisor finds them after the worker's
//! end. A command runs while its file is locked, and the file is removed when the command has succeeded. So the agent of
//! a new connection can wait for a command that an older agent is running, or keep it from running later.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::files::{self, Folder};

/// Digits in the name of a command's file.
const DIGITS: usize = 10;

/// Time for one command.
const LIMIT: Duration = Duration::from_secs(30);

/// Pauses before the next attempts of commands that have failed: an access point that restarts its network is away for a
/// moment. Together they are shorter than the time that airtoll gives the agent to end.
const BACK_OFF: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];

/// Time between two looks at a running command.
const POLL: Duration = Duration::from_millis(10);

fn folder(of_agent: &Path) -> PathBuf {
    of_agent.join("at-end")
}

/// Keeps a command to run at the end, under a number. A higher number runs earlier. Returns the command's file.
///
/// # Errors
/// The file cannot be written.
pub fn keep(of_agent: &Path, number: u32, argv: &[String]) -> io::Result<PathBuf> {
    files::check_own(of_agent)?;
    files::create(&folder(of_agent))?;
    let file = folder(of_agent).join(format!("{number:0DIGITS$}"));
    files::put(&file, 0o600, &serde_json::to_vec(argv)?)?;
    Ok(file)
}

/// Forgets the command of a file, of this agent or of another one. If its agent is running the command, waits for its
/// end. Forgetting a command that has run has no effect. Nor has a file that no agent of this user made: the path comes
/// from a journal, and may be the answer of another host.
///
/// # Errors
/// The file cannot be locked or removed.
pub fn forget(file: &Path) -> io::Result<()> {
    match is_of_agent(file) {
        Ok(true) => claim(file)?.map_or(Ok(()), |_claimed| fs::remove_file(file)),
        Ok(false) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether the path is that of a command in the folder of an agent of this user.
fn is_of_agent(file: &Path) -> io::Result<bool> {
    let Some(of_agent) = file.parent().and_then(Path::parent) else {
        return Ok(false);
    };
    let number = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_number = number.len() == DIGITS && number.bytes().all(|octet| octet.is_ascii_digit());
    let is_named = is_number && *file == folder(of_agent).join(number);
    // After the end of its agent, any user can create a folder of its name. The upper folder protects the lower one.
    Ok(is_named && Folder::is_one(of_agent)? && files::is_own(&folder(of_agent))?)
}

/// Locks the file of a command. None if the command has run or has been forgotten.
fn claim(file: &Path) -> io::Result<Option<File>> {
    let opened = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    opened.lock()?;
    // The file may have been removed while this process waited.
    let is_kept = opened.metadata()?.nlink() > 0;
    Ok(is_kept.then_some(opened))
}

/// Runs the kept commands, the latest first. A command that fails does not keep the others from running. It is kept and
/// runs again after each pause of `BACK_OFF`, unless the agent of a new connection forgets it during the pause.
pub fn run(of_agent: &Path) {
    if let Err(error) = files::check_own(of_agent).and_then(|()| files::create(&folder(of_agent))) {
        return complain(&error);
    }
    for pause in BACK_OFF {
        if run_all(of_agent).is_empty() {
            return;
        }
        thread::sleep(pause);
    }
    for error in run_all(of_agent) {
        complain(&error);
    }
}

/// Runs the kept commands once. Returns the errors.
fn run_all(of_agent: &Path) -> Vec<io::Error> {
    let entries = fs::read_dir(folder(of_agent)).into_iter().flatten();
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let latest_first = files.iter().rev();
    latest_first.filter_map(|file| run_once(file).err()).collect()
}

fn complain(error: &io::Error) {
    super::complain(&io::Error::other(format!("restoring the host: {error}")));
}

fn run_once(file: &Path) -> io::Result<()> {
    let Some(claimed) = claim(file)? else {
        return Ok(());
    };
    run_kept(&claimed)?;
    fs::remove_file(file)
}

fn run_kept(mut file: &File) -> io::Result<()> {
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    let argv: Vec<String> = serde_json::from_slice(&content)?;
    let (program, args) = argv.split_first().ok_or(io::ErrorKind::InvalidData)?;
    let null = || Stdio::null();
    let mut child = Command::new(program)
        .args(args)
        .env("PATH", super::search_path())
        .stdin(null())
        .stdout(null())
        .stderr(null())
        .spawn()?;
    let deadline = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(io::ErrorKind::TimedOut, program.clone()));
        }
        thread::sleep(POLL);
    };
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("{program}: {status}")))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_latest_command_runs_first_and_a_failure_stops_none() {
        let own = Folder::create().unwrap();
        let log = own.path().join("log");
        let say = |word: &str| {
            vec![
                "sh".to_owned(),
                "-c".to_owned(),
                format!("echo {word} >> {}", log.display()),
            ]
        };
        keep(own.path(), 1, &say("first")).unwrap();
        let forgotten = keep(own.path(), 2, &say("forgotten")).unwrap();
        keep(own.path(), 3, &["/nonexistent".to_owned()]).unwrap();
        keep(own.path(), 10, &say("last")).unwrap();
        forget(&forgotten).unwrap();
        run(own.path());
        assert_eq!(fs::read_to_string(&log).unwrap(), "last\nfirst\n");
        forget(&forgotten).unwrap();
        run(own.path());
        assert_eq!(fs::read_to_string(log).unwrap(), "last\nfirst\n");
    }

    #[test]
    fn a_command_that_fails_is_kept_and_runs_again() {
        let own = Folder::create().unwrap();
        let log = own.path().join("log");
        let script = "echo >> $0; [ $(wc -l < $0) -eq 3 ]";
        let argv = ["sh", "-c", script, &log.display().to_string()].map(str::to_owned);
        let file = keep(own.path(), 1, &argv).unwrap();
        assert_eq!(run_all(own.path()).len(), 1);
        assert!(file.exists());
        run(own.path());
        assert_eq!(fs::read_to_string(&log).unwrap(), "\n\n\n");
        assert!(!file.exists());
    }

    #[test]
    fn a_command_that_fails_can_be_forgotten_between_its_attempts() {
        let own = Folder::create().unwrap();
        let file = keep(own.path(), 1, &["false".to_owned()]).unwrap();
        thread::scope(|scope| {
            let running = scope.spawn(|| run(own.path()));
            forget(&file).unwrap();
            assert!(!file.exists());
            running.join().unwrap();
        });
        assert!(run_all(own.path()).is_empty());
    }

    #[test]
    fn nothing_runs_and_nothing_is_removed_in_a_folder_that_another_user_could_have_made() {
        let own = Folder::create().unwrap();
        let log = own.path().join("log");
        let argv = ["touch", &log.display().to_string()].map(str::to_owned);
        let file = keep(own.path(), 1, &argv).unwrap();
        for folder in [own.path(), &folder(own.path())] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
            run(own.path());
            forget(&file).unwrap();
            assert!(file.exists() && !log.exists(), "{}", folder.display());
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        }
        run(own.path());
        assert!(!file.exists() && log.exists());
    }

    #[test]
    fn no_file_outside_the_folders_of_agents_is_forgotten() {
        let own = Folder::create().unwrap();
        keep(own.path(), 1, &["true".to_owned()]).unwrap();
        let command = "at-end/0000000001";
        // Everything has the mode of an agent's folder.
        let place = own.path().join("airtoll-agent-AAAAAA");
        files::create(&place).unwrap();
        files::create(&place.join("at-end")).unwrap();
        files::create(&own.path().join("at-end/at-end")).unwrap();
        let name = own.path().file_name().unwrap();
        let round = own.path().join("..").join(name).join(command);
        let others = [
            own.path().join("0000000001"),
            own.path().join("at-end/1"),
            own.path().join("at-end/000000000x"),
            own.path().join("at-end").join(command),
            place.join(command),
            round,
        ];
        for file in &others {
            if !file.exists() {
                fs::write(file, "").unwrap();
            }
            forget(file).unwrap();
            assert!(file.exists(), "{}", file.display());
        }
        forget(Path::new("/")).unwrap();
        forget(Path::new("x")).unwrap();
        let file = own.path().join(command);
        forget(&file).unwrap();
        assert!(!file.exists());
    }

    #[test]
    fn forgetting_waits_for_the_end_of_a_command_that_runs() {
        let own = Folder::create().unwrap();
        let path = |name: &str| own.path().join(name);
        let script = "echo > $0; while [ ! -e $1 ]; do sleep 0.01; done; echo > $2";
        let argv: Vec<_> = ["sh", "-c", script]
            .map(str::to_owned)
            .into_iter()
            .chain(["started", "go", "done"].map(|name| path(name).display().to_string()))
            .collect();
        let file = keep(own.path(), 1, &argv).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| run(own.path()));
            while !path("started").exists() {
                thread::yield_now();
            }
            let forgetting = scope.spawn(|| {
                forget(&file).unwrap();
                path("done").exists()
            });
            fs::write(path("go"), "").unwrap();
            assert!(forgetting.join().unwrap());
        });
    }
}
