//! The frames resemble published video, have the configured rate and are equal on every platform.

use proptest::prelude::*;

use super::*;

/// Number of frames of the published trace.
const FRAMES: u32 = 53_984;

/// Sizes of the frames of a clip, relative to the mean.
fn sizes(frames: u32, seed: u64) -> Vec<f64> {
    let config = VideoConfig {
        clip: frames,
        ..VideoConfig::high_rate()
    };
    let clip_b = clip(&config, &mut Draws::new(seed));
    let mean_b = 19_400_000.0 / 8.0 / 30.0;
    clip_b.iter().map(|&octets| f64::from(octets) / mean_b).collect()
}

#[allow(clippy::cast_precision_loss)] // few frames
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Coefficient of variation, and ratio of the largest value to the mean.
fn variation(values: &[f64]) -> (f64, f64) {
    let mean_size = mean(values);
    let squares: Vec<f64> = values.iter().map(|value| (value - mean_size).powi(2)).collect();
    let largest = values.iter().copied().fold(0.0, f64::max);
    (mean(&squares).sqrt() / mean_size, largest / mean_size)
}

fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let mean_size = mean(values);
    let products: Vec<f64> = values
        .iter()
        .zip(&values[lag..])
        .map(|(one, other)| (one - mean_size) * (other - mean_size))
        .collect();
    mean(&products) / (variation(values).0 * mean_size).powi(2)
}

#[test]
fn frame_sizes_vary_like_those_of_published_video() {
    for seed in 1..=3 {
        let frames = sizes(FRAMES, seed);
        let groups: Vec<f64> = frames.chunks_exact(16).map(|group| group.iter().sum()).collect();
        let ((cov, peak), (group_cov, group_peak)) = (variation(&frames), variation(&groups));
        assert!((1.04..1.29).contains(&cov), "{cov}");
        assert!((8.4..14.9).contains(&peak), "{peak}");
        assert!((0.45..0.65).contains(&group_cov), "{group_cov}");
        assert!((3.5..8.3).contains(&group_peak), "{group_peak}");
        // Weibull with shape 0.8099 (IEEE 802.11-14/0571), of mean 1.
        assert!((cov / 1.245 - 1.0).abs() < 0.05, "{cov}");
        let mut sorted = frames.clone();
        sorted.sort_by(f64::total_cmp);
        for (percent, size) in [(50, 0.566), (75, 1.333), (90, 2.493), (95, 3.451), (99, 5.868)] {
            let found = sorted[sorted.len() * percent / 100];
            assert!((found / size - 1.0).abs() < 0.25, "{percent} %: {found}");
        }
    }
}

#[test]
fn frame_sizes_correlate_within_groups_and_scenes() {
    let frames = sizes(FRAMES, 1);
    let groups: Vec<f64> = frames.chunks_exact(16).map(|group| group.iter().sum()).collect();
    let at = |lag| autocorrelation(&frames, lag);
    assert!(at(16) > 0.8, "{}", at(16));
    // The maxima are at whole groups; P frames have lower maxima.
    for lag in [1, 2, 3, 5, 8, 15, 17] {
        assert!(at(lag) < at(16) - 0.2, "{lag}: {}", at(lag));
    }
    // Scenes have a geometric length: seven eighths continue in the next group.
    let decay: Vec<f64> = [1, 4, 8, 100].map(|lag| autocorrelation(&groups, lag)).to_vec();
    assert!((decay[0] - 0.85).abs() < 0.07, "{decay:?}");
    assert!((decay[2] - 0.34).abs() < 0.15, "{decay:?}");
    assert!(decay[3].abs() < 0.1, "{decay:?}");
}

#[test]
fn the_stream_is_the_same_on_every_platform() {
    // Fixed values: the test must fail if a new generator or different mathematics changes the results.
    let config = VideoConfig {
        clip: 8,
        ..VideoConfig::high_rate()
    };
    let packet = Video::new(config, Nanos::ZERO, 7).unwrap().next().unwrap();
    let clip_b = clip(&config, &mut Draws::new(7));
    assert_eq!((packet.captured, packet.of), (Nanos(9_660_854), 34));
    assert_eq!(
        clip_b,
        [285_464, 30_032, 25_873, 37_860, 95_335, 45_117, 61_765, 65_220]
    );
}

