//! Stations whose driver requests the mode and the protection of each transmission.

mod common;

use common::{LEN_B, channel, config, group, ht_config, msdu, ppdus, route, us};
use proptest::prelude::*;
use wlan_air::phy::{Band, GuardInterval, Mode};
use wlan_air::{
    Access, Aggregation, Category, Completion, ConfigError, Event, Framing, Hearing, Kind, Medium,
    MediumConfig, Nanos, Outcome, Protection, RateControl, Route, StationConfig, TxRequest,
};

/// A frame with its retry chain, one element per transmission.
#[derive(Clone, Debug)]
struct Frame {
    number: usize,
    chain: Vec<TxRequest>,
    /// Transmissions that the driver observed.
    seen: u8,
    /// The stations that received it.
    receivers: Vec<usize>,
}

fn request(frame: &Frame, transmissions: u8) -> Option<TxRequest> {
    frame.chain.get(usize::from(transmissions)).copied()
}

fn frame(number: usize, chain: &[TxRequest]) -> Frame {
    Frame {
        number,
        chain: chain.to_vec(),
        seen: 0,
        receivers: Vec::new(),
    }
}

fn ofdm(mbps: u16) -> Mode {
    Mode::ofdm(mbps).unwrap()
}

fn ht(mcs: u8) -> Mode {
    Mode::ht(mcs, 20, GuardInterval::Long, Band::Ghz5).unwrap()
}

/// A transmission alone, without protection.
fn alone(mode: Mode) -> TxRequest {
    TxRequest {
        mode,
        protection: Protection::None,
        aggregable: false,
    }
}

fn aggregable(mode: Mode) -> TxRequest {
    TxRequest {
        aggregable: true,
        ..alone(mode)
    }
}

/// The stations of a configuration leave their modes to the driver, which builds whole MPDUs.
fn driven(mut config: MediumConfig) -> MediumConfig {
    for station in &mut config.stations {
        station.rate = RateControl::Driver;
        station.framing = Framing {
            mac_b: 4,
            security_b: 0,
            security_of_msdu_b: 0,
        };
    }
    config
}

/// An 802.11n BSS of two stations.
fn ht_medium() -> Medium<Frame> {
    Medium::with_driver(driven(ht_config(ht(7), 2)), request).unwrap()
}

/// Queues frames 0, 1, 2 ... from station 0 to station 1.
fn enqueue(medium: &mut Medium<Frame>, chains: &[&[TxRequest]]) {
    for (number, chain) in chains.iter().enumerate() {
        medium.enqueue(route(0, 1), msdu(us(1000), LEN_B, frame(number, chain)));
    }
}

/// The data PPDUs of all events: number of MPDUs and mode.
fn data(medium: &mut Medium<Frame>) -> Vec<(usize, Mode)> {
    let ppdus = ppdus(medium);
    let data = ppdus.iter().filter_map(|ppdu| match ppdu.kind {
        Kind::Data { mpdus } => Some((mpdus, ppdu.mode)),
        _ => None,
    });
    data.collect()
}

/// The completed frames, sorted: number, outcome and transmissions.
fn completions(medium: &mut Medium<Frame>) -> Vec<(usize, Outcome, u8)> {
    let completions = medium.take_completions();
    let mut all: Vec<_> = completions
        .map(|left: Completion<Frame>| (left.frame.number, left.outcome, left.transmissions))
        .collect();
    all.sort_by_key(|(number, ..)| *number);
    all
}

/// Nothing arrives at -20 dB: the frame is sent in each mode of its chain and dropped after the last.
#[test]
fn the_driver_chooses_the_mode_of_each_transmission() {
    let mut config = driven(config(2));
    config.channel = Some(channel(vec![vec![-20.0; 2]; 2]));
    let mut medium = Medium::with_driver(config, request).unwrap();
    // More transmissions than Access::retry_limit, which does not count them.
    let rates = [54, 54, 48, 48, 36, 24, 18, 12, 9, 6];
    let chain = rates.map(|mbps| alone(ofdm(mbps)));
    enqueue(&mut medium, &[&chain, &chain[..1], &chain[..2]]);
    let modes: Vec<_> = data(&mut medium).iter().map(|(_, mode)| *mode).collect();
    let expected: Vec<_> = rates
        .iter()
        .chain(&[54, 54, 54])
        .map(|mbps| ofdm(*mbps))
        .collect();
    assert_eq!(modes, expected);
    let dropped = Outcome::Retries;
    assert_eq!(
        completions(&mut medium),
        [(0, dropped, 10), (1, dropped, 1), (2, dropped, 2)]
    );
    assert_eq!(medium.counters().stations[0].drops_retry, 3);
    assert_eq!(medium.queue_len(0), 0);
}

