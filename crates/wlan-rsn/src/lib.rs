//! Keys of a protected WLAN: who derives them from what, and the handshakes that hand them out. No I/O, no clock, no
//! randomness of its own.
//!
//! # Architecture
//!
//! ```text
//!  passphrase, SSID ─psk─► PMK ─┐                          ┌─► KCK: the MIC of EAPOL-Key frames
//!        SAE, OWE ────────► PMK ─┴─PRF or KDF, nonces─► PTK ├─► KEK: enciphers the group keys in them
//!                                                          └─► TK ─► wlan-ciphers
//! ```
//! Both sides of the handshakes are state machines: inputs are a start, a packet, the passing of time, a wish for new keys;
//! [`Output`]s say what to send, which key to use from when on, what failed and why. The caller takes outputs one by one
//! with `poll_output`, in their order, after each input. Times are those since an instant of the caller's choice, and are
//! only compared: a clock that jumps delays a message, or sends one early, and no more. Nonces and group keys are drawn from
//! a generator that the caller hands in, which must be fit for keys.
//!
//! The machines do not care what carries their packets: Data frames of the air (real or emulated), or Ethernet frames of
//! type 0x888E on an open link. What the ends advertised to each other is an argument ([`Association::negotiate`]), and so
//! is whether a packet came sealed.
//!
//! | module | what | source |
//! |---|---|---|
//! | [`psk`] | pre-shared key of a passphrase | IEEE 802.11-2020 J.4.1 |
//! | [`prf`] | PRF and KDF | 12.7.1.2, 12.7.1.6.2 |
//! | [`suites`] | key managements, selectors of RSN and WPA | 9.4.2.24 |
//! | [`sae`] | a PMK of a password, which no one who listens can guess at | 12.4 |
//! | [`owe`] | a PMK of nothing | RFC 8110 |
//! | [`association`] | what is offered, chosen, agreed on | 12.6.3 |
//! | [`supplicant`] | the station's side | 12.7.6, 12.7.7 |
//! | [`authenticator`] | the access point's side, for many stations | 12.7.6, 12.7.7 |
//! | [`cookie`] | proof that a station can be reached, without state | |
//! | [`observer`] | keys from a capture and a passphrase | |
//! | [`output`] | what the machines ask for, how long they wait, why they end | |
//!
//! PTKs, the MIC of frames and the enciphering of key data have a module of their own (12.7.1.3, 12.7.3).
//!
//! # What is not claimed
//!
//! Keys are wiped when dropped and compared in constant time. RC4, which WPA enciphers its group key with, does not run in
//! constant time, and neither WPA nor a short passphrase keeps anyone out: a handshake that was overheard can be guessed at.

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

use rand_core::CryptoRng;

pub use association::{Association, Elements, Mismatch, Policy};
pub use authenticator::Authenticator;
pub use ecc::Group;
pub use management::ManagementProtection;
pub use observer::{Learned, Observer};
pub use output::{Direction, Discard, Failure, Output, Timing};
pub use protection::pmkid;
pub use secret::{Key, Pmk, PmkLength};
pub use suites::{Akm, Protocol};
pub use supplicant::Supplicant;

use protection::Protection;

/// The key management has no PMK of this length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} has no PMK of {found} octets (IEEE 802.11-2020 12.7.1.3)", akm.name())]
pub struct WrongPmk {
    /// The key management.
    pub akm: Akm,
    /// Octets given.
    pub found: usize,
}

fn protection_of(association: &Association, pmk: &Pmk) -> Result<Protection, WrongPmk> {
    let (akm, found) = (association.akm, pmk.as_octets().len());
    Protection::of(association.protocol, akm, association.pairwise, found).ok_or(WrongPmk { akm, found })
}

/// A nonce. The standard draws it from a counter that starts at a random place (12.7.5), so as to need little randomness;
/// 256 bits of a good generator do not repeat either.
fn nonce(rng: &mut dyn CryptoRng) -> [u8; 32] {
    let mut nonce = [0; 32];
    rng.fill_bytes(&mut nonce);
    nonce
}
