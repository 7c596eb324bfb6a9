//! Properties of the medium for arbitrary stations and traffic.

mod common;

use common::{config, ht_config, msdu, route};
use proptest::prelude::*;
use wlan_air::phy::{Band, GuardInterval, Mode};
use wlan_air::{Aggregation, Event, Hearing, Kind, Medium, MediumConfig, Nanos, Outcome, Protection};

/// A frame with its number and its driver's observations.
#[derive(Clone, Debug, Default)]
struct Frame {
    number: usize,
    sealed: bool,
    delivered: bool,
}

/// Drives a medium as a simulator does, and checks every rule that holds for all traffic.
struct Checker {
    medium: Medium<Frame>,
    last: Nanos,
    /// By sender and receiver: the last delivered number.
    delivered: Vec<Vec<Option<usize>>>,
    deliveries: usize,
    completed: Vec<Outcome>,
}

impl Checker {
    fn new(config: MediumConfig) -> Checker {
        let stations = config.stations.len();
        Checker {
            medium: Medium::new(config).unwrap(),
            last: Nanos::ZERO,
            delivered: vec![vec![None; stations]; stations],
            deliveries: 0,
            completed: Vec::new(),
        }
    }

    fn step(&mut self) {
        let Checker {
            medium,
            last,
            delivered,
            deliveries,
            completed,
        } = self;
        let expected = medium.next_event().unwrap();
        let event = medium.advance().unwrap();
        assert!(
            expected >= *last && expected < Nanos::from_secs(100),
            "the events never end"
        );
        *last = expected;
        match event {
            Event::PpduStart(ppdu) => {
                assert!(ppdu.start == expected && ppdu.end > expected);
                let on_air = medium
                    .on_air(ppdu.sender)
                    .map(|frame| frame.sealed = true)
                    .count();
                match ppdu.kind {
                    Kind::Data { mpdus } => assert!(on_air >= mpdus && mpdus > 0),
                    _ => assert_eq!(on_air, 0),
                }
            }
            Event::PpduEnd { ppdu, .. } => assert_eq!(ppdu.end, expected),
            Event::Elapsed { at } => assert_eq!(at, expected),
        }
        for (delivery, frame) in medium.deliver() {
            assert!(
                frame.sealed && !frame.delivered,
                "a frame is sent before it arrives, and arrives once"
            );
            frame.delivered = true;
            *deliveries += 1;
            let to = delivery.route.to.unwrap();
            assert_eq!(delivery.receivers, [to]);
            let before = &mut delivered[delivery.route.from][to];
            assert!(
                before.is_none_or(|before| before < frame.number),
                "first in, first out"
            );
            *before = Some(frame.number);
        }
        for left in medium.take_completions() {
            match left.outcome {
                Outcome::Sent => assert!(left.frame.delivered),
                Outcome::Queue => assert!(!left.frame.delivered),
                Outcome::Retries => {}
            }
            completed.push(left.outcome);
        }
    }
}

