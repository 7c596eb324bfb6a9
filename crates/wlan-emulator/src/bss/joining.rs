//! How the stations of an emulated link join before the first packet: discovery, authentication, association and the
//! handshake that yields their keys (IEEE Std 802.11-2020, 11.1.4, 11.3, 12.6).
//!
//! The state machines are those of `wlan-rsn`; this module builds the frames around their packets, as sent on the air.
//! Each frame is sent on an idle medium, a DIFS after the previous frame, at the lowest basic rate, and is
//! acknowledged. No frame is lost, because the cost of failed attempts is not part of the cost of a link.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use getrandom::SysRng;
use getrandom::rand_core::{CryptoRng, UnwrapErr};
use wlan_air::Nanos;
use wlan_air::phy::Bss;
use wlan_ciphers::{OpenJob, SealJob, Suite};
use wlan_frames::control::Ack;
use wlan_frames::fcs::FCS_LEN;
use wlan_frames::management::{AID_BITS, Body, Management, OPEN_SYSTEM, STATUS_SUCCESS};
use wlan_frames::{AckPolicy, DataHeader, EtherType, LlcSnap, MacAddr, QosControl, Role, SequenceControl};
use wlan_rsn::authenticator::{Limits, StartError};
use wlan_rsn::sae::{self, Password, Sae};
use wlan_rsn::{
    Association, Authenticator, Elements, Key, Mismatch, Output, Pmk, Policy, Supplicant, Timing, WrongPmk,
    owe,
};

use super::beacon::{AccessPoint, BIGTK_ID};
use super::keys::{GROUP, Keys, Secret};
use crate::frames::protection::{KEY_ID, Protection};
use crate::frames::sent::{Sent, duration_us};
use crate::roster::{AP, mac};

/// The TID of EAPOL frames of QoS stations: the TID of network control, as in Linux.
const EAPOL_TID: u8 = 7;
/// Listen interval in beacon intervals (9.4.1.6).
const LISTEN_INTERVAL: u16 = 1;
/// Offset of the Duration field in a frame.
const DURATION_AT: usize = 2;

/// Why a station could not join the link.
#[derive(Debug, thiserror::Error)]
pub enum JoiningError {
    /// The ends' elements are incompatible.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The access point accepts no more stations.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The PMK does not match the key management.
    #[error(transparent)]
    Pmk(#[from] WrongPmk),
    /// One end stopped without keys. Since no frame is lost, this is a bug.
    #[error("the handshake of station {0} failed")]
    Handshake(MacAddr),
}

/// An established association.
pub struct Joined {
    /// The protection at the access point's end and at the station's end; `None` on an open link.
    pub protections: [Option<Protection>; 2],
    /// The pairwise key of both ends.
    pub temporal_key: Option<Key>,
    /// The next sequence numbers of both ends for non-QoS frames, which share a counter with management frames.
    pub sequences: [u16; 2],
}

/// The BSS while stations join.
pub struct Joining<'a> {
    bss: &'a Bss,
    access_point: &'a AccessPoint,
    is_qos: bool,
    keys: &'a Keys,
    authenticator: Option<Authenticator>,
    sae: Option<sae::Parent>,
    owe: owe::AccessPoint,
    now: Nanos,
    /// By station: the next sequence number of the station's management frames.
    sequences: Vec<u16>,
    sent: Vec<Sent>,
}

impl<'a> Joining<'a> {
    /// A BSS with `stations` stations, including the access point. Time starts at zero.
    ///
    /// # Errors
    /// The policy is inconsistent.
    pub fn new(
        bss: &'a Bss,
        access_point: &'a AccessPoint,
        is_qos: bool,
        keys: &'a Keys,
        stations: usize,
    ) -> Result<Self, JoiningError> {
        let mut rng = UnwrapErr(SysRng);
        let authenticator = keys
            .policy()
            .map(|policy| {
                let elements = Elements::of(policy);
                let (timing, limits) = (Timing::default(), Limits::default());
                let mut authenticator = Authenticator::new(mac(AP), elements, timing, limits, &mut rng)?;
                if let Some(bigtk) = access_point.bigtk() {
                    authenticator.protect_beacons(BIGTK_ID, bigtk.clone())?;
                }
                Ok::<_, Mismatch>(authenticator)
            })
            .transpose()?;
        let sae = match keys {
            Keys::Rsn(_, Secret::Sae(password)) => {
                let mut token_key = [0; 32];
                rand_core::Rng::fill_bytes(&mut rng, &mut token_key);
                Some(sae::Parent::new(
                    mac(AP),
                    Arc::default(),
                    vec![password.clone()],
                    sae::Limits::default(),
                    token_key,
                ))
            }
            _ => None,
        };
        Ok(Self {
            bss,
            access_point,
            is_qos,
            keys,
            authenticator,
            sae,
            owe: owe::AccessPoint::new(&[GROUP], stations),
            now: Nanos::ZERO,
            sequences: vec![0; stations],
            sent: Vec::new(),
        })
    }

