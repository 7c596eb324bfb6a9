//! The Cryptographic Extension of Armv8-A (FEAT_AES, FEAT_PMULL): one frame per register, eight per group.
//!
//! AESE adds the round key before SubBytes and ShiftRows; AESMC performs MixColumns. Round keys are therefore used one
//! step earlier than on x86: whitening is part of the first round, and the last key is only added.
#![allow(unsafe_code)]

use core::arch::aarch64::*;
use core::arch::asm;
use core::mem::MaybeUninit;
use core::ops::Range;

use super::Schedule;
use super::machine::{Addresses, Keys, MAX_LANES, Machine};

/// A CPU with the instructions that [`Armv8::detect`] checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Armv8(());

super::entries!(
    Armv8, "neon,aes",
    ccm 8 or 1 by |m| m,
    gcm (groups of 4 or 1 x 8),
    lanes (2 by |m| m, 2 in 4) (4 by |m| m, 4 in 4) (8 by |m| m, 8 in 8)
);

impl Armv8 {
    /// This CPU, if it has the instructions. Big-endian CPUs are excluded because they swap the halves of a register.
    pub(super) fn detect() -> Option<Armv8> {
        (cfg!(target_endian = "little") && crate::cpu::has_aes_and_pmull()).then_some(Armv8(()))
    }
}

/// Table indices 0 to 15: the identity permutation.
const PLACES: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The first `left` octets at `at`, 0 to 16, followed by zeros.
///
/// # Safety
/// `left` octets are readable. If `left` is 1 to 15, so are the 16 octets that end with them.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // at most 16
unsafe fn load_edge(at: *const u8, left: usize) -> uint8x16_t {
    // SAFETY: the caller promises the octets. Every CPU of this architecture has NEON.
    unsafe {
        match left {
            0 => vdupq_n_u8(0),
            16 => vld1q_u8(at),
            _ => to_front(vld1q_u8(at.add(left).sub(16)), left),
        }
    }
}

/// Writes the first `left` octets of `block` and returns `block` with zeros after them.
///
/// # Safety
/// As for [`load_edge`], for writing.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // at most 16
unsafe fn store_edge(at: *mut u8, left: usize, block: uint8x16_t) -> uint8x16_t {
    // SAFETY: the caller promises the octets. Every CPU of this architecture has NEON. `PLACES` has 16 octets.
    unsafe {
        match left {
            0 => vdupq_n_u8(0),
            16 => {
                vst1q_u8(at, block);
                block
            }
            _ => {
                let last = at.add(left).sub(16);
                // Indices of the octets in front wrap to out-of-range values, which give zeros.
                let places = vsubq_u8(vld1q_u8(PLACES.as_ptr()), vdupq_n_u8((16 - left) as u8));
                let back = vqtbl1q_u8(block, places);
                // The octets before `at` are rewritten unchanged.
                let before = vcgeq_u8(places, vdupq_n_u8(16));
                vst1q_u8(last, vbslq_u8(before, vld1q_u8(last), back));
                to_front(back, left)
            }
        }
    }
}

/// Moves the last `left` octets to the front, followed by zeros.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // at most 16
fn to_front(block: uint8x16_t, left: usize) -> uint8x16_t {
    // SAFETY: every CPU of this architecture has NEON. `PLACES` has 16 octets.
    unsafe {
        // Indices from 16 on give zeros.
        let places = vaddq_u8(vld1q_u8(PLACES.as_ptr()), vdupq_n_u8((16 - left) as u8));
        vqtbl1q_u8(block, places)
    }
}

/// Swaps the halves of a block.
#[inline(always)]
fn swap(block: uint8x16_t) -> uint8x16_t {
    // SAFETY: every CPU of this architecture has NEON.
    unsafe { vextq_u8::<8>(block, block) }
}

/// The carry-less product of the low halves.
#[inline]
#[target_feature(enable = "aes")]
fn multiply_low(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
    vreinterpretq_u8_p128(vmull_p64(
        vgetq_lane_p64::<0>(vreinterpretq_p64_u8(a)),
        vgetq_lane_p64::<0>(vreinterpretq_p64_u8(b)),
    ))
}

/// The carry-less product of the high halves.
#[inline]
#[target_feature(enable = "aes")]
fn multiply_high(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
    vreinterpretq_u8_p128(vmull_high_p64(vreinterpretq_p64_u8(a), vreinterpretq_p64_u8(b)))
}

impl Machine for Armv8 {
    const LANES: usize = 1;
    const CHAINS: usize = 16;
    type Block = uint8x16_t;
    type Square = [uint8x16_t; 1];
    /// Low, middle and high products.
    type Products = [uint8x16_t; 3];
    type Keys<const KEYS: usize, const SETS: usize> = StepKeys<KEYS, SETS>;

    #[inline(always)]
    fn zero(self) -> uint8x16_t {
        // SAFETY: `self` proves the CPU's features.
        unsafe { vdupq_n_u8(0) }
    }

