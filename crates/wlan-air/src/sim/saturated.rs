//! Stations that always have a frame to send.

use crate::queue::Packet;
use crate::{ConfigError, Counters, Medium, MediumConfig, Nanos, Route};

/// The result of a saturated simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saturated {
    /// Simulated time.
    pub elapsed: Nanos,
    /// Counters of the medium.
    pub counters: Counters,
}

impl Saturated {
    /// MSDUs delivered by all stations.
    #[must_use]
    pub fn msdus(&self) -> u64 {
        self.counters.stations.iter().map(|s| s.msdus).sum()
    }

    /// Goodput of all stations in Mbit/s if each MSDU carries `payload_len_b` counted octets.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    pub fn goodput_mbps(&self, payload_len_b: usize) -> f64 {
        self.msdus() as f64 * payload_len_b as f64 * 8.0 / 1e6 / self.elapsed.as_secs_f64()
    }
}

/// Every route always has as many MSDUs of `msdu_len_b` octets waiting as its queue holds, like UDP sources
/// faster than the medium. An MSDU that would be lost at the full queue is not offered, so no MSDU counts as
/// dropped there.
///
/// # Errors
/// The same [`ConfigError`] as [`Medium::new`].
pub fn saturated(
    config: MediumConfig,
    routes: &[Route],
    msdu_len_b: usize,
    duration: Nanos,
) -> Result<Saturated, ConfigError> {
    let limits: Vec<usize> = config.stations.iter().map(|s| s.queue_limit).collect();
    let mut medium = Medium::new(config)?;
    let msdu = |arrival, frame| Packet {
        arrival,
        len_b: msdu_len_b,
        flow: 0,
        frame,
    };
    for (index, route) in routes.iter().enumerate() {
        let sharing = routes
            .iter()
            .filter(|r| (r.from, r.contender) == (route.from, route.contender))
            .count();
        for _ in 0..limits[route.from].div_ceil(sharing) {
            medium.enqueue(*route, msdu(Nanos::ZERO, index));
        }
    }
    let mut completed = Vec::new();
    while medium.next_event().is_some_and(|at| at <= duration) {
        medium.advance();
        medium.deliver().for_each(drop);
        completed.extend(medium.take_completions().map(|completion| completion.frame));
        for index in completed.drain(..) {
            medium.enqueue(routes[index], msdu(medium.now(), index));
        }
    }
    Ok(Saturated {
        elapsed: duration,
        counters: medium.counters().clone(),
    })
}
