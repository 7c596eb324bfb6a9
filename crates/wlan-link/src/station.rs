//! One end of the emulated link: a host's IP packets become MPDUs here, and the peer's MPDUs packets again.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

use arrayvec::ArrayVec;
use wlan_ciphers::{OpenJob, SealJob};
use wlan_frames::{AckPolicy, DataHeader, EtherType, LlcSnap, MacAddr, QosControl, SequenceControl};

use crate::frame::{Frame, Numbers, Pool, State};
use crate::offload::VnetHeader;
use crate::offload::coalesce::{MAX_PACKETS, Run, Takes};
use crate::offload::segment::{SuperPacket, complete_checksum};
use crate::protection::{KEY_ID, Protection};
use crate::tun::Tun;

#[cfg(test)]
mod tests;

/// Frames that are sealed or opened together: an A-MPDU has no more (IEEE 802.11-2020 9.3.1.8.2).
const BATCH: usize = 64;

/// Octets of the largest super-packet (`GSO_LEGACY_MAX_SIZE` of Linux).
const SUPER_PACKET_B: usize = 65_536;

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
    pub fn address(self) -> MacAddr {
        MacAddr([2, 0, 0, 0, 0, if self == Role::Ap { 1 } else { 2 }])
    }
}

/// What was found when a host's device was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// So many packets for the air, from one of the host's.
    Packets(usize),
    /// A packet that is neither IPv4 nor IPv6.
    Unclassified,
    /// A packet that cannot be made into MSDUs: too long for one, or its headers do not say how to split it.
    Unsplittable,
    /// Nothing waits.
    Nothing,
}

/// Packets that arrived and did not reach the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undelivered {
    /// Wrong header or MIC, or replayed.
    pub rejected: usize,
    /// The host's stack would not take them.
    pub refused: usize,
}

/// One end of the link.
pub struct Station {
    tun: Tun,
    /// The header of every MPDU it sends, but for the numbers.
    header: DataHeader,
    next_sequence: u16,
    protection: Option<Protection>,
    /// What the host takes joined.
    takes: Takes,
    /// A packet that is longer than a frame's buffer, from its start.
    long: Box<[u8]>,
}

impl Station {
    /// An end that sends QoS data frames of this TID, or data frames without, and protects them in this way, if in any.
    /// With `coalesce` it hands packets up joined, as far as the device allows.
    pub fn new(
        role: Role,
        tun: Tun,
        tid: Option<u8>,
        protection: Option<Protection>,
        coalesce: bool,
    ) -> Self {
        let (ap, sta) = (Role::Ap.address(), Role::Sta.address());
        let header = DataHeader {
            to_ds: role == Role::Sta,
            from_ds: role == Role::Ap,
            protected: protection.is_some(),
            addr1: if role == Role::Sta { ap } else { sta },
            addr2: role.address(),
            // Destination or source behind the receiver or transmitter: the hosts themselves.
            addr3: ap,
            qos: tid.map(|tid| QosControl::new(tid, AckPolicy::Normal)),
            ..DataHeader::default()
        };
        let offloads = tun.offloads();
        Self {
            tun,
            header,
            next_sequence: 0,
            protection,
            takes: Takes {
                tcp: coalesce && offloads.tcp,
                udp: coalesce && offloads.udp,
            },
            long: vec![0; SUPER_PACKET_B + Frame::default().buffer.len()].into_boxed_slice(),
        }
    }

    /// The host's device, to wait on.
    pub fn device(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }

    /// Octets before the IP packet in an MPDU, and behind it.
    fn around_b(&self) -> (usize, usize) {
        let suite = self.protection.as_ref().map(Protection::suite);
        let (security_b, mic_b) = suite.map_or((0, 0), |suite| (suite.header_len(), suite.mic_len()));
        (self.header.len() + security_b + LlcSnap::LEN, mic_b)
    }

    /// Octets of an MPDU, without FCS, around its MSDU.
    pub fn msdu_around_b(&self) -> usize {
        let (packet_at, mic_b) = self.around_b();
        packet_at - LlcSnap::LEN + mic_b
    }

    /// Reads one packet of the host, splits it where it is a super-packet, and gives each part to `queue`, in a frame
    /// with LLC/SNAP in front and room for what sealing adds.
    ///
    /// # Errors
    /// The device cannot be read.
    pub fn read(&mut self, pool: &mut Pool, mut queue: impl FnMut(Frame)) -> io::Result<Arrival> {
        let mut frame = pool.take();
        let arrival = self.read_into(&mut frame, pool, &mut queue);
        if let Ok(Arrival::Packets(_)) = arrival {
            queue(frame);
        } else {
            pool.give(frame);
        }
        arrival
    }

