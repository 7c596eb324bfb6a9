//! Frame protection: encrypts ("seals") and decrypts ("opens") complete 802.11 MPDUs in place, in batches.
//!
//! # Architecture
//!
//! A batch is a slice of jobs. Each job holds one MPDU in the caller's buffer; nothing is allocated.
//!
//! 1. (sequential, caller) number the frame: [`PacketNumber::next`];
//! 2. (parallel over frames) [`TemporalKey::seal`] writes the cipher header, ciphertext and MIC into the MPDU;
//! 3. the frames are transmitted;
//! 4. (parallel over frames) [`TemporalKey::open`] gives each job its own verdict, [`Opened`] or [`OpenError`];
//! 5. (sequential, caller) [`ReplayWindow::accept`], in the order of reception and only for frames that opened.
//!
//! Replays are checked after opening, so a forged frame cannot advance the window.
//!
//! | module | contents | source |
//! |---|---|---|
//! | [`cipher`] | the key of any suite, at one end of a link | |
//! | [`wep`] | WEP-40 and WEP-104 | IEEE 802.11-2020 12.3.2 |
//! | [`tkip`], [`michael`] | TKIP and its MIC | 12.5.2 |
//! | [`bip`] | BIP for group addressed management frames | 12.5.4 |
//! | [`key`] | CCMP, GCMP and Enhanced CCMP on batches | 12.5.3, 12.5.5 |
//! | [`ccmp`] | the cipher header of CCMP and GCMP | 12.5.3.2, 12.5.5.2 |
//! | [`job`] | the jobs of a batch, their verdicts and errors | |
//! | [`pn`] | packet numbers and key identifiers | 12.5.3.2 |
//! | [`replay`] | the receiver's replay counters | 12.5.3.4.4 |
//! | `half` (feature `study`) | MIC and cipher of a frame separately, for measurements | |
//! | [`enhanced`] | Enhanced CCMP: lanes within a frame | `docs/explanation/enhanced-ccmp.md` |
//! | `study` (feature `study`) | the forgeable lane split of a paper, never for a link | `docs/explanation/enhanced-ccmp.md` |
//!
//! A private module builds the AAD and nonces of CCMP, GCMP and Enhanced CCMP (12.5.3.3.3, 12.5.3.3.4).
//!
//! # Features
//!
//! With the default feature `std`, [`Backend::detect`] asks the CPU which instructions it has. Without `std` the crate
//! requires only `alloc`, and [`Backend::detect`] considers only the instructions that the program is compiled for
//! (`-C target-feature`).
//!
//! # Limits
//!
//! The key schedule is wiped when a key is dropped. MICs are compared in constant time. AES has no secret-dependent
//! table lookups: it uses either the CPU's AES instructions or bit-sliced code. Not wiped are copies of a key that the
//! caller keeps or that a move leaves on the stack. Frame lengths and transmission times are not hidden. RC4 and the
//! S-box of TKIP use secret-dependent table lookups and do not run in constant time; WEP and TKIP are broken anyway and
//! exist for measurement and study.

#![cfg_attr(not(any(feature = "std", test)), no_std)]

#[macro_use]
mod cpu;

mod aad;
pub mod bip;
pub mod ccmp;
pub mod cipher;
mod engine;
pub mod enhanced;
#[cfg(feature = "study")]
pub mod half;
#[cfg(not(feature = "study"))]
mod half;
pub mod job;
pub mod key;
mod lanes;
pub mod michael;
pub mod pn;
mod rc4;
pub mod replay;
#[cfg(feature = "study")]
pub mod study;
pub mod tkip;
pub mod wep;

#[cfg(test)]
mod vectors;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use aad::Priority;
pub use bip::{Bip, IntegrityKeyId};
pub use cipher::Cipher;
pub use engine::Backend;
pub use enhanced::Lanes;
#[cfg(feature = "study")]
pub use half::Half;
pub use job::{OpenError, OpenJob, Opened, SealError, SealFault, SealJob};
pub use key::{Ccmp, KeyError, TemporalKey, open_each, seal_each};
pub use pn::{KeyId, PacketNumber, PnExhausted};
pub use replay::{Replay, ReplayWindow};
pub use tkip::Tkip;
pub use wep::Wep;
pub use wlan_frames::Role;

