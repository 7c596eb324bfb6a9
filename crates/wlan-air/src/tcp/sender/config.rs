//! What a sender is told.

use crate::tcp::{CongestionControl, MSS_IPV4_B, TcpError, check_mss};

/// What the application has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Supply {
    /// Without end, until [`Sender::stop`](crate::tcp::Sender::stop).
    Bulk,
    /// This many octets, and what [`Sender::write`](crate::tcp::Sender::write) adds.
    Octets(u64),
}

/// Linux's TCP small queues: a sender waits while so much of its data lies in the queue of its own device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SmallQueue {
    /// The queue may hold what the sender's rate (window by round-trip time, twice that in slow start, 1.2
    /// times after it) sends in 2^-shift seconds: 10 for most devices, 8 for mac80211.
    pub shift: u8,
    /// But at least this, two of the bursts that are handed to the device, octets of payload.
    pub min_b: u64,
    /// And at most this, octets of payload (`tcp_limit_output_bytes`).
    pub max_b: u64,
}

impl SmallQueue {
    /// As Linux does it above a device of mac80211: 4 ms at the sender's rate.
    #[must_use]
    pub const fn mac80211() -> SmallQueue {
        SmallQueue {
            shift: 8,
            min_b: 4096,
            max_b: 4 << 20,
        }
    }
}

/// How a sender behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// Octets of payload of a full segment.
    pub mss_b: u32,
    /// Congestion control.
    pub congestion: CongestionControl,
    /// Segments of the first window (RFC 6928: 10).
    pub initial_window: u32,
    /// What the application has to send.
    pub supply: Supply,
    /// Octets that a bulk application writes at a time. It matters where the send buffer is not far larger: a
    /// write waits until it fits whole, and what is buffered goes out, full segment or not.
    pub write_b: u32,
    /// Octets written and not yet acknowledged at most; `None` for the autotuned buffer of Linux, which never
    /// is what limits.
    pub send_buffer_b: Option<u64>,
    /// Limit of what lies in the device's queue; the caller then reports what leaves it
    /// ([`Sender::on_freed`](crate::tcp::Sender::on_freed)). `None` where the device does not report it
    /// either, as with TUN.
    pub small_queue: Option<SmallQueue>,
}

impl SenderConfig {
    /// A bulk stream as of iperf3 over IPv4 on Linux.
    #[must_use]
    pub const fn bulk(congestion: CongestionControl) -> SenderConfig {
        SenderConfig {
            mss_b: MSS_IPV4_B,
            congestion,
            initial_window: 10,
            supply: Supply::Bulk,
            write_b: 131_072,
            send_buffer_b: None,
            small_queue: None,
        }
    }

    pub(super) fn check(&self) -> Result<(), TcpError> {
        check_mss(self.mss_b)?;
        if self.initial_window == 0 {
            return Err(TcpError::InitialWindow);
        }
        if self.write_b == 0 {
            return Err(TcpError::Write);
        }
        match self.send_buffer_b {
            Some(buffer_b) if buffer_b < u64::from(self.write_b) => Err(TcpError::SendBuffer {
                buffer_b,
                write_b: self.write_b,
            }),
            _ => Ok(()),
        }
    }
}
