//! Pairwise transient keys, and the protection of EAPOL-Key frames by their KCK and KEK (IEEE 802.11-2020 12.7.1.3,
//! 12.7.3).

use aes_kw::{KwAes128, KwAes256};
use cmac::Cmac;
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use rc4::{Rc4, StreamCipher};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};
use subtle::ConstantTimeEq;
use wlan_ciphers::{Method, Suite};
use wlan_frames::eapol::{Descriptor, EapolKey};
use wlan_frames::{MacAddr, eapol};
use zeroize::{Zeroize, Zeroizing};

use crate::hash::{finish, keyed};
use crate::prf::{kdf_sha256, kdf_sha384, kdf_sha512, prf};
use crate::secret::SecretOctets;
use crate::suites::{Digest, Exchange};
use crate::{Akm, Key, Protocol};

/// Label of the PTK (12.7.1.3).
const PTK_LABEL: &str = "Pairwise key expansion";
/// Length of the longest MIC in octets.
pub(crate) const MAX_MIC_LEN: usize = 32;
/// Octets of RC4 keystream discarded before key data (12.7.2 k, WPA).
const RC4_SKIPPED: usize = 256;

/// The MIC of EAPOL-Key frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Integrity {
    HmacMd5,
    HmacSha1,
    AesCmac,
    HmacSha256,
    HmacSha384,
    HmacSha512,
}

/// The function that derives the PTK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Derivation {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

/// The protection of EAPOL-Key frames of an association: a row of Table 12-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Protection {
    pub(crate) descriptor: Descriptor,
    /// Key descriptor version.
    pub(crate) version: u8,
    pub(crate) mic_len: usize,
    integrity: Integrity,
    derivation: Derivation,
    kek_len: usize,
    tk_len: usize,
}

impl Protection {
    /// Returns the row of these suites for a PMK of `pmk_len` octets, or `None` if the key management does not
    /// support that length. The PMK of OWE and of SAE-EXT-KEY is as long as a digest of its group's hash (RFC 8110
    /// sections 4.1 and 4.4; IEEE Std 802.11-2024 12.4.5.4); the lengths of OWE's other keys follow hostapd.
    pub(crate) fn of(protocol: Protocol, akm: Akm, pairwise: Suite, pmk_len: usize) -> Option<Protection> {
        let (integrity, derivation) = match akm.facts().digest {
            Digest::Sha1 if pairwise.method() == Method::Tkip => (Integrity::HmacMd5, Derivation::Sha1),
            Digest::Sha1 => (Integrity::HmacSha1, Derivation::Sha1),
            Digest::Sha256 => (Integrity::AesCmac, Derivation::Sha256),
            Digest::OfGroup if pmk_len == 32 => (Integrity::HmacSha256, Derivation::Sha256),
            Digest::OfGroup if pmk_len == 64 => (Integrity::HmacSha512, Derivation::Sha512),
            Digest::Sha384 | Digest::OfGroup => (Integrity::HmacSha384, Derivation::Sha384),
        };
        let descriptor = match protocol {
            Protocol::Rsn => Descriptor::Rsn,
            Protocol::Wpa => Descriptor::Wpa,
        };
        let version = match integrity {
            Integrity::HmacMd5 => 1,
            _ => akm.facts().version,
        };
        let (expected_pmk_len, mic_len, kek_len) = match derivation {
            Derivation::Sha1 | Derivation::Sha256 => (32, 16, 16),
            Derivation::Sha384 => (48, 24, 32),
            Derivation::Sha512 => (64, 32, 32),
        };
        if pmk_len != expected_pmk_len {
            return None;
        }
        Some(Protection {
            descriptor,
            version,
            mic_len,
            integrity,
            derivation,
            kek_len,
            tk_len: pairwise.key_len(),
        })
    }

    /// Length of the KCK in octets; in every row it equals the length of the MIC.
    fn kck_len(self) -> usize {
        self.mic_len
    }

    /// Writes the MIC into a frame.
    pub(crate) fn sign(self, ptk: &Ptk, frame: &mut [u8]) {
        let mut mic = [0; MAX_MIC_LEN];
        self.mic(ptk, frame, &mut mic[..self.mic_len]);
        frame[EapolKey::MIC_AT..][..self.mic_len].copy_from_slice(&mic[..self.mic_len]);
    }

