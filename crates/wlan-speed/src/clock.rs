//! Time in ticks that are cheap to read, in nanoseconds, and in core cycles, which are independent of the clock
//! frequency.
//!
//! On x86-64, ticks are those of the time stamp counter, and cycles are counted with a chain of one-cycle instructions.
//! On other CPUs, a tick is a nanosecond of the system's clock and cycles are unknown.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use wlan_ciphers::Backend;

#[cfg(target_arch = "x86_64")]
use x86 as machine;

/// Ticks until now. Waits for preceding instructions to complete.
#[must_use]
pub fn ticks() -> u64 {
    machine::ticks()
}

/// Waits for preceding instructions to complete, so that frames do not overlap.
pub fn fence() {
    machine::fence();
}

/// CPU time of this thread in nanoseconds; `None` if the system does not count it.
#[must_use]
pub fn thread_ns() -> Option<f64> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?;
    Some(Duration::from(time).as_nanos() as f64)
}

/// Nanoseconds per tick, measured once.
pub fn ns_per_tick() -> f64 {
    static MEASURED: OnceLock<f64> = OnceLock::new();
    *MEASURED.get_or_init(|| {
        let (start, from) = (Instant::now(), ticks());
        while start.elapsed() < Duration::from_millis(10) {
            std::hint::spin_loop();
        }
        let to = ticks();
        start.elapsed().as_nanos() as f64 / (to - from) as f64
    })
}

/// Core cycles per tick at present. Takes about 10 microseconds.
#[must_use]
pub fn cycles_per_tick() -> Option<f64> {
    machine::cycles_per_tick()
}

/// The core's clock in GHz (cycles per nanosecond), the median of 31 measurements.
#[must_use]
pub fn ghz() -> Option<f64> {
    let moments = (0..31).map(|_| cycles_per_tick()).collect::<Option<Vec<_>>>()?;
    Some(median(moments) / ns_per_tick())
}

/// Minimum cycles per AES round and block with a backend's instructions, at their throughput. `None` if the CPU lacks
/// the instructions.
#[must_use]
pub fn cycles_per_aes_round(backend: Backend) -> Option<f64> {
    (backend != Backend::Portable && backend.is_available()).then(|| machine::aes_round(backend))
}

/// Minimum cycles per block of GCM with a backend's instructions, at their throughput: `ROUNDS` rounds of AES, and the
/// three carry-less products of Karatsuba's method. Reductions are not included, because one serves many blocks. `None`
/// if the CPU lacks the instructions.
#[must_use]
pub fn cycles_per_gcm_block<const ROUNDS: usize>(backend: Backend) -> Option<f64> {
    (backend != Backend::Portable && backend.is_available()).then(|| machine::gcm_block::<ROUNDS>(backend))
}

/// Cycles until the result of an AES round can enter the next round. `None` without AES instructions.
#[must_use]
pub fn cycles_of_aes_latency() -> Option<f64> {
    Backend::AesNi.is_available().then(machine::aes_latency)
}

