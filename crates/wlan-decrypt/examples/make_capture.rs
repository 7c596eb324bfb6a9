//! Generates a capture of about OCTETS octets, for benchmarks of decryption: four stations of one access point, their
//! handshakes, then frames in both directions. Frames have 1500 octets, every fourth 40 to 200.
//!
//! `make_capture OCTETS FILE`; the passphrase is "a toll on the air", the SSID "airtoll".

#[path = "../tests/made/mod.rs"]
mod made;

use std::error::Error;
use std::fs::File;
use std::io::Write;

use made::{AP, Air, Bss, PASSPHRASE, SSID, TestRng};
use rand_core::TryRng;
use wlan_ciphers::Suite;
use wlan_frames::{EtherType, MacAddr};
use wlan_rsn::psk::psk;
use wlan_rsn::{Akm, Pmk, Policy, Protocol};

/// Octets per write.
const PIECE: usize = 1 << 20;
const STATIONS: u8 = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let [_, octets, path] = &std::env::args().collect::<Vec<_>>()[..] else {
        return Err("usage: make_capture OCTETS FILE".into());
    };
    let octets: usize = octets.parse()?;
    let mut file = File::create(path)?;
    let policy = Policy::of(Protocol::Rsn, Akm::WpaPsk, Suite::Ccmp128);
    let mut bss = Bss::new(AP, SSID, Pmk::of_psk(psk(PASSPHRASE, SSID)?), &policy);
    let mut air = Air::new();
    air.expected = None;
    bss.beacon(&mut air, SSID);
    let stations: Vec<_> = (0..STATIONS).map(|n| MacAddr([2, 0, 0, 0, 1, n])).collect();
    for &station in &stations {
        bss.join(&mut air, station);
    }
    let mut rng = TestRng(7);
    let mut payload = [0; 1492];
    rng.try_fill_bytes(&mut payload)?;
    let mut written = 0;
    for n in 0usize.. {
        if written + air.file.len() >= octets {
            break;
        }
        let draw = usize::from(rng.try_next_u64()?.to_le_bytes()[0]);
        let len = if n % 4 == 3 {
            32 + draw * 160 / 255
        } else {
            payload.len()
        };
        let station = stations[draw % stations.len()];
        // Changes one octet, so that every frame is different.
        payload[n % len] ^= 1;
        bss.send(
            &mut air,
            draw & 0x10 == 0,
            station,
            EtherType::IPV4,
            &payload[..len],
        );
        if air.file.len() >= PIECE {
            file.write_all(&air.file)?;
            written += air.file.len();
            air.file.clear();
            air.records.clear();
        }
    }
    file.write_all(&air.file)?;
    Ok(())
}
