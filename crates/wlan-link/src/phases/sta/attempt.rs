//! Discovery, authentication and association.

use std::time::Duration;

use rand_core::CryptoRng;
use wlan_bss::elements::Heard;
use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_frames::management::{Body, Management, OPEN_SYSTEM, SAE, status};
use wlan_rsn::sae::{Event as SaeEvent, Method, Reply, Sae, StartError};
use wlan_rsn::{Association, Elements, Pmk, Supplicant, Timing, owe};

use super::super::frames::{self, CAPABILITY};
use super::super::outbox::Destination;
use super::super::{Credentials, GROUPS, sae_config, sae_failure};
use super::{
    Cause, Found, Joined, LASTING, LEFT_ALONE, LEFT_ALONE_WRONG, LeftAlone, NOT_FOUND_AFTER, Outcome,
    PROBE_AGAIN, Phase, Prospect, REMEMBERED, Repeated, State, Station, doubled, searching,
};
use crate::plane::{Endpoint, Kind};

/// Retransmission interval of Authentication and Association Requests.
const AGAIN: Duration = Duration::from_millis(100);
/// Number of transmissions.
const TRIES: u8 = 5;
/// Maximum association comeback time that a station honours, in time units.
const COMEBACKS_TU_MAX: u32 = 2000;
const TU: Duration = Duration::from_micros(1024);

impl Station {
    /// Sends a Probe Request when due.
    pub(super) fn search(&mut self, rng: &mut dyn CryptoRng) {
        let now = self.now;
        let ssid = self.settings.common.ssid.clone();
        let State::Searching { since, probe, told } = &mut self.state else {
            return;
        };
        let is_late = !*told && now >= *since + NOT_FOUND_AFTER;
        *told |= is_late;
        if now >= probe.next {
            let wait = jittered(doubled(PROBE_AGAIN, probe.tries.into()), rng);
            probe.tries = probe.tries.saturating_add(1);
            probe.next = now + wait;
            // Probe as soon as an access point may be tried again.
            let free = self
                .left_alone
                .iter()
                .filter(|left| left.cause == Cause::Attempt && left.until > now)
                .map(|left| left.until)
                .min();
            probe.next = free.map_or(probe.next, |until| probe.next.min(until));
            let address = self.settings.bssid.unwrap_or(MacAddr::BROADCAST);
            let to = Destination {
                endpoint: self.settings.probes_to,
                address,
                bssid: address,
            };
            let elements = frames::request(&ssid, &Elements::default(), &[], &[]);
            self.outbox
                .send_request(to, Body::ProbeRequest { elements: &elements });
        }
        if is_late {
            let name = String::from_utf8_lossy(&ssid).into_owned();
            let text = format!("no access point with SSID \"{name}\" answers; still searching");
            self.outbox
                .log(Phase::Discovery, Outcome::Failed, None::<MacAddr>, text);
        }
    }

    /// Processes a beacon or Probe Response.
    pub(super) fn heard(
        &mut self,
        bssid: MacAddr,
        endpoint: Endpoint,
        timestamp_us: u64,
        elements: &[u8],
        rng: &mut dyn CryptoRng,
    ) {
        let is_possible = bssid != self.settings.common.address && self.is_place_of(bssid, endpoint);
        if bssid.is_group() || !is_possible {
            return;
        }
        self.note_clock(bssid, timestamp_us);
        let now = self.now;
        let is_left_alone =
            |left: &&LeftAlone| (left.bssid, left.endpoint) == (bssid, endpoint) && left.until > now;
        let causes: Vec<Cause> = self
            .left_alone
            .iter()
            .filter(is_left_alone)
            .map(|left| left.cause)
            .collect();
        if !matches!(self.state, State::Searching { .. })
            || self.settings.bssid.is_some_and(|wanted| wanted != bssid)
            || causes.contains(&Cause::Attempt)
        {
            return;
        }
        let heard = Heard::of(0, elements);
        if heard.ssid != self.settings.common.ssid {
            return;
        }
        match self.choose(
            bssid,
            endpoint,
            timestamp_us,
            frames::kind_of(elements),
            &heard.security,
        ) {
            Ok(found) => self.authenticate(found, rng),
            Err(_) if causes.contains(&Cause::Advertisement) => {}
            Err(why) => {
                let place = (bssid, endpoint);
                self.leave_alone(place, Cause::Advertisement, Prospect::Open, &why);
                self.outbox
                    .log_limited(self.now, Phase::Discovery, Outcome::Failed, Some(bssid), why);
            }
        }
    }

