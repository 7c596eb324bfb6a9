//! The operations that kernels require of a machine, and the layout of frames in its registers.
//!
//! The kernels are generic over these traits and inlined into functions that enable the machine's instructions. A
//! *register* is a [`Machine::Block`]: one 16-octet block of each of `LANES` frames. One instruction processes all of
//! them, so CBC-MAC, serial within a frame, is parallel across frames.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{IndexMut, Range};

#[cfg(target_arch = "x86_64")]
use super::rounds;
use super::{BlocksInOrder, Frame, Schedule, array};

pub(crate) use super::schedule::MAX_LANES;

/// One address per lane of a register. Lanes past the machine's `LANES` are unused.
pub(crate) type Addresses = [*mut u8; MAX_LANES];

/// Numbers in the source of a [`Permutation`], least significant octet first.
pub(crate) type Numbers = [u64; 2];

/// The octets of four blocks: octet i is octet `pick[i]` of 32 octets followed by two numbers, masked by `keep[i]`, or
/// `set[i]`.
#[repr(align(64))]
pub(crate) struct Permutation {
    pub(crate) pick: [u8; 64],
    pub(crate) keep: [u8; 64],
    pub(crate) set: [u8; 64],
}

/// A CPU with the features that its module requires. A value exists only if they were detected.
pub(crate) trait Machine: Copy {
    /// Frames per register.
    const LANES: usize;
    /// Chains of rounds that can be interleaved without running out of registers.
    const CHAINS: usize;
    /// Whether it can permute 64 octets at once.
    const PERMUTES: bool = false;
    /// A mask of all lanes.
    const ALL: u8 = ((1u16 << Self::LANES) - 1) as u8;
    /// One block per lane.
    type Block: Copy;
    /// As many blocks as there are lanes.
    type Square: IndexMut<usize, Output = Self::Block> + Copy;
    /// Products of GHASH, not yet reduced.
    type Products: Copy;
    /// `KEYS` round keys, 11 or 15. `SETS` is 1 for a shared key, else the number of registers.
    type Keys<const KEYS: usize, const SETS: usize>: Keys<Self>;

    /// All bits clear.
    fn zero(self) -> Self::Block;
    /// The same block in every lane.
    fn splat(self, block: &[u8; 16]) -> Self::Block;
    /// Lane `lane` of a block in memory, in every lane.
    #[inline(always)]
    fn splat_lane(self, block: &Self::Block, lane: usize) -> Self::Block {
        const { assert!(size_of::<Self::Block>() == 16 * Self::LANES) };
        assert!(lane < Self::LANES);
        // SAFETY: a block is `LANES` consecutive lanes of 16 octets, and `lane` is less than `LANES`.
        self.splat(unsafe { &*core::ptr::from_ref(block).cast::<[u8; 16]>().add(lane) })
    }
    /// Zeros.
    fn square(self) -> Self::Square;
    /// Transposes: lane `b` of block `a` of the result is lane `a` of block `b` of `square`.
    fn turn(self, square: Self::Square) -> Self::Square;
    /// Exclusive or.
    fn xor(self, a: Self::Block, b: Self::Block) -> Self::Block;
    /// The lanes of `yes` whose bit in `lanes` is set, and the other lanes of `no`.
    fn select(self, lanes: u8, yes: Self::Block, no: Self::Block) -> Self::Block;
    /// Zeros except for the last two octets of each lane, which hold `n`, most significant octet first.
    fn counter(self, n: u16) -> Self::Block;

