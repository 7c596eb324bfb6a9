//! Counters of the medium.

use super::{Kind, Medium, Ppdu};
use crate::Nanos;

/// The counters of one station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationCounters {
    /// TXOPs: the number of times that the station won the medium for data.
    pub txops: u64,
    /// Data PPDUs and RTSs without an answer because another PPDU overlapped them at the receiver, and
    /// group-addressed PPDUs that no station received for this reason.
    pub collisions: u64,
    /// MSDUs accepted by [`crate::Medium::enqueue`].
    pub enqueued: u64,
    /// MSDUs received, without duplicates. A group-addressed MSDU counts once if at least one station received
    /// it; the same applies to MPDUs and octets.
    pub msdus: u64,
    /// MPDUs received, without duplicates.
    pub mpdus: u64,
    /// Octets of the received MPDUs, including headers and security.
    pub octets: u64,
    /// MPDUs lost without a collision.
    pub losses: u64,
    /// Retransmitted MPDUs.
    pub retries: u64,
    /// MSDUs that the queue dropped, when full or by its discipline.
    pub drops_queue: u64,
    /// MSDUs dropped at the retry limit or after the last transmission that their driver requested.
    pub drops_retry: u64,
}

/// Usage of the medium's time. The remainder is interframe spaces, backoff and idle time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Airtime {
    /// PHY preambles and headers of data PPDUs.
    pub preamble: Nanos,
    /// Symbols of data PPDUs.
    pub payload: Nanos,
    /// Ack and `BlockAck`.
    pub ack: Nanos,
    /// RTS and CTS.
    pub control: Nanos,
    /// Beacons of [`MediumConfig::beacons`](crate::MediumConfig::beacons). Beacons that a driver sends count as
    /// data.
    pub beacon: Nanos,
    /// Busy periods in which two PPDUs overlapped.
    pub collision: Nanos,
    /// SIFS within exchanges.
    pub sifs: Nanos,
}

impl Airtime {
    /// The total busy time of the medium.
    #[must_use]
    pub fn busy(&self) -> Nanos {
        self.preamble + self.payload + self.ack + self.control + self.beacon + self.collision + self.sifs
    }

    /// The difference to an earlier state.
    #[must_use]
    pub fn since(&self, before: &Airtime) -> Airtime {
        Airtime {
            preamble: self.preamble - before.preamble,
            payload: self.payload - before.payload,
            ack: self.ack - before.ack,
            control: self.control - before.control,
            beacon: self.beacon - before.beacon,
            collision: self.collision - before.collision,
            sifs: self.sifs - before.sifs,
        }
    }
}

/// The counters of a medium since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Busy periods; a collision counts as one.
    pub transmissions: u64,
    /// Busy periods in which PPDUs overlapped.
    pub collisions: u64,
    /// Usage of the medium's time.
    pub airtime: Airtime,
    /// Counters of each station.
    pub stations: Vec<StationCounters>,
}

impl<F> Medium<F> {
    /// Counts the SIFS that ends now, after which an exchange continues. If another PPDU overlapped the SIFS,
    /// only the PPDU counts.
    pub(super) fn count_sifs(&mut self, at: Nanos) {
        if self.on_air.is_empty() {
            self.counters.airtime.sifs += self.spans.sifs.min(at - self.silent_from);
        }
    }

    pub(super) fn count_airtime(&mut self, ppdu: &Ppdu) {
        if self.on_air.is_empty() {
            self.silent_from = ppdu.end;
        }
        if self.overlap {
            if self.on_air.is_empty() {
                self.counters.airtime.collision += ppdu.end - self.taken_at;
                self.counters.collisions += 1;
                self.overlap = false;
            }
            return;
        }
        let airtime = &mut self.counters.airtime;
        let span = ppdu.end - ppdu.start;
        match ppdu.kind {
            Kind::Data { .. } => {
                airtime.preamble += ppdu.mode.preamble();
                airtime.payload += span - ppdu.mode.preamble();
            }
            Kind::Ack | Kind::BlockAck => airtime.ack += span,
            Kind::Beacon => airtime.beacon += span,
            Kind::Rts | Kind::Cts | Kind::CtsToSelf => airtime.control += span,
        }
    }
}
