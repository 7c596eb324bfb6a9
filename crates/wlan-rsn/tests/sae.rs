//! SAE between a station and an access point, and between two stations that both start.

mod common;
#[path = "common/sae.rs"]
mod sides;

use std::time::Duration;

use common::TestRng;
use proptest::prelude::*;
use sides::{
    ACCESS_POINT, Channel, METHODS, PERFECT, STATION, Side, agreed, config, parent, password, run, start,
};
use wlan_rsn::Group;
use wlan_rsn::sae::{Event, Failure, Method, Sae, StartError, State};

#[test]
fn a_station_and_an_access_point_agree_by_both_methods_in_all_groups() {
    let mut rng = TestRng(1);
    let secret = password("mekmitasdigoat", None, &Group::ALL);
    for (method, group) in METHODS.iter().flat_map(|m| Group::ALL.map(|g| (*m, g))) {
        let (station, commit) = start(method, &[group], secret.clone(), &mut rng);
        let mut sides = [
            Side::One(Box::new(station)),
            Side::Parent(parent(&Group::ALL, vec![secret.clone()])),
        ];
        let events = run(&mut sides, [vec![commit], vec![]], &mut PERFECT(), &mut rng);
        assert_eq!(agreed(&events).as_octets().len(), 32);
        let [Side::One(station), Side::Parent(parent)] = sides else {
            unreachable!()
        };
        assert_eq!((station.state(), station.group()), (State::Accepted, group));
        assert_eq!((parent.open(), parent.accepted()), (0, 1));
    }
}

#[test]
fn frames_alternate_in_an_infrastructure_bss() {
    let mut rng = TestRng(2);
    let secret = password("mekmitasdigoat", None, &[Group::P256]);
    let mut parent = parent(&[Group::P256], vec![secret.clone()]);
    let (mut station, commit) = start(Method::HashToElement, &[Group::P256], secret, &mut rng);
    assert_eq!(commit[..8], [3, 0, 1, 0, 126, 0, 19, 0]);
    assert_eq!(commit.len(), 8 + 96);
    let theirs = parent.receive(Duration::ZERO, STATION, &commit, &mut rng);
    assert_eq!((theirs.frames.len(), &theirs.frames[0][..8]), (1, &commit[..8]));
    let confirm = station.receive(Duration::ZERO, &theirs.frames[0], &mut rng);
    assert_eq!(
        (confirm.frames.len(), &confirm.frames[0][..8]),
        (1, &[3, 0, 2, 0, 0, 0, 1, 0][..])
    );
    let theirs = parent.receive(Duration::ZERO, STATION, &confirm.frames[0], &mut rng);
    assert!(theirs.frames.len() == 1 && theirs.event.is_some());
    let last = station.receive(Duration::ZERO, &theirs.frames[0], &mut rng);
    assert!(last.frames.is_empty());
    assert_eq!(last.event, theirs.event);
}

#[test]
fn two_initiators_agree_even_if_their_groups_differ() {
    let mut rng = TestRng(3);
    let groups = [Group::P256, Group::P384];
    let secret = password("mekmitasdigoat", None, &groups);
    for (one, other, used) in [
        (Group::P256, Group::P256, Group::P256),
        // The second station has the higher address.
        (Group::P256, Group::P384, Group::P384),
        (Group::P384, Group::P256, Group::P256),
    ] {
        let mut sides = Vec::new();
        let mut frames = Vec::new();
        for (addresses, first) in [([STATION, ACCESS_POINT], one), ([ACCESS_POINT, STATION], other)] {
            let mut groups = groups;
            groups.sort_by_key(|group| *group != first);
            let method = Method::HashToElement;
            let (sae, reply) = Sae::initiate(
                Duration::ZERO,
                addresses,
                method,
                config(&groups),
                secret.clone(),
                &mut rng,
            )
            .unwrap();
            sides.push(Side::One(Box::new(sae)));
            frames.push(reply.frames.to_vec());
        }
        let mut sides: [Side; 2] = sides.try_into().ok().unwrap();
        let events = run(&mut sides, frames.try_into().unwrap(), &mut PERFECT(), &mut rng);
        agreed(&events);
        for side in sides {
            let Side::One(sae) = side else { unreachable!() };
            assert_eq!(sae.group(), used);
        }
    }
}

#[test]
fn two_initiators_fall_back_from_unsupported_groups_to_a_common_one() {
    let mut rng = TestRng(12);
    let secret = password("mekmitasdigoat", None, &Group::ALL);
    for firsts in [[Group::P384, Group::P521], [Group::P521, Group::P384]] {
        let mut frames = Vec::new();
        let mut begin = |addresses, first| {
            let config = config(&[first, Group::P256]);
            let (sae, reply) = Sae::initiate(
                Duration::ZERO,
                addresses,
                Method::HashToElement,
                config,
                secret.clone(),
                &mut rng,
            )
            .unwrap();
            frames.push(reply.frames.to_vec());
            Side::One(Box::new(sae))
        };
        let mut sides = [
            begin([STATION, ACCESS_POINT], firsts[0]),
            begin([ACCESS_POINT, STATION], firsts[1]),
        ];
        // Each side has its own list, and both lists enter the key in the order of the addresses.
        let events = run(&mut sides, frames.try_into().unwrap(), &mut PERFECT(), &mut rng);
        agreed(&events);
    }
}