    /// The 16 octets at `at[lane] + offset` for each lane.
    ///
    /// # Safety
    /// The octets must be readable.
    unsafe fn gather(self, at: &Addresses, offset: usize) -> Self::Block;
    /// Writes the lanes of `block` to `at[lane] + offset`.
    ///
    /// # Safety
    /// 16 octets must be writable there.
    unsafe fn scatter(self, at: &Addresses, offset: usize, block: Self::Block);
    /// Consecutive blocks at `at`, one per lane.
    ///
    /// # Safety
    /// The blocks must be readable.
    unsafe fn load(self, at: *const u8) -> Self::Block;
    /// Writes the lanes as consecutive blocks at `at`.
    ///
    /// # Safety
    /// The blocks must be writable.
    unsafe fn store(self, at: *mut u8, blocks: Self::Block);
    /// Like [`load`](Machine::load), but reads only the octets of `span`; the others are zero. `span` starts at a lane
    /// boundary and ends at one unless the text ends before it.
    ///
    /// # Safety
    /// The octets of the span and the 16 before them must be readable.
    unsafe fn load_span(self, at: *const u8, span: Range<usize>) -> Self::Block;
    /// Writes the octets of `span` and returns `blocks` with zeros outside `span`.
    ///
    /// # Safety
    /// As for [`load_span`](Machine::load_span), for writing.
    unsafe fn store_span(self, at: *mut u8, span: Range<usize>, blocks: Self::Block) -> Self::Block;
    /// `block` in one lane, zeros in the others.
    fn one_lane(self, lane: usize, block: &[u8; 16]) -> Self::Block;
    /// Two blocks in the first two lanes of a machine with at least two, zeros in the others.
    fn first_lanes(self, blocks: &[[u8; 16]; 2]) -> Self::Block;
    /// Like [`counter`](Machine::counter), with n, n + 1, ... in successive lanes.
    fn counters(self, n: u16) -> Self::Block;
    /// The XOR of all lanes, in the first lane.
    fn add_lanes(self, blocks: Self::Block) -> Self::Block;
    /// The powers `from`, `from - 1`, ... of the hash key in successive lanes; zeros for exponents below 1.
    fn powers(self, key: &Schedule, from: usize) -> Self::Block;
    /// The lanes, in order.
    fn lanes(self, block: Self::Block) -> [[u8; 16]; MAX_LANES];

    /// Returns the block unchanged, hidden from the optimizer. Calls keep their order, and so do the instructions
    /// between them. Otherwise the compiler would run independent chains of rounds one after another.
    #[inline(always)]
    fn pin(self, block: Self::Block) -> Self::Block {
        block
    }

    /// The blocks that a permutation makes of 32 octets and two numbers. Only called if the machine
    /// [`PERMUTES`](Machine::PERMUTES).
    #[inline(always)]
    fn permute(self, _: &[u8; 32], _: Numbers, _: &Permutation) -> BlocksInOrder {
        unreachable!("this machine does not permute")
    }

    /// An empty sum of products.
    fn no_products(self) -> Self::Products;
    /// Converts blocks of GHASH to the octet order of products.
    fn ghash_order(self, block: Self::Block) -> Self::Block;
    /// Adds the product of `x` and `power`, both in the octet order of products.
    fn multiply(self, sum: Self::Products, x: Self::Block, power: Self::Block) -> Self::Products;
    /// The sum of the products, reduced.
    fn reduce(self, sum: Self::Products) -> Self::Block;
}

/// The AES keys of the lanes of a group, in the machine's own form.
///
/// The last round is separate, so that the value XORed after it (the next block of the MAC, or the text under the key
/// stream) is folded into the last round key. The chain from block to block is then only the AES rounds:
/// `join(rounds(whiten(x)), last)` is AES of x, and `join(rounds(whiten(x)), fold(y))` is `whiten(AES(x) ^ y)`.
pub(crate) trait Keys<M: Machine> {
    /// The keys of one schedule in every lane.
    fn one(m: M, key: &Schedule) -> Self;
    /// Writes the keys of each frame, by register and lane, of the first `registers` registers. Keys that are returned by
    /// value would be copied.
    fn set_each<'s, 'k>(
        place: &'s mut MaybeUninit<Self>,
        m: M,
        registers: usize,
        key: impl Fn(usize, usize) -> &'k Schedule,
    ) -> &'s Self
    where
        Self: Sized;
    /// The keys of registers whose lanes belong to a single frame each.
    fn of<'k>(m: M, key: impl Fn(usize) -> &'k Schedule) -> Self;

    /// Prepares a block for the rounds.
    fn whiten(&self, m: M, register: usize, block: M::Block) -> M::Block;
    /// Prepares a block that is XORed with the output of the rounds, and whitens the result.
    fn fold(&self, m: M, register: usize, block: M::Block) -> M::Block;
    /// The last round key: joining it completes AES.
    fn last(&self, register: usize) -> M::Block;
    /// Completes the last round.
    fn join(&self, m: M, state: M::Block, folded: M::Block) -> M::Block;
    /// Rounds of the counter blocks of one key that can be computed in advance. The counter blocks of a frame differ
    /// only in their last two octets, which are at the same positions in all frames. The effect of a count after a
    /// round is therefore the same for all frames and is XORed in ("counter-mode caching", Bernstein and Schwabe 2008).
    const AHEAD: usize;
    /// The value to XOR for these counts into whitened blocks with count 0 after `AHEAD` rounds.
    fn counts_ahead(&self, m: M, counts: M::Block) -> M::Block;
    /// All rounds except the last of registers `first..first + N`, interleaving MAC and counters. The first `ahead`
    /// rounds of the counters are skipped.
    fn rounds<const N: usize>(
        &self,
        m: M,
        first: usize,
        mac: &mut [M::Block; N],
        counters: &mut [M::Block; N],
        ahead: usize,
    );
    /// Number of calls of [`round_of`](Keys::round_of) that perform all rounds except the last.
    const ROUNDS: usize;
    /// Performs round `round`, counted from 0, of registers `first..first + N`.
    fn round_of<const N: usize>(&self, m: M, first: usize, round: usize, blocks: &mut [M::Block; N]);
    /// Performs all rounds except the last and the first `ahead`, on one set of blocks.
    #[inline(always)]
    fn rounds_of<const N: usize>(&self, m: M, first: usize, blocks: &mut [M::Block; N], ahead: usize) {
        for round in ahead..Self::ROUNDS {
            self.round_of(m, first, round, blocks);
        }
    }
}

