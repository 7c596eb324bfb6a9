//! Decryption of captures: protected Data frames in, their Ethernet frames out.
//!
//! The caller passes records in file order, in batches ([`Decap::batch`]) or one by one ([`Decap::record`]). It can
//! add keys at any time, for all frames or for one link. A record passes through these steps:
//!
//! 1. Remove the capture's encapsulation from the MPDU ([`wlan_frames::captured`]).
//! 2. Skip and count frames that are not protected Data frames or that the capture truncated. The receiver gets
//!    management frames and EAPOL packets and may return keys.
//! 3. Open a copy together with the other frames of the batch, with the most likely key. This is a key of the frame's
//!    link and of its kind: WEP if the Ext IV bit is clear, otherwise any other.
//! 4. One by one and in order: skip retransmissions of accepted frames (10.3.2.14). Within A-MPDUs, other frames may
//!    come between a frame and its retransmission, which has the same packet number. Try all other keys, including
//!    new ones, on a frame that was not opened.
//! 5. Reassemble fragments and split A-MSDUs.
//! 6. Convert each MSDU to an Ethernet frame: DA, SA, and the EtherType if the LLC header is that of RFC 1042 or
//!    802.1H, otherwise the length (IEEE 802.11-2020 5.1.4).
//!
//! The output does not depend on the division into batches. Replays are not removed: they are evidence.

mod batch;
mod keys;
mod msdu;

use std::collections::{HashMap, VecDeque};
use std::fmt;

use wlan_ciphers::KeyId;
use wlan_ciphers::michael::MichaelHeader;
use wlan_frames::MacAddr;
use wlan_frames::pcap::Record;

pub use batch::{Batch, Receiver};
use keys::Keys;
pub use keys::{CaptureKey, Ends, KeyOwner, LinkCounts};
use msdu::Partials;

/// Reason why a record gave no Ethernet frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Skipped {
    /// Not a Data frame, or a Data frame without a body: for example a beacon, Ack or Null frame.
    #[error("not a data frame")]
    NotData,
    /// The capture contains only a part of the frame.
    #[error("truncated by the capture")]
    CutShort,
    /// The record is not an 802.11 frame, or its FCS is wrong.
    #[error("damaged")]
    Damaged,
    /// The frame is unprotected.
    #[error("not encrypted")]
    Open,
    /// A retransmission of a frame that was already accepted.
    #[error("retransmission")]
    Retransmission,
    /// There is no WEP key.
    #[error("no key for WEP")]
    NoWepKey,
    /// There is no TKIP, CCMP or GCMP key.
    #[error("no key for TKIP, CCMP or GCMP")]
    NoKey,
    /// No key of the link was learned before this frame.
    #[error("no key learned yet")]
    NotLearned,
    /// The ICV or MIC is wrong under every key.
    #[error("wrong key")]
    WrongKey,
    /// The TKIP ICV is correct but the MIC is wrong: a forgery.
    #[error("TKIP frame with a wrong MIC")]
    Forged,
    /// A fragment of an MSDU whose fragments all came; the MSDU counts with its last fragment.
    #[error("fragment")]
    Fragment,
    /// A fragment of an MSDU whose other fragments have not come. It becomes a [`Fragment`](Skipped::Fragment) when
    /// the last of them comes.
    #[error("fragment of an incomplete MSDU")]
    IncompleteFragment,
    /// The plaintext is not an MSDU, or exceeds the maximum length of a capture record.
    #[error("decrypted, but not an MSDU")]
    NoMsdu,
}

/// Number of records by outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records processed.
    pub records: u64,
    /// Records decrypted with a WEP key.
    pub wep: u64,
    /// Records decrypted with a TKIP key.
    pub tkip: u64,
    /// Records decrypted with a CCMP or GCMP key.
    pub aes: u64,
    /// Ethernet frames produced: more than the decrypted records if there are A-MSDUs.
    pub frames: u64,
    /// Records that gave no frame, by reason.
    pub skipped: std::collections::BTreeMap<Skipped, u64>,
}

impl Counts {
    /// Records that gave a frame.
    #[must_use]
    pub fn decrypted(&self) -> u64 {
        self.wep + self.tkip + self.aes
    }

    fn skip(&mut self, reason: Skipped) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    /// Counts the `earlier` fragments of an MSDU that is now complete.
    fn complete(&mut self, earlier: u64) {
        if let Some(incomplete) = self.skipped.get_mut(&Skipped::IncompleteFragment) {
            *incomplete -= earlier;
            if *incomplete == 0 {
                self.skipped.remove(&Skipped::IncompleteFragment);
            }
        }
        *self.skipped.entry(Skipped::Fragment).or_default() += earlier;
    }
}

impl fmt::Display for Counts {
    /// One line: `30630 of 65282 records decrypted; not: 12 retransmission, ...`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} records decrypted", self.decrypted(), self.records)?;
        for (n, (reason, count)) in self.skipped.iter().enumerate() {
            write!(f, "{} {count} {reason}", if n == 0 { "; not:" } else { "," })?;
        }
        Ok(())
    }
}

