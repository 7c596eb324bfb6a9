//! The result of a simulation, as JSON.

use serde_json::{Map, Value, json};
use wlan_air::phy::Mode;
use wlan_air::sim::{self, FlowOutcome, Outcome, Processor};
use wlan_air::traffic::Delays;
use wlan_air::{Nanos, StationCounters};

use super::Scenario;
use crate::signals::{counts, station_name};
use crate::words::{Kind, Transport};

impl Scenario {
    pub(super) fn answer(&self, scenario: &sim::Scenario, outcome: &Outcome) -> Value {
        let span = outcome.span;
        let flow_count = outcome.flows.len() / self.cell.stations;
        let is_udp = self.traffic.transport == Transport::Udp;
        let mut delays = Delays::default();
        let mut round_trips = Delays::default();
        for flow in &outcome.flows {
            delays.merge(&flow.meter.delays);
            round_trips.merge(&flow.round_trips);
        }
        let asking = self.traffic.kind == Kind::RequestResponse;
        let answered = asking || self.traffic.kind == Kind::Video;
        let each: Vec<Value> = outcome
            .flows
            .chunks(flow_count)
            .map(|flows| {
                json!({
                    "throughput_mbps": throughput(flows, span),
                    "delay_ms": flows.first().and_then(|flow| flow.meter.delays.mean()).map(ms),
                    "jitter_ms": jitter(flows, is_udp),
                    "loss": loss(flows, is_udp),
                })
            })
            .collect();
        json!({
            "throughput_mbps": throughput(&outcome.flows, span),
            "delay_ms": if asking { Value::Null } else { percentiles(&delays) },
            "rtt_ms": if answered { percentiles(&round_trips) } else { Value::Null },
            "jitter_ms": jitter(&outcome.flows, is_udp),
            "loss": loss(&outcome.flows, is_udp),
            "late_frames": late_frames(&outcome.flows),
            "airtime": airtime(outcome),
            "stations": each,
            "counters": counters(outcome),
            "received": self.received(outcome),
            "facts": self.facts(scenario),
        })
    }

    /// The signals of the data PPDUs that each station received; null on a medium without a channel.
    fn received(&self, outcome: &Outcome) -> Value {
        let stations = outcome.signals.iter().enumerate();
        let received: Map<String, Value> = stations
            .filter(|(_, signals)| !signals.is_empty())
            .map(|(station, signals)| (station_name(station, outcome.signals.len()), counts(signals)))
            .collect();
        if received.is_empty() {
            Value::Null
        } else {
            received.into()
        }
    }

    fn facts(&self, scenario: &sim::Scenario) -> Value {
        let station = &scenario.medium.stations[0];
        // `build` has checked the words.
        let crypto = self.sealing.crypto(self.suite()).unwrap_or(Processor::NONE);
        json!({
            "rate_kbit_per_s": station.rate.modes().last().map(Mode::rate_kbps),
            "mpdu_bytes": station.framing.mpdu_len_b(self.traffic.msdu_b()),
            "queue_limit": station.queue_limit,
            "processor_frame_us": crypto.interval.frame.as_us_f64(),
            "processor_byte_ns": crypto.interval.octet_ns,
            "processor_latency_ns": crypto.latency.octet_ns,
        })
    }
}

/// Shares of the measured window.
fn airtime(outcome: &Outcome) -> Value {
    let airtime = &outcome.airtime;
    let share = |of: Nanos| of.as_secs_f64() / outcome.span.as_secs_f64();
    json!({
        "preamble": share(airtime.preamble),
        "payload": share(airtime.payload),
        "ack": share(airtime.ack),
        "control": share(airtime.control),
        "beacon": share(airtime.beacon),
        "collision": share(airtime.collision),
        "sifs": share(airtime.sifs),
        "ifs_backoff_idle": (1.0 - share(airtime.busy())).max(0.0),
    })
}

fn counters(outcome: &Outcome) -> Value {
    let sum = |of: fn(&StationCounters) -> u64| outcome.counters.stations.iter().map(of).sum::<u64>();
    json!({
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
    })
}

fn throughput(flows: &[FlowOutcome], span: Nanos) -> f64 {
    flows.iter().map(|flow| flow.throughput_mbps(span)).sum()
}

/// Mean over the flows that measure jitter; `None` for TCP.
fn jitter(flows: &[FlowOutcome], is_udp: bool) -> Option<f64> {
    let measured: Vec<f64> = flows
        .iter()
        .filter(|flow| is_udp && flow.meter.loss.received() > 1)
        .map(|flow| ms(flow.meter.jitter.mean()))
        .collect();
    #[allow(clippy::cast_precision_loss)] // few flows
    let count = measured.len() as f64;
    (!measured.is_empty()).then(|| measured.iter().sum::<f64>() / count)
}

/// Share of datagrams that were lost; `None` for TCP.
fn loss(flows: &[FlowOutcome], is_udp: bool) -> Option<f64> {
    let sum = |of: fn(&FlowOutcome) -> u64| flows.iter().map(of).sum::<u64>();
    let expected = sum(|flow| flow.meter.loss.expected());
    let received = sum(|flow| flow.meter.loss.received());
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    (is_udp && expected > 0).then(|| expected.saturating_sub(received) as f64 / expected as f64)
}

/// Share of video frames that were incomplete at their deadline; `None` for other traffic, which has no frames.
fn late_frames(flows: &[FlowOutcome]) -> Option<f64> {
    let sum = |of: fn(&FlowOutcome) -> u64| flows.iter().map(of).sum::<u64>();
    let (frames, late) = (sum(|flow| flow.frames), sum(|flow| flow.late_frames));
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    (frames > 0).then(|| late as f64 / frames as f64)
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
