//! Advertised suites and the negotiation of an association (IEEE 802.11-2020 12.6.3).

use wlan_ciphers::Suite;
use wlan_frames::rsn::{
    ID_RSNX, RSNX_SAE_HASH_TO_ELEMENT, RsnCapabilities, RsnElement, Selector, WpaElement,
};

use crate::{Akm, Protocol};

/// The suites that an access point offers or a station chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// RSN or WPA.
    pub protocol: Protocol,
    /// Cipher of group addressed frames.
    pub group: Suite,
    /// Ciphers of individually addressed frames. A station lists exactly one.
    pub pairwise: Vec<Suite>,
    /// Key managements. A station lists exactly one.
    pub akms: Vec<Akm>,
    /// RSN Capabilities: MFPR, MFPC, replay counters, extended Key IDs.
    pub capabilities: RsnCapabilities,
    /// Cipher of group addressed management frames, if they are protected: one of BIP.
    pub group_management: Option<Suite>,
}

impl Policy {
    /// One cipher for all data frames, one key management, no protection of management frames.
    #[must_use]
    pub fn of(protocol: Protocol, akm: Akm, suite: Suite) -> Policy {
        Policy {
            protocol,
            group: suite,
            pairwise: vec![suite],
            akms: vec![akm],
            capabilities: RsnCapabilities::default(),
            group_management: None,
        }
    }

    /// This policy with management frame protection required: MFPC and MFPR are 1.
    #[must_use]
    pub fn with_mfp(self, bip: Suite) -> Policy {
        let mut policy = self.with_optional_mfp(bip);
        policy.capabilities = policy.capabilities.with(RsnCapabilities::MFP_REQUIRED, true);
        policy
    }

    /// This policy with management frame protection if the other end supports it: MFPC is 1 and MFPR is 0. A BSS that
    /// offers both PSK and SAE advertises this, so that stations without protection can associate by PSK.
    #[must_use]
    pub fn with_optional_mfp(mut self, bip: Suite) -> Policy {
        self.capabilities = self.capabilities.with(RsnCapabilities::MFP_CAPABLE, true);
        self.group_management = Some(bip);
        self
    }

    /// This policy with pairwise keys that alternate between Key IDs 0 and 1, so that a key replacement loses no
    /// frame.
    #[must_use]
    pub fn with_extended_key_id(mut self) -> Policy {
        self.capabilities = self.capabilities.with(RsnCapabilities::EXTENDED_KEY_ID, true);
        self
    }

    /// This policy for a QoS BSS: 16 replay counters per pairwise key, one per TID, so that reordering between TIDs
    /// does not look like a replay (12.5.3.4.4).
    #[must_use]
    pub fn with_qos(mut self) -> Policy {
        let counters = RsnCapabilities::PTKSA_REPLAY_COUNTERS_16;
        self.capabilities = self.capabilities.with(counters, true);
        self
    }

    /// The complete element that advertises this policy, with the same octets as hostapd sends. An RSN element ends
    /// with its capabilities, unless management frames are protected by a suite other than the default BIP-CMAC-128.
    /// A WPA element ends before the capabilities.
    ///
    /// # Panics
    /// If a list is empty or too long for an element, or [`Protocol::Wpa`] has no selector for a suite.
    #[must_use]
    pub fn element(&self) -> Vec<u8> {
        let cipher = |suite| {
            self.protocol
                .cipher_selector(suite)
                .expect("the protocol has a selector for this cipher suite")
        };
        let pairwise: Vec<Selector> = self.pairwise.iter().map(|&suite| cipher(suite)).collect();
        let akm = |akm: &Akm| {
            akm.selector(self.protocol)
                .expect("the protocol has a selector for this key management")
        };
        let akms: Vec<Selector> = self.akms.iter().map(akm).collect();
        let mut octets = vec![0; 257];
        let len = match self.protocol {
            Protocol::Rsn => {
                let group_management = self
                    .group_management
                    .filter(|&suite| suite != Suite::BipCmac128)
                    .map(Suite::selector);
                RsnElement {
                    group: Some(cipher(self.group)),
                    pairwise: Some(&pairwise),
                    akms: Some(&akms),
                    capabilities: Some(self.capabilities),
                    pmkids: group_management.map(|_| &[][..]),
                    group_management,
                }
                .emit(&mut octets)
            }
            Protocol::Wpa => WpaElement {
                group: Some(cipher(self.group)),
                pairwise: Some(&pairwise),
                akms: Some(&akms),
                capabilities: None,
            }
            .emit(&mut octets),
        };
        octets.truncate(len);
        octets
    }
}

