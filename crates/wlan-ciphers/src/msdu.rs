//! What WEP and TKIP read in the header of a Data frame, IEEE 802.11-2020 9.3.2.1.
//!
//! ```text
//!  ToDS  FromDS   DA   SA
//!  0     0        A1   A2
//!  0     1        A1   A3
//!  1     0        A3   A2
//!  1     1        A3   A4
//! ```

use wlan_frames::{FrameControl, FrameType, MacAddr, QosControl};

use crate::aad::{HeaderError, Priority};
use crate::michael::MichaelHeader;

const ADDR1: usize = 4;
const ADDR2: usize = 10;
const ADDR3: usize = 16;
const SEQUENCE: usize = 22;
const ADDR4: usize = 24;

/// The header of a Data frame with a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataFrame<'a> {
    fc: FrameControl,
    octets: &'a [u8],
}

impl<'a> DataFrame<'a> {
    /// Takes the header off the front of `mpdu`.
    pub(crate) fn parse(mpdu: &'a [u8]) -> Result<DataFrame<'a>, HeaderError> {
        if mpdu.len() < 2 {
            return Err(HeaderError::Short);
        }
        let fc = FrameControl::parse(mpdu).map_err(|_| HeaderError::NotProtectable)?;
        match fc.header_len() {
            Some(len) if fc.frame_type() == FrameType::Data && fc.is_data_with_body() => mpdu
                .get(..len)
                .map(|octets| DataFrame { fc, octets })
                .ok_or(HeaderError::Short),
            _ => Err(HeaderError::NotProtectable),
        }
    }

    /// Length in octets.
    pub(crate) fn len(&self) -> usize {
        self.octets.len()
    }

    /// Whether any bit of `mask`, a constant of [`FrameControl`], is set.
    pub(crate) fn has(&self, mask: u16) -> bool {
        self.fc.has(mask)
    }

    /// The Protected bit.
    pub(crate) fn is_protected(&self) -> bool {
        self.fc.has(FrameControl::PROTECTED)
    }

    /// Whether the body is a part of an MSDU and not the whole.
    pub(crate) fn is_fragment(&self) -> bool {
        self.fc.has(FrameControl::MORE_FRAGMENTS) || self.octets[SEQUENCE] & 0xf != 0
    }

    /// Bit ToDS.
    pub(crate) fn is_to_ds(&self) -> bool {
        self.fc.has(FrameControl::TO_DS)
    }

    /// Bit FromDS.
    pub(crate) fn is_from_ds(&self) -> bool {
        self.fc.has(FrameControl::FROM_DS)
    }

    /// The TID, 0 without QoS.
    pub(crate) fn tid(&self) -> u8 {
        self.qos().map_or(0, QosControl::tid)
    }

    /// Whether the body is an A-MSDU.
    pub(crate) fn is_amsdu(&self) -> bool {
        self.qos().is_some_and(QosControl::amsdu_present)
    }

    fn qos(&self) -> Option<QosControl> {
        let at = self.fc.qos_offset()?;
        Some(QosControl(u16::from_le_bytes([
            self.octets[at],
            self.octets[at + 1],
        ])))
    }

    /// What the frame is numbered among.
    pub(crate) fn priority(&self) -> Priority {
        Priority::Tid(self.tid())
    }

    /// Who is to receive the frame.
    pub(crate) fn receiver(&self) -> MacAddr {
        self.addr(ADDR1)
    }

    /// Who sent the frame.
    pub(crate) fn transmitter(&self) -> MacAddr {
        self.addr(ADDR2)
    }

    /// Where the MSDU goes.
    pub(crate) fn da(&self) -> MacAddr {
        self.addr(if self.is_to_ds() { ADDR3 } else { ADDR1 })
    }

    /// Where the MSDU comes from.
    pub(crate) fn sa(&self) -> MacAddr {
        self.addr(match (self.is_to_ds(), self.is_from_ds()) {
            (_, false) => ADDR2,
            (false, true) => ADDR3,
            (true, true) => ADDR4,
        })
    }

    /// What Michael covers in front of the MSDU.
    pub(crate) fn michael(&self) -> MichaelHeader {
        MichaelHeader {
            da: self.da(),
            sa: self.sa(),
            priority: self.tid(),
        }
    }

    /// Sequence Control.
    pub(crate) fn sequence(&self) -> u16 {
        u16::from_le_bytes([self.octets[SEQUENCE], self.octets[SEQUENCE + 1]])
    }

    fn addr(&self, at: usize) -> MacAddr {
        let mut addr = MacAddr::default();
        addr.0.copy_from_slice(&self.octets[at..at + 6]);
        addr
    }
}