/// A machine with instructions for single AES rounds.
#[cfg(target_arch = "x86_64")]
pub(crate) trait AesRounds: Machine {
    /// A round.
    fn round(self, state: Self::Block, key: Self::Block) -> Self::Block;
    /// The last round.
    fn last_round(self, state: Self::Block, key: Self::Block) -> Self::Block;
    /// Carry-less products of the low halves, of the high halves, and of the low half of `x` with either half of `sums`.
    fn halves(self, x: Self::Block, power: Self::Block, sums: Self::Block, high: bool) -> [Self::Block; 3];
    /// The low half of each lane is the sum of both halves.
    fn add_halves(self, x: Self::Block) -> Self::Block;
}

/// Round keys for [`AesRounds`]. `SETS` is 1 for a shared key, else the number of registers. `KEYS` is 11 or 15.
#[cfg(target_arch = "x86_64")]
#[repr(transparent)]
pub(super) struct RoundKeys<M: AesRounds, const KEYS: usize, const SETS: usize> {
    sets: [[M::Block; KEYS]; SETS],
}

#[cfg(target_arch = "x86_64")]
impl<M: AesRounds, const KEYS: usize, const SETS: usize> RoundKeys<M, KEYS, SETS> {
    #[inline(always)]
    fn key(&self, register: usize, round: usize) -> M::Block {
        self.sets[if SETS == 1 { 0 } else { register }][round]
    }
}

#[cfg(target_arch = "x86_64")]
impl<M: AesRounds, const KEYS: usize, const SETS: usize> Keys<M> for RoundKeys<M, KEYS, SETS> {
    #[inline(always)]
    fn one(m: M, key: &Schedule) -> Self {
        let mut keys = RoundKeys {
            sets: [[m.zero(); KEYS]; SETS],
        };
        for set in &mut keys.sets {
            for (round, block) in set.iter_mut().enumerate() {
                *block = m.splat(&key.rounds[round]);
            }
        }
        keys
    }