/// The elements advertised by one end, octet for octet: by an access point in its beacons, by a station in its
/// association request. An absent element is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Elements {
    /// RSN element.
    pub rsn: Vec<u8>,
    /// RSN Extension element.
    pub rsnx: Vec<u8>,
    /// WPA element.
    pub wpa: Vec<u8>,
}

impl Elements {
    /// The elements of one policy. For SAE, an RSN Extension element announces hash-to-element (12.4.4.1).
    #[must_use]
    pub fn of(policy: &Policy) -> Elements {
        let element = policy.element();
        match policy.protocol {
            Protocol::Rsn => Elements {
                rsn: element,
                rsnx: match policy.akms.contains(&Akm::Sae) {
                    true => vec![ID_RSNX, 1, RSNX_SAE_HASH_TO_ELEMENT],
                    false => Vec::new(),
                },
                ..Elements::default()
            },
            Protocol::Wpa => Elements {
                wpa: element,
                ..Elements::default()
            },
        }
    }
}

/// The reason why two ends cannot associate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// An element is missing or malformed.
    #[error("the {0} has no valid RSN or WPA element (IEEE 802.11-2020 9.4.2.24)")]
    Element(&'static str),
    /// The group ciphers differ, or the cipher cannot protect data frames.
    #[error(
        "the group ciphers differ, or the group cipher cannot protect data frames (IEEE 802.11-2020 12.6.3)"
    )]
    Group,
    /// The station does not list exactly one pairwise cipher, or the cipher is not offered.
    #[error("the station must choose exactly one of the offered pairwise ciphers (IEEE 802.11-2020 12.6.3)")]
    Pairwise,
    /// The station does not list exactly one key management, or the key management is not offered.
    #[error("the station must choose exactly one of the offered key managements (IEEE 802.11-2020 12.6.3)")]
    Akm,
    /// Management frames are unprotected although one end, SAE or OWE requires protection; or protected although the
    /// pairwise cipher is TKIP; or the ends have different ciphers for them.
    #[error(
        "management frame protection: if one end, SAE or OWE requires it, both ends must support it with the same \
         cipher; TKIP does not allow it (IEEE 802.11-2020 12.6.3, Table 12-5)"
    )]
    ManagementProtection,
}

impl Mismatch {
    /// The status code of the association response that refuses the association (Table 9-50).
    #[must_use]
    pub const fn status_code(self) -> u16 {
        match self {
            Mismatch::Element(_) => 40,
            Mismatch::Group => 41,
            Mismatch::Pairwise => 42,
            Mismatch::Akm => 43,
            Mismatch::ManagementProtection => 31,
        }
    }
}

/// The parameters on which an access point and a station agreed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Association {
    /// RSN or WPA.
    pub protocol: Protocol,
    /// Key management.
    pub akm: Akm,
    /// Cipher of individually addressed frames.
    pub pairwise: Suite,
    /// Cipher of group addressed frames.
    pub group: Suite,
    /// Cipher of group addressed management frames, if both ends support protection.
    pub group_management: Option<Suite>,
    /// Both ends support pairwise keys with Key IDs 0 and 1 (12.7.6.1).
    pub extended_key_id: bool,
    /// The elements that the access point advertised.
    pub access_point: Elements,
    /// The elements that the station advertised.
    pub station: Elements,
}

/// The contents of one element.
pub(crate) struct Chosen {
    pub(crate) group: Option<Suite>,
    pub(crate) pairwise: Vec<Option<Suite>>,
    pub(crate) akms: Vec<Option<Akm>>,
    pub(crate) capabilities: RsnCapabilities,
    pub(crate) group_management: Option<Suite>,
}

