//! What a kernel asks of a machine: registers that hold one block of each of a few frames.
//!
//! The kernels are written once, over these traits, and inlined into functions that enable the machine's instructions.
//! A *register* is a [`Machine::Block`]: one 16-octet block of each of `LANES` frames, so one instruction works for
//! all of them and CBC-MAC, serial within a frame, is parallel across frames.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::{IndexMut, Range};

use super::{BlocksInOrder, Frame, Schedule};

pub(super) use super::schedule::MAX_LANES;

/// One address for each lane of a register; those past the machine's `LANES` are unused.
pub(super) type Addresses = [*mut u8; MAX_LANES];

/// A CPU that has what its module needs: a value exists only where that was detected.
pub(super) trait Machine: Copy {
    /// Frames a register holds a block of.
    const LANES: usize;
    /// Chains of rounds that go side by side without running out of registers.
    const CHAINS: usize;
    /// Bits of all lanes.
    const ALL: u8 = ((1u16 << Self::LANES) - 1) as u8;
    /// One block of each lane.
    type Block: Copy;
    /// As many blocks as there are lanes.
    type Square: IndexMut<usize, Output = Self::Block> + Copy;
    /// Products of GHASH, not reduced yet.
    type Products: Copy;
    /// `KEYS` round keys, 11 or 15; `SETS` is 1 for one key, else the number of registers.
    type Keys<const KEYS: usize, const SETS: usize>: Keys<Self>;

    /// All bits clear.
    fn zero(self) -> Self::Block;
    /// The blocks at these addresses.
    #[allow(clippy::wrong_self_convention)] // the machine is what makes it, not what it is made from
    fn from_lanes(self, blocks: &[&[u8; 16]; MAX_LANES]) -> Self::Block;
    /// The same block in every lane.
    fn splat(self, block: &[u8; 16]) -> Self::Block;
    /// Zeros.
    fn square(self) -> Self::Square;
    /// Block `a` of lane `b` where lane `a` of block `b` was.
    fn turn(self, square: Self::Square) -> Self::Square;
    /// Exclusive or.
    fn xor(self, a: Self::Block, b: Self::Block) -> Self::Block;
    /// The lanes of `yes` where `lanes` has a bit, those of `no` elsewhere.
    fn select(self, lanes: u8, yes: Self::Block, no: Self::Block) -> Self::Block;
    /// Zeros but for the last two octets of each lane, which hold `n`, most significant octet first.
    fn counter(self, n: u16) -> Self::Block;

    /// The 16 octets at `at[lane] + offset` of each lane.
    ///
    /// # Safety
    /// They must be readable.
    unsafe fn gather(self, at: &Addresses, offset: usize) -> Self::Block;
    /// Writes the lanes of `block` to `at[lane] + offset`.
    ///
    /// # Safety
    /// 16 octets must be writable there.
    unsafe fn scatter(self, at: &Addresses, offset: usize, block: Self::Block);
    /// The consecutive blocks at `at`, one a lane.
    ///
    /// # Safety
    /// They must be readable.
    unsafe fn load(self, at: *const u8) -> Self::Block;
    /// Writes the lanes to consecutive blocks at `at`.
    ///
    /// # Safety
    /// They must be writable.
    unsafe fn store(self, at: *mut u8, blocks: Self::Block);
    /// Like [`load`](Machine::load), but only the octets of `span`, which starts and, unless the text does, ends with a
    /// lane; zeros elsewhere.
    ///
    /// # Safety
    /// The octets of the span and the 16 before them must be readable.
    unsafe fn load_span(self, at: *const u8, span: Range<usize>) -> Self::Block;
    /// Writes the octets of `span` and returns `blocks` with zeros elsewhere.
    ///
    /// # Safety
    /// As for [`load_span`](Machine::load_span), for writing.
    unsafe fn store_span(self, at: *mut u8, span: Range<usize>, blocks: Self::Block) -> Self::Block;
    /// `block` in one lane, zeros in the others.
    fn one_lane(self, lane: usize, block: &[u8; 16]) -> Self::Block;
    /// Two blocks in the first two of two or more lanes, zeros in the others.
    fn first_lanes(self, blocks: &[[u8; 16]; 2]) -> Self::Block;
    /// Like [`counter`](Machine::counter), for n, n + 1, ... in successive lanes.
    fn counters(self, n: u16) -> Self::Block;
    /// The sum of all lanes, in the first.
    fn add_lanes(self, blocks: Self::Block) -> Self::Block;
    /// The powers `from`, `from - 1`, ... of the hash key in successive lanes; zeros for those below 1.
    fn powers(self, key: &Schedule, from: usize) -> Self::Block;
    /// The lanes, in order.
    fn lanes(self, block: Self::Block) -> [[u8; 16]; MAX_LANES];

