//! Keys, data and termination: everything after the first authentic handshake message.

use rand_core::CryptoRng;
use wlan_ciphers::Suite;
use wlan_eap::eapol::Pdu;
use wlan_frames::MacAddr;
use wlan_frames::management::Body;
use wlan_rsn::{Failure, Output};

use super::super::frames::{Protected, reason};
use super::super::joins::Claimant;
use super::super::members::{Member, Session, session_of};
use super::super::pace::{Asked, Liveness};
use super::super::{Action, Credentials, Direction, Installed, group_action};
use super::{AccessPoint, Outcome, Phase, SOON, TICK, claimant};
use crate::plane::ControlFrame;

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
                    .authenticator
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
                Some(Protected::QueryRequest(transaction)) => {
                    self.send_action(from, &Protected::QueryResponse(transaction));
                }
                Some(Protected::AddressRequest(token)) => self.give_addresses(from, token),
                Some(Protected::QueryResponse(_) | Protected::AddressResponse(..)) | None => {}
            },
            _ => {}
        }
    }

    fn give_addresses(&mut self, station: MacAddr, token: u8) {
        let Some(session) = session_of(&mut self.members, station) else {
            return;
        };
        if session.established {
            let addresses = session.lease.addresses.clone();
            self.send_action(station, &Protected::AddressResponse(token, addresses));
        } else {
            session.asked = Some(token);
        }
    }

    /// Performs the outputs of the handshakes.
    pub(super) fn drain(&mut self) {
        while let Some(output) = self.authenticator.poll_output() {
            match output {
                Output::Send { to, packet, sealed } => {
                    let member = self.members.get(&to.address);
                    // A station without a place has been forgotten.
                    if self.joins.contains_key(&to) || member.is_some_and(|member| member.peer == to) {
                        self.outbox.push(Action::Eapol {
                            peer: to.address,
                            to: to.endpoint,
                            protected: sealed,
                            pdu: packet,
                        });
                    }
                }
                Output::InstallPairwise { peer, .. } => self.install(peer, output),
                Output::Retire { peer, .. } => {
                    let session = session_of(&mut self.members, peer.address);
                    let action = session.and_then(|session| session.keys.action(output));
                    self.outbox.extend(action);
                }
                Output::Established { peer } => self.established(peer.address),
                Output::Failed {
                    peer,
                    reason,
                    still_established,
                } => self.failed(peer, reason, still_established),
                Output::InstallGroup { .. }
                | Output::RetireGroup { .. }
                | Output::InstallIntegrity { .. } => {
                    self.outbox.extend(group_action(output));
                }
                // TKIP is not supported.
                Output::MichaelFailure { .. } => {}
            }
        }
    }

    /// Installs a pairwise key. The first one admits the station.
    fn install(&mut self, station: Claimant, output: Output<Claimant>) {
        if let (None, Output::InstallPairwise { suite, .. }) = (self.members.get(&station.address), &output) {
            self.admit(station, *suite);
        }
        let member = self.members.get_mut(&station.address);
        if let Some(Member { session, .. }) = member.filter(|member| member.peer == station) {
            let action = session.keys.action(output);
            if let Some(Action::Install {
                direction: Direction::Transmit,
                ..
            }) = action
            {
                session.rekey_at = self.now + self.settings.common.rekey_after;
            }
            self.outbox.extend(action);
        }
    }

    /// Makes a member of a station whose message 2 has shown that it has the key. Without a free address or place, the
    /// station is forgotten.
    fn admit(&mut self, peer: Claimant, suite: Suite) {
        let station = peer.address;
        let join = self.joins.remove(&peer);
        let Some((association, session_timeout)) =
            join.and_then(|join| Some((join.association?, join.session_timeout)))
        else {
            return;
        };
        let is_full = self.members.len() >= self.settings.stations;
        let lease = Some(&mut self.settings.addressing).filter(|_| !is_full);
        let Some(lease) = lease.and_then(|addressing| addressing.lease(station)) else {
            let text = "no free address or place for the station";
            self.outbox.log(Phase::Keys, Outcome::Failed, station, text);
            return self.authenticator.remove(peer);
        };
        self.outbox.push(Action::Admit {
            peer: station,
            endpoint: peer.endpoint,
            networks: lease.networks.clone(),
        });
        let session = Session {
            keys: Installed::default(),
            lease,
            suite,
            established: false,
            asked: None,
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
    }

    fn established(&mut self, station: MacAddr) {
        let (now, akm) = (self.now, self.settings.common.credentials.akm().name());
        let Some(member) = self.members.get_mut(&station) else {
            return;
        };
        let &mut Member {
            peer,
            began,
            ref mut session,
            ..
        } = member;
        session.liveness.hear(now);
        let cipher = session.suite.name();
        if std::mem::replace(&mut session.established, true) {
            self.authenticate_later(station);
            self.outbox
                .log(Phase::Keys, Outcome::Progress, station, "has a new pairwise key");
            return;
        }
        let took = now.saturating_sub(began);
        let addresses: Vec<String> = session.lease.addresses.iter().map(ToString::to_string).collect();
        let asked = session.asked.take();
        self.authenticate_later(station);
        let text = format!(
            "connected with {akm} and {cipher}, {:.1} ms after its association{}{}",
            took.as_secs_f64() * 1e3,
            if addresses.is_empty() { "" } else { "; addresses " },
            addresses.join(", ")
        );
        if let Some(owe) = &mut self.owe {
            owe.forget(peer);
        }
        self.outbox.log(Phase::Keys, Outcome::Established, station, text);
        if let Some(token) = asked {
            self.give_addresses(station, token);
        }
    }

    fn failed(&mut self, peer: Claimant, reason: Failure, still_established: bool) {
        let station = peer.address;
        let member = self.members.get(&station).filter(|member| member.peer == peer);
        let established = member.map(|member| member.session.established);
        // `PeerGone`: this end removed the station; the caller reports the reason.
        let is_known = established.is_some() || self.joins.contains_key(&peer);
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
        if established == Some(true) {
            self.farewell(station, reason.reason_code());
            self.outbox.log(Phase::Keys, Outcome::Failed, station, text);
        } else {
            self.outbox
                .log_limited(self.now, Phase::Keys, Outcome::Failed, station, text);
        }
        match established {
            Some(_) => self.forget(station),
            None => self.abandon(peer),
        }
    }

    /// Queries silent stations, ends sessions without an answer, and starts rekeys that are due.
    pub(super) fn ask_and_rekey(&mut self, rng: &mut dyn CryptoRng) {
        let (now, common) = (self.now, &self.settings.common);
        let (mut asked, mut due) = (Vec::new(), Vec::new());
        for (&station, Member { peer, session, .. }) in &mut self.members {
            if !session.established {
                continue;
            }
            let authenticates = self.eap.as_ref().is_some_and(|eap| eap.is_open(*peer));
            if let Some(pmk) = &session.renewed {
                if self.authenticator.renew_pmk(*peer, pmk, now, rng) {
                    session.renewed = None;
                }
            } else if now >= session.rekey_at && !authenticates {
                session.rekey_at = now + common.rekey_after;
                self.authenticator.rekey_pairwise(*peer, now, rng);
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
                self.send_action(station, &Protected::QueryRequest(self.transaction));
            }
        }
        self.drain();
    }

    /// Ends a session.
    pub(super) fn end(&mut self, station: MacAddr, why: &str) {
        let Some(member) = self.members.get(&station) else {
            return;
        };
        self.authenticator.remove(member.peer);
        self.drain();
        self.forget(station);
        self.outbox.log(Phase::Termination, Outcome::Ended, station, why);
    }

    fn forget(&mut self, station: MacAddr) {
        let Some(Member { peer, session, .. }) = self.members.remove(&station) else {
            return;
        };
        if let Some(eap) = &mut self.eap {
            eap.remove(peer);
        }
        // A join belongs to a newer exchange, whose Confirm may have to be retransmitted.
        if let Some(sae) = &mut self.sae
            && !self.joins.contains_key(&peer)
        {
            sae.forget(peer);
        }
        if let Some(owe) = &mut self.owe {
            owe.forget(peer);
        }
        self.settings.addressing.release(station, &session.lease);
        // The station still has the group key.
        self.rekey_group_within(SOON);
        self.outbox.push(Action::Remove { peer: station });
    }
}
