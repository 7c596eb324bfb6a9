//! The emulated link in real time: hosts with one TUN or TAP device each, and one medium.
//!
//! [`Emulator`] creates the hosts and starts the MAC thread (`mac`).

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use nix::sys::eventfd::{EfdFlags, EventFd};
use wlan_air::{Medium, MediumConfig, Nanos};
use wlan_ciphers::Suite;
use wlan_frames::{MacAddr, Role};
use wlan_host::clock::Clock;
use wlan_host::netns;
use wlan_host::schedule::{Scheduling, claim_real_time};
use wlan_host::tun::{DEVICE_NAME, Tun};
use wlan_rsn::Key;
use wlan_scenario::BadScenario;

use crate::bss::beacon::AccessPoint;
use crate::bss::joining::{Joined, Joining, JoiningError};
use crate::bss::keys::Keys;
use crate::capture::{Capture, Names};
use crate::config::{Config, ConfigError};
use crate::frames::frame::{Around, Pool};
use crate::frames::host::Host;
use crate::frames::sent::Sent as OnAir;
use crate::frames::station::End;
use crate::mac::counters::Counters;
use crate::mac::stage::Stages;
use crate::mac::state::Mac;
use crate::roster::{self, AP, Roster};

pub use crate::mac::report::{Facts, ProcessorFacts, Report, Sent, WiredFacts};

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

/// A running link.
pub struct Emulator {
    roster: Roster,
    namespaces: Vec<OwnedFd>,
    facts: Facts,
    requests: Sender<Sender<Report>>,
    wake: Arc<EventFd>,
    mac: JoinHandle<Result<(), EmulatorError>>,
}

impl Emulator {
    /// Creates the hosts' namespaces and devices, joins the stations and starts the MAC thread.
    ///
    /// # Errors
    /// The configuration is invalid, or the kernel refuses a namespace, a device or the capture file.
    pub fn start(config: &Config) -> Result<Self, EmulatorError> {
        let words = &config.scenario;
        let scenario = words.build()?;
        if words.is_sealed_by_link() {
            return Err(ConfigError::SealedByLink.into());
        }
        let station = scenario.medium.stations[AP].clone();
        let stations = scenario.medium.stations.len() - 1;
        let wired = words.has_server().then_some(scenario.wired);
        let roster = Roster::new(stations, wired.is_some()).ok_or(ConfigError::Hosts(stations))?;
        let keys = config.keys()?;
        let bss = JoinedBss::join(config, &scenario.medium, &keys, roster)?;
        let around = bss.associations[0][0].around();
        let flow_seed = scenario.medium.seed;
        let medium = Medium::new(scenario.medium)?;
        let card = words.card()?;
        let (namespaces, hosts) = create_hosts(roster, config, around)?;
        let offloads = hosts[AP].offloads();
        let capture = start_capture(config.pcap.as_deref(), bss.names, &bss.sent, bss.took)?;
        let wake = Arc::new(
            EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
                .map_err(|error| EmulatorError::Setup(error.into()))?,
        );
        let (requests, queue) = channel();
        let (mac, scheduling) = spawn(Mac {
            clock: Clock::start(config.clock),
            roster,
            around,
            hosts,
            associations: bss.associations,
            stages: Stages::new(
                around,
                card.map(|card| (card, scenario.processor_limit)),
                roster.on_air(),
                wired,
            ),
            medium,
            flow_seed,
            counters: Counters::default(),
            capture,
            data_on_air: 0,
            looked_at: Nanos::ZERO,
            wake: Arc::clone(&wake),
            requests: queue,
            // Two full station queues, plus the frames being read.
            pool: Pool::new(2 * station.queue_limit + 2),
            passing: Vec::new(),
        })?;
        let facts = Facts {
            cipher: words.suite().map_or("open", Suite::name),
            wpa_key_mgmt: keys.station_policy().map(|policy| policy.akms[0].name()),
            temporal_keys: bss.temporal_keys,
            joining_ms: bss.took.as_us_f64() / 1e3,
            scheduling,
            rate_kbit_per_s: words.mode().rate_kbps(),
            stations,
            processor: card.map(|card| ProcessorFacts {
                frame_us: card.frame.as_us_f64(),
                byte_ns: card.octet_ns,
                queue_limit: scenario.processor_limit,
            }),
            wired: wired.map(|wired| WiredFacts {
                rate_bit_per_s: wired.rate_bps,
                delay_us: wired.delay.as_us_f64(),
                queue_limit: wired.queue_limit,
            }),
            queue_limit_mpdus: station.queue_limit,
            ampdu: station.aggregation.max_mpdus > 1,
            coalesce: words.coalesce(),
            offloads,
        };
        Ok(Self {
            roster,
            namespaces,
            facts,
            requests,
            wake,
            mac,
        })
    }

