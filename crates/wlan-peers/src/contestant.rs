//! The contestants beside those of `wlan-speed`: the engine on batches, and the interfaces of libraries.

use wlan_ciphers::{Backend, Cipher, OpenJob, TemporalKey, Tkip, Wep, open_each, seal_each, tkip, wep};
use wlan_speed::contestant::{Work, ciphers, open_job, seal_job, split, verdict};
use wlan_speed::frames::Frames;
use wlan_speed::{BATCH, Case, Fault, clock};

use crate::library::{Interface, Run};
use crate::who::Who;

/// The engine on the frames of a case as one batch. It creates jobs in every run, as callers do.
pub(crate) struct Engine {
    case: Case,
    keys: Vec<Cipher>,
    frames: Frames,
}

impl Engine {
    pub(crate) fn new(
        case: Case,
        backend: Backend,
        keys: &[Vec<u8>],
        frames: Frames,
    ) -> Result<Engine, Fault> {
        let keys = ciphers(case.suite, keys, backend, case.open)?;
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
                self.keys[0].seal(&mut batch).map_err(Fault::Seal)
            }
            (true, false) => {
                let mut batch: Vec<_> = mpdus.map(open_job).collect();
                self.keys[0].open(&mut batch);
                batch.iter().try_for_each(verdict)
            }
            (false, true) => {
                let jobs = mpdus.zip(first_pn..).map(|(mpdu, pn)| seal_job(mpdu, pn));
                match self.keys[0] {
                    Cipher::Aes(_) => seal_each(&mut zip(keys.filter_map(aes_key), jobs)),
                    Cipher::Wep(_) => wep::seal_each(&mut zip(keys.filter_map(wep_key), jobs)),
                    Cipher::Tkip(_) => tkip::seal_each(&mut zip(keys.filter_map(tkip_key), jobs)),
                }
                .map_err(Fault::Seal)
            }
            (true, true) => {
                let jobs = mpdus.map(open_job);
                match self.keys[0] {
                    Cipher::Aes(_) => verdicts(zip(keys.filter_map(aes_key), jobs), open_each),
                    Cipher::Wep(_) => verdicts(zip(keys.filter_map(wep_key), jobs), wep::open_each),
                    Cipher::Tkip(_) => verdicts(zip(keys.filter_map(tkip_key), jobs), tkip::open_each),
                }
            }
        }
    }

    fn frames(&mut self) -> &mut Frames {
        &mut self.frames
    }
}

fn aes_key(key: &Cipher) -> Option<&TemporalKey> {
    match key {
        Cipher::Aes(key) => Some(key),
        _ => None,
    }
}

fn wep_key(key: &Cipher) -> Option<&Wep> {
    match key {
        Cipher::Wep(key) => Some(key),
        _ => None,
    }
}

fn tkip_key(key: &Cipher) -> Option<&Tkip> {
    match key {
        Cipher::Tkip(key) => Some(key),
        _ => None,
    }
}

/// A batch with one key per job. Its capacity is set first, because neither iterator knows its length.
fn zip<'k, K, J>(keys: impl Iterator<Item = &'k K>, jobs: impl Iterator<Item = J>) -> Vec<(&'k K, J)> {
    let mut batch = Vec::with_capacity(BATCH);
    batch.extend(keys.zip(jobs));
    batch
}

/// Opens a batch. All frames must open.
fn verdicts<K>(
    mut batch: Vec<(&K, OpenJob<'_>)>,
    open_each: impl FnOnce(&mut [(&K, OpenJob<'_>)]),
) -> Result<(), Fault> {
    open_each(&mut batch);
    batch.iter().try_for_each(|(_, job)| verdict(job))
}

/// A library on the frames of a case.
pub(crate) struct Peer {
    pub(crate) interface: Interface,
    pub(crate) one_by_one: bool,
    pub(crate) run: Run,
}

impl Work for Peer {
    fn run(&mut self) -> Result<(), Fault> {
        let (interface, count) = (self.interface, self.run.frames().places.len());
        let failed = |line| Fault::Failed {
            who: Who::Peer(interface).to_string(),
            line,
        };
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
