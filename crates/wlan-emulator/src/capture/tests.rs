//! Captures of a medium in virtual time, as tshark decodes them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use test_support::tshark;
use wlan_air::phy::{Bss, DSSS, OFDM, Rate, Settings};
use wlan_air::queue::Packet;
use wlan_air::{Event, Medium, MediumConfig, Route, StationConfig};
use wlan_bss::elements::ID_VHT_CAPABILITIES;
use wlan_ciphers::{Bip, Suite};
use wlan_frames::Role;
use wlan_frames::pcap;
use wlan_frames::{AckPolicy, DataHeader, QosControl, SequenceControl};
use wlan_rsn::ManagementProtection;
use wlan_rsn::{Akm, Key};
use wlan_scenario::beacon::GROUP_MANAGEMENT;
use wlan_scenario::scenario::testing::scenario;

#[path = "../../../wlan-scenario/tests/toy/mod.rs"]
mod toy;

use super::*;
use crate::bss::beacon::{beacons, network};
use crate::bss::keys::Keys;

const BIGTK_OCTETS: [u8; 16] = [0x5a; 16];

/// An MSDU in transit.
#[derive(Default)]
struct Sent {
    sequence: Option<u16>,
    mpdu: Vec<u8>,
}

/// A PPDU that was sent, and its outcome.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) ppdu: Ppdu,
    received: bool,
    /// Whether the monitor could read it: no other PPDU overlapped it.
    readable: bool,
    /// Sequence numbers of its MPDUs.
    sequences: Vec<u16>,
}

impl Told {
    fn is_data(&self) -> bool {
        matches!(self.ppdu.kind, Kind::Data { .. })
    }

    /// Number of its frames in the capture.
    fn frames(&self) -> usize {
        match self.ppdu.kind {
            _ if !self.readable => 0,
            Kind::Data { mpdus } => mpdus,
            _ => 1,
        }
    }
}

fn temporary_file() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("airtoll-capture-{}-{number}.pcap", std::process::id()))
}

/// The keys of a link with this suite.
fn keys(suite: Option<Suite>, akms: &[Akm], management: ManagementProtection, is_qos: bool) -> Keys {
    match suite {
        None => Keys::Open,
        Some(suite @ (Suite::Wep40 | Suite::Wep104)) => Keys::Wep(suite, vec![0; suite.key_len()]),
        Some(suite) => Keys::of_handshake(suite, akms, "a toll on the air", management, is_qos).unwrap(),
    }
}

