//! The example program gives the right result.

#[allow(dead_code, reason = "the test calls the functions below `main`")]
#[path = "../examples/networks.rs"]
mod networks;

use networks::{example_capture, networks};

#[test]
fn the_example_lists_the_networks_of_a_capture() {
    let listed: Vec<String> = networks(&example_capture())
        .unwrap()
        .iter()
        .map(|(bssid, network)| {
            let words: Vec<String> = network
                .to_string()
                .split_whitespace()
                .map(str::to_owned)
                .collect();
            format!("{bssid} {}", words.join(" "))
        })
        .collect();
    assert_eq!(
        listed,
        [
            "02:00:00:00:00:01 home PSK SAE beacons: 2",
            "02:00:00:00:00:02 guests open beacons: 1",
        ]
    );
}
