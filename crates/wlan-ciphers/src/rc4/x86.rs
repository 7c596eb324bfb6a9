//! Eight RC4 streams side by side, with AVX.
//!
//! The tables lie interleaved: row i holds entry i of all eight streams. All streams are at the same i, so that
//! reading and writing entry i takes one access for eight streams; only the accesses at j and at the keystream index
//! are one by one. Both sums run on all streams at once, octet by octet.
//!
//! Row i + 1 is read before the entries at j are written, because a load over an octet that has just been stored must
//! wait for the store to reach the cache. The octets that those stores hit are put right afterwards, in the register.
#![allow(unsafe_code)]

use std::arch::asm;
use std::arch::x86_64::*;

use super::{KEY_LEN, wipe};

/// Streams side by side.
pub(super) const LANES: usize = 8;
/// Octets of keystream made at a time.
pub(super) const BLOCK: usize = 64;

/// Proof that the processor has AVX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx(());

impl Avx {
    pub(super) fn detect() -> Option<Avx> {
        is_x86_feature_detected!("avx").then_some(Avx(()))
    }
}

/// Eight streams, each with its own table.
#[repr(align(64))]
pub(super) struct Streams {
    rows: [[u8; LANES]; 256],
    /// Row `i + 1`, read ahead.
    next: u64,
    j: u64,
    i: u8,
    avx: Avx,
}

impl Drop for Streams {
    fn drop(&mut self) {
        wipe(&mut self.rows, [0; LANES]);
        wipe(std::slice::from_mut(&mut self.next), 0);
        wipe(std::slice::from_mut(&mut self.j), 0);
    }
}

impl Streams {
    /// Schedules eight keys; `keys[n]` holds octet n of each.
    pub(super) fn new(avx: Avx, keys: &[[u8; LANES]; KEY_LEN]) -> Streams {
        let mut streams = Streams {
            rows: std::array::from_fn(|i| [i.to_le_bytes()[0]; LANES]),
            next: 0,
            j: 0,
            i: 0,
            avx,
        };
        // SAFETY: `Avx` exists only where the processor has AVX.
        unsafe { streams.schedule(keys) };
        streams
    }

    /// The next octets of every stream.
    pub(super) fn next_block(&mut self, block: &mut [[u8; BLOCK]; LANES]) {
        let Avx(()) = self.avx;
        // SAFETY: `Avx` exists only where the processor has AVX.
        unsafe { self.generate(block) };
    }

    #[target_feature(enable = "avx")]
    fn schedule(&mut self, keys: &[[u8; LANES]; KEY_LEN]) {
        let mut j = _mm_setzero_si128();
        let mut next = vector(u64::from_le_bytes(self.rows[0]));
        for i in 0u8..=255 {
            let x = next;
            let key = vector(u64::from_le_bytes(keys[usize::from(i) % KEY_LEN]));
            j = _mm_add_epi8(_mm_add_epi8(j, x), key);
            next = self.ahead(i, j, x);
            self.swap(i, j, x);
        }
        // The streams begin with i = 0, j = 0; row 0 is what `ahead` read last, and row 1 is wanted.
        self.next = u64::from_le_bytes(self.rows[1]);
    }

    #[target_feature(enable = "avx")]
    fn generate(&mut self, block: &mut [[u8; BLOCK]; LANES]) {
        let (mut i, mut j, mut next) = (self.i, vector(self.j), vector(self.next));
        let mut rows = [[0; LANES]; BLOCK];
        for row in &mut rows {
            i = i.wrapping_add(1);
            let x = next;
            j = _mm_add_epi8(j, x);
            next = self.ahead(i, j, x);
            let y = self.swap(i, j, x);
            *row = self.look_up(_mm_add_epi8(x, y)).to_le_bytes();
        }
        (self.i, self.j, self.next) = (i, word(j), word(next));
        transpose(&rows, block);
        wipe(&mut rows, [0; LANES]);
    }

    /// Row `i + 1` as it will be when `x` has been written at `j`. Entry i, written as well, is not in it.
    #[inline]
    #[target_feature(enable = "avx")]
    fn ahead(&self, i: u8, j: __m128i, x: __m128i) -> __m128i {
        let i = i.wrapping_add(1);
        let row = vector(opaque(u64::from_le_bytes(self.rows[usize::from(i)])));
        let hit = _mm_cmpeq_epi8(j, _mm_set1_epi8(i.cast_signed()));
        _mm_blendv_epi8(row, x, hit)
    }

