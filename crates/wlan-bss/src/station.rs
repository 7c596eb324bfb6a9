//! A station of a BSS: finds the network, authenticates, associates, and completes the handshakes.

use std::sync::Arc;
use std::time::Duration;

use rand_core::CryptoRng;
use wlan_frames::beacon::Beacon;
use wlan_frames::management::{Body, OPEN_SYSTEM, reason, status};
use wlan_frames::{MacAddr, MacHeader, Management, Role};
use wlan_rsn::sae::{self, Sae};
use wlan_rsn::{Akm, Association, Output, Pmk, Supplicant, Timing, owe};

use crate::LISTEN_INTERVAL;
use crate::elements::{self, Heard};
use crate::end::{End, Incoming, Peer};
use crate::event::{Event, Failure};
use crate::network::{Network, Security};

const RETRY_AFTER: Duration = Duration::from_millis(200);
const TRIES: u8 = 5;

enum State {
    Scanning,
    OpenAuthentication,
    Sae(Box<Sae>),
    Associating,
    /// Without RSN and WPA, there is no supplicant.
    Associated(Option<Box<Supplicant>>),
    Ended,
}

/// A station.
pub struct Station {
    /// Its association, keys and output.
    pub end: End,
    network: Network,
    pmk: Option<Pmk>,
    /// `None` if the key management is not OWE.
    owe: Option<owe::Station>,
    access_point: Heard,
    state: State,
    /// When the request is sent again, and how often it was sent.
    retry: Option<(Duration, u8)>,
}

impl Station {
    /// A station that joins the first access point of this network whose beacon or Probe Response it receives.
    pub fn new(own: MacAddr, network: Network, rng: &mut dyn CryptoRng) -> Self {
        let security = network.security.as_ref();
        let of_owe = security.filter(|security| security.is_only(Akm::Owe));
        Self {
            end: End::new(Role::Sta, own, MacAddr::BROADCAST),
            pmk: security.and_then(|security| security.psk.clone()),
            owe: of_owe.and_then(|security| owe::Station::new(&security.groups, rng)),
            access_point: Heard::default(),
            state: State::Scanning,
            retry: None,
            network,
        }
    }

    /// Searches for the network with a Probe Request (11.1.4.3).
    pub fn probe(&mut self) {
        let elements = &elements::of_probe_request(&self.network);
        self.end
            .manage(MacAddr::BROADCAST, Body::ProbeRequest { elements });
    }

    /// Takes a frame from the air.
    pub fn receive(&mut self, now: Duration, mpdu: &[u8], rng: &mut dyn CryptoRng) {
        if let Ok(beacon) = Beacon::parse(mpdu) {
            if !matches!(self.state, State::Associated(_)) {
                self.discover(now, beacon.bssid, beacon.capability, beacon.elements, rng);
            } else if beacon.bssid == self.end.bssid {
                self.end.check_beacon(mpdu);
            }
            return;
        }
        match self.end.receive(mpdu) {
            Some(Incoming::Management { from, mpdu }) => match Management::parse(&mpdu) {
                Ok(Management {
                    body:
                        Body::ProbeResponse {
                            capability, elements, ..
                        },
                    ..
                }) => self.discover(now, from, capability, elements, rng),
                Ok(frame) if from == self.end.bssid => self.management(now, &frame.body, &mpdu, rng),
                _ => {}
            },
            Some(Incoming::Eapol { from, packet, sealed }) if from == self.end.bssid => {
                let State::Associated(Some(supplicant)) = &mut self.state else {
                    return;
                };
                let outcome = supplicant.receive(&packet, sealed, now, rng);
                self.end.counts.discarded += u64::from(outcome.is_err());
                self.apply_outputs();
            }
            _ => {}
        }
    }

    /// Joins the access point if it belongs to the network.
    fn discover(
        &mut self,
        now: Duration,
        bssid: MacAddr,
        capability: u16,
        elements: &[u8],
        rng: &mut dyn CryptoRng,
    ) {
        let heard = Heard::of(capability, elements);
        if !matches!(self.state, State::Scanning) || heard.ssid != self.network.ssid {
            return;
        }
        self.end.bssid = bssid;
        self.access_point = heard;
        match &self.network.security {
            Some(security) if security.is_only(Akm::Sae) => match initiate_sae(now, &self.end, security, rng)
            {
                Ok((exchange, reply)) => {
                    self.state = State::Sae(Box::new(exchange));
                    self.authentication(now, reply);
                }
                Err(why) => self.fail(why),
            },
            _ => {
                self.state = State::OpenAuthentication;
                self.request(now, 1);
            }
        }
    }

    /// Sends the frames of SAE, and associates once the peer is accepted.
    fn authentication(&mut self, now: Duration, reply: sae::Reply) {
        self.end.authenticate_sae(self.end.bssid, &reply);
        match reply.event {
            Some(sae::Event::Accepted(pmk)) => {
                self.pmk = Some(pmk);
                self.state = State::Associating;
                self.request(now, 1);
            }
            Some(sae::Event::Failed(failure)) => self.fail(failure.into()),
            None => {}
        }
    }

