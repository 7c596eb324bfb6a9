//! The error models compared with those of ns-3.37 (benches/ns3/error_rates.cc generates the table).

use wlan_air::channel::ErrorModel;
use wlan_air::phy::{Band, GuardInterval, Mode, Preamble};

const TABLE: &str = include_str!("data/ns3_error_rates.csv");

/// NIST and DSSS agree within rounding and the accuracy of ns-3's own integration. In YANS, the sums of ns-3
/// lack the case in which every bit of a path is wrong, which matters only if almost nothing arrives.
#[test]
fn success_rates_agree_with_ns3() {
    let mut compared = 0;
    for line in TABLE.lines().skip(1) {
        let columns: Vec<_> = line.split(',').collect();
        let &[
            model,
            phy,
            index,
            streams,
            bandwidth,
            gi_ns,
            snr_db,
            bits,
            success,
        ] = &columns[..]
        else {
            panic!("expected nine columns: {line}")
        };
        let gi = if gi_ns == "400" {
            GuardInterval::Short
        } else {
            GuardInterval::Long
        };
        let bandwidth = bandwidth.parse().unwrap();
        let mode = match phy {
            "dsss" => Mode::dsss(index.parse().unwrap(), Preamble::Long),
            "ofdm" => Mode::ofdm(index.parse::<u16>().unwrap() / 1_000),
            "ht" => Mode::ht(index.parse().unwrap(), bandwidth, gi, Band::Ghz5),
            "vht" => Mode::vht(index.parse().unwrap(), streams.parse().unwrap(), bandwidth, gi),
            _ => panic!("unknown PHY: {line}"),
        }
        .unwrap();
        let (model, tolerance) = match model {
            "nist" => (ErrorModel::Nist, 1e-8),
            _ => (ErrorModel::Yans, 1.5e-4),
        };
        let ours = model.mpdu_success(&mode, snr_db.parse().unwrap(), bits.parse::<usize>().unwrap() / 8);
        let ns3: f64 = success.parse().unwrap();
        assert!((ours - ns3).abs() < tolerance, "{line}: {ours}");
        compared += 1;
    }
    assert_eq!(compared, 1_350);
}
