//! Guarantees of the state machines to their caller, without an attacker.

mod world;

use std::collections::BTreeSet;
use std::time::Duration;

use wlan_ciphers::{IntegrityKeyId, Suite};
use wlan_frames::MacAddr;
use wlan_frames::eapol::{EapolKey, KeyInfo};
use wlan_rsn::authenticator::{Limits, StartError};
use wlan_rsn::{
    Akm, Authenticator, Discard, Elements, Failure, Group, Key, Mismatch, Output, Pmk, Policy, Protocol,
    Supplicant, Timing, owe,
};
use world::{AP, Flight, STA, TestRng, World, pmk, policy};

/// Every supported policy: generation, key management, cipher, protected management frames, extended Key IDs.
fn policies() -> Vec<Policy> {
    let mut policies = vec![
        Policy::of(Protocol::Wpa, Akm::WpaPsk, Suite::Tkip),
        Policy::of(Protocol::Wpa, Akm::WpaPsk, Suite::Ccmp128),
        policy(Suite::Tkip),
    ];
    for suite in Suite::OF_TEMPORAL_KEYS {
        for akm in [Akm::WpaPsk, Akm::WpaPskSha256] {
            let policy = Policy::of(Protocol::Rsn, akm, suite);
            policies.push(policy.clone());
            policies.push(policy.with_extended_key_id().with_mfp(Suite::BipGmac128));
        }
    }
    policies.push(Policy {
        group: Suite::Tkip,
        ..policy(Suite::Ccmp128)
    });
    policies
}

#[test]
fn both_ends_agree_under_every_policy() {
    for policy in policies() {
        let mut world = World::of(&policy);
        world.run();
        assert!(world.agrees(STA), "{policy:?}");
        assert!(world.data_flows(STA));
        assert_eq!(
            world.ends[&STA].tk().as_octets().len(),
            policy.pairwise[0].key_len()
        );
        let protects_management = policy.group_management.is_some();
        assert_eq!(world.ends[&STA].integrity.len(), usize::from(protects_management));
        assert_eq!(world.ap_ends[&STA].established, 1);
        assert!(!world.wait(), "nothing is left to wait for");
    }
}

#[test]
fn owe_leads_to_keys_in_every_group() {
    let policy = Policy::of(Protocol::Rsn, Akm::Owe, Suite::Ccmp128).with_mfp(Suite::BipCmac128);
    let elements = Elements::of(&policy);
    for group in Group::ALL {
        let mut world = World::new(elements.clone());
        let mut answering = owe::AccessPoint::new(&Group::ALL, 1);
        let station = owe::Station::new(&[group], &mut world.rng).unwrap();
        let (response, theirs) = answering.answer(STA, &station.element(), &mut world.rng).unwrap();
        let ours = station.finish(&response).unwrap();
        world.join(STA, &elements, &theirs, &ours);
        world.run();
        assert!(world.agrees(STA), "{group:?}");
        assert!(world.data_flows(STA));
    }
}

#[test]
fn message_1_of_sae_and_owe_contains_the_pmkid() {
    for (akm, len) in [(Akm::Sae, 32), (Akm::Owe, 32), (Akm::Owe, 48), (Akm::Owe, 64)] {
        let elements =
            Elements::of(&Policy::of(Protocol::Rsn, akm, Suite::Gcmp256).with_mfp(Suite::BipCmac128));
        let pmk = Pmk::agreed(&vec![9; len], [3; 16]).unwrap();
        let mut world = World::new(elements.clone());
        world.join(STA, &elements, &pmk, &pmk);
        world.run();
        assert!(world.agrees(STA), "{akm:?}");
        // Message 1 contains the PMKID.
        assert!(world.sent[0].packet.windows(16).any(|name| name == [3; 16]));

        let named_otherwise = Pmk::agreed(&vec![9; len], [4; 16]).unwrap();
        let mut world = World::new(elements.clone());
        world.join(STA, &elements, &named_otherwise, &pmk);
        let message_1 = world.next();
        assert_eq!(world.deliver(&message_1), Some(Err(Discard::KeyData)));
    }
    let elements = Elements::of(&policy(Suite::Ccmp128));
    let mut world = World::new(elements.clone());
    let long = Pmk::agreed(&[9; 48], [3; 16]).unwrap();
    let refused = world
        .ap
        .start(STA, &elements, &long, Duration::ZERO, &mut world.rng);
    assert!(matches!(refused, Err(StartError::Pmk(_))));
}

