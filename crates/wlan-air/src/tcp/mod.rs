//! TCP in virtual time, as in Linux, without bytes, sockets or clocks.
//!
//! [`Sender`] and [`Receiver`] are the two ends of a one-way stream. They exchange [`Segment`]s, which carry
//! a number of octets; [`Segment::ip_len_b`] is the length on the wire. The caller owns the time. It passes
//! arriving segments with their times, sends the segments that [`Sender::poll`] and [`Receiver::on_segment`]
//! return, and calls `on_timeout()` at `next_timeout()`. After the events of one moment, the applications act:
//! [`Receiver::read`] and [`Sender::write_next`]. Equal calls give equal results on every platform.
//!
//! ```text
//! bulk or N octets -> Sender -> Segment -> queue, medium -> Receiver -> octets in order
//!                       ^------------------ ACK, SACK ---------+
//! ```
//!
//! Where Linux differs from the RFCs, the implementation follows Linux, because its results are compared with
//! Linux (6.18; the windows and acknowledgments of small buffers are those of a capture of 7.3):
//!
//! - slow start from 10 segments (RFC 6928), congestion avoidance by Reno (RFC 5681) or CUBIC (RFC 9438) with
//!   `HyStart`, growth only while the window limits the sender (the concern of RFC 7661, solved as in Linux);
//! - loss detection by RACK-TLP (RFC 8985) from SACK (RFC 2018) and DSACK (RFC 2883), reduction of the window
//!   by proportional rate reduction (RFC 6937), undo of spurious recoveries by timestamps (RFC 3522) and
//!   DSACK;
//! - the retransmission timeout of RFC 6298, at least 200 ms above the round-trip time as in Linux;
//! - delayed ACKs of 40 ms, quick ACKs at the start and while the window grows, compressed SACKs;
//! - a receive window that is fixed, autotuned, or limited by a socket's buffer, from which Linux subtracts the
//!   memory of the segments that wait. If the window would shrink, the ACK waits until the application reads;
//! - super-packets that the device splits (TSO), whose last segment has PSH: the receiver acknowledges it at
//!   once. The sender waits for an ACK rather than send a small super-packet.
//!
//! - writes to a send buffer ([`SendBuffer`]), which take the time of the host's CPU ([`Cpu`](crate::Cpu)): small
//!   writes collect until they fill a segment, while a segment that is not full is in flight (Minshall's variant of
//!   the Nagle algorithm).
//!
//! Without a send buffer, the application has written everything. This is the same as a host that takes no time: the
//! window limits the sender, so small writes collect in the send buffer and all segments are full.
//!
//! Not implemented: FIN, window probes (the application reads at once, so the window opens again), ECN, F-RTO
//! (timestamps serve its purpose), pacing (Linux paces CUBIC and Reno only with the `fq` queue discipline),
//! autocorking (a TUN device takes packets at once, so none waits below the stack), a slow application at the
//! receiver, autotuning of the send buffer.

mod buffer;
mod congestion;
mod receiver;
mod rtt;
mod scoreboard;
mod sender;
#[cfg(test)]
mod tests;

pub use buffer::Window;
pub use congestion::CongestionControl;
pub use receiver::{Receiver, ReceiverConfig, ReceiverCounters};
pub use sender::{SendBuffer, Sender, SenderConfig, SenderCounters, Supply};

use crate::Nanos;

/// TCP payload of a full segment over IPv4 at an MTU of 1500, with timestamps.
pub const MSS_IPV4_B: u32 = 1448;
/// TCP payload of a full segment over IPv6 at an MTU of 1500, with timestamps.
pub const MSS_IPV6_B: u32 = 1428;

/// Maximum octets of merged segments, which fit one IP packet: Linux's `GSO_LEGACY_MAX_SIZE`.
pub const MERGED_MAX_B: u32 = 65_535 - 40;

/// Maximum number of merged segments: those of an A-MPDU, as in lab air.
pub const MERGED_MAX: u32 = 64;

/// TCP header without options (RFC 9293, 3.1).
const HEADER_LEN_B: usize = 20;
/// Timestamps with the padding that Linux adds (RFC 7323, appendix A).
const TIMESTAMPS_LEN_B: usize = 12;
/// The unit of timestamps in headers.
const STAMP: Nanos = Nanos::from_ms(1);
/// Options of a SYN: MSS 4, padding 2, SACK permitted 2, padding 1, window scale 3.
const SYN_OPTIONS_LEN_B: usize = 12;
/// Octets that timestamps add to a SYN: they take the place of two octets of padding.
const SYN_TIMESTAMPS_LEN_B: usize = 8;

/// The version of the IP header before a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IpVersion {
    /// 20 octets.
    V4,
    /// 40 octets.
    V6,
}

impl IpVersion {
    /// Octets of the IP header, without options or extension headers.
    #[must_use]
    pub const fn header_len_b(self) -> usize {
        match self {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        }
    }

    /// TCP payload of a full segment at an MTU of 1500, with or without timestamps.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)] // 12
    pub const fn mss_b(self, timestamps: bool) -> u32 {
        let stamped_b = match self {
            IpVersion::V4 => MSS_IPV4_B,
            IpVersion::V6 => MSS_IPV6_B,
        };
        stamped_b + if timestamps { 0 } else { TIMESTAMPS_LEN_B as u32 }
    }
}

/// Octets `start..end` of the stream, counted from its first octet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first octet.
    pub start: u64,
    /// The octet after the last octet.
    pub end: u64,
}

/// Octets that arrived above the cumulative acknowledgment: at most three blocks, the limit of a header with
/// timestamps (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    blocks: [Span; Sack::MAX],
    len: u8,
    duplicate: bool,
}

