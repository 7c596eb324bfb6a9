//! A simulation in virtual time and the models beside it, as they are asked for by name and answered in JSON.

use serde::Deserialize;
use serde_json::{Value, json};
use wlan_air::analytic::{
    Contention, ContentionModel, Exchange, idle_round_trip, saturated_single_station, saturated_stations,
    security_cost,
};
use wlan_air::channel::{Channel, ChannelConfig, ChannelError, ErrorModel, Fading, PathLoss, PerPair, Snr};
use wlan_air::queue::{Discipline, FqCodelConfig};
use wlan_air::sim::{self, End, Flow, FlowOutcome, Outcome, Processor, ScenarioError, Source, Tcp, Wired};
use wlan_air::tcp::{CongestionControl, IpVersion, Window};
use wlan_air::traffic::{Delays, VideoConfig};
use wlan_air::{
    Access, Beacons, Category, Hearing, MediumConfig, Nanos, Protection, RateControl, StationConfig,
};
use wlan_ciphers::Suite;
use wlan_frames::LlcSnap;

use crate::beacon;
use crate::words::{Air, WordError};

/// Octets that a processor's queue holds: a ring of descriptors as drivers have it, frames.
const PROCESSOR_LIMIT: usize = 512;
/// Octets of UDP header; of TCP's with timestamps.
const UDP_LEN_B: usize = 8;
const TCP_LEN_B: usize = 32;

/// What is to be simulated, in the words of study files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    // The words of `Air`, which serde cannot flatten and refuse unknown ones at the same time.
    phy: String,
    rate: String,
    bandwidth: u16,
    gi: String,
    streams: Option<u8>,
    band: Option<String>,
    preamble: Option<String>,
    security: String,
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
    dtim_period: Option<u8>,
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

/// Path loss and fading; what is left out is as [`PathLoss::indoors`] has it.
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

