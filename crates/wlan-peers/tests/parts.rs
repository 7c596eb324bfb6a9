//! The times of the parts of sealing a frame are plausible. The test does not depend on their values.

use std::time::Duration;

use wlan_ciphers::Backend;
use wlan_peers::{Part, measure_parts, suites};

#[test]
fn every_suite_has_every_part_with_its_quartiles_around_its_median() {
    for suite in suites() {
        let times = measure_parts(suite, 200, Backend::detect(), Duration::from_millis(1)).unwrap();
        // On a very busy machine some parts may have no figure.
        for time in &times {
            let (low, high) = time.ns_per_frame.quartiles;
            let median = time.ns_per_frame.median;
            assert!(low <= median && median <= high, "{suite:?} {:?}", time.part);
            assert!(time.ns_per_frame.count > 0, "{suite:?}");
            if time.part != Part::Open {
                assert!(low > 0.0, "{suite:?} {:?}", time.part);
            }
        }
        let parts: Vec<_> = times.iter().map(|time| time.part).collect();
        let in_order = Part::ALL.into_iter().filter(|part| parts.contains(part));
        assert!(in_order.eq(parts.iter().copied()), "{suite:?}");
    }
}
