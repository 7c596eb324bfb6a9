//! Every backend seals and opens any batch like RustCrypto's CCM and GCM, which process one frame at a time.

// Lengths, lanes and octets fit their fields.
#![allow(clippy::cast_possible_truncation)]

use aes::cipher::BlockCipherEncrypt;
use aes::{Aes128, Aes256};
use aes_gcm::AesGcm;
use ccm::Ccm;
use ccm::aead::inout::InOutBuf;
use ccm::aead::{AeadInOut, KeyInit};
use ccm::consts::{U8, U12, U13, U16};
use proptest::prelude::*;
use proptest::sample::Index;
use wlan_ciphers::{
    Backend, KeyId, Lanes, OpenError, OpenJob, PacketNumber, SealJob, Suite, TemporalKey, open_each,
    seal_each,
};

/// Miri takes a second for a few blocks, so it tests one suite per kernel.
const SUITES: &[Suite] = if cfg!(miri) {
    &[Suite::Ccmp128, Suite::Gcmp128, Suite::Enhanced(Lanes::Four)]
} else {
    &Suite::OF_TEMPORAL_KEYS
};

/// A frame before sealing.
#[derive(Debug, Clone)]
struct Plain {
    suite: Suite,
    tk: Vec<u8>,
    /// QoS Data, with four or three addresses.
    four_addresses: bool,
    addresses: [u8; 24],
    /// The first octet of QoS Control: TID, EOSP, Ack Policy, A-MSDU Present.
    qos: u8,
    /// Both stations are SPP A-MSDU capable.
    spp_amsdu: bool,
    pn: u64,
    payload: Vec<u8>,
}

impl Plain {
    fn header(&self) -> Vec<u8> {
        let mut header = vec![0x88, if self.four_addresses { 0x43 } else { 0x41 }, 0x2c, 0];
        header.extend(&self.addresses[..18]);
        header.extend([0x35, 0x12]);
        if self.four_addresses {
            header.extend(&self.addresses[18..]);
        }
        header.extend([self.qos, 0]);
        header
    }

    fn laid_out(&self) -> Vec<u8> {
        [
            &self.header()[..],
            &[0xee; 8],
            &self.payload,
            &vec![0xee; self.suite.mic_len()],
        ]
        .concat()
    }

    fn pn(&self) -> PacketNumber {
        PacketNumber::new(self.pn).unwrap()
    }

    fn key(&self, backend: Backend) -> TemporalKey {
        TemporalKey::with_backend(self.suite, &self.tk, backend)
            .unwrap()
            .with_spp_amsdu(self.spp_amsdu)
    }

    /// The MPDU of IEEE 802.11-2020 12.5.3.3 and 12.5.5.3, sealed with RustCrypto.
    fn sealed(&self) -> Vec<u8> {
        let mut mpdu = self.laid_out();
        let header = self.header();
        let pn = self.pn.to_be_bytes();
        mpdu[header.len()..][..8].copy_from_slice(&[pn[7], pn[6], 0, 0x20, pn[5], pn[4], pn[3], pn[2]]);
        let number = [&header[10..16], &pn[2..]].concat();
        let ccm_nonce = [&[self.qos & 0x0f], &number[..]].concat();
        let mut aad = [&header[..2], &header[4..22], &[0x05, 0x00]].concat();
        aad.extend(&header[24..header.len() - 2]);
        // The TID and, for SPP A-MSDUs, A-MSDU Present.
        aad.extend([self.qos & if self.spp_amsdu { 0x8f } else { 0x0f }, 0]);
        let end = mpdu.len() - self.suite.mic_len();
        let (front, mic) = mpdu.split_at_mut(end);
        macro_rules! seal {
            ($aead:ty, $nonce:expr) => {{
                let aead = <$aead>::new_from_slice(&self.tk).unwrap();
                let nonce = $nonce[..].try_into().unwrap();
                let text = InOutBuf::from(&mut front[header.len() + 8..]);
                mic.copy_from_slice(&aead.encrypt_inout_detached(nonce, &aad, text).unwrap());
            }};
        }
        match self.suite {
            Suite::Ccmp128 => seal!(Ccm<Aes128, U8, U13>, ccm_nonce),
            Suite::Ccmp256 => seal!(Ccm<Aes256, U16, U13>, ccm_nonce),
            Suite::Gcmp128 => seal!(AesGcm<Aes128, U12>, number),
            Suite::Gcmp256 => seal!(AesGcm<Aes256, U12>, number),
            Suite::Enhanced(lanes) => {
                let sealed = enhanced(lanes, &self.tk, &ccm_nonce, &aad, &self.payload);
                let (text, tag) = sealed.split_at(self.payload.len());
                front[header.len() + 8..].copy_from_slice(text);
                mic.copy_from_slice(tag);
            }
            other => unreachable!("{other:?}"),
        }
        mpdu
    }
}

