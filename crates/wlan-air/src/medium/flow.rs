//! A station's state for one destination: waiting MSDUs, and the window of MPDUs that were sent and are not
//! settled.

use std::collections::{VecDeque, vec_deque};
use std::slice;

use super::fragment::{Fragment, Fragmentation};
use super::{Delivery, RequestFn, Route};
use crate::Nanos;
use crate::access::{BLOCK_ACK_WINDOW, Psdu, amsdu_len_b};
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
    /// Failed exchanges of the MPDU; an unanswered RTS counts as well. With a driver, the RTSs that were not
    /// answered since its last transmission.
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

/// The origin of the MPDUs of a PSDU.
pub(super) struct MpduSource<'c, F> {
    pub now: Nanos,
    pub fragmentation: Fragmentation<'c>,
    /// Largest A-MSDU in octets; zero forms none.
    pub max_amsdu_b: usize,
    /// Gets the MSDUs that the discipline of the queue drops.
    pub dropped: &'c mut Vec<Packet<F>>,
}

/// The end of an exchange, for the MPDUs that it contained.
pub(super) struct ExchangeEnd<'c, F> {
    /// Whether the MPDUs were sent. They were not if the RTS before them was not answered, but the exchange
    /// still counts towards their retry limit (10.3.4.4).
    pub payload_sent: bool,
    /// Whether the answer arrived.
    pub answered: bool,
    pub retry_limit: u8,
    /// The driver that limits the transmissions instead.
    pub driver: Option<RequestFn<F>>,
    pub fragmentation: Fragmentation<'c>,
}

/// The effect of an exchange on one of its MPDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The sender retransmits it.
    Retransmit,
    /// It was acknowledged, and its MSDU continues with the next fragment.
    NextFragment,
    /// It was acknowledged, and its MSDUs are complete.
    Acknowledged,
    /// It reached the retry limit and leaves the window.
    Dropped,
    /// It reached the retry limit after its receiver got it. It stays in the window until the receiver has
    /// delivered it in order (10.25.6).
    DroppedReceived,
}

/// The sums over the MPDUs of an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// MPDUs sent, and MPDUs among them that had been sent before.
    pub sent: u32,
    pub resent: u32,
    /// MPDUs acknowledged.
    pub acked: u32,
    /// MSDUs that were completely acknowledged, and MSDUs dropped at the retry limit.
    pub msdus_acked: usize,
    pub msdus_dropped: usize,
}

impl<F> Slot<F> {
    /// Number of MSDUs in the MPDU.
    pub fn msdus(&self) -> usize {
        1 + self.joined.len()
    }

    /// Whether its receiver has all of it.
    pub fn arrived(&self) -> bool {
        self.receipt != Receipt::Missing
    }

    /// The next fragment; none if the MPDU is sent as a whole, as A-MSDUs are (10.11).
    pub fn fragment(&self, fragmentation: &Fragmentation<'_>) -> Option<Fragment> {
        self.cut(fragmentation).part(self.body_b, self.fragments_done)
    }

    /// The next MPDU: its octets, and whether it is the last of the MSDU.
    pub fn next_mpdu(&self, fragmentation: &Fragmentation<'_>) -> (usize, bool) {
        self.cut(fragmentation).mpdu(self.body_b, self.fragments_done)
    }

    /// The fragmentation of this MPDU.
    fn cut<'c>(&self, fragmentation: &Fragmentation<'c>) -> Fragmentation<'c> {
        Fragmentation {
            threshold_b: fragmentation.threshold_b.filter(|_| self.joined.is_empty()),
            ..*fragmentation
        }
    }

    /// Counts a transmission of the MPDU. Returns whether it had been sent before.
    fn count_transmission(&mut self) -> bool {
        let resent = self.sent > 0;
        self.sent = self.sent.saturating_add(1);
        resent
    }

    /// Counts a failed exchange. Returns whether the MPDU is dropped.
    fn fail(&mut self, end: &ExchangeEnd<'_, F>) -> bool {
        if let Some(request) = end.driver
            && end.payload_sent
        {
            self.retries = 0;
            return self.sent == u8::MAX || request(&self.msdu.frame, self.sent).is_none();
        }
        self.retries += 1;
        self.retries >= end.retry_limit
    }

    /// Applies the end of an exchange that contained this MPDU.
    fn settle(&mut self, end: &ExchangeEnd<'_, F>) -> Fate {
        if end.answered && self.fragment_received {
            let (_, last) = self.next_mpdu(&end.fragmentation);
            if last {
                self.acked = true;
                return Fate::Acknowledged;
            }
            self.fragments_done += 1;
            self.fragment_received = false;
            self.retries = 0;
            self.sent = 0;
            return Fate::NextFragment;
        }
        if !self.fail(end) {
            return Fate::Retransmit;
        }
        match self.receipt {
            Receipt::Held | Receipt::Ready => {
                self.acked = true;
                self.given_up = true;
                Fate::DroppedReceived
            }
            Receipt::Missing | Receipt::Taken => Fate::Dropped,
        }
    }
}

#[derive(Debug)]
pub(super) struct Flow<F> {
    /// The receiving station; none for group-addressed frames.
    pub to: Option<usize>,
    pub queue: Queue<F>,
    /// Oldest first.
    pub window: VecDeque<Slot<F>>,
    /// The rate control; none for group-addressed frames, and if a driver chooses the modes.
    pub rate: Option<Rate>,
    /// Buffers of A-MSDUs for reuse.
    spare: Vec<Vec<Packet<F>>>,
}

