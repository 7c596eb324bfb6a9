//! Management frames for probing, authentication and association, IEEE 802.11-2020 9.3.3. Beacons are in
//! [`beacon`](crate::beacon).
//!
//! ```text
//!  octet 0 frame control   2 duration   4 DA   10 SA   16 BSSID   22 sequence control   24 body
//!
//!  Probe Request         24 elements
//!  Probe Response        24 timestamp (8)   32 beacon interval   34 capability   36 elements
//!  Authentication        24 algorithm   26 transaction   28 status   30 fields of the algorithm, elements
//!  Association Request   24 capability   26 listen interval   28 elements
//!  Association Response  24 capability   26 status   28 AID   30 elements
//!  Deauthentication, Disassociation      24 reason   26 elements
//!  Action                24 category   25 fields of the category
//! ```
//! Lengths exclude the FCS. Frames with an HT Control field and fragments are not supported.

use alloc::vec;
use alloc::vec::Vec;

use crate::beacon::elements;
use crate::bytes::{array, get_addr, get_u16, put};
use crate::error::need;
use crate::frame_control::{
    SUBTYPE_ACTION, SUBTYPE_ASSOCIATION_REQUEST, SUBTYPE_ASSOCIATION_RESPONSE, SUBTYPE_AUTHENTICATION,
    SUBTYPE_DEAUTHENTICATION, SUBTYPE_DISASSOCIATION, SUBTYPE_PROBE_REQUEST, SUBTYPE_PROBE_RESPONSE,
};
use crate::mac_header::{
    ADDR1 as DA, ADDR2 as SA, ADDR3 as BSSID, AFTER_SEQUENCE as BODY, DURATION, SEQUENCE,
};
use crate::{FrameControl, FrameError, FrameType, MacAddr, SequenceControl};

/// Authentication algorithm (9.4.1.1): open system.
pub const OPEN_SYSTEM: u16 = 0;
/// Authentication algorithm: SAE.
pub const SAE: u16 = 3;

/// Status codes (Table 9-50).
pub mod status {
    /// Success.
    pub const SUCCESS: u16 = 0;
    /// Unspecified failure.
    pub const UNSPECIFIED_FAILURE: u16 = 1;
    /// The authentication algorithm is not supported.
    pub const UNSUPPORTED_ALGORITHM: u16 = 13;
    /// The access point has no capacity for another station.
    pub const FULL: u16 = 17;
    /// Refused temporarily: an SA Query checks the existing association of this station.
    pub const REFUSED_TEMPORARILY: u16 = 30;
    /// The request was declined.
    pub const DECLINED: u16 = 37;
    /// Invalid PMKID: the authentication that the association requires is missing.
    pub const INVALID_PMKID: u16 = 53;
    /// The group of the key exchange is not supported.
    pub const UNSUPPORTED_FINITE_CYCLIC_GROUP: u16 = 77;
}

/// Reason codes (Table 9-49).
pub mod reason {
    /// The previous authentication is no longer valid.
    pub const NOT_VALID: u16 = 2;
    /// The sender leaves.
    pub const LEAVING: u16 = 3;
    /// The station was inactive for too long.
    pub const INACTIVITY: u16 = 4;
    /// A frame that only associated stations may send was received.
    pub const CLASS_3: u16 = 7;
    /// The 4-way handshake timed out; sent if the MIC of message 2 was wrong.
    pub const HANDSHAKE: u16 = 15;
    /// IEEE 802.1X authentication failed.
    pub const AUTHENTICATION: u16 = 23;
}

/// The two most significant bits of an association identifier, which are set on the air (9.4.1.8).
pub const AID_BITS: u16 = 0xc000;

/// A management frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Management<'a> {
    /// Receiver.
    pub da: MacAddr,
    /// Transmitter.
    pub sa: MacAddr,
    /// The BSSID; the broadcast address in a Probe Request to any BSS.
    pub bssid: MacAddr,
    /// Sequence number, 0 to 4095.
    pub sequence: u16,
    /// The frame is a retransmission.
    pub retry: bool,
    /// The Protected bit: the body is protected on the air.
    pub protected: bool,
    /// Subtype and contents.
    pub body: Body<'a>,
}

