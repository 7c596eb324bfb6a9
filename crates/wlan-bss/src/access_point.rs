//! The access point of a BSS, for any number of stations.

use std::collections::BTreeMap;
use std::time::Duration;

use rand_core::CryptoRng;
use wlan_frames::management::{AID_BITS, Body, OPEN_SYSTEM, SAE, reason, status};
use wlan_frames::{MacAddr, MacHeader, Management, Role};
use wlan_rsn::{Akm, Mismatch, Output, Pmk, sae};

use crate::admission::{Admission, Agreed, Limits};
use crate::beacons::{BIGTK_ID, Beacons};
use crate::elements::{self, Heard};
use crate::end::{End, Incoming, Peer};
use crate::event::{Event, Failure};
use crate::network::Network;
use crate::sa_query::MAXIMUM_TU;

/// The highest association identifier (9.4.1.8).
const AID_MAX: u16 = 2007;

/// An access point.
pub struct AccessPoint {
    /// Its associations, keys and output.
    pub end: End,
    network: Network,
    beacons: Beacons,
    /// Without RSN and WPA, there is none.
    admission: Option<Admission>,
    /// The PMKs of the stations that SAE accepted.
    accepted: BTreeMap<MacAddr, Pmk>,
    next_beacon: Duration,
}

impl AccessPoint {
    /// The access point of this network that sends these beacons.
    ///
    /// # Errors
    /// [`Mismatch`] if the policy is inconsistent.
    pub fn new(network: Network, beacons: Beacons, rng: &mut dyn CryptoRng) -> Result<Self, Mismatch> {
        let address = beacons.bssid;
        let security = network.security.as_ref();
        let admission = security.map(|security| Admission::new(address, security, Limits::default(), rng));
        let mut admission = admission.transpose()?;
        if let (Some(admission), Some((key, _))) = (&mut admission, &beacons.bigtk) {
            admission.handshakes.protect_beacons(BIGTK_ID, key.clone())?;
        }
        let mut access_point = Self {
            end: End::new(Role::Ap, address, address),
            network,
            beacons,
            admission,
            accepted: BTreeMap::new(),
            next_beacon: Duration::ZERO,
        };
        access_point.apply_outputs();
        Ok(access_point)
    }

    /// The beacons, for a caller that sends all further beacons itself.
    pub fn into_beacons(self) -> Beacons {
        self.beacons
    }

    /// Takes a frame from the air.
    pub fn receive(&mut self, now: Duration, mpdu: &[u8], rng: &mut dyn CryptoRng) {
        match self.end.receive(mpdu) {
            Some(Incoming::Management { from, mpdu }) => {
                if let Ok(frame) = Management::parse(&mpdu) {
                    self.management(now, from, &frame.body, &mpdu, rng);
                }
            }
            Some(Incoming::Eapol { from, packet, sealed }) => {
                let outcome =
                    self.handshakes(|of_rsn| of_rsn.handshakes.receive(from, &packet, sealed, now, rng));
                self.end.counts.discarded += u64::from(!matches!(outcome, Some(Ok(()))));
            }
            None => {}
        }
    }

    /// Passes the packet numbers of the group keys and then an input to the handshakes, if there is RSN or WPA, and
    /// executes their outputs.
    fn handshakes<T>(&mut self, input: impl FnOnce(&mut Admission) -> T) -> Option<T> {
        let admission = self.admission.as_mut()?;
        let [group, integrity] = self.end.group_numbers();
        admission.handshakes.note_group_numbers(group, integrity);
        admission
            .handshakes
            .note_beacon_number(self.beacons.last_number());
        let outcome = input(admission);
        self.apply_outputs();
        Some(outcome)
    }