#[test]
fn an_access_point_with_only_sae_or_owe_requires_protected_management_frames() {
    let begins = |policy: &Policy| {
        let (timing, limits) = (Timing::default(), Limits::default());
        let elements = Elements::of(policy);
        Authenticator::<MacAddr>::new(AP, elements, timing, limits, &mut TestRng(1)).map(drop)
    };
    for akm in [Akm::Sae, Akm::Owe] {
        let plain = Policy::of(Protocol::Rsn, akm, Suite::Ccmp128);
        let optional = plain.clone().with_optional_mfp(Suite::BipCmac128);
        let required = plain.clone().with_mfp(Suite::BipCmac128);
        assert_eq!(begins(&plain), Err(Mismatch::ManagementProtection));
        assert_eq!(begins(&optional), Err(Mismatch::ManagementProtection));
        assert_eq!(begins(&required), Ok(()));
        let in_transition = |policy: Policy| Policy {
            akms: vec![Akm::WpaPsk, akm],
            ..policy
        };
        assert_eq!(begins(&in_transition(plain)), Err(Mismatch::ManagementProtection));
        assert_eq!(begins(&in_transition(optional)), Ok(()));
    }
}

#[test]
fn an_access_point_has_one_group_cipher_whose_keys_are_derived() {
    let begins = |elements: Elements| {
        let (timing, limits) = (Timing::default(), Limits::default());
        Authenticator::<MacAddr>::new(AP, elements, timing, limits, &mut TestRng(1)).map(drop)
    };
    let group = |suite| Policy {
        group: suite,
        ..policy(Suite::Ccmp128)
    };
    for suite in [Suite::Wep40, Suite::Wep104, Suite::BipCmac128] {
        assert_eq!(begins(Elements::of(&group(suite))), Err(Mismatch::Group));
    }
    let of_both = |suite| Elements {
        wpa: Policy::of(Protocol::Wpa, Akm::WpaPsk, Suite::Tkip).element(),
        ..Elements::of(&group(suite))
    };
    assert_eq!(begins(of_both(Suite::Ccmp128)), Err(Mismatch::Group));
    assert_eq!(begins(of_both(Suite::Tkip)), Ok(()));
}

#[test]
fn message_1_of_a_pre_shared_key_has_no_pmkid() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    let message_1 = world.next();
    let (key, _) = EapolKey::parse(&message_1.packet, 16).unwrap();
    assert_eq!(key.data, []);
    assert_eq!((key.info.0, key.key_len), (0x008a, 16));
}

const BIGTK: [u8; 16] = [0x5a; 16];

/// An access point with protected beacons, and a station that starts a handshake.
fn with_protected_beacons(policy: &Policy, pmk: &Pmk) -> World {
    let elements = Elements::of(policy);
    let mut world = World::new(elements.clone());
    let key_id = IntegrityKeyId::new(6).unwrap();
    world.ap.protect_beacons(key_id, Key::new(&BIGTK)).unwrap();
    world.join(STA, &elements, pmk, pmk);
    world
}

/// hostapd 2.11 with `wmm_enabled=1`, `sae_pwe=1`, `ieee80211w=2` and `beacon_prot=1`. A frame without key data has
/// 99 octets (EAPOL header, `struct wpa_eapol_key`, a MIC of 16, a length of 2). A KDE has 6 octets before its data;
/// the key follows after 8 more in an IGTK or BIGTK KDE and after 2 in a GTK KDE. Message 2 repeats the elements of
/// the association request.
#[test]
fn messages_of_sae_are_as_long_as_those_of_hostapd() {
    let policy = Policy::of(Protocol::Rsn, Akm::Sae, Suite::Ccmp128)
        .with_mfp(Suite::BipCmac128)
        .with_qos();
    let pmk = Pmk::agreed(&[9; 32], [3; 16]).unwrap();
    let mut world = with_protected_beacons(&policy, &pmk);
    world.run();
    world.ap.rekey_group(world.now, &mut world.rng);
    world.collect();
    world.run();
    assert!(world.agrees(STA));
    const FRAME: usize = 99;
    let (pmkid, rsn, rsnx) = (6 + 16, 2 + 20, 2 + 1);
    let keys = (6 + 2 + 16) + 2 * (6 + 8 + 16);
    // Padded to a multiple of 8, plus 8 octets for AES key wrap.
    let wrapped = |len: usize| len.next_multiple_of(8) + 8;
    let lengths: Vec<usize> = world.sent.iter().map(|flight| flight.packet.len()).collect();
    assert_eq!(
        lengths,
        [
            FRAME + pmkid,
            FRAME + rsn + rsnx,
            FRAME + wrapped(rsn + rsnx + keys),
            FRAME,
            FRAME + wrapped(keys),
            FRAME,
        ]
    );
}

