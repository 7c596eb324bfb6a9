//! The emulated link in real time: hosts with one TUN or TAP device each, and one medium.
//!
//! [`Emulator`] creates the hosts and starts the MAC thread (`mac`).

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;

use wlan_air::channel::SignalCounts;
use wlan_air::{Medium, MediumConfig, Nanos};
use wlan_ciphers::Suite;
use wlan_frames::Role;
use wlan_host::clock::Clock;
use wlan_host::netns;
use wlan_host::tun::{DEVICE_NAME, Tun};
use wlan_rsn::Key;

use crate::bss::joining::{Joined, Joining};
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
use crate::running::{Worker, host_facts};

pub use crate::mac::report::{Facts, ProcessorFacts, Report, Sent, WiredFacts};
pub use crate::running::{EmulatorError, HostFacts, Running};

/// A running link.
pub struct Emulator {
    roster: Roster,
    namespaces: Vec<OwnedFd>,
    facts: Facts,
    mac: Worker<Report>,
}

impl Running for Emulator {
    type Config = Config;
    type Facts = Facts;
    type Report = Report;

    /// Creates the hosts' namespaces and devices, joins the stations and starts the MAC thread.
    fn start(config: &Config) -> Result<Self, EmulatorError> {
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
        let (mac, scheduling) = Worker::start("mac", |orders| Mac {
            clock: Clock::start(config.clock),
            roster,
            around,
            hosts,
            associations: bss.associations,
            stages: Stages::new(
                around,
                card.map(|card| (card, scenario.receive_limit)),
                roster.on_air(),
                wired,
            ),
            signals: vec![SignalCounts::default(); roster.on_air()],
            medium,
            transmit_buffers: station.queue_limit,
            flow_seed,
            counters: Counters::new(roster.on_air()),
            capture,
            data_on_air: 0,
            idle_since: Some(Nanos::ZERO),
            looked_at: Nanos::ZERO,
            orders,
            // Two full station queues, plus the frames being read.
            pool: Pool::new(2 * station.queue_limit + 2),
            passing: Vec::new(),
        })?;
        let facts = Facts {
            cipher: words.suite().map_or("open", Suite::name),
            wpa_key_mgmt: keys
                .security(Role::Sta)
                .map(|security| security.policy.akms[0].name()),
            temporal_keys: bss.temporal_keys,
            joining_ms: bss.took.as_us_f64() / 1e3,
            scheduling,
            rate_kbit_per_s: words.mode().rate_kbps(),
            stations,
            processor: card.map(|card| ProcessorFacts {
                frame_us: card.interval.frame.as_us_f64(),
                byte_ns: card.interval.octet_ns,
                latency_us: card.latency.frame.as_us_f64(),
                latency_byte_ns: card.latency.octet_ns,
                receive_limit: scenario.receive_limit,
            }),
            wired: wired.map(WiredFacts::from),
            queue_limit_mpdus: station.queue_limit,
            ampdu: station.aggregation.max_mpdus > 1,
            coalesce: words.coalesce(),
            offloads,
        };
        Ok(Self {
            roster,
            namespaces,
            facts,
            mac,
        })
    }

    fn hosts(&self) -> impl Iterator<Item = HostFacts<'_>> {
        host_facts(self.roster, &self.namespaces)
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn report(&self) -> Option<Report> {
        self.mac.report()
    }

    fn stop(self) -> Result<(), EmulatorError> {
        self.mac.stop()
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
        let mut joining = Joining::new(medium, tid, keys, bigtk)?;
        let joined: Result<Vec<_>, _> = (1..roster.on_air())
            .map(|station| joining.join(station))
            .collect();
        let joined = joined?;
        let (beacons, sent, took) = joining.finish();
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
                beacons: Some(beacons),
                channel: medium.channel.clone(),
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
