//! The halves of sealing, which exist for measurements. Both halves together give the same frame as sealing, so
//! measurements of the halves apply to sealing.

use proptest::prelude::*;
use wlan_ciphers::{
    Backend, Cipher, Half, KeyId, PacketNumber, Role, SealFault, SealJob, Suite, Tkip, michael,
};

/// QoS Data to the access point.
const HEADER: [u8; 26] = *b"\x88\x01\0\0\x02AAAAA\x02BBBBB\x02CCCCC\x10\0\x05\0";

const SUITES: [Suite; 11] = [
    Suite::Wep40,
    Suite::Wep104,
    Suite::Tkip,
    Suite::OF_TEMPORAL_KEYS[0],
    Suite::OF_TEMPORAL_KEYS[1],
    Suite::OF_TEMPORAL_KEYS[2],
    Suite::OF_TEMPORAL_KEYS[3],
    Suite::OF_TEMPORAL_KEYS[4],
    Suite::OF_TEMPORAL_KEYS[5],
    Suite::OF_TEMPORAL_KEYS[6],
    Suite::OF_TEMPORAL_KEYS[7],
];

const KEY: [u8; 32] = *b"temporal key 016apMichaelstaMich";

/// The operation on a frame: sealing or one half of it.
#[derive(Clone, Copy)]
enum Step {
    Seal,
    Half(Half),
}

fn take(suite: Suite, backend: Backend, step: Step, mpdu: &mut [u8]) -> Result<(), SealFault> {
    let mut jobs = [SealJob {
        mpdu,
        header_len: HEADER.len(),
        pn: PacketNumber::new(0x0a_0b0c).unwrap(),
        key_id: KeyId::PAIRWISE,
    }];
    let key = &KEY[..suite.key_len()];
    let key = Cipher::with_backend(suite, key, Role::Sta, backend).unwrap();
    match step {
        Step::Seal => key.seal(&mut jobs).map_err(|error| error.fault),
        Step::Half(half) => key.seal_half(half, &mut jobs[0]),
    }
}

fn laid_out(suite: Suite, payload: &[u8]) -> Vec<u8> {
    let (header, trailer) = (vec![0xee; suite.header_len()], vec![0xee; suite.mic_len()]);
    [&HEADER, &header[..], payload, &trailer].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// All lengths near the chunk boundaries of every backend, and common long ones.
    #[test]
    fn both_halves_in_sequence_equal_sealing(
        payload in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            prop::collection::vec(any::<u8>(), 1400..1520),
        ],
    ) {
        for suite in SUITES {
            for backend in Backend::available() {
                let mut whole = laid_out(suite, &payload);
                let mut halves = whole.clone();
                take(suite, backend, Step::Seal, &mut whole).unwrap();
                for half in Half::in_order(suite) {
                    take(suite, backend, Step::Half(half), &mut halves).unwrap();
                }
                prop_assert_eq!(&halves, &whole, "{:?} with {}", suite, backend);
            }
        }
    }
}

/// Neither half does work of the other, so each can be measured separately.
#[test]
fn the_mic_leaves_the_payload_and_the_cipher_leaves_the_mic() {
    let payload: Vec<u8> = (0..=255).cycle().take(1408).collect();
    for suite in SUITES {
        for backend in Backend::available() {
            let plain = laid_out(suite, &payload);
            let start = HEADER.len() + suite.header_len();
            let end = start + payload.len();
            let mut mic = plain.clone();
            take(suite, backend, Step::Half(Half::Mic), &mut mic).unwrap();
            assert_eq!(mic[start..end], payload, "{suite:?} with {backend}");
            assert_ne!(mic[end..], plain[end..], "{suite:?} with {backend}");
            let mut cipher = plain.clone();
            take(suite, backend, Step::Half(Half::Cipher), &mut cipher).unwrap();
            assert_ne!(cipher[start..end], payload, "{suite:?} with {backend}");
            if !suite.is_rc4() {
                assert_eq!(cipher[end..], plain[end..], "{suite:?} with {backend}");
            }
        }
    }
}

/// The MIC of TKIP covers the MSDU (IEEE 802.11-2020 12.5.2.3), the ICV covers both (12.5.2.1.2).
#[test]
fn the_mic_of_tkip_is_michael_and_the_icv() {
    let payload = [0x5a; 100];
    let mut mpdu = laid_out(Suite::Tkip, &payload);
    take(Suite::Tkip, Backend::Portable, Step::Half(Half::Mic), &mut mpdu).unwrap();
    let header = michael::MichaelHeader {
        da: wlan_frames::MacAddr(*b"\x02CCCCC"),
        sa: wlan_frames::MacAddr(*b"\x02BBBBB"),
        priority: 5,
    };
    let trailer = &mpdu[HEADER.len() + Suite::Tkip.header_len()..][payload.len()..];
    let tkip = Tkip::new(&KEY, Role::Sta);
    assert_eq!(trailer[..8], tkip.msdu_mic(header, &payload));
    assert!(wlan_frames::fcs::check(&mpdu[HEADER.len() + Suite::Tkip.header_len()..]).is_ok());
}

#[test]
fn a_malformed_frame_is_refused_unchanged() {
    for suite in SUITES {
        for half in [Half::Mic, Half::Cipher] {
            let mut mpdu = laid_out(suite, &[]);
            mpdu.pop();
            let before = mpdu.clone();
            let refused = take(suite, Backend::detect(), Step::Half(half), &mut mpdu);
            assert_eq!(refused, Err(SealFault::Short), "{suite:?}");
            assert_eq!(mpdu, before, "{suite:?}");
        }
    }
}
