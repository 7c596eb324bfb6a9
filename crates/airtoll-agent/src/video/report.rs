//! What the two ends print: JSON whose keys carry their units.

use serde::Serialize;
use serde::ser::Serializer;
use wlan_air::Nanos;
use wlan_air::traffic::Delays;

/// What a sender did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// Version of the program.
    pub video: &'static str,
    /// Mean rate of the pictures that was asked for.
    pub rate_bit_per_s: u64,
    /// Frames a second.
    pub frames_per_s: u32,
    /// Octets of UDP payload of a full packet.
    pub packet_octets: usize,
    /// Frames after which the stream repeats itself.
    pub clip_frames: u32,
    /// Whether a frame's packets were spread over the time until the next.
    pub smooth: bool,
    /// The stream.
    pub ssrc: u32,
    /// `CLOCK_MONOTONIC` of the sender at the start.
    pub start_ns: u64,
    /// Whether the receiver said that it had seen the end.
    pub bye_answered: bool,
    /// By frame.
    pub frames: Vec<SentFrame>,
}

/// A frame, as it was sent: in JSON `[captured_ns, packets, octets, late_ns, rtt_ns]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// When it was captured, from the start.
    pub captured: Nanos,
    /// Its packets.
    pub packets: u32,
    /// Octets of the picture.
    pub octets: u64,
    /// How long after they were due its packets were given to the stack, at most.
    pub late: Nanos,
    /// From its last packet to the answer; none if there was none.
    pub rtt: Option<Nanos>,
}

impl Serialize for SentFrame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (
            self.captured.0,
            self.packets,
            self.octets,
            self.late.0,
            self.rtt.map(|rtt| rtt.0),
        )
            .serialize(serializer)
    }
}

/// What a receiver saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Received {
    /// Version of the program.
    pub video: &'static str,
    /// The stream; none if no packet came.
    pub ssrc: Option<u32>,
    /// `CLOCK_MONOTONIC` of the sender at the capture of frame 0, from which intervals count; none if no packet came.
    pub start_ns: Option<u64>,
    /// Octets that the kernel keeps for a program that does not fetch in time, with its own (socket(7), `SO_RCVBUF`).
    pub buffer_octets: usize,
    /// Whether the end of the stream was seen.
    pub bye: bool,
    /// Packets that came, and those between the lowest and the highest of their sequence numbers (RFC 3550, A.3).
    pub packets: u64,
    /// See `packets`.
    pub expected: u64,
    /// Delay of the window's packets, from the sender's program to the receiver's; none without packets.
    pub delay_ns: Option<Distribution>,
    /// Mean over all packets of the interarrival jitter by RTP time stamps (RFC 3550, 6.4.1), as Wireshark has it: it
    /// contains how packets of one frame are spread over time by their sender.
    pub rtp_jitter_mean_ns: u64,
    /// By frame of which a packet came.
    pub frames: Vec<ReceivedFrame>,
    /// By interval of arrival, from the start.
    pub intervals: Vec<Interval>,
    /// Length of these.
    pub interval_ns: u64,
}

/// A distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// Mean.
    pub mean: u64,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Largest.
    pub max: u64,
}

impl Distribution {
    /// That of these delays; none without any.
    #[must_use]
    pub fn of(delays: &Delays) -> Option<Distribution> {
        Some(Distribution {
            mean: delays.mean()?.0,
            p50: delays.percentile(50.0)?.0,
            p99: delays.percentile(99.0)?.0,
            max: delays.max()?.0,
        })
    }
}

/// A frame, as it came: in JSON `[frame, packets, delay_ns]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedFrame {
    /// Which, from 0.
    pub frame: u32,
    /// How many of its packets came.
    pub packets: u32,
    /// From its capture to the arrival of the last of them.
    pub delay: Nanos,
}

impl Serialize for ReceivedFrame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.frame, self.packets, self.delay.0).serialize(serializer)
    }
}

/// What came in an interval: in JSON `[packets, octets, jitter_ns]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Packets.
    pub packets: u32,
    /// Octets of pictures.
    pub octets: u64,
    /// Interarrival jitter at its end (RFC 3550, 6.4.1) by the moments at which packets were sent (RFC 5450).
    pub jitter: Nanos,
}

impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.packets, self.octets, self.jitter.0).serialize(serializer)
    }
}
