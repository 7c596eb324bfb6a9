//! Requests and responses between two stations.

use super::Timing;
use crate::phy::{Bss, Mode};
use crate::{Access, Countdown, Nanos};

/// A request and its response, from the arrival of the request at its sender's queue to the end of the PPDU
/// that carries the response: what the medium alone contributes to a round trip. A frame is delivered at the
/// end of its PPDU, before the Ack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundTrip {
    /// Mean time from the request's arrival to the start of its PPDU, us.
    pub request_wait_us: f64,
    /// PPDU of the request, us.
    pub request_us: f64,
    /// Mean time from the response's arrival to the start of its PPDU, us.
    pub response_wait_us: f64,
    /// PPDU of the response, us.
    pub response_us: f64,
}

impl RoundTrip {
    /// Mean share of the medium in the round trip, us. The turnaround of the responder is not in it.
    #[must_use]
    pub fn total_us(&self) -> f64 {
        self.request_wait_us + self.request_us + self.response_wait_us + self.response_us
    }
}

/// The mean round trip of a request on an idle medium: everything before it ended so long ago that no backoff
/// is pending and every interframe space is over. No other traffic, no aggregation.
///
/// - The request goes at once: no wait.
/// - The response reaches the responder's queue `turnaround` after the request was delivered. While the Ack
///   of the request is not over (`turnaround` < SIFS + Ack) the medium is busy, so the response waits for the
///   rest of it, the IFS and a fresh backoff, on average CWmin / 2 slots (10.3.4.2). Later it finds the
///   medium idle and waits for what is left of the IFS, if anything.
#[must_use]
pub fn idle_round_trip(
    bss: &Bss,
    mode: &Mode,
    access: &Access,
    request_mpdu_len_b: usize,
    response_mpdu_len_b: usize,
    turnaround: Nanos,
) -> RoundTrip {
    let timing = Timing::new(bss, mode, access);
    let busy = timing.sifs + timing.ack;
    let response_wait_us = if turnaround < busy {
        (busy - turnaround + timing.ifs).as_us_f64() + timing.mean_backoff_us(access)
    } else {
        (busy + timing.ifs).saturating_sub(turnaround).as_us_f64()
    };
    RoundTrip {
        request_wait_us: 0.0,
        request_us: mode.ppdu_duration(request_mpdu_len_b).as_us_f64(),
        response_wait_us,
        response_us: mode.ppdu_duration(response_mpdu_len_b).as_us_f64(),
    }
}

/// The mean round trip of a closed loop (ping-pong): each end queues its next frame at once, with no
/// turnaround, when the other's frame is delivered. No other traffic, no aggregation.
///
/// Each frame finds the medium busy with the Ack of the frame before, so it waits SIFS + Ack + IFS + backoff.
/// The backoff is what is left of the one that the station drew after its own last transmission, or a fresh
/// one if the other's countdown outlasted it; its mean lies a little above CWmin / 2 slots.
///
/// A turnaround below SIFS + Ack at either end does not slow the loop: it takes from the wait what it adds
/// itself.
#[must_use]
pub fn closed_loop_round_trip(
    bss: &Bss,
    mode: &Mode,
    access: &Access,
    request_mpdu_len_b: usize,
    response_mpdu_len_b: usize,
) -> RoundTrip {
    let timing = Timing::new(bss, mode, access);
    let busy = timing.sifs + timing.ack;
    let wait_us = (busy + timing.ifs).as_us_f64() + closed_loop_slots(access) * timing.slot.as_us_f64();
    RoundTrip {
        request_wait_us: wait_us,
        request_us: mode.ppdu_duration(request_mpdu_len_b).as_us_f64(),
        response_wait_us: wait_us,
        response_us: mode.ppdu_duration(response_mpdu_len_b).as_us_f64(),
    }
}

/// Mean of the slots that a frame of a closed loop waits.
///
/// A Markov chain on those slots. If one station waited `used` slots, the other, which drew `own` at the same
/// time, has `own - used` left (one less with EDCA, whose counter also falls at the boundary where the first
/// transmits); with nothing left it draws afresh.
#[allow(clippy::cast_precision_loss)] // slots are below 2^16
fn closed_loop_slots(access: &Access) -> f64 {
    let window = usize::from(access.cw_min) + 1;
    let draw = 1.0 / window as f64;
    let boundary = usize::from(access.countdown == Countdown::PerBoundary);
    let mut slots = vec![draw; window];
    // What follows any two states overlaps by three quarters or more, so 64 steps leave nothing of the start.
    for _ in 0..64 {
        let mut next = vec![0.0; window];
        let mut afresh = 0.0;
        for (used, p) in slots.iter().enumerate() {
            // `own` up to and including used + boundary leaves nothing.
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
