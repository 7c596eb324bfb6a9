//! The five phases of a protected link (Hayajneh et al., section IV.B) over an open network, as state machines without I/O.
//!
//! ```text
//!               station                                          access point
//!  discovery    Probe Request ─────────────────────────────────► Probe Response, Beacons: SSID, RSN element
//!  authenti-    Authentication: open system, or SAE Commit ────► a cookie, or Commit (or a token first)
//!  cation       SAE Confirm ───────────────────────────────────► Confirm
//!               Association Request: RSN element, cookie ──────► Association Response
//!  keys         ◄── 4-way handshake, then group handshakes and rekeys, sealed ──►
//!  data         asks for addresses, sealed ────────────────────► gives them, sealed
//!               ◄── frames of the data plane; SA Query where the other end is silent ──►
//!  termination  ◄── Deauthentication, sealed ──►
//! ```
//! [`AccessPoint`] and [`Station`] are told frames, the passing of time and how much traffic there was, and ask for
//! [`Action`]s, which are to be done in their order. Times are since a moment of the caller's choice and may jump;
//! randomness is an argument, fit for keys.
//!
//! # What holds
//!
//! - Before a station has shown that it can be reached, nothing is kept for it: an open-system authentication gives a
//!   [cookie](wlan_rsn::cookie), which the Association Request shows from the same place; SAE has its tokens. No answer to
//!   a frame in the open is longer than that frame, so that nobody's flood is made larger here.
//! - A station that has completed SAE associates from the endpoint that sent its Confirm: the same address elsewhere is
//!   anybody's.
//! - Before it has shown that it has the key, it has no address, no place in the data plane, and gives way to newer ones.
//! - A session ends by a sealed frame or by silence, never by a frame in the open (IEEE Std 802.11-2020 11.13): an
//!   Association Request or a Deauthentication in a session's name brings about an SA Query, and only if that remains
//!   unanswered the session's end. Any sealed frame that opens is an answer.
//! - Whose sealed frames cannot be opened, as no key of it is here, is told so in the open (11.3.3): after a restart of the
//!   access point its stations ask, and come back.
//! - Failures before there are keys may be anybody's forgery: an exchange ends by time, and what came is the reason given.
//! - Addresses go over in a sealed Action frame once the keys are there: in the Association Response anyone could change
//!   them, and message 3 has no place for them in the standard.
//! - Group keys are handed out and renewed, as RSN has it, and not used: to many means here to each, sealed for each.

mod ap;
mod frames;
mod lease;
mod members;
mod pace;
mod sta;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use wlan_ciphers::{KeyId, Suite};
use wlan_frames::MacAddr;
use wlan_rsn::sae::{self, Password};
use wlan_rsn::{Akm, Elements, Key, Output, Pmk, Policy, Protocol};

pub use ap::{AccessPoint, ApSettings};
pub use lease::{Addressing, AddressingError, Prefix};
pub use members::MemberState;
pub use sta::{StaSettings, StaState, Station};

use crate::plane::{Direction, Endpoint, Kind, Network};

/// What a machine asks its caller to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send a management frame.
    Management {
        /// Where to.
        to: Endpoint,
        /// Sealed under the pairwise key of its receiver.
        protected: bool,
        /// MAC header and body.
        frame: Vec<u8>,
    },
    /// Send an EAPOL PDU.
    Eapol {
        /// To whom.
        peer: MacAddr,
        /// Where to, if it goes in the open.
        to: Endpoint,
        /// Sealed under the peer's pairwise key.
        protected: bool,
        /// The PDU.
        pdu: Vec<u8>,
    },
    /// Admit another end to the data plane.
    Admit {
        /// Which.
        peer: MacAddr,
        /// Where it is.
        endpoint: Endpoint,
        /// Its networks.
        networks: Vec<Network>,
    },
    /// Install a pairwise key.
    Install {
        /// Whose.
        peer: MacAddr,
        /// For which frames.
        direction: Direction,
        /// Under which identifier.
        key_id: KeyId,
        /// Of which suite.
        suite: Suite,
        /// The key.
        key: Key,
    },
    /// Receive no more under a key.
    Retire {
        /// Whose.
        peer: MacAddr,
        /// Its identifier.
        key_id: KeyId,
    },
    /// Forget another end and its keys.
    Remove {
        /// Which.
        peer: MacAddr,
    },
    /// The device has these addresses from now on, and no others that were assigned. They outlast the session, so that
    /// connections over the link do as well.
    Assign(Vec<Prefix>),
    /// Something that whoever runs the link wants to know.
    Tell(Event),
}

