//! GCM over the frames of a batch as one pipeline (NIST SP 800-38D; IEEE 802.11-2020 12.5.5.3).
//!
//! A *row* is a register of `LANES` consecutive blocks of one frame. Block i of a frame is block i of GHASH and the
//! block with count i of CTR, and it is at octet 16 i - 32 of the payload:
//!
//! ```text
//!  block    0        1                 2, 3, ...    last
//!  GHASH    AAD 1    AAD 2             ciphertext   lengths
//!  CTR      unused   J0 masks the MIC  payload
//! ```
//! GHASH of a frame of n blocks is the sum of block i times the hash key to the power n - i. The powers are stored in
//! descending order, followed by zeros. A row is therefore multiplied by `LANES` consecutive powers, so that the lanes
//! of the sum require no correction at the end, and a partial row requires only a mask. A frame of more than [`SPAN`]
//! blocks is hashed in runs: the hash of a run is added to the first block of the next one.
//!
//! Three things keep the CPU's AES unit and its multiplier busy:
//!
//! 1. A step encrypts several rows at once: all rows of up to `LANES` [`short`] frames, or `U` rows of a [`long`] one or
//!    of one that has no other frame beside it ([`alone`]).
//! 2. The products of a step are placed between the AES rounds of the next step, also from one frame to the next.
//! 3. The products are only added. The sums of `LANES` frames, one per lane, are reduced together ([`finish`]).
//!
//! The code of a step is long. One step therefore serves both key lengths, and all frames of one number of rows. Frames
//! under one key have round keys in registers and one AES round less per row ([`effect`]).
#![allow(unsafe_code)]

use core::mem::{MaybeUninit, offset_of};
use core::ops::Range;

use super::machine::{AesRounds, Machine};
use super::pass::{Pass, SEAL, authenticates, enciphers};
use super::polyval::POWERS;
use super::{BlocksInOrder, Frame, Schedule, array, hand_out, rounds};

/// Octets of the blocks before the payload.
const AHEAD: usize = 32;

/// Maximum number of blocks between two reductions. The last run of a frame can have one more.
const SPAN: usize = POWERS - 1;

/// Maximum number of lanes.
const MOST: usize = 4;

/// Low, middle and high products.
type Sum<M> = [<M as Machine>::Block; 3];

/// A machine whose products are three sums of registers.
pub(super) trait Pipelined: AesRounds + Machine<Products = Sum<Self>> {}

impl<M: AesRounds + Machine<Products = Sum<M>>> Pipelined for M {}

/// Rounds of AES-128 except the first, which adds a key only, and the last.
const ROUNDS: usize = 9;

/// Evaluates `$call` with `$count`, at most `$most`, as the constant `$n`.
macro_rules! with_count {
    ($count:expr, $most:expr, $n:ident => $call:expr) => {
        with_count!(@ $count, $most, $n, $call, 1 2 3 4 5 6 7 8)
    };
    (@ $count:expr, $most:expr, $n:ident, $call:expr, $($number:literal)*) => {
        match $count {
            $($number if $number <= $most => {
                const $n: usize = $number;
                $call
            })*
            _ => unreachable!("a step has 1 to {} rows", $most),
        }
    };
}

/// Number of rows with counter blocks of a frame with a payload of `len` octets.
#[inline(always)]
pub(super) fn rows_of(lanes: usize, len: usize) -> usize {
    (AHEAD + len).div_ceil(16 * lanes)
}

/// Number of frames at the start of `order` that a kernel processes together: those with as many rows as the first, or
/// those with more than `short` rows.
///
/// Each payload must be at most as long as the previous one.
#[inline(always)]
pub(super) fn alike(frames: &[Frame<'_, '_>], order: &[u8], lanes: usize, short: usize) -> usize {
    let class = |&member: &u8| rows_of(lanes, frames[usize::from(member)].len).min(short + 1);
    let (Some(first), Some(last)) = (order.first(), order.last()) else {
        return 0;
    };
    let first = class(first);
    if class(last) == first {
        order.len()
    } else {
        order.partition_point(|member| class(member) == first)
    }
}

/// Blocks of GHASH, the lengths block included.
#[inline(always)]
fn blocks(frame: &Frame<'_, '_>) -> usize {
    AHEAD / 16 + frame.len.div_ceil(16) + 1
}

