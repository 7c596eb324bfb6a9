//! The application that fills a send buffer.

use super::{Phase, SendBuffer, Sender};
use crate::Nanos;
use crate::tcp::Span;

/// Memory of a packet without its payload: descriptor and headers (`SKB_TRUESIZE`).
const PACKET_B: u64 = 960;

impl Sender {
    /// The application's next write, if the socket is writable and the CPU is free; then [`Sender::poll`] may return
    /// segments. Without a send buffer, the application has written everything.
    pub fn write_next(&mut self, now: Nanos) -> bool {
        let (Some(buffer), Some(at)) = (self.config.buffer, self.next_write()) else {
            self.writes_left = 0; // the call finds the buffer full, and the application waits for space
            return false;
        };
        if at > now {
            return false;
        }
        if self.writes_left == 0 {
            self.writes_left = buffer.writes;
        }
        self.writes_left -= 1;
        self.supply += buffer.write_b;
        self.occupy(now, self.config.cpu.write);
        true
    }

    /// Time of the application's next write; `None` while the socket is not writable.
    #[must_use]
    pub fn next_write(&self) -> Option<Nanos> {
        let buffer = self.config.buffer?;
        if self.phase != Phase::Open || self.stopped || self.acked < self.config.greeting_b {
            return None;
        }
        let (used_b, size_b) = (self.used_b(), 2 * buffer.size_b);
        let is_writable = if self.writes_left > 0 {
            used_b < size_b
        } else {
            size_b.saturating_sub(used_b) >= used_b / 2
        };
        is_writable.then_some(self.busy_until)
    }

    /// The CPU works for this time.
    fn occupy(&mut self, now: Nanos, time: Nanos) {
        self.busy_until = self.busy_until.max(now) + time;
    }

    /// Memory of the packets that wait for transmission or for an acknowledgment (`sk_wmem_queued`).
    fn used_b(&self) -> u64 {
        let waiting_b = self.supply - self.sent;
        let whole_b = u64::from(self.config.mss_b);
        let waiting = if self.config.segmentation_offload {
            u64::from(waiting_b > 0)
        } else {
            waiting_b.div_ceil(whole_b)
        };
        self.supply - self.acked + PACKET_B * (waiting + self.packets.len() as u64)
    }

    /// Notes that a packet of the send buffer was passed to the device.
    pub(super) fn note_packet(&mut self, now: Nanos, end: u64) {
        if self.config.buffer.is_some() && self.packets.back().is_none_or(|&last| last < end) {
            self.packets.push_back(end);
            self.occupy(now, self.config.cpu.packet);
        }
    }

    /// Frees the packets that are acknowledged.
    pub(super) fn free_packets(&mut self) {
        while self.packets.front().is_some_and(|&end| end <= self.acked) {
            self.packets.pop_front();
        }
    }

    /// Whether a segment ends with the last octet that the application has written to a send buffer: it has PSH
    /// (`tcp_mark_push`).
    pub(super) fn ends_writes(&self, span: Span) -> bool {
        self.config.buffer.is_some() && span.end == self.supply
    }

    /// Whether a segment that is not full must wait, because another one is in flight (Minshall's variant of the Nagle
    /// algorithm). Only writes to a send buffer leave such segments.
    pub(super) fn holds_small(&self) -> bool {
        self.config.buffer.is_some() && self.acked < self.small_end
    }
}

impl SendBuffer {
    pub(super) fn is_valid(&self) -> bool {
        self.size_b > 0 && self.write_b > 0 && self.writes > 0
    }
}
