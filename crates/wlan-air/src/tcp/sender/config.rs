//! The configuration of a sender.

use crate::Cpu;
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
    /// Whether segments carry timestamps (RFC 7323).
    pub timestamps: bool,
    /// Whether the device splits super-packets (TSO).
    pub segmentation_offload: bool,
    /// The send buffer and the application that fills it. `None`: Linux sizes the buffer, and neither the buffer nor
    /// the application limits the sender.
    pub buffer: Option<SendBuffer>,
    /// Times of the host, if there is a send buffer.
    pub cpu: Cpu,
    /// Octets that the application sends first; the other data follow when these are acknowledged.
    pub greeting_b: u64,
}

/// A send buffer, and the application that fills it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendBuffer {
    /// `SO_SNDBUF` in octets, which Linux doubles; half of the last number of `tcp_wmem` if Linux sizes the buffer.
    pub size_b: u64,
    /// Octets that the application writes per call.
    pub write_b: u64,
    /// Calls whenever the socket is writable, that is when at most two thirds of the buffer are in use.
    pub writes: u32,
}

impl SendBuffer {
    /// Size of the buffer that Linux grows to, if the application does not set a size.
    pub const LINUX_MAX_B: u64 = 2 << 20;

    /// iperf3 with this size of buffers (`-w`) and of writes (`-l`): ten writes whenever `select` returns.
    #[must_use]
    pub const fn iperf3(size_b: u64, write_b: u64) -> SendBuffer {
        SendBuffer {
            size_b,
            write_b,
            writes: 10,
        }
    }
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
            timestamps: true,
            segmentation_offload: true,
            buffer: None,
            cpu: Cpu::NONE,
            greeting_b: 0,
        }
    }

    /// Octets that the application has after the greeting and before its first write to a send buffer.
    pub(super) fn first_supply(&self) -> u64 {
        match self.supply {
            Supply::Bulk if self.buffer.is_some() => 0,
            Supply::Bulk => u64::MAX,
            Supply::Octets(octets) => octets,
        }
    }

    pub(super) fn check(&self) -> Result<(), TcpError> {
        check_mss(self.mss_b)?;
        if self.initial_window == 0 {
            return Err(TcpError::InitialWindow);
        }
        if self.buffer.is_some_and(|buffer| !buffer.is_valid()) {
            return Err(TcpError::SendBuffer);
        }
        Ok(())
    }
}
