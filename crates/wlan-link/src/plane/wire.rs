//! The frames of the link, octet by octet (`docs/reference/link-protocol.md`): complete 802.11 MPDUs without FCS.
//!
//! ```text
//!  octet  0            26              34                           end - MIC
//!         MAC header   cipher header   LLC/SNAP, IP packet           MIC      devices of IP packets
//!         MAC header   cipher header   DA, SA, length, LLC payload   MIC      devices of Ethernet frames
//!         MAC header   cipher header   LLC payload                   MIC      the same, group addressed
//! ```
//! An Ethernet frame is the only subframe of an A-MSDU (IEEE Std 802.11-2020 9.3.2.2.2), which carries its addresses.
//! The MIC does not cover A-MSDU Present (12.5.3.3.3), so an attacker could flip it to have a payload parsed as the
//! other kind. Here all individually addressed frames of a link are of one kind, and frames of the other kind are
//! refused. A group addressed frame is always an MSDU (10.11), whose MAC header has its addresses.

use std::ops::Range;

use wlan_ciphers::{OpenError, PacketNumber, ccmp};
use wlan_frames::beacon::push_element;
use wlan_frames::rsn::{ID_VENDOR, OUI_LOCAL};
use wlan_frames::{
    AckPolicy, DataHeader, EtherType, FrameControl, FrameError, FrameType, LlcSnap, MacAddr, MacHeader,
    QosControl, SequenceControl,
};
use wlan_host::tun::TYPES_FROM;

pub use wlan_frames::Role;
pub use wlan_frames::link::{BODY_AT, HEADER_B};
pub use wlan_host::tun::{ETHERNET_B, Kind};

/// Minimum payload of an Ethernet frame, in octets; shorter payloads are padded (IEEE Std 802.3-2018 4.2.3.3).
pub const ETHERNET_PAYLOAD_MIN_B: usize = 46;
/// Minimum payload of a group addressed Ethernet frame with a length field, in octets: 26 + 8 + 4 + 8 octets, the
/// shortest MIC included, are the minimum payload of the outer Ethernet frame.
pub const GROUP_PAYLOAD_MIN_B: usize = 4;
/// Octets in the MAC header of a management frame (9.3.3.2).
pub const MANAGEMENT_HEADER_B: usize = MacHeader::LEN;

const SEQUENCE_AT: usize = 22;
/// Offset of QoS Control in a data frame.
pub const QOS_AT: usize = 24;
/// Offset of the octet after address 2.
pub const TRANSMITTER_END: usize = 16;
/// Bits of the TID in QoS Control (9.2.4.5.2).
const TID_BITS: u8 = 0xf;
/// The bit of the TID that user priorities do not use.
const CHECKED: u8 = TIDS;
/// Bits of the type in the first octet of a frame; management frames have type 0 (9.2.4.1.3).
pub const TYPE_BITS: u8 = 0xc;
const TYPE_AT: usize = 12;

/// Number of TIDs that a link uses: those of the user priorities (9.2.4.5.2).
pub const TIDS: u8 = 8;

/// The TID of a data frame, below [`TIDS`]. Each worker of an end has its own, which all frames of a flow share: a
/// receiver that assigns frames to threads by their TID keeps the order of every flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tid(pub u8);

impl Tid {
    /// The TID of a received frame. Management frames, which have none, count as TID 0.
    pub fn of(mpdu: &[u8]) -> Self {
        let is_management = mpdu.first().is_some_and(|octet| octet & TYPE_BITS == 0);
        match mpdu.get(QOS_AT) {
            Some(qos) if !is_management => Self(qos % TIDS),
            _ => Self(0),
        }
    }
}

/// LLC/SNAP as an address. If A-MSDU Present were flipped, a frame to this address would be parsed as an MSDU.
/// Such frames are neither sent nor accepted.
const LLC_AS_ADDRESS: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

/// Pads a management frame to at least `least_b` octets with vendor specific elements (9.4.2.25) of a type without
/// meaning. The result is a few octets longer if the missing length is less than one element.
pub fn fill(frame: &mut Vec<u8>, least_b: usize) {
    const TYPE_FILLING: u8 = 0;
    let [a, b, c] = OUI_LOCAL;
    while let Some(missing_b @ 1..) = least_b.checked_sub(frame.len()) {
        let mut body = vec![0; missing_b.saturating_sub(2).clamp(4, 255)];
        body[..4].copy_from_slice(&[a, b, c, TYPE_FILLING]);
        push_element(frame, ID_VENDOR, &body);
    }
}

/// An end of the link as the sender and receiver of frames.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Its side of the link.
    pub role: Role,
    /// Its address.
    pub address: MacAddr,
    /// The payload of its frames.
    pub kind: Kind,
}

