//! Complete simulations: TCP and datagrams between hosts, across processors, a wired segment and the air.

mod common;

use common::{route, us};
use wlan_air::channel::{Channel, ChannelConfig, ErrorModel, Fading, PerPair, Snr};
use wlan_air::phy::{Band, Bss, GuardInterval, Mode};
use wlan_air::queue::{Discipline, FqCodelConfig};
use wlan_air::sim::{
    self, End, Flow, FlowOutcome, FrameTime, Outcome, Processor, Scenario, Source, Tcp, UdpSockets, Wired,
    simulate,
};
use wlan_air::tcp::{IpVersion, Window};
use wlan_air::traffic::{Pace, WakeUp};
use wlan_air::{Cpu, MediumConfig, Nanos, RateControl, StationConfig};

/// LLC/SNAP, IPv4 and UDP headers.
const UDP_HEADERS_B: usize = 8 + 20 + 8;

fn ofdm(mbps: u16) -> Mode {
    Mode::ofdm(mbps).unwrap()
}

fn ht300() -> Mode {
    Mode::ht(15, 40, GuardInterval::Short, Band::Ghz5).unwrap()
}

/// MCS 9 at 80 MHz with the short guard interval: 433.3 Mbit/s per stream.
fn vht(streams: u8) -> Mode {
    Mode::vht(9, streams, 80, GuardInterval::Short).unwrap()
}

fn flow(from: End, to: End, source: Source) -> Flow {
    Flow {
        from,
        to,
        source,
        ip: IpVersion::V4,
        contender: 0,
        mtu_b: None,
        sockets: UdpSockets::default(),
        cpu: Cpu::NONE,
    }
}

fn tcp(window: Window, coalesce: bool) -> Source {
    Source::Tcp(Tcp {
        window,
        coalesce,
        ..Tcp::linux()
    })
}

fn saturated() -> Source {
    Source::Saturated { payload_b: 1472 }
}

/// An access point and two stations with queues of 256 frames, connected only by the air.
fn scenario(mode: Mode, flows: Vec<Flow>) -> Scenario {
    let station = StationConfig {
        queue_limit: 256,
        ..StationConfig::new(mode, 0)
    };
    Scenario {
        medium: MediumConfig::new(Bss::for_mode(&mode), &station, 3, 1),
        processors: vec![Processor::NONE; 3],
        receive_limit: 100,
        wired: Wired::gigabit(),
        flows,
        warmup: Nanos::from_secs(1),
        duration: Nanos::from_secs(2),
    }
}

fn mbps(outcome: &Outcome) -> f64 {
    outcome.flows[0].throughput_mbps(outcome.span)
}

/// Throughput of a single flow.
fn alone_mbps(mode: Mode, from: End, to: End, source: Source) -> f64 {
    mbps(&simulate(&scenario(mode, vec![flow(from, to, source)])).unwrap())
}

fn assert_within(value: f64, reference: f64, tolerance: f64) {
    let error = value / reference - 1.0;
    assert!(
        error.abs() < tolerance,
        "{value} instead of {reference}: {error:+.4}"
    );
}

/// TCP uses airtime for its ACKs and collides with them, so its throughput is below UDP's. The shorter a
/// frame's airtime, the larger the difference. Merging segments at the receiver reduces the number of ACKs.
#[test]
fn tcp_reaches_its_share_of_udp() {
    let (station, ap) = (End::Station(1), End::Station(0));
    for (mode, least, most) in [
        (ofdm(54), 0.78, 0.88),
        (ht300(), 0.85, 0.95),
        (vht(2), 0.80, 0.95),
        (vht(3), 0.78, 0.95),
    ] {
        let udp = alone_mbps(mode, station, ap, saturated());
        // Octets above a gap at the end of a short window would be up to 6 % of the throughput.
        let scenario = Scenario {
            duration: Nanos::from_secs(10),
            ..scenario(mode, vec![flow(station, ap, tcp(Window::linux(), true))])
        };
        let coalesced = mbps(&simulate(&scenario).unwrap());
        println!("{mode}: UDP {udp:.2}, TCP {coalesced:.2}, {:.3}", coalesced / udp);
        assert!(
            (least..most).contains(&(coalesced / udp)),
            "{mode}: UDP {udp}, TCP {coalesced}"
        );
    }
    let each = alone_mbps(ht300(), station, ap, tcp(Window::linux(), false));
    let coalesced = alone_mbps(ht300(), station, ap, tcp(Window::linux(), true));
    assert!(each < coalesced, "{each} {coalesced}");
}

