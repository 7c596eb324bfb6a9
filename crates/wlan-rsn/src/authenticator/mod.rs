//! The access point's side of the 4-way and group key handshakes with all stations (IEEE 802.11-2020 12.7.6, 12.7.7).
//!
//! ```text
//!  start ──► sends 1 ──message 2: sends 3──► waits for 4 ──message 4: installs──► session ──► group messages
//!                                                                                  │  ▲
//!                                                                                  └──┘ a new pairwise key
//! ```
//! A station has a session, a handshake, or both. A start under the address of a station with a session does not
//! affect the session until message 4 proves that the station itself has started the handshake.
//!
//! Rules:
//!
//! - A message is retransmitted with the next replay counter after [`Timing::first`] and then after each
//!   [`Timing::next`], up to [`Timing::tries`] transmissions. An answer may carry any of these counters (12.7.6.1,
//!   12.7.2 d).
//! - The elements in message 2 must equal those of the association, octet for octet (12.7.6.3).
//! - The new pairwise key is installed for reception before message 3 is sent, and for transmission after message 4
//!   arrives (12.7.6.4). In between, frames under both keys can be decrypted. Extended Key IDs alternate between 0
//!   and 1.
//! - A new group key is distributed to every station before it is used for transmission (12.7.7.1).
//! - At most [`Limits::half_open`] handshakes wait for a first answer. A further handshake displaces the one that has
//!   waited longest. Stations that do answer leave this state within a round trip.

mod group;
mod group_handshake;
mod handshake;
mod station;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::time::Duration;

use rand_core::CryptoRng;
use wlan_ciphers::{IntegrityKeyId, Suite};
use wlan_frames::MacAddr;
use wlan_frames::management::status;
use wlan_frames::rsn::RsnCapabilities;

use crate::association::{Chosen, is_data_cipher};
use crate::output::{Failure, Output, Timing};
use crate::{Akm, Association, Elements, Key, Mismatch, Peer, Pmk, Protocol, WrongPmk};
use group::Group;
use station::{Kind, Slot, Station};

/// Maximum numbers of stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// All stations: 2007 association identifiers exist (9.4.1.8).
    pub stations: usize,
    /// Stations that have not answered yet.
    pub half_open: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            stations: 2007,
            half_open: 256,
        }
    }
}

/// The reason why a handshake cannot start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The elements of the station do not match.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The PMK does not match the key management.
    #[error(transparent)]
    Pmk(#[from] WrongPmk),
    /// The maximum number of stations is reached, and all of them have answered.
    #[error("the limit of {0} stations is reached")]
    Full(usize),
}

impl StartError {
    /// The status code of the association response that refuses the association (IEEE 802.11-2020 Table 9-50).
    #[must_use]
    pub const fn status_code(self) -> u16 {
        match self {
            StartError::Mismatch(mismatch) => mismatch.status_code(),
            StartError::Pmk(_) | StartError::Full(_) => status::FULL,
        }
    }
}

/// The access point's side of the handshakes with all its stations. `P` identifies a station to the caller.
pub struct Authenticator<P = MacAddr> {
    address: MacAddr,
    elements: Elements,
    timing: Timing,
    limits: Limits,
    group: Group,
    stations: BTreeMap<P, Station>,
    /// The next deadline of each station that waits for something.
    timers: BTreeSet<(Duration, P)>,
    /// Stations that have not answered yet, in the order of their starts.
    half_open: BTreeSet<(u64, P)>,
    starts: u64,
    outputs: VecDeque<Output<P>>,
}

impl<P> fmt::Debug for Authenticator<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator")
            .field("address", &self.address)
            .field("stations", &self.stations.len())
            .field("half_open", &self.half_open.len())
            .finish_non_exhaustive()
    }
}

impl<P: Peer> Authenticator<P> {
    /// Creates an access point that advertises `elements`. It installs its first group key at once.
    ///
    /// # Errors
    /// [`Mismatch`] if `elements` has neither an RSN nor a WPA element, both with different group ciphers, or SAE or
    /// OWE without the required management frame protection.
    pub fn new(
        address: MacAddr,
        elements: Elements,
        timing: Timing,
        limits: Limits,
        rng: &mut dyn CryptoRng,
    ) -> Result<Authenticator<P>, Mismatch> {
        let (cipher, integrity) = group_ciphers(&elements)?;
        let mut authenticator = Authenticator {
            address,
            elements,
            timing,
            limits,
            group: Group::new(cipher, integrity, rng),
            stations: BTreeMap::new(),
            timers: BTreeSet::new(),
            half_open: BTreeSet::new(),
            starts: 0,
            outputs: VecDeque::new(),
        };
        authenticator.group.install(address, &mut authenticator.outputs);
        Ok(authenticator)
    }

