//! Both state machines in virtual time, over a channel that loses, duplicates, reorders, damages and forges frames.

mod world;

use proptest::prelude::*;
use wlan_frames::beacon::Beacon;
use wlan_frames::management::{Body, Management};

use super::*;
use crate::plane::{ControlBody, ControlFrame};
use world::*;

const AKMS: [Akm; 3] = [Akm::WpaPskSha256, Akm::Sae, Akm::Owe];

#[test]
fn all_five_phases_with_each_key_management() {
    for akm in AKMS {
        let mut world = World::new(akm, 2, 1);
        assert!(
            world.run(1, |world| world.is_connected(1) && world.is_connected(2)),
            "{}",
            akm.name()
        );
        let took = world.now;
        assert!(
            took < Duration::from_millis(10),
            "{took:?} of waiting, with {}",
            akm.name()
        );
        let (one, two) = (
            world.plane(station(1)).assigned.clone(),
            world.plane(station(2)).assigned.clone(),
        );
        assert!(
            one.iter().all(|prefix| !two.contains(prefix)),
            "two stations have the same address"
        );
        assert_eq!(world.sta(1).cipher, Some("gcmp256"));
        let members = world.ap().members();
        assert_eq!(
            members.iter().map(|member| member.address).collect::<Vec<_>>(),
            [station(1), station(2)]
        );
        // Termination: a sealed Deauthentication, and both ends remove their keys.
        let (End::Sta(sta), _) = world.ends.get_mut(&station(1)).unwrap() else {
            unreachable!()
        };
        sta.shut_down();
        world.settle(station(1));
        world.ends.remove(&station(1));
        assert!(world.run(1, |world| !world.plane(AP).peers.contains_key(&station(1))));
        assert!(world.is_connected(2));
        world.ap().shut_down();
        world.settle(AP);
        world.run(1, |world| world.plane(station(2)).peers.is_empty());
        assert!(world.plane(AP).peers.is_empty() && world.plane(station(2)).told("reason code 3"));
    }
}

#[test]
fn a_wrong_passphrase_is_said_on_both_sides_and_tried_again_slowly() {
    for akm in [Akm::WpaPskSha256, Akm::Sae] {
        let mut world = World::new(akm, 0, 2);
        let mut wrong = sta_settings(1, akm);
        wrong.common.credentials = credentials(akm, "battery staple");
        world.start_sta(1, wrong);
        assert!(!world.run(60, |world| world.is_connected(1)));
        let said = |plane: &Plane| {
            plane
                .events
                .iter()
                .filter(|event| event.text.contains("wrong passphrase"))
                .count()
        };
        for end in [AP, station(1)] {
            let count = said(world.plane(end));
            assert!(
                (1..=4).contains(&count),
                "{} reported it {count} times in a minute: {:?}",
                akm.name(),
                world.plane(end).events
            );
            assert!(world.plane(end).peers.is_empty());
        }
        assert_eq!(world.plane(AP).used.len() + world.plane(station(1)).used.len(), 0);
    }
}

/// Each attempt with a wrong password lets the access point test one guess.
#[test]
fn after_a_wrong_passphrase_the_backoff_doubles_up_to_five_minutes() {
    let mut world = World::new(Akm::Sae, 0, 2);
    let mut wrong = sta_settings(1, Akm::Sae);
    wrong.common.credentials = credentials(Akm::Sae, "battery staple");
    world.start_sta(1, wrong);
    world.run(1500, |_| false);
    let events = &world.plane(station(1)).events;
    let waits: Vec<&str> = events
        .iter()
        .filter(|event| event.text.contains("wrong passphrase"))
        .filter_map(|event| Some(event.text.split_once("next try in ")?.1))
        .collect();
    assert_eq!(
        waits[..6],
        ["30.0 s", "60.0 s", "120.0 s", "240.0 s", "300.0 s", "300.0 s"]
    );
}

#[test]
fn a_wrong_passphrase_is_said_on_both_sides_of_a_bad_channel_too() {
    for (akm, seed) in [Akm::WpaPskSha256, Akm::Sae].into_iter().zip([1, 2]) {
        let mut world = World::new(akm, 0, seed);
        world.channel = Channel {
            lost: 25,
            doubled: 10,
            damaged: 0,
            delay_ms: 30,
        };
        let mut wrong = sta_settings(1, akm);
        wrong.common.credentials = credentials(akm, "battery staple");
        world.start_sta(1, wrong);
        let is_said = |world: &World, end: MacAddr| world.plane(end).told("wrong passphrase");
        let by_both = |world: &mut World| is_said(world, AP) && is_said(world, station(1));
        assert!(world.run(120, by_both), "{}", akm.name());
        assert!(world.plane(AP).count(Outcome::Failed) < 20);
    }
}

