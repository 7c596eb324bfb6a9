//! The end of a PPDU: the receiver decodes the PPDU and may answer it.

use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

use super::flow::Receipt;
use super::station::Exchange;
use super::{Action, Event, Kind, Medium, OnAir, Ppdu};
use crate::Nanos;
use crate::channel::Channel;

impl<F> Medium<F> {
    pub(super) fn end_ppdu(&mut self, at_index: usize) -> Event {
        let air = self.on_air.swap_remove(at_index);
        let ppdu = air.ppdu;
        let readable = self.take_off_air(&air);
        self.count_airtime(&ppdu);
        let received = match ppdu.kind {
            Kind::Data { .. } if ppdu.receiver.is_none() => {
                self.end_group_data(&ppdu);
                readable
            }
            Kind::Data { .. } => self.end_data(&air, readable),
            Kind::Rts => self.end_rts(&air, readable),
            Kind::Cts => self.end_cts(&ppdu, readable),
            Kind::CtsToSelf => {
                let sender = ppdu.sender;
                let next = ppdu.end + self.spans.sifs;
                self.actions.push((next, Action::Continue { station: sender }));
                readable
            }
            Kind::Ack | Kind::BlockAck => {
                let received = readable && self.survives(&ppdu);
                if let Some(to) = ppdu.receiver {
                    self.settle(ppdu.end, to, received);
                }
                received
            }
            Kind::Beacon => {
                self.end_beacon(&ppdu);
                readable
            }
        };
        Event::PpduEnd { ppdu, received }
    }

    fn end_beacon(&mut self, ppdu: &Ppdu) {
        self.stations[ppdu.sender].exchange = None;
        self.reschedule(ppdu.sender);
    }

    /// The receiver of an RTS answers if its NAV has ended (10.3.2.9).
    fn end_rts(&mut self, air: &OnAir, readable: bool) -> bool {
        let Ppdu {
            sender,
            receiver,
            mode,
            end,
            ..
        } = air.ppdu;
        let received = readable && self.survives(&air.ppdu);
        match receiver {
            Some(station) if received && self.stations[station].nav.end() <= end => {
                let answer = Action::Answer {
                    station,
                    to: sender,
                    kind: Kind::Cts,
                    mode: self.config.bss.control_response(&mode),
                    nav_until: air.nav_until,
                };
                self.actions.push((end + self.spans.sifs, answer));
            }
            _ => self.time_out(&air.ppdu, readable),
        }
        received
    }

    fn end_cts(&mut self, ppdu: &Ppdu, readable: bool) -> bool {
        let received = readable && self.survives(ppdu);
        if let Some(station) = ppdu.receiver {
            if received {
                let next = ppdu.end + self.spans.sifs;
                self.actions.push((next, Action::Continue { station }));
            } else {
                self.settle(ppdu.end, station, false);
            }
        }
        received
    }

    /// The receiver keeps the MPDUs of a data PPDU that it could decode, and answers if there are any.
    fn end_data(&mut self, air: &OnAir, readable: bool) -> bool {
        let ppdu = &air.ppdu;
        let (Some(exchange), Some(station)) = (self.stations[ppdu.sender].exchange, ppdu.receiver) else {
            return false;
        };
        let received = readable && self.header_survives(ppdu) && self.receive(ppdu, &exchange);
        if received {
            self.answer_data(air, station, &exchange);
            return true;
        }
        if readable {
            // A frame with a wrong FCS starts EIFS: 10.3.2.3.7.
            self.stations[station].eifs = true;
            self.reschedule(station);
        }
        self.time_out(ppdu, readable);
        false
    }

    /// Each station that could decode a group-addressed frame keeps it. No station answers, so the exchange
    /// ends.
    fn end_group_data(&mut self, ppdu: &Ppdu) {
        let sender = ppdu.sender;
        let Some(Exchange { contender, flow, .. }) = self.stations[sender].exchange else {
            return;
        };
        let mut receivers = std::mem::take(&mut self.group_receivers);
        let collided = receivers.is_empty() && !self.heard_by[sender].is_empty();
        let fragmentation = self.config.stations[sender].fragmentation(None);
        let window = &mut self.stations[sender].contenders[contender].flows[flow].window;
        let slot = window.iter().position(|slot| slot.on_air);
        let len_b = slot.map_or(0, |slot| window[slot].next_mpdu(&fragmentation).0);
        receivers.retain(|&station| {
            let received = self.survives_at(ppdu, station, len_b);
            if !received {
                // A frame with a wrong FCS starts EIFS: 10.3.2.3.7.
                self.stations[station].eifs = true;
                self.reschedule(station);
            }
            received
        });
        let window = &mut self.stations[sender].contenders[contender].flows[flow].window;
        let counters = &mut self.counters.stations[sender];
        if let Some(slot) = slot.map(|slot| &mut window[slot]) {
            slot.fragment_received = true;
            slot.receipt = Receipt::Taken;
            if !receivers.is_empty() {
                slot.receipt = Receipt::Ready;
                self.fresh = Some((sender, contender, flow));
                counters.mpdus += 1;
                counters.octets += len_b as u64;
                counters.msdus += 1;
            } else if collided {
                counters.collisions += 1;
            } else {
                counters.losses += 1;
            }
        }
        self.group_receivers = receivers;
        self.settle(ppdu.end, sender, true);
    }

