//! Requests of the controller and their answers.
//!
//! The first frame is the agent's: `{"agent": VERSION, "pid": NUMBER, "program": PATH}`. A request is
//! `{"id": NUMBER, "do": NAME, ...}`; the answer to it is `{"id": NUMBER, "ok": VALUE}` or
//! `{"id": NUMBER, "error": TEXT}`. Between answers come events: `{"process": NUMBER, "stream": "stdout"|"stderr"}` with
//! output as the body, at its end with `"end": true`; `{"process": NUMBER, "exit": STATUS}`, negative for a signal; and
//! `{"sampler": NUMBER, "rows": [...]}`.

use std::io::{self, Read, Stdout};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use wlan_host::clock::monotonic_ns;

use super::frame::{self, Frame};
use super::machine;
use super::output::Output;
use super::processes::Processes;
use super::sampling::{Samplers, Sampling};
use super::sockets::{self, Port, Transport};
use super::{VERSION, at_end, files};

#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Request {
    /// Starts a command.
    Start {
        process: u32,
        argv: Vec<String>,
        stdin: bool,
    },
    /// Sends a signal to a command or its group.
    Signal { process: u32, signal: i32, group: bool },
    /// Writes the body to a command's standard input.
    Write { process: u32, end: bool },
    /// CPU time of a command.
    ProcessCpu { process: u32 },
    /// Times of the threads of a command and of the processes that it started.
    ProcessThreads { process: u32 },
    /// Forgets a command that has ended.
    Forget { process: u32 },
    /// Description of the machine.
    Facts,
    /// The host's clocks when the request arrived and when the answer is sent.
    Clock,
    /// Waits until a server listens or its process has ended.
    Listening {
        transport: Transport,
        port: u16,
        process: Option<u32>,
        timeout_s: f64,
    },
    /// Waits for the number of connected sockets of a port.
    Connected {
        transport: Transport,
        port: u16,
        peers: usize,
        timeout_s: f64,
    },
    /// UDP datagrams dropped because a socket buffer was full.
    DroppedDatagrams,
    /// The commands that the search path lacks.
    Lacking { commands: Vec<String> },
    /// Files as text; null for a file that cannot be read.
    Texts { paths: Vec<PathBuf> },
    /// A part of a file, as the body.
    Get { path: PathBuf, offset: u64 },
    /// Writes the body to a file.
    Put { path: PathBuf, mode: u32 },
    /// The folder of the agent, which ends with it.
    Folder,
    /// Keeps a command that restores the host at the end of the connection.
    AtEnd { number: u32, argv: Vec<String> },
    /// Forgets it by its file in the folder of an agent. If that agent is running the command, waits for its end.
    ForgetAtEnd { file: PathBuf },
    /// Starts to sample.
    Sample {
        sampler: u32,
        #[serde(flatten)]
        sampling: Sampling,
    },
    /// Ends sampling; the last rows come before the answer.
    StopSampling { sampler: u32 },
}

