//! Floods of frames that anyone can send. Stations join in the time that they need without the flood plus one retry, the
//! timers of the access point bound its wake-ups, and the state of a victim does not change.
//!
//! An attacker at an interface of its own receives the answers to its frames. An attacker that forges the interface of its
//! victim receives nothing.

use wlan_eap::eapol;

use wlan_bss::elements::of_ssid;

use super::*;

/// The longest retry of a station after a failed attempt: all transmissions of a request, then the first backoff.
const RETRY: Duration = Duration::from_millis(5 * 100 + 250);
/// Interval of the attacker's frames.
const EVERY: Duration = Duration::from_millis(1);

/// An interface of an attacker.
fn attacker(n: u32) -> MacAddr {
    let [_, b, c, d] = n.to_be_bytes();
    MacAddr([6, 0, 9, b, c, d])
}

/// Runs for at most `for_s` seconds, in which the attacker acts every millisecond. Returns whether `done` became true.
fn flooded(
    world: &mut World,
    for_s: u64,
    mut attack: impl FnMut(&mut World),
    mut done: impl FnMut(&mut World) -> bool,
) -> bool {
    let until = world.now + Duration::from_secs(for_s);
    while world.now < until {
        attack(world);
        let next = world.now + EVERY;
        if world.run_until(next, &mut done) {
            return true;
        }
    }
    false
}

/// The time that station `last` needs to join, while the attacker acts.
fn join_time(world: &mut World, akm: Akm, last: u8, attack: impl FnMut(&mut World)) -> Duration {
    let began = world.now;
    world.start_sta(last, sta_settings(last, akm));
    let joined = flooded(world, 10, attack, |world| world.is_connected(last));
    let events = &world.plane(station(last)).events;
    assert!(joined, "{} is kept out: {events:?}", akm.name());
    world.now - began
}

/// The time that a station needs to join without an attack.
fn undisturbed(akm: Akm) -> Duration {
    join_time(&mut World::new(akm, 0, 31), akm, 1, |_| ())
}

/// Asserts that three stations join during the attack in the time that they need without it plus one retry, and that the
/// timers of the access point are served at a bounded rate.
fn stations_join(world: &mut World, akm: Akm, mut attack: impl FnMut(&mut World)) {
    let alone = undisturbed(akm);
    // The flood has been in progress for some time.
    flooded(world, 1, &mut attack, |_| false);
    let (began, wakes) = (world.now, world.wakes);
    for last in 2..=4 {
        let took = join_time(world, akm, last, &mut attack);
        assert!(
            took <= alone + RETRY,
            "{}: {took:?} instead of {alone:?}",
            akm.name()
        );
    }
    flooded(world, 1, &mut attack, |_| false);
    let seconds = (world.now - began).as_secs_f64();
    let wakes = (world.wakes - wakes) as f64 / seconds;
    assert!(wakes <= 101.0, "{}: {wakes} wake-ups per second", akm.name());
}

/// The frames that have arrived at interfaces of the attacker since the last call.
fn arrived(world: &mut World) -> Vec<Flight> {
    std::mem::take(&mut world.elsewhere)
}

fn authentication(rest: &[u8]) -> Body<'_> {
    Body::Authentication {
        algorithm: 0,
        transaction: 1,
        status: 0,
        rest,
    }
}

/// An Association Request of a station that chooses this cipher, with a cookie element.
fn association(akm: Akm, cipher: Suite, cookie: &[u8]) -> Vec<u8> {
    let dh = match akm {
        Akm::Owe => wlan_rsn::owe::Station::new(&GROUPS, &mut TestRng(9))
            .unwrap()
            .element(),
        _ => Vec::new(),
    };
    request(akm, cipher, &[&dh[..], cookie].concat())
}

fn associate(world: &mut World, endpoint: MacAddr, claimed: MacAddr, elements: &[u8]) {
    let body = Body::AssociationRequest {
        capability: 0,
        listen_interval: 1,
        elements,
    };
    world.forge_from(endpoint, claimed, AP, body);
}