#[test]
fn stations_receive_the_key_of_protected_beacons() {
    let protected = policy(Suite::Ccmp128).with_mfp(Suite::BipCmac128);
    let mut world = with_protected_beacons(&protected, &pmk(7));
    world.ap.note_beacon_number(0x0102_0304_0506);
    let mut station = world.stations.remove(&STA).unwrap();
    let told = |station: &mut Supplicant, world: &mut World, flight: &Flight| {
        let sealed = flight.key.is_some();
        station
            .receive(&flight.packet, sealed, world.now, &mut world.rng)
            .unwrap();
        std::iter::from_fn(|| station.poll_output()).collect::<Vec<_>>()
    };
    let message_1 = world.next();
    let [Output::Send { packet, .. }] = &told(&mut station, &mut world, &message_1)[..] else {
        panic!("message 2");
    };
    world
        .ap
        .receive(STA, packet, false, world.now, &mut world.rng)
        .unwrap();
    world.collect();
    let message_3 = world.next();
    let of_beacons: Vec<_> = told(&mut station, &mut world, &message_3)
        .into_iter()
        .filter_map(|output| match output {
            Output::InstallIntegrity {
                key_id,
                suite,
                key,
                ipn,
                ..
            } if key_id.is_for_beacons() => Some((key_id.get(), suite, key, ipn.get())),
            _ => None,
        })
        .collect();
    let expected = (6, Suite::BipCmac128, Key::new(&BIGTK), 0x0102_0304_0506);
    assert_eq!(of_beacons, [expected]);

    // A new group key is sent with the same beacon key, which is not installed again.
    let mut world = with_protected_beacons(&protected, &pmk(7));
    world.run();
    assert!(world.ap.rekey_group(world.now, &mut world.rng));
    world.collect();
    world.run();
    assert!(world.agrees(STA));
    let key_ids: Vec<u8> = world.ends[&STA].integrity.keys().copied().collect();
    assert_eq!(key_ids, [4, 5, 6]);

    // A station without protected management frames does not get the beacon key.
    let optional = policy(Suite::Ccmp128).with_optional_mfp(Suite::BipCmac128);
    let mut world = with_protected_beacons(&optional, &pmk(7));
    let other = MacAddr([2, 0, 0, 0, 0, 3]);
    world.join(other, &Elements::of(&policy(Suite::Ccmp128)), &pmk(7), &pmk(7));
    world.run();
    assert!(world.agrees(other));
    assert!(world.ends[&other].integrity.is_empty());
    assert!(world.ends[&STA].integrity.contains_key(&6));
}

#[test]
fn only_a_key_for_beacons_protects_beacons() {
    let begin = |policy: &Policy, key_id, key: &[u8]| {
        let mut world = World::new(Elements::of(policy));
        let key_id = IntegrityKeyId::new(key_id).unwrap();
        world.ap.protect_beacons(key_id, Key::new(key))
    };
    let protected = policy(Suite::Ccmp128).with_mfp(Suite::BipCmac128);
    assert_eq!(begin(&protected, 7, &BIGTK), Ok(()));
    for (policy, key_id, key) in [
        (&protected, 5, &BIGTK[..]),
        (&protected, 6, &BIGTK[1..]),
        (&policy(Suite::Ccmp128), 6, &BIGTK),
    ] {
        assert_eq!(begin(policy, key_id, key), Err(Mismatch::ManagementProtection));
    }
}

/// As hostapd 2.10 and wpa_supplicant 2.10 send it.
#[test]
fn key_information_equals_that_of_hostapd() {
    for (policy, expected) in [
        (policy(Suite::Ccmp128), vec![0x008a, 0x010a, 0x13ca, 0x030a]),
        (policy(Suite::Tkip), vec![0x0089, 0x0109, 0x13c9, 0x0309]),
        (
            Policy::of(Protocol::Rsn, Akm::WpaPskSha256, Suite::Ccmp128),
            vec![0x008b, 0x010b, 0x13cb, 0x030b],
        ),
        (
            Policy::of(Protocol::Wpa, Akm::WpaPsk, Suite::Tkip),
            vec![0x0089, 0x0109, 0x01c9, 0x0109, 0x0391, 0x0311],
        ),
    ] {
        let mut world = World::of(&policy);
        world.run();
        let infos: Vec<u16> = world
            .sent
            .iter()
            .map(|flight| EapolKey::parse(&flight.packet, 16).unwrap().0.info.0)
            .collect();
        assert_eq!(infos, expected, "{policy:?}");
    }
}

#[test]
fn lost_messages_are_retransmitted() {
    for lost in 0..4 {
        let mut world = World::of(&policy(Suite::Ccmp128));
        for _ in 0..lost {
            let flight = world.next();
            world.deliver(&flight);
        }
        world.next();
        world.settle();
        assert!(world.agrees(STA), "message {} was lost", lost + 1);
        assert_eq!(world.ends[&STA].established, 1);
    }
}

