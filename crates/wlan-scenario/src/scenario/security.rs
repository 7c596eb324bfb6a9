//! The security of the BSS: suite, key management, protection of management frames and beacons.

use serde::Deserialize;
use wlan_air::phy::Phy;
use wlan_ciphers::Suite;
use wlan_rsn::{Akm, ManagementProtection};

use super::BadScenario;
use crate::air::check_suite;
use crate::words::{Ieee80211w, Level, Word};

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct SecurityWords {
    security: Level,
    wpa_key_mgmt: Option<Word<Akm>>,
    ieee80211w: Option<Ieee80211w>,
    beacon_prot: Option<bool>,
    beacon_interval_tu: Option<u64>,
}

/// The security of a BSS, as the standard allows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Security {
    /// `None` for `open`.
    pub suite: Option<Suite>,
    pub akm: Akm,
    pub management: ManagementProtection,
    /// `None` if there are no beacons.
    pub beacon_interval_tu: Option<u64>,
}

impl SecurityWords {
    /// The security on a PHY.
    pub fn on(&self, phy: &Phy) -> Result<Security, BadScenario> {
        let Level(suite) = self.security;
        if let Some(suite) = suite {
            check_suite(suite, phy)?;
        }
        let akm = self.wpa_key_mgmt.map_or(Akm::WpaPsk, |Word(akm)| akm);
        if akm != Akm::WpaPsk && suite == Some(Suite::Tkip) {
            return Err(BadScenario::Together(
                "security tkip uses WPA, which supports only wpa_key_mgmt wpa-psk",
            ));
        }
        let management = self.management(akm)?;
        let has_none = suite.is_none_or(Suite::is_rc4);
        Ok(Security {
            suite,
            akm,
            management: if has_none {
                ManagementProtection::default()
            } else {
                management
            },
            beacon_interval_tu: self.beacon_interval_tu.filter(|&interval_tu| interval_tu > 0),
        })
    }

    /// The protection of management frames by a suite that provides it.
    fn management(&self, akm: Akm) -> Result<ManagementProtection, BadScenario> {
        let must_be_required = akm.requires_mfp();
        let (is_capable, is_required) = match self.ieee80211w {
            Some(Ieee80211w::Disabled | Ieee80211w::Optional) if must_be_required => {
                return Err(BadScenario::Together(
                    "wpa_key_mgmt sae requires ieee80211w required, its default (WPA3 Specification 3.1, section 2)",
                ));
            }
            None => (must_be_required, must_be_required),
            Some(Ieee80211w::Disabled) => (false, false),
            Some(Ieee80211w::Optional) => (true, false),
            Some(Ieee80211w::Required) => (true, true),
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
