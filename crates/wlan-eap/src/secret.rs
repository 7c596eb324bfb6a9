//! Secrets: wiped when dropped and never printed.

use std::fmt;

use zeroize::Zeroizing;

/// A password or a shared secret.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes the octets.
    #[must_use]
    pub fn new(octets: Zeroizing<Vec<u8>>) -> Self {
        Self(octets)
    }

    pub(crate) fn as_octets(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// A master session key (RFC 3748 section 7.10): the result of an EAP method.
#[derive(Clone)]
pub struct Msk(Zeroizing<Vec<u8>>);

impl Msk {
    /// Octets of a complete MSK.
    pub const LEN: usize = 64;
    /// Octets of the PMK.
    pub const PMK_LEN: usize = 32;

    pub(crate) fn new(octets: Zeroizing<Vec<u8>>) -> Self {
        assert!(octets.len() >= Self::PMK_LEN, "an MSK contains a PMK");
        Self(octets)
    }

    /// The PMK: the first 32 octets (IEEE Std 802.11-2020 12.7.1.3).
    #[must_use]
    pub fn pmk(&self) -> &[u8] {
        &self.0[..Self::PMK_LEN]
    }
}

impl fmt::Debug for Msk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Msk")
    }
}