/// A block of the frame at an offset of [`BlocksInOrder`].
#[inline(always)]
fn block<'f>(frame: &'f Frame<'_, '_>, offset: usize) -> &'f [u8; 16] {
    &frame.blocks.as_octets()[offset / 16]
}

/// Rows that contain AAD. With one lane, the first of them is not encrypted.
const fn head_rows(lanes: usize) -> usize {
    if lanes == 1 { 2 } else { 1 }
}

/// Blocks whose counts differ only in their last octet.
const COUNTS: usize = 256;

/// The effect of counts on the state after the first round of AES.
///
/// Counts occupy the last two octets of a counter block, where the nonce of every frame leaves zeros. SubBytes acts on
/// each octet separately, and the rest of a round is linear. Under one key, the effect of a count after the first round
/// is therefore a XOR that does not depend on the frame, and the effects of both octets are independent of each other
/// ("counter-mode caching", Bernstein and Schwabe 2008). The first round is then computed once per [`COUNTS`] blocks of
/// a frame.
#[inline(always)]
fn effect<M: Pipelined>(m: M, key: &Schedule, counts: M::Block) -> M::Block {
    let whitening = m.splat(&key.rounds[0]);
    m.xor(
        m.round(m.xor(whitening, counts), m.zero()),
        m.round(whitening, m.zero()),
    )
}

/// The effects of the counts of rows.
#[repr(align(64))]
struct Effects([MaybeUninit<[u8; 16]>; COUNTS]);

impl Effects {
    /// Computes the effects of the first `rows` rows, at most [`COUNTS`] blocks.
    #[inline(always)]
    fn compute<M: Pipelined>(&mut self, m: M, key: &Schedule, rows: usize) {
        for (row, places) in self.0.chunks_exact_mut(M::LANES).take(rows).enumerate() {
            let effect = effect(m, key, m.counters((M::LANES * row) as u16));
            // SAFETY: there are as many places as lanes.
            unsafe { m.store(places.as_mut_ptr().cast(), effect) };
        }
    }

    /// The effect of a row.
    ///
    /// # Safety
    /// It was computed.
    #[inline(always)]
    unsafe fn of<M: Pipelined>(&self, m: M, row: usize) -> M::Block {
        // SAFETY: the caller promises the row.
        unsafe { m.load(self.0.as_ptr().wrapping_add(M::LANES * row).cast()) }
    }
}

/// Whether row `row` of a frame passes through AES.
#[inline(always)]
fn has_stream<M: Pipelined, const PASS: Pass>(row: usize) -> bool {
    // The row with block 1, which masks the MIC.
    let masks = row == head_rows(M::LANES) - 1;
    masks || (enciphers(PASS) && row >= head_rows(M::LANES))
}

/// Adds the product of a row and `LANES` powers of the hash key, by Karatsuba's method: the middle sum lacks the other
/// two until [`close`].
///
/// # Safety
/// `powers` points into the powers of a key or at the zeros after them, at least `LANES` before their end. `odd` rows
/// have `LANES` more powers before this address.
#[inline(always)]
unsafe fn add_product<M: Pipelined>(
    m: M,
    sum: Sum<M>,
    row: M::Block,
    powers: *const u8,
    odd: bool,
) -> Sum<M> {
    let sums = powers
        .wrapping_add(Schedule::HALVES_AFTER_POWERS)
        .wrapping_sub(if odd { 16 * M::LANES } else { 0 });
    // SAFETY: the caller promises `LANES` readable blocks.
    let [low, middle, high] = unsafe { m.halves(row, m.load(powers), m.load(sums), odd) };
    [
        m.pin(m.xor(sum[0], low)),
        m.pin(m.xor(sum[1], middle)),
        m.pin(m.xor(sum[2], high)),
    ]
}

/// Completes the middle of a sum.
#[inline(always)]
fn close<M: Pipelined>(m: M, [low, middle, high]: Sum<M>) -> Sum<M> {
    [low, m.xor(m.xor(middle, low), high), high]
}

