//! Time in cycles of the core, whatever its clock does.

use std::arch::asm;
use std::arch::x86_64::{_mm_lfence, _rdtsc};

/// Ticks of the time stamp counter, with what came before it done.
pub fn ticks() -> u64 {
    // SAFETY: both are part of every x86-64 CPU with SSE2.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// Waits for what came before, so that frames do not overlap.
pub fn fence() {
    // SAFETY: part of every x86-64 CPU.
    unsafe { _mm_lfence() }
}

/// Core cycles a tick: a chain of multiplications takes three cycles each.
pub fn cycles_per_tick() -> f64 {
    const ROUNDS: u32 = 400;
    let from = ticks();
    let mut x = 3u64;
    for _ in 0..ROUNDS {
        // SAFETY: changes nothing but `x`.
        unsafe {
            asm!(
                ".rept 16", "imul {0}, {0}", ".endr",
                inout(reg) x, options(nomem, nostack)
            );
        }
    }
    std::hint::black_box(x);
    f64::from(ROUNDS * 16 * 3) / (ticks() - from) as f64
}

/// Cycles that one AES round of `lanes` blocks takes when nothing else runs: 1 (AES-NI), 2 or 4 (VAES).
pub fn cycles_per_aes_round(lanes: usize) -> f64 {
    const ROUNDS: u32 = 20_000;
    let once = || {
        let from = ticks();
        // SAFETY: the caller asks only for widths that the CPU has; the registers are clobbered by name.
        unsafe {
            macro_rules! chains {
                ($($line:literal),*) => {
                    asm!(
                        "2:", $($line),*, "dec {n:e}", "jnz 2b",
                        n = inout(reg) ROUNDS => _,
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                        out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                        options(nomem, nostack)
                    )
                };
            }
            match lanes {
                4 => chains!(
                    "vaesenc zmm0,zmm0,zmm0",
                    "vaesenc zmm1,zmm1,zmm1",
                    "vaesenc zmm2,zmm2,zmm2",
                    "vaesenc zmm3,zmm3,zmm3",
                    "vaesenc zmm4,zmm4,zmm4",
                    "vaesenc zmm5,zmm5,zmm5",
                    "vaesenc zmm6,zmm6,zmm6",
                    "vaesenc zmm7,zmm7,zmm7"
                ),
                2 => chains!(
                    "vaesenc ymm0,ymm0,ymm0",
                    "vaesenc ymm1,ymm1,ymm1",
                    "vaesenc ymm2,ymm2,ymm2",
                    "vaesenc ymm3,ymm3,ymm3",
                    "vaesenc ymm4,ymm4,ymm4",
                    "vaesenc ymm5,ymm5,ymm5",
                    "vaesenc ymm6,ymm6,ymm6",
                    "vaesenc ymm7,ymm7,ymm7"
                ),
                _ => chains!(
                    "aesenc xmm0,xmm0",
                    "aesenc xmm1,xmm1",
                    "aesenc xmm2,xmm2",
                    "aesenc xmm3,xmm3",
                    "aesenc xmm4,xmm4",
                    "aesenc xmm5,xmm5",
                    "aesenc xmm6,xmm6",
                    "aesenc xmm7,xmm7"
                ),
            }
        }
        (ticks() - from) as f64 * cycles_per_tick() / f64::from(ROUNDS * 8)
    };
    let mut all: Vec<f64> = (0..31).map(|_| once()).collect();
    all.sort_unstable_by(f64::total_cmp);
    all[all.len() / 2]
}
