//! TCP in virtual time: what Linux does, without bytes, sockets or clocks.
//!
//! [`Sender`] and [`Receiver`] are the two ends of a one-way stream. Segments are counts of octets; what the
//! ends tell each other is a [`Segment`], and its octets on the wire are [`Segment::ip_len_b`]. The caller
//! owns the time: it hands over what arrived and when, takes what is to be sent ([`Sender::poll`], the
//! answers of [`Receiver::on_segment`]), and calls back at `next_timeout()`. Equal calls give equal answers
//! on every platform.
//!
//! ```text
//! bulk or N octets -> Sender -> Segment -> queue, medium -> Receiver -> octets in order
//!                       ^------------------ ACK, SACK ---------+
//! ```
//!
//! It follows Linux 6.18 where Linux and the RFCs differ, because Linux is what its figures are compared
//! with:
//!
//! - slow start from 10 segments (RFC 6928), congestion avoidance by Reno (RFC 5681) or CUBIC (RFC 9438) with
//!   `HyStart`, growth only while the window is in use (RFC 7661's concern, in Linux's way);
//! - losses found by RACK-TLP (RFC 8985) from SACK (RFC 2018) and DSACK (RFC 2883), the window lowered by
//!   proportional rate reduction (RFC 6937), spurious recoveries undone by timestamps (RFC 3522) and DSACK;
//! - retransmission timeout of RFC 6298, at least 200 ms above the round-trip time as Linux has it;
//! - delayed ACKs of 40 ms, quick ACKs at the start, compressed SACKs; receive window fixed or autotuned.
//!
//! Left out: Nagle (always off), FIN, window probes (the application reads at once, so no window closes),
//! ECN, F-RTO (timestamps answer its question), pacing (Linux does not pace CUBIC and Reno unless the `fq`
//! queue discipline is used), a slow application at either end.

mod congestion;
mod receiver;
mod rtt;
mod scoreboard;
mod sender;
#[cfg(test)]
mod tests;

pub use congestion::CongestionControl;
pub use receiver::{Receiver, ReceiverConfig, ReceiverCounters, Window};
pub use sender::{Sender, SenderConfig, SenderCounters, Supply};

use crate::Nanos;

/// TCP payload of a full segment over IPv4 at an MTU of 1500, with timestamps.
pub const MSS_IPV4_B: u32 = 1448;
/// TCP payload of a full segment over IPv6 at an MTU of 1500, with timestamps.
pub const MSS_IPV6_B: u32 = 1428;

/// Octets that merged segments carry at most: what fits one IP packet, Linux's `GSO_LEGACY_MAX_SIZE`.
pub const MERGED_MAX_B: u32 = 65_535 - 40;

/// TCP header without options (RFC 9293, 3.1).
const HEADER_LEN_B: usize = 20;
/// Timestamps with the padding that Linux adds (RFC 7323, appendix A).
const TIMESTAMPS_LEN_B: usize = 12;
/// Options of a SYN: MSS 4, SACK permitted 2, timestamps 10, padding 1, window scale 3.
const SYN_OPTIONS_LEN_B: usize = 20;

/// The IP header in front of a segment.
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

    /// TCP payload of a full segment at an MTU of 1500, with timestamps.
    #[must_use]
    pub const fn mss_b(self) -> u32 {
        match self {
            IpVersion::V4 => MSS_IPV4_B,
            IpVersion::V6 => MSS_IPV6_B,
        }
    }
}

/// Octets `start..end` of the stream, counted from its first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first octet.
    pub start: u64,
    /// The octet after the last.
    pub end: u64,
}

/// What beyond the cumulative acknowledgment has arrived: at most three blocks, the most a header with
/// timestamps has room for (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    blocks: [Span; Sack::MAX],
    len: u8,
    duplicate: bool,
}

impl Sack {
    /// Blocks of a header with timestamps.
    pub const MAX: usize = 3;