fn any_config() -> impl Strategy<Value = MediumConfig> {
    let ht = || Mode::ht(7, 20, GuardInterval::Long, Band::Ghz5).unwrap();
    let vht = || Mode::vht(9, 2, 80, GuardInterval::Short).unwrap();
    let base = prop_oneof![
        Just(config(1)),
        Just(ht_config(ht(), 1)),
        Just(ht_config(vht(), 1)),
    ];
    let station = (
        1..40usize,
        any::<bool>(),
        any::<bool>(),
        prop::option::of(0..2000usize),
        prop::option::of(128..600usize),
        0..3u8,
        1..8u8,
    );
    (
        base,
        station,
        2..6usize,
        any::<u64>(),
        any::<bool>(),
        any::<u32>(),
    )
        .prop_map(
            |(
                mut config,
                (queue_limit, ampdu, amsdu, rts, fragments, protection, retry_limit),
                stations,
                seed,
                eifs,
                deaf,
            )| {
                let station = &mut config.stations[0];
                station.queue_limit = queue_limit;
                station.access[0].retry_limit = retry_limit;
                station.access[0].cw_min = 3;
                station.rts_threshold_b = rts;
                if !ampdu {
                    station.aggregation = Aggregation::NONE;
                }
                if station.aggregation == Aggregation::NONE {
                    station.fragmentation_threshold_b = fragments.map(|half| 2 * half);
                } else {
                    station.aggregation.max_amsdu_len_b = if amsdu { 3839 } else { 0 };
                }
                station.protection =
                    [Protection::None, Protection::CtsToSelf, Protection::RtsCts][usize::from(protection)];
                config.stations = vec![config.stations[0].clone(); stations];
                config.seed = seed;
                config.eifs = eifs;
                if deaf.is_multiple_of(2) {
                    let hears = |a: usize, b: usize| a == 0 || b == 0 || deaf >> ((a + b) % 32) & 1 == 0;
                    let rows = (0..stations).map(|a| (0..stations).map(|b| hears(a, b)).collect());
                    config.hearing = Hearing::Matrix(rows.collect());
                }
                config
            },
        )
}

proptest! {
    /// Every frame leaves once: delivered, or dropped at the retry limit or by the queue. Each route keeps
    /// its order, and time never decreases.
    #[test]
    fn no_frame_is_lost_duplicated_or_reordered(
        config in any_config(),
        traffic in prop::collection::vec((0..6usize, 0..6usize, 0..300_000u64, 28..2304usize), 1..200),
    ) {
        let stations = config.stations.len();
        let mut checker = Checker::new(config);
        let mut at = Nanos::ZERO;
        for (number, &(from, to, gap_ns, len_b)) in traffic.iter().enumerate() {
            let from = from % stations;
            let to = (from + 1 + to % (stations - 1)) % stations;
            at += Nanos(gap_ns);
            while checker.medium.next_event().is_some_and(|event| event < at) {
                checker.step();
            }
            let frame = Frame { number, ..Frame::default() };
            checker.medium.enqueue(route(from, to), msdu(at, len_b, frame));
        }
        while checker.medium.next_event().is_some() {
            checker.step();
        }
        prop_assert!(!checker.medium.is_busy());
        prop_assert_eq!(checker.completed.len(), traffic.len());
        let left = |outcome| checker.completed.iter().filter(|o| **o == outcome).count() as u64;
        let counters = checker.medium.counters();
        let sum = |of: fn(&wlan_air::StationCounters) -> u64| counters.stations.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|s| s.drops_queue), left(Outcome::Queue));
        prop_assert_eq!(sum(|s| s.drops_retry), left(Outcome::Retries));
        prop_assert_eq!(sum(|s| s.msdus), checker.deliveries as u64);
        prop_assert!((0..stations).all(|station| checker.medium.queue_len(station) == 0));
        prop_assert!(counters.airtime.busy() <= checker.last);
    }

    /// A caller that passes wrong arrival times gets odd results, but time never decreases and no frame is
    /// lost.
    #[test]
    fn arrivals_out_of_order_are_accepted(
        config in any_config(),
        calls in prop::collection::vec((0..6usize, 0..5_000_000u64, any::<bool>()), 1..200),
    ) {
        let stations = config.stations.len();
        let mut checker = Checker::new(config);
        for (number, (station, at, step)) in calls.iter().enumerate() {
            let from = station % stations;
            let frame = Frame { number, ..Frame::default() };
            checker.medium.enqueue(route(from, (from + 1) % stations), msdu(Nanos(*at), 500, frame));
            if *step && checker.medium.next_event().is_some() {
                checker.step();
            }
        }
        while checker.medium.next_event().is_some() {
            checker.step();
        }
        let left = checker.medium.take_completions().count();
        prop_assert_eq!(checker.completed.len() + left, calls.len());
    }
}
