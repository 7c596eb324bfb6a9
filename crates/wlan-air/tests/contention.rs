//! The model of several saturated stations compared with published figures, the formulas behind it, another
//! simulator and the medium.

mod common;

use common::uplink;
use proptest::prelude::*;
use wlan_air::analytic::{
    Contended, Contention, ContentionModel, saturated_single_station, saturated_stations, security_cost,
};
use wlan_air::phy::{Band, Bss, GuardInterval, Mode};
use wlan_air::sim;
use wlan_air::{Access, Aggregation, Countdown, MediumConfig, Nanos, Protection, StationConfig};

/// MAC header 24, LLC/SNAP 8, FCS 4 octets and an MSDU of 1500.
const MPDU_LEN_B: usize = 1536;
/// The largest limit: far fewer than 1e-12 of the MPDUs reach it.
const NO_LIMIT: u8 = u8::MAX;

fn ofdm(rate_mbps: u16) -> Mode {
    Mode::ofdm(rate_mbps).unwrap()
}

/// DCF with one MPDU per PPDU, without RTS, with EIFS after a collision.
fn contention(stations: usize, model: ContentionModel) -> Contention {
    Contention {
        stations,
        protection: Protection::None,
        model,
        eifs: true,
    }
}

fn solve(mode: &Mode, access: &Access, contention: &Contention, mpdu_len_b: usize) -> Contended {
    saturated_stations(
        &Bss::for_mode(mode),
        mode,
        access,
        &Aggregation::NONE,
        mpdu_len_b,
        contention,
    )
}

fn relative_error(value: f64, reference: f64) -> f64 {
    (value / reference - 1.0).abs()
}

/// Bianchi's model of 5, 10 and 50 stations as in ns-3's wifi-bianchi.cc, Mbit/s: after a collision, all
/// stations wait for DIFS, or for an additional SIFS and Ack. ns-3 finds `tau` on a grid of 1e-4, which
/// causes errors up to 0.1 %.
#[test]
fn the_model_agrees_with_the_reference_of_ns3() {
    for (rate, difs, eifs) in [
        (6, [4.7087, 4.3453, 3.5071], [4.6899, 4.3197, 3.4711]),
        (12, [8.9515, 8.2901, 6.7278], [8.8972, 8.2154, 6.6225]),
        (24, [16.2470, 15.1426, 12.4144], [16.0836, 14.9153, 12.0889]),
        (54, [29.8324, 28.1519, 23.5618], [29.2861, 27.3763, 22.4162]),
    ] {
        for (eifs, published) in [(false, difs), (true, eifs)] {
            for (stations, published) in [5, 10, 50].into_iter().zip(published) {
                let access = Access {
                    retry_limit: NO_LIMIT,
                    ..Access::dcf()
                };
                let contention = Contention {
                    eifs,
                    ..contention(stations, ContentionModel::Ns3)
                };
                let goodput = solve(&ofdm(rate), &access, &contention, MPDU_LEN_B).goodput_mbps(1500);
                assert!(
                    relative_error(goodput, published) < 0.001,
                    "{rate} Mbit/s, n = {stations}, EIFS {eifs}: {goodput}, published {published}"
                );
            }
        }
    }
}

/// Equation 7 of Bianchi (2000): tau as a function of p, windows 16 to 1024, no retry limit.
#[test]
fn transmit_probability_solves_bianchis_equation() {
    let access = Access {
        retry_limit: NO_LIMIT,
        ..Access::dcf()
    };
    for stations in [1_i32, 2, 5, 10, 50, 200] {
        let n = usize::try_from(stations).unwrap();
        let contention = contention(n, ContentionModel::Bianchi);
        let tau = solve(&ofdm(54), &access, &contention, MPDU_LEN_B).transmit_probability;
        let p = 1.0 - (1.0 - tau).powi(stations - 1);
        let expected =
            2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * 17.0 + p * 16.0 * (1.0 - (2.0 * p).powi(6)));
        assert!(
            relative_error(tau, expected) < 1e-12,
            "n = {stations}: {tau}, {expected}"
        );
    }
}

