//! The event loop of a simulation: packets in transit between hosts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::events::{Body, Event, Packet, PacketId, Place, Scheduled};
use super::host::Host;
use super::processor::{Server, Working};
use super::programs::Programs;
use super::scenario::{End, Flow, Scenario, ScenarioError, Source, UDP_LEN_B};
use super::socket::Sockets;
use super::{FlowOutcome, Outcome, ProcessorOutcome};
use crate::channel::SignalCounts;
use crate::queue;
use crate::{Airtime, Medium, Nanos, Route};

/// One direction of the wired segment.
#[derive(Clone, Copy, Debug, Default)]
struct Wire {
    server: Server,
    waiting: usize,
}

/// A datagram with missing fragments.
pub(super) struct Incomplete {
    number: u64,
    arrived: u8,
    payload_b: u32,
}

/// A datagram is given up when one with a number higher by this has arrived.
const REORDERED_MOST: u64 = 256;

pub(super) struct Network<'a> {
    pub scenario: &'a Scenario,
    medium: Medium<PacketId>,
    pub now: Nanos,
    pub window_start: Nanos,
    /// Events other than the events of the medium.
    event_queue: BinaryHeap<Reverse<Scheduled>>,
    /// Number of events scheduled so far.
    scheduled: u64,
    packets: Vec<Packet>,
    free: Vec<PacketId>,
    pub hosts: Vec<Host>,
    /// The sockets of each flow, and the programs that wait for them.
    pub sockets: Vec<Sockets>,
    pub programs: Vec<Programs>,
    pub outcomes: Vec<FlowOutcome>,
    pub processors: Vec<Working>,
    /// Time until which the CPU of each flow's sender of datagrams is busy.
    pub busy_until: Vec<Nanos>,
    wires: [Wire; 2],
    wired_drops: u64,
    /// Packets that arrived at stations in the current event.
    arrived: Vec<(usize, Packet)>,
    /// Datagrams with missing fragments, by flow and direction.
    incomplete: BTreeMap<(u32, bool), VecDeque<Incomplete>>,
    /// TCP flows with the application that runs: the receiver, or the sender (`true`).
    pub called: Vec<(u32, bool)>,
    /// Packets that left their stations in the current event.
    completed: Vec<(usize, PacketId)>,
    airtime_before: Airtime,
    events: u64,
    /// Signals of the data PPDUs that each station received in the window.
    signals: Vec<SignalCounts>,
}

