//! Bit errors in white noise: the error models of ns-3, from the original publications.
//!
//! - NIST: L. E. Miller, "Validation of 802.11a/UWB Coexistence Simulation", NIST 2003; G. Pei and T. R.
//!   Henderson, "Validation of OFDM error rate model in ns-3", 2010. Bit error rate of each subcarrier, then
//!   the union bound of hard-decision Viterbi decoding with ten terms of the distance spectrum (D. Haccoun and
//!   G. Begin, "High-rate punctured convolutional codes for Viterbi and sequential decoding", 1989).
//! - YANS: M. Lacage and T. R. Henderson, "Yet Another Network Simulator", WNS2 2006. Bit error rate from
//!   Eb/N0 over the whole channel, then one or two terms of the bound. The required SNR is about 3 to 7 dB
//!   lower than with NIST.
//! - DSSS, equal in both models: the exact result for DBPSK; for DQPSK, G. Ferrari and G. E. Corazza, "Tight
//!   bounds and accurate approximations for DQPSK transmission bit error rate", 2004; for CCK, M. B. Pursley
//!   and T. C. Royster, "Properties and performance of the IEEE 802.11b complementary-code-key signal sets",
//!   2009.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

use crate::phy::{CodeRate, Mode, Modulation, Preamble};

/// Bandwidth that the SNR of DSSS refers to (15.4.5.5), which contains the noise of one 11 Mchip/s signal,
/// MHz.
const DSSS_MHZ: f64 = 22.0;
/// CCK code words per second, in millions: 8 chips of 11 Mchip/s (clause 16).
const CCK_MWORDS: f64 = 1.375;

/// The probability that a receiver decodes an MPDU or a PHY header, given the SNR at its antenna.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorModel {
    /// No errors at any SNR.
    None,
    /// Miller's model, the default of ns-3; it agrees with measured OFDM links.
    Nist,
    /// The model of the YANS simulator.
    Yans,
}

impl ErrorModel {
    /// Probability that all `len_b` octets of an MPDU are correct, given that the PHY header was decoded.
    ///
    /// `snr_db` is the SNR over the bandwidth of the mode's channel (22 MHz for DSSS), with white noise. With
    /// several spatial streams, each stream has this SNR in the NIST model; YANS divides the energy among the
    /// streams.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // MPDUs are shorter than 2^50 octets
    pub fn mpdu_success(self, mode: &Mode, snr_db: f64, len_b: usize) -> f64 {
        let bits = 8.0 * len_b as f64;
        let (modulation, code_rate) = (mode.modulation(), mode.code_rate());
        let coded_bit_snr = f64::from(mode.bandwidth_mhz()) / mode.coded_mbps();
        self.success(modulation, code_rate, linear(snr_db), coded_bit_snr, bits)
    }

    /// Probability that the PHY header is decoded, without which the whole PPDU is lost. DSSS: 48 bits at 1
    /// Mbit/s, or at 2 Mbit/s with the short preamble. OFDM: SIGNAL, and the additional SIG fields of HT and
    /// VHT.
    ///
    /// The model assumes that the receiver always detects the preamble, because the preamble carries far more
    /// energy.
    #[must_use]
    pub fn header_success(self, mode: &Mode, snr_db: f64) -> f64 {
        let (modulation, code_rate) = match mode.dsss_preamble() {
            Some(Preamble::Long) => (Modulation::Dbpsk, CodeRate::Uncoded),
            Some(Preamble::Short) => (Modulation::Dqpsk, CodeRate::Uncoded),
            None => (Modulation::Bpsk, CodeRate::Half),
        };
        // The header is repeated in each 20 MHz, with 12 Mbit/s of coded bits.
        self.success(
            modulation,
            code_rate,
            linear(snr_db),
            20.0 / 12.0,
            f64::from(mode.header_bits()),
        )
    }

