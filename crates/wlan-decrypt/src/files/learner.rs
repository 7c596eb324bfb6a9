//! Learns keys from the handshakes of a capture: collects the SSIDs of access points, derives their PMKs from the
//! passphrase, and records the handshakes.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use wlan_ciphers::Suite;
use wlan_frames::beacon::{ID_SSID, elements, push_element};
use wlan_frames::eapol::{Descriptor, KeyInfo};
use wlan_frames::frame_control::{
    SUBTYPE_ASSOCIATION_REQUEST, SUBTYPE_BEACON, SUBTYPE_PROBE_RESPONSE, SUBTYPE_REASSOCIATION_REQUEST,
};
use wlan_frames::rsn::{ID_RSN, RsnCapabilities, Selector};
use wlan_frames::{EapolKey, FrameControl, KeyData, MacAddr, MacHeader, RsnElement, WpaElement};
use wlan_rsn::psk::psk;
use wlan_rsn::{Akm, Key, Learned, Observer, Pmk, Protocol};

use crate::decap::{CaptureKey, Ends, KeyOwner, LinkCounts};

use super::{Finding, Passphrase, Secrets, Station};

/// Maximum number of access points, and of pairs of an access point and a station, that are stored.
const MAX_REMEMBERED: usize = 4096;
/// Maximum number of SSIDs per access point; each requires a PMK.
const MAX_SSIDS_OF_ONE: usize = 8;
/// Maximum number of PMKs derived from the passphrase; each takes a millisecond.
const MAX_PMKS: usize = 1024;
/// Octets of the longest packet that is kept: the longest MSDU (IEEE Std 802.11-2020, Table 9-25).
const MAX_PACKET_B: usize = 2304;
/// Maximum number of packets per conversation that wait for an SSID, and of replay counters per message.
const MAX_KEPT: usize = 16;

/// Learns keys from handshakes.
pub(super) struct Learner {
    observer: Observer,
    passphrase: Option<Passphrase>,
    ssid: Option<Vec<u8>>,
    /// Whether there are PMKs, which require no SSID.
    has_pmks: bool,
    networks: BTreeMap<MacAddr, Network>,
    /// Derived PMKs by SSID.
    pmks: HashMap<Vec<u8>, Pmk>,
    conversations: BTreeMap<(MacAddr, MacAddr), Conversation>,
    /// Group keys by access point.
    groups: BTreeMap<MacAddr, Group>,
}

/// The SSIDs of one access point.
#[derive(Default)]
struct Network {
    ssids: Vec<Vec<u8>>,
    /// Number of these SSIDs whose PMK was derived.
    tried: usize,
}

/// The group keys of one access point.
#[derive(Default)]
struct Group {
    keys: u64,
    suite: Option<Suite>,
    /// The most recent keys, to recognise a key that is sent to several stations.
    known: VecDeque<Key>,
}

/// The EAPOL-Key messages between a station and its access point.
#[derive(Default)]
struct Conversation {
    messages: [u64; 4],
    /// Replay counters of messages 1 to 3, which identify the messages of one handshake (12.7.2 d).
    counters: [VecDeque<u64>; 3],
    /// Packets, kept until a key is learned.
    packets: VecDeque<Vec<u8>>,
    akm: Option<Selector>,
    protocol: Option<Protocol>,
    keys: u64,
    last_key: Option<Key>,
    suite: Option<Suite>,
}

