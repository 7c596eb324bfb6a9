//! The frames of a case, and the packets that the same octets are to a library that knows nothing of 802.11.

use wlan_ciphers::Suite;

/// Octets of the MAC header: QoS Data with three addresses.
pub const HEADER_LEN: usize = 26;
/// Octets in front of the payload.
pub const START: usize = HEADER_LEN + 8;
const AAD_LEN: usize = 24;

/// What sizes the payloads of a case have.
#[derive(Clone, Copy, PartialEq)]
pub enum Sizes {
    /// All the same, octets.
    Fixed(usize),
    /// Of every twelve 7 of 64, 4 of 576 and 1 of 1500 octets ("simple IMIX").
    Imix,
    /// Evenly spread over 64 to 1500 octets, in random order.
    Spread,
}

impl Sizes {
    fn of(self, i: usize, random: &mut Random) -> usize {
        match self {
            Sizes::Fixed(len) => len,
            Sizes::Imix => match i % 12 {
                0..7 => 64,
                7..11 => 576,
                _ => 1500,
            },
            Sizes::Spread => 64 + random.below(1437),
        }
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

/// xorshift64*, for octets that need only look random and be the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound
    }
}

/// A batch: one buffer, each MPDU on its own cache lines.
#[derive(Clone)]
pub struct Frames {
    pub buffer: Vec<u8>,
    /// Offset and octets of each MPDU.
    pub places: Vec<(usize, usize)>,
    pub mic_len: usize,
}

impl Frames {
    pub fn new(suite: Suite, sizes: Sizes, count: usize) -> Frames {
        let mut random = Random(88_172_645_463_325_252);
        let mut places = Vec::new();
        let mut end = 0;
        for i in 0..count {
            let len = HEADER_LEN + sizes.of(i, &mut random) + suite.overhead();
            places.push((end, len));
            end = (end + len).next_multiple_of(64) + 64;
            // Frames 4096 octets apart would compete for one set of the cache.
            if end % 4096 == 0 {
                end += 64;
            }
        }
        let mut buffer = vec![0; end];
        buffer.fill_with(|| random.next() as u8);
        let mut frames = Frames {
            buffer,
            places,
            mic_len: suite.mic_len(),
        };
        for i in 0..count {
            let pn = frames.pn(i).to_be_bytes();
            let mpdu = frames.mpdu(i);
            mpdu[..2].copy_from_slice(&[0x88, 0x41]); // QoS Data to the DS, protected
            mpdu[24..26].copy_from_slice(&[(i % 8) as u8, 0]);
            let header = [pn[7], pn[6], 0, 0x20, pn[5], pn[4], pn[3], pn[2]];
            mpdu[HEADER_LEN..START].copy_from_slice(&header);
        }
        frames
    }

    pub fn pn(&self, i: usize) -> u64 {
        0x0102_0304_0000 + i as u64
    }

    pub fn mpdu(&mut self, i: usize) -> &mut [u8] {
        let (at, len) = self.places[i];
        &mut self.buffer[at..][..len]
    }

    pub fn payload_b(&self, i: usize) -> usize {
        self.places[i].1 - START - self.mic_len
    }

    /// Nonce and AAD of a frame, built here and not by the engine, so that equal output is evidence.
    pub fn nonce_and_aad(&mut self, i: usize, ccm: bool) -> ([u8; 16], [u8; 32]) {
        let pn = self.pn(i).to_be_bytes();
        let mpdu = self.mpdu(i);
        let mut nonce = [0; 16];
        let at = if ccm {
            nonce[0] = mpdu[24] & 0x0f;
            1
        } else {
            0
        };
        nonce[at..at + 6].copy_from_slice(&mpdu[10..16]);
        nonce[at + 6..at + 12].copy_from_slice(&pn[2..]);
        let mut aad = [0; 32];
        aad[..2].copy_from_slice(&[0x88, 0x41]);
        aad[2..20].copy_from_slice(&mpdu[4..22]);
        aad[20] = mpdu[22] & 0x0f;
        aad[22] = mpdu[24] & 0x0f;
        (nonce, aad)
    }

    pub const fn aad_len() -> usize {
        AAD_LEN
    }
}
