//! Helpers of the tests of the medium.
#![allow(dead_code)] // each test file uses some of them

use wlan_air::channel::{Channel, ChannelConfig, ErrorModel, Fading, PerPair, Snr};
use wlan_air::phy::{Bss, Mode};
use wlan_air::queue::Packet;
use wlan_air::{Event, Kind, Medium, MediumConfig, Nanos, Outcome, Ppdu, Route, StationConfig};

/// Octets of an MSDU with a packet of 1500 octets and LLC/SNAP.
pub const LEN_B: usize = 1508;

pub fn us(us: u64) -> Nanos {
    Nanos::from_us(us)
}

/// 802.11a at 54 Mbit/s; all stations hear each other.
pub fn config(stations: usize) -> MediumConfig {
    let station = StationConfig {
        queue_limit: 16,
        ..StationConfig::new(Mode::ofdm(54).unwrap(), 0)
    };
    MediumConfig::new(Bss::ofdm(), &station, stations, 7)
}

/// A configuration with A-MPDUs.
pub fn ht_config(mode: Mode, stations: usize) -> MediumConfig {
    let station = StationConfig {
        queue_limit: 200,
        ..StationConfig::new(mode, 0)
    };
    MediumConfig::new(Bss::for_mode(&mode), &station, stations, 7)
}

pub fn route(from: usize, to: usize) -> Route {
    Route {
        from,
        to: Some(to),
        contender: 0,
    }
}

/// The route of group-addressed frames.
pub fn group(from: usize) -> Route {
    Route {
        from,
        to: None,
        contender: 0,
    }
}

/// A channel with these signal-to-noise ratios in dB, by sender and receiver.
pub fn channel(snr_db: Vec<Vec<f64>>) -> Channel {
    let config = ChannelConfig {
        stations: snr_db.len(),
        snr: Snr::Db(PerPair::Matrix(snr_db)),
        fading: Fading::None,
        error_model: ErrorModel::Nist,
        seed: 1,
    };
    Channel::new(&config).unwrap()
}

/// Executes all events, and returns the PPDUs in the order of their starts.
pub fn ppdus<F>(medium: &mut Medium<F>) -> Vec<Ppdu> {
    let mut ppdus = Vec::new();
    while let Some(event) = medium.advance() {
        if let Event::PpduStart(ppdu) = event {
            ppdus.push(ppdu);
        }
        medium.deliver().for_each(drop);
    }
    ppdus
}

/// Routes from each of the stations 1 to n to station 0.
pub fn uplink(n: usize) -> Vec<Route> {
    (1..=n).map(|from| route(from, 0)).collect()
}

pub fn msdu<F>(arrival: Nanos, len_b: usize, frame: F) -> Packet<F> {
    Packet {
        arrival,
        len_b,
        flow: 0,
        frame,
    }
}

/// Observations of an exchange without RTS.
#[derive(Debug)]
pub struct Seen<F> {
    pub start: Nanos,
    /// End of the last data PPDU.
    pub end: Nanos,
    /// End of its answer, if there was one.
    pub idle: Nanos,
    pub ppdus: usize,
    pub received: bool,
    pub delivered: Vec<F>,
    pub completed: Vec<(F, Outcome)>,
}

/// Runs the medium until the next exchange is over, including its timeouts.
pub fn exchange<F: Clone>(medium: &mut Medium<F>) -> Seen<F> {
    let mut seen = Seen {
        start: Nanos::MAX,
        end: Nanos::ZERO,
        idle: Nanos::ZERO,
        ppdus: 0,
        received: true,
        delivered: Vec::new(),
        completed: Vec::new(),
    };
    let data = |ppdu: &Ppdu| matches!(ppdu.kind, Kind::Data { .. });
    loop {
        let event = medium.advance().expect("an exchange");
        seen.delivered
            .extend(medium.deliver().map(|(_, frame)| frame.clone()));
        seen.completed.extend(
            medium
                .take_completions()
                .map(|completion| (completion.frame, completion.outcome)),
        );
        if let Event::PpduEnd { ppdu, received } = event {
            seen.start = seen.start.min(ppdu.start);
            if data(&ppdu) {
                seen.end = ppdu.end;
                seen.ppdus += 1;
                seen.received &= received;
            }
            seen.idle = ppdu.end;
        }
        if seen.ppdus > 0 && !medium.is_busy() {
            return seen;
        }
    }
}