    /// Lets station `station` join the link.
    ///
    /// # Errors
    /// [`JoiningError`].
    pub fn join(&mut self, station: usize) -> Result<Joined, JoiningError> {
        let rng = &mut UnwrapErr(SysRng);
        self.discover(station);
        let pmk = match self.keys {
            Keys::Rsn(_, Secret::Sae(password)) => Some(self.authenticate_sae(station, password, rng)?),
            Keys::Rsn(_, Secret::Psk(pmk)) => {
                self.authenticate(station);
                Some(pmk.clone())
            }
            Keys::Rsn(_, Secret::Owe) | Keys::Open | Keys::Wep(..) => {
                self.authenticate(station);
                None
            }
        };
        let pmk = match self.keys {
            Keys::Rsn(policy, Secret::Owe) => Some(self.associate_owe(station, policy, rng)?),
            _ => {
                self.associate(station, &[], &[]);
                pmk
            }
        };
        let (protections, temporal_key) = match (self.keys, pmk) {
            (Keys::Rsn(policy, _), Some(pmk)) => {
                let (protections, key) = self.handshake(station, policy, pmk, rng)?;
                (protections.map(Some), Some(key))
            }
            (Keys::Wep(suite, key), _) => {
                let end = |role| Protection::new(*suite, key, role);
                ([end(Role::Ap), end(Role::Sta)], Some(Key::new(key)))
            }
            _ => ([None, None], None),
        };
        Ok(Joined {
            protections,
            temporal_key,
            sequences: [self.sequences[AP], self.sequences[station]],
        })
    }

    /// All frames sent, and the end of the last frame.
    pub fn finish(self) -> (Vec<Sent>, Nanos) {
        (self.sent, self.now)
    }

    /// Discovery (11.1.4.3).
    fn discover(&mut self, station: usize) {
        let access_point = self.access_point;
        let request = Body::ProbeRequest {
            elements: &access_point.of_probe_request(),
        };
        self.manage([station, AP], true, request);
        let response = Body::ProbeResponse {
            timestamp_us: self.now.0 / 1000,
            interval_tu: access_point.interval_tu(),
            capability: access_point.capability(),
            elements: &access_point.of_probe_response(),
        };
        self.manage([AP, station], false, response);
    }

    /// Open System authentication (11.3.4, 12.3.3.2).
    fn authenticate(&mut self, station: usize) {
        for (ends, transaction) in [([station, AP], 1), ([AP, station], 2)] {
            let step = Body::Authentication {
                algorithm: OPEN_SYSTEM,
                transaction,
                status: STATUS_SUCCESS,
                rest: &[],
            };
            self.manage(ends, false, step);
        }
    }

