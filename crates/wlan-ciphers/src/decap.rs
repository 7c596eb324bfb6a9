//! Decrypting captures: from protected Data frames to the Ethernet frames within.
//!
//! Records go in one by one, in the order of the file, and keys may be added on the way. What happens to a record:
//!
//! 1. the MPDU is taken out of what the capturing side put around it ([`wlan_frames::captured`]);
//! 2. what is no protected Data frame, was cut short by the capture, or is a retransmission of a frame that was taken
//!    already (10.3.2.14) is left out, and counted as that;
//! 3. every key of the frame's kind is tried on a copy: WEP if the Ext IV bit is clear, all others if it is set;
//! 4. fragments are reassembled, and an A-MSDU is taken apart;
//! 5. each MSDU becomes an Ethernet frame: DA, SA, and then, where the LLC header was one of RFC 1042 or 802.1H, the
//!    EtherType, otherwise the length (IEEE 802.11-2020 5.1.4).
//!
//! Replays are not left out: a capture is evidence, and they are part of it.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use wlan_frames::pcap::{MAX_RECORD_LEN, Record};
use wlan_frames::{FrameControl, MacAddr, captured};

use crate::aad::HeaderError;
use crate::michael::MichaelHeader;
use crate::msdu::DataFrame;
use crate::tkip::Role;
use crate::{OpenError, OpenJob, TemporalKey, Tkip, Wep, ccmp, tkip, wep};

/// MSDUs whose fragments are collected at the same time; a station needs three (10.5).
const MAX_PARTIAL: usize = 64;

/// LLC/SNAP headers in front of an EtherType: RFC 1042, and 802.1H bridge tunnel.
const SNAP: [[u8; 6]; 2] = [[0xaa, 0xaa, 3, 0, 0, 0], [0xaa, 0xaa, 3, 0, 0, 0xf8]];
/// EtherTypes that keep the bridge tunnel header: AppleTalk AARP and IPX (IEEE 802.11-2020 5.1.4, 802.1H Table 1).
const TUNNELLED: [[u8; 2]; 2] = [[0x80, 0xf3], [0x81, 0x37]];

/// A key to try.
#[derive(Debug)]
pub enum CaptureKey {
    /// A WEP key, under any key identifier.
    Wep(Wep),
    /// A TKIP key, as the frames of either end need it.
    Tkip {
        /// For frames of the access point.
        from_ap: Tkip,
        /// For frames of the station.
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

    /// Opens `mpdu`, and gives where the payload lies.
    fn open(&self, frame: Facts, mpdu: &mut [u8]) -> Result<std::ops::Range<usize>, OpenError> {
        let (_, key_id) = match self {
            CaptureKey::Wep(_) => wep::peek(mpdu)?,
            CaptureKey::Tkip { .. } => tkip::peek(mpdu)?,
            CaptureKey::Aes(_) => ccmp::peek(mpdu)?,
        };
        let mut jobs = [OpenJob::new(mpdu, key_id)];
        match self {
            CaptureKey::Wep(key) => key.open(&mut jobs),
            CaptureKey::Tkip { .. } => self.michael(frame).open(&mut jobs),
            CaptureKey::Aes(key) => key.open(&mut jobs),
        }
        jobs[0].verdict().map(|opened| opened.payload.clone())
    }

    /// The TKIP end that receives such a frame.
    fn michael(&self, frame: Facts) -> &Tkip {
        match self {
            CaptureKey::Tkip { from_ap, .. } if frame.from_ds => from_ap,
            CaptureKey::Tkip { from_station, .. } => from_station,
            _ => unreachable!("asked of TKIP keys only"),
        }
    }
}

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

/// What step 2 needs of a header, kept while the frame is deciphered in place.
#[derive(Clone, Copy)]
struct Facts {
    from_ds: bool,
    transmitter: MacAddr,
    tid: u8,
    sequence: u16,
    more_fragments: bool,
    is_amsdu: bool,
    michael: MichaelHeader,
}

/// The fragments of one MSDU so far.
struct Partial {
    transmitter: MacAddr,
    tid: u8,
    /// Sequence Control of the fragment that comes next.
    next: u16,
    octets: Vec<u8>,
}

/// Decrypts the records of a capture.
#[derive(Default)]
pub struct Decap {
    keys: Vec<CaptureKey>,
    /// Sequence Control last seen of a transmitter and TID.
    last: HashMap<(MacAddr, u8), u16>,
    partial: VecDeque<Partial>,
    counts: Counts,
    /// Where keys are tried.
    copy: Vec<u8>,
    ethernet: Vec<u8>,
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
        Decap {
            keys,
            ..Decap::default()
        }
    }

