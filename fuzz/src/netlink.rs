//! Netlink: answers of the kernel.

use wlan_host::netlink::{attributes, generic, messages, put};
use wlan_link::daemon::netlink::networks;

/// Any octets are read without a panic. The messages of a datagram and their attributes lie one after the other within it.
/// The networks of a dump are valid, and each comes from an attribute.
pub fn netlink(data: &[u8]) {
    let mut messages_b = 0;
    for message in messages(data) {
        let _ = message.code();
        messages_b += 16 + message.body.len();
        if let Some((_, body)) = message.generic() {
            let attributes_b: usize = attributes(body).map(|(_, value)| 4 + value.len()).sum();
            assert!(
                attributes_b <= body.len(),
                "{attributes_b} octets in {}",
                body.len()
            );
        }
        for device in [0, 1] {
            let networks = networks(&message, device);
            assert!(networks.iter().all(|network| network.network().is_some()));
            assert!(
                networks.len() <= message.body.len() / 8,
                "more networks than addresses"
            );
        }
    }
    assert!(messages_b <= data.len(), "{messages_b} octets in {}", data.len());
}

/// A success, an error, a message of generic netlink with two attributes, and a dump with an address and a route.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let acknowledgement = |code: i32| {
        let mut message = Vec::new();
        put(&mut message, 2, 0, 5, &code.to_ne_bytes(), &[(0, &[0; 12])]);
        message
    };
    let mut family = Vec::new();
    put(&mut family, 20, 0, 0, &generic(2), &[(1, &[7; 5]), (2, &[7; 5])]);
    let mut dump = Vec::new();
    let address = [(1, &[10, 9, 0, 0][..])];
    put(&mut dump, 20, 0, 0, &[2, 24, 0, 0, 9, 0, 0, 0], &address);
    put(
        &mut dump,
        24,
        0,
        0,
        &[2, 16, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0],
        &address,
    );
    vec![acknowledgement(0), acknowledgement(-19), family, dump]
}
