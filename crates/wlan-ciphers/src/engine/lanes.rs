//! Enhanced CCMP: CCM whose CBC-MAC is split into lanes within one frame (`docs/explanation/enhanced-ccmp.md`).
//!
//! The blocks that CCM authenticates after B0 are assigned to `L` lanes in turn, so that a chunk of `L` consecutive
//! blocks is one step of all lanes. Each lane starts from its own B0, and the MIC is the XOR of the lanes. As in `gcm`,
//! block i of a frame is block i of the MAC. CTR uses count i - 1 for it:
//!
//! ```text
//!  block    0        1                 2, 3, ...
//!  MAC      AAD 1    AAD 2             plaintext
//!  CTR      unused   A0 masks the MIC  A1, A2, ... payload
//! ```
//! The MAC runs one chunk behind CTR, so that opening has the same structure as sealing.
#![allow(unsafe_code)]

use core::mem::offset_of;
use core::ops::Range;

use super::machine::{Keys, MAX_LANES, Machine, Row};
use super::pass::{OPEN, Pass, authenticates, enciphers};
use super::portable::{Portable, SlicedKeys};
use super::{BlocksInOrder, Frame, array};

/// Octets of the blocks before the payload.
const AHEAD: usize = 32;

/// The difference between the B0 blocks of the lanes: the lane's number, in bits 2 to 4 of the flags.
const NUMBERS: [[u8; 16]; MAX_LANES] = {
    let mut numbers = [[0; 16]; MAX_LANES];
    let mut lane = 0;
    while lane < MAX_LANES {
        numbers[lane][0] = (lane << 2) as u8;
        lane += 1;
    }
    numbers
};

/// The state of `N` registers: `N / R` frames of `R` registers each, with equal numbers of whole chunks.
struct State<M: Machine, const N: usize> {
    mac: [M::Block; N],
    /// The next input of the MAC, folded.
    next: [M::Block; N],
    /// The lanes that have this input.
    due: [u8; N],
    /// Counter block 0, whitened.
    base: [M::Block; N],
}

/// Number of whole chunks of a frame with `lanes` lanes and a payload of `len` octets.
pub(super) fn whole_chunks(lanes: usize, len: usize) -> usize {
    (AHEAD + len) / (16 * lanes)
}

