//! Pseudorandom functions: the PRF based on HMAC-SHA-1 (IEEE 802.11-2020 12.7.1.2), and the KDF based on
//! HMAC-SHA-256,
//! -384 and -512 (12.7.1.6.2).

use hmac::{Hmac, Mac};
use sha1::Sha1;

use crate::hash::{Hash, finish, keyed};

/// PRF: fills `out` from a key, a label and the concatenated parts of the context (12.7.1.2). The standard's PRF-n
/// produces n / 8 octets.
///
/// # Panics
/// If `out` is longer than 5120 octets, because the counter has one octet.
pub fn prf(key: &[u8], label: &str, context: &[&[u8]], out: &mut [u8]) {
    let start: Hmac<Sha1> = keyed(key);
    for (n, block) in out.chunks_mut(20).enumerate() {
        let counter = u8::try_from(n).expect("256 blocks at most");
        let mut mac = start.clone();
        mac.update(label.as_bytes());
        mac.update(&[0]);
        context.iter().for_each(|part| mac.update(part));
        mac.update(&[counter]);
        finish(mac, block);
    }
}

/// The KDF with HMAC-SHA-256: fills `out` from a key, a label and the concatenated parts of the context (12.7.1.6.2).
///
/// # Panics
/// If `out` is longer than 8191 octets, because the length in bits has two octets.
pub fn kdf_sha256(key: &[u8], label: &str, context: &[&[u8]], out: &mut [u8]) {
    Hash::Sha256.kdf(key, label, context, bits(out), out);
}

/// The KDF with HMAC-SHA-384. See [`kdf_sha256`].
///
/// # Panics
/// See [`kdf_sha256`].
pub fn kdf_sha384(key: &[u8], label: &str, context: &[&[u8]], out: &mut [u8]) {
    Hash::Sha384.kdf(key, label, context, bits(out), out);
}

/// The KDF with HMAC-SHA-512. See [`kdf_sha256`].
///
/// # Panics
/// See [`kdf_sha256`].
pub fn kdf_sha512(key: &[u8], label: &str, context: &[&[u8]], out: &mut [u8]) {
    Hash::Sha512.kdf(key, label, context, bits(out), out);
}

fn bits(out: &[u8]) -> u16 {
    u16::try_from(out.len() * 8).expect("at most 65535 bits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    /// IEEE 802.11-2020 J.3.
    #[test]
    fn the_prf_agrees_with_the_standard() {
        let mut out = [0; 64];
        prf(&[0x0b; 20], "prefix", &[b"Hi There"], &mut out);
        assert_eq!(
            out[..],
            hex("bcd4c650b30b9684951829e0d75f9d54b862175ed9f00606e17d8da35402ffee\
                 75df78c3d31e0f889f012120c0862beb67753e7439ae242edb8373698356cf5a")
        );
        prf(
            b"Jefe",
            "prefix",
            &[b"what do ya want ", b"for nothing?"],
            &mut out,
        );
        assert_eq!(
            out[..],
            hex("51f4de5b33f249adf81aeb713a3c20f4fe631446fabdfa58244759ae58ef9009\
                 a99abf4eac2ca5fa87e692c440eb40023e7babb206d61de7b92f41529092b8fc")
        );
        let mut out = [0; 32];
        prf(b"Jefe", "prefix-2", &[b"what do ya want for nothing?"], &mut out);
        assert_eq!(
            out[..],
            hex("47c4908e30c947521ad20be9053450ecbea23d3aa604b77326d8b3825ff7475c")
        );
    }

    #[test]
    fn a_short_output_is_a_prefix_of_a_long_one() {
        let (mut long, mut short) = ([0; 88], [0; 16]);
        prf(b"key", "label", &[b"context"], &mut long);
        prf(b"key", "label", &[b"context"], &mut short);
        assert_eq!(long[..16], short);
    }

    /// Computed with Python's hashlib and hmac from 12.7.1.6.2. The handshakes that tshark decrypts confirm the KDF
    /// as well.
    #[test]
    fn the_kdf_agrees_with_another_implementation() {
        let mut out = [0; 64];
        kdf_sha256(&[0x0b; 20], "prefix", &[b"Hi ", b"There"], &mut out);
        assert_eq!(out[..], hex(KDF_256));
        let mut out = [0; 88];
        kdf_sha384(&[0x0b; 20], "prefix", &[b"Hi ", b"There"], &mut out);
        assert_eq!(out[..], hex(KDF_384));
        kdf_sha512(&[0x0b; 20], "prefix", &[b"Hi ", b"There"], &mut out);
        assert_eq!(out[..], hex(KDF_512));
    }

    #[test]
    fn the_length_is_part_of_the_kdf() {
        let (mut long, mut short) = ([0; 48], [0; 32]);
        kdf_sha256(b"key", "label", &[], &mut long);
        kdf_sha256(b"key", "label", &[], &mut short);
        assert_ne!(long[..32], short);
    }

    const KDF_256: &str = "2c17ade296202f31b10aa704bfbb81e3da940c1bb961248dd02a0a37449676c557d8a94e53f2d9e281469cd3\
        daf7949ce045a9a4b80f1436876cbb507ea9c266";
    const KDF_384: &str = "35159ce6dabcc6ae036a3681adb508ddbe6091042db6af67b1a1863a74b80f7fbc4c79b06abf43aad7e7789f\
        18a9884699a94616c4711dad8a7bc494a3fc8b01450d17f5641aa88a29382325ee550bdd179d2d70fe5460cb";
    const KDF_512: &str = "1a6239350401cb211d75dea495b59cb9b4d9acb108566842668701106959b28774f88fedc6b77cb129a0f956\
        54a6e01bc78d1d59e7589eb7c0bf10b27b2830c43524c6a93dc205b25b892d362129452a78a948d11ee12b3c";
}
