//! Both ends over a simple pipe: the requirements of the RFCs, and the laws of throughput.

mod laws;
mod receiver;
mod recovery;
mod stream;

use std::collections::VecDeque;

use super::*;

/// Whether the n-th data segment is lost.
type Lose = Box<dyn FnMut(u64, &Segment) -> bool>;

/// A bottleneck with a FIFO of `queue` packets towards the receiver, the same delay in each direction, and
/// losses.
struct Pipe {
    sender: Sender,
    receiver: Receiver,
    now: Nanos,
    rate_mbps: f64,
    delay: Nanos,
    queue: usize,
    lose: Lose,
    data: u64,
    departures: VecDeque<Nanos>,
    free_at: Nanos,
    forth: VecDeque<(Nanos, Segment)>,
    back: VecDeque<(Nanos, Segment)>,
    /// Every data segment that was sent, even if it was lost, and every ACK that arrived.
    sent: Vec<(Nanos, Segment)>,
    acks: Vec<(Nanos, Segment)>,
    drops: u64,
}

impl Pipe {
    fn new(
        sender: SenderConfig,
        receiver: ReceiverConfig,
        rate_mbps: f64,
        delay: Nanos,
        queue: usize,
    ) -> Pipe {
        let mut sender = Sender::new(sender).unwrap();
        sender.open(Nanos::ZERO);
        Pipe {
            sender,
            receiver: Receiver::new(receiver).unwrap(),
            now: Nanos::ZERO,
            rate_mbps,
            delay,
            queue,
            lose: Box::new(|_, _| false),
            data: 0,
            departures: VecDeque::new(),
            free_at: Nanos::ZERO,
            forth: VecDeque::new(),
            back: VecDeque::new(),
            sent: Vec::new(),
            acks: Vec::new(),
            drops: 0,
        }
    }

    fn linux(congestion: CongestionControl, rate_mbps: f64, delay_ms: u64, queue: usize) -> Pipe {
        let sender = SenderConfig::bulk(congestion);
        Pipe::new(
            sender,
            ReceiverConfig::linux(),
            rate_mbps,
            Nanos::from_ms(delay_ms),
            queue,
        )
    }

    fn losing(mut self, lose: impl FnMut(u64, &Segment) -> bool + 'static) -> Pipe {
        self.lose = Box::new(lose);
        self
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    fn send(&mut self) {
        while let Some(segment) = self.sender.poll(self.now) {
            while self.departures.front().is_some_and(|&at| at <= self.now) {
                self.departures.pop_front();
            }
            if segment.len_b > 0 {
                self.data += 1;
                self.sent.push((self.now, segment));
                if (self.lose)(self.data - 1, &segment) {
                    continue;
                }
            }
            if self.departures.len() >= self.queue {
                self.drops += 1;
                continue;
            }
            let bits = segment.ip_len_b(IpVersion::V4) as f64 * 8.0;
            self.free_at = self.free_at.max(self.now) + Nanos((bits * 1e3 / self.rate_mbps) as u64);
            self.departures.push_back(self.free_at);
            self.forth.push_back((self.free_at + self.delay, segment));
        }
    }

    fn answer(&mut self, segment: Option<Segment>) {
        self.back
            .extend(segment.map(|segment| (self.now + self.delay, segment)));
    }

    /// Executes the next event; `None` if there is none.
    fn step(&mut self) -> Option<Nanos> {
        self.send();
        let forth = self.forth.front().map(|&(at, _)| at);
        let back = self.back.front().map(|&(at, _)| at);
        let timers = [self.sender.next_timeout(), self.receiver.next_timeout()];
        self.now = [forth, back, timers[0], timers[1]].into_iter().flatten().min()?;
        if forth == Some(self.now) {
            let (_, segment) = self.forth.pop_front()?;
            let answer = self.receiver.on_segment(self.now, &segment);
            self.answer(answer);
            while let Some(answer) = self.receiver.read(self.now) {
                self.answer(Some(answer));
            }
        } else if back == Some(self.now) {
            let (at, segment) = self.back.pop_front()?;
            self.acks.push((at, segment));
            self.sender.on_segment(self.now, &segment);
        } else if timers[1] == Some(self.now) {
            let answer = self.receiver.on_timeout(self.now);
            self.answer(answer);
        } else {
            self.sender.on_timeout(self.now);
        }
        Some(self.now)
    }

    fn run_until(&mut self, end: Nanos) {
        while self.step().is_some_and(|now| now < end) {}
    }

    #[allow(clippy::cast_precision_loss)]
    fn goodput_mbps(&mut self, from: Nanos, to: Nanos) -> f64 {
        self.run_until(from);
        let before = self.receiver.received_b();
        self.run_until(to);
        (self.receiver.received_b() - before) as f64 * 8e-6 / (to - from).as_secs_f64()
    }
}
