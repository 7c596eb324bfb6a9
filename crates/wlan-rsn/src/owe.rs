//! OWE: a Diffie-Hellman exchange within the association, which encrypts an open network (RFC 8110). It protects
//! against eavesdroppers but does not authenticate the peer.
//!
//! ```text
//!  DH Parameter element   octet 0 element ID: 255   1 length   2 extension: 32   3 group (2)   5 public key
//! ```
//! The station sends its element in the Association Request. The access point answers with its own in the Association
//! Response. Both frames carry an RSN element with the AKM OWE. The public key is the x of a point. The association
//! procedure retransmits lost frames; [`AccessPoint`] gives the same answer to the same request.

use std::collections::BTreeMap;
use std::fmt;

use rand_core::CryptoRng;
use wlan_frames::beacon::{elements, push_element};
use wlan_frames::{FrameError, MacAddr};

use crate::ecc::{self, Scalar};
use crate::{Group, Peer, Pmk};

const ELEMENT_ID_EXTENSION: u8 = 255;
const DH_PARAMETER: u8 = 32;

/// The reason why there is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OweError {
    /// The element is malformed.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The group is unsupported. The response has status 77, UNSUPPORTED_FINITE_CYCLIC_GROUP (IEEE 802.11-2020
    /// 9.4.1.9).
    #[error("unsupported OWE group {0} (RFC 8110 section 4.3)")]
    Group(u16),
    /// The public key is invalid: its length is wrong, or no point has this x.
    #[error("the OWE public key is not valid in its group (RFC 8110 section 4.3)")]
    PublicKey,
}

impl OweError {
    /// The status code of the Association Response that reports this error (9.4.1.9).
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            OweError::Group(_) => 77,
            OweError::Frame(_) | OweError::PublicKey => 1,
        }
    }
}

/// The Diffie-Hellman Parameter element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DhParameter<'a> {
    /// Number of the group.
    pub group: u16,
    /// The public key.
    pub public_key: &'a [u8],
}

impl<'a> DhParameter<'a> {
    /// Finds the element among the elements of an association frame.
    ///
    /// # Errors
    /// [`FrameError`] if an element is truncated, or no DH Parameter element contains a group.
    pub fn find(octets: &'a [u8]) -> Result<DhParameter<'a>, FrameError> {
        for element in elements(octets) {
            if let (ELEMENT_ID_EXTENSION, [DH_PARAMETER, low, high, public_key @ ..]) = element? {
                return Ok(DhParameter {
                    group: u16::from_le_bytes([*low, *high]),
                    public_key,
                });
            }
        }
        Err(FrameError::Field(
            "missing Diffie-Hellman Parameter element (RFC 8110 section 4.3)",
        ))
    }

    /// Encodes the element.
    ///
    /// # Panics
    /// If the public key is longer than 252 octets.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let [low, high] = self.group.to_le_bytes();
        let mut element = Vec::with_capacity(5 + self.public_key.len());
        let body = [&[DH_PARAMETER, low, high], self.public_key].concat();
        push_element(&mut element, ELEMENT_ID_EXTENSION, &body);
        element
    }
}

/// A key pair for one association. The secret is wiped when dropped and never printed.
struct KeyPair {
    group: Group,
    secret: Scalar,
    public: Scalar,
}

impl KeyPair {
    fn draw(group: Group, rng: &mut dyn CryptoRng) -> KeyPair {
        loop {
            if let Some(pair) = KeyPair::of(group, ecc::random_scalar(group, rng)) {
                return pair;
            }
        }
    }

    /// Returns `None` if the secret is not a scalar, or 0.
    fn of(group: Group, secret: Scalar) -> Option<KeyPair> {
        let mut public = ecc::multiply_base(group, &secret)?;
        public.truncate(group.field_len());
        let public = crate::hash::octets(&public);
        Some(KeyPair {
            group,
            secret,
            public,
        })
    }

    fn element(&self) -> Vec<u8> {
        DhParameter {
            group: self.group.number(),
            public_key: &self.public,
        }
        .emit()
    }