impl End {
    /// The header of data frames to `peer` with TID 0, without the sequence number and the Protected bit.
    pub fn header(&self, peer: MacAddr) -> [u8; HEADER_B] {
        let bssid = match self.role {
            Role::Ap => self.address,
            Role::Sta => peer,
        };
        // The third address is the BSSID, both for an A-MSDU and for a single MSDU (Table 9-30): IP packets have no
        // other source or destination.
        self.header_of(peer, bssid, self.kind == Kind::Ethernet)
    }

    /// The header of an access point's data frames from `source` to all stations, as [`header`](Self::header).
    pub fn group_header(&self, group: MacAddr, source: MacAddr) -> [u8; HEADER_B] {
        self.header_of(group, source, false)
    }

    fn header_of(&self, receiver: MacAddr, addr3: MacAddr, is_amsdu: bool) -> [u8; HEADER_B] {
        let mut header = [0; HEADER_B];
        // Frames are not acknowledged.
        let written = DataHeader {
            to_ds: self.role == Role::Sta,
            from_ds: self.role == Role::Ap,
            addr1: receiver,
            addr2: self.address,
            addr3,
            qos: Some(QosControl::new(0, AckPolicy::NoAck).with_amsdu(is_amsdu)),
            ..DataHeader::default()
        }
        .emit(&mut header);
        assert_eq!(written, HEADER_B);
        header
    }

    /// Offset of the IP packet or Ethernet payload from the start of the MPDU, including LLC/SNAP.
    pub const fn payload_at(&self) -> usize {
        match self.kind {
            Kind::Ip => BODY_AT + LlcSnap::LEN,
            Kind::Ethernet => BODY_AT + ETHERNET_B + LlcSnap::LEN,
        }
    }

    /// The longest IP packet or Ethernet payload that fits into an MPDU of `mpdu_b` octets; `None` if none does.
    pub fn mtu_b(&self, mpdu_b: usize, mic_b: usize) -> Option<usize> {
        mpdu_b
            .checked_sub(self.payload_at() + mic_b)
            .filter(|&mtu_b| mtu_b > 0)
    }

    /// Classifies a received frame by its unverified headers, cheapest checks first.
    ///
    /// # Errors
    /// The reason to drop the frame.
    pub fn classify(&self, mpdu: &[u8]) -> Result<Class, Refusal> {
        let header = MacHeader::parse(mpdu).map_err(|error| match error {
            FrameError::Truncated { .. } => Refusal::Truncated,
            _ => Refusal::Header,
        })?;
        let (control, receiver, transmitter) =
            (header.frame_control(), header.receiver(), header.transmitter());
        let protected = control.has(FrameControl::PROTECTED);
        match control.frame_type() {
            FrameType::Data => {
                let direction = match self.role {
                    Role::Ap => FrameControl::TO_DS,
                    Role::Sta => FrameControl::FROM_DS,
                };
                let others = FrameControl::TO_DS
                    | FrameControl::FROM_DS
                    | FrameControl::MORE_FRAGMENTS
                    | FrameControl::HTC_ORDER;
                if !control.is_data_with_body() || !control.is_qos_data() || control.0 & others != direction {
                    return Err(Refusal::Header);
                }
                // An access point receives no group addressed frames: stations send them to its own address.
                let is_group = self.role == Role::Sta && receiver.is_group();
                if receiver != self.address && !is_group {
                    return Err(Refusal::NotForUs);
                }
                if is_group && header.addr3() == self.address {
                    return Err(Refusal::Echo);
                }
                if !protected && is_group {
                    return Err(Refusal::Unprotected);
                }
                if !protected {
                    let body = mpdu.get(HEADER_B..).ok_or(Refusal::Truncated)?;
                    return match LlcSnap::parse(body) {
                        Ok(LlcSnap {
                            ethertype: EtherType::EAPOL,
                        }) => Ok(Class::OpenEapol { transmitter }),
                        _ => Err(Refusal::Unprotected),
                    };
                }
                // The handshake of a rekey is an ordinary MSDU for both kinds of device.
                Ok(Class::Sealed {
                    transmitter,
                    is_group,
                })
            }
            FrameType::Management => {
                if receiver != self.address && !receiver.is_group() {
                    return Err(Refusal::NotForUs);
                }
                // Group keys protect data only (12.6.19).
                if protected && receiver.is_group() {
                    return Err(Refusal::Header);
                }
                Ok(if protected {
                    Class::Sealed {
                        transmitter,
                        is_group: false,
                    }
                } else {
                    Class::OpenManagement { transmitter }
                })
            }
            FrameType::Control | FrameType::Extension => Err(Refusal::Header),
        }
    }

