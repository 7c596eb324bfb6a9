//! Packets and super-packets from the host's device, converted to frame bodies.

use std::io;

use wlan_frames::{EtherType, MacAddr};
use wlan_host::offload::segment::{SuperPacket, complete_checksum, is_of_transport};
use wlan_host::offload::{PartialChecksum, VnetHeader};

use super::counters::Outbound;
use super::device::Device;
use super::egress::{Egress, Receiver, Shape, Unsendable};
use super::endpoint::Outlet;
use super::table::{IpAddress, Table};
use super::wire::{self, ETHERNET_B, End, Kind, Role};

/// Maximum octets per read: a virtio-net header, an Ethernet header and a super-packet (`GSO_LEGACY_MAX_SIZE` of Linux).
const PACKET_B: usize = VnetHeader::LEN + ETHERNET_B + 65_536;

/// The destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// One station.
    Station(usize),
    /// All stations.
    All,
    /// This host.
    Here,
    /// Unknown.
    Nowhere,
}

/// Finds the destination of an IP packet or Ethernet frame from this host or, on an access point, from a station. A
/// station sends multicast and broadcast packets to the access point, which sends them to all stations.
pub fn destination(role: Role, kind: Kind, table: &Table, octets: &[u8]) -> Destination {
    if role == Role::Sta {
        // The access point is the only peer of a station.
        return match table.stations().len() {
            0 => Destination::Nowhere,
            _ => Destination::Station(0),
        };
    }
    let found = match kind {
        Kind::Ip => match IpAddress::destination(octets) {
            None => return Destination::Nowhere,
            Some(address) if address.is_group() => return Destination::All,
            Some(address) => table.route(address),
        },
        Kind::Ethernet => match octets.first_chunk().copied().map(MacAddr) {
            None => return Destination::Nowhere,
            Some(address) if address.is_group() => return Destination::All,
            Some(address) => table.station(address),
        },
    };
    found.map_or(Destination::Here, Destination::Station)
}

/// A packet or super-packet to send as one or more frames.
pub struct Parcel<'a> {
    /// The Ethernet header, if the device carries Ethernet frames.
    ethernet: Option<&'a [u8; ETHERNET_B]>,
    /// The IP packet, or the payload of the Ethernet frame.
    payload: &'a [u8],
    ethertype: EtherType,
    split: Option<SuperPacket<'a>>,
    /// Whether the transport checksum is known to be valid.
    is_checked: bool,
}

/// Reason why data from the device is not a packet of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoParcel {
    /// Neither IPv4 nor IPv6, or shorter than an Ethernet header.
    Unclassified,
    /// A super-packet that cannot be split, or a checksum that cannot be completed.
    Unsplittable,
}

impl<'a> Parcel<'a> {
    /// A packet or super-packet as read from the device. Completes a partial checksum unless the packet will be split.
    ///
    /// # Errors
    /// All variants of [`NoParcel`].
    pub fn new(kind: Kind, vnet: VnetHeader, octets: &'a mut [u8]) -> Result<Self, NoParcel> {
        if let (Some(partial), None) = (vnet.partial, vnet.gso) {
            complete_checksum(octets, partial).map_err(|_| NoParcel::Unsplittable)?;
        }
        let mut parcel = Self::whole(kind, octets, false)?;
        let before_b = if parcel.ethernet.is_some() { ETHERNET_B } else { 0 };
        if vnet.gso.is_some() {
            let vnet = shifted(vnet, |at| at.checked_sub(before_b)).ok_or(NoParcel::Unsplittable)?;
            let split = SuperPacket::new(&vnet, parcel.payload).map_err(|_| NoParcel::Unsplittable)?;
            parcel.split = Some(split);
            parcel.is_checked = true;
        } else if let Some(partial) =
            shifted(vnet, |at| at.checked_sub(before_b)).and_then(|vnet| vnet.partial)
        {
            parcel.is_checked = is_of_transport(parcel.payload, partial);
        }
        Ok(parcel)
    }

    /// A complete packet. The transport checksum of a packet that `is_checked` is known to be valid.
    ///
    /// # Errors
    /// [`NoParcel::Unclassified`].
    pub fn whole(kind: Kind, octets: &'a [u8], is_checked: bool) -> Result<Self, NoParcel> {
        if kind == Kind::Ethernet {
            let (ethernet, payload) = octets.split_first_chunk().ok_or(NoParcel::Unclassified)?;
            if wire::is_llc(ethernet) {
                return Err(NoParcel::Unclassified);
            }
            let ethertype = EtherType(u16::from_be_bytes([ethernet[12], ethernet[13]]));
            return Ok(Self {
                ethernet: Some(ethernet),
                payload,
                ethertype,
                split: None,
                is_checked,
            });
        }
        // The version is the first field of both headers (RFC 791 3.1, RFC 8200 3).
        let ethertype = match octets.first().map(|octet| octet >> 4) {
            Some(4) => EtherType::IPV4,
            Some(6) => EtherType::IPV6,
            _ => return Err(NoParcel::Unclassified),
        };
        Ok(Self {
            ethernet: None,
            payload: octets,
            ethertype,
            split: None,
            is_checked,
        })
    }

