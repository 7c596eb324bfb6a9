//! The hosts of a link: names, addresses, and the destination of each packet.
//!
//! Hosts are numbered: the access point is 0, the stations follow, and the server behind the access point is last. The
//! numbers of the access point and of the stations are therefore also their station numbers on the medium.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use wlan_frames::MacAddr;
use wlan_scenario::signals::station_name;

/// Largest number of hosts on a link. Each has a namespace, a device and a descriptor that the MAC thread polls.
pub const MAX_HOSTS: usize = 64;

/// The access point's host.
pub const AP: usize = 0;

/// Destination address in an IPv4 header (RFC 791 3.1).
const IPV4_DESTINATION: Range<usize> = 16..20;
/// Destination address in an IPv6 header (RFC 8200 3).
const IPV6_DESTINATION: Range<usize> = 24..40;

/// The hosts of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roster {
    stations: usize,
    server: bool,
}

impl Roster {
    /// The access point, `stations` stations, and a server if `server` is set. `None` if the link has more than
    /// [`MAX_HOSTS`] hosts.
    pub fn new(stations: usize, server: bool) -> Option<Self> {
        let roster = Self { stations, server };
        (roster.len() <= MAX_HOSTS).then_some(roster)
    }

    /// Number of hosts.
    pub fn len(&self) -> usize {
        1 + self.stations + usize::from(self.server)
    }

    /// Number of stations on the medium, including the access point.
    pub fn on_air(&self) -> usize {
        1 + self.stations
    }

    /// The number of the server, if there is one.
    pub fn server(&self) -> Option<usize> {
        self.server.then_some(1 + self.stations)
    }

    /// The name of a host: that of its station, or `server`.
    pub fn name(&self, host: usize) -> String {
        match host {
            _ if Some(host) == self.server() => "server".into(),
            station => station_name(station, self.on_air()),
        }
    }

    /// The destination host of a packet. Packets to unknown addresses go from stations and the server to the access
    /// point, and from the access point to the only other host. `None` if there are several other hosts or the packet
    /// is for its sender.
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

    /// The destination host of an Ethernet frame. Group addressed frames go to the access point, and from the access
    /// point to the only other host.
    pub fn addressed(&self, from: usize, to: MacAddr) -> Option<usize> {
        if to.is_group() {
            return if from != AP {
                Some(AP)
            } else {
                (self.len() == 2).then_some(1)
            };
        }
        self.host(to).filter(|&host| host != from)
    }

    /// The host with this MAC address.
    pub fn host(&self, address: MacAddr) -> Option<usize> {
        (0..self.len()).find(|&host| mac(host) == address)
    }

    /// The host with this address; `first` is the address of host 0.
    fn of(&self, address: &[u8], first: &[u8]) -> Option<usize> {
        let ((last, prefix), (first, known)) = (address.split_last()?, first.split_last()?);
        let host = usize::from(last.checked_sub(*first)?);
        (prefix == known && host < self.len()).then_some(host)
    }
}

fn number(host: usize) -> u8 {
    u8::try_from(host + 1).expect("there are at most MAX_HOSTS hosts")
}

/// The address of a host in a documentation network (RFC 5737).
pub fn ipv4(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, number(host))
}

/// The address of a host in a documentation network (RFC 3849).
pub fn ipv6(host: usize) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number(host).into())
}

/// The locally administered MAC address of a host. The access point's address is also the BSSID.
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
    fn packets_for_unknown_hosts_go_to_the_only_neighbour() {
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
    fn hosts_are_named_after_their_role() {
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
