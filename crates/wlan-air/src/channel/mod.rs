//! The channel between two stations: the SNR of a signal, and the probability that an MPDU is received.
//!
//! ```text
//! transmit power - path loss (log-distance, shadowing) = mean received power ─┐
//!                        noise floor (bandwidth, noise figure) ───────────────┴─> mean SNR ─┐
//!                                              or a matrix of given SNRs ─────────> mean SNR ─┤
//!                                   block fading (Rayleigh, Rician) ────────────────────────┴─> SNR
//! SNR + noise floor = received power (RSSI) of each PPDU
//! SNR, mode, octets ── ErrorModel ──> probability that the MPDU is received
//! ```
//!
//! The channel has no state: shadowing is a function of (seed, pair), fading a function of (seed, pair, block
//! of coherence time). Both are equal in both directions of a pair. The channel does not include
//! interference: the medium handles PPDUs that overlap in time.

mod draws;
mod errors;
mod signal;

use draws::{Draws, Purpose};
pub use errors::ErrorModel;
pub use signal::{Signal, SignalCounts};

use crate::Nanos;
use crate::phy::{Band, Mode};

/// Density of thermal noise at 290 K, dBm/Hz.
const THERMAL_NOISE_DBM_HZ: f64 = -174.0;

/// Noise figure of receivers in dB if no other is configured (the default of ns-3).
pub const NOISE_FIGURE_DB: f64 = 7.0;

/// An invalid [`ChannelConfig`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// A matrix does not have one row per station.
    #[error("the matrix of {what} has {rows} rows for {stations} stations: one row per station is required")]
    Rows {
        /// The quantity in the matrix.
        what: &'static str,
        /// Rows of the matrix.
        rows: usize,
        /// Stations of the channel.
        stations: usize,
    },
    /// A row of a matrix does not have one column per station.
    #[error(
        "row {row} of the matrix of {what} has {columns} values for {stations} stations: \
         one per station is required"
    )]
    Columns {
        /// The quantity in the matrix.
        what: &'static str,
        /// The row, counted from 0.
        row: usize,
        /// Values in this row.
        columns: usize,
        /// Stations of the channel.
        stations: usize,
    },
    /// A value of a pair is out of range.
    #[error("the {what} from station {from} to station {to} is {value}: it must be {must}")]
    Pair {
        /// The quantity.
        what: &'static str,
        /// The row: a station, counted from 0.
        from: usize,
        /// The column: a station, counted from 0.
        to: usize,
        /// The invalid value.
        value: f64,
        /// The valid range.
        must: &'static str,
    },
    /// A distance differs between the two directions.
    #[error(
        "the distance from station {from} to station {to} is {there} m, but {back} m in the other direction"
    )]
    Asymmetric {
        /// One station, counted from 0.
        from: usize,
        /// The other station.
        to: usize,
        /// Metres from `from` to `to`.
        there: f64,
        /// Metres from `to` to `from`.
        back: f64,
    },
    /// A parameter is out of range.
    #[error("{what} is {value}: it must be {must}")]
    Parameter {
        /// The parameter.
        what: &'static str,
        /// The invalid value.
        value: f64,
        /// The valid range.
        must: &'static str,
    },
    /// The coherence time of the fading is zero.
    #[error("the coherence time of the fading must be above 0")]
    CoherenceTime,
}

/// A value for each ordered pair of stations.
#[derive(Clone, Debug, PartialEq)]
pub enum PerPair {
    /// The same value for all pairs.
    Same(f64),
    /// One row per sender, one column per receiver. The diagonal is ignored.
    Matrix(Vec<Vec<f64>>),
}

impl PerPair {
    fn get(&self, from: usize, to: usize) -> f64 {
        match self {
            PerPair::Same(value) => *value,
            PerPair::Matrix(rows) => rows[from][to],
        }
    }

