//! The five phases of a protected link (Hayajneh et al., section IV.B) over an open network, as state machines without I/O.
//!
//! ```text
//!               station                                          access point
//!  discovery    Probe Request ─────────────────────────────────► Probe Response, Beacons: SSID, RSN element
//!  authenti-    Authentication: open system, or SAE Commit ────► a cookie, or Commit (or a token first)
//!  cation       SAE Confirm ───────────────────────────────────► Confirm
//!               Association Request: RSN element, cookie ──────► Association Response
//!               with 802.1X: EAP ────────────────────────────► RADIUS to the authentication server, and back
//!  keys         ◄── 4-way handshake, then group handshakes and rekeys, sealed ──►
//!  data         requests addresses, sealed ────────────────────► assigns addresses, sealed
//!               ◄── frames of the data plane; SA Query if the other end is silent ──►
//!  termination  ◄── Deauthentication, sealed ──►
//! ```
//! [`AccessPoint`] and [`Station`] receive frames, the time and traffic counts. They return [`Action`]s, which the
//! caller must perform in order. Times are relative to an arbitrary origin and may jump. Randomness is an argument
//! and must be suitable for keys.
//!
//! # Guarantees
//!
//! - An access point keeps no state for a station until the station has shown that it is reachable. Open-system
//!   authentication returns a [cookie](wlan_rsn::cookie), which the Association Request must present from the same
//!   endpoint; SAE uses its anti-clogging tokens in the same way. No answer to an unprotected frame is longer than that
//!   frame, and no timer repeats an answer before that, so the access point cannot amplify a flood.
//! - A station that joins is identified by its address and its endpoint, because any host can use its address elsewhere.
//!   Frames from another endpoint do not change its join.
//! - Until message 4 has shown that a station has the key, it has no address and no entry in the data plane. The number of such
//!   stations is bounded, in total and per site, apart from the number of sessions. A newer one displaces the one that has
//!   been silent for longest, of the site and the host with the most.
//! - A station accepts unprotected frames only from the endpoint of the access point that it joins.
//! - With 802.1X, a station authenticates after its association. Until the authentication server accepts it, the access
//!   point forwards its EAP packets and nothing else. A station with a session authenticates again in sealed frames.
//! - A sealed frame or silence ends a session, never an unprotected frame (IEEE Std 802.11-2020 11.13). An
//!   unprotected Association Request or Deauthentication that claims to be from the peer triggers an SA Query; the
//!   session ends only if the query remains unanswered. Any authentic sealed frame is an answer.
//! - A station whose sealed frames cannot be opened, because its key is unknown, receives an unprotected
//!   Deauthentication (11.3.3). After a restart of the access point, its stations therefore send an SA Query and then
//!   reconnect.
//! - A failure before keys exist may be forged. The exchange therefore ends by timeout, and the log states the last
//!   reason received. One failure never leads to a long backoff.
//! - Addresses are assigned in a sealed Action frame once keys are installed. An attacker could change them in the
//!   Association Response, and the standard has no field for them in message 3.
//! - A station that has left cannot open group addressed packets for long: the access point then renews the group key.
//!   The previous key retires at the stations.

mod ap;
mod frames;
mod joins;
mod lease;
mod members;
mod outbox;
mod pace;
mod sta;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use rand_core::CryptoRng;
use serde::Serialize;
use wlan_bss::network::GROUP_MANAGEMENT;
use wlan_bss::{Capabilities, Security};
use wlan_ciphers::{KeyId, Suite};
use wlan_frames::MacAddr;
use wlan_rsn::sae::{self, Password};
use wlan_rsn::{Akm, GroupKey, Key, PairwiseKey, Pmk, Policy, Protocol};

pub use ap::{AccessPoint, ApSettings, RadiusSettings};
pub use lease::{Addressing, AddressingError, LISTED, MAX_ADDRESSES, Prefix};
pub use members::MemberState;
pub use sta::{StaSettings, StaState, Station};

use frames::CAPABILITY;

use crate::plane::{ControlFrame, Endpoint, Kind, Network};

/// The state machine of one end. An access point does nothing in the methods that only a station requires, and vice versa.
pub trait Machine {
    /// The next action. After each call of another method, the caller must call this until it returns `None`.
    fn poll_action(&mut self) -> Option<Action>;

