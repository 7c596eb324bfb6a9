//! An attacker without the key who can read and write the air can only cause delays.

mod world;

use wlan_ciphers::Suite;
use wlan_frames::MacAddr;
use wlan_frames::eapol::EapolKey;
use wlan_rsn::authenticator::Limits;
use wlan_rsn::{Akm, Discard, Elements, Failure, Pmk, Policy, Protocol, Timing};
use world::{AP, Flight, STA, World, pmk, policy};

fn established() -> World {
    let mut world = World::of(&policy(Suite::Ccmp128).with_mfp(Suite::BipCmac128));
    world.run();
    assert!(world.agrees(STA));
    world
}

/// The keys that a station has installed, for comparison.
fn installed(world: &World, station: MacAddr) -> String {
    let end = &world.ends[&station];
    let octets = |key: &wlan_rsn::Key| format!("{:02x?}", key.as_octets());
    let transmit = end.transmit.as_ref().map(|(_, key)| octets(key));
    let groups: Vec<_> = end.groups.values().map(octets).collect();
    format!("{transmit:?} {groups:?} {}", end.established)
}

/// Key reinstallation, CVE-2017-13077: message 3 is repeated. `World` checks that no key is installed twice.
#[test]
fn a_repeated_message_3_is_answered_without_other_effects() {
    let mut world = World::of(&policy(Suite::Ccmp128).with_mfp(Suite::BipCmac128));
    for _ in 0..3 {
        let flight = world.next();
        world.deliver(&flight);
    }
    let before = installed(&world, STA);
    // Message 4 is lost; the access point retransmits message 3 unencrypted with the next replay counter.
    world.next();
    world.wait();
    let again = world.next();
    assert_eq!(again.key, None);
    assert_eq!(world.deliver(&again), Some(Ok(())));
    assert_eq!(installed(&world, STA), before);
    // An identical copy is a replay.
    assert_eq!(world.deliver(&again), Some(Err(Discard::Replay)));
    world.run();
    assert!(world.agrees(STA));
}

#[test]
fn packets_of_earlier_handshakes_are_replays() {
    let mut world = established();
    world.ap.rekey_pairwise(STA, world.now, &mut world.rng);
    world.ap.rekey_group(world.now, &mut world.rng);
    world.collect();
    world.run();
    world.settle();
    let (before, agreed) = (installed(&world, STA), world.ap_ends[&STA].established);
    for flight in world.sent.clone() {
        // Bypasses the link's own replay protection, as if the attacker could encrypt.
        for key in [None, Some(world.ends[&STA].tk().clone())] {
            let replayed = Flight {
                key,
                ..flight.clone()
            };
            assert!(matches!(world.deliver(&replayed), Some(Err(_))));
        }
    }
    assert_eq!(installed(&world, STA), before);
    assert_eq!(world.ap_ends[&STA].established, agreed);
    assert!(world.agrees(STA));
}

/// CVE-2017-13078 to 13081: a repeated group message, or an old key in a new packet, must not reset the replay
/// window.
#[test]
fn a_group_key_is_installed_once() {
    let mut world = established();
    world.ap.rekey_group(world.now, &mut world.rng);
    world.collect();
    let first = world.next();
    world.deliver(&first);
    // The answer is lost, so the key is sent again with the next replay counter.
    world.next();
    let before = installed(&world, STA);
    world.wait();
    let again = world.next();
    assert_ne!(again.packet, first.packet);
    assert_eq!(world.deliver(&again), Some(Ok(())));
    assert_eq!(world.deliver(&first), Some(Err(Discard::Replay)));
    assert_eq!(installed(&world, STA), before);
    world.run();
    assert!(world.agrees(STA));
}

/// KRACK on unencrypted rekeys: messages of a handshake arrive unencrypted although keys are installed.
#[test]
fn an_unencrypted_rekey_is_refused() {
    let mut world = established();
    world.ap.rekey_pairwise(STA, world.now, &mut world.rng);
    world.collect();
    for _message in 1..=3 {
        let flight = world.next();
        let open = Flight {
            key: None,
            ..flight.clone()
        };
        assert_eq!(world.deliver(&open), Some(Err(Discard::Unprotected)));
        assert_eq!(world.deliver(&flight), Some(Ok(())));
    }
    world.run();
    world.ap.rekey_group(world.now, &mut world.rng);
    world.collect();
    let group = Flight {
        key: None,
        ..world.next()
    };
    assert_eq!(world.deliver(&group), Some(Err(Discard::Unprotected)));
}

