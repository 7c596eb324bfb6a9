//! The hot path allocates nothing once its buffers have grown.

use wlan_air::phy::{GuardInterval, Mode};
use wlan_air::{Access, Aggregation, Event, Medium, MediumConfig};

#[test]
fn events_allocate_nothing_after_warm_up() {
    let config = MediumConfig {
        mode: Mode::ht(7, 20, GuardInterval::Short).unwrap(),
        access: Access::edca_best_effort(),
        aggregation: Aggregation::ht(),
        stations: 4,
        queue_limit: 128,
        seed: 1,
    };
    let mut medium = Medium::new(config).unwrap();
    let run = |medium: &mut Medium<[u8; 32]>, events: usize| {
        for _ in 0..events {
            for station in 0..4 {
                while medium.enqueue(station, medium.now(), 1538, [0; 32]).is_ok() {}
            }
            if medium
                .advance()
                .is_some_and(|event| matches!(event, Event::TxStart { .. }))
            {
                let octets: usize = medium.on_air_mut().map(|(_, frames)| frames.len()).sum();
                assert!(octets > 0);
            }
        }
    };
    run(&mut medium, 1000);
    assert!(
        medium.counters().collisions > 0,
        "the warm-up must have grown every buffer"
    );
    let allocations = allocation_counter::measure(|| run(&mut medium, 1000));
    assert_eq!(allocations.count_total, 0);
}
