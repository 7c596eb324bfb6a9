//! Queues for the control plane: frames, and unknown transmitters.
//!
//! Any sender that can reach this end can fill the queue of unprotected frames. Frames sealed under an installed key
//! have a separate queue. The two queues are served alternately, so that neither delays the other.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use arrayvec::ArrayVec;
use wlan_frames::MacAddr;

use super::endpoint::Endpoint;
use crate::lock::lock;

/// A frame for the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlFrame {
    /// Claimed transmitter address; verified if `protected`.
    pub transmitter: MacAddr,
    /// Source of the frame, and destination of an answer.
    pub endpoint: Endpoint,
    /// Whether the frame was sealed under an installed key and is not a replay.
    pub protected: bool,
    /// The content of the frame.
    pub body: ControlBody,
}

/// Content of a frame for the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlBody {
    /// An EAPOL PDU, starting with its protocol version; Ethernet padding may follow.
    Eapol(Vec<u8>),
    /// A management frame: MAC header and plaintext; Ethernet padding may follow.
    Management(Vec<u8>),
}

/// Maximum number of unknown transmitters that are recorded between two queries of the control plane. The bound keeps
/// a flood from costing it time.
const STRANGERS: usize = 8;

/// Unknown transmitters of sealed frames, with the sources of these frames.
pub type Strangers = ArrayVec<(MacAddr, Endpoint), STRANGERS>;

/// Queues for the control plane, closed once the link has ended.
#[derive(Debug)]
pub struct Waiting {
    /// Capacity of each queue, in frames.
    most: usize,
    queues: Mutex<Queues>,
    /// Whether the queues of unprotected and of sealed frames are full; read without the lock.
    full: [AtomicBool; 2],
    arrived: Condvar,
    strangers: Mutex<Strangers>,
    /// Whether `strangers` is full; read without the lock.
    is_full: AtomicBool,
}

#[derive(Debug, Default)]
struct Queues {
    sealed: VecDeque<ControlFrame>,
    open: VecDeque<ControlFrame>,
    /// Whether the previous frame came from the queue of sealed frames.
    was_sealed: bool,
    is_closed: bool,
    /// The control plane must look after something else.
    is_woken: bool,
}

impl Queues {
    fn take(&mut self) -> Option<ControlFrame> {
        let sealed_first = !mem::replace(&mut self.was_sealed, false) || self.open.is_empty();
        if sealed_first && let Some(frame) = self.sealed.pop_front() {
            self.was_sealed = true;
            return Some(frame);
        }
        self.open.pop_front()
    }
}

