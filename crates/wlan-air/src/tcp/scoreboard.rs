//! Segments in flight, arrived and lost: SACK and RACK (RFC 2018, RFC 8985).

use std::collections::VecDeque;

use super::{Sack, Segment, Span};
use crate::Nanos;

/// Out-of-order segments before a gap counts as a loss (RFC 5681, 3.2).
const DUPLICATE_ACKS: u32 = 3;
/// Maximum reordering; Linux's `TCP_MAX_REORDERING`.
const MAX_REORDERING: u32 = 300;

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
struct Sent {
    span: Span,
    /// Time of the last transmission.
    at: Nanos,
    /// Position in the order of transmissions.
    order: u64,
    sacked: bool,
    lost: bool,
    /// Whether it was lost and is in flight again.
    resent: bool,
    ever_resent: bool,
}

/// The latest transmission that is known to have arrived (RFC 8985, 5.2).
#[derive(Clone, Copy, Debug, Default)]
struct Rack {
    at: Nanos,
    end: u64,
    rtt: Nanos,
}

/// The effect of an acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Segments that left the network.
    pub(super) delivered: u32,
    /// Whether the cumulative acknowledgment advanced.
    pub(super) advanced: bool,
    /// Whether a block acknowledged new segments.
    pub(super) sacked: bool,
    /// Round-trip times of the first and the last acknowledged segment that was sent once.
    pub(super) first_rtt: Option<Nanos>,
    pub(super) last_rtt: Option<Nanos>,
}

/// The segments in flight, by number, starting with 0 for the first segment of the stream.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    sent: VecDeque<Sent>,
    /// Number of the oldest segment.
    first: u64,
    /// Transmissions in order. An entry is stale if its segment has arrived or was retransmitted.
    by_time: VecDeque<(u64, u64)>,
    orders: u64,
    sacked: u32,
    lost: u32,
    /// Segments that were marked lost so far.
    losses: u64,
    resent: u32,
    /// Lost segments that were not retransmitted.
    waiting: u32,
    /// No segment below this number waits for retransmission.
    hint: u64,
    /// Blocks of the last acknowledgment, already processed if they are repeated.
    seen: Sack,
    highest_sacked: Option<u64>,
    /// The value of `highest_sacked` before the acknowledgment in progress.
    highest_before: Option<u64>,
    rack: Rack,
    /// Maximum reordering distance on this path, and whether any reordering was seen.
    reordering: u32,
    reordering_seen: bool,
}

impl Scoreboard {
    pub(super) fn new() -> Scoreboard {
        Scoreboard {
            sent: VecDeque::new(),
            first: 0,
            by_time: VecDeque::new(),
            orders: 0,
            sacked: 0,
            lost: 0,
            losses: 0,
            resent: 0,
            waiting: 0,
            hint: 0,
            seen: Sack::default(),
            highest_sacked: None,
            highest_before: None,
            rack: Rack::default(),
            reordering: DUPLICATE_ACKS,
            reordering_seen: false,
        }
    }

    /// Segments sent and not cumulatively acknowledged.
    pub(super) fn outstanding(&self) -> u32 {
        u32::try_from(self.sent.len()).unwrap_or(u32::MAX)
    }

    /// Segments assumed to be in the network (RFC 6675's pipe).
    pub(super) fn in_flight(&self) -> u32 {
        self.outstanding() - self.sacked - self.lost + self.resent
    }

    /// Segments marked as lost so far; each loss of a retransmission counts again.
    pub(super) fn losses(&self) -> u64 {
        self.losses
    }

    /// Whether any segment is above a gap or lost.
    pub(super) fn any_out_of_order(&self) -> bool {
        self.sacked + self.lost > 0
    }

    /// Whether this path has reordered segments by more than a few positions.
    pub(super) fn reorders(&self) -> bool {
        self.reordering > DUPLICATE_ACKS
    }

    /// Whether a lost segment waits for retransmission.
    pub(super) fn any_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Time of the last transmission of the oldest segment.
    pub(super) fn oldest_at(&self) -> Option<Nanos> {
        self.sent.front().map(|sent| sent.at)
    }

