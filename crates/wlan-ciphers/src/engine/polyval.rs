//! The field of GHASH in the representation of carry-less multiplication: POLYVAL (RFC 8452 section 3).
//!
//! GHASH reads octets in the opposite order and its bits reflected. RFC 8452 appendix A: GHASH(H, X1, ...) is the octet
//! reversal of POLYVAL(x H', X1', ...), where ' reverses octets. The stored powers are therefore powers of x H', and a
//! product is `a * b * x^-128` modulo x^128 + x^127 + x^126 + x^121 + 1. No table lookup and no branch depends on a
//! secret.

/// Number of stored powers of the hash key, and therefore the maximum of blocks per reduction of GHASH.
pub(super) const POWERS: usize = 65;

/// A sum of 128 by 128 bit products, low half first.
pub(super) type Product = [u64; 4];

/// The hash key H in this representation, least significant octet first: its first stored power.
pub(super) fn hash_key(hash_key: &[u8; 16]) -> [u8; 16] {
    times_x(u128::from_be_bytes(*hash_key)).to_le_bytes()
}

/// mulX_POLYVAL of RFC 8452 appendix A.
fn times_x(a: u128) -> u128 {
    let carry = a >> 127;
    a << 1 ^ (carry << 127 | carry << 126 | carry << 121 | carry)
}

/// `sum + a * b`.
#[inline]
pub(super) fn add_product(sum: Product, a: u128, b: u128) -> Product {
    let halves = |x: u128| (x as u64, (x >> 64) as u64);
    let ((a0, a1), (b0, b1)) = (halves(a), halves(b));
    let (low, high) = (multiply(a0, b0), multiply(a1, b1));
    // Karatsuba.
    let middle = multiply(a0 ^ a1, b0 ^ b1) ^ low ^ high;
    [
        sum[0] ^ low as u64,
        sum[1] ^ (low >> 64) as u64 ^ middle as u64,
        sum[2] ^ high as u64 ^ (middle >> 64) as u64,
        sum[3] ^ (high >> 64) as u64,
    ]
}

/// `sum * x^-128`. Adding the lowest word times (x^128 + x^127 + x^126 + x^121 + 1) clears that word; this is done
/// twice.
#[inline]
pub(super) fn reduce(sum: Product) -> u128 {
    let [v0, mut v1, mut v2, mut v3] = sum;
    let fold = |v: u64| (v << 63 ^ v << 62 ^ v << 57, v ^ v >> 1 ^ v >> 2 ^ v >> 7);
    let (low, high) = fold(v0);
    v1 ^= low;
    v2 ^= high;
    let (low, high) = fold(v1);
    v2 ^= low;
    v3 ^= high;
    u128::from(v3) << 64 | u128::from(v2)
}

/// Carry-less product of two 64-bit numbers.
#[inline]
fn multiply(a: u64, b: u64) -> u128 {
    let low = low_half(a, b);
    // The reflection of a product is the product of the reflections, shifted by one bit.
    let high = low_half(a.reverse_bits(), b.reverse_bits()).reverse_bits() >> 1;
    u128::from(high) << 64 | u128::from(low)
}

/// The low half of the carry-less product, from integer products with holes: only one of every four bits is used, so
/// that sums of up to fifteen ones do not carry into the next used bit (T. Pornin, BearSSL, "Constant-time mul").
#[inline]
fn low_half(a: u64, b: u64) -> u64 {
    const HOLES: [u64; 4] = [
        0x1111_1111_1111_1111,
        0x2222_2222_2222_2222,
        0x4444_4444_4444_4444,
        0x8888_8888_8888_8888,
    ];
    let mut product = 0;
    for place in 0..4 {
        let mut sum = 0;
        for i in 0..4 {
            sum ^= (a & HOLES[i]).wrapping_mul(b & HOLES[(place + 4 - i) % 4]);
        }
        product |= sum & HOLES[place];
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_carry_less() {
        let (a, b) = (0x8000_0000_0000_0003_u64, 0xffff_ffff_ffff_ffff);
        let slow = (0..64)
            .filter(|&i| b >> i & 1 == 1)
            .fold(0, |sum, i| sum ^ u128::from(a) << i);
        assert_eq!(multiply(a, b), slow);
    }

    /// RFC 8452 appendix A: POLYVAL(H, X1, X2).
    #[test]
    fn polyval_agrees_with_rfc_8452_appendix_a() {
        let be = u128::swap_bytes;
        let h = be(0x25629347589242761d31f826ba4b757b);
        let x1 = be(0x4f4f95668c83dfb6401762bb2d01a262);
        let x2 = be(0xd1a24ddd2721d006bbe45f20d3c9f362);
        let s = reduce(add_product([0; 4], x1, h));
        let s = reduce(add_product([0; 4], s ^ x2, h));
        assert_eq!(s, be(0xf7a3b47b846119fae5b7866cf5e5b77e));
    }
}
