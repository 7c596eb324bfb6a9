//! Discovery, authentication and association: unprotected frames.

use rand_core::CryptoRng;
use wlan_bss::admission::Agreed;
use wlan_bss::elements::{Heard, of_comeback};
use wlan_bss::sa_query::MAXIMUM_TU;
use wlan_frames::MacAddr;
use wlan_frames::management::{AID_BITS, Body, Management, OPEN_SYSTEM, SAE, reason, status};
use wlan_rsn::{Elements, Peer, Pmk, sae};

use super::super::frames::{self, CAPABILITY};
use super::super::joins::{Associated, Claimant, Join, displaced};
use super::super::members::session_of;
use super::{AUTHENTICATING_FOR, AccessPoint, Credentials, JOINING_FOR, Outcome, Phase, SOON, sae_failure};

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
        from: Claimant,
        frame: &Management<'_>,
        octets: &[u8],
        rng: &mut dyn CryptoRng,
    ) {
        let own = self.settings.common.address;
        let len = octets.len();
        if let Body::ProbeRequest { elements } = frame.body {
            return self.answer_probe(from, elements, len);
        }
        if frame.da != own || frame.bssid != own {
            return;
        }
        match frame.body {
            Body::Authentication {
                algorithm,
                transaction,
                ..
            } => self.authentication(from, (algorithm, transaction), octets, rng),
            Body::AssociationRequest { elements, .. } => self.association(from, elements, len, rng),
            Body::Deauthentication { .. } | Body::Disassociation { .. } => self.query_session(from.address),
            _ => {}
        }
    }

    /// Answers a Probe Request for this network, or for any network.
    fn answer_probe(&mut self, from: Claimant, elements: &[u8], len: usize) {
        let asked = Heard::of(0, elements).ssid;
        if !asked.is_empty() && asked != self.settings.common.ssid {
            return;
        }
        let to = self.destination(from);
        let body = self.beacons.probe_response(self.now);
        self.outbox.send_answer(to, len, body);
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
        from: Claimant,
        (algorithm, transaction): (u16, u16),
        octets: &[u8],
        rng: &mut dyn CryptoRng,
    ) {
        let body = &octets[Management::HEADER_LEN..];
        if let (SAE, Some(sae)) = (algorithm, &mut self.admission.sae) {
            let reply = sae.receive(self.now, from, body, rng);
            if sae.is_open(from) {
                self.enter(from);
            }
            return self.sae_replied(from, reply);
        }
        if transaction != 1 {
            return;
        }
        let (mut rest, mut code) = (Vec::new(), status::UNSUPPORTED_ALGORITHM);
        if algorithm == OPEN_SYSTEM && self.admission.sae.is_none() {
            code = status::SUCCESS;
            rest = frames::cookie(&self.cookies.issue(from.address, &from.place(), self.now));
        }
        let body = Body::Authentication {
            algorithm,
            transaction: 2,
            status: code,
            rest: &rest,
        };
        self.outbox
            .send_answer(self.destination(from), octets.len(), body);
    }

    /// Sends the frames of an SAE reply and records its result.
    pub(super) fn sae_replied(&mut self, station: Claimant, reply: sae::Reply) {
        // A Commit answers a Commit, a Confirm answers a Confirm. A token or a refusal is shorter than its request.
        self.outbox.send_sae(self.destination(station), &reply.frames);
        match reply.event {
            None => {}
            Some(sae::Event::Accepted(pmk)) => {
                self.enter(station);
                if let Some(join) = self.joins.get_mut(&station) {
                    join.pmk = Some(pmk);
                    join.heard = self.now;
                    join.until = self.now + JOINING_FOR;
                }
                let text = "knows the password (sae)";
                self.outbox
                    .log(Phase::Authentication, Outcome::Progress, station.address, text);
            }
            Some(sae::Event::Failed(failure)) => {
                self.leave_unproven(station);
                self.log_failed(station, sae_failure(failure, "the station"));
            }
        }
    }

    /// Adds a station to the joins, in place of another one if there are too many.
    fn enter(&mut self, station: Claimant) {
        if self.joins.contains_key(&station) {
            return;
        }
        if let Some(oldest) = displaced(&self.joins, station.endpoint) {
            if let Some(eap) = &mut self.eap {
                eap.displace(oldest);
            }
            self.abandon(oldest);
            self.log_failed(
                oldest,
                "dropped in favour of newer stations: too many are joining",
            );
        }
        let join = Join {
            until: self.now + JOINING_FOR,
            heard: self.now,
            pmk: None,
            session_timeout: None,
            association: None,
        };
        self.joins.insert(station, join);
    }

    /// Forgets a station whose first step has failed. A station that has completed an earlier step keeps its place.
    fn leave_unproven(&mut self, station: Claimant) {
        let is_unproven = |join: &Join| join.pmk.is_none() && join.association.is_none();
        if self.joins.get(&station).is_some_and(is_unproven) {
            self.joins.remove(&station);
        }
    }

    /// Forgets a station that is joining. The caller performs the outputs of the handshakes.
    pub(super) fn abandon(&mut self, station: Claimant) {
        let Some(join) = self.joins.remove(&station) else {
            return;
        };
        // Without an association, a session may have the same claimant.
        if let Some(association) = join.association {
            if association.has_keys {
                // The station has the group key.
                self.rekey_group_within(SOON);
            }
            self.admission.handshakes.remove(station);
            if let Some(eap) = &mut self.eap {
                eap.remove(station);
            }
            self.admission.owe.forget(station);
        }
        if let Some(sae) = &mut self.admission.sae {
            sae.abandon(station);
        }
    }

    fn association(&mut self, from: Claimant, elements: &[u8], len: usize, rng: &mut dyn CryptoRng) {
        let (status, aid, elements) = match self.associate(from, elements, rng) {
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
        self.outbox.send_answer(self.destination(from), len, body);
    }

    /// Associates a station and starts its handshake or 802.1X. Returns its AID and, for OWE, the element of the answer.
    fn associate(
        &mut self,
        from: Claimant,
        elements: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<(u16, Vec<u8>), Refusal> {
        let asked = Heard::of(0, elements);
        if asked.ssid != self.settings.common.ssid {
            return Err(Refusal::Silent);
        }
        // Nothing is stored, computed or logged before the station has shown that it is reachable.
        if !self.is_authenticated(from, frames::cookie_of(elements)) {
            return Err(status::INVALID_PMKID.into());
        }
        self.check_session(from)?;
        if !self.settings.addressing.admits(from.address) {
            return Err(self.refused(from, status::DECLINED, "it is not listed, and there is no pool"));
        }
        if self.members.len() >= self.settings.stations {
            return Err(self.refused(from, status::FULL, "the limit of stations is reached"));
        }
        let accepted = self.joins.get(&from).and_then(|join| join.pmk.clone());
        let agreed = self
            .admission
            .agree(from, &asked.security, elements, accepted, rng);
        let Agreed { pmk, of_owe, .. } = agreed.map_err(|(code, why)| self.refused(from, code, why))?;
        self.enter(from);
        let started = match &pmk {
            Some(pmk) => self.start_handshake(from, &asked.security, pmk, rng),
            None if self.start_eap(from, rng) => Ok(()),
            None => Err(self.refused(from, status::FULL, "too many stations authenticate")),
        };
        if let Err(refusal) = started {
            self.leave_unproven(from);
            return Err(refusal);
        }
        let free_aid = self.free_aid();
        let now = self.now;
        let joining_for = if pmk.is_some() {
            JOINING_FOR
        } else {
            AUTHENTICATING_FOR
        };
        let Some(join) = self.joins.get_mut(&from) else {
            return Err(Refusal::Silent);
        };
        let before = join.association.take();
        // Only the first association advances the join: a station can repeat it for ever.
        if before.is_none() {
            join.heard = now;
        }
        join.until = now + joining_for;
        join.pmk = pmk;
        let aid = before.map_or(free_aid, |before| before.aid);
        join.association = Some(Associated {
            aid,
            elements: asked.security,
            began: now,
            has_keys: false,
        });
        Ok((aid, of_owe))
    }

    /// Whether the station has completed SAE from this endpoint, or presents a cookie that was sent there.
    fn is_authenticated(&self, from: Claimant, cookie: &[u8]) -> bool {
        match &self.settings.common.credentials {
            Credentials::Sae(_) => self.joins.get(&from).is_some_and(|join| join.pmk.is_some()),
            Credentials::Psk(_) | Credentials::Owe | Credentials::Eap(_) => {
                self.cookies.check(from.address, &from.place(), cookie, self.now)
            }
        }
    }

    /// Refuses a station that has a session: an SA Query decides about it, and the station must come back later (11.13).
    /// A handshake with the same endpoint continues once message 2 has arrived.
    fn check_session(&mut self, station: Claimant) -> Result<(), Refusal> {
        if let Some(session) = session_of(&mut self.members, station.address) {
            session.liveness.start_query(self.now);
            return Err(Refusal::Status(
                status::REFUSED_TEMPORARILY,
                of_comeback(MAXIMUM_TU),
            ));
        }
        let association = self
            .joins
            .get(&station)
            .and_then(|join| join.association.as_ref());
        match association.is_some_and(|association| association.has_keys) {
            true => Err(Refusal::Silent),
            false => Ok(()),
        }
    }

    pub(super) fn start_handshake(
        &mut self,
        station: Claimant,
        elements: &Elements,
        pmk: &Pmk,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Refusal> {
        let started = self.admission.start(station, elements, pmk, self.now, rng);
        started.map_err(|(code, why)| self.refused(station, code, why))
    }

    /// Reports why an association is refused.
    fn refused(&mut self, station: Claimant, code: u16, why: impl std::fmt::Display) -> Refusal {
        self.log_failed(
            station,
            format!("association refused with status code {code}: {why}"),
        );
        code.into()
    }

    /// Logs, with a rate limit, that a station does not join.
    pub(super) fn log_failed(&mut self, station: Claimant, text: impl Into<String>) {
        let (phase, outcome) = (Phase::Authentication, Outcome::Failed);
        self.outbox
            .log_limited(self.now, phase, outcome, station.address, text);
    }

    fn free_aid(&self) -> u16 {
        let joins = self.joins.values().filter_map(|join| join.association.as_ref());
        let joins = joins.map(|association| association.aid);
        let taken: std::collections::BTreeSet<u16> = joins
            .chain(self.members.values().map(|member| member.aid))
            .collect();
        (1..=2007).find(|aid| !taken.contains(aid)).unwrap_or(2007)
    }

    /// Tells an unknown station that it has no session (11.3.3), with a rate limit. The frame is shorter than the
    /// frame that it answers.
    pub(super) fn class_3(&mut self, station: Claimant) {
        let address = station.address;
        let is_station = !address.is_group() && address != self.settings.common.address;
        let is_known = self.members.contains_key(&address) || self.joins.contains_key(&station);
        if !is_station || is_known || self.farewells.take(self.now).is_none() {
            return;
        }
        self.dismiss(station, reason::CLASS_3);
    }

    /// Tells a station that it has no session, in an unprotected frame.
    pub(super) fn dismiss(&mut self, station: Claimant, reason: u16) {
        self.outbox
            .send(self.destination(station), frames::deauthentication(reason));
    }
}
