//! One end of a BSS: its keys, and the frames that it sends and receives under them.

use std::collections::BTreeMap;
use std::time::Duration;

use wlan_ciphers::PacketNumber;
use wlan_frames::management::{Body, SaQuery};
use wlan_frames::{
    AckPolicy, DataHeader, EtherType, FrameControl, FrameType, LlcSnap, MacAddr, MacHeader, Management,
    QosControl, Role, SequenceControl,
};
use wlan_rsn::output::Direction;
use wlan_rsn::{Akm, Association, Output, sae};

use crate::event::Event;
use crate::keys::{Dropped, Integrity, Opening, Sealing, addresses, is_sealed, open};
use crate::sa_query::{Asked, Query};

/// The TID of EAPOL frames, as in Linux.
const EAPOL_TID: u8 = 7;
/// Categories of Action frames that are not robust (Table 9-51): public, HT, unprotected WNM, vendor specific, ...
const NOT_ROBUST: [u8; 6] = [4, 7, 11, 15, 20, 127];
/// Offset of Sequence Control in a Data or management frame (9.2.4.4).
const SEQUENCE_AT: usize = 22;
/// Transmitters and TIDs whose last sequence number is kept. Anyone can send under any address.
const SEEN_MAX: usize = 1 << 14;
/// Octets of an Ethernet header.
const ETHERNET_B: usize = 14;

/// The output of an end.
#[derive(Default)]
pub struct Outbox {
    /// MPDUs to put on the air, without FCS.
    pub frames: Vec<Vec<u8>>,
    /// Ethernet frames for the host.
    pub packets: Vec<Vec<u8>>,
    /// Changes of associations and keys, each with the other end.
    pub events: Vec<(MacAddr, Event)>,
}

/// Frames by their fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// A frame that concerns the state of an association.
pub(crate) enum Incoming {
    /// A management frame, decrypted.
    Management { from: MacAddr, mpdu: Vec<u8> },
    /// An EAPOL packet, and whether it was sealed.
    Eapol {
        from: MacAddr,
        packet: Vec<u8>,
        sealed: bool,
    },
}

/// The other end of an association, and the keys for its frames.
#[derive(Default)]
pub(crate) struct Peer {
    /// Association identifier.
    pub aid: u16,
    /// Whether both ends send QoS Data frames.
    pub qos: bool,
    /// Whether management frames are protected.
    pub mfp: bool,
    /// Whether Data frames are not protected by keys of this end.
    pub is_open: bool,
    pub is_established: bool,
    sealing: Option<Sealing>,
    opening: Vec<Opening>,
    /// A query whether the peer has its keys.
    query: Option<Query>,
}

impl Peer {
    /// A peer without keys. Without an association of RSN or WPA, its Data frames are not protected.
    pub fn new(aid: u16, qos: bool, association: Option<&Association>) -> Self {
        Self {
            aid,
            qos,
            mfp: association.is_some_and(|association| association.group_management.is_some()),
            is_open: association.is_none(),
            ..Self::default()
        }
    }
}

/// The group keys of a link: the access point seals, its stations open.
#[derive(Default)]
struct GroupKeys {
    sealing: Option<Sealing>,
    opening: Vec<Opening>,
    /// The access point's key for management frames.
    integrity: Option<Integrity>,
    /// The station's keys for management frames and beacons.
    checking: Vec<Integrity>,
}

/// One end: an access point with its stations, or a station with its access point.
pub struct End {
    role: Role,
    pub(crate) own: MacAddr,
    /// The address of the access point; the broadcast address while a station searches.
    pub(crate) bssid: MacAddr,
    /// Data frames share the counter of management frames.
    sequence: u16,
    /// The identifier of the last SA Query.
    transaction: u16,
    /// The last Sequence Control per transmitter and TID.
    seen: BTreeMap<(MacAddr, Option<u8>), u16>,
    pub(crate) peers: BTreeMap<MacAddr, Peer>,
    group: GroupKeys,
    pub(crate) counts: Counts,
    pub(crate) out: Outbox,
}

impl End {
    /// An end without keys.
    pub(crate) fn new(role: Role, own: MacAddr, bssid: MacAddr) -> Self {
        Self {
            role,
            own,
            bssid,
            sequence: 0,
            transaction: 0,
            seen: BTreeMap::new(),
            peers: BTreeMap::new(),
            group: GroupKeys::default(),
            counts: Counts::default(),
            out: Outbox::default(),
        }
    }