#[test]
fn retries_and_timeouts_equal_those_of_hostapd() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    let mut times = vec![world.now];
    while world.ap_ends[&STA].failures.is_empty() {
        world.air.clear();
        world.wait();
        times.push(world.now);
    }
    // Sent at 0, 100 ms, 1.1 s and 2.1 s; given up at 3.1 s.
    assert_eq!(times, [0, 100, 1100, 2100, 3100].map(Duration::from_millis));
    assert_eq!(world.ap_ends[&STA].failures, [(Failure::NoAnswer, false)]);
    world.settle();
    assert_eq!(world.ends[&STA].failures, [(Failure::NoAnswer, false)]);
    assert_eq!(world.ap.established() + world.ap.half_open(), 0);
}

#[test]
fn both_sides_report_a_wrong_passphrase_after_a_limited_number_of_messages() {
    let elements = Elements::of(&policy(Suite::Ccmp128));
    let mut world = World::new(elements.clone());
    world.join(STA, &elements, &pmk(7), &pmk(8));
    world.settle();
    assert_eq!(world.ap_ends[&STA].failures, [(Failure::WrongKey, false)]);
    assert_eq!(world.ends[&STA].failures, [(Failure::WrongKey, false)]);
    assert_eq!(world.sent.len(), 8, "four messages 1, four messages 2");

    // The link may report the failure to the station earlier.
    let mut world = World::new(elements.clone());
    world.join(STA, &elements, &pmk(7), &pmk(8));
    world.run();
    world.stations.get_mut(&STA).unwrap().peer_gone();
    world.collect();
    assert_eq!(world.ends[&STA].failures, [(Failure::WrongKey, false)]);
}

#[test]
fn replacing_the_pairwise_key_loses_no_frame() {
    for policy in policies() {
        let extended = policy.capabilities.0 & 1 << 13 != 0;
        let mut world = World::of(&policy);
        world.run();
        for round in 1u8..5 {
            let before = world.ends[&STA].tk().clone();
            assert!(world.ap.rekey_pairwise(STA, world.now, &mut world.rng));
            assert!(!world.ap.rekey_pairwise(STA, world.now, &mut world.rng));
            world.collect();
            while let Some(flight) = world.air.pop_front() {
                assert!(flight.key.is_some(), "the handshake is sealed");
                assert_eq!(world.deliver(&flight), Some(Ok(())));
                assert!(world.data_flows(STA), "data flows at every moment");
            }
            assert!(world.agrees(STA));
            assert_ne!(*world.ends[&STA].tk(), before);
            let key_id = world.ends[&STA].transmit.as_ref().unwrap().0.get();
            assert_eq!(key_id, if extended { round % 2 } else { 0 });
            // Frames under the previous key are still in flight.
            assert!(world.ends[&STA].receive.iter().any(|(_, key)| *key == before));
            world.settle();
            assert_eq!(world.ends[&STA].receive.len(), 1);
            assert_eq!(world.ap_ends[&STA].receive.len(), 1);
        }
    }
}

#[test]
fn replacing_the_pairwise_key_survives_the_loss_of_each_message() {
    for lost in 0..4 {
        let mut world = World::of(&policy(Suite::Ccmp128).with_extended_key_id());
        world.run();
        world.ap.rekey_pairwise(STA, world.now, &mut world.rng);
        world.collect();
        for _ in 0..lost {
            let flight = world.next();
            world.deliver(&flight);
        }
        world.next();
        assert!(world.data_flows(STA));
        world.settle();
        assert!(world.agrees(STA), "message {} was lost", lost + 1);
        assert_eq!(world.ends[&STA].established, 2);
    }
}

/// A station with a session whose access point replaces the pairwise key: message 1 has arrived.
fn during_rekey() -> World {
    let mut world = World::of(&policy(Suite::Ccmp128));
    world.run();
    world.ap.rekey_pairwise(STA, world.now, &mut world.rng);
    world.collect();
    let message_1 = world.next();
    world.deliver(&message_1);
    world
}

#[test]
fn a_failure_names_the_missing_step() {
    let failures = |world: &World| world.ends[&STA].failures.clone();
    // Every packet is lost until the deadlines have passed.
    let give_up = |world: &mut World| {
        for _ in 0..20 {
            world.air.clear();
            world.wait();
        }
    };
    let mut world = World::of(&policy(Suite::Ccmp128));
    let message_1 = world.next();
    world.deliver(&message_1);
    give_up(&mut world);
    assert_eq!(failures(&world), [(Failure::WrongKey, false)]);

    let mut world = during_rekey();
    give_up(&mut world);
    assert_eq!(failures(&world)[0].0, Failure::NoAnswer);

    let mut world = World::of(&Policy::of(Protocol::Wpa, Akm::WpaPsk, Suite::Tkip));
    for _ in 0..4 {
        let flight = world.next();
        world.deliver(&flight);
    }
    give_up(&mut world);
    assert_eq!(failures(&world), [(Failure::NoGroupAnswer, false)]);
}

