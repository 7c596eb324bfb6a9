//! High-definition video over RTP: groups of pictures with frames of unequal size, each sent as a series of
//! packets.
//!
//! The sizes of frames follow the model that Krunz and Tripathi fitted to MPEG films (UMIACS-TR-95-120, 1995;
//! ACM SIGMETRICS 1997). Scenes have a geometric length and a log-normal activity that all their frames
//! share. The sizes of I, P and B frames are log-normal around this activity, and each kind of frame is
//! autocorrelated. With the constants below, the sizes have the published properties of H.264 video without
//! rate control, which the tests check:
//!
//! | of 53 984 frames        | published                                                | here, ten seeds |
//! |-------------------------|----------------------------------------------------------|-----------------|
//! | CoV of frames           | 1.04 to 1.29 (a), 1.245 (b)                              | 1.19 to 1.23 |
//! | largest frame over mean | 8.4 to 14.9 (a)                                          | 12           |
//! | CoV of groups           | 0.45 to 0.65 (a)                                         | 0.51 to 0.58 |
//! | largest group over mean | 3.5 to 8.3 (a)                                           | 3.6 to 7.1   |
//! | autocorrelation         | peaks at whole groups, slow decay (a)                    | 0.84 to 0.86 at one group |
//!
//! (a) Star Wars IV in H.264, groups of 16 with 3 to 15 B frames, full frame rate, in the video trace library
//! of Arizona State University (Seeling and Reisslein, IEEE Communications Surveys and Tutorials 14(4),
//! 2012); (b) the Weibull distribution of shape 0.8099 that IEEE 802.11 specifies for frames of
//! high-definition video (IEEE 802.11-14/0571, appendix 2).
//!
//! A stream repeats a clip with a fixed number of frames. As in two-pass encoding, the frames of a clip are
//! scaled to the configured rate, so any interval as long as the clip has exactly the mean rate.

use super::{Departure, Draws, TrafficError};
use crate::Nanos;

/// Octets before the picture in an RTP packet: the fixed header (RFC 3550, 5.1) and an extension (5.3.1) of
/// five words that holds the time at which the packet was sent.
pub const RTP_HEADER_LEN_B: usize = 12 + 4 + 20;
/// Time after its capture at which an incomplete frame is late and is not shown. Of the 150 ms that ITU-T
/// G.114 allows per direction of a conversation, the camera, encoder, decoder and screen may take the other
/// 50 ms.
pub const PLAYOUT_DEADLINE: Nanos = Nanos::from_ms(100);

/// Relative sizes of I, P and B frames.
const WEIGHTS: [f64; 3] = [7.0, 2.5, 1.0];
/// Coefficients of variation of the sizes of I, P and B frames within a scene.
const VARIATION: [f64; 3] = [0.2, 0.4, 0.5];
/// Weight of the previous frame of the same kind in a frame's deviation.
const MEMORY: f64 = 0.7;
/// Coefficient of variation of the activities of scenes.
const SCENE_VARIATION: f64 = 0.53;
/// Mean length of a scene in groups: 4.3 s at 30 frames per second.
const SCENE_GROUPS: f64 = 8.0;
/// Maximum size of a frame relative to the mean. It is the coded picture buffer of an encoder (ITU-T H.264,
/// annex C), here 0.4 s of the stream at 30 frames per second.
const LARGEST: f64 = 12.0;

/// The times at which the packets of a frame leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pacing {
    /// Spread evenly over the time until the next frame, as in video calls.
    Smooth,
    /// All at once, when the encoder finishes the frame.
    Burst,
}

/// The parameters of a video stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VideoConfig {
    /// Mean bit rate of the pictures, without RTP headers.
    pub rate_bps: u64,
    /// Frames per second.
    pub fps: u32,
    /// Frames per group: one I frame, then P and B frames.
    pub gop: u32,
    /// Consecutive B frames.
    pub b_frames: u32,
    /// Frames until the stream repeats. With the number of frames of a measured window, the mean rate in the
    /// window is exact.
    pub clip: u32,
    /// Octets of UDP payload of a full packet, including RTP headers.
    pub payload_b: usize,
    /// The times at which packets leave.
    pub pacing: Pacing,
}

impl VideoConfig {
    /// High rate: 1080-line television as ATSC broadcasts it, 19.4 Mbit/s, which an 802.11a/g link at 54
    /// Mbit/s can carry. The papers that compare a high rate with a very high rate give no figures.
    #[must_use]
    pub const fn high_rate() -> VideoConfig {
        VideoConfig {
            rate_bps: 19_400_000,
            fps: 30,
            gop: 16,
            b_frames: 3,
            clip: 300,
            payload_b: 1400,
            pacing: Pacing::Smooth,
        }
    }