    /// The hosts, by name, with their addresses and network namespaces.
    pub fn hosts(&self) -> impl Iterator<Item = HostFacts<'_>> {
        self.namespaces
            .iter()
            .enumerate()
            .map(|(host, namespace)| HostFacts {
                name: self.roster.name(host),
                ipv4: roster::ipv4(host),
                ipv6: roster::ipv6(host),
                mac: roster::mac(host),
                namespace,
            })
    }

    /// The properties of the link.
    pub fn facts(&self) -> Facts {
        self.facts.clone()
    }

    /// Totals so far. `None` if the MAC thread has ended; [`Emulator::stop`] returns the reason.
    pub fn report(&self) -> Option<Report> {
        let (answer, report) = channel();
        self.requests.send(answer).ok()?;
        self.wake.write(1).ok()?;
        report.recv().ok()
    }

    /// Takes the link down.
    ///
    /// # Errors
    /// The MAC thread ended early, or the capture could not be written to disk.
    pub fn stop(self) -> Result<(), EmulatorError> {
        drop(self.requests);
        // The write wakes the thread, which then finds the request channel closed.
        self.wake
            .write(1)
            .map_err(|error| EmulatorError::Mac(error.into()))?;
        self.mac
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The BSS after all stations have joined, and the frames that joining took.
struct JoinedBss {
    /// By station from 1: the access point's end and the station's end.
    associations: Vec<[End; 2]>,
    temporal_keys: BTreeMap<String, String>,
    names: Names,
    sent: Vec<OnAir>,
    /// Time that joining took on the air.
    took: Nanos,
}

impl JoinedBss {
    fn join(
        config: &Config,
        medium: &MediumConfig,
        keys: &Keys,
        roster: Roster,
    ) -> Result<Self, EmulatorError> {
        let tid = config.scenario.tid();
        let management = config.scenario.management_protection();
        let bigtk = management.of_beacons.then(|| config.beacon_key()).transpose()?;
        let access_point = AccessPoint::new(roster::mac(AP), medium, tid, keys, bigtk);
        let mut joining = Joining::new(&medium.bss, &access_point, tid.is_some(), keys, roster.on_air())?;
        let joined: Result<Vec<_>, _> = (1..roster.on_air())
            .map(|station| joining.join(station))
            .collect();
        let joined = joined?;
        let (sent, took) = joining.finish();
        let temporal_keys = (1..).zip(&joined).filter_map(|(station, joined)| {
            let key = joined.temporal_key.as_ref()?;
            Some((roster.name(station), hexadecimal(key)))
        });
        Ok(Self {
            temporal_keys: temporal_keys.collect(),
            associations: (1..)
                .zip(joined)
                .map(|(station, joined)| ends(joined, station, tid))
                .collect(),
            names: Names {
                addresses: (0..roster.on_air()).map(roster::mac).collect(),
                tid: tid.unwrap_or_default(),
                access_point,
            },
            sent,
            took,
        })
    }
}

/// Starts the capture of the air, if there is a path for it, with the frames that the stations sent to join.
fn start_capture(
    path: Option<&Path>,
    names: Names,
    sent: &[OnAir],
    took: Nanos,
) -> Result<Option<Capture>, EmulatorError> {
    let capture = path.map(|path| Capture::create(path, names)).transpose();
    let mut capture = capture.map_err(EmulatorError::Capture)?;
    if let Some(capture) = &mut capture {
        capture.joining(sent, took);
    }
    Ok(capture)
}

/// Creates each host in a network namespace, by host number.
fn create_hosts(
    roster: Roster,
    config: &Config,
    around: Around,
) -> Result<(Vec<OwnedFd>, Vec<Host>), EmulatorError> {
    let create = || Tun::named(DEVICE_NAME, config.device);
    let hosts = (0..roster.len()).map(|_| {
        let (namespace, tun) = netns::create(create).map_err(EmulatorError::Setup)?;
        Ok((namespace, Host::new(tun, around, config.scenario.coalesce())))
    });
    let hosts: Result<Vec<_>, EmulatorError> = hosts.collect();
    Ok(hosts?.into_iter().unzip())
}

/// Starts the MAC thread. Returns the thread and its scheduling.
fn spawn(mut mac: Mac) -> Result<(JoinHandle<Result<(), EmulatorError>>, Scheduling), EmulatorError> {
    let (started, scheduling) = channel();
    let thread = std::thread::Builder::new()
        .name("mac".into())
        .spawn(move || {
            // The receiver waits for exactly this message.
            let _ = started.send(claim_real_time());
            let outcome = mac.run().map_err(EmulatorError::Mac);
            let written = mac
                .capture
                .map_or(Ok(()), Capture::finish)
                .map_err(EmulatorError::Capture);
            outcome.and(written)
        })
        .map_err(EmulatorError::Setup)?;
    Ok((thread, scheduling.recv().unwrap_or(Scheduling::Other)))
}

/// Both ends of a station's association.
fn ends(joined: Joined, station: usize, tid: Option<u8>) -> [End; 2] {
    let [ap, sta] = joined.protections;
    // Each TID has its own sequence number counter; frames without QoS share one with management frames (10.3.2.14.2).
    let [ap_next, sta_next] = if tid.is_some() { [0, 0] } else { joined.sequences };
    [
        End::new(Role::Ap, station, tid, ap, ap_next),
        End::new(Role::Sta, station, tid, sta, sta_next),
    ]
}

/// Encodes a key in hexadecimal digits.
fn hexadecimal(key: &Key) -> String {
    use std::fmt::Write;
    let mut digits = String::new();
    for octet in key.as_octets() {
        let _ = write!(digits, "{octet:02x}");
    }
    digits
}
