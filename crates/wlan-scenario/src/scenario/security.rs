//! The security of the BSS: suite, key management, protection of management frames and beacons.

use serde::Deserialize;
use wlan_air::phy::Phy;
use wlan_ciphers::Suite;
use wlan_rsn::{Akm, ManagementProtection};

use super::BadScenario;
use crate::air::check_suite;
use crate::words::{Ieee80211w, Level, WordList, Words, word_of};

/// The source of a link's keys, in hostapd's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyManagement {
    /// A pre-shared key, with SHA-1.
    WpaPsk,
    /// A pre-shared key, with SHA-256.
    WpaPskSha256,
    /// SAE, whose keys have 32 octets.
    Sae,
    /// SAE, whose keys have the length of the group's hash.
    SaeExtKey,
    /// Opportunistic wireless encryption.
    Owe,
    /// 802.1X, with SHA-1.
    WpaEap,
    /// 802.1X, with SHA-256.
    WpaEapSha256,
    /// 802.1X, with suites of 192 bits.
    WpaEapSuiteB192,
}

impl Words for KeyManagement {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("wpa-psk", Self::WpaPsk),
        ("wpa-psk-sha256", Self::WpaPskSha256),
        ("sae", Self::Sae),
        ("sae-ext-key", Self::SaeExtKey),
        ("owe", Self::Owe),
        ("wpa-eap", Self::WpaEap),
        ("wpa-eap-sha256", Self::WpaEapSha256),
        ("wpa-eap-suite-b-192", Self::WpaEapSuiteB192),
    ];
}

impl KeyManagement {
    /// The word in study files.
    #[must_use]
    pub fn word(self) -> &'static str {
        word_of(self)
    }

    /// The suite of a handshake that the emulated air performs; `None` if `wlan-rsn` does not implement the handshake, or
    /// if it requires an authentication server.
    #[must_use]
    pub fn akm(self) -> Option<Akm> {
        Akm::from_name(self.word()).filter(|akm| !akm.is_eap())
    }

    /// Why management frames must be protected; `None` if they need not be.
    fn mfp_rule(self) -> Option<&'static str> {
        match self {
            Self::WpaPsk | Self::WpaPskSha256 | Self::WpaEap | Self::WpaEapSha256 => None,
            Self::Sae => Some(
                "wpa_key_mgmt sae requires ieee80211w required, its default (WPA3 Specification 3.1, section 2)",
            ),
            Self::SaeExtKey => Some(
                "wpa_key_mgmt sae-ext-key requires ieee80211w required, its default (WPA3 Specification 3.1, section 2)",
            ),
            Self::Owe => Some(
                "wpa_key_mgmt owe requires ieee80211w required, its default (Opportunistic Wireless Encryption \
                 Specification 1.1, section 2)",
            ),
            Self::WpaEapSuiteB192 => Some(
                "wpa_key_mgmt wpa-eap-suite-b-192 requires ieee80211w required, its default (WPA3 Specification 3.1, \
                 WPA3-Enterprise 192-bit mode)",
            ),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SecurityWords {
    pub security: Level,
    wpa_key_mgmt: Option<WordList<KeyManagement>>,
    ieee80211w: Option<Ieee80211w>,
    beacon_prot: Option<bool>,
    beacon_interval_tu: Option<u64>,
}

/// The security of a BSS, as the standard allows it.
#[derive(Clone, Debug)]
pub(super) struct Security {
    /// `None` for `open`.
    pub suite: Option<Suite>,
    /// The key managements that the access point offers. There are several in transition mode.
    pub key_management: Vec<KeyManagement>,
    pub management: ManagementProtection,
    /// `None` if there are no beacons.
    pub beacon_interval_tu: Option<u64>,
}

impl SecurityWords {
    /// The security on a PHY.
    pub fn on(self, phy: &Phy) -> Result<Security, BadScenario> {
        let Level(suite) = self.security;
        if let Some(suite) = suite {
            check_suite(suite, phy)?;
        }
        let management = self.management()?;
        let beacon_interval_tu = self.beacon_interval_tu.filter(|&interval_tu| interval_tu > 0);
        let key_management = self
            .wpa_key_mgmt
            .map_or(vec![KeyManagement::WpaPsk], |WordList(all)| all);
        check_key_management(&key_management, suite)?;
        let has_none = suite.is_none_or(Suite::is_rc4);
        Ok(Security {
            suite,
            key_management,
            management: if has_none {
                ManagementProtection::default()
            } else {
                management
            },
            beacon_interval_tu,
        })
    }

    /// The protection of management frames by a suite that provides it.
    fn management(&self) -> Result<ManagementProtection, BadScenario> {
        let offered = self.wpa_key_mgmt.iter().flat_map(|WordList(all)| all);
        let rules: Vec<_> = offered.map(|one| one.mfp_rule()).collect();
        // Stations without protection can associate by another key management.
        let may_be_optional = rules.iter().any(Option::is_none);
        let rule = rules.into_iter().flatten().next();
        let (is_capable, is_required) = match (self.ieee80211w, rule) {
            (Some(Ieee80211w::Disabled), Some(_)) if may_be_optional => {
                return Err(BadScenario::Together(
                    "ieee80211w: disabled is not allowed in transition mode; use optional, its default",
                ));
            }
            (Some(Ieee80211w::Disabled | Ieee80211w::Optional), Some(rule)) if !may_be_optional => {
                return Err(BadScenario::Together(rule));
            }
            (None, rule) => (rule.is_some(), rule.is_some() && !may_be_optional),
            (Some(Ieee80211w::Disabled), _) => (false, false),
            (Some(Ieee80211w::Optional), _) => (true, false),
            (Some(Ieee80211w::Required), _) => (true, true),
        };
        let of_beacons = self.beacon_prot.unwrap_or(false);
        if of_beacons && !is_capable {
            return Err(BadScenario::Together(
                "beacon_prot requires ieee80211w optional or required (IEEE Std 802.11-2020, 11.52)",
            ));
        }
        if of_beacons && self.beacon_interval_tu.unwrap_or(0) == 0 {
            return Err(BadScenario::Together(
                "beacon_prot requires beacons: set beacon_interval",
            ));
        }
        Ok(ManagementProtection {
            is_capable,
            is_required,
            of_beacons,
        })
    }
}

/// Checks that stations with the suite can use every key management.
fn check_key_management(offered: &[KeyManagement], suite: Option<Suite>) -> Result<(), BadScenario> {
    let is_of_wpa = |one: &KeyManagement| matches!(one, KeyManagement::WpaPsk | KeyManagement::WpaEap);
    match suite {
        Some(Suite::Tkip) if !offered.iter().all(is_of_wpa) => Err(BadScenario::Together(
            "security tkip uses WPA, which supports only wpa_key_mgmt wpa-psk and wpa-eap",
        )),
        Some(suite)
            if !suite.is_rc4()
                && suite != Suite::Gcmp256
                && offered.contains(&KeyManagement::WpaEapSuiteB192) =>
        {
            Err(BadScenario::Together(
                "wpa_key_mgmt wpa-eap-suite-b-192 requires gcmp256 (WPA3 Specification 3.1, WPA3-Enterprise 192-bit mode)",
            ))
        }
        _ => Ok(()),
    }
}