    /// Starts a handshake with a station that sent these elements, in its association request or in a first frame. If
    /// a handshake for the same association already waits for its first answer, message 1 is sent again. If message 2
    /// has arrived, or the handshake replaces the keys of a session, the call has no effect, so that an attacker
    /// cannot disturb the handshake.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(
        &mut self,
        station: P,
        elements: &Elements,
        pmk: &Pmk,
        now: Duration,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), StartError> {
        let association = Association::negotiate(&self.elements, elements)?;
        let protection = crate::protection_of(&association, pmk)?;
        if !self.stations.contains_key(&station) {
            self.make_room(now)?;
        }
        let entry = self.stations.entry(station).or_default();
        match &mut entry.handshake {
            Some(handshake) if handshake.sealed || handshake.answer.is_some() => return Ok(()),
            Some(handshake) if handshake.is_for(&association, pmk) => {}
            handshake => {
                *handshake = Some(station::Handshake::new(association, protection, pmk.clone(), rng));
                if entry.session.is_none() && entry.half_open.is_none() {
                    self.starts += 1;
                    entry.half_open = Some(self.starts);
                    self.half_open.insert((self.starts, station));
                }
            }
        }
        self.send_message_1(station, now);
        Ok(())
    }

    /// Ensures capacity for one more station without an answer.
    fn make_room(&mut self, now: Duration) -> Result<(), StartError> {
        let crowded = self.half_open.len() >= self.limits.half_open;
        if !crowded && self.stations.len() < self.limits.stations {
            return Ok(());
        }
        let &(_, oldest) = self
            .half_open
            .first()
            .ok_or(StartError::Full(self.limits.stations))?;
        self.fail(oldest, Slot::Handshake, Failure::Displaced, now);
        Ok(())
    }

    /// True once half of [`Limits::half_open`] is in use: time to require a [cookie](crate::cookie) from new
    /// stations.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.half_open.len() * 2 >= self.limits.half_open
    }

    /// The next action. Call this after each call of another function, until it returns `None`.
    pub fn poll_output(&mut self) -> Option<Output<P>> {
        self.outputs.pop_front()
    }

    /// The latest time for the next call of [`timeout`](Self::timeout).
    #[must_use]
    pub fn next_timeout(&self, now: Duration) -> Option<Duration> {
        let last = self.timers.last()?.0;
        // If the clock has jumped back, the last deadline may be the one that is due.
        let first = self.timers.first()?.0;
        Some(
            self.timing
                .wait_until(first, now)
                .min(self.timing.wait_until(last, now)),
        )
    }

    /// Handles the passage of time.
    pub fn timeout(&mut self, now: Duration) {
        let due: Vec<P> = {
            let early = self.timers.iter().take_while(|&&(at, _)| at <= now);
            let late = self
                .timers
                .iter()
                .rev()
                .take_while(|&&(at, _)| at > now && self.timing.is_due(at, now));
            early.chain(late).map(|&(_, station)| station).collect()
        };
        for station in due {
            self.expire(station, now);
        }
    }

    /// Records the last packet numbers used with the group key and with the integrity group key. Message 3 and group
    /// messages carry them (Key RSC, IPN), so that a station rejects older frames (12.7.6.4, 12.7.7.2). Each
    /// transmission carries the current numbers: call this before each [`receive`](Self::receive) and
    /// [`timeout`](Self::timeout).
    pub fn note_group_numbers(&mut self, group: u64, integrity: u64) {
        self.group.note_numbers(group, integrity);
    }

    /// Includes the key that protects beacons (BIGTK) in all later messages to stations that protect management
    /// frames, so that they can verify beacons (11.52; Table 12-9). A new group key does not replace it.
    ///
    /// # Errors
    /// [`Mismatch::ManagementProtection`] if `key_id` is not 6 or 7, or if the key does not fit the advertised cipher
    /// for group addressed management frames.
    pub fn protect_beacons(&mut self, key_id: IntegrityKeyId, bigtk: Key) -> Result<(), Mismatch> {
        match self.group.set_beacon_key(key_id, bigtk) {
            true => Ok(()),
            false => Err(Mismatch::ManagementProtection),
        }
    }

    /// Records the packet number (BIPN) of the last beacon, like [`note_group_numbers`](Self::note_group_numbers).
    pub fn note_beacon_number(&mut self, bipn: u64) {
        self.group.note_beacon_number(bipn);
    }

    /// Removes a station that is gone, with its keys.
    pub fn remove(&mut self, station: P) {
        if self.stations.contains_key(&station) {
            self.drop_station(station);
            self.outputs.push_back(Output::Failed {
                peer: station,
                reason: Failure::PeerGone,
                still_established: false,
            });
            self.settle_group();
        }
    }

    /// Starts to replace the pairwise key of a station. Returns false if it has none yet, or a handshake is in
    /// progress.
    pub fn rekey_pairwise(&mut self, station: P, now: Duration, rng: &mut dyn CryptoRng) -> bool {
        self.replace_pairwise(station, None, now, rng)
    }

    /// Starts to replace the PMK and the pairwise key of a station that has authenticated again. Returns false if it has
    /// no key yet, a handshake is in progress, or the key management does not support the PMK.
    pub fn renew_pmk(&mut self, station: P, pmk: &Pmk, now: Duration, rng: &mut dyn CryptoRng) -> bool {
        self.replace_pairwise(station, Some(pmk), now, rng)
    }

    fn replace_pairwise(
        &mut self,
        station: P,
        pmk: Option<&Pmk>,
        now: Duration,
        rng: &mut dyn CryptoRng,
    ) -> bool {
        let Some(entry) = self.stations.get_mut(&station) else {
            return false;
        };
        let Some(session) = entry.session.as_ref().filter(|session| !session.is_opening) else {
            return false;
        };
        // An unanswered start gives way: it may be forged.
        if entry
            .handshake
            .as_ref()
            .is_some_and(|handshake| handshake.sealed || handshake.answer.is_some())
        {
            return false;
        }
        let pmk = pmk.unwrap_or(&session.pmk);
        if crate::protection_of(&session.association, pmk).is_err() {
            return false;
        }
        entry.handshake = Some(session.rekey(pmk.clone(), rng));
        self.send_message_1(station, now);
        true
    }

    /// Distributes a new group key to all stations, and then uses it. Returns false if a group rekey is in progress.
    pub fn rekey_group(&mut self, now: Duration, rng: &mut dyn CryptoRng) -> bool {
        if !self.group.begin_rekey(rng) {
            return false;
        }
        let stations: Vec<P> = self.stations.keys().copied().collect();
        for station in stations {
            self.update_group(station, now);
        }
        self.settle_group();
        true
    }

    /// Whether a new group key is being distributed.
    #[must_use]
    pub fn is_rekeying_group(&self) -> bool {
        self.group.coming().is_some()
    }

    /// Number of stations with a session.
    #[must_use]
    pub fn established(&self) -> usize {
        self.stations
            .values()
            .filter(|station| station.session.is_some())
            .count()
    }

    /// Number of stations that have not answered yet.
    #[must_use]
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// Retransmits or gives up the overdue messages of a station.
    fn expire(&mut self, peer: P, now: Duration) {
        let Some(station) = self.stations.get_mut(&peer) else {
            return;
        };
        station
            .retiring
            .expire(peer, &self.timing, now, &mut self.outputs);
        let overdue = station.waits().map(|wait| {
            wait.filter(|wait| self.timing.is_due(wait.deadline, now))
                .map(|wait| wait.tries >= self.timing.tries)
        });
        for (slot, overdue) in [Slot::Handshake, Slot::Session].into_iter().zip(overdue) {
            match overdue {
                Some(true) => self.give_up(peer, slot, now),
                Some(false) => self.send_again(peer, slot, now),
                None => {}
            }
        }
        self.set_timer(peer);
    }

    /// Sends the pending message of a station with the next replay counter.
    fn send_again(&mut self, peer: P, slot: Slot, now: Duration) {
        let Some(station) = self.stations.get_mut(&peer) else {
            return;
        };
        let timing = self.timing;
        let deadline = |tries, kind| {
            now.saturating_add(match (tries, kind) {
                (0, Kind::Group(_)) => timing.first_group,
                (0, _) => timing.first,
                _ => timing.next,
            })
        };
        if let Some((packet, sealed)) = station.send_again(slot, deadline, &self.elements, &self.group) {
            self.outputs.push_back(Output::Send {
                to: peer,
                packet,
                sealed,
            });
        }
        self.set_timer(peer);
    }

    /// Ends a handshake or session after the last try without an answer.
    fn give_up(&mut self, peer: P, slot: Slot, now: Duration) {
        let Some(station) = self.stations.get(&peer) else {
            return;
        };
        let reason = match (slot, &station.handshake) {
            (Slot::Handshake, Some(handshake)) => handshake.why_no_answer(),
            _ => Failure::NoGroupAnswer,
        };
        self.fail(peer, slot, reason, now);
    }

    /// Ends a failed handshake or session. A failed new handshake beside a session leaves the session unchanged.
    fn fail(&mut self, peer: P, slot: Slot, reason: Failure, now: Duration) {
        let Some(station) = self.stations.get_mut(&peer) else {
            return;
        };
        let fresh = station.handshake.take_if(|handshake| !handshake.sealed);
        let still_established = slot == Slot::Handshake && station.session.is_some() && fresh.is_some();
        if still_established {
            if let Some(answer) = fresh.and_then(|handshake| handshake.answer) {
                let key = answer.ptk.tk();
                self.outputs.push_back(Output::Retire { peer, key });
            }
        } else {
            self.drop_station(peer);
        }
        self.set_timer(peer);
        self.outputs.push_back(Output::Failed {
            peer,
            reason,
            still_established,
        });
        self.update_group(peer, now);
        self.settle_group();
    }

    fn drop_station(&mut self, peer: P) {
        if let Some(station) = self.stations.remove(&peer) {
            if let Some(timer) = station.timer {
                self.timers.remove(&(timer, peer));
            }
            if let Some(order) = station.half_open {
                self.half_open.remove(&(order, peer));
            }
        }
    }

    /// Updates the timer of a station to its earliest deadline.
    fn set_timer(&mut self, peer: P) {
        let Some(station) = self.stations.get_mut(&peer) else {
            return;
        };
        let waits = station.waits().map(|wait| wait.map(|wait| wait.deadline));
        let timer = waits.into_iter().chain([station.retiring.next()]).flatten().min();
        if timer != station.timer {
            if let Some(old) = station.timer {
                self.timers.remove(&(old, peer));
            }
            if let Some(new) = timer {
                self.timers.insert((new, peer));
            }
            station.timer = timer;
        }
    }
}

