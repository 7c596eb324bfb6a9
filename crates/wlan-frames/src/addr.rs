//! 48-bit MAC addresses.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// A 48-bit MAC address in transmission order (IEEE 802.11-2020 9.2.4.3.2), written `aa:bb:cc:dd:ee:ff`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddr(pub [u8; 6]);

/// The text is not six two-digit hexadecimal octets joined by colons.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a MAC address of the form aa:bb:cc:dd:ee:ff")]
pub struct AddrError(pub String);

impl MacAddr {
    /// The broadcast address.
    pub const BROADCAST: MacAddr = MacAddr([0xff; 6]);

    /// True for a group (multicast or broadcast) address: the Individual/Group bit is 1.
    #[must_use]
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// True if the address was assigned locally, not by a manufacturer: the Universal/Local bit is 1.
    #[must_use]
    pub fn is_local(self) -> bool {
        self.0[0] & 2 == 2
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for MacAddr {
    type Err = AddrError;

    fn from_str(text: &str) -> Result<Self, AddrError> {
        let wrong = || AddrError(String::from(text));
        let mut octets = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts.next().ok_or_else(wrong)?;
            // from_str_radix alone would accept "+f" and "1".
            if part.len() != 2 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            *octet = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        match parts.next() {
            None => Ok(MacAddr(octets)),
            Some(_) => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_is_lower_case_hexadecimal_with_colons() {
        let addr: MacAddr = "02:00:5E:10:00:ff".parse().unwrap();
        assert_eq!(addr, MacAddr([2, 0, 0x5e, 0x10, 0, 0xff]));
        assert_eq!(addr.to_string(), "02:00:5e:10:00:ff");
        assert!(addr.is_local() && !addr.is_group());
        assert!(MacAddr::BROADCAST.is_group());
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "02:00:5e:10:00",
            "02:00:5e:10:00:ff:00",
            "2:0:5e:10:0:ff",
            "+2:00:5e:10:00:ff",
            "02-00-5e-10-00-ff",
        ] {
            let err = text.parse::<MacAddr>().unwrap_err();
            assert!(err.to_string().contains("aa:bb:cc:dd:ee:ff"), "{err}");
        }
    }
}
