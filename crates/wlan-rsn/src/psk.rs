//! The pre-shared key derived from a passphrase (IEEE 802.11-2020 J.4.1).

use sha1::Sha1;

use crate::Key;

/// Length of a pre-shared key in octets.
pub const PSK_LEN: usize = 32;
/// Rounds of PBKDF2.
const ROUNDS: u32 = 4096;

/// The reason why a passphrase or an SSID is invalid. The error does not contain the passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PskError {
    /// The passphrase is too short or too long.
    #[error("a passphrase has 8 to 63 characters, not {0} (IEEE 802.11-2020 J.4.1)")]
    PassphraseLength(usize),
    /// The passphrase contains a control character.
    #[error("octet {0} of the passphrase is a control character (IEEE 802.11-2020 J.4.1)")]
    PassphraseCharacter(usize),
    /// The SSID is empty or too long.
    #[error("an SSID has 1 to 32 octets, not {0} (IEEE 802.11-2020 9.4.2.2)")]
    SsidLength(usize),
}

/// Derives the pre-shared key from a passphrase and an SSID: PBKDF2 with HMAC-SHA-1, 4096 rounds. This takes
/// milliseconds. The standard allows printable ASCII; wpa_supplicant, hostapd and tshark also take the octets of a
/// passphrase in UTF-8, and so does this function.
///
/// # Errors
/// [`PskError`].
///
/// ```
/// let psk = wlan_rsn::psk::psk(b"password", b"IEEE").unwrap();
/// assert_eq!(psk.as_octets()[..4], [0xf4, 0x2c, 0x6f, 0xc5]);
/// ```
pub fn psk(passphrase: &[u8], ssid: &[u8]) -> Result<Key, PskError> {
    if !(8..=63).contains(&passphrase.len()) {
        return Err(PskError::PassphraseLength(passphrase.len()));
    }
    if let Some(at) = passphrase.iter().position(|octet| octet.is_ascii_control()) {
        return Err(PskError::PassphraseCharacter(at + 1));
    }
    if !(1..=32).contains(&ssid.len()) {
        return Err(PskError::SsidLength(ssid.len()));
    }
    Ok(Key::filled(PSK_LEN, |out| {
        pbkdf2::pbkdf2_hmac::<Sha1>(passphrase, ssid, ROUNDS, out);
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    /// IEEE 802.11-2020 J.4.2.
    #[test]
    fn psks_agree_with_the_standard() {
        for (passphrase, ssid, expected) in [
            (
                "password",
                "IEEE",
                "f42c6fc52df0ebef9ebb4b90b38a5f902e83fe1b135a70e23aed762e9710a12e",
            ),
            (
                "ThisIsAPassword",
                "ThisIsASSID",
                "0dc0d6eb90555ed6419756b9a15ec3e3209b63df707dd508d14581f8982721af",
            ),
            (
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                "ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ",
                "becb93866bb8c3832cb777c2f559807c8c59afcb6eae734885001300a981cc62",
            ),
        ] {
            let psk = psk(passphrase.as_bytes(), ssid.as_bytes()).unwrap();
            assert_eq!(psk.as_octets(), hex(expected));
        }
    }

    /// As printed by wpa_passphrase of wpa_supplicant 2.10.
    #[test]
    fn a_passphrase_in_utf_8_has_the_psk_of_wpa_supplicant() {
        let psk = psk("caf\u{e9} au lait".as_bytes(), b"IEEE").unwrap();
        let expected = hex("0f6e9b234c9753a6291d3845f5b9626d808024abb72a6e41f60cc59cbc6f515c");
        assert_eq!(psk.as_octets(), expected);
    }

    /// RFC 6070: test vectors of the underlying PBKDF2.
    #[test]
    fn pbkdf2_agrees_with_rfc_6070() {
        for (rounds, expected) in [
            (1, "0c60c80f961f0e71f3a9b524af6012062fe037a6"),
            (2, "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957"),
            (4096, "4b007901b765489abead49d926f721d065a429c1"),
        ] {
            let mut out = [0; 20];
            pbkdf2::pbkdf2_hmac::<Sha1>(b"password", b"salt", rounds, &mut out);
            assert_eq!(out[..], hex(expected));
        }
    }

    #[test]
    fn invalid_passphrases_are_refused() {
        assert_eq!(psk(b"seven77", b"x"), Err(PskError::PassphraseLength(7)));
        assert_eq!(psk(&[b'x'; 64], b"x"), Err(PskError::PassphraseLength(64)));
        assert_eq!(psk(b"tab\there!", b"x"), Err(PskError::PassphraseCharacter(4)));
        assert_eq!(psk(b"password", b""), Err(PskError::SsidLength(0)));
        assert_eq!(psk(b"password", &[0; 33]), Err(PskError::SsidLength(33)));
        assert!(psk(&[b'~'; 63], &[0; 32]).is_ok());
    }
}
