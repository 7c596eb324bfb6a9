//! One end of an association: its keys, and the frames that it sends and receives under them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use wlan_ciphers::PacketNumber;
use wlan_frames::management::Body;
use wlan_frames::{
    AckPolicy, DataHeader, EtherType, FrameControl, FrameType, LlcSnap, MacAddr, MacHeader, Management,
    QosControl, Role, SequenceControl,
};
use wlan_rsn::Output;
use wlan_rsn::output::Direction;

use crate::keys::{Dropped, Integrity, Opening, Sealing, addresses, is_sealed, open};

/// The TID of EAPOL frames, as in Linux.
const EAPOL_TID: u8 = 7;
/// Category of SA Query frames, and their actions (Table 9-51, 9.6.9).
const CATEGORY_SA_QUERY: u8 = 8;
const SA_QUERY_REQUEST: u8 = 0;
const SA_QUERY_RESPONSE: u8 = 1;
/// Categories of Action frames that are not robust (Table 9-51): public, HT, unprotected WNM, vendor specific, ...
const NOT_ROBUST: [u8; 6] = [4, 7, 11, 15, 20, 127];
/// Offset of Sequence Control in a Data or management frame (9.2.4.4).
pub const SEQUENCE_AT: usize = 22;
/// Reason of a Deauthentication frame: the sender leaves (Table 9-49).
pub const REASON_LEAVING: u16 = 3;
/// Listen interval of stations in beacon intervals (9.4.1.6).
pub const LISTEN_INTERVAL: u16 = 1;
/// Octets of an Ethernet header.
const ETHERNET_B: usize = 14;

/// The output of a role, for its process.
#[derive(Default)]
pub struct Outbox {
    /// MPDUs to put on the air.
    pub frames: Vec<Vec<u8>>,
    /// Ethernet frames for the host.
    pub packets: Vec<Vec<u8>>,
    /// Lines for the test.
    pub events: Vec<Value>,
}

impl Outbox {
    /// Reports what happened.
    pub fn event(&mut self, name: &str, details: Value) {
        let mut event = json!({ "event": name });
        if let (Value::Object(event), Value::Object(details)) = (&mut event, details) {
            event.extend(details);
        }
        self.events.push(event);
    }
}

/// Frames by their fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets sent under the pairwise or group key.
    pub sent: u64,
    /// Packets received under a pairwise key.
    pub received: u64,
    /// Packets received under a group key.
    pub group_received: u64,
    /// Beacons whose MME was valid.
    pub beacons_verified: u64,
    /// Beacons whose MME was missing or wrong.
    pub beacons_rejected: u64,
    /// Protected frames that no key opens.
    pub unopened: u64,
    /// Frames whose packet number was not new.
    pub replays: u64,
    /// Frames that should have been protected.
    pub unprotected: u64,
    /// EAPOL packets that had no effect.
    pub discarded: u64,
    /// SA Query requests that were answered.
    pub queries_answered: u64,
}

/// A frame that concerns the state of the association.
pub enum Incoming {
    /// A management frame, decrypted.
    Management { from: MacAddr, mpdu: Vec<u8> },
    /// An EAPOL packet, and whether it was sealed.
    Eapol {
        from: MacAddr,
        packet: Vec<u8>,
        sealed: bool,
    },
}

/// One end.
pub struct End {
    role: Role,
    pub own: MacAddr,
    /// The address of the access point.
    pub bssid: MacAddr,
    /// Whether both ends send QoS Data frames.
    pub qos: bool,
    /// Whether management frames are protected.
    pub mfp: bool,
    pub is_established: bool,
    sequence: u16,
    /// The last Sequence Control per transmitter and TID.
    seen: BTreeMap<(MacAddr, Option<u8>), u16>,
    sealing: Option<Sealing>,
    opening: Vec<Opening>,
    group_sealing: Option<Sealing>,
    group_opening: Vec<Opening>,
    /// The access point's key for management frames.
    integrity: Option<Integrity>,
    /// The access point's key for beacons.
    pub beacon_key: Option<Integrity>,
    /// The station's keys for management frames and beacons.
    checking: Vec<Integrity>,
    pub counts: Counts,
    pub out: Outbox,
}

