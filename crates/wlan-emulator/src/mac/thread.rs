//! The MAC thread.
//!
//! The hot path, on this one thread:
//! 1. read IP packets from the TUN devices, split super-packets, encapsulate, queue at the station (sequential)
//! 2. wait for the medium's next event (its time comes from the ideal previous event, never from the clock)
//! 3. a transmission starts: sequence and packet numbers (sequential), seal the batch; of an MSDU above the fragmentation
//!    threshold the fragment that is sent, which joins the others when its transmission ends
//! 4. capture what an observer would see
//! 5. open the batch, still during its airtime
//! 6. the transmission ends: replay check (sequential), decapsulate, join to super-packets where that is asked for,
//!    write to the receiver's TUN device
//!
//! Where a station's card has a processor of its own, frames pass through it between 1 and 2 and before 6; what the access
//! point receives for another host goes onto the wire behind it, or back to 1 (`relay`).
//!
//! Only the end of a transmission has to be met to the microsecond, for then a host sees something. Its start may come
//! late as long as sealing and opening are done by the end. Once the frames have grown, nothing here allocates but for
//! the queue of the capture, whose buffers come back.

use std::io;
use std::os::fd::AsFd;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;

use arrayvec::ArrayVec;
use nix::poll::{PollFd, PollFlags};
use nix::time::{ClockId, clock_gettime};
use wlan_air::{Event, Kind, Nanos, Ppdu};
use wlan_host::clock::SPIN;

use super::report::{Report, Sent};
use super::stage::{Stage, Which};
use super::state::{Mac, ends};
use crate::capture::Capture;
use crate::frames::host::Arrival;
use crate::frames::sent::duration_us;
use crate::roster::MAX_HOSTS;

/// Packets for the air that are read from one device before the medium's time is looked at again: a host that sends
/// faster than it is read must not hold up the air.
const DRAIN_LIMIT: usize = 512;

/// How often a host is looked at while a processor or wire works on what it sent before: what waits in its device must
/// find no room at these, where it is counted, and not in the device.
const LOOK_INTERVAL: Nanos = Nanos::from_ms(1);

/// Whether the link goes on.
#[derive(PartialEq, Eq)]
enum Next {
    Go,
    Stop,
}

/// Whose packets are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Everyone's.
    All,
    /// Those of stations that contend already, of which more packets change nothing but the length of their queue.
    Contending,
    /// Those that go through a processor or over a wire first.
    Staged,
}

/// What comes next.
struct Ahead {
    /// When; none if nothing will by itself.
    due: Option<Nanos>,
    /// Whether a processor or a wire lets a frame out, and not the medium has an event.
    of_stage: bool,
    /// Whether a host expects it at its very time.
    sharp: bool,
    /// Whether the medium is idle, so that a packet that comes before may change it.
    idle: bool,
}

impl Mac {
    pub fn run(&mut self) -> io::Result<()> {
        while self.answer_requests() == Next::Go {
            if !self.stages.is_empty() {
                self.catch_up(self.clock.now());
            }
            let ahead = self.look_ahead();
            if self.wait_for(&ahead)? {
                self.perform(&ahead)?;
            }
        }
        Ok(())
    }

    fn look_ahead(&self) -> Ahead {
        let air = self.medium.next_event();
        // While data is on the air whatever comes to the air waits for its end anyway: no need to wait for a processor or
        // wire that has nothing for a host.
        let idle = self.data_on_air == 0 && !self.medium.is_busy();
        let stage = if idle {
            self.stages.next()
        } else {
            self.stages.next_prompt()
        };
        // On a tie what reaches the air comes before what the air does.
        match stage.filter(|(at, _)| air.is_none_or(|air| *at <= air)) {
            Some((at, which)) => Ahead {
                due: Some(at),
                of_stage: true,
                sharp: self.stages.get(which).is_some_and(Stage::is_sharp),
                idle,
            },
            None => Ahead {
                due: air,
                of_stage: false,
                sharp: self.data_on_air > 0,
                idle,
            },
        }
    }