#[test]
fn a_stream_starts_at_a_random_frame_and_time() {
    let config = VideoConfig::high_rate();
    let streams: Vec<Video> = (0..50)
        .map(|seed| Video::new(config, Nanos::from_secs(5), seed).unwrap())
        .collect();
    for stream in &streams {
        let after = stream.start - Nanos::from_secs(5);
        assert!(after < Nanos(33_333_334) && stream.first < 300);
    }
    let spread = |of: fn(&Video) -> u64| {
        let (least, most) = streams
            .iter()
            .map(of)
            .fold((u64::MAX, 0), |(least, most), value| {
                (least.min(value), most.max(value))
            });
        most - least
    };
    assert!(spread(|stream| stream.start.0) > 25_000_000 && spread(|stream| stream.first) > 220);
}

#[test]
fn smooth_packets_spread_over_the_frame_and_bursts_do_not() {
    let smooth = VideoConfig::high_rate();
    let burst = VideoConfig {
        pacing: Pacing::Burst,
        ..smooth
    };
    for (config, spread) in [(smooth, true), (burst, false)] {
        let mut before = Nanos::ZERO;
        for packet in Video::new(config, Nanos::ZERO, 3).unwrap().take(5000) {
            let share = u64::from(packet.index) * 33_333_333 / u64::from(packet.of);
            let after = packet.at - packet.captured;
            assert!(after.0.abs_diff(if spread { share } else { 0 }) <= 1);
            assert!(packet.at >= before);
            before = packet.at;
        }
    }
}

#[test]
fn contradictory_videos_are_refused() {
    let hd = VideoConfig::high_rate();
    let refused = |config| Video::new(config, Nanos::ZERO, 0).unwrap_err();
    let payload_b = RTP_HEADER_LEN_B;
    assert_eq!(
        refused(VideoConfig { payload_b, ..hd }),
        TrafficError::RtpPayload(36)
    );
    assert_eq!(refused(VideoConfig { fps: 0, ..hd }), TrafficError::FrameRate);
    for (gop, b_frames) in [(0, 0), (3, 3)] {
        assert_eq!(
            refused(VideoConfig { gop, b_frames, ..hd }),
            TrafficError::Gop { gop, b_frames }
        );
    }
    assert_eq!(refused(VideoConfig { clip: 0, ..hd }), TrafficError::Clip(0));
    for rate_bps in [0, 2_000_000_001] {
        assert_eq!(
            refused(VideoConfig { rate_bps, ..hd }),
            TrafficError::VideoRate(rate_bps)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// With any length of the clip, each interval of this length has the configured rate, and all frames are
    /// complete.
    #[test]
    fn any_window_as_long_as_the_clip_has_the_mean_rate(
        seed: u64,
        rate_bps in 1_000_000_u64..200_000_000,
        fps in prop::sample::select(vec![24_u32, 25, 30, 50, 60]),
        (b_frames, gop) in (0_u32..5).prop_flat_map(|b| (Just(b), b + 1..40)),
        window_ms in 1_u64..3_000,
        payload_b in 200_usize..1473,
        skipped in 0_usize..2_000,
    ) {
        let usual = VideoConfig { rate_bps, fps, gop, b_frames, payload_b, ..VideoConfig::high_rate() };
        let config = usual.with_clip_of(Nanos::from_ms(window_ms));
        let mut packets = Video::new(config, Nanos::ZERO, seed).unwrap().skip(skipped).peekable();
        let begun = packets.peek().unwrap().frame;
        let mut packets = packets.skip_while(|packet| packet.frame == begun).peekable();
        let first = packets.peek().unwrap().frame;
        let mut octets = 0_u64;
        let mut expected = (first, 0);
        for packet in packets.take_while(|packet| packet.frame < first + u64::from(config.clip)) {
            prop_assert_eq!((packet.frame, packet.index), expected);
            prop_assert!(packet.is_last() || packet.len_b == payload_b);
            prop_assert!((1..=payload_b - RTP_HEADER_LEN_B).contains(&packet.picture_b()));
            expected = if packet.is_last() { (packet.frame + 1, 0) } else { (packet.frame, packet.index + 1) };
            octets += packet.picture_b() as u64;
        }
        prop_assert_eq!(expected, (first + u64::from(config.clip), 0));
        let asked = rate_bps * u64::from(config.clip) / 8 / u64::from(fps);
        prop_assert!(octets.abs_diff(asked) <= u64::from(config.clip) + 1, "{} of {}", octets, asked);
    }
}
