//! Two stations that always have something to send share a channel with an access point: their throughput without
//! protection and with CCMP.
//!
//! ```sh
//! cargo run --release --example saturated
//! ```

use std::error::Error;

use wlan_air::phy::{Bss, Mode};
use wlan_air::sim::saturated;
use wlan_air::{MediumConfig, Nanos, Route, StationConfig};

/// Octets of an IP packet.
const IP_PACKET_B: usize = 1500;
/// Octets of its LLC/SNAP header.
const LLC_SNAP_B: usize = 8;
/// Octets that CCMP-128 adds to an MPDU: header and MIC.
const CCMP_B: usize = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let mode = Mode::ofdm(54)?;
    for (name, security_b) in [("open", 0), ("CCMP", CCMP_B)] {
        let throughput = throughput_mbps(mode, security_b, Nanos::from_secs(10))?;
        for (station, mbps) in (1..).zip(throughput) {
            println!("{name}, station {station}: {mbps:.2} Mbit/s");
        }
    }
    Ok(())
}

/// The throughput of both stations in Mbit/s, counted in IP packets. Equal seeds give equal results on every machine.
pub fn throughput_mbps(mode: Mode, security_b: usize, duration: Nanos) -> Result<[f64; 2], Box<dyn Error>> {
    // Station 0 is the access point.
    let bss = Bss::for_mode(&mode);
    let config = MediumConfig::new(bss, &StationConfig::new(mode, security_b), 3, 1);
    let routes = [1, 2].map(|from| Route {
        from,
        to: Some(0),
        contender: 0,
    });
    let result = saturated(config, &routes, IP_PACKET_B + LLC_SNAP_B, duration)?;
    let mbps = |msdus: u64| (msdus * 8 * IP_PACKET_B as u64) as f64 / 1e6 / result.elapsed.as_secs_f64();
    Ok([1, 2].map(|station| mbps(result.counters.stations[station].msdus)))
}