#[test]
fn ends_that_do_not_fit_say_why() {
    let mut world = World::new(Akm::Sae, 0, 3);
    let mut other_cipher = sta_settings(1, Akm::Sae);
    other_cipher.common.ciphers = vec![Suite::Ccmp256];
    world.start_sta(1, other_cipher);
    let mut other_kind = sta_settings(2, Akm::Sae);
    other_kind.common.kind = Kind::Ethernet;
    world.start_sta(2, other_kind);
    world.start_sta(3, sta_settings(3, Akm::Owe));
    let mut other_name = sta_settings(4, Akm::Sae);
    other_name.common.ssid = b"elsewhere".to_vec();
    world.start_sta(4, other_name);
    world.run(10, |_| false);
    assert!(
        world
            .plane(station(1))
            .told("offers none of this station's ciphers, only gcmp256, ccmp")
    );
    assert!(world.plane(station(2)).told("IP packets or Ethernet frames"));
    assert!(
        world.plane(station(3)).told("key managements"),
        "{:?}",
        world.plane(station(3)).events
    );
    assert!(
        world
            .plane(station(4))
            .told("no access point with SSID \"elsewhere\" answers")
    );
}

#[test]
fn forged_frames_in_the_open_end_no_session_and_cost_one_question_a_second() {
    let mut world = World::new(Akm::Sae, 1, 4);
    assert!(world.run(1, |world| world.is_connected(1)));
    for round in 0..200 {
        for (claimed, to) in [(station(1), AP), (AP, station(1))] {
            world.forge(
                claimed,
                to,
                Body::Deauthentication {
                    reason: 7,
                    elements: &[],
                },
            );
            world.forge(
                claimed,
                to,
                Body::Disassociation {
                    reason: 8,
                    elements: &[],
                },
            );
        }
        let rest = [round; 40];
        world.forge(
            station(1),
            AP,
            Body::Authentication {
                algorithm: 0,
                transaction: 1,
                status: 0,
                rest: &rest,
            },
        );
        world.forge(
            station(1),
            AP,
            Body::AssociationRequest {
                capability: 0,
                listen_interval: 1,
                elements: &[],
            },
        );
        world.run(0, |_| false);
        let _ = world.run(1, |world| world.now.subsec_millis() % 100 > 90);
        assert!(world.is_connected(1), "in round {round}");
    }
    for (end, ignored) in [
        (AP, "ignored an unprotected Deauthentication"),
        (station(1), "ignored an unprotected"),
    ] {
        assert!(world.plane(end).told(ignored), "{end}");
        assert_eq!(world.plane(end).used.len(), 1, "no key was lost");
        assert!(world.plane(end).events.len() < 500);
    }
}

/// The frame with which station 1 starts SAE.
fn first_commit(world: &mut World) -> Vec<u8> {
    let mut commit = None;
    world.run(1, |world| {
        commit = world.air.iter().find_map(|flight| match &flight.body {
            ControlBody::Management(octets) if flight.from == station(1) => match Management::parse(octets) {
                Ok(frame) if matches!(frame.body, Body::Authentication { .. }) => Some(octets.clone()),
                _ => None,
            },
            _ => None,
        });
        commit.is_some()
    });
    commit.expect("the station starts SAE")
}

#[test]
fn frames_from_a_group_address_or_from_its_own_address_leave_no_trace_at_an_access_point() {
    let mut world = World::new(Akm::Sae, 1, 5);
    let commit = first_commit(&mut world);
    let now = world.now;
    let mut kept_after_commit_from = |from: MacAddr| {
        let mut octets = commit.clone();
        octets[10..16].copy_from_slice(&from.0);
        let frame = ControlFrame {
            transmitter: from,
            endpoint: Endpoint::Ethernet(from),
            protected: false,
            body: ControlBody::Management(octets),
        };
        let mut rng = TestRng(1);
        world.ap().receive(&frame, now, &mut rng);
        world.ap().kept()
    };
    assert_eq!(kept_after_commit_from(AP), [0; 5]);
    assert_eq!(kept_after_commit_from(MacAddr([3, 0, 0, 0, 0, 9])), [0; 5]);
    assert_eq!(kept_after_commit_from(MacAddr::BROADCAST), [0; 5]);
    assert_eq!(kept_after_commit_from(station(7)), [0, 0, 1, 1, 0]);
}

