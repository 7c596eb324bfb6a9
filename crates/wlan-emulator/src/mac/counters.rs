//! The counters of the emulator.

use hdrhistogram::Histogram;
use serde::Serialize;
use wlan_air::Nanos;

/// A delivery later than this is a slip, which shows that the scheduler kept the emulator off the CPU.
pub const SLIP: Nanos = Nanos(5_000_000);

/// Lateness of deliveries, in microseconds.
#[derive(Debug, Serialize)]
pub struct Lateness {
    p50: f64,
    p99: f64,
    p999: f64,
    max: f64,
}

/// Totals since the link came up.
pub struct Counters {
    /// Time spent sealing and opening frames.
    pub crypto: Nanos,
    /// MPDUs that the receiver rejected: invalid MIC or header, or a replay.
    pub open_errors: u64,
    /// Packets that a host's stack refused.
    pub refused: u64,
    /// Packets from hosts that were neither IPv4 nor IPv6.
    pub unclassified: u64,
    /// Packets from hosts that could not be converted to MSDUs.
    pub unsplittable: u64,
    /// Packets from hosts to addresses that no host has.
    pub unroutable: u64,
    /// Ideal time during which no station, processor or wire held a frame, until the last arrival.
    pub air_idle: Nanos,
    /// The data PPDUs of each station.
    pub aired: Vec<Aired>,
    /// Delay in nanoseconds between the ideal end of each PPDU and the delivery of its first MSDU.
    lateness_ns: Histogram<u64>,
    slips: u64,
}

/// Airtime of the data PPDUs of a station.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aired {
    /// All data PPDUs.
    pub data: Nanos,
    /// Data PPDUs that took all frames which the station held. With more frames, the PPDU could have been longer.
    pub starved: Nanos,
}

impl Counters {
    /// No counts of a link with this number of stations on the air.
    pub fn new(stations: usize) -> Self {
        Self {
            crypto: Nanos(0),
            open_errors: 0,
            refused: 0,
            unclassified: 0,
            unsplittable: 0,
            unroutable: 0,
            air_idle: Nanos::ZERO,
            aired: vec![Aired::default(); stations],
            lateness_ns: Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are valid"),
            slips: 0,
        }
    }

    /// Counts a data PPDU that took this time of the air.
    pub fn record_data(&mut self, sender: usize, airtime: Nanos, is_starved: bool) {
        let aired = &mut self.aired[sender];
        aired.data += airtime;
        aired.starved += if is_starved { airtime } else { Nanos::ZERO };
    }

    /// Counts one delivery that was `late` after its ideal time.
    pub fn record_lateness(&mut self, late: Nanos) {
        self.lateness_ns.saturating_record(late.0);
        self.slips += u64::from(late > SLIP);
    }

    /// Number of slips.
    pub fn slips(&self) -> u64 {
        self.slips
    }

    /// Quantiles of the lateness; `None` before the first delivery.
    pub fn lateness_us(&self) -> Option<Lateness> {
        #[allow(clippy::cast_precision_loss)] // bounded by a minute
        let quantile = |q| self.lateness_ns.value_at_quantile(q) as f64 / 1000.0;
        (!self.lateness_ns.is_empty()).then(|| Lateness {
            p50: quantile(0.5),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: quantile(1.0),
        })
    }
}
