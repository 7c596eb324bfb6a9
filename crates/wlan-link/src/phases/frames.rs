//! The management frames of the phases: encoding and decoding.
//!
//! The elements of this project are vendor specific (IEEE Std 802.11-2020 9.4.2.25), with the locally administered
//! OUI 02-41-54, which its cipher suites also have, and a type:
//!
//! ```text
//!  type 0   padding, without meaning
//!  type 16  the link: octet 4 version (2), octet 5 kind of device (0 IP packets, 1 Ethernet frames)
//!  type 17  a cookie: 16 octets
//! ```
//! Action frames have category 126, Vendor-specific Protected (9.6.10), and are never accepted unprotected:
//!
//! ```text
//!  octet 0 OUI (3)   3 type: 1 address request, 2 address response   4 dialog token
//!        5 for type 2, per address: prefix length (1), octets in the address: 4 or 16 (1), the address
//! ```

use std::net::IpAddr;

use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_frames::beacon::{
    Beacon, CAPABILITY_ESS, CAPABILITY_PRIVACY, CAPABILITY_QOS, ID_SSID, elements, push_element,
};
use wlan_frames::management::{Body, Management};
use wlan_frames::rsn::{ID_RSN, ID_RSNX, ID_VENDOR, OUI_LOCAL as OUI, RsnElement};
use wlan_rsn::{Elements, Protocol};

use super::lease::Prefix;
use super::pace;
use crate::plane::{Kind, wire};

/// Capability Information of all frames.
pub const CAPABILITY: u16 = CAPABILITY_ESS | CAPABILITY_PRIVACY | CAPABILITY_QOS;

/// Status codes (Table 9-50).
pub mod status {
    pub use wlan_frames::management::STATUS_SUCCESS as SUCCESS;
    /// The authentication algorithm is not supported.
    pub const UNSUPPORTED_ALGORITHM: u16 = 13;
    /// The access point has no capacity for another station.
    pub const FULL: u16 = 17;
    /// Refused temporarily: an SA Query checks the existing session of this address.
    pub const REFUSED_TEMPORARILY: u16 = 30;
    /// The request was declined.
    pub const DECLINED: u16 = 37;
    /// The group is not supported.
    pub const UNSUPPORTED_GROUP: u16 = 77;
    /// Invalid PMKID: the authentication that the association requires is missing.
    pub const NOT_AUTHENTICATED: u16 = 53;
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
    /// IEEE 802.1X authentication failed.
    pub const AUTHENTICATION: u16 = 23;
    /// The 4-way handshake timed out; sent if the MIC of message 2 was wrong.
    pub const HANDSHAKE: u16 = 15;
}

const ID_TIMEOUT_INTERVAL: u8 = 56;
/// Timeout Interval type: association comeback time, in time units (9.4.2.48).
const COMEBACK: u8 = 3;

const TYPE_LINK: u8 = 16;
const TYPE_COOKIE: u8 = 17;
const LINK_VERSION: u8 = 2;

const CATEGORY_SA_QUERY: u8 = 8;
const CATEGORY_VENDOR_PROTECTED: u8 = 126;
const SA_QUERY_REQUEST: u8 = 0;
const SA_QUERY_RESPONSE: u8 = 1;
const ADDRESS_REQUEST: u8 = 1;
const ADDRESS_RESPONSE: u8 = 2;

/// Minimum length of unprotected requests, so that no answer is longer than its request.
pub const QUESTION_B: usize = 320;

/// Builds the frames of one end, with increasing sequence numbers.
#[derive(Debug)]
pub struct Writer {
    own: MacAddr,
    sequence: u16,
}

impl Writer {
    /// A writer for the end with this address.
    pub fn new(own: MacAddr) -> Self {
        Self { own, sequence: 0 }
    }

    fn number(&mut self) -> u16 {
        self.sequence = (self.sequence + 1) % 4096;
        self.sequence
    }

    /// Builds a frame to `da` in the BSS `bssid`.
    pub fn frame(&mut self, da: MacAddr, bssid: MacAddr, body: Body<'_>) -> Vec<u8> {
        let frame = Management {
            da,
            sa: self.own,
            bssid,
            sequence: self.number(),
            retry: false,
            protected: false,
            body,
        };
        let mut octets = vec![0; frame.len()];
        frame.emit(&mut octets);
        octets
    }

    /// Builds a frame padded to [`QUESTION_B`].
    pub fn question(&mut self, da: MacAddr, bssid: MacAddr, body: Body<'_>) -> Vec<u8> {
        let mut frame = self.frame(da, bssid, body);
        wire::fill(&mut frame, QUESTION_B);
        frame
    }