impl Chosen {
    /// Reads an element of this protocol and applies the standard's default ciphers for absent fields (9.4.2.24.1):
    /// CCMP and 802.1X.
    pub(crate) fn read(protocol: Protocol, element: &[u8]) -> Option<Chosen> {
        let (group, pairwise, akms, capabilities, group_management) = match protocol {
            Protocol::Rsn => {
                let rsn = RsnElement::parse(element).ok()?;
                let capabilities = rsn.capabilities_or_default();
                (
                    rsn.group,
                    rsn.pairwise,
                    rsn.akms,
                    capabilities,
                    rsn.group_management,
                )
            }
            Protocol::Wpa => {
                let wpa = WpaElement::parse(element).ok()?;
                let capabilities = RsnCapabilities::default();
                (wpa.group, wpa.pairwise, wpa.akms, capabilities, None)
            }
        };
        let default = protocol.cipher_selector(Suite::Ccmp128)?;
        let default_list = [default];
        let pairwise = pairwise.unwrap_or(&default_list);
        let default_akm = [Akm::WpaEap.selector(protocol)?];
        // An unknown suite must not count as BIP-CMAC-128, the default of an element that names none.
        let management = match group_management {
            Some(selector) => protocol.cipher(selector),
            None => Some(Suite::BipCmac128),
        };
        Some(Chosen {
            group: protocol.cipher(group.unwrap_or(default)),
            pairwise: pairwise.iter().map(|&suite| protocol.cipher(suite)).collect(),
            akms: akms
                .unwrap_or(&default_akm)
                .iter()
                .map(|&akm| Akm::from_selector(protocol, akm))
                .collect(),
            capabilities,
            group_management: management.filter(|suite| suite.is_bip()),
        })
    }

    /// The single pairwise cipher and key management of a station.
    pub(crate) fn of_station(&self) -> (Option<Suite>, Option<Akm>) {
        let pairwise = match self.pairwise[..] {
            [Some(suite)] if is_data_cipher(suite) => Some(suite),
            _ => None,
        };
        let akm = match self.akms[..] {
            [akm] => akm,
            _ => None,
        };
        (pairwise, akm)
    }
}

/// Whether the handshakes can negotiate this suite for data: not WEP, whose keys are not derived, and not BIP.
pub(crate) fn is_data_cipher(suite: Suite) -> bool {
    !suite.is_bip() && !suite.is_wep()
}

