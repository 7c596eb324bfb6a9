//! The stations that are joining: from the proof that they are reachable until they have a session.
//!
//! Any host can use any address, so a join belongs to an address and an endpoint. A host that uses the address of another
//! station has a join of its own, and the first one that proves its key becomes the session.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use wlan_frames::MacAddr;
use wlan_rsn::{Elements, Peer, Pmk};

use crate::plane::Endpoint;

/// Maximum number of joins.
pub const JOINS: usize = 192;
/// Maximum number of joins of one site, which leaves places for others.
pub const JOINS_PER_SITE: usize = 128;

/// The address of a station, and where its unprotected frames come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claimant {
    /// The station's address.
    pub address: MacAddr,
    /// Source of its frames, and destination of the answers.
    pub endpoint: Endpoint,
}

impl From<Claimant> for MacAddr {
    fn from(claimant: Claimant) -> MacAddr {
        claimant.address
    }
}

impl Peer for Claimant {
    /// A UDP endpoint includes the port, because several stations may share an IP address.
    fn place(self) -> Vec<u8> {
        match self.endpoint {
            Endpoint::Udp(place) => {
                let address = match place.ip() {
                    IpAddr::V4(address) => address.to_ipv6_mapped(),
                    IpAddr::V6(address) => address,
                };
                [&address.octets()[..], &place.port().to_be_bytes()].concat()
            }
            Endpoint::Ethernet(place) => place.0.to_vec(),
        }
    }
}

/// All ports of the IPv4 address of an endpoint, or of the IPv6 network of `bits` around it. An Ethernet address is a
/// network of its own.
fn network(endpoint: Endpoint, bits: u32) -> Endpoint {
    match endpoint {
        Endpoint::Udp(place) => {
            let ip = match place.ip().to_canonical() {
                IpAddr::V4(address) => address.into(),
                IpAddr::V6(address) => {
                    Ipv6Addr::from_bits(address.to_bits() >> (128 - bits) << (128 - bits)).into()
                }
            };
            Endpoint::Udp(SocketAddr::new(ip, 0))
        }
        ethernet @ Endpoint::Ethernet(_) => ethernet,
    }
}

/// The site of an endpoint: providers assign a site at most an IPv6 network of 48 bits (RFC 6177), with 65,536 networks.
fn site(endpoint: Endpoint) -> Endpoint {
    network(endpoint, 48)
}

/// The host of an endpoint: a host has an IPv6 network of 64 bits to itself (RFC 4291 2.5.4).
fn host(endpoint: Endpoint) -> Endpoint {
    network(endpoint, 64)
}

/// A station that is joining.
#[derive(Debug)]
pub struct Join {
    /// Time at which the join is given up.
    pub until: Duration,
    /// Time of the last frame that advanced the join.
    pub heard: Duration,
    /// The PMK that the station has proved or must prove; `None` before SAE or the authentication server provides it.
    pub pmk: Option<Pmk>,
    /// Maximum duration of the session, as the authentication server demands.
    pub session_timeout: Option<Duration>,
    /// The station's association, after which the handshake or 802.1X is in progress.
    pub association: Option<Associated>,
}

/// The association of a station that is joining.
#[derive(Debug, Clone)]
pub struct Associated {
    /// Association identifier, 1 to 2007.
    pub aid: u16,
    /// The elements of the Association Request.
    pub elements: Elements,
    /// Time of the association.
    pub began: Duration,
    /// Whether message 2 has shown that the station has the key. Message 3 has then sent it the group key.
    pub has_keys: bool,
}

/// All stations that are joining.
pub type Joins = BTreeMap<Claimant, Join>;

/// The join that gives way to a new one from `newcomer`, if there is no place for it: out of the site with the most joins,
/// of its host with the most joins, the join that has not advanced for the longest time.
pub fn displaced(joins: &Joins, newcomer: Endpoint) -> Option<Claimant> {
    if joins.len() < JOINS_PER_SITE {
        return None;
    }
    let of_site = |at: Endpoint| joins.iter().filter(move |(one, _)| site(one.endpoint) == at);
    let candidates: Vec<(&Claimant, &Join)> = if of_site(site(newcomer)).count() >= JOINS_PER_SITE {
        of_site(site(newcomer)).collect()
    } else if joins.len() >= JOINS {
        with_most(joins.iter().collect(), site)
    } else {
        return None;
    };
    with_most(candidates, host)
        .into_iter()
        .min_by_key(|(_, join)| join.heard)
        .map(|(&claimant, _)| claimant)
}

