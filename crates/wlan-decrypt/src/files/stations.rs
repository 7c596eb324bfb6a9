//! The result of learning keys, per station.

use wlan_ciphers::Suite;

use crate::decap::{Ends, LinkCounts};

/// Whether the keys of a station were learned, or the reason why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Finding {
    /// A key was learned.
    Learned,
    /// The capture has no EAPOL-Key packet of the station.
    NoHandshake,
    /// Message 2 is missing, or messages 1 and 3 are both missing.
    HalfHandshake,
    /// The MIC of the handshake is wrong under every PMK.
    WrongPassphrase,
    /// The SSID, which the derivation of the PMK requires, is not in the capture.
    NoSsid,
    /// The handshake belongs to another network than the requested one.
    OtherNetwork,
    /// The PMK cannot be derived from a passphrase: SAE, OWE, 802.1X.
    NotOfPassphrase,
    /// The cipher or the key management is unsupported.
    UnknownSuites,
    /// Two stations exchange frames directly. Their keys do not come from handshakes with an access point.
    Direct,
}

/// A station with its access point, the group addressed frames of an access point, or two stations that exchange
/// frames directly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Station {
    /// The ends of its frames.
    pub ends: Ends,
    /// The SSID, if it was seen or given.
    pub ssid: Option<Vec<u8>>,
    /// The key management from message 2: hostapd's name, or the selector if it is unsupported.
    pub akm: Option<String>,
    /// The cipher suite of the most recent key.
    pub suite: Option<Suite>,
    /// Number of 4-way handshake messages 1 to 4 in the capture.
    pub messages: [u64; 4],
    /// Number of keys learned.
    pub keys: u64,
    /// Whether keys were learned, or the reason why not.
    pub finding: Finding,
    /// Counts of its protected data frames.
    pub counts: LinkCounts,
}
