//! What happened on the medium, in numbers.

use super::{Kind, Medium, Ppdu};
use crate::Nanos;

/// What one station did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationCounters {
    /// TXOPs: times that it won the medium for data.
    pub txops: u64,
    /// Data PPDUs and RTSs without an answer because another PPDU fell into them at the receiver.
    pub collisions: u64,
    /// MSDUs accepted by [`crate::Medium::enqueue`].
    pub enqueued: u64,
    /// MSDUs that arrived, doubles not counted.
    pub msdus: u64,
    /// MPDUs that arrived, doubles not counted.
    pub mpdus: u64,
    /// Octets of these MPDUs, headers and security included.
    pub octets: u64,
    /// MPDUs that did not arrive though nothing collided with them.
    pub losses: u64,
    /// MPDUs sent again.
    pub retries: u64,
    /// MSDUs dropped by the queue, full or not.
    pub drops_queue: u64,
    /// MSDUs given up at the retry limit.
    pub drops_retry: u64,
}

/// What the time of the medium went to. The rest of it is interframe spaces, backoff and silence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Airtime {
    /// PHY preambles and headers of data PPDUs.
    pub preamble: Nanos,
    /// The symbols of data PPDUs.
    pub payload: Nanos,
    /// Ack and `BlockAck`.
    pub ack: Nanos,
    /// RTS and CTS.
    pub control: Nanos,
    /// Beacons.
    pub beacon: Nanos,
    /// Times with PPDUs of which two overlapped.
    pub collision: Nanos,
    /// SIFS within exchanges.
    pub sifs: Nanos,
}

impl Airtime {
    /// The sum: time in which the medium was busy.
    #[must_use]
    pub fn busy(&self) -> Nanos {
        self.preamble + self.payload + self.ack + self.control + self.beacon + self.collision + self.sifs
    }

    /// What came after `before`.
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

/// What happened on the medium so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Times that the silent medium was taken, collisions included (a collision is one).
    pub transmissions: u64,
    /// Those in which PPDUs overlapped.
    pub collisions: u64,
    /// What the time went to.
    pub airtime: Airtime,
    /// By station.
    pub stations: Vec<StationCounters>,
}

impl<F> Medium<F> {
    /// An exchange goes on after the SIFS that ends now; where another PPDU filled it, that one counts.
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