/// wpa_supplicant sends message 4 of a rekey unencrypted. Its MIC is under the new key, and it is accepted once.
#[test]
fn message_4_of_a_rekey_may_be_unencrypted() {
    let mut world = established();
    world.ap.rekey_pairwise(STA, world.now, &mut world.rng);
    world.collect();
    for _message in 1..=3 {
        let flight = world.next();
        assert_eq!(world.deliver(&flight), Some(Ok(())));
    }
    let open = Flight {
        key: None,
        ..world.next()
    };
    let mut forged = open.clone();
    *forged.packet.last_mut().unwrap() ^= 1;
    assert!(matches!(world.deliver(&forged), Some(Err(_))));
    assert_eq!(world.deliver(&open), Some(Ok(())));
    assert!(matches!(world.deliver(&open), Some(Err(_))));
    assert!(world.agrees(STA));
}

/// Forged messages 1 between the messages of the access point do not stop the handshake (He and Mitchell, 2004).
#[test]
fn forged_messages_1_do_not_stop_a_handshake() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    let first = world.next();
    world.deliver(&first);
    let forge = |world: &mut World, n: u8| {
        let mut forged = first.clone();
        forged.packet[17] ^= n;
        forged.packet[9] = 0x7f;
        let deadline = world.stations[&STA].next_timeout(world.now);
        assert_eq!(world.deliver(&forged), Some(Ok(())));
        assert_eq!(
            world.stations[&STA].next_timeout(world.now),
            deadline,
            "no longer wait"
        );
        let answer = world.air.pop_back().expect("a message 2");
        assert!(matches!(world.deliver(&answer), Some(Err(Discard::Replay))));
    };
    for n in 1..20 {
        forge(&mut world, n);
    }
    let message_2 = world.next();
    world.deliver(&message_2);
    forge(&mut world, 99);
    world.run();
    assert!(world.agrees(STA));
}

#[test]
fn forged_messages_2_do_not_stop_a_handshake() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    let first = world.next();
    world.deliver(&first);
    let message_2 = world.next();
    for n in 0..message_2.packet.len() {
        let mut forged = message_2.clone();
        forged.packet[n] ^= 1;
        let outcome = world.deliver(&forged);
        // The EAPOL version may have any value, but the MIC covers it.
        assert!(matches!(outcome, Some(Err(_))), "octet {n}: {outcome:?}");
    }
    assert!(world.air.is_empty());
    world.deliver(&message_2);
    world.run();
    assert!(world.agrees(STA));
}

#[test]
fn truncated_eapol_changes_nothing() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    while let Some(flight) = world.air.pop_front() {
        for len in 0..flight.packet.len() {
            let mut short = flight.clone();
            short.packet.truncate(len);
            assert!(matches!(world.deliver(&short), Some(Err(_))), "{len} octets");
        }
        assert_eq!(world.deliver(&flight), Some(Ok(())));
    }
    assert!(world.agrees(STA));
}

#[test]
fn the_mic_covers_every_octet_of_the_other_messages() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    for _ in 0..2 {
        let flight = world.next();
        world.deliver(&flight);
    }
    while let Some(flight) = world.air.pop_front() {
        for n in 0..flight.packet.len() {
            let mut forged = flight.clone();
            forged.packet[n] ^= 0x10;
            assert!(matches!(world.deliver(&forged), Some(Err(_))), "octet {n}");
        }
        assert_eq!(world.deliver(&flight), Some(Ok(())));
    }
    assert!(world.agrees(STA));
}

