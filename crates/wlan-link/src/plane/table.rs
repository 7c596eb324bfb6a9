//! Who is at the other ends, with which keys, and which addresses are theirs.
//!
//! The threads of the data plane each hold a [`Table`] that never changes; what changes is which table is published. A
//! thread looks at one number before each batch ([`View::refresh`]) and takes a lock, for as long as an `Arc` is cloned,
//! only when that has changed.
//!
//! Addresses of IP belong to stations by configuration, as WireGuard's allowed IPs do, and are not learned: a station can
//! then neither take another's packets nor send in its name. Ethernet frames of a station have its own address, as those of
//! every 802.11 station that is no bridge (IEEE Std 802.11-2020 4.3.13 apart).

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use wlan_ciphers::{KeyError, KeyId, PacketNumber, Suite, TemporalKey};
use wlan_frames::MacAddr;
use zeroize::Zeroizing;

use super::endpoint::Endpoint;
use super::replay::Window;
use crate::lock::lock;

/// A network, such as 192.0.2.0/24.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    /// Addresses of IPv4 as those of IPv6 that stand for them (RFC 4291 2.5.5.2), so with 96 bits more of prefix.
    prefix: u128,
    bits: u8,
}

impl Network {
    /// The network of an address whose first `bits` are given; `None` if it has no so many.
    pub fn new(address: IpAddr, bits: u8) -> Option<Self> {
        let (offset, most) = if address.is_ipv4() { (96, 32) } else { (0, 128) };
        (bits <= most).then(|| Self::of(as_number(address), bits + offset))
    }

    fn of(address: u128, bits: u8) -> Self {
        let mask = u128::MAX.checked_shl(u32::from(128 - bits)).unwrap_or(0);
        Self {
            prefix: address & mask,
            bits,
        }
    }
}

fn as_number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
    .to_bits()
}

/// Source or destination of an IP packet (RFC 791 3.1, RFC 8200 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpAddress(u128);

impl IpAddress {
    /// The source.
    pub fn source(packet: &[u8]) -> Option<Self> {
        Self::at(packet, 12, 8)
    }

    /// The destination.
    pub fn destination(packet: &[u8]) -> Option<Self> {
        Self::at(packet, 16, 24)
    }

    fn at(packet: &[u8], v4_at: usize, v6_at: usize) -> Option<Self> {
        let address = match packet.first()? >> 4 {
            4 => IpAddr::from(*packet.get(v4_at..)?.first_chunk::<4>()?),
            6 => IpAddr::from(*packet.get(v6_at..)?.first_chunk::<16>()?),
            _ => return None,
        };
        Some(Self(as_number(address)))
    }

    /// Whether it is one of many receivers (RFC 1112 4, RFC 4291 2.7), or the limited broadcast (RFC 919 7).
    pub fn is_group(self) -> bool {
        match Ipv6Addr::from_bits(self.0).to_canonical() {
            IpAddr::V4(address) => address.is_multicast() || address.is_broadcast(),
            IpAddr::V6(address) => address.is_multicast(),
        }
    }
}

/// The key that frames to a station are sealed with.
pub struct Sealer {
    /// Under which identifier.
    pub key_id: KeyId,
    /// The key, expanded.
    pub key: TemporalKey,
    /// The last packet number that was given out; all threads take theirs here.
    last: AtomicU64,
    tk: Zeroizing<Vec<u8>>,
}

impl Sealer {
    /// Takes so many consecutive packet numbers that nobody had under this key, and gives the first; `None` when there are
    /// no more.
    pub fn take(&self, count: usize) -> Option<PacketNumber> {
        let first = self.last.fetch_add(count as u64, Ordering::Relaxed) + 1;
        let last = first + count as u64 - 1;
        PacketNumber::new(last)?;
        PacketNumber::new(first)
    }

    /// How many packet numbers were used.
    pub fn used(&self) -> u64 {
        self.last.load(Ordering::Relaxed).min(PacketNumber::MAX.get())
    }
}

/// A key that frames of a station are opened with.
pub struct Opener {
    /// The key, expanded.
    pub key: TemporalKey,
    /// Which of its packet numbers came.
    window: Mutex<Window>,
    tk: Zeroizing<Vec<u8>>,
}

impl Opener {
    /// Which of its packet numbers came.
    pub fn window(&self) -> MutexGuard<'_, Window> {
        lock(&self.window)
    }
}

