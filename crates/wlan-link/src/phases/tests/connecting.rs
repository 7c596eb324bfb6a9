//! The five phases of a connection: their order, failures and log lines.

use proptest::prelude::*;
use wlan_frames::beacon::Beacon;

use super::*;

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
fn both_ends_report_a_wrong_passphrase_and_retry_slowly() {
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

/// Each attempt with a wrong password lets the access point test one guess. The first two failures may be the effect of
/// forged frames.
#[test]
fn after_three_wrong_passphrases_the_backoff_doubles_up_to_five_minutes() {
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
        waits[..8],
        [
            "0.2 s", "0.5 s", "30.0 s", "60.0 s", "120.0 s", "240.0 s", "300.0 s", "300.0 s"
        ]
    );
}

#[test]
fn both_ends_report_a_wrong_passphrase_over_a_bad_channel() {
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
fn incompatible_ends_report_the_reason() {
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
        // TLS repairs no octet of EAP: each damaged handshake fails, and the station waits up to 8 s before the next one. In
        // some of a thousand cases, three in a row fail with the same reason, and it waits longer.
        let is_damaged_eap = damaged > 0 && akm.is_eap();
        let waits_long = |world: &World, last| is_damaged_eap && world.plane(station(last)).told("next try in 30.0 s");
        let within_s = if is_damaged_eap { 900 } else { 120 };
        for last in 1..=2 {
            let connected = world.run(within_s, |world| world.is_connected(last));
            if !connected && waits_long(&world, last) {
                return Ok(());
            }
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
        // A peer that answers no rekey is disconnected, and connects again.
        let within_s = if is_damaged_eap { 900 } else { 60 };
        let connected = world.run(within_s, |world| world.is_connected(1) && world.is_connected(2));
        prop_assert!(connected || waits_long(&world, 1) || waits_long(&world, 2));
    }
}