    /// Tries another key on the records to come.
    pub fn add_key(&mut self, key: CaptureKey) {
        self.keys.push(key);
    }

    /// What became of the records so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Takes the next record of a capture of this link type and hands each Ethernet frame in it to `emit`; none is longer
    /// than [`MAX_RECORD_LEN`].
    ///
    /// # Errors
    /// [`Skipped`]; nothing was emitted then.
    pub fn record(
        &mut self,
        link_type: u32,
        record: &Record<'_>,
        emit: impl FnMut(&[u8]),
    ) -> Result<(), Skipped> {
        self.counts.records += 1;
        let outcome = self.decrypt(link_type, record, emit);
        if let Err(reason) = outcome {
            *self.counts.skipped.entry(reason).or_default() += 1;
        }
        outcome
    }

    fn decrypt(
        &mut self,
        link_type: u32,
        record: &Record<'_>,
        mut emit: impl FnMut(&[u8]),
    ) -> Result<(), Skipped> {
        if record.data.len() < record.original_len as usize {
            return Err(Skipped::CutShort);
        }
        let mpdu = captured::mpdu(link_type, record.data).map_err(|_| Skipped::Damaged)?;
        let (facts, is_wep) = self.sift(mpdu)?;
        let (key, payload) = self.open(facts, is_wep, mpdu)?;
        // A frame that did not open may have been damaged, and its retransmission be good.
        self.last.insert((facts.transmitter, facts.tid), facts.sequence);
        let payload = &self.copy[payload];

        let reassembled;
        let msdu = if facts.more_fragments || facts.sequence & 0xf != 0 {
            let mut whole = reassemble(&mut self.partial, facts, payload).ok_or(Skipped::Fragment)?;
            if let CaptureKey::Tkip { .. } = &self.keys[key] {
                let verified = self.keys[key]
                    .michael(facts)
                    .verify_msdu(facts.michael, &mut whole);
                let len = verified.map_err(|_| Skipped::Forged)?.len();
                whole.truncate(len);
            }
            reassembled = whole;
            &reassembled[..]
        } else {
            payload
        };

        let frames = if facts.is_amsdu {
            emit_amsdu(msdu, &mut self.ethernet, &mut emit)?
        } else {
            let MichaelHeader { da, sa, .. } = facts.michael;
            emit_msdu(da, sa, msdu, &mut self.ethernet, &mut emit)?;
            1
        };
        self.counts.frames += frames;
        match &self.keys[key] {
            CaptureKey::Wep(_) => self.counts.wep += 1,
            CaptureKey::Tkip { .. } => self.counts.tkip += 1,
            CaptureKey::Aes(_) => self.counts.aes += 1,
        }
        Ok(())
    }

    /// Steps 2 and the first half of 3: whether to try at all, and which keys.
    fn sift(&self, mpdu: &[u8]) -> Result<(Facts, bool), Skipped> {
        let frame = DataFrame::parse(mpdu).map_err(|error| match error {
            HeaderError::Short => Skipped::Damaged,
            HeaderError::NotProtectable => Skipped::NotData,
        })?;
        if !frame.is_protected() {
            return Err(Skipped::Open);
        }
        let key_octet = *mpdu.get(frame.len() + 3).ok_or(Skipped::Damaged)?;
        let facts = Facts {
            from_ds: frame.is_from_ds(),
            transmitter: frame.transmitter(),
            tid: frame.tid(),
            sequence: frame.sequence(),
            more_fragments: frame.has(FrameControl::MORE_FRAGMENTS),
            is_amsdu: frame.is_amsdu(),
            michael: frame.michael(),
        };
        let last = self.last.get(&(facts.transmitter, facts.tid));
        if frame.has(FrameControl::RETRY) && last == Some(&facts.sequence) {
            return Err(Skipped::Retransmission);
        }
        Ok((facts, key_octet & wep::EXT_IV == 0))
    }

