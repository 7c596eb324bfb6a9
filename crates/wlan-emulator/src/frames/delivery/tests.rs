use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use wlan_host::clock::ClockKind;
use wlan_host::offload::packet::{Packet, usual};
use wlan_host::tun::Offloads;

use super::*;
use crate::frames::frame::{Around, Frame, Pool};
use crate::frames::host::{Arrival, Handed, Host};

const AROUND: Around = Around {
    packet_at: 42,
    mic_b: 8,
};
const SEGMENT_B: u16 = 100;
const LIMIT_OF_TEST: Duration = Duration::from_secs(10);

/// A host whose device is one end of a pair of sockets, and the other end, from which its stack receives.
struct Side {
    host: Host,
    device: UnixDatagram,
    stack: UnixDatagram,
}

fn side() -> Side {
    let (stack, device) = UnixDatagram::pair().unwrap();
    stack.set_read_timeout(Some(LIMIT_OF_TEST)).unwrap();
    let tun = Tun::of(device.try_clone().unwrap(), Offloads { tcp: true, udp: true });
    Side {
        host: Host::new(tun, AROUND, true),
        device,
        stack,
    }
}

/// A host that hands long super-packets up on a thread, and the clock of that thread.
fn side_with_thread() -> (Side, Clock) {
    let mut side = side();
    let clock = Clock::start(ClockKind::Real);
    side.host.deliver_on_thread(clock).unwrap();
    (side, clock)
}

/// A super-packet of segments with octets of this value, or a packet with one of them.
fn packet(tcp: bool, segments: usize, value: u8) -> Packet {
    Packet {
        payload: vec![value; segments * usize::from(SEGMENT_B)],
        ..usual(false, tcp)
    }
}

/// The frames of a packet, as a sending host splits it.
fn frames(packet: &Packet, segment_b: u16) -> Vec<Frame> {
    let mut sender = side();
    let (vnet, octets) = (packet.vnet(segment_b).emit(), packet.with_partial_checksum());
    sender.stack.send(&[&vnet, &octets[..]].concat()).unwrap();
    let (mut pool, mut frames) = (Pool::new(0), Vec::new());
    let arrival = sender.host.read(&mut pool, |frame| frames.push(frame)).unwrap();
    assert_eq!(arrival, Arrival::Packets(frames.len()));
    frames
}

impl Side {
    fn hand_up(&mut self, packet: &Packet, due: Option<Nanos>) -> Handed {
        self.hand_up_segments(packet, SEGMENT_B, due)
    }

    fn hand_up_segments(&mut self, packet: &Packet, segment_b: u16, due: Option<Nanos>) -> Handed {
        let frames = frames(packet, segment_b);
        let mut up = self.host.up(due);
        frames.iter().for_each(|frame| up.push(frame));
        up.finish()
    }

    /// The payload's value and the length of the next packet that the stack receives.
    fn received(&self) -> (u8, usize) {
        let mut octets = vec![0; 70_000];
        let len_b = self.stack.recv(&mut octets).unwrap();
        (octets[len_b - 1], len_b)
    }

    /// The next outcomes of the thread.
    fn delivered(&mut self, count: usize) -> Vec<Delivered> {
        let mut all = Vec::new();
        let start = Instant::now();
        while all.len() < count {
            assert!(
                start.elapsed() < LIMIT_OF_TEST,
                "{} of {count} outcomes",
                all.len()
            );
            all.extend(self.host.delivered());
            std::thread::yield_now();
        }
        all
    }
}

fn len_b(packet: &Packet) -> usize {
    VnetHeader::LEN + packet.octets().len()
}

#[test]
fn the_thread_hands_up_many_short_datagrams_and_tells_their_lateness() {
    let (mut side, clock) = side_with_thread();
    let long = packet(false, 40, 7);
    clock.wait_until(Nanos::from_us(200));
    let handed = side.hand_up(&long, Some(Nanos::from_us(100)));
    assert_eq!((handed.refused, handed.lateness_follows), (0, true));
    assert_eq!(side.received(), (7, len_b(&long)));
    let [Delivered { late, refused }] = side.delivered(1)[..] else {
        panic!("there is one super-packet");
    };
    assert!(late.unwrap() >= Nanos::from_us(100), "{late:?}");
    assert_eq!(refused, 0);
    // Only the lateness of the first packet after a PPDU counts.
    assert!(!side.hand_up(&long, None).lateness_follows);
    assert_eq!(side.delivered(1)[0].late, None);
}

#[test]
fn all_other_packets_are_handed_up_at_once() {
    let (mut side, _) = side_with_thread();
    side.stack.set_nonblocking(true).unwrap();
    let long_datagrams = packet(false, 400, 4);
    for (packet, segment_b) in [
        (packet(true, 40, 1), SEGMENT_B),
        (packet(false, 1, 2), SEGMENT_B),
        (packet(false, 4, 3), SEGMENT_B),
        (long_datagrams, 10 * SEGMENT_B),
    ] {
        let handed = side.hand_up_segments(&packet, segment_b, Some(Nanos::ZERO));
        assert_eq!((handed.refused, handed.lateness_follows), (0, false));
        assert_eq!(side.received(), (packet.payload[0], len_b(&packet)));
        assert_eq!(side.host.delivered().count(), 0);
    }
}

#[test]
fn no_packet_overtakes_a_super_packet_that_waits() {
    let (mut side, _) = side_with_thread();
    // The stack takes no more packets until it has received the first ones, so the thread waits.
    side.device.set_nonblocking(false).unwrap();
    side.device.set_write_timeout(Some(LIMIT_OF_TEST)).unwrap();
    let mut sent = Vec::new();
    for value in 0..40 {
        sent.push(packet(false, 20, value));
    }
    sent.extend([packet(true, 20, 40), packet(false, 1, 41)]);
    for packet in &sent {
        assert_eq!(side.hand_up(packet, None), Handed::default());
    }
    assert_eq!(side.host.delivered().filter(|one| one.refused > 0).count(), 0);
    for packet in &sent {
        assert_eq!(side.received(), (packet.payload[0], len_b(packet)));
    }
}

#[test]
fn the_packets_of_a_super_packet_that_the_stack_refuses_are_counted() {
    let (mut side, _) = side_with_thread();
    side.stack = UnixDatagram::unbound().unwrap();
    assert_eq!(
        side.hand_up(&packet(false, 30, 1), None).refused,
        0,
        "not known yet"
    );
    assert_eq!(
        side.delivered(1),
        [Delivered {
            late: None,
            refused: 30
        }]
    );
}
