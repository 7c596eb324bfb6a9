//! Batches of records: steps 1 to 5 of [`decap`](super).

use std::borrow::Cow;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use wlan_ciphers::michael::MichaelHeader;
use wlan_ciphers::{Cipher, KeyId, OpenError, OpenJob, Suite, TemporalKey, Tkip, Wep, key, tkip, wep};
use wlan_frames::pcap::Record;
use wlan_frames::{DataFrame, EtherType, FrameControl, FrameError, FrameType, LlcSnap, MacAddr, captured};

use super::keys::{Ends, packed};
use super::msdu::{emit_amsdu, emit_msdu};
use super::{CaptureKey, Decap, Facts, KeyOwner, Skipped};

/// Octets decrypted together, unless a single frame is longer: they and their copies fit a second-level cache.
const BATCH_OCTETS: usize = 192 << 10;

/// Receives the frames of a capture.
pub trait Receiver {
    /// Receives an Ethernet frame of a record with timestamp `ts_ns`. `head` contains the addresses and, if there is
    /// no EtherType, the length; `body` contains the rest. The frame is not longer than
    /// [`MAX_RECORD_LEN`](wlan_frames::pcap::MAX_RECORD_LEN).
    fn frame(&mut self, ts_ns: u64, head: &[u8], body: &[u8]);

    /// Receives a management frame (MAC header and body, without FCS). Returns the keys that are now known.
    fn management(&mut self, _mpdu: &[u8]) -> Vec<(KeyOwner, CaptureKey)> {
        Vec::new()
    }

    /// Receives an EAPOL packet between an access point and a station. Returns the keys that are now known.
    fn eapol(&mut self, _bssid: MacAddr, _station: MacAddr, _packet: &[u8]) -> Vec<(KeyOwner, CaptureKey)> {
        Vec::new()
    }
}

/// A protected Data frame in a batch.
struct Pending<'r> {
    ts_ns: u64,
    mpdu: Cow<'r, [u8]>,
    facts: Facts,
    /// Index of its link.
    place: Option<usize>,
    /// The most likely key, if there was one when the batch was opened.
    key: Option<Arc<CaptureKey>>,
    /// Position of its copy in the arena.
    at: usize,
    /// Position of the payload in the copy, if the frame was opened.
    outcome: Result<Range<usize>, OpenError>,
}

/// Records of a capture that are decrypted together. Unlike for [`Decap::record`], the records must remain in memory
/// until then. Dropping a batch without [`finish`](Batch::finish) loses them.
pub struct Batch<'d, 'r> {
    decap: &'d mut Decap,
    pending: Vec<Pending<'r>>,
    /// Octets of the pending frames.
    octets: usize,
}

impl Decap {
    /// Starts a batch for any number of records.
    #[must_use]
    pub fn batch<'r>(&mut self) -> Batch<'_, 'r> {
        Batch {
            decap: self,
            pending: Vec::new(),
            octets: 0,
        }
    }
}

