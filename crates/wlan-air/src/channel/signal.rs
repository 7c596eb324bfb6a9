//! Received signals: their power above the noise, and counts of PPDUs by these values.

use std::collections::BTreeMap;

/// The signal of a PPDU at a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// Power of the signal above the noise, dB.
    pub snr_db: f64,
    /// Noise over the width of the PPDU, dBm.
    pub noise_dbm: f64,
}

impl Signal {
    /// Received power, dBm (RSSI).
    #[must_use]
    pub fn power_dbm(&self) -> f64 {
        self.noise_dbm + self.snr_db
    }
}

/// PPDUs that a station received, counted by SNR, power and noise in steps of 0.01 dB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignalCounts {
    snr: Steps,
    power: Steps,
    noise: Steps,
}

/// PPDUs by a value in hundredths.
type Steps = BTreeMap<i32, u64>;

impl SignalCounts {
    /// Counts a PPDU.
    pub fn record(&mut self, signal: Signal) {
        for (steps, value) in [
            (&mut self.snr, signal.snr_db),
            (&mut self.power, signal.power_dbm()),
            (&mut self.noise, signal.noise_dbm),
        ] {
            #[allow(clippy::cast_possible_truncation)] // the cast saturates, also at an infinite SNR
            let step = libm::round(100.0 * value) as i32;
            *steps.entry(step).or_default() += 1;
        }
    }

    /// Whether no PPDU was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.snr.is_empty()
    }

    /// PPDUs by SNR in dB, in ascending order.
    pub fn by_snr_db(&self) -> impl Iterator<Item = (f64, u64)> {
        by_value(&self.snr)
    }

    /// PPDUs by received power in dBm, in ascending order.
    pub fn by_power_dbm(&self) -> impl Iterator<Item = (f64, u64)> {
        by_value(&self.power)
    }

    /// PPDUs by noise in dBm, in ascending order.
    pub fn by_noise_dbm(&self) -> impl Iterator<Item = (f64, u64)> {
        by_value(&self.noise)
    }
}

fn by_value(steps: &Steps) -> impl Iterator<Item = (f64, u64)> {
    steps
        .iter()
        .map(|(&step, &count)| (f64::from(step) / 100.0, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ppdus_are_counted_by_the_values_of_their_signal() {
        let mut counts = SignalCounts::default();
        assert!(counts.is_empty());
        for snr_db in [40.0, 21.46, 40.0] {
            counts.record(Signal {
                snr_db,
                noise_dbm: -93.99,
            });
        }
        assert_eq!(counts.by_snr_db().collect::<Vec<_>>(), [(21.46, 1), (40.0, 2)]);
        assert_eq!(
            counts.by_power_dbm().collect::<Vec<_>>(),
            [(-72.53, 1), (-53.99, 2)]
        );
        assert_eq!(counts.by_noise_dbm().collect::<Vec<_>>(), [(-93.99, 3)]);
    }
}
