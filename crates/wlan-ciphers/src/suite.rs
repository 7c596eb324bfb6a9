//! The cipher suites. `Suite::facts` declares every fact of a suite once; all code asks the suite for its facts.

use wlan_frames::rsn::OUI_LOCAL;

use crate::Lanes;

/// A cipher suite, as named by the RSN element (IEEE 802.11-2020 9.4.2.24.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suite {
    /// WEP with a 40-bit key.
    Wep40,
    /// WEP with a 104-bit key.
    Wep104,
    /// TKIP: WPA.
    Tkip,
    /// CCMP with a 128-bit key and a MIC of 8 octets: WPA2.
    Ccmp128,
    /// CCMP with a 256-bit key and a MIC of 16 octets.
    Ccmp256,
    /// GCMP with a 128-bit key.
    Gcmp128,
    /// GCMP with a 256-bit key: WPA3-Enterprise in its 192-bit mode.
    Gcmp256,
    /// CCMP-128 with the CBC-MAC of each frame split into lanes. Specific to this project: no other implementation
    /// supports it.
    Enhanced(Lanes),
    /// BIP over CMAC with a 128-bit key, for group addressed management frames.
    BipCmac128,
    /// BIP over CMAC with a 256-bit key.
    BipCmac256,
    /// BIP over GMAC with a 128-bit key.
    BipGmac128,
    /// BIP over GMAC with a 256-bit key.
    BipGmac256,
}

/// How a suite protects a frame. The length of the key selects the block cipher: AES-128 or AES-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// RC4 with an ICV.
    Wep,
    /// RC4 with a key per frame, Michael and an ICV.
    Tkip,
    /// Counter with CBC-MAC.
    Ccm,
    /// Counter with CBC-MAC in lanes.
    Lanes(Lanes),
    /// Galois/Counter Mode.
    Gcm,
    /// BIP with CMAC.
    Cmac,
    /// BIP with GMAC.
    Gmac,
}

/// The facts of a suite.
struct Facts {
    name: &'static str,
    spelling: Spelling,
    /// The name on the pages of access points, if it is not the spelling.
    common: Option<&'static str>,
    method: Method,
    oui: [u8; 3],
    /// Type of the suite in its selector.
    number: u8,
    strength: u8,
    key_len: usize,
    mic_len: usize,
    /// Whether WPA has the suite, not only RSN.
    is_in_wpa: bool,
}

