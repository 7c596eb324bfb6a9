//! The configuration of a sender.

use crate::tcp::{CongestionControl, MSS_IPV4_B, TcpError, check_mss};

/// The data of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Supply {
    /// Unlimited, until [`Sender::stop`](crate::tcp::Sender::stop).
    Bulk,
    /// This many octets, plus the octets of [`Sender::write`](crate::tcp::Sender::write).
    Octets(u64),
}

/// The configuration of a [`Sender`](crate::tcp::Sender).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// Octets of payload of a full segment.
    pub mss_b: u32,
    /// Congestion control.
    pub congestion: CongestionControl,
    /// Segments of the initial window (RFC 6928: 10).
    pub initial_window: u32,
    /// The data of the application.
    pub supply: Supply,
}

impl SenderConfig {
    /// A bulk stream like iperf3's over IPv4 on Linux.
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
