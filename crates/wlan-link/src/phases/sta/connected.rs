//! Keys, data and termination: after the association.

use rand_core::CryptoRng;
use wlan_bss::sa_query::Asked;
use wlan_eap::eapol::Pdu;
use wlan_frames::MacAddr;
use wlan_frames::management::{Body, SaQuery, reason};
use wlan_rsn::{Direction, Failure, Output, PairwiseKey};

use super::super::frames::{self, Protected};
use super::super::pace::Liveness;
use super::super::{Action, Credentials};
use super::{Outcome, Phase, Prospect, Repeated, Session, State, Station, searching};
use crate::plane::{ControlFrame, Endpoint};

impl Station {
    pub(super) fn eapol(&mut self, frame: &ControlFrame, pdu: &[u8], rng: &mut dyn CryptoRng) {
        let now = self.now;
        // A sealed frame comes from the access point wherever it is now.
        let Some(found) = self.found() else { return };
        let endpoint = if frame.protected {
            found.endpoint
        } else {
            frame.endpoint
        };
        if !self.is_from_access_point(frame.transmitter, endpoint) {
            return;
        }
        if let State::Attempting { attempt, early, .. } = &mut self.state {
            *early = attempt.is_associating().then(|| pdu.to_vec());
            return;
        }
        if let Some(Pdu::Eap(packet)) = Pdu::parse(pdu) {
            return self.eap_packet(packet, frame.protected, rng);
        }
        match &mut self.state {
            State::Proving { .. } => self.early_message(pdu, rng),
            State::Joined(joined) => {
                if let (true, Some(session)) = (frame.protected, &mut joined.session) {
                    session.liveness.hear(now);
                }
                // A message that does not belong to the handshake, or whose MIC is wrong, has no effect.
                let _ = joined.supplicant.receive(pdu, frame.protected, now, rng);
            }
            _ => {}
        }
    }

    /// Processes a sealed management frame.
    pub(super) fn protected(&mut self, from: MacAddr, body: &Body<'_>) {
        let now = self.now;
        let Some((found, session)) = self.state.session() else {
            return;
        };
        if from != found.bssid {
            return;
        }
        session.liveness.hear(now);
        match *body {
            Body::Deauthentication { reason, .. } | Body::Disassociation { reason, .. } => {
                let text = format!("the access point ends the session (reason code {reason})");
                self.leave(Outcome::Ended, &text);
            }
            Body::Action { category, rest } => match Protected::parse(category, rest) {
                Some(Protected::Query(query)) => {
                    if let Some(response) = query.response() {
                        self.send_action(&Protected::Query(response));
                    }
                }
                Some(Protected::AddressResponse(token, addresses)) => {
                    if session.asking.as_ref().is_some_and(|(asked, _)| *asked == token) {
                        session.asking = None;
                        self.outbox.push(Action::Assign(addresses));
                    }
                }
                Some(Protected::AddressRequest(_)) | None => {}
            },
            _ => {}
        }
    }

    /// Records that the host has removed the addresses of the device, and why.
    pub fn note_withdrawn(&mut self, why: &str) {
        if let Some((_, session)) = self.state.session() {
            session.addresses = Vec::new();
        }
        let bssid = self.found().map(|found| found.bssid);
        let text = format!("removed the assigned addresses: {why}");
        self.outbox.log(Phase::Data, Outcome::Failed, bssid, text);
    }

    /// Processes an unprotected claim that the session is over: queries the access point, with a rate limit (11.13).
    /// During a handshake, only records the claim, as the possible reason of a failure.
    pub(super) fn query_session(&mut self, from: MacAddr, endpoint: Endpoint, why: u16) {
        let now = self.now;
        if let Some(joined) = self.state.joined()
            && joined.session.is_none()
            && (joined.found.bssid, joined.found.endpoint) == (from, endpoint)
        {
            joined.refused |= why == reason::HANDSHAKE;
        }
        if let Some((found, session)) = self.state.session()
            && found.bssid == from
            && self.query_budget.take(now).is_some()
        {
            session.liveness.start_query(now);
            let text = "ignored an unprotected Deauthentication; sending an SA Query to the access point";
            self.outbox
                .log_limited(self.now, Phase::Data, Outcome::Progress, Some(from), text);
        }
    }

    /// Detects a restart of the access point: its timestamp went back.
    pub(super) fn note_clock(&mut self, bssid: MacAddr, timestamp_us: u64) {
        let now = self.now;
        if let Some((found, session)) = self.state.session()
            && found.bssid == bssid
        {
            if timestamp_us < found.timestamp_us && self.query_budget.take(now).is_some() {
                session.liveness.start_query(now);
            }
            // A forged timestamp far ahead would hide the next restart.
            if timestamp_us < found.timestamp_us || timestamp_us - found.timestamp_us < 60_000_000 {
                found.timestamp_us = timestamp_us;
            }
        }
    }

    /// Processes the passage of time after the association.
    pub(super) fn keep_up(&mut self) {
        let now = self.now;
        let common = &self.settings.common;
        let Some(joined) = self.state.joined() else {
            return;
        };
        joined.supplicant.timeout(now);
        // Unanswered: the access point ends the session if it insists on the authentication.
        joined.eap.take_if(|eap| now >= eap.until);
        let Some(session) = &mut joined.session else {
            return;
        };
        if now >= session.rekey_at {
            session.rekey_at = now + common.rekey_after;
            joined.supplicant.request_rekey(true);
        }
        let again = session.due_address_request(now);
        let asked = session.liveness.poll(common.keep_alive, now);
        if let Some(token) = again {
            self.send_action(&Protected::AddressRequest(token));
        }
        match asked {
            Asked::Wait => {}
            Asked::Ask => {
                self.transaction = self.transaction.wrapping_add(1);
                self.send_action(&Protected::Query(SaQuery::request(self.transaction)));
            }
            Asked::Gone => {
                self.farewell(reason::INACTIVITY);
                self.leave(Outcome::Ended, "the access point no longer answers");
            }
        }
    }