/// Linux TCP over a real-time emulation of the same link reached 24.1 Mbit/s.
#[test]
fn tcp_over_802_11a_agrees_with_linux() {
    let flows = vec![flow(
        End::Station(1),
        End::Station(0),
        tcp(Window::linux(), false),
    )];
    let scenario = Scenario {
        duration: Nanos::from_secs(10),
        ..scenario(ofdm(54), flows)
    };
    assert_within(mbps(&simulate(&scenario).unwrap()), 24.1, 0.02);
}

/// 20 ms in each direction on the wire: one window per round-trip time.
#[test]
fn a_fixed_window_limits_tcp_to_one_window_per_round_trip() {
    for window_b in [100_000, 400_000, 1_000_000] {
        let mut scenario = scenario(
            vht(3),
            vec![flow(
                End::Server,
                End::Station(1),
                tcp(Window::Fixed(window_b), false),
            )],
        );
        scenario.wired.delay = Nanos::from_ms(20);
        scenario.duration = Nanos::from_secs(4);
        let measured = mbps(&simulate(&scenario).unwrap());
        // The air adds less than 2 ms to the round trip, and the gigabit wire adds the transmission time of a
        // window.
        let window_bits = window_b as f64 * 8.0;
        let (shortest_s, longest_s) = (0.040, 0.042 + window_bits / 1e9);
        assert!(
            (window_bits / longest_s..window_bits / shortest_s).contains(&(measured * 1e6)),
            "{window_b} octets: {measured} Mbit/s"
        );
    }
}

#[test]
fn traffic_through_the_access_point_uses_the_air_twice() {
    let (one, other, ap) = (End::Station(1), End::Station(2), End::Station(0));
    for (source, mode) in [(saturated(), ofdm(54)), (tcp(Window::linux(), true), ht300())] {
        let direct = alone_mbps(mode, one, ap, source);
        let through = alone_mbps(mode, one, other, source);
        let share = through / direct;
        assert!((0.42..0.55).contains(&share), "{mode}: {direct}, {through}");
    }
}

/// The access point forwards MPDUs, not the segments that a host merged: segments that cross the air twice have
/// the same number and length both times.
#[test]
fn segments_are_coalesced_only_at_the_receiver() {
    let flow = |coalesce| flow(End::Station(1), End::Station(2), tcp(Window::linux(), coalesce));
    for coalesce in [false, true] {
        let outcome = simulate(&scenario(vht(3), vec![flow(coalesce)])).unwrap();
        let [relay, source] = [0, 1].map(|station| outcome.counters.stations[station]);
        let mean_b = |of: wlan_air::StationCounters| of.octets as f64 / of.mpdus as f64;
        if coalesce {
            // Few ACKs, so that almost all frames of the access point are full segments.
            assert_within(mean_b(relay), mean_b(source), 0.1);
        } else {
            assert!(mean_b(relay) < mean_b(source));
        }
    }
}

/// A packet of 1500 octets has 38 octets of Ethernet framing; a segment carries 1448 octets, a datagram 1472.
#[test]
fn the_wired_segment_can_be_the_bottleneck() {
    for (source, payload_b) in [(tcp(Window::linux(), false), 1448.0), (saturated(), 1472.0)] {
        for (from, to) in [(End::Server, End::Station(1)), (End::Station(1), End::Server)] {
            let mut scenario = scenario(ofdm(54), vec![flow(from, to, source)]);
            scenario.wired.rate_bps = 10_000_000;
            scenario.wired.queue_limit = 50;
            scenario.duration = Nanos::from_secs(5);
            let outcome = simulate(&scenario).unwrap();
            assert_within(mbps(&outcome), 10.0 * payload_b / 1538.0, 0.01);
        }
    }
}

/// A processor that takes this time for each frame.
fn every(frame: Nanos) -> Processor {
    Processor {
        interval: FrameTime { frame, octet_ns: 0.0 },
        latency: FrameTime::ZERO,
    }
}

