//! Decrypted captures equal the results of airdecap-ng and tshark.
//!
//! `make.py` in `tests/captures` generates the captures there and shares no code with this crate. The captures of the
//! aircrack-ng test suite may not be redistributed: tests that require them read them from the directory
//! `AIRTOLL_CAPTURES` and are skipped if it is not set.

use std::path::{Path, PathBuf};

use test_support::{captures_of_others, tshark};
use wlan_ciphers::michael::MichaelHeader;
use wlan_ciphers::{KeyId, PacketNumber, Role, SealJob, Suite, TemporalKey, Tkip, Wep};
use wlan_decrypt::decap::{CaptureKey, Counts, Decap, Ends, KeyOwner, Skipped};
use wlan_frames::pcap::{self, LINKTYPE_ETHERNET, LINKTYPE_IEEE802_11, Record};
use wlan_frames::{AckPolicy, DataHeader, MacAddr, QosControl, SequenceControl};

const WEP40: &str = "1f2e3d4c5b";
/// "thirteen-char"
const WEP104: &str = "746869727465656e2d63686172";
const TKIP: &str = "866c91f0835b0eeabb85a9520975577b043a69ce14339d0067c08c9a1ea4816b";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap())
        .collect()
}

fn wep(key: &str) -> Vec<CaptureKey> {
    vec![CaptureKey::from(Wep::new(&hex(key)).unwrap())]
}

fn tkip(key: &str) -> Vec<CaptureKey> {
    vec![tkip_key(&hex(key))]
}

fn tkip_key(key: &[u8]) -> CaptureKey {
    CaptureKey::new(Suite::Tkip, key).unwrap()
}

/// Path of a capture of this crate.
fn ours(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/captures")
        .join(name)
}

/// Decrypts a capture to a capture of Ethernet frames.
fn decrypt(path: &Path, keys: Vec<CaptureKey>) -> (Vec<u8>, Counts) {
    let file = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut decap = Decap::new(keys);
    let mut out = pcap::file_header_of(LINKTYPE_ETHERNET).to_vec();
    for record in pcap::records(&file) {
        let (link_type, record) = record.unwrap();
        // Skipped records are counted.
        let _ = decap.record(link_type, &record, |frame| {
            out.extend(pcap::record_header(record.ts_ns, frame.len()));
            out.extend(frame);
        });
    }
    (out, decap.counts().clone())
}

/// Time and octets of each record.
fn records(capture: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let records = pcap::records(capture).map(|record| record.unwrap());
    records
        .map(|(link_type, record)| {
            assert_eq!(link_type, LINKTYPE_ETHERNET);
            (record.ts_ns, record.data.to_vec())
        })
        .collect()
}

/// The output of airdecap-ng for a capture.
fn airdecap(path: &Path, options: &[&str]) -> Option<Vec<(u64, Vec<u8>)>> {
    test_support::airdecap(path, options).map(|file| records(&file))
}

/// The IP packets of a capture according to tshark.
fn packets(capture: &[u8], options: &[&str]) -> Option<Vec<Vec<String>>> {
    let fields = [
        "frame.time_epoch",
        "ip.src",
        "ip.dst",
        "ip.id",
        "udp.srcport",
        "udp.length",
        "data.data",
    ];
    let mut seen = tshark(capture, options, &fields)?;
    seen.retain(|packet| packet.get(1).is_some_and(|address| !address.is_empty()));
    Some(seen)
}

#[test]
fn airdecap_decrypts_the_same_octets_from_our_captures() {
    for (name, keys, options) in [
        ("wep40.pcap", wep(WEP40), ["-w", WEP40].as_slice()),
        ("wep104.pcap", wep(WEP104), &["-w", WEP104]),
        ("tkip.pcap", tkip(TKIP), &["-e", "airtoll", "-p", "correct-horse"]),
    ] {
        let (out, counts) = decrypt(&ours(name), keys);
        assert_eq!((counts.decrypted(), counts.frames), (8, 8), "{name}: {counts}");
        if let Some(expected) = airdecap(&ours(name), options) {
            assert_eq!(expected.len(), 8, "{name}");
            assert_eq!(records(&out), expected, "{name}");
        }
    }
}

