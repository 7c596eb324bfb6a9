//! The keys of a capture, and the candidates for each frame.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrayvec::ArrayVec;
use wlan_ciphers::{Cipher, KeyError, KeyId, OpenError, OpenJob, PacketNumber, Role, Suite, Wep};
use wlan_frames::MacAddr;

use super::Facts;

/// Maximum number of keys per link; the oldest are dropped. Older keys are not in use after a rekey.
const MAX_KEYS: usize = 8;
/// Maximum number of links without a key that are counted separately, so that invented addresses cannot exhaust memory.
const MAX_LINKS: usize = 4096;

/// A key to try.
#[derive(Debug)]
pub struct CaptureKey {
    /// Opens frames from the access point or, with four addresses, from the authenticator. Opens every frame if the
    /// suite is not TKIP.
    from_ap: Cipher,
    /// Opens frames from the station or, with four addresses, from the supplicant, if the suite is TKIP: each direction
    /// has its own Michael key (12.8.1).
    from_station: Option<Box<Cipher>>,
}

impl CaptureKey {
    /// A key of any suite except BIP.
    ///
    /// # Errors
    /// As [`Cipher::new`].
    pub fn new(suite: Suite, key: &[u8]) -> Result<CaptureKey, KeyError> {
        let end = |role| Cipher::new(suite, key, role);
        let is_tkip = suite == Suite::Tkip;
        Ok(CaptureKey {
            from_ap: end(Role::Sta)?,
            from_station: is_tkip.then(|| end(Role::Ap).map(Box::new)).transpose()?,
        })
    }

    /// Turns SPP A-MSDU protection on or off, like [`Cipher::with_spp_amsdu`].
    #[must_use]
    pub fn with_spp_amsdu(self, on: bool) -> CaptureKey {
        CaptureKey {
            from_ap: self.from_ap.with_spp_amsdu(on),
            ..self
        }
    }

    pub(super) fn suite(&self) -> Suite {
        self.from_ap.suite()
    }

    /// The claimed key identifier of a frame for this kind of key.
    pub(super) fn peek(&self, mpdu: &[u8]) -> Result<KeyId, OpenError> {
        self.from_ap.peek(mpdu).map(|(_, key_id)| key_id)
    }

    /// The packet number of a fragment, if this kind of key requires consecutive packet numbers within an MSDU.
    pub(super) fn fragment_pn(&self, mpdu: &[u8]) -> Option<PacketNumber> {
        let claimed = (!self.suite().is_rc4()).then(|| self.from_ap.peek(mpdu).ok());
        claimed.flatten().map(|(pn, _)| pn)
    }

    /// Opens `mpdu` in place and returns the position of its payload.
    pub(super) fn open(&self, facts: &Facts, mpdu: &mut [u8]) -> Result<Range<usize>, OpenError> {
        let key_id = self.peek(mpdu)?;
        let mut job = OpenJob::new(mpdu, key_id);
        self.receiver(facts).open_one(&mut job);
        job.verdict().map(|opened| opened.payload.clone())
    }

    /// The receiver's key for the direction of the frame.
    pub(super) fn receiver(&self, facts: &Facts) -> &Cipher {
        match &self.from_station {
            Some(from_station) if !facts.is_from_ap => from_station,
            _ => &self.from_ap,
        }
    }
}

impl From<Wep> for CaptureKey {
    /// The key under any key identifier.
    fn from(key: Wep) -> CaptureKey {
        CaptureKey {
            from_ap: Cipher::Wep(key),
            from_station: None,
        }
    }
}

/// The frames that a learned key protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOwner {
    /// Frames between an access point and a station.
    Pairwise {
        /// The access point.
        bssid: MacAddr,
        /// The station.
        station: MacAddr,
    },
    /// Group addressed frames of an access point.
    Group {
        /// The access point.
        bssid: MacAddr,
        /// The key identifier.
        key_id: KeyId,
    },
}

/// The two ends of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ends {
    /// The access point. Of direct frames, their BSSID.
    pub bssid: MacAddr,
    /// The station, or [`MacAddr::BROADCAST`] for group addressed frames.
    pub station: MacAddr,
    /// The other station of direct frames, which pass no access point: TDLS, or an independent BSS.
    pub peer: Option<MacAddr>,
}

impl Ends {
    /// A station and its access point.
    #[must_use]
    pub fn of(bssid: MacAddr, station: MacAddr) -> Ends {
        Ends {
            bssid,
            station,
            peer: None,
        }
    }

    /// Two stations that exchange direct frames, in any order.
    pub(super) fn direct(bssid: MacAddr, one: MacAddr, other: MacAddr) -> Ends {
        Ends {
            bssid,
            station: one.min(other),
            peer: Some(one.max(other)),
        }
    }

    fn turned(self) -> Ends {
        Ends::of(self.station, self.bssid)
    }

