//! A station: finds the network, authenticates, associates, and completes the handshakes.

use std::sync::Arc;
use std::time::Duration;

use rand_core::CryptoRng;
use serde_json::json;
use wlan_frames::beacon::Beacon;
use wlan_frames::management::{Body, OPEN_SYSTEM, STATUS_SUCCESS};
use wlan_frames::{MacAddr, Management, Role};
use wlan_rsn::sae::{self, Password, Sae};
use wlan_rsn::{Akm, Association, Elements, Output, Pmk, Policy, Supplicant, Timing, owe};

use crate::config::{ConfigError, Network, Order};
use crate::elements::{self, Heard};
use crate::end::{End, Incoming, LISTEN_INTERVAL, REASON_LEAVING};

/// Status of an association that the access point refuses because it does not support the group of OWE (Table 9-50).
const STATUS_UNSUPPORTED_GROUP: u16 = 77;
const RETRY_AFTER: Duration = Duration::from_millis(200);
const TRIES: u8 = 5;

enum State {
    Scanning,
    OpenAuthentication,
    Sae(Box<Sae>),
    Associating,
    Associated(Box<Supplicant>),
    Ended,
}

/// A station.
pub struct Station {
    pub end: End,
    ssid: Vec<u8>,
    policy: Policy,
    own: Elements,
    config: Arc<sae::Config>,
    method: sae::Method,
    password: Arc<Password>,
    pmk: Option<Pmk>,
    owe: owe::Station,
    access_point: Heard,
    state: State,
    /// When the request is sent again, and how often it was sent.
    retry: Option<(Duration, u8)>,
}

