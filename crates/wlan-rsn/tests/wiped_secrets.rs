//! Dropping a PMK wipes its memory. Copies that a move leaves on the stack are not checked: the compiler makes them,
//! and no library can wipe them.
#![cfg(target_os = "linux")]

mod common;

use std::os::unix::fs::FileExt;

use common::TestRng;
use wlan_frames::MacAddr;
use wlan_rsn::Group;
use wlan_rsn::owe::{AccessPoint, Station};

/// Reads the memory of this process through the kernel, which also works for freed memory.
fn memory(address: usize, len: usize) -> Vec<u8> {
    let mut octets = vec![0; len];
    let file = std::fs::File::open("/proc/self/mem").unwrap();
    file.read_exact_at(&mut octets, address as u64).unwrap();
    octets
}

#[test]
fn a_pmk_is_wiped_when_dropped() {
    let mut rng = TestRng(1);
    for group in Group::ALL {
        let element = Station::new(&[group], &mut rng).unwrap().element();
        let mut access_point = AccessPoint::new(&[group], 1);
        let (_, pmk) = access_point.answer(MacAddr([2; 6]), &element, &mut rng).unwrap();
        let octets = pmk.as_octets();
        let (address, len) = (octets.as_ptr().addr(), octets.len());
        assert_eq!(memory(address, len), octets, "the PMK is at its address");
        drop(pmk);
        // The allocator writes its own data to the start of the freed memory.
        let after = memory(address, len);
        assert!(after[16..].iter().all(|&octet| octet == 0), "{after:02x?}");
    }
}
