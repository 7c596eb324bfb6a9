//! The queue in front of a transmitter: FIFO with tail drop, or FQ-CoDel (RFC 8290).
//!
//! A queue decides which packet is next and which packets are dropped. It does not depend on its users. Every
//! packet that is pushed comes out exactly once: from [`Queue::pop`], from [`Queue::push`] as the packet
//! dropped by a full queue, or among the dropped packets of [`Queue::head`]. Once a queue has grown to its
//! limit, it allocates no memory.

mod codel;
mod fq_codel;

use std::collections::VecDeque;

use crate::Nanos;
use fq_codel::FqCodel;

/// A packet in a queue. `F` is a frame, which the queue never inspects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<F> {
    /// Time at which the packet arrives at the queue.
    pub arrival: Nanos,
    /// Length in octets.
    pub len_b: usize,
    /// Identifies packets that must stay in order, such as a hash of addresses and ports.
    pub flow: u32,
    /// The frame.
    pub frame: F,
}

/// Parameters of FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FqCodelConfig {
    /// Queue delay that CoDel tolerates permanently.
    pub target: Nanos,
    /// Time above the target before the first drop: about the largest round-trip time.
    pub interval: Nanos,
    /// Octets that a flow sends per turn.
    pub quantum_b: u32,
    /// Number of queues. Flows that are equal modulo this number share a queue.
    pub flows: u32,
    /// CoDel drops no packet of a flow with at most this many octets waiting: one packet (RFC 8289, 5.5).
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

    /// The parameters of Linux's mac80211 for the flows of its stations: a target of 20 ms, because the
    /// medium is shared, and a quantum of 300 octets.
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

/// The order in which a queue sends and drops packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Discipline {
    /// First in, first out; a packet that arrives at a full queue is dropped.
    Fifo,
    /// Fair queueing by flow, with CoDel per flow (RFC 8290). A full queue drops the oldest packet of the
    /// flow with the most octets.
    FqCodel(FqCodelConfig),
}

/// An invalid configuration of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The limit is zero.
    #[error("a queue must hold at least one packet")]
    Limit,
    /// FQ-CoDel has no flow queue.
    #[error("fq_codel requires at least one flow queue (RFC 8290, 5.2.4)")]
    Flows,
    /// The quantum is zero.
    #[error("the quantum of fq_codel must be at least 1 octet (RFC 8290, 5.2.3)")]
    Quantum,
    /// The interval is zero, or exceeds the limit of the control law.
    #[error("CoDel interval of {0}: must be above 0 and at most 4 s (RFC 8289, 4.3)")]
    Interval(Nanos),
}

/// A queue with a limited number of packets.
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
    /// [`QueueError`] if the configuration is invalid.
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

    /// Adds a packet. A full queue returns the packet that it drops: with FIFO the packet itself, with
    /// FQ-CoDel the oldest packet of the flow with the most octets.
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

    /// The packet to send next at `now`, which stays the same until [`Queue::pop`] removes it. Packets that
    /// CoDel drops before it are added to `dropped`. `now` must not decrease.
    pub fn head(&mut self, now: Nanos, dropped: &mut Vec<Packet<F>>) -> Option<&Packet<F>> {
        match &mut self.kind {
            Kind::Fifo(packets) => packets.front(),
            Kind::FqCodel(flows) => flows.head(now, dropped),
        }
    }

    /// Removes the packet that [`Queue::head`] returned; with FIFO, calling [`Queue::head`] first is not
    /// required.
    pub fn pop(&mut self) -> Option<Packet<F>> {
        match &mut self.kind {
            Kind::Fifo(packets) => packets.pop_front(),
            Kind::FqCodel(flows) => flows.pop(),
        }
    }

    /// Number of packets in the queue.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.kind {
            Kind::Fifo(packets) => packets.len(),
            Kind::FqCodel(flows) => flows.len(),
        }
    }

    /// Whether the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests;