    /// The payload of an authenticated data frame whose plaintext is `body`.
    ///
    /// # Errors
    /// [`Refusal::Body`].
    pub fn body<'a>(&self, amsdu: bool, body: &'a mut [u8]) -> Result<Body<'a>, Refusal> {
        if !amsdu {
            let LlcSnap { ethertype } = LlcSnap::parse(body).map_err(|_| Refusal::Body)?;
            let packet = &mut body[LlcSnap::LEN..];
            return match (ethertype, self.kind, packet.first().map(|octet| octet >> 4)) {
                (EtherType::EAPOL, ..) => Ok(Body::Eapol(packet)),
                (EtherType::IPV4, Kind::Ip, Some(4)) | (EtherType::IPV6, Kind::Ip, Some(6)) => {
                    Ok(Body::Packet {
                        ethernet_b: 0,
                        octets: packet,
                    })
                }
                _ => Err(Refusal::Body),
            };
        }
        if self.kind == Kind::Ip {
            return Err(Refusal::Body);
        }
        ethernet_of(body).map(|octets| Body::Packet {
            ethernet_b: ETHERNET_B,
            octets,
        })
    }

    /// The payload of an authenticated group addressed data frame whose plaintext is at `body`: the octets of the
    /// Ethernet header (14, or 0 for IP) and the complete packet or frame.
    ///
    /// # Errors
    /// [`Refusal::Body`].
    pub fn group_body<'a>(
        &self,
        mpdu: &'a mut [u8],
        body: Range<usize>,
    ) -> Result<(usize, &'a mut [u8]), Refusal> {
        if is_amsdu(mpdu) {
            return Err(Refusal::Body);
        }
        match self.kind {
            Kind::Ip => match self.body(false, &mut mpdu[body])? {
                Body::Packet { ethernet_b, octets } => Ok((ethernet_b, octets)),
                Body::Eapol(_) => Err(Refusal::Body),
            },
            Kind::Ethernet => group_ethernet_of(mpdu, body).map(|octets| (ETHERNET_B, octets)),
        }
    }
}

/// The class of a frame, before any verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A protected frame.
    Sealed {
        /// Claimed transmitter address.
        transmitter: MacAddr,
        /// Whether the receiver is a group, so that the frame is sealed under a group key.
        is_group: bool,
    },
    /// An unprotected EAPOL frame.
    OpenEapol {
        /// Claimed transmitter address.
        transmitter: MacAddr,
    },
    /// An unprotected management frame.
    OpenManagement {
        /// Claimed transmitter address.
        transmitter: MacAddr,
    },
}

/// Reason to drop a frame: its headers, or its plaintext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Shorter than its headers.
    Truncated,
    /// The protocol, frame type or direction is not one that this end receives.
    Header,
    /// The receiver address is another host's.
    NotForUs,
    /// A group addressed frame of this station, which the access point sent to all stations (10.3.6).
    Echo,
    /// An unprotected data frame.
    Unprotected,
    /// The plaintext is neither an IP packet nor an Ethernet frame of the link's kind.
    Body,
}

/// The content of a sealed data frame.
#[derive(Debug)]
pub enum Body<'a> {
    /// An IP packet or an Ethernet frame.
    Packet {
        /// Octets of the Ethernet header: 14, or 0 for IP.
        ethernet_b: usize,
        /// The complete packet or frame.
        octets: &'a mut [u8],
    },
    /// An EAPOL PDU.
    Eapol(&'a [u8]),
}

/// Writes the sequence number into the MAC header: the low bits of the packet number, so both rise together.
pub fn number(mpdu: &mut [u8], pn: PacketNumber) {
    #[allow(clippy::cast_possible_truncation)] // below 4096
    let number = (pn.get() % u64::from(SequenceControl::MODULUS)) as u16;
    let bits = SequenceControl { number, fragment: 0 }.bits();
    mpdu[SEQUENCE_AT..SEQUENCE_AT + 2].copy_from_slice(&bits.to_le_bytes());
}

/// Writes the TID into the MAC header, and whether the sender has computed the packet's TCP or UDP checksum. The MIC
/// covers both.
pub fn put_tid(mpdu: &mut [u8], tid: Tid, is_checked: bool) {
    let checked = if is_checked { CHECKED } else { 0 };
    mpdu[QOS_AT] = mpdu[QOS_AT] & !TID_BITS | tid.0 | checked;
}

/// Whether the sender of a data frame has computed the packet's TCP or UDP checksum.
pub fn is_checked(mpdu: &[u8]) -> bool {
    mpdu[QOS_AT] & CHECKED != 0
}

/// Whether the A-MSDU Present bit of a data frame is set.
pub fn is_amsdu(mpdu: &[u8]) -> bool {
    QosControl(u16::from_le_bytes([mpdu[QOS_AT], mpdu[QOS_AT + 1]])).amsdu_present()
}

