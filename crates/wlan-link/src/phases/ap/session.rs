//! Keys, data and termination: everything after the association.

use rand_core::CryptoRng;
use wlan_bss::sa_query::Asked;
use wlan_ciphers::Suite;
use wlan_eap::eapol::Pdu;
use wlan_frames::MacAddr;
use wlan_frames::management::{Body, SaQuery, reason};
use wlan_rsn::{Direction, Failure, Output, PairwiseKey};

use super::super::frames::Protected;
use super::super::joins::Claimant;
use super::super::members::{Member, Session, session_of};
use super::super::pace::Liveness;
use super::super::{Action, Credentials};
use super::{AccessPoint, Outcome, Phase, SOON, TICK, claimant};
use crate::plane::ControlFrame;

const NO_PLACE: &str = "no free address or place for the station";

impl AccessPoint {
    pub(super) fn eapol(&mut self, frame: &ControlFrame, pdu: &[u8], rng: &mut dyn CryptoRng) {
        let from = claimant(frame);
        // A sealed frame comes from the station wherever it is now, an unprotected one only from its endpoint.
        let peer = match self.members.get(&from.address) {
            Some(member) if frame.protected || member.peer == from => member.peer,
            _ if self.joins.contains_key(&from) => from,
            _ => return self.class_3(from),
        };
        match Pdu::parse(pdu) {
            Some(Pdu::Key) => {
                // A message that does not belong to the handshake, or whose MIC is wrong, has no effect.
                let _ = self
                    .admission
                    .handshakes
                    .receive(peer, pdu, frame.protected, self.now, rng);
            }
            Some(Pdu::Eap(packet)) => self.eap_packet(peer, packet, frame.protected, rng),
            Some(Pdu::Start) => self.eap_wanted(peer, rng),
            Some(Pdu::Logoff) | None => {}
        }
    }

    /// Processes a sealed management frame, whose transmitter is authentic.
    pub(super) fn protected(&mut self, from: MacAddr, body: &Body<'_>) {
        match *body {
            Body::Deauthentication { reason, .. } | Body::Disassociation { reason, .. } => {
                self.end(from, &format!("the station leaves (reason code {reason})"));
            }
            Body::Action { category, rest } => match Protected::parse(category, rest) {
                Some(Protected::Query(query)) => {
                    if let Some(response) = query.response() {
                        self.send_action(from, &Protected::Query(response));
                    }
                }
                Some(Protected::AddressRequest(token)) => self.give_addresses(from, token),
                Some(Protected::AddressResponse(..)) | None => {}
            },
            _ => {}
        }
    }

    fn give_addresses(&mut self, station: MacAddr, token: u8) {
        let Some(session) = session_of(&mut self.members, station) else {
            return;
        };
        let addresses = session.lease.addresses.clone();
        self.send_action(station, &Protected::AddressResponse(token, addresses));
    }

    /// Performs the outputs of the handshakes.
    pub(super) fn drain(&mut self) {
        while let Some(output) = self.admission.handshakes.poll_output() {
            match output {
                Output::Send { to, packet, sealed } => {
                    // A station without a place has been forgotten.
                    if self.joins.contains_key(&to) || self.is_member(to) {
                        self.outbox.push(Action::Eapol {
                            peer: to.address,
                            to: to.endpoint,
                            protected: sealed,
                            pdu: packet,
                        });
                    }
                }
                Output::InstallPairwise { peer, key } => self.install(peer, key),
                Output::Retire { peer, key } => {
                    if self.is_member(peer) {
                        let peer = peer.address;
                        self.outbox.push(Action::Retire { peer, key });
                    }
                }
                // The key for transmission says the same.
                Output::Established { .. } => {}
                Output::Failed {
                    peer,
                    reason,
                    still_established,
                } => self.failed(peer, reason, still_established),
                Output::InstallGroup { peer, key } => self.outbox.push(Action::InstallGroup { peer, key }),
                Output::RetireGroup { peer, key_id } => {
                    self.outbox.push(Action::RetireGroup { peer, key_id });
                }
                // A link protects no group addressed management frames, and does not support TKIP.
                Output::InstallIntegrity { .. } | Output::MichaelFailure { .. } => {}
            }
        }
    }

