//! Reassembly: valid fragments yield their MSDU, and all others yield nothing.

use wlan_ciphers::Suite;
use wlan_frames::FrameControl;
use wlan_host::offload::VnetHeader;
use wlan_host::offload::packet::{Packet, usual};

use super::*;
use crate::frames::frame::Pool;
use crate::frames::station::tests::{Side, pair};

/// Octets of every fragment except the last.
const PART_B: usize = 472;

fn suites() -> impl Iterator<Item = Option<Suite>> {
    let suites = Suite::ALL.into_iter().filter(|suite| !suite.is_bip()).map(Some);
    suites.chain([None])
}

fn packet(payload_b: usize) -> Packet {
    Packet {
        payload: (0..payload_b).map(|at| u8::try_from(at % 251).unwrap()).collect(),
        ..usual(false, false)
    }
}

/// Two ends, and a frame between them to be sent in fragments.
struct Link {
    sta: Side,
    ap: Side,
    frame: Frame,
    parts: Vec<Fragment>,
}

impl Link {
    fn new(suite: Option<Suite>, packet: &Packet) -> Link {
        let (mut sta, ap) = pair(suite, true);
        let mut frames = Vec::new();
        sta.sends(VnetHeader::default(), &packet.octets());
        sta.read(&mut Pool::new(0), &mut frames);
        let frame = frames.pop().unwrap();
        let around = sta.end.around();
        let of_msdu_b = if suite == Some(Suite::Tkip) { 8 } else { 0 };
        let msdu_b = frame.len_b - around.msdu_b() + of_msdu_b;
        let count = msdu_b.div_ceil(PART_B);
        let part = |number| Fragment {
            number,
            start_b: number * PART_B,
            len_b: (msdu_b - number * PART_B).min(PART_B),
            last: number + 1 == count,
        };
        let parts = (0..count).map(part).collect();
        Link {
            sta,
            ap,
            frame,
            parts,
        }
    }

    /// The MPDU of a fragment on the air, before its receiver opens it.
    fn send(&mut self, number: usize) -> Vec<u8> {
        let frames = std::iter::once(&mut self.frame);
        self.sta.end.seal_on_air(frames, Some(&self.parts[number]), 0);
        self.frame.mpdu_on_air().to_vec()
    }

    fn receive(&mut self, at: Nanos) {
        let (frames, part) = (std::iter::once(&mut self.frame), self.parts[0]);
        self.ap.end.open_on_air(frames, Some(&part));
        self.ap.end.take_fragment(&self.frame, at);
    }

    fn send_and_receive(&mut self, numbers: impl IntoIterator<Item = usize>) {
        for number in numbers {
            self.send(number);
            self.receive(Nanos::ZERO);
        }
    }

    /// The packets that the access point's stack receives; empty if the frame is rejected.
    fn received(&mut self) -> Vec<Vec<u8>> {
        if self.ap.end.take_up(&mut self.frame) {
            let mut up = self.ap.host.up(None);
            up.push(&self.frame);
            up.finish();
        }
        self.ap.received().into_iter().map(|(_, packet)| packet).collect()
    }
}

#[test]
fn a_fragmented_msdu_arrives_complete_with_every_suite() {
    for suite in suites() {
        for payload_b in [500, 1000, 1372] {
            let packet = packet(payload_b);
            let mut link = Link::new(suite, &packet);
            let count = link.parts.len();
            assert!(count >= 2, "{payload_b}");
            for number in 0..count {
                let mpdu = link.send(number);
                let header = DataHeader::parse(&mpdu).unwrap();
                assert_eq!(usize::from(header.sequence.fragment), number, "{suite:?}");
                assert_eq!(
                    header.sequence.number, 0,
                    "all fragments share one sequence number"
                );
                assert_eq!(header.more_fragments, number + 1 < count, "{suite:?}");
                assert_eq!(header.protected, suite.is_some());
                // TKIP's MIC is part of the MSDU, so that each fragment has only the ICV.
                let fields_b = match suite {
                    Some(Suite::Tkip) => 8 + 4,
                    suite => suite.map_or(0, Suite::overhead),
                };
                let len_b = header.len() + link.parts[number].len_b + fields_b;
                assert_eq!(mpdu.len(), len_b, "{suite:?}");
                link.receive(Nanos::ZERO);
            }
            assert_eq!(link.received(), [packet.octets()], "{suite:?}");
        }
    }
}

