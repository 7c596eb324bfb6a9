//! Netlink: answers of the kernel to the link, and messages of the emulated radios.

use wlan_emulator::hwsim::netlink::messages;
use wlan_link::daemon::netlink::{acknowledgement, dumped};

/// The type of an acknowledgement: `NLMSG_ERROR`.
const ERROR: u16 = 2;

/// Any octets are read without a panic. An acknowledgement that holds the same numbers gives the same result, whatever
/// follows it. The messages of a datagram and their attributes lie one after the other within it. The networks of a dump
/// are valid, and each comes from an attribute.
pub fn netlink(data: &[u8]) {
    if let Some((sequence, code)) = acknowledgement(data) {
        assert!(data.len() >= 20, "the numbers are not in the message");
        assert_eq!(
            acknowledgement(&acknowledging(sequence, code)),
            Some((sequence, code))
        );
    }
    dump(data);
    let mut messages_b = 0;
    for message in messages(data) {
        let attributes = message.attributes();
        let attributes_b: usize = attributes.map(|(_, value)| 4 + value.len()).sum();
        // An acknowledgement has no header of generic netlink.
        messages_b += attributes_b + if message.command.is_some() { 20 } else { 16 };
    }
    assert!(messages_b <= data.len(), "{messages_b} octets in {}", data.len());
}

fn dump(data: &[u8]) {
    for device in [0, 1] {
        let part = dumped(data, 0, device);
        assert!(part.networks.iter().all(|network| network.network().is_some()));
        assert!(
            part.networks.len() <= data.len() / 8,
            "more networks than addresses"
        );
    }
}

fn acknowledging(sequence: u32, code: i32) -> Vec<u8> {
    let mut message = 36_u32.to_ne_bytes().to_vec();
    message.extend(ERROR.to_ne_bytes());
    message.extend([0; 2]);
    message.extend(sequence.to_ne_bytes());
    message.extend([0; 4]);
    message.extend(code.to_ne_bytes());
    message.extend([0; 16]);
    message
}

/// A success, an error, a message of generic netlink with two attributes, and a dump with an address and a route.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut generic = 44_u32.to_ne_bytes().to_vec();
    generic.extend(20_u16.to_ne_bytes());
    generic.extend([0; 10]);
    generic.extend([2, 1, 0, 0]);
    for kind in [1_u16, 2] {
        generic.extend(9_u16.to_ne_bytes());
        generic.extend(kind.to_ne_bytes());
        generic.extend([7, 7, 7, 7, 7, 0, 0, 0]);
    }
    let mut dump = Vec::new();
    for (kind, structure) in [
        (20_u16, &[2, 24, 0, 0, 9, 0, 0, 0][..]),
        (24, &[2, 16, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0][..]),
    ] {
        let len = u32::try_from(16 + structure.len() + 8).expect("a short message");
        dump.extend(len.to_ne_bytes());
        dump.extend(kind.to_ne_bytes());
        dump.extend([0; 10]);
        dump.extend(structure);
        dump.extend(8_u16.to_ne_bytes());
        dump.extend(1_u16.to_ne_bytes());
        dump.extend([10, 9, 0, 0]);
    }
    vec![acknowledging(5, 0), acknowledging(6, -19), generic, dump]
}
