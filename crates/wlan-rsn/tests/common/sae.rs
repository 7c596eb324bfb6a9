//! Two sides of SAE and a channel between them.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wlan_frames::MacAddr;
use wlan_rsn::sae::{Config, Event, Limits, Method, Parent, Password, Reply, Sae};
use wlan_rsn::{Group, Pmk};

use super::common::TestRng;

pub const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
pub const ACCESS_POINT: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
pub const METHODS: [Method; 2] = [Method::HashToElement, Method::HuntingAndPecking];

pub fn password(text: &str, identifier: Option<&str>, groups: &[Group]) -> Arc<Password> {
    let identifier = identifier.map(str::as_bytes);
    Arc::new(Password::new(b"net", text.as_bytes(), identifier, groups).unwrap())
}

pub fn config(groups: &[Group]) -> Arc<Config> {
    Arc::new(Config {
        groups: groups.to_vec(),
        hunting_and_pecking: true,
        ..Config::default()
    })
}

pub fn parent(groups: &[Group], passwords: Vec<Arc<Password>>) -> Parent {
    Parent::new(
        ACCESS_POINT,
        config(groups),
        passwords,
        Limits::default(),
        [7; 32],
    )
}

pub fn start(method: Method, groups: &[Group], password: Arc<Password>, rng: &mut TestRng) -> (Sae, Vec<u8>) {
    let addresses = [STATION, ACCESS_POINT];
    let (sae, mut reply) =
        Sae::initiate(Duration::ZERO, addresses, method, config(groups), password, rng).unwrap();
    (sae, reply.frames.pop().unwrap())
}

/// One end of the channel.
pub enum Side {
    One(Box<Sae>),
    Parent(Parent),
}

impl Side {
    fn receive(&mut self, now: Duration, from: MacAddr, body: &[u8], rng: &mut TestRng) -> Reply {
        match self {
            Side::One(sae) => sae.receive(now, body, rng),
            Side::Parent(parent) => parent.receive(now, from, body, rng),
        }
    }

    fn deadline(&self) -> Option<Duration> {
        match self {
            Side::One(sae) => sae.deadline(),
            Side::Parent(parent) => parent.deadline(),
        }
    }

    fn expire(&mut self, now: Duration) -> Reply {
        match self {
            Side::One(sae) => sae.expire(now),
            Side::Parent(parent) => parent.expire(now).map_or_else(Reply::default, |(_, reply)| reply),
        }
    }
}

/// A channel that randomly loses, duplicates and delays frames.
pub struct Channel {
    pub draws: TestRng,
    pub lost_percent: u64,
    pub max_delay_ms: u64,
}

/// Runs two sides whose first frames are in flight, and returns the events of each side in order.
pub fn run(
    sides: &mut [Side; 2],
    frames: [Vec<Vec<u8>>; 2],
    channel: &mut Channel,
    rng: &mut TestRng,
) -> [Vec<Event>; 2] {
    let addresses = [STATION, ACCESS_POINT];
    let mut events = [Vec::new(), Vec::new()];
    // Ordered by arrival, then by number.
    let mut under_way = BTreeMap::new();
    let mut number = 0;
    let mut send =
        |number: &mut u32, under_way: &mut BTreeMap<_, _>, now: Duration, from: usize, frames: &[Vec<u8>]| {
            for frame in frames {
                for _ in 0..=u64::from(channel.draws.below(4) == 0) {
                    if channel.draws.below(100) >= channel.lost_percent {
                        let delay = Duration::from_millis(channel.draws.below(channel.max_delay_ms + 1));
                        *number += 1;
                        under_way.insert((now + delay, *number), (1 - from, frame.clone()));
                    }
                }
            }
        };
    for (from, frames) in frames.iter().enumerate() {
        send(&mut number, &mut under_way, Duration::ZERO, from, frames);
    }
    loop {
        let arrival = under_way.first_key_value().map(|((at, _), _)| *at);
        let expiry = sides.iter().filter_map(Side::deadline).min();
        let Some(now) = arrival.into_iter().chain(expiry).min() else {
            return events;
        };
        assert!(now < Duration::from_secs(5), "the exchange does not end");
        assert!(number < 200, "too many frames");
        let (side, reply) = if arrival == Some(now) {
            let (_, (to, frame)) = under_way.pop_first().unwrap();
            (to, sides[to].receive(now, addresses[1 - to], &frame, rng))
        } else {
            let side = usize::from(sides[0].deadline() != Some(now));
            (side, sides[side].expire(now))
        };
        events[side].extend(reply.event);
        send(&mut number, &mut under_way, now, side, &reply.frames);
    }
}

pub const PERFECT: fn() -> Channel = || Channel {
    draws: TestRng(0),
    lost_percent: 0,
    max_delay_ms: 0,
};

/// Checks that both sides accepted once with the same key, and returns it.
pub fn agreed(events: &[Vec<Event>; 2]) -> &Pmk {
    let [[Event::Accepted(one)], [Event::Accepted(other)]] = events.each_ref().map(Vec::as_slice) else {
        panic!("{events:?}");
    };
    assert_eq!(one, other);
    one
}