#[test]
fn a_retransmitted_fragment_has_the_same_octets_and_is_accepted_once() {
    for suite in suites() {
        let packet = packet(1000);
        let mut link = Link::new(suite, &packet);
        link.send_and_receive([0]);
        let first = link.send(1);
        link.receive(Nanos::ZERO);
        let mut again = link.send(1);
        assert!(DataHeader::parse(&again).unwrap().retry);
        again[1] &= !FrameControl::RETRY.to_le_bytes()[1];
        assert_eq!(again, first, "{suite:?}");
        link.receive(Nanos::ZERO);
        link.send_and_receive([2, 2]);
        assert_eq!(link.received(), [packet.octets()], "{suite:?}");
    }
}

#[test]
fn fragments_out_of_sequence_are_not_reassembled() {
    for suite in suites() {
        for numbers in [&[0, 2][..], &[1, 2], &[0, 1], &[0, 2, 1], &[]] {
            let mut link = Link::new(suite, &packet(1000));
            // All fragments get their packet numbers in order, whether or not they are received.
            for number in 0..3 {
                link.send(number);
            }
            link.send_and_receive(numbers.iter().copied());
            assert_eq!(link.received().len(), 0, "{suite:?} {numbers:?}");
        }
    }
}

#[test]
fn a_damaged_fragment_discards_the_msdu() {
    for suite in suites().filter(Option::is_some) {
        let mut link = Link::new(suite, &packet(1000));
        link.send_and_receive([0]);
        link.send(1);
        link.frame.fragments.as_mut().unwrap().buffer[100] ^= 1;
        link.receive(Nanos::ZERO);
        link.send_and_receive([2]);
        assert_eq!(link.received().len(), 0, "{suite:?}");
    }
}

/// IEEE 802.11-2020 12.5.3.4.4 prevents an attacker from combining fragments of two MSDUs (CVE-2020-26146). WEP lacks
/// this rule, because its initialisation vectors wrap around.
#[test]
fn packet_numbers_of_fragments_must_be_consecutive() {
    for suite in suites().flatten() {
        let mut link = Link::new(Some(suite), &packet(1000));
        link.send_and_receive([0]);
        let _ = link.sta.end.next_numbers();
        link.send_and_receive([1, 2]);
        let is_wep = matches!(suite, Suite::Wep40 | Suite::Wep104);
        assert_eq!(link.received().len(), usize::from(is_wep), "{suite:?}");
    }
}

/// The ICV of each MPDU is valid, so only the MIC of the MSDU reveals the change (12.5.2.1.3).
#[test]
fn a_tkip_msdu_with_a_wrong_mic_is_refused() {
    let mut link = Link::new(Some(Suite::Tkip), &packet(1000));
    link.send_and_receive([0]);
    let around = link.sta.end.around();
    link.frame.buffer[around.packet_at + PART_B + 50] ^= 1;
    link.send_and_receive([1, 2]);
    assert_eq!(link.received().len(), 0);
}

/// 10.5: dot11MaxReceiveLifetime.
#[test]
fn incomplete_msdus_are_discarded_after_512_tu() {
    for (took, received) in [(512 * 1024, 1), (512 * 1024 + 1, 0)] {
        let mut link = Link::new(Some(Suite::Ccmp128), &packet(500));
        link.send(0);
        link.receive(Nanos::from_us(1000));
        link.send(1);
        link.receive(Nanos::from_us(1000 + took));
        assert_eq!(link.received().len(), received, "{took} us");
    }
}

#[test]
fn a_reused_frame_is_sent_unfragmented() {
    let packet = packet(1000);
    let mut link = Link::new(Some(Suite::Ccmp128), &packet);
    link.send_and_receive([0, 1, 2]);
    assert_eq!(link.received().len(), 1);
    link.frame.renew();
    link.sta
        .end
        .seal_on_air(std::iter::once(&mut link.frame), None, 0);
    link.ap.end.open_on_air(std::iter::once(&mut link.frame), None);
    assert_eq!(link.received(), [packet.octets()]);
}

#[test]
fn fragments_allocate_nothing_once_a_frame_has_its_buffers() {
    for suite in [None, Some(Suite::Tkip), Some(Suite::Ccmp128)] {
        let mut link = Link::new(suite, &packet(1372));
        link.send_and_receive([0, 1, 2]);
        link.received();
        link.frame.renew();
        let parts = link.parts.clone();
        let Link { sta, ap, frame, .. } = &mut link;
        let allocated = allocation_counter::measure(|| {
            for part in &parts {
                sta.end.seal_on_air(std::iter::once(&mut *frame), Some(part), 0);
                ap.end.open_on_air(std::iter::once(&mut *frame), Some(part));
                ap.end.take_fragment(frame, Nanos::ZERO);
            }
            assert!(ap.end.take_up(frame));
        });
        assert_eq!(allocated.count_total, 0, "{suite:?}: {allocated:?}");
    }
}
