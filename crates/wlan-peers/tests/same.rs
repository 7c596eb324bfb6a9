//! Every backend of this CPU and every available library produce the same octets from the same frames.

use wlan_ciphers::Suite;
use wlan_peers::{Library, Who, compare};
use wlan_speed::{Case, Sizes, suites};

/// Sizes and numbers of frames: less than a block, one block, one octet more, the longest, mixed sizes.
/// Unless the frames are long, there are more than the sixteen that the widest backend processes at a time.
const SIZES: [(Sizes, usize); 6] = [
    (Sizes::Fixed(1), 17),
    (Sizes::Fixed(16), 17),
    (Sizes::Fixed(17), 33),
    (Sizes::Fixed(7935), 2),
    (Sizes::Imix, 24),
    (Sizes::Spread, 18),
];

fn cases(suite: Suite) -> impl Iterator<Item = (Case, usize)> {
    let ways = [false, true].into_iter();
    SIZES.into_iter().flat_map(move |(sizes, count)| {
        ways.clone().flat_map(move |open| {
            // One key, one key per frame, one by one.
            [(false, false), (true, false), (false, true)].map(|(key_each, one_by_one)| {
                let case = Case {
                    suite,
                    sizes,
                    open,
                    key_each,
                    one_by_one,
                };
                (case, count)
            })
        })
    })
}

/// The number of the library's interfaces that took part in every case.
fn took_part(library: Library, suite: Suite) -> usize {
    let of = |who: &Who| matches!(who, Who::Peer(interface) if interface.library() == library);
    let counts = cases(suite).map(|(case, count)| match compare(case, count) {
        Ok(compared) => compared.iter().filter(|who| of(who)).count(),
        Err(fault) => panic!("{fault}"),
    });
    counts.min().unwrap_or_default()
}

#[test]
fn backends_agree_on_suites_that_no_library_supports() {
    for suite in suites() {
        if matches!(suite, Suite::Tkip | Suite::Enhanced(_)) {
            for (case, count) in cases(suite) {
                let compared = compare(case, count).unwrap_or_else(|fault| panic!("{fault}"));
                assert!(compared.iter().all(|who| matches!(who, Who::Airtoll(_))));
            }
        }
    }
}

#[test]
fn openssl_agrees() {
    if let Err(absent) = Library::OpenSsl.version() {
        return test_support::skip(&absent.to_string());
    }
    for suite in [Suite::Ccmp128, Suite::Ccmp256, Suite::Gcmp128, Suite::Gcmp256] {
        assert_eq!(took_part(Library::OpenSsl, suite), 1, "{suite:?}");
    }
    for suite in [Suite::Wep40, Suite::Wep104] {
        let rc4 = Library::OpenSsl.interfaces(suite).len();
        assert_eq!(took_part(Library::OpenSsl, suite), rc4, "{suite:?}");
    }
}

#[test]
fn libipsec_mb_agrees() {
    if let Err(absent) = Library::IpsecMb.version() {
        return test_support::skip(&absent.to_string());
    }
    for (suite, interfaces) in [
        (Suite::Ccmp128, 2),
        (Suite::Ccmp256, 2),
        (Suite::Gcmp128, 3),
        (Suite::Gcmp256, 3),
    ] {
        assert_eq!(took_part(Library::IpsecMb, suite), interfaces, "{suite:?}");
    }
}

#[cfg(feature = "crates")]
#[test]
fn libraries_of_crates_io_agree() {
    for (library, suites) in [
        (
            Library::AwsLc,
            &[Suite::Ccmp128, Suite::Gcmp128, Suite::Gcmp256][..],
        ),
        (Library::Ring, &[Suite::Gcmp128, Suite::Gcmp256]),
    ] {
        for &suite in suites {
            assert_eq!(took_part(library, suite), 1, "{library:?}, {suite:?}");
        }
    }
}
