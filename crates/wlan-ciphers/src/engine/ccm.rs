//! CCM over a group of frames (RFC 3610; IEEE 802.11-2020 12.5.3.3): CBC-MAC and CTR side by side, in lock step.
//!
//! ```text
//!  step       sealing: MAC    CTR            opening: MAC    CTR
//!  start      B0, AAD 1, 2    A0             B0, AAD 1, 2    A0
//!  0          chunk 0                                        chunk 0
//!  t          chunk t         chunk t - 1    chunk t - 1     chunk t
//!  last                       last           last
//! ```
//! A0 masks the MIC. A *chunk* is as many blocks of each frame as a register has lanes. The MAC, serial within a frame,
//! takes one block of each frame at a time, a *column*. CTR takes a *row*, the chunk of one frame, which is one load and
//! one store; that needs one key for all frames. Where they have keys of their own, CTR takes columns too and shares the
//! MAC's round keys.
#![allow(unsafe_code)]

use std::mem::offset_of;
use std::ops::Range;

use super::BlocksInOrder;
use super::machine::{Group, Keys, MAX_LANES, Machine};

struct State<M: Machine, const G: usize> {
    /// The MAC, before the last round.
    mac: [M::Block; G],
    /// Counter block 0 of each lane, whitened.
    base: [M::Block; G],
    /// What masks the MIC.
    mask: [M::Block; G],
}

/// Calls a function whose last parameter is a number of registers, 1 to `G`.
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

/// Seals or opens the payloads of a group in place and returns the MIC of each register's lanes. Spends the counter blocks.
#[inline(always)]
pub(super) fn ccm<M: Machine, K: Keys<M>, const G: usize, const OPEN: bool, const ROWS: bool>(
    m: M,
    keys: &K,
    group: &mut Group<'_, G>,
) -> [M::Block; G] {
    let mut s = State::<M, G> {
        mac: [m.zero(); G],
        base: [m.zero(); G],
        mask: [m.zero(); G],
    };
    for_registers!(group.registers, start::<M, K, G, ROWS>(m, keys, group, &mut s));
    let mut from = 0;
    for registers in (1..=group.registers).rev() {
        let steps = from..group.chunks[registers - 1] + 1;
        from = steps.end.max(from);
        // SAFETY: a payload of a `Group` has `len` octets, and 32 of the header before it.
        unsafe {
            for_registers!(
                registers,
                run::<M, K, G, OPEN, ROWS>(m, keys, group, &mut s, steps)
            );
        }
    }
    let mut mics = [m.zero(); G];
    for g in 0..group.registers {
        mics[g] = m.xor(keys.join(m, s.mac[g], keys.last(g)), s.mask[g]);
    }
    mics
}

/// What comes before the payload.
#[inline(always)]
fn start<M: Machine, K: Keys<M>, const G: usize, const ROWS: bool, const N: usize>(
    m: M,
    keys: &K,
    group: &mut Group<'_, G>,
    s: &mut State<M, G>,
) {
    let gather = |g: usize, offset: usize| {
        // SAFETY: these addresses are those of `BlocksInOrder`, and the offsets lie within.
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
            // Where rows find it.
            // SAFETY: as above.
            unsafe { m.scatter(&group.blocks_of[g], offset_of!(BlocksInOrder, counter), s.base[g]) };
        }
    }
    keys.rounds(m, 0, &mut mac, &mut mask, 0);
    for offset in [offset_of!(BlocksInOrder, aad_1), offset_of!(BlocksInOrder, aad_2)] {
        for g in 0..N {
            mac[g] = keys.join(m, mac[g], keys.fold(m, g, gather(g, offset)));
        }
        keys.rounds_of(m, 0, &mut mac, 0);
    }
    for g in 0..N {
        s.mac[g] = mac[g];
        s.mask[g] = keys.join(m, mask[g], keys.last(g));
    }
}

/// What a step does.
const WHOLE: u8 = 0;
const FIRST: u8 = 1;
const LAST: u8 = 2;
const EDGE: u8 = 3;

/// Steps of the first `N` registers, of which the last has the fewest.
#[inline(always)]
unsafe fn run<M: Machine, K: Keys<M>, const G: usize, const OPEN: bool, const ROWS: bool, const N: usize>(
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
    // SAFETY: as the caller promises.
    unsafe {
        if t == 0 && whole > 0 {
            step::<M, K, G, OPEN, ROWS, FIRST, N>(m, keys, group, s, &mut mac, t);
            t = 1;
        }
        if t > 0 {
            while t < whole.min(steps.end) {
                step::<M, K, G, OPEN, ROWS, WHOLE, N>(m, keys, group, s, &mut mac, t);
                t += 1;
            }
            if t < steps.end && t == whole && group.chunks[0] == whole {
                step::<M, K, G, OPEN, ROWS, LAST, N>(m, keys, group, s, &mut mac, t);
                t += 1;
            }
        }
        while t < steps.end {
            step::<M, K, G, OPEN, ROWS, EDGE, N>(m, keys, group, s, &mut mac, t);
            t += 1;
        }
    }
    s.mac[..N].copy_from_slice(&mac);
}

/// One step. At an `EDGE` some lanes may have no chunk, or only a part of one.
#[inline(always)]
unsafe fn step<
    M: Machine,
    K: Keys<M>,
    const G: usize,
    const OPEN: bool,
    const ROWS: bool,
    const KIND: u8,
    const N: usize,
