//! The fields that the MAC headers of Data and management frames share, IEEE 802.11-2020 9.3.2.1 and 9.3.3.2.
//!
//! ```text
//!  octet  0              2         4         10        16        22
//!         frame control  duration  address1  address2  address3  sequence control
//! ```

use crate::bytes::get_addr;
use crate::{FrameControl, FrameError, FrameType, MacAddr};

pub(crate) const DURATION: usize = 2;
pub(crate) const ADDR1: usize = 4;
pub(crate) const ADDR2: usize = 10;
pub(crate) const ADDR3: usize = 16;
pub(crate) const SEQUENCE: usize = 22;
pub(crate) const AFTER_SEQUENCE: usize = 24;

/// A view of the fields that the MAC headers of Data and management frames share.
#[derive(Debug, Clone, Copy)]
pub struct MacHeader<'a> {
    fc: FrameControl,
    octets: &'a [u8; MacHeader::LEN],
}

impl<'a> MacHeader<'a> {
    /// Length of these fields in octets, which is the length of the shortest header.
    pub const LEN: usize = AFTER_SEQUENCE;

    /// Reads the start of a Data or management frame. The rest of its header is not checked.
    ///
    /// # Errors
    /// [`FrameError::Truncated`], [`FrameError::Version`], [`FrameError::Field`] for frames of other types.
    #[inline]
    pub fn parse(mpdu: &'a [u8]) -> Result<MacHeader<'a>, FrameError> {
        let Some(octets) = mpdu.first_chunk() else {
            return Err(FrameError::Truncated {
                what: "a MAC header",
                needed: Self::LEN,
                have: mpdu.len(),
            });
        };
        let fc = FrameControl::parse(octets)?;
        match fc.frame_type() {
            FrameType::Data | FrameType::Management => Ok(MacHeader { fc, octets }),
            FrameType::Control | FrameType::Extension => Err(FrameError::Field(
                "the frame is neither a Data nor a management frame",
            )),
        }
    }

    /// The Frame Control field.
    #[must_use]
    #[inline]
    pub fn frame_control(&self) -> FrameControl {
        self.fc
    }

    /// Address 1: the receiver.
    #[must_use]
    #[inline]
    pub fn receiver(&self) -> MacAddr {
        get_addr(self.octets, ADDR1)
    }

    /// Address 2: the transmitter.
    #[must_use]
    #[inline]
    pub fn transmitter(&self) -> MacAddr {
        get_addr(self.octets, ADDR2)
    }

    /// Address 3: in management frames the BSSID; in Data frames it depends on ToDS and FromDS.
    #[must_use]
    #[inline]
    pub fn addr3(&self) -> MacAddr {
        get_addr(self.octets, ADDR3)
    }
}