impl<'r> Batch<'_, 'r> {
    /// Adds the next record of a capture with this link type. Passes the resulting frames of this and earlier records
    /// to `to`, now or later.
    ///
    /// # Errors
    /// [`Skipped`] if the record is skipped immediately. The record is counted.
    pub fn push(
        &mut self,
        link_type: u32,
        record: &Record<'r>,
        to: &mut impl Receiver,
    ) -> Result<(), Skipped> {
        self.decap.counts.records += 1;
        let sifted = self.sift(link_type, record, to);
        let (mpdu, mut facts) = sifted.inspect_err(|&reason| self.decap.counts.skip(reason))?;
        if self.octets + mpdu.len() > BATCH_OCTETS {
            // Returns the outcome of the last frame, which is already counted.
            let _ = self.settle_all(to);
        }
        self.octets += mpdu.len();
        let place = self.decap.keys.place(&facts);
        if let (true, Some(place)) = (facts.has_four_addresses, place) {
            facts.is_from_ap = self.decap.keys.ends(place).bssid == facts.transmitter;
        }
        self.pending.push(Pending {
            ts_ns: record.ts_ns,
            mpdu,
            facts,
            place,
            key: None,
            at: 0,
            outcome: Err(OpenError::Pending),
        });
        Ok(())
    }

    /// Decrypts all pending records.
    ///
    /// # Errors
    /// [`Skipped`] if the last pending record gave no frame. All records are counted.
    pub fn finish(mut self, to: &mut impl Receiver) -> Result<(), Skipped> {
        self.settle_all(to)
    }

    /// Steps 1 and 2.
    fn sift(
        &mut self,
        link_type: u32,
        record: &Record<'r>,
        to: &mut impl Receiver,
    ) -> Result<(Cow<'r, [u8]>, Facts), Skipped> {
        if record.data.len() < record.original_len as usize {
            return Err(Skipped::CutShort);
        }
        let mpdu = captured::mpdu(link_type, record.data).map_err(|_| Skipped::Damaged)?;
        let frame = DataFrame::parse(&mpdu).map_err(|error| match error {
            FrameError::Truncated { .. } => Skipped::Damaged,
            _ => Skipped::NotData,
        });
        let frame = match frame {
            Ok(frame) => frame,
            Err(reason) => {
                let fc = FrameControl::parse(&mpdu);
                if fc.is_ok_and(|fc| fc.frame_type() == FrameType::Management) {
                    let keys = to.management(&mpdu);
                    self.learn(keys, to);
                }
                return Err(reason);
            }
        };
        let ends = ends(&frame);
        if !frame.is_protected() {
            if let (None, Some(packet)) = (ends.peer, eapol(&mpdu[frame.header_len()..])) {
                // Earlier frames must not be decrypted with the keys of this packet.
                let _ = self.settle_all(to);
                let keys = to.eapol(ends.bssid, ends.station, packet);
                self.learn(keys, to);
            }
            return Err(Skipped::Open);
        }
        let body = &mpdu[frame.header_len()..];
        let key_octet = *body.get(3).ok_or(Skipped::Damaged)?;
        let is_wep = key_octet & wep::EXT_IV == 0;
        let mut cipher_header = [0; 8];
        let header_len = if is_wep { 4 } else { 8 };
        cipher_header[..header_len].copy_from_slice(body.get(..header_len).ok_or(Skipped::Damaged)?);
        let facts = Facts {
            is_from_ap: frame.is_from_ds(),
            has_four_addresses: frame.is_from_ds() && frame.is_to_ds(),
            ends,
            is_wep,
            key_id: KeyId::from_key_id_octet(key_octet),
            cipher_header,
            transmitter: frame.transmitter(),
            tid: frame.tid(),
            sequence: frame.sequence(),
            is_retry: frame.has(FrameControl::RETRY),
            more_fragments: frame.has(FrameControl::MORE_FRAGMENTS),
            is_amsdu: frame.is_amsdu(),
            michael: MichaelHeader::from(&frame),
        };
        Ok((mpdu, facts))
    }

    /// Adds keys for later records.
    fn learn(&mut self, keys: Vec<(KeyOwner, CaptureKey)>, to: &mut impl Receiver) {
        if keys.is_empty() {
            return;
        }
        let _ = self.settle_all(to);
        for (owner, key) in keys {
            self.decap.add_learned(owner, key);
        }
    }

    /// Steps 3 to 6 for all pending frames. Returns the outcome of the last.
    fn settle_all(&mut self, to: &mut impl Receiver) -> Result<(), Skipped> {
        let (decap, pending) = (&mut *self.decap, &mut self.pending);
        let mut arena = mem::take(&mut decap.arena);
        decap.open_likeliest(pending, &mut arena);
        self.octets = 0;
        let mut last = Ok(());
        for frame in pending.drain(..) {
            let opened = decap.settle(&frame, &arena, to);
            if let Err(reason) = opened {
                decap.counts.skip(reason);
            }
            let counts = decap.keys.counts_mut(frame.place);
            *match opened {
                Ok(()) => &mut counts.decrypted,
                Err(Skipped::NotLearned | Skipped::NoKey | Skipped::NoWepKey) => &mut counts.without_key,
                Err(Skipped::WrongKey | Skipped::Forged) => &mut counts.wrong_key,
                Err(_) => &mut counts.other,
            } += 1;
            last = opened;
        }
        decap.arena = arena;
        last
    }
}