/// The body of a management frame. Elements are concatenated and complete: see [`elements`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Body<'a> {
    /// Searches for networks (9.3.3.9).
    ProbeRequest {
        /// Elements.
        elements: &'a [u8],
    },
    /// Answers a Probe Request, with the fields of a beacon (9.3.3.10).
    ProbeResponse {
        /// The access point's clock, in microseconds.
        timestamp_us: u64,
        /// Time between target beacon transmission times, in time units of 1024 us.
        interval_tu: u16,
        /// Capability Information.
        capability: u16,
        /// Elements.
        elements: &'a [u8],
    },
    /// One step of an authentication (9.3.3.11).
    Authentication {
        /// 0 is open system, 3 SAE (9.4.1.1).
        algorithm: u16,
        /// Transaction sequence number: the step.
        transaction: u16,
        /// Status code (Table 9-50).
        status: u16,
        /// Fields of the algorithm, and elements; not parsed.
        rest: &'a [u8],
    },
    /// Requests an association (9.3.3.5).
    AssociationRequest {
        /// Capability Information.
        capability: u16,
        /// How often the station wakes up to listen, in beacon intervals.
        listen_interval: u16,
        /// Elements.
        elements: &'a [u8],
    },
    /// Accepts or rejects an association (9.3.3.6).
    AssociationResponse {
        /// Capability Information.
        capability: u16,
        /// Status code (Table 9-50).
        status: u16,
        /// The association identifier as on the air, with its two most significant bits set (9.4.1.8).
        aid: u16,
        /// Elements.
        elements: &'a [u8],
    },
    /// Ends an authentication and everything that depends on it (9.3.3.12).
    Deauthentication {
        /// Reason code (Table 9-49).
        reason: u16,
        /// Elements.
        elements: &'a [u8],
    },
    /// Ends an association (9.3.3.4).
    Disassociation {
        /// Reason code (Table 9-49).
        reason: u16,
        /// Elements.
        elements: &'a [u8],
    },
    /// An Action frame (9.3.3.13).
    Action {
        /// Category (Table 9-51).
        category: u8,
        /// Fields of the category; not parsed.
        rest: &'a [u8],
    },
}

/// An SA Query, which asks whether the other end of an association has its keys (9.6.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaQuery {
    /// It is a request, not the response to one.
    pub is_request: bool,
    /// The identifier of the request, which the response repeats.
    pub transaction: [u8; 2],
}

impl SaQuery {
    /// Category of the Action frames (Table 9-51).
    pub const CATEGORY: u8 = 8;

    /// A request.
    #[must_use]
    pub fn request(transaction: u16) -> SaQuery {
        SaQuery {
            is_request: true,
            transaction: transaction.to_le_bytes(),
        }
    }

    /// The response to a request.
    #[must_use]
    pub fn response(self) -> Option<SaQuery> {
        self.is_request.then_some(SaQuery {
            is_request: false,
            ..self
        })
    }

    /// The octets after the category.
    #[must_use]
    pub fn emit(&self) -> [u8; 3] {
        let [a, b] = self.transaction;
        [u8::from(!self.is_request), a, b]
    }

    /// Reads an Action frame. Elements may follow.
    #[must_use]
    pub fn parse(category: u8, rest: &[u8]) -> Option<SaQuery> {
        match (category, rest) {
            (Self::CATEGORY, &[action @ (0 | 1), a, b, ..]) => Some(SaQuery {
                is_request: action == 0,
                transaction: [a, b],
            }),
            _ => None,
        }
    }
}

impl<'a> Body<'a> {
    fn subtype(&self) -> u8 {
        match self {
            Body::ProbeRequest { .. } => SUBTYPE_PROBE_REQUEST,
            Body::ProbeResponse { .. } => SUBTYPE_PROBE_RESPONSE,
            Body::Authentication { .. } => SUBTYPE_AUTHENTICATION,
            Body::AssociationRequest { .. } => SUBTYPE_ASSOCIATION_REQUEST,
            Body::AssociationResponse { .. } => SUBTYPE_ASSOCIATION_RESPONSE,
            Body::Deauthentication { .. } => SUBTYPE_DEAUTHENTICATION,
            Body::Disassociation { .. } => SUBTYPE_DISASSOCIATION,
            Body::Action { .. } => SUBTYPE_ACTION,
        }
    }

