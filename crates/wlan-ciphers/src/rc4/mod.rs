//! RC4 as WEP and TKIP use it: one short text a key, never more.
//!
//! A single stream is bound by the latency of its chain of table look-ups. The frames of a batch have independent
//! streams, so eight of them run side by side where the processor has AVX (`x86`).
//!
//! RC4 looks its table up at secret places: it does not run in constant time, here or anywhere.

#[cfg(target_arch = "x86_64")]
mod x86;

use zeroize::optimization_barrier;

#[cfg(target_arch = "x86_64")]
use crate::lanes::{ByLength, WINDOW};

/// Octets of a key. The seed of WEP-40 has eight: written twice it schedules the same, because the schedule takes the
/// key cyclically.
pub(crate) const KEY_LEN: usize = 16;

/// A text and the key of its stream, which begins with the text.
pub(crate) struct Text<'a> {
    pub(crate) key: [u8; KEY_LEN],
    pub(crate) text: &'a mut [u8],
}

impl Drop for Text<'_> {
    fn drop(&mut self) {
        wipe(&mut self.key, 0);
    }
}

/// Zeroes what is secret. Octet by octet, as `zeroize` does it, would cost as much as the cipher.
pub(crate) fn wipe<T: Copy>(secret: &mut [T], zero: T) {
    secret.fill(zero);
    optimization_barrier(secret);
}

/// How streams are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    /// One after the other.
    Portable,
    /// Eight side by side.
    #[cfg(target_arch = "x86_64")]
    Avx(x86::Avx),
}

impl Backend {
    /// The fastest that this processor has.
    pub(crate) fn detect() -> Backend {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx) = x86::Avx::detect() {
            return Backend::Avx(avx);
        }
        Backend::Portable
    }
}

/// Enciphers or deciphers every text in place; empty ones cost nothing.
pub(crate) fn apply(texts: &mut [Text<'_>]) {
    apply_with(Backend::detect(), texts);
}

fn apply_with(backend: Backend, texts: &mut [Text<'_>]) {
    match backend {
        Backend::Portable => texts.iter_mut().for_each(apply_one),
        #[cfg(target_arch = "x86_64")]
        Backend::Avx(avx) => {
            for window in texts.chunks_mut(WINDOW) {
                let order = ByLength::new(window.iter().map(|text| text.text.len()));
                for group in order.groups(x86::LANES) {
                    // Eight streams cost what two and a half cost one by one.
                    if group.len() < 3 {
                        group
                            .iter()
                            .for_each(|&index| apply_one(&mut window[usize::from(index)]));
                    } else {
                        apply_group(avx, window, group);
                    }
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn apply_group(avx: x86::Avx, window: &mut [Text<'_>], group: &[u8]) {
    let mut keys = [[0; x86::LANES]; KEY_LEN];
    for (lane, &index) in group.iter().enumerate() {
        for (row, octet) in keys.iter_mut().zip(window[usize::from(index)].key) {
            row[lane] = octet;
        }
    }
    let mut streams = x86::Streams::new(avx, &keys);
    let mut block = [[0; x86::BLOCK]; x86::LANES];
    let longest = window[usize::from(group[0])].text.len();
    for start in (0..longest).step_by(x86::BLOCK) {
        streams.next_block(&mut block);
        for (lane, &index) in block.iter().zip(group) {
            let text = &mut *window[usize::from(index)].text;
            let end = text.len().min(start + x86::BLOCK);
            xor(text.get_mut(start..end).unwrap_or_default(), lane);
        }
    }
    wipe(&mut keys, [0; x86::LANES]);
    wipe(&mut block, [0; x86::BLOCK]);
}

#[cfg(target_arch = "x86_64")]
fn xor(text: &mut [u8], keystream: &[u8; x86::BLOCK]) {
    // The whole block has a path of its own: its length is known when compiling.
    if let Ok(block) = <&mut [u8; x86::BLOCK]>::try_from(&mut *text) {
        block
            .iter_mut()
            .zip(keystream)
            .for_each(|(octet, key)| *octet ^= key);
    } else {
        text.iter_mut()
            .zip(keystream)
            .for_each(|(octet, key)| *octet ^= key);
    }
}

fn apply_one(text: &mut Text<'_>) {
    let mut stream = Stream::new(&text.key);
    for octet in text.text.iter_mut() {
        *octet ^= stream.next_octet();
    }
}

/// One stream.
struct Stream {
    table: [u8; 256],
    i: u8,
    j: u8,
}

impl Drop for Stream {
    fn drop(&mut self) {
        wipe(&mut self.table, 0);
    }
}

impl Stream {
    fn new(key: &[u8; KEY_LEN]) -> Stream {
        let mut table = [0; 256];
        for (octet, index) in table.iter_mut().zip(0u8..=255) {
            *octet = index;
        }
        let mut j = 0u8;
        for i in 0..table.len() {
            j = j.wrapping_add(table[i]).wrapping_add(key[i % KEY_LEN]);
            table.swap(i, usize::from(j));
        }
        Stream { table, i: 0, j: 0 }
    }

    fn next_octet(&mut self) -> u8 {
        self.i = self.i.wrapping_add(1);
        let (i, x) = (usize::from(self.i), self.table[usize::from(self.i)]);
        self.j = self.j.wrapping_add(x);
        let y = self.table[usize::from(self.j)];
        self.table[i] = y;
        self.table[usize::from(self.j)] = x;
        self.table[usize::from(x.wrapping_add(y))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{Octets, load};
    use proptest::prelude::*;
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Rfc6229 {
        name: String,
        key: Octets,
        keystream: Vec<Piece>,
    }

    #[derive(Deserialize)]
    struct Piece {
        offset: usize,
        octets: Octets,
    }

    fn backends() -> Vec<Backend> {
        let mut all = vec![Backend::Portable, Backend::detect()];
        all.dedup();
        all
    }

    #[test]
    fn keystreams_are_those_of_rfc_6229() {
        let vectors: Vec<Rfc6229> = load("wep/rfc6229.json");
        assert_eq!(vectors.len(), 4);
        for backend in backends() {
            let mut keystreams = vec![vec![0; 4112]; vectors.len()];
            let mut texts: Vec<_> = vectors
                .iter()
                .zip(&mut keystreams)
                .map(|(v, text)| Text {
                    key: std::array::from_fn(|n| v.key.0[n % v.key.0.len()]),
                    text,
                })
                .collect();
            apply_with(backend, &mut texts);
            drop(texts);
            for (v, keystream) in vectors.iter().zip(&keystreams) {
                for piece in &v.keystream {
                    let at = piece.offset..piece.offset + piece.octets.0.len();
                    assert_eq!(
                        keystream[at], piece.octets.0,
                        "{} at {}, {backend:?}",
                        v.name, piece.offset
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn every_backend_gives_what_the_portable_one_gives(
            batch in proptest::collection::vec((any::<[u8; KEY_LEN]>(), 0usize..2400), 0..80),
        ) {
            let run = |backend| {
                let mut texts: Vec<_> = batch.iter().map(|&(_, len)| vec![0x5c; len]).collect();
                let mut jobs: Vec<_> =
                    batch.iter().zip(&mut texts).map(|(&(key, _), text)| Text { key, text }).collect();
                apply_with(backend, &mut jobs);
                drop(jobs);
                texts
            };
            prop_assert_eq!(run(Backend::detect()), run(Backend::Portable));
        }
    }
}
