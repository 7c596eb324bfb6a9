//! CCM over a group of frames (RFC 3610; IEEE 802.11-2020 12.5.3.3): CBC-MAC and CTR interleaved, in lockstep.
//!
//! ```text
//!  step       sealing: MAC    CTR            opening: MAC    CTR
//!  start      B0, AAD 1, 2    A0             B0, AAD 1, 2    A0
//!  0          chunk 0                                        chunk 0
//!  t          chunk t         chunk t - 1    chunk t - 1     chunk t
//!  last                       last           last
//! ```
//! A0 masks the MIC. A *chunk* of a frame is `LANES` consecutive blocks. The MAC, serial within a frame, processes a
//! *column*: one block of each frame. CTR processes a *row*: one chunk of one frame, with a single load and a single
//! store. Rows require one key for all frames. If the keys differ, CTR processes columns too and shares the MAC's round
//! keys.
#![allow(unsafe_code)]

use core::mem::offset_of;
use core::ops::Range;

use super::BlocksInOrder;
use super::machine::{Group, Keys, MAX_LANES, Machine};
use super::pass::{OPEN, Pass, authenticates, enciphers};

struct State<M: Machine, const G: usize> {
    /// The MAC, before the last round.
    mac: [M::Block; G],
    /// Counter block 0 of each lane, whitened.
    base: [M::Block; G],
    /// The mask of the MIC.
    mask: [M::Block; G],
    /// When opening by columns, the next input of the MAC.
    next: [M::Block; G],
    /// The lanes that have this input.
    due: [u8; G],
}

/// Calls a function whose last generic parameter is a number of registers, 1 to `G`.
macro_rules! for_registers {
    ($count:expr, $function:ident::<$($parameter:ident),*>($($argument:expr),*)) => {
        match $count {
            1 => $function::<$($parameter),*, 1>($($argument),*),
            2 if G >= 2 => $function::<$($parameter),*, 2>($($argument),*),
            3 if G >= 3 => $function::<$($parameter),*, 3>($($argument),*),
            4 if G >= 4 => $function::<$($parameter),*, 4>($($argument),*),
            5 if G >= 5 => $function::<$($parameter),*, 5>($($argument),*),
            6 if G >= 6 => $function::<$($parameter),*, 6>($($argument),*),
            7 if G >= 7 => $function::<$($parameter),*, 7>($($argument),*),
            8 if G >= 8 => $function::<$($parameter),*, 8>($($argument),*),
            _ => unreachable!("a group has 1 to {G} registers"),
        }
    };
}

/// Makes a pass over the payloads of a group in place and returns the MICs per register. Overwrites the counter blocks.
#[inline(always)]
pub(super) fn ccm<M: Machine, K: Keys<M>, const G: usize, const PASS: Pass, const ROWS: bool>(
    m: M,
    keys: &K,
    group: &mut Group<'_, G>,
) -> [M::Block; G] {
    let mut s = State::<M, G> {
        mac: [m.zero(); G],
        base: [m.zero(); G],
        mask: [m.zero(); G],
        next: [m.zero(); G],
        due: [M::ALL; G],
    };
    for_registers!(
        group.registers,
        start::<M, K, G, PASS, ROWS>(m, keys, group, &mut s)
    );
    let mut from = 0;
    for registers in (1..=group.registers).rev() {
        // With rows there is one more step, because MAC and CTR are one chunk apart.
        let steps = from..group.chunks[registers - 1] + usize::from(ROWS);
        from = from.max(steps.end);
        // SAFETY: `registers` is at most the number of registers of the group.
        unsafe {
            for_registers!(
                registers,
                run::<M, K, G, PASS, ROWS>(m, keys, group, &mut s, steps)
            );
        }
    }
    let mut mics = [m.zero(); G];
    for g in 0..group.registers {
        if PASS == OPEN && !ROWS {
            let mut mac = [s.mac[g]];
            absorb(m, keys, g, &mut mac, &[s.next[g]], Some(&[s.due[g]]), None);
            [s.mac[g]] = mac;
        }
        mics[g] = m.xor(keys.join(m, s.mac[g], keys.last(g)), s.mask[g]);
    }
    mics
}