    #[inline(always)]
    fn splat(self, block: &[u8; 16]) -> uint8x16_t {
        // SAFETY: `self` proves the CPU's features. It reads the 16 octets of `block`.
        unsafe { vld1q_u8(block.as_ptr()) }
    }

    #[inline(always)]
    fn square(self) -> [uint8x16_t; 1] {
        [self.zero()]
    }

    #[inline(always)]
    fn turn(self, square: [uint8x16_t; 1]) -> [uint8x16_t; 1] {
        square
    }

    #[inline(always)]
    fn xor(self, a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
        // SAFETY: `self` proves the CPU's features.
        unsafe { veorq_u8(a, b) }
    }

    #[inline(always)]
    fn select(self, lanes: u8, yes: uint8x16_t, no: uint8x16_t) -> uint8x16_t {
        // SAFETY: `self` proves the CPU's features.
        unsafe { vbslq_u8(vdupq_n_u8((lanes & 1).wrapping_neg()), yes, no) }
    }

    #[inline(always)]
    fn counter(self, n: u16) -> uint8x16_t {
        // SAFETY: `self` proves the CPU's features.
        unsafe { vreinterpretq_u8_u16(vsetq_lane_u16::<7>(n.swap_bytes(), vdupq_n_u16(0))) }
    }

    #[inline(always)]
    unsafe fn gather(self, at: &Addresses, offset: usize) -> uint8x16_t {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are readable.
        unsafe { vld1q_u8(at[0].add(offset)) }
    }

    #[inline(always)]
    unsafe fn scatter(self, at: &Addresses, offset: usize, block: uint8x16_t) {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are writable.
        unsafe { vst1q_u8(at[0].add(offset), block) };
    }

    #[inline(always)]
    unsafe fn load(self, at: *const u8) -> uint8x16_t {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are readable.
        unsafe { vld1q_u8(at) }
    }

    #[inline(always)]
    unsafe fn store(self, at: *mut u8, blocks: uint8x16_t) {
        // SAFETY: `self` proves the CPU's features. The caller promises that the octets are writable.
        unsafe { vst1q_u8(at, blocks) };
    }

    #[inline(always)]
    unsafe fn load_span(self, at: *const u8, span: Range<usize>) -> uint8x16_t {
        // SAFETY: `self` proves the CPU's features. The caller promises the octets of the span and the 16 before them.
        unsafe { load_edge(at, span.len()) }
    }

    #[inline(always)]
    unsafe fn store_span(self, at: *mut u8, span: Range<usize>, blocks: uint8x16_t) -> uint8x16_t {
        // SAFETY: `self` proves the CPU's features. The caller promises the octets of the span and the 16 before them.
        unsafe { store_edge(at, span.len(), blocks) }
    }

    #[inline(always)]
    fn one_lane(self, _: usize, block: &[u8; 16]) -> uint8x16_t {
        self.splat(block)
    }

    fn first_lanes(self, _: &[[u8; 16]; 2]) -> uint8x16_t {
        unreachable!("there is one lane")
    }

    #[inline(always)]
    fn counters(self, n: u16) -> uint8x16_t {
        self.counter(n)
    }

    #[inline(always)]
    fn add_lanes(self, blocks: uint8x16_t) -> uint8x16_t {
        blocks
    }

    #[inline(always)]
    fn powers(self, key: &Schedule, from: usize) -> uint8x16_t {
        self.splat(&key.powers_from(from)[0])
    }

    #[inline(always)]
    fn lanes(self, block: uint8x16_t) -> [[u8; 16]; MAX_LANES] {
        let mut lanes = [[0; 16]; MAX_LANES];
        // SAFETY: `self` proves the CPU's features. It writes the first of the eight lanes.
        unsafe { vst1q_u8(lanes[0].as_mut_ptr(), block) };
        lanes
    }

    #[inline(always)]
    fn pin(self, mut block: uint8x16_t) -> uint8x16_t {
        // No instruction. This also keeps AESE and AESMC adjacent, so that CPUs can fuse them.
        // SAFETY: `self` proves the CPU's features.
        unsafe { asm!("/* {0:v} */", inout(vreg) block, options(nomem, nostack, preserves_flags)) };
        block
    }

    #[inline(always)]
    fn no_products(self) -> [uint8x16_t; 3] {
        [self.zero(); 3]
    }

    #[inline(always)]
    fn ghash_order(self, block: uint8x16_t) -> uint8x16_t {
        // SAFETY: `self` proves the CPU's features.
        unsafe { swap(vrev64q_u8(block)) }
    }

