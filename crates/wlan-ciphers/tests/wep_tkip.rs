//! WEP and TKIP: a sealed frame opens to its plaintext, and a frame that does not open has a specific error.

use proptest::prelude::*;
use wlan_ciphers::michael::MichaelHeader;
use wlan_ciphers::tkip;
use wlan_ciphers::wep::{self, KeyLength};
use wlan_ciphers::{
    Cipher, KeyId, OpenError, OpenJob, PacketNumber, Priority, ReplayWindow, Role, SealError, SealFault,
    SealJob, Suite, Tkip, Wep,
};
use wlan_frames::{AckPolicy, DataHeader, MacAddr, QosControl, SequenceControl};

const TKIP_KEY: [u8; 32] = *b"temporal key 016apMichaelstaMich";
const IV: u64 = 0x0a0b0c;

fn wep_end(key: &[u8]) -> Cipher {
    Cipher::Wep(Wep::new(key).unwrap())
}

/// Both ends, each with its own Michael keys.
fn tkip_ends(key: &[u8; 32]) -> [Cipher; 2] {
    [Role::Ap, Role::Sta].map(|role| Cipher::Tkip(Tkip::new(key, role)))
}

/// The jobs with WEP keys, and the jobs with TKIP keys. One of the lists is empty.
type ByKey<'k, J> = (Vec<(&'k Wep, J)>, Vec<(&'k Tkip, J)>);

fn by_key<J>(batch: Vec<(&Cipher, J)>) -> ByKey<'_, J> {
    let (mut weps, mut tkips) = (Vec::new(), Vec::new());
    for (cipher, job) in batch {
        match cipher {
            Cipher::Wep(wep) => weps.push((wep, job)),
            Cipher::Tkip(tkip) => tkips.push((tkip, job)),
            Cipher::Aes(_) => unreachable!(),
        }
    }
    assert!(weps.is_empty() || tkips.is_empty());
    (weps, tkips)
}

/// All ciphers of a batch must be of one suite.
fn seal_each(batch: Vec<(&Cipher, SealJob<'_>)>) -> Result<(), SealError> {
    let (mut weps, mut tkips) = by_key(batch);
    wep::seal_each(&mut weps).and(tkip::seal_each(&mut tkips))
}

/// All ciphers of a batch must be of one suite. Returns the payloads in order.
fn open_each(batch: Vec<(&Cipher, OpenJob<'_>)>) -> Vec<Result<Vec<u8>, OpenError>> {
    let (mut weps, mut tkips) = by_key(batch);
    wep::open_each(&mut weps);
    tkip::open_each(&mut tkips);
    let jobs = weps.iter().map(|(_, job)| job);
    let jobs = jobs.chain(tkips.iter().map(|(_, job)| job));
    jobs.map(|job| job.payload().map(<[u8]>::to_vec)).collect()
}

/// A frame through one end of a link.
trait End {
    fn payload(&self, mpdu: &mut [u8], key_id: KeyId) -> Result<Vec<u8>, OpenError>;
    fn laid_out(&self, frame: &Frame) -> Vec<u8>;
    fn sealed(&self, frame: &Frame) -> Vec<u8>;
}

impl End for Cipher {
    fn payload(&self, mpdu: &mut [u8], key_id: KeyId) -> Result<Vec<u8>, OpenError> {
        let mut job = OpenJob::new(mpdu, key_id);
        self.open_one(&mut job);
        job.payload().map(<[u8]>::to_vec)
    }

    fn laid_out(&self, frame: &Frame) -> Vec<u8> {
        let mut mpdu = vec![0xee; frame.header.len() + frame.payload.len() + self.suite().overhead()];
        let at = frame.header.emit(&mut mpdu) + self.suite().header_len();
        mpdu[at..][..frame.payload.len()].copy_from_slice(&frame.payload);
        mpdu
    }

    fn sealed(&self, frame: &Frame) -> Vec<u8> {
        let mut mpdu = self.laid_out(frame);
        self.seal_one(&mut frame.job(&mut mpdu)).unwrap();
        mpdu
    }
}

/// Sender and receiver for every suite.
fn links() -> [[Cipher; 2]; 3] {
    let wep40 = wep_end(b"weak!");
    let wep104 = wep_end(b"less weak key");
    [
        [wep40.clone(), wep40],
        [wep104.clone(), wep104],
        tkip_ends(&TKIP_KEY),
    ]
}

/// A frame before sealing.
#[derive(Debug, Clone)]
struct Frame {
    header: DataHeader,
    pn: PacketNumber,
    key_id: KeyId,
    payload: Vec<u8>,
}

impl Frame {
    fn job<'a>(&self, mpdu: &'a mut [u8]) -> SealJob<'a> {
        SealJob {
            mpdu,
            header_len: self.header.len(),
            pn: self.pn,
            key_id: self.key_id,
        }
    }

    fn example() -> Frame {
        Frame {
            header: DataHeader {
                to_ds: true,
                addr1: MacAddr([2, 0, 0, 0, 0, 1]),
                addr2: MacAddr([2, 0, 0, 0, 0, 2]),
                addr3: MacAddr([2, 0, 0, 0, 0, 3]),
                sequence: SequenceControl {
                    number: 100,
                    fragment: 0,
                },
                qos: Some(QosControl::new(5, AckPolicy::Normal)),
                ..DataHeader::default()
            },
            pn: PacketNumber::new(IV).unwrap(),
            key_id: KeyId::new(1).unwrap(),
            payload: (0..100).collect(),
        }
    }
}