    /// Whether an access point can send from here. Over Ethernet, it sends from its own address. Over UDP, the station
    /// is configured with its endpoint.
    fn is_place_of(&self, bssid: MacAddr, endpoint: Endpoint) -> bool {
        match (self.settings.probes_to, endpoint) {
            (Endpoint::Ethernet(_), Endpoint::Ethernet(from)) => from == bssid,
            // A socket of IPv6 receives from IPv4 with mapped addresses.
            (Endpoint::Udp(peer), Endpoint::Udp(from)) => {
                (peer.ip().to_canonical(), peer.port()) == (from.ip().to_canonical(), from.port())
            }
            _ => false,
        }
    }

    /// Negotiates with an access point. Returns the reason if it is unsuitable.
    fn choose(
        &self,
        bssid: MacAddr,
        endpoint: Endpoint,
        timestamp_us: u64,
        kind: Option<Kind>,
        advertised: &Elements,
    ) -> Result<Found, String> {
        let common = &self.settings.common;
        if kind != Some(common.kind) {
            return Err(
                "is not a link of this version, or has the other kind of device (IP packets or Ethernet frames)"
                    .into(),
            );
        }
        let (group, offered) = frames::ciphers_of(&advertised.rsn)
            .ok_or("has no RSN element (IEEE Std 802.11-2020 9.4.2.24)")?;
        let cipher = common
            .ciphers
            .iter()
            .find(|cipher| offered.contains(cipher))
            .ok_or_else(|| {
                let names: Vec<&str> = offered.iter().map(|suite| suite.name()).collect();
                format!("offers none of this station's ciphers, only {}", names.join(", "))
            })?;
        if !Suite::OF_TEMPORAL_KEYS.contains(&group) {
            return Err(format!("has the unsupported group cipher {}", group.name()));
        }
        let own = common.elements(&[*cipher], group);
        let association = Association::negotiate(advertised, &own).map_err(|error| error.to_string())?;
        Ok(Found {
            bssid,
            endpoint,
            own,
            association,
            timestamp_us,
        })
    }

    fn authenticate(&mut self, found: Found, rng: &mut dyn CryptoRng) {
        self.started = self.now;
        let text = format!("found at {}", place(found.endpoint));
        self.outbox.log_limited(
            self.now,
            Phase::Discovery,
            Outcome::Progress,
            Some(found.bssid),
            text,
        );
        let (sae, first) = match self.initiate_sae(found.bssid, rng).transpose() {
            Ok(started) => started.unzip(),
            // Unreachable: the password was prepared for the offered groups.
            Err(error) => {
                return self.give_up(Phase::Authentication, &error.to_string(), Prospect::Open);
            }
        };
        self.state = State::Authenticating {
            found,
            sae,
            request: Repeated {
                next: self.now,
                tries: 0,
            },
            refused: None,
        };
        match first {
            Some(reply) => self.sae_replied(&reply, rng),
            None => self.press_on(rng),
        }
    }

    /// Starts an SAE exchange, if the station has a password. Returns the exchange and its first frames.
    fn initiate_sae(
        &self,
        bssid: MacAddr,
        rng: &mut dyn CryptoRng,
    ) -> Option<Result<(Box<Sae>, Reply), StartError>> {
        let common = &self.settings.common;
        let Credentials::Sae(password) = &common.credentials else {
            return None;
        };
        let (peers, password) = ([common.address, bssid], password.clone());
        let started = Sae::initiate(
            self.now,
            peers,
            Method::HashToElement,
            sae_config(),
            password,
            rng,
        );
        Some(started.map(|(sae, reply)| (Box::new(sae), reply)))
    }