/// Sends `up` and `down` MSDUs of 1000 octets over the air that `words` describe, until nothing is left to send and
/// `until` has passed. Returns the PPDUs and their capture.
pub(super) fn performed(
    words: &[(&str, Value)],
    up: usize,
    down: usize,
    until: Nanos,
) -> (Vec<Told>, Vec<u8>) {
    const BODY_B: usize = 1000;
    let words = scenario(words);
    let (tid, suite) = (words.tid(), words.suite());
    let management = words.management_protection();
    let bigtk = management.of_beacons.then(|| Key::new(&BIGTK_OCTETS));
    let keys = keys(suite, words.key_management(), management, tid.is_some());
    let config = words.build().unwrap().medium;
    let framing = config.stations[0].framing;
    let addresses = vec![MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];
    let names = Names {
        beacons: Some(beacons(addresses[0], &config, tid, &keys, bigtk)),
        addresses: addresses.clone(),
        tid: tid.unwrap_or_default(),
        channel: config.channel.clone(),
    };
    let path = temporary_file();
    let mut capture = Capture::create(&path, names).unwrap();
    let mut medium = Medium::<Sent>::new(config).unwrap();
    for (from, count) in [(1, up), (0, down)] {
        for _ in 0..count {
            let route = Route {
                from,
                to: Some(1 - from),
                contender: 0,
            };
            let msdu = Packet {
                arrival: Nanos::ZERO,
                len_b: BODY_B,
                flow: 0,
                frame: Sent::default(),
            };
            medium.enqueue(route, msdu);
        }
    }
    let (mut told, mut on_air, mut next) = (Vec::<Told>::new(), Vec::<usize>::new(), [0u16; 2]);
    while medium.next_event().is_some()
        && (medium.is_busy() || medium.queue_len(0) + medium.queue_len(1) > 0 || medium.now() < until)
    {
        match medium.advance().unwrap() {
            Event::PpduStart(ppdu) => {
                let duration = medium.duration(ppdu.sender);
                let header = DataHeader {
                    duration_us: duration_us(duration),
                    addr1: addresses[1 - ppdu.sender],
                    addr2: addresses[ppdu.sender],
                    to_ds: ppdu.sender == 1,
                    from_ds: ppdu.sender == 0,
                    qos: tid.map(|tid| QosControl::new(tid, AckPolicy::Normal)),
                    ..DataHeader::default()
                };
                let mut sequences = Vec::new();
                for sent in medium.on_air(ppdu.sender) {
                    let retry = sent.sequence.is_some();
                    let number = *sent.sequence.get_or_insert_with(|| {
                        next[ppdu.sender] += 1;
                        next[ppdu.sender] - 1
                    });
                    sequences.push(number);
                    let header = DataHeader {
                        retry,
                        sequence: SequenceControl { number, fragment: 0 },
                        ..header
                    };
                    sent.mpdu.resize(framing.mpdu_len_b(BODY_B) - fcs::FCS_LEN, 0);
                    header.emit(&mut sent.mpdu);
                }
                if matches!(ppdu.kind, Kind::Data { .. }) {
                    capture.begin_data(&ppdu, medium.on_air(ppdu.sender).map(|sent| &sent.mpdu[..]));
                } else {
                    capture.begin(&ppdu, duration);
                }
                let records = &capture.on_air.last().unwrap().records;
                assert_eq!(psdu_len_b(records, &ppdu), ppdu.psdu_len_b, "{ppdu:?}");
                for &other in &on_air {
                    told[other].readable = false;
                }
                told.push(Told {
                    ppdu,
                    received: false,
                    readable: on_air.is_empty(),
                    sequences,
                });
                on_air.push(told.len() - 1);
            }
            Event::PpduEnd { ppdu, received } => {
                let ended = on_air.iter().position(|&index| told[index].ppdu == ppdu).unwrap();
                told[on_air.swap_remove(ended)].received = received;
                let arrived = medium.outstanding(ppdu.sender).filter(|&(_, arrived)| arrived);
                let is_data = matches!(ppdu.kind, Kind::Data { .. });
                let numbers = arrived.filter_map(|(sent, _)| sent.sequence.filter(|_| is_data));
                capture.end(&ppdu, numbers);
                medium.deliver().for_each(drop);
            }
            Event::Elapsed { .. } => medium.deliver().for_each(drop),
        }
        medium.take_completions();
    }
    assert_eq!(capture.lost(), 0);
    capture.finish().unwrap();
    let file = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    (told, file)
}

/// Octets of the PSDU that holds the frames in `records`.
fn psdu_len_b(records: &[u8], ppdu: &Ppdu) -> usize {
    let file = [&pcap::file_header()[..], records].concat();
    let mut lens = Vec::new();
    for record in pcap::records(&file) {
        let data = record.unwrap().1.data;
        lens.push(data.len() - Radiotap::parse(data).unwrap().1);
    }
    match (lens.as_slice(), ppdu.kind) {
        ([len], Kind::Data { .. }) if ppdu.mode.always_ampdu() => ampdu::unpadded_subframe_len(*len),
        ([len], _) => *len,
        ([first @ .., last], _) => {
            let padded: usize = first.iter().map(|&len| ampdu::subframe_len(len)).sum();
            padded + ampdu::unpadded_subframe_len(*last)
        }
        ([], _) => 0,
    }
}

/// The fields of each frame of a PPDU.
pub(super) type Rows = Vec<Vec<String>>;