    /// Adds the packet's frames for one station to `egress`.
    pub fn push(
        &self,
        station: usize,
        table: &Table,
        egress: &mut Egress,
        outlet: &impl Outlet,
        counters: &Outbound,
    ) {
        let to = Receiver::Station(station);
        self.push_to(to, self.ethernet, table, egress, outlet, counters);
    }

    /// Adds the packet's frames for all stations to `egress`. `source` is the station or access point that sends an IP
    /// packet; an Ethernet frame has its own source address.
    pub fn push_to_all(
        &self,
        source: MacAddr,
        table: &Table,
        egress: &mut Egress,
        outlet: &impl Outlet,
        counters: &Outbound,
    ) {
        if !table.is_connected() {
            return counters.unroutable.add(1);
        }
        let (address, source) = match self.ethernet {
            Some(&[a, b, c, d, e, f, source @ .., _, _]) => (MacAddr([a, b, c, d, e, f]), MacAddr(source)),
            None => (MacAddr::BROADCAST, source),
        };
        // Ethernet would pad the frame with the shorter MIC, which would then fail.
        if wire::llc_b(self.ethertype) == 0 && self.payload.len() < wire::GROUP_PAYLOAD_MIN_B {
            return counters.unclassified.add(1);
        }
        // The MAC header has the addresses of an Ethernet frame.
        let to = Receiver::Group { address, source };
        self.push_to(to, None, table, egress, outlet, counters);
    }

    /// Adds the packet's frames to `egress`, with this Ethernet header in their bodies.
    fn push_to(
        &self,
        to: Receiver,
        ethernet: Option<&[u8; ETHERNET_B]>,
        table: &Table,
        egress: &mut Egress,
        outlet: &impl Outlet,
        counters: &Outbound,
    ) {
        let encapsulation_b = match ethernet {
            Some(ethernet) => wire::encapsulation_b(ethernet),
            None => wire::llc_b(self.ethertype),
        };
        let (count, longest_b) = match &self.split {
            Some(split) => (split.packets(), split.longest_b()),
            None => (1, self.payload.len()),
        };
        let fill = |index: usize, body: &mut [u8]| {
            let (before, payload) = body.split_at_mut(encapsulation_b);
            let payload_b = match &self.split {
                Some(split) => split.write(index, payload),
                None => {
                    payload[..self.payload.len()].copy_from_slice(self.payload);
                    self.payload.len()
                }
            };
            match ethernet {
                Some(ethernet) => wire::put_ethernet(before, ethernet, payload_b),
                None => wire::put_llc(before, self.ethertype),
            }
            encapsulation_b + payload_b
        };
        let shape = Shape {
            count,
            longest_b: encapsulation_b + longest_b,
            is_checked: self.is_checked,
        };
        match egress.push(table, to, shape, fill, outlet, counters) {
            Ok(()) => {}
            Err(Unsendable::NoKey) => counters.no_key.add(1),
            Err(Unsendable::TooLong) => counters.too_long.add(1),
        }
    }
}

/// Converts a virtio-net header to a different start of the packet. `shift` maps old offsets to new ones.
pub fn shifted(vnet: VnetHeader, shift: impl Fn(usize) -> Option<usize>) -> Option<VnetHeader> {
    let short = |at: u16| shift(at.into()).and_then(|at| u16::try_from(at).ok());
    let partial = match vnet.partial {
        Some(partial) => Some(PartialChecksum {
            start: short(partial.start)?,
            ..partial
        }),
        None => None,
    };
    // The header length is only a hint and may be 0.
    let header_len_b = short(vnet.header_len_b).unwrap_or(0);
    Some(VnetHeader {
        partial,
        header_len_b,
        ..vnet
    })
}

/// The reader of the device.
pub struct Source {
    octets: Box<[u8]>,
}

impl Default for Source {
    fn default() -> Self {
        Self {
            octets: vec![0; PACKET_B].into_boxed_slice(),
        }
    }
}

impl Source {
    /// Reads one packet from the host and adds its frames to `egress`. Returns `false` if no packet is queued.
    ///
    /// # Errors
    /// The device cannot be read.
    pub fn read(
        &mut self,
        device: &impl Device,
        table: &Table,
        egress: &mut Egress,
        outlet: &impl Outlet,
        counters: &Outbound,
    ) -> io::Result<bool> {
        let Some((vnet, octets)) = device.read(&mut self.octets)? else {
            return Ok(false);
        };
        counters.read.add(1);
        let End { role, kind, address } = egress.end();
        let destination = destination(role, kind, table, octets);
        let parcel = VnetHeader::parse(vnet)
            .ok_or(NoParcel::Unsplittable)
            .and_then(|vnet| Parcel::new(kind, vnet, octets));
        match (parcel, destination) {
            (Err(NoParcel::Unclassified), _) => counters.unclassified.add(1),
            (Err(NoParcel::Unsplittable), _) => counters.unsplittable.add(1),
            (Ok(parcel), Destination::Station(to)) => parcel.push(to, table, egress, outlet, counters),
            (Ok(parcel), Destination::All) => parcel.push_to_all(address, table, egress, outlet, counters),
            (Ok(_), Destination::Here | Destination::Nowhere) => counters.unroutable.add(1),
        }
        Ok(true)
    }
}