/// A finite retry limit: Wu et al. (2002) for tau, p^R for the drops, Chatzimisios et al. (2003) for the
/// delay.
#[test]
fn retry_limit_follows_the_published_formulas() {
    for limit in [1_u8, 4, 7] {
        for stations in [2_i32, 10, 50] {
            let access = Access {
                retry_limit: limit,
                ..Access::dcf()
            };
            let n = usize::try_from(stations).unwrap();
            let contention = Contention {
                eifs: false,
                ..contention(n, ContentionModel::Bianchi)
            };
            let solved = solve(&ofdm(54), &access, &contention, MPDU_LEN_B);
            let tau = solved.transmit_probability;
            let p = 1.0 - (1.0 - tau).powi(stations - 1);
            // Mean of a window of W slots, including the slot in which the station transmits: (W + 1) / 2.
            let slots: Vec<f64> = (0..limit)
                .map(|stage| (16.0 * 2f64.powi(i32::from(stage.min(6))) + 1.0) / 2.0)
                .collect();
            let reached = |stage: usize| p.powi(i32::try_from(stage).unwrap());
            let transmissions: f64 = (0..slots.len()).map(reached).sum();
            let waited: f64 = slots
                .iter()
                .enumerate()
                .map(|(stage, slots)| reached(stage) * slots)
                .sum();
            assert!(relative_error(tau, transmissions / waited) < 1e-12);

            let dropped = reached(slots.len());
            assert!(relative_error(solved.drop_probability, dropped) < 1e-12);
            assert!(relative_error(solved.collision_probability, p) < 1e-9);

            let slot_us = f64::from(stations) * tau * (1.0 - p) * 1e6 / solved.mpdus_per_s;
            let delay_slots: f64 = slots
                .iter()
                .enumerate()
                .map(|(stage, slots)| (reached(stage) - dropped) / (1.0 - dropped) * slots)
                .sum();
            assert!(relative_error(solved.access_delay_us, delay_slots * slot_us) < 1e-9);
        }
    }
}

#[test]
fn one_station_is_the_single_station() {
    let ht = Mode::ht(7, 20, GuardInterval::Long, Band::Ghz5).unwrap();
    let vht = Mode::vht(9, 3, 80, GuardInterval::Short).unwrap();
    for (mode, aggregation) in [
        (ofdm(6), Aggregation::NONE),
        (ofdm(54), Aggregation::NONE),
        (ht, Aggregation::NONE),
        (ht, Aggregation::ampdu(&ht)),
        (vht, Aggregation::ampdu(&vht)),
    ] {
        let (bss, access) = (Bss::for_mode(&mode), Access::for_mode(&mode));
        let contention = contention(1, ContentionModel::Countdown);
        let solved = saturated_stations(&bss, &mode, &access, &aggregation, MPDU_LEN_B, &contention);
        let alone =
            saturated_single_station(&bss, &mode, &access, &aggregation, Protection::None, MPDU_LEN_B);
        assert!(
            relative_error(solved.mpdus_per_s, alone.mpdus_per_s()) < 1e-12,
            "{mode}"
        );
        assert!(
            relative_error(solved.access_delay_us, alone.cycle_us()) < 1e-12,
            "{mode}"
        );
        assert_eq!(solved.collision_probability, 0.0);
        assert_eq!(solved.drop_probability, 0.0);
    }
}

