//! The example program gives the right result.

#[allow(dead_code, reason = "the test calls the function below `main`")]
#[path = "../examples/saturated.rs"]
mod saturated;

use saturated::throughput_mbps;
use wlan_air::Nanos;
use wlan_air::phy::Mode;

#[test]
fn both_stations_get_half_of_the_channel_and_ccmp_costs_throughput() {
    let mode = Mode::ofdm(54).unwrap();
    let run = |security_b| throughput_mbps(mode, security_b, Nanos::from_secs(2)).unwrap();
    let (open, ccmp) = (run(0), run(16));
    for [first, second] in [open, ccmp] {
        assert!((first / second - 1.0).abs() < 0.1, "{first} and {second} Mbit/s");
    }
    // One exchange at a time: 1500 octets take at least the 228 us of their PPDU, 11 of a SIFS and 24 of an Ack.
    let total = |[first, second]: [f64; 2]| first + second;
    assert!((25.0..12_000.0 / 263.0).contains(&total(open)), "{open:?}");
    assert!(total(ccmp) < total(open), "{ccmp:?} and {open:?}");
}