/// Enhanced CCMP as specified in `docs/explanation/enhanced-ccmp.md`, block by block: returns ciphertext and MIC.
fn enhanced(lanes: Lanes, tk: &[u8], nonce: &[u8], aad: &[u8], payload: &[u8]) -> Vec<u8> {
    let aes = Aes128::new_from_slice(tk).unwrap();
    let encrypt = |block: &[u8]| {
        let mut block = <[u8; 16]>::try_from(block).unwrap().into();
        aes.encrypt_block(&mut block);
        <[u8; 16]>::from(block)
    };
    let add = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| a ^ b).collect::<Vec<u8>>();
    let counter = |count: u16| encrypt(&[&[0x01], nonce, &count.to_be_bytes()].concat());
    let padded = |text: &[u8]| {
        let mut text = text.to_vec();
        text.resize(text.len().next_multiple_of(16), 0);
        text
    };
    let aad = padded(&[&(aad.len() as u16).to_be_bytes(), aad].concat());
    let blocks = [aad, padded(payload)].concat();
    let count = lanes.count();
    let mut mic = counter(0).to_vec();
    for lane in 0..count {
        let flags = 0x80 | (count.ilog2() as u8) << 5 | (lane as u8) << 2 | 1;
        let b0 = [&[flags], nonce, &(payload.len() as u16).to_be_bytes()].concat();
        let chain = blocks
            .chunks(16)
            .skip(lane)
            .step_by(count)
            .fold(encrypt(&b0), |chain, block| encrypt(&add(&chain, block)));
        mic = add(&mic, &chain);
    }
    let text = (1..)
        .zip(payload.chunks(16))
        .flat_map(|(count, block)| add(block, &counter(count)));
    text.chain(mic[..8].iter().copied()).collect()
}

fn plain(
    suite: impl Strategy<Value = Suite>,
    len: impl Strategy<Value = usize>,
) -> impl Strategy<Value = Plain> {
    let numbers = (any::<[bool; 2]>(), any::<[u8; 24]>(), any::<u8>(), 0..1u64 << 48);
    (suite, len, numbers, any::<[u8; 32]>(), any::<u64>()).prop_map(
        |(suite, len, ([four_addresses, spp_amsdu], addresses, qos, pn), tk, seed)| Plain {
            suite,
            tk: tk[..suite.key_len()].to_vec(),
            four_addresses,
            addresses,
            qos,
            spp_amsdu,
            pn,
            payload: octets(len, seed),
        },
    )
}

/// Octets that differ by position. Random octets would be slower.
fn octets(len: usize, seed: u64) -> Vec<u8> {
    (0..len as u64)
        .map(|i| ((i + 1).wrapping_mul(seed | 1) >> 29) as u8)
        .collect()
}

fn suite() -> impl Strategy<Value = Suite> {
    proptest::sample::select(SUITES)
}

/// Payload lengths: mostly short, with the boundaries of blocks, chunks and groups.
fn len() -> impl Strategy<Value = usize> {
    prop_oneof![
        3 => 0usize..=80,
        1 => proptest::sample::select(&[127, 128, 129, 255, 256, 257, 511, 512, 513][..]),
        1 => 0usize..=2304,
    ]
}

fn seal(keys: &[TemporalKey], frames: &[Plain], mpdus: &mut [Vec<u8>]) {
    let jobs = mpdus.iter_mut().zip(frames).map(|(mpdu, frame)| SealJob {
        header_len: frame.header().len(),
        mpdu,
        pn: frame.pn(),
        key_id: KeyId::PAIRWISE,
    });
    if let [key] = keys {
        key.seal(&mut jobs.collect::<Vec<_>>()).unwrap();
    } else {
        seal_each(&mut keys.iter().zip(jobs).collect::<Vec<_>>()).unwrap();
    }
}

