//! TXOPs of several exchanges, fragment bursts, and access categories within one station.

mod common;

use common::{LEN_B, config, ht_config, msdu, route, us};
use wlan_air::phy::{Band::Ghz5, GuardInterval::Long, Mode};
use wlan_air::queue::{Discipline, FqCodelConfig};
use wlan_air::{Access, Aggregation, Category, Event, Kind, Medium, Protection};

#[test]
fn a_txop_goes_on_as_long_as_its_limit_has_room() {
    let mode = Mode::ht(7, 20, Long, Ghz5).unwrap();
    let mut config = ht_config(mode, 2);
    config.stations[0].access = vec![Access::edca(Category::Vi)];
    config.stations[0].aggregation = Aggregation::NONE;
    let mut medium = Medium::new(config).unwrap();
    for _ in 0..40 {
        medium.enqueue(route(0, 1), msdu(us(0), 1506, ()));
    }
    let mut last_idle = us(0);
    let mut burst = 0;
    let mut bursts = Vec::new();
    while let Some(event) = medium.advance() {
        medium.deliver().for_each(drop);
        match event {
            Event::PpduStart(ppdu) if matches!(ppdu.kind, Kind::Data { .. }) => {
                if ppdu.start == last_idle + us(16) {
                    burst += 1;
                } else {
                    bursts.push(burst);
                    burst = 1;
                }
            }
            Event::PpduEnd { ppdu, .. } => last_idle = ppdu.end,
            _ => {}
        }
    }
    // Data 228, SIFS, Ack 28, SIFS: ten exchanges last 2864 us, eleven 3152 us of 3008.
    assert_eq!(bursts[1..], [10, 10, 10]);
}

/// With A-MPDUs, and whatever stands before them, a TXOP never outlasts its limit, and uses most of it (10.23.2.9).
#[test]
fn ampdus_fit_the_txop_limit() {
    let mode = Mode::ht(7, 20, Long, Ghz5).unwrap();
    for protection in [Protection::None, Protection::CtsToSelf, Protection::RtsCts] {
        for limit in [us(1504), us(3008), us(7000)] {
            for msdu_b in [300, 1506] {
                let mut config = ht_config(mode, 2);
                config.stations[0].protection = protection;
                config.stations[0].queue_limit = 1000;
                config.stations[0].access = vec![Access {
                    txop_limit: limit,
                    ..Access::edca(Category::Vi)
                }];
                let mut medium = Medium::new(config).unwrap();
                for _ in 0..1000 {
                    medium.enqueue(route(0, 1), msdu(us(0), msdu_b, ()));
                }
                let (mut start, mut last_end) = (us(0), us(0));
                let mut txops = Vec::new();
                while let Some(event) = medium.advance() {
                    medium.deliver().for_each(drop);
                    if let Event::PpduEnd { ppdu, .. } = event {
                        if ppdu.start > last_end + us(16) {
                            txops.push(last_end.saturating_sub(start));
                            start = ppdu.start;
                        }
                        last_end = ppdu.end;
                    }
                }
                let case = format!("{protection:?} {limit} {msdu_b}");
                assert!(txops.len() > 2, "{case}");
                let longest = txops.iter().max().unwrap();
                assert!(txops.iter().all(|txop| *txop <= limit), "{case}: {longest}");
                assert!(*longest + us(450) > limit, "{case}: {longest}");
            }
        }
    }
}

/// Of 1500 octets at a threshold of 1000: two fragments of 964 and the rest, a SIFS apart, each acknowledged.
#[test]
fn an_msdu_above_the_threshold_goes_in_fragments() {
    let mut config = config(2);
    config.stations[0].fragmentation_threshold_b = Some(1000);
    config.stations[0].framing.security_b = 8;
    let mut medium = Medium::new(config).unwrap();
    medium.enqueue(route(0, 1), msdu(us(1000), LEN_B, 'x'));
    let mode = Mode::ofdm(54).unwrap();
    let mut ppdus = Vec::new();
    let mut delivered = Vec::new();
    while let Some(event) = medium.advance() {
        delivered.extend(medium.deliver().map(|(_, frame)| *frame));
        if let Event::PpduEnd { ppdu, .. } = event {
            ppdus.push((ppdu.kind, ppdu.psdu_len_b, ppdu.start - us(1000)));
        }
    }
    let second = mode.ppdu_duration(1000) + us(16 + 28 + 16);
    let rest_b = LEN_B - 964 + 36;
    assert_eq!(ppdus[0], (Kind::Data { mpdus: 1 }, 1000, us(0)));
    assert_eq!(ppdus[2], (Kind::Data { mpdus: 1 }, rest_b, second));
    assert_eq!((ppdus.len(), delivered), (4, vec!['x']));
}

/// The rest of an MSDU goes before another receiver's turn comes (10.4).
#[test]
fn a_fragment_burst_is_not_broken_by_another_receiver() {
    for discipline in [Discipline::Fifo, Discipline::FqCodel(FqCodelConfig::mac80211())] {
        let mut config = config(3);
        config.stations[0].fragmentation_threshold_b = Some(600);
        config.stations[0].discipline = discipline;
        let mut medium = Medium::new(config).unwrap();
        for _ in 0..3 {
            for to in [1, 2] {
                medium.enqueue(route(0, to), msdu(us(0), LEN_B, ()));
            }
        }
        let mut receivers = Vec::new();
        while let Some(event) = medium.advance() {
            medium.deliver().for_each(drop);
            if let Event::PpduEnd { ppdu, .. } = event
                && matches!(ppdu.kind, Kind::Data { .. })
            {
                receivers.extend(ppdu.receiver);
            }
        }
        assert_eq!(receivers.len(), 18, "three fragments each");
        for burst in receivers.chunks(3) {
            assert!(
                burst.iter().all(|to| *to == burst[0]),
                "{discipline:?}: {receivers:?}"
            );
        }
    }
}

#[test]
fn a_category_that_collides_within_its_station_yields_to_the_higher_one() {
    let mode = Mode::ht(7, 20, Long, Ghz5).unwrap();
    let mut config = ht_config(mode, 2);
    config.stations[0].access = vec![Access::edca(Category::Be), Access::edca(Category::Vo)];
    let mut shares = [0; 2];
    let mut medium = Medium::new(config).unwrap();
    let route = |contender| wlan_air::Route {
        contender,
        ..route(0, 1)
    };
    for _ in 0..200 {
        for contender in 0..2 {
            medium.enqueue(route(contender), msdu(medium.now(), 1500, ()));
        }
        for _ in 0..4 {
            medium.advance();
            for (delivery, ()) in medium.deliver() {
                shares[delivery.route.contender] += 1;
            }
        }
        medium.take_gone();
    }
    let counters = medium.counters();
    assert_eq!(
        counters.collisions, 0,
        "a station does not collide with itself on the air"
    );
    assert!(shares[1] > shares[0], "{shares:?}");
}
