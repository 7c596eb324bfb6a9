//! The two halves of sealing a frame, each by itself: what its MIC costs and what its cipher costs.
//!
//! They are for measuring. Each is the code that seals with the other half left out, so that both, in the order of
//! the suite, leave the very frame that sealing does; but whoever sends a frame after one of them sends it in clear,
//! or without a MIC.
//!
//! | suite | [`Mic`](Half::Mic) | [`Cipher`](Half::Cipher) | order |
//! |---|---|---|---|
//! | CCMP, Enhanced CCMP | CBC-MAC of AAD and plaintext, and A0, which masks it (RFC 3610 sections 2.2, 2.3) | CTR from A1 on | MIC first |
//! | GCMP | GHASH of AAD and ciphertext, and J0, which masks it (NIST SP 800-38D 7.1) | CTR | cipher first |
//! | TKIP | Michael and ICV (IEEE 802.11-2020 12.5.2.3, 12.3.2.4) | key mixing and RC4 | MIC first |
//! | WEP | ICV | RC4 with its key schedule | MIC first |
//!
//! Parsing the header and building nonce, AAD and the suite's header are part of each half, since each of them needs
//! these. For the suites of AES the halves together take longer than sealing: there the engine lets a block of the
//! MAC and a counter block go through the CPU's AES unit side by side, and parses once.
//!
//! ```
//! use wlan_ciphers::{Ccmp, Half, KeyId, PacketNumber, SealJob};
//! let mut whole = *b"\x08\x01\0\0AAAAAABBBBBBCCCCCC\x10\0........to be sealed........";
//! let mut halves = whole;
//! fn job(mpdu: &mut [u8]) -> SealJob<'_> {
//!     SealJob { mpdu, header_len: 24, pn: PacketNumber::new(1).unwrap(), key_id: KeyId::PAIRWISE }
//! }
//! let key = Ccmp::new(&[7; 16]);
//! key.seal(&mut [job(&mut whole)]).unwrap();
//! key.seal_half(Half::Mic, &mut job(&mut halves)).unwrap();
//! key.seal_half(Half::Cipher, &mut job(&mut halves)).unwrap();
//! assert_eq!(halves, whole);
//! ```

use crate::Suite;

/// What of a frame's sealing is done.
#[cfg_attr(not(feature = "study"), allow(dead_code))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Half {
    /// The MIC, or what the suite has instead of one; the payload stays as it is.
    Mic,
    /// The payload enciphered; the octets of the MIC stay as they are, but that RC4 enciphers them too.
    Cipher,
}

#[cfg_attr(not(feature = "study"), allow(dead_code))]
impl Half {
    /// Both, in the order in which one after the other they seal: what the MIC is of must be there first.
    #[must_use]
    pub const fn in_order(suite: Suite) -> [Half; 2] {
        match suite {
            Suite::Gcmp128 | Suite::Gcmp256 => [Half::Cipher, Half::Mic],
            _ => [Half::Mic, Half::Cipher],
        }
    }
}
