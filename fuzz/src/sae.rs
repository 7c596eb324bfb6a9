//! SAE and OWE: the fuzzer's octets are a frame body, or a script for the channel between two honest sides.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use wlan_rsn::Group;
use wlan_rsn::owe::{self, DhParameter};
use wlan_rsn::sae::{Config, Event, Limits, Message, Method, Parent, Password, Reply, Sae};

use crate::handshake::{AP, Counter, STATION};

/// A parsed message is emitted as octets that parse to the same message. Octets of a third party are never accepted.
pub fn sae(data: &[u8]) {
    if let Some((&SCRIPT, script)) = data.split_first() {
        return exchange(script);
    }
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
    .expect("the password supports the group");
    refuses(parent.receive(Duration::ZERO, STATION, data, rng));
    for frame in &first.frames {
        refuses(parent.receive(Duration::ZERO, STATION, frame, rng));
    }
    refuses(parent.receive(Duration::ZERO, STATION, data, rng));
    refuses(station.receive(Duration::ZERO, data, rng));
}

/// The first octet of a script for [`exchange`]. No SAE frame begins with it.
const SCRIPT: u8 = 0xe5;

/// A station and an access point exchange frames over a channel that loses, repeats, modifies and reflects frames as
/// the script specifies. After the end of the script, the channel delivers all frames. The first octet selects the kind
/// of exchange: bit 0 for hunting-and-pecking, bit 1 for different passwords. Each further octet determines what
/// happens to the next frame.
///
/// Without interference both sides accept the same key. The station accepts only keys that the access point accepted.
/// With different passwords neither side accepts.
fn exchange(script: &[u8]) {
    let Some((&kind, script)) = script.split_first() else {
        return;
    };
    let rng = &mut Counter(1);
    let method = [Method::HashToElement, Method::HuntingAndPecking][usize::from(kind & 1)];
    let same_password = kind & 2 == 0;
    let of_parent = if same_password {
        password()
    } else {
        other_password()
    };
    let mut parent = Parent::new(AP, config(), vec![of_parent], Limits::default(), [7; 32]);
    let (mut station, first) =
        Sae::initiate(Duration::ZERO, [STATION, AP], method, config(), password(), rng)
            .expect("the password supports the group");
    let mut now = Duration::ZERO;
    let mut keys = [Vec::new(), Vec::new()];
    // Whether the frame is for the access point, and its body.
    let mut under_way: VecDeque<(bool, Vec<u8>)> =
        first.frames.into_iter().map(|frame| (true, frame)).collect();
    let mut sent: Vec<(bool, Vec<u8>)> = Vec::new();
    let mut script = script.iter().copied();
    let mut is_perfect = true;
    for _ in 0..64 {
        let (to_parent, reply) = if let Some((mut to_parent, mut frame)) = under_way.pop_front() {
            sent.push((to_parent, frame.clone()));
            let what = script.next().unwrap_or(0);
            is_perfect &= what & 7 == 0;
            let which = usize::from(what >> 3);
            match what & 7 {
                1 => continue,
                2 => under_way.push_back((to_parent, frame.clone())),
                3 => {
                    let place = usize::from(script.next().unwrap_or(0)) % frame.len();
                    frame[place] ^= 1 << (which % 8);
                }
                4 => under_way.push_front(sent[which % sent.len()].clone()),
                5 => frame.truncate(frame.len().saturating_sub(1 + which)),
                6 => to_parent = !to_parent,
                7 => frame.extend(script.by_ref().take(which)),
                _ => {}
            }
            let reply = if to_parent {
                parent.receive(now, STATION, &frame, rng)
            } else {
                station.receive(now, &frame, rng)
            };
            (to_parent, reply)
        } else {
            let Some(deadline) = station.deadline().into_iter().chain(parent.deadline()).min() else {
                break;
            };
            now = deadline;
            if station.deadline() == Some(now) {
                (false, station.expire(now))
            } else {
                let reply = parent.expire(now).map_or_else(Reply::default, |(_, reply)| reply);
                (true, reply)
            }
        };
        under_way.extend(reply.frames.into_iter().map(|frame| (!to_parent, frame)));
        if let Some(Event::Accepted(key)) = reply.event {
            keys[usize::from(to_parent)].push(key);
        }
    }
    let [of_station, of_parent] = keys;
    assert!(of_station.len() <= 1, "an exchange accepts once");
    assert!(of_station.iter().all(|key| of_parent.contains(key)));
    assert!(
        same_password || of_parent.is_empty(),
        "accepted a different password"
    );
    if is_perfect && same_password {
        assert_eq!(
            (of_station.len(), of_parent.len()),
            (1, 1),
            "an honest exchange succeeds"
        );
    }
}

/// Frames of both protocols, and scripts for an exchange.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let rng = &mut Counter(0);
    let mut seeds = Vec::new();
    for method in [Method::HashToElement, Method::HuntingAndPecking] {
        let config = config();
        let (_, first) = Sae::initiate(Duration::ZERO, [STATION, AP], method, config, password(), rng)
            .expect("the password supports the group");
        seeds.extend(first.frames);
    }
    seeds.push(
        owe::Station::new(&[Group::P256], rng)
            .expect("a group is given")
            .element(),
    );
    // A Confirm: algorithm 3, transaction 2, status 0, send-confirm, 32 octets.
    seeds.push([&[3, 0, 2, 0, 0, 0, 1, 0][..], &[0x5a; 32]].concat());
    // Exchanges without interference, with different passwords, and with lost, repeated, modified and reflected frames.
    for script in [
        &[0][..],
        &[1],
        &[2],
        &[3],
        &[0, 0, 1, 0, 1],
        &[0, 2, 12, 0, 6],
        &[0, 0, 0, 3, 20, 0, 5],
    ] {
        seeds.push([&[SCRIPT], script].concat());
    }
    // A request for an anti-clogging token.
    seeds.push([&[3, 0, 1, 0, 76, 0, 19, 0][..], &[0x5a; 32]].concat());
    seeds
}

pub(crate) fn password() -> Arc<Password> {
    static PASSWORD: OnceLock<Arc<Password>> = OnceLock::new();
    let password = PASSWORD.get_or_init(|| {
        Arc::new(Password::new(b"fuzz", b"password", None, &[Group::P256]).expect("the password is valid"))
    });
    Arc::clone(password)
}

fn other_password() -> Arc<Password> {
    static PASSWORD: OnceLock<Arc<Password>> = OnceLock::new();
    let password = PASSWORD.get_or_init(|| {
        Arc::new(Password::new(b"fuzz", b"passw0rd", None, &[Group::P256]).expect("the password is valid"))
    });
    Arc::clone(password)
}

fn config() -> Arc<Config> {
    Arc::new(Config {
        hunting_and_pecking: true,
        ..Config::default()
    })
}
