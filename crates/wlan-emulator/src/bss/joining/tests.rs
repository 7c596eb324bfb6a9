//! Frames, keys and elements of stations that join an emulated link.

use serde_json::Value;
use test_support::{capture, tshark};
use wlan_air::MediumConfig;
use wlan_bss::beacons::BIGTK_ID;
use wlan_ciphers::{Bip, OpenJob, SealJob, Suite};
use wlan_frames::radiotap::{FLAG_FCS, Radiotap};
use wlan_frames::rsn::RsnCapabilities;
use wlan_frames::{DataHeader, EtherType, LlcSnap, fcs};
use wlan_rsn::psk::psk;
use wlan_rsn::{Akm, Learned, Observer, Pmk};
use wlan_scenario::beacon::MAX_LEN_B;
use wlan_scenario::scenario::testing::scenario;

use super::*;
use crate::bss::keys::SSID;
use crate::frames::protection::KEY_ID;

const PASSPHRASE: &str = "a toll on the air";
const BIGTK_OCTETS: [u8; 16] = [0x5a; 16];
/// The access point and two other stations.
const STATIONS: usize = 3;
/// Suites whose keys come from a handshake.
fn suites() -> impl Iterator<Item = Suite> {
    let without = |suite: &Suite| suite.is_bip() || matches!(suite, Suite::Wep40 | Suite::Wep104);
    Suite::ALL.into_iter().filter(move |suite| !without(suite))
}

struct Network {
    medium: MediumConfig,
    keys: Keys,
    tid: Option<u8>,
    bigtk: Option<Key>,
    beacons: Beacons,
}

impl Network {
    fn new(words: &[(&str, Value)], keys: Keys) -> Self {
        let words = scenario(words);
        let (tid, medium) = (words.tid(), words.build().unwrap().medium);
        let of_beacons = words.management_protection().of_beacons;
        let bigtk = of_beacons.then(|| Key::new(&BIGTK_OCTETS));
        Self {
            beacons: beacon::beacons(mac(AP), &medium, tid, &keys, bigtk.clone()),
            medium,
            tid,
            keys,
            bigtk,
        }
    }

    fn of(suite: Suite, akm: Akm) -> Self {
        Self::with(
            suite,
            &[
                ("security", suite.name().into()),
                ("wpa_key_mgmt", akm.name().into()),
            ],
        )
    }

    /// A network with a handshake for this suite, on the air that these words describe.
    fn with(suite: Suite, words: &[(&str, Value)]) -> Self {
        let of = scenario(words);
        let akms = of.key_management();
        let management = of.management_protection();
        let is_qos = of.tid().is_some();
        let keys = Keys::of_handshake(suite, akms, PASSPHRASE, management, is_qos);
        Self::new(words, keys.unwrap())
    }

    /// Lets all stations join. Returns the associations, the frames sent and the time taken.
    fn join(&self) -> (Vec<Joined>, Vec<Sent>, Nanos) {
        let mut joining = Joining::new(&self.medium, self.tid, &self.keys, self.bigtk.clone()).unwrap();
        let joined = (1..STATIONS)
            .map(|station| joining.join(station).unwrap())
            .collect();
        let (_, sent, took) = joining.finish();
        (joined, sent, took)
    }
}

/// Sender, receiver and packet of an unsealed EAPOL frame.
fn eapol(sent: &Sent) -> Option<(MacAddr, MacAddr, &[u8])> {
    let header = DataHeader::parse(&sent.mpdu).ok()?;
    let body = sent.mpdu.get(header.len()..).filter(|_| !header.protected)?;
    let snap = LlcSnap::parse(body).ok()?;
    (snap.ethertype == EtherType::EAPOL).then_some((header.addr2, header.addr1, &body[LlcSnap::LEN..]))
}

/// Whether the other end opens a frame that one end sealed, and rejects its replay.
fn passes(from: &mut Protection, to: &mut Protection) -> bool {
    let suite = from.suite();
    let header = DataHeader {
        to_ds: true,
        protected: true,
        ..DataHeader::default()
    };
    let mut mpdu = vec![0x2a; header.len() + suite.overhead() + 40];
    header.emit(&mut mpdu);
    let pn = from.next_pn();
    from.seal(&mut [SealJob {
        mpdu: &mut mpdu,
        header_len: header.len(),
        pn,
        key_id: KEY_ID,
    }]);
    let mut jobs = [OpenJob::new(&mut mpdu, KEY_ID)];
    to.open(&mut jobs);
    let opened = jobs[0].verdict().ok().cloned();
    opened.is_some_and(|opened| to.accept(&opened) && !to.accept(&opened))
}

