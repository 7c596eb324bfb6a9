//! CCMP: a sealed frame opens to its plaintext, and nothing else opens.

use proptest::prelude::*;
use wlan_ciphers::{
    Ccmp, KeyId, OpenError, OpenJob, PacketNumber, Priority, Replay, ReplayWindow, SealError, SealFault,
    SealJob, Suite, TemporalKey, ccmp,
};
use wlan_frames::{AckPolicy, DataHeader, FrameControl, MacAddr, QosControl, SequenceControl};

const SUITE: Suite = Suite::Ccmp128;

/// A frame before sealing, with all inputs of sealing.
#[derive(Debug, Clone)]
struct Plain {
    tk: [u8; 16],
    header: DataHeader,
    pn: PacketNumber,
    key_id: KeyId,
    payload: Vec<u8>,
}

impl Plain {
    fn laid_out(&self) -> Vec<u8> {
        let mut mpdu = vec![0xee; self.header.len() + self.payload.len() + SUITE.overhead()];
        let at = self.header.emit(&mut mpdu) + SUITE.header_len();
        mpdu[at..][..self.payload.len()].copy_from_slice(&self.payload);
        mpdu
    }

    fn sealed(&self) -> Vec<u8> {
        let mut mpdu = self.laid_out();
        let job = SealJob {
            mpdu: &mut mpdu,
            header_len: self.header.len(),
            pn: self.pn,
            key_id: self.key_id,
        };
        Ccmp::new(&self.tk).seal(&mut [job]).unwrap();
        mpdu
    }

    fn open(&self, mpdu: &mut [u8]) -> Result<Vec<u8>, OpenError> {
        let mut jobs = [OpenJob::new(mpdu, self.key_id)];
        Ccmp::new(&self.tk).open(&mut jobs);
        jobs[0].payload().map(<[u8]>::to_vec)
    }

