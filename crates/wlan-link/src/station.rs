//! One end of the emulated link: a host's IP packets become MPDUs here, and the peer's MPDUs packets again.

use std::io;

use wlan_air::phy::Mode;
use wlan_ciphers::{Ccmp, KeyId, OpenJob, Opened, PacketNumber, ReplayWindow, SealJob, Suite};
use wlan_frames::fcs::FCS_LEN;
use wlan_frames::{AckPolicy, DataHeader, EtherType, LlcSnap, MacAddr, QosControl, SequenceControl};

use crate::tun::Tun;

/// Octets of a frame buffer: the largest MSDU (IEEE 802.11-2020 9.2.4.8.1: 2304) with its header and security
/// fields, rounded up.
const BUFFER_B: usize = 2400;

/// All traffic is best effort.
const TID: u8 = 0;

/// The pairwise key, and the only one.
const KEY_ID: KeyId = KeyId::PAIRWISE;

/// Which end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The access point, whose address is also the BSSID.
    Ap,
    /// The station.
    Sta,
}

impl Role {
    /// A locally administered address.
    fn address(self) -> MacAddr {
        MacAddr([2, 0, 0, 0, 0, if self == Role::Ap { 1 } else { 2 }])
    }
}

/// An MPDU on its way: header, security header, LLC/SNAP, IP packet and MIC in a buffer of its own, no FCS.
pub struct Frame {
    buffer: Box<[u8]>,
    /// End of the MPDU in the buffer.
    len_b: usize,
    /// Given at the first transmission, kept for every later one.
    numbers: Option<Numbers>,
    state: State,
}

#[derive(Clone, Copy)]
struct Numbers {
    sequence: u16,
    pn: PacketNumber,
}

#[derive(PartialEq, Eq)]
enum State {
    Plain,
    Sealed,
    /// Opened by the receiver, with what it found.
    Opened(Opened),
    /// Its header or MIC was wrong at the receiver.
    Rejected,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            buffer: vec![0; BUFFER_B].into_boxed_slice(),
            len_b: 0,
            numbers: None,
            state: State::Plain,
        }
    }
}

impl Frame {
    /// Length on the air in octets, FCS included.
    pub fn mpdu_len_b(&self) -> usize {
        self.len_b + FCS_LEN
    }

    /// The MPDU without its FCS.
    pub fn mpdu(&self) -> &[u8] {
        &self.buffer[..self.len_b]
    }
}

/// What was found when a host's device was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A packet, now in the frame.
    Packet,
    /// A packet that is neither IPv4 nor IPv6.
    Unclassified,
    /// Nothing waits.
    Nothing,
}

/// Why a frame that arrived did not reach the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undelivered {
    /// Wrong header or MIC, or replayed.
    Rejected,
    /// The host's stack would not take it.
    Refused,
}

/// What protects the frames of one end.
struct Protection {
    ccmp: Ccmp,
    window: ReplayWindow,
}

/// One end of the link.
pub struct Station {
    tun: Tun,
    /// The header of every MPDU it sends, but for the numbers.
    header: DataHeader,
    next_sequence: u16,
    last_pn: PacketNumber,
    protection: Option<Protection>,
}

impl Station {
    /// An end that sends in `mode`, and seals with this temporal key where there is one.
    pub fn new(role: Role, tun: Tun, mode: &Mode, key: Option<&[u8; 16]>) -> Self {
        let (ap, sta) = (Role::Ap.address(), Role::Sta.address());
        let response = mode.sifs() + mode.ack_duration();
        let header = DataHeader {
            to_ds: role == Role::Sta,
            from_ds: role == Role::Ap,
            protected: key.is_some(),
            duration_us: u16::try_from(response.0.div_ceil(1000)).unwrap_or(u16::MAX >> 1),
            addr1: if role == Role::Sta { ap } else { sta },
            addr2: role.address(),
            // Destination or source behind the receiver or transmitter: the hosts themselves.
            addr3: ap,
            qos: mode.is_ht().then(|| QosControl::new(TID, AckPolicy::Normal)),
            ..DataHeader::default()
        };
        let protection = key.map(|key| Protection {
            ccmp: Ccmp::new(key),
            window: ReplayWindow::new(PacketNumber::ZERO),
        });
        Self {
            tun,
            header,
            next_sequence: 0,
            last_pn: PacketNumber::ZERO,
            protection,
        }
    }

    /// The host's device.
    pub fn tun(&self) -> &Tun {
        &self.tun
    }

    /// Octets of the security header, and of the MIC.
    fn security_len_b(&self) -> (usize, usize) {
        match self.protection {
            None => (0, 0),
            Some(_) => (Suite::Ccmp128.header_len(), Suite::Ccmp128.mic_len()),
        }
    }

