//! The replies of one SAE exchange in each state, and their limits (IEEE 802.11-2020 12.4.8.6).

mod common;
#[path = "common/sae.rs"]
mod sides;

use std::sync::Arc;
use std::time::Duration;

use common::TestRng;
use sides::{ACCESS_POINT, METHODS, STATION, config, parent, password, start};
use wlan_frames::MacAddr;
use wlan_rsn::Group;
use wlan_rsn::sae::{Commit, Config, Event, Failure, Message, Method, Parent, Sae, State, status};

const NOW: Duration = Duration::ZERO;
const TICK: Duration = Duration::from_nanos(1);
/// dot11RSNASAESync is 5: a message is retransmitted while the counter is at most 5, so six times.
const MAX_ANSWERS: usize = 6;

/// A station that has sent its Commit, the access point, and this Commit.
struct Pair {
    station: Sae,
    parent: Parent,
    commit: Vec<u8>,
    rng: TestRng,
}

impl Pair {
    fn new(method: Method, groups: &[Group]) -> Pair {
        let mut rng = TestRng(1);
        let secret = password("mekmitasdigoat", None, groups);
        let (station, commit) = start(method, groups, secret.clone(), &mut rng);
        let parent = parent(groups, vec![secret]);
        Pair {
            station,
            parent,
            commit,
            rng,
        }
    }

    fn tell_station(&mut self, body: &[u8]) -> Vec<Vec<u8>> {
        self.station.receive(NOW, body, &mut self.rng).frames.to_vec()
    }

    fn tell_parent(&mut self, body: &[u8]) -> Vec<Vec<u8>> {
        self.parent
            .receive(NOW, STATION, body, &mut self.rng)
            .frames
            .to_vec()
    }

    /// The access point answers the station's Commit with its own.
    fn answer(&mut self) -> Vec<u8> {
        let commit = self.commit.clone();
        self.tell_parent(&commit).remove(0)
    }

    /// The station's exchange times out.
    fn time_out(&mut self) -> Event {
        loop {
            let deadline = self.station.deadline().unwrap();
            if let Some(event) = self.station.expire(deadline).event {
                return event;
            }
        }
    }
}

fn commit_in(body: &[u8]) -> Commit<'_> {
    match Message::parse(body) {
        Ok(Message::Commit(commit)) => commit,
        other => panic!("{other:?}"),
    }
}

fn token_required(method: Method, group: u16, token: &[u8]) -> Vec<u8> {
    let rest = match method {
        Method::HuntingAndPecking => token.to_vec(),
        Method::HashToElement => [&[255, u8::try_from(token.len() + 1).unwrap(), 93], token].concat(),
    };
    Message::TokenRequired { group, rest: &rest }.emit()
}

#[test]
fn a_message_is_retransmitted_at_its_deadline_and_not_before() {
    let mut pair = Pair::new(Method::HashToElement, &[Group::P256]);
    let deadline = pair.station.deadline().unwrap();
    assert!(pair.station.expire(deadline - TICK).frames.is_empty());
    assert_eq!(
        pair.station.expire(deadline).frames.to_vec(),
        [pair.commit.clone()]
    );
    // A late call retransmits too, and the next deadline counts from that call.
    let late = pair.station.deadline().unwrap() + TICK;
    assert_eq!(pair.station.expire(late).frames.to_vec(), [pair.commit]);
    assert_eq!(
        pair.station.deadline(),
        Some(late + Duration::from_millis(40)),
        "dot11RSNASAERetransPeriod"
    );
}

#[test]
fn a_station_adds_a_token_for_its_own_group_only_and_a_limited_number_of_times() {
    for method in METHODS {
        let mut pair = Pair::new(method, &[Group::P256]);
        for refused in [
            token_required(method, 20, b"token"),
            Message::TokenRequired { group: 19, rest: &[] }.emit(),
        ] {
            assert!(pair.tell_station(&refused).is_empty());
        }
        for answered in 0..10 {
            let token = format!("token {answered}");
            let frames = pair.tell_station(&token_required(method, 19, token.as_bytes()));
            assert_eq!(frames.len(), usize::from(answered < MAX_ANSWERS), "{answered}");
            for frame in frames {
                let (first, again) = (commit_in(&pair.commit), commit_in(&frame));
                assert_eq!(again.token, Some(token.as_bytes()));
                assert_eq!((again.scalar, again.element), (first.scalar, first.element));
            }
        }
    }
}