#[test]
fn tshark_sees_the_same_packets_before_and_after_decryption() {
    for (name, keys, key) in [
        ("wep40.pcap", wep(WEP40), format!("\"wep\",\"{WEP40}\"")),
        ("wep104.pcap", wep(WEP104), format!("\"wep\",\"{WEP104}\"")),
        (
            "tkip.pcap",
            tkip(TKIP),
            "\"wpa-pwd\",\"correct-horse:airtoll\"".to_owned(),
        ),
    ] {
        let file = std::fs::read(ours(name)).unwrap();
        let option = format!("uat:80211_keys:{key}");
        // Without the retransmission and the unprotected packet, which this crate skips.
        let filter = "wlan.fc.protected == 1 && wlan.fc.retry == 0";
        let Some(before) = packets(
            &file,
            &["-o", "wlan.enable_decryption:TRUE", "-o", &option, "-Y", filter],
        ) else {
            return;
        };
        let after = packets(&decrypt(&ours(name), keys).0, &[]).expect("tshark is installed");
        assert_eq!(after.len(), 8, "{name}");
        assert_eq!(after, before, "{name}");
    }
}

#[test]
fn every_record_that_gives_no_frame_is_counted_with_its_reason() {
    let (_, counts) = decrypt(&ours("wep40.pcap"), wep(WEP40));
    assert_eq!(
        counts.to_string(),
        "8 of 12 records decrypted; not: 1 not a data frame, 1 not encrypted, 1 retransmission, 1 wrong key"
    );
    let (out, counts) = decrypt(&ours("wep40.pcap"), wep("0000000000"));
    assert_eq!(records(&out), []);
    assert_eq!(counts.skipped[&Skipped::WrongKey], 10);
    let (_, counts) = decrypt(&ours("wep40.pcap"), tkip(TKIP));
    assert_eq!(counts.skipped[&Skipped::NoWepKey], 10);
    let (_, counts) = decrypt(&ours("tkip.pcap"), wep(WEP40));
    assert_eq!(
        (counts.skipped[&Skipped::NoKey], counts.skipped[&Skipped::Open]),
        (8, 4)
    );
}

#[test]
fn decrypted_records_of_all_ciphers_are_counted_together() {
    let counts = Counts {
        records: 8,
        wep: 1,
        tkip: 2,
        aes: 4,
        ..Counts::default()
    };
    assert_eq!(counts.to_string(), "7 of 8 records decrypted");
}

/// Decrypts one frame and returns its Ethernet frames.
fn through(decap: &mut Decap, mpdu: &[u8]) -> Result<Vec<Vec<u8>>, Skipped> {
    let record = Record {
        ts_ns: 0,
        data: mpdu,
        original_len: u32::try_from(mpdu.len()).unwrap(),
    };
    let mut out = Vec::new();
    decap
        .record(LINKTYPE_IEEE802_11, &record, |frame| out.push(frame.to_vec()))
        .map(|()| out)
}

const DA: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);
const SA: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

fn header(number: u16, fragment: u8, more_fragments: bool) -> DataHeader {
    DataHeader {
        to_ds: true,
        more_fragments,
        addr1: MacAddr([2, 0, 0, 0, 0, 1]),
        addr2: SA,
        addr3: DA,
        sequence: SequenceControl { number, fragment },
        qos: Some(QosControl::new(4, AckPolicy::Normal)),
        ..DataHeader::default()
    }
}

/// An MPDU with space for the cipher header and the trailer, ready to be sealed.
fn laid_out(header: &DataHeader, suite_header: usize, payload: &[u8], trailer: usize) -> Vec<u8> {
    let mut mpdu = vec![0; header.len()];
    header.emit(&mut mpdu);
    mpdu.resize(mpdu.len() + suite_header, 0);
    mpdu.extend(payload);
    mpdu.resize(mpdu.len() + trailer, 0);
    mpdu
}

