//! SAE with an attacker between the two sides.

mod common;
#[path = "common/sae.rs"]
mod sides;

use std::sync::Arc;
use std::time::Duration;

use common::TestRng;
use proptest::prelude::*;
use sides::{ACCESS_POINT, STATION, parent, password, start};
use wlan_frames::FrameError;
use wlan_rsn::Group;
use wlan_rsn::sae::{Commit, Config, Event, Limits, Message, Method, Parent, State, status};

#[test]
fn a_forged_confirm_or_refusal_does_not_end_an_exchange() {
    let mut rng = TestRng(5);
    let now = Duration::ZERO;
    let secret = password("mekmitasdigoat", None, &[Group::P256]);
    let mut parent = parent(&[Group::P256], vec![secret.clone()]);
    let (mut station, commit) = start(Method::HashToElement, &[Group::P256], secret, &mut rng);
    let refusal = |transaction, status| Message::Refused { transaction, status }.emit();
    let forged_confirm = Message::Confirm {
        send_confirm: 1,
        confirm: &[0x55; 32],
    }
    .emit();
    for forged in [
        refusal(1, status::UNSPECIFIED_FAILURE),
        refusal(1, status::UNKNOWN_PASSWORD_IDENTIFIER),
        Message::GroupRefused { group: 19 }.emit(),
    ] {
        assert!(station.receive(now, &forged, &mut rng).event.is_none());
    }
    let theirs = parent.receive(now, STATION, &commit, &mut rng);
    // A forged Commit in the station's name, and a forged Confirm.
    let (_, other) = start(
        Method::HashToElement,
        &[Group::P256],
        password("x", None, &[Group::P256]),
        &mut rng,
    );
    assert!(parent.receive(now, STATION, &other, &mut rng).frames.is_empty());
    assert!(
        parent
            .receive(now, STATION, &forged_confirm, &mut rng)
            .event
            .is_none()
    );
    let confirm = station.receive(now, &theirs.frames[0], &mut rng);
    assert!(station.receive(now, &forged_confirm, &mut rng).event.is_none());
    assert!(
        station
            .receive(now, &refusal(2, status::CHALLENGE_FAILURE), &mut rng)
            .event
            .is_none()
    );
    let theirs = parent.receive(now, STATION, &confirm.frames[0], &mut rng);
    assert!(matches!(theirs.event, Some(Event::Accepted(_))));
    assert_eq!(
        station.receive(now, &theirs.frames[0], &mut rng).event,
        theirs.event
    );
    // A completed exchange is unaffected as well.
    for frame in [forged_confirm, refusal(2, 1), other, theirs.frames[0].clone()] {
        let reply = station.receive(now, &frame, &mut rng);
        assert!(reply.event.is_none() && reply.frames.is_empty());
        assert_eq!(station.state(), State::Accepted);
    }
}

#[test]
fn an_exchange_tests_one_password() {
    let mut rng = TestRng(11);
    let (groups, now) = ([Group::P256], Duration::ZERO);
    let secret = password("right", None, &groups);
    let (mut station, commit) = start(Method::HashToElement, &groups, secret, &mut rng);
    // A rogue access point makes a Commit for each guessed password. The Confirm that answers a Commit shows whether
    // its password is correct.
    let mut guesses = ["first", "second", "third", "fourth", "fifth", "right"].map(|guess| {
        let mut rogue = parent(&groups, vec![password(guess, None, &groups)]);
        let theirs = rogue.receive(now, STATION, &commit, &mut rng).frames.remove(0);
        (rogue, theirs)
    });
    let first = guesses[0].1.clone();
    let mut said = station.receive(now, &first, &mut rng).frames.to_vec();
    assert_eq!((said.len(), station.state()), (1, State::Confirmed));
    // Neither a repetition of the first Commit nor silence makes the station accept another Commit.
    said.extend(station.receive(now, &first, &mut rng).frames);
    for is_after_silence in [false, true] {
        if is_after_silence {
            said.extend(station.expire(station.deadline().unwrap()).frames);
        }
        for (_, theirs) in &guesses[1..] {
            assert!(station.receive(now, theirs, &mut rng).frames.is_empty());
            assert_eq!(station.state(), State::Confirmed);
        }
    }
    assert_eq!(said.len(), 4, "a Confirm, a Commit with a Confirm, and a Confirm");
    for body in &said {
        for (rogue, _) in &mut guesses {
            assert!(rogue.receive(now, STATION, body, &mut rng).event.is_none());
        }
    }
}