>(
    m: M,
    keys: &K,
    group: &Group<'_, G>,
    s: &State<M, G>,
    mac: &mut [M::Block; N],
    t: usize,
) {
    let chunk_b = 16 * M::LANES;
    // Where the chunks start; the one that there is none of before the first is past the end of every frame.
    let (ahead, behind) = (t * chunk_b, t.wrapping_sub(1).wrapping_mul(chunk_b));
    let (mac_at, ctr_at) = if OPEN { (behind, ahead) } else { (ahead, behind) };
    let (has_mac, has_ctr) = match KIND {
        FIRST => (!OPEN, OPEN),
        LAST => (OPEN, !OPEN),
        _ => (true, true),
    };
    let left = |g: usize, lane: usize, at: usize| group.len[g][lane].saturating_sub(at).min(chunk_b);

    // At an edge, the columns and the lanes that have a block in each.
    let mut columns = [m.square(); N];
    let mut due = [[0; MAX_LANES]; N];
    if KIND == EDGE {
        for g in 0..N {
            // SAFETY: as the caller promises.
            columns[g] = unsafe { load_edge(m, group, g, mac_at) };
            for lane in 0..M::LANES {
                for b in 0..left(g, lane, mac_at).div_ceil(16) {
                    due[g][b] |= 1 << lane;
                }
            }
        }
    }
    let mut out = [m.square(); N];
    if KIND == EDGE && !ROWS {
        for g in 0..N {
            // SAFETY: as the caller promises.
            out[g] = unsafe { load_edge(m, group, g, ctr_at) };
        }
    }
    let rows_ahead = if ROWS { K::AHEAD } else { 0 };
    let counts = keys.counts_ahead(m, m.counters((ctr_at / 16 + 1) as u16));
    for b in 0..M::LANES {
        let absorbs = has_mac && (KIND != EDGE || due.iter().any(|due| due[b] > 0));
        let enciphered = ctr_at.wrapping_add(16 * b);
        let enciphers = has_ctr
            && (KIND != EDGE
                || (0..N).any(|g| {
                    if ROWS {
                        group.len[g][b] > ctr_at
                    } else {
                        group.len[g][0] > enciphered
                    }
                }));

        let begin = || -> [M::Block; N] {
            std::array::from_fn(|g| {
                if ROWS {
                    m.xor(
                        m.splat(group.block(g, b, offset_of!(BlocksInOrder, counter))),
                        counts,
                    )
                } else {
                    m.xor(s.base[g], m.counter((enciphered / 16 + 1) as u16))
                }
            })
        };
        let before = *mac;
        if absorbs {
            for g in 0..N {
                let text = if KIND == EDGE {
                    columns[g][b]
                } else {
                    // SAFETY: as the caller promises.
                    unsafe { m.gather(&group.payload[g], mac_at + 16 * b) }
                };
                mac[g] = keys.join(m, mac[g], keys.fold(m, g, text));
            }
        }
        let stream = if absorbs && enciphers && 2 * N <= M::CHAINS {
            let mut stream = begin();
            keys.rounds(m, 0, mac, &mut stream, rows_ahead);
            stream
        } else {
            if absorbs {
                keys.rounds_of(m, 0, mac, 0);
            }
            let mut stream = begin();
            if enciphers {
                keys.rounds_of(m, 0, &mut stream, rows_ahead);
            }
            stream
        };
        for g in 0..N {
            if KIND == EDGE {
                mac[g] = m.select(due[g][b], mac[g], before[g]);
            }
            if !enciphers {
                continue;
            }
            // SAFETY: as the caller promises.
            unsafe {
                if ROWS {
                    let at = group.payload[g][b].wrapping_add(ctr_at);
                    let span = 0..left(g, b, ctr_at);
                    let text = if KIND == EDGE {
                        m.load_span(at, span.clone())
                    } else {
                        m.load(at)
                    };
                    let row = keys.join(m, stream[g], m.xor(keys.last(g), text));
                    if KIND == EDGE {
                        m.store_span(at, span, row);
                    } else {
                        m.store(at, row);
                    }
                } else if KIND == EDGE {
                    out[g][b] = keys.join(m, stream[g], m.xor(keys.last(g), out[g][b]));
                } else {
                    let text = m.gather(&group.payload[g], enciphered);
                    let column = keys.join(m, stream[g], m.xor(keys.last(g), text));
                    m.scatter(&group.payload[g], enciphered, column);
                }
            }
        }
    }
    if KIND == EDGE && !ROWS {
        for g in 0..N {
            let rows = m.turn(out[g]);
            for lane in 0..M::LANES {
                let at = group.payload[g][lane].wrapping_add(ctr_at);
                // SAFETY: as the caller promises.
                unsafe { m.store_span(at, 0..left(g, lane, ctr_at), rows[lane]) };
            }
        }
    }
}

/// The columns at octet `at` of register `g`, with zeros where there are none.
#[inline(always)]
unsafe fn load_edge<M: Machine, const G: usize>(
    m: M,
    group: &Group<'_, G>,
    g: usize,
    at: usize,
) -> M::Square {
    let mut rows = m.square();
    for lane in 0..M::LANES {
        let left = group.len[g][lane].saturating_sub(at).min(16 * M::LANES);
        // SAFETY: as the caller promises.
        rows[lane] = unsafe { m.load_span(group.payload[g][lane].wrapping_add(at), 0..left) };
    }
    m.turn(rows)
}