/// 54 Mbit/s never arrives at 10 dB, and 6 Mbit/s always does.
#[test]
fn a_slower_transmission_of_the_chain_arrives() {
    let mut config = driven(config(2));
    config.channel = Some(channel(vec![vec![10.0; 2]; 2]));
    let mut medium = Medium::with_driver(config, request).unwrap();
    let chain = [54, 54, 6, 6].map(|mbps| alone(ofdm(mbps)));
    enqueue(&mut medium, &[&chain, &chain[2..]]);
    let mut delivered = Vec::new();
    while medium.advance().is_some() {
        delivered.extend(
            medium
                .deliver()
                .map(|(delivery, frame)| (frame.number, delivery.retries)),
        );
    }
    assert_eq!(delivered, [(0, 2), (1, 0)]);
    assert_eq!(
        completions(&mut medium),
        [(0, Outcome::Sent, 3), (1, Outcome::Sent, 1)]
    );
}

/// No station has the address. The frame uses its whole chain, as a frame to a station that left does.
#[test]
fn a_frame_to_no_station_is_never_answered() {
    let mut config = driven(config(2));
    config.channel = Some(channel(vec![vec![40.0; 2]; 2]));
    let mut medium = Medium::with_driver(config, request).unwrap();
    let rts = TxRequest {
        protection: Protection::RtsCts,
        ..alone(ofdm(6))
    };
    let frame = frame(0, &[alone(ofdm(54)), alone(ofdm(6)), rts]);
    medium.enqueue(route(0, 2), msdu(us(1000), LEN_B, frame));
    let kinds: Vec<_> = ppdus(&mut medium).iter().map(|ppdu| ppdu.kind).collect();
    let data = Kind::Data { mpdus: 1 };
    assert_eq!(kinds, [&[data; 2][..], &[Kind::Rts; 7]].concat());
    assert_eq!(completions(&mut medium), [(0, Outcome::Retries, 2)]);
}

/// A driver whose chain never ends.
#[test]
fn a_frame_is_transmitted_at_most_255_times() {
    let mut config = driven(config(2));
    config.hearing = Hearing::Matrix(vec![vec![false; 2]; 2]);
    let endless = |frame: &Frame, _| frame.chain.first().copied();
    let mut medium = Medium::with_driver(config, endless).unwrap();
    enqueue(&mut medium, &[&[alone(ofdm(54))]]);
    assert_eq!(data(&mut medium).len(), 255);
    assert_eq!(completions(&mut medium), [(0, Outcome::Retries, 255)]);
}

/// The contention window doubles with each failure, and is reset when the chain ends, not at
/// [`Access::retry_limit`].
#[test]
fn the_contention_window_follows_the_chain() {
    let gaps = |tries: usize| {
        let mut longest = vec![0; tries];
        for seed in 0..300 {
            let mut config = driven(config(2));
            config.seed = seed;
            config.hearing = Hearing::Matrix(vec![vec![false; 2]; 2]);
            config.stations[0].access[0].cw_max = 127;
            config.stations[0].access[0].retry_limit = 2;
            let mut medium = Medium::with_driver(config, request).unwrap();
            let chain = vec![alone(ofdm(54)); tries];
            enqueue(&mut medium, &[&chain, &chain[..1]]);
            let starts: Vec<_> = ppdus(&mut medium).iter().map(|ppdu| ppdu.start).collect();
            let shortest = us(248 + 16 + 9 + 20 + 34); // the PPDU, AckTimeout and DIFS
            for (gap, pair) in longest.iter_mut().zip(starts.windows(2)) {
                *gap = (*gap).max((pair[1] - pair[0] - shortest).0 / 9000);
            }
        }
        longest
    };
    // 300 draws from a window almost surely include one in its upper half.
    let windows = gaps(6)
        .into_iter()
        .map(|slots| (slots + 1).next_power_of_two() - 1);
    assert_eq!(windows.collect::<Vec<_>>(), [31, 63, 127, 127, 127, 15]);
}

