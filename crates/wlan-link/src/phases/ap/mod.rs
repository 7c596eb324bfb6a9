//! The access point's state machine, for all its stations.
//!
//! ```text
//!  none ───authentication──► a cookie or a token at the station ──that cookie or token──► join
//!                                                                                          │ message 4
//!  none ◄───silence, a sealed Deauthentication, a failed rekey── member, with a session ◄──┘
//! ```

mod dot1x;
mod joining;
mod session;

use std::collections::BTreeMap;
use std::time::Duration;

use rand_core::CryptoRng;
use wlan_bss::Beacons;
use wlan_bss::admission::{Admission, Limits};
use wlan_eap::{PassThrough, Secret, radius};
use wlan_frames::MacAddr;
use wlan_frames::management::{Management, reason};
use wlan_rsn::cookie::Cookies;
use wlan_rsn::{Mismatch, authenticator, sae};

use super::frames::{self, Protected};
use super::joins::{Claimant, JOINS, Joins};
use super::lease::Addressing;
use super::members::{Member, MemberState, session_of};
use super::outbox::{Destination, Outbox};
use super::pace::{Budget, Steady};
use super::{Action, Credentials, Machine, Outcome, Phase, Settings, Traffic, sae_failure};
use crate::plane::{ControlBody, ControlFrame, Endpoint};

/// Beacon interval in time units. Beacons are optional: stations also probe for their access point.
pub(super) const BEACON_TU: u16 = 1000;
/// Maximum time of each step of a join: SAE, the association after it, and the handshake with all its retries.
const JOINING_FOR: Duration = Duration::from_secs(10);
/// The same for a station that the authentication server has not accepted yet; longer than its conversation.
const AUTHENTICATING_FOR: Duration = Duration::from_secs(70);
/// Delay of a group rekey after a station has left or while another is in progress, so that one rekey serves several
/// stations that leave together.
const SOON: Duration = Duration::from_millis(500);
/// Interval of the cleanup, and of attempts for which there is no capacity.
const TICK: Duration = Duration::from_secs(1);
/// Minimum time between two calls of [`Machine::timeout`], which bounds the cost of the timers of many joins. All
/// timeouts are much longer.
const REST: Duration = Duration::from_millis(10);

/// Settings of an access point.
#[derive(Debug, Clone)]
pub struct ApSettings {
    /// Settings that both ends have.
    pub common: Settings,
    /// Destination of beacons, if the transport supports broadcast.
    pub beacons_to: Option<Endpoint>,
    /// The stations that may join, and their addresses.
    pub addressing: Addressing,
    /// Maximum number of stations, 1 to 2007.
    pub stations: usize,
    /// Maximum lifetime of the group key.
    pub rekey_group_after: Duration,
    /// The authentication server; required for [`Credentials::Eap`].
    pub radius: Option<RadiusSettings>,
}

/// Settings of the RADIUS client.
#[derive(Debug, Clone)]
pub struct RadiusSettings {
    /// The secret that the access point shares with the server.
    pub secret: Secret,
    /// The access point's name for the server: NAS-Identifier.
    pub nas_identifier: String,
    /// Maximum octets of an EAP packet to a station.
    pub framed_mtu_b: u32,
    /// Maximum time until a station must authenticate again; the server may demand less.
    pub authenticate_after: Option<Duration>,
}

/// The state machine of an access point.
pub struct AccessPoint {
    settings: ApSettings,
    beacons: Beacons,
    admission: Admission<Claimant>,
    eap: Option<PassThrough<Claimant>>,
    cookies: Cookies,
    /// Stations without a session.
    joins: Joins,
    /// Stations with a session.
    members: BTreeMap<MacAddr, Member>,
    clock: Steady,
    now: Duration,
    next_beacon: Duration,
    next_tick: Duration,
    next_group_rekey: Duration,
    /// Earliest time for the next call of [`Machine::timeout`].
    rests_until: Duration,
    transaction: u16,
    connections: u64,
    /// Rate limit of Deauthentication frames to unknown stations.
    farewells: Budget,
    outbox: Outbox,
}

impl std::fmt::Debug for AccessPoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AccessPoint")
            .field("members", &self.members.len())
            .field("joins", &self.joins.len())
            .finish_non_exhaustive()
    }
}

