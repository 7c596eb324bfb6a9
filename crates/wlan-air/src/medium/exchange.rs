//! Frame exchange sequences (10.23.2.1, annex G): the transmissions of a station that has won the medium.

use super::flow::MpduSource;
use super::request::Plan;
use super::station::{BEACON, Exchange, Payload};
use super::{Action, Completion, Event, Kind, Medium, Outcome, Ppdu, Protection, Spans};
use crate::access::{Aggregation, Psdu};
use crate::phy::{ACK_LEN_B, BLOCK_ACK_LEN_B, CTS_LEN_B, Mode, RTS_LEN_B};
use crate::queue::{Discipline, Packet};
use crate::{Access, Nanos};

/// A transmission opportunity: the right of a contender to start exchanges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Txop {
    pub station: usize,
    pub contender: usize,
    /// Start of the next exchange: now for the first exchange, a SIFS later for the following exchanges.
    pub exchange_start: Nanos,
    /// End of the TXOP; none if it ends with the next exchange.
    pub end: Option<Nanos>,
    /// The only flow that may send, because its MSDU has fragments left.
    pub only_flow: Option<usize>,
}

impl Txop {
    /// Whether the next exchange is the first of the TXOP.
    fn begins(&self, now: Nanos) -> bool {
        self.exchange_start == now
    }
}

impl<F> Medium<F> {
    /// A countdown of the station ends.
    pub(super) fn start_exchange(&mut self, at: Nanos, index: usize) -> Event {
        let Spans { slot, pifs, eifs, .. } = self.spans;
        let Some((_, winner)) = self.stations[index].next_start(eifs, slot, pifs) else {
            self.starts[index] = Nanos::MAX;
            return Event::Elapsed { at };
        };
        self.collide_internally(at, index, winner);
        if self.on_air.is_empty() {
            self.counters.transmissions += 1;
        }
        if winner == BEACON {
            return self.send_beacon(at, index);
        }
        let contender = &mut self.stations[index].contenders[winner];
        contender.backoff = None;
        let limit = contender.access.txop_limit;
        let txop = Txop {
            station: index,
            contender: winner,
            exchange_start: at,
            end: (limit > Nanos::ZERO).then(|| at + limit),
            only_flow: None,
        };
        let Some(exchange) = self.prepare(&txop) else {
            // The queue's discipline dropped all waiting MSDUs.
            self.stations[index].contenders[winner].committed = None;
            self.reschedule(index);
            return Event::Elapsed { at };
        };
        self.counters.stations[index].txops += 1;
        self.begin(at, index, exchange)
    }

    /// The contenders of the station other than `winner` whose countdown has ended behave as after a collision
    /// (10.23.2.4).
    fn collide_internally(&mut self, at: Nanos, index: usize, winner: usize) {
        let Spans { slot, eifs, .. } = self.spans;
        let station = &mut self.stations[index];
        let (free, from) = (station.is_free(), station.access_from(eifs));
        let is_beacon = station
            .contenders
            .get(winner)
            .is_none_or(|contender| contender.access == Access::beacon());
        for (at_contender, contender) in station.contenders.iter_mut().enumerate() {
            let start = if free {
                contender.start(from, slot)
            } else {
                contender.committed
            };
            if at_contender != winner && start.is_some_and(|start| start <= at) {
                contender.committed = None;
                if !is_beacon {
                    contender.fail();
                }
                contender.draw(&mut self.backoffs);
            }
        }
    }

    fn send_beacon(&mut self, at: Nanos, index: usize) -> Event {
        let mode = self.config.bss.beacon_mode();
        let psdu_len_b = self.config.beacons.map_or(0, |beacons| beacons.len_b);
        let station = &mut self.stations[index];
        station.beacon_due = None;
        station.exchange = Some(Exchange {
            contender: BEACON,
            flow: 0,
            to: None,
            mode,
            kind: Payload::Beacon,
            psdu_len_b,
            protection: Protection::None,
            payload_sent: true,
            txop_end: None,
        });
        let ppdu = self.ppdu(at, index, None, Kind::Beacon, mode, psdu_len_b);
        self.transmit(ppdu, ppdu.end, Some(BEACON))
    }

    /// Prepares an exchange: chooses its flow and its rate, and takes its MPDUs. `None` if no MSDU is left, or if
    /// the exchange does not fit the rest of the TXOP.
    pub(super) fn prepare(&mut self, txop: &Txop) -> Option<Exchange> {
        let planned = self.plan(txop);
        let prepared = planned.map(|plan| self.commit(txop, &plan));
        self.count_dropped(txop.station, txop.contender);
        prepared
    }

    /// The flow to send and its rate. `None` if no flow has an MSDU, or if its exchange would exceed the TXOP in
    /// progress (10.23.2.9). An abandoned plan changes no flow's turn, rate or queue, except that `CoDel` drops
    /// MSDUs that waited too long.
    fn plan(&mut self, txop: &Txop) -> Option<Plan> {
        let flow = self.choose_flow(txop)?;
        let plan = self.plan_flow(txop.station, txop.contender, flow)?;
        let must_fit = !txop.begins(self.now) && txop.only_flow.is_none();
        match txop.end {
            Some(end) if must_fit && self.shortest_end(txop, &plan)? > end => None,
            _ => Some(plan),
        }
    }