/// Every readable PPDU, with the fields that tshark shows for each of its frames.
pub(super) fn seen<'t>(told: &'t [Told], file: &[u8], fields: &[&str]) -> Option<Vec<(&'t Told, Rows)>> {
    let always = ["_ws.malformed", "wlan.fcs.status"];
    let mut rows = tshark(
        file,
        &["-o", "wlan.check_checksum:TRUE"],
        &[fields, &always].concat(),
    )?
    .into_iter();
    let mut by_ppdu: Vec<_> = told.iter().filter(|told| told.readable).collect();
    by_ppdu.sort_by_key(|told| told.ppdu.end);
    let seen = by_ppdu.into_iter().map(|told| {
        let frames: Vec<_> = rows.by_ref().take(told.frames()).collect();
        assert_eq!(frames.len(), told.frames(), "{told:?}");
        for frame in &frames {
            assert_eq!(
                frame[fields.len()..],
                ["", "1"],
                "complete and with a valid FCS: {told:?}"
            );
        }
        (told, frames)
    });
    let seen = seen.collect();
    assert_eq!(rows.next(), None, "the file has frames that were not sent");
    Some(seen)
}

pub(super) fn words(of: &Value) -> Vec<(&str, Value)> {
    let words = of.as_object().unwrap().iter();
    words.map(|(word, value)| (&word[..], value.clone())).collect()
}

fn subtype(kind: Kind, has_qos: bool) -> &'static str {
    match kind {
        Kind::Data { .. } if has_qos => "0x0028",
        Kind::Data { .. } => "0x0020",
        Kind::Rts => "0x001b",
        Kind::Cts | Kind::CtsToSelf => "0x001c",
        Kind::Ack => "0x001d",
        Kind::BlockAck => "0x0019",
        Kind::Beacon => "0x0008",
    }
}

/// A PHY that the standard does not have is described as its format is: by the radiotap fields and elements of VHT.
#[test]
fn a_new_phy_of_a_known_format_requires_no_code() {
    let settings = Settings {
        rate: Rate::Mcs(1),
        bandwidth_mhz: 20,
        gi: GuardInterval::Long,
        streams: Some(2),
        band: Band::Ghz5,
        preamble: Preamble::Long,
    };
    let mode = Mode::of(&toy::TOY, &settings).unwrap();
    let vht = radiotap(&mode).vht.unwrap();
    assert_eq!((vht.bandwidth, vht.mcs, vht.streams), (VhtBandwidth::Mhz20, 1, 2));
    let medium = MediumConfig::new(Bss::for_mode(&mode), &StationConfig::new(mode, 0), 2, 1);
    let capabilities = network(&medium, None, &Keys::Open, Role::Ap).capabilities;
    let elements = wlan_frames::beacon::elements(&capabilities.elements);
    let found = elements
        .map(Result::unwrap)
        .find(|(id, _)| *id == ID_VHT_CAPABILITIES);
    // MPDUs of up to 11 454 octets, A-MPDUs of up to 1 048 575 octets (9.4.2.157.2).
    assert_eq!(found.unwrap().1[..4], (0b10 | 7u32 << 23).to_le_bytes());
}

/// PHYs, and tshark's number of each.
fn phys() -> Vec<(Value, &'static str)> {
    vec![
        (json!({"phy": "dsss", "rate": "1 Mbit/s"}), "4"),
        (
            json!({"phy": "dsss", "rate": "2 Mbit/s", "preamble": "short"}),
            "4",
        ),
        (json!({"phy": "dsss", "rate": "5.5 Mbit/s"}), "4"),
        (
            json!({"phy": "dsss", "rate": "11 Mbit/s", "preamble": "short"}),
            "4",
        ),
        (json!({"phy": "ofdm", "rate": "9 Mbit/s"}), "5"),
        (
            json!({"phy": "erp", "rate": "54 Mbit/s", "security": "tkip"}),
            "6",
        ),
        (
            json!({"phy": "erp", "rate": "6 Mbit/s", "access_category": "vo"}),
            "6",
        ),
        (
            json!({"phy": "ht", "rate": "mcs7", "band": "2.4 GHz", "bandwidth": 40}),
            "7",
        ),
        (
            json!({"phy": "ht", "rate": "mcs15", "bandwidth": 40, "gi": "short", "streams": 2}),
            "7",
        ),
        (json!({"phy": "vht", "rate": "mcs8", "security": "gcmp256"}), "8"),
        (
            json!({"phy": "vht", "rate": "mcs9", "bandwidth": 80, "gi": "short", "streams": 2}),
            "8",
        ),
        (
            json!({"phy": "vht", "rate": "mcs9", "bandwidth": 160, "streams": 8}),
            "8",
        ),
    ]
}