/// What a station sent and was sent.
#[derive(Debug, Default)]
pub struct Traffic {
    /// MPDUs to it.
    pub sent: AtomicU64,
    /// MPDUs of it that were accepted.
    pub received: AtomicU64,
}

/// Another end: on an access point a station, on a station the access point.
#[derive(Clone)]
pub struct Station {
    /// Its address.
    pub address: MacAddr,
    /// Where frames to it go.
    endpoint: Arc<Mutex<Endpoint>>,
    /// Which addresses are its own; for an access point's stations.
    networks: Vec<Network>,
    /// The key to it.
    pub transmit: Option<Arc<Sealer>>,
    /// The keys of it, by identifier.
    pub receive: [Option<Arc<Opener>>; 4],
    /// What went to and fro.
    pub traffic: Arc<Traffic>,
}

impl Station {
    /// Counts MPDUs to it.
    pub fn count_sent(&self, count: usize) {
        self.traffic.sent.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Counts MPDUs of it.
    pub fn count_received(&self, count: usize) {
        self.traffic.received.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// The key of it with this identifier.
    pub fn opener(&self, key_id: KeyId) -> Option<&Opener> {
        self.receive[usize::from(key_id.get())].as_deref()
    }

    /// Where frames to it go now.
    pub fn endpoint(&self) -> Endpoint {
        *lock(&self.endpoint)
    }

    /// Takes note of where it is now.
    pub fn moved_to(&self, endpoint: Endpoint) {
        let mut known = lock(&self.endpoint);
        if *known != endpoint {
            *known = endpoint;
        }
    }
}

/// All other ends.
#[derive(Clone, Default)]
pub struct Table {
    stations: Vec<Station>,
    by_address: HashMap<MacAddr, usize>,
    by_network: HashMap<Network, usize>,
    /// The lengths of prefix that there are, the longest first.
    prefixes_bits: Vec<u8>,
}

impl Table {
    /// All of them.
    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    /// The one with this address.
    pub fn station(&self, address: MacAddr) -> Option<usize> {
        self.by_address.get(&address).copied()
    }

    fn station_mut(&mut self, address: MacAddr) -> Result<&mut Station, TableError> {
        let mut stations = self.stations.iter_mut();
        stations
            .find(|station| station.address == address)
            .ok_or(TableError::Unknown(address))
    }

    /// The one that has the longest prefix of this address.
    pub fn route(&self, address: IpAddress) -> Option<usize> {
        let of = |&bits: &u8| self.by_network.get(&Network::of(address.0, bits)).copied();
        self.prefixes_bits.iter().find_map(of)
    }

    fn index(&mut self) {
        self.by_address = (0..).zip(&self.stations).map(|(n, s)| (s.address, n)).collect();
        self.by_network = (0..)
            .zip(&self.stations)
            .flat_map(|(n, station)| station.networks.iter().map(move |&network| (network, n)))
            .collect();
        self.prefixes_bits = self.by_network.keys().map(|network| network.bits).collect();
        self.prefixes_bits.sort_unstable_by(|a, b| b.cmp(a));
        self.prefixes_bits.dedup();
    }
}

/// Why a change to the table is refused.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Nobody with this address was admitted.
    #[error("station {0} was not admitted")]
    Unknown(MacAddr),
    /// Two stations cannot have the same network.
    #[error("station {0} already has one of these networks")]
    NetworkTaken(MacAddr),
    /// An address of many cannot be one station's.
    #[error("{0} is not the address of one station")]
    Group(MacAddr),
    /// Two suites under one key would use the same key stream twice.
    #[error("station {0} already has this key, for another cipher suite")]
    Reused(MacAddr),
    /// The link's packets were not made short enough for it.
    #[error("suite {} was not announced when the link was opened", .0.name())]
    Suite(Suite),
    /// The suite is not one of those that a link has, or the key not as long.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// Which way a key is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Frames to the station: from now on under this key.
    Transmit,
    /// Frames of the station: from now on also under this key.
    Receive,
}

/// The table that is valid now.
#[derive(Default)]
pub struct Published {
    version: AtomicU64,
    table: Mutex<Arc<Table>>,
}

impl Published {
    /// The table that is valid now.
    pub fn table(&self) -> Arc<Table> {
        Arc::clone(&lock(&self.table))
    }