/// Answers for the attacker: it associates with each cookie, sends its identity, and then falls silent.
fn go_silent_after_identity(world: &mut World, akm: Akm) {
    for flight in arrived(world) {
        let endpoint = flight.to.unwrap();
        match &flight.body {
            ControlBody::Management(octets) => {
                let Ok(Management {
                    da,
                    body: Body::Authentication { rest, .. },
                    ..
                }) = Management::parse(octets)
                else {
                    continue;
                };
                let request = association(akm, Suite::Ccmp128, &frames::repeated(rest));
                associate(world, endpoint, da, &request);
            }
            ControlBody::Eapol(pdu) => {
                let Some(eapol::Pdu::Eap([1, identifier, _, _, 1, ..])) = eapol::Pdu::parse(pdu) else {
                    continue;
                };
                let identity = [2, *identifier, 0, 7, 1, b'm', b'e'];
                let body = ControlBody::Eapol(eapol::of_eap(&identity));
                world.inject(endpoint, endpoint, AP, body);
            }
        }
    }
}

/// An attack with a new station every time, which associates and then falls silent.
fn silent_stations(akm: Akm) -> impl FnMut(&mut World) {
    let mut n = 0;
    move |world| {
        n += 1;
        world.forge(attacker(n), AP, authentication(&[0; 320]));
        go_silent_after_identity(world, akm);
    }
}

#[test]
fn silent_conversations_with_the_authentication_server_keep_no_station_out() {
    let akm = Akm::WpaEap;
    let mut world = World::new(akm, 1, 32);
    world.server.session_timeout_s = Some(2);
    assert!(world.run(1, |world| world.is_connected(1)));
    stations_join(&mut world, akm, silent_stations(akm));
    let [_, joins, _, _, conversations] = world.ap().kept();
    assert!(
        joins > 128 && conversations > 128,
        "the attacker occupies the places"
    );
    // The session has authenticated again, and nothing has ended it.
    assert!(world.is_connected(1));
    assert!(world.server.accepted > 4, "{}", world.server.accepted);
    assert_eq!(world.plane(station(1)).count(Outcome::Ended), 0);
}

#[test]
fn unanswered_handshakes_keep_no_station_out() {
    for akm in [Akm::WpaPskSha256, Akm::Owe] {
        let mut world = World::new(akm, 1, 33);
        assert!(world.run(1, |world| world.is_connected(1)));
        stations_join(&mut world, akm, silent_stations(akm));
        assert!(world.ap().kept()[1] > 128, "the attacker occupies the places");
        assert!(world.is_connected(1));
    }
}

/// Commits of the attacker, each with a scalar of its own.
struct Commits {
    rng: TestRng,
    password: Arc<Password>,
}

impl Commits {
    fn new() -> Self {
        let Credentials::Sae(password) = credentials(Akm::Sae, "a guess") else {
            unreachable!()
        };
        Self {
            rng: TestRng(34),
            password,
        }
    }

    /// Algorithm, transaction, status and the rest of a Commit in the name of `claimed`.
    fn next(&mut self, claimed: MacAddr, token: Option<&[u8]>) -> Vec<u8> {
        let method = sae::Method::HashToElement;
        let (now, peers) = (Duration::ZERO, [claimed, AP]);
        let password = self.password.clone();
        let (_, first) =
            sae::Sae::initiate(now, peers, method, sae_config().into(), password, &mut self.rng).unwrap();
        let Ok(sae::Message::Commit(mut commit)) = sae::Message::parse(&first.frames[0]) else {
            unreachable!()
        };
        commit.token = token;
        sae::Message::Commit(commit).emit()
    }
}

fn send_sae(world: &mut World, endpoint: MacAddr, claimed: MacAddr, body: &[u8]) -> usize {
    let octets = frames::Writer::new(claimed).frame(AP, AP, Body::authentication(body).unwrap());
    let len = octets.len();
    world.inject(endpoint, claimed, AP, ControlBody::Management(octets));
    len
}

