//! What a user knows of the networks in a capture.

use wlan_rsn::psk::{self, PskError};
use wlan_rsn::{Key, Pmk, PmkLength};

use crate::decap::CaptureKey;
use zeroize::Zeroizing;

/// Digits of a PSK in hexadecimal.
const PSK_DIGITS: usize = 2 * psk::PSK_LEN;

/// Why there is no such secret. It is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Neither a passphrase nor a PSK.
    #[error(
        "64 characters, but not all of them hexadecimal digits, as those of a PSK are; a passphrase has 8 to 63"
    )]
    NotHexadecimal,
    /// No passphrase, or no SSID.
    #[error(transparent)]
    Psk(#[from] PskError),
    /// No PMK.
    #[error(transparent)]
    PmkLength(#[from] PmkLength),
}

/// A passphrase, which makes another PSK for each SSID, or the PSK itself.
#[derive(Clone)]
pub enum Passphrase {
    /// 8 to 63 characters.
    Characters(Zeroizing<Vec<u8>>),
    /// What becomes of them and an SSID.
    Psk(Pmk),
}

impl Passphrase {
    /// Takes it as wpa_supplicant and hostapd do: 64 hexadecimal digits are a PSK, which no passphrase is as long as.
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
        // Whether it is one does not depend on the SSID.
        psk::psk(text, b"any")?;
        Ok(Passphrase::Characters(Zeroizing::new(text.to_vec())))
    }
}

/// All that there is to decrypt with.
#[derive(Default)]
pub struct Secrets {
    /// Keys that are tried on every frame.
    pub keys: Vec<CaptureKey>,
    /// A passphrase, or the PSK that it makes.
    pub passphrase: Option<Passphrase>,
    /// PMKs, of any network.
    pub pmks: Vec<Pmk>,
    /// The network that the passphrase is of; without it all whose SSIDs are in the capture.
    pub ssid: Option<Vec<u8>>,
}

impl Secrets {
    /// Adds a PMK, such as SAE and OWE agree on.
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
    /// [`SecretError::Psk`] if it is none.
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
    fn a_pmk_that_no_key_management_has_is_refused() {
        let mut secrets = Secrets::default();
        for len in [0, 16, 31, 33, 40, 56, 65] {
            let refused = secrets.add_pmk(&vec![7; len]);
            assert_eq!(refused, Err(SecretError::PmkLength(PmkLength(len))));
        }
        assert!(secrets.pmks.is_empty());
    }

    #[test]
    fn sixty_four_hexadecimal_digits_are_a_psk_and_nothing_else_of_that_length_is_anything() {
        let digits = b"f42C6fc52df0ebef9ebb4b90b38a5f902e83fe1b135a70e23aed762e9710a12e";
        let Ok(Passphrase::Psk(psk)) = Passphrase::parse(digits) else {
            panic!("a PSK")
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
