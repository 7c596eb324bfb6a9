//! An expanded temporal key: AES round keys (FIPS 197 5.2) and, for GCM, powers of the hash key.

#[cfg(target_arch = "x86_64")]
use core::mem::offset_of;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::polyval::POWERS;
use super::{AnyMachine, Backend, bitslice};

/// Number of round keys of AES-256, the maximum.
pub(super) const MAX_KEYS: usize = 15;

/// Maximum number of lanes of any machine.
pub(crate) const MAX_LANES: usize = 8;

/// Number of zeros after the powers, so that [`MAX_LANES`] entries can be read from any power on.
const NO_POWERS: usize = MAX_LANES;

/// The mode of operation of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Counter with CBC-MAC.
    Ccm,
    /// Galois/Counter Mode.
    Gcm,
    /// Counter with CBC-MAC in 2, 4 or 8 lanes, over AES-128.
    Lanes(usize),
}

/// The properties that all frames in a kernel call share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) backend: Backend,
    pub(super) machine: AnyMachine,
    pub(crate) mode: Mode,
    /// Number of round keys: 11 for AES-128, 15 for AES-256.
    pub(super) keys: usize,
}

impl Kind {
    /// The sort key of a kind.
    #[inline]
    pub(crate) fn rank(self) -> u8 {
        let mode = match self.mode {
            Mode::Ccm => 0,
            Mode::Gcm => 1,
            Mode::Lanes(lanes) => 1 + lanes.ilog2() as u8,
        };
        (self.backend as u8) << 4 | mode << 1 | u8::from(self.keys > 11)
    }
}

/// An expanded key. It is wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(align(64))]
pub(crate) struct Schedule {
    /// Round keys. Entries from `kind.keys` on are zero.
    pub(super) rounds: [[u8; 16]; MAX_KEYS],
    /// Powers [`POWERS`] down to 1 of the hash key, then zeros; in the order and representation of
    /// [`polyval`](super::polyval).
    powers: [[u8; 16]; POWERS + NO_POWERS],
    /// At the place of a power, the sum of its halves and that of the power [`Machine::LANES`] below.
    halves: [[u8; 16]; POWERS + NO_POWERS],
    #[zeroize(skip)]
    pub(crate) kind: Kind,
}

impl Schedule {
    /// The round keys of a key of 16 or 32 octets, without the powers of its hash key.
    pub(super) fn of_rounds(key: &[u8], kind: Kind) -> Schedule {
        let mut schedule = Schedule {
            rounds: [[0; 16]; MAX_KEYS],
            powers: [[0; 16]; POWERS + NO_POWERS],
            halves: [[0; 16]; POWERS + NO_POWERS],
            kind,
        };
        schedule.expand(key);
        schedule
    }

    /// The hash key to the power `exponent`, 1 to [`POWERS`].
    #[inline(always)]
    pub(super) fn power(&self, exponent: usize) -> &[u8; 16] {
        &self.powers[POWERS - exponent]
    }

    /// The address of the powers `exponent`, `exponent - 1`, ..., 1, which [`MAX_LANES`] zeros follow.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn powers_at(&self, exponent: usize) -> *const u8 {
        core::ptr::from_ref(self)
            .cast::<u8>()
            .wrapping_add(offset_of!(Schedule, powers) + 16 * (POWERS - exponent))
    }

    /// Octets from a power to the sums of halves at its place.
    #[cfg(target_arch = "x86_64")]
    pub(super) const HALVES_AFTER_POWERS: usize = offset_of!(Schedule, halves) - offset_of!(Schedule, powers);

    /// The powers `from`, `from - 1`, ... and zeros for exponents below 1.
    #[inline(always)]
    pub(super) fn powers_from(&self, from: usize) -> &[[u8; 16]; MAX_LANES] {
        let powers = self.powers[POWERS - from..].first_chunk();
        powers.expect("zeros follow the powers")
    }

    /// Stores the powers of the hash key, which `fill` computes in descending order. `fill` returns the lanes of the
    /// machine.
    pub(super) fn store_powers(&mut self, fill: impl FnOnce(&mut [[u8; 16]; POWERS]) -> usize) {
        let lanes = fill(self.powers.first_chunk_mut().expect("zeros follow the powers"));
        for place in 0..POWERS {
            let half = |power: &[u8; 16]| {
                let power = u128::from_le_bytes(*power);
                (power ^ power >> 64) as u64
            };
            let below = self.powers.get(place + lanes).map_or(0, half);
            self.halves[place] =
                (u128::from(half(&self.powers[place])) | u128::from(below) << 64).to_le_bytes();
        }
    }

    fn expand(&mut self, key: &[u8]) {
        let words_of_key = key.len() / 4;
        let words = self.rounds.as_flattened_mut();
        words[..key.len()].copy_from_slice(key);
        let mut round_constant = 1u8;
        for i in words_of_key..4 * self.kind.keys {
            let mut word = [0; 4];
            word.copy_from_slice(&words[4 * (i - 1)..][..4]);
            if i % words_of_key == 0 {
                word.rotate_left(1);
                word = bitslice::sub_word(word);
                word[0] ^= round_constant;
                // Multiplication by x in GF(2^8).
                round_constant = (round_constant << 1) ^ ((round_constant >> 7) * 0x1b);
            } else if words_of_key == 8 && i % 8 == 4 {
                word = bitslice::sub_word(word);
            }
            for octet in 0..4 {
                words[4 * i + octet] = words[4 * (i - words_of_key) + octet] ^ word[octet];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197 appendix C: plaintext 00112233... under keys 000102...
    #[test]
    fn aes_agrees_with_fips_197_appendix_c() {
        let plaintext: [u8; 16] = core::array::from_fn(|i| i as u8 * 0x11);
        let key: Vec<u8> = (0..32).collect();
        let encrypt = |key| {
            let schedule = Schedule::new(key, Mode::Ccm, Backend::Portable).unwrap();
            schedule.encrypt(&plaintext)
        };
        assert_eq!(
            encrypt(&key[..16]),
            0x69c4e0d86a7b0430d8cdb78070b4c55a_u128.to_be_bytes()
        );
        assert_eq!(
            encrypt(&key),
            0x8ea2b7ca516745bfeafc49904b496089_u128.to_be_bytes()
        );
    }
}