fn job(mpdu: &mut [u8], pn: u64) -> SealJob<'_> {
    SealJob {
        mpdu,
        header_len: 26,
        pn: PacketNumber::new(pn).unwrap(),
        key_id: KeyId::PAIRWISE,
    }
}

fn ethernet(rest: &[u8]) -> Vec<u8> {
    [&DA.0[..], &SA.0, rest].concat()
}

#[test]
fn fragments_are_reassembled_before_the_tkip_mic_is_checked() {
    let msdu = [&[0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0][..], &[7; 90]].concat();
    let (wep_key, station) = (Wep::new(b"weak!").unwrap(), Tkip::new(&[9; 32], Role::Sta));
    let michael = MichaelHeader {
        da: DA,
        sa: SA,
        priority: 4,
    };
    let with_mic = [&msdu[..], &station.msdu_mic(michael, &msdu)].concat();
    let mut forged_mic = with_mic.clone();
    forged_mic[20] ^= 1;

    let cut = |number: u16, text: &[u8], is_tkip: bool| -> Vec<Vec<u8>> {
        let middle = text.len() / 2;
        (0u8..)
            .zip([&text[..middle], &text[middle..]])
            .map(|(fragment, part)| {
                let header = header(number, fragment, fragment == 0);
                let pn = u64::from(number) * 16 + u64::from(fragment);
                let mut mpdu = laid_out(&header, if is_tkip { 8 } else { 4 }, part, 4);
                if is_tkip {
                    station.seal_fragments(&mut [job(&mut mpdu, pn)]).unwrap();
                } else {
                    wep_key.seal(&mut [job(&mut mpdu, pn)]).unwrap();
                }
                mpdu
            })
            .collect()
    };
    let mut decap = Decap::new(vec![CaptureKey::from(wep_key.clone()), tkip_key(&[9; 32])]);
    let expected = Ok(vec![ethernet(&msdu[6..])]);
    for (number, text, is_tkip, outcome) in [
        (0, &msdu, false, expected.clone()),
        (2, &with_mic, true, expected),
        (3, &forged_mic, true, Err(Skipped::Forged)),
    ] {
        let fragments = cut(number, text, is_tkip);
        assert_eq!(
            through(&mut decap, &fragments[0]),
            Err(Skipped::IncompleteFragment)
        );
        assert_eq!(through(&mut decap, &fragments[1]), outcome, "MSDU {number}");
    }
    // A fragment without its predecessor gives no frame.
    assert_eq!(
        through(&mut decap, &cut(5, &msdu, false)[1]),
        Err(Skipped::IncompleteFragment)
    );
    assert_eq!(decap.counts().frames, 2);
}

/// A WEP frame of the station `transmitter` with this TID and sequence number.
fn wep_frame(transmitter: MacAddr, tid: u8, number: u16, retry: bool) -> Vec<u8> {
    let header = DataHeader {
        addr2: transmitter,
        qos: Some(QosControl::new(tid, AckPolicy::Normal)),
        retry,
        ..header(number, 0, false)
    };
    let msdu = [0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0, 7];
    let mut mpdu = laid_out(&header, 4, &msdu, 4);
    let key = Wep::new(&hex(WEP40)).unwrap();
    key.seal(&mut [job(&mut mpdu, 1)]).unwrap();
    mpdu
}

#[test]
fn truncated_records_are_not_decrypted() {
    let mpdu = wep_frame(SA, 0, 1, false);
    let mut decap = Decap::new(vec![CaptureKey::from(Wep::new(&hex(WEP40)).unwrap())]);
    let mut of_length = |captured: usize| {
        let record = Record {
            ts_ns: 0,
            data: &mpdu[..captured],
            original_len: u32::try_from(mpdu.len()).unwrap(),
        };
        decap.record(LINKTYPE_IEEE802_11, &record, |_| ())
    };
    assert_eq!(of_length(mpdu.len() - 1), Err(Skipped::CutShort));
    assert_eq!(of_length(mpdu.len()), Ok(()));
}