/// Why a scenario cannot be.
#[derive(Debug, thiserror::Error)]
pub enum BadScenario {
    /// It is not the JSON of a scenario.
    #[error("scenario: {0}")]
    Json(#[from] serde_json::Error),
    /// A word stands for nothing.
    #[error(transparent)]
    Word(#[from] WordError),
    /// What the words stand for contradicts itself or the standard.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The channel.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A number out of its range.
    #[error("{key}: {value} is not allowed: {reason}")]
    Number {
        /// The word.
        key: &'static str,
        /// Its value.
        value: String,
        /// Why not.
        reason: &'static str,
    },
    /// Words that exclude each other.
    #[error("{0}")]
    Together(&'static str),
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// [`BadScenario::Json`].
    pub fn read(text: &str) -> Result<Scenario, BadScenario> {
        Ok(serde_json::from_str(text)?)
    }

    /// Says whether it can be, at no more cost than making it.
    ///
    /// # Errors
    /// [`BadScenario`], in one line.
    pub fn check(&self) -> Result<(), BadScenario> {
        Ok(self.build()?.check()?)
    }

    /// Performs it in virtual time. The answer is JSON.
    ///
    /// # Errors
    /// [`BadScenario`], in one line.
    pub fn simulate(&self) -> Result<Value, BadScenario> {
        let scenario = self.build()?;
        let outcome = sim::simulate(&scenario)?;
        Ok(self.answer(&scenario, &outcome))
    }

    /// The words for the PHY.
    pub(crate) fn air(&self) -> Air {
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

    /// Stations beside the access point: in pairs where they talk to each other.
    fn stations(&self) -> Result<usize, BadScenario> {
        if self.stations == 0 {
            return Err(BadScenario::Number {
                key: "stations",
                value: "0".into(),
                reason: "a BSS has at least one station beside its access point (IEEE Std 802.11-2020, 4.3.2)",
            });
        }
        match self.topology.as_str() {
            "point-to-point" if self.stations > 1 => Err(BadScenario::Number {
                key: "stations",
                value: self.stations.to_string(),
                reason: "topology point-to-point has one; take topology stations",
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
        let mut station = StationConfig::new(mode, air.security_b(&self.security)?);
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
            // Who has access categories sends QoS data frames (9.2.4.1.3).
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
            station.aggregation.max_mpdus = 64; // refused with its clause
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

    /// The TID of QoS data frames, the user priority of their access category (Table 10-1); none for frames without
    /// a QoS Control field.
    pub(crate) fn tid(&self) -> Result<Option<u8>, BadScenario> {
        Ok(match self.access_category.as_deref() {
            Some("bk") => Some(1),
            Some("vi") => Some(5),
            Some("vo") => Some(6),
            Some(_) => Some(0),
            None => self.air().mode()?.max_ampdu_len_b().map(|_| 0),
        })
    }

    /// The cipher suite; none for `open`.
    pub(crate) fn suite(&self) -> Result<Option<Suite>, BadScenario> {
        Ok(self.air().suite(&self.security)?)
    }

    /// Whether a host gets consecutive packets of a flow that arrive together as one super-packet, as from a card whose
    /// driver uses GRO. TCP then acknowledges less often, which costs less airtime.
    pub(crate) fn coalesce(&self) -> bool {
        self.coalesce.unwrap_or(true)
    }

    /// What the words stand for.
    pub(crate) fn build(&self) -> Result<sim::Scenario, BadScenario> {
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
        if let Some(interval_tu @ 1..) = self.beacon_interval_tu {
            medium.beacons = Some(Beacons {
                interval: Beacons::TU * interval_tu,
                len_b: beacon::LEN_B,
                dtim_period: self.dtim_period.unwrap_or(1),
                power_save: false,
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
                return Err(BadScenario::Together(
                    "error_model needs an snr or a path_loss to work on",
                ));
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

    fn processor(&self) -> Result<Processor, BadScenario> {
        let suite = self.suite()?;
        let table = match self.crypto_at.as_str() {
            "host" => HOST,
            "card" => CARD,
            other => return Err(WordError::unknown("crypto_at", other, "host, card").into()),
        };
        let Some(suite) = suite else {
            return Ok(Processor::NONE);
        };
        let words = self.processor.unwrap_or_default();
        if self.crypto_at == "host" && (words.frame_us.is_some() || words.byte_ns.is_some()) {
            return Err(BadScenario::Together(
                "processor_frame and processor_byte are those of the card: take crypto_at card",
            ));
        }
        let (_, frame_ns, octet_ns) = table
            .iter()
            .find(|(name, ..)| *name == suite.name())
            .ok_or_else(|| WordError::unknown("security", suite.name(), "those with a measured processor"))?;
        let octet_ns = words.byte_ns.unwrap_or(*octet_ns);
        if !(0.0..=1e9).contains(&octet_ns) {
            return Err(BadScenario::Number {
                key: "processor_byte",
                value: octet_ns.to_string(),
                reason: "from 0 to 10^9 ns",
            });
        }
        Ok(Processor {
            frame: match words.frame_us {
                Some(frame_us) => span("processor_frame", frame_us, 1e-6)?,
                None => Nanos(*frame_ns),
            },
            octet_ns,
        })
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
                    write_b: u32::try_from(payload_b).unwrap_or(u32::MAX),
                    delayed_ack: self.delayed_ack.unwrap_or(true),
                    coalesce: self.coalesce(),
                }))
            }
            ("tcp" | "udp", "request-response") => {
                // With TCP each segment also acknowledges the one before it, so there are as many packets.
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
                None => Err(BadScenario::Together("traffic cbr needs a load: offered")),
            },
            ("udp", "video") => {
                let usual = VideoConfig::high_rate();
                Ok(Source::Video(VideoConfig {
                    rate_bps: offered_bps()?.unwrap_or(usual.rate_bps),
                    payload_b,
                    ..usual
                }))
            }
            ("tcp", "cbr" | "video") => Err(BadScenario::Together(
                "transport tcp carries traffic saturated or request-response; take udp for cbr and video",
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

    fn answer(&self, scenario: &sim::Scenario, outcome: &Outcome) -> Value {
        let span = outcome.span;
        let flow_count = outcome.flows.len() / self.stations;
        let mut delays = Delays::default();
        let mut round_trips = Delays::default();
        for flow in &outcome.flows {
            delays.merge(&flow.meter.delays);
            round_trips.merge(&flow.round_trips);
        }
        let asking = self.traffic == "request-response";
        let each: Vec<Value> = outcome
            .flows
            .chunks(flow_count)
            .map(|flows| {
                json!({
                    "throughput_mbps": throughput(flows, span),
                    "delay_ms": flows.first().and_then(|flow| flow.meter.delays.mean()).map(ms),
                    "jitter_ms": jitter(flows, &self.transport),
                    "loss": loss(flows, &self.transport),
                })
            })
            .collect();
        let share = |of: Nanos| of.as_secs_f64() / span.as_secs_f64();
        let airtime = &outcome.airtime;
        let sum =
            |of: fn(&wlan_air::StationCounters) -> u64| outcome.counters.stations.iter().map(of).sum::<u64>();
        json!({
            "throughput_mbps": throughput(&outcome.flows, span),
            "delay_ms": if asking { Value::Null } else { percentiles(&delays) },
            "rtt_ms": if asking { percentiles(&round_trips) } else { Value::Null },
            "jitter_ms": jitter(&outcome.flows, &self.transport),
            "loss": loss(&outcome.flows, &self.transport),
            "airtime": {
                "preamble": share(airtime.preamble),
                "payload": share(airtime.payload),
                "ack": share(airtime.ack),
                "control": share(airtime.control),
                "beacon": share(airtime.beacon),
                "collision": share(airtime.collision),
                "sifs": share(airtime.sifs),
                "ifs_backoff_idle": (1.0 - share(airtime.busy())).max(0.0),
            },
            "stations": each,
            "counters": {
                "transmissions": outcome.counters.transmissions,
                "collisions": outcome.counters.collisions,
                "mpdus": sum(|s| s.mpdus),
                "retries": sum(|s| s.retries),
                "lost_mpdus": sum(|s| s.losses),
                "drops_queue": sum(|s| s.drops_queue),
                "drops_retry": sum(|s| s.drops_retry),
                "drops_processor": outcome.processors.iter().map(|p| p.drops).sum::<u64>(),
                "drops_wired": outcome.wired_drops,
                "tcp_retransmissions": outcome.flows.iter().map(|f| f.retransmissions).sum::<u64>(),
                "timeouts": outcome.flows.iter().map(|f| f.timeouts).sum::<u64>(),
            },
            "facts": {
                "rate_kbit_per_s": scenario.medium.stations[0].rate.modes().last().map(wlan_air::phy::Mode::rate_kbps),
                "mpdu_bytes": scenario.medium.stations[0].framing.mpdu_len_b(self.msdu_b().unwrap_or(0)),
                "queue_limit": scenario.medium.stations[0].queue_limit,
                "processor_frame_us": scenario.processors[0].frame.as_us_f64(),
                "processor_byte_ns": scenario.processors[0].octet_ns,
            },
        })
    }

    /// Octets of the MSDU of a data packet: of TCP a full segment.
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

/// The models beside a simulation.
impl Scenario {
    /// What closed forms say of stations that always have a datagram of this size to send. The answer is JSON.
    ///
    /// # Errors
    /// [`BadScenario`], in one line.
    pub fn model(&self) -> Result<Value, BadScenario> {
        self.check()?;
        let air = self.air();
        let bss = air.bss()?;
        let mode = air.mode()?;
        let station = self.station()?;
        let (access, aggregation) = (station.access[0], station.aggregation);
        let security_b = station.framing.security_b;
        let msdu_b = LlcSnap::LEN + self.ip()?.header_len_b() + UDP_LEN_B + self.packet_size;
        let open_b = station.framing.mpdu_len_b(msdu_b) - security_b;
        let rts =
            station.protection == Protection::RtsCts || station.rts_threshold_b.is_some_and(|b| open_b > b);
        let contention = |stations, model| Contention {
            stations,
            exchange: if rts { Exchange::RtsCts } else { Exchange::Basic },
            model,
            eifs: true,
        };
        let single = |len_b| saturated_single_station(&bss, &mode, &access, &aggregation, len_b);
        let contended = |len_b, model| {
            saturated_stations(
                &bss,
                &mode,
                &access,
                &aggregation,
                len_b,
                &contention(self.stations, model),
            )
        };
        let one_b = open_b + security_b;
        let one = single(one_b);
        let goodput = |mpdus_per_s: f64| mpdus_per_s * self.packet_size as f64 * 8e-6;
        let bianchi = |model| {
            let of = contended(one_b, model);
            json!({
                "throughput_mbps": goodput(of.mpdus_per_s),
                "mpdus_per_ppdu": of.mpdus_per_ppdu,
                "collision_probability": of.collision_probability,
                "drop_probability": of.drop_probability,
                "access_delay_us": of.access_delay_us,
                "cost_of_security": security_cost(|len_b| contended(len_b, model).mpdus_per_s, open_b, security_b),
            })
        };
        Ok(json!({
            "single_station": {
                "throughput_mbps": goodput(one.mpdus_per_s()),
                "mpdus_per_ppdu": one.mpdus_per_cycle,
                "cost_of_security": security_cost(|len_b| single(len_b).mpdus_per_s(), open_b, security_b),
                "cycle_us": one.cycle_us(),
                "ifs_us": one.ifs_us,
                "backoff_us": one.backoff_us,
                "preamble_us": one.preamble_us,
                "payload_us": one.payload_us,
                "sifs_us": one.sifs_us,
                "ack_us": one.ack_us,
            },
            "bianchi": bianchi(ContentionModel::Bianchi),
            "countdown": bianchi(ContentionModel::Countdown),
            "idle_round_trip_us": idle_round_trip(&bss, &mode, &access, one_b, one_b, Nanos::ZERO).total_us(),
            "mpdu_bytes": one_b,
            "security_bytes": security_b,
        }))
    }
}

/// What sealing or opening a frame costs, by suite: ns for each frame, ns for each octet.
type Cost = (&'static str, u64, f64);

/// The engine of `wlan-ciphers` on one core, batches of frames under one key: a line through what `airtoll ciphers`
/// measured at 128 and 1500 octets (docs/ciphers.md), so that a simulation is the same on every machine.
const HOST: &[Cost] = &[
    ("wep40", 188, 0.675),
    ("wep104", 190, 0.673),
    ("tkip", 353, 0.763),
    ("ccmp", 20, 0.090),
    ("ccmp256", 23, 0.125),
    ("gcmp", 37, 0.104),
    ("gcmp256", 32, 0.090),
    ("enhanced1", 20, 0.090),
    ("enhanced2", 25, 0.098),
    ("enhanced4", 32, 0.086),
    ("enhanced8", 35, 0.084),
];

/// A wireless card whose own 32-bit processor, at 400 MHz, runs the ciphers as software: a model, not a measurement, of the
/// "low-performance processor" of Hayajneh et al., which gives no rates. Cycles: RC4 12 an octet and 1200 for its key,
/// Michael 6 an octet, AES-128 45 an octet and 256 40 % more, GHASH by tables 60; 2000 for each frame. Lanes change nothing
/// on one processor that takes one frame at a time. `processor` in a scenario takes their place.
const CARD: &[Cost] = &[
    ("wep40", 8_000, 30.0),
    ("wep104", 8_000, 30.0),
    ("tkip", 12_000, 45.0),
    ("ccmp", 5_000, 225.0),
    ("ccmp256", 5_000, 315.0),
    ("gcmp", 5_000, 262.0),
    ("gcmp256", 5_000, 308.0),
    ("enhanced1", 5_000, 225.0),
    ("enhanced2", 5_000, 225.0),
    ("enhanced4", 5_000, 225.0),
    ("enhanced8", 5_000, 225.0),
];

fn throughput(flows: &[FlowOutcome], span: Nanos) -> f64 {
    flows.iter().map(|flow| flow.throughput_mbps(span)).sum()
}

/// Mean over the flows that measured it; TCP has none.
fn jitter(flows: &[FlowOutcome], transport: &str) -> Option<f64> {
    let measured: Vec<f64> = flows
        .iter()
        .filter(|flow| transport == "udp" && flow.meter.loss.received() > 1)
        .map(|flow| ms(flow.meter.jitter.value()))
        .collect();
    #[allow(clippy::cast_precision_loss)] // few flows
    let count = measured.len() as f64;
    (!measured.is_empty()).then(|| measured.iter().sum::<f64>() / count)
}

fn loss(flows: &[FlowOutcome], transport: &str) -> Option<f64> {
    let sum = |of: fn(&FlowOutcome) -> u64| flows.iter().map(of).sum::<u64>();
    let expected = sum(|flow| flow.meter.loss.expected());
    let received = sum(|flow| flow.meter.loss.received());
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    (transport == "udp" && expected > 0).then(|| expected.saturating_sub(received) as f64 / expected as f64)
}

fn percentiles(delays: &Delays) -> Value {
    let Some(mean) = delays.mean() else {
        return Value::Null;
    };
    let at = |percent| delays.percentile(percent).map(ms);
    json!({
        "mean": ms(mean),
        "p50": at(50.0),
        "p95": at(95.0),
        "p99": at(99.0),
        "max": delays.max().map(ms),
    })
}

fn ms(of: Nanos) -> f64 {
    of.as_us_f64() / 1e3
}

/// A span of `value` units of `unit_s` seconds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the range is checked
fn span(key: &'static str, value: f64, unit_s: f64) -> Result<Nanos, BadScenario> {
    let ns = value * unit_s * 1e9;
    if !(0.0..=1e18).contains(&ns) {
        return Err(BadScenario::Number {
            key,
            value: value.to_string(),
            reason: "from 0 to 10^9 s",
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
            reason: "from 1 bit/s to 10^9 Mbit/s",
        });
    }
    Ok((bps + 0.5) as u64)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// One 802.11a station at 54 Mbit/s that sends 1472 octets of UDP payload for a second; `words` replace what they
    /// name.
    pub(crate) fn scenario(words: &[(&str, Value)]) -> Scenario {
        read(words).unwrap()
    }

    fn read(words: &[(&str, Value)]) -> Result<Scenario, BadScenario> {
        let mut all = json!({
            "phy": "ofdm", "rate": "54 Mbit/s", "bandwidth": 20, "gi": "long", "streams": 1,
            "security": "open", "crypto_at": "host", "stations": 1, "topology": "point-to-point",
            "direction": "up", "transport": "udp", "ip": "ipv4", "packet_size": 1472, "traffic": "saturated",
            "error_model": "none", "seed": 1, "duration_s": 1.0, "warmup_s": 0.1,
        });
        for (word, value) in words {
            all[*word] = value.clone();
        }
        Scenario::read(&all.to_string())
    }

    fn refused(words: &[(&str, Value)]) -> String {
        read(words)
            .and_then(|scenario| scenario.check())
            .expect_err("it cannot be")
            .to_string()
    }

    fn number(answer: &Value, path: &str) -> f64 {
        answer.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN)
    }

    #[test]
    fn a_simulation_agrees_with_the_model_beside_it() {
        for (words, tolerance) in [
            (vec![], 0.01),
            (vec![("security", "ccmp".into())], 0.01),
            (
                vec![
                    ("phy", "vht".into()),
                    ("rate", "mcs9".into()),
                    ("bandwidth", 80.into()),
                    ("streams", 3.into()),
                ],
                0.01,
            ),
            (vec![("phy", "dsss".into()), ("rate", "11 Mbit/s".into())], 0.01),
            (
                vec![("stations", 5.into()), ("topology", "stations".into())],
                0.03,
            ),
        ] {
            let scenario = scenario(&words);
            let (measured, model) = (scenario.simulate().unwrap(), scenario.model().unwrap());
            let expected = number(&model, "/countdown/throughput_mbps");
            let measured = number(&measured, "/throughput_mbps");
            assert!(
                (measured / expected - 1.0).abs() < tolerance,
                "{words:?}: {measured}, {expected}"
            );
        }
    }

    #[test]
    fn sealing_costs_a_whole_symbol_at_54() {
        // 1500 octets: 57 symbols open, 58 with CCMP's 16 octets (Table 17-4: 216 bits a symbol).
        let cycle = |security: &str| {
            let model = scenario(&[("security", security.into())]).model().unwrap();
            number(&model, "/single_station/cycle_us")
        };
        assert!((cycle("open") - (34.0 + 67.5 + 20.0 + 57.0 * 4.0 + 16.0 + 28.0)).abs() < 1e-9);
        assert!((cycle("ccmp") - cycle("open") - 4.0).abs() < 1e-9);
    }

    #[test]
    fn a_slow_card_costs_delay_and_a_fast_host_does_not() {
        let round_trip = |words: &[(&str, Value)]| {
            let words = [
                words,
                &[
                    ("traffic", "request-response".into()),
                    ("security", "ccmp".into()),
                ],
            ]
            .concat();
            number(&scenario(&words).simulate().unwrap(), "/rtt_ms/mean")
        };
        let host = round_trip(&[("crypto_at", "host".into())]);
        let card = round_trip(&[("crypto_at", "card".into())]);
        let slower = round_trip(&[
            ("crypto_at", "card".into()),
            ("processor", json!({"frame_us": 1000.0, "byte_ns": 0.0})),
        ]);
        assert!(card > host + 1.0, "{card} {host}");
        // Sealed and opened, there and back: four times 1 ms, or 5 us and 225 ns for each of 1508 octets.
        assert!(
            (slower - card - 4.0 * (1.0 - 0.3443)).abs() < 0.001,
            "{slower} {card}"
        );
    }

    #[test]
    fn what_crosses_the_air_twice_halves() {
        let throughput = |topology: &str| {
            let words = [("topology", topology.into()), ("security", "ccmp".into())];
            number(&scenario(&words).simulate().unwrap(), "/throughput_mbps")
        };
        let (direct, relayed) = (throughput("point-to-point"), throughput("through-ap"));
        assert!((0.4..0.6).contains(&(relayed / direct)), "{direct} {relayed}");
        assert!((throughput("wired-ap") / direct - 1.0).abs() < 0.01);
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_line_that_names_the_clause() {
        let matrix = json!([[0.0, 20.0, 20.0], [20.0, 0.0, 20.0], [20.0, 20.0, 0.0]]);
        for (words, named) in [
            (vec![("phy", "vht".into()), ("rate", "mcs9".into())], "21.5"),
            (vec![("txop_limit_us", 3_000_000.into())], "9.4.2.28"),
            (
                vec![
                    ("phy", "ht".into()),
                    ("rate", "mcs7".into()),
                    ("security", "tkip".into()),
                ],
                "12.6.3",
            ),
            (vec![("snr_db", matrix), ("error_model", "nist".into())], "2"),
            (vec![("stations", 0.into())], "4.3.2"),
            (vec![("ampdu", true.into())], "9.7"),
            (vec![("fragmentation_threshold", 100.into())], "10.4"),
            (vec![("traffic", "cbr".into())], "offered"),
            (vec![("security", "paper-lanes".into())], "docs/enhanced-ccmp.md"),
            (vec![("colour", "red".into())], "colour"),
        ] {
            let line = refused(&words);
            assert!(line.contains(named) && !line.contains('\n'), "{words:?}: {line}");
        }
    }
}