    /// The same stream with a clip as long as `window`.
    #[must_use]
    pub fn with_clip_of(self, window: Nanos) -> VideoConfig {
        let frames = (u128::from(window.0) * u128::from(self.fps)).div_ceil(1_000_000_000);
        VideoConfig {
            clip: u32::try_from(frames).unwrap_or(u32::MAX).max(1),
            ..self
        }
    }

    fn check(&self) -> Result<(), TrafficError> {
        if self.payload_b <= RTP_HEADER_LEN_B {
            return Err(TrafficError::RtpPayload(self.payload_b));
        }
        if !(1..=1000).contains(&self.fps) {
            return Err(TrafficError::FrameRate);
        }
        if self.gop == 0 || self.b_frames >= self.gop {
            return Err(TrafficError::Gop {
                gop: self.gop,
                b_frames: self.b_frames,
            });
        }
        if !(1..=CLIP_MAX).contains(&self.clip) {
            return Err(TrafficError::Clip(self.clip));
        }
        if !(1..=RATE_MAX_BPS).contains(&self.rate_bps) {
            return Err(TrafficError::VideoRate(self.rate_bps));
        }
        Ok(())
    }

    /// The kind of a frame: 0, 1 or 2 for I, P or B. Frames are in display order; decoding order would not
    /// change their sizes.
    fn kind(&self, place: u32) -> usize {
        match place {
            0 => 0,
            place if place.is_multiple_of(self.b_frames + 1) => 1,
            _ => 2,
        }
    }

    /// Time from the start of the stream to the given frame.
    fn after(&self, frame: u64) -> Option<Nanos> {
        let ns = u128::from(frame) * 1_000_000_000 / u128::from(self.fps);
        u64::try_from(ns).ok().map(Nanos)
    }
}

/// Maximum frames of a clip, which is kept in memory: 46 hours at 60 frames per second.
const CLIP_MAX: u32 = 10_000_000;
/// Maximum bit rate, above the rate of uncompressed high-definition video (SMPTE ST 292: 1.485 Gbit/s). The
/// octets of a frame are counted in 32 bits.
const RATE_MAX_BPS: u64 = 2_000_000_000;

/// A packet of a video stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoPacket {
    /// Number of the frame, from 0.
    pub frame: u64,
    /// Number of the packet in its frame, from 0.
    pub index: u32,
    /// Number of packets of the frame.
    pub of: u32,
    /// Time at which the encoder finished the frame.
    pub captured: Nanos,
    /// Time at which the packet leaves.
    pub at: Nanos,
    /// Octets of UDP payload, including RTP headers.
    pub len_b: usize,
}

impl VideoPacket {
    /// Whether it is the last packet of its frame, with the marker bit set (RFC 3551, 5).
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.index + 1 == self.of
    }

    /// Octets of the picture in this packet.
    #[must_use]
    pub fn picture_b(&self) -> usize {
        self.len_b - RTP_HEADER_LEN_B
    }
}

impl From<VideoPacket> for Departure {
    fn from(packet: VideoPacket) -> Departure {
        Departure {
            at: packet.at,
            len_b: packet.len_b,
        }
    }
}

/// A video stream: an endless iterator over the packets of its frames.
#[derive(Clone, Debug)]
pub struct Video {
    config: VideoConfig,
    /// Octets of each frame of the clip.
    clip_b: Vec<u32>,
    /// Index of the first frame in the clip.
    first: u64,
    start: Nanos,
    next: VideoPacket,
    left_b: usize,
}

impl Video {
    /// A stream whose first frame is captured less than a frame interval after `start`. Streams with
    /// different seeds play different clips, start at different frames and capture their frames at different
    /// times.
    ///
    /// # Errors
    /// [`TrafficError`] if the configuration is invalid.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // within a frame interval and the length of a clip
    pub fn new(config: VideoConfig, start: Nanos, seed: u64) -> Result<Video, TrafficError> {
        config.check()?;
        let mut draws = Draws::new(seed);
        let frame_ns = 1e9 / f64::from(config.fps);
        let phase = Nanos(((1.0 - draws.unit()) * frame_ns) as u64);
        let first = ((1.0 - draws.unit()) * f64::from(config.clip)) as u64;
        let mut video = Video {
            config,
            clip_b: clip(&config, &mut draws),
            first,
            start: start + phase,
            next: VideoPacket {
                frame: 0,
                index: 0,
                of: 0,
                captured: start,
                at: start,
                len_b: 0,
            },
            left_b: 0,
        };
        video.begin(0);
        Ok(video)
    }

