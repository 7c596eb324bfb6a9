//! OWE between a station and an access point.

mod common;

use common::TestRng;
use proptest::prelude::*;
use wlan_frames::MacAddr;
use wlan_rsn::Group;
use wlan_rsn::owe::{AccessPoint, DhParameter, OweError, Station};

const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

#[test]
fn both_sides_get_the_same_key_and_keys_of_two_associations_differ() {
    let mut rng = TestRng(1);
    for group in Group::ALL {
        let mut access_point = AccessPoint::new(&Group::ALL, 8);
        let mut associate = || {
            let station = Station::new(&[group], &mut rng).unwrap();
            let (response, theirs) = access_point
                .answer(STATION, &station.element(), &mut rng)
                .unwrap();
            let ours = station.finish(&response).unwrap();
            assert_eq!(ours, theirs);
            ours
        };
        let (first, second) = (associate(), associate());
        assert_ne!(first.as_octets(), second.as_octets());
        assert_ne!(first.pmkid(), second.pmkid());
        assert_eq!(
            first.as_octets().len(),
            [32, 48, 64][usize::from(group.number() - 19)]
        );
        let octets = first
            .as_octets()
            .iter()
            .map(|octet| octet.to_string())
            .collect::<Vec<_>>();
        assert!(
            !format!("{first:?}").contains(&octets.join(", ")),
            "the PMK is not printed"
        );
    }
}

#[test]
fn the_element_is_found_among_others_and_has_the_form_of_the_rfc() {
    let mut rng = TestRng(2);
    let element = Station::new(&[Group::P256], &mut rng).unwrap().element();
    assert_eq!(element.len(), 2 + 1 + 2 + 32);
    assert_eq!(element[..5], [255, 35, 32, 19, 0]);
    let among = [
        &[0, 3, b'n', b'e', b't', 255, 2, 33, 7],
        &element[..],
        &[221, 1, 0],
    ]
    .concat();
    let found = DhParameter::find(&among).unwrap();
    assert_eq!(found.emit(), element);
}

#[test]
fn a_repeated_request_gets_the_same_answer() {
    let mut rng = TestRng(3);
    let mut access_point = AccessPoint::new(&[Group::P256], 8);
    let station = Station::new(&[Group::P256], &mut rng).unwrap();
    let first = access_point
        .answer(STATION, &station.element(), &mut rng)
        .unwrap();
    let again = access_point
        .answer(STATION, &station.element(), &mut rng)
        .unwrap();
    assert_eq!(first, again);
    access_point.forget(STATION);
    assert_ne!(
        access_point
            .answer(STATION, &station.element(), &mut rng)
            .unwrap(),
        first
    );
}

#[test]
fn a_full_access_point_forgets_the_oldest_answer() {
    let mut rng = TestRng(5);
    let mut access_point = AccessPoint::new(&[Group::P256], 2);
    let mut answer = |last_octet: u8, request: &[u8]| {
        let station = MacAddr([2, 0, 0, 0, 0, last_octet]);
        access_point.answer(station, request, &mut rng).unwrap()
    };
    let request = Station::new(&[Group::P256], &mut TestRng(6)).unwrap().element();
    // The oldest station has neither the lowest nor the highest address.
    let answers = [2, 3, 1].map(|station| answer(station, &request));
    assert_eq!(answer(3, &request), answers[1]);
    assert_eq!(answer(1, &request), answers[2]);
    assert_ne!(answer(2, &request), answers[0]);
}

#[test]
fn a_station_falls_back_to_an_accepted_group() {
    let mut rng = TestRng(4);
    let mut access_point = AccessPoint::new(&[Group::P256], 8);
    let mut station = Station::new(&[Group::P384, Group::P256], &mut rng).unwrap();
    let refusal = access_point
        .answer(STATION, &station.element(), &mut rng)
        .unwrap_err();
    assert_eq!((refusal, refusal.status()), (OweError::Group(20), 77));
    assert!(station.refused(&mut rng));
    let (response, pmk) = access_point
        .answer(STATION, &station.element(), &mut rng)
        .unwrap();
    assert_eq!(station.finish(&response), Ok(pmk));
    assert!(!station.refused(&mut rng), "there is no third group");
    assert!(Station::new(&[], &mut rng).is_none());
}

#[test]
fn invalid_keys_and_answers_in_another_group_are_refused() {
    let mut rng = TestRng(5);
    let mut access_point = AccessPoint::new(&Group::ALL, 8);
    let mut refused = |group: u16, public_key: &[u8]| {
        let request = DhParameter { group, public_key }.emit();
        access_point.answer(STATION, &request, &mut rng).unwrap_err()
    };
    // Not less than the prime, and too short, too long, empty.
    for public_key in [&[0xff; 32][..], &[1; 31], &[1; 33], &[]] {
        assert_eq!(refused(19, public_key), OweError::PublicKey);
    }
    assert_eq!(refused(1, &[1; 32]), OweError::Group(1));
    // About half of all numbers are not the x of a point.
    let none = (0..32).filter(|&n| {
        let mut public_key = [0; 32];
        public_key[31] = n;
        let mut fresh = AccessPoint::new(&[Group::P256], 1);
        let request = DhParameter {
            group: 19,
            public_key: &public_key,
        };
        fresh.answer(STATION, &request.emit(), &mut TestRng(6)) == Err(OweError::PublicKey)
    });
    assert!((4..28).contains(&none.count()));
    assert!(matches!(
        access_point.answer(STATION, &[], &mut rng),
        Err(OweError::Frame(_))
    ));

    let station = Station::new(&[Group::P256], &mut rng).unwrap();
    let other = Station::new(&[Group::P384], &mut rng).unwrap();
    assert_eq!(station.finish(&other.element()), Err(OweError::Group(20)));
}

#[test]
fn ten_thousand_forged_stations_do_not_grow_the_memory() {
    let mut rng = TestRng(7);
    let mut access_point = AccessPoint::new(&[Group::P256], 4);
    let request = Station::new(&[Group::P256], &mut rng).unwrap().element();
    // First requests that are rejected without a computation, then as many valid requests as are feasible in a test.
    let bad = DhParameter {
        group: 19,
        public_key: &[1; 31],
    }
    .emit();
    for n in 0..10_000_u16 {
        let [high, low] = n.to_be_bytes();
        let forged = MacAddr([2, 1, 0, 0, high, low]);
        assert_eq!(
            access_point.answer(forged, &bad, &mut rng),
            Err(OweError::PublicKey)
        );
    }
    assert_eq!(access_point.kept(), 0);
    for n in 0..20 {
        let forged = MacAddr([2, 2, 0, 0, 0, n]);
        access_point.answer(forged, &request, &mut rng).unwrap();
        assert_eq!(access_point.kept(), usize::from(n + 1).min(4));
    }
}

proptest! {
    #[test]
    fn arbitrary_elements_never_panic(octets in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(found) = DhParameter::find(&octets) {
            let emitted = found.emit();
            prop_assert_eq!(DhParameter::find(&emitted), Ok(found));
        }
        let mut rng = TestRng(8);
        let _ = AccessPoint::new(&[], 1).answer(STATION, &octets, &mut rng);
    }
}
