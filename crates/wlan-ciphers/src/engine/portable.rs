//! Any CPU: bit-sliced AES, eight frames per group.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;
use core::ops::Range;

use super::bitslice::{self, BLOCKS, Planes};
use super::machine::{Addresses, Keys, MAX_LANES, Machine};
use super::polyval::{self, Product};
use super::schedule::MAX_KEYS;
use super::{Frame, Kernel, Schedule, array};

/// Every CPU supports this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Portable;

type Lanes = [[u8; 16]; MAX_LANES];

/// The MAC blocks and counter blocks of all lanes fill one call of the bit-sliced cipher.
const _: () = assert!(BLOCKS == 2 * MAX_LANES);

/// Runs a kernel.
///
/// # Safety
/// As for [`Kernel::run`].
#[inline(never)]
pub(super) unsafe fn run<K: Kernel<Portable>>(frames: &mut [Frame<'_, '_>], order: &[u8]) {
    // SAFETY: the caller promises what the kernel requires.
    unsafe { K::run(Portable, frames, order) };
}

// A kernel calls the long operations at many places, so they are not inlined.
impl Machine for Portable {
    const LANES: usize = MAX_LANES;
    const CHAINS: usize = 16;
    type Block = Lanes;
    type Square = [Lanes; MAX_LANES];
    type Products = [Product; MAX_LANES];
    type Keys<const KEYS: usize, const SETS: usize> = SlicedKeys;

    fn zero(self) -> Lanes {
        [[0; 16]; MAX_LANES]
    }

    fn splat(self, block: &[u8; 16]) -> Lanes {
        [*block; MAX_LANES]
    }

    fn square(self) -> [Lanes; MAX_LANES] {
        [self.zero(); MAX_LANES]
    }

    #[inline(never)]
    fn turn(self, square: [Lanes; MAX_LANES]) -> [Lanes; MAX_LANES] {
        array(|a| array(|b| square[b][a]))
    }

    fn xor(self, a: Lanes, b: Lanes) -> Lanes {
        array(|lane| (u128::from_ne_bytes(a[lane]) ^ u128::from_ne_bytes(b[lane])).to_ne_bytes())
    }

    fn select(self, lanes: u8, yes: Lanes, no: Lanes) -> Lanes {
        array(|lane| {
            if lanes >> lane & 1 == 1 {
                yes[lane]
            } else {
                no[lane]
            }
        })
    }

    fn counter(self, n: u16) -> Lanes {
        [u128::from(n).to_be_bytes(); MAX_LANES]
    }

    #[inline(never)]
    unsafe fn gather(self, at: &Addresses, offset: usize) -> Lanes {
        // SAFETY: the caller promises that these octets are readable.
        array(|lane| unsafe { at[lane].add(offset).cast::<[u8; 16]>().read() })
    }

    #[inline(never)]
    unsafe fn scatter(self, at: &Addresses, offset: usize, block: Lanes) {
        for (at, octets) in at.iter().zip(block) {
            // SAFETY: the caller promises that these octets are writable.
            unsafe { at.add(offset).cast::<[u8; 16]>().write(octets) };
        }
    }

    unsafe fn load(self, at: *const u8) -> Lanes {
        // SAFETY: the caller promises that these octets are readable.
        unsafe { at.cast::<Lanes>().read() }
    }

    unsafe fn store(self, at: *mut u8, blocks: Lanes) {
        // SAFETY: the caller promises that these octets are writable.
        unsafe { at.cast::<Lanes>().write(blocks) };
    }

    #[inline(never)]
    unsafe fn load_span(self, at: *const u8, span: Range<usize>) -> Lanes {
        let mut blocks = self.zero();
        let octets = &mut blocks.as_flattened_mut()[span.clone()];
        // SAFETY: the caller promises that these octets are readable.
        unsafe {
            core::ptr::copy_nonoverlapping(at.add(span.start), octets.as_mut_ptr(), octets.len());
        }
        blocks
    }

    #[inline(never)]
    unsafe fn store_span(self, at: *mut u8, span: Range<usize>, mut blocks: Lanes) -> Lanes {
        let octets = &blocks.as_flattened()[span.clone()];
        // SAFETY: the caller promises that these octets are writable.
        unsafe { core::ptr::copy_nonoverlapping(octets.as_ptr(), at.add(span.start), octets.len()) };
        blocks.as_flattened_mut()[..span.start].fill(0);
        blocks.as_flattened_mut()[span.end..].fill(0);
        blocks
    }

    fn one_lane(self, lane: usize, block: &[u8; 16]) -> Lanes {
        let mut blocks = self.zero();
        blocks[lane] = *block;
        blocks
    }

    fn first_lanes(self, pair: &[[u8; 16]; 2]) -> Lanes {
        let mut blocks = self.zero();
        blocks[..2].copy_from_slice(pair);
        blocks
    }

    #[inline(never)]
    fn counters(self, n: u16) -> Lanes {
        array(|lane| (u128::from(n) + lane as u128).to_be_bytes())
    }

