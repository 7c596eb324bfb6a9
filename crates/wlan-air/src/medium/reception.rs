//! PPDUs at the stations that hear them: carrier sense, overlap, NAV, EIFS.

use super::{Kind, Medium, OnAir, Ppdu, Spans};
use crate::Nanos;
use crate::phy::Mode;

impl<F> Medium<F> {
    /// Starts a PPDU now. `contender` is the sender's contender for the PPDU; none for an answer.
    pub(super) fn put_on_air(&mut self, ppdu: Ppdu, nav_until: Nanos, contender: Option<usize>) {
        let id = self.next_id;
        self.next_id += 1;
        if self.on_air.is_empty() {
            self.taken_at = ppdu.start;
        } else {
            self.overlap = true;
        }
        self.on_air.push(OnAir { id, ppdu, nav_until });
        self.send(ppdu.sender, contender);
        for at in 0..self.heard_by[ppdu.sender].len() {
            let listener = self.heard_by[ppdu.sender][at];
            self.hear(listener, id, ppdu.start);
        }
    }

    /// A station starts to transmit: it hears nothing meanwhile, and its other countdowns stop.
    fn send(&mut self, index: usize, contender: Option<usize>) {
        let Spans { slot, cca, eifs, .. } = self.spans;
        let now = self.now;
        let station = &mut self.stations[index];
        // Its own exchange stopped the countdowns when it started.
        let counting = station.heard == 0 && (contender.is_some() || station.exchange.is_none());
        let from = station.access_from(eifs);
        station.transmitting = true;
        station.receiving = None;
        for (at, other) in station.contenders.iter_mut().enumerate() {
            if other.committed.take().is_some() && Some(at) != contender {
                other.draw(&mut self.backoffs);
            } else if counting && Some(at) != contender {
                other.freeze(from, slot, now, cca, &mut self.backoffs);
            }
        }
        self.reschedule(index);
    }

    /// A station hears the start of a PPDU.
    fn hear(&mut self, index: usize, id: u64, at: Nanos) {
        let Spans { slot, cca, eifs, .. } = self.spans;
        let station = &mut self.stations[index];
        let counting = station.is_free();
        let from = station.access_from(eifs);
        if station.heard == 0 {
            station.nav.sense(at);
            station.busy_from = at;
        }
        station.heard += 1;
        if station.transmitting {
            return;
        }
        if station.heard == 1 {
            station.receiving = Some(id);
            station.garbled = false;
        } else {
            station.garbled = true;
        }
        if counting {
            let mut next = Nanos::MAX;
            for contender in &mut station.contenders {
                match contender.start(from, slot) {
                    Some(start) if start < at + cca => {
                        contender.committed = Some(start);
                        next = next.min(start);
                    }
                    _ => contender.freeze(from, slot, at, cca, &mut self.backoffs),
                }
            }
            station.stale = false;
            self.starts[index] = next;
        }
    }

    /// Ends a PPDU. Stations that could decode it set their NAV, other stations wait for EIFS. Returns
    /// whether its receiver could decode it; for a group-addressed PPDU, whether every listener could.
    pub(super) fn take_off_air(&mut self, air: &OnAir) -> bool {
        let Ppdu {
            sender,
            receiver,
            kind,
            mode,
            end,
            ..
        } = air.ppdu;
        let station = &mut self.stations[sender];
        station.transmitting = false;
        if station.heard == 0 {
            station.idle_from = end;
            station.eifs = false;
        }
        let reset_at = (kind == Kind::Rts).then(|| self.rts_reset(end, &mode));
        // A receiver that does not hear the sender does not receive the PPDU.
        let mut received = receiver.is_none();
        let is_group_data = receiver.is_none() && matches!(kind, Kind::Data { .. });
        if is_group_data {
            self.group_receivers.clear();
        }
        for at in 0..self.heard_by[sender].len() {
            let listener = self.heard_by[sender][at];
            let readable = self.unhear(listener, air, reset_at);
            match receiver {
                None => {
                    received &= readable;
                    if readable && is_group_data {
                        self.group_receivers.push(listener);
                    }
                }
                Some(receiver) if receiver == listener => received = readable,
                Some(_) => {}
            }
        }
        self.reschedule(sender);
        received
    }

    fn unhear(&mut self, index: usize, air: &OnAir, reset_at: Option<Nanos>) -> bool {
        let end = air.ppdu.end;
        let station = &mut self.stations[index];
        station.heard -= 1;
        let received = station.receiving == Some(air.id);
        let readable = received && !station.garbled;
        if received {
            station.receiving = None;
        }
        if readable {
            station.eifs = false;
            if air.ppdu.receiver != Some(index) {
                station.nav.set(air.nav_until, reset_at);
            }
        }
        if station.heard == 0 && !station.transmitting {
            station.idle_from = end;
            station.eifs = station.garbled;
            station.garbled = false;
            if station.exchange.is_none() {
                self.fall_idle(index, end);
            }
        }
        readable
    }

    /// The time at which a station may reset a NAV that it set for an RTS if it hears nothing more
    /// (10.3.2.4).
    fn rts_reset(&self, end: Nanos, mode: &Mode) -> Nanos {
        let Spans { slot, sifs, .. } = self.spans;
        let bss = &self.config.bss;
        end + sifs * 2 + bss.cts_duration(mode) + bss.control_response(mode).preamble() + slot * 2
    }
}