    /// Installs a pairwise key: for reception after message 2, for transmission after message 4. The keys of a join wait for
    /// message 4, which only a station that receives message 3 at its endpoint can send.
    fn install(&mut self, station: Claimant, key: PairwiseKey) {
        let is_complete = key.direction == Direction::Transmit;
        let is_member = self.members.contains_key(&station.address);
        if !is_member && !is_complete {
            return self.note_keys(station);
        }
        if !is_member {
            if !self.admit(station, key.suite) {
                return;
            }
            let direction = Direction::Receive;
            self.install_in_session(
                station,
                PairwiseKey {
                    direction,
                    ..key.clone()
                },
            );
        }
        self.install_in_session(station, key);
        match (is_member, is_complete) {
            (false, _) => self.connected(station),
            (true, true) => self.renewed(station),
            (true, false) => {}
        }
    }

    fn install_in_session(&mut self, station: Claimant, key: PairwiseKey) {
        if self.is_member(station) {
            let peer = station.address;
            self.outbox.push(Action::Install { peer, key });
        }
    }

    /// Records message 2 of a join. A station without a free address or place is forgotten before message 3 gives it the
    /// group key.
    fn note_keys(&mut self, station: Claimant) {
        if !self.has_place(station.address) {
            self.log_failed(station, NO_PLACE);
            return self.abandon(station);
        }
        let Some(join) = self.joins.get_mut(&station) else {
            return;
        };
        join.heard = self.now;
        if let Some(association) = &mut join.association {
            association.has_keys = true;
        }
    }

    fn has_place(&mut self, station: MacAddr) -> bool {
        let addressing = &mut self.settings.addressing;
        let lease = addressing.lease(station);
        if let Some(lease) = &lease {
            addressing.release(station, lease);
        }
        lease.is_some() && self.members.len() < self.settings.stations
    }

    /// Makes a member of a station whose message 4 has shown that it has the key. Returns false if another station has
    /// taken the last free address or place since message 2.
    fn admit(&mut self, peer: Claimant, suite: Suite) -> bool {
        let station = peer.address;
        let is_full = self.members.len() >= self.settings.stations;
        let lease = Some(&mut self.settings.addressing).filter(|_| !is_full);
        let Some(lease) = lease.and_then(|addressing| addressing.lease(station)) else {
            self.log_failed(peer, NO_PLACE);
            self.dismiss(peer, reason::CLASS_3);
            self.abandon(peer);
            return false;
        };
        let join = self.joins.remove(&peer);
        let Some((association, session_timeout)) =
            join.and_then(|join| Some((join.association?, join.session_timeout)))
        else {
            self.settings.addressing.release(station, &lease);
            return false;
        };
        self.outbox.push(Action::Admit {
            peer: station,
            endpoint: peer.endpoint,
            networks: lease.networks.clone(),
        });
        let session = Session {
            lease,
            suite,
            liveness: Liveness::new(self.now),
            rekey_at: self.now + self.settings.common.rekey_after,
            authenticate_at: None,
            renewed: None,
        };
        let member = Member {
            peer,
            aid: association.aid,
            began: association.began,
            session_timeout,
            session,
        };
        self.members.insert(station, member);
        // Only this host has the key of the station's address.
        let rivals = self.joins.keys().filter(|join| join.address == station);
        let rivals: Vec<Claimant> = rivals.copied().collect();
        for rival in rivals {
            self.abandon(rival);
        }
        true
    }

    /// Reports a new session.
    fn connected(&mut self, peer: Claimant) {
        let (now, akm) = (self.now, self.settings.common.credentials.akm().name());
        let station = peer.address;
        let Some(Member { began, session, .. }) = self.members.get(&station) else {
            return;
        };
        let took = now.saturating_sub(*began);
        let addresses: Vec<String> = session.lease.addresses.iter().map(ToString::to_string).collect();
        let text = format!(
            "connected with {akm} and {}, {:.1} ms after its association{}{}",
            session.suite.name(),
            took.as_secs_f64() * 1e3,
            if addresses.is_empty() { "" } else { "; addresses " },
            addresses.join(", ")
        );
        self.admission.owe.forget(peer);
        self.connections += 1;
        self.authenticate_later(station);
        self.outbox
            .log_session(now, Phase::Keys, Outcome::Established, station, text);
    }

