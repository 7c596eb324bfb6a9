//! Hands packets up to a host on a thread of its own, in order.
//!
//! The receiving stack runs inside the call that writes a packet to the device, and splits a super-packet of UDP for
//! sockets that read single datagrams: tens of microseconds per A-MPDU. A separate thread keeps this time from the MAC
//! thread.

use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::{io, mem};

use wlan_air::Nanos;
use wlan_host::clock::Clock;
use wlan_host::offload::VnetHeader;
use wlan_host::schedule::claim_real_time;
use wlan_host::tun::Tun;

/// Limit of super-packets that wait for the thread. If it is reached, the caller waits.
const LIMIT: usize = 64;

/// A super-packet on its way up.
#[derive(Default)]
struct Job {
    /// The virtio-net header and the packet.
    octets: Vec<u8>,
    /// The number of packets that it consists of.
    packets: usize,
    /// When it was due, if its lateness counts.
    due: Option<Nanos>,
}

/// The outcome of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// How late it was, if that counts.
    pub late: Option<Nanos>,
    /// The number of packets that the stack refused.
    pub refused: usize,
}

/// The thread and its channels.
pub struct Delivery {
    /// `None` once the thread should end.
    jobs: Option<SyncSender<Job>>,
    outcomes: Receiver<(Delivered, Vec<u8>)>,
    /// Buffers to reuse.
    unused: Vec<Vec<u8>>,
    /// Number of super-packets that the stack has not received yet.
    waiting: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Delivery {
    /// Starts the thread for this device.
    ///
    /// # Errors
    /// The kernel refuses the thread.
    pub fn start(tun: Arc<Tun>, clock: Clock) -> io::Result<Self> {
        let (jobs, queue) = sync_channel::<Job>(LIMIT);
        let (back, outcomes) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let remaining = Arc::clone(&waiting);
        let deliver = move || {
            claim_real_time();
            for Job { octets, packets, due } in queue {
                let late = due.map(|due| clock.now().saturating_sub(due));
                let refused = if tun.write(&[IoSlice::new(&octets)]).is_err() {
                    packets
                } else {
                    0
                };
                remaining.fetch_sub(1, Ordering::Release);
                // The other end may already be waiting for this thread to end.
                let _ = back.send((Delivered { late, refused }, octets));
            }
        };
        Ok(Self {
            jobs: Some(jobs),
            outcomes,
            unused: Vec::new(),
            waiting,
            thread: Some(
                std::thread::Builder::new()
                    .name("deliver".into())
                    .spawn(deliver)?,
            ),
        })
    }

    /// Whether packets are on their way up. Later packets must follow them.
    pub fn is_busy(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Hands over a super-packet of this number of packets, whose virtio-net header and octets are `parts`.
    pub fn hand_over<'p>(
        &mut self,
        parts: impl Iterator<Item = &'p [u8]>,
        packets: usize,
        due: Option<Nanos>,
    ) {
        let mut octets = self.unused.pop().unwrap_or_default();
        octets.clear();
        parts.for_each(|part| octets.extend_from_slice(part));
        debug_assert!(octets.len() > VnetHeader::LEN);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let jobs = self
            .jobs
            .as_ref()
            .expect("the thread runs until this value is dropped");
        jobs.send(Job { octets, packets, due })
            .expect("the thread takes jobs until the channel closes");
    }

    /// The outcomes since the last call.
    pub fn delivered(&mut self) -> impl Iterator<Item = Delivered> {
        let Self { outcomes, unused, .. } = self;
        outcomes.try_iter().map(|(delivered, octets)| {
            unused.push(octets);
            delivered
        })
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        drop(mem::take(&mut self.jobs));
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported on standard error.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
