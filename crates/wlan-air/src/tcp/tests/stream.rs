//! Opening, growth, limits and end of a stream.

use super::*;
use crate::Cpu;
use CongestionControl::{Cubic, Reno};

const MS: fn(u64) -> Nanos = Nanos::from_ms;

/// So fast that the transmission time of segments is negligible.
const FAST_MBPS: f64 = 1e9;

fn each_acked() -> ReceiverConfig {
    ReceiverConfig {
        delayed_ack: None,
        ..ReceiverConfig::linux()
    }
}

#[test]
fn data_follows_a_round_trip_of_handshake() {
    let mut pipe = Pipe::linux(Cubic, FAST_MBPS, 20, 1000);
    pipe.run_until(MS(39));
    assert!(pipe.sent.is_empty());
    pipe.run_until(MS(50));
    assert_eq!(pipe.sent.len(), 10, "the initial window of RFC 6928");
    assert!(
        pipe.sent
            .iter()
            .all(|&(at, segment)| at.0 / 1_000_000 == 40 && segment.len_b == 1448)
    );
    assert_eq!(pipe.sender.smoothed_rtt().map(|rtt| rtt.0 / 1_000_000), Some(40));
}

#[test]
fn a_lost_syn_is_retransmitted_after_one_and_three_seconds() {
    let mut sender = Sender::new(SenderConfig::bulk(Reno)).unwrap();
    sender.open(Nanos::ZERO);
    let mut times = Vec::new();
    for _ in 0..4 {
        let now = sender.next_timeout().unwrap();
        times.push(now);
        sender.on_timeout(now);
        assert!(sender.poll(now).unwrap().syn);
    }
    assert_eq!(times, [1, 3, 7, 15].map(Nanos::from_secs));
}

#[test]
fn slow_start_doubles_each_round_trip() {
    let mut pipe = Pipe::new(SenderConfig::bulk(Reno), each_acked(), FAST_MBPS, MS(50), 100_000);
    pipe.run_until(MS(590));
    let sent_in = |round: u64| {
        let starts = pipe
            .sent
            .iter()
            .filter(|(at, _)| (at.0 + 1_000_000) / 100_000_000 == round);
        starts.count()
    };
    assert_eq!([1, 2, 3, 4, 5].map(sent_in), [10, 20, 40, 80, 160]);
}

#[test]
fn delayed_acks_do_not_slow_window_growth() {
    let mut pipe = Pipe::linux(Reno, FAST_MBPS, 50, 100_000);
    pipe.run_until(MS(590));
    let window = pipe.sender.congestion_window();
    assert!((140..=200).contains(&window), "{window}");
    assert!(pipe.acks.len() < pipe.sent.len() * 2 / 3);
}

#[test]
fn exactly_the_given_octets_are_delivered() {
    let supply = Supply::Octets(1_000_001);
    let config = SenderConfig {
        supply,
        ..SenderConfig::bulk(Cubic)
    };
    let mut pipe = Pipe::new(config, ReceiverConfig::linux(), 10.0, MS(5), 50);
    pipe.run_until(Nanos::from_secs(20));
    assert_eq!(pipe.receiver.received_b(), 1_000_001);
    assert!(pipe.sender.is_done() && pipe.sender.next_timeout().is_none());
    // A small write after that is sent at once, as one segment: there is no Nagle.
    pipe.now = Nanos::from_secs(30);
    let before = pipe.sent.len();
    pipe.sender.write(100);
    pipe.run_until(Nanos::from_secs(31));
    assert_eq!(
        pipe.sent[before..]
            .iter()
            .map(|(_, s)| s.len_b)
            .collect::<Vec<_>>(),
        [100]
    );
    assert_eq!(pipe.receiver.received_b(), 1_000_101);
}

#[test]
fn a_stopped_bulk_stream_ends() {
    let mut pipe = Pipe::linux(Cubic, 10.0, 5, 50);
    pipe.run_until(Nanos::from_secs(1));
    assert!(!pipe.sender.is_done());
    pipe.sender.stop();
    pipe.run_until(Nanos::from_secs(3));
    assert!(pipe.sender.is_done());
    assert_eq!(pipe.sender.acked_b(), pipe.receiver.received_b());
}

