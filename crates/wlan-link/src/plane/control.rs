//! What the control plane says to the link.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;
use wlan_ciphers::{KeyId, PacketNumber, SealJob, Suite};
use wlan_frames::{EtherType, FrameControl, LlcSnap, MacAddr};

use super::counters::Totals;
use super::endpoint::{Endpoint, Message, Outlet, Socket};
use super::shared::Shared;
use super::table::{Direction, Network, Sealer, Station, TableError};
use super::wire::{self, ETHERNET_PAYLOAD_MIN_B, End, Kind, MANAGEMENT_HEADER_B};

/// Why a frame of the control plane was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// There is no such station, or it has no key to seal with.
    #[error("station {0} has no key to protect the frame with")]
    NoKey(MacAddr),
    /// All packet numbers of the key are used.
    #[error("station {0} needs a new key: its packet numbers are used up")]
    Exhausted(MacAddr),
    /// It is no management frame, or of a kind that is never protected.
    #[error("the frame is not a management frame that can be sent so")]
    NotManagement,
    /// It does not fit the transport.
    #[error("a frame of {0} octets does not fit the transport")]
    TooLong(usize),
    /// The socket did not take it: its interface is down.
    #[error("the transport did not take the frame")]
    Unsent,
}

/// What is known of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StationState {
    /// Its address.
    #[serde(serialize_with = "as_text")]
    pub address: MacAddr,
    /// Where frames to it go.
    #[serde(skip)]
    pub endpoint: Endpoint,
    /// MPDUs to it.
    pub sent: u64,
    /// MPDUs of it that were accepted: while this stands still, it is silent.
    pub received: u64,
    /// Packet numbers used of the key to it: a new one is needed well before 2^48.
    pub packet_numbers_used: u64,
}

fn as_text<S: serde::Serializer>(address: &MacAddr, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(address)
}

/// A hold on a link, for the control plane; any number of them.
#[derive(Clone)]
pub struct Handle(Arc<Shared>);

impl Handle {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// Admits a station, or the access point where this end is a station; it has no keys yet. On an access point whose
    /// device carries IP packets, `networks` are the station's addresses. One that was admitted before loses its keys:
    /// whoever installs them again must not use the same.
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

    /// Installs a temporal key of a station: to transmit, all frames from now on are sealed under it; to receive, frames
    /// under it are opened from now on, beside those under other identifiers. So a key is changed without a lost packet:
    /// both ends install the new one to receive, under the other identifier, then both to transmit, then
    /// [`retire`](Self::retire) the old one. A key that is installed already stays as it is, packet numbers and all.
    ///
    /// # Errors
    /// [`TableError::Unknown`], [`TableError::Key`], [`TableError::Reused`].
    pub fn install(
        &self,
        station: MacAddr,
        direction: Direction,
        key_id: KeyId,
        suite: Suite,
        key: &[u8],
    ) -> Result<(), TableError> {
        if !self.0.suites.contains(&suite) {
            return Err(TableError::Suite(suite));
        }
        self.0.published.install(station, direction, key_id, suite, key)?;
        self.0.kick();
        Ok(())
    }

    /// Wipes the receiving key of this identifier.
    ///
    /// # Errors
    /// [`TableError::Unknown`].
    pub fn retire(&self, station: MacAddr, key_id: KeyId) -> Result<(), TableError> {
        self.0.published.retire(station, key_id)?;
        self.0.kick();
        Ok(())
    }

    /// Forgets a station and wipes its keys; `false` if it was not admitted.
    #[must_use = "a station that was not there may be another's mistake"]
    pub fn remove(&self, station: MacAddr) -> bool {
        let was_there = self.0.published.remove(station);
        self.0.kick();
        was_there
    }

    /// Sends an EAPOL PDU to an end that may not be admitted yet: in the open to `endpoint`, or `protected` under the
    /// station's key to where it is.
    ///
    /// # Errors
    /// Each kind of [`SendError`] but [`SendError::NotManagement`].
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
        // As an ordinary MSDU where the device carries Ethernet frames too.
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
        self.send(&self.0.socket, endpoint, &mpdu)
    }

    /// Sends a management frame, MAC header and body: in the open, or `protected` under the key of the station that it is
    /// for. On Ethernet, which pads what is shorter, an element that says nothing may be added.
    ///
    /// # Errors
    /// Each kind of [`SendError`].
    pub fn send_management(
        &self,
        endpoint: Endpoint,
        protected: bool,
        frame: &[u8],
    ) -> Result<(), SendError> {
        let is_management = frame.len() >= MANAGEMENT_HEADER_B
            && FrameControl::parse(frame).is_ok_and(|control| {
                control.frame_type() == wlan_frames::FrameType::Management
                    && control.header_len() == Some(MANAGEMENT_HEADER_B)
            });
        if !is_management {
            return Err(SendError::NotManagement);
        }
        let mut frame = frame.to_vec();
        if self.0.eapol.is_some() {
            wire::fill(&mut frame, ETHERNET_PAYLOAD_MIN_B);
        }
        if !protected {
            return self.send(&self.0.socket, endpoint, &frame);
        }
        let to = MacAddr(frame[4..10].try_into().expect("six octets"));
        let body = frame.split_off(MANAGEMENT_HEADER_B);
        self.send_sealed(to, frame, &body)
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

    /// Seals a frame of this header and body for a station and sends it where the station is.
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
        self.send(&self.0.socket, station.endpoint(), &mpdu)
    }

    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> Totals {
        self.0.counters.read()
    }

    /// All stations, in the order in which they were admitted.
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

    /// Has the link end soon.
    pub fn end(&self) {
        self.0.end();
    }
}
