//! MSCHAPv2 (RFC 2759): both ends prove that they know the password. Secure only inside a tunnel.

use des::Des;
use des::cipher::{BlockCipherEncrypt, KeyInit};
use md4::{Digest, Md4};
use sha1::Sha1;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::Secret;

/// Octets of a challenge.
pub(crate) const CHALLENGE_LEN: usize = 16;
/// Octets of an NT-Response.
pub(crate) const RESPONSE_LEN: usize = 24;

/// The answer of a peer to a challenge, with the values that the server's answer depends on.
pub(crate) struct Answer {
    pub(crate) peer_challenge: [u8; CHALLENGE_LEN],
    pub(crate) response: [u8; RESPONSE_LEN],
    /// "S=" and 40 hexadecimal digits: the expected authenticator response.
    expected: [u8; 42],
}

/// Computes the answer for a user name without its domain (RFC 2759 section 8).
pub(crate) fn answer(
    challenge: &[u8; CHALLENGE_LEN],
    peer_challenge: [u8; CHALLENGE_LEN],
    user: &[u8],
    password: &Secret,
) -> Answer {
    let hash = password_hash(password);
    let short = sha1(&[&peer_challenge[..], challenge, user]);
    let mut response = [0; RESPONSE_LEN];
    let mut keys = Zeroizing::new([0; 21]);
    keys[..16].copy_from_slice(&*hash);
    for (key, out) in keys.chunks(7).zip(response.chunks_mut(8)) {
        out.copy_from_slice(&encrypted(key, &short[..8]));
    }
    let of_hash = Zeroizing::new(<[u8; 16]>::from(Md4::digest(*hash)));
    let digest = sha1(&[&*of_hash, &response, b"Magic server to client signing constant"]);
    let digest = sha1(&[&digest, &short[..8], b"Pad to make it do more than one iteration"]);
    let mut expected = *b"S=                                        ";
    for (octet, out) in digest.iter().zip(expected[2..].chunks_mut(2)) {
        let digit = |value: u8| b"0123456789ABCDEF"[usize::from(value)];
        out.copy_from_slice(&[digit(octet >> 4), digit(octet & 15)]);
    }
    Answer {
        peer_challenge,
        response,
        expected,
    }
}

impl Answer {
    /// Whether the message of the server's success proves that it knows the password.
    pub(crate) fn is_answered_by(&self, message: &[u8]) -> bool {
        message
            .get(..self.expected.len())
            .is_some_and(|told| told.to_ascii_uppercase().ct_eq(&self.expected).into())
    }
}

/// The user name without its domain, as MSCHAPv2 hashes it (RFC 2759 section 4).
pub(crate) fn without_domain(user: &[u8]) -> &[u8] {
    let at = user.iter().rposition(|&octet| octet == b'\\');
    &user[at.map_or(0, |at| at + 1)..]
}

/// NtPasswordHash: MD4 of the password in UTF-16LE.
fn password_hash(password: &Secret) -> Zeroizing<[u8; 16]> {
    let text = String::from_utf8_lossy(password.as_octets());
    // Allocated once, because reallocation would leave copies of the password in memory.
    let mut wide = Zeroizing::new(Vec::with_capacity(2 * text.len()));
    text.encode_utf16()
        .for_each(|unit| wide.extend_from_slice(&unit.to_le_bytes()));
    Zeroizing::new(Md4::digest(&*wide).into())
}

fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let mut sum = Sha1::new();
    parts.iter().for_each(|part| sum.update(part));
    sum.finalize().into()
}

/// Encrypts a block with DES under a key of 7 octets.
fn encrypted(key: &[u8], block: &[u8]) -> [u8; 8] {
    let bits = key
        .iter()
        .fold(0_u64, |bits, &octet| bits << 8 | u64::from(octet));
    // Each octet of a DES key has seven bits and parity, which is ignored.
    let spread: Zeroizing<[u8; 8]> = Zeroizing::new(std::array::from_fn(|at| {
        (bits >> (49 - 7 * at) << 1 & 0xfe) as u8
    }));
    let mut out = [0; 8];
    out.copy_from_slice(block);
    let mut block = out.into();
    Des::new(&(*spread).into()).encrypt_block(&mut block);
    block.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2759 section 9.2.
    #[test]
    fn answers_agree_with_the_rfc() {
        let challenge = *b"\x5B\x5D\x7C\x7D\x7B\x3F\x2F\x3E\x3C\x2C\x60\x21\x32\x26\x26\x28";
        let peer = *b"\x21\x40\x23\x24\x25\x5E\x26\x2A\x28\x29\x5F\x2B\x3A\x33\x7C\x7E";
        let password = Secret::new(Zeroizing::new(b"clientPass".to_vec()));
        let answer = answer(&challenge, peer, b"User", &password);
        assert_eq!(
            answer.response,
            *b"\x82\x30\x9E\xCD\x8D\x70\x8B\x5E\xA0\x8F\xAA\x39\x81\xCD\x83\x54\x42\x33\x11\x4A\x3D\x85\xD6\xDF"
        );
        assert!(answer.is_answered_by(b"S=407A5589115FD0D6209F510FE9C04566932CDA56 M=welcome"));
        assert!(!answer.is_answered_by(b"S=407A5589115FD0D6209F510FE9C04566932CDA57"));
        assert!(!answer.is_answered_by(b"S=407A"));
    }

    #[test]
    fn a_domain_is_not_part_of_the_name() {
        assert_eq!(without_domain(b"BIGCO\\johndoe"), b"johndoe");
        assert_eq!(without_domain(b"johndoe@bigco"), b"johndoe@bigco");
    }
}
