//! The medium compared with closed forms, published models and another simulator.

mod common;

use common::{route, uplink};
use wlan_air::analytic::{Contention, ContentionModel, Saturated};
use wlan_air::analytic::{
    closed_loop_round_trip, idle_round_trip, saturated_single_station, saturated_stations,
};
use wlan_air::phy::{Band, Bss, GuardInterval, Mode, Preamble};
use wlan_air::sim::{self, End, Flow, FrameTime, Processor, Scenario, Source, UdpSockets, Wired};
use wlan_air::tcp::IpVersion;
use wlan_air::{Access, Aggregation, Beacons, Cpu, MediumConfig, Nanos, Protection, StationConfig};

/// Octets of MAC header 24, LLC/SNAP 8 and FCS 4 around an MSDU of 802.11a.
const OFDM_OVERHEAD_B: usize = 36;
/// Octets that each suite adds to an MPDU: open, WEP, CCMP, TKIP, GCMP.
const SECURITY_B: [usize; 5] = [0, 8, 16, 20, 24];
/// Goodput of one saturated station with 1500 octets per frame, Mbit/s, measured with ns-3.37, in the order
/// of [`SECURITY_B`].
const NS3_SINGLE_STATION: [(u16, [f64; 5]); 3] = [
    (6, [5.372, 5.344, 5.315, 5.306, 5.297]),
    (24, [17.613, 17.613, 17.510, 17.510, 17.407]),
    (54, [30.519, 30.214, 30.214, 30.214, 30.214]),
];

fn station(mode: Mode, security_b: usize) -> StationConfig {
    StationConfig {
        queue_limit: 100,
        ..StationConfig::new(mode, security_b)
    }
}

/// Goodput of saturated stations that send MSDUs with 1500 octets to one more station, Mbit/s.
fn saturated_mbps(station: &StationConfig, mode: Mode, stations: usize, eifs: bool, span: Nanos) -> f64 {
    let config = MediumConfig {
        eifs,
        ..MediumConfig::new(Bss::for_mode(&mode), station, stations + 1, 1)
    };
    sim::saturated(config, &uplink(stations), 1508, span)
        .unwrap()
        .goodput_mbps(1500)
}

fn relative_error(value: f64, reference: f64) -> f64 {
    (value / reference - 1.0).abs()
}

/// The closed form of one saturated 802.11a station, MSDU of 1500 octets.
fn alone_by_closed_form(rate_mbps: u16, security_b: usize) -> Saturated {
    let mode = Mode::ofdm(rate_mbps).unwrap();
    let (access, none) = (Access::dcf(), Aggregation::NONE);
    let len_b = 1500 + OFDM_OVERHEAD_B + security_b;
    saturated_single_station(&Bss::ofdm(), &mode, &access, &none, Protection::None, len_b)
}

/// One saturated 802.11a station, MSDU of 1500 octets: 34 + 67.5 + PPDU + 16 + Ack us, computed by hand.
#[test]
fn closed_form_gives_the_cycle_of_802_11a() {
    // Data symbols for open, WEP, CCMP, TKIP, GCMP.
    for (rate, ack_us, symbols) in [
        (6, 44.0, [513.0, 516.0, 519.0, 520.0, 521.0]),
        (24, 28.0, [129.0, 129.0, 130.0, 130.0, 131.0]),
        (54, 28.0, [57.0, 58.0, 58.0, 58.0, 58.0]),
    ] {
        for (security_b, symbols) in SECURITY_B.into_iter().zip(symbols) {
            let cycle = alone_by_closed_form(rate, security_b);
            assert_eq!(
                cycle.cycle_us(),
                34.0 + 67.5 + 20.0 + 4.0 * symbols + 16.0 + ack_us
            );
            assert_eq!(cycle.payload_us, 4.0 * symbols);
        }
    }
}

#[test]
fn closed_form_agrees_with_ns3_within_a_thousandth() {
    for (rate, measured) in NS3_SINGLE_STATION {
        for (security_b, measured) in SECURITY_B.into_iter().zip(measured) {
            let goodput = alone_by_closed_form(rate, security_b).goodput_mbps(1500);
            assert!(
                relative_error(goodput, measured) < 0.001,
                "{rate} Mbit/s, +{security_b} B: {goodput}"
            );
        }
    }
}