/// Serves the controller until the stream ends, then kills all commands.
///
/// # Errors
/// The stream breaks within a frame, or the path of this program is unknown.
pub fn serve(input: &mut impl Read, output: Stdout, folder: &Path) -> io::Result<()> {
    let mut session = Session {
        output: Output::to(output),
        processes: Processes::default(),
        samplers: Samplers::default(),
        folder: folder.to_owned(),
    };
    let program = std::env::current_exe()?;
    let hello = json!({"agent": VERSION, "pid": std::process::id(), "program": program.to_string_lossy()});
    session.output.send(&hello, &[]);
    let ended = loop {
        let read = frame::read(input);
        super::wait_while_restoring();
        match read {
            Ok(Some(frame)) => session.take(frame),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    session.processes.kill_all();
    ended
}

struct Session {
    output: Output,
    processes: Processes,
    samplers: Samplers,
    folder: PathBuf,
}

impl Session {
    fn take(&mut self, frame: Frame) {
        let arrived_ns = monotonic_ns();
        let id = frame.head.get("id").cloned().unwrap_or_default();
        match Request::deserialize(frame.head) {
            Err(error) => answer(
                &self.output,
                &id,
                Err(io::Error::other(format!("request: {error}"))),
            ),
            Ok(Request::Listening {
                transport,
                port,
                process,
                timeout_s,
            }) => {
                let processes = self.processes.clone();
                self.later(id, move || {
                    let stopped = || process.is_some_and(|number| processes.has_ended(number));
                    let found = sockets::wait(
                        transport,
                        port,
                        duration(timeout_s)?,
                        |port| port.waiting > 0,
                        stopped,
                    );
                    Ok(ports(found))
                });
            }
            Ok(Request::Connected {
                transport,
                port,
                peers,
                timeout_s,
            }) => self.later(id, move || {
                let enough = |port: Port| port.connected >= peers;
                Ok(ports(sockets::wait(
                    transport,
                    port,
                    duration(timeout_s)?,
                    enough,
                    || false,
                )))
            }),
            Ok(Request::Write { process, end }) => {
                let processes = self.processes.clone();
                // A command that does not read must not keep other requests waiting.
                self.later(id, move || {
                    processes.write(process, &frame.body, end).map(|()| Value::Null)
                });
            }
            Ok(Request::ForgetAtEnd { file }) => {
                self.later(id, move || at_end::forget(&file).map(|()| Value::Null));
            }
            Ok(Request::Get { path, offset }) => match files::get(&path, offset) {
                Ok(content) => self.output.send(&json!({"id": id, "ok": null}), &content),
                Err(error) => answer(&self.output, &id, Err(error)),
            },
            Ok(request) => {
                let outcome = self.now(request, &frame.body, arrived_ns);
                answer(&self.output, &id, outcome);
            }
        }
    }

    /// Answers a request that does not wait.
    fn now(&mut self, request: Request, body: &[u8], arrived_ns: u64) -> io::Result<Value> {
        match request {
            Request::Start { process, argv, stdin } => {
                self.processes.start(process, &argv, stdin, &self.output)
            }
            Request::Signal {
                process,
                signal,
                group,
            } => self
                .processes
                .signal(process, signal, group)
                .map(|()| Value::Null),
            Request::ProcessCpu { process } => self.processes.cpu_s(process),
            Request::ProcessThreads { process } => self.processes.threads(process),
            Request::Forget { process } => self.processes.forget(process).map(|()| Value::Null),
            Request::Facts => Ok(machine::facts()),
            Request::Clock => Ok(json!({
                "arrived_ns": arrived_ns,
                "realtime_ns": machine::realtime_ns()?,
                "sent_ns": monotonic_ns(),
            })),
            Request::DroppedDatagrams => Ok(sockets::dropped_datagrams().into()),
            Request::Lacking { commands } => Ok(commands
                .into_iter()
                .filter(|command| !is_in_search_path(command))
                .collect()),
            Request::Texts { paths } => {
                let text = |path: &PathBuf| {
                    let content = files::get(path, 0).ok()?;
                    Some(String::from_utf8_lossy(&content).into_owned())
                };
                Ok(paths.iter().map(text).collect())
            }
            Request::Put { path, mode } => files::put(&path, mode, body).map(|()| Value::Null),
            Request::Folder => {
                files::check_own(&self.folder)?;
                Ok(self.folder.to_string_lossy().into())
            }
            Request::AtEnd { number, argv } => {
                at_end::keep(&self.folder, number, &argv).map(|file| file.to_string_lossy().into())
            }
            Request::Sample { sampler, sampling } => self
                .samplers
                .start(sampler, sampling, &self.output)
                .map(|()| Value::Null),
            Request::StopSampling { sampler } => self.samplers.stop(sampler).map(|()| Value::Null),
            Request::Listening { .. }
            | Request::Connected { .. }
            | Request::Write { .. }
            | Request::ForgetAtEnd { .. }
            | Request::Get { .. } => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Answers a request that waits, on a thread of its own.
    fn later(&self, id: Value, work: impl FnOnce() -> io::Result<Value> + Send + 'static) {
        let output = self.output.clone();
        thread::spawn(move || answer(&output, &id, work()));
    }
}

fn answer(output: &Output, id: &Value, outcome: io::Result<Value>) {
    match outcome {
        Ok(value) => output.send(&json!({"id": id, "ok": value}), &[]),
        Err(error) => output.send(&json!({"id": id, "error": error.to_string()}), &[]),
    }
}

fn ports(found: Port) -> Value {
    json!({"waiting": found.waiting, "connected": found.connected})
}

fn duration(seconds: f64) -> io::Result<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(io::Error::other)
}

fn is_in_search_path(command: &str) -> bool {
    std::env::split_paths(&super::search_path())
        .any(|folder| nix::unistd::access(&folder.join(command), nix::unistd::AccessFlags::X_OK).is_ok())
}
