//! Who the hosts of a link are: names, addresses, and where a packet goes.
//!
//! Hosts are numbered: 0 is the access point's, then come the stations', last the server's behind the access point. So
//! the first are also the stations of the medium.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use wlan_frames::MacAddr;

/// Hosts that a link has at most. Each is a namespace, a device and a descriptor that the MAC thread waits on.
pub const MAX_HOSTS: usize = 64;

/// The access point's host.
pub const AP: usize = 0;

/// Destination of an IPv4 packet (RFC 791 3.1).
const IPV4_DESTINATION: Range<usize> = 16..20;
/// Destination of an IPv6 packet (RFC 8200 3).
const IPV6_DESTINATION: Range<usize> = 24..40;

/// The hosts of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roster {
    stations: usize,
    server: bool,
}

impl Roster {
    /// An access point's host, those of so many stations, and a server's if there is one; `None` if that is more than
    /// [`MAX_HOSTS`].
    pub fn new(stations: usize, server: bool) -> Option<Self> {
        let roster = Self { stations, server };
        (roster.len() <= MAX_HOSTS).then_some(roster)
    }

    /// How many hosts there are.
    pub fn len(&self) -> usize {
        1 + self.stations + usize::from(self.server)
    }

    /// How many of them are stations of the medium, the access point's among them.
    pub fn on_air(&self) -> usize {
        1 + self.stations
    }

    /// The server's.
    pub fn server(&self) -> Option<usize> {
        self.server.then_some(1 + self.stations)
    }

    /// What a host is called: ap; sta if there is one station, else sta1, sta2...; server.
    pub fn name(&self, host: usize) -> String {
        match host {
            AP => "ap".into(),
            _ if Some(host) == self.server() => "server".into(),
            _ if self.stations == 1 => "sta".into(),
            station => format!("sta{station}"),
        }
    }

    /// The host that sent a packet's destination is, or who takes what is for no host: the access point's what comes
    /// from stations and the server, a lone station what comes from the access point.
    pub fn destination(&self, from: usize, packet: &[u8]) -> Option<usize> {
        let found = match packet.first().map(|first| first >> 4) {
            Some(4) => self.of(packet.get(IPV4_DESTINATION)?, &ipv4(0).octets()),
            Some(6) => self.of(packet.get(IPV6_DESTINATION)?, &ipv6(0).octets()),
            _ => None,
        };
        match found {
            Some(host) => (host != from).then_some(host),
            None if from != AP => Some(AP),
            None => (self.len() == 2).then_some(1),
        }
    }

    /// The host that an Ethernet frame to this address goes to; one for many goes to the access point, or from there to a
    /// lone station.
    pub fn addressed(&self, from: usize, to: MacAddr) -> Option<usize> {
        if to.is_group() {
            return if from != AP {
                Some(AP)
            } else {
                (self.len() == 2).then_some(1)
            };
        }
        (0..self.len()).find(|&host| host != from && mac(host) == to)
    }

    /// The host with this address; `first` is that of host 0.
    fn of(&self, address: &[u8], first: &[u8]) -> Option<usize> {
        let ((last, prefix), (first, known)) = (address.split_last()?, first.split_last()?);
        let host = usize::from(last.checked_sub(*first)?);
        (prefix == known && host < self.len()).then_some(host)
    }
}

fn number(host: usize) -> u8 {
    u8::try_from(host + 1).expect("there are no more than MAX_HOSTS")
}

/// A host's address in a network for documentation (RFC 5737).
pub fn ipv4(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, number(host))
}

/// A host's address in a network for documentation (RFC 3849).
pub fn ipv6(host: usize) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number(host).into())
}

/// A locally administered address; the access point's is also the BSSID.
pub fn mac(host: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, number(host)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(to: std::net::IpAddr) -> Vec<u8> {
        match to {
            std::net::IpAddr::V4(to) => [&[0x45; 16][..], &to.octets()].concat(),
            std::net::IpAddr::V6(to) => [&[0x60; 24][..], &to.octets()].concat(),
        }
    }

    #[test]
    fn a_packet_goes_to_the_host_that_has_its_destination() {
        let roster = Roster::new(3, true).unwrap();
        assert_eq!(roster.len(), 5);
        for to in 0..5 {
            for packet in [packet(ipv4(to).into()), packet(ipv6(to).into())] {
                for from in 0..5 {
                    let found = roster.destination(from, &packet);
                    assert_eq!(found, (from != to).then_some(to));
                }
            }
        }
    }

    #[test]
    fn what_is_for_no_host_stays_with_the_neighbour_if_there_is_but_one() {
        let strangers = [
            "192.0.2.77",
            "192.0.2.0",
            "198.51.100.2",
            "ff02::1",
            "2001:db8::1:2",
        ];
        for stranger in strangers.map(|address| packet(address.parse().unwrap())) {
            let pair = Roster::new(1, false).unwrap();
            assert_eq!(pair.destination(1, &stranger), Some(AP));
            assert_eq!(pair.destination(AP, &stranger), Some(1));
            let several = Roster::new(2, true).unwrap();
            assert_eq!(several.destination(2, &stranger), Some(AP));
            assert_eq!(several.destination(3, &stranger), Some(AP));
            assert_eq!(several.destination(AP, &stranger), None);
        }
        assert_eq!(Roster::new(1, false).unwrap().destination(1, &[0x45; 10]), None);
    }

    #[test]
    fn a_frame_goes_to_the_host_that_has_its_destination() {
        let roster = Roster::new(2, true).unwrap();
        assert_eq!(roster.addressed(1, mac(3)), Some(3));
        assert_eq!(roster.addressed(1, mac(1)), None);
        assert_eq!(roster.addressed(1, mac(4)), None);
        assert_eq!(roster.addressed(1, MacAddr::BROADCAST), Some(AP));
        assert_eq!(roster.addressed(AP, MacAddr::BROADCAST), None);
        let pair = Roster::new(1, false).unwrap();
        assert_eq!(pair.addressed(AP, MacAddr::BROADCAST), Some(1));
    }

    #[test]
    fn hosts_are_named_by_what_they_are() {
        let names = |stations, server| {
            let roster = Roster::new(stations, server).unwrap();
            (0..roster.len())
                .map(|host| roster.name(host))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(1, false), ["ap", "sta"]);
        assert_eq!(names(1, true), ["ap", "sta", "server"]);
        assert_eq!(names(2, false), ["ap", "sta1", "sta2"]);
        assert_eq!(Roster::new(MAX_HOSTS, false), None);
    }
}
