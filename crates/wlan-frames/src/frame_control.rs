//! Frame Control: the first two octets of every MPDU, and the header length that they determine.
//!
//! ```text
//!  bit   0-1      2-3   4-7      8     9        10         11     12     13     14         15
//!        version  type  subtype  ToDS  FromDS   more       retry  power  more   protected  +HTC /
//!                                               fragments         mgmt   data   frame      order
//! ```
//! IEEE 802.11-2020 9.2.4.1; sent least significant octet first.

use crate::bytes::get_u16;
use crate::error::need;
use crate::{FrameError, FrameType};

/// Subtype of a Data frame, IEEE 802.11-2020 Table 9-1.
pub const SUBTYPE_DATA: u8 = 0;
/// Subtype of a QoS Data frame, Table 9-1.
pub const SUBTYPE_QOS_DATA: u8 = 8;
/// Subtype of an Association Request frame, Table 9-1.
pub const SUBTYPE_ASSOCIATION_REQUEST: u8 = 0;
/// Subtype of an Association Response frame, Table 9-1.
pub const SUBTYPE_ASSOCIATION_RESPONSE: u8 = 1;
/// Subtype of a Reassociation Request frame, Table 9-1.
pub const SUBTYPE_REASSOCIATION_REQUEST: u8 = 2;
/// Subtype of a Probe Request frame, Table 9-1.
pub const SUBTYPE_PROBE_REQUEST: u8 = 4;
/// Subtype of a Probe Response frame, Table 9-1.
pub const SUBTYPE_PROBE_RESPONSE: u8 = 5;
/// Subtype of a Beacon frame, Table 9-1.
pub const SUBTYPE_BEACON: u8 = 8;
/// Subtype of a Disassociation frame, Table 9-1.
pub const SUBTYPE_DISASSOCIATION: u8 = 10;
/// Subtype of an Authentication frame, Table 9-1.
pub const SUBTYPE_AUTHENTICATION: u8 = 11;
/// Subtype of a Deauthentication frame, Table 9-1.
pub const SUBTYPE_DEAUTHENTICATION: u8 = 12;
/// Subtype of an Action frame, Table 9-1.
pub const SUBTYPE_ACTION: u8 = 13;
/// Subtype of a BlockAckReq frame, Table 9-1.
pub const SUBTYPE_BLOCK_ACK_REQ: u8 = 8;
/// Subtype of a BlockAck frame, Table 9-1.
pub const SUBTYPE_BLOCK_ACK: u8 = 9;
/// Subtype of an RTS frame, Table 9-1.
pub const SUBTYPE_RTS: u8 = 11;
/// Subtype of a CTS frame, Table 9-1.
pub const SUBTYPE_CTS: u8 = 12;
/// Subtype of an Ack frame, Table 9-1.
pub const SUBTYPE_ACK: u8 = 13;

/// Subtype bit of Data frames that adds a QoS Control field (9.2.4.1.3).
const SUBTYPE_QOS: u8 = 0x8;
/// Subtype bit of Data frames that removes the frame body, as in Null frames (9.2.4.1.3).
const SUBTYPE_NO_DATA: u8 = 0x4;

/// A Frame Control field as a 16-bit number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameControl(pub u16);

impl FrameControl {
    /// The frame goes to the distribution system.
    pub const TO_DS: u16 = 1 << 8;
    /// The frame comes from the distribution system.
    pub const FROM_DS: u16 = 1 << 9;
    /// More fragments of the MSDU follow.
    pub const MORE_FRAGMENTS: u16 = 1 << 10;
    /// The frame is a retransmission.
    pub const RETRY: u16 = 1 << 11;
    /// The sender will enter power save mode.
    pub const POWER_MGMT: u16 = 1 << 12;
    /// The access point has buffered more frames for the station.
    pub const MORE_DATA: u16 = 1 << 13;
    /// The frame body is protected by a cipher.
    pub const PROTECTED: u16 = 1 << 14;
    /// An HT Control field is present (QoS Data, management), or the service is strictly ordered (other Data).
    pub const HTC_ORDER: u16 = 1 << 15;