/// The tokens that have arrived at interfaces of the attacker, with the address that each is for.
fn tokens(world: &mut World) -> Vec<(MacAddr, MacAddr, Vec<u8>)> {
    let token = |flight: Flight| {
        let ControlBody::Management(octets) = &flight.body else {
            return None;
        };
        let claimed = MacAddr(octets[4..10].try_into().unwrap());
        match sae::Message::parse(&octets[Management::HEADER_LEN..]) {
            Ok(sae::Message::TokenRequired { rest, .. }) => {
                let token = sae::token_of(sae::Method::HashToElement, rest)?.to_vec();
                Some((flight.to?, claimed, token))
            }
            _ => None,
        }
    };
    arrived(world).into_iter().filter_map(token).collect()
}

#[test]
fn open_sae_exchanges_keep_no_station_out() {
    let akm = Akm::Sae;
    let mut world = World::new(akm, 1, 35);
    assert!(world.run(1, |world| world.is_connected(1)));
    let mut commits = Commits::new();
    let mut n = 0;
    stations_join(&mut world, akm, |world| {
        n += 1;
        if n % 4 == 0 {
            let commit = commits.next(attacker(n), None);
            send_sae(world, attacker(n), attacker(n), &commit);
        }
        for (endpoint, claimed, token) in tokens(world) {
            let commit = commits.next(claimed, Some(&token));
            send_sae(world, endpoint, claimed, &commit);
        }
    });
    assert!(world.ap().kept()[1] > 64, "{:?}", world.ap().kept());
    assert!(world.is_connected(1));
}

#[test]
fn a_token_is_valid_only_from_the_endpoint_that_received_it() {
    let mut world = World::new(Akm::Sae, 0, 36);
    let mut commits = Commits::new();
    let (here, elsewhere, victim) = (attacker(1), attacker(2), station(1));
    let commit = commits.next(victim, None);
    send_sae(&mut world, here, victim, &commit);
    assert!(world.run(1, |world| !world.elsewhere.is_empty()));
    let (_, _, token) = tokens(&mut world).pop().unwrap();
    let commit = commits.next(victim, Some(&token));
    for (endpoint, kept) in [(elsewhere, 0), (victim, 0), (here, 1)] {
        send_sae(&mut world, endpoint, victim, &commit);
        assert_eq!(world.ap().kept()[1], kept, "{endpoint}");
    }
}

/// The victim's interface is forged, so that all answers go there.
#[test]
fn forged_commits_draw_no_more_octets_than_they_have_and_no_commit() {
    let mut world = World::new(Akm::Sae, 0, 37);
    let victim = attacker(1);
    let mut commits = Commits::new();
    let mut sent = 0;
    for _ in 0..100 {
        let commit = commits.next(victim, None);
        sent += send_sae(&mut world, victim, victim, &commit);
    }
    world.run(10, |_| false);
    let answers = arrived(&mut world);
    let octets = |flight: &Flight| match &flight.body {
        ControlBody::Management(octets) | ControlBody::Eapol(octets) => octets.len(),
    };
    let drawn: usize = answers.iter().map(octets).sum();
    assert!(answers.len() == 100 && drawn <= sent, "{drawn} of {sent} octets");
    assert_eq!(world.ap().kept(), [0; 5]);
}