/// Adds the product of the lengths block if the block is not in the last row with counter blocks.
#[inline(always)]
fn add_lengths<M: Pipelined>(m: M, sum: Sum<M>, frame: &Frame<'_, '_>) -> Sum<M> {
    if !(blocks(frame) - 1).is_multiple_of(M::LANES) {
        return sum;
    }
    let lengths = m.one_lane(0, block(frame, offset_of!(BlocksInOrder, first)));
    // SAFETY: `MAX_LANES` - 1 zeros and more follow power 1.
    unsafe { add_product(m, sum, m.ghash_order(lengths), frame.key.powers_at(1), false) }
}

/// The place of a row in its frame.
#[derive(Clone, Copy)]
struct Place {
    row: usize,
    /// Whether the row may contain AAD: it belongs to the first step.
    first: bool,
    /// Whether it is the last row with counter blocks.
    last: bool,
}

impl Place {
    /// The octets of the row that belong to the payload.
    #[inline(always)]
    fn span<M: Pipelined>(self, len: usize) -> Range<usize> {
        let row_b = 16 * M::LANES;
        let start = if self.is_head::<M>() { AHEAD.min(row_b) } else { 0 };
        let end = if self.last {
            AHEAD + len - row_b * self.row
        } else {
            row_b
        };
        start..end
    }

    #[inline(always)]
    fn is_head<M: Pipelined>(self) -> bool {
        self.first && self.row < head_rows(M::LANES)
    }
}

/// Completes AES of a row, encrypts or decrypts its part of the payload, and returns the row as GHASH takes it and the
/// mask of the MIC, which is zero in all rows but one.
///
/// # Safety
/// The frame has this row, and `place` is right about it.
#[inline(always)]
unsafe fn complete<M: Pipelined, const PASS: Pass>(
    m: M,
    frame: &Frame<'_, '_>,
    place: Place,
    state: M::Block,
    last_key: M::Block,
) -> [M::Block; 2] {
    let row_b = 16 * M::LANES;
    let (head, span) = (place.is_head::<M>(), place.span::<M>(frame.len));
    let has_text = !head || AHEAD < row_b;
    let whole = !head && !place.last;
    let at = frame.payload.wrapping_add(row_b * place.row).wrapping_sub(AHEAD);

    let mut text = m.zero();
    if has_text {
        // SAFETY: the caller promises that the row, or its span, is in the payload, which has a header before it.
        text = unsafe {
            if whole {
                m.load(at)
            } else {
                m.load_span(at, span.clone())
            }
        };
    }
    let (mut out, mut mask) = (m.zero(), m.zero());
    if !place.first || has_stream::<M, PASS>(place.row) {
        let key = if enciphers(PASS) {
            m.xor(last_key, text)
        } else {
            last_key
        };
        out = m.last_round(state, key);
    }
    if place.first && place.row == head_rows(M::LANES) - 1 {
        // The text is zero where J0 is.
        mask = m.ghash_order(out);
        if M::LANES > 1 {
            mask = m.select(0b10, mask, m.zero());
        }
    }
    if has_text && enciphers(PASS) {
        // SAFETY: as for the load.
        unsafe {
            if whole {
                m.store(at, out);
            } else {
                out = m.store_span(at, span, out);
            }
        }
    } else {
        out = m.zero();
    }
    if !authenticates(PASS) {
        return [m.zero(); 2];
    }
    let mut hashed = if PASS == SEAL { out } else { text };
    if head {
        let first = block(frame, offset_of!(BlocksInOrder, aad_1));
        let second = block(frame, offset_of!(BlocksInOrder, aad_2));
        let aad = if M::LANES > 1 {
            m.first_lanes(&[*first, *second])
        } else {
            m.splat(if place.row == 0 { first } else { second })
        };
        hashed = m.xor(hashed, aad);
    }
    let lane = (blocks(frame) - 1) % M::LANES;
    if place.last && M::LANES > 1 && lane > 0 {
        let lane = if M::LANES == 2 { 1 } else { lane };
        let lengths = m.one_lane(lane, block(frame, offset_of!(BlocksInOrder, first)));
        hashed = m.xor(hashed, lengths);
    }
    [m.ghash_order(hashed), mask]
}