#[test]
fn one_station_agrees_with_ns3() {
    for (rate, measured) in NS3_SINGLE_STATION {
        let mode = Mode::ofdm(rate).unwrap();
        for (security_b, measured) in SECURITY_B.into_iter().zip(measured) {
            let goodput = saturated_mbps(&station(mode, security_b), mode, 1, true, Nanos::from_secs(30));
            assert!(
                relative_error(goodput, measured) < 0.003,
                "{mode}, +{security_b} B: {goodput}, ns-3 {measured}"
            );
        }
    }
}

#[test]
fn one_station_agrees_with_the_closed_form_on_every_phy() {
    let modes = [
        Mode::dsss(1_000, Preamble::Long),
        Mode::dsss(11_000, Preamble::Short),
        Mode::ofdm(18),
        Mode::erp(54),
        Mode::ht(7, 20, GuardInterval::Long, Band::Ghz5),
        Mode::ht(15, 40, GuardInterval::Short, Band::Ghz2_4),
        Mode::vht(9, 3, 80, GuardInterval::Short),
    ];
    for mode in modes.map(Result::unwrap) {
        for security_b in [0, 16] {
            let mut station = station(mode, security_b);
            for aggregation in [Aggregation::NONE, Aggregation::ampdu(&mode)] {
                station.aggregation = aggregation;
                let len_b = station.framing.mpdu_len_b(1508);
                let (bss, access) = (Bss::for_mode(&mode), Access::for_mode(&mode));
                let expected =
                    saturated_single_station(&bss, &mode, &access, &aggregation, Protection::None, len_b);
                let goodput = saturated_mbps(&station, mode, 1, true, Nanos::from_secs(5));
                let (expected_mbps, share) = (
                    expected.goodput_mbps(1500),
                    expected.backoff_us / expected.cycle_us(),
                );
                // Only the backoff is random, so the tolerance depends on its share.
                let error = relative_error(goodput, expected_mbps);
                assert!(
                    error < 0.001 + 0.025 * share,
                    "{mode}, +{security_b} B: {goodput}, {expected_mbps}"
                );
            }
        }
    }
}

/// One saturated 802.11g station with 802.11b stations, MSDU of 1500 octets at 54 Mbit/s, by hand: DIFS of 50 us, 7.5
/// slots of 20 us, 203 us for a CTS-to-self at 11 Mbit/s with the long preamble, SIFS, PPDU, SIFS, Ack at 24 Mbit/s.
/// `aCWmin` stays 15, because the access point supports ERP rates (18.4.5).
#[test]
fn closed_form_gives_the_cycle_of_802_11g_with_802_11b_stations() {
    let mode = Mode::erp(54).unwrap();
    let pure = Bss::for_mode(&mode);
    let len_b = 1500 + OFDM_OVERHEAD_B;
    let cycle_us = |bss: &Bss, protection| {
        let (access, none) = (Access::for_mode(&mode), Aggregation::NONE);
        saturated_single_station(bss, &mode, &access, &none, protection, len_b).cycle_us()
    };
    let (ppdu_us, ack_us) = (20.0 + 57.0 * 4.0 + 6.0, 28.0 + 6.0);
    let rest_us = ppdu_us + 10.0 + ack_us;
    assert_eq!(cycle_us(&pure, Protection::None), 28.0 + 67.5 + rest_us);
    let mixed = pure.with_dot11b_stations();
    assert_eq!(
        cycle_us(&mixed, Protection::CtsToSelf),
        50.0 + 150.0 + (203.0 + 10.0) + rest_us
    );
    let rts_cts_us = 207.0 + 10.0 + 203.0 + 10.0;
    assert_eq!(
        cycle_us(&mixed, Protection::RtsCts),
        50.0 + 150.0 + rts_cts_us + rest_us
    );
    // The PSDU of a DSSS CTS at 1 Mbit/s takes 112 us: the case of ns-3 (erp54-longslot-cts-to-self-n1-1472b).
    let one = Mode::dsss(1_000, Preamble::Long).unwrap();
    let ns3 = mixed.with_basic_rates(&[one]).unwrap();
    let measured_us = 1472.0 * 8.0 / 14.5;
    assert!(relative_error(cycle_us(&ns3, Protection::CtsToSelf), measured_us) < 0.002);
}