    /// Returns the length of the fixed fields, and the variable-length rest.
    fn split(&self) -> (usize, &'a [u8]) {
        match *self {
            Body::ProbeRequest { elements } => (0, elements),
            Body::ProbeResponse { elements, .. } => (12, elements),
            Body::Authentication { rest, .. } => (6, rest),
            Body::AssociationRequest { elements, .. } => (4, elements),
            Body::AssociationResponse { elements, .. } => (6, elements),
            Body::Deauthentication { elements, .. } | Body::Disassociation { elements, .. } => (2, elements),
            Body::Action { rest, .. } => (1, rest),
        }
    }

    fn emit_fixed(&self, buf: &mut [u8]) {
        let mut put_u16s = |values: &[u16]| {
            for (at, value) in values.iter().enumerate() {
                put(buf, 2 * at, value.to_le_bytes());
            }
        };
        match *self {
            Body::ProbeRequest { .. } => {}
            Body::ProbeResponse {
                timestamp_us,
                interval_tu,
                capability,
                ..
            } => {
                put(buf, 0, timestamp_us.to_le_bytes());
                put(buf, 8, interval_tu.to_le_bytes());
                put(buf, 10, capability.to_le_bytes());
            }
            Body::Authentication {
                algorithm,
                transaction,
                status,
                ..
            } => put_u16s(&[algorithm, transaction, status]),
            Body::AssociationRequest {
                capability,
                listen_interval,
                ..
            } => put_u16s(&[capability, listen_interval]),
            Body::AssociationResponse {
                capability,
                status,
                aid,
                ..
            } => put_u16s(&[capability, status, aid]),
            Body::Deauthentication { reason, .. } | Body::Disassociation { reason, .. } => {
                put_u16s(&[reason]);
            }
            Body::Action { category, .. } => put(buf, 0, [category]),
        }
    }

    /// Reads the body of an Authentication frame.
    ///
    /// # Errors
    /// [`FrameError::Truncated`].
    pub fn authentication(bytes: &'a [u8]) -> Result<Body<'a>, FrameError> {
        need("the body of an Authentication frame", bytes, 6)?;
        Ok(Body::Authentication {
            algorithm: get_u16(bytes, 0),
            transaction: get_u16(bytes, 2),
            status: get_u16(bytes, 4),
            rest: &bytes[6..],
        })
    }

    fn parse(subtype: u8, bytes: &'a [u8]) -> Result<Body<'a>, FrameError> {
        let fixed = |what, len: usize| need(what, bytes, len).map(|()| &bytes[len..]);
        let whole = |octets: &'a [u8]| {
            let all = elements(octets).try_for_each(|element| element.map(drop));
            all.map(|()| octets)
        };
        let body = match subtype {
            SUBTYPE_PROBE_REQUEST => Body::ProbeRequest {
                elements: whole(bytes)?,
            },
            SUBTYPE_PROBE_RESPONSE => Body::ProbeResponse {
                elements: whole(fixed("the body of a Probe Response frame", 12)?)?,
                timestamp_us: u64::from_le_bytes(array(bytes, 0)),
                interval_tu: get_u16(bytes, 8),
                capability: get_u16(bytes, 10),
            },
            SUBTYPE_AUTHENTICATION => Body::authentication(bytes)?,
            SUBTYPE_ASSOCIATION_REQUEST => Body::AssociationRequest {
                elements: whole(fixed("the body of an Association Request frame", 4)?)?,
                capability: get_u16(bytes, 0),
                listen_interval: get_u16(bytes, 2),
            },
            SUBTYPE_ASSOCIATION_RESPONSE => Body::AssociationResponse {
                elements: whole(fixed("the body of an Association Response frame", 6)?)?,
                capability: get_u16(bytes, 0),
                status: get_u16(bytes, 2),
                aid: get_u16(bytes, 4),
            },
            SUBTYPE_DEAUTHENTICATION => Body::Deauthentication {
                elements: whole(fixed("the body of a Deauthentication frame", 2)?)?,
                reason: get_u16(bytes, 0),
            },
            SUBTYPE_DISASSOCIATION => Body::Disassociation {
                elements: whole(fixed("the body of a Disassociation frame", 2)?)?,
                reason: get_u16(bytes, 0),
            },
            SUBTYPE_ACTION => Body::Action {
                rest: fixed("the body of an Action frame", 1)?,
                category: bytes[0],
            },
            _ => {
                return Err(FrameError::Subtype {
                    frame_type: FrameType::Management,
                    subtype,
                });
            }
        };
        Ok(body)
    }
}

impl<'a> Management<'a> {
    /// Length of the MAC header in octets. The body follows it.
    pub const HEADER_LEN: usize = BODY;