/// A request on an idle medium is sent at once, and so is its response if opening and sealing take longer
/// than the Ack and DIFS. The round trip is exactly four service times and two PPDUs, to the nanosecond.
#[test]
fn a_processor_adds_its_service_time_to_an_idle_round_trip() {
    let (request_b, response_b) = (64, 1000);
    let mode = ofdm(54);
    for processor in [
        every(us(60)),
        Processor {
            interval: FrameTime {
                frame: us(250),
                octet_ns: 83.3,
            },
            latency: FrameTime {
                frame: us(5),
                octet_ns: 100.0,
            },
        },
    ] {
        let source = Source::RequestResponse {
            request_b,
            response_b,
            think: Nanos::from_ms(20),
        };
        let mut scenario = scenario(mode, vec![flow(End::Station(1), End::Station(0), source)]);
        scenario.processors = vec![processor; 3];
        let outcome = simulate(&scenario).unwrap();
        let round_trips = &outcome.flows[0].round_trips;
        let expected: Nanos = [request_b, response_b]
            .map(|payload_b| {
                let msdu_b = payload_b + UDP_HEADERS_B;
                (processor.interval.of(msdu_b) + processor.latency.of(msdu_b)) * 2
                    + mode.ppdu_duration(msdu_b + 28)
            })
            .into_iter()
            .sum();
        assert!(round_trips.count() > 80);
        assert_eq!(
            (round_trips.mean(), round_trips.max()),
            (Some(expected), Some(expected))
        );
        assert_eq!(outcome.flows[0].timeouts, 0);
    }
}

/// A card that takes a millisecond per frame sends a thousand frames per second, at any position on the path.
/// The different limits of its station's queue and its processor do not matter.
#[test]
fn a_slow_card_limits_throughput_to_its_own_rate() {
    let slow = every(Nanos::from_ms(1));
    for (from, to, at) in [
        (End::Station(1), End::Station(0), 1),
        (End::Station(1), End::Station(0), 0),
        (End::Server, End::Station(1), 0),
        (End::Server, End::Station(1), 1),
    ] {
        for limit in [2, 10, 1000] {
            let mut scenario = scenario(ofdm(54), vec![flow(from, to, saturated())]);
            scenario.processors[at] = slow;
            scenario.receive_limit = limit;
            let outcome = simulate(&scenario).unwrap();
            assert_within(mbps(&outcome), 1472.0 * 8.0 * 1000.0 / 1e6, 0.01);
            // Busy from the first frame on; the last frames are not finished.
            let busy = outcome.processors[at].busy.as_secs_f64();
            assert!(
                (2.95..3.0 + 1e-3 * (limit + 1) as f64).contains(&busy),
                "{from:?} {limit}: {busy} s"
            );
        }
    }
}

/// A saturated station offers its processor only as many frames as the processor holds, so it loses none
/// there.
#[test]
fn a_saturated_source_loses_nothing_at_its_own_card() {
    let mut scenario = scenario(
        ofdm(54),
        vec![flow(End::Station(1), End::Station(0), saturated())],
    );
    scenario.processors[1] = every(us(700));
    scenario.receive_limit = 3;
    let outcome = simulate(&scenario).unwrap();
    assert_eq!(outcome.processors[1].drops, 0);
    assert_eq!(outcome.flows[0].meter.loss.share(), Some(0.0));
}

/// Frames that are being sealed occupy buffers of the card: under overload, a card that seals loses no less and queues no
/// more than a card without security.
#[test]
fn sealing_adds_no_buffers_to_a_card() {
    let overload = Source::Cbr {
        rate_bps: 50_000_000,
        payload_b: 1472,
        pace: Pace::Even,
    };
    let of = |processor| {
        let flows = vec![flow(End::Station(1), End::Station(0), overload)];
        let mut scenario = scenario(ofdm(54), flows);
        scenario.processors = vec![processor; 3];
        let outcome = simulate(&scenario).unwrap();
        (
            outcome.flows[0].meter.loss.share().unwrap(),
            outcome.flows[0].meter.delays.mean().unwrap(),
        )
    };
    let (open_loss, open_delay) = of(Processor::NONE);
    // A little faster than the air.
    let (sealed_loss, sealed_delay) = of(every(us(300)));
    assert!(sealed_loss > open_loss - 0.005, "{open_loss} {sealed_loss}");
    assert!(
        sealed_delay < open_delay + us(3 * 300),
        "{open_delay} {sealed_delay}"
    );
}