    /// Builds an Authentication frame with this SAE body.
    pub fn sae(&mut self, da: MacAddr, bssid: MacAddr, body: &[u8]) -> Option<Vec<u8>> {
        Some(self.frame(da, bssid, Body::authentication(body).ok()?))
    }

    /// Builds a beacon.
    pub fn beacon(&mut self, timestamp_us: u64, interval_tu: u16, elements: &[u8]) -> Vec<u8> {
        let beacon = Beacon {
            bssid: self.own,
            sequence: self.number(),
            timestamp_us,
            interval_tu,
            capability: CAPABILITY,
            elements,
        };
        let mut octets = vec![0; beacon.len()];
        beacon.emit(&mut octets);
        octets
    }
}

/// The elements of beacons and probe responses.
pub fn advertisement(ssid: &[u8], kind: Kind, advertised: &Elements) -> Vec<u8> {
    let mut octets = identity(ssid, advertised);
    let kind = match kind {
        Kind::Ip => 0,
        Kind::Ethernet => 1,
    };
    vendor(&mut octets, TYPE_LINK, &[LINK_VERSION, kind]);
    octets
}

/// The SSID, RSN and RSNX elements.
fn identity(ssid: &[u8], security: &Elements) -> Vec<u8> {
    let mut octets = Vec::new();
    push_element(&mut octets, ID_SSID, ssid);
    octets.extend_from_slice(&security.rsn);
    octets.extend_from_slice(&security.rsnx);
    octets
}

/// The elements of a received frame.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Advertised {
    /// SSID; empty in a wildcard Probe Request.
    pub ssid: Vec<u8>,
    /// RSN and RSNX elements.
    pub elements: Elements,
    /// Kind of device, if the network is a link.
    pub kind: Option<Kind>,
    /// Cookie; empty if the frame has no cookie.
    pub cookie: Vec<u8>,
    /// Association comeback time, in time units.
    pub comeback_tu: Option<u32>,
}

impl Advertised {
    /// Parses elements. The first element of each kind is used; unknown elements are ignored (9.4.3).
    pub fn read(octets: &[u8]) -> Self {
        let mut found = Self::default();
        let mut seen_ssid = false;
        for (id, body) in elements(octets).flatten() {
            let whole = || [&[id, u8::try_from(body.len()).unwrap_or(u8::MAX)], body].concat();
            match (id, body) {
                (ID_SSID, name) if !seen_ssid && name.len() <= 32 => {
                    seen_ssid = true;
                    found.ssid = name.to_vec();
                }
                (ID_RSN, _) if found.elements.rsn.is_empty() => found.elements.rsn = whole(),
                (ID_RSNX, _) if found.elements.rsnx.is_empty() => found.elements.rsnx = whole(),
                (ID_VENDOR, [a, b, c, kind, body @ ..]) if [*a, *b, *c] == OUI => match (*kind, body) {
                    (TYPE_LINK, [LINK_VERSION, 0, ..]) => found.kind = Some(Kind::Ip),
                    (TYPE_LINK, [LINK_VERSION, 1, ..]) => found.kind = Some(Kind::Ethernet),
                    (TYPE_COOKIE, cookie) => found.cookie = cookie.to_vec(),
                    _ => {}
                },
                (ID_TIMEOUT_INTERVAL, &[COMEBACK, a, b, c, d]) => {
                    found.comeback_tu = Some(u32::from_le_bytes([a, b, c, d]));
                }
                _ => {}
            }
        }
        found
    }
}

/// The group cipher and the pairwise ciphers of an RSN element.
pub fn ciphers_of(rsn: &[u8]) -> Option<(Suite, Vec<Suite>)> {
    let element = RsnElement::parse(rsn).ok()?;
    let pairwise = element
        .pairwise?
        .iter()
        .filter_map(|&suite| Protocol::Rsn.cipher(suite));
    Some((Protocol::Rsn.cipher(element.group?)?, pairwise.collect()))
}

/// The body of a Deauthentication frame.
pub fn deauthentication(reason: u16) -> Body<'static> {
    Body::Deauthentication {
        reason,
        elements: &[],
    }
}

/// The elements of an Association Request.
pub fn request(ssid: &[u8], chosen: &Elements, cookie: &[u8], dh: &[u8]) -> Vec<u8> {
    let mut octets = identity(ssid, chosen);
    octets.extend_from_slice(dh);
    if !cookie.is_empty() {
        vendor(&mut octets, TYPE_COOKIE, cookie);
    }
    octets
}

/// The cookie element.
pub fn cookie(cookie: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    vendor(&mut octets, TYPE_COOKIE, cookie);
    octets
}

/// The Timeout Interval element with the association comeback time.
pub fn comeback() -> Vec<u8> {
    let mut octets = Vec::new();
    let [a, b, c, d] = pace::SILENT_AFTER_TU.to_le_bytes();
    push_element(&mut octets, ID_TIMEOUT_INTERVAL, &[COMEBACK, a, b, c, d]);
    octets
}

