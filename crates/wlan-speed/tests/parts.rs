//! The times of the parts of sealing a frame are plausible. The test does not depend on their values.

use std::time::Duration;

use wlan_ciphers::Backend;
use wlan_speed::{Part, Scheme, measure_parts};

#[test]
fn every_scheme_has_every_part_with_its_quartiles_around_its_median() {
    for scheme in Scheme::all() {
        let times = measure_parts(scheme, 200, Backend::detect(), Duration::from_millis(1)).unwrap();
        // On a very busy machine some parts may have no figure.
        for time in &times {
            let (low, high) = time.ns_per_frame.quartiles;
            let median = time.ns_per_frame.median;
            assert!(low <= median && median <= high, "{scheme:?} {:?}", time.part);
            assert!(time.ns_per_frame.count > 0, "{scheme:?}");
            if time.part != Part::Open {
                assert!(low > 0.0, "{scheme:?} {:?}", time.part);
            }
        }
        let parts: Vec<_> = times.iter().map(|time| time.part).collect();
        let in_order = Part::ALL.into_iter().filter(|part| parts.contains(part));
        assert!(in_order.eq(parts.iter().copied()), "{scheme:?}");
    }
}
