//! The data plane of `airtoll link`: hosts joined by an open network, their frames sealed by the host CPU.
//!
//! One end is the access point, the others are stations. What the host sends to a TUN or TAP device becomes whole 802.11
//! MPDUs, sealed by the batch engine of `wlan-ciphers`, on any network between the ends that carries Ethernet frames or
//! datagrams of UDP (`endpoint`); `docs/reference/link-protocol.md` draws every octet. Two threads an end, and no lock
//! that is held over a system call. When frames come thick, a thread that has taken all rests a moment before it looks
//! again, instead of being woken for each (`threads`):
//!
//! Way out (`source`, `egress`):
//! 1. read packets and super-packets from the device, until none waits or the batch is full (sequential)
//! 2. find the station, split into the bodies of frames, each where it will be sent from (sequential)
//! 3. packet numbers and sequence numbers (sequential)
//! 4. seal the batch (parallel over frames)
//! 5. hand it to the kernel: messages of many frames with `UDP_SEGMENT`, or `sendmmsg`
//!
//! Way in (`ingress`, `deliver`):
//! 1. take what was received, where the kernel left it (sequential)
//! 2. look at each frame, the cheapest first: length, kind, receiver, transmitter, key, packet number (sequential)
//! 3. open the batch in place (parallel over frames)
//! 4. replay check (sequential)
//! 5. join runs of one flow and write them to the device; on an access point, or seal and pass on
//!
//! Keys come from whoever does the handshakes: [`Handle::admit`], [`Handle::install`], [`Handle::remove`]. Frames that are
//! not data go there ([`Running::control`]) and come from there ([`Handle::send_eapol`], [`Handle::send_management`]).

mod control;
mod counters;
pub mod daemon;
mod deliver;
mod egress;
mod endpoint;
mod ingress;
pub mod phases;
mod privileges;
mod replay;
mod source;
mod table;
mod threads;
mod waiting;
mod wire;

#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::sys::eventfd::{EfdFlags, EventFd};
use wlan_ciphers::Suite;
use wlan_frames::{EtherType, MacAddr};

pub use control::{Handle, SendError, StationState};
pub use counters::{InboundTotals, OutboundTotals, Totals};
pub use endpoint::{ETHERTYPE, Endpoint};
pub use ingress::{ControlBody, ControlFrame};
pub use privileges::{
    Capability, PrivilegeError, UserIds, become_user, hide_memory, is_root, keep_capabilities,
};
pub use table::{Direction, Network, TableError};
pub use threads::Running;
pub use waiting::{Strangers, Waiting};
pub use wire::{Kind, Role};

use counters::Counters;
use endpoint::Socket;
use table::Published;
use wire::End;
use wlan_host::os_error::{about, words};
use wlan_host::sys::interface::Interface;
use wlan_host::tun::{Offloads, Tun};

/// What carries the frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Ethernet frames on an interface; this end's address is the interface's.
    Ethernet {
        /// The interface's name.
        interface: String,
        /// EtherType of sealed frames: [`ETHERTYPE`] unless there is a reason.
        ethertype: EtherType,
    },
    /// Datagrams of UDP.
    Udp {
        /// Address and port of this end.
        local: SocketAddr,
        /// Octets of the longest IP packet on the path: 1500 unless there is a reason.
        outer_mtu_b: usize,
        /// This end's address in 802.11 headers, an individual one.
        address: MacAddr,
    },
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Access point or station.
    pub role: Role,
    /// What carries the frames.
    pub transport: Transport,
    /// Name of the device that the host sees, 1 to 15 octets.
    pub device: String,
    /// Whether the device carries IP packets or Ethernet frames; the same at all ends.
    pub kind: Kind,
    /// The suites that may be installed: how long a packet can be depends on their MICs.
    pub suites: Vec<Suite>,
}

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
const MTU_MIN_B: usize = 68;

/// What the threads of an end and its control plane share.
struct Shared {
    end: End,
    socket: Socket,
    /// EAPOL in the open, which on Ethernet has a type of its own.
    eapol: Option<Socket>,
    tun: Tun,
    device: String,
    mpdu_b: usize,
    mtu_b: usize,
    suites: Vec<Suite>,
    published: Arc<Published>,
    counters: Counters,
    /// Wakes the threads: out, in.
    kicks: [EventFd; 2],
    ended: AtomicBool,
}