    fn index(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?)
            .ok()
            .filter(|&index| index < self.sent.len())
    }

    fn number(&self, index: usize) -> u64 {
        self.first + index as u64
    }

    fn next_order(&mut self, number: u64) -> u64 {
        self.orders += 1;
        self.by_time.push_back((self.orders, number));
        self.orders
    }

    /// Records the transmission of new octets.
    pub(super) fn send(&mut self, span: Span, now: Nanos) {
        let order = self.next_order(self.number(self.sent.len()));
        self.sent.push_back(Sent {
            span,
            at: now,
            order,
            sacked: false,
            lost: false,
            resent: false,
            ever_resent: false,
        });
    }

    /// Retransmits the oldest lost segment.
    pub(super) fn resend_lost(&mut self, now: Nanos) -> Option<Span> {
        if self.waiting == 0 {
            return None;
        }
        let from = usize::try_from(self.hint.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let index = (from..self.sent.len()).find(|&i| self.sent[i].lost && !self.sent[i].resent)?;
        self.hint = self.number(index) + 1;
        self.waiting -= 1;
        Some(self.resend(index, now))
    }

    /// Retransmits the newest segment as a tail loss probe, lost or not. `None` if it has arrived or is
    /// already retransmitted.
    pub(super) fn resend_newest(&mut self, now: Nanos) -> Option<Span> {
        let index = self.sent.len().checked_sub(1)?;
        let newest = self.sent[index];
        if newest.sacked || newest.resent {
            return None;
        }
        if newest.lost {
            self.waiting -= 1;
        }
        Some(self.resend(index, now))
    }

    fn resend(&mut self, index: usize, now: Nanos) -> Span {
        let order = self.next_order(self.number(index));
        let sent = &mut self.sent[index];
        sent.at = now;
        sent.order = order;
        sent.resent = true;
        sent.ever_resent = true;
        self.resent += 1;
        sent.span
    }

    /// Processes an acknowledgment. `min_rtt` is the minimum round-trip time before it.
    pub(super) fn acknowledge(&mut self, segment: &Segment, now: Nanos, min_rtt: Nanos) -> Progress {
        let mut progress = Progress::default();
        self.highest_before = self.highest_sacked;
        let mut first_at: Option<Nanos> = None;
        let mut last_at: Option<Nanos> = None;
        for block in segment.sack.blocks() {
            if segment.ack < block.end && !self.seen.blocks().contains(block) {
                self.sack_block(*block, now, min_rtt, &mut progress, &mut first_at, &mut last_at);
            }
        }
        self.seen = segment.sack;
        let (mut cumulative_first, mut cumulative_last) = (None, None);
        while let Some(&sent) = self.sent.front() {
            if sent.span.end > segment.ack {
                break;
            }
            progress.advanced = true;
            if sent.sacked {
                self.sacked -= 1;
            } else {
                progress.delivered += 1;
                self.note_arrival(&sent, self.first, now, min_rtt);
                if !sent.ever_resent {
                    cumulative_first.get_or_insert(sent.at);
                    cumulative_last = Some(sent.at);
                }
            }
            self.forget_loss(&sent);
            self.sent.pop_front();
            self.first += 1;
        }
        if self.highest_sacked.is_some_and(|number| number < self.first) {
            self.highest_sacked = None;
        }
        while self.by_time.front().is_some_and(|&entry| self.is_stale(entry)) {
            self.by_time.pop_front();
        }
        progress.first_rtt = cumulative_first.or(first_at).map(|at| now.saturating_sub(at));
        progress.last_rtt = last_at.max(cumulative_last).map(|at| now.saturating_sub(at));
        progress
    }

    fn sack_block(
        &mut self,
        block: Span,
        now: Nanos,
        min_rtt: Nanos,
        progress: &mut Progress,
        first_at: &mut Option<Nanos>,
        last_at: &mut Option<Nanos>,
    ) {
        let mut index = self.sent.partition_point(|sent| sent.span.start < block.start);
        // Skip the part of this block that the last acknowledgment already reported.
        let known = self
            .seen
            .blocks()
            .iter()
            .find(|seen| seen.start >= block.start && seen.end <= block.end)
            .copied();
        while let Some(&sent) = self.sent.get(index) {
            if sent.span.end > block.end {
                break;
            }
            if let Some(known) = known.filter(|known| known.start == sent.span.start) {
                index = self
                    .sent
                    .partition_point(|sent| sent.span.end <= known.end)
                    .max(index + 1);
                continue;
            }
            if !sent.sacked {
                let number = self.number(index);
                self.note_arrival(&sent, number, now, min_rtt);
                self.forget_loss(&sent);
                let entry = &mut self.sent[index];
                entry.sacked = true;
                entry.lost = false;
                entry.resent = false;
                self.sacked += 1;
                self.highest_sacked = self.highest_sacked.max(Some(number));
                progress.delivered += 1;
                progress.sacked = true;
                if !sent.ever_resent {
                    first_at.get_or_insert(sent.at);
                    *last_at = (*last_at).max(Some(sent.at));
                }
            }
            index += 1;
        }
    }

    /// Removes a segment that arrived from the counts of lost and retransmitted segments.
    fn forget_loss(&mut self, sent: &Sent) {
        if sent.lost {
            self.lost -= 1;
            self.waiting -= u32::from(!sent.resent);
        }
        self.resent -= u32::from(sent.resent);
    }

    /// RFC 8985, 6.2 steps 1 to 3, and Linux's measure of reordering.
    fn note_arrival(&mut self, sent: &Sent, number: u64, now: Nanos, min_rtt: Nanos) {
        if let Some(highest) = self.highest_before
            && number < highest
            && !sent.ever_resent
        {
            self.reordering_seen = true;
            let distance = u32::try_from(highest - number + 1).unwrap_or(MAX_REORDERING);
            self.reordering = self.reordering.max(distance.min(MAX_REORDERING));
        }
        let rtt = now.saturating_sub(sent.at);
        // Faster than any round trip: the acknowledgment belongs to the first transmission.
        if sent.ever_resent && rtt < min_rtt {
            return;
        }
        self.rack.rtt = rtt;
        if (sent.at, sent.span.end) > (self.rack.at, self.rack.end) {
            self.rack.at = sent.at;
            self.rack.end = sent.span.end;
        }
    }

    fn is_stale(&self, (order, number): (u64, u64)) -> bool {
        match self.index(number).map(|index| &self.sent[index]) {
            Some(sent) => sent.order != order || sent.sacked || (sent.lost && !sent.resent),
            None => true,
        }
    }

    /// Marks segments as lost that were sent long enough before a segment that arrived (RFC 8985, 6.2 step
    /// 5). Returns the time until the next segment counts as lost if it is not acknowledged.
    pub(super) fn detect_losses(
        &mut self,
        now: Nanos,
        recovering: bool,
        min_rtt: Nanos,
        srtt: Nanos,
    ) -> Option<Nanos> {
        let mut wait = None;
        let mut place = 0;
        let window = self.reordering_window(recovering, min_rtt, srtt);
        while let Some(&entry) = self.by_time.get(place) {
            if self.is_stale(entry) {
                if place == 0 {
                    self.by_time.pop_front();
                } else {
                    place += 1;
                }
                continue;
            }
            let Some(index) = self.index(entry.1) else { break };
            let sent = self.sent[index];
            if (sent.at, sent.span.end) >= (self.rack.at, self.rack.end) {
                break;
            }
            let due = sent.at + self.rack.rtt + window;
            if due <= now {
                self.mark_lost(index);
            } else {
                wait = Some(due - now);
                place += 1;
            }
        }
        wait
    }

    /// The reordering window of RFC 8985, 6.2 step 4.
    fn reordering_window(&self, recovering: bool, min_rtt: Nanos, srtt: Nanos) -> Nanos {
        if !self.reordering_seen && (recovering || self.sacked >= self.reordering) {
            return Nanos::ZERO;
        }
        Nanos(min_rtt.0 / 4).min(srtt)
    }

    fn mark_lost(&mut self, index: usize) {
        let number = self.number(index);
        let sent = &mut self.sent[index];
        if sent.lost {
            if !sent.resent {
                return;
            }
            self.resent -= 1;
        } else {
            self.lost += 1;
            // A probe may have been in flight at the same time as the segment that it repeats.
            self.resent -= u32::from(sent.resent);
        }
        sent.lost = true;
        sent.resent = false;
        self.losses += 1;
        self.waiting += 1;
        self.hint = self.hint.min(number);
    }

    /// Handles a retransmission timeout: the oldest segment is lost, and other segments by the rule of RACK
    /// (RFC 8985, 6.3).
    pub(super) fn mark_timed_out(&mut self, now: Nanos, min_rtt: Nanos, srtt: Nanos) {
        let window = self.reordering_window(true, min_rtt, srtt);
        for index in 0..self.sent.len() {
            let sent = self.sent[index];
            if !sent.sacked && (index == 0 || sent.at + self.rack.rtt + window <= now) {
                self.mark_lost(index);
            }
        }
    }

    /// Undoes a spurious timeout: the segments marked as lost are in flight.
    pub(super) fn clear_losses(&mut self) {
        for index in 0..self.sent.len() {
            if self.sent[index].lost {
                self.sent[index].lost = false;
                let order = self.sent[index].order;
                // A segment that waited for retransmission no longer has an entry.
                if !self.sent[index].resent {
                    self.by_time.push_back((order, self.number(index)));
                }
            }
        }
        self.by_time.make_contiguous().sort_unstable();
        self.lost = 0;
        self.waiting = 0;
    }
}