/// Reduces the sums of up to `LANES` frames and hands each frame its MIC.
#[inline(always)]
fn finish<M: Pipelined, const PASS: Pass>(m: M, frames: &mut [Frame<'_, '_>], order: &[u8], sums: &[Sum<M>]) {
    if !authenticates(PASS) {
        return;
    }
    let mut total = m.no_products();
    for part in 0..3 {
        let mut square = m.square();
        for lane in 0..M::LANES {
            square[lane] = sums[lane][part];
        }
        // Lane i of the total is the sum of the lanes of frame i.
        square = m.turn(square);
        for lane in 0..M::LANES {
            total[part] = m.xor(total[part], square[lane]);
        }
    }
    let mics = m.lanes(m.ghash_order(m.reduce(close(m, total))));
    hand_out::<PASS>(&mics, frames, order);
}

/// Round keys 0 to 9 and the last one of frames that share a key, in every lane. A step reads the four more of AES-256
/// from the schedule. For other frames, a step reads all round keys from the schedule, which leaves more registers for
/// rows.
struct RoundKeys<M: Machine> {
    rounds: [M::Block; ROUNDS + 1],
    last: M::Block,
}

impl<M: Pipelined> RoundKeys<M> {
    #[inline(always)]
    fn new(m: M, key: &Schedule) -> Self {
        let mut rounds = [m.zero(); ROUNDS + 1];
        for round in 0..=ROUNDS {
            rounds[round] = m.splat(&key.rounds[round]);
        }
        let last = m.splat(&key.rounds[if key.kind.keys > ROUNDS + 2 { 14 } else { 10 }]);
        RoundKeys { rounds, last }
    }
}

/// Rows of `G` frames, up to `U` of each, that are encrypted and not yet hashed, and the sums of the rows before them.
struct Run<M: Machine, const U: usize, const G: usize> {
    hashed: [[M::Block; U]; G],
    sums: [Sum<M>; G],
    /// The powers of the first of these rows.
    powers: [*const u8; G],
    /// If the effects of counts are known, the counter blocks without them after the first round.
    base: [M::Block; G],
}

impl<M: Pipelined, const U: usize, const G: usize> Run<M, U, G> {
    /// Rows of zeros, times any powers.
    #[inline(always)]
    fn empty(m: M, key: &Schedule) -> Self {
        Run {
            hashed: [[m.zero(); U]; G],
            sums: [m.no_products(); G],
            powers: [key.powers_at(POWERS); G],
            base: [m.zero(); G],
        }
    }

    /// Starts the last run of a frame at its pending rows, with `left` blocks of GHASH.
    #[inline(always)]
    fn start_last(&mut self, m: M, g: usize, frame: &Frame<'_, '_>, left: usize, mask: M::Block) {
        self.powers[g] = frame.key.powers_at(left);
        // The reduction adds the high part to the hash unchanged, so the mask starts there. `close` adds the high part to the
        // middle too, where the second copy of the mask cancels it.
        self.sums[g] = [m.zero(), mask, mask];
    }

    /// Adds the product of a pending row.
    #[inline(always)]
    fn multiply(&mut self, m: M, g: usize, row: usize) {
        let powers = self.powers[g].wrapping_add(16 * M::LANES * row);
        // SAFETY: the frame has this row, so a power of at least 1 is here, `MAX_LANES` zeros follow the powers, and
        // before an odd row there is another one.
        self.sums[g] = unsafe { add_product(m, self.sums[g], self.hashed[g][row], powers, row % 2 == 1) };
    }