/// Frames that anyone can send to an access point, and the interface that they seem to come from. The octets of all
/// answers within ten seconds must not exceed the octets of the frames.
#[test]
fn no_unproven_sender_draws_more_octets_than_it_sends() {
    for akm in AKMS {
        let mut world = World::new(akm, 1, 38);
        assert!(world.run(1, |world| world.is_connected(1)));
        let probe = of_ssid(SSID);
        let request = association(akm, Suite::Ccmp128, &frames::cookie(&[7; 16]));
        let mut commits = Commits::new();
        let commit = commits.next(attacker(1), None);
        let mut bogus = commit.clone();
        bogus[20..40].fill(0xff);
        let confirm = sae::Message::Confirm {
            send_confirm: 1,
            confirm: &[5; 32],
        }
        .emit();
        let bodies: Vec<Body<'_>> = vec![
            Body::ProbeRequest { elements: &probe },
            Body::ProbeRequest { elements: &[] },
            authentication(&[]),
            authentication(&[0; 320]),
            Body::authentication(&commit).unwrap(),
            Body::authentication(&bogus).unwrap(),
            Body::authentication(&confirm).unwrap(),
            // A Commit in another group.
            Body::Authentication {
                algorithm: 3,
                transaction: 1,
                status: 126,
                rest: &[20, 0],
            },
            Body::AssociationRequest {
                capability: 0,
                listen_interval: 1,
                elements: &request,
            },
            Body::Deauthentication {
                reason: 7,
                elements: &[],
            },
        ];
        let mut all: Vec<ControlBody> = Vec::new();
        for body in bodies {
            let frame = frames::Writer::new(attacker(1)).frame(AP, AP, body);
            all.push(ControlBody::Management(frame));
        }
        for pdu in [eapol::start(), vec![2, 2, 0, 0], eapol::of_eap(&[2, 1, 0, 5, 1])] {
            all.push(ControlBody::Eapol(pdu));
        }
        for body in all {
            // Over UDP: an EAPOL PDU has the headers of 802.11 and LLC.
            let (ControlBody::Management(octets) | ControlBody::Eapol(octets)) = &body;
            let headers_b = if matches!(body, ControlBody::Eapol(_)) {
                34
            } else {
                0
            };
            let sent = octets.len() + headers_b;
            world.inject(attacker(1), attacker(1), AP, body.clone());
            world.run(10, |_| false);
            let answers = arrived(&mut world);
            let drawn = answers.iter().map(|flight| match &flight.body {
                ControlBody::Management(octets) => octets.len(),
                ControlBody::Eapol(pdu) => pdu.len() + 34,
            });
            let drawn: usize = drawn.sum();
            assert!(
                drawn <= sent,
                "{}: {drawn} for {sent} octets of {body:02x?}",
                akm.name()
            );
        }
        assert!(world.is_connected(1));
    }
}

/// A host that has an endpoint of its own joins in the name of the victim, before, while and after the victim joins.
#[test]
fn a_join_in_the_name_of_a_station_from_elsewhere_does_not_change_that_of_the_station() {
    for akm in AKMS {
        let alone = undisturbed(akm);
        for seed in 0..8 {
            let mut world = World::new(akm, 0, 40 + seed);
            world.channel.delay_ms = 2;
            let victim = station(1);
            let mut commits = Commits::new();
            let mut n = 0_u32;
            let attack = |world: &mut World| {
                n += 1;
                if akm == Akm::Sae {
                    let commit = commits.next(victim, None);
                    send_sae(world, attacker(n % 7), victim, &commit);
                    for (endpoint, _, token) in tokens(world) {
                        let commit = commits.next(victim, Some(&token));
                        send_sae(world, endpoint, victim, &commit);
                    }
                    return;
                }
                world.forge_from(attacker(n % 7), victim, AP, authentication(&[0; 320]));
                for flight in arrived(world) {
                    let (ControlBody::Management(octets), Some(endpoint)) = (&flight.body, flight.to) else {
                        continue;
                    };
                    if let Ok(Management {
                        body: Body::Authentication { rest, .. },
                        ..
                    }) = Management::parse(octets)
                    {
                        let cookie = frames::repeated(rest);
                        let cipher = [Suite::Ccmp128, Suite::Gcmp256][n as usize % 2];
                        associate(world, endpoint, victim, &association(akm, cipher, &cookie));
                    }
                }
                // Answers in the name of the victim.
                for pdu in [
                    eapol::of_eap(&[2, n.to_le_bytes()[0], 0, 7, 1, b'm', b'e']),
                    eapol::start(),
                    vec![2, 2, 0, 0],
                ] {
                    world.inject(attacker(n % 7), victim, AP, ControlBody::Eapol(pdu));
                }
            };
            let took = join_time(&mut world, akm, 1, attack);
            let longest = alone + RETRY;
            assert!(took <= longest, "{}: {took:?} instead of {alone:?}", akm.name());
            assert_eq!(world.plane(AP).count(Outcome::Established), 1);
            assert!(world.run(2, |world| world.ap().kept()[1] == 0) || akm.is_eap());
        }
    }
}

