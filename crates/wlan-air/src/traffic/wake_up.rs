//! The time until a program runs that waited.

use super::Draws;
use crate::Nanos;

/// The distribution of the time from an event to the moment at which the program runs that waited for the event. The
/// times are independent of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WakeUp {
    /// Programs run at once.
    Instant,
    /// An exponential distribution.
    Exponential {
        /// Mean, which is also the standard deviation.
        mean: Nanos,
    },
    /// A lognormal distribution: the logarithm of the time has a normal distribution.
    Lognormal {
        /// Mean of the time.
        mean: Nanos,
        /// Standard deviation of the time.
        deviation: Nanos,
    },
}

impl WakeUp {
    /// The time until a program runs.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // times of a host, far below 2^53 ns
    pub(crate) fn draw(self, draws: &mut Draws) -> Nanos {
        match self {
            WakeUp::Instant
            | WakeUp::Lognormal {
                mean: Nanos::ZERO, ..
            } => Nanos::ZERO,
            WakeUp::Exponential { mean } => Nanos(draws.exponential(mean.0 as f64)),
            WakeUp::Lognormal { mean, deviation } => {
                let spread = deviation.0 as f64 / mean.0 as f64;
                let variance_of_log = libm::log1p(spread * spread);
                let mean_of_log = libm::log(mean.0 as f64) - variance_of_log / 2.0;
                let log_ns = mean_of_log + variance_of_log.sqrt() * draws.normal();
                Nanos(libm::round(libm::exp(log_ns)) as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation of 200 000 draws, in us.
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    fn moments_us(wake_up: WakeUp) -> (f64, f64) {
        let mut draws = Draws::new(1);
        let times_us: Vec<f64> = (0..200_000)
            .map(|_| wake_up.draw(&mut draws).0 as f64 / 1e3)
            .collect();
        let count = times_us.len() as f64;
        let mean = times_us.iter().sum::<f64>() / count;
        let variance = times_us.iter().map(|us| (us - mean).powi(2)).sum::<f64>() / count;
        (mean, variance.sqrt())
    }

    #[test]
    fn draws_have_the_mean_and_the_deviation_of_the_distribution() {
        let us = Nanos::from_us;
        for (wake_up, mean_us, deviation_us) in [
            (WakeUp::Instant, 0.0, 0.0),
            (WakeUp::Exponential { mean: us(60) }, 60.0, 60.0),
            (
                WakeUp::Lognormal {
                    mean: us(60),
                    deviation: us(40),
                },
                60.0,
                40.0,
            ),
            (
                WakeUp::Lognormal {
                    mean: us(60),
                    deviation: Nanos::ZERO,
                },
                60.0,
                0.0,
            ),
        ] {
            let (mean, deviation) = moments_us(wake_up);
            assert!((mean - mean_us).abs() <= 0.01 * mean_us, "{wake_up:?}: {mean}");
            assert!(
                (deviation - deviation_us).abs() <= 0.02 * deviation_us + 0.001,
                "{wake_up:?}: {deviation}"
            );
        }
    }
}
