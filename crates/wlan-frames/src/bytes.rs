//! Fixed-width reads and writes at an offset. They panic out of bounds, so callers check the length first.

use crate::MacAddr;

/// The `N` octets at `at`.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

/// The little-endian 16-bit number at `at`.
#[inline]
pub(crate) fn get_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}

/// The address at `at`.
#[inline]
pub(crate) fn get_addr(bytes: &[u8], at: usize) -> MacAddr {
    MacAddr(array(bytes, at))
}

/// Writes `value` at `at`.
pub(crate) fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}
