//! The access point's side of 802.1X: it forwards EAP between its stations and the authentication server (RFC 3748
//! section 2, RFC 3579 section 2.1), and does not understand the method.
//!
//! ```text
//!  start ──► Request/Identity to the station ──Response──► Access-Request to the server
//!                 ▲                                              │
//!                 └──── Request to the station ◄──Access-Challenge┤
//!         EAP-Success to the station, the MSK  ◄──Access-Accept───┤
//!         EAP-Failure to the station           ◄──Access-Reject───┘
//! ```
//! - A Request is retransmitted until its Response arrives. A Response with another identifier is discarded, so a
//!   repeated one does not reach the server twice.
//! - The number of conversations, their duration and their number of round trips are bounded. The caller decides which
//!   conversation gives way to a new one ([`PassThrough::displace`]).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use rand_core::CryptoRng;
use wlan_frames::MacAddr;

use crate::packet::{Code, Packet, kind};
use crate::radius::{self, Client, Event};
use crate::{Msk, eapol};

/// Time before a Request is repeated; each further repetition waits twice as long (RFC 3748 section 4.3).
const REPEAT_AFTER: Duration = Duration::from_millis(500);
/// Number of transmissions of a Request.
const TRIES: u8 = 5;
/// Maximum duration of a conversation.
const WITHIN: Duration = Duration::from_secs(60);
/// Maximum number of Requests in a conversation: EAP-TLS with long chains of certificates requires some 50.
const ROUND_TRIPS: u32 = 100;
/// Maximum number of conversations. A RADIUS client has 256 identifiers.
pub const CONVERSATIONS: usize = 256;
/// Maximum octets of an identity (RFC 7542 section 2.3, the length of a RADIUS attribute).
const IDENTITY_LEN: usize = 253;

/// Why a conversation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The server refuses the station.
    #[error("the authentication server rejects {identity}{}", if message.is_empty() { String::new() } else { format!(": {message}") })]
    Rejected {
        /// The station's identity.
        identity: String,
        /// The server's words.
        message: String,
    },
    /// The server does not answer.
    #[error("the authentication server does not answer; check its address and the shared secret")]
    NoServer,
    /// The server's answers are not authentic.
    #[error("the answers of the authentication server are not authentic: the shared secret differs")]
    SharedSecret,
    /// The server accepts the station without keys, or without a successful EAP conversation.
    #[error("the authentication server accepts {0} without the keys of an EAP method (RFC 2548)")]
    NoKeys(String),
    /// The server's answer has no EAP packet.
    #[error("the answer of the authentication server has no EAP packet (RFC 3579)")]
    NoEap,
    /// The station does not answer.
    #[error("the station does not answer")]
    NoStation,
    /// The conversation takes too long.
    #[error("the conversation takes too long")]
    TooLong,
    /// There are too many conversations.
    #[error("dropped in favour of newer stations: too many conversations")]
    Displaced,
}

/// An action for the caller.
#[derive(Debug)]
pub enum Output<P = MacAddr> {
    /// Send an EAPOL PDU to a station.
    Send {
        /// The station.
        station: P,
        /// The PDU.
        pdu: Vec<u8>,
    },
    /// Send a datagram to the server.
    Radius(Vec<u8>),
    /// The server has authenticated a station.
    Authenticated {
        /// The station.
        station: P,
        /// The result of the method.
        msk: Msk,
        /// The station's identity, for the log.
        identity: String,
        /// Time after which the station must authenticate again (RFC 3580 section 3.17).
        session_timeout: Option<Duration>,
    },
    /// A conversation failed.
    Failed {
        /// The station.
        station: P,
        /// The reason.
        failure: Failure,
    },
}

struct Conversation {
    until: Duration,
    /// The pending Request; `None` while the server is due.
    request: Option<Pending>,
    /// Identifier of the last Request.
    identifier: u8,
    round_trips: u32,
    /// Empty until the station has sent it.
    identity: Vec<u8>,
    state: Option<Vec<u8>>,
}

struct Pending {
    packet: Vec<u8>,
    tries: u8,
    next: Duration,
}

