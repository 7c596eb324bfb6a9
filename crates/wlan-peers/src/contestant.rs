//! The contestants that process the frames of a case: the engine with a backend, a library interface, or an idle one.

use std::slice;

use wlan_ciphers::prepared;
use wlan_ciphers::study::{Head, PaperLanes, Split};
use wlan_ciphers::tkip::Role;
use wlan_ciphers::{
    Backend, Half, KeyError, KeyId, Lanes, OpenError, OpenJob, PacketNumber, SealError, SealFault, SealJob,
    Suite, TemporalKey, Tkip, Wep, front_end_each, open_each, seal_each, tkip, wep,
};

use crate::case::{Case, Fault, Who};
use crate::clock;
use crate::frames::{Frames, HEADER_LEN, Packet, Random};
use crate::library::{Interface, Run};

/// Seals or opens its frames as the case specifies.
pub(crate) trait Work {
    /// Processes the whole batch in place.
    fn run(&mut self) -> Result<(), Fault>;
    /// The frames, before or after a run.
    fn frames(&mut self) -> &mut Frames;
}

/// Keys that look random.
pub(crate) fn keys(suite: Suite, count: usize) -> Vec<Vec<u8>> {
    let mut random = Random(7);
    let key = |_| {
        let mut key = vec![0; suite.key_len()];
        random.fill(&mut key);
        key
    };
    (0..count).map(key).collect()
}

/// The engine's key of a suite. The keys of a batch are adjacent in memory, as for a caller with a single suite.
#[allow(clippy::large_enum_variant)]
enum Key {
    Aes(TemporalKey),
    Wep(Wep),
    /// The station's key seals, the access point's key opens.
    Tkip(Tkip, Tkip),
}

impl Key {
    fn new(suite: Suite, key: &[u8], backend: Backend) -> Result<Key, KeyError> {
        let length = KeyError::Length {
            suite,
            found: key.len(),
        };
        Ok(match suite {
            Suite::Wep40 | Suite::Wep104 => Key::Wep(Wep::new(key).map_err(|_| length)?),
            Suite::Tkip => {
                let key = key.try_into().map_err(|_| length)?;
                Key::Tkip(
                    Tkip::new(key, Role::Supplicant),
                    Tkip::new(key, Role::Authenticator),
                )
            }
            _ => Key::Aes(TemporalKey::with_backend(suite, key, backend)?),
        })
    }

    fn all(suite: Suite, keys: &[Vec<u8>], backend: Backend) -> Result<Vec<Key>, KeyError> {
        keys.iter().map(|key| Key::new(suite, key, backend)).collect()
    }

