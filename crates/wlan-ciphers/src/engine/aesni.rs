//! AES-NI and PCLMULQDQ: one frame per register, eight per group.
#![allow(unsafe_code)]

use core::arch::asm;
use core::arch::x86_64::*;
use core::ops::Range;

use super::Schedule;
use super::machine::{Addresses, AesRounds, MAX_LANES, Machine, RoundKeys};

/// A CPU with the instructions that [`AesNi::detect`] checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AesNi(());

super::entries!(
    AesNi, "aes,pclmulqdq,ssse3,sse4.1",
    ccm 8 or 1 by |m| m,
    gcm (pipeline of 4 rows or 4 with a key each, short frames 1 of 2 rows, 1 of 3 rows, 1 of 4 rows, 1 of 5 rows, 1 of 6 rows, 1 of 7 rows, 1 of 8 rows),
    lanes (2 by |m| m, 2 in 4) (4 by |m| m, 4 in 4) (8 by |m| m, 8 in 8)
);

impl AesNi {
    /// This CPU, if it has the instructions.
    pub(super) fn detect() -> Option<AesNi> {
        cpu_has!("aes", "pclmulqdq", "ssse3", "sse4.1").then_some(AesNi(()))
    }

    /// This CPU, without detection.
    ///
    /// # Safety
    /// The CPU must have the instructions that [`AesNi::detect`] checks.
    #[inline(always)]
    pub(super) unsafe fn known() -> AesNi {
        AesNi(())
    }
}

/// Shuffle indices: those from octet n on move octets n places to the front and zero the octets behind them.
const TO_FRONT: [u8; 32] = {
    let mut places = [0x80; 32];
    let mut i = 0;
    while i < 16 {
        places[i] = i as u8;
        i += 1;
    }
    places
};

/// Shuffle indices: those from octet n on move octets 16 - n places to the back and zero the octets before them.
const TO_BACK: [u8; 32] = {
    let mut places = [0x80; 32];
    let mut i = 0;
    while i < 16 {
        places[i + 16] = i as u8;
        i += 1;
    }
    places
};

/// The first `left` octets at `at`, 0 to 16, followed by zeros.
///
/// # Safety
/// The CPU is an [`AesNi`]. `left` octets are readable. If `left` is 1 to 15, so are the 16 octets that end with them.
#[inline(always)]
pub(super) unsafe fn load_edge(at: *const u8, left: usize) -> __m128i {
    // SAFETY: the caller promises the CPU and the octets. The slice of `TO_FRONT` has at least 16 octets.
    unsafe {
        match left {
            0 => _mm_setzero_si128(),
            16 => _mm_loadu_si128(at.cast()),
            _ => {
                let last = _mm_loadu_si128(at.add(left).sub(16).cast());
                let places = _mm_loadu_si128(TO_FRONT[16 - left..].as_ptr().cast());
                _mm_shuffle_epi8(last, places)
            }
        }
    }
}

/// Writes the first `left` octets of `block` and returns `block` with zeros after them.
///
/// # Safety
/// As for [`load_edge`], for writing.
#[inline(always)]
pub(super) unsafe fn store_edge(at: *mut u8, left: usize, block: __m128i) -> __m128i {
    // SAFETY: the caller promises the CPU and the octets. The slices of both tables have at least 16 octets.
    unsafe {
        match left {
            0 => _mm_setzero_si128(),
            16 => {
                _mm_storeu_si128(at.cast(), block);
                block
            }
            _ => {
                let last = at.add(left).sub(16);
                let places = _mm_loadu_si128(TO_BACK[left..].as_ptr().cast());
                let back = _mm_shuffle_epi8(block, places);
                // The octets before `at` are rewritten unchanged.
                let kept = _mm_loadu_si128(last.cast());
                _mm_storeu_si128(last.cast(), _mm_blendv_epi8(back, kept, places));
                let places = _mm_loadu_si128(TO_FRONT[16 - left..].as_ptr().cast());
                _mm_shuffle_epi8(back, places)
            }
        }
    }
}

impl Machine for AesNi {
    const LANES: usize = 1;
    const CHAINS: usize = 8;
    type Block = __m128i;
    type Square = [__m128i; 1];
    /// Low, middle and high products.
    type Products = [__m128i; 3];
    type Keys<const KEYS: usize, const SETS: usize> = RoundKeys<AesNi, KEYS, SETS>;

