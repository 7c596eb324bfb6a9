//! Memory: events allocate no memory once buffers have grown, and a simulation's memory does not grow with
//! simulated time.

mod common;

use common::{ht_config, msdu, route};
use wlan_air::phy::{Band, Bss, GuardInterval, Mode};
use wlan_air::sim::{End, Flow, FrameTime, Processor, Scenario, Source, Tcp, UdpSockets, Wired, simulate};
use wlan_air::tcp::IpVersion;
use wlan_air::{Cpu, Event, Medium, MediumConfig, Nanos, StationConfig};

/// Stations 1 to 4, which send A-MPDUs to station 0 and always have full queues.
struct Saturated {
    medium: Medium<[u8; 32]>,
    octets: usize,
}

impl Saturated {
    fn new(max_amsdu_len_b: usize) -> Saturated {
        let mode = Mode::ht(7, 20, GuardInterval::Short, Band::Ghz5).unwrap();
        let mut config = ht_config(mode, 5);
        for station in &mut config.stations {
            station.aggregation.max_amsdu_len_b = max_amsdu_len_b;
        }
        let mut medium = Medium::new(config).unwrap();
        for from in 1..5 {
            for _ in 0..128 {
                medium.enqueue(route(from, 0), msdu(Nanos::ZERO, 1508, [0; 32]));
            }
        }
        Saturated { medium, octets: 0 }
    }

    fn run(&mut self, events: usize) {
        for _ in 0..events {
            let event = self.medium.advance();
            if let Some(Event::PpduStart(ppdu)) = event {
                self.octets += self
                    .medium
                    .on_air(ppdu.sender)
                    .map(|frame| frame.len())
                    .sum::<usize>();
            }
            self.medium.deliver().for_each(drop);
            let mut returned = [0; 5];
            for completion in self.medium.take_completions() {
                returned[completion.station] += 1;
            }
            for (from, count) in returned.into_iter().enumerate() {
                for _ in 0..count {
                    self.medium
                        .enqueue(route(from, 0), msdu(self.medium.now(), 1508, [0; 32]));
                }
            }
        }
    }
}

#[test]
fn events_allocate_nothing_after_warm_up() {
    for max_amsdu_len_b in [0, 3839] {
        let mut saturated = Saturated::new(max_amsdu_len_b);
        saturated.run(20_000);
        let collisions = saturated.medium.counters().collisions;
        assert!(
            collisions > 100,
            "{collisions} collisions: the warm-up must have grown every buffer"
        );
        let allocations = allocation_counter::measure(|| saturated.run(5_000));
        assert!(saturated.octets > 0);
        assert_eq!(allocations.count_total, 0, "A-MSDUs of {max_amsdu_len_b} octets");
    }
}

/// TCP up and down, datagrams and requests across processors and the wired segment.
fn scenario(seconds: u64) -> Scenario {
    let mode = Mode::ht(15, 40, GuardInterval::Short, Band::Ghz5).unwrap();
    let station = StationConfig {
        queue_limit: 100,
        ..StationConfig::new(mode, 16)
    };
    let tcp = Source::Tcp(Tcp {
        coalesce: false,
        ..Tcp::linux()
    });
    let request_response = Source::RequestResponse {
        request_b: 100,
        response_b: 500,
        think: Nanos::from_ms(1),
    };
    let poisson = Source::Poisson {
        rate_bps: 2_000_000,
        payload_b: 500,
    };
    let flow = |from, to, source| Flow {
        from,
        to,
        source,
        ip: IpVersion::V4,
        contender: 0,
        mtu_b: None,
        sockets: UdpSockets::default(),
        cpu: Cpu::NONE,
    };
    Scenario {
        medium: MediumConfig::new(Bss::for_mode(&mode), &station, 3, 1),
        processors: vec![
            Processor {
                interval: FrameTime {
                    frame: Nanos::from_us(1),
                    octet_ns: 1.0
                },
                latency: FrameTime {
                    frame: Nanos::ZERO,
                    octet_ns: 20.0
                },
            };
            3
        ],
        receive_limit: 200,
        wired: Wired::gigabit(),
        flows: vec![
            flow(End::Station(1), End::Server, tcp),
            flow(End::Server, End::Station(2), tcp),
            flow(End::Station(1), End::Station(2), poisson),
            flow(End::Station(2), End::Server, request_response),
        ],
        warmup: Nanos::from_secs(1),
        duration: Nanos::from_secs(seconds),
    }
}

#[test]
fn memory_does_not_grow_with_simulated_time() {
    let bytes = |seconds| {
        let scenario = scenario(seconds);
        let mut octets = 0;
        let allocations = allocation_counter::measure(|| {
            octets = simulate(&scenario)
                .unwrap()
                .flows
                .iter()
                .map(|flow| flow.octets)
                .sum();
        });
        assert!(octets > seconds * 5_000_000, "{octets} octets in {seconds} s");
        allocations.bytes_max
    };
    // The buffers of packets in transit may double once more.
    let (short, long) = (bytes(1), bytes(5));
    assert!(long < short + short / 4, "{short} octets for 1 s, {long} for 5 s");
}

/// A-MSDUs have separate buffers.
#[test]
fn every_buffer_is_returned() {
    let mode = Mode::vht(9, 1, 80, GuardInterval::Short).unwrap();
    let mut config = ht_config(mode, 2);
    config.stations[0].aggregation.max_amsdu_len_b = 7935;
    let run = |rounds: u64| {
        allocation_counter::measure(|| {
            let mut medium = Medium::new(config.clone()).unwrap();
            for round in 0..rounds {
                let at = Nanos::from_ms(round);
                for _ in 0..20 {
                    medium.enqueue(route(0, 1), msdu(at, 700, [0_u8; 32]));
                }
                while medium
                    .next_event()
                    .is_some_and(|event| event < at + Nanos::from_ms(1))
                {
                    medium.advance();
                    medium.deliver().for_each(drop);
                    medium.take_completions();
                }
            }
        })
        .bytes_max
    };
    assert_eq!(run(2000), run(200));
}
