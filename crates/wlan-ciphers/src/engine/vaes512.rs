//! AVX-512 with VAES and VPCLMULQDQ: four frames per register, sixteen per group.
#![allow(unsafe_code)]

use core::arch::asm;
use core::arch::x86_64::*;
use core::ops::Range;

use super::aesni::AesNi;
use super::machine::{Addresses, AesRounds, MAX_LANES, Machine, Numbers, Permutation, RoundKeys};
use super::vaes256::Vaes256;
use super::{BlocksInOrder, Schedule};

/// A CPU with the instructions that [`Vaes512::detect`] checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Vaes512(());

super::entries!(
    Vaes512, "aes,pclmulqdq,avx2,bmi2,vaes,vpclmulqdq,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi",
    ccm 4 or 1 by Vaes512::aesni,
    gcm (pipeline of 4 rows or 8 with a key each, short frames 4 of 1 rows, 2 of 2 rows, 2 of 3 rows, 1 of 4 rows, 1 of 5 rows, 1 of 6 rows, 1 of 7 rows, 1 of 8 rows),
    lanes (2 by Vaes512::vaes256, 1 in 4) (4 by |m| m, 1 in 4) (8 by |m| m, 2 in 4)
);

impl Vaes512 {
    /// This CPU, if it has the instructions.
    pub(super) fn detect() -> Option<Vaes512> {
        // All CPUs with VAES and AVX-512 have VBMI.
        let has_avx512 = cpu_has!(
            "bmi2",
            "avx512f",
            "avx512bw",
            "avx512dq",
            "avx512vl",
            "avx512vbmi"
        );
        (Vaes256::detect().is_some() && has_avx512).then_some(Vaes512(()))
    }

    /// The machine with 256-bit registers on this CPU.
    #[inline(always)]
    fn vaes256(self) -> Vaes256 {
        // SAFETY: `Vaes512::detect` includes all checks of `Vaes256::detect`.
        unsafe { Vaes256::known() }
    }

    /// The machine with 128-bit registers on this CPU.
    #[inline(always)]
    fn aesni(self) -> AesNi {
        self.vaes256().aesni()
    }
}

/// The octet mask of a span that ends at octet 64 or before.
///
/// # Safety
/// The CPU is a [`Vaes512`].
#[inline(always)]
unsafe fn octets_of(span: Range<usize>) -> u64 {
    // SAFETY: the caller promises the CPU.
    unsafe { _bzhi_u64(!0 << span.start, span.end as u32) }
}

impl Machine for Vaes512 {
    const LANES: usize = 4;
    const CHAINS: usize = 16;
    const PERMUTES: bool = true;
    type Block = __m512i;
    type Square = [__m512i; 4];
    /// Low, middle and high products.
    type Products = [__m512i; 3];
    type Keys<const KEYS: usize, const SETS: usize> = RoundKeys<Vaes512, KEYS, SETS>;