    /// The output since the last call.
    pub fn take_output(&mut self) -> Outbox {
        std::mem::take(&mut self.out)
    }

    /// Frames by their fate.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The peers of all associations.
    pub fn peers(&self) -> impl Iterator<Item = MacAddr> {
        self.peers.keys().copied()
    }

    /// The sequence number of the next frame.
    pub fn sequence(&self) -> u16 {
        self.sequence
    }

    /// The newest pairwise key of the association with `peer`, once data may flow, as it seals and as it opens frames.
    pub fn pairwise_key(&self, peer: MacAddr) -> Option<(&Sealing, &Opening)> {
        let peer = self.established(peer)?;
        Some((peer.sealing.as_ref()?, peer.opening.last()?))
    }

    pub(crate) fn report(&mut self, peer: MacAddr, event: Event) {
        self.out.events.push((peer, event));
    }

    fn established(&self, peer: MacAddr) -> Option<&Peer> {
        self.peers.get(&peer).filter(|peer| peer.is_established)
    }

    /// Whether data may flow between this station and its access point.
    pub(crate) fn is_established(&self) -> bool {
        self.established(self.bssid).is_some()
    }

    /// Whether management frames of the association with `peer` are protected.
    pub(crate) fn protects_management(&self, peer: MacAddr) -> bool {
        self.established(peer).is_some_and(|peer| peer.mfp)
    }

    /// Discards the keys of all associations, and the group keys of the access point.
    pub(crate) fn forget(&mut self) {
        self.peers.clear();
        self.group = GroupKeys::default();
    }

    /// The last packet numbers of the access point's keys for group addressed frames: data, management.
    pub(crate) fn group_numbers(&self) -> [u64; 2] {
        let group = self.group.sealing.as_ref().map(Sealing::last_pn);
        let integrity = self.group.integrity.as_ref().map(Integrity::last_ipn);
        [group, integrity].map(|last| last.map_or(0, PacketNumber::get))
    }

    fn next_sequence(&mut self) -> u16 {
        let sequence = self.sequence;
        self.sequence = (sequence + 1) % SequenceControl::MODULUS;
        sequence
    }

    /// Sends a management frame, under the keys if it is a robust one.
    pub(crate) fn manage(&mut self, to: MacAddr, body: Body<'_>) {
        let frame = Management {
            da: to,
            sa: self.own,
            bssid: self.bssid,
            sequence: self.next_sequence(),
            retry: false,
            protected: false,
            body,
        };
        let mut mpdu = frame.to_vec();
        if is_robust(&mpdu) {
            let peer = self
                .peers
                .get_mut(&to)
                .filter(|peer| peer.mfp && peer.is_established);
            if to.is_group() {
                if let Some(key) = &mut self.group.integrity {
                    mpdu.resize(mpdu.len() + key.overhead(), 0);
                    key.protect(&mut mpdu);
                }
            } else if let Some(key) = peer.and_then(|peer| peer.sealing.as_mut()) {
                let (header, body) = mpdu.split_at(MacHeader::LEN);
                mpdu = key.seal(header, body);
            }
        }
        self.out.frames.push(mpdu);
    }

    /// Sends a step of Open System authentication (12.3.3.2).
    pub(crate) fn authenticate(&mut self, to: MacAddr, algorithm: u16, transaction: u16, status: u16) {
        let rest = &[];
        self.manage(
            to,
            Body::Authentication {
                algorithm,
                transaction,
                status,
                rest,
            },
        );
    }

    /// Sends the frames of an SAE exchange.
    pub(crate) fn authenticate_sae(&mut self, to: MacAddr, reply: &sae::Reply) {
        for body in &reply.frames {
            self.manage(
                to,
                Body::authentication(body).expect("SAE builds complete frames"),
            );
        }
    }

    /// Sends a Deauthentication frame.
    pub(crate) fn deauthenticate(&mut self, to: MacAddr, reason: u16) {
        let elements = &[];
        self.manage(to, Body::Deauthentication { reason, elements });
    }

