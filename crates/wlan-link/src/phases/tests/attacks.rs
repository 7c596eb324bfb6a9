//! Forged, repeated and arbitrary frames, and the limits of the state that they create.

use proptest::prelude::*;

use super::*;

#[test]
fn forged_unprotected_frames_end_no_session_and_trigger_one_query_per_second() {
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
fn an_access_point_ignores_frames_from_group_addresses_and_its_own() {
    let mut world = World::new(Akm::Sae, 1, 5);
    let commit = first_commit(&mut world);
    let mut answers = |from: MacAddr| {
        let mut octets = commit.clone();
        octets[10..16].copy_from_slice(&from.0);
        world.air.clear();
        world.inject(from, from, AP, ControlBody::Management(octets));
        assert_eq!(world.ap().kept(), [0; 5], "no state before a token");
        world.air.len()
    };
    assert_eq!(answers(AP), 0);
    assert_eq!(answers(MacAddr([3, 0, 0, 0, 0, 9])), 0);
    assert_eq!(answers(MacAddr::BROADCAST), 0);
    assert_eq!(answers(station(7)), 1, "a token is required");
}

#[test]
fn ten_thousand_starts_leave_bounded_state_and_exclude_no_station() {
    for akm in AKMS {
        let mut world = World::new(akm, 1, 5);
        assert!(world.run(1, |world| world.is_connected(1)));
        let elements = request(akm, Suite::Ccmp128, &frames::cookie(&[7; 16]));
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
                world.ap().kept().iter().all(|&kept| kept <= 2),
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
fn a_cookie_is_valid_only_from_the_endpoint_that_received_it() {
    let (mut rng, now) = (TestRng(12), Duration::from_secs(1));
    let mut ap = AccessPoint::new(ap_settings(Akm::WpaPskSha256), &mut rng).unwrap();
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
    let request = request(Akm::WpaPskSha256, Suite::Ccmp128, &frames::repeated(rest));
    for (from, expected) in [
        ("192.0.2.9:7701", status::INVALID_PMKID),
        ("192.0.2.8:7700", status::INVALID_PMKID),
        ("[2001:db8::9]:7700", status::INVALID_PMKID),
        (here, status::SUCCESS),
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
        assert_eq!(ap.kept()[1], usize::from(from == here));
    }
}

#[test]
fn an_sae_proof_is_valid_only_from_its_own_endpoint() {
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
        sae::Sae::initiate(now, peers, method, sae_config().into(), password, &mut rng).unwrap();
    while said.event.is_none() {
        let frame = writer.frame(AP, AP, Body::authentication(&said.frames[0]).unwrap());
        let (_, answer) = tell(&mut ap, &mut rng, here, frame).pop().unwrap();
        said = sae.receive(now, &answer[Management::HEADER_LEN..], &mut rng);
    }
    assert_eq!(ap.kept(), [0, 1, 1, 0, 0]);
    let request = request(Akm::Sae, Suite::Ccmp128, &[]);
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
        (elsewhere, status::INVALID_PMKID),
        (here, status::SUCCESS),
        (elsewhere, status::INVALID_PMKID),
        (here, status::SUCCESS),
    ] {
        assert_eq!(associate(&mut ap, &mut rng, from), expected, "{from}");
    }
    assert_eq!(ap.kept(), [0, 1, 1, 1, 0]);
}

#[test]
fn a_station_ignores_frames_to_other_stations_and_answers_of_other_access_points() {
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
fn a_station_believes_advertisements_only_from_the_place_of_the_access_point() {
    let beacon = beacons(Akm::Sae, &[Suite::Ccmp128]).next(Duration::ZERO);
    let udp = |place: &str| Endpoint::Udp(place.parse().unwrap());
    let peer = udp("192.0.2.1:7700");
    let ethernet = Endpoint::Ethernet(MacAddr::BROADCAST);
    for (probes_to, from, is_believed) in [
        (peer, peer, true),
        (peer, udp("[::ffff:192.0.2.1]:7700"), true),
        (peer, udp("192.0.2.1:7701"), false),
        (peer, udp("192.0.2.2:7700"), false),
        (peer, Endpoint::Ethernet(AP), false),
        (ethernet, Endpoint::Ethernet(AP), true),
        (ethernet, Endpoint::Ethernet(station(9)), false),
    ] {
        let mut settings = sta_settings(1, Akm::Sae);
        settings.probes_to = probes_to;
        let mut end = Station::new(settings);
        let frame = ControlFrame {
            transmitter: AP,
            endpoint: from,
            protected: false,
            body: ControlBody::Management(beacon.clone()),
        };
        end.receive(&frame, Duration::ZERO, &mut TestRng(1));
        let phase = if is_believed {
            Phase::Authentication
        } else {
            Phase::Discovery
        };
        assert_eq!(end.state().phase, phase, "{from:?}");
    }
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

    #[test]
    fn arbitrary_frames_cause_no_panic_and_bounded_state(
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
                world.inject(from, from, to, body);
            }
        }
        prop_assert!(world.ap().kept().iter().all(|&kept| kept <= 3));
        prop_assert!(world.run(60, |world| world.is_connected(1)), "{:?}", world.plane(station(1)).events);
    }
}
