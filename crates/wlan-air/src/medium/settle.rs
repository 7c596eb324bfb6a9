//! The end of an exchange: its MPDUs are acknowledged, retransmitted or dropped, and the station continues or
//! draws a backoff.

use super::exchange::Txop;
use super::flow::{ExchangeEnd, Receipt};
use super::station::{Exchange, Payload};
use super::{Action, Completion, Medium, Outcome};
use crate::Nanos;
use crate::rate::Report;

impl<F> Medium<F> {
    /// Ends an exchange of `index`, or continues it; `answered` tells whether the answer arrived.
    pub(super) fn settle(&mut self, at: Nanos, index: usize, answered: bool) {
        let Some(exchange) = self.stations[index].exchange else {
            return;
        };
        let dropped = self.settle_mpdus(index, &exchange, answered);
        let ends_chain = dropped && self.driver_of(index).is_some();
        let contender = &mut self.stations[index].contenders[exchange.contender];
        if answered || ends_chain {
            contender.succeed();
        } else {
            contender.fail();
        }
        if answered && self.continue_txop(at, index, &exchange) {
            return;
        }
        let station = &mut self.stations[index];
        station.exchange = None;
        station.idle_from = station.idle_from.max(at);
        // A backoff follows each transmission, even if no MPDU waits (10.3.4.3, 10.23.2.2).
        station.contenders[exchange.contender].draw(&mut self.backoffs);
        self.reschedule(index);
    }

    /// Settles the MPDUs of an exchange. Returns whether an MPDU was dropped.
    fn settle_mpdus(&mut self, index: usize, exchange: &Exchange, answered: bool) -> bool {
        let Payload::Data { choice, .. } = exchange.kind else {
            return false;
        };
        let driver = self.driver_of(index);
        let contender = &mut self.stations[index].contenders[exchange.contender];
        let flow = &mut contender.flows[exchange.flow];
        let end = ExchangeEnd {
            payload_sent: exchange.payload_sent,
            answered,
            retry_limit: contender.access.retry_limit,
            driver,
            fragmentation: self.config.stations[index].fragmentation(exchange.to),
        };
        let tally = flow.settle(&end, |frame, transmissions| {
            self.completions.push(Completion {
                station: index,
                frame,
                outcome: Outcome::Retries,
                transmissions,
            });
        });
        contender.backlog -= tally.msdus_acked + tally.msdus_dropped;
        let counters = &mut self.counters.stations[index];
        counters.retries += u64::from(tally.resent);
        counters.drops_retry += tally.msdus_dropped as u64;
        let dropped = tally.msdus_dropped > 0;
        if let Some(rate) = &mut flow.rate
            && exchange.payload_sent
        {
            let report = Report {
                sent: tally.sent,
                acked: tally.acked,
                retried: !answered && !dropped,
            };
            rate.report(self.now, &choice, report);
        }
        if dropped && flow.settle_order() {
            self.fresh = Some((index, exchange.contender, exchange.flow));
        }
        self.reap(index, exchange.contender, exchange.flow);
        dropped
    }

    /// Removes the MPDUs that are settled at both ends.
    pub(super) fn reap(&mut self, index: usize, contender: usize, flow: usize) {
        let flow = &mut self.stations[index].contenders[contender].flows[flow];
        while flow
            .window
            .front()
            .is_some_and(|slot| slot.acked && slot.receipt == Receipt::Taken)
        {
            let slot = flow.window.pop_front().expect("the window is not empty");
            let outcome = if slot.given_up {
                Outcome::Retries
            } else {
                Outcome::Sent
            };
            flow.dissolve(slot, |frame, transmissions| {
                self.completions.push(Completion {
                    station: index,
                    frame,
                    outcome,
                    transmissions,
                });
            });
        }
    }

