//! The stations of a cell: which communicate, which hear each other, and the wired segment behind the access point.

use serde::Deserialize;
use wlan_air::Hearing;
use wlan_air::sim::{End, Wired};

use super::BadScenario;
use super::error::{rate_bps, span};
use crate::words::Topology;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cell {
    /// Stations that start or end traffic; with topology `through-ap`, pairs of stations.
    pub stations: usize,
    pub topology: Topology,
    hears: Option<Vec<Vec<f64>>>,
    wired: Option<WiredWords>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct WiredWords {
    rate_mbps: Option<f64>,
    delay_us: Option<f64>,
}

impl Cell {
    /// Number of stations besides the access point. With topology `through-ap`, the stations communicate in pairs.
    pub fn on_air(&self) -> Result<usize, BadScenario> {
        let refused = |reason| Err(BadScenario::number("stations", self.stations, reason));
        if self.stations == 0 {
            return refused(
                "a BSS has at least one station besides its access point (IEEE Std 802.11-2020, 4.3.2)",
            );
        }
        match self.topology {
            Topology::PointToPoint if self.stations > 1 => {
                refused("topology point-to-point has one station; use topology stations")
            }
            Topology::PointToPoint | Topology::WiredAp | Topology::Stations => Ok(self.stations),
            Topology::ThroughAp => Ok(2 * self.stations),
        }
    }

    /// Whether there is a server behind the access point.
    pub fn has_server(&self) -> bool {
        self.topology == Topology::WiredAp
    }

    /// The ends of the traffic: each station with its peer.
    pub fn ends(&self) -> impl Iterator<Item = (End, End)> {
        let topology = self.topology;
        (0..self.stations).map(move |pair| match topology {
            Topology::ThroughAp => (End::Station(2 * pair + 1), End::Station(2 * pair + 2)),
            Topology::WiredAp => (End::Station(pair + 1), End::Server),
            Topology::PointToPoint | Topology::Stations => (End::Station(pair + 1), End::Station(0)),
        })
    }

    /// Which stations hear each other; `None` if all do.
    pub fn hearing(&self) -> Option<Hearing> {
        let rows = self.hears.as_ref()?.iter();
        let heard = rows.map(|row| row.iter().map(|&hears| hears != 0.0).collect());
        Some(Hearing::Matrix(heard.collect()))
    }

    /// The wired segment, by default Gigabit Ethernet.
    pub fn wired(&self) -> Result<Wired, BadScenario> {
        let mut wired = Wired::gigabit();
        if let Some(rate_mbps) = self.wired.and_then(|words| words.rate_mbps) {
            wired.rate_bps = rate_bps("wired_rate", rate_mbps)?;
        }
        if let Some(delay_us) = self.wired.and_then(|words| words.delay_us) {
            wired.delay = span("wired_delay", delay_us, 1e-6)?;
        }
        Ok(wired)
    }
}