    fn seal(&self, batch: &mut [SealJob<'_>]) -> Result<(), Fault> {
        match self {
            Key::Aes(key) => key.seal(batch),
            Key::Wep(key) => key.seal(batch),
            Key::Tkip(station, _) => station.seal(batch),
        }
        .map_err(Fault::Seal)
    }

    /// Processes one frame. Nothing here refers to the kernels for several frames, which would enlarge a program.
    fn pass_over(&self, pass: Pass, mpdu: &mut [u8], pn: u64) -> Result<(), Fault> {
        if pass == Pass::Open {
            let mut job = open_job(mpdu);
            match self {
                Key::Aes(key) => key.open_one(&mut job),
                Key::Wep(key) => key.open(slice::from_mut(&mut job)),
                Key::Tkip(_, access_point) => access_point.open(slice::from_mut(&mut job)),
            }
            return verdict(&job);
        }
        let job = &mut seal_job(mpdu, pn);
        let sealed = match (self, pass) {
            (Key::Aes(key), Pass::Half(half)) => key.seal_half(half, job),
            (Key::Wep(key), Pass::Half(half)) => key.seal_half(half, job),
            (Key::Tkip(station, _), Pass::Half(half)) => station.seal_half(half, job),
            (Key::Aes(key), _) => key.seal_one(job),
            (Key::Wep(key), _) => key.seal(slice::from_mut(job)).map_err(|error| error.fault),
            (Key::Tkip(station, _), _) => station.seal(slice::from_mut(job)).map_err(|error| error.fault),
        };
        sealed.map_err(seal_fault)
    }

    fn open(&self, batch: &mut [OpenJob<'_>]) -> Result<(), Fault> {
        match self {
            Key::Aes(key) => key.open(batch),
            Key::Wep(key) => key.open(batch),
            Key::Tkip(_, access_point) => access_point.open(batch),
        }
        batch.iter().try_for_each(verdict)
    }
}

fn seal_fault(fault: SealFault) -> Fault {
    Fault::Seal(SealError { job: 0, fault })
}

fn verdict(job: &OpenJob<'_>) -> Result<(), Fault> {
    job.verdict().map(|_| ()).map_err(Fault::Open)
}

/// The engine on the frames of a case as one batch. It creates jobs in every run, as callers do.
pub(crate) struct Engine {
    case: Case,
    keys: Vec<Key>,
    frames: Frames,
}

impl Engine {
    pub(crate) fn new(
        case: Case,
        backend: Backend,
        keys: &[Vec<u8>],
        frames: Frames,
    ) -> Result<Engine, Fault> {
        let keys = Key::all(case.suite, keys, backend)?;
        Ok(Engine { case, keys, frames })
    }
}

impl Work for Engine {
    fn run(&mut self) -> Result<(), Fault> {
        let Case { open, key_each, .. } = self.case;
        // Keys take turns as in `Frames::packets`.
        let keys = self.keys.iter().cycle();
        let first_pn = self.frames.pn(0);
        let mpdus = split(&mut self.frames.buffer, &self.frames.places);
        match (open, key_each) {
            (false, false) => {
                let mut batch: Vec<_> = mpdus
                    .zip(first_pn..)
                    .map(|(mpdu, pn)| seal_job(mpdu, pn))
                    .collect();
                self.keys[0].seal(&mut batch)
            }
            (true, false) => {
                let mut batch: Vec<_> = mpdus.map(open_job).collect();
                self.keys[0].open(&mut batch)
            }
            (false, true) => {
                let jobs = mpdus.zip(first_pn..).map(|(mpdu, pn)| seal_job(mpdu, pn));
                match self.keys[0] {
                    Key::Aes(_) => seal_each(&mut zip(keys.filter_map(aes_key), jobs)),
                    Key::Wep(_) => wep::seal_each(&mut zip(keys.filter_map(wep_key), jobs)),
                    Key::Tkip(..) => tkip::seal_each(&mut zip(keys.filter_map(station), jobs)),
                }
                .map_err(Fault::Seal)
            }
            (true, true) => {
                let jobs = mpdus.map(open_job);
                match self.keys[0] {
                    Key::Aes(_) => verdicts(zip(keys.filter_map(aes_key), jobs), open_each),
                    Key::Wep(_) => verdicts(zip(keys.filter_map(wep_key), jobs), wep::open_each),
                    Key::Tkip(..) => verdicts(zip(keys.filter_map(access_point), jobs), tkip::open_each),
                }
            }
        }
    }

    fn frames(&mut self) -> &mut Frames {
        &mut self.frames
    }
}

/// The engine's sealing of a batch without AES.
pub(crate) struct FrontEnd {
    key_each: bool,
    keys: Vec<TemporalKey>,
    frames: Frames,
}

impl FrontEnd {
    /// Takes keys of an AES suite.
    pub(crate) fn new(case: Case, backend: Backend, keys: &[Vec<u8>], frames: Frames) -> Result<Self, Fault> {
        Ok(FrontEnd {
            key_each: case.key_each,
            keys: aes_keys(case.suite, keys, backend)?,
            frames,
        })
    }
}

impl Work for FrontEnd {
    fn run(&mut self) -> Result<(), Fault> {
        let first_pn = self.frames.pn(0);
        let mpdus = split(&mut self.frames.buffer, &self.frames.places);
        let jobs = mpdus.zip(first_pn..).map(|(mpdu, pn)| seal_job(mpdu, pn));
        if self.key_each {
            front_end_each(&mut zip(self.keys.iter().cycle(), jobs))
        } else {
            self.keys[0].front_end(&mut jobs.collect::<Vec<_>>())
        }
        .map_err(Fault::Seal)
    }

    fn frames(&mut self) -> &mut Frames {
        &mut self.frames
    }
}

fn aes_keys(suite: Suite, keys: &[Vec<u8>], backend: Backend) -> Result<Vec<TemporalKey>, KeyError> {
    keys.iter()
        .map(|key| TemporalKey::with_backend(suite, key, backend))
        .collect()
}

/// The engine's GCM on the packets of a case, as the libraries take them.
pub(crate) struct Prepared {
    case: Case,
    keys: Vec<TemporalKey>,
    packets: Vec<Packet>,
    frames: Frames,
}

impl Prepared {
    /// Takes keys of GCMP.
    pub(crate) fn new(
        case: Case,
        backend: Backend,
        keys: &[Vec<u8>],
        mut frames: Frames,
    ) -> Result<Prepared, Fault> {
        let packets = frames.packets(keys.len());
        Ok(Prepared {
            case,
            keys: aes_keys(case.suite, keys, backend)?,
            packets,
            frames,
        })
    }
}

impl Work for Prepared {
    fn run(&mut self) -> Result<(), Fault> {
        let Case { open, one_by_one, .. } = self.case;
        let (start, keys) = (self.frames.start(), &self.keys);
        let mpdus = split(&mut self.frames.buffer, &self.frames.places);
        let packets = mpdus.zip(&self.packets).map(|(buffer, packet)| {
            let [nonce @ .., _, _, _, _] = packet.nonce;
            let prepared = prepared::Packet {
                buffer,
                payload: start..start + packet.text_b as usize,
                nonce,
                aad: packet.aad,
                aad_len: packet.aad_b as usize,
            };
            (&keys[packet.key as usize], prepared)
        });
        if one_by_one {
            for packet in packets {
                prepared_packets(open, std::iter::once(packet))?;
                clock::fence();
            }
            return Ok(());
        }
        prepared_packets(open, packets)
    }

    fn frames(&mut self) -> &mut Frames {
        &mut self.frames
    }
}

/// Seals or opens packets, which must all open.
fn prepared_packets<'b>(
    open: bool,
    packets: impl ExactSizeIterator<Item = (&'b TemporalKey, prepared::Packet<'b>)>,
) -> Result<(), Fault> {
    if !open {
        prepared::seal(packets);
    } else if !prepared::open(packets) {
        return Err(Fault::Open(OpenError::Mic));
    }
    Ok(())
}

/// The processing of each frame by [`OneByOne`] and [`Printed`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    Half(Half),
    Seal,
    Open,
}

