//! What follows an exchange: its MPDUs are settled, sent again or given up, and the station goes on or draws a backoff.

use super::flow::Receipt;
use super::station::{Exchange, Payload};
use super::{Action, Gone, Medium, Outcome};
use crate::Nanos;

impl<F> Medium<F> {
    /// Ends an exchange of `index`, or goes on with it: `answered` if the answer came.
    pub(super) fn settle(&mut self, at: Nanos, index: usize, answered: bool) {
        let Some(exchange) = self.stations[index].exchange else {
            return;
        };
        let given_up = self.settle_mpdus(index, &exchange, answered);
        let station = &mut self.stations[index];
        let contender = &mut station.contenders[exchange.contender];
        if answered || given_up > 0 {
            // The window starts afresh once the MPDU that it grew for is given up (10.3.3, 10.23.2.2).
            contender.cw = contender.access.cw_min;
        } else {
            contender.widen();
        }
        if answered && self.goes_on(at, index, &exchange) {
            return;
        }
        let station = &mut self.stations[index];
        station.exchange = None;
        station.idle_from = station.idle_from.max(at);
        // A backoff follows each transmission, whether or not another MPDU waits (10.3.4.3, 10.23.2.2).
        station.contenders[exchange.contender].draw(&mut self.backoffs);
        self.reschedule(index);
    }

    /// Settles the MPDUs that were on the air. How many were given up.
    fn settle_mpdus(&mut self, index: usize, exchange: &Exchange, answered: bool) -> usize {
        let &Exchange {
            contender,
            flow: at_flow,
            mode,
            kind,
            ..
        } = exchange;
        let config = &self.config.stations[index];
        let sender = &mut self.stations[index].contenders[contender];
        let flow = &mut sender.flows[at_flow];
        let counters = &mut self.counters.stations[index];
        let group = flow.to.is_none();
        let threshold_b = config.threshold_b(group);
        let asked = kind == Payload::BlockAckReq;
        let may_ask = config.aggregation.block_ack_req && matches!(kind, Payload::Data { mpdus: 2.. });
        let (mut sent, mut acked, mut given_up, mut at) = (0, 0, 0, 0);
        while at < flow.window.len() {
            let slot = &mut flow.window[at];
            at += 1;
            let was_on_air = std::mem::take(&mut slot.on_air);
            sent += usize::from(was_on_air);
            if slot.acked || !(was_on_air || asked) {
                continue;
            }
            if answered && (slot.fragment_received || group) {
                acked += usize::from(was_on_air);
                let (_, last) = slot.next_mpdu(&config.framing, threshold_b);
                if last {
                    slot.acked = true;
                    sender.backlog -= slot.msdus();
                } else {
                    slot.fragments_done += 1;
                    slot.fragment_received = false;
                    slot.retries = 0;
                }
                continue;
            }
            if asked && answered {
                continue; // it was counted when it was sent in vain
            }
            slot.retries += 1;
            if slot.retries < sender.access.retry_limit {
                counters.retries += 1;
                continue;
            }
            given_up += 1;
            sender.backlog -= slot.msdus();
            counters.drops_retry += slot.msdus() as u64;
            if matches!(slot.receipt, Receipt::Held | Receipt::Ready) {
                // It did arrive, and the receiver hands it on in its turn (10.25.6).
                slot.acked = true;
                slot.given_up = true;
                continue;
            }
            at -= 1;
            let slot = flow.window.remove(at).expect("it was just looked at");
            flow.dissolve(slot, |frame| {
                self.gone.push(Gone {
                    station: index,
                    frame,
                    outcome: Outcome::Retries,
                });
            });
        }
        // The next exchange asks for those whose fate is open.
        flow.ask = !answered && (asked || may_ask) && flow.window.iter().any(|slot| !slot.acked);
        if sent > 0 {
            flow.rate.report(&mode, sent, acked);
        }
        if given_up > 0 && flow.settle_order() {
            self.fresh = Some((index, contender, at_flow));
        }
        self.reap(index, contender, at_flow);
        given_up
    }

    /// Lets the MPDUs go that are settled at both ends.
    pub(super) fn reap(&mut self, index: usize, contender: usize, flow: usize) {
        let flow = &mut self.stations[index].contenders[contender].flows[flow];
        while flow
            .window
            .front()
            .is_some_and(|slot| slot.acked && slot.receipt == Receipt::Taken)
        {
            let slot = flow.window.pop_front().expect("there is a front");
            let outcome = if slot.given_up {
                Outcome::Retries
            } else {
                Outcome::Sent
            };
            flow.dissolve(slot, |frame| {
                self.gone.push(Gone {
                    station: index,
                    frame,
                    outcome,
                });
            });
        }
    }

    /// After an answered exchange the station may send on after a SIFS: the next fragment, or what the TXOP limit
    /// still has room for. Whether it does.
    fn goes_on(&mut self, at: Nanos, index: usize, exchange: &Exchange) -> bool {
        let &Exchange {
            contender,
            flow,
            txop_end,
            ..
        } = exchange;
        let fragments = self.stations[index].contenders[contender].flows[flow]
            .window
            .iter()
            .any(|slot| slot.fragments_done > 0 && !slot.acked);
        let more = txop_end.is_some() && self.stations[index].contenders[contender].backlog > 0;
        if !fragments && !more {
            return false;
        }
        let start = at + self.spans.sifs;
        let Some(next) = self.prepare(index, contender, start, txop_end, fragments.then_some(flow)) else {
            return false;
        };
        self.stations[index].exchange = Some(next);
        self.actions.push((start, Action::Continue { station: index }));
        true
    }
}
