//! The station's side.
//!
//! ```text
//!  searching ──found──► authenticating ──► associating ──► handshake ──► connected
//!      ▲                      │                 │              │              │
//!      └── that access point is left alone for a while, longer each time ◄────┴ silence, a sealed Deauthentication
//! ```
//! An access point that did not work out is left alone for a quarter of a second, then twice as long each time, up to 8 s;
//! where the passphrase was wrong, for 30 s up to 5 minutes. Others are tried meanwhile.

mod attempt;
mod connected;

use std::collections::VecDeque;
use std::time::Duration;

use rand_core::CryptoRng;
use serde::Serialize;
use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_frames::beacon::Beacon;
use wlan_frames::management::Management;
use wlan_rsn::sae::Sae;
use wlan_rsn::{Association, Elements, Pmk, Supplicant, owe};

use super::frames::{Writer, reason};
use super::lease::Prefix;
use super::members::as_text;
use super::pace::{Budget, Liveness, Steady};
use super::{Action, Event, Installed, Outcome, Phase, Settings, Traffic};
use crate::plane::{ControlBody, ControlFrame, Endpoint};

/// Before a Probe Request is sent again: twice as long each time, up to the second.
const PROBE_AGAIN: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// How long an access point that did not work out is left alone: twice as long each time, up to the second.
const LEFT_ALONE: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(8)];
/// The same where it has another passphrase.
const LEFT_ALONE_WRONG: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(300)];
/// So many of them are remembered.
const REMEMBERED: usize = 16;
/// After so long without an access point, that is worth a line.
const NOT_FOUND_AFTER: Duration = Duration::from_secs(5);

/// What a station is told besides [`Settings`]. Of its ciphers the first is taken that the access point offers.
#[derive(Debug, Clone)]
pub struct StaSettings {
    /// What both ends are told.
    pub common: Settings,
    /// Where Probe Requests go: to all, or to where the access point is known to be.
    pub probes_to: Endpoint,
    /// The access point's address, if no other will do.
    pub bssid: Option<MacAddr>,
}

/// Where a station stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StaState {
    /// In which phase.
    pub phase: Phase,
    /// Whether data may flow.
    pub connected: bool,
    /// With which access point.
    #[serde(serialize_with = "as_text_if_any")]
    pub access_point: Option<MacAddr>,
    /// Cipher, by name.
    pub cipher: Option<&'static str>,
    /// The device's addresses.
    pub addresses: Vec<Prefix>,
    /// How often a connection was made.
    pub connections: u64,
}

fn as_text_if_any<S: serde::Serializer>(address: &Option<MacAddr>, to: S) -> Result<S::Ok, S::Error> {
    match address {
        Some(address) => as_text(address, to),
        None => to.serialize_none(),
    }
}

/// An access point as it was found.
#[derive(Debug, Clone)]
struct Found {
    bssid: MacAddr,
    endpoint: Endpoint,
    /// The elements that this station chose.
    own: Elements,
    association: Association,
    /// Its clock, in microseconds.
    timestamp_us: u64,
}

/// A frame that is sent until its answer comes.
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
    /// Open system, where there is no exchange of SAE.
    Authenticating {
        found: Found,
        sae: Option<Box<Sae>>,
        request: Repeated,
        refused: Option<u16>,
    },
    Associating {
        found: Found,
        pmk: Option<Pmk>,
        owe: Option<Box<owe::Station>>,
        cookie: Vec<u8>,
        request: Repeated,
        refused: Option<u16>,
        /// A handshake that overtook the Association Response.
        early: Option<Vec<u8>>,
    },
    /// The handshakes, and data once they are done.
    Joined {
        found: Found,
        supplicant: Box<Supplicant>,
        began: Duration,
        keys: Installed,
        admitted: bool,
        /// Somebody says in the open that message 2 does not fit.
        refused: bool,
        session: Option<Session>,
    },
}

struct Session {
    suite: Suite,
    liveness: Liveness,
    rekey_at: Duration,
    addresses: Vec<Prefix>,
    /// Asks for them, until they come.
    asking: Option<(u8, Repeated)>,
}

/// An access point that is left alone.
struct LeftAlone {
    bssid: MacAddr,
    until: Duration,
    strikes: u32,
}

/// One station.
pub struct Station {
    settings: StaSettings,
    state: State,
    left_alone: Vec<LeftAlone>,
    writer: Writer,
    clock: Steady,
    now: Duration,
    started: Duration,
    transaction: u16,
    token: u8,
    connections: u64,
    /// Lines that anybody can bring about.
    lines: Budget,
    /// Questions whether the access point is there, and wishes for a new key.
    doubts: Budget,
    actions: VecDeque<Action>,
}

