//! The configuration: one TOML file, and a file with the passphrase.

mod enterprise;
mod secrets;
mod written;

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZero;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toml::Spanned;
use wlan_ciphers::Suite;
use wlan_eap::Secret;
use wlan_eap::peer;
use wlan_frames::{EtherType, MacAddr};
use wlan_host::os_error::words;
use wlan_host::tun::TYPES_FROM;
use wlan_rsn::sae::Password;
use wlan_rsn::{Akm, Pmk, psk};

use super::accepted::Accepted;
use crate::phases::{Addressing, Credentials, GROUPS, LISTED, Prefix, Settings};
use crate::plane::{self, ETHERTYPE, Endpoint, Kind, Network, Role, Transport};
use crate::privileges::UserIds;
use written::{Cipher, Ethernet, Listed, Text, Udp, Written, WrittenKind};

/// The configuration is invalid. The message is one line with the place and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

impl ConfigError {
    /// An error that concerns the complete file.
    pub(in crate::daemon) fn of(path: &Path, what: &str) -> Self {
        Self(format!("{}: {what}", path.display()))
    }

    /// An error at a position in a file.
    fn at(path: &Path, text: &str, span: Range<usize>, what: &str) -> Self {
        let start = span.start.min(text.len());
        let line = text[..start].matches('\n').count() + 1;
        let begins = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let words = text[begins..].lines().next().unwrap_or_default();
        let key = match words.split_once('=') {
            Some((key, _)) => format!("{}: ", key.trim()),
            None => String::new(),
        };
        let what = what.lines().next().unwrap_or_default();
        Self(format!("{}:{line}: {key}{what}", path.display()))
    }
}

/// The configuration of one end of a link.
#[derive(Debug)]
pub struct Config {
    /// The link's name.
    pub name: String,
    /// The device's name.
    pub device: String,
    /// Maximum number of stations.
    pub max_stations: usize,
    /// Maximum lifetime of the group key.
    pub group_rekey: Duration,
    /// Endpoint of the access point; required for a station with UDP.
    pub peer: Option<SocketAddr>,
    /// Address of the only acceptable access point, if any.
    pub bssid: Option<MacAddr>,
    /// The addresses that a station accepts.
    pub accepted: Accepted,
    /// Whether the device is down while there is no session.
    pub device_down_when_lost: bool,
    /// Path of the status socket.
    pub status_socket: PathBuf,
    /// Loopback address at which OpenMetrics are served.
    pub metrics: Option<SocketAddr>,
    /// The user that a root process changes to.
    pub user: Option<UserIds>,
    /// The authentication server of an access point with 802.1X.
    pub radius: Option<RadiusConfig>,
    /// The identity of a station with 802.1X.
    pub eap: Option<Arc<peer::Settings>>,
    role: Role,
    transport: Transport,
    kind: Kind,
    ciphers: Vec<Suite>,
    credentials: Credentials,
    addressing: Option<Addressing>,
    rekey: Duration,
    rekey_packets: u64,
    keep_alive: Duration,
    workers: usize,
}

/// The authentication server.
#[derive(Debug)]
pub struct RadiusConfig {
    /// Its address and port.
    pub server: SocketAddr,
    /// The shared secret.
    pub secret: Secret,
    /// The access point's name for the server.
    pub nas_identifier: String,
    /// Maximum time until a station must authenticate again.
    pub authenticate_after: Option<Duration>,
}

/// Maximum octets in a device name: IFNAMSIZ minus the terminating zero.
const DEVICE_NAME_B: usize = 15;
/// Default maximum number of packets per key: far below 2^48, the limit of packet numbers, and low enough that a
/// leaked key exposes little.
const REKEY_PACKETS: u64 = 1 << 32;

const ASSIGNS_NO_ADDRESSES: &str = "invalid with kind tap: a link of Ethernet frames assigns no addresses";
const TOO_MANY: &str = "expected at most 8 addresses";

/// Numbers of workers.
const WORKERS: RangeInclusive<usize> = 1..=plane::WORKERS;

/// One worker per two cores, because a worker has a thread per direction.
fn default_workers() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    (cores / 2).clamp(*WORKERS.start(), *WORKERS.end())
}