/// IEEE 802.11-2020 10.3.2.14: a duplicate has the Retry bit and the transmitter, TID and sequence number of the
/// previous frame.
#[test]
fn a_retransmission_repeats_transmitter_tid_and_sequence_number() {
    const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 1, 2]);
    let mut decap = Decap::new(wep(WEP40));
    let mut is_new = |transmitter, tid, number, retry| match through(
        &mut decap,
        &wep_frame(transmitter, tid, number, retry),
    ) {
        Ok(frames) => frames.len() == 1,
        Err(reason) => {
            assert_eq!(reason, Skipped::Retransmission);
            false
        }
    };
    assert!(is_new(SA, 4, 1, false));
    assert!(!is_new(SA, 4, 1, true));
    assert!(is_new(SA, 4, 1, false), "without the Retry bit");
    assert!(is_new(SA, 5, 1, true), "another TID");
    assert!(is_new(OTHER, 4, 1, true), "another station");
    assert!(is_new(SA, 4, 2, true), "another sequence number");
    assert!(!is_new(OTHER, 4, 1, true) && !is_new(SA, 5, 1, true) && !is_new(SA, 4, 2, true));
}

/// Within an A-MPDU, a lost MPDU is sent again after later ones. Its packet number distinguishes it from a frame whose
/// sequence number repeats.
#[test]
fn a_retransmission_after_other_frames_repeats_the_packet_number() {
    let key = TemporalKey::new(Suite::Ccmp128, &[5; 16]).unwrap();
    let mut decap = Decap::new(vec![CaptureKey::new(Suite::Ccmp128, &[5; 16]).unwrap()]);
    let mut is_new = |number: u16, pn: u64, retry| {
        let header = DataHeader {
            retry,
            ..header(number, 0, false)
        };
        let msdu = [&[0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0][..], &[7; 30]].concat();
        let mut mpdu = laid_out(&header, 8, &msdu, 8);
        key.seal(&mut [job(&mut mpdu, pn)]).unwrap();
        through(&mut decap, &mpdu) != Err(Skipped::Retransmission)
    };
    for number in 1..=6 {
        assert!(is_new(number, number.into(), false));
    }
    assert!(!is_new(2, 2, true), "the same frame");
    assert!(is_new(3, 103, true), "another packet number");
    assert!(is_new(4, 4, false), "without the Retry bit");
    // A BlockAck window has at most 1024 frames.
    for pn in 1000..1000 + 1024 {
        let number = 7 + u16::try_from(pn % 4000).unwrap();
        assert!(is_new(number, pn, false));
    }
    assert!(is_new(2, 2, true), "before the window");
}

#[test]
fn frames_that_do_not_open_report_a_wrong_key_mic_or_length() {
    let msdu = [&[0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0][..], &[7; 30]].concat();
    let frame = |key: [u8; 32], number: u16| {
        let header = header(number, 0, false);
        let mut mpdu = laid_out(&header, 8, &msdu, 12);
        let station = Tkip::new(&key, Role::Sta);
        station.seal(&mut [job(&mut mpdu, number.into())]).unwrap();
        mpdu
    };
    // The temporal key of TKIP is the first half; the rest is the Michael keys.
    let mut michael_of_others = [9; 32];
    michael_of_others[16..].fill(8);
    let whole = frame([9; 32], 3);
    let mut decap = Decap::new(vec![tkip_key(&[7; 32]), tkip_key(&[9; 32])]);
    assert_eq!(
        through(&mut decap, &frame(michael_of_others, 1)),
        Err(Skipped::Forged)
    );
    assert_eq!(through(&mut decap, &frame([6; 32], 2)), Err(Skipped::WrongKey));
    assert_eq!(through(&mut decap, &whole[..26 + 8 + 11]), Err(Skipped::Damaged));
    assert_eq!(through(&mut decap, &whole[..26 + 3]), Err(Skipped::Damaged));
    assert_eq!(through(&mut decap, &whole[..20]), Err(Skipped::Damaged));
    assert!(through(&mut decap, &whole).is_ok());
}

