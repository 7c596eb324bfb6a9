//! Established sessions: restarts of either end, outages, clock jumps and new keys.

use super::*;

#[test]
fn a_restarted_end_is_admitted_after_a_query_of_its_old_session() {
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
fn an_access_point_that_restarts_during_sae_gets_a_new_exchange() {
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
fn the_end_of_a_session_does_not_affect_the_next_sae_exchange() {
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
fn stations_with_traffic_notice_a_restart_without_broadcast() {
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
                let beacon = beacons(Akm::Sae, &[Suite::Gcmp256]).next(Duration::from_micros(timestamp_us));
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
fn a_session_survives_a_short_outage_and_a_long_one_ends_in_a_new_session() {
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
fn clock_jumps_end_no_session_while_both_ends_are_present() {
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
fn keys_are_renewed_by_time_and_by_count_at_either_end() {
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
    assert!(world.plane(AP).group_keys.len() > 1);
    assert!(world.opens_group(1));
    assert_eq!(world.plane(station(1)).groups.len(), 1);
    for (end, peer) in [(AP, station(1)), (station(1), AP)] {
        assert_eq!(world.plane(end).peers[&peer].receive.len(), 1);
    }
    assert_eq!(
        world.plane(AP).count(Outcome::Failed) + world.plane(AP).count(Outcome::Ended),
        0
    );
}

#[test]
fn a_station_that_has_left_lacks_the_next_group_key() {
    for akm in [Akm::WpaPskSha256, Akm::Sae] {
        let mut world = World::new(akm, 3, 11);
        assert!(world.run(2, |world| (1..=3).all(|last| world.is_connected(last))));
        assert!((1..=3).all(|last| world.opens_group(last)));
        let known = world.plane(station(2)).group_keys.clone();
        let before = world.plane(AP).group_keys.len();
        for last in [1, 2] {
            let (End::Sta(sta), _) = world.ends.get_mut(&station(last)).unwrap() else {
                unreachable!();
            };
            sta.shut_down();
            world.settle(station(last));
            world.ends.remove(&station(last));
        }
        world.run(3, |_| false);
        let keys = world.plane(AP).group_keys.clone();
        assert_eq!(keys.len(), before + 1, "one rekey for both stations");
        assert!(!known.contains(keys.last().unwrap()));
        assert!(world.opens_group(3));
        world.run(6, |_| false);
        assert_eq!(
            world.plane(station(3)).groups.len(),
            1,
            "the previous key has retired"
        );
    }
}

#[test]
fn a_group_key_is_renewed_by_count_and_starts_after_the_frames_sent_before() {
    let mut world = World::new(Akm::WpaPskSha256, 1, 12);
    assert!(world.run(1, |world| world.is_connected(1)));
    world.ends.get_mut(&AP).unwrap().1.group_used = 1000;
    world.start_sta(2, sta_settings(2, Akm::WpaPskSha256));
    assert!(world.run(2, |world| world.is_connected(2)));
    let (_, after) = world.plane(station(2)).groups.values().next().unwrap();
    assert_eq!(after.get(), 1000, "frames from before the station joined are old");
    let before = world.plane(AP).group_keys.len();
    world.ends.get_mut(&AP).unwrap().1.group_used = 1 << 40;
    assert!(world.run(2, |world| world.plane(AP).group_keys.len() > before));
    world.run(20, |_| false);
    assert_eq!(world.plane(AP).group_keys.len(), before + 1, "once");
    assert!(world.opens_group(1) && world.opens_group(2));
}

#[test]
fn a_station_whose_host_removes_its_addresses_shows_none_and_stays_connected() {
    let mut world = World::new(Akm::Sae, 1, 65);
    assert!(world.run(1, |world| world.is_connected(1)));
    assert_eq!(world.sta(1).addresses.len(), 2);
    let (End::Sta(sta), _) = world.ends.get_mut(&station(1)).unwrap() else {
        unreachable!()
    };
    sta.note_withdrawn("192.0.2.2/24 overlaps 192.0.2.0/25");
    world.settle(station(1));
    let line = world.plane(station(1)).events.last().unwrap().to_string();
    let expected = format!("data: {AP}: removed the assigned addresses: 192.0.2.2/24 overlaps 192.0.2.0/25");
    assert_eq!(line, expected);
    assert!(world.sta(1).connected && world.sta(1).addresses.is_empty());
}
