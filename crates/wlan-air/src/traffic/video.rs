//! High-definition video over RTP: groups of pictures of uneven frames, each sent as a burst of packets.

use super::{Departure, Draws, TrafficError};
use crate::Nanos;

/// RTP header (RFC 3550, 5.1) and the two octets that name a fragment (FU-A; RFC 6184, 5.8).
const RTP_LEN_B: usize = 12 + 2;
/// Sizes of I, P and B frames to one another, as those of films in H.264 are about.
const WEIGHTS: [f64; 3] = [6.0, 2.5, 1.0];
/// Coefficients of variation of the sizes of I, P and B frames.
const VARIATION: [f64; 3] = [0.2, 0.4, 0.4];
/// No frame is larger than this many times its mean: the encoder's buffer forbids it.
const LARGEST: f64 = 4.0;

/// What a video stream is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VideoConfig {
    /// Mean rate of the pictures, without RTP headers.
    pub rate_bps: u64,
    /// Frames a second.
    pub fps: u32,
    /// Frames of a group: one I frame, then P and B frames.
    pub gop: u32,
    /// B frames between two others.
    pub b_frames: u32,
    /// Octets of UDP payload of a full packet, RTP headers included.
    pub payload_b: usize,
}

impl VideoConfig {
    /// High rate: 1080-line television as broadcast by ATSC, 19.4 Mbit/s, which an 802.11a/g link at 54
    /// Mbit/s carries. The papers that compare a high and a very high rate give no figures; this and
    /// [`VideoConfig::very_high_rate`] stand at the two sides of what such a link holds.
    #[must_use]
    pub const fn high_rate() -> VideoConfig {
        VideoConfig {
            rate_bps: 19_400_000,
            fps: 30,
            gop: 15,
            b_frames: 2,
            payload_b: 1400,
        }
    }

    /// Very high rate: the most of a Blu-ray disc, 40 Mbit/s, which overwhelms an 802.11a/g link.
    #[must_use]
    pub const fn very_high_rate() -> VideoConfig {
        VideoConfig {
            rate_bps: 40_000_000,
            ..VideoConfig::high_rate()
        }
    }

    fn check(&self) -> Result<(), TrafficError> {
        if self.payload_b <= RTP_LEN_B {
            return Err(TrafficError::RtpPayload(self.payload_b));
        }
        if !(1..=1000).contains(&self.fps) {
            return Err(TrafficError::FrameRate);
        }
        if self.b_frames >= self.gop {
            return Err(TrafficError::Gop {
                gop: self.gop,
                b_frames: self.b_frames,
            });
        }
        super::check_rate(self.rate_bps, self.payload_b)
    }

    /// I, P or B: 0, 1 or 2. Frames stand in the order of display; a decoder's order would change no size.
    fn kind(&self, place: u32) -> usize {
        match place {
            0 => 0,
            place if place.is_multiple_of(self.b_frames + 1) => 1,
            _ => 2,
        }
    }
}

/// A video stream: an endless iterator over the packets of its frames, those of a frame at one instant.
#[derive(Clone, Debug)]
pub struct Video {
    config: VideoConfig,
    start: Nanos,
    draws: Draws,
    /// Mean octets of an I, a P and a B frame, and sigma of the logarithm of their sizes.
    kinds: [(f64, f64); 3],
    frames: u64,
    at: Nanos,
    left_b: usize,
}

impl Video {
    /// A stream whose first frame is sent at `start`.
    ///
    /// # Errors
    /// [`TrafficError`] where the configuration contradicts itself.
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    pub fn new(config: VideoConfig, start: Nanos, seed: u64) -> Result<Video, TrafficError> {
        config.check()?;
        let weights: f64 = (0..config.gop).map(|place| WEIGHTS[config.kind(place)]).sum();
        let gop_b = config.rate_bps as f64 / 8.0 * f64::from(config.gop) / f64::from(config.fps);
        let kind = |i: usize| {
            let sigma = libm::log(1.0 + VARIATION[i] * VARIATION[i]).sqrt();
            (gop_b * WEIGHTS[i] / weights, sigma)
        };
        Ok(Video {
            config,
            start,
            draws: Draws::new(seed),
            kinds: [kind(0), kind(1), kind(2)],
            frames: 0,
            at: start,
            left_b: 0,
        })
    }

    /// Octets of the next frame, log-normal about the mean of its kind.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive, at most 4 means
    fn frame_len_b(&mut self) -> usize {
        let place = u32::try_from(self.frames % u64::from(self.config.gop)).unwrap_or(0);
        let (mean_b, sigma) = self.kinds[self.config.kind(place)];
        let factor = libm::exp(sigma * self.draws.normal() - sigma * sigma / 2.0);
        ((mean_b * factor.min(LARGEST)) as usize).max(1)
    }
}

impl Iterator for Video {
    type Item = Departure;

    fn next(&mut self) -> Option<Departure> {
        if self.left_b == 0 {
            let after = u128::from(self.frames) * 1_000_000_000 / u128::from(self.config.fps);
            self.at = Nanos(self.start.0.checked_add(u64::try_from(after).ok()?)?);
            self.left_b = self.frame_len_b();
            self.frames += 1;
        }
        let picture_b = self.left_b.min(self.config.payload_b - RTP_LEN_B);
        self.left_b -= picture_b;
        Some(Departure {
            at: self.at,
            len_b: picture_b + RTP_LEN_B,
        })
    }
}