#[test]
fn a_frame_without_a_transmission_is_dropped_when_it_is_queued() {
    let mut medium = ht_medium();
    enqueue(&mut medium, &[&[]]);
    assert_eq!(completions(&mut medium), [(0, Outcome::Retries, 0)]);
    assert_eq!((medium.next_event(), medium.queue_len(0)), (None, 0));
}

#[test]
fn an_ampdu_ends_before_a_frame_of_another_mode() {
    let mut medium = ht_medium();
    let (fast, slow) = ([aggregable(ht(7))], [aggregable(ht(3))]);
    enqueue(&mut medium, &[&fast, &fast, &fast, &slow, &slow, &fast]);
    assert_eq!(data(&mut medium), [(3, ht(7)), (2, ht(3)), (1, ht(7))]);
}

#[test]
fn a_frame_that_is_not_aggregable_is_sent_alone_and_answered_by_an_ack() {
    let mut medium = ht_medium();
    let (joins, refuses) = ([aggregable(ht(7))], [alone(ht(7))]);
    enqueue(
        &mut medium,
        &[&refuses, &joins, &joins, &refuses, &joins, &joins, &joins],
    );
    let kinds: Vec<_> = ppdus(&mut medium).iter().map(|ppdu| ppdu.kind).collect();
    let (ack, block_ack) = (Kind::Ack, Kind::BlockAck);
    let data = |mpdus| Kind::Data { mpdus };
    assert_eq!(
        kinds,
        [data(1), ack, data(2), block_ack, data(1), ack, data(3), block_ack]
    );
    assert_eq!(completions(&mut medium).len(), 7);
}

/// A VHT PPDU always carries an A-MPDU, but a single MPDU is still answered by an Ack. A mode without A-MPDUs
/// carries single MPDUs, even if they are aggregable.
#[test]
fn modes_limit_the_aggregation() {
    let vht = Mode::vht(7, 1, 80, GuardInterval::Long).unwrap();
    let mut medium = Medium::with_driver(driven(ht_config(vht, 2)), request).unwrap();
    let (fast, legacy, single) = ([aggregable(vht)], [aggregable(ofdm(24))], [alone(vht)]);
    enqueue(&mut medium, &[&fast, &fast, &legacy, &legacy, &single]);
    let ppdus = ppdus(&mut medium);
    let seen: Vec<_> = ppdus.iter().map(|ppdu| (ppdu.kind, ppdu.mode)).collect();
    let data = |mpdus, mode| (Kind::Data { mpdus }, mode);
    let response = ofdm(24);
    assert_eq!(
        seen,
        [
            data(2, vht),
            (Kind::BlockAck, response),
            data(1, ofdm(24)),
            (Kind::Ack, response),
            data(1, ofdm(24)),
            (Kind::Ack, response),
            data(1, vht),
            (Kind::Ack, response),
        ]
    );
    // With a delimiter in VHT.
    assert_eq!((ppdus[2].psdu_len_b, ppdus[6].psdu_len_b), (LEN_B + 4, LEN_B + 8));
}

/// Retransmissions of one A-MPDU may be at different positions of their chains: an MPDU whose next mode
/// differs is sent in a PPDU of its own.
#[test]
fn lost_mpdus_of_an_ampdu_follow_their_own_chains() {
    let mut config = driven(ht_config(ht(7), 2));
    config.channel = Some(channel(vec![vec![-20.0; 2]; 2]));
    let mut medium = Medium::with_driver(config, request).unwrap();
    let long = [7, 7, 1].map(|mcs| aggregable(ht(mcs)));
    let short = [7, 2].map(|mcs| aggregable(ht(mcs)));
    enqueue(&mut medium, &[&long, &short]);
    assert_eq!(
        data(&mut medium),
        [(2, ht(7)), (1, ht(7)), (1, ht(1)), (1, ht(2))]
    );
    let dropped = Outcome::Retries;
    assert_eq!(completions(&mut medium), [(0, dropped, 3), (1, dropped, 2)]);
}