/// A bulk TCP flow and a call of 50 packets per second from one station.
#[test]
fn fq_codel_keeps_a_sparse_flow_fast_beside_a_bulk_flow() {
    let call = Source::Cbr {
        rate_bps: 64_000,
        payload_b: 160,
        pace: Pace::Even,
    };
    let p95 = |discipline| {
        let flows = [tcp(Window::linux(), false), call];
        let flows = flows.map(|source| flow(End::Station(1), End::Station(0), source));
        let mut scenario = scenario(ofdm(54), flows.to_vec());
        scenario.medium.stations[1].discipline = discipline;
        scenario.duration = Nanos::from_secs(5);
        let outcome = simulate(&scenario).unwrap();
        let bulk = mbps(&outcome);
        assert!(bulk > 20.0, "{discipline:?}: {bulk}");
        let call: &FlowOutcome = &outcome.flows[1];
        assert!(call.meter.loss.share().unwrap() < 0.01);
        call.meter.delays.percentile(95.0).unwrap()
    };
    let fifo = p95(Discipline::Fifo);
    let fq_codel = p95(Discipline::FqCodel(FqCodelConfig::rfc8290()));
    assert!(fifo > Nanos::from_ms(50), "{fifo}");
    assert!(fq_codel < Nanos::from_ms(6), "{fq_codel}");
}