#[test]
fn a_fixed_window_limits_each_round_trip() {
    let receiver = ReceiverConfig {
        window: Window::Fixed(44 * 1448),
        ..ReceiverConfig::linux()
    };
    let mut pipe = Pipe::new(SenderConfig::bulk(Cubic), receiver, 1000.0, MS(25), 1000);
    let goodput = pipe.goodput_mbps(Nanos::from_secs(1), Nanos::from_secs(6));
    let expected = 44.0 * 1448.0 * 8e-6 / 0.05;
    assert!(
        (goodput / expected - 1.0).abs() < 0.02,
        "{goodput} against {expected}"
    );
    // A window that never limited the sender has not grown (RFC 9438, 5.8 and RFC 7661).
    assert!(
        pipe.sender.congestion_window() <= 2 * 44,
        "{}",
        pipe.sender.congestion_window()
    );
}

#[test]
fn an_autotuned_window_grows_with_the_received_data() {
    let mut pipe = Pipe::linux(Reno, 200.0, 25, 1000);
    let goodput = pipe.goodput_mbps(Nanos::from_secs(2), Nanos::from_secs(4));
    assert!(goodput > 185.0, "{goodput}: 64 KiB would carry 10 Mbit/s");
}

#[test]
fn a_window_of_one_segment_does_not_wait_for_delayed_acks() {
    let receiver = ReceiverConfig {
        window: Window::Fixed(1448),
        ..ReceiverConfig::linux()
    };
    let mut pipe = Pipe::new(SenderConfig::bulk(Reno), receiver, 1000.0, MS(5), 1000);
    let goodput = pipe.goodput_mbps(Nanos::from_secs(1), Nanos::from_secs(3));
    assert!(goodput > 0.2, "{goodput}: halves of the window go out");
}

#[test]
fn a_window_resets_after_a_long_idle_time() {
    let config = SenderConfig {
        supply: Supply::Octets(3_000_000),
        ..SenderConfig::bulk(Reno)
    };
    let mut pipe = Pipe::new(config, ReceiverConfig::linux(), FAST_MBPS, MS(20), 100_000);
    pipe.run_until(Nanos::from_secs(20));
    assert!(pipe.sender.is_done() && pipe.sender.congestion_window() > 300);
    pipe.now = Nanos::from_secs(30);
    pipe.sent.clear();
    pipe.sender.write(1_000_000);
    pipe.send();
    assert_eq!(pipe.sent.len(), 10, "RFC 5681, 4.1");
}

#[test]
fn packets_have_the_lengths_of_their_headers() {
    let data = Segment {
        len_b: MSS_IPV4_B,
        timestamps: true,
        ..Segment::default()
    };
    assert_eq!(data.ip_len_b(IpVersion::V4), 1500);
    let data = Segment {
        len_b: IpVersion::V6.mss_b(true),
        timestamps: true,
        ..Segment::default()
    };
    assert_eq!(data.ip_len_b(IpVersion::V6), 1500);
    let syn = Segment {
        syn: true,
        timestamps: true,
        ..Segment::default()
    };
    assert_eq!(
        (syn.ip_len_b(IpVersion::V4), syn.ip_len_b(IpVersion::V6)),
        (60, 80)
    );
    let plain = Segment {
        len_b: IpVersion::V4.mss_b(false),
        ..Segment::default()
    };
    assert_eq!(plain.ip_len_b(IpVersion::V4), 1500);
    let syn = Segment {
        timestamps: false,
        ..syn
    };
    assert_eq!(syn.ip_len_b(IpVersion::V4), 52);
    let mut ack = Segment {
        timestamps: true,
        ..Segment::default()
    };
    let lengths = [0, 1, 2, 3, 4].map(|n| {
        let len_b = ack.ip_len_b(IpVersion::V4);
        ack.sack.push(Span { start: n, end: n + 1 });
        len_b
    });
    assert_eq!(lengths, [52, 64, 72, 80, 80]);
}

