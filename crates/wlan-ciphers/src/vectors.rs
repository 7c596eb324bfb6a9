//! The published vectors, `vectors/` at the root of the repository; `SOURCES.md` there says whose they are. Here are
//! the reader of the files and the CCMP vectors; the other suites have their tests beside them.

use ccm::aead::inout::InOutBuf;
use ccm::{AeadInOut, KeyInit};
use serde::Deserialize;
use wlan_frames::fcs::fcs;

use crate::aad::Header;
use crate::ccmp::Ccmp;
use crate::key::b0_flags;
use crate::{KeyId, OpenError, OpenJob, PacketNumber, SealJob, Suite};

type Ccm = ccm::Ccm<aes::Aes128, ccm::consts::U8, ccm::consts::U13>;

#[derive(Deserialize)]
struct File<V> {
    vectors: Vec<V>,
}

/// An octet string, hexadecimal in the file.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Octets(pub(crate) Vec<u8>);

impl TryFrom<String> for Octets {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits = |at| u8::from_str_radix(text.get(at..at + 2).unwrap_or("odd length"), 16);
        let octets: Result<_, _> = (0..text.len()).step_by(2).map(digits).collect();
        octets.map(Octets).map_err(|error| format!("{text}: {error}"))
    }
}

#[derive(Deserialize)]
struct CcmVector {
    name: String,
    key: Octets,
    nonce: Octets,
    aad: Octets,
    plaintext: Octets,
    ciphertext: Octets,
    mic: Octets,
}

#[derive(Deserialize)]
struct MpduVector {
    name: String,
    #[serde(rename = "use")]
    reach: Reach,
    tk: Octets,
    key_id: u8,
    pn: Octets,
    header: Octets,
    aad: Octets,
    nonce: Octets,
    ccmp_header: Octets,
    plaintext: Octets,
    ciphertext: Octets,
    mic: Octets,
    fcs: Option<Octets>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Reach {
    Mpdu,
    Ccm,
}

impl MpduVector {
    fn pn(&self) -> PacketNumber {
        PacketNumber::from_be_octets(self.pn.0[..].try_into().unwrap())
    }

    fn key_id(&self) -> KeyId {
        KeyId::new(self.key_id).unwrap()
    }

    fn ccmp(&self) -> Ccmp {
        Ccmp::new(self.tk.0[..].try_into().unwrap())
    }