    fn check(
        &self,
        stations: usize,
        what: &'static str,
        must: &'static str,
        allowed: impl Fn(f64) -> bool,
    ) -> Result<(), ChannelError> {
        if let PerPair::Matrix(matrix) = self {
            if matrix.len() != stations {
                let rows = matrix.len();
                return Err(ChannelError::Rows { what, rows, stations });
            }
            if let Some((row, values)) = (0..).zip(matrix).find(|(_, values)| values.len() != stations) {
                return Err(ChannelError::Columns {
                    what,
                    row,
                    columns: values.len(),
                    stations,
                });
            }
        }
        match ordered_pairs(stations).find(|&(from, to)| !allowed(self.get(from, to))) {
            None => Ok(()),
            Some((from, to)) => Err(ChannelError::Pair {
                what,
                from,
                to,
                value: self.get(from, to),
                must,
            }),
        }
    }
}

fn ordered_pairs(stations: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..stations).flat_map(move |from| (0..stations).map(move |to| (from, to)).filter(|(a, b)| a != b))
}

/// Log-distance path loss with log-normal shadowing: loss = loss at the reference distance + 10 * exponent *
/// log10(distance / reference distance) + normal(0, shadowing). Below the reference distance, the loss is
/// constant. Beyond a breakpoint, it may grow with another exponent.
#[derive(Clone, Debug, PartialEq)]
pub struct PathLoss {
    /// Radiated power of each station, including antenna gains, dBm.
    pub tx_power_dbm: f64,
    /// Noise figure of each receiver, dB.
    pub noise_figure_db: f64,
    /// Path-loss exponent: 2 in free space, at least 3 indoors.
    pub exponent: f64,
    /// Distance of the reference loss, m.
    pub reference_distance_m: f64,
    /// Loss at the reference distance, dB.
    pub reference_loss_db: f64,
    /// The distance beyond which the loss has another exponent; none for a single exponent.
    pub breakpoint: Option<Breakpoint>,
    /// Standard deviation of the shadowing, dB; 0 disables it.
    pub shadowing_db: f64,
    /// Distance between stations, m.
    pub distance_m: PerPair,
}

/// The distance at which the path-loss exponent changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Breakpoint {
    /// The distance, m.
    pub distance_m: f64,
    /// Path-loss exponent beyond the distance.
    pub exponent: f64,
}

/// The channel models of 802.11n (V. Erceg et al., "TGn Channel Models", IEEE 802.11-03/940r4, section 4.2, Table I).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tgn {
    /// Without delay spread.
    A,
    /// Residential.
    B,
    /// Small office.
    C,
    /// Typical office.
    D,
    /// Large office.
    E,
    /// Large space, indoors or outdoors.
    F,
}

impl Tgn {
    /// Free space up to the breakpoint, then an exponent of 3.5.
    #[must_use]
    pub fn breakpoint(self) -> Breakpoint {
        Breakpoint {
            distance_m: match self {
                Tgn::A | Tgn::B | Tgn::C => 5.0,
                Tgn::D => 10.0,
                Tgn::E => 20.0,
                Tgn::F => 30.0,
            },
            exponent: 3.5,
        }
    }
}

impl PathLoss {
    /// 16 dBm, a noise figure of 7 dB and an exponent of 3 (the defaults of ns-3), free space up to 1 m, no
    /// shadowing.
    #[must_use]
    pub fn indoors(band: Band, distance_m: PerPair) -> PathLoss {
        PathLoss {
            tx_power_dbm: 16.0,
            noise_figure_db: NOISE_FIGURE_DB,
            exponent: 3.0,
            reference_distance_m: 1.0,
            // Friis at 2437 MHz (channel 6) and 5180 MHz (channel 36): 20 log10(4 pi d f / c).
            reference_loss_db: match band {
                Band::Ghz2_4 => 40.18,
                Band::Ghz5 => 46.73,
            },
            breakpoint: None,
            shadowing_db: 0.0,
            distance_m,
        }
    }

