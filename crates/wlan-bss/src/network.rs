//! The configuration of a network, at each of its ends.

use std::sync::Arc;

use wlan_ciphers::Suite;
use wlan_frames::beacon::CAPABILITY_QOS;
use wlan_rsn::psk::{PskError, psk};
use wlan_rsn::sae::{self, Password, PasswordError};
use wlan_rsn::{Akm, Elements, Group, ManagementProtection, Pmk, Policy, Protocol};

/// Cipher of group addressed management frames: hostapd's default.
pub const GROUP_MANAGEMENT: Suite = Suite::BipCmac128;

/// A network, as one end is configured for it.
#[derive(Clone)]
pub struct Network {
    /// SSID.
    pub ssid: Vec<u8>,
    /// The capabilities of this end.
    pub capabilities: Capabilities,
    /// RSN or WPA. Without it, this crate encrypts no frame: a network with WEP has static keys, and its caller seals and
    /// opens the frames.
    pub security: Option<Security>,
}

/// The capabilities of an end, as its frames carry them.
#[derive(Clone)]
pub struct Capabilities {
    /// Capability Information (9.4.1.4).
    pub information: u16,
    /// Complete elements of all frames that describe the end, in any order: rates, HT and VHT capabilities, WMM, ...
    /// A WMM element is left out of a frame to a peer without QoS. The security elements are not among them.
    pub elements: Vec<u8>,
}

/// RSN or WPA, and the secrets of its key managements. Only the secrets of the offered key managements are necessary.
#[derive(Clone)]
pub struct Security {
    /// The suites that an access point offers, or that a station chooses.
    pub policy: Policy,
    /// PSK: the PMK of the passphrase.
    pub psk: Option<Pmk>,
    /// The password of SAE.
    pub password: Option<Arc<Password>>,
    /// SAE. A station with hunting-and-pecking uses no other method. The groups are also those of OWE.
    pub sae: sae::Config,
}

/// Why a passphrase is no secret of a key management.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// It is invalid for PSK.
    #[error(transparent)]
    Psk(#[from] PskError),
    /// It is invalid for SAE.
    #[error(transparent)]
    Sae(#[from] PasswordError),
}

impl Security {
    /// WPA for TKIP and RSN for all other suites, with the secrets of `akms`. SAE uses hash-to-element, and OWE requires no
    /// passphrase.
    ///
    /// # Errors
    /// [`SecretError`].
    ///
    /// # Panics
    /// If `akms` is empty.
    pub fn of(
        suite: Suite,
        akms: &[Akm],
        [ssid, passphrase]: [&[u8]; 2],
        groups: &[Group],
        management: ManagementProtection,
    ) -> Result<Self, SecretError> {
        let mut policy = Policy::of(Protocol::of(suite), akms[0], suite);
        policy.akms = akms.to_vec();
        if management.is_required {
            policy = policy.with_mfp(GROUP_MANAGEMENT);
        } else if management.is_capable {
            policy = policy.with_optional_mfp(GROUP_MANAGEMENT);
        }
        let (mut pmk, mut password) = (None, None);
        for akm in akms {
            match akm {
                Akm::Sae => password = Some(Arc::new(Password::new(ssid, passphrase, None, groups)?)),
                Akm::Owe => {}
                _ => pmk = Some(Pmk::of_psk(psk(passphrase, ssid)?)),
            }
        }
        Ok(Self {
            policy,
            psk: pmk,
            password,
            sae: sae::Config {
                groups: groups.to_vec(),
                ..sae::Config::default()
            },
        })
    }

    /// The elements that the end advertises. With hunting-and-pecking, there is no RSN Extension element.
    pub fn elements(&self) -> Elements {
        let mut elements = Elements::of(&self.policy);
        if self.sae.hunting_and_pecking {
            elements.rsnx.clear();
        }
        elements
    }

    /// Whether this is the only key management.
    pub(crate) fn is_only(&self, akm: Akm) -> bool {
        self.policy.akms == [akm]
    }
}

impl Network {
    /// The security elements that the end advertises.
    pub fn security_elements(&self) -> Elements {
        self.security.as_ref().map(Security::elements).unwrap_or_default()
    }

    /// Whether the end sends QoS Data frames to peers with QoS.
    pub(crate) fn has_qos(&self) -> bool {
        self.capabilities.information & CAPABILITY_QOS != 0
    }
}
