//! Buffers of UDP sockets, as in Linux: the memory of the datagrams that wait in them is limited.

/// The socket buffers at the ends of a flow of datagrams, as programs set them (`SO_SNDBUF`, `SO_RCVBUF`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpBuffers {
    /// Octets of the sender's buffer. A full buffer blocks the sender until its station has sent a datagram. `None`:
    /// the sender never waits, as above a device that takes datagrams at once.
    pub send_b: Option<u64>,
    /// Octets of the receiver's buffer. A datagram that finds it full is lost. `None`: it is never full.
    pub receive_b: Option<u64>,
}

/// Octets before a packet in its memory (`NET_SKB_PAD`), and after it (`struct skb_shared_info`).
const PADDING_B: u64 = 64;
const SHARED_B: u64 = 320;
/// Octets of `struct sk_buff`.
const DESCRIPTOR_B: u64 = 256;
/// Memory for the headers of a packet (`SKB_SMALL_HEAD_CACHE_SIZE`), which is enough for a short datagram.
const SMALL_HEAD_B: u64 = 704;

/// The memory that Linux charges for a packet from a TUN device (`skb->truesize`).
fn charge_b(ip_len_b: usize) -> u64 {
    let object_b = PADDING_B + ip_len_b as u64 + SHARED_B;
    DESCRIPTOR_B
        + if object_b <= SMALL_HEAD_B {
            SMALL_HEAD_B
        } else {
            object_b.next_power_of_two()
        }
}

/// The sockets of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sockets {
    buffers: UdpBuffers,
    /// Memory of the datagrams that the sender's station holds.
    sent_b: u64,
    /// Memory of the datagrams that wait at the ends of the flow: at its end, and at its start.
    waiting_b: [u64; 2],
    /// Whether the sender waits for space.
    pub blocked: bool,
}

impl Sockets {
    pub fn new(buffers: UdpBuffers) -> Sockets {
        Sockets {
            buffers,
            sent_b: 0,
            waiting_b: [0; 2],
            blocked: false,
        }
    }

    /// Datagrams of these packets that the sender's buffer holds: at least one. Linux doubles the buffer, and accepts a
    /// datagram while the memory in use is below it (`sock_alloc_send_pskb`).
    pub fn sendable(&self, packets_len_b: impl Iterator<Item = usize>) -> usize {
        let Some(size_b) = self.buffers.send_b else {
            return usize::MAX;
        };
        let datagram_b: u64 = packets_len_b.map(charge_b).sum();
        let datagrams = (2 * size_b).div_ceil(datagram_b.max(1)).max(1);
        usize::try_from(datagrams).unwrap_or(usize::MAX)
    }

    /// Whether the sender has to wait.
    pub fn is_full(&self) -> bool {
        self.buffers
            .send_b
            .is_some_and(|size_b| self.sent_b >= 2 * size_b)
    }

    /// A packet of the sender reaches its station.
    pub fn send(&mut self, ip_len_b: u32) {
        self.sent_b += charge_b(ip_len_b as usize);
    }

    /// A packet has left the station. Returns whether the sender waited for it.
    pub fn release(&mut self, ip_len_b: u32) -> bool {
        self.sent_b = self.sent_b.saturating_sub(charge_b(ip_len_b as usize));
        self.blocked && !self.is_full() && std::mem::take(&mut self.blocked)
    }

    /// A datagram arrives at an end of the flow (`back`: at its start). Returns whether the buffer holds it. Linux doubles
    /// the buffer, and accepts a datagram if its memory fits, or if the buffer is empty (`__udp_enqueue_schedule_skb` of
    /// Linux 6.18; before, one more datagram).
    pub fn receive(&mut self, back: bool, ip_len_b: u32) -> bool {
        let charge_b = charge_b(ip_len_b as usize);
        let waiting_b = &mut self.waiting_b[usize::from(back)];
        let fits = self
            .buffers
            .receive_b
            .is_none_or(|size_b| *waiting_b == 0 || *waiting_b + charge_b <= 2 * size_b);
        if fits {
            *waiting_b += charge_b;
        }
        fits
    }

    /// The program at an end of the flow reads all datagrams that wait.
    pub fn read(&mut self, back: bool) {
        self.waiting_b[usize::from(back)] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Datagrams that a socket of Linux 6.18 behind a TUN device held before it was read, by `SO_RCVBUF` and payload.
    #[test]
    fn receive_buffers_hold_the_datagrams_of_linux() {
        for (receive_b, payload_b, held_by_linux) in [
            (8192, 512, 12),
            (8192, 612, 12),
            (8192, 613, 7),
            (8192, 1472, 7),
            (16_384, 612, 25),
            (16_384, 613, 14),
            (16_384, 1460, 14),
            (4096, 512, 6),
            (4096, 1024, 3),
            (1024, 1472, 1),
        ] {
            let mut sockets = Sockets::new(UdpBuffers {
                send_b: None,
                receive_b: Some(receive_b),
            });
            let held = (0..)
                .take_while(|_| sockets.receive(false, payload_b + 28))
                .count();
            assert_eq!(held, held_by_linux, "{receive_b} {payload_b}");
        }
    }

    /// 8 KB of datagrams of 1460 octets over IPv4: 16 384 octets of memory, 2304 per datagram. The sender starts its
    /// eighth datagram when seven take less than the buffer.
    #[test]
    fn eight_kilobytes_hold_seven_or_eight_full_datagrams() {
        let both = Some(8 << 10);
        let mut sockets = Sockets::new(UdpBuffers {
            send_b: both,
            receive_b: both,
        });
        assert_eq!(sockets.sendable([1488].into_iter()), 8);
        let mut held = 0;
        while sockets.receive(false, 1488) {
            held += 1;
        }
        assert_eq!(held, 7);
        assert!(sockets.receive(true, 1488), "the other end has its own buffer");
        sockets.read(false);
        assert!(sockets.receive(false, 1488));
        for _ in 0..8 {
            assert!(!sockets.is_full());
            sockets.send(1488);
        }
        assert!(sockets.is_full());
        sockets.blocked = true;
        assert!(sockets.release(1488));
        assert!(!sockets.release(1488), "the sender waits once");
    }

    #[test]
    fn sockets_without_buffers_are_never_full() {
        let mut sockets = Sockets::new(UdpBuffers::default());
        for _ in 0..1000 {
            assert!(sockets.receive(false, 1500));
            sockets.send(1500);
        }
        assert!(!sockets.is_full());
        assert_eq!(sockets.sendable([1500].into_iter()), usize::MAX);
    }
}