    /// Tries the keys; what was opened lies in `self.copy`.
    fn open(
        &mut self,
        facts: Facts,
        is_wep: bool,
        mpdu: &[u8],
    ) -> Result<(usize, std::ops::Range<usize>), Skipped> {
        let mut failure = if is_wep { Skipped::NoWepKey } else { Skipped::NoKey };
        for (n, key) in self
            .keys
            .iter()
            .enumerate()
            .filter(|(_, key)| key.is_wep() == is_wep)
        {
            self.copy.clear();
            self.copy.extend_from_slice(mpdu);
            match key.open(facts, &mut self.copy) {
                Ok(payload) => return Ok((n, payload)),
                // Behind a right ICV, so this was the key. No other can fit as well.
                Err(OpenError::Mic) if matches!(key, CaptureKey::Tkip { .. }) => return Err(Skipped::Forged),
                Err(OpenError::Short) => failure = Skipped::Damaged,
                Err(_) => failure = Skipped::WrongKey,
            }
        }
        Err(failure)
    }
}

/// Adds a fragment, and gives the whole when it is the last.
fn reassemble(partial: &mut VecDeque<Partial>, facts: Facts, payload: &[u8]) -> Option<Vec<u8>> {
    let place = partial
        .iter()
        .position(|p| p.transmitter == facts.transmitter && p.tid == facts.tid);
    let mut so_far = match place.and_then(|place| partial.remove(place)) {
        _ if facts.sequence & 0xf == 0 => Partial {
            transmitter: facts.transmitter,
            tid: facts.tid,
            next: facts.sequence,
            octets: Vec::new(),
        },
        Some(so_far) if so_far.next == facts.sequence => so_far,
        // One before this is missing: the rest is of no use.
        _ => return None,
    };
    so_far.octets.extend_from_slice(payload);
    if !facts.more_fragments {
        return Some(so_far.octets);
    }
    // There are sixteen fragments at most.
    if facts.sequence & 0xf == 0xf {
        return None;
    }
    so_far.next = facts.sequence + 1;
    if partial.len() == MAX_PARTIAL {
        partial.pop_front();
    }
    partial.push_back(so_far);
    None
}

fn emit_msdu(
    da: MacAddr,
    sa: MacAddr,
    msdu: &[u8],
    ethernet: &mut Vec<u8>,
    emit: &mut impl FnMut(&[u8]),
) -> Result<(), Skipped> {
    let (&llc, rest) = msdu.split_first_chunk::<6>().ok_or(Skipped::NoMsdu)?;
    ethernet.clear();
    ethernet.extend_from_slice(&da.0);
    ethernet.extend_from_slice(&sa.0);
    let ethertype = rest.first_chunk::<2>();
    let snap = match ethertype {
        Some(ethertype) => llc == SNAP[1] || llc == SNAP[0] && !TUNNELLED.contains(ethertype),
        None => false,
    };
    if snap {
        ethernet.extend_from_slice(rest);
    } else {
        let len = u16::try_from(msdu.len()).map_err(|_| Skipped::NoMsdu)?;
        ethernet.extend_from_slice(&len.to_be_bytes());
        ethernet.extend_from_slice(msdu);
    }
    // Only fragments that no station would send add up to more than a capture can hold.
    if ethernet.len() > MAX_RECORD_LEN {
        return Err(Skipped::NoMsdu);
    }
    emit(ethernet);
    Ok(())
}

/// Takes an A-MSDU apart (9.3.2.2.2): DA (6), SA (6), length (2), MSDU, and padding to a multiple of 4.
fn emit_amsdu(amsdu: &[u8], ethernet: &mut Vec<u8>, emit: &mut impl FnMut(&[u8])) -> Result<u64, Skipped> {
    const HEADER_LEN: usize = 14;
    // All of it is looked at before any of it is given out.
    let mut subframes = Vec::new();
    let mut at = 0;
    while at < amsdu.len() {
        let Some((header, rest)) = amsdu[at..].split_first_chunk::<HEADER_LEN>() else {
            return Err(Skipped::NoMsdu);
        };
        let [a, b, c, d, e, f, g, h, i, j, k, l, high, low] = *header;
        let len = usize::from(u16::from_be_bytes([high, low]));
        let msdu = rest
            .get(..len)
            .filter(|msdu| msdu.len() >= 6)
            .ok_or(Skipped::NoMsdu)?;
        subframes.push((MacAddr([a, b, c, d, e, f]), MacAddr([g, h, i, j, k, l]), msdu));
        at += (HEADER_LEN + len).next_multiple_of(4);
    }
    for &(da, sa, msdu) in &subframes {
        emit_msdu(da, sa, msdu, ethernet, emit)?;
    }
    match subframes.len() {
        0 => Err(Skipped::NoMsdu),
        frames => Ok(frames as u64),
    }
}