#[test]
fn frames_are_counted_per_link_and_the_number_of_links_is_limited() {
    const LIMIT: usize = 4096;
    let mut decap = Decap::new(wep(WEP40));
    let send = |decap: &mut Decap, bssid: MacAddr, station: MacAddr, from_ap: bool| {
        let mut mpdu = wep_frame(station, 4, 1, false);
        mpdu[4..10].copy_from_slice(&if from_ap { station } else { bssid }.0);
        mpdu[10..16].copy_from_slice(&if from_ap { bssid } else { station }.0);
        mpdu[1] = mpdu[1] & !3 | if from_ap { 2 } else { 1 };
        through(decap, &mpdu).unwrap();
    };
    let (ap, other_ap) = (MacAddr([2, 0, 0, 0, 0, 0xa0]), MacAddr([2, 0, 0, 0, 0, 0xa1]));
    send(&mut decap, ap, SA, false);
    send(&mut decap, ap, SA, true);
    send(&mut decap, ap, MacAddr::BROADCAST, true);
    send(&mut decap, ap, MacAddr([1, 0, 0x5e, 0, 0, 1]), true);
    send(&mut decap, other_ap, SA, false);
    let links: Vec<_> = decap
        .links()
        .map(|(ends, counts)| (ends, counts.decrypted))
        .collect();
    assert_eq!(
        links,
        [
            (Ends::of(ap, SA), 2),
            (Ends::of(ap, MacAddr::BROADCAST), 2),
            (Ends::of(other_ap, SA), 1)
        ]
    );
    for n in 0..LIMIT {
        let [high, low] = u16::try_from(n).unwrap().to_be_bytes();
        send(&mut decap, ap, MacAddr([2, 1, 0, 0, high, low]), false);
    }
    assert_eq!(decap.links().count(), LIMIT);
    assert_eq!(decap.counts().decrypted(), 5 + LIMIT as u64);
    let of_links: u64 = decap.links().map(|(_, counts)| counts.decrypted).sum();
    assert_eq!(
        of_links + decap.other_links().decrypted,
        decap.counts().decrypted()
    );
}

/// Frames with neither To DS nor From DS: TDLS (IEEE 802.11-2020 11.20), and independent BSSs.
#[test]
fn direct_frames_of_two_stations_are_counted_apart_from_those_with_the_access_point() {
    let (ap, far) = (MacAddr([2, 0, 0, 0, 0, 0xa0]), MacAddr([2, 0, 0, 0, 0, 0xa1]));
    let mut decap = Decap::new(wep(WEP40));
    for (to, from, bssid, ds) in [(ap, SA, far, 1), (far, SA, ap, 0), (SA, far, ap, 0)] {
        let mut mpdu = wep_frame(from, 4, 1, false);
        mpdu[1] = mpdu[1] & !3 | ds;
        mpdu[4..10].copy_from_slice(&to.0);
        mpdu[16..22].copy_from_slice(&bssid.0);
        through(&mut decap, &mpdu).unwrap();
    }
    let links: Vec<_> = decap
        .links()
        .map(|(ends, counts)| (ends, counts.decrypted))
        .collect();
    let direct = Ends {
        bssid: ap,
        station: SA.min(far),
        peer: Some(SA.max(far)),
    };
    assert_eq!(links, [(Ends::of(ap, SA), 1), (direct, 2)]);
}

