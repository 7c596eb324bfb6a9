//! HMAC, HKDF and the KDF of IEEE 802.11 over the hash of a group.

use arrayvec::ArrayVec;
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256, Sha384, Sha512};
use zeroize::{Zeroize, Zeroizing};

/// Length of the longest digest in octets.
pub(crate) const MAX_DIGEST_LEN: usize = 64;

/// Octets that may be secret, such as a digest. They are wiped when dropped.
pub(crate) type Octets<const N: usize> = Zeroizing<ArrayVec<u8, N>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// Copies at most `N` octets.
pub(crate) fn octets<const N: usize>(octets: &[u8]) -> Octets<N> {
    let mut copy = ArrayVec::new();
    copy.try_extend_from_slice(octets)
        .expect("the capacity fits the largest group");
    Zeroizing::new(copy)
}

impl Hash {
    /// Length of a digest in octets.
    pub(crate) const fn len(self) -> usize {
        match self {
            Hash::Sha256 => 32,
            Hash::Sha384 => 48,
            Hash::Sha512 => 64,
        }
    }

    /// The digest of the concatenated parts.
    pub(crate) fn digest(self, parts: &[&[u8]]) -> Octets<MAX_DIGEST_LEN> {
        fn run<D: Digest>(parts: &[&[u8]]) -> Octets<MAX_DIGEST_LEN> {
            let mut hash = D::new();
            for part in parts {
                hash.update(part);
            }
            octets(&hash.finalize())
        }
        match self {
            Hash::Sha256 => run::<Sha256>(parts),
            Hash::Sha384 => run::<Sha384>(parts),
            Hash::Sha512 => run::<Sha512>(parts),
        }
    }

    /// HMAC (RFC 2104) of the concatenated parts; also HKDF-Extract with `key` as the salt (RFC 5869 section 2.2).
    pub(crate) fn hmac(self, key: &[u8], parts: &[&[u8]]) -> Octets<MAX_DIGEST_LEN> {
        fn run<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> Octets<MAX_DIGEST_LEN> {
            let mut mac: M = keyed(key);
            for part in parts {
                mac.update(part);
            }
            let mut code = mac.finalize().into_bytes();
            let copy = octets(&code);
            code.as_mut_slice().zeroize();
            copy
        }
        match self {
            Hash::Sha256 => run::<Hmac<Sha256>>(key, parts),
            Hash::Sha384 => run::<Hmac<Sha384>>(key, parts),
            Hash::Sha512 => run::<Hmac<Sha512>>(key, parts),
        }
    }

    /// HKDF-Expand (RFC 5869 section 2.3): fills `out` from a key of the length of a digest.
    pub(crate) fn expand(self, prk: &[u8], info: &[u8], out: &mut [u8]) {
        const KEY: &str = "the key is a digest";
        const OUT: &str = "fewer than 255 digests are requested";
        match self {
            Hash::Sha256 => Hkdf::<Sha256>::from_prk(prk).expect(KEY).expand(info, out),
            Hash::Sha384 => Hkdf::<Sha384>::from_prk(prk).expect(KEY).expand(info, out),
            Hash::Sha512 => Hkdf::<Sha512>::from_prk(prk).expect(KEY).expand(info, out),
        }
        .expect(OUT);
    }

    /// KDF-Hash-Length (IEEE 802.11-2020 12.7.1.6.2): writes `bits` bits to `out`, which has exactly the required
    /// octets. Unused bits of the last octet are not cleared. The parts of the context are concatenated.
    pub(crate) fn kdf(self, key: &[u8], label: &str, context: &[&[u8]], bits: u16, out: &mut [u8]) {
        fn run<M: Mac + KeyInit + Clone>(len: usize, key: &[u8], parts: [&[&[u8]]; 3], out: &mut [u8]) {
            let start: M = keyed(key);
            for (i, block) in (1_u16..).zip(out.chunks_mut(len)) {
                let mut mac = start.clone();
                mac.update(&i.to_le_bytes());
                parts.into_iter().flatten().for_each(|part| mac.update(part));
                finish(mac, block);
            }
        }
        debug_assert_eq!(out.len(), usize::from(bits).div_ceil(8));
        let bits = bits.to_le_bytes();
        let parts = [&[label.as_bytes()][..], context, &[&bits[..]]];
        match self {
            Hash::Sha256 => run::<Hmac<Sha256>>(self.len(), key, parts, out),
            Hash::Sha384 => run::<Hmac<Sha384>>(self.len(), key, parts, out),
            Hash::Sha512 => run::<Hmac<Sha512>>(self.len(), key, parts, out),
        }
    }
}

/// Creates a MAC with its key.
pub(crate) fn keyed<M: KeyInit>(key: &[u8]) -> M {
    M::new_from_slice(key).expect("HMAC accepts keys of any length")
}

/// Fills `out` with the start of the MAC.
pub(crate) fn finish<M: Mac>(mac: M, out: &mut [u8]) {
    let mut whole = mac.finalize().into_bytes();
    out.copy_from_slice(&whole[..out.len()]);
    whole.as_mut_slice().zeroize();
}
