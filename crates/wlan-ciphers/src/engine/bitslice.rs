//! AES by Boolean operations on bit planes: no table lookup and no branch depends on a secret.
//!
//! Sixteen blocks are transposed so that plane `p` holds bit `p` of all their octets. Each 64-bit word of a plane holds
//! four blocks: bit `16 * row + 4 * column + block` (FIPS 197 section 3.4 for rows and columns). The S-box is the
//! circuit of Boyar and Peralta (A small depth-16 circuit for the AES S-box, 2012).

use core::ops::{BitAnd, BitXor, Not};

use super::array;

/// Blocks per call of the cipher.
pub(super) const BLOCKS: usize = 16;

const WORDS: usize = BLOCKS / 4;

/// One bit of each octet of sixteen blocks, four blocks per word.
#[derive(Clone, Copy, Default)]
pub(super) struct Plane([u64; WORDS]);

impl Plane {
    #[inline(always)]
    fn map(self, f: impl Fn(u64) -> u64) -> Plane {
        Plane(array(|word| f(self.0[word])))
    }

    #[inline(always)]
    fn zip(self, other: Plane, f: impl Fn(u64, u64) -> u64) -> Plane {
        Plane(array(|word| f(self.0[word], other.0[word])))
    }
}

impl BitXor for Plane {
    type Output = Plane;
    #[inline(always)]
    fn bitxor(self, other: Plane) -> Plane {
        self.zip(other, |a, b| a ^ b)
    }
}

impl BitAnd for Plane {
    type Output = Plane;
    #[inline(always)]
    fn bitand(self, other: Plane) -> Plane {
        self.zip(other, |a, b| a & b)
    }
}

impl Not for Plane {
    type Output = Plane;
    #[inline(always)]
    fn not(self) -> Plane {
        self.map(|a| !a)
    }
}

/// Sixteen blocks, bit-sliced; plane 0 holds the least significant bits.
pub(super) type Planes = [Plane; 8];

/// Transposes blocks to planes.
pub(super) fn slice(blocks: &[[u8; 16]; BLOCKS]) -> Planes {
    let mut planes = Planes::default();
    for (i, block) in blocks.iter().enumerate() {
        let (word, lane) = (i / 4, i % 4);
        let column = |c: usize| {
            spread(u32::from_le_bytes([
                block[4 * c],
                block[4 * c + 1],
                block[4 * c + 2],
                block[4 * c + 3],
            ]))
        };
        planes[lane].0[word] = column(0) | column(2) << 8;
        planes[lane + 4].0[word] = column(1) | column(3) << 8;
    }
    turn(&mut planes);
    planes
}

/// Transposes planes to blocks.
pub(super) fn unslice(mut planes: Planes) -> [[u8; 16]; BLOCKS] {
    turn(&mut planes);
    let mut blocks = [[0; 16]; BLOCKS];
    for (i, block) in blocks.iter_mut().enumerate() {
        let (word, lane) = (i / 4, i % 4);
        let (even, odd) = (planes[lane].0[word], planes[lane + 4].0[word]);
        for (c, column) in [even, odd, even >> 8, odd >> 8].into_iter().enumerate() {
            block[4 * c..][..4].copy_from_slice(&gather(column).to_le_bytes());
        }
    }
    blocks
}

/// Spreads the octets of `x` to every second octet.
#[inline(always)]
fn spread(x: u32) -> u64 {
    let x = u64::from(x);
    let x = (x | x << 16) & 0x0000_ffff_0000_ffff;
    (x | x << 8) & 0x00ff_00ff_00ff_00ff
}