impl Sack {
    /// Maximum number of blocks in a header with timestamps.
    pub const MAX: usize = 3;

    /// Adds a block unless the header is full.
    fn push(&mut self, block: Span) {
        if let Some(free) = self.blocks.get_mut(usize::from(self.len)) {
            *free = block;
            self.len += 1;
        }
    }

    /// The first block if it reports octets that arrived twice (RFC 2883).
    #[must_use]
    pub fn duplicate(&self) -> Option<Span> {
        (self.duplicate && self.len > 0).then(|| self.blocks[0])
    }

    /// Blocks of octets that arrived out of order, the most recent block first.
    #[must_use]
    pub fn blocks(&self) -> &[Span] {
        &self.blocks[usize::from(self.duplicate)..usize::from(self.len)]
    }
}

/// A TCP segment: data from the sender, or an acknowledgment from the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Whether this is a SYN or the answer to a SYN.
    pub syn: bool,
    /// The first octet carried, counted from the first octet of the stream: SYN takes no sequence number.
    pub seq: u64,
    /// Number of octets carried.
    pub len_b: u32,
    /// Octets of the stream that have arrived without a gap.
    pub ack: u64,
    /// Octets that the receiver accepts above `ack`.
    pub window_b: u64,
    /// Octets that arrived above the gap.
    pub sack: Sack,
    /// Time at which it was sent: `TSval` of the timestamps option.
    pub sent_at: Nanos,
    /// `sent_at` of the segment that this segment answers: `TSecr`.
    pub echo: Nanos,
    /// Whether these octets were sent before.
    pub retransmission: bool,
    /// PSH: the last segment of a super-packet that the sender's device split, or of the writes to a send buffer.
    pub push: bool,
    /// Whether the header carries timestamps.
    pub timestamps: bool,
    /// If segments were merged, the octets of each of them but the last one; otherwise 0.
    merged_b: u32,
}

impl Segment {
    /// The octets carried.
    #[must_use]
    pub fn span(&self) -> Span {
        Span {
            start: self.seq,
            end: self.seq + u64::from(self.len_b),
        }
    }

    /// Length of the IP packet in octets: headers with the options of this segment, and payload.
    #[must_use]
    pub fn ip_len_b(&self, ip: IpVersion) -> usize {
        let timestamps_b = if self.timestamps { TIMESTAMPS_LEN_B } else { 0 };
        let options_b = if self.syn {
            SYN_OPTIONS_LEN_B + if self.timestamps { SYN_TIMESTAMPS_LEN_B } else { 0 }
        } else if self.sack.len > 0 {
            timestamps_b + 4 + 8 * usize::from(self.sack.len)
        } else {
            timestamps_b
        };
        ip.header_len_b() + HEADER_LEN_B + options_b + self.len_b as usize
    }

    /// Octets of each of the merged segments but the last one, or of the segment.
    pub(crate) fn piece_b(&self) -> u32 {
        if self.merged_b > 0 {
            self.merged_b
        } else {
            self.len_b
        }
    }

    /// Appends the next segment that arrived to this segment, as a driver's receive offload (GRO) does. The
    /// receiver then handles both as one segment and answers with one ACK. Only data without a gap is
    /// appended, up to [`MERGED_MAX_B`] octets and [`MERGED_MAX`] segments, until a segment has PSH, is shorter than
    /// the segments before, or has other timestamps. Returns whether the segment was appended.
    pub fn merge(&mut self, next: &Segment) -> bool {
        let piece_b = self.piece_b();
        let joins = !self.syn
            && !next.syn
            && !self.push
            && self.len_b > 0
            && next.len_b > 0
            && self.span().end == next.seq
            && self.len_b.is_multiple_of(piece_b)
            && next.len_b <= piece_b
            && self.len_b / piece_b < MERGED_MAX
            && self.len_b + next.len_b <= MERGED_MAX_B
            && (!self.timestamps || self.stamps() == next.stamps());
        if joins {
            self.merged_b = piece_b;
            self.len_b += next.len_b;
            self.push = next.push;
        }
        joins
    }

    /// The timestamps as in the header, in Linux's unit of 1 ms.
    fn stamps(&self) -> (u64, u64) {
        (self.sent_at.0 / STAMP.0, self.echo.0 / STAMP.0)
    }
}

/// Invalid parameters of an end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TcpError {
    /// The MSS is too small, or exceeds an IP packet.
    #[error("MSS of {0} octets: must be from 48 (smallest datagram of RFC 791) to 65495")]
    Mss(u32),
    /// The receive window is smaller than a full segment.
    #[error("receive window of {window_b} octets: must hold a full segment of {mss_b} (RFC 9293, 3.8.6)")]
    Window {
        /// The window in octets.
        window_b: u64,
        /// The MSS in octets.
        mss_b: u32,
    },
    /// The initial window of autotuning exceeds the maximum.
    #[error("initial receive window of {initial_b} octets: must not exceed the maximum of {max_b}")]
    WindowOrder {
        /// Initial window in octets.
        initial_b: u64,
        /// Maximum window in octets.
        max_b: u64,
    },
    /// The initial window is zero.
    #[error("the initial window must be at least 1 segment (RFC 5681, 3.1)")]
    InitialWindow,
    /// The send buffer or the writes are empty.
    #[error("a send buffer requires a size and writes of at least one octet")]
    SendBuffer,
}

fn check_mss(mss_b: u32) -> Result<(), TcpError> {
    if (48..=MERGED_MAX_B).contains(&mss_b) {
        Ok(())
    } else {
        Err(TcpError::Mss(mss_b))
    }
}
