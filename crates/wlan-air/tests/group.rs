//! Group-addressed frames: their receivers, their airtime and the contender of beacons.

mod common;

use common::{LEN_B, channel, config, exchange, group, ht_config, msdu, ppdus, route, us};
use wlan_air::phy::{Band, GuardInterval, Mode};
use wlan_air::{
    Access, Category, ConfigError, Event, Framing, Hearing, Kind, Medium, MediumConfig, Nanos, Outcome,
    Protection, Route,
};

/// Executes all events, and returns the receivers of each delivered frame.
fn receivers(medium: &mut Medium<char>) -> Vec<(char, Vec<usize>)> {
    let mut received = Vec::new();
    while medium.advance().is_some() {
        received.extend(
            medium
                .deliver()
                .map(|(delivery, frame)| (*frame, delivery.receivers.to_vec())),
        );
    }
    received
}

/// 100 octets of body and 28 of MAC header and FCS at 6 Mbit/s: 44 symbols of 4 us and 20 us of preamble.
const GROUP_100_B: Nanos = Nanos::from_us(196);

/// No Ack follows, and the frame reserves no time. It completes when its PPDU ends.
#[test]
fn a_group_frame_is_sent_once_at_the_basic_rate_and_completes_with_its_ppdu() {
    let mut medium = Medium::new(config(3)).unwrap();
    medium.enqueue(group(0), msdu(us(1000), 100, 'a'));
    let Some(Event::PpduStart(ppdu)) = medium.advance() else {
        panic!("the medium was idle");
    };
    assert_eq!((ppdu.receiver, ppdu.kind), (None, Kind::Data { mpdus: 1 }));
    assert_eq!((ppdu.mode, ppdu.psdu_len_b), (Mode::ofdm(6).unwrap(), 128));
    assert_eq!(ppdu.end, us(1000) + GROUP_100_B);
    assert_eq!(medium.duration(0), Nanos::ZERO);
    assert_eq!(medium.on_air(0).count(), 1);

    assert_eq!(medium.advance(), Some(Event::PpduEnd { ppdu, received: true }));
    assert_eq!(medium.now(), ppdu.end);
    let delivered: Vec<_> = medium
        .deliver()
        .map(|(delivery, frame)| {
            assert_eq!((delivery.route, delivery.retries), (group(0), 0));
            (*frame, delivery.receivers.to_vec())
        })
        .collect();
    assert_eq!(delivered, [('a', vec![1, 2])]);
    let completions: Vec<_> = medium.take_completions().collect();
    assert_eq!(completions.len(), 1);
    assert_eq!((completions[0].station, completions[0].frame), (0, 'a'));
    assert_eq!(
        (completions[0].outcome, completions[0].transmissions),
        (Outcome::Sent, 1)
    );
    assert!(!medium.is_busy());
    assert_eq!((medium.next_event(), medium.queue_len(0)), (None, 0));

    let counters = medium.counters();
    assert_eq!(counters.airtime.busy(), GROUP_100_B);
    let sender = counters.stations[0];
    assert_eq!(
        (sender.txops, sender.msdus, sender.mpdus, sender.octets),
        (1, 1, 1, 128)
    );
    assert_eq!((sender.collisions, sender.losses, sender.retries), (0, 0, 0));
}

/// The next frame of any station waits for DIFS: the group-addressed frame set no NAV. The next frame of the
/// sender waits for a backoff as well, with CWmin.
#[test]
fn a_backoff_follows_a_group_frame() {
    let end = us(1000) + GROUP_100_B;
    let mut seen = [false; 16];
    for seed in 0..400 {
        let mut medium = Medium::new(MediumConfig { seed, ..config(3) }).unwrap();
        medium.enqueue(group(0), msdu(us(1000), 100, 'a'));
        exchange(&mut medium);
        let mut other = Medium::new(MediumConfig { seed, ..config(3) }).unwrap();
        other.enqueue(group(0), msdu(us(1000), 100, 'a'));
        exchange(&mut other);
        other.enqueue(route(1, 0), msdu(end, 100, 'b'));
        assert_eq!(other.next_event(), Some(end + us(34)));

        medium.enqueue(route(0, 1), msdu(end, 100, 'b'));
        let slots = (medium.next_event().unwrap() - end - us(34)).0;
        assert!(slots.is_multiple_of(9000));
        seen[usize::try_from(slots / 9000).unwrap()] = true;
    }
    assert_eq!(seen, [true; 16]);
}

/// Station 3 does not hear station 0. Station 2 hears both stations 0 and 3, so it receives neither frame if
/// they overlap. Station 1 hears only station 0.
fn partly_hidden() -> MediumConfig {
    let mut config = config(4);
    let heard = [(0, 1), (0, 2), (3, 2), (1, 0), (2, 0), (2, 3)];
    let row = |a| (0..4).map(|b| heard.contains(&(a, b))).collect();
    config.hearing = Hearing::Matrix((0..4).map(row).collect());
    config
}

