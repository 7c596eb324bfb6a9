//! Authentication and key management suites, and the selectors of RSN and WPA (IEEE 802.11-2020 9.4.2.24).

use wlan_ciphers::{Method, Suite};
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
    /// The generation that uses a suite as its only pairwise cipher: WPA uses TKIP, and RSN all others.
    #[must_use]
    pub const fn of(suite: Suite) -> Protocol {
        match suite.method() {
            Method::Tkip => Protocol::Wpa,
            _ => Protocol::Rsn,
        }
    }

    fn oui(self) -> [u8; 3] {
        match self {
            Protocol::Rsn => OUI_RSN,
            Protocol::Wpa => OUI_WPA,
        }
    }

    /// The selector of a cipher suite, or `None` if this generation does not support the suite.
    #[must_use]
    pub fn cipher_selector(self, suite: Suite) -> Option<Selector> {
        if self == Protocol::Rsn {
            return Some(suite.selector());
        }
        let [.., suite_type] = suite.selector();
        let [a, b, c] = OUI_WPA;
        suite.is_in_wpa().then_some([a, b, c, suite_type])
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
    /// IEEE 802.1X: an authentication server, with SHA-1.
    WpaEap,
    /// IEEE 802.1X with SHA-256.
    WpaEapSha256,
    /// IEEE 802.1X with SHA-384 and the suites of CNSA: WPA3-Enterprise in its 192-bit mode. An observer reads its
    /// handshakes; the ends do not offer it.
    WpaEapSuiteB192,
}

/// Where the PMK comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exchange {
    /// The PMK is the pre-shared key itself.
    Psk,
    /// From a password, by SAE.
    Sae,
    /// From a key exchange without a secret.
    Owe,
    /// From an authentication server.
    Eap,
}

impl Exchange {
    /// The name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Exchange::Psk => "psk",
            Exchange::Sae => "sae",
            Exchange::Owe => "owe",
            Exchange::Eap => "eap",
        }
    }
}

/// The hash of the key management's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Digest {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-256, SHA-384 or SHA-512, by the group of the exchange.
    OfGroup,
}

/// The facts of a suite.
#[derive(Debug)]
pub struct Facts {
    name: &'static str,
    /// Where the PMK comes from.
    pub exchange: Exchange,
    /// The hash of its functions.
    pub digest: Digest,
    /// Type of the suite in its selector.
    number: u8,
    /// Key descriptor version (12.7.2), with any pairwise cipher except TKIP.
    pub(crate) version: u8,
    /// Whether WPA has the suite, not only RSN.
    pub is_in_wpa: bool,
    /// The source of the rule that management frames must be protected.
    pub mfp: Option<&'static str>,
    /// The only pairwise cipher, and the source of this rule.
    pub pairwise: Option<(Suite, &'static str)>,
    /// The first version of hostapd and wpa_supplicant with the suite, if Debian 12 has an older version.
    pub since: Option<(u8, u8)>,
    /// Whether the ends of this project offer the suite. An observer reads the handshakes of all suites.
    pub is_offered: bool,
}

/// The facts that most suites share.
const USUAL: Facts = Facts {
    name: "",
    exchange: Exchange::Psk,
    digest: Digest::Sha256,
    number: 0,
    version: 0,
    is_in_wpa: false,
    mfp: None,
    pairwise: None,
    since: None,
    is_offered: true,
};
const WPA3: Option<&str> = Some("WPA3 Specification 3.1, section 2");
const OWE: Option<&str> = Some("Opportunistic Wireless Encryption Specification 1.1, section 2");
const WPA3_192: &str = "WPA3 Specification 3.1, WPA3-Enterprise 192-bit mode";

impl Akm {
    /// All suites. If a network can combine two of them, the stronger suite is later.
    pub const ALL: [Akm; 8] = [
        Akm::WpaPsk,
        Akm::WpaPskSha256,
        Akm::Sae,
        Akm::SaeExtKey,
        Akm::Owe,
        Akm::WpaEap,
        Akm::WpaEapSha256,
        Akm::WpaEapSuiteB192,
    ];

    /// The facts.
    #[must_use]
    #[rustfmt::skip]
    pub const fn facts(self) -> &'static Facts {
        use Exchange::{Eap, Owe, Sae};
        use Digest::{OfGroup, Sha1, Sha384};
        match self {
            Akm::WpaPsk => &Facts { name: "wpa-psk", number: 2, digest: Sha1, version: 2, is_in_wpa: true, ..USUAL },
            Akm::WpaPskSha256 => &Facts { name: "wpa-psk-sha256", number: 6, version: 3, ..USUAL },
            Akm::Sae => &Facts { name: "sae", number: 8, exchange: Sae, mfp: WPA3, ..USUAL },
            Akm::SaeExtKey => &Facts { name: "sae-ext-key", number: 24, exchange: Sae, digest: OfGroup, mfp: WPA3,
                since: Some((2, 11)), is_offered: false, ..USUAL },
            Akm::Owe => &Facts { name: "owe", number: 18, exchange: Owe, digest: OfGroup, mfp: OWE, ..USUAL },
            Akm::WpaEap => &Facts { name: "wpa-eap", number: 1, exchange: Eap, digest: Sha1, version: 2, is_in_wpa: true,
                ..USUAL },
            Akm::WpaEapSha256 => &Facts { name: "wpa-eap-sha256", number: 5, exchange: Eap, version: 3, ..USUAL },
            Akm::WpaEapSuiteB192 => &Facts { name: "wpa-eap-suite-b-192", number: 12, exchange: Eap, digest: Sha384,
                mfp: Some(WPA3_192), pairwise: Some((Suite::Gcmp256, WPA3_192)), is_offered: false, ..USUAL },
        }
    }

    /// hostapd's name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns the suite with this [`name`](Akm::name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Akm> {
        Akm::ALL.into_iter().find(|akm| akm.name() == name)
    }

    /// The selector of the suite, or `None` if this generation does not support it.
    #[must_use]
    pub fn selector(self, protocol: Protocol) -> Option<Selector> {
        let [a, b, c] = protocol.oui();
        (protocol == Protocol::Rsn || self.facts().is_in_wpa).then_some([a, b, c, self.facts().number])
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
        matches!(self.facts().exchange, Exchange::Psk)
    }

    /// Whether the PMK comes from an authentication server.
    #[must_use]
    pub const fn is_eap(self) -> bool {
        matches!(self.facts().exchange, Exchange::Eap)
    }

    /// Whether the suite requires protected management frames.
    #[must_use]
    pub const fn requires_mfp(self) -> bool {
        self.facts().mfp.is_some()
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
            (Akm::WpaEapSuiteB192, 12, false, true),
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