#[test]
fn frames_of_every_phy_have_their_mode_time_and_duration() {
    let protections = ["none", "cts-to-self", "rts-cts"].into_iter().cycle();
    for ((mut of, name), protection) in phys().into_iter().zip(protections) {
        of["protection"] = protection.into();
        of["beacon_interval_tu"] = 10.into();
        let (told, file) = performed(&words(&of), 5, 0, Nanos::from_ms(45));
        let fields = [
            "wlan.fc.type_subtype",
            "wlan_radio.data_rate",
            "radiotap.mactime",
            "wlan.duration",
            "wlan_radio.phy",
            "radiotap.channel.freq",
            "wlan.ra",
            "wlan_radio.short_preamble",
            "wlan_radio.duration",
        ];
        let Some(seen) = seen(&told, &file, &fields) else {
            return;
        };
        let has_qos = matches!(name, "7" | "8") || of.get("access_category").is_some();
        let mut settled = seen
            .iter()
            .filter(|(told, _)| matches!(told.ppdu.kind, Kind::Ack | Kind::BlockAck));
        let mut exchange_ends = settled.next().map(|(told, _)| told.ppdu.end);
        for (Told { ppdu, .. }, frames) in &seen {
            let what = format!("{of} {ppdu:?}");
            let psdu_us = (ppdu.start + ppdu.mode.preamble()).0 / 1000;
            for frame in frames {
                assert_eq!(frame[0], subtype(ppdu.kind, has_qos), "{what}");
                let mbps: f64 = frame[1].parse().unwrap();
                // tshark rounds to a tenth.
                assert!(
                    (mbps - ppdu.mode.rate_kbps() as f64 / 1000.0).abs() < 0.002,
                    "{mbps} {what}"
                );
                if matches!(ppdu.kind, Kind::Data { .. }) {
                    assert_eq!(frame[4], name, "{what}");
                }
                assert_eq!(
                    frame[5],
                    if ppdu.mode.band() == Band::Ghz5 {
                        "5180"
                    } else {
                        "2437"
                    }
                );
                let short = match ppdu.mode.dsss_preamble() {
                    None => "",
                    Some(Preamble::Long) => "0",
                    Some(Preamble::Short) => "1",
                };
                assert_eq!(frame[7], short, "{what}");
                if [&DSSS, &OFDM].contains(&ppdu.mode.phy()) {
                    let reckoned_us: u64 = frame[8].parse().unwrap();
                    assert_eq!(reckoned_us, (ppdu.end - ppdu.start).0.div_ceil(1000), "{what}");
                }
            }
            let first_us: u64 = frames[0][2].parse().unwrap();
            assert!(
                first_us == psdu_us || ppdu.mode.always_ampdu() || frames.len() > 1,
                "{what}"
            );
            assert!(
                (psdu_us..=psdu_us + 1).contains(&first_us),
                "after the delimiter: {what}"
            );
            let reserved: u64 = frames[0][3].parse().unwrap();
            if ppdu.kind == Kind::Beacon {
                assert_eq!(reserved, 0);
                continue;
            }
            // 9.2.5: up to the end of the response, rounded up to a microsecond.
            let until = ppdu.end + Nanos::from_us(reserved);
            let end = exchange_ends.unwrap();
            assert!(
                end <= until && until < end + Nanos::from_us(1),
                "{until:?} {end:?} {what}"
            );
            if ppdu.end == end {
                exchange_ends = settled.next().map(|(told, _)| told.ppdu.end);
            }
            if ppdu.kind == Kind::CtsToSelf {
                assert_eq!(frames[0][6], "02:00:00:00:00:02", "{what}");
            }
        }
        let sent = |kind| seen.iter().filter(|(told, _)| told.ppdu.kind == kind).count();
        let exchanges = seen.iter().filter(|(told, _)| told.is_data()).count();
        assert!(exchanges > 0 && sent(Kind::Ack) + sent(Kind::BlockAck) == exchanges);
        assert_eq!(
            sent(Kind::Rts),
            if protection == "rts-cts" { exchanges } else { 0 }
        );
        assert_eq!(
            sent(Kind::CtsToSelf),
            if protection == "cts-to-self" { exchanges } else { 0 }
        );
        assert!(sent(Kind::Beacon) >= 4);
    }
}