impl Learner {
    /// Creates a learner with these secrets. Returns the keys among them, which require no handshake, separately.
    pub(super) fn new(secrets: Secrets) -> (Vec<CaptureKey>, Learner) {
        let mut learner = Learner {
            observer: Observer::new(),
            has_pmks: !secrets.pmks.is_empty(),
            passphrase: None,
            ssid: secrets.ssid,
            networks: BTreeMap::new(),
            pmks: HashMap::new(),
            conversations: BTreeMap::new(),
            groups: BTreeMap::new(),
        };
        for pmk in secrets.pmks {
            learner.observer.add_pmk(None, pmk);
        }
        match (secrets.passphrase, &learner.ssid) {
            (Some(Passphrase::Psk(pmk)), _) => {
                learner.observer.add_pmk(None, pmk.clone());
                learner.passphrase = Some(Passphrase::Psk(pmk));
            }
            (Some(Passphrase::Characters(characters)), ssid) => {
                // The SSID may be hidden, so the PMK is tried with every access point.
                if let Some(psk) = ssid.as_ref().and_then(|ssid| psk(&characters, ssid).ok()) {
                    learner.observer.add_pmk(None, Pmk::of_psk(psk));
                }
                learner.passphrase = Some(Passphrase::Characters(characters));
            }
            (None, _) => {}
        }
        (secrets.keys, learner)
    }

    /// Whether there is a secret from which keys can be learned.
    pub(super) fn has_secrets(&self) -> bool {
        self.has_pmks || self.passphrase.is_some()
    }

    /// Records the SSID of a management frame. Returns the keys of earlier handshakes that waited for the SSID.
    pub(super) fn management(&mut self, mpdu: &[u8]) -> Vec<(KeyOwner, CaptureKey)> {
        if !self.has_secrets() {
            return Vec::new();
        }
        if let Some((bssid, capabilities)) = capabilities(mpdu) {
            self.observer.note_access_point(bssid, capabilities);
        }
        let Some((bssid, ssid)) = announced(mpdu) else {
            return Vec::new();
        };
        let is_known = self.networks.contains_key(&bssid);
        if !is_known && self.networks.len() == MAX_REMEMBERED {
            return Vec::new();
        }
        let network = self.networks.entry(bssid).or_default();
        if network.ssids.len() == MAX_SSIDS_OF_ONE || network.ssids.iter().any(|known| known == ssid) {
            return Vec::new();
        }
        network.ssids.push(ssid.to_vec());
        let waits = |conversation: &Conversation| !conversation.packets.is_empty();
        let ends = (bssid, MacAddr::default())..=(bssid, MacAddr::BROADCAST);
        let waiting: Vec<_> = self
            .conversations
            .range_mut(ends)
            .filter(|(_, conversation)| waits(conversation))
            .map(|(&ends, conversation)| (ends, std::mem::take(&mut conversation.packets)))
            .collect();
        if waiting.is_empty() {
            return Vec::new();
        }
        self.make_pmks(bssid);
        let mut keys = Vec::new();
        for (ends, packets) in waiting {
            for packet in packets {
                keys.extend(self.observe(ends, &packet));
                self.keep(ends, packet);
            }
        }
        keys
    }

    /// Processes an EAPOL packet. Returns the keys learned from it.
    pub(super) fn eapol(
        &mut self,
        bssid: MacAddr,
        station: MacAddr,
        packet: &[u8],
    ) -> Vec<(KeyOwner, CaptureKey)> {
        let Ok((key, len)) = EapolKey::parse_any(packet) else {
            return Vec::new();
        };
        let ends = (bssid, station);
        if len > MAX_PACKET_B
            || !self.has_secrets()
            || !self.conversations.contains_key(&ends) && self.conversations.len() == MAX_REMEMBERED
        {
            return Vec::new();
        }
        self.conversations.entry(ends).or_default().note(&key);
        if self.is_other_network(bssid) {
            return Vec::new();
        }
        self.make_pmks(bssid);
        let keys = self.observe(ends, packet);
        self.keep(ends, packet[..len].to_vec());
        keys
    }

    /// Whether the SSIDs of this access point are known and the requested SSID is not among them.
    fn is_other_network(&self, bssid: MacAddr) -> bool {
        let ssids = self
            .networks
            .get(&bssid)
            .map_or(&[][..], |network| &network.ssids);
        self.ssid
            .as_ref()
            .is_some_and(|ssid| !ssids.is_empty() && !ssids.contains(ssid))
    }