#[test]
fn the_driver_chooses_the_protection_of_each_exchange() {
    let with = |protection| {
        [TxRequest {
            protection,
            ..alone(ofdm(54))
        }]
    };
    let data = Kind::Data { mpdus: 1 };
    for (txop, txops) in [(Access::dcf(), 3), (Access::edca(Category::Vi), 1)] {
        let mut config = driven(config(2));
        config.stations[0].access = vec![txop];
        let mut medium = Medium::with_driver(config, request).unwrap();
        enqueue(
            &mut medium,
            &[
                &with(Protection::None),
                &with(Protection::RtsCts),
                &with(Protection::CtsToSelf),
            ],
        );
        let ppdus = ppdus(&mut medium);
        let kinds: Vec<_> = ppdus.iter().map(|ppdu| ppdu.kind).collect();
        assert_eq!(
            kinds,
            [
                data,
                Kind::Ack,
                Kind::Rts,
                Kind::Cts,
                data,
                Kind::Ack,
                Kind::CtsToSelf,
                data,
                Kind::Ack
            ]
        );
        assert_eq!(medium.counters().stations[0].txops, txops);
        assert_eq!(completions(&mut medium).len(), 3);
    }
}

/// The radio compares its threshold with the octets of the whole A-MPDU.
#[test]
fn the_rts_threshold_of_a_station_applies_beside_its_driver() {
    let mut config = driven(ht_config(ht(7), 2));
    config.stations[0].rts_threshold_b = Some(LEN_B + 100);
    let mut medium = Medium::with_driver(config, request).unwrap();
    medium.enqueue(group(0), msdu(us(1000), 2 * LEN_B, frame(9, &[alone(ht(7))])));
    enqueue(
        &mut medium,
        &[
            &[alone(ht(7))],
            &[aggregable(ht(7))],
            &[aggregable(ht(7))],
            &[TxRequest {
                protection: Protection::CtsToSelf,
                ..alone(ht(7))
            }],
        ],
    );
    let kinds: Vec<_> = ppdus(&mut medium).iter().map(|ppdu| ppdu.kind).collect();
    let data = |mpdus| Kind::Data { mpdus };
    assert_eq!(
        kinds,
        [
            data(1),
            Kind::Ack,
            data(1),
            Kind::Rts,
            Kind::Cts,
            data(2),
            Kind::BlockAck,
            Kind::CtsToSelf,
            data(1),
            Kind::Ack
        ]
    );
}

/// The receiver does not hear the RTS. The frame is never sent, so its chain does not advance.
#[test]
fn unanswered_rts_end_at_the_retry_limit() {
    let mut config = driven(config(2));
    config.hearing = Hearing::Matrix(vec![vec![false; 2]; 2]);
    let mut medium = Medium::with_driver(config, request).unwrap();
    let protected = TxRequest {
        protection: Protection::RtsCts,
        ..alone(ofdm(54))
    };
    enqueue(&mut medium, &[&[protected]]);
    let kinds: Vec<_> = ppdus(&mut medium).iter().map(|ppdu| ppdu.kind).collect();
    assert_eq!(kinds, [Kind::Rts; 7]);
    assert_eq!(completions(&mut medium), [(0, Outcome::Retries, 0)]);
}

/// A group-addressed frame is sent once in the mode of its first request, and never with an RTS.
#[test]
fn the_driver_chooses_the_mode_of_a_group_frame() {
    let mut medium = Medium::with_driver(driven(config(3)), request).unwrap();
    for protection in [Protection::None, Protection::RtsCts, Protection::CtsToSelf] {
        let chain = [TxRequest {
            protection,
            ..aggregable(ofdm(24))
        }; 4];
        medium.enqueue(group(0), msdu(us(1000), 100, frame(0, &chain)));
    }
    let ppdus = ppdus(&mut medium);
    let kinds: Vec<_> = ppdus.iter().map(|ppdu| (ppdu.kind, ppdu.receiver)).collect();
    let data = (Kind::Data { mpdus: 1 }, None);
    assert_eq!(kinds, [data, data, (Kind::CtsToSelf, None), data]);
    assert!(ppdus.iter().all(|ppdu| ppdu.mode == ofdm(24)));
    assert_eq!(completions(&mut medium), [(0, Outcome::Sent, 1); 3]);
}

