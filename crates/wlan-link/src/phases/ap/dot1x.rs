//! 802.1X: authentication by a server, before the keys and again during a session.

use rand_core::CryptoRng;
use wlan_eap::pass_through::{Failure, Output};
use wlan_frames::MacAddr;
use wlan_frames::management::reason;
use wlan_rsn::{Pmk, pmkid};

use super::super::joins::{Claimant, Join};
use super::{AccessPoint, Action, JOINING_FOR, Outcome, Phase};

impl AccessPoint {
    /// Asks a station to authenticate, if there is an authentication server. Returns false if too many do.
    pub(super) fn start_eap(&mut self, station: Claimant, rng: &mut dyn CryptoRng) -> bool {
        let now = self.now;
        self.eap.as_mut().is_none_or(|eap| eap.start(station, now, rng))
    }

    /// Processes an EAP packet. During a session, only sealed ones are from the station.
    pub(super) fn eap_packet(
        &mut self,
        station: Claimant,
        packet: &[u8],
        protected: bool,
        rng: &mut dyn CryptoRng,
    ) {
        let now = self.now;
        if (protected || !self.is_member(station))
            && let Some(eap) = &mut self.eap
            && eap.receive(station, packet, now, rng)
            && let Some(join) = self.joins.get_mut(&station)
        {
            join.heard = now;
        }
    }

    /// Processes an EAPOL-Start of a station that has not authenticated yet.
    pub(super) fn eap_wanted(&mut self, station: Claimant, rng: &mut dyn CryptoRng) {
        let is_new = |join: &Join| join.pmk.is_none() && join.association.is_some();
        if self.joins.get(&station).is_some_and(is_new) {
            let _ = self.start_eap(station, rng);
        }
    }

    /// Performs the outputs of the conversations.
    pub(super) fn drain_eap(&mut self, rng: &mut dyn CryptoRng) {
        while let Some(output) = self.eap.as_mut().and_then(|eap| eap.poll_output()) {
            match output {
                Output::Radius(datagram) => self.outbox.push(Action::Radius(datagram)),
                Output::Send { station, pdu } => {
                    let protected = self.is_member(station);
                    self.outbox.push(Action::Eapol {
                        peer: station.address,
                        to: station.endpoint,
                        protected,
                        pdu,
                    });
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
                    let id = pmkid(akm, msk.pmk(), own, station.address).expect("802.1X defines a PMKID");
                    let pmk = Pmk::agreed(msk.pmk(), id).expect("a PMK has 32 octets");
                    let text = format!("the authentication server accepts {identity}");
                    self.outbox
                        .log(Phase::Authentication, Outcome::Progress, station.address, text);
                    self.authenticated(station, pmk, session_timeout, rng);
                }
                Output::Failed { station, failure } => self.not_authenticated(station, &failure),
            }
        }
        self.drain();
    }

    fn authenticated(
        &mut self,
        station: Claimant,
        pmk: Pmk,
        session_timeout: Option<std::time::Duration>,
        rng: &mut dyn CryptoRng,
    ) {
        let member = self.members.get_mut(&station.address);
        if let Some(member) = member.filter(|member| member.peer == station) {
            member.session_timeout = session_timeout;
            if !self.admission.handshakes.renew_pmk(station, &pmk, self.now, rng) {
                member.session.renewed = Some(pmk);
            }
            return;
        }
        let Some(join) = self.joins.get_mut(&station) else {
            return;
        };
        join.pmk = Some(pmk.clone());
        join.session_timeout = session_timeout;
        join.until = self.now + JOINING_FOR;
        let elements = join
            .association
            .as_ref()
            .map(|association| association.elements.clone());
        let started = elements.map(|elements| self.start_handshake(station, &elements, &pmk, rng));
        if !matches!(started, Some(Ok(()))) {
            self.abandon(station);
        }
    }

    fn not_authenticated(&mut self, station: Claimant, failure: &Failure) {
        let (address, text) = (station.address, failure.to_string());
        if self.is_member(station) {
            self.farewell(address, reason::AUTHENTICATION);
            return self.end(address, &format!("not authenticated again: {text}"));
        }
        // A displaced station has been reported.
        if self.joins.contains_key(&station) {
            self.log_failed(station, text);
        }
        self.abandon(station);
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
        if let Some(after) = after {
            member.session.authenticate_at.get_or_insert(self.now + after);
        }
    }
}
