//! The fuzz targets: each function takes arbitrary octets and panics if a guarantee does not hold.
//!
//! ```text
//!  cargo install cargo-fuzz
//!  cargo run --bin seeds                     (in this folder) writes the initial corpus to corpus/
//!  cargo +nightly fuzz run --features libfuzzer frames -- -max_total_time=600
//!                                            also: captures, open, seal, handshake, sae, phases, eap,
//!                                            netlink, agent
//!  cargo test                                runs the same functions on the seeds and mutations of them
//! ```

mod agent;
mod eap;
mod handshake;
mod netlink;
mod phases;
mod sae;

use std::path::Path;
use std::sync::LazyLock;

pub use agent::agent;
pub use eap::eap;
pub use handshake::handshake;
pub use netlink::netlink;
pub use phases::phases;
pub use sae::sae;
use wlan_ciphers::bip::IntegrityKeyId;
use wlan_ciphers::michael::MichaelHeader;
use wlan_ciphers::{
    Backend, Bip, KeyId, OpenError, OpenJob, Opened, PacketNumber, Role, SealJob, Suite, TemporalKey, Tkip,
    Wep, open_each, seal_each,
};
use wlan_decrypt::decap::{CaptureKey, Counts, Decap, KeyOwner, Receiver};
use wlan_frames::ampdu::Delimiter;
use wlan_frames::beacon::Beacon;
use wlan_frames::control::{Ack, BlockAck, BlockAckReq, Cts, Rts};
use wlan_frames::pcap::{self, Decoder, LINKTYPE_ETHERNET, Step};
use wlan_frames::radiotap::Radiotap;
use wlan_frames::{
    DataHeader, EapolKey, FrameControl, KeyData, LlcSnap, MacAddr, Management, RsnElement, WpaElement,
    captured, fcs,
};
use wlan_rsn::psk::psk;
use wlan_rsn::{Key, Learned, Observer, Pmk};

const LINK_TYPES: [u32; 6] = [1, 105, 119, 127, 163, 192];
const BIP_SUITES: [Suite; 4] = [
    Suite::BipCmac128,
    Suite::BipCmac256,
    Suite::BipGmac128,
    Suite::BipGmac256,
];
/// Keys of the captures in `crates/wlan-decrypt/tests/captures`, so that mutated captures can still be decrypted.
const WEP40: [u8; 5] = [0x1f, 0x2e, 0x3d, 0x4c, 0x5b];
const WEP104: &[u8; 13] = b"thirteen-char";
const TKIP: [u8; 32] = [
    0x86, 0x6c, 0x91, 0xf0, 0x83, 0x5b, 0x0e, 0xea, 0xbb, 0x85, 0xa9, 0x52, 0x09, 0x75, 0x57, 0x7b, 0x04,
    0x3a, 0x69, 0xce, 0x14, 0x33, 0x9d, 0x00, 0x67, 0xc0, 0x8c, 0x9a, 0x1e, 0xa4, 0x81, 0x6b,
];

