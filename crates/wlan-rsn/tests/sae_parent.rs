//! The access point's side of SAE under load, attack and loss.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::TestRng;
use wlan_frames::MacAddr;
use wlan_rsn::sae::{
    Config, Event, Failure, Limits, Message, Method, Parent, Password, Reply, Sae, State, status, token_of,
};
use wlan_rsn::{Group, Peer};

const ACCESS_POINT: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const METHODS: [Method; 2] = [Method::HashToElement, Method::HuntingAndPecking];
const START: Duration = Duration::from_secs(90);

struct Net {
    config: Arc<Config>,
    password: Arc<Password>,
    parent: Parent,
    rng: TestRng,
}

impl Net {
    fn new(limits: Limits) -> Net {
        let config = Arc::new(Config {
            hunting_and_pecking: true,
            ..Config::default()
        });
        let password = Arc::new(Password::new(b"net", b"mekmitasdigoat", None, &[Group::P256]).unwrap());
        let parent = Parent::new(
            ACCESS_POINT,
            config.clone(),
            vec![password.clone()],
            limits,
            [7; 32],
        );
        let rng = TestRng(1);
        Net {
            config,
            password,
            parent,
            rng,
        }
    }

    /// Restarts the access point, which loses its state.
    fn restart(&mut self) {
        let (config, passwords) = (self.config.clone(), vec![self.password.clone()]);
        self.parent = Parent::new(ACCESS_POINT, config, passwords, Limits::default(), [8; 32]);
    }

    fn start(&mut self, method: Method, station: MacAddr) -> (Sae, Vec<u8>) {
        let (config, password) = (self.config.clone(), self.password.clone());
        let addresses = [station, ACCESS_POINT];
        let (sae, mut reply) =
            Sae::initiate(START, addresses, method, config, password, &mut self.rng).unwrap();
        (sae, reply.frames.pop().unwrap())
    }

    fn hear(&mut self, now: Duration, station: MacAddr, frame: &[u8]) -> Reply {
        self.parent.receive(now, station, frame, &mut self.rng)
    }

    /// The access point answers a Commit with its own. Returns the Confirm with which the station answers.
    fn confirm(&mut self, station: &mut Sae, commit: &[u8]) -> Vec<u8> {
        let theirs = self.hear(START, STATION, commit).frames.pop().unwrap();
        station
            .receive(START, &theirs, &mut self.rng)
            .frames
            .pop()
            .unwrap()
    }

    /// Exchanges frames until one side has nothing to send, and returns the access point's event.
    fn talk(&mut self, station: &mut Sae, mut frame: Vec<u8>) -> Option<Event> {
        let peer = station.peer();
        assert_eq!(peer, ACCESS_POINT);
        let mut end = None;
        loop {
            let reply = self.hear(START, STATION, &frame);
            end = end.or(reply.event);
            let Some(said) = reply.frames.first() else {
                return end;
            };
            match station.receive(START, said, &mut self.rng).frames.pop() {
                Some(next) => frame = next,
                None => return end,
            }
        }
    }
}

const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

fn forged(n: u16) -> MacAddr {
    let [high, low] = n.to_be_bytes();
    MacAddr([2, 1, 0, 0, high, low])
}

fn token_in(method: Method, reply: &Reply) -> Vec<u8> {
    match Message::parse(&reply.frames[0]) {
        Ok(Message::TokenRequired { group: 19, rest }) => token_of(method, rest).unwrap().to_vec(),
        other => panic!("{other:?}"),
    }
}

/// Inserts a token into a Commit.
fn with_token(commit: &[u8], token: &[u8]) -> Vec<u8> {
    let Ok(Message::Commit(mut said)) = Message::parse(commit) else {
        panic!("{commit:02x?}")
    };
    said.token = Some(token);
    Message::Commit(said).emit()
}

