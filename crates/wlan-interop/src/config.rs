//! The configuration of an end, from JSON.

use serde::Deserialize;
use wlan_bss::elements::{ID_SUPPORTED_RATES, WMM};
use wlan_bss::{Capabilities, SecretError, Security};
use wlan_ciphers::Suite;
use wlan_frames::beacon::{CAPABILITY_ESS, CAPABILITY_PRIVACY, CAPABILITY_QOS, push_element};
use wlan_frames::rsn::ID_VENDOR;
use wlan_frames::{AddrError, MacAddr};
use wlan_rsn::{Akm, Group, ManagementProtection};

/// Capability Information of both ends.
pub const CAPABILITY: u16 = CAPABILITY_ESS | CAPABILITY_PRIVACY | CAPABILITY_QOS;
/// The rates of clause 17 in units of 500 kb/s; 6, 12 and 24 Mb/s are basic rates.
const RATES: [u8; 8] = [0x8c, 18, 0x98, 36, 0xb0, 72, 96, 108];
/// Subtype and version of a WMM Information element, and QoS Info without U-APSD.
const WMM_INFORMATION: &[u8] = &[0, 1, 0];
/// The same of a WMM Parameter element, a reserved octet, and the default parameters of each category: ACI and AIFSN,
/// contention windows, TXOP limit.
const WMM_PARAMETERS: &[u8] = &[
    1, 1, 0, 0, //
    0x03, 0xa4, 0, 0, //
    0x27, 0xa4, 0, 0, //
    0x42, 0x43, 94, 0, //
    0x62, 0x32, 47, 0,
];

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
    /// The passphrase is invalid.
    #[error("passphrase: {0}")]
    Passphrase(#[from] SecretError),
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
    /// The network of an end with this role.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn of(&self, role: Role) -> Result<wlan_bss::Network, ConfigError> {
        let (ssid, passphrase) = (self.ssid.as_bytes(), self.passphrase.as_bytes());
        let groups = self.groups()?;
        let suite = Suite::from_name(&self.pairwise)
            .ok_or_else(|| ConfigError::Unknown("pairwise", self.pairwise.clone()))?;
        let management = ManagementProtection {
            is_capable: self.ieee80211w != Protection::Disabled,
            is_required: self.ieee80211w == Protection::Required,
            of_beacons: self.beacon_prot,
        };
        let mut security = Security::of(suite, &[self.akm()?], [ssid, passphrase], &groups, management)?;
        if self.sae_pwe == 0 {
            security.sae.hunting_and_pecking = true;
        }
        let mut elements = Vec::new();
        push_element(&mut elements, ID_SUPPORTED_RATES, &RATES);
        let wmm = if role == Role::Ap {
            WMM_PARAMETERS
        } else {
            WMM_INFORMATION
        };
        push_element(&mut elements, ID_VENDOR, &[&WMM, wmm].concat());
        Ok(wlan_bss::Network {
            ssid: ssid.to_vec(),
            capabilities: Capabilities {
                information: CAPABILITY,
                elements,
            },
            security: Some(security),
        })
    }

    /// Key management.
    ///
    /// # Errors
    /// [`ConfigError::Unknown`].
    fn akm(&self) -> Result<Akm, ConfigError> {
        // An end of the tests has no authentication server, and no hash that depends on the group.
        Akm::from_name(&self.wpa_key_mgmt)
            .filter(|akm| !akm.is_eap() && akm.facts().is_offered)
            .ok_or_else(|| ConfigError::Unknown("wpa_key_mgmt", self.wpa_key_mgmt.clone()))
    }

    /// The groups.
    ///
    /// # Errors
    /// [`ConfigError::Unknown`].
    fn groups(&self) -> Result<Vec<Group>, ConfigError> {
        let groups = self.groups.iter();
        groups
            .map(|&number| {
                Group::from_number(number).ok_or_else(|| ConfigError::Unknown("groups", number.to_string()))
            })
            .collect()
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
