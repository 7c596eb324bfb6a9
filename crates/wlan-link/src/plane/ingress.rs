//! Inbound frames: checked, opened as a batch, checked for replays, and delivered or forwarded to another station.

use arrayvec::ArrayVec;
use wlan_ciphers::{KeyId, OpenError, OpenJob, Opened, PacketNumber, Priority};
use wlan_frames::{LlcSnap, MacAddr};

use super::counters::{Counters, Inbound};
use super::deliver::Up;
use super::device::Device;
use super::egress::Egress;
use super::endpoint::{Endpoint, Outlet};
use super::source::{Destination, Parcel, destination};
use super::table::{IpAddress, Table};
use super::waiting::{ControlBody, ControlFrame, Waiting};
use super::wire::{self, Body, Class, End, HEADER_B, Kind, MANAGEMENT_HEADER_B, Refusal, Role, Tid};

/// Maximum number of frames per batch.
pub const BATCH: usize = 64;

/// The claimed station, key and TID of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Claim {
    station: usize,
    is_group: bool,
    key_id: KeyId,
    tid: Tid,
}

/// The context that all inbound frames share.
pub struct Ingress<'d, O, D> {
    /// This end.
    pub end: End,
    /// Device that receives packets for this host.
    pub device: &'d D,
    /// Outlet of packets for other stations.
    pub outlet: &'d O,
    /// Counters of all frames.
    pub counters: &'d Counters,
    /// The control plane.
    pub control: &'d Waiting,
    /// Maximum length of the link's MPDUs in octets.
    pub mpdu_b: usize,
}

/// A frame with its source and its claimed packet number.
struct Claimed<'f> {
    from: Endpoint,
    pn: PacketNumber,
    mpdu: &'f mut [u8],
}

/// An authentic frame that is no replay.
struct Taken<'f> {
    from: Endpoint,
    mpdu: &'f mut [u8],
    opened: Opened,
}

/// Frames with the same claim, which are opened together.
struct Batch<'f> {
    claim: Option<Claim>,
    frames: ArrayVec<Claimed<'f>, BATCH>,
    route: Option<Route<'f>>,
}

/// The route of a station's packets with these addresses. The next packet usually has the same.
#[derive(Clone, Copy)]
struct Route<'f> {
    station: usize,
    addresses: &'f [u8],
    /// `None` if the source address is another host's.
    to: Option<Destination>,
}