    /// Encrypts or decrypts `T` rows of each frame from row `row` on, which become pending, and adds the products of the
    /// `P` pending rows. Returns the masks of the MICs if this is the first step of the frames.
    ///
    /// # Safety
    /// The frames have these rows. The first step is at row 0 and the last one ends with the last row. If `SHARED`, all
    /// frames have the key of `keys`, and the effects of the counts of these rows, or of all counts, are computed. If not,
    /// neither `keys` nor `effects` is used.
    #[inline(always)]
    unsafe fn step<
        const PASS: Pass,
        const T: usize,
        const P: usize,
        const FIRST: bool,
        const LAST: bool,
        const SHARED: bool,
    >(
        &mut self,
        m: M,
        frames: [&Frame<'_, '_>; G],
        keys: &RoundKeys<M>,
        effects: &Effects,
        row: usize,
    ) -> [M::Block; G] {
        let key = |g: usize, round: usize| {
            if SHARED {
                keys.rounds[round]
            } else {
                m.splat(&frames[g].key.rounds[round])
            }
        };
        // The effects save a round per row and cost one per frame, which pays from three rows on.
        let known = SHARED && !(FIRST && LAST && T < 3);
        let mut states = [[m.zero(); T]; G];
        for g in 0..G {
            if !known || (M::LANES * row).is_multiple_of(COUNTS) {
                let counter = m.splat(block(frames[g], offset_of!(BlocksInOrder, counter)));
                let counter = m.xor(counter, m.counter((M::LANES * row) as u16));
                self.base[g] = m.xor(counter, key(g, 0));
                if known {
                    self.base[g] = m.round(self.base[g], key(g, 1));
                }
            }
            for t in 0..T {
                let counts = if known {
                    // SAFETY: the caller promises the effects of all rows. A step does not cross a multiple of COUNTS.
                    unsafe { effects.of(m, row % (COUNTS / M::LANES) + t) }
                } else {
                    // A step starts at a multiple of its blocks, a power of two, so that XOR adds the counts.
                    m.counters((M::LANES * t) as u16)
                };
                states[g][t] = m.xor(self.base[g], counts);
            }
        }
        let goes = |t| {
            if FIRST {
                has_stream::<M, PASS>(t)
            } else {
                enciphers(PASS)
            }
        };
        rounds!(ROUND in 1 2 3 4 5 6 7 8 9 => {
            for g in 0..G {
                let key = key(g, ROUND);
                for t in 0..T {
                    if goes(t) && !(known && ROUND == 1) {
                        states[g][t] = m.pin(m.round(states[g][t], key));
                    }
                }
            }
            if authenticates(PASS) {
                for g in 0..G {
                    for p in 0..P {
                        // The products are spread evenly over the rounds.
                        if (g * P + p) * ROUNDS / (G * P) == ROUND - 1 {
                            self.multiply(m, g, p);
                        }
                    }
                }
            }
        });
        let is_aes_256 = frames[0].key.kind.keys > ROUNDS + 2;
        if is_aes_256 {
            rounds!(ROUND in 10 11 12 13 => {
                for g in 0..G {
                    let key = m.splat(&frames[if SHARED { 0 } else { g }].key.rounds[ROUND]);
                    for t in 0..T {
                        if goes(t) {
                            states[g][t] = m.pin(m.round(states[g][t], key));
                        }
                    }
                }
            });
        }
        let mut masks = [m.zero(); G];
        for g in 0..G {
            let last_key = if SHARED {
                keys.last
            } else {
                m.splat(&frames[g].key.rounds[if is_aes_256 { 14 } else { 10 }])
            };
            for t in 0..T {
                let place = Place {
                    row: row + t,
                    first: FIRST,
                    last: LAST && t == T - 1,
                };
                // SAFETY: the caller promises this row.
                let [hashed, mask] =
                    unsafe { complete::<M, PASS>(m, frames[g], place, states[g][t], last_key) };
                self.hashed[g][t] = hashed;
                masks[g] = m.xor(masks[g], mask);
            }
        }
        masks
    }
}

/// The sums of up to [`MOST`] frames.
struct Sums<M: Machine>([Sum<M>; MOST]);

impl<M: Pipelined> Sums<M> {
    /// Adds the sum of the frame at `place` in `order`, completed with its lengths block. If the frame fills `LANES`
    /// lanes or is the last one, finishes the frames since the last time.
    #[inline(always)]
    fn push<const PASS: Pass>(
        &mut self,
        m: M,
        frames: &mut [Frame<'_, '_>],
        order: &[u8],
        place: usize,
        sum: Sum<M>,
    ) {
        if !authenticates(PASS) {
            return;
        }
        let lane = place % M::LANES;
        self.0[lane] = add_lengths(m, sum, &frames[usize::from(order[place])]);
        if lane == M::LANES - 1 || place == order.len() - 1 {
            finish::<M, PASS>(m, frames, &order[place - lane..place + 1], &self.0);
        }
    }
}

