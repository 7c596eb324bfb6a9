//! Random numbers that are functions of a key. Without state, a caller may query any instant in any order.

use std::f64::consts::PI;

/// The purpose of a draw; draws for different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Shadowing = 1,
    Fading = 2,
}

/// `SplitMix64` (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", 2014):
/// the algorithm defines the numbers, so they do not depend on a crate's version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws(u64);

impl Draws {
    /// The numbers of a pair of stations in one block of time, equal in both directions.
    pub(super) fn of(seed: u64, purpose: Purpose, pair: (usize, usize), block: u64) -> Draws {
        let (low, high) = (pair.0.min(pair.1), pair.0.max(pair.1));
        let words = [purpose as u64, low as u64, high as u64, block];
        words.into_iter().fold(Draws(seed), |mut draws, word| {
            let mixed = draws.next();
            Draws(mixed ^ word)
        })
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform on (0, 1], in steps of 2^-53.
    #[allow(clippy::cast_precision_loss)] // 53 bits fit
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Exponential with mean 1: the power of a Rayleigh-distributed amplitude.
    pub(super) fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }

    /// Two independent standard normal numbers (Box-Muller).
    pub(super) fn normals(&mut self) -> (f64, f64) {
        let radius = (2.0 * self.exponential()).sqrt();
        let angle = 2.0 * PI * self.uniform();
        (radius * libm::cos(angle), radius * libm::sin(angle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the authors' splitmix64.c from the state 1234567.
    #[test]
    fn numbers_are_those_of_splitmix64() {
        let mut draws = Draws(1_234_567);
        let first = [(); 3].map(|()| draws.next());
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn keys_that_differ_in_one_word_give_unrelated_numbers() {
        let base = Draws::of(1, Purpose::Fading, (0, 1), 7).next();
        assert_eq!(base, Draws::of(1, Purpose::Fading, (1, 0), 7).next());
        for other in [
            Draws::of(2, Purpose::Fading, (0, 1), 7),
            Draws::of(1, Purpose::Shadowing, (0, 1), 7),
            Draws::of(1, Purpose::Fading, (0, 2), 7),
            Draws::of(1, Purpose::Fading, (0, 1), 8),
        ] {
            let differing = (base ^ { other }.next()).count_ones();
            assert!((16..=48).contains(&differing), "{differing} of 64 bits differ");
        }
    }
}