#[test]
fn the_loss_of_an_access_point_is_reported_once_with_the_likely_reason() {
    let leave = |world: &mut World| {
        world.stations.get_mut(&STA).unwrap().peer_gone();
        world.collect();
        world.ends[&STA].failures.clone()
    };
    let mut world = World::of(&policy(Suite::Ccmp128));
    let message_1 = world.next();
    world.deliver(&message_1);
    // It left instead of sending message 3, so it probably has another key.
    assert_eq!(leave(&mut world), [(Failure::WrongKey, false)]);
    assert_eq!(leave(&mut world).len(), 1, "nothing was left to fail");

    let mut world = during_rekey();
    assert_eq!(leave(&mut world), [(Failure::PeerGone, false)]);
}

/// IEEE 802.11-2020 12.7.2 b.
#[test]
fn a_station_accepts_only_messages_of_an_access_point() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    let message_1 = world.next();
    let mut request = message_1.clone();
    request.packet[5] |= 0x08; // Request, bit 11 of Key Information
    assert_eq!(world.deliver(&request), Some(Err(Discard::Unexpected)));
    world.deliver(&message_1);
    let message_2 = world.next();
    let reflected = Flight {
        from: AP,
        to: STA,
        ..message_2.clone()
    };
    assert_eq!(world.deliver(&reflected), Some(Err(Discard::Unexpected)));
    // Message 3 has Install set, bit 6.
    world.deliver(&message_2);
    let mut message_3 = world.next();
    message_3.packet[6] &= !0x40;
    assert_eq!(world.deliver(&message_3), Some(Err(Discard::Unexpected)));
}

/// Like wpa_supplicant (`wpa_supplicant_send_2_of_4` and `_4_of_4`).
#[test]
fn answers_repeat_the_key_length_in_wpa_only() {
    for (policy, key_len) in [
        (policy(Suite::Ccmp128), 0),
        (Policy::of(Protocol::Wpa, Akm::WpaPsk, Suite::Tkip), 32),
        (Policy::of(Protocol::Wpa, Akm::WpaPsk, Suite::Ccmp128), 16),
    ] {
        let mut world = World::of(&policy);
        for _ in ["2", "4"] {
            let message = world.next();
            world.deliver(&message);
            let answer = world.next();
            assert_eq!(EapolKey::parse(&answer.packet, 16).unwrap().0.key_len, key_len);
            world.deliver(&answer);
        }
    }
}

/// RC4 must not use a keystream twice: its key is the EAPOL-Key IV and the KEK. AES key wrap uses no IV (IEEE
/// 802.11-2020 12.7.2 e, k).
#[test]
fn key_data_under_rc4_never_has_the_same_iv_twice() {
    let ivs = |suite| {
        let mut world = World::of(&policy(suite));
        for _ in 0..2 {
            let flight = world.next();
            world.deliver(&flight);
        }
        // Message 3 is lost and retransmitted; two group keys follow.
        world.next();
        world.wait();
        world.run();
        for _ in 0..2 {
            world.ap.rekey_group(world.now, &mut world.rng);
            world.collect();
            world.run();
        }
        assert!(world.agrees(STA));
        let packets = world.sent.iter().filter(|flight| flight.from == AP);
        packets
            .map(|flight| EapolKey::parse(&flight.packet, 16).unwrap().0)
            .filter(|key| key.info.has(KeyInfo::ENCRYPTED))
            .map(|key| key.iv)
            .collect::<Vec<_>>()
    };
    let under_rc4 = ivs(Suite::Tkip);
    assert_eq!(under_rc4.len(), 4);
    assert_eq!(under_rc4.iter().collect::<BTreeSet<_>>().len(), under_rc4.len());
    assert_eq!(ivs(Suite::Ccmp128), [[0; 16]; 4]);
}

/// Frames may still be in flight under a recently replaced key, so the last four replaced keys are kept.
#[test]
fn four_replaced_pairwise_keys_are_kept() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    world.run();
    for replaced in 1..=6 {
        world.ap.rekey_pairwise(STA, world.now, &mut world.rng);
        world.collect();
        world.run();
        assert!(world.agrees(STA));
        for end in [&world.ap_ends[&STA], &world.ends[&STA]] {
            assert_eq!(end.receive.len(), 1 + replaced.min(4));
        }
    }
    world.settle();
    for end in [&world.ap_ends[&STA], &world.ends[&STA]] {
        assert_eq!(end.receive.len(), 1);
    }
}

