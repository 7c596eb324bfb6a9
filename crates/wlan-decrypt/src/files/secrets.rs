//! The user's secrets for the networks in a capture.

use wlan_rsn::psk::{self, PskError};
use wlan_rsn::{Key, Pmk, PmkLength};

use crate::decap::CaptureKey;
use zeroize::Zeroizing;

/// Length of a PSK in hexadecimal digits.
const PSK_DIGITS: usize = 2 * psk::PSK_LEN;

/// Reason why a secret is invalid. The message does not repeat the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Neither a valid passphrase nor a valid PSK.
    #[error("64 characters must be the hexadecimal digits of a PSK; a passphrase has 8 to 63 characters")]
    NotHexadecimal,
    /// The passphrase or the SSID is invalid.
    #[error(transparent)]
    Psk(#[from] PskError),
    /// The PMK has an invalid length.
    #[error(transparent)]
    PmkLength(#[from] PmkLength),
}

/// A passphrase, from which the PSK of each SSID is derived, or the PSK itself.
#[derive(Clone)]
pub enum Passphrase {
    /// 8 to 63 octets: characters of ASCII or UTF-8.
    Characters(Zeroizing<Vec<u8>>),
    /// The PSK derived from a passphrase and an SSID.
    Psk(Pmk),
}

impl Passphrase {
    /// Parses the text like wpa_supplicant and hostapd: 64 hexadecimal digits are a PSK, since a passphrase is shorter.
    ///
    /// # Errors
    /// [`SecretError::NotHexadecimal`], [`SecretError::Psk`].
    pub fn parse(text: &[u8]) -> Result<Passphrase, SecretError> {
        if text.len() == PSK_DIGITS {
            let mut psk = Zeroizing::new([0; psk::PSK_LEN]);
            for (octet, digits) in psk.iter_mut().zip(text.chunks(2)) {
                for &digit in digits {
                    let value = char::from(digit)
                        .to_digit(16)
                        .ok_or(SecretError::NotHexadecimal)?;
                    *octet = *octet << 4 | value.to_le_bytes()[0];
                }
            }
            return Ok(Passphrase::Psk(Pmk::of_psk(Key::new(&*psk))));
        }
        // The validity of a passphrase does not depend on the SSID.
        psk::psk(text, b"any")?;
        Ok(Passphrase::Characters(Zeroizing::new(text.to_vec())))
    }
}

/// All secrets for decryption.
#[derive(Default)]
pub struct Secrets {
    /// Keys to try on every frame.
    pub keys: Vec<CaptureKey>,
    /// A passphrase, or the PSK derived from it.
    pub passphrase: Option<Passphrase>,
    /// PMKs, tried for every network.
    pub pmks: Vec<Pmk>,
    /// The network of the passphrase; by default, every network whose SSID is in the capture.
    pub ssid: Option<Vec<u8>>,
}

impl Secrets {
    /// Adds a PMK, for example one that SAE or OWE established.
    ///
    /// # Errors
    /// [`SecretError::PmkLength`].
    pub fn add_pmk(&mut self, pmk: &[u8]) -> Result<(), SecretError> {
        self.pmks.push(Pmk::try_from(pmk)?);
        Ok(())
    }

    /// Sets the SSID.
    ///
    /// # Errors
    /// [`SecretError::Psk`] if the length of the SSID is invalid.
    pub fn set_ssid(&mut self, ssid: &[u8]) -> Result<(), SecretError> {
        if !(1..=32).contains(&ssid.len()) {
            return Err(PskError::SsidLength(ssid.len()).into());
        }
        self.ssid = Some(ssid.to_vec());
        Ok(())
    }
}

impl From<Vec<CaptureKey>> for Secrets {
    fn from(keys: Vec<CaptureKey>) -> Secrets {
        Secrets {
            keys,
            ..Secrets::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pmk_of_an_unsupported_length_is_refused() {
        let mut secrets = Secrets::default();
        for len in [0, 16, 31, 33, 40, 56, 65] {
            let refused = secrets.add_pmk(&vec![7; len]);
            assert_eq!(refused, Err(SecretError::PmkLength(PmkLength(len))));
        }
        assert!(secrets.pmks.is_empty());
    }

    #[test]
    fn a_text_of_64_characters_is_a_psk_only_in_hexadecimal_digits() {
        let digits = b"f42C6fc52df0ebef9ebb4b90b38a5f902e83fe1b135a70e23aed762e9710a12e";
        let Ok(Passphrase::Psk(psk)) = Passphrase::parse(digits) else {
            panic!("expected a PSK")
        };
        assert_eq!(psk, Pmk::of_psk(psk::psk(b"password", b"IEEE").unwrap()));
        let Err(error) = Passphrase::parse(&[b'x'; 64]) else {
            panic!()
        };
        assert_eq!(error, SecretError::NotHexadecimal);
        assert!(matches!(
            Passphrase::parse(&digits[1..]),
            Ok(Passphrase::Characters(_))
        ));
        for text in [&b"seven77"[..], &[b'a'; 65], b"tab\tabulator", b""] {
            assert!(matches!(Passphrase::parse(text), Err(SecretError::Psk(_))));
        }
    }
}
