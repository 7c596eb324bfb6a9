//! The protection of an emulated link, and the source of its keys.

use wlan_bss::{SecretError, Security};
use wlan_ciphers::Suite;
use wlan_frames::Role;
use wlan_rsn::{Akm, Group, ManagementProtection};

/// The SSID of every emulated BSS.
pub const SSID: &[u8] = b"airtoll";

/// The group of SAE and OWE, which every station supports.
const GROUP: Group = Group::P256;

/// The protection of a link, and the source of its keys.
pub enum Keys {
    /// No protection.
    Open,
    /// One shared key, without a handshake (12.3.2).
    Wep(Suite, Vec<u8>),
    /// Keys from a handshake (12.6).
    Rsn(Security),
}

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
    ) -> Result<Keys, SecretError> {
        let secrets = [SSID, passphrase.as_bytes()];
        let mut security = Security::of(suite, akms, secrets, &[GROUP], management)?;
        if is_qos {
            security.policy = security.policy.with_qos();
        }
        Ok(Keys::Rsn(security))
    }

    /// The security of the access point or of each station, which chooses a key management; `None` without WPA or RSN.
    pub fn security(&self, role: Role) -> Option<Security> {
        let Keys::Rsn(security) = self else { return None };
        let mut security = security.clone();
        if role == Role::Sta {
            security.policy.akms = vec![strongest(&security.policy.akms)];
        }
        Some(security)
    }
}

fn strongest(offered: &[Akm]) -> Akm {
    let mut weakest_first = Akm::ALL.into_iter();
    weakest_first
        .rfind(|akm| offered.contains(akm))
        .expect("an access point offers a key management")
}