/// A cipher suite, as named by the RSN element (IEEE 802.11-2020 9.4.2.24.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suite {
    /// WEP with a 40-bit key.
    Wep40,
    /// WEP with a 104-bit key.
    Wep104,
    /// TKIP: WPA.
    Tkip,
    /// CCMP with a 128-bit key and a MIC of 8 octets: WPA2.
    Ccmp128,
    /// CCMP with a 256-bit key and a MIC of 16 octets.
    Ccmp256,
    /// GCMP with a 128-bit key.
    Gcmp128,
    /// GCMP with a 256-bit key: WPA3-Enterprise in its 192-bit mode.
    Gcmp256,
    /// CCMP-128 with the CBC-MAC of each frame split into lanes. Specific to this project: no other implementation
    /// supports it.
    Enhanced(Lanes),
    /// BIP over CMAC with a 128-bit key, for group addressed management frames.
    BipCmac128,
    /// BIP over CMAC with a 256-bit key.
    BipCmac256,
    /// BIP over GMAC with a 128-bit key.
    BipGmac128,
    /// BIP over GMAC with a 256-bit key.
    BipGmac256,
}

impl Suite {
    /// All suites: the suites for any frame from oldest to newest, then BIP.
    pub const ALL: [Suite; 15] = [
        Suite::Wep40,
        Suite::Wep104,
        Suite::Tkip,
        Suite::Ccmp128,
        Suite::Ccmp256,
        Suite::Gcmp128,
        Suite::Gcmp256,
        Suite::Enhanced(Lanes::One),
        Suite::Enhanced(Lanes::Two),
        Suite::Enhanced(Lanes::Four),
        Suite::Enhanced(Lanes::Eight),
        Suite::BipCmac128,
        Suite::BipCmac256,
        Suite::BipGmac128,
        Suite::BipGmac256,
    ];

    /// The suites that a [`TemporalKey`] supports.
    pub const OF_TEMPORAL_KEYS: [Suite; 8] = [
        Suite::Ccmp128,
        Suite::Ccmp256,
        Suite::Gcmp128,
        Suite::Gcmp256,
        Suite::Enhanced(Lanes::One),
        Suite::Enhanced(Lanes::Two),
        Suite::Enhanced(Lanes::Four),
        Suite::Enhanced(Lanes::Eight),
    ];

