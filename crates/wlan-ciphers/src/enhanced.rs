//! Enhanced CCMP: CCMP-128 whose CBC-MAC runs in 1, 2, 4 or 8 lanes within one frame.
//!
//! It repairs the lane split that Hayajneh et al. propose for "Enhanced-WPA2", which is forgeable as printed: see the
//! module `study`. `docs/explanation/enhanced-ccmp.md` describes the scheme, the forgeries, the security argument, and
//! an interoperable way to the same gain: processing many frames at a time. MPDU layout, AAD, nonce and counters are
//! those of CCMP-128; only the MIC differs. No other implementation supports Enhanced CCMP, so it has a vendor suite
//! selector.
//!
//! A packet number must never repeat under a key, for authenticity as well as secrecy. With two or more lanes, unlike in
//! CCM, MICs of frames that share a nonce add up to the MIC of another frame.
//!
//! Flags in the first octet of each lane's B0. CCM's own flags (RFC 3610 section 2.2) have bit 7 clear.
//!
//! ```text
//!  bit   7    5-6              2-4     1                       0
//!        1    log2 of lanes    lane    1: MIC of 16 octets     1: there is AAD
//! ```

/// The number of lanes of a frame's CBC-MAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lanes {
    /// One: CCM, except for the flags of B0.
    One,
    /// Two.
    Two,
    /// Four.
    Four,
    /// Eight.
    Eight,
}

impl Lanes {
    /// All, in ascending order.
    pub const ALL: [Lanes; 4] = [Lanes::One, Lanes::Two, Lanes::Four, Lanes::Eight];

    /// The number: 1, 2, 4 or 8.
    #[must_use]
    pub const fn count(self) -> usize {
        1 << self.log2()
    }

    pub(crate) const fn log2(self) -> u8 {
        match self {
            Lanes::One => 0,
            Lanes::Two => 1,
            Lanes::Four => 2,
            Lanes::Eight => 3,
        }
    }

    /// Flags of lane 0's B0, with AAD and a MIC of 8 octets.
    pub(crate) const fn b0_flags(self) -> u8 {
        0x81 | self.log2() << 5
    }
}
