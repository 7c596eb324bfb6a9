//! `airtoll link ap` and `airtoll link sta`: the process that runs the phases and the data plane.
//!
//! ```text
//!  configuration ──► link opened, status sockets bound, privileges dropped ──► READY
//!  control frames, the clock ──► phases ──actions──► data plane, addresses of the device, log
//!  SIGINT, SIGTERM ──► Deauthentications, sealed ──► keys erased, device removed
//! ```
//! The thread that calls [`run`] handles everything except data. Another thread serves the status sockets and
//! receives signals.

mod accepted;
mod attendant;
mod config;
mod metrics;
pub mod netlink;
mod radius;
mod status_socket;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use getrandom::SysRng;
use nix::sys::signal::{SigSet, Signal};
use nix::time::{ClockId, clock_gettime};
use rand_core::{CryptoRng, UnwrapErr};
use serde::Serialize;
use wlan_frames::MacAddr;

pub use config::{Config, ConfigError};
use wlan_host::os_error::words;

use crate::lock::lock;
use crate::phases::{
    AccessPoint, Action, ApSettings, End, Event, MemberState, Outcome, Phase, RadiusSettings, StaSettings,
    StaState, Station, Traffic,
};
use crate::plane::{Endpoint, Handle, Kind, Link, LinkError, Role, Running, TableError};
use crate::privileges::{
    Capability, OWN_USER, PrivilegeError, UserIds, become_user, hide_memory, is_root, keep_capabilities,
};
use accepted::{Accepted, Addressed as _, ignore_router_advertisements};
use attendant::Attendant;
use netlink::Device;
use radius::RadiusSocket;

/// Maximum number of queued frames for the control plane.
const CONTROL_FRAMES: usize = 1024;
/// Maximum number of frames processed before the clock is read again.
const TAKEN: usize = 64;
/// Maximum wait for frames, after which the timers and the stop flag are checked.
const LOOK: Duration = Duration::from_millis(100);
/// Interval at which the data plane's counters are read, and the addresses of the device are compared with the networks of the
/// host.
const OBSERVE: Duration = Duration::from_secs(1);

/// Reason why a link could not start, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data plane failed.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// Privileges could not be dropped.
    #[error(transparent)]
    Privileges(#[from] PrivilegeError),
    /// A system call failed.
    #[error("{what}: {}", words(source))]
    System {
        /// The object concerned.
        what: String,
        /// The system's error.
        source: io::Error,
    },
}

impl DaemonError {
    fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| DaemonError::System {
            what: what.into(),
            source,
        }
    }
}

/// The state that the status socket reports.
#[derive(Debug, Clone, Default, Serialize)]
struct Shown {
    /// The station's state.
    #[serde(flatten)]
    station: Option<StaState>,
    /// The access point's stations.
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<Vec<MemberState>>,
    /// Number of connections established.
    established: u64,
    /// Number of failed attempts.
    failed: u64,
}

/// State that the two threads share.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    shown: Mutex<Shown>,
}

/// Runs one end of a link with the configuration file `path`, until SIGINT or SIGTERM.
///
/// Changes the signal mask and the capabilities of the calling thread. No other thread that could receive a signal
/// may exist.
///
/// # Errors
/// [`DaemonError`].
pub fn run(role: Role, path: &Path) -> Result<(), DaemonError> {
    // Before the passphrase is in memory.
    hide_memory()?;
    let config = Config::read(role, path)?;
    // Blocked from here on, also for new threads, because a signal descriptor receives them.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    signals
        .thread_block()
        .map_err(io::Error::from)
        .map_err(DaemonError::system("signals"))?;

    let user = is_root().then(|| config.user.unwrap_or_else(UserIds::unprivileged));
    let attendant = Attendant::bind(&config, user, signals)?;
    let link = Link::open(&config.link_config())?;
    let mut device =
        Device::new(&config.device).map_err(DaemonError::system(format!("device {}", config.device)))?;
    let radius = config.radius.as_ref().map(|radius| {
        RadiusSocket::open(radius.server).map_err(DaemonError::system(format!(
            "authentication server {}",
            radius.server
        )))
    });
    let radius = radius.transpose()?;
    let mut rng = UnwrapErr(SysRng);
    let machine = create_machine(&config, path, &link, &mut device, &mut rng)?;
    let stays_root = give_up_privileges(&config, user, &machine)?;
    let (address, mtu_b) = (link.address(), link.mtu_b());
    let running = link.start(CONTROL_FRAMES)?;
    let shared = Arc::new(Shared::default());
    let _attending = attendant
        .start(Arc::clone(&shared), running.handle().clone(), &config)
        .map_err(DaemonError::system("status thread"))?;
    let mut plane = Plane {
        handle: running.handle().clone(),
        device,
        accepted: config.accepted.clone(),
        shared: Arc::clone(&shared),
        down_when_lost: config.device_down_when_lost,
        name: config.name.clone(),
        radius,
    };
    if let Some(why) = stays_root {
        plane.log(&format!("the process remains root: {why}"));
    } else if user.is_some_and(UserIds::is_shared) {
        plane.log(&format!(
            "the process runs as nobody, and so may other services, which can send signals to it: create the user \
             {OWN_USER}, or set `user`"
        ));
    }
    plane.log(&format!("{} is up as {address}, MTU {mtu_b}", config.device));
    // Fails harmlessly without a service manager.
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
    plane.serve(machine, &running, &mut rng);
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
    Ok(running.end()?)
}