    /// Whether the MIC of a frame is correct. `frame` is exactly the EAPOL packet.
    pub(crate) fn verify(self, ptk: &Ptk, frame: &[u8]) -> bool {
        let mut mic = [0; MAX_MIC_LEN];
        self.mic(ptk, frame, &mut mic[..self.mic_len]);
        mic[..self.mic_len]
            .ct_eq(&frame[EapolKey::MIC_AT..][..self.mic_len])
            .into()
    }

    fn mic(self, ptk: &Ptk, frame: &[u8], out: &mut [u8]) {
        // The MIC covers the whole packet with the MIC field set to zero (12.7.2 h).
        fn over<M: Mac + KeyInit>(kck: &[u8], frame: &[u8], out: &mut [u8]) {
            let mut mac: M = keyed(kck);
            mac.update(&frame[..EapolKey::MIC_AT]);
            mac.update(&[0; MAX_MIC_LEN][..out.len()]);
            mac.update(&frame[EapolKey::MIC_AT + out.len()..]);
            finish(mac, out);
        }
        let kck = ptk.kck();
        match self.integrity {
            Integrity::HmacMd5 => over::<Hmac<Md5>>(kck, frame, out),
            Integrity::HmacSha1 => over::<Hmac<Sha1>>(kck, frame, out),
            Integrity::AesCmac => over::<Cmac<aes::Aes128>>(kck, frame, out),
            Integrity::HmacSha256 => over::<Hmac<Sha256>>(kck, frame, out),
            Integrity::HmacSha384 => over::<Hmac<Sha384>>(kck, frame, out),
            Integrity::HmacSha512 => over::<Hmac<Sha512>>(kck, frame, out),
        }
    }

    /// Encrypts key data. `iv` is the EAPOL-Key IV, which only RC4 uses.
    pub(crate) fn wrap(self, ptk: &Ptk, iv: &[u8; 16], mut data: SecretOctets) -> Vec<u8> {
        if self.version == 1 {
            rc4_apply(ptk.kek(), iv, &mut data);
            return std::mem::take(&mut *data);
        }
        eapol::pad_key_data(&mut data);
        let mut out = vec![0; data.len() + 8];
        let wrapped = match ptk.kek() {
            kek if kek.len() == 32 => key_wrap::<KwAes256>(kek).wrap_key(&data, &mut out).is_ok(),
            kek => key_wrap::<KwAes128>(kek).wrap_key(&data, &mut out).is_ok(),
        };
        assert!(wrapped, "padded key data fits AES key wrap");
        out
    }

    /// Decrypts key data. Returns `None` if AES key wrap rejects it.
    pub(crate) fn unwrap(self, ptk: &Ptk, iv: &[u8; 16], data: &[u8]) -> Option<SecretOctets> {
        if self.version == 1 {
            let mut out = Zeroizing::new(data.to_vec());
            rc4_apply(ptk.kek(), iv, &mut out);
            return Some(out);
        }
        let mut out = Zeroizing::new(vec![0; data.len().checked_sub(8)?]);
        let unwrapped = match ptk.kek() {
            kek if kek.len() == 32 => key_wrap::<KwAes256>(kek).unwrap_key(data, &mut out).is_ok(),
            kek => key_wrap::<KwAes128>(kek).unwrap_key(data, &mut out).is_ok(),
        };
        unwrapped.then_some(out)
    }
}

/// AES key wrap (RFC 3394) with a KEK of 16 or 32 octets.
fn key_wrap<K: aes_kw::KeyInit>(kek: &[u8]) -> K {
    K::new_from_slice(kek).expect("a KEK of AES key wrap has 16 or 32 octets")
}

/// Applies RC4 with the concatenation of IV and KEK as the key.
fn rc4_apply(kek: &[u8], iv: &[u8; 16], data: &mut [u8]) {
    let key = Zeroizing::new([&iv[..], kek].concat());
    let mut rc4: Rc4 = keyed(&key);
    let mut skipped = [0; RC4_SKIPPED];
    rc4.apply_keystream(&mut skipped);
    skipped.zeroize();
    rc4.apply_keystream(data);
}

