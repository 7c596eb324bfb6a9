//! Scenarios: parsed from the words of study files, simulated in virtual time or evaluated by closed forms, with JSON
//! results.
//!
//! | module | words |
//! |---|---|
//! | `security` | suite, key management, protection of management frames and beacons |
//! | `sealing` | where frames are sealed; the octets and the time of it |
//! | `cell` | stations, topology, hearing, wired segment |
//! | `station` | access, rate control, aggregation, queue |
//! | `channel` | SNR or path loss, fading, error model |
//! | `traffic` | direction, transport, sources |
//!
//! [`contract`] declares all words, and `read` reads them from JSON. `answer` and `model` convert results to JSON.
//! `error` has the errors, and checks numbers with a unit.

mod answer;
mod cell;
mod channel;
pub mod contract;
mod error;
mod model;
mod read;
mod sealing;
mod security;
mod station;
mod traffic;

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;
use wlan_air::phy::{Bss, Mode, PHYS, Phy};
use wlan_air::sim::{self, Processor};
use wlan_air::{Beacons, MediumConfig, StationConfig};
use wlan_ciphers::Suite;
use wlan_rsn::Akm;
use wlan_rsn::ManagementProtection;

use self::cell::Cell;
use self::channel::ChannelWords;
use self::error::span;
use self::read::Grouped;
use self::sealing::Sealing;
use self::security::{Security, SecurityWords};
use self::station::Station;
use self::traffic::Traffic;
use crate::air::{Air, usual_queue_limit};
use crate::beacon;

pub use self::error::{BadScenario, KeyError};

/// Received packets that a processor holds: a descriptor ring of the size that drivers use.
const RECEIVE_LIMIT: usize = 512;

/// Packets that all queues of a scenario may hold, unless they have the usual length: some 100 MB in virtual time. A
/// scenario may be a stranger's, and a saturated source fills its queue at once.
const QUEUED_MAX: usize = 1 << 19;

/// A scenario to simulate. The standard allows its PHY and its security; [`check`](Scenario::check)
/// checks the rest.
#[derive(Clone, Debug)]
pub struct Scenario {
    mode: Mode,
    bss: Bss,
    security: Security,
    sealing: Sealing,
    cell: Cell,
    station: Station,
    channel: ChannelWords,
    traffic: Traffic,
    run: Run,
}

/// All words of a scenario, by group.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    air: Air,
    security: SecurityWords,
    sealing: Sealing,
    cell: Cell,
    station: Station,
    channel: ChannelWords,
    traffic: Traffic,
    run: Run,
}

impl Words {
    fn read(text: &str) -> Result<Words, BadScenario> {
        Ok(serde_json::from_str::<Grouped>(text)?.words()?)
    }
}

/// The PHY of a scenario; `None` if there is none of this name.
fn phy_of(words: &Words) -> Option<&'static Phy> {
    PHYS.iter().copied().find(|phy| phy.word == words.air.phy)
}

/// The seed, and the duration of the scenario.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    seed: u64,
    duration_s: f64,
    warmup_s: f64,
}

