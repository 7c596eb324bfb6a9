//! The times and contents of a receiver's answers.

use super::*;

const MSS: u64 = MSS_IPV4_B as u64;

/// Segments of a warm receiver.
const WARM: u64 = 20;

/// The n-th full segment, sent at time zero.
fn segment(n: u64) -> Segment {
    Segment {
        seq: n * MSS,
        len_b: MSS_IPV4_B,
        sent_at: Nanos(n + 1),
        ..Segment::default()
    }
}

/// The answer to a segment, whose octets the application reads at once.
fn answer(receiver: &mut Receiver, now: Nanos, segment: &Segment) -> Option<Segment> {
    let answer = receiver.on_segment(now, segment);
    let read = receiver.read(now);
    assert_eq!(receiver.read(now), None);
    answer.or(read)
}

/// A receiver after its handshake, its first 20 segments and its quick ACKs.
fn warm(config: ReceiverConfig) -> Receiver {
    let mut receiver = Receiver::new(config).unwrap();
    let syn = Segment {
        syn: true,
        ..Segment::default()
    };
    assert!(receiver.on_segment(Nanos::ZERO, &syn).unwrap().syn);
    let answers = (0..WARM).filter(|&n| answer(&mut receiver, Nanos(n), &segment(n)).is_some());
    assert!(answers.count() >= 17, "quick ACKs at the start");
    receiver
}

#[test]
fn every_second_segment_is_acknowledged_and_a_single_one_after_40_ms() {
    let mut receiver = warm(ReceiverConfig::linux());
    let now = Nanos::from_ms(1);
    let answers: Vec<bool> = (20..26)
        .map(|n| answer(&mut receiver, now, &segment(n)).is_some())
        .collect();
    assert_eq!(answers, [false, true, false, true, false, true]);
    assert_eq!(answer(&mut receiver, now, &segment(26)), None);
    let due = receiver.next_timeout().unwrap();
    assert_eq!(due, Nanos::from_ms(41));
    assert_eq!(receiver.on_timeout(due - Nanos(1)), None);
    assert_eq!(receiver.on_timeout(due).map(|ack| ack.ack), Some(27 * MSS));
    assert_eq!(receiver.next_timeout(), None);
}

#[test]
fn a_gap_and_its_end_are_acknowledged_at_once() {
    let mut receiver = warm(ReceiverConfig::linux());
    let now = Nanos::from_ms(1);
    let mut answer = |n| receiver.on_segment(now, &segment(n)).unwrap();
    let span = |from: u64, to: u64| Span {
        start: from * MSS,
        end: to * MSS,
    };
    assert_eq!(answer(21).sack.blocks(), [span(21, 22)]);
    assert_eq!(answer(25).sack.blocks(), [span(25, 26), span(21, 22)]);
    // The block that grew last is first (RFC 2018, 4), regardless of how it grew.
    assert_eq!(answer(22).sack.blocks(), [span(21, 23), span(25, 26)]);
    let filled = answer(20);
    assert_eq!(
        (filled.ack, filled.sack.blocks()),
        (23 * MSS, &[span(25, 26)][..])
    );
    let joined = [23, 24].map(|n| receiver.on_segment(now, &segment(n)));
    assert_eq!(
        joined[1].map(|ack| (ack.ack, ack.sack.blocks().len())),
        Some((26 * MSS, 0))
    );
}

#[test]
fn a_duplicate_is_reported() {
    let mut receiver = warm(ReceiverConfig::linux());
    let again = receiver.on_segment(Nanos::from_ms(1), &segment(3)).unwrap();
    assert_eq!(again.sack.duplicate(), Some(segment(3).span()));
    assert_eq!(receiver.counters().duplicates, 1);
}

#[test]
fn sacks_are_compressed_after_the_third() {
    let mut receiver = warm(ReceiverConfig::linux());
    let now = Nanos::from_ms(1);
    let answers: Vec<bool> = (21..29)
        .map(|n| receiver.on_segment(now, &segment(n)).is_some())
        .collect();
    assert_eq!(answers, [true, true, true, false, false, false, false, false]);
    let due = receiver.next_timeout().unwrap();
    assert!(due <= now + Nanos::from_ms(1));
    let ack = receiver.on_timeout(due).unwrap();
    assert_eq!(ack.sack.blocks()[0].end, 29 * MSS);

    let each = ReceiverConfig {
        sack_compression: None,
        ..ReceiverConfig::linux()
    };
    let mut receiver = warm(each);
    assert!((21..29).all(|n| receiver.on_segment(now, &segment(n)).is_some()));
}

