//! CCM over a group of frames (RFC 3610; IEEE 802.11-2020 12.5.3.3): CBC-MAC and CTR side by side, in lock step.
//!
//! ```text
//!  step          MAC absorbs     CTR enciphers
//!  start         B0              A0, which masks the MIC
//!                AAD 1
//!  t = 0         AAD 2           A1 -> block 0
//!  t             block t - 1     A(t+1) -> block t
//!  end           last block
//! ```
//! The MAC runs one step behind, so that opening, where the MAC needs the plaintext, is the same as sealing.
#![allow(unsafe_code)]

use std::mem::offset_of;

use super::BlocksInOrder;
use super::machine::{Group, Keys, Machine};

struct State<M: Machine, const G: usize> {
    /// The MAC, before the last round.
    mac: [M::Block; G],
    /// The block that it takes next, folded.
    next: [M::Block; G],
    /// The lanes for which there is such a block.
    due: [u8; G],
    /// Counter block 0, whitened.
    base: [M::Block; G],
    /// What masks the MIC.
    mask: [M::Block; G],
}

/// Seals or opens the payloads of a group in place and returns the MIC of each register's lanes.
#[inline(always)]
pub(super) fn ccm<M: Machine, K: Keys<M>, const G: usize, const OPEN: bool>(
    m: M,
    keys: &K,
    group: &mut Group<'_, G>,
) -> [M::Block; G] {
    let mut s = State::<M, G> {
        mac: [m.zero(); G],
        next: [m.zero(); G],
        due: [M::ALL; G],
        base: [m.zero(); G],
        mask: [m.zero(); G],
    };
    for g in 0..group.registers {
        // SAFETY: these addresses are those of `BlocksInOrder`, and the offsets lie within.
        let [b0, base, aad_1, aad_2] = unsafe {
            [
                m.gather(&group.blocks_of[g], offset_of!(BlocksInOrder, first)),
                m.gather(&group.blocks_of[g], offset_of!(BlocksInOrder, counter)),
                m.gather(&group.blocks_of[g], offset_of!(BlocksInOrder, aad_1)),
                m.gather(&group.blocks_of[g], offset_of!(BlocksInOrder, aad_2)),
            ]
        };
        s.base[g] = keys.whiten(m, g, base);
        let mut mac = [keys.whiten(m, g, b0)];
        let mut mask = [s.base[g]];
        keys.rounds(m, g, &mut mac, &mut mask);
        s.mask[g] = keys.join(m, mask[0], keys.last(g));
        mac[0] = keys.join(m, mac[0], keys.fold(m, g, aad_1));
        keys.rounds_of(m, g, &mut mac);
        s.mac[g] = mac[0];
        s.next[g] = keys.fold(m, g, aad_2);
    }

    let mut block = 0;
    for registers in (1..=group.registers).rev() {
        let (whole, end) = (group.whole[registers - 1], group.blocks[registers - 1]);
        if block < whole {
            // SAFETY: every lane of these registers has all blocks up to `whole`.
            unsafe { whole_blocks_of::<M, K, G, OPEN>(m, keys, group, &mut s, registers, block..whole) };
            block = whole;
        }
        while block < end {
            for g in 0..registers {
                // SAFETY: a payload of a `Group` has the octets that `Group::left` says, and 16 more before it.
                unsafe { edge::<M, K, G, OPEN>(m, keys, group, &mut s, g, block) };
            }
            block += 1;
        }
    }

    let mut mics = [m.zero(); G];
    for g in 0..group.registers {
        absorb_due::<M, K, G>(m, keys, &mut s, g);
        mics[g] = m.xor(keys.join(m, s.mac[g], keys.last(g)), s.mask[g]);
    }
    mics
}

