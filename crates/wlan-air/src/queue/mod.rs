//! The queue in front of a transmitter: FIFO with tail drop, or FQ-CoDel (RFC 8290).
//!
//! A queue decides which packet is next and which are dropped; it knows nothing of who asks and why. Every
//! packet that is pushed comes out exactly once: from [`Queue::pop`], from [`Queue::push`] as the one that
//! had to go, or among the dropped of [`Queue::head`]. Nothing is allocated once a queue has grown to its
//! limit.

mod codel;
mod fq_codel;

use std::collections::VecDeque;

use crate::Nanos;
use fq_codel::FqCodel;

/// A packet in a queue. `F` is a frame, which the queue carries without looking at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<F> {
    /// When it reaches the queue.
    pub arrival: Nanos,
    /// Octets.
    pub len_b: usize,
    /// What tells packets apart that must not overtake one another, such as a hash of addresses and ports.
    pub flow: u32,
    /// The frame.
    pub frame: F,
}

/// Parameters of FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FqCodelConfig {
    /// Delay in the queue that CoDel accepts for long.
    pub target: Nanos,
    /// Time above the target before the first drop: about the largest round-trip time.
    pub interval: Nanos,
    /// Octets that a flow sends in its turn.
    pub quantum_b: u32,
    /// Queues. Flows that are equal modulo this number share one.
    pub flows: u32,
    /// CoDel leaves a flow alone that has no more octets than this waiting: one packet (RFC 8289, 5.5).
    pub mtu_b: u32,
}

impl FqCodelConfig {
    /// The defaults of RFC 8290, 5.2, and of Linux: 5 ms, 100 ms, 1514 octets (an Ethernet frame), 1024
    /// queues.
    #[must_use]
    pub const fn rfc8290() -> FqCodelConfig {
        FqCodelConfig {
            target: Nanos::from_ms(5),
            interval: Nanos::from_ms(100),
            quantum_b: 1514,
            flows: 1024,
            mtu_b: 1514,
        }
    }

    /// What Linux's mac80211 uses between its stations' flows: a target of 20 ms, as the medium is shared,
    /// and a quantum of 300 octets.
    #[must_use]
    pub const fn mac80211() -> FqCodelConfig {
        FqCodelConfig {
            target: Nanos::from_ms(20),
            quantum_b: 300,
            flows: 4096,
            ..FqCodelConfig::rfc8290()
        }
    }

    fn check(&self) -> Result<(), QueueError> {
        if self.flows == 0 {
            return Err(QueueError::Flows);
        }
        if self.quantum_b == 0 {
            return Err(QueueError::Quantum);
        }
        if self.interval > codel::LONGEST_INTERVAL || self.interval == Nanos::ZERO {
            return Err(QueueError::Interval(self.interval));
        }
        Ok(())
    }
}

/// How a queue orders packets and drops them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Discipline {
    /// First in, first out; what finds the queue full is dropped.
    Fifo,
    /// Fair queueing by flow with CoDel in each (RFC 8290); when it is full, the flow with the most octets
    /// loses its oldest packet.
    FqCodel(FqCodelConfig),
}

/// What can be wrong with the configuration of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// No room for a packet.
    #[error("a queue must hold at least one packet")]
    Limit,
    /// Nowhere to put a packet.
    #[error("fq_codel needs at least one flow queue (RFC 8290, 5.2.4)")]
    Flows,
    /// Nothing sent in a turn.
    #[error("the quantum of fq_codel must be at least 1 octet (RFC 8290, 5.2.3)")]
    Quantum,
    /// No time, or more than the control law is computed for.
    #[error("CoDel interval of {0}: must be above 0 and at most 4 s (RFC 8289, 4.3)")]
    Interval(Nanos),
}

/// A queue with a limit.
#[derive(Clone, Debug)]
pub struct Queue<F> {
    limit: usize,
    kind: Kind<F>,
}

#[derive(Clone, Debug)]
enum Kind<F> {
    Fifo(VecDeque<Packet<F>>),
    FqCodel(FqCodel<F>),
}

impl<F> Queue<F> {
    /// An empty queue for at most `limit_packets`.
    ///
    /// # Errors
    /// [`QueueError`] where the configuration contradicts itself.
    pub fn new(discipline: Discipline, limit_packets: usize) -> Result<Queue<F>, QueueError> {
        if limit_packets == 0 {
            return Err(QueueError::Limit);
        }
        let kind = match discipline {
            Discipline::Fifo => Kind::Fifo(VecDeque::new()),
            Discipline::FqCodel(config) => {
                config.check()?;
                Kind::FqCodel(FqCodel::new(config))
            }
        };
        Ok(Queue {
            limit: limit_packets,
            kind,
        })
    }

    /// Takes a packet in. Gives the one that a full queue drops for it: with FIFO the packet itself, with
    /// FQ-CoDel the oldest of the flow with the most octets.
    pub fn push(&mut self, packet: Packet<F>) -> Option<Packet<F>> {
        match &mut self.kind {
            Kind::Fifo(packets) if packets.len() == self.limit => Some(packet),
            Kind::Fifo(packets) => {
                packets.push_back(packet);
                None
            }
            Kind::FqCodel(flows) => {
                flows.push(packet);
                (flows.len() > self.limit)
                    .then(|| flows.drop_from_fattest())
                    .flatten()
            }
        }
    }

    /// The packet to send next at `now`, which stays the same until [`Queue::pop`] takes it. Packets that
    /// CoDel drops on the way to it are added to `dropped`. `now` must not run backwards.
    pub fn head(&mut self, now: Nanos, dropped: &mut Vec<Packet<F>>) -> Option<&Packet<F>> {
        match &mut self.kind {
            Kind::Fifo(packets) => packets.front(),
            Kind::FqCodel(flows) => flows.head(now, dropped),
        }
    }

    /// Takes the packet out that [`Queue::head`] showed; with FIFO also without having looked.
    pub fn pop(&mut self) -> Option<Packet<F>> {
        match &mut self.kind {
            Kind::Fifo(packets) => packets.pop_front(),
            Kind::FqCodel(flows) => flows.pop(),
        }
    }

    /// Packets in the queue.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.kind {
            Kind::Fifo(packets) => packets.len(),
            Kind::FqCodel(flows) => flows.len(),
        }
    }

    /// Whether no packet waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests;
