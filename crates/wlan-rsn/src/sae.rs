//! SAE: two stations with the same password agree on a PMK that an eavesdropper cannot compute. An active attacker
//! can test only one password per exchange (IEEE 802.11-2020 12.4).
//!
//! # Architecture
//!
//! ```text
//!  SSID, password -> Password (PT of each group) -> PWE of two stations      password
//!  PWE, randomness -> Commit -> both Commits -> KCK, PMK, PMKID -> Confirm   exchange
//!  Commit, Confirm and answers <-> octets of Authentication frames           frame
//!  one exchange with one peer: Nothing, Committed, Confirmed, Accepted       instance: Sae
//!  an access point: instances by peer, tokens against flooding               parent: Parent
//! ```
//! [`Sae`] and [`Parent`] take frames, times and randomness, and return frames and events. Times are relative to an
//! instant of the caller's choice. The caller sends the frames of one call in their order.
//!
//! In an infrastructure BSS the station [starts](Sae::initiate) and the access point [answers](Parent): Commit with
//! Commit, Confirm with Confirm. If both sides start at once, as in a mesh, each accepts the peer's Commit as the
//! answer.
//!
//! # The end of an exchange
//!
//! Only a timeout or a valid Confirm ends an exchange, because an attacker can forge any earlier frame. A refusal or
//! an invalid Confirm is recorded and becomes the reported reason ([`Failure`]) if the exchange times out. A Confirm
//! does not identify its exchange, so a late Confirm of an earlier exchange says nothing about the password. The
//! access point therefore keeps an abandoned exchange for a few seconds to recognize its Confirms. If the station
//! repeats its Commit, the access point resumes the exchange with the same Commits.
//!
//! # One password per exchange
//!
//! A Confirm lets the peer test one password against the Commit that the Confirm answers. Each side therefore accepts
//! one Commit of its peer per exchange, and then wipes the secrets of its own Commit. The standard does not specify
//! which Commits a station in state Confirmed answers (12.4.8.6.5). Here, a repetition of the accepted Commit is
//! answered up to [`Config::max_sync`] times. Any other Commit is ignored, as in wpa_supplicant. If the access point
//! restarts, the station times out and starts another exchange.
//!
//! # Limits of the protection
//!
//! Secrets are wiped when dropped, except for copies that moves or the curve arithmetic leave on the stack.
//! Computations on the password take the same time for all passwords of the same length. This includes
//! hunting-and-pecking, which always tries at least 40 candidates. Prefer hash-to-element: it computes with the
//! password once, when the password is set.

mod exchange;
mod frame;
mod instance;
mod parent;
mod password;

use std::time::Duration;

use arrayvec::ArrayVec;

pub use self::frame::{Commit, Message, status, token_of};
pub use self::instance::Sae;
pub use self::parent::{Limits, Parent};
pub use self::password::{Password, PasswordError};
use crate::{Group, Pmk};

/// How the password is mapped to an element of the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// Tries numbers until one is the x of a point (IEEE 802.11-2020 12.4.4.2.2): the only method before 2020.
    HuntingAndPecking,
    /// Computes a point directly (12.4.4.2.3).
    #[default]
    HashToElement,
}

impl Method {
    /// The status code of a Commit, which indicates the method to the peer (12.4.5.3).
    const fn status(self) -> u16 {
        match self {
            Method::HuntingAndPecking => status::SUCCESS,
            Method::HashToElement => status::SAE_HASH_TO_ELEMENT,
        }
    }
}

/// Settings of a station or an access point.
#[derive(Debug, Clone)]
pub struct Config {
    /// Groups that are offered, in this order, and accepted from a peer.
    pub groups: Vec<Group>,
    /// Whether Commits by [`Method::HuntingAndPecking`] are answered. Commits by hash-to-element always are.
    pub hunting_and_pecking: bool,
    /// Time without an answer before the last message is retransmitted: dot11RSNASAERetransPeriod.
    pub retransmit: Duration,
    /// Maximum number of retransmissions of a message: dot11RSNASAESync.
    pub max_sync: u16,
}

impl Default for Config {
    /// Group 19 with hash-to-element; times and counts from the standard's MIB (IEEE 802.11-2020 C.3).
    fn default() -> Config {
        Config {
            groups: vec![Group::P256],
            hunting_and_pecking: false,
            retransmit: Duration::from_millis(40),
            max_sync: 5,
        }
    }
}

/// The state of an exchange (IEEE 802.11-2020 12.4.8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The exchange has failed.
    Nothing,
    /// The own Commit has been sent.
    Committed,
    /// Both Commits have been exchanged, and the own Confirm has been sent.
    Confirmed,
    /// The peer's Confirm was valid.
    Accepted,
}

/// The reason why an exchange cannot start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The password has no element for any offered group.
    #[error("the SAE password supports none of the offered groups")]
    NoGroup,
    /// Hunting-and-pecking was requested for a password with an identifier.
    #[error("an SAE password identifier requires hash-to-element (IEEE 802.11-2020 12.4.4.2)")]
    IdentifierNeedsHashToElement,
}

/// The result of an input: frames to send, in this order, and possibly the end of the exchange.
#[derive(Debug, Default)]
pub struct Reply {
    /// Bodies of Authentication frames for the peer.
    pub frames: ArrayVec<Vec<u8>, 2>,
    /// The end of the exchange, if this input ended it.
    pub event: Option<Event>,
}

/// The outcome of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The peer knows the password. Reported once.
    Accepted(Pmk),
    /// The exchange ended without a key.
    Failed(Failure),
}

/// The reason why an exchange failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The peer did not answer, or stopped answering.
    #[error("the peer did not answer")]
    NoAnswer,
    /// The peer's Confirm was invalid, or the peer rejected ours as invalid.
    #[error("the peer has another password")]
    PasswordMismatch,
    /// The peer rejected every offered group.
    #[error("the peer supports none of the offered groups")]
    GroupsRefused,
    /// The peer lists a supported group as rejected: an attacker has forged the rejection.
    #[error("downgrade attempt: a supported group was refused in our name (IEEE 802.11-2020 12.4.5.4)")]
    Downgraded,
    /// The peer has no password with this identifier.
    #[error("the peer has no password with this identifier")]
    UnknownIdentifier,
    /// The peer refused with another status code.
    #[error("the peer refused with status code {0} (IEEE 802.11-2020 9.4.1.9)")]
    Refused(u16),
}