    /// The next flow with an MSDU, in round robin; with a FIFO, the flow with the oldest MSDU.
    fn choose_flow(&mut self, txop: &Txop) -> Option<usize> {
        let now = self.now;
        let is_fifo = self.config.stations[txop.station].discipline == Discipline::Fifo;
        let contender = &mut self.stations[txop.station].contenders[txop.contender];
        let flows = contender.flows.len();
        // A flow keeps its TXOP to the end. If the next flow's turn began within the TXOP, it would get only
        // the rest.
        let first = contender.served + usize::from(txop.begins(now));
        let mut chosen: Option<(Nanos, usize)> = None;
        for turn in first..first + flows {
            let at = turn % flows;
            if txop.only_flow.is_some_and(|only| only != at) {
                continue;
            }
            let Some(oldest) = contender.flows[at].oldest(now, &mut self.dropped) else {
                continue;
            };
            if !is_fifo {
                return Some(at);
            }
            if chosen.is_none_or(|(earliest, _)| oldest < earliest) {
                chosen = Some((oldest, at));
            }
        }
        chosen.map(|(_, at)| at)
    }

    /// End of the shortest possible exchange of a flow, with one MPDU and its Ack. `None` if the flow has no MSDU.
    fn shortest_end(&mut self, txop: &Txop, plan: &Plan) -> Option<Nanos> {
        let config = &self.config.stations[txop.station];
        let mode = &plan.choice.mode;
        let flow = &mut self.stations[txop.station].contenders[txop.contender].flows[plan.flow];
        let mut psdu = Psdu::new(&config.aggregation, mode, Nanos::MAX);
        let fragmentation = config.fragmentation(flow.to);
        psdu.join(flow.next_mpdu_len_b(self.now, &fragmentation, &mut self.dropped)?);
        let bss = &self.config.bss;
        let answer = match flow.to {
            Some(_) => self.spans.sifs + bss.ack_duration(mode),
            None => Nanos::ZERO,
        };
        let guard = plan.protection.unwrap_or_default().duration(bss, mode);
        Some(txop.exchange_start + guard + mode.ppdu_duration(psdu.len_b()) + answer)
    }

    /// Takes the MPDUs of an exchange.
    fn commit(&mut self, txop: &Txop, plan: &Plan) -> Exchange {
        let &Plan { flow, choice, .. } = plan;
        let mode = choice.mode;
        let room = self.room(txop, plan);
        let driver = self.driver_of(txop.station);
        let config = &self.config.stations[txop.station];
        let aggregation = Aggregation {
            max_mpdus: if plan.alone {
                1
            } else {
                config.aggregation.max_mpdus
            },
            ..config.aggregation
        };
        let contender = &mut self.stations[txop.station].contenders[txop.contender];
        contender.served = flow;
        let flow = &mut contender.flows[flow];
        let max_amsdu_b = match flow.to {
            Some(_) => aggregation.max_amsdu_b(&mode, &config.framing, room),
            None => 0,
        };
        let mut psdu = Psdu::new(&aggregation, &mode, room);
        let mut source = MpduSource {
            now: self.now,
            fragmentation: config.fragmentation(flow.to),
            max_amsdu_b,
            dropped: &mut self.dropped,
        };
        match driver {
            None => flow.fill(&mut psdu, &mut source, |_| true),
            Some(request) => flow.fill(&mut psdu, &mut source, |slot| {
                let asked = request(&slot.msdu.frame, slot.sent);
                asked.is_some_and(|asked| asked.aggregable && asked.mode == mode)
            }),
        }
        Exchange {
            contender: txop.contender,
            flow: plan.flow,
            to: flow.to,
            mode,
            kind: Payload::Data {
                mpdus: psdu.mpdus(),
                choice,
            },
            psdu_len_b: psdu.len_b(),
            protection: match plan.protection {
                Some(protection) => protection,
                None if txop.begins(self.now) => config.protection_of(psdu.len_b()),
                None => Protection::None,
            },
            payload_sent: false,
            txop_end: txop.end,
        }
    }

    /// Time that the TXOP leaves for the PPDU of an exchange, before its SIFS and its `BlockAck`.
    fn room(&self, txop: &Txop, plan: &Plan) -> Nanos {
        let Some(end) = txop.end else {
            return Nanos::MAX;
        };
        let bss = &self.config.bss;
        let mode = &plan.choice.mode;
        let protection = match plan.protection {
            Some(protection) => protection,
            None if txop.begins(self.now) => self.config.stations[txop.station].longest_protection(),
            None => Protection::None,
        };
        let guard = protection.duration(bss, mode);
        end.saturating_sub(txop.exchange_start + guard + self.spans.sifs + bss.block_ack_duration(mode))
    }

