//! The limit of this CPU's AES unit and multiplier: the instructions that the standard requires, with no stalls except
//! the cipher's own data dependencies.

use std::sync::OnceLock;

use wlan_ciphers::{Backend, Method, Suite};
use wlan_speed::{BATCH, Case, clock};

/// Measured cycles of AES rounds and carry-less products on this CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// At the throughput of the widest instructions.
    widest: Throughput,
    /// At the throughput of AES-NI and PCLMULQDQ.
    aesni: Throughput,
    /// Cycles from the start of a round to the start of the next round of the same block.
    pub latency: f64,
}

/// Cycles of independent instructions.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Throughput {
    /// Per AES round and block.
    round: f64,
    /// Per block of GHASH.
    product: f64,
    /// Per block of GCM with a 128-bit key and with a 256-bit key: AES and GHASH side by side.
    gcm: [f64; 2],
}

impl Throughput {
    /// Measures a backend's instructions. `None` if the CPU lacks them.
    fn of(backend: Backend) -> Option<Throughput> {
        Some(Throughput {
            round: clock::cycles_per_aes_round(backend)?,
            product: clock::cycles_per_gcm_block::<0>(backend)?,
            gcm: [
                clock::cycles_per_gcm_block::<10>(backend)?,
                clock::cycles_per_gcm_block::<14>(backend)?,
            ],
        })
    }
}

/// The part of the CPU that sets a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The throughput of the AES unit.
    Aes,
    /// The throughput of AES unit and multiplier, which share execution ports.
    AesAndMultiplier,
    /// The throughput of the multiplier.
    Multiplier,
    /// The latency of AES: each block waits for the previous one.
    Latency,
}

impl Bound {
    /// A short name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Bound::Aes => "AES",
            Bound::AesAndMultiplier => "both",
            Bound::Multiplier => "GHASH",
            Bound::Latency => "chain",
        }
    }
}

/// Relative difference below which two measured throughputs count as equal.
const EQUAL: f64 = 0.1;

impl Limit {
    /// Measures once per process. `None` without AES instructions, or if cycles cannot be counted.
    #[must_use]
    pub fn of_this_cpu() -> Option<Limit> {
        static MEASURED: OnceLock<Option<Limit>> = OnceLock::new();
        *MEASURED.get_or_init(|| {
            let aesni = Throughput::of(Backend::AesNi)?;
            let wider = [Backend::Vaes256, Backend::Vaes512].into_iter();
            let fastest = |a: Throughput, b: Throughput| if b.round < a.round { b } else { a };
            Some(Limit {
                widest: wider.filter_map(Throughput::of).fold(aesni, fastest),
                aesni,
                latency: clock::cycles_of_aes_latency()?,
            })
        })
    }

    /// The limit with AES-NI instructions only.
    #[must_use]
    pub fn with_aesni(self) -> Limit {
        Limit {
            widest: self.aesni,
            ..self
        }
    }

    /// Cycles per AES round and block, at the throughput of the widest instructions.
    #[must_use]
    pub fn round(&self) -> f64 {
        self.widest.round
    }

    /// The minimum cycles per frame of the case, on average; `None` for suites without AES.
    ///
    /// The limit counts the AES rounds that the standard requires and, for GCM, three carry-less products per block of
    /// GHASH. If frames are processed one by one, it includes the CBC-MAC chain of a frame, in which each block depends on
    /// the previous one.
    #[must_use]
    pub fn cycles_per_frame(&self, case: &Case) -> Option<f64> {
        let each = case.sizes.payloads_b(BATCH).map(|payload_b| {
            let work = Blocks::of(case.suite, payload_b.div_ceil(16))?;
            let all = self.cycles_of(&work);
            Some(if case.one_by_one {
                all.max(self.cycles_of_chain(&work))
            } else {
                all
            })
        });
        each.sum::<Option<f64>>().map(|sum| sum / BATCH as f64)
    }

    /// The part of the CPU that sets the limit of the case; `None` for suites without AES.
    #[must_use]
    pub fn bound(&self, case: &Case) -> Option<Bound> {
        let longest = case.sizes.payloads_b(BATCH).max()?;
        let work = Blocks::of(case.suite, longest.div_ceil(16))?;
        if case.one_by_one && self.cycles_of_chain(&work) > self.cycles_of(&work) {
            return Some(Bound::Latency);
        }
        if work.hashed == 0 {
            return Some(Bound::Aes);
        }
        let (aes, product) = (work.rounds as f64 * self.widest.round, self.widest.product);
        let both = self.cycles_per_gcm_block(&work);
        Some(if both < aes * (1.0 + EQUAL) {
            Bound::Aes
        } else if both < product * (1.0 + EQUAL) {
            Bound::Multiplier
        } else {
            Bound::AesAndMultiplier
        })
    }

