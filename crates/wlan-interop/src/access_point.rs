//! An access point for one station at a time.

use std::sync::Arc;
use std::time::Duration;

use rand_core::CryptoRng;
use serde_json::json;
use wlan_ciphers::{IntegrityKeyId, PacketNumber, Suite};
use wlan_frames::beacon::Beacon;
use wlan_frames::management::{AID_BITS, Body, OPEN_SYSTEM, STATUS_SUCCESS};
use wlan_frames::{MacAddr, MacHeader, Management, Role};
use wlan_rsn::authenticator::Limits;
use wlan_rsn::sae::{self, Password};
use wlan_rsn::{Akm, Association, Authenticator, Elements, Key, Output, Pmk, Policy, Timing, owe};

use crate::config::{ConfigError, Network, Order};
use crate::elements::{self, Heard};
use crate::end::{End, Incoming, REASON_LEAVING};
use crate::keys::Integrity;

/// Algorithm of SAE in an Authentication frame (9.4.1.1).
const SAE: u16 = 3;
// Status codes (Table 9-50).
const STATUS_UNSPECIFIED_FAILURE: u16 = 1;
const STATUS_ALGORITHM: u16 = 13;
const STATUS_REFUSED_TEMPORARILY: u16 = 30;
const BEACON_INTERVAL_TU: u16 = 100;
const BEACON_INTERVAL: Duration = Duration::from_micros(1024 * BEACON_INTERVAL_TU as u64);
const BIGTK_ID: IntegrityKeyId = IntegrityKeyId::new(6).expect("6 is a valid key ID");
/// Octets of the key of BIP-CMAC-128.
const BIGTK_B: usize = 16;
/// Timeout Interval element (9.4.2.48): a station may associate again after this number of time units.
const COMEBACK: [u8; 7] = [56, 5, 3, 0xe8, 3, 0, 0];

/// An access point.
pub struct AccessPoint {
    pub end: End,
    ssid: Vec<u8>,
    policy: Policy,
    own: Elements,
    authenticator: Authenticator,
    sae: sae::Parent,
    owe: owe::AccessPoint,
    /// The PMK of the passphrase.
    psk: Option<Pmk>,
    /// The station that SAE accepted, and its PMK.
    accepted: Option<(MacAddr, Pmk)>,
    station: Option<MacAddr>,
    next_beacon: Duration,
}

