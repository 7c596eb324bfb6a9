//! Losses of the channel: lost MPDUs are retransmitted alone, and frames are delivered in order.

mod common;

use common::{config, ht_config, msdu, route};
use proptest::prelude::*;
use wlan_air::channel::{Channel, ChannelConfig, ErrorModel, Fading, PerPair, Snr};
use wlan_air::phy::{Band, GuardInterval, Mode};
use wlan_air::{Event, Kind, Medium, MediumConfig, Nanos, Outcome};

const MSDU_LEN_B: usize = 1508;

fn with_snr(mut config: MediumConfig, snr_db: f64, fading: Fading) -> MediumConfig {
    let channel = ChannelConfig {
        stations: config.stations.len(),
        snr: Snr::Db(PerPair::Same(snr_db)),
        fading,
        error_model: ErrorModel::Nist,
        seed: config.seed,
    };
    config.channel = Some(Channel::new(&channel).unwrap());
    config
}

/// The outcome of frames 0, 1, 2 ... from station 1 to station 0.
#[derive(Default)]
struct Sent {
    /// MPDUs of all PPDUs.
    mpdus: u64,
    delivered: Vec<usize>,
    given_up: Vec<usize>,
}

fn send(config: MediumConfig, frames: usize) -> (Sent, Medium<usize>) {
    let mut medium = Medium::new(config).unwrap();
    for frame in 0..frames {
        medium.enqueue(route(1, 0), msdu(Nanos::ZERO, MSDU_LEN_B, frame));
    }
    let mut sent = Sent::default();
    while let Some(event) = medium.advance() {
        if let Event::PpduStart(ppdu) = event
            && let Kind::Data { mpdus } = ppdu.kind
        {
            sent.mpdus += mpdus as u64;
        }
        sent.delivered.extend(medium.deliver().map(|(_, frame)| *frame));
        for completion in medium.take_completions() {
            if completion.outcome == Outcome::Retries {
                sent.given_up.push(completion.frame);
            }
        }
    }
    (sent, medium)
}

fn ht() -> Mode {
    Mode::ht(7, 20, GuardInterval::Long, Band::Ghz5).unwrap()
}

/// At 23.5 dB about one in ten MPDUs of 1538 octets is lost, and no control frame: each lost MPDU is
/// retransmitted once, and no other MPDU.
#[test]
fn only_lost_mpdus_are_retransmitted() {
    let mut config = with_snr(ht_config(ht(), 2), 23.5, Fading::None);
    config.stations[1].access[0].retry_limit = u8::MAX;
    let (sent, medium) = send(config, 200);
    assert_eq!(sent.delivered, (0..200).collect::<Vec<_>>());
    let station = medium.counters().stations[1];
    assert!(station.losses > 10, "{} losses", station.losses);
    assert_eq!(sent.mpdus, 200 + station.losses);
    assert_eq!((station.mpdus, station.msdus), (200, 200));
    assert_eq!(station.retries, station.losses);
    assert_eq!(station.collisions, 0);
}

/// The receiver delivers no frame after a gap until the missing frame arrives or is dropped.
#[test]
fn a_dropped_frame_releases_the_frames_after_it() {
    let mut config = with_snr(ht_config(ht(), 2), 23.0, Fading::None);
    config.stations[1].access[0].retry_limit = 2;
    let (sent, medium) = send(config, 200);
    assert!(sent.given_up.len() > 5, "{:?}", sent.given_up);
    assert!(sent.delivered.is_sorted());
    let mut all: Vec<usize> = sent.delivered.iter().chain(&sent.given_up).copied().collect();
    all.sort_unstable();
    assert_eq!(all, (0..200).collect::<Vec<_>>());
    assert_eq!(
        medium.counters().stations[1].drops_retry,
        sent.given_up.len() as u64
    );
}

/// The fraction of MPDUs that a saturated station loses equals the error model's probability.
#[test]
fn the_error_rate_agrees_with_the_model() {
    for snr_db in [22.8, 23.5, 24.0] {
        let mut config = with_snr(ht_config(ht(), 2), snr_db, Fading::None);
        config.stations[1].access[0].retry_limit = u8::MAX;
        config.stations[1].queue_limit = 4000;
        let channel = config.channel.clone().unwrap();
        let expected = 1.0 - channel.mpdu_success(1, 0, &ht(), Nanos::ZERO, MSDU_LEN_B + 30);
        let (sent, medium) = send(config, 4000);
        let share = medium.counters().stations[1].losses as f64 / sent.mpdus as f64;
        // Four standard deviations.
        let chance = 4.0 * (expected * (1.0 - expected) / sent.mpdus as f64).sqrt();
        assert!(
            (share - expected).abs() < chance,
            "{snr_db} dB: {share}, {expected}"
        );
    }
}

proptest! {
    /// For any loss of data or answers, the order is kept, no frame arrives twice, and no frame vanishes.
    #[test]
    fn losses_do_not_reorder_frames(
        seed: u64,
        snr_db in 3.0..26.0,
        aggregated in 0..3usize,
        amsdu: bool,
        rayleigh: bool,
        retry_limit in 1..20u8,
        frames in 1..120usize,
    ) {
        let vht = Mode::vht(7, 1, 20, GuardInterval::Long).unwrap();
        let mut config = [config(2), ht_config(ht(), 2), ht_config(vht, 2)][aggregated].clone();
        config.seed = seed;
        let station = &mut config.stations[1];
        station.queue_limit = 200;
        station.access[0].retry_limit = retry_limit;
        if aggregated > 0 {
            station.aggregation.max_amsdu_len_b = if amsdu { 3839 } else { 0 };
        }
        let fading = if rayleigh {
            Fading::Rayleigh { coherence_time: Nanos::from_ms(3) }
        } else {
            Fading::None
        };
        let (sent, medium) = send(with_snr(config, snr_db, fading), frames);
        prop_assert!(sent.delivered.is_sorted_by(|a, b| a < b), "{:?}", sent.delivered);
        // A frame whose answers were all lost is dropped by its sender although it arrived.
        let mut all: Vec<usize> = sent.delivered.iter().chain(&sent.given_up).copied().collect();
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all, (0..frames).collect::<Vec<_>>());
        let station = medium.counters().stations[1];
        prop_assert_eq!(station.msdus, sent.delivered.len() as u64);
        prop_assert_eq!(station.drops_retry, sent.given_up.len() as u64);
        prop_assert!(sent.mpdus >= station.mpdus + station.losses);
        prop_assert_eq!(medium.queue_len(1), 0);
    }
}
