//! A station's attempt to associate with an access point, for any way to carry frames: authentication, by Open System or
//! SAE, and association, up to the PMK of the 4-way handshake.

use std::sync::Arc;
use std::time::Duration;

use rand_core::CryptoRng;
use wlan_frames::MacAddr;
use wlan_frames::management::{Body, OPEN_SYSTEM, SAE, status};
use wlan_rsn::sae::{self, Method, Sae};
use wlan_rsn::{Akm, Pmk, owe};

use crate::LISTEN_INTERVAL;
use crate::elements::{self, Heard};
use crate::event::Failure;
use crate::network::Network;
use crate::sa_query::TU;

/// Maximum association comeback time that a station honours, in time units.
const COMEBACK_TU_MAX: u32 = 2000;

/// How a station deals with silence and refusals.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Time without an answer before a request is sent again.
    pub again: Duration,
    /// Maximum number of transmissions of a request.
    pub tries: u8,
    /// Whether a refusal is only the reason of a later timeout, because anyone can forge it. A temporary refusal postpones
    /// the next transmission (11.3.5.3).
    pub doubts_refusals: bool,
    /// The elements that the Association Request repeats, out of the fields of the Authentication frame that accepts an
    /// Open System request.
    pub repeats: fn(&[u8]) -> Vec<u8>,
}

/// The progress of an attempt.
#[derive(Debug)]
pub enum Progress {
    /// It continues.
    Pending,
    /// The access point has accepted the association. The PMK is `None` without RSN and WPA, and with 802.1X.
    Associated(Option<Pmk>),
    /// It has failed.
    Failed(Failure),
}

enum State {
    OpenSystem,
    Sae(Box<Sae>),
    Associating {
        /// The PMK of SAE.
        pmk: Option<Pmk>,
        owe: Option<Box<owe::Station>>,
        repeated: Vec<u8>,
        /// The last transmission after which a temporary refusal postponed the next one; 0 if none did.
        postponed: u8,
    },
}