impl Association {
    /// Negotiates an association from the elements that both ends advertised. A station with an RSN element uses RSN;
    /// a station with only a WPA element uses WPA.
    ///
    /// # Errors
    /// [`Mismatch`].
    pub fn negotiate(access_point: &Elements, station: &Elements) -> Result<Association, Mismatch> {
        let (protocol, offered, chosen) = if station.rsn.is_empty() {
            (Protocol::Wpa, &access_point.wpa, &station.wpa)
        } else {
            (Protocol::Rsn, &access_point.rsn, &station.rsn)
        };
        let offered = Chosen::read(protocol, offered).ok_or(Mismatch::Element("access point"))?;
        let chosen = Chosen::read(protocol, chosen).ok_or(Mismatch::Element("station"))?;
        let group = chosen
            .group
            .filter(|&suite| offered.group == Some(suite) && is_data_cipher(suite))
            .ok_or(Mismatch::Group)?;
        let (pairwise, akm) = chosen.of_station();
        let pairwise = pairwise
            .filter(|&suite| offered.pairwise.contains(&Some(suite)))
            .ok_or(Mismatch::Pairwise)?;
        let akm = akm
            .filter(|&akm| offered.akms.contains(&Some(akm)))
            .ok_or(Mismatch::Akm)?;

        let both = |mask| offered.capabilities.has(mask) && chosen.capabilities.has(mask);
        let either = |mask| offered.capabilities.has(mask) || chosen.capabilities.has(mask);
        let mfp = both(RsnCapabilities::MFP_CAPABLE);
        let is_required = either(RsnCapabilities::MFP_REQUIRED) || akm.requires_mfp();
        // TKIP protects only Data frames (12.5.2). As the group cipher beside CCMP or GCMP it excludes nothing,
        // because BIP protects group addressed management frames.
        let is_excluded = pairwise == Suite::Tkip;
        if if mfp { is_excluded } else { is_required } {
            return Err(Mismatch::ManagementProtection);
        }
        let group_management = if mfp {
            let suite = offered
                .group_management
                .filter(|&suite| chosen.group_management == Some(suite));
            Some(suite.ok_or(Mismatch::ManagementProtection)?)
        } else {
            None
        };
        Ok(Association {
            protocol,
            akm,
            pairwise,
            group,
            group_management,
            // TKIP and WEP support one pairwise key (12.7.6.1 covers CCMP and GCMP).
            extended_key_id: both(RsnCapabilities::EXTENDED_KEY_ID) && pairwise != Suite::Tkip,
            access_point: access_point.clone(),
            station: station.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    fn rsn(akm: Akm, suite: Suite) -> Policy {
        Policy::of(Protocol::Rsn, akm, suite)
    }

    /// The elements in the beacons of hostapd 2.10.
    #[test]
    fn elements_equal_those_of_hostapd() {
        let ccmp = rsn(Akm::WpaPsk, Suite::Ccmp128);
        assert_eq!(
            ccmp.element(),
            hex("30140100000fac040100000fac040100000fac020000")
        );
        let sae = rsn(Akm::Sae, Suite::Ccmp128).with_mfp(Suite::BipCmac128);
        assert_eq!(sae.element(), hex("30140100000fac040100000fac040100000fac08c000"));
        let gmac = rsn(Akm::Sae, Suite::Gcmp256).with_mfp(Suite::BipGmac256);
        assert_eq!(
            gmac.element(),
            hex("301a0100000fac090100000fac090100000fac08c0000000000fac0c")
        );
        let wpa = Policy::of(Protocol::Wpa, Akm::WpaPsk, Suite::Tkip);
        assert_eq!(
            wpa.element(),
            hex("dd160050f20101000050f20201000050f20201000050f202")
        );
        // hostapd 2.11, with wmm_enabled and sae_pwe 1 (`wpa_own_rsn_capab`, `wpa_write_rsnxe`).
        let elements = Elements::of(&sae.with_qos());
        assert_eq!(elements.rsn, hex("30140100000fac040100000fac040100000fac08cc00"));
        assert_eq!(elements.rsnx, hex("f40120"));
        assert!(Elements::of(&ccmp).rsnx.is_empty());
    }

    #[test]
    fn a_station_must_choose_one_of_the_offered_suites() {
        let offer = Policy {
            pairwise: vec![Suite::Gcmp128, Suite::Ccmp128],
            akms: vec![Akm::WpaPsk, Akm::WpaPskSha256],
            ..rsn(Akm::WpaPsk, Suite::Ccmp128)
        };
        let choice = Policy {
            pairwise: vec![Suite::Gcmp128],
            ..rsn(Akm::WpaPskSha256, Suite::Ccmp128)
        };
        let (ap, station) = (Elements::of(&offer), Elements::of(&choice));
        let association = Association::negotiate(&ap, &station).unwrap();
        assert_eq!(association.pairwise, Suite::Gcmp128);
        assert_eq!(association.akm, Akm::WpaPskSha256);
        assert_eq!(association.group_management, None);
        assert!(!association.extended_key_id);

        for (wrong, expected) in [
            (rsn(Akm::Sae, Suite::Ccmp128), Mismatch::Akm),
            (rsn(Akm::WpaPsk, Suite::Gcmp256), Mismatch::Group),
            (
                Policy {
                    pairwise: vec![Suite::Ccmp256],
                    ..rsn(Akm::WpaPsk, Suite::Ccmp128)
                },
                Mismatch::Pairwise,
            ),
            (offer, Mismatch::Pairwise),
            (
                rsn(Akm::WpaPsk, Suite::Ccmp128).with_mfp(Suite::BipCmac128),
                Mismatch::ManagementProtection,
            ),
        ] {
            let found = Association::negotiate(&ap, &Elements::of(&wrong));
            assert_eq!(found, Err(expected));
        }
        let wpa = Elements::of(&Policy::of(Protocol::Wpa, Akm::WpaPsk, Suite::Tkip));
        assert_eq!(
            Association::negotiate(&ap, &wpa),
            Err(Mismatch::Element("access point"))
        );
    }

    /// IEEE 802.11-2020 Table 9-50.
    #[test]
    fn each_refusal_has_its_status_code() {
        for (mismatch, code) in [
            (Mismatch::Element("station"), 40),
            (Mismatch::Group, 41),
            (Mismatch::Pairwise, 42),
            (Mismatch::Akm, 43),
            (Mismatch::ManagementProtection, 31),
        ] {
            assert_eq!(mismatch.status_code(), code);
        }
    }

    #[test]
    fn neither_wep_nor_bip_protects_data_even_if_both_ends_advertise_it() {
        for suite in [Suite::Wep40, Suite::Wep104, BIP] {
            let ccmp = rsn(Akm::WpaPsk, Suite::Ccmp128);
            let pairwise = Policy {
                pairwise: vec![suite],
                ..ccmp.clone()
            };
            assert_eq!(negotiated(&pairwise, &pairwise), Err(Mismatch::Pairwise));
            let group = Policy { group: suite, ..ccmp };
            assert_eq!(negotiated(&group, &group), Err(Mismatch::Group));
        }
    }

    const BIP: Suite = Suite::BipCmac128;

    fn negotiated(ap: &Policy, station: &Policy) -> Result<Option<Suite>, Mismatch> {
        Association::negotiate(&Elements::of(ap), &Elements::of(station)).map(|of| of.group_management)
    }

    #[test]
    fn sae_and_owe_require_protected_management_frames() {
        for akm in [Akm::Sae, Akm::Owe] {
            let plain = rsn(akm, Suite::Ccmp128);
            let optional = plain.clone().with_optional_mfp(BIP);
            let required = plain.clone().with_mfp(BIP);
            for (ap, station) in [(&plain, &plain), (&optional, &plain), (&plain, &optional)] {
                assert_eq!(negotiated(ap, station), Err(Mismatch::ManagementProtection));
            }
            for (ap, station) in [(&optional, &optional), (&required, &optional)] {
                assert_eq!(negotiated(ap, station), Ok(Some(BIP)));
            }
        }
    }

    #[test]
    fn a_transition_bss_accepts_psk_without_protected_management_frames() {
        let ap = Policy {
            akms: vec![Akm::WpaPsk, Akm::Sae],
            ..rsn(Akm::WpaPsk, Suite::Ccmp128)
        }
        .with_optional_mfp(BIP);
        assert!(ap.capabilities.has(RsnCapabilities::MFP_CAPABLE));
        assert!(!ap.capabilities.has(RsnCapabilities::MFP_REQUIRED));
        let psk = rsn(Akm::WpaPsk, Suite::Ccmp128);
        assert_eq!(negotiated(&ap, &psk), Ok(None));
        assert_eq!(negotiated(&ap, &psk.with_optional_mfp(BIP)), Ok(Some(BIP)));
        let sae = rsn(Akm::Sae, Suite::Ccmp128);
        assert_eq!(negotiated(&ap, &sae), Err(Mismatch::ManagementProtection));
        assert_eq!(negotiated(&ap, &sae.with_mfp(BIP)), Ok(Some(BIP)));
    }

    /// Like hostapd 2.11 (`wpa_validate_wpa_ie`).
    #[test]
    fn tkip_as_the_pairwise_cipher_excludes_protected_management_frames() {
        let tkip = rsn(Akm::WpaPsk, Suite::Tkip);
        assert_eq!(negotiated(&tkip, &tkip), Ok(None));
        let protected = tkip.clone().with_optional_mfp(BIP);
        assert_eq!(
            negotiated(&protected, &protected),
            Err(Mismatch::ManagementProtection)
        );
        assert_eq!(negotiated(&protected, &tkip), Ok(None));
        let for_groups = Policy {
            group: Suite::Tkip,
            ..rsn(Akm::WpaPsk, Suite::Ccmp128)
        }
        .with_mfp(BIP);
        assert_eq!(negotiated(&for_groups, &for_groups), Ok(Some(BIP)));
    }

    #[test]
    fn extended_key_ids_require_both_ends() {
        let with = Elements::of(&rsn(Akm::WpaPsk, Suite::Ccmp128).with_extended_key_id());
        let without = Elements::of(&rsn(Akm::WpaPsk, Suite::Ccmp128));
        assert!(Association::negotiate(&with, &with).unwrap().extended_key_id);
        assert!(!Association::negotiate(&with, &without).unwrap().extended_key_id);
    }
}
