//! Dropping a key wipes its memory. Copies that a move leaves on the stack are not checked: the compiler creates them
//! and no library can wipe them.
#![cfg(target_os = "linux")]

use std::os::unix::fs::FileExt;

use wlan_ciphers::{Backend, Role, Suite, TemporalKey, Tkip, Wep};

const SUITES: [Suite; 8] = Suite::OF_TEMPORAL_KEYS;

/// The memory of this process as seen by the kernel, which includes memory of dropped values.
fn memory(address: usize, len: usize) -> Vec<u8> {
    let mut octets = vec![0; len];
    let file = std::fs::File::open("/proc/self/mem").unwrap();
    file.read_exact_at(&mut octets, address as u64).unwrap();
    octets
}

/// Drops a key in place, checks that `secret` is gone, and returns how many octets became 0. Padding between fields may
/// hold anything.
fn assert_wiped<T>(key: T, secret: &[u8], what: &str) -> usize {
    // `Vec::clear` drops in place and keeps the allocation.
    let mut place = vec![key];
    let address = place.as_ptr().addr();
    let before = memory(address, size_of::<T>());
    place.clear();
    let after = memory(address, size_of::<T>());
    drop(place);
    let at = before.windows(secret.len()).position(|octets| octets == secret);
    let Some(at) = at else {
        panic!("{what}: key not found in memory")
    };
    let left = &after[at..at + secret.len()];
    assert!(
        left.iter().all(|&octet| octet == 0),
        "{what}: not wiped: {left:02x?}"
    );
    let wiped = |(before, after): (&u8, &u8)| *before != 0 && *after == 0;
    before.iter().zip(&after).filter(|&pair| wiped(pair)).count()
}

#[test]
fn dropped_keys_leave_no_trace_in_memory() {
    let secret =
        *b"\x9d\x3a\xe1\x57\xb4\xc8\x62\x1f\xf3\x75\x8e\xd9\x46\xab\x13\xc7nobody may read this ever again!!";
    for backend in Backend::available() {
        for suite in SUITES {
            let what = format!("{suite:?} with {backend}");
            let tk = &secret[..suite.key_len()];
            let key = TemporalKey::with_backend(suite, tk, backend).unwrap();
            let wiped = assert_wiped(key, tk, &what);
            // Derived values are wiped too: 11 or 15 round keys and, for GCM, 65 powers of the hash key. Few of their
            // octets are 0 initially.
            let round_keys = suite.key_len() / 4 + 7;
            let powers = match suite {
                Suite::Gcmp128 | Suite::Gcmp256 => 65,
                _ => 0,
            };
            let derived = 16 * (round_keys + powers);
            assert!(
                wiped > derived - derived / 20,
                "{what}: {wiped} of {derived} octets wiped"
            );
        }
    }
    for len in [5, 13] {
        let wep = Wep::new(&secret[..len]).unwrap();
        assert_wiped(wep, &secret[..len], "WEP");
    }
    let tkip: &[u8; 32] = secret.first_chunk().unwrap();
    for part in [&tkip[..16], &tkip[16..24], &tkip[24..]] {
        assert_wiped(Tkip::new(tkip, Role::Sta), part, "TKIP");
    }
}