/// The required header fields, copied because the frame is decrypted in place.
#[derive(Clone, Copy)]
struct Facts {
    /// The transmitter is the access point or, with four addresses, the authenticator of the link.
    is_from_ap: bool,
    has_four_addresses: bool,
    /// The link whose keys may protect the frame.
    ends: Ends,
    is_wep: bool,
    key_id: KeyId,
    /// The packet number and Key ID: 8 octets, or for WEP 4 octets and zeros.
    cipher_header: [u8; 8],
    transmitter: MacAddr,
    tid: u8,
    sequence: u16,
    is_retry: bool,
    more_fragments: bool,
    is_amsdu: bool,
    michael: MichaelHeader,
}

/// The most recent accepted frames of one transmitter and TID, oldest first.
#[derive(Default)]
struct Accepted(VecDeque<(u16, [u8; 8])>);

impl Accepted {
    /// Maximum number of frames: the largest BlockAck window of any PHY, that of EHT.
    const MAX: usize = 1024;

    /// Whether a frame with the Retry bit is a retransmission. The last frame is recognised by its Sequence Control
    /// alone, earlier ones also by their packet number, because sequence numbers repeat.
    fn contains(&self, facts: &Facts) -> bool {
        let sent = (facts.sequence, facts.cipher_header);
        self.0
            .back()
            .is_some_and(|&(sequence, _)| sequence == facts.sequence)
            || self.0.contains(&sent)
    }

    fn add(&mut self, facts: &Facts) {
        if self.0.len() == Accepted::MAX {
            self.0.pop_front();
        }
        self.0.push_back((facts.sequence, facts.cipher_header));
    }
}

/// Decrypts the records of a capture.
#[derive(Default)]
pub struct Decap {
    keys: Keys,
    /// Whether keys of links are learned, so that a frame without a key was received before its handshake.
    learns: bool,
    /// Accepted frames by transmitter and TID; the TID is the lowest octet of the index.
    accepted: HashMap<u64, Accepted>,
    partials: Partials,
    counts: Counts,
    /// Buffer in which batches are decrypted.
    arena: Vec<u8>,
    /// Buffer in which other keys are tried.
    copy: Vec<u8>,
}

impl fmt::Debug for Decap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decap")
            .field("keys", &self.keys.len())
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl Decap {
    /// Creates a decrypter that tries these keys in this order.
    #[must_use]
    pub fn new(keys: Vec<CaptureKey>) -> Decap {
        let mut decap = Decap::default();
        keys.into_iter().for_each(|key| decap.add_key(key));
        decap
    }

    /// Same as [`new`](Self::new), but keys are learned from the capture. A frame without a key is then
    /// [`Skipped::NotLearned`], not [`Skipped::NoKey`].
    #[must_use]
    pub fn learning(keys: Vec<CaptureKey>) -> Decap {
        Decap {
            learns: true,
            ..Decap::new(keys)
        }
    }

    /// Adds a key for later records. A TKIP key is tried on frames with four addresses only if it was
    /// [learned](Decap::add_learned). The headers do not show which end is the authenticator, on which the Michael
    /// key depends.
    pub fn add_key(&mut self, key: CaptureKey) {
        self.keys.add(key);
    }

    /// Adds a key for later records of a link. It is tried before the older keys of the link.
    pub fn add_learned(&mut self, owner: KeyOwner, key: CaptureKey) {
        self.keys.add_learned(owner, key);
    }

    /// Counts of the records so far, excluding a batch in progress.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Counts of the protected data frames per link, in no particular order. Without a key, only the first 4096 links
    /// are counted separately; [`other_links`](Decap::other_links) has the frames of the rest.
    pub fn links(&self) -> impl Iterator<Item = (Ends, LinkCounts)> {
        self.keys.counts()
    }

    /// Counts of the protected data frames of the links that are not in [`links`](Decap::links).
    #[must_use]
    pub fn other_links(&self) -> LinkCounts {
        self.keys.rest()
    }

    /// Decrypts the next record of a capture with this link type and passes each of its Ethernet frames to `emit`. No
    /// frame is longer than [`MAX_RECORD_LEN`](wlan_frames::pcap::MAX_RECORD_LEN).
    ///
    /// # Errors
    /// [`Skipped`] if the record gave no frame.
    pub fn record(
        &mut self,
        link_type: u32,
        record: &Record<'_>,
        emit: impl FnMut(&[u8]),
    ) -> Result<(), Skipped> {
        struct Whole<F>(Vec<u8>, F);

        impl<F: FnMut(&[u8])> Receiver for Whole<F> {
            fn frame(&mut self, _: u64, head: &[u8], body: &[u8]) {
                let Whole(ethernet, emit) = self;
                ethernet.clear();
                ethernet.extend_from_slice(head);
                ethernet.extend_from_slice(body);
                emit(ethernet);
            }
        }

        let mut to = Whole(Vec::new(), emit);
        let mut batch = self.batch();
        batch.push(link_type, record, &mut to)?;
        batch.finish(&mut to)
    }
}