/// The remaining error is the mean field: the assumption that the stations' counters are independent.
#[test]
fn agrees_with_the_medium() {
    for countdown in [Countdown::PerIdleSlot, Countdown::PerBoundary] {
        for eifs in [false, true] {
            for stations in [2, 10, 50] {
                let access = Access {
                    countdown,
                    ..Access::dcf()
                };
                let station = StationConfig {
                    access: vec![access],
                    queue_limit: 2,
                    ..StationConfig::new(ofdm(54), 0)
                };
                let config = MediumConfig {
                    eifs,
                    ..MediumConfig::new(Bss::ofdm(), &station, stations + 1, 1)
                };
                // With more stations, the mean converges sooner.
                let span = Nanos::from_secs(if stations == 2 { 15 } else { 10 });
                let outcome = sim::saturated(config, &uplink(stations), MPDU_LEN_B - 28, span).unwrap();
                let sum = |count: fn(&wlan_air::StationCounters) -> u64| {
                    outcome.counters.stations.iter().map(count).sum::<u64>() as f64
                };
                let collisions = sum(|s| s.collisions) / sum(|s| s.txops);
                let drops = sum(|s| s.drops_retry) / (sum(|s| s.drops_retry) + sum(|s| s.mpdus));
                let case = format!("{countdown:?}, EIFS {eifs}, n = {stations}");

                let contention = Contention {
                    eifs,
                    ..contention(stations, ContentionModel::Countdown)
                };
                let solved = solve(&ofdm(54), &access, &contention, MPDU_LEN_B);
                let (goodput, measured) = (solved.goodput_mbps(1500), outcome.goodput_mbps(1500));
                assert!(
                    relative_error(goodput, measured) < 0.012,
                    "{case}: {goodput}, {measured}"
                );
                assert!(
                    (solved.collision_probability - collisions).abs() < 0.012,
                    "{case}: {collisions}"
                );
                assert!((solved.drop_probability - drops).abs() < 0.003, "{case}: {drops}");
            }
        }
    }
}

/// A cell of 802.11a measured with ns-3; the model does not cover the other cells of the table.
struct Measured {
    rate_mbps: u16,
    stations: usize,
    mpdu_len_b: usize,
    packet_size_b: usize,
    rts: bool,
    retry_limit: u8,
    mbps: f64,
    failure: f64,
}

fn measured_by_ns3() -> Vec<Measured> {
    let table = include_str!("data/ns3.csv");
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter_map(|fields| {
            let field = |name: &str| fields[columns.iter().position(|column| *column == name).unwrap()];
            let number = |name: &str| field(name).parse::<usize>().unwrap();
            let plain = field("phy") == "ofdm" && field("snr_db").is_empty() && field("hidden") == "0";
            (plain && field("eifs") == "1").then(|| Measured {
                rate_mbps: field("rate_mbps").parse().unwrap(),
                stations: number("stations"),
                mpdu_len_b: number("mpdu_len_b"),
                packet_size_b: number("packet_size_b"),
                rts: field("rts") == "1",
                retry_limit: field("retry_limit").parse().unwrap_or(NO_LIMIT),
                mbps: field("throughput_mbps").parse().unwrap(),
                failure: field("failure").parse().unwrap(),
            })
        })
        .collect()
}

#[test]
fn agrees_with_ns3() {
    let cells = measured_by_ns3();
    assert!(cells.len() >= 40, "only {} cells", cells.len());
    for cell in cells {
        // In ns-3, failed RTS frames do not count towards the retry limit.
        let retry_limit = if cell.rts { NO_LIMIT } else { cell.retry_limit };
        let access = Access {
            retry_limit,
            ..Access::dcf()
        };
        let protection = if cell.rts {
            Protection::RtsCts
        } else {
            Protection::None
        };
        let contention = Contention {
            protection,
            ..contention(cell.stations, ContentionModel::Countdown)
        };
        let mode = ofdm(cell.rate_mbps);
        let solved = solve(&mode, &access, &contention, cell.mpdu_len_b);
        let goodput = solved.goodput_mbps(cell.packet_size_b);
        let error = relative_error(goodput, cell.mbps);
        let case = format!(
            "{mode}, n = {}, {} B, RTS {}",
            cell.stations, cell.mpdu_len_b, cell.rts
        );
        println!("{case}: {goodput:.4}, ns-3 {:.4}, {error:.4}", cell.mbps);
        let tolerance = if cell.stations == 1 { 0.003 } else { 0.008 };
        assert!(error < tolerance, "{case}: {goodput}, ns-3 {}", cell.mbps);
        assert!(
            (solved.collision_probability - cell.failure).abs() < 0.012,
            "{case}: {}",
            cell.failure
        );
    }
}