    #[inline(always)]
    fn set_each<'s, 'k>(
        place: &'s mut MaybeUninit<Self>,
        m: M,
        registers: usize,
        key: impl Fn(usize, usize) -> &'k Schedule,
    ) -> &'s Self {
        let sets = place.as_mut_ptr().cast::<[M::Block; KEYS]>();
        for register in 0..SETS {
            let mut set = [m.zero(); KEYS];
            if register < registers {
                let mut rounds_of: Addresses = [core::ptr::null_mut(); MAX_LANES];
                for lane in 0..M::LANES {
                    rounds_of[lane] = key(register, lane).rounds.as_ptr().cast_mut().cast();
                }
                for (round, block) in set.iter_mut().enumerate() {
                    // SAFETY: every lane's schedule has `KEYS` round keys of 16 octets or more.
                    *block = unsafe { m.gather(&rounds_of, 16 * round) };
                }
            }
            // SAFETY: a value of this type is `SETS` sets and nothing else.
            unsafe { sets.add(register).write(set) };
        }
        // SAFETY: all sets are written.
        unsafe { place.assume_init_ref() }
    }

    #[inline(always)]
    fn of<'k>(m: M, key: impl Fn(usize) -> &'k Schedule) -> Self {
        let mut keys = RoundKeys {
            sets: [[m.zero(); KEYS]; SETS],
        };
        for (register, set) in keys.sets.iter_mut().enumerate() {
            for (round, block) in set.iter_mut().enumerate() {
                *block = m.splat(&key(register).rounds[round]);
            }
        }
        keys
    }

    #[inline(always)]
    fn whiten(&self, m: M, register: usize, block: M::Block) -> M::Block {
        m.xor(block, self.key(register, 0))
    }

    #[inline(always)]
    fn fold(&self, m: M, register: usize, block: M::Block) -> M::Block {
        m.xor(block, m.xor(self.key(register, KEYS - 1), self.key(register, 0)))
    }

    #[inline(always)]
    fn last(&self, register: usize) -> M::Block {
        self.key(register, KEYS - 1)
    }

    #[inline(always)]
    fn join(&self, m: M, state: M::Block, folded: M::Block) -> M::Block {
        m.last_round(state, folded)
    }

    #[inline(always)]
    fn rounds<const N: usize>(
        &self,
        m: M,
        first: usize,
        mac: &mut [M::Block; N],
        counters: &mut [M::Block; N],
        ahead: usize,
    ) {
        // Chains that do not fit the registers are better left to the compiler.
        let pin = |block| if 2 * N <= M::CHAINS { m.pin(block) } else { block };
        rounds!(ROUND in 1 2 3 4 5 6 7 8 9 10 11 12 13 => {
            for i in 0..N {
                if ROUND < KEYS - 1 {
                    let mut key = self.key(first + i, ROUND);
                    if SETS > 1 {
                        // One load for both uses.
                        key = m.pin(key);
                    }
                    mac[i] = pin(m.round(mac[i], key));
                    if ROUND > ahead {
                        counters[i] = pin(m.round(counters[i], key));
                    }
                }
            }
        });
    }

    const AHEAD: usize = 1;

    #[inline(always)]
    fn counts_ahead(&self, m: M, counts: M::Block) -> M::Block {
        let whitening = self.key(0, 0);
        m.xor(
            m.round(m.xor(whitening, counts), m.zero()),
            m.round(whitening, m.zero()),
        )
    }

    const ROUNDS: usize = KEYS - 2;

    #[inline(always)]
    fn round_of<const N: usize>(&self, m: M, first: usize, round: usize, blocks: &mut [M::Block; N]) {
        for i in 0..N {
            blocks[i] = m.pin(m.round(blocks[i], self.key(first + i, round + 1)));
        }
    }
}

/// The addresses of up to `G` registers of frames, longest first.
///
/// While the borrow lasts, every address in the first `registers` registers and the machine's lanes is valid for reads
/// and writes: of a complete [`BlocksInOrder`](super::BlocksInOrder), or of `len` octets of payload and the
/// [`MIN_HEADER`](super::MIN_HEADER) octets before it.
pub(super) struct Group<'g, const G: usize> {
    /// Registers in use.
    pub(super) registers: usize,
    /// The [`BlocksInOrder`](super::BlocksInOrder) of each lane's frame.
    pub(super) blocks_of: [Addresses; G],
    /// The payload of each lane's frame.
    pub(super) payload: [Addresses; G],
    /// Octets of each payload.
    pub(super) len: [[usize; MAX_LANES]; G],
    /// Per register, the chunks of `LANES` blocks that every lane of this register and the earlier ones has in full.
    pub(super) whole: [usize; G],
    /// Per register, the chunks of its longest lane. The last chunk may be partial.
    pub(super) chunks: [usize; G],
    /// The addresses are valid while this borrow lasts.
    _frames: PhantomData<&'g mut [u8]>,
}

