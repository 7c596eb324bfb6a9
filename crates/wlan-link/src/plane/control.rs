//! Operations of the control plane on the link.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;
use wlan_ciphers::{KeyId, PacketNumber, SealJob};
use wlan_frames::{EtherType, FrameType, LlcSnap, MacAddr, MacHeader};
use wlan_rsn::{GroupKey, Key, PairwiseKey};

use super::counters::Totals;
use super::endpoint::{Endpoint, Message, Outlet, Socket};
use super::shared::Shared;
use super::table::{Network, Sealer, Station, TableError};
use super::wire::{self, ETHERNET_PAYLOAD_MIN_B, End, Kind, MANAGEMENT_HEADER_B, Role};

/// Reason why a frame of the control plane was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The station is unknown or has no transmit key.
    #[error("station {0} has no key to protect the frame with")]
    NoKey(MacAddr),
    /// The packet numbers of the key are exhausted.
    #[error("station {0} requires a new key: its packet numbers are exhausted")]
    Exhausted(MacAddr),
    /// The frame is not a management frame, or its subtype is never protected.
    #[error("the frame is not a management frame, or cannot be protected")]
    NotManagement,
    /// The frame exceeds the maximum length of the transport.
    #[error("a frame of {0} octets is too long for the transport")]
    TooLong(usize),
    /// The socket refused the frame, for example because its interface is down.
    #[error("the transport did not accept the frame")]
    Unsent,
}

/// State of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StationState {
    /// Its address.
    #[serde(serialize_with = "as_text")]
    pub address: MacAddr,
    /// Destination of frames to the station.
    #[serde(skip)]
    pub endpoint: Endpoint,
    /// MPDUs sent to the station.
    pub sent: u64,
    /// MPDUs accepted from the station; constant while the station is silent.
    pub received: u64,
    /// Packet numbers used of the transmit key. The key must be replaced well before 2^48.
    pub packet_numbers_used: u64,
}

/// Serialises an address as text.
pub fn as_text<S: serde::Serializer>(address: &MacAddr, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(address)
}

/// A reference to a link for the control plane. Clones refer to the same link.
#[derive(Clone)]
pub struct Handle(Arc<Shared>);

impl Handle {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// Admits a peer without keys: a station or, if this end is a station, the access point. On an access point whose
    /// device carries IP packets, `networks` are the station's addresses. Readmitting a peer removes its keys; the
    /// same keys must not be installed again.
    ///
    /// # Errors
    /// [`TableError::NetworkTaken`], [`TableError::Group`].
    pub fn admit(
        &self,
        station: MacAddr,
        endpoint: Endpoint,
        networks: &[Network],
    ) -> Result<(), TableError> {
        self.0.published.admit(station, endpoint, networks)?;
        self.0.kick();
        Ok(())
    }

    /// Installs a temporal key of a station. A transmit key seals all frames from now on. A receive key opens frames
    /// from now on, in addition to the receive keys with other identifiers.
    ///
    /// To replace a key without packet loss, both ends install the new key for reception under the other identifier,
    /// then both install it for transmission, then they [`retire`](Self::retire) the old key. A key that is already
    /// installed is left unchanged, including its packet numbers.
    ///
    /// # Errors
    /// [`TableError::Unknown`], [`TableError::Suite`], [`TableError::Key`], [`TableError::Reused`].
    pub fn install(&self, station: MacAddr, key: PairwiseKey) -> Result<(), TableError> {
        if !self.0.suites.contains(&key.suite) {
            return Err(TableError::Suite(key.suite));
        }
        self.0.published.install(station, key)?;
        self.0.kick();
        Ok(())
    }

    /// Installs a group key. An access point, with its own address as `peer`, seals all group addressed frames with it
    /// from now on. A station opens group addressed frames of the access point `peer` with it, in addition to the group
    /// keys with other identifiers. A key that is already installed is left unchanged, including its packet numbers.
    ///
    /// # Errors
    /// [`TableError::Unknown`], [`TableError::Key`], [`TableError::Reused`].
    pub fn install_group(&self, peer: MacAddr, key: GroupKey) -> Result<(), TableError> {
        let published = &self.0.published;
        match self.0.end.role {
            Role::Ap => published.install_group_sealer(peer, key)?,
            Role::Sta => published.install_group_opener(peer, key)?,
        }
        self.0.kick();
        Ok(())
    }

    /// Erases a station's group key with this identifier.
    ///
    /// # Errors
    /// [`TableError::Unknown`].
    pub fn retire_group(&self, peer: MacAddr, key_id: KeyId) -> Result<(), TableError> {
        self.0.published.retire_group(peer, key_id)?;
        self.0.kick();
        Ok(())
    }

    /// Packet numbers used of an access point's group key.
    #[must_use]
    pub fn group_packet_numbers_used(&self) -> u64 {
        self.0.published.table().group().map_or(0, Sealer::used)
    }

    /// Erases a receive key.
    ///
    /// # Errors
    /// [`TableError::Unknown`].
    pub fn retire(&self, station: MacAddr, key: &Key) -> Result<(), TableError> {
        self.0.published.retire(station, key)?;
        self.0.kick();
        Ok(())
    }

