//! Lengths in the data frames of `airtoll link`, which are laid over an open network (`docs/reference/link-protocol.md`).

use crate::LlcSnap;

/// Octets of the MAC header of every data frame: QoS Data, three addresses.
pub const HEADER_B: usize = 26;
/// Where the frame body starts that is sealed: behind the header of the cipher, which has 8 octets in all suites here.
pub const BODY_AT: usize = HEADER_B + 8;

/// Octets that a link adds to a packet of IP on the air that it is laid over, with a MIC of `mic_b` octets: its MPDU is
/// behind the LLC/SNAP that the packet alone would be behind.
#[must_use]
pub const fn overhead_b(mic_b: usize) -> usize {
    BODY_AT + LlcSnap::LEN + mic_b
}