    /// Counts the MSDUs that the discipline of a queue dropped.
    fn count_dropped(&mut self, index: usize, contender: usize) {
        for Packet { frame, .. } in self.dropped.drain(..) {
            self.stations[index].contenders[contender].backlog -= 1;
            self.counters.stations[index].drops_queue += 1;
            self.completions.push(Completion {
                station: index,
                frame,
                outcome: Outcome::Queue,
                transmissions: 0,
            });
        }
    }

    /// Starts an exchange.
    fn begin(&mut self, at: Nanos, index: usize, exchange: Exchange) -> Event {
        self.stations[index].exchange = Some(exchange);
        let contender = Some(exchange.contender);
        self.proceed(at, index, contender)
    }

    /// Sends the next PPDU of the exchange in progress: an RTS, a CTS-to-self, or the payload. `contender` is
    /// the contender that won the medium; none after a SIFS.
    fn proceed(&mut self, at: Nanos, index: usize, contender: Option<usize>) -> Event {
        let Some(exchange) = &mut self.stations[index].exchange else {
            return Event::Elapsed { at };
        };
        let protection = std::mem::take(&mut exchange.protection);
        if protection == Protection::None {
            return self.send_payload(at, index, contender);
        }
        let exchange = *exchange;
        let Exchange { mode, to, .. } = exchange;
        let sifs = self.spans.sifs;
        let data_and_answer = mode.ppdu_duration(exchange.psdu_len_b) + self.answer_span(&exchange);
        let bss = &self.config.bss;
        if protection == Protection::RtsCts {
            let control = bss.rts_mode(&mode);
            let ppdu = self.ppdu(at, index, to, Kind::Rts, control, RTS_LEN_B);
            let nav = ppdu.end + sifs + bss.cts_duration(&mode) + sifs + data_and_answer;
            return self.transmit(ppdu, nav, contender);
        }
        let control = bss.cts_to_self_mode(&mode);
        let ppdu = self.ppdu(at, index, None, Kind::CtsToSelf, control, CTS_LEN_B);
        self.transmit(ppdu, ppdu.end + sifs + data_and_answer, contender)
    }

    /// Sends the payload of the exchange in progress.
    fn send_payload(&mut self, at: Nanos, index: usize, contender: Option<usize>) -> Event {
        let Some(exchange) = &mut self.stations[index].exchange else {
            return Event::Elapsed { at };
        };
        let Payload::Data { mpdus, .. } = exchange.kind else {
            return Event::Elapsed { at };
        };
        exchange.payload_sent = true;
        let exchange = *exchange;
        let Exchange {
            to, mode, psdu_len_b, ..
        } = exchange;
        let ppdu = self.ppdu(at, index, to, Kind::Data { mpdus }, mode, psdu_len_b);
        let nav = ppdu.end + self.answer_span(&exchange) + self.next_fragment_span(index, &exchange);
        self.transmit(ppdu, nav, contender)
    }

    /// Duration of the SIFS and the answer to the payload of an exchange; zero for a group-addressed frame.
    fn answer_span(&self, exchange: &Exchange) -> Nanos {
        if exchange.to.is_none() {
            return Nanos::ZERO;
        }
        let bss = &self.config.bss;
        self.spans.sifs
            + match exchange.kind {
                Payload::Data { mpdus: 1, .. } => bss.ack_duration(&exchange.mode),
                _ => bss.block_ack_duration(&exchange.mode),
            }
    }

    fn ppdu(
        &self,
        start: Nanos,
        sender: usize,
        receiver: Option<usize>,
        kind: Kind,
        mode: Mode,
        psdu_len_b: usize,
    ) -> Ppdu {
        Ppdu {
            sender,
            receiver,
            kind,
            mode,
            psdu_len_b,
            start,
            end: start + mode.ppdu_duration(psdu_len_b),
        }
    }

    fn transmit(&mut self, ppdu: Ppdu, nav_until: Nanos, contender: Option<usize>) -> Event {
        self.put_on_air(ppdu, nav_until, contender);
        Event::PpduStart(ppdu)
    }

    pub(super) fn act(&mut self, at: Nanos, action: Action) -> Event {
        match action {
            Action::Answer {
                station,
                to,
                kind,
                mode,
                nav_until,
            } => {
                if self.stations[station].transmitting {
                    self.settle(at, to, false);
                    return Event::Elapsed { at };
                }
                self.count_sifs(at);
                let len_b = match kind {
                    Kind::BlockAck => BLOCK_ACK_LEN_B,
                    Kind::Cts => CTS_LEN_B,
                    _ => ACK_LEN_B,
                };
                let ppdu = self.ppdu(at, station, Some(to), kind, mode, len_b);
                self.transmit(ppdu, nav_until, None)
            }
            Action::Continue { station } => {
                self.count_sifs(at);
                self.proceed(at, station, None)
            }
            Action::Timeout { station } => {
                self.settle(at, station, false);
                Event::Elapsed { at }
            }
            Action::Beacon => {
                self.stations[0].beacon_due = Some(at);
                self.reschedule(0);
                if let Some(beacons) = self.config.beacons {
                    self.actions.push((at + beacons.interval, Action::Beacon));
                }
                Event::Elapsed { at }
            }
        }
    }
}
