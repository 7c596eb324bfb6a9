//! The addresses that a station accepts from its access point. They decide what the station's host sends over the link. So
//! would Router Advertisements (RFC 4861 6.3.4), which the station ignores.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use wlan_host::os_error::words;

use crate::phases::{MAX_ADDRESSES, Prefix};

/// The networks of the default, and the shortest prefix in each: private addresses (RFC 1918) and unique local addresses
/// (RFC 4193). A shorter prefix would cover networks that the host reaches by its default route.
const PRIVATE: [(Prefix, u8); 4] = [
    (v4([10, 0, 0, 0], 8), 16),
    (v4([172, 16, 0, 0], 12), 16),
    (v4([192, 168, 0, 0], 16), 16),
    (
        Prefix {
            address: IpAddr::V6(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0)),
            bits: 7,
        },
        64,
    ),
];

const fn v4([a, b, c, d]: [u8; 4], bits: u8) -> Prefix {
    Prefix {
        address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        bits,
    }
}

/// The device of a station on its host.
pub trait Addressed {
    /// The addresses that [`assign`](Self::assign) has added.
    fn assigned(&self) -> &[Prefix];

    /// Sets the addresses of the device: adds missing ones, and removes the others that an earlier call has added. Addresses
    /// that the device has from elsewhere are left unchanged.
    ///
    /// # Errors
    /// The kernel refuses a change. The device then has no address of this or an earlier call, except addresses that
    /// the kernel does not remove.
    fn assign(&mut self, addresses: &[Prefix]) -> io::Result<()>;

    /// The first of `addresses` whose network overlaps an address or a route of this host on another device, and that
    /// network. Default routes do not count, also if they are in parts.
    ///
    /// # Errors
    /// The kernel does not answer, or its tables change all the time.
    fn used_elsewhere(&mut self, addresses: &[Prefix]) -> io::Result<Option<(Prefix, Prefix)>>;
}

/// The networks of the key `assigned`; without the key, [`PRIVATE`].
#[derive(Debug, Clone, Default)]
pub struct Accepted(Option<Vec<Prefix>>);

/// The reason why a station refuses its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// More than [`MAX_ADDRESSES`].
    #[error("{0} addresses, expected at most {MAX_ADDRESSES}")]
    Count(usize),
    /// An unspecified, loopback, multicast, broadcast, link-local or reserved address, or the address of the network.
    #[error("{0} is not the address of a host in a network")]
    NoHost(Prefix),
    /// Outside the networks of the key.
    #[error("{0} is outside the networks of `assigned`")]
    Outside(Prefix),
    /// Outside the networks of the default.
    #[error(
        "{0} is outside the private networks that a station accepts without `assigned` (prefixes of at least {1} bits)"
    )]
    Public(Prefix, u8),
    /// The host uses the network elsewhere.
    #[error(
        "{0} overlaps {1}, which this host has on another interface; to accept it, name its network in `assigned`"
    )]
    Used(Prefix, Prefix),
}

impl Accepted {
    /// The networks of the key `assigned`, if the configuration has it.
    pub fn new(assigned: Option<Vec<Prefix>>) -> Self {
        Self(assigned)
    }

    /// Gives the device the addresses that the access point assigns, or none if one of them is refused.
    ///
    /// # Errors
    /// Why an address is refused.
    pub fn assign(&self, device: &mut impl Addressed, addresses: &[Prefix]) -> Result<(), String> {
        let outcome = self.acceptable(device, addresses).and_then(|()| {
            let assigned = device.assign(addresses);
            assigned.map_err(|error| words(&error))
        });
        if outcome.is_err() {
            // Those of an earlier session. This fails only if the device is gone, with its addresses.
            let _ = device.assign(&[]);
        }
        outcome
    }

    /// Removes the addresses of the device if one of them overlaps a network that the host has meanwhile. Returns the reason.
    pub fn withdraw(&self, device: &mut impl Addressed) -> Option<String> {
        let assigned = device.assigned().to_vec();
        if !self.avoids_used() || assigned.is_empty() {
            return None;
        }
        // After an error, the next call compares again.
        let (one, network) = device.used_elsewhere(&assigned).ok().flatten()?;
        // This fails only if the device is gone, with its addresses.
        let _ = device.assign(&[]);
        Some(Refusal::Used(one, network).to_string())
    }

    fn acceptable(&self, device: &mut impl Addressed, addresses: &[Prefix]) -> Result<(), String> {
        self.check(addresses).map_err(|why| why.to_string())?;
        if self.avoids_used() {
            let used = device.used_elsewhere(addresses);
            let used =
                used.map_err(|error| format!("addresses and routes of this host: {}", words(&error)))?;
            if let Some((one, network)) = used {
                return Err(Refusal::Used(one, network).to_string());
            }
        }
        Ok(())
    }