    /// Octets of the picture of a frame.
    fn frame_len_b(&self, frame: u64) -> usize {
        let place = (self.first + frame) % u64::from(self.config.clip);
        usize::try_from(place).map_or(0, |place| self.clip_b[place] as usize)
    }

    /// Starts a frame; returns `None` at the end of the time range.
    fn begin(&mut self, frame: u64) -> Option<()> {
        let captured = Nanos(self.start.0.checked_add(self.config.after(frame)?.0)?);
        self.left_b = self.frame_len_b(frame);
        let of = self.left_b.div_ceil(self.config.payload_b - RTP_HEADER_LEN_B);
        self.next = VideoPacket {
            frame,
            index: 0,
            of: u32::try_from(of).unwrap_or(u32::MAX),
            captured,
            at: captured,
            len_b: 0,
        };
        Some(())
    }
}

impl Iterator for Video {
    type Item = VideoPacket;

    fn next(&mut self) -> Option<VideoPacket> {
        if self.next.index == self.next.of {
            self.begin(self.next.frame + 1)?;
        }
        let picture_b = self.left_b.min(self.config.payload_b - RTP_HEADER_LEN_B);
        self.left_b -= picture_b;
        let mut packet = self.next;
        packet.len_b = picture_b + RTP_HEADER_LEN_B;
        if self.config.pacing == Pacing::Smooth {
            let after = 1_000_000_000 * u64::from(packet.index);
            packet.at = packet.captured + Nanos(after / u64::from(self.config.fps) / u64::from(packet.of));
        }
        self.next.index += 1;
        Some(packet)
    }
}

/// Octets of each frame of a clip.
fn clip(config: &VideoConfig, draws: &mut Draws) -> Vec<u32> {
    let sigma = |variation: f64| libm::log(1.0 + variation * variation).sqrt();
    let log_normal = |sigma: f64, normal: f64| libm::exp(sigma * normal - sigma * sigma / 2.0);
    let sigmas = VARIATION.map(sigma);
    let mut deviations = [(); 3].map(|()| draws.normal());
    let (mut activity, mut groups_left) = (1.0, 0.0);
    let mut place = 0;
    let sizes: Vec<f64> = (0..config.clip)
        .map(|_| {
            if place == 0 {
                if groups_left < 1.0 {
                    activity = log_normal(sigma(SCENE_VARIATION), draws.normal());
                    groups_left = libm::ceil(libm::log(draws.unit()) / libm::log(1.0 - 1.0 / SCENE_GROUPS));
                }
                groups_left -= 1.0;
            }
            let kind = config.kind(place);
            place = (place + 1) % config.gop;
            let deviation = &mut deviations[kind];
            *deviation = MEMORY * *deviation + (1.0 - MEMORY * MEMORY).sqrt() * draws.normal();
            WEIGHTS[kind] * activity * log_normal(sigmas[kind], *deviation)
        })
        .collect();
    #[allow(clippy::cast_precision_loss)] // at most 10^11
    let mean_b = config.rate_bps as f64 / 8.0 / f64::from(config.fps);
    whole_octets(&scaled(sizes), mean_b)
}

/// Scales sizes to a mean of 1 with a maximum of [`LARGEST`]; the other frames gain the octets that the
/// largest frames lose.
#[allow(clippy::cast_precision_loss)] // few frames
fn scaled(mut sizes: Vec<f64>) -> Vec<f64> {
    let count = sizes.len() as f64;
    let mut full = 0.0;
    loop {
        let rest: f64 = sizes.iter().filter(|&&size| size < LARGEST).sum();
        let scale = if full == 0.0 {
            count / sizes.iter().sum::<f64>()
        } else {
            (count - full * LARGEST) / rest
        };
        let before = full;
        for size in &mut sizes {
            if before == 0.0 || *size < LARGEST {
                *size = (*size * scale).min(LARGEST);
            }
        }
        full = sizes.iter().filter(|&&size| size >= LARGEST).count() as f64;
        if full == before {
            return sizes;
        }
    }
}

/// Octets of frames with these sizes, relative to the mean. The total is exact, and each frame has at least
/// one octet.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive, at most 12 times the mean of a valid rate
fn whole_octets(sizes: &[f64], mean_b: f64) -> Vec<u32> {
    let mut carried = 0.0;
    sizes
        .iter()
        .map(|size| {
            let wanted = size * mean_b + carried;
            let octets = libm::floor(wanted).max(1.0);
            carried = wanted - octets;
            octets as u32
        })
        .collect()
}

#[cfg(test)]
#[path = "video_tests.rs"]
mod tests;