impl<'de> Deserialize<'de> for Scenario {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |grouped: Grouped| Scenario::of(grouped.words()?, PHYS);
        read(Grouped::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Scenario {
    /// Parses a scenario.
    ///
    /// # Errors
    /// The text is not JSON, a key is missing or unknown or has an invalid value, or the standard does not allow the
    /// PHY or the security.
    pub fn read(text: &str) -> Result<Scenario, BadScenario> {
        Scenario::read_with(text, PHYS)
    }

    /// Parses a scenario whose PHY is one of `phys`, for programs that declare PHYs of their own.
    ///
    /// # Errors
    /// As [`Scenario::read`].
    pub fn read_with(text: &str, phys: &[&'static Phy]) -> Result<Scenario, BadScenario> {
        Scenario::of(Words::read(text)?, phys)
    }

    /// Why the medium refuses a scenario; `None` if it does not. With `is_of_any_width`, the scenario may have any channel
    /// width and any number of streams, and the reason is that of its own.
    #[must_use]
    pub fn refusal(text: &str, is_of_any_width: bool) -> Option<BadScenario> {
        let refusal = |words| {
            Scenario::of(words, PHYS)
                .and_then(|scenario| scenario.check())
                .err()
        };
        let words = match Words::read(text) {
            Ok(words) => words,
            Err(error) => return Some(error),
        };
        let first = refusal(words.clone())?;
        let phy = phy_of(&words).filter(|_| is_of_any_width);
        let widths = phy.map_or(&[][..], |phy| phy.bandwidths_mhz);
        let is_allowed = widths.iter().any(|&bandwidth| {
            (1..=phy.map_or(0, |phy| phy.max_streams)).any(|streams| {
                let mut words = words.clone();
                words.air.bandwidth = bandwidth;
                words.air.streams = words
                    .air
                    .streams
                    .filter(|_| streams == 1)
                    .or((streams > 1).then_some(streams));
                refusal(words).is_none()
            })
        });
        (!is_allowed).then_some(first)
    }

    /// The keys among `given` that have no effect beside the scenario's other keys, each with the error. A scenario that
    /// cannot be read has none.
    #[must_use]
    pub fn unused(text: &str, given: &[String]) -> Vec<(&'static str, String)> {
        Words::read(text).map_or_else(|_| Vec::new(), |words| contract::unused(&words, given))
    }

    fn of(words: Words, phys: &[&'static Phy]) -> Result<Scenario, BadScenario> {
        let mode = words.air.mode(phys)?;
        Ok(Scenario {
            security: words.security.on(mode.phy())?,
            bss: words.air.bss(&mode)?,
            mode,
            sealing: words.sealing,
            cell: words.cell,
            station: words.station,
            channel: words.channel,
            traffic: words.traffic,
            run: words.run,
        })
    }

    /// Checks the scenario, at no more cost than building it.
    ///
    /// # Errors
    /// [`BadScenario`], as one line.
    pub fn check(&self) -> Result<(), BadScenario> {
        Ok(self.build()?.check()?)
    }

    /// Simulates the scenario in virtual time. Returns JSON.
    ///
    /// # Errors
    /// [`BadScenario`], as one line.
    pub fn simulate(&self) -> Result<Value, BadScenario> {
        let scenario = self.build()?;
        let outcome = sim::simulate(&scenario)?;
        Ok(self.answer(&scenario, &outcome))
    }

    /// The PHY mode of the rate.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The TID of QoS data frames, which is the user priority of their access category (Table 10-1). `None` for data
    /// frames without a QoS Control field.
    pub fn tid(&self) -> Option<u8> {
        self.station.tid(&self.mode)
    }

    /// The cipher suite; `None` for `open`.
    pub fn suite(&self) -> Option<Suite> {
        self.security.suite
    }

    /// Whether `airtoll link` seals the frames on the hosts, and the cards use no security: the system of Hayajneh et
    /// al., section IV.
    pub fn is_sealed_by_link(&self) -> bool {
        self.sealing.is_by_link(self.suite())
    }

    /// The key managements that the access point offers to stations, with suites whose keys come from a handshake.
    pub fn key_management(&self) -> &[Akm] {
        &self.security.key_management
    }

    /// The protection of management frames, which only CCMP, GCMP and BIP provide (12.5.3 to 12.5.5). Open, WEP and
    /// TKIP networks have none.
    pub fn management_protection(&self) -> ManagementProtection {
        self.security.management
    }

    /// The processor of the cards; `None` if the hosts seal and open the frames, or the cards take no time.
    ///
    /// # Errors
    /// The clock or a cost of the processor is out of range.
    pub fn card(&self) -> Result<Option<Processor>, BadScenario> {
        self.sealing.card(self.suite())
    }

    /// Whether consecutive packets of a flow that arrive together are delivered to a host as one super-packet, as with
    /// GRO in a card's driver. TCP then sends fewer acknowledgements, which saves airtime.
    pub fn coalesce(&self) -> bool {
        self.traffic.coalesce()
    }

    /// Whether there is a server behind the access point.
    pub fn has_server(&self) -> bool {
        self.cell.has_server()
    }

    fn station_config(&self) -> Result<StationConfig, BadScenario> {
        self.station
            .config(self.mode, &self.bss, self.sealing.octets(self.suite()))
    }

    /// Converts the words to a simulation scenario.
    ///
    /// # Errors
    /// A number is out of range, or words exclude each other or require another word.
    pub fn build(&self) -> Result<sim::Scenario, BadScenario> {
        let stations = self.cell.on_air()? + 1;
        let station = self.station_config()?;
        let limit = station.queue_limit;
        if limit > usual_queue_limit(&self.mode) && limit.saturating_mul(stations) > QUEUED_MAX {
            let reason = "the queues of all stations together hold at most 524288 packets";
            return Err(BadScenario::number("queue_limit", limit, reason));
        }
        let mut medium = MediumConfig::new(self.bss, &station, stations, self.run.seed);
        if let Some(hearing) = self.cell.hearing() {
            medium.hearing = hearing;
        }
        medium.channel = self.channel.build(self.mode.band(), stations, self.run.seed)?;
        medium.beacons = self.security.beacon_interval_tu.map(|interval_tu| Beacons {
            interval: Beacons::TU * interval_tu,
            len_b: beacon::len_b(self.security.management),
        });
        let duration = span("duration", self.run.duration_s, 1.0)?;
        Ok(sim::Scenario {
            medium,
            processors: vec![self.sealing.processor(self.suite())?; stations],
            receive_limit: RECEIVE_LIMIT,
            wired: self.cell.wired()?,
            flows: self.traffic.flows(self.cell.ends(), duration)?,
            warmup: span("warmup", self.run.warmup_s, 1.0)?,
            duration,
        })
    }
}

#[cfg(test)]
mod radio_tests;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
