//! Discovery, authentication and association: unprotected frames.

use std::net::IpAddr;

use rand_core::CryptoRng;
use wlan_frames::MacAddr;
use wlan_frames::management::{AID_BITS, Body, Management, OPEN_SYSTEM, SAE};
use wlan_rsn::authenticator::StartError;
use wlan_rsn::{Pmk, sae};

use super::super::frames::{self, Advertised, CAPABILITY, status};
use super::super::members::Member;
use super::{AccessPoint, BEACON_TU, EXCHANGES, PROVEN, PROVEN_FOR, Proof, microseconds};
use super::{Credentials, Outcome, Phase, reason};
use crate::plane::Endpoint;

impl AccessPoint {
    /// Processes an unprotected management frame, which any host can send.
    pub(super) fn open(
        &mut self,
        from: Endpoint,
        frame: &Management<'_>,
        octets: &[u8],
        rng: &mut dyn CryptoRng,
    ) {
        let own = self.settings.common.address;
        let (station, len) = (frame.sa, octets.len());
        if let Body::ProbeRequest { elements } = frame.body {
            let asked = Advertised::read(elements).ssid;
            if asked.is_empty() || asked == self.settings.common.ssid {
                let elements = self.advertisement();
                let body = Body::ProbeResponse {
                    timestamp_us: microseconds(self.now),
                    interval_tu: BEACON_TU,
                    capability: CAPABILITY,
                    elements: &elements,
                };
                self.answer(from, len, station, body);
            }
            return;
        }
        if frame.da != own || frame.bssid != own {
            return;
        }
        match frame.body {
            Body::Authentication {
                algorithm,
                transaction,
                ..
            } => self.authentication(from, station, (algorithm, transaction), octets, rng),
            Body::AssociationRequest { elements, .. } => self.association(from, station, elements, len, rng),
            // These may be forged, so they only trigger an SA Query (11.13).
            Body::Deauthentication { .. } | Body::Disassociation { .. } => {
                let now = self.now;
                if let Some(session) = self
                    .members
                    .get_mut(&station)
                    .and_then(|member| member.session.as_mut())
                {
                    session.liveness.doubt(now);
                    let text = "ignored an unprotected Deauthentication; sending an SA Query to the station";
                    self.tell_seldom(Phase::Data, Outcome::Progress, station, text);
                }
            }
            _ => {}
        }
    }

    fn authentication(
        &mut self,
        from: Endpoint,
        station: MacAddr,
        (algorithm, transaction): (u16, u16),
        octets: &[u8],
        rng: &mut dyn CryptoRng,
    ) {
        let body = &octets[Management::HEADER_LEN..];
        if let (SAE, Some(sae)) = (algorithm, &mut self.sae) {
            let reply = sae.receive(self.now, station, body, rng);
            if !reply.frames.is_empty()
                && (self.exchanges.len() < EXCHANGES || self.exchanges.contains_key(&station))
            {
                self.exchanges.insert(station, from);
            }
            self.sae_replied(station, Some(from), reply);
            return;
        }
        if transaction != 1 {
            return;
        }
        let (mut rest, mut code) = (Vec::new(), status::UNSUPPORTED_ALGORITHM);
        if algorithm == OPEN_SYSTEM && self.sae.is_none() {
            code = status::SUCCESS;
            rest = frames::cookie(&self.cookies.issue(station, &octets_of(from), self.now));
        }
        let body = Body::Authentication {
            algorithm,
            transaction: 2,
            status: code,
            rest: &rest,
        };
        self.answer(from, octets.len(), station, body);
    }

    /// Sends the frames of an SAE reply and records its result.
    pub(super) fn sae_replied(&mut self, station: MacAddr, to: Option<Endpoint>, reply: sae::Reply) {
        let bssid = self.settings.common.address;
        for body in to.iter().flat_map(|_| &reply.frames) {
            // A Commit answers a Commit, a Confirm answers a Confirm. A token or a refusal is shorter than its request.
            if let (Some(to), Some(frame)) = (to, self.writer.sae(station, bssid, body)) {
                self.send(to, false, frame);
            }
        }
        if reply.event.is_some() {
            self.exchanges.remove(&station);
        }
        match reply.event {
            None => {}
            Some(sae::Event::Accepted(pmk)) => {
                let Some(endpoint) = to else {
                    return;
                };
                if self.proven.len() >= PROVEN
                    && let Some(oldest) = self
                        .proven
                        .iter()
                        .min_by_key(|(_, proof)| proof.until)
                        .map(|(&a, _)| a)
                {
                    self.proven.remove(&oldest);
                }
                let until = self.now + PROVEN_FOR;
                self.proven.insert(station, Proof { pmk, endpoint, until });
                self.tell(
                    Phase::Authentication,
                    Outcome::Progress,
                    station,
                    "knows the password (sae)",
                );
            }
            Some(sae::Event::Failed(failure)) => {
                let text = match failure {
                    sae::Failure::PasswordMismatch => {
                        "wrong passphrase: the station has a different password".into()
                    }
                    other => other.to_string(),
                };
                self.tell_seldom(Phase::Authentication, Outcome::Failed, station, text);
            }
        }
    }

