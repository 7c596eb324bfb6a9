//! The example program gives the right result.

mod common;

#[allow(dead_code, reason = "the test calls the functions below `main`")]
#[path = "../examples/handshake.rs"]
mod handshake;

use common::TestRng;
use handshake::handshake;
use wlan_rsn::Failure;

#[test]
fn both_ends_have_the_same_key() {
    let (access_point, station) = handshake(b"a passphrase", b"a passphrase", &mut TestRng(1)).unwrap();
    assert!(access_point.is_established && station.is_established);
    assert!(access_point.temporal_key().is_some());
    assert_eq!(access_point.temporal_key(), station.temporal_key());
    assert_eq!(access_point.keys.len(), station.keys.len());
}

#[test]
fn another_passphrase_fails() {
    let (access_point, station) = handshake(b"a passphrase", b"another one", &mut TestRng(1)).unwrap();
    assert_eq!(access_point.failure, Some(Failure::WrongKey));
    assert!(!station.is_established);
    assert_eq!(station.temporal_key(), None);
}