impl End {
    /// An end without keys.
    pub fn new(role: Role, own: MacAddr, bssid: MacAddr) -> Self {
        Self {
            role,
            own,
            bssid,
            qos: false,
            mfp: false,
            is_established: false,
            sequence: 0,
            seen: BTreeMap::new(),
            sealing: None,
            opening: Vec::new(),
            group_sealing: None,
            group_opening: Vec::new(),
            integrity: None,
            beacon_key: None,
            checking: Vec::new(),
            counts: Counts::default(),
            out: Outbox::default(),
        }
    }

    /// Discards the keys of the association.
    pub fn forget(&mut self) {
        self.is_established = false;
        self.sealing = None;
        self.opening.clear();
        self.group_opening.clear();
        self.checking.clear();
    }

    /// The last packet numbers of the access point's keys for group addressed frames: data, management, beacons.
    pub fn group_numbers(&self) -> [u64; 3] {
        [
            self.group_sealing.as_ref().map_or(0, Sealing::last_pn),
            self.integrity.as_ref().map_or(0, Integrity::last_ipn),
            self.beacon_key.as_ref().map_or(0, Integrity::last_ipn),
        ]
    }

    pub fn next_sequence(&mut self) -> u16 {
        let sequence = self.sequence;
        self.sequence = (sequence + 1) % SequenceControl::MODULUS;
        sequence
    }

    /// Sends a management frame, under the keys if it is a robust one.
    pub fn manage(&mut self, to: MacAddr, body: Body<'_>) {
        let frame = Management {
            da: to,
            sa: self.own,
            bssid: self.bssid,
            sequence: self.next_sequence(),
            retry: false,
            protected: false,
            body,
        };
        let mut mpdu = vec![0; frame.len()];
        frame.emit(&mut mpdu);
        if self.mfp && self.is_established && is_robust(&mpdu) {
            if to.is_group() {
                if let Some(key) = &mut self.integrity {
                    mpdu = key.protect(&mpdu);
                }
            } else if let Some(key) = &mut self.sealing {
                let (header, body) = mpdu.split_at(MacHeader::LEN);
                mpdu = key.seal(header, body);
            }
        }
        self.out.frames.push(mpdu);
    }

    /// Sends an MSDU from `sa` to `da`.
    fn data(&mut self, [da, sa]: [MacAddr; 2], ethertype: EtherType, payload: &[u8], tid: u8, sealed: bool) {
        let is_ap = self.role == Role::Ap;
        let to = if is_ap { da } else { self.bssid };
        let header = DataHeader {
            to_ds: !is_ap,
            from_ds: is_ap,
            addr1: to,
            addr2: self.own,
            addr3: if is_ap { sa } else { da },
            // Group addressed frames of an access point are not QoS Data frames, because not all stations need QoS.
            qos: (self.qos && !to.is_group()).then(|| QosControl::new(tid, AckPolicy::Normal)),
            sequence: SequenceControl {
                number: self.next_sequence(),
                fragment: 0,
            },
            ..DataHeader::default()
        };
        let mut octets = vec![0; header.len()];
        header.emit(&mut octets);
        let mut body = vec![0; LlcSnap::LEN];
        LlcSnap { ethertype }.emit(&mut body);
        body.extend(payload);
        let key = if to.is_group() {
            self.group_sealing.as_mut()
        } else {
            self.sealing.as_mut()
        };
        let mpdu = match key.filter(|_| sealed) {
            Some(key) => key.seal(&octets, &body),
            None => [octets, body].concat(),
        };
        self.out.frames.push(mpdu);
    }

    /// Sends the host's Ethernet frame, once keys are installed.
    pub fn packet(&mut self, packet: &[u8]) {
        if !self.is_established || packet.len() < ETHERNET_B {
            return;
        }
        let address = |at: usize| MacAddr(packet[at..at + 6].try_into().expect("six octets"));
        let ethertype = EtherType(u16::from_be_bytes([packet[12], packet[13]]));
        self.counts.sent += 1;
        self.data(
            [address(0), address(6)],
            ethertype,
            &packet[ETHERNET_B..],
            0,
            true,
        );
    }

