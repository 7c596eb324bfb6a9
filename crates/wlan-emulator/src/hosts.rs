//! Hosts without a medium between them: the caller gives them radios of the machine.

use std::os::fd::OwnedFd;

use serde::{Deserialize, Serialize};
use wlan_host::netns;
use wlan_scenario::Scenario;

use crate::bss::beacon;
use crate::config::ConfigError;
use crate::mac::report::WiredFacts;
use crate::roster::Roster;
use crate::running::{EmulatorError, HostFacts, Running, host_facts};

/// The configuration of the hosts.
#[derive(Debug, Deserialize)]
pub struct Config {
    /// The number of stations, the band, and the wire to a server.
    pub scenario: Scenario,
}

/// The properties of the link that its hosts and its band determine.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// Number of stations, without the access point.
    pub stations: usize,
    /// The channel of the BSS.
    pub channel: u8,
    /// Its centre frequency in MHz.
    pub channel_mhz: u16,
    /// Whether the stations have access categories.
    pub edca: bool,
    /// The wire to the server behind the access point, which the caller builds; null without a server.
    pub wired: Option<WiredFacts>,
}

impl Facts {
    /// The properties of a scenario's link with this number of stations.
    pub(crate) fn of(scenario: &Scenario, stations: usize, wired: Option<WiredFacts>) -> Self {
        let (channel, channel_mhz) = beacon::channel(scenario.mode().band());
        Self {
            stations,
            channel,
            channel_mhz,
            edca: scenario.tid().is_some(),
            wired,
        }
    }
}

/// The totals of a link without a medium: none.
#[derive(Debug, Serialize)]
pub struct Report {}

/// Hosts in network namespaces.
pub struct Hosts {
    roster: Roster,
    namespaces: Vec<OwnedFd>,
    facts: Facts,
}

impl Running for Hosts {
    type Config = Config;
    type Facts = Facts;
    type Report = Report;

    fn start(config: &Config) -> Result<Self, EmulatorError> {
        let scenario = config.scenario.build()?;
        let wired = config.scenario.has_server().then_some(scenario.wired);
        let stations = scenario.medium.stations.len() - 1;
        let roster = Roster::new(stations, wired.is_some()).ok_or(ConfigError::Hosts(stations))?;
        let create = |_| netns::create(|| Ok(())).map(|(namespace, ())| namespace);
        let namespaces = (0..roster.len()).map(create).collect::<Result<_, _>>();
        Ok(Self {
            roster,
            namespaces: namespaces.map_err(EmulatorError::Setup)?,
            facts: Facts::of(&config.scenario, stations, wired.map(WiredFacts::from)),
        })
    }

    fn hosts(&self) -> impl Iterator<Item = HostFacts<'_>> {
        host_facts(self.roster, &self.namespaces)
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn report(&self) -> Option<Report> {
        Some(Report {})
    }

    fn stop(self) -> Result<(), EmulatorError> {
        Ok(())
    }
}