/// The name of a suite in text.
enum Spelling {
    /// The spelling of hostapd's files and of wpa_supplicant's status.
    Hostapd(&'static str),
    /// The name of a suite that hostapd does not have.
    Own(&'static str),
}

/// The facts that most suites share.
const OF_RSN: Facts = Facts {
    name: "",
    spelling: Spelling::Own(""),
    common: None,
    method: Method::Ccm,
    oui: [0x00, 0x0f, 0xac],
    number: 0,
    strength: u8::MAX,
    key_len: 16,
    mic_len: 16,
    is_in_wpa: false,
};
/// Enhanced CCMP, which differs from CCMP in its selector and its lanes only.
const ENHANCED: Facts = Facts {
    oui: OUI_LOCAL,
    mic_len: 8,
    ..OF_RSN
};
/// BIP, whose MIC is in an element (9.4.2.54).
const BIP: Facts = Facts {
    mic_len: 26,
    ..OF_RSN
};

impl Suite {
    /// All suites: the suites for any frame from oldest to newest, then BIP.
    pub const ALL: [Suite; 15] = [
        Suite::Wep40,
        Suite::Wep104,
        Suite::Tkip,
        Suite::Ccmp128,
        Suite::Ccmp256,
        Suite::Gcmp128,
        Suite::Gcmp256,
        Suite::Enhanced(Lanes::One),
        Suite::Enhanced(Lanes::Two),
        Suite::Enhanced(Lanes::Four),
        Suite::Enhanced(Lanes::Eight),
        Suite::BipCmac128,
        Suite::BipCmac256,
        Suite::BipGmac128,
        Suite::BipGmac256,
    ];

    /// The suites that a [`TemporalKey`](crate::TemporalKey) supports.
    pub const OF_TEMPORAL_KEYS: [Suite; 8] = [
        Suite::Ccmp128,
        Suite::Ccmp256,
        Suite::Gcmp128,
        Suite::Gcmp256,
        Suite::Enhanced(Lanes::One),
        Suite::Enhanced(Lanes::Two),
        Suite::Enhanced(Lanes::Four),
        Suite::Enhanced(Lanes::Eight),
    ];

    /// The facts. TKIP's key includes the Michael keys; WEP's excludes the IV.
    #[rustfmt::skip]
    const fn facts(self) -> &'static Facts {
        use Method::{Ccm, Cmac, Gcm, Gmac, Tkip, Wep};
        use Spelling::{Hostapd, Own};
        match self {
            Suite::Wep40 => &Facts { name: "wep40", spelling: Hostapd("WEP-40"), method: Wep, number: 1, strength: 0,
                key_len: 5, mic_len: 4, ..OF_RSN },
            Suite::Wep104 => &Facts { name: "wep104", spelling: Hostapd("WEP-104"), method: Wep, number: 5, strength: 1,
                key_len: 13, mic_len: 4, ..OF_RSN },
            Suite::Tkip => &Facts { name: "tkip", spelling: Hostapd("TKIP"), method: Tkip, number: 2, strength: 2,
                key_len: 32, mic_len: 12, is_in_wpa: true, ..OF_RSN },
            Suite::Ccmp128 => &Facts { name: "ccmp", spelling: Hostapd("CCMP"), common: Some("AES"), method: Ccm,
                number: 4, strength: 3, mic_len: 8, is_in_wpa: true, ..OF_RSN },
            Suite::Gcmp128 => &Facts { name: "gcmp", spelling: Hostapd("GCMP"), method: Gcm, number: 8, strength: 4,
                ..OF_RSN },
            Suite::Ccmp256 => &Facts { name: "ccmp256", spelling: Hostapd("CCMP-256"), method: Ccm, number: 10,
                strength: 5, key_len: 32, ..OF_RSN },
            Suite::Gcmp256 => &Facts { name: "gcmp256", spelling: Hostapd("GCMP-256"), method: Gcm, number: 9,
                strength: 6, key_len: 32, ..OF_RSN },
            Suite::Enhanced(Lanes::One) => &Facts { name: "enhanced1", spelling: Own("Enhanced CCMP, 1 lane"),
                method: Method::Lanes(Lanes::One), number: 1, strength: 7, ..ENHANCED },
            Suite::Enhanced(Lanes::Two) => &Facts { name: "enhanced2", spelling: Own("Enhanced CCMP, 2 lanes"),
                method: Method::Lanes(Lanes::Two), number: 2, strength: 8, ..ENHANCED },
            Suite::Enhanced(Lanes::Four) => &Facts { name: "enhanced4", spelling: Own("Enhanced CCMP, 4 lanes"),
                method: Method::Lanes(Lanes::Four), number: 4, strength: 9, ..ENHANCED },
            Suite::Enhanced(Lanes::Eight) => &Facts { name: "enhanced8", spelling: Own("Enhanced CCMP, 8 lanes"),
                method: Method::Lanes(Lanes::Eight), number: 8, strength: 10, ..ENHANCED },
            Suite::BipCmac128 => &Facts { name: "bip-cmac-128", spelling: Hostapd("AES-128-CMAC"), method: Cmac,
                number: 6, mic_len: 18, ..BIP },
            Suite::BipCmac256 => &Facts { name: "bip-cmac-256", spelling: Hostapd("BIP-CMAC-256"), method: Cmac,
                number: 13, key_len: 32, ..BIP },
            Suite::BipGmac128 => &Facts { name: "bip-gmac-128", spelling: Hostapd("BIP-GMAC-128"), method: Gmac,
                number: 11, ..BIP },
            Suite::BipGmac256 => &Facts { name: "bip-gmac-256", spelling: Hostapd("BIP-GMAC-256"), method: Gmac,
                number: 12, key_len: 32, ..BIP },
        }
    }

    /// The usual name: hostapd's where it has one, in lower case, as security levels are spelled.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The suite with this [`name`](Suite::name).
    ///
    /// ```
    /// use wlan_ciphers::Suite;
    /// assert_eq!(Suite::from_name("ccmp"), Some(Suite::Ccmp128));
    /// assert_eq!(Suite::from_name("CCMP-128"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Suite> {
        Suite::ALL.into_iter().find(|suite| suite.name() == name)
    }