    /// Performs the outputs of the handshakes.
    pub(super) fn drain(&mut self) {
        while let Some(output) = self
            .state
            .joined()
            .and_then(|joined| joined.supplicant.poll_output())
        {
            self.perform(output);
        }
    }

    fn perform(&mut self, output: Output) {
        let Some(joined) = self.state.joined() else {
            return;
        };
        match output {
            Output::Send { to, packet, sealed } => self.outbox.push(Action::Eapol {
                peer: to,
                to: joined.found.endpoint,
                protected: sealed,
                pdu: packet,
            }),
            Output::InstallPairwise { peer, key } => self.install(peer, key),
            Output::Retire { peer, key } => self.outbox.push(Action::Retire { peer, key }),
            Output::Established { .. } => self.established(),
            Output::Failed { reason, .. } => self.failed(reason),
            Output::InstallGroup { peer, key } => self.outbox.push(Action::InstallGroup { peer, key }),
            Output::RetireGroup { peer, key_id } => self.outbox.push(Action::RetireGroup { peer, key_id }),
            // A link protects no group addressed management frames, and does not support TKIP.
            Output::InstallIntegrity { .. } | Output::MichaelFailure { .. } => {}
        }
    }

    /// Installs a pairwise key. The first one admits the access point to the data plane.
    fn install(&mut self, peer: MacAddr, key: PairwiseKey) {
        let Some(joined) = self.state.joined() else {
            return;
        };
        if !std::mem::replace(&mut joined.admitted, true) {
            self.outbox.push(Action::Admit {
                peer,
                endpoint: joined.found.endpoint,
                networks: Vec::new(),
            });
        }
        let is_new = key.direction == Direction::Transmit;
        self.outbox.push(Action::Install { peer, key });
        if is_new {
            self.renewed();
        }
    }

    fn renewed(&mut self) {
        // Normally the access point renews keys; the station requests a rekey later if that does not happen.
        let after = self.settings.common.rekey_after;
        let now = self.now;
        if let Some((_, session)) = self.state.session() {
            session.rekey_at = now + after + after / 4;
        }
    }

    fn established(&mut self) {
        let (now, common) = (self.now, &self.settings.common);
        let Some(joined) = self.state.joined() else {
            return;
        };
        let bssid = joined.found.bssid;
        if joined.session.is_some() {
            let text = "new pairwise key";
            return self
                .outbox
                .log_session(now, Phase::Keys, Outcome::Progress, Some(bssid), text);
        }
        let suite = joined.found.association.pairwise;
        let mut liveness = Liveness::new(now);
        liveness.hear(now);
        self.token = self.token.wrapping_add(1);
        let wants_addresses = common.kind == crate::plane::Kind::Ip;
        let request = Repeated { next: now, tries: 0 };
        joined.session = Some(Session {
            suite,
            liveness,
            rekey_at: now + common.rekey_after + common.rekey_after / 4,
            addresses: Vec::new(),
            asking: wants_addresses.then_some((self.token, request)),
        });
        let took = now.saturating_sub(joined.began);
        let text = format!(
            "connected with {} and {}, {:.1} ms after discovery",
            common.credentials.akm().name(),
            suite.name(),
            took.as_secs_f64() * 1e3
        );
        self.connections += 1;
        self.left_alone.retain(|left| left.bssid != bssid);
        self.outbox
            .log_session(now, Phase::Keys, Outcome::Established, Some(bssid), text);
        self.keep_up();
    }

    fn failed(&mut self, reason: Failure) {
        let Some(joined) = self.state.joined() else {
            return;
        };
        if joined.session.is_some() {
            return self.leave(Outcome::Failed, &reason.to_string());
        }
        // Silence after message 2 may be packet loss. After SAE, both ends have the same PMK.
        let is_psk = matches!(self.settings.common.credentials, Credentials::Psk(_));
        let wrong = reason == Failure::WrongKey && joined.refused && is_psk;
        let text = match reason {
            Failure::WrongKey if wrong => {
                "wrong passphrase: the access point has a different one (IEEE Std 802.11-2020 12.7.6.3)"
                    .to_owned()
            }
            Failure::WrongKey => "the access point did not continue after message 2".to_owned(),
            other => other.to_string(),
        };
        self.remove();
        let prospect = if wrong {
            Prospect::Suspected
        } else {
            Prospect::Open
        };
        self.give_up(Phase::Keys, &text, prospect);
    }

    fn send_action(&mut self, content: &Protected) {
        if let Some(joined) = self.state.joined() {
            self.outbox.send_action(joined.found.destination(), content);
        }
    }

    /// Tells the access point that the session is over.
    pub(super) fn farewell(&mut self, reason: u16) {
        if let Some((found, _)) = self.state.session() {
            self.outbox
                .send_sealed(found.destination(), frames::deauthentication(reason));
        }
    }

    /// Ends the session and returns to discovery.
    pub(super) fn leave(&mut self, outcome: Outcome, why: &str) {
        let session_with = self.state.session().map(|(found, _)| found.bssid);
        self.remove();
        self.state = searching(self.now);
        if let Some(bssid) = session_with {
            self.outbox
                .log_session(self.now, Phase::Termination, outcome, Some(bssid), why);
        }
    }

    /// Removes the keys.
    fn remove(&mut self) {
        if let Some(joined) = self.state.joined().filter(|joined| joined.admitted) {
            let peer = joined.found.bssid;
            self.outbox.push(Action::Remove { peer });
        }
    }
}
