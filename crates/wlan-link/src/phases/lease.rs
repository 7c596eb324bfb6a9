//! Assignment of addresses to stations.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::Serialize;
use wlan_frames::MacAddr;

use crate::plane::Network;

/// Maximum number of addresses of a station: [`LISTED`] of its own, and one of each network of the access point.
pub const MAX_ADDRESSES: usize = 2 * LISTED;
/// Maximum number of addresses in the configuration of an access point or of one station.
pub const LISTED: usize = 8;

/// An address with its prefix length, such as 192.0.2.7/24.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub struct Prefix {
    /// The address.
    pub address: IpAddr,
    /// Prefix length.
    pub bits: u8,
}

/// The text is not an address with a prefix length.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not an address with a prefix length, such as 192.0.2.1/24")]
pub struct PrefixError(String);

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let wrong = || PrefixError(text.to_owned());
        let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits: u8 = bits.parse().map_err(|_| wrong())?;
        Prefix { address, bits }
            .network()
            .map(|_| Prefix { address, bits })
            .ok_or_else(wrong)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl From<Prefix> for String {
    fn from(prefix: Prefix) -> String {
        prefix.to_string()
    }
}

impl Prefix {
    /// Its network; `None` if the prefix is longer than the address.
    #[must_use]
    pub fn network(&self) -> Option<Network> {
        Network::new(self.address, self.bits)
    }

    /// The network that contains only this address.
    #[must_use]
    pub fn host(address: IpAddr) -> Prefix {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        Prefix { address, bits }
    }

    /// Whether all addresses of the network of `other` belong to this network.
    #[must_use]
    pub fn covers(&self, other: Prefix) -> bool {
        other.bits >= self.bits && self.contains(other.address)
    }

    /// Whether the two networks have addresses in common.
    #[must_use]
    pub fn overlaps(&self, other: Prefix) -> bool {
        self.covers(other) || other.covers(*self)
    }

    fn contains(&self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && Network::new(address, self.bits) == self.network()
    }

    /// The address with this host number in the network; `None` if it is reserved.
    fn nth(&self, number: u128) -> Option<IpAddr> {
        let width: u8 = if self.address.is_ipv4() { 32 } else { 128 };
        let hosts = 1_u128
            .checked_shl((width - self.bits).into())
            .unwrap_or(0)
            .wrapping_sub(1);
        // Zero is the network (IPv6: the Subnet-Router anycast address), all ones the broadcast address (RFC 919 7).
        if number == 0 || number >= hosts {
            return None;
        }
        Some(match self.address {
            IpAddr::V4(address) => {
                let first = u128::from(address.to_bits()) & !hosts;
                Ipv4Addr::from_bits(u32::try_from(first | number).ok()?).into()
            }
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !hosts | number).into(),
        })
    }

    /// Number of host numbers that are searched for a free address.
    fn numbers(&self) -> u128 {
        let width: u8 = if self.address.is_ipv4() { 32 } else { 128 };
        (1_u128 << (width - self.bits).min(16)).saturating_sub(2)
    }
}

/// Reason why addresses cannot be configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressingError {
    /// A station's address is in none of the link's networks.
    #[error("station {0}: {1} is outside the networks of `addresses`")]
    Outside(MacAddr, IpAddr),
    /// Two stations have the same address.
    #[error("station {0}: {1} is already in use")]
    Taken(MacAddr, IpAddr),
    /// A station is listed more than once.
    #[error("duplicate station {0}")]
    Twice(MacAddr),
}

/// The addresses and networks of a station.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lease {
    /// Addresses of its device, with the prefix length of the link's network.
    pub addresses: Vec<Prefix>,
    /// All networks that it may send from: its addresses and the networks behind it.
    pub networks: Vec<Network>,
}

/// The addresses of an access point and its stations.
#[derive(Debug, Clone, Default)]
pub struct Addressing {
    own: Vec<Prefix>,
    listed: BTreeMap<MacAddr, (Vec<IpAddr>, Vec<Network>)>,
    /// Addresses that are not free: the access point's, those of listed stations, and leased addresses.
    taken: BTreeSet<IpAddr>,
    pool: bool,
}

impl Addressing {
    /// Starts with the access point's own addresses, whose networks are the link's networks. With `pool`, unlisted
    /// stations may join and get a free address from each network.
    #[must_use]
    pub fn new(own: &[Prefix], pool: bool) -> Self {
        Self {
            own: own.to_vec(),
            listed: BTreeMap::new(),
            taken: own.iter().map(|prefix| prefix.address).collect(),
            pool,
        }
    }