/// Returns the cipher of group addressed management frames that an access point advertises, if it protects them.
///
/// # Errors
/// [`Mismatch::ManagementProtection`] for an unknown cipher; for SAE or OWE without MFPC; and if SAE and OWE are the
/// only key managements, without MFPR ([`Akm::requires_mfp`](crate::Akm::requires_mfp)).
fn integrity_cipher(rsn: &Chosen) -> Result<Option<Suite>, Mismatch> {
    let requires = |akm: &Option<Akm>| akm.is_some_and(Akm::requires_mfp);
    let is_capable = rsn.capabilities.has(RsnCapabilities::MFP_CAPABLE);
    let is_required = rsn.capabilities.has(RsnCapabilities::MFP_REQUIRED);
    let is_missing = rsn.akms.iter().any(requires) && !is_capable;
    if is_missing || rsn.akms.iter().all(requires) && !is_required {
        return Err(Mismatch::ManagementProtection);
    }
    if !is_capable {
        return Ok(None);
    }
    rsn.group_management
        .map(Some)
        .ok_or(Mismatch::ManagementProtection)
}

/// Returns the advertised ciphers of group keys and integrity group keys.
fn group_ciphers(elements: &Elements) -> Result<(Suite, Option<Suite>), Mismatch> {
    let read = |protocol, element: &[u8]| match element {
        [] => Ok(None),
        _ => Chosen::read(protocol, element)
            .map(Some)
            .ok_or(Mismatch::Element("access point")),
    };
    let rsn = read(Protocol::Rsn, &elements.rsn)?;
    let wpa = read(Protocol::Wpa, &elements.wpa)?;
    let integrity = match &rsn {
        Some(rsn) => integrity_cipher(rsn)?,
        None => None,
    };
    let mut groups = [rsn, wpa].into_iter().flatten().map(|chosen| chosen.group);
    let group = groups.next().ok_or(Mismatch::Element("access point"))?;
    match group {
        Some(suite) if groups.all(|other| other == group) && is_data_cipher(suite) => Ok((suite, integrity)),
        _ => Err(Mismatch::Group),
    }
}