impl Conversation {
    fn name(&self) -> String {
        format!("\"{}\"", radius::printable(&self.identity))
    }

    fn due(&self) -> Duration {
        self.request
            .as_ref()
            .map_or(self.until, |request| request.next.min(self.until))
    }
}

/// The conversations of an access point with all its stations. `P` identifies a station to the caller.
pub struct PassThrough<P = MacAddr> {
    client: Client<P>,
    conversations: BTreeMap<P, Conversation>,
    outputs: VecDeque<Output<P>>,
}

impl<P> std::fmt::Debug for PassThrough<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PassThrough")
            .field("conversations", &self.conversations.len())
            .finish_non_exhaustive()
    }
}

impl<P: Copy + Ord + Into<MacAddr>> PassThrough<P> {
    /// Forwards to the server of this client.
    #[must_use]
    pub fn new(client: Client<P>) -> Self {
        Self {
            client,
            conversations: BTreeMap::new(),
            outputs: VecDeque::new(),
        }
    }

    /// Asks a station for its identity. A conversation in progress continues: any host could ask in the station's name.
    /// Returns false if there are too many conversations.
    pub fn start(&mut self, station: P, now: Duration, rng: &mut dyn CryptoRng) -> bool {
        if self.conversations.contains_key(&station) {
            return true;
        }
        if self.conversations.len() >= CONVERSATIONS {
            return false;
        }
        let identifier = (rng.next_u32() & 0xff) as u8;
        let conversation = Conversation {
            until: now + WITHIN,
            request: None,
            identifier,
            round_trips: 0,
            identity: Vec::new(),
            state: None,
        };
        self.conversations.insert(station, conversation);
        let packet = Packet {
            code: Code::Request,
            identifier,
            data: &[kind::IDENTITY],
        };
        self.ask(station, packet.build(), identifier, now);
        true
    }

    /// Ends a conversation in favour of another station.
    pub fn displace(&mut self, station: P) {
        if self.conversations.contains_key(&station) {
            self.fail(station, Failure::Displaced);
        }
    }

    /// Ends a conversation without a result.
    pub fn remove(&mut self, station: P) {
        self.conversations.remove(&station);
        self.client.forget(station);
    }

    /// Whether a conversation with a station is in progress.
    #[must_use]
    pub fn is_open(&self, station: P) -> bool {
        self.conversations.contains_key(&station)
    }

