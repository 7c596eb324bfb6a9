//! The output of the two ends: JSON whose keys include their units.

use serde::Serialize;
use serde::ser::Serializer;
use wlan_air::Nanos;
use wlan_air::traffic::Delays;

/// The sender's report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// Version of the program.
    pub video: &'static str,
    /// Requested mean rate of the pictures.
    pub rate_bit_per_s: u64,
    /// Frames per second.
    pub frames_per_s: u32,
    /// UDP payload of a full packet, in octets.
    pub packet_octets: usize,
    /// Number of frames after which the stream repeats.
    pub clip_frames: u32,
    /// Whether the packets of a frame were spread over the frame period.
    pub smooth: bool,
    /// Identifier of the stream.
    pub ssrc: u32,
    /// `CLOCK_MONOTONIC` of the sender at the start.
    pub start_ns: u64,
    /// Whether the receiver acknowledged the end of the stream.
    pub bye_answered: bool,
    /// All frames sent.
    pub frames: Vec<SentFrame>,
}

/// A sent frame, in JSON `[captured_ns, packets, octets, late_ns, rtt_ns]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// Time of its capture, relative to the start.
    pub captured: Nanos,
    /// Number of its packets.
    pub packets: u32,
    /// Octets of picture data.
    pub octets: u64,
    /// Maximum delay between the time when a packet was due and the time when it was passed to the network stack.
    pub late: Nanos,
    /// Time from its last packet to the answer; `None` without an answer.
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

/// The receiver's report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Received {
    /// Version of the program.
    pub video: &'static str,
    /// Identifier of the stream; `None` if no packet arrived.
    pub ssrc: Option<u32>,
    /// `CLOCK_MONOTONIC` of the sender at the capture of frame 0, where intervals start; `None` without packets.
    pub start_ns: Option<u64>,
    /// Size of the socket's receive buffer in octets, including the kernel's overhead (socket(7), `SO_RCVBUF`).
    pub buffer_octets: usize,
    /// Whether the end of the stream was received.
    pub bye: bool,
    /// Packets received. `expected` counts the packets from the lowest to the highest sequence number (RFC 3550, A.3).
    pub packets: u64,
    /// See `packets`.
    pub expected: u64,
    /// Delay of the packets in the window, from the sender's program to the receiver's; `None` without packets.
    pub delay_ns: Option<Distribution>,
    /// Mean over all packets of the interarrival jitter by RTP time stamps (RFC 3550, 6.4.1), as Wireshark computes
    /// it. It includes the sender's spreading of a frame's packets over time.
    pub rtp_jitter_mean_ns: u64,
    /// All frames with at least one received packet.
    pub frames: Vec<ReceivedFrame>,
    /// Intervals of arrival time, relative to the start.
    pub intervals: Vec<Interval>,
    /// Length of an interval.
    pub interval_ns: u64,
}

/// A distribution of times, in nanoseconds.
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
    /// The distribution of `delays`; `None` if there are none.
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

/// A received frame, in JSON `[frame, packets, delay_ns]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedFrame {
    /// Index of the frame, from 0.
    pub frame: u32,
    /// Number of its packets that arrived.
    pub packets: u32,
    /// Time from its capture to the arrival of its last packet.
    pub delay: Nanos,
}

impl Serialize for ReceivedFrame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.frame, self.packets, self.delay.0).serialize(serializer)
    }
}

/// The packets that arrived in an interval, in JSON `[packets, octets, jitter_ns]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Number of packets.
    pub packets: u32,
    /// Octets of picture data.
    pub octets: u64,
    /// Interarrival jitter at the end of the interval (RFC 3550, 6.4.1), computed from the sending times of the
    /// packets (RFC 5450).
    pub jitter: Nanos,
}

impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.packets, self.octets, self.jitter.0).serialize(serializer)
    }
}