impl<F> Flow<F> {
    /// An empty flow.
    pub fn new(to: Option<usize>, queue: Queue<F>, rate: Option<Rate>) -> Flow<F> {
        Flow {
            to,
            queue,
            window: VecDeque::new(),
            rate,
            spare: Vec::new(),
        }
    }

    /// The MSDUs that its receivers can deliver. `group_receivers` received the last group-addressed frame.
    pub fn ready<'m>(
        &'m mut self,
        from: usize,
        contender: usize,
        group_receivers: &'m [usize],
    ) -> Ready<'m, F> {
        let route = Route {
            from,
            to: self.to,
            contender,
        };
        let receivers = match &self.to {
            Some(to) => slice::from_ref(to),
            None => group_receivers,
        };
        Ready {
            route,
            receivers,
            slots: self.window.iter_mut(),
            retries: 0,
            joined: [].iter_mut(),
        }
    }

    /// The next frame to send, and the number of its previous transmissions.
    pub fn next_frame(&mut self, now: Nanos, dropped: &mut Vec<Packet<F>>) -> Option<(&F, u8)> {
        match self.window.iter().position(|slot| !slot.acked) {
            Some(index) => {
                let slot = &self.window[index];
                Some((&slot.msdu.frame, slot.sent))
            }
            None => self.queue.head(now, dropped).map(|head| (&head.frame, 0)),
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
        fragmentation: &Fragmentation<'_>,
        dropped: &mut Vec<Packet<F>>,
    ) -> Option<usize> {
        if let Some(slot) = self.window.iter().find(|slot| !slot.acked) {
            return Some(slot.next_mpdu(fragmentation).0);
        }
        let head = self.queue.head(now, dropped)?;
        Some(fragmentation.mpdu(head.len_b, 0).0)
    }

    /// Fills a PSDU with MPDUs of the window and then of the queue, and marks them as on the air. The PSDU ends
    /// before the first MPDU that may not join other MPDUs.
    pub fn fill(
        &mut self,
        psdu: &mut Psdu,
        source: &mut MpduSource<'_, F>,
        may_join: impl Fn(&Slot<F>) -> bool,
    ) {
        let mut next = 0;
        while !psdu.is_full() {
            if next == self.window.len() && !self.pull(source) {
                break;
            }
            let slot = &mut self.window[next];
            next += 1;
            if slot.acked {
                continue;
            }
            if psdu.mpdus() > 0 && !may_join(slot) || !psdu.join(slot.next_mpdu(&source.fragmentation).0) {
                break;
            }
            slot.on_air = true;
        }
    }

    /// Moves MSDUs from the queue to a new slot of the window: one MSDU, or as many as fit an A-MSDU. Returns
    /// false if the queue is empty or the window is full.
    fn pull(&mut self, source: &mut MpduSource<'_, F>) -> bool {
        let MpduSource {
            now,
            max_amsdu_b,
            ref mut dropped,
            ..
        } = *source;
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

    /// Ends an exchange for the MPDUs on the air. `drop` gets the frames that leave the window, and the number
    /// of their transmissions.
    pub fn settle(&mut self, end: &ExchangeEnd<'_, F>, mut drop: impl FnMut(F, u8)) -> Tally {
        let mut tally = Tally::default();
        let mut at = 0;
        while let Some(slot) = self.window.get_mut(at) {
            at += 1;
            if !std::mem::take(&mut slot.on_air) {
                continue;
            }
            if end.payload_sent {
                tally.sent += 1;
                tally.resent += u32::from(slot.count_transmission());
            }
            let msdus = slot.msdus();
            match slot.settle(end) {
                Fate::Retransmit => {}
                Fate::NextFragment => tally.acked += 1,
                Fate::Acknowledged => {
                    tally.acked += 1;
                    tally.msdus_acked += msdus;
                }
                Fate::DroppedReceived => tally.msdus_dropped += msdus,
                Fate::Dropped => {
                    tally.msdus_dropped += msdus;
                    at -= 1;
                    let slot = self.window.remove(at).expect("the index is in the window");
                    self.dissolve(slot, &mut drop);
                }
            }
        }
        tally
    }

    /// Takes the frames out of a slot that has left the window, and the number of their transmissions.
    pub fn dissolve(&mut self, slot: Slot<F>, mut take: impl FnMut(F, u8)) {
        let Slot {
            msdu,
            mut joined,
            sent,
            ..
        } = slot;
        take(msdu.frame, sent);
        joined.drain(..).for_each(|msdu| take(msdu.frame, sent));
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

/// Iterates over the MSDUs of a flow that its receivers can deliver, and marks their MPDUs as taken.
pub(super) struct Ready<'m, F> {
    route: Route,
    receivers: &'m [usize],
    slots: vec_deque::IterMut<'m, Slot<F>>,
    /// Previous transmissions of the last MPDU.
    retries: u8,
    /// The remaining MSDUs of its A-MSDU.
    joined: slice::IterMut<'m, Packet<F>>,
}

impl<'m, F> Iterator for Ready<'m, F> {
    type Item = (Delivery<'m>, &'m mut F);

    fn next(&mut self) -> Option<Self::Item> {
        let msdu = match self.joined.next() {
            Some(msdu) => msdu,
            None => {
                let slot = self.slots.find(|slot| slot.receipt == Receipt::Ready)?;
                slot.receipt = Receipt::Taken;
                // The exchange of a group-addressed frame has ended, which counted its only transmission.
                self.retries = if self.route.to.is_some() { slot.sent } else { 0 };
                self.joined = slot.joined.iter_mut();
                &mut slot.msdu
            }
        };
        let delivery = Delivery {
            route: self.route,
            receivers: self.receivers,
            arrival: msdu.arrival,
            retries: self.retries,
        };
        Some((delivery, &mut msdu.frame))
    }
}
