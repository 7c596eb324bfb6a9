//! The other ends: their keys and their addresses.
//!
//! Each thread of the data plane holds an immutable [`Table`]; a change publishes a new table. Before each batch, a
//! thread reads one version number ([`View::refresh`]). Only if the number has changed does it take a lock, for as
//! long as cloning an `Arc` takes.
//!
//! As with WireGuard's allowed IPs, the configuration assigns IP addresses to stations; addresses are not learned. A
//! station can therefore neither receive another station's packets nor send from its address. Ethernet frames of a
//! station have its own address, as for every 802.11 station that is not a bridge (except IEEE Std 802.11-2020 4.3.13).

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use wlan_ciphers::{KeyError, KeyId, PacketNumber, Suite, TemporalKey};
use wlan_frames::MacAddr;
use wlan_rsn::{Direction, GroupKey, Key, PairwiseKey};

use super::endpoint::Endpoint;
use super::replay::Window;
use super::wire::{TIDS, Tid};
use crate::lock::lock;

/// Bits of the prefix of IPv4-mapped IPv6 addresses.
const MAPPED_BITS: u8 = 96;

/// An IP network, such as 192.0.2.0/24.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    /// IPv4 addresses are stored as IPv4-mapped IPv6 addresses (RFC 4291 2.5.5.2), whose prefixes are 96 bits longer.
    prefix: u128,
    bits: u8,
}

impl Network {
    /// The network of `address` with a prefix of `bits`; `None` if the prefix is longer than the address.
    pub fn new(address: IpAddr, bits: u8) -> Option<Self> {
        let (offset, most) = if address.is_ipv4() {
            (MAPPED_BITS, 32)
        } else {
            (0, 128)
        };
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
    /// Source address of a packet.
    pub fn source(packet: &[u8]) -> Option<Self> {
        Self::at(packet, 12, 8)
    }

    /// Destination address of a packet.
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

    fn is_ipv4(self) -> bool {
        Ipv6Addr::from_bits(self.0).to_ipv4_mapped().is_some()
    }

    /// Whether this is a multicast address (RFC 1112 4, RFC 4291 2.7) or the limited broadcast address (RFC 919 7).
    pub fn is_group(self) -> bool {
        match Ipv6Addr::from_bits(self.0).to_canonical() {
            IpAddr::V4(address) => address.is_multicast() || address.is_broadcast(),
            IpAddr::V6(address) => address.is_multicast(),
        }
    }
}

/// The transmit key of a station.
pub struct Sealer {
    /// Its key identifier.
    pub key_id: KeyId,
    /// The expanded key.
    pub key: TemporalKey,
    /// The last packet number used; all threads allocate from this counter.
    last: AtomicU64,
    tk: Key,
}

impl Sealer {
    /// Allocates `count` consecutive unused packet numbers. Returns the first, or `None` if there are too few.
    pub fn take(&self, count: usize) -> Option<PacketNumber> {
        let first = self.last.fetch_add(count as u64, Ordering::Relaxed) + 1;
        let last = first + count as u64 - 1;
        PacketNumber::new(last)?;
        PacketNumber::new(first)
    }

    /// Number of packet numbers used.
    pub fn used(&self) -> u64 {
        self.last.load(Ordering::Relaxed).min(PacketNumber::MAX.get())
    }
}

/// A receive key of a station.
pub struct Opener {
    /// The expanded key.
    pub key: TemporalKey,
    /// A replay window per TID. Frames of one TID come from one worker of the sender, in the order of their packet
    /// numbers, and go to one worker of this end, so that no two threads wait for a window.
    windows: [Mutex<Window>; TIDS as usize],
    /// Number of keys that were installed before and with this one: a later key has a higher number.
    installed: u64,
    tk: Key,
}

impl Opener {
    /// Locks the replay window of a TID.
    pub fn window(&self, tid: Tid) -> MutexGuard<'_, Window> {
        lock(&self.windows[usize::from(tid.0)])
    }
}

/// The destination of frames to a peer, and how recent the frame is that it comes from: its key and its packet number.
struct Place {
    endpoint: Endpoint,
    newest: (u64, PacketNumber),
}

/// Traffic of a station.
#[derive(Debug, Default)]
pub struct Traffic {
    /// MPDUs sent to the station.
    pub sent: AtomicU64,
    /// MPDUs of the station that were accepted.
    pub received: AtomicU64,
}

/// A peer: a station of an access point, or the access point of a station.
#[derive(Clone)]
pub struct Station {
    /// Its address.
    pub address: MacAddr,
    /// Destination of frames to the peer.
    place: Arc<Mutex<Place>>,
    /// IP networks that belong to it; used by access points only.
    networks: Vec<Network>,
    /// The transmit key.
    pub transmit: Option<Arc<Sealer>>,
    /// The receive keys, by key identifier.
    pub receive: [Option<Arc<Opener>>; 4],
    /// The keys of its group addressed frames, by key identifier; used by stations only.
    group: [Option<Arc<Opener>>; 4],
    /// Its traffic.
    pub traffic: Arc<Traffic>,
}

