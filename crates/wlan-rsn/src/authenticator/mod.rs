//! The access point's side of the 4-way and group key handshakes, for all its stations (IEEE 802.11-2020 12.7.6, 12.7.7).
//!
//! ```text
//!  start ──► sends 1 ──message 2: sends 3──► waits for 4 ──message 4: installs──► session ──► group messages
//!                                                                                  │  ▲
//!                                                                                  └──┘ a new pairwise key
//! ```
//! A station has a session, a handshake, or both: a start under the address of a station with a session leaves the session
//! alone until message 4 has proved that the start was its own.
//!
//! Rules:
//!
//! - A message is sent again, with the next replay counter, after [`Timing::first`] and then [`Timing::next`], and
//!   [`Timing::tries`] times in all; an answer may name any of these counters (12.7.6.1, 12.7.2 d).
//! - The elements in message 2 are those of the association, octet for octet (12.7.6.3).
//! - The new pairwise key is installed for reception before message 3 goes out, and for transmission when message 4 is in
//!   (12.7.6.4), so that frames under the old and the new key are both opened meanwhile; with extended Key IDs they
//!   alternate between 0 and 1.
//! - A new group key goes to every station first, and is then used to send (12.7.7.1).
//! - At most [`Limits::half_open`] handshakes wait for a first answer. One more, and the one that waited longest is given
//!   up: who does answer is past that within a round trip.

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
use wlan_frames::rsn::RsnCapabilities;

use crate::association::{Chosen, is_data_cipher};
use crate::output::{Failure, Output, Timing};
use crate::{Akm, Association, Elements, Key, Mismatch, Pmk, Protocol, WrongPmk};
use group::Group;
use station::{Kind, Slot, Station};

/// How many stations there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// In all: 2007 association identifiers exist (9.4.1.8).
    pub stations: usize,
    /// Without an answer so far.
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

/// Why no handshake begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// What the station advertised does not fit.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The PMK does not fit the key management.
    #[error(transparent)]
    Pmk(#[from] WrongPmk),
    /// As many stations as there may be have answered.
    #[error("there are {0} stations, no more may join")]
    Full(usize),
}

/// One access point's side.
pub struct Authenticator {
    address: MacAddr,
    elements: Elements,
    timing: Timing,
    limits: Limits,
    group: Group,
    stations: BTreeMap<MacAddr, Station>,
    /// When each station that waits for something is to be looked at.
    timers: BTreeSet<(Duration, MacAddr)>,
    /// Stations without an answer so far, in the order of their starts.
    half_open: BTreeSet<(u64, MacAddr)>,
    starts: u64,
    outputs: VecDeque<Output>,
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator")
            .field("address", &self.address)
            .field("stations", &self.stations.len())
            .field("half_open", &self.half_open.len())
            .finish_non_exhaustive()
    }
}

impl Authenticator {
    /// An access point that advertises `elements`. It installs its first group key at once.
    ///
    /// # Errors
    /// [`Mismatch`] if it advertises neither an RSN nor a WPA element, two with different group ciphers, or SAE or OWE
    /// without the protection of management frames that they require.
    pub fn new(
        address: MacAddr,
        elements: Elements,
        timing: Timing,
        limits: Limits,
        rng: &mut dyn CryptoRng,
    ) -> Result<Authenticator, Mismatch> {
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

    /// A station associated, or knocked, with these elements: begins a handshake with it. Where one waits for its first
    /// answer already, message 1 goes out again; where it has been answered, or replaces the keys of a session, this changes
    /// nothing, so that nobody can disturb it.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(
        &mut self,
        station: MacAddr,
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

    /// Makes room for one more station without an answer.
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

    /// True when half as many stations as may be have not answered yet: time to ask newcomers for a
    /// [cookie](crate::cookie).
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.half_open.len() * 2 >= self.limits.half_open
    }

