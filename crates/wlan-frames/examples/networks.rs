//! Lists the networks whose beacons are in a capture file: BSSID, SSID, security and number of beacons.
//!
//! ```sh
//! cargo run --example networks -- capture.pcapng
//! ```
//! The file may be pcap or pcapng, with radiotap headers or any other 802.11 link type. Without an argument the
//! program lists the networks of a short capture that it creates in memory.

use std::collections::BTreeMap;
use std::error::Error;
use std::{env, fmt, fs};

use wlan_frames::beacon::{self, Beacon, CAPABILITY_ESS, CAPABILITY_PRIVACY, ID_SSID};
use wlan_frames::pcap::{self, PcapError};
use wlan_frames::rsn::{ID_RSN, ID_VENDOR, Selector, WPA_OUI_TYPE};
use wlan_frames::{MacAddr, RsnElement, captured};

fn main() -> Result<(), Box<dyn Error>> {
    let file = match env::args_os().nth(1) {
        Some(path) => fs::read(path)?,
        None => example_capture(),
    };
    for (bssid, network) in networks(&file)? {
        println!("{bssid}  {network}");
    }
    Ok(())
}

/// A network and the number of its beacons in the capture.
pub struct Network {
    ssid: String,
    security: String,
    beacons: usize,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Network {
            ssid,
            security,
            beacons,
        } = self;
        write!(f, "{ssid:32}  {security:16}  beacons: {beacons}")
    }
}

/// The networks of a capture file, ordered by BSSID.
pub fn networks(file: &[u8]) -> Result<BTreeMap<MacAddr, Network>, PcapError> {
    let mut found = BTreeMap::new();
    for record in pcap::records(file) {
        let (link_type, record) = record?;
        // Damaged frames and frames other than beacons are skipped.
        let Ok(mpdu) = captured::mpdu(link_type, record.data) else {
            continue;
        };
        let Ok(beacon) = Beacon::parse(&mpdu) else {
            continue;
        };
        found
            .entry(beacon.bssid)
            .or_insert_with(|| describe(&beacon))
            .beacons += 1;
    }
    Ok(found)
}

/// The SSID and the security that a beacon announces.
fn describe(beacon: &Beacon<'_>) -> Network {
    let mut network = Network {
        ssid: String::new(),
        security: String::from(if beacon.capability & CAPABILITY_PRIVACY == 0 {
            "open"
        } else {
            "WEP"
        }),
        beacons: 0,
    };
    // `Beacon::parse` has checked that every element is complete.
    for (id, body) in beacon::elements(beacon.elements).flatten() {
        match id {
            ID_SSID => network.ssid = String::from_utf8_lossy(body).into_owned(),
            ID_RSN => {
                let mut element = Vec::new();
                beacon::push_element(&mut element, id, body);
                network.security = match RsnElement::parse(&element) {
                    Ok(rsn) => rsn.akms.unwrap_or_default().iter().map(akm).collect::<Vec<_>>(),
                    Err(error) => vec![error.to_string()],
                }
                .join(" ");
            }
            ID_VENDOR if body.starts_with(&WPA_OUI_TYPE) && network.security == "WEP" => {
                network.security = String::from("WPA");
            }
            _ => {}
        }
    }
    network
}

/// The name of a key management (IEEE 802.11-2020 Table 9-151).
fn akm(selector: &Selector) -> String {
    let name = match selector {
        [0x00, 0x0f, 0xac, 1 | 5] => "802.1X",
        [0x00, 0x0f, 0xac, 2 | 6] => "PSK",
        [0x00, 0x0f, 0xac, 8] => "SAE",
        [0x00, 0x0f, 0xac, 18] => "OWE",
        _ => return format!("{selector:02x?}"),
    };
    String::from(name)
}

/// A capture of two access points: one of WPA3 in transition mode, which sends two beacons, and an open one.
pub fn example_capture() -> Vec<u8> {
    let mut home = Vec::new();
    beacon::push_element(&mut home, ID_SSID, b"home");
    let (ccmp, psk, sae) = ([0, 0x0f, 0xac, 4], [0, 0x0f, 0xac, 2], [0, 0x0f, 0xac, 8]);
    let rsn = RsnElement {
        group: Some(ccmp),
        pairwise: Some(&[ccmp]),
        akms: Some(&[psk, sae]),
        ..RsnElement::default()
    };
    let at = home.len();
    home.resize(at + rsn.len(), 0);
    rsn.emit(&mut home[at..]);
    let mut guests = Vec::new();
    beacon::push_element(&mut guests, ID_SSID, b"guests");

    let mut file = pcap::file_header_of(pcap::LINKTYPE_IEEE802_11).to_vec();
    for (number, last_octet, elements, capability) in [
        (0, 1, &home, CAPABILITY_ESS | CAPABILITY_PRIVACY),
        (1, 2, &guests, CAPABILITY_ESS),
        (2, 1, &home, CAPABILITY_ESS | CAPABILITY_PRIVACY),
    ] {
        let beacon = Beacon {
            bssid: MacAddr([2, 0, 0, 0, 0, last_octet]),
            sequence: number,
            timestamp_us: 51_200 * u64::from(number),
            interval_tu: 100,
            capability,
            elements,
        };
        let mut frame = vec![0; beacon.len()];
        beacon.emit(&mut frame);
        file.extend(pcap::record_header(1000 * beacon.timestamp_us, frame.len()));
        file.extend(frame);
    }
    file
}