impl Station {
    /// Counts MPDUs sent to the peer.
    pub fn count_sent(&self, count: usize) {
        self.traffic.sent.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Counts MPDUs received from the peer.
    pub fn count_received(&self, count: usize) {
        self.traffic.received.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// The receive key with this identifier, for group addressed or individually addressed frames.
    pub fn opener(&self, is_group: bool, key_id: KeyId) -> Option<&Opener> {
        let keys = if is_group { &self.group } else { &self.receive };
        keys[usize::from(key_id.get())].as_deref()
    }

    /// The current destination of frames to the peer.
    pub fn endpoint(&self) -> Endpoint {
        lock(&self.place).endpoint
    }

    /// Updates the destination of frames to the peer after an authentic frame from `endpoint` under the key `opener`, if no
    /// frame is newer. An attacker can hold back a frame and send it later from elsewhere.
    pub fn heard_from(&self, endpoint: Endpoint, opener: &Opener, pn: PacketNumber) {
        let mut place = lock(&self.place);
        let sent = (opener.installed, pn);
        if sent > place.newest {
            *place = Place {
                endpoint,
                newest: sent,
            };
        }
    }
}

/// All peers.
#[derive(Clone, Default)]
pub struct Table {
    stations: Vec<Station>,
    by_address: HashMap<MacAddr, usize>,
    by_network: HashMap<Network, usize>,
    /// The distinct prefix lengths, longest first.
    prefixes_bits: Vec<u8>,
    /// The key of an access point's group addressed frames.
    group: Option<Arc<Sealer>>,
    /// Number of keys that were installed so far.
    installed: u64,
}

impl Table {
    /// All peers.
    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    /// Index of the peer with this MAC address.
    pub fn station(&self, address: MacAddr) -> Option<usize> {
        self.by_address.get(&address).copied()
    }

    /// Whether a station has a transmit key. It then also has the group key.
    pub fn is_connected(&self) -> bool {
        self.stations.iter().any(|station| station.transmit.is_some())
    }

    /// The key of group addressed frames; used by access points only.
    pub fn group(&self) -> Option<&Sealer> {
        self.group.as_deref()
    }

    fn station_mut(&mut self, address: MacAddr) -> Result<&mut Station, TableError> {
        let mut stations = self.stations.iter_mut();
        stations
            .find(|station| station.address == address)
            .ok_or(TableError::Unknown(address))
    }

    /// Index of the peer with the longest matching prefix.
    pub fn route(&self, address: IpAddress) -> Option<usize> {
        // A shorter prefix is an IPv6 network. It contains the mapped addresses, but not IPv4.
        let least = if address.is_ipv4() { MAPPED_BITS } else { 0 };
        let mut prefixes = self.prefixes_bits.iter().take_while(|&&bits| bits >= least);
        prefixes.find_map(|&bits| self.by_network.get(&Network::of(address.0, bits)).copied())
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

/// Reason why a change of the table is refused.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// No station with this address was admitted.
    #[error("station {0} was not admitted")]
    Unknown(MacAddr),
    /// The network already belongs to another station.
    #[error("station {0} already has one of these networks")]
    NetworkTaken(MacAddr),
    /// A group address cannot belong to a station.
    #[error("{0} is a group address; expected an individual address")]
    Group(MacAddr),
    /// Two suites with one key would reuse its key stream.
    #[error("station {0} already has this key with another cipher suite")]
    Reused(MacAddr),
    /// The link was opened without this suite, so its MTU leaves no space for the overhead of the suite.
    #[error("the link was opened without suite {}", .0.name())]
    Suite(Suite),
    /// The link does not support the suite, or the key has the wrong length.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// The current table.
#[derive(Default)]
pub struct Published {
    version: AtomicU64,
    table: Mutex<Arc<Table>>,
}

impl Published {
    /// The current table.
    pub fn table(&self) -> Arc<Table> {
        Arc::clone(&lock(&self.table))
    }

    /// Publishes a changed table. Changes are serialised by the lock.
    fn change<T>(&self, change: impl FnOnce(&mut Table) -> Result<T, TableError>) -> Result<T, TableError> {
        let mut current = lock(&self.table);
        let mut table = Table::clone(&current);
        let done = change(&mut table)?;
        table.index();
        *current = Arc::new(table);
        self.version.fetch_add(1, Ordering::Release);
        Ok(done)
    }

    /// Admits a station; readmitting a station removes its keys.
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
                place: Arc::new(Mutex::new(Place {
                    endpoint,
                    newest: (0, PacketNumber::ZERO),
                })),
                networks: networks.to_vec(),
                transmit: None,
                receive: [const { None }; 4],
                group: [const { None }; 4],
                traffic: Arc::default(),
            });
            Ok(())
        })
    }

    /// Installs a key; its packet numbers start at their initial value. A key that is already installed is left
    /// unchanged: resetting its packet numbers would be a key reinstallation.
    ///
    /// # Errors
    /// [`TableError::Unknown`], [`TableError::Key`], [`TableError::Reused`].
    pub fn install(&self, address: MacAddr, new: PairwiseKey) -> Result<(), TableError> {
        let (key, tk) = (TemporalKey::new(new.suite, new.key.as_octets())?, new.key);
        self.change(|table| {
            table.installed += 1;
            let installed = table.installed;
            let station = table.station_mut(address)?;
            match new.direction {
                Direction::Transmit => put_sealer(&mut station.transmit, address, new.key_id, key, tk)?,
                Direction::Receive => {
                    let slot = &mut station.receive[usize::from(new.key_id.get())];
                    put_opener(slot, key, tk, installed, PacketNumber::ZERO);
                }
            }
            Ok(())
        })
    }

    /// Installs the key under which an access point seals group addressed frames, as [`install`](Self::install).
    ///
    /// # Errors
    /// [`TableError::Key`], [`TableError::Reused`] with the access point's address `own`.
    pub fn install_group_sealer(&self, own: MacAddr, new: GroupKey) -> Result<(), TableError> {
        let (key, tk) = (TemporalKey::new(new.suite, new.key.as_octets())?, new.key);
        self.change(|table| put_sealer(&mut table.group, own, new.key_id, key, tk))
    }

    /// Installs a key under which a station opens group addressed frames of the access point, as
    /// [`install`](Self::install).
    ///
    /// # Errors
    /// [`TableError::Unknown`], [`TableError::Key`].
    pub fn install_group_opener(&self, address: MacAddr, new: GroupKey) -> Result<(), TableError> {
        let (key, tk) = (TemporalKey::new(new.suite, new.key.as_octets())?, new.key);
        self.change(|table| {
            table.installed += 1;
            let installed = table.installed;
            let station = table.station_mut(address)?;
            let slot = &mut station.group[usize::from(new.key_id.get())];
            put_opener(slot, key, tk, installed, new.rsc);
            Ok(())
        })
    }

    /// Removes the key of group addressed frames with this identifier.
    ///
    /// # Errors
    /// [`TableError::Unknown`].
    pub fn retire_group(&self, address: MacAddr, key_id: KeyId) -> Result<(), TableError> {
        self.change(|table| {
            let station = table.station_mut(address)?;
            station.group[usize::from(key_id.get())] = None;
            Ok(())
        })
    }

    /// Removes a receive key, once the station uses another key for all frames. A key whose identifier was reused is
    /// already replaced.
    ///
    /// # Errors
    /// [`TableError::Unknown`].
    pub fn retire(&self, address: MacAddr, key: &Key) -> Result<(), TableError> {
        self.change(|table| {
            for slot in &mut table.station_mut(address)?.receive {
                slot.take_if(|installed| installed.tk == *key);
            }
            Ok(())
        })
    }

    /// Removes a station and its keys. Returns whether the station existed.
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

