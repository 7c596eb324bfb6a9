//! Keys: wiped when dropped, never printed, compared in constant time.

use std::fmt;

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// The octets of a key, on the heap, so that a move leaves no copy behind.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Key(Vec<u8>);

impl Key {
    /// Copies the octets into a key.
    #[must_use]
    pub fn new(octets: &[u8]) -> Key {
        Key(octets.to_vec())
    }

    /// Creates a key of `len` octets, written by `fill`.
    pub(crate) fn filled(len: usize, fill: impl FnOnce(&mut [u8])) -> Key {
        let mut key = Key(vec![0; len]);
        fill(&mut key.0);
        key
    }

    /// The octets of the key.
    #[must_use]
    pub fn as_octets(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Key {}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key of {} octets", self.0.len())
    }
}

/// Octets that contain keys, such as decrypted key data.
pub(crate) type SecretOctets = Zeroizing<Vec<u8>>;

/// No key management supports this PMK length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a PMK has 32 octets (48 or 64 if its hash is SHA-384 or SHA-512), not {0}")]
pub struct PmkLength(pub usize);

/// A pairwise master key (IEEE 802.11-2020 12.7.1.3), with its PMKID if both ends have agreed on one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pmk {
    key: Key,
    pmkid: Option<[u8; 16]>,
}

impl Pmk {
    /// The PMK of a passphrase, as [`psk`](crate::psk::psk) derives it. It has no PMKID: a PMKID in message 1 would
    /// allow offline guessing of the passphrase without a station that knows it.
    #[must_use]
    pub fn of_psk(psk: Key) -> Pmk {
        Pmk {
            key: psk,
            pmkid: None,
        }
    }

    /// A PMK from SAE or OWE, with its PMKID.
    ///
    /// # Errors
    /// [`PmkLength`] if no key management supports this length.
    pub fn agreed(pmk: &[u8], pmkid: [u8; 16]) -> Result<Pmk, PmkLength> {
        Ok(Pmk {
            pmkid: Some(pmkid),
            ..Pmk::try_from(pmk)?
        })
    }

    /// The octets of the PMK.
    #[must_use]
    pub fn as_octets(&self) -> &[u8] {
        self.key.as_octets()
    }

    /// The PMKID, which message 1 carries.
    #[must_use]
    pub fn pmkid(&self) -> Option<[u8; 16]> {
        self.pmkid
    }
}

/// A PMK without a PMKID, as an observer knows it.
impl TryFrom<&[u8]> for Pmk {
    type Error = PmkLength;

    fn try_from(pmk: &[u8]) -> Result<Pmk, PmkLength> {
        if !matches!(pmk.len(), 32 | 48 | 64) {
            return Err(PmkLength(pmk.len()));
        }
        Ok(Pmk {
            key: Key::new(pmk),
            pmkid: None,
        })
    }
}