/// The engine on one frame after another.
pub(crate) struct OneByOne {
    pass: Pass,
    keys: Vec<Key>,
    frames: Frames,
}

impl OneByOne {
    pub(crate) fn new(pass: Pass, backend: Backend, keys: &[Vec<u8>], frames: Frames) -> Result<Self, Fault> {
        let keys = Key::all(frames.suite, keys, backend)?;
        Ok(OneByOne { pass, keys, frames })
    }
}

impl Work for OneByOne {
    fn run(&mut self) -> Result<(), Fault> {
        let first_pn = self.frames.pn(0);
        let mpdus = split(&mut self.frames.buffer, &self.frames.places).zip(first_pn..);
        // Keys take turns as in `Frames::packets`.
        for ((mpdu, pn), key) in mpdus.zip(self.keys.iter().cycle()) {
            key.pass_over(self.pass, mpdu, pn)?;
            clock::fence();
        }
        Ok(())
    }

    fn frames(&mut self) -> &mut Frames {
        &mut self.frames
    }
}

/// The lanes of Hayajneh et al. as printed, frame by frame with one key: complete sealing, opening, or one half of
/// sealing. The blocks go to the lanes in turn and B0 and the AAD to the first lane, as in `rtl/`.
pub(crate) struct Printed {
    pass: Pass,
    key: PaperLanes,
    frames: Frames,
}

impl Printed {
    /// Takes a key of CCMP-128.
    pub(crate) fn new(pass: Pass, lanes: Lanes, key: &[u8], frames: Frames) -> Result<Self, KeyError> {
        let key = key.try_into().map_err(|_| KeyError::Length {
            suite: Suite::Ccmp128,
            found: key.len(),
        })?;
        Ok(Printed {
            pass,
            key: PaperLanes::new(key, lanes, Split::Interleaved, Head::FirstLane),
            frames,
        })
    }
}