impl AccessPoint {
    /// An access point of this network.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn new(own: MacAddr, network: &Network, rng: &mut dyn CryptoRng) -> Result<Self, ConfigError> {
        let policy = network.policy()?;
        let (ssid, passphrase) = (network.ssid.as_bytes(), network.passphrase.as_bytes());
        let groups = network.groups()?;
        let elements = network.elements()?;
        let mut authenticator =
            Authenticator::new(own, elements.clone(), Timing::default(), Limits::default(), rng)?;
        let mut end = End::new(Role::Ap, own, own);
        if network.beacon_prot {
            let mut octets = [0; BIGTK_B];
            rng.fill_bytes(&mut octets);
            let key = Key::new(&octets);
            authenticator.protect_beacons(BIGTK_ID, key.clone())?;
            end.beacon_key = Some(Integrity::new(
                Suite::BipCmac128,
                &key,
                BIGTK_ID,
                PacketNumber::ZERO,
            ));
        }
        let mut token_key = [0; 32];
        rng.fill_bytes(&mut token_key);
        let password = Arc::new(Password::new(ssid, passphrase, None, &groups)?);
        let owe = owe::AccessPoint::new(&groups, 1);
        let config = Arc::new(sae::Config {
            groups,
            hunting_and_pecking: network.method() == sae::Method::HuntingAndPecking,
            ..sae::Config::default()
        });
        let mut access_point = Self {
            end,
            ssid: ssid.to_vec(),
            policy,
            own: elements,
            authenticator,
            sae: sae::Parent::new(own, config, vec![password], sae::Limits::default(), token_key),
            owe,
            psk: network.pmk()?,
            accepted: None,
            station: None,
            next_beacon: Duration::ZERO,
        };
        access_point.apply_outputs();
        Ok(access_point)
    }

    /// Takes a frame from the air.
    pub fn receive(&mut self, now: Duration, mpdu: &[u8], rng: &mut dyn CryptoRng) {
        let [group, integrity, beacons] = self.end.group_numbers();
        self.authenticator.note_group_numbers(group, integrity);
        self.authenticator.note_beacon_number(beacons);
        match self.end.receive(mpdu) {
            Some(Incoming::Management { from, mpdu }) => {
                if let Ok(frame) = Management::parse(&mpdu) {
                    self.management(now, from, &frame.body, &mpdu, rng);
                }
            }
            Some(Incoming::Eapol { from, packet, sealed }) => {
                let outcome = self.authenticator.receive(from, &packet, sealed, now, rng);
                self.end.counts.discarded += u64::from(outcome.is_err());
            }
            None => {}
        }
        self.apply_outputs();
    }

    fn management(
        &mut self,
        now: Duration,
        from: MacAddr,
        body: &Body<'_>,
        mpdu: &[u8],
        rng: &mut dyn CryptoRng,
    ) {
        match *body {
            Body::ProbeRequest { elements } => {
                let wanted = Heard::of(elements).ssid;
                if wanted.is_empty() || wanted == self.ssid {
                    self.answer_probe(now, from);
                }
            }
            Body::Authentication { algorithm: SAE, .. } if self.policy.akms == [Akm::Sae] => {
                let reply = self.sae.receive(now, from, &mpdu[MacHeader::LEN..], rng);
                self.authentication(from, &reply);
            }
            Body::Authentication {
                algorithm,
                transaction: 1,
                ..
            } => {
                let is_open = algorithm == OPEN_SYSTEM && self.policy.akms != [Akm::Sae];
                let answer = Body::Authentication {
                    algorithm,
                    transaction: 2,
                    status: if is_open { STATUS_SUCCESS } else { STATUS_ALGORITHM },
                    rest: &[],
                };
                self.end.manage(from, answer);
            }
            Body::AssociationRequest { elements, .. } => self.associate(now, from, elements, rng),
            Body::Deauthentication { reason, .. } | Body::Disassociation { reason, .. }
                if self.station == Some(from) =>
            {
                self.authenticator.remove(from);
                self.sae.forget(from);
                self.end.out.event("left", json!({ "reason": reason }));
            }
            _ => {}
        }
    }

    fn answer_probe(&mut self, now: Duration, to: MacAddr) {
        let elements = elements::of_beacon(&self.ssid, &self.own, self.end.beacon_key.is_some(), false);
        let response = Body::ProbeResponse {
            timestamp_us: microseconds(now),
            interval_tu: BEACON_INTERVAL_TU,
            capability: elements::CAPABILITY,
            elements: &elements,
        };
        self.end.manage(to, response);
    }

    fn authentication(&mut self, to: MacAddr, reply: &sae::Reply) {
        for body in &reply.frames {
            self.end.manage(
                to,
                Body::authentication(body).expect("SAE builds complete frames"),
            );
        }
        match &reply.event {
            Some(sae::Event::Accepted(pmk)) => self.accepted = Some((to, pmk.clone())),
            Some(sae::Event::Failed(failure)) => {
                self.end
                    .out
                    .event("failed", json!({ "why": failure.to_string() }));
            }
            None => {}
        }
    }

    fn associate(&mut self, now: Duration, from: MacAddr, elements: &[u8], rng: &mut dyn CryptoRng) {
        // Without this answer, a forged request could end the session of its station (11.3.5.3).
        if self.end.mfp && self.end.is_established && self.station == Some(from) {
            self.respond(from, STATUS_REFUSED_TEMPORARILY, &COMEBACK);
            return;
        }
        let heard = Heard::of(elements);
        let association = match Association::negotiate(&self.own, &heard.security) {
            Ok(association) => association,
            Err(mismatch) => {
                self.refuse(from, mismatch.status_code(), &mismatch.to_string());
                return;
            }
        };
        let of_sae = self.accepted.as_ref().filter(|(station, _)| *station == from);
        let (pmk, of_owe) = if association.akm == Akm::Owe {
            match self.owe.answer(from, elements, rng) {
                Ok((answer, pmk)) => (pmk, [self.policy.element(), answer].concat()),
                Err(error) => {
                    self.refuse(from, error.status(), &error.to_string());
                    return;
                }
            }
        } else if let Some(pmk) = self.psk.as_ref().or(of_sae.map(|(_, pmk)| pmk)) {
            (pmk.clone(), Vec::new())
        } else {
            self.refuse(
                from,
                STATUS_UNSPECIFIED_FAILURE,
                "the station has not authenticated",
            );
            return;
        };
        self.end.forget();
        self.end.qos = heard.qos;
        self.end.mfp = association.group_management.is_some();
        self.station = Some(from);
        self.respond(from, STATUS_SUCCESS, &of_owe);
        self.end.out.event(
            "associated",
            json!({ "wpa_key_mgmt": association.akm.name(), "mfp": self.end.mfp, "qos": self.end.qos }),
        );
        if let Err(error) = self.authenticator.start(from, &heard.security, &pmk, now, rng) {
            self.end.out.event("failed", json!({ "why": error.to_string() }));
        }
    }

    fn refuse(&mut self, to: MacAddr, status: u16, why: &str) {
        self.end
            .out
            .event("refused", json!({ "status": status, "why": why }));
        self.respond(to, status, &[]);
    }

    fn respond(&mut self, to: MacAddr, status: u16, more: &[u8]) {
        let elements = elements::of_response(&self.own, self.end.qos, more);
        let response = Body::AssociationResponse {
            capability: elements::CAPABILITY,
            status,
            aid: AID_BITS | 1,
            elements: &elements,
        };
        self.end.manage(to, response);
    }

    fn apply_outputs(&mut self) {
        while let Some(output) = self.authenticator.poll_output() {
            if let Some(Output::Failed {
                peer,
                reason,
                still_established: false,
            }) = self.end.apply(output)
            {
                self.end.out.event("failed", json!({ "why": reason.to_string() }));
                let farewell = Body::Deauthentication {
                    reason: reason.reason_code(),
                    elements: &[],
                };
                self.end.manage(peer, farewell);
                self.end.forget();
                self.station = None;
            }
        }
    }

    /// Handles the passage of time: beacons, and the timers of the handshakes.
    pub fn timeout(&mut self, now: Duration) {
        if now >= self.next_beacon {
            self.beacon(now);
            self.next_beacon = now + BEACON_INTERVAL;
        }
        while let Some((station, reply)) = self.sae.expire(now) {
            self.authentication(station, &reply);
        }
        self.authenticator.timeout(now);
        self.apply_outputs();
    }

    fn beacon(&mut self, now: Duration) {
        let elements = elements::of_beacon(&self.ssid, &self.own, self.end.beacon_key.is_some(), true);
        let beacon = Beacon {
            bssid: self.end.own,
            sequence: self.end.next_sequence(),
            timestamp_us: microseconds(now),
            interval_tu: BEACON_INTERVAL_TU,
            capability: elements::CAPABILITY,
            elements: &elements,
        };
        let mut mpdu = vec![0; Beacon::FIXED_LEN + elements.len()];
        beacon.emit(&mut mpdu);
        if let Some(key) = &mut self.end.beacon_key {
            mpdu = key.protect(&mpdu);
        }
        self.end.out.frames.push(mpdu);
    }

    /// The time of the next call of [`timeout`](Self::timeout).
    pub fn next_timeout(&self, now: Duration) -> Option<Duration> {
        let timers = [self.sae.deadline(), self.authenticator.next_timeout(now)];
        timers.into_iter().flatten().chain([self.next_beacon]).min()
    }

    /// Executes an order.
    pub fn perform(&mut self, now: Duration, order: Order, rng: &mut dyn CryptoRng) {
        let farewell = Body::Deauthentication {
            reason: REASON_LEAVING,
            elements: &[],
        };
        match (order, self.station) {
            (Order::RekeyPairwise, Some(station)) => {
                self.authenticator.rekey_pairwise(station, now, rng);
            }
            (Order::RekeyGroup, _) => {
                self.authenticator.rekey_group(now, rng);
            }
            (Order::Deauthenticate, Some(station)) => self.end.manage(station, farewell),
            (Order::DeauthenticateAll, _) => self.end.manage(MacAddr::BROADCAST, farewell),
            _ => {}
        }
        self.apply_outputs();
    }
}

fn microseconds(now: Duration) -> u64 {
    u64::try_from(now.as_micros()).expect("no test takes that long")
}