    /// Adds a block unless the header is full.
    fn push(&mut self, block: Span) {
        if let Some(free) = self.blocks.get_mut(usize::from(self.len)) {
            *free = block;
            self.len += 1;
        }
    }

    /// The first block, when it tells of octets that arrived twice (RFC 2883).
    #[must_use]
    pub fn duplicate(&self) -> Option<Span> {
        (self.duplicate && self.len > 0).then(|| self.blocks[0])
    }

    /// Octets that arrived out of order, the most recent block first.
    #[must_use]
    pub fn blocks(&self) -> &[Span] {
        &self.blocks[usize::from(self.duplicate)..usize::from(self.len)]
    }
}

/// A TCP segment: data of the sender, or an acknowledgment of the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Opens the connection, or answers that.
    pub syn: bool,
    /// The first octet carried, counted from the first of the stream: SYN takes no number.
    pub seq: u64,
    /// Octets carried.
    pub len_b: u32,
    /// Octets of the stream that have arrived without a gap.
    pub ack: u64,
    /// Octets that the receiver takes beyond `ack`.
    pub window_b: u64,
    /// What has arrived beyond the gap.
    pub sack: Sack,
    /// When it was sent: the timestamp option's `TSval`.
    pub sent_at: Nanos,
    /// `sent_at` of the segment that this one answers: `TSecr`.
    pub echo: Nanos,
    /// Whether these octets were sent before.
    pub retransmission: bool,
}

impl Segment {
    /// Octets carried.
    #[must_use]
    pub fn span(&self) -> Span {
        Span {
            start: self.seq,
            end: self.seq + u64::from(self.len_b),
        }
    }

    /// Octets of the IP packet: headers with the options of this segment, and payload.
    #[must_use]
    pub fn ip_len_b(&self, ip: IpVersion) -> usize {
        let options_b = if self.syn {
            SYN_OPTIONS_LEN_B
        } else if self.sack.len > 0 {
            TIMESTAMPS_LEN_B + 4 + 8 * usize::from(self.sack.len)
        } else {
            TIMESTAMPS_LEN_B
        };
        ip.header_len_b() + HEADER_LEN_B + options_b + self.len_b as usize
    }

    /// Joins the segment that arrived next to this one, as a driver's receive offload (GRO) does, so that the
    /// receiver handles both as one and answers with one ACK. Only data that follows without a gap joins, up
    /// to [`MERGED_MAX_B`] octets; says whether it did.
    pub fn merge(&mut self, next: &Segment) -> bool {
        let joins = !self.syn
            && !next.syn
            && self.len_b > 0
            && next.len_b > 0
            && self.span().end == next.seq
            && self.len_b + next.len_b <= MERGED_MAX_B;
        if joins {
            self.len_b += next.len_b;
        }
        joins
    }
}

/// What can be wrong with the configuration of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TcpError {
    /// No payload fits, or more than an IP packet holds.
    #[error("MSS of {0} octets: must be 48 (RFC 791's smallest datagram) to 65495")]
    Mss(u32),
    /// A window that a full segment does not fit.
    #[error("receive window of {window_b} octets: must hold a segment of {mss_b} (RFC 9293, 3.8.6)")]
    Window {
        /// The window.
        window_b: u64,
        /// The MSS.
        mss_b: u32,
    },
    /// Autotuning from a larger to a smaller window.
    #[error("receive window grows from {initial_b} to {max_b} octets: the first must not be the larger")]
    WindowOrder {
        /// At the start.
        initial_b: u64,
        /// At most.
        max_b: u64,
    },
    /// No segment to start with.
    #[error("the initial window must be at least 1 segment (RFC 5681, 3.1)")]
    InitialWindow,
}

fn check_mss(mss_b: u32) -> Result<(), TcpError> {
    if (48..=MERGED_MAX_B).contains(&mss_b) {
        Ok(())
    } else {
        Err(TcpError::Mss(mss_b))
    }
}
