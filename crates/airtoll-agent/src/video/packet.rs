//! The packets of a stream: RTP (RFC 3550, 5.1) and, at the end, RTCP BYE (6.6), on one port (RFC 5761).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |V=2|P=0|X=1| 0 |M|  type 96    |        sequence number        |
//! |             time stamp of the capture, 90 kHz                 |
//! |                             SSRC                              |
//! |       profile "av"            |          length: 5            |  header extension (5.3.1)
//! |                  index of the frame, from 0                   |
//! |    CLOCK_MONOTONIC of the sender at the frame's capture, ns   |
//! |                                                               |
//! |   and when this packet was passed to the network stack, ns    |
//! |                                                               |
//! |                          picture ...                          |
//! ```

use wlan_air::Nanos;
use wlan_air::traffic::RTP_HEADER_LEN_B;

/// Version 2, extension bit, no padding, no contributing sources.
const FIRST: u8 = 2 << 6 | 1 << 4;
/// The first dynamic payload type (RFC 3551, 6), which is customary for H.264.
const PAYLOAD_TYPE: u8 = 96;
const MARKER: u8 = 1 << 7;
/// The first 16 bits of the extension, which identify it: "av".
const PROFILE: u16 = u16::from_be_bytes(*b"av");
/// Length of the extension in 32-bit words, excluding the first.
const EXTENSION_WORDS: u16 = 5;
const _: () = assert!(RTP_HEADER_LEN_B == 12 + 4 + 4 * EXTENSION_WORDS as usize);

/// Version 2, one source; packet type 203; length in 32-bit words minus one.
const BYE: [u8; 4] = [2 << 6 | 1, 203, 0, 1];

/// The header before the picture data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether the packet is the last of its frame.
    pub marker: bool,
    /// Sequence number of the packet.
    pub sequence: u16,
    /// Time stamp of the frame's capture, in units of 1/90000 s.
    pub timestamp: u32,
    /// Identifier of the stream.
    pub ssrc: u32,
    /// Index of the frame, from 0.
    pub frame: u32,
    /// Time of the frame's capture.
    pub captured: Nanos,
    /// Time at which the packet was passed to the sender's network stack.
    pub sent: Nanos,
}

impl Header {
    /// Length in octets.
    pub const LEN: usize = RTP_HEADER_LEN_B;

    /// The encoded header.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Header::LEN] {
        let mut octets = [0; Header::LEN];
        octets[0] = FIRST;
        octets[1] = PAYLOAD_TYPE | if self.marker { MARKER } else { 0 };
        octets[2..4].copy_from_slice(&self.sequence.to_be_bytes());
        octets[4..8].copy_from_slice(&self.timestamp.to_be_bytes());
        octets[8..12].copy_from_slice(&self.ssrc.to_be_bytes());
        octets[12..14].copy_from_slice(&PROFILE.to_be_bytes());
        octets[14..16].copy_from_slice(&EXTENSION_WORDS.to_be_bytes());
        octets[16..20].copy_from_slice(&self.frame.to_be_bytes());
        octets[20..28].copy_from_slice(&self.captured.0.to_be_bytes());
        octets[28..36].copy_from_slice(&self.sent.0.to_be_bytes());
        octets
    }
}

/// The end of a stream, from its sender; also the receiver's acknowledgement of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bye {
    /// Identifier of the stream.
    pub ssrc: u32,
}

impl Bye {
    /// The encoded packet.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 8] {
        let mut octets = [0; 8];
        octets[..4].copy_from_slice(&BYE);
        octets[4..].copy_from_slice(&self.ssrc.to_be_bytes());
        octets
    }
}

/// A parsed datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram {
    /// A part of a picture, or the receiver's answer to the last part, with the number of octets of picture data.
    Picture(Header, usize),
    /// The end of the stream.
    Bye(Bye),
}

impl Datagram {
    /// Parses a datagram; `None` if it does not belong to such a stream.
    #[must_use]
    pub fn parse(octets: &[u8]) -> Option<Datagram> {
        if let [b0, b1, b2, b3, ssrc @ ..] = octets
            && [*b0, *b1, *b2, *b3] == BYE
        {
            let ssrc = u32::from_be_bytes(ssrc.try_into().ok()?);
            return Some(Datagram::Bye(Bye { ssrc }));
        }
        let (header, picture) = octets.split_first_chunk::<{ Header::LEN }>()?;
        let short = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let word = |at: usize| u32::from(short(at)) << 16 | u32::from(short(at + 2));
        let long = |at: usize| Nanos(u64::from(word(at)) << 32 | u64::from(word(at + 4)));
        let expected = (FIRST, PAYLOAD_TYPE, PROFILE, EXTENSION_WORDS);
        if (header[0], header[1] & !MARKER, short(12), short(14)) != expected {
            return None;
        }
        let header = Header {
            marker: header[1] & MARKER != 0,
            sequence: short(2),
            timestamp: word(4),
            ssrc: word(8),
            frame: word(16),
            captured: long(20),
            sent: long(28),
        };
        Some(Datagram::Picture(header, picture.len()))
    }
}