/// A link between two parts of the distribution system: every frame has To DS and From DS. The header does not show
/// which Michael key applies (IEEE 802.11-2020 12.8.1), but the owner of a learned key does.
#[test]
fn frames_with_four_addresses_use_the_michael_key_of_their_direction() {
    // The two Michael keys, its last sixteen octets, differ.
    const KEY: [u8; 32] = *b"temporal key....from AP.to AP...";
    const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const FAR: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);
    let msdu = [&[0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0][..], &[7; 30]].concat();
    let mut number = 0;
    let mut frame = |from_ap: bool| {
        number += 1;
        let (role, receiver, transmitter) = match from_ap {
            true => (Role::Ap, SA, AP),
            false => (Role::Sta, AP, SA),
        };
        let header = DataHeader {
            from_ds: true,
            addr1: receiver,
            addr2: transmitter,
            addr4: Some(FAR),
            ..header(number, 0, false)
        };
        let mut mpdu = laid_out(&header, 8, &msdu, 12);
        let job = SealJob {
            header_len: header.len(),
            ..job(&mut mpdu, number.into())
        };
        Tkip::new(&KEY, role).seal(&mut [job]).unwrap();
        mpdu
    };
    let opened = Ok(vec![[&DA.0[..], &FAR.0, &msdu[6..]].concat()]);
    let owner = KeyOwner::Pairwise {
        bssid: AP,
        station: SA,
    };
    // Also if frames of either end arrive before the key.
    for before in [None, Some(true), Some(false)] {
        let mut decap = Decap::learning(Vec::new());
        if let Some(from_ap) = before {
            assert_eq!(through(&mut decap, &frame(from_ap)), Err(Skipped::NotLearned));
        }
        decap.add_learned(owner, tkip_key(&KEY));
        for from_ap in [true, false, true, false] {
            assert_eq!(
                through(&mut decap, &frame(from_ap)),
                opened,
                "{before:?}, {from_ap}"
            );
        }
    }
    // A given key has no owner, so the Michael keys of the two ends are unknown.
    let mut decap = Decap::new(vec![tkip_key(&KEY)]);
    assert_eq!(through(&mut decap, &frame(true)), Err(Skipped::NoKey));
}

/// Fragments that a receiver must not join: fragments with different keys (CVE-2020-24587), and CCMP or GCMP
/// fragments whose packet numbers are not consecutive (CVE-2020-26146; IEEE 802.11-2020 12.5.3.4.4, 12.5.5.4.4).
#[test]
fn fragments_of_two_keys_or_msdus_are_not_joined() {
    let msdu = [&[0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0][..], &[7; 90]].concat();
    let parts = [&msdu[..40], &msdu[40..]];
    for suite in [Suite::Ccmp128, Suite::Gcmp256] {
        let octets = [3, 4].map(|octet| vec![octet; suite.key_len()]);
        let keys = octets.each_ref().map(|key| TemporalKey::new(suite, key).unwrap());
        let all = octets.map(|key| CaptureKey::new(suite, &key).unwrap());
        let mut decap = Decap::new(all.into());
        let joined = Ok(vec![ethernet(&msdu[6..])]);
        for (number, fragments, expected) in [
            (1, [(0, 10), (0, 11)], joined.clone()),
            (2, [(1, 10), (1, 11)], joined.clone()),
            (3, [(0, 20), (1, 21)], Err(Skipped::IncompleteFragment)),
            (4, [(0, 30), (0, 32)], Err(Skipped::IncompleteFragment)),
            (5, [(0, 41), (0, 40)], Err(Skipped::IncompleteFragment)),
            (6, [(0, 50), (0, 50)], Err(Skipped::IncompleteFragment)),
            // Earlier frames have no effect.
            (7, [(0, 60), (0, 61)], joined),
        ] {
            let outcomes = [0u8, 1].map(|fragment| {
                let (key, pn) = fragments[usize::from(fragment)];
                let header = header(number, fragment, fragment == 0);
                let mut mpdu = laid_out(&header, 8, parts[usize::from(fragment)], suite.mic_len());
                keys[key].seal(&mut [job(&mut mpdu, pn)]).unwrap();
                through(&mut decap, &mpdu)
            });
            assert_eq!(
                outcomes,
                [Err(Skipped::IncompleteFragment), expected],
                "{suite:?}, MSDU {number}"
            );
        }
    }
    // WEP does not require consecutive IVs.
    let keys = [b"weak!", b"WEAK!"].map(|key| Wep::new(key).unwrap());
    let mut decap = Decap::new(keys.iter().cloned().map(CaptureKey::from).collect());
    for (number, used, expected) in [
        (1, [1, 1], Ok(vec![ethernet(&msdu[6..])])),
        (2, [0, 1], Err(Skipped::IncompleteFragment)),
    ] {
        let outcomes = [0u8, 1].map(|fragment| {
            let at = usize::from(fragment);
            let mut mpdu = laid_out(&header(number, fragment, fragment == 0), 4, parts[at], 4);
            keys[used[at]].seal(&mut [job(&mut mpdu, 7)]).unwrap();
            through(&mut decap, &mpdu)
        });
        assert_eq!(
            outcomes,
            [Err(Skipped::IncompleteFragment), expected],
            "WEP, MSDU {number}"
        );
    }
}

