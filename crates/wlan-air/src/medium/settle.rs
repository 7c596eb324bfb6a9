//! The end of an exchange: its MPDUs are acknowledged, retransmitted or dropped, and the station continues or
//! draws a backoff.

use super::flow::Receipt;
use super::station::{Exchange, Payload};
use super::{Action, Gone, Medium, Outcome};
use crate::Nanos;
use crate::rate::Report;

impl<F> Medium<F> {
    /// Ends an exchange of `index`, or continues it; `answered` tells whether the answer arrived.
    pub(super) fn settle(&mut self, at: Nanos, index: usize, answered: bool) {
        let Some(exchange) = self.stations[index].exchange else {
            return;
        };
        self.settle_mpdus(index, &exchange, answered);
        let contender = &mut self.stations[index].contenders[exchange.contender];
        if answered {
            contender.succeed();
        } else {
            contender.fail();
        }
        if answered && self.goes_on(at, index, &exchange) {
            return;
        }
        let station = &mut self.stations[index];
        station.exchange = None;
        station.idle_from = station.idle_from.max(at);
        // A backoff follows each transmission, even if no MPDU waits (10.3.4.3, 10.23.2.2).
        station.contenders[exchange.contender].draw(&mut self.backoffs);
        self.reschedule(index);
    }

    /// Settles the MPDUs of an exchange. After an unanswered RTS the MPDUs were not sent, but the exchange
    /// counts towards their retry limit (10.3.4.4).
    fn settle_mpdus(&mut self, index: usize, exchange: &Exchange, answered: bool) {
        let &Exchange {
            contender,
            flow: at_flow,
            kind,
            payload_sent,
            ..
        } = exchange;
        let Payload::Data { choice, .. } = kind else {
            return;
        };
        let config = &self.config.stations[index];
        let sender = &mut self.stations[index].contenders[contender];
        let flow = &mut sender.flows[at_flow];
        let counters = &mut self.counters.stations[index];
        let threshold_b = config.threshold_b();
        let (mut sent, mut acked, mut given_up, mut at) = (0_u32, 0_u32, 0, 0);
        while at < flow.window.len() {
            let slot = &mut flow.window[at];
            at += 1;
            let was_on_air = std::mem::take(&mut slot.on_air);
            if was_on_air && payload_sent {
                sent += 1;
                counters.retries += u64::from(slot.sent > 0);
                slot.sent = slot.sent.saturating_add(1);
            }
            if slot.acked || !was_on_air {
                continue;
            }
            if answered && slot.fragment_received {
                acked += 1;
                let (_, last) = slot.next_mpdu(&config.framing, threshold_b);
                if last {
                    slot.acked = true;
                    sender.backlog -= slot.msdus();
                } else {
                    slot.fragments_done += 1;
                    slot.fragment_received = false;
                    slot.retries = 0;
                    slot.sent = 0;
                }
                continue;
            }
            slot.retries += 1;
            if slot.retries < sender.access.retry_limit {
                continue;
            }
            given_up += 1;
            sender.backlog -= slot.msdus();
            counters.drops_retry += slot.msdus() as u64;
            if matches!(slot.receipt, Receipt::Held | Receipt::Ready) {
                // The MPDU did arrive, so the receiver delivers it in order (10.25.6).
                slot.acked = true;
                slot.given_up = true;
                continue;
            }
            at -= 1;
            let slot = flow.window.remove(at).expect("the index is in the window");
            flow.dissolve(slot, |frame| {
                self.gone.push(Gone {
                    station: index,
                    frame,
                    outcome: Outcome::Retries,
                });
            });
        }
        if payload_sent {
            let retried = !answered && given_up == 0;
            flow.rate
                .report(self.now, &choice, Report { sent, acked, retried });
        }
        if given_up > 0 && flow.settle_order() {
            self.fresh = Some((index, contender, at_flow));
        }
        self.reap(index, contender, at_flow);
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
            flow.dissolve(slot, |frame| {
                self.gone.push(Gone {
                    station: index,
                    frame,
                    outcome,
                });
            });
        }
    }

    /// After an answered exchange, the station may continue after a SIFS with the next fragment or with an
    /// exchange that fits the TXOP limit. Returns whether it continues.
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

#[cfg(test)]
mod tests {
    use crate::channel::{Channel, ChannelConfig, ErrorModel, Fading, PerPair, Snr};
    use crate::phy::{Band, Bss, GuardInterval, Mode};
    use crate::queue::Packet;
    use crate::{Medium, MediumConfig, Nanos, Outcome, Route, StationConfig};

    /// 10.23.2.2: the contention window follows the exchanges. Dropping one MPDU of an A-MPDU does not reset
    /// the count of consecutive failures; the retry limit does.
    #[test]
    fn the_contention_window_starts_afresh_at_the_retry_limit_of_the_exchange() {
        let mode = Mode::ht(7, 20, GuardInterval::Long, Band::Ghz5).unwrap();
        let mut config = MediumConfig::new(Bss::ht(Band::Ghz5), &StationConfig::new(mode, 0), 2, 1);
        let nothing_arrives = ChannelConfig {
            stations: 2,
            snr: Snr::Db(PerPair::Same(-20.0)),
            fading: Fading::None,
            error_model: ErrorModel::Nist,
            seed: 1,
        };
        config.channel = Some(Channel::new(&nothing_arrives).unwrap());
        let mut medium = Medium::new(config).unwrap();
        for frame in 0..8 {
            let route = Route {
                from: 0,
                to: 1,
                contender: 0,
            };
            let msdu = Packet {
                arrival: Nanos::ZERO,
                len_b: 1000,
                flow: 0,
                frame,
            };
            medium.enqueue(route, msdu);
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
                        .take_gone()
                        .filter(|gone| gone.outcome == Outcome::Retries)
                        .count(),
                );
            }
        }
        assert_eq!(windows, [15, 31, 63, 127, 255, 511, 1023, 15]);
        assert_eq!(given_up, [0, 0, 0, 1, 0, 0, 0, 7]);
    }
}