impl<O: Outlet, D: Device> Ingress<'_, O, D> {
    /// Processes frames that were received together: delivers or forwards their payloads.
    pub fn receive<'f>(
        &self,
        table: &Table,
        relay: &mut Egress,
        frames: impl Iterator<Item = (Endpoint, &'f mut [u8])>,
    ) {
        let counters = &self.counters.inbound;
        let mut up = Up::new(self.device, counters);
        let mut batch = Batch {
            claim: None,
            frames: ArrayVec::new(),
            route: None,
        };
        let mut count = 0;
        for (from, mpdu) in frames {
            count += 1;
            let Some((claim, pn)) = self.look(table, batch.claim, from, mpdu) else {
                continue;
            };
            if batch.claim != Some(claim) || batch.frames.is_full() {
                self.open(table, &mut batch, &mut up, relay);
                batch.claim = Some(claim);
            }
            batch.frames.push(Claimed { from, pn, mpdu });
        }
        self.open(table, &mut batch, &mut up, relay);
        up.finish();
        counters.frames.add(count);
        if !relay.is_empty() {
            relay.flush(table, self.outlet, &self.counters.relayed);
        }
    }

    /// Checks a frame before decryption, cheapest checks first, so that garbage costs no cryptography. Returns its claim
    /// and its claimed packet number.
    fn look(
        &self,
        table: &Table,
        previous: Option<Claim>,
        from: Endpoint,
        mpdu: &[u8],
    ) -> Option<(Claim, PacketNumber)> {
        let counters = &self.counters.inbound;
        let class = match self.end.classify(mpdu) {
            Ok(class) => class,
            Err(refusal) => {
                refuse(counters, refusal);
                return None;
            }
        };
        let (transmitter, is_group) = match class {
            Class::Sealed {
                transmitter,
                is_group,
            } => (transmitter, is_group),
            // The control plane queues copies. Over UDP, a forged datagram can be longer than every frame of an end.
            Class::OpenEapol { .. } | Class::OpenManagement { .. } if mpdu.len() > self.mpdu_b => {
                counters.too_long.add(1);
                return None;
            }
            Class::OpenEapol { transmitter } => {
                let pdu = &mpdu[HEADER_B + LlcSnap::LEN..];
                self.control(transmitter, from, false, || ControlBody::Eapol(pdu.to_vec()));
                return None;
            }
            Class::OpenManagement { transmitter } => {
                self.control(transmitter, from, false, || {
                    ControlBody::Management(mpdu.to_vec())
                });
                return None;
            }
        };
        // Before the transmitter: an unknown transmitter gets an answer, which must not be longer than the frame.
        let (pn, key_id) = match wire::claim(mpdu) {
            Ok(claim) => claim,
            Err(refusal) => {
                refuse(counters, refusal);
                return None;
            }
        };
        // The previous frame is usually from the same station.
        let again = previous
            .map(|claim| claim.station)
            .filter(|&station| table.stations()[station].address == transmitter);
        let Some(station) = again.or_else(|| table.station(transmitter)) else {
            counters.unknown_transmitter.add(1);
            if self.end.role == Role::Ap {
                self.control.note(transmitter, from);
            }
            return None;
        };
        let claim = Claim {
            station,
            is_group,
            key_id,
            tid: Tid::of(mpdu),
        };
        if table.stations()[station].opener(is_group, key_id).is_none() {
            counters.no_key.add(1);
            return None;
        }
        Some((claim, pn))
    }

    /// Opens frames of one station and key, drops replays and delivers the payloads.
    fn open<'f>(&self, table: &Table, batch: &mut Batch<'f>, up: &mut Up<'_, 'f, D>, relay: &mut Egress) {
        let Some(claim) = batch.claim else {
            return;
        };
        let counters = &self.counters.inbound;
        let station = &table.stations()[claim.station];
        let opener = station
            .opener(claim.is_group, claim.key_id)
            .expect("the claim was checked against this table");
        // The window is locked twice per batch, neither during cryptography nor during system calls.
        let mut from: ArrayVec<Endpoint, BATCH> = ArrayVec::new();
        let mut jobs: ArrayVec<OpenJob<'f>, BATCH> = ArrayVec::new();
        {
            let window = opener.window(claim.tid);
            for frame in batch.frames.drain(..) {
                if window.is_new(frame.pn) {
                    from.push(frame.from);
                    jobs.push(OpenJob::new(frame.mpdu, claim.key_id));
                } else {
                    counters.replayed.add(1);
                }
            }
        }
        counters.crypto_ns.time(|| opener.key.open(&mut jobs));
        let mut taken: ArrayVec<Taken<'f>, BATCH> = ArrayVec::new();
        {
            let mut window = opener.window(claim.tid);
            for (job, from) in jobs.into_iter().zip(from) {
                match job.verdict().cloned() {
                    Ok(opened) if window.accept(opened.pn) => taken.push(Taken {
                        from,
                        mpdu: job.mpdu,
                        opened,
                    }),
                    Ok(_) => counters.replayed.add(1),
                    Err(OpenError::Mic) => counters.forged.add(1),
                    Err(OpenError::Short) => counters.truncated.add(1),
                    Err(_) => counters.bad_header.add(1),
                }
            }
        }
        let Some(newest) = taken.iter().max_by_key(|frame| frame.opened.pn) else {
            return;
        };
        // Every station has the group key and can send in the access point's name (IEEE Std 802.11-2020 12.2.6). Such a
        // frame neither moves the access point's endpoint nor shows that the access point is present.
        if !claim.is_group {
            station.heard_from(newest.from, opener, newest.opened.pn);
            station.count_received(taken.len());
        }
        counters.opened.add(taken.len());
        counters
            .opened_octets
            .add(taken.iter().map(|frame| frame.mpdu.len()).sum());
        for frame in taken {
            if claim.is_group {
                self.deliver_group(frame, up);
            } else {
                self.deliver(table, claim.station, frame, &mut batch.route, up, relay);
            }
        }
    }

    /// Delivers the payload of an authentic group addressed frame. A packet to an individual address is dropped: only
    /// another station that forges frames would send it to the group.
    fn deliver_group<'f>(&self, frame: Taken<'f>, up: &mut Up<'_, 'f, D>) {
        let Taken { mpdu, opened, .. } = frame;
        let is_checked = wire::is_checked(mpdu);
        match self.end.group_body(mpdu, opened.payload) {
            Ok((ethernet_b, octets)) if is_to_group(ethernet_b, octets) => {
                up.push(ethernet_b, octets, is_checked);
            }
            Ok(_) => refuse(&self.counters.inbound, Refusal::Body),
            Err(refusal) => refuse(&self.counters.inbound, refusal),
        }
    }

    /// Delivers or forwards the payload of an authentic frame.
    fn deliver<'f>(
        &self,
        table: &Table,
        station: usize,
        frame: Taken<'f>,
        route: &mut Option<Route<'f>>,
        up: &mut Up<'_, 'f, D>,
        relay: &mut Egress,
    ) {
        let Taken {
            from: endpoint,
            mpdu,
            opened,
        } = frame;
        let counters = &self.counters.inbound;
        let transmitter = table.stations()[station].address;
        if opened.priority == Priority::Management {
            let plain = [&mpdu[..MANAGEMENT_HEADER_B], &mpdu[opened.payload.clone()]];
            return self.control(transmitter, endpoint, true, || {
                ControlBody::Management(plain.concat())
            });
        }
        let (is_amsdu, is_checked) = (wire::is_amsdu(mpdu), wire::is_checked(mpdu));
        let (ethernet_b, octets) = match self.end.body(is_amsdu, &mut mpdu[opened.payload]) {
            Ok(Body::Packet { ethernet_b, octets }) => (ethernet_b, octets),
            Ok(Body::Eapol(pdu)) => {
                return self.control(transmitter, endpoint, true, || ControlBody::Eapol(pdu.to_vec()));
            }
            Err(refusal) => return refuse(counters, refusal),
        };
        let octets = &*octets;
        let End { role, kind, .. } = self.end;
        if role == Role::Sta {
            return up.push(ethernet_b, octets, is_checked);
        }
        let Some(to) = self.route(table, station, octets, route) else {
            return counters.spoofed.add(1);
        };
        match to {
            Destination::Here => return up.push(ethernet_b, octets, is_checked),
            Destination::Nowhere => return counters.unroutable.add(1),
            // The sender is also the destination.
            Destination::Station(to) if to == station => return counters.unroutable.add(1),
            Destination::Station(_) | Destination::All => {}
        }
        let Ok(parcel) = Parcel::whole(kind, octets, is_checked) else {
            return refuse(counters, Refusal::Body);
        };
        counters.forwarded.add(1);
        let relayed = &self.counters.relayed;
        if let Destination::Station(to) = to {
            parcel.push(to, table, relay, self.outlet, relayed);
        } else {
            parcel.push_to_all(transmitter, table, relay, self.outlet, relayed);
            up.push(ethernet_b, octets, is_checked);
        }
    }

    /// The destination of a station's packet; `None` if its source address is another host's. Remembers the route.
    fn route<'f>(
        &self,
        table: &Table,
        station: usize,
        octets: &'f [u8],
        route: &mut Option<Route<'f>>,
    ) -> Option<Destination> {
        let End { role, kind, .. } = self.end;
        let addresses = addresses(kind, octets)?;
        if let Some(known) = route
            && known.station == station
            && known.addresses == addresses
        {
            return known.to;
        }
        let to = is_own(table, station, kind, octets).then(|| destination(role, kind, table, octets));
        *route = Some(Route {
            station,
            addresses,
            to,
        });
        to
    }

    /// Queues a frame for the control plane. Calls `body` only if the queue has space.
    pub fn control(
        &self,
        transmitter: MacAddr,
        endpoint: Endpoint,
        protected: bool,
        body: impl FnOnce() -> ControlBody,
    ) {
        let counters = &self.counters.inbound;
        let frame = || ControlFrame {
            transmitter,
            endpoint,
            protected,
            body: body(),
        };
        match self.control.put(protected, frame) {
            true => counters.control.add(1),
            false => counters.control_dropped.add(1),
        }
    }
}