#[test]
fn merged_segments_are_acknowledged_once() {
    let mut receiver = warm(ReceiverConfig::linux());
    let mut merged = segment(20);
    assert!((21..30).all(|n| merged.merge(&segment(n))));
    assert!(
        !merged.merge(&segment(31)),
        "a segment after a gap must not merge"
    );
    let before = receiver.counters().acks;
    let ack = answer(&mut receiver, Nanos::from_ms(1), &merged).unwrap();
    assert_eq!((ack.ack, receiver.counters().acks - before), (30 * MSS, 1));
    let mut whole = segment(0);
    let joined = (1..60).take_while(|&n| whole.merge(&segment(n))).count();
    assert_eq!(joined + 1, 45, "segments that fit one IP packet");
}

#[test]
fn the_window_never_shrinks() {
    let mut receiver = warm(ReceiverConfig::linux());
    let mut edge = 0;
    for n in 20..2000 {
        if let Some(ack) = receiver.on_segment(Nanos::from_ms(n), &segment(n)) {
            assert!(ack.ack + ack.window_b >= edge);
            edge = ack.ack + ack.window_b;
        }
    }
}

/// A receiver whose buffer the application has set, after its handshake. The segments fill the window.
fn of_socket(read_b: u64) -> Receiver {
    let config = ReceiverConfig {
        window: Window::Socket(65_536),
        read_b,
        ..ReceiverConfig::linux()
    };
    let mut receiver = warm(config);
    for n in WARM..60 {
        answer(&mut receiver, Nanos::from_ms(1), &segment(n));
    }
    // The ACK of a burst leaves less than the largest window.
    for n in 60..70 {
        receiver.on_segment(Nanos::from_ms(1), &segment(n));
    }
    while receiver.read(Nanos::from_ms(1)).is_some() {}
    receiver
}

/// Linux acknowledges two segments only if the window does not shrink. Of a burst, the first two are acknowledged at
/// once, and the others when the application reads: at its first read, and when the free memory has doubled the window.
#[test]
fn a_burst_into_a_small_buffer_is_acknowledged_as_the_application_reads() {
    let mut receiver = of_socket(MSS);
    let now = Nanos::from_ms(2);
    let at_once: Vec<u64> = (70..110)
        .filter_map(|n| receiver.on_segment(now, &segment(n)))
        .map(|ack| ack.ack / MSS)
        .collect();
    assert_eq!(at_once, [72]);
    let first = receiver.read(now).unwrap();
    let second = receiver.read(now).unwrap();
    assert_eq!((first.ack, second.ack), (110 * MSS, 110 * MSS));
    assert!(second.window_b >= 2 * first.window_b);
    assert_eq!(receiver.read(now), None);
}

/// A reader that empties the buffer acknowledges a single segment at once if it has PSH.
#[test]
fn a_read_acknowledges_a_segment_with_psh() {
    for push in [false, true] {
        let mut receiver = of_socket(128 << 10);
        let now = Nanos::from_ms(2);
        let last = Segment { push, ..segment(70) };
        assert_eq!(receiver.on_segment(now, &last), None);
        assert_eq!(receiver.read(now).is_some(), push);
    }
}

#[test]
fn segments_merge_up_to_one_with_psh_and_with_equal_timestamps() {
    let stamped = |n: u64, sent_at| Segment {
        sent_at,
        timestamps: true,
        ..segment(n)
    };
    let (early, late) = (Nanos::from_ms(5), Nanos::from_ms(6));
    let mut merged = stamped(0, early);
    assert!(merged.merge(&stamped(1, early)));
    assert!(!merged.merge(&stamped(2, late)));
    assert!(merged.merge(&Segment {
        push: true,
        ..stamped(2, early)
    }));
    assert!(
        !merged.merge(&stamped(3, early)),
        "a segment after PSH must not merge"
    );
}