fn vendor(octets: &mut Vec<u8>, kind: u8, body: &[u8]) {
    push_element(octets, ID_VENDOR, &[&OUI[..], &[kind], body].concat());
}

/// Content of a sealed Action frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protected {
    /// SA Query Request (9.6.9.2).
    QueryRequest(u16),
    /// SA Query Response (9.6.9.3).
    QueryResponse(u16),
    /// Requests the station's addresses.
    AddressRequest(u8),
    /// Assigns these addresses.
    AddressResponse(u8, Vec<Prefix>),
}

impl Protected {
    /// The category and the octets after it.
    pub fn emit(&self) -> (u8, Vec<u8>) {
        let query = |action: u8, transaction: u16| {
            let [a, b] = transaction.to_le_bytes();
            (CATEGORY_SA_QUERY, vec![action, a, b])
        };
        let vendor = |kind: u8, token: u8| [&OUI[..], &[kind, token]].concat();
        match self {
            Protected::QueryRequest(transaction) => query(SA_QUERY_REQUEST, *transaction),
            Protected::QueryResponse(transaction) => query(SA_QUERY_RESPONSE, *transaction),
            Protected::AddressRequest(token) => (CATEGORY_VENDOR_PROTECTED, vendor(ADDRESS_REQUEST, *token)),
            Protected::AddressResponse(token, addresses) => {
                let mut octets = vendor(ADDRESS_RESPONSE, *token);
                for Prefix { address, bits } in addresses {
                    match address {
                        IpAddr::V4(v4) => {
                            octets.extend([*bits, 4]);
                            octets.extend(v4.octets());
                        }
                        IpAddr::V6(v6) => {
                            octets.extend([*bits, 16]);
                            octets.extend(v6.octets());
                        }
                    }
                }
                (CATEGORY_VENDOR_PROTECTED, octets)
            }
        }
    }

