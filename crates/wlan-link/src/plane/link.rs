//! Opening a link: its socket, device and threads.

use std::sync::Arc;

use nix::sys::eventfd::{EfdFlags, EventFd};
use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_host::os_error::about;
use wlan_host::sys::interface::Interface;
use wlan_host::tun::{Offloads, Tun};

use super::config::{Config, Transport};
use super::counters::Counters;
use super::endpoint::Socket;
use super::shared::{LinkError, MTU_MIN_B, Shared};
use super::threads::Running;
use super::wire::{End, Kind};

/// An end whose device and socket are open but that carries no traffic yet. Privileges should be dropped at this stage.
pub struct Link(Arc<Shared>);

impl Link {
    /// Opens the socket, then creates the device in the calling thread's network namespace, sets its MTU, sets its
    /// address if it carries Ethernet frames, and brings it up. The device exists as long as the link.
    ///
    /// # Errors
    /// All variants of [`LinkError`].
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

    /// MTU of the device in octets.
    #[must_use]
    pub fn mtu_b(&self) -> usize {
        self.0.mtu_b
    }

    /// The offloads that the host's network stack leaves to the device.
    #[must_use]
    pub fn device_offloads(&self) -> Offloads {
        self.0.tun.offloads()
    }

    /// Whether the kernel splits outbound messages (`UDP_SEGMENT`) and coalesces inbound frames (`UDP_GRO`).
    #[must_use]
    pub fn socket_offloads(&self) -> (bool, bool) {
        self.0.socket.offloads()
    }

    /// Disables splitting and coalescing by the kernel, to measure their benefit or to rule out errors in them.
    ///
    /// # Errors
    /// [`LinkError::Transport`].
    pub fn forgo_socket_offloads(&self) -> Result<(), LinkError> {
        self.0.socket.forgo_offloads().map_err(LinkError::Transport)
    }

    /// Starts the two threads. Frames for the control plane are held in two queues of at most `control_frames` each:
    /// one for sealed frames, one for all others.
    ///
    /// # Errors
    /// [`LinkError::Start`].
    pub fn start(self, control_frames: usize) -> Result<Running, LinkError> {
        Running::start(self.0, control_frames)
    }
}
