//! Frame exchange sequences (10.23.2.1, annex G): the transmissions of a station that has won the medium.

use super::station::{BEACON, Exchange, Payload};
use super::{Action, Event, Gone, Kind, Medium, Outcome, Ppdu, Protection, Spans};
use crate::access::{Aggregation, Psdu};
use crate::phy::{ACK_LEN_B, BLOCK_ACK_LEN_B, Bss, CTS_LEN_B, Mode, RTS_LEN_B};
use crate::queue::{Discipline, Packet};
use crate::rate::Choice;
use crate::{Nanos, StationConfig};

impl<F> Medium<F> {
    /// A countdown of the station ends.
    pub(super) fn start_exchange(&mut self, at: Nanos, index: usize) -> Event {
        let Spans { slot, pifs, eifs, .. } = self.spans;
        let station = &mut self.stations[index];
        let Some((_, winner)) = station.next_start(eifs, slot, pifs) else {
            self.starts[index] = Nanos::MAX;
            return Event::Elapsed { at };
        };
        let (free, from) = (station.is_free(), station.access_from(eifs));
        for (at_contender, contender) in station.contenders.iter_mut().enumerate() {
            let start = if free {
                contender.start(from, slot)
            } else {
                contender.committed
            };
            // An internal collision: the contender of lower priority behaves as after a collision
            // (10.23.2.4).
            if at_contender != winner && start.is_some_and(|start| start <= at) {
                contender.committed = None;
                if winner != BEACON {
                    contender.fail();
                }
                contender.draw(&mut self.backoffs);
            }
        }
        if self.on_air.is_empty() {
            self.counters.transmissions += 1;
        }
        if winner == BEACON {
            return self.send_beacon(at, index);
        }
        let contender = &mut station.contenders[winner];
        contender.backoff = None;
        let limit = contender.access.txop_limit;
        let txop_end = (limit > Nanos::ZERO).then(|| at + limit);
        let Some(exchange) = self.prepare(index, winner, at, txop_end, None) else {
            // The queue's discipline dropped all waiting MSDUs.
            self.stations[index].contenders[winner].committed = None;
            self.reschedule(index);
            return Event::Elapsed { at };
        };
        self.counters.stations[index].txops += 1;
        self.begin(at, index, exchange)
    }

    fn send_beacon(&mut self, at: Nanos, index: usize) -> Event {
        let mode = self.config.bss.beacon_mode();
        let psdu_len_b = self.config.beacons.map_or(0, |beacons| beacons.len_b);
        let station = &mut self.stations[index];
        station.beacon_due = None;
        station.exchange = Some(Exchange {
            contender: BEACON,
            flow: 0,
            mode,
            kind: Payload::Beacon,
            psdu_len_b,
            payload_sent: true,
            txop_end: None,
        });
        let ppdu = self.ppdu(at, index, None, Kind::Beacon, mode, psdu_len_b);
        self.transmit(ppdu, ppdu.end, Some(BEACON))
    }

    /// Prepares the exchange of a contender that starts at `start`: chooses the flow, or uses the flow
    /// `only`, and marks its MPDUs. None if no MSDU is left, or if the exchange does not fit the rest of the
    /// TXOP.
    pub(super) fn prepare(
        &mut self,
        index: usize,
        winner: usize,
        start: Nanos,
        txop_end: Option<Nanos>,
        only: Option<usize>,
    ) -> Option<Exchange> {
        let planned = self.plan(index, winner, start, txop_end, only);
        let prepared =
            planned.map(|(flow, choice)| self.commit(index, winner, start, txop_end, flow, choice));
        self.count_dropped(index, winner);
        prepared
    }

    /// The next flow to send and its rate. None if no flow has an MSDU, or if its exchange would exceed the
    /// TXOP in progress (10.23.2.9). An abandoned plan changes no flow's turn, rate or queue, except that
    /// `CoDel` drops MSDUs that waited too long.
    fn plan(
        &mut self,
        index: usize,
        winner: usize,
        start: Nanos,
        txop_end: Option<Nanos>,
        only: Option<usize>,
    ) -> Option<(usize, Choice)> {
        let now = self.now;
        let config = &self.config.stations[index];
        let bss = &self.config.bss;
        let contender = &mut self.stations[index].contenders[winner];
        let flows = contender.flows.len();
        let mut chosen: Option<(Nanos, usize)> = None;
        // A flow keeps its TXOP to the end. If the next flow's turn began within the TXOP, it would get only
        // the rest.
        let first = usize::from(start == now);
        for turn in first..first + flows {
            let at = (contender.served + turn) % flows;
            if only.is_some_and(|only| only != at) {
                continue;
            }
            let Some(oldest) = contender.flows[at].oldest(now, &mut self.dropped) else {
                continue;
            };
            if chosen.is_none_or(|(earliest, _)| oldest < earliest) {
                chosen = Some((oldest, at));
            }
            if config.discipline != Discipline::Fifo {
                break; // round robin
            }
        }
        let (_, at) = chosen?;
        let flow = &mut contender.flows[at];
        let choice = flow.rate.choose(now);
        if let Some(txop_end) = txop_end
            && start > now
            && only.is_none()
        {
            let threshold_b = config.threshold_b();
            let mut psdu = Psdu::new(&config.aggregation, &choice.mode, Nanos::MAX);
            psdu.join(flow.next_mpdu_len_b(now, &config.framing, threshold_b, &mut self.dropped)?);
            let ppdu = choice.mode.ppdu_duration(psdu.len_b());
            if start + ppdu + self.spans.sifs + bss.ack_duration(&choice.mode) > txop_end {
                return None;
            }
        }
        Some((at, choice))
    }

