//! Keys from a capture, given the passphrase.
//!
//! The observer reads captured EAPOL-Key packets between an access point and a station, in any order and with gaps.
//! It derives a PTK as soon as it has an ANonce (message 1 or 3) and an SNonce (message 2); the MIC of message 2
//! confirms the PTK. It extracts the group keys from message 3 and from group messages. Ciphers and key management
//! are read from the element in message 2, so no beacon is required. Message 3 contains the capabilities of the
//! access point. If message 3 is missing, [`Observer::note_access_point`] supplies them.
//!
//! Packets of a rekey are encrypted: decrypt them with the keys learned so far, then pass them to the observer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use wlan_ciphers::{IntegrityKeyId, KeyId, Suite};
use wlan_frames::eapol::{Descriptor, EapolKey, KeyInfo};
use wlan_frames::rsn::RsnCapabilities;
use wlan_frames::{FrameError, MacAddr, RsnElement};

use crate::association::Chosen;
use crate::message::{GroupKey, Received, elements, integrity_keys};
use crate::protection::{Inputs, Protection, Ptk};
use crate::{Association, Elements, Key, Pmk, Protocol};

/// Maximum number of remembered pairs of access point and station, and of remembered access points.
const MAX_CONVERSATIONS: usize = 4096;
/// Maximum number of remembered nonces, messages without a PTK, and PTKs per pair. It covers all retransmissions.
const MAX_REMEMBERED: usize = 8;

/// A learned key. Each key is reported once; a pairwise key again if message 3 reveals that SPP A-MSDUs are in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Learned {
    /// The temporal key between an access point and a station.
    Pairwise {
        /// The access point.
        bssid: MacAddr,
        /// The station.
        station: MacAddr,
        /// Cipher of the key.
        suite: Suite,
        /// The key, in the layout of `wlan-ciphers`.
        key: Key,
        /// Both ends support SPP A-MSDUs (9.4.2.24.4): the MIC covers A-MSDU Present (12.5.3.3.3).
        spp_amsdu: bool,
    },
    /// A group key of an access point.
    Group {
        /// The access point.
        bssid: MacAddr,
        /// Key ID.
        key_id: KeyId,
        /// Cipher of the key.
        suite: Suite,
        /// The key, in the layout of `wlan-ciphers`.
        key: Key,
    },
    /// A key for group addressed management frames, or for beacons.
    Integrity {
        /// The access point.
        bssid: MacAddr,
        /// Key ID: 4 or 5, or 6 or 7 for beacons.
        key_id: IntegrityKeyId,
        /// Cipher of the key.
        suite: Suite,
        /// The key.
        key: Key,
    },
}

/// Counts of packets by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// EAPOL-Key packets.
    pub packets: u64,
    /// Messages 2, including retransmissions.
    pub answers: u64,
    /// Messages 2 with unsupported suites, such as fast transition.
    pub unknown_suites: u64,
    /// Messages 2 for which a key was found.
    pub verified: u64,
    /// Messages 2 not verified so far: the passphrase is wrong, or messages 1 and 3 are missing.
    pub open: u64,
}

/// Learns keys from captured handshakes.
#[derive(Default)]
pub struct Observer {
    pmks: Vec<(Option<MacAddr>, Pmk)>,
    /// Access points that advertise support for SPP A-MSDUs.
    spp_amsdu: BTreeSet<MacAddr>,
    conversations: BTreeMap<(MacAddr, MacAddr), Conversation>,
    /// The keys of `conversations`, oldest first.
    order: VecDeque<(MacAddr, MacAddr)>,
    counts: Counts,
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer")
            .field("pmks", &self.pmks.len())
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Conversation {
    anonces: VecDeque<[u8; 32]>,
    /// Messages 2 for which no key was found.
    answers: VecDeque<Answer>,
    sessions: VecDeque<Session>,
    /// Messages 3 and group messages that no PTK verifies.
    unread: VecDeque<Vec<u8>>,
    /// Group keys already reported.
    group: VecDeque<Key>,
}

struct Answer {
    snonce: [u8; 32],
    packet: Vec<u8>,
    association: Association,
}

struct Session {
    ptk: Ptk,
    protection: Protection,
    association: Association,
    /// Both ends are known to support SPP A-MSDUs.
    spp_amsdu: bool,
}

impl Session {
    fn learned(&self, (bssid, station): (MacAddr, MacAddr)) -> Learned {
        Learned::Pairwise {
            bssid,
            station,
            suite: self.association.pairwise,
            key: self.ptk.tk(),
            spp_amsdu: self.spp_amsdu,
        }
    }
}

impl Observer {
    /// Creates an observer without keys.
    #[must_use]
    pub fn new() -> Observer {
        Observer::default()
    }

