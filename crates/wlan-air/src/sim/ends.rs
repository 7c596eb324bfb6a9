//! The hosts: arriving packets, sources, TCP timers.

use super::events::{Body, Event, Packet};
use super::host::Host;
use super::network::Network;
use super::scenario::{End, UDP_LEN_B};
use crate::Nanos;
use crate::tcp::Segment;
use crate::traffic::RTP_HEADER_LEN_B;

/// Time after which an unanswered request counts as lost.
const REQUEST_TIMEOUT: Nanos = Nanos::from_secs(1);

impl Network<'_> {
    /// A packet arrives at its destination host.
    pub fn arrive(&mut self, packet: Packet) {
        let Packet { flow, back, more, .. } = packet;
        let is_whole = packet.fragments == 1;
        let whole = if is_whole {
            Some(packet)
        } else {
            self.reassemble(packet)
        };
        if let Some(packet) = whole
            && self.sockets[flow as usize].receive(back, packet.ip_len_b, more && is_whole)
        {
            if self.sleeps(&packet) {
                self.wait_for_program(packet);
            } else {
                self.take(packet);
            }
        }
        // A program that runs at once reads when no more packets arrive with this one, as in a real host.
        if !more && self.programs[flow as usize].run_at_once() {
            self.sockets[flow as usize].read(back);
        }
    }

    /// A program takes a datagram, or a host a segment.
    pub fn take(&mut self, packet: Packet) {
        let Packet {
            flow,
            back,
            body,
            sent,
            ip_len_b,
            more,
            ..
        } = packet;
        let measured = sent >= self.window_start;
        let now = self.now;
        let header_b = self.scenario.flows[flow as usize].ip.header_len_b() + UDP_LEN_B;
        let payload_b = (ip_len_b as usize).saturating_sub(header_b);
        let outcome = &mut self.outcomes[flow as usize];
        match (&mut self.hosts[flow as usize], body) {
            (
                Host::Asking {
                    client,
                    asked,
                    at,
                    waiting,
                },
                Body::Datagram(number),
            ) => {
                if back {
                    if *waiting && number == *asked {
                        *waiting = false;
                        if *at >= self.window_start {
                            outcome.round_trips.record(now - *at);
                            outcome.meter.record(number, *at, now, payload_b);
                            outcome.octets += payload_b as u64;
                        }
                        self.ask_next(flow);
                    }
                } else {
                    let response_b = client.response_b;
                    self.send_datagram(flow, true, number, response_b);
                }
            }
            (Host::Tcp(connection), Body::Segment(segment)) => {
                if back {
                    connection.sender.on_segment(now, &segment);
                    self.send_segments(flow);
                } else {
                    if segment.len_b > 0 && measured && !segment.retransmission {
                        outcome.meter.delays.record(now - sent);
                    }
                    let answer = connection.receiver.on_segment(now, &segment);
                    if let Some(answer) = answer {
                        self.send_segment(flow, true, answer);
                    }
                    self.schedule_timers(flow);
                }
                if !more {
                    self.call_program(flow, back);
                }
            }
            (Host::Playing(playing), Body::Picture { number, frame, last }) => {
                if back {
                    if measured {
                        outcome.round_trips.record(now - sent);
                    }
                    return;
                }
                playing.frames.arrived(frame, now);
                let picture_b = payload_b - RTP_HEADER_LEN_B;
                if now >= self.window_start {
                    outcome.octets += picture_b as u64;
                }
                if measured {
                    outcome.meter.record(number, sent, now, picture_b);
                } else {
                    outcome.meter.jitter.record(sent, now);
                }
                if last {
                    self.send(Packet::whole(flow, true, body, sent, header_b + RTP_HEADER_LEN_B));
                }
            }
            (_, Body::Datagram(number)) => {
                if now >= self.window_start {
                    outcome.octets += payload_b as u64;
                }
                if measured {
                    outcome.meter.record(number, sent, now, payload_b);
                } else {
                    outcome.meter.jitter.record(sent, now);
                }
            }
            (_, Body::Segment(_) | Body::Picture { .. }) => {}
        }
    }

    /// The applications that run read the segments that have arrived, and write what their send buffers accept.
    pub fn call_applications(&mut self) {
        while let Some((flow, sends)) = self.called.pop() {
            while !sends
                && let Host::Tcp(connection) = &mut self.hosts[flow as usize]
                && let Some(answer) = connection.receiver.read(self.now)
            {
                self.send_segment(flow, true, answer);
            }
            while sends
                && let Host::Tcp(connection) = &mut self.hosts[flow as usize]
                && connection.sender.write_next(self.now)
            {
                self.send_segments(flow);
            }
            if sends
                && let Host::Tcp(connection) = &mut self.hosts[flow as usize]
                && let Some(at) = connection.sender.next_write()
                && at < connection.write_at
            {
                connection.write_at = at;
                self.schedule(at, Event::Write(flow));
            }
            self.schedule_timers(flow);
        }
    }

    /// A source has its next packet, which leaves when the host's CPU has written and sent it.
    pub fn depart(&mut self, flow: u32) {
        let free_at = self.busy_until[flow as usize];
        match &self.hosts[flow as usize] {
            Host::Saturated { .. } | Host::Paced { .. } if free_at > self.now => {
                self.occupy(flow);
                self.schedule(free_at, Event::Send(flow));
            }
            _ => {
                self.occupy(flow);
                self.emit(flow);
            }
        }
    }

    fn occupy(&mut self, flow: u32) {
        let busy_until = &mut self.busy_until[flow as usize];
        *busy_until = (*busy_until).max(self.now) + self.scenario.flows[flow as usize].cpu.datagram();
    }

    /// A source sends its next packet.
    pub fn emit(&mut self, flow: u32) {
        if let Host::Saturated { .. } = &self.hosts[flow as usize]
            && let End::Station(station) = self.scenario.flows[flow as usize].from
            && !self.processors[station].takes_no_time()
            && !self.has_room(station)
        {
            self.processors[station].refused.push_back(flow);
            return;
        }
        if matches!(self.hosts[flow as usize], Host::Paced { .. } | Host::Playing(_))
            && self.sockets[flow as usize].is_full()
        {
            self.sockets[flow as usize].blocked = true;
            return;
        }
        let now = self.now;
        match &mut self.hosts[flow as usize] {
            Host::Saturated { payload_b, next } => {
                let (payload_b, number) = (*payload_b, *next);
                *next += 1;
                self.send_datagram(flow, false, number, payload_b);
            }
            Host::Paced {
                departures,
                due,
                next,
            } => {
                let (payload_b, number) = (due.len_b, *next);
                *next += 1;
                let following = departures.next();
                if let Some(following) = following {
                    *due = following;
                    self.schedule(following.at.max(now), Event::Depart(flow));
                }
                self.send_datagram(flow, false, number, payload_b);
            }
            Host::Playing(playing) => {
                let (packet, number) = (playing.due, playing.next);
                playing.next += 1;
                if packet.index == 0 {
                    playing.frames.captured(packet.captured, packet.of);
                }
                let following = playing.video.next();
                if let Some(following) = following {
                    playing.due = following;
                    let at = self.programs[flow as usize].timer(now, following.at);
                    self.schedule(at, Event::Depart(flow));
                }
                let ip_b = self.scenario.flows[flow as usize].ip.header_len_b();
                let body = Body::Picture {
                    number,
                    frame: packet.frame,
                    last: packet.is_last(),
                };
                let ip_len_b = ip_b + UDP_LEN_B + packet.len_b;
                self.send(Packet::whole(flow, false, body, self.now, ip_len_b));
            }
            Host::Asking {
                client,
                asked,
                at,
                waiting,
            } => {
                *asked += 1;
                *at = self.now;
                *waiting = true;
                let (number, request_b) = (*asked, client.request_b);
                self.schedule(self.now + REQUEST_TIMEOUT, Event::RequestTimeout { flow, number });
                self.send_datagram(flow, false, number, request_b);
            }
            Host::Tcp(_) => {}
        }
    }

    pub fn ask_next(&mut self, flow: u32) {
        if let Host::Asking { client, .. } = &mut self.hosts[flow as usize] {
            let at = client.next_request(self.now).at;
            let at = self.programs[flow as usize].timer(self.now, at);
            self.schedule(at, Event::Depart(flow));
        }
    }

    fn send_datagram(&mut self, flow: u32, back: bool, number: u64, payload_b: usize) {
        let ip_b = self.scenario.flows[flow as usize].ip.header_len_b();
        let ip_len_b = ip_b + UDP_LEN_B + payload_b;
        self.send(Packet::whole(
            flow,
            back,
            Body::Datagram(number),
            self.now,
            ip_len_b,
        ));
    }

    fn send_segment(&mut self, flow: u32, back: bool, segment: Segment) {
        let ip_len_b = segment.ip_len_b(self.scenario.flows[flow as usize].ip);
        self.send(Packet::whole(
            flow,
            back,
            Body::Segment(segment),
            self.now,
            ip_len_b,
        ));
    }

    /// Sends all segments that the TCP sender has ready.
    pub fn send_segments(&mut self, flow: u32) {
        while let Host::Tcp(connection) = &mut self.hosts[flow as usize]
            && let Some(segment) = connection.sender.poll(self.now)
        {
            self.send_segment(flow, false, segment);
        }
        self.schedule_timers(flow);
    }

    pub fn tcp_timer(&mut self, flow: u32, receiver: bool) {
        let now = self.now;
        let Host::Tcp(connection) = &mut self.hosts[flow as usize] else {
            return;
        };
        let scheduled = &mut connection.scheduled[usize::from(receiver)];
        if *scheduled != now {
            return; // an earlier time was scheduled since then
        }
        *scheduled = Nanos::MAX;
        let due = |timeout: Option<Nanos>| timeout.is_some_and(|at| at <= now);
        if receiver {
            if due(connection.receiver.next_timeout())
                && let Some(answer) = connection.receiver.on_timeout(now)
            {
                self.send_segment(flow, true, answer);
            }
            self.schedule_timers(flow);
        } else {
            if due(connection.sender.next_timeout()) {
                connection.sender.on_timeout(now);
            }
            self.send_segments(flow);
        }
    }

    /// Plans an event no later than each timer of a connection. Most timers are postponed before they expire,
    /// so an event checks its timer when it is due, and timers are not scheduled again at each change.
    fn schedule_timers(&mut self, flow: u32) {
        let now = self.now;
        for receiver in [false, true] {
            let Host::Tcp(connection) = &mut self.hosts[flow as usize] else {
                return;
            };
            let timeout = if receiver {
                connection.receiver.next_timeout()
            } else {
                connection.sender.next_timeout()
            };
            let scheduled = &mut connection.scheduled[usize::from(receiver)];
            if let Some(at) = timeout
                && at < *scheduled
            {
                let at = at.max(now);
                *scheduled = at;
                self.schedule(at, Event::Timer { flow, receiver });
            }
        }
    }
}