#[test]
fn an_access_point_keeps_endpoints_only_of_open_sae_exchanges() {
    let mut world = World::new(Akm::Sae, 1, 5);
    let mut commit = first_commit(&mut world);
    world.air.clear();
    let now = world.now;
    for n in 0..=255 {
        let from = MacAddr([6, 0, 0, 0, 0, n]);
        commit[10..16].copy_from_slice(&from.0);
        let frame = ControlFrame {
            transmitter: from,
            endpoint: Endpoint::Ethernet(from),
            protected: false,
            body: ControlBody::Management(commit.clone()),
        };
        let mut rng = TestRng(1);
        world.ap().receive(&frame, now, &mut rng);
        world.settle(AP);
        let [.., exchanges, endpoints, _] = world.ap().kept();
        assert!(
            endpoints <= exchanges && exchanges <= 64,
            "{endpoints} of {exchanges}"
        );
    }
    let [.., endpoints, _] = world.ap().kept();
    assert!(endpoints > 0);
    assert!(
        world.run(5, |world| world.is_connected(1)),
        "the genuine station joins"
    );
    assert!(
        world.run(10, |world| world.ap().kept()[3] == 0),
        "the endpoints are forgotten"
    );
}

#[test]
fn beacons_repeat_after_the_beacon_interval_with_the_time_in_microseconds() {
    let mut world = World::new(Akm::Owe, 0, 6);
    let mut sent = Vec::new();
    world.run(10, |world| {
        sent.extend(world.air.iter().filter_map(|flight| match &flight.body {
            ControlBody::Management(octets) => Some((flight.order, Beacon::parse(octets).ok()?.timestamp_us)),
            ControlBody::Eapol(_) => None,
        }));
        false
    });
    sent.dedup();
    let interval_us = 1024 * u64::from(ap::BEACON_TU);
    assert!((9..=11).contains(&sent.len()), "{sent:?}");
    for pair in sent.windows(2) {
        assert_eq!(pair[1].1 - pair[0].1, interval_us);
    }
}

#[test]
fn a_log_line_names_the_phase_the_peer_and_the_reason() {
    let event = |peer| Event {
        phase: Phase::Authentication,
        outcome: Outcome::Failed,
        peer,
        text: "wrong passphrase".into(),
    };
    assert_eq!(event(None).to_string(), "authentication: wrong passphrase");
    assert_eq!(
        event(Some(AP)).to_string(),
        "authentication: 02:00:00:00:00:a0: wrong passphrase"
    );
}

#[test]
fn ten_thousand_starts_keep_little_and_keep_nobody_out() {
    for akm in AKMS {
        let mut world = World::new(akm, 1, 5);
        assert!(world.run(1, |world| world.is_connected(1)));
        let elements = frames::request(
            SSID,
            &settings(AP, akm, "x").elements(&[Suite::Ccmp128], Suite::Gcmp256),
            &[7; 16],
            &[],
        );
        for n in 0..10_000_u32 {
            let [_, b, c, d] = n.to_be_bytes();
            let claimed = MacAddr([6, 0, 1, b, c, d]);
            world.forge(
                claimed,
                AP,
                Body::Authentication {
                    algorithm: 0,
                    transaction: 1,
                    status: 0,
                    rest: &[0; 40],
                },
            );
            // A Commit whose element is not a point of the curve. The token check comes first.
            let mut commit = vec![19, 0];
            commit.resize(98, 5);
            world.forge(
                claimed,
                AP,
                Body::Authentication {
                    algorithm: 3,
                    transaction: 1,
                    status: 126,
                    rest: &commit,
                },
            );
            world.forge(
                claimed,
                AP,
                Body::AssociationRequest {
                    capability: 0,
                    listen_interval: 1,
                    elements: &elements,
                },
            );
            world.air.clear();
            assert!(
                world.ap().kept().iter().all(|&kept| kept <= 257),
                "{:?}",
                world.ap().kept()
            );
        }
        assert!(world.is_connected(1));
        assert!(
            world.plane(AP).events.len() < 100,
            "{} lines",
            world.plane(AP).events.len()
        );
        world.start_sta(2, sta_settings(2, akm));
        assert!(world.run(5, |world| world.is_connected(2)), "{}", akm.name());
    }
}

#[test]
fn an_end_that_begins_anew_is_let_in_after_the_old_session_was_asked_for() {
    for akm in AKMS {
        let mut world = World::new(akm, 1, 6);
        assert!(world.run(1, |world| world.is_connected(1)));
        // Killed, so it sends no Deauthentication.
        world.start_sta(1, sta_settings(1, akm));
        assert!(
            world.run(5, |world| world.is_connected(1)),
            "the station, {}",
            akm.name()
        );
        assert!(world.plane(AP).told("no longer answers"));
        let before = world.now;
        world.start_ap(akm);
        world.settle(AP);
        assert!(world.run(20, |world| !world.is_connected(1)
            || world.now > before + Duration::from_secs(15)));
        assert!(
            world.run(10, |world| world.is_connected(1)),
            "the access point, {}",
            akm.name()
        );
        assert!(
            world.now < before + Duration::from_secs(5),
            "the first frame of the access point reveals its restart: {:?}",
            world.now - before
        );
    }
}