    /// The name in text.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self.facts().spelling {
            Spelling::Hostapd(title) | Spelling::Own(title) => title,
        }
    }

    /// The spelling of hostapd's files and of wpa_supplicant's status. `None` if they do not have the suite.
    #[must_use]
    pub const fn hostapd_name(self) -> Option<&'static str> {
        match self.facts().spelling {
            Spelling::Hostapd(name) => Some(name),
            Spelling::Own(_) => None,
        }
    }

    /// The name on the pages of access points.
    #[must_use]
    pub const fn common_name(self) -> &'static str {
        match self.facts().common {
            Some(name) => name,
            None => self.title(),
        }
    }

    /// How the suite protects a frame.
    #[must_use]
    pub const fn method(self) -> Method {
        self.facts().method
    }

    /// The lanes of Enhanced CCMP.
    #[must_use]
    pub const fn lanes(self) -> Option<Lanes> {
        match self.method() {
            Method::Lanes(lanes) => Some(lanes),
            _ => None,
        }
    }

    /// The rank among the pairwise suites that an access point offers: a station prefers the suite with the highest
    /// rank, in the order of wpa_supplicant. Enhanced CCMP is never offered with another suite.
    #[must_use]
    pub const fn strength(self) -> u8 {
        self.facts().strength
    }

    /// Whether WPA has the suite, not only RSN.
    #[must_use]
    pub const fn is_in_wpa(self) -> bool {
        self.facts().is_in_wpa
    }

    /// Whether the suite is BIP, which protects only group addressed management frames and leaves them readable.
    #[must_use]
    pub const fn is_bip(self) -> bool {
        matches!(self.method(), Method::Cmac | Method::Gmac)
    }

    /// Whether the suite is WEP, whose keys do not come from a handshake and which has no replay protection.
    #[must_use]
    pub const fn is_wep(self) -> bool {
        matches!(self.method(), Method::Wep)
    }

    /// Whether the suite is WEP or TKIP, which the standard has deprecated: they protect neither headers nor management
    /// frames, and HT stations do not use them (12.6.3).
    #[must_use]
    pub const fn is_rc4(self) -> bool {
        matches!(self.method(), Method::Wep | Method::Tkip)
    }

    /// Octets between the MAC header and the ciphertext.
    #[must_use]
    pub const fn header_len(self) -> usize {
        match self.method() {
            Method::Wep => 4,
            Method::Cmac | Method::Gmac => 0,
            Method::Tkip | Method::Ccm | Method::Lanes(_) | Method::Gcm => 8,
        }
    }

    /// Octets between the payload and the FCS: MIC and ICV of an unfragmented MSDU, or the MME of BIP.
    #[must_use]
    pub const fn mic_len(self) -> usize {
        self.facts().mic_len
    }

    /// Octets that protection adds to an MPDU.
    #[must_use]
    pub const fn overhead(self) -> usize {
        self.header_len() + self.mic_len()
    }

    /// Octets of the key. TKIP's length includes the Michael keys; WEP's excludes the IV.
    #[must_use]
    pub const fn key_len(self) -> usize {
        self.facts().key_len
    }

    /// Suite selector: OUI and type (9.4.2.24.2).
    #[must_use]
    pub const fn selector(self) -> [u8; 4] {
        let Facts {
            oui: [a, b, c],
            number,
            ..
        } = *self.facts();
        [a, b, c, number]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// OUI type (Table 9-149); octets of the key (Table 12-7), of the security header and of the fields after the
    /// payload (12.3.2.2, 12.5.2.2, 12.5.3.2, 12.5.5.2, 9.4.2.54).
    #[test]
    fn the_suites_of_the_standard_have_its_numbers_and_lengths() {
        let of_the_standard = [
            (Suite::Wep40, 1, 5, 4, 4),
            (Suite::Tkip, 2, 32, 8, 12),
            (Suite::Ccmp128, 4, 16, 8, 8),
            (Suite::Wep104, 5, 13, 4, 4),
            (Suite::BipCmac128, 6, 16, 0, 18),
            (Suite::Gcmp128, 8, 16, 8, 16),
            (Suite::Gcmp256, 9, 32, 8, 16),
            (Suite::Ccmp256, 10, 32, 8, 16),
            (Suite::BipGmac128, 11, 16, 0, 26),
            (Suite::BipGmac256, 12, 32, 0, 26),
            (Suite::BipCmac256, 13, 32, 0, 26),
        ];
        for (suite, number, key_len, header_len, mic_len) in of_the_standard {
            assert_eq!(suite.selector(), [0x00, 0x0f, 0xac, number], "{}", suite.name());
            let lengths = (suite.key_len(), suite.header_len(), suite.mic_len());
            assert_eq!(lengths, (key_len, header_len, mic_len), "{}", suite.name());
            assert_eq!(suite.overhead(), header_len + mic_len);
            assert_eq!(suite.is_bip(), suite.name().starts_with("bip"));
            assert_eq!(
                suite.is_rc4(),
                ["wep40", "wep104", "tkip"].contains(&suite.name())
            );
        }
    }

    /// Enhanced CCMP differs from CCMP-128 in its selector only.
    #[test]
    fn enhanced_ccmp_has_the_lengths_of_ccmp_and_a_local_selector() {
        for (lanes, number) in [
            (Lanes::One, 1),
            (Lanes::Two, 2),
            (Lanes::Four, 4),
            (Lanes::Eight, 8),
        ] {
            let [suite, ccmp] = [Suite::Enhanced(lanes), Suite::Ccmp128];
            let lengths = |suite: Suite| (suite.key_len(), suite.header_len(), suite.mic_len());
            assert_eq!(lengths(suite), lengths(ccmp));
            assert!(!suite.is_bip() && !suite.is_rc4());
            let [a, b, c] = wlan_frames::rsn::OUI_LOCAL;
            assert_eq!(suite.selector(), [a, b, c, number]);
            // Bit 1 of the first octet: locally administered.
            assert_eq!(a & 2, 2);
        }
    }

    #[test]
    fn every_suite_has_a_name_and_a_selector_of_its_own() {
        for suite in Suite::ALL {
            assert_eq!(Suite::from_name(suite.name()), Some(suite));
        }
        let selectors = HashSet::from(Suite::ALL.map(Suite::selector));
        assert_eq!(selectors.len(), Suite::ALL.len());
    }
}