/// The addresses and nonces from which a PTK is derived.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub(crate) aa: MacAddr,
    pub(crate) spa: MacAddr,
    pub(crate) anonce: &'a [u8; 32],
    pub(crate) snonce: &'a [u8; 32],
}

/// A pairwise transient key: the concatenation of KCK, KEK and TK.
#[derive(Clone)]
pub(crate) struct Ptk {
    octets: Key,
    kck_len: usize,
    kek_len: usize,
}

impl Ptk {
    /// Derives a PTK (12.7.1.3).
    pub(crate) fn derive(protection: Protection, pmk: &[u8], inputs: Inputs<'_>) -> Ptk {
        let Inputs {
            aa,
            spa,
            anonce,
            snonce,
        } = inputs;
        let (kck_len, kek_len) = (protection.kck_len(), protection.kek_len);
        let context: [&[u8]; 4] = [
            &aa.min(spa).0,
            &aa.max(spa).0,
            anonce.min(snonce),
            anonce.max(snonce),
        ];
        let octets = Key::filled(kck_len + kek_len + protection.tk_len, |out| {
            match protection.derivation {
                Derivation::Sha1 => prf(pmk, PTK_LABEL, &context, out),
                Derivation::Sha256 => kdf_sha256(pmk, PTK_LABEL, &context, out),
                Derivation::Sha384 => kdf_sha384(pmk, PTK_LABEL, &context, out),
                Derivation::Sha512 => kdf_sha512(pmk, PTK_LABEL, &context, out),
            }
        });
        Ptk {
            octets,
            kck_len,
            kek_len,
        }
    }

    fn kck(&self) -> &[u8] {
        &self.octets.as_octets()[..self.kck_len]
    }

    fn kek(&self) -> &[u8] {
        &self.octets.as_octets()[self.kck_len..][..self.kek_len]
    }

    /// The temporal key. For TKIP, the Michael keys of the authenticator and of the supplicant follow it, in this
    /// order at both ends (12.7.1.3).
    pub(crate) fn tk(&self) -> Key {
        Key::new(&self.octets.as_octets()[self.kck_len + self.kek_len..])
    }
}

