//! TXOPs with several exchanges, fragment bursts, and several access categories in one station.

mod common;

use common::{LEN_B, config, ht_config, msdu, route, us};
use wlan_air::phy::{Band::Ghz5, GuardInterval::Long, Mode};
use wlan_air::queue::{Discipline, FqCodelConfig};
use wlan_air::{Access, Aggregation, Category, Event, Kind, Medium, Protection};

#[test]
fn a_txop_continues_while_the_next_exchange_fits() {
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
    // Data 228 us, SIFS, Ack 28 us, SIFS: ten exchanges last 2864 us, eleven 3152 us; the limit is 3008 us.
    assert_eq!(bursts[1..], [10, 10, 10]);
}

/// With A-MPDUs and any protection, a TXOP never exceeds its limit and uses most of it (10.23.2.9).
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

/// An MSDU of 1500 octets at a threshold of 1000 is sent as a fragment of 972 octets and the rest, a SIFS
/// apart and each acknowledged. Security fields do not count (dot11FragmentationThreshold).
#[test]
fn an_msdu_above_the_threshold_is_fragmented() {
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
    let second = mode.ppdu_duration(1008) + us(16 + 28 + 16);
    let rest_b = LEN_B - 972 + 36;
    assert_eq!(ppdus[0], (Kind::Data { mpdus: 1 }, 1008, us(0)));
    assert_eq!(ppdus[2], (Kind::Data { mpdus: 1 }, rest_b, second));
    assert_eq!((ppdus.len(), delivered), (4, vec!['x']));
}

/// 9.2.5.2: a fragment reserves the medium for its Ack, the next fragment and the Ack of that fragment. Its
/// Ack reserves the rest of this time. The last fragment reserves only the time of its own Ack.
#[test]
fn fragments_reserve_the_medium_for_the_next_fragment() {
    let mut config = config(2);
    config.stations[0].fragmentation_threshold_b = Some(1000);
    let mut medium = Medium::new(config).unwrap();
    medium.enqueue(route(0, 1), msdu(us(1000), LEN_B, ()));
    let mut durations = Vec::new();
    while let Some(event) = medium.advance() {
        medium.deliver().for_each(drop);
        if let Event::PpduStart(ppdu) = event {
            durations.push(medium.duration(ppdu.sender));
        }
    }
    let (answer, rest) = (
        us(16 + 28),
        Mode::ofdm(54).unwrap().ppdu_duration(LEN_B - 972 + 28),
    );
    let after_ack = us(16) + rest + answer;
    assert_eq!(durations, [answer + after_ack, after_ack, answer, us(0)]);
}

/// The current fragment is known from its start until it is settled, so that a driver can build its MPDU.
#[test]
fn the_driver_can_identify_the_fragment_on_the_air() {
    let mut config = config(2);
    config.stations[0].fragmentation_threshold_b = Some(500);
    let mut medium = Medium::new(config).unwrap();
    medium.enqueue(route(0, 1), msdu(us(1000), 1000, 'x'));
    let mut parts = Vec::new();
    assert_eq!(medium.fragment(0), None);
    while let Some(event) = medium.advance() {
        medium.deliver().for_each(drop);
        let ppdu = match event {
            Event::PpduStart(ppdu) | Event::PpduEnd { ppdu, .. } => ppdu,
            _ => continue,
        };
        if let Kind::Data { .. } = ppdu.kind {
            let (frame, part) = medium.fragment(0).unwrap();
            parts.push((*frame, part.number, part.start_b, part.len_b, part.last));
        }
    }
    let expected = [
        ('x', 0, 0, 472, false),
        ('x', 1, 472, 472, false),
        ('x', 2, 944, 56, true),
    ];
    assert_eq!(parts, expected.map(|part| [part; 2]).concat());
    assert_eq!(medium.fragment(0), None);
}

/// 10.4: MSDUs under an HT-immediate block ack agreement are not fragmented.
#[test]
fn an_ampdu_has_no_fragments() {
    let mode = Mode::ht(7, 20, Long, Ghz5).unwrap();
    let mut config = ht_config(mode, 2);
    config.stations[0].fragmentation_threshold_b = Some(500);
    let mut medium = Medium::new(config).unwrap();
    for _ in 0..4 {
        medium.enqueue(route(0, 1), msdu(us(1000), LEN_B, ()));
    }
    let mut delivered = 0;
    while medium.advance().is_some() {
        assert_eq!(medium.fragment(0), None);
        delivered += medium.deliver().count();
    }
    assert_eq!(delivered, 4);
    assert_eq!(medium.counters().stations[0].mpdus, 4);
}

/// The rest of an MSDU is sent before a frame to another receiver (10.4).
#[test]
fn another_receiver_does_not_interrupt_a_fragment_burst() {
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
fn in_an_internal_collision_the_higher_category_wins() {
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
        medium.take_completions();
    }
    let counters = medium.counters();
    assert_eq!(
        counters.collisions, 0,
        "a station must not collide with itself on the air"
    );
    assert!(shares[1] > shares[0], "{shares:?}");
}

/// An AP serves its stations in turn. A station loses its turn neither to an A-MPDU that does not fit the
/// rest of a TXOP nor to a short A-MPDU that does.
#[test]
fn stations_have_equal_shares_of_txops() {
    let mode = Mode::ht(7, 20, Long, Ghz5).unwrap();
    for (stations, limit) in [(2, us(3008)), (4, us(3008)), (4, us(6016)), (5, us(1504))] {
        let mut config = ht_config(mode, stations + 1);
        let ap = &mut config.stations[0];
        ap.access = vec![Access {
            txop_limit: limit,
            ..Access::edca(Category::Be)
        }];
        ap.discipline = Discipline::FqCodel(FqCodelConfig::mac80211());
        ap.queue_limit = 8192;
        let routes: Vec<_> = (1..=stations).map(|to| route(0, to)).collect();
        let mut medium = Medium::new(config).unwrap();
        let mut delivered = vec![0_u32; stations + 1];
        for route in &routes {
            for _ in 0..500 {
                medium.enqueue(*route, msdu(us(0), LEN_B, route.to.unwrap()));
            }
        }
        while let Some(event) = medium.advance() {
            for (delivery, to) in medium.deliver() {
                assert_eq!(delivery.receivers, [*to]);
                delivered[*to] += 1;
            }
            medium.take_completions().for_each(drop);
            if let Event::PpduEnd { ppdu, .. } = event
                && ppdu.end > us(200_000)
            {
                break;
            }
        }
        let shares = &delivered[1..];
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        // An HT A-MPDU has at most 42 of these MPDUs: the largest lead is one TXOP.
        assert!(most - least <= 42 && *least > 42, "{limit}: {shares:?}");
    }
}