    #[inline(always)]
    fn zero(self) -> __m512i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    fn splat(self, block: &[u8; 16]) -> __m512i {
        // SAFETY: `self` proves the CPU's features. It reads the 16 octets of `block`.
        unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(block.as_ptr().cast())) }
    }

    #[inline(always)]
    fn permute(self, octets: &[u8; 32], numbers: Numbers, permutation: &Permutation) -> BlocksInOrder {
        // SAFETY: `self` proves the CPU's features. It reads arrays of 32, 16 and 64 octets. The blocks are 64 octets
        // of any value.
        unsafe {
            let source = _mm512_inserti64x2::<2>(
                _mm512_castsi256_si512(_mm256_loadu_si256(octets.as_ptr().cast())),
                _mm_loadu_si128(numbers.as_ptr().cast()),
            );
            let pick = _mm512_loadu_si512(permutation.pick.as_ptr().cast());
            let keep = _mm512_loadu_si512(permutation.keep.as_ptr().cast());
            let set = _mm512_loadu_si512(permutation.set.as_ptr().cast());
            // (picked and keep) or set
            let blocks = _mm512_ternarylogic_epi64::<0xea>(_mm512_permutexvar_epi8(pick, source), keep, set);
            core::mem::transmute::<__m512i, BlocksInOrder>(blocks)
        }
    }

    #[inline(always)]
    fn square(self) -> [__m512i; 4] {
        [self.zero(); 4]
    }

    #[inline(always)]
    fn turn(self, square: [__m512i; 4]) -> [__m512i; 4] {
        let [a, b, c, d] = square;
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            // Lanes 0 and 1 of two blocks; below, lanes 2 and 3.
            let front = (
                _mm512_shuffle_i32x4::<0b01_00_01_00>(a, b),
                _mm512_shuffle_i32x4::<0b01_00_01_00>(c, d),
            );
            let back = (
                _mm512_shuffle_i32x4::<0b11_10_11_10>(a, b),
                _mm512_shuffle_i32x4::<0b11_10_11_10>(c, d),
            );
            [
                _mm512_shuffle_i32x4::<0b10_00_10_00>(front.0, front.1),
                _mm512_shuffle_i32x4::<0b11_01_11_01>(front.0, front.1),
                _mm512_shuffle_i32x4::<0b10_00_10_00>(back.0, back.1),
                _mm512_shuffle_i32x4::<0b11_01_11_01>(back.0, back.1),
            ]
        }
    }

    #[inline(always)]
    fn xor(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm512_xor_si512(a, b) }
    }

    #[inline(always)]
    fn select(self, lanes: u8, yes: __m512i, no: __m512i) -> __m512i {
        // Two 64-bit elements per lane.
        // SAFETY: `self` proves the CPU's features.
        let mask = unsafe { _pdep_u32(u32::from(lanes), 0x55) as u8 } * 3;
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm512_mask_mov_epi64(no, mask, yes) }
    }

    #[inline(always)]
    fn counter(self, n: u16) -> __m512i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm512_maskz_set1_epi32(0x8888, i32::from(n.swap_bytes()) << 16) }
    }

    #[inline(always)]
    unsafe fn gather(self, at: &Addresses, offset: usize) -> __m512i {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are readable.
        unsafe {
            let a = _mm_loadu_si128(at[0].add(offset).cast());
            let b = _mm_loadu_si128(at[1].add(offset).cast());
            let c = _mm_loadu_si128(at[2].add(offset).cast());
            let d = _mm_loadu_si128(at[3].add(offset).cast());
            let low = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b);
            let high = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(c), d);
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }
    }

    #[inline(always)]
    unsafe fn scatter(self, at: &Addresses, offset: usize, block: __m512i) {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are writable.
        unsafe {
            _mm_storeu_si128(at[0].add(offset).cast(), _mm512_castsi512_si128(block));
            _mm_storeu_si128(at[1].add(offset).cast(), _mm512_extracti32x4_epi32::<1>(block));
            _mm_storeu_si128(at[2].add(offset).cast(), _mm512_extracti32x4_epi32::<2>(block));
            _mm_storeu_si128(at[3].add(offset).cast(), _mm512_extracti32x4_epi32::<3>(block));
        }
    }

    #[inline(always)]
    unsafe fn load(self, at: *const u8) -> __m512i {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are readable.
        unsafe { _mm512_loadu_si512(at.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, at: *mut u8, blocks: __m512i) {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are writable.
        unsafe { _mm512_storeu_si512(at.cast(), blocks) };
    }

    #[inline(always)]
    unsafe fn load_span(self, at: *const u8, span: Range<usize>) -> __m512i {
        // SAFETY: `self` proves the CPU's features. The mask leaves only the octets that the caller promises.
        unsafe { _mm512_maskz_loadu_epi8(octets_of(span), at.cast()) }
    }

    #[inline(always)]
    unsafe fn store_span(self, at: *mut u8, span: Range<usize>, blocks: __m512i) -> __m512i {
        // SAFETY: `self` proves the CPU's features. The mask leaves only the octets that the caller promises.
        unsafe {
            let mask = octets_of(span);
            _mm512_mask_storeu_epi8(at.cast(), mask, blocks);
            _mm512_maskz_mov_epi8(mask, blocks)
        }
    }

    #[inline(always)]
    fn one_lane(self, lane: usize, block: &[u8; 16]) -> __m512i {
        // SAFETY: `self` proves the CPU's features. It reads the 16 octets of `block`.
        unsafe { _mm512_maskz_broadcast_i32x4(0xf << (4 * lane), _mm_loadu_si128(block.as_ptr().cast())) }
    }

    #[inline(always)]
    fn first_lanes(self, blocks: &[[u8; 16]; 2]) -> __m512i {
        // SAFETY: `self` proves the CPU's features. It reads the 32 octets of `blocks`.
        unsafe { _mm512_zextsi256_si512(_mm256_loadu_si256(blocks.as_ptr().cast())) }
    }

    #[inline(always)]
    fn counters(self, n: u16) -> __m512i {
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let lanes = _mm512_set_epi64(3, 0, 2, 0, 1, 0, 0, 0);
            let n = _mm512_add_epi16(_mm512_set1_epi16(n.cast_signed()), lanes);
            // Move the low 16 bits of the upper half of each lane, with their octets swapped, to the lane's end.
            let to_end = _mm_set_epi8(8, 9, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
            _mm512_shuffle_epi8(n, _mm512_broadcast_i32x4(to_end))
        }
    }

    #[inline(always)]
    fn add_lanes(self, blocks: __m512i) -> __m512i {
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let pairs = _mm512_xor_si512(blocks, _mm512_shuffle_i64x2::<0b01_00_11_10>(blocks, blocks));
            _mm512_xor_si512(pairs, _mm512_shuffle_i64x2::<0b10_11_00_01>(pairs, pairs))
        }
    }

    #[inline(always)]
    fn powers(self, key: &Schedule, from: usize) -> __m512i {
        // SAFETY: `self` proves the CPU's features. It reads four of the eight powers.
        unsafe { _mm512_loadu_si512(key.powers_from(from).as_ptr().cast()) }
    }

    #[inline(always)]
    fn lanes(self, block: __m512i) -> [[u8; 16]; MAX_LANES] {
        let mut lanes = [[0; 16]; MAX_LANES];
        // SAFETY: `self` proves the CPU's features. It writes four of the eight lanes.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), block) };
        lanes
    }

    #[inline(always)]
    fn pin(self, block: __m512i) -> __m512i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { pin(block) }
    }

    #[inline(always)]
    fn no_products(self) -> [__m512i; 3] {
        [self.zero(); 3]
    }

    #[inline(always)]
    fn ghash_order(self, block: __m512i) -> __m512i {
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let reversed = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            _mm512_shuffle_epi8(block, _mm512_broadcast_i32x4(reversed))
        }
    }

    #[inline(always)]
    fn multiply(self, [low, middle, high]: [__m512i; 3], x: __m512i, power: __m512i) -> [__m512i; 3] {
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let cross = (
                _mm512_clmulepi64_epi128::<0x01>(x, power),
                _mm512_clmulepi64_epi128::<0x10>(x, power),
            );
            [
                _mm512_xor_si512(low, _mm512_clmulepi64_epi128::<0x00>(x, power)),
                _mm512_ternarylogic_epi64::<0x96>(middle, cross.0, cross.1),
                _mm512_xor_si512(high, _mm512_clmulepi64_epi128::<0x11>(x, power)),
            ]
        }
    }

    #[inline(always)]
    fn reduce(self, [low, middle, high]: [__m512i; 3]) -> __m512i {
        // As in `polyval::reduce`, 64 bits at a time: x^127 + x^126 + x^121 is 0xc2 << 56 in the upper half.
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let poly = _mm512_set1_epi64(0xc2_u64.rotate_right(8).cast_signed());
            let low = _mm512_xor_si512(low, _mm512_bslli_epi128::<8>(middle));
            let high = _mm512_xor_si512(high, _mm512_bsrli_epi128::<8>(middle));
            let folded = _mm512_xor_si512(
                _mm512_shuffle_epi32::<0x4e>(low),
                _mm512_clmulepi64_epi128::<0x00>(low, poly),
            );
            _mm512_ternarylogic_epi64::<0x96>(
                high,
                _mm512_shuffle_epi32::<0x4e>(folded),
                _mm512_clmulepi64_epi128::<0x00>(folded, poly),
            )
        }
    }
}