impl std::fmt::Debug for Station {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Station")
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

impl Station {
    /// A station that begins to search at its first [`timeout`](Self::timeout).
    #[must_use]
    pub fn new(settings: StaSettings) -> Self {
        let writer = Writer::new(settings.common.address);
        Self {
            settings,
            state: searching(Duration::ZERO),
            left_alone: Vec::new(),
            writer,
            clock: Steady::default(),
            now: Duration::ZERO,
            started: Duration::ZERO,
            transaction: 0,
            token: 0,
            connections: 0,
            lines: Budget::new(20, Duration::from_secs(5)),
            doubts: Budget::new(1, Duration::from_secs(1)),
            actions: VecDeque::new(),
        }
    }

    /// What to do next. Ask until there is nothing, after each call of another function.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When to call [`timeout`](Self::timeout) at the latest.
    #[must_use]
    pub fn next_timeout(&self) -> Duration {
        let due = match &self.state {
            State::Searching { since, probe, told } => {
                let line = (!told).then_some(*since + NOT_FOUND_AFTER);
                line.into_iter().fold(probe.next, Duration::min)
            }
            State::Authenticating { sae: Some(sae), .. } => sae.deadline().unwrap_or(self.now),
            State::Authenticating { request, .. } | State::Associating { request, .. } => request.next,
            State::Joined {
                supplicant, session, ..
            } => {
                let keep_alive = self.settings.common.keep_alive;
                let handshake = supplicant.next_timeout(self.now);
                let session = session.iter().flat_map(|session| {
                    let asking = session.asking.as_ref().map(|(_, repeated)| repeated.next);
                    [
                        Some(session.liveness.due(keep_alive)),
                        Some(session.rekey_at),
                        asking,
                    ]
                });
                let all = session.flatten().chain(handshake);
                // Without either the machine would stand still.
                all.min().unwrap_or(self.now)
            }
        };
        self.clock.told(due)
    }

    /// What the data plane counted: to be said before each [`timeout`](Self::timeout), so that an access point that was
    /// heard is not taken for gone.
    pub fn observe(&mut self, traffic: &[Traffic], now: Duration) {
        self.at(now);
        let limit = self.settings.common.rekey_packets;
        if let State::Joined {
            found,
            supplicant,
            session: Some(session),
            ..
        } = &mut self.state
        {
            for seen in traffic.iter().filter(|seen| seen.peer == found.bssid) {
                session.liveness.count(seen.received, self.now);
                // A wish that went unheard is made again.
                if seen.packet_numbers_used >= limit && self.doubts.take(self.now).is_some() {
                    supplicant.request_rekey(true);
                }
            }
        }
        self.drain();
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Duration, rng: &mut dyn CryptoRng) {
        self.at(now);
        match &self.state {
            State::Searching { .. } => self.search(rng),
            State::Authenticating { .. } | State::Associating { .. } => self.press_on(rng),
            State::Joined { .. } => self.keep_up(),
        }
        self.drain();
    }

    /// A frame that is not data.
    pub fn receive(&mut self, frame: &ControlFrame, now: Duration, rng: &mut dyn CryptoRng) {
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

    /// Ends the session, and tells the access point so.
    pub fn shut_down(&mut self) {
        self.farewell(reason::LEAVING);
        self.leave(Outcome::Ended, "the station ends");
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> StaState {
        let (phase, found, session) = match &self.state {
            State::Searching { .. } => (Phase::Discovery, None, None),
            State::Authenticating { found, .. } | State::Associating { found, .. } => {
                (Phase::Authentication, Some(found), None)
            }
            State::Joined {
                found, session: None, ..
            } => (Phase::Keys, Some(found), None),
            State::Joined { found, session, .. } => (Phase::Data, Some(found), session.as_ref()),
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

    fn send(&mut self, to: Endpoint, protected: bool, frame: Vec<u8>) {
        self.actions
            .push_back(Action::Management { to, protected, frame });
    }

    fn tell(&mut self, phase: Phase, outcome: Outcome, peer: Option<MacAddr>, text: impl Into<String>) {
        self.actions.push_back(Action::Tell(Event {
            phase,
            outcome,
            peer,
            text: text.into(),
        }));
    }

    /// The same for what anybody can bring about, however often.
    fn tell_seldom(
        &mut self,
        phase: Phase,
        outcome: Outcome,
        peer: Option<MacAddr>,
        text: impl Into<String>,
    ) {
        if let Some(left_out) = self.lines.take(self.now) {
            let mut text = text.into();
            if left_out > 0 {
                text.push_str(&format!(" ({left_out} lines like this were left out)"));
            }
            self.tell(phase, outcome, peer, text);
        }
    }
}

fn searching(now: Duration) -> State {
    State::Searching {
        since: now,
        probe: Repeated { next: now, tries: 0 },
        told: false,
    }
}

/// The first, and twice as much each time, up to the second.
fn doubled([first, most]: [Duration; 2], times: u32) -> Duration {
    first
        .saturating_mul(1_u32.checked_shl(times).unwrap_or(u32::MAX))
        .min(most)
}