#[test]
fn beacons_describe_the_bss() {
    let fields = [
        "wlan.fixed.timestamp",
        "radiotap.mactime",
        "radiotap.datarate",
        "wlan.tim.dtim_count",
        "wlan.tim.dtim_period",
        "wlan.fixed.beacon",
        "wlan.seq",
        "wlan.ssid",
        "wlan.fixed.capabilities",
        "wlan.rsn.pcs.type",
        "wlan.wfa.ie.wpa.ucs.type",
        "wlan.ds.current_channel",
        "wlan.ht.capabilities.width",
        "wlan.vht.op.channelwidth",
        "frame.len",
    ];
    let mut securities = Suite::ALL.into_iter().filter(|suite| !suite.is_bip()).cycle();
    for (mut of, name) in phys() {
        of["beacon_interval_tu"] = 20.into();
        let forbidden = |suite: &Suite| suite.is_rc4() && matches!(name, "7" | "8");
        let suite = securities.find(|suite| !forbidden(suite)).unwrap();
        of["security"] = suite.name().into();
        let (told, file) = performed(&words(&of), 0, 0, Nanos::from_ms(150));
        let Some(seen) = seen(&told, &file, &fields) else {
            return;
        };
        assert_eq!(seen.len(), 7);
        for (number, (_, frames)) in seen.iter().enumerate() {
            let [frame] = &frames[..] else { panic!("one frame") };
            // 11.1.3.1: the time at which the first bit of the field is sent, 24 octets after the first bit of the
            // frame.
            let timestamp: u64 = frame[0].parse().unwrap();
            let first_bit: u64 = frame[1].parse().unwrap();
            let in_dsss = frame[2] == "1";
            assert!(in_dsss || frame[2] == "6", "the lowest basic rate: {of}");
            let (first, last) = if in_dsss { (192, 192) } else { (32, 32) };
            assert!((first..=last).contains(&(timestamp - first_bit)), "{of}");
            assert_eq!(
                frame[3..8],
                ["0", "1", "20", &number.to_string(), "616972746f6c6c"]
            );
            let capabilities = u16::from_str_radix(&frame[8][2..], 16).unwrap();
            assert_eq!(capabilities & 0b1_0001, 0b1_0001, "ESS and Privacy");
            let is_short = of.get("preamble").is_some();
            assert_eq!(capabilities >> 5 & 1 == 1, is_short, "short preamble: {of}");
            let (rsn, wpa) = match suite {
                Suite::Wep40 | Suite::Wep104 => (String::new(), ""),
                Suite::Tkip => (String::new(), "2"),
                suite => (suite.selector()[3].to_string(), ""),
            };
            assert_eq!(frame[9..11], [&rsn, wpa], "{of}");
            let in_2ghz = matches!(name, "4" | "6") || of.get("band").is_some();
            assert_eq!(frame[11], if in_2ghz { "6" } else { "" });
            let bandwidth = of.get("bandwidth").and_then(Value::as_u64).unwrap_or(20);
            let width = match name {
                "7" | "8" if bandwidth > 20 => "1",
                "7" | "8" => "0",
                _ => "",
            };
            assert_eq!(frame[12], width, "{of}");
            let width = if bandwidth >= 80 { "1" } else { "0" };
            assert_eq!(frame[13], if name == "8" { width } else { "" }, "{of}");
        }
    }
}

#[test]
fn protected_beacons_end_with_a_mic_under_the_beacon_key() {
    let of = |beacon_prot: bool| {
        json!({
            "phy": "ht", "rate": "mcs7", "security": "ccmp", "ieee80211w": "required", "beacon_prot": beacon_prot,
            "beacon_interval_tu": 20,
        })
    };
    let (told, file) = performed(&words(&of(true)), 0, 0, Nanos::from_ms(150));
    let bip = Bip::new(GROUP_MANAGEMENT, &BIGTK_OCTETS).unwrap();
    let beacons = pcap::records(&file).map(|record| {
        let data = record.unwrap().1.data;
        &data[Radiotap::parse(data).unwrap().1..data.len() - fcs::FCS_LEN]
    });
    for (number, beacon) in (1..).zip(beacons) {
        let checked = bip.check(beacon).unwrap();
        assert_eq!((checked.ipn.get(), checked.key_id.get()), (number, 6));
    }
    let (plain, _) = performed(&words(&of(false)), 0, 0, Nanos::from_ms(150));
    assert_eq!(told[0].ppdu.psdu_len_b, plain[0].ppdu.psdu_len_b + 18);

    let fields = [
        "wlan.rsn.capabilities.mfpr",
        "wlan.rsn.capabilities.mfpc",
        "wlan.extcap.b84",
        "wlan.mmie.keyid",
        "wlan.mmie.ipn",
    ];
    let Some(seen) = seen(&told, &file, &fields) else {
        return;
    };
    assert_eq!(seen[0].1[0][..5], ["1", "1", "1", "6", "010000000000"]);
}