/// Otherwise a forged refusal could move the exchange to a weaker group or make the station commit again.
#[test]
fn tokens_and_group_refusals_are_ignored_after_the_peer_has_committed_and_after_a_timeout() {
    let groups = [Group::P256, Group::P384];
    let asks = [
        token_required(Method::HashToElement, 19, b"token"),
        Message::GroupRefused { group: 19 }.emit(),
        Message::ForeignCommit {
            method: Method::HashToElement,
            group: 2,
        }
        .emit(),
    ];
    let mut pair = Pair::new(Method::HashToElement, &groups);
    let mut unheard = Pair::new(Method::HashToElement, &groups);
    let theirs = pair.answer();
    let confirm = pair.tell_station(&theirs).remove(0);
    for state in [State::Confirmed, State::Accepted] {
        assert_eq!(pair.station.state(), state);
        for ask in &asks {
            assert!(pair.tell_station(ask).is_empty());
            assert_eq!((pair.station.state(), pair.station.group()), (state, Group::P256));
        }
        if state == State::Confirmed {
            let last = pair.tell_parent(&confirm).remove(0);
            pair.tell_station(&last);
        }
    }
    assert_eq!(unheard.time_out(), Event::Failed(Failure::NoAnswer));
    assert_eq!(unheard.station.state(), State::Nothing);
    for ask in asks {
        assert!(unheard.tell_station(&ask).is_empty());
    }
}

#[test]
fn only_a_refusal_of_the_offered_group_makes_the_station_offer_the_next() {
    let mut pair = Pair::new(Method::HashToElement, &[Group::P256, Group::P384]);
    assert!(
        pair.tell_station(&Message::GroupRefused { group: 20 }.emit())
            .is_empty()
    );
    assert_eq!(pair.station.group(), Group::P256);
    let other = pair.tell_station(&Message::GroupRefused { group: 19 }.emit());
    assert_eq!(commit_in(&other[0]).group, Group::P384);
    // The new Commit has the full number of retransmissions.
    let repeated = std::iter::from_fn(|| {
        let deadline = pair.station.deadline()?;
        Some(pair.station.expire(deadline).frames.len())
    });
    assert_eq!(repeated.sum::<usize>(), MAX_ANSWERS);
}

#[test]
fn a_station_refuses_an_unsupported_group_only_in_commits_of_its_own_method() {
    for method in METHODS {
        let mut pair = Pair::new(method, &[Group::P256]);
        for of in METHODS {
            let frames = pair.tell_station(&Message::ForeignCommit { method: of, group: 2 }.emit());
            let refusal = Message::GroupRefused { group: 2 }.emit();
            assert_eq!(frames, vec![refusal; usize::from(of == method)]);
        }
    }
}

#[test]
fn the_status_of_a_refusal_becomes_the_reason_of_the_failure() {
    for (status, failure) in [
        (status::CHALLENGE_FAILURE, Failure::PasswordMismatch),
        (status::UNKNOWN_PASSWORD_IDENTIFIER, Failure::UnknownIdentifier),
        (37, Failure::Refused(37)),
    ] {
        let mut pair = Pair::new(Method::HashToElement, &[Group::P256]);
        pair.tell_station(
            &Message::Refused {
                transaction: 1,
                status,
            }
            .emit(),
        );
        assert_eq!(pair.time_out(), Event::Failed(failure));
    }
}

