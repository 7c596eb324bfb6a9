//! One end of an association: builds and seals the MPDUs of its host's packets, and opens and checks the peer's MPDUs.
//!
//! A station has one end; the access point has one end per station, because keys, packet numbers and replay windows are
//! pairwise.

use arrayvec::ArrayVec;
use wlan_ciphers::{OpenJob, SealJob};
use wlan_frames::{AckPolicy, DataHeader, LlcSnap, QosControl, Role, SequenceControl};

use super::frame::{Around, Frame, Numbers, State};
use super::protection::{KEY_ID, Protection};
use super::reassembly::Reassembly;
use crate::roster::{AP, mac};
#[cfg(test)]
pub(super) mod tests;

/// Number of frames sealed or opened together, which is the largest number in an A-MPDU (IEEE 802.11-2020 9.3.1.8.2).
const BATCH: usize = 64;

/// One end of an association.
pub struct End {
    /// The header fields that all sent MPDUs share: all except the numbers and Address 3.
    header: DataHeader,
    next_sequence: u16,
    pub(super) protection: Option<Protection>,
    /// The state of the MSDU that the peer is sending in fragments.
    pub(super) reassembly: Reassembly,
}

impl End {
    /// Creates one end of the association of host `station`. It sends QoS data frames with this TID, or non-QoS data
    /// frames. `protection` is `None` on an open link. `next_sequence` is the first sequence number.
    pub fn new(
        role: Role,
        station: usize,
        tid: Option<u8>,
        protection: Option<Protection>,
        next_sequence: u16,
    ) -> Self {
        let (receiver, transmitter) = match role {
            Role::Ap => (station, AP),
            Role::Sta => (AP, station),
        };
        let header = DataHeader {
            to_ds: role == Role::Sta,
            from_ds: role == Role::Ap,
            protected: protection.is_some(),
            addr1: mac(receiver),
            addr2: mac(transmitter),
            qos: tid.map(|tid| QosControl::new(tid, AckPolicy::Normal)),
            ..DataHeader::default()
        };
        Self {
            header,
            next_sequence,
            protection,
            reassembly: Reassembly::default(),
        }
    }

    /// Octets of an MPDU around the IP packet.
    pub fn around(&self) -> Around {
        let suite = self.protection.as_ref().map(Protection::suite);
        let (security_b, mic_b) = suite.map_or((0, 0), |suite| (suite.header_len(), suite.mic_len()));
        Around {
            packet_at: self.header.len() + security_b + LlcSnap::LEN,
            mic_b,
        }
    }

    /// Prepares `frames` for transmission: numbers, header and sealing of the batch. Retransmitted frames keep their
    /// numbers and have the Retry bit set. The ciphers protect neither the Retry bit nor the Duration field.
    pub fn seal<'f>(&mut self, frames: impl Iterator<Item = &'f mut Frame>, duration_us: u16) {
        let header_len = self.header.len();
        let mut batch: ArrayVec<SealJob<'_>, BATCH> = ArrayVec::new();
        for frame in frames {
            let retry = frame.numbers.is_some();
            let numbers = match frame.numbers {
                Some(numbers) => numbers,
                None => *frame.numbers.insert(self.next_numbers()),
            };
            DataHeader {
                retry,
                duration_us,
                sequence: SequenceControl {
                    number: numbers.sequence,
                    fragment: 0,
                },
                ..self.header_of(frame)
            }
            .emit(&mut frame.buffer);
            let (Some(protection), Some(pn)) = (&self.protection, numbers.pn) else {
                continue;
            };
            if frame.state == State::Sealed {
                continue;
            }
            frame.state = State::Sealed;
            batch.push(SealJob {
                mpdu: &mut frame.buffer[..frame.len_b],
                header_len,
                pn,
                key_id: KEY_ID,
            });
            if batch.is_full() {
                protection.seal(&mut batch);
                batch.clear();
            }
        }
        if let (Some(protection), false) = (&self.protection, batch.is_empty()) {
            protection.seal(&mut batch);
        }
    }

    /// The header of a frame, without its numbers. Address 3 is the packet's final destination or original source (IEEE
    /// 802.11-2020 Table 9-30).
    pub(super) fn header_of(&self, frame: &Frame) -> DataHeader {
        let [destination, source] = frame.addresses.unwrap_or([mac(frame.to), mac(frame.from)]);
        DataHeader {
            addr3: if self.header.to_ds { destination } else { source },
            ..self.header
        }
    }

    /// The next unused sequence number and packet number.
    pub(super) fn next_numbers(&mut self) -> Numbers {
        Numbers {
            pn: self.protection.as_mut().map(Protection::next_pn),
            ..self.next_sequence_number()
        }
    }

    /// The next unused sequence number, without a packet number.
    pub(super) fn next_sequence_number(&mut self) -> Numbers {
        let sequence = self.next_sequence;
        self.next_sequence = (sequence + 1) % SequenceControl::MODULUS;
        Numbers { sequence, pn: None }
    }

    /// Opens the peer's sealed frames in place.
    pub fn open<'f>(&self, frames: impl Iterator<Item = &'f mut Frame>) {
        let Some(protection) = &self.protection else {
            return;
        };
        let mut batch: ArrayVec<OpenJob<'_>, BATCH> = ArrayVec::new();
        let mut states: ArrayVec<&mut State, BATCH> = ArrayVec::new();
        let open = |batch: &mut ArrayVec<OpenJob<'_>, BATCH>, states: &mut ArrayVec<&mut State, BATCH>| {
            protection.open(batch);
            for (job, state) in batch.drain(..).zip(states.drain(..)) {
                *state = job
                    .verdict()
                    .map_or(State::Rejected, |opened| State::Opened(opened.clone()));
            }
        };
        for Frame {
            buffer, len_b, state, ..
        } in frames
        {
            batch.push(OpenJob::new(&mut buffer[..*len_b], KEY_ID));
            states.push(state);
            if batch.is_full() {
                open(&mut batch, &mut states);
            }
        }
        if !batch.is_empty() {
            open(&mut batch, &mut states);
        }
    }

    /// Whether a frame is authentic and contains a packet: it opened, is not a replay, and has an LLC/SNAP header.
    pub fn accept(&mut self, frame: &Frame) -> bool {
        if let Some(protection) = &mut self.protection {
            let State::Opened(opened) = &frame.state else {
                return false;
            };
            if !protection.accept(opened) {
                return false;
            }
        }
        let Around { packet_at, mic_b } = self.around();
        LlcSnap::parse(&frame.buffer[packet_at - LlcSnap::LEN..]).is_ok() && packet_at <= frame.len_b - mic_b
    }
}