#[test]
fn ten_thousand_forged_commits_take_no_memory_and_exclude_no_station() {
    for method in METHODS {
        let limits = Limits::default();
        let mut net = Net::new(limits);
        let (mut station, commit) = net.start(method, STATION);
        for n in 0..10_000 {
            let reply = net.hear(START, forged(n), &commit);
            assert_eq!(reply.frames.len(), 1);
            assert!(net.parent.open() <= limits.threshold);
            if usize::from(n) >= limits.threshold {
                assert_eq!(token_in(method, &reply).len(), 32);
            }
        }
        assert_eq!((net.parent.open(), net.parent.accepted()), (limits.threshold, 0));
        assert!(matches!(net.talk(&mut station, commit), Some(Event::Accepted(_))));
        assert_eq!(station.state(), State::Accepted);

        // The other exchanges have no peer and time out.
        let mut failed = 0;
        while let Some(now) = net.parent.deadline() {
            assert!(now < START + Duration::from_secs(1));
            while let Some((_, reply)) = net.parent.expire(now) {
                failed += usize::from(reply.event == Some(Event::Failed(Failure::NoAnswer)));
            }
        }
        assert_eq!(
            (failed, net.parent.open(), net.parent.accepted()),
            (limits.threshold, 0, 1)
        );
    }
}

#[test]
fn a_token_is_valid_for_its_address_for_one_to_two_minutes() {
    for method in METHODS {
        let mut net = Net::new(Limits {
            threshold: 0,
            ..Limits::default()
        });
        let (_, commit) = net.start(method, STATION);
        let token = token_in(method, &net.hear(START, STATION, &commit));
        let right = with_token(&commit, &token);
        let mut wrong = token.clone();
        wrong[31] ^= 1;
        for (station, now, body) in [
            (forged(1), START, &right),
            (STATION, START, &with_token(&commit, &wrong)),
            (STATION, START, &with_token(&commit, &token[..31])),
            (STATION, START + Duration::from_secs(91), &right),
            (STATION, START - Duration::from_secs(31), &right),
        ] {
            assert!(net.hear(now, station, body).frames.is_empty());
            assert_eq!(net.parent.open(), 0);
        }
        assert_eq!(
            net.hear(START + Duration::from_secs(89), STATION, &right)
                .frames
                .len(),
            1
        );
        assert_eq!(net.parent.open(), 1);
    }
}

/// A station as seen by an access point over UDP: its address, and the port from which it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct At(MacAddr, u16);

impl From<At> for MacAddr {
    fn from(At(address, _): At) -> MacAddr {
        address
    }
}

impl Peer for At {
    fn place(self) -> Vec<u8> {
        self.1.to_be_bytes().to_vec()
    }
}

#[test]
fn a_token_is_valid_for_its_place_and_exchanges_from_two_places_are_independent() {
    let mut net = Net::new(Limits::default());
    let limits = Limits {
        threshold: 0,
        ..Limits::default()
    };
    let (config, passwords) = (net.config.clone(), vec![net.password.clone()]);
    let mut parent: Parent<At> = Parent::new(ACCESS_POINT, config, passwords, limits, [7; 32]);
    let (mut station, commit) = net.start(Method::HashToElement, STATION);
    let [here, there] = [1, 2].map(|port| At(STATION, port));
    let mut with_own_token = |parent: &mut Parent<At>, from: At, commit: &[u8]| {
        let reply = parent.receive(START, from, commit, &mut net.rng);
        let commit = with_token(commit, &token_in(Method::HashToElement, &reply));
        for elsewhere in [here, there] {
            let is_answered = !parent
                .receive(START, elsewhere, &commit, &mut net.rng)
                .frames
                .is_empty();
            assert_eq!(is_answered, elsewhere == from);
        }
        parent.receive(START, from, &commit, &mut net.rng)
    };
    let theirs = with_own_token(&mut parent, here, &commit);
    let other = net.password.clone();
    let peers = [STATION, ACCESS_POINT];
    let (config, method) = (net.config.clone(), Method::HashToElement);
    let (_, first) = Sae::initiate(START, peers, method, config, other, &mut TestRng(5)).unwrap();
    with_own_token(&mut parent, there, &first.frames[0]);
    assert_eq!(parent.open(), 2);
    let confirm = station
        .receive(START, &theirs.frames[0], &mut net.rng)
        .frames
        .pop()
        .unwrap();
    assert!(
        parent
            .receive(START, there, &confirm, &mut net.rng)
            .event
            .is_none()
    );
    let end = parent.receive(START, here, &confirm, &mut net.rng);
    assert!(matches!(end.event, Some(Event::Accepted(_))));
    assert_eq!((parent.is_open(here), parent.is_open(there)), (false, true));
}