    /// [`PathLoss::indoors`] with the distances and exponents of a channel model of 802.11n, without its shadowing.
    #[must_use]
    pub fn tgn(model: Tgn, band: Band, distance_m: PerPair) -> PathLoss {
        PathLoss {
            exponent: 2.0,
            breakpoint: Some(model.breakpoint()),
            ..PathLoss::indoors(band, distance_m)
        }
    }

    /// Mean loss over a distance, dB, without shadowing.
    #[must_use]
    pub fn loss_db(&self, distance_m: f64) -> f64 {
        let slope_db = |exponent: f64, ratio: f64| 10.0 * exponent * libm::log10(ratio.max(1.0));
        let (near_m, beyond_db) = match self.breakpoint {
            None => (distance_m, 0.0),
            Some(Breakpoint {
                distance_m: at_m,
                exponent,
            }) => (distance_m.min(at_m), slope_db(exponent, distance_m / at_m)),
        };
        self.reference_loss_db + slope_db(self.exponent, near_m / self.reference_distance_m) + beyond_db
    }

    fn check(&self, stations: usize) -> Result<(), ChannelError> {
        let finite = "a finite number";
        let not_negative = "0 or more";
        let positive = "above 0";
        let breakpoint = self.breakpoint.unwrap_or(Breakpoint {
            distance_m: self.reference_distance_m,
            exponent: 0.0,
        });
        for (what, value, must, allowed) in [
            (
                "the transmit power in dBm",
                self.tx_power_dbm,
                finite,
                self.tx_power_dbm.is_finite(),
            ),
            (
                "the noise figure in dB",
                self.noise_figure_db,
                not_negative,
                self.noise_figure_db >= 0.0,
            ),
            (
                "the path-loss exponent",
                self.exponent,
                not_negative,
                self.exponent >= 0.0,
            ),
            (
                "the reference distance in m",
                self.reference_distance_m,
                positive,
                self.reference_distance_m > 0.0,
            ),
            (
                "the loss at the reference distance in dB",
                self.reference_loss_db,
                finite,
                self.reference_loss_db.is_finite(),
            ),
            (
                "the standard deviation of the shadowing in dB",
                self.shadowing_db,
                not_negative,
                self.shadowing_db >= 0.0,
            ),
            (
                "the distance of the breakpoint in m",
                breakpoint.distance_m,
                "at least the reference distance",
                breakpoint.distance_m >= self.reference_distance_m,
            ),
            (
                "the path-loss exponent beyond the breakpoint",
                breakpoint.exponent,
                not_negative,
                breakpoint.exponent >= 0.0,
            ),
        ] {
            if !allowed || !value.is_finite() {
                return Err(ChannelError::Parameter { what, value, must });
            }
        }
        let allowed = |metres: f64| metres.is_finite() && metres >= 0.0;
        self.distance_m
            .check(stations, "distance in m", not_negative, allowed)?;
        for (from, to) in ordered_pairs(stations) {
            let (there, back) = (self.distance_m.get(from, to), self.distance_m.get(to, from));
            #[allow(clippy::float_cmp)] // both come from the configuration
            if there != back {
                return Err(ChannelError::Asymmetric {
                    from,
                    to,
                    there,
                    back,
                });
            }
        }
        Ok(())
    }
}

/// The source of the mean SNR of each pair of stations.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Snr {
    /// Configured in dB, independent of the bandwidth. Infinity means no noise, minus infinity no signal.
    Db(PerPair),
    /// Computed from transmit power, path loss and noise floor: 3 dB less for twice the bandwidth.
    PathLoss(PathLoss),
}

/// Fast changes of the received power: flat over the channel, one independent draw per pair and block of
/// coherence time, mean gain 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fading {
    /// No fading.
    None,
    /// Many paths without a dominant path.
    Rayleigh {
        /// Duration of a block.
        coherence_time: Nanos,
    },
    /// Many paths with a dominant path.
    Rician {
        /// Power of the dominant path relative to the sum of all other paths, dB.
        k_factor_db: f64,
        /// Duration of a block.
        coherence_time: Nanos,
    },
}

