//! The cipher suites and the key managements, with their facts.

use pyo3::prelude::*;
use wlan_ciphers::Suite;
use wlan_rsn::{Akm, Digest, Protocol};

/// The facts of a cipher suite, or of `open`.
#[pyclass(frozen, get_all, name = "Suite")]
#[derive(Default)]
pub struct SuiteFacts {
    word: &'static str,
    /// The name in text.
    title: &'static str,
    /// hostapd's name, if it has the suite.
    hostapd: Option<&'static str>,
    /// The name on the pages of access points.
    common: &'static str,
    /// The rank among the pairwise suites of a network.
    strength: u8,
    key_b: usize,
    /// Octets that protection adds to an MPDU.
    overhead_b: usize,
    is_bip: bool,
    /// Whether stations are given the key.
    is_wep: bool,
    /// The lanes of Enhanced CCMP.
    lanes: Option<usize>,
    /// Whether a key management agrees on the keys.
    has_handshake: bool,
    /// Whether management frames and beacons can be protected, and HT stations use the suite.
    is_current: bool,
    /// Whether WPA has the suite, not only RSN.
    is_in_wpa: bool,
    /// hostapd's `wpa` of a network with this suite alone: 1 is WPA, 2 is RSN.
    wpa: u8,
}

/// `open` and all suites.
#[pyfunction]
pub fn suites() -> Vec<SuiteFacts> {
    let open = SuiteFacts {
        word: "open",
        title: "open",
        hostapd: Some("NONE"),
        is_current: true,
        ..SuiteFacts::default()
    };
    let all = Suite::ALL.map(|suite| SuiteFacts {
        word: suite.name(),
        title: suite.title(),
        hostapd: suite.hostapd_name(),
        common: suite.common_name(),
        strength: suite.strength(),
        key_b: suite.key_len(),
        overhead_b: suite.overhead(),
        is_bip: suite.is_bip(),
        is_wep: suite.is_wep(),
        lanes: suite.lanes().map(|lanes| lanes.count()),
        has_handshake: !suite.is_wep() && !suite.is_bip(),
        is_current: !suite.is_rc4(),
        is_in_wpa: suite.is_in_wpa(),
        wpa: if Protocol::of(suite) == Protocol::Wpa {
            1
        } else {
            2
        },
    });
    [open].into_iter().chain(all).collect()
}

/// The facts of a key management.
#[pyclass(frozen, get_all, name = "Akm")]
pub struct AkmFacts {
    word: &'static str,
    /// The spelling of configuration files.
    hostapd: String,
    /// psk, sae, owe or eap.
    exchange: &'static str,
    /// Whether WPA has the key management, not only RSN.
    is_in_wpa: bool,
    requires_mfp: bool,
    /// Whether the hash depends on the group of the exchange.
    has_hash_of_group: bool,
    /// The only pairwise cipher.
    pairwise: Option<&'static str>,
    /// The first version of hostapd, if Debian 12 has an older version.
    since: Option<(u8, u8)>,
    /// Whether the emulated air and `airtoll link` have it.
    is_offered: bool,
}

/// All key managements. If a network can combine two of them, the stronger one is later.
#[pyfunction]
pub fn akms() -> Vec<AkmFacts> {
    let all = Akm::ALL.map(|akm| {
        let facts = akm.facts();
        AkmFacts {
            word: akm.name(),
            hostapd: akm.name().to_uppercase(),
            exchange: facts.exchange.name(),
            is_in_wpa: facts.is_in_wpa,
            requires_mfp: akm.requires_mfp(),
            has_hash_of_group: facts.digest == Digest::OfGroup,
            pairwise: facts.pairwise.map(|(suite, _)| suite.name()),
            since: facts.since,
            is_offered: facts.is_offered,
        }
    });
    all.into()
}
