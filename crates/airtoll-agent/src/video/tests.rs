//! Encoding of packets, the receiver in virtual time, and both ends on one machine.

use std::net::UdpSocket;
use std::thread;

use proptest::prelude::*;
use wlan_air::traffic::{RTP_HEADER_LEN_B, Video};

use super::sender::Stream;
use super::*;

const START: Nanos = Nanos::from_secs(1000);
const FPS: NonZeroU32 = NonZeroU32::new(30).unwrap();
const WINDOW: Window = Window {
    opens: Nanos::from_ms(200),
    closes: Nanos::from_ms(700),
};

fn header() -> impl Strategy<Value = Header> {
    let times = (any::<u64>(), any::<u64>());
    let numbers = (
        any::<bool>(),
        any::<u16>(),
        any::<u32>(),
        any::<u32>(),
        any::<u32>(),
    );
    (numbers, times).prop_map(
        |((marker, sequence, timestamp, ssrc, frame), (captured, sent))| Header {
            marker,
            sequence,
            timestamp,
            ssrc,
            frame,
            captured: Nanos(captured),
            sent: Nanos(sent),
        },
    )
}

proptest! {
    #[test]
    fn a_packet_is_read_as_it_was_written(header in header(), picture in prop::collection::vec(any::<u8>(), 0..50)) {
        let octets = [&header.to_bytes()[..], &picture].concat();
        prop_assert_eq!(Datagram::parse(&octets), Some(Datagram::Picture(header, picture.len())));
        let bye = Bye { ssrc: header.ssrc };
        prop_assert_eq!(Datagram::parse(&bye.to_bytes()), Some(Datagram::Bye(bye)));
        for cut in 0..RTP_HEADER_LEN_B {
            prop_assert_eq!(Datagram::parse(&octets[..cut]), None);
        }
    }

    #[test]
    fn arbitrary_packets_are_parsed_or_refused(octets in prop::collection::vec(any::<u8>(), 0..60)) {
        match Datagram::parse(&octets) {
            Some(Datagram::Picture(header, len)) => {
                prop_assert_eq!(&octets[..RTP_HEADER_LEN_B], &header.to_bytes());
                prop_assert_eq!(octets.len(), len + RTP_HEADER_LEN_B);
            }
            Some(Datagram::Bye(bye)) => prop_assert_eq!(octets, bye.to_bytes()),
            None => {}
        }
    }
}

/// The packets of a stream with their headers, if every packet is sent on time.
fn stream(seed: u64) -> Vec<(Header, usize)> {
    let config = VideoConfig {
        rate_bps: 8_000_000,
        payload_b: 500,
        ..VideoConfig::high_rate()
    };
    let numbers = Stream::new(seed, config.fps);
    Video::new(config, START, seed)
        .unwrap()
        .take_while(|packet| packet.captured < START + WINDOW.closes)
        .zip(0..)
        .map(|(packet, number)| (numbers.header(&packet, number, packet.at), packet.picture_b()))
        .collect()
}

#[test]
fn packets_have_consecutive_numbers_and_frames_are_33_ms_apart() {
    // RFC 3550, 5.1: the marker ends a frame, whose packets share a 90 kHz time stamp.
    let packets = stream(5);
    for pair in packets.windows(2) {
        let ((one, _), (other, _)) = (pair[0], pair[1]);
        assert_eq!(other.sequence, one.sequence.wrapping_add(1));
        let step = if one.marker { (1, 3000) } else { (0, 0) };
        let apart = (
            other.frame - one.frame,
            other.timestamp.wrapping_sub(one.timestamp),
        );
        assert_eq!((apart, other.ssrc), (step, one.ssrc));
    }
    assert_ne!(packets[0].0.ssrc, stream(6)[0].0.ssrc);
}