/// Processes the blocks before the payload.
#[inline(always)]
fn start<M: Machine, K: Keys<M>, const G: usize, const PASS: Pass, const ROWS: bool, const N: usize>(
    m: M,
    keys: &K,
    group: &mut Group<'_, G>,
    s: &mut State<M, G>,
) {
    let gather = |g: usize, offset: usize| {
        // SAFETY: `g` is a register of the group, whose addresses are those of `BlocksInOrder`. The offset is that of a
        // field.
        unsafe { m.gather(&group.blocks_of[g], offset) }
    };
    let (mut mac, mut mask) = ([m.zero(); N], [m.zero(); N]);
    for g in 0..N {
        mac[g] = keys.whiten(m, g, gather(g, offset_of!(BlocksInOrder, first)));
        mask[g] = keys.whiten(m, g, gather(g, offset_of!(BlocksInOrder, counter)));
        s.base[g] = mask[g];
        if ROWS {
            for round in 0..K::AHEAD {
                let mut base = [s.base[g]];
                keys.round_of(m, g, round, &mut base);
                [s.base[g]] = base;
            }
            // `rows` reads the counter blocks from here.
            // SAFETY: the same addresses, which are writable.
            unsafe { m.scatter(&group.blocks_of[g], offset_of!(BlocksInOrder, counter), s.base[g]) };
        }
    }
    if !authenticates(PASS) {
        return;
    }
    keys.rounds(m, 0, &mut mac, &mut mask, 0);
    for offset in [offset_of!(BlocksInOrder, aad_1), offset_of!(BlocksInOrder, aad_2)] {
        for g in 0..N {
            s.next[g] = gather(g, offset);
        }
        if PASS == OPEN && !ROWS && offset == offset_of!(BlocksInOrder, aad_2) {
            break;
        }
        for g in 0..N {
            mac[g] = keys.join(m, mac[g], keys.fold(m, g, s.next[g]));
        }
        keys.rounds_of(m, 0, &mut mac, 0);
    }
    for g in 0..N {
        s.mac[g] = mac[g];
        s.mask[g] = keys.join(m, mask[g], keys.last(g));
    }
}

/// Kinds of steps by rows. `WHOLE`: every lane has both chunks in full.
const WHOLE: u8 = 0;
/// Like `WHOLE`, but without a previous chunk.
const FIRST: u8 = 1;
/// Like `WHOLE`, but without a next chunk.
const LAST: u8 = 2;
/// Some lanes may have no chunk or a partial one.
const EDGE: u8 = 3;

/// Performs steps of the first `N` registers. Register `N - 1` has the fewest chunks.
///
/// # Safety
/// `N` is at most the number of registers of the group.
#[inline(always)]
unsafe fn run<M: Machine, K: Keys<M>, const G: usize, const PASS: Pass, const ROWS: bool, const N: usize>(
    m: M,
    keys: &K,
    group: &Group<'_, G>,
    s: &mut State<M, G>,
    steps: Range<usize>,
) {
    let mut mac = [m.zero(); N];
    mac.copy_from_slice(&s.mac[..N]);
    // Chunks that every lane has in full.
    let whole = group.whole[N - 1];
    let mut t = steps.start;
    // SAFETY: the caller promises that these are registers of the group. Frames are sorted longest first, so every lane
    // up to the last of register `N - 1` has `whole` chunks in full.
    unsafe {
        if ROWS {
            if t == 0 && whole > 0 {
                rows::<M, K, G, PASS, FIRST, N>(m, keys, group, &mut mac, t);
                t = 1;
            }
            while 0 < t && t < whole.min(steps.end) {
                rows::<M, K, G, PASS, WHOLE, N>(m, keys, group, &mut mac, t);
                t += 1;
            }
            if 0 < t && t < steps.end && t == whole && whole == group.chunks[0] {
                rows::<M, K, G, PASS, LAST, N>(m, keys, group, &mut mac, t);
                t += 1;
            }
            while t < steps.end {
                rows::<M, K, G, PASS, EDGE, N>(m, keys, group, &mut mac, t);
                t += 1;
            }
        } else {
            if t < whole {
                let blocks = M::LANES * t..M::LANES * whole.min(steps.end);
                columns::<M, K, G, PASS, false, N>(m, keys, group, s, &mut mac, blocks);
                t = whole;
            }
            while t < steps.end {
                let blocks = M::LANES * t..M::LANES * (t + 1);
                columns::<M, K, G, PASS, true, N>(m, keys, group, s, &mut mac, blocks);
                t += 1;
            }
        }
    }
    s.mac[..N].copy_from_slice(&mac);
}