/// A source address can be forged, so that its owner would receive all repetitions.
#[test]
fn an_access_point_repeats_nothing_by_itself_before_a_confirm() {
    let mut net = Net::new(Limits::default());
    let (_, commit) = net.start(Method::HashToElement, STATION);
    assert_eq!(net.hear(START, STATION, &commit).frames.len(), 1);
    let mut end = None;
    while let Some(now) = net.parent.deadline() {
        assert!(now <= START + Duration::from_secs(1));
        let (_, reply) = net.parent.expire(now).unwrap();
        assert!(reply.frames.is_empty());
        end = reply.event;
    }
    assert_eq!(end, Some(Event::Failed(Failure::NoAnswer)));
}

#[test]
fn a_new_exchange_displaces_the_oldest() {
    let limits = Limits {
        threshold: 100,
        open: 3,
        ..Limits::default()
    };
    let mut net = Net::new(limits);
    let (_, commit) = net.start(Method::HashToElement, STATION);
    // The order of the addresses differs from the order in time.
    for n in [3, 1, 4, 2] {
        assert_eq!(net.hear(START, forged(n), &commit).frames.len(), 1);
    }
    let open = [1, 2, 3, 4].map(|n| net.parent.is_open(forged(n)));
    assert_eq!(open, [true, true, false, true]);
}

#[test]
fn open_exchanges_are_limited_even_with_valid_tokens() {
    let limits = Limits {
        threshold: 1,
        open: 3,
        accepted: 2,
    };
    let mut net = Net::new(limits);
    let (_, commit) = net.start(Method::HashToElement, STATION);
    for n in 0..100 {
        let reply = net.hear(START, forged(n), &commit);
        if n > 0 {
            let token = token_in(Method::HashToElement, &reply);
            net.hear(START, forged(n), &with_token(&commit, &token));
        }
        assert!(net.parent.open() <= limits.open);
    }
    assert_eq!(net.parent.open(), limits.open);
}

#[test]
fn accepted_exchanges_are_kept_up_to_a_limit_and_forgotten_on_request() {
    let mut net = Net::new(Limits {
        accepted: 2,
        ..Limits::default()
    });
    // The order of the addresses differs from the order in time.
    let stations = [3, 1, 2].map(forged);
    let mut commits = Vec::new();
    for (n, &address) in stations.iter().enumerate() {
        let (mut station, commit) = net.start(Method::HashToElement, address);
        let theirs = net.hear(START, address, &commit).frames.pop().unwrap();
        let confirm = station
            .receive(START, &theirs, &mut net.rng)
            .frames
            .pop()
            .unwrap();
        assert!(net.hear(START, address, &confirm).event.is_some());
        assert_eq!(net.parent.accepted(), (n + 1).min(2));
        commits.push(commit);
    }
    // A Commit of an accepted exchange is a replay. The oldest exchange is forgotten, so its Commit starts a new one.
    for (n, (&address, commit)) in stations.iter().zip(&commits).enumerate() {
        assert_eq!(net.hear(START, address, commit).frames.len(), usize::from(n == 0));
    }
    net.parent.forget(stations[2]);
    assert_eq!(net.parent.accepted(), 1);
}