#[test]
fn both_sides_detect_another_password() {
    let mut rng = TestRng(4);
    let groups = [Group::P256];
    for method in METHODS {
        let (station, commit) = start(method, &groups, password("right", None, &groups), &mut rng);
        let wrong = password("wrong", None, &groups);
        let mut sides = [
            Side::One(Box::new(station)),
            Side::Parent(parent(&groups, vec![wrong])),
        ];
        let events = run(&mut sides, [vec![commit], vec![]], &mut PERFECT(), &mut rng);
        let mismatch = [Event::Failed(Failure::PasswordMismatch)];
        assert_eq!(events, [mismatch.to_vec(), mismatch.to_vec()]);
    }
    assert_eq!(
        Failure::PasswordMismatch.to_string(),
        "the peer has another password"
    );
}

#[test]
fn the_group_falls_back_and_the_refused_groups_enter_the_key() {
    let mut rng = TestRng(7);
    let secret = password("mekmitasdigoat", None, &Group::ALL);
    let offered = [Group::P521, Group::P384, Group::P256];
    for method in METHODS {
        let (station, commit) = start(method, &offered, secret.clone(), &mut rng);
        let mut sides = [
            Side::One(Box::new(station)),
            Side::Parent(parent(&[Group::P256], vec![secret.clone()])),
        ];
        let events = run(&mut sides, [vec![commit], vec![]], &mut PERFECT(), &mut rng);
        agreed(&events);
    }
    let (station, commit) = start(Method::HashToElement, &[Group::P384], secret.clone(), &mut rng);
    let mut sides = [
        Side::One(Box::new(station)),
        Side::Parent(parent(&[Group::P256], vec![secret])),
    ];
    let events = run(&mut sides, [vec![commit], vec![]], &mut PERFECT(), &mut rng);
    assert_eq!(events, [vec![Event::Failed(Failure::GroupsRefused)], vec![]]);
}

#[test]
fn identifiers_select_the_password() {
    let mut rng = TestRng(9);
    let groups = [Group::P256];
    let of = |text, identifier| password(text, identifier, &groups);
    let known = vec![of("for all", None), of("for guests", Some("guests"))];
    for (secret, expected) in [
        (known[0].clone(), None),
        (known[1].clone(), None),
        (of("for guests", Some("staff")), Some(Failure::UnknownIdentifier)),
        (of("for all", Some("guests")), Some(Failure::PasswordMismatch)),
    ] {
        let (station, commit) = start(Method::HashToElement, &groups, secret, &mut rng);
        let mut sides = [
            Side::One(Box::new(station)),
            Side::Parent(parent(&groups, known.clone())),
        ];
        let events = run(&mut sides, [vec![commit], vec![]], &mut PERFECT(), &mut rng);
        match expected {
            None => {
                agreed(&events);
            }
            Some(failure) => assert_eq!(events[0], [Event::Failed(failure)]),
        }
    }
    let method = Method::HuntingAndPecking;
    let addresses = [STATION, ACCESS_POINT];
    let refused = Sae::initiate(
        Duration::ZERO,
        addresses,
        method,
        config(&groups),
        known[1].clone(),
        &mut rng,
    );
    assert_eq!(refused.unwrap_err(), StartError::IdentifierNeedsHashToElement);
    let refused = Sae::initiate(
        Duration::ZERO,
        addresses,
        method,
        config(&[Group::P384]),
        known[0].clone(),
        &mut rng,
    );
    assert_eq!(refused.unwrap_err(), StartError::NoGroup);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn on_any_channel_both_ends_agree_or_report_a_reason(
        seed in any::<u64>(),
        lost_percent in 0_u64..60,
        max_delay_ms in 0_u64..100,
        both_start in any::<bool>(),
        same in prop::bool::weighted(0.7),
    ) {
        let mut rng = TestRng(seed);
        let groups = [Group::P256];
        let ours = password("right", None, &groups);
        let theirs = if same { ours.clone() } else { password("wrong", None, &groups) };
        let (station, commit) = start(Method::HashToElement, &groups, ours, &mut rng);
        let (other, frames) = if both_start {
            let addresses = [ACCESS_POINT, STATION];
            let (sae, reply) =
                Sae::initiate(Duration::ZERO, addresses, Method::HashToElement, config(&groups), theirs, &mut rng)
                    .unwrap();
            (Side::One(Box::new(sae)), reply.frames.to_vec())
        } else {
            (Side::Parent(parent(&groups, vec![theirs])), vec![])
        };
        let mut channel = Channel { draws: TestRng(!seed), lost_percent, max_delay_ms };
        let events = run(&mut [Side::One(Box::new(station)), other], [vec![commit], frames], &mut channel, &mut rng);
        prop_assert_eq!(events[0].len(), 1);
        let keys: Vec<_> = events.iter().flatten().filter_map(|event| match event {
            Event::Accepted(pmk) => Some(pmk),
            Event::Failed(_) => None,
        }).collect();
        let failures: Vec<_> = events.iter().flatten().filter_map(|event| match event {
            Event::Accepted(_) => None,
            Event::Failed(failure) => Some(*failure),
        }).collect();
        let may_fail = if same { vec![Failure::NoAnswer] } else { vec![Failure::NoAnswer, Failure::PasswordMismatch] };
        prop_assert!(failures.iter().all(|failure| may_fail.contains(failure)), "{:?}", events);
        prop_assert!(keys.windows(2).all(|pair| pair[0] == pair[1]), "{:?}", events);
        if !same {
            prop_assert!(keys.is_empty());
            if lost_percent == 0 && max_delay_ms < 20 {
                prop_assert_eq!(&failures, &[Failure::PasswordMismatch; 2], "{:?}", events);
            }
        } else if lost_percent == 0 && max_delay_ms < 20 {
            prop_assert_eq!(keys.len(), 2, "{:?}", events);
        }
    }
}