    /// `coded_bit_snr`: Eb/N0 of a coded bit at an SNR of 1, used by YANS.
    fn success(
        self,
        modulation: Modulation,
        code_rate: CodeRate,
        snr: f64,
        coded_bit_snr: f64,
        bits: f64,
    ) -> f64 {
        if self == ErrorModel::None {
            return 1.0;
        }
        let bit_error = match modulation {
            Modulation::Dbpsk => 0.5 * libm::exp(-snr * DSSS_MHZ),
            Modulation::Dqpsk => dqpsk_bit_error(snr * DSSS_MHZ / 2.0),
            Modulation::Cck5_5 => {
                let word_snr = snr * DSSS_MHZ / CCK_MWORDS;
                return libm::pow(biorthogonal_16_success(word_snr / 2.0), bits / 4.0);
            }
            // Each of two words of 16 gets half of the energy: the 8 bits are correct if both words are
            // correct.
            Modulation::Cck11 => {
                let word_snr = snr * DSSS_MHZ / CCK_MWORDS;
                return libm::pow(biorthogonal_16_success(word_snr / 4.0), bits / 4.0);
            }
            _ if self == ErrorModel::Nist => nist_bit_error(modulation, code_rate, snr),
            _ => yans_bit_error(modulation, code_rate, snr * coded_bit_snr),
        };
        libm::pow(1.0 - bit_error.clamp(0.0, 1.0), bits)
    }
}