#[test]
fn a_station_can_request_new_keys() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    let station = |world: &mut World, pairwise| world.stations.get_mut(&STA).unwrap().request_rekey(pairwise);
    assert!(!station(&mut world, true), "no keys yet");
    world.run();
    let (tk, group) = (world.ends[&STA].tk().clone(), world.group.clone());
    assert!(station(&mut world, true));
    world.collect();
    let request = world.air[0].clone();
    world.run();
    assert_ne!(*world.ends[&STA].tk(), tk);
    assert!(station(&mut world, false));
    world.collect();
    world.run();
    assert_eq!(world.group.len(), group.len() + 1);
    assert!(world.agrees(STA));
    let again = world
        .ap
        .receive(STA, &request.packet, true, world.now, &mut world.rng);
    assert_eq!(again, Err(Discard::Replay), "the same request twice");
}

#[test]
fn forged_michael_mics_are_reported() {
    let mut world = World::of(&Policy::of(Protocol::Wpa, Akm::WpaPsk, Suite::Tkip));
    world.run();
    assert!(world.stations.get_mut(&STA).unwrap().report_michael_failure(true));
    world.collect();
    world.run();
    assert_eq!(world.ap_ends[&STA].michael_failures, 1);
}

/// Like hostapd's `wpa_receive_error_report`: a report counts only if it concerns a TKIP key.
#[test]
fn a_report_about_a_cipher_without_michael_is_refused() {
    let mixed = Policy {
        group: Suite::Tkip,
        ..policy(Suite::Ccmp128)
    };
    for (policy, pairwise, failures) in [
        (policy(Suite::Ccmp128), true, 0),
        (policy(Suite::Ccmp128), false, 0),
        (policy(Suite::Gcmp256), true, 0),
        (mixed.clone(), true, 0),
        (mixed, false, 1),
    ] {
        let mut world = World::of(&policy);
        world.run();
        let station = world.stations.get_mut(&STA).unwrap();
        assert!(station.report_michael_failure(pairwise));
        world.collect();
        let report = world.next();
        let expected = if failures == 0 {
            Err(Discard::Unexpected)
        } else {
            Ok(())
        };
        assert_eq!(world.deliver(&report), Some(expected), "{policy:?}");
        assert_eq!(world.ap_ends[&STA].michael_failures, failures);
        // A rejected report leaves the session unchanged: the next request is answered.
        assert!(world.stations.get_mut(&STA).unwrap().request_rekey(true));
        world.collect();
        world.run();
        assert_eq!(world.ends[&STA].established, 2);
    }
}

/// Stations 2, 3, ... of the access point.
fn stations(count: u8) -> Vec<MacAddr> {
    (0..count).map(|n| MacAddr([2, 0, 0, 0, 1, n])).collect()
}

#[test]
fn a_new_group_key_goes_to_all_stations_before_it_is_used() {
    let elements = Elements::of(&policy(Suite::Ccmp128).with_mfp(Suite::BipCmac128));
    let mut world = World::new(elements.clone());
    for station in stations(5) {
        world.join(station, &elements, &pmk(7), &pmk(7));
    }
    world.run();
    for round in 0..4 {
        let before = world.group.len();
        assert!(world.ap.rekey_group(world.now, &mut world.rng));
        assert!(!world.ap.rekey_group(world.now, &mut world.rng), "one at a time");
        world.collect();
        // The third station misses the first transmission.
        world.air.retain(|flight| flight.to != stations(5)[2]);
        world.run();
        assert_eq!(world.group.len(), before, "one station lacks the key");
        // The previous key is kept until all stations have the new one, and for frames in flight.
        while world.group.len() == before {
            assert_eq!(world.ends[&stations(5)[0]].groups.len(), 2);
            assert!(world.wait());
            world.run();
        }
        assert!(stations(5).iter().all(|&station| world.agrees(station)));
        assert_eq!(world.ends[&stations(5)[0]].groups.len(), 2);
        let key_ids = [1, 2];
        assert_eq!(world.group.last().unwrap().0, key_ids[(round + 1) % 2]);
        world.settle();
        assert_eq!(world.group.len(), before + 1);
        for station in stations(5) {
            assert!(world.agrees(station));
            assert_eq!(
                world.ends[&station].groups.len(),
                1,
                "the previous key has retired"
            );
        }
    }
}