/// Parsers of wlan-frames: they do not panic, and a parsed frame is emitted as octets that parse to the same frame.
pub fn frames(data: &[u8]) {
    let mut buf = [0; 64];
    macro_rules! parses_as_emitted {
        ($($frame:ty),*) => {$(
            if let Ok(frame) = <$frame>::parse(data) {
                let len = frame.emit(&mut buf);
                assert_eq!(<$frame>::parse(&buf[..len]), Ok(frame));
            }
        )*};
    }
    parses_as_emitted!(DataHeader, BlockAck, Ack, BlockAckReq, Rts, Cts, Delimiter);
    if let Ok((radiotap, len)) = Radiotap::parse(data) {
        assert!(len <= data.len());
        let len = radiotap.emit(&mut buf);
        assert_eq!(Radiotap::parse(&buf[..len]), Ok((radiotap, len)));
    }
    if let Ok(beacon) = Beacon::parse(data) {
        let mut emitted = vec![0; data.len() + 64];
        let len = beacon.emit(&mut emitted);
        assert_eq!(Beacon::parse(&emitted[..len]), Ok(beacon));
    }
    if let Ok(frame) = Management::parse(data) {
        let mut emitted = vec![0; data.len()];
        assert_eq!(frame.emit(&mut emitted), data.len());
        assert_eq!(Management::parse(&emitted), Ok(frame));
    }
    macro_rules! element_parses_as_emitted {
        ($($element:ty),*) => {$(
            if let Ok(element) = <$element>::parse(data) {
                let mut emitted = [0; 257];
                let len = element.emit(&mut emitted);
                assert!(len <= data.len());
                assert_eq!(<$element>::parse(&emitted[..len]), Ok(element));
            }
        )*};
    }
    element_parses_as_emitted!(RsnElement, WpaElement);
    for mic_len in EapolKey::MIC_LENS {
        if let Ok((key, len)) = EapolKey::parse(data, mic_len) {
            let mut emitted = vec![0; len];
            assert_eq!(key.emit(&mut emitted), len);
            assert_eq!(EapolKey::parse(&emitted, mic_len), Ok((key, len)));
        }
    }
    for item in KeyData::each(data).take_while(Result::is_ok).flatten() {
        let mut emitted = Vec::new();
        item.push(&mut emitted);
        let mut again = KeyData::each(&emitted);
        assert_eq!((again.next(), again.next()), (Some(Ok(item)), None));
    }
    if let Ok(llc) = LlcSnap::parse(data) {
        llc.emit(&mut buf);
        assert_eq!(buf[..LlcSnap::LEN], data[..LlcSnap::LEN]);
    }
    if let Ok(fc) = FrameControl::parse(data) {
        assert!(
            fc.qos_offset()
                .is_none_or(|at| fc.header_len().is_some_and(|len| at < len))
        );
        let _ = (fc.is_data_with_body(), fc.has_addr4(), fc.subtype());
    }
    let _ = fcs::check(data);
    for link_type in LINK_TYPES {
        if let Ok(mpdu) = captured::mpdu(link_type, data) {
            assert!(mpdu.len() <= data.len() && captured::is_known(link_type));
        }
    }
}

/// Capture files, classic and pcapng. Reading and decrypting never panics. Reading in pieces gives the same records as
/// reading at once, and the output is a valid capture. If keys are learned from the capture, the output does not depend
/// on the batch size. The first octet is the length of the pieces.
pub fn captures(data: &[u8]) {
    let Some((&piece, file)) = data.split_first() else {
        return;
    };
    let mut decap = Decap::new(vec![
        CaptureKey::from(Wep::new(&WEP40).expect("5 octets")),
        CaptureKey::from(Wep::new(WEP104).expect("13 octets")),
        CaptureKey::new(Suite::Tkip, &TKIP).expect("32 octets"),
        CaptureKey::new(Suite::Ccmp128, &[0x5a; 16]).expect("16 octets"),
    ]);
    let mut out = pcap::file_header_of(LINKTYPE_ETHERNET).to_vec();
    let (mut octets, mut whole) = (0, pcap::records(file));
    let mut decoder = Decoder::default();
    let (mut at, mut end) = (0, 0);
    let outcome = loop {
        match decoder.step(&file[at..end]) {
            Err(error) => break Err(error),
            Ok(Step::Skip(len)) => at += len,
            Ok(Step::Record(link_type, record, len)) => {
                at += len;
                octets += record.data.len();
                assert_eq!(whole.next(), Some(Ok((link_type, record))));
                let _ = decap.record(link_type, &record, |frame| {
                    out.extend(pcap::record_header(record.ts_ns, frame.len()));
                    out.extend(frame);
                });
            }
            Ok(Step::Need(len)) => {
                assert!(len > end - at, "requested octets that are already available");
                if end == file.len() {
                    break decoder.finish(end - at);
                }
                end = file.len().min(end + 1 + usize::from(piece));
            }
        }
    };
    assert_eq!(whole.next(), outcome.err().map(Err));
    assert!(octets <= file.len());
    let counts = decap.counts();
    let frames = pcap::records(&out).inspect(|record| assert!(record.is_ok()));
    assert_eq!(frames.count() as u64, counts.frames);
    assert_eq!(
        counts.decrypted() + counts.skipped.values().sum::<u64>(),
        counts.records
    );
    let learned = learning(file, usize::MAX);
    assert_eq!(
        learned,
        learning(file, 1 + usize::from(piece)),
        "the output depends on the batch size"
    );
}