    /// Sends the request of the current state.
    fn request(&mut self, now: Duration, tries: u8) {
        if tries > TRIES {
            self.fail(Failure::NoAnswer);
            return;
        }
        self.retry = Some((now + RETRY_AFTER, tries));
        let bssid = self.end.bssid;
        match self.state {
            State::OpenAuthentication => self.end.authenticate(bssid, OPEN_SYSTEM, 1, status::SUCCESS),
            State::Associating => {
                let of_owe = self.owe.as_ref().map(owe::Station::element).unwrap_or_default();
                let elements = elements::of_request(&self.network, self.access_point.qos, &of_owe);
                let request = Body::AssociationRequest {
                    capability: self.network.capabilities.information,
                    listen_interval: LISTEN_INTERVAL,
                    elements: &elements,
                };
                self.end.manage(bssid, request);
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
                if *status == status::SUCCESS {
                    self.state = State::Associating;
                    self.request(now, 1);
                } else {
                    self.fail(Failure::AuthenticationRefused(*status));
                }
            }
            (State::Sae(exchange), Body::Authentication { .. }) => {
                let reply = exchange.receive(now, &mpdu[MacHeader::LEN..], rng);
                self.authentication(now, reply);
            }
            (State::Associating, Body::AssociationResponse { status, elements, .. }) => {
                self.associated(now, *status, elements, rng);
            }
            (
                State::Associated(supplicant),
                Body::Deauthentication { reason, .. } | Body::Disassociation { reason, .. },
            ) => match supplicant {
                Some(supplicant) if !self.end.is_established() => {
                    supplicant.peer_gone();
                    self.apply_outputs();
                }
                _ => self.fail(Failure::Ended(*reason)),
            },
            (State::Associating, Body::Deauthentication { reason, .. }) => {
                self.fail(Failure::Deauthenticated(*reason));
            }
            _ => {}
        }
    }

    fn associated(&mut self, now: Duration, status: u16, elements: &[u8], rng: &mut dyn CryptoRng) {
        self.retry = None;
        let groups = self
            .owe
            .as_mut()
            .filter(|_| status == status::UNSUPPORTED_FINITE_CYCLIC_GROUP);
        if groups.is_some_and(|groups| groups.refused(rng)) {
            self.request(now, 1);
            return;
        }
        if status != status::SUCCESS {
            self.fail(Failure::AssociationRefused(status));
            return;
        }
        let (association, supplicant) = match self.supplicant(elements) {
            Ok(agreed) => agreed.unzip(),
            Err(why) => return self.fail(why),
        };
        let association = association.as_ref();
        let qos = self.access_point.qos && self.network.has_qos();
        let peer = Peer::new(0, qos, association);
        self.end.forget();
        let akm = association.map(|association| association.akm);
        self.end.associate(self.end.bssid, peer, akm);
        self.state = State::Associated(supplicant.map(|mut supplicant| {
            supplicant.start(now, rng);
            Box::new(supplicant)
        }));
    }

    /// Negotiates the association after a response with these elements; `None` without RSN and WPA.
    fn supplicant(&mut self, elements: &[u8]) -> Result<Option<(Association, Supplicant)>, Failure> {
        if self.network.security.is_none() {
            return Ok(None);
        }
        if let Some(owe) = &self.owe {
            self.pmk = Some(owe.finish(elements)?);
        }
        let pmk = self.pmk.clone().ok_or(Failure::NotAuthenticated)?;
        let own = self.network.security_elements();
        let association = Association::negotiate(&self.access_point.security, &own)?;
        let (own, bssid) = (self.end.own, self.end.bssid);
        let supplicant = Supplicant::new(own, bssid, association.clone(), pmk, Timing::default())?;
        Ok(Some((association, supplicant)))
    }

    fn apply_outputs(&mut self) {
        let State::Associated(Some(supplicant)) = &mut self.state else {
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
            self.fail(reason.into());
        }
    }

    fn fail(&mut self, why: Failure) {
        self.state = State::Ended;
        self.retry = None;
        self.end.forget();
        self.end.report(self.end.bssid, Event::Failed(why));
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
            State::Associated(Some(supplicant)) => {
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
            State::Associated(Some(supplicant)) => supplicant.next_timeout(now),
            _ => None,
        };
        of_state.into_iter().chain(self.retry.map(|(at, _)| at)).min()
    }

    /// Asks the access point for a new key, the pairwise key or the group key.
    pub fn request_rekey(&mut self, pairwise: bool) {
        if let State::Associated(Some(supplicant)) = &mut self.state {
            supplicant.request_rekey(pairwise);
            self.apply_outputs();
        }
    }

    /// Ends the association.
    pub fn leave(&mut self) {
        if matches!(self.state, State::Associated(_)) {
            self.end.deauthenticate(self.end.bssid, reason::LEAVING);
            self.fail(Failure::Left);
        }
    }
}

fn initiate_sae(
    now: Duration,
    end: &End,
    security: &Security,
    rng: &mut dyn CryptoRng,
) -> Result<(Sae, sae::Reply), Failure> {
    let config = sae::Config {
        groups: security.groups.clone(),
        ..sae::Config::default()
    };
    let password = security.password.clone().ok_or(Failure::NotAuthenticated)?;
    let ends = [end.own, end.bssid];
    Ok(Sae::initiate(
        now,
        ends,
        security.method,
        Arc::new(config),
        password,
        rng,
    )?)
}