impl AccessPoint {
    /// Creates an access point. If its transport supports broadcast, it tells stations that sessions from before a
    /// restart are gone.
    ///
    /// # Errors
    /// [`Mismatch`]: the ciphers are invalid for RSN.
    ///
    /// # Panics
    /// If `ciphers` is empty or does not fit an RSN element, or with [`Credentials::Eap`] without `radius`.
    pub fn new(settings: ApSettings, rng: &mut dyn CryptoRng) -> Result<Self, Mismatch> {
        let common = &settings.common;
        let group = *common.ciphers.first().expect("at least one cipher");
        let network = common.network(&common.ciphers, group);
        let link = frames::link(common.kind);
        let beacons = Beacons::new(common.address, &network, BEACON_TU, &link, None)?;
        let security = network.security.as_ref().expect("a link is protected");
        // This machine bounds joins and sessions apart. Every SAE Commit requires a token, so that a station without one
        // has no state. This machine bounds the joins after an exchange has begun.
        let limits = Limits {
            handshakes: authenticator::Limits {
                stations: settings.stations + JOINS,
                half_open: JOINS,
            },
            sae: sae::Limits {
                threshold: 0,
                open: JOINS + 1,
                ..sae::Limits::default()
            },
        };
        let admission = Admission::new(common.address, security, limits, rng)?;
        let mut secret = [0; 32];
        rng.fill_bytes(&mut secret);
        let cookies = Cookies::new(&secret);
        let eap = matches!(common.credentials, Credentials::Eap(_)).then(|| pass_through(&settings));
        let mut access_point = Self {
            beacons,
            admission,
            eap,
            cookies,
            joins: Joins::new(),
            members: BTreeMap::new(),
            clock: Steady::default(),
            now: Duration::ZERO,
            next_beacon: Duration::ZERO,
            next_tick: Duration::ZERO,
            next_group_rekey: settings.rekey_group_after,
            rests_until: Duration::ZERO,
            transaction: 0,
            connections: 0,
            farewells: Budget::new(100, Duration::from_millis(10)),
            outbox: Outbox::new(common.address, common.credentials.admit_anyone()),
            settings,
        };
        access_point.end_earlier_sessions();
        Ok(access_point)
    }

    /// Tells all stations that sessions from before a restart are gone, if the transport supports broadcast.
    fn end_earlier_sessions(&mut self) {
        if let Some(endpoint) = self.settings.beacons_to {
            let everyone = self.destination(Claimant {
                address: MacAddr::BROADCAST,
                endpoint,
            });
            self.outbox
                .send(everyone, frames::deauthentication(reason::NOT_VALID));
        }
    }

    fn rekey_group(&mut self, rng: &mut dyn CryptoRng) {
        let now = self.now;
        if self.admission.handshakes.rekey_group(now, rng) {
            self.next_group_rekey = now + self.settings.rekey_group_after;
            let text = "renewing the group key";
            self.outbox
                .log_limited(now, Phase::Keys, Outcome::Progress, None, text);
        } else {
            self.next_group_rekey = now + SOON;
        }
        self.drain();
    }

    fn rekey_group_within(&mut self, delay: Duration) {
        self.next_group_rekey = self.next_group_rekey.min(self.now + delay);
    }

    /// Gives up the joins whose time is over.
    fn clean_up(&mut self) {
        let joins = self.joins.iter();
        let over: Vec<Claimant> = joins
            .filter(|(_, join)| self.now >= join.until)
            .map(|(&claimant, _)| claimant)
            .collect();
        for claimant in over {
            self.abandon(claimant);
        }
        self.drain();
    }

    /// The stations with a session.
    #[must_use]
    pub fn members(&self) -> Vec<MemberState> {
        let state = |(&address, member): (&MacAddr, &Member)| MemberState {
            address,
            since: member.began,
            akm: self.settings.common.credentials.akm(),
            cipher: member.session.suite,
            addresses: member.session.lease.addresses.clone(),
        };
        self.members.iter().map(state).collect()
    }

    /// Number of sessions established so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// Number of stored entries: stations with a session, joins, SAE exchanges, unanswered handshakes, conversations with
    /// the authentication server.
    #[must_use]
    pub fn kept(&self) -> [usize; 5] {
        let sae = self.admission.sae.as_ref();
        let sae = sae.map_or(0, |sae| sae.open() + sae.accepted() + sae.given_up());
        [
            self.members.len(),
            self.joins.len(),
            sae,
            self.admission.handshakes.half_open(),
            self.eap.as_ref().map_or(0, PassThrough::len),
        ]
    }

    fn at(&mut self, now: Duration) {
        self.now = self.clock.at(now);
    }

    /// Whether the station has a session, whose handshake was with this endpoint.
    fn is_member(&self, station: Claimant) -> bool {
        let member = self.members.get(&station.address);
        member.is_some_and(|member| member.peer == station)
    }

    /// The destination of a frame to a station.
    fn destination(&self, to: Claimant) -> Destination {
        Destination {
            endpoint: to.endpoint,
            address: to.address,
            bssid: self.settings.common.address,
        }
    }

    fn send_action(&mut self, station: MacAddr, content: &Protected) {
        if let Some(member) = self.members.get(&station) {
            let to = self.destination(member.peer);
            self.outbox.send_action(to, content);
        }
    }

    /// Tells a station that has keys that its session is over.
    fn farewell(&mut self, station: MacAddr, reason: u16) {
        if let Some(member) = self.members.get(&station) {
            let to = self.destination(member.peer);
            self.outbox.send_sealed(to, frames::deauthentication(reason));
        }
    }
}