/// The joins of the groups with the most joins.
fn with_most<'a>(
    mut joins: Vec<(&'a Claimant, &'a Join)>,
    group: fn(Endpoint) -> Endpoint,
) -> Vec<(&'a Claimant, &'a Join)> {
    let mut counts: BTreeMap<Endpoint, usize> = BTreeMap::new();
    for (claimant, _) in &joins {
        *counts.entry(group(claimant.endpoint)).or_default() += 1;
    }
    let most = counts.values().copied().max();
    joins.retain(|(claimant, _)| counts.get(&group(claimant.endpoint)).copied() == most);
    joins
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimant(last: u8, endpoint: &str) -> Claimant {
        let (address, endpoint) = (
            MacAddr([2, 0, 0, 0, 0, last]),
            Endpoint::Udp(endpoint.parse().unwrap()),
        );
        Claimant { address, endpoint }
    }

    fn join(heard_ms: u64) -> Join {
        Join {
            until: Duration::MAX,
            heard: Duration::from_millis(heard_ms),
            pmk: None,
            session_timeout: None,
            association: None,
        }
    }

    /// Enters joins as the access point does, and returns those of `honest` that remain.
    fn entered(flood: impl Iterator<Item = Claimant>, honest: &[Claimant]) -> usize {
        let mut joins = Joins::new();
        for &claimant in honest {
            joins.insert(claimant, join(0));
        }
        for (n, claimant) in (1..).zip(flood) {
            if let Some(displaced) = displaced(&joins, claimant.endpoint) {
                joins.remove(&displaced);
            }
            joins.insert(claimant, join(n));
            assert!(joins.len() <= JOINS);
        }
        honest.iter().filter(|one| joins.contains_key(one)).count()
    }

    #[test]
    fn a_host_displaces_only_its_own_joins_with_any_number_of_ports_and_addresses() {
        let honest = [claimant(1, "192.0.2.1:9"), claimant(2, "[2001:db8:1::1]:9")];
        for network in ["203.0.113.7", "[2001:db8:2::7]", "[::ffff:203.0.113.7]"] {
            let flood = (1000..3000).map(|port| claimant(9, &format!("{network}:{port}")));
            assert_eq!(entered(flood, &honest), 2, "{network}");
        }
        // All addresses of an IPv6 network, and one address of each network of a site.
        let flood = (1..2000).map(|n| claimant(9, &format!("[2001:db8:2::{n:x}]:9")));
        assert_eq!(entered(flood, &honest), 2);
        let flood = (1..2000).map(|n| claimant(9, &format!("[2001:db8:2:{n:x}::7]:9")));
        assert_eq!(entered(flood, &honest), 2);
    }

    #[test]
    fn a_host_displaces_no_join_of_another_host_of_its_site() {
        let honest = [
            claimant(1, "[2001:db8:2:1::1]:9"),
            claimant(2, "[2001:db8:1::1]:9"),
        ];
        let flood = (1000..3000).map(|port| claimant(9, &format!("[2001:db8:2:2::7]:{port}")));
        assert_eq!(entered(flood, &honest), 2);
    }

    #[test]
    fn many_hosts_displace_the_joins_of_the_host_with_the_most() {
        let honest = [claimant(1, "192.0.2.1:9"), claimant(2, "192.0.2.2:9")];
        let flood = (0..4000).map(|n| claimant(9, &format!("203.0.113.{}:{}", n % 90, 1000 + n)));
        assert_eq!(entered(flood, &honest), 2);
    }

    #[test]
    fn of_hosts_with_equally_many_joins_the_join_that_is_silent_for_longest_gives_way() {
        let mut joins = Joins::new();
        for n in 0..JOINS {
            let endpoint = format!("203.0.{}.{}:9", n / 100, n % 100);
            joins.insert(claimant(9, &endpoint), join(if n == 77 { 5 } else { 10 }));
        }
        let newcomer = claimant(1, "192.0.2.1:9");
        assert_eq!(
            displaced(&joins, newcomer.endpoint),
            Some(claimant(9, "203.0.0.77:9"))
        );
    }
}
