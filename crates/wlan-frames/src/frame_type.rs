//! Frame types.

use core::fmt;

/// The type of a frame, IEEE 802.11-2020 Table 9-1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameType {
    /// Beacons, association, Action frames.
    Management,
    /// Ack, BlockAck, RTS and CTS.
    Control,
    /// Data and QoS Data.
    Data,
    /// Extension frames, such as DMG beacons.
    Extension,
}

impl fmt::Display for FrameType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FrameType::Management => "management",
            FrameType::Control => "control",
            FrameType::Data => "data",
            FrameType::Extension => "extension",
        })
    }
}
