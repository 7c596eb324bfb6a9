//! `FqCodel` (RFC 8290): one queue per flow, served in turns; sparse flows are served first.

use std::collections::VecDeque;

use super::codel::Codel;
use super::{FqCodelConfig, Packet};
use crate::Nanos;

/// The index of no place.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Idle,
    New,
    Old,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    oldest: u32,
    newest: u32,
    octets: u64,
    /// Octets that the flow may still send in this turn.
    deficit: i64,
    list: List,
    codel: Codel,
}

/// A place for a packet, in the list of a flow or in the list of free places.
#[derive(Clone, Debug)]
struct Place<F> {
    packet: Option<Packet<F>>,
    next: u32,
}

#[derive(Clone, Debug)]
pub(super) struct FqCodel<F> {
    config: FqCodelConfig,
    flows: Vec<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    places: Vec<Place<F>>,
    free: u32,
    /// The packet that [`FqCodel::head`] chose.
    chosen: Option<Packet<F>>,
    len: usize,
}

impl<F> FqCodel<F> {
    pub(super) fn new(config: FqCodelConfig) -> FqCodel<F> {
        let idle = Flow {
            oldest: NONE,
            newest: NONE,
            octets: 0,
            deficit: 0,
            list: List::Idle,
            codel: Codel::default(),
        };
        FqCodel {
            config,
            flows: vec![idle; config.flows as usize],
            new: VecDeque::with_capacity(config.flows as usize),
            old: VecDeque::with_capacity(config.flows as usize),
            places: Vec::new(),
            free: NONE,
            chosen: None,
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, packet: Packet<F>) {
        let number = packet.flow % self.config.flows;
        let len_b = packet.len_b as u64;
        let place = self.store(packet);
        let flow = &mut self.flows[number as usize];
        if flow.oldest == NONE {
            flow.oldest = place;
        } else {
            self.places[flow.newest as usize].next = place;
        }
        flow.newest = place;
        flow.octets += len_b;
        self.len += 1;
        if flow.list == List::Idle {
            flow.list = List::New;
            flow.deficit = i64::from(self.config.quantum_b);
            self.new.push_back(number);
        }
    }

    fn store(&mut self, packet: Packet<F>) -> u32 {
        let filled = Place {
            packet: Some(packet),
            next: NONE,
        };
        if self.free == NONE {
            self.places.push(filled);
            u32::try_from(self.places.len() - 1).expect("fewer than 2^32 packets")
        } else {
            let place = self.free;
            self.free = self.places[place as usize].next;
            self.places[place as usize] = filled;
            place
        }
    }

    /// Removes the oldest packet of a flow.
    fn take(&mut self, number: u32) -> Option<Packet<F>> {
        let flow = &mut self.flows[number as usize];
        let place = flow.oldest;
        let entry = self.places.get_mut(place as usize)?;
        let packet = entry.packet.take()?;
        flow.oldest = entry.next;
        flow.octets -= packet.len_b as u64;
        entry.next = self.free;
        self.free = place;
        Some(packet)
    }

    /// RFC 8290, 4.1.3: the oldest packet of the flow with the most octets. Among equal flows, the flow that
    /// is served next.
    pub(super) fn drop_from_fattest(&mut self) -> Option<Packet<F>> {
        let (mut fattest, mut most_b) = (None, 0);
        for &number in self.new.iter().chain(&self.old) {
            let octets = self.flows[number as usize].octets;
            if octets > most_b {
                (fattest, most_b) = (Some(number), octets);
            }
        }
        let dropped = self.take(fattest?);
        self.len -= usize::from(dropped.is_some());
        dropped
    }

    /// The next packet (RFC 8290, 4.2).
    pub(super) fn head(&mut self, now: Nanos, dropped: &mut Vec<Packet<F>>) -> Option<&Packet<F>> {
        while self.chosen.is_none() {
            let from_new = !self.new.is_empty();
            let number = *self.new.front().or(self.old.front())?;
            let flow = &mut self.flows[number as usize];
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.config.quantum_b);
                self.retire(from_new, List::Old);
            } else if let Some(packet) = self.next_of(number, now, dropped) {
                let len_b = i64::try_from(packet.len_b).unwrap_or(i64::MAX);
                self.flows[number as usize].deficit -= len_b;
                self.chosen = Some(packet);
            } else if from_new && !self.old.is_empty() {
                // Not removed at once, so that the flow does not become new again ahead of waiting flows.
                self.retire(true, List::Old);
            } else {
                self.retire(from_new, List::Idle);
            }
        }
        self.chosen.as_ref()
    }

    /// Moves the flow at the front of its list to the end of the old flows, or removes it from the lists.
    fn retire(&mut self, from_new: bool, to: List) {
        let from = if from_new { &mut self.new } else { &mut self.old };
        if let Some(number) = from.pop_front() {
            self.flows[number as usize].list = to;
            if to == List::Old {
                self.old.push_back(number);
            }
        }
    }

    /// The oldest packet of a flow that `CoDel` does not drop.
    fn next_of(&mut self, number: u32, now: Nanos, dropped: &mut Vec<Packet<F>>) -> Option<Packet<F>> {
        let mut codel = self.flows[number as usize].codel;
        let dropped_before = dropped.len();
        let config = self.config;
        let take = || {
            let packet = self.take(number)?;
            Some((packet, self.flows[number as usize].octets))
        };
        let packet = codel.dequeue(&config, now, take, dropped);
        self.flows[number as usize].codel = codel;
        self.len -= dropped.len() - dropped_before;
        packet
    }

    pub(super) fn pop(&mut self) -> Option<Packet<F>> {
        let packet = self.chosen.take()?;
        self.len -= 1;
        Some(packet)
    }
}