    fn association(
        &mut self,
        from: Endpoint,
        station: MacAddr,
        elements: &[u8],
        len: usize,
        rng: &mut dyn CryptoRng,
    ) {
        let asked = Advertised::read(elements);
        let refuse = |machine: &mut Self, code: u16, elements: &[u8]| {
            let body = Body::AssociationResponse {
                capability: CAPABILITY,
                status: code,
                aid: AID_BITS,
                elements,
            };
            machine.answer(from, len, station, body);
        };
        if asked.ssid != self.settings.common.ssid {
            return;
        }
        // Nothing is stored, computed or logged before the station has shown that it is reachable.
        let is_authenticated = match &self.settings.common.credentials {
            Credentials::Sae(_) => {
                let is_here = |member: &Member| member.endpoint == from;
                self.proof(station, from).is_some() || self.members.get(&station).is_some_and(is_here)
            }
            Credentials::Psk(_) | Credentials::Owe => {
                self.cookies
                    .check(station, &octets_of(from), &asked.cookie, self.now)
            }
        };
        if !is_authenticated {
            return refuse(self, status::NOT_AUTHENTICATED, &[]);
        }
        let now = self.now;
        if let Some(member) = self.members.get_mut(&station)
            && let Some(session) = &mut member.session
        {
            // Only the station itself can complete a handshake in progress. For an established session, an SA Query
            // decides; until then, the station must come back later (11.13).
            if session.established {
                session.liveness.doubt(now);
                refuse(self, status::REFUSED_TEMPORARILY, &frames::comeback());
            }
            return;
        }
        if !self.settings.addressing.admits(station) {
            self.tell_seldom(
                Phase::Authentication,
                Outcome::Failed,
                station,
                "is not listed, and there is no pool",
            );
            return refuse(self, status::DECLINED, &[]);
        }
        let (pmk, dh) = match self.pmk(from, station, elements, rng) {
            Ok(found) => found,
            Err(code) => return refuse(self, code, &[]),
        };
        match self.authenticator.start(station, &asked.elements, &pmk, now, rng) {
            Ok(()) => {}
            Err(error) => {
                let code = match error {
                    StartError::Mismatch(mismatch) => mismatch.status_code(),
                    StartError::Full(_) | StartError::Pmk(_) => status::FULL,
                };
                let text = format!("association refused with status {code}: {error}");
                self.tell_seldom(Phase::Authentication, Outcome::Failed, station, text);
                return refuse(self, code, &[]);
            }
        }
        if self.proof(station, from).is_some() {
            self.proven.remove(&station);
        }
        let aid = match self.members.get(&station) {
            Some(member) => member.aid,
            None => self.free_aid(),
        };
        self.members.insert(
            station,
            Member {
                endpoint: from,
                aid,
                pmk,
                began: now,
                session: None,
            },
        );
        let body = Body::AssociationResponse {
            capability: CAPABILITY,
            status: status::SUCCESS,
            aid: aid | AID_BITS,
            elements: &dh,
        };
        self.answer(from, len, station, body);
    }

    /// The PMK that the station must prove and, for OWE, the element of the answer. Returns the status code on refusal.
    fn pmk(
        &mut self,
        from: Endpoint,
        station: MacAddr,
        elements: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Pmk, Vec<u8>), u16> {
        if let Some(owe) = &mut self.owe {
            let (element, pmk) = owe
                .answer(station, elements, rng)
                .map_err(|error| error.status())?;
            return Ok((pmk, element));
        }
        let known = || self.members.get(&station).map(|member| member.pmk.clone());
        let pmk = match &self.settings.common.credentials {
            Credentials::Psk(pmk) => Some(pmk.clone()),
            Credentials::Sae(_) => self
                .proof(station, from)
                .map(|proof| proof.pmk.clone())
                .or_else(known),
            Credentials::Owe => None,
        };
        pmk.map(|pmk| (pmk, Vec::new())).ok_or(status::NOT_AUTHENTICATED)
    }

    /// The station's SAE proof from this endpoint.
    fn proof(&self, station: MacAddr, from: Endpoint) -> Option<&Proof> {
        self.proven.get(&station).filter(|proof| proof.endpoint == from)
    }

    fn free_aid(&self) -> u16 {
        let taken: std::collections::BTreeSet<u16> = self.members.values().map(|member| member.aid).collect();
        (1..=2007).find(|aid| !taken.contains(aid)).unwrap_or(2007)
    }

    /// Tells an unknown station that it has no session (11.3.3), with a rate limit. The frame is shorter than the
    /// frame that it answers.
    pub(super) fn class_3(&mut self, station: MacAddr, to: Endpoint) {
        let is_station = !station.is_group() && station != self.settings.common.address;
        if !is_station || self.members.contains_key(&station) || self.farewells.take(self.now).is_none() {
            return;
        }
        self.dismiss(station, to, reason::CLASS_3);
    }

    /// Tells a station that it has no session, in an unprotected frame.
    pub(super) fn dismiss(&mut self, station: MacAddr, to: Endpoint, reason: u16) {
        let body = Body::Deauthentication {
            reason,
            elements: &[],
        };
        let frame = self.writer.frame(station, self.settings.common.address, body);
        self.send(to, false, frame);
    }
}

/// Encodes an endpoint for cookies: a UDP endpoint includes the port, because several stations may share an address.
fn octets_of(place: Endpoint) -> Vec<u8> {
    match place {
        Endpoint::Udp(place) => {
            let address = match place.ip() {
                IpAddr::V4(address) => address.to_ipv6_mapped(),
                IpAddr::V6(address) => address,
            };
            [&address.octets()[..], &place.port().to_be_bytes()].concat()
        }
        Endpoint::Ethernet(place) => place.0.to_vec(),
    }
}