    /// Length in octets, excluding the FCS.
    #[allow(clippy::len_without_is_empty)]
    #[must_use]
    pub fn len(&self) -> usize {
        let (fixed_len, rest) = self.body.split();
        BODY + fixed_len + rest.len()
    }

    /// The octets of the frame.
    ///
    /// # Panics
    /// If `sequence` is out of range.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut octets = vec![0; self.len()];
        self.emit(&mut octets);
        octets
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
        let fc = FrameControl::new(FrameType::Management, self.body.subtype())
            .with(FrameControl::RETRY, self.retry)
            .with(FrameControl::PROTECTED, self.protected);
        put(buf, 0, fc.0.to_le_bytes());
        put(buf, DURATION, [0; 2]);
        put(buf, DA, self.da.0);
        put(buf, SA, self.sa.0);
        put(buf, BSSID, self.bssid.0);
        put(buf, SEQUENCE, sequence.bits().to_le_bytes());
        let (fixed_len, rest) = self.body.split();
        self.body.emit_fixed(&mut buf[BODY..BODY + fixed_len]);
        buf[BODY + fixed_len..self.len()].copy_from_slice(rest);
        self.len()
    }

    /// Reads the frame that fills `bytes`. The caller has decrypted a protected body. Duration and the power saving
    /// bits (Power Management, 9.2.4.1.7; More Data, 9.2.4.1.8) are ignored, and [`emit`](Self::emit) writes them as
    /// 0.
    ///
    /// # Errors
    /// [`FrameError::Version`], [`FrameError::Type`]; [`FrameError::Subtype`], also for beacons;
    /// [`FrameError::Truncated`], also if an element extends past the end; [`FrameError::Field`] for an HT Control
    /// field, a fragment, or a ToDS or FromDS bit.
    pub fn parse(bytes: &'a [u8]) -> Result<Management<'a>, FrameError> {
        let fc = FrameControl::parse(bytes)?;
        let found = fc.frame_type();
        if found != FrameType::Management {
            return Err(FrameError::Type {
                expected: FrameType::Management,
                found,
            });
        }
        need("a management frame", bytes, BODY)?;
        let foreign = FrameControl::TO_DS
            | FrameControl::FROM_DS
            | FrameControl::MORE_FRAGMENTS
            | FrameControl::HTC_ORDER;
        if fc.has(foreign) {
            return Err(FrameError::Field(
                "unsupported flag in the management frame (ToDS, FromDS, More Fragments or +HTC)",
            ));
        }
        let sequence = SequenceControl::from_bits(get_u16(bytes, SEQUENCE));
        if sequence.fragment != 0 {
            return Err(FrameError::Field("the management frame is a fragment"));
        }
        Ok(Management {
            da: get_addr(bytes, DA),
            sa: get_addr(bytes, SA),
            bssid: get_addr(bytes, BSSID),
            sequence: sequence.number,
            retry: fc.has(FrameControl::RETRY),
            protected: fc.has(FrameControl::PROTECTED),
            body: Body::parse(fc.subtype(), &bytes[BODY..])?,
        })
    }
}