    /// Adds a PMK for handshakes with one access point or with any. A passphrase has a different PMK for each SSID.
    pub fn add_pmk(&mut self, bssid: Option<MacAddr>, pmk: Pmk) {
        self.pmks.push((bssid, pmk));
    }

    /// Records the RSN Capabilities from a beacon or probe response of an access point, for later handshakes.
    pub fn note_access_point(&mut self, bssid: MacAddr, capabilities: RsnCapabilities) {
        if capabilities.has(RsnCapabilities::SPP_AMSDU_CAPABLE) && self.spp_amsdu.len() < MAX_CONVERSATIONS {
            self.spp_amsdu.insert(bssid);
        }
    }

    /// The counts of packets so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let open = self
            .conversations
            .values()
            .map(|one| one.answers.len() as u64)
            .sum();
        Counts { open, ..self.counts }
    }

    /// Reads an EAPOL-Key packet between an access point and a station, in either direction, and returns newly
    /// learned keys.
    ///
    /// # Errors
    /// [`FrameError`] if it is not an EAPOL-Key packet.
    pub fn packet(
        &mut self,
        bssid: MacAddr,
        station: MacAddr,
        packet: &[u8],
    ) -> Result<Vec<Learned>, FrameError> {
        let (key, len) = EapolKey::parse_any(packet)?;
        let packet = &packet[..len];
        self.counts.packets += 1;
        let of = (bssid, station);
        if !self.conversations.contains_key(&of) {
            if self.order.len() == MAX_CONVERSATIONS
                && let Some(oldest) = self.order.pop_front()
            {
                self.conversations.remove(&oldest);
            }
            self.order.push_back(of);
        }
        let spp_amsdu = self.spp_amsdu.contains(&bssid);
        let conversation = self.conversations.entry(of).or_default();
        let mut learned = Vec::new();
        let from_ap = key.info.has(KeyInfo::ACK) && !key.info.has(KeyInfo::REQUEST);
        let pairwise = key.info.has(KeyInfo::PAIRWISE);
        match (from_ap, pairwise) {
            (true, _) => {
                if pairwise && !conversation.anonces.contains(&key.nonce) {
                    remember(&mut conversation.anonces, key.nonce);
                    conversation.derive(of, &self.pmks, spp_amsdu, &mut self.counts, &mut learned);
                }
                if key.info.has(KeyInfo::MIC) && !conversation.read(of, packet, &mut learned) {
                    remember(&mut conversation.unread, packet.to_vec());
                }
            }
            // Message 4 and answers to group messages have no key data.
            (false, true) if key.info.has(KeyInfo::MIC) && !key.data.is_empty() => {
                self.counts.answers += 1;
                match association(&key) {
                    Some(association) => {
                        let answer = Answer {
                            snonce: key.nonce,
                            packet: packet.to_vec(),
                            association,
                        };
                        remember(&mut conversation.answers, answer);
                        conversation.derive(of, &self.pmks, spp_amsdu, &mut self.counts, &mut learned);
                    }
                    None => self.counts.unknown_suites += 1,
                }
            }
            (false, _) => {}
        }
        Ok(learned)
    }
}

impl Conversation {
    /// Searches for the PTK of every message 2 that has none. `spp_amsdu` states that the access point is known to
    /// support SPP A-MSDUs.
    fn derive(
        &mut self,
        of: (MacAddr, MacAddr),
        pmks: &[(Option<MacAddr>, Pmk)],
        spp_amsdu: bool,
        counts: &mut Counts,
        learned: &mut Vec<Learned>,
    ) {
        let (bssid, station) = of;
        let mut found = Vec::new();
        let anonces = &self.anonces;
        self.answers.retain(|answer| {
            let session = find(bssid, station, answer, anonces, pmks);
            let is_open = session.is_none();
            found.extend(session);
            is_open
        });
        for mut session in found {
            counts.verified += 1;
            let key = session.ptk.tk();
            if self.sessions.iter().any(|known| known.ptk.tk() == key) {
                continue;
            }
            session.spp_amsdu = spp_amsdu && is_spp_amsdu_capable(&session.association.station.rsn);
            learned.push(session.learned(of));
            remember(&mut self.sessions, session);
            for packet in std::mem::take(&mut self.unread) {
                if !self.read(of, &packet, learned) {
                    remember(&mut self.unread, packet);
                }
            }
        }
    }