/// A host with an interface of its own that joins in the name of station 1, with a valid key, and stops before message 4.
struct Halfway {
    end: Station,
    at: MacAddr,
    sent_message_2: bool,
}

impl Halfway {
    fn new(akm: Akm) -> Self {
        Self {
            end: Station::new(sta_settings(1, akm)),
            at: attacker(1),
            sent_message_2: false,
        }
    }

    fn act(&mut self, world: &mut World) {
        let (now, mut rng) = (world.now, TestRng(51));
        for flight in arrived(world) {
            let frame = ControlFrame {
                transmitter: AP,
                endpoint: Endpoint::Ethernet(AP),
                protected: false,
                body: flight.body,
            };
            self.end.receive(&frame, now, &mut rng);
        }
        if self.end.next_timeout() <= now {
            self.end.timeout(now, &mut rng);
        }
        while let Some(action) = self.end.poll_action() {
            let body = match action {
                Action::Management {
                    protected: false,
                    frame,
                    ..
                } => ControlBody::Management(frame),
                Action::Eapol {
                    protected: false,
                    pdu,
                    ..
                } => {
                    // The length of the key data, which only message 4 does not have.
                    let key_data = (pdu[1] == 3).then(|| pdu[97..99] != [0, 0]);
                    if key_data == Some(false) {
                        continue;
                    }
                    self.sent_message_2 |= key_data == Some(true);
                    ControlBody::Eapol(pdu)
                }
                _ => continue,
            };
            world.inject(self.at, station(1), AP, body);
        }
    }
}

/// With `owe`, anyone can do this; with the other key managements, only another user of the network.
#[test]
fn message_2_from_elsewhere_gives_its_sender_no_session_and_ends_no_join() {
    for akm in AKMS {
        let alone = undisturbed(akm);
        for seed in 0..4 {
            let mut world = World::new(akm, 0, 50 + seed);
            world.channel.delay_ms = 2;
            let mut rival = Halfway::new(akm);
            if seed == 0 {
                flooded(&mut world, 1, |world| rival.act(world), |_| false);
                assert!(rival.sent_message_2, "{}", akm.name());
                let kept = world.ap().kept();
                assert_eq!((kept[0], kept[1]), (0, 1), "{}", akm.name());
            }
            let took = join_time(&mut world, akm, 1, |world| rival.act(world));
            assert!(rival.sent_message_2, "{}", akm.name());
            let longest = alone + RETRY;
            assert!(took <= longest, "{}: {took:?} instead of {alone:?}", akm.name());
            assert_eq!(world.plane(AP).count(Outcome::Established), 1);
            // Message 3 gave the rival the group key.
            let groups = world.plane(AP).group_keys.len();
            let renewed = |world: &mut World| world.plane(AP).group_keys.len() > groups;
            assert!(world.run(15, renewed), "{}", akm.name());
            assert!(world.is_connected(1) && world.opens_group(1));
        }
    }
}

