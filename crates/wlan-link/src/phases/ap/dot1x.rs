//! 802.1X: authentication by a server, before the keys and again during a session.

use rand_core::CryptoRng;
use wlan_eap::pass_through::{Failure, Output};
use wlan_frames::MacAddr;
use wlan_rsn::{Pmk, pmkid};

use super::super::frames::reason;
use super::super::members::session_of;
use super::{AccessPoint, Action, JOINING_FOR, Outcome, Phase};

impl AccessPoint {
    /// Processes a datagram of the authentication server.
    pub fn radius(&mut self, datagram: &[u8], now: std::time::Duration, rng: &mut dyn CryptoRng) {
        self.at(now);
        if let Some(eap) = &mut self.eap {
            eap.radius(datagram, self.now);
            self.drain_eap(rng);
        }
    }

    /// Asks a station to authenticate, if there is an authentication server. Returns false if too many do.
    pub(super) fn start_eap(&mut self, station: MacAddr, rng: &mut dyn CryptoRng) -> bool {
        let now = self.now;
        self.eap.as_mut().is_none_or(|eap| eap.start(station, now, rng))
    }

    /// Processes an EAP packet. During a session, only sealed ones are from the station.
    pub(super) fn eap_packet(
        &mut self,
        station: MacAddr,
        packet: &[u8],
        protected: bool,
        rng: &mut dyn CryptoRng,
    ) {
        let now = self.now;
        if self.is_from(station, protected)
            && let Some(eap) = &mut self.eap
        {
            eap.receive(station, packet, now, rng);
        }
    }

    /// Processes an EAPOL-Start of a station that has not authenticated yet.
    pub(super) fn eap_wanted(&mut self, station: MacAddr, protected: bool, rng: &mut dyn CryptoRng) {
        let is_new = self
            .members
            .get(&station)
            .is_some_and(|member| member.pmk.is_none());
        if is_new && self.is_from(station, protected) {
            let _ = self.start_eap(station, rng);
        }
    }

    fn is_from(&mut self, station: MacAddr, protected: bool) -> bool {
        protected || session_of(&mut self.members, station).is_none()
    }

    /// Performs the outputs of the conversations.
    pub(super) fn drain_eap(&mut self, rng: &mut dyn CryptoRng) {
        while let Some(output) = self.eap.as_mut().and_then(|eap| eap.poll_output()) {
            match output {
                Output::Radius(datagram) => self.outbox.push(Action::Radius(datagram)),
                Output::Send { station, pdu } => {
                    if let Some(member) = self.members.get(&station) {
                        self.outbox.push(Action::Eapol {
                            peer: station,
                            to: member.endpoint,
                            protected: member.session.as_ref().is_some_and(|session| session.established),
                            pdu,
                        });
                    }
                }
                Output::Authenticated {
                    station,
                    msk,
                    identity,
                    session_timeout,
                } => {
                    let (akm, own) = (
                        self.settings.common.credentials.akm(),
                        self.settings.common.address,
                    );
                    let id = pmkid(akm, msk.pmk(), own, station).expect("802.1X defines a PMKID");
                    let pmk = Pmk::agreed(msk.pmk(), id).expect("a PMK has 32 octets");
                    let text = format!("the authentication server accepts {identity}");
                    self.outbox
                        .log(Phase::Authentication, Outcome::Progress, station, text);
                    self.authenticated(station, pmk, session_timeout, rng);
                }
                Output::Failed { station, failure } => self.not_authenticated(station, &failure),
            }
        }
        self.drain();
    }

    fn authenticated(
        &mut self,
        station: MacAddr,
        pmk: Pmk,
        session_timeout: Option<std::time::Duration>,
        rng: &mut dyn CryptoRng,
    ) {
        let Some(member) = self.members.get_mut(&station) else {
            return;
        };
        member.pmk = Some(pmk.clone());
        member.session_timeout = session_timeout;
        if let Some(session) = &mut member.session {
            if !self.authenticator.renew_pmk(station, &pmk, self.now, rng) {
                session.renewed = Some(pmk);
            }
            return;
        }
        member.due = self.now + JOINING_FOR;
        let elements = member.elements.clone();
        if self.start_handshake(station, &elements, &pmk, rng).is_err() {
            self.forget(station);
        }
    }

    fn not_authenticated(&mut self, station: MacAddr, failure: &Failure) {
        let text = failure.to_string();
        if session_of(&mut self.members, station).is_some() {
            self.farewell(station, reason::AUTHENTICATION);
            return self.end(station, &format!("not authenticated again: {text}"));
        }
        self.outbox
            .log_limited(self.now, Phase::Authentication, Outcome::Failed, station, text);
        self.forget(station);
    }

    /// Schedules the next authentication of a station with new keys.
    pub(super) fn authenticate_later(&mut self, station: MacAddr) {
        let most = self
            .settings
            .radius
            .as_ref()
            .and_then(|radius| radius.authenticate_after);
        let Some(member) = self.members.get_mut(&station) else {
            return;
        };
        let after = member.session_timeout.into_iter().chain(most).min();
        if let (Some(session), Some(after)) = (&mut member.session, after) {
            session.authenticate_at.get_or_insert(self.now + after);
        }
    }
}