    /// Sends an EAPOL packet.
    pub fn eapol(&mut self, to: MacAddr, packet: &[u8], sealed: bool) {
        self.data([to, self.own], EtherType::EAPOL, packet, EAPOL_TID, sealed);
    }

    /// Executes what both state machines of handshakes ask for; returns the other outputs.
    pub fn apply(&mut self, output: Output) -> Option<Output> {
        match output {
            Output::Send { to, packet, sealed } => self.eapol(to, &packet, sealed),
            Output::InstallPairwise {
                key_id,
                suite,
                key,
                direction: Direction::Receive,
                ..
            } => self
                .opening
                .push(Opening::new(suite, &key, key_id, self.role, PacketNumber::ZERO)),
            Output::InstallPairwise {
                key_id, suite, key, ..
            } => {
                self.out.event(
                    "pairwise",
                    json!({ "cipher": suite.name(), "key_id": key_id.get() }),
                );
                self.sealing = Some(Sealing::new(suite, &key, key_id, self.role));
            }
            Output::Retire { key, .. } => self.opening.retain(|old| !old.is(&key)),
            Output::InstallGroup {
                key_id,
                suite,
                key,
                rsc,
                ..
            } => {
                self.out
                    .event("group", json!({ "cipher": suite.name(), "key_id": key_id.get() }));
                if self.role == Role::Ap {
                    self.group_sealing = Some(Sealing::new(suite, &key, key_id, self.role));
                } else {
                    self.group_opening.retain(|old| old.key_id() != key_id);
                    self.group_opening
                        .push(Opening::new(suite, &key, key_id, self.role, rsc));
                }
            }
            Output::RetireGroup { key_id, .. } => self.group_opening.retain(|old| old.key_id() != key_id),
            Output::InstallIntegrity {
                key_id,
                suite,
                key,
                ipn,
                ..
            } => {
                self.out.event(
                    "integrity",
                    json!({ "cipher": suite.name(), "key_id": key_id.get(), "of_beacons": key_id.is_for_beacons() }),
                );
                let key = Integrity::new(suite, &key, key_id, ipn);
                if self.role == Role::Ap {
                    self.integrity = Some(key);
                } else {
                    self.checking.retain(|old| old.key_id != key_id);
                    self.checking.push(key);
                }
            }
            Output::Established { .. } => {
                self.is_established = true;
                self.out.event("established", json!({}));
            }
            other => return Some(other),
        }
        None
    }

    /// Takes a frame from the air. Packets go to the host at once.
    pub fn receive(&mut self, mpdu: &[u8]) -> Option<Incoming> {
        let control = FrameControl::parse(mpdu).ok()?;
        let [to, from] = addresses(mpdu)?;
        if from == self.own || !(to == self.own || to.is_group()) || mpdu.len() < MacHeader::LEN {
            return None;
        }
        let tid = control
            .qos_offset()
            .and_then(|at| mpdu.get(at))
            .map(|octet| octet & 0x0f);
        let sequence = u16::from_le_bytes([mpdu[SEQUENCE_AT], mpdu[SEQUENCE_AT + 1]]);
        let last = self.seen.insert((from, tid), sequence);
        if control.has(FrameControl::RETRY) && last == Some(sequence) {
            return None;
        }
        match control.frame_type() {
            FrameType::Management => self.management(mpdu, to, from),
            FrameType::Data if control.is_data_with_body() => self.received_data(mpdu, to, from),
            _ => None,
        }
    }