    /// Cycles of all blocks of a frame, at the throughput of the instructions.
    fn cycles_of(&self, work: &Blocks) -> f64 {
        let (enciphered, hashed) = (work.all as f64, work.hashed as f64);
        if work.hashed == 0 {
            return enciphered * work.rounds as f64 * self.widest.round;
        }
        enciphered * self.cycles_per_gcm_block(work) + (hashed - enciphered) * self.widest.product
    }

    /// Cycles of the longest chain of blocks of a frame.
    fn cycles_of_chain(&self, work: &Blocks) -> f64 {
        work.chain as f64 * work.rounds as f64 * self.latency
    }

    fn cycles_per_gcm_block(&self, work: &Blocks) -> f64 {
        self.widest.gcm[usize::from(work.rounds > 10)]
    }
}

/// The number of blocks of a frame, and the length of its longest chain of dependent blocks.
struct Blocks {
    /// Blocks that pass through AES.
    all: usize,
    /// Blocks of GHASH, at least as many as `all`, or none.
    hashed: usize,
    chain: usize,
    /// Rounds per block: 10 with a 128-bit key, 14 with a 256-bit key (FIPS 197 section 5).
    rounds: usize,
}

/// Blocks of AAD: 24 octets and their length field.
const AAD: usize = 2;

impl Blocks {
    fn of(suite: Suite, payload: usize) -> Option<Blocks> {
        let rounds = if suite.key_len() == 16 { 10 } else { 14 };
        let (all, hashed, chain) = match suite.method() {
            // B0, AAD and payload for the MAC; A0 and the payload for CTR (RFC 3610 section 2).
            Method::Ccm => (2 * payload + AAD + 2, 0, 1 + AAD + payload),
            // Each lane has its own B0 and its share of the blocks.
            Method::Lanes(lanes) => (
                2 * payload + AAD + 1 + lanes.count(),
                0,
                1 + (AAD + payload).div_ceil(lanes.count()),
            ),
            // The payload and the mask of the tag; AAD, payload and lengths (NIST SP 800-38D section 7.1).
            Method::Gcm => (payload + 1, AAD + payload + 1, 1),
            _ => return None,
        };
        Some(Blocks {
            all,
            hashed,
            chain,
            rounds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wlan_ciphers::Lanes;
    use wlan_speed::Sizes;

    const CCMP: Case = Case {
        suite: Suite::Ccmp128,
        sizes: Sizes::Fixed(1500),
        open: false,
        key_each: false,
        one_by_one: false,
    };
    const WIDEST: Throughput = Throughput {
        round: 0.125,
        product: 0.75,
        gcm: [2.0, 2.5],
    };
    const LIMIT: Limit = Limit {
        widest: WIDEST,
        aesni: WIDEST,
        latency: 4.0,
    };
    const GCMP: Case = Case {
        suite: Suite::Gcmp128,
        ..CCMP
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
    fn a_longer_key_takes_14_rounds_and_gcm_one_aes_block_and_one_product_per_block() {
        let longer = Case {
            suite: Suite::Ccmp256,
            ..CCMP
        };
        assert_eq!(cycles(longer), 192.0 * 1.75);
        // 94 payload blocks and the mask of the tag, and two blocks of GHASH more.
        assert_eq!(cycles(GCMP), 95.0 * 2.0 + 2.0 * 0.75);
        let longer = Case {
            suite: Suite::Gcmp256,
            ..GCMP
        };
        assert_eq!(cycles(longer), 95.0 * 2.5 + 2.0 * 0.75);
    }

    #[test]
    fn the_bound_is_the_part_of_the_cpu_that_takes_the_time() {
        let bound = |gcm, product, case| {
            let widest = Throughput {
                gcm: [gcm; 2],
                product,
                ..WIDEST
            };
            Limit { widest, ..LIMIT }.bound(&case)
        };
        assert_eq!(bound(2.0, 0.75, CCMP), Some(Bound::Aes));
        // AES alone takes 1.25 cycles per block.
        assert_eq!(bound(1.3, 0.75, GCMP), Some(Bound::Aes));
        assert_eq!(bound(2.0, 1.9, GCMP), Some(Bound::Multiplier));
        assert_eq!(bound(2.0, 0.75, GCMP), Some(Bound::AesAndMultiplier));
        let one = Case {
            one_by_one: true,
            ..CCMP
        };
        assert_eq!(bound(2.0, 0.75, one), Some(Bound::Latency));
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
        assert_eq!((LIMIT.cycles_per_frame(&wep), LIMIT.bound(&wep)), (None, None));
    }
}