#[test]
fn a_repeated_commit_is_answered_up_to_a_limit_and_changes_nothing() {
    let mut rng = TestRng(12);
    let (groups, now) = ([Group::P256], Duration::ZERO);
    let secret = password("mekmitasdigoat", None, &groups);
    let mut parent = parent(&groups, vec![secret.clone()]);
    let (mut station, commit) = start(Method::HashToElement, &groups, secret, &mut rng);
    let theirs = parent.receive(now, STATION, &commit, &mut rng).frames.remove(0);
    station.receive(now, &theirs, &mut rng);
    let mut last = None;
    for answered in 0..20 {
        let frames = station.receive(now, &theirs, &mut rng).frames;
        // dot11RSNASAESync is 5: a message is not retransmitted beyond it (12.4.8.6.5).
        assert_eq!(
            frames.len(),
            if answered < 6 { 2 } else { 0 },
            "answer {answered}"
        );
        assert_eq!(station.state(), State::Confirmed);
        if let [again, confirm] = &frames[..] {
            assert_eq!(*again, commit, "the same scalar and element");
            last = Some(confirm.clone());
        }
    }
    let end = parent.receive(now, STATION, &last.unwrap(), &mut rng);
    assert!(matches!(end.event, Some(Event::Accepted(_))));
    assert_eq!(station.receive(now, &end.frames[0], &mut rng).event, end.event);
}

#[test]
fn reflected_commits_and_confirms_are_ignored() {
    let mut rng = TestRng(6);
    let secret = password("mekmitasdigoat", None, &[Group::P256]);
    let (mut station, commit) = start(Method::HashToElement, &[Group::P256], secret.clone(), &mut rng);
    let reply = station.receive(Duration::ZERO, &commit, &mut rng);
    assert!(reply.frames.is_empty() && reply.event.is_none());
    assert_eq!(station.state(), State::Committed);
    let mut parent = parent(&[Group::P256], vec![secret]);
    let theirs = parent.receive(Duration::ZERO, STATION, &commit, &mut rng);
    let confirm = station.receive(Duration::ZERO, &theirs.frames[0], &mut rng);
    assert!(
        station
            .receive(Duration::ZERO, &confirm.frames[0], &mut rng)
            .event
            .is_none()
    );
    assert_eq!(station.state(), State::Confirmed);
    assert!(
        parent
            .receive(Duration::ZERO, ACCESS_POINT, &commit, &mut rng)
            .frames
            .is_empty()
    );
}

#[test]
fn a_forged_refusal_of_a_group_is_detected() {
    let mut rng = TestRng(8);
    let groups = [Group::P384, Group::P256];
    let secret = password("mekmitasdigoat", None, &groups);
    let (mut station, _) = start(Method::HashToElement, &groups, secret.clone(), &mut rng);
    let forged = Message::GroupRefused { group: 20 }.emit();
    let commit = station
        .receive(Duration::ZERO, &forged, &mut rng)
        .frames
        .pop()
        .unwrap();
    let Ok(Message::Commit(said)) = Message::parse(&commit) else {
        panic!("{commit:02x?}")
    };
    assert_eq!((said.group, said.rejected), (Group::P256, &[20, 0][..]));
    let mut parent = parent(&groups, vec![secret]);
    let reply = parent.receive(Duration::ZERO, STATION, &commit, &mut rng);
    let refusal = Message::Refused {
        transaction: 1,
        status: status::UNSPECIFIED_FAILURE,
    };
    assert_eq!(reply.frames.to_vec(), [refusal.emit()]);
    assert_eq!(parent.open(), 0);
}

