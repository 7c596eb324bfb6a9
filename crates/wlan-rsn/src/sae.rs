//! SAE: two stations that know the same password agree on a PMK that nobody can compute who only listened, and of each run
//! an attacker learns no more than whether one guess was right (IEEE 802.11-2020 12.4).
//!
//! # Architecture
//!
//! ```text
//!  SSID, password -> Password (PT of each group) -> PWE of two stations      password
//!  PWE, randomness -> Commit -> both Commits -> KCK, PMK, PMKID -> Confirm   exchange
//!  Commit, Confirm and answers <-> octets of Authentication frames           frame
//!  one exchange with one peer: Nothing, Committed, Confirmed, Accepted       instance: Sae
//!  an access point: instances by peer, tokens against floods                 parent: Parent
//! ```
//! [`Sae`] and [`Parent`] are given frames, times and randomness, and give frames and events back. A time is how long it is
//! since a moment that the caller chose. What one call returns is to be sent in its order.
//!
//! In an infrastructure BSS the station [starts](Sae::initiate) and the access point [answers](Parent): Commit with Commit,
//! Confirm with Confirm. Where both start at once, as in a mesh, each takes the other's Commit for an answer.
//!
//! # What ends an exchange
//!
//! Nothing but time and a right Confirm: before that every frame may be anybody's. An answer that refuses, or a Confirm that
//! does not fit, is kept in mind, and is the reason given ([`Failure`]) when the peer has been waited for in vain. A Confirm
//! does not name its exchange: a late Confirm of an earlier exchange says nothing of the password. The access point
//! therefore keeps an exchange that it gave up for some seconds, to recognize its Confirms, and resumes the exchange with the
//! same Commits if the station repeats its Commit.
//!
//! # One password per exchange
//!
//! A Confirm lets the peer test one password against the Commit that the Confirm answers. Each side therefore takes one
//! Commit of its peer per exchange, and wipes the secrets of its own Commit when it has. The standard leaves open which Commit
//! a station in state Confirmed answers (12.4.8.6.5). Here a repetition of the Commit that was taken is answered as often
//! as [`Config::max_sync`] allows, and any other Commit is ignored, as by wpa_supplicant. A station whose access point began
//! anew times out and starts another exchange.
//!
//! # What is not claimed
//!
//! Secrets are wiped when dropped, but for copies that a move or the curves' arithmetic leaves on the stack. What depends on
//! the password takes the same time for all passwords of the same length. Hunting-and-pecking does as well, with 40
//! candidates always tried, but hash-to-element is the way to use: it computes with the password once, when it is set.

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

/// How the password becomes an element of the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// By trying numbers until one is the x of a point (IEEE 802.11-2020 12.4.4.2.2): the only way before 2020.
    HuntingAndPecking,
    /// By a map that always leads to a point (12.4.4.2.3).
    #[default]
    HashToElement,
}

impl Method {
    /// The status of a Commit, which is how the peer knows (12.4.5.3).
    const fn status(self) -> u16 {
        match self {
            Method::HuntingAndPecking => status::SUCCESS,
            Method::HashToElement => status::SAE_HASH_TO_ELEMENT,
        }
    }
}

/// What a station or an access point goes by.
#[derive(Debug, Clone)]
pub struct Config {
    /// The groups in the order in which they are offered; also those that are taken when a peer offers them.
    pub groups: Vec<Group>,
    /// Whether Commits by [`Method::HuntingAndPecking`] are answered; those by hash-to-element always are.
    pub hunting_and_pecking: bool,
    /// How long an answer is waited for before the last message is sent again: dot11RSNASAERetransPeriod.
    pub retransmit: Duration,
    /// How often a message may be sent again: dot11RSNASAESync.
    pub max_sync: u16,
}

impl Default for Config {
    /// Group 19, hash-to-element; times and counts as in the standard's MIB (IEEE 802.11-2020 C.3).
    fn default() -> Config {
        Config {
            groups: vec![Group::P256],
            hunting_and_pecking: false,
            retransmit: Duration::from_millis(40),
            max_sync: 5,
        }
    }
}

/// Where an exchange stands (IEEE 802.11-2020 12.4.8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It failed.
    Nothing,
    /// Own Commit is sent.
    Committed,
    /// Both Commits are exchanged, own Confirm is sent.
    Confirmed,
    /// The peer's Confirm was right.
    Accepted,
}

/// Why an exchange cannot be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The password was made for none of the groups that are offered.
    #[error("the SAE password is for none of the groups offered")]
    NoGroup,
    /// Hunting-and-pecking was asked for with a password that has an identifier.
    #[error("an SAE password identifier takes hash-to-element (IEEE 802.11-2020 12.4.4.2)")]
    IdentifierNeedsHashToElement,
}

/// Frames to send, in this order, and what happened.
#[derive(Debug, Default)]
pub struct Reply {
    /// Bodies of Authentication frames to the peer.
    pub frames: ArrayVec<Vec<u8>, 2>,
    /// How the exchange ended, if it did.
    pub event: Option<Event>,
}

/// How an exchange ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The peer knows the password. Comes once.
    Accepted(Pmk),
    /// It is over without a key.
    Failed(Failure),
}

/// Why there is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The peer said nothing, or nothing more.
    #[error("the peer did not answer")]
    NoAnswer,
    /// The peer's Confirm did not fit, or it says so of ours.
    #[error("the peer has another password")]
    PasswordMismatch,
    /// The peer refuses every group that is offered.
    #[error("the peer takes none of the groups offered")]
    GroupsRefused,
    /// The peer lists a group as refused that is taken here: someone in between refused it.
    #[error("the peer was made to believe that a group is not supported (IEEE 802.11-2020 12.4.5.4)")]
    Downgraded,
    /// The peer has no password of this identifier.
    #[error("the peer knows no password of this identifier")]
    UnknownIdentifier,
    /// The peer refuses for another reason.
    #[error("the peer refused with status code {0} (IEEE 802.11-2020 9.4.1.9)")]
    Refused(u16),
}
