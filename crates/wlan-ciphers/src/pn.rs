//! Packet numbers and key identifiers, IEEE 802.11-2020 12.5.3.2 and 12.5.3.3.2.

/// A 48-bit packet number, which must be unique among the MPDUs sealed with one temporal key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PacketNumber(u64);

/// All packet numbers of the temporal key are used. The key must be replaced before another frame is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the packet number is exhausted: the temporal key must be replaced")]
pub struct PnExhausted;

impl PacketNumber {
    /// Start of the counters when a key is installed. The first frame has the next number.
    pub const ZERO: PacketNumber = PacketNumber(0);
    /// The last packet number.
    pub const MAX: PacketNumber = PacketNumber((1 << 48) - 1);

    /// The packet number `value`, if it fits 48 bits.
    #[must_use]
    pub const fn new(value: u64) -> Option<PacketNumber> {
        if value <= Self::MAX.0 {
            Some(PacketNumber(value))
        } else {
            None
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number after this one.
    ///
    /// # Errors
    /// [`PnExhausted`] after [`MAX`](Self::MAX): packet numbers never wrap.
    pub const fn next(self) -> Result<PacketNumber, PnExhausted> {
        match Self::new(self.0 + 1) {
            Some(pn) => Ok(pn),
            None => Err(PnExhausted),
        }
    }

    /// PN5 to PN0: most significant octet first, as in nonces.
    pub(crate) const fn be_octets(self) -> [u8; 6] {
        let [_, _, a, b, c, d, e, f] = self.0.to_be_bytes();
        [a, b, c, d, e, f]
    }

    /// From PN5 to PN0.
    pub(crate) const fn from_be_octets([a, b, c, d, e, f]: [u8; 6]) -> PacketNumber {
        PacketNumber(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }
}

/// Identifier of one of the four keys between two stations, 0 to 3. Pairwise keys are 0 unless extended key IDs are
/// negotiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct KeyId(u8);

impl KeyId {
    /// The pairwise key.
    pub const PAIRWISE: KeyId = KeyId(0);

    /// The key identifier `value`, if it is 0 to 3.
    #[must_use]
    pub const fn new(value: u8) -> Option<KeyId> {
        if value < 4 { Some(KeyId(value)) } else { None }
    }

    /// The number, 0 to 3.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The key identifier in the two most significant bits of the Key ID octet.
    #[must_use]
    pub const fn from_key_id_octet(octet: u8) -> KeyId {
        KeyId(octet >> 6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_numbers_count_up_and_never_wrap() {
        assert_eq!(PacketNumber::ZERO.next().unwrap().get(), 1);
        assert_eq!(
            PacketNumber::new(0xffff_ffff_fffe).unwrap().next(),
            Ok(PacketNumber::MAX)
        );
        assert_eq!(PacketNumber::MAX.next(), Err(PnExhausted));
        assert_eq!(PacketNumber::new(1 << 48), None);
    }

    #[test]
    fn there_are_four_key_identifiers() {
        assert_eq!(KeyId::new(3).map(KeyId::get), Some(3));
        assert_eq!(KeyId::new(4), None);
    }
}