#[test]
fn a_lost_last_confirm_is_repeated_but_not_for_a_replay() {
    let mut net = Net::new(Limits::default());
    let (mut station, commit) = net.start(Method::HashToElement, STATION);
    let confirm = net.confirm(&mut station, &commit);
    let accepted = net.hear(START, STATION, &confirm);
    // The Confirm of the access point is lost. A replayed Confirm or Commit gets no answer.
    assert!(net.hear(START, STATION, &confirm).frames.is_empty());
    assert!(net.hear(START, STATION, &commit).frames.is_empty());
    let again = station.expire(station.deadline().unwrap()).frames.pop().unwrap();
    let last = net.hear(START, STATION, &again);
    assert!(last.event.is_none(), "accepted once");
    assert_eq!(last.frames[0][6..8], [0xff, 0xff]);
    assert_eq!(
        station.receive(START, &last.frames[0], &mut net.rng).event,
        accepted.event
    );
    assert!(net.hear(START, STATION, &again).frames.is_empty());
}

#[test]
fn two_sides_that_have_accepted_send_nothing_more() {
    let mut net = Net::new(Limits::default());
    let (mut station, commit) = net.start(Method::HashToElement, STATION);
    let confirm = net.confirm(&mut station, &commit);
    let again = station.expire(station.deadline().unwrap()).frames.pop().unwrap();
    // Both Confirms of the station arrive, and both answers arrive.
    let first = net.hear(START, STATION, &confirm).frames.pop().unwrap();
    let last = net.hear(START, STATION, &again).frames.pop().unwrap();
    assert!(station.receive(START, &first, &mut net.rng).event.is_some());
    let reply = station.receive(START, &last, &mut net.rng);
    assert!(reply.frames.is_empty() && reply.event.is_none());
}

#[test]
fn a_restarted_station_gets_a_new_key_and_the_old_one_lasts_until_then() {
    let mut net = Net::new(Limits::default());
    let (mut first, commit) = net.start(Method::HashToElement, STATION);
    let Some(Event::Accepted(old)) = net.talk(&mut first, commit) else {
        panic!("no key")
    };
    let (mut second, commit) = net.start(Method::HashToElement, STATION);
    let theirs = net.hear(START, STATION, &commit).frames.pop().unwrap();
    assert_eq!((net.parent.open(), net.parent.accepted()), (1, 1));
    let confirm = second.receive(START, &theirs, &mut net.rng).frames.pop().unwrap();
    let Some(Event::Accepted(new)) = net.hear(START, STATION, &confirm).event else {
        panic!("no key")
    };
    assert_ne!(old.as_octets(), new.as_octets());
    assert_eq!((net.parent.open(), net.parent.accepted()), (0, 1));
}

#[test]
fn a_silent_station_can_restart_at_once() {
    let mut net = Net::new(Limits::default());
    let (_, commit) = net.start(Method::HashToElement, STATION);
    net.hear(START, STATION, &commit);
    let (mut second, commit) = net.start(Method::HashToElement, STATION);
    assert!(
        net.hear(START, STATION, &commit).frames.is_empty(),
        "the first exchange continues"
    );
    let now = net.parent.deadline().unwrap();
    net.parent.expire(now).unwrap();
    assert!(matches!(net.talk(&mut second, commit), Some(Event::Accepted(_))));
}

#[test]
fn forged_frames_free_no_place_for_a_forged_commit() {
    let mut net = Net::new(Limits::default());
    let (mut station, commit) = net.start(Method::HashToElement, STATION);
    let (_, forged) = net.start(Method::HashToElement, STATION);
    let forged_confirm = Message::Confirm {
        send_confirm: 1,
        confirm: &[0x55; 32],
    };
    let confirm = net.confirm(&mut station, &commit);
    // The repeated Commit and the invalid Confirm are answered, but only silence lets another Commit replace the
    // exchange.
    for frame in [commit, forged_confirm.emit()] {
        assert_eq!(net.hear(START, STATION, &frame).frames.len(), 1);
        assert!(net.hear(START, STATION, &forged).frames.is_empty());
    }
    assert!(matches!(
        net.hear(START, STATION, &confirm).event,
        Some(Event::Accepted(_))
    ));
}