fn open(keys: &[TemporalKey], mpdus: &mut [Vec<u8>]) -> Vec<Result<Vec<u8>, OpenError>> {
    let jobs = mpdus.iter_mut().map(|mpdu| OpenJob::new(mpdu, KeyId::PAIRWISE));
    let payload = |job: &OpenJob<'_>| job.payload().map(<[u8]>::to_vec);
    if let [key] = keys {
        let mut batch: Vec<_> = jobs.collect();
        key.open(&mut batch);
        batch.iter().map(payload).collect()
    } else {
        let mut batch: Vec<_> = keys.iter().zip(jobs).collect();
        open_each(&mut batch);
        batch.iter().map(|(_, job)| payload(job)).collect()
    }
}

/// Seals and opens the batch with every backend, with the first frame's key or each frame's own key.
fn check(mut frames: Vec<Plain>, key_each: bool) -> Result<(), TestCaseError> {
    if !key_each {
        let Plain {
            suite, tk, spp_amsdu, ..
        } = frames[0].clone();
        for frame in &mut frames {
            (frame.suite, frame.tk, frame.spp_amsdu) = (suite, tk.clone(), spp_amsdu);
        }
    }
    // Under Miri, only undefined behaviour is checked, because the other implementation is too slow.
    let expected: Vec<_> = if cfg!(miri) {
        Vec::new()
    } else {
        frames.iter().map(Plain::sealed).collect()
    };
    for backend in Backend::available() {
        let keys: Vec<_> = if key_each && frames.len() > 1 {
            frames.iter().map(|frame| frame.key(backend)).collect()
        } else {
            vec![frames[0].key(backend)]
        };
        let mut mpdus: Vec<_> = frames.iter().map(Plain::laid_out).collect();
        seal(&keys, &frames, &mut mpdus);
        for (n, (sealed, expected)) in mpdus.iter().zip(&expected).enumerate() {
            prop_assert_eq!(sealed, expected, "{} frame {}", backend, n);
        }
        for (n, (opened, frame)) in open(&keys, &mut mpdus).iter().zip(&frames).enumerate() {
            prop_assert_eq!(opened.as_ref(), Ok(&frame.payload), "{} frame {}", backend, n);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn batches_of_equal_lengths_agree_with_the_reference(suite in suite(), len in len(), frames in proptest::collection::vec(plain(Just(Suite::Ccmp128), Just(0)), 1..40), seed: u64) {
        let mut frames = frames;
        for frame in &mut frames {
            frame.suite = suite;
            frame.payload = octets(len, seed ^ frame.pn);
            frame.tk.resize(suite.key_len(), 0x77);
        }
        check(frames, false)?;
    }

    #[test]
    fn batches_of_mixed_lengths_agree_with_the_reference(frames in proptest::collection::vec(plain(suite(), len()), 1..40)) {
        check(frames, false)?;
    }

    #[test]
    fn batches_of_mixed_keys_and_suites_agree_with_the_reference(frames in proptest::collection::vec(plain(suite(), len()), 1..40)) {
        check(frames, true)?;
    }

    #[test]
    fn a_flipped_bit_is_detected_only_in_its_frame(
        frames in proptest::collection::vec(plain(suite(), prop_oneof![3 => 1usize..=300, 1 => 1usize..=2304]), 1..20),
        which: Index, bit: Index,
    ) {
        let which = which.index(frames.len());
        for backend in Backend::available() {
            let keys: Vec<_> = frames.iter().map(|frame| frame.key(backend)).collect();
            let mut mpdus: Vec<_> = frames.iter().map(Plain::sealed).collect();
            let start = frames[which].header().len() + 8;
            let bit = bit.index((mpdus[which].len() - start) * 8);
            mpdus[which][start + bit / 8] ^= 1 << (bit % 8);
            let opened = open(&keys, &mut mpdus);
            for (n, (opened, frame)) in opened.iter().zip(&frames).enumerate() {
                let expected = if n == which { Err(OpenError::Mic) } else { Ok(&frame.payload) };
                prop_assert_eq!(opened.as_ref().map_err(|&e| e), expected, "{} frame {}", backend, n);
            }
            let payload = &mpdus[which][start..][..frames[which].payload.len()];
            prop_assert!(payload.iter().all(|&octet| octet == 0), "{}: payload not zeroed", backend);
        }
    }
}

/// Payload lengths of an MSDU: all up to 544 octets, which is more than the largest step of a kernel (512), then one of
/// eleven, which visits every length modulo 64. With `AIRTOLL_LONG`, all.
fn lengths() -> Vec<usize> {
    let is_long = std::env::var_os("AIRTOLL_LONG").is_some();
    let step = if is_long { 1 } else { 11 };
    (0..=544).chain((545..=2304).step_by(step)).collect()
}

/// Payload lengths of an MSDU, and that of the longest VHT MPDU, alone and in batches. Under Miri, one batch of short
/// payloads.
#[test]
fn every_payload_length_agrees_with_the_reference() {
    let lengths: Vec<usize> = lengths().into_iter().chain([7935]).collect();
    let batches = [&lengths[..], &[7935; 3], &[7935]];
    let batches = if cfg!(miri) { &[&[0, 33][..]] } else { &batches[..] };
    for &suite in SUITES {
        for lengths in batches.iter().flat_map(|all| all.chunks(45)) {
            check(frames_of(suite, lengths), false).unwrap();
        }
    }
}

/// Payload lengths of an MSDU in batches of one length, alternately with one key and with a key per frame. GCMP
/// processes frames of one length side by side, with as many frames in the last step as are left over.
#[test]
fn every_payload_length_of_gcmp_agrees_with_the_reference_in_batches_of_one_length() {
    let lengths = if cfg!(miri) { vec![0, 1] } else { lengths() };
    for len in lengths {
        let suite = if len % 2 == 0 {
            Suite::Gcmp128
        } else {
            Suite::Gcmp256
        };
        let frames = frames_of(suite, &vec![len; 5 + len % 4]);
        let key_each = len / 2 % 2 == 0;
        check(frames, key_each).unwrap();
    }
}

/// Frames of several lengths, each with its own key, of one suite and of all suites.
#[test]
fn every_suite_agrees_with_the_reference_under_a_key_per_frame() {
    let lengths: &[usize] = if cfg!(miri) { &[0, 40] } else { &[0, 40, 129] };
    let of_suites: Vec<_> = SUITES.iter().map(|&suite| frames_of(suite, lengths)).collect();
    for frames in of_suites.iter().filter(|_| !cfg!(miri)) {
        check(frames.clone(), true).unwrap();
    }
    check(of_suites.concat(), true).unwrap();
}

/// Frames with payloads of these lengths and different keys.
fn frames_of(suite: Suite, lengths: &[usize]) -> Vec<Plain> {
    let frame = |(n, &len): (usize, &usize)| Plain {
        suite,
        tk: octets(suite.key_len(), 99 + n as u64),
        four_addresses: len % 3 == 0,
        addresses: [7; 24],
        qos: 0x86,
        spp_amsdu: len % 2 == 0,
        pn: len as u64,
        payload: octets(len, 12345),
    };
    lengths.iter().enumerate().map(frame).collect()
}

/// The longest payload, limited by CCM's 16-bit length field.
#[test]
fn the_longest_payload_agrees_with_the_reference() {
    for &suite in SUITES {
        let frame = Plain {
            suite,
            tk: octets(suite.key_len(), 3),
            four_addresses: false,
            addresses: [9; 24],
            qos: 0,
            spp_amsdu: false,
            pn: 1,
            payload: octets(65535, 77),
        };
        check(vec![frame.clone(), frame], false).unwrap();
    }
}

#[test]
fn a_key_of_the_wrong_length_or_for_another_cpu_is_refused() {
    for &suite in SUITES {
        let error = TemporalKey::new(suite, &[0; 17]).unwrap_err();
        let expected = format!(
            "invalid key length: expected {} octets for {}, got 17",
            suite.key_len(),
            suite.name()
        );
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(
        TemporalKey::new(Suite::Tkip, &[0; 32]).unwrap_err().to_string(),
        "this type of key does not support the suite tkip"
    );
    assert_eq!(
        TemporalKey::new(Suite::Gcmp128, &[0; 16]).unwrap().backend(),
        Backend::detect()
    );
}