    /// Passes the PMK for each SSID of an access point to the observer.
    fn make_pmks(&mut self, bssid: MacAddr) {
        let (Some(Passphrase::Characters(characters)), None) = (&self.passphrase, &self.ssid) else {
            return;
        };
        let Some(network) = self.networks.get_mut(&bssid) else {
            return;
        };
        for ssid in &network.ssids[network.tried..] {
            if !self.pmks.contains_key(ssid)
                && self.pmks.len() < MAX_PMKS
                && let Ok(psk) = psk(characters, ssid)
            {
                self.pmks.insert(ssid.clone(), Pmk::of_psk(psk));
            }
            if let Some(pmk) = self.pmks.get(ssid) {
                self.observer.add_pmk(Some(bssid), pmk.clone());
            }
        }
        network.tried = network.ssids.len();
    }

    /// Keeps a packet until the SSID is known.
    fn keep(&mut self, ends: (MacAddr, MacAddr), packet: Vec<u8>) {
        let waits = matches!(self.passphrase, Some(Passphrase::Characters(_))) && self.ssid.is_none();
        if let Some(conversation) = self.conversations.get_mut(&ends)
            && conversation.keys == 0
            && waits
        {
            remember(&mut conversation.packets, packet);
        }
    }

    fn observe(&mut self, ends: (MacAddr, MacAddr), packet: &[u8]) -> Vec<(KeyOwner, CaptureKey)> {
        let learned = self.observer.packet(ends.0, ends.1, packet).unwrap_or_default();
        let mut keys = Vec::new();
        for one in learned {
            let (owner, suite, key, spp_amsdu) = match one {
                Learned::Pairwise {
                    bssid,
                    station,
                    suite,
                    key,
                    spp_amsdu,
                } => {
                    if let Some(conversation) = self.conversations.get_mut(&ends) {
                        let is_new = conversation.last_key.as_ref() != Some(&key);
                        conversation.keys += u64::from(is_new);
                        conversation.last_key = Some(key.clone());
                        conversation.suite = Some(suite);
                        conversation.packets = VecDeque::new();
                    }
                    (KeyOwner::Pairwise { bssid, station }, suite, key, spp_amsdu)
                }
                Learned::Group {
                    bssid,
                    key_id,
                    suite,
                    key,
                } => {
                    let group = self.groups.entry(bssid).or_default();
                    if group.known.contains(&key) {
                        continue;
                    }
                    group.keys += 1;
                    group.suite = Some(suite);
                    remember(&mut group.known, key.clone());
                    (KeyOwner::Group { bssid, key_id }, suite, key, false)
                }
                // Integrity keys are not required to read frames.
                Learned::Integrity { .. } => continue,
            };
            let key = CaptureKey::new(suite, key.as_octets());
            keys.extend(key.map(|key| (owner, key.with_spp_amsdu(spp_amsdu))));
        }
        keys
    }

    /// The result per station, in order of addresses.
    pub(super) fn stations(&self, links: impl Iterator<Item = (Ends, LinkCounts)>) -> Vec<Station> {
        if !self.has_secrets() {
            return Vec::new();
        }
        let mut all: BTreeMap<Ends, LinkCounts> = links.collect();
        for &(bssid, station) in self.conversations.keys() {
            all.entry(Ends::of(bssid, station)).or_default();
        }
        let nothing = Conversation::default();
        all.into_iter()
            .map(|(ends, counts)| {
                let Ends { bssid, station, peer } = ends;
                let conversation = self
                    .conversations
                    .get(&(bssid, station))
                    .filter(|_| peer.is_none())
                    .unwrap_or(&nothing);
                let (keys, suite, finding) = if peer.is_some() {
                    (0, None, Finding::Direct)
                } else if station == MacAddr::BROADCAST {
                    match self.groups.get(&bssid) {
                        Some(group) => (group.keys, group.suite, Finding::Learned),
                        None => (0, None, Finding::NoHandshake),
                    }
                } else {
                    let finding = self.finding(bssid, conversation);
                    (conversation.keys, conversation.suite, finding)
                };
                let network = self
                    .networks
                    .get(&bssid)
                    .filter(|network| !network.ssids.is_empty());
                let asked = || self.ssid.clone().filter(|_| finding == Finding::Learned);
                Station {
                    ends,
                    ssid: network.map(|network| network.ssids[0].clone()).or_else(asked),
                    akm: conversation.akm_name(),
                    suite,
                    messages: conversation.messages,
                    keys,
                    finding,
                    counts,
                }
            })
            .collect()
    }

