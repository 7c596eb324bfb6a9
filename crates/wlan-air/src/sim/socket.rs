//! Buffers of UDP sockets, as in Linux: the memory of the datagrams that wait in them is limited.

use crate::tcp::IpVersion;

/// The sockets at the ends of a flow of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpSockets {
    /// Octets of the sender's send buffer and of the receiver's receive buffer, as programs set them (`SO_SNDBUF`,
    /// `SO_RCVBUF`). A full send buffer blocks the sender until its station has sent a datagram. A datagram that finds
    /// the receive buffer full is lost. `None`: the buffers are never full.
    pub buffer_b: Option<u64>,
    /// Whether the hosts have TUN devices with segmentation offload. Such a device takes datagrams from a socket at
    /// once, so that the sender never waits, and delivers datagrams that arrive together as a super-packet.
    pub tun: bool,
    /// Whether the sender waits by `select(2)`, as iperf3 does: the call ends while less than half of the send buffer is
    /// in use (`sock_writeable`). Otherwise the sender waits in `write(2)`, which accepts datagrams until the buffer is
    /// full.
    pub select: bool,
}

/// Octets before a packet in its memory (`NET_SKB_PAD`), and after it (`struct skb_shared_info`).
const PADDING_B: u64 = 64;
const SHARED_B: u64 = 320;
/// Octets of `struct sk_buff`.
const DESCRIPTOR_B: u64 = 256;
/// Memory for the headers of a packet (`SKB_SMALL_HEAD_CACHE_SIZE`), which is enough for a short datagram.
const SMALL_HEAD_B: u64 = 704;

/// Octets that a sending host reserves before a packet for the headers of a wireless device and for alignment
/// (`LL_RESERVED_SPACE`, `hh_len` and 15), and for the fragment header of IPv6.
const RESERVED_B: u32 = 64 + 15;
const FRAGMENT_HEADER_B: u32 = 8;

/// The memory for a packet with its headers, in one piece.
fn object_b(ip_len_b: u32) -> u64 {
    PADDING_B + u64::from(ip_len_b) + SHARED_B
}

/// The memory that Linux charges for a packet (`skb->truesize`).
fn charge_b(ip_len_b: u32) -> u64 {
    charge_of_object_b(object_b(ip_len_b))
}

fn charge_of_object_b(object_b: u64) -> u64 {
    DESCRIPTOR_B
        + if object_b <= SMALL_HEAD_B {
            SMALL_HEAD_B
        } else {
            object_b.next_power_of_two()
        }
}

/// The memory that Linux charges for a segment of a super-packet, whose payload stays in pages (`skb_segment`).
fn segment_charge_b(ip_len_b: u32) -> u64 {
    DESCRIPTOR_B + SMALL_HEAD_B + u64::from(ip_len_b)
}

/// The sockets of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sockets {
    /// Octets of memory of the send and of the receive buffer: Linux doubles the given size. `None`: no limit.
    send_b: Option<u64>,
    receive_b: Option<u64>,
    /// Memory in use at which the sender waits: the send buffer, or its half.
    waits_at_b: Option<u64>,
    tun: bool,
    ip: IpVersion,
    /// Memory of the datagrams that the sender's station holds.
    sent_b: u64,
    /// Memory of the datagrams that wait at the ends of the flow: at its end, and at its start.
    waiting_b: [u64; 2],
    /// Whether the sender waits for space.
    pub blocked: bool,
}

impl Sockets {
    pub fn new(sockets: UdpSockets, ip: IpVersion) -> Sockets {
        let memory_b = sockets.buffer_b.map(|size_b| 2 * size_b);
        let send_b = memory_b.filter(|_| !sockets.tun);
        Sockets {
            send_b,
            receive_b: memory_b,
            waits_at_b: send_b.map(|memory_b| if sockets.select { memory_b / 2 } else { memory_b }),
            tun: sockets.tun,
            ip,
            sent_b: 0,
            waiting_b: [0; 2],
            blocked: false,
        }
    }

    /// Datagrams of these packets that the sender writes before it waits: at least one. Linux accepts a datagram while the
    /// memory in use is below the buffer's (`sock_alloc_send_pskb`).
    pub fn sendable(&self, packets_len_b: impl Iterator<Item = usize>) -> usize {
        let Some(limit_b) = self.waits_at_b else {
            return usize::MAX;
        };
        let charges_b =
            packets_len_b.map(|len_b| self.sent_charge_b(u32::try_from(len_b).unwrap_or(u32::MAX)));
        let datagrams = limit_b.div_ceil(charges_b.sum::<u64>().max(1)).max(1);
        usize::try_from(datagrams).unwrap_or(usize::MAX)
    }

    /// Whether the sender has to wait.
    pub fn is_full(&self) -> bool {
        self.waits_at_b.is_some_and(|limit_b| self.sent_b >= limit_b)
    }

    /// The memory that Linux charges a sender for a packet (`__ip_append_data`, `__ip6_append_data`).
    fn sent_charge_b(&self, ip_len_b: u32) -> u64 {
        let fragment_header_b = match self.ip {
            IpVersion::V4 => 0,
            IpVersion::V6 => FRAGMENT_HEADER_B,
        };
        let linear_b = ip_len_b.saturating_add(RESERVED_B + fragment_header_b);
        charge_of_object_b(u64::from(linear_b) + SHARED_B)
    }

    /// A packet of the sender reaches its station.
    pub fn send(&mut self, ip_len_b: u32) {
        self.sent_b += self.sent_charge_b(ip_len_b);
    }