    /// The latest time for the next call of [`timeout`](Self::timeout).
    #[must_use]
    fn next_timeout(&self) -> Duration;

    /// Passes the data plane's traffic counts. Must be called before each [`timeout`](Self::timeout); otherwise a peer
    /// that was heard could be considered gone.
    fn observe(&mut self, traffic: &[Traffic], now: Duration, rng: &mut dyn CryptoRng);

    /// Processes the passage of time.
    fn timeout(&mut self, now: Duration, rng: &mut dyn CryptoRng);

    /// Processes a frame other than data.
    fn receive(&mut self, frame: &ControlFrame, now: Duration, rng: &mut dyn CryptoRng);

    /// Passes the number of packet numbers used of the access point's installed group key. Must be called before each
    /// [`receive`](Self::receive) and [`timeout`](Self::timeout), after the actions of the previous call were performed:
    /// handshake messages carry the number, so that a station that joins refuses older frames (IEEE Std 802.11-2020
    /// 12.7.6.4).
    fn note_group_packets(&mut self, _used: u64) {}

    /// Processes sealed frames from a station without a session, for example after a restart. The access point tells the
    /// station, which decides whether to believe it.
    fn stranger(&mut self, _station: MacAddr, _from: Endpoint, _now: Duration) {}

    /// Processes a datagram of the access point's authentication server.
    fn radius(&mut self, _datagram: &[u8], _now: Duration, _rng: &mut dyn CryptoRng) {}

    /// Records the outcome of a station's [`Action::Assign`]: the addresses that the device has now, or why the host refused
    /// them.
    fn note_assigned(&mut self, _outcome: Result<Vec<Prefix>, String>) {}

    /// Ends all sessions and notifies the peers.
    fn shut_down(&mut self);
}

/// The state machine of either end.
#[derive(Debug)]
pub enum End {
    /// An access point.
    Ap(Box<AccessPoint>),
    /// A station.
    Sta(Box<Station>),
}

impl Deref for End {
    type Target = dyn Machine;

    fn deref(&self) -> &Self::Target {
        match self {
            End::Ap(ap) => &**ap,
            End::Sta(station) => &**station,
        }
    }
}

impl DerefMut for End {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            End::Ap(ap) => &mut **ap,
            End::Sta(station) => &mut **station,
        }
    }
}

/// An action that the caller of a state machine must perform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send a management frame.
    Management {
        /// Destination.
        to: Endpoint,
        /// Seal the frame under the pairwise key of its receiver.
        protected: bool,
        /// MAC header and body.
        frame: Vec<u8>,
    },
    /// Send an EAPOL PDU.
    Eapol {
        /// Receiver.
        peer: MacAddr,
        /// Destination of an unprotected PDU.
        to: Endpoint,
        /// Seal the PDU under the receiver's pairwise key.
        protected: bool,
        /// The PDU.
        pdu: Vec<u8>,
    },
    /// Admit a peer to the data plane.
    Admit {
        /// Peer.
        peer: MacAddr,
        /// Its current endpoint.
        endpoint: Endpoint,
        /// Its networks.
        networks: Vec<Network>,
    },
    /// Install a pairwise key.
    Install {
        /// Peer.
        peer: MacAddr,
        /// The key.
        key: PairwiseKey,
    },
    /// Remove a receive key.
    Retire {
        /// Peer.
        peer: MacAddr,
        /// The key.
        key: Key,
    },
    /// Install a group key: at an access point, to seal; at a station, to open.
    InstallGroup {
        /// The access point.
        peer: MacAddr,
        /// The key.
        key: GroupKey,
    },
    /// Remove a group key.
    RetireGroup {
        /// The access point.
        peer: MacAddr,
        /// Key identifier.
        key_id: KeyId,
    },
    /// Remove a peer and its keys.
    Remove {
        /// Peer.
        peer: MacAddr,
    },
    /// Decide whether the host accepts these addresses, set those of the device to them or to none, and pass the outcome to
    /// [`Machine::note_assigned`]. They outlast the session, so that connections over the link survive a reconnect, and
    /// their packets take no other route meanwhile.
    Assign(Vec<Prefix>),
    /// Send a datagram to the authentication server.
    Radius(Vec<u8>),
    /// Report an event to the operator.
    Tell(Event),
}

