//! Michael over many MSDUs in parallel, with AVX-512 and with AVX2.
//!
//! Each lane is one MSDU. The kernel loads one vector of octets from every MSDU and transposes the vectors, so that
//! vector n holds word n of every MSDU. It then executes one step per vector. The closing octet is inserted at the end
//! of each MSDU. After an MSDU's last word, a mask preserves the state of its lane.
#![allow(unsafe_code)]

use super::{MIC_LEN, Message, PAD};
use crate::rc4::wipe;

/// Proof that the CPU has AVX-512 F and BW.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx512(());

impl Avx512 {
    pub(super) fn detect() -> Option<Avx512> {
        cpu_has!("avx512f", "avx512bw").then_some(Avx512(()))
    }

    pub(super) fn mics(self, lanes: &[&Message<'_>; avx512::LANES]) -> [[u8; MIC_LEN]; avx512::LANES] {
        // SAFETY: `Avx512` exists only if the CPU has these features.
        unsafe { mics_avx512(lanes) }
    }
}

/// Proof that the CPU has AVX2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Avx2> {
        cpu_has!("avx2").then_some(Avx2(()))
    }

    pub(super) fn mics(self, lanes: &[&Message<'_>; avx2::LANES]) -> [[u8; MIC_LEN]; avx2::LANES] {
        // SAFETY: `Avx2` exists only if the CPU has AVX2.
        unsafe { mics_avx2(lanes) }
    }
}

/// Number of words that Michael processes for an MSDU, including the words of the closing octet and the zeros.
fn words_of(msdu: &[u8]) -> u32 {
    u32::try_from(msdu.len() / 4 + 2).expect("an MSDU is far shorter than 4 GiB")
}

