//! Frames with their times and modes on the air.

use wlan_air::Nanos;
use wlan_air::phy::Mode;

/// A frame on the air.
pub struct Sent {
    /// When its PPDU starts.
    pub at: Nanos,
    /// The mode of the PPDU.
    pub mode: Mode,
    /// The MPDU, without FCS.
    pub mpdu: Vec<u8>,
}

/// A Duration field: whole microseconds, rounded up (9.2.5.1), at most 32 767 (9.2.4.2).
pub fn duration_us(duration: Nanos) -> u16 {
    u16::try_from(duration.0.div_ceil(1000).min(32_767)).unwrap_or(32_767)
}