/// The PMKID of a pre-shared key or of an authentication server's PMK (12.7.1.3). `None` for key managements whose
/// exchange produces the PMKID, or whose PMKID depends on the KCK.
#[must_use]
pub fn pmkid(akm: Akm, pmk: &[u8], aa: MacAddr, spa: MacAddr) -> Option<[u8; 16]> {
    fn of<M: Mac + KeyInit>(pmk: &[u8], aa: MacAddr, spa: MacAddr) -> [u8; 16] {
        let mut mac: M = keyed(pmk);
        mac.update(b"PMK Name");
        mac.update(&aa.0);
        mac.update(&spa.0);
        let mut out = [0; 16];
        finish(mac, &mut out);
        out
    }
    let has_pmkid = matches!(akm.facts().exchange, Exchange::Psk | Exchange::Eap);
    match akm.facts().digest {
        Digest::Sha1 => Some(of::<Hmac<Sha1>>(pmk, aa, spa)),
        Digest::Sha256 if has_pmkid => Some(of::<Hmac<Sha256>>(pmk, aa, spa)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wlan_frames::eapol::KeyInfo;

    use crate::Pmk;
    use crate::psk::psk;
    use crate::testing::hex;

    fn ptk(kck: &[u8], kek: &[u8]) -> Ptk {
        Ptk {
            octets: Key::new(&[kck, kek, &[0; 16]].concat()),
            kck_len: kck.len(),
            kek_len: kek.len(),
        }
    }

    fn row(akm: Akm, pairwise: Suite, pmk_len: usize) -> Protection {
        Protection::of(Protocol::Rsn, akm, pairwise, pmk_len).unwrap()
    }

    /// IEEE 802.11i-2004 Tables H.14 and H.15, whose nonces have 20 octets.
    #[test]
    fn pairwise_key_expansion_agrees_with_the_standard() {
        let pmk = hex("0dc0d6eb90555ed6419756b9a15ec3e3209b63df707dd508d14581f8982721af");
        let (aa, spa) = (hex("a0a1a1a3a4a5"), hex("b0b1b2b3b4b5"));
        let snonce = hex("c0c1c2c3c4c5c6c7c8c9d0d1d2d3d4d5d6d7d8d9");
        let anonce = hex("e0e1e2e3e4e5e6e7e8e9f0f1f2f3f4f5f6f7f8f9");
        let mut out = [0; 48];
        prf(&pmk, PTK_LABEL, &[&aa, &spa, &snonce, &anonce], &mut out);
        assert_eq!(
            out[..],
            hex(
                "aa7cfc8560251e4bc687e0cb8d298363ba53163df32a8638f479abe34bfd2bc88cb778332e94aca6d30b89cbe82a9ca9"
            )
        );
    }

    /// Addresses and nonces are ordered by value, regardless of their owner (12.7.1.3).
    #[test]
    fn both_ends_derive_the_same_ptk() {
        let (a, b) = (MacAddr([1; 6]), MacAddr([2; 6]));
        let protection = row(Akm::WpaPsk, Suite::Ccmp128, 32);
        let derive = |aa, spa, anonce, snonce| {
            let inputs = Inputs {
                aa,
                spa,
                anonce,
                snonce,
            };
            Ptk::derive(protection, &[7; 32], inputs).octets
        };
        let there = derive(a, b, &[3; 32], &[4; 32]);
        assert_eq!(there, derive(b, a, &[4; 32], &[3; 32]));
        assert_eq!(there, derive(b, a, &[3; 32], &[4; 32]));
        assert_ne!(there, derive(a, b, &[3; 32], &[3; 32]));
    }

    #[test]
    fn keys_have_the_lengths_of_the_standard() {
        for (akm, pairwise, pmk_len, kck, kek, tk) in [
            (Akm::WpaPsk, Suite::Tkip, 32, 16, 16, 32),
            (Akm::WpaPsk, Suite::Ccmp128, 32, 16, 16, 16),
            (Akm::WpaPskSha256, Suite::Gcmp256, 32, 16, 16, 32),
            (Akm::Sae, Suite::Ccmp256, 32, 16, 16, 32),
            (Akm::Owe, Suite::Ccmp128, 32, 16, 16, 16),
            (Akm::Owe, Suite::Gcmp256, 48, 24, 32, 32),
            (Akm::Owe, Suite::Gcmp256, 64, 32, 32, 32),
        ] {
            let inputs = Inputs {
                aa: MacAddr([1; 6]),
                spa: MacAddr([2; 6]),
                anonce: &[3; 32],
                snonce: &[4; 32],
            };
            let ptk = Ptk::derive(row(akm, pairwise, pmk_len), &vec![7; pmk_len], inputs);
            let lens = (ptk.kck().len(), ptk.kek().len(), ptk.tk().as_octets().len());
            assert_eq!(lens, (kck, kek, tk), "{akm:?}");
        }
        assert_eq!(Protection::of(Protocol::Rsn, Akm::Sae, Suite::Ccmp128, 48), None);
        assert_eq!(
            Protection::of(Protocol::Rsn, Akm::WpaPsk, Suite::Ccmp128, 16),
            None
        );
    }

    #[test]
    fn each_key_management_supports_its_own_pmk_lengths() {
        for len in 0..=80 {
            let has_row = |akm: &Akm| Protection::of(Protocol::Rsn, *akm, Suite::Ccmp128, len).is_some();
            let is_usable = Akm::ALL.iter().any(has_row);
            assert_eq!(
                Pmk::try_from(&vec![7; len][..]).is_ok(),
                is_usable,
                "{len} octets"
            );
        }
    }

    /// The values that hostapd's `wpa_pmk_to_ptk` and `wpa_eapol_key_mic` return for these inputs.
    #[test]
    fn owe_protects_frames_as_hostapd_does() {
        for (pmk_len, kck, kek, tk, mic) in [
            (
                32,
                "ebac9ff208782e0ffb3d26c7fef539a3",
                "a2a8afe171d7079b7fc1b5d86062fc51",
                "7fa9ed1ee1489f329c5b336617d6e0a2",
                "5cc3908a000f4ac80f8c26e05c4b5db4",
            ),
            (
                48,
                "06f5de7424094eaa571c11dc99a4d618521c6da24a931b4c",
                "a01c3a005ff78ecae7b174ff66218c997b83f7925e932013ede1a76a6d5b987f",
                "627a79e34b22f34f9a9e8e2a8707265a",
                "4e5816eac54047208042b4db84dfdfa4dd7e65e72001dbcc",
            ),
            (
                64,
                "1ae14c76a5586ad66fd966eab6d248bd4eba63dbd9b4033c93b00e64d235ff25",
                "96a67d50f2229715912d89f3f0998f55bb912acb8c2504466cf3f06a490cb252",
                "20b3bfc51165d200e3443812ccb8e4ce",
                "06256a4542125b9694f35dbf63081639ebab469f3fb63dbd185efbea62e0d7b8",
            ),
        ] {
            let protection = row(Akm::Owe, Suite::Ccmp128, pmk_len);
            let pmk: Vec<u8> = (0..64).take(pmk_len).collect();
            let inputs = Inputs {
                aa: MacAddr([2, 0, 0, 0, 0, 1]),
                spa: MacAddr([2, 0, 0, 0, 0, 2]),
                anonce: &[3; 32],
                snonce: &[4; 32],
            };
            let ptk = Ptk::derive(protection, &pmk, inputs);
            assert_eq!(
                [ptk.kck(), ptk.kek(), ptk.tk().as_octets()],
                [&hex(kck)[..], &hex(kek), &hex(tk)]
            );
            let message_4 = EapolKey {
                version: 2,
                descriptor: Descriptor::Rsn,
                info: KeyInfo(0x0308),
                key_len: 0,
                replay_counter: 1,
                nonce: [0; 32],
                iv: [0; 16],
                rsc: [0; 8],
                mic: &[0; MAX_MIC_LEN][..protection.mic_len],
                data: &[],
            };
            let mut frame = vec![0; message_4.len()];
            message_4.emit(&mut frame);
            protection.sign(&ptk, &mut frame);
            assert_eq!(frame[EapolKey::MIC_AT..][..protection.mic_len], hex(mic));
            assert!(protection.verify(&ptk, &frame));
        }
    }

    /// RFC 3394 sections 4.1 and 4.3.
    #[test]
    fn key_wrap_agrees_with_the_rfc() {
        let data = hex("00112233445566778899aabbccddeeff");
        for (protection, kek, wrapped) in [
            (
                row(Akm::WpaPsk, Suite::Ccmp128, 32),
                "000102030405060708090a0b0c0d0e0f",
                "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5",
            ),
            (
                row(Akm::Owe, Suite::Ccmp128, 48),
                "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
                "64e8c3f9ce0f5ba263e9777905818a2a93c8191e7d6e8ae7",
            ),
        ] {
            let ptk = ptk(&[0; 16], &hex(kek));
            let found = protection.wrap(&ptk, &[0; 16], Zeroizing::new(data.clone()));
            assert_eq!(found, hex(wrapped));
            assert_eq!(*protection.unwrap(&ptk, &[0; 16], &found).unwrap(), data);
            let mut forged = found.clone();
            forged[3] ^= 1;
            assert!(protection.unwrap(&ptk, &[0; 16], &forged).is_none());
            for len in 0..found.len() {
                assert!(protection.unwrap(&ptk, &[0; 16], &found[..len]).is_none());
            }
        }
    }

    /// RFC 6229, 256-bit keys: keystream from octet 256 on.
    #[test]
    fn rc4_discards_the_first_256_octets() {
        let key = hex("0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20");
        let mut data = [0; 16];
        rc4_apply(&key[16..], key[..16].try_into().unwrap(), &mut data);
        assert_eq!(data[..], hex("02e1e7056b0f623900496422943e97b6"));
    }

    /// hashcat's published example of a PMKID, for the passphrase "hashcat!".
    #[test]
    fn the_pmkid_agrees_with_a_real_access_point() {
        let psk = psk(b"hashcat!", b"hashcat-essid").unwrap();
        let (aa, spa) = (
            "fc:69:0c:15:82:64".parse().unwrap(),
            "f4:74:7f:87:f9:f4".parse().unwrap(),
        );
        let found = pmkid(Akm::WpaPsk, psk.as_octets(), aa, spa).unwrap();
        assert_eq!(found[..], hex("4d4fe7aac3a2cecab195321ceb99a7d0"));
        assert_eq!(pmkid(Akm::Sae, psk.as_octets(), aa, spa), None);
    }
}