    /// After an answered exchange, the station may continue after a SIFS with the next fragment or with an
    /// exchange that fits the TXOP limit. Returns whether it continues.
    fn continue_txop(&mut self, at: Nanos, index: usize, exchange: &Exchange) -> bool {
        let contender = &self.stations[index].contenders[exchange.contender];
        let in_fragments = contender.flows[exchange.flow]
            .window
            .iter()
            .any(|slot| slot.fragments_done > 0 && !slot.acked);
        let has_more = exchange.txop_end.is_some() && contender.backlog > 0;
        if !in_fragments && !has_more {
            return false;
        }
        let txop = Txop {
            station: index,
            contender: exchange.contender,
            exchange_start: at + self.spans.sifs,
            end: exchange.txop_end,
            only_flow: in_fragments.then_some(exchange.flow),
        };
        let Some(next) = self.prepare(&txop) else {
            return false;
        };
        self.stations[index].exchange = Some(next);
        self.actions
            .push((txop.exchange_start, Action::Continue { station: index }));
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::channel::{Channel, ChannelConfig, ErrorModel, Fading, PerPair, Snr};
    use crate::phy::{Band, Bss, GuardInterval, Mode};
    use crate::queue::Packet;
    use crate::{
        Medium, MediumConfig, Nanos, Outcome, Protection, RateControl, Route, StationConfig, TxRequest,
    };

    const ROUTE: Route = Route {
        from: 0,
        to: Some(1),
        contender: 0,
    };

    fn mode() -> Mode {
        Mode::ht(7, 20, GuardInterval::Long, Band::Ghz5).unwrap()
    }

    fn msdu(frame: u8) -> Packet<u8> {
        Packet {
            arrival: Nanos::ZERO,
            len_b: 1000,
            flow: 0,
            frame,
        }
    }

    /// Two stations whose frames never arrive.
    fn lost() -> MediumConfig {
        let station = StationConfig::new(mode(), 0);
        let mut config = MediumConfig::new(Bss::ht(Band::Ghz5), &station, 2, 1);
        let nothing_arrives = ChannelConfig {
            stations: 2,
            snr: Snr::Db(PerPair::Same(-20.0)),
            fading: Fading::None,
            error_model: ErrorModel::Nist,
            seed: 1,
        };
        config.channel = Some(Channel::new(&nothing_arrives).unwrap());
        config
    }

    /// 10.23.2.2: the contention window follows the exchanges. Dropping one MPDU of an A-MPDU does not reset
    /// the count of consecutive failures; the retry limit does.
    #[test]
    fn the_contention_window_is_reset_at_the_retry_limit() {
        let mut medium = Medium::new(lost()).unwrap();
        for frame in 0..8 {
            medium.enqueue(ROUTE, msdu(frame));
        }
        let (mut windows, mut given_up) = (Vec::new(), Vec::new());
        while medium.advance().is_some() {
            // The first MPDU was also sent in earlier exchanges, in which other MPDUs arrived.
            let contender = &mut medium.stations[0].contenders[0];
            if let Some(slot) = contender.flows[0].window.front_mut()
                && slot.msdu.frame == 0
                && slot.retries < 4
            {
                slot.retries = 4;
            }
            let cw = contender.cw;
            if windows.last() != Some(&cw) {
                windows.push(cw);
                medium.deliver().for_each(drop);
                given_up.push(
                    medium
                        .take_completions()
                        .filter(|completion| completion.outcome == Outcome::Retries)
                        .count(),
                );
            }
        }
        assert_eq!(windows, [15, 31, 63, 127, 255, 511, 1023, 15]);
        assert_eq!(given_up, [0, 0, 0, 1, 0, 0, 0, 7]);
    }

    /// The contention window doubles with each transmission of a driver's chain, and its end resets it.
    #[test]
    fn the_end_of_a_chain_resets_the_contention_window() {
        let mut config = lost();
        config.stations[0].rate = RateControl::Driver;
        let request = |frame: &u8, transmissions| {
            (transmissions < *frame).then_some(TxRequest {
                mode: mode(),
                protection: Protection::None,
                aggregable: false,
            })
        };
        let mut medium = Medium::with_driver(config, request).unwrap();
        for frame in [3, 1, 9] {
            medium.enqueue(ROUTE, msdu(frame));
        }
        let mut windows = Vec::new();
        let mut transmissions = Vec::new();
        while medium.advance().is_some() {
            let cw = medium.stations[0].contenders[0].cw;
            if windows.last() != Some(&cw) {
                windows.push(cw);
            }
            let completions = medium.take_completions();
            transmissions.extend(completions.map(|completion| completion.transmissions));
        }
        // The chain of one transmission leaves the window at 15.
        assert_eq!(windows, [15, 31, 63, 15, 31, 63, 127, 255, 511, 1023, 15]);
        assert_eq!(transmissions, [3, 1, 9]);
    }
}
