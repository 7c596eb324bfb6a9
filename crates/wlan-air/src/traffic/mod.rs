//! Traffic in virtual time: the packets that applications send, and the measurements at the receiver.
//!
//! A source is an iterator over [`Departure`]s, without a clock: the caller queues each departure at its
//! time. Random sources take a seed and give the same numbers on every platform. Only [`RequestResponse`]
//! must be told when its answer arrives. A saturated source requires no state: the caller keeps the queue
//! full.
//!
//! - [`Cbr`], [`Poisson`], [`RequestResponse`], [`Video`]: sources;
//! - [`Pace`]: the programs that a [`Cbr`] imitates; [`WakeUp`]: the time until they run;
//! - [`Meter`]: delay with percentiles, jitter (RFC 3550), loss; its memory does not grow with time;
//! - [`FrameMeter`]: late frames of a video.

mod constant;
mod meter;
mod video;
mod wake_up;

pub use constant::{Cbr, Pace};
pub use meter::{Delays, FrameMeter, Jitter, Loss, Meter};
pub use video::{PLAYOUT_DEADLINE, Pacing, RTP_HEADER_LEN_B, Video, VideoConfig, VideoPacket};
pub use wake_up::WakeUp;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;

use crate::Nanos;

/// The data that an application sends at once: the payload of one datagram, or of one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Time of the departure.
    pub at: Nanos,
    /// Octets of payload.
    pub len_b: usize,
}

/// Invalid parameters of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// The packet is empty.
    #[error("a packet must carry at least 1 octet")]
    Packet,
    /// The rate is zero, or exceeds one packet per nanosecond.
    #[error(
        "rate of {rate_bps} bit/s with packets of {packet_b} octets: \
         must be above 0 and at most one packet per ns"
    )]
    Rate {
        /// The rate in bit/s.
        rate_bps: u64,
        /// Octets per packet.
        packet_b: usize,
    },
    /// The timer or the clock of a sender has no period.
    #[error("the period of a sender's timer or clock must be longer than 0")]
    Period,
    /// The frame rate of a video is out of range.
    #[error("video requires 1 to 1000 frames per second")]
    FrameRate,
    /// The group of pictures is too short.
    #[error(
        "a group of {gop} pictures with {b_frames} consecutive B frames: \
         must contain an I frame and these B frames"
    )]
    Gop {
        /// Frames per group.
        gop: u32,
        /// Consecutive B frames.
        b_frames: u32,
    },
    /// The packets have no space after the RTP headers.
    #[error(
        "RTP packets of {0} octets of UDP payload: must exceed the headers of {RTP_HEADER_LEN_B} (RFC 3550, 5)"
    )]
    RtpPayload(usize),
    /// The rate of a video is out of range.
    #[error("video of {0} bit/s: must be above 0 and at most 2 Gbit/s")]
    VideoRate(u64),
    /// The length of a clip is out of range.
    #[error("a clip of {0} frames: must be 1 to 10 000 000")]
    Clip(u32),
}

fn check_rate(rate_bps: u64, packet_b: usize) -> Result<(), TrafficError> {
    if packet_b == 0 {
        return Err(TrafficError::Packet);
    }
    if rate_bps == 0 || u128::from(rate_bps) > packet_b as u128 * 8_000_000_000 {
        return Err(TrafficError::Rate { rate_bps, packet_b });
    }
    Ok(())
}

/// Packets of one size at independent, exponentially distributed intervals.
#[derive(Clone, Debug)]
pub struct Poisson {
    mean_ns: f64,
    packet_b: usize,
    at: Nanos,
    draws: Draws,
}

impl Poisson {
    /// Packets of `packet_b` octets of payload at a mean of `rate_bps` bits of payload per second. The first
    /// packet leaves one exponentially distributed interval after `start`.
    ///
    /// # Errors
    /// The same as [`Cbr::new`].
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    pub fn new(rate_bps: u64, packet_b: usize, start: Nanos, seed: u64) -> Result<Poisson, TrafficError> {
        check_rate(rate_bps, packet_b)?;
        Ok(Poisson {
            mean_ns: packet_b as f64 * 8e9 / rate_bps as f64,
            packet_b,
            at: start,
            draws: Draws::new(seed),
        })
    }
}

impl Iterator for Poisson {
    type Item = Departure;

    fn next(&mut self) -> Option<Departure> {
        self.at = Nanos(self.at.0.checked_add(self.draws.exponential(self.mean_ns))?);
        Some(Departure {
            at: self.at,
            len_b: self.packet_b,
        })
    }
}

/// A client that sends a request, waits for the response, pauses and repeats; the server responds at once.
#[derive(Clone, Debug)]
pub struct RequestResponse {
    /// Octets of payload per request.
    pub request_b: usize,
    /// Octets of payload per response.
    pub response_b: usize,
    think: Nanos,
}

impl RequestResponse {
    /// A client with a constant pause, like `ping` or `sockperf`.
    ///
    /// # Errors
    /// [`TrafficError::Packet`] if a request or a response is empty.
    pub fn new(request_b: usize, response_b: usize, think: Nanos) -> Result<RequestResponse, TrafficError> {
        if request_b == 0 || response_b == 0 {
            return Err(TrafficError::Packet);
        }
        Ok(RequestResponse {
            request_b,
            response_b,
            think,
        })
    }

    /// The next request, after the response to the last request arrived at `answered` (or the client started
    /// then).
    pub fn next_request(&self, answered: Nanos) -> Departure {
        Departure {
            at: answered + self.think,
            len_b: self.request_b,
        }
    }

    /// The response to a request that arrived at `asked`.
    #[must_use]
    pub fn response(&self, asked: Nanos) -> Departure {
        Departure {
            at: asked,
            len_b: self.response_b,
        }
    }
}

/// Random numbers that are equal on every platform: PCG, and functions of `libm` instead of the system
/// library.
#[derive(Clone, Debug)]
pub(crate) struct Draws(Pcg64Mcg);

impl Draws {
    pub(crate) fn new(seed: u64) -> Draws {
        Draws(Pcg64Mcg::new(
            u128::from(seed) << 64 | u128::from(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        ))
    }

    /// Uniform on (0, 1], a multiple of 2^-53.
    #[allow(clippy::cast_precision_loss)] // 53 bits
    fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform below `span`.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // spans of a run
    pub(crate) fn within(&mut self, span: Nanos) -> Nanos {
        Nanos(((1.0 - self.unit()) * span.0 as f64) as u64)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most 37 means, never negative
    pub(crate) fn exponential(&mut self, mean: f64) -> u64 {
        (-libm::log(self.unit()) * mean) as u64
    }

    /// Standard normal (Box-Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(self.unit())).sqrt();
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }
}

#[cfg(test)]
mod tests;
