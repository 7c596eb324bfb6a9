//! What became of each station of a capture.

use wlan_ciphers::Suite;
use wlan_frames::MacAddr;

use crate::decap::LinkCounts;

/// Why the keys of a station are known, or why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Finding {
    /// A key was learned.
    Learned,
    /// There is no EAPOL-Key packet of it in the capture.
    NoHandshake,
    /// Message 2 is missing, or both of 1 and 3 are.
    HalfHandshake,
    /// A handshake is there, and its MIC is wrong under every PMK.
    WrongPassphrase,
    /// A handshake is there, and the SSID, which makes the PMK, is not.
    NoSsid,
    /// A handshake of another network than the one asked for.
    OtherNetwork,
    /// Its PMK does not follow from a passphrase: SAE, OWE, 802.1X.
    NotOfPassphrase,
    /// Its ciphers or key management are unknown to us.
    UnknownSuites,
}

/// An access point and a station, or the group addressed frames of an access point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Station {
    /// The access point.
    pub bssid: MacAddr,
    /// The station; [`MacAddr::BROADCAST`] for what is group addressed.
    pub station: MacAddr,
    /// The network's name, if it was seen or given.
    pub ssid: Option<Vec<u8>>,
    /// Its key management, by hostapd's name or, if that is none of ours, as its selector, if a message 2 said so.
    pub akm: Option<String>,
    /// The cipher of the key that was learned last.
    pub suite: Option<Suite>,
    /// Messages of 4-way handshakes that were seen, by number: 1 to 4.
    pub messages: [u64; 4],
    /// Keys that were learned.
    pub keys: u64,
    /// Why they are known, or why not.
    pub finding: Finding,
    /// What became of its protected data frames.
    pub counts: LinkCounts,
}
