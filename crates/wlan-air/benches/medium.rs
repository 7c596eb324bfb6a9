//! Speed of the medium: events a second, one event being a start or an end of a transmission.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wlan_air::phy::{GuardInterval, Mode};
use wlan_air::{Access, Aggregation, Event, Medium, MediumConfig};

/// Performs `events` events of saturated stations, whose delivered frames are queued again.
fn run(medium: &mut Medium<[u8; 16]>, mpdu_len_b: usize, events: usize) {
    let mut returning = [(0, [0; 16]); 64];
    for _ in 0..events {
        let mut count = 0;
        if let Some(Event::TxEnd {
            delivered, given_up, ..
        }) = medium.advance()
        {
            for (slot, mpdu) in returning.iter_mut().zip(delivered.chain(given_up)) {
                *slot = (mpdu.station, mpdu.frame);
                count += 1;
            }
        }
        for &(station, frame) in &returning[..count] {
            let _ = medium.enqueue(station, medium.now(), mpdu_len_b, black_box(frame));
        }
    }
}

fn speed(c: &mut Criterion) {
    const EVENTS: usize = 100_000;
    let ofdm54 = Mode::ofdm(54).expect("a rate of clause 17");
    let mcs7 = Mode::ht(7, 20, GuardInterval::Long).expect("an MCS of clause 19");
    let mut group = c.benchmark_group("events");
    group.throughput(Throughput::Elements(EVENTS as u64));
    for (name, mode, access, aggregation, stations) in [
        ("ofdm54/1", ofdm54, Access::dcf(), Aggregation::None, 1),
        ("ofdm54/2", ofdm54, Access::dcf(), Aggregation::None, 2),
        ("ofdm54/10", ofdm54, Access::dcf(), Aggregation::None, 10),
        (
            "ht-mcs7-ampdu/2",
            mcs7,
            Access::edca_best_effort(),
            Aggregation::ht(),
            2,
        ),
    ] {
        let config = MediumConfig {
            mode,
            access,
            aggregation,
            stations,
            queue_limit: 128,
            seed: 1,
        };
        let mut medium = Medium::new(config).expect("a valid configuration");
        for station in 0..stations {
            for _ in 0..64 {
                let _ = medium.enqueue(station, medium.now(), 1536, [0; 16]);
            }
        }
        group.bench_function(name, |b| b.iter(|| run(&mut medium, 1536, EVENTS)));
    }
    group.finish();
}

criterion_group!(benches, speed);
criterion_main!(benches);