impl Config {
    /// Reads the configuration and the passphrase.
    ///
    /// # Errors
    /// [`ConfigError`], with the file, line, key and reason.
    pub fn read(role: Role, path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError::of(path, &words(&error)))?;
        let written: Written = toml::from_str(&text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            ConfigError::at(path, &text, span, error.message())
        })?;
        Reader { path, text: &text }.config(role, written)
    }

    /// The configuration of the data plane.
    pub(in crate::daemon) fn link_config(&self) -> plane::Config {
        plane::Config {
            role: self.role,
            transport: self.transport.clone(),
            device: self.device.clone(),
            kind: self.kind,
            suites: self.ciphers.clone(),
            workers: self.workers,
        }
    }

    /// The settings of the state machine.
    pub(in crate::daemon) fn settings(&self, address: MacAddr) -> Settings {
        Settings {
            ssid: self.name.clone().into_bytes(),
            address,
            kind: self.kind,
            ciphers: self.ciphers.clone(),
            credentials: self.credentials.clone(),
            rekey_after: self.rekey,
            rekey_packets: self.rekey_packets,
            keep_alive: self.keep_alive,
        }
    }

    /// The addresses of the stations; access point only.
    pub(in crate::daemon) fn ap_addressing(&self) -> Option<&Addressing> {
        self.addressing.as_ref()
    }

    /// Destination of broadcast frames, if the transport supports broadcast.
    pub(in crate::daemon) fn to_all(&self) -> Option<Endpoint> {
        match self.transport {
            Transport::Ethernet { .. } => Some(Endpoint::Ethernet(MacAddr::BROADCAST)),
            Transport::Udp { .. } => None,
        }
    }
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Reader<'_> {
    fn at(&self, span: Range<usize>, what: impl fmt::Display) -> ConfigError {
        ConfigError::at(self.path, self.text, span, &what.to_string())
    }

    fn of(&self, what: &str) -> ConfigError {
        ConfigError::of(self.path, what)
    }

    fn config(&self, role: Role, written: Written) -> Result<Config, ConfigError> {
        let is_ap = role == Role::Ap;
        self.only_for(is_ap, &written)?;
        if written.akm == Akm::Owe {
            self.check_open(&written)?;
        }
        let name_at = written.name.span();
        let octets = "an SSID has 1 to 32 octets (IEEE Std 802.11-2020 9.4.2.2)";
        let name = self.checked(written.name, octets, |name| (1..=32).contains(&name.len()))?;
        let letters = "a device name has 1 to 15 printable ASCII characters other than / and :";
        let device = self.checked(written.device, letters, |name| {
            let is_one = |octet: u8| octet.is_ascii_graphic() && octet != b'/' && octet != b':';
            (1..=DEVICE_NAME_B).contains(&name.len()) && name.bytes().all(is_one)
        })?;
        let one = "at least one cipher is required";
        let ciphers = self.checked(written.ciphers, one, |ciphers| !ciphers.is_empty())?;
        let ciphers: Vec<Suite> = ciphers.into_iter().map(|Cipher(suite)| suite).collect();
        let credentials = self.credentials(written.akm, name.as_bytes(), written.passphrase_file)?;
        let radius = self.radius(is_ap, written.akm, &name, written.radius)?;
        let eap = self.eap(is_ap, written.akm, written.eap)?;
        let (transport, peer) = self.transport(is_ap, written.ethernet, written.udp)?;
        let kind = match written.kind {
            WrittenKind::Tun => Kind::Ip,
            WrittenKind::Tap => Kind::Ethernet,
        };
        let addressing = if is_ap {
            Some(self.addressing(kind, written.addresses, written.pool, written.station)?)
        } else {
            None
        };
        if let (Kind::Ethernet, Some(assigned)) = (kind, &written.assigned) {
            return Err(self.at(assigned.span(), ASSIGNS_NO_ADDRESSES));
        }
        let assigned = written.assigned.map(|networks| prefixes(networks.into_inner()));
        let status_socket = match written.status_socket {
            Some(path) => path,
            // The default path would be in a different directory.
            None if name.contains(['/', '\0']) => {
                let why = "`status_socket` is required, because the name is not a valid file name";
                return Err(self.at(name_at, why));
            }
            None => format!("/run/airtoll/{name}.sock").into(),
        };
        Ok(Config {
            rekey: self.seconds(written.rekey_s, 10, 3600)?,
            rekey_packets: self
                .checked_if_any(
                    written.rekey_packets,
                    "must be at least 1000 and less than 2^47 (packet numbers end at 2^48, IEEE Std 802.11-2020 12.5.3.3.2)",
                    |count| (1000..1 << 47).contains(count),
                )?
                .unwrap_or(REKEY_PACKETS),
            keep_alive: self.seconds(written.keep_alive_s, 1, if is_ap { 30 } else { 10 })?,
            workers: self
                .checked_if_any(
                    written.workers,
                    "a link has 1 to 8 workers, one per user priority (IEEE Std 802.11-2020 9.2.4.5.2)",
                    |count| WORKERS.contains(count),
                )?
                .unwrap_or_else(default_workers),
            group_rekey: self.seconds(written.group_rekey_s, 10, 86_400)?,
            max_stations: self
                .checked_if_any(
                    written.max_stations,
                    "an access point has 1 to 2007 stations (IEEE Std 802.11-2020 9.4.1.8)",
                    |count| (1..=2007).contains(count),
                )?
                .unwrap_or(2007),
            accepted: Accepted::new(assigned),
            bssid: written.bssid.map(|bssid| bssid.into_inner().0),
            device_down_when_lost: written.device_down_when_lost.is_some_and(Spanned::into_inner),
            metrics: self.checked_if_any(
                written.metrics,
                "metrics have no access control: expected a loopback address, such as 127.0.0.1:9777",
                |address| address.ip().is_loopback(),
            )?,
            user: written.user.map(|name| self.user(&name)).transpose()?,
            status_socket,
            name,
            device,
            peer,
            role,
            transport,
            kind,
            ciphers,
            credentials,
            addressing,
            radius,
            eap,
        })
    }

    /// A path relative to the configuration file.
    fn beside(&self, file: &Path) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(file)
    }

    fn user(&self, name: &Spanned<String>) -> Result<UserIds, ConfigError> {
        let found = UserIds::named(name.get_ref()).map_err(|error| self.at(name.span(), words(&error)))?;
        found.ok_or_else(|| self.at(name.span(), "unknown user"))
    }

    /// Refuses keys of the other role.
    fn only_for(&self, is_ap: bool, written: &Written) -> Result<(), ConfigError> {
        let of_ap = [
            span(&written.addresses),
            span(&written.pool),
            span(&written.max_stations),
            span(&written.group_rekey_s),
            span(&written.radius),
            written
                .station
                .as_ref()
                .and_then(|all| all.first())
                .map(Spanned::span),
        ];
        let peer = written.udp.as_ref().and_then(|udp| span(&udp.peer));
        let of_sta = [
            span(&written.assigned),
            span(&written.bssid),
            span(&written.device_down_when_lost),
            span(&written.eap),
            peer,
        ];
        let (others, whose) = if is_ap {
            (&of_sta[..], "a station")
        } else {
            (&of_ap[..], "an access point")
        };
        match others.iter().flatten().next() {
            Some(span) => Err(self.at(span.clone(), format!("only {whose} has this key"))),
            None => Ok(()),
        }
    }

    /// Refuses keys of an access point that tell stations apart, if `owe` does not authenticate the stations.
    fn check_open(&self, written: &Written) -> Result<(), ConfigError> {
        let listed = written.station.as_ref().and_then(|all| all.first());
        let closed = written.pool.as_ref().filter(|pool| !pool.get_ref());
        match listed.map(Spanned::span).or(closed.map(Spanned::span)) {
            Some(span) => Err(self.at(
                span,
                "akm owe does not authenticate stations: any host can use the address of a listed station",
            )),
            None => Ok(()),
        }
    }

    fn checked<T>(
        &self,
        value: Spanned<T>,
        expected: &str,
        check: impl FnOnce(&T) -> bool,
    ) -> Result<T, ConfigError> {
        if check(value.get_ref()) {
            Ok(value.into_inner())
        } else {
            Err(self.at(value.span(), expected))
        }
    }

    fn checked_if_any<T>(
        &self,
        value: Option<Spanned<T>>,
        expected: &str,
        check: impl FnOnce(&T) -> bool,
    ) -> Result<Option<T>, ConfigError> {
        value
            .map(|value| self.checked(value, expected, check))
            .transpose()
    }

    fn seconds(&self, value: Option<Spanned<u64>>, least: u64, usual: u64) -> Result<Duration, ConfigError> {
        let Some(value) = value else {
            return Ok(Duration::from_secs(usual));
        };
        // The maximum of 31 years keeps sums of times from overflowing.
        if !(least..=1_000_000_000).contains(value.get_ref()) {
            return Err(self.at(value.span(), format!("must be {least} to 1000000000 seconds")));
        }
        Ok(Duration::from_secs(value.into_inner()))
    }

    fn transport(
        &self,
        is_ap: bool,
        ethernet: Option<Ethernet>,
        udp: Option<Udp>,
    ) -> Result<(Transport, Option<SocketAddr>), ConfigError> {
        match (ethernet, udp) {
            (Some(Ethernet { interface, ethertype }), None) => {
                let taken = [EtherType::EAPOL, EtherType::IPV4, EtherType::IPV6, EtherType::ARP];
                let ethertype = self.checked_if_any(
                    ethertype,
                    "a length, or the EtherType of another protocol; use 0x88b5 or 0x88b6 (IEEE Std 802-2014 9.2.3)",
                    |&value| value >= TYPES_FROM && !taken.contains(&EtherType(value)),
                )?;
                let ethertype = ethertype.map_or(ETHERTYPE, EtherType);
                Ok((Transport::Ethernet { interface, ethertype }, None))
            }
            (None, Some(udp)) => {
                let individual = "expected an individual address, not a group address";
                let address = self.checked(udp.address, individual, |Text(address)| !address.is_group())?;
                if !is_ap && udp.peer.is_none() {
                    return Err(self.of("[udp] requires `peer`, the address of the access point"));
                }
                let transport = Transport::Udp {
                    local: udp.local,
                    outer_mtu_b: self
                        .checked_if_any(udp.outer_mtu, "must be 576 to 65535 octets", |mtu| {
                            (576..=65_535).contains(mtu)
                        })?
                        .unwrap_or(1500),
                    address: address.0,
                };
                Ok((transport, udp.peer.map(Spanned::into_inner)))
            }
            _ => Err(self.of("exactly one of [ethernet] and [udp] is required")),
        }
    }

    fn addressing(
        &self,
        kind: Kind,
        addresses: Option<Spanned<Vec<Text<Prefix>>>>,
        pool: Option<Spanned<bool>>,
        stations: Option<Vec<Spanned<Listed>>>,
    ) -> Result<Addressing, ConfigError> {
        if let (Kind::Ethernet, Some(addresses)) = (kind, &addresses) {
            return Err(self.at(addresses.span(), ASSIGNS_NO_ADDRESSES));
        }
        let own: Vec<Prefix> = match addresses {
            Some(addresses) => prefixes(self.checked(addresses, TOO_MANY, |all| all.len() <= LISTED)?),
            None if kind == Kind::Ip => {
                return Err(self.of("an access point requires `addresses`, such as [\"192.0.2.1/24\"]"));
            }
            None => Vec::new(),
        };
        let mut addressing = Addressing::new(&own, pool.is_none_or(Spanned::into_inner));
        for listed in stations.unwrap_or_default() {
            let (
                span,
                Listed {
                    address,
                    addresses,
                    networks,
                },
            ) = (listed.span(), listed.into_inner());
            if addresses.len() > LISTED {
                return Err(self.at(span, TOO_MANY));
            }
            let networks: Vec<Network> = networks
                .iter()
                .filter_map(|Text(prefix)| prefix.network())
                .collect();
            addressing
                .list(address.0, &addresses, &networks)
                .map_err(|error| self.at(span, error))?;
        }
        Ok(addressing)
    }

    fn credentials(
        &self,
        akm: Akm,
        ssid: &[u8],
        file: Option<Spanned<PathBuf>>,
    ) -> Result<Credentials, ConfigError> {
        let file = match (akm, file) {
            (Akm::Owe, None) => return Ok(Credentials::Owe),
            (akm, None) if akm.is_eap() => return Ok(Credentials::Eap(akm)),
            (akm, Some(file)) if akm == Akm::Owe || akm.is_eap() => {
                return Err(self.at(file.span(), format!("akm {} uses no passphrase", akm.name())));
            }
            (_, Some(file)) => file.into_inner(),
            (akm, None) => return Err(self.of(&format!("akm {} requires `passphrase_file`", akm.name()))),
        };
        let path = self.beside(&file);
        let passphrase = secrets::line(&path, "passphrase")?;
        let wrong = |error: &dyn fmt::Display| ConfigError::of(&path, &error.to_string());
        if akm == Akm::Sae {
            let password = Password::new(ssid, &passphrase, None, &GROUPS).map_err(|error| wrong(&error))?;
            return Ok(Credentials::Sae(Arc::new(password)));
        }
        let key = psk::psk(&passphrase, ssid).map_err(|error| wrong(&error))?;
        Ok(Credentials::Psk(Pmk::of_psk(key)))
    }
}

fn prefixes(written: Vec<Text<Prefix>>) -> Vec<Prefix> {
    written.into_iter().map(|Text(prefix)| prefix).collect()
}

fn span<T>(value: &Option<Spanned<T>>) -> Option<Range<usize>> {
    value.as_ref().map(Spanned::span)
}
