//! Scenarios: parsed from the words of study files, simulated in virtual time or evaluated by closed forms, with JSON
//! results.

mod answer;
mod model;
mod processor;

use serde::Deserialize;
use serde_json::Value;
use wlan_air::channel::{Channel, ChannelConfig, ChannelError, ErrorModel, Fading, PathLoss, PerPair, Snr};
use wlan_air::queue::{Discipline, FqCodelConfig};
use wlan_air::sim::{self, End, Flow, ScenarioError, Source, Tcp, Wired};
use wlan_air::tcp::{CongestionControl, IpVersion, Window};
use wlan_air::traffic::VideoConfig;
use wlan_air::{
    Access, Beacons, Category, Hearing, MediumConfig, Nanos, Protection, RateControl, StationConfig,
};
use wlan_ciphers::Suite;
use wlan_frames::{LlcSnap, link};
use wlan_rsn::{Akm, ManagementProtection};

use crate::beacon;
use crate::words::{Air, WordError};

/// Queue limit of a processor in frames: a descriptor ring of the size that drivers use.
const PROCESSOR_LIMIT: usize = 512;
/// Octets of a UDP header, and of a TCP header with timestamps.
const UDP_LEN_B: usize = 8;
const TCP_LEN_B: usize = 32;

/// A scenario to simulate, in the words of study files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    // The words of `Air`: serde cannot both flatten them and deny unknown fields.
    phy: String,
    rate: String,
    bandwidth: u16,
    gi: String,
    streams: Option<u8>,
    band: Option<String>,
    preamble: Option<String>,
    security: String,
    wpa_key_mgmt: Option<String>,
    ieee80211w: Option<String>,
    beacon_prot: Option<bool>,
    crypto_at: String,
    processor: Option<ProcessorWords>,
    stations: usize,
    topology: String,
    direction: String,
    hears: Option<Vec<Vec<f64>>>,
    wired: Option<WiredWords>,
    transport: String,
    ip: String,
    packet_size: usize,
    traffic: String,
    offered_mbps: Option<f64>,
    congestion_control: Option<String>,
    window_bytes: Option<u64>,
    delayed_ack: Option<bool>,
    coalesce: Option<bool>,
    access_category: Option<String>,
    txop_limit_us: Option<f64>,
    retry_limit: Option<u8>,
    rate_control: Option<String>,
    ampdu: Option<bool>,
    amsdu_bytes: Option<usize>,
    rts_threshold: Option<usize>,
    fragmentation_threshold: Option<usize>,
    protection: Option<String>,
    beacon_interval_tu: Option<u64>,
    queue: Option<String>,
    queue_limit: Option<usize>,
    snr_db: Option<OneOrMatrix>,
    path_loss: Option<PathLossWords>,
    error_model: String,
    seed: u64,
    duration_s: f64,
    warmup_s: f64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProcessorWords {
    frame_us: Option<f64>,
    byte_ns: Option<f64>,
    clock_mhz: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WiredWords {
    rate_mbps: Option<f64>,
    delay_us: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMatrix {
    One(f64),
    Matrix(Vec<Vec<f64>>),
}

impl From<OneOrMatrix> for PerPair {
    fn from(of: OneOrMatrix) -> PerPair {
        match of {
            OneOrMatrix::One(value) => PerPair::Same(value),
            OneOrMatrix::Matrix(rows) => PerPair::Matrix(rows),
        }
    }
}

/// Path loss and fading. The defaults are those of [`PathLoss::indoors`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PathLossWords {
    distance_m: OneOrMatrix,
    exponent: Option<f64>,
    tx_power_dbm: Option<f64>,
    noise_figure_db: Option<f64>,
    reference_distance_m: Option<f64>,
    reference_loss_db: Option<f64>,
    shadowing_db: Option<f64>,
    fading: Option<String>,
    k_factor_db: Option<f64>,
    coherence_ms: Option<f64>,
}

/// Why a scenario is invalid.
#[derive(Debug, thiserror::Error)]
pub enum BadScenario {
    /// The text is not the JSON of a scenario.
    #[error("scenario: {0}")]
    Json(#[from] serde_json::Error),
    /// A word is unknown.
    #[error(transparent)]
    Word(#[from] WordError),
    /// The scenario contradicts itself or the standard.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The channel is invalid.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A number is out of range.
    #[error("{key}: {value} is not allowed: {reason}")]
    Number {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// The reason.
        reason: &'static str,
    },
    /// Words that exclude each other, or that require another word.
    #[error("{0}")]
    Together(&'static str),
}

impl Scenario {
    /// Parses a scenario.
    ///
    /// # Errors
    /// [`BadScenario::Json`].
    pub fn read(text: &str) -> Result<Scenario, BadScenario> {
        Ok(serde_json::from_str(text)?)
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

    /// The words for the PHY.
    pub fn air(&self) -> Air {
        Air {
            phy: self.phy.clone(),
            rate: self.rate.clone(),
            bandwidth: self.bandwidth,
            gi: self.gi.clone(),
            streams: self.streams,
            band: self.band.clone(),
            preamble: self.preamble.clone(),
        }
    }

    fn ip(&self) -> Result<IpVersion, BadScenario> {
        match self.ip.as_str() {
            "ipv4" => Ok(IpVersion::V4),
            "ipv6" => Ok(IpVersion::V6),
            other => Err(WordError::unknown("ip", other, "ipv4, ipv6").into()),
        }
    }

    /// Number of stations besides the access point. With topology `through-ap`, the stations communicate in pairs.
    fn stations(&self) -> Result<usize, BadScenario> {
        if self.stations == 0 {
            return Err(BadScenario::Number {
                key: "stations",
                value: "0".into(),
                reason: "a BSS has at least one station besides its access point (IEEE Std 802.11-2020, 4.3.2)",
            });
        }
        match self.topology.as_str() {
            "point-to-point" if self.stations > 1 => Err(BadScenario::Number {
                key: "stations",
                value: self.stations.to_string(),
                reason: "topology point-to-point has one station; use topology stations",
            }),
            "point-to-point" | "wired-ap" | "stations" => Ok(self.stations),
            "through-ap" => Ok(2 * self.stations),
            other => Err(WordError::unknown(
                "topology",
                other,
                "point-to-point, wired-ap, through-ap, stations",
            )
            .into()),
        }
    }

    fn station(&self) -> Result<StationConfig, BadScenario> {
        let air = self.air();
        let mode = air.mode()?;
        let mut station = StationConfig::new(mode, self.security_b()?);
        station.framing.security_of_msdu_b = self.security_of_msdu_b()?;
        station.queue_limit = match self.queue_limit {
            Some(limit) => limit,
            None => air.usual_queue_limit()?,
        };
        station.discipline = match self.queue.as_deref() {
            None | Some("fifo") => Discipline::Fifo,
            Some("fq_codel") => Discipline::FqCodel(FqCodelConfig::mac80211()),
            Some(other) => return Err(WordError::unknown("queue", other, "fifo, fq_codel").into()),
        };
        if let Some(category) = self.access_category.as_deref() {
            let category = match category {
                "bk" => Category::Bk,
                "be" => Category::Be,
                "vi" => Category::Vi,
                "vo" => Category::Vo,
                other => return Err(WordError::unknown("access_category", other, "be, bk, vi, vo").into()),
            };
            station.access = vec![Access::edca(category)];
            // A station with access categories sends QoS data frames (9.2.4.1.3).
            station.framing.mac_b = 30;
        }
        for access in &mut station.access {
            if let Some(limit_us) = self.txop_limit_us {
                access.txop_limit = span("txop_limit", limit_us, 1e-6)?;
            }
            if let Some(limit) = self.retry_limit {
                access.retry_limit = limit;
            }
        }
        if self.ampdu == Some(false) {
            station.aggregation.max_mpdus = 1;
        } else if self.ampdu == Some(true) && station.aggregation.max_mpdus == 1 {
            station.aggregation.max_mpdus = 64; // rejected by the medium, with the clause
        }
        station.aggregation.max_amsdu_len_b = self.amsdu_bytes.unwrap_or(0);
        station.rate = match self.rate_control.as_deref() {
            None | Some("fixed") => RateControl::Fixed(mode),
            Some("minstrel") => RateControl::Minstrel(air.modes()?),
            Some(other) => return Err(WordError::unknown("rate_control", other, "fixed, minstrel").into()),
        };
        station.rts_threshold_b = self.rts_threshold;
        station.fragmentation_threshold_b = self.fragmentation_threshold;
        station.protection = match self.protection.as_deref() {
            None | Some("none") => Protection::None,
            Some("cts-to-self") => Protection::CtsToSelf,
            Some("rts-cts") => Protection::RtsCts,
            Some(other) => {
                return Err(WordError::unknown("protection", other, "none, cts-to-self, rts-cts").into());
            }
        };
        Ok(station)
    }

    /// The TID of QoS data frames, which is the user priority of their access category (Table 10-1). `None` for data
    /// frames without a QoS Control field.
    pub fn tid(&self) -> Result<Option<u8>, BadScenario> {
        Ok(match self.access_category.as_deref() {
            Some("bk") => Some(1),
            Some("vi") => Some(5),
            Some("vo") => Some(6),
            Some(_) => Some(0),
            None => self.air().mode()?.max_ampdu_len_b().map(|_| 0),
        })
    }

    /// The cipher suite; `None` for `open`.
    pub fn suite(&self) -> Result<Option<Suite>, BadScenario> {
        Ok(self.air().suite(&self.security)?)
    }

    /// Whether `airtoll link` seals the frames on the hosts, and the cards use no security: the system of Hayajneh et
    /// al., section IV.
    pub fn is_sealed_by_link(&self) -> Result<bool, BadScenario> {
        let is_enhanced = matches!(self.suite()?, Some(Suite::Enhanced(_)));
        Ok(is_enhanced && self.crypto_at == "host")
    }

    /// Octets that the security level adds to an MPDU. The octets of a link are part of the air's payload
    /// (`docs/reference/link-protocol.md`).
    fn security_b(&self) -> Result<usize, BadScenario> {
        Ok(match self.suite()? {
            None => 0,
            Some(suite) if self.is_sealed_by_link()? => link::overhead_b(suite.mic_len()),
            Some(suite) => suite.overhead(),
        })
    }

    /// The part of [`security_b`](Scenario::security_b) that belongs to the MSDU and is fragmented with it.
    fn security_of_msdu_b(&self) -> Result<usize, BadScenario> {
        Ok(match self.suite()? {
            Some(Suite::Tkip) => wlan_ciphers::michael::MIC_LEN,
            Some(_) if self.is_sealed_by_link()? => self.security_b()?,
            _ => 0,
        })
    }

    /// The key management of suites with a handshake, which derives the keys from a passphrase.
    pub fn key_management(&self) -> Result<Akm, BadScenario> {
        let akm = match self.wpa_key_mgmt.as_deref() {
            None | Some("wpa-psk") => Akm::WpaPsk,
            Some("wpa-psk-sha256") => Akm::WpaPskSha256,
            Some("sae") => Akm::Sae,
            Some(other) => {
                let known = "wpa-psk, wpa-psk-sha256, sae";
                return Err(WordError::unknown("wpa_key_mgmt", other, known).into());
            }
        };
        if akm != Akm::WpaPsk && self.suite()? == Some(Suite::Tkip) {
            return Err(BadScenario::Together(
                "security tkip uses WPA, which supports only wpa_key_mgmt wpa-psk",
            ));
        }
        Ok(akm)
    }

    /// The protection of management frames, which only CCMP, GCMP and BIP provide (12.5.3 to 12.5.5). Open, WEP and
    /// TKIP networks have none.
    pub fn management_protection(&self) -> Result<ManagementProtection, BadScenario> {
        let must_be_required = self.key_management()?.requires_mfp();
        let (is_capable, is_required) = match self.ieee80211w.as_deref() {
            Some("disabled" | "optional") if must_be_required => {
                return Err(BadScenario::Together(
                    "wpa_key_mgmt sae requires ieee80211w required, its default (WPA3 Specification 3.1, section 2)",
                ));
            }
            None => (must_be_required, must_be_required),
            Some("disabled") => (false, false),
            Some("optional") => (true, false),
            Some("required") => (true, true),
            Some(other) => {
                return Err(WordError::unknown("ieee80211w", other, "disabled, optional, required").into());
            }
        };
        let of_beacons = self.beacon_prot.unwrap_or(false);
        if of_beacons && !is_capable {
            return Err(BadScenario::Together(
                "beacon_prot requires ieee80211w optional or required (IEEE Std 802.11-2020, 11.52)",
            ));
        }
        if of_beacons && self.beacon_interval_tu.unwrap_or(0) == 0 {
            return Err(BadScenario::Together(
                "beacon_prot requires beacons: set beacon_interval",
            ));
        }
        if self.suite()?.is_none_or(Suite::is_rc4) {
            return Ok(ManagementProtection::default());
        }
        Ok(ManagementProtection {
            is_capable,
            is_required,
            of_beacons,
        })
    }

    /// Whether consecutive packets of a flow that arrive together are delivered to a host as one super-packet, as with
    /// GRO in a card's driver. TCP then sends fewer acknowledgements, which saves airtime.
    pub fn coalesce(&self) -> bool {
        self.coalesce.unwrap_or(true)
    }

    /// Converts the words to a simulation scenario.
    pub fn build(&self) -> Result<sim::Scenario, BadScenario> {
        let air = self.air();
        let stations = self.stations()? + 1;
        let mut medium = MediumConfig::new(air.bss()?, &self.station()?, stations, self.seed);
        if let Some(rows) = &self.hears {
            let heard = rows
                .iter()
                .map(|row| row.iter().map(|&hears| hears != 0.0).collect());
            medium.hearing = Hearing::Matrix(heard.collect());
        }
        medium.channel = self.channel(stations)?;
        self.key_management()?;
        let management = self.management_protection()?;
        if let Some(interval_tu @ 1..) = self.beacon_interval_tu {
            medium.beacons = Some(Beacons {
                interval: Beacons::TU * interval_tu,
                len_b: beacon::len_b(management),
            });
        }
        let mut wired = Wired::gigabit();
        if let Some(words) = self.wired {
            if let Some(rate_mbps) = words.rate_mbps {
                wired.rate_bps = rate_bps("wired_rate", rate_mbps)?;
            }
            if let Some(delay_us) = words.delay_us {
                wired.delay = span("wired_delay", delay_us, 1e-6)?;
            }
        }
        Ok(sim::Scenario {
            medium,
            processors: vec![self.processor()?; stations],
            processor_limit: PROCESSOR_LIMIT,
            wired,
            flows: self.flows()?,
            warmup: span("warmup", self.warmup_s, 1.0)?,
            duration: span("duration", self.duration_s, 1.0)?,
        })
    }

    fn channel(&self, stations: usize) -> Result<Option<Channel>, BadScenario> {
        let error_model = match self.error_model.as_str() {
            "none" => return Ok(None),
            "nist" => ErrorModel::Nist,
            "yans" => ErrorModel::Yans,
            other => return Err(WordError::unknown("error_model", other, "none, nist, yans").into()),
        };
        let (snr, fading) = match (&self.snr_db, &self.path_loss) {
            (Some(snr), None) => (Snr::Db(snr.clone().into()), Fading::None),
            (None, Some(words)) => self.path_loss(words)?,
            (Some(_), Some(_)) => return Err(BadScenario::Together("snr and path_loss exclude each other")),
            (None, None) => {
                return Err(BadScenario::Together("error_model requires snr or path_loss"));
            }
        };
        let config = ChannelConfig {
            stations,
            snr,
            fading,
            error_model,
            seed: self.seed,
        };
        Ok(Some(Channel::new(&config)?))
    }

    fn path_loss(&self, words: &PathLossWords) -> Result<(Snr, Fading), BadScenario> {
        let usual = PathLoss::indoors(self.air().mode()?.band(), words.distance_m.clone().into());
        let loss = PathLoss {
            tx_power_dbm: words.tx_power_dbm.unwrap_or(usual.tx_power_dbm),
            noise_figure_db: words.noise_figure_db.unwrap_or(usual.noise_figure_db),
            exponent: words.exponent.unwrap_or(usual.exponent),
            reference_distance_m: words.reference_distance_m.unwrap_or(usual.reference_distance_m),
            reference_loss_db: words.reference_loss_db.unwrap_or(usual.reference_loss_db),
            shadowing_db: words.shadowing_db.unwrap_or(usual.shadowing_db),
            distance_m: usual.distance_m,
        };
        let coherence_time = span("path_loss.coherence_ms", words.coherence_ms.unwrap_or(50.0), 1e-3)?;
        let fading = match words.fading.as_deref() {
            None | Some("none") => Fading::None,
            Some("rayleigh") => Fading::Rayleigh { coherence_time },
            Some("rician") => Fading::Rician {
                k_factor_db: words.k_factor_db.unwrap_or(6.0),
                coherence_time,
            },
            Some(other) => {
                return Err(WordError::unknown("path_loss.fading", other, "none, rayleigh, rician").into());
            }
        };
        Ok((Snr::PathLoss(loss), fading))
    }

    /// Whether there is a server behind the access point.
    pub fn has_server(&self) -> bool {
        self.topology == "wired-ap"
    }

    fn source(&self) -> Result<Source, BadScenario> {
        let payload_b = self.packet_size;
        let offered_bps = || match self.offered_mbps {
            Some(mbps) => rate_bps("offered", mbps).map(Some),
            None => Ok(None),
        };
        match (self.transport.as_str(), self.traffic.as_str()) {
            ("tcp", "saturated") => {
                let congestion = match self.congestion_control.as_deref() {
                    None | Some("cubic") => CongestionControl::Cubic,
                    Some("reno") => CongestionControl::Reno,
                    Some(other) => {
                        return Err(WordError::unknown("congestion_control", other, "reno, cubic").into());
                    }
                };
                Ok(Source::Tcp(Tcp {
                    congestion,
                    window: self.window_bytes.map_or(Window::linux(), Window::Fixed),
                    delayed_ack: self.delayed_ack.unwrap_or(true),
                    coalesce: self.coalesce(),
                }))
            }
            ("tcp" | "udp", "request-response") => {
                // With TCP, each segment also acknowledges the previous one, so the number of packets is the same.
                let more_b = if self.transport == "tcp" {
                    TCP_LEN_B - UDP_LEN_B
                } else {
                    0
                };
                Ok(Source::RequestResponse {
                    request_b: payload_b + more_b,
                    response_b: payload_b + more_b,
                    think: Nanos::ZERO,
                })
            }
            ("udp", "saturated") => Ok(Source::Saturated { payload_b }),
            ("udp", "cbr") => match offered_bps()? {
                Some(rate_bps) => Ok(Source::Cbr { rate_bps, payload_b }),
                None => Err(BadScenario::Together("traffic cbr requires a load: set offered")),
            },
            ("udp", "video") => {
                let usual = VideoConfig::high_rate();
                let config = VideoConfig {
                    rate_bps: offered_bps()?.unwrap_or(usual.rate_bps),
                    payload_b,
                    ..usual
                };
                let window = span("duration", self.duration_s, 1.0)?;
                Ok(Source::Video(config.with_clip_of(window)))
            }
            ("tcp", "cbr" | "video") => Err(BadScenario::Together(
                "transport tcp supports only traffic saturated and request-response; use udp for cbr and video",
            )),
            ("tcp" | "udp", other) => {
                Err(WordError::unknown("traffic", other, "saturated, cbr, request-response, video").into())
            }
            (other, _) => Err(WordError::unknown("transport", other, "tcp, udp").into()),
        }
    }

    fn flows(&self) -> Result<Vec<Flow>, BadScenario> {
        let (source, ip) = (self.source()?, self.ip()?);
        let (up, down) = match self.direction.as_str() {
            "up" => (true, false),
            "down" => (false, true),
            "both" => (true, true),
            other => return Err(WordError::unknown("direction", other, "up, down, both").into()),
        };
        let mut flows = Vec::new();
        for pair in 0..self.stations {
            let (station, other) = match self.topology.as_str() {
                "through-ap" => (2 * pair + 1, End::Station(2 * pair + 2)),
                "wired-ap" => (pair + 1, End::Server),
                _ => (pair + 1, End::Station(0)),
            };
            let station = End::Station(station);
            let ways = [(up, station, other), (down, other, station)];
            for (_, from, to) in ways.into_iter().filter(|(wanted, ..)| *wanted) {
                flows.push(Flow {
                    from,
                    to,
                    source,
                    ip,
                    contender: 0,
                });
            }
        }
        Ok(flows)
    }

    /// Octets of the MSDU of a data packet; for TCP, of a full segment.
    fn msdu_b(&self) -> Result<usize, BadScenario> {
        let ip = self.ip()?;
        let packet_b = match (self.transport.as_str(), self.traffic.as_str()) {
            ("tcp", "saturated") => ip.header_len_b() + TCP_LEN_B + ip.mss_b() as usize,
            ("tcp", _) => ip.header_len_b() + TCP_LEN_B + self.packet_size,
            _ => ip.header_len_b() + UDP_LEN_B + self.packet_size,
        };
        Ok(LlcSnap::LEN + packet_b)
    }
}

/// Converts `value` in units of `unit_s` seconds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the range is checked
fn span(key: &'static str, value: f64, unit_s: f64) -> Result<Nanos, BadScenario> {
    let ns = value * unit_s * 1e9;
    if !(0.0..=1e18).contains(&ns) {
        return Err(BadScenario::Number {
            key,
            value: value.to_string(),
            reason: "expected 0 to 10^9 s",
        });
    }
    Ok(Nanos((ns + 0.5) as u64))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the range is checked
fn rate_bps(key: &'static str, mbps: f64) -> Result<u64, BadScenario> {
    let bps = mbps * 1e6;
    if !(1.0..=1e15).contains(&bps) {
        return Err(BadScenario::Number {
            key,
            value: mbps.to_string(),
            reason: "expected 1 bit/s to 10^9 Mbit/s",
        });
    }
    Ok((bps + 0.5) as u64)
}

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