/// The function that sends a frame to the access point.
pub type Transmit<'a> = &'a mut dyn FnMut(Body<'_>);

/// An attempt.
pub struct Attempt {
    /// The station and the access point.
    ends: [MacAddr; 2],
    network: Network,
    /// Whether the access point has QoS.
    qos: bool,
    rules: Rules,
    state: State,
    /// When the request is sent again, and how often it was sent.
    retry: (Duration, u8),
    refused: Option<Failure>,
}

impl Attempt {
    /// An attempt of the station to join the access point, the second of `ends`, by the policy of `network`.
    pub fn new(ends: [MacAddr; 2], network: Network, qos: bool, rules: Rules) -> Self {
        Self {
            ends,
            network,
            qos,
            rules,
            state: State::OpenSystem,
            retry: (Duration::ZERO, 0),
            refused: None,
        }
    }

    fn is_only(&self, akm: Akm) -> bool {
        let security = self.network.security.as_ref();
        security.is_some_and(|security| security.is_only(akm))
    }

    /// Whether the station is authenticated.
    pub fn is_associating(&self) -> bool {
        matches!(self.state, State::Associating { .. })
    }

    /// Sends the first frame.
    pub fn begin(&mut self, now: Duration, rng: &mut dyn CryptoRng, send: Transmit<'_>) -> Progress {
        if !self.is_only(Akm::Sae) {
            return self.request(now, send);
        }
        match self.initiate_sae(now, rng) {
            Ok((exchange, reply)) => {
                self.state = State::Sae(Box::new(exchange));
                self.replied(now, reply, rng, send)
            }
            Err(why) => Progress::Failed(why),
        }
    }

    fn initiate_sae(&self, now: Duration, rng: &mut dyn CryptoRng) -> Result<(Sae, sae::Reply), Failure> {
        let security = self.network.security.as_ref();
        let secret = security.and_then(|security| Some((security, security.password.clone()?)));
        let (security, password) = secret.ok_or(Failure::NotAuthenticated)?;
        let method = match security.sae.hunting_and_pecking {
            true => Method::HuntingAndPecking,
            false => Method::HashToElement,
        };
        let config = Arc::new(security.sae.clone());
        Ok(Sae::initiate(now, self.ends, method, config, password, rng)?)
    }

    /// Sends the frames of an SAE exchange.
    fn replied(
        &mut self,
        now: Duration,
        reply: sae::Reply,
        rng: &mut dyn CryptoRng,
        send: Transmit<'_>,
    ) -> Progress {
        for body in &reply.frames {
            send(Body::authentication(body).expect("SAE builds complete frames"));
        }
        match reply.event {
            Some(sae::Event::Accepted(pmk)) => self.associate(now, Some(pmk), Vec::new(), rng, send),
            Some(sae::Event::Failed(failure)) => Progress::Failed(failure.into()),
            None => Progress::Pending,
        }
    }

    fn associate(
        &mut self,
        now: Duration,
        pmk: Option<Pmk>,
        repeated: Vec<u8>,
        rng: &mut dyn CryptoRng,
        send: Transmit<'_>,
    ) -> Progress {
        let of_owe = self.network.security.as_ref().filter(|_| self.is_only(Akm::Owe));
        let owe = of_owe.and_then(|security| owe::Station::new(&security.sae.groups, rng));
        self.state = State::Associating {
            pmk,
            owe: owe.map(Box::new),
            repeated,
            postponed: 0,
        };
        self.retry = (now, 0);
        self.refused = None;
        self.request(now, send)
    }

    /// Sends the request of the current state.
    fn request(&mut self, now: Duration, send: Transmit<'_>) -> Progress {
        self.retry = (now + self.rules.again, self.retry.1 + 1);
        match &self.state {
            State::OpenSystem => send(Body::Authentication {
                algorithm: OPEN_SYSTEM,
                transaction: 1,
                status: status::SUCCESS,
                rest: &[],
            }),
            State::Associating { owe, repeated, .. } => {
                let of_owe = owe.as_ref().map(|owe| owe.element()).unwrap_or_default();
                let more = [of_owe, repeated.clone()].concat();
                send(Body::AssociationRequest {
                    capability: self.network.capabilities.information,
                    listen_interval: LISTEN_INTERVAL,
                    elements: &elements::of_request(&self.network, self.qos, &more),
                });
            }
            State::Sae(_) => {}
        }
        Progress::Pending
    }

    /// Takes an Authentication or Association Response frame of the access point. `octets` are its body.
    pub fn receive(
        &mut self,
        now: Duration,
        body: &Body<'_>,
        octets: &[u8],
        rng: &mut dyn CryptoRng,
        send: Transmit<'_>,
    ) -> Progress {
        match (&mut self.state, *body) {
            (State::Sae(exchange), Body::Authentication { algorithm: SAE, .. }) => {
                let reply = exchange.receive(now, octets, rng);
                self.replied(now, reply, rng, send)
            }
            (
                State::OpenSystem,
                Body::Authentication {
                    algorithm,
                    transaction: 2,
                    status,
                    rest,
                },
            ) => {
                if algorithm == OPEN_SYSTEM && status == status::SUCCESS {
                    self.associate(now, None, (self.rules.repeats)(rest), rng, send)
                } else {
                    self.refused(Failure::AuthenticationRefused(status))
                }
            }
            (State::Associating { .. }, Body::AssociationResponse { status, elements, .. }) => match status {
                status::SUCCESS => self.accepted(elements),
                _ => self.association_refused(now, status, elements, rng, send),
            },
            _ => Progress::Pending,
        }
    }

    fn accepted(&self, elements: &[u8]) -> Progress {
        let State::Associating { pmk, owe, .. } = &self.state else {
            return Progress::Pending;
        };
        let Some(security) = &self.network.security else {
            return Progress::Associated(None);
        };
        if security.policy.akms.iter().any(|akm| akm.is_eap()) {
            return Progress::Associated(None);
        }
        let of_owe = owe.as_ref().map(|owe| owe.finish(elements)).transpose();
        match of_owe.map(|of_owe| of_owe.or(pmk.clone()).or(security.psk.clone())) {
            Ok(Some(pmk)) => Progress::Associated(Some(pmk)),
            Ok(None) => Progress::Failed(Failure::NotAuthenticated),
            // An answer without a public key is invalid, and may be forged.
            Err(_) if self.rules.doubts_refusals => Progress::Pending,
            Err(why) => Progress::Failed(why.into()),
        }
    }

    fn association_refused(
        &mut self,
        now: Duration,
        code: u16,
        elements: &[u8],
        rng: &mut dyn CryptoRng,
        send: Transmit<'_>,
    ) -> Progress {
        let tries = self.retry.1;
        let State::Associating { owe, postponed, .. } = &mut self.state else {
            return Progress::Pending;
        };
        match code {
            // The access point is querying this station's previous session, which will not answer. A refusal may be forged or
            // come from any access point. Only the first one after each transmission counts, so that all of them together
            // delay this station by no more than the tries times the maximum comeback time.
            status::REFUSED_TEMPORARILY if *postponed < tries => {
                *postponed = tries;
                let after_tu = Heard::of(0, elements).comeback_tu.unwrap_or(COMEBACK_TU_MAX);
                self.retry.0 = now + TU * after_tu.clamp(1, COMEBACK_TU_MAX);
            }
            status::UNSUPPORTED_FINITE_CYCLIC_GROUP if owe.as_mut().is_some_and(|owe| owe.refused(rng)) => {
                self.retry.0 = now;
                return self.timeout(now, rng, send);
            }
            _ => {}
        }
        self.refused(Failure::AssociationRefused(code))
    }

    fn refused(&mut self, why: Failure) -> Progress {
        if !self.rules.doubts_refusals {
            return Progress::Failed(why);
        }
        self.refused = Some(why);
        Progress::Pending
    }

    /// Handles the passage of time: sends a request without an answer again.
    pub fn timeout(&mut self, now: Duration, rng: &mut dyn CryptoRng, send: Transmit<'_>) -> Progress {
        if let State::Sae(exchange) = &mut self.state {
            let reply = exchange.expire(now);
            return self.replied(now, reply, rng, send);
        }
        let (at, tries) = self.retry;
        if now < at {
            Progress::Pending
        } else if tries >= self.rules.tries {
            Progress::Failed(self.refused.clone().unwrap_or(Failure::NoAnswer))
        } else {
            self.request(now, send)
        }
    }

    /// The time of the next call of [`timeout`](Self::timeout).
    pub fn next_timeout(&self) -> Option<Duration> {
        match &self.state {
            State::Sae(exchange) => exchange.deadline(),
            _ => Some(self.retry.0),
        }
    }
}
