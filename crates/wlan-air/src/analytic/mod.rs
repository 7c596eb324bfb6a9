//! Closed forms: what a medium must give in the cases that can be solved.
//!
//! - [`saturated_single_station`]: one station that always has a frame to send; exact.
//! - [`saturated_stations`]: several of them, by Bianchi's fixed point; the mean field leaves a few thousandths.
//! - [`idle_round_trip`], [`closed_loop_round_trip`]: a request and its response; exact.
//! - [`full_psdu`]: what a saturated station sends in one PPDU; with [`StationConfig::sends_rts`](crate::StationConfig::sends_rts)
//!   it tells which [`Exchange`] that is.
//! - [`security_cost`]: what the octets of a cipher suite take from any of them.
//!
//! Equal arguments give equal results on every platform: nothing but + - * / is used.

mod contention;
mod round_trip;
mod single_station;

pub use contention::{Contended, Contention, ContentionModel, Exchange, saturated_stations};
pub use round_trip::{RoundTrip, closed_loop_round_trip, idle_round_trip};
pub use single_station::{Saturated, saturated_single_station};

use crate::access::Psdu;
use crate::phy::{Bss, Mode};
use crate::{Access, Aggregation, Nanos};

/// Share of its MPDUs that a link loses to `security_b` octets more in each, 0 to 1. Every MPDU carries the same
/// payload, so that is the share of the goodput, too.
///
/// `mpdus_per_s` is any model here, of the length of an MPDU: the cost is a step function of it, for octets
/// come in whole OFDM symbols (17.3.5.4).
#[must_use]
pub fn security_cost(mpdus_per_s: impl Fn(usize) -> f64, open_mpdu_len_b: usize, security_b: usize) -> f64 {
    1.0 - mpdus_per_s(open_mpdu_len_b + security_b) / mpdus_per_s(open_mpdu_len_b)
}

/// The spans that every model here is made of.
struct Timing {
    slot: Nanos,
    sifs: Nanos,
    /// DIFS or AIFS.
    ifs: Nanos,
    ack: Nanos,
    block_ack: Nanos,
    rts: Nanos,
    cts: Nanos,
    /// From the end of its PPDU to when a station gives up waiting for the answer.
    answer_timeout: Nanos,
    eifs_less_difs: Nanos,
}

impl Timing {
    fn new(bss: &Bss, mode: &Mode, access: &Access) -> Timing {
        Timing {
            slot: bss.slot(),
            sifs: bss.sifs(),
            ifs: access.ifs(bss),
            ack: bss.ack_duration(mode),
            block_ack: bss.block_ack_duration(mode),
            rts: bss.rts_duration(mode),
            cts: bss.cts_duration(mode),
            answer_timeout: bss.ack_timeout(mode),
            eifs_less_difs: bss.eifs_less_difs(),
        }
    }

    /// What answers a PPDU of so many MPDUs.
    fn answer(&self, mpdus: usize) -> Nanos {
        if mpdus == 1 { self.ack } else { self.block_ack }
    }

    /// Mean backoff of a first transmission: CWmin / 2 slots (10.3.4.2).
    fn mean_backoff_us(&self, access: &Access) -> f64 {
        self.slot.as_us_f64() * f64::from(access.cw_min) / 2.0
    }
}

/// MPDUs of `mpdu_len_b` octets that go in one PPDU when always enough wait, and octets of its PSDU.
#[must_use]
pub fn full_psdu(aggregation: &Aggregation, mode: &Mode, mpdu_len_b: usize) -> (usize, usize) {
    let mut psdu = Psdu::new(aggregation, mode, Nanos::MAX);
    while !psdu.is_full() && psdu.join(mpdu_len_b) {}
    (psdu.mpdus(), psdu.len_b())
}