#[test]
fn an_access_point_that_begins_anew_during_sae_is_met_by_a_new_exchange() {
    for after_ms in (0..40).step_by(2) {
        let mut world = World::new(Akm::Sae, 1, 13 + after_ms);
        world.channel = Channel {
            doubled: 50,
            delay_ms: 20,
            ..Channel::default()
        };
        let moment = Duration::from_millis(after_ms);
        world.run(1, |world| world.now >= moment);
        world.start_ap(Akm::Sae);
        world.settle(AP);
        let connected = world.run(20, |world| world.is_connected(1));
        let events = &world.plane(station(1)).events;
        assert!(connected, "after {after_ms} ms: {events:?}");
        let is_blamed = world.plane(station(1)).told("wrong passphrase");
        assert!(!is_blamed, "after {after_ms} ms: {events:?}");
    }
}

#[test]
fn a_session_that_ends_leaves_the_next_exchange_of_sae_alone() {
    for after in 0..24 {
        let mut world = World::new(Akm::Sae, 1, 14);
        assert!(world.run(1, |world| world.is_connected(1)));
        world.start_sta(1, sta_settings(1, Akm::Sae));
        let mut rounds = 0;
        world.run(1, |_| {
            rounds += 1;
            rounds > after
        });
        // Frames in flight are lost, and the sealed Deauthentication of the previous session arrives late.
        world.air.clear();
        let body = Body::Deauthentication {
            reason: 3,
            elements: &[],
        };
        let farewell = ControlFrame {
            transmitter: station(1),
            endpoint: Endpoint::Ethernet(station(1)),
            protected: true,
            body: ControlBody::Management(frames::Writer::new(station(1)).frame(AP, AP, body)),
        };
        let (now, mut rng) = (world.now, TestRng(15));
        world.ap().receive(&farewell, now, &mut rng);
        world.settle(AP);
        let connected = world.run(5, |world| world.is_connected(1));
        let plane = world.plane(station(1));
        assert!(connected, "after {after} rounds: {:?}", plane.events);
        assert_eq!(
            plane.count(Outcome::Failed),
            0,
            "after {after} rounds: {:?}",
            plane.events
        );
    }
}

#[test]
fn an_access_point_that_began_anew_and_cannot_reach_all_has_its_stations_back_in_a_second() {
    for akm in AKMS {
        let mut world = World::new(akm, 0, 11);
        let begin = |world: &mut World| {
            let mut settings = ap_settings(akm);
            settings.beacons_to = None;
            let ap = AccessPoint::new(settings, &mut world.rng).unwrap();
            world.ends.insert(AP, (End::Ap(Box::new(ap)), Plane::default()));
        };
        begin(&mut world);
        for last in 1..=3 {
            let mut settings = sta_settings(last, akm);
            settings.common.keep_alive = Duration::from_secs(60);
            world.start_sta(last, settings);
        }
        let all = |world: &mut World| (1..=3).all(|last| world.is_connected(last));
        assert!(world.run(1, all));
        begin(&mut world);
        world.run(10, |_| false);
        assert!(
            (1..=3).all(|last| world.sta(last).connected),
            "without traffic, no station notices"
        );
        let before = world.now;
        (1..=3).for_each(|last| world.talk(last));
        assert!(world.run(5, all), "{}", akm.name());
        let took = world.now - before;
        assert!(took < Duration::from_millis(1500), "{took:?}");
        // A frame of a known station triggers nothing.
        world.run(1, |_| false);
        let told = world.plane(station(1)).events.len();
        world.talk(1);
        world.run(2, |_| false);
        assert!(world.is_connected(1));
        assert_eq!(world.plane(station(1)).events.len(), told);
    }
}

