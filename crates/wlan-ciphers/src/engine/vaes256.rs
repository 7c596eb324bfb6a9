//! AVX2 with VAES and VPCLMULQDQ: two frames per register, sixteen per group.
#![allow(unsafe_code)]

use core::arch::asm;
use core::arch::x86_64::*;
use core::ops::Range;

use super::Schedule;
use super::aesni::{AesNi, load_edge, store_edge};
use super::machine::{Addresses, AesRounds, MAX_LANES, Machine, RoundKeys};

/// A CPU with the instructions that [`Vaes256::detect`] checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Vaes256(());

super::entries!(
    Vaes256, "aes,pclmulqdq,avx2,vaes,vpclmulqdq",
    ccm 8 or 1 by Vaes256::aesni,
    gcm (pipeline of 4 rows or 4 with a key each, short frames 2 of 1 rows, 2 of 2 rows, 2 of 3 rows, 1 of 4 rows, 1 of 5 rows, 1 of 6 rows, 1 of 7 rows, 1 of 8 rows, 1 of 9 rows),
    lanes (2 by |m| m, 1 in 4) (4 by |m| m, 2 in 4) (8 by |m| m, 4 in 4)
);

impl Vaes256 {
    /// This CPU, if it has the instructions.
    pub(super) fn detect() -> Option<Vaes256> {
        (AesNi::detect().is_some() && cpu_has!("avx2", "vaes", "vpclmulqdq")).then_some(Vaes256(()))
    }

    /// This CPU, without detection.
    ///
    /// # Safety
    /// The CPU must have the instructions that [`Vaes256::detect`] checks.
    #[inline(always)]
    pub(super) unsafe fn known() -> Vaes256 {
        Vaes256(())
    }

    /// The machine with 128-bit registers on this CPU.
    #[inline(always)]
    pub(super) fn aesni(self) -> AesNi {
        // SAFETY: `Vaes256::detect` includes all checks of `AesNi::detect`.
        unsafe { AesNi::known() }
    }
}

impl Machine for Vaes256 {
    const LANES: usize = 2;
    const CHAINS: usize = 8;
    type Block = __m256i;
    type Square = [__m256i; 2];
    /// Low, middle and high products.
    type Products = [__m256i; 3];
    type Keys<const KEYS: usize, const SETS: usize> = RoundKeys<Vaes256, KEYS, SETS>;

