//! Opening a link: its sockets, device and threads.

use std::io;
use std::sync::Arc;

use nix::sys::eventfd::{EfdFlags, EventFd};
use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_host::os_error::about;
use wlan_host::sys::interface::Interface;
use wlan_host::tun::{Offloads, Tun};

use super::WORKERS;
use super::config::{Config, Transport};
use super::counters::Counters;
use super::endpoint::Socket;
use super::shared::{LinkError, MTU_MIN_B, Shared, Worker};
use super::steering::Share;
use super::threads::Running;
use super::wire::{End, Kind};

/// An end whose device and sockets are open but that carries no traffic yet. Privileges should be dropped at this stage.
pub struct Link(Arc<Shared>);

impl Link {
    /// Opens the sockets, then creates the device in the calling thread's network namespace, sets its MTU, sets its
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
        let workers = config.workers;
        if !(1..=WORKERS).contains(&workers) {
            return Err(LinkError::Workers(workers));
        }
        let (sockets, eapol, address) = match &config.transport {
            Transport::Udp {
                local,
                outer_mtu_b,
                address,
            } => (Socket::udp(*local, *outer_mtu_b, workers), None, Ok(*address)),
            Transport::Ethernet { interface, ethertype } => (
                (0..workers)
                    .map(|worker| Socket::packet(interface, *ethertype, Share { worker, workers }))
                    .collect(),
                Some(Socket::eapol(interface).map_err(LinkError::Transport)?),
                Interface::named(interface)
                    .and_then(|found| found.address())
                    .map_err(about(format_args!("interface {interface}"))),
            ),
        };
        let sockets: io::Result<Vec<Socket>> = sockets;
        let (sockets, address) = (
            sockets.map_err(LinkError::Transport)?,
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
        let mpdu_b = sockets[0].mpdu_b().map_err(LinkError::Transport)?;
        let mtu_b = end
            .mtu_b(mpdu_b, mic_b)
            .filter(|&mtu_b| mtu_b >= MTU_MIN_B)
            .ok_or(LinkError::Mtu(mpdu_b))?;
        let device = |source| LinkError::Device {
            name: config.device.clone(),
            source,
        };
        let queues = Tun::queues(&config.device, config.kind, workers).map_err(device)?;
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
        let worker = |(socket, tun)| {
            Ok(Worker {
                socket,
                tun,
                counters: Counters::default(),
                kicks: [kick()?, kick()?],
            })
        };
        let workers: Result<_, LinkError> = sockets.into_iter().zip(queues).map(worker).collect();
        Ok(Self(Arc::new(Shared {
            end,
            workers: workers?,
            eapol,
            device: config.device.clone(),
            mpdu_b,
            mtu_b,
            suites: config.suites.clone(),
            published: Arc::default(),
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
        self.0.workers[0].tun.offloads()
    }

    /// Whether the kernel splits outbound messages (`UDP_SEGMENT`) and coalesces inbound frames (`UDP_GRO`).
    #[must_use]
    pub fn socket_offloads(&self) -> (bool, bool) {
        self.0.socket().offloads()
    }

    /// Disables splitting and coalescing by the kernel, to measure their benefit or to rule out errors in them.
    ///
    /// # Errors
    /// [`LinkError::Transport`].
    pub fn forgo_socket_offloads(&self) -> Result<(), LinkError> {
        let mut sockets = self.0.workers.iter().map(|worker| &worker.socket);
        sockets
            .try_for_each(Socket::forgo_offloads)
            .map_err(LinkError::Transport)
    }

    /// Starts two threads per worker. Frames for the control plane are held in two queues of at most `control_frames` each:
    /// one for sealed frames, one for all others.
    ///
    /// # Errors
    /// [`LinkError::Start`].
    pub fn start(self, control_frames: usize) -> Result<Running, LinkError> {
        Running::start(self.0, control_frames)
    }
}