#[test]
fn a_station_queries_an_access_point_whose_timestamp_goes_back() {
    for forged_us in [None, Some(1 << 50)] {
        let mut world = World::new(Akm::Sae, 0, 14);
        let mut ap = ap_settings(Akm::Sae);
        ap.common.keep_alive = Duration::from_secs(600);
        let ap = AccessPoint::new(ap, &mut world.rng).unwrap();
        world.ends.insert(AP, (End::Ap(Box::new(ap)), Plane::default()));
        let mut settings = sta_settings(1, Akm::Sae);
        settings.common.keep_alive = Duration::from_secs(600);
        world.start_sta(1, settings);
        let mut queries_after = |timestamp_us: Option<u64>| {
            if let Some(timestamp_us) = timestamp_us {
                let beacon = frames::Writer::new(AP).beacon(timestamp_us, ap::BEACON_TU, &[]);
                answers_of_station(&mut world, &beacon);
            }
            let mut seen = Vec::new();
            world.run(10, |world| {
                let is_query = |flight: &&Flight| flight.from == station(1) && flight.key.is_some();
                seen.extend(world.air.iter().filter(is_query).map(|flight| flight.order));
                false
            });
            seen.sort_unstable();
            seen.dedup();
            assert!(world.is_connected(1));
            seen.len()
        };
        assert!(queries_after(None) > 0, "address request");
        assert_eq!(queries_after(None), 0, "the access point's own beacons");
        // A forged timestamp far ahead must not hide a restart.
        assert_eq!(queries_after(forged_us), 0);
        assert_eq!(queries_after(Some(1)), 1);
    }
}

#[test]
fn message_1_may_overtake_the_association_response() {
    let mut world = World::new(Akm::WpaPskSha256, 1, 15);
    let answer = intercepted(&mut world, AP, |body| {
        matches!(body, Body::AssociationResponse { .. })
    });
    let rogue = MacAddr([2, 0, 0, 0, 0, 0xa1]);
    let is_message = |flight: &Flight| flight.from == AP && matches!(flight.body, ControlBody::Eapol(_));
    assert!(world.run(1, |world| world.air.iter().any(is_message)));
    let at = world.air.iter().position(is_message).unwrap();
    let message = world.air.swap_remove(at);
    world.deliver(&message);
    world.deliver(&Flight {
        from: rogue,
        body: ControlBody::Eapol(vec![2, 3, 0, 0]),
        ..message
    });
    assert_eq!(answers_of_station(&mut world, &answer), 1, "message 2");
}

#[test]
fn a_cookie_is_good_where_it_was_sent_to() {
    let (mut rng, now) = (TestRng(12), Duration::from_secs(1));
    let mut ap = AccessPoint::new(ap_settings(Akm::WpaPskSha256), &mut rng).unwrap();
    let elements = settings(AP, Akm::WpaPskSha256, "x").elements(&[Suite::Ccmp128], Suite::Gcmp256);
    let mut writer = frames::Writer::new(station(1));
    let mut ask = |ap: &mut AccessPoint, rng: &mut TestRng, from: &str, body: Body<'_>| {
        while ap.poll_action().is_some() {}
        let frame = ControlFrame {
            transmitter: station(1),
            endpoint: Endpoint::Udp(from.parse().unwrap()),
            protected: false,
            body: ControlBody::Management(writer.question(AP, AP, body)),
        };
        ap.receive(&frame, now, rng);
        let Some(Action::Management { to, frame, .. }) = ap.poll_action() else {
            panic!("no answer")
        };
        assert_eq!(to, Endpoint::Udp(from.parse().unwrap()));
        frame
    };
    let authentication = Body::Authentication {
        algorithm: 0,
        transaction: 1,
        status: 0,
        rest: &[],
    };
    let here = "192.0.2.9:7700";
    let answer = ask(&mut ap, &mut rng, here, authentication);
    let Ok(Management {
        body: Body::Authentication { rest, .. },
        ..
    }) = Management::parse(&answer)
    else {
        panic!("{answer:02x?}")
    };
    let cookie = frames::Advertised::read(rest).cookie;
    let request = frames::request(SSID, &elements, &cookie, &[]);
    for (from, expected) in [
        ("192.0.2.9:7701", frames::status::NOT_AUTHENTICATED),
        ("192.0.2.8:7700", frames::status::NOT_AUTHENTICATED),
        ("[2001:db8::9]:7700", frames::status::NOT_AUTHENTICATED),
        (here, frames::status::SUCCESS),
    ] {
        let association = Body::AssociationRequest {
            capability: 0,
            listen_interval: 1,
            elements: &request,
        };
        let answer = ask(&mut ap, &mut rng, from, association);
        let Ok(Management {
            body: Body::AssociationResponse { status, .. },
            ..
        }) = Management::parse(&answer)
        else {
            panic!("{answer:02x?}")
        };
        assert_eq!(status, expected, "{from}");
        assert_eq!(ap.kept()[0], usize::from(from == here));
    }
}