    #[inline(always)]
    fn multiply(
        self,
        [low, middle, high]: [uint8x16_t; 3],
        x: uint8x16_t,
        power: uint8x16_t,
    ) -> [uint8x16_t; 3] {
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let crossed = swap(power);
            let cross = veorq_u8(multiply_low(x, crossed), multiply_high(x, crossed));
            [
                veorq_u8(low, multiply_low(x, power)),
                veorq_u8(middle, cross),
                veorq_u8(high, multiply_high(x, power)),
            ]
        }
    }

    #[inline(always)]
    fn reduce(self, [low, middle, high]: [uint8x16_t; 3]) -> uint8x16_t {
        // As in `polyval::reduce`, 64 bits at a time: x^127 + x^126 + x^121 is 0xc2 << 56 in the upper half.
        // SAFETY: `self` proves the CPU's features.
        unsafe {
            let zero = vdupq_n_u8(0);
            let poly = vreinterpretq_u8_u64(vdupq_n_u64(0xc2 << 56));
            let low = veorq_u8(low, vextq_u8::<8>(zero, middle));
            let high = veorq_u8(high, vextq_u8::<8>(middle, zero));
            let folded = veorq_u8(swap(low), multiply_low(low, poly));
            veorq_u8(veorq_u8(high, swap(folded)), multiply_low(folded, poly))
        }
    }
}

/// Round keys. `SETS` is 1 for a shared key, else the number of registers. `KEYS` is 11 or 15.
pub(super) struct StepKeys<const KEYS: usize, const SETS: usize> {
    sets: [[uint8x16_t; KEYS]; SETS],
}

impl<const KEYS: usize, const SETS: usize> StepKeys<KEYS, SETS> {
    #[inline(always)]
    fn key(&self, register: usize, round: usize) -> uint8x16_t {
        self.sets[if SETS == 1 { 0 } else { register }][round]
    }

    /// A step of AES: AddRoundKey with key `round`, SubBytes, ShiftRows and, except in the last step, MixColumns.
    #[inline]
    #[target_feature(enable = "aes")]
    fn step(&self, m: Armv8, register: usize, round: usize, state: uint8x16_t) -> uint8x16_t {
        let state = vaeseq_u8(state, self.key(register, round));
        m.pin(if round < KEYS - 2 {
            vaesmcq_u8(state)
        } else {
            state
        })
    }
}

impl<const KEYS: usize, const SETS: usize> Keys<Armv8> for StepKeys<KEYS, SETS> {
    #[inline(always)]
    fn one(m: Armv8, key: &Schedule) -> Self {
        Self::of(m, |_| key)
    }

    #[inline(always)]
    fn set_each<'s, 'k>(
        place: &'s mut MaybeUninit<Self>,
        m: Armv8,
        registers: usize,
        key: impl Fn(usize, usize) -> &'k Schedule,
    ) -> &'s Self {
        place.write(Self::of(m, |register| key(register.min(registers - 1), 0)))
    }

    #[inline(always)]
    fn of<'k>(m: Armv8, key: impl Fn(usize) -> &'k Schedule) -> Self {
        let mut sets = [[m.zero(); KEYS]; SETS];
        for (register, set) in sets.iter_mut().enumerate() {
            for (round, block) in set.iter_mut().enumerate() {
                *block = m.splat(&key(register).rounds[round]);
            }
        }
        StepKeys { sets }
    }

    #[inline(always)]
    fn whiten(&self, _: Armv8, _: usize, block: uint8x16_t) -> uint8x16_t {
        block
    }

    #[inline(always)]
    fn fold(&self, m: Armv8, register: usize, block: uint8x16_t) -> uint8x16_t {
        m.xor(block, self.last(register))
    }

    #[inline(always)]
    fn last(&self, register: usize) -> uint8x16_t {
        self.key(register, KEYS - 1)
    }

    #[inline(always)]
    fn join(&self, m: Armv8, state: uint8x16_t, folded: uint8x16_t) -> uint8x16_t {
        m.xor(state, folded)
    }

    #[inline(always)]
    fn rounds<const N: usize>(
        &self,
        m: Armv8,
        first: usize,
        mac: &mut [uint8x16_t; N],
        counters: &mut [uint8x16_t; N],
        ahead: usize,
    ) {
        for round in 0..KEYS - 1 {
            for i in 0..N {
                // SAFETY: `m` proves the CPU's features.
                mac[i] = unsafe { self.step(m, first + i, round, mac[i]) };
                if round >= ahead {
                    // SAFETY: `m` proves the CPU's features.
                    counters[i] = unsafe { self.step(m, first + i, round, counters[i]) };
                }
            }
        }
    }

    const AHEAD: usize = 1;

    #[inline(always)]
    fn counts_ahead(&self, m: Armv8, counts: uint8x16_t) -> uint8x16_t {
        // SAFETY: `m` proves the CPU's features.
        unsafe { m.xor(self.step(m, 0, 0, counts), self.step(m, 0, 0, m.zero())) }
    }

    const ROUNDS: usize = KEYS - 1;

    #[inline(always)]
    fn round_of<const N: usize>(&self, m: Armv8, first: usize, round: usize, blocks: &mut [uint8x16_t; N]) {
        for i in 0..N {
            // SAFETY: `m` proves the CPU's features.
            blocks[i] = unsafe { self.step(m, first + i, round, blocks[i]) };
        }
    }
}