impl Work for Printed {
    fn run(&mut self) -> Result<(), Fault> {
        let first_pn = self.frames.pn(0);
        for (mpdu, pn) in split(&mut self.frames.buffer, &self.frames.places).zip(first_pn..) {
            let sealed = match self.pass {
                Pass::Half(half) => self.key.seal_half(half, &mut seal_job(mpdu, pn)),
                Pass::Seal => self.key.seal(&mut seal_job(mpdu, pn)),
                Pass::Open => {
                    let mut job = open_job(mpdu);
                    self.key.open(&mut job);
                    verdict(&job)?;
                    Ok(())
                }
            };
            sealed.map_err(seal_fault)?;
            clock::fence();
        }
        Ok(())
    }

    fn frames(&mut self) -> &mut Frames {
        &mut self.frames
    }
}

/// Splits the buffer into its MPDUs, which are in order.
fn split<'a>(
    buffer: &'a mut [u8],
    places: &'a [(usize, usize)],
) -> impl ExactSizeIterator<Item = &'a mut [u8]> {
    let (mut rest, mut offset) = (buffer, 0);
    places.iter().map(move |&(at, len)| {
        let (mpdu, after) = std::mem::take(&mut rest)[at - offset..].split_at_mut(len);
        (rest, offset) = (after, at + len);
        mpdu
    })
}

fn aes_key(key: &Key) -> Option<&TemporalKey> {
    match key {
        Key::Aes(key) => Some(key),
        _ => None,
    }
}

fn wep_key(key: &Key) -> Option<&Wep> {
    match key {
        Key::Wep(key) => Some(key),
        _ => None,
    }
}

fn station(key: &Key) -> Option<&Tkip> {
    match key {
        Key::Tkip(station, _) => Some(station),
        _ => None,
    }
}

fn access_point(key: &Key) -> Option<&Tkip> {
    match key {
        Key::Tkip(_, access_point) => Some(access_point),
        _ => None,
    }
}

/// A batch with one key per job.
fn zip<'k, K, J>(keys: impl Iterator<Item = &'k K>, jobs: impl Iterator<Item = J>) -> Vec<(&'k K, J)> {
    keys.zip(jobs).collect()
}

/// Opens a batch. All frames must open.
fn verdicts<K>(
    mut batch: Vec<(&K, OpenJob<'_>)>,
    open_each: impl FnOnce(&mut [(&K, OpenJob<'_>)]),
) -> Result<(), Fault> {
    open_each(&mut batch);
    batch.iter().try_for_each(|(_, job)| verdict(job))
}

fn seal_job(mpdu: &mut [u8], pn: u64) -> SealJob<'_> {
    SealJob {
        mpdu,
        header_len: HEADER_LEN,
        pn: PacketNumber::new(pn).expect("48 bits"),
        key_id: KeyId::PAIRWISE,
    }
}

fn open_job(mpdu: &mut [u8]) -> OpenJob<'_> {
    OpenJob::new(mpdu, KeyId::PAIRWISE)
}

/// A library on the frames of a case.
pub(crate) struct Peer {
    pub(crate) interface: Interface,
    pub(crate) one_by_one: bool,
    pub(crate) run: Run,
}

impl Work for Peer {
    fn run(&mut self) -> Result<(), Fault> {
        let (who, count) = (Who::Peer(self.interface), self.run.frames().places.len());
        let failed = |line| Fault::Failed { who, line };
        if !self.one_by_one {
            return self.run.run(0, count).map_err(failed);
        }
        for i in 0..count {
            self.run.run(i, 1).map_err(failed)?;
            clock::fence();
        }
        Ok(())
    }

    fn frames(&mut self) -> &mut Frames {
        self.run.frames()
    }
}

/// Does nothing, so that only the copy that opening requires before each run is timed.
pub(crate) struct Idle(pub(crate) Frames);

impl Work for Idle {
    fn run(&mut self) -> Result<(), Fault> {
        std::hint::black_box(&mut self.0.buffer);
        Ok(())
    }

    fn frames(&mut self) -> &mut Frames {
        &mut self.0
    }
}
