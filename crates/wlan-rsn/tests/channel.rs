//! Both state machines over a channel that loses, duplicates and reorders: they end with equal keys or report a
//! failure.

mod world;

use proptest::prelude::*;
use wlan_ciphers::Suite;
use wlan_rsn::{Akm, Policy, Protocol};
use world::{STA, World, policy};

/// The fate of the next packet in flight, or another event.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Arrives,
    Lost,
    /// Arrives, and arrives again later.
    Twice,
    /// Arrives after the other packets.
    Late,
    /// The next deadline passes first.
    Slow,
    RekeyPairwise,
    RekeyGroup,
    Request(bool),
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        8 => Just(Fate::Arrives),
        3 => Just(Fate::Lost),
        2 => Just(Fate::Twice),
        2 => Just(Fate::Late),
        2 => Just(Fate::Slow),
        1 => Just(Fate::RekeyPairwise),
        1 => Just(Fate::RekeyGroup),
        1 => any::<bool>().prop_map(Fate::Request),
    ]
}

fn any_policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(policy(Suite::Ccmp128)),
        Just(
            policy(Suite::Gcmp256)
                .with_extended_key_id()
                .with_mfp(Suite::BipGmac256)
        ),
        Just(policy(Suite::Tkip)),
        Just(Policy::of(Protocol::Wpa, Akm::WpaPsk, Suite::Tkip)),
        Just(Policy::of(Protocol::Rsn, Akm::WpaPskSha256, Suite::Ccmp256)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn both_ends_agree_or_report_a_reason(policy in any_policy(), fates in proptest::collection::vec(fate(), 0..60)) {
        let mut world = World::of(&policy);
        for fate in fates {
            match fate {
                Fate::Slow => _ = world.wait(),
                Fate::RekeyPairwise => _ = world.ap.rekey_pairwise(STA, world.now, &mut world.rng),
                Fate::RekeyGroup => _ = world.ap.rekey_group(world.now, &mut world.rng),
                Fate::Request(pairwise) => {
                    _ = world.stations.get_mut(&STA).unwrap().request_rekey(pairwise);
                }
                Fate::Arrives | Fate::Lost | Fate::Twice | Fate::Late => {
                    let Some(flight) = world.air.pop_front() else {
                        continue;
                    };
                    if !matches!(fate, Fate::Lost | Fate::Late) {
                        _ = world.deliver(&flight);
                    }
                    if matches!(fate, Fate::Twice | Fate::Late) {
                        world.air.push_back(flight);
                    }
                }
            }
            world.collect();
            // A link that is established on both sides carries data both ways, even during a handshake.
            if world.ap_ends[&STA].is_established
                && world.ends[&STA].is_established
                && world.ap_ends[&STA].failures.is_empty()
                && world.ends[&STA].failures.is_empty()
            {
                prop_assert!(world.data_flows(STA));
            }
        }
        // From here on, the channel delivers every packet.
        world.settle();
        let failed = |end: &world::End| end.failures.iter().any(|&(_, still)| !still);
        let (ap, end) = (&world.ap_ends[&STA], &world.ends[&STA]);
        prop_assert!(
            world.agrees(STA) || failed(ap) || failed(end),
            "neither agreed nor failed: {:?} {:?}", ap, end
        );
        // Without a failure, every station has the group key in use.
        if !failed(ap) && !failed(end) {
            prop_assert!(world.agrees(STA));
            prop_assert_eq!(world.ap.established(), 1);
        }
    }

    #[test]
    fn arbitrary_packets_install_nothing(
        policy in any_policy(),
        packets in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..20),
        sealed in any::<bool>(),
    ) {
        let mut world = World::of(&policy);
        world.run();
        let before = format!("{:?}", world.ends[&STA]);
        for packet in packets {
            let (now, rng) = (world.now, &mut world.rng);
            prop_assert!(world.ap.receive(STA, &packet, sealed, now, rng).is_err());
            let station = world.stations.get_mut(&STA).unwrap();
            prop_assert!(station.receive(&packet, sealed, now, rng).is_err());
            world.collect();
        }
        prop_assert_eq!(format!("{:?}", world.ends[&STA]), before);
    }
}