#[test]
fn contradictory_scenarios_are_refused() {
    let refused = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = scenario(
            ofdm(54),
            vec![flow(End::Station(1), End::Station(2), saturated())],
        );
        change(&mut scenario);
        simulate(&scenario).unwrap_err()
    };
    for (error, message) in [
        (refused(&|s| s.flows[0].to = End::Station(3)), "station 3"),
        (refused(&|s| s.flows[0].to = End::Station(1)), "same station"),
        (refused(&|s| s.flows[0].contender = 1), "access category 1"),
        (refused(&|s| s.processors.truncate(2)), "2 processors for 3"),
        (refused(&|s| s.processors[0].interval.octet_ns = -1.0), "-1 ns"),
        (refused(&|s| s.receive_limit = 0), "at least one received packet"),
        (
            refused(&|s| s.processors[0].latency.octet_ns = f64::NAN),
            "NaN ns",
        ),
        (refused(&|s| s.duration = Nanos::ZERO), "longer than 0"),
        (refused(&|s| s.wired.rate_bps = 0), "requires a rate"),
        (
            refused(&|s| s.flows[0].source = Source::Saturated { payload_b: 0 }),
            "at least 1 octet",
        ),
        (
            refused(&|s| s.flows[0].source = Source::Saturated { payload_b: 2269 }),
            "MSDU of 2305",
        ),
    ] {
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn equal_seeds_give_equal_outcomes() {
    let outcome = |seed| {
        let poisson = Source::Poisson {
            rate_bps: 2_000_000,
            payload_b: 500,
        };
        let flows = vec![
            flow(End::Station(1), End::Station(0), tcp(Window::linux(), false)),
            flow(End::Server, End::Station(2), poisson),
        ];
        let mut scenario = scenario(ofdm(54), flows);
        scenario.medium.seed = seed;
        format!("{:?}", simulate(&scenario).unwrap())
    };
    assert_eq!(outcome(1), outcome(1));
    assert_ne!(outcome(1), outcome(2));
}

/// 802.11a stations at a given SNR.
fn over_channel(rate: RateControl, snr_db: f64, fading: Fading) -> sim::Saturated {
    let station = StationConfig {
        rate,
        queue_limit: 10,
        ..StationConfig::new(ofdm(6), 0)
    };
    let mut config = MediumConfig::new(Bss::ofdm(), &station, 2, 1);
    let channel = ChannelConfig {
        stations: 2,
        snr: Snr::Db(PerPair::Same(snr_db)),
        fading,
        error_model: ErrorModel::Nist,
        seed: 1,
    };
    config.channel = Some(Channel::new(&channel).unwrap());
    sim::saturated(config, &[route(1, 0)], 1508, Nanos::from_secs(10)).unwrap()
}

fn minstrel() -> RateControl {
    RateControl::Minstrel([6, 9, 12, 18, 24, 36, 48, 54].map(ofdm).to_vec())
}

#[test]
fn minstrel_settles_near_the_best_fixed_rate() {
    for snr_db in [5.0, 12.0, 18.0, 30.0] {
        let fixed = [6, 9, 12, 18, 24, 36, 48, 54].map(|rate| {
            over_channel(RateControl::Fixed(ofdm(rate)), snr_db, Fading::None).goodput_mbps(1500)
        });
        let best = fixed.into_iter().fold(0.0, f64::max);
        let chosen = over_channel(minstrel(), snr_db, Fading::None).goodput_mbps(1500);
        println!("{snr_db} dB: {chosen:.2}, fixed {fixed:.2?}");
        assert!(chosen > 0.9 * best, "{snr_db} dB: {chosen}, best {best}");
    }
}

/// Fades of tens of milliseconds: no rate is always the best, and rate adaptation loses less than the fastest
/// rate.
#[test]
fn fading_costs_throughput() {
    let rayleigh = Fading::Rayleigh {
        coherence_time: Nanos::from_ms(200),
    };
    let rician = Fading::Rician {
        k_factor_db: 10.0,
        coherence_time: Nanos::from_ms(200),
    };
    let still = over_channel(minstrel(), 25.0, Fading::None).goodput_mbps(1500);
    let weak = over_channel(minstrel(), 25.0, rician).goodput_mbps(1500);
    let strong = over_channel(minstrel(), 25.0, rayleigh);
    let fastest = over_channel(RateControl::Fixed(ofdm(54)), 25.0, rayleigh).goodput_mbps(1500);
    let adapted = strong.goodput_mbps(1500);
    println!("{still:.2} {weak:.2} {adapted:.2} {fastest:.2}");
    assert!(still > weak && weak > adapted, "{still} {weak} {adapted}");
    assert!(adapted > 0.4 * still, "{still} {adapted}");
    assert!(strong.counters.stations[1].losses > 100);
}

/// A host whose CPU takes 100 us per write of 128 octets sends 10.24 Mbit/s, and one that takes 1 ms for a datagram of
/// 1472 octets sends 11.776 Mbit/s, over a link that carries more.
#[test]
fn the_cpu_of_a_slow_host_limits_its_throughput() {
    let slow = |source, write, packet| {
        let cpu = Cpu {
            write,
            packet,
            ..Cpu::NONE
        };
        let flow = Flow {
            cpu,
            ..flow(End::Station(1), End::Station(0), source)
        };
        mbps(&simulate(&scenario(ofdm(54), vec![flow])).unwrap())
    };
    let small = |window| {
        Source::Tcp(Tcp {
            window,
            call_b: 128,
            ..Tcp::linux()
        })
    };
    for window in [Window::linux(), Window::Socket(65_536)] {
        let mbps = slow(small(window), us(100), Nanos::ZERO);
        assert!((mbps / 10.24 - 1.0).abs() < 0.01, "{mbps}");
        // The packets take the CPU's time too.
        let less = slow(small(window), us(100), us(200));
        assert!((4.0..9.0).contains(&less), "{less}");
    }
    for source in [
        saturated(),
        Source::Cbr {
            rate_bps: 20_000_000,
            payload_b: 1472,
            pace: Pace::Timer(Nanos::from_ms(1)),
        },
    ] {
        let mbps = slow(source, us(400), us(600));
        assert!((mbps / 11.776 - 1.0).abs() < 0.01, "{mbps}");
    }
}

/// While the link limits the sender, its writes collect in the send buffer, and all segments are full: the size of the
/// writes changes nothing.
#[test]
fn the_size_of_writes_does_not_matter_to_a_fast_host() {
    let with_writes_of = |call_b| {
        let cpu = Cpu {
            write: Nanos(20),
            ..Cpu::NONE
        };
        let tcp = Source::Tcp(Tcp {
            call_b,
            ..Tcp::linux()
        });
        let flow = Flow {
            cpu,
            ..flow(End::Station(1), End::Station(0), tcp)
        };
        mbps(&simulate(&scenario(vht(1), vec![flow])).unwrap())
    };
    let large = with_writes_of(128 << 10);
    for call_b in [128, 640, 1408] {
        let small = with_writes_of(call_b);
        assert!(
            (small / large - 1.0).abs() < 0.03,
            "{call_b}: {small} and {large}"
        );
    }
}

/// A program that runs some time after a packet arrives delays the datagrams that it reads once, and a round trip twice:
/// at the server and at the client. The datagrams that wait for it share its wake-up.
#[test]
fn wake_ups_delay_datagrams_once_and_round_trips_twice() {
    let (station, ap) = (End::Station(1), End::Station(0));
    let outcome = |source, wake_up, seed| {
        let flow = Flow {
            cpu: Cpu { wake_up, ..Cpu::NONE },
            ..flow(station, ap, source)
        };
        let mut scenario = scenario(ofdm(54), vec![flow]);
        scenario.medium.seed = seed;
        scenario.duration = Nanos::from_secs(20);
        simulate(&scenario).unwrap().flows.remove(0)
    };
    let asking = Source::RequestResponse {
        request_b: 100,
        response_b: 100,
        think: Nanos::from_ms(5), // the backoff after the last frame has ended
    };
    let load = Source::Cbr {
        rate_bps: 2_000_000,
        payload_b: 1000,
        pace: Pace::Timer(Nanos::from_ms(1)),
    };
    let exponential = |mean| WakeUp::Exponential { mean };
    let constant = |mean| WakeUp::Lognormal {
        mean,
        deviation: Nanos::ZERO,
    };
    let round_trip_us = |wake_up, seed| {
        outcome(asking, wake_up, seed)
            .round_trips
            .mean()
            .unwrap()
            .as_us_f64()
    };
    // After 1 ms the medium is idle: no backoff precedes the response.
    let after_1_ms = round_trip_us(constant(us(1000)), 1);
    assert_within(round_trip_us(constant(us(2000)), 1), after_1_ms + 2000.0, 1e-6);
    let drawn = |seed| round_trip_us(exponential(us(1000)), seed);
    assert_within(drawn(1), after_1_ms, 0.05);
    assert!(drawn(1).to_bits() == drawn(1).to_bits(), "the seed decides");
    assert!(drawn(1).to_bits() != drawn(2).to_bits(), "the seed decides");

    let of = |wake_up| {
        let meter = outcome(load, wake_up, 1).meter;
        (
            meter.delays.mean().unwrap().as_us_f64(),
            meter.jitter.mean().as_us_f64(),
        )
    };
    let (instant_us, none_us) = of(WakeUp::Instant);
    let (delay_us, jitter_us) = of(exponential(us(200)));
    assert_within(delay_us, instant_us + 200.0, 0.05);
    assert!(none_us < 1.0, "{none_us}");
    // A datagram every 4 ms: the difference of two receivers' delays has a Laplace distribution, whose mean absolute value
    // is the mean of the delays. The sender's delay is part of neither.
    assert_within(jitter_us, 200.0, 0.1);
}

/// While its program sleeps, a receive buffer of 8 KB holds 7 of the 16 full datagrams that arrive at 54 Mbit/s in 6 ms.
#[test]
fn a_sleeping_program_lets_its_receive_buffer_overflow() {
    let lost = |mean| {
        let flow = Flow {
            sockets: UdpSockets {
                buffer_b: Some(8 << 10),
                ..UdpSockets::default()
            },
            cpu: Cpu {
                wake_up: WakeUp::Lognormal {
                    mean,
                    deviation: Nanos::ZERO,
                },
                ..Cpu::NONE
            },
            ..flow(End::Station(1), End::Station(0), saturated())
        };
        let outcome = simulate(&scenario(ofdm(54), vec![flow])).unwrap();
        outcome.flows[0].meter.loss.share().unwrap()
    };
    assert!(lost(us(1000)).abs() < 1e-9);
    let share = lost(us(6000));
    assert!((0.5..0.62).contains(&share), "{share}");
}

/// An application that reads late delays the window of TCP, not its data: a short latency costs nothing.
#[test]
fn tcp_hardly_depends_on_short_wake_ups() {
    let with = |wake_up| {
        let flow = Flow {
            cpu: Cpu { wake_up, ..Cpu::NONE },
            ..flow(End::Station(1), End::Station(0), tcp(Window::linux(), true))
        };
        mbps(&simulate(&scenario(ofdm(54), vec![flow])).unwrap())
    };
    let instant = with(WakeUp::Instant);
    assert_within(with(WakeUp::Exponential { mean: us(50) }), instant, 0.05);
}