#[test]
fn a_proof_of_sae_is_good_where_it_was_made() {
    let (mut rng, now) = (TestRng(16), Duration::from_secs(1));
    let mut ap = AccessPoint::new(ap_settings(Akm::Sae), &mut rng).unwrap();
    let mut writer = frames::Writer::new(station(1));
    // Returns the access point's answers and their destinations.
    let tell = |ap: &mut AccessPoint, rng: &mut TestRng, from: &str, octets: Vec<u8>| {
        let frame = ControlFrame {
            transmitter: station(1),
            endpoint: Endpoint::Udp(from.parse().unwrap()),
            protected: false,
            body: ControlBody::Management(octets),
        };
        ap.receive(&frame, now, rng);
        let mut answers = Vec::new();
        while let Some(action) = ap.poll_action() {
            if let Action::Management { to, frame, .. } = action {
                answers.push((to, frame));
            }
        }
        answers
    };
    let Credentials::Sae(password) = credentials(Akm::Sae, "correct horse") else {
        unreachable!()
    };
    let (here, elsewhere) = ("192.0.2.9:7700", "192.0.2.9:7701");
    let peers = [station(1), AP];
    let method = sae::Method::HashToElement;
    let (mut sae, mut said) =
        sae::Sae::initiate(now, peers, method, sae_config(), password, &mut rng).unwrap();
    while said.event.is_none() {
        let frame = writer.sae(AP, AP, &said.frames[0]).unwrap();
        let (_, answer) = tell(&mut ap, &mut rng, here, frame).pop().unwrap();
        said = sae.receive(now, &answer[Management::HEADER_LEN..], &mut rng);
    }
    assert_eq!(ap.kept()[1], 1);
    let elements = settings(AP, Akm::Sae, "x").elements(&[Suite::Ccmp128], Suite::Gcmp256);
    let request = frames::request(SSID, &elements, &[], &[]);
    let mut associate = |ap: &mut AccessPoint, rng: &mut TestRng, from: &str| {
        let body = Body::AssociationRequest {
            capability: 0,
            listen_interval: 1,
            elements: &request,
        };
        let (to, answer) = tell(ap, rng, from, writer.question(AP, AP, body)).swap_remove(0);
        assert_eq!(to, Endpoint::Udp(from.parse().unwrap()));
        match Management::parse(&answer).unwrap().body {
            Body::AssociationResponse { status, .. } => status,
            other => panic!("{other:?}"),
        }
    };
    // Any host can forge the station's request, before and after the genuine request.
    for (from, expected) in [
        (elsewhere, frames::status::NOT_AUTHENTICATED),
        (here, frames::status::SUCCESS),
        (elsewhere, frames::status::NOT_AUTHENTICATED),
        (here, frames::status::SUCCESS),
    ] {
        assert_eq!(associate(&mut ap, &mut rng, from), expected, "{from}");
    }
    assert_eq!(ap.kept()[..2], [1, 0]);
}

#[test]
fn a_link_that_was_down_is_found_again() {
    let mut world = World::new(Akm::Sae, 1, 7);
    assert!(world.run(1, |world| world.is_connected(1)));
    world.cut = true;
    world.run(5, |_| false);
    world.cut = false;
    world.run(2, |_| false);
    assert!(world.is_connected(1));
    assert_eq!(world.plane(AP).used.len(), 1, "a session survives five seconds");
    world.cut = true;
    world.run(60, |_| false);
    assert!(
        !world.is_connected(1)
            && world.plane(AP).peers.is_empty()
            && world.plane(station(1)).peers.is_empty()
    );
    assert_eq!(
        world.plane(station(1)).assigned.len(),
        2,
        "connections over the link keep their addresses"
    );
    world.cut = false;
    let up = world.now;
    assert!(world.run(20, |world| world.is_connected(1)));
    assert!(world.now - up < Duration::from_secs(6), "{:?}", world.now - up);
}

#[test]
fn a_clock_that_jumps_ends_nothing_while_both_are_there() {
    let mut world = World::new(Akm::WpaPskSha256, 1, 8);
    assert!(world.run(1, |world| world.is_connected(1)));
    for jump in [86_400, 3, 1_000_000, 0] {
        world.jump = Duration::from_secs(jump);
        world.run(30, |_| false);
        assert!(world.is_connected(1), "after a jump to {jump} s");
    }
    assert_eq!(world.plane(AP).count(Outcome::Ended), 0);
}

