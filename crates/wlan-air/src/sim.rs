//! Sources and sinks around a medium, in virtual time.

use crate::{ConfigError, Counters, Event, Medium, MediumConfig, Nanos};

/// What a simulation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Simulated time.
    pub elapsed: Nanos,
    /// What the medium counted.
    pub counters: Counters,
}

impl Outcome {
    /// MPDUs delivered, all stations.
    #[must_use]
    pub fn mpdus(&self) -> u64 {
        self.counters.stations.iter().map(|s| s.mpdus).sum()
    }

    /// Goodput of all stations in Mbit/s when each MPDU carries `payload_len_b` octets of what is counted.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    pub fn goodput_mbps(&self, payload_len_b: usize) -> f64 {
        self.mpdus() as f64 * payload_len_b as f64 * 8.0 / 1e6 / self.elapsed.as_secs_f64()
    }
}

/// Every station always has a full queue of MPDUs of `mpdu_len_b` octets, as from UDP sources faster than the
/// medium. What a faster source would lose at the full queue is not offered, so nothing counts as dropped
/// there.
///
/// # Errors
/// [`ConfigError`] as [`Medium::new`].
pub fn saturated(config: MediumConfig, mpdu_len_b: usize, duration: Nanos) -> Result<Outcome, ConfigError> {
    let mut medium = Medium::new(config)?;
    fill_queues(&mut medium, &config, mpdu_len_b);
    while medium.next_event().is_some_and(|at| at <= duration) {
        if matches!(medium.advance(), Some(Event::TxEnd { .. })) {
            fill_queues(&mut medium, &config, mpdu_len_b);
        }
    }
    Ok(Outcome {
        elapsed: duration,
        counters: medium.counters().clone(),
    })
}

fn fill_queues(medium: &mut Medium<()>, config: &MediumConfig, mpdu_len_b: usize) {
    for station in 0..config.stations {
        for _ in medium.queue_len(station)..config.queue_limit {
            let queued = medium.enqueue(station, medium.now(), mpdu_len_b, ());
            debug_assert!(queued.is_ok(), "there was room");
        }
    }
}

/// The traffic of [`ping_pong`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingPong {
    /// Octets of the MPDU that carries the request, from station 0.
    pub request_mpdu_len_b: usize,
    /// Octets of the MPDU that carries the response, from station 1.
    pub response_mpdu_len_b: usize,
    /// From the delivery of the request to the arrival of the response at its queue.
    pub turnaround: Nanos,
    /// From the delivery of the response to the arrival of the next request at its queue.
    pub pause: Nanos,
    /// Requests.
    pub rounds: usize,
}

/// Requests and responses between stations 0 and 1 with no other traffic: each round trip, from the arrival
/// of the request at its queue to the delivery of the response.
///
/// # Errors
/// [`ConfigError`] as [`Medium::new`]; [`ConfigError::Stations`] if there are fewer than two.
pub fn ping_pong(config: MediumConfig, traffic: &PingPong) -> Result<Vec<Nanos>, ConfigError> {
    if config.stations < 2 {
        return Err(ConfigError::Stations);
    }
    let mut medium = Medium::new(config)?;
    // Runs the medium until the one frame on its way is delivered. Nothing collides: the other end has none
    // to send.
    let mut send = |station: usize, at: Nanos, mpdu_len_b: usize| -> Nanos {
        let queued = medium.enqueue(station, at, mpdu_len_b, ());
        debug_assert!(queued.is_ok(), "the queue is empty before each frame");
        while medium.advance().is_some() {}
        medium.now()
    };
    let mut request_at = traffic.pause;
    let mut round_trips = Vec::with_capacity(traffic.rounds);
    for _ in 0..traffic.rounds {
        let requested = send(0, request_at, traffic.request_mpdu_len_b);
        let responded = send(1, requested + traffic.turnaround, traffic.response_mpdu_len_b);
        round_trips.push(responded - request_at);
        request_at = responded + traffic.pause;
    }
    Ok(round_trips)
}