    #[inline(always)]
    fn zero(self) -> __m256i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    fn splat(self, block: &[u8; 16]) -> __m256i {
        // SAFETY: `self` proves the CPU's features. It reads the 16 octets of `block`.
        unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(block.as_ptr().cast())) }
    }

    #[inline(always)]
    fn square(self) -> [__m256i; 2] {
        [self.zero(); 2]
    }

    #[inline(always)]
    fn turn(self, square: [__m256i; 2]) -> [__m256i; 2] {
        let [a, b] = square;
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            [
                _mm256_permute2x128_si256::<0x20>(a, b),
                _mm256_permute2x128_si256::<0x31>(a, b),
            ]
        }
    }

    #[inline(always)]
    fn xor(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm256_xor_si256(a, b) }
    }

    #[inline(always)]
    fn select(self, lanes: u8, yes: __m256i, no: __m256i) -> __m256i {
        let mask = |lane: u8| -i64::from(lanes >> lane & 1);
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let mask = _mm256_set_epi64x(mask(1), mask(1), mask(0), mask(0));
            _mm256_blendv_epi8(no, yes, mask)
        }
    }

    #[inline(always)]
    fn counter(self, n: u16) -> __m256i {
        let last = i32::from(n.swap_bytes()) << 16;
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm256_broadcastsi128_si256(_mm_set_epi32(last, 0, 0, 0)) }
    }

    #[inline(always)]
    unsafe fn gather(self, at: &Addresses, offset: usize) -> __m256i {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are readable.
        unsafe {
            join2(
                _mm_loadu_si128(at[0].add(offset).cast()),
                _mm_loadu_si128(at[1].add(offset).cast()),
            )
        }
    }

    #[inline(always)]
    unsafe fn scatter(self, at: &Addresses, offset: usize, block: __m256i) {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are writable.
        unsafe {
            _mm_storeu_si128(at[0].add(offset).cast(), _mm256_castsi256_si128(block));
            _mm_storeu_si128(at[1].add(offset).cast(), _mm256_extracti128_si256::<1>(block));
        }
    }

    #[inline(always)]
    unsafe fn load(self, at: *const u8) -> __m256i {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are readable.
        unsafe { _mm256_loadu_si256(at.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, at: *mut u8, blocks: __m256i) {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are writable.
        unsafe { _mm256_storeu_si256(at.cast(), blocks) };
    }

    #[inline(always)]
    unsafe fn load_span(self, at: *const u8, span: Range<usize>) -> __m256i {
        // With two lanes, every span starts at the first lane.
        let (first, second) = (span.end.min(16), span.end.saturating_sub(16));
        // SAFETY: `self` proves the CPU's features. The caller promises the octets of the span and the 16 before them.
        unsafe { join2(load_edge(at, first), load_edge(at.wrapping_add(16), second)) }
    }

    #[inline(always)]
    unsafe fn store_span(self, at: *mut u8, span: Range<usize>, blocks: __m256i) -> __m256i {
        let (first, second) = (span.end.min(16), span.end.saturating_sub(16));
        // SAFETY: `self` proves the CPU's features. The caller promises the octets of the span and the 16 before them.
        unsafe {
            let (a, b) = (
                _mm256_castsi256_si128(blocks),
                _mm256_extracti128_si256::<1>(blocks),
            );
            join2(
                store_edge(at, first, a),
                store_edge(at.wrapping_add(16), second, b),
            )
        }
    }

    #[inline(always)]
    fn one_lane(self, lane: usize, block: &[u8; 16]) -> __m256i {
        self.select(1 << lane, self.splat(block), self.zero())
    }

    #[inline(always)]
    fn first_lanes(self, blocks: &[[u8; 16]; 2]) -> __m256i {
        // SAFETY: `self` proves the CPU's features. It reads the 32 octets of `blocks`.
        unsafe { _mm256_loadu_si256(blocks.as_ptr().cast()) }
    }

    #[inline(always)]
    fn counters(self, n: u16) -> __m256i {
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let lanes = _mm256_set_epi64x(1, 0, 0, 0);
            let n = _mm256_add_epi16(_mm256_set1_epi16(n.cast_signed()), lanes);
            // Move the low 16 bits of the upper half of each lane, with their octets swapped, to the lane's end.
            let to_end = _mm_set_epi8(8, 9, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
            _mm256_shuffle_epi8(n, _mm256_broadcastsi128_si256(to_end))
        }
    }

    #[inline(always)]
    fn add_lanes(self, blocks: __m256i) -> __m256i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm256_xor_si256(blocks, _mm256_permute4x64_epi64::<0b01_00_11_10>(blocks)) }
    }

    #[inline(always)]
    fn powers(self, key: &Schedule, from: usize) -> __m256i {
        // SAFETY: `self` proves the CPU's features. It reads two of the eight powers.
        unsafe { _mm256_loadu_si256(key.powers_from(from).as_ptr().cast()) }
    }

    #[inline(always)]
    fn lanes(self, block: __m256i) -> [[u8; 16]; MAX_LANES] {
        let mut lanes = [[0; 16]; MAX_LANES];
        // SAFETY: `self` proves the CPU's features. It writes two of the eight lanes.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), block) };
        lanes
    }

    #[inline(always)]
    fn pin(self, block: __m256i) -> __m256i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { pin(block) }
    }

    #[inline(always)]
    fn no_products(self) -> [__m256i; 3] {
        [self.zero(); 3]
    }

    #[inline(always)]
    fn ghash_order(self, block: __m256i) -> __m256i {
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let reversed = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            _mm256_shuffle_epi8(block, _mm256_broadcastsi128_si256(reversed))
        }
    }

    #[inline(always)]
    fn multiply(self, [low, middle, high]: [__m256i; 3], x: __m256i, power: __m256i) -> [__m256i; 3] {
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let cross = _mm256_xor_si256(
                _mm256_clmulepi64_epi128::<0x01>(x, power),
                _mm256_clmulepi64_epi128::<0x10>(x, power),
            );
            [
                _mm256_xor_si256(low, _mm256_clmulepi64_epi128::<0x00>(x, power)),
                _mm256_xor_si256(middle, cross),
                _mm256_xor_si256(high, _mm256_clmulepi64_epi128::<0x11>(x, power)),
            ]
        }
    }

    #[inline(always)]
    fn reduce(self, [low, middle, high]: [__m256i; 3]) -> __m256i {
        // Same as for `AesNi`.
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let poly = _mm256_set1_epi64x(0xc2_u64.rotate_right(8).cast_signed());
            let low = _mm256_xor_si256(low, _mm256_bslli_epi128::<8>(middle));
            let high = _mm256_xor_si256(high, _mm256_bsrli_epi128::<8>(middle));
            let folded = _mm256_xor_si256(
                _mm256_shuffle_epi32::<0x4e>(low),
                _mm256_clmulepi64_epi128::<0x00>(low, poly),
            );
            _mm256_xor_si256(
                _mm256_xor_si256(high, _mm256_shuffle_epi32::<0x4e>(folded)),
                _mm256_clmulepi64_epi128::<0x00>(folded, poly),
            )
        }
    }
}

impl AesRounds for Vaes256 {
    #[inline(always)]
    fn round(self, state: __m256i, key: __m256i) -> __m256i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm256_aesenc_epi128(state, key) }
    }

    #[inline(always)]
    fn last_round(self, state: __m256i, key: __m256i) -> __m256i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm256_aesenclast_epi128(state, key) }
    }

    #[inline(always)]
    fn halves(self, x: __m256i, power: __m256i, sums: __m256i, high: bool) -> [__m256i; 3] {
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let folded = self.add_halves(x);
            [
                _mm256_clmulepi64_epi128::<0x00>(x, power),
                if high {
                    _mm256_clmulepi64_epi128::<0x10>(folded, sums)
                } else {
                    _mm256_clmulepi64_epi128::<0x00>(folded, sums)
                },
                _mm256_clmulepi64_epi128::<0x11>(x, power),
            ]
        }
    }

    #[inline(always)]
    fn add_halves(self, x: __m256i) -> __m256i {
        // SAFETY: `self` proves the CPU's features.
        self.xor(x, unsafe { _mm256_shuffle_epi32::<0x4e>(x) })
    }
}

/// # Safety
/// The CPU is a [`Vaes256`].
#[inline(always)]
unsafe fn join2(a: __m128i, b: __m128i) -> __m256i {
    // SAFETY: the caller promises the CPU.
    unsafe { _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b) }
}

#[inline]
#[target_feature(enable = "avx")]
fn pin(mut block: __m256i) -> __m256i {
    // SAFETY: the asm block has no instruction.
    unsafe { asm!("/* {0} */", inout(ymm_reg) block, options(nomem, nostack, preserves_flags)) };
    block
}