#[test]
fn fragments_longer_than_a_record_in_total_give_no_frame() {
    let key = Wep::new(b"weak!").unwrap();
    let mut decap = Decap::new(vec![CaptureKey::from(key.clone())]);
    let mut whole = |number: u16, len: usize| {
        let msdu = [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &vec![1; len - 14]].concat();
        let mut outcome = Ok(vec![]);
        for (fragment, part) in (0u8..).zip(msdu.chunks(msdu.len() / 2 + 1)) {
            let mut mpdu = laid_out(&header(number, fragment, fragment == 0), 4, part, 4);
            key.seal(&mut [job(&mut mpdu, u64::from(fragment))]).unwrap();
            outcome = through(&mut decap, &mpdu);
        }
        outcome.map(|frames| frames[0].len())
    };
    assert_eq!(whole(1, pcap::MAX_RECORD_LEN), Ok(pcap::MAX_RECORD_LEN));
    assert_eq!(whole(2, pcap::MAX_RECORD_LEN + 1), Err(Skipped::NoMsdu));
    assert_eq!((decap.counts().frames, decap.counts().decrypted()), (1, 1));
}

/// Fragments of different stations may be interleaved. An MSDU has at most 16 fragments (IEEE 802.11-2020 10.4).
#[test]
fn up_to_64_msdus_of_16_fragments_are_reassembled_at_the_same_time() {
    const FRAGMENTS: u8 = 16;
    const MSDUS: u8 = 64;
    let key = Wep::new(b"weak!").unwrap();
    let msdu = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let fragment_of = |station: u8, fragment: u8| {
        let header = DataHeader {
            addr2: MacAddr([2, 0, 0, 0, 7, station]),
            ..header(9, fragment, fragment + 1 < FRAGMENTS)
        };
        let part = &msdu[usize::from(fragment)..][..1];
        let mut mpdu = laid_out(&header, 4, part, 4);
        key.seal(&mut [job(&mut mpdu, u64::from(fragment))]).unwrap();
        mpdu
    };
    let reassembled = |stations: u8| {
        let mut decap = Decap::new(vec![CaptureKey::from(key.clone())]);
        for fragment in 0..FRAGMENTS {
            for station in 0..stations {
                let outcome = through(&mut decap, &fragment_of(station, fragment));
                assert!(
                    fragment + 1 == FRAGMENTS || outcome == Err(Skipped::IncompleteFragment),
                    "{outcome:?}"
                );
            }
        }
        decap.counts().frames
    };
    assert_eq!(reassembled(MSDUS), u64::from(MSDUS));
    // One more drops the oldest.
    assert_eq!(reassembled(MSDUS + 1), u64::from(MSDUS));
}

#[test]
fn an_amsdu_is_split_into_msdus() {
    let tk = TemporalKey::new(Suite::Ccmp128, &[3; 16]).unwrap();
    let subframe = |da: u8, msdu: &[u8]| {
        let len = u16::try_from(msdu.len()).unwrap().to_be_bytes();
        [&[2, 0, 0, 0, 0, da][..], &SA.0, &len, msdu].concat()
    };
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 0x86, 0xdd, 1];
    let mut amsdu = subframe(8, &snap);
    amsdu.resize(amsdu.len().next_multiple_of(4), 0);
    amsdu.extend(subframe(9, &snap));
    let seal = |amsdu: &[u8], pn| {
        let mut header = header(1, 0, false);
        header.qos = Some(QosControl::new(4, AckPolicy::Normal).with_amsdu(true));
        header.sequence.number = u16::try_from(pn).unwrap();
        let mut mpdu = laid_out(&header, 8, amsdu, 8);
        tk.seal(&mut [job(&mut mpdu, pn)]).unwrap();
        mpdu
    };
    let mut decap = Decap::new(vec![CaptureKey::new(Suite::Ccmp128, &[3; 16]).unwrap()]);
    let expected = [8, 9].map(|da| [&[2, 0, 0, 0, 0, da][..], &SA.0, &snap[6..]].concat());
    assert_eq!(through(&mut decap, &seal(&amsdu, 1)), Ok(expected.to_vec()));
    assert_eq!(
        through(&mut decap, &seal(&amsdu[..amsdu.len() - 1], 2)),
        Err(Skipped::NoMsdu)
    );
    // The last subframe may be padded as well.
    amsdu.resize(amsdu.len().next_multiple_of(4), 0);
    assert_eq!(through(&mut decap, &seal(&amsdu, 3)), Ok(expected.to_vec()));
    assert_eq!((decap.counts().aes, decap.counts().frames), (2, 4));
}