impl Machine for AccessPoint {
    fn poll_action(&mut self) -> Option<Action> {
        self.outbox.poll()
    }

    fn next_timeout(&self) -> Duration {
        let mut due = self.next_tick.min(self.next_group_rekey);
        if self.settings.beacons_to.is_some() {
            due = due.min(self.next_beacon);
        }
        let machines = [
            self.admission.next_timeout(self.now),
            self.eap.as_ref().and_then(PassThrough::next_timeout),
        ];
        let keep_alive = self.settings.common.keep_alive;
        let sessions = self.members.values().map(|member| &member.session);
        let sessions = sessions.map(|session| {
            let due = session.liveness.due(keep_alive).min(session.rekey_at);
            session.authenticate_at.into_iter().fold(due, Duration::min)
        });
        due = machines
            .into_iter()
            .flatten()
            .chain(sessions)
            .fold(due, Duration::min);
        self.clock.told(due.max(self.rests_until))
    }

    fn observe(&mut self, traffic: &[Traffic], now: Duration, rng: &mut dyn CryptoRng) {
        self.at(now);
        for seen in traffic {
            let Some(Member { peer, session, .. }) = self.members.get_mut(&seen.peer) else {
                continue;
            };
            session.liveness.count(seen.received, self.now);
            if seen.packet_numbers_used >= self.settings.common.rekey_packets {
                self.admission.handshakes.rekey_pairwise(*peer, self.now, rng);
            }
        }
        self.drain();
    }

    fn timeout(&mut self, now: Duration, rng: &mut dyn CryptoRng) {
        self.at(now);
        let now = self.now;
        self.rests_until = now + REST;
        self.admission.handshakes.timeout(now);
        self.drain();
        while let Some((peer, reply)) = self.admission.sae.as_mut().and_then(|sae| sae.expire(now)) {
            self.sae_replied(peer, reply);
        }
        if let Some(eap) = &mut self.eap {
            eap.timeout(now);
        }
        self.ask_and_rekey(rng);
        self.drain_eap(rng);
        if now >= self.next_group_rekey {
            self.rekey_group(rng);
        }
        if let Some(to) = self.settings.beacons_to
            && now >= self.next_beacon
        {
            self.next_beacon = now + self.beacons.interval();
            self.outbox.send_beacon(to, &mut self.beacons, now);
        }
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            self.clean_up();
        }
    }

    fn receive(&mut self, frame: &ControlFrame, now: Duration, rng: &mut dyn CryptoRng) {
        self.at(now);
        let from = frame.transmitter;
        if from.is_group() || from == self.settings.common.address {
            return;
        }
        if frame.protected
            && let Some(session) = session_of(&mut self.members, from)
        {
            session.liveness.hear(self.now);
        }
        match &frame.body {
            ControlBody::Eapol(pdu) => self.eapol(frame, pdu, rng),
            ControlBody::Management(octets) => {
                let Ok(management) = Management::parse(octets) else {
                    return;
                };
                if management.sa != from {
                    return;
                }
                if frame.protected {
                    self.protected(from, &management.body);
                } else {
                    self.open(claimant(frame), &management, octets, rng);
                }
            }
        }
        self.drain_eap(rng);
    }

    fn note_group_packets(&mut self, used: u64) {
        self.admission.handshakes.note_group_numbers(used, 0);
        if used >= self.settings.common.rekey_packets && !self.admission.handshakes.is_rekeying_group() {
            self.rekey_group_within(SOON);
        }
    }

    fn stranger(&mut self, station: MacAddr, from: Endpoint, now: Duration) {
        self.at(now);
        self.class_3(Claimant {
            address: station,
            endpoint: from,
        });
    }

    fn radius(&mut self, datagram: &[u8], now: Duration, rng: &mut dyn CryptoRng) {
        self.at(now);
        if let Some(eap) = &mut self.eap {
            eap.radius(datagram, self.now);
            self.drain_eap(rng);
        }
    }

    fn shut_down(&mut self) {
        let joins: Vec<Claimant> = self.joins.keys().copied().collect();
        for claimant in joins {
            self.abandon(claimant);
        }
        self.drain();
        let stations: Vec<MacAddr> = self.members.keys().copied().collect();
        for station in stations {
            self.farewell(station, reason::LEAVING);
            self.end(station, "the access point shuts down");
        }
    }
}

/// The pass-through authenticator of an access point with an authentication server.
fn pass_through(settings: &ApSettings) -> PassThrough<Claimant> {
    let common = &settings.common;
    let radius = settings
        .radius
        .as_ref()
        .expect("802.1X requires an authentication server");
    PassThrough::new(radius::Client::new(
        radius.secret.clone(),
        radius::Timing::default(),
        common.address,
        &common.ssid,
        &radius.nas_identifier,
        radius.framed_mtu_b,
    ))
}

fn claimant(frame: &ControlFrame) -> Claimant {
    Claimant {
        address: frame.transmitter,
        endpoint: frame.endpoint,
    }
}