    /// Lists a station with its addresses and the networks behind it.
    ///
    /// # Errors
    /// [`AddressingError`].
    pub fn list(
        &mut self,
        station: MacAddr,
        addresses: &[IpAddr],
        networks: &[Network],
    ) -> Result<(), AddressingError> {
        for &address in addresses {
            if !self.own.iter().any(|own| own.contains(address)) {
                return Err(AddressingError::Outside(station, address));
            }
            if !self.taken.insert(address) {
                return Err(AddressingError::Taken(station, address));
            }
        }
        match self
            .listed
            .insert(station, (addresses.to_vec(), networks.to_vec()))
        {
            None => Ok(()),
            Some(_) => Err(AddressingError::Twice(station)),
        }
    }

    /// The access point's own addresses.
    #[must_use]
    pub fn own(&self) -> &[Prefix] {
        &self.own
    }

    /// Whether a station may join.
    #[must_use]
    pub fn admits(&self, station: MacAddr) -> bool {
        self.pool || self.listed.contains_key(&station)
    }

    /// Assigns a station its addresses: its listed addresses and, with a pool, a free address from each network in
    /// which it has none. A station gets its previous address again if that is free. `None` if no address is free.
    pub(super) fn lease(&mut self, station: MacAddr) -> Option<Lease> {
        if !self.admits(station) {
            return None;
        }
        let (mut addresses, networks) = self.listed.get(&station).cloned().unwrap_or_default();
        for own in self.own.clone() {
            if self.pool && !addresses.iter().any(|&address| own.contains(address)) {
                let Some(address) = self.free(own, station) else {
                    self.give_back(station, &addresses);
                    return None;
                };
                self.taken.insert(address);
                addresses.push(address);
            }
        }
        let bits = |address| {
            self.own
                .iter()
                .find(|own| own.contains(address))
                .map(|own| own.bits)
        };
        let prefix = |&address: &IpAddr| {
            Some(Prefix {
                address,
                bits: bits(address)?,
            })
        };
        let host = |&address: &IpAddr| Prefix::host(address).network();
        Some(Lease {
            addresses: addresses.iter().filter_map(prefix).collect(),
            networks: addresses.iter().filter_map(host).chain(networks).collect(),
        })
    }

    /// Returns a station's addresses to the pool.
    pub(super) fn release(&mut self, station: MacAddr, lease: &Lease) {
        let addresses: Vec<IpAddr> = lease.addresses.iter().map(|prefix| prefix.address).collect();
        self.give_back(station, &addresses);
    }

    fn give_back(&mut self, station: MacAddr, addresses: &[IpAddr]) {
        let listed = self
            .listed
            .get(&station)
            .map(|(listed, _)| &listed[..])
            .unwrap_or_default();
        for address in addresses.iter().filter(|address| !listed.contains(address)) {
            self.taken.remove(address);
        }
    }

