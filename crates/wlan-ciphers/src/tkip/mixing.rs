//! The per-packet key of TKIP, IEEE 802.11-2020 12.5.2.5.
//!
//! Phase 1 mixes the temporal key, the transmitter address and the upper 32 bits of the TSC into the TTAK, which is
//! valid for 65536 frames. Phase 2 mixes the TTAK and the lower 16 bits of the TSC into the RC4 key.

use wlan_frames::MacAddr;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::PacketNumber;
use crate::rc4;

/// The TKIP-mixed transmit address and key.
type Ttak = [u16; 5];

/// A temporal key as 16-bit little-endian words.
pub(super) type TemporalKey = [u16; 8];

/// Computes RC4 keys and caches the last TTAK.
#[derive(Default, ZeroizeOnDrop)]
pub(super) struct Mixer<'k> {
    /// The inputs of the cached TTAK: temporal key, transmitter, upper bits of the TSC.
    #[zeroize(skip)]
    of: Option<(&'k TemporalKey, MacAddr, u32)>,
    ttak: Ttak,
}

impl<'k> Mixer<'k> {
    /// The RC4 key of a frame.
    pub(super) fn seed(
        &mut self,
        tk: &'k TemporalKey,
        transmitter: MacAddr,
        tsc: PacketNumber,
    ) -> [u8; rc4::KEY_LEN] {
        let [a, b, c, d, e, f] = tsc.be_octets();
        let high = u32::from_be_bytes([a, b, c, d]);
        // Keys are compared by address, so no secret is read.
        let known = self.of.is_some_and(|(key, address, bits)| {
            core::ptr::eq(key, tk) && address == transmitter && bits == high
        });
        if !known {
            self.ttak.zeroize();
            self.ttak = phase_1(tk, transmitter, high);
            self.of = Some((tk, transmitter, high));
        }
        phase_2(tk, &self.ttak, u16::from_be_bytes([e, f]))
    }
}

/// Octet 1 of the RC4 key and the TKIP header, chosen to avoid the known weak keys (12.5.2.2).
pub(super) fn wep_seed_octet(tsc1: u8) -> u8 {
    (tsc1 | 0x20) & 0x7f
}

fn phase_1(tk: &TemporalKey, transmitter: MacAddr, tsc_high: u32) -> Ttak {
    let [low_0, low_1, high_0, high_1] = tsc_high.to_le_bytes();
    let [a0, a1, a2, a3, a4, a5] = transmitter.0;
    let mut t = [[low_0, low_1], [high_0, high_1], [a0, a1], [a2, a3], [a4, a5]].map(u16::from_le_bytes);
    for i in 0u16..8 {
        let j = usize::from(i & 1);
        t[0] = t[0].wrapping_add(s_box(t[4] ^ tk[j]));
        t[1] = t[1].wrapping_add(s_box(t[0] ^ tk[2 + j]));
        t[2] = t[2].wrapping_add(s_box(t[1] ^ tk[4 + j]));
        t[3] = t[3].wrapping_add(s_box(t[2] ^ tk[6 + j]));
        t[4] = t[4].wrapping_add(s_box(t[3] ^ tk[j])).wrapping_add(i);
    }
    t
}

fn phase_2(tk: &TemporalKey, ttak: &Ttak, tsc_low: u16) -> [u8; rc4::KEY_LEN] {
    let mut p = [0; 6];
    p[..5].copy_from_slice(ttak);
    p[5] = ttak[4].wrapping_add(tsc_low);
    for n in 0..6 {
        p[n] = p[n].wrapping_add(s_box(p[(n + 5) % 6] ^ tk[n]));
    }
    for n in 0..6 {
        let key = if n < 2 { tk[6 + n] } else { 0 };
        p[n] = p[n].wrapping_add((p[(n + 5) % 6] ^ key).rotate_right(1));
    }
    let [tsc0, tsc1] = tsc_low.to_le_bytes();
    let mut key = [0; rc4::KEY_LEN];
    key[..3].copy_from_slice(&[tsc1, wep_seed_octet(tsc1), tsc0]);
    key[3] = ((p[5] ^ tk[0]) >> 1).to_le_bytes()[0];
    for (octets, word) in key[4..].chunks_exact_mut(2).zip(p) {
        octets.copy_from_slice(&word.to_le_bytes());
    }
    p.zeroize();
    key
}

/// The 16-bit S-box: the AES S-box applied to each octet, times the column (2, 3) of MixColumns.
fn s_box(word: u16) -> u16 {
    let [low, high] = word.to_le_bytes();
    S_BOX[usize::from(low)] ^ S_BOX[usize::from(high)].swap_bytes()
}

static S_BOX: [u16; 256] = {
    let mut table = [0; 256];
    let mut n = 0;
    // The multiplicative generator 3 runs through all nonzero octets, and 1/3 = f6 runs through their inverses.
    let (mut power, mut inverse) = (1u8, 1u8);
    loop {
        power = times(power, 3);
        inverse = times(inverse, 0xf6);
        table[power as usize] = doubled(affine(inverse));
        n += 1;
        if n == 255 {
            break;
        }
    }
    table[0] = doubled(affine(0));
    table
};

/// Product in the AES field.
const fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = a << 1 ^ if a & 0x80 != 0 { 0x1b } else { 0 };
        b >>= 1;
    }
    product
}

/// The affine map of the AES S-box.
const fn affine(x: u8) -> u8 {
    x ^ x.rotate_left(1) ^ x.rotate_left(2) ^ x.rotate_left(3) ^ x.rotate_left(4) ^ 0x63
}

/// Twice the value in the upper octet, three times the value in the lower octet.
const fn doubled(s: u8) -> u16 {
    u16::from_be_bytes([times(s, 2), times(s, 3)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{Octets, load};
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Vector {
        name: String,
        tk: Octets,
        transmitter: Octets,
        tsc: Octets,
        ttak: Octets,
        seed: Octets,
    }

    #[test]
    fn both_phases_give_the_printed_values() {
        let vectors: Vec<Vector> = load("tkip/mixing.json");
        assert_eq!(vectors.len(), 8);
        for v in vectors {
            let tk = core::array::from_fn(|n| u16::from_le_bytes([v.tk.0[2 * n], v.tk.0[2 * n + 1]]));
            let transmitter = MacAddr(v.transmitter.0[..].try_into().unwrap());
            let tsc = PacketNumber::from_be_octets(v.tsc.0[..].try_into().unwrap());
            let mut mixer = Mixer::default();
            assert_eq!(
                mixer.seed(&tk, transmitter, tsc)[..],
                v.seed.0,
                "{}: seed",
                v.name
            );
            let ttak: Vec<u8> = mixer.ttak.iter().flat_map(|word| word.to_be_bytes()).collect();
            assert_eq!(ttak, v.ttak.0, "{}: TTAK", v.name);
        }
    }

    #[test]
    fn the_cached_ttak_belongs_to_one_key_transmitter_and_upper_iv() {
        let keys = [[1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 9]];
        let frames = [
            (0, 1, 0x1_0000),
            (0, 1, 0x1_0001),
            (1, 1, 0x1_0001),
            (1, 2, 0x1_0001),
            (1, 2, 0x2_0001),
            (0, 1, 0x1_0000),
        ];
        let mut remembering = Mixer::default();
        for (key, addr, tsc) in frames {
            let (tk, addr, tsc) = (&keys[key], MacAddr([addr; 6]), PacketNumber::new(tsc).unwrap());
            assert_eq!(
                remembering.seed(tk, addr, tsc),
                Mixer::default().seed(tk, addr, tsc)
            );
        }
    }
}
