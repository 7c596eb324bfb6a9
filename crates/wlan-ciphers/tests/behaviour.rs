//! Requirements of every suite of CCMP, GCMP and Enhanced CCMP, with every backend (IEEE 802.11-2020 12.5.3.4,
//! 12.5.5.4). Each fault of a frame has its own error. No plaintext of a forged frame remains.

use wlan_ciphers::{
    Backend, KeyId, OpenError, OpenJob, PacketNumber, Priority, Replay, ReplayWindow, SealError, SealFault,
    SealJob, Suite, TemporalKey, ccmp, open_each, seal_each,
};

const SUITES: [Suite; 8] = Suite::OF_TEMPORAL_KEYS;

const PAYLOAD: &[u8] = b"what nobody may read who has not the key, in more than two blocks";
const TID: u8 = 5;
const PN: u64 = 0x0102_0304_0506;

/// Octets of the CCMP or GCMP header.
const CIPHER_HEADER: usize = 8;

/// The kinds of headers of frames that these suites protect.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Data,
    QosData,
    FourAddresses,
    QosFourAddresses,
    QosWithHtControl,
    QosFourAddressesWithHtControl,
    /// A robust management frame.
    Action,
}

impl Kind {
    const ALL: [Kind; 7] = [
        Kind::Data,
        Kind::QosData,
        Kind::FourAddresses,
        Kind::QosFourAddresses,
        Kind::QosWithHtControl,
        Kind::QosFourAddressesWithHtControl,
        Kind::Action,
    ];

    /// The header without the Protected bit.
    fn header(self) -> Vec<u8> {
        let (fc, has_addr4, has_qos, has_htc) = match self {
            Kind::Data => ([0x08, 0x01], false, false, false),
            Kind::QosData => ([0x88, 0x01], false, true, false),
            Kind::FourAddresses => ([0x08, 0x03], true, false, false),
            Kind::QosFourAddresses => ([0x88, 0x03], true, true, false),
            Kind::QosWithHtControl => ([0x88, 0x81], false, true, true),
            Kind::QosFourAddressesWithHtControl => ([0x88, 0x83], true, true, true),
            Kind::Action => ([0xd0, 0x00], false, false, false),
        };
        let mut header = vec![fc[0], fc[1], 44, 0];
        header.extend(b"\x02AAAAA\x02BBBBB\x02CCCCC\x10\x32");
        if has_addr4 {
            header.extend(b"\x02DDDDD");
        }
        if has_qos {
            header.extend([TID, 0]);
        }
        if has_htc {
            header.extend([1, 2, 3, 4]);
        }
        header
    }

    fn priority(self) -> Priority {
        match self {
            Kind::Action => Priority::Management,
            Kind::Data | Kind::FourAddresses => Priority::Tid(0),
            _ => Priority::Tid(TID),
        }
    }
}

/// A change of a frame, and the expected result.
type Change<'a, Said> = (&'a dyn Fn(&mut Vec<u8>), Said);

/// A key of each suite with each backend.
fn keys() -> Vec<TemporalKey> {
    let suites_of = |backend| SUITES.map(|suite| key(suite, backend, 7));
    Backend::available().flat_map(suites_of).collect()
}

fn key(suite: Suite, backend: Backend, octet: u8) -> TemporalKey {
    TemporalKey::with_backend(suite, &vec![octet; suite.key_len()], backend).unwrap()
}

fn pn(value: u64) -> PacketNumber {
    PacketNumber::new(value).unwrap()
}

fn key_id(value: u8) -> KeyId {
    KeyId::new(value).unwrap()
}

/// A frame before sealing.
fn laid_out(suite: Suite, header: &[u8], payload: &[u8]) -> Vec<u8> {
    let mic = vec![0xee; suite.mic_len()];
    [header, &[0xee; CIPHER_HEADER], payload, &mic].concat()
}

fn sealed_under(key: &TemporalKey, header: &[u8], payload: &[u8], pn: PacketNumber, id: KeyId) -> Vec<u8> {
    let mut mpdu = laid_out(key.suite(), header, payload);
    let job = SealJob {
        mpdu: &mut mpdu,
        header_len: header.len(),
        pn,
        key_id: id,
    };
    key.seal(&mut [job]).unwrap();
    mpdu
}

