//! The rule by which a load has reached the capacity of the link (draft-ietf-ippm-responsiveness, final algorithm).

/// Intervals of a moving average, and number of moving averages that are compared (MAD).
const AVERAGED: usize = 4;

/// Largest standard deviation of the moving averages, over the last of them (SDT).
const DEVIATION_MAX: f64 = 0.05;

/// The throughput of the load in consecutive intervals of equal length.
#[derive(Debug, Default)]
pub struct Saturation {
    per_interval: Vec<f64>,
}

impl Saturation {
    /// Adds the octets of an interval. Returns whether the moving averages are stable.
    pub fn add(&mut self, octets: u64) -> bool {
        #[expect(
            clippy::cast_precision_loss,
            reason = "octets of an interval are far below 2^53"
        )]
        self.per_interval.push(octets as f64);
        let averages: Vec<f64> = self.per_interval.windows(AVERAGED).map(mean).collect();
        let Some(last) = averages.len().checked_sub(AVERAGED).map(|at| &averages[at..]) else {
            return false;
        };
        let middle = mean(last);
        let squares: Vec<f64> = last.iter().map(|average| (average - middle).powi(2)).collect();
        let current = last[AVERAGED - 1];
        current > 0.0 && mean(&squares).sqrt() < DEVIATION_MAX * current
    }
}

fn mean(values: &[f64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few values")]
    let count = values.len() as f64;
    values.iter().sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached_after(octets: impl IntoIterator<Item = u64>) -> Option<usize> {
        let mut saturation = Saturation::default();
        octets.into_iter().position(|octets| saturation.add(octets))
    }

    #[test]
    fn a_constant_load_is_stable_after_four_moving_averages_of_four_intervals() {
        assert_eq!(reached_after([1_000; 20]), Some(6));
    }

    #[test]
    fn a_load_that_grows_is_not_stable_until_it_stops_growing() {
        let growing = (1..=10).map(|step| step * 1_000);
        assert_eq!(reached_after(growing.clone()), None);
        let reached = reached_after(growing.chain([10_000; 10])).unwrap();
        assert!((11..16).contains(&reached), "{reached}");
    }

    #[test]
    fn a_link_that_carries_nothing_is_never_saturated() {
        assert_eq!(reached_after([0; 20]), None);
    }
}
