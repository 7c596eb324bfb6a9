//! SAE test vectors of the standard, of other implementations, and computed by `vectors/sae/independent.py`.

use serde::Deserialize;
use wlan_frames::MacAddr;

use super::{Commitment, commit_with};
use crate::Group;
use crate::ecc::{self, MAX_FIELD_LEN};
use crate::hash::octets;
use crate::sae::{Method, Password};
use crate::vectors::{Octets, load};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MethodName {
    HuntingAndPecking,
    HashToElement,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Optional {
    identifier: Option<String>,
    pt: Option<Octets>,
    pwe: Option<Octets>,
    rejected: [Octets; 2],
    secret: Option<Octets>,
    kck: Option<Octets>,
    pmk: Option<Octets>,
    pmkid: Option<Octets>,
    send_confirm: u16,
    confirm: Option<Octets>,
}

#[derive(Deserialize)]
struct Commits {
    rand: Octets,
    mask: Octets,
    commit: Octets,
    peer_commit: Octets,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    method: MethodName,
    group: u16,
    ssid: String,
    password: String,
    addresses: [Octets; 2],
    #[serde(flatten)]
    commits: Option<Commits>,
    #[serde(flatten)]
    rest: Optional,
}

fn commitment(group: Group, octets: &[u8]) -> Commitment {
    let (scalar, element) = octets.split_at(group.field_len());
    Commitment::checked(group, scalar, element).expect("the vector's Commit is valid")
}

/// Checks a vector and returns the number of values compared.
fn check(vector: &Vector) -> usize {
    let Vector {
        name,
        password,
        ssid,
        rest,
        ..
    } = vector;
    let mut checks = 0;
    let mut equal = |what: &str, found: &[u8], expected: &Option<Octets>| {
        if let Some(Octets(expected)) = expected {
            assert_eq!(found, expected, "{name}: {what}");
            checks += 1;
        }
    };
    let group = Group::from_number(vector.group).unwrap();
    let method = match vector.method {
        MethodName::HuntingAndPecking => Method::HuntingAndPecking,
        MethodName::HashToElement => Method::HashToElement,
    };
    let identifier = rest.identifier.as_ref().map(String::as_bytes);
    let password = Password::new(ssid.as_bytes(), password.as_bytes(), identifier, &[group]).unwrap();
    equal("PT", &password.elements()[0].1, &rest.pt);
    let [own, peer] = [0, 1].map(|i| MacAddr(vector.addresses[i].0.as_slice().try_into().unwrap()));
    let pwe = password.element(method, group, own, peer).unwrap();
    equal("PWE", &pwe, &rest.pwe);
    let Some(commits) = &vector.commits else {
        return checks;
    };

    let rand = octets(&commits.rand.0);
    let (ours, secret) = commit_with(method, group, &pwe, rand, &commits.mask.0).unwrap();
    let said = [ours.scalar.as_slice(), &ours.element].concat();
    equal("Commit", &said, &Some(commits.commit.clone()));

    let theirs = commitment(group, &commits.peer_commit.0);
    let shared = ecc::shared_secret(group, &pwe, &commits.rand.0, &theirs.scalar, &theirs.element);
    equal("k", &shared.unwrap(), &rest.secret);
    let [ours_rejected, theirs_rejected] = &rest.rejected;
    let lists: [&[u8]; 2] = if own > peer {
        [&ours_rejected.0, &theirs_rejected.0]
    } else {
        [&theirs_rejected.0, &ours_rejected.0]
    };
    let agreed = secret.agree(&ours, &theirs, lists).unwrap();
    equal("KCK", &agreed.kck, &rest.kck);
    equal("PMK", agreed.pmk.as_octets(), &rest.pmk);
    equal("PMKID", &agreed.pmk.pmkid().unwrap(), &rest.pmkid);
    if let Some(Octets(confirm)) = &rest.confirm {
        equal(
            "Confirm",
            &agreed.confirm(rest.send_confirm, &ours, &theirs),
            &rest.confirm,
        );
        assert!(
            agreed.verify(confirm, rest.send_confirm, &ours, &theirs),
            "{name}"
        );
        assert!(
            !agreed.verify(confirm, rest.send_confirm, &theirs, &ours),
            "{name}"
        );
        assert!(
            !agreed.verify(confirm, rest.send_confirm + 1, &ours, &theirs),
            "{name}"
        );
    }
    checks
}

fn check_all(file: &str, expected: usize) {
    let checks: usize = load::<Vector>(file).iter().map(check).sum();
    assert_eq!(checks, expected, "{file}: number of compared values");
}

#[test]
fn sae_agrees_with_the_vectors_of_the_standard() {
    check_all("sae/ieee80211.json", 6);
}

#[test]
fn sae_agrees_with_the_vectors_of_symcrypt() {
    check_all("sae/symcrypt.json", 6);
}

#[test]
fn sae_agrees_with_independent_vectors_in_all_groups() {
    check_all("sae/independent.json", 3 * (8 + 8 + 7));
}

#[test]
fn simplified_swu_is_that_of_rfc_9380() {
    #[derive(Deserialize)]
    struct Map {
        name: String,
        group: u16,
        u0: Octets,
        u1: Octets,
        point: Octets,
    }
    let vectors: Vec<Map> = load("sae/rfc9380.json");
    assert_eq!(vectors.len(), 15);
    for Map {
        name,
        group,
        u0: Octets(u0),
        u1: Octets(u1),
        point,
    } in vectors
    {
        let group = Group::from_number(group).unwrap();
        // The values are less than the prime, so the reduction leaves them unchanged.
        let wide = |u: Vec<u8>| [vec![0; group.field_len() / 2], u].concat();
        let sum = ecc::map_and_add(group, &wide(u0), &wide(u1)).unwrap();
        assert_eq!(sum.as_slice(), point.0, "{name}");
    }
}

/// SymCrypt's negative cases, also applied to the other groups.
#[test]
fn scalars_and_elements_out_of_their_range_are_refused() {
    for group in Group::ALL {
        let len = group.field_len();
        let small = |value: u8| [vec![0; len - 1], vec![value]].concat();
        let minus_one = order_less_one(group);
        let zero = ecc::add_scalars(group, &minus_one, &small(1)).unwrap();
        assert_eq!(zero.as_slice(), small(0));
        let mut order = minus_one.clone();
        *order.last_mut().unwrap() += 1;
        let mut above = order.clone();
        *above.last_mut().unwrap() += 1;
        for scalar in [small(0), small(1), order, above, vec![0xff; len]] {
            assert!(!ecc::is_proper_scalar(group, &scalar), "{group:?}: {scalar:02x?}");
        }
        assert!(!ecc::is_proper_scalar(group, &minus_one[1..]));
        assert!(ecc::is_proper_scalar(group, &small(2)));

        let good = ecc::multiply_base(group, &small(2)).unwrap();
        assert!(ecc::is_element(group, &good));
        let mut off = good.to_vec();
        *off.last_mut().unwrap() ^= 1;
        // The correct y plus the prime, where the field length permits it.
        let not_reduced = [group.prime(), &good[len..]].concat();
        for element in [off, not_reduced, vec![0; 2 * len], good[1..].to_vec(), Vec::new()] {
            assert!(!ecc::is_element(group, &element), "{group:?}: {element:02x?}");
        }
    }
    let off = Octets::try_from(
        "5d901c4a9b7f11e7935adeb7a4bac40c5172604f1c1a1a42dbca4753f695aa5a\
         d01e1f8b812f01a3631a79dab001b372a185535b77e38a46a6faeeffffffffff"
            .to_owned(),
    );
    assert!(!ecc::is_element(Group::P256, &off.unwrap().0));
}

/// Finds the largest scalar bit by bit.
fn order_less_one(group: Group) -> Vec<u8> {
    let mut largest = vec![0; group.field_len()];
    for bit in (0..group.field_bits()).rev() {
        let at = largest.len() - 1 - usize::from(bit / 8);
        largest[at] |= 1 << (bit % 8);
        if !ecc::is_proper_scalar(group, &largest) {
            // Not because the number is 0 or 1: all candidates are far above.
            largest[at] &= !(1 << (bit % 8));
        }
    }
    largest
}

#[test]
fn the_factor_of_hash_to_element_is_never_zero() {
    for group in [Group::P256, Group::P384] {
        let last = order_less_one(group);
        let g = ecc::multiply_base(group, &[vec![0; group.field_len() - 1], vec![1]].concat()).unwrap();
        let times = |number: &[u8]| ecc::multiply_by_number(group, &g, number).unwrap();
        let scalar = |value: u8| {
            let octets = [vec![0; group.field_len() - 1], vec![value]].concat();
            ecc::multiply_base(group, &octets).unwrap()
        };
        // n modulo (q - 1) + 1, at q - 2, q - 1, q and q + 1.
        let around = |by: i16| {
            let mut number = last.clone();
            let low = number.last_mut().unwrap();
            *low = u8::try_from(i16::from(*low) + by).unwrap();
            number
        };
        assert_eq!(times(&around(-1)), ecc::multiply_base(group, &last).unwrap());
        assert_eq!(times(&around(0)), scalar(1));
        assert_eq!(times(&around(1)), scalar(2));
        assert_eq!(times(&around(2)), scalar(3));
        assert_eq!(times(&[0]), scalar(1));
    }
}

#[test]
fn hunting_continues_if_forty_candidates_are_no_points() {
    let group = Group::P256;
    let len = group.field_len();
    let g = ecc::multiply_base(group, &[vec![0; len - 1], vec![1]].concat()).unwrap();
    let candidate = |x: &[u8]| (octets::<MAX_FIELD_LEN>(x), g[2 * len - 1]);
    // The prime itself is not less than the prime.
    let none = candidate(group.prime());
    for at in [0, 39, 40, 200] {
        let mut candidates = (0..255).map(|i| {
            if i == at {
                candidate(&g[..len])
            } else {
                none.clone()
            }
        });
        assert_eq!(
            ecc::first_point(group, 40, &mut candidates).as_ref(),
            Some(&g),
            "at {at}"
        );
        assert_eq!(candidates.count(), 255 - 40.max(at + 1), "at {at}");
    }
    assert_eq!(
        ecc::first_point(group, 40, &mut (0..255).map(|_| none.clone())),
        None
    );
}