    /// Removes a station and erases its keys. Returns `false` if the station was not admitted.
    #[must_use = "`false` if the station was not admitted, which may be an error of the caller"]
    pub fn remove(&self, station: MacAddr) -> bool {
        let was_there = self.0.published.remove(station);
        self.0.kick();
        was_there
    }

    /// Sends an EAPOL PDU to a peer that may not be admitted yet: unprotected to `endpoint`, or `protected` under the
    /// peer's key to its current endpoint.
    ///
    /// # Errors
    /// All variants of [`SendError`] except [`SendError::NotManagement`].
    pub fn send_eapol(
        &self,
        to: MacAddr,
        endpoint: Endpoint,
        protected: bool,
        pdu: &[u8],
    ) -> Result<(), SendError> {
        if let (Some(eapol), false) = (&self.0.eapol, protected) {
            return self.send(eapol, endpoint, pdu);
        }
        // An ordinary MSDU, also if the device carries Ethernet frames.
        let end = End {
            kind: Kind::Ip,
            ..self.0.end
        };
        let mut mpdu = end.header(to).to_vec();
        let llc = LlcSnap {
            ethertype: EtherType::EAPOL,
        };
        let mut body = vec![0; LlcSnap::LEN];
        llc.emit(&mut body);
        body.extend_from_slice(pdu);
        if protected {
            return self.send_sealed(to, mpdu, &body);
        }
        mpdu.extend_from_slice(&body);
        self.send(self.0.socket(), endpoint, &mpdu)
    }

    /// Sends a management frame (MAC header and body): unprotected to `endpoint`, or `protected` under the receiver's
    /// key. On Ethernet, which pads shorter frames, an element without meaning may be added.
    ///
    /// # Errors
    /// All variants of [`SendError`].
    pub fn send_management(
        &self,
        endpoint: Endpoint,
        protected: bool,
        frame: &[u8],
    ) -> Result<(), SendError> {
        let header = MacHeader::parse(frame).map_err(|_| SendError::NotManagement)?;
        let (control, receiver) = (header.frame_control(), header.receiver());
        if control.frame_type() != FrameType::Management || control.header_len() != Some(MANAGEMENT_HEADER_B)
        {
            return Err(SendError::NotManagement);
        }
        let mut frame = frame.to_vec();
        if self.0.eapol.is_some() {
            wire::fill(&mut frame, ETHERNET_PAYLOAD_MIN_B);
        }
        if !protected {
            return self.send(self.0.socket(), endpoint, &frame);
        }
        let body = frame.split_off(MANAGEMENT_HEADER_B);
        self.send_sealed(receiver, frame, &body)
    }

    fn send(&self, socket: &Socket, endpoint: Endpoint, octets: &[u8]) -> Result<(), SendError> {
        if octets.len() > self.0.mpdu_b {
            return Err(SendError::TooLong(octets.len()));
        }
        let message = Message {
            to: endpoint,
            at: 0,
            len_b: octets.len(),
            segment_b: octets.len(),
        };
        match socket.send(octets, &[message]) {
            0 => Ok(()),
            _ => Err(SendError::Unsent),
        }
    }

    /// Seals a frame for a station and sends it to the station's current endpoint.
    fn send_sealed(&self, to: MacAddr, header: Vec<u8>, body: &[u8]) -> Result<(), SendError> {
        let table = self.0.published.table();
        let station: Option<&Station> = table.station(to).map(|station| &table.stations()[station]);
        let sealed = station.and_then(|station| Some((station, station.transmit.as_ref()?)));
        let (station, sealer): (_, &Arc<Sealer>) = sealed.ok_or(SendError::NoKey(to))?;
        let pn: PacketNumber = sealer.take(1).ok_or(SendError::Exhausted(to))?;
        let (header_len, suite) = (header.len(), sealer.key.suite());
        let mut mpdu = header;
        mpdu.resize(header_len + suite.header_len(), 0);
        mpdu.extend_from_slice(body);
        mpdu.resize(mpdu.len() + suite.mic_len(), 0);
        let job = SealJob {
            mpdu: &mut mpdu,
            header_len,
            pn,
            key_id: sealer.key_id,
        };
        sealer
            .key
            .seal(&mut [job])
            .map_err(|_| SendError::NotManagement)?;
        station.count_sent(1);
        self.send(self.0.socket(), station.endpoint(), &mpdu)
    }

    /// Snapshot of all counters.
    #[must_use]
    pub fn counters(&self) -> Totals {
        self.counters_of_workers().into_iter().sum()
    }

    /// Snapshot of the counters of each worker.
    #[must_use]
    pub fn counters_of_workers(&self) -> Vec<Totals> {
        let workers = self.0.workers.iter();
        workers.map(|worker| worker.counters.read()).collect()
    }

    /// All stations in the order of admission.
    #[must_use]
    pub fn stations(&self) -> Vec<StationState> {
        let state = |station: &Station| StationState {
            address: station.address,
            endpoint: station.endpoint(),
            sent: station.traffic.sent.load(Ordering::Relaxed),
            received: station.traffic.received.load(Ordering::Relaxed),
            packet_numbers_used: station.transmit.as_ref().map_or(0, |sealer| sealer.used()),
        };
        self.0.published.table().stations().iter().map(state).collect()
    }

    /// Tells the link's threads to end.
    pub fn end(&self) {
        self.0.end();
    }
}