/// Frames in the name of the access point, during all phases of a station that joins.
fn answers_of_an_impostor(n: u32) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let mut writer = frames::Writer::new(AP);
    let to = station(1);
    let refusal = sae::Message::Refused {
        transaction: 2,
        status: sae::status::CHALLENGE_FAILURE,
    }
    .emit();
    let token = [&[3, 0, 1, 0, 76, 0, 19, 0, 255, 33, 93][..], &[0x5a; 32]].concat();
    let mut bodies: Vec<Body<'_>> = vec![
        Body::Authentication {
            algorithm: 0,
            transaction: 2,
            status: 0,
            rest: &[],
        },
        Body::Authentication {
            algorithm: 0,
            transaction: 2,
            status: 17,
            rest: &[],
        },
        Body::AssociationResponse {
            capability: 0,
            status: 0,
            aid: 1,
            elements: &[],
        },
        Body::AssociationResponse {
            capability: 0,
            status: 53,
            aid: 1,
            elements: &[],
        },
        Body::Deauthentication {
            reason: 15,
            elements: &[],
        },
        Body::Disassociation {
            reason: 8,
            elements: &[],
        },
    ];
    bodies.extend(Body::authentication(&refusal).ok());
    bodies.extend(Body::authentication(&token).ok());
    let management = bodies
        .into_iter()
        .map(|body| writer.frame(to, AP, body))
        .collect();
    let identifier = n.to_le_bytes()[0];
    // Message 1 of each descriptor version, with a nonce of the impostor and the highest replay counter.
    let message_1 = |version: u8| {
        let mut pdu = vec![2, 3, 0, 95, 2, 0, 0x88 | version, 0, 32];
        pdu.resize(99, identifier);
        pdu[9..17].fill(0xff);
        pdu[97..].fill(0);
        pdu
    };
    let eapol = vec![
        message_1(0),
        message_1(2),
        message_1(3),
        eapol::of_eap(&[4, identifier, 0, 4]),
        eapol::of_eap(&[3, identifier, 0, 4]),
        // Garbage of EAP-TLS.
        eapol::of_eap(&[&[1, identifier, 0, 16, 13, 0][..], &[0x16; 10]].concat()),
        eapol::of_eap(&[1, identifier, 0, 5, 4]),
    ];
    (management, eapol)
}

#[test]
fn an_impostor_at_another_endpoint_does_not_delay_a_station() {
    for akm in AKMS {
        let alone = undisturbed(akm);
        let mut world = World::new(akm, 0, 31);
        let mut n = 0;
        let took = join_time(&mut world, akm, 1, |world| {
            n += 1;
            let (management, eapol) = answers_of_an_impostor(n);
            for octets in management {
                world.inject(attacker(1), AP, station(1), ControlBody::Management(octets));
            }
            for pdu in eapol {
                world.inject(attacker(1), AP, station(1), ControlBody::Eapol(pdu));
            }
        });
        assert_eq!(took, alone, "{}", akm.name());
        assert_eq!(world.plane(station(1)).count(Outcome::Failed), 0);
    }
}

/// Each frame is forged once, from the endpoint of the access point, at each millisecond of the join.
#[test]
fn a_forged_frame_of_the_access_point_costs_a_station_at_most_one_retry() {
    for akm in AKMS {
        let alone = undisturbed(akm);
        let (management, eapol) = answers_of_an_impostor(7);
        let management = management.into_iter().map(ControlBody::Management);
        for body in management.chain(eapol.into_iter().map(ControlBody::Eapol)) {
            for at_ms in 0..4 {
                let mut world = World::new(akm, 0, 31);
                let mut n = 0;
                let took = join_time(&mut world, akm, 1, |world| {
                    if n == at_ms {
                        world.inject(AP, AP, station(1), body.clone());
                    }
                    n += 1;
                });
                let longest = 2 * alone + RETRY + Duration::from_secs(1);
                assert!(
                    took <= longest,
                    "{}, {at_ms} ms: {took:?} instead of {alone:?} after {body:02x?}",
                    akm.name()
                );
                assert!(!world.plane(station(1)).told("next try in 30"));
            }
        }
    }
}