impl Fading {
    /// Linear power gain of a pair at the instant `at`.
    fn gain(&self, seed: u64, pair: (usize, usize), at: Nanos) -> f64 {
        let draws = |coherence_time: Nanos| Draws::of(seed, Purpose::Fading, pair, at.0 / coherence_time.0);
        match *self {
            Fading::None => 1.0,
            Fading::Rayleigh { coherence_time } => draws(coherence_time).exponential(),
            Fading::Rician {
                k_factor_db,
                coherence_time,
            } => {
                let k = libm::pow(10.0, k_factor_db / 10.0);
                let scattered = (0.5 / (k + 1.0)).sqrt();
                let (x, y) = draws(coherence_time).normals();
                let (in_phase, quadrature) = ((k / (k + 1.0)).sqrt() + scattered * x, scattered * y);
                in_phase * in_phase + quadrature * quadrature
            }
        }
    }

    fn check(&self) -> Result<(), ChannelError> {
        let coherence_time = match *self {
            Fading::None => return Ok(()),
            Fading::Rayleigh { coherence_time } => coherence_time,
            Fading::Rician {
                k_factor_db,
                coherence_time,
            } => {
                // These bounds keep the linear factor finite: 100 dB is a constant channel, -100 dB a Rayleigh
                // channel.
                if !(-100.0..=100.0).contains(&k_factor_db) {
                    return Err(ChannelError::Parameter {
                        what: "the Rician K factor in dB",
                        value: k_factor_db,
                        must: "from -100 to 100",
                    });
                }
                coherence_time
            }
        };
        if coherence_time == Nanos::ZERO {
            return Err(ChannelError::CoherenceTime);
        }
        Ok(())
    }
}

/// The configuration of a [`Channel`].
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelConfig {
    /// Stations, numbered from 0.
    pub stations: usize,
    /// Mean SNR of each pair.
    pub snr: Snr,
    /// Fading around the mean.
    pub fading: Fading,
    /// The model of bit errors.
    pub error_model: ErrorModel,
    /// Seed of shadowing and fading.
    pub seed: u64,
}

impl ChannelConfig {
    /// A channel without noise.
    #[must_use]
    pub fn ideal(stations: usize) -> ChannelConfig {
        ChannelConfig {
            stations,
            snr: Snr::Db(PerPair::Same(f64::INFINITY)),
            fading: Fading::None,
            error_model: ErrorModel::None,
            seed: 0,
        }
    }
}

/// The quantity of the channel's means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mean {
    Snr,
    Power,
}

/// The channel between all pairs of stations, as a function of time.
///
/// The methods panic if a station is not in the configuration.
#[derive(Clone, Debug)]
pub struct Channel {
    stations: usize,
    /// SNR in dB or received power in dBm of each ordered pair, row by row.
    means: Vec<f64>,
    mean: Mean,
    noise_figure_db: f64,
    fading: Fading,
    error_model: ErrorModel,
    seed: u64,
}

impl Channel {
    /// Creates a channel and draws its shadowing.
    ///
    /// # Errors
    /// [`ChannelError`] if a matrix has the wrong size, a value is NaN or out of range (such as a negative
    /// distance), distances differ between the two directions, or the coherence time is 0.
    pub fn new(config: &ChannelConfig) -> Result<Channel, ChannelError> {
        let stations = config.stations;
        config.fading.check()?;
        let (mean, noise_figure_db, of_pair): (_, _, Box<dyn Fn(usize, usize) -> f64>) = match &config.snr {
            Snr::Db(snr_db) => {
                snr_db.check(stations, "SNR in dB", "a number", |db| !db.is_nan())?;
                let of_pair = |from, to| snr_db.get(from, to);
                (Mean::Snr, NOISE_FIGURE_DB, Box::new(of_pair))
            }
            Snr::PathLoss(loss) => {
                loss.check(stations)?;
                let of_pair = |from, to| {
                    let (normal, _) = Draws::of(config.seed, Purpose::Shadowing, (from, to), 0).normals();
                    loss.tx_power_dbm
                        - loss.loss_db(loss.distance_m.get(from, to))
                        - loss.shadowing_db * normal
                };
                (Mean::Power, loss.noise_figure_db, Box::new(of_pair))
            }
        };
        let mut means = vec![f64::INFINITY; stations * stations];
        for (from, to) in ordered_pairs(stations) {
            means[from * stations + to] = of_pair(from, to);
        }
        Ok(Channel {
            stations,
            means,
            mean,
            noise_figure_db,
            fading: config.fading,
            error_model: config.error_model,
            seed: config.seed,
        })
    }

