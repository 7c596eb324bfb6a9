//! The frames of a case as packets, for libraries that do not know 802.11.

use wlan_ciphers::Method;
use wlan_frames::fcs;
use wlan_speed::frames::Frames;

const AAD_LEN: u32 = 24;

/// A frame in the form that libraries process: `struct packet` of `peers.h`.
#[repr(C)]
pub(crate) struct Packet {
    pub(crate) nonce: [u8; 16],
    pub(crate) aad: [u8; 32],
    pub(crate) aad_b: u32,
    /// Offset of the payload in the buffer.
    pub(crate) text: u32,
    pub(crate) text_b: u32,
    mic: u32,
    pub(crate) key: u32,
}

/// Writes the plaintext ICV after every payload, for a library that only provides RC4.
pub(crate) fn fill_icvs(frames: &mut Frames) {
    let start = frames.start();
    for i in 0..frames.places.len() {
        fcs::fill(&mut frames.mpdu(i)[start..]);
    }
}

/// The frames as packets, with `keys` keys in turn. This function builds nonce and AAD without the engine, so that
/// equal outputs are evidence (IEEE 802.11-2020 12.5.3.3.3, 12.5.3.3.4, 12.5.5.3.4; WEP: 12.3.2.2).
pub(crate) fn packets(frames: &mut Frames, keys: usize) -> Vec<Packet> {
    let count = frames.places.len();
    (0..count).map(|i| packet(frames, i, i % keys)).collect()
}

fn packet(frames: &mut Frames, i: usize, key: usize) -> Packet {
    let number = |n: usize| u32::try_from(n).expect("a batch has less than 4 GiB");
    let (text, text_b) = (frames.places[i].0 + frames.start(), frames.payload_b(i));
    let [_, _, pn @ ..] = frames.pn(i).to_be_bytes();
    let (is_wep, suite) = (frames.is_wep(), frames.suite);
    let mpdu = frames.mpdu(i);
    let mut nonce = [0; 16];
    if is_wep {
        nonce[..3].copy_from_slice(&pn[3..]);
    } else {
        let at = usize::from(suite.method() == Method::Ccm);
        nonce[0] = mpdu[24] & 0x0f;
        nonce[at..at + 6].copy_from_slice(&mpdu[10..16]);
        nonce[at + 6..at + 12].copy_from_slice(&pn);
    }
    let mut aad = [0; 32];
    aad[..2].copy_from_slice(&[0x88, 0x41]);
    aad[2..20].copy_from_slice(&mpdu[4..22]);
    aad[20] = mpdu[22] & 0x0f;
    aad[22] = mpdu[24] & 0x0f;
    Packet {
        nonce,
        aad,
        aad_b: AAD_LEN,
        text: number(text),
        text_b: number(text_b),
        mic: number(text + text_b),
        key: number(key),
    }
}