    /// SAE authentication (11.3.4, 12.4); returns the PMK.
    fn authenticate_sae(
        &mut self,
        station: usize,
        password: &Arc<Password>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Pmk, JoiningError> {
        let failed = || JoiningError::Handshake(mac(station));
        let ends = [mac(station), mac(AP)];
        let method = sae::Method::default();
        let (mut exchange, reply) =
            Sae::initiate(self.time(), ends, method, Arc::default(), password.clone(), rng)
                .map_err(|_| failed())?;
        let mut pmk = None;
        let mut to_ap: VecDeque<_> = reply.frames.into_iter().collect();
        while let Some(body) = to_ap.pop_front() {
            self.manage(
                [station, AP],
                false,
                Body::authentication(&body).map_err(|_| failed())?,
            );
            let (now, parent) = (self.time(), self.sae.as_mut().ok_or_else(failed)?);
            for body in parent.receive(now, mac(station), &body, rng).frames {
                self.manage(
                    [AP, station],
                    false,
                    Body::authentication(&body).map_err(|_| failed())?,
                );
                let reply = exchange.receive(self.time(), &body, rng);
                to_ap.extend(reply.frames);
                if let Some(sae::Event::Accepted(agreed)) = reply.event {
                    pmk = Some(agreed);
                }
            }
        }
        pmk.ok_or_else(failed)
    }

    /// Association (11.3.5), with elements that follow those of every association.
    fn associate(&mut self, station: usize, of_request: &[u8], of_response: &[u8]) {
        let access_point = self.access_point;
        let capability = access_point.capability();
        let request = Body::AssociationRequest {
            capability,
            listen_interval: LISTEN_INTERVAL,
            elements: &[access_point.of_association_request(), of_request].concat(),
        };
        self.manage([station, AP], false, request);
        let response = Body::AssociationResponse {
            capability,
            status: STATUS_SUCCESS,
            aid: AID_BITS | u16::try_from(station).expect("there are at most MAX_HOSTS stations"),
            elements: &[&access_point.of_association_response(), of_response].concat(),
        };
        self.manage([AP, station], false, response);
    }

    /// Association with OWE (RFC 8110, 4.4); returns the PMK. The response repeats the RSN element.
    fn associate_owe(
        &mut self,
        station: usize,
        policy: &Policy,
        rng: &mut dyn CryptoRng,
    ) -> Result<Pmk, JoiningError> {
        let failed = |_| JoiningError::Handshake(mac(station));
        let exchange = owe::Station::new(&[GROUP], rng).expect("there is a group");
        let request = exchange.element();
        let (answer, _) = self.owe.answer(mac(station), &request, rng).map_err(failed)?;
        self.associate(station, &request, &[policy.element(), answer.clone()].concat());
        exchange.finish(&answer).map_err(failed)
    }

    /// The 4-way handshake (12.7.6), with WPA followed by the group key handshake (12.7.7). Returns the protection of
    /// both ends and their key.
    fn handshake(
        &mut self,
        station: usize,
        policy: &Policy,
        pmk: Pmk,
        rng: &mut dyn CryptoRng,
    ) -> Result<([Protection; 2], Key), JoiningError> {
        let of_station = self
            .keys
            .station_policy()
            .as_ref()
            .map(Elements::of)
            .unwrap_or_default();
        let association = Association::negotiate(&Elements::of(policy), &of_station)?;
        let mut authenticator = self
            .authenticator
            .take()
            .expect("a policy implies an authenticator");
        let mut supplicant =
            Supplicant::new(mac(station), mac(AP), association, pmk.clone(), Timing::default())?;
        supplicant.start(self.time(), rng);
        authenticator.start(mac(station), &of_station, &pmk, self.time(), rng)?;
        let mut ends = [HandshakeEnd::new(Role::Ap), HandshakeEnd::new(Role::Sta)];
        loop {
            while let Some(output) = authenticator.poll_output() {
                ends[0].apply(output);
            }
            while let Some(output) = supplicant.poll_output() {
                ends[1].apply(output);
            }
            // One end's packets are all sent before the other end answers.
            let from = usize::from(ends[0].to_send.is_empty());
            let Some((packet, is_sealed)) = ends[from].to_send.pop_front() else {
                break;
            };
            let packet = self.eapol(station, from, &mut ends, &packet, is_sealed);
            let now = self.time();
            // A discarded packet ends the handshake.
            let _ = if from == 0 {
                supplicant.receive(&packet, is_sealed, now, rng)
            } else {
                authenticator.receive(mac(station), &packet, is_sealed, now, rng)
            };
        }
        self.authenticator = Some(authenticator);
        match ends.map(|end| (end.protection, end.key, end.is_established)) {
            [(Some(ap), Some(key), true), (Some(sta), Some(same), true)] if key == same => {
                Ok(([ap, sta], key))
            }
            _ => Err(JoiningError::Handshake(mac(station))),
        }
    }

    /// Sends an EAPOL packet over the air, sealed or open, and returns the packet that the other end receives.
    fn eapol(
        &mut self,
        station: usize,
        from: usize,
        ends: &mut [HandshakeEnd; 2],
        packet: &[u8],
        is_sealed: bool,
    ) -> Vec<u8> {
        let [sender, receiver] = [[AP, station][from], [AP, station][1 - from]];
        let protection = ends[from].protection.as_mut().filter(|_| is_sealed);
        let sequence = self.next_sequence(sender);
        let header = DataHeader {
            to_ds: from == 1,
            from_ds: from == 0,
            protected: protection.is_some(),
            addr1: mac(receiver),
            addr2: mac(sender),
            addr3: mac(AP),
            qos: self.is_qos.then(|| QosControl::new(EAPOL_TID, AckPolicy::Normal)),
            sequence: SequenceControl {
                number: sequence,
                fragment: 0,
            },
            ..DataHeader::default()
        };
        let suite = protection.as_ref().map(|protection| protection.suite());
        let header_len = header.len();
        let at = header_len + suite.map_or(0, Suite::header_len);
        let mic_b = suite.map_or(0, Suite::mic_len);
        let mut mpdu = vec![0; at + LlcSnap::LEN + packet.len() + mic_b];
        header.emit(&mut mpdu);
        LlcSnap {
            ethertype: EtherType::EAPOL,
        }
        .emit(&mut mpdu[at..]);
        mpdu[at + LlcSnap::LEN..][..packet.len()].copy_from_slice(packet);
        if let Some(protection) = protection {
            let pn = protection.next_pn();
            protection.seal(&mut [SealJob {
                mpdu: &mut mpdu,
                header_len,
                pn,
                key_id: KEY_ID,
            }]);
        }
        self.transmit(mpdu.clone(), Some(sender));
        if let Some(protection) = ends[1 - from].protection.as_mut().filter(|_| is_sealed) {
            let mut jobs = [OpenJob::new(&mut mpdu, KEY_ID)];
            protection.open(&mut jobs);
            let opened = jobs[0].verdict().ok().cloned();
            if !opened.is_some_and(|opened| protection.accept(&opened)) {
                return Vec::new();
            }
        }
        mpdu[at + LlcSnap::LEN..][..packet.len()].to_vec()
    }

    /// Sends a management frame over the air.
    fn manage(&mut self, [from, to]: [usize; 2], is_broadcast: bool, body: Body<'_>) {
        let frame = Management {
            da: if is_broadcast { MacAddr::BROADCAST } else { mac(to) },
            sa: mac(from),
            bssid: if is_broadcast { MacAddr::BROADCAST } else { mac(AP) },
            sequence: self.next_sequence(from),
            retry: false,
            protected: false,
            body,
        };
        let mut mpdu = vec![0; frame.len()];
        frame.emit(&mut mpdu);
        self.transmit(mpdu, (!is_broadcast).then_some(from));
    }

    fn next_sequence(&mut self, station: usize) -> u16 {
        let sequence = self.sequences[station];
        self.sequences[station] = (sequence + 1) % SequenceControl::MODULUS;
        sequence
    }

    /// Sends an MPDU over the air, and the Ack to its transmitter, if the MPDU is acknowledged (10.3.2.9).
    fn transmit(&mut self, mut mpdu: Vec<u8>, acknowledged: Option<usize>) {
        let mode = self.bss.beacon_mode();
        let (sifs, ack) = (self.bss.sifs(), self.bss.ack_duration(&mode));
        // The frame starts a DIFS after the previous one (10.3.7).
        let at = self.now + sifs + self.bss.slot() * 2;
        let end = at + mode.ppdu_duration(mpdu.len() + FCS_LEN);
        self.now = end;
        let ack = acknowledged.map(|transmitter| {
            mpdu[DURATION_AT..][..2].copy_from_slice(&duration_us(sifs + ack).to_le_bytes());
            self.now = end + sifs + ack;
            let mut octets = vec![0; Ack::LEN];
            Ack {
                duration_us: 0,
                ra: mac(transmitter),
            }
            .emit(&mut octets);
            Sent {
                at: end + sifs,
                mode: self.bss.control_response(&mode),
                mpdu: octets,
            }
        });
        self.sent.push(Sent { at, mode, mpdu });
        self.sent.extend(ack);
    }

    fn time(&self) -> Duration {
        Duration::from_nanos(self.now.0)
    }
}

/// The state of one end of a handshake.
struct HandshakeEnd {
    role: Role,
    protection: Option<Protection>,
    key: Option<Key>,
    is_established: bool,
    /// Packets, and whether each is sealed.
    to_send: VecDeque<(Vec<u8>, bool)>,
}

impl HandshakeEnd {
    fn new(role: Role) -> Self {
        Self {
            role,
            protection: None,
            key: None,
            is_established: false,
            to_send: VecDeque::new(),
        }
    }

    /// Ignores group keys: no host of an emulated link sends group addressed frames.
    fn apply(&mut self, output: Output) {
        match output {
            Output::Send { packet, sealed, .. } => self.to_send.push_back((packet, sealed)),
            // This output comes once per direction.
            Output::InstallPairwise { suite, key, .. } if self.protection.is_none() => {
                self.protection = Protection::new(suite, key.as_octets(), self.role);
                self.key = Some(key);
            }
            Output::Established { .. } => self.is_established = true,
            _ => {}
        }
    }
}
