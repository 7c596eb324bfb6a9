//! Process identifiers: /proc may be that of an outer PID namespace, whose numbers differ from this process's own.

use std::fs;
use std::path::PathBuf;

use nix::unistd::{Pid, getpid};

/// A process by its number in /proc and by the number that system calls of this process take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessId {
    in_proc: i32,
    /// The number for system calls.
    pub own: Pid,
}

impl ProcessId {
    /// The process with this number for system calls; `None` if it has ended.
    #[must_use]
    pub fn of(own: Pid) -> Option<Self> {
        if is_own_namespace() {
            return Some(Self {
                in_proc: own.as_raw(),
                own,
            });
        }
        every().find(|process| process.own == own)
    }

    /// The children of this process: not every kernel has /proc/PID/task/PID/children (`CONFIG_PROC_CHILDREN`).
    #[must_use]
    pub fn children() -> Vec<Self> {
        let Some(parent) = own_in_proc() else {
            return Vec::new();
        };
        every()
            .filter(|process| process.parent() == Some(parent))
            .collect()
    }

    /// The processes of the process group that this process leads.
    #[must_use]
    pub fn group(self) -> Vec<Self> {
        every()
            .filter(|process| process.group_number() == Some(self.in_proc))
            .collect()
    }

    /// A file of the process in /proc.
    #[must_use]
    pub fn file(self, name: &str) -> PathBuf {
        format!("/proc/{}/{name}", self.in_proc).into()
    }

    /// The fields of /proc/PID/stat from the third one, the state.
    #[must_use]
    pub fn stat(self) -> Option<Vec<String>> {
        let stat = fs::read_to_string(self.file("stat")).ok()?;
        // proc_pid_stat(5): the name, in parentheses, may contain any character.
        let (_, after) = stat.rsplit_once(')')?;
        Some(after.split_whitespace().map(str::to_owned).collect())
    }

    fn parent(self) -> Option<i32> {
        self.stat()?.get(1)?.parse().ok()
    }

    fn group_number(self) -> Option<i32> {
        self.stat()?.get(2)?.parse().ok()
    }
}

/// The processes of this process's PID namespace.
fn every() -> impl Iterator<Item = ProcessId> {
    let namespace = fs::read_link("/proc/self/ns/pid").ok();
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(move |id| fs::read_link(format!("/proc/{id}/ns/pid")).ok() == namespace)
        .filter_map(|id| {
            let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
            let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
            let own = numbers.split_whitespace().last()?.parse().ok()?;
            Some(ProcessId {
                in_proc: id,
                own: Pid::from_raw(own),
            })
        })
}

fn is_own_namespace() -> bool {
    own_in_proc() == Some(getpid().as_raw())
}

fn own_in_proc() -> Option<i32> {
    fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}