    /// A packet has left the station. Returns whether Linux wakes a sender that waits: less than half of the buffer is in
    /// use (`sock_def_write_space`).
    pub fn release(&mut self, ip_len_b: u32) -> bool {
        self.sent_b = self.sent_b.saturating_sub(self.sent_charge_b(ip_len_b));
        let is_writable = self.send_b.is_none_or(|memory_b| self.sent_b < memory_b / 2);
        is_writable && std::mem::take(&mut self.blocked)
    }

    /// A datagram arrives at an end of the flow (`back`: at its start). It may be part of a super-packet (`merged`). Returns
    /// whether the buffer holds it. Linux accepts a datagram if its memory fits, or if the buffer is empty
    /// (`__udp_enqueue_schedule_skb` of Linux 6.18; before, one more datagram).
    pub fn receive(&mut self, back: bool, ip_len_b: u32, merged: bool) -> bool {
        let waiting_b = &mut self.waiting_b[usize::from(back)];
        // When half of the buffer is in use, Linux moves payload from pages into the head, if it fits (`skb_condense`).
        let is_condensed = object_b(ip_len_b) <= SMALL_HEAD_B
            && self.receive_b.is_some_and(|memory_b| *waiting_b > memory_b / 2);
        let charge_b = if self.tun && merged && !is_condensed {
            segment_charge_b(ip_len_b)
        } else {
            charge_b(ip_len_b)
        };
        let fits = self
            .receive_b
            .is_none_or(|memory_b| *waiting_b == 0 || *waiting_b + charge_b <= memory_b);
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

    fn sockets(buffer_b: u64, tun: bool) -> Sockets {
        let sockets = UdpSockets {
            buffer_b: Some(buffer_b),
            tun,
            select: false,
        };
        Sockets::new(sockets, IpVersion::V4)
    }

    /// Datagrams of these octets of payload that a buffer holds until it is read.
    fn held(mut sockets: Sockets, payload_b: u32, merged: bool) -> usize {
        (0..)
            .take_while(|_| sockets.receive(false, payload_b + 28, merged))
            .count()
    }

    /// Datagrams that a socket of Linux 6.18 behind a TUN device held before it was read, by `SO_RCVBUF` and payload.
    #[test]
    fn receive_buffers_hold_the_datagrams_of_linux() {
        for (buffer_b, payload_b, held_by_linux) in [
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
            let found = held(sockets(buffer_b, true), payload_b, false);
            assert_eq!(found, held_by_linux, "{buffer_b} {payload_b}");
        }
    }

    /// 8 KB of datagrams of 1460 octets over IPv4: 16 384 octets of memory, 2304 per datagram. The sender starts its
    /// eighth datagram when seven take less than the buffer.
    #[test]
    fn eight_kilobytes_hold_seven_or_eight_full_datagrams() {
        let mut sockets = sockets(8 << 10, false);
        assert_eq!(sockets.sendable([1488].into_iter()), 8);
        assert_eq!(held(sockets, 1460, true), 7);
        while sockets.receive(false, 1488, true) {}
        assert!(
            sockets.receive(true, 1488, true),
            "the other end has its own buffer"
        );
        sockets.read(false);
        assert!(sockets.receive(false, 1488, true));
        for _ in 0..8 {
            assert!(!sockets.is_full());
            sockets.send(1488);
        }
        assert!(sockets.is_full());
        sockets.blocked = true;
        for _ in 0..4 {
            assert!(!sockets.release(1488), "half of the buffer is in use");
        }
        assert!(sockets.release(1488));
        assert!(!sockets.release(1488), "the sender waits once");
    }

    /// Linux 6.18: 2304 octets per datagram, and `select` ends while less than 8192 octets are in use.
    #[test]
    fn a_sender_that_waits_by_select_uses_half_of_its_buffer() {
        let by_select = UdpSockets {
            buffer_b: Some(8 << 10),
            tun: false,
            select: true,
        };
        let mut sockets = Sockets::new(by_select, IpVersion::V4);
        // Datagrams of 256 octets: Linux 6.18 sends nine by IPv4, seven by IPv6.
        assert_eq!(sockets.sendable([284].into_iter()), 9);
        assert_eq!(
            Sockets::new(by_select, IpVersion::V6).sendable([304].into_iter()),
            7
        );
        assert_eq!(sockets.sendable([1488].into_iter()), 4);
        for _ in 0..4 {
            assert!(!sockets.is_full());
            sockets.send(1488);
        }
        assert!(sockets.is_full());
        assert_eq!(held(sockets, 1460, true), 7);
    }

    /// A TUN device never blocks its sender. The segments of its super-packets take 2448 octets.
    #[test]
    fn tun_devices_take_datagrams_at_once_and_deliver_super_packets() {
        let mut sockets = sockets(8 << 10, true);
        assert_eq!(held(sockets, 1460, true), 6);
        // Linux 6.18: seven of 1244 octets, then seven of 960.
        assert_eq!(held(sockets, 256, true), 14);
        for _ in 0..100 {
            sockets.send(1488);
        }
        assert!(!sockets.is_full());
        assert_eq!(sockets.sendable([1488].into_iter()), usize::MAX);
    }

    #[test]
    fn sockets_without_buffers_are_never_full() {
        let mut sockets = Sockets::new(UdpSockets::default(), IpVersion::V4);
        for _ in 0..1000 {
            assert!(sockets.receive(false, 1500, true));
            sockets.send(1500);
        }
        assert!(!sockets.is_full());
        assert_eq!(sockets.sendable([1500].into_iter()), usize::MAX);
    }
}
