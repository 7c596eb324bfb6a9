//! The computations of SAE: Commit, Confirm and the resulting keys (IEEE 802.11-2020 12.4.5).

use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::Method;
use crate::Pmk;
use crate::ecc::{self, Element, Group, Scalar};
use crate::hash::{Hash, MAX_DIGEST_LEN, Octets, octets};

const PMK_LEN: usize = 32;
const PMKID_LEN: usize = 16;

/// The contents of a Commit, as octets on the air.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Commitment {
    pub(crate) scalar: Scalar,
    pub(crate) element: Element,
}

impl Commitment {
    /// Checks the contents of a peer's Commit: the scalar is greater than 1 and less than the order, the element is a
    /// point (12.4.5.4).
    pub(crate) fn checked(group: Group, scalar: &[u8], element: &[u8]) -> Option<Commitment> {
        (ecc::is_proper_scalar(group, scalar) && ecc::is_element(group, element)).then(|| Commitment {
            scalar: octets(scalar),
            element: octets(element),
        })
    }
}

/// The secret part of an own Commit.
#[derive(Clone)]
pub(crate) struct Secret {
    method: Method,
    group: Group,
    pwe: Element,
    rand: Scalar,
}

/// Draws the secrets of a Commit and computes the Commit (12.4.5.2).
pub(crate) fn commit(
    method: Method,
    group: Group,
    pwe: Element,
    rng: &mut dyn CryptoRng,
) -> (Commitment, Secret) {
    loop {
        let rand = ecc::random_scalar(group, rng);
        let mask = ecc::random_scalar(group, rng);
        // A sum below 2 is as unlikely as a correct guess of the scalar.
        if let Some(made) = commit_with(method, group, &pwe, rand, &mask) {
            return made;
        }
    }
}

/// Computes the Commit for given secrets. Returns `None` if its scalar is less than 2.
fn commit_with(
    method: Method,
    group: Group,
    pwe: &Element,
    rand: Scalar,
    mask: &[u8],
) -> Option<(Commitment, Secret)> {
    let scalar = ecc::add_scalars(group, &rand, mask)?;
    if !ecc::is_proper_scalar(group, &scalar) {
        return None;
    }
    let element = ecc::multiply_and_invert(group, pwe, mask)?;
    let pwe = pwe.clone();
    let secret = Secret {
        method,
        group,
        pwe,
        rand,
    };
    Some((Commitment { scalar, element }, secret))
}

/// The result of two Commits: the PMK, and the key for Confirms.
pub(crate) struct Agreed {
    hash: Hash,
    kck: Octets<MAX_DIGEST_LEN>,
    pub(crate) pmk: Pmk,
}

impl Secret {
    /// Derives the keys (12.4.5.4). `rejected` are the lists of previously rejected groups as octets on the air, the
    /// list of the station with the higher address first; hunting-and-pecking has none. Returns `None` if the peer
    /// chose its element so that the secret is the point at infinity.
    pub(crate) fn agree(&self, own: &Commitment, peer: &Commitment, rejected: [&[u8]; 2]) -> Option<Agreed> {
        let Secret {
            method,
            group,
            ref pwe,
            ref rand,
        } = *self;
        let secret = ecc::shared_secret(group, pwe, rand, &peer.scalar, &peer.element)?;
        let hash = match method {
            Method::HuntingAndPecking => Hash::Sha256,
            Method::HashToElement => group.hash(),
        };
        let zeros = [0; MAX_DIGEST_LEN];
        let keyseed = if rejected.iter().all(|list| list.is_empty()) {
            hash.hmac(&zeros[..hash.len()], &[&secret])
        } else {
            hash.hmac(&rejected.concat(), &[&secret])
        };
        let context = ecc::add_scalars(group, &own.scalar, &peer.scalar)?;
        let mut keys = Zeroizing::new([0; MAX_DIGEST_LEN + PMK_LEN]);
        let keys = &mut keys[..hash.len() + PMK_LEN];
        let bits = u16::try_from(8 * keys.len()).expect("a digest and 32 octets");
        hash.kdf(&keyseed, "SAE KCK and PMK", &[&context], bits, keys);
        let (kck, pmk) = keys.split_at(hash.len());
        let mut pmkid = [0; PMKID_LEN];
        pmkid.copy_from_slice(&context[..PMKID_LEN]);
        Some(Agreed {
            hash,
            kck: octets(kck),
            pmk: Pmk::agreed(pmk, pmkid).expect("the PMK has 32 octets"),
        })
    }
}

impl Agreed {
    /// The Confirm of the sender of Commit `from`, with number `send_confirm` (12.4.5.5).
    pub(crate) fn confirm(
        &self,
        send_confirm: u16,
        from: &Commitment,
        to: &Commitment,
    ) -> Octets<MAX_DIGEST_LEN> {
        self.hash.hmac(
            &self.kck,
            &[
                &send_confirm.to_le_bytes(),
                &from.scalar,
                &from.element,
                &to.scalar,
                &to.element,
            ],
        )
    }

    /// Whether `confirm` is the valid Confirm of the sender of Commit `from` (12.4.5.6).
    pub(crate) fn verify(
        &self,
        confirm: &[u8],
        send_confirm: u16,
        from: &Commitment,
        to: &Commitment,
    ) -> bool {
        self.confirm(send_confirm, from, to).ct_eq(confirm).into()
    }
}

#[cfg(test)]
#[path = "vectors.rs"]
mod vectors;