impl<'g, const G: usize> Group<'g, G> {
    /// No frames.
    #[inline(always)]
    pub(super) fn new() -> Group<'g, G> {
        Group {
            registers: 0,
            blocks_of: [[core::ptr::null_mut(); MAX_LANES]; G],
            payload: [[core::ptr::null_mut(); MAX_LANES]; G],
            len: [[0; MAX_LANES]; G],
            whole: [0; G],
            chunks: [0; G],
            _frames: PhantomData,
        }
    }

    /// Places the frames in `order`, 1 to `G * lanes`. Lanes without a frame have the blocks of the register's first
    /// frame, and no payload. A group that is returned by value would be copied.
    ///
    /// # Safety
    /// The group has no frames. `order` contains no frame twice. Each payload is at most as long as the previous one.
    #[inline(always)]
    pub(super) unsafe fn place(&mut self, frames: &'g mut [Frame<'_, '_>], order: &[u8], lanes: usize) {
        self.registers = order.len().div_ceil(lanes);
        let chunk_b = 16 * lanes;
        for (register, members) in order.chunks(lanes).enumerate() {
            let (payload, len) = (&mut self.payload[register], &mut self.len[register]);
            for (lane, &member) in members.iter().enumerate() {
                let frame = &frames[usize::from(member)];
                payload[lane] = frame.payload;
                len[lane] = frame.len;
            }
            for lane in members.len()..lanes {
                payload[lane] = payload[0];
            }
            self.whole[register] = len[lanes - 1] / chunk_b;
            self.chunks[register] = len[0].div_ceil(chunk_b);
        }
        // Last, because a reference to a frame invalidates addresses inside it that were taken before.
        for (register, members) in order.chunks(lanes).enumerate() {
            for lane in 0..lanes {
                let member = members.get(lane).unwrap_or(&members[0]);
                self.blocks_of[register][lane] = (&raw mut frames[usize::from(*member)].blocks).cast();
            }
        }
    }

    /// Octets of a lane after octet `at`.
    #[inline(always)]
    pub(super) fn left(&self, register: usize, lane: usize, at: usize) -> usize {
        self.len[register][lane].saturating_sub(at)
    }

    /// For each of the `lanes` blocks from octet `at` on, the mask of lanes that have it.
    #[inline(always)]
    pub(super) fn due(&self, register: usize, at: usize, lanes: usize) -> [u8; MAX_LANES] {
        let mut due = [0; MAX_LANES];
        for lane in 0..lanes {
            for (b, due) in due.iter_mut().enumerate().take(lanes) {
                *due |= u8::from(self.left(register, lane, at) > 16 * b) << lane;
            }
        }
        due
    }
}

/// One frame, for kernels in which a register holds blocks of one frame only.
///
/// While the borrow lasts, `payload` is valid for reads and writes of `len` octets and of the
/// [`MIN_HEADER`](super::MIN_HEADER) octets before it.
#[derive(Clone, Copy)]
pub(super) struct Row<'g> {
    blocks: &'g BlocksInOrder,
    pub(super) payload: *mut u8,
    /// Octets of the payload.
    pub(super) len: usize,
    pub(super) key: &'g Schedule,
}

impl<'g> Row<'g> {
    /// The block at an offset of [`BlocksInOrder`].
    #[inline(always)]
    pub(super) fn block(&self, offset: usize) -> &'g [u8; 16] {
        &self.blocks.as_octets()[offset / 16]
    }

    /// The block at an offset and the next block.
    #[inline(always)]
    pub(super) fn block_pair(&self, offset: usize) -> [[u8; 16]; 2] {
        [*self.block(offset), *self.block(offset + 16)]
    }
}

/// Up to `G` frames, longest first. Rows after `count` repeat the last frame.
pub(super) struct Rows<'g, const G: usize> {
    pub(super) rows: [Row<'g>; G],
    pub(super) count: usize,
}

impl<'g, const G: usize> Rows<'g, G> {
    /// The frames in `order`, 1 to `G`.
    ///
    /// # Safety
    /// `order` contains no frame twice. Each payload is at most as long as the previous one.
    #[inline(always)]
    pub(super) unsafe fn new(frames: &'g mut [Frame<'_, '_>], order: &[u8]) -> Rows<'g, G> {
        let frames = &*frames;
        Rows {
            rows: array(|g| {
                let g = g.min(order.len() - 1);
                let frame = &frames[usize::from(order[g])];
                Row {
                    blocks: &frame.blocks,
                    payload: frame.payload,
                    len: frame.len,
                    key: frame.key,
                }
            }),
            count: order.len(),
        }
    }
}