    /// Records a new key of a session.
    fn renewed(&mut self, peer: Claimant) {
        let (now, station) = (self.now, peer.address);
        let member = self.members.get_mut(&station);
        let Some(Member { session, .. }) = member.filter(|member| member.peer == peer) else {
            return;
        };
        session.rekey_at = now + self.settings.common.rekey_after;
        session.liveness.hear(now);
        self.authenticate_later(station);
        let text = "has a new pairwise key";
        self.outbox
            .log_session(now, Phase::Keys, Outcome::Progress, station, text);
    }

    fn failed(&mut self, peer: Claimant, reason: Failure, still_established: bool) {
        let station = peer.address;
        let is_member = self.is_member(peer);
        // `PeerGone`: this end removed the station; the caller reports the reason.
        let is_known = is_member || self.joins.contains_key(&peer);
        if still_established || !is_known || reason == Failure::PeerGone {
            return;
        }
        let is_psk = matches!(self.settings.common.credentials, Credentials::Psk(_));
        let text = match reason {
            Failure::WrongKey if is_psk => {
                // Unprotected, because the two ends share no key.
                self.dismiss(peer, reason::HANDSHAKE);
                format!("wrong passphrase: {reason}")
            }
            other => other.to_string(),
        };
        if is_member {
            self.farewell(station, reason.reason_code());
            self.outbox
                .log_session(self.now, Phase::Keys, Outcome::Failed, station, text);
            self.forget(station);
        } else {
            self.outbox
                .log_limited(self.now, Phase::Keys, Outcome::Failed, station, text);
            self.abandon(peer);
        }
    }

    /// Queries silent stations, ends sessions without an answer, and starts rekeys that are due.
    pub(super) fn ask_and_rekey(&mut self, rng: &mut dyn CryptoRng) {
        let (now, common) = (self.now, &self.settings.common);
        let (mut asked, mut due) = (Vec::new(), Vec::new());
        for (&station, Member { peer, session, .. }) in &mut self.members {
            let authenticates = self.eap.as_ref().is_some_and(|eap| eap.is_open(*peer));
            if let Some(pmk) = &session.renewed {
                if self.admission.handshakes.renew_pmk(*peer, pmk, now, rng) {
                    session.renewed = None;
                }
            } else if now >= session.rekey_at && !authenticates {
                session.rekey_at = now + common.rekey_after;
                self.admission.handshakes.rekey_pairwise(*peer, now, rng);
            }
            if session.authenticate_at.is_some_and(|at| now >= at) {
                session.authenticate_at = None;
                due.push(*peer);
            }
            match session.liveness.poll(common.keep_alive, now) {
                Asked::Wait => {}
                other => asked.push((station, other)),
            }
        }
        for peer in due {
            if !self.start_eap(peer, rng)
                && let Some(session) = session_of(&mut self.members, peer.address)
            {
                session.authenticate_at = Some(now + TICK);
            }
        }
        for (station, what) in asked {
            if what == Asked::Gone {
                self.farewell(station, reason::INACTIVITY);
                self.end(station, "no longer answers (reason code 4)");
            } else {
                self.transaction = self.transaction.wrapping_add(1);
                self.send_action(station, &Protected::Query(SaQuery::request(self.transaction)));
            }
        }
        self.drain();
    }

    /// Ends a session.
    pub(super) fn end(&mut self, station: MacAddr, why: &str) {
        let Some(member) = self.members.get(&station) else {
            return;
        };
        self.admission.handshakes.remove(member.peer);
        self.drain();
        self.forget(station);
        self.outbox
            .log_session(self.now, Phase::Termination, Outcome::Ended, station, why);
    }

    fn forget(&mut self, station: MacAddr) {
        let Some(Member { peer, session, .. }) = self.members.remove(&station) else {
            return;
        };
        if let Some(eap) = &mut self.eap {
            eap.remove(peer);
        }
        // A join belongs to a newer exchange, whose Confirm may have to be retransmitted.
        if let Some(sae) = &mut self.admission.sae
            && !self.joins.contains_key(&peer)
        {
            sae.forget(peer);
        }
        self.admission.owe.forget(peer);
        self.settings.addressing.release(station, &session.lease);
        // The station still has the group key.
        self.rekey_group_within(SOON);
        self.outbox.push(Action::Remove { peer: station });
    }
}