    fn example() -> Plain {
        Plain {
            tk: [0x5a; 16],
            header: DataHeader {
                to_ds: true,
                duration_us: 44,
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
            pn: PacketNumber::new(0x0102_0304_0506).unwrap(),
            key_id: KeyId::PAIRWISE,
            payload: (0..100).collect(),
        }
    }
}

fn header() -> impl Strategy<Value = DataHeader> {
    (
        any::<[bool; 6]>(),
        any::<[Octets6; 4]>(),
        any::<u16>(),
        proptest::option::of(any::<u16>()),
        any::<bool>(),
    )
        .prop_map(|(flags, [a1, a2, a3, a4], sequence, qos, htc)| {
            let [to_ds, from_ds, more_fragments, retry, power_mgmt, more_data] = flags;
            DataHeader {
                to_ds,
                from_ds,
                more_fragments,
                retry,
                power_mgmt,
                more_data,
                addr1: MacAddr(a1),
                addr2: MacAddr(a2),
                addr3: MacAddr(a3),
                addr4: (to_ds && from_ds).then_some(MacAddr(a4)),
                sequence: SequenceControl::from_bits(sequence),
                qos: qos.map(QosControl),
                ht_control: (htc && qos.is_some()).then_some(0x1234_5678),
                ..DataHeader::default()
            }
        })
}

type Octets6 = [u8; 6];

fn plain(payload_len: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Plain> {
    let payload = proptest::collection::vec(any::<u8>(), payload_len);
    (any::<[u8; 16]>(), header(), 0..1u64 << 48, 0u8..4, payload).prop_map(
        |(tk, header, pn, key_id, payload)| Plain {
            tk,
            header,
            pn: PacketNumber::new(pn).unwrap(),
            key_id: KeyId::new(key_id).unwrap(),
            payload,
        },
    )
}

proptest! {
    #[test]
    fn sealed_frames_open_to_their_plaintext(frame in plain(0..=2304)) {
        let mut mpdu = frame.sealed();
        prop_assert_eq!(mpdu.len(), frame.header.len() + frame.payload.len() + SUITE.overhead());
        prop_assert_eq!(DataHeader::parse(&mpdu), Ok(DataHeader { protected: true, ..frame.header }));
        prop_assert_eq!(ccmp::peek(&mpdu), Ok((frame.pn, frame.key_id)));
        let mut jobs = [OpenJob::new(&mut mpdu, frame.key_id)];
        Ccmp::new(&frame.tk).open(&mut jobs);
        let opened = jobs[0].verdict().unwrap();
        prop_assert_eq!((opened.pn, opened.key_id), (frame.pn, frame.key_id));
        prop_assert_eq!(opened.priority, Priority::Tid(frame.header.tid()));
        prop_assert_eq!(jobs[0].payload().unwrap(), &frame.payload[..]);
    }

    #[test]
    fn a_batch_is_the_same_as_its_frames_one_by_one(
        mut frames in proptest::collection::vec(plain(0..=200), 1..20), tk in any::<[u8; 16]>(),
    ) {
        for frame in &mut frames {
            frame.tk = tk;
        }
        let mut mpdus: Vec<_> = frames.iter().map(Plain::laid_out).collect();
        let mut batch: Vec<_> = frames.iter().zip(&mut mpdus)
            .map(|(frame, mpdu)| SealJob {
                mpdu, header_len: frame.header.len(), pn: frame.pn, key_id: frame.key_id,
            })
            .collect();
        Ccmp::new(&tk).seal(&mut batch).unwrap();
        prop_assert_eq!(&mpdus, &frames.iter().map(Plain::sealed).collect::<Vec<_>>());

        // A damaged frame gets its own verdict and does not change the verdicts of the others.
        let damaged = mpdus.len() / 2;
        *mpdus[damaged].last_mut().unwrap() ^= 1;
        let mut batch: Vec<_> =
            frames.iter().zip(&mut mpdus).map(|(frame, mpdu)| OpenJob::new(mpdu, frame.key_id)).collect();
        Ccmp::new(&tk).open(&mut batch);
        for (n, (job, frame)) in batch.iter().zip(&frames).enumerate() {
            let expected = if n == damaged { Err(OpenError::Mic) } else { Ok(&frame.payload[..]) };
            prop_assert_eq!(job.payload(), expected);
        }
    }

    #[test]
    fn another_key_opens_no_frame(frame in plain(0..=64), bit in 0usize..128) {
        let mut mpdu = frame.sealed();
        let mut other = frame.clone();
        other.tk[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(other.open(&mut mpdu), Err(OpenError::Mic));
    }

    #[test]
    fn arbitrary_octets_never_panic_on_opening(mut octets in proptest::collection::vec(any::<u8>(), 0..80), data in any::<bool>()) {
        if data && octets.len() > 1 {
            octets[0] = 0x88;
            octets[1] |= 0x40;
        }
        let frame = Plain::example();
        prop_assert!(frame.open(&mut octets).is_err());
    }
}

/// Whether a bit of the MAC header or CCMP header must not be covered by the MIC (12.5.3.3.3), so that retransmissions
/// and an access point that sets More Data need not seal again.
fn is_outside_the_mic(header: &DataHeader, bit: usize) -> bool {
    let (octet, bit_of_octet) = (bit / 8, bit % 8);
    let qos_at = if header.addr4.is_some() { 30 } else { 24 };
    let ccmp_at = header.len();
    match octet {
        1 => matches!(bit_of_octet, 3..=5),
        2 | 3 => true,
        22 => bit_of_octet >= 4,
        23 => true,
        _ if header.qos.is_some() && octet == qos_at => bit_of_octet >= 4,
        _ if header.qos.is_some() && octet == qos_at + 1 => true,
        _ if header.ht_control.is_some() && (qos_at + 2..ccmp_at).contains(&octet) => true,
        // The reserved octet, and the reserved bits of the Key ID octet.
        _ if octet == ccmp_at + 2 => true,
        _ if octet == ccmp_at + 3 => bit_of_octet <= 4,
        _ => false,
    }
}

/// Whether a bit changes how the octets are parsed: kind of frame, length of the header, Protected, Ext IV and Key ID.
/// A frame with such a bit flipped must not open either, but the error may differ from that of a wrong MIC.
fn is_structural(header: &DataHeader, bit: usize) -> bool {
    let (octet, bit_of_octet) = (bit / 8, bit % 8);
    match octet {
        0 => true,
        1 => matches!(bit_of_octet, 0 | 1 | 6 | 7),
        _ => octet == header.len() + 3 && bit_of_octet >= 5,
    }
}

#[test]
fn flipped_bits_are_detected_exactly_where_the_mic_covers_them() {
    let with_qos = Plain::example();
    let mut without_qos = with_qos.clone();
    without_qos.header.qos = None;
    let mut four_addresses = with_qos.clone();
    four_addresses.header.from_ds = true;
    four_addresses.header.addr4 = Some(MacAddr([2, 0, 0, 0, 0, 4]));
    let mut with_htc = four_addresses.clone();
    with_htc.header.ht_control = Some(0x0bad_cafe);
    for frame in [with_qos, without_qos, four_addresses, with_htc] {
        let sealed = frame.sealed();
        let payload = frame.header.len() + SUITE.header_len()..sealed.len() - SUITE.mic_len();
        for bit in 0..sealed.len() * 8 {
            let mut mpdu = sealed.clone();
            mpdu[bit / 8] ^= 1 << (bit % 8);
            let opened = frame.open(&mut mpdu);
            let place = format!("octet {} bit {} of {:?}", bit / 8, bit % 8, frame.header);
            if is_outside_the_mic(&frame.header, bit) {
                assert_eq!(opened.as_ref(), Ok(&frame.payload), "{place}");
            } else if is_structural(&frame.header, bit) {
                // Subtype bits 4 and 5 are masked: Data + CF-Ack is sealed like Data.
                let masked = bit / 8 == 0 && matches!(bit % 8, 4 | 5);
                assert_eq!(opened.is_ok(), masked, "{place}: {opened:?}");
            } else {
                assert_eq!(opened, Err(OpenError::Mic), "{place}");
                assert!(
                    mpdu[payload.clone()].iter().all(|&octet| octet == 0),
                    "{place}: payload not zeroed"
                );
            }
        }
    }
}

#[test]
fn frames_that_cannot_be_opened_have_a_reason_and_stay_unchanged() {
    let frame = Plain::example();
    let sealed = frame.sealed();
    let refused = |change: &dyn Fn(&mut Vec<u8>), why: OpenError| {
        let mut mpdu = sealed.clone();
        change(&mut mpdu);
        let before = mpdu.clone();
        assert_eq!(frame.open(&mut mpdu), Err(why));
        assert_eq!(mpdu, before, "{why}");
    };
    refused(&|mpdu| mpdu.clear(), OpenError::Short);
    refused(&|mpdu| mpdu.truncate(26 + 15), OpenError::Short);
    refused(&|mpdu| mpdu.resize(26 + 16 + 65536, 0), OpenError::Long);
    refused(&|mpdu| mpdu[1] &= !0x40, OpenError::NotProtected);
    refused(&|mpdu| mpdu[29] &= !0x20, OpenError::BadHeader);
    refused(&|mpdu| mpdu[0] = 0xc8, OpenError::BadHeader); // QoS Null
    refused(&|mpdu| mpdu[0] = 0x80, OpenError::BadHeader); // Beacon
    refused(&|mpdu| mpdu[0] = 0xd4, OpenError::BadHeader); // Ack
    refused(&|mpdu| mpdu[0] |= 0x01, OpenError::BadHeader); // protocol version 1
    let (expected, found) = (KeyId::PAIRWISE, KeyId::new(2).unwrap());
    refused(
        &|mpdu| mpdu[29] |= 0x80,
        OpenError::KeyMismatch { expected, found },
    );
    assert_eq!(
        OpenError::KeyMismatch { expected, found }.to_string(),
        "the MPDU is sealed with key ID 2, expected 0"
    );
}

#[test]
fn a_batch_with_a_malformed_job_is_refused_unchanged() {
    let frame = Plain::example();
    let refused = |change: &dyn Fn(&mut Vec<u8>), header_len: usize, fault: SealFault| {
        let mut good = frame.laid_out();
        let mut bad = frame.laid_out();
        change(&mut bad);
        let before = [good.clone(), bad.clone()];
        let (pn, key_id) = (frame.pn, frame.key_id);
        let mut batch = [
            SealJob {
                mpdu: &mut good,
                header_len: 26,
                pn,
                key_id,
            },
            SealJob {
                mpdu: &mut bad,
                header_len,
                pn,
                key_id,
            },
        ];
        assert_eq!(
            Ccmp::new(&frame.tk).seal(&mut batch),
            Err(SealError { job: 1, fault })
        );
        assert_eq!([good, bad], before);
    };
    refused(
        &|_| (),
        24,
        SealFault::HeaderLen {
            given: 24,
            implied: 26,
        },
    );
    refused(&|mpdu| mpdu.truncate(26 + 15), 26, SealFault::Short);
    refused(&|mpdu| mpdu.truncate(1), 26, SealFault::Short);
    refused(&|mpdu| mpdu.resize(26 + 16 + 65536, 0), 26, SealFault::Long);
    refused(&|mpdu| mpdu[0] = 0xc8, 26, SealFault::NotProtectable);
    refused(&|mpdu| mpdu[0] = 0x80, 24, SealFault::NotProtectable);
}

#[test]
fn a_job_has_no_payload_before_its_batch_ran() {
    let mut mpdu = Plain::example().sealed();
    let job = OpenJob::new(&mut mpdu, KeyId::PAIRWISE);
    assert_eq!(job.payload(), Err(OpenError::Pending));
}

#[test]
fn a_replayed_frame_opens_but_is_not_accepted() {
    let frame = Plain::example();
    let mut window = ReplayWindow::new(PacketNumber::ZERO);
    let mut receive = || {
        let mut mpdu = frame.sealed();
        let mut jobs = [OpenJob::new(&mut mpdu, frame.key_id)];
        Ccmp::new(&frame.tk).open(&mut jobs);
        let opened = jobs[0].verdict().unwrap();
        window.accept(opened.priority, opened.pn)
    };
    assert_eq!(receive(), Ok(()));
    assert_eq!(
        receive(),
        Err(Replay {
            found: frame.pn,
            last: frame.pn
        })
    );
}

#[test]
fn retransmission_does_not_change_the_ciphertext() {
    let frame = Plain::example();
    let mut again = frame.clone();
    again.header.retry = true;
    again.header.power_mgmt = true;
    again.header.duration_us = 60;
    let (first, second) = (frame.sealed(), again.sealed());
    assert_eq!(first[26..], second[26..]);
    assert!(FrameControl::parse(&second).unwrap().has(FrameControl::RETRY));
}

#[test]
fn the_key_schedule_is_wiped_on_drop_and_never_printed() {
    fn wiped<T: zeroize::ZeroizeOnDrop>() {}
    wiped::<TemporalKey>();
    let printed = format!("{:?}", TemporalKey::new(SUITE, &[7; 16]).unwrap());
    assert!(printed.ends_with(", .. }") && !printed.contains('7'), "{printed}");
}

#[test]
fn ccmp_adds_sixteen_octets_and_is_named_00_0f_ac_4() {
    assert_eq!(
        (SUITE.header_len(), SUITE.mic_len(), SUITE.overhead()),
        (8, 8, 16)
    );
    assert_eq!(SUITE.selector(), [0x00, 0x0f, 0xac, 4]);
}