#[test]
fn both_ends_get_the_key_of_their_own_handshake() {
    let is_offered = |akm: &Akm| !akm.is_eap() && akm.facts().is_offered;
    for akm in Akm::ALL.into_iter().filter(is_offered) {
        for suite in suites() {
            if suite == Suite::Tkip && akm != Akm::WpaPsk {
                continue;
            }
            let (joined, ..) = Network::of(suite, akm).join();
            let keys: Vec<_> = joined
                .iter()
                .map(|one| one.temporal_key.clone().unwrap())
                .collect();
            assert_ne!(keys[0], keys[1], "{}", suite.name());
            assert_eq!(keys[0].as_octets().len(), suite.key_len());
            for Joined { protections, .. } in joined {
                let [mut ap, mut sta] = protections.map(Option::unwrap);
                assert!(passes(&mut ap, &mut sta), "{}", suite.name());
                assert!(passes(&mut sta, &mut ap), "{}", suite.name());
            }
        }
    }
}

#[test]
fn stations_of_a_network_in_transition_mode_use_the_stronger_key_management() {
    let akms: Value = ["wpa-psk", "sae"].as_slice().into();
    let words = [("security", "ccmp".into()), ("wpa_key_mgmt", akms)];
    let network = Network::with(Suite::Ccmp128, &words);
    let offered = network.keys.security(Role::Ap).unwrap().policy;
    assert_eq!(offered.akms, [Akm::WpaPsk, Akm::Sae]);
    assert!(offered.capabilities.has(RsnCapabilities::MFP_CAPABLE));
    assert!(!offered.capabilities.has(RsnCapabilities::MFP_REQUIRED));
    assert_eq!(network.keys.security(Role::Sta).unwrap().policy.akms, [Akm::Sae]);
    for Joined { protections, .. } in network.join().0 {
        let [mut ap, mut sta] = protections.map(Option::unwrap);
        assert!(passes(&mut ap, &mut sta));
    }
}

/// As hostapd's `ieee80211w`: 1 is MFPC alone, 2 is MFPC and MFPR (IEEE 802.11-2020 Table 9-153).
#[test]
fn optional_management_frame_protection_is_not_required() {
    for (word, capable, required) in [
        ("disabled", false, false),
        ("optional", true, false),
        ("required", true, true),
    ] {
        let words = [("security", "ccmp".into()), ("ieee80211w", word.into())];
        let network = Network::with(Suite::Ccmp128, &words);
        let capabilities = network.keys.security(Role::Ap).unwrap().policy.capabilities;
        assert_eq!(capabilities.has(RsnCapabilities::MFP_CAPABLE), capable, "{word}");
        assert_eq!(
            capabilities.has(RsnCapabilities::MFP_REQUIRED),
            required,
            "{word}"
        );
    }
}

/// The words of a QoS BSS with protected beacons.
fn of_protected_beacons(akm: Akm) -> Vec<(&'static str, Value)> {
    vec![
        ("phy", "ht".into()),
        ("rate", "mcs7".into()),
        ("security", "ccmp".into()),
        ("wpa_key_mgmt", akm.name().into()),
        ("ieee80211w", "required".into()),
        ("beacon_prot", true.into()),
        ("beacon_interval_tu", 100.into()),
    ]
}

