//! The thread that moves frames between the radios and the medium.
//!
//! 1. Flush the radios: mac80211 receives frames and their status, and sends more frames at once.
//! 2. Queue the frames that mac80211 sent.
//! 3. Perform the medium's next event if it is due, else wait for it or for a frame.
//!
//! A radio asks for frames as soon as the status of earlier frames arrives, so that its queue is full again before the
//! next exchange starts.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;

use arrayvec::ArrayVec;
use nix::poll::{PollFd, PollFlags};
use serde::Serialize;
use wlan_air::channel::{Channel, SignalCounts};
use wlan_air::phy::{Bss, Mode};
use wlan_air::queue::Packet;
use wlan_air::{Category, Event, Kind as PpduKind, Medium, Nanos, Outcome, Ppdu, Route};
use wlan_host::clock::Clock;

use super::frame::{Frame, Kind, tx_flags};
use super::radio::Radio;
use crate::capture::Capture;
use crate::frames::sent::duration_us;
use crate::mac::counters::{Counters, Lateness};
use crate::mac::report::Sent;
use crate::roster::{MAX_HOSTS, Roster};
use crate::running::{Orders, Work};

/// Signal of a received frame in dBm on an ideal channel.
const SIGNAL_DBM: i32 = -40;

/// Totals since the link came up.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Time in seconds since the link came up.
    pub elapsed_s: f64,
    /// Time during which the medium was busy.
    pub air_busy_s: f64,
    /// Delay between the ideal end of each PPDU and the delivery of its first frame; null before the first delivery.
    pub lateness_us: Option<Lateness>,
    /// PPDUs delivered more than 5 ms late.
    pub slips: u64,
    /// PPDUs missing from the capture because the disk was too slow; null without a capture.
    pub capture_lost: Option<u64>,
    /// Transmissions, including collisions.
    pub transmissions: u64,
    /// Transmissions in which PPDUs collided.
    pub collisions: u64,
    /// The totals of each station of the medium: `ap`, and `sta` or `sta1`, `sta2`, ...
    #[serde(flatten)]
    pub stations: BTreeMap<String, Sent>,
}

/// The thread's state.
pub struct Air {
    pub clock: Clock,
    pub roster: Roster,
    pub bss: Bss,
    pub radios: Vec<Radio>,
    /// Stations in monitor mode, which hear the frames to other stations too.
    pub monitors: Vec<usize>,
    pub medium: Medium<Frame>,
    pub channel: Option<Channel>,
    /// Signals of the data PPDUs that each station received.
    pub signals: Vec<SignalCounts>,
    pub contenders: Contenders,
    pub counters: Counters,
    pub capture: Option<Capture>,
    pub orders: Orders<Report>,
}

/// The contenders of each station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contenders {
    /// One for all frames, and one for beacons.
    Dcf,
    /// One per access category in ascending order of priority, and one for beacons.
    Edca,
}

impl Contenders {
    /// The contender of a frame.
    fn of(self, kind: Kind) -> usize {
        match (self, kind) {
            (Self::Dcf, Kind::Beacon) => 1,
            (Self::Dcf, _) => 0,
            (Self::Edca, Kind::Beacon) => 4,
            (Self::Edca, Kind::Management) => Category::Vo as usize,
            (Self::Edca, Kind::Data(tid)) => category(tid.unwrap_or(0)) as usize,
        }
    }
}

/// The access category of a TID (Table 10-1).
fn category(tid: u8) -> Category {
    match tid & 7 {
        1 | 2 => Category::Bk,
        4 | 5 => Category::Vi,
        6 | 7 => Category::Vo,
        _ => Category::Be,
    }
}

impl Work<Report> for Air {
    fn work(&mut self) -> io::Result<()> {
        for radio in 0..self.radios.len() {
            self.take_frames(radio)?;
        }
        while self.orders.answer(|| self.report()) {
            let due = self.medium.next_event();
            if due.is_some_and(|due| due <= self.clock.now()) {
                self.perform();
                self.hand_over()?;
            } else {
                self.wait(due)?;
            }
        }
        Ok(())
    }