    /// Reads one packet of the host into `frame`, with LLC/SNAP in front and room for what sealing adds.
    ///
    /// # Errors
    /// The device cannot be read.
    pub fn read(&self, frame: &mut Frame) -> io::Result<Arrival> {
        let (security_b, mic_b) = self.security_len_b();
        let llc_at = self.header.len() + security_b;
        let packet_at = llc_at + LlcSnap::LEN;
        let room = frame.buffer.len() - mic_b;
        let Some(packet_b) = self.tun.read(&mut frame.buffer[packet_at..room])? else {
            return Ok(Arrival::Nothing);
        };
        // The version is the first field of both headers (RFC 791 3.1, RFC 8200 3).
        let ethertype = match frame.buffer[packet_at] >> 4 {
            4 => EtherType::IPV4,
            6 => EtherType::IPV6,
            _ => return Ok(Arrival::Unclassified),
        };
        LlcSnap { ethertype }.emit(&mut frame.buffer[llc_at..]);
        frame.len_b = packet_at + packet_b + mic_b;
        frame.numbers = None;
        frame.state = State::Plain;
        Ok(Arrival::Packet)
    }

    /// Makes `frames` ready for the air: numbers and header, and the cipher over the batch. Frames that are sent
    /// again keep their numbers and get the Retry bit, which no cipher covers.
    pub fn seal(&mut self, frames: &mut [Frame]) {
        for frame in frames.iter_mut() {
            let retry = frame.numbers.is_some();
            let numbers = frame.numbers.unwrap_or_else(|| self.next_numbers());
            frame.numbers = Some(numbers);
            let sequence = SequenceControl {
                number: numbers.sequence,
                fragment: 0,
            };
            DataHeader {
                retry,
                sequence,
                ..self.header
            }
            .emit(&mut frame.buffer);
        }
        let Some(protection) = &self.protection else {
            return;
        };
        let header_len = self.header.len();
        let mut batch: Vec<SealJob<'_>> = Vec::with_capacity(frames.len());
        for frame in frames.iter_mut().filter(|frame| frame.state != State::Sealed) {
            let Some(Numbers { pn, .. }) = frame.numbers else {
                continue;
            };
            frame.state = State::Sealed;
            batch.push(SealJob {
                mpdu: &mut frame.buffer[..frame.len_b],
                header_len,
                pn,
                key_id: KEY_ID,
            });
        }
        protection
            .ccmp
            .seal(&mut batch)
            .expect("frames built here are whole data frames");
    }

    /// Numbers that no frame of this end had yet (packet numbers count on an open link too, where none are sent).
    fn next_numbers(&mut self) -> Numbers {
        let sequence = self.next_sequence;
        self.next_sequence = (sequence + 1) % SequenceControl::MODULUS;
        self.last_pn = self.last_pn.next().expect("no run lasts for 2^48 frames");
        Numbers {
            sequence,
            pn: self.last_pn,
        }
    }

    /// Opens the peer's sealed frames in place.
    pub fn open(&self, frames: &mut [Frame]) {
        let Some(protection) = &self.protection else {
            return;
        };
        let mut batch: Vec<OpenJob<'_>> = frames
            .iter_mut()
            .map(|frame| OpenJob::new(&mut frame.buffer[..frame.len_b], KEY_ID))
            .collect();
        protection.ccmp.open(&mut batch);
        let found: Vec<_> = batch.iter().map(|job| job.verdict().cloned()).collect();
        for (frame, verdict) in frames.iter_mut().zip(found) {
            frame.state = verdict.map_or(State::Rejected, State::Opened);
        }
    }

    /// Hands the packet of a frame that arrived to the host, unless it was replayed or could not be opened.
    ///
    /// # Errors
    /// Why it was not delivered.
    pub fn deliver(&mut self, frame: &Frame) -> Result<(), Undelivered> {
        if let Some(protection) = &mut self.protection {
            let State::Opened(opened) = &frame.state else {
                return Err(Undelivered::Rejected);
            };
            protection
                .window
                .accept(opened.priority, opened.pn)
                .map_err(|_| Undelivered::Rejected)?;
        }
        let (security_b, mic_b) = self.security_len_b();
        let llc_at = self.header.len() + security_b;
        let msdu = &frame.buffer[llc_at..frame.len_b - mic_b];
        LlcSnap::parse(msdu).map_err(|_| Undelivered::Rejected)?;
        self.tun
            .write(&msdu[LlcSnap::LEN..])
            .map_err(|_| Undelivered::Refused)
    }
}
