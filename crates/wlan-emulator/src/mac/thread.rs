//! The MAC thread.
//!
//! The hot path, on this one thread:
//! 1. Read IP packets from the TUN devices, split super-packets, encapsulate, queue at the station (sequential).
//! 2. Wait for the medium's next event. Its time is computed from the ideal time of the previous event, never from the
//!    clock.
//! 3. When a transmission starts, assign sequence and packet numbers (sequential) and seal the batch. If the MSDU is
//!    longer than the fragmentation threshold, seal only the fragment on the air; it is reassembled when its
//!    transmission ends.
//! 4. Capture the frames as an observer would see them.
//! 5. Open the batch, still during its airtime.
//! 6. When the transmission ends, check for replays (sequential), decapsulate, coalesce to super-packets if configured,
//!    write to the receiver's TUN device. In real time, a thread of the receiver writes many short datagrams.
//!
//! If a station's card has its own processor, frames pass through it between steps 1 and 2 and before step 6. The
//! access point forwards frames for other hosts onto the wire behind it, or back to step 1 (`relay`).
//!
//! Only the end of a transmission must be exact to the microsecond, because hosts can observe it. The start may be late
//! as long as sealing and opening are done by the end. In the steady state, only the queue of the capture allocates,
//! and its buffers are reused.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use arrayvec::ArrayVec;
use nix::poll::{PollFd, PollFlags};
use nix::time::{ClockId, clock_gettime};
use wlan_air::{Event, Kind, Nanos, Ppdu};
use wlan_host::clock::ClockKind;

use super::report::{Report, Sent};
use super::stage::{Stage, Which};
use super::state::{Mac, ends};
use crate::capture::Capture;
use crate::frames::host::Arrival;
use crate::frames::sent::duration_us;
use crate::roster::MAX_HOSTS;
use crate::running::Work;

/// Limit of packets read from one device before the thread checks the medium's time again. It keeps a host that sends
/// faster than the thread reads from delaying the air.
const DRAIN_LIMIT: usize = 512;

/// Interval at which the device of a host is read while the host's processor or wire is busy. Reading the device makes
/// excess packets overflow the queue of the processor or wire, which counts drops, rather than the device's queue.
const LOOK_INTERVAL: Nanos = Nanos::from_ms(1);

/// Selects the hosts whose packets are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// All hosts.
    All,
    /// Stations that already contend: more packets only lengthen their queues.
    Contending,
    /// Hosts whose packets first pass through a processor or over a wire.
    Staged,
}

/// The next thing to do.
struct Ahead {
    /// When it is due; `None` if nothing is scheduled.
    due: Option<Nanos>,
    /// Whether a processor or wire releases a frame; otherwise the medium has an event.
    of_stage: bool,
    /// Whether a host expects it at its exact time.
    sharp: bool,
    /// Whether the medium is idle, so that an earlier packet may change the next event.
    idle: bool,
}

impl Work<Report> for Mac {
    fn work(&mut self) -> io::Result<()> {
        // In virtual time programs take no time, and another thread would only change the order of events.
        if self.clock.kind() == ClockKind::Real {
            for host in &mut self.hosts {
                host.deliver_on_thread(self.clock)?;
            }
        }
        loop {
            self.count_delivered();
            if !self.orders.answer(|| self.report()) {
                return Ok(());
            }
            if !self.stages.is_empty() {
                self.catch_up(self.clock.now());
            }
            let ahead = self.look_ahead();
            if self.wait_for(&ahead)? {
                self.perform(&ahead)?;
            }
            self.note_idle();
        }
    }

    fn finish(self) -> io::Result<()> {
        self.capture.map_or(Ok(()), Capture::finish)
    }
}