    /// Number of conversations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.conversations.len()
    }

    /// Whether there are no conversations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.conversations.is_empty()
    }

    /// The next action. Call this after each call of another function, until it returns `None`.
    pub fn poll_output(&mut self) -> Option<Output<P>> {
        if let Some(datagram) = self.client.poll_send() {
            return Some(Output::Radius(datagram));
        }
        self.outputs.pop_front()
    }

    /// The latest time for the next call of [`timeout`](Self::timeout).
    #[must_use]
    pub fn next_timeout(&self) -> Option<Duration> {
        let conversations = self.conversations.values().map(Conversation::due);
        conversations.chain(self.client.next_timeout()).min()
    }

    /// Processes the passage of time.
    pub fn timeout(&mut self, now: Duration) {
        for (station, event) in self.client.timeout(now) {
            self.answered(station, event, now);
        }
        let due: Vec<P> = self
            .conversations
            .iter()
            .filter(|(_, one)| now >= one.due())
            .map(|(&station, _)| station)
            .collect();
        for station in due {
            let Some(one) = self.conversations.get_mut(&station) else {
                continue;
            };
            if now >= one.until {
                self.fail(station, Failure::TooLong);
                continue;
            }
            match &mut one.request {
                Some(request) if request.tries >= TRIES => self.fail(station, Failure::NoStation),
                Some(request) => {
                    request.next = now + REPEAT_AFTER.saturating_mul(1 << request.tries);
                    request.tries += 1;
                    let pdu = eapol::of_eap(&request.packet);
                    self.outputs.push_back(Output::Send { station, pdu });
                }
                None => {}
            }
        }
    }

    /// Processes an EAP packet of a station. Returns whether the packet answers the pending Request.
    pub fn receive(&mut self, station: P, octets: &[u8], now: Duration, rng: &mut dyn CryptoRng) -> bool {
        let Some(packet) = Packet::parse(octets) else {
            return false;
        };
        let Some(one) = self.conversations.get_mut(&station) else {
            return false;
        };
        if packet.code != Code::Response || packet.identifier != one.identifier || one.request.is_none() {
            return false;
        }
        if one.identity.is_empty() {
            match packet.data {
                [kind::IDENTITY, identity @ ..] if (1..=IDENTITY_LEN).contains(&identity.len()) => {
                    one.identity = identity.to_vec();
                }
                _ => return false,
            }
        }
        let about = radius::Station {
            peer: station,
            identity: &one.identity,
            state: one.state.as_deref(),
        };
        // Padding is not part of the packet. Without capacity the station's Request is repeated.
        let octets = packet.build();
        let is_sent = self.client.send(about, &octets, now, rng);
        if is_sent {
            one.request = None;
        }
        is_sent
    }

    /// Processes a datagram of the server.
    pub fn radius(&mut self, datagram: &[u8], now: Duration) {
        if let Some((station, event)) = self.client.receive(datagram) {
            self.answered(station, event, now);
        }
    }

    fn answered(&mut self, station: P, event: Event, now: Duration) {
        let Some(one) = self.conversations.get_mut(&station) else {
            return;
        };
        let (code, eap, state, msk, session_timeout, message) = match event {
            Event::NoAnswer { refused: 0 } => return self.fail(station, Failure::NoServer),
            Event::NoAnswer { .. } => return self.fail(station, Failure::SharedSecret),
            Event::Answer {
                code,
                eap,
                state,
                msk,
                session_timeout,
                message,
            } => (code, eap, state, msk, session_timeout, message),
        };
        let packet = eap.as_deref().and_then(Packet::parse);
        match (code, packet) {
            (radius::Code::Challenge, Some(packet)) if packet.code == Code::Request => {
                one.state = state;
                one.round_trips += 1;
                if one.round_trips > ROUND_TRIPS {
                    return self.fail(station, Failure::TooLong);
                }
                let (octets, identifier) = (packet.build(), packet.identifier);
                self.ask(station, octets, identifier, now);
            }
            (radius::Code::Accept, Some(packet)) if packet.code == Code::Success => {
                let identity = one.name();
                let Some(msk) = msk else {
                    return self.fail(station, Failure::NoKeys(identity));
                };
                let pdu = eapol::of_eap(&packet.build());
                self.conversations.remove(&station);
                self.outputs.push_back(Output::Send { station, pdu });
                self.outputs.push_back(Output::Authenticated {
                    station,
                    msk,
                    identity,
                    session_timeout,
                });
            }
            (radius::Code::Accept, _) => {
                let identity = one.name();
                self.fail(station, Failure::NoKeys(identity));
            }
            (radius::Code::Reject, _) => {
                let failure = Failure::Rejected {
                    identity: one.name(),
                    message: message.unwrap_or_default(),
                };
                self.fail(station, failure);
            }
            (radius::Code::Challenge, _) => self.fail(station, Failure::NoEap),
        }
    }

    fn ask(&mut self, station: P, packet: Vec<u8>, identifier: u8, now: Duration) {
        if let Some(one) = self.conversations.get_mut(&station) {
            let pdu = eapol::of_eap(&packet);
            one.identifier = identifier;
            one.request = Some(Pending {
                packet,
                tries: 1,
                next: now + REPEAT_AFTER,
            });
            self.outputs.push_back(Output::Send { station, pdu });
        }
    }

    /// Ends a conversation with a Failure (RFC 3748 section 4.2).
    fn fail(&mut self, station: P, failure: Failure) {
        if let Some(one) = self.conversations.get(&station) {
            let packet = Packet {
                code: Code::Failure,
                identifier: one.identifier,
                data: &[],
            };
            let pdu = eapol::of_eap(&packet.build());
            self.outputs.push_back(Output::Send { station, pdu });
        }
        self.remove(station);
        self.outputs.push_back(Output::Failed { station, failure });
    }
}