/// A phase of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The station searches for the access point.
    Discovery,
    /// The access point verifies the station and decides whether it may join.
    Authentication,
    /// 4-way and group key handshakes.
    Keys,
    /// Data frames are exchanged.
    Data,
    /// The session ends.
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

/// Outcome of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The phase continues.
    Progress,
    /// Data frames may be exchanged.
    Established,
    /// The phase failed.
    Failed,
    /// The session ended.
    Ended,
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The phase.
    pub phase: Phase,
    /// Its outcome.
    pub outcome: Outcome,
    /// The other end.
    pub peer: Option<MacAddr>,
    /// Description of the event, with its reason.
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

/// Traffic counts of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Peer.
    pub peer: MacAddr,
    /// Authentic MPDUs received from the peer.
    pub received: u64,
    /// Packet numbers used of the transmit key.
    pub packet_numbers_used: u64,
}

/// Credentials of a link.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// The PMK of a passphrase: wpa-psk-sha256. A captured handshake allows guessing the passphrase offline.
    Psk(Pmk),
    /// A password: sae.
    Sae(Arc<Password>),
    /// No credentials: owe. The ends are not authenticated.
    Owe,
    /// An authentication server: wpa-eap or wpa-eap-sha256.
    Eap(Akm),
}

impl Credentials {
    /// The AKM suite.
    #[must_use]
    pub fn akm(&self) -> Akm {
        match self {
            Credentials::Psk(_) => Akm::WpaPskSha256,
            Credentials::Sae(_) => Akm::Sae,
            Credentials::Owe => Akm::Owe,
            Credentials::Eap(akm) => *akm,
        }
    }

    /// Whether any host can have a session, because the ends do not authenticate each other.
    fn admit_anyone(&self) -> bool {
        matches!(self, Credentials::Owe)
    }
}

/// Settings that both ends have.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The link's name, an SSID of 1 to 32 octets.
    pub ssid: Vec<u8>,
    /// This end's address.
    pub address: MacAddr,
    /// Whether the device carries IP packets or Ethernet frames.
    pub kind: Kind,
    /// Cipher suites in order of preference.
    pub ciphers: Vec<Suite>,
    /// Credentials.
    pub credentials: Credentials,
    /// Maximum lifetime of a pairwise key.
    pub rekey_after: Duration,
    /// Maximum number of packets per pairwise or group key.
    pub rekey_packets: u64,
    /// Silence of the peer after which it is queried.
    pub keep_alive: Duration,
}

/// SAE settings of both ends. The retransmission timeout allows for the control plane of a busy host.
fn sae_config() -> sae::Config {
    sae::Config {
        groups: GROUPS.to_vec(),
        retransmit: Duration::from_millis(100),
        ..sae::Config::default()
    }
}

/// Describes the failure of an SAE exchange with `peer`.
fn sae_failure(failure: sae::Failure, peer: &str) -> String {
    match failure {
        sae::Failure::PasswordMismatch => format!("wrong passphrase: {peer} has a different password"),
        other => other.to_string(),
    }
}

/// Groups for SAE and OWE.
pub const GROUPS: [wlan_rsn::Group; 1] = [wlan_rsn::Group::P256];

impl Settings {
    /// The network of an end that offers or chooses `pairwise`, with the group cipher `group`. Management frame
    /// protection is required. Pairwise keys have two identifiers, so that replacing a key loses no frame.
    fn network(&self, pairwise: &[Suite], group: Suite) -> wlan_bss::Network {
        let akm = self.credentials.akm();
        let mut policy = Policy::of(Protocol::Rsn, akm, group)
            .with_mfp(GROUP_MANAGEMENT)
            .with_extended_key_id();
        policy.pairwise = pairwise.to_vec();
        let (psk, password) = match &self.credentials {
            Credentials::Psk(pmk) => (Some(pmk.clone()), None),
            Credentials::Sae(password) => (None, Some(Arc::clone(password))),
            Credentials::Owe | Credentials::Eap(_) => (None, None),
        };
        wlan_bss::Network {
            ssid: self.ssid.clone(),
            capabilities: Capabilities {
                information: CAPABILITY,
                elements: Vec::new(),
            },
            security: Some(Security {
                policy,
                psk,
                password,
                sae: sae_config(),
            }),
        }
    }
}