/// Makes a pass over the payloads of frames in place and returns their MICs.
///
/// # Safety
/// There are at most `N / R` rows, with equal numbers of whole chunks.
#[inline(always)]
pub(super) unsafe fn lanes<M: Machine, K: Keys<M>, const R: usize, const N: usize, const PASS: Pass>(
    m: M,
    keys: &K,
    rows: &mut [Row<'_>],
    mics: &mut [[u8; 16]],
) {
    let count = R * M::LANES;
    let mut s = State::<M, N> {
        mac: [m.zero(); N],
        next: [m.zero(); N],
        due: [0; N],
        base: [m.zero(); N],
    };
    for i in 0..N {
        let row = &rows[i / R];
        let numbers = NUMBERS[i % R * M::LANES..].as_ptr().cast();
        // SAFETY: the registers of a frame have at most `MAX_LANES` lanes in total, so each lane's number is readable.
        let numbers = unsafe { m.load(numbers) };
        let first = m.xor(m.splat(row.block(offset_of!(BlocksInOrder, first))), numbers);
        s.mac[i] = keys.whiten(m, i, first);
        s.base[i] = keys.whiten(m, i, m.splat(row.block(offset_of!(BlocksInOrder, counter))));
    }
    let mut stream = counters::<M, N>(m, &s.base, R, 0);
    if authenticates(PASS) {
        keys.rounds(m, 0, &mut s.mac, &mut stream, 0);
    } else {
        keys.rounds_of(m, 0, &mut stream, 0);
    }
    let mut masks = [0; N];
    for (f, row) in rows.iter().enumerate() {
        // The second lane's count gives A0.
        let (register, lane) = if M::LANES == 1 { (f * R + 1, 0) } else { (f * R, 1) };
        let mask = keys.join(m, stream[register], keys.last(register));
        masks[f] = u128::from_ne_bytes(m.lanes(mask)[lane]);
        let aad = row.block_pair(offset_of!(BlocksInOrder, aad_1));
        if M::LANES == 1 {
            s.next[f * R] = m.splat(&aad[0]);
            s.next[f * R + 1] = m.splat(&aad[1]);
            s.due[f * R] = 1;
            s.due[f * R + 1] = 1;
        } else {
            s.next[f * R] = m.first_lanes(&aad);
            s.due[f * R] = 0b11;
        }
    }
    partial_chunk::<M, K, R, N, PASS>(m, keys, rows, &mut s, &stream, 0);

    let whole = whole_chunks(count, rows[0].len);
    if whole > 1 {
        // SAFETY: the caller promises that all rows have as many whole chunks as the first row.
        unsafe { chunks::<M, K, R, N, PASS>(m, keys, rows, &mut s, 1..whole) };
    }
    if whole > 0
        && rows
            .iter()
            .any(|row| !(AHEAD + row.len).is_multiple_of(16 * count))
    {
        let mut stream = counters::<M, N>(m, &s.base, R, whole);
        absorb::<M, K, PASS, N>(m, keys, &mut s, enciphers(PASS).then_some(&mut stream));
        s.next = [m.zero(); N];
        s.due = [0; N];
        partial_chunk::<M, K, R, N, PASS>(m, keys, rows, &mut s, &stream, whole);
    }
    if !authenticates(PASS) {
        return;
    }
    absorb::<M, K, PASS, N>(m, keys, &mut s, None);

    for (f, mic) in mics.iter_mut().enumerate().take(rows.len()) {
        let mut sum = m.zero();
        for i in f * R..(f + 1) * R {
            sum = m.xor(sum, keys.join(m, s.mac[i], keys.last(i)));
        }
        let sum = u128::from_ne_bytes(m.lanes(m.add_lanes(sum))[0]);
        *mic = (sum ^ masks[f]).to_ne_bytes();
    }
}

/// The counter blocks of a chunk, whitened. In chunk 0 the count of the first lane is one below that of A0.
#[inline(always)]
fn counters<M: Machine, const N: usize>(m: M, base: &[M::Block; N], r: usize, chunk: usize) -> [M::Block; N] {
    let mut stream = *base;
    for (i, block) in stream.iter_mut().enumerate() {
        let count = ((chunk * r + i % r) * M::LANES) as u16;
        *block = m.xor(*block, m.counters(count.wrapping_sub(1)));
    }
    stream
}

/// The MAC absorbs the blocks that are due, interleaved with the rounds of `stream` if given.
#[inline(always)]
fn absorb<M: Machine, K: Keys<M>, const PASS: Pass, const N: usize>(
    m: M,
    keys: &K,
    s: &mut State<M, N>,
    stream: Option<&mut [M::Block; N]>,
) {
    if !authenticates(PASS) {
        if let Some(stream) = stream {
            keys.rounds_of(m, 0, stream, 0);
        }
        return;
    }
    let mut mac = [m.zero(); N];
    for i in 0..N {
        mac[i] = keys.join(m, s.mac[i], s.next[i]);
    }
    match stream {
        Some(stream) => keys.rounds(m, 0, &mut mac, stream, 0),
        None => keys.rounds_of(m, 0, &mut mac, 0),
    }
    for i in 0..N {
        s.mac[i] = m.select(s.due[i], mac[i], s.mac[i]);
    }
}

/// Processes chunks that are whole in every frame.
///
/// # Safety
/// All chunks of the range are whole in every row, and none contains the AAD.
#[inline(always)]
unsafe fn chunks<M: Machine, K: Keys<M>, const R: usize, const N: usize, const PASS: Pass>(
    m: M,
    keys: &K,
    rows: &[Row<'_>],
    s: &mut State<M, N>,
    range: Range<usize>,
) {
    let (mut mac, mut next) = (s.mac, s.next);
    for i in 0..N {
        // The first chunk lacks blocks in some lanes only if it is also the last chunk.
        debug_assert_eq!(s.due[i], M::ALL);
    }
    for chunk in range {
        let mut stream = counters::<M, N>(m, &s.base, R, chunk);
        if authenticates(PASS) {
            for i in 0..N {
                mac[i] = keys.join(m, mac[i], next[i]);
            }
        }
        match (authenticates(PASS), enciphers(PASS)) {
            (true, true) => keys.rounds(m, 0, &mut mac, &mut stream, 0),
            (true, false) => keys.rounds_of(m, 0, &mut mac, 0),
            _ => keys.rounds_of(m, 0, &mut stream, 0),
        }
        for i in 0..N {
            let at = 16 * M::LANES * (chunk * R + i % R) - AHEAD;
            let at = rows[i / R].payload.wrapping_add(at);
            // SAFETY: the caller promises that this chunk of the row is whole.
            let text = unsafe { m.load(at) };
            let mut out = text;
            if enciphers(PASS) {
                out = keys.join(m, stream[i], m.xor(keys.last(i), text));
                // SAFETY: the caller promises that this chunk of the row is whole.
                unsafe { m.store(at, out) };
            }
            next[i] = keys.fold(m, i, if PASS == OPEN { out } else { text });
        }
    }
    (s.mac, s.next) = (mac, next);
}

/// Processes a chunk that some lanes have in part or not at all: adds its blocks to `next` and `due`, and folds `next`.
#[inline(always)]
fn partial_chunk<M: Machine, K: Keys<M>, const R: usize, const N: usize, const PASS: Pass>(
    m: M,
    keys: &K,
    rows: &[Row<'_>],
    s: &mut State<M, N>,
    stream: &[M::Block; N],
    chunk: usize,
) {
    for i in 0..N {
        let row = &rows[i / R];
        // Offsets in the octets that start with the AAD.
        let start = 16 * M::LANES * (chunk * R + i % R);
        let end = (AHEAD + row.len).min(start + 16 * M::LANES);
        if AHEAD.max(start) < end {
            let span = AHEAD.max(start) - start..end - start;
            let at = row.payload.wrapping_add(start).wrapping_sub(AHEAD);
            // SAFETY: the span lies in the row's payload, which has a header before it.
            let text = unsafe { m.load_span(at, span.clone()) };
            let mut out = text;
            if enciphers(PASS) {
                out = keys.join(m, stream[i], m.xor(keys.last(i), text));
                // SAFETY: the span lies in the row's payload, which has a header before it.
                out = unsafe { m.store_span(at, span.clone(), out) };
            }
            s.next[i] = m.xor(s.next[i], if PASS == OPEN { out } else { text });
            s.due[i] |= ((1u16 << span.end.div_ceil(16)) - (1 << (span.start / 16))) as u8;
        }
        s.next[i] = keys.fold(m, i, s.next[i]);
    }
}

/// [`lanes()`] for one frame on any CPU: a register holds up to eight lanes, in order.
pub(super) fn lanes_portable<const PASS: Pass>(frame: &mut Frame<'_, '_>, lanes: usize) {
    let keys = SlicedKeys::one(Portable, frame.key);
    let BlocksInOrder {
        counter,
        first,
        aad_1,
        aad_2,
    } = frame.blocks;
    let aad = [aad_1, aad_2].map(u128::to_ne_bytes);
    let (_, payload, _) = frame.parts();

    let mut mac: [_; MAX_LANES] = array(|lane| (first ^ u128::from_ne_bytes(NUMBERS[lane])).to_ne_bytes());
    let mut due = [true; MAX_LANES];
    let mut mask = 0;
    for chunk in 0..(AHEAD + payload.len()).div_ceil(16 * lanes) {
        let mut state = [mac];
        let mut stream = [array(|lane| {
            let count = ((chunk * lanes + lane) as u16).wrapping_sub(1);
            (counter ^ u128::from(count.swap_bytes()).to_le() << 112).to_ne_bytes()
        })];
        match (authenticates(PASS), enciphers(PASS) || chunk == 0) {
            (true, true) => keys.rounds(Portable, 0, &mut state, &mut stream, 0),
            (true, false) => keys.rounds_of(Portable, 0, &mut state, 0),
            _ => keys.rounds_of(Portable, 0, &mut stream, 0),
        }
        for lane in 0..lanes {
            if due[lane] {
                mac[lane] = state[0][lane];
            }
            let block = chunk * lanes + lane;
            let mut taken = [0; 16];
            due[lane] = true;
            match block {
                0 => taken = aad[0],
                1 => {
                    taken = aad[1];
                    mask = u128::from_ne_bytes(stream[0][lane]);
                }
                _ if 16 * block < AHEAD + payload.len() => {
                    let octets = payload[16 * block - AHEAD..].iter_mut().take(16);
                    for ((octet, stream), taken) in octets.zip(stream[0][lane]).zip(&mut taken) {
                        let text = *octet;
                        if enciphers(PASS) {
                            *octet ^= stream;
                        }
                        *taken = if PASS == OPEN { *octet } else { text };
                    }
                }
                _ => due[lane] = false,
            }
            if due[lane] {
                mac[lane] = (u128::from_ne_bytes(mac[lane]) ^ u128::from_ne_bytes(taken)).to_ne_bytes();
            }
        }
    }
    if !authenticates(PASS) {
        return;
    }
    let mut state = [mac];
    keys.rounds_of(Portable, 0, &mut state, 0);
    let sum = (0..lanes).fold(mask, |sum, lane| {
        sum ^ u128::from_ne_bytes(if due[lane] { state[0][lane] } else { mac[lane] })
    });
    frame.take_mic::<PASS>(sum.to_ne_bytes());
}