/// [`whole_blocks`] with the number of registers known to the compiler.
#[inline(always)]
unsafe fn whole_blocks_of<M: Machine, K: Keys<M>, const G: usize, const OPEN: bool>(
    m: M,
    keys: &K,
    group: &Group<'_, G>,
    s: &mut State<M, G>,
    registers: usize,
    blocks: std::ops::Range<usize>,
) {
    // SAFETY: as the caller promises.
    unsafe {
        match registers {
            1 => whole_blocks::<M, K, G, 1, OPEN>(m, keys, group, s, blocks),
            2 if G >= 2 => whole_blocks::<M, K, G, 2, OPEN>(m, keys, group, s, blocks),
            3 if G >= 3 => whole_blocks::<M, K, G, 3, OPEN>(m, keys, group, s, blocks),
            4 if G >= 4 => whole_blocks::<M, K, G, 4, OPEN>(m, keys, group, s, blocks),
            5 if G >= 5 => whole_blocks::<M, K, G, 5, OPEN>(m, keys, group, s, blocks),
            6 if G >= 6 => whole_blocks::<M, K, G, 6, OPEN>(m, keys, group, s, blocks),
            7 if G >= 7 => whole_blocks::<M, K, G, 7, OPEN>(m, keys, group, s, blocks),
            8 if G >= 8 => whole_blocks::<M, K, G, 8, OPEN>(m, keys, group, s, blocks),
            _ => unreachable!("a group has 1 to {G} registers"),
        }
    }
}

/// Steps for blocks that every lane of the first `N` registers has whole.
#[inline(always)]
unsafe fn whole_blocks<M: Machine, K: Keys<M>, const G: usize, const N: usize, const OPEN: bool>(
    m: M,
    keys: &K,
    group: &Group<'_, G>,
    s: &mut State<M, G>,
    blocks: std::ops::Range<usize>,
) {
    let mut mac = [m.zero(); N];
    let mut next = [m.zero(); N];
    let mut base = [m.zero(); N];
    mac.copy_from_slice(&s.mac[..N]);
    next.copy_from_slice(&s.next[..N]);
    base.copy_from_slice(&s.base[..N]);
    for block in blocks {
        let mut stream = [m.zero(); N];
        let counter = m.counter(block as u16 + 1);
        for g in 0..N {
            stream[g] = m.xor(base[g], counter);
            mac[g] = keys.join(m, mac[g], next[g]);
        }
        keys.rounds(m, 0, &mut mac, &mut stream);
        for g in 0..N {
            // SAFETY: as the caller promises.
            let text = unsafe { m.gather(&group.payload[g], 16 * block) };
            let out = keys.join(m, stream[g], m.xor(keys.last(g), text));
            // SAFETY: as the caller promises.
            unsafe { m.scatter(&group.payload[g], 16 * block, out) };
            next[g] = keys.fold(m, g, if OPEN { out } else { text });
        }
    }
    s.mac[..N].copy_from_slice(&mac);
    s.next[..N].copy_from_slice(&next);
}

/// The MAC of register `g` takes the block that is due, in the lanes where one is.
#[inline(always)]
fn absorb_due<M: Machine, K: Keys<M>, const G: usize>(m: M, keys: &K, s: &mut State<M, G>, g: usize) {
    let mut mac = [keys.join(m, s.mac[g], s.next[g])];
    keys.rounds_of(m, g, &mut mac);
    s.mac[g] = m.select(s.due[g], mac[0], s.mac[g]);
    s.due[g] = 0;
}

/// One step of register `g` at a block that some lane has only in part or not at all.
#[inline(always)]
unsafe fn edge<M: Machine, K: Keys<M>, const G: usize, const OPEN: bool>(
    m: M,
    keys: &K,
    group: &Group<'_, G>,
    s: &mut State<M, G>,
    g: usize,
    block: usize,
) {
    let (left, some) = group.left(g, block, M::LANES);
    let mut mac = [keys.join(m, s.mac[g], s.next[g])];
    let mut stream = [m.xor(s.base[g], m.counter(block as u16 + 1))];
    keys.rounds(m, g, &mut mac, &mut stream);
    s.mac[g] = m.select(s.due[g], mac[0], s.mac[g]);
    // SAFETY: as the caller promises.
    let text = unsafe { m.gather_edge(&group.payload[g], 16 * block, &left) };
    let out = keys.join(m, stream[0], m.xor(keys.last(g), text));
    // SAFETY: as the caller promises.
    let out = unsafe { m.scatter_edge(&group.payload[g], 16 * block, &left, out) };
    s.next[g] = keys.fold(m, g, if OPEN { out } else { text });
    s.due[g] = some;
}