#[test]
fn a_silent_station_delays_a_group_rekey_for_a_limited_time() {
    let elements = Elements::of(&policy(Suite::Ccmp128));
    let mut world = World::new(elements.clone());
    for station in stations(2) {
        world.join(station, &elements, &pmk(7), &pmk(7));
    }
    world.run();
    world.ap.rekey_group(world.now, &mut world.rng);
    world.collect();
    let silent = stations(2)[1];
    while !world.ap_ends[&silent]
        .failures
        .contains(&(Failure::NoGroupAnswer, false))
    {
        world.air.retain(|flight| flight.to != silent);
        world.run();
        assert!(world.wait());
    }
    assert!(world.agrees(stations(2)[0]));
    assert_eq!(world.group.len(), 2);
    assert_eq!(
        world.now,
        Duration::from_millis(3500),
        "500 ms, then 1 s three times"
    );
}

#[test]
fn a_station_that_joins_during_a_group_rekey_gets_the_new_key() {
    let elements = Elements::of(&policy(Suite::Ccmp128));
    let mut world = World::of(&policy(Suite::Ccmp128));
    // After messages 1 and 2, message 3 with the first key is in flight.
    for _ in 0..2 {
        let flight = world.next();
        world.deliver(&flight);
    }
    world.ap.rekey_group(world.now, &mut world.rng);
    world.collect();
    assert_eq!(world.group.len(), 1, "message 3 carried the previous key");
    world.run();
    assert!(world.agrees(STA));
    assert_eq!(world.group.len(), 2);
    let late = MacAddr([2, 0, 0, 0, 0, 9]);
    world.join(late, &elements, &pmk(1), &pmk(1));
    world.run();
    assert!(world.agrees(late));
}

#[test]
fn a_new_station_learns_the_packet_number_of_the_group_key() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    world.ap.note_group_numbers(0x0102_0304_0506, 0);
    for _ in 0..2 {
        let flight = world.next();
        world.deliver(&flight);
    }
    let message_3 = world.next();
    let (key, _) = EapolKey::parse(&message_3.packet, 16).unwrap();
    assert_eq!(key.rsc, [6, 5, 4, 3, 2, 1, 0, 0]);
}

/// 12.7.6.4: Key RSC is the packet number at the time of each transmission of message 3, not of the first. With an
/// older number, a station would accept replays of all group frames since then.
#[test]
fn retransmitted_messages_contain_the_current_packet_numbers() {
    let numbers = |world: &World| (world.ends[&STA].rsc, world.ends[&STA].ipn);
    for (suite, protocol) in [
        (Suite::Ccmp128, Protocol::Rsn),
        (Suite::Tkip, Protocol::Rsn),
        (Suite::Tkip, Protocol::Wpa),
    ] {
        let policy = match suite {
            Suite::Tkip => Policy::of(protocol, Akm::WpaPsk, suite),
            _ => policy(suite).with_mfp(Suite::BipCmac128),
        };
        let mut world = World::of(&policy);
        world.ap.note_group_numbers(5, 6);
        let carries_the_key = |flight: &Flight| {
            let (key, _) = EapolKey::parse(&flight.packet, 16).unwrap();
            flight.from == AP && (key.rsc != [0; 8])
        };
        // The group key is in message 3 of RSN and in the group message of WPA. This message is lost.
        let lost = loop {
            let flight = world.next();
            if carries_the_key(&flight) {
                break flight;
            }
            world.deliver(&flight);
        };
        world.ap.note_group_numbers(1000, 2000);
        world.wait();
        let again = world.next();
        world.deliver(&again);
        assert_ne!(again.packet, lost.packet);
        let ipn = if suite == Suite::Tkip { 0 } else { 2000 };
        assert_eq!(numbers(&world), (1000, ipn), "{suite:?} of {protocol:?}");
        world.run();
        assert!(world.agrees(STA));
    }
}

/// A retransmitted message 3 contains the group key of its first transmission, even if a newer group key exists.
#[test]
fn a_retransmitted_message_3_contains_the_same_group_key() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    for _ in 0..2 {
        let flight = world.next();
        world.deliver(&flight);
    }
    world.ap.note_group_numbers(7, 0);
    let first = world.next();
    world.ap.rekey_group(world.now, &mut world.rng);
    world.wait();
    let again = world.next();
    let rsc = |flight: &Flight| EapolKey::parse(&flight.packet, 16).unwrap().0.rsc[0];
    assert_eq!((rsc(&first), rsc(&again)), (0, 7));
    // Both transmissions install the same key; the newer key follows.
    world.deliver(&first);
    world.deliver(&again);
    assert_eq!(world.ends[&STA].groups.len(), 1);
    world.settle();
    assert!(world.agrees(STA));
    assert_eq!(world.group.len(), 2);
}

