//! Every mode compared with the airtimes of ns-3.37 (benches/ns3/ppdu_durations.cc generates the table).

use wlan_air::Nanos;
use wlan_air::phy::{Band, GuardInterval, Mode, PhyError, Preamble, Undefined, VHT};

const TABLE: &str = include_str!("data/ns3_ppdu_durations.csv");

fn mode(columns: &[&str]) -> Result<Mode, PhyError> {
    let number = |text: &str| text.parse::<u32>().unwrap();
    let small = |text: &str| text.parse::<u8>().unwrap();
    let mbps = |text| u16::try_from(number(text) / 1_000).unwrap();
    let &[phy, index, streams, bandwidth, gi_ns, band_ghz, preamble_type, ..] = columns else {
        panic!("too few columns: {columns:?}")
    };
    let gi = if gi_ns == "400" {
        GuardInterval::Short
    } else {
        GuardInterval::Long
    };
    let band = if band_ghz == "5" { Band::Ghz5 } else { Band::Ghz2_4 };
    let preamble = if preamble_type == "short" {
        Preamble::Short
    } else {
        Preamble::Long
    };
    let bandwidth = bandwidth.parse().unwrap();
    match phy {
        "dsss" => Mode::dsss(number(index), preamble),
        "ofdm" => Mode::ofdm(mbps(index)),
        "erp" => Mode::erp(mbps(index)),
        "ht" => Mode::ht(small(index), bandwidth, gi, band),
        "vht" => Mode::vht(small(index), small(streams), bandwidth, gi),
        _ => panic!("unknown PHY: {phy}"),
    }
}

/// This test corrects two omissions of ns-3. ns-3 includes VHT-SIG-B of 4 us only in VHT PPDUs for several
/// users, but every VHT PPDU has it (21.3.2, Figure 21-4). With the short guard interval, ns-3 does not
/// extend the symbols to the 4 us grid of L-SIG (19.4.3, 21.4.3).
#[test]
fn every_mode_agrees_with_ns3() {
    let mut lines = TABLE.lines();
    let header: Vec<_> = lines.next().unwrap().split(',').collect();
    let lens_b: Vec<usize> = header[8..].iter().map(|c| c[3..].parse().unwrap()).collect();
    let (mut modes, mut durations, mut forbidden) = (0, 0, 0);
    for line in lines {
        let columns: Vec<_> = line.split(',').collect();
        let mode = match mode(&columns) {
            Ok(mode) => mode,
            // ns-3 also has durations of combinations that the standard excludes.
            Err(PhyError::Undefined {
                value: Undefined::McsAtWidth { .. },
                ..
            }) => {
                forbidden += 1;
                continue;
            }
            Err(error) => panic!("{line}: {error}"),
        };
        let sig_b = if *mode.phy() == VHT {
            Nanos::from_us(4)
        } else {
            Nanos::ZERO
        };
        let ns = |text: &str| Nanos(text.parse().unwrap());
        let preamble = ns(columns[7]);
        assert_eq!(mode.preamble(), preamble + sig_b, "{mode}");
        for (&len_b, text) in lens_b
            .iter()
            .zip(&columns[8..])
            .filter(|(_, text)| !text.is_empty())
        {
            let mut data = ns(text) - preamble;
            if mode.guard_interval() == Some(GuardInterval::Short) {
                let extension = if mode.band() == Band::Ghz2_4 { 6_000 } else { 0 };
                data = Nanos((data.0 - extension).next_multiple_of(4_000) + extension);
            }
            assert_eq!(
                mode.ppdu_duration(len_b),
                preamble + sig_b + data,
                "{mode}, {len_b} octets"
            );
            durations += 1;
        }
        modes += 1;
    }
    assert_eq!((modes, forbidden, durations), (899, 20, 5_991));
}
