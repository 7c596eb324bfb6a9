use super::*;
use proptest::prelude::*;

pub(super) fn ofdm(rate_mbps: u16) -> Mode {
    Mode::ofdm(rate_mbps).unwrap()
}

pub(super) fn erp(rate_mbps: u16) -> Mode {
    Mode::erp(rate_mbps).unwrap()
}

pub(super) fn dsss(rate_kbps: u32, preamble: Preamble) -> Mode {
    Mode::dsss(rate_kbps, preamble).unwrap()
}

pub(super) fn ht(mcs: u8, bandwidth_mhz: u16, gi: GuardInterval) -> Mode {
    Mode::ht(mcs, bandwidth_mhz, gi, Band::Ghz5).unwrap()
}

pub(super) fn ht_2_4(mcs: u8) -> Mode {
    Mode::ht(mcs, 20, GuardInterval::Long, Band::Ghz2_4).unwrap()
}

fn vht(mcs: u8, streams: u8, bandwidth_mhz: u16, gi: GuardInterval) -> Mode {
    Mode::vht(mcs, streams, bandwidth_mhz, gi).unwrap()
}

/// Every combination of width, streams and MCS in clause 21.
fn all_vht() -> impl Iterator<Item = ((u16, u8, u8), Result<Mode, PhyError>)> {
    let of_width = |mhz| (0..80u8).map(move |n| (mhz, n / 10 + 1, n % 10));
    [20, 40, 80, 160]
        .into_iter()
        .flat_map(of_width)
        .map(|(mhz, streams, mcs)| {
            let mode = Mode::vht(mcs, streams, mhz, GuardInterval::Long);
            ((mhz, streams, mcs), mode)
        })
}

/// Values of ns-3's tx-duration-test.cc, which takes 802.11a, b and g from Gast's "Wireless throughput"
/// (2003).
#[test]
fn durations_agree_with_published_ones() {
    let mcs7 = ht(7, 20, GuardInterval::Long);
    for (mode, psdu_len_b, us) in [
        (ofdm(54), 1536, 248),
        (ofdm(54), 76, 32),
        (ofdm(54), 14, 24),
        (erp(54), 1536, 254),
        (erp(54), 76, 38),
        (erp(54), 14, 30),
        (dsss(11_000, Preamble::Long), 1536, 1310),
        (dsss(11_000, Preamble::Long), 76, 248),
        (dsss(11_000, Preamble::Long), 14, 203),
        (dsss(11_000, Preamble::Short), 1536, 1214),
        (dsss(11_000, Preamble::Short), 76, 152),
        (dsss(11_000, Preamble::Short), 14, 107),
        (mcs7, 1536, 228),
        (mcs7, 76, 48),
        (mcs7, 14, 40),
    ] {
        assert_eq!(
            mode.ppdu_duration(psdu_len_b),
            Nanos::from_us(us),
            "{mode}, {psdu_len_b} octets"
        );
    }
}

/// 1536 octets at MCS 0 are 474 symbols of 3.6 us or 1706.4 us, which 19.4.3 rounds up to 427 times 4 us.
#[test]
fn short_guard_interval_is_padded_to_whole_long_symbols() {
    assert_eq!(
        ht(0, 20, GuardInterval::Short).ppdu_duration(1536),
        Nanos::from_us(36 + 1708)
    );
}

/// Rates of Tables 17-4 and 19-27 to 19-34, Mbit/s times ten.
#[test]
fn rates_agree_with_the_tables() {
    for rate in [6, 9, 12, 18, 24, 36, 48, 54] {
        assert_eq!(ofdm(rate).rate_kbps(), u64::from(rate) * 1000);
    }
    let tables: [(u16, GuardInterval, [u64; 8]); 4] = [
        (20, GuardInterval::Long, [65, 130, 195, 260, 390, 520, 585, 650]),
        (20, GuardInterval::Short, [72, 144, 217, 289, 433, 578, 650, 722]),
        (
            40,
            GuardInterval::Long,
            [135, 270, 405, 540, 810, 1080, 1215, 1350],
        ),
        (
            40,
            GuardInterval::Short,
            [150, 300, 450, 600, 900, 1200, 1350, 1500],
        ),
    ];
    for (bandwidth, gi, one_stream) in tables {
        for (mcs, tenths) in (0..).zip(one_stream) {
            assert_eq!(
                (ht(mcs, bandwidth, gi).rate_kbps() + 50) / 100,
                tenths,
                "MCS {mcs}"
            );
        }
    }
    assert_eq!(ht(15, 40, GuardInterval::Short).rate_kbps(), 300_000);
    assert_eq!(ht(31, 40, GuardInterval::Short).rate_kbps(), 600_000);
}