    #[inline(always)]
    fn zero(self) -> __m128i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm_setzero_si128() }
    }

    #[inline(always)]
    fn splat(self, block: &[u8; 16]) -> __m128i {
        // SAFETY: `self` proves the CPU's features. It reads the 16 octets of `block`.
        unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
    }

    #[inline(always)]
    fn square(self) -> [__m128i; 1] {
        [self.zero(); 1]
    }

    #[inline(always)]
    fn turn(self, square: [__m128i; 1]) -> [__m128i; 1] {
        square
    }

    #[inline(always)]
    fn xor(self, a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm_xor_si128(a, b) }
    }

    #[inline(always)]
    fn select(self, lanes: u8, yes: __m128i, no: __m128i) -> __m128i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm_blendv_epi8(no, yes, _mm_set1_epi8((lanes << 7).cast_signed())) }
    }

    #[inline(always)]
    fn counter(self, n: u16) -> __m128i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm_set_epi32(i32::from(n.swap_bytes()) << 16, 0, 0, 0) }
    }

    #[inline(always)]
    unsafe fn gather(self, at: &Addresses, offset: usize) -> __m128i {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are readable.
        unsafe { _mm_loadu_si128(at[0].add(offset).cast()) }
    }

    #[inline(always)]
    unsafe fn scatter(self, at: &Addresses, offset: usize, block: __m128i) {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are writable.
        unsafe { _mm_storeu_si128(at[0].add(offset).cast(), block) };
    }

    #[inline(always)]
    unsafe fn load(self, at: *const u8) -> __m128i {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are readable.
        unsafe { _mm_loadu_si128(at.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, at: *mut u8, blocks: __m128i) {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are writable.
        unsafe { _mm_storeu_si128(at.cast(), blocks) };
    }

    #[inline(always)]
    unsafe fn load_span(self, at: *const u8, span: Range<usize>) -> __m128i {
        // SAFETY: `self` proves the CPU's features. The caller promises the octets of the span and the 16 before them.
        unsafe { load_edge(at, span.len()) }
    }

    #[inline(always)]
    unsafe fn store_span(self, at: *mut u8, span: Range<usize>, blocks: __m128i) -> __m128i {
        // SAFETY: `self` proves the CPU's features. The caller promises the octets of the span and the 16 before them.
        unsafe { store_edge(at, span.len(), blocks) }
    }

    #[inline(always)]
    fn one_lane(self, _: usize, block: &[u8; 16]) -> __m128i {
        self.splat(block)
    }

    fn first_lanes(self, _: &[[u8; 16]; 2]) -> __m128i {
        unreachable!("there is one lane")
    }

    #[inline(always)]
    fn counters(self, n: u16) -> __m128i {
        self.counter(n)
    }

    #[inline(always)]
    fn add_lanes(self, blocks: __m128i) -> __m128i {
        blocks
    }

    #[inline(always)]
    fn powers(self, key: &Schedule, from: usize) -> __m128i {
        self.splat(&key.powers_from(from)[0])
    }

    #[inline(always)]
    fn lanes(self, block: __m128i) -> [[u8; 16]; MAX_LANES] {
        let mut lanes = [[0; 16]; MAX_LANES];
        // SAFETY: `self` proves the CPU's features. It writes the first of the eight lanes.
        unsafe { _mm_storeu_si128(lanes.as_mut_ptr().cast(), block) };
        lanes
    }

    #[inline(always)]
    fn pin(self, block: __m128i) -> __m128i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { pin(block) }
    }

    #[inline(always)]
    fn no_products(self) -> [__m128i; 3] {
        [self.zero(); 3]
    }

    #[inline(always)]
    fn ghash_order(self, block: __m128i) -> __m128i {
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let reversed = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            _mm_shuffle_epi8(block, reversed)
        }
    }

    #[inline(always)]
    fn multiply(self, [low, middle, high]: [__m128i; 3], x: __m128i, power: __m128i) -> [__m128i; 3] {
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let cross = _mm_xor_si128(
                _mm_clmulepi64_si128::<0x01>(x, power),
                _mm_clmulepi64_si128::<0x10>(x, power),
            );
            [
                _mm_xor_si128(low, _mm_clmulepi64_si128::<0x00>(x, power)),
                _mm_xor_si128(middle, cross),
                _mm_xor_si128(high, _mm_clmulepi64_si128::<0x11>(x, power)),
            ]
        }
    }

    #[inline(always)]
    fn reduce(self, [low, middle, high]: [__m128i; 3]) -> __m128i {
        // As in `polyval::reduce`, 64 bits at a time: x^127 + x^126 + x^121 is 0xc2 << 56 in the upper half.
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let poly = _mm_set1_epi64x(0xc2_u64.rotate_right(8).cast_signed());
            let low = _mm_xor_si128(low, _mm_bslli_si128::<8>(middle));
            let high = _mm_xor_si128(high, _mm_bsrli_si128::<8>(middle));
            let folded = _mm_xor_si128(
                _mm_shuffle_epi32::<0x4e>(low),
                _mm_clmulepi64_si128::<0x00>(low, poly),
            );
            _mm_xor_si128(
                _mm_xor_si128(high, _mm_shuffle_epi32::<0x4e>(folded)),
                _mm_clmulepi64_si128::<0x00>(folded, poly),
            )
        }
    }
}

impl AesRounds for AesNi {
    #[inline(always)]
    fn round(self, state: __m128i, key: __m128i) -> __m128i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm_aesenc_si128(state, key) }
    }

    #[inline(always)]
    fn last_round(self, state: __m128i, key: __m128i) -> __m128i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm_aesenclast_si128(state, key) }
    }

    #[inline(always)]
    fn halves(self, x: __m128i, power: __m128i, sums: __m128i, high: bool) -> [__m128i; 3] {
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let folded = self.add_halves(x);
            [
                _mm_clmulepi64_si128::<0x00>(x, power),
                if high {
                    _mm_clmulepi64_si128::<0x10>(folded, sums)
                } else {
                    _mm_clmulepi64_si128::<0x00>(folded, sums)
                },
                _mm_clmulepi64_si128::<0x11>(x, power),
            ]
        }
    }

    #[inline(always)]
    fn add_halves(self, x: __m128i) -> __m128i {
        // SAFETY: `self` proves the CPU's features.
        self.xor(x, unsafe { _mm_shuffle_epi32::<0x4e>(x) })
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn pin(mut block: __m128i) -> __m128i {
    // SAFETY: the asm block has no instruction.
    unsafe { asm!("/* {0} */", inout(xmm_reg) block, options(nomem, nostack, preserves_flags)) };
    block
}
