//! Protection of management frames in a BSS.

/// Which management frames are protected (hostapd's `ieee80211w` and `beacon_prot`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManagementProtection {
    /// Stations may protect their management frames.
    pub is_capable: bool,
    /// Stations must protect their management frames.
    pub is_required: bool,
    /// Beacons are protected.
    pub of_beacons: bool,
}
