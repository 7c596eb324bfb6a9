//! Vectors of CCM and GCM through the kernels, below MPDUs: any AAD, and for CCM any length of nonce and MIC.
//!
//! The kernels take an AAD of two blocks, as in every MPDU. For a shorter or longer AAD, the test computes the state of
//! CBC-MAC or GHASH before the last block. It merges this state into the second block, so that the kernel reaches the
//! same state. For CCM it uses the AES of the key schedule, for GCM RustCrypto's GHASH.

use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use serde::Deserialize;

use super::{MpduVector, Octets, Reach, load, ran};
use crate::Backend;
use crate::engine::pass::{OPEN, Pass, SEAL};
use crate::engine::{Blocks, Frame, Mode, Schedule, Window};

/// Octets before the payload, as many as the kernels may read there.
const HEADER_LEN: usize = 32;

#[derive(Deserialize)]
struct Vector {
    name: String,
    key: Octets,
    nonce: Octets,
    aad: Octets,
    plaintext: Octets,
    ciphertext: Octets,
    mic: Octets,
    /// False if opening must fail.
    #[serde(default = "yes")]
    valid: bool,
}

fn yes() -> bool {
    true
}

impl From<MpduVector> for Vector {
    fn from(v: MpduVector) -> Vector {
        Vector {
            name: v.name,
            key: v.tk,
            nonce: v.nonce,
            aad: v.aad,
            plaintext: v.plaintext,
            ciphertext: v.ciphertext,
            mic: v.mic,
            valid: true,
        }
    }
}

impl Vector {
    /// Whether the AAD has exactly two blocks without modification.
    fn has_two_aad_blocks(&self, mode: Mode) -> bool {
        let len = self.aad.0.len();
        match mode {
            Mode::Gcm => (17..=32).contains(&len),
            _ => (15..=30).contains(&len),
        }
    }

    fn blocks(&self, mode: Mode, key: &Schedule) -> Blocks {
        match mode {
            Mode::Gcm => self.gcm_blocks(key),
            _ => self.ccm_blocks(key),
        }
    }

    /// RFC 3610 sections 2.2 and 2.3.
    fn ccm_blocks(&self, key: &Schedule) -> Blocks {
        let (nonce, aad) = (&self.nonce.0, &self.aad.0);
        let octets_of_len = 15 - nonce.len();
        let len_flags = u8::try_from(octets_of_len - 1).unwrap();
        let mic = u8::try_from((self.mic.0.len() - 2) / 2).unwrap();
        let len = self.ciphertext.0.len() as u128;
        let block = |flags: u8, last: u128| {
            let mut block = last.to_be_bytes();
            block[0] = flags;
            block[1..=nonce.len()].copy_from_slice(nonce);
            block
        };
        let b0 = block(u8::from(!aad.is_empty()) << 6 | mic << 3 | len_flags, len);
        let mut octets = b0.to_vec();
        if !aad.is_empty() {
            octets.extend(u16::try_from(aad.len()).unwrap().to_be_bytes());
            octets.extend(aad);
        }
        let chain = padded(&octets);
        let counter = number(&block(len_flags, 0));
        if let ([b0, aad_1, aad_2], true) = (&chain[..], self.has_two_aad_blocks(Mode::Ccm)) {
            return Blocks {
                counter,
                first: number(b0),
                aad_1: number(aad_1),
                aad_2: number(aad_2),
            };
        }
        let (last, before) = chain.split_last().unwrap();
        let encrypt = |block: u128| number(&key.encrypt(&block.to_le_bytes()));
        let state = before
            .iter()
            .fold(0, |state, block| encrypt(state ^ number(block)));
        // E(0) ^ aad_1 is 0, and E(0) ^ aad_2 is the last block that the chain encrypts.
        let zero = encrypt(0);
        Blocks {
            counter,
            first: 0,
            aad_1: zero,
            aad_2: zero ^ state ^ number(last),
        }
    }

    /// NIST SP 800-38D 7.1, with a nonce of 12 octets.
    fn gcm_blocks(&self, key: &Schedule) -> Blocks {
        let mut counter = [0; 16];
        counter[..12].copy_from_slice(&self.nonce.0);
        let bits = |octets: &Octets| (octets.0.len() as u64 * 8).to_be_bytes();
        let lengths = [bits(&self.aad), bits(&self.ciphertext)].concat();
        let aad = padded(&self.aad.0);
        // A leading block of zeros does not change GHASH.
        let (aad_1, aad_2) = match &aad[..] {
            [] => (0, 0),
            [last] => (0, number(last)),
            [first, last] => (number(first), number(last)),
            [before @ .., last] => {
                let mut hash = GHash::new(&key.encrypt(&[0; 16]).into());
                before.iter().for_each(|&block| hash.update(&[block.into()]));
                (0, number(&hash.finalize().into()) ^ number(last))
            }
        };
        Blocks {
            counter: number(&counter),
            first: number(lengths[..].try_into().unwrap()),
            aad_1,
            aad_2,
        }
    }
}

/// The octets in blocks, the last one padded with zeros.
fn padded(octets: &[u8]) -> Vec<[u8; 16]> {
    let block = |chunk: &[u8]| {
        let mut block = [0; 16];
        block[..chunk.len()].copy_from_slice(chunk);
        block
    };
    octets.chunks(16).map(block).collect()
}