#[test]
fn llc_headers_become_an_ethertype_or_follow_a_length() {
    let key = Wep::new(b"weak!").unwrap();
    let mut decap = Decap::new(vec![CaptureKey::from(key.clone())]);
    let mut number = 0;
    let mut of = |msdu: &[u8]| {
        number += 1;
        let mut mpdu = laid_out(&header(number, 0, false), 4, msdu, 4);
        key.seal(&mut [job(&mut mpdu, u64::from(number))]).unwrap();
        through(&mut decap, &mpdu).map(|frames| frames[0][12..].to_vec())
    };
    let rfc1042 = [0xaa, 0xaa, 3, 0, 0, 0];
    let tunnel = [0xaa, 0xaa, 3, 0, 0, 0xf8];
    let spanning_tree = [0x42, 0x42, 3, 0, 0, 0, 0];
    assert_eq!(
        of(&[&rfc1042[..], &[0x08, 0x06, 1]].concat()),
        Ok(vec![0x08, 0x06, 1])
    );
    assert_eq!(
        of(&[&tunnel[..], &[0x81, 0x37, 1]].concat()),
        Ok(vec![0x81, 0x37, 1])
    );
    let ipx = [&rfc1042[..], &[0x81, 0x37, 1]].concat();
    assert_eq!(of(&ipx), Ok([&[0, 9][..], &ipx].concat()), "IPX keeps its header");
    assert_eq!(of(&spanning_tree), Ok([&[0, 7][..], &spanning_tree].concat()));
    assert_eq!(of(&[1, 2, 3]), Err(Skipped::NoMsdu));
}

/// 30630 ARP requests and replies; the key is that of aircrack-ng.
#[test]
fn a_wep_capture_of_aircrack_ng_decrypts_as_airdecap_does() {
    let Some(path) = captures_of_others("wep_64_ptw.cap") else {
        return;
    };
    let (out, counts) = decrypt(&path, wep("1f1f1f1f1f"));
    assert_eq!(counts.wep, 30630, "{counts}");
    if let Some(expected) = airdecap(&path, &["-w", "1F1F1F1F1F"]) {
        assert!(records(&out) == expected, "the records differ");
    }
}

/// The temporal keys are derived from the captured handshakes and the passphrase "dictionary" of SSID "linksys".
#[test]
fn wpa_captures_of_aircrack_ng_decrypt_as_airdecap_does() {
    let tkip = tkip("a2154ae0996fa95b211da18e85fd96495fb49785673387b9da9797aac7828f52");
    let ccmp = [
        "1d035e8beb4f83611dc93e2657cecf69",
        "0ab0404984be2ef15086aa997804f47e",
        "03c8a3e8f5b3c825d3dccce7e5e3f263",
    ]
    .map(|tk| CaptureKey::new(Suite::Ccmp128, &hex(tk)).unwrap());
    for (name, keys, count) in [
        ("wpa-psk-linksys.cap", tkip, 53),
        ("wpa2-psk-linksys.cap", Vec::from(ccmp), 25),
    ] {
        let Some(path) = captures_of_others(name) else {
            return;
        };
        let (out, counts) = decrypt(&path, keys);
        assert_eq!(counts.decrypted(), count, "{name}: {counts}");
        if let Some(expected) = airdecap(&path, &["-e", "linksys", "-p", "dictionary"]) {
            assert!(records(&out) == expected, "{name}: the records differ");
        }
    }
}
