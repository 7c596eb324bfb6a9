//! GCM over several frames (NIST SP 800-38D; IEEE 802.11-2020 12.5.5.3): GHASH and CTR interleaved.
//!
//! Nothing in GCM is serial within a frame, so a register holds a *chunk*: `LANES` consecutive blocks of one frame.
//! Several frames are processed together only to keep the CPU busy. Block i of a frame is block i of GHASH and the
//! block with count i of CTR:
//!
//! ```text
//!  block    0        1                 2, 3, ...    last
//!  GHASH    AAD 1    AAD 2             ciphertext   lengths
//!  CTR      unused   J0 masks the MIC  payload
//! ```
//! GHASH runs one step behind CTR, so that sealing, where GHASH takes the output of CTR, has the same structure as
//! opening.
//!
//! Each lane has its own hash, over every `LANES`th block, until the end: one chunk advances it by `LANES` powers of
//! the hash key. Products are summed over runs of chunks and reduced once per run. At the end each lane is multiplied
//! by the power given by the distance of its last block from the end of the frame, and the lanes are summed.
//!
//! On x86-64, `gcm_pipeline` takes the place of this kernel.
#![allow(unsafe_code)]

use core::mem::offset_of;
use core::ops::Range;

use super::BlocksInOrder;
use super::machine::{Keys, Machine, Row, Rows};
use super::pass::{Pass, SEAL, authenticates, enciphers};
use super::polyval::POWERS;

/// Octets of the blocks before the payload.
const AHEAD: usize = 32;

/// State of one frame.
#[derive(Clone, Copy)]
struct State<M: Machine> {
    /// The hash of each lane, which is added to `next`.
    hash: M::Block,
    /// The next chunk of GHASH.
    next: M::Block,
    /// Counter block 0, whitened, in each lane.
    base: M::Block,
    /// The mask of the MIC.
    mask: u128,
}

/// Makes a pass over the payloads of a group, longest first, in place and returns their MICs.
///
/// The first and last chunks of all frames pass each stage together, because a single frame would wait at every stage.
/// Rows without a frame repeat the last frame and write the same octets.
#[inline(always)]
pub(super) fn gcm<M: Machine, K: Keys<M>, const G: usize, const U: usize, const PASS: Pass>(
    m: M,
    keys: &K,
    group: &mut Rows<'_, G>,
) -> [[u8; 16]; G] {
    let mut s = first_chunks::<M, K, G, PASS>(m, keys, &group.rows);

    let rows = &group.rows[..group.count];
    // With one lane, the AAD takes two chunks.
    let mut chunk = if M::LANES == 1 { 2 } else { 1 };
    for count in (1..=rows.len()).rev() {
        let whole = (AHEAD + rows[count - 1].len) / (16 * M::LANES);
        let wide = whole.saturating_sub(chunk) / U * U;
        // SAFETY: `Rows` are sorted longest first, so each of these rows has all chunks up to `whole`.
        unsafe {
            chunks_of::<M, K, G, U, PASS>(m, keys, &rows[..count], &mut s, chunk..chunk + wide);
            chunk += wide;
            if U > 1 && chunk < whole {
                chunks_of::<M, K, G, 1, PASS>(m, keys, &rows[..count], &mut s, chunk..whole);
                chunk = whole;
            }
        }
    }

    last_chunks::<M, K, G, PASS>(m, keys, &group.rows, &s)
}

