//! The operations that kernels require of a machine, and the layout of frames in its registers.
//!
//! The kernels are generic over these traits and inlined into functions that enable the machine's instructions. A
//! *register* is a [`Machine::Block`]: one 16-octet block of each of `LANES` frames. One instruction processes all of
//! them, so CBC-MAC, serial within a frame, is parallel across frames.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::ops::{IndexMut, Range};

use super::{BlocksInOrder, Frame, Schedule};

pub(super) use super::schedule::MAX_LANES;

/// One address per lane of a register. Lanes past the machine's `LANES` are unused.
pub(super) type Addresses = [*mut u8; MAX_LANES];

/// A CPU with the features that its module requires. A value exists only if they were detected.
pub(super) trait Machine: Copy {
    /// Frames per register.
    const LANES: usize;
    /// Chains of rounds that can be interleaved without running out of registers.
    const CHAINS: usize;
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
    /// The blocks at these references, one per lane.
    #[allow(clippy::wrong_self_convention)] // `self` is the machine, not the source of the conversion
    fn from_lanes(self, blocks: &[&[u8; 16]; MAX_LANES]) -> Self::Block;
    /// The same block in every lane.
    fn splat(self, block: &[u8; 16]) -> Self::Block;
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
pub(super) trait Keys<M: Machine> {
    /// The keys of one schedule in every lane.
    fn one(m: M, key: &Schedule) -> Self;
    /// The keys of each frame, indexed by register and lane.
    fn each(m: M, keys: &[[&Schedule; MAX_LANES]]) -> Self;
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
pub(super) trait AesRounds: Machine {
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
        let mut sets = [[m.zero(); KEYS]; SETS];
        for set in &mut sets {
            for (round, block) in set.iter_mut().enumerate() {
                *block = m.splat(&key.rounds[round]);
            }
        }
        RoundKeys { sets }
    }

    #[inline(always)]
    fn each(m: M, keys: &[[&Schedule; MAX_LANES]]) -> Self {
        let mut sets = [[m.zero(); KEYS]; SETS];
        for (set, keys) in sets.iter_mut().zip(keys) {
            for (round, block) in set.iter_mut().enumerate() {
                let mut lanes = [&keys[0].rounds[round]; MAX_LANES];
                for lane in 0..M::LANES {
                    lanes[lane] = &keys[lane].rounds[round];
                }
                *block = m.from_lanes(&lanes);
            }
        }
        RoundKeys { sets }
    }

    #[inline(always)]
    fn of<'k>(m: M, key: impl Fn(usize) -> &'k Schedule) -> Self {
        let mut sets = [[m.zero(); KEYS]; SETS];
        for (register, set) in sets.iter_mut().enumerate() {
            for (round, block) in set.iter_mut().enumerate() {
                *block = m.splat(&key(register).rounds[round]);
            }
        }
        RoundKeys { sets }
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
        for round in 1..KEYS - 1 {
            for i in 0..N {
                let mut key = self.key(first + i, round);
                if SETS > 1 {
                    // One load for both uses.
                    key = m.pin(key);
                }
                mac[i] = m.round(mac[i], key);
                if round > ahead {
                    counters[i] = m.round(counters[i], key);
                }
            }
        }
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
    /// The key of each lane's frame.
    pub(super) keys: [[&'g Schedule; MAX_LANES]; G],
    /// Per register, the chunks of `LANES` blocks that every lane of this register and the earlier ones has in full.
    pub(super) whole: [usize; G],
    /// Per register, the chunks of its longest lane. The last chunk may be partial.
    pub(super) chunks: [usize; G],
    /// The addresses are valid while this borrow lasts.
    _frames: PhantomData<&'g mut [u8]>,
}

impl<'g, const G: usize> Group<'g, G> {
    /// The frames in `order`, at most `G * lanes`. Lanes without a frame have the blocks and the key of the register's
    /// first frame, and no payload.
    ///
    /// # Safety
    /// `order` contains no frame twice. Each payload is at most as long as the previous one.
    #[inline(always)]
    pub(super) unsafe fn new(frames: &'g mut [Frame<'_, '_>], order: &[u8], lanes: usize) -> Group<'g, G> {
        let mut group = Group {
            registers: order.len().div_ceil(lanes),
            blocks_of: [[core::ptr::null_mut(); MAX_LANES]; G],
            payload: [[core::ptr::null_mut(); MAX_LANES]; G],
            len: [[0; MAX_LANES]; G],
            keys: [[frames[usize::from(order[0])].key; MAX_LANES]; G],
            whole: [0; G],
            chunks: [0; G],
            _frames: PhantomData,
        };
        let chunk_b = 16 * lanes;
        for (register, members) in order.chunks(lanes).enumerate() {
            group.place(register, frames, members, lanes);
            group.whole[register] = group.len[register][lanes - 1] / chunk_b;
            group.chunks[register] = group.len[register][0].div_ceil(chunk_b);
        }
        // Last, because a reference to a frame invalidates addresses inside it that were taken before.
        for (register, members) in order.chunks(lanes).enumerate() {
            for lane in 0..lanes {
                let member = members.get(lane).unwrap_or(&members[0]);
                group.blocks_of[register][lane] = (&raw mut frames[usize::from(*member)].blocks).cast();
            }
        }
        group
    }

    /// Places the payloads and keys of up to `lanes` frames in the lanes of a register.
    #[inline(always)]
    fn place<'k: 'g>(&mut self, register: usize, frames: &[Frame<'_, 'k>], members: &[u8], lanes: usize) {
        let (payload, len) = (&mut self.payload[register], &mut self.len[register]);
        let keys = &mut self.keys[register];
        for (lane, &member) in members.iter().enumerate() {
            let frame = &frames[usize::from(member)];
            payload[lane] = frame.payload;
            len[lane] = frame.len;
            keys[lane] = frame.key;
        }
        for lane in members.len()..lanes {
            (payload[lane], keys[lane]) = (payload[0], keys[0]);
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

    /// The block at an offset of [`BlocksInOrder`].
    ///
    /// # Safety
    /// `register` is in the group and `lane` in the machine. `offset` is the offset of a field. The block is not
    /// written while the reference lives.
    #[inline(always)]
    pub(super) unsafe fn block(&self, register: usize, lane: usize, offset: usize) -> &[u8; 16] {
        // SAFETY: the address is that of a complete `BlocksInOrder`, which contains the field.
        unsafe { &*self.blocks_of[register][lane].add(offset).cast_const().cast() }
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
            rows: core::array::from_fn(|g| {
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
