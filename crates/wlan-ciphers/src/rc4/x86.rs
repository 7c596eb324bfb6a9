//! Parallel RC4 streams, each with its own table, with AVX.
//!
//! A step of one stream is three dependent loads and two stores. With six streams, one of them is always ready. The
//! limit is then the two stores per octet: a Zen 4 core completes one store per cycle to its cache. Every access is one
//! octet wide, so a load can always be forwarded from the preceding store. A load across the octets of several streams
//! would wait until all of them had reached the cache.
//!
//! Each stream's keystream is collected in a vector register and never stored.
#![allow(unsafe_code)]

use core::arch::asm;
use core::arch::x86_64::*;

use super::{KEY_LEN, wipe};

/// Maximum number of parallel streams. With more streams, the indices spill to memory.
pub(super) const LANES: usize = 6;
/// Octets of keystream that a vector register holds.
const BLOCK: usize = 16;

/// Proof that the CPU has AVX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx(());

impl Avx {
    pub(super) fn detect() -> Option<Avx> {
        cpu_has!("avx").then_some(Avx(()))
    }

    /// Encrypts or decrypts every text in place under its key. The duration is that of the longest text.
    pub(super) fn apply<const N: usize>(self, keys: &[[u8; KEY_LEN]; N], texts: &mut [&mut [u8]; N]) {
        // SAFETY: `Avx` exists only if the CPU has AVX.
        unsafe { apply(keys, texts) }
    }
}

/// Unrolled because the position of an octet in a vector register must be a constant.
macro_rules! sixteen_times {
    ($step:ident) => {
        $step!(0);
        $step!(1);
        $step!(2);
        $step!(3);
        $step!(4);
        $step!(5);
        $step!(6);
        $step!(7);
        $step!(8);
        $step!(9);
        $step!(10);
        $step!(11);
        $step!(12);
        $step!(13);
        $step!(14);
        $step!(15);
    };
}

#[target_feature(enable = "avx")]
fn apply<const N: usize>(keys: &[[u8; KEY_LEN]; N], texts: &mut [&mut [u8]; N]) {
    let mut tables = [super::IDENTITY; N];
    schedule(&mut tables, keys);
    let longest = texts.iter().map(|text| text.len()).max().unwrap_or_default();
    let (mut i, mut j) = (0, [Index::new(0); N]);
    for start in (0..longest).step_by(BLOCK) {
        let mut keystream = [_mm_setzero_si128(); N];
        generate(&mut tables, &mut i, &mut j, &mut keystream);
        for (text, keystream) in texts.iter_mut().zip(keystream) {
            xor(text.get_mut(start..).unwrap_or_default(), keystream);
        }
    }
    wipe(tables.as_flattened_mut(), 0);
}

#[inline]
#[target_feature(enable = "avx")]
fn schedule<const N: usize>(tables: &mut [[u8; 256]; N], keys: &[[u8; KEY_LEN]; N]) {
    let mut j = [Index::new(0); N];
    for start in (0..256).step_by(KEY_LEN) {
        macro_rules! step {
            ($n:literal) => {
                let i = start + $n;
                for lane in 0..N {
                    let table = &mut tables[lane];
                    let x = table[i];
                    j[lane] = j[lane].add(Index::new(keys[lane][$n])).add(Index::new(x));
                    let y = table[j[lane].get()];
                    table[j[lane].get()] = x;
                    table[i] = y;
                }
            };
        }
        sixteen_times!(step);
    }
}

#[inline]
#[target_feature(enable = "avx")]
fn generate<const N: usize>(
    tables: &mut [[u8; 256]; N],
    i: &mut usize,
    j: &mut [Index; N],
    keystream: &mut [__m128i; N],
) {
    macro_rules! step {
        ($n:literal) => {
            *i = (*i + 1) % 256;
            for lane in 0..N {
                let table = &mut tables[lane];
                let x = Index::new(table[*i]);
                j[lane] = j[lane].add(x);
                let y = Index::new(table[j[lane].get()]);
                table[j[lane].get()] = x.octet();
                table[*i] = y.octet();
                let key = i32::from(table[y.add(x).get()]);
                keystream[lane] = _mm_insert_epi8::<$n>(keystream[lane], key);
            }
        };
    }
    sixteen_times!(step);
}

#[inline]
#[target_feature(enable = "avx")]
fn xor(text: &mut [u8], keystream: __m128i) {
    if let Some(block) = text.first_chunk_mut::<BLOCK>() {
        let at = block.as_mut_ptr().cast();
        // SAFETY: `at` is 16 octets long; no alignment is required.
        unsafe { _mm_storeu_si128(at, _mm_xor_si128(_mm_loadu_si128(at), keystream)) };
    } else {
        let mut octets = [0; BLOCK];
        // SAFETY: writes 16 octets, the size of the array; no alignment is required.
        unsafe { _mm_storeu_si128(octets.as_mut_ptr().cast(), keystream) };
        text.iter_mut()
            .zip(&octets)
            .for_each(|(octet, key)| *octet ^= key);
        wipe(&mut octets, 0);
    }
}

/// A table index, below 256.
#[derive(Clone, Copy)]
struct Index(usize);

impl Index {
    #[inline(always)]
    fn new(octet: u8) -> Index {
        Index(usize::from(octet))
    }

    /// The sum modulo 256. Adding octets keeps the upper bits of the register zero. The compiler does not know that and
    /// would clear them again.
    #[inline(always)]
    fn add(mut self, other: Index) -> Index {
        // SAFETY: changes only the lowest octet of `self.0`.
        unsafe {
            asm!("add {0:l}, {1:l}", inout(reg) self.0, in(reg) other.0, options(pure, nomem, nostack));
        }
        self
    }

    #[inline(always)]
    fn get(self) -> usize {
        // SAFETY: `new` makes indices below 256, and `add` keeps their upper bits zero.
        unsafe { core::hint::assert_unchecked(self.0 < 256) };
        self.0
    }

    #[inline(always)]
    fn octet(self) -> u8 {
        self.0.to_le_bytes()[0]
    }
}
