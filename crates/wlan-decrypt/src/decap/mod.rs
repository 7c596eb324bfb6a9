//! Decrypting captures: from protected Data frames to the Ethernet frames within.
//!
//! Records go in in the order of the file, in batches ([`Decap::batch`]) or one by one ([`Decap::record`]), and keys may be
//! added on the way: for any frame, or for those of an access point and a station. What happens to a record:
//!
//! 1. the MPDU is taken out of what the capturing side put around it ([`wlan_frames::captured`]);
//! 2. what is no protected Data frame, or was cut short by the capture, is left out, and counted as that; the receiver is
//!    shown management frames and EAPOL packets, and may answer with keys;
//! 3. a copy is opened, with those of many other records, with the key that is the likeliest: of the frame's link, and of its
//!    kind: WEP if the Ext IV bit is clear, all others if it is set;
//! 4. then, one by one and in their order: a retransmission of a frame that was taken already (10.3.2.14) is left out; a
//!    frame that did not open is tried with all other keys, and with those that came in the meantime;
//! 5. fragments are reassembled, and an A-MSDU is taken apart;
//! 6. each MSDU becomes an Ethernet frame: DA, SA, and then, where the LLC header was one of RFC 1042 or 802.1H, the
//!    EtherType, otherwise the length (IEEE 802.11-2020 5.1.4).
//!
//! What comes out does not depend on how the records were cut into batches. Replays are not left out: a capture is evidence,
//! and they are part of it.

mod batch;
mod keys;
mod msdu;

use std::collections::HashMap;
use std::fmt;

use wlan_ciphers::KeyId;
use wlan_ciphers::michael::MichaelHeader;
use wlan_frames::MacAddr;
use wlan_frames::pcap::Record;

pub use batch::{Batch, Receiver};
pub use keys::{CaptureKey, KeyOwner, LinkCounts};
use keys::{Ends, Keys};
use msdu::Partials;

/// Why a record gave no Ethernet frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Skipped {
    /// No Data frame, or one without a body: beacons, Ack, Null.
    #[error("not a data frame")]
    NotData,
    /// The capture kept a part of the frame only.
    #[error("cut short by the capture")]
    CutShort,
    /// The record is no 802.11 frame, or one with a wrong FCS.
    #[error("damaged")]
    Damaged,
    /// Sent in the open.
    #[error("not encrypted")]
    Open,
    /// Sent again, and seen before.
    #[error("retransmission")]
    Retransmission,
    /// No key of this kind was given.
    #[error("no key for WEP")]
    NoWepKey,
    /// No key of this kind was given.
    #[error("no key for TKIP, CCMP or GCMP")]
    NoKey,
    /// No key of its link was learned before the frame came.
    #[error("no key learned before it")]
    NotLearned,
    /// ICV or MIC are wrong under every key.
    #[error("no key fits")]
    WrongKey,
    /// The ICV of TKIP is right and the MIC wrong: a forgery.
    #[error("TKIP frame with a wrong MIC")]
    Forged,
    /// A fragment, taken; the frame comes with the last one, or never.
    #[error("fragment")]
    Fragment,
    /// What was decrypted is no MSDU, or longer than a record of a capture can be.
    #[error("decrypted, but no MSDU")]
    NoMsdu,
}

/// How many records there were, and what became of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records looked at.
    pub records: u64,
    /// Records decrypted with a WEP key.
    pub wep: u64,
    /// Records decrypted with a TKIP key.
    pub tkip: u64,
    /// Records decrypted with a CCMP or GCMP key.
    pub aes: u64,
    /// Ethernet frames given out: more than records where these held A-MSDUs.
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

/// What is needed of a header, kept while the frame is deciphered in place.
#[derive(Clone, Copy)]
struct Facts {
    /// The frame comes from the access point, or with four addresses from the authenticator of its link.
    is_from_ap: bool,
    has_four_addresses: bool,
    /// Whose keys it may be sealed with.
    ends: Option<Ends>,
    is_wep: bool,
    key_id: KeyId,
    transmitter: MacAddr,
    tid: u8,
    sequence: u16,
    is_retry: bool,
    more_fragments: bool,
    is_amsdu: bool,
    michael: MichaelHeader,
}

/// Decrypts the records of a capture.
#[derive(Default)]
pub struct Decap {
    keys: Keys,
    /// Whether keys of links are learned on the way, so that a frame without one came too early.
    learns: bool,
    /// Sequence Control last seen of a transmitter and TID, which is in the lowest octet.
    last: HashMap<u64, u16>,
    partials: Partials,
    counts: Counts,
    /// Where a batch is deciphered.
    arena: Vec<u8>,
    /// Where other keys are tried.
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
    /// Tries these keys, in this order.
    #[must_use]
    pub fn new(keys: Vec<CaptureKey>) -> Decap {
        let mut decap = Decap::default();
        keys.into_iter().for_each(|key| decap.add_key(key));
        decap
    }

    /// The same, where keys are learned on the way: a frame without a key is then [`Skipped::NotLearned`], not
    /// [`Skipped::NoKey`].
    #[must_use]
    pub fn learning(keys: Vec<CaptureKey>) -> Decap {
        Decap {
            learns: true,
            ..Decap::new(keys)
        }
    }

    /// Tries another key on the records to come. Only a [learned](Decap::add_learned) TKIP key is tried on frames with four
    /// addresses: their headers do not tell which end is the authenticator, and the Michael key depends on it.
    pub fn add_key(&mut self, key: CaptureKey) {
        self.keys.add(key);
    }

    /// Tries another key on the records of a link to come, before those that it has.
    pub fn add_learned(&mut self, owner: KeyOwner, key: CaptureKey) {
        self.keys.add_learned(owner, key);
    }

    /// What became of the records so far, but those of a batch that is not finished.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What became of the protected data frames between an access point and a station, or
    /// [`MacAddr::BROADCAST`]; in no order. Links without a key are counted up to the first 4096.
    pub fn links(&self) -> impl Iterator<Item = ((MacAddr, MacAddr), LinkCounts)> {
        self.keys.counts()
    }

    /// Takes the next record of a capture of this link type and hands each Ethernet frame in it to `emit`; none is longer
    /// than [`MAX_RECORD_LEN`](wlan_frames::pcap::MAX_RECORD_LEN).
    ///
    /// # Errors
    /// [`Skipped`]; nothing was emitted then.
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