    fn finding(&self, bssid: MacAddr, conversation: &Conversation) -> Finding {
        let akm = conversation
            .protocol
            .zip(conversation.akm)
            .and_then(|(protocol, akm)| Akm::from_selector(protocol, akm));
        let has_ssid = self
            .networks
            .get(&bssid)
            .is_some_and(|network| !network.ssids.is_empty());
        let needs_ssid = matches!(self.passphrase, Some(Passphrase::Characters(_))) && self.ssid.is_none();
        if conversation.keys > 0 {
            Finding::Learned
        } else if conversation.messages == [0; 4] {
            Finding::NoHandshake
        } else if self.is_other_network(bssid) {
            Finding::OtherNetwork
        } else if !conversation.is_enough() {
            Finding::HalfHandshake
        } else if akm.is_none() {
            Finding::UnknownSuites
        } else if akm.is_some_and(|akm| !akm.is_psk()) && !self.has_pmks {
            Finding::NotOfPassphrase
        } else if needs_ssid && !has_ssid && !self.has_pmks {
            Finding::NoSsid
        } else {
            Finding::WrongPassphrase
        }
    }

    /// The SSIDs seen.
    pub(super) fn ssids(&self) -> Vec<Vec<u8>> {
        let ssids = self.networks.values().flat_map(|network| &network.ssids);
        let ssids: BTreeSet<_> = ssids.collect();
        ssids.into_iter().take(MAX_REMEMBERED).cloned().collect()
    }
}

impl Conversation {
    /// Counts a packet.
    fn note(&mut self, key: &EapolKey<'_>) {
        let has = |mask| key.info.has(mask);
        if !has(KeyInfo::PAIRWISE) {
            return;
        }
        // Of the station's messages, only message 2 has key data. Only message 1 has no MIC.
        let number = match (has(KeyInfo::ACK), has(KeyInfo::MIC)) {
            (true, false) => 1,
            (false, _) if !key.data.is_empty() => 2,
            (true, true) => 3,
            (false, _) => 4,
        };
        self.messages[number - 1] += 1;
        if let Some(counters) = self.counters.get_mut(number - 1) {
            remember(counters, key.replay_counter);
        }
        if number != 2 {
            return;
        }
        for item in KeyData::each(key.data).take_while(Result::is_ok).flatten() {
            let (protocol, akms) = match (key.descriptor, item) {
                (Descriptor::Rsn, KeyData::Rsn(element)) => (
                    Protocol::Rsn,
                    RsnElement::parse(element).ok().and_then(|rsn| rsn.akms),
                ),
                (Descriptor::Wpa, KeyData::Wpa(element)) => (
                    Protocol::Wpa,
                    WpaElement::parse(element).ok().and_then(|wpa| wpa.akms),
                ),
                _ => continue,
            };
            self.protocol = Some(protocol);
            self.akm = akms.and_then(<[Selector]>::first).copied();
        }
    }

    /// Whether the capture has message 2 and either message 1 or message 3 of the same handshake.
    fn is_enough(&self) -> bool {
        let [first, second, third] = &self.counters;
        second
            .iter()
            .any(|counter| first.contains(counter) || third.contains(&counter.wrapping_add(1)))
    }

