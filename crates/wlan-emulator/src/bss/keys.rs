//! The protection of an emulated link, and the source of its keys.

use std::sync::Arc;

use wlan_ciphers::Suite;
use wlan_rsn::psk::{PskError, psk};
use wlan_rsn::sae::{Password, PasswordError};
use wlan_rsn::{Akm, Group, ManagementProtection, Pmk, Policy, Protocol};
use wlan_scenario::beacon::GROUP_MANAGEMENT;

/// The SSID of every emulated BSS.
pub const SSID: &[u8] = b"airtoll";

/// The group of SAE and OWE, which every station supports.
pub const GROUP: Group = Group::P256;

/// Why no keys can be derived from a passphrase.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The passphrase is invalid for PSK.
    #[error("wpa_passphrase: {0}")]
    Passphrase(#[from] PskError),
    /// The password is invalid for SAE.
    #[error("wpa_passphrase: {0}")]
    Password(#[from] PasswordError),
}

/// The protection of a link, and the source of its keys.
pub enum Keys {
    /// No protection.
    Open,
    /// One shared key, without a handshake (12.3.2).
    Wep(Suite, Vec<u8>),
    /// Keys from a handshake (12.6).
    Rsn(Policy, Secret),
}

/// The shared secret of both ends.
pub enum Secret {
    /// The PMK itself.
    Psk(Pmk),
    /// The SAE password.
    Sae(Arc<Password>),
    /// None: each association agrees on a PMK.
    Owe,
}

/// The key managements that a station prefers, the strongest first.
const PREFERRED: [Akm; 4] = [Akm::Sae, Akm::Owe, Akm::WpaPskSha256, Akm::WpaPsk];

impl Keys {
    /// The keys of a suite: WPA for TKIP, RSN for all other suites. The access point offers `akms`, and stations
    /// choose the strongest. `is_qos` says whether the BSS has QoS.
    ///
    /// # Errors
    /// The passphrase is invalid.
    ///
    /// # Panics
    /// If `akms` is empty.
    pub fn of_handshake(
        suite: Suite,
        akms: &[Akm],
        passphrase: &str,
        management: ManagementProtection,
        is_qos: bool,
    ) -> Result<Keys, KeysError> {
        let protocol = if suite == Suite::Tkip {
            Protocol::Wpa
        } else {
            Protocol::Rsn
        };
        let akm = strongest(akms);
        let mut policy = Policy::of(protocol, akm, suite);
        policy.akms = akms.to_vec();
        if management.is_required {
            policy = policy.with_mfp(GROUP_MANAGEMENT);
        } else if management.is_capable {
            policy = policy.with_optional_mfp(GROUP_MANAGEMENT);
        }
        if is_qos {
            policy = policy.with_qos();
        }
        let secret = match akm {
            Akm::Sae => Secret::Sae(Arc::new(Password::new(
                SSID,
                passphrase.as_bytes(),
                None,
                &[GROUP],
            )?)),
            Akm::Owe => Secret::Owe,
            _ => Secret::Psk(Pmk::of_psk(psk(passphrase.as_bytes(), SSID)?)),
        };
        Ok(Keys::Rsn(policy, secret))
    }

    /// The policy that stations advertise: the access point's, with the key management that they choose. `None` without
    /// WPA or RSN.
    pub fn station_policy(&self) -> Option<Policy> {
        let policy = self.policy()?;
        Some(Policy {
            akms: vec![strongest(&policy.akms)],
            ..policy.clone()
        })
    }

    /// The policy that the access point advertises; `None` without WPA or RSN.
    pub fn policy(&self) -> Option<&Policy> {
        match self {
            Keys::Rsn(policy, _) => Some(policy),
            Keys::Open | Keys::Wep(..) => None,
        }
    }
}

fn strongest(offered: &[Akm]) -> Akm {
    PREFERRED
        .into_iter()
        .find(|akm| offered.contains(akm))
        .expect("an access point offers a key management")
}
