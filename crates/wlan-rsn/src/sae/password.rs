//! Derivation of the password element (PWE) of two stations by both methods (IEEE 802.11-2020 12.4.4.2).

use std::fmt;

use wlan_frames::MacAddr;
use zeroize::Zeroizing;

use super::Method;
use crate::ecc::{self, Element, Group, MAX_FIELD_LEN};
use crate::hash::{Hash, Octets, octets};

/// Length in octets of the longest input of simplified SWU: 1.5 times the length of the prime.
const MAX_WIDE_LEN: usize = 99;
/// Minimum number of candidates that hunting-and-pecking tries: k (12.4.4.2.2).
const MIN_CANDIDATES: usize = 40;
/// Maximum length of an identifier in octets: the body of an element minus the element ID extension (9.4.2.1).
const MAX_IDENTIFIER_LEN: usize = 254;
const MAX_SSID_LEN: usize = 32;

/// The reason why a password is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PasswordError {
    /// The SSID is longer than 32 octets.
    #[error("an SSID has at most 32 octets, not {0} (IEEE 802.11-2020 9.4.2.2)")]
    Ssid(usize),
    /// The password is empty.
    #[error("the SAE password is empty")]
    Empty,
    /// The identifier is empty or longer than 254 octets.
    #[error("an SAE password identifier has 1 to 254 octets, not {0} (IEEE 802.11-2020 9.4.2.1)")]
    Identifier(usize),
}

/// A password of one network, with the secret element PT for each supported group. It is wiped when dropped and never
/// printed.
pub struct Password {
    octets: Zeroizing<Box<[u8]>>,
    identifier: Option<Box<[u8]>>,
    elements: Vec<(Group, Element)>,
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let identifier = self.identifier.as_deref().map(String::from_utf8_lossy);
        f.debug_struct("Password")
            .field("identifier", &identifier)
            .finish_non_exhaustive()
    }
}

impl Password {
    /// Creates the password `octets` of the network `ssid`, for use in `groups`. The secret elements are derived
    /// here, once for all exchanges. An `identifier` distinguishes several passwords and requires hash-to-element.
    /// The octets are up to the caller: UTF-8 by the OpaqueString profile of RFC 8265 for passwords that people type
    /// (12.4.3).
    ///
    /// # Errors
    /// [`PasswordError`].
    pub fn new(
        ssid: &[u8],
        octets: &[u8],
        identifier: Option<&[u8]>,
        groups: &[Group],
    ) -> Result<Password, PasswordError> {
        if ssid.len() > MAX_SSID_LEN {
            return Err(PasswordError::Ssid(ssid.len()));
        }
        if octets.is_empty() {
            return Err(PasswordError::Empty);
        }
        if let Some(identifier) = identifier
            && !(1..=MAX_IDENTIFIER_LEN).contains(&identifier.len())
        {
            return Err(PasswordError::Identifier(identifier.len()));
        }
        // Allocated at full size: a vector that grows would leave copies of secrets behind.
        let mut elements = Vec::with_capacity(groups.len());
        for &group in groups {
            let element = element_of(group, ssid, octets, identifier.unwrap_or_default());
            elements.extend(element.map(|element| (group, element)));
        }
        Ok(Password {
            octets: Zeroizing::new(octets.into()),
            identifier: identifier.map(Box::from),
            elements,
        })
    }

    /// The identifier by which a peer names the password.
    #[must_use]
    pub fn identifier(&self) -> Option<&[u8]> {
        self.identifier.as_deref()
    }

    /// The secret element PT of each group.
    #[cfg(test)]
    pub(crate) fn elements(&self) -> &[(Group, Element)] {
        &self.elements
    }

    /// The password element of two stations. Returns `None` if the password does not support the group or method, or
    /// if none of 255 candidates is a point (probability 2^-255 with hunting-and-pecking).
    pub(crate) fn element(&self, method: Method, group: Group, a: MacAddr, b: MacAddr) -> Option<Element> {
        let (_, element) = self.elements.iter().find(|(of, _)| *of == group)?;
        let mut addresses = [0; 12];
        addresses[..6].copy_from_slice(&a.max(b).0);
        addresses[6..].copy_from_slice(&a.min(b).0);
        match method {
            Method::HashToElement => {
                let hash = group.hash();
                let number = hash.hmac(&[0; 64][..hash.len()], &[&addresses]);
                ecc::multiply_by_number(group, element, &number)
            }
            Method::HuntingAndPecking if self.identifier.is_some() => None,
            Method::HuntingAndPecking => {
                let candidates = (1..=u8::MAX).map(|counter| self.candidate(group, &addresses, counter));
                ecc::first_point(group, MIN_CANDIDATES, &mut { candidates })
            }
        }
    }

    /// Computes pwd-value, and the parity of y from pwd-seed (12.4.4.2.2).
    fn candidate(&self, group: Group, addresses: &[u8; 12], counter: u8) -> (Octets<MAX_FIELD_LEN>, u8) {
        let seed = Hash::Sha256.hmac(addresses, &[&self.octets, &[counter]]);
        let mut value = octets(&[0; MAX_FIELD_LEN][..group.field_len()]);
        let (label, bits) = ("SAE Hunting and Pecking", group.field_bits());
        Hash::Sha256.kdf(&seed, label, &[group.prime()], bits, &mut value);
        // The 521-bit string is interpreted as a number, so the unused bits are shifted out on the right.
        let unused_bits = 8 * group.field_len() - usize::from(bits);
        if unused_bits > 0 {
            let mut above = 0;
            for octet in value.iter_mut() {
                let whole = *octet;
                *octet = above | whole >> unused_bits;
                above = whole << (8 - unused_bits);
            }
        }
        (value, seed[seed.len() - 1])
    }
}

/// The secret element PT (12.4.4.2.3).
fn element_of(group: Group, ssid: &[u8], password: &[u8], identifier: &[u8]) -> Option<Element> {
    let [u1, u2] = wide_numbers(group, ssid, password, identifier);
    ecc::map_and_add(group, &u1, &u2)
}

/// The values that are u1 and u2 after reduction modulo the prime.
fn wide_numbers(group: Group, ssid: &[u8], password: &[u8], identifier: &[u8]) -> [Octets<MAX_WIDE_LEN>; 2] {
    let hash = group.hash();
    let seed = hash.hmac(ssid, &[password, identifier]);
    [b"SAE Hash to Element u1 P1", b"SAE Hash to Element u2 P2"].map(|info| {
        let len = group.field_len() + group.field_len() / 2;
        let mut number = octets(&[0; MAX_WIDE_LEN][..len]);
        hash.expand(&seed, info, &mut number);
        number
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 12.4.4.2: only hash-to-element uses the identifier.
    #[test]
    fn a_password_with_an_identifier_has_no_element_by_hunting_and_pecking() {
        let (a, b) = (MacAddr([2; 6]), MacAddr([4; 6]));
        for identifier in [None, Some(&b"guests"[..])] {
            let password = Password::new(b"net", b"mekmitasdigoat", identifier, &[Group::P256]).unwrap();
            let element = |method| password.element(method, Group::P256, a, b);
            assert!(element(Method::HashToElement).is_some());
            assert_eq!(element(Method::HuntingAndPecking).is_some(), identifier.is_none());
        }
    }
}