    /// A station will answer a data PPDU with an Ack or a `BlockAck`.
    fn answer_data(&mut self, air: &OnAir, station: usize, exchange: &Exchange) {
        let ppdu = &air.ppdu;
        let kind = match ppdu.kind {
            Kind::Data { mpdus: 1 } => Kind::Ack,
            _ => Kind::BlockAck,
        };
        // The Ack of a fragment extends the reservation as the fragment did (9.3.1.4).
        let nav_until = match self.next_fragment_span(ppdu.sender, exchange) {
            Nanos::ZERO => Nanos::ZERO,
            _ => air.nav_until,
        };
        let answer = Action::Answer {
            station,
            to: ppdu.sender,
            kind,
            mode: self.config.bss.control_response(&ppdu.mode),
            nav_until,
        };
        self.actions.push((ppdu.end + self.spans.sifs, answer));
    }

    /// No station answers this PPDU: its sender times out.
    fn time_out(&mut self, ppdu: &Ppdu, readable: bool) {
        if !readable {
            self.counters.stations[ppdu.sender].collisions += 1;
        }
        let station = ppdu.sender;
        if self.config.eifs {
            let timeout = self.config.bss.ack_timeout(&ppdu.mode);
            self.actions
                .push((ppdu.end + timeout, Action::Timeout { station }));
        } else {
            self.settle(ppdu.end, station, false);
        }
    }

    /// Draws which MPDUs on the air arrive. Returns whether any MPDU arrived.
    fn receive(&mut self, ppdu: &Ppdu, exchange: &Exchange) -> bool {
        let Self {
            config,
            stations,
            losses,
            counters,
            ..
        } = self;
        let fragmentation = config.stations[ppdu.sender].fragmentation(exchange.to);
        let flow = &mut stations[ppdu.sender].contenders[exchange.contender].flows[exchange.flow];
        let counters = &mut counters.stations[ppdu.sender];
        let mut chances = config
            .channel
            .as_ref()
            .zip(ppdu.receiver)
            .map(|(channel, to)| Chances {
                channel,
                ppdu,
                to,
                last: None,
            });
        let mut any = false;
        for slot in flow.window.iter_mut().filter(|slot| slot.on_air) {
            let (len_b, last) = slot.next_mpdu(&fragmentation);
            if let Some(chances) = &mut chances
                && !happens(losses, chances.of_mpdu(len_b))
            {
                counters.losses += 1;
                continue;
            }
            any = true;
            if slot.arrived() || slot.fragment_received {
                continue; // a duplicate: its Ack was lost
            }
            slot.fragment_received = true;
            counters.mpdus += 1;
            counters.octets += len_b as u64;
            if last {
                slot.receipt = Receipt::Held;
                counters.msdus += slot.msdus() as u64;
            }
        }
        if any && flow.settle_order() {
            self.fresh = Some((ppdu.sender, exchange.contender, exchange.flow));
        }
        any
    }

    /// Whether the receiver decodes the PHY header of a PPDU.
    fn header_survives(&mut self, ppdu: &Ppdu) -> bool {
        let (Some(channel), Some(to)) = (&self.config.channel, ppdu.receiver) else {
            return true;
        };
        let success = channel.header_success(ppdu.sender, to, &ppdu.mode, ppdu.start);
        happens(&mut self.losses, success)
    }

    /// Whether a control frame arrives that did not collide.
    fn survives(&mut self, ppdu: &Ppdu) -> bool {
        ppdu.receiver
            .is_none_or(|to| self.survives_at(ppdu, to, ppdu.psdu_len_b))
    }

    /// Whether a single MPDU that did not collide arrives at a station.
    fn survives_at(&mut self, ppdu: &Ppdu, to: usize, len_b: usize) -> bool {
        let &Ppdu {
            sender, mode, start, ..
        } = ppdu;
        let Some(channel) = &self.config.channel else {
            return true;
        };
        let success = channel.header_success(sender, to, &mode, start)
            * channel.mpdu_success(sender, to, &mode, start, len_b);
        happens(&mut self.losses, success)
    }
}

/// The probabilities that the MPDUs of a PPDU arrive.
struct Chances<'c> {
    channel: &'c Channel,
    ppdu: &'c Ppdu,
    to: usize,
    /// The last length and its probability, because most MPDUs of a PPDU are equally long.
    last: Option<(usize, f64)>,
}

impl Chances<'_> {
    fn of_mpdu(&mut self, len_b: usize) -> f64 {
        let Ppdu {
            sender, mode, start, ..
        } = self.ppdu;
        let success = match self.last {
            Some((last_len_b, success)) if last_len_b == len_b => success,
            _ => self.channel.mpdu_success(*sender, self.to, mode, *start, len_b),
        };
        self.last = Some((len_b, success));
        success
    }
}

/// Returns true with the given probability.
fn happens(rng: &mut Pcg32, probability: f64) -> bool {
    (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0 < probability
}