/// Performs one step by rows, of kind `KIND`.
///
/// # Safety
/// `N` is at most the number of registers of the group, and all their lanes have the chunks that `KIND` requires.
#[inline(always)]
unsafe fn rows<M: Machine, K: Keys<M>, const G: usize, const PASS: Pass, const KIND: u8, const N: usize>(
    m: M,
    keys: &K,
    group: &Group<'_, G>,
    mac: &mut [M::Block; N],
    t: usize,
) {
    let chunk_b = 16 * M::LANES;
    // Offsets of the two chunks. The missing chunk before the first one has an offset past the end of every frame.
    let (ahead, behind) = (t * chunk_b, t.wrapping_sub(1).wrapping_mul(chunk_b));
    let (mac_at, ctr_at) = if PASS == OPEN {
        (behind, ahead)
    } else {
        (ahead, behind)
    };
    let (has_mac, has_ctr) = match KIND {
        FIRST => (PASS != OPEN, PASS == OPEN),
        LAST => (PASS == OPEN, PASS != OPEN),
        _ => (true, true),
    };
    let (has_mac, has_ctr) = (has_mac && authenticates(PASS), has_ctr && enciphers(PASS));
    let (mut text, mut due) = ([m.square(); N], [[M::ALL; MAX_LANES]; N]);
    if KIND == EDGE && has_mac {
        for g in 0..N {
            // SAFETY: `g` is a register of the group.
            text[g] = unsafe { load_edge(m, group, g, mac_at) };
            due[g] = group.due(g, mac_at, M::LANES);
        }
    }
    let counts = keys.counts_ahead(m, m.counters((ctr_at / 16 + 1) as u16));
    for b in 0..M::LANES {
        let begin = || -> [M::Block; N] {
            core::array::from_fn(|g| {
                // SAFETY: `g` is a register of the group and `b` is below `LANES`. The block is not written here.
                let base = unsafe { group.block(g, b, offset_of!(BlocksInOrder, counter)) };
                m.xor(m.splat(base), counts)
            })
        };
        let enciphers = has_ctr && (KIND != EDGE || (0..N).any(|g| group.len[g][b] > ctr_at));
        let absorbs = has_mac && (KIND != EDGE || due.iter().any(|due| due[b] > 0));
        let aside = absorbs && enciphers && 2 * N <= M::CHAINS;
        let mut stream = if aside { begin() } else { [m.zero(); N] };
        if absorbs {
            let column: [M::Block; N] = core::array::from_fn(|g| {
                if KIND == EDGE {
                    text[g][b]
                } else {
                    // SAFETY: `g` is a register of the group, whose lanes have this block in full.
                    unsafe { m.gather(&group.payload[g], mac_at + 16 * b) }
                }
            });
            let due = core::array::from_fn(|g| due[g][b]);
            let beside = aside.then_some((&mut stream, K::AHEAD));
            absorb(m, keys, 0, mac, &column, (KIND == EDGE).then_some(&due), beside);
        }
        if !enciphers {
            continue;
        }
        if !aside {
            stream = begin();
            keys.rounds_of(m, 0, &mut stream, K::AHEAD);
        }
        for g in 0..N {
            let at = group.payload[g][b].wrapping_add(ctr_at);
            let span = 0..group.left(g, b, ctr_at).min(chunk_b);
            // SAFETY: `g` is a register of the group. At an edge the span ends with the payload; otherwise the chunk is
            // whole.
            unsafe {
                if KIND == EDGE {
                    let text = m.load_span(at, span.clone());
                    m.store_span(at, span, keys.join(m, stream[g], m.xor(keys.last(g), text)));
                } else {
                    let text = m.load(at);
                    m.store(at, keys.join(m, stream[g], m.xor(keys.last(g), text)));
                }
            }
        }
    }
}

/// Performs steps by columns, over blocks that every lane has in full. With `EDGE`, the blocks are one chunk that some
/// lanes have in part or not at all.
///
/// # Safety
/// `N` is at most the number of registers of the group. Without `EDGE`, all their lanes have the blocks in full.
#[inline(always)]
unsafe fn columns<
    M: Machine,
    K: Keys<M>,
    const G: usize,
    const PASS: Pass,
    const EDGE: bool,
    const N: usize,
