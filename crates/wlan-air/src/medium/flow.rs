//! A station's state for one destination: waiting MSDUs, and the window of MPDUs that were sent and are not
//! settled.

use std::collections::VecDeque;

use super::fragment::{Fragment, mpdu};
use crate::Nanos;
use crate::access::{BLOCK_ACK_WINDOW, Framing, amsdu_len_b};
use crate::queue::{Packet, Queue};
use crate::rate::Rate;

/// The state of an MPDU of the window at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Receipt {
    /// Not received yet.
    Missing,
    /// Received, but an older MPDU is missing (10.25.6: the receiver reorders).
    Held,
    /// Received, like all older MPDUs; the driver has not taken it yet.
    Ready,
    /// The driver took it.
    Taken,
}

/// An MPDU that was sent at least once.
#[derive(Debug)]
pub(super) struct Slot<F> {
    /// The MSDU, and the other MSDUs of its A-MSDU.
    pub msdu: Packet<F>,
    pub joined: Vec<Packet<F>>,
    /// Octets of the frame body without security.
    pub body_b: usize,
    /// Number of previous transmissions of the MPDU.
    pub sent: u8,
    /// Failed exchanges of the MPDU; an unanswered RTS counts as well.
    pub retries: u8,
    /// Number of acknowledged fragments of the MSDU.
    pub fragments_done: usize,
    pub receipt: Receipt,
    /// Whether the current fragment was received, even if its Ack was lost.
    pub fragment_received: bool,
    /// Whether its sender no longer sends it.
    pub acked: bool,
    /// Whether it reached the retry limit instead of being acknowledged.
    pub given_up: bool,
    pub on_air: bool,
}

impl<F> Slot<F> {
    pub fn msdus(&self) -> usize {
        1 + self.joined.len()
    }

    pub fn arrived(&self) -> bool {
        self.receipt != Receipt::Missing
    }
}

impl<F> Slot<F> {
    /// The next fragment; none if the MPDU is sent as a whole, as A-MSDUs are (10.11).
    pub fn fragment(&self, framing: &Framing, threshold_b: Option<usize>) -> Option<Fragment> {
        Fragment::of(
            framing,
            self.body_b,
            self.fragments_done,
            self.threshold_b(threshold_b),
        )
    }

    /// The next MPDU: its octets, and whether it is the last of the MSDU.
    pub fn next_mpdu(&self, framing: &Framing, threshold_b: Option<usize>) -> (usize, bool) {
        mpdu(
            framing,
            self.body_b,
            self.fragments_done,
            self.threshold_b(threshold_b),
        )
    }

    fn threshold_b(&self, threshold_b: Option<usize>) -> Option<usize> {
        threshold_b.filter(|_| self.joined.is_empty())
    }
}

#[derive(Debug)]
pub(super) struct Flow<F> {
    /// The receiving station.
    pub to: usize,
    pub queue: Queue<F>,
    /// Oldest first.
    pub window: VecDeque<Slot<F>>,
    pub rate: Rate,
    /// Buffers of A-MSDUs for reuse.
    spare: Vec<Vec<Packet<F>>>,
}

impl<F> Flow<F> {
    /// An empty flow.
    pub fn new(to: usize, queue: Queue<F>, rate: Rate) -> Flow<F> {
        Flow {
            to,
            queue,
            window: VecDeque::new(),
            rate,
            spare: Vec::new(),
        }
    }

    /// Arrival of the oldest unsettled MSDU.
    pub fn oldest(&mut self, now: Nanos, dropped: &mut Vec<Packet<F>>) -> Option<Nanos> {
        let unsettled = self.window.iter().find(|slot| !slot.acked);
        unsettled
            .map(|slot| slot.msdu.arrival)
            .or_else(|| self.queue.head(now, dropped).map(|head| head.arrival))
    }

    /// Octets of the next MPDU; for an A-MSDU that is not formed yet, with its first MSDU only.
    pub fn next_mpdu_len_b(
        &mut self,
        now: Nanos,
        framing: &Framing,
        threshold_b: Option<usize>,
        dropped: &mut Vec<Packet<F>>,
    ) -> Option<usize> {
        if let Some(slot) = self.window.iter().find(|slot| !slot.acked) {
            return Some(slot.next_mpdu(framing, threshold_b).0);
        }
        let head = self.queue.head(now, dropped)?;
        Some(mpdu(framing, head.len_b, 0, threshold_b).0)
    }

    /// Moves MSDUs from the queue to a new slot of the window: one MSDU, or as many as fit an A-MSDU of
    /// `max_amsdu_b` octets. Returns false if the queue is empty or the window is full.
    pub fn pull(&mut self, now: Nanos, max_amsdu_b: usize, dropped: &mut Vec<Packet<F>>) -> bool {
        if self.window.len() == BLOCK_ACK_WINDOW || self.queue.head(now, dropped).is_none() {
            return false;
        }
        let Some(msdu) = self.queue.pop() else {
            return false;
        };
        let mut slot = Slot {
            body_b: msdu.len_b,
            msdu,
            joined: self.spare.pop().unwrap_or_default(),
            sent: 0,
            retries: 0,
            fragments_done: 0,
            receipt: Receipt::Missing,
            fragment_received: false,
            acked: false,
            given_up: false,
            on_air: false,
        };
        if max_amsdu_b > 0 {
            let mut len_b = amsdu_len_b(0, slot.body_b);
            while let Some(next) = self.queue.head(now, dropped) {
                let longer_b = amsdu_len_b(len_b, next.len_b);
                if longer_b > max_amsdu_b {
                    break;
                }
                len_b = longer_b;
                slot.joined.extend(self.queue.pop());
            }
            if !slot.joined.is_empty() {
                slot.body_b = len_b;
            }
        }
        self.window.push_back(slot);
        true
    }

    /// Takes the frames out of a slot that has left the window.
    pub fn dissolve(&mut self, slot: Slot<F>, mut take: impl FnMut(F)) {
        let Slot { msdu, mut joined, .. } = slot;
        take(msdu.frame);
        joined.drain(..).for_each(|msdu| take(msdu.frame));
        self.spare.push(joined);
    }

    /// Marks the MPDUs without a gap before them as ready. Returns whether any MPDU became ready.
    pub fn settle_order(&mut self) -> bool {
        let mut news = false;
        for slot in &mut self.window {
            match slot.receipt {
                Receipt::Missing => break,
                Receipt::Held => {
                    slot.receipt = Receipt::Ready;
                    news = true;
                }
                Receipt::Ready | Receipt::Taken => {}
            }
        }
        news
    }
}