#[test]
fn received_packets_are_counted_per_frame_and_per_interval() {
    let packets = stream(1);
    let mut log = Log::new(FPS, WINDOW);
    let delay = |number: usize| Nanos::from_ms(5 + 2 * (number as u64 % 2));
    let lost = |number: &usize| number % 10 == 3;
    let mut transit_ns = Vec::new();
    for (number, (header, picture_b)) in packets.iter().enumerate().filter(|(number, _)| !lost(number)) {
        assert!(log.record(header, *picture_b, header.sent + delay(number)));
        transit_ns.push(delay(number).0);
    }
    let report = log.report(true, 0);
    assert_eq!(report.start_ns, Some(packets[0].0.captured.0));
    // The first and the last packet were not lost, so all packets between them were expected.
    assert_eq!(
        (report.expected, report.packets),
        (packets.len() as u64, transit_ns.len() as u64)
    );
    let octets: u64 = report.intervals.iter().map(|interval| interval.octets).sum();
    let came = packets.iter().enumerate().filter(|(number, _)| !lost(number));
    assert_eq!(
        octets,
        came.map(|(_, (_, picture_b))| *picture_b as u64).sum::<u64>()
    );
    for frame in &report.frames {
        let of_frame = |(_, (header, _)): &(usize, &(Header, usize))| header.frame == frame.frame;
        let came: Vec<_> = packets.iter().enumerate().filter(of_frame).collect();
        let came: Vec<_> = came.into_iter().filter(|(number, _)| !lost(number)).collect();
        let last = came
            .iter()
            .map(|(number, (header, _))| header.sent + delay(*number) - header.captured);
        assert_eq!(
            (frame.packets as usize, Some(frame.delay)),
            (came.len(), last.max())
        );
    }
    // RFC 3550, 6.4.1, computed from the sending times.
    let jitter = transit_ns
        .windows(2)
        .map(|pair| pair[1].abs_diff(pair[0]) as f64)
        .fold(0.0, |jitter, difference| jitter + (difference - jitter) / 16.0);
    let found = report.intervals.last().unwrap().jitter.0 as f64;
    assert!((found / jitter - 1.0).abs() < 1e-3, "{found} {jitter}");
    let delays = report.delay_ns.unwrap();
    assert!(delays.p50.abs_diff(5_000_000) < 10_000 && delays.max == 7_000_000);
    assert!(delays.p99.abs_diff(7_000_000) < 10_000 && (5_850_000..5_930_000).contains(&delays.mean));
}

#[test]
fn sequence_numbers_wrap_and_packets_may_be_reordered() {
    let first = stream(1)[0].0;
    let mut log = Log::new(FPS, WINDOW);
    for sequence in [65_533_u16, 65_535, 65_534, 1, 0, 4] {
        let header = Header { sequence, ..first };
        assert!(log.record(&header, 100, header.sent + Nanos::from_ms(1)));
    }
    let report = log.report(true, 0);
    assert_eq!((report.packets, report.expected), (6, 8));
}

#[test]
fn packets_of_other_times_or_streams_are_ignored() {
    let first = stream(1)[0].0;
    let mut log = Log::new(FPS, WINDOW);
    let now = first.sent + Nanos::from_ms(1);
    assert!(log.record(&first, 100, now));
    let other = Header {
        ssrc: !first.ssrc,
        ..first
    };
    let early = Header {
        captured: first.captured - Nanos(1),
        ..first
    };
    let late = Header {
        captured: START + Nanos::from_secs(100),
        ..first
    };
    for alien in [other, early, late] {
        assert!(!log.record(&alien, 100, now));
    }
    // The window limits the stored data, regardless of the length of the stream and of the numbers of its frames.
    for frame in [1822, u32::MAX] {
        assert!(!log.record(&Header { frame, ..first }, 100, now));
    }
    assert!(!log.record(&first, 100, START + Nanos::from_secs(3600)));
    assert!(!log.record(&first, 100, first.captured - Nanos(1)));
    let report = log.report(false, 0);
    assert_eq!((report.packets, report.frames.len()), (1, 1));
    assert!(report.intervals.len() <= 2);
    let mut log = Log::new(FPS, WINDOW);
    assert!(!log.record(
        &Header {
            frame: u32::MAX,
            ..first
        },
        100,
        now
    ));
    assert!(
        log.record(&first, 100, now),
        "a forged packet does not begin a stream"
    );
}

/// The current time, as the start of a stream.
fn now() -> Nanos {
    Nanos(monotonic_ns())
}