/// The source and destination addresses of an IP packet or an Ethernet frame. Their length shows the version of IP.
fn addresses(kind: Kind, octets: &[u8]) -> Option<&[u8]> {
    match (kind, octets.first()? >> 4) {
        (Kind::Ethernet, _) => octets.get(..12),
        (Kind::Ip, 4) => octets.get(12..20),
        (Kind::Ip, _) => octets.get(8..40),
    }
}

/// Whether the source address of a packet belongs to the station that sent it.
fn is_own(table: &Table, station: usize, kind: Kind, octets: &[u8]) -> bool {
    match kind {
        Kind::Ip => IpAddress::source(octets).and_then(|address| table.route(address)) == Some(station),
        Kind::Ethernet => octets.get(6..12) == Some(&table.stations()[station].address.0),
    }
}

/// Whether the destination of an IP packet is a group. An Ethernet frame has the group address of its MAC header.
fn is_to_group(ethernet_b: usize, octets: &[u8]) -> bool {
    ethernet_b > 0 || IpAddress::destination(octets).is_some_and(IpAddress::is_group)
}

fn refuse(counters: &Inbound, refusal: Refusal) {
    match refusal {
        Refusal::Truncated => &counters.truncated,
        Refusal::Header => &counters.bad_header,
        Refusal::NotForUs => &counters.not_for_us,
        Refusal::Echo => &counters.echoed,
        Refusal::Unprotected => &counters.unprotected,
        Refusal::Body => &counters.bad_body,
    }
    .add(1);
}