    /// Reads one packet of the host; its last part, or all of it, is then in `frame`.
    fn read_into(
        &mut self,
        frame: &mut Frame,
        pool: &mut Pool,
        queue: &mut impl FnMut(Frame),
    ) -> io::Result<Arrival> {
        let (packet_at, mic_b) = self.around_b();
        let until = frame.buffer.len() - mic_b;
        let room_b = until - packet_at;
        let mut vnet = [0; VnetHeader::LEN];
        let packet = &mut frame.buffer[packet_at..until];
        let Some(packet_b) = self.tun.read(&mut vnet, packet, &mut self.long[room_b..])? else {
            return Ok(Arrival::Nothing);
        };
        // The version is the first field of both headers (RFC 791 3.1, RFC 8200 3).
        let ethertype = match packet[0] >> 4 {
            4 => EtherType::IPV4,
            6 => EtherType::IPV6,
            _ => return Ok(Arrival::Unclassified),
        };
        let Some(vnet) = VnetHeader::parse(&vnet) else {
            return Ok(Arrival::Unsplittable);
        };
        let encapsulate = |frame: &mut Frame, packet_b: usize| {
            LlcSnap { ethertype }.emit(&mut frame.buffer[packet_at - LlcSnap::LEN..]);
            frame.len_b = packet_at + packet_b + mic_b;
            frame.numbers = None;
            frame.state = State::Plain;
        };
        if vnet.gso.is_none() {
            let completed = match vnet.partial {
                _ if packet_b > room_b => return Ok(Arrival::Unsplittable),
                Some(partial) => complete_checksum(&mut packet[..packet_b], partial),
                None => Ok(()),
            };
            if completed.is_err() {
                return Ok(Arrival::Unsplittable);
            }
            encapsulate(frame, packet_b);
            return Ok(Arrival::Packets(1));
        }
        self.long[..room_b].copy_from_slice(packet);
        let Ok(whole) = SuperPacket::new(&vnet, &self.long[..packet_b]) else {
            return Ok(Arrival::Unsplittable);
        };
        if whole.longest_b() > room_b {
            return Ok(Arrival::Unsplittable);
        }
        let last = whole.packets() - 1;
        let mut next = pool.take();
        for index in 0..last {
            let packet_b = whole.write(index, &mut next.buffer[packet_at..until]);
            encapsulate(&mut next, packet_b);
            queue(next);
            next = pool.take();
        }
        pool.give(next);
        let packet_b = whole.write(last, &mut frame.buffer[packet_at..until]);
        encapsulate(frame, packet_b);
        Ok(Arrival::Packets(last + 1))
    }

    /// Makes `frames` ready for the air: numbers and header, and the cipher over the batch. Frames that are sent
    /// again keep their numbers and get the Retry bit, which no cipher covers, nor the Duration field.
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
                ..self.header
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

    /// Numbers that no frame of this end had yet.
    fn next_numbers(&mut self) -> Numbers {
        let sequence = self.next_sequence;
        self.next_sequence = (sequence + 1) % SequenceControl::MODULUS;
        Numbers {
            sequence,
            pn: self.protection.as_mut().map(Protection::next_pn),
        }
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

    /// Hands the packets of frames that arrived to the host, in this order, unless they were replayed or could not be
    /// opened. Packets whose MPDUs do not follow each other (one was lost) go up apart.
    pub fn deliver<'f>(&mut self, frames: impl Iterator<Item = &'f Frame>) -> Undelivered {
        let mut undelivered = Undelivered::default();
        let mut run: Option<Run<'_>> = None;
        let mut previous = None;
        for frame in frames {
            let Some(packet) = self.accept(frame) else {
                undelivered.rejected += 1;
                continue;
            };
            let sequence = frame.numbers.map(|numbers| numbers.sequence);
            let follows =
                previous.is_some_and(|previous| sequence == Some((previous + 1) % SequenceControl::MODULUS));
            previous = sequence;
            if let Some(run) = &mut run {
                if follows && run.join(packet) {
                    continue;
                }
                undelivered.refused += self.hand_up(run);
            }
            run = Some(Run::new(self.takes, packet));
        }
        undelivered.refused += run.map_or(0, |run| self.hand_up(&run));
        undelivered
    }

    /// The packet in a frame, if it is to be believed.
    fn accept<'f>(&mut self, frame: &'f Frame) -> Option<&'f [u8]> {
        if let Some(protection) = &mut self.protection {
            let State::Opened(opened) = &frame.state else {
                return None;
            };
            if !protection.accept(opened) {
                return None;
            }
        }
        let (packet_at, mic_b) = self.around_b();
        LlcSnap::parse(&frame.buffer[packet_at - LlcSnap::LEN..]).ok()?;
        frame.buffer.get(packet_at..frame.len_b - mic_b)
    }

    /// Gives a run to the host; returns how many packets it refused.
    fn hand_up(&self, run: &Run<'_>) -> usize {
        let head = run.head();
        let mut parts: ArrayVec<IoSlice<'_>, { 1 + MAX_PACKETS }> = ArrayVec::new();
        parts.push(IoSlice::new(&head));
        parts.extend(run.payloads().iter().map(|payload| IoSlice::new(payload)));
        match self.tun.write(&parts) {
            Ok(()) => 0,
            Err(_) => run.packets(),
        }
    }
}