#[test]
fn the_session_of_a_restarted_station_lasts_until_its_new_handshake() {
    let elements = Elements::of(&policy(Suite::Ccmp128));
    let mut world = World::of(&policy(Suite::Ccmp128));
    world.run();
    let before = world.ap_ends[&STA].tk().clone();
    world.join(STA, &elements, &pmk(7), &pmk(7));
    let message_1 = world.next();
    world.deliver(&message_1);
    assert_eq!(*world.ap_ends[&STA].tk(), before);
    world.run();
    assert!(world.agrees(STA));
    assert_ne!(*world.ap_ends[&STA].tk(), before);
    world.settle();
    assert_eq!(world.ap_ends[&STA].receive.len(), 1);
}

#[test]
fn the_link_can_remove_a_station() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    world.run();
    world.ap.remove(STA);
    world.stations.get_mut(&STA).unwrap().peer_gone();
    world.collect();
    assert_eq!(world.ap_ends[&STA].failures, [(Failure::PeerGone, false)]);
    assert_eq!(world.ends[&STA].failures, [(Failure::PeerGone, false)]);
    assert_eq!(world.ap.established(), 0);
    assert!(!world.wait());
}

#[test]
fn the_number_of_stations_is_limited() {
    let elements = Elements::of(&policy(Suite::Ccmp128));
    let limits = Limits {
        stations: 2,
        half_open: 2,
    };
    let mut world = World::with_limits(elements.clone(), limits);
    for station in stations(2) {
        world.join(station, &elements, &pmk(7), &pmk(7));
    }
    world.run();
    let refused = world.ap.start(STA, &elements, &pmk(7), world.now, &mut world.rng);
    assert_eq!(refused, Err(StartError::Full(2)));
    assert!(stations(2).iter().all(|&station| world.agrees(station)));
}

#[test]
fn clock_jumps_break_no_session() {
    let day = Duration::from_secs(86_400);
    let mut world = World::of(&policy(Suite::Ccmp128));
    world.now = 10 * day;
    world.air.clear();
    world.ap.timeout(world.now);
    world.collect();
    assert_eq!(world.air.len(), 1, "one message, regardless of the elapsed time");
    // The clock jumps back: a deadline in ten days counts as due now.
    world.air.clear();
    world.now = Duration::from_secs(1);
    assert_eq!(world.ap.next_timeout(world.now), Some(world.now));
    world.ap.timeout(world.now);
    world.collect();
    assert_eq!(world.air.len(), 1);
    assert_eq!(world.ap.next_timeout(world.now), Some(Duration::from_secs(2)));
    world.run();
    assert!(world.agrees(STA));
    world.now = Duration::MAX;
    world.ap.rekey_group(world.now, &mut world.rng);
    world.collect();
    world.settle();
    assert!(world.agrees(STA));
}

#[test]
fn other_packets_are_discarded() {
    let mut world = World::of(&policy(Suite::Ccmp128));
    let message_1 = world.next();
    world.deliver(&message_1);
    let message_2 = world.next();
    let mut receive = |packet: &[u8]| world.ap.receive(STA, packet, false, world.now, &mut world.rng);
    assert!(matches!(receive(&[2, 0, 0, 0]), Err(Discard::Malformed(_))));
    assert!(matches!(receive(&[]), Err(Discard::Malformed(_))));
    assert_eq!(receive(&message_1.packet), Err(Discard::Unexpected), "reflected");
    // Packets of a station never have Ack (bit 7) and always have MIC (bit 8).
    let mut with_ack = message_2.packet.clone();
    with_ack[6] |= 0x80;
    assert_eq!(receive(&with_ack), Err(Discard::Unexpected));
    let mut without_mic = message_2.packet.clone();
    without_mic[5] &= !0x01;
    assert_eq!(receive(&without_mic), Err(Discard::Unexpected));
    let mut wpa = message_2.packet.clone();
    wpa[4] = 254;
    assert_eq!(receive(&wpa), Err(Discard::Descriptor));
    let mut version = message_2.packet.clone();
    version[6] = version[6] & !7 | 3;
    assert_eq!(receive(&version), Err(Discard::Descriptor));
    let stranger = world
        .ap
        .receive(AP, &message_2.packet, false, world.now, &mut world.rng);
    assert_eq!(stranger, Err(Discard::UnknownPeer));
    // The padding of a short Ethernet frame is not part of the packet.
    let mut padded = message_2;
    padded.packet.extend([0; 20]);
    assert_eq!(world.deliver(&padded), Some(Ok(())));
    let message_3 = world.next();
    let (key, _) = EapolKey::parse(&message_3.packet, 16).unwrap();
    assert!(key.info.has(KeyInfo::INSTALL));
}