fn sealed(key: &TemporalKey, kind: Kind) -> Vec<u8> {
    sealed_under(key, &kind.header(), PAYLOAD, pn(PN), KeyId::PAIRWISE)
}

fn open(key: &TemporalKey, mpdu: &mut [u8], id: KeyId) -> Result<Vec<u8>, OpenError> {
    let mut jobs = [OpenJob::new(mpdu, id)];
    key.open(&mut jobs);
    jobs[0].payload().map(<[u8]>::to_vec)
}

/// Asserts that opening fails with a wrong MIC, and checks what remains of the frame.
fn assert_forged(key: &TemporalKey, mpdu: &[u8], header_len: usize, place: &str) {
    let mut left = mpdu.to_vec();
    assert_eq!(
        open(key, &mut left, KeyId::PAIRWISE),
        Err(OpenError::Mic),
        "{place}"
    );
    let payload = header_len + CIPHER_HEADER..mpdu.len() - key.suite().mic_len();
    assert!(
        left[payload.clone()].iter().all(|&octet| octet == 0),
        "{place}: payload not zeroed"
    );
    assert_eq!(
        left[..payload.start],
        mpdu[..payload.start],
        "{place}: headers changed"
    );
    assert_eq!(left[payload.end..], mpdu[payload.end..], "{place}: MIC changed");
}

#[test]
fn sealed_frames_open_with_every_kind_of_header() {
    for key in keys() {
        for kind in Kind::ALL {
            let place = format!("{key:?} {kind:?}");
            let mut mpdu = sealed(&key, kind);
            assert_eq!(
                mpdu.len(),
                kind.header().len() + PAYLOAD.len() + key.suite().overhead()
            );
            assert_eq!(mpdu[1] & 0x40, 0x40, "{place}: the Protected bit");
            assert_eq!(
                ccmp::peek(&mpdu),
                Ok((pn(PN), KeyId::PAIRWISE)),
                "{place}: the cipher header"
            );
            let hidden = mpdu.windows(16).all(|part| part != &PAYLOAD[..16]);
            assert!(hidden, "{place}: not encrypted");
            let mut jobs = [OpenJob::new(&mut mpdu, KeyId::PAIRWISE)];
            key.open(&mut jobs);
            assert_eq!(jobs[0].verdict().unwrap().priority, kind.priority(), "{place}");
            assert_eq!(jobs[0].payload(), Ok(PAYLOAD), "{place}");
        }
    }
}

#[test]
fn frames_too_short_for_their_mic_are_refused() {
    for key in keys() {
        for kind in Kind::ALL {
            let whole = sealed(&key, kind);
            let least = kind.header().len() + key.suite().overhead();
            for len in 0..least {
                let mut mpdu = whole[..len].to_vec();
                let place = format!("{key:?} {kind:?} of {len} octets");
                assert_eq!(
                    open(&key, &mut mpdu, KeyId::PAIRWISE),
                    Err(OpenError::Short),
                    "{place}"
                );
                assert_eq!(mpdu, whole[..len], "{place}: changed");
            }
            for len in [least, least + 1, whole.len() - 1] {
                let place = format!("{key:?} {kind:?} of {len} octets");
                assert_forged(&key, &whole[..len], kind.header().len(), &place);
            }
        }
    }
}

