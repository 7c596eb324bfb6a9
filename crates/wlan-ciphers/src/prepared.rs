//! GCM over packets whose nonce and AAD the caller has prepared, as a library that does not know 802.11 takes them. For
//! measurements beside such libraries only: it skips all that [`TemporalKey::seal`] does for an MPDU besides GCM.
//!
//! ```
//! use wlan_ciphers::prepared::{Packet, open, seal};
//! use wlan_ciphers::{Suite, TemporalKey};
//! let key = TemporalKey::new(Suite::Gcmp128, &[7; 16]).unwrap();
//! let mut buffer = *b"................................to be sealed(place of a MIC)";
//! fn packet(buffer: &mut [u8]) -> Packet<'_> {
//!     Packet { buffer, payload: 32..44, nonce: [1; 12], aad: [2; 32], aad_len: 32 }
//! }
//! seal([(&key, packet(&mut buffer))].into_iter());
//! assert!(open([(&key, packet(&mut buffer))].into_iter()));
//! assert_eq!(buffer[32..44], *b"to be sealed");
//! ```

use core::ops::Range;

use crate::TemporalKey;
use crate::engine::pass::{OPEN, Pass, SEAL};
use crate::engine::{Blocks, Frame, MAX_PAYLOAD_LEN, Mode, WINDOW, Window, protect_one};
use crate::key::check_mic;

/// A packet of GCM.
#[derive(Debug)]
pub struct Packet<'a> {
    /// At least 32 octets, the payload, and the MIC of 16 octets.
    pub buffer: &'a mut [u8],
    /// The payload in `buffer`.
    pub payload: Range<usize>,
    /// Never used before under the same key.
    pub nonce: [u8; 12],
    /// 17 to 32 octets of AAD, followed by zeros.
    pub aad: [u8; 32],
    /// Octets of the AAD.
    pub aad_len: usize,
}

/// Encrypts the payloads in place and writes the MICs.
///
/// # Panics
/// If a key is not of GCMP, or a packet is not as described.
pub fn seal<'b>(packets: impl ExactSizeIterator<Item = (&'b TemporalKey, Packet<'b>)>) {
    pass::<SEAL>(packets);
}

/// Decrypts the payloads in place and checks the MICs. A payload with a wrong MIC is zeroed. Returns whether all MICs
/// are correct.
///
/// # Panics
/// As for [`seal`].
#[must_use]
pub fn open<'b>(packets: impl ExactSizeIterator<Item = (&'b TemporalKey, Packet<'b>)>) -> bool {
    pass::<OPEN>(packets)
}

#[inline(always)]
fn pass<'b, const PASS: Pass>(
    mut packets: impl ExactSizeIterator<Item = (&'b TemporalKey, Packet<'b>)>,
) -> bool {
    if packets.len() == 1 {
        let Some((key, packet)) = packets.next() else {
            return true;
        };
        let mut frame = frame(key, packet);
        protect_one::<PASS>(&mut frame);
        return PASS != OPEN || check_mic(&mut frame).is_ok();
    }
    let mut all_open = true;
    while packets.len() > 0 {
        let mut window = Window::new();
        for (key, packet) in packets.by_ref().take(WINDOW) {
            window.push(frame(key, packet));
        }
        window.protect::<PASS>();
        if PASS == OPEN {
            for frame in window.frames() {
                all_open &= check_mic(frame).is_ok();
            }
        }
    }
    all_open
}

#[inline(always)]
fn frame<'b>(key: &'b TemporalKey, packet: Packet<'b>) -> Frame<'b, 'b> {
    let Packet {
        buffer,
        payload,
        nonce,
        aad,
        aad_len,
    } = packet;
    let len = payload.len();
    assert!(key.schedule().kind.mode == Mode::Gcm, "the key is not of GCMP");
    assert!(payload.end + 16 == buffer.len() && len <= MAX_PAYLOAD_LEN && (17..=32).contains(&aad_len));
    let [aad_1, aad_2] = [0, 16].map(|at| {
        let mut block = [0; 16];
        block.copy_from_slice(&aad[at..at + 16]);
        u128::from_le_bytes(block)
    });
    let mut counter = [0; 16];
    counter[..12].copy_from_slice(&nonce);
    let bits = |octets: usize| u128::from((octets as u64 * 8).swap_bytes());
    let blocks = Blocks {
        counter: u128::from_le_bytes(counter),
        first: bits(aad_len) | bits(len) << 64,
        aad_1,
        aad_2,
    };
    Frame::new(buffer, payload, key.schedule(), blocks)
}
