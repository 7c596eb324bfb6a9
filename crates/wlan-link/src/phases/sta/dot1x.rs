//! 802.1X: authentication with a server, before the keys and again during a session.

use std::sync::Arc;
use std::time::Duration;

use rand_core::CryptoRng;
use wlan_eap::peer::{Failure, Settings};
use wlan_eap::{Msk, Peer, eapol};
use wlan_frames::MacAddr;
use wlan_rsn::{Pmk, pmkid};

use super::{Action, Joined, Outcome, Phase, Prospect, Repeated, State, Station};

/// Interval of EAPOL-Start while the access point sends no Request.
const START_AGAIN: Duration = Duration::from_secs(1);
/// Number of EAPOL-Starts.
const STARTS: u8 = 5;
/// Maximum wait for the next Request: longer than all tries of the access point to reach its server.
const REQUEST_WITHIN: Duration = Duration::from_secs(30);
/// Maximum duration of a conversation, which any access point could prolong by Requests; longer than the access point permits.
const CONVERSATION_WITHIN: Duration = Duration::from_secs(90);
/// How long the station waits after an EAP-Failure, which anyone can forge before there are keys.
const FAILURE_FOR: Duration = Duration::from_secs(1);

/// A conversation with the authentication server.
pub(super) struct Conversation {
    peer: Peer,
    /// EAPOL-Start, until the first Request arrives.
    start: Option<Repeated>,
    /// End of the wait for the next Request, at most `latest`.
    pub(super) until: Duration,
    latest: Duration,
    /// A message of the handshake that arrived before the EAP-Success.
    early: Option<Vec<u8>>,
}

impl Conversation {
    fn new(settings: Arc<Settings>, now: Duration) -> Self {
        Self {
            peer: Peer::new(settings),
            start: None,
            until: now + REQUEST_WITHIN,
            latest: now + CONVERSATION_WITHIN,
            early: None,
        }
    }

    /// Time of the next action.
    pub(super) fn due(&self) -> Duration {
        self.start
            .as_ref()
            .map_or(self.until, |start| start.next.min(self.until))
    }
}

impl Station {
    /// Waits for the authentication server, after the association.
    pub(super) fn start_proving(&mut self, rng: &mut dyn CryptoRng) {
        let now = self.now;
        let State::Attempting { found, early, .. } = &mut self.state else {
            return;
        };
        let Some(settings) = self.settings.eap.clone() else {
            return;
        };
        let (found, early) = (found.clone(), early.take());
        let mut eap = Box::new(Conversation::new(settings, now));
        eap.start = Some(Repeated {
            next: now + START_AGAIN,
            tries: 0,
        });
        let bssid = found.bssid;
        self.state = State::Proving { found, eap };
        if let Some(eapol::Pdu::Eap(packet)) = early.as_deref().and_then(eapol::Pdu::parse) {
            self.converse(bssid, false, packet, rng);
        }
    }

    /// Processes an EAP packet of the access point. During a session, only sealed ones count.
    pub(super) fn eap_packet(&mut self, packet: &[u8], is_protected: bool, rng: &mut dyn CryptoRng) {
        let now = self.now;
        match &mut self.state {
            State::Proving { found, .. } => {
                let bssid = found.bssid;
                self.converse(bssid, false, packet, rng);
            }
            State::Joined(Joined {
                found,
                session: Some(session),
                eap,
                ..
            }) if is_protected => {
                session.liveness.hear(now);
                if let (None, Some(settings)) = (&eap, &self.settings.eap) {
                    *eap = Some(Box::new(Conversation::new(settings.clone(), now)));
                }
                let bssid = found.bssid;
                self.converse(bssid, true, packet, rng);
            }
            _ => {}
        }
    }

