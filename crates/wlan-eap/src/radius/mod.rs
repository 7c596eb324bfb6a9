//! RADIUS packets that carry EAP (RFC 2865, RFC 3579), the keys in them (RFC 2548), and the client.
//!
//! ```text
//!  octet 0 code   1 identifier   2 length (2)   4 authenticator (16)   20 attributes: type, length, value
//! ```
//! Every packet carries a Message-Authenticator, and a response without one is refused (RFC 3579 section 3.2). It comes
//! first in a request, so that a server that checks this order accepts it.

mod client;
mod keys;

use hmac::{Hmac, KeyInit, Mac};
use md5::{Digest, Md5};
use subtle::ConstantTimeEq;

use crate::Secret;

pub(crate) use client::printable;
pub use client::{Client, Event, Station, Timing};

const HEADER_LEN: usize = 20;
const AUTHENTICATOR_AT: usize = 4;
/// Maximum octets in a packet (RFC 2865 section 3).
pub const MAX_LEN: usize = 4096;
/// Maximum octets in the value of an attribute.
const VALUE_LEN: usize = 253;

const ACCESS_REQUEST: u8 = 1;
const ACCESS_ACCEPT: u8 = 2;
const ACCESS_REJECT: u8 = 3;
const ACCESS_CHALLENGE: u8 = 11;

/// Types of attributes (RFC 2865, RFC 2869, RFC 3579).
mod attribute {
    pub(super) const USER_NAME: u8 = 1;
    pub(super) const SERVICE_TYPE: u8 = 6;
    pub(super) const FRAMED_MTU: u8 = 12;
    pub(super) const REPLY_MESSAGE: u8 = 18;
    pub(super) const STATE: u8 = 24;
    pub(super) const VENDOR: u8 = 26;
    pub(super) const SESSION_TIMEOUT: u8 = 27;
    pub(super) const CALLED_STATION_ID: u8 = 30;
    pub(super) const CALLING_STATION_ID: u8 = 31;
    pub(super) const NAS_IDENTIFIER: u8 = 32;
    pub(super) const NAS_PORT_TYPE: u8 = 61;
    pub(super) const EAP_MESSAGE: u8 = 79;
    pub(super) const MESSAGE_AUTHENTICATOR: u8 = 80;
}

/// The kind of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The station is authenticated.
    Accept,
    /// The station is refused.
    Reject,
    /// The server continues the conversation.
    Challenge,
}

/// The attributes of a packet under construction.
#[derive(Debug, Default)]
struct Attributes(Vec<u8>);

impl Attributes {
    /// Adds an attribute, of at most 253 octets.
    fn push(&mut self, kind: u8, value: &[u8]) {
        let value = &value[..value.len().min(VALUE_LEN)];
        let length = u8::try_from(value.len() + 2).expect("at most 255 octets");
        self.0.extend([kind, length]);
        self.0.extend_from_slice(value);
    }

    /// Adds an EAP packet, in as many attributes as it requires (RFC 3579 section 3.1).
    fn push_eap(&mut self, packet: &[u8]) {
        packet
            .chunks(VALUE_LEN)
            .for_each(|part| self.push(attribute::EAP_MESSAGE, part));
    }
}

/// Builds an Access-Request. `None` if it would be too long.
fn request(
    identifier: u8,
    authenticator: &[u8; 16],
    attributes: &Attributes,
    secret: &Secret,
) -> Option<Vec<u8>> {
    let mut signed = Attributes::default();
    signed.push(attribute::MESSAGE_AUTHENTICATOR, &[0; 16]);
    let len = HEADER_LEN + signed.0.len() + attributes.0.len();
    if len > MAX_LEN {
        return None;
    }
    let [high, low] = u16::try_from(len).ok()?.to_be_bytes();
    let header = [&[ACCESS_REQUEST, identifier, high, low], &authenticator[..]].concat();
    let mut packet = [&header[..], &signed.0, &attributes.0].concat();
    let sum = message_authenticator(&packet, secret);
    packet[HEADER_LEN + 2..][..16].copy_from_slice(&sum);
    Some(packet)
}

