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

use core::ops::Range;

use super::array;
use super::machine::{Addresses, Group, Keys, MAX_LANES, Machine};
use super::pass::{OPEN, Pass, authenticates, enciphers};

/// Values that each step of a group hands on to the next, per register.
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

/// Makes a pass over the payloads of a group in place and returns the MICs per register.
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
            if ROWS {
                for_registers!(
                    registers,
                    run_rows::<M, K, G, PASS>(m, keys, group, &mut s, steps)
                );
            } else {
                for_registers!(
                    registers,
                    run_columns::<M, K, G, PASS>(m, keys, group, &mut s, steps)
                );
            }
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
    let (mut mac, mut mask) = ([m.zero(); N], [m.zero(); N]);
    let mut aad = [[m.zero(); N]; 2];
    for g in 0..N {
        // SAFETY: `g` is a register of the group, whose addresses are those of `BlocksInOrder`.
        let [counter, first, aad_1, aad_2] = unsafe { heads(m, &group.blocks_of[g]) };
        (aad[0][g], aad[1][g]) = (aad_1, aad_2);
        mac[g] = keys.whiten(m, g, first);
        mask[g] = keys.whiten(m, g, counter);
        s.base[g] = mask[g];
        if ROWS {
            for round in 0..K::AHEAD {
                let mut base = [s.base[g]];
                keys.round_of(m, g, round, &mut base);
                [s.base[g]] = base;
            }
        }
    }
    if !authenticates(PASS) {
        return;
    }
    keys.rounds(m, 0, &mut mac, &mut mask, 0);
    absorb(m, keys, 0, &mut mac, &aad[0], None, None);
    if PASS == OPEN && !ROWS {
        s.next[..N].copy_from_slice(&aad[1]);
    } else {
        absorb(m, keys, 0, &mut mac, &aad[1], None, None);
    }
    for g in 0..N {
        s.mac[g] = mac[g];
        s.mask[g] = keys.join(m, mask[g], keys.last(g));
    }
}

/// The counter block, the first block of the MAC and the two blocks of AAD of each lane.
///
/// # Safety
/// The addresses are those of complete [`BlocksInOrder`](super::BlocksInOrder).
#[inline(always)]
unsafe fn heads<M: Machine>(m: M, at: &Addresses) -> [M::Block; 4] {
    let mut heads = [m.zero(); 4];
    if M::LANES == heads.len() {
        // A register holds the blocks of a frame.
        let mut rows = m.square();
        for lane in 0..M::LANES {
            // SAFETY: the caller promises the blocks.
            rows[lane] = unsafe { m.load(at[lane]) };
        }
        let columns = m.turn(rows);
        for (block, head) in heads.iter_mut().enumerate() {
            *head = columns[block];
        }
    } else {
        for (block, head) in heads.iter_mut().enumerate() {
            // SAFETY: the caller promises the blocks.
            *head = unsafe { m.gather(at, 16 * block) };
        }
    }
    heads
}

/// The chunks that one step by rows processes, as offsets in the payloads.
#[derive(Clone, Copy)]
struct Step {
    /// The chunk of the half that runs ahead: the MAC when sealing, CTR when opening.
    ahead: Option<usize>,
    /// The previous chunk, for the other half.
    behind: Option<usize>,
}

impl Step {
    /// The offset of the MAC's chunk, if the pass has a MAC.
    #[inline(always)]
    fn mac_at(self, pass: Pass) -> Option<usize> {
        let at = if pass == OPEN { self.behind } else { self.ahead };
        at.filter(|_| authenticates(pass))
    }

    /// The offset of the chunk of CTR, if the pass has CTR.
    #[inline(always)]
    fn ctr_at(self, pass: Pass) -> Option<usize> {
        let at = if pass == OPEN { self.ahead } else { self.behind };
        at.filter(|_| enciphers(pass))
    }
}

/// Performs steps of the first `N` registers by rows. Register `N - 1` has the fewest chunks.
///
/// # Safety
/// `N` is at most the number of registers of the group.
#[inline(always)]
unsafe fn run_rows<M: Machine, K: Keys<M>, const G: usize, const PASS: Pass, const N: usize>(
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
    let at = |t: usize| Some(16 * M::LANES * t);
    let mut t = steps.start;
    // SAFETY: the caller promises that these are registers of the group. Frames are sorted longest first, so every lane
    // up to the last of register `N - 1` has `whole` chunks in full.
    unsafe {
        if t == 0 && whole > 0 {
            let first = Step {
                ahead: at(0),
                behind: None,
            };
            rows::<M, K, G, PASS, false, N>(m, keys, group, &s.base, &mut mac, first);
            t = 1;
        }
        while 0 < t && t < whole.min(steps.end) {
            let step = Step {
                ahead: at(t),
                behind: at(t - 1),
            };
            rows::<M, K, G, PASS, false, N>(m, keys, group, &s.base, &mut mac, step);
            t += 1;
        }
        if 0 < t && t < steps.end && t == whole && whole == group.chunks[0] {
            let last = Step {
                ahead: None,
                behind: at(t - 1),
            };
            rows::<M, K, G, PASS, false, N>(m, keys, group, &s.base, &mut mac, last);
            t += 1;
        }
        while t < steps.end {
            let step = Step {
                ahead: at(t),
                behind: t.checked_sub(1).and_then(at),
            };
            rows::<M, K, G, PASS, true, N>(m, keys, group, &s.base, &mut mac, step);
            t += 1;
        }
    }
    s.mac[..N].copy_from_slice(&mac);
}

