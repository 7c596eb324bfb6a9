//! The medium against closed forms, published models and another simulator.

use wlan_air::analytic::{closed_loop_round_trip, idle_round_trip, saturated_single_station};
use wlan_air::phy::{GuardInterval, Mode};
use wlan_air::sim::{self, PingPong};
use wlan_air::{Access, Aggregation, MediumConfig, Nanos};

/// MAC header 24, LLC/SNAP 8, FCS 4 octets around an MSDU of 802.11a.
const OFDM_OVERHEAD_B: usize = 36;
/// Octets that each security adds to an MPDU: open, WEP, CCMP, TKIP, GCMP.
const SECURITY_B: [usize; 5] = [0, 8, 16, 20, 24];

fn config(mode: Mode, access: Access, aggregation: Aggregation, stations: usize) -> MediumConfig {
    MediumConfig {
        mode,
        access,
        aggregation,
        stations,
        queue_limit: 65,
        seed: 1,
    }
}

fn relative_error(value: f64, reference: f64) -> f64 {
    (value / reference - 1.0).abs()
}

/// One saturated 802.11a station, MSDU of 1500 octets: 34 + 67.5 + PPDU + 16 + Ack us worked out by hand.
#[test]
fn closed_form_gives_the_cycle_of_802_11a() {
    // Data symbols for open, WEP, CCMP, TKIP, GCMP.
    for (rate, ack_us, symbols) in [
        (6, 44.0, [513.0, 516.0, 519.0, 520.0, 521.0]),
        (24, 28.0, [129.0, 129.0, 130.0, 130.0, 131.0]),
        (54, 28.0, [57.0, 58.0, 58.0, 58.0, 58.0]),
    ] {
        for (security_b, symbols) in SECURITY_B.into_iter().zip(symbols) {
            let mode = Mode::ofdm(rate).unwrap();
            let len_b = 1500 + OFDM_OVERHEAD_B + security_b;
            let cycle = saturated_single_station(&mode, &Access::dcf(), &Aggregation::None, len_b);
            assert_eq!(
                cycle.cycle_us(),
                34.0 + 67.5 + 20.0 + 4.0 * symbols + 16.0 + ack_us
            );
            assert_eq!(cycle.payload_us, 4.0 * symbols);
        }
    }
}

/// The same cells as ns-3.37 measured them, Mbit/s.
#[test]
fn closed_form_agrees_with_ns3_within_a_thousandth() {
    for (rate, measured) in [
        (6, [5.372, 5.344, 5.315, 5.306, 5.297]),
        (24, [17.613, 17.613, 17.510, 17.510, 17.407]),
        (54, [30.519, 30.214, 30.214, 30.214, 30.214]),
    ] {
        for (security_b, measured) in SECURITY_B.into_iter().zip(measured) {
            let mode = Mode::ofdm(rate).unwrap();
            let len_b = 1500 + OFDM_OVERHEAD_B + security_b;
            let cycle = saturated_single_station(&mode, &Access::dcf(), &Aggregation::None, len_b);
            let goodput = cycle.goodput_mbps(1500);
            assert!(
                relative_error(goodput, measured) < 0.001,
                "{rate} Mbit/s, +{security_b} B: {goodput}"
            );
        }
    }
}

#[test]
fn one_station_agrees_with_the_closed_form() {
    for rate in [6, 9, 12, 18, 24, 36, 48, 54] {
        for security_b in SECURITY_B {
            let mode = Mode::ofdm(rate).unwrap();
            let len_b = 1500 + OFDM_OVERHEAD_B + security_b;
            let expected = saturated_single_station(&mode, &Access::dcf(), &Aggregation::None, len_b);
            let medium = config(mode, Access::dcf(), Aggregation::None, 1);
            let outcome = sim::saturated(medium, len_b, Nanos::from_secs(20)).unwrap();
            let error = relative_error(outcome.goodput_mbps(1500), expected.goodput_mbps(1500));
            assert!(error < 0.005, "{mode}, +{security_b} B: {error}");
        }
    }
}

