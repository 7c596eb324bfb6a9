//! Tests with the published MPDUs of CCMP and GCMP in `vectors/` at the root of the repository; `SOURCES.md` there
//! names the sources. [`aead`] tests the layer below MPDUs. The tests of the other suites are in their modules.

mod aead;
#[path = "../../../vectors/reader.rs"]
mod reader;

pub(crate) use reader::{Octets, load};

use serde::Deserialize;
use wlan_frames::fcs::fcs;

use crate::aad::Header;
use crate::key::b0_flags;
use crate::{Backend, Half, KeyId, OpenError, OpenJob, PacketNumber, SealJob, Suite, TemporalKey};

/// Prints how many checks a test made, and fails if it made none.
fn ran(count: usize, what: &str) {
    assert!(count > 0, "checked no {what}");
    println!("{count} {what}");
}

#[derive(Deserialize)]
struct MpduVector {
    name: String,
    #[serde(default)]
    suite: SuiteName,
    #[serde(rename = "use")]
    reach: Reach,
    tk: Octets,
    key_id: u8,
    pn: Octets,
    header: Octets,
    aad: Octets,
    nonce: Octets,
    #[serde(alias = "gcmp_header")]
    ccmp_header: Octets,
    plaintext: Octets,
    ciphertext: Octets,
    mic: Octets,
    fcs: Option<Octets>,
}

#[derive(Clone, Copy, Default, Deserialize)]
enum SuiteName {
    #[default]
    #[serde(rename = "CCMP-128")]
    Ccmp128,
    #[serde(rename = "CCMP-256")]
    Ccmp256,
    #[serde(rename = "GCMP-128")]
    Gcmp128,
    #[serde(rename = "GCMP-256")]
    Gcmp256,
}

/// The layer that a vector tests.
#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Reach {
    /// The complete MPDU.
    Mpdu,
    /// CCM with the printed AAD.
    Ccm,
    /// GCM with the printed AAD.
    Gcm,
}

impl MpduVector {
    /// All vectors of this layer, of all suites.
    fn all(reach: Reach) -> Vec<MpduVector> {
        let files = [
            "ccmp/ieee80211-data.json",
            "ccmp/ieee80211-management.json",
            "ccmp/ieee80211ac.json",
            "gcmp/ieee80211.json",
        ];
        let mut all: Vec<MpduVector> = files.into_iter().flat_map(load).collect();
        all.retain(|v| v.reach == reach);
        all
    }

    fn suite(&self) -> Suite {
        match self.suite {
            SuiteName::Ccmp128 => Suite::Ccmp128,
            SuiteName::Ccmp256 => Suite::Ccmp256,
            SuiteName::Gcmp128 => Suite::Gcmp128,
            SuiteName::Gcmp256 => Suite::Gcmp256,
        }
    }

    fn pn(&self) -> PacketNumber {
        PacketNumber::from_be_octets(self.pn.0[..].try_into().unwrap())
    }

    fn key_id(&self) -> KeyId {
        KeyId::new(self.key_id).unwrap()
    }

    fn keys(&self) -> impl Iterator<Item = TemporalKey> {
        Backend::available()
            .map(|backend| TemporalKey::with_backend(self.suite(), &self.tk.0, backend).unwrap())
    }

    /// The MPDU on the air, without FCS.
    fn sealed(&self) -> Vec<u8> {
        [&self.header, &self.ccmp_header, &self.ciphertext, &self.mic]
            .map(|part| &part.0[..])
            .concat()
    }
}

/// The nonce and the AAD that the engine receives for a sealed MPDU, in the format of CCM and GCM.
fn nonce_and_aad(v: &MpduVector, sealed: &[u8]) -> (Vec<u8>, [u8; 32]) {
    let Ok(header) = Header::parse(sealed) else {
        panic!("{}: not protectable", v.name)
    };
    let (blocks, nonce) = match v.suite() {
        Suite::Gcmp128 | Suite::Gcmp256 => (header.gcm_blocks(v.pn(), v.plaintext.0.len(), false), 0..12),
        suite => {
            let flags = b0_flags(suite);
            (
                header.ccm_blocks(v.pn(), flags, v.plaintext.0.len(), false),
                1..14,
            )
        }
    };
    let mut aad = [0; 32];
    aad[..16].copy_from_slice(&blocks.aad_1.to_le_bytes());
    aad[16..].copy_from_slice(&blocks.aad_2.to_le_bytes());
    (blocks.counter.to_le_bytes()[nonce].to_vec(), aad)
}

