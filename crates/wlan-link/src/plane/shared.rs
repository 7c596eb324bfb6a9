//! State that the threads of an end share with the control plane, and the errors of a link.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::eventfd::EventFd;
use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_host::os_error::words;
use wlan_host::tun::Tun;

use super::WORKERS;
use super::counters::Counters;
use super::endpoint::Socket;
use super::table::Published;
use super::wire::End;

/// Reason why a link cannot start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The transport's socket cannot be opened.
    #[error("transport: {}", words(.0))]
    Transport(#[source] io::Error),
    /// The host's device cannot be created, or was removed.
    #[error("device {name}: {}", words(source))]
    Device {
        /// The device's name.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// The suite does not support links.
    #[error("unsupported suite {} (expected one of {})", .0.name(), Suite::OF_TEMPORAL_KEYS.map(Suite::name).join(", "))]
    Suite(Suite),
    /// The configuration has no suite.
    #[error("a link requires a cipher suite")]
    NoSuite,
    /// The longest frame of the transport leaves less than the minimum MTU for packets.
    #[error("frames of at most {0} octets leave less than {MTU_MIN_B} octets for packets")]
    Mtu(usize),
    /// The address is a group address.
    #[error("{0} is a group address; expected an individual address")]
    Group(MacAddr),
    /// The number of workers is out of range.
    #[error("{0} workers (expected 1 to {WORKERS})")]
    Workers(usize),
    /// A thread, or the event descriptor that wakes it, cannot be created.
    #[error("cannot start the link: {}", words(.0))]
    Start(#[source] io::Error),
}

/// Minimum MTU of the device, which IPv4 requires (RFC 791 3.2).
pub(super) const MTU_MIN_B: usize = 68;

/// The part of an end that one worker has for itself.
pub(super) struct Worker {
    pub(super) socket: Socket,
    /// A queue of the device.
    pub(super) tun: Tun,
    pub(super) counters: Counters,
    /// Wake the threads: outbound, inbound.
    pub(super) kicks: [EventFd; 2],
}

/// State that the threads of an end share with the control plane.
pub(super) struct Shared {
    pub(super) end: End,
    /// At least one, at most [`WORKERS`].
    pub(super) workers: Vec<Worker>,
    /// The socket for unprotected EAPOL, which has its own EtherType on Ethernet.
    pub(super) eapol: Option<Socket>,
    pub(super) device: String,
    pub(super) mpdu_b: usize,
    pub(super) mtu_b: usize,
    pub(super) suites: Vec<Suite>,
    pub(super) published: Arc<Published>,
    pub(super) ended: AtomicBool,
}

impl Shared {
    /// The socket for frames of the control plane.
    pub(super) fn socket(&self) -> &Socket {
        &self.workers[0].socket
    }

    /// Tells all threads to end.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.kick();
    }

    /// Wakes all threads, so that they notice a new table or the end.
    pub(super) fn kick(&self) {
        for kick in self.workers.iter().flat_map(|worker| &worker.kicks) {
            // Fails only if the counter of the event descriptor would overflow; the thread will then wake anyway.
            let _ = kick.write(1);
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    pub(super) fn device_error(&self, source: io::Error) -> LinkError {
        let name = self.device.clone();
        LinkError::Device { name, source }
    }
}