/// Performs one step by rows. With `EDGE`, some lanes may have no chunk or a partial one.
///
/// # Safety
/// `N` is at most the number of registers of the group. Without `EDGE`, all their lanes have the chunks of the step in
/// full.
#[inline(always)]
unsafe fn rows<M: Machine, K: Keys<M>, const G: usize, const PASS: Pass, const EDGE: bool, const N: usize>(
    m: M,
    keys: &K,
    group: &Group<'_, G>,
    base: &[M::Block; G],
    mac: &mut [M::Block; N],
    step: Step,
) {
    let (mac_at, ctr_at) = (step.mac_at(PASS), step.ctr_at(PASS));
    let edge = match mac_at {
        // SAFETY: the caller promises that these are registers of the group.
        Some(at) if EDGE => unsafe { Edge::load(m, group, at) },
        _ => Edge::unused(m),
    };
    let counts = keys.counts_ahead(m, m.counters((ctr_at.unwrap_or(0) / 16 + 1) as u16));
    // Block `b` of the MAC's chunk, and the whole chunk of lane `b` by CTR.
    for b in 0..M::LANES {
        let absorbed = mac_at.filter(|_| !EDGE || edge.has_block(b));
        let enciphered = ctr_at.filter(|&at| !EDGE || (0..N).any(|g| group.len[g][b] > at));
        let is_interleaved = absorbed.is_some() && enciphered.is_some() && 2 * N <= M::CHAINS;
        let mut stream = [m.zero(); N];
        if is_interleaved {
            stream = counters_of_lane(m, base, b, counts);
        }
        if let Some(at) = absorbed {
            let column = if EDGE {
                edge.column(m, b)
            } else {
                // SAFETY: the caller promises that all lanes have this block in full.
                unsafe { gather_column(m, group, at + 16 * b) }
            };
            let due = EDGE.then(|| edge.due(b));
            let beside = is_interleaved.then_some((&mut stream, K::AHEAD));
            absorb(m, keys, 0, mac, &column, due.as_ref(), beside);
        }
        if let Some(at) = enciphered {
            if !is_interleaved {
                stream = counters_of_lane(m, base, b, counts);
                keys.rounds_of(m, 0, &mut stream, K::AHEAD);
            }
            // SAFETY: the caller promises that, without `EDGE`, lane `b` has this chunk in full.
            unsafe { encipher_row::<M, K, G, EDGE, N>(m, keys, group, b, at, &stream) };
        }
    }
}

/// The counter blocks of one chunk of lane `b` of each register, after the rounds that [`start`] did in advance.
#[inline(always)]
fn counters_of_lane<M: Machine, const G: usize, const N: usize>(
    m: M,
    base: &[M::Block; G],
    b: usize,
    counts: M::Block,
) -> [M::Block; N] {
    let mut counters = [counts; N];
    for g in 0..N {
        counters[g] = m.xor(m.splat_lane(&base[g], b), counts);
    }
    counters
}

/// Enciphers the chunk at octet `at` of lane `b` of each register with the key stream.
///
/// # Safety
/// `N` is at most the number of registers of the group, and `b` is below `LANES`. Without `EDGE`, the lane has the chunk
/// in full.
#[inline(always)]
unsafe fn encipher_row<M: Machine, K: Keys<M>, const G: usize, const EDGE: bool, const N: usize>(
    m: M,
    keys: &K,
    group: &Group<'_, G>,
    b: usize,
    at: usize,
    stream: &[M::Block; N],
) {
    for g in 0..N {
        let chunk = group.payload[g][b].wrapping_add(at);
        // SAFETY: `g` is a register of the group. At an edge the span ends with the payload; otherwise the chunk is
        // whole.
        unsafe {
            if EDGE {
                let span = 0..group.left(g, b, at).min(16 * M::LANES);
                let text = m.load_span(chunk, span.clone());
                m.store_span(chunk, span, cipher(m, keys, g, stream[g], text));
            } else {
                let text = m.load(chunk);
                m.store(chunk, cipher(m, keys, g, stream[g], text));
            }
        }
    }
}

