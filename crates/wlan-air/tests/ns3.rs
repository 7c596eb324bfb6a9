//! The medium compared with ns-3, cell by cell. `benches/ns3` generates the table and documents where ns-3
//! deviates from the standard.
//!
//! `cargo test --release -p wlan-air --test ns3 -- --nocapture` prints the comparison as Markdown.

use std::collections::BTreeMap;

use wlan_air::channel::{Channel, ChannelConfig, ErrorModel, Fading, PerPair, Snr};
use wlan_air::phy::{Band, Bss, ErpSlot, GuardInterval, Mode, Preamble};
use wlan_air::{
    Access, Aggregation, Category, Hearing, MediumConfig, Nanos, Protection, Route, StationConfig, sim,
};

/// Excluded at the start, as in ns-3: all stations start at the same time, and their collisions take a while
/// to spread them.
const WARMUP: Nanos = Nanos::from_secs(1);

/// A row of the table.
struct Cell(BTreeMap<&'static str, &'static str>);

impl Cell {
    fn text(&self, column: &str) -> &'static str {
        self.0[column]
    }

    fn number<T: std::str::FromStr>(&self, column: &str) -> Option<T> {
        self.text(column).parse().ok()
    }

    /// The values of a column, one per station.
    fn list(&self, column: &str) -> impl Iterator<Item = &'static str> {
        self.text(column).split('+').filter(|value| !value.is_empty())
    }

    fn is(&self, column: &str) -> bool {
        self.text(column) == "1"
    }
}

fn cells() -> Vec<Cell> {
    let mut lines = include_str!("data/ns3.csv").lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| Cell(columns.iter().copied().zip(line.split(',')).collect()))
        .collect()
}

fn mode_and_bss(cell: &Cell) -> (Mode, Bss) {
    let mbps = || cell.number("rate_mbps").unwrap();
    let kbps = || match cell.text("rate_mbps") {
        "5.5" => 5_500,
        mbps => 1_000 * mbps.parse::<u32>().unwrap(),
    };
    let preamble = if cell.text("preamble") == "short" {
        Preamble::Short
    } else {
        Preamble::Long
    };
    let gi = if cell.text("gi_ns") == "400" {
        GuardInterval::Short
    } else {
        GuardInterval::Long
    };
    let slot = if cell.text("slot_us") == "20" {
        ErpSlot::Long
    } else {
        ErpSlot::Short
    };
    let (mcs, mhz) = (cell.number("mcs"), cell.number("bandwidth_mhz").unwrap());
    let streams = cell.number("streams").unwrap();
    let dsss = |kbps| Mode::dsss(kbps, Preamble::Long).unwrap();
    let all_dsss = [1000, 2000, 5500, 11_000].map(dsss);
    match cell.text("phy") {
        "dsss" => {
            let bss = Bss::dsss(preamble).with_basic_rates(&all_dsss).unwrap();
            (Mode::dsss(kbps(), preamble).unwrap(), bss)
        }
        "ofdm" => (Mode::ofdm(mbps()).unwrap(), Bss::ofdm()),
        "erp" => {
            let erp = |mbps| Mode::erp(mbps).unwrap();
            // ns-3 sends the CTS-to-self at 1 Mbit/s.
            let basic = [dsss(1000), erp(6), erp(12), erp(24)];
            let bss = Bss::erp(slot, Preamble::Long).with_basic_rates(&basic).unwrap();
            (erp(mbps()), bss)
        }
        "ht" => (
            Mode::ht(mcs.unwrap(), mhz, gi, Band::Ghz5).unwrap(),
            Bss::ht(Band::Ghz5),
        ),
        "vht" => (Mode::vht(mcs.unwrap(), streams, mhz, gi).unwrap(), Bss::vht()),
        other => panic!("unknown PHY: {other}"),
    }
}