fn encoders(mode: &Mode) -> u8 {
    match mode.parameters.data {
        Data::Symbols { encoders, .. } => encoders,
        Data::Octets { .. } => 0,
    }
}

/// N_ES of Tables 19-27 to 19-34: two encoders at 40 MHz for MCS 21 to 23 and 28 to 31, otherwise one.
#[test]
fn encoders_agree_with_the_tables() {
    for bandwidth in [20, 40] {
        for mcs in 0..32 {
            let two = bandwidth == 40 && matches!(mcs, 21..=23 | 28..=31);
            let encoders = encoders(&ht(mcs, bandwidth, GuardInterval::Long));
            assert_eq!(encoders, 1 + u8::from(two), "MCS {mcs}, {bandwidth} MHz");
        }
    }
}

/// Rates of the tables of 21.5 for one stream, Mbit/s times ten; several streams multiply them.
#[test]
fn vht_rates_agree_with_the_tables() {
    use GuardInterval::{Long, Short};
    let tables: [(u16, GuardInterval, [u64; 10]); 8] = [
        (20, Long, [65, 130, 195, 260, 390, 520, 585, 650, 780, 867]),
        (20, Short, [72, 144, 217, 289, 433, 578, 650, 722, 867, 963]),
        (40, Long, [135, 270, 405, 540, 810, 1080, 1215, 1350, 1620, 1800]),
        (40, Short, [150, 300, 450, 600, 900, 1200, 1350, 1500, 1800, 2000]),
        (
            80,
            Long,
            [293, 585, 878, 1170, 1755, 2340, 2633, 2925, 3510, 3900],
        ),
        (
            80,
            Short,
            [325, 650, 975, 1300, 1950, 2600, 2925, 3250, 3900, 4333],
        ),
        (
            160,
            Long,
            [585, 1170, 1755, 2340, 3510, 4680, 5265, 5850, 7020, 7800],
        ),
        (
            160,
            Short,
            [650, 1300, 1950, 2600, 3900, 5200, 5850, 6500, 7800, 8667],
        ),
    ];
    let mut rates = 0;
    for (mhz, gi, one_stream) in tables {
        for (mcs, tenths) in (0..).zip(one_stream) {
            for streams in 1..=8 {
                if let Ok(mode) = Mode::vht(mcs, streams, mhz, gi) {
                    // The rate of one stream is rounded to 50 kbit/s.
                    let error = mode.rate_kbps().abs_diff(100 * tenths * u64::from(streams));
                    assert!(error <= 51 * u64::from(streams), "{mode}: off by {error} kbit/s");
                    rates += 1;
                }
            }
        }
    }
    assert_eq!(rates, 620);
    for (mode, kbps) in [
        (vht(9, 3, 20, Long), 260_000),
        (vht(9, 6, 20, Short), 577_777),
        (vht(9, 1, 80, Short), 433_333),
        (vht(9, 2, 80, Short), 866_666),
        (vht(9, 3, 80, Short), 1_300_000),
        (vht(9, 4, 160, Short), 3_466_666),
        (vht(9, 8, 160, Long), 6_240_000),
        (vht(9, 8, 160, Short), 6_933_333),
    ] {
        assert_eq!(mode.rate_kbps(), kbps, "{mode}");
    }
}

/// N_ES of the tables of 21.5: one encoder per 600 Mbit/s with the short guard interval, except for the modes
/// listed by E. Perahia and R. Stacey, "Next Generation Wireless LANs" (2013).
#[test]
fn vht_encoders_agree_with_the_tables() {
    let exceptions = [
        ((80, 7, 2), 3),
        ((80, 7, 7), 6),
        ((80, 7, 8), 6),
        ((80, 8, 7), 6),
        ((160, 4, 7), 6),
        ((160, 5, 8), 8),
        ((160, 6, 7), 8),
        ((160, 7, 4), 6),
        ((160, 7, 7), 9),
        ((160, 7, 8), 12),
        ((160, 7, 9), 12),
        ((160, 8, 5), 8),
        ((160, 8, 8), 12),
    ];
    for (key, mode) in all_vht() {
        let Ok(mode) = mode else { continue };
        let expected = exceptions
            .iter()
            .find(|(exception, _)| *exception == key)
            .map_or(mode.rate_kbps().div_ceil(540_000), |(_, encoders)| *encoders);
        assert_eq!(u64::from(encoders(&mode)), expected, "{mode}");
    }
}

