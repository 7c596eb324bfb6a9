//! Lengths within the data frames of `airtoll link`, an overlay on an open network (`docs/reference/link-protocol.md`).

use crate::LlcSnap;

/// Length in octets of the MAC header of every data frame: QoS Data with three addresses.
pub const HEADER_B: usize = 26;
/// Offset of the sealed frame body: it follows the cipher header, which has 8 octets in all supported suites.
pub const BODY_AT: usize = HEADER_B + 8;

/// Octets that a link adds to an IP packet on the underlying air, with a MIC of `mic_b` octets. The link's MPDU follows
/// the LLC/SNAP header that the unprotected packet would have as well.
#[must_use]
pub const fn overhead_b(mic_b: usize) -> usize {
    BODY_AT + LlcSnap::LEN + mic_b
}