fn config(cell: &Cell, seed: u64) -> (MediumConfig, Vec<Route>) {
    let (mode, bss) = mode_and_bss(cell);
    let mut station = StationConfig::new(mode, cell.number("security_b").unwrap());
    station.queue_limit = 200;
    station.access[0].retry_limit = cell.number("retry_limit").unwrap_or(u8::MAX);
    if !cell.is("ampdu") {
        station.aggregation = Aggregation::NONE;
    }
    station.aggregation.max_amsdu_len_b = cell.number("amsdu_b").unwrap();
    station.rts_threshold_b = cell.is("rts").then_some(0);
    station.protection = match cell.text("protection") {
        "cts-to-self" => Protection::CtsToSelf,
        _ => Protection::None,
    };
    let senders: usize = cell.number("stations").unwrap();
    let mut config = MediumConfig::new(bss, &station, senders + 1, seed);
    config.eifs = cell.is("eifs");
    let categories = cell.list("access_categories").map(|name| match name {
        "vo" => Category::Vo,
        "vi" => Category::Vi,
        "be" => Category::Be,
        "bk" => Category::Bk,
        other => panic!("unknown access category: {other}"),
    });
    let limits = cell
        .list("txop_limits_us")
        .map(|limit| Nanos::from_us(limit.parse().unwrap()));
    for (station, (category, txop_limit)) in config.stations[1..].iter_mut().zip(categories.zip(limits)) {
        station.access = vec![Access {
            retry_limit: station.access[0].retry_limit,
            txop_limit,
            ..Access::edca(category)
        }];
    }
    if cell.is("hidden") {
        let rows = (0..=senders).map(|a| (0..=senders).map(|b| a == 0 || b == 0).collect());
        config.hearing = Hearing::Matrix(rows.collect());
    }
    if let Some(snr_db) = cell.number("snr_db") {
        let channel = ChannelConfig {
            stations: senders + 1,
            snr: Snr::Db(PerPair::Same(snr_db)),
            fading: Fading::None,
            error_model: ErrorModel::Nist,
            seed,
        };
        config.channel = Some(Channel::new(&channel).unwrap());
    }
    let route = |from| Route {
        from,
        to: Some(0),
        contender: 0,
    };
    (config, (1..=senders).map(route).collect())
}

/// Throughput of UDP payload in Mbit/s, in total and per station.
fn simulate(cell: &Cell, duration: Nanos, seed: u64) -> (f64, Vec<f64>) {
    let payload_b: usize = cell.number("packet_size_b").unwrap();
    // IP, UDP, LLC/SNAP.
    let msdu_len_b = payload_b + 28 + 8;
    let msdus = |duration| -> Vec<u64> {
        let (config, routes) = config(cell, seed);
        let outcome = sim::saturated(config, &routes, msdu_len_b, duration).unwrap();
        outcome.counters.stations[1..]
            .iter()
            .map(|station| station.msdus)
            .collect()
    };
    // A longer run starts exactly like a shorter run with the same seed.
    let (before, all) = (msdus(WARMUP), msdus(WARMUP + duration));
    let mbps = |(before, all)| (all - before) as f64 * payload_b as f64 * 8e-6 / duration.as_secs_f64();
    let stations: Vec<f64> = before.into_iter().zip(all).map(mbps).collect();
    (stations.iter().sum(), stations)
}

/// Cells in which ns-3 makes another choice that the standard allows, or deviates from the standard: the
/// resulting difference, the tolerance of the cell, and the reason.
///
/// After its last frame, a station of ns-3 ends the TXOP with a CF-End if it fits, which 10.23.2.10 allows
/// but does not require: a SIFS and 52 us at 6 Mbit/s. This is 3.3 % of the 2.08 ms of a TXOP of voice.
///
/// In ns-3, failed RTS frames do not count towards the retry limit. By the standard they count (10.3.4.4),
/// and the contention window is reset at the limit. With 50 stations, this causes more collisions: the closed
/// form with the limit gives 22.90 Mbit/s, 2.3 % less.
const EXPLAINED: [(&str, f64, f64); 3] = [
    ("ofdm54-rts-n50-1472b", -0.022, 0.005),
    ("ht-mcs7-20mhz-vo+be-n2-1472b", 0.033, 0.005),
    ("ht-mcs7-20mhz-vo-n1-1472b", 0.033, 0.005),
];

/// The expected difference from ns-3, and its tolerance.
fn expected(name: &str) -> (f64, f64) {
    let explained = EXPLAINED.iter().find(|(cell, _, _)| *cell == name);
    explained.map_or((0.0, 0.03), |&(_, difference, tolerance)| (difference, tolerance))
}

/// In this cell, a bug of ns-3 starves best effort. Its stations set Duration to the end of their TXOP limit.
/// Here the TXOP ends 48 us earlier, which is too short for a CF-End. The other station correctly keeps its
/// NAV. The holder must wait for its TXNAV timer before its backoff (10.23.2.2), but ns-3's holder draws and
/// counts at once and thus almost always wins. The reference is the cell `vi+be` instead, in which the CF-End
/// resets the NAV.
const TXNAV_IGNORED: &str = "ht-mcs7-20mhz-vi+be-txop2048-n2-1472b";
const TXNAV_RESET: &str = "ht-mcs7-20mhz-vi+be-n2-1472b";

