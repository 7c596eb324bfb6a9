//! Keys, data and termination: everything after the first authentic handshake message.

use rand_core::CryptoRng;
use wlan_ciphers::Suite;
use wlan_eap::eapol::Pdu;
use wlan_frames::MacAddr;
use wlan_frames::management::Body;
use wlan_rsn::{Failure, Output};

use super::super::frames::{Protected, reason};
use super::super::members::{Member, Session, session_of};
use super::super::pace::{Asked, Liveness};
use super::super::{Action, Credentials, Direction, Installed, group_action};
use super::{AccessPoint, Outcome, Phase, SOON};
use crate::plane::ControlFrame;

impl AccessPoint {
    pub(super) fn eapol(&mut self, frame: &ControlFrame, pdu: &[u8], rng: &mut dyn CryptoRng) {
        let from = frame.transmitter;
        if !self.members.contains_key(&from) {
            return self.class_3(from, frame.endpoint);
        }
        match Pdu::parse(pdu) {
            Some(Pdu::Key) => {
                // A message that does not belong to the handshake, or whose MIC is wrong, has no effect.
                let _ = self
                    .authenticator
                    .receive(from, pdu, frame.protected, self.now, rng);
            }
            Some(Pdu::Eap(packet)) => self.eap_packet(from, packet, frame.protected, rng),
            Some(Pdu::Start) => self.eap_wanted(from, frame.protected, rng),
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
                    if let Some(member) = self.members.get(&to) {
                        self.outbox.push(Action::Eapol {
                            peer: to,
                            to: member.endpoint,
                            protected: sealed,
                            pdu: packet,
                        });
                    }
                }
                Output::InstallPairwise { peer, .. } => self.install(peer, output),
                Output::Retire { peer, .. } => {
                    let session = session_of(&mut self.members, peer);
                    let action = session.and_then(|session| session.keys.action(output));
                    self.outbox.extend(action);
                }
                Output::Established { peer } => self.established(peer),
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
    fn install(&mut self, station: MacAddr, output: Output) {
        let member = self.members.get(&station);
        if let (Some(Member { session: None, .. }), Output::InstallPairwise { suite, .. }) = (member, &output)
        {
            self.admit(station, *suite);
        }
        if let Some(session) = session_of(&mut self.members, station) {
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

    /// Creates the session of a member, whose message 2 has shown that it has the key. Without a free address, removes
    /// the member.
    fn admit(&mut self, station: MacAddr, suite: Suite) {
        let Some(member) = self.members.get_mut(&station) else {
            return;
        };
        let Some(lease) = self.settings.addressing.lease(station) else {
            self.outbox.log(
                Phase::Keys,
                Outcome::Failed,
                station,
                "no free address for the station",
            );
            self.authenticator.remove(station);
            self.members.remove(&station);
            return;
        };
        self.outbox.push(Action::Admit {
            peer: station,
            endpoint: member.endpoint,
            networks: lease.networks.clone(),
        });
        member.session = Some(Session {
            keys: Installed::default(),
            lease,
            suite,
            established: false,
            asked: None,
            liveness: Liveness::new(self.now),
            rekey_at: self.now + self.settings.common.rekey_after,
            authenticate_at: None,
            renewed: None,
        });
    }

    fn established(&mut self, station: MacAddr) {
        let (now, akm) = (self.now, self.settings.common.credentials.akm().name());
        let Some(member) = self.members.get_mut(&station) else {
            return;
        };
        let Member { began, session, .. } = member;
        let Some(session) = session else {
            return;
        };
        session.liveness.hear(now);
        let cipher = session.suite.name();
        if std::mem::replace(&mut session.established, true) {
            self.authenticate_later(station);
            self.outbox
                .log(Phase::Keys, Outcome::Progress, station, "has a new pairwise key");
            return;
        }
        let took = now.saturating_sub(*began);
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
            owe.forget(station);
        }
        self.outbox.log(Phase::Keys, Outcome::Established, station, text);
        if let Some(token) = asked {
            self.give_addresses(station, token);
        }
    }

    fn failed(&mut self, station: MacAddr, reason: Failure, still_established: bool) {
        if still_established || !self.members.contains_key(&station) {
            return;
        }
        if reason == Failure::PeerGone {
            // This end removed the station; the caller reports the reason.
            return;
        }
        let is_psk = matches!(self.settings.common.credentials, Credentials::Psk(_));
        let text = match reason {
            Failure::WrongKey if is_psk => {
                // Unprotected, because the two ends share no key.
                self.dismiss(station, self.members[&station].endpoint, reason::HANDSHAKE);
                format!("wrong passphrase: {reason}")
            }
            other => other.to_string(),
        };
        let established = self.members[&station]
            .session
            .as_ref()
            .is_some_and(|session| session.established);
        self.farewell(station, reason.reason_code());
        if established {
            self.outbox.log(Phase::Keys, Outcome::Failed, station, text);
        } else {
            self.outbox
                .log_limited(self.now, Phase::Keys, Outcome::Failed, station, text);
        }
        self.forget(station);
    }

    /// Queries silent stations, ends sessions without an answer, and starts rekeys that are due.
    pub(super) fn ask_and_rekey(&mut self, rng: &mut dyn CryptoRng) {
        let (now, common) = (self.now, &self.settings.common);
        let (mut asked, mut due) = (Vec::new(), Vec::new());
        for (&station, member) in &mut self.members {
            let Some(session) = member.session.as_mut().filter(|session| session.established) else {
                continue;
            };
            let authenticates = self.eap.as_ref().is_some_and(|eap| eap.is_open(station));
            if let Some(pmk) = &session.renewed {
                if self.authenticator.renew_pmk(station, pmk, now, rng) {
                    session.renewed = None;
                }
            } else if now >= session.rekey_at && !authenticates {
                session.rekey_at = now + common.rekey_after;
                self.authenticator.rekey_pairwise(station, now, rng);
            }
            if session.authenticate_at.is_some_and(|at| now >= at) {
                session.authenticate_at = None;
                due.push(station);
            }
            match session.liveness.poll(common.keep_alive, now) {
                Asked::Wait => {}
                other => asked.push((station, other)),
            }
        }
        for station in due {
            if !self.start_eap(station, rng)
                && let Some(session) = session_of(&mut self.members, station)
            {
                session.authenticate_at = Some(now);
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
        let had_session = self
            .members
            .get(&station)
            .is_some_and(|member| member.session.is_some());
        self.authenticator.remove(station);
        self.drain();
        self.forget(station);
        if had_session {
            self.outbox.log(Phase::Termination, Outcome::Ended, station, why);
        }
    }

    pub(super) fn forget(&mut self, station: MacAddr) {
        if let Some(eap) = &mut self.eap {
            eap.remove(station);
        }
        // A proof that is still waiting belongs to a newer exchange, whose Confirm may have to be retransmitted.
        if let Some(sae) = &mut self.sae
            && !self.proven.contains_key(&station)
        {
            sae.forget(station);
        }
        if let Some(owe) = &mut self.owe {
            owe.forget(station);
        }
        if let Some(Member {
            session: Some(session),
            ..
        }) = self.members.remove(&station)
        {
            self.settings.addressing.release(station, &session.lease);
            // The station still has the group key.
            self.rekey_group_within(SOON);
            self.outbox.push(Action::Remove { peer: station });
        }
    }
}