#[test]
fn keys_are_renewed_by_time_and_by_count_from_either_side() {
    let mut world = World::new(Akm::Sae, 0, 9);
    let mut ap = ap_settings(Akm::Sae);
    ap.common.rekey_after = Duration::from_secs(60);
    ap.common.rekey_packets = 5000;
    ap.rekey_group_after = Duration::from_secs(45);
    let machine = AccessPoint::new(ap, &mut world.rng).unwrap();
    world
        .ends
        .insert(AP, (End::Ap(Box::new(machine)), Plane::default()));
    let mut sta = sta_settings(1, Akm::Sae);
    sta.common.rekey_packets = 4000;
    world.start_sta(1, sta);
    assert!(world.run(1, |world| world.is_connected(1)));
    let keys = |world: &World| (world.plane(AP).used.len(), world.plane(station(1)).used.len());
    world.run(62, |_| false);
    assert_eq!(keys(&world), (2, 2), "by time");
    for (end, peer) in [(AP, station(1)), (station(1), AP)] {
        let before = keys(&world).0;
        world
            .ends
            .get_mut(&end)
            .unwrap()
            .1
            .peers
            .get_mut(&peer)
            .unwrap()
            .used = 6000;
        assert!(
            world.run(15, |world| keys(world) == (before + 1, before + 1)),
            "by count at {end}"
        );
        assert!(world.is_connected(1));
    }
    // Previous keys retire.
    world.run(10, |_| false);
    for (end, peer) in [(AP, station(1)), (station(1), AP)] {
        assert_eq!(world.plane(end).peers[&peer].receive.len(), 1);
    }
    assert_eq!(
        world.plane(AP).count(Outcome::Failed) + world.plane(AP).count(Outcome::Ended),
        0
    );
}