/// Makes a pass over frames, one after another, `U` rows per step. Unlike [`short`] and [`long`], it completes a frame
/// before it starts the next one, so the time to the MIC of a single frame is as short as possible.
///
/// # Safety
/// `order` contains no frame twice.
#[inline(always)]
pub(super) unsafe fn alone<M: Pipelined, const PASS: Pass, const U: usize>(
    m: M,
    frames: &mut [Frame<'_, '_>],
    order: &[u8],
) {
    const { assert!((M::LANES * U).is_power_of_two() && M::LANES * U <= COUNTS) };
    let effects = Effects([MaybeUninit::uninit(); COUNTS]);
    for &member in order {
        let frame = &mut frames[usize::from(member)];
        let keys = RoundKeys::new(m, frame.key);
        let mut run = Run::<M, U, 1>::empty(m, frame.key);
        let rows = rows_of(M::LANES, frame.len);
        // SAFETY: the steps together have `rows` rows, as has the frame, and the last step ends with the last row. No frame
        // shares a key here.
        unsafe {
            if rows <= U {
                with_count!(rows, U, T => {
                    let [mask] = run.step::<PASS, T, 0, true, true, false>(m, [frame], &keys, &effects, 0);
                    run.start_last(m, 0, frame, blocks(frame), mask);
                    for row in 0..T {
                        run.multiply(m, 0, row);
                    }
                });
            } else {
                let [mask] = run.step::<PASS, U, 0, true, false, false>(m, [frame], &keys, &effects, 0);
                let mut runs = Runs {
                    left: blocks(frame),
                    steps: 0,
                };
                runs.start(m, &mut run, frame, mask);
                let mut row = U;
                while row + U < rows {
                    run.step::<PASS, U, U, false, false, false>(m, [frame], &keys, &effects, row);
                    runs.advance(m, &mut run, frame, mask);
                    row += U;
                }
                with_count!(rows - row, U, T => {
                    run.step::<PASS, T, U, false, true, false>(m, [frame], &keys, &effects, row);
                    runs.advance(m, &mut run, frame, mask);
                    for row in 0..T {
                        run.multiply(m, 0, row);
                    }
                });
            }
        }
        if authenticates(PASS) {
            let sum = add_lengths(m, run.sums[0], frame);
            let hash = m.ghash_order(m.add_lanes(m.reduce(close(m, sum))));
            frame.take_mic::<PASS>(m.lanes(hash)[0]);
        }
    }
}

/// Makes a pass over frames of `R` rows, `G` at a time. `order` has a multiple of `LANES` frames.
///
/// # Safety
/// `order` contains no frame twice. The frames have `R` rows each. If `SHARED`, they have the same key.
#[inline(always)]
pub(super) unsafe fn short<
    M: Pipelined,
    const PASS: Pass,
    const SHARED: bool,
    const R: usize,
    const G: usize,
>(
    m: M,
    frames: &mut [Frame<'_, '_>],
    order: &[u8],
) {
    let Some(&first) = order.first() else {
        return;
    };
    let key = frames[usize::from(first)].key;
    let keys = RoundKeys::new(m, key);
    let mut effects = Effects([MaybeUninit::uninit(); COUNTS]);
    if SHARED {
        effects.compute(m, key, R);
    }
    let mut run = Run::<M, R, G>::empty(m, key);
    let mut sums = [m.no_products(); MOST];
    for place in (0..order.len()).step_by(M::LANES) {
        // The sums of the frames before this step belong to the lanes before it.
        rounds!(K in 0 1 2 3 => {
            if K * G < M::LANES {
                let members = &order[place + K * G..][..G];
                let group: [_; G] = array(|g| &frames[usize::from(members[g])]);
                // SAFETY: the frames have R rows each, and if SHARED, the key of `keys` and `effects`.
                let masks = unsafe { run.step::<PASS, R, R, true, true, SHARED>(m, group, &keys, &effects, 0) };
                let before = (K * G + M::LANES - G) % M::LANES;
                for g in 0..G {
                    sums[before + g] = run.sums[g];
                    run.start_last(m, g, group[g], blocks(group[g]), masks[g]);
                    run.sums[g] = add_lengths(m, run.sums[g], group[g]);
                }
                if K == 0 && place > 0 {
                    finish::<M, PASS>(m, frames, &order[place - M::LANES..place], &sums);
                }
            }
        });
    }
    for g in 0..G {
        for row in 0..R {
            run.multiply(m, g, row);
        }
        sums[M::LANES - G + g] = run.sums[g];
    }
    finish::<M, PASS>(m, frames, &order[order.len() - M::LANES..], &sums);
}

