//! Handshakes of real access points and stations, in captures of the aircrack-ng test suite. The captures are read
//! from the directory `AIRTOLL_CAPTURES`; the test is skipped if it is not set.

use wlan_ciphers::Suite;
use wlan_decrypt::decap::{CaptureKey, Decap};
use wlan_frames::{DataHeader, EtherType, LlcSnap, MacAddr, captured, pcap};
use wlan_rsn::{Learned, Observer, Pmk, psk::psk};

/// The EAPOL packet of an unprotected data frame: access point, station, packet.
fn eapol(mpdu: &[u8]) -> Option<(MacAddr, MacAddr, &[u8])> {
    let header = DataHeader::parse(mpdu).ok()?;
    let body = mpdu.get(header.len()..).filter(|_| !header.protected)?;
    let llc = LlcSnap::parse(body).ok()?;
    let (ap, station) = match (header.to_ds, header.from_ds) {
        (true, false) => (header.addr1, header.addr2),
        (false, true) => (header.addr2, header.addr1),
        _ => return None,
    };
    (llc.ethertype == EtherType::EAPOL).then(|| (ap, station, &body[LlcSnap::LEN..]))
}

/// The keys that the observer learns from a capture, and the number of records that they decrypt.
fn decrypt(name: &str, passphrase: &[u8]) -> Option<(Vec<Learned>, u64)> {
    let file = std::fs::read(test_support::captures_of_others(name)?).unwrap();
    let mut observer = Observer::new();
    observer.add_pmk(None, Pmk::of_psk(psk(passphrase, b"linksys").unwrap()));
    let mut all = Vec::new();
    let mut decap = Decap::default();
    for record in pcap::records(&file) {
        let (link_type, record) = record.unwrap();
        let Ok(mpdu) = captured::mpdu(link_type, record.data) else {
            continue;
        };
        if let Some((ap, station, packet)) = eapol(&mpdu)
            && let Ok(learned) = observer.packet(ap, station, packet)
        {
            for learned in learned {
                let (suite, key) = match &learned {
                    Learned::Pairwise { suite, key, .. } | Learned::Group { suite, key, .. } => (*suite, key),
                    Learned::Integrity { .. } => continue,
                };
                decap.add_key(CaptureKey::new(suite, key.as_octets()).unwrap());
                all.push(learned);
            }
        }
        let _ = decap.record(link_type, &record, |_| {});
    }
    Some((all, decap.counts().decrypted()))
}

/// airdecap-ng decrypts 53 of 57 packets of the first capture and 25 of 28 of the second: it does not use group keys.
#[test]
fn keys_are_learned_from_real_handshakes() {
    for (name, suite, airdecap) in [
        ("wpa-psk-linksys.cap", Suite::Tkip, 53),
        ("wpa2-psk-linksys.cap", Suite::Ccmp128, 25),
    ] {
        let Some((learned, decrypted)) = decrypt(name, b"dictionary") else {
            return;
        };
        let pairwise = learned
            .iter()
            .any(|learned| matches!(learned, Learned::Pairwise { suite: found, .. } if *found == suite));
        assert!(pairwise, "{name}: {learned:?}");
        eprintln!("{name}: {learned:?}, {decrypted} records decrypted");
        assert!(
            decrypted >= airdecap,
            "{name}: {decrypted} of at least {airdecap}"
        );
        let (nothing, _) = decrypt(name, b"dictionaries").unwrap();
        assert_eq!(nothing, []);
    }
}