/// Bianchi's model of n saturated stations as ns-3 computes it for its wifi-bianchi.cc, Mbit/s, MSDU of 1500
/// octets: the upper bound, where all go on after DIFS, and the lower bound, where all wait EIFS after a
/// collision. It retries for ever. Bianchi approximates (independent collisions; counters that also fall in
/// busy slots), ns-3 itself claims 1.5 %.
#[test]
fn contention_agrees_with_bianchi() {
    for (rate, stations, difs, eifs) in [
        (6, 5, 4.7087, 4.6899),
        (6, 10, 4.3453, 4.3197),
        (12, 5, 8.9515, 8.8972),
        (12, 10, 8.2901, 8.2154),
        (24, 5, 16.2470, 16.0836),
        (24, 10, 15.1426, 14.9153),
        (54, 5, 29.8324, 29.2861),
        (54, 10, 28.1519, 27.3763),
    ] {
        for (uses_eifs, model, tolerance) in [(false, difs, 0.01), (true, eifs, 0.015)] {
            let access = Access {
                eifs: uses_eifs,
                retry_limit: u8::MAX,
                ..Access::dcf()
            };
            let medium = config(Mode::ofdm(rate).unwrap(), access, Aggregation::None, stations);
            let outcome = sim::saturated(medium, 1500 + OFDM_OVERHEAD_B, Nanos::from_secs(60)).unwrap();
            let goodput = outcome.goodput_mbps(1500);
            let error = relative_error(goodput, model);
            println!(
                "{rate} Mbit/s, n = {stations}, EIFS {uses_eifs}: {goodput:.4}, model {model}, {error:.4}"
            );
            assert!(
                error < tolerance,
                "{rate} Mbit/s, n = {stations}, EIFS {uses_eifs}: {goodput}, model {model}"
            );
        }
    }
}

/// UDP payloads of 1472 octets at MCS 7, 20 MHz: the bounds of ns-3's wifi-aggregation example. MPDU: QoS
/// header 26, LLC/SNAP 8, IP and UDP 28, FCS 4.
#[test]
fn ht_agrees_with_the_bounds_of_ns3() {
    let mode = Mode::ht(7, 20, GuardInterval::Long).unwrap();
    let access = Access::edca_best_effort();
    for (aggregation, bounds) in [(Aggregation::None, 30.0..31.0), (Aggregation::ht(), 59.0..60.0)] {
        let expected = saturated_single_station(&mode, &access, &aggregation, 1538).goodput_mbps(1472);
        let medium = config(mode, access, aggregation, 1);
        let goodput = sim::saturated(medium, 1538, Nanos::from_secs(20))
            .unwrap()
            .goodput_mbps(1472);
        assert!(
            bounds.contains(&expected) && bounds.contains(&goodput),
            "{expected}, {goodput}"
        );
        assert!(relative_error(goodput, expected) < 0.005);
    }
}

fn mean_us(round_trips: &[Nanos]) -> f64 {
    round_trips.iter().copied().sum::<Nanos>().as_us_f64() / round_trips.len() as f64
}

#[test]
fn round_trips_agree_with_their_closed_forms() {
    let mcs7 = Mode::ht(7, 20, GuardInterval::Long).unwrap();
    for (mode, access) in [
        (Mode::ofdm(6).unwrap(), Access::dcf()),
        (Mode::ofdm(54).unwrap(), Access::dcf()),
        (mcs7, Access::edca_best_effort()),
    ] {
        let medium = config(mode, access, Aggregation::None, 2);
        let closed_loop = PingPong {
            request_mpdu_len_b: 200,
            response_mpdu_len_b: 1500,
            turnaround: Nanos::ZERO,
            pause: Nanos::ZERO,
            rounds: 50_000,
        };
        let measured = mean_us(&sim::ping_pong(medium, &closed_loop).unwrap());
        let expected = closed_loop_round_trip(&mode, &access, 200, 1500).total_us();
        assert!(
            relative_error(measured, expected) < 0.002,
            "{mode}: {measured}, {expected}"
        );

        // Answers while the Ack is on the air, in the interframe space after it, and later.
        for turnaround in [0, 43, 62, 200].map(Nanos::from_us) {
            let paced = PingPong {
                turnaround,
                pause: Nanos::from_ms(10),
                ..closed_loop
            };
            let measured = mean_us(&sim::ping_pong(medium, &paced).unwrap()) - turnaround.as_us_f64();
            let expected = idle_round_trip(&mode, &access, 200, 1500, turnaround).total_us();
            assert!(
                relative_error(measured, expected) < 0.002,
                "{mode}: {measured}, {expected}"
            );
        }
    }
}
