//! The path of a frame between a host and the medium: processors, the access point as a bridge, the wire behind it.
//!
//! ```text
//! host -> [processor] -> queue, medium -> [processor] -> host
//!                                            at the access point also -> [processor] -> queue, medium
//!                                                                     -> wire -> server, and back
//! ```
//!
//! All times are ideal. Only deliveries to a host must happen in real time.

use wlan_air::queue::Packet;
use wlan_air::{Delivery, Nanos, Route};
use wlan_host::offload::coalesce::MAX_PACKETS;
use wlan_host::offload::flow;

use super::stage::{Way, Which};
use super::state::{Mac, ends};
use crate::frames::frame::Frame;
use crate::frames::host::Host;
use crate::roster::AP;

impl Mac {
    /// The processor or wire that a host's packets enter first; `None` if they are queued for the air directly.
    pub(super) fn first_stage(&self, host: usize) -> Option<Which> {
        if Some(host) == self.roster.server() {
            Some(Which::Down)
        } else {
            self.stages.has_processors().then_some(Which::Processor(host))
        }
    }

    /// The host that a processor or wire delivers to.
    fn behind(&self, which: Which) -> usize {
        match which {
            Which::Processor(station) => station,
            Which::Up => self.roster.server().unwrap_or(AP),
            Which::Down => AP,
        }
    }

    /// Passes each frame in `passing` to `to`.
    pub(super) fn pass_on(&mut self, mut to: impl FnMut(&mut Self, Frame)) {
        let mut passing = std::mem::take(&mut self.passing);
        for frame in passing.drain(..) {
            to(self, frame);
        }
        self.passing = passing;
    }

    /// Routes a packet that host `from` sends.
    pub(super) fn depart(&mut self, from: usize, mut frame: Frame, at: Nanos) {
        if let Some(since) = self.idle_since.take() {
            self.counters.air_idle += at.saturating_sub(since);
        }
        let to = match frame.addresses {
            Some([destination, _]) => self.roster.addressed(from, destination),
            None => self.roster.destination(from, frame.packet(self.around)),
        };
        let Some(to) = to else {
            self.counters.unroutable += 1;
            self.pool.give(frame);
            return;
        };
        (frame.from, frame.to) = (from, to);
        if Some(from) == self.roster.server() {
            self.stage(Which::Down, at, Way::Crossed, frame);
        } else if from == AP {
            self.bridge(frame, at);
        } else {
            self.send(from, frame, at);
        }
    }

    /// Forwards a packet at the access point to a station or to the server.
    fn bridge(&mut self, frame: Frame, at: Nanos) {
        if Some(frame.to) == self.roster.server() {
            self.stage(Which::Up, at, Way::Crossed, frame);
        } else {
            self.send(AP, frame, at);
        }
    }

    /// Sends a packet over the air, through the station's processor if it has one.
    fn send(&mut self, station: usize, frame: Frame, at: Nanos) {
        let which = Which::Processor(station);
        let Some(processor) = self.stages.get_mut(which) else {
            self.queue(station, frame, at);
            return;
        };
        // The frames in the processor and the frames that wait for the air share the buffers of the card.
        if processor.sealing() + self.medium.queue_len(station) >= self.transmit_buffers {
            processor.drops += 1;
            self.pool.give(frame);
            return;
        }
        self.stage(which, at, Way::Sealed, frame);
    }

    fn stage(&mut self, which: Which, at: Nanos, way: Way, frame: Frame) {
        if let Some(dropped) = self.stages.take(which, at, way, frame) {
            self.pool.give(dropped);
        }
    }

    /// Queues a packet at a station. The access point sends to the destination station, and a station sends to the
    /// access point.
    fn queue(&mut self, station: usize, mut frame: Frame, at: Nanos) {
        frame.renew();
        let route = Route {
            from: station,
            to: Some(if station == AP { frame.to } else { AP }),
            contender: 0,
        };
        let msdu = Packet {
            arrival: at,
            len_b: frame.mpdu().len() - self.around.msdu_b(),
            flow: flow::hash(
                frame.ethertype(self.around),
                frame.packet(self.around),
                self.flow_seed,
            ),
            frame,
        };
        self.medium.enqueue(route, msdu);
        self.release_completed();
    }