    /// What to do next. Ask until there is nothing, after each call of another function.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to call [`timeout`](Self::timeout) at the latest.
    #[must_use]
    pub fn next_timeout(&self, now: Duration) -> Option<Duration> {
        let last = self.timers.last()?.0;
        // After a jump back, the last deadline may be the one that is due.
        let first = self.timers.first()?.0;
        Some(
            self.timing
                .wait_until(first, now)
                .min(self.timing.wait_until(last, now)),
        )
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Duration) {
        let due: Vec<MacAddr> = {
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

    /// Notes the packet numbers that were used last with the group key and with the integrity group key. Message 3 and group
    /// messages name them, so that a station takes no older frame (12.7.6.4, 12.7.7.2: Key RSC, IPN), and each transmission
    /// names the numbers of its time: note them before each [`receive`](Self::receive) and [`timeout`](Self::timeout).
    pub fn note_group_numbers(&mut self, group: u64, integrity: u64) {
        self.group.note_numbers(group, integrity);
    }

    /// Tells every station that protects management frames, from now on, the key that protects the beacons (BIGTK), so that
    /// it can verify them (11.52; Table 12-9). A new group key does not replace it.
    ///
    /// # Errors
    /// [`Mismatch::ManagementProtection`] if `key_id` is not 6 or 7, or the key not one of the cipher for group addressed
    /// management frames that this access point advertises.
    pub fn protect_beacons(&mut self, key_id: IntegrityKeyId, bigtk: Key) -> Result<(), Mismatch> {
        match self.group.set_beacon_key(key_id, bigtk) {
            true => Ok(()),
            false => Err(Mismatch::ManagementProtection),
        }
    }

    /// The packet number (BIPN) of the last beacon, as [`note_group_numbers`](Self::note_group_numbers).
    pub fn note_beacon_number(&mut self, bipn: u64) {
        self.group.note_beacon_number(bipn);
    }

    /// A station is gone: its keys are forgotten.
    pub fn remove(&mut self, station: MacAddr) {
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

    /// Gives a station a new pairwise key. Returns false if it has none yet, or a handshake is under way.
    pub fn rekey_pairwise(&mut self, station: MacAddr, now: Duration, rng: &mut dyn CryptoRng) -> bool {
        let Some(entry) = self.stations.get_mut(&station) else {
            return false;
        };
        let Some(session) = entry.session.as_ref().filter(|session| !session.is_opening) else {
            return false;
        };
        // A start that nobody answered gives way: it may be a forged one.
        if entry
            .handshake
            .as_ref()
            .is_some_and(|handshake| handshake.sealed || handshake.answer.is_some())
        {
            return false;
        }
        entry.handshake = Some(session.rekey(rng));
        self.send_message_1(station, now);
        true
    }

    /// Gives all stations a new group key, and then sends with it. Returns false if one is being given out already.
    pub fn rekey_group(&mut self, now: Duration, rng: &mut dyn CryptoRng) -> bool {
        if !self.group.begin_rekey(rng) {
            return false;
        }
        let stations: Vec<MacAddr> = self.stations.keys().copied().collect();
        for station in stations {
            self.update_group(station, now);
        }
        self.settle_group();
        true
    }

    /// How many stations have a session.
    #[must_use]
    pub fn established(&self) -> usize {
        self.stations
            .values()
            .filter(|station| station.session.is_some())
            .count()
    }

    /// How many stations have not answered yet.
    #[must_use]
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// What a station is waited for is overdue, if it is.
    fn expire(&mut self, address: MacAddr, now: Duration) {
        let Some(station) = self.stations.get_mut(&address) else {
            return;
        };
        station
            .retiring
            .expire(address, &self.timing, now, &mut self.outputs);
        let overdue = station.waits().map(|wait| {
            wait.filter(|wait| self.timing.is_due(wait.deadline, now))
                .map(|wait| wait.tries >= self.timing.tries)
        });
        for (slot, overdue) in [Slot::Handshake, Slot::Session].into_iter().zip(overdue) {
            match overdue {
                Some(true) => self.give_up(address, slot, now),
                Some(false) => self.send_again(address, slot, now),
                None => {}
            }
        }
        self.set_timer(address);
    }

    /// Sends what a station is waited for, with the next replay counter.
    fn send_again(&mut self, address: MacAddr, slot: Slot, now: Duration) {
        let Some(station) = self.stations.get_mut(&address) else {
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
                to: address,
                packet,
                sealed,
            });
        }
        self.set_timer(address);
    }

    /// No answer came, however often the message was sent.
    fn give_up(&mut self, address: MacAddr, slot: Slot, now: Duration) {
        let Some(station) = self.stations.get(&address) else {
            return;
        };
        let reason = match (slot, &station.handshake) {
            (Slot::Handshake, Some(handshake)) => handshake.why_no_answer(),
            _ => Failure::NoGroupAnswer,
        };
        self.fail(address, slot, reason, now);
    }

    /// A handshake came to nothing, or a session ends. A handshake that began anew beside a session leaves that as it is.
    fn fail(&mut self, address: MacAddr, slot: Slot, reason: Failure, now: Duration) {
        let Some(station) = self.stations.get_mut(&address) else {
            return;
        };
        let fresh = station.handshake.take_if(|handshake| !handshake.sealed);
        let still_established = slot == Slot::Handshake && station.session.is_some() && fresh.is_some();
        if still_established {
            if let Some(answer) = fresh.and_then(|handshake| handshake.answer) {
                let key = answer.ptk.tk();
                self.outputs.push_back(Output::Retire { peer: address, key });
            }
        } else {
            self.drop_station(address);
        }
        self.set_timer(address);
        self.outputs.push_back(Output::Failed {
            peer: address,
            reason,
            still_established,
        });
        self.update_group(address, now);
        self.settle_group();
    }

    fn drop_station(&mut self, address: MacAddr) {
        if let Some(station) = self.stations.remove(&address) {
            if let Some(timer) = station.timer {
                self.timers.remove(&(timer, address));
            }
            if let Some(order) = station.half_open {
                self.half_open.remove(&(order, address));
            }
        }
    }

    /// Brings the timer of a station in line with what it waits for.
    fn set_timer(&mut self, address: MacAddr) {
        let Some(station) = self.stations.get_mut(&address) else {
            return;
        };
        let waits = station.waits().map(|wait| wait.map(|wait| wait.deadline));
        let timer = waits.into_iter().chain([station.retiring.next()]).flatten().min();
        if timer != station.timer {
            if let Some(old) = station.timer {
                self.timers.remove(&(old, address));
            }
            if let Some(new) = timer {
                self.timers.insert((new, address));
            }
            station.timer = timer;
        }
    }
}

/// The cipher of group addressed management frames that an access point advertises, if it protects them.
///
/// # Errors
/// [`Mismatch::ManagementProtection`] for an unknown cipher; for SAE or OWE without MFPC; and for SAE and OWE alone without
/// MFPR ([`Akm::requires_mfp`](crate::Akm::requires_mfp)).
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

/// The ciphers of group keys that elements advertise.
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