/// The seeds of the flows of a scenario with this seed: they draw independently of each other for every seed.
fn seeds(seed: u64) -> impl Iterator<Item = u64> {
    (1_u64..).map(move |number| seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Simulates a scenario.
///
/// # Errors
/// [`ScenarioError`] if the scenario is inconsistent or violates the standard.
pub fn simulate(scenario: &Scenario) -> Result<Outcome, ScenarioError> {
    scenario.check()?;
    let mut network = Network::new(scenario)?;
    network.start();
    network.run(scenario.warmup + scenario.duration);
    Ok(network.finish())
}

impl<'a> Network<'a> {
    fn new(scenario: &'a Scenario) -> Result<Network<'a>, ScenarioError> {
        let flows = || scenario.flows.iter().zip(seeds(scenario.medium.seed));
        let hosts: Result<Vec<Host>, ScenarioError> =
            flows().map(|(flow, seed)| Host::new(flow, seed)).collect();
        let working = |processor| Working::new(processor, scenario.receive_limit);
        Ok(Network {
            scenario,
            medium: Medium::new(scenario.medium.clone())?,
            now: Nanos::ZERO,
            window_start: scenario.warmup,
            event_queue: BinaryHeap::new(),
            scheduled: 0,
            packets: Vec::new(),
            free: Vec::new(),
            hosts: hosts?,
            sockets: scenario
                .flows
                .iter()
                .map(|flow| Sockets::new(flow.sockets, flow.ip))
                .collect(),
            programs: flows().map(|(flow, seed)| Programs::new(flow, seed)).collect(),
            outcomes: flows().map(|(flow, seed)| FlowOutcome::of(flow, seed)).collect(),
            processors: scenario.processors.iter().copied().map(working).collect(),
            busy_until: vec![Nanos::ZERO; scenario.flows.len()],
            wires: [Wire::default(); 2],
            wired_drops: 0,
            arrived: Vec::new(),
            incomplete: BTreeMap::new(),
            called: Vec::new(),
            completed: Vec::new(),
            airtime_before: Airtime::default(),
            events: 0,
            signals: vec![SignalCounts::default(); scenario.medium.stations.len()],
        })
    }

    fn start(&mut self) {
        self.schedule(self.window_start, Event::Measure);
        for flow in 0..self.hosts.len() {
            let id = u32::try_from(flow).expect("fewer than 2^32 flows");
            match &mut self.hosts[flow] {
                Host::Saturated { .. } => {
                    for _ in 0..self.saturation(flow) {
                        self.depart(id);
                    }
                }
                Host::Paced { due, .. } => {
                    let at = due.at;
                    self.schedule(at, Event::Depart(id));
                }
                Host::Playing(playing) => {
                    let at = playing.due.at;
                    self.schedule(at, Event::Depart(id));
                }
                Host::Asking { client, .. } => {
                    let at = client.next_request(Nanos::ZERO).at;
                    self.schedule(at, Event::Depart(id));
                }
                Host::Tcp(connection) => {
                    connection.sender.open(Nanos::ZERO);
                    self.send_segments(id);
                }
            }
        }
    }

    /// Number of packets that a saturated flow keeps at its first station: its share of the station's queue
    /// limit.
    fn saturation(&self, flow: usize) -> usize {
        let of = &self.scenario.flows[flow];
        let ip_len_b = of.ip.header_len_b() + UDP_LEN_B + of.source.largest_payload_b();
        let fragments = of.fragments(ip_len_b).count();
        let sendable = self.sockets[flow].sendable(of.fragments(ip_len_b));
        let key = |flow: &Flow| (flow.from.station(), flow.contender);
        let mine = key(of);
        let sharing = |other: &&Flow| matches!(other.source, Source::Saturated { .. }) && key(other) == mine;
        let sharing = self.scenario.flows.iter().filter(sharing).count();
        (self.scenario.medium.stations[mine.0].queue_limit / sharing / fragments)
            .min(sendable)
            .max(1)
    }

    fn run(&mut self, until: Nanos) {
        loop {
            let scheduled = self
                .event_queue
                .peek()
                .map_or(Nanos::MAX, |Reverse(next)| next.at);
            let air = self.medium.next_event().unwrap_or(Nanos::MAX);
            if scheduled.min(air) > until {
                return;
            }
            if scheduled <= air {
                if let Some(Reverse(next)) = self.event_queue.pop() {
                    self.now = next.at;
                    self.execute(next.event);
                }
            } else {
                self.now = air;
                self.advance_medium();
            }
            self.call_applications();
        }
    }

    fn advance_medium(&mut self) {
        let event = self.medium.advance();
        self.events += 1;
        if self.now >= self.window_start
            && let Some((receiver, signal)) = event.and_then(|event| self.medium.received_signal(&event))
        {
            self.signals[receiver].record(signal);
        }
        let Network {
            medium,
            arrived,
            packets,
            ..
        } = self;
        for (delivery, id) in medium.deliver() {
            let packet = packets[*id as usize];
            arrived.extend(delivery.receivers.iter().map(|&station| (station, packet)));
        }
        self.release_completed();
        if !self.arrived.is_empty() {
            let arrived = std::mem::take(&mut self.arrived);
            self.coalesce_and_open(&arrived);
            self.arrived = arrived;
            self.arrived.clear();
        }
    }

    /// Frees the frames that have left their sender. A saturated source then sends again.
    fn release_completed(&mut self) {
        let mut completed = std::mem::take(&mut self.completed);
        completed.extend(
            self.medium
                .take_completions()
                .map(|completion| (completion.station, completion.frame)),
        );
        for (station, id) in completed.drain(..) {
            self.free.push(id);
            let packet = self.packets[id as usize];
            if self.keeps_full(station, &packet) {
                self.depart(packet.flow);
            }
            self.release(station, &packet);
            if let Some(flow) = self.processors[station].refused.pop_front() {
                self.depart(flow);
            }
        }
        self.completed = completed;
    }

    /// A packet has left a station. If the station is the first one, the packet no longer takes memory of its socket.
    fn release(&mut self, station: usize, packet: &Packet) {
        let is_first = self.scenario.flows[packet.flow as usize].from == End::Station(station);
        if is_first && !packet.back && self.sockets[packet.flow as usize].release(packet.ip_len_b) {
            self.resume(packet.flow);
        }
    }

    /// Whether the packet is the last one of a datagram of a saturated source that keeps this station full.
    fn keeps_full(&self, station: usize, packet: &Packet) -> bool {
        let flow = packet.flow as usize;
        let first = self.scenario.flows[flow].from.station();
        station == first && !packet.back && packet.last && matches!(self.hosts[flow], Host::Saturated { .. })
    }

    /// Opens the packets that arrived; consecutive segments of one connection may be merged at their
    /// destination.
    fn coalesce_and_open(&mut self, arrived: &[(usize, Packet)]) {
        let mut next = 0;
        while next < arrived.len() {
            let (station, mut packet) = arrived[next];
            let first = next;
            let mut len_b = packet.msdu_len_b();
            next += 1;
            if let Host::Tcp(connection) = &self.hosts[packet.flow as usize]
                && connection.coalesce
                && self.ends(&packet).1 == End::Station(station)
                && let Body::Segment(segment) = &mut packet.body
            {
                while let Some((to, other)) = arrived.get(next)
                    && (*to, other.flow, other.back) == (station, packet.flow, packet.back)
                    && let Body::Segment(other_segment) = &other.body
                    && segment.merge(other_segment)
                {
                    packet.ip_len_b += other_segment.len_b;
                    len_b += other.msdu_len_b();
                    next += 1;
                }
            }
            packet.more = arrived[next..]
                .iter()
                .any(|(to, other)| (*to, other.flow, other.back) == (station, packet.flow, packet.back));
            self.open(station, packet, next - first, len_b);
        }
    }

    /// Seals a packet in a station's card, whose transmit buffers hold the frames in the processor and the frames that
    /// wait for the air.
    fn seal(&mut self, station: usize, packet: Packet) {
        let place = Place::Sealed(station);
        if self.processors[station].takes_no_time() {
            self.reach(packet, place);
            return;
        }
        if !self.has_room(station) {
            self.processors[station].drops += 1;
            self.release(station, &packet);
            return;
        }
        let done = self.processors[station].seal(self.now, packet.msdu_len_b());
        let id = self.store(packet);
        self.schedule(done, Event::Reach(id, place));
    }

    /// Whether a station's card has a buffer for a frame to seal.
    pub fn has_room(&self, station: usize) -> bool {
        let held = self.processors[station].sealing + self.medium.queue_len(station);
        held < self.scenario.medium.stations[station].queue_limit
    }

    /// Opens a packet, which arrived in `frames` frames with `len_b` octets in total, in a station's card.
    fn open(&mut self, station: usize, packet: Packet, frames: usize, len_b: usize) {
        let place = Place::Opened(station);
        let working = &mut self.processors[station];
        if working.takes_no_time() {
            self.reach(packet, place);
            return;
        }
        if let Some(done) = working.open(self.now, frames, len_b) {
            let id = self.store(packet);
            self.schedule(done, Event::Reach(id, place));
        }
    }

    fn execute(&mut self, event: Event) {
        match event {
            Event::Depart(flow) => self.depart(flow),
            Event::Send(flow) => self.emit(flow),
            Event::Write(flow) => {
                if let Host::Tcp(connection) = &mut self.hosts[flow as usize] {
                    connection.write_at = Nanos::MAX;
                    self.run_application(flow, true);
                }
            }
            Event::Wake { flow, back } => self.run_program(flow, back),
            Event::Timer { flow, receiver } => self.tcp_timer(flow, receiver),
            Event::RequestTimeout { flow, number } => {
                if let Host::Asking { asked, waiting, .. } = &mut self.hosts[flow as usize]
                    && *waiting
                    && *asked == number
                {
                    *waiting = false;
                    self.outcomes[flow as usize].timeouts += u64::from(self.now >= self.window_start);
                    self.ask_next(flow);
                }
            }
            Event::Reach(id, place) => {
                let packet = self.packets[id as usize];
                self.free.push(id);
                match place {
                    Place::Sealed(station) => self.processors[station].sealing -= 1,
                    Place::Opened(station) => self.processors[station].release_opened(),
                    Place::Wire { up } => self.wires[usize::from(up)].waiting -= 1,
                    Place::Sender(_) => {}
                }
                self.reach(packet, place);
            }
            Event::Measure => {
                self.airtime_before = self.medium.counters().airtime;
                for outcome in &mut self.outcomes {
                    outcome.meter.jitter.start_mean(self.now);
                }
                for host in &mut self.hosts {
                    if let Host::Tcp(connection) = host {
                        connection.before_b = connection.receiver.received_b();
                    }
                }
            }
        }
    }

    fn ends(&self, packet: &Packet) -> (End, End) {
        let flow = &self.scenario.flows[packet.flow as usize];
        if packet.back {
            (flow.to, flow.from)
        } else {
            (flow.from, flow.to)
        }
    }

    /// A packet leaves its sending host, in fragments if it is a datagram longer than the MTU.
    pub fn send(&mut self, packet: Packet) {
        if matches!(packet.body, Body::Segment(_)) {
            self.send_whole(packet);
            return;
        }
        let flow = &self.scenario.flows[packet.flow as usize];
        let fragments = flow.fragments(packet.ip_len_b as usize).count();
        for (index, len_b) in (1..).zip(flow.fragments(packet.ip_len_b as usize)) {
            self.send_whole(Packet {
                ip_len_b: u32::try_from(len_b).unwrap_or(u32::MAX),
                fragments: u8::try_from(fragments).unwrap_or(u8::MAX),
                last: index == fragments,
                ..packet
            });
        }
    }

    fn send_whole(&mut self, packet: Packet) {
        match self.ends(&packet).0 {
            End::Server => self.onto_wire(packet, false),
            End::Station(station) => {
                if !packet.back {
                    self.sockets[packet.flow as usize].send(packet.ip_len_b);
                }
                self.reach(packet, Place::Sender(station));
            }
        }
    }

    /// A fragment arrives at its destination host. Returns the datagram if it was the last missing one.
    pub fn reassemble(&mut self, fragment: Packet) -> Option<Packet> {
        let (Body::Datagram(number) | Body::Picture { number, .. }) = fragment.body else {
            return Some(fragment);
        };
        let flow = &self.scenario.flows[fragment.flow as usize];
        let incomplete = self.incomplete.entry((fragment.flow, fragment.back)).or_default();
        // Fragments arrive in order, except for retransmissions within the window of a block ack agreement.
        while incomplete
            .front()
            .is_some_and(|first| first.number + REORDERED_MOST < number)
        {
            incomplete.pop_front();
        }
        let octets = |header_b: usize| u32::try_from(header_b).expect("a header has tens of octets");
        let payload_b = fragment.ip_len_b - octets(flow.fragment_header_b());
        let at = match incomplete.iter().position(|datagram| datagram.number == number) {
            Some(at) => at,
            None => {
                incomplete.push_back(Incomplete {
                    number,
                    arrived: 0,
                    payload_b: 0,
                });
                incomplete.len() - 1
            }
        };
        let datagram = &mut incomplete[at];
        datagram.arrived += 1;
        datagram.payload_b += payload_b;
        if datagram.arrived < fragment.fragments {
            return None;
        }
        let ip_len_b = datagram.payload_b + octets(flow.ip.header_len_b());
        incomplete.remove(at);
        Some(Packet { ip_len_b, ..fragment })
    }

    fn reach(&mut self, packet: Packet, place: Place) {
        let (_, to) = self.ends(&packet);
        match place {
            Place::Wire { up: true } => self.arrive(packet),
            Place::Wire { up: false } => self.seal(0, packet),
            Place::Sender(station) => self.seal(station, packet),
            Place::Sealed(station) => {
                let destination = to.station();
                // Packets between two other stations pass through the access point.
                let hop = if station == 0 { destination } else { 0 };
                let route = Route {
                    from: station,
                    to: Some(hop),
                    contender: self.scenario.flows[packet.flow as usize].contender,
                };
                let msdu = queue::Packet {
                    arrival: self.now,
                    len_b: packet.msdu_len_b(),
                    flow: packet.flow << 1 | u32::from(packet.back),
                    frame: self.store(packet),
                };
                self.medium.enqueue(route, msdu);
            }
            Place::Opened(station) => match to {
                End::Station(end) if end == station => self.arrive(packet),
                End::Server if station == 0 => self.onto_wire(packet, true),
                _ => self.seal(
                    station,
                    Packet {
                        more: false,
                        ..packet
                    },
                ),
            },
        }
    }

    fn onto_wire(&mut self, packet: Packet, up: bool) {
        let wired = &self.scenario.wired;
        let wire = &mut self.wires[usize::from(up)];
        if wire.waiting == wired.queue_limit {
            self.wired_drops += 1;
            return;
        }
        wire.waiting += 1;
        let at = wire
            .server
            .serve(self.now, wired.frame(packet.ip_len_b as usize), wired.delay);
        let id = self.store(Packet {
            more: false,
            ..packet
        });
        self.schedule(at, Event::Reach(id, Place::Wire { up }));
    }

    pub fn schedule(&mut self, at: Nanos, event: Event) {
        self.scheduled += 1;
        self.event_queue.push(Reverse(Scheduled {
            at,
            number: self.scheduled,
            event,
        }));
    }

    fn store(&mut self, packet: Packet) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.packets[id as usize] = packet;
            id
        } else {
            self.packets.push(packet);
            u32::try_from(self.packets.len() - 1).expect("fewer than 2^32 packets in transit")
        }
    }

    fn finish(mut self) -> Outcome {
        for (outcome, host) in self.outcomes.iter_mut().zip(&self.hosts) {
            if let Host::Tcp(connection) = host {
                outcome.octets = connection.receiver.received_b() - connection.before_b;
                outcome.retransmissions = connection.sender.counters().retransmissions;
            }
            if let Host::Playing(playing) = host {
                let end = self.scenario.warmup + self.scenario.duration;
                (outcome.frames, outcome.late_frames) = playing.frames.late(self.window_start, end);
            }
        }
        let counters = self.medium.counters().clone();
        let processors = self.processors.iter().map(|working| ProcessorOutcome {
            busy: working.busy(self.now),
            drops: working.drops,
        });
        Outcome {
            span: self.scenario.duration,
            airtime: counters.airtime.since(&self.airtime_before),
            flows: self.outcomes,
            counters,
            processors: processors.collect(),
            wired_drops: self.wired_drops,
            events: self.events,
            signals: self.signals,
        }
    }
}