const SHORT: Window = Window {
    opens: Nanos::from_ms(50),
    closes: Nanos::from_ms(250),
};
const IDLE: Duration = Duration::from_secs(5);

#[test]
fn a_stream_reaches_the_other_end_and_each_frame_is_answered() {
    for (address, pacing) in [("127.0.0.1:0", Pacing::Smooth), ("[::1]:0", Pacing::Burst)] {
        let receiver = Receiver::bind(address.parse().unwrap(), FPS, SHORT, 0).unwrap();
        let config = VideoConfig {
            rate_bps: 5_000_000,
            pacing,
            ..VideoConfig::high_rate()
        };
        let sender = Sender::connect(receiver.local_addr().unwrap(), config, now(), SHORT, 3).unwrap();
        let (sent, received) = thread::scope(|scope| {
            let receiving = scope.spawn(|| receiver.receive(IDLE));
            let sent = sender.send().unwrap();
            (sent, receiving.join().unwrap().unwrap())
        });
        assert!(sent.bye_answered && received.bye);
        assert_eq!(
            (Some(sent.ssrc), sent.smooth),
            (received.ssrc, pacing == Pacing::Smooth)
        );
        // Frames for 250 ms and the deadline of the last frame, at 30 per second.
        assert!((10..=11).contains(&sent.frames.len()));
        assert_eq!(received.frames.len(), sent.frames.len());
        for (sent, received) in sent.frames.iter().zip(&received.frames) {
            assert_eq!(sent.packets, received.packets);
            assert!(sent.rtt.is_some_and(|rtt| rtt > Nanos::ZERO));
        }
        let octets = |frames: &[SentFrame]| frames.iter().map(|frame| frame.octets).sum::<u64>();
        let arrived: u64 = received.intervals.iter().map(|interval| interval.octets).sum();
        assert_eq!(octets(&sent.frames), arrived);
        assert_eq!(received.expected, received.packets);
    }
}

#[test]
fn a_receiver_without_a_sender_times_out() {
    let receiver = Receiver::bind("127.0.0.1:0".parse().unwrap(), FPS, SHORT, 0).unwrap();
    let received = receiver.receive(Duration::from_millis(1)).unwrap();
    assert_eq!(
        (received.bye, received.packets, received.delay_ns),
        (false, 0, None)
    );
}

#[test]
fn failures_are_reported_in_one_line() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = Receiver::bind(address, FPS, SHORT, 0).err().unwrap().to_string();
    assert_eq!(error, format!("port {} is in use", address.port()));
    drop(taken);
    let sender = Sender::connect(address, VideoConfig::high_rate(), now(), SHORT, 1).unwrap();
    assert_eq!(
        sender.send().unwrap_err().to_string(),
        format!("no receiver at {address}")
    );
    let config = VideoConfig {
        payload_b: RTP_HEADER_LEN_B,
        ..VideoConfig::high_rate()
    };
    let error = Sender::connect(address, config, now(), SHORT, 1)
        .err()
        .unwrap()
        .to_string();
    assert!(error.starts_with("RTP packets of 36 octets"), "{error}");
}

#[test]
fn usage_errors_exit_with_2_and_failures_with_1() {
    let run = |line: &str| run(line.split_whitespace().map(String::from));
    for line in [
        "",
        "receive 127.0.0.1:1 0 9 30",
        "receive localhost 0 9 30 9 0",
        "receive 127.0.0.1:1 9 9 30 9 0",
        "receive 127.0.0.1:1 0 9 0 9 0",
        "receive 127.0.0.1:1 0 9 30 0 0",
        "receive 127.0.0.1:1 0 9 30 9 soon",
        "send 127.0.0.1:1 0 9 30 0 1e6 1400 smooth 1",
        "send 127.0.0.1:1 0 9 30 0 1000000 1400 rough 1",
        "play 127.0.0.1:1 0 9 30",
    ] {
        assert_eq!(run(line), 2, "{line}");
    }
    assert_eq!(run("send 127.0.0.1:1 0 9 30 0 1000000 36 smooth 1"), 1);
}