    /// The MPDU on the air, without FCS.
    fn sealed(&self) -> Vec<u8> {
        [&self.header, &self.ccmp_header, &self.ciphertext, &self.mic]
            .map(|part| &part.0[..])
            .concat()
    }
}

/// The vectors of one file under `vectors/`.
pub(crate) fn load<V: for<'de> Deserialize<'de>>(name: &str) -> Vec<V> {
    let path = format!("{}/../../vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let file: File<V> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    file.vectors
}

fn mpdu_vectors() -> Vec<MpduVector> {
    let mut all = load("ccmp/ieee80211-data.json");
    all.append(&mut load("ccmp/ieee80211-management.json"));
    assert_eq!(all.len(), 9);
    all
}

fn check_ccm(v: &CcmVector) {
    let ccm = Ccm::new(v.key.0[..].try_into().unwrap());
    let nonce = v.nonce.0[..].try_into().unwrap();
    let mut text = v.plaintext.0.clone();
    let mic = ccm
        .encrypt_inout_detached(nonce, &v.aad.0, InOutBuf::from(&mut text[..]))
        .unwrap();
    assert_eq!(text, v.ciphertext.0, "{}: ciphertext", v.name);
    assert_eq!(mic[..], v.mic.0[..], "{}: MIC", v.name);
    ccm.decrypt_inout_detached(nonce, &v.aad.0, InOutBuf::from(&mut text[..]), &mic)
        .unwrap();
    assert_eq!(text, v.plaintext.0, "{}: plaintext", v.name);
}

#[test]
fn ccm_agrees_with_rfc_3610() {
    let vectors: Vec<CcmVector> = load("ccmp/rfc3610.json");
    assert_eq!(vectors.len(), 12);
    vectors.iter().for_each(check_ccm);
}

#[test]
fn ccm_agrees_with_every_ieee_vector_under_its_printed_aad() {
    for v in mpdu_vectors() {
        check_ccm(&CcmVector {
            name: v.name,
            key: v.tk,
            nonce: v.nonce,
            aad: v.aad,
            plaintext: v.plaintext,
            ciphertext: v.ciphertext,
            mic: v.mic,
        });
    }
}

#[test]
fn aad_and_nonce_are_the_printed_ones() {
    for v in mpdu_vectors() {
        let sealed = v.sealed();
        let Ok(header) = Header::parse(&sealed) else {
            panic!("{}: not protectable", v.name)
        };
        let blocks = header.ccm_blocks(v.pn(), b0_flags(Suite::Ccmp128), v.plaintext.0.len());
        assert_eq!(
            blocks.counter.to_le_bytes()[1..14],
            v.nonce.0[..],
            "{}: nonce",
            v.name
        );
        let mut printed = v.aad.0.clone();
        if v.reach == Reach::Ccm {
            // The Order bit of these QoS frames was part of the AAD in 2003 and no longer is.
            assert_eq!(printed[1] & 0x80, 0x80, "{}", v.name);
            printed[1] &= 0x7f;
        }
        let mut ccm = [&u16::try_from(printed.len()).unwrap().to_be_bytes(), &printed[..]].concat();
        ccm.resize(32, 0);
        let aad = [blocks.aad_1, blocks.aad_2].map(u128::to_le_bytes);
        assert_eq!(aad.as_flattened(), ccm, "{}: AAD", v.name);
    }
}

#[test]
fn sealing_gives_the_printed_mpdu_and_fcs() {
    for v in mpdu_vectors().iter().filter(|v| v.reach == Reach::Mpdu) {
        let header_len = v.header.0.len();
        let overhead = Suite::Ccmp128.overhead();
        let mut mpdu = vec![0xee; header_len + v.plaintext.0.len() + overhead];
        mpdu[..header_len].copy_from_slice(&v.header.0);
        // Whether the caller set the Protected bit must not matter.
        mpdu[1] &= !0x40;
        mpdu[header_len + 8..][..v.plaintext.0.len()].copy_from_slice(&v.plaintext.0);
        v.ccmp()
            .seal(&mut [SealJob {
                mpdu: &mut mpdu,
                header_len,
                pn: v.pn(),
                key_id: v.key_id(),
            }])
            .unwrap();
        assert_eq!(mpdu, v.sealed(), "{}", v.name);
        if let Some(printed) = &v.fcs {
            assert_eq!(fcs(&mpdu).to_le_bytes()[..], printed.0[..], "{}: FCS", v.name);
        }
    }
}

#[test]
fn opening_the_printed_mpdu_gives_its_plaintext() {
    for v in mpdu_vectors().iter().filter(|v| v.reach == Reach::Mpdu) {
        let mut mpdu = v.sealed();
        let mut jobs = [OpenJob::new(&mut mpdu, v.key_id())];
        v.ccmp().open(&mut jobs);
        let opened = jobs[0].verdict().unwrap();
        assert_eq!((opened.pn, opened.key_id), (v.pn(), v.key_id()), "{}", v.name);
        assert_eq!(jobs[0].payload().unwrap(), v.plaintext.0, "{}", v.name);
    }
}

#[test]
fn qos_frames_of_2003_with_the_order_bit_are_not_opened_as_mpdus_of_today() {
    for v in mpdu_vectors().iter().filter(|v| v.reach == Reach::Ccm) {
        let mut mpdu = v.sealed();
        let mut jobs = [OpenJob::new(&mut mpdu, v.key_id())];
        v.ccmp().open(&mut jobs);
        let refused = jobs[0].payload().unwrap_err();
        assert!(
            matches!(
                refused,
                OpenError::BadHeader | OpenError::KeyMismatch { .. } | OpenError::Mic
            ),
            "{}: {refused}",
            v.name
        );
    }
}