/// Stations with and without a driver share a medium.
#[test]
fn other_stations_keep_their_rate_control() {
    let mut mixed = config(2);
    mixed.stations[0].rate = RateControl::Driver;
    let mut medium = Medium::with_driver(mixed, request).unwrap();
    enqueue(&mut medium, &[&[alone(ofdm(12))]]);
    assert_eq!(data(&mut medium), [(1, ofdm(12))]);
    medium.enqueue(route(1, 0), msdu(us(5000), LEN_B, frame(1, &[])));
    assert_eq!(data(&mut medium), [(1, ofdm(54))]);
}

#[test]
fn a_driver_replaces_the_settings_of_its_stations() {
    let with = |change: &dyn Fn(&mut StationConfig)| {
        let mut config = driven(ht_config(ht(7), 2));
        change(&mut config.stations[1]);
        Medium::with_driver(config, request).unwrap_err()
    };
    let chosen = ConfigError::ChosenByDriver;
    assert_eq!(
        with(&|s| s.protection = Protection::CtsToSelf),
        chosen("protection")
    );
    assert_eq!(
        with(&|s| s.fragmentation_threshold_b = Some(500)),
        chosen("a fragmentation threshold")
    );
    assert_eq!(with(&|s| s.aggregation.max_amsdu_len_b = 3839), chosen("A-MSDUs"));
    assert_eq!(
        with(&|s| s.aggregation.max_mpdus = 65),
        ConfigError::AmpduCount(65)
    );
    let without = Medium::<Frame>::new(driven(config(2))).unwrap_err();
    assert_eq!(without, ConfigError::NoDriver);
}

#[test]
#[should_panic(expected = "which the BSS does not carry")]
fn a_mode_of_another_band_is_an_error_of_the_driver() {
    let mut medium = ht_medium();
    enqueue(&mut medium, &[&[alone(Mode::erp(54).unwrap())]]);
    medium.advance();
}

/// A frame of a random driver: its sender, receiver (none for a group), delay, length and chain.
type Traffic = (usize, Option<usize>, u64, usize, Vec<TxRequest>);

fn any_traffic() -> impl Strategy<Value = Vec<Traffic>> {
    let modes = [ht(7), ht(7), ht(2), ofdm(24), ofdm(6)];
    let protections = [
        Protection::None,
        Protection::None,
        Protection::CtsToSelf,
        Protection::RtsCts,
    ];
    let request = (0..modes.len(), 0..protections.len(), any::<bool>()).prop_map(
        move |(mode, protection, aggregable)| TxRequest {
            mode: modes[mode],
            protection: protections[protection],
            aggregable,
        },
    );
    let chain = prop::collection::vec(request, 0..6);
    let frame = (
        0..5usize,
        prop::option::weighted(0.8, 0..4usize),
        0..400_000u64,
        28..2304usize,
        chain,
    );
    prop::collection::vec(frame, 1..120)
}

fn any_config() -> impl Strategy<Value = MediumConfig> {
    let snr_db = prop::collection::vec(prop::collection::vec(-5.0..30.0, 5), 5);
    (
        2..6usize,
        any::<u64>(),
        prop::option::of(snr_db),
        prop::option::of(any::<u32>()),
        1..40usize,
        1..9u8,
        any::<bool>(),
    )
        .prop_map(
            |(stations, seed, snr_db, deaf, queue_limit, retry_limit, single)| {
                let mut config = driven(ht_config(ht(7), stations));
                config.seed = seed;
                config.channel = snr_db.map(|mut snr_db| {
                    snr_db.truncate(stations);
                    snr_db.iter_mut().for_each(|row| row.truncate(stations));
                    channel(snr_db)
                });
                if let Some(deaf) = deaf {
                    let hears = |a: usize, b: usize| deaf >> ((5 * a + b) % 32) & 1 == 0;
                    let rows = (0..stations).map(|a| (0..stations).map(|b| hears(a, b)).collect());
                    config.hearing = Hearing::Matrix(rows.collect());
                }
                for station in &mut config.stations {
                    station.queue_limit = queue_limit;
                    station.access = vec![Access::edca(Category::Vi), Access::beacon()];
                    station.access[0].retry_limit = retry_limit;
                    if single {
                        station.aggregation = Aggregation::NONE;
                    }
                }
                config
            },
        )
}

