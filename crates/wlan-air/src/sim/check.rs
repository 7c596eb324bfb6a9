//! Validation of scenarios.

use super::Processor;
use super::host::Host;
use super::scenario::{LLC_SNAP_LEN_B, MSDU_MAX_B, MTU_LEAST_B, Scenario, ScenarioError, UDP_LEN_B};
use crate::Nanos;

impl Scenario {
    /// Checks the scenario.
    ///
    /// # Errors
    /// [`ScenarioError`] if the scenario is inconsistent or violates the standard.
    pub fn check(&self) -> Result<(), ScenarioError> {
        self.medium.check()?;
        let stations = self.medium.stations.len();
        if self.processors.len() != stations {
            return Err(ScenarioError::Processors {
                processors: self.processors.len(),
                stations,
            });
        }
        let octets_ns = |processor: &Processor| [processor.interval.octet_ns, processor.latency.octet_ns];
        if let Some(ns) = self
            .processors
            .iter()
            .flat_map(octets_ns)
            .find(|ns| !(ns.is_finite() && *ns >= 0.0))
        {
            return Err(ScenarioError::Processor(ns));
        }
        if self.receive_limit == 0 {
            return Err(ScenarioError::ReceiveLimit);
        }
        if self.duration == Nanos::ZERO {
            return Err(ScenarioError::Duration);
        }
        if self.wired.rate_bps == 0 || self.wired.queue_limit == 0 {
            return Err(ScenarioError::Wired);
        }
        for flow in &self.flows {
            for end in [flow.from, flow.to] {
                let station = end.station();
                if station >= stations {
                    return Err(ScenarioError::NoStation { station, stations });
                }
            }
            if flow.from.station() == flow.to.station() {
                return Err(ScenarioError::Nowhere);
            }
            let payload_b = flow.source.largest_payload_b();
            if let Some(mtu_b) = flow.mtu_b.filter(|&mtu_b| mtu_b < MTU_LEAST_B) {
                return Err(ScenarioError::Mtu(mtu_b));
            }
            let ip_len_b = flow.ip.header_len_b() + UDP_LEN_B + payload_b;
            let msdu_b = LLC_SNAP_LEN_B + flow.fragments(ip_len_b).max().unwrap_or(0);
            if msdu_b > MSDU_MAX_B {
                return Err(ScenarioError::Payload { payload_b, msdu_b });
            }
            // Packets between stations pass through the access point.
            for station in [flow.from.station(), flow.to.station(), 0] {
                let categories = self.medium.stations[station].access.len();
                if flow.contender >= categories {
                    return Err(ScenarioError::NoContender {
                        contender: flow.contender,
                        station,
                        categories,
                    });
                }
            }
            Host::new(flow, 0)?;
        }
        Ok(())
    }
}
