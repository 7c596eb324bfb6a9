//! The station's state machine.
//!
//! ```text
//!  searching ──found──► authenticating ──► associating ──► (802.1X) ──► handshake ──► connected
//!      ▲                      │                 │               │            │              │
//!      └── back off from that access point, longer each time ◄────────────────┴ silence, a sealed Deauthentication
//! ```
//! After a failed attempt, the station backs off from the access point for 250 ms, doubling up to 8 s. If only the operator
//! can remove the reason (a wrong passphrase, or the station and the authentication server do not accept each other), it
//! backs off for 30 s, doubling up to 5 minutes, but a reason that a forged frame may have caused must end three attempts
//! in a row. It tries other access points meanwhile. Before there are keys, it accepts unprotected frames only from the endpoint of the access point that it has
//! chosen.

mod attempt;
mod connected;
mod dot1x;

use std::sync::Arc;
use std::time::Duration;

use rand_core::CryptoRng;
use serde::Serialize;
use wlan_bss::attempt::Attempt;
use wlan_ciphers::Suite;
use wlan_eap::peer;
use wlan_frames::MacAddr;
use wlan_frames::beacon::Beacon;
use wlan_frames::management::{Management, reason};
use wlan_rsn::{Association, Supplicant};

use super::lease::Prefix;
use super::outbox::{Destination, Outbox};
use super::pace::{Budget, Liveness, Steady};
use super::{Action, Machine, Outcome, Phase, Settings, Traffic};
use crate::plane::{ControlBody, ControlFrame, Endpoint, as_text};
use dot1x::Conversation;

/// Retransmission interval of Probe Requests: initial value, which doubles up to the second value.
const PROBE_AGAIN: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// Backoff after a failed attempt: initial value, which doubles up to the second value.
const LEFT_ALONE: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(8)];
/// Backoff after lasting failures, such as a wrong passphrase.
const LEFT_ALONE_WRONG: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(300)];
/// Number of failures in a row, with the same reason, after which a [suspected](Prospect::Suspected) reason counts as
/// lasting.
const LASTING: u32 = 3;
/// Maximum number of access points for which a backoff is stored.
const REMEMBERED: usize = 16;
/// Duration of discovery after which a log line reports that no access point answers.
const NOT_FOUND_AFTER: Duration = Duration::from_secs(5);

/// Settings of a station. It uses the first of its ciphers that the access point offers.
#[derive(Debug, Clone)]
pub struct StaSettings {
    /// Settings that both ends have.
    pub common: Settings,
    /// Destination of Probe Requests: broadcast, or the known endpoint of the access point.
    pub probes_to: Endpoint,
    /// The address of the only acceptable access point, if any.
    pub bssid: Option<MacAddr>,
    /// The station's identity and method; required for [`Credentials::Eap`](super::Credentials::Eap).
    pub eap: Option<Arc<peer::Settings>>,
}

/// State of a station.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StaState {
    /// Current phase.
    pub phase: Phase,
    /// Whether data frames may be exchanged.
    pub connected: bool,
    /// Current access point.
    #[serde(serialize_with = "as_text_if_any")]
    pub access_point: Option<MacAddr>,
    /// Name of the cipher suite.
    pub cipher: Option<&'static str>,
    /// The device's addresses.
    pub addresses: Vec<Prefix>,
    /// Number of connections so far.
    pub connections: u64,
}

fn as_text_if_any<S: serde::Serializer>(address: &Option<MacAddr>, to: S) -> Result<S::Ok, S::Error> {
    match address {
        Some(address) => as_text(address, to),
        None => to.serialize_none(),
    }
}

/// A discovered access point.
#[derive(Debug, Clone)]
struct Found {
    bssid: MacAddr,
    endpoint: Endpoint,
    association: Association,
    /// The access point's last timestamp, in microseconds.
    timestamp_us: u64,
}

impl Found {
    /// The destination of frames to the access point.
    fn destination(&self) -> Destination {
        Destination {
            endpoint: self.endpoint,
            address: self.bssid,
            bssid: self.bssid,
        }
    }
}

/// Retransmission state of a request.
#[derive(Debug)]
struct Repeated {
    next: Duration,
    tries: u8,
}

enum State {
    Searching {
        since: Duration,
        probe: Repeated,
        told: bool,
    },
    Attempting {
        found: Found,
        attempt: Box<Attempt>,
        /// A handshake message that arrived before the Association Response.
        early: Option<Vec<u8>>,
    },
    /// 802.1X, by the authentication server.
    Proving { found: Found, eap: Box<Conversation> },
    /// Handshake in progress, then data.
    Joined(Joined),
}