    /// Number of stations.
    #[must_use]
    pub fn stations(&self) -> usize {
        self.stations
    }

    /// SNR in dB of a signal of width `bandwidth_mhz` that starts at `at`. The fading at that instant applies
    /// to the whole PPDU.
    #[must_use]
    pub fn snr_db(&self, from: usize, to: usize, bandwidth_mhz: u16, at: Nanos) -> f64 {
        let faded = self.faded(from, to, at);
        match self.mean {
            Mean::Snr => faded,
            Mean::Power => faded - self.noise_dbm(bandwidth_mhz),
        }
    }

    /// The signal of a PPDU of width `bandwidth_mhz` that starts at `at`. If the SNR is configured, its power is that
    /// SNR above the noise floor with [`NOISE_FIGURE_DB`].
    #[must_use]
    pub fn signal(&self, from: usize, to: usize, bandwidth_mhz: u16, at: Nanos) -> Signal {
        Signal {
            snr_db: self.snr_db(from, to, bandwidth_mhz, at),
            noise_dbm: self.noise_dbm(bandwidth_mhz),
        }
    }

    fn noise_dbm(&self, bandwidth_mhz: u16) -> f64 {
        noise_floor_dbm(bandwidth_mhz, self.noise_figure_db)
    }

    /// [`ErrorModel::mpdu_success`] at the SNR of a PPDU that starts at `at`.
    #[must_use]
    pub fn mpdu_success(&self, from: usize, to: usize, mode: &Mode, at: Nanos, len_b: usize) -> f64 {
        if self.error_model == ErrorModel::None {
            return 1.0;
        }
        let snr_db = self.snr_db(from, to, mode.bandwidth_mhz(), at);
        self.error_model.mpdu_success(mode, snr_db, len_b)
    }

    /// [`ErrorModel::header_success`] at the SNR of a PPDU that starts at `at`.
    #[must_use]
    pub fn header_success(&self, from: usize, to: usize, mode: &Mode, at: Nanos) -> f64 {
        if self.error_model == ErrorModel::None {
            return 1.0;
        }
        let snr_db = self.snr_db(from, to, mode.bandwidth_mhz(), at);
        self.error_model.header_success(mode, snr_db)
    }

    /// The model of bit errors.
    #[must_use]
    pub fn error_model(&self) -> ErrorModel {
        self.error_model
    }

    fn faded(&self, from: usize, to: usize, at: Nanos) -> f64 {
        assert!(
            from < self.stations && to < self.stations,
            "stations {from} and {to} of {}",
            self.stations
        );
        let mean = self.means[from * self.stations + to];
        match self.fading {
            Fading::None => mean,
            _ => mean + 10.0 * libm::log10(self.fading.gain(self.seed, (from, to), at)),
        }
    }
}

/// Noise power at a receiver, dBm: -174 dBm/Hz over the bandwidth, plus the noise figure.
#[must_use]
pub fn noise_floor_dbm(bandwidth_mhz: u16, noise_figure_db: f64) -> f64 {
    THERMAL_NOISE_DBM_HZ + 10.0 * libm::log10(f64::from(bandwidth_mhz) * 1e6) + noise_figure_db
}

#[cfg(test)]
mod tests;