/// Creates the state machine of the configured role. Prepares the device: its own addresses, or down until there is a
/// session.
fn create_machine(
    config: &Config,
    path: &Path,
    link: &Link,
    device: &mut Device,
    rng: &mut dyn CryptoRng,
) -> Result<End, DaemonError> {
    Ok(match config.ap_addressing() {
        Some(addressing) => {
            let assigned = device.assign(addressing.own());
            assigned.map_err(DaemonError::system(format!(
                "addresses of device {}",
                config.device
            )))?;
            let settings = ApSettings {
                common: config.settings(link.address()),
                beacons_to: config.to_all(),
                addressing: addressing.clone(),
                stations: config.max_stations,
                rekey_group_after: config.group_rekey,
                radius: config.radius.as_ref().map(|radius| RadiusSettings {
                    secret: radius.secret.clone(),
                    nas_identifier: radius.nas_identifier.clone(),
                    framed_mtu_b: framed_mtu_b(link),
                    authenticate_after: radius.authenticate_after,
                }),
            };
            let machine = AccessPoint::new(settings, rng)
                .map_err(|error| DaemonError::Config(ConfigError::of(path, &error.to_string())))?;
            End::Ap(Box::new(machine))
        }
        None => {
            let settings = StaSettings {
                common: config.settings(link.address()),
                probes_to: config
                    .to_all()
                    .or(config.peer.map(Endpoint::Udp))
                    .expect("the configuration requires a peer"),
                bssid: config.bssid,
                eap: config.eap.clone(),
            };
            // Over Ethernet frames, the hosts configure the network as on any Ethernet.
            if settings.common.kind == Kind::Ip {
                ignore_router_advertisements(&config.device).map_err(DaemonError::system(format!(
                    "device {}: cannot set net.ipv6.conf.{}.accept_ra to 0 (a default of 0 has the same effect)",
                    config.device, config.device
                )))?;
            }
            if config.device_down_when_lost {
                device
                    .set_up(false)
                    .map_err(DaemonError::system(format!("device {}", config.device)))?;
            }
            End::Sta(Box::new(Station::new(settings)))
        }
    })
}

/// Maximum octets of an EAP packet: it must fit a sealed MSDU, with the header of EAPOL.
fn framed_mtu_b(link: &Link) -> u32 {
    u32::try_from(link.mtu_b().saturating_sub(4)).unwrap_or(u32::MAX)
}

/// If the process is root, changes to an unprivileged user. Keeps only the capabilities that are still required: a
/// station sets the addresses of its device. Returns the error if the process remains root because it cannot become
/// the default user, for example in a user namespace that maps only root.
fn give_up_privileges(
    config: &Config,
    user: Option<UserIds>,
    machine: &End,
) -> Result<Option<PrivilegeError>, PrivilegeError> {
    let stays_root = match user.map(become_user) {
        None | Some(Ok(())) => None,
        Some(Err(error @ PrivilegeError::User { .. })) if config.user.is_none() => Some(error),
        Some(Err(error)) => return Err(error),
    };
    keep_capabilities(match machine {
        End::Ap(_) => &[],
        End::Sta(_) => &[Capability::CAP_NET_ADMIN],
    })?;
    Ok(stays_root)
}

/// Time since boot, including suspend, so that a host that resumes checks whether the other end is still present.
fn clock() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME)
        .map(Duration::from)
        .unwrap_or_default()
}

/// The interfaces on which the machine's actions are performed.
struct Plane {
    handle: Handle,
    device: Device,
    accepted: Accepted,
    shared: Arc<Shared>,
    down_when_lost: bool,
    name: String,
    radius: Option<RadiusSocket>,
}

impl Plane {
    fn serve(&mut self, mut machine: End, running: &Running, rng: &mut UnwrapErr<SysRng>) {
        let start = clock();
        let answers = match self
            .radius
            .as_ref()
            .map(|radius| radius.read(Arc::clone(running.control())))
        {
            None => None,
            Some(Ok(answers)) => Some(answers),
            Some(Err(error)) => return self.log(&format!("authentication server: {error}")),
        };
        let (mut observed, mut compared) = (Duration::ZERO, Duration::ZERO);
        loop {
            let now = clock().saturating_sub(start);
            if self.shared.stop.load(Ordering::Acquire) {
                self.log("shutting down");
                machine.shut_down();
                self.perform(&mut machine);
                return;
            }
            let is_due = machine.next_timeout() <= now;
            if is_due || now >= observed + OBSERVE {
                observed = now;
                machine.note_group_packets(self.handle.group_packet_numbers_used());
                machine.observe(&self.traffic(), now, rng);
                machine.timeout(now, rng);
                self.perform(&mut machine);
                self.show(&machine);
            }
            if now >= compared + OBSERVE {
                compared = now;
                self.withdraw_addresses(&mut machine);
            }
            let wait = machine
                .next_timeout()
                .saturating_sub(now)
                .clamp(Duration::from_millis(1), LOOK);
            let mut next = match running.control().recv_timeout(wait) {
                Ok(frame) => Some(frame),
                Err(RecvTimeoutError::Timeout) => None,
                // The data plane ended: its device was removed.
                Err(RecvTimeoutError::Disconnected) => return,
            };
            for _ in 0..TAKEN {
                let Some(frame) = next else {
                    break;
                };
                machine.note_group_packets(self.handle.group_packet_numbers_used());
                machine.receive(&frame, now_since(start), rng);
                self.perform(&mut machine);
                next = running.control().try_recv().ok();
            }
            for datagram in answers.iter().flat_map(|answers| answers.try_iter()) {
                machine.radius(&datagram, now_since(start), rng);
            }
            for (stranger, from) in running.control().strangers() {
                machine.stranger(stranger, from, now_since(start));
            }
            self.perform(&mut machine);
        }
    }

