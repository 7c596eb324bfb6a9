//! Expansion of a key with the powers of the hash key of GCM, and GMAC (NIST SP 800-38D 6.4), for one message at a time.
#![allow(unsafe_code)]

use zeroize::Zeroize;

use super::machine::{Keys, MAX_LANES, Machine};
use super::polyval::{self, POWERS};
use super::{AnyMachine, Backend, Kind, Mode, Schedule, Task, perform};

/// Blocks of GHASH between two reductions, a multiple of the lanes of every machine.
const RUN: usize = POWERS / MAX_LANES * MAX_LANES;

/// AES of one block.
struct Encrypt<'a, const KEYS: usize> {
    key: &'a Schedule,
    block: [u8; 16],
}

impl<const KEYS: usize> Task for Encrypt<'_, KEYS> {
    type Output = [u8; 16];

    #[inline(always)]
    fn run<M: Machine>(self, m: M) -> [u8; 16] {
        let keys = M::Keys::<KEYS, 1>::one(m, self.key);
        let mut state = [keys.whiten(m, 0, m.splat(&self.block))];
        keys.rounds_of(m, 0, &mut state, 0);
        m.lanes(keys.join(m, state[0], keys.last(0)))[0]
    }
}

impl Schedule {
    /// Expands a key of 16 or 32 octets, if this CPU supports the backend.
    pub(crate) fn new(key: &[u8], mode: Mode, backend: Backend) -> Option<Schedule> {
        let kind = Kind {
            backend,
            machine: AnyMachine::detect(backend)?,
            mode,
            keys: key.len() / 4 + 7,
        };
        let mut schedule = Schedule::of_rounds(key, kind);
        if mode == Mode::Gcm {
            let mut hash_key = schedule.encrypt(&[0; 16]);
            let mut h = polyval::hash_key(&hash_key);
            schedule.store_powers(|powers| perform(kind, Powers { h: &h, powers }));
            hash_key.zeroize();
            h.zeroize();
        }
        Some(schedule)
    }

    /// AES of one block.
    pub(crate) fn encrypt(&self, block: &[u8; 16]) -> [u8; 16] {
        let (key, block) = (self, *block);
        if self.kind.keys == 11 {
            perform(self.kind, Encrypt::<11> { key, block })
        } else {
            perform(self.kind, Encrypt::<15> { key, block })
        }
    }
}

/// Adds blocks to a hash: the first `count` of `blocks`, to whose first block the hash so far has been added.
struct Hash<'a> {
    key: &'a Schedule,
    blocks: &'a [[u8; 16]; RUN],
    count: usize,
}

impl Task for Hash<'_> {
    type Output = [u8; 16];

    #[inline(always)]
    fn run<M: Machine>(self, m: M) -> [u8; 16] {
        let mut sum = m.no_products();
        for (row, blocks) in self.blocks.chunks_exact(M::LANES).enumerate() {
            let Some(power) = self.count.checked_sub(row * M::LANES).filter(|&power| power > 0) else {
                break;
            };
            // SAFETY: there are as many blocks as lanes.
            let row = m.ghash_order(unsafe { m.load(blocks.as_flattened().as_ptr()) });
            // Lanes past the last block are multiplied by zero.
            sum = m.multiply(sum, row, m.powers(self.key, power));
        }
        m.lanes(m.ghash_order(m.add_lanes(m.reduce(sum))))[0]
    }
}

/// The MIC of GMAC with a nonce of 12 octets over the concatenation of `parts`.
pub(crate) fn gmac(key: &Schedule, nonce: &[u8; 12], parts: &[&[u8]]) -> [u8; 16] {
    let mut ghash = Ghash {
        key,
        blocks: [[0; 16]; RUN],
        filled: 0,
    };
    for part in parts {
        ghash.update(part);
    }
    let message_b: usize = parts.iter().map(|part| part.len()).sum();
    ghash.filled = ghash.filled.next_multiple_of(16);
    ghash.update(&(u128::from(8 * message_b as u64) << 64).to_be_bytes());
    let hash = ghash.finish();

    let mut j0 = [0; 16];
    j0[..12].copy_from_slice(nonce);
    j0[15] = 1;
    (u128::from_ne_bytes(hash) ^ u128::from_ne_bytes(key.encrypt(&j0))).to_ne_bytes()
}

/// GHASH of a message that arrives in parts.
struct Ghash<'k> {
    key: &'k Schedule,
    /// The message since the last reduction, padded with zeros; the hash so far is added to the first block.
    blocks: [[u8; 16]; RUN],
    /// Octets of the message in `blocks`.
    filled: usize,
}

impl Ghash<'_> {
    fn update(&mut self, mut octets: &[u8]) {
        while !octets.is_empty() {
            if self.filled == 16 * RUN {
                let hash = self.finish();
                self.blocks = [[0; 16]; RUN];
                self.blocks[0] = hash;
                self.filled = 0;
            }
            let space = &mut self.blocks.as_flattened_mut()[self.filled..];
            let (now, later) = octets.split_at(octets.len().min(space.len()));
            for (place, octet) in space.iter_mut().zip(now) {
                *place ^= octet;
            }
            self.filled += now.len();
            octets = later;
        }
    }

    /// The hash of the message so far.
    fn finish(&self) -> [u8; 16] {
        let hash = Hash {
            key: self.key,
            blocks: &self.blocks,
            count: self.filled.div_ceil(16),
        };
        perform(self.key.kind, hash)
    }
}

/// The powers of the hash key, in descending order.
struct Powers<'a> {
    /// The hash key times x, as [`polyval`](super::polyval) represents it.
    h: &'a [u8; 16],
    powers: &'a mut [[u8; 16]; POWERS],
}

impl Task for Powers<'_> {
    /// Lanes of the machine.
    type Output = usize;

    #[inline(always)]
    fn run<M: Machine>(self, m: M) -> usize {
        let h = m.splat(self.h);
        // The powers LANES to 1.
        let mut first = [[0; 16]; MAX_LANES];
        let mut power = h;
        for place in first[..M::LANES].iter_mut().rev() {
            *place = m.lanes(power)[0];
            power = m.reduce(m.multiply(m.no_products(), power, h));
        }
        let step = m.splat(&first[0]);
        // SAFETY: there are at least as many blocks as lanes.
        let mut row = unsafe { m.load(first.as_flattened().as_ptr()) };
        for place in self.powers.rchunks_mut(M::LANES) {
            place.copy_from_slice(&m.lanes(row)[M::LANES - place.len()..M::LANES]);
            row = m.reduce(m.multiply(m.no_products(), row, step));
        }
        first.zeroize();
        M::LANES
    }
}