impl Decap {
    /// Step 3: opens a copy of each frame with its most likely key.
    fn open_likeliest(&self, pending: &mut [Pending<'_>], arena: &mut Vec<u8>) {
        arena.clear();
        for frame in &mut *pending {
            frame.key = self.keys.candidates(&frame.facts, frame.place).next().cloned();
            frame.at = arena.len();
            if frame.key.is_some() {
                arena.extend_from_slice(&frame.mpdu);
            }
        }
        let mut aes: Jobs<'_, '_, TemporalKey> = Jobs::default();
        let mut tkip: Jobs<'_, '_, Tkip> = Jobs::default();
        let mut wep: Jobs<'_, '_, Wep> = Jobs::default();
        let mut left = &mut arena[..];
        for frame in pending {
            let Some(key) = &frame.key else { continue };
            let (copy, rest) = mem::take(&mut left).split_at_mut(frame.mpdu.len());
            left = rest;
            let key_id = match key.peek(copy) {
                Ok(key_id) => key_id,
                Err(error) => {
                    frame.outcome = Err(error);
                    continue;
                }
            };
            let job = OpenJob::new(copy, key_id);
            match key.receiver(&frame.facts) {
                Cipher::Aes(key) => aes.push(key, job, &mut frame.outcome),
                Cipher::Tkip(key) => tkip.push(key, job, &mut frame.outcome),
                Cipher::Wep(key) => wep.push(key, job, &mut frame.outcome),
            }
        }
        aes.open(key::open_each);
        tkip.open(tkip::open_each);
        wep.open(wep::open_each);
    }

    /// Steps 4 to 6.
    fn settle(&mut self, frame: &Pending<'_>, arena: &[u8], to: &mut impl Receiver) -> Result<(), Skipped> {
        let facts = &frame.facts;
        let number = packed(facts.transmitter) << 8 | u64::from(facts.tid);
        let accepted = self.accepted.get(&number);
        if facts.is_retry && accepted.is_some_and(|accepted| accepted.contains(facts)) {
            return Err(Skipped::Retransmission);
        }
        let other;
        let (key, payload) = match (&frame.key, &frame.outcome) {
            (Some(key), Ok(payload)) => (key, &arena[frame.at..][payload.clone()]),
            _ => {
                let (key, payload) = self.open_otherwise(frame)?;
                other = key;
                (&other, &self.copy[payload])
            }
        };
        // Not recorded for a frame that was not opened: it may be damaged, and its retransmission intact.
        self.accepted.entry(number).or_default().add(facts);

        let reassembled;
        let msdu = if facts.more_fragments || facts.sequence & 0xf != 0 {
            let pn = key.fragment_pn(&frame.mpdu);
            let whole = self.partials.add(facts, key, pn, payload);
            let (mut whole, earlier) = whole.ok_or(Skipped::IncompleteFragment)?;
            self.counts.complete(earlier);
            let verified = key.receiver(facts).verify_msdu(facts.michael, &mut whole);
            let len = verified.map_err(|_| Skipped::Forged)?.len();
            whole.truncate(len);
            reassembled = whole;
            &reassembled[..]
        } else {
            payload
        };

        let mut emit = |head: &[u8], body: &[u8]| to.frame(frame.ts_ns, head, body);
        self.counts.frames += if facts.is_amsdu {
            emit_amsdu(msdu, &mut emit)?
        } else {
            emit_msdu(facts.michael.da, facts.michael.sa, msdu, &mut emit)?;
            1
        };
        *match key.receiver(facts) {
            Cipher::Wep(_) => &mut self.counts.wep,
            Cipher::Tkip(_) => &mut self.counts.tkip,
            Cipher::Aes(_) => &mut self.counts.aes,
        } += 1;
        if let (Some(place), false, Some(packet)) = (frame.place, facts.is_amsdu, eapol(msdu)) {
            let ends = self.keys.ends(place);
            if ends.peer.is_none() {
                for (owner, key) in to.eapol(ends.bssid, ends.station, packet) {
                    self.add_learned(owner, key);
                }
            }
        }
        Ok(())
    }

    /// Tries all keys one by one, except the key that already failed. The opened frame is in `self.copy`.
    fn open_otherwise(&mut self, frame: &Pending<'_>) -> Result<(Arc<CaptureKey>, Range<usize>), Skipped> {
        let facts = &frame.facts;
        let mut failure = match (facts.is_wep, self.learns) {
            (_, true) => Skipped::NotLearned,
            (true, false) => Skipped::NoWepKey,
            (false, false) => Skipped::NoKey,
        };
        let mut fails = |key: &CaptureKey, error: &OpenError| match error {
            // The ICV was correct, so this is the right key and no other key can match.
            OpenError::Mic if key.suite() == Suite::Tkip => Err(Skipped::Forged),
            OpenError::Short => {
                failure = Skipped::Damaged;
                Ok(())
            }
            _ => {
                failure = Skipped::WrongKey;
                Ok(())
            }
        };
        if let (Some(key), Err(error)) = (&frame.key, &frame.outcome) {
            fails(key, error)?;
        }
        let tried = |key: &Arc<CaptureKey>| frame.key.as_ref().is_some_and(|first| Arc::ptr_eq(first, key));
        for key in self.keys.candidates(facts, frame.place).filter(|key| !tried(key)) {
            self.copy.clear();
            self.copy.extend_from_slice(&frame.mpdu);
            match key.open(facts, &mut self.copy) {
                Ok(payload) => return Ok((key.clone(), payload)),
                Err(error) => fails(key, &error)?,
            }
        }
        Err(failure)
    }
}

/// The jobs for one kind of key, and the destinations of their outcomes.
struct Jobs<'k, 'j, K> {
    jobs: Vec<(&'k K, OpenJob<'j>)>,
    outcomes: Vec<&'j mut Result<Range<usize>, OpenError>>,
}

impl<K> Default for Jobs<'_, '_, K> {
    fn default() -> Self {
        Jobs {
            jobs: Vec::new(),
            outcomes: Vec::new(),
        }
    }
}

impl<'k, 'j, K> Jobs<'k, 'j, K> {
    fn push(&mut self, key: &'k K, job: OpenJob<'j>, outcome: &'j mut Result<Range<usize>, OpenError>) {
        self.jobs.push((key, job));
        self.outcomes.push(outcome);
    }

    fn open(&mut self, open_each: fn(&mut [(&K, OpenJob<'_>)])) {
        open_each(&mut self.jobs);
        for ((_, job), outcome) in self.jobs.iter().zip(&mut self.outcomes) {
            **outcome = job.verdict().map(|opened| opened.payload.clone());
        }
    }
}

/// The ends of a frame's link. For a frame with four addresses, the order may be reversed.
fn ends(frame: &DataFrame<'_>) -> Ends {
    let (to, from) = (frame.receiver(), frame.transmitter());
    match (frame.is_to_ds(), frame.is_from_ds()) {
        (true, _) => Ends::of(to, from),
        (false, true) if to.is_group() => Ends::of(from, MacAddr::BROADCAST),
        (false, true) => Ends::of(from, to),
        // The keys come from other handshakes than those with the access point.
        (false, false) => Ends::direct(frame.addr3(), from, to),
    }
}

/// The EAPOL packet in an MSDU, if any.
fn eapol(msdu: &[u8]) -> Option<&[u8]> {
    let llc = LlcSnap::parse(msdu).ok()?;
    (llc.ethertype == EtherType::EAPOL).then(|| &msdu[LlcSnap::LEN..])
}