    fn traffic(&self) -> Vec<Traffic> {
        let stations = self.handle.stations();
        let traffic = stations.iter().map(|station| Traffic {
            peer: station.address,
            received: station.received,
            packet_numbers_used: station.packet_numbers_used,
        });
        traffic.collect()
    }

    fn perform(&mut self, machine: &mut End) {
        let mut is_news = false;
        while let Some(action) = machine.poll_action() {
            is_news |= matches!(action, Action::Tell(_));
            match action {
                Action::Assign(addresses) => {
                    let outcome = self.accepted.assign(&mut self.device, &addresses);
                    let outcome = outcome.map(|()| addresses);
                    machine.note_assigned(outcome);
                }
                other => self.perform_one(other),
            }
        }
        if is_news {
            self.show(machine);
        }
    }

    fn perform_one(&mut self, action: Action) {
        // Send errors are ignored, because the sender retransmits a frame without an answer.
        match action {
            Action::Management { to, protected, frame } => {
                let _ = self.handle.send_management(to, protected, &frame);
            }
            Action::Eapol {
                peer,
                to,
                protected,
                pdu,
            } => {
                let _ = self.handle.send_eapol(peer, to, protected, &pdu);
            }
            Action::Admit {
                peer,
                endpoint,
                networks,
            } => {
                let admitted = self.handle.admit(peer, endpoint, &networks);
                self.complain("admitting", peer, admitted);
                self.bring_up(true);
            }
            Action::Install { peer, key } => {
                self.complain("installing a key for", peer, self.handle.install(peer, key));
            }
            Action::Retire { peer, key } => {
                self.complain("retiring a key for", peer, self.handle.retire(peer, &key));
            }
            Action::InstallGroup { peer, key } => {
                let installed = self.handle.install_group(peer, key);
                self.complain("installing a group key of", peer, installed);
            }
            Action::RetireGroup { peer, key_id } => {
                let retired = self.handle.retire_group(peer, key_id);
                self.complain("retiring a group key of", peer, retired);
            }
            Action::Remove { peer } => {
                // Absent if its admission failed, which was logged.
                let _ = self.handle.remove(peer);
                self.bring_up(false);
            }
            Action::Radius(datagram) => {
                if let Some(radius) = &self.radius {
                    radius.send(&datagram);
                }
            }
            // Its outcome goes to the machine.
            Action::Assign(_) => unreachable!("`perform` handles it"),
            Action::Tell(event) => self.tell(&event),
        }
    }

    /// Removes the addresses of a station if they overlap a network that its host has meanwhile.
    fn withdraw_addresses(&mut self, machine: &mut End) {
        if let End::Sta(station) = machine
            && let Some(why) = self.accepted.withdraw(&mut self.device)
        {
            station.note_withdrawn(&why);
            self.perform(machine);
        }
    }

    fn bring_up(&mut self, up: bool) {
        if self.down_when_lost
            && let Err(error) = self.device.set_up(up)
        {
            self.log(&format!("device: {error}"));
        }
    }

    fn complain(&self, doing: &str, peer: MacAddr, outcome: Result<(), TableError>) {
        if let Err(error) = outcome {
            self.log(&format!("{doing} {peer}: {error}"));
        }
    }

    fn tell(&self, event: &Event) {
        {
            let mut shown = lock(&self.shared.shown);
            match event.outcome {
                Outcome::Failed if event.phase != Phase::Discovery => shown.failed += 1,
                Outcome::Failed | Outcome::Established | Outcome::Progress | Outcome::Ended => {}
            }
        }
        self.log(&event.to_string());
    }

    fn log(&self, line: &str) {
        eprintln!("airtoll link {}: {line}", self.name);
    }

    fn show(&self, machine: &End) {
        let mut shown = lock(&self.shared.shown);
        match machine {
            End::Ap(ap) => {
                shown.established = ap.connections();
                shown.members = Some(ap.members());
            }
            End::Sta(station) => {
                let state = station.state();
                shown.established = state.connections;
                shown.station = Some(state);
            }
        }
    }
}

fn now_since(start: Duration) -> Duration {
    clock().saturating_sub(start)
}