    /// Passes a packet to the conversation in progress, and performs its reply.
    fn converse(&mut self, bssid: MacAddr, protected: bool, packet: &[u8], rng: &mut dyn CryptoRng) {
        let now = self.now;
        let (found, eap) = match &mut self.state {
            State::Proving { found, eap } => (&*found, eap),
            State::Joined(Joined {
                found,
                eap: Some(eap),
                ..
            }) => (&*found, eap),
            _ => return,
        };
        let had_msk = eap.peer.msk().is_some();
        let reply = eap.peer.receive(packet, rng);
        if reply.response.is_some() {
            eap.start = None;
            eap.until = (now + REQUEST_WITHIN).min(eap.latest);
        }
        if eap.peer.failed().is_some() {
            eap.until = eap.until.min(now + FAILURE_FOR);
        }
        let msk = eap.peer.msk().cloned();
        if let Some(response) = reply.response {
            self.outbox.push(Action::Eapol {
                peer: bssid,
                to: found.endpoint,
                protected,
                pdu: eapol::of_eap(&response),
            });
        }
        if let Some(notice) = reply.notice {
            let text = format!("the authentication server says: {notice}");
            self.outbox
                .log_limited(now, Phase::Authentication, Outcome::Progress, Some(bssid), text);
        }
        if let (true, false, Some(msk)) = (protected, had_msk, &msk) {
            self.renew(bssid, msk);
        }
        match (reply.end, protected) {
            (None, _) => {}
            (Some(Ok(())), false) => self.proved(rng),
            (Some(Ok(())), true) => {
                if let Some(joined) = self.state.joined() {
                    joined.eap = None;
                }
                let text = "the authentication server accepts this station again";
                self.outbox
                    .log(Phase::Authentication, Outcome::Progress, Some(bssid), text);
            }
            (Some(Err(failure)), false) => {
                let prospect = match failure {
                    // From the inside of the tunnel.
                    Failure::WrongPassword(_) | Failure::WrongServer => Prospect::Proven,
                    Failure::Tls(_) => Prospect::Suspected,
                    _ => Prospect::Open,
                };
                self.give_up(Phase::Authentication, &failure.to_string(), prospect);
            }
            (Some(Err(failure)), true) => {
                let text = format!("not authenticated again: {failure}");
                self.leave(Outcome::Failed, &text);
            }
        }
    }

    /// The PMK of an MSK, with its PMKID.
    fn pmk_of(&self, bssid: MacAddr, msk: &Msk) -> Pmk {
        let common = &self.settings.common;
        let id = pmkid(common.credentials.akm(), msk.pmk(), bssid, common.address)
            .expect("802.1X defines a PMKID");
        Pmk::agreed(msk.pmk(), id).expect("a PMK has 32 octets")
    }

    /// Uses the PMK of an authentication during the session in the next handshake.
    fn renew(&mut self, bssid: MacAddr, msk: &Msk) {
        let pmk = self.pmk_of(bssid, msk);
        if let Some(joined) = self.state.joined() {
            joined
                .supplicant
                .replace_pmk(pmk)
                .expect("every PMK of 802.1X has 32 octets");
        }
    }

    /// Starts the 4-way handshake under the PMK of a complete method.
    fn proved(&mut self, rng: &mut dyn CryptoRng) {
        let State::Proving { found, eap } = &mut self.state else {
            return;
        };
        let Some(msk) = eap.peer.msk().cloned() else {
            return;
        };
        let (found, early) = (found.clone(), eap.early.take());
        let method = self
            .settings
            .eap
            .as_ref()
            .map_or("802.1X", |settings| settings.method.name());
        let text = format!("authenticated with {method}");
        self.outbox.log_limited(
            self.now,
            Phase::Authentication,
            Outcome::Progress,
            Some(found.bssid),
            text,
        );
        let pmk = self.pmk_of(found.bssid, &msk);
        self.join(found, pmk, early, rng);
    }

    /// Processes a message of the handshake before the EAP-Success. The Success may be lost, but the access point has the
    /// PMK only after it, so that the handshake proves it (RFC 3748 section 7.12).
    pub(super) fn early_message(&mut self, pdu: &[u8], rng: &mut dyn CryptoRng) {
        if let State::Proving { eap, .. } = &mut self.state {
            eap.early = Some(pdu.to_vec());
            if eap.peer.msk().is_some() {
                self.proved(rng);
            }
        }
    }

    /// Asks for a Request, or gives up.
    pub(super) fn keep_proving(&mut self) {
        let now = self.now;
        let State::Proving { found, eap } = &mut self.state else {
            return;
        };
        if now >= eap.until {
            let (text, prospect) = match eap.peer.failed() {
                Some(failure @ Failure::WrongPassword(_)) => (failure.to_string(), Prospect::Suspected),
                Some(failure) => (failure.to_string(), Prospect::Open),
                None => {
                    let text = if now >= eap.latest {
                        "the conversation with the authentication server takes too long"
                    } else {
                        "the authentication server does not answer"
                    };
                    (text.to_owned(), Prospect::Open)
                }
            };
            return self.give_up(Phase::Authentication, &text, prospect);
        }
        if let Some(start) = eap.start.as_mut().filter(|start| now >= start.next) {
            start.next = now + START_AGAIN;
            start.tries += 1;
            let is_last = start.tries >= STARTS;
            self.outbox.push(Action::Eapol {
                peer: found.bssid,
                to: found.endpoint,
                protected: false,
                pdu: eapol::start(),
            });
            if is_last {
                eap.start = None;
            }
        }
    }
}