    /// The same block, where the compiler does not know it: calls keep their order, and with it the instructions in
    /// between. It would otherwise put independent chains of rounds one after the other.
    #[inline(always)]
    fn pin(self, block: Self::Block) -> Self::Block {
        block
    }

    /// No products.
    fn no_products(self) -> Self::Products;
    /// Blocks of GHASH in the octet order that products take.
    fn ghash_order(self, block: Self::Block) -> Self::Block;
    /// Adds the product of `x` and `power`, both in the order of products.
    fn multiply(self, sum: Self::Products, x: Self::Block, power: Self::Block) -> Self::Products;
    /// The sum of the products, reduced.
    fn reduce(self, sum: Self::Products) -> Self::Block;
}

/// The AES keys of the lanes of a group, in the form a machine wants them.
///
/// The last round is split off, so that what is added after it (the next block of the MAC, the text that the key stream
/// enciphers) is folded into the last round key and the chain from block to block is the AES rounds alone:
/// `join(rounds(whiten(x)), last)` is AES of x, and `join(rounds(whiten(x)), fold(y))` is `whiten(AES(x) ^ y)`.
pub(super) trait Keys<M: Machine> {
    /// The keys of one schedule in every lane.
    fn one(m: M, key: &Schedule) -> Self;
    /// The keys of each frame, by register and lane.
    fn each(m: M, keys: &[[&Schedule; MAX_LANES]]) -> Self;
    /// The keys of registers that belong to one frame each.
    fn of<'k>(m: M, key: impl Fn(usize) -> &'k Schedule) -> Self;

    /// A block as the rounds take it.
    fn whiten(&self, m: M, register: usize, block: M::Block) -> M::Block;
    /// A block to be added to what comes out of the rounds, and whitened.
    fn fold(&self, m: M, register: usize, block: M::Block) -> M::Block;
    /// What ends AES when joined.
    fn last(&self, register: usize) -> M::Block;
    /// Ends the rounds.
    fn join(&self, m: M, state: M::Block, folded: M::Block) -> M::Block;
    /// Rounds that counter blocks of one key may be ahead. Those of a frame differ in their last two octets, at the same
    /// places in all frames, so what that comes to after a round is the same for all frames and is added
    /// ("counter-mode caching", Bernstein and Schwabe 2008).
    const AHEAD: usize;
    /// What is to be added to blocks with count 0, whitened and `AHEAD` rounds on, for these counts.
    fn counts_ahead(&self, m: M, counts: M::Block) -> M::Block;
    /// All rounds but the last of registers `first..first + N`, for MAC and counters side by side; those of the counters
    /// without the first `ahead`.
    fn rounds<const N: usize>(
        &self,
        m: M,
        first: usize,
        mac: &mut [M::Block; N],
        counters: &mut [M::Block; N],
        ahead: usize,
    );
    /// Calls of [`round_of`](Keys::round_of) that make up all rounds but the last.
    const ROUNDS: usize;
    /// Round `round`, from 0, of registers `first..first + N`.
    fn round_of<const N: usize>(&self, m: M, first: usize, round: usize, blocks: &mut [M::Block; N]);
    /// All rounds but the last, without the first `ahead`, for one kind only.
    #[inline(always)]
    fn rounds_of<const N: usize>(&self, m: M, first: usize, blocks: &mut [M::Block; N], ahead: usize) {
        for round in ahead..Self::ROUNDS {
            self.round_of(m, first, round, blocks);
        }
    }
}

/// A machine with instructions for one round of AES.
#[cfg(target_arch = "x86_64")]
pub(super) trait AesRounds: Machine {
    /// A round.
    fn round(self, state: Self::Block, key: Self::Block) -> Self::Block;
    /// The last round.
    fn last_round(self, state: Self::Block, key: Self::Block) -> Self::Block;
}

/// Round keys for [`AesRounds`]: `SETS` is 1 for one key, else the number of registers. `KEYS` is 11 or 15.
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
                    // One load for both.
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