    /// The ends of a link with an access point as an integer, which is faster to hash.
    fn packed(self) -> u128 {
        u128::from(packed(self.bssid)) << 64 | u128::from(packed(self.station))
    }
}

/// Counts of the protected data frames of one link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Frames that were decrypted.
    pub decrypted: u64,
    /// Frames without a key: received before any key of the link was known, or of a cipher for which no key was given.
    pub without_key: u64,
    /// Frames for which every key of the link is wrong.
    pub wrong_key: u64,
    /// Other frames: retransmissions, fragments, damaged frames, frames without a packet.
    pub other: u64,
}

struct Link {
    ends: Ends,
    /// Keys in order of age, newest last; group keys with their identifier.
    keys: Vec<(Option<KeyId>, Arc<CaptureKey>)>,
    counts: LinkCounts,
}

/// An address as an integer, which is faster to hash.
pub(super) fn packed(MacAddr([a, b, c, d, e, f]): MacAddr) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

/// All keys: keys to try on every frame, and keys per link.
#[derive(Default)]
pub(super) struct Keys {
    any: Vec<Arc<CaptureKey>>,
    /// Indices in `links` of the links with an access point.
    places: HashMap<u128, usize>,
    /// Indices in `links` of the links between two stations.
    direct: HashMap<Ends, usize>,
    links: Vec<Link>,
    /// The frames of all links above the maximum number.
    rest: LinkCounts,
}

impl Keys {
    pub(super) fn len(&self) -> usize {
        self.any.len() + self.links.iter().map(|link| link.keys.len()).sum::<usize>()
    }

    pub(super) fn add(&mut self, key: CaptureKey) {
        self.any.push(Arc::new(key));
    }

    pub(super) fn add_learned(&mut self, owner: KeyOwner, key: CaptureKey) {
        let (ends, key_id) = match owner {
            KeyOwner::Pairwise { bssid, station } => (Ends::of(bssid, station), None),
            KeyOwner::Group { bssid, key_id } => (Ends::of(bssid, MacAddr::BROADCAST), Some(key_id)),
        };
        let place = self.insert(ends);
        let keys = &mut self.links[place].keys;
        if keys.len() == MAX_KEYS {
            keys.remove(0);
        }
        keys.push((key_id, Arc::new(key)));
    }

    fn insert(&mut self, ends: Ends) -> usize {
        let links = &mut self.links;
        let create = || {
            links.push(Link {
                ends,
                keys: Vec::new(),
                counts: LinkCounts::default(),
            });
            links.len() - 1
        };
        match ends.peer {
            None => *self.places.entry(ends.packed()).or_insert_with(create),
            Some(_) => *self.direct.entry(ends).or_insert_with(create),
        }
    }

    /// Index of the frame's link. `None` if the maximum number of links is reached.
    pub(super) fn place(&mut self, facts: &Facts) -> Option<usize> {
        let ends = facts.ends;
        // Four addresses do not show which end is the access point; a learned key does.
        let turned = facts.has_four_addresses.then(|| ends.turned());
        let known: ArrayVec<usize, 2> = std::iter::once(ends)
            .chain(turned)
            .filter_map(|ends| match ends.peer {
                None => self.places.get(&ends.packed()).copied(),
                Some(_) => self.direct.get(&ends).copied(),
            })
            .collect();
        let with_keys = known.iter().find(|&&place| !self.links[place].keys.is_empty());
        match with_keys.or(known.first()) {
            Some(&place) => Some(place),
            None if self.links.len() < MAX_LINKS => Some(self.insert(ends)),
            None => None,
        }
    }

    /// The two ends of a link.
    pub(super) fn ends(&self, place: usize) -> Ends {
        self.links[place].ends
    }

    /// The counts of a link; without one, those of the frames of all links above the maximum number.
    pub(super) fn counts_mut(&mut self, place: Option<usize>) -> &mut LinkCounts {
        match place {
            Some(place) => &mut self.links[place].counts,
            None => &mut self.rest,
        }
    }

    pub(super) fn rest(&self) -> LinkCounts {
        self.rest
    }

    pub(super) fn counts(&self) -> impl Iterator<Item = (Ends, LinkCounts)> {
        self.links.iter().map(|link| (link.ends, link.counts))
    }

    /// The keys to try on a frame, in order: the keys of its link, newest first, then the keys for every frame.
    pub(super) fn candidates(
        &self,
        facts: &Facts,
        place: Option<usize>,
    ) -> impl Iterator<Item = &Arc<CaptureKey>> {
        let learned = place.map_or(&[][..], |place| &self.links[place].keys);
        learned
            .iter()
            .rev()
            .filter(|(key_id, _)| key_id.is_none_or(|key_id| key_id == facts.key_id))
            .map(|(_, key)| key)
            .chain(
                self.any
                    .iter()
                    .filter(|key| !(facts.has_four_addresses && key.suite() == Suite::Tkip)),
            )
            .filter(|key| key.suite().is_wep() == facts.is_wep)
    }
}