/// The kernel for both widths: `$v` is the module of the vector type.
///
/// It uses loops, not closures: a closure would have the kernel's target features and the standard function that calls
/// it would not, so neither could be inlined into the other.
macro_rules! kernel {
    ($name:ident, $v:ident, $features:literal) => {
        #[target_feature(enable = $features)]
        fn $name(lanes: &[&Message<'_>; $v::LANES]) -> [[u8; MIC_LEN]; $v::LANES] {
            const BLOCK: usize = 4 * $v::LANES;
            // The input before the MSDUs: the halves of the keys, then the header's words.
            let mut first = [[0; $v::LANES]; 6];
            let mut counts = [0; $v::LANES];
            let (mut most_words, mut whole_blocks) = (0, usize::MAX);
            for (n, lane) in lanes.iter().enumerate() {
                let header = lane.header.octets();
                let words = lane.key.0.as_chunks().0.iter().chain(header.as_chunks().0);
                for (row, &word) in first.iter_mut().zip(words) {
                    row[n] = u32::from_le_bytes(word);
                }
                counts[n] = words_of(lane.msdu);
                most_words = counts[n].max(most_words);
                whole_blocks = whole_blocks.min(lane.msdu.len() / BLOCK);
            }
            let (mut l, mut r) = ($v::from_words(&first[0]), $v::from_words(&first[1]));
            for row in &first[2..] {
                (l, r) = $v::step(l, r, $v::from_words(row));
            }
            wipe(&mut first, [0; $v::LANES]);

            let mut words = [$v::zero(); $v::LANES];
            for block in 0..whole_blocks {
                for (word, lane) in words.iter_mut().zip(lanes) {
                    *word = $v::load(&lane.msdu[BLOCK * block..][..BLOCK]);
                }
                $v::transpose(&mut words);
                for &word in &words {
                    (l, r) = $v::step(l, r, word);
                }
            }
            let counts = $v::from_words(&counts);
            let most_words = most_words as usize;
            for block in whole_blocks..most_words.div_ceil($v::LANES) {
                for (word, lane) in words.iter_mut().zip(lanes) {
                    *word = $v::load_end(lane.msdu, BLOCK * block);
                }
                $v::transpose(&mut words);
                for (n, word) in (block * $v::LANES..most_words).zip(&words) {
                    let (new_l, new_r) = $v::step(l, r, *word);
                    l = $v::where_below(n, counts, new_l, l);
                    r = $v::where_below(n, counts, new_r, r);
                }
            }
            let (l, r) = ($v::to_words(l), $v::to_words(r));
            let mut mics = [[0; MIC_LEN]; $v::LANES];
            for (mic, (l, r)) in mics.iter_mut().zip(l.into_iter().zip(r)) {
                mic[..4].copy_from_slice(&l.to_le_bytes());
                mic[4..].copy_from_slice(&r.to_le_bytes());
            }
            mics
        }
    };
}

kernel!(mics_avx512, avx512, "avx512f,avx512bw");
kernel!(mics_avx2, avx2, "avx2");

/// Vectors of sixteen words.
mod avx512 {
    use core::arch::x86_64::*;

    use super::PAD;

    pub(super) const LANES: usize = 16;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn zero() -> __m512i {
        _mm512_setzero_si512()
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn from_words(words: &[u32; LANES]) -> __m512i {
        // SAFETY: reads 64 octets, the size of the array; no alignment is required.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn to_words(vector: __m512i) -> [u32; LANES] {
        let mut words = [0; LANES];
        // SAFETY: writes 64 octets, the size of the array; no alignment is required.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
        words
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn load(octets: &[u8]) -> __m512i {
        assert_eq!(octets.len(), 4 * LANES);
        // SAFETY: reads 64 octets; the assertion above checked the length.
        unsafe { _mm512_loadu_si512(octets.as_ptr().cast()) }
    }

    /// One vector from `start` on: the octets up to the MSDU's end, the closing octet, and zeros.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn load_end(msdu: &[u8], start: usize) -> __m512i {
        let Some(rest) = msdu.get(start..) else {
            return zero();
        };
        if rest.len() >= 4 * LANES {
            return load(&rest[..4 * LANES]);
        }
        let end = 1u64 << rest.len();
        // SAFETY: reads only the first `rest.len()` octets, whose bits are set; masked octets are not accessed.
        let octets = unsafe { _mm512_maskz_loadu_epi8(end - 1, rest.as_ptr().cast()) };
        _mm512_mask_mov_epi8(octets, end, _mm512_set1_epi8(PAD.cast_signed()))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn where_below(n: usize, counts: __m512i, then: __m512i, otherwise: __m512i) -> __m512i {
        let n = i32::try_from(n).expect("counts fit 31 bits");
        _mm512_mask_mov_epi32(
            otherwise,
            _mm512_cmpgt_epi32_mask(counts, _mm512_set1_epi32(n)),
            then,
        )
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn step(mut l: __m512i, mut r: __m512i, word: __m512i) -> (__m512i, __m512i) {
        // Swap the octets within each 16-bit half.
        let swap = _mm512_broadcast_i32x4(_mm_setr_epi8(
            1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14,
        ));
        l = _mm512_xor_si512(l, word);
        r = _mm512_xor_si512(r, _mm512_rol_epi32::<17>(l));
        l = _mm512_add_epi32(l, r);
        r = _mm512_xor_si512(r, _mm512_shuffle_epi8(l, swap));
        l = _mm512_add_epi32(l, r);
        r = _mm512_xor_si512(r, _mm512_rol_epi32::<3>(l));
        l = _mm512_add_epi32(l, r);
        r = _mm512_xor_si512(r, _mm512_ror_epi32::<2>(l));
        l = _mm512_add_epi32(l, r);
        (l, r)
    }

    /// Turns one vector per MSDU into one vector per word.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn transpose(v: &mut [__m512i; LANES]) {
        // First words within groups of four, then groups within vectors. Each pass doubles the distance of the pairs.
        let mut t = *v;
        for n in (0..LANES).step_by(4) {
            let low = [
                _mm512_unpacklo_epi32(v[n], v[n + 1]),
                _mm512_unpacklo_epi32(v[n + 2], v[n + 3]),
            ];
            let high = [
                _mm512_unpackhi_epi32(v[n], v[n + 1]),
                _mm512_unpackhi_epi32(v[n + 2], v[n + 3]),
            ];
            t[n] = _mm512_unpacklo_epi64(low[0], low[1]);
            t[n + 1] = _mm512_unpackhi_epi64(low[0], low[1]);
            t[n + 2] = _mm512_unpacklo_epi64(high[0], high[1]);
            t[n + 3] = _mm512_unpackhi_epi64(high[0], high[1]);
        }
        // t[4 m + n] holds words n, n + 4, n + 8, n + 12 of MSDUs 4 m to 4 m + 3.
        for n in 0..4 {
            let even = [
                _mm512_shuffle_i32x4::<0x88>(t[n], t[n + 4]),
                _mm512_shuffle_i32x4::<0x88>(t[n + 8], t[n + 12]),
            ];
            let odd = [
                _mm512_shuffle_i32x4::<0xdd>(t[n], t[n + 4]),
                _mm512_shuffle_i32x4::<0xdd>(t[n + 8], t[n + 12]),
            ];
            v[n] = _mm512_shuffle_i32x4::<0x88>(even[0], even[1]);
            v[n + 4] = _mm512_shuffle_i32x4::<0x88>(odd[0], odd[1]);
            v[n + 8] = _mm512_shuffle_i32x4::<0xdd>(even[0], even[1]);
            v[n + 12] = _mm512_shuffle_i32x4::<0xdd>(odd[0], odd[1]);
        }
    }
}

/// Vectors of eight words.
mod avx2 {
    use core::arch::x86_64::*;

    use super::PAD;

    pub(super) const LANES: usize = 8;

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn zero() -> __m256i {
        _mm256_setzero_si256()
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn from_words(words: &[u32; LANES]) -> __m256i {
        // SAFETY: reads 32 octets, the size of the array; no alignment is required.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn to_words(vector: __m256i) -> [u32; LANES] {
        let mut words = [0; LANES];
        // SAFETY: writes 32 octets, the size of the array; no alignment is required.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) };
        words
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn load(octets: &[u8]) -> __m256i {
        assert_eq!(octets.len(), 4 * LANES);
        // SAFETY: reads 32 octets; the assertion above checked the length.
        unsafe { _mm256_loadu_si256(octets.as_ptr().cast()) }
    }

    /// One vector from `start` on: the octets up to the MSDU's end, the closing octet, and zeros.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn load_end(msdu: &[u8], start: usize) -> __m256i {
        let Some(rest) = msdu.get(start..) else {
            return zero();
        };
        if rest.len() >= 4 * LANES {
            return load(&rest[..4 * LANES]);
        }
        let mut octets = [0; 4 * LANES];
        octets[..rest.len()].copy_from_slice(rest);
        octets[rest.len()] = PAD;
        load(&octets)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn where_below(n: usize, counts: __m256i, then: __m256i, otherwise: __m256i) -> __m256i {
        let n = i32::try_from(n).expect("counts fit 31 bits");
        _mm256_blendv_epi8(otherwise, then, _mm256_cmpgt_epi32(counts, _mm256_set1_epi32(n)))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn rotate_left<const N: i32, const REST: i32>(v: __m256i) -> __m256i {
        const { assert!(N + REST == 32) };
        _mm256_or_si256(_mm256_slli_epi32::<N>(v), _mm256_srli_epi32::<REST>(v))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn step(mut l: __m256i, mut r: __m256i, word: __m256i) -> (__m256i, __m256i) {
        // Swap the octets within each 16-bit half.
        let swap = _mm256_broadcastsi128_si256(_mm_setr_epi8(
            1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14,
        ));
        l = _mm256_xor_si256(l, word);
        r = _mm256_xor_si256(r, rotate_left::<17, 15>(l));
        l = _mm256_add_epi32(l, r);
        r = _mm256_xor_si256(r, _mm256_shuffle_epi8(l, swap));
        l = _mm256_add_epi32(l, r);
        r = _mm256_xor_si256(r, rotate_left::<3, 29>(l));
        l = _mm256_add_epi32(l, r);
        r = _mm256_xor_si256(r, rotate_left::<30, 2>(l));
        l = _mm256_add_epi32(l, r);
        (l, r)
    }

    /// Turns one vector per MSDU into one vector per word.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn transpose(v: &mut [__m256i; LANES]) {
        let mut t = *v;
        for n in [0, 4] {
            let low = [
                _mm256_unpacklo_epi32(v[n], v[n + 1]),
                _mm256_unpacklo_epi32(v[n + 2], v[n + 3]),
            ];
            let high = [
                _mm256_unpackhi_epi32(v[n], v[n + 1]),
                _mm256_unpackhi_epi32(v[n + 2], v[n + 3]),
            ];
            t[n] = _mm256_unpacklo_epi64(low[0], low[1]);
            t[n + 1] = _mm256_unpackhi_epi64(low[0], low[1]);
            t[n + 2] = _mm256_unpacklo_epi64(high[0], high[1]);
            t[n + 3] = _mm256_unpackhi_epi64(high[0], high[1]);
        }
        // t[4 m + n] holds words n and n + 4 of MSDUs 4 m to 4 m + 3.
        for n in 0..4 {
            v[n] = _mm256_permute2x128_si256::<0x20>(t[n], t[n + 4]);
            v[n + 4] = _mm256_permute2x128_si256::<0x31>(t[n], t[n + 4]);
        }
    }
}