fn number(block: &[u8; 16]) -> u128 {
    u128::from_le_bytes(*block)
}

/// Seals or opens all vectors in one batch. Returns the text and MIC of each.
fn run<const PASS: Pass>(mode: Mode, backend: Backend, vectors: &[&Vector]) -> Vec<(Vec<u8>, [u8; 16])> {
    let keys: Vec<_> = vectors
        .iter()
        .map(|v| Schedule::new(&v.key.0, mode, backend).unwrap())
        .collect();
    let text = |v: &Vector| {
        if PASS == OPEN {
            v.ciphertext.0.clone()
        } else {
            v.plaintext.0.clone()
        }
    };
    // The octets around the payload must not change.
    let around = |text: Vec<u8>| [&[0xee; HEADER_LEN], &text[..], &[0xee; 16]].concat();
    let mut buffers: Vec<_> = vectors.iter().map(|v| around(text(v))).collect();
    let mut window = Window::new();
    for ((buffer, v), key) in buffers.iter_mut().zip(vectors).zip(&keys) {
        let payload = HEADER_LEN..buffer.len() - 16;
        window.push(Frame::new(buffer, payload, key, v.blocks(mode, key)));
    }
    window.protect::<PASS>();
    let frames = window.frames().iter_mut();
    let done = frames
        .map(|frame| {
            let (mic, payload, rest) = frame.parts();
            if PASS == OPEN {
                assert_eq!(rest, [0xee; 16]);
                (payload.to_vec(), mic)
            } else {
                (payload.to_vec(), rest.try_into().unwrap())
            }
        })
        .collect();
    drop(window);
    for buffer in &buffers {
        assert_eq!(buffer[..HEADER_LEN], [0xee; HEADER_LEN]);
    }
    done
}

/// Checks a batch of vectors with keys of equal length.
fn check_batch(mode: Mode, backend: Backend, vectors: &[&Vector]) {
    let sealed = run::<SEAL>(mode, backend, vectors);
    let opened = run::<OPEN>(mode, backend, vectors);
    for ((v, sealed), opened) in vectors.iter().zip(sealed).zip(opened) {
        let place = format!("{} with {backend}, batch of {}", v.name, vectors.len());
        let mic = &v.mic.0;
        if v.valid {
            assert_eq!(sealed.0, v.ciphertext.0, "{place}: ciphertext");
            assert_eq!(sealed.1[..mic.len()], mic[..], "{place}: MIC when sealing");
            assert_eq!(opened.0, v.plaintext.0, "{place}: plaintext");
            assert_eq!(opened.1[..mic.len()], mic[..], "{place}: MIC when opening");
        } else {
            assert_ne!(opened.1[..mic.len()], mic[..], "{place}: must be rejected");
        }
    }
}

/// Checks vectors on every backend, individually and in batches of 128.
fn check(what: &str, mode: Mode, vectors: &[Vector]) {
    for backend in Backend::available() {
        for key_len in [16, 32] {
            let of_length = vectors.iter().filter(|v| v.key.0.len() == key_len);
            let of_length: Vec<_> = of_length.collect();
            for batch in of_length.chunks(1).chain(of_length.chunks(128)) {
                check_batch(mode, backend, batch);
            }
        }
    }
    let refused = vectors.iter().filter(|v| !v.valid).count();
    let as_they_stand = vectors.iter().filter(|v| v.has_two_aad_blocks(mode)).count();
    let backends = Backend::available().count();
    ran(
        vectors.len(),
        &format!(
            "vectors of {what} on {backends} backends: {refused} invalid, {as_they_stand} with an AAD of two blocks"
        ),
    );
}

#[test]
fn ccm_agrees_with_rfc_3610() {
    check("RFC 3610", Mode::Ccm, &load("ccmp/rfc3610.json"));
}

#[test]
fn ccm_and_gcm_agree_with_every_ieee_vector_under_its_printed_aad() {
    let [mpdu, ccm, gcm] = [Reach::Mpdu, Reach::Ccm, Reach::Gcm].map(MpduVector::all);
    let vectors = [mpdu, ccm, gcm].into_iter().flatten().map(Vector::from);
    let (ccm, gcm): (Vec<_>, Vec<_>) = vectors.partition(|v| v.nonce.0.len() == 13);
    check("IEEE 802.11, CCM", Mode::Ccm, &ccm);
    check("IEEE 802.11, GCM", Mode::Gcm, &gcm);
}

#[test]
fn ccm_agrees_with_cavp() {
    check("CAVP, CCM", Mode::Ccm, &load("ccmp/cavp.json"));
}

#[test]
fn gcm_agrees_with_cavp() {
    check("CAVP, GCM", Mode::Gcm, &load("gcmp/cavp.json"));
}

#[test]
fn ccm_agrees_with_wycheproof() {
    check("Wycheproof, CCM", Mode::Ccm, &load("ccmp/wycheproof.json"));
}

#[test]
fn gcm_agrees_with_wycheproof() {
    check("Wycheproof, GCM", Mode::Gcm, &load("gcmp/wycheproof.json"));
}