/// Advances the access point's time until its exchange ends.
fn give_up(net: &mut Net) -> (Duration, Option<Event>) {
    loop {
        let now = net.parent.deadline().unwrap();
        let (_, reply) = net.parent.expire(now).unwrap();
        if reply.event.is_some() {
            return (now, reply.event);
        }
    }
}

#[test]
fn an_abandoned_exchange_resumes_if_its_station_continues() {
    let mut net = Net::new(Limits::default());
    let (mut station, commit) = net.start(Method::HashToElement, STATION);
    let theirs = net.hear(START, STATION, &commit).frames.pop().unwrap();
    let confirm = station
        .receive(START, &theirs, &mut net.rng)
        .frames
        .pop()
        .unwrap();
    let (now, event) = give_up(&mut net);
    assert_eq!(event, Some(Event::Failed(Failure::NoAnswer)));
    assert_eq!((net.parent.open(), net.parent.given_up()), (0, 1));
    // The repeated Commit arrives late, and the earlier Confirm even later.
    assert_eq!(net.hear(now, STATION, &commit).frames.to_vec(), [theirs]);
    let end = net.hear(now, STATION, &confirm);
    assert!(matches!(end.event, Some(Event::Accepted(_))));
    assert_eq!(
        station.receive(now, &end.frames[0], &mut net.rng).event,
        end.event
    );
    assert_eq!((net.parent.open(), net.parent.given_up()), (0, 0));
}

#[test]
fn a_late_confirm_of_another_exchange_does_not_count_as_a_wrong_password() {
    let mut net = Net::new(Limits::default());
    let (mut first, commit) = net.start(Method::HashToElement, STATION);
    let late = net.confirm(&mut first, &commit);
    // The station restarts while the access point still waits, then after it has given up, then after it has
    // accepted.
    let now = net.parent.deadline().unwrap();
    net.parent.expire(now);
    let (_, commit) = net.start(Method::HashToElement, STATION);
    assert_eq!(net.hear(now, STATION, &commit).frames.len(), 1);
    assert!(net.hear(now, STATION, &late).frames.is_empty(), "no refusal");
    assert_eq!(give_up(&mut net).1, Some(Event::Failed(Failure::NoAnswer)));
    let (mut third, commit) = net.start(Method::HashToElement, STATION);
    let Some(Event::Accepted(_)) = net.talk(&mut third, commit) else {
        panic!("no key")
    };
    let (mut fourth, commit) = net.start(Method::HashToElement, STATION);
    let replayed = net.confirm(&mut fourth, &commit);
    assert!(net.hear(START, STATION, &replayed).event.is_some());
    let (_, commit) = net.start(Method::HashToElement, STATION);
    assert_eq!(net.hear(START, STATION, &commit).frames.len(), 1);
    assert!(
        net.hear(START, STATION, &replayed).frames.is_empty(),
        "no refusal"
    );
    assert_eq!(give_up(&mut net).1, Some(Event::Failed(Failure::NoAnswer)));
}

/// Advances the station's time until its exchange ends.
fn time_out(station: &mut Sae) -> Event {
    loop {
        let now = station.deadline().unwrap();
        if let Some(event) = station.expire(now).event {
            return event;
        }
    }
}

#[test]
fn a_restarted_access_point_gets_a_new_exchange() {
    let mut net = Net::new(Limits::default());
    let (mut station, commit) = net.start(Method::HashToElement, STATION);
    let confirm = net.confirm(&mut station, &commit);
    net.restart();
    // A delayed Commit gets another answer, which the station ignores, even after silence.
    let theirs = net.hear(START, STATION, &commit).frames.pop().unwrap();
    assert!(station.receive(START, &theirs, &mut net.rng).frames.is_empty());
    station.expire(station.deadline().unwrap());
    assert!(station.receive(START, &theirs, &mut net.rng).frames.is_empty());
    // The access point rejects the Confirm of the previous exchange; this says nothing about the password.
    let refusal = net.hear(START, STATION, &confirm).frames.pop().unwrap();
    assert!(matches!(
        Message::parse(&refusal),
        Ok(Message::Refused {
            status: status::CHALLENGE_FAILURE,
            ..
        })
    ));
    station.receive(START, &refusal, &mut net.rng);
    assert_eq!(time_out(&mut station), Event::Failed(Failure::NoAnswer));
    net.parent.expire(net.parent.deadline().unwrap());
    let (mut second, other) = net.start(Method::HashToElement, STATION);
    assert_ne!(other, commit);
    assert!(matches!(net.talk(&mut second, other), Some(Event::Accepted(_))));
}