impl Mac {
    fn look_ahead(&self) -> Ahead {
        let air = self.medium.next_event();
        // While data is on the air, every frame for the air waits for its end. Processors and wires therefore matter
        // only if they hold a frame for a host.
        let idle = self.data_on_air == 0 && !self.medium.is_busy();
        let stage = if idle {
            self.stages.next()
        } else {
            self.stages.next_prompt()
        };
        // On a tie, a frame that reaches the air precedes the medium's event.
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

    /// Waits until the next event, as precisely as required. Returns `false` if another event came first.
    fn wait_for(&mut self, ahead: &Ahead) -> io::Result<bool> {
        // An exchange without data on the air runs ahead of time: no host can observe it.
        if !ahead.idle && !ahead.of_stage && self.data_on_air == 0 {
            return Ok(true);
        }
        if (ahead.idle || !self.stages.is_empty()) && self.wait_for_arrival(ahead)? {
            // The read fails unless a request woke the thread.
            let _ = self.orders.wake.read();
            let now = self.clock.now();
            // A packet that arrived after the next event was due must not change that event.
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
            // A card fills its aggregate when it gains access to the air, not when it starts to contend.
            self.read_arrivals(Whose::Contending, due)?;
        }
        Ok(true)
    }

    /// Waits for a packet that can change the next event, or for a request (`true`), or until the next event is due
    /// (`false`). If the event is sharp, it returns earlier by the time to spin. A packet can change the next event
    /// only at a host whose processor or wire is free, or, on an idle medium, at a station with an empty queue.
    fn wait_for_arrival(&self, ahead: &Ahead) -> io::Result<bool> {
        let spin = if ahead.sharp {
            self.clock.spin()
        } else {
            Nanos::ZERO
        };
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
        polled.push(PollFd::new(self.orders.wake.as_fd(), PollFlags::POLLIN));
        Ok(self.clock.wait_readable(&mut polled, until)? || early)
    }

    /// Performs the next event, after all earlier ones that do not deliver to a host.
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

    /// Notes since when the air is idle because no station, processor or wire holds a frame.
    fn note_idle(&mut self) {
        let is_idle = self.idle_since.is_none()
            && !self.medium.is_busy()
            && self.stages.next().is_none()
            && (0..self.roster.on_air()).all(|station| self.medium.queue_len(station) == 0);
        if is_idle {
            let last = if self.stages.is_empty() {
                // A packet that was read last may have left without a transmission.
                self.medium.now().max(self.looked_at)
            } else {
                self.clock.now()
            };
            self.idle_since = Some(last);
        }
    }

    fn report(&self) -> Report {
        let cpu = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every Linux has this clock");
        let medium = self.medium.counters();
        let now = self.clock.now();
        let real = self.clock.kind() == ClockKind::Real;
        let thread = real.then(own_schedule).flatten();
        let idle = self
            .idle_since
            .map_or(Nanos::ZERO, |since| now.saturating_sub(since));
        let behind = self
            .medium
            .next_event()
            .map_or(Nanos::ZERO, |due| now.saturating_sub(due));
        let processor = |station| self.stages.get(Which::Processor(station));
        let stations = medium.stations.iter().enumerate().map(|(station, counters)| {
            let sent = Sent {
                data_air_s: Some(self.counters.aired[station].data.as_secs_f64()),
                starved_air_s: Some(self.counters.aired[station].starved.as_secs_f64()),
                ..Sent::new(counters, processor(station), now, &self.signals[station])
            };
            (self.roster.name(station), sent)
        });
        let wire = |which| self.stages.get(which).map(|wire| wire.drops);
        Report {
            elapsed_s: now.as_secs_f64(),
            emulator_cpu_s: real.then(|| Duration::from(cpu).as_secs_f64()),
            crypto_s: real.then(|| self.counters.crypto.as_secs_f64()),
            emulator_run_s: thread.map(|(run_s, _)| run_s),
            emulator_wait_s: thread.map(|(_, wait_s)| wait_s),
            air_busy_s: medium.airtime.busy().as_secs_f64(),
            air_idle_s: (self.counters.air_idle + idle).as_secs_f64(),
            behind_s: behind.as_secs_f64(),
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

    /// Step 1: queues all packets that wait in the devices, with `arrival` as their time of arrival.
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
        let event = self.medium.advance();
        if let Some((receiver, signal)) = event.and_then(|event| self.medium.received_signal(&event)) {
            self.signals[receiver].record(signal);
        }
        match event {
            Some(Event::PpduStart(ppdu)) if is_data(&ppdu) => {
                self.data_on_air += 1;
                let taken = self.medium.on_air(ppdu.sender).count();
                let is_starved = taken == self.medium.queue_len(ppdu.sender);
                self.counters
                    .record_data(ppdu.sender, ppdu.end - ppdu.start, is_starved);
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
                let mut late = None;
                if is_data(&ppdu) {
                    self.data_on_air -= 1;
                    if received {
                        self.take_fragment(&ppdu);
                        late = Some(self.clock.now().saturating_sub(ppdu.end));
                    }
                }
                let lateness_follows = self.receive(late.map(|_| ppdu.end));
                if let Some(late) = late.filter(|_| !lateness_follows) {
                    self.counters.record_lateness(late);
                }
                if is_data(&ppdu) {
                    // Packets in the devices arrived at an unknown time since the last read. The end of the
                    // transmission is the latest time that does not make a busy sender seem idle.
                    self.read_arrivals(Whose::All, ppdu.end)?;
                }
            }
            Some(Event::Elapsed { .. }) => {
                self.receive(None);
            }
            None => {}
        }
        self.release_completed();
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

    /// Passes the fragment of an MSDU in a received PPDU to the receiver's reassembly.
    fn take_fragment(&mut self, ppdu: &Ppdu) {
        let ends = ppdu
            .receiver
            .and_then(|receiver| ends(&mut self.associations, ppdu.sender, receiver));
        if let (Some((frame, _)), Some([_, receiver])) = (self.medium.fragment(ppdu.sender), ends) {
            receiver.take_fragment(frame, ppdu.end);
        }
    }
}

/// The time in seconds that this thread has run, and the time that it has waited for a CPU although it could run. `None`
/// if the kernel does not count them (`CONFIG_SCHED_INFO`).
fn own_schedule() -> Option<(f64, f64)> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let mut times = text.split_whitespace().map_while(|ns| ns.parse().ok()).map(Nanos);
    Some((times.next()?.as_secs_f64(), times.next()?.as_secs_f64()))
}

fn is_data(ppdu: &Ppdu) -> bool {
    matches!(ppdu.kind, Kind::Data { .. })
}
