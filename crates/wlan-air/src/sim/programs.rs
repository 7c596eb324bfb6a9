//! The programs at the ends of a flow, which run some time after the event for which they waited.

use super::events::{Body, Event, Packet};
use super::host::Host;
use super::network::Network;
use super::scenario::Flow;
use crate::traffic::Draws;
use crate::{Nanos, WakeUp};

/// The wake-ups draw other numbers than the source of their flow.
const STREAM: u64 = 0x5851_f42d_4c95_7f2d;

/// The programs of a flow: at its end, and at its start.
pub(super) struct Programs {
    wake_up: WakeUp,
    draws: Draws,
    /// Whether a program is about to run.
    waking: [bool; 2],
    /// Datagrams that a program will read when it runs.
    waiting: [Vec<Packet>; 2],
}

impl Programs {
    pub fn new(flow: &Flow, seed: u64) -> Programs {
        Programs {
            wake_up: flow.cpu.wake_up,
            draws: Draws::new(seed ^ STREAM),
            waking: [false; 2],
            waiting: [Vec::new(), Vec::new()],
        }
    }

    pub fn run_at_once(&self) -> bool {
        self.wake_up == WakeUp::Instant
    }

    /// Time at which a program runs that sets a timer to `at` now. The program does not wait for a time that has passed.
    pub fn timer(&mut self, now: Nanos, at: Nanos) -> Nanos {
        if at <= now {
            now
        } else {
            at + self.wake_up.draw(&mut self.draws)
        }
    }

    /// Time until a program runs because of an event now; `None` if it is about to run anyway.
    fn wake(&mut self, back: bool) -> Option<Nanos> {
        let waking = &mut self.waking[usize::from(back)];
        (!std::mem::replace(waking, true)).then(|| self.wake_up.draw(&mut self.draws))
    }
}

impl Network<'_> {
    /// Whether the packet is a datagram whose program takes time to wake up.
    pub fn sleeps(&self, packet: &Packet) -> bool {
        !matches!(packet.body, Body::Segment(_)) && !self.programs[packet.flow as usize].run_at_once()
    }

    /// A datagram waits in the receive buffer until its program runs.
    pub fn wait_for_program(&mut self, packet: Packet) {
        self.programs[packet.flow as usize].waiting[usize::from(packet.back)].push(packet);
        self.wake(packet.flow, packet.back);
    }

    fn wake(&mut self, flow: u32, back: bool) {
        if let Some(after) = self.programs[flow as usize].wake(back) {
            self.schedule(self.now + after, Event::Wake { flow, back });
        }
    }

    /// Calls the application of a TCP connection at an end of the flow, which may read or write.
    pub fn call_program(&mut self, flow: u32, back: bool) {
        if self.programs[flow as usize].run_at_once() {
            for sends in [true, false] {
                self.run_application(flow, sends);
            }
        } else {
            self.wake(flow, back);
        }
    }

    /// The application of a TCP connection runs at the end of the current event.
    pub fn run_application(&mut self, flow: u32, sends: bool) {
        if !self.called.contains(&(flow, sends)) {
            self.called.push((flow, sends));
        }
    }

    /// A program runs, and reads all datagrams that wait.
    pub fn run_program(&mut self, flow: u32, back: bool) {
        let programs = &mut self.programs[flow as usize];
        programs.waking[usize::from(back)] = false;
        let mut waiting = std::mem::take(&mut programs.waiting[usize::from(back)]);
        self.sockets[flow as usize].read(back);
        for packet in waiting.drain(..) {
            self.take(packet);
        }
        self.programs[flow as usize].waiting[usize::from(back)] = waiting; // keeps its memory
        if matches!(self.hosts[flow as usize], Host::Tcp(_)) {
            self.run_application(flow, back);
        }
    }

    /// A sender runs that waited for space in its send buffer.
    pub fn resume(&mut self, flow: u32) {
        let programs = &mut self.programs[flow as usize];
        if programs.run_at_once() {
            self.depart(flow);
        } else {
            let after = programs.wake_up.draw(&mut programs.draws);
            self.schedule(self.now + after, Event::Depart(flow));
        }
    }
}