    /// Retransmits the pending request, or gives up.
    pub(super) fn press_on(&mut self, rng: &mut dyn CryptoRng) {
        let now = self.now;
        if let State::Authenticating { sae: Some(sae), .. } = &mut self.state {
            let reply = sae.expire(now);
            return self.sae_replied(&reply, rng);
        }
        let (State::Authenticating { request, refused, .. } | State::Associating { request, refused, .. }) =
            &mut self.state
        else {
            return;
        };
        if now < request.next {
            return;
        }
        if request.tries == TRIES {
            let text = match refused {
                Some(code) => format!("refused with status code {code} (IEEE Std 802.11-2020 Table 9-50)"),
                None => "no answer".to_owned(),
            };
            return self.give_up(Phase::Authentication, &text, Prospect::Open);
        }
        request.tries += 1;
        request.next = now + AGAIN;
        self.send_pending_request();
    }

    fn send_pending_request(&mut self) {
        match &self.state {
            State::Authenticating { found, .. } => {
                let body = Body::Authentication {
                    algorithm: OPEN_SYSTEM,
                    transaction: 1,
                    status: status::SUCCESS,
                    rest: &[],
                };
                self.outbox.send_request(found.destination(), body);
            }
            State::Associating {
                found, owe, cookie, ..
            } => {
                let dh = owe.as_ref().map(|owe| owe.element()).unwrap_or_default();
                let elements = frames::request(&self.settings.common.ssid, &found.own, cookie, &dh);
                let body = Body::AssociationRequest {
                    capability: CAPABILITY,
                    listen_interval: 1,
                    elements: &elements,
                };
                self.outbox.send_request(found.destination(), body);
            }
            State::Searching { .. } | State::Proving { .. } | State::Joined(_) => {}
        }
    }

    /// Processes an unprotected management frame other than a beacon.
    pub(super) fn open(
        &mut self,
        from: Endpoint,
        frame: &Management<'_>,
        octets: &[u8],
        rng: &mut dyn CryptoRng,
    ) {
        let own = self.settings.common.address;
        match frame.body {
            Body::ProbeResponse {
                timestamp_us,
                elements,
                ..
            } if frame.da == own && frame.sa == frame.bssid => {
                self.heard(frame.bssid, from, timestamp_us, elements, rng);
            }
            Body::Authentication {
                algorithm,
                transaction,
                status,
                rest,
            } if frame.da == own && self.is_from_access_point(from) => {
                self.authentication(frame.sa, (algorithm, transaction, status), rest, octets, rng);
            }
            Body::AssociationResponse { status, elements, .. }
                if frame.da == own && self.is_from_access_point(from) =>
            {
                self.associated(frame.sa, status, elements, rng);
            }
            Body::Deauthentication { reason, .. } | Body::Disassociation { reason, .. }
                if frame.da == own || frame.da.is_group() =>
            {
                self.query_session(frame.sa, from, reason);
            }
            _ => {}
        }
    }

    fn authentication(
        &mut self,
        from: MacAddr,
        (algorithm, transaction, code): (u16, u16, u16),
        rest: &[u8],
        octets: &[u8],
        rng: &mut dyn CryptoRng,
    ) {
        let now = self.now;
        let State::Authenticating {
            found, sae, refused, ..
        } = &mut self.state
        else {
            return;
        };
        if from != found.bssid {
            return;
        }
        match (algorithm, sae) {
            (SAE, Some(sae)) => {
                let reply = sae.receive(now, &octets[Management::HEADER_LEN..], rng);
                self.sae_replied(&reply, rng);
            }
            (OPEN_SYSTEM, None) if transaction == 2 && code == status::SUCCESS => {
                let cookie = frames::cookie_of(rest).to_vec();
                self.associate(None, cookie, rng);
            }
            // May be forged, so it is only recorded and reported after the timeout.
            (_, None) if transaction == 2 => *refused = Some(code),
            _ => {}
        }
    }

    fn sae_replied(&mut self, reply: &Reply, rng: &mut dyn CryptoRng) {
        let State::Authenticating { found, .. } = &self.state else {
            return;
        };
        self.outbox.send_sae(found.destination(), &reply.frames);
        match &reply.event {
            None => {}
            Some(SaeEvent::Accepted(pmk)) => self.associate(Some(pmk.clone()), Vec::new(), rng),
            Some(SaeEvent::Failed(failure)) => {
                let prospect = match failure {
                    wlan_rsn::sae::Failure::PasswordMismatch => Prospect::Suspected,
                    _ => Prospect::Open,
                };
                let text = sae_failure(*failure, "the access point");
                self.give_up(Phase::Authentication, &text, prospect);
            }
        }
    }

