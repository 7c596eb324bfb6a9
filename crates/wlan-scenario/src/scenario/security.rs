//! The security of the BSS: suite, key management, protection of management frames and beacons.

use serde::Deserialize;
use wlan_air::phy::Phy;
use wlan_ciphers::Suite;
use wlan_rsn::{Akm, ManagementProtection, Protocol};

use super::BadScenario;
use crate::air::check_suite;
use crate::words::{Ieee80211w, Level, WordList, Words};

impl Words for Akm {
    const WORDS: &'static [(&'static str, Self)] = &{
        let mut words = [("", Akm::WpaPsk); Akm::ALL.len()];
        let mut place = 0;
        while place < words.len() {
            words[place] = (Akm::ALL[place].name(), Akm::ALL[place]);
            place += 1;
        }
        words
    };
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SecurityWords {
    pub security: Level,
    wpa_key_mgmt: Option<WordList<Akm>>,
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
    pub key_management: Vec<Akm>,
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
        let key_management = self.wpa_key_mgmt.map_or(vec![Akm::WpaPsk], |WordList(all)| all);
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
        let offered = self.wpa_key_mgmt.iter().flat_map(|WordList(all)| all.clone());
        // Stations without protection can associate by a key management without a rule.
        let (with_rule, others): (Vec<Akm>, Vec<Akm>) = offered.partition(|akm| akm.requires_mfp());
        let may_be_optional = !others.is_empty();
        let rule = with_rule.first().copied();
        let (is_capable, is_required) = match (self.ieee80211w, rule) {
            (Some(Ieee80211w::Disabled), Some(_)) if may_be_optional => {
                return Err(BadScenario::together(
                    "ieee80211w: disabled is not allowed in transition mode; use optional, its default",
                ));
            }
            (Some(Ieee80211w::Disabled | Ieee80211w::Optional), Some(rule)) if !may_be_optional => {
                let (akm, source) = (rule.name(), rule.facts().mfp.unwrap_or_default());
                let text = format!("wpa_key_mgmt {akm} requires ieee80211w required, its default ({source})");
                return Err(BadScenario::together(text));
            }
            (None, rule) => (rule.is_some(), rule.is_some() && !may_be_optional),
            (Some(Ieee80211w::Disabled), _) => (false, false),
            (Some(Ieee80211w::Optional), _) => (true, false),
            (Some(Ieee80211w::Required), _) => (true, true),
        };
        let of_beacons = self.beacon_prot.unwrap_or(false);
        if of_beacons && !is_capable {
            return Err(BadScenario::together(
                "beacon_prot requires ieee80211w optional or required (IEEE Std 802.11-2020, 11.52)",
            ));
        }
        if of_beacons && self.beacon_interval_tu.unwrap_or(0) == 0 {
            return Err(BadScenario::together(
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
fn check_key_management(offered: &[Akm], suite: Option<Suite>) -> Result<(), BadScenario> {
    let Some(suite) = suite.filter(|suite| !suite.is_wep()) else {
        return Ok(());
    };
    if Protocol::of(suite) == Protocol::Wpa && !offered.iter().all(|akm| akm.facts().is_in_wpa) {
        let of_wpa = Akm::ALL.into_iter().filter(|akm| akm.facts().is_in_wpa);
        return Err(BadScenario::together(format!(
            "security {} uses WPA, which supports only wpa_key_mgmt {}",
            suite.name(),
            of_wpa.map(Akm::name).collect::<Vec<_>>().join(" and ")
        )));
    }
    for akm in offered {
        if let Some((only, source)) = akm.facts().pairwise.filter(|(only, _)| *only != suite) {
            let (akm, only) = (akm.name(), only.name());
            let text = format!("wpa_key_mgmt {akm} requires {only} ({source})");
            return Err(BadScenario::together(text));
        }
    }
    Ok(())
}