    fn management(&mut self, mpdu: &[u8], to: MacAddr, from: MacAddr) -> Option<Incoming> {
        let is_protected = self.mfp && self.is_established;
        let mut plain = mpdu.to_vec();
        if is_sealed(mpdu) {
            let body = self.note(|end| open(&mut end.opening, mpdu))?;
            plain.truncate(MacHeader::LEN);
            plain.extend(body);
            let control = FrameControl::parse(mpdu)
                .ok()?
                .with(FrameControl::PROTECTED, false);
            plain[..2].copy_from_slice(&control.0.to_le_bytes());
        } else if is_protected && is_robust(mpdu) {
            if !to.is_group() {
                self.counts.unprotected += 1;
                return None;
            }
            self.note(|end| check(&mut end.checking, mpdu, false))?;
            plain.truncate(mpdu.len() - wlan_ciphers::Suite::BipCmac128.overhead());
        }
        if let Ok(Management {
            body:
                Body::Action {
                    category: CATEGORY_SA_QUERY,
                    rest: &[SA_QUERY_REQUEST, high, low, ..],
                },
            ..
        }) = Management::parse(&plain)
        {
            self.counts.queries_answered += 1;
            let rest = &[SA_QUERY_RESPONSE, high, low];
            self.manage(
                from,
                Body::Action {
                    category: CATEGORY_SA_QUERY,
                    rest,
                },
            );
            return None;
        }
        Some(Incoming::Management { from, mpdu: plain })
    }

    /// Checks a beacon of the station's access point, if beacons are protected.
    pub fn check_beacon(&mut self, mpdu: &[u8]) {
        if !self.checking.iter().any(|key| key.key_id.is_for_beacons()) {
            return;
        }
        match check(&mut self.checking, mpdu, true) {
            Ok(()) => self.counts.beacons_verified += 1,
            Err(_) => self.counts.beacons_rejected += 1,
        }
    }

    fn received_data(&mut self, mpdu: &[u8], to: MacAddr, from: MacAddr) -> Option<Incoming> {
        let header = DataHeader::parse(mpdu).ok()?;
        let [da, sa] = match self.role {
            Role::Ap if header.to_ds && !header.from_ds => [header.addr3, from],
            Role::Sta if header.from_ds && !header.to_ds && from == self.bssid => [to, header.addr3],
            _ => return None,
        };
        if sa == self.own {
            return None; // the access point sends the station's own group addressed frame to all stations
        }
        let body = if header.protected {
            self.note(|end| {
                let keys = if to.is_group() {
                    &mut end.group_opening
                } else {
                    &mut end.opening
                };
                open(keys, mpdu)
            })?
        } else {
            mpdu[header.len()..].to_vec()
        };
        let ethertype = LlcSnap::parse(&body).ok()?.ethertype;
        let payload = &body[LlcSnap::LEN..];
        if ethertype == EtherType::EAPOL {
            return Some(Incoming::Eapol {
                from,
                packet: payload.to_vec(),
                sealed: header.protected,
            });
        }
        if !header.protected {
            self.counts.unprotected += 1;
        } else if self.is_established {
            if to.is_group() {
                self.counts.group_received += 1;
            } else {
                self.counts.received += 1;
            }
            let EtherType(ethertype) = ethertype;
            let packet = [&da.0[..], &sa.0[..], &ethertype.to_be_bytes()[..], payload];
            self.out.packets.push(packet.concat());
        }
        None
    }

    /// Counts the frame if it was dropped.
    fn note<T>(&mut self, open: impl FnOnce(&mut Self) -> Result<T, Dropped>) -> Option<T> {
        let opened = open(self);
        match opened {
            Err(Dropped::Unopened) => self.counts.unopened += 1,
            Err(Dropped::Replay) => self.counts.replays += 1,
            Ok(_) => {}
        }
        opened.ok()
    }
}

/// Checks a frame with the key for its kind that fits.
fn check(keys: &mut [Integrity], mpdu: &[u8], is_beacon: bool) -> Result<(), Dropped> {
    let mut outcome = Err(Dropped::Unopened);
    for key in keys
        .iter_mut()
        .filter(|key| key.key_id.is_for_beacons() == is_beacon)
    {
        match key.check(mpdu) {
            Err(Dropped::Unopened) => {}
            decided => outcome = decided,
        }
    }
    outcome
}

/// Whether a management frame is robust (9.3.3.1, 12.6.19): Deauthentication, Disassociation and most Action frames.
fn is_robust(mpdu: &[u8]) -> bool {
    match Management::parse(mpdu) {
        Ok(Management { body, .. }) => match body {
            Body::Deauthentication { .. } | Body::Disassociation { .. } => true,
            Body::Action { category, .. } => !NOT_ROBUST.contains(&category),
            _ => false,
        },
        // The MME at the end of a group addressed frame is an element like others, so such a frame parses.
        Err(_) => false,
    }
}
