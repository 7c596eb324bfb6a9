//! The limit of this CPU's AES unit: AES instructions only, with no stalls except the cipher's own data
//! dependencies.

use std::sync::OnceLock;

use wlan_ciphers::{Backend, Suite};

use crate::case::{BATCH, Case};
use crate::clock;

/// Measured cycles of AES rounds on this CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Cycles per round and block, at the throughput of the widest instructions.
    pub round: f64,
    /// Cycles per round and block, at the throughput of AES-NI.
    pub aesni_round: f64,
    /// Cycles from the start of a round to the start of the next round of the same block.
    pub latency: f64,
}

impl Limit {
    /// Measures once per process. `None` without AES instructions, or if cycles cannot be counted.
    #[must_use]
    pub fn of_this_cpu() -> Option<Limit> {
        static MEASURED: OnceLock<Option<Limit>> = OnceLock::new();
        *MEASURED.get_or_init(|| {
            let aesni_round = clock::cycles_per_aes_round(Backend::AesNi)?;
            let wider = [Backend::Vaes256, Backend::Vaes512].into_iter();
            Some(Limit {
                round: wider
                    .filter_map(clock::cycles_per_aes_round)
                    .fold(aesni_round, f64::min),
                aesni_round,
                latency: clock::cycles_of_aes_latency()?,
            })
        })
    }

    /// The limit with AES-NI instructions only.
    #[must_use]
    pub fn with_aesni(self) -> Limit {
        Limit {
            round: self.aesni_round,
            ..self
        }
    }

    /// The minimum cycles per frame of the case, on average; `None` for suites without AES.
    ///
    /// The limit counts the AES rounds that the standard requires. It does not count GCM's multiplication per block, so
    /// for GCM it is a lower bound that cannot be reached. If frames are processed one by one, it includes the CBC-MAC
    /// chain of a frame, in which each block depends on the previous one.
    #[must_use]
    pub fn cycles_per_frame(&self, case: &Case) -> Option<f64> {
        let each = case.sizes.payloads_b(BATCH).map(|payload_b| {
            let work = Blocks::of(case.suite, payload_b.div_ceil(16))?;
            let all = work.all as f64 * work.rounds * self.round;
            let chain = work.chain as f64 * work.rounds * self.latency;
            Some(if case.one_by_one { all.max(chain) } else { all })
        });
        each.sum::<Option<f64>>().map(|sum| sum / BATCH as f64)
    }
}

/// The number of AES blocks of a frame, and the length of its longest chain of dependent blocks.
struct Blocks {
    all: usize,
    chain: usize,
    /// Rounds per block: 10 with a 128-bit key, 14 with a 256-bit key (FIPS 197 section 5).
    rounds: f64,
}

/// Blocks of AAD: 24 octets and their length field.
const AAD: usize = 2;

impl Blocks {
    fn of(suite: Suite, payload: usize) -> Option<Blocks> {
        let rounds = if suite.key_len() == 16 { 10.0 } else { 14.0 };
        let (all, chain) = match suite {
            // B0, AAD and payload for the MAC; A0 and the payload for CTR (RFC 3610 section 2).
            Suite::Ccmp128 | Suite::Ccmp256 => (2 * payload + AAD + 2, 1 + AAD + payload),
            // Each lane has its own B0 and its share of the blocks.
            Suite::Enhanced(lanes) => (
                2 * payload + AAD + 1 + lanes.count(),
                1 + (AAD + payload).div_ceil(lanes.count()),
            ),
            // The payload and the mask of the tag (NIST SP 800-38D section 7.1).
            Suite::Gcmp128 | Suite::Gcmp256 => (payload + 1, 1),
            _ => return None,
        };
        Some(Blocks { all, chain, rounds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sizes;
    use wlan_ciphers::Lanes;

    const CCMP: Case = Case {
        suite: Suite::Ccmp128,
        sizes: Sizes::Fixed(1500),
        open: false,
        key_each: false,
        one_by_one: false,
    };
    const LIMIT: Limit = Limit {
        round: 0.125,
        aesni_round: 0.5,
        latency: 4.0,
    };

    fn cycles(case: Case) -> f64 {
        LIMIT.cycles_per_frame(&case).unwrap()
    }

    #[test]
    fn a_batch_is_bound_by_throughput_and_a_frame_by_its_chain() {
        // 94 payload blocks: 192 blocks in total, 97 of them in a chain.
        assert_eq!(cycles(CCMP), 192.0 * 1.25);
        let one = Case {
            one_by_one: true,
            ..CCMP
        };
        assert_eq!(cycles(one), 97.0 * 40.0);
        let lanes = Case {
            suite: Suite::Enhanced(Lanes::Eight),
            ..one
        };
        assert_eq!(cycles(lanes), 13.0 * 40.0);
    }

    #[test]
    fn a_longer_key_takes_14_rounds_and_gcm_one_aes_block_per_block() {
        let longer = Case {
            suite: Suite::Ccmp256,
            ..CCMP
        };
        assert_eq!(cycles(longer), 192.0 * 1.75);
        let gcm = Case {
            suite: Suite::Gcmp128,
            ..CCMP
        };
        assert_eq!(cycles(gcm), 95.0 * 1.25);
    }

    #[test]
    fn the_limit_of_mixed_sizes_is_their_mean() {
        let imix = Case {
            sizes: Sizes::Imix,
            ..CCMP
        };
        // 7 frames of 4 blocks, 4 of 36, 1 of 94.
        let blocks = (7.0 * 12.0 + 4.0 * 76.0 + 192.0) / 12.0;
        assert!((cycles(imix) - blocks * 1.25).abs() < 1e-9);
    }

    #[test]
    fn rc4_has_no_aes_limit() {
        let wep = Case {
            suite: Suite::Wep104,
            ..CCMP
        };
        assert_eq!(LIMIT.cycles_per_frame(&wep), None);
    }
}