/// Runs until `from` sends a management frame that `wanted` selects, and takes it off the air.
fn intercepted(world: &mut World, from: MacAddr, wanted: fn(&Body<'_>) -> bool) -> Vec<u8> {
    let is_wanted = |flight: &Flight| match &flight.body {
        ControlBody::Management(octets) if flight.from == from => {
            Management::parse(octets).is_ok_and(|frame| wanted(&frame.body))
        }
        _ => false,
    };
    assert!(world.run(5, |world| world.air.iter().any(is_wanted)));
    let at = world.air.iter().position(is_wanted).unwrap();
    match world.air.swap_remove(at).body {
        ControlBody::Management(octets) => octets,
        ControlBody::Eapol(_) => unreachable!(),
    }
}

/// Passes a frame to station 1 and returns the number of frames that it sends at once.
fn answers_of_station(world: &mut World, octets: &[u8]) -> usize {
    let from = MacAddr(octets[10..16].try_into().unwrap());
    let frame = ControlFrame {
        transmitter: from,
        endpoint: Endpoint::Ethernet(from),
        protected: false,
        body: ControlBody::Management(octets.to_vec()),
    };
    let (now, before) = (world.now, world.air.len());
    let (End::Sta(end), _) = world.ends.get_mut(&station(1)).unwrap() else {
        unreachable!()
    };
    end.receive(&frame, now, &mut TestRng(3));
    world.settle(station(1));
    world.air.len() - before
}

#[test]
fn a_station_ignores_frames_to_others_and_answers_of_others() {
    let to = |octets: &[u8], da: MacAddr| [&octets[..4], &da.0, &octets[10..]].concat();
    let from =
        |octets: &[u8], sa: MacAddr, bssid: MacAddr| [&octets[..10], &sa.0, &bssid.0, &octets[22..]].concat();
    let (other, rogue) = (station(2), MacAddr([2, 0, 0, 0, 0, 0xa1]));
    let mut world = World::new(Akm::WpaPskSha256, 1, 12);
    let steps: [fn(&Body<'_>) -> bool; 3] = [
        |body| matches!(body, Body::ProbeResponse { .. }),
        |body| matches!(body, Body::Authentication { transaction: 2, .. }),
        |body| matches!(body, Body::AssociationResponse { .. }),
    ];
    for (step, wanted) in steps.into_iter().enumerate() {
        let answer = intercepted(&mut world, AP, wanted);
        assert_eq!(
            answers_of_station(&mut world, &to(&answer, other)),
            0,
            "step {step}"
        );
        if step == 0 {
            for bssid in [MacAddr::BROADCAST, station(1)] {
                assert_eq!(answers_of_station(&mut world, &from(&answer, bssid, bssid)), 0);
            }
            assert_eq!(answers_of_station(&mut world, &from(&answer, rogue, AP)), 0);
        } else {
            assert_eq!(answers_of_station(&mut world, &from(&answer, rogue, rogue)), 0);
            assert!(!world.sta(1).connected);
        }
        // The association is answered by message 1 of the handshake, not by a frame of the station.
        assert_eq!(
            answers_of_station(&mut world, &answer),
            usize::from(step < 2),
            "step {step}"
        );
    }
    assert!(world.run(1, |world| world.is_connected(1)));
}

#[test]
fn a_refused_authentication_is_reported_after_the_timeout_with_its_status() {
    let mut world = World::new(Akm::WpaPskSha256, 1, 13);
    let mut answer = intercepted(&mut world, AP, |body| {
        matches!(body, Body::Authentication { transaction: 2, .. })
    });
    answer.truncate(Management::HEADER_LEN + 6);
    answer[Management::HEADER_LEN + 4] = 17;
    assert_eq!(answers_of_station(&mut world, &answer), 0);
    world.run(20, |world| {
        world.air.retain(|flight| flight.from != AP);
        world.plane(station(1)).count(Outcome::Failed) > 0
    });
    assert!(
        world.plane(station(1)).told("17"),
        "{:?}",
        world.plane(station(1)).events
    );
}

#[test]
fn an_access_point_answers_unknown_stations_at_a_limited_rate() {
    let mut world = World::new(Akm::Sae, 1, 11);
    assert!(world.run(1, |world| world.is_connected(1)));
    let now = world.now;
    let mut answers = |station: MacAddr| {
        let ap = world.ap();
        for _ in 0..1000 {
            ap.stranger(station, Endpoint::Ethernet(station), now);
        }
        std::iter::from_fn(|| ap.poll_action()).count()
    };
    assert_eq!(answers(station(1)), 0, "its session exists");
    assert_eq!(answers(MacAddr::BROADCAST), 0);
    assert_eq!(answers(station(9)), 100);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The ends connect with matching keys or report a failure. The world checks that no key is installed twice.
    #[test]
    fn over_a_bad_channel_ends_connect_or_report_a_reason(
        seed: u64,
        akm in proptest::sample::select(&AKMS[..]),
        channel in (0_u32..30, 0_u32..30, 0_u32..10, 0_u32..20),
    ) {
        let mut world = World::new(akm, 2, seed);
        let (lost, doubled, damaged, delay_ms) = channel;
        world.channel = Channel { lost, doubled, damaged, delay_ms };
        for last in 1..=2 {
            let connected = world.run(120, |world| world.is_connected(last));
            prop_assert!(connected, "{}: {:?}", akm.name(), world.plane(station(last)).events);
        }
        prop_assert!(world.ap().kept().iter().all(|&kept| kept <= 4));
        // A correct passphrase is reported as wrong only if frames are modified.
        let is_blamed = |world: &World, end: MacAddr| world.plane(end).told("wrong passphrase");
        let blames = [AP, station(1), station(2)].map(|end| is_blamed(&world, end));
        prop_assert!(damaged > 0 || blames == [false; 3], "{}: {:?}", akm.name(), blames);
        // Rekeys on the same channel.
        world.channel = Channel { lost: lost / 3, ..world.channel };
        let before = world.plane(AP).used.len();
        world.ends.get_mut(&AP).unwrap().1.peers.values_mut().for_each(|peer| peer.used = 1 << 41);
        world.run(5, |_| false);
        prop_assert!(world.plane(AP).used.len() > before);
        prop_assert!(world.run(60, |world| world.is_connected(1) && world.is_connected(2)));
    }

    #[test]
    fn no_frame_makes_a_machine_panic_or_keep_more(
        frames in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..200), 0_usize..8, any::<bool>()), 1..60),
        seed: u64,
    ) {
        let mut world = World::new(Akm::Owe, 1, seed);
        let half = frames.len() / 2;
        for (n, (mut octets, kind, is_eapol)) in frames.into_iter().enumerate() {
            if n == half {
                world.run(1, |world| world.is_connected(1));
            }
            for (from, to) in [(AP, station(1)), (station(1), AP)] {
                if !is_eapol && octets.len() >= 24 {
                    octets[0] = [0x00, 0x10, 0x40, 0x50, 0x80, 0xb0, 0xc0, 0xd0][kind];
                    octets[1] = 0;
                    octets[4..10].copy_from_slice(&to.0);
                    octets[10..16].copy_from_slice(&from.0);
                    octets[16..22].copy_from_slice(&AP.0);
                    octets[22] &= 0xf0;
                }
                let body = if is_eapol { ControlBody::Eapol(octets.clone()) } else { ControlBody::Management(octets.clone()) };
                let flight = Flight { at: world.now, order: 0, from, to: Some(to), body, key: None };
                world.deliver(&flight);
            }
        }
        prop_assert!(world.ap().kept().iter().all(|&kept| kept <= 3));
        prop_assert!(world.run(60, |world| world.is_connected(1)), "{:?}", world.plane(station(1)).events);
    }
}