impl AesRounds for Vaes512 {
    #[inline(always)]
    fn round(self, state: __m512i, key: __m512i) -> __m512i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm512_aesenc_epi128(state, key) }
    }

    #[inline(always)]
    fn last_round(self, state: __m512i, key: __m512i) -> __m512i {
        // SAFETY: `self` proves the CPU's features.
        unsafe { _mm512_aesenclast_epi128(state, key) }
    }

    #[inline(always)]
    fn halves(self, x: __m512i, power: __m512i, sums: __m512i, high: bool) -> [__m512i; 3] {
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let folded = self.add_halves(x);
            [
                _mm512_clmulepi64_epi128::<0x00>(x, power),
                if high {
                    _mm512_clmulepi64_epi128::<0x10>(folded, sums)
                } else {
                    _mm512_clmulepi64_epi128::<0x00>(folded, sums)
                },
                _mm512_clmulepi64_epi128::<0x11>(x, power),
            ]
        }
    }

    #[inline(always)]
    fn add_halves(self, x: __m512i) -> __m512i {
        // SAFETY: `self` proves the CPU's features.
        self.xor(x, unsafe { _mm512_shuffle_epi32::<0x4e>(x) })
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn pin(mut block: __m512i) -> __m512i {
    // SAFETY: the asm block has no instruction.
    unsafe { asm!("/* {0} */", inout(zmm_reg) block, options(nomem, nostack, preserves_flags)) };
    block
}