impl Waiting {
    /// Creates queues of `most` frames each.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            queues: Mutex::default(),
            full: Default::default(),
            arrived: Condvar::new(),
            strangers: Mutex::default(),
            is_full: AtomicBool::new(false),
        }
    }

    /// Queues the frame that `make` returns. Returns `false` if the queue is full.
    ///
    /// While a queue is full, a further frame costs neither a copy nor the lock. A flood of control frames therefore
    /// does not slow the data path, whose thread calls this function.
    pub(super) fn put(&self, protected: bool, make: impl FnOnce() -> ControlFrame) -> bool {
        let full = &self.full[usize::from(protected)];
        if full.load(Ordering::Relaxed) {
            return false;
        }
        let frame = make();
        let mut queues = lock(&self.queues);
        let queue = if protected {
            &mut queues.sealed
        } else {
            &mut queues.open
        };
        // Another thread may have filled the queue since.
        let has_space = queue.len() < self.most;
        if has_space {
            queue.push_back(frame);
        }
        full.store(queue.len() >= self.most, Ordering::Relaxed);
        drop(queues);
        self.arrived.notify_one();
        has_space
    }

    fn take(&self, queues: &mut Queues) -> Option<ControlFrame> {
        let frame = queues.take()?;
        self.full[usize::from(frame.protected)].store(false, Ordering::Relaxed);
        Some(frame)
    }

    /// Records an unknown transmitter of a sealed frame.
    pub(super) fn note(&self, stranger: MacAddr, from: Endpoint) {
        if self.is_full.load(Ordering::Relaxed) {
            return;
        }
        let mut strangers = lock(&self.strangers);
        if !strangers.iter().any(|(known, _)| *known == stranger)
            && strangers.try_push((stranger, from)).is_ok()
        {
            self.is_full.store(strangers.is_full(), Ordering::Relaxed);
        }
    }

    /// Ends the current or the next [`recv_timeout`](Self::recv_timeout) without a frame.
    pub fn wake(&self) {
        lock(&self.queues).is_woken = true;
        self.arrived.notify_one();
    }

    /// Closes the queues: no further frame will arrive.
    pub(super) fn close(&self) {
        lock(&self.queues).is_closed = true;
        self.arrived.notify_all();
    }

    /// Waits at most `wait` for the next frame.
    ///
    /// # Errors
    /// No frame arrived, [`wake`](Self::wake) was called, or the link has ended and the queues are empty.
    pub fn recv_timeout(&self, wait: Duration) -> Result<ControlFrame, RecvTimeoutError> {
        let is_idle = |queues: &mut Queues| {
            let is_empty = queues.sealed.is_empty() && queues.open.is_empty();
            is_empty && !queues.is_closed && !mem::take(&mut queues.is_woken)
        };
        let (mut queues, _) = self
            .arrived
            .wait_timeout_while(lock(&self.queues), wait, is_idle)
            .unwrap_or_else(PoisonError::into_inner);
        self.take(&mut queues).ok_or(if queues.is_closed {
            RecvTimeoutError::Disconnected
        } else {
            RecvTimeoutError::Timeout
        })
    }

    /// Takes the next frame without waiting.
    ///
    /// # Errors
    /// The queues are empty; `Disconnected` if the link has also ended.
    pub fn try_recv(&self) -> Result<ControlFrame, TryRecvError> {
        let mut queues = lock(&self.queues);
        self.take(&mut queues).ok_or(if queues.is_closed {
            TryRecvError::Disconnected
        } else {
            TryRecvError::Empty
        })
    }

    /// Takes the unknown transmitters of sealed frames since the previous call. After a restart of an access point,
    /// these include its former stations. Any sender can appear here; transmitters beyond the bound are omitted.
    pub fn strangers(&self) -> Strangers {
        let strangers = mem::take(&mut *lock(&self.strangers));
        self.is_full.store(false, Ordering::Relaxed);
        strangers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(last: u8, protected: bool) -> ControlFrame {
        let transmitter = MacAddr([2, 0, 0, 0, 0, last]);
        ControlFrame {
            transmitter,
            endpoint: Endpoint::Ethernet(transmitter),
            protected,
            body: ControlBody::Eapol(vec![last]),
        }
    }

    #[test]
    fn sealed_and_unprotected_frames_do_not_delay_each_other() {
        let waiting = Waiting::new(3);
        let put = [false; 5].map(|protected| waiting.put(protected, || frame(1, protected)));
        assert_eq!(put, [true, true, true, false, false]);
        let put = [true; 4].map(|protected| waiting.put(protected, || frame(2, protected)));
        assert_eq!(put, [true, true, true, false]);
        let order: Vec<bool> = std::iter::from_fn(|| waiting.try_recv().ok())
            .map(|frame| frame.protected)
            .collect();
        assert_eq!(order, [true, false, true, false, true, false]);
        assert_eq!(waiting.try_recv(), Err(TryRecvError::Empty));
    }

    #[test]
    fn a_frame_for_a_full_queue_costs_neither_a_copy_nor_the_lock() {
        for protected in [false, true] {
            let waiting = Waiting::new(1);
            assert!(waiting.put(protected, || frame(1, protected)));
            let (tell, told) = std::sync::mpsc::channel();
            std::thread::scope(|scope| {
                let held = lock(&waiting.queues);
                let again = || waiting.put(protected, || panic!("the queue is full"));
                scope.spawn(move || tell.send(again()));
                let outcome = told.recv_timeout(Duration::from_secs(10));
                drop(held);
                assert_eq!(outcome, Ok(false));
            });
            assert!(waiting.try_recv().is_ok());
            assert!(
                waiting.put(protected, || frame(2, protected)),
                "the queue has space again"
            );
        }
    }

    #[test]
    fn a_wake_ends_one_wait() {
        let waiting = Waiting::new(3);
        waiting.wake();
        assert_eq!(
            waiting.recv_timeout(Duration::from_secs(60)),
            Err(RecvTimeoutError::Timeout)
        );
        assert!(waiting.put(false, || frame(1, false)));
        assert_eq!(waiting.recv_timeout(Duration::from_secs(60)), Ok(frame(1, false)));
    }

    #[test]
    fn queued_frames_survive_the_end_of_the_link() {
        let waiting = Waiting::new(3);
        assert_eq!(
            waiting.recv_timeout(Duration::ZERO),
            Err(RecvTimeoutError::Timeout)
        );
        assert!(waiting.put(false, || frame(1, false)));
        waiting.close();
        assert_eq!(waiting.recv_timeout(Duration::from_secs(60)), Ok(frame(1, false)));
        assert_eq!(
            waiting.recv_timeout(Duration::from_secs(60)),
            Err(RecvTimeoutError::Disconnected)
        );
    }

    #[test]
    fn unknown_transmitters_are_recorded_once_and_up_to_a_limit_until_they_are_taken() {
        let waiting = Waiting::new(3);
        let at = |last| Endpoint::Ethernet(MacAddr([2, 0, 0, 0, 0, last]));
        for _ in 0..2 {
            for _ in 0..100 {
                waiting.note(MacAddr([2; 6]), at(1));
            }
            assert_eq!(waiting.strangers().as_slice(), [(MacAddr([2; 6]), at(1))]);
            for last in 0..100 {
                waiting.note(MacAddr([2, 0, 0, 0, 0, last]), at(last));
            }
            assert_eq!(waiting.strangers().len(), STRANGERS);
            assert!(waiting.strangers().is_empty());
        }
    }
}
