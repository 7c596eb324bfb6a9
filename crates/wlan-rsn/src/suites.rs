//! Authentication and key management suites, and the selectors of RSN and WPA (IEEE 802.11-2020 9.4.2.24).

use wlan_ciphers::Suite;
use wlan_frames::rsn::Selector;

/// OUI of the suites of the standard.
const OUI_RSN: [u8; 3] = [0x00, 0x0f, 0xac];
/// OUI of the suites of WPA.
const OUI_WPA: [u8; 3] = [0x00, 0x50, 0xf2];

/// The generation of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// RSN: WPA2, WPA3.
    Rsn,
    /// WPA, which preceded the standard.
    Wpa,
}

impl Protocol {
    fn oui(self) -> [u8; 3] {
        match self {
            Protocol::Rsn => OUI_RSN,
            Protocol::Wpa => OUI_WPA,
        }
    }

    /// The selector of a cipher suite, or `None` if this generation does not support the suite.
    #[must_use]
    pub fn cipher_selector(self, suite: Suite) -> Option<Selector> {
        match (self, suite) {
            (Protocol::Rsn, _) => Some(suite.selector()),
            (Protocol::Wpa, Suite::Tkip | Suite::Ccmp128) => {
                let [.., suite_type] = suite.selector();
                let [a, b, c] = OUI_WPA;
                Some([a, b, c, suite_type])
            }
            (Protocol::Wpa, _) => None,
        }
    }

    /// The cipher suite of a selector.
    #[must_use]
    pub fn cipher(self, selector: Selector) -> Option<Suite> {
        Suite::ALL
            .into_iter()
            .find(|&suite| self.cipher_selector(suite) == Some(selector))
    }
}

/// An authentication and key management suite (9.4.2.24.3), named as in hostapd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Akm {
    /// IEEE 802.1X: an authentication server, with SHA-1.
    WpaEap,
    /// IEEE 802.1X with SHA-256.
    WpaEapSha256,
    /// A pre-shared key, with SHA-1.
    WpaPsk,
    /// A pre-shared key, with SHA-256.
    WpaPskSha256,
    /// Simultaneous authentication of equals (12.4), used in WPA3.
    Sae,
    /// SAE whose hash depends on the group (IEEE Std 802.11-2024 12.4.5.4, suite type 24). An observer reads its
    /// handshakes; the ends do not offer it.
    SaeExtKey,
    /// Opportunistic wireless encryption (RFC 8110), without authentication.
    Owe,
}

impl Akm {
    /// All supported suites.
    pub const ALL: [Akm; 7] = [
        Akm::WpaEap,
        Akm::WpaEapSha256,
        Akm::WpaPsk,
        Akm::WpaPskSha256,
        Akm::Sae,
        Akm::SaeExtKey,
        Akm::Owe,
    ];

    /// Whether the suite requires protected management frames (WPA3 Specification 3.1, section 2; Opportunistic
    /// Wireless Encryption Specification 1.1, section 2).
    #[must_use]
    pub const fn requires_mfp(self) -> bool {
        matches!(self, Akm::Sae | Akm::SaeExtKey | Akm::Owe)
    }

    /// hostapd's name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Akm::WpaEap => "wpa-eap",
            Akm::WpaEapSha256 => "wpa-eap-sha256",
            Akm::WpaPsk => "wpa-psk",
            Akm::WpaPskSha256 => "wpa-psk-sha256",
            Akm::Sae => "sae",
            Akm::SaeExtKey => "sae-ext-key",
            Akm::Owe => "owe",
        }
    }

    /// Returns the suite with this [`name`](Akm::name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Akm> {
        Akm::ALL.into_iter().find(|akm| akm.name() == name)
    }

    /// The selector of the suite, or `None` if this generation does not support it.
    #[must_use]
    pub fn selector(self, protocol: Protocol) -> Option<Selector> {
        let suite_type = match (protocol, self) {
            (_, Akm::WpaEap) => 1,
            (_, Akm::WpaPsk) => 2,
            (Protocol::Wpa, _) => return None,
            (Protocol::Rsn, Akm::WpaEapSha256) => 5,
            (Protocol::Rsn, Akm::WpaPskSha256) => 6,
            (Protocol::Rsn, Akm::Sae) => 8,
            (Protocol::Rsn, Akm::SaeExtKey) => 24,
            (Protocol::Rsn, Akm::Owe) => 18,
        };
        let [a, b, c] = protocol.oui();
        Some([a, b, c, suite_type])
    }

    /// The suite of a selector.
    #[must_use]
    pub fn from_selector(protocol: Protocol, selector: Selector) -> Option<Akm> {
        Akm::ALL
            .into_iter()
            .find(|akm| akm.selector(protocol) == Some(selector))
    }

    /// Whether the PMK is the pre-shared key itself.
    #[must_use]
    pub const fn is_psk(self) -> bool {
        matches!(self, Akm::WpaPsk | Akm::WpaPskSha256)
    }

    /// Whether the PMK comes from an authentication server.
    #[must_use]
    pub const fn is_eap(self) -> bool {
        matches!(self, Akm::WpaEap | Akm::WpaEapSha256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 9-151; WPA3 Specification 3.1, section 2.
    #[test]
    fn key_management_has_the_numbers_and_rules_of_its_standards() {
        for (akm, number, is_psk, requires_mfp) in [
            (Akm::WpaEap, 1, false, false),
            (Akm::WpaEapSha256, 5, false, false),
            (Akm::WpaPsk, 2, true, false),
            (Akm::WpaPskSha256, 6, true, false),
            (Akm::Sae, 8, false, true),
            (Akm::SaeExtKey, 24, false, true),
            (Akm::Owe, 18, false, true),
        ] {
            assert_eq!(akm.selector(Protocol::Rsn), Some([0x00, 0x0f, 0xac, number]));
            assert_eq!((akm.is_psk(), akm.requires_mfp()), (is_psk, requires_mfp));
        }
    }

    #[test]
    fn names_and_selectors_convert_both_ways() {
        for akm in Akm::ALL {
            assert_eq!(Akm::from_name(akm.name()), Some(akm));
            let selector = akm.selector(Protocol::Rsn).unwrap();
            assert_eq!(Akm::from_selector(Protocol::Rsn, selector), Some(akm));
            assert_eq!(Akm::from_selector(Protocol::Wpa, selector), None);
        }
        for suite in Suite::ALL {
            let selector = Protocol::Rsn.cipher_selector(suite).unwrap();
            assert_eq!(Protocol::Rsn.cipher(selector), Some(suite));
        }
        assert_eq!(Protocol::Wpa.cipher([0, 0x50, 0xf2, 2]), Some(Suite::Tkip));
        assert_eq!(Protocol::Wpa.cipher([0, 0x50, 0xf2, 4]), Some(Suite::Ccmp128));
        assert_eq!(Protocol::Wpa.cipher([0, 0x50, 0xf2, 8]), None);
    }
}