#[test]
fn every_station_that_hears_a_group_frame_without_a_collision_receives_it() {
    let mut medium = Medium::new(partly_hidden()).unwrap();
    medium.enqueue(group(0), msdu(us(1000), 100, 'a'));
    assert_eq!(receivers(&mut medium), [('a', vec![1, 2])]);

    let mut medium = Medium::new(partly_hidden()).unwrap();
    medium.enqueue(group(0), msdu(us(1000), 100, 'a'));
    assert!(matches!(medium.advance(), Some(Event::PpduStart(_))));
    medium.enqueue(group(3), msdu(us(1050), 100, 'b'));
    assert_eq!(receivers(&mut medium), [('a', vec![1])]);
    let counters = medium.counters();
    assert_eq!(
        (counters.stations[0].mpdus, counters.stations[0].collisions),
        (1, 0)
    );
    assert_eq!(
        (counters.stations[3].mpdus, counters.stations[3].collisions),
        (0, 1)
    );
    let sent = medium
        .take_completions()
        .filter(|completion| completion.outcome == Outcome::Sent && completion.transmissions == 1);
    assert_eq!(sent.count(), 2, "no group-addressed frame is retransmitted");
}

/// A transmitting station receives nothing.
#[test]
fn group_frames_that_start_together_reach_no_sender() {
    let mut medium = Medium::new(config(3)).unwrap();
    medium.enqueue(group(0), msdu(us(1000), 100, 'a'));
    medium.enqueue(group(1), msdu(us(1000), 100, 'b'));
    assert_eq!(receivers(&mut medium), []);
    assert_eq!(medium.counters().collisions, 1);
}

/// The channel decides separately for each receiver.
#[test]
fn the_channel_loses_a_group_frame_per_receiver() {
    let mut clear_and_lost = config(3);
    let mut snr_db = vec![vec![40.0; 3]; 3];
    snr_db[0][2] = -20.0;
    clear_and_lost.channel = Some(channel(snr_db));
    let mut medium = Medium::new(clear_and_lost).unwrap();
    medium.enqueue(group(0), msdu(us(1000), 100, 'a'));
    assert_eq!(receivers(&mut medium), [('a', vec![1])]);

    // At this SNR, about half of the frames of 1536 octets arrive at 6 Mbit/s.
    let mode = Mode::ofdm(6).unwrap();
    let of_snr = |snr_db| channel(vec![vec![snr_db; 3]; 3]);
    let chance = |snr_db| of_snr(snr_db).mpdu_success(0, 1, &mode, Nanos::ZERO, LEN_B + 28);
    let steps = (0..1000).map(|step| f64::from(step) / 100.0 - 5.0);
    let snr_db = steps.into_iter().find(|snr_db| chance(*snr_db) > 0.5).unwrap();
    let mut lossy = config(3);
    lossy.stations[0].queue_limit = 1000;
    lossy.channel = Some(of_snr(snr_db));
    let mut medium = Medium::new(lossy).unwrap();
    for _ in 0..1000 {
        medium.enqueue(group(0), msdu(us(1000), LEN_B, 'a'));
    }
    let received = receivers(&mut medium);
    let count = |receivers: &[usize]| received.iter().filter(|(_, of)| of == receivers).count();
    // A quarter each; the last quarter reaches no station.
    for receivers in [&[1][..], &[2], &[1, 2]] {
        assert!((180..320).contains(&count(receivers)), "{receivers:?}");
    }
    let sender = medium.counters().stations[0];
    assert_eq!(sender.mpdus, received.len() as u64);
    assert_eq!(sender.losses, 1000 - sender.mpdus);
}

/// Neither A-MPDUs, A-MSDUs, fragments, an RTS nor a CTS-to-self are used, whatever the configuration says.
#[test]
fn group_frames_are_neither_aggregated_nor_fragmented_nor_protected() {
    let mode = Mode::ht(7, 20, GuardInterval::Long, Band::Ghz5).unwrap();
    let mut aggregates = ht_config(mode, 3);
    aggregates.stations[0].aggregation.max_amsdu_len_b = 3839;
    aggregates.stations[0].rts_threshold_b = Some(0);
    let mut fragments = config(3);
    fragments.stations[0].fragmentation_threshold_b = Some(256);
    fragments.stations[0].protection = Protection::CtsToSelf;
    for config in [aggregates, fragments] {
        let mut medium = Medium::new(config).unwrap();
        for _ in 0..3 {
            medium.enqueue(group(0), msdu(us(1000), 500, 'a'));
        }
        let ppdus = ppdus(&mut medium);
        assert_eq!(ppdus.len(), 3);
        for ppdu in ppdus {
            assert_eq!((ppdu.kind, ppdu.receiver), (Kind::Data { mpdus: 1 }, None));
            assert_eq!(ppdu.mode, Mode::ofdm(6).unwrap());
        }
    }
}

