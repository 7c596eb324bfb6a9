//! Hosts on a switch. Each host is a thread in its own network namespace, with interface `eth0`.

use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Pid, gettid};

type Job = Box<dyn FnOnce() + Send>;

/// A thread that runs jobs in its own network namespace.
pub struct Host {
    thread_id: Pid,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Host {
    fn new() -> Option<Self> {
        let (jobs, given) = channel::<Job>();
        let (tell, told) = channel();
        let thread = thread::spawn(move || {
            tell.send(unshare(CloneFlags::CLONE_NEWNET).map(|()| gettid()))
                .unwrap();
            for job in given {
                job();
            }
        });
        match told.recv().unwrap() {
            Ok(thread_id) => Some(Self {
                thread_id,
                jobs: Some(jobs),
                thread: Some(thread),
            }),
            Err(error) => {
                test_support::skip(&format!(
                    "this process cannot create a network namespace: {error}"
                ));
                None
            }
        }
    }

    /// Runs `work` on the host's thread and waits for its result.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (tell, told) = channel();
        let job: Job = Box::new(move || tell.send(work()).unwrap());
        self.jobs.as_ref().unwrap().send(job).unwrap();
        told.recv().expect("the host's job panicked")
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.jobs = None;
        // `run` has already reported a panic of this thread.
        let _ = self.thread.take().unwrap().join();
    }
}

/// Runs ip(8) in the calling thread's namespace and returns its output.
pub fn ip(arguments: &str) -> String {
    let done = Command::new("ip")
        .args(arguments.split_whitespace())
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "ip {arguments}: {complaint}");
    String::from_utf8(done.stdout).unwrap()
}

/// A bridge that connects hosts.
pub struct Switch(Host);

impl Switch {
    /// Creates a switch. Prints the reason and returns `None` if namespaces are not permitted.
    pub fn new() -> Option<Self> {
        let host = Host::new()?;
        host.run(|| ip("link add br0 type bridge"));
        host.run(|| ip("link set br0 up"));
        Some(Self(host))
    }

    /// Creates a host on the switch, with addresses 198.51.100.N/24, 2001:db8:ffff::N/64 and 02:00:00:00:00:N.
    pub fn host(&self, number: u8) -> Host {
        let host = Host::new().expect("the switch has a namespace");
        host.run(|| ip("link set lo up"));
        self.join(number, &host);
        host
    }

    /// Connects a host that has no `eth0`.
    pub fn join(&self, number: u8, host: &Host) {
        let there = host.thread_id;
        self.0.run(move || {
            ip(&format!(
                "link add port{number} type veth peer name eth0 netns {there}"
            ));
            ip(&format!("link set port{number} master br0 up"));
        });
        host.run(move || {
            ip(&format!("link set eth0 address 02:00:00:00:00:{number:02x} up"));
            ip(&format!("address add 198.51.100.{number}/24 dev eth0"));
            ip(&format!("address add 2001:db8:ffff::{number}/64 dev eth0 nodad"));
        });
    }
}
