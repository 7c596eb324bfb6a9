//! The configuration of an emulated link.

use std::path::PathBuf;

use serde::Deserialize;
use wlan_bss::SecretError;
use wlan_ciphers::Suite;
use wlan_host::clock::ClockKind;
use wlan_host::tun::Kind;
use wlan_rsn::{Akm, Key};
use wlan_scenario::Scenario;
use wlan_scenario::beacon::GROUP_MANAGEMENT;

use crate::bss::keys::Keys;
use crate::roster::MAX_HOSTS;

/// The configuration of one emulated link.
#[derive(Debug, Deserialize)]
pub struct Config {
    /// The air and its protection. The keys for traffic and duration have no effect: the hosts' programs generate the
    /// traffic.
    pub scenario: Scenario,
    /// The WEP key in hexadecimal digits.
    pub wep_key: Option<String>,
    /// The passphrase from which the keys of all other suites are derived (hostapd's `wpa_passphrase`).
    pub wpa_passphrase: Option<String>,
    /// The beacon integrity group temporal key (BIGTK) in hexadecimal digits, for `beacon_prot`.
    pub beacon_key: Option<String>,
    /// The type of the hosts' devices: IP packets or Ethernet frames.
    pub device: Kind,
    /// The clock of the machine.
    #[serde(default)]
    pub clock: ClockKind,
    /// The path of the capture of the air.
    pub pcap: Option<PathBuf>,
}

/// An invalid configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The WEP key is missing or invalid.
    #[error("wep_key: {} requires {} octets in hexadecimal digits", .0.name(), .0.key_len())]
    WepKey(Suite),
    /// Enhanced CCMP on the host requires an open air.
    #[error("security: with crypto_at host, a link over an open air seals the enhanced frames; use open")]
    SealedByLink,
    /// The emulator does not implement the key management.
    #[error("wpa_key_mgmt: the emulator does not support {0}")]
    KeyManagement(&'static str),
    /// The passphrase is invalid.
    #[error("wpa_passphrase: {0}")]
    Keys(#[from] SecretError),
    /// The beacon key is missing or invalid.
    #[error("beacon_key: {} requires {} octets in hexadecimal digits", .0.name(), .0.key_len())]
    BeaconKey(Suite),
    /// There are too many hosts to emulate in real time.
    #[error("stations: {0} stations are too many for a link in real time (at most {MAX_HOSTS} hosts)")]
    Hosts(usize),
}

impl Config {
    /// The protection of the link, and the source of its keys.
    ///
    /// # Errors
    /// A key or the passphrase is missing or invalid.
    pub fn keys(&self) -> Result<Keys, ConfigError> {
        let scenario = &self.scenario;
        let Some(suite) = scenario.suite() else {
            return Ok(Keys::Open);
        };
        if suite.is_wep() {
            let key = self.wep_key.as_deref().and_then(octets);
            let key = key.filter(|key| key.len() == suite.key_len());
            return Ok(Keys::Wep(suite, key.ok_or(ConfigError::WepKey(suite))?));
        }
        let passphrase = self.wpa_passphrase.as_deref().unwrap_or_default();
        Ok(Keys::of_handshake(
            suite,
            &akms(scenario)?,
            passphrase,
            scenario.management_protection(),
            scenario.tid().is_some(),
        )?)
    }

    /// The key that protects beacons.
    ///
    /// # Errors
    /// The key is missing, not hexadecimal, or of the wrong length.
    pub fn beacon_key(&self) -> Result<Key, ConfigError> {
        octets(self.beacon_key.as_deref().unwrap_or_default())
            .filter(|key| key.len() == GROUP_MANAGEMENT.key_len())
            .map(|key| Key::new(&key))
            .ok_or(ConfigError::BeaconKey(GROUP_MANAGEMENT))
    }
}

/// The key managements that the access point offers.
fn akms(scenario: &Scenario) -> Result<Vec<Akm>, ConfigError> {
    let offered = scenario.key_management();
    offered
        .iter()
        .map(|&akm| match akm.is_eap() {
            true => Err(ConfigError::KeyManagement(akm.name())),
            false => Ok(akm),
        })
        .collect()
}

/// Decodes hexadecimal digits.
fn octets(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let digit = |octet: u8| {
        char::from(octet)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let octets = pairs
        .iter()
        .map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?));
    octets.collect::<Option<_>>().filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use wlan_frames::Role;
    use wlan_rsn::Protocol;
    use wlan_scenario::scenario::testing::scenario;

    use super::*;

    fn config(security: &str) -> Config {
        Config {
            scenario: scenario(&[("security", security.into())]),
            wep_key: None,
            wpa_passphrase: None,
            beacon_key: None,
            device: Kind::Ip,
            clock: ClockKind::Real,
            pcap: None,
        }
    }

    fn keys(config: &Config) -> Result<Keys, String> {
        config.keys().map_err(|error| error.to_string())
    }

    #[test]
    fn a_wep_key_has_the_length_of_its_suite() {
        for (suite, digits) in [("wep40", "1f2e3d4c5b"), ("wep104", "1f2e3d4c5b6a798897a6b5c4d3")] {
            let of = |wep_key: Option<&str>| {
                keys(&Config {
                    wep_key: wep_key.map(Into::into),
                    ..config(suite)
                })
            };
            let Ok(Keys::Wep(_, key)) = of(Some(digits)) else {
                panic!("{suite}")
            };
            assert_eq!((key[0], 2 * key.len()), (0x1f, digits.len()));
            let multibyte = format!("é{}", &digits[2..]);
            for wrong in [
                None,
                Some(""),
                Some(&digits[1..]),
                Some(&digits[2..]),
                Some(&multibyte),
            ] {
                let words = of(wrong).err().unwrap();
                let needed = format!("wep_key: {suite} requires {} octets", digits.len() / 2);
                assert!(words.starts_with(&needed), "{words}");
            }
        }
    }

    #[test]
    fn passphrases_that_the_standard_excludes_are_refused() {
        let of = |security, wpa_passphrase: &str| {
            keys(&Config {
                wpa_passphrase: Some(wpa_passphrase.into()),
                ..config(security)
            })
        };
        let protocol = |security| {
            of(security, "a toll on the air")
                .map(|keys| keys.security(Role::Ap).map(|security| security.policy.protocol))
        };
        assert_eq!(protocol("open"), Ok(None));
        assert_eq!(protocol("tkip"), Ok(Some(Protocol::Wpa)));
        assert_eq!(protocol("ccmp"), Ok(Some(Protocol::Rsn)));
        let said = of("ccmp", "short").err().unwrap();
        assert!(
            said.starts_with("wpa_passphrase: a passphrase has 8 to 63 characters, not 5"),
            "{said}"
        );
    }
}
