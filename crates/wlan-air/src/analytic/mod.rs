//! Closed forms: the exact or approximate result of a medium in the solvable cases.
//!
//! - [`saturated_single_station`]: one station that always has a frame to send; exact.
//! - [`saturated_stations`]: several such stations, by Bianchi's fixed point; the mean-field error is a few
//!   thousandths.
//! - [`idle_round_trip`], [`closed_loop_round_trip`]: a request and its response; exact.
//! - [`full_psdu`]: the PSDU of a saturated station.
//!   [`StationConfig::protection_of`](crate::StationConfig::protection_of) tells which [`Protection`]
//!   applies to it.
//! - [`security_cost`]: the throughput that the octets of a cipher suite cost in any of these models.
//!
//! Equal arguments give equal results on every platform: the code uses only + - * /.

mod contention;
mod round_trip;
mod single_station;

pub use contention::{Contended, Contention, ContentionModel, saturated_stations};
pub use round_trip::{RoundTrip, closed_loop_round_trip, idle_round_trip};
pub use single_station::{Saturated, saturated_single_station};

use crate::access::Psdu;
use crate::phy::{Bss, Mode};
use crate::{Access, Aggregation, Nanos, Protection};

/// Fraction of its MPDUs that a link loses if each MPDU is `security_b` octets longer, 0 to 1. Every MPDU
/// carries the same payload, so this is also the loss of goodput.
///
/// `mpdus_per_s` is any of these models as a function of the MPDU length. The cost is a step function of the
/// length, because octets fill whole OFDM symbols (17.3.5.4).
#[must_use]
pub fn security_cost(mpdus_per_s: impl Fn(usize) -> f64, open_mpdu_len_b: usize, security_b: usize) -> f64 {
    1.0 - mpdus_per_s(open_mpdu_len_b + security_b) / mpdus_per_s(open_mpdu_len_b)
}

/// The durations that all models use.
struct Timing {
    slot: Nanos,
    sifs: Nanos,
    /// DIFS or AIFS.
    ifs: Nanos,
    ack: Nanos,
    block_ack: Nanos,
    /// RTS and CTS, or CTS-to-self, until the start of the data PPDU.
    protection: Nanos,
    rts: Nanos,
    cts: Nanos,
    /// From the end of its PPDU until a station stops waiting for the answer.
    answer_timeout: Nanos,
    eifs_less_difs: Nanos,
}

impl Timing {
    fn new(bss: &Bss, mode: &Mode, access: &Access, protection: Protection) -> Timing {
        Timing {
            slot: bss.slot(),
            sifs: bss.sifs(),
            ifs: access.ifs(bss),
            ack: bss.ack_duration(mode),
            block_ack: bss.block_ack_duration(mode),
            protection: protection.duration(bss, mode),
            rts: bss.rts_duration(mode),
            cts: bss.cts_duration(mode),
            answer_timeout: bss.ack_timeout(mode),
            eifs_less_difs: bss.eifs_less_difs(),
        }
    }

    /// Duration of the answer to a PPDU of `mpdus` MPDUs.
    fn answer(&self, mpdus: usize) -> Nanos {
        if mpdus == 1 { self.ack } else { self.block_ack }
    }

    /// Mean backoff of a first transmission: CWmin / 2 slots (10.3.4.2).
    fn mean_backoff_us(&self, access: &Access) -> f64 {
        self.slot.as_us_f64() * f64::from(access.cw_min) / 2.0
    }
}

/// The number of MPDUs of `mpdu_len_b` octets in one PPDU when enough MPDUs are queued, and the octets of its
/// PSDU.
#[must_use]
pub fn full_psdu(aggregation: &Aggregation, mode: &Mode, mpdu_len_b: usize) -> (usize, usize) {
    let mut psdu = Psdu::new(aggregation, mode, Nanos::MAX);
    while !psdu.is_full() && psdu.join(mpdu_len_b) {}
    (psdu.mpdus(), psdu.len_b())
}