/// Replaces a transmit key, unless `slot` holds the same key, of the station or access point `address`.
fn put_sealer(
    slot: &mut Option<Arc<Sealer>>,
    address: MacAddr,
    key_id: KeyId,
    key: TemporalKey,
    tk: Key,
) -> Result<(), TableError> {
    // Regardless of the identifier, because nonces do not contain it (12.5.3.3.4).
    let installed = slot.as_ref().filter(|old| old.tk == tk);
    if installed.is_some_and(|old| old.key.suite() != key.suite()) {
        return Err(TableError::Reused(address));
    }
    if installed.is_none() {
        let last = AtomicU64::new(0);
        *slot = Some(Arc::new(Sealer {
            key_id,
            key,
            last,
            tk,
        }));
    }
    Ok(())
}

/// Replaces a receive key, unless `slot` holds the same key. Frames up to and including `after` are old.
fn put_opener(
    slot: &mut Option<Arc<Opener>>,
    key: TemporalKey,
    tk: Key,
    installed: u64,
    after: PacketNumber,
) {
    let same = |old: &Arc<Opener>| old.tk == tk && old.key.suite() == key.suite();
    if !slot.as_ref().is_some_and(same) {
        let windows = std::array::from_fn(|_| Mutex::new(Window::new(after)));
        *slot = Some(Arc::new(Opener {
            key,
            windows,
            installed,
            tk,
        }));
    }
}

/// A thread's reference to the table.
pub struct View {
    published: Arc<Published>,
    version: u64,
    table: Arc<Table>,
}

impl View {
    /// A reference to the current table.
    pub fn new(published: Arc<Published>) -> Self {
        let version = published.version.load(Ordering::Acquire);
        let table = published.table();
        Self {
            published,
            version,
            table,
        }
    }

    /// Switches to the current table, if it has changed.
    pub fn refresh(&mut self) {
        let version = self.published.version.load(Ordering::Acquire);
        if version != self.version {
            self.version = version;
            self.table = self.published.table();
        }
    }

    /// The table at the last refresh.
    pub fn table(&self) -> &Table {
        &self.table
    }
}