/// The CPU's model name with its family and model number: hypervisors shorten the name to "AMD EPYC".
#[must_use]
pub fn cpu_model() -> Option<String> {
    machine::cpu_model()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::asm;
    use std::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

    use wlan_ciphers::Backend;

    pub fn ticks() -> u64 {
        // SAFETY: both instructions are part of every x86-64 CPU.
        unsafe {
            _mm_lfence();
            let ticks = _rdtsc();
            _mm_lfence();
            ticks
        }
    }

    pub fn fence() {
        // SAFETY: the instruction is part of every x86-64 CPU.
        unsafe { _mm_lfence() }
    }

    pub fn cycles_per_tick() -> Option<f64> {
        // Adding a register to itself takes one cycle on every CPU; no CPU eliminates it in register renaming.
        const ROUNDS: u32 = 400;
        const CHAIN: u32 = 64;
        let from = ticks();
        let mut x = 3u64;
        for _ in 0..ROUNDS {
            // SAFETY: changes only `x` and flags.
            unsafe {
                asm!(
                    ".rept {chain}", "add {x}, {x}", ".endr",
                    x = inout(reg) x, chain = const CHAIN, options(nomem, nostack)
                );
            }
        }
        std::hint::black_box(x);
        Some(f64::from(ROUNDS * CHAIN) / (ticks() - from) as f64)
    }

    /// Repetitions of `chains`.
    const REPETITIONS: u32 = 20_000;
    const CHAINS: u32 = 8;

    /// Eight interleaved chains, which hide the latency.
    macro_rules! chains {
        ($($line:literal),*) => {
            // SAFETY: the caller uses only instructions that the CPU has; the registers are declared as clobbered.
            unsafe {
                asm!(
                    "2:", $($line),*, "dec {n:e}", "jnz 2b",
                    n = inout(reg) REPETITIONS => _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    options(nomem, nostack)
                )
            }
        };
    }

    pub fn aes_round(backend: Backend) -> f64 {
        let run: (fn(), f64) = match backend {
            Backend::Vaes512 => (
                || {
                    chains!(
                        "vaesenc zmm0,zmm0,zmm0",
                        "vaesenc zmm1,zmm1,zmm1",
                        "vaesenc zmm2,zmm2,zmm2",
                        "vaesenc zmm3,zmm3,zmm3",
                        "vaesenc zmm4,zmm4,zmm4",
                        "vaesenc zmm5,zmm5,zmm5",
                        "vaesenc zmm6,zmm6,zmm6",
                        "vaesenc zmm7,zmm7,zmm7"
                    );
                },
                4.0,
            ),
            Backend::Vaes256 => (
                || {
                    chains!(
                        "vaesenc ymm0,ymm0,ymm0",
                        "vaesenc ymm1,ymm1,ymm1",
                        "vaesenc ymm2,ymm2,ymm2",
                        "vaesenc ymm3,ymm3,ymm3",
                        "vaesenc ymm4,ymm4,ymm4",
                        "vaesenc ymm5,ymm5,ymm5",
                        "vaesenc ymm6,ymm6,ymm6",
                        "vaesenc ymm7,ymm7,ymm7"
                    );
                },
                2.0,
            ),
            _ => (
                || {
                    chains!(
                        "aesenc xmm0,xmm0",
                        "aesenc xmm1,xmm1",
                        "aesenc xmm2,xmm2",
                        "aesenc xmm3,xmm3",
                        "aesenc xmm4,xmm4",
                        "aesenc xmm5,xmm5",
                        "aesenc xmm6,xmm6",
                        "aesenc xmm7,xmm7"
                    );
                },
                1.0,
            ),
        };
        cycles(run.0, REPETITIONS) / f64::from(CHAINS) / run.1
    }

    /// Repetitions of `gcm_chains`, which is longer than `chains`.
    const GCM_REPETITIONS: u32 = REPETITIONS / 10;

    /// `rounds` AES rounds on eight registers, and three products of eight other registers. With at least nine rounds, three
    /// rounds precede each product.
    macro_rules! gcm_chains {
        ($rounds:ident, $aes:literal, $product:literal) => {
            // SAFETY: as for `chains`.
            unsafe {
                asm!(
                    "2:",
                    ".rept 3",
                    ".rept {each}", ".irp i,0,1,2,3,4,5,6,7", $aes, ".endr", ".endr",
                    ".irp i,8,9,10,11,12,13,14,15", $product, ".endr",
                    ".endr",
                    ".rept {after}", ".irp i,0,1,2,3,4,5,6,7", $aes, ".endr", ".endr",
                    "dec {n:e}", "jnz 2b",
                    each = const if $rounds < 9 { 0 } else { 3 },
                    after = const if $rounds < 9 { $rounds } else { $rounds - 9 },
                    n = inout(reg) GCM_REPETITIONS => _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    options(nomem, nostack)
                )
            }
        };
    }

    pub fn gcm_block<const AES_ROUNDS: usize>(backend: Backend) -> f64 {
        let run: (fn(), f64) = match backend {
            Backend::Vaes512 => (
                || {
                    gcm_chains!(
                        AES_ROUNDS,
                        "vaesenc zmm\\i,zmm\\i,zmm\\i",
                        "vpclmulqdq zmm\\i,zmm\\i,zmm\\i,0"
                    );
                },
                4.0,
            ),
            Backend::Vaes256 => (
                || {
                    gcm_chains!(
                        AES_ROUNDS,
                        "vaesenc ymm\\i,ymm\\i,ymm\\i",
                        "vpclmulqdq ymm\\i,ymm\\i,ymm\\i,0"
                    );
                },
                2.0,
            ),
            _ => (
                || {
                    gcm_chains!(AES_ROUNDS, "aesenc xmm\\i,xmm\\i", "pclmulqdq xmm\\i,xmm\\i,0");
                },
                1.0,
            ),
        };
        cycles(run.0, GCM_REPETITIONS) / f64::from(CHAINS) / run.1
    }

    pub fn aes_latency() -> f64 {
        let in_turn = || {
            chains!(
                "aesenc xmm0,xmm1",
                "aesenc xmm0,xmm1",
                "aesenc xmm0,xmm1",
                "aesenc xmm0,xmm1",
                "aesenc xmm0,xmm1",
                "aesenc xmm0,xmm1",
                "aesenc xmm0,xmm1",
                "aesenc xmm0,xmm1"
            );
        };
        cycles(in_turn, REPETITIONS) / f64::from(CHAINS)
    }

    /// Cycles per repetition of `chains` or `gcm_chains`. Disturbances only add time, so this combines the shortest
    /// measurement with the highest clock rate.
    fn cycles(chains: fn(), repetitions: u32) -> f64 {
        const MOMENTS: usize = 63;
        let once = |_| {
            let from = ticks();
            chains();
            (ticks() - from, cycles_per_tick().unwrap_or_default())
        };
        let (shortest, fastest) = (0..MOMENTS)
            .map(once)
            .reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))
            .unwrap_or_default();
        shortest as f64 * fastest / f64::from(repetitions)
    }

    /// The brand string of CPUID. Unlike a file, it cannot be missing.
    pub fn cpu_model() -> Option<String> {
        const LAST: u32 = 0x8000_0004;
        // SAFETY: CPUID is part of every x86-64 CPU. Later compilers consider the call safe.
        #[allow(unused_unsafe)]
        let __cpuid = |leaf| unsafe { __cpuid(leaf) };
        if __cpuid(0x8000_0000).eax < LAST {
            return None;
        }
        let octets: Vec<u8> = (LAST - 2..=LAST)
            .map(__cpuid)
            .flat_map(|leaf| [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx])
            .flat_map(u32::to_le_bytes)
            .take_while(|&octet| octet != 0)
            .collect();
        let words = String::from_utf8_lossy(&octets);
        let name = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let (family, model) = family_and_model(__cpuid(1).eax);
        (!name.is_empty()).then(|| format!("{name} (family {family}, model {model})"))
    }

    /// The family and the model in the version information of CPUID leaf 1 (Intel SDM, volume 2A, CPUID).
    fn family_and_model(version: u32) -> (u32, u32) {
        let bits = |from: u32, count: u32| version >> from & ((1 << count) - 1);
        let (family, model) = (bits(8, 4), bits(4, 4));
        let extended = if family == 6 || family == 15 {
            bits(16, 4) << 4
        } else {
            0
        };
        let more = if family == 15 { bits(20, 8) } else { 0 };
        (family + more, model + extended)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn family_and_model_are_those_of_known_cpus() {
            for (version, family, model) in [
                (0x00A0_0F11, 25, 1),  // AMD EPYC 7003 (Milan)
                (0x00B0_0F21, 26, 2),  // AMD EPYC 9005 (Turin)
                (0x0006_06A6, 6, 106), // Intel Xeon, Ice Lake
                (0x0000_0543, 5, 4),   // Intel Pentium with MMX
            ] {
                assert_eq!(family_and_model(version), (family, model));
            }
            assert!(cpu_model().unwrap().contains(" (family "));
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod machine {
    use std::sync::OnceLock;
    use std::time::Instant;

    use wlan_ciphers::Backend;

    pub fn ticks() -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        let elapsed = START.get_or_init(Instant::now).elapsed();
        u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
    }

    pub fn fence() {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }

    pub fn cycles_per_tick() -> Option<f64> {
        None
    }

    pub fn aes_round(_: Backend) -> f64 {
        f64::NAN
    }

    pub fn gcm_block<const AES_ROUNDS: usize>(_: Backend) -> f64 {
        f64::NAN
    }

    pub fn aes_latency() -> f64 {
        f64::NAN
    }

    pub fn cpu_model() -> Option<String> {
        None
    }
}