fn linear(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

/// Points of a constellation.
fn points(modulation: Modulation) -> f64 {
    match modulation {
        Modulation::Dbpsk | Modulation::Bpsk => 2.0,
        Modulation::Dqpsk | Modulation::Qpsk => 4.0,
        Modulation::Cck5_5 | Modulation::Qam16 => 16.0,
        Modulation::Qam64 => 64.0,
        Modulation::Cck11 | Modulation::Qam256 => 256.0,
    }
}

/// Ferrari and Corazza's approximation.
fn dqpsk_bit_error(eb_n0: f64) -> f64 {
    let error = (SQRT_2 + 1.0) / (8.0 * PI * SQRT_2 * eb_n0).sqrt() * libm::exp(-(2.0 - SQRT_2) * eb_n0);
    error.min(0.5)
}

/// Probability that one of 16 biorthogonal words is decoded: the integral over x > -beta of (2 P(x + beta) -
/// 1)^7 times the normal density, where P is the normal distribution and beta = sqrt(2 `snr`).
fn biorthogonal_16_success(snr: f64) -> f64 {
    /// Above this many standard deviations, the density is below 10^-17.
    const TAIL: f64 = 8.75;
    const STEPS: u32 = 96;
    let beta = (2.0 * snr).sqrt();
    let from = (-beta).max(-TAIL);
    let step = (TAIL - from) / f64::from(STEPS);
    // The trapezoidal rule. The integrand and its first six derivatives vanish at both ends, so the error is
    // below 10^-12.
    let sum: f64 = (1..STEPS)
        .map(|n| {
            let x = from + step * f64::from(n);
            let inside = libm::erf((x + beta) * FRAC_1_SQRT_2);
            let cube = inside * inside * inside;
            cube * cube * inside * libm::exp(-0.5 * x * x)
        })
        .sum();
    (sum * step / (2.0 * PI).sqrt()).min(1.0)
}

/// The first distance of a code's spectrum, the step between distances, the information weights, and the
/// number of information bits per weight (Haccoun and Begin; the code of 17.3.5.6 with its puncturing).
type Spectrum = (u32, u32, &'static [f64], f64);

const HALF: Spectrum = (
    10,
    2,
    &[
        36.0,
        211.0,
        1_404.0,
        11_633.0,
        77_433.0,
        502_690.0,
        3_322_763.0,
        21_292_910.0,
        134_365_911.0,
    ],
    1.0,
);
const TWO_THIRDS: Spectrum = (
    6,
    1,
    &[
        3.0,
        70.0,
        285.0,
        1_276.0,
        6_160.0,
        27_128.0,
        117_019.0,
        498_860.0,
        2_103_891.0,
        8_784_123.0,
    ],
    2.0,
);
const THREE_QUARTERS: Spectrum = (
    5,
    1,
    &[
        42.0,
        201.0,
        1_492.0,
        10_469.0,
        62_935.0,
        379_644.0,
        2_253_373.0,
        13_073_811.0,
        75_152_755.0,
        428_005_675.0,
    ],
    3.0,
);
const FIVE_SIXTHS: Spectrum = (
    4,
    1,
    &[
        92.0,
        528.0,
        8_694.0,
        79_453.0,
        792_114.0,
        7_375_573.0,
        67_884_974.0,
        610_875_423.0,
        5_427_275_376.0,
        47_664_215_639.0,
    ],
    5.0,
);

/// Bit error rate after decoding: the union bound, with Chernoff's bound for each term.
fn nist_bit_error(modulation: Modulation, code_rate: CodeRate, snr: f64) -> f64 {
    let m = points(modulation);
    let raw = match modulation {
        Modulation::Bpsk => 0.5 * libm::erfc(snr.sqrt()),
        // QAM with Gray labels, nearest neighbours only; 4 points are QPSK.
        _ => {
            let side = m.sqrt();
            let errors = (side - 1.0) / (side * libm::log2(side));
            errors * libm::erfc((1.5 * snr / (m - 1.0)).sqrt())
        }
    };
    let (first, distance_step, weights, bits) = match code_rate {
        CodeRate::Uncoded => return raw,
        CodeRate::Half => HALF,
        CodeRate::TwoThirds => TWO_THIRDS,
        CodeRate::ThreeQuarters => THREE_QUARTERS,
        CodeRate::FiveSixths => FIVE_SIXTHS,
    };
    let d = (4.0 * raw * (1.0 - raw)).sqrt();
    let ratio = power(d, distance_step);
    // Horner's rule for the terms after the first distance.
    let terms = weights.iter().rev().fold(0.0, |sum, weight| sum * ratio + weight);
    0.5 * terms * power(d, first) / bits
}

/// Bit error rate after decoding: the probability of first error events and, for QAM, of second error events.
fn yans_bit_error(modulation: Modulation, code_rate: CodeRate, eb_n0: f64) -> f64 {
    let m = points(modulation);
    let raw = match modulation {
        Modulation::Bpsk => 0.5 * libm::erfc(eb_n0.sqrt()),
        _ => {
            let z = (1.5 * libm::log2(m) * eb_n0 / (m - 1.0)).sqrt();
            let axis = (1.0 - 1.0 / m.sqrt()) * libm::erfc(z);
            (1.0 - (1.0 - axis) * (1.0 - axis)) / libm::log2(m)
        }
    };
    // Free distance of the code, and the number of paths at this distance and at the next (the paper's table;
    // for BPSK only the first distance, with 8 paths at 3/4).
    let (distance, first, second) = match (modulation, code_rate) {
        (_, CodeRate::Uncoded) => return raw,
        (_, CodeRate::Half) => (10, 11.0, 0.0),
        (_, CodeRate::TwoThirds) => (6, 1.0, 16.0),
        (Modulation::Bpsk, CodeRate::ThreeQuarters) => (5, 8.0, 0.0),
        (_, CodeRate::ThreeQuarters) => (5, 8.0, 31.0),
        (_, CodeRate::FiveSixths) => (4, 14.0, 69.0),
    };
    first * wrong_path(raw, distance) + second * wrong_path(raw, distance + 1)
}

/// Probability that a hard-decision decoder prefers a path that differs in `distance` bits: more than half of
/// these bits are wrong, or exactly half of them in one of two cases.
fn wrong_path(bit_error: f64, distance: u32) -> f64 {
    let mut choices = 1.0;
    let mut sum = 0.0;
    for errors in 0..=distance {
        let term = choices * power(bit_error, errors) * power(1.0 - bit_error, distance - errors);
        if 2 * errors > distance {
            sum += term;
        } else if 2 * errors == distance {
            sum += 0.5 * term;
        }
        choices = choices * f64::from(distance - errors) / f64::from(errors + 1);
    }
    sum
}

/// `base` to a small power, by multiplication only: the result of std's powi depends on the platform.
fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Band, GuardInterval};
    use proptest::prelude::*;

    fn any_mode() -> impl Strategy<Value = Mode> {
        let dsss = prop::sample::select(&[1_000, 2_000, 5_500, 11_000][..])
            .prop_map(|kbps| Mode::dsss(kbps, Preamble::Long).unwrap());
        let erp = prop::sample::select(&[6, 9, 12, 18, 24, 36, 48, 54][..])
            .prop_map(|mbps| Mode::erp(mbps).unwrap());
        let ht = (0..32u8).prop_map(|mcs| Mode::ht(mcs, 40, GuardInterval::Short, Band::Ghz5).unwrap());
        let vht = (0..10u8, prop::sample::select(&[1, 2, 4, 8][..]))
            .prop_map(|(mcs, streams)| Mode::vht(mcs, streams, 80, GuardInterval::Long).unwrap());
        prop_oneof![dsss, erp, ht, vht]
    }

    fn any_model() -> impl Strategy<Value = ErrorModel> {
        prop::sample::select(&[ErrorModel::Nist, ErrorModel::Yans][..])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn success_is_a_probability_that_grows_with_the_snr_and_falls_with_the_length(
            mode in any_mode(), model in any_model(), snr_db in -30.0..60.0f64, len_b in 1..4_000usize,
        ) {
            let success = model.mpdu_success(&mode, snr_db, len_b);
            prop_assert!((0.0..=1.0).contains(&success));
            prop_assert!(model.mpdu_success(&mode, snr_db + 0.5, len_b) >= success - 1e-12);
            prop_assert!(model.mpdu_success(&mode, snr_db, len_b + 50) <= success + 1e-12);
            let header = model.header_success(&mode, snr_db);
            prop_assert!((0.0..=1.0).contains(&header));
            prop_assert!(model.header_success(&mode, snr_db + 0.5) >= header - 1e-12);
        }

        /// Bit errors are independent, so two halves are as likely to arrive as the whole.
        #[test]
        fn two_halves_arrive_with_the_probability_of_the_whole(
            mode in any_mode(), model in any_model(), snr_db in -10.0..40.0f64, len_b in 1..2_000usize,
        ) {
            let half = model.mpdu_success(&mode, snr_db, len_b);
            let whole = model.mpdu_success(&mode, snr_db, 2 * len_b);
            prop_assert!((half * half - whole).abs() < 1e-12);
        }
    }

    #[test]
    fn extreme_snrs_give_certainty() {
        for model in [ErrorModel::Nist, ErrorModel::Yans] {
            for mode in [
                Mode::dsss(1_000, Preamble::Long),
                Mode::dsss(2_000, Preamble::Short),
                Mode::dsss(5_500, Preamble::Long),
                Mode::dsss(11_000, Preamble::Short),
                Mode::ofdm(54),
                Mode::vht(9, 2, 80, GuardInterval::Short),
            ]
            .map(Result::unwrap)
            {
                assert!(
                    model.mpdu_success(&mode, f64::INFINITY, 1_500) > 1.0 - 1e-9,
                    "{mode}"
                );
                assert!(
                    model.mpdu_success(&mode, f64::NEG_INFINITY, 1_500) < 1e-100,
                    "{mode}"
                );
                assert!(model.header_success(&mode, f64::INFINITY) > 1.0 - 1e-9, "{mode}");
                assert!(model.header_success(&mode, f64::NEG_INFINITY) < 1e-9, "{mode}");
            }
        }
    }

    #[test]
    fn without_an_error_model_noise_loses_no_frame() {
        let mode = Mode::ofdm(54).unwrap();
        assert_eq!(ErrorModel::None.mpdu_success(&mode, -50.0, 1_500), 1.0);
        assert_eq!(ErrorModel::None.header_success(&mode, -50.0), 1.0);
    }

    /// The header is BPSK 1/2 for all data rates: 24 bits with OFDM, like three octets at 6 Mbit/s; 101 bits
    /// with VHT at 80 MHz.
    #[test]
    fn headers_are_as_robust_as_their_lowest_rate() {
        let six = Mode::ofdm(6).unwrap();
        for model in [ErrorModel::Nist, ErrorModel::Yans] {
            for snr_db in [-3.0, -1.0, 0.0, 1.5] {
                let three_octets = model.mpdu_success(&six, snr_db, 3);
                let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
                assert!(close(
                    model.header_success(&Mode::erp(54).unwrap(), snr_db),
                    three_octets
                ));
                let ht = Mode::ht(31, 40, GuardInterval::Short, Band::Ghz2_4).unwrap();
                assert!(close(
                    model.header_success(&ht, snr_db),
                    libm::pow(three_octets, 3.0)
                ));
                let vht = Mode::vht(9, 8, 80, GuardInterval::Short).unwrap();
                let bits = libm::pow(three_octets, 101.0 / 24.0);
                assert!(close(model.header_success(&vht, snr_db), bits));
            }
        }
        let eleven = Mode::dsss(11_000, Preamble::Long).unwrap();
        let one = Mode::dsss(1_000, Preamble::Long).unwrap();
        let model = ErrorModel::Nist;
        assert_eq!(
            model.header_success(&eleven, -5.0),
            model.mpdu_success(&one, -5.0, 6)
        );
    }
}