>(
    m: M,
    keys: &K,
    group: &Group<'_, G>,
    s: &mut State<M, G>,
    mac: &mut [M::Block; N],
    blocks: Range<usize>,
) {
    let at = 16 * blocks.start;
    let (mut text, mut due) = ([m.square(); N], [[M::ALL; MAX_LANES]; N]);
    if EDGE {
        for g in 0..N {
            // SAFETY: `g` is a register of the group.
            text[g] = unsafe { load_edge(m, group, g, at) };
            due[g] = group.due(g, at, M::LANES);
        }
    }
    let begin = |block: usize| -> [M::Block; N] {
        let count = m.counter((block + 1) as u16);
        core::array::from_fn(|g| m.xor(s.base[g], count))
    };
    if EDGE && PASS == OPEN {
        // Octets after the end of a frame must be zeroed before they enter the MAC.
        for b in 0..M::LANES {
            let mut stream = begin(blocks.start + b);
            keys.rounds_of(m, 0, &mut stream, 0);
            for g in 0..N {
                text[g][b] = keys.join(m, stream[g], m.xor(keys.last(g), text[g][b]));
            }
        }
        for g in 0..N {
            // SAFETY: `g` is a register of the group.
            text[g] = unsafe { store_edge(m, group, g, at, text[g]) };
        }
    }
    let (mut next, mut next_due) = ([m.zero(); N], [0; N]);
    next.copy_from_slice(&s.next[..N]);
    next_due.copy_from_slice(&s.due[..N]);
    for block in blocks.clone() {
        let b = if EDGE { block - blocks.start } else { 0 };
        let column: [M::Block; N] = core::array::from_fn(|g| {
            if EDGE {
                text[g][b]
            } else {
                // SAFETY: `g` is a register of the group, whose lanes have this block in full.
                unsafe { m.gather(&group.payload[g], 16 * block) }
            }
        });
        let column_due = core::array::from_fn(|g| due[g][b]);
        if PASS != OPEN {
            (next, next_due) = (column, column_due);
        }
        let due = EDGE.then_some(&next_due);
        if EDGE && PASS == OPEN {
            absorb(m, keys, 0, mac, &next, due, None);
            (next, next_due) = (column, column_due);
            continue;
        }
        let mut stream = begin(block);
        absorb(m, keys, 0, mac, &next, due, Some((&mut stream, 0)));
        for g in 0..N {
            let out = keys.join(m, stream[g], m.xor(keys.last(g), column[g]));
            if EDGE {
                text[g][b] = out;
            } else {
                // SAFETY: `g` is a register of the group, whose lanes have this block in full.
                unsafe { m.scatter(&group.payload[g], 16 * block, out) };
                next[g] = out;
            }
        }
        if PASS == OPEN {
            next_due = column_due;
        }
    }
    s.next[..N].copy_from_slice(&next);
    s.due[..N].copy_from_slice(&next_due);
    if EDGE && PASS != OPEN {
        for g in 0..N {
            // SAFETY: `g` is a register of the group.
            unsafe { store_edge(m, group, g, at, text[g]) };
        }
    }
}

/// The MAC absorbs `next`, in the lanes `due` if given. The rounds are interleaved with those of the counter blocks
/// `beside` if given, whose second value is the number of rounds already done.
#[inline(always)]
fn absorb<M: Machine, K: Keys<M>, const N: usize>(
    m: M,
    keys: &K,
    first: usize,
    mac: &mut [M::Block; N],
    next: &[M::Block; N],
    due: Option<&[u8; N]>,
    beside: Option<(&mut [M::Block; N], usize)>,
) {
    let before = *mac;
    for i in 0..N {
        mac[i] = keys.join(m, mac[i], keys.fold(m, first + i, next[i]));
    }
    match beside {
        Some((stream, ahead)) => keys.rounds(m, first, mac, stream, ahead),
        None => keys.rounds_of(m, first, mac, 0),
    }
    if let Some(due) = due {
        for i in 0..N {
            mac[i] = m.select(due[i], mac[i], before[i]);
        }
    }
}

/// The columns at octet `at` of register `g`, zero after the end of each payload.
///
/// # Safety
/// `g` is a register of the group.
#[inline(always)]
unsafe fn load_edge<M: Machine, const G: usize>(
    m: M,
    group: &Group<'_, G>,
    g: usize,
    at: usize,
) -> M::Square {
    let mut rows = m.square();
    for lane in 0..M::LANES {
        let span = 0..group.left(g, lane, at).min(16 * M::LANES);
        // SAFETY: `g` is a register of the group. The span ends with the lane's payload.
        rows[lane] = unsafe { m.load_span(group.payload[g][lane].wrapping_add(at), span) };
    }
    m.turn(rows)
}

/// Writes the columns at octet `at` of register `g`, and returns them with zeros after the end of each payload.
///
/// # Safety
/// `g` is a register of the group.
#[inline(always)]
unsafe fn store_edge<M: Machine, const G: usize>(
    m: M,
    group: &Group<'_, G>,
    g: usize,
    at: usize,
    columns: M::Square,
) -> M::Square {
    let mut rows = m.turn(columns);
    for lane in 0..M::LANES {
        let span = 0..group.left(g, lane, at).min(16 * M::LANES);
        // SAFETY: `g` is a register of the group. The span ends with the lane's payload.
        rows[lane] = unsafe { m.store_span(group.payload[g][lane].wrapping_add(at), span, rows[lane]) };
    }
    m.turn(rows)
}
