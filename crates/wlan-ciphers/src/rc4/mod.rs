//! RC4 for WEP and TKIP: one short text per key.
//!
//! A single stream is limited by the latency of dependent table lookups. The frames of a batch have independent
//! streams, so six of them run in parallel if the CPU has AVX (`x86`).
//!
//! RC4's table lookups depend on secrets, so no implementation with a table runs in constant time.

#[cfg(target_arch = "x86_64")]
mod x86;

use zeroize::optimization_barrier;

#[cfg(target_arch = "x86_64")]
use crate::lanes::{ByLength, WINDOW};

/// Octets of a key. The 8-octet seed of WEP-40 is repeated, which gives the same schedule because the key is used
/// cyclically.
pub(crate) const KEY_LEN: usize = 16;

/// A text and the key of its stream. The text starts at the beginning of the stream.
pub(crate) struct Text<'a> {
    pub(crate) key: [u8; KEY_LEN],
    pub(crate) text: &'a mut [u8],
}

impl Drop for Text<'_> {
    fn drop(&mut self) {
        wipe(&mut self.key, 0);
    }
}

/// Zeroes secrets. Zeroing single octets, as `zeroize` does, would cost as much as the cipher.
pub(crate) fn wipe<T: Copy>(secret: &mut [T], zero: T) {
    secret.fill(zero);
    optimization_barrier(secret);
}

/// An implementation of RC4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    /// One stream at a time.
    Portable,
    /// Up to six streams in parallel.
    #[cfg(target_arch = "x86_64")]
    Avx(x86::Avx),
}

impl Backend {
    /// The fastest backend that this CPU supports.
    pub(crate) fn detect() -> Backend {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx) = x86::Avx::detect() {
            return Backend::Avx(avx);
        }
        Backend::Portable
    }
}