/// The attacker shows the station a beacon, or the access point an association request, with weaker elements.
#[test]
fn a_downgrade_is_detected_on_either_side() {
    let strong = Policy {
        pairwise: vec![Suite::Ccmp128, Suite::Tkip],
        group: Suite::Tkip,
        ..policy(Suite::Ccmp128)
    };
    let weak = Policy {
        pairwise: vec![Suite::Tkip],
        ..strong.clone()
    };
    let chosen = Policy {
        pairwise: vec![Suite::Ccmp128],
        ..strong.clone()
    };
    // The station saw an access point with TKIP only, and requested TKIP. Message 3 has the true element.
    let mut world = World::new(Elements::of(&weak));
    world.join(STA, &Elements::of(&weak), &pmk(7), &pmk(7));
    let weaker = world.stations.remove(&STA).unwrap();
    let mut world = World::new(Elements::of(&strong));
    world.join(STA, &Elements::of(&weak), &pmk(7), &pmk(7));
    world.stations.insert(STA, weaker);
    for _ in 0..2 {
        let flight = world.next();
        world.deliver(&flight);
    }
    let message_3 = world.next();
    assert_eq!(
        world.deliver(&message_3),
        Some(Ok(())),
        "not discarded: it ended the handshake"
    );
    world.run();
    assert_eq!(world.ends[&STA].failures, [(Failure::ElementsDiffer, false)]);
    assert!(!world.ends[&STA].is_established);
    assert_eq!(world.ends[&STA].transmit, None, "nothing was installed");

    // The station requested CCMP. The access point saw another association request with the same ciphers.
    let other = Policy {
        capabilities: wlan_frames::rsn::RsnCapabilities(wlan_frames::rsn::RsnCapabilities::MFP_CAPABLE),
        ..chosen.clone()
    };
    let mut world = World::new(Elements::of(&strong));
    world.join(STA, &Elements::of(&chosen), &pmk(7), &pmk(7));
    let supplicant = world.stations.remove(&STA).unwrap();
    world.ap.remove(STA);
    world.join(STA, &Elements::of(&other), &pmk(7), &pmk(7));
    world.air.pop_front();
    world.stations.insert(STA, supplicant);
    let message_1 = world.next();
    world.deliver(&message_1);
    let message_2 = world.next();
    assert_eq!(
        world.deliver(&message_2),
        Some(Ok(())),
        "not discarded: it ended the handshake"
    );
    world.run();
    let reasons = &world.ap_ends[&STA].failures;
    assert_eq!(reasons.last(), Some(&(Failure::ElementsDiffer, false)));
    assert!(!world.ap_ends[&STA].is_established);
}

/// The attacker removes the RSN Extension element so that SAE falls back from hash-to-element (IEEE 802.11-2020
/// 12.7.6.3, 12.7.6.4).
#[test]
fn a_removed_rsn_extension_element_is_detected_on_either_side() {
    let shown =
        Elements::of(&Policy::of(Protocol::Rsn, Akm::Sae, Suite::Ccmp128).with_mfp(Suite::BipCmac128));
    let hidden = Elements {
        rsnx: Vec::new(),
        ..shown.clone()
    };
    assert!(!shown.rsnx.is_empty());
    let pmk = Pmk::agreed(&[9; 32], [3; 16]).unwrap();
    let joined = |elements: &Elements, station: &Elements| {
        let mut world = World::new(elements.clone());
        world.join(STA, station, &pmk, &pmk);
        world
    };
    // Removed from the beacon that the station saw: message 3 contains it.
    let deceived = joined(&hidden, &shown).stations.remove(&STA).unwrap();
    let mut world = joined(&shown, &shown);
    world.stations.insert(STA, deceived);
    world.run();
    assert_eq!(world.ends[&STA].failures, [(Failure::ElementsDiffer, false)]);
    assert_eq!(world.ends[&STA].transmit, None, "nothing was installed");

    // Removed from the association request that the access point saw: message 2 contains it.
    let honest = joined(&shown, &shown).stations.remove(&STA).unwrap();
    let mut world = joined(&shown, &hidden);
    world.stations.insert(STA, honest);
    world.run();
    assert_eq!(world.ap_ends[&STA].failures, [(Failure::ElementsDiffer, false)]);
    assert_eq!(world.ap_ends[&STA].receive, [], "nothing was installed");

    // The same elements on both sides are accepted.
    let mut world = joined(&shown, &shown);
    world.run();
    assert!(world.agrees(STA));
}

#[test]
fn a_wpa_station_detects_a_removed_rsn_element() {
    let wpa = Policy::of(Protocol::Wpa, Akm::WpaPsk, Suite::Tkip);
    let both = Elements {
        rsn: Policy {
            group: Suite::Tkip,
            ..policy(Suite::Ccmp128)
        }
        .element(),
        ..Elements::of(&wpa)
    };
    // The station knows the RSN element from the beacon. Message 3 to a WPA station omits it (12.7.6.4 has one
    // element).
    let mut world = World::new(both.clone());
    world.join(STA, &Elements::of(&wpa), &pmk(7), &pmk(7));
    world.run();
    assert!(world.agrees(STA));
    // An RSN station gets both elements in message 3, so it detects that the beacon's WPA element was removed.
    let rsn_only = Elements {
        wpa: Vec::new(),
        ..both.clone()
    };
    let rsn = Elements {
        rsn: both.rsn.clone(),
        ..Elements::default()
    };
    let mut world = World::new(rsn_only);
    world.join(STA, &rsn, &pmk(7), &pmk(7));
    let deceived = world.stations.remove(&STA).unwrap();
    let mut world = World::new(both);
    world.join(STA, &rsn, &pmk(7), &pmk(7));
    world.stations.insert(STA, deceived);
    world.run();
    assert_eq!(world.ends[&STA].failures, [(Failure::ElementsDiffer, false)]);
}