#[test]
fn each_header_fault_has_its_own_error_and_changes_nothing() {
    let (expected, found) = (KeyId::PAIRWISE, key_id(2));
    let header_len = Kind::QosData.header().len();
    let key_octet = header_len + 3;
    let changes: [(&str, Change<'_, OpenError>); 9] = [
        (
            "not protected",
            (&|mpdu| mpdu[1] &= !0x40, OpenError::NotProtected),
        ),
        (
            "no Ext IV",
            (&|mpdu| mpdu[key_octet] &= !0x20, OpenError::BadHeader),
        ),
        ("protocol version 1", (&|mpdu| mpdu[0] |= 1, OpenError::BadHeader)),
        ("QoS Null", (&|mpdu| mpdu[0] = 0xc8, OpenError::BadHeader)),
        ("Beacon", (&|mpdu| mpdu[0] = 0x80, OpenError::BadHeader)),
        ("Authentication", (&|mpdu| mpdu[0] = 0xb0, OpenError::BadHeader)),
        ("Ack", (&|mpdu| mpdu[0] = 0xd4, OpenError::BadHeader)),
        (
            "another key identifier",
            (
                &|mpdu| mpdu[key_octet] |= 0x80,
                OpenError::KeyMismatch { expected, found },
            ),
        ),
        (
            "too long for CCM",
            (
                &|mpdu| mpdu.resize(header_len + CIPHER_HEADER + 65536 + 16, 0),
                OpenError::Long,
            ),
        ),
    ];
    for key in keys() {
        for (what, (change, why)) in &changes {
            let mut mpdu = sealed(&key, Kind::QosData);
            change(&mut mpdu);
            let came = mpdu.clone();
            assert_eq!(
                open(&key, &mut mpdu, KeyId::PAIRWISE),
                Err(*why),
                "{key:?} {what}"
            );
            assert!(mpdu == came, "{key:?} {what}: changed");
        }
    }
}

#[test]
fn a_modified_frame_is_refused_and_its_plaintext_cleared() {
    for key in keys() {
        for kind in Kind::ALL {
            let (good, header) = (sealed(&key, kind), kind.header());
            // Addresses and TID; both ends of the PN; first and last octet of the ciphertext and of the MIC.
            let text_at = header.len() + CIPHER_HEADER;
            let mic_at = good.len() - key.suite().mic_len();
            let mut places = vec![4, 15, 16, 21, header.len(), header.len() + 7];
            places.extend([text_at, mic_at - 1, mic_at, good.len() - 1]);
            if header[1] & 3 == 3 {
                places.extend([24, 29]);
            }
            if let Priority::Tid(TID) = kind.priority() {
                places.push(if header[1] & 3 == 3 { 30 } else { 24 });
            }
            for place in places {
                let mut mpdu = good.clone();
                // Only the TID of QoS Control is covered: the lowest four bits.
                mpdu[place] ^= 0x08;
                assert_forged(
                    &key,
                    &mpdu,
                    header.len(),
                    &format!("{key:?} {kind:?} octet {place}"),
                );
            }
        }
    }
}

#[test]
fn another_key_or_suite_opens_no_frame() {
    for key in keys() {
        let good = sealed(&key, Kind::QosData);
        let header_len = Kind::QosData.header().len();
        let other = self::key(key.suite(), key.backend(), 8);
        assert_forged(&other, &good, header_len, &format!("{key:?}, another key"));
        let alike = |suite: &Suite| *suite != key.suite() && suite.key_len() == key.suite().key_len();
        for suite in SUITES.into_iter().filter(alike) {
            let other = self::key(suite, key.backend(), 7);
            assert_forged(&other, &good, header_len, &format!("{key:?} as {suite:?}"));
        }
    }
}

#[test]
fn every_key_id_opens_only_its_own_frames() {
    for key in keys() {
        for id in 0..4 {
            let good = sealed_under(&key, &Kind::Data.header(), PAYLOAD, pn(PN), key_id(id));
            assert_eq!(good[Kind::Data.header().len() + 3], id << 6 | 0x20, "{key:?}");
            for expected in 0..4 {
                let opened = open(&key, &mut good.clone(), key_id(expected));
                if expected == id {
                    assert_eq!(opened.as_deref(), Ok(PAYLOAD), "{key:?}");
                } else {
                    let (expected, found) = (key_id(expected), key_id(id));
                    assert_eq!(opened, Err(OpenError::KeyMismatch { expected, found }), "{key:?}");
                }
            }
        }
    }
}

/// Frames of different TIDs may overtake each other; frames of one TID may not.
#[test]
fn replays_are_distinguished_from_forgeries_per_tid() {
    for key in keys() {
        let mut window = ReplayWindow::new(PacketNumber::ZERO);
        let mut receive = |kind: Kind, tid: u8, number: u64| {
            let mut header = kind.header();
            if kind == Kind::QosData {
                header[24] = tid;
            }
            let mut mpdu = sealed_under(&key, &header, PAYLOAD, pn(number), KeyId::PAIRWISE);
            let mut jobs = [OpenJob::new(&mut mpdu, KeyId::PAIRWISE)];
            key.open(&mut jobs);
            // A replayed frame opens too. Only the window rejects it.
            let opened = jobs[0].verdict().unwrap();
            window.accept(opened.priority, opened.pn)
        };
        let replay = |found, last| {
            let (found, last) = (pn(found), pn(last));
            Err(Replay { found, last })
        };
        for tid in (0..16).rev() {
            assert_eq!(
                receive(Kind::QosData, tid, 100 - u64::from(tid)),
                Ok(()),
                "{key:?}"
            );
        }
        assert_eq!(receive(Kind::Action, 0, 1), Ok(()), "{key:?}");
        assert_eq!(receive(Kind::Action, 0, 1), replay(1, 1), "{key:?}");
        assert_eq!(receive(Kind::QosData, 3, 97), replay(97, 97), "{key:?}");
        assert_eq!(receive(Kind::QosData, 3, 96), replay(96, 97), "{key:?}");
        assert_eq!(receive(Kind::QosData, 3, 98), Ok(()), "{key:?}");
        // A frame without QoS has TID 0, whose counter is 100.
        assert_eq!(receive(Kind::Data, 0, 100), replay(100, 100), "{key:?}");
        assert_eq!(receive(Kind::Data, 0, PacketNumber::MAX.get()), Ok(()), "{key:?}");
    }
}

/// A fragment is a separate MPDU with its own packet number. Its fragment number is authenticated; the sequence number,
/// which is the same in all fragments and retransmissions, is not (12.5.3.3.3).
#[test]
fn fragments_open_separately_and_cannot_be_swapped() {
    for key in keys() {
        let fragment = |number: u8, more: bool| {
            let mut header = Kind::QosData.header();
            header[1] |= u8::from(more) << 2;
            header[22] = header[22] & 0xf0 | number;
            header
        };
        let (first, last) = (fragment(0, true), fragment(1, false));
        let (start, end) = PAYLOAD.split_at(32);
        let first = sealed_under(&key, &first, start, pn(1), KeyId::PAIRWISE);
        let last = sealed_under(&key, &last, end, pn(2), KeyId::PAIRWISE);
        let open = |mpdu: &[u8]| open(&key, &mut mpdu.to_vec(), KeyId::PAIRWISE);
        assert_eq!(open(&first).as_deref(), Ok(start), "{key:?}");
        assert_eq!(open(&last).as_deref(), Ok(end), "{key:?}");
        let header_len = Kind::QosData.header().len();
        let mut moved = last.clone();
        moved[22] ^= 1;
        assert_forged(&key, &moved, header_len, &format!("{key:?}: as fragment 0"));
        let mut cut = first.clone();
        cut[1] ^= 0x04;
        assert_forged(&key, &cut, header_len, &format!("{key:?}: as the last fragment"));
        let mut renumbered = first.clone();
        renumbered[23] ^= 0xff;
        assert_eq!(open(&renumbered).as_deref(), Ok(start), "{key:?}");
    }
}

#[test]
fn empty_and_maximum_payloads_are_sealed_and_opened() {
    for key in keys() {
        let header = Kind::QosFourAddresses.header();
        // No payload; the longest MSDU; the longest VHT MPDU without the octets around the payload; the maximum of CCM.
        for len in [0, 1, 2304, 11454, 65535] {
            let payload = vec![0x3c; len];
            let mut mpdu = sealed_under(&key, &header, &payload, PacketNumber::MAX, KeyId::PAIRWISE);
            let opened = open(&key, &mut mpdu, KeyId::PAIRWISE);
            assert!(opened == Ok(payload), "{key:?} of {len} octets");
        }
    }
}

#[test]
fn a_malformed_job_is_named_and_its_batch_stays_unchanged() {
    for key in keys() {
        let (suite, header) = (key.suite(), Kind::QosData.header());
        let implied = header.len();
        let changes: [(usize, Change<'_, SealFault>); 9] = [
            (implied, (&|mpdu| mpdu.clear(), SealFault::Short)),
            (implied, (&|mpdu| mpdu.truncate(1), SealFault::Short)),
            (implied, (&|mpdu| mpdu.truncate(implied - 1), SealFault::Short)),
            (
                implied,
                (
                    &|mpdu| mpdu.truncate(implied + suite.overhead() - 1),
                    SealFault::Short,
                ),
            ),
            (
                implied,
                (
                    &|mpdu| mpdu.resize(implied + suite.overhead() + 65536, 0),
                    SealFault::Long,
                ),
            ),
            (24, (&|_| (), SealFault::HeaderLen { given: 24, implied })),
            (
                usize::MAX,
                (
                    &|_| (),
                    SealFault::HeaderLen {
                        given: usize::MAX,
                        implied,
                    },
                ),
            ),
            (implied, (&|mpdu| mpdu[0] = 0xc8, SealFault::NotProtectable)),
            (24, (&|mpdu| mpdu[0] = 0x80, SealFault::NotProtectable)),
        ];
        for (header_len, (change, fault)) in changes {
            let mut good = laid_out(suite, &header, PAYLOAD);
            let mut bad = good.clone();
            change(&mut bad);
            let before = [good.clone(), bad.clone()];
            let jobs = [(&mut good, implied), (&mut bad, header_len)];
            let mut batch = jobs.map(|(mpdu, header_len)| SealJob {
                mpdu,
                header_len,
                pn: pn(PN),
                key_id: KeyId::PAIRWISE,
            });
            let refused = Err(SealError { job: 1, fault });
            assert_eq!(key.seal(&mut batch), refused, "{key:?}");
            let mut batch = batch.map(|job| (&key, job));
            assert_eq!(seal_each(&mut batch), refused, "{key:?}");
            assert!([good, bad] == before, "{key:?}: {fault}: batch changed");
        }
    }
}

#[test]
fn a_long_batch_stays_unchanged_and_its_first_malformed_job_is_named() {
    for key in keys() {
        let header = Kind::QosData.header();
        for malformed in [[0, 299], [127, 128], [128, 299], [299, 299]] {
            let mut mpdus = vec![laid_out(key.suite(), &header, PAYLOAD); 300];
            for place in malformed {
                mpdus[place].truncate(1);
            }
            let before = mpdus.clone();
            let mut batch: Vec<_> = mpdus
                .iter_mut()
                .map(|mpdu| SealJob {
                    mpdu,
                    header_len: header.len(),
                    pn: pn(PN),
                    key_id: KeyId::PAIRWISE,
                })
                .collect();
            let refused = Err(SealError {
                job: malformed[0],
                fault: SealFault::Short,
            });
            assert_eq!(key.seal(&mut batch), refused, "{key:?}");
            let mut batch: Vec<_> = batch.into_iter().map(|job| (&key, job)).collect();
            assert_eq!(seal_each(&mut batch), refused, "{key:?}");
            assert!(mpdus == before, "{key:?}: batch changed");
        }
    }
}

/// Valid and faulty frames of every suite in one batch: each verdict depends on its own frame only.
#[test]
fn an_invalid_frame_does_not_affect_the_rest_of_its_batch() {
    for backend in Backend::available() {
        let keys = SUITES.map(|suite| key(suite, backend, 7));
        let faults: [Change<'_, OpenError>; 4] = [
            (&|mpdu| *mpdu.last_mut().unwrap() ^= 1, OpenError::Mic),
            (&|mpdu| mpdu.truncate(20), OpenError::Short),
            (&|mpdu| mpdu[1] &= !0x40, OpenError::NotProtected),
            (&|mpdu| mpdu[0] = 0xc8, OpenError::BadHeader),
        ];
        // Every third frame is faulty, and each fault occurs with each suite.
        let fault = |n: usize| n.is_multiple_of(3).then(|| &faults[n / 3 % faults.len()]);
        let mut mpdus: Vec<_> = (0..96).map(|n| sealed(&keys[n % 8], Kind::QosData)).collect();
        for (n, mpdu) in mpdus.iter_mut().enumerate() {
            if let Some((change, _)) = fault(n) {
                change(mpdu);
            }
        }
        let jobs = mpdus.iter_mut().map(|mpdu| OpenJob::new(mpdu, KeyId::PAIRWISE));
        let mut batch: Vec<_> = keys.iter().cycle().zip(jobs).collect();
        open_each(&mut batch);
        for (n, (key, job)) in batch.iter().enumerate() {
            let expected = fault(n).map_or(Ok(PAYLOAD), |(_, why)| Err(*why));
            assert_eq!(job.payload(), expected, "frame {n}, {key:?}");
        }
    }
}