/// The throughput of each station in ns-3, Mbit/s; for identical stations, the mean.
fn reference_by_station(cell: &Cell, cells: &[Cell]) -> Vec<f64> {
    let list = |cell: &Cell| -> Vec<f64> {
        let list = cell.text("station_mbps").split_whitespace();
        list.map(|mbps| mbps.parse().unwrap()).collect()
    };
    let number = |column| -> f64 { cell.number(column).unwrap() };
    match cell.text("cell") {
        TXNAV_IGNORED => {
            // A frame takes 288 us (data 228, Ack 28, two SIFS): a TXOP of 2048 us has 7 frames, a TXOP of
            // 4096 us has 14. Best effort sends the same number of frames per TXOP of video.
            let reset = cells
                .iter()
                .find(|cell| cell.text("cell") == TXNAV_RESET)
                .unwrap();
            let [video, best_effort] = list(reset)[..] else {
                panic!("expected two stations")
            };
            let best_effort_per_frame = best_effort / (video / 14.0) / 7.0;
            let video = list(cell)[0] / (1.0 + best_effort_per_frame);
            vec![video, video * best_effort_per_frame]
        }
        _ if cell.text("station_mbps").is_empty() => {
            let stations = cell.number("stations").unwrap();
            vec![number("throughput_mbps") / stations as f64; stations]
        }
        _ => list(cell),
    }
}

/// The random error of a station's throughput relative to the reference; the station sent at `mbps` for
/// `duration`. Contention windows keep a station slow or fast for seconds, so the spread is several times
/// that of independent exchanges. It is largest if stations do not hear each other and smallest if priorities
/// set the shares. ns-3's own runs have the same spread.
fn chance_of_station(cell: &Cell, mbps: f64, duration: Nanos) -> f64 {
    let number = |column| -> f64 { cell.number(column).unwrap() };
    let exchange_b = number("packet_size_b") * number("mpdus_per_ppdu");
    let exchanges = mbps * 1e6 * duration.as_secs_f64() / (8.0 * exchange_b);
    let spread = match (cell.is("hidden"), cell.text("station_mbps")) {
        (true, _) => 30.0,
        (false, "") => 10.0,
        (false, _) => 4.0,
    };
    spread / exchanges.sqrt()
}

#[test]
fn every_cell_agrees_with_ns3() {
    let cells = cells();
    assert!(cells.len() >= 196, "only {} cells", cells.len());
    for (name, _, _) in EXPLAINED {
        assert!(
            cells.iter().any(|cell| cell.text("cell") == name),
            "no cell {name}"
        );
    }
    println!(
        "| cell | ns-3, Mbit/s | airtoll, Mbit/s | difference | per station, ns-3 / airtoll |\n|---|---|---|---|---|"
    );
    let mut outliers = Vec::new();
    for cell in &cells {
        let name = cell.text("cell");
        let reference: f64 = cell.number("throughput_mbps").unwrap();
        // Without optimisation, the duration is half of one of ns-3's runs, with a larger tolerance.
        let (duration, chance) = if cfg!(debug_assertions) {
            let run_s: u64 = cell.number("run_s").unwrap();
            (Nanos::from_ms(500 * run_s), 0.01)
        } else {
            (Nanos::from_secs(20), 0.0)
        };
        let (here, stations) = simulate(cell, duration, 1);
        let difference = here / reference - 1.0;
        let by_station = match cell.text("station_mbps") {
            "" => String::new(),
            theirs => format!("{theirs} / {stations:.3?}"),
        };
        println!(
            "| {name} | {reference} | {here:.4} | {:+.2} % | {by_station} |",
            100.0 * difference
        );
        let (expected, tolerance) = expected(name);
        if (difference - expected).abs() > tolerance + chance {
            outliers.push(format!("{name}: {:+.2} %", 100.0 * difference));
        }
        let references = reference_by_station(cell, &cells);
        assert_eq!(references.len(), stations.len(), "{name}");
        for (reference, here) in references.into_iter().zip(stations) {
            let reference = reference * (1.0 + expected);
            let difference = here / reference - 1.0;
            let chance = chance_of_station(cell, reference, duration);
            // Short runs of many stations have too few exchanges for this check.
            if chance < 1.0 && difference.abs() > 0.05 + chance {
                outliers.push(format!("{name}, a station: {reference:.4}, here {here:.4}"));
            }
        }
    }
    assert!(outliers.is_empty(), "{}", outliers.join("\n"));
}
