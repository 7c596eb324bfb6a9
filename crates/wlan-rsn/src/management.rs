//! Which management frames a BSS protects.

/// How management frames are protected (hostapd's `ieee80211w` and `beacon_prot`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManagementProtection {
    /// Whether stations may protect theirs.
    pub is_capable: bool,
    /// Whether they must.
    pub is_required: bool,
    /// Whether beacons are.
    pub of_beacons: bool,
}