    fn add_lanes(self, blocks: Lanes) -> Lanes {
        let sum = blocks
            .iter()
            .fold(0, |sum, block| sum ^ u128::from_ne_bytes(*block));
        self.one_lane(0, &sum.to_ne_bytes())
    }

    fn powers(self, key: &Schedule, from: usize) -> Lanes {
        *key.powers_from(from)
    }

    fn lanes(self, block: Lanes) -> Lanes {
        block
    }

    fn no_products(self) -> [Product; MAX_LANES] {
        [[0; 4]; MAX_LANES]
    }

    #[inline(never)]
    fn ghash_order(self, block: Lanes) -> Lanes {
        array(|lane| u128::from_be_bytes(block[lane]).to_le_bytes())
    }

    #[inline(never)]
    fn multiply(self, sum: [Product; MAX_LANES], x: Lanes, power: Lanes) -> [Product; MAX_LANES] {
        array(|lane| {
            polyval::add_product(
                sum[lane],
                u128::from_le_bytes(x[lane]),
                u128::from_le_bytes(power[lane]),
            )
        })
    }

    #[inline(never)]
    fn reduce(self, sum: [Product; MAX_LANES]) -> Lanes {
        array(|lane| polyval::reduce(sum[lane]).to_le_bytes())
    }
}

/// Bit-sliced round keys. No round is separate, because whitening is part of the cipher.
pub(crate) struct SlicedKeys {
    planes: [Planes; MAX_KEYS],
    /// Number of round keys in use.
    count: usize,
}

impl SlicedKeys {
    /// Round keys with the key `key(place)` at each of the sixteen places.
    fn places<'k>(key: impl Fn(usize) -> &'k Schedule) -> Self {
        let mut planes = [Planes::default(); MAX_KEYS];
        let count = key(0).kind.keys;
        for (round, planes) in planes[..count].iter_mut().enumerate() {
            *planes = bitslice::slice(&array(|place| key(place).rounds[round]));
        }
        SlicedKeys { planes, count }
    }

    fn encrypt(&self, blocks: &[[u8; 16]; BLOCKS]) -> [[u8; 16]; BLOCKS] {
        bitslice::encrypt(&self.planes[..self.count], blocks)
    }
}

impl Keys<Portable> for SlicedKeys {
    fn one(_: Portable, key: &Schedule) -> Self {
        SlicedKeys::places(|_| key)
    }

    fn set_each<'s, 'k>(
        place: &'s mut MaybeUninit<Self>,
        _: Portable,
        _: usize,
        key: impl Fn(usize, usize) -> &'k Schedule,
    ) -> &'s Self {
        place.write(SlicedKeys::places(|place| key(0, place % MAX_LANES)))
    }

    fn of<'k>(_: Portable, key: impl Fn(usize) -> &'k Schedule) -> Self {
        SlicedKeys::places(|place| key(place / MAX_LANES))
    }

    fn whiten(&self, _: Portable, _: usize, block: Lanes) -> Lanes {
        block
    }

    fn fold(&self, _: Portable, _: usize, block: Lanes) -> Lanes {
        block
    }

    fn last(&self, _: usize) -> Lanes {
        [[0; 16]; MAX_LANES]
    }

    fn join(&self, m: Portable, state: Lanes, folded: Lanes) -> Lanes {
        m.xor(state, folded)
    }

    fn rounds<const N: usize>(
        &self,
        _: Portable,
        _: usize,
        mac: &mut [Lanes; N],
        counters: &mut [Lanes; N],
        _: usize,
    ) {
        for (mac, counters) in mac.iter_mut().zip(counters) {
            let mut blocks = [[0; 16]; BLOCKS];
            blocks[..MAX_LANES].copy_from_slice(mac);
            blocks[MAX_LANES..].copy_from_slice(counters);
            blocks = self.encrypt(&blocks);
            mac.copy_from_slice(&blocks[..MAX_LANES]);
            counters.copy_from_slice(&blocks[MAX_LANES..]);
        }
    }

    const AHEAD: usize = 0;

    fn counts_ahead(&self, _: Portable, counts: Lanes) -> Lanes {
        counts
    }

    const ROUNDS: usize = 1;

    /// The keys of register 0 are in the first half of the planes, the keys of register 1 in the second half.
    fn round_of<const N: usize>(&self, _: Portable, first: usize, _: usize, registers: &mut [Lanes; N]) {
        let mut blocks = [[0; 16]; BLOCKS];
        for (i, lanes) in registers.iter().enumerate() {
            blocks[(first + i) * MAX_LANES..][..MAX_LANES].copy_from_slice(lanes);
        }
        blocks = self.encrypt(&blocks);
        for (i, lanes) in registers.iter_mut().enumerate() {
            lanes.copy_from_slice(&blocks[(first + i) * MAX_LANES..][..MAX_LANES]);
        }
    }
}