    /// Publishes a changed table; nobody else changes it meanwhile.
    fn change<T>(&self, change: impl FnOnce(&mut Table) -> Result<T, TableError>) -> Result<T, TableError> {
        let mut current = lock(&self.table);
        let mut table = Table::clone(&current);
        let done = change(&mut table)?;
        table.index();
        *current = Arc::new(table);
        self.version.fetch_add(1, Ordering::Release);
        Ok(done)
    }

    /// Admits a station; one that was admitted before loses its keys.
    ///
    /// # Errors
    /// [`TableError::NetworkTaken`], [`TableError::Group`].
    pub fn admit(
        &self,
        address: MacAddr,
        endpoint: Endpoint,
        networks: &[Network],
    ) -> Result<(), TableError> {
        if address.is_group() {
            return Err(TableError::Group(address));
        }
        self.change(|table| {
            table.stations.retain(|station| station.address != address);
            for station in &table.stations {
                if station.networks.iter().any(|network| networks.contains(network)) {
                    return Err(TableError::NetworkTaken(station.address));
                }
            }
            table.stations.push(Station {
                address,
                endpoint: Arc::new(Mutex::new(endpoint)),
                networks: networks.to_vec(),
                transmit: None,
                receive: [const { None }; 4],
                traffic: Arc::default(),
            });
            Ok(())
        })
    }

    /// Installs a key; packet numbers start anew. A key that is installed already stays as it is: its packet numbers
    /// must never start anew (the reinstallation of keys).
    ///
    /// # Errors
    /// [`TableError::Unknown`], [`TableError::Key`].
    pub fn install(
        &self,
        address: MacAddr,
        direction: Direction,
        key_id: KeyId,
        suite: Suite,
        tk: &[u8],
    ) -> Result<(), TableError> {
        let key = TemporalKey::new(suite, tk)?;
        let tk = Zeroizing::new(tk.to_vec());
        self.change(|table| {
            let station = table.station_mut(address)?;
            match direction {
                Direction::Transmit => {
                    // Under whatever identifier: nonces do not contain it (12.5.3.3.4).
                    let installed = station.transmit.as_ref().filter(|old| old.tk == tk);
                    if installed.is_some_and(|old| old.key.suite() != suite) {
                        return Err(TableError::Reused(address));
                    }
                    if installed.is_none() {
                        let last = AtomicU64::new(0);
                        station.transmit = Some(Arc::new(Sealer {
                            key_id,
                            key,
                            last,
                            tk,
                        }));
                    }
                }
                Direction::Receive => {
                    let slot = &mut station.receive[usize::from(key_id.get())];
                    let same = |old: &Arc<Opener>| old.tk == tk && old.key.suite() == suite;
                    if !slot.as_ref().is_some_and(same) {
                        let window = Mutex::new(Window::new(PacketNumber::ZERO));
                        *slot = Some(Arc::new(Opener { key, window, tk }));
                    }
                }
            }
            Ok(())
        })
    }

    /// Removes a station's key of this identifier for receiving: once its frames are all under another.
    ///
    /// # Errors
    /// [`TableError::Unknown`].
    pub fn retire(&self, address: MacAddr, key_id: KeyId) -> Result<(), TableError> {
        self.change(|table| {
            let station = table.station_mut(address)?;
            station.receive[usize::from(key_id.get())] = None;
            Ok(())
        })
    }

    /// Removes a station and its keys; whether it was there.
    pub fn remove(&self, address: MacAddr) -> bool {
        self.change(|table| {
            let before = table.stations.len();
            table.stations.retain(|station| station.address != address);
            if table.stations.len() == before {
                return Err(TableError::Unknown(address));
            }
            Ok(())
        })
        .is_ok()
    }
}

/// A thread's hold on the table.
pub struct View {
    published: Arc<Published>,
    version: u64,
    table: Arc<Table>,
}

impl View {
    /// A hold on what is valid now.
    pub fn new(published: Arc<Published>) -> Self {
        let version = published.version.load(Ordering::Acquire);
        let table = published.table();
        Self {
            published,
            version,
            table,
        }
    }

    /// Takes what is valid now, and lets go of what was.
    pub fn refresh(&mut self) {
        let version = self.published.version.load(Ordering::Acquire);
        if version != self.version {
            self.version = version;
            self.table = self.published.table();
        }
    }

    /// What was valid at the last refresh.
    pub fn table(&self) -> &Table {
        &self.table
    }
}