/// The inverse of [`spread`]; the other octets are ignored.
#[inline(always)]
fn gather(x: u64) -> u32 {
    let x = x & 0x00ff_00ff_00ff_00ff;
    let x = (x | x >> 8) & 0x0000_ffff_0000_ffff;
    let [a, b, c, d, ..] = (x | x >> 16).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Transposes 8 by 8 bit matrices, each formed by the octets at one position of eight words. It is its own inverse.
#[inline(always)]
fn turn(planes: &mut Planes) {
    swap_bits(planes, 1, 0x5555_5555_5555_5555);
    swap_bits(planes, 2, 0x3333_3333_3333_3333);
    swap_bits(planes, 4, 0x0f0f_0f0f_0f0f_0f0f);
}

#[inline(always)]
fn swap_bits(planes: &mut Planes, distance: usize, low: u64) {
    for i in (0..8).filter(|i| i & distance == 0) {
        let (a, b) = (planes[i], planes[i + distance]);
        planes[i] = a.zip(b, |a, b| a & low | (b & low) << distance);
        planes[i + distance] = a.zip(b, |a, b| (a & !low) >> distance | b & !low);
    }
}

/// AES with `keys`, one more than the rounds. Each block has the key at its own place.
#[inline(never)]
pub(super) fn encrypt(keys: &[Planes], blocks: &[[u8; 16]; BLOCKS]) -> [[u8; 16]; BLOCKS] {
    let mut state = slice(blocks);
    add(&mut state, &keys[0]);
    for key in &keys[1..keys.len() - 1] {
        state = mix_columns(&shift_rows(&s_box(state)));
        add(&mut state, key);
    }
    state = shift_rows(&s_box(state));
    add(&mut state, &keys[keys.len() - 1]);
    unslice(state)
}

#[inline(always)]
fn add(state: &mut Planes, key: &Planes) {
    for (plane, key) in state.iter_mut().zip(key) {
        *plane = *plane ^ *key;
    }
}

/// Rotates row r by r columns of four bits (FIPS 197 5.1.2).
#[inline(always)]
fn shift_rows(state: &Planes) -> Planes {
    array(|bit| {
        state[bit].map(|x| {
            x & 0x0000_0000_0000_ffff
                | (x & 0x0000_0000_fff0_0000) >> 4
                | (x & 0x0000_0000_000f_0000) << 12
                | (x & 0x0000_ff00_0000_0000) >> 8
                | (x & 0x0000_00ff_0000_0000) << 8
                | (x & 0xf000_0000_0000_0000) >> 12
                | (x & 0x0fff_0000_0000_0000) << 4
        })
    })
}

/// Each octet becomes 2 a(r) + 3 a(r+1) + a(r+2) + a(r+3) of its column (FIPS 197 5.1.3).
#[inline(always)]
fn mix_columns(a: &Planes) -> Planes {
    let next: Planes = array(|bit| a[bit].map(|x| x.rotate_right(16)));
    let sum: Planes = array(|bit| a[bit] ^ next[bit]);
    array(|bit| {
        let others = next[bit] ^ sum[bit].map(|x| x.rotate_right(32));
        // Twice the sum of the two octets: the top bit is reduced to 0x1b.
        let doubled = match bit {
            0 => sum[7],
            1 | 3 | 4 => sum[bit - 1] ^ sum[7],
            _ => sum[bit - 1],
        };
        others ^ doubled
    })
}

/// SubWord of the key expansion (FIPS 197 5.2).
pub(super) fn sub_word(word: [u8; 4]) -> [u8; 4] {
    let planes: [u8; 8] = array(|bit| (0..4).fold(0, |plane, i| plane | (word[i] >> bit & 1) << i));
    let planes = s_box(planes);
    array(|i| (0..8).fold(0, |octet, bit| octet | (planes[bit] >> i & 1) << bit))
}

/// The S-box on eight planes, with the paper's variable names.
#[inline(always)]
fn s_box<T>(planes: [T; 8]) -> [T; 8]
where
    T: Copy + BitXor<Output = T> + BitAnd<Output = T> + Not<Output = T>,
{
    let [x7, x6, x5, x4, x3, x2, x1, x0] = planes;
    // The top linear layer.
    let (y14, y13, y9, y8, t0) = (x3 ^ x5, x0 ^ x6, x0 ^ x3, x0 ^ x5, x1 ^ x2);
    let y1 = t0 ^ x7;
    let (y4, y12, y2, y5, y3) = (y1 ^ x3, y13 ^ y14, y1 ^ x0, y1 ^ x6, y1 ^ x6 ^ y8);
    let t1 = x4 ^ y12;
    let (y15, y20) = (t1 ^ x5, t1 ^ x1);
    let (y6, y10, y11) = (y15 ^ x7, y15 ^ t0, y20 ^ y9);
    let (y7, y17, y19, y16) = (x7 ^ y11, y10 ^ y11, y10 ^ y8, t0 ^ y11);
    let (y21, y18) = (y13 ^ y16, x0 ^ y16);
    // Inversion in GF(2^8) through GF(2^4).
    let t2 = y12 & y15;
    let t4 = y3 & y6 ^ t2;
    let t6 = y4 & x7 ^ t2;
    let t7 = y13 & y16;
    let t9 = y5 & y1 ^ t7;
    let t11 = y2 & y7 ^ t7;
    let t12 = y9 & y11;
    let t14 = y14 & y17 ^ t12;
    let t16 = y8 & y10 ^ t12;
    let (t21, t22, t23, t24) = (t4 ^ t14 ^ y20, t6 ^ t16 ^ y19, t9 ^ t14 ^ y21, t11 ^ t16 ^ y18);
    let (t25, t26) = (t21 ^ t22, t21 & t23);
    let (t27, t31) = (t24 ^ t26, t22 ^ t26);
    let t29 = t25 & t27 ^ t22;
    let t33 = t31 & (t23 ^ t24) ^ t24;
    let t36 = t24 & (t27 ^ t33);
    let t37 = t36 ^ t23 ^ t33;
    let t40 = t25 ^ t29 & (t27 ^ t36);
    let (t41, t42, t43, t44) = (t40 ^ t37, t29 ^ t33, t29 ^ t40, t33 ^ t37);
    let t45 = t42 ^ t41;
    let (z0, z1, z2) = (t44 & y15, t37 & y6, t33 & x7);
    let (z3, z4, z5) = (t43 & y16, t40 & y1, t29 & y7);
    let (z6, z7, z8) = (t42 & y11, t45 & y17, t41 & y10);
    let (z9, z10, z11) = (t44 & y12, t37 & y3, t33 & y4);
    let (z12, z13, z14) = (t43 & y13, t40 & y5, t29 & y2);
    let (z15, z16, z17) = (t42 & y9, t45 & y14, t41 & y8);
    // The bottom linear layer.
    let (t46, t47, t48, t49, t50) = (z15 ^ z16, z10 ^ z11, z5 ^ z13, z9 ^ z10, z2 ^ z12);
    let (t51, t52, t53, t54, t55) = (z2 ^ z5, z7 ^ z8, z0 ^ z3, z6 ^ z7, z16 ^ z17);
    let (t56, t57, t58, t59) = (z12 ^ t48, t50 ^ t53, z4 ^ t46, z3 ^ t54);
    let (t60, t61, t62, t63, t64) = (t46 ^ t57, z14 ^ t57, t52 ^ t58, t49 ^ t58, z4 ^ t59);
    let (t65, t66, t67) = (t61 ^ t62, z1 ^ t63, t64 ^ t61 ^ t62);
    let s3 = t53 ^ t66;
    [
        t48 ^ !t60,
        t56 ^ !t62,
        t47 ^ t65,
        t51 ^ t66,
        s3,
        t55 ^ !t67,
        t64 ^ !s3,
        t59 ^ t63,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slicing_back_and_forth_is_the_identity() {
        let blocks = core::array::from_fn(|i| core::array::from_fn(|j| (i * 31 + j * 7) as u8));
        assert_eq!(unslice(slice(&blocks)), blocks);
    }

    #[test]
    fn the_s_box_has_the_values_of_fips_197_figure_7() {
        assert_eq!(sub_word([0x00, 0x01, 0x53, 0xff]), [0x63, 0x7c, 0xed, 0x16]);
        let mut seen: Vec<u8> = (0..=255).map(|x| sub_word([x; 4])[2]).collect();
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..=255), "it is a permutation");
    }
}