#[test]
fn a_station_accepts_a_late_confirm_of_a_restarted_access_point() {
    let mut net = Net::new(Limits::default());
    let (mut station, commit) = net.start(Method::HashToElement, STATION);
    let confirm = net.confirm(&mut station, &commit);
    let accepted = net.hear(START, STATION, &confirm);
    net.restart();
    let theirs = net.hear(START, STATION, &commit).frames.pop().unwrap();
    station.receive(START, &theirs, &mut net.rng);
    let end = station.receive(START, &accepted.frames[0], &mut net.rng);
    assert!(end.event.is_some());
    assert_eq!(end.event, accepted.event);
}

#[test]
fn abandoned_exchanges_are_kept_up_to_a_limit_and_for_five_seconds() {
    let limits = Limits {
        open: 3,
        ..Limits::default()
    };
    let mut net = Net::new(limits);
    let (_, commit) = net.start(Method::HashToElement, STATION);
    let mut last = START;
    for n in 0..10 {
        net.hear(last, forged(n), &commit);
        last = give_up(&mut net).0;
        assert_eq!(net.parent.given_up(), usize::from(n + 1).min(limits.open));
    }
    let end = last + Duration::from_secs(5);
    for (now, kept) in [(end - Duration::from_nanos(1), 1), (end, 0)] {
        assert!(net.parent.expire(now).is_none());
        assert_eq!(net.parent.given_up(), kept);
    }
}

#[test]
fn an_unsupported_group_is_refused_in_commits_of_a_permitted_method_only() {
    for (hunting_and_pecking, method, is_refused) in [
        (false, Method::HashToElement, true),
        (false, Method::HuntingAndPecking, false),
        (true, Method::HuntingAndPecking, true),
    ] {
        let mut net = Net::new(Limits::default());
        let config = Arc::new(Config {
            hunting_and_pecking,
            ..Config::default()
        });
        let passwords = vec![net.password.clone()];
        net.parent = Parent::new(ACCESS_POINT, config, passwords, Limits::default(), [7; 32]);
        let commit = Message::ForeignCommit { method, group: 2 }.emit();
        let refusal = Message::GroupRefused { group: 2 }.emit();
        let expected = vec![refusal; usize::from(is_refused)];
        assert_eq!(net.hear(START, STATION, &commit).frames.to_vec(), expected);
    }
}

#[test]
fn after_a_clock_jump_every_exchange_still_ends() {
    for jump in [Duration::MAX, Duration::ZERO] {
        let mut net = Net::new(Limits::default());
        let (mut station, commit) = net.start(Method::HashToElement, STATION);
        net.hear(jump, STATION, &commit);
        station.expire(jump);
        for _ in 0..20 {
            let Some(deadline) = net.parent.deadline() else {
                break;
            };
            net.parent.expire(deadline.max(jump));
        }
        assert_eq!(net.parent.open(), 0);
    }
}

#[test]
fn neither_secrets_nor_passwords_are_printed() {
    let net = Net::new(Limits::default());
    let printed = format!("{:?} {:?}", net.password, net.parent);
    assert!(!printed.contains("mekmitasdigoat"), "{printed}");
    assert_eq!(
        printed,
        "Password { identifier: None, .. } Parent { own: 02:00:00:00:00:02, open: 0, accepted: 0, .. }"
    );
}