/// Encrypts or decrypts every text in place. Empty texts cost nothing.
pub(crate) fn apply(texts: &mut [Text<'_>]) {
    apply_with(Backend::detect(), texts);
}

fn apply_with(backend: Backend, texts: &mut [Text<'_>]) {
    match (backend, texts) {
        // A single text needs no sorting.
        (_, [text]) => apply_one(text),
        (Backend::Portable, texts) => texts.iter_mut().for_each(apply_one),
        #[cfg(target_arch = "x86_64")]
        (Backend::Avx(avx), texts) => {
            for window in texts.chunks_mut(WINDOW) {
                let order = ByLength::new(window.iter().map(|text| text.text.len()));
                for group in order.groups(x86::LANES) {
                    match *group {
                        [index] => apply_one(&mut window[usize::from(index)]),
                        [_, _] => apply_group::<2>(avx, window, group),
                        [_, _, _] | [_, _, _, _] => apply_group::<4>(avx, window, group),
                        _ => apply_group::<{ x86::LANES }>(avx, window, group),
                    }
                }
            }
        }
    }
}

/// Unused lanes have an empty text and a key of zeros.
#[cfg(target_arch = "x86_64")]
fn apply_group<const N: usize>(avx: x86::Avx, window: &mut [Text<'_>], group: &[u8]) {
    let mut keys = [[0; KEY_LEN]; N];
    let mut texts: [&mut [u8]; N] = core::array::from_fn(|_| Default::default());
    for (lane, &index) in group.iter().enumerate() {
        let text = &mut window[usize::from(index)];
        keys[lane] = text.key;
        texts[lane] = core::mem::take(&mut text.text);
    }
    avx.apply(&keys, &mut texts);
    for (text, &index) in texts.into_iter().zip(group) {
        window[usize::from(index)].text = text;
    }
    wipe(keys.as_flattened_mut(), 0);
}

fn apply_one(text: &mut Text<'_>) {
    if text.text.is_empty() {
        return;
    }
    let mut table = IDENTITY;
    let mut stream = Stream::new(&mut table, &text.key);
    let (words, rest) = text.text.as_chunks_mut();
    for word in words {
        let mut keystream = [0; 8];
        for octet in &mut keystream {
            *octet = stream.next_octet();
        }
        *word = (u64::from_ne_bytes(*word) ^ u64::from_ne_bytes(keystream)).to_ne_bytes();
    }
    for octet in rest {
        *octet ^= stream.next_octet();
    }
    wipe(&mut table, 0);
}

/// The initial table of key scheduling.
const IDENTITY: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0u8;
    loop {
        table[i as usize] = i;
        if i == 255 {
            break table;
        }
        i += 1;
    }
};

/// One RC4 stream.
///
/// The entry at i is read one step ahead, before the entry at j is written. The CPU therefore need not wait until it
/// knows whether the two entries are the same.
struct Stream<'t> {
    table: &'t mut [u8; 256],
    i: u8,
    j: u8,
    /// The entry at `i`.
    x: u8,
}

impl Stream<'_> {
    #[inline(always)]
    fn new<'t>(table: &'t mut [u8; 256], key: &[u8; KEY_LEN]) -> Stream<'t> {
        let mut stream = Stream {
            x: table[0],
            table,
            i: 0,
            j: 0,
        };
        for _ in 0..stream.table.len() / KEY_LEN {
            for octet in key {
                stream.j = stream.j.wrapping_add(*octet);
                stream.step();
            }
        }
        // The keystream begins at i = 1, with j = 0.
        (stream.i, stream.j, stream.x) = (1, 0, stream.table[1]);
        stream
    }

    #[inline(always)]
    fn next_octet(&mut self) -> u8 {
        let at = self.step();
        self.table[usize::from(at)]
    }

    /// Adds the entry at i to j, swaps the entries at i and j, advances i, and returns the sum of both entries.
    #[inline(always)]
    fn step(&mut self) -> u8 {
        let (i, x) = (self.i, self.x);
        let ahead = i.wrapping_add(1);
        self.j = self.j.wrapping_add(x);
        let next = self.table[usize::from(ahead)];
        let y = self.table[usize::from(self.j)];
        self.table[usize::from(self.j)] = x;
        self.table[usize::from(i)] = y;
        self.i = ahead;
        self.x = if self.j == ahead { x } else { next };
        x.wrapping_add(y)
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
    fn keystreams_agree_with_rfc_6229() {
        let vectors: Vec<Rfc6229> = load("wep/rfc6229.json");
        assert_eq!(vectors.len(), 4);
        for backend in backends() {
            let mut keystreams = vec![vec![0; 4112]; vectors.len()];
            let mut texts: Vec<_> = vectors
                .iter()
                .zip(&mut keystreams)
                .map(|(v, text)| Text {
                    key: core::array::from_fn(|n| v.key.0[n % v.key.0.len()]),
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

    /// RC4 as in textbooks.
    fn plain(key: &[u8], text: &mut [u8]) {
        let mut table: Vec<usize> = (0..256).collect();
        let mut j = 0;
        for i in 0..256 {
            j = (j + table[i] + usize::from(key[i % key.len()])) % 256;
            table.swap(i, j);
        }
        let (mut i, mut j) = (0, 0);
        for octet in text {
            i = (i + 1) % 256;
            j = (j + table[i]) % 256;
            table.swap(i, j);
            *octet ^= table[(table[i] + table[j]) % 256].to_le_bytes()[0];
        }
    }

    fn run(backend: Backend, batch: &[([u8; KEY_LEN], usize)]) -> Vec<Vec<u8>> {
        let mut texts: Vec<_> = batch.iter().map(|&(_, len)| vec![0x5c; len]).collect();
        let mut jobs: Vec<_> = batch
            .iter()
            .zip(&mut texts)
            .map(|(&(key, _), text)| Text { key, text })
            .collect();
        apply_with(backend, &mut jobs);
        // `apply_with` takes the texts out of the jobs and must put them back.
        assert!(
            jobs.iter()
                .zip(batch)
                .all(|(job, &(_, len))| job.text.len() == len)
        );
        drop(jobs);
        texts
    }

    proptest! {
        #[test]
        fn every_backend_agrees_with_rc4(
            batch in proptest::collection::vec((any::<[u8; KEY_LEN]>(), 0usize..2400), 0..=40),
        ) {
            let mut expected: Vec<_> = batch.iter().map(|&(_, len)| vec![0x5c; len]).collect();
            for ((key, _), text) in batch.iter().zip(&mut expected) {
                plain(key, text);
            }
            for backend in backends() {
                prop_assert_eq!(&run(backend, &batch), &expected, "{:?}", backend);
            }
        }

        #[test]
        fn batches_larger_than_the_window_are_correct(
            batch in proptest::collection::vec((any::<[u8; KEY_LEN]>(), 0usize..70), 90..200),
        ) {
            prop_assert_eq!(run(Backend::detect(), &batch), run(Backend::Portable, &batch));
        }
    }

    #[test]
    fn every_number_of_streams_and_every_length_is_correct() {
        let keys: [[u8; KEY_LEN]; 13] =
            core::array::from_fn(|n| core::array::from_fn(|m| (17 * n + m).to_le_bytes()[0]));
        for count in 1..=keys.len() {
            for len in 1..=34 {
                // Each text is one octet shorter than the previous one, so streams end in different places.
                let batch: Vec<_> = keys[..count]
                    .iter()
                    .enumerate()
                    .map(|(n, &key)| (key, len - n.min(len)))
                    .collect();
                let mut expected: Vec<_> = batch.iter().map(|&(_, len)| vec![0x5c; len]).collect();
                batch
                    .iter()
                    .zip(&mut expected)
                    .for_each(|((key, _), text)| plain(key, text));
                for backend in backends() {
                    assert_eq!(
                        run(backend, &batch),
                        expected,
                        "{count} streams, {len} octets, {backend:?}"
                    );
                }
            }
        }
    }
}
