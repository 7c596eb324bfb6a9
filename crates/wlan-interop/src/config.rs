//! The configuration of an end, from JSON.

use serde::Deserialize;
use wlan_ciphers::Suite;
use wlan_frames::{AddrError, MacAddr};
use wlan_rsn::psk::{PskError, psk};
use wlan_rsn::sae::{Method, PasswordError};
use wlan_rsn::{Akm, Elements, Group, Pmk, Policy, Protocol};

/// Why a configuration is invalid.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The text is not the JSON of a configuration.
    #[error("configuration: {0}")]
    Json(#[from] serde_json::Error),
    /// A word or number is not known.
    #[error("{0}: unknown: {1}")]
    Unknown(&'static str, String),
    /// A MAC address is invalid.
    #[error(transparent)]
    Address(#[from] AddrError),
    /// The passphrase is invalid for PSK.
    #[error("passphrase: {0}")]
    Passphrase(#[from] PskError),
    /// The passphrase is invalid for SAE.
    #[error("passphrase: {0}")]
    Password(#[from] PasswordError),
    /// The policy is inconsistent.
    #[error(transparent)]
    Mismatch(#[from] wlan_rsn::Mismatch),
}

/// The configuration of an end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub role: Role,
    /// The address of the end's radio.
    pub address: String,
    /// Attackers: the addresses of the access point and of the station.
    #[serde(default)]
    pub victims: Vec<String>,
    #[serde(default)]
    pub network: Option<Network>,
    /// The orders that the end executes by itself.
    #[serde(default)]
    pub schedule: Vec<Step>,
    /// When the end stops, after its start.
    pub until_ms: u64,
}

/// The part that a process plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Ap,
    Sta,
    Attacker,
}

/// The network, in the words of security profiles.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    pub ssid: String,
    pub passphrase: String,
    pub wpa_key_mgmt: String,
    pub pairwise: String,
    pub ieee80211w: Protection,
    pub beacon_prot: bool,
    /// 0: hunting and pecking; 1: hash-to-element.
    pub sae_pwe: u8,
    /// Groups of SAE or OWE, the preferred one first.
    pub groups: Vec<u16>,
}

/// Protection of management frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protection {
    Disabled,
    Optional,
    Required,
}

/// An order and its time.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub at_ms: u64,
    pub order: Order,
}

/// An order to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Replace the pairwise key.
    RekeyPairwise,
    /// Replace the group key.
    RekeyGroup,
    /// Leave the peer, with a Deauthentication frame to its address.
    Deauthenticate,
    /// Leave all stations, with a group addressed Deauthentication frame.
    DeauthenticateAll,
    /// Attack: send recorded Data frames again.
    ReplayData,
    /// Attack: send altered Data frames with new packet numbers.
    ForgeData,
    /// Attack: send the recorded frames of the handshake again.
    ReplayHandshake,
    /// Attack: send Deauthentication and Disassociation frames in the name of both ends.
    ForgeDeauthentication,
    /// Attack: send an association request in the name of the station.
    ForgeAssociation,
}

impl Network {
    /// Key management.
    ///
    /// # Errors
    /// [`ConfigError::Unknown`].
    pub fn akm(&self) -> Result<Akm, ConfigError> {
        // An end of the tests has no authentication server, and no hash that depends on the group.
        Akm::from_name(&self.wpa_key_mgmt)
            .filter(|akm| !akm.is_eap() && *akm != Akm::SaeExtKey)
            .ok_or_else(|| ConfigError::Unknown("wpa_key_mgmt", self.wpa_key_mgmt.clone()))
    }

    /// The suites that the end advertises.
    ///
    /// # Errors
    /// [`ConfigError::Unknown`].
    pub fn policy(&self) -> Result<Policy, ConfigError> {
        let suite = Suite::from_name(&self.pairwise)
            .ok_or_else(|| ConfigError::Unknown("pairwise", self.pairwise.clone()))?;
        let protocol = if suite == Suite::Tkip {
            Protocol::Wpa
        } else {
            Protocol::Rsn
        };
        let policy = Policy::of(protocol, self.akm()?, suite);
        Ok(match self.ieee80211w {
            Protection::Disabled => policy,
            Protection::Optional => policy.with_optional_mfp(Suite::BipCmac128),
            Protection::Required => policy.with_mfp(Suite::BipCmac128),
        })
    }

    /// The elements that the end advertises. Without hash-to-element, there is no RSN Extension element.
    ///
    /// # Errors
    /// [`ConfigError::Unknown`].
    pub fn elements(&self) -> Result<Elements, ConfigError> {
        let mut elements = Elements::of(&self.policy()?);
        if self.method() == Method::HuntingAndPecking {
            elements.rsnx.clear();
        }
        Ok(elements)
    }

    /// The PMK of the passphrase; `None` if each association agrees on a PMK.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn pmk(&self) -> Result<Option<Pmk>, ConfigError> {
        Ok(match self.akm()? {
            Akm::Sae | Akm::Owe => None,
            _ => Some(Pmk::of_psk(psk(
                self.passphrase.as_bytes(),
                self.ssid.as_bytes(),
            )?)),
        })
    }

    /// The groups.
    ///
    /// # Errors
    /// [`ConfigError::Unknown`].
    pub fn groups(&self) -> Result<Vec<Group>, ConfigError> {
        let groups = self.groups.iter();
        groups
            .map(|&number| {
                Group::from_number(number).ok_or_else(|| ConfigError::Unknown("groups", number.to_string()))
            })
            .collect()
    }

    /// How SAE maps the password to an element.
    pub fn method(&self) -> Method {
        if self.sae_pwe == 0 {
            Method::HuntingAndPecking
        } else {
            Method::HashToElement
        }
    }
}

impl Config {
    /// The address of the end's radio.
    ///
    /// # Errors
    /// [`ConfigError::Address`].
    pub fn own(&self) -> Result<MacAddr, ConfigError> {
        Ok(self.address.parse()?)
    }
}
