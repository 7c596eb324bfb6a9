//! One saturated station.

use super::{Timing, full_psdu};
use crate::phy::{Bss, Mode};
use crate::{Access, Aggregation, Protection};

/// Mean cycle of one station that always has a frame to send and never collides, divided into its parts.
///
/// The parts add up to [`Saturated::cycle_us`]. Only the backoff is the mean of a random variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturated {
    /// MPDUs sent per cycle: above 1 with aggregation.
    pub mpdus_per_cycle: usize,
    /// DIFS or AIFS, us.
    pub ifs_us: f64,
    /// Mean backoff of CWmin / 2 slots, us.
    pub backoff_us: f64,
    /// RTS and CTS, or CTS-to-self, with the SIFS after each, us.
    pub protection_us: f64,
    /// PHY preamble and headers of the data PPDU, us.
    pub preamble_us: f64,
    /// Data symbols: SERVICE, PSDU, tail and pad, us.
    pub payload_us: f64,
    /// SIFS before the answer, us.
    pub sifs_us: f64,
    /// Ack or `BlockAck`, us.
    pub ack_us: f64,
}

impl Saturated {
    /// Mean time from one transmission to the next, us.
    #[must_use]
    pub fn cycle_us(&self) -> f64 {
        self.ifs_us
            + self.backoff_us
            + self.protection_us
            + self.preamble_us
            + self.payload_us
            + self.sifs_us
            + self.ack_us
    }

    /// MPDUs delivered per second.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // at most 64 MPDUs
    pub fn mpdus_per_s(&self) -> f64 {
        self.mpdus_per_cycle as f64 * 1e6 / self.cycle_us()
    }

    /// Goodput in Mbit/s if each MPDU carries `payload_len_b` counted octets.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // MPDUs are shorter than 2^53 octets
    pub fn goodput_mbps(&self, payload_len_b: usize) -> f64 {
        self.mpdus_per_s() * payload_len_b as f64 * 8.0 / 1e6
    }
}

/// One saturated station that sends MPDUs of `mpdu_len_b` octets (including header, security fields and FCS).
///
/// `access` and `aggregation` are not checked: values that [`crate::Medium::new`] rejects give a meaningless
/// cycle.
///
/// Cycle: IFS + slot * CWmin / 2 + protection + PPDU + SIFS + answer, with the contention parameters of DCF (10.3.4) or
/// EDCA (10.23.2) and the PPDU of [`Mode::ppdu_duration`].
#[must_use]
pub fn saturated_single_station(
    bss: &Bss,
    mode: &Mode,
    access: &Access,
    aggregation: &Aggregation,
    protection: Protection,
    mpdu_len_b: usize,
) -> Saturated {
    let (mpdus, psdu_b) = full_psdu(aggregation, mode, mpdu_len_b);
    let timing = Timing::new(bss, mode, access, protection);
    Saturated {
        mpdus_per_cycle: mpdus,
        ifs_us: timing.ifs.as_us_f64(),
        backoff_us: timing.mean_backoff_us(access),
        protection_us: timing.protection.as_us_f64(),
        preamble_us: mode.preamble().as_us_f64(),
        payload_us: (mode.ppdu_duration(psdu_b) - mode.preamble()).as_us_f64(),
        sifs_us: timing.sifs.as_us_f64(),
        ack_us: timing.answer(mpdus).as_us_f64(),
    }
}