    fn associate(&mut self, pmk: Option<Pmk>, cookie: Vec<u8>, rng: &mut dyn CryptoRng) {
        let owe = match &self.settings.common.credentials {
            Credentials::Owe => owe::Station::new(&GROUPS, rng).map(Box::new),
            Credentials::Psk(_) | Credentials::Sae(_) | Credentials::Eap(_) => None,
        };
        let State::Authenticating { found, .. } = &self.state else {
            return;
        };
        self.state = State::Associating {
            found: found.clone(),
            pmk,
            owe,
            cookie,
            request: Repeated {
                next: self.now,
                tries: 0,
            },
            refused: None,
            postponed: 0,
            early: None,
        };
        self.press_on(rng);
    }

    fn associated(&mut self, from: MacAddr, code: u16, elements: &[u8], rng: &mut dyn CryptoRng) {
        match &self.state {
            State::Associating { found, .. } if found.bssid == from => {}
            _ => return,
        }
        if code == status::SUCCESS && matches!(self.settings.common.credentials, Credentials::Eap(_)) {
            self.start_proving(rng);
        } else if code == status::SUCCESS {
            self.start_handshake(elements, rng);
        } else {
            self.association_refused(code, elements, rng);
        }
    }

    fn association_refused(&mut self, code: u16, elements: &[u8], rng: &mut dyn CryptoRng) {
        let now = self.now;
        let State::Associating {
            owe,
            request,
            refused,
            postponed,
            ..
        } = &mut self.state
        else {
            return;
        };
        match code {
            // The access point is querying this station's previous session, which will not answer. A refusal may be forged or
            // come from any access point. Only the first one after each transmission counts, so that all of them together delay
            // this station by no more than `TRIES` times the maximum comeback time.
            status::REFUSED_TEMPORARILY if *postponed < request.tries => {
                *postponed = request.tries;
                let after_tu = Heard::of(0, elements).comeback_tu.unwrap_or(COMEBACKS_TU_MAX);
                request.next = now + TU * after_tu.clamp(1, COMEBACKS_TU_MAX);
            }
            status::UNSUPPORTED_FINITE_CYCLIC_GROUP if owe.as_mut().is_some_and(|owe| owe.refused(rng)) => {
                request.next = now;
                return self.press_on(rng);
            }
            _ => {}
        }
        *refused = Some(code);
    }

    /// Starts the 4-way handshake after an Association Response with these elements.
    fn start_handshake(&mut self, elements: &[u8], rng: &mut dyn CryptoRng) {
        // OWE: an answer without a public key is invalid.
        let Some(pmk) = self.pmk_after(elements) else {
            return;
        };
        let State::Associating { found, early, .. } = &mut self.state else {
            return;
        };
        let (found, early) = (found.clone(), early.take());
        self.join(found, pmk, early, rng);
    }

    /// Waits for the 4-way handshake. `early` is a message that has already arrived.
    pub(super) fn join(&mut self, found: Found, pmk: Pmk, early: Option<Vec<u8>>, rng: &mut dyn CryptoRng) {
        let now = self.now;
        let machine = Supplicant::new(
            self.settings.common.address,
            found.bssid,
            found.association.clone(),
            pmk,
            Timing::default(),
        );
        let mut supplicant = match machine {
            Ok(supplicant) => Box::new(supplicant),
            Err(error) => return self.give_up(Phase::Keys, &error.to_string(), Prospect::Open),
        };
        supplicant.start(now, rng);
        if let Some(pdu) = early {
            let _ = supplicant.receive(&pdu, false, now, rng);
        }
        self.state = State::Joined(Joined {
            found,
            supplicant,
            began: self.started,
            admitted: false,
            refused: false,
            session: None,
            eap: None,
        });
    }