#[test]
fn retransmissions_are_the_mpdus_that_the_block_ack_lacked() {
    // About one MPDU in ten is lost, and a few responses.
    let of = json!({
        "phy": "ht", "rate": "mcs7", "error_model": "nist", "snr_db": [[0, 11.6], [23.6, 0]], "seed": 5, "queue_limit": 2000,
        "retry_limit": 20,
    });
    let (told, file) = performed(&words(&of), 1500, 0, Nanos::ZERO);
    let fields = [
        "wlan.seq",
        "wlan.fc.retry",
        "wlan.fixed.ssc.sequence",
        "wlan.ba.bm",
        "wlan.qos.tid",
    ];
    let Some(seen) = seen(&told, &file, &fields) else {
        return;
    };
    let (mut again, mut times_sent) = (Vec::new(), BTreeMap::<u16, u32>::new());
    let (mut missing_in_all, mut lost_answers) = (0, 0);
    for pair in seen.windows(2) {
        let [(data, frames), (answer, answers)] = pair else {
            unreachable!()
        };
        if !data.is_data() {
            continue;
        }
        let read: Vec<u16> = frames.iter().map(|frame| frame[0].parse().unwrap()).collect();
        assert_eq!(
            read, data.sequences,
            "the monitor reads all MPDUs, including those that the receiver lost"
        );
        assert_eq!(
            read[..again.len().min(read.len())],
            again[..again.len().min(read.len())]
        );
        for (frame, number) in frames.iter().zip(&read) {
            let before = times_sent.entry(*number).or_default();
            assert_eq!(
                frame[1],
                if *before == 0 { "0" } else { "1" },
                "Retry of {number}"
            );
            *before += 1;
        }
        let missing: Vec<u16> = match answer.ppdu.kind {
            Kind::BlockAck => {
                let start: u16 = answers[0][2].parse().unwrap();
                // tshark shows the octets in the order of their transmission.
                let bitmap = u64::from_str_radix(&answers[0][3], 16).unwrap().swap_bytes();
                // MPDUs newer than all received ones are beyond the bitmap.
                let arrived = |number: &u16| number - start < 64 && bitmap >> (number - start) & 1 == 1;
                read.iter().copied().filter(|number| !arrived(number)).collect()
            }
            Kind::Ack => Vec::new(),
            _ => read.clone(),
        };
        let is_answer = matches!(answer.ppdu.kind, Kind::Ack | Kind::BlockAck);
        assert_eq!(is_answer, data.received);
        missing_in_all += missing.len();
        lost_answers += usize::from(is_answer && !answer.received);
        again = if answer.received || !is_answer {
            missing
        } else {
            read
        };
    }
    assert!(again.is_empty(), "all MPDUs arrive in the end");
    assert_eq!(times_sent.len(), 1500);
    assert!(missing_in_all > 20, "{missing_in_all} MPDUs were lost");
    assert!(lost_answers > 2, "{lost_answers} answers were lost");
}