/// The 20 MHz tables have MCS 9 only for 3 and 6 streams. At 80 MHz, they lack MCS 6 for 3 and 7 streams and
/// MCS 9 for 6 streams; at 160 MHz, MCS 9 for 3 streams.
#[test]
fn vht_has_exactly_the_modes_of_the_tables() {
    let missing: Vec<_> = all_vht()
        .filter(|(_, mode)| mode.is_err())
        .map(|(key, _)| key)
        .collect();
    let mut expected = [1, 2, 4, 5, 7, 8].map(|streams| (20, streams, 9)).to_vec();
    expected.extend([(80, 3, 6), (80, 6, 9), (80, 7, 6), (160, 3, 9)]);
    assert_eq!(missing, expected);
    for ((mcs, streams, mhz), line) in [
        (
            (9, 1, 20),
            "802.11ac has no MCS 9 at 20 MHz with 1 spatial stream (tables of 21.5); allowed: MCS 0 to 8, or \
             MCS 9 with 3 or 6 streams",
        ),
        (
            (6, 3, 80),
            "802.11ac has no MCS 6 at 80 MHz with 3 spatial streams (tables of 21.5); allowed: another MCS, or \
             MCS 6 with 1, 2, 4, 5, 6 or 8 streams",
        ),
        (
            (9, 6, 80),
            "802.11ac has no MCS 9 at 80 MHz with 6 spatial streams (tables of 21.5); allowed: MCS 0 to 8, or \
             MCS 9 with another number of streams",
        ),
        ((10, 1, 80), "802.11ac has no MCS 10 (21.5); allowed: 0 to 9"),
        (
            (0, 0, 80),
            "802.11ac has no 0 spatial streams (21.5); allowed: 1 to 8",
        ),
        (
            (0, 1, 30),
            "802.11ac has no channel width of 30 MHz (21.5); allowed: 20, 40, 80, 160",
        ),
    ] {
        let refused = Mode::vht(mcs, streams, mhz, GuardInterval::Long).unwrap_err();
        assert_eq!(refused.to_string(), line);
    }
}

/// A single MPDU of 1500 octets in a VHT PPDU is an A-MPDU of 1504 octets. At MCS 9, 80 MHz and 3 streams, 16
/// bits, 12032 bits and 3 tails of 6 bits are 3 symbols of 4680 bits.
#[test]
fn a_vht_ppdu_has_its_own_preamble_and_an_ampdu() {
    let preambles = [1, 2, 3, 4, 5, 6, 7, 8].map(|n| vht(0, n, 20, GuardInterval::Long).preamble());
    assert_eq!(preambles, [40, 44, 52, 52, 60, 60, 68, 68].map(Nanos::from_us));
    let mode = vht(9, 3, 80, GuardInterval::Long);
    assert_eq!(mode.ppdu_duration(1_504), Nanos::from_us(52 + 12));
    assert!(mode.always_ampdu());
    assert_eq!(mode.max_ampdu_len_b(), Some(1_048_575));
    assert_eq!(mode.max_mpdu_len_b(), 11_454);
    assert_eq!(ht_2_4(7).max_ampdu_len_b(), Some(65_535));
    assert!(!ht_2_4(7).always_ampdu());
    assert_eq!(erp(54).max_ampdu_len_b(), None);
}

/// The longest PPDU ends with the 4095 octets of L-SIG at 6 Mbit/s.
#[test]
fn the_longest_ppdu_has_the_longest_l_sig_length() {
    assert_eq!(ofdm(6).ppdu_duration(4_095), MAX_PPDU_DURATION);
}

#[test]
fn preamble_grows_with_the_training_fields() {
    let preambles = [0, 8, 16, 24].map(|mcs| ht(mcs, 20, GuardInterval::Long).preamble());
    assert_eq!(preambles, [36, 40, 48, 48].map(Nanos::from_us));
}