#[test]
fn aad_and_nonce_agree_with_the_standard() {
    let mut vectors = MpduVector::all(Reach::Mpdu);
    vectors.append(&mut MpduVector::all(Reach::Ccm));
    for v in &vectors {
        let (nonce, aad) = nonce_and_aad(v, &v.sealed());
        assert_eq!(nonce, v.nonce.0, "{}: nonce", v.name);
        let mut printed = v.aad.0.clone();
        if v.reach == Reach::Ccm {
            // In 2003 the AAD included the Order bit of these QoS frames. It no longer does.
            assert_eq!(printed[1] & 0x80, 0x80, "{}", v.name);
            printed[1] &= 0x7f;
        }
        if matches!(v.suite(), Suite::Ccmp128 | Suite::Ccmp256) {
            let len = u16::try_from(printed.len()).unwrap();
            printed.splice(..0, len.to_be_bytes());
        }
        printed.resize(32, 0);
        assert_eq!(aad[..], printed, "{}: AAD", v.name);
    }
    ran(vectors.len(), "headers");
}

#[test]
fn sealing_gives_the_printed_mpdu_and_fcs() {
    let mut count = 0;
    for v in MpduVector::all(Reach::Mpdu) {
        for key in v.keys() {
            let header_len = v.header.0.len();
            let mut mpdu = vec![0xee; header_len + v.plaintext.0.len() + v.suite().overhead()];
            mpdu[..header_len].copy_from_slice(&v.header.0);
            // The Protected bit that the caller passes must not matter.
            mpdu[1] &= !0x40;
            mpdu[header_len + 8..][..v.plaintext.0.len()].copy_from_slice(&v.plaintext.0);
            let job = SealJob {
                mpdu: &mut mpdu,
                header_len,
                pn: v.pn(),
                key_id: v.key_id(),
            };
            key.seal(&mut [job]).unwrap();
            assert_eq!(mpdu, v.sealed(), "{} with {}", v.name, key.backend());
            if let Some(printed) = &v.fcs {
                assert_eq!(fcs(&mpdu).to_le_bytes()[..], printed.0[..], "{}: FCS", v.name);
            }
            count += 1;
        }
    }
    ran(count, "MPDUs sealed");
}

#[test]
fn the_halves_of_sealing_give_the_printed_mic_and_the_printed_ciphertext() {
    let mut count = 0;
    for v in MpduVector::all(Reach::Mpdu) {
        let is_gcmp = matches!(v.suite(), Suite::Gcmp128 | Suite::Gcmp256);
        for key in v.keys() {
            let half = |half, payload: &[u8], mic: &[u8]| {
                let mut mpdu = [&v.header.0[..], &[0xee; 8], payload, mic].concat();
                let job = &mut SealJob {
                    mpdu: &mut mpdu,
                    header_len: v.header.0.len(),
                    pn: v.pn(),
                    key_id: v.key_id(),
                };
                key.seal_half(half, job).unwrap();
                mpdu
            };
            let head = [&v.header.0[..], &v.ccmp_header.0].concat();
            let untouched = vec![0xee; v.mic.0.len()];
            // CCM computes the MIC over the plaintext, GCM over the ciphertext.
            let signed = &(if is_gcmp { &v.ciphertext } else { &v.plaintext }).0[..];
            let (name, backend) = (&v.name, key.backend());
            let mic = half(Half::Mic, signed, &untouched);
            assert_eq!(
                mic,
                [&head[..], signed, &v.mic.0].concat(),
                "{name} with {backend}"
            );
            let cipher = half(Half::Cipher, &v.plaintext.0, &untouched);
            let expected = [&head[..], &v.ciphertext.0, &untouched].concat();
            assert_eq!(cipher, expected, "{name} with {backend}");
            count += 1;
        }
    }
    ran(count, "pairs of halves");
}

#[test]
fn opening_the_printed_mpdu_gives_its_plaintext() {
    let mut count = 0;
    for v in MpduVector::all(Reach::Mpdu) {
        for key in v.keys() {
            let mut mpdu = v.sealed();
            let mut jobs = [OpenJob::new(&mut mpdu, v.key_id())];
            key.open(&mut jobs);
            let opened = jobs[0].verdict().unwrap();
            assert_eq!((opened.pn, opened.key_id), (v.pn(), v.key_id()), "{}", v.name);
            let payload = jobs[0].payload().unwrap();
            assert_eq!(payload, v.plaintext.0, "{} with {}", v.name, key.backend());
            count += 1;
        }
    }
    ran(count, "MPDUs opened");
}

#[test]
fn vectors_with_obsolete_headers_are_not_opened() {
    let mut count = 0;
    let vectors = [Reach::Ccm, Reach::Gcm].map(MpduVector::all);
    for v in vectors.iter().flatten() {
        for key in v.keys() {
            let mut mpdu = v.sealed();
            let mut jobs = [OpenJob::new(&mut mpdu, v.key_id())];
            key.open(&mut jobs);
            let refused = jobs[0].payload().unwrap_err();
            assert!(
                matches!(
                    refused,
                    OpenError::BadHeader | OpenError::KeyMismatch { .. } | OpenError::Mic
                ),
                "{}: {refused}",
                v.name
            );
            count += 1;
        }
    }
    ran(count, "MPDUs rejected");
}