    /// The PMK after an Association Response with these elements.
    fn pmk_after(&self, elements: &[u8]) -> Option<Pmk> {
        let State::Associating { pmk, owe, .. } = &self.state else {
            return None;
        };
        match &self.settings.common.credentials {
            Credentials::Psk(pmk) => Some(pmk.clone()),
            Credentials::Sae(_) => pmk.clone(),
            // The authentication server provides it later.
            Credentials::Eap(_) => None,
            Credentials::Owe => owe.as_ref().and_then(|owe| owe.finish(elements).ok()),
        }
    }

    /// Reports a failed attempt and backs off from the access point.
    pub(super) fn give_up(&mut self, phase: Phase, why: &str, prospect: Prospect) {
        let place = self.found().map(|found| (found.bssid, found.endpoint));
        let mut text = why.to_owned();
        if let Some(place) = place {
            let wait = self.leave_alone(place, Cause::Attempt, prospect, why);
            text.push_str(&format!("; next try in {:.1} s", wait.as_secs_f64()));
        }
        let bssid = place.map(|(bssid, _)| bssid);
        self.outbox
            .log_limited(self.now, phase, Outcome::Failed, bssid, text);
        self.state = searching(self.now);
    }

    /// Backs off from an access point, for longer if the reason `why` is lasting. Returns the backoff time.
    fn leave_alone(
        &mut self,
        (bssid, endpoint): (MacAddr, Endpoint),
        cause: Cause,
        prospect: Prospect,
        why: &str,
    ) -> Duration {
        let mut all = self.left_alone.iter();
        let before = all.position(|left| (left.bssid, left.endpoint, left.cause) == (bssid, endpoint, cause));
        let before = before.map(|at| self.left_alone.swap_remove(at));
        let strikes = before.as_ref().map_or(0, |left| left.strikes + 1);
        let mut lasting = before.and_then(|left| left.lasting);
        // Other failures, such as silence, say nothing about a lasting reason.
        if prospect != Prospect::Open {
            let known = lasting.filter(|(known, _)| known == why);
            let first = if prospect == Prospect::Proven { LASTING } else { 1 };
            lasting = Some((
                why.to_owned(),
                known.map_or(first, |(_, count)| count.saturating_add(1)),
            ));
        }
        let wait = match &lasting {
            Some((_, count)) if prospect != Prospect::Open && *count >= LASTING => {
                doubled(LEFT_ALONE_WRONG, count - LASTING)
            }
            _ => doubled(LEFT_ALONE, strikes),
        };
        if self.left_alone.len() == REMEMBERED {
            let first = (0..REMEMBERED).min_by_key(|&at| self.left_alone[at].until);
            first.map(|at| self.left_alone.swap_remove(at));
        }
        let until = self.now + wait;
        self.left_alone.push(LeftAlone {
            bssid,
            endpoint,
            cause,
            until,
            strikes,
            lasting,
        });
        wait
    }
}

fn place(endpoint: Endpoint) -> String {
    match endpoint {
        Endpoint::Udp(address) => address.to_string(),
        Endpoint::Ethernet(address) => address.to_string(),
    }
}

/// `time` scaled by a random factor between 0.75 and 1.25, so that stations do not synchronise.
fn jittered(time: Duration, rng: &mut dyn CryptoRng) -> Duration {
    time.mul_f64(0.75 + f64::from(rng.next_u32() >> 16) / f64::from(1 << 17))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// A generator that returns one number.
    struct Fixed(u32);

    impl rand_core::TryRng for Fixed {
        type Error = Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            Ok(self.0)
        }

        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            Ok(self.0.into())
        }

        fn try_fill_bytes(&mut self, octets: &mut [u8]) -> Result<(), Infallible> {
            octets.fill(0);
            Ok(())
        }
    }

    impl rand_core::TryCryptoRng for Fixed {}

    #[test]
    fn jittered_times_range_from_three_to_five_quarters() {
        let scaled = |number| jittered(Duration::from_secs(4), &mut Fixed(number)).as_secs_f64();
        assert_eq!(scaled(0), 3.0);
        assert_eq!(scaled(1 << 31), 4.0);
        assert!((4.999..5.0).contains(&scaled(u32::MAX)));
    }
}
