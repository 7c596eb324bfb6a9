//! Helpers of the tests.

/// Octets of hexadecimal digits.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    assert!(digits.len().is_multiple_of(2), "whole octets");
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits"))
        .collect()
}