/// Decrypts a capture with keys learned from its handshakes, in batches of `at_once` records.
fn learning(file: &[u8], at_once: usize) -> (Vec<u8>, Counts) {
    static PMK: LazyLock<Pmk> =
        LazyLock::new(|| Pmk::of_psk(psk(b"correct-horse", b"airtoll").expect("a passphrase")));

    struct Listener(Observer, Vec<u8>);

    impl Receiver for Listener {
        fn frame(&mut self, ts_ns: u64, head: &[u8], body: &[u8]) {
            self.1.extend(pcap::record_header(ts_ns, head.len() + body.len()));
            self.1.extend([head, body].concat());
        }

        fn eapol(&mut self, bssid: MacAddr, station: MacAddr, packet: &[u8]) -> Vec<(KeyOwner, CaptureKey)> {
            let learned = self.0.packet(bssid, station, packet).unwrap_or_default();
            let key = |suite, key: &Key| {
                CaptureKey::new(suite, key.as_octets()).expect("the key has the suite's length")
            };
            let learned = learned.into_iter().filter_map(|one| match one {
                Learned::Pairwise {
                    bssid,
                    station,
                    suite,
                    key: octets,
                    ..
                } => Some((KeyOwner::Pairwise { bssid, station }, key(suite, &octets))),
                Learned::Group {
                    bssid,
                    key_id,
                    suite,
                    key: octets,
                } if !matches!(suite, Suite::Wep40 | Suite::Wep104) && !suite.is_bip() => {
                    Some((KeyOwner::Group { bssid, key_id }, key(suite, &octets)))
                }
                _ => None,
            });
            learned.collect()
        }
    }

    let mut observer = Observer::new();
    observer.add_pmk(None, PMK.clone());
    let mut to = Listener(observer, Vec::new());
    let mut decap = Decap::learning(Vec::new());
    let records: Vec<_> = pcap::records(file).filter_map(Result::ok).collect();
    for records in records.chunks(at_once) {
        let mut batch = decap.batch();
        for (link_type, record) in records {
            let _ = batch.push(*link_type, record, &mut to);
        }
        let _ = batch.finish(&mut to);
    }
    (to.1, decap.counts().clone())
}

/// Opening arbitrary frames with every suite: no panic, no plaintext of a rejected frame remains, and all backends give
/// the same result.
pub fn open(data: &[u8]) {
    for key in [&WEP40[..], WEP104] {
        let wep = Wep::new(key).expect("5 or 13 octets");
        checked_open(data, wep.suite(), |jobs| wep.open(jobs));
    }
    for role in [Role::Ap, Role::Sta] {
        let tkip = Tkip::new(&TKIP, role);
        checked_open(data, Suite::Tkip, |jobs| tkip.open(jobs));
    }
    for suite in Suite::OF_TEMPORAL_KEYS {
        let mut expected = None;
        for backend in Backend::available() {
            let found = checked_open(data, suite, |jobs| aes_key(suite, backend).open(jobs));
            assert_eq!(
                *expected.get_or_insert_with(|| found.clone()),
                found,
                "{suite:?}, {backend:?}"
            );
        }
    }
    for suite in BIP_SUITES {
        let bip = bip_key(suite);
        if let Ok(checked) = bip.check(data) {
            assert_eq!(bip.peek(data), Ok((checked.ipn, checked.key_id)));
        }
    }
}