    /// Asks a peer whether it has its keys, unless a query is in progress.
    pub(crate) fn start_query(&mut self, now: Duration, peer: MacAddr) {
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.query.get_or_insert_with(|| Query::new(now));
        }
    }

    /// Sends the requests of queries that are due. Returns the peers that do not answer.
    pub(crate) fn query_stations(&mut self, now: Duration) -> Vec<MacAddr> {
        let (mut asked, mut gone) = (Vec::new(), Vec::new());
        for (&address, peer) in &mut self.peers {
            match peer.query.as_mut().map(|query| query.poll(now)) {
                Some(Asked::Ask) => asked.push(address),
                Some(Asked::Gone) => gone.push(address),
                Some(Asked::Wait) | None => {}
            }
        }
        for address in asked {
            self.transaction = self.transaction.wrapping_add(1);
            let (category, rest) = (SaQuery::CATEGORY, &SaQuery::request(self.transaction).emit());
            self.manage(address, Body::Action { category, rest });
        }
        gone
    }

    /// The time at which the next query requires an action.
    pub(crate) fn next_query(&self) -> Option<Duration> {
        let queries = self.peers.values().filter_map(|peer| peer.query.as_ref());
        queries.map(Query::due).min()
    }

    /// Sends an MSDU from `sa` to `da`.
    fn data(&mut self, [da, sa]: [MacAddr; 2], ethertype: EtherType, payload: &[u8], tid: u8, sealed: bool) {
        let is_ap = self.role == Role::Ap;
        let to = if is_ap { da } else { self.bssid };
        let number = self.next_sequence();
        let peer = self.peers.get_mut(&to);
        let header = DataHeader {
            to_ds: !is_ap,
            from_ds: is_ap,
            addr1: to,
            addr2: self.own,
            addr3: if is_ap { sa } else { da },
            // Group addressed frames of an access point are not QoS Data frames, because not all stations need QoS.
            qos: peer
                .as_ref()
                .is_some_and(|peer| peer.qos)
                .then(|| QosControl::new(tid, AckPolicy::Normal)),
            sequence: SequenceControl { number, fragment: 0 },
            ..DataHeader::default()
        };
        let mut octets = vec![0; header.len()];
        header.emit(&mut octets);
        let mut body = vec![0; LlcSnap::LEN];
        LlcSnap { ethertype }.emit(&mut body);
        body.extend(payload);
        let key = if to.is_group() {
            self.group.sealing.as_mut()
        } else {
            peer.and_then(|peer| peer.sealing.as_mut())
        };
        let mpdu = match key.filter(|_| sealed) {
            Some(key) => key.seal(&octets, &body),
            None => [octets, body].concat(),
        };
        self.out.frames.push(mpdu);
    }

    /// Sends the host's Ethernet frame, once keys are installed. An access point drops frames for other hosts than its
    /// stations.
    pub fn packet(&mut self, packet: &[u8]) {
        if packet.len() < ETHERNET_B {
            return;
        }
        let address = |at: usize| MacAddr(packet[at..at + 6].try_into().expect("six octets"));
        let is_reachable = match self.role {
            Role::Ap if address(0).is_group() => self.peers.values().any(|peer| peer.is_established),
            Role::Ap => self.established(address(0)).is_some(),
            Role::Sta => self.is_established(),
        };
        if !is_reachable {
            return;
        }
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
    fn eapol(&mut self, to: MacAddr, packet: &[u8], sealed: bool) {
        self.data([to, self.own], EtherType::EAPOL, packet, EAPOL_TID, sealed);
    }

    /// Executes what both state machines of handshakes ask for; returns the other outputs.
    pub(crate) fn apply(&mut self, output: Output) -> Option<Output> {
        match output {
            Output::Send { to, packet, sealed } => self.eapol(to, &packet, sealed),
            Output::InstallPairwise { peer, key: new } => {
                let (role, suite, key_id) = (self.role, new.suite, new.key_id);
                let keys = self.peers.get_mut(&peer)?;
                if new.direction == Direction::Receive {
                    keys.opening
                        .push(Opening::new(suite, &new.key, key_id, role, PacketNumber::ZERO));
                } else {
                    keys.sealing = Some(Sealing::new(suite, &new.key, key_id, role));
                    self.report(peer, Event::Pairwise(suite, key_id));
                }
            }
            Output::Retire { peer, key } => {
                let keys = self.peers.get_mut(&peer)?;
                keys.opening.retain(|old| *old.key() != key);
            }
            Output::InstallGroup { key: new, .. } => {
                let (role, suite, key_id) = (self.role, new.suite, new.key_id);
                if role == Role::Ap {
                    self.group.sealing = Some(Sealing::new(suite, &new.key, key_id, role));
                } else {
                    let opening = &mut self.group.opening;
                    opening.retain(|old| old.key_id() != key_id);
                    opening.push(Opening::new(suite, &new.key, key_id, role, new.rsc));
                }
                self.report(self.bssid, Event::Group(suite, key_id));
            }
            Output::RetireGroup { key_id, .. } => self.group.opening.retain(|old| old.key_id() != key_id),
            Output::InstallIntegrity {
                key_id,
                suite,
                key,
                ipn,
                ..
            } => {
                let key = Integrity::new(suite, &key, key_id, ipn);
                if self.role == Role::Ap {
                    self.group.integrity = Some(key);
                } else {
                    self.group.checking.retain(|old| old.key_id != key_id);
                    self.group.checking.push(key);
                }
                self.report(self.bssid, Event::Integrity(suite, key_id));
            }
            Output::Established { peer } => self.establish(peer),
            other => return Some(other),
        }
        None
    }

    /// Adds an association without keys. Without RSN and WPA, data may flow at once.
    pub(crate) fn associate(&mut self, to: MacAddr, peer: Peer, akm: Option<Akm>) {
        let (mfp, qos) = (peer.mfp, peer.qos);
        self.report(to, Event::Associated { akm, mfp, qos });
        self.peers.insert(to, peer);
        if akm.is_none() {
            self.establish(to);
        }
    }

    /// Lets data flow.
    fn establish(&mut self, peer: MacAddr) {
        if let Some(of_peer) = self.peers.get_mut(&peer) {
            of_peer.is_established = true;
            self.report(peer, Event::Established);
        }
    }

    /// Takes a frame from the air. Packets go to the host at once.
    pub(crate) fn receive(&mut self, mpdu: &[u8]) -> Option<Incoming> {
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
        if self.seen.len() >= SEEN_MAX {
            self.seen.clear();
        }
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
        let mut plain = mpdu.to_vec();
        if is_sealed(mpdu) {
            let body = self.note(|end| end.open_pairwise(from, mpdu))?;
            plain.truncate(MacHeader::LEN);
            plain.extend(body);
            let control = FrameControl::parse(mpdu)
                .ok()?
                .with(FrameControl::PROTECTED, false);
            plain[..2].copy_from_slice(&control.0.to_le_bytes());
        } else if self.protects_management(from) && is_robust(mpdu) {
            if !to.is_group() {
                self.counts.unprotected += 1;
                return None;
            }
            let mme = self.note(|end| check(&mut end.group.checking, mpdu, false))?;
            plain.truncate(mpdu.len() - mme);
        }
        if let Ok(frame) = Management::parse(&plain)
            && let Body::Action { category, rest } = frame.body
            && let Some(response) = SaQuery::parse(category, rest).and_then(SaQuery::response)
        {
            self.counts.queries_answered += 1;
            let rest = &response.emit();
            self.manage(from, Body::Action { category, rest });
            return None;
        }
        Some(Incoming::Management { from, mpdu: plain })
    }

    /// Checks a beacon of the station's access point, if beacons are protected.
    pub(crate) fn check_beacon(&mut self, mpdu: &[u8]) {
        if !self.group.checking.iter().any(|key| key.key_id.is_for_beacons()) {
            return;
        }
        match check(&mut self.group.checking, mpdu, true) {
            Ok(_) => self.counts.beacons_verified += 1,
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
            self.note(|end| match to.is_group() {
                true => open(&mut end.group.opening, mpdu),
                false => end.open_pairwise(from, mpdu),
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
        let peer = self.established(from);
        if !header.protected && !peer.is_some_and(|peer| peer.is_open) {
            self.counts.unprotected += 1;
        } else if peer.is_some() {
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

    fn open_pairwise(&mut self, from: MacAddr, mpdu: &[u8]) -> Result<Vec<u8>, Dropped> {
        let peer = self.peers.get_mut(&from).ok_or(Dropped::Unopened)?;
        let opened = open(&mut peer.opening, mpdu)?;
        // Any new authentic frame shows that the peer has its keys.
        peer.query.take_if(|query| query.was_asked());
        Ok(opened)
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

/// Checks a frame with the key for its kind that fits; returns the length of its MME in octets.
fn check(keys: &mut [Integrity], mpdu: &[u8], is_beacon: bool) -> Result<usize, Dropped> {
    let mut outcome = Err(Dropped::Unopened);
    for key in keys
        .iter_mut()
        .filter(|key| key.key_id.is_for_beacons() == is_beacon)
    {
        match key.check(mpdu) {
            Err(Dropped::Unopened) => {}
            decided => outcome = decided.map(|()| key.overhead()),
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
