//! Randomness that is the same each time.

use std::convert::Infallible;

use rand_core::{TryCryptoRng, TryRng};
use sha2::{Digest, Sha256};

/// SHA-256 of a seed and a counter.
pub struct Draws {
    seed: u64,
    count: u64,
}

impl Draws {
    pub fn new(seed: u64) -> Draws {
        Draws { seed, count: 0 }
    }

    /// A number less than `end`.
    #[allow(dead_code, reason = "not every test draws")]
    pub fn below(&mut self, end: u64) -> u64 {
        self.try_next_u64().unwrap_or_default() % end
    }
}

impl TryRng for Draws {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut octets = [0; 4];
        self.try_fill_bytes(&mut octets)?;
        Ok(u32::from_le_bytes(octets))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut octets = [0; 8];
        self.try_fill_bytes(&mut octets)?;
        Ok(u64::from_le_bytes(octets))
    }

    fn try_fill_bytes(&mut self, octets: &mut [u8]) -> Result<(), Infallible> {
        for chunk in octets.chunks_mut(32) {
            self.count += 1;
            let digest = Sha256::digest([self.seed.to_le_bytes(), self.count.to_le_bytes()].concat());
            chunk.copy_from_slice(&digest[..chunk.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for Draws {}