    /// Waits for it as exactly as it has to be met; `false` if something else came up before.
    fn wait_for(&mut self, ahead: &Ahead) -> io::Result<bool> {
        // An exchange whose data is not on the air goes on by itself: no host notices when.
        if !ahead.idle && !ahead.of_stage && self.data_on_air == 0 {
            return Ok(true);
        }
        if (ahead.idle || !self.stages.is_empty()) && self.wait_for_arrival(ahead)? {
            // Empty unless a request woke us.
            let _ = self.wake.read();
            let now = self.clock.now();
            // What came after the next event was due must not change it.
            if ahead.due.is_none_or(|due| now < due) {
                self.catch_up(now);
                self.read_arrivals(if ahead.idle { Whose::All } else { Whose::Staged }, now)?;
                return Ok(false);
            }
        }
        if let (true, Some(due)) = (ahead.sharp, ahead.due) {
            self.clock.wait_until(due);
        }
        if let (true, false, Some(due)) = (ahead.idle, ahead.of_stage, ahead.due) {
            // A card fills its aggregate when it gets at the air, not when it begins to contend.
            self.read_arrivals(Whose::Contending, due)?;
        }
        Ok(true)
    }

    /// Waits for a packet at a host that has none before it in its queue (only those can change what comes next), or a
    /// request (`true`), or until what is ahead is due (`false`), less what is left to spin for if that is sharp. On an
    /// idle medium these are stations that have none queued too.
    fn wait_for_arrival(&self, ahead: &Ahead) -> io::Result<bool> {
        let spin = if ahead.sharp { SPIN } else { Nanos::ZERO };
        let mut until = ahead.due.map(|due| due.saturating_sub(spin));
        let mut polled: ArrayVec<PollFd<'_>, { MAX_HOSTS + 1 }> = ArrayVec::new();
        let mut early = false;
        let now = if self.stages.is_empty() {
            Nanos::ZERO
        } else {
            self.clock.now()
        };
        for (index, host) in self.hosts.iter().enumerate() {
            let waits = match self.first_stage(index).and_then(|which| self.stages.get(which)) {
                None => ahead.idle && self.medium.queue_len(index) == 0,
                Some(stage) => {
                    let next_look = stage.free_at().min(self.looked_at + LOOK_INTERVAL);
                    let waits = next_look <= now;
                    if !waits && until.is_none_or(|until| next_look < until) {
                        (until, early) = (Some(next_look), true);
                    }
                    waits
                }
            };
            if waits {
                polled.push(PollFd::new(host.device(), PollFlags::POLLIN));
            }
        }
        polled.push(PollFd::new(self.wake.as_fd(), PollFlags::POLLIN));
        Ok(self.clock.wait_readable(&mut polled, until)? || early)
    }

    /// Does what was ahead, after all that does not go to a host and comes before it.
    fn perform(&mut self, ahead: &Ahead) -> io::Result<()> {
        self.catch_up(ahead.due.unwrap_or(Nanos::ZERO));
        let air = self.medium.next_event();
        let is_next = |(at, _): &(Nanos, Which)| {
            air.is_none_or(|air| *at <= air) && ahead.due.is_some_and(|due| *at <= due)
        };
        match self.stages.next().filter(is_next) {
            Some((at, which)) => self.hand_up(which, at),
            None if !ahead.of_stage => self.perform_event()?,
            None => {}
        }
        Ok(())
    }

    fn answer_requests(&self) -> Next {
        loop {
            match self.requests.try_recv() {
                // Who asked may have gone meanwhile.
                Ok(answer) => drop(answer.send(self.report())),
                Err(TryRecvError::Empty) => return Next::Go,
                Err(TryRecvError::Disconnected) => return Next::Stop,
            }
        }
    }

    fn report(&self) -> Report {
        let cpu = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every Linux has this clock");
        let medium = self.medium.counters();
        let now = self.clock.now();
        let processor = |station| self.stages.get(Which::Processor(station));
        let stations = medium.stations.iter().enumerate().map(|(station, counters)| {
            let sent = Sent::new(counters, processor(station), now);
            (self.roster.name(station), sent)
        });
        let wire = |which| self.stages.get(which).map(|wire| wire.drops);
        Report {
            elapsed_s: now.as_secs_f64(),
            emulator_cpu_s: Duration::from(cpu).as_secs_f64(),
            crypto_s: self.counters.crypto.as_secs_f64(),
            air_busy_s: medium.airtime.busy().as_secs_f64(),
            lateness_us: self.counters.lateness_us(),
            slips: self.counters.slips(),
            open_errors: self.counters.open_errors,
            refused: self.counters.refused,
            unclassified: self.counters.unclassified,
            unsplittable: self.counters.unsplittable,
            capture_lost: self.capture.as_ref().map(Capture::lost),
            transmissions: medium.transmissions,
            collisions: medium.collisions,
            unroutable: self.counters.unroutable,
            drops_wired: wire(Which::Up).zip(wire(Which::Down)).map(|(up, down)| up + down),
            stations: stations.collect(),
        }
    }

