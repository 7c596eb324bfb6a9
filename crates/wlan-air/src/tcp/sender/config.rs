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
        }
    }

    pub(super) fn check(&self) -> Result<(), TcpError> {
        check_mss(self.mss_b)?;
        if self.initial_window == 0 {
            return Err(TcpError::InitialWindow);
        }
        Ok(())
    }
}