/// Group-addressed frames have a queue of their own, and share the TXOP with other frames.
#[test]
fn a_group_frame_may_continue_a_txop() {
    let mut config = config(2);
    config.stations[0].access = vec![Access::edca(Category::Vi)];
    let mut medium = Medium::new(config).unwrap();
    medium.enqueue(group(0), msdu(us(1000), 100, 'a'));
    assert!(matches!(medium.advance(), Some(Event::PpduStart(_))));
    medium.enqueue(route(0, 1), msdu(us(1050), 100, 'b'));
    medium.enqueue(group(0), msdu(us(1060), 100, 'c'));
    let ppdus = ppdus(&mut medium);
    let kinds: Vec<_> = ppdus.iter().map(|ppdu| (ppdu.kind, ppdu.receiver)).collect();
    let data = Kind::Data { mpdus: 1 };
    assert_eq!(kinds, [(data, Some(1)), (Kind::Ack, Some(0)), (data, None)]);
    assert_eq!(ppdus[0].start, us(1000) + GROUP_100_B + us(16), "a SIFS");
    assert_eq!(ppdus[2].start, ppdus[1].end + us(16), "a SIFS");
    assert_eq!(medium.counters().stations[0].txops, 1);
}

/// An access point with four access categories, and a contender for its beacons.
fn access_point(stations: usize) -> MediumConfig {
    let mut config = config(stations);
    config.stations[0].access = [Category::Bk, Category::Be, Category::Vi, Category::Vo]
        .map(Access::edca)
        .to_vec();
    config.stations[0].access.push(Access::beacon());
    config
}

const BEACON: Route = Route {
    from: 0,
    to: None,
    contender: 4,
};

#[test]
fn a_beacon_starts_a_pifs_after_the_medium_becomes_idle() {
    for seed in 0..50 {
        let config = MediumConfig {
            seed,
            ..access_point(3)
        };
        let mut medium = Medium::new(config).unwrap();
        for turn in 0..20 {
            let at = us(5000 * (turn + 1));
            medium.enqueue(route(1, 0), msdu(at, LEN_B, 'd'));
            assert!(matches!(medium.advance(), Some(Event::PpduStart(ppdu)) if ppdu.sender == 1));
            // Voice of the access point and a frame of another station wait as well.
            medium.enqueue(BEACON, msdu(at + us(10), 100, 'b'));
            let voice = Route {
                contender: 3,
                ..route(0, 2)
            };
            medium.enqueue(voice, msdu(at + us(10), 100, 'v'));
            medium.enqueue(route(2, 0), msdu(at + us(10), 100, 's'));
            let ppdus = ppdus(&mut medium);
            assert_eq!(ppdus[0].kind, Kind::Ack);
            assert_eq!((ppdus[1].sender, ppdus[1].receiver), (0, None));
            assert_eq!(ppdus[1].start, ppdus[0].end + us(16 + 9), "PIFS");
        }
    }
}

/// The backoff of a beacon is zero slots, so it has ended when the next beacon is due.
#[test]
fn a_beacon_on_an_idle_medium_starts_at_once() {
    let mut medium = Medium::new(access_point(2)).unwrap();
    for at in [us(1000), us(103_400), us(205_800)] {
        medium.enqueue(BEACON, msdu(at, 100, 'b'));
        assert_eq!(ppdus(&mut medium)[0].start, at);
    }
    // A beacon that becomes due together with the access point's own voice precedes it, and is no collision.
    let voice = Route {
        contender: 3,
        ..route(0, 1)
    };
    medium.enqueue(voice, msdu(us(400_000), 100, 'v'));
    medium.enqueue(BEACON, msdu(us(400_000), 100, 'b'));
    let ppdus = ppdus(&mut medium);
    assert_eq!((ppdus[0].receiver, ppdus[0].start), (None, us(400_000)));
    assert_eq!(ppdus[1].receiver, Some(1));
    assert_eq!(medium.counters().collisions, 0);
}

#[test]
fn the_contender_of_beacons_is_no_access_category() {
    let with = |access: Vec<Access>| {
        let mut config = config(2);
        config.stations[0].access = access;
        Medium::<()>::new(config).map(drop)
    };
    let categories = [Access::edca(Category::Vo); 4];
    let beacon = vec![Access::beacon()];
    assert_eq!(with([&categories[..], &beacon].concat()), Ok(()));
    assert_eq!(with([&[Access::dcf()][..], &beacon].concat()), Ok(()));
    assert_eq!(with(beacon.clone()), Err(ConfigError::AccessCategories(0)));
    assert_eq!(
        with([&categories[..], &[Access::dcf()], &beacon].concat()),
        Err(ConfigError::AccessCategories(5))
    );
}

/// A driver of whole MPDUs configures only the FCS.
#[test]
fn the_framing_may_be_the_fcs_only() {
    let mut config = config(2);
    config.stations[0].framing = Framing {
        mac_b: 4,
        security_b: 0,
        security_of_msdu_b: 0,
    };
    let mut medium = Medium::new(config).unwrap();
    medium.enqueue(route(0, 1), msdu(us(1000), 24 + LEN_B, 'a'));
    let frame = ppdus(&mut medium)[0];
    assert_eq!((frame.psdu_len_b, frame.end), (24 + LEN_B + 4, us(1248)));
    medium.enqueue(group(0), msdu(us(5000), 24 + 100, 'b'));
    let frame = ppdus(&mut medium)[0];
    assert_eq!((frame.psdu_len_b, frame.end), (128, us(5000) + GROUP_100_B));
}
