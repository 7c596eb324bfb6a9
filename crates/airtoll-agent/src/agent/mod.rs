//! The agent: runs commands, moves files and samples its machine, for one controller at the other end of a byte stream.
//!
//! `serve` reads requests from standard input and writes answers and events to standard output, in the form of
//! [`frame`]. It is two processes. The worker ([`work`]) does everything. The supervisor ([`supervise`]) waits for the
//! worker to end, for any reason, and then kills every process that descends from it and restores the host: orphans of
//! the worker become children of the supervisor (`PR_SET_CHILD_SUBREAPER`). If the supervisor itself is killed, the
//! worker does the same and ends. Commands start through [`exec`], which ends with its parent. When the connection
//! closes, nothing of the measurement remains on the host.
//!
//! The agent may be root among other users. It therefore uses only files in a folder of its own, which it creates with a
//! new name and checks before each use, and it looks for commands only in absolute folders of the search path.
//!
//! - [`frame`]: messages on the byte stream
//! - `session`: requests and their answers
//! - `output`: the stream to the controller
//! - `processes`: commands and their output
//! - [`process_ids`]: numbers of processes across PID namespaces
//! - [`at_end`]: commands that restore the host
//! - `host_lock`: one airtoll at a time
//! - `files`: the agent's folder, and files that the controller reads and writes
//! - [`machine`]: facts and CPU times of the machine
//! - `sampling`: readings at a fixed rate
//! - `links`, `nl80211`: states and events of network interfaces, and of radios
//! - [`sockets`]: the kernel's tables of sockets

pub mod at_end;
mod files;
pub mod frame;
mod host_lock;
mod links;
pub mod machine;
mod nl80211;
mod output;
pub mod process_ids;
mod processes;
mod sampling;
mod session;
pub mod sockets;

use std::env::{self, ArgsOs};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, exit};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stdin, dup2_stdout, getppid, setsid};

use files::Folder;
use host_lock::HostLock;
use process_ids::ProcessId;

/// The version of the agent. Controller and agent must have the same one.
pub const VERSION: &str = concat!("airtoll-agent ", env!("CARGO_PKG_VERSION"));

/// The subcommand of the worker: `work PARENT FOLDER [OWNER WORDS]`.
pub const WORK: &str = "work";

/// The subcommand that becomes a command of the host: `exec PARENT COMMAND...`.
pub const EXEC: &str = "exec";

/// Exit status of a command that could not be started, as in sh(1).
const NOT_STARTED: i32 = 127;

/// The signal with which the kernel tells the worker that its supervisor has ended.
const SUPERVISOR_GONE: Signal = Signal::SIGTERM;

/// Time between two looks for descendants that have not ended yet.
const POLL: Duration = Duration::from_millis(1);

/// Longest wait for the end of killed descendants. One in an uninterruptible sleep, such as that of a stuck driver, may
/// never end, and the host is restored beside it.
const END_WITHIN: Duration = Duration::from_secs(5);

/// Whether the worker restores the host, because its supervisor has ended.
static RESTORES: AtomicBool = AtomicBool::new(false);

/// Starts the worker and, after its end, kills its descendants and restores the host. Returns the exit status of the worker.
///
/// The arguments, if any, are the owner of the host's lock and the words with which the agent refuses another owner.
#[must_use]
pub fn supervise(args: ArgsOs) -> i32 {
    status_of(supervised(args.collect()).map(|status| status.code().unwrap_or(1)))
}

fn supervised(owner: Vec<OsString>) -> io::Result<ExitStatus> {
    prctl::set_child_subreaper(true)?;
    let _lock = lock(&owner)?;
    let folder = Folder::create()?;
    let mut worker = own_command(WORK).arg(folder.path()).args(&owner).spawn()?;
    // The worker alone holds the connection, so that the controller notices its end.
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    let status = worker.wait()?;
    restore(&folder)?;
    Ok(status)
}

