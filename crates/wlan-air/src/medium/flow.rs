//! What a station holds for one destination: MSDUs that wait, and the window of MPDUs that were sent and not yet
//! settled.

use std::collections::VecDeque;

use super::fragment::{Fragment, mpdu};
use crate::Nanos;
use crate::access::{BLOCK_ACK_WINDOW, Framing, amsdu_len_b};
use crate::queue::{Packet, Queue};
use crate::rate::Rate;

/// Where an MPDU of the window is, as its receiver sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Receipt {
    /// It did not arrive yet.
    Missing,
    /// It arrived; an older one is missing (10.25.6: the receiver reorders).
    Held,
    /// It and all older ones arrived; the driver has not taken it yet.
    Ready,
    /// The driver took it.
    Taken,
}

/// An MPDU that was sent at least once.
#[derive(Debug)]
pub(super) struct Slot<F> {
    /// The MSDU, and what else is in its A-MSDU.
    pub msdu: Packet<F>,
    pub joined: Vec<Packet<F>>,
    /// Octets of the frame body without security.
    pub body_b: usize,
    /// Times that the MPDU was sent before.
    pub sent: u8,
    /// Exchanges of the MPDU that failed, by its RTS or itself.
    pub retries: u8,
    /// Fragments of the MSDU that are acknowledged.
    pub fragments_done: usize,
    pub receipt: Receipt,
    /// The current fragment arrived, though its Ack may not have.
    pub fragment_received: bool,
    /// Its sender is done with it.
    pub acked: bool,
    /// Not because it was acknowledged, but at the retry limit.
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
    /// The fragment that goes next; none if the MPDU goes as a whole, as A-MSDUs do (10.11).
    pub fn fragment(&self, framing: &Framing, threshold_b: Option<usize>) -> Option<Fragment> {
        Fragment::of(
            framing,
            self.body_b,
            self.fragments_done,
            self.threshold_b(threshold_b),
        )
    }

    /// The MPDU that goes next: its octets, and whether it is the MSDU's last.
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
    /// Buffers of A-MSDUs, to be used again.
    spare: Vec<Vec<Packet<F>>>,
}

impl<F> Flow<F> {
    /// Nothing waits yet.
    pub fn new(to: usize, queue: Queue<F>, rate: Rate) -> Flow<F> {
        Flow {
            to,
            queue,
            window: VecDeque::new(),
            rate,
            spare: Vec::new(),
        }
    }

    /// When the oldest MSDU that is not settled came.
    pub fn oldest(&mut self, now: Nanos, dropped: &mut Vec<Packet<F>>) -> Option<Nanos> {
        let unsettled = self.window.iter().find(|slot| !slot.acked);
        unsettled
            .map(|slot| slot.msdu.arrival)
            .or_else(|| self.queue.head(now, dropped).map(|head| head.arrival))
    }

    /// Octets of the MPDU that goes next; of an A-MSDU that is not formed yet, of its first MSDU alone.
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

    /// Moves MSDUs from the queue to a new slot of the window: one, or as many as an A-MSDU of `max_amsdu_b` octets holds.
    /// Whether there was one and room for it.
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

    /// Notes that the receiver may hand on what has no gap before it. Whether anything new can be taken.
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