fn frame() -> impl Strategy<Value = Frame> {
    let header = (
        any::<[bool; 5]>(),
        any::<[[u8; 6]; 4]>(),
        0u16..4096,
        proptest::option::of(any::<u16>()),
    )
        .prop_map(|([to_ds, from_ds, retry, power_mgmt, htc], addrs, number, qos)| {
            let [addr1, addr2, addr3, addr4] = addrs.map(MacAddr);
            DataHeader {
                to_ds,
                from_ds,
                retry,
                power_mgmt,
                addr1,
                addr2,
                addr3,
                addr4: (to_ds && from_ds).then_some(addr4),
                sequence: SequenceControl { number, fragment: 0 },
                qos: qos.map(QosControl),
                ht_control: (htc && qos.is_some()).then_some(0x1234_5678),
                ..DataHeader::default()
            }
        });
    (
        header,
        0..1u64 << 24,
        0u8..4,
        proptest::collection::vec(any::<u8>(), 0..=2304),
    )
        .prop_map(|(header, pn, key_id, payload)| Frame {
            header,
            pn: PacketNumber::new(pn).unwrap(),
            key_id: KeyId::new(key_id).unwrap(),
            payload,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sealed_frames_open_to_their_plaintext(frame in frame()) {
        for [sender, receiver] in links() {
            let mut mpdu = sender.sealed(&frame);
            prop_assert_eq!(DataHeader::parse(&mpdu), Ok(DataHeader { protected: true, ..frame.header }));
            prop_assert_eq!(sender.peek(&mpdu), Ok((frame.pn, frame.key_id)));
            let mut jobs = [OpenJob::new(&mut mpdu, frame.key_id)];
            receiver.open(&mut jobs);
            let opened = jobs[0].verdict().unwrap();
            prop_assert_eq!((opened.pn, opened.key_id), (frame.pn, frame.key_id));
            prop_assert_eq!(opened.priority, Priority::Tid(frame.header.tid()));
            prop_assert_eq!(jobs[0].payload().unwrap(), &frame.payload[..]);
        }
    }

    #[test]
    fn a_batch_is_the_same_as_its_frames_one_by_one(frames in proptest::collection::vec(frame(), 1..100)) {
        for [sender, receiver] in links() {
            let mut mpdus: Vec<_> = frames.iter().map(|frame| sender.laid_out(frame)).collect();
            let mut batch: Vec<_> = frames.iter().zip(&mut mpdus).map(|(frame, mpdu)| frame.job(mpdu)).collect();
            sender.seal(&mut batch).unwrap();
            prop_assert_eq!(&mpdus, &frames.iter().map(|frame| sender.sealed(frame)).collect::<Vec<_>>());

            // A damaged frame and a truncated one get their own verdicts and do not change the verdicts of the others.
            let (damaged, cut) = (mpdus.len() / 2, mpdus.len() / 3);
            *mpdus[damaged].last_mut().unwrap() ^= 1;
            mpdus[cut].truncate(20);
            let mut batch: Vec<_> =
                frames.iter().zip(&mut mpdus).map(|(frame, mpdu)| OpenJob::new(mpdu, frame.key_id)).collect();
            receiver.open(&mut batch);
            for (n, (job, frame)) in batch.iter().zip(&frames).enumerate() {
                let expected = match n {
                    n if n == cut => Err(OpenError::Short),
                    n if n == damaged => Err(OpenError::Icv),
                    _ => Ok(&frame.payload[..]),
                };
                prop_assert_eq!(job.payload(), expected);
            }
        }
    }

    #[test]
    fn a_batch_with_a_key_for_each_frame_is_the_same_as_its_frames_one_by_one(
        frames in proptest::collection::vec((frame(), any::<[u8; 32]>(), any::<bool>()), 1..110),
    ) {
        let wep = |(_, key, long): &(Frame, [u8; 32], bool)| {
            let cipher = wep_end(if *long { &key[..13] } else { &key[..5] });
            [cipher.clone(), cipher]
        };
        let tkip = |(_, key, _): &(Frame, [u8; 32], bool)| tkip_ends(key);
        let links: [Vec<[Cipher; 2]>; 2] = [frames.iter().map(wep).collect(), frames.iter().map(tkip).collect()];
        let strangers = [wep_end(b"not the key 1"), tkip_ends(b"not one of the keys, not of them")[1].clone()];
        for (links, stranger) in links.iter().zip(&strangers) {
            let both = || links.iter().zip(&frames).map(|(link, (frame, ..))| (link, frame));
            let mut mpdus: Vec<_> = both().map(|([sender, _], frame)| sender.laid_out(frame)).collect();
            let batch = both().zip(&mut mpdus).map(|(([sender, _], frame), mpdu)| (sender, frame.job(mpdu)));
            seal_each(batch.collect()).unwrap();
            prop_assert_eq!(&mpdus, &both().map(|([sender, _], frame)| sender.sealed(frame)).collect::<Vec<_>>());

            // One frame is opened with a wrong key, the others with their own.
            let stray = mpdus.len() / 2;
            let batch = both().zip(&mut mpdus).enumerate().map(|(n, (([_, receiver], frame), mpdu))| {
                (if n == stray { stranger } else { receiver }, OpenJob::new(mpdu, frame.key_id))
            });
            let opened = open_each(batch.collect());
            for (n, (opened, (frame, ..))) in opened.into_iter().zip(&frames).enumerate() {
                let expected = if n == stray { Err(OpenError::Icv) } else { Ok(frame.payload.clone()) };
                prop_assert_eq!(opened, expected);
            }
        }
    }

    #[test]
    fn arbitrary_octets_never_panic_on_opening(mut octets in proptest::collection::vec(any::<u8>(), 0..80), data in any::<bool>()) {
        if data && octets.len() > 1 {
            octets[0] = 0x88;
            octets[1] |= 0x40;
        }
        for [_, receiver] in links() {
            // A 32-bit checksum matches by chance once per 4 billion frames.
            prop_assert!(receiver.payload(&mut octets.clone(), KeyId::PAIRWISE).is_err());
        }
    }
}

#[test]
fn a_frame_without_payload_opens_and_one_octet_less_is_short() {
    let frame = Frame {
        payload: Vec::new(),
        ..Frame::example()
    };
    for [sender, receiver] in links() {
        let mut mpdu = sender.sealed(&frame);
        let shorter = mpdu.len() - 1;
        let cut = receiver.payload(&mut mpdu.clone()[..shorter], frame.key_id);
        assert_eq!(cut, Err(OpenError::Short), "{:?}", sender.suite());
        let opened = receiver.payload(&mut mpdu, frame.key_id);
        assert_eq!(opened, Ok(Vec::new()), "{:?}", sender.suite());
    }
}

#[test]
fn frames_that_cannot_be_opened_have_a_reason_and_stay_unchanged() {
    let frame = Frame::example();
    for [sender, receiver] in links() {
        let suite = sender.suite();
        let sealed = sender.sealed(&frame);
        let refused = |change: &dyn Fn(&mut Vec<u8>), why: OpenError| {
            let mut mpdu = sealed.clone();
            change(&mut mpdu);
            let before = mpdu.clone();
            assert_eq!(receiver.payload(&mut mpdu, frame.key_id), Err(why), "{suite:?}");
            assert_eq!(mpdu, before, "{suite:?}, {why}");
        };
        refused(&|mpdu| mpdu.clear(), OpenError::Short);
        refused(&|mpdu| mpdu.truncate(26 + suite.overhead() - 1), OpenError::Short);
        refused(&|mpdu| mpdu[1] &= !0x40, OpenError::NotProtected);
        refused(&|mpdu| mpdu[29] ^= 0x20, OpenError::BadHeader); // the Ext IV bit of the other suites
        refused(&|mpdu| mpdu[0] = 0xc8, OpenError::BadHeader); // QoS Null
        refused(&|mpdu| mpdu[0] = 0x80, OpenError::BadHeader); // Beacon
        refused(&|mpdu| mpdu[0] = 0xc0, OpenError::BadHeader); // Deauthentication, which only CCMP and GCMP protect
        refused(&|mpdu| mpdu[0] |= 0x01, OpenError::BadHeader); // protocol version 1
        let (expected, found) = (frame.key_id, KeyId::new(3).unwrap());
        refused(
            &|mpdu| mpdu[29] |= 0xc0,
            OpenError::KeyMismatch { expected, found },
        );
    }
}

#[test]
fn flipped_bits_in_the_body_are_detected_and_the_plaintext_is_cleared() {
    let frame = Frame::example();
    for [sender, receiver] in links() {
        let sealed = sender.sealed(&frame);
        let text_at = frame.header.len() + sender.suite().header_len();
        for bit in text_at * 8..sealed.len() * 8 {
            let mut mpdu = sealed.clone();
            mpdu[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(receiver.payload(&mut mpdu, frame.key_id), Err(OpenError::Icv));
            assert!(
                mpdu[text_at..].iter().all(|&octet| octet == 0),
                "bit {bit}: payload not zeroed"
            );
        }
    }
}

#[test]
fn another_key_or_iv_opens_no_frame() {
    let frame = Frame::example();
    let mut mpdu = wep_end(b"weak!").sealed(&frame);
    assert_eq!(
        wep_end(b"weak?").payload(&mut mpdu, frame.key_id),
        Err(OpenError::Icv)
    );
    let mut mpdu = wep_end(b"weak!").sealed(&frame);
    mpdu[26] ^= 1;
    assert_eq!(
        wep_end(b"weak!").payload(&mut mpdu, frame.key_id),
        Err(OpenError::Icv)
    );
    for octet in 0..16 {
        let mut other = TKIP_KEY;
        other[octet] ^= 0x80;
        let mut mpdu = tkip_ends(&TKIP_KEY)[0].sealed(&frame);
        assert_eq!(
            tkip_ends(&other)[1].payload(&mut mpdu, frame.key_id),
            Err(OpenError::Icv)
        );
    }
}

/// Changes that WEP does not detect and TKIP detects by its MIC: the ICV covers neither the addresses nor the priority.
#[test]
fn a_forged_header_is_a_mic_failure_and_not_an_icv_failure() {
    let frame = Frame::example();
    let forge = |mpdu: &mut [u8], octet: usize| mpdu[octet] ^= 0x02;
    // A3 is the DA here, and octet 24 holds the TID. A2 is the SA but also an input of the key mixing, so the ICV
    // fails.
    for (octet, tkip_says) in [(16, OpenError::Mic), (24, OpenError::Mic), (10, OpenError::Icv)] {
        let [wep, tkip] = [&links()[0], &links()[2]].map(|link| {
            let mut mpdu = link[0].sealed(&frame);
            forge(&mut mpdu, octet);
            let opened = link[1].payload(&mut mpdu, frame.key_id);
            let left = mpdu[frame.header.len() + 8..].iter().any(|&octet| octet != 0);
            assert_eq!(opened.is_ok(), left, "octet {octet}");
            opened
        });
        assert_eq!(wep, Ok(frame.payload.clone()), "octet {octet}");
        assert_eq!(tkip, Err(tkip_says), "octet {octet}");
    }
    // Each direction has its own Michael key, so a frame reflected to its sender is a forgery.
    let [ap, _] = tkip_ends(&TKIP_KEY);
    assert_eq!(
        ap.payload(&mut ap.sealed(&frame), frame.key_id),
        Err(OpenError::Mic)
    );
}

#[test]
fn fragments_share_one_mic() {
    let whole = Frame::example();
    let [Cipher::Tkip(station), Cipher::Tkip(ap)] = tkip_ends(&TKIP_KEY) else {
        panic!()
    };
    let header = MichaelHeader {
        da: whole.header.addr3,
        sa: whole.header.addr2,
        priority: 5,
    };
    let mut msdu = whole.payload.clone();
    msdu.extend(station.msdu_mic(header, &whole.payload));

    // The second cut splits the MIC.
    let mut reassembled = Vec::new();
    for (fragment, part) in (0u8..).zip([&msdu[..60], &msdu[60..103], &msdu[103..]]) {
        let cut = Frame {
            header: DataHeader {
                more_fragments: fragment < 2,
                sequence: SequenceControl { number: 7, fragment },
                ..whole.header
            },
            pn: PacketNumber::new(IV + u64::from(fragment)).unwrap(),
            payload: part.to_vec(),
            ..whole.clone()
        };
        let mut mpdu = vec![0xee; cut.header.len() + 8 + part.len() + 4];
        let at = cut.header.emit(&mut mpdu) + 8;
        mpdu[at..at + part.len()].copy_from_slice(part);
        assert_eq!(
            station.seal(&mut [cut.job(&mut mpdu)]),
            Err(SealError {
                job: 0,
                fault: SealFault::Fragment
            })
        );
        station.seal_fragments(&mut [cut.job(&mut mpdu)]).unwrap();
        let mut jobs = [OpenJob::new(&mut mpdu, cut.key_id)];
        ap.open(&mut jobs);
        reassembled.extend_from_slice(jobs[0].payload().unwrap());
    }
    assert_eq!(
        ap.verify_msdu(header, &mut reassembled.clone()),
        Ok(&whole.payload[..])
    );

    let mut forged = reassembled.clone();
    forged[3] ^= 1;
    assert_eq!(ap.verify_msdu(header, &mut forged), Err(OpenError::Mic));
    assert!(forged.iter().all(|&octet| octet == 0));
    assert_eq!(ap.verify_msdu(header, &mut [0; 7]), Err(OpenError::Short));
}

#[test]
fn a_malformed_batch_is_refused_unchanged() {
    let frame = Frame::example();
    for [sender, _] in links() {
        let overhead = sender.suite().overhead();
        let refused = |change: &dyn Fn(&mut Vec<u8>), pn: u64, fault: SealFault| {
            let (mut good, mut bad) = (sender.laid_out(&frame), sender.laid_out(&frame));
            change(&mut bad);
            let before = [good.clone(), bad.clone()];
            let bad_frame = Frame {
                pn: PacketNumber::new(pn).unwrap(),
                ..frame.clone()
            };
            let mut batch = [frame.job(&mut good), bad_frame.job(&mut bad)];
            let error = Err(SealError { job: 1, fault });
            assert_eq!(sender.seal(&mut batch), error, "{:?}", sender.suite());
            let each = batch.into_iter().map(|job| (&sender, job)).collect();
            assert_eq!(seal_each(each), error, "{:?}", sender.suite());
            assert_eq!([good, bad], before);
        };
        refused(
            &|mpdu| mpdu[0] = 0x08,
            IV,
            SealFault::HeaderLen {
                given: 26,
                implied: 24,
            },
        );
        refused(&|mpdu| mpdu.truncate(26 + overhead - 1), IV, SealFault::Short);
        refused(&|mpdu| mpdu.truncate(1), IV, SealFault::Short);
        refused(&|mpdu| mpdu[0] = 0xc8, IV, SealFault::NotProtectable);
        refused(&|mpdu| mpdu[0] = 0xc0, IV, SealFault::NotProtectable);
        if sender.suite() != Suite::Tkip {
            refused(&|_| (), 1 << 24, SealFault::Iv);
        }
    }
}

#[test]
fn tkip_checks_the_order_before_it_opens() {
    let mut window = ReplayWindow::new(PacketNumber::ZERO);
    let (pn, tid) = (PacketNumber::new(IV).unwrap(), Priority::Tid(5));
    assert_eq!(window.check(tid, pn), Ok(()));
    assert_eq!(
        window.check(tid, pn),
        Ok(()),
        "checking does not advance the counter"
    );
    window.accept(tid, pn).unwrap();
    assert!(window.check(tid, pn).is_err());
    assert_eq!(window.check(Priority::Tid(0), pn), Ok(()));
}

#[test]
fn overheads_selectors_and_key_lengths_agree_with_the_standard() {
    let facts = |suite: Suite| (suite.overhead(), suite.key_len(), suite.selector()[3]);
    assert_eq!(facts(Suite::Wep40), (8, 5, 1));
    assert_eq!(facts(Suite::Wep104), (8, 13, 5));
    assert_eq!(facts(Suite::Tkip), (20, 32, 2));
    assert_eq!(facts(Suite::BipCmac128), (18, 16, 6));
    assert_eq!(facts(Suite::BipGmac128), (26, 16, 11));
    assert_eq!(facts(Suite::BipGmac256), (26, 32, 12));
    assert_eq!(facts(Suite::BipCmac256), (26, 32, 13));
    assert_eq!(
        Wep::new(b"1234567890123456").unwrap_err(),
        KeyLength { given: 16 }
    );
    assert_eq!(
        KeyLength { given: 0 }.to_string(),
        "invalid WEP key length: expected 5 octets (WEP-40) or 13 (WEP-104), got 0"
    );
}

#[test]
fn keys_are_wiped_on_drop_and_never_printed() {
    fn wiped<T: zeroize::ZeroizeOnDrop>() {}
    wiped::<Wep>();
    wiped::<Tkip>();
    assert_eq!(
        format!("{:?}", Wep::new(b"weak!").unwrap()),
        "Wep { suite: Wep40, .. }"
    );
    assert_eq!(format!("{:?}", Tkip::new(&TKIP_KEY, Role::Sta)), "Tkip { .. }");
}