    /// Returns a field with protocol version 0 and all flags clear; `subtype` is 0 to 15.
    #[must_use]
    pub fn new(frame_type: FrameType, subtype: u8) -> FrameControl {
        let kind: u16 = match frame_type {
            FrameType::Management => 0,
            FrameType::Control => 1,
            FrameType::Data => 2,
            FrameType::Extension => 3,
        };
        FrameControl(kind << 2 | u16::from(subtype & 0xf) << 4)
    }

    /// Reads the first two octets of a frame of protocol version 0.
    ///
    /// # Errors
    /// [`FrameError::Truncated`], [`FrameError::Version`].
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<FrameControl, FrameError> {
        need("a Frame Control field", bytes, 2)?;
        let fc = FrameControl(get_u16(bytes, 0));
        match fc.version() {
            0 => Ok(fc),
            version => Err(FrameError::Version(version)),
        }
    }

    /// The protocol version, 0 to 3; 0 in every defined frame (9.2.4.1.2).
    #[must_use]
    pub const fn version(self) -> u8 {
        self.0.to_le_bytes()[0] & 0b11
    }

    /// The frame's type.
    #[must_use]
    pub const fn frame_type(self) -> FrameType {
        match self.0 >> 2 & 0b11 {
            0 => FrameType::Management,
            1 => FrameType::Control,
            2 => FrameType::Data,
            _ => FrameType::Extension,
        }
    }

    /// The frame's subtype, 0 to 15.
    #[must_use]
    pub const fn subtype(self) -> u8 {
        self.0.to_le_bytes()[0] >> 4
    }

    /// True if any bit of `mask` (one of the constants of this type) is set.
    #[must_use]
    pub const fn has(self, mask: u16) -> bool {
        self.0 & mask != 0
    }

    /// This field with the bits of `mask` set if `on`, and cleared otherwise.
    #[must_use]
    pub fn with(self, mask: u16, on: bool) -> FrameControl {
        FrameControl(if on { self.0 | mask } else { self.0 & !mask })
    }

    /// True for Data frames of a QoS subtype, which carry a QoS Control field.
    #[must_use]
    pub const fn is_qos_data(self) -> bool {
        matches!(self.frame_type(), FrameType::Data) && self.subtype() & SUBTYPE_QOS != 0
    }

    /// True for frames whose body can be protected: Data frames except Null and similar subtypes.
    #[must_use]
    pub const fn is_data_with_body(self) -> bool {
        matches!(self.frame_type(), FrameType::Data) && self.subtype() & SUBTYPE_NO_DATA == 0
    }

    /// True for Data frames between two parts of the distribution system, which carry a fourth address.
    #[must_use]
    pub const fn has_addr4(self) -> bool {
        matches!(self.frame_type(), FrameType::Data) && self.has(Self::TO_DS) && self.has(Self::FROM_DS)
    }

    /// Offset of the QoS Control field in octets, for QoS Data frames (9.3.2.1).
    #[must_use]
    pub const fn qos_offset(self) -> Option<usize> {
        match (self.is_qos_data(), self.has_addr4()) {
            (true, true) => Some(30),
            (true, false) => Some(24),
            (false, _) => None,
        }
    }

    /// Length of the MAC header in octets, HT Control included, for Data and management frames (9.3.2.1, 9.3.3.2).
    /// `None` for other types: their length does not depend on Frame Control alone.
    #[must_use]
    pub const fn header_len(self) -> Option<usize> {
        let htc = if self.has(Self::HTC_ORDER) { 4 } else { 0 };
        match self.frame_type() {
            FrameType::Management => Some(24 + htc),
            FrameType::Data => {
                let addresses = if self.has_addr4() { 30 } else { 24 };
                Some(if self.is_qos_data() {
                    addresses + 2 + htc
                } else {
                    addresses
                })
            }
            FrameType::Control | FrameType::Extension => None,
        }
    }
}