#[test]
fn a_block_ack_covers_the_mpdus_of_its_addressee() {
    let words = scenario(&[("stations", 2.into()), ("topology", "stations".into())]);
    let config = words.build().unwrap().medium;
    let addresses: Vec<_> = (1..=3).map(|last| MacAddr([2, 0, 0, 0, 0, last])).collect();
    let names = Names {
        beacons: Some(beacons(addresses[0], &config, Some(0), &Keys::Open, None)),
        addresses: addresses.clone(),
        tid: 0,
        channel: None,
    };
    let path = temporary_file();
    let mut capture = Capture::create(&path, names).unwrap();
    let ppdu = |sender, receiver, kind| Ppdu {
        sender,
        receiver: Some(receiver),
        kind,
        mode: words.mode(),
        psdu_len_b: 0,
        start: Nanos::ZERO,
        end: Nanos::ZERO,
    };
    let heard = [(1, vec![0, 1, 2]), (2, vec![5, 7])];
    for (station, sequences) in &heard {
        capture.end(
            &ppdu(*station, 0, Kind::Data { mpdus: 3 }),
            sequences.iter().copied(),
        );
    }
    for (station, sequences) in heard {
        let answer = ppdu(0, station, Kind::BlockAck);
        capture.begin(&answer, Nanos::ZERO);
        let file = [&pcap::file_header()[..], &capture.on_air.last().unwrap().records].concat();
        let frame = pcap::records(&file).next().unwrap().unwrap().1.data;
        let block_ack = BlockAck::parse(&frame[Radiotap::parse(frame).unwrap().1..]).unwrap();
        assert_eq!(block_ack.ra, addresses[station]);
        assert_eq!(block_ack.starting_sequence, 0);
        let expected = sequences
            .iter()
            .fold(0, |bitmap, sequence| bitmap | 1 << sequence);
        assert_eq!(block_ack.bitmap, expected);
        capture.end(&answer, std::iter::empty());
    }
    capture.finish().unwrap();
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn collided_frames_are_unreadable_and_noisy_frames_are_readable() {
    let (told, file) = performed(&words(&json!({"queue_limit": 400})), 300, 300, Nanos::ZERO);
    let Some(seen) = seen(&told, &file, &["wlan.fc.retry"]) else {
        return;
    };
    let collided = told.iter().filter(|told| !told.readable).count();
    assert!(collided > 20);
    assert_eq!(seen.len(), told.len() - collided);
    let retries = seen.iter().filter(|(_, frames)| frames[0][0] == "1").count();
    assert!(
        retries > collided / 2,
        "{retries} retransmissions were read, {collided} PPDUs collided"
    );
    let noisy = json!({"error_model": "yans", "snr_db": 18.6, "queue_limit": 400});
    let (told, file) = performed(&words(&noisy), 300, 0, Nanos::ZERO);
    assert!(
        told.iter().any(|told| told.is_data() && !told.received),
        "at least one data PPDU is lost"
    );
    assert!(told.iter().all(|told| told.readable));
    let Some(seen) = self::seen(&told, &file, &[]) else {
        return;
    };
    assert_eq!(seen.len(), told.len());
}

#[test]
fn under_rate_control_every_frame_has_its_own_rate() {
    for (mut of, snr_db) in [
        (json!({"phy": "vht", "rate": "mcs8"}), 20),
        (
            json!({"phy": "dsss", "rate": "11 Mbit/s", "preamble": "short"}),
            5,
        ),
    ] {
        of["rate_control"] = "minstrel".into();
        of["error_model"] = "nist".into();
        of["snr_db"] = snr_db.into();
        of["queue_limit"] = 1000.into();
        let (told, file) = performed(&words(&of), 600, 0, Nanos::ZERO);
        let Some(seen) = seen(
            &told,
            &file,
            &[
                "wlan_radio.data_rate",
                "radiotap.vht.mcs.0",
                "radiotap.ampdu.flags.eof",
            ],
        ) else {
            return;
        };
        let mut rates = BTreeMap::new();
        for (told, frames) in seen.iter().filter(|(told, _)| told.is_data()) {
            for frame in frames {
                let mbps: f64 = frame[0].parse().unwrap();
                assert!(
                    (mbps - told.ppdu.mode.rate_kbps() as f64 / 1000.0).abs() < 0.002,
                    "{told:?}"
                );
                let mcs = told.ppdu.mode.mcs().map_or(String::new(), |mcs| mcs.to_string());
                assert_eq!(frame[1], mcs);
                let eof = if frames.len() == 1 { "1" } else { "0" };
                assert_eq!(frame[2], if told.ppdu.mode.always_ampdu() { eof } else { "" });
                *rates.entry(frame[0].clone()).or_insert(0) += 1;
            }
        }
        assert!(rates.len() > 2, "{rates:?}");
    }
}