/// As hostapd 2.11 advertises it and tshark decodes it: RSN Capabilities with 16 replay counters and MFP, and an RSN
/// Extension element for hash-to-element.
#[test]
fn a_bss_with_sae_advertises_what_the_standard_requires() {
    let mut network = Network::with(Suite::Ccmp128, &of_protected_beacons(Akm::Sae));
    let (_, sent, _) = network.join();
    let packets: Vec<usize> = sent
        .iter()
        .filter_map(eapol)
        .map(|(.., packet)| packet.len())
        .collect();
    // The lengths that the test messages_of_sae_are_as_long_as_those_of_hostapd in wlan-rsn expects.
    assert_eq!(packets[..4], [121, 124, 219, 99]);

    let mut beacon = vec![0; MAX_LEN_B];
    let len = network.beacons.emit(0, &mut beacon);
    beacon.truncate(len);
    let mpdus = sent
        .iter()
        .map(|sent| &sent.mpdu)
        .filter(|mpdu| mpdu.len() > Ack::LEN);
    let frames: Vec<Vec<u8>> = [&beacon]
        .into_iter()
        .chain(mpdus)
        .map(|mpdu| framed(mpdu))
        .collect();
    let fields = [
        "wlan.fc.type_subtype",
        "wlan_rsna_eapol.keydes.msgnr",
        "wlan.rsn.capabilities.ptksa_replay_counter",
        "wlan.rsn.capabilities.mfpr",
        "wlan.rsn.capabilities.mfpc",
        "wlan.rsnx.sae_hash_to_element",
        "_ws.malformed",
    ];
    let Some(seen) = tshark(&capture(&frames), &[], &fields) else {
        return;
    };
    let says = |subtype: &str, message: &str| {
        let frame = seen.iter().find(|frame| frame[..2] == [subtype, message]);
        &frame.unwrap_or_else(|| panic!("{subtype} {message}: {seen:?}"))[2..]
    };
    let both = ["0x0003", "1", "1", "1", ""];
    let extension = ["", "", "", "1", ""];
    let neither = ["", "", "", "", ""];
    for (what, subtype, message, expected) in [
        ("Beacon", "0x0008", "", both),
        ("Probe Request", "0x0004", "", neither),
        ("Probe Response", "0x0005", "", both),
        ("Association Request", "0x0000", "", both),
        ("Association Response", "0x0001", "", extension),
        ("message 2", "0x0028", "2", both),
    ] {
        assert_eq!(says(subtype, message), expected, "{what}");
    }
}

#[test]
fn every_beacon_has_space_for_the_elements_of_sae() {
    for (phy, rate, bandwidth, band) in [
        ("ht", "mcs7", 40, Some("2.4 GHz")),
        ("vht", "mcs9", 80, None),
        ("erp", "54 Mbit/s", 20, None),
    ] {
        let mut words = of_protected_beacons(Akm::Sae);
        words.retain(|(word, _)| !matches!(*word, "phy" | "rate"));
        words.extend([
            ("phy", phy.into()),
            ("rate", rate.into()),
            ("bandwidth", bandwidth.into()),
            ("access_category", "be".into()),
        ]);
        words.extend(band.map(|band| ("band", band.into())));
        let mut network = Network::with(Suite::Ccmp128, &words);
        let len = network.beacons.emit(0, &mut [0; MAX_LEN_B]);
        assert_eq!(len + FCS_LEN, MAX_LEN_B, "{phy}");
    }
}

/// A radiotap header, the MPDU and its FCS.
fn framed(mpdu: &[u8]) -> Vec<u8> {
    let radiotap = Radiotap {
        flags: Some(FLAG_FCS),
        ..Radiotap::default()
    };
    let mut frame = vec![0; radiotap.len()];
    radiotap.emit(&mut frame);
    frame.extend(mpdu);
    frame.extend(fcs::fcs(mpdu).to_le_bytes());
    frame
}

#[test]
fn only_a_qos_bss_has_sixteen_replay_counters() {
    for (word, expected) in [(None, 1), (Some("be"), 16)] {
        let mut words = vec![("security", "ccmp".into())];
        words.extend(word.map(|word| ("access_category", word.into())));
        let network = Network::with(Suite::Ccmp128, &words);
        let capabilities = network.keys.security(Role::Ap).unwrap().policy.capabilities;
        assert_eq!(capabilities.ptksa_replay_counters(), expected);
        assert_eq!(capabilities.gtksa_replay_counters(), 1);
    }
}