#[test]
fn protected_exchanges_agree_with_the_closed_form() {
    for mode in [
        Mode::erp(6),
        Mode::erp(54),
        Mode::ht(7, 20, GuardInterval::Long, Band::Ghz2_4),
    ]
    .map(Result::unwrap)
    {
        let bss = Bss::for_mode(&mode).with_dot11b_stations();
        for protection in [Protection::CtsToSelf, Protection::RtsCts] {
            let station = StationConfig {
                protection,
                ..station(mode, 0)
            };
            let len_b = station.framing.mpdu_len_b(1508);
            let access = Access::for_mode(&mode);
            let expected =
                saturated_single_station(&bss, &mode, &access, &station.aggregation, protection, len_b)
                    .goodput_mbps(1500);
            let config = MediumConfig::new(bss, &station, 2, 1);
            let goodput = sim::saturated(config, &uplink(1), 1508, Nanos::from_secs(5))
                .unwrap()
                .goodput_mbps(1500);
            assert!(
                relative_error(goodput, expected) < 0.01,
                "{mode}, {protection:?}: {goodput}, {expected}"
            );
        }
    }
}

/// Bianchi's model of n saturated stations as ns-3 computes it for its wifi-bianchi.cc, Mbit/s, MSDU of 1500
/// octets: all stations wait for DIFS, or all wait for EIFS after a collision. It has no retry limit. It
/// approximates: collisions are independent, and counters also decrease in busy slots.
#[test]
fn contention_agrees_with_bianchi() {
    for (rate, difs, eifs) in [
        (6, [4.7087, 4.3453, 3.5071], [4.6899, 4.3197, 3.4711]),
        (12, [8.9515, 8.2901, 6.7278], [8.8972, 8.2154, 6.6225]),
        (24, [16.2470, 15.1426, 12.4144], [16.0836, 14.9153, 12.0889]),
        (54, [29.8324, 28.1519, 23.5618], [29.2861, 27.3763, 22.4162]),
    ] {
        let mode = Mode::ofdm(rate).unwrap();
        let mut station = StationConfig {
            queue_limit: 2,
            ..station(mode, 0)
        };
        station.access[0].retry_limit = u8::MAX;
        for (waits_eifs, published) in [(false, difs), (true, eifs)] {
            for (stations, published) in [5, 10, 50].into_iter().zip(published) {
                // About ten thousand exchanges.
                let span = Nanos::from_secs(if rate <= 12 { 30 } else { 10 });
                let goodput = saturated_mbps(&station, mode, stations, waits_eifs, span);
                let case = format!("{rate} Mbit/s, n = {stations}, EIFS {waits_eifs}");
                println!(
                    "{case}: {goodput:.4}, published {published}, {:.4}",
                    goodput / published - 1.0
                );
                assert!(
                    relative_error(goodput, published) < 0.02,
                    "{case}: {goodput}, {published}"
                );
            }
        }
    }
}

/// UDP payloads of 1472 octets at MCS 7, 20 MHz: the bounds of ns-3's wifi-aggregation example. The example
/// combines A-MPDUs of 65 535 octets and A-MSDUs of 7 935 octets, each enabled or disabled; with both
/// enabled, it uses A-MPDUs of 32 768 octets and A-MSDUs of 3 839 octets. An access point with beacons sends
/// to a station. MSDU: LLC/SNAP 8 octets, IP and UDP 28 octets.
#[test]
fn ht_aggregation_keeps_the_bounds_of_ns3() {
    let mode = Mode::ht(7, 20, GuardInterval::Long, Band::Ghz5).unwrap();
    let ampdu = Aggregation::ampdu(&mode);
    let amsdu = |max_amsdu_len_b, aggregation| Aggregation {
        max_amsdu_len_b,
        ..aggregation
    };
    let shorter = Aggregation {
        max_len_b: 32_768,
        ..ampdu
    };
    for (aggregation, bounds) in [
        (Aggregation::NONE, 30.0..31.0),
        (ampdu, 59.0..60.0),
        (amsdu(7935, Aggregation::NONE), 51.0..52.0),
        (amsdu(3839, shorter), 58.0..59.0),
    ] {
        let station = StationConfig {
            aggregation,
            queue_limit: 200,
            ..StationConfig::new(mode, 0)
        };
        let mut config = MediumConfig::new(Bss::ht(Band::Ghz5), &station, 2, 1);
        config.beacons = Some(Beacons {
            interval: Beacons::TU * 100,
            // Header, FCS and fixed fields 40, then SSID, rates, EDCA parameters, HT Capabilities and HT
            // Operation.
            len_b: 40 + 11 + 10 + 20 + 28 + 24,
        });
        let outcome = sim::saturated(config, &[route(0, 1)], 1508, Nanos::from_secs(10)).unwrap();
        let goodput = outcome.goodput_mbps(1472);
        println!("{aggregation:?}: {goodput:.3}");
        assert!(bounds.contains(&goodput), "{aggregation:?}: {goodput}");
    }
}