#[test]
fn a_repeated_commit_must_have_the_same_scalar_and_element() {
    let mut pair = Pair::new(Method::HashToElement, &[Group::P256]);
    let mut other = Pair::new(Method::HashToElement, &[Group::P256]);
    other.rng = TestRng(2);
    let (theirs, others) = (pair.answer(), other.answer());
    let (theirs, others) = (commit_in(&theirs), commit_in(&others));
    let [another_scalar, another_element] = [
        Commit {
            scalar: others.scalar,
            ..theirs
        },
        Commit {
            element: others.element,
            ..theirs
        },
    ]
    .map(|commit| Message::Commit(commit).emit());
    let theirs = Message::Commit(theirs).emit();
    assert_eq!(pair.tell_station(&theirs).len(), 1);
    assert!(pair.tell_station(&another_scalar).is_empty());
    assert!(pair.tell_station(&another_element).is_empty());
    assert_eq!(pair.tell_station(&theirs).len(), 2);
}

#[test]
fn an_access_point_retransmits_its_commit_and_its_refusal_a_limited_number_of_times() {
    let wrong = Message::Confirm {
        send_confirm: 1,
        confirm: &[0x55; 32],
    };
    for asks_by_confirm in [false, true] {
        let mut pair = Pair::new(Method::HashToElement, &[Group::P256]);
        let theirs = pair.answer();
        let (ask, expected) = if asks_by_confirm {
            let refusal = Message::Refused {
                transaction: 2,
                status: status::CHALLENGE_FAILURE,
            };
            (wrong.emit(), refusal.emit())
        } else {
            (pair.commit.clone(), theirs)
        };
        for answered in 0..10 {
            let frames = pair.tell_parent(&ask);
            assert_eq!(
                frames,
                vec![expected.clone(); usize::from(answered < MAX_ANSWERS)]
            );
        }
    }
}

#[test]
fn a_confirm_before_the_commit_makes_a_station_retransmit_its_commit_a_limited_number_of_times() {
    let mut pair = Pair::new(Method::HashToElement, &[Group::P256]);
    let early = Message::Confirm {
        send_confirm: 1,
        confirm: &[0x55; 32],
    };
    for answered in 0..10 {
        let frames = pair.tell_station(&early.emit());
        assert_eq!(
            frames,
            vec![pair.commit.clone(); usize::from(answered < MAX_ANSWERS)]
        );
    }
}

#[test]
fn an_accepted_exchange_answers_each_new_confirm_once_and_a_limited_number_of_times() {
    let mut rng = TestRng(5);
    let groups = [Group::P256];
    let secret = password("mekmitasdigoat", None, &groups);
    let mut parent = parent(&groups, vec![secret.clone()]);
    // A station that retransmits more often than the access point answers.
    let persistent = Arc::new(Config {
        max_sync: 20,
        ..Config::default()
    });
    let addresses = [STATION, ACCESS_POINT];
    let (mut station, mut reply) = Sae::initiate(
        NOW,
        addresses,
        Method::HashToElement,
        persistent,
        secret,
        &mut rng,
    )
    .unwrap();
    let mut hear = |body: &[u8]| parent.receive(NOW, STATION, body, &mut rng).frames.to_vec();
    let theirs = hear(&reply.frames.remove(0)).remove(0);
    let mut confirms = station.receive(NOW, &theirs, &mut TestRng(6)).frames.to_vec();
    for _ in 0..15 {
        let deadline = station.deadline().unwrap();
        confirms.extend(station.expire(deadline).frames);
    }
    // The first Confirm is answered with the access point's Confirm.
    for (sent, confirm) in confirms.iter().enumerate() {
        assert_eq!(hear(confirm).len(), usize::from(sent < 1 + MAX_ANSWERS), "{sent}");
        assert!(hear(confirm).is_empty(), "a replay");
        assert!(hear(&confirms[0]).is_empty(), "an older Confirm");
    }
}