#[test]
fn ten_thousand_starts_are_bounded_and_delay_no_station() {
    let elements = Elements::of(&policy(Suite::Ccmp128));
    let limits = Limits {
        half_open: 100,
        ..Limits::default()
    };
    let mut world = World::with_limits(elements.clone(), limits);
    world.join(STA, &elements, &pmk(7), &pmk(7));
    world.run();
    let victim = MacAddr([2, 0, 0, 0, 0, 3]);
    let mut joined = false;
    for n in 0u16..10_000 {
        let [high, low] = n.to_be_bytes();
        let forged = MacAddr([2, 0xff, 0, 0, high, low]);
        world
            .ap
            .start(forged, &elements, &pmk(7), world.now, &mut world.rng)
            .unwrap();
        world.collect();
        world
            .air
            .retain(|flight| flight.to == victim || flight.from == victim);
        world.sent.clear();
        assert!(world.ap.half_open() <= 100);
        // An honest station answers while forty other starts arrive between its messages.
        if n == 5000 {
            world.join(victim, &elements, &pmk(7), &pmk(7));
        } else if n > 5000 && n % 40 == 0 {
            if let Some(flight) = world.air.pop_front() {
                world.deliver(&flight);
            }
            joined = joined || world.agrees(victim);
        }
    }
    assert!(joined);
    assert!(world.ap.is_crowded());
    assert!(world.agrees(STA), "a session is never displaced");
    let displaced = world
        .ap_ends
        .values()
        .filter(|end| end.failures == [(Failure::Displaced, false)])
        .count();
    assert_eq!(displaced, 9900);
    // The remaining handshakes time out.
    for _ in 0..10 {
        world.air.clear();
        world.wait();
    }
    assert_eq!(world.ap.half_open(), 0);
    assert!(!world.ap.is_crowded());
}

/// Starts under the address of another station disturb neither its session nor its handshake.
#[test]
fn a_start_under_a_forged_address_changes_nothing() {
    let elements = Elements::of(&policy(Suite::Ccmp128));
    let mut world = World::of(&policy(Suite::Ccmp128));
    let start = |world: &mut World| {
        let _ = world.ap.start(STA, &elements, &pmk(7), world.now, &mut world.rng);
        world.collect();
    };
    // Before each message of the handshake.
    for _ in 0..3 {
        start(&mut world);
        let flight = world.next();
        world.deliver(&flight);
    }
    world.settle();
    assert!(world.agrees(STA));
    // During the session, repeatedly: rekeys continue.
    for _ in 0..20 {
        start(&mut world);
        world.air.clear();
        world.ap.rekey_group(world.now, &mut world.rng);
        world.collect();
        world.run();
        world.wait();
        assert!(world.ap_ends[&STA].is_established);
    }
    assert!(world.ap.rekey_pairwise(STA, world.now, &mut world.rng));
    world.collect();
    start(&mut world);
    world.settle();
    assert!(world.agrees(STA));
    assert!(world.ap_ends[&STA].failures.iter().all(|&(_, still)| still));
    let tries = world
        .sent
        .iter()
        .filter(|flight| flight.from == AP && EapolKey::parse(&flight.packet, 16).unwrap().0.info.0 == 0x8a)
        .count();
    assert!(tries < 60, "at most four messages 1 per attempt: {tries}");
}

#[test]
fn an_answer_to_an_earlier_group_message_is_a_replay() {
    let mut world = established();
    let rekey = |world: &mut World| {
        world.ap.rekey_group(world.now, &mut world.rng);
        world.collect();
        let message = world.next();
        assert_eq!(world.deliver(&message), Some(Ok(())));
        world.next()
    };
    let earlier = rekey(&mut world);
    assert_eq!(world.deliver(&earlier), Some(Ok(())));
    let answer = rekey(&mut world);
    assert_eq!(world.deliver(&earlier), Some(Err(Discard::Replay)));
    assert_eq!(world.deliver(&answer), Some(Ok(())));
    assert!(world.agrees(STA));
}

fn start(world: &mut World, pmk: &Pmk) {
    let elements = world.elements.clone();
    world
        .ap
        .start(STA, &elements, pmk, world.now, &mut world.rng)
        .unwrap();
    world.collect();
}