    /// Step 1: queues what waits in the devices, as having arrived at `arrival`.
    fn read_arrivals(&mut self, whose: Whose, arrival: Nanos) -> io::Result<()> {
        if whose != Whose::Contending {
            self.looked_at = arrival;
        }
        for index in 0..self.hosts.len() {
            let staged = self.first_stage(index).is_some();
            let wanted = match whose {
                Whose::All => true,
                Whose::Contending => !staged && self.medium.queue_len(index) > 0,
                Whose::Staged => staged,
            };
            let mut read = 0;
            while wanted && read < DRAIN_LIMIT {
                let (passing, pool) = (&mut self.passing, &mut self.pool);
                let found = self.hosts[index].read(pool, |frame| passing.push(frame))?;
                self.pass_on(|mac, frame| mac.depart(index, frame, arrival));
                read += match found {
                    Arrival::Packets(packets) => packets,
                    Arrival::Unclassified => {
                        self.counters.unclassified += 1;
                        1
                    }
                    Arrival::Unsplittable => {
                        self.counters.unsplittable += 1;
                        1
                    }
                    Arrival::Nothing => break,
                };
            }
        }
        Ok(())
    }

    /// Steps 3 to 6.
    fn perform_event(&mut self) -> io::Result<()> {
        match self.medium.advance() {
            Some(Event::PpduStart(ppdu)) if is_data(&ppdu) => {
                self.data_on_air += 1;
                self.protect(&ppdu);
            }
            Some(Event::PpduStart(ppdu)) => {
                if let Some(capture) = &mut self.capture {
                    capture.begin(&ppdu, self.medium.duration(ppdu.sender));
                }
            }
            Some(Event::PpduEnd { ppdu, received }) => {
                if let Some(capture) = &mut self.capture {
                    let outstanding = self.medium.outstanding(ppdu.sender);
                    let arrived = outstanding.filter(|&(_, arrived)| arrived && is_data(&ppdu));
                    let numbers = arrived.filter_map(|(frame, _)| frame.numbers);
                    capture.end(&ppdu, numbers.map(|numbers| numbers.sequence));
                }
                if is_data(&ppdu) {
                    self.data_on_air -= 1;
                    if received {
                        self.take_fragment(&ppdu);
                        self.counters
                            .record_lateness(self.clock.now().saturating_sub(ppdu.end));
                    }
                }
                self.receive();
                if is_data(&ppdu) {
                    // What waits in the devices came at some time since the last look; the end of the transmission is
                    // the latest that does not make a sender seem idle when it was not.
                    self.read_arrivals(Whose::All, ppdu.end)?;
                }
            }
            Some(Event::Elapsed { .. }) => self.receive(),
            None => {}
        }
        self.take_gone();
        Ok(())
    }

    /// Steps 3 to 5, for the frames on the air.
    fn protect(&mut self, ppdu: &Ppdu) {
        let duration_us = duration_us(self.medium.duration(ppdu.sender));
        let start = self.clock.now();
        let Some([sender, receiver]) = ppdu
            .receiver
            .and_then(|receiver| ends(&mut self.associations, ppdu.sender, receiver))
        else {
            return;
        };
        let part = self.medium.fragment(ppdu.sender).map(|(_, part)| part);
        sender.seal_on_air(self.medium.on_air(ppdu.sender), part.as_ref(), duration_us);
        if let Some(capture) = &mut self.capture {
            let sealed = self.clock.now();
            self.counters.crypto += sealed - start;
            capture.begin_data(
                ppdu,
                self.medium.on_air(ppdu.sender).map(|frame| frame.mpdu_on_air()),
            );
        }
        let start = if self.capture.is_some() {
            self.clock.now()
        } else {
            start
        };
        receiver.open_on_air(self.medium.on_air(ppdu.sender), part.as_ref());
        self.counters.crypto += self.clock.now() - start;
    }

    /// What a PPDU that arrived brought of an MSDU that is sent in fragments.
    fn take_fragment(&mut self, ppdu: &Ppdu) {
        let ends = ppdu
            .receiver
            .and_then(|receiver| ends(&mut self.associations, ppdu.sender, receiver));
        if let (Some((frame, _)), Some([_, receiver])) = (self.medium.fragment(ppdu.sender), ends) {
            receiver.take_fragment(frame, ppdu.end);
        }
    }
}

fn is_data(ppdu: &Ppdu) -> bool {
    matches!(ppdu.kind, Kind::Data { .. })
}
