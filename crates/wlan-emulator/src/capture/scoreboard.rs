//! The MPDUs received under a block ack agreement (IEEE Std 802.11-2020, 10.25.6.3).

use wlan_frames::SequenceControl;

/// Number of MPDUs in the bitmap of a compressed `BlockAck` (9.3.1.8.2).
const WINDOW: u16 = 64;

/// The scoreboard context control of one agreement, which starts with sequence number 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scoreboard {
    /// WinStart_R.
    start: u16,
    /// Bit n: the MPDU with sequence number `start` + n arrived.
    bitmap: u64,
}

impl Scoreboard {
    /// The first sequence number of the bitmap.
    pub fn start(self) -> u16 {
        self.start
    }

    /// The MPDUs received from [`start`](Self::start) on.
    pub fn bitmap(self) -> u64 {
        self.bitmap
    }

    /// Records an MPDU. An MPDU beyond the window moves the window's end; an MPDU before the window changes nothing
    /// (10.25.6.3 b).
    pub fn receive(&mut self, sequence: u16) {
        let ahead = self.ahead(sequence);
        if ahead >= SequenceControl::MODULUS / 2 {
            return;
        }
        if ahead >= WINDOW {
            self.shift(ahead - (WINDOW - 1));
        }
        self.bitmap |= 1 << self.ahead(sequence);
    }

    fn ahead(self, sequence: u16) -> u16 {
        (sequence + SequenceControl::MODULUS - self.start) % SequenceControl::MODULUS
    }

    fn shift(&mut self, by: u16) {
        self.start = (self.start + by) % SequenceControl::MODULUS;
        self.bitmap = self.bitmap.checked_shr(u32::from(by)).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_window_follows_the_newest_mpdu_and_forgets_the_oldest() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.receive(0);
        scoreboard.receive(63);
        assert_eq!((scoreboard.start(), scoreboard.bitmap()), (0, 1 << 63 | 1));
        scoreboard.receive(64);
        assert_eq!((scoreboard.start(), scoreboard.bitmap()), (1, 3 << 62));
        scoreboard.receive(0);
        assert_eq!(scoreboard.start(), 1, "older than the window");
        scoreboard.receive(64 + 200);
        assert_eq!((scoreboard.start(), scoreboard.bitmap()), (201, 1 << 63));
    }

    proptest! {
        #[test]
        fn the_bitmap_shows_which_of_the_last_64_mpdus_arrived(steps in proptest::collection::vec((0u32..90, any::<bool>()), 1..200)) {
            let mut scoreboard = Scoreboard::default();
            let (mut newest, mut received) = (63, BTreeSet::new());
            let mut at = 0;
            for (step, back) in steps {
                // At most a window back, as in a sender.
                at = if back { newest - step.min(63) } else { at + step };
                newest = newest.max(at);
                received.insert(at);
                scoreboard.receive(u16::try_from(at % 4096).unwrap());
                let start = newest - 63;
                prop_assert_eq!(u32::from(scoreboard.start()), start % 4096);
                for bit in 0..64 {
                    let arrived = scoreboard.bitmap() >> bit & 1 == 1;
                    prop_assert_eq!(arrived, received.contains(&(start + bit)), "sequence {}", start + bit);
                }
            }
        }
    }
}