#[test]
fn unsuitable_advertisements_in_the_name_of_the_access_point_delay_no_station() {
    for akm in AKMS {
        let alone = undisturbed(akm);
        let mut world = World::new(akm, 0, 31);
        let mut beacons = beacons(akm, &[Suite::Ccmp256]);
        let took = join_time(&mut world, akm, 1, |world| {
            for endpoint in [AP, attacker(1)] {
                let octets = beacons.next(Duration::ZERO);
                world.inject(endpoint, AP, station(1), ControlBody::Management(octets));
            }
        });
        assert_eq!(took, alone, "{}", akm.name());
    }
}

#[test]
fn forged_ends_of_a_session_trigger_one_query_per_second() {
    let mut world = World::new(Akm::WpaPskSha256, 1, 39);
    assert!(world.run(1, |world| world.is_connected(1)));
    let request = association(Akm::WpaPskSha256, Suite::Gcmp256, &frames::cookie(&[7; 16]));
    let mut orders = std::collections::BTreeSet::new();
    let began = world.now;
    flooded(
        &mut world,
        10,
        |world| {
            for endpoint in [station(1), attacker(1)] {
                let body = Body::Deauthentication {
                    reason: 7,
                    elements: &[],
                };
                world.forge_from(endpoint, station(1), AP, body);
                associate(world, endpoint, station(1), &request);
            }
        },
        |world| {
            let sealed = world
                .air
                .iter()
                .filter(|flight| flight.from == AP && flight.key.is_some());
            orders.extend(sealed.map(|flight| flight.order));
            false
        },
    );
    assert!(world.now >= began + Duration::from_secs(10));
    assert!((9..=11).contains(&orders.len()), "{} queries", orders.len());
    assert!(world.is_connected(1));
    assert_eq!(world.plane(station(1)).count(Outcome::Ended), 0);
}

/// The access point has sent few packets and does not renew the key itself.
#[test]
fn forged_ends_of_a_session_do_not_prevent_a_station_from_requesting_a_new_key() {
    let mut world = World::new(Akm::Sae, 1, 63);
    assert!(world.run(1, |world| world.is_connected(1)));
    let (_, plane) = world.ends.get_mut(&station(1)).unwrap();
    plane.peers.get_mut(&AP).unwrap().used = 1 << 40;
    let renewed = flooded(
        &mut world,
        5,
        |world| {
            let body = Body::Deauthentication {
                reason: 7,
                elements: &[],
            };
            world.forge(AP, station(1), body);
        },
        |world| world.plane(station(1)).used.len() > 1,
    );
    assert!(renewed, "the station still uses its first key");
    assert!(world.run(1, |world| world.is_connected(1)));
}

/// With `owe`, anyone can join and leave, and anyone can be the access point of a station.
#[test]
fn sessions_that_anyone_can_have_write_log_lines_at_a_limited_rate() {
    let mut world = World::new(Akm::Owe, 1, 64);
    for _ in 0..100 {
        assert!(world.run(1, |world| world.is_connected(1)));
        world.ap().shut_down();
        world.settle(AP);
        assert!(world.run(1, |world| !world.sta(1).connected));
    }
    assert!(world.now < Duration::from_secs(5), "{:?}", world.now);
    assert_eq!(world.sta(1).connections, 100);
    assert_eq!(world.ap().connections(), 100);
    for end in [AP, station(1)] {
        let lines = world.plane(end).events.len();
        assert!(lines <= 41, "{lines} lines of {end}");
    }
    // A flood of other lines does not hide a session.
    world.run(30, |_| false);
    let before = world.plane(AP).count(Outcome::Established);
    flooded(
        &mut world,
        1,
        |world| {
            let body = Body::Deauthentication {
                reason: 7,
                elements: &[],
            };
            world.forge(station(1), AP, body);
        },
        |_| false,
    );
    world.start_sta(2, sta_settings(2, Akm::Owe));
    assert!(world.run(5, |world| world.is_connected(2)));
    assert_eq!(world.plane(AP).count(Outcome::Established), before + 1);
    assert!(world.plane(AP).told("similar lines omitted"));
}