/// A-MPDUs of several stations: their collisions are long, so the model must include the PPDU.
#[test]
fn aggregating_stations_agree_with_the_model() {
    let mode = Mode::vht(9, 2, 80, GuardInterval::Short).unwrap();
    let (bss, access, aggregation) = (Bss::vht(), Access::for_mode(&mode), Aggregation::ampdu(&mode));
    for stations in [2, 10] {
        let contention = Contention {
            stations,
            protection: Protection::None,
            model: ContentionModel::Countdown,
            eifs: true,
        };
        let expected =
            saturated_stations(&bss, &mode, &access, &aggregation, 1538, &contention).goodput_mbps(1500);
        let goodput = saturated_mbps(&station(mode, 0), mode, stations, true, Nanos::from_secs(8));
        assert!(
            relative_error(goodput, expected) < 0.015,
            "n = {stations}: {goodput}, {expected}"
        );
    }
}

/// Mean round trip of a request of 200 octets and a response of 1500 octets (as MPDUs), us. `turnaround` is
/// the time that the responder's processor takes for both frames.
fn round_trip_us(mode: Mode, turnaround: Nanos, think: Nanos, rounds: u64) -> f64 {
    let station = StationConfig {
        aggregation: Aggregation::NONE,
        ..station(mode, 0)
    };
    // LLC/SNAP, IP, UDP, and the octets that an MPDU adds.
    let headers_b = station.framing.mpdu_len_b(8 + 20 + 8);
    let flow = Flow {
        from: End::Station(1),
        to: End::Station(0),
        source: Source::RequestResponse {
            request_b: 200 - headers_b,
            response_b: 1500 - headers_b,
            think,
        },
        ip: IpVersion::V4,
        contender: 0,
        mtu_b: None,
        sockets: UdpSockets::default(),
        cpu: Cpu::NONE,
    };
    // Half of the time opens the request, half seals the response.
    let interval = FrameTime {
        frame: Nanos(turnaround.0 / 2),
        octet_ns: 0.0,
    };
    let responder = Processor {
        interval,
        latency: FrameTime::ZERO,
    };
    let scenario = Scenario {
        medium: MediumConfig::new(Bss::for_mode(&mode), &station, 2, 1),
        processors: vec![responder, Processor::NONE],
        receive_limit: 10,
        wired: Wired::gigabit(),
        flows: vec![flow],
        warmup: Nanos::from_ms(50),
        duration: (Nanos::from_ms(2) + think) * rounds,
    };
    let outcome = sim::simulate(&scenario).unwrap();
    let round_trips = &outcome.flows[0].round_trips;
    assert!(
        round_trips.count() >= rounds / 2,
        "{} round trips",
        round_trips.count()
    );
    round_trips.mean().unwrap().as_us_f64()
}

#[test]
fn round_trips_agree_with_their_closed_forms() {
    let mcs7 = Mode::ht(7, 20, GuardInterval::Long, Band::Ghz5).unwrap();
    for mode in [Mode::ofdm(6).unwrap(), Mode::ofdm(54).unwrap(), mcs7] {
        let (bss, access) = (Bss::for_mode(&mode), Access::for_mode(&mode));
        let measured = round_trip_us(mode, Nanos::ZERO, Nanos::ZERO, 10_000);
        let expected = closed_loop_round_trip(&bss, &mode, &access, Protection::None, 200, 1500).total_us();
        assert!(
            relative_error(measured, expected) < 0.004,
            "{mode}: {measured}, {expected}"
        );

        // Answers during the Ack, in the interframe space after it, and later.
        for turnaround in [0, 42, 62, 200].map(Nanos::from_us) {
            let measured = round_trip_us(mode, turnaround, Nanos::from_ms(10), 3000) - turnaround.as_us_f64();
            let expected =
                idle_round_trip(&bss, &mode, &access, Protection::None, 200, 1500, turnaround).total_us();
            assert!(
                relative_error(measured, expected) < 0.004,
                "{mode}, turnaround {turnaround}: {measured}, {expected}"
            );
        }
    }
}