impl State {
    fn joined(&mut self) -> Option<&mut Joined> {
        match self {
            State::Joined(joined) => Some(joined),
            _ => None,
        }
    }

    /// The session, and its access point.
    fn session(&mut self) -> Option<(&mut Found, &mut Session)> {
        let joined = self.joined()?;
        Some((&mut joined.found, joined.session.as_mut()?))
    }
}

/// A station that the access point has associated.
struct Joined {
    found: Found,
    supplicant: Box<Supplicant>,
    began: Duration,
    admitted: bool,
    /// An unprotected frame claimed that the MIC of message 2 was wrong.
    refused: bool,
    session: Option<Session>,
    /// A conversation with the authentication server during the session.
    eap: Option<Box<Conversation>>,
}

struct Session {
    suite: Suite,
    liveness: Liveness,
    rekey_at: Duration,
    addresses: Vec<Prefix>,
    /// Dialog token and retransmission state of a pending address request.
    asking: Option<(u8, Repeated)>,
}

impl Session {
    /// The dialog token of the pending address request, if it is due. Its next transmission is scheduled.
    fn due_address_request(&mut self, now: Duration) -> Option<u8> {
        let (token, request) = self.asking.as_mut()?;
        if now < request.next {
            return None;
        }
        request.next = now + doubled(PROBE_AGAIN, request.tries.into());
        request.tries = request.tries.saturating_add(1);
        Some(*token)
    }
}

/// The backoff of an access point. Any host can send in its name from another endpoint.
struct LeftAlone {
    bssid: MacAddr,
    endpoint: Endpoint,
    cause: Cause,
    until: Duration,
    /// Number of earlier backoffs.
    strikes: u32,
    /// The last lasting reason, and how many attempts in a row it ended.
    lasting: Option<(String, u32)>,
}

/// The outlook of the next attempt after a failed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prospect {
    /// It may succeed.
    Open,
    /// It fails for the same reason, unless a damaged or forged frame was the reason.
    Suspected,
    /// It fails for the same reason, which arrived in authentic data.
    Proven,
}

/// Why an access point is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// Its advertisement is unsuitable, which is reported less and less often. The next one may be suitable.
    Advertisement,
    /// An attempt failed.
    Attempt,
}

/// The state machine of a station.
pub struct Station {
    settings: StaSettings,
    state: State,
    left_alone: Vec<LeftAlone>,
    clock: Steady,
    now: Duration,
    started: Duration,
    transaction: u16,
    token: u8,
    connections: u64,
    /// Rate limit of SA Queries, which forged frames trigger.
    query_budget: Budget,
    /// Rate limit of rekey requests.
    rekey_budget: Budget,
    outbox: Outbox,
}

impl std::fmt::Debug for Station {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Station")
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

impl Station {
    /// Creates a station, which starts discovery at its first [`Machine::timeout`].
    #[must_use]
    pub fn new(settings: StaSettings) -> Self {
        let outbox = Outbox::new(
            settings.common.address,
            settings.common.credentials.admit_anyone(),
        );
        Self {
            settings,
            state: searching(Duration::ZERO),
            left_alone: Vec::new(),
            clock: Steady::default(),
            now: Duration::ZERO,
            started: Duration::ZERO,
            transaction: 0,
            token: 0,
            connections: 0,
            query_budget: Budget::new(1, Duration::from_secs(1)),
            rekey_budget: Budget::new(1, Duration::from_secs(1)),
            outbox,
        }
    }

    /// The current state.
    #[must_use]
    pub fn state(&self) -> StaState {
        let (phase, found, session) = match &self.state {
            State::Searching { .. } => (Phase::Discovery, None, None),
            State::Attempting { found, .. } | State::Proving { found, .. } => {
                (Phase::Authentication, Some(found), None)
            }
            State::Joined(Joined { found, session, .. }) => {
                let phase = if session.is_some() {
                    Phase::Data
                } else {
                    Phase::Keys
                };
                (phase, Some(found), session.as_ref())
            }
        };
        StaState {
            phase,
            connected: session.is_some(),
            access_point: found.map(|found| found.bssid),
            cipher: session.map(|session| session.suite.name()),
            addresses: session
                .map(|session| session.addresses.clone())
                .unwrap_or_default(),
            connections: self.connections,
        }
    }

    fn at(&mut self, now: Duration) {
        self.now = self.clock.at(now);
    }

    /// The access point of the attempt or session.
    fn found(&self) -> Option<&Found> {
        match &self.state {
            State::Searching { .. } => None,
            State::Attempting { found, .. }
            | State::Proving { found, .. }
            | State::Joined(Joined { found, .. }) => Some(found),
        }
    }