    /// Extracts the group keys from message 3 or a group message. Returns false if no PTK verifies the message.
    fn read(&mut self, of: (MacAddr, MacAddr), packet: &[u8], learned: &mut Vec<Learned>) -> bool {
        let (bssid, _) = of;
        for session in self.sessions.iter_mut().rev() {
            let Ok(received) = Received::parse(session.protection, packet) else {
                continue;
            };
            if received.verify(&session.ptk).is_err() {
                continue;
            }
            let Ok(contents) = received.contents(&session.ptk, &session.association) else {
                return true;
            };
            if !session.spp_amsdu
                && contents.rsn.as_deref().is_some_and(is_spp_amsdu_capable)
                && is_spp_amsdu_capable(&session.association.station.rsn)
            {
                session.spp_amsdu = true;
                learned.push(session.learned(of));
            }
            let association = &session.association;
            if let Some(gtk) = contents.gtk
                && !self.group.contains(&gtk.key)
                && let Some(key_id) = u8::try_from(gtk.key_id).ok().and_then(KeyId::new)
            {
                remember(&mut self.group, gtk.key.clone());
                learned.push(Learned::Group {
                    bssid,
                    key_id,
                    suite: association.group,
                    key: gtk.key,
                });
            }
            for (key_id, GroupKey { key, .. }) in integrity_keys(contents.igtk, contents.bigtk) {
                if let Some(suite) = association.group_management
                    && !self.group.contains(&key)
                {
                    remember(&mut self.group, key.clone());
                    learned.push(Learned::Integrity {
                        bssid,
                        key_id,
                        suite,
                        key,
                    });
                }
            }
            return true;
        }
        false
    }
}

/// Finds the PMK and ANonce under which the MIC of message 2 is correct.
fn find(
    bssid: MacAddr,
    station: MacAddr,
    answer: &Answer,
    anonces: &VecDeque<[u8; 32]>,
    pmks: &[(Option<MacAddr>, Pmk)],
) -> Option<Session> {
    let association = &answer.association;
    for (_, pmk) in pmks.iter().filter(|(of, _)| of.is_none_or(|of| of == bssid)) {
        let octets = pmk.as_octets();
        let Some(protection) = Protection::of(
            association.protocol,
            association.akm,
            association.pairwise,
            octets.len(),
        ) else {
            continue;
        };
        let Ok(received) = Received::parse(protection, &answer.packet) else {
            continue;
        };
        // The newest ANonce is the most likely.
        for anonce in anonces.iter().rev() {
            let inputs = Inputs {
                aa: bssid,
                spa: station,
                anonce,
                snonce: &answer.snonce,
            };
            let ptk = Ptk::derive(protection, octets, inputs);
            if received.verify(&ptk).is_ok() {
                return Some(Session {
                    ptk,
                    protection,
                    association: association.clone(),
                    spp_amsdu: false,
                });
            }
        }
    }
    None
}

/// Whether an RSN element advertises support for SPP A-MSDUs.
fn is_spp_amsdu_capable(element: &[u8]) -> bool {
    RsnElement::parse(element).is_ok_and(|rsn| {
        rsn.capabilities_or_default()
            .has(RsnCapabilities::SPP_AMSDU_CAPABLE)
    })
}

/// The choices of a station, according to the element in its message 2.
fn association(key: &EapolKey<'_>) -> Option<Association> {
    let station = elements(key.data).ok()?;
    let (protocol, element) = match key.descriptor {
        Descriptor::Rsn => (Protocol::Rsn, &station.rsn),
        Descriptor::Wpa => (Protocol::Wpa, &station.wpa),
    };
    let chosen = Chosen::read(protocol, element)?;
    let (pairwise, akm) = chosen.of_station();
    let mfp = chosen.capabilities.has(RsnCapabilities::MFP_CAPABLE);
    Some(Association {
        protocol,
        akm: akm?,
        pairwise: pairwise?,
        group: chosen.group?,
        group_management: chosen.group_management.filter(|_| mfp),
        extended_key_id: false,
        access_point: Elements::default(),
        station,
    })
}

/// Appends an item, and drops the oldest one if the memory is full.
fn remember<T>(memory: &mut VecDeque<T>, one: T) {
    if memory.len() == MAX_REMEMBERED {
        memory.pop_front();
    }
    memory.push_back(one);
}