/// Sealing arbitrary frames: no panic, a rejected frame is unchanged, and a sealed frame opens to its plaintext, alone
/// and in batches. The first octets select key identifier, TKIP fragmentation and packet number.
pub fn seal(data: &[u8]) {
    let Some((&[how, a, b, c, d, e, f], mpdu)) = data.split_first_chunk() else {
        return;
    };
    let key_id = KeyId::new(how & 3).expect("two bits");
    let pn = PacketNumber::new(u64::from_be_bytes([0, 0, a, b, c, d, e, f])).expect("48 bits");
    let iv = PacketNumber::new(pn.get() & 0xff_ffff).expect("24 bits");

    let wep = Wep::new(WEP104).expect("13 octets");
    sealed_opens(
        mpdu,
        iv,
        key_id,
        wep.suite(),
        |jobs| wep.seal(jobs).is_ok(),
        |jobs| wep.open(jobs),
    );
    let (ap, station) = (Tkip::new(&TKIP, Role::Ap), Tkip::new(&TKIP, Role::Sta));
    let _ = station.msdu_mic(
        MichaelHeader {
            da: MacAddr([1; 6]),
            sa: MacAddr([2; 6]),
            priority: how,
        },
        mpdu,
    );
    sealed_opens(
        mpdu,
        pn,
        key_id,
        Suite::Tkip,
        |jobs| ap.seal(jobs).is_ok(),
        |jobs| station.open(jobs),
    );
    if how & 4 != 0 {
        let mut copy = mpdu.to_vec();
        let header_len = header_len(mpdu);
        let _ = ap.seal_fragments(&mut [seal_job(&mut copy, header_len, pn, key_id)]);
    }
    for suite in Suite::OF_TEMPORAL_KEYS {
        let key = aes_key(suite, Backend::detect());
        sealed_opens(
            mpdu,
            pn,
            key_id,
            suite,
            |jobs| key.seal(jobs).is_ok(),
            |jobs| key.open(jobs),
        );
    }
    batches(mpdu, pn, key_id);
    for suite in BIP_SUITES {
        let (bip, mut copy) = (bip_key(suite), mpdu.to_vec());
        let key_id = IntegrityKeyId::new(4 + (how & 3)).expect("4 to 7");
        if bip.protect(&mut copy, pn, key_id).is_ok() {
            let checked = bip.check(&copy).expect("a protected frame passes its check");
            assert_eq!((checked.ipn, checked.key_id), (pn, key_id));
        } else {
            assert_eq!(copy, mpdu);
        }
    }
}

fn aes_key(suite: Suite, backend: Backend) -> TemporalKey {
    TemporalKey::with_backend(suite, &[0x5a; 32][..suite.key_len()], backend)
        .expect("the key has the suite's length")
}

fn bip_key(suite: Suite) -> Bip {
    Bip::new(suite, &[0x5a; 32][..suite.key_len()]).expect("the key has the suite's length")
}

fn header_len(mpdu: &[u8]) -> usize {
    FrameControl::parse(mpdu)
        .ok()
        .and_then(FrameControl::header_len)
        .unwrap_or(24)
}

