//! A station of a BSS: finds the network, authenticates, associates, and completes the handshakes.

use std::time::Duration;

use rand_core::CryptoRng;
use wlan_frames::beacon::Beacon;
use wlan_frames::management::{Body, reason};
use wlan_frames::{MacAddr, MacHeader, Management, Role};
use wlan_rsn::{Association, Output, Pmk, Supplicant, Timing};

use crate::attempt::{Attempt, Progress, Rules, Transmit};
use crate::elements::{self, Heard};
use crate::end::{End, Incoming, Peer};
use crate::event::{Event, Failure};
use crate::network::Network;

const RULES: Rules = Rules {
    again: Duration::from_millis(200),
    tries: 5,
    doubts_refusals: false,
    repeats: |_| Vec::new(),
};

enum State {
    Scanning,
    Joining(Box<Attempt>),
    /// Without RSN and WPA, there is no supplicant.
    Associated(Option<Box<Supplicant>>),
    Ended,
}

/// A station.
pub struct Station {
    /// Its association, keys and output.
    pub end: End,
    network: Network,
    access_point: Heard,
    state: State,
}

impl Station {
    /// A station that joins the first access point of this network whose beacon or Probe Response it receives.
    pub fn new(own: MacAddr, network: Network) -> Self {
        Self {
            end: End::new(Role::Sta, own, MacAddr::BROADCAST),
            network,
            access_point: Heard::default(),
            state: State::Scanning,
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
        let (network, qos) = (self.network.clone(), self.access_point.qos);
        let attempt = Attempt::new([self.end.own, bssid], network, qos, RULES);
        self.state = State::Joining(Box::new(attempt));
        self.attempt(now, rng, |attempt, rng, send| attempt.begin(now, rng, send));
    }

    /// Passes an input to the attempt in progress.
    fn attempt(
        &mut self,
        now: Duration,
        rng: &mut dyn CryptoRng,
        input: impl FnOnce(&mut Attempt, &mut dyn CryptoRng, Transmit<'_>) -> Progress,
    ) {
        let State::Joining(attempt) = &mut self.state else {
            return;
        };
        let (bssid, end) = (self.end.bssid, &mut self.end);
        match input(attempt, rng, &mut |body| end.manage(bssid, body)) {
            Progress::Pending => {}
            Progress::Associated(pmk) => self.associated(now, pmk, rng),
            Progress::Failed(why) => self.fail(why),
        }
    }

    fn management(&mut self, now: Duration, body: &Body<'_>, mpdu: &[u8], rng: &mut dyn CryptoRng) {
        match (&mut self.state, body) {
            (State::Joining(_), Body::Authentication { .. } | Body::AssociationResponse { .. }) => {
                let octets = &mpdu[MacHeader::LEN..];
                self.attempt(now, rng, |attempt, rng, send| {
                    attempt.receive(now, body, octets, rng, send)
                });
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
            (State::Joining(attempt), Body::Deauthentication { reason, .. }) if attempt.is_associating() => {
                self.fail(Failure::Deauthenticated(*reason));
            }
            _ => {}
        }
    }

    fn associated(&mut self, now: Duration, pmk: Option<Pmk>, rng: &mut dyn CryptoRng) {
        // This station does not support 802.1X, which would provide the PMK later.
        if pmk.is_none() && self.network.security.is_some() {
            return self.fail(Failure::NotAuthenticated);
        }
        let (association, supplicant) = match pmk.map(|pmk| self.supplicant(pmk)).transpose() {
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

    fn supplicant(&self, pmk: Pmk) -> Result<(Association, Supplicant), Failure> {
        let own = self.network.security_elements();
        let association = Association::negotiate(&self.access_point.security, &own)?;
        let (own, bssid) = (self.end.own, self.end.bssid);
        let supplicant = Supplicant::new(own, bssid, association.clone(), pmk, Timing::default())?;
        Ok((association, supplicant))
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
        self.end.forget();
        self.end.report(self.end.bssid, Event::Failed(why));
    }

    /// Handles the passage of time.
    pub fn timeout(&mut self, now: Duration, rng: &mut dyn CryptoRng) {
        self.attempt(now, rng, |attempt, rng, send| attempt.timeout(now, rng, send));
        if let State::Associated(Some(supplicant)) = &mut self.state {
            supplicant.timeout(now);
            self.apply_outputs();
        }
    }

    /// The time of the next call of [`timeout`](Self::timeout).
    pub fn next_timeout(&self, now: Duration) -> Option<Duration> {
        match &self.state {
            State::Joining(attempt) => attempt.next_timeout(),
            State::Associated(Some(supplicant)) => supplicant.next_timeout(now),
            _ => None,
        }
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