/// Processes the AAD, the mask of the MIC and the part of the payload in the same chunk.
#[inline(always)]
fn first_chunks<M: Machine, K: Keys<M>, const G: usize, const PASS: Pass>(
    m: M,
    keys: &K,
    rows: &[Row<'_>; G],
) -> [State<M>; G] {
    let mut s = [State::<M> {
        hash: m.zero(),
        next: m.zero(),
        base: m.zero(),
        mask: 0,
    }; G];
    let counters = if M::LANES == 1 {
        m.counter(1)
    } else {
        m.counters(0)
    };
    let mut stream = [m.zero(); G];
    for g in 0..G {
        let block = rows[g].block(offset_of!(BlocksInOrder, counter));
        s[g].base = keys.whiten(m, g, m.splat(block));
        stream[g] = m.xor(s[g].base, counters);
    }
    keys.rounds_of(m, 0, &mut stream, 0);
    let mut hashed = [m.zero(); G];
    for g in 0..G {
        let aad = rows[g].block_pair(offset_of!(BlocksInOrder, aad_1));
        if M::LANES == 1 && authenticates(PASS) {
            let first = m.ghash_order(m.splat(&aad[0]));
            s[g].hash = m.reduce(m.multiply(m.no_products(), first, m.splat(rows[g].key.power(1))));
            hashed[g] = m.splat(&aad[1]);
        } else if authenticates(PASS) {
            hashed[g] = m.first_lanes(&aad);
        }
        let mask = m.lanes(keys.join(m, stream[g], keys.last(g)))[usize::from(M::LANES > 1)];
        s[g].mask = u128::from_ne_bytes(mask);
    }
    if M::LANES > 2 {
        let mut text = [m.zero(); G];
        let span = |g: usize| AHEAD..AHEAD + rows[g].len.min(16 * M::LANES - AHEAD);
        for g in 0..G {
            // SAFETY: the span lies in the row's payload, which has a header before it.
            text[g] = unsafe { m.load_span(rows[g].payload.wrapping_sub(AHEAD), span(g)) };
        }
        for g in 0..G {
            let mut out = text[g];
            if enciphers(PASS) {
                out = keys.join(m, stream[g], m.xor(keys.last(g), out));
                // SAFETY: the span lies in the row's payload, which has a header before it.
                out = unsafe { m.store_span(rows[g].payload.wrapping_sub(AHEAD), span(g), out) };
            }
            hashed[g] = m.xor(hashed[g], if PASS == SEAL { out } else { text[g] });
        }
    }
    for g in 0..G {
        s[g].next = m.ghash_order(hashed[g]);
    }
    s
}

/// Calls [`chunks`] with the number of frames as a constant.
///
/// # Safety
/// All chunks of the range are whole in every row, and none contains the AAD.
#[inline(always)]
unsafe fn chunks_of<M: Machine, K: Keys<M>, const G: usize, const U: usize, const PASS: Pass>(
    m: M,
    keys: &K,
    rows: &[Row<'_>],
    s: &mut [State<M>; G],
    range: Range<usize>,
) {
    if range.is_empty() {
        return;
    }
    // SAFETY: the caller promises what `chunks` requires.
    unsafe {
        match rows.len() {
            1 => chunks::<M, K, G, 1, U, PASS>(m, keys, rows, s, range),
            2 if G >= 2 => chunks::<M, K, G, 2, U, PASS>(m, keys, rows, s, range),
            3 if G >= 3 => chunks::<M, K, G, 3, U, PASS>(m, keys, rows, s, range),
            4 if G >= 4 => chunks::<M, K, G, 4, U, PASS>(m, keys, rows, s, range),
            _ => unreachable!("a group has 1 to {G} frames, at most 4"),
        }
    }
}

/// Processes chunks, a multiple of `U`, that are whole in the first `N` frames.
///
/// # Safety
/// All chunks of the range are whole in the first `N` rows, and none contains the AAD.
#[inline(always)]
unsafe fn chunks<M: Machine, K: Keys<M>, const G: usize, const N: usize, const U: usize, const PASS: Pass>(
    m: M,
    keys: &K,
    rows: &[Row<'_>],
    s: &mut [State<M>; G],
    range: Range<usize>,
) {
    let mut hash = [m.zero(); N];
    // The chunks of the previous step. Before the first step, this is one chunk after zeros.
    let mut next = [[m.zero(); N]; U];
    for g in 0..N {
        next[U - 1][g] = m.xor(s[g].next, s[g].hash);
    }
    let mut chunk = range.start;
    while chunk < range.end {
        let run = (range.end - chunk).min(POWERS / M::LANES / U * U);
        let mut sums = [m.no_products(); N];
        for g in 0..N {
            next[0][g] = m.xor(next[0][g], hash[g]);
        }
        for place in (U..=run).rev().step_by(U) {
            let mut stream = [[m.zero(); N]; U];
            for u in 0..U {
                let counters = m.counters((M::LANES * (chunk + u)) as u16);
                for g in 0..N {
                    stream[u][g] = m.xor(s[g].base, counters);
                }
            }
            // The products do not depend on other work here: they fill the gaps between the rounds, which depend on
            // each other.
            for round in 0..K::ROUNDS {
                if enciphers(PASS) {
                    for stream in &mut stream {
                        keys.round_of(m, 0, round, stream);
                    }
                }
                if authenticates(PASS) && round < N * U {
                    add_product::<M, N, U>(m, rows, &mut sums, &next, place, round);
                }
            }
            if authenticates(PASS) {
                for product in K::ROUNDS..N * U {
                    add_product::<M, N, U>(m, rows, &mut sums, &next, place, product);
                }
            }
            for u in 0..U {
                for g in 0..N {
                    let at = rows[g].payload.wrapping_add(16 * M::LANES * (chunk + u) - AHEAD);
                    // SAFETY: the caller promises that this chunk of the row is whole.
                    let text = unsafe { m.load(at) };
                    let mut out = text;
                    if enciphers(PASS) {
                        out = keys.join(m, stream[u][g], m.xor(keys.last(g), text));
                        // SAFETY: the caller promises that this chunk of the row is whole.
                        unsafe { m.store(at, out) };
                    }
                    next[u][g] = m.ghash_order(if PASS == SEAL { out } else { text });
                }
            }
            chunk += U;
        }
        for g in 0..N {
            if authenticates(PASS) {
                hash[g] = m.reduce(sums[g]);
            }
        }
    }
    // Hash all remaining chunks except the last.
    for g in 0..N {
        if U > 1 && authenticates(PASS) {
            next[0][g] = m.xor(next[0][g], hash[g]);
            let mut sum = m.no_products();
            for u in 0..U - 1 {
                let power = m.splat(rows[g].key.power((U - 1 - u) * M::LANES));
                sum = m.multiply(sum, next[u][g], power);
            }
            hash[g] = m.reduce(sum);
        }
        s[g].hash = hash[g];
        s[g].next = next[U - 1][g];
    }
}

/// Adds the product of chunk `which / N` of frame `which % N`, `place` chunks before the end of the run.
#[inline(always)]
fn add_product<M: Machine, const N: usize, const U: usize>(
    m: M,
    rows: &[Row<'_>],
    sums: &mut [M::Products; N],
    next: &[[M::Block; N]; U],
    place: usize,
    which: usize,
) {
    let (u, g) = (which / N, which % N);
    let power = m.splat(rows[g].key.power((place - u) * M::LANES));
    sums[g] = m.multiply(sums[g], m.pin(next[u][g]), power);
}

/// Processes the partial chunks, with the lengths blocks in their first free lanes, and returns the MICs.
#[inline(always)]
fn last_chunks<M: Machine, K: Keys<M>, const G: usize, const PASS: Pass>(
    m: M,
    keys: &K,
    rows: &[Row<'_>; G],
    s: &[State<M>; G],
) -> [[u8; 16]; G] {
    let chunks = |g: usize| (AHEAD + rows[g].len) / (16 * M::LANES);
    // Octets after the whole chunks; 0 if the first chunk is partial, because it is already processed.
    let left = |g: usize| {
        if chunks(g) == 0 {
            0
        } else {
            (AHEAD + rows[g].len) % (16 * M::LANES)
        }
    };

    let mut hashed = [m.zero(); G];
    if (0..G).any(|g| left(g) > 0) {
        let (mut stream, mut text) = ([m.zero(); G], [m.zero(); G]);
        let at = |g: usize| rows[g].payload.wrapping_add(rows[g].len - left(g));
        for g in 0..G {
            stream[g] = m.xor(s[g].base, m.counters((M::LANES * chunks(g)) as u16));
            // SAFETY: the span lies in the row's payload, which has a header before it.
            text[g] = unsafe { m.load_span(at(g), 0..left(g)) };
        }
        if enciphers(PASS) {
            keys.rounds_of(m, 0, &mut stream, 0);
        }
        for g in 0..G {
            let mut out = text[g];
            if enciphers(PASS) {
                out = keys.join(m, stream[g], m.xor(keys.last(g), out));
                // SAFETY: the span lies in the row's payload, which has a header before it.
                out = unsafe { m.store_span(at(g), 0..left(g), out) };
            }
            hashed[g] = m.ghash_order(if PASS == SEAL { out } else { text[g] });
        }
    }
    if !authenticates(PASS) {
        return [[0; 16]; G];
    }

    let mut sums = [m.no_products(); G];
    for g in 0..G {
        // The lengths block has power 1, the block before it 2, and so on. If no lane is free, it has a chunk of its
        // own.
        let blocks = ((AHEAD + rows[g].len) % (16 * M::LANES)).div_ceil(16);
        let lengths = rows[g].block(offset_of!(BlocksInOrder, first));
        let lengths = m.ghash_order(m.one_lane(blocks % M::LANES, lengths));
        if blocks < M::LANES {
            hashed[g] = m.xor(hashed[g], lengths);
        } else {
            sums[g] = m.multiply(sums[g], lengths, m.powers(rows[g].key, 1));
        }
        if chunks(g) == 0 {
            hashed[g] = m.xor(hashed[g], s[g].next);
        } else {
            let power = m.powers(rows[g].key, blocks + 1 + M::LANES);
            sums[g] = m.multiply(sums[g], m.xor(s[g].hash, s[g].next), power);
        }
        sums[g] = m.multiply(sums[g], hashed[g], m.powers(rows[g].key, blocks + 1));
    }
    let mut hash = [m.zero(); G];
    for g in 0..G {
        hash[g] = m.reduce(sums[g]);
    }
    for g in 0..G {
        hash[g] = m.ghash_order(m.add_lanes(hash[g]));
    }
    let mut mics = [[0; 16]; G];
    for g in 0..G {
        let hash = u128::from_ne_bytes(m.lanes(hash[g])[0]);
        mics[g] = (hash ^ s[g].mask).to_ne_bytes();
    }
    mics
}
