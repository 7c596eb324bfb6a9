//! Generated captures decrypt with the passphrase to the results of airdecap-ng and tshark.

mod made;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use made::{AP, Air, Bss, PASSPHRASE, SSID, STA};
use test_support::tshark;
use wlan_ciphers::Suite;
use wlan_decrypt::{Passphrase, Secrets, decrypt};
use wlan_frames::{EtherType, MacAddr, pcap};
use wlan_rsn::psk::psk;
use wlan_rsn::{Akm, Pmk, Policy, Protocol};

const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);
/// Frames per station and direction.
const FRAMES: u8 = 20;

/// A network with two stations, and UDP packets of many lengths in both directions.
fn conversation(protocol: Protocol, suite: Suite) -> Air {
    let policy = Policy::of(protocol, Akm::WpaPsk, suite);
    let pmk = Pmk::of_psk(psk(PASSPHRASE, SSID).unwrap());
    let mut air = Air::new();
    let mut bss = Bss::new(AP, SSID, pmk, &policy);
    bss.beacon(&mut air, SSID);
    for station in [STA, OTHER] {
        bss.join(&mut air, station);
    }
    for n in 0..FRAMES {
        for station in [STA, OTHER] {
            for from_ap in [false, true] {
                let packet = udp(&vec![n; 1 + usize::from(n) * 71]);
                bss.send(&mut air, from_ap, station, EtherType::IPV4, &packet);
            }
        }
    }
    air
}

/// An IPv4 packet with a UDP datagram, from port 1000 to port 2000.
fn udp(data: &[u8]) -> Vec<u8> {
    let len = u16::try_from(data.len()).unwrap();
    let mut packet = vec![0x45, 0];
    packet.extend((28 + len).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    for half in [1000, 2000, 8 + len, 0] {
        packet.extend(half.to_be_bytes());
    }
    packet.extend(data);
    packet
}

/// A temporary directory that contains the capture.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, capture: &[u8]) -> Folder {
        let path = std::env::temp_dir().join(format!("airtoll-observers-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        fs::write(path.join("in.pcap"), capture).unwrap();
        Folder(path)
    }

    fn decrypt(&self) -> Vec<u8> {
        let secrets = Secrets {
            passphrase: Some(Passphrase::parse(PASSPHRASE).unwrap()),
            ..Secrets::default()
        };
        let (from, to) = (self.0.join("in.pcap"), self.0.join("out.pcap"));
        let decrypted = decrypt(&from, &to, secrets, |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(decrypted.broken, None);
        fs::read(to).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn records(capture: &[u8]) -> Vec<(u64, Vec<u8>)> {
    pcap::records(capture)
        .map(|record| record.unwrap().1)
        .map(|record| (record.ts_ns, record.data.to_vec()))
        .collect()
}

/// Converts timestamps to microseconds, because airdecap-ng supports no others.
fn in_microseconds(capture: &[u8]) -> Vec<u8> {
    let mut out = capture.to_vec();
    out[..4].copy_from_slice(&0xa1b2_c3d4_u32.to_le_bytes());
    let mut at = 24;
    while at < out.len() {
        let word = |at: usize| u32::from_le_bytes(out[at..at + 4].try_into().unwrap());
        let (ns, len) = (word(at + 4), word(at + 8));
        out[at + 4..at + 8].copy_from_slice(&(ns / 1000).to_le_bytes());
        at += 16 + len as usize;
    }
    out
}

/// The output of airdecap-ng for `in.pcap`.
fn airdecap(folder: &Path) -> Option<Vec<(u64, Vec<u8>)>> {
    let text = |octets| std::str::from_utf8(octets).unwrap();
    let options = ["-e", text(SSID), "-p", text(PASSPHRASE)];
    test_support::airdecap(&folder.join("in.pcap"), &options).map(|file| records(&file))
}

#[test]
fn airdecap_gives_the_same_records_for_tkip_and_ccmp() {
    for (name, protocol, suite) in [
        ("wpa-tkip", Protocol::Wpa, Suite::Tkip),
        ("rsn-tkip", Protocol::Rsn, Suite::Tkip),
        ("rsn-ccmp", Protocol::Rsn, Suite::Ccmp128),
    ] {
        let air = conversation(protocol, suite);
        let folder = Folder::new(name, &in_microseconds(&air.file));
        let ours = records(&folder.decrypt());
        assert!(ours.len() >= usize::from(FRAMES) * 4, "{name}");
        let Some(theirs) = airdecap(&folder.0) else { return };
        assert!(
            ours == theirs,
            "{name}: {} records, and {} of airdecap-ng",
            ours.len(),
            theirs.len()
        );
    }
}

#[test]
fn tshark_sees_the_same_packets_before_and_after_decryption() {
    let fields = [
        "frame.time_epoch",
        "ip.len",
        "udp.srcport",
        "udp.dstport",
        "data.data",
    ];
    let text = |octets| std::str::from_utf8(octets).unwrap();
    let key = format!(
        "uat:80211_keys:\"wpa-pwd\",\"{}:{}\"",
        text(PASSPHRASE),
        text(SSID)
    );
    let decrypting = ["-o", "wlan.enable_decryption:TRUE", "-o", &key, "-Y", "udp"];
    for suite in [
        Suite::Tkip,
        Suite::Ccmp128,
        Suite::Ccmp256,
        Suite::Gcmp128,
        Suite::Gcmp256,
    ] {
        let air = conversation(Protocol::Rsn, suite);
        let folder = Folder::new(suite.name(), &air.file);
        let ours = folder.decrypt();
        let Some(before) = tshark(&air.file, &decrypting, &fields) else {
            return;
        };
        let after = tshark(&ours, &["-Y", "udp"], &fields).expect("tshark is installed");
        assert_eq!(after.len(), usize::from(FRAMES) * 4, "{suite:?}");
        assert_eq!(after, before, "{suite:?}");
    }
}