    fn finish(self) -> io::Result<()> {
        self.capture.map_or(Ok(()), Capture::finish)
    }
}

impl Air {
    /// Waits until the medium's next event or a frame, whichever comes first.
    fn wait(&mut self, due: Option<Nanos>) -> io::Result<()> {
        let readable = self.readable(due)?;
        for radio in 0..self.radios.len() {
            if readable & 1 << radio != 0 {
                self.take_frames(radio)?;
            }
        }
        if readable & 1 << self.radios.len() != 0 {
            self.orders.wake.read()?;
        }
        Ok(())
    }

    /// The radios that are readable, as bits, and above them whether there are orders. Zero when the event is due.
    fn readable(&self, due: Option<Nanos>) -> io::Result<u128> {
        let radios = self.radios.iter().map(AsFd::as_fd);
        let mut polled: ArrayVec<PollFd<'_>, { MAX_HOSTS + 1 }> = radios
            .chain([self.orders.wake.as_fd()])
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
            .collect();
        self.clock.wait_readable(&mut polled, due)?;
        let readable = polled
            .iter()
            .enumerate()
            .filter(|(_, one)| one.any() == Some(true));
        Ok(readable.fold(0, |bits, (index, _)| bits | 1 << index))
    }

    /// Queues the frames that a radio has sent.
    fn take_frames(&mut self, from: usize) -> io::Result<()> {
        let arrival = self.clock.now();
        let Self {
            radios,
            roster,
            contenders,
            medium,
            bss,
            ..
        } = self;
        radios[from].take(bss, |frame| {
            // A frame to a station that does not exist gets no Ack. It is on the air like a group-addressed frame.
            let to = addressee(*roster, &frame).filter(|&station| station != from);
            let route = Route {
                from,
                to,
                contender: contenders.of(frame.kind()),
            };
            let len_b = frame.octets.len();
            medium.enqueue(
                route,
                Packet {
                    arrival,
                    len_b,
                    flow: 0,
                    frame,
                },
            );
        })?;
        self.report_completions();
        self.radios[from].flush()
    }

    /// Performs the medium's next event.
    fn perform(&mut self) {
        let event = self.medium.advance();
        if let Some((receiver, signal)) = event.and_then(|event| self.medium.received_signal(&event)) {
            self.signals[receiver].record(signal);
        }
        match event {
            Some(Event::PpduStart(ppdu)) => self.begin(&ppdu),
            Some(Event::PpduEnd { ppdu, received }) => {
                if let Some(capture) = &mut self.capture {
                    let outstanding = self.medium.outstanding(ppdu.sender);
                    let arrived = outstanding.filter(|&(_, arrived)| arrived && is_data(&ppdu));
                    let mut under_agreement = arrived
                        .filter_map(|(frame, _)| Some((frame.tid()?, frame.sequence()?)))
                        .peekable();
                    let tid = under_agreement.peek().map_or(0, |&(tid, _)| tid);
                    capture.end_of_tid(&ppdu, tid, under_agreement.map(|(_, sequence)| sequence));
                }
                if received && is_data(&ppdu) {
                    self.counters
                        .record_lateness(self.clock.now().saturating_sub(ppdu.end));
                }
                self.deliver(&ppdu.mode, ppdu.start);
            }
            Some(Event::Elapsed { .. }) | None => self.deliver(&self.bss.beacon_mode(), self.medium.now()),
        }
        self.report_completions();
    }

    fn begin(&mut self, ppdu: &Ppdu) {
        let duration = self.medium.duration(ppdu.sender);
        if !is_data(ppdu) {
            if let Some(capture) = &mut self.capture {
                capture.begin(ppdu, duration);
            }
            return;
        }
        for frame in self.medium.on_air(ppdu.sender) {
            frame.start(duration_us(duration));
        }
        if let Some(capture) = &mut self.capture {
            let frames = self.medium.on_air(ppdu.sender);
            capture.begin_data(ppdu, frames.map(|frame| &frame.octets[..]));
        }
    }

