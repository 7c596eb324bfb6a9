//! Beacons of an emulated or simulated BSS: their length, and the suite that protects them.

use wlan_ciphers::Suite;
use wlan_rsn::ManagementProtection;

/// Octets of a beacon with the elements that current access points send, including FCS.
pub const USUAL_LEN_B: usize = 240;
/// Octets of a protected beacon, including FCS.
pub const MAX_LEN_B: usize = USUAL_LEN_B + GROUP_MANAGEMENT.overhead();
/// The suite that protects group addressed management frames; hostapd's default.
pub const GROUP_MANAGEMENT: Suite = Suite::BipCmac128;

/// Octets of a beacon, including FCS.
#[must_use]
pub fn len_b(management: ManagementProtection) -> usize {
    if management.of_beacons {
        MAX_LEN_B
    } else {
        USUAL_LEN_B
    }
}
