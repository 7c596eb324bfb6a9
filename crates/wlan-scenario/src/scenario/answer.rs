//! The result of a simulation, as JSON.

use serde_json::{Value, json};
use wlan_air::Nanos;
use wlan_air::phy::Mode;
use wlan_air::sim::{self, FlowOutcome, Outcome};
use wlan_air::traffic::Delays;

use super::Scenario;

impl Scenario {
    pub(super) fn answer(&self, scenario: &sim::Scenario, outcome: &Outcome) -> Value {
        let span = outcome.span;
        let flow_count = outcome.flows.len() / self.stations;
        let mut delays = Delays::default();
        let mut round_trips = Delays::default();
        for flow in &outcome.flows {
            delays.merge(&flow.meter.delays);
            round_trips.merge(&flow.round_trips);
        }
        let asking = self.traffic == "request-response";
        let answered = asking || self.traffic == "video";
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
            "rtt_ms": if answered { percentiles(&round_trips) } else { Value::Null },
            "jitter_ms": jitter(&outcome.flows, &self.transport),
            "loss": loss(&outcome.flows, &self.transport),
            "late_frames": late_frames(&outcome.flows),
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
                "rate_kbit_per_s": scenario.medium.stations[0].rate.modes().last().map(Mode::rate_kbps),
                "mpdu_bytes": scenario.medium.stations[0].framing.mpdu_len_b(self.msdu_b().unwrap_or(0)),
                "queue_limit": scenario.medium.stations[0].queue_limit,
                "processor_frame_us": scenario.processors[0].frame.as_us_f64(),
                "processor_byte_ns": scenario.processors[0].octet_ns,
            },
        })
    }
}

fn throughput(flows: &[FlowOutcome], span: Nanos) -> f64 {
    flows.iter().map(|flow| flow.throughput_mbps(span)).sum()
}

/// Mean over the flows that measure jitter; `None` for TCP.
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