/// Performs steps of the first `N` registers by columns. Register `N - 1` has the fewest chunks.
///
/// # Safety
/// `N` is at most the number of registers of the group.
#[inline(always)]
unsafe fn run_columns<M: Machine, K: Keys<M>, const G: usize, const PASS: Pass, const N: usize>(
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
        if t < whole {
            let blocks = M::LANES * t..M::LANES * whole.min(steps.end);
            whole_columns::<M, K, G, PASS, N>(m, keys, group, s, &mut mac, blocks);
            t = whole;
        }
        while t < steps.end {
            if PASS == OPEN {
                open_edge::<M, K, G, N>(m, keys, group, s, &mut mac, M::LANES * t);
            } else {
                seal_edge::<M, K, G, N>(m, keys, group, s, &mut mac, M::LANES * t);
            }
            t += 1;
        }
    }
    s.mac[..N].copy_from_slice(&mac);
}

/// Processes blocks that every lane has in full. When opening, the MAC is one block behind CTR.
///
/// # Safety
/// `N` is at most the number of registers of the group, and all their lanes have the blocks in full.
#[inline(always)]
unsafe fn whole_columns<M: Machine, K: Keys<M>, const G: usize, const PASS: Pass, const N: usize>(
    m: M,
    keys: &K,
    group: &Group<'_, G>,
    s: &mut State<M, G>,
    mac: &mut [M::Block; N],
    blocks: Range<usize>,
) {
    let mut next = [m.zero(); N];
    next.copy_from_slice(&s.next[..N]);
    for block in blocks {
        // SAFETY: the caller promises that all lanes have this block in full.
        let column = unsafe { gather_column(m, group, 16 * block) };
        if PASS != OPEN {
            next = column;
        }
        let mut stream = s.counters(m, block);
        absorb(m, keys, 0, mac, &next, None, Some((&mut stream, 0)));
        for g in 0..N {
            next[g] = cipher(m, keys, g, stream[g], column[g]);
            // SAFETY: the caller promises that all lanes have this block in full.
            unsafe { m.scatter(&group.payload[g], 16 * block, next[g]) };
        }
    }
    s.next[..N].copy_from_slice(&next);
    s.due[..N].fill(M::ALL);
}

/// Seals one chunk, from block `from` on, that some lanes have in part or not at all.
///
/// # Safety
/// `N` is at most the number of registers of the group.
#[inline(always)]
unsafe fn seal_edge<M: Machine, K: Keys<M>, const G: usize, const N: usize>(
    m: M,
    keys: &K,
    group: &Group<'_, G>,
    s: &State<M, G>,
    mac: &mut [M::Block; N],
    from: usize,
) {
    // SAFETY: the caller promises that these are registers of the group.
    let mut edge = unsafe { Edge::<M, N>::load(m, group, 16 * from) };
    for b in 0..M::LANES {
        let column = edge.column(m, b);
        let mut stream = s.counters(m, from + b);
        absorb(
            m,
            keys,
            0,
            mac,
            &column,
            Some(&edge.due(b)),
            Some((&mut stream, 0)),
        );
        edge.encipher(m, keys, b, &stream);
    }
    // SAFETY: the caller promises that these are registers of the group.
    unsafe { edge.store(m, group, 16 * from) };
}

/// Opens one chunk, from block `from` on, that some lanes have in part or not at all.
///
/// # Safety
/// `N` is at most the number of registers of the group.
#[inline(always)]
unsafe fn open_edge<M: Machine, K: Keys<M>, const G: usize, const N: usize>(
    m: M,
    keys: &K,
    group: &Group<'_, G>,
    s: &mut State<M, G>,
    mac: &mut [M::Block; N],
    from: usize,
) {
    // SAFETY: the caller promises that these are registers of the group.
    let mut edge = unsafe { Edge::<M, N>::load(m, group, 16 * from) };
    for b in 0..M::LANES {
        let mut stream = s.counters(m, from + b);
        keys.rounds_of(m, 0, &mut stream, 0);
        edge.encipher(m, keys, b, &stream);
    }
    // Octets after the end of a frame must be zeroed before they enter the MAC.
    // SAFETY: the caller promises that these are registers of the group.
    unsafe { edge.store(m, group, 16 * from) };
    let (mut next, mut due) = ([m.zero(); N], [0; N]);
    next.copy_from_slice(&s.next[..N]);
    due.copy_from_slice(&s.due[..N]);
    for b in 0..M::LANES {
        absorb(m, keys, 0, mac, &next, Some(&due), None);
        (next, due) = (edge.column(m, b), edge.due(b));
    }
    s.next[..N].copy_from_slice(&next);
    s.due[..N].copy_from_slice(&due);
}