    /// Takes the MPDUs of an exchange.
    fn commit(
        &mut self,
        index: usize,
        winner: usize,
        start: Nanos,
        txop_end: Option<Nanos>,
        at: usize,
        choice: Choice,
    ) -> Exchange {
        let now = self.now;
        let config = &self.config.stations[index];
        let bss = &self.config.bss;
        let contender = &mut self.stations[index].contenders[winner];
        contender.served = at;
        let flow = &mut contender.flows[at];
        let mode = choice.mode;
        // A sample risks one MPDU, not a whole A-MPDU.
        let aggregation = Aggregation {
            max_mpdus: if choice.sample {
                1
            } else {
                config.aggregation.max_mpdus
            },
            ..config.aggregation
        };
        let room = txop_end.map_or(Nanos::MAX, |end| {
            let guard = if start == now {
                guard_duration(config, bss, &mode)
            } else {
                Nanos::ZERO
            };
            end.saturating_sub(start + guard + self.spans.sifs + bss.block_ack_duration(&mode))
        });
        let mut psdu = Psdu::new(&aggregation, &mode, room);
        let max_amsdu_b = aggregation.max_amsdu_b(&mode, &config.framing, room);
        let threshold_b = config.threshold_b();
        let mut next = 0;
        while !psdu.is_full() {
            if next == flow.window.len() && !flow.pull(now, max_amsdu_b, &mut self.dropped) {
                break;
            }
            let slot = &mut flow.window[next];
            next += 1;
            if slot.acked {
                continue;
            }
            if !psdu.join(slot.next_mpdu(&config.framing, threshold_b).0) {
                break;
            }
            slot.on_air = true;
        }
        Exchange {
            contender: winner,
            flow: at,
            mode,
            kind: Payload::Data {
                mpdus: psdu.mpdus(),
                choice,
            },
            psdu_len_b: psdu.len_b(),
            payload_sent: false,
            txop_end,
        }
    }

    /// Counts the MSDUs that the discipline of a queue dropped.
    fn count_dropped(&mut self, index: usize, contender: usize) {
        for Packet { frame, .. } in self.dropped.drain(..) {
            self.stations[index].contenders[contender].backlog -= 1;
            self.counters.stations[index].drops_queue += 1;
            self.gone.push(Gone {
                station: index,
                frame,
                outcome: Outcome::Queue,
            });
        }
    }

    /// Sends the first PPDU of an exchange: an RTS, a CTS-to-self, or the payload.
    fn begin(&mut self, at: Nanos, index: usize, exchange: Exchange) -> Event {
        self.stations[index].exchange = Some(exchange);
        let Exchange {
            contender,
            flow,
            mode,
            psdu_len_b,
            ..
        } = exchange;
        let sifs = self.spans.sifs;
        let data_and_answer = mode.ppdu_duration(psdu_len_b) + self.answer_span(&exchange);
        let bss = &self.config.bss;
        let config = &self.config.stations[index];
        if config.sends_rts(psdu_len_b) {
            let control = bss.control_response(&mode);
            let receiver = self.stations[index].contenders[contender].flows[flow].to;
            let ppdu = self.ppdu(at, index, Some(receiver), Kind::Rts, control, RTS_LEN_B);
            let nav = ppdu.end + sifs + bss.cts_duration(&mode) + sifs + data_and_answer;
            return self.transmit(ppdu, nav, Some(contender));
        }
        if config.protection == Protection::CtsToSelf {
            let control = cts_to_self_mode(bss, &mode);
            let ppdu = self.ppdu(at, index, None, Kind::CtsToSelf, control, CTS_LEN_B);
            return self.transmit(ppdu, ppdu.end + sifs + data_and_answer, Some(contender));
        }
        self.send_payload(at, index, Some(contender))
    }

    /// Sends the payload of the exchange in progress.
    fn send_payload(&mut self, at: Nanos, index: usize, contender: Option<usize>) -> Event {
        let station = &mut self.stations[index];
        let Some(exchange) = &mut station.exchange else {
            return Event::Elapsed { at };
        };
        let Payload::Data { mpdus, .. } = exchange.kind else {
            return Event::Elapsed { at };
        };
        exchange.payload_sent = true;
        let exchange = *exchange;
        let receiver = station.contenders[exchange.contender].flows[exchange.flow].to;
        let kind = Kind::Data { mpdus };
        let ppdu = self.ppdu(
            at,
            index,
            Some(receiver),
            kind,
            exchange.mode,
            exchange.psdu_len_b,
        );
        let nav = ppdu.end + self.answer_span(&exchange) + self.next_fragment_span(index, &exchange);
        self.transmit(ppdu, nav, contender)
    }

    /// Duration of the SIFS and the answer to the payload of an exchange.
    fn answer_span(&self, exchange: &Exchange) -> Nanos {
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
                self.send_payload(at, station, None)
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

/// Time that an RTS and its CTS, or a CTS-to-self, may take before a PPDU.
fn guard_duration(station: &StationConfig, bss: &Bss, mode: &Mode) -> Nanos {
    let sifs = bss.sifs();
    if station.protection == Protection::RtsCts || station.rts_threshold_b.is_some() {
        bss.rts_duration(mode) + sifs + bss.cts_duration(mode) + sifs
    } else if station.protection == Protection::CtsToSelf {
        cts_to_self_mode(bss, mode).ppdu_duration(CTS_LEN_B) + sifs
    } else {
        Nanos::ZERO
    }
}

/// Mode of the CTS-to-self before a PPDU of this mode (10.27.2).
fn cts_to_self_mode(bss: &Bss, mode: &Mode) -> Mode {
    bss.erp_protection_mode()
        .unwrap_or_else(|| bss.control_response(mode))
}