/// With RTS only short frames collide, which is worthwhile only for many stations and long, slow frames.
#[test]
fn rts_pays_off_for_long_collisions() {
    let goodput = |rate, stations, protection| {
        let contention = Contention {
            protection,
            ..contention(stations, ContentionModel::Countdown)
        };
        solve(&ofdm(rate), &Access::dcf(), &contention, MPDU_LEN_B).goodput_mbps(1500)
    };
    assert!(goodput(6, 50, Protection::RtsCts) > 1.3 * goodput(6, 50, Protection::None));
    assert!(goodput(54, 2, Protection::RtsCts) < 0.9 * goodput(54, 2, Protection::None));
}

/// 16 octets of CCMP are one symbol of 4 us at 54 Mbit/s. One station has a cycle of 393.5 us; several
/// stations have exchanges and collisions of about this duration.
#[test]
fn security_costs_the_symbols_it_adds() {
    let mode = ofdm(54);
    let access = Access::dcf();
    let alone = |len_b| {
        saturated_single_station(
            &Bss::ofdm(),
            &mode,
            &access,
            &Aggregation::NONE,
            Protection::None,
            len_b,
        )
        .mpdus_per_s()
    };
    assert!((security_cost(alone, MPDU_LEN_B, 16) - 4.0 / 397.5).abs() < 1e-12);
    assert_eq!(security_cost(alone, MPDU_LEN_B, 0), 0.0);
    let together =
        |len_b| solve(&mode, &access, &contention(10, ContentionModel::Countdown), len_b).mpdus_per_s;
    let cost = security_cost(together, MPDU_LEN_B, 16);
    assert!((0.010..0.014).contains(&cost), "{cost}");
}

proptest! {
    #[test]
    fn results_stay_within_physical_bounds(
        stations in 1_usize..300,
        rate in prop::sample::select(vec![6_u16, 12, 24, 54]),
        mpdu_len_b in 60_usize..2400,
        cw_min_bits in 0_u32..6,
        retry_limit in 1_u8..=255,
        eifs: bool,
        boundary: bool,
        rts: bool,
        model in prop::sample::select(vec![
            ContentionModel::Bianchi, ContentionModel::Ns3, ContentionModel::Countdown,
        ]),
    ) {
        let access = Access {
            cw_min: u16::try_from((1_u32 << cw_min_bits) - 1).unwrap(),
            retry_limit,
            countdown: if boundary { Countdown::PerBoundary } else { Countdown::PerIdleSlot },
            ..Access::dcf()
        };
        let protection = if rts { Protection::RtsCts } else { Protection::None };
        let contention = Contention { stations, protection, model, eifs };
        let solve = |len_b| solve(&ofdm(rate), &access, &contention, len_b);
        let solved = solve(mpdu_len_b);
        for probability in [
            solved.transmit_probability, solved.collision_probability, solved.drop_probability,
            solved.collision_share,
        ] {
            prop_assert!((0.0..=1.0).contains(&probability), "{solved:?}");
        }
        let airtime_us = ofdm(rate).ppdu_duration(mpdu_len_b).as_us_f64();
        prop_assert!(solved.mpdus_per_s * airtime_us < 1e6, "{solved:?}");
        // Several stations that always draw a backoff of 0 never stop colliding.
        let no_backoff = stations > 1 && access.cw_min == 0 && retry_limit == 1;
        prop_assert_eq!(solved.mpdus_per_s == 0.0, no_backoff, "{:?}", solved);
        prop_assert_eq!(solved.access_delay_us == f64::INFINITY, no_backoff, "{:?}", solved);
        prop_assert!(solved.access_delay_us >= airtime_us, "{solved:?}");
        prop_assert!(solve(mpdu_len_b + 8).mpdus_per_s <= solved.mpdus_per_s);
        prop_assert_eq!(solve(mpdu_len_b), solved);
    }
}