/// IEEE 802.11-2020 12.4.5.4.
#[test]
fn a_commit_with_an_invalid_scalar_or_element_is_refused() {
    const ORDER: [u8; 32] = [
        0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa,
        0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
    ];
    let mut one = [0; 32];
    one[31] = 1;
    let mut rng = TestRng(13);
    let secret = password("mekmitasdigoat", None, &[Group::P256]);
    let (_, frame) = start(Method::HashToElement, &[Group::P256], secret.clone(), &mut rng);
    let Ok(Message::Commit(right)) = Message::parse(&frame) else {
        panic!("{frame:02x?}")
    };
    let mut off_the_curve = right.element.to_vec();
    off_the_curve[63] ^= 1;
    let mut above_the_prime = right.element.to_vec();
    above_the_prime[..32].fill(0xff);
    let improper = [
        (&[0; 32][..], right.element),
        (&one, right.element),
        (&ORDER, right.element),
        (right.scalar, &off_the_curve),
        (right.scalar, &above_the_prime),
        (right.scalar, &[0; 64]),
    ];
    let refusal = Message::Refused {
        transaction: 1,
        status: status::UNSPECIFIED_FAILURE,
    };
    for (scalar, element) in improper {
        let commit = Commit {
            scalar,
            element,
            ..right
        };
        let mut parent = parent(&[Group::P256], vec![secret.clone()]);
        let reply = parent.receive(Duration::ZERO, STATION, &Message::Commit(commit).emit(), &mut rng);
        assert_eq!(
            reply.frames.to_vec(),
            [refusal.emit()],
            "{scalar:02x?} {element:02x?}"
        );
        assert_eq!(parent.open(), 0);
    }
}

#[test]
fn the_error_of_a_truncated_frame_states_the_missing_octets() {
    let mut rng = TestRng(14);
    let secret = password("mekmitasdigoat", None, &[Group::P256]);
    let (_, commit) = start(Method::HashToElement, &[Group::P256], secret, &mut rng);
    // Algorithm, transaction and status; then the group, the scalar and the element.
    let (fixed_len, fields_len) = (6, 2 + 32 + 64);
    assert_eq!(commit.len(), fixed_len + fields_len);
    for cut in 0..commit.len() {
        let expected = match cut.checked_sub(fixed_len) {
            None => (fixed_len, cut),
            Some(have) if have < 2 => (2, have),
            Some(have) => (fields_len, have),
        };
        let Err(FrameError::Truncated { needed, have, .. }) = Message::parse(&commit[..cut]) else {
            panic!("{cut}")
        };
        assert_eq!((needed, have), expected, "{cut}");
    }
}

#[test]
fn hunting_and_pecking_is_answered_only_if_it_is_allowed() {
    let mut rng = TestRng(10);
    let secret = password("mekmitasdigoat", None, &[Group::P256]);
    let strict = Arc::new(Config::default());
    let mut parent = Parent::new(
        ACCESS_POINT,
        strict,
        vec![secret.clone()],
        Limits::default(),
        [7; 32],
    );
    let (mut station, commit) = start(
        Method::HuntingAndPecking,
        &[Group::P256],
        secret.clone(),
        &mut rng,
    );
    assert!(
        parent
            .receive(Duration::ZERO, STATION, &commit, &mut rng)
            .frames
            .is_empty()
    );
    // A station ignores a Commit by another method than its own.
    let (_, other) = start(Method::HashToElement, &[Group::P256], secret, &mut rng);
    assert!(
        station
            .receive(Duration::ZERO, &other, &mut rng)
            .frames
            .is_empty()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn arbitrary_frames_never_panic_nor_lead_to_a_key(
        seed in any::<u64>(),
        frames in prop::collection::vec((0_u8..4, 0_u8..130, prop::collection::vec(any::<u8>(), 0..160)), 1..8),
        flips in prop::collection::vec((0_usize..110, 1_u8..), 1..4),
    ) {
        let mut rng = TestRng(seed);
        let secret = password("mekmitasdigoat", None, &[Group::P256]);
        let (mut station, commit) = start(Method::HashToElement, &[Group::P256], secret.clone(), &mut rng);
        let mut parent = parent(&[Group::P256], vec![secret]);
        let mut bodies: Vec<Vec<u8>> = frames
            .into_iter()
            .flat_map(|(transaction, status, rest)| {
                [[&[3, 0, transaction, 0, status, 0], &rest[..]].concat(), rest]
            })
            .collect();
        // A valid frame with some octets changed.
        let mut almost = commit;
        for (at, with) in flips {
            let at = at % almost.len();
            almost[at] ^= with;
        }
        bodies.push(almost);
        for body in &bodies {
            if let Ok(message) = Message::parse(body) {
                let emitted = message.emit();
                prop_assert_eq!(Message::parse(&emitted), Ok(message));
            }
            for reply in [
                station.receive(Duration::ZERO, body, &mut rng),
                parent.receive(Duration::ZERO, STATION, body, &mut rng),
            ] {
                prop_assert!(reply.event.is_none());
            }
        }
    }
}
