//! What the threads of an end and its control plane share, and why there is no link.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::eventfd::EventFd;
use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_host::os_error::words;
use wlan_host::tun::Tun;

use super::counters::Counters;
use super::endpoint::Socket;
use super::table::Published;
use super::wire::End;

/// Why there is no link.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The transport's socket cannot be had.
    #[error("transport: {}", words(.0))]
    Transport(#[source] io::Error),
    /// The host's device cannot be had, or went away.
    #[error("device {name}: {}", words(source))]
    Device {
        /// The device's name.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// The suite protects no frames of a link.
    #[error("suite {} cannot be used on a link: ccmp, ccmp256, gcmp, gcmp256, enhanced1 to enhanced8 can", .0.name())]
    Suite(Suite),
    /// No suite was named.
    #[error("a link needs a cipher suite")]
    NoSuite,
    /// No frame with a packet fits.
    #[error("an MTU of {0} octets outside leaves less than {MTU_MIN_B} for packets inside")]
    Mtu(usize),
    /// A group address cannot be an end's.
    #[error("{0} is not the address of one station")]
    Group(MacAddr),
    /// No thread, or no means to wake it.
    #[error("starting the link: {}", words(.0))]
    Start(#[source] io::Error),
}

/// The least that a device must carry: what IPv4 asks for (RFC 791 3.2).
pub(super) const MTU_MIN_B: usize = 68;

/// What the threads of an end and its control plane share.
pub(super) struct Shared {
    pub(super) end: End,
    pub(super) socket: Socket,
    /// EAPOL in the open, which on Ethernet has a type of its own.
    pub(super) eapol: Option<Socket>,
    pub(super) tun: Tun,
    pub(super) device: String,
    pub(super) mpdu_b: usize,
    pub(super) mtu_b: usize,
    pub(super) suites: Vec<Suite>,
    pub(super) published: Arc<Published>,
    pub(super) counters: Counters,
    /// Wakes the threads: out, in.
    pub(super) kicks: [EventFd; 2],
    pub(super) ended: AtomicBool,
}

impl Shared {
    /// Has both threads end soon.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.kick();
    }

    /// Has both threads look at what was published.
    pub(super) fn kick(&self) {
        for kick in &self.kicks {
            // Refused only when it was kicked 2^64 times and never woke.
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