/// The claimed packet number and key identifier of a frame.
///
/// # Errors
/// [`Refusal::Truncated`], [`Refusal::Header`].
pub fn claim(mpdu: &[u8]) -> Result<(PacketNumber, wlan_ciphers::KeyId), Refusal> {
    ccmp::peek(mpdu).map_err(|error| match error {
        OpenError::Short => Refusal::Truncated,
        _ => Refusal::Header,
    })
}

/// Writes the encapsulation of an MSDU with this length or type field: LLC/SNAP, or nothing if it is a length.
pub fn put_llc(body: &mut [u8], field: EtherType) {
    if llc_b(field) > 0 {
        LlcSnap { ethertype: field }.emit(body);
    }
}

/// Writes the encapsulation of a payload of `payload_b` octets whose Ethernet header is `ethernet`:
/// [`encapsulation_b`] octets.
///
/// ```text
///  octet  0    6    12       14          22
///         DA   SA   length   LLC/SNAP    payload       a type
///         DA   SA   length   payload                   a length, whose payload starts with LLC
/// ```
pub fn put_ethernet(body: &mut [u8], ethernet: &[u8; ETHERNET_B], payload_b: usize) {
    let before_b = encapsulation_b(ethernet);
    let length = u16::try_from(before_b - ETHERNET_B + payload_b).expect("an MSDU is shorter than 64 KiB");
    body[..TYPE_AT].copy_from_slice(&ethernet[..TYPE_AT]);
    body[TYPE_AT..ETHERNET_B].copy_from_slice(&length.to_be_bytes());
    put_llc(&mut body[ETHERNET_B..], EtherType(type_of(ethernet)));
}

/// The length or type field of an Ethernet header.
fn type_of(ethernet: &[u8; ETHERNET_B]) -> u16 {
    u16::from_be_bytes([ethernet[TYPE_AT], ethernet[TYPE_AT + 1]])
}

/// Octets between the cipher header and the payload of a frame with this Ethernet header.
pub fn encapsulation_b(ethernet: &[u8; ETHERNET_B]) -> usize {
    ETHERNET_B + llc_b(EtherType(type_of(ethernet)))
}

/// Octets of the LLC/SNAP header before a payload with this length or type field: none if it is a length.
pub const fn llc_b(field: EtherType) -> usize {
    if field.0 >= TYPES_FROM { LlcSnap::LEN } else { 0 }
}

/// Whether an Ethernet frame's destination could be mistaken for LLC/SNAP.
pub fn is_llc(ethernet: &[u8; ETHERNET_B]) -> bool {
    ethernet.starts_with(&LLC_AS_ADDRESS)
}

/// Converts an A-MSDU with one subframe to its Ethernet frame, in place.
fn ethernet_of(body: &mut [u8]) -> Result<&mut [u8], Refusal> {
    let header = body.first_chunk::<ETHERNET_B>().ok_or(Refusal::Body)?;
    let length = usize::from(type_of(header));
    // The last subframe of an A-MSDU has no padding (9.3.2.2.1).
    if ETHERNET_B + length != body.len() || is_llc(header) {
        return Err(Refusal::Body);
    }
    if !has_type(&body[ETHERNET_B..]) {
        return match u16::try_from(length) {
            Ok(length) if length < TYPES_FROM => Ok(body),
            _ => Err(Refusal::Body),
        };
    }
    // The type is already directly before the payload; only the addresses move.
    body.copy_within(..TYPE_AT, LlcSnap::LEN);
    Ok(&mut body[LlcSnap::LEN..])
}

/// Whether the payload of an MSDU starts with an LLC/SNAP header that has a type.
fn has_type(payload: &[u8]) -> bool {
    LlcSnap::parse(payload).is_ok_and(|llc| llc.ethertype.0 >= TYPES_FROM)
}

/// Converts a group addressed MSDU at `body` to its Ethernet frame, in place. Its addresses are in the MAC header.
fn group_ethernet_of(mpdu: &mut [u8], body: Range<usize>) -> Result<&mut [u8], Refusal> {
    let header = MacHeader::parse(mpdu).map_err(|_| Refusal::Header)?;
    let (destination, source) = (header.receiver(), header.addr3());
    let payload = &mpdu[body.clone()];
    let (at, field) = if has_type(payload) {
        (
            body.start + LlcSnap::LEN,
            [payload[LlcSnap::LEN - 2], payload[LlcSnap::LEN - 1]],
        )
    } else {
        match u16::try_from(payload.len()) {
            Ok(length) if length < TYPES_FROM => (body.start, length.to_be_bytes()),
            _ => return Err(Refusal::Body),
        }
    };
    let octets = &mut mpdu[at - ETHERNET_B..body.end];
    octets[..6].copy_from_slice(&destination.0);
    octets[6..TYPE_AT].copy_from_slice(&source.0);
    octets[TYPE_AT..ETHERNET_B].copy_from_slice(&field);
    Ok(octets)
}