#[test]
fn unknown_rates_are_refused_in_one_clear_line() {
    for (refused, line) in [
        (
            Mode::ofdm(11),
            "802.11a has no rate of 11 Mbit/s (clause 17); allowed: 6, 9, 12, 18, 24, 36, 48, 54",
        ),
        (
            Mode::erp(11),
            "802.11g has no rate of 11 Mbit/s (clause 18); allowed: 6, 9, 12, 18, 24, 36, 48, 54",
        ),
        (
            Mode::ht(32, 20, GuardInterval::Long, Band::Ghz5),
            "802.11n has no MCS 32 (19.5); allowed: 0 to 31",
        ),
        (
            Mode::ht(0, 80, GuardInterval::Long, Band::Ghz5),
            "802.11n has no channel width of 80 MHz (19.5); allowed: 20, 40",
        ),
        (
            Mode::dsss(3_000, Preamble::Long),
            "802.11b has no rate of 3 Mbit/s (clauses 15, 16); allowed: 1, 2, 5.5, 11",
        ),
        (
            Mode::dsss(1_000, Preamble::Short),
            "802.11b has no short preamble at 1 Mbit/s (16.2.2.3); allowed: the long preamble, or 2, 5.5, 11 Mbit/s",
        ),
    ] {
        assert_eq!(refused.unwrap_err().to_string(), line);
    }
}

/// The settings of a mode give the mode again, through the function that its PHY declares.
#[test]
fn settings_and_modes_convert_both_ways() {
    for mode in [
        dsss(5_500, Preamble::Short),
        ofdm(54),
        erp(9),
        ht(15, 40, GuardInterval::Short),
        ht_2_4(7),
        vht(9, 3, 80, GuardInterval::Short),
    ] {
        assert_eq!(Mode::of(mode.phy(), &mode.settings()), Ok(mode));
    }
}

#[test]
fn every_phy_declares_what_its_stations_share() {
    for phy in PHYS {
        for &band in phy.bands {
            let rate = Settings {
                rate: phy.usual_rate,
                bandwidth_mhz: phy.bandwidths_mhz[0],
                gi: phy.guard_intervals[0],
                streams: None,
                band,
                preamble: phy.preambles[0],
            };
            let mode = Mode::of(phy, &rate).unwrap();
            let bss = Bss::for_mode(&mode);
            assert!(bss.carries(&mode), "{mode}");
            assert!(bss.basic_rates().count() > 0, "{mode}");
        }
        let same = PHYS.iter().filter(|other| other.word == phy.word);
        assert_eq!(same.count(), 1, "{phy:?}");
    }
}

fn any_mode() -> impl Strategy<Value = Mode> {
    let gi = prop_oneof![Just(GuardInterval::Long), Just(GuardInterval::Short)];
    prop_oneof![
        prop::sample::select(&[6, 9, 12, 18, 24, 36, 48, 54][..]).prop_map(ofdm),
        prop::sample::select(&[6, 9, 12, 18, 24, 36, 48, 54][..]).prop_map(erp),
        prop::sample::select(&[2_000, 5_500, 11_000][..]).prop_map(|kbps| dsss(kbps, Preamble::Short)),
        (0..32u8).prop_map(ht_2_4),
        (0..32u8, prop::sample::select(&[20, 40][..]), gi.clone())
            .prop_map(|(mcs, mhz, gi)| ht(mcs, mhz, gi)),
        (0..6u8, 1..=8u8, prop::sample::select(&[20, 40, 80, 160][..]), gi)
            .prop_map(|(mcs, streams, mhz, gi)| vht(mcs, streams, mhz, gi)),
    ]
}

proptest! {
    #[test]
    fn the_longest_psdu_fits_its_airtime_exactly(mode in any_mode(), us in 100u64..10_000) {
        let limit = Nanos::from_us(us);
        let longest = mode.max_psdu_len_b(limit);
        prop_assume!(longest > 0);
        prop_assert!(mode.ppdu_duration(longest) <= limit);
        prop_assert!(mode.ppdu_duration(longest + 1) > limit);
    }
}

#[test]
fn modes_print_their_phy_rate_and_channel() {
    for (mode, name) in [
        (dsss(5_500, Preamble::Short), "DSSS 5.5 Mbit/s, short preamble"),
        (ofdm(54), "OFDM 54 Mbit/s"),
        (erp(9), "ERP-OFDM 9 Mbit/s"),
        (ht(7, 20, GuardInterval::Long), "HT MCS 7, 20 MHz, GI 800 ns"),
        (ht_2_4(15), "HT MCS 15, 20 MHz, GI 800 ns, 2.4 GHz"),
        (
            vht(9, 3, 80, GuardInterval::Short),
            "VHT MCS 9, 3 streams, 80 MHz, GI 400 ns",
        ),
    ] {
        assert_eq!(mode.to_string(), name);
    }
}
