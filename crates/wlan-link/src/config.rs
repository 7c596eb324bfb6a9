//! What an emulated link is to be like, as it is asked for by name.

use std::path::PathBuf;

use serde::Deserialize;
use wlan_ciphers::{Bip, Suite};

use crate::beacon::GROUP_MANAGEMENT;
use crate::roster::MAX_HOSTS;
use crate::scenario::Scenario;

/// The configuration of one emulated link.
#[derive(Debug, Deserialize)]
pub struct Config {
    /// The air and what protects it. Its words for traffic and time say nothing here: hosts send what programs send.
    pub scenario: Scenario,
    /// The pairwise temporal key of each station in hexadecimal digits; none for `open`.
    pub temporal_keys: Vec<String>,
    /// The beacon integrity group temporal key in hexadecimal digits, for `beacon_prot`.
    pub beacon_key: Option<String>,
    /// Where to write a capture of the air.
    pub pcap: Option<PathBuf>,
}

/// A configuration that asks for something that there is not.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A temporal key does not fit the suite, or a station has none.
    #[error("temporal_keys: {} needs {} octets in hexadecimal digits for each station", .0.name(), .0.key_len())]
    TemporalKey(Suite),
    /// The beacon key does not fit.
    #[error("beacon_key: {} needs {} octets in hexadecimal digits", .0.name(), .0.key_len())]
    BeaconKey(Suite),
    /// More hosts than can be kept in time.
    #[error("stations: {0} are too many for a link in real time: {MAX_HOSTS} hosts are the most")]
    Hosts(usize),
}

impl Config {
    /// The temporal key for `suite` that station `station` (from 1) has with the access point.
    ///
    /// # Errors
    /// It is missing, not hexadecimal, or of another length.
    pub fn temporal_key(&self, suite: Suite, station: usize) -> Result<Vec<u8>, ConfigError> {
        let digits = self.temporal_keys.get(station - 1).map_or("", String::as_str);
        octets(digits)
            .filter(|key| key.len() == suite.key_len())
            .ok_or(ConfigError::TemporalKey(suite))
    }

    /// The key that protects beacons.
    ///
    /// # Errors
    /// It is missing, not hexadecimal, or of another length.
    pub fn beacon_key(&self) -> Result<Bip, ConfigError> {
        octets(self.beacon_key.as_deref().unwrap_or_default())
            .and_then(|key| Bip::new(GROUP_MANAGEMENT, &key).ok())
            .ok_or(ConfigError::BeaconKey(GROUP_MANAGEMENT))
    }
}

/// The octets that hexadecimal digits stand for.
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
    use super::*;
    use crate::scenario::tests::scenario;

    fn config(security: &str, temporal_key: Option<&str>) -> Config {
        Config {
            scenario: scenario(&[("security", security.into())]),
            temporal_keys: temporal_key.map(Into::into).into_iter().collect(),
            beacon_key: None,
            pcap: None,
        }
    }

    #[test]
    fn a_temporal_key_is_as_long_as_its_suite_wants_it() {
        let digits: String = (0..64_u8).map(|octet| format!("{octet:02x}")).collect();
        for suite in Suite::ALL.into_iter().filter(|suite| !suite.is_bip()) {
            let len_b = suite.key_len();
            let key = |digits| config(suite.name(), digits).temporal_key(suite, 1);
            let octets: Vec<u8> = (0..64).take(len_b).collect();
            assert_eq!(key(Some(&digits[..2 * len_b])).unwrap(), octets);
            let multibyte = format!("é{}", &digits[..2 * len_b - 2]);
            for wrong in [
                None,
                Some(""),
                Some(&digits[..2 * len_b - 1]),
                Some(&digits[..2 * len_b + 2]),
                Some(&multibyte),
            ] {
                let words = key(wrong).unwrap_err().to_string();
                assert!(
                    words.contains(&format!("{} needs {len_b} octets", suite.name())),
                    "{words}"
                );
            }
        }
    }
}