/// A phase of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Finding the access point.
    Discovery,
    /// Who is it, and may it join.
    Authentication,
    /// The handshakes.
    Keys,
    /// Frames flow.
    Data,
    /// The end.
    Termination,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Discovery => "discovery",
            Phase::Authentication => "authentication",
            Phase::Keys => "keys",
            Phase::Data => "data",
            Phase::Termination => "termination",
        })
    }
}

/// How a phase stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It goes on.
    Progress,
    /// Data may flow.
    Established,
    /// It came to nothing.
    Failed,
    /// A session is over.
    Ended,
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// In which phase.
    pub phase: Phase,
    /// How that stands.
    pub outcome: Outcome,
    /// With whom.
    pub peer: Option<MacAddr>,
    /// What happened, and why.
    pub text: String,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.peer {
            Some(peer) => write!(f, "{}: {peer}: {}", self.phase, self.text),
            None => write!(f, "{}: {}", self.phase, self.text),
        }
    }
}

/// What is known of the traffic with another end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Which end.
    pub peer: MacAddr,
    /// MPDUs of it that opened.
    pub received: u64,
    /// Packet numbers used of the key to it.
    pub packet_numbers_used: u64,
}

/// What a link is opened with.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// The PMK of a passphrase: wpa-psk-sha256. Whoever overhears a handshake can guess at the passphrase.
    Psk(Pmk),
    /// A password: sae.
    Sae(Arc<Password>),
    /// None: owe. Nobody knows who the other end is.
    Owe,
}

impl Credentials {
    /// The key management.
    #[must_use]
    pub fn akm(&self) -> Akm {
        match self {
            Credentials::Psk(_) => Akm::WpaPskSha256,
            Credentials::Sae(_) => Akm::Sae,
            Credentials::Owe => Akm::Owe,
        }
    }
}

/// What both ends are told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The link's name, an SSID of 1 to 32 octets.
    pub ssid: Vec<u8>,
    /// This end's address.
    pub address: MacAddr,
    /// What the device carries.
    pub kind: Kind,
    /// Ciphers, the one that is wanted most first.
    pub ciphers: Vec<Suite>,
    /// What the link is opened with.
    pub credentials: Credentials,
    /// A new pairwise key after so long.
    pub rekey_after: Duration,
    /// A new pairwise key after so many packets under one.
    pub rekey_packets: u64,
    /// After so long without a frame of the other end it is asked whether it is there.
    pub keep_alive: Duration,
}

/// SAE as both ends do it. An answer may have to wait for the control plane of a busy host.
fn sae_config() -> Arc<sae::Config> {
    Arc::new(sae::Config {
        groups: GROUPS.to_vec(),
        retransmit: Duration::from_millis(100),
        ..sae::Config::default()
    })
}

/// Groups of SAE and OWE.
pub const GROUPS: [wlan_rsn::Group; 1] = [wlan_rsn::Group::P256];

/// Cipher of group addressed management frames: named, because RSN has one where management frames are protected.
const GROUP_MANAGEMENT: Suite = Suite::BipCmac128;

impl Settings {
    /// The elements of an end that offers or chooses `pairwise` and takes `group` for the group cipher. Management frames
    /// must be protected, and pairwise keys have two identifiers, so that replacing one loses no frame.
    fn elements(&self, pairwise: &[Suite], group: Suite) -> Elements {
        let akm = self.credentials.akm();
        let mut policy = Policy::of(Protocol::Rsn, akm, group)
            .with_mfp(GROUP_MANAGEMENT)
            .with_extended_key_id();
        policy.pairwise = pairwise.to_vec();
        Elements::of(&policy)
    }
}

/// The pairwise keys of another end, by which a machine knows the identifier of one that retires.
#[derive(Debug, Default)]
struct Installed(Vec<(KeyId, Key)>);

impl Installed {
    /// What an output about pairwise keys means for the data plane.
    fn action(&mut self, output: Output) -> Option<Action> {
        match output {
            Output::InstallPairwise {
                peer,
                key_id,
                suite,
                key,
                direction,
            } => {
                let direction = match direction {
                    wlan_rsn::Direction::Receive => {
                        self.0.retain(|(id, _)| *id != key_id);
                        self.0.push((key_id, key.clone()));
                        Direction::Receive
                    }
                    wlan_rsn::Direction::Transmit => Direction::Transmit,
                };
                Some(Action::Install {
                    peer,
                    direction,
                    key_id,
                    suite,
                    key,
                })
            }
            // One whose identifier has another key by now is gone already.
            Output::Retire { peer, key } => {
                let at = self.0.iter().position(|(_, known)| *known == key)?;
                let (key_id, _) = self.0.remove(at);
                Some(Action::Retire { peer, key_id })
            }
            _ => None,
        }
    }
}
