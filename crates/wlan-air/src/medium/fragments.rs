//! The fragments of a medium's stations (10.4).

use super::Medium;
use super::fragment::Fragment;
use super::station::Exchange;
use crate::Nanos;

impl<F> Medium<F> {
    /// The fragment that the exchange of `sender` sends, and its MSDU, from the start of the exchange until
    /// it is settled. `None` if the exchange sends whole MSDUs or `sender` has no exchange. A driver that gets
    /// a fragment builds an MPDU of this part, while [`on_air`](Medium::on_air) and
    /// [`outstanding`](Medium::outstanding) return the MSDU.
    ///
    /// # Panics
    /// If the station does not exist.
    pub fn fragment(&mut self, sender: usize) -> Option<(&mut F, Fragment)> {
        let exchange = self.stations[sender].exchange?;
        let (slot, fragment) = self.fragment_of(sender, &exchange)?;
        let flow = &mut self.stations[sender].contenders[exchange.contender].flows[exchange.flow];
        Some((&mut flow.window[slot].msdu.frame, fragment))
    }

    /// The slot on the air and its fragment.
    fn fragment_of(&self, sender: usize, exchange: &Exchange) -> Option<(usize, Fragment)> {
        let fragmentation = self.config.stations[sender].fragmentation(exchange.to);
        fragmentation.threshold_b?;
        let contender = self.stations[sender].contenders.get(exchange.contender)?;
        let flow = contender.flows.get(exchange.flow)?;
        let index = flow.window.iter().position(|slot| slot.on_air)?;
        Some((index, flow.window[index].fragment(&fragmentation)?))
    }

    /// The additional time that a fragment and its Ack reserve for the next fragment and its Ack; zero after
    /// the last fragment and without fragmentation (9.2.5.2).
    pub(super) fn next_fragment_span(&self, sender: usize, exchange: &Exchange) -> Nanos {
        let Some((
            index,
            Fragment {
                last: false, number, ..
            },
        )) = self.fragment_of(sender, exchange)
        else {
            return Nanos::ZERO;
        };
        let fragmentation = self.config.stations[sender].fragmentation(exchange.to);
        let slot = &self.stations[sender].contenders[exchange.contender].flows[exchange.flow].window[index];
        let Some(next) = fragmentation.part(slot.body_b, number + 1) else {
            return Nanos::ZERO;
        };
        let len_b = fragmentation.framing.fragment_len_b(next.len_b);
        let data = exchange.mode.ppdu_duration(len_b);
        self.spans.sifs + data + self.spans.sifs + self.config.bss.ack_duration(&exchange.mode)
    }
}
