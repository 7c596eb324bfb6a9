//! The frames of a case.

use wlan_ciphers::{Method, Suite};

/// Octets of the MAC header: QoS Data with three addresses.
pub const HEADER_LEN: usize = 26;
const PN: u64 = 0x0102_0304_0000;
const EXT_IV: u8 = 0x20;

/// The payload sizes of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// All payloads have this many octets.
    Fixed(usize),
    /// Per twelve frames, 7 of 64, 4 of 576 and 1 of 1500 octets ("simple IMIX").
    Imix,
    /// Uniformly distributed from 64 to 1500 octets, in random order.
    Spread,
}

impl Sizes {
    /// The payload sizes of `count` frames in octets, the same in every call.
    pub fn payloads_b(self, count: usize) -> impl Iterator<Item = usize> {
        let mut random = Random(0x5eed);
        (0..count).map(move |i| match self {
            Sizes::Fixed(len) => len,
            Sizes::Imix => match i % 12 {
                0..7 => 64,
                7..11 => 576,
                _ => 1500,
            },
            Sizes::Spread => 64 + random.below(1437),
        })
    }
}

impl std::fmt::Display for Sizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Sizes::Fixed(len) => write!(f, "{len} B"),
            Sizes::Imix => f.write_str("IMIX"),
            Sizes::Spread => f.write_str("64-1500 B"),
        }
    }
}

/// xorshift64*: octets that look random and are the same in every run.
pub struct Random(
    /// The state: any number except 0.
    pub u64,
);

impl Random {
    /// The next number.
    #[allow(clippy::should_implement_trait)] // it never ends
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or_default() % bound
    }

    /// Fills a buffer.
    pub fn fill(&mut self, octets: &mut [u8]) {
        for part in octets.chunks_mut(8) {
            part.copy_from_slice(&self.next().to_le_bytes()[..part.len()]);
        }
    }
}

/// A batch of MPDUs in one buffer. MPDUs do not share cache lines.
#[derive(Debug, Clone)]
pub struct Frames {
    /// The octets.
    pub buffer: Vec<u8>,
    /// Offset and length of each MPDU in octets.
    pub places: Vec<(usize, usize)>,
    /// The suite that protects the frames.
    pub suite: Suite,
}

impl Frames {
    /// Creates unsealed MPDUs with MAC header, suite header and random payload.
    #[must_use]
    pub fn new(suite: Suite, sizes: Sizes, count: usize) -> Frames {
        let mut places = Vec::with_capacity(count);
        let mut end: usize = 0;
        for payload_b in sizes.payloads_b(count) {
            let len = HEADER_LEN + payload_b + suite.overhead();
            places.push((end, len));
            end = (end + len).next_multiple_of(64) + 64;
            // Frames 4096 octets apart would compete for the same cache set.
            if end.is_multiple_of(4096) {
                end += 64;
            }
        }
        let mut buffer = vec![0; end];
        Random(88_172_645_463_325_252).fill(&mut buffer);
        let mut frames = Frames {
            buffer,
            places,
            suite,
        };
        for (i, priority) in (0..count).zip((0..8).cycle()) {
            let (pn, start) = (frames.pn(i), frames.start());
            let mpdu = frames.mpdu(i);
            mpdu[..2].copy_from_slice(&[0x88, 0x41]); // QoS Data to the DS, protected
            mpdu[24..26].copy_from_slice(&[priority, 0]);
            if suite == Suite::Tkip {
                mpdu[22] &= 0xf0; // not a fragment, so that the frame has the MIC of the MSDU
            }
            suite_header(suite, pn, &mut mpdu[HEADER_LEN..start]);
        }
        frames
    }

    /// The packet number of a frame, or the IV for WEP.
    #[must_use]
    pub fn pn(&self, i: usize) -> u64 {
        let bits = if self.is_wep() { 24 } else { 48 };
        (PN + i as u64) % (1 << bits)
    }

    /// An MPDU.
    pub fn mpdu(&mut self, i: usize) -> &mut [u8] {
        let (at, len) = self.places[i];
        &mut self.buffer[at..][..len]
    }

    /// Octets of all payloads together.
    #[must_use]
    pub fn payloads_b(&self) -> usize {
        (0..self.places.len()).map(|i| self.payload_b(i)).sum()
    }

    /// Octets of the payload of a frame.
    #[must_use]
    pub fn payload_b(&self, i: usize) -> usize {
        self.places[i].1 - HEADER_LEN - self.suite.overhead()
    }

    /// Offset of the payload in an MPDU.
    #[must_use]
    pub fn start(&self) -> usize {
        HEADER_LEN + self.suite.header_len()
    }

    /// Whether the suite is WEP.
    #[must_use]
    pub fn is_wep(&self) -> bool {
        self.suite.is_wep()
    }
}

/// Writes the suite's header for key ID 0 (12.3.2.2, 12.5.2.2, 12.5.3.2).
fn suite_header(suite: Suite, pn: u64, header: &mut [u8]) {
    let [_, _, pn5, pn4, pn3, pn2, pn1, pn0] = pn.to_be_bytes();
    match suite.method() {
        Method::Wep => header.copy_from_slice(&[pn2, pn1, pn0, 0]),
        Method::Tkip => {
            let seed = (pn1 | 0x20) & 0x7f;
            header.copy_from_slice(&[pn1, seed, pn0, EXT_IV, pn2, pn3, pn4, pn5]);
        }
        _ => header.copy_from_slice(&[pn0, pn1, 0, EXT_IV, pn2, pn3, pn4, pn5]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imix_is_7_4_1() {
        let payloads: Vec<_> = Sizes::Imix.payloads_b(96).collect();
        let of = |len| payloads.iter().filter(|&&payload| payload == len).count();
        assert_eq!([of(64), of(576), of(1500)], [56, 32, 8]);
    }

    #[test]
    fn frames_do_not_share_cache_lines() {
        let frames = Frames::new(Suite::Ccmp128, Sizes::Spread, 96);
        for pair in frames.places.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0);
            assert_eq!(pair[1].0 % 64, 0);
        }
    }
}
