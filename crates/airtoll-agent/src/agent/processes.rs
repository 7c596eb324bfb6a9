//! Commands that the controller starts, each a process group of its own, and their output.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::output::Output;
use super::process_ids::ProcessId;
use super::{EXEC, machine, own_command};

/// Longest part of a command's output in a frame.
const CHUNK_B: usize = 1 << 16;

/// The commands of a controller, by the number that the controller gave them.
#[derive(Clone, Default)]
pub struct Processes(Arc<Mutex<HashMap<u32, Process>>>);

struct Process {
    id: Pid,
    /// Reaped when the command is forgotten: until then, no other process or group gets its number, which signals use.
    child: Child,
    has_ended: bool,
    stdin: Option<ChildStdin>,
}

impl Processes {
    /// Starts a command. Its output and its end are sent as events. `has_stdin` keeps its standard input open.
    ///
    /// Call it only on the thread that lives as long as this process: a command ends with the thread that started it.
    ///
    /// # Errors
    /// The system starts no process, or the number is in use.
    pub fn start(&self, number: u32, argv: &[String], has_stdin: bool, output: &Output) -> io::Result<Value> {
        let mut table = self.lock();
        if table.contains_key(&number) {
            return Err(io::Error::new(
                ErrorKind::AlreadyExists,
                format!("process {number} exists"),
            ));
        }
        let mut child = own_command(EXEC)
            .args(argv)
            .stdin(if has_stdin { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let id = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        let streams = [
            ("stdout", child.stdout.take().map(boxed)),
            ("stderr", child.stderr.take().map(boxed)),
        ];
        for (name, stream) in streams {
            let (stream, output) = (stream.ok_or(ErrorKind::BrokenPipe)?, output.clone());
            thread::spawn(move || relay(number, name, stream, &output));
        }
        let stdin = child.stdin.take();
        table.insert(
            number,
            Process {
                id,
                child,
                has_ended: false,
                stdin,
            },
        );
        let (processes, output) = (self.clone(), output.clone());
        thread::spawn(move || processes.await_end(number, id, &output));
        Ok(json!({"pid": id.as_raw()}))
    }

    /// Sends a signal to the command, or to its group.
    ///
    /// # Errors
    /// The command or the signal is unknown. A command that has ended is no error.
    pub fn signal(&self, number: u32, signal: i32, to_group: bool) -> io::Result<()> {
        let table = self.lock();
        let process = table.get(&number).ok_or_else(|| unknown(number))?;
        let signal = Signal::try_from(signal)?;
        let sent = if to_group {
            killpg(process.id, signal)
        } else {
            kill(process.id, signal)
        };
        // Before its session exists, the command has no group.
        if to_group && sent.is_err() {
            let _ = kill(process.id, signal);
        }
        Ok(())
    }

    /// Writes to the standard input of a command and, at the end, closes it.
    ///
    /// # Errors
    /// The command is unknown, or has closed its standard input.
    pub fn write(&self, number: u32, octets: &[u8], at_end: bool) -> io::Result<()> {
        let mut stdin = {
            let mut table = self.lock();
            let process = table.get_mut(&number).ok_or_else(|| unknown(number))?;
            process.stdin.take().ok_or(ErrorKind::BrokenPipe)?
        };
        stdin.write_all(octets)?;
        stdin.flush()?;
        if !at_end && let Some(process) = self.lock().get_mut(&number) {
            process.stdin = Some(stdin);
        }
        Ok(())
    }

    /// CPU time of all threads of a command in seconds; null if it has ended.
    ///
    /// # Errors
    /// The command is unknown.
    pub fn cpu_s(&self, number: u32) -> io::Result<Value> {
        Ok(self.running(number)?.and_then(machine::process_cpu_s).into())
    }

    /// The times of all threads of a command's group: by number, the time in seconds that the thread has run, and the
    /// time that it has waited for a CPU. Empty if the command has ended, or if the kernel does not count them.
    ///
    /// # Errors
    /// The command is unknown.
    pub fn threads(&self, number: u32) -> io::Result<Value> {
        let group = self.running(number)?.map(ProcessId::group).unwrap_or_default();
        let threads = group.into_iter().flat_map(machine::thread_times_s);
        Ok(Value::Object(
            threads.map(|(thread, times)| (thread, json!(times))).collect(),
        ))
    }

    /// The process of a command; `None` if it has ended.
    fn running(&self, number: u32) -> io::Result<Option<ProcessId>> {
        let id = {
            let table = self.lock();
            let process = table.get(&number).ok_or_else(|| unknown(number))?;
            (!process.has_ended).then_some(process.id)
        };
        Ok(id.and_then(ProcessId::of))
    }

    /// Whether a command has ended or does not exist.
    #[must_use]
    pub fn has_ended(&self, number: u32) -> bool {
        self.lock().get(&number).is_none_or(|process| process.has_ended)
    }

    /// Forgets a command that has ended.
    ///
    /// # Errors
    /// The command is unknown or has not ended.
    pub fn forget(&self, number: u32) -> io::Result<()> {
        let mut table = self.lock();
        let Entry::Occupied(mut entry) = table.entry(number) else {
            return Err(unknown(number));
        };
        if !entry.get().has_ended {
            return Err(io::Error::other(format!("process {number} has not ended")));
        }
        // In an agent that restores the host, another thread may have reaped it.
        let _ = entry.get_mut().child.wait();
        entry.remove();
        Ok(())
    }

    /// Kills all groups.
    pub fn kill_all(&self) {
        for process in self.lock().values() {
            let _ = killpg(process.id, Signal::SIGKILL);
            let _ = kill(process.id, Signal::SIGKILL);
        }
    }

    fn await_end(&self, number: u32, id: Pid, output: &Output) {
        let status = loop {
            match waitid(Id::Pid(id), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
                Ok(WaitStatus::Exited(_, status)) => break Some(status),
                Ok(WaitStatus::Signaled(_, signal, _)) => break Some(-(signal as i32)),
                Err(Errno::EINTR) => {}
                Ok(_) | Err(_) => break None,
            }
        };
        if let Some(process) = self.lock().get_mut(&number) {
            process.has_ended = true;
        }
        output.send(&json!({"process": number, "exit": status}), &[]);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u32, Process>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn boxed(stream: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(stream)
}

fn unknown(number: u32) -> io::Error {
    io::Error::new(ErrorKind::NotFound, format!("no process {number}"))
}

/// Sends the output of a command in parts, and its end.
fn relay(number: u32, name: &str, mut stream: Box<dyn Read + Send>, output: &Output) {
    let mut chunk = vec![0; CHUNK_B];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => output.send(&json!({"process": number, "stream": name}), &chunk[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    output.send(&json!({"process": number, "stream": name, "end": true}), &[]);
}
