//! A link that runs: its hosts, and the thread that moves its frames.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use nix::sys::eventfd::{EfdFlags, EventFd};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wlan_frames::MacAddr;
use wlan_host::schedule::{Scheduling, claim_real_time};
use wlan_scenario::BadScenario;

use crate::bss::joining::JoiningError;
use crate::config::ConfigError;
use crate::roster::{self, Roster};

/// Why a link did not start, or stopped early.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] BadScenario),
    /// A station could not join the link.
    #[error(transparent)]
    Joining(#[from] JoiningError),
    /// The configuration of the medium is invalid.
    #[error(transparent)]
    Medium(#[from] wlan_air::ConfigError),
    /// The kernel refused a namespace or a device.
    #[error("{0}")]
    Setup(io::Error),
    /// The capture of the air could not be written.
    #[error("capture of the air: {0}")]
    Capture(io::Error),
    /// The MAC thread stopped at a fatal error.
    #[error("MAC thread: {0}")]
    Mac(io::Error),
}

/// A host of a running link.
pub struct HostFacts<'e> {
    /// `ap`; `sta`, or `sta1`, `sta2`, ... if there are several stations; `server`.
    pub name: String,
    /// IPv4 address in a /24 network.
    pub ipv4: Ipv4Addr,
    /// IPv6 address in a /64 network.
    pub ipv6: Ipv6Addr,
    /// Address of the host's frames on the air, and of its device if the device carries Ethernet frames.
    pub mac: MacAddr,
    /// Network namespace of the host.
    pub namespace: &'e OwnedFd,
}

/// The hosts, by name, with their addresses and network namespaces.
pub fn host_facts(roster: Roster, namespaces: &[OwnedFd]) -> impl Iterator<Item = HostFacts<'_>> {
    namespaces
        .iter()
        .enumerate()
        .map(move |(host, namespace)| HostFacts {
            name: roster.name(host),
            ipv4: roster::ipv4(host),
            ipv6: roster::ipv6(host),
            mac: roster::mac(host),
            namespace,
        })
}

/// A link that a process can serve.
pub trait Running: Sized {
    /// The configuration.
    type Config: DeserializeOwned;
    /// The properties of the link.
    type Facts: Serialize;
    /// Totals since the link came up.
    type Report: Serialize;

    /// Creates the hosts and starts the link.
    ///
    /// # Errors
    /// The configuration is invalid, or the kernel refuses a namespace, a device or the capture file.
    fn start(config: &Self::Config) -> Result<Self, EmulatorError>;

    /// The hosts, by name, with their addresses and network namespaces.
    fn hosts(&self) -> impl Iterator<Item = HostFacts<'_>>;

    /// The properties of the link.
    fn facts(&self) -> Self::Facts;

    /// Totals so far. `None` if the link's thread has ended; [`stop`](Self::stop) returns the reason.
    fn report(&self) -> Option<Self::Report>;

    /// Takes the link down.
    ///
    /// # Errors
    /// The link's thread ended early, or the capture could not be written to disk.
    fn stop(self) -> Result<(), EmulatorError>;
}

/// The thread that moves the frames of a link. [`Worker::stop`] ends it.
pub struct Worker<R> {
    requests: Sender<Sender<R>>,
    wake: Arc<EventFd>,
    thread: JoinHandle<Result<(), EmulatorError>>,
}

/// Requests to the thread of a [`Worker`].
pub struct Orders<R> {
    /// Readable when the thread should look at its orders.
    pub wake: Arc<EventFd>,
    requests: Receiver<Sender<R>>,
}

/// The work of a [`Worker`]'s thread.
pub trait Work<R> {
    /// Works until the link is taken down.
    fn work(&mut self) -> io::Result<()>;

    /// Completes the capture of the air.
    fn finish(self) -> io::Result<()>;
}

impl<R: Send + 'static> Worker<R> {
    /// Starts the thread. Returns it and its scheduling.
    ///
    /// # Errors
    /// The kernel refuses the thread or a descriptor.
    pub fn start<W: Work<R> + Send + 'static>(
        name: &str,
        work: impl FnOnce(Orders<R>) -> W,
    ) -> Result<(Self, Scheduling), EmulatorError> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let wake =
            EventFd::from_value_and_flags(0, flags).map_err(|error| EmulatorError::Setup(error.into()))?;
        let wake = Arc::new(wake);
        let (requests, queue) = channel();
        let mut work = work(Orders {
            wake: Arc::clone(&wake),
            requests: queue,
        });
        let (started, scheduling) = channel();
        let thread = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                // The receiver waits for exactly this message.
                let _ = started.send(claim_real_time());
                let outcome = work.work().map_err(EmulatorError::Mac);
                outcome.and(work.finish().map_err(EmulatorError::Capture))
            })
            .map_err(EmulatorError::Setup)?;
        let scheduling = scheduling.recv().unwrap_or(Scheduling::Other);
        Ok((
            Self {
                requests,
                wake,
                thread,
            },
            scheduling,
        ))
    }

    /// Totals so far. `None` if the thread has ended.
    pub fn report(&self) -> Option<R> {
        let (answer, report) = channel();
        self.requests.send(answer).ok()?;
        self.wake.write(1).ok()?;
        report.recv().ok()
    }

    /// Ends the thread.
    ///
    /// # Errors
    /// The thread ended early, or the capture could not be written to disk.
    pub fn stop(self) -> Result<(), EmulatorError> {
        drop(self.requests);
        // The write wakes the thread, which then finds the request channel closed.
        self.wake
            .write(1)
            .map_err(|error| EmulatorError::Mac(error.into()))?;
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl<R> Orders<R> {
    /// Answers the requests for totals. Returns false if the thread should end.
    pub fn answer(&self, report: impl Fn() -> R) -> bool {
        loop {
            match self.requests.try_recv() {
                // The requester may be gone.
                Ok(answer) => drop(answer.send(report())),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }
}
