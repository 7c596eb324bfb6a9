//! SAE and OWE, told the fuzzer's octets for the body of a frame.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use wlan_rsn::Group;
use wlan_rsn::owe::{self, DhParameter};
use wlan_rsn::sae::{Config, Event, Limits, Message, Method, Parent, Password, Reply, Sae};

use crate::handshake::{AP, Counter, STATION};

/// What was read is emitted to something that reads the same; no octets but the peer's make anyone accept.
pub fn sae(data: &[u8]) {
    let rng = &mut Counter(data.len() as u64);
    if let Ok(parameter) = DhParameter::find(data) {
        assert_eq!(DhParameter::find(&parameter.emit()), Ok(parameter));
        let mut access_point = owe::AccessPoint::new(&[Group::P256], 1);
        let _ = access_point.answer(STATION, data, rng);
        assert!(access_point.kept() <= 1);
    }
    let Ok(message) = Message::parse(data) else {
        return;
    };
    assert_eq!(Message::parse(&message.emit()), Ok(message));
    let config = config();
    let refuses = |reply: Reply| assert!(!matches!(reply.event, Some(Event::Accepted(_))));
    let limits = Limits::default();
    let mut parent = Parent::new(AP, Arc::clone(&config), vec![password()], limits, [7; 32]);
    let (mut station, first) = Sae::initiate(
        Duration::ZERO,
        [STATION, AP],
        Method::HashToElement,
        config,
        password(),
        rng,
    )
    .expect("the group is the password's");
    refuses(parent.receive(Duration::ZERO, STATION, data, rng));
    for frame in &first.frames {
        refuses(parent.receive(Duration::ZERO, STATION, frame, rng));
    }
    refuses(parent.receive(Duration::ZERO, STATION, data, rng));
    refuses(station.receive(Duration::ZERO, data, rng));
}

/// Frames of both, to start from.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let rng = &mut Counter(0);
    let mut seeds = Vec::new();
    for method in [Method::HashToElement, Method::HuntingAndPecking] {
        let config = config();
        let (_, first) = Sae::initiate(Duration::ZERO, [STATION, AP], method, config, password(), rng)
            .expect("the group is the password's");
        seeds.extend(first.frames);
    }
    seeds.push(
        owe::Station::new(&[Group::P256], rng)
            .expect("there is a group")
            .element(),
    );
    // A Confirm: algorithm 3, transaction 2, status 0, send-confirm, 32 octets.
    seeds.push([&[3, 0, 2, 0, 0, 0, 1, 0][..], &[0x5a; 32]].concat());
    // A token is asked for.
    seeds.push([&[3, 0, 1, 0, 76, 0, 19, 0][..], &[0x5a; 32]].concat());
    seeds
}

pub(crate) fn password() -> Arc<Password> {
    static PASSWORD: OnceLock<Arc<Password>> = OnceLock::new();
    let password = PASSWORD.get_or_init(|| {
        Arc::new(Password::new(b"fuzz", b"password", None, &[Group::P256]).expect("it is a password"))
    });
    Arc::clone(password)
}

fn config() -> Arc<Config> {
    Arc::new(Config {
        hunting_and_pecking: true,
        ..Config::default()
    })
}
