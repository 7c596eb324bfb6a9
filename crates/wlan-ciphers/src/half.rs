//! The two halves of sealing a frame as separate operations, to measure the cost of the MIC and of the cipher.
//!
//! Each half runs the sealing code without the other half. Both halves in the suite's order give exactly the sealed
//! frame. Do not transmit a frame after only one half: it is unencrypted or has no MIC.
//!
//! | suite | [`Mic`](Half::Mic) | [`Cipher`](Half::Cipher) | order |
//! |---|---|---|---|
//! | CCMP, Enhanced CCMP | CBC-MAC of AAD and plaintext, and A0, its mask (RFC 3610 sections 2.2, 2.3) | CTR from A1 on | MIC first |
//! | GCMP | GHASH of AAD and ciphertext, and J0, its mask (NIST SP 800-38D 7.1) | CTR | cipher first |
//! | TKIP | Michael and ICV (IEEE 802.11-2020 12.5.2.3, 12.3.2.4) | key mixing and RC4 | MIC first |
//! | WEP | ICV | RC4 with its key schedule | MIC first |
//!
//! Each half also parses the header and builds nonce, AAD and the suite's header, because it requires them. With the
//! AES suites, the two halves together take longer than sealing: sealing parses once and interleaves MAC blocks and
//! counter blocks in the CPU's AES unit.
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

use crate::{Method, Suite};

/// The half of sealing to run.
#[cfg_attr(not(feature = "study"), allow(dead_code))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Half {
    /// Computes the MIC, or the suite's equivalent. The payload is unchanged.
    Mic,
    /// Encrypts the payload. The octets of the MIC are unchanged, except that RC4 encrypts them too.
    Cipher,
}

#[cfg_attr(not(feature = "study"), allow(dead_code))]
impl Half {
    /// Both halves in the order that is equivalent to sealing: the input of the MIC must exist before the MIC.
    #[must_use]
    pub const fn in_order(suite: Suite) -> [Half; 2] {
        match suite.method() {
            Method::Gcm => [Half::Cipher, Half::Mic],
            _ => [Half::Mic, Half::Cipher],
        }
    }
}