/// Executes one event and checks the rules that hold for every driver. Returns the completed frames.
fn step(medium: &mut Medium<Frame>, hearing: &Hearing) -> Vec<Completion<Frame>> {
    let event = medium.advance().unwrap();
    assert!(medium.now() < Nanos::from_secs(100), "the events never end");
    if let Event::PpduStart(ppdu) = event
        && let Kind::Data { mpdus } = ppdu.kind
    {
        let mut count = 0;
        for frame in medium.on_air(ppdu.sender) {
            let asked = request(frame, frame.seen).unwrap();
            assert_eq!(
                asked.mode, ppdu.mode,
                "each transmission has the mode of its request"
            );
            assert!(mpdus == 1 || asked.aggregable);
            frame.seen += 1;
            count += 1;
        }
        assert_eq!(count, mpdus);
    }
    for (delivery, frame) in medium.deliver() {
        let Route { from, to, .. } = delivery.route;
        assert!(!delivery.receivers.is_empty() && delivery.receivers.is_sorted());
        assert!(frame.receivers.is_empty(), "a frame is delivered once");
        frame.receivers = delivery.receivers.to_vec();
        for receiver in &frame.receivers {
            assert!(to.is_none_or(|to| to == *receiver) && *receiver != from);
            if let Hearing::Matrix(rows) = hearing {
                assert!(rows[from][*receiver]);
            }
        }
    }
    medium.take_completions().collect()
}

proptest! {
    /// Every frame completes once with the number of its transmissions, and each receiver gets it at most once.
    #[test]
    fn every_frame_of_a_driver_completes_once(config in any_config(), traffic in any_traffic()) {
        let stations = config.stations.len();
        let hearing = config.hearing.clone();
        let mut medium = Medium::with_driver(config, request).unwrap();
        let mut completed = Vec::new();
        let mut at = Nanos::ZERO;
        for (number, (from, to, gap_ns, len_b, chain)) in traffic.iter().enumerate() {
            let from = from % stations;
            let to = to.map(|to| (from + 1 + to % (stations - 1)) % stations);
            at += Nanos(*gap_ns);
            while medium.next_event().is_some_and(|event| event < at) {
                completed.extend(step(&mut medium, &hearing));
            }
            let route = Route { from, to, contender: usize::from(to.is_none()) };
            medium.enqueue(route, msdu(at, *len_b, frame(number, chain)));
        }
        while medium.next_event().is_some() {
            completed.extend(step(&mut medium, &hearing));
        }
        completed.extend(medium.take_completions());
        prop_assert!(!medium.is_busy());
        let mut numbers: Vec<_> = completed.iter().map(|left| left.frame.number).collect();
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..traffic.len()).collect::<Vec<_>>());
        for Completion { frame, outcome, transmissions, .. } in &completed {
            let is_group = traffic[frame.number].1.is_none();
            prop_assert_eq!(frame.seen, *transmissions);
            prop_assert!(usize::from(*transmissions) <= frame.chain.len());
            match outcome {
                Outcome::Sent if is_group => prop_assert_eq!(*transmissions, 1),
                Outcome::Sent => prop_assert_eq!(frame.receivers.len(), 1),
                Outcome::Queue => prop_assert_eq!(*transmissions, 0),
                Outcome::Retries => prop_assert!(!is_group || frame.chain.is_empty()),
            }
        }
        prop_assert!((0..stations).all(|station| medium.queue_len(station) == 0));
    }
}
