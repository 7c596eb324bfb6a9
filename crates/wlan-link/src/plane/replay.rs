//! Replay detection for frames that the network may reorder.
//!
//! IEEE Std 802.11-2020 12.5.3.4.4 requires strictly increasing packet numbers, after a BlockAck receiver has
//! reordered the frames (10.25.6.6). A link lacks this step: the network may reorder frames, and an access point
//! forwards frames on a different thread than it sends its own. A window therefore records which of the last
//! [`WINDOW`] numbers were seen, as in RFC 4303 section 3.4.3. The purpose of the clause is met: no packet number is
//! ever accepted twice.
//!
//! As the clause requires, each TID has its own window. All TIDs share the packet numbers of a key, and the MIC covers
//! the TID, so a frame belongs to one window. Frames of other TIDs, which other threads send, cannot make a frame too old.

use wlan_ciphers::PacketNumber;

/// Bits per word.
const WORD: u64 = 64;
/// Number of words. One word is always partially overwritten; the others hold the complete window (RFC 6479 section 3).
const WORDS: u64 = KEPT as u64;
const KEPT: usize = 64;

/// The maximum distance of an accepted packet number from the highest packet number.
pub const WINDOW: u64 = (WORDS - 1) * WORD;

/// The packet numbers that were accepted under one key.
#[derive(Debug)]
pub struct Window {
    highest: u64,
    seen: [u64; KEPT],
}

impl Window {
    /// Treats all numbers up to and including `start` as seen; `start` is zero for a new pairwise key.
    pub fn new(start: PacketNumber) -> Self {
        let mut seen = [u64::MAX; KEPT];
        let (word, bit) = Self::place(start.get());
        seen[word] = bit | (bit - 1);
        Self {
            highest: start.get(),
            seen,
        }
    }

    fn place(pn: u64) -> (usize, u64) {
        #[allow(clippy::cast_possible_truncation)] // below WORDS
        let word = (pn / WORD % WORDS) as usize;
        (word, 1 << (pn % WORD))
    }

    /// Whether a frame with this number would be accepted.
    pub fn is_new(&self, pn: PacketNumber) -> bool {
        let pn = pn.get();
        if pn > self.highest {
            return true;
        }
        let (word, bit) = Self::place(pn);
        self.highest - pn <= WINDOW && self.seen[word] & bit == 0
    }

    /// Accepts the number of an authentic frame. Returns `false` for a number that was accepted or is too old.
    pub fn accept(&mut self, pn: PacketNumber) -> bool {
        if !self.is_new(pn) {
            return false;
        }
        let pn = pn.get();
        if pn > self.highest {
            let skipped = (pn / WORD - self.highest / WORD).min(WORDS);
            for next in 1..=skipped {
                let (word, _) = Self::place((self.highest / WORD + next) * WORD);
                self.seen[word] = 0;
            }
            self.highest = pn;
        }
        let (word, bit) = Self::place(pn);
        self.seen[word] |= bit;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn pn(value: u64) -> PacketNumber {
        PacketNumber::new(value).unwrap()
    }

    #[test]
    fn frames_sent_before_the_key_was_installed_are_refused() {
        let mut window = Window::new(pn(70));
        for old in [0, 1, 69, 70] {
            assert!(!window.accept(pn(old)));
        }
        assert!(window.accept(pn(75)) && window.accept(pn(71)) && !window.accept(pn(71)));
    }

    #[test]
    fn a_frame_may_be_late_by_at_most_the_window() {
        let mut window = Window::new(PacketNumber::ZERO);
        assert!(window.accept(pn(100_000)));
        assert!(window.accept(pn(100_000 - WINDOW)));
        assert!(!window.accept(pn(100_000 - WINDOW - 1)));
        assert!(window.accept(PacketNumber::MAX) && !window.accept(PacketNumber::MAX));
    }

    proptest! {
        #[test]
        fn every_number_is_accepted_once_and_a_new_one_within_the_window_always(
            steps in proptest::collection::vec((any::<bool>(), 0_u64..2 * WINDOW), 1..400)
        ) {
            let (mut window, mut taken, mut highest) = (Window::new(PacketNumber::ZERO), HashSet::new(), 0);
            for (forward, by) in steps {
                let next = if forward { highest + by % 200 } else { highest.saturating_sub(by) };
                let accepted = window.accept(pn(next));
                let is_new = next > 0 && !taken.contains(&next);
                if accepted {
                    prop_assert!(is_new, "{next} was accepted before");
                } else {
                    prop_assert!(!is_new || highest - next > WINDOW, "{next} is new, after {highest}");
                }
                taken.insert(next);
                highest = highest.max(next);
            }
        }
    }
}