fn message_authenticator(packet: &[u8], secret: &Secret) -> [u8; 16] {
    let mut mac = Hmac::<Md5>::new_from_slice(secret.as_octets()).expect("HMAC takes any key");
    mac.update(packet);
    mac.finalize().into_bytes().into()
}

/// An authentic response.
#[derive(Debug)]
struct Response<'a> {
    code: Code,
    attributes: &'a [u8],
}

impl<'a> Response<'a> {
    /// The identifier that a packet claims.
    fn identifier(octets: &[u8]) -> Option<u8> {
        octets.get(1).copied()
    }

    /// Parses the response to the request with this authenticator. `None` if it is malformed or was not made with the
    /// shared secret: its Response Authenticator (RFC 2865 section 3) or its Message-Authenticator is wrong or missing.
    fn parse(octets: &'a [u8], request: &[u8; 16], secret: &Secret) -> Option<Response<'a>> {
        let &[code, _, high, low] = octets.first_chunk()?;
        let octets = octets.get(..usize::from(u16::from_be_bytes([high, low])))?;
        if octets.len() > MAX_LEN {
            return None;
        }
        let (header, attributes) = octets.split_at_checked(HEADER_LEN)?;
        let code = match code {
            ACCESS_ACCEPT => Code::Accept,
            ACCESS_REJECT => Code::Reject,
            ACCESS_CHALLENGE => Code::Challenge,
            _ => return None,
        };
        let sum = Md5::new()
            .chain_update(&header[..AUTHENTICATOR_AT])
            .chain_update(request)
            .chain_update(attributes)
            .chain_update(secret.as_octets())
            .finalize();
        if !bool::from(sum.as_slice().ct_eq(&header[AUTHENTICATOR_AT..])) {
            return None;
        }
        // All attributes must be whole, and exactly one of them must be a Message-Authenticator.
        let mut signed = None;
        let mut at = HEADER_LEN;
        for one in each(attributes) {
            let (kind, value) = one?;
            at += 2;
            if kind == attribute::MESSAGE_AUTHENTICATOR && signed.replace((at, value)).is_some() {
                return None;
            }
            at += value.len();
        }
        let (at, told) = signed.filter(|(_, value)| value.len() == 16)?;
        let mut unsigned = octets.to_vec();
        unsigned[AUTHENTICATOR_AT..HEADER_LEN].copy_from_slice(request);
        unsigned[at..at + 16].fill(0);
        let is_authentic = bool::from(message_authenticator(&unsigned, secret).ct_eq(told));
        is_authentic.then_some(Response { code, attributes })
    }

    /// The values of all attributes of a type.
    fn all(&self, kind: u8) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        each(self.attributes)
            .flatten()
            .filter(move |(found, _)| *found == kind)
            .map(|(_, value)| value)
    }

    /// The EAP packet, if the packet has one.
    fn eap(&self) -> Option<Vec<u8>> {
        Some(self.all(attribute::EAP_MESSAGE).collect::<Vec<_>>().concat())
            .filter(|packet| !packet.is_empty())
    }
}