#[test]
fn if_both_start_in_different_groups_the_lower_address_adopts_the_group_of_the_higher() {
    let mut rng = TestRng(3);
    let both = [Group::P256, Group::P384];
    let secret = password("mekmitasdigoat", None, &both);
    let begin = |[own, peer]: [MacAddr; 2], password, groups: &[Group], rng: &mut TestRng| {
        let method = Method::HashToElement;
        let (sae, reply) = Sae::initiate(NOW, [own, peer], method, config(groups), password, rng).unwrap();
        (sae, reply.frames[0].clone())
    };
    let (mut low, _) = begin([STATION, ACCESS_POINT], secret.clone(), &both, &mut rng);
    let reversed = [Group::P384, Group::P256];
    let (mut high, by_high) = begin([ACCESS_POINT, STATION], secret.clone(), &reversed, &mut rng);
    let (_, by_low) = begin([STATION, ACCESS_POINT], secret.clone(), &both, &mut rng);
    assert!(high.receive(NOW, &by_low, &mut rng).frames.is_empty());
    assert_eq!((high.state(), high.group()), (State::Committed, Group::P384));
    // The station with the lower address sends a new Commit in the group of the higher address, and its Confirm.
    let frames = low.receive(NOW, &by_high, &mut rng).frames;
    assert_eq!(commit_in(&frames[0]).group, Group::P384);
    assert!(matches!(Message::parse(&frames[1]), Ok(Message::Confirm { .. })));
    assert_eq!((low.state(), low.group()), (State::Confirmed, Group::P384));

    // A station refuses a group that is not in its configuration. It ignores a group without an element of its
    // password, and a group that the peer itself has refused.
    let (mut strict, _) = begin([STATION, ACCESS_POINT], secret.clone(), &both[..1], &mut rng);
    let refusal = Message::GroupRefused { group: 20 }.emit();
    assert_eq!(strict.receive(NOW, &by_high, &mut rng).frames.to_vec(), [refusal]);
    let only_p256 = password("mekmitasdigoat", None, &both[..1]);
    let (mut without, _) = begin([STATION, ACCESS_POINT], only_p256, &both, &mut rng);
    assert!(without.receive(NOW, &by_high, &mut rng).frames.is_empty());
    assert_eq!(
        (without.state(), without.group()),
        (State::Committed, Group::P256)
    );
    let (mut refused, _) = begin([STATION, ACCESS_POINT], secret, &reversed, &mut rng);
    refused.receive(NOW, &Message::GroupRefused { group: 20 }.emit(), &mut rng);
    assert_eq!(refused.group(), Group::P256);
    assert!(refused.receive(NOW, &by_high, &mut rng).frames.is_empty());
    assert_eq!(
        (refused.state(), refused.group()),
        (State::Committed, Group::P256)
    );
}

#[test]
fn a_station_ignores_a_commit_with_another_identifier_or_with_its_own_group_as_rejected() {
    let mut rng = TestRng(4);
    let groups = [Group::P256];
    let named = password("mekmitasdigoat", Some("guests"), &groups);
    let (mut station, commit) = start(Method::HashToElement, &groups, named.clone(), &mut rng);
    let mut parent = parent(&groups, vec![named]);
    let theirs = parent.receive(NOW, STATION, &commit, &mut rng).frames.remove(0);
    let theirs = commit_in(&theirs);
    let with_other_identifier = Commit {
        identifier: Some(b"staff"),
        ..theirs
    };
    // The station supports group 19, so the peer cannot have refused it.
    let downgraded = Commit {
        rejected: &[2, 0, 19, 0],
        ..theirs
    };
    for commit in [with_other_identifier, downgraded] {
        let reply = station.receive(NOW, &Message::Commit(commit).emit(), &mut rng);
        assert!(reply.frames.is_empty());
        assert_eq!(station.state(), State::Committed);
    }
    let mut downgraded = None;
    while downgraded.is_none() {
        let deadline = station.deadline().unwrap();
        downgraded = station.expire(deadline).event;
    }
    assert_eq!(downgraded, Some(Event::Failed(Failure::Downgraded)));

    // An access point may omit the identifier.
    let secret = password("mekmitasdigoat", Some("guests"), &groups);
    let (mut station, _) = start(Method::HashToElement, &groups, secret, &mut rng);
    let without_identifier = Commit {
        identifier: None,
        ..theirs
    };
    let reply = station.receive(NOW, &Message::Commit(without_identifier).emit(), &mut rng);
    assert_eq!((reply.frames.len(), station.state()), (1, State::Confirmed));
}