    /// Derives the PMK and PMKID (RFC 8110 section 4.4).
    fn agree(&self, peer: &[u8], side: Side) -> Result<Pmk, OweError> {
        let shared = ecc::diffie_hellman(self.group, &self.secret, peer).ok_or(OweError::PublicKey)?;
        let [station, access_point] = match side {
            Side::Station => [&self.public, peer],
            Side::AccessPoint => [peer, &self.public],
        };
        let hash = self.group.hash();
        let salt = [station, access_point, &self.group.number().to_le_bytes()].concat();
        let prk = hash.hmac(&salt, &[&shared]);
        let mut pmk = crate::hash::octets::<{ crate::hash::MAX_DIGEST_LEN }>(&prk);
        hash.expand(&prk, b"OWE Key Generation", &mut pmk);
        let digest = hash.digest(&[station, access_point]);
        let mut pmkid = [0; 16];
        pmkid.copy_from_slice(&digest[..16]);
        Ok(Pmk::agreed(&pmk, pmkid).expect("a digest has 32, 48 or 64 octets"))
    }
}

#[derive(Clone, Copy)]
enum Side {
    Station,
    AccessPoint,
}

/// The station's side of one association.
pub struct Station {
    pair: KeyPair,
    left: Vec<Group>,
}

impl fmt::Debug for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Station")
            .field("group", &self.pair.group)
            .finish_non_exhaustive()
    }
}

impl Station {
    /// Starts with the first of `groups`. Returns `None` if `groups` is empty.
    #[must_use]
    pub fn new(groups: &[Group], rng: &mut dyn CryptoRng) -> Option<Station> {
        let (&group, left) = groups.split_first()?;
        Some(Station {
            pair: KeyPair::draw(group, rng),
            left: left.to_vec(),
        })
    }

    /// The element for the Association Request. It is the same for each retransmission.
    #[must_use]
    pub fn element(&self) -> Vec<u8> {
        self.pair.element()
    }

    /// Changes to the next group after a refusal with status 77. Returns false if no group is left.
    pub fn refused(&mut self, rng: &mut dyn CryptoRng) -> bool {
        if self.left.is_empty() {
            return false;
        }
        self.pair = KeyPair::draw(self.left.remove(0), rng);
        true
    }

    /// Derives the PMK from the elements of the Association Response.
    ///
    /// # Errors
    /// [`OweError`]; [`OweError::Group`] if the response has another group than the request.
    pub fn finish(&self, response: &[u8]) -> Result<Pmk, OweError> {
        let parameter = DhParameter::find(response)?;
        if parameter.group != self.pair.group.number() {
            return Err(OweError::Group(parameter.group));
        }
        self.pair.agree(parameter.public_key, Side::Station)
    }
}

/// The access point's side. It keeps recent answers, so that a retransmitted request gets the same answer.
///
/// `P` identifies a station to the caller.
pub struct AccessPoint<P = MacAddr> {
    groups: Vec<Group>,
    capacity: usize,
    answers: BTreeMap<P, Answered>,
    count: u64,
}

struct Answered {
    number: u64,
    request: Vec<u8>,
    element: Vec<u8>,
    pmk: Pmk,
}

impl<P> fmt::Debug for AccessPoint<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessPoint")
            .field("groups", &self.groups)
            .field("answers", &self.answers.len())
            .finish_non_exhaustive()
    }
}

impl<P: Peer> AccessPoint<P> {
    /// Creates an access point that supports `groups` and keeps answers to `capacity` stations, dropping the oldest.
    #[must_use]
    pub fn new(groups: &[Group], capacity: usize) -> AccessPoint<P> {
        AccessPoint {
            groups: groups.to_vec(),
            capacity,
            answers: BTreeMap::new(),
            count: 0,
        }
    }