/// Stations verify beacons with the key from message 3 (11.52).
#[test]
fn a_station_can_verify_protected_beacons() {
    let mut network = Network::with(Suite::Ccmp128, &of_protected_beacons(Akm::WpaPsk));
    let (_, sent, _) = network.join();
    let mut observer = Observer::new();
    observer.add_pmk(None, Pmk::of_psk(psk(PASSPHRASE.as_bytes(), SSID).unwrap()));
    let keys: Vec<Bip> = sent
        .iter()
        .filter_map(eapol)
        .flat_map(|(from, to, packet)| {
            let station = if from == mac(AP) { to } else { from };
            observer.packet(mac(AP), station, packet).unwrap()
        })
        .filter_map(|learned| match learned {
            Learned::Integrity {
                key_id, suite, key, ..
            } if key_id == BIGTK_ID => Some(Bip::new(suite, key.as_octets()).unwrap()),
            _ => None,
        })
        .collect();
    let mut beacon = vec![0; MAX_LEN_B];
    let len = network.beacons.emit(0, &mut beacon);
    assert_eq!(keys.len(), STATIONS - 1, "each station learns the key");
    for bip in keys {
        let checked = bip.check(&beacon[..len]).unwrap();
        assert_eq!((checked.key_id, checked.ipn.get()), (BIGTK_ID, 1));
    }
}

#[test]
fn an_observer_with_the_passphrase_learns_the_keys() {
    for suite in suites() {
        let (joined, sent, _) = Network::of(suite, Akm::WpaPsk).join();
        let mut observer = Observer::new();
        let psk = psk(PASSPHRASE.as_bytes(), SSID).unwrap();
        observer.add_pmk(None, Pmk::of_psk(psk));
        let mut learned = Vec::new();
        for (from, to, packet) in sent.iter().filter_map(eapol) {
            let station = if from == mac(AP) { to } else { from };
            for key in observer.packet(mac(AP), station, packet).unwrap() {
                if let Learned::Pairwise { station, key, .. } = key {
                    learned.push((station, key));
                }
            }
        }
        let expected = (1..)
            .zip(joined)
            .map(|(number, one)| (mac(number), one.temporal_key.unwrap()));
        assert_eq!(learned, expected.collect::<Vec<_>>(), "{}", suite.name());
    }
}

#[test]
fn frames_are_sent_one_after_another_and_acknowledged() {
    for phy in [
        ("dsss", "11 Mbit/s"),
        ("ofdm", "54 Mbit/s"),
        ("erp", "54 Mbit/s"),
        ("ht", "mcs7"),
    ] {
        let words = [("phy", phy.0.into()), ("rate", phy.1.into())];
        let network = Network::new(&words, Network::of(Suite::Ccmp128, Akm::WpaPsk).keys);
        let bss = &network.medium.bss;
        let (_, sent, took) = network.join();
        let end = |of: &Sent| of.at + of.mode.ppdu_duration(of.mpdu.len() + FCS_LEN);
        assert!(sent.windows(2).all(|pair| {
            let is_ack = pair[1].mpdu.len() == Ack::LEN;
            let gap = if is_ack {
                bss.sifs()
            } else {
                bss.sifs() + bss.slot() * 2
            };
            pair[1].at == end(&pair[0]) + gap
        }));
        assert_eq!(end(sent.last().unwrap()), took);
        // Probe Request, which is broadcast; Probe Response, 2 authentication, 2 association, 4 handshake frames.
        assert_eq!(sent.len(), 2 * (1 + 2 * 9));
        let duration_us = |of: &Sent| u16::from_le_bytes([of.mpdu[2], of.mpdu[3]]);
        let reserved = super::duration_us(bss.sifs() + bss.ack_duration(&bss.beacon_mode()));
        let acknowledged = sent.windows(2).filter(|pair| pair[1].mpdu.len() == Ack::LEN);
        assert!(acknowledged.clone().all(|pair| duration_us(&pair[0]) == reserved));
        assert_eq!(acknowledged.count(), 2 * 9);
    }
}

#[test]
fn links_without_a_handshake_have_one_key_or_none() {
    let key = vec![0x1f; 5];
    let (joined, sent, _) = Network::new(&[], Keys::Wep(Suite::Wep40, key.clone())).join();
    assert!(sent.iter().all(|sent| eapol(sent).is_none()));
    for Joined {
        protections,
        temporal_key,
        ..
    } in joined
    {
        assert_eq!(temporal_key.unwrap().as_octets(), key);
        let [ap, sta] = protections.map(|end| end.unwrap().suite());
        assert_eq!((ap, sta), (Suite::Wep40, Suite::Wep40));
    }
    let (joined, ..) = Network::new(&[], Keys::Open).join();
    assert!(
        joined
            .iter()
            .all(|one| one.protections.iter().all(Option::is_none) && one.temporal_key.is_none())
    );
}
