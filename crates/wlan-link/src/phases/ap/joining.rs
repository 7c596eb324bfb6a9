//! Discovery, authentication and association: unprotected frames.

use std::net::IpAddr;

use rand_core::CryptoRng;
use wlan_frames::MacAddr;
use wlan_frames::management::{AID_BITS, Body, Management, OPEN_SYSTEM, SAE};
use wlan_rsn::authenticator::StartError;
use wlan_rsn::{Association, Elements, Pmk, sae};

use super::super::frames::{self, Advertised, CAPABILITY, status};
use super::super::members::{Member, session_of};
use super::{
    AUTHENTICATING_FOR, AccessPoint, BEACON_TU, JOINING_FOR, PROVEN, PROVEN_FOR, Proof, microseconds,
};
use super::{Credentials, Outcome, Phase, reason, sae_failure};
use crate::plane::Endpoint;

/// Refusal of an Association Request.
pub(super) enum Refusal {
    /// No answer.
    Silent,
    /// An answer with this status code and these elements.
    Status(u16, Vec<u8>),
}

impl From<u16> for Refusal {
    fn from(code: u16) -> Self {
        Refusal::Status(code, Vec::new())
    }
}

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
            return self.answer_probe(from, station, elements, len);
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
            Body::Deauthentication { .. } | Body::Disassociation { .. } => self.query_session(station),
            _ => {}
        }
    }

    /// Answers a Probe Request for this network, or for any network.
    fn answer_probe(&mut self, from: Endpoint, station: MacAddr, elements: &[u8], len: usize) {
        let asked = Advertised::read(elements).ssid;
        if !asked.is_empty() && asked != self.settings.common.ssid {
            return;
        }
        let elements = self.advertisement();
        let body = Body::ProbeResponse {
            timestamp_us: microseconds(self.now),
            interval_tu: BEACON_TU,
            capability: CAPABILITY,
            elements: &elements,
        };
        self.outbox
            .send_answer(self.destination(station, from), len, body);
    }

    /// Processes an unprotected claim that a session is over. It may be forged, so it only triggers an SA Query
    /// (11.13).
    fn query_session(&mut self, station: MacAddr) {
        if let Some(session) = session_of(&mut self.members, station) {
            session.liveness.start_query(self.now);
            let text = "ignored an unprotected Deauthentication; sending an SA Query to the station";
            self.outbox
                .log_limited(self.now, Phase::Data, Outcome::Progress, station, text);
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
            if sae.is_open(station) {
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
        self.outbox
            .send_answer(self.destination(station, from), octets.len(), body);
    }

    /// Sends the frames of an SAE reply and records its result.
    pub(super) fn sae_replied(&mut self, station: MacAddr, to: Option<Endpoint>, reply: sae::Reply) {
        if let Some(to) = to {
            // A Commit answers a Commit, a Confirm answers a Confirm. A token or a refusal is shorter than its request.
            self.outbox.send_sae(self.destination(station, to), &reply.frames);
        }
        if reply.event.is_some() {
            self.exchanges.remove(&station);
        }
        match reply.event {
            None => {}
            Some(sae::Event::Accepted(pmk)) => {
                if let Some(endpoint) = to {
                    self.remember_proof(station, pmk, endpoint);
                }
            }
            Some(sae::Event::Failed(failure)) => {
                let text = sae_failure(failure, "the station");
                self.outbox
                    .log_limited(self.now, Phase::Authentication, Outcome::Failed, station, text);
            }
        }
    }

    /// Keeps the PMK of a completed SAE exchange until the association, in place of the oldest if there are too many.
    fn remember_proof(&mut self, station: MacAddr, pmk: Pmk, endpoint: Endpoint) {
        let oldest = self.proven.iter().min_by_key(|(_, proof)| proof.until);
        let oldest = oldest.map(|(&station, _)| station);
        if self.proven.len() >= PROVEN
            && let Some(oldest) = oldest
        {
            self.proven.remove(&oldest);
        }
        let until = self.now + PROVEN_FOR;
        self.proven.insert(station, Proof { pmk, endpoint, until });
        self.outbox.log(
            Phase::Authentication,
            Outcome::Progress,
            station,
            "knows the password (sae)",
        );
    }

    fn association(
        &mut self,
        from: Endpoint,
        station: MacAddr,
        elements: &[u8],
        len: usize,
        rng: &mut dyn CryptoRng,
    ) {
        let (status, aid, elements) = match self.associate(from, station, elements, rng) {
            Ok((aid, element)) => (status::SUCCESS, aid | AID_BITS, element),
            Err(Refusal::Status(code, elements)) => (code, AID_BITS, elements),
            Err(Refusal::Silent) => return,
        };
        let body = Body::AssociationResponse {
            capability: CAPABILITY,
            status,
            aid,
            elements: &elements,
        };
        self.outbox
            .send_answer(self.destination(station, from), len, body);
    }

    /// Adds a station to the members and starts its handshake. Returns its AID and, for OWE, the element of the answer.
    fn associate(
        &mut self,
        from: Endpoint,
        station: MacAddr,
        elements: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<(u16, Vec<u8>), Refusal> {
        let asked = Advertised::read(elements);
        if asked.ssid != self.settings.common.ssid {
            return Err(Refusal::Silent);
        }
        // Nothing is stored, computed or logged before the station has shown that it is reachable.
        if !self.is_authenticated(from, station, &asked.cookie) {
            return Err(status::NOT_AUTHENTICATED.into());
        }
        self.check_session(station)?;
        if !self.settings.addressing.admits(station) {
            let text = "is not listed, and there is no pool";
            self.outbox
                .log_limited(self.now, Phase::Authentication, Outcome::Failed, station, text);
            return Err(status::DECLINED.into());
        }
        let (pmk, element) = self.pmk(from, station, elements, rng)?;
        match &pmk {
            Some(pmk) => self.start_handshake(station, &asked.elements, pmk, rng)?,
            None => {
                self.check_elements(station, &asked.elements)?;
                if !self.start_eap(station, rng) {
                    return Err(status::FULL.into());
                }
            }
        }
        if self.proof(station, from).is_some() {
            self.proven.remove(&station);
        }
        let aid = match self.members.get(&station) {
            Some(member) => member.aid,
            None => self.free_aid(),
        };
        let joining_for = if pmk.is_some() {
            JOINING_FOR
        } else {
            AUTHENTICATING_FOR
        };
        let member = Member {
            endpoint: from,
            aid,
            pmk,
            elements: asked.elements,
            began: self.now,
            session_timeout: None,
            due: self.now + joining_for,
            session: None,
        };
        self.members.insert(station, member);
        Ok((aid, element))
    }

    /// Whether the station has completed SAE from this endpoint, or presents a cookie that was sent there.
    fn is_authenticated(&self, from: Endpoint, station: MacAddr, cookie: &[u8]) -> bool {
        match &self.settings.common.credentials {
            Credentials::Sae(_) => {
                let is_here = |member: &Member| member.endpoint == from;
                self.proof(station, from).is_some() || self.members.get(&station).is_some_and(is_here)
            }
            Credentials::Psk(_) | Credentials::Owe | Credentials::Eap(_) => {
                self.cookies.check(station, &octets_of(from), cookie, self.now)
            }
        }
    }

    /// Refuses a station that has a session. Only the station itself can complete a handshake in progress. For an
    /// established session, an SA Query decides; until then, the station must come back later (11.13).
    fn check_session(&mut self, station: MacAddr) -> Result<(), Refusal> {
        match session_of(&mut self.members, station) {
            None => Ok(()),
            Some(session) if session.established => {
                session.liveness.start_query(self.now);
                Err(Refusal::Status(status::REFUSED_TEMPORARILY, frames::comeback()))
            }
            Some(_) => Err(Refusal::Silent),
        }
    }

    pub(super) fn start_handshake(
        &mut self,
        station: MacAddr,
        elements: &Elements,
        pmk: &Pmk,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Refusal> {
        let started = self.authenticator.start(station, elements, pmk, self.now, rng);
        started.map_err(|error| self.refused(station, &error))
    }

    /// Refuses a station whose elements do not match, before it authenticates.
    fn check_elements(&mut self, station: MacAddr, elements: &Elements) -> Result<(), Refusal> {
        match Association::negotiate(&self.elements, elements) {
            Ok(_) => Ok(()),
            Err(mismatch) => Err(self.refused(station, &mismatch.into())),
        }
    }

    fn refused(&mut self, station: MacAddr, error: &StartError) -> Refusal {
        let code = match error {
            StartError::Mismatch(mismatch) => mismatch.status_code(),
            StartError::Full(_) | StartError::Pmk(_) => status::FULL,
        };
        let text = format!("association refused with status code {code}: {error}");
        self.outbox
            .log_limited(self.now, Phase::Authentication, Outcome::Failed, station, text);
        code.into()
    }

    /// The PMK that the station must prove, if it exists before 802.1X, and, for OWE, the element of the answer.
    fn pmk(
        &mut self,
        from: Endpoint,
        station: MacAddr,
        elements: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Option<Pmk>, Vec<u8>), Refusal> {
        if let Some(owe) = &mut self.owe {
            let (element, pmk) = owe
                .answer(station, elements, rng)
                .map_err(|error| error.status())?;
            return Ok((Some(pmk), element));
        }
        let known = || self.members.get(&station).and_then(|member| member.pmk.clone());
        let pmk = match &self.settings.common.credentials {
            Credentials::Psk(pmk) => Some(pmk.clone()),
            Credentials::Sae(_) => self
                .proof(station, from)
                .map(|proof| proof.pmk.clone())
                .or_else(known),
            Credentials::Owe => None,
            Credentials::Eap(_) => return Ok((None, Vec::new())),
        };
        match pmk {
            Some(pmk) => Ok((Some(pmk), Vec::new())),
            None => Err(status::NOT_AUTHENTICATED.into()),
        }
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
        self.outbox
            .send(self.destination(station, to), frames::deauthentication(reason));
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
