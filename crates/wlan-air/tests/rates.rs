//! Rate control with A-MPDUs: the goodput of minstrel, misleading samples, and sampling under loss.

mod common;

use common::{ht_config, msdu, route};
use wlan_air::channel::{Channel, ChannelConfig, ErrorModel, Fading, PerPair, Snr};
use wlan_air::phy::{Band, GuardInterval, Mode};
use wlan_air::{Event, Hearing, Kind, Medium, MediumConfig, Nanos, Protection, RateControl, sim};

const MSDU_LEN_B: usize = 1508;

fn ht() -> Vec<Mode> {
    let mode = |mcs| Mode::ht(mcs, 20, GuardInterval::Long, Band::Ghz5).unwrap();
    (0..8).map(mode).collect()
}

fn vht() -> Vec<Mode> {
    let mode = |mcs| Mode::vht(mcs, 1, 80, GuardInterval::Short).unwrap();
    (0..10).map(mode).collect()
}

/// Stations with A-MPDUs at a given SNR.
fn config(modes: &[Mode], rate: RateControl, snr_db: f64) -> MediumConfig {
    let mut config = ht_config(modes[0], 2);
    for station in &mut config.stations {
        station.rate = rate.clone();
    }
    let channel = ChannelConfig {
        stations: 2,
        snr: Snr::Db(PerPair::Same(snr_db)),
        fading: Fading::None,
        error_model: ErrorModel::Nist,
        seed: 1,
    };
    config.channel = Some(Channel::new(&channel).unwrap());
    config
}

/// Goodput of one saturated station over 10 s, Mbit/s.
fn goodput_mbps(modes: &[Mode], rate: RateControl, snr_db: f64) -> f64 {
    let config = config(modes, rate, snr_db);
    sim::saturated(config, &[route(1, 0)], MSDU_LEN_B, Nanos::from_secs(10))
        .unwrap()
        .goodput_mbps(1500)
}

/// The goodput of minstrel relative to the best fixed rate.
fn share_of_best(modes: &[Mode], snr_db: f64) -> f64 {
    let fixed = modes
        .iter()
        .map(|mode| goodput_mbps(modes, RateControl::Fixed(*mode), snr_db));
    let best = fixed.fold(0.0, f64::max);
    let chosen = goodput_mbps(modes, RateControl::Minstrel(modes.to_vec()), snr_db);
    println!(
        "{} and faster, {snr_db} dB: {chosen:.2} of {best:.2} Mbit/s",
        modes[0]
    );
    chosen / best
}

#[test]
fn minstrel_reaches_the_best_fixed_rate_with_a_mpdus() {
    for (modes, snrs_db) in [
        (ht(), [5.0, 8.0, 11.0, 18.0, 25.0]),
        (vht(), [7.0, 12.0, 18.0, 25.0, 32.0]),
    ] {
        for snr_db in snrs_db {
            let share = share_of_best(&modes, snr_db);
            assert!(share > 0.95, "{}, {snr_db} dB: {share}", modes[0]);
        }
    }
}

/// At these SNRs, the rate above the best rate delivers some MPDUs. After two consecutive successful samples,
/// it appears best until the next estimates: minstrel_ht alternates between the two rates.
#[test]
fn a_lossy_best_rate_costs_minstrel_at_most_a_fifth() {
    for (modes, snrs_db) in [(ht(), [13.0, 16.0]), (vht(), [16.0, 21.0])] {
        for snr_db in snrs_db {
            let share = share_of_best(&modes, snr_db);
            assert!(share > 0.8, "{}, {snr_db} dB: {share}", modes[0]);
        }
    }
}

/// Stations that do not hear each other lose RTSs by collision. No other frame is lost, so all stations keep
/// the fastest rate.
#[test]
fn a_failed_rts_does_not_count_against_the_data_rate() {
    let modes = [6, 12, 24, 54].map(|mbps| Mode::ofdm(mbps).unwrap());
    let senders = 1..6;
    let mut config = common::config(1 + senders.len());
    for station in &mut config.stations {
        station.rate = RateControl::Minstrel(modes.to_vec());
        station.protection = Protection::RtsCts;
        station.access[0].retry_limit = 20;
    }
    let hears = |from, to| from == 0 || to == 0;
    let row = |from| (0..=senders.len()).map(|to| hears(from, to)).collect();
    config.hearing = Hearing::Matrix((0..=senders.len()).map(row).collect());
    let mut medium = Medium::new(config).unwrap();
    for from in senders {
        for _ in 0..10 {
            medium.enqueue(route(from, 0), msdu(Nanos::ZERO, MSDU_LEN_B, ()));
        }
    }
    let (mut failed, mut data, mut fastest) = (0, 0, 0);
    while medium.now() < Nanos::from_secs(5) {
        match medium.advance().expect("queues never run dry") {
            Event::PpduEnd { ppdu, received } if ppdu.kind == Kind::Rts => failed += u64::from(!received),
            Event::PpduStart(ppdu) if matches!(ppdu.kind, Kind::Data { .. }) => {
                data += 1;
                fastest += u64::from(ppdu.mode == modes[3]);
            }
            _ => {}
        }
        medium.deliver().for_each(drop);
        let completed: Vec<_> = medium
            .take_completions()
            .map(|completion| completion.station)
            .collect();
        for from in completed {
            let now = medium.now();
            medium.enqueue(route(from, 0), msdu(now, MSDU_LEN_B, ()));
        }
    }
    println!("{failed} RTSs failed, {fastest} of {data} data PPDUs at the fastest rate");
    assert!(failed > data / 3);
    assert!(fastest * 100 > data * 95);
}