#[test]
fn contradictory_connections_are_refused() {
    let bulk = SenderConfig::bulk(Cubic);
    let sender = |config| Sender::new(config).unwrap_err();
    assert_eq!(sender(SenderConfig { mss_b: 47, ..bulk }), TcpError::Mss(47));
    let none = SenderConfig {
        initial_window: 0,
        ..bulk
    };
    assert_eq!(sender(none), TcpError::InitialWindow);
    let receiver = |window| {
        let linux = ReceiverConfig::linux();
        Receiver::new(ReceiverConfig { window, ..linux }).unwrap_err()
    };
    let error = TcpError::Window {
        window_b: 1447,
        mss_b: 1448,
    };
    assert_eq!(receiver(Window::Fixed(1447)), error);
    let (initial_b, max_b) = (65_536, 65_535);
    let error = TcpError::WindowOrder { initial_b, max_b };
    assert_eq!(receiver(Window::Auto { initial_b, max_b }), error);
}

/// A sender with an open connection, whose application writes 128 octets per call.
fn writing(segmentation_offload: bool, cpu: Cpu) -> Sender {
    let mut sender = Sender::new(SenderConfig {
        buffer: Some(SendBuffer::iperf3(1 << 20, 128)),
        segmentation_offload,
        cpu,
        ..SenderConfig::bulk(Reno)
    })
    .unwrap();
    sender.open(Nanos::ZERO);
    sender.poll(Nanos::ZERO).unwrap();
    let answer = Segment {
        syn: true,
        window_b: 1 << 20,
        ..Segment::default()
    };
    sender.on_segment(MS(1), &answer);
    sender.poll(MS(1)).unwrap();
    sender
}

/// Lengths of the segments after each of `count` writes.
fn lengths_after_writes(sender: &mut Sender, now: Nanos, count: usize) -> Vec<Vec<u32>> {
    let write = |_| {
        assert!(sender.write_next(now));
        std::iter::from_fn(|| sender.poll(now))
            .map(|it| it.len_b)
            .collect()
    };
    (0..count).map(write).collect()
}

/// Linux's Nagle algorithm in Minshall's variant (`tcp_nagle_check`): a segment that is not full waits only while
/// another one is in flight. The TUN device takes each packet at once, so autocorking (`tcp_should_autocork`), which
/// waits for packets that a device still holds, never applies.
#[test]
fn small_writes_wait_for_a_full_segment_while_a_small_one_is_in_flight() {
    for segmentation_offload in [false, true] {
        let mut sender = writing(segmentation_offload, Cpu::NONE);
        let lengths = lengths_after_writes(&mut sender, MS(1), 25);
        let full = [12, 23];
        for (write, sent) in lengths.iter().enumerate() {
            let expected: &[u32] = match write {
                0 => &[128],
                _ if full.contains(&write) => &[1448],
                _ => &[],
            };
            assert_eq!(sent, expected, "write {write}");
        }
        // The ACK of the small segment releases the rest, although full segments are in flight.
        let ack = Segment {
            ack: 128,
            window_b: 1 << 20,
            ..Segment::default()
        };
        sender.on_segment(MS(2), &ack);
        assert_eq!(
            sender.poll(MS(2)).map(|it| it.len_b),
            Some(25 * 128 - 128 - 2 * 1448)
        );
        assert_eq!(sender.poll(MS(2)), None);
    }
}

#[test]
fn writes_and_packets_take_the_time_of_the_cpu() {
    let us = Nanos::from_us;
    let cpu = Cpu {
        write: us(3),
        packet: us(10),
        ..Cpu::NONE
    };
    let mut sender = writing(true, cpu);
    assert!(sender.write_next(MS(1)));
    // The write ends with PSH, so the receiver acknowledges it as soon as its application has read it.
    let first = sender.poll(MS(1)).unwrap();
    assert!((first.len_b, first.push) == (128, true) && sender.poll(MS(1)).is_none());
    assert_eq!(sender.next_write(), Some(MS(1) + us(13)));
    assert!(!sender.write_next(MS(1) + us(12)));
    assert!(sender.write_next(MS(1) + us(13)));
    assert_eq!(sender.poll(MS(1) + us(13)), None); // no packet
    assert_eq!(sender.next_write(), Some(MS(1) + us(16)));
}
