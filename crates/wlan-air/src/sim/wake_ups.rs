//! The wake-ups of the programs at the ends of a flow.

use super::events::{Body, Event, Packet};
use super::host::Host;
use super::network::Network;

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
            let after = programs.resume();
            self.schedule(self.now + after, Event::Depart(flow));
        }
    }
}