    /// The usual name: hostapd's where it has one, in lower case, as security levels are spelled.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Suite::Wep40 => "wep40",
            Suite::Wep104 => "wep104",
            Suite::Tkip => "tkip",
            Suite::Ccmp128 => "ccmp",
            Suite::Ccmp256 => "ccmp256",
            Suite::Gcmp128 => "gcmp",
            Suite::Gcmp256 => "gcmp256",
            Suite::Enhanced(Lanes::One) => "enhanced1",
            Suite::Enhanced(Lanes::Two) => "enhanced2",
            Suite::Enhanced(Lanes::Four) => "enhanced4",
            Suite::Enhanced(Lanes::Eight) => "enhanced8",
            Suite::BipCmac128 => "bip-cmac-128",
            Suite::BipCmac256 => "bip-cmac-256",
            Suite::BipGmac128 => "bip-gmac-128",
            Suite::BipGmac256 => "bip-gmac-256",
        }
    }

    /// The suite with this [`name`](Suite::name).
    ///
    /// ```
    /// use wlan_ciphers::Suite;
    /// assert_eq!(Suite::from_name("ccmp"), Some(Suite::Ccmp128));
    /// assert_eq!(Suite::from_name("CCMP-128"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Suite> {
        Suite::ALL.into_iter().find(|suite| suite.name() == name)
    }

    /// The spelling of hostapd's files and of wpa_supplicant's status. `None` if they do not have the suite.
    #[must_use]
    pub const fn hostapd_name(self) -> Option<&'static str> {
        Some(match self {
            Suite::Wep40 => "WEP-40",
            Suite::Wep104 => "WEP-104",
            Suite::Tkip => "TKIP",
            Suite::Ccmp128 => "CCMP",
            Suite::Ccmp256 => "CCMP-256",
            Suite::Gcmp128 => "GCMP",
            Suite::Gcmp256 => "GCMP-256",
            Suite::BipCmac128 => "AES-128-CMAC",
            Suite::BipCmac256 => "BIP-CMAC-256",
            Suite::BipGmac128 => "BIP-GMAC-128",
            Suite::BipGmac256 => "BIP-GMAC-256",
            Suite::Enhanced(_) => return None,
        })
    }

    /// The lanes of Enhanced CCMP.
    #[must_use]
    pub const fn lanes(self) -> Option<Lanes> {
        match self {
            Suite::Enhanced(lanes) => Some(lanes),
            _ => None,
        }
    }

    /// The rank among the pairwise suites that an access point offers: a station prefers the suite with the highest
    /// rank, in the order of wpa_supplicant. Enhanced CCMP is never offered with another suite.
    #[must_use]
    pub const fn strength(self) -> u8 {
        match self {
            Suite::Wep40 => 0,
            Suite::Wep104 => 1,
            Suite::Tkip => 2,
            Suite::Ccmp128 => 3,
            Suite::Gcmp128 => 4,
            Suite::Ccmp256 => 5,
            Suite::Gcmp256 => 6,
            Suite::Enhanced(lanes) => 7 + lanes.log2(),
            Suite::BipCmac128 | Suite::BipCmac256 | Suite::BipGmac128 | Suite::BipGmac256 => u8::MAX,
        }
    }

    /// Whether the suite is BIP, which protects only group addressed management frames and leaves them readable.
    #[must_use]
    pub const fn is_bip(self) -> bool {
        matches!(
            self,
            Suite::BipCmac128 | Suite::BipCmac256 | Suite::BipGmac128 | Suite::BipGmac256
        )
    }

    /// Octets between the MAC header and the ciphertext.
    #[must_use]
    pub const fn header_len(self) -> usize {
        match self {
            Suite::Wep40 | Suite::Wep104 => 4,
            Suite::BipCmac128 | Suite::BipCmac256 | Suite::BipGmac128 | Suite::BipGmac256 => 0,
            Suite::Tkip
            | Suite::Ccmp128
            | Suite::Ccmp256
            | Suite::Gcmp128
            | Suite::Gcmp256
            | Suite::Enhanced(_) => 8,
        }
    }

    /// Octets between the payload and the FCS: MIC and ICV of an unfragmented MSDU, or the MME of BIP.
    #[must_use]
    pub const fn mic_len(self) -> usize {
        match self {
            Suite::Wep40 | Suite::Wep104 => 4,
            Suite::Tkip => 12,
            Suite::BipCmac128 => 18,
            Suite::BipCmac256 | Suite::BipGmac128 | Suite::BipGmac256 => 26,
            Suite::Ccmp128 | Suite::Enhanced(_) => 8,
            Suite::Ccmp256 | Suite::Gcmp128 | Suite::Gcmp256 => 16,
        }
    }

    /// Whether the suite is WEP, whose keys do not come from a handshake and which has no replay protection.
    #[must_use]
    pub const fn is_wep(self) -> bool {
        matches!(self, Suite::Wep40 | Suite::Wep104)
    }

    /// Whether the suite is WEP or TKIP, which the standard has deprecated.
    #[must_use]
    pub const fn is_rc4(self) -> bool {
        matches!(self, Suite::Wep40 | Suite::Wep104 | Suite::Tkip)
    }

    /// Octets that protection adds to an MPDU.
    #[must_use]
    pub const fn overhead(self) -> usize {
        self.header_len() + self.mic_len()
    }

    /// Octets of the key. TKIP's length includes the Michael keys; WEP's excludes the IV.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            Suite::Wep40 => 5,
            Suite::Wep104 => 13,
            Suite::Ccmp128 | Suite::Gcmp128 | Suite::Enhanced(_) | Suite::BipCmac128 | Suite::BipGmac128 => {
                16
            }
            Suite::Tkip | Suite::Ccmp256 | Suite::Gcmp256 | Suite::BipCmac256 | Suite::BipGmac256 => 32,
        }
    }

    /// Suite selector: OUI and type (9.4.2.24.2).
    #[must_use]
    pub const fn selector(self) -> [u8; 4] {
        let suite_type = match self {
            Suite::Enhanced(lanes) => {
                let [a, b, c] = wlan_frames::rsn::OUI_LOCAL;
                return [a, b, c, 1 << lanes.log2()];
            }
            Suite::Wep40 => 1,
            Suite::Tkip => 2,
            Suite::Ccmp128 => 4,
            Suite::Wep104 => 5,
            Suite::BipCmac128 => 6,
            Suite::Gcmp128 => 8,
            Suite::Gcmp256 => 9,
            Suite::Ccmp256 => 10,
            Suite::BipGmac128 => 11,
            Suite::BipGmac256 => 12,
            Suite::BipCmac256 => 13,
        };
        [0x00, 0x0f, 0xac, suite_type]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// OUI type (Table 9-149); octets of the key (Table 12-7), of the security header and of the fields after the
    /// payload (12.3.2.2, 12.5.2.2, 12.5.3.2, 12.5.5.2, 9.4.2.54).
    #[test]
    fn the_suites_of_the_standard_have_its_numbers_and_lengths() {
        let of_the_standard = [
            (Suite::Wep40, 1, 5, 4, 4),
            (Suite::Tkip, 2, 32, 8, 12),
            (Suite::Ccmp128, 4, 16, 8, 8),
            (Suite::Wep104, 5, 13, 4, 4),
            (Suite::BipCmac128, 6, 16, 0, 18),
            (Suite::Gcmp128, 8, 16, 8, 16),
            (Suite::Gcmp256, 9, 32, 8, 16),
            (Suite::Ccmp256, 10, 32, 8, 16),
            (Suite::BipGmac128, 11, 16, 0, 26),
            (Suite::BipGmac256, 12, 32, 0, 26),
            (Suite::BipCmac256, 13, 32, 0, 26),
        ];
        for (suite, number, key_len, header_len, mic_len) in of_the_standard {
            assert_eq!(suite.selector(), [0x00, 0x0f, 0xac, number], "{}", suite.name());
            let lengths = (suite.key_len(), suite.header_len(), suite.mic_len());
            assert_eq!(lengths, (key_len, header_len, mic_len), "{}", suite.name());
            assert_eq!(suite.overhead(), header_len + mic_len);
            assert_eq!(suite.is_bip(), suite.name().starts_with("bip"));
            assert_eq!(
                suite.is_rc4(),
                ["wep40", "wep104", "tkip"].contains(&suite.name())
            );
        }
    }

    /// Enhanced CCMP differs from CCMP-128 in its selector only.
    #[test]
    fn enhanced_ccmp_has_the_lengths_of_ccmp_and_a_local_selector() {
        for (lanes, number) in [
            (Lanes::One, 1),
            (Lanes::Two, 2),
            (Lanes::Four, 4),
            (Lanes::Eight, 8),
        ] {
            let [suite, ccmp] = [Suite::Enhanced(lanes), Suite::Ccmp128];
            let lengths = |suite: Suite| (suite.key_len(), suite.header_len(), suite.mic_len());
            assert_eq!(lengths(suite), lengths(ccmp));
            assert!(!suite.is_bip() && !suite.is_rc4());
            let [a, b, c] = wlan_frames::rsn::OUI_LOCAL;
            assert_eq!(suite.selector(), [a, b, c, number]);
            // Bit 1 of the first octet: locally administered.
            assert_eq!(a & 2, 2);
        }
    }

    #[test]
    fn every_suite_has_a_name_and_a_selector_of_its_own() {
        for suite in Suite::ALL {
            assert_eq!(Suite::from_name(suite.name()), Some(suite));
        }
        let selectors = HashSet::from(Suite::ALL.map(Suite::selector));
        assert_eq!(selectors.len(), Suite::ALL.len());
    }
}