/// Locks the host for its owner, if there is one.
fn lock(owner: &[OsString]) -> io::Result<Option<HostLock>> {
    match owner {
        [] => Ok(None),
        [owner, words] => HostLock::take(&owner.to_string_lossy(), &words.to_string_lossy()).map(Some),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Ends everything that the controller started, and runs the commands that restore the host.
fn restore(folder: &Folder) -> io::Result<()> {
    let ended = kill_descendants();
    at_end::run(folder.path());
    ended
}

/// Kills every process that descends from this one. Orphans become its children one generation after the other.
///
/// # Errors
/// A descendant does not end in time.
fn kill_descendants() -> io::Result<()> {
    let until = Instant::now() + END_WITHIN;
    loop {
        let children = ProcessId::children();
        for child in &children {
            // It may have ended since.
            let _ = kill(child.own, Signal::SIGKILL);
        }
        match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) if children.is_empty() => return Ok(()),
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) if Instant::now() >= until => {
                return Err(io::Error::other("a killed process does not end"));
            }
            // A blocking wait could miss its child: in the worker, the thread of a command waits for the same children.
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => thread::sleep(POLL),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Serves a controller on standard input and output until the connection closes. Returns the exit status.
#[must_use]
pub fn work(mut args: ArgsOs) -> i32 {
    let outcome = prctl::set_child_subreaper(true)
        .map_err(io::Error::from)
        .and_then(|()| {
            // Blocked, the signal waits until a thread asks for it. Every thread starts after this line.
            let gone = SigSet::from(SUPERVISOR_GONE);
            gone.thread_block()?;
            signalled_by_parent(&mut args, SUPERVISOR_GONE)?;
            let folder = args.next().ok_or(io::ErrorKind::InvalidInput)?;
            // The worker restores the host if the supervisor is killed, so it keeps a lock of its own until then.
            let _lock = lock(&args.collect::<Vec<_>>())?;
            let restored = Path::new(&folder).to_owned();
            thread::spawn(move || {
                if gone.wait().is_ok() {
                    RESTORES.store(true, Ordering::SeqCst);
                    // The commands that restore the host inherit the mask, and so do their children.
                    let _ = gone.thread_unblock();
                    let folder = Folder::of_other(restored);
                    status_of(restore(&folder).map(|()| 1));
                    drop(folder);
                    exit(1);
                }
            });
            session::serve(&mut io::stdin().lock(), io::stdout(), Path::new(&folder))
        });
    let status = status_of(outcome.map(|()| 0));
    wait_while_restoring();
    status
}

/// Stops this thread for ever if the worker restores the host, which ends the process afterwards.
fn wait_while_restoring() {
    while RESTORES.load(Ordering::SeqCst) {
        thread::park();
    }
}

/// Becomes a command of the host, which ends with the worker that started it. Returns only if the command cannot start.
#[must_use]
pub fn exec(mut args: ArgsOs) -> i32 {
    let outcome: io::Result<()> = signalled_by_parent(&mut args, Signal::SIGKILL).and_then(|()| {
        SigSet::from(SUPERVISOR_GONE).thread_unblock()?;
        // A session of its own: signals of the controller's terminal do not arrive, and the command is a group.
        setsid()?;
        let program = args.next().ok_or(io::ErrorKind::InvalidInput)?;
        let error = Command::new(&program).args(args).exec();
        Err(io::Error::new(
            error.kind(),
            format!("{}: {error}", program.display()),
        ))
    });
    if let Err(error) = outcome {
        complain(&error);
    }
    NOT_STARTED
}

/// The next argument is the process that started this one. When it ends, this process receives the signal.
fn signalled_by_parent(args: &mut ArgsOs, signal: Signal) -> io::Result<()> {
    let parent = args
        .next()
        .and_then(|id| id.to_str()?.parse().ok())
        .map(Pid::from_raw);
    prctl::set_pdeathsig(signal)?;
    // The parent may have ended before. In a PID namespace of its own, the parent outside has the number 0.
    if parent == Some(getppid()) || getppid().as_raw() == 0 {
        Ok(())
    } else {
        Err(io::Error::other("the process that started this one has ended"))
    }
}

/// A command of this program that ends with this process.
fn own_command(subcommand: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("airtoll-agent").env("PATH", search_path());
    command.arg(subcommand).arg(std::process::id().to_string());
    command
}

/// The absolute folders of the search path: commands in the working directory may be those of another user. Without any,
/// the usual folders, because an empty search path also means the working directory.
fn search_path() -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    // The parts are those of a search path, so joining them cannot fail.
    let absolute = env::join_paths(folders).unwrap_or_default();
    if absolute.is_empty() {
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into()
    } else {
        absolute
    }
}

fn status_of(outcome: io::Result<i32>) -> i32 {
    outcome.unwrap_or_else(|error| {
        complain(&error);
        1
    })
}

/// Prints an error for the controller, which may have gone.
fn complain(error: &io::Error) {
    let _ = writeln!(io::stderr(), "airtoll-agent: {error}");
}
