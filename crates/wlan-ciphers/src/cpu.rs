//! Detection of the CPU's instructions.
//!
//! With the feature `std` the program asks the CPU when it runs. Without `std` only the instructions count that the
//! compiler may use everywhere (`-C target-feature`, `-C target-cpu`).

/// Whether the CPU has all these features.
#[cfg(target_arch = "x86_64")]
macro_rules! cpu_has {
    ($($feature:tt),+) => {{
        #[cfg(feature = "std")]
        let has = $(std::arch::is_x86_feature_detected!($feature))&&+;
        #[cfg(not(feature = "std"))]
        let has = cfg!(all($(target_feature = $feature),+));
        has
    }};
}

/// Whether the CPU has AES and PMULL. The compiler has one name for both, the standard library has two.
#[cfg(target_arch = "aarch64")]
pub(crate) fn has_aes_and_pmull() -> bool {
    #[cfg(feature = "std")]
    let has =
        std::arch::is_aarch64_feature_detected!("aes") && std::arch::is_aarch64_feature_detected!("pmull");
    #[cfg(not(feature = "std"))]
    let has = cfg!(target_feature = "aes");
    has
}
