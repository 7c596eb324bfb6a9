//! Requests and responses between two stations.

use super::Timing;
use crate::phy::{Bss, Mode};
use crate::{Access, Countdown, Nanos, Protection};

/// A request and its response, from the arrival of the request at its sender's queue to the end of the PPDU
/// that carries the response. This is the medium's contribution to a round trip. A frame is delivered at the
/// end of its PPDU, before the Ack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundTrip {
    /// Mean time from the request's arrival to the start of its PPDU, us.
    pub request_wait_us: f64,
    /// Protection and PPDU of the request, us.
    pub request_us: f64,
    /// Mean time from the response's arrival to the start of its PPDU, us.
    pub response_wait_us: f64,
    /// Protection and PPDU of the response, us.
    pub response_us: f64,
}

impl RoundTrip {
    /// Mean contribution of the medium to the round trip, us, without the turnaround of the responder.
    #[must_use]
    pub fn total_us(&self) -> f64 {
        self.request_wait_us + self.request_us + self.response_wait_us + self.response_us
    }
}

/// The mean round trip of a request on an idle medium without other traffic or aggregation. No backoff is
/// pending and every interframe space is over.
///
/// - The request is sent at once, without a wait.
/// - The response reaches the responder's queue `turnaround` after the delivery of the request. Before the
///   end of the request's Ack (`turnaround` < SIFS + Ack) the medium is busy. The response then waits for the
///   rest of the Ack, the IFS and a new backoff, on average CWmin / 2 slots (10.3.4.2). After the Ack, the
///   response finds the medium idle and waits for the rest of the IFS, if any.
#[must_use]
pub fn idle_round_trip(
    bss: &Bss,
    mode: &Mode,
    access: &Access,
    protection: Protection,
    request_mpdu_len_b: usize,
    response_mpdu_len_b: usize,
    turnaround: Nanos,
) -> RoundTrip {
    let timing = Timing::new(bss, mode, access, protection);
    let busy = timing.sifs + timing.ack;
    let response_wait_us = if turnaround < busy {
        (busy - turnaround + timing.ifs).as_us_f64() + timing.mean_backoff_us(access)
    } else {
        (busy + timing.ifs).saturating_sub(turnaround).as_us_f64()
    };
    RoundTrip {
        request_wait_us: 0.0,
        request_us: (timing.protection + mode.ppdu_duration(request_mpdu_len_b)).as_us_f64(),
        response_wait_us,
        response_us: (timing.protection + mode.ppdu_duration(response_mpdu_len_b)).as_us_f64(),
    }
}

/// The mean round trip of a closed loop (ping-pong): each end queues its next frame without a turnaround when
/// the other end's frame is delivered. No other traffic, no aggregation.
///
/// Each frame finds the medium busy with the Ack of the previous frame, so it waits for SIFS + Ack + IFS +
/// backoff. The backoff is the rest of the station's backoff after its own last transmission, or a new
/// backoff if the other station's countdown lasted longer. Its mean is slightly above CWmin / 2 slots.
///
/// A turnaround below SIFS + Ack at either end does not slow the loop, because it shortens the wait by the
/// same amount.
#[must_use]
pub fn closed_loop_round_trip(
    bss: &Bss,
    mode: &Mode,
    access: &Access,
    protection: Protection,
    request_mpdu_len_b: usize,
    response_mpdu_len_b: usize,
) -> RoundTrip {
    let timing = Timing::new(bss, mode, access, protection);
    let busy = timing.sifs + timing.ack;
    let wait_us = (busy + timing.ifs).as_us_f64() + closed_loop_slots(access) * timing.slot.as_us_f64();
    RoundTrip {
        request_wait_us: wait_us,
        request_us: (timing.protection + mode.ppdu_duration(request_mpdu_len_b)).as_us_f64(),
        response_wait_us: wait_us,
        response_us: (timing.protection + mode.ppdu_duration(response_mpdu_len_b)).as_us_f64(),
    }
}

/// Mean number of slots that a frame of a closed loop waits.
///
/// Computed by a Markov chain on these slots. If one station waited `used` slots, the other station, which
/// drew `own` at the same time, has `own - used` slots left. With EDCA it has one less, because its counter
/// also decreases at the boundary at which the first station transmits. With no slots left, it draws a new
/// backoff.
#[allow(clippy::cast_precision_loss)] // slots are below 2^16
fn closed_loop_slots(access: &Access) -> f64 {
    let window = usize::from(access.cw_min) + 1;
    let draw = 1.0 / window as f64;
    let boundary = usize::from(access.countdown == Countdown::PerBoundary);
    let mut slots = vec![draw; window];
    // The successors of any two states overlap by at least three quarters, so 64 steps remove the influence
    // of the initial state.
    for _ in 0..64 {
        let mut next = vec![0.0; window];
        let mut afresh = 0.0;
        for (used, p) in slots.iter().enumerate() {
            // No slots are left if `own` is at most used + boundary.
            let spent = (used + boundary + 1).min(window);
            afresh += p * spent as f64 * draw;
            for left in &mut next[1..=window - spent] {
                *left += p * draw;
            }
        }
        for p in &mut next {
            *p += afresh * draw;
        }
        slots = next;
    }
    slots.iter().enumerate().map(|(n, p)| n as f64 * p).sum()
}