    /// Whether addresses must not overlap networks of other interfaces: the configuration names no networks.
    fn avoids_used(&self) -> bool {
        self.0.is_none()
    }

    /// Checks all addresses of an assignment, without the networks of the host.
    fn check(&self, assigned: &[Prefix]) -> Result<(), Refusal> {
        if assigned.len() > MAX_ADDRESSES {
            return Err(Refusal::Count(assigned.len()));
        }
        assigned.iter().try_for_each(|&one| self.check_one(one))
    }

    fn check_one(&self, one: Prefix) -> Result<(), Refusal> {
        if !is_host(one) {
            return Err(Refusal::NoHost(one));
        }
        match &self.0 {
            Some(networks) if networks.iter().any(|network| network.covers(one)) => Ok(()),
            Some(_) => Err(Refusal::Outside(one)),
            None => {
                let least = if one.address.is_ipv4() { 16 } else { 64 };
                let fits = |&(network, least): &(Prefix, u8)| network.covers(one) && one.bits >= least;
                PRIVATE
                    .iter()
                    .any(fits)
                    .then_some(())
                    .ok_or(Refusal::Public(one, least))
            }
        }
    }
}

/// Makes the kernel ignore Router Advertisements that arrive on a device. rtnetlink has no request for this setting.
///
/// # Errors
/// The setting is not 0 and cannot be written, or it cannot be seen although the kernel supports IPv6.
pub fn ignore_router_advertisements(device: &str) -> io::Result<()> {
    let path = format!("/proc/sys/net/ipv6/conf/{device}/accept_ra");
    match fs::write(&path, "0") {
        Ok(()) => Ok(()),
        Err(_) if fs::read_to_string(&path).is_ok_and(|value| value.trim() == "0") => Ok(()),
        // Without IPv6, or with an MTU that is too small for it.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                && (Path::new("/proc/sys/net/ipv6/conf").exists()
                    || !Path::new("/proc/net/if_inet6").exists()) =>
        {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Whether the address can belong to a host in a network of this prefix.
fn is_host(Prefix { address, bits }: Prefix) -> bool {
    let (number, width, is_usual) = match address {
        IpAddr::V4(v4) => {
            let [first, ..] = v4.octets();
            // 0.0.0.0/8 is "this network"; 240.0.0.0/4 is reserved and contains the broadcast address (RFC 6890).
            let is_usual =
                (1..=239).contains(&first) && !v4.is_loopback() && !v4.is_multicast() && !v4.is_link_local();
            (u128::from(v4.to_bits()), 32, is_usual)
        }
        IpAddr::V6(v6) => {
            let is_usual = !v6.is_unspecified()
                && !v6.is_loopback()
                && !v6.is_multicast()
                && !v6.is_unicast_link_local()
                && v6.to_ipv4_mapped().is_none();
            (v6.to_bits(), 128, is_usual)
        }
    };
    // The last two prefix lengths have no address of the network and no broadcast address (RFC 3021, RFC 6164).
    let hosts = width - u32::from(bits);
    let mask = 1_u128.checked_shl(hosts).unwrap_or(0).wrapping_sub(1);
    let is_network = hosts > 1 && number & mask == 0;
    let is_broadcast = hosts > 1 && address.is_ipv4() && number & mask == mask;
    is_usual && !is_network && !is_broadcast
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    fn check(accepted: &Accepted, text: &str) -> Result<(), Refusal> {
        accepted.check(&[prefix(text)])
    }

    #[test]
    fn by_default_only_hosts_of_small_private_networks_are_accepted() {
        let default = Accepted::default();
        for text in [
            "10.77.0.2/24",
            "10.77.1.0/16",
            "172.31.255.1/16",
            "192.168.0.2/31",
            "192.168.0.0/32",
            "fd77::2/64",
            "fd77::/128",
        ] {
            assert_eq!(check(&default, text), Ok(()), "{text}");
        }
        for text in [
            // Half of the Internet, and private networks as a whole.
            "1.0.0.1/1",
            "10.0.0.1/8",
            "10.0.0.1/15",
            "192.168.0.1/15",
            "fd77::2/63",
            "fd00::1/8",
            "2000::1/3",
            // Public and shared networks.
            "8.8.8.8/32",
            "100.64.0.7/24",
            "172.32.0.1/24",
            "2001:db8::2/64",
        ] {
            assert!(
                matches!(check(&default, text), Err(Refusal::Public(..))),
                "{text}"
            );
        }
    }

    /// A device whose host has one network elsewhere.
    #[derive(Default)]
    struct Host {
        assigned: Vec<Prefix>,
        elsewhere: Option<Prefix>,
        is_busy: bool,
    }

    impl Addressed for Host {
        fn assigned(&self) -> &[Prefix] {
            &self.assigned
        }

        fn assign(&mut self, addresses: &[Prefix]) -> io::Result<()> {
            self.assigned = addresses.to_vec();
            Ok(())
        }

        fn used_elsewhere(&mut self, addresses: &[Prefix]) -> io::Result<Option<(Prefix, Prefix)>> {
            if self.is_busy {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            let overlaps = |one: &&Prefix| self.elsewhere.is_some_and(|network| one.overlaps(network));
            let one = addresses.iter().find(overlaps);
            Ok(one.copied().zip(self.elsewhere))
        }
    }

    #[test]
    fn a_network_that_the_host_gets_later_takes_the_addresses_away() {
        let (mut host, addresses) = (Host::default(), ["10.77.0.2/24", "fd77::2/64"].map(prefix));
        let default = Accepted::default();
        assert_eq!(default.withdraw(&mut host), None);
        default.assign(&mut host, &addresses).unwrap();
        for harmless in [None, Some(prefix("10.78.0.1/24"))] {
            host.elsewhere = harmless;
            assert_eq!(default.withdraw(&mut host), None);
            assert_eq!(host.assigned, addresses);
        }
        host.elsewhere = Some(prefix("10.77.0.128/25"));
        host.is_busy = true;
        assert_eq!(default.withdraw(&mut host), None, "unknown for now");
        assert_eq!(host.assigned, addresses);
        host.is_busy = false;
        let why = default.withdraw(&mut host).unwrap();
        assert!(why.starts_with("10.77.0.2/24 overlaps 10.77.0.128/25"), "{why}");
        assert_eq!(host.assigned, []);
        assert_eq!(default.withdraw(&mut host), None, "reported once");
        assert!(default.assign(&mut host, &addresses).is_err());
        // The operator's networks take precedence.
        let named = Accepted::new(Some(["10.77.0.0/16", "fd77::/64"].map(prefix).to_vec()));
        named.assign(&mut host, &addresses).unwrap();
        assert_eq!(named.withdraw(&mut host), None);
        assert_eq!(host.assigned, addresses);
    }

    #[test]
    fn with_networks_only_their_hosts_are_accepted() {
        let networks = ["10.77.0.0/16", "198.51.100.0/24", "fd77::/64"].map(prefix);
        let named = Accepted::new(Some(networks.to_vec()));
        for text in ["10.77.0.2/24", "10.77.3.4/16", "198.51.100.7/24", "fd77::2/64"] {
            assert_eq!(check(&named, text), Ok(()), "{text}");
        }
        for text in [
            "10.77.0.2/15",
            "10.78.0.2/24",
            "fd77::2/63",
            "fd78::2/64",
            "1.0.0.1/1",
        ] {
            assert_eq!(check(&named, text), Err(Refusal::Outside(prefix(text))), "{text}");
        }
        let nothing = Accepted::new(Some(Vec::new()));
        assert_eq!(nothing.check(&[]), Ok(()));
        assert!(check(&nothing, "10.77.0.2/24").is_err());
    }

    #[test]
    fn no_network_makes_an_address_acceptable_that_belongs_to_no_host() {
        let everything = Accepted::new(Some(["0.0.0.0/0", "::/0"].map(prefix).to_vec()));
        assert_eq!(check(&everything, "8.8.8.8/1"), Ok(()));
        for text in [
            "0.0.0.0/0",
            "0.0.0.0/1",
            "0.1.2.3/8",
            "128.0.0.0/1",
            "127.0.0.53/32",
            "169.254.169.254/32",
            "224.0.0.1/32",
            "255.255.255.255/32",
            "10.77.0.0/24",
            "10.77.0.255/24",
            "::/0",
            "::1/128",
            "fe80::1/64",
            "ff02::1/128",
            "fd77::/64",
            "::ffff:10.77.0.2/128",
        ] {
            assert_eq!(
                check(&everything, text),
                Err(Refusal::NoHost(prefix(text))),
                "{text}"
            );
        }
    }

    #[test]
    fn one_refused_address_refuses_all_and_their_number_is_bounded() {
        let host = |n: usize| prefix(&format!("10.77.0.{}/24", n + 1));
        let most: Vec<Prefix> = (0..MAX_ADDRESSES).map(host).collect();
        let default = Accepted::default();
        assert_eq!(default.check(&most), Ok(()));
        let more = [&most[..], &[host(MAX_ADDRESSES)]].concat();
        assert_eq!(default.check(&more), Err(Refusal::Count(MAX_ADDRESSES + 1)));
        let mixed = [host(1), prefix("8.8.8.8/32")];
        assert!(default.check(&mixed).is_err());
    }
}
