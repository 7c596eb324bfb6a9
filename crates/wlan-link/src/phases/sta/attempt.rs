//! Discovery, authentication and association.

use std::time::Duration;

use rand_core::CryptoRng;
use wlan_bss::attempt::{Attempt, Progress, Rules, Transmit};
use wlan_bss::elements::{Heard, of_ssid};
use wlan_bss::{Failure, Network};
use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_frames::management::{Body, Management, SAE};
use wlan_rsn::{Association, Elements, Pmk, Supplicant, Timing, sae};

use super::super::outbox::Destination;
use super::super::{frames, sae_failure};
use super::{
    Cause, Found, Joined, LASTING, LEFT_ALONE, LEFT_ALONE_WRONG, LeftAlone, NOT_FOUND_AFTER, Outcome,
    PROBE_AGAIN, Phase, Prospect, REMEMBERED, State, Station, doubled, searching,
};
use crate::plane::{Endpoint, Kind};

/// A refusal may be forged, so it is only recorded and reported after the timeout.
const RULES: Rules = Rules {
    again: Duration::from_millis(100),
    tries: 5,
    doubts_refusals: true,
    repeats: frames::repeated,
};

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
            let elements = &of_ssid(&ssid);
            self.outbox.send_request(to, Body::ProbeRequest { elements });
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
        match self.choose(frames::kind_of(elements), &heard.security) {
            Ok((association, network)) => {
                let found = Found {
                    bssid,
                    endpoint,
                    association,
                    timestamp_us,
                };
                self.begin(found, network, rng);
            }
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
    fn choose(&self, kind: Option<Kind>, advertised: &Elements) -> Result<(Association, Network), String> {
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
        let network = common.network(&[*cipher], group);
        let association = Association::negotiate(advertised, &network.security_elements())
            .map_err(|error| error.to_string())?;
        Ok((association, network))
    }

    fn begin(&mut self, found: Found, network: Network, rng: &mut dyn CryptoRng) {
        self.started = self.now;
        let (now, text) = (self.now, format!("found at {}", place(found.endpoint)));
        self.outbox
            .log_limited(now, Phase::Discovery, Outcome::Progress, found.bssid, text);
        let ends = [self.settings.common.address, found.bssid];
        self.state = State::Attempting {
            found,
            attempt: Box::new(Attempt::new(ends, network, true, RULES)),
            early: None,
        };
        self.attempt(rng, |attempt, now, rng, send| attempt.begin(now, rng, send));
    }

    /// Passes an input to the attempt in progress. Requests are padded, so that no answer is longer. SAE frames are not:
    /// the answer to an SAE frame is not longer.
    pub(super) fn attempt(
        &mut self,
        rng: &mut dyn CryptoRng,
        input: impl FnOnce(&mut Attempt, Duration, &mut dyn CryptoRng, Transmit<'_>) -> Progress,
    ) {
        let State::Attempting {
            found,
            attempt,
            early,
        } = &mut self.state
        else {
            return;
        };
        let (to, outbox) = (found.destination(), &mut self.outbox);
        let mut send = |body: Body<'_>| match body {
            Body::Authentication { algorithm: SAE, .. } => outbox.send(to, body),
            _ => outbox.send_request(to, body),
        };
        match input(attempt, self.now, rng, &mut send) {
            Progress::Pending => {}
            Progress::Associated(Some(pmk)) => {
                let (found, early) = (found.clone(), early.take());
                self.join(found, pmk, early, rng);
            }
            Progress::Associated(None) => self.start_proving(rng),
            Progress::Failed(Failure::Sae(failure)) => {
                let prospect = match failure {
                    sae::Failure::PasswordMismatch => Prospect::Suspected,
                    _ => Prospect::Open,
                };
                let text = sae_failure(failure, "the access point");
                self.give_up(Phase::Authentication, &text, prospect);
            }
            Progress::Failed(why) => self.give_up(Phase::Authentication, &why.to_string(), Prospect::Open),
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
            Body::Authentication { .. } | Body::AssociationResponse { .. }
                if frame.da == own && self.is_from_access_point(frame.sa, from) =>
            {
                let body = &octets[Management::HEADER_LEN..];
                self.attempt(rng, |attempt, now, rng, send| {
                    attempt.receive(now, &frame.body, body, rng, send)
                });
            }
            Body::Deauthentication { reason, .. } | Body::Disassociation { reason, .. }
                if frame.da == own || frame.da.is_group() =>
            {
                self.query_session(frame.sa, from, reason);
            }
            _ => {}
        }
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
