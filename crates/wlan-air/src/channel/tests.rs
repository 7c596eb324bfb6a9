use super::*;
use crate::phy::{GuardInterval, Preamble};

const MS: Nanos = Nanos::from_ms(1);

fn given(stations: usize, snr_db: PerPair, fading: Fading) -> ChannelConfig {
    ChannelConfig {
        stations,
        snr: Snr::Db(snr_db),
        fading,
        error_model: ErrorModel::Nist,
        seed: 1,
    }
}

fn spaced(stations: usize, metres: f64, shadowing_db: f64) -> ChannelConfig {
    let loss = PathLoss {
        shadowing_db,
        ..PathLoss::indoors(Band::Ghz5, PerPair::Same(metres))
    };
    ChannelConfig {
        snr: Snr::PathLoss(loss),
        ..given(stations, PerPair::Same(0.0), Fading::None)
    }
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = f64::from(u32::try_from(values.len()).unwrap());
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

/// Power gains of a pair in the first 20 000 blocks.
fn gains(fading: Fading, seed: u64, pair: (usize, usize)) -> Vec<f64> {
    (0..20_000).map(|ms| fading.gain(seed, pair, MS * ms)).collect()
}

/// -174 dBm/Hz: -101 dBm at 20 MHz, the textbook value, plus 3 dB per doubling.
#[test]
fn noise_grows_with_the_bandwidth() {
    let floors = [20, 40, 80, 160].map(|mhz| noise_floor_dbm(mhz, 0.0));
    for (floor, expected) in floors.iter().zip([-100.99, -97.98, -94.97, -91.96]) {
        assert!((floor - expected).abs() < 0.005, "{floor} dBm");
    }
    assert!((noise_floor_dbm(20, 7.0) - -93.99).abs() < 0.005);
}

/// Friis: 20 log10(4 pi f / c) at 1 m.
#[test]
fn the_loss_at_one_metre_is_that_of_free_space() {
    for (band, hz) in [(Band::Ghz2_4, 2.437e9), (Band::Ghz5, 5.18e9)] {
        let friis = 20.0 * libm::log10(4.0 * std::f64::consts::PI * hz / 299_792_458.0);
        let loss = PathLoss::indoors(band, PerPair::Same(1.0));
        assert!((loss.loss_db(1.0) - friis).abs() < 0.005, "{friis} dB");
        assert!(
            (loss.loss_db(0.0) - friis).abs() < 0.005,
            "the loss is constant below the reference distance"
        );
        assert!((loss.loss_db(10.0) - loss.loss_db(1.0) - 30.0).abs() < 1e-9);
    }
}

/// Model D has a breakpoint at 10 m: 2 * 10 dB more than at 1 m, then 35 dB per decade.
#[test]
fn tgn_models_are_free_space_up_to_their_breakpoint() {
    let same = || PerPair::Same(1.0);
    let free = PathLoss {
        exponent: 2.0,
        ..PathLoss::indoors(Band::Ghz5, same())
    };
    for (model, at_m) in [
        (Tgn::A, 5.0),
        (Tgn::B, 5.0),
        (Tgn::C, 5.0),
        (Tgn::D, 10.0),
        (Tgn::E, 20.0),
        (Tgn::F, 30.0),
    ] {
        let loss = PathLoss::tgn(model, Band::Ghz5, same());
        assert_eq!(loss.loss_db(0.5), free.loss_db(1.0));
        assert_eq!(loss.loss_db(at_m), free.loss_db(at_m));
        assert!((loss.loss_db(10.0 * at_m) - loss.loss_db(at_m) - 35.0).abs() < 1e-9);
    }
}

/// 16 dBm at 10 m: a loss of 46.73 + 30 dB gives -60.73 dBm, which is 33.26 dB above the noise of -93.99 dBm.
#[test]
fn the_snr_is_the_link_budget() {
    let channel = Channel::new(&spaced(2, 10.0, 0.0)).unwrap();
    assert!((channel.signal(0, 1, 20, MS).power_dbm() - -60.73).abs() < 0.005);
    assert!((channel.snr_db(0, 1, 20, MS) - 33.26).abs() < 0.005);
    assert!((channel.snr_db(1, 0, 80, MS) - 27.24).abs() < 0.005);
}

#[test]
fn a_given_snr_holds_in_its_direction_at_every_bandwidth() {
    let matrix = PerPair::Matrix(vec![vec![f64::NAN, 20.0], vec![5.0, f64::NAN]]);
    let channel = Channel::new(&given(2, matrix, Fading::None)).unwrap();
    assert_eq!(channel.snr_db(0, 1, 20, MS), 20.0);
    assert_eq!(channel.snr_db(1, 0, 160, MS), 5.0);
    let signal = channel.signal(0, 1, 40, MS);
    assert_eq!(
        (signal.snr_db, signal.noise_dbm),
        (20.0, noise_floor_dbm(40, 7.0))
    );
    let mode = Mode::vht(4, 1, 80, GuardInterval::Long).unwrap();
    assert_eq!(
        channel.mpdu_success(0, 1, &mode, MS, 1_500),
        ErrorModel::Nist.mpdu_success(&mode, 20.0, 1_500)
    );
    assert_eq!(
        channel.header_success(1, 0, &mode, MS),
        ErrorModel::Nist.header_success(&mode, 5.0)
    );
}

#[test]
fn an_ideal_channel_loses_nothing() {
    let channel = Channel::new(&ChannelConfig::ideal(3)).unwrap();
    let mode = Mode::ofdm(54).unwrap();
    assert_eq!(channel.mpdu_success(0, 2, &mode, MS, 4_095), 1.0);
    assert_eq!(channel.header_success(2, 1, &mode, MS), 1.0);
}

#[test]
fn shadowing_is_normal_and_the_same_both_ways() {
    let plain = Channel::new(&spaced(80, 10.0, 0.0)).unwrap();
    let shadowed = Channel::new(&spaced(80, 10.0, 6.0)).unwrap();
    let mut shadows = Vec::new();
    for (from, to) in ordered_pairs(80) {
        assert_eq!(
            shadowed.snr_db(from, to, 20, MS),
            shadowed.snr_db(to, from, 20, MS)
        );
        if from < to {
            shadows.push(plain.snr_db(from, to, 20, MS) - shadowed.snr_db(from, to, 20, MS));
        }
    }
    // 3160 pairs: standard errors 0.11 and 0.08 dB.
    let (mean, deviation) = mean_and_deviation(&shadows);
    assert!(mean.abs() < 0.4, "mean {mean} dB");
    assert!((deviation - 6.0).abs() < 0.3, "deviation {deviation} dB");
    let beyond = |limit: f64| shadows.iter().filter(|s| s.abs() > limit).count();
    // A third is beyond one standard deviation, a twentieth beyond two.
    assert!((900..1_110).contains(&beyond(6.0)), "{}", beyond(6.0));
    assert!((100..190).contains(&beyond(12.0)), "{}", beyond(12.0));
}

/// The power of a Rayleigh channel is exponential: mean 1, standard deviation 1, 10 % below -9.77 dB.
#[test]
fn rayleigh_power_is_exponential() {
    let gains = gains(Fading::Rayleigh { coherence_time: MS }, 3, (0, 1));
    let (mean, deviation) = mean_and_deviation(&gains);
    assert!((mean - 1.0).abs() < 0.03, "mean {mean}");
    assert!((deviation - 1.0).abs() < 0.05, "deviation {deviation}");
    let weak = gains.iter().filter(|&&g| g < 0.105_36).count();
    assert!((1_850..2_150).contains(&weak), "{weak} of 20000");
    let lag_one = gains.windows(2).map(|w| (w[0] - 1.0) * (w[1] - 1.0)).sum::<f64>() / 19_999.0;
    assert!(lag_one.abs() < 0.03, "the blocks are correlated: {lag_one}");
}

/// The power of a Rician channel has mean 1 and variance (1 + 2K) / (1 + K)^2. A K of minus infinity gives a
/// Rayleigh channel.
#[test]
fn rician_power_has_its_moments() {
    for (k_factor_db, variance) in [(-100.0, 1.0), (0.0, 0.75), (10.0, 21.0 / 121.0)] {
        let fading = Fading::Rician {
            k_factor_db,
            coherence_time: MS,
        };
        let (mean, deviation) = mean_and_deviation(&gains(fading, 4, (0, 1)));
        assert!((mean - 1.0).abs() < 0.03, "K {k_factor_db} dB: mean {mean}");
        assert!(
            (deviation * deviation - variance).abs() < 0.06,
            "K {k_factor_db} dB: deviation {deviation}"
        );
    }
}

#[test]
fn fading_lasts_for_a_coherence_time_and_is_the_same_both_ways() {
    let rayleigh = Fading::Rayleigh { coherence_time: MS };
    let channel = Channel::new(&given(3, PerPair::Same(20.0), rayleigh)).unwrap();
    let at = |from, to, us| channel.snr_db(from, to, 20, Nanos::from_us(us));
    assert_eq!(at(0, 1, 5_000), at(0, 1, 5_999));
    assert_eq!(at(0, 1, 5_000), at(1, 0, 5_500));
    assert_ne!(at(0, 1, 5_000), at(0, 1, 6_000));
    assert_ne!(at(0, 1, 5_000), at(0, 2, 5_000));
    // The fading of a pair depends on the seed, not on the number of stations.
    let larger = Channel::new(&given(5, PerPair::Same(20.0), rayleigh)).unwrap();
    assert_eq!(larger.snr_db(0, 1, 20, MS * 5), at(0, 1, 5_000));
    let reseeded = Channel::new(&ChannelConfig {
        seed: 2,
        ..given(3, PerPair::Same(20.0), rayleigh)
    });
    assert_ne!(reseeded.unwrap().snr_db(0, 1, 20, MS * 5), at(0, 1, 5_000));
}

/// All platforms draw the same bits.
#[test]
fn draws_are_the_same_on_every_platform() {
    let rician = Fading::Rician {
        k_factor_db: 6.0,
        coherence_time: MS,
    };
    let config = ChannelConfig {
        fading: rician,
        seed: 8_021_100,
        ..spaced(4, 25.0, 5.0)
    };
    let channel = Channel::new(&config).unwrap();
    let snrs = [(0, 1), (1, 2), (3, 0)].map(|(from, to)| channel.snr_db(from, to, 40, MS * 77).to_bits());
    assert_eq!(
        snrs,
        [
            0x4035_2303_f54f_27c8,
            0x4036_78b3_305e_77d8,
            0x4032_9ebc_08d7_e024
        ]
    );
    let mode = Mode::vht(9, 2, 80, GuardInterval::Short).unwrap();
    let dsss = Mode::dsss(11_000, Preamble::Short).unwrap();
    let rates = [
        ErrorModel::Nist.mpdu_success(&mode, 29.5, 1_500),
        ErrorModel::Yans.mpdu_success(&mode, 30.0, 1_500),
        ErrorModel::Nist.mpdu_success(&dsss, 7.0, 1_500),
    ];
    assert_eq!(
        rates.map(f64::to_bits),
        [
            0x3fea_7b79_68e7_425a,
            0x3fce_7b38_61b6_bf12,
            0x3feb_76f6_5ad2_7801
        ]
    );
}

#[test]
fn invalid_channels_are_refused_in_one_line() {
    let refused = |config: &ChannelConfig| Channel::new(config).unwrap_err().to_string();
    let short = PerPair::Matrix(vec![vec![0.0; 3]; 2]);
    assert_eq!(
        refused(&given(3, short, Fading::None)),
        "the matrix of SNR in dB has 2 rows for 3 stations: one row per station is required"
    );
    let ragged = PerPair::Matrix(vec![vec![0.0; 2], vec![0.0; 3]]);
    assert_eq!(
        refused(&given(2, ragged, Fading::None)),
        "row 1 of the matrix of SNR in dB has 3 values for 2 stations: one per station is required"
    );
    assert_eq!(
        refused(&given(2, PerPair::Same(f64::NAN), Fading::None)),
        "the SNR in dB from station 0 to station 1 is NaN: it must be a number"
    );
    assert_eq!(
        refused(&spaced(2, -3.0, 0.0)),
        "the distance in m from station 0 to station 1 is -3: it must be 0 or more"
    );
    assert_eq!(
        refused(&spaced(2, 3.0, -1.0)),
        "the standard deviation of the shadowing in dB is -1: it must be 0 or more"
    );
    let skewed = PathLoss::indoors(Band::Ghz5, PerPair::Matrix(vec![vec![0.0, 5.0], vec![6.0, 0.0]]));
    assert_eq!(
        refused(&ChannelConfig {
            snr: Snr::PathLoss(skewed),
            ..spaced(2, 1.0, 0.0)
        }),
        "the distance from station 0 to station 1 is 5 m, but 6 m in the other direction"
    );
    let still = Fading::Rayleigh {
        coherence_time: Nanos::ZERO,
    };
    assert_eq!(
        refused(&given(2, PerPair::Same(9.0), still)),
        "the coherence time of the fading must be above 0"
    );
    let strong = Fading::Rician {
        k_factor_db: f64::INFINITY,
        coherence_time: MS,
    };
    assert_eq!(
        refused(&given(2, PerPair::Same(9.0), strong)),
        "the Rician K factor in dB is inf: it must be from -100 to 100"
    );
}