fn nonce(flight: &Flight) -> [u8; 32] {
    EapolKey::parse(&flight.packet, 16).unwrap().0.nonce
}

#[test]
fn a_start_does_not_disturb_an_answered_handshake() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    for _ in 0..2 {
        let flight = world.next();
        world.deliver(&flight);
    }
    let message_3 = world.next();
    for key in [7, 8] {
        start(&mut world, &pmk(key));
        assert!(world.air.is_empty());
    }
    world.deliver(&message_3);
    world.run();
    assert!(world.agrees(STA));
    assert_eq!(world.ap_ends[&STA].established, 1);
    // A rekey of the pairwise key is not disturbed either.
    world.ap.rekey_pairwise(STA, world.now, &mut world.rng);
    world.collect();
    let message_1 = world.next();
    start(&mut world, &pmk(8));
    assert!(world.air.is_empty());
    world.deliver(&message_1);
    world.run();
    assert!(world.agrees(STA));
    assert_eq!(world.ap_ends[&STA].established, 2);
}

#[test]
fn a_start_without_an_answer_is_repeated_or_replaced() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    let message_1 = world.next();
    start(&mut world, &pmk(7));
    let again = world.next();
    assert_eq!(nonce(&again), nonce(&message_1));
    assert_ne!(again.packet, message_1.packet, "another replay counter");
    // The number of transmissions is the same as without starts.
    for _ in 0..10 {
        start(&mut world, &pmk(7));
    }
    let tries = usize::from(Timing::default().tries);
    assert_eq!(2 + world.air.drain(..).count(), tries);
    // Other elements or another PMK start a new handshake.
    let elements = Elements::of(&policy(Suite::Ccmp128).with_extended_key_id());
    let (now, rng) = (world.now, &mut world.rng);
    world.ap.start(STA, &elements, &pmk(7), now, rng).unwrap();
    world.collect();
    assert_ne!(nonce(&world.next()), nonce(&message_1));
    start(&mut world, &pmk(8));
    let other = world.next();
    assert_ne!(nonce(&other), nonce(&message_1));
    assert_eq!(world.ap.half_open(), 1);
    let elements = world.elements.clone();
    world.join(STA, &elements, &pmk(8), &pmk(8));
    world.run();
    assert!(world.agrees(STA));
    assert_eq!(world.ap.half_open(), 0);
    // A station with a session does not count as half-open.
    start(&mut world, &pmk(8));
    assert_eq!(world.ap.half_open(), 0);
}

#[test]
fn an_access_point_is_crowded_once_half_of_its_limit_is_in_use() {
    let elements = Elements::of(&policy(Suite::Ccmp128));
    let limits = Limits {
        half_open: 8,
        ..Limits::default()
    };
    let mut world = World::with_limits(elements.clone(), limits);
    for taken in 1..=8 {
        let station = MacAddr([2, 0xff, 0, 0, 0, taken]);
        world
            .ap
            .start(station, &elements, &pmk(7), world.now, &mut world.rng)
            .unwrap();
        assert_eq!(world.ap.half_open(), usize::from(taken));
        assert_eq!(world.ap.is_crowded(), taken >= 4);
    }
}

/// A genuine but old message 2 does not restore a previous key.
#[test]
fn a_second_snonce_replaces_the_first_which_never_returns() {
    let elements = Elements::of(&policy(Suite::Ccmp128));
    let mut world = World::of(&policy(Suite::Ccmp128));
    let message_1 = world.next();
    world.deliver(&message_1);
    let first_2 = world.next();
    world.wait();
    let again_1 = world.next();
    world.wait();
    let third_1 = world.next();
    world.deliver(&third_1);
    let late_2 = world.next();
    world.deliver(&first_2);
    let _lost_3 = world.next();
    // The station has restarted, and answers the second message 1 with another SNonce.
    let mut other = World::new(elements.clone());
    other.rng.0 = 99;
    other.join(STA, &elements, &pmk(7), &pmk(7));
    world.stations.insert(STA, other.stations.remove(&STA).unwrap());
    assert_eq!(world.deliver(&again_1), Some(Ok(())));
    let second_2 = world.next();
    assert_eq!(world.deliver(&second_2), Some(Ok(())));
    assert_eq!(world.deliver(&first_2), Some(Err(Discard::Replay)));
    assert_eq!(world.deliver(&late_2), Some(Err(Discard::Unexpected)));
    world.run();
    assert_eq!(world.ap_ends[&STA].transmit, world.ends[&STA].transmit);
}