/// Opens several copies of a frame with every key identifier. Copies with equal identifiers give equal results, and no
/// plaintext remains of a frame with a wrong MIC or ICV.
fn checked_open(
    data: &[u8],
    suite: Suite,
    open: impl Fn(&mut [OpenJob<'_>]),
) -> Vec<(Result<Opened, OpenError>, Vec<u8>)> {
    let mut copies = vec![data.to_vec(); 12];
    let mut jobs: Vec<_> = (0u8..)
        .zip(&mut copies)
        .map(|(n, copy)| OpenJob::new(copy, KeyId::new(n % 4).expect("0 to 3")))
        .collect();
    open(&mut jobs);
    let verdicts: Vec<_> = jobs.iter().map(|job| job.verdict().cloned()).collect();
    let all: Vec<_> = verdicts.into_iter().zip(copies).collect();
    for (n, (verdict, copy)) in all.iter().enumerate() {
        assert_eq!((verdict, copy), (&all[n % 4].0, &all[n % 4].1));
        match verdict {
            Ok(opened) => assert!(opened.payload.end <= copy.len()),
            Err(OpenError::Icv | OpenError::Mic) => assert_cleared(copy, data, suite),
            Err(OpenError::Pending) => panic!("no verdict"),
            Err(_) => assert_eq!(copy, data, "a rejected frame was changed"),
        }
    }
    all
}

fn seal_job(mpdu: &mut [u8], header_len: usize, pn: PacketNumber, key_id: KeyId) -> SealJob<'_> {
    SealJob {
        mpdu,
        header_len,
        pn,
        key_id,
    }
}

/// Asserts that only the decrypted octets have changed and that all of them are zero.
fn assert_cleared(refused: &[u8], received: &[u8], suite: Suite) {
    let start = header_len(received) + suite.header_len();
    // RC4 encrypts the ICV too. The other suites leave the received MIC unchanged.
    let end = received.len() - if suite.is_rc4() { 0 } else { suite.mic_len() };
    assert!(
        refused[start..end].iter().all(|&octet| octet == 0),
        "plaintext not zeroed"
    );
    assert_eq!(refused[..start], received[..start]);
    assert_eq!(refused[end..], received[end..]);
}

/// Seals and opens a batch of frames of several lengths, each with its own key and suite. With every backend, every
/// frame gives the same result as alone. Lengths and keys are derived from the octets of the frame.
fn batches(mpdu: &[u8], pn: PacketNumber, key_id: KeyId) {
    let header_len = header_len(mpdu);
    let Some((header, body)) = mpdu.split_at_checked(header_len) else {
        return;
    };
    if body.is_empty() {
        return;
    }
    // More frames than a group of any backend.
    let choices: Vec<u8> = body.iter().copied().cycle().take(40).collect();
    let suites = Suite::OF_TEMPORAL_KEYS;
    let keys = |backend| -> Vec<TemporalKey> {
        let key = |&choice: &u8| {
            let suite = suites[usize::from(choice) % suites.len()];
            let key = [choice >> 6; 32];
            TemporalKey::with_backend(suite, &key[..suite.key_len()], backend)
                .expect("the key has the suite's length")
        };
        choices.iter().map(key).collect()
    };
    let plain: Vec<Vec<u8>> = (keys(Backend::Portable).iter().zip(&choices).enumerate())
        .map(|(n, (key, &choice))| {
            let around = key.suite().header_len() + key.suite().mic_len();
            let len = around + usize::from(choice.rotate_left(3)) * (1 + n % 3) / 2;
            header
                .iter()
                .chain(body.iter().cycle().take(len))
                .copied()
                .collect()
        })
        .collect();
    let mut expected = None;
    for backend in Backend::available() {
        let keys = keys(backend);
        let mut sealed = plain.clone();
        let mut batch: Vec<_> = keys
            .iter()
            .zip(
                sealed
                    .iter_mut()
                    .map(|mpdu| seal_job(mpdu, header_len, pn, key_id)),
            )
            .collect();
        if seal_each(&mut batch).is_err() {
            assert_eq!(sealed, plain, "a rejected frame was changed");
            return;
        }
        let expected = expected.get_or_insert_with(|| {
            let mut alone = plain.clone();
            for (key, mpdu) in keys.iter().zip(&mut alone) {
                key.seal(&mut [seal_job(mpdu, header_len, pn, key_id)])
                    .expect("the batch was sealed");
            }
            alone
        });
        assert_eq!(sealed, *expected, "{backend:?}");

        let forged = usize::from(choices[0]) % sealed.len();
        *sealed[forged].last_mut().expect("the frame has a MIC") ^= 1;
        let received = sealed.clone();
        let mut batch: Vec<_> = (keys.iter().zip(&mut sealed))
            .map(|(key, mpdu)| (key, OpenJob::new(mpdu, key_id)))
            .collect();
        open_each(&mut batch);
        for (n, ((key, job), plain)) in batch.iter().zip(&plain).enumerate() {
            let suite = key.suite();
            let payload = header_len + suite.header_len()..plain.len() - suite.mic_len();
            if n == forged {
                assert_eq!(job.verdict(), Err(OpenError::Mic), "{backend:?}");
                assert_cleared(job.mpdu, &received[n], suite);
            } else {
                assert_eq!(job.payload(), Ok(&plain[payload]), "{backend:?}");
            }
        }
    }
}

fn sealed_opens(
    mpdu: &[u8],
    pn: PacketNumber,
    key_id: KeyId,
    suite: Suite,
    seal: impl Fn(&mut [SealJob<'_>]) -> bool,
    open: impl Fn(&mut [OpenJob<'_>]),
) {
    let mut copy = mpdu.to_vec();
    let header_len = header_len(mpdu);
    if !seal(&mut [seal_job(&mut copy, header_len, pn, key_id)]) {
        assert_eq!(copy, mpdu, "a rejected frame was changed");
        return;
    }
    let mut jobs = [OpenJob::new(&mut copy, key_id)];
    open(&mut jobs);
    let opened = jobs[0].verdict().expect("a sealed frame opens");
    assert_eq!((opened.pn, opened.key_id), (pn, key_id));
    let plain = header_len + suite.header_len()..mpdu.len() - suite.mic_len();
    assert_eq!(jobs[0].payload(), Ok(&mpdu[plain]));
}

/// The initial corpus: the captures of the tests, their records, and the frames in these records.
///
/// # Panics
/// If the captures cannot be read.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/wlan-decrypt/tests/captures");
    let mut seeds = Vec::new();
    for name in ["wep40.pcap", "wep104.pcap", "tkip.pcap"] {
        let file = std::fs::read(folder.join(name)).expect("the captures are in the repository");
        for record in pcap::records(&file) {
            let (link_type, record) = record.expect("the file is a capture");
            if record.data.len() >= 300 {
                continue;
            }
            let mpdu = captured::mpdu(link_type, record.data).expect("the record holds a frame");
            seeds.extend([
                record.data.to_vec(),
                mpdu.to_vec(),
                [&[1, 0, 0, 0, 0, 0, 9], &mpdu[..]].concat(),
            ]);
        }
        seeds.push([&[250], &file[..]].concat());
        seeds.push([&[250], &as_pcapng(&file)[..]].concat());
    }
    // A broadcast Deauthentication with space for an MME, as for BIP, and a BlockAck.
    let mut deauthentication = [&[0xc0, 0, 0, 0][..], &[0xff; 6], &[2; 12], &[0; 4]].concat();
    deauthentication.resize(24 + 2 + 26, 0);
    seeds.push([&[0; 7][..], &deauthentication].concat());
    seeds.push(deauthentication);
    seeds.extend(agent::seeds());
    seeds.extend(handshake::seeds());
    seeds.extend(netlink::seeds());
    seeds.extend(phases::seeds());
    seeds.extend(sae::seeds());
    seeds.push([&[0x94, 0, 0, 0][..], &[2; 12], &[5, 0x50, 0, 0], &[0; 8]].concat());
    seeds
}

/// Converts a capture to pcapng, with one interface per record.
fn as_pcapng(file: &[u8]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
        let len = u32::try_from(12 + body.len() + padding.len())
            .expect("a short block")
            .to_le_bytes();
        [&kind.to_le_bytes()[..], &len, body, &padding, &len].concat()
    };
    let words = |words: &[u32]| {
        words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<_>>()
    };
    let mut out = block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    for (interface, record) in (0..).zip(pcap::records(file)) {
        let (link_type, record) = record.expect("the file is a capture");
        let kept = u32::try_from(record.data.len()).expect("a short record");
        out.extend(block(1, &words(&[link_type, 0])));
        out.extend(block(
            6,
            &[&words(&[interface, 0, 0, kept, record.original_len]), record.data].concat(),
        ));
    }
    out
}