/// Up to `G` registers of frames, longest first: where each lane's octets are.
///
/// For as long as this borrow, every address of the first `registers` registers and of the machine's lanes is valid for
/// reads and writes: of a whole [`BlocksInOrder`](super::BlocksInOrder), or of `len` octets of payload and of
/// [`MIN_HEADER`](super::MIN_HEADER) octets before them.
pub(super) struct Group<'g, const G: usize> {
    /// Registers in use.
    pub(super) registers: usize,
    /// The [`BlocksInOrder`](super::BlocksInOrder) of each lane's frame.
    pub(super) blocks_of: [Addresses; G],
    /// Its payload.
    pub(super) payload: [Addresses; G],
    /// Octets of its payload.
    pub(super) len: [[usize; MAX_LANES]; G],
    /// Its key.
    pub(super) keys: [[&'g Schedule; MAX_LANES]; G],
    /// For each register, chunks of as many blocks as there are lanes that every lane up to it has in full.
    pub(super) whole: [usize; G],
    /// For each register, chunks of its longest lane, the last of them perhaps in part.
    pub(super) chunks: [usize; G],
    /// The addresses are good for as long as this borrow.
    _frames: PhantomData<&'g mut [u8]>,
}

impl<'g, const G: usize> Group<'g, G> {
    /// The frames `order` names, at most `G * lanes`. Lanes without a frame have the blocks and the key of the register's
    /// first, and no payload.
    ///
    /// # Safety
    /// `order` names no frame twice. Each payload is at most as long as the one before it.
    #[inline(always)]
    pub(super) unsafe fn new(frames: &'g mut [Frame<'_, '_>], order: &[u8], lanes: usize) -> Group<'g, G> {
        let mut group = Group {
            registers: order.len().div_ceil(lanes),
            blocks_of: [[std::ptr::null_mut(); MAX_LANES]; G],
            payload: [[std::ptr::null_mut(); MAX_LANES]; G],
            len: [[0; MAX_LANES]; G],
            keys: [[frames[usize::from(order[0])].key; MAX_LANES]; G],
            whole: [0; G],
            chunks: [0; G],
            _frames: PhantomData,
        };
        for (register, members) in order.chunks(lanes).enumerate() {
            for (lane, &member) in members.iter().enumerate() {
                let frame = &mut frames[usize::from(member)];
                group.payload[register][lane] = frame.mpdu.as_mut_ptr().wrapping_add(frame.start);
                group.len[register][lane] = frame.len;
                group.keys[register][lane] = frame.key;
            }
            for lane in members.len()..lanes {
                group.payload[register][lane] = group.payload[register][0];
                group.keys[register][lane] = group.keys[register][0];
            }
            group.whole[register] = group.len[register][lanes - 1] / (16 * lanes);
            group.chunks[register] = group.len[register][0].div_ceil(16 * lanes);
        }
        for (register, members) in order.chunks(lanes).enumerate() {
            for lane in 0..lanes {
                let member = members.get(lane).unwrap_or(&members[0]);
                // No reference to the blocks, which would end the validity of an address taken before.
                group.blocks_of[register][lane] = (&raw mut frames[usize::from(*member)].blocks).cast();
            }
        }
        group
    }

    /// Octets left in a lane from octet `at` on.
    #[inline(always)]
    pub(super) fn left(&self, register: usize, lane: usize, at: usize) -> usize {
        self.len[register][lane].saturating_sub(at)
    }

    /// The lanes that have the first block from octet `at` on, the second, and so on for as many as there are lanes.
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
    /// The register is one of the group's and the lane one of the machine's. The offset is one of a field. The block is not
    /// written while the reference lives.
    #[inline(always)]
    pub(super) unsafe fn block(&self, register: usize, lane: usize, offset: usize) -> &[u8; 16] {
        // SAFETY: the address is that of a whole `BlocksInOrder`, and the field lies within.
        unsafe { &*self.blocks_of[register][lane].add(offset).cast_const().cast() }
    }
}

/// One frame, for kernels that give each frame registers of its own.
///
/// For as long as this borrow, `payload` is valid for reads and writes of `len` octets and of
/// [`MIN_HEADER`](super::MIN_HEADER) octets before them.
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

    /// The block at an offset and the one after it.
    #[inline(always)]
    pub(super) fn block_pair(&self, offset: usize) -> [[u8; 16]; 2] {
        [*self.block(offset), *self.block(offset + 16)]
    }
}

/// Up to `G` frames, longest first; rows past `count` repeat the last.
pub(super) struct Rows<'g, const G: usize> {
    pub(super) rows: [Row<'g>; G],
    pub(super) count: usize,
}

impl<'g, const G: usize> Rows<'g, G> {
    /// The frames `order` names, 1 to `G`.
    ///
    /// # Safety
    /// `order` names no frame twice. Each payload is at most as long as the one before it.
    #[inline(always)]
    pub(super) unsafe fn new(frames: &'g mut [Frame<'_, '_>], order: &[u8]) -> Rows<'g, G> {
        let mut payloads = [std::ptr::null_mut(); G];
        for (payload, &member) in payloads.iter_mut().zip(order) {
            let frame = &mut frames[usize::from(member)];
            *payload = frame.mpdu.as_mut_ptr().wrapping_add(frame.start);
        }
        let frames = &*frames;
        Rows {
            rows: std::array::from_fn(|g| {
                let g = g.min(order.len() - 1);
                let frame = &frames[usize::from(order[g])];
                Row {
                    blocks: &frame.blocks,
                    payload: payloads[g],
                    len: frame.len,
                    key: frame.key,
                }
            }),
            count: order.len(),
        }
    }
}