    fn sae(&mut self) -> Option<&mut sae::Parent> {
        self.admission.as_mut()?.sae.as_mut()
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
                let wanted = Heard::of(0, elements).ssid;
                if wanted.is_empty() || wanted == self.network.ssid {
                    self.end.manage(from, self.beacons.probe_response(now));
                }
            }
            Body::Authentication { algorithm: SAE, .. } if self.sae().is_some() => {
                let body = &mpdu[MacHeader::LEN..];
                let reply = self.sae().map(|parent| parent.receive(now, from, body, rng));
                self.authentication(from, &reply.unwrap_or_default());
            }
            Body::Authentication {
                algorithm,
                transaction: 1,
                ..
            } => {
                let security = self.network.security.as_ref();
                let is_sae_only = security.is_some_and(|security| security.is_only(Akm::Sae));
                let is_open = algorithm == OPEN_SYSTEM && !is_sae_only;
                let status = if is_open {
                    status::SUCCESS
                } else {
                    status::UNSUPPORTED_ALGORITHM
                };
                self.end.authenticate(from, algorithm, 2, status);
            }
            Body::AssociationRequest {
                capability, elements, ..
            } => self.associate(now, from, capability, elements, rng),
            Body::Deauthentication { reason, .. } | Body::Disassociation { reason, .. }
                if self.end.peers.contains_key(&from) =>
            {
                self.end.report(from, Event::Left(reason));
                self.remove(from);
            }
            _ => {}
        }
    }

    fn authentication(&mut self, to: MacAddr, reply: &sae::Reply) {
        self.end.authenticate_sae(to, reply);
        match &reply.event {
            Some(sae::Event::Accepted(pmk)) => {
                if self.accepted.len() >= usize::from(AID_MAX) {
                    self.accepted.pop_first();
                }
                self.accepted.insert(to, pmk.clone());
            }
            Some(sae::Event::Failed(failure)) => self.end.report(to, Event::Failed((*failure).into())),
            None => {}
        }
    }

    fn associate(
        &mut self,
        now: Duration,
        from: MacAddr,
        capability: u16,
        elements: &[u8],
        rng: &mut dyn CryptoRng,
    ) {
        // Without this answer, a forged request could end the session of its station. If the station has lost its keys, the
        // query remains without an answer, and the next request is accepted (11.3.5.3).
        if self.end.protects_management(from) {
            self.end.start_query(now, from);
            let comeback = elements::of_comeback(MAXIMUM_TU);
            self.respond(from, status::REFUSED_TEMPORARILY, &Peer::default(), &comeback);
            return;
        }
        let heard = Heard::of(capability, elements);
        let accepted = self.accepted.get(&from).cloned();
        let agreed = self.admission.as_mut();
        let agreed = agreed.map(|of_rsn| of_rsn.agree(from, &heard.security, elements, accepted, rng));
        let agreed = match agreed.transpose() {
            // This access point does not support 802.1X, which would provide the PMK later.
            Ok(Some(Agreed { pmk: None, .. })) => {
                return self.refuse(from, status::UNSPECIFIED_FAILURE, Failure::NotAuthenticated);
            }
            Ok(agreed) => agreed,
            Err((status, why)) => return self.refuse(from, status, why),
        };
        let Some(aid) = self.aid(from) else {
            return self.refuse(from, status::FULL, Failure::Full);
        };
        let association = agreed.as_ref().map(|agreed| &agreed.association);
        let peer = Peer::new(aid, heard.qos && self.network.has_qos(), association);
        let akm = association.map(|association| association.akm);
        let of_owe = match (&agreed, &self.network.security) {
            (Some(Agreed { of_owe, .. }), Some(security)) if akm == Some(Akm::Owe) => {
                [&security.policy.element()[..], of_owe].concat()
            }
            _ => Vec::new(),
        };
        self.respond(from, status::SUCCESS, &peer, &of_owe);
        self.end.associate(from, peer, akm);
        if let Some(pmk) = agreed.and_then(|agreed| agreed.pmk)
            && let Some(Err((_, why))) =
                self.handshakes(|of_rsn| of_rsn.start(from, &heard.security, &pmk, now, rng))
        {
            self.end.peers.remove(&from);
            self.end.report(from, Event::Failed(why));
        }
    }

    /// The association identifier of a station: its own, or the lowest one that is free.
    fn aid(&self, station: MacAddr) -> Option<u16> {
        let own = self.end.peers.get(&station).map(|peer| peer.aid);
        let is_free = |aid: &u16| self.end.peers.values().all(|peer| peer.aid != *aid);
        own.or_else(|| (1..=AID_MAX).find(is_free))
    }

    fn refuse(&mut self, to: MacAddr, status: u16, why: Failure) {
        self.end.report(to, Event::Refused(status, why));
        self.respond(to, status, &Peer::default(), &[]);
    }

    fn respond(&mut self, to: MacAddr, status: u16, peer: &Peer, more: &[u8]) {
        let elements = elements::of_response(&self.network, peer.qos, more);
        let response = Body::AssociationResponse {
            capability: self.network.capabilities.information,
            status,
            aid: AID_BITS | peer.aid,
            elements: &elements,
        };
        self.end.manage(to, response);
    }

    fn apply_outputs(&mut self) {
        while let Some(output) = self
            .admission
            .as_mut()
            .and_then(|of_rsn| of_rsn.handshakes.poll_output())
        {
            if let Some(Output::Failed {
                peer,
                reason,
                still_established: false,
            }) = self.end.apply(output)
                && self.end.peers.contains_key(&peer)
            {
                self.end.report(peer, Event::Failed(reason.into()));
                self.end.deauthenticate(peer, reason.reason_code());
                self.end.peers.remove(&peer);
            }
        }
    }

    /// Forgets the handshakes and the authentication of a station.
    fn remove(&mut self, station: MacAddr) {
        self.accepted.remove(&station);
        if let Some(parent) = self.sae() {
            parent.forget(station);
        }
        if self
            .handshakes(|of_rsn| of_rsn.handshakes.remove(station))
            .is_none()
        {
            self.end.peers.remove(&station);
        }
    }

    /// Handles the passage of time: beacons, and the timers of the handshakes.
    pub fn timeout(&mut self, now: Duration) {
        if now >= self.next_beacon {
            let mpdu = self.beacons.next(now);
            self.end.out.frames.push(mpdu);
            self.next_beacon = now + self.beacons.interval();
        }
        while let Some((station, reply)) = self.sae().and_then(|parent| parent.expire(now)) {
            self.authentication(station, &reply);
        }
        for station in self.end.query_stations(now) {
            self.handshakes(|of_rsn| of_rsn.handshakes.remove(station));
        }
        self.handshakes(|of_rsn| of_rsn.handshakes.timeout(now));
    }

    /// The time of the next call of [`timeout`](Self::timeout).
    pub fn next_timeout(&self, now: Duration) -> Duration {
        let of_rsn = self
            .admission
            .as_ref()
            .and_then(|of_rsn| of_rsn.next_timeout(now));
        let of_queries = self.end.next_query();
        let timers = of_rsn.into_iter().chain(of_queries);
        timers.fold(self.next_beacon, Duration::min)
    }

    /// Replaces the pairwise key of a station.
    pub fn rekey_pairwise(&mut self, station: MacAddr, now: Duration, rng: &mut dyn CryptoRng) {
        self.handshakes(|of_rsn| of_rsn.handshakes.rekey_pairwise(station, now, rng));
    }

    /// Replaces the group key.
    pub fn rekey_group(&mut self, now: Duration, rng: &mut dyn CryptoRng) {
        self.handshakes(|of_rsn| of_rsn.handshakes.rekey_group(now, rng));
    }

    /// Ends the association of a station.
    pub fn deauthenticate(&mut self, station: MacAddr) {
        self.end.deauthenticate(station, reason::LEAVING);
        self.end.peers.remove(&station);
        self.remove(station);
    }

    /// Ends all associations, with one group addressed frame.
    pub fn deauthenticate_all(&mut self) {
        self.end.deauthenticate(MacAddr::BROADCAST, reason::LEAVING);
        for station in std::mem::take(&mut self.end.peers).into_keys() {
            self.remove(station);
        }
    }
}