/// The runs of a frame that is too long for a single one.
struct Runs {
    /// Blocks of the frame from the pending rows on, the lengths block included.
    left: usize,
    /// Steps until the sum is reduced; `usize::MAX` in the last run.
    steps: usize,
}

impl Runs {
    /// Starts a run at the pending rows. The last run begins with the mask of the MIC.
    #[inline(always)]
    fn start<M: Pipelined, const U: usize>(
        &mut self,
        m: M,
        run: &mut Run<M, U, 1>,
        frame: &Frame<'_, '_>,
        mask: M::Block,
    ) {
        let step = M::LANES * U;
        // The lengths block can be one more.
        if self.left <= SPAN + 1 {
            self.steps = usize::MAX;
            run.start_last(m, 0, frame, self.left, mask);
        } else {
            self.steps = (self.left - SPAN - 1).div_ceil(step).min(SPAN / step);
            run.powers[0] = frame.key.powers_at(step * self.steps);
            run.sums[0] = m.no_products();
        }
    }

    /// Moves on by one step, whose rows are pending now, and starts the next run if this one ends.
    #[inline(always)]
    fn advance<M: Pipelined, const U: usize>(
        &mut self,
        m: M,
        run: &mut Run<M, U, 1>,
        frame: &Frame<'_, '_>,
        mask: M::Block,
    ) {
        let step = M::LANES * U;
        run.powers[0] = run.powers[0].wrapping_add(16 * step);
        self.left -= step;
        self.steps -= 1;
        if self.steps == 0 {
            let hash = m.add_lanes(m.reduce(close(m, run.sums[0])));
            run.hashed[0][0] = m.xor(run.hashed[0][0], m.select(1, hash, m.zero()));
            self.start(m, run, frame, mask);
        }
    }
}

/// Makes a pass over frames of more than `U` rows, `U` rows per step.
///
/// # Safety
/// `order` contains no frame twice. The frames have more than `U` rows each, and none is longer than the first. If
/// `SHARED`, they have the same key.
#[inline(always)]
pub(super) unsafe fn long<M: Pipelined, const PASS: Pass, const SHARED: bool, const U: usize>(
    m: M,
    frames: &mut [Frame<'_, '_>],
    order: &[u8],
) {
    const { assert!((M::LANES * U).is_power_of_two() && M::LANES * U <= COUNTS) };
    let Some(&longest) = order.first() else {
        return;
    };
    let Frame { len, key, .. } = frames[usize::from(longest)];
    let keys = RoundKeys::new(m, key);
    let mut effects = Effects([MaybeUninit::uninit(); COUNTS]);
    if SHARED {
        effects.compute(m, key, rows_of(M::LANES, len));
    }
    let mut run = Run::<M, U, 1>::empty(m, key);
    let mut runs = Runs { left: 0, steps: 0 };
    let mut sums = Sums::<M>([m.no_products(); MOST]);
    // Pending rows of the previous frame. Before the first frame, they are zeros.
    let mut pending = U;
    for (place, &member) in order.iter().enumerate() {
        let frame = &frames[usize::from(member)];
        // SAFETY: the frame has more than U rows.
        let [mask] = unsafe {
            with_count!(pending, U, P => {
                run.step::<PASS, U, P, true, false, SHARED>(m, [frame], &keys, &effects, 0)
            })
        };
        let before = run.sums[0];
        runs.left = blocks(frame);
        runs.start(m, &mut run, frame, mask);
        if place > 0 {
            sums.push::<PASS>(m, frames, order, place - 1, before);
        }
        let frame = &frames[usize::from(member)];
        let (rows, mut row) = (rows_of(M::LANES, frame.len), U);
        while row + U < rows {
            // SAFETY: the frame has more than row + U rows.
            unsafe { run.step::<PASS, U, U, false, false, SHARED>(m, [frame], &keys, &effects, row) };
            runs.advance(m, &mut run, frame, mask);
            row += U;
        }
        pending = rows - row;
        // SAFETY: these are the last rows of the frame.
        unsafe {
            with_count!(pending, U, T => {
                run.step::<PASS, T, U, false, true, SHARED>(m, [frame], &keys, &effects, row);
            });
        }
        runs.advance(m, &mut run, frame, mask);
    }
    for row in 0..pending {
        run.multiply(m, 0, row);
    }
    sums.push::<PASS>(m, frames, order, order.len() - 1, run.sums[0]);
}
