//! Hosts without a medium between them: the caller gives them radios of the machine.

use std::io;
use std::os::fd::OwnedFd;

use serde::{Deserialize, Serialize};
use wlan_air::sim;
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

/// The totals of a link without a medium: none.
#[derive(Debug, Serialize)]
pub struct Report {}

/// Hosts in network namespaces.
#[derive(Debug)]
pub struct Hosts {
    roster: Roster,
    namespaces: Vec<OwnedFd>,
    facts: Facts,
}

impl Hosts {
    /// Creates the hosts of a scenario, and runs `setup` with each host's number in its network namespace. `built` is
    /// the scenario as [`Scenario::build`] returns it.
    ///
    /// # Errors
    /// There are too many hosts, the kernel refuses a namespace, or `setup` fails.
    pub(crate) fn create<T: Send>(
        scenario: &Scenario,
        built: &sim::Scenario,
        setup: impl Fn(Roster, usize) -> io::Result<T> + Sync,
    ) -> Result<(Self, Vec<T>), EmulatorError> {
        let wired = scenario.has_server().then_some(built.wired);
        let stations = built.medium.stations.len() - 1;
        let roster = Roster::new(stations, wired.is_some()).ok_or(ConfigError::Hosts(stations))?;
        let create = |host| netns::create(|| setup(roster, host));
        let created = (0..roster.len()).map(create).collect::<Result<Vec<_>, _>>();
        let (namespaces, set_up) = created.map_err(EmulatorError::Setup)?.into_iter().unzip();
        let (channel, channel_mhz) = beacon::channel(scenario.mode().band());
        let facts = Facts {
            stations,
            channel,
            channel_mhz,
            edca: scenario.tid().is_some(),
            wired: wired.map(WiredFacts::from),
        };
        Ok((
            Self {
                roster,
                namespaces,
                facts,
            },
            set_up,
        ))
    }

    pub(crate) fn roster(&self) -> Roster {
        self.roster
    }
}

impl Running for Hosts {
    type Config = Config;
    type Facts = Facts;
    type Report = Report;

    fn start(config: &Config) -> Result<Self, EmulatorError> {
        let built = config.scenario.build()?;
        Ok(Self::create(&config.scenario, &built, |_, _| Ok(()))?.0)
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