    /// Whether the access point of the attempt or session sends from here.
    fn is_from_access_point(&self, transmitter: MacAddr, endpoint: Endpoint) -> bool {
        let found = self.found();
        found.is_some_and(|found| (found.bssid, found.endpoint) == (transmitter, endpoint))
    }
}

impl Machine for Station {
    fn poll_action(&mut self) -> Option<Action> {
        self.outbox.poll()
    }

    fn next_timeout(&self) -> Duration {
        let due = match &self.state {
            State::Searching { since, probe, told } => {
                let line = (!told).then_some(*since + NOT_FOUND_AFTER);
                line.into_iter().fold(probe.next, Duration::min)
            }
            State::Attempting { attempt, .. } => attempt.next_timeout().unwrap_or(self.now),
            State::Proving { eap, .. } => eap.due(),
            State::Joined(joined) => {
                let keep_alive = self.settings.common.keep_alive;
                let handshake = joined.supplicant.next_timeout(self.now);
                let session = joined.session.iter().flat_map(|session| {
                    let asking = session.asking.as_ref().map(|(_, repeated)| repeated.next);
                    [
                        Some(session.liveness.due(keep_alive)),
                        Some(session.rekey_at),
                        asking,
                    ]
                });
                let eap = joined.eap.as_ref().map(|eap| eap.until);
                let all = session.flatten().chain(handshake).chain(eap);
                // Without any deadline the machine would stop.
                all.min().unwrap_or(self.now)
            }
        };
        self.clock.told(due)
    }

    fn observe(&mut self, traffic: &[Traffic], now: Duration, _: &mut dyn CryptoRng) {
        self.at(now);
        let limit = self.settings.common.rekey_packets;
        if let Some(joined) = self.state.joined()
            && let Some(session) = &mut joined.session
        {
            for seen in traffic.iter().filter(|seen| seen.peer == joined.found.bssid) {
                session.liveness.count(seen.received, self.now);
                // A request without an answer is repeated.
                if seen.packet_numbers_used >= limit && self.rekey_budget.take(self.now).is_some() {
                    joined.supplicant.request_rekey(true);
                }
            }
        }
        self.drain();
    }

    fn timeout(&mut self, now: Duration, rng: &mut dyn CryptoRng) {
        self.at(now);
        match &self.state {
            State::Searching { .. } => self.search(rng),
            State::Attempting { .. } => {
                self.attempt(rng, |attempt, now, rng, send| attempt.timeout(now, rng, send));
            }
            State::Proving { .. } => self.keep_proving(),
            State::Joined(_) => self.keep_up(),
        }
        self.drain();
    }

    fn receive(&mut self, frame: &ControlFrame, now: Duration, rng: &mut dyn CryptoRng) {
        self.at(now);
        match &frame.body {
            ControlBody::Eapol(pdu) => self.eapol(frame, pdu, rng),
            ControlBody::Management(octets) if frame.protected => {
                if let Ok(management) = Management::parse(octets)
                    && management.sa == frame.transmitter
                {
                    self.protected(frame.transmitter, &management.body);
                }
            }
            ControlBody::Management(octets) => {
                if let Ok(beacon) = Beacon::parse(octets) {
                    self.heard(
                        beacon.bssid,
                        frame.endpoint,
                        beacon.timestamp_us,
                        beacon.elements,
                        rng,
                    );
                } else if let Ok(management) = Management::parse(octets) {
                    self.open(frame.endpoint, &management, octets, rng);
                }
            }
        }
        self.drain();
    }

    fn note_assigned(&mut self, outcome: Result<Vec<Prefix>, String>) {
        let Some((found, session)) = self.state.session() else {
            return;
        };
        let (outcome, text) = match outcome {
            Ok(addresses) => {
                let texts: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                session.addresses = addresses;
                let text = match &texts[..] {
                    [] => "the access point assigns no addresses".to_owned(),
                    all => format!("assigned addresses {}", all.join(", ")),
                };
                (Outcome::Progress, text)
            }
            Err(why) => {
                session.addresses = Vec::new();
                (Outcome::Failed, format!("refused the assigned addresses: {why}"))
            }
        };
        let bssid = found.bssid;
        self.outbox
            .log_session(self.now, Phase::Data, outcome, Some(bssid), text);
    }

    fn shut_down(&mut self) {
        self.farewell(reason::LEAVING);
        self.leave(Outcome::Ended, "the station shuts down");
    }
}

fn searching(now: Duration) -> State {
    State::Searching {
        since: now,
        probe: Repeated { next: now, tries: 0 },
        told: false,
    }
}

/// `first` doubled `times` times, at most `most`.
fn doubled([first, most]: [Duration; 2], times: u32) -> Duration {
    first
        .saturating_mul(1_u32.checked_shl(times).unwrap_or(u32::MAX))
        .min(most)
}