    /// Number of kept answers.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.answers.len()
    }

    /// Forgets the answer to a station that has completed its handshake or has left.
    pub fn forget(&mut self, station: P) {
        self.answers.remove(&station);
    }

    /// Returns the element for the Association Response and the PMK, given the elements of an Association Request.
    ///
    /// # Errors
    /// [`OweError`]; the Association Response must carry its [status](OweError::status).
    pub fn answer(
        &mut self,
        station: P,
        request: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<u8>, Pmk), OweError> {
        let parameter = DhParameter::find(request)?;
        let group = Group::from_number(parameter.group)
            .filter(|group| self.groups.contains(group))
            .ok_or(OweError::Group(parameter.group))?;
        let request = parameter.emit();
        if let Some(answered) = self.answers.get(&station)
            && answered.request == request
        {
            return Ok((answered.element.clone(), answered.pmk.clone()));
        }
        if parameter.public_key.len() != group.field_len() {
            return Err(OweError::PublicKey);
        }
        let pair = KeyPair::draw(group, rng);
        let pmk = pair.agree(parameter.public_key, Side::AccessPoint)?;
        let answered = Answered {
            number: self.count,
            request,
            element: pair.element(),
            pmk: pmk.clone(),
        };
        let element = answered.element.clone();
        self.count += 1;
        self.answers.insert(station, answered);
        let oldest = self.answers.iter().min_by_key(|(_, answered)| answered.number);
        if self.answers.len() > self.capacity
            && let Some((&oldest, _)) = oldest
        {
            self.answers.remove(&oldest);
        }
        Ok((element, pmk))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::hash::octets;
    use crate::vectors::{Octets, load};

    #[derive(Deserialize)]
    struct Vector {
        name: String,
        group: u16,
        station: Octets,
        access_point: Octets,
        station_public: Octets,
        access_point_public: Octets,
        pmk: Octets,
        pmkid: Octets,
    }

    /// RFC 8110 has no test vectors; these were computed with pyca/cryptography.
    #[test]
    fn both_sides_compute_the_same_as_another_library() {
        let vectors: Vec<Vector> = load("owe/independent.json");
        assert_eq!(vectors.len(), Group::ALL.len());
        for vector in vectors {
            let group = Group::from_number(vector.group).unwrap();
            let pair = |secret: &Octets| KeyPair::of(group, octets(&secret.0)).unwrap();
            let (station, access_point) = (pair(&vector.station), pair(&vector.access_point));
            assert_eq!(
                station.public.as_slice(),
                vector.station_public.0,
                "{}",
                vector.name
            );
            assert_eq!(
                access_point.public.as_slice(),
                vector.access_point_public.0,
                "{}",
                vector.name
            );
            for pmk in [
                station.agree(&access_point.public, Side::Station).unwrap(),
                access_point.agree(&station.public, Side::AccessPoint).unwrap(),
            ] {
                assert_eq!(pmk.as_octets(), vector.pmk.0, "{}", vector.name);
                assert_eq!(pmk.pmkid().unwrap(), *vector.pmkid.0, "{}", vector.name);
            }
        }
    }

    /// A value from the tests of Fuchsia's OWE.
    #[test]
    fn a_station_computes_the_same_as_fuchsia() {
        let octets_of = |text: &str| Octets::try_from(text.to_owned()).unwrap().0;
        let secret = octets_of("5d6edb96f46993e0fb7621f93e5d3450813eb8c63ece17ecbf45376c574debb2");
        let pair = KeyPair::of(Group::P256, octets(&secret)).unwrap();
        assert_eq!(
            pair.public.as_slice(),
            octets_of("4abf7c206407893a1c8b27a7b9b2c1dc6e3d7038fed9ad7ae2250d03dc18e080")
        );
        let peer = octets_of("40ac0ba500964f5872fb969e673d0c83869dd8976c688cec46fe4ba4b140e7ef");
        assert_eq!(
            pair.agree(&peer, Side::Station).unwrap().as_octets(),
            octets_of("afac9db29ab652d7f76054c9c51204a3bb59339e302523d9c114b269a46f5734")
        );
    }
}