impl<M: Machine, const G: usize> State<M, G> {
    /// The counter blocks of payload block `block` of the first `N` registers, whitened.
    #[inline(always)]
    fn counters<const N: usize>(&self, m: M, block: usize) -> [M::Block; N] {
        let count = m.counter((block + 1) as u16);
        let mut counters = [count; N];
        for g in 0..N {
            counters[g] = m.xor(self.base[g], count);
        }
        counters
    }
}

/// The text under the key stream, whose last round is not done yet.
#[inline(always)]
fn cipher<M: Machine, K: Keys<M>>(m: M, keys: &K, g: usize, stream: M::Block, text: M::Block) -> M::Block {
    keys.join(m, stream, m.xor(keys.last(g), text))
}

/// The blocks at octet `at` of every lane of the first `N` registers.
///
/// # Safety
/// `N` is at most the number of registers of the group, and all their lanes have the block in full.
#[inline(always)]
unsafe fn gather_column<M: Machine, const G: usize, const N: usize>(
    m: M,
    group: &Group<'_, G>,
    at: usize,
) -> [M::Block; N] {
    let mut column = [m.zero(); N];
    for g in 0..N {
        // SAFETY: `g` is a register of the group, whose lanes have this block in full.
        column[g] = unsafe { m.gather(&group.payload[g], at) };
    }
    column
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

/// One chunk of each lane of `N` registers. Some lanes may have a part of it or nothing. Octets after the end of a
/// payload are zero.
struct Edge<M: Machine, const N: usize> {
    /// Per register, the columns: block `b` of every lane.
    columns: [M::Square; N],
    /// Per register and block, the lanes that have it.
    due: [[u8; MAX_LANES]; N],
}

impl<M: Machine, const N: usize> Edge<M, N> {
    /// A value for steps that have no edge. It is never read.
    #[inline(always)]
    fn unused(m: M) -> Self {
        Edge {
            columns: [m.square(); N],
            due: [[M::ALL; MAX_LANES]; N],
        }
    }

    /// The chunks at octet `at`.
    ///
    /// # Safety
    /// `N` is at most the number of registers of the group.
    #[inline(always)]
    unsafe fn load<const G: usize>(m: M, group: &Group<'_, G>, at: usize) -> Self {
        let mut edge = Edge::unused(m);
        for g in 0..N {
            let mut rows = m.square();
            for lane in 0..M::LANES {
                let span = 0..group.left(g, lane, at).min(16 * M::LANES);
                // SAFETY: `g` is a register of the group. The span ends with the lane's payload.
                rows[lane] = unsafe { m.load_span(group.payload[g][lane].wrapping_add(at), span) };
            }
            edge.columns[g] = m.turn(rows);
            edge.due[g] = group.due(g, at, M::LANES);
        }
        edge
    }

    /// Writes the chunks at octet `at`, and clears the octets after the end of each payload.
    ///
    /// # Safety
    /// `N` is at most the number of registers of the group.
    #[inline(always)]
    unsafe fn store<const G: usize>(&mut self, m: M, group: &Group<'_, G>, at: usize) {
        for g in 0..N {
            let mut rows = m.turn(self.columns[g]);
            for lane in 0..M::LANES {
                let span = 0..group.left(g, lane, at).min(16 * M::LANES);
                let address = group.payload[g][lane].wrapping_add(at);
                // SAFETY: `g` is a register of the group. The span ends with the lane's payload.
                rows[lane] = unsafe { m.store_span(address, span, rows[lane]) };
            }
            self.columns[g] = m.turn(rows);
        }
    }

    /// Block `b` of every lane.
    #[inline(always)]
    fn column(&self, m: M, b: usize) -> [M::Block; N] {
        let mut column = [m.zero(); N];
        for g in 0..N {
            column[g] = self.columns[g][b];
        }
        column
    }

    /// The lanes that have block `b`.
    #[inline(always)]
    fn due(&self, b: usize) -> [u8; N] {
        array(|g| self.due[g][b])
    }

    /// Whether any lane has block `b`.
    #[inline(always)]
    fn has_block(&self, b: usize) -> bool {
        self.due.iter().any(|due| due[b] > 0)
    }

    /// Enciphers block `b` of every lane with the key stream.
    #[inline(always)]
    fn encipher<K: Keys<M>>(&mut self, m: M, keys: &K, b: usize, stream: &[M::Block; N]) {
        for g in 0..N {
            self.columns[g][b] = cipher(m, keys, g, stream[g], self.columns[g][b]);
        }
    }
}
