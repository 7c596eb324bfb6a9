//! Beacons of an emulated or simulated BSS: how long they are, and which suite protects them.

use wlan_ciphers::Suite;
use wlan_rsn::ManagementProtection;

/// Octets of a beacon with the elements that an access point of today sends, FCS included.
pub const USUAL_LEN_B: usize = 240;
/// Octets of the longest.
pub const MAX_LEN_B: usize = USUAL_LEN_B + GROUP_MANAGEMENT.overhead();
/// What protects management frames to all; hostapd's usual.
pub const GROUP_MANAGEMENT: Suite = Suite::BipCmac128;

/// Octets of a beacon, FCS included.
#[must_use]
pub fn len_b(management: ManagementProtection) -> usize {
    if management.of_beacons {
        MAX_LEN_B
    } else {
        USUAL_LEN_B
    }
}
