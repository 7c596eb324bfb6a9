//! Speed of the medium in events per second. An event is the start or the end of a PPDU, or a timeout.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wlan_air::phy::{Band, Bss, GuardInterval, Mode};
use wlan_air::queue::Packet;
use wlan_air::{Aggregation, Medium, MediumConfig, Nanos, Route, StationConfig};

const MSDU_LEN_B: usize = 1508;

fn enqueue(medium: &mut Medium<[u8; 16]>, from: usize, arrival: Nanos) {
    let route = Route {
        from,
        to: Some(0),
        contender: 0,
    };
    let msdu = Packet {
        arrival,
        len_b: MSDU_LEN_B,
        flow: 0,
        frame: black_box([0; 16]),
    };
    medium.enqueue(route, msdu);
}

/// Executes `events` events of saturated stations: each frame that leaves is replaced by the next.
fn run(medium: &mut Medium<[u8; 16]>, completed: &mut Vec<usize>, events: usize) {
    for _ in 0..events {
        medium.advance();
        for (_, frame) in medium.deliver() {
            black_box(frame);
        }
        completed.extend(medium.take_completions().map(|completion| completion.station));
        let now = medium.now();
        for from in completed.drain(..) {
            enqueue(medium, from, now);
        }
    }
}

fn speed(c: &mut Criterion) {
    const EVENTS: usize = 100_000;
    let ofdm54 = Mode::ofdm(54).expect("a rate of clause 17");
    let mcs7 = Mode::ht(7, 20, GuardInterval::Long, Band::Ghz5).expect("an MCS of clause 19");
    let vht = Mode::vht(9, 3, 80, GuardInterval::Short).expect("an MCS of clause 21");
    let mut group = c.benchmark_group("events");
    group.throughput(Throughput::Elements(EVENTS as u64));
    for (name, mode, aggregation, stations) in [
        ("ofdm54/1", ofdm54, Aggregation::NONE, 1),
        ("ofdm54/10", ofdm54, Aggregation::NONE, 10),
        ("ofdm54/50", ofdm54, Aggregation::NONE, 50),
        ("ht-mcs7-ampdu/2", mcs7, Aggregation::ampdu(&mcs7), 2),
        ("vht-mcs9x3-ampdu/1", vht, Aggregation::ampdu(&vht), 1),
    ] {
        let station = StationConfig {
            aggregation,
            ..StationConfig::new(mode, 0)
        };
        let config = MediumConfig::new(Bss::for_mode(&mode), &station, stations + 1, 1);
        let mut medium = Medium::new(config).expect("a valid configuration");
        for from in 1..=stations {
            for _ in 0..128 {
                enqueue(&mut medium, from, Nanos::ZERO);
            }
        }
        let mut completed = Vec::new();
        group.bench_function(name, |b| b.iter(|| run(&mut medium, &mut completed, EVENTS)));
    }
    group.finish();
}

criterion_group!(benches, speed);
criterion_main!(benches);