impl Station {
    /// A station of this network, which starts to scan.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn new(own: MacAddr, network: &Network, rng: &mut dyn CryptoRng) -> Result<Self, ConfigError> {
        let policy = network.policy()?;
        let (ssid, passphrase) = (network.ssid.as_bytes(), network.passphrase.as_bytes());
        let groups = network.groups()?;
        Ok(Self {
            end: End::new(Role::Sta, own, MacAddr::BROADCAST),
            ssid: ssid.to_vec(),
            own: network.elements()?,
            password: Arc::new(Password::new(ssid, passphrase, None, &groups)?),
            owe: owe::Station::new(&groups, rng)
                .ok_or_else(|| ConfigError::Unknown("groups", "none".into()))?,
            config: Arc::new(sae::Config {
                groups,
                ..sae::Config::default()
            }),
            method: network.method(),
            policy,
            pmk: network.pmk()?,
            access_point: Heard::default(),
            state: State::Scanning,
            retry: None,
        })
    }

    /// Takes a frame from the air.
    pub fn receive(&mut self, now: Duration, mpdu: &[u8], rng: &mut dyn CryptoRng) {
        if let Ok(beacon) = Beacon::parse(mpdu) {
            self.beacon(now, &beacon, mpdu, rng);
            return;
        }
        match self.end.receive(mpdu) {
            Some(Incoming::Management { from, mpdu }) if from == self.end.bssid => {
                if let Ok(frame) = Management::parse(&mpdu) {
                    self.management(now, &frame.body, &mpdu, rng);
                }
            }
            Some(Incoming::Eapol { from, packet, sealed }) if from == self.end.bssid => {
                let State::Associated(supplicant) = &mut self.state else {
                    return;
                };
                let outcome = supplicant.receive(&packet, sealed, now, rng);
                self.end.counts.discarded += u64::from(outcome.is_err());
                self.apply_outputs();
            }
            _ => {}
        }
    }

    fn beacon(&mut self, now: Duration, beacon: &Beacon<'_>, mpdu: &[u8], rng: &mut dyn CryptoRng) {
        if matches!(self.state, State::Associated(_)) {
            if beacon.bssid == self.end.bssid {
                self.end.check_beacon(mpdu);
            }
            return;
        }
        let heard = Heard::of(beacon.elements);
        if !matches!(self.state, State::Scanning) || heard.ssid != self.ssid {
            return;
        }
        self.end.bssid = beacon.bssid;
        self.access_point = heard;
        if self.policy.akms == [Akm::Sae] {
            self.initiate_sae(now, rng);
        } else {
            self.state = State::OpenAuthentication;
            self.request(now, 1);
        }
    }

    fn initiate_sae(&mut self, now: Duration, rng: &mut dyn CryptoRng) {
        let ends = [self.end.own, self.end.bssid];
        let (config, password) = (Arc::clone(&self.config), Arc::clone(&self.password));
        match Sae::initiate(now, ends, self.method, config, password, rng) {
            Ok((exchange, reply)) => {
                self.state = State::Sae(Box::new(exchange));
                self.authentication(now, reply);
            }
            Err(error) => self.fail(&error.to_string()),
        }
    }

    /// Sends the frames of SAE, and associates once the peer is accepted.
    fn authentication(&mut self, now: Duration, reply: sae::Reply) {
        for body in &reply.frames {
            self.end.manage(
                self.end.bssid,
                Body::authentication(body).expect("SAE builds complete frames"),
            );
        }
        match reply.event {
            Some(sae::Event::Accepted(pmk)) => {
                self.pmk = Some(pmk);
                self.state = State::Associating;
                self.request(now, 1);
            }
            Some(sae::Event::Failed(failure)) => self.fail(&failure.to_string()),
            None => {}
        }
    }

    /// Sends the request of the current state.
    fn request(&mut self, now: Duration, tries: u8) {
        if tries > TRIES {
            self.fail("the access point does not answer");
            return;
        }
        self.retry = Some((now + RETRY_AFTER, tries));
        let bssid = self.end.bssid;
        match self.state {
            State::OpenAuthentication => self.end.manage(
                bssid,
                Body::Authentication {
                    algorithm: OPEN_SYSTEM,
                    transaction: 1,
                    status: STATUS_SUCCESS,
                    rest: &[],
                },
            ),
            State::Associating => {
                let of_owe = if self.policy.akms == [Akm::Owe] {
                    self.owe.element()
                } else {
                    Vec::new()
                };
                let elements = elements::of_request(&self.ssid, &self.own, self.access_point.qos, &of_owe);
                self.end.manage(
                    bssid,
                    Body::AssociationRequest {
                        capability: elements::CAPABILITY,
                        listen_interval: LISTEN_INTERVAL,
                        elements: &elements,
                    },
                );
            }
            _ => self.retry = None,
        }
    }

    fn management(&mut self, now: Duration, body: &Body<'_>, mpdu: &[u8], rng: &mut dyn CryptoRng) {
        match (&mut self.state, body) {
            (
                State::OpenAuthentication,
                Body::Authentication {
                    transaction: 2,
                    status,
                    ..
                },
            ) => {
                if *status == STATUS_SUCCESS {
                    self.state = State::Associating;
                    self.request(now, 1);
                } else {
                    self.fail(&format!("authentication refused with status code {status}"));
                }
            }
            (State::Sae(exchange), Body::Authentication { .. }) => {
                let reply = exchange.receive(now, &mpdu[wlan_frames::MacHeader::LEN..], rng);
                self.authentication(now, reply);
            }
            (State::Associating, Body::AssociationResponse { status, elements, .. }) => {
                self.associated(now, *status, elements, rng);
            }
            (
                State::Associated(supplicant),
                Body::Deauthentication { reason, .. } | Body::Disassociation { reason, .. },
            ) => {
                if self.end.is_established {
                    self.fail(&format!(
                        "the access point ended the association with reason code {reason}"
                    ));
                } else {
                    supplicant.peer_gone();
                    self.apply_outputs();
                }
            }
            (State::Associating, Body::Deauthentication { reason, .. }) => {
                self.fail(&format!("the access point refused with reason code {reason}"));
            }
            _ => {}
        }
    }

    fn associated(&mut self, now: Duration, status: u16, elements: &[u8], rng: &mut dyn CryptoRng) {
        self.retry = None;
        if status == STATUS_UNSUPPORTED_GROUP && self.policy.akms == [Akm::Owe] && self.owe.refused(rng) {
            self.request(now, 1);
            return;
        }
        if status != STATUS_SUCCESS {
            self.fail(&format!("association refused with status code {status}"));
            return;
        }
        if self.policy.akms == [Akm::Owe] {
            match self.owe.finish(elements) {
                Ok(pmk) => self.pmk = Some(pmk),
                Err(error) => return self.fail(&error.to_string()),
            }
        }
        let pmk = self
            .pmk
            .clone()
            .expect("every key management yields a PMK before the handshake");
        let association = match Association::negotiate(&self.access_point.security, &self.own) {
            Ok(association) => association,
            Err(error) => return self.fail(&error.to_string()),
        };
        self.end.forget();
        self.end.qos = self.access_point.qos;
        self.end.mfp = association.group_management.is_some();
        self.end.out.event(
            "associated",
            json!({ "wpa_key_mgmt": association.akm.name(), "mfp": self.end.mfp, "qos": self.end.qos }),
        );
        let ends = [self.end.own, self.end.bssid];
        match Supplicant::new(ends[0], ends[1], association, pmk, Timing::default()) {
            Ok(mut supplicant) => {
                supplicant.start(now, rng);
                self.state = State::Associated(Box::new(supplicant));
            }
            Err(error) => self.fail(&error.to_string()),
        }
    }

    fn apply_outputs(&mut self) {
        let State::Associated(supplicant) = &mut self.state else {
            return;
        };
        let mut failure = None;
        while let Some(output) = supplicant.poll_output() {
            if let Some(Output::Failed {
                reason,
                still_established: false,
                ..
            }) = self.end.apply(output)
            {
                failure = Some(reason);
            }
        }
        if let Some(reason) = failure {
            self.fail(&reason.to_string());
        }
    }

    fn fail(&mut self, why: &str) {
        self.state = State::Ended;
        self.retry = None;
        self.end.forget();
        self.end.out.event("failed", json!({ "why": why }));
    }

    /// Handles the passage of time.
    pub fn timeout(&mut self, now: Duration) {
        if let Some((_, tries)) = self.retry.filter(|&(at, _)| at <= now) {
            self.request(now, tries + 1);
        }
        match &mut self.state {
            State::Sae(exchange) => {
                let reply = exchange.expire(now);
                self.authentication(now, reply);
            }
            State::Associated(supplicant) => {
                supplicant.timeout(now);
                self.apply_outputs();
            }
            _ => {}
        }
    }

    /// The time of the next call of [`timeout`](Self::timeout).
    pub fn next_timeout(&self, now: Duration) -> Option<Duration> {
        let of_state = match &self.state {
            State::Sae(exchange) => exchange.deadline(),
            State::Associated(supplicant) => supplicant.next_timeout(now),
            _ => None,
        };
        of_state.into_iter().chain(self.retry.map(|(at, _)| at)).min()
    }

    /// Executes an order.
    pub fn perform(&mut self, order: Order) {
        match (order, &mut self.state) {
            (Order::RekeyPairwise | Order::RekeyGroup, State::Associated(supplicant)) => {
                supplicant.request_rekey(order == Order::RekeyPairwise);
                self.apply_outputs();
            }
            (Order::Deauthenticate, State::Associated(_)) => {
                let leave = Body::Deauthentication {
                    reason: REASON_LEAVING,
                    elements: &[],
                };
                self.end.manage(self.end.bssid, leave);
                self.fail("the station left");
            }
            _ => {}
        }
    }
}
