//! The Internet checksum (RFC 1071): the ones' complement of the ones' complement sum of 16-bit words.

/// The ones' complement sum of the octets as big-endian words. An odd last octet is followed by a zero.
///
/// The words 0 and 0xffff represent the same number. The sum is 0 if all octets are zero, and otherwise never 0.
pub fn sum(octets: &[u8]) -> u16 {
    // The sum in either byte order gives the same result, apart from its own byte order (RFC 1071 section 2 B), and
    // carries may be deferred (section 2 A): 64 KiB add less than 2^46 to all lanes together.
    const LANES: usize = 8;
    let (blocks, rest) = octets.as_chunks::<{ 4 * LANES }>();
    let mut lanes = [0_u64; LANES];
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<4>().0) {
            *lane += u64::from(u32::from_ne_bytes(*word));
        }
    }
    let mut total: u64 = lanes.iter().sum();
    let (words, odd) = rest.as_chunks::<2>();
    for word in words {
        total += u64::from(u16::from_ne_bytes(*word));
    }
    if let [last] = *odd {
        total += u64::from(u16::from_ne_bytes([last, 0]));
    }
    u16::from_be(fold(total))
}

/// The ones' complement sum of two words.
pub fn add(a: u16, b: u16) -> u16 {
    fold(u64::from(a) + u64::from(b))
}

/// The ones' complement difference of two words.
pub fn subtract(a: u16, b: u16) -> u16 {
    add(a, !b)
}

/// The sum of the pseudo-header of TCP and UDP (RFC 9293 3.1, RFC 8200 8.1). `addresses` are source and destination;
/// `length_b` is the length of transport header and payload, which fits 16 bits in every IP packet.
pub fn pseudo_header(addresses: &[u8], protocol: u8, length_b: u16) -> u16 {
    add(add(sum(addresses), u16::from(protocol)), length_b)
}

fn fold(mut total: u64) -> u16 {
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    #[allow(clippy::cast_possible_truncation)] // at most 0xffff now
    let folded = total as u16;
    folded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 1071 section 1, word by word.
    fn as_defined(octets: &[u8]) -> u16 {
        octets.chunks(2).fold(0_u16, |sum, word| {
            let word = u16::from_be_bytes([word[0], *word.get(1).unwrap_or(&0)]);
            let (sum, carry) = sum.overflowing_add(word);
            sum + u16::from(carry)
        })
    }

    #[test]
    fn the_example_of_rfc_1071() {
        // Section 3: the sum of these octets is ddf2.
        assert_eq!(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
    }

    #[test]
    fn the_longest_packet_of_ones_does_not_overflow() {
        assert_eq!(sum(&vec![0xff; 65_536]), 0xffff);
    }

    proptest! {
        #[test]
        fn sums_agree_with_the_definition(octets in proptest::collection::vec(any::<u8>(), 0..400)) {
            prop_assert_eq!(sum(&octets), as_defined(&octets));
        }

        #[test]
        fn subtracting_undoes_adding(a: u16, b: u16) {
            // 0 and 0xffff represent the same number.
            prop_assert_eq!(subtract(add(a, b), b) % 0xffff, a % 0xffff);
        }
    }
}
