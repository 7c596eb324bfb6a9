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
use wlan_frames::beacon::{CAPABILITY_ESS, CAPABILITY_PRIVACY, CAPABILITY_QOS, elements, push_element};
use wlan_frames::management::{Body, Management, SaQuery};
use wlan_frames::rsn::{ID_VENDOR, OUI_LOCAL as OUI, RsnElement};
use wlan_rsn::Protocol;

use super::lease::Prefix;
use crate::plane::{Kind, wire};

/// Capability Information of all frames.
pub const CAPABILITY: u16 = CAPABILITY_ESS | CAPABILITY_PRIVACY | CAPABILITY_QOS;

const TYPE_LINK: u8 = 16;
const TYPE_COOKIE: u8 = 17;
const LINK_VERSION: u8 = 2;

const CATEGORY_VENDOR_PROTECTED: u8 = 126;
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
        frame.to_vec()
    }

    /// Builds a frame padded to [`QUESTION_B`].
    pub fn question(&mut self, da: MacAddr, bssid: MacAddr, body: Body<'_>) -> Vec<u8> {
        let mut frame = self.frame(da, bssid, body);
        wire::fill(&mut frame, QUESTION_B);
        frame
    }
}

/// The element of beacons and Probe Responses that says that the network is a link with this kind of device.
pub fn link(kind: Kind) -> Vec<u8> {
    let kind = match kind {
        Kind::Ip => 0,
        Kind::Ethernet => 1,
    };
    vendor(TYPE_LINK, &[LINK_VERSION, kind])
}

/// The kind of device of a link of this version that advertises itself by these elements.
pub fn kind_of(octets: &[u8]) -> Option<Kind> {
    own(octets, TYPE_LINK).find_map(|body| match body {
        [LINK_VERSION, 0, ..] => Some(Kind::Ip),
        [LINK_VERSION, 1, ..] => Some(Kind::Ethernet),
        _ => None,
    })
}

/// The cookie among these elements; empty if there is none.
pub fn cookie_of(octets: &[u8]) -> &[u8] {
    own(octets, TYPE_COOKIE).next().unwrap_or_default()
}

/// The bodies of the elements of this project with this type.
fn own(octets: &[u8], kind: u8) -> impl Iterator<Item = &[u8]> {
    let all = elements(octets).flatten().filter(|&(id, _)| id == ID_VENDOR);
    all.filter_map(move |(_, body)| body.strip_prefix(&OUI)?.strip_prefix(&[kind]))
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

/// The cookie element.
pub fn cookie(cookie: &[u8]) -> Vec<u8> {
    vendor(TYPE_COOKIE, cookie)
}

/// The elements of an Association Request that repeat those of an Authentication frame: the cookie.
pub fn repeated(octets: &[u8]) -> Vec<u8> {
    match cookie_of(octets) {
        [] => Vec::new(),
        octets => cookie(octets),
    }
}

fn vendor(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    push_element(&mut octets, ID_VENDOR, &[&OUI[..], &[kind], body].concat());
    octets
}

/// Content of a sealed Action frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protected {
    /// An SA Query.
    Query(SaQuery),
    /// Requests the station's addresses.
    AddressRequest(u8),
    /// Assigns these addresses.
    AddressResponse(u8, Vec<Prefix>),
}

impl Protected {
    /// The category and the octets after it.
    pub fn emit(&self) -> (u8, Vec<u8>) {
        let vendor = |kind: u8, token: u8| [&OUI[..], &[kind, token]].concat();
        match self {
            Protected::Query(query) => (SaQuery::CATEGORY, query.emit().to_vec()),
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
            (CATEGORY_VENDOR_PROTECTED, [a, b, c, kind, token, rest @ ..]) if [*a, *b, *c] == OUI => {
                match *kind {
                    ADDRESS_REQUEST => Some(Protected::AddressRequest(*token)),
                    ADDRESS_RESPONSE => Some(Protected::AddressResponse(*token, addresses(rest))),
                    _ => None,
                }
            }
            _ => SaQuery::parse(category, rest).map(Protected::Query),
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
            (any::<bool>(), any::<[u8; 2]>()).prop_map(|(is_request, transaction)| {
                Protected::Query(SaQuery {
                    is_request,
                    transaction,
                })
            }),
            any::<u8>().prop_map(Protected::AddressRequest),
            (any::<u8>(), proptest::collection::vec(address, 0..8))
                .prop_map(|(token, all)| Protected::AddressResponse(token, all)),
        ]
    }

    #[test]
    fn only_the_first_element_of_this_project_and_of_each_type_counts() {
        let element = |oui: [u8; 3], kind: u8, body: &[u8]| {
            let mut octets = Vec::new();
            push_element(&mut octets, ID_VENDOR, &[&oui[..], &[kind], body].concat());
            octets
        };
        let foreign = |kind: u8, body: &[u8]| element([0x00, 0x50, 0xf2], kind, body);
        let of_others = [
            foreign(TYPE_LINK, &[LINK_VERSION, 1]),
            foreign(TYPE_COOKIE, b"theirs"),
        ]
        .concat();
        assert_eq!((kind_of(&of_others), cookie_of(&of_others)), (None, &b""[..]));
        let ours = [
            element(OUI, TYPE_LINK, &[LINK_VERSION, 1]),
            element(OUI, TYPE_LINK, &[LINK_VERSION, 0]),
            element(OUI, TYPE_COOKIE, b"ours"),
            element(OUI, TYPE_COOKIE, b"forged"),
        ];
        let all = [of_others, ours.concat()].concat();
        assert_eq!(
            (kind_of(&all), cookie_of(&all)),
            (Some(Kind::Ethernet), &b"ours"[..])
        );
        let next_version = element(OUI, TYPE_LINK, &[LINK_VERSION + 1, 1]);
        assert_eq!(kind_of(&next_version), None);
        assert_eq!(kind_of(&[next_version, all].concat()), Some(Kind::Ethernet));
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
            let _ = (kind_of(&octets), cookie_of(&octets));
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