/// An end whose device and socket are open, and that carries nothing yet: the time to give up privileges.
pub struct Link(Arc<Shared>);

impl Link {
    /// Opens the socket, then creates the device in the calling thread's network namespace, sets its MTU and, with
    /// Ethernet frames, its address, and brings it up. The device goes when the link does.
    ///
    /// # Errors
    /// Each kind of [`LinkError`].
    pub fn open(config: &Config) -> Result<Self, LinkError> {
        let refused = config
            .suites
            .iter()
            .find(|suite| !Suite::OF_TEMPORAL_KEYS.contains(suite));
        if let Some(&suite) = refused {
            return Err(LinkError::Suite(suite));
        }
        let mic_b = config
            .suites
            .iter()
            .map(|suite| suite.mic_len())
            .max()
            .ok_or(LinkError::NoSuite)?;
        let (socket, eapol, address) = match &config.transport {
            Transport::Udp {
                local,
                outer_mtu_b,
                address,
            } => (Socket::udp(*local, *outer_mtu_b), None, Ok(*address)),
            Transport::Ethernet { interface, ethertype } => (
                Socket::packet(interface, *ethertype),
                Some(Socket::eapol(interface).map_err(LinkError::Transport)?),
                Interface::named(interface)
                    .and_then(|found| found.address())
                    .map_err(about(format_args!("interface {interface}"))),
            ),
        };
        let (socket, address) = (
            socket.map_err(LinkError::Transport)?,
            address.map_err(LinkError::Transport)?,
        );
        if address.is_group() {
            return Err(LinkError::Group(address));
        }
        let end = End {
            role: config.role,
            address,
            kind: config.kind,
        };
        let mpdu_b = socket.mpdu_b().map_err(LinkError::Transport)?;
        let mtu_b = end
            .mtu_b(mpdu_b, mic_b)
            .filter(|&mtu_b| mtu_b >= MTU_MIN_B)
            .ok_or(LinkError::Mtu(mpdu_b))?;
        let device = |source| LinkError::Device {
            name: config.device.clone(),
            source,
        };
        let tun = Tun::named(&config.device, config.kind).map_err(device)?;
        let interface = Interface::named(&config.device).map_err(device)?;
        interface.set_mtu_b(mtu_b).map_err(device)?;
        if config.kind == Kind::Ethernet {
            interface.set_address(address).map_err(device)?;
        }
        interface.set_up().map_err(device)?;
        let kick = || {
            EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
                .map_err(|errno| LinkError::Start(errno.into()))
        };
        Ok(Self(Arc::new(Shared {
            end,
            socket,
            eapol,
            tun,
            device: config.device.clone(),
            mpdu_b,
            mtu_b,
            suites: config.suites.clone(),
            published: Arc::default(),
            counters: Counters::default(),
            kicks: [kick()?, kick()?],
            ended: false.into(),
        })))
    }

    /// This end's address in 802.11 headers.
    #[must_use]
    pub fn address(&self) -> MacAddr {
        self.0.end.address
    }

    /// Octets of the longest packet that the device carries.
    #[must_use]
    pub fn mtu_b(&self) -> usize {
        self.0.mtu_b
    }

    /// What the host's stack leaves to the device.
    #[must_use]
    pub fn device_offloads(&self) -> Offloads {
        self.0.tun.offloads()
    }

    /// Whether the kernel splits frames that leave and joins those that come (`UDP_SEGMENT`, `UDP_GRO`).
    #[must_use]
    pub fn socket_offloads(&self) -> (bool, bool) {
        self.0.socket.offloads()
    }

    /// Has the kernel neither split nor join frames, as one that cannot: to find out what that costs, or whether it errs.
    ///
    /// # Errors
    /// [`LinkError::Transport`].
    pub fn forgo_socket_offloads(&self) -> Result<(), LinkError> {
        self.0.socket.forgo_offloads().map_err(LinkError::Transport)
    }

    /// Starts the two threads. Frames for the control plane wait in queues of `control_frames` at most: sealed ones,
    /// and others.
    ///
    /// # Errors
    /// [`LinkError::Start`].
    pub fn start(self, control_frames: usize) -> Result<Running, LinkError> {
        Running::start(self.0, control_frames)
    }
}