    /// A free address of a network. The search starts at a number derived from the station's MAC address, so a
    /// station finds its previous address without stored state.
    fn free(&self, network: Prefix, station: MacAddr) -> Option<IpAddr> {
        let numbers = network.numbers();
        // FNV-1a only spreads the start positions; it need not resist attacks.
        let hash = |hash: u64, &octet: &u8| (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3);
        let start = station.0.iter().fold(0xcbf2_9ce4_8422_2325, hash);
        let number = |step| 1 + (u128::from(start) + step) % numbers;
        (0..numbers)
            .filter_map(|step| network.nth(number(step)))
            .find(|address| !self.taken.contains(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station(last: u8) -> MacAddr {
        MacAddr([2, 0, 0, 0, 0, last])
    }

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    #[test]
    fn a_station_keeps_its_address() {
        let mut addressing = Addressing::new(&[prefix("192.0.2.1/29"), prefix("2001:db8::1/64")], true);
        let mut leases = Vec::new();
        for last in 1..=5 {
            let lease = addressing.lease(station(last)).unwrap();
            assert_eq!(lease.addresses.len(), 2);
            assert_eq!((lease.addresses[0].bits, lease.addresses[1].bits), (29, 64));
            leases.push(lease);
        }
        let all: BTreeSet<_> = leases.iter().flat_map(|lease| &lease.addresses).collect();
        assert_eq!(all.len(), 10, "an address was given twice");
        assert!(!all.contains(&prefix("192.0.2.0/29")) && !all.contains(&prefix("192.0.2.7/29")));
        // Six addresses, one of them the access point's.
        assert_eq!(addressing.lease(station(6)), None);
        addressing.release(station(3), &leases[2]);
        assert_eq!(addressing.lease(station(3)).as_ref(), Some(&leases[2]));
    }

    #[test]
    fn all_host_numbers_except_the_reserved_ones_are_assigned() {
        for (own, stations) in [("192.0.2.1/30", 1), ("192.0.2.1/24", 253), ("2001:db8::1/126", 1)] {
            let own = prefix(own);
            let mut addressing = Addressing::new(&[own], true);
            let mut given = BTreeSet::from([own.address]);
            for last in 1..=stations {
                let lease = addressing.lease(station(last)).unwrap();
                assert!(own.contains(lease.addresses[0].address), "{:?}", lease.addresses);
                assert!(given.insert(lease.addresses[0].address));
            }
            assert_eq!(addressing.lease(station(stations + 1)), None, "{own}");
        }
        let ends = ["10.0.0.0", "10.0.0.255"].map(|address| address.parse().unwrap());
        let network = prefix("10.0.0.7/24");
        assert_eq!(network.nth(0), None);
        assert_eq!(network.nth(255), None);
        assert!(network.contains(ends[0]) && network.contains(ends[1]));
        assert_eq!(network.nth(254), Some("10.0.0.254".parse().unwrap()));
    }

    #[test]
    fn stations_start_their_search_at_different_addresses() {
        let network = [prefix("10.0.0.1/16")];
        let first = |last: u8| {
            Addressing::new(&network, true)
                .lease(station(last))
                .unwrap()
                .addresses[0]
        };
        let distinct: BTreeSet<_> = (0..=255).map(first).collect();
        assert!(distinct.len() > 250, "{} of 256", distinct.len());
    }

    #[test]
    fn a_listed_station_gets_pool_addresses_only_from_networks_without_a_listed_address() {
        let own = [prefix("192.0.2.1/24"), prefix("2001:db8::1/64")];
        let address = "192.0.2.9".parse().unwrap();
        for (pool, count) in [(false, 1), (true, 2)] {
            let mut addressing = Addressing::new(&own, pool);
            addressing.list(station(1), &[address], &[]).unwrap();
            let lease = addressing.lease(station(1)).unwrap();
            assert_eq!(lease.addresses[0].to_string(), "192.0.2.9/24");
            assert_eq!(lease.addresses.len(), count);
            // A listed address stays reserved after the session.
            addressing.release(station(1), &lease);
            assert_eq!(addressing.lease(station(1)), Some(lease));
            assert_eq!(addressing.own(), own);
        }
    }

    #[test]
    fn networks_overlap_if_one_covers_the_other() {
        for (wide, narrow, overlap) in [
            ("10.0.0.0/8", "10.1.2.3/24", true),
            ("10.0.0.0/8", "11.0.0.0/24", false),
            ("0.0.0.0/0", "192.0.2.1/32", true),
            ("0.0.0.0/0", "2001:db8::/64", false),
            ("::/0", "2001:db8::1/128", true),
            ("fd77::/64", "fd77:0:0:1::/80", false),
        ] {
            let (wide, narrow) = (prefix(wide), prefix(narrow));
            assert_eq!(wide.overlaps(narrow), overlap, "{wide} {narrow}");
            assert_eq!(narrow.overlaps(wide), overlap, "{wide} {narrow}");
            assert_eq!(wide.covers(narrow), overlap, "{wide} {narrow}");
            assert!(!narrow.covers(wide) && wide.covers(wide), "{wide} {narrow}");
        }
    }

    #[test]
    fn prefixes_are_written_as_text_in_json() {
        assert_eq!(
            serde_json::to_string(&prefix("192.0.2.7/24")).unwrap(),
            "\"192.0.2.7/24\""
        );
    }

    #[test]
    fn listed_stations_get_their_listed_addresses() {
        let behind = prefix("198.51.100.0/24").network().unwrap();
        let mut addressing = Addressing::new(&[prefix("192.0.2.1/24")], false);
        let address = "192.0.2.9".parse().unwrap();
        addressing.list(station(1), &[address], &[behind]).unwrap();
        let lease = addressing.lease(station(1)).unwrap();
        assert_eq!(lease.addresses, [prefix("192.0.2.9/24")]);
        assert_eq!(
            lease.networks,
            [prefix("192.0.2.9/32").network().unwrap(), behind]
        );
        assert!(!addressing.admits(station(2)) && addressing.lease(station(2)).is_none());
        let taken = addressing.list(station(3), &[address], &[]).unwrap_err();
        assert_eq!(
            taken.to_string(),
            "station 02:00:00:00:00:03: 192.0.2.9 is already in use"
        );
        let outside = addressing.list(station(3), &["192.0.3.9".parse().unwrap()], &[]);
        assert!(matches!(outside, Err(AddressingError::Outside(..))));
    }

    #[test]
    fn invalid_prefixes_are_refused() {
        for text in [
            "192.0.2.1",
            "192.0.2.1/33",
            "2001:db8::/129",
            "host/8",
            "192.0.2.1/",
            "/24",
        ] {
            let error = text.parse::<Prefix>().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
        assert_eq!(prefix("2001:db8::7/64").to_string(), "2001:db8::7/64");
        // A network with one or two addresses has none for stations.
        assert_eq!(
            Addressing::new(&[prefix("192.0.2.1/32")], true).lease(station(1)),
            None
        );
        assert_eq!(
            Addressing::new(&[prefix("192.0.2.1/31")], true).lease(station(1)),
            None
        );
    }
}