    /// Returns frames that have left the medium to the pool.
    pub(super) fn release_completed(&mut self) {
        for completion in self.medium.take_completions() {
            self.pool.give(completion.frame);
        }
    }

    /// Counts what the threads of the hosts have handed up.
    pub(super) fn count_delivered(&mut self) {
        for delivered in self.hosts.iter_mut().flat_map(Host::delivered) {
            self.counters.refused += delivered.refused as u64;
            if let Some(late) = delivered.late {
                self.counters.record_lateness(late);
            }
        }
    }

    /// Delivers the MSDUs that became available at the last event: a data PPDU arrived, or the sender gave up an MPDU
    /// that blocked later ones. Checks for replays, then hands each frame up to the host or forwards it. `due` is the end
    /// of a PPDU whose lateness counts. Returns whether the host will tell the lateness.
    pub(super) fn receive(&mut self, due: Option<Nanos>) -> bool {
        let now = self.medium.now();
        let mut arrived = self.medium.deliver().peekable();
        let Some((Delivery { route, receivers, .. }, _)) = arrived.peek() else {
            return false;
        };
        // The emulator sends no group-addressed frames over the air.
        let &[receiver] = *receivers else {
            return false;
        };
        let Some([_, end]) = ends(&mut self.associations, route.from, receiver) else {
            return false;
        };
        // Events without data are processed ahead of their time.
        self.clock.wait_until(now);
        let processed = self.stages.has_processors();
        let mut up = self.hosts[receiver].up(due);
        for (_, frame) in arrived {
            let accepted = end.take_up(frame);
            let frame = &*frame;
            if !accepted {
                self.counters.open_errors += 1;
            } else if processed || frame.to != receiver {
                self.passing.push(self.pool.copy(frame));
            } else {
                up.push(frame);
                if let (true, Some(server)) = (frame.is_for_many(), self.roster.server()) {
                    let mut copy = self.pool.copy(frame);
                    copy.to = server;
                    self.passing.push(copy);
                }
            }
        }
        let handed = up.finish();
        self.counters.refused += handed.refused as u64;
        self.pass_on(|mac, frame| {
            if processed {
                mac.stage(Which::Processor(receiver), now, Way::Opened, frame);
            } else {
                mac.bridge(frame, now);
            }
        });
        handed.lateness_follows
    }

    /// Releases all frames that are due at processors and wires by `until` and before the next event of the medium.
    /// Stops at the first frame that goes up to a host.
    pub(super) fn catch_up(&mut self, until: Nanos) {
        while let Some((at, which)) = self.stages.next()
            && self.medium.next_event().map_or(until, |air| air.min(until)) >= at
            && let Some(stage) = self.stages.get_mut(which)
            && !stage.hands_up()
            && let Some((way, frame)) = stage.pop(at)
        {
            match (which, way) {
                (Which::Processor(station), Way::Sealed) => self.queue(station, frame, at),
                _ => self.bridge(frame, at),
            }
        }
    }

    /// Hands all due frames up to the host behind a processor or wire, starting with the frame that was due at `at`.
    /// Frames that are due together are delivered together.
    pub(super) fn hand_up(&mut self, which: Which, at: Nanos) {
        let host = self.behind(which);
        let Some(stage) = self.stages.get_mut(which) else {
            return;
        };
        let now = self.clock.now().max(at);
        while stage.hands_up()
            && self.passing.len() < MAX_PACKETS
            && let Some((_, frame)) = stage.pop(now)
        {
            self.passing.push(frame);
        }
        stage.handed_up(now);
        let mut up = self.hosts[host].up(Some(at));
        for frame in &self.passing {
            up.push(frame);
        }
        let handed = up.finish();
        self.counters.refused += handed.refused as u64;
        if !handed.lateness_follows {
            self.counters.record_lateness(now - at);
        }
        self.pass_on(|mac, frame| mac.pool.give(frame));
    }
}