    /// Queues received frames, whose PPDU started at `start`, at the radios of their receivers.
    fn deliver(&mut self, mode: &Mode, start: Nanos) {
        let Self {
            medium,
            radios,
            monitors,
            channel,
            ..
        } = self;
        for (delivery, frame) in medium.deliver() {
            let is_new = |&to: &usize| to != delivery.route.from && !delivery.receivers.contains(&to);
            let overhearing = monitors.iter().copied().filter(is_new);
            for to in delivery.receivers.iter().copied().chain(overhearing) {
                let signal_dbm = signal_dbm(channel.as_ref(), delivery.route.from, to, mode, start);
                radios[to].deliver(frame, mode, signal_dbm);
            }
        }
    }

    /// Queues the status of the frames that have left the medium.
    fn report_completions(&mut self) {
        let now = self.medium.now();
        let Self {
            medium,
            radios,
            channel,
            bss,
            roster,
            ..
        } = self;
        let mode = bss.beacon_mode();
        for completion in medium.take_completions() {
            let frame = &completion.frame;
            let to = addressee(*roster, frame);
            let acked =
                completion.outcome == Outcome::Sent && to.is_some() && frame.flags & tx_flags::NO_ACK == 0;
            let signal = to.map_or(SIGNAL_DBM, |to| {
                signal_dbm(channel.as_ref(), to, completion.station, &mode, now)
            });
            radios[completion.station].report(frame, completion.transmissions, acked, signal);
        }
    }

    /// Hands the queued frames and status to mac80211, and takes the frames that mac80211 sends at once.
    fn hand_over(&mut self) -> io::Result<()> {
        for radio in 0..self.radios.len() {
            while self.radios[radio].is_pending() {
                self.radios[radio].flush()?;
                self.take_frames(radio)?;
            }
        }
        Ok(())
    }

    fn report(&self) -> Report {
        let medium = self.medium.counters();
        let now = self.clock.now();
        let stations = medium.stations.iter().enumerate();
        Report {
            elapsed_s: now.as_secs_f64(),
            air_busy_s: medium.airtime.busy().as_secs_f64(),
            lateness_us: self.counters.lateness_us(),
            slips: self.counters.slips(),
            capture_lost: self.capture.as_ref().map(Capture::lost),
            transmissions: medium.transmissions,
            collisions: medium.collisions,
            stations: stations
                .map(|(station, counters)| {
                    let sent = Sent::new(counters, None, now, &self.signals[station]);
                    (self.roster.name(station), sent)
                })
                .collect(),
        }
    }
}

/// The station on the air to which a frame is addressed.
fn addressee(roster: Roster, frame: &Frame) -> Option<usize> {
    roster
        .host(frame.receiver())
        .filter(|&host| host < roster.on_air())
}

fn is_data(ppdu: &Ppdu) -> bool {
    matches!(ppdu.kind, PpduKind::Data { .. })
}

/// Signal in dBm with which station `to` receives station `from`.
fn signal_dbm(channel: Option<&Channel>, from: usize, to: usize, mode: &Mode, at: Nanos) -> i32 {
    let Some(channel) = channel else { return SIGNAL_DBM };
    let signal = channel.signal(from, to, mode.bandwidth_mhz(), at);
    #[allow(clippy::cast_possible_truncation)] // clamped to the range of a signal
    let rounded = signal.power_dbm().round().clamp(-120.0, 30.0) as i32;
    rounded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_contend_by_their_user_priority() {
        let of = |tid| Contenders::Edca.of(Kind::Data(tid));
        assert_eq!(
            (0..8).map(|tid| of(Some(tid))).collect::<Vec<_>>(),
            [1, 0, 0, 1, 2, 2, 3, 3]
        );
        assert_eq!(of(None), 1);
        assert_eq!(Contenders::Edca.of(Kind::Management), 3);
        assert_eq!(Contenders::Edca.of(Kind::Beacon), 4);
        assert_eq!(Contenders::Dcf.of(Kind::Data(Some(6))), 0);
        assert_eq!(Contenders::Dcf.of(Kind::Beacon), 1);
    }
}