    /// Swaps the entries at i, which are `x`, with those at `j`, and returns the latter.
    #[inline]
    #[target_feature(enable = "avx")]
    fn swap(&mut self, i: u8, j: __m128i, x: __m128i) -> __m128i {
        let mut y = _mm_setzero_si128();
        let mut indices = opaque(word(j));
        macro_rules! lane {
            ($even:literal, $odd:literal) => {
                let entry = &mut self.rows[low(indices)][$even];
                y = _mm_insert_epi8::<$even>(y, i32::from(*entry));
                *entry = octet(_mm_extract_epi8::<$even>(x));
                let entry = &mut self.rows[high(indices)][$odd];
                y = _mm_insert_epi8::<$odd>(y, i32::from(*entry));
                *entry = octet(_mm_extract_epi8::<$odd>(x));
                indices = opaque(indices >> 16);
            };
        }
        lane!(0, 1);
        lane!(2, 3);
        lane!(4, 5);
        lane!(6, 7);
        let _ = indices;
        self.rows[usize::from(i)] = word(y).to_le_bytes();
        y
    }

    /// The entries at eight indices.
    #[inline]
    #[target_feature(enable = "avx")]
    fn look_up(&self, indices: __m128i) -> u64 {
        let mut entries = _mm_setzero_si128();
        let mut indices = opaque(word(indices));
        macro_rules! lane {
            ($even:literal, $odd:literal) => {
                entries = _mm_insert_epi8::<$even>(entries, i32::from(self.rows[low(indices)][$even]));
                entries = _mm_insert_epi8::<$odd>(entries, i32::from(self.rows[high(indices)][$odd]));
                indices = opaque(indices >> 16);
            };
        }
        lane!(0, 1);
        lane!(2, 3);
        lane!(4, 5);
        lane!(6, 7);
        let _ = indices;
        word(entries)
    }
}

/// Hides where a number comes from. The compiler would otherwise take every index out of the vector register by an
/// instruction of its own, which costs twice as much as shifting them out of a general one.
#[inline(always)]
fn opaque(mut value: u64) -> u64 {
    // SAFETY: no instruction at all.
    unsafe { asm!("/* {0} */", inout(reg) value, options(pure, nomem, nostack, preserves_flags)) };
    value
}

#[inline(always)]
fn low(indices: u64) -> usize {
    usize::from(indices.to_le_bytes()[0])
}

#[inline(always)]
fn high(indices: u64) -> usize {
    usize::from(indices.to_le_bytes()[1])
}

#[inline(always)]
fn octet(value: i32) -> u8 {
    value.to_le_bytes()[0]
}

#[inline]
#[target_feature(enable = "avx")]
fn vector(word: u64) -> __m128i {
    _mm_cvtsi64_si128(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx")]
fn word(vector: __m128i) -> u64 {
    _mm_cvtsi128_si64(vector).cast_unsigned()
}

/// From an octet of each stream a row to a row a stream. Written out without closures, which would not be inlined.
#[inline]
#[target_feature(enable = "avx")]
fn transpose(rows: &[[u8; LANES]; BLOCK], block: &mut [[u8; BLOCK]; LANES]) {
    for (n, eight) in rows.as_chunks::<8>().0.iter().enumerate() {
        let mut pairs = [_mm_setzero_si128(); 4];
        for (pair, rows) in pairs.iter_mut().zip(eight.as_chunks::<2>().0) {
            let [even, odd] = *rows;
            *pair = _mm_unpacklo_epi8(vector(u64::from_le_bytes(even)), vector(u64::from_le_bytes(odd)));
        }
        let low = [
            _mm_unpacklo_epi16(pairs[0], pairs[1]),
            _mm_unpacklo_epi16(pairs[2], pairs[3]),
        ];
        let high = [
            _mm_unpackhi_epi16(pairs[0], pairs[1]),
            _mm_unpackhi_epi16(pairs[2], pairs[3]),
        ];
        let lanes = [
            _mm_unpacklo_epi32(low[0], low[1]),
            _mm_unpackhi_epi32(low[0], low[1]),
            _mm_unpacklo_epi32(high[0], high[1]),
            _mm_unpackhi_epi32(high[0], high[1]),
        ];
        for (out, two) in block.as_chunks_mut::<2>().0.iter_mut().zip(lanes) {
            out[0].as_chunks_mut::<8>().0[n] = word(two).to_le_bytes();
            out[1].as_chunks_mut::<8>().0[n] = word(_mm_unpackhi_epi64(two, two)).to_le_bytes();
        }
    }
}
