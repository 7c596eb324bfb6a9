//! How an emulated link is protected, and what its keys come from.

use std::sync::Arc;

use wlan_ciphers::Suite;
use wlan_rsn::psk::{PskError, psk};
use wlan_rsn::sae::{Password, PasswordError};
use wlan_rsn::{Akm, Group, ManagementProtection, Pmk, Policy, Protocol};
use wlan_scenario::beacon::GROUP_MANAGEMENT;

/// What every emulated BSS is called.
pub const SSID: &[u8] = b"airtoll";

/// Why no keys come of a passphrase.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// No passphrase of PSK.
    #[error("wpa_passphrase: {0}")]
    Passphrase(#[from] PskError),
    /// No password of SAE.
    #[error("wpa_passphrase: {0}")]
    Password(#[from] PasswordError),
}

/// How a link is protected, and what its keys come from.
pub enum Keys {
    /// Not at all.
    Open,
    /// By one key that all know, and no handshake (12.3.2).
    Wep(Suite, Vec<u8>),
    /// By keys of a handshake (12.6).
    Rsn(Policy, Secret),
}

/// What both ends know beforehand.
pub enum Secret {
    /// The PMK itself.
    Psk(Pmk),
    /// A password of SAE.
    Sae(Arc<Password>),
}

impl Keys {
    /// Those of a suite: WPA with TKIP, RSN with the others of both; `is_qos` says whether the BSS has QoS.
    ///
    /// # Errors
    /// The passphrase is invalid.
    pub fn of_handshake(
        suite: Suite,
        akm: Akm,
        passphrase: &str,
        management: ManagementProtection,
        is_qos: bool,
    ) -> Result<Keys, KeysError> {
        let protocol = if suite == Suite::Tkip {
            Protocol::Wpa
        } else {
            Protocol::Rsn
        };
        let mut policy = Policy::of(protocol, akm, suite);
        if management.is_required {
            policy = policy.with_mfp(GROUP_MANAGEMENT);
        } else if management.is_capable {
            policy = policy.with_optional_mfp(GROUP_MANAGEMENT);
        }
        if is_qos {
            policy = policy.with_qos();
        }
        let secret = if akm == Akm::Sae {
            Secret::Sae(Arc::new(Password::new(
                SSID,
                passphrase.as_bytes(),
                None,
                &[Group::P256],
            )?))
        } else {
            Secret::Psk(Pmk::of_psk(psk(passphrase.as_bytes(), SSID)?))
        };
        Ok(Keys::Rsn(policy, secret))
    }

    /// What the access point and its stations advertise; `None` without RSN.
    pub fn policy(&self) -> Option<&Policy> {
        match self {
            Keys::Rsn(policy, _) => Some(policy),
            Keys::Open | Keys::Wep(..) => None,
        }
    }
}
