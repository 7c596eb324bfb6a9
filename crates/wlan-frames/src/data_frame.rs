//! The MAC header of a Data frame with a body, read where it lies (IEEE 802.11-2020 9.3.2.1).
//!
//! ```text
//!  ToDS  FromDS   DA   SA
//!  0     0        A1   A2
//!  0     1        A1   A3
//!  1     0        A3   A2
//!  1     1        A3   A4
//! ```

use crate::error::need;
use crate::{FrameControl, FrameError, FrameType, MacAddr, QosControl};

const ADDR1: usize = 4;
const ADDR2: usize = 10;
const ADDR3: usize = 16;
const SEQUENCE: usize = 22;
const ADDR4: usize = 24;

/// The header of a Data frame with a body.
#[derive(Debug, Clone, Copy)]
pub struct DataFrame<'a> {
    fc: FrameControl,
    octets: &'a [u8],
}

impl<'a> DataFrame<'a> {
    /// Takes the header off the front of `mpdu`.
    ///
    /// # Errors
    /// [`FrameError::Version`], [`FrameError::Type`] for frames other than Data, [`FrameError::Subtype`] for those without a
    /// body, [`FrameError::Truncated`].
    #[inline]
    pub fn parse(mpdu: &'a [u8]) -> Result<DataFrame<'a>, FrameError> {
        let fc = FrameControl::parse(mpdu)?;
        let frame_type = fc.frame_type();
        let (FrameType::Data, Some(len)) = (frame_type, fc.header_len()) else {
            return Err(FrameError::Type {
                expected: FrameType::Data,
                found: frame_type,
            });
        };
        if !fc.is_data_with_body() {
            return Err(FrameError::Subtype {
                frame_type,
                subtype: fc.subtype(),
            });
        }
        need("the header of a data frame", mpdu, len)?;
        Ok(DataFrame {
            fc,
            octets: &mpdu[..len],
        })
    }

    /// Length of the header in octets.
    #[must_use]
    #[inline]
    pub fn header_len(&self) -> usize {
        self.octets.len()
    }

    /// Whether any bit of `mask`, a constant of [`FrameControl`], is set.
    #[must_use]
    #[inline]
    pub fn has(&self, mask: u16) -> bool {
        self.fc.has(mask)
    }

    /// The Protected bit.
    #[must_use]
    #[inline]
    pub fn is_protected(&self) -> bool {
        self.fc.has(FrameControl::PROTECTED)
    }

    /// Whether the body is a part of an MSDU and not the whole.
    #[must_use]
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.fc.has(FrameControl::MORE_FRAGMENTS) || self.octets[SEQUENCE] & 0xf != 0
    }

    /// Bit ToDS.
    #[must_use]
    #[inline]
    pub fn is_to_ds(&self) -> bool {
        self.fc.has(FrameControl::TO_DS)
    }

    /// Bit FromDS.
    #[must_use]
    #[inline]
    pub fn is_from_ds(&self) -> bool {
        self.fc.has(FrameControl::FROM_DS)
    }

    /// The TID, 0 without QoS.
    #[must_use]
    #[inline]
    pub fn tid(&self) -> u8 {
        self.qos().map_or(0, QosControl::tid)
    }

    /// Whether the body is an A-MSDU.
    #[must_use]
    #[inline]
    pub fn is_amsdu(&self) -> bool {
        self.qos().is_some_and(QosControl::amsdu_present)
    }

    fn qos(&self) -> Option<QosControl> {
        let at = self.fc.qos_offset()?;
        Some(QosControl(u16::from_le_bytes([
            self.octets[at],
            self.octets[at + 1],
        ])))
    }

    /// Who is to receive the frame.
    #[must_use]
    #[inline]
    pub fn receiver(&self) -> MacAddr {
        self.addr(ADDR1)
    }

    /// Who sent the frame.
    #[must_use]
    #[inline]
    pub fn transmitter(&self) -> MacAddr {
        self.addr(ADDR2)
    }

    /// Where the MSDU goes.
    #[must_use]
    #[inline]
    pub fn da(&self) -> MacAddr {
        self.addr(if self.is_to_ds() { ADDR3 } else { ADDR1 })
    }

    /// Where the MSDU comes from.
    #[must_use]
    #[inline]
    pub fn sa(&self) -> MacAddr {
        self.addr(match (self.is_to_ds(), self.is_from_ds()) {
            (_, false) => ADDR2,
            (false, true) => ADDR3,
            (true, true) => ADDR4,
        })
    }

    /// Sequence Control: the fragment number in bits 0 to 3, the sequence number in bits 4 to 15.
    #[must_use]
    #[inline]
    pub fn sequence(&self) -> u16 {
        u16::from_le_bytes([self.octets[SEQUENCE], self.octets[SEQUENCE + 1]])
    }

    fn addr(&self, at: usize) -> MacAddr {
        let mut addr = MacAddr::default();
        addr.0.copy_from_slice(&self.octets[at..at + 6]);
        addr
    }
}