/// The attributes: types and values. `None` ends the iteration where the attributes are malformed.
fn each(mut octets: &[u8]) -> impl Iterator<Item = Option<(u8, &[u8])>> {
    std::iter::from_fn(move || {
        if octets.is_empty() {
            return None;
        }
        let Some((&[kind, length], rest)) = octets.split_first_chunk() else {
            octets = &[];
            return Some(None);
        };
        let Some((value, after)) = usize::from(length)
            .checked_sub(2)
            .and_then(|length| rest.split_at_checked(length))
        else {
            octets = &[];
            return Some(None);
        };
        octets = after;
        Some(Some((kind, value)))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zeroize::Zeroizing;

    use super::*;

    pub(super) fn secret(text: &str) -> Secret {
        Secret::new(Zeroizing::new(text.as_bytes().to_vec()))
    }

    /// The response of a server.
    pub(super) fn answer(
        code: u8,
        identifier: u8,
        request: &[u8; 16],
        attributes: &[(u8, &[u8])],
        key: &Secret,
    ) -> Vec<u8> {
        let mut built = Attributes::default();
        built.push(attribute::MESSAGE_AUTHENTICATOR, &[0; 16]);
        for (kind, value) in attributes {
            built.push(*kind, value);
        }
        let [high, low] = u16::try_from(HEADER_LEN + built.0.len()).unwrap().to_be_bytes();
        let mut packet = [&[code, identifier, high, low], &request[..], &built.0].concat();
        let sum = message_authenticator(&packet, key);
        packet[HEADER_LEN + 2..][..16].copy_from_slice(&sum);
        let sum = Md5::new()
            .chain_update(&packet)
            .chain_update(key.as_octets())
            .finalize();
        packet[AUTHENTICATOR_AT..HEADER_LEN].copy_from_slice(&sum);
        packet
    }

    /// RFC 2865 section 7.1: the Response Authenticator. The example has no Message-Authenticator, so it is refused, but
    /// its authenticator agrees.
    #[test]
    fn the_response_authenticator_agrees_with_the_rfc_and_a_response_without_message_authenticator_is_refused()
     {
        let request = *b"\x0f\x40\x3f\x94\x73\x97\x80\x57\xbd\x83\xd5\xcb\x98\xf4\x22\x7a";
        let response = b"\x02\x00\x00\x26\x86\xfe\x22\x0e\x76\x24\xba\x2a\x10\x05\xf6\xbf\x9b\x55\xe0\xb2\
            \x06\x06\x00\x00\x00\x01\x0f\x06\x00\x00\x00\x00\x0e\x06\xc0\xa8\x01\x03";
        let sum = Md5::new()
            .chain_update(&response[..4])
            .chain_update(request)
            .chain_update(&response[20..])
            .chain_update("xyzzy5461")
            .finalize();
        assert_eq!(sum.as_slice(), &response[4..20]);
        assert!(Response::parse(response, &request, &secret("xyzzy5461")).is_none());
    }

    #[test]
    fn only_an_unchanged_response_with_the_shared_secret_is_accepted() {
        let request = [7; 16];
        let key = secret("shared");
        let attributes: [(u8, &[u8]); 2] = [
            (attribute::STATE, b"state"),
            (attribute::EAP_MESSAGE, &[3, 1, 0, 4]),
        ];
        let packet = answer(ACCESS_ACCEPT, 5, &request, &attributes, &key);
        let found = Response::parse(&packet, &request, &key).unwrap();
        assert_eq!(found.code, Code::Accept);
        assert_eq!(found.eap(), Some(vec![3, 1, 0, 4]));
        assert!(found.all(attribute::STATE).eq([&b"state"[..]]));
        assert!(
            Response::parse(&packet, &[8; 16], &key).is_none(),
            "another request"
        );
        assert!(Response::parse(&packet, &request, &secret("other")).is_none());
        for at in 0..packet.len() {
            let mut changed = packet.clone();
            changed[at] ^= 1;
            assert!(Response::parse(&changed, &request, &key).is_none(), "octet {at}");
        }
    }

    #[test]
    fn a_long_eap_packet_is_split_into_attributes() {
        let packet: Vec<u8> = (0..600).map(|at| (at % 251) as u8).collect();
        let mut attributes = Attributes::default();
        attributes.push_eap(&packet);
        let lengths: Vec<usize> = each(&attributes.0)
            .flatten()
            .map(|(_, value)| value.len())
            .collect();
        assert_eq!(lengths, [253, 253, 94]);
        let response = Response {
            code: Code::Challenge,
            attributes: &attributes.0,
        };
        assert_eq!(response.eap(), Some(packet));
    }

    proptest! {
        #[test]
        fn any_octets_are_parsed_or_refused(octets: Vec<u8>, request: [u8; 16]) {
            prop_assert!(Response::parse(&octets, &request, &secret("x")).is_none());
            let total: usize = each(&octets).flatten().map(|(_, value)| value.len() + 2).sum();
            prop_assert!(total <= octets.len());
        }
    }
}
