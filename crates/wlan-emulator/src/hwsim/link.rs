//! A link of radios of mac80211_hwsim: hosts with one radio each, and one medium.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use wlan_air::channel::SignalCounts;
use wlan_air::{Access, Category, Framing, Medium, Protection, RateControl, StationConfig};
use wlan_host::clock::{Clock, ClockKind};
use wlan_host::schedule::Scheduling;
use wlan_scenario::Scenario;

pub use super::air::Report;
use super::air::{Air, Contenders};
use super::frame::Frame;
use super::radio::Radio;
use crate::capture::{Capture, Names};
use crate::hosts::{self, Hosts};
use crate::mac::counters::Counters;
use crate::roster;
use crate::running::{EmulatorError, HostFacts, Running, Worker};

/// Frames that a contender of the medium holds. mac80211_hwsim limits the frames of a radio, so none is dropped here.
const QUEUE_LIMIT: usize = 100_000;
/// Octets that mac80211's frames lack: the FCS.
const FCS_B: usize = 4;

/// The configuration of a link.
#[derive(Debug, Deserialize)]
pub struct Config {
    /// The air. mac80211 chooses rates, protection, aggregation and the security of the frames.
    pub scenario: Scenario,
    /// The clock of the machine.
    #[serde(default)]
    pub clock: ClockKind,
    /// The path of the capture of the air.
    pub pcap: Option<PathBuf>,
    /// Stations whose radios are in monitor mode. They hear all frames that arrive at their receivers.
    #[serde(default)]
    pub monitors: Vec<usize>,
}

/// The properties of the link.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// Those of a link without a medium.
    #[serde(flatten)]
    pub hosts: hosts::Facts,
    /// PHY rate of the scenario in kbit/s.
    pub rate_kbit_per_s: u64,
    /// Scheduling of the medium's thread.
    pub scheduling: Scheduling,
}

/// A running link.
pub struct Link {
    hosts: Hosts,
    rate_kbit_per_s: u64,
    scheduling: Scheduling,
    air: Worker<Report>,
}

impl Running for Link {
    type Config = Config;
    type Facts = Facts;
    type Report = Report;

    fn start(config: &Config) -> Result<Self, EmulatorError> {
        let built = config.scenario.build()?;
        let (hosts, radios) = Hosts::create(&config.scenario, &built, |roster, host| {
            let is_on_air = host < roster.on_air();
            is_on_air
                .then(|| Radio::create(&roster.name(host), roster::mac(host)))
                .transpose()
        })?;
        let mut medium = built.medium;
        let contenders = if config.scenario.tid().is_some() {
            Contenders::Edca
        } else {
            Contenders::Dcf
        };
        medium.beacons = None; // mac80211 sends them
        for station in &mut medium.stations {
            *station = beneath_mac80211(station, contenders);
        }
        let (bss, of_channel) = (medium.bss, medium.channel.clone());
        let medium: Medium<Frame> = Medium::with_driver(medium, Frame::request)?;
        let roster = hosts.roster();
        let names = Names {
            addresses: (0..roster.on_air()).map(roster::mac).collect(),
            tid: config.scenario.tid().unwrap_or_default(),
            beacons: None,
            channel: of_channel.clone(),
        };
        let capture = config.pcap.as_deref().map(|path| Capture::create(path, names));
        let capture = capture.transpose().map_err(EmulatorError::Capture)?;
        let (air, scheduling) = Worker::start("air", |orders| Air {
            clock: Clock::start(config.clock),
            roster,
            bss,
            radios: radios.into_iter().flatten().collect(),
            monitors: config
                .monitors
                .iter()
                .copied()
                .filter(|&station| station < roster.on_air())
                .collect(),
            medium,
            channel: of_channel,
            contenders,
            counters: Counters::new(0),
            signals: vec![SignalCounts::default(); roster.on_air()],
            capture,
            orders,
        })?;
        Ok(Self {
            hosts,
            rate_kbit_per_s: config.scenario.mode().rate_kbps(),
            scheduling,
            air,
        })
    }

    fn hosts(&self) -> impl Iterator<Item = HostFacts<'_>> {
        self.hosts.hosts()
    }

    fn facts(&self) -> Facts {
        Facts {
            hosts: self.hosts.facts(),
            rate_kbit_per_s: self.rate_kbit_per_s,
            scheduling: self.scheduling,
        }
    }

    fn report(&self) -> Option<Report> {
        self.air.report()
    }

    fn stop(self) -> Result<(), EmulatorError> {
        self.air.stop()
    }
}

/// The configuration of a station whose frames and rates mac80211 determines.
fn beneath_mac80211(station: &StationConfig, contenders: Contenders) -> StationConfig {
    let mut access = match contenders {
        Contenders::Dcf => station.access.clone(),
        Contenders::Edca => [Category::Bk, Category::Be, Category::Vi, Category::Vo]
            .map(Access::edca)
            .into(),
    };
    access.push(Access::beacon());
    StationConfig {
        access,
        rate: RateControl::Driver,
        framing: Framing {
            mac_b: FCS_B,
            security_b: 0,
            security_of_msdu_b: 0,
        },
        aggregation: wlan_air::Aggregation {
            max_amsdu_len_b: 0,
            ..station.aggregation
        },
        queue_limit: QUEUE_LIMIT,
        fragmentation_threshold_b: None,
        protection: Protection::None,
        ..station.clone()
    }
}