    fn akm_name(&self) -> Option<String> {
        let (protocol, selector) = self.protocol.zip(self.akm)?;
        let [a, b, c, kind] = selector;
        Some(match Akm::from_selector(protocol, selector) {
            Some(akm) => akm.name().into(),
            None => format!("{a:02x}-{b:02x}-{c:02x}:{kind}"),
        })
    }
}

/// The BSSID and SSID of a management frame: a beacon or probe response (9.3.3.2, 9.3.3.10), an association or
/// reassociation request (9.3.3.5, 9.3.3.7). `None` if the SSID is hidden: empty or all zeros.
fn announced(mpdu: &[u8]) -> Option<(MacAddr, &[u8])> {
    let header = MacHeader::parse(mpdu).ok()?;
    let fc = header.frame_control();
    if fc.has(FrameControl::PROTECTED) {
        return None;
    }
    let fixed_len = match fc.subtype() {
        SUBTYPE_ASSOCIATION_REQUEST => 4,
        SUBTYPE_REASSOCIATION_REQUEST => 10,
        SUBTYPE_PROBE_RESPONSE | SUBTYPE_BEACON => 12,
        _ => return None,
    };
    let body = mpdu.get(fc.header_len()? + fixed_len..)?;
    let (_, ssid) = elements(body)
        .take_while(Result::is_ok)
        .flatten()
        .find(|&(id, _)| id == ID_SSID)?;
    (ssid.len() <= 32 && ssid.iter().any(|&octet| octet != 0)).then_some((header.addr3(), ssid))
}

/// The BSSID and RSN Capabilities of a beacon or probe response (9.3.3.2, 9.3.3.10) of a network with RSN.
fn capabilities(mpdu: &[u8]) -> Option<(MacAddr, RsnCapabilities)> {
    let header = MacHeader::parse(mpdu).ok()?;
    let fc = header.frame_control();
    if !matches!(fc.subtype(), SUBTYPE_PROBE_RESPONSE | SUBTYPE_BEACON) {
        return None;
    }
    let body = mpdu.get(fc.header_len()? + 12..)?;
    let (_, rsn) = elements(body)
        .take_while(Result::is_ok)
        .flatten()
        .find(|&(id, _)| id == ID_RSN)?;
    let mut element = Vec::new();
    push_element(&mut element, ID_RSN, rsn);
    let rsn = RsnElement::parse(&element).ok()?;
    Some((header.addr3(), rsn.capabilities_or_default()))
}

/// Appends an item and removes the oldest if the queue is full.
fn remember<T>(kept: &mut VecDeque<T>, one: T) {
    if kept.len() == MAX_KEPT {
        kept.pop_front();
    }
    kept.push_back(one);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Message 1 of a handshake with key data of this length.
    fn message_1(data: &[u8]) -> Vec<u8> {
        let key = EapolKey {
            version: 2,
            descriptor: Descriptor::Rsn,
            info: KeyInfo(0x008a),
            key_len: 16,
            replay_counter: 1,
            nonce: [1; 32],
            iv: [0; 16],
            rsc: [0; 8],
            mic: &[0; 16],
            data,
        };
        let mut packet = vec![0; key.len()];
        key.emit(&mut packet);
        packet
    }

    #[test]
    fn packets_longer_than_an_msdu_are_not_kept() {
        let (bssid, station) = (MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2]));
        let secrets = Secrets {
            passphrase: Some(Passphrase::parse(b"password").unwrap()),
            ..Secrets::default()
        };
        let (_, mut learner) = Learner::new(secrets);
        for (len, kept) in [(60_000, 0), (20, 1)] {
            assert!(
                learner
                    .eapol(bssid, station, &message_1(&vec![7; len]))
                    .is_empty()
            );
            let packets: usize = learner.conversations.values().map(|of| of.packets.len()).sum();
            assert_eq!(packets, kept);
        }
    }
}
