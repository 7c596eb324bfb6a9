//! The keys of a capture, and which of them a frame may have been sealed with.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrayvec::ArrayVec;
use wlan_ciphers::tkip::Role;
use wlan_ciphers::{KeyId, OpenError, OpenJob, PacketNumber, TemporalKey, Tkip, Wep, ccmp, tkip, wep};
use wlan_frames::MacAddr;

use super::Facts;

/// Keys of one link that are tried, the newest ones: more than that does not outlive a rekey.
const MAX_KEYS: usize = 8;
/// Links without a key that are counted one by one; whoever makes addresses up shall not fill the memory.
const MAX_LINKS: usize = 4096;

/// A key to try.
#[derive(Debug)]
pub enum CaptureKey {
    /// A WEP key, under any key identifier.
    Wep(Wep),
    /// A TKIP key, as the frames of either end need it: each direction has a Michael key of its own (12.8.1).
    Tkip {
        /// For frames of the access point, with four addresses of the authenticator.
        from_ap: Tkip,
        /// For frames of the station, with four addresses of the supplicant.
        from_station: Tkip,
    },
    /// A key of CCMP or GCMP.
    Aes(Box<TemporalKey>),
}

impl CaptureKey {
    /// A TKIP key, in the layout of [`Tkip::new`].
    #[must_use]
    pub fn tkip(key: &[u8; 32]) -> CaptureKey {
        CaptureKey::Tkip {
            from_ap: Tkip::new(key, Role::Supplicant),
            from_station: Tkip::new(key, Role::Authenticator),
        }
    }

    fn is_wep(&self) -> bool {
        matches!(self, CaptureKey::Wep(_))
    }

    fn is_tkip(&self) -> bool {
        matches!(self, CaptureKey::Tkip { .. })
    }

    /// The key identifier that a frame of this kind of key claims.
    pub(super) fn peek(&self, mpdu: &[u8]) -> Result<KeyId, OpenError> {
        let (_, key_id) = match self {
            CaptureKey::Wep(_) => wep::peek(mpdu)?,
            CaptureKey::Tkip { .. } => tkip::peek(mpdu)?,
            CaptureKey::Aes(_) => ccmp::peek(mpdu)?,
        };
        Ok(key_id)
    }

    /// The packet number of a fragment, if those of one MSDU go up in steps of one under this kind of key.
    pub(super) fn fragment_pn(&self, mpdu: &[u8]) -> Option<PacketNumber> {
        match self {
            CaptureKey::Wep(_) | CaptureKey::Tkip { .. } => None,
            CaptureKey::Aes(_) => ccmp::peek(mpdu).ok().map(|(pn, _)| pn),
        }
    }

    /// Opens `mpdu`, and gives where the payload lies.
    pub(super) fn open(&self, facts: &Facts, mpdu: &mut [u8]) -> Result<Range<usize>, OpenError> {
        let key_id = self.peek(mpdu)?;
        let mut jobs = [OpenJob::new(mpdu, key_id)];
        match self {
            CaptureKey::Wep(key) => key.open(&mut jobs),
            CaptureKey::Tkip { .. } => self.michael(facts).open(&mut jobs),
            CaptureKey::Aes(key) => key.open(&mut jobs),
        }
        jobs[0].verdict().map(|opened| opened.payload.clone())
    }

    /// The TKIP end that receives such a frame.
    pub(super) fn michael(&self, facts: &Facts) -> &Tkip {
        match self {
            CaptureKey::Tkip { from_ap, .. } if facts.is_from_ap => from_ap,
            CaptureKey::Tkip { from_station, .. } => from_station,
            _ => unreachable!("asked of TKIP keys only"),
        }
    }
}

/// Whose frames a learned key is for.
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
        /// The key's identifier.
        key_id: KeyId,
    },
}

/// An access point and a station, or [`MacAddr::BROADCAST`] for what is group addressed.
pub(super) type Ends = (MacAddr, MacAddr);

/// What became of the protected data frames of one link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Frames that were decrypted.
    pub decrypted: u64,
    /// Frames before any key of the link was known.
    pub without_key: u64,
    /// Frames that no key of the link fits.
    pub wrong_key: u64,
    /// All others: retransmissions, fragments, damaged ones.
    pub other: u64,
}

struct Link {
    ends: Ends,
    /// With their identifier, if they are group keys; the newest last.
    keys: Vec<(Option<KeyId>, Arc<CaptureKey>)>,
    counts: LinkCounts,
}

/// An address as a number, which is quicker to hash.
pub(super) fn packed(MacAddr([a, b, c, d, e, f]): MacAddr) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

fn packed_ends((bssid, station): Ends) -> u128 {
    u128::from(packed(bssid)) << 64 | u128::from(packed(station))
}

/// All keys: those that are tried on every frame, and those of each link.
#[derive(Default)]
pub(super) struct Keys {
    any: Vec<Arc<CaptureKey>>,
    /// Places in `links`, by both addresses.
    places: HashMap<u128, usize>,
    links: Vec<Link>,
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
            KeyOwner::Pairwise { bssid, station } => ((bssid, station), None),
            KeyOwner::Group { bssid, key_id } => ((bssid, MacAddr::BROADCAST), Some(key_id)),
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
        *self.places.entry(packed_ends(ends)).or_insert_with(|| {
            links.push(Link {
                ends,
                keys: Vec::new(),
                counts: LinkCounts::default(),
            });
            links.len() - 1
        })
    }

    /// The place of a frame's link, if it has one and it can be counted.
    pub(super) fn place(&mut self, facts: &Facts) -> Option<usize> {
        let ends = facts.ends?;
        // Four addresses do not say which end is the access point; a learned key does.
        let turned = facts.has_four_addresses.then_some((ends.1, ends.0));
        let known: ArrayVec<usize, 2> = std::iter::once(ends)
            .chain(turned)
            .filter_map(|ends| self.places.get(&packed_ends(ends)).copied())
            .collect();
        let with_keys = known.iter().find(|&&place| !self.links[place].keys.is_empty());
        match with_keys.or(known.first()) {
            Some(&place) => Some(place),
            None if self.links.len() < MAX_LINKS => Some(self.insert(ends)),
            None => None,
        }
    }

    /// The two ends of the link at this place.
    pub(super) fn ends(&self, place: usize) -> Ends {
        self.links[place].ends
    }

    pub(super) fn counts_mut(&mut self, place: usize) -> &mut LinkCounts {
        &mut self.links[place].counts
    }

    pub(super) fn counts(&self) -> impl Iterator<Item = (Ends, LinkCounts)> {
        self.links.iter().map(|link| (link.ends, link.counts))
    }

    /// The keys to try on a frame, in their order: those of its link from the newest on, then those for every frame.
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
                    .filter(|key| !(facts.has_four_addresses && key.is_tkip())),
            )
            .filter(|key| key.is_wep() == facts.is_wep)
    }
}
