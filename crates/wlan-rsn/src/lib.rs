//! Keys of a protected WLAN: key derivation and the handshakes that distribute keys, without I/O, clocks or random
//! generators.
//!
//! # Architecture
//!
//! ```text
//!  passphrase, SSID ─psk─► PMK ─┐                          ┌─► KCK: the MIC of EAPOL-Key frames
//!        SAE, OWE ────────► PMK ─┴─PRF or KDF, nonces─► PTK ├─► KEK: encrypts the group keys in them
//!                                                          └─► TK ─► wlan-ciphers
//! ```
//! Both sides of the handshakes are state machines. Inputs are a start, a packet, the time, and a request for new
//! keys. [`Output`]s state what to send, which keys to use, and which handshakes failed and why. After each input,
//! the caller takes outputs in order with `poll_output`. Times are relative to an instant of the caller's choice and
//! are only compared, so a clock that jumps only delays a message or sends it early. Nonces and group keys come from
//! the caller's random generator, which must be cryptographically secure.
//!
//! The transport of packets is up to the caller: Data frames on real or emulated air, or Ethernet frames of type
//! 0x888E on an open link. The advertised elements of both ends are an argument ([`Association::negotiate`]). Another
//! argument states whether a packet arrived sealed (encrypted).
//!
//! | module | contents | source |
//! |---|---|---|
//! | [`psk`] | pre-shared key of a passphrase | IEEE 802.11-2020 J.4.1 |
//! | [`prf`] | PRF and KDF | 12.7.1.2, 12.7.1.6.2 |
//! | [`suites`] | key managements; selectors of RSN and WPA | 9.4.2.24 |
//! | [`sae`] | a PMK from a password, resistant to offline guessing | 12.4 |
//! | [`owe`] | a PMK without any shared secret | RFC 8110 |
//! | [`association`] | advertised, chosen and negotiated suites | 12.6.3 |
//! | [`supplicant`] | the station's side of the handshakes | 12.7.6, 12.7.7 |
//! | [`authenticator`] | the access point's side, for many stations | 12.7.6, 12.7.7 |
//! | [`cookie`] | stateless proof that a station is reachable | |
//! | [`observer`] | keys from a capture and a passphrase | |
//! | [`output`] | actions, timing and errors of the state machines | |
//!
//! A private module contains PTKs, the MIC of frames and the encryption of key data (12.7.1.3, 12.7.3).
//!
//! # Limits of the protection
//!
//! Keys are wiped when dropped and compared in constant time. RC4, which encrypts WPA's group key, does not run in
//! constant time. Neither WPA nor a short passphrase is secure: an attacker who records a handshake can guess the
//! passphrase offline.

#![forbid(unsafe_code)]

pub mod association;
pub mod authenticator;
pub mod cookie;
mod ecc;
mod hash;
mod installed;
mod management;
mod message;
pub mod observer;
pub mod output;
pub mod owe;
pub mod prf;
mod protection;
pub mod psk;
mod retiring;
pub mod sae;
mod secret;
pub mod suites;
pub mod supplicant;
#[cfg(test)]
mod testing;
#[cfg(test)]
#[path = "../../../vectors/reader.rs"]
mod vectors;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

use rand_core::CryptoRng;
use wlan_frames::MacAddr;

pub use association::{Association, Elements, Mismatch, Policy};
pub use authenticator::Authenticator;
pub use ecc::Group;
pub use management::ManagementProtection;
pub use observer::{Learned, Observer};
pub use output::{Direction, Discard, Failure, GroupKey, Output, PairwiseKey, Timing};
pub use protection::pmkid;
pub use secret::{Key, Pmk, PmkLength};
pub use suites::{Akm, Digest, Exchange, Protocol};
pub use supplicant::Supplicant;

use protection::Protection;

/// The key management does not support this PMK length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} does not support a PMK of {found} octets (IEEE 802.11-2020 12.7.1.3)", akm.name())]
pub struct WrongPmk {
    /// The key management.
    pub akm: Akm,
    /// Length of the PMK in octets.
    pub found: usize,
}

/// How the caller of an access point's state machines tells stations apart. The address suffices if nobody else can use
/// it. A caller whose network lets any host claim any address adds the place of the sender, so that frames from another
/// place never change the state of a station.
pub trait Peer: Copy + Ord + Into<MacAddr> {
    /// The sender's address in the underlying network, as any octets. Anti-clogging tokens cover it.
    fn place(self) -> Vec<u8>;
}

impl Peer for MacAddr {
    fn place(self) -> Vec<u8> {
        Vec::new()
    }
}

fn protection_of(association: &Association, pmk: &Pmk) -> Result<Protection, WrongPmk> {
    let (akm, found) = (association.akm, pmk.as_octets().len());
    Protection::of(association.protocol, akm, association.pairwise, found).ok_or(WrongPmk { akm, found })
}

/// Draws a nonce. The standard uses a counter with a random start (12.7.5) to save randomness. Nonces of 256 random
/// bits do not repeat either.
fn nonce(rng: &mut dyn CryptoRng) -> [u8; 32] {
    let mut nonce = [0; 32];
    rng.fill_bytes(&mut nonce);
    nonce
}