    /// Parses the octets after the category. Padding may follow.
    pub fn parse(category: u8, rest: &[u8]) -> Option<Self> {
        match (category, rest) {
            (CATEGORY_SA_QUERY, [action, a, b, ..]) => {
                let transaction = u16::from_le_bytes([*a, *b]);
                match *action {
                    SA_QUERY_REQUEST => Some(Protected::QueryRequest(transaction)),
                    SA_QUERY_RESPONSE => Some(Protected::QueryResponse(transaction)),
                    _ => None,
                }
            }
            (CATEGORY_VENDOR_PROTECTED, [a, b, c, kind, token, rest @ ..]) if [*a, *b, *c] == OUI => {
                match *kind {
                    ADDRESS_REQUEST => Some(Protected::AddressRequest(*token)),
                    ADDRESS_RESPONSE => Some(Protected::AddressResponse(*token, addresses(rest))),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

fn addresses(mut octets: &[u8]) -> Vec<Prefix> {
    let mut found = Vec::new();
    while let [bits, len, rest @ ..] = octets {
        let (address, rest): (IpAddr, _) = match len {
            4 => match rest.split_first_chunk::<4>() {
                Some((address, rest)) => ((*address).into(), rest),
                None => break,
            },
            16 => match rest.split_first_chunk::<16>() {
                Some((address, rest)) => ((*address).into(), rest),
                None => break,
            },
            _ => break,
        };
        let prefix = Prefix { address, bits: *bits };
        if prefix.network().is_some() {
            found.push(prefix);
        }
        octets = rest;
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn protected() -> impl Strategy<Value = Protected> {
        let address = prop_oneof![
            (any::<[u8; 4]>(), 0_u8..=32).prop_map(|(a, bits)| Prefix {
                address: a.into(),
                bits
            }),
            (any::<[u8; 16]>(), 0_u8..=128).prop_map(|(a, bits)| Prefix {
                address: a.into(),
                bits
            }),
        ];
        prop_oneof![
            any::<u16>().prop_map(Protected::QueryRequest),
            any::<u16>().prop_map(Protected::QueryResponse),
            any::<u8>().prop_map(Protected::AddressRequest),
            (any::<u8>(), proptest::collection::vec(address, 0..8))
                .prop_map(|(token, all)| Protected::AddressResponse(token, all)),
        ]
    }

    #[test]
    fn only_the_first_valid_element_of_each_kind_counts() {
        let element = |id: u8, body: &[u8]| {
            let mut octets = Vec::new();
            push_element(&mut octets, id, body);
            octets
        };
        let own = |kind: u8, body: &[u8]| element(ID_VENDOR, &[&OUI[..], &[kind], body].concat());
        let foreign = |kind: u8, body: &[u8]| element(ID_VENDOR, &[&[0x00, 0x50, 0xf2, kind], body].concat());
        let read = |all: &[Vec<u8>]| Advertised::read(&all.concat());

        let names = [&[b'x'; 33][..], b"first", b"second"].map(|name| element(ID_SSID, name));
        assert_eq!(read(&names).ssid, b"first");
        assert_eq!(
            read(&[element(ID_SSID, b""), element(ID_SSID, b"second")]).ssid,
            b""
        );
        let security = [(ID_RSN, 1), (ID_RSN, 2), (ID_RSNX, 3), (ID_RSNX, 4)];
        let found = read(&security.map(|(id, octet)| element(id, &[octet])));
        assert_eq!(found.elements.rsn, [ID_RSN, 1, 1]);
        assert_eq!(found.elements.rsnx, [ID_RSNX, 1, 3]);

        let of_others = [
            foreign(TYPE_LINK, &[LINK_VERSION, 1]),
            foreign(TYPE_COOKIE, b"theirs"),
        ];
        assert_eq!(read(&of_others), Advertised::default());
        let ours = read(&[own(TYPE_LINK, &[LINK_VERSION, 1]), own(TYPE_COOKIE, b"ours")]);
        assert_eq!(
            (ours.kind, &ours.cookie[..]),
            (Some(Kind::Ethernet), &b"ours"[..])
        );
        assert_eq!(read(&[own(TYPE_LINK, &[LINK_VERSION + 1, 1])]).kind, None);
    }

    #[test]
    fn the_comeback_time_is_a_timeout_interval_element() {
        let [a, b, c, d] = pace::SILENT_AFTER_TU.to_le_bytes();
        assert_eq!(comeback(), [56, 5, 3, a, b, c, d]);
        assert_eq!(
            Advertised::read(&comeback()).comeback_tu,
            Some(pace::SILENT_AFTER_TU)
        );
        let reassociation_deadline = [56, 5, 1, a, b, c, d];
        assert_eq!(Advertised::read(&reassociation_deadline).comeback_tu, None);
    }

    #[test]
    fn a_protected_frame_of_another_vendor_is_ignored() {
        let (category, mut octets) = Protected::AddressRequest(7).emit();
        assert!(Protected::parse(category, &octets).is_some());
        octets[2] ^= 1;
        assert_eq!(Protected::parse(category, &octets), None);
    }

    #[test]
    fn sequence_numbers_count_modulo_4096() {
        let mut writer = Writer::new(MacAddr([2; 6]));
        let mut next = || {
            let octets = writer.frame(MacAddr([4; 6]), MacAddr([4; 6]), deauthentication(3));
            Management::parse(&octets).unwrap().sequence
        };
        let numbers: Vec<u16> = (0..4097).map(|_| next()).collect();
        let expected: Vec<u16> = (1..4096).chain([0, 1]).collect();
        assert_eq!(numbers, expected);
    }

    #[test]
    fn a_beacon_has_its_time_and_the_capabilities_of_a_protected_bss_with_qos() {
        let octets = Writer::new(MacAddr([2; 6])).beacon(0x0102_0304_0506_0708, 1000, b"");
        let fixed = [8, 7, 6, 5, 4, 3, 2, 1, 0xe8, 0x03, 0x11, 0x02];
        assert_eq!(octets[24..], fixed);
    }

    proptest! {
        #[test]
        fn control_messages_roundtrip(said in protected()) {
            let (category, mut rest) = said.emit();
            prop_assert_eq!(Protected::parse(category, &rest), Some(said.clone()));
            // Ethernet requires a minimum length: an element without meaning.
            let filled_b = rest.len() + 15;
            wire::fill(&mut rest, filled_b);
            prop_assert_eq!(Protected::parse(category, &rest), Some(said));
        }

        #[test]
        fn arbitrary_octets_never_panic(octets in proptest::collection::vec(any::<u8>(), 0..200), category: u8) {
            let _ = Protected::parse(category, &octets);
            let _ = Protected::parse(CATEGORY_VENDOR_PROTECTED, &[&[2, 0x41, 0x54, 2, 0], &octets[..]].concat());
            let _ = Advertised::read(&octets);
            let _ = ciphers_of(&octets);
        }

        #[test]
        fn a_request_is_as_long_as_its_longest_answer(rest in proptest::collection::vec(any::<u8>(), 0..250)) {
            let body = Body::Authentication { algorithm: 0, transaction: 1, status: 0, rest: &rest };
            let frame = Writer::new(MacAddr([2; 6])).question(MacAddr([4; 6]), MacAddr([4; 6]), body);
            prop_assert!((QUESTION_B..QUESTION_B + 6).contains(&frame.len()));
        }
    }
}
