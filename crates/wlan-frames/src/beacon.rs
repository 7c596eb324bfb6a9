//! Beacon frames, IEEE 802.11-2020 9.3.3.2, and their elements, 9.4.2.
//!
//! ```text
//!  octet 0 frame control   2 duration   4 DA   10 SA   16 BSSID   22 sequence control
//!       24 timestamp (8)   32 beacon interval   34 capability information   36 elements
//!
//!  element  octet 0 element ID   1 length of the body   2 body
//! ```
//! Lengths exclude the FCS. All management frames share this header. Beacons here have no HT Control field.

use alloc::vec::Vec;

use crate::bytes::{array, get_addr, get_u16, put};
use crate::error::need;
use crate::frame_control::SUBTYPE_BEACON;
use crate::mac_header::{ADDR1 as DA, ADDR2 as SA, ADDR3 as BSSID, DURATION, SEQUENCE};
use crate::{FrameControl, FrameError, FrameType, MacAddr, SequenceControl};

const TIMESTAMP: usize = 24;
const INTERVAL: usize = 32;
const CAPABILITY: usize = 34;
const ELEMENTS: usize = 36;

/// Element ID of the SSID (Table 9-92).
pub const ID_SSID: u8 = 0;

/// Capability (9.4.1.4): the sender is an access point.
pub const CAPABILITY_ESS: u16 = 1 << 0;
/// Capability: data frames are protected.
pub const CAPABILITY_PRIVACY: u16 = 1 << 4;
/// Capability: the DSSS short preamble is supported.
pub const CAPABILITY_SHORT_PREAMBLE: u16 = 1 << 5;
/// Capability: QoS.
pub const CAPABILITY_QOS: u16 = 1 << 9;
/// Capability: the slot time of the ERP BSS is 9 us.
pub const CAPABILITY_SHORT_SLOT: u16 = 1 << 10;

/// A broadcast Beacon frame. Its transmitter address is the BSSID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beacon<'e> {
    /// The address of the access point.
    pub bssid: MacAddr,
    /// Sequence number, 0 to 4095.
    pub sequence: u16,
    /// The access point's clock when the first bit of this field is sent, in microseconds (11.1.3.1).
    pub timestamp_us: u64,
    /// Time between target beacon transmission times, in time units of 1024 us.
    pub interval_tu: u16,
    /// Capability Information: the sum of `CAPABILITY_` constants.
    pub capability: u16,
    /// The concatenated elements: see [`push_element`] and [`elements`].
    pub elements: &'e [u8],
}

impl<'e> Beacon<'e> {
    /// Length in octets of a beacon without elements, excluding the FCS.
    pub const FIXED_LEN: usize = ELEMENTS;
    /// Offset of the Timestamp field, in octets.
    pub const TIMESTAMP_AT: usize = TIMESTAMP;
    /// Length of the Timestamp field, in octets.
    pub const TIMESTAMP_LEN: usize = 8;

    /// Length in octets, excluding the FCS.
    #[allow(clippy::len_without_is_empty)]
    #[must_use]
    pub fn len(&self) -> usize {
        ELEMENTS + self.elements.len()
    }

    /// Writes the frame at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// If `buf` is shorter than [`len`](Self::len), or `sequence` is out of range.
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        let sequence = SequenceControl {
            number: self.sequence,
            fragment: 0,
        };
        put(
            buf,
            0,
            FrameControl::new(FrameType::Management, SUBTYPE_BEACON)
                .0
                .to_le_bytes(),
        );
        // Group-addressed frames are not acknowledged (9.2.5.2).
        put(buf, DURATION, [0; 2]);
        put(buf, DA, MacAddr::BROADCAST.0);
        put(buf, SA, self.bssid.0);
        put(buf, BSSID, self.bssid.0);
        put(buf, SEQUENCE, sequence.bits().to_le_bytes());
        put(buf, TIMESTAMP, self.timestamp_us.to_le_bytes());
        put(buf, INTERVAL, self.interval_tu.to_le_bytes());
        put(buf, CAPABILITY, self.capability.to_le_bytes());
        buf[ELEMENTS..self.len()].copy_from_slice(self.elements);
        self.len()
    }

    /// Reads the frame that fills `bytes` and checks that every element is complete. [`elements`] iterates over them.
    ///
    /// # Errors
    /// [`FrameError::Version`], [`FrameError::Type`], [`FrameError::Subtype`]. [`FrameError::Truncated`], also if an
    /// element extends past the end. [`FrameError::Field`] for an HT Control field, a fragment, a nonzero duration, a
    /// destination other than broadcast, or a source address other than the BSSID.
    pub fn parse(bytes: &'e [u8]) -> Result<Beacon<'e>, FrameError> {
        let fc = FrameControl::parse(bytes)?;
        let found = fc.frame_type();
        if found != FrameType::Management {
            return Err(FrameError::Type {
                expected: FrameType::Management,
                found,
            });
        }
        if fc.subtype() != SUBTYPE_BEACON {
            return Err(FrameError::Subtype {
                frame_type: found,
                subtype: fc.subtype(),
            });
        }
        need("a Beacon frame", bytes, Self::FIXED_LEN)?;
        if fc != FrameControl::new(FrameType::Management, SUBTYPE_BEACON) {
            return Err(FrameError::Field(
                "a Frame Control flag of the beacon is set (expected none)",
            ));
        }
        let sequence = SequenceControl::from_bits(get_u16(bytes, SEQUENCE));
        if sequence.fragment != 0 {
            return Err(FrameError::Field("the beacon is a fragment"));
        }
        if get_u16(bytes, DURATION) != 0 {
            return Err(FrameError::Field("the Duration field of the beacon is not 0"));
        }
        let bssid = get_addr(bytes, BSSID);
        if get_addr(bytes, DA) != MacAddr::BROADCAST || get_addr(bytes, SA) != bssid {
            return Err(FrameError::Field("the beacon is not a broadcast from its BSSID"));
        }
        let elements = &bytes[ELEMENTS..];
        self::elements(elements).try_for_each(|element| element.map(drop))?;
        Ok(Beacon {
            bssid,
            sequence: sequence.number,
            timestamp_us: u64::from_le_bytes(array(bytes, TIMESTAMP)),
            interval_tu: get_u16(bytes, INTERVAL),
            capability: get_u16(bytes, CAPABILITY),
            elements,
        })
    }
}

/// Appends an element.
///
/// # Panics
/// If the body is longer than 255 octets.
pub fn push_element(elements: &mut Vec<u8>, id: u8, body: &[u8]) {
    let len = u8::try_from(body.len()).expect("the body of an element has at most 255 octets");
    elements.extend_from_slice(&[id, len]);
    elements.extend_from_slice(body);
}

/// Iterates over elements as pairs of element ID and body. A truncated element ends the iteration with an error.
pub fn elements(octets: &[u8]) -> impl Iterator<Item = Result<(u8, &[u8]), FrameError>> {
    let mut left = octets;
    core::iter::from_fn(move || {
        let octets = core::mem::take(&mut left);
        if octets.is_empty() {
            return None;
        }
        let len = 2 + octets.get(1).map_or(0, |&len| usize::from(len));
        Some(need("an element", octets, len).map(|()| {
            let (element, rest) = octets.split_at(len);
            left = rest;
            (element[0], &element[2..])
        }))
    })
}
