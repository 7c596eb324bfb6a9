//! Outbound frames: built contiguously in one buffer, numbered, sealed as a batch and sent.

use arrayvec::ArrayVec;
use wlan_ciphers::SealJob;
use wlan_frames::MacAddr;
use wlan_host::sys::datagrams::MESSAGES;

use super::counters::Outbound;
use super::endpoint::{Endpoint, MESSAGE_B, Message, Outlet, SEGMENTS};
use super::table::{Sealer, Station, Table};
use super::wire::{self, BODY_AT, End, HEADER_B, Tid};

/// Maximum number of frames per batch.
const BATCH: usize = MESSAGES;

/// Reason why a packet cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsendable {
    /// The station, or the group, has no key.
    NoKey,
    /// The packet exceeds the longest frame.
    TooLong,
}

/// The receiver of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// One station.
    Station(usize),
    /// All stations of this access point: one frame under the group key.
    Group {
        /// The group's address.
        address: MacAddr,
        /// Address of the frame's source.
        source: MacAddr,
    },
}

/// The frames of one packet.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Number of frames.
    pub count: usize,
    /// Octets of the longest plaintext body.
    pub longest_b: usize,
    /// Whether the transport checksum is known to be valid.
    pub is_checked: bool,
}

/// The position of a frame in the buffer.
struct Placed {
    at: usize,
    len_b: usize,
    /// The station that receives the frame; `None` for the group.
    station: Option<usize>,
}

/// The outbound frames of one batch.
pub struct Egress {
    end: End,
    /// The TID of its frames.
    tid: Tid,
    /// Octets of the longest frame.
    mpdu_b: usize,
    octets: Box<[u8]>,
    filled_b: usize,
    frames: ArrayVec<Placed, BATCH>,
}

impl Egress {
    /// Creates an empty batch for frames of `end` with this TID and at most `mpdu_b` octets.
    pub fn new(end: End, tid: Tid, mpdu_b: usize) -> Self {
        Self {
            end,
            tid,
            mpdu_b,
            octets: vec![0; mpdu_b * BATCH].into_boxed_slice(),
            filled_b: 0,
            frames: ArrayVec::new(),
        }
    }

    /// The sending end.
    pub fn end(&self) -> End {
        self.end
    }

    /// Whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Whether the batch is too small to seal efficiently: less than half full. Half leaves space, so that few
    /// super-packets are split over two batches.
    pub fn wants_more(&self) -> bool {
        self.frames.len() < BATCH / 2
    }

    /// Adds frames for a receiver and flushes the batch whenever it is full. `fill` writes the plaintext body of each
    /// frame into a buffer of `longest_b` octets and returns the length of the body.
    ///
    /// # Errors
    /// No frame was added.
    pub fn push(
        &mut self,
        table: &Table,
        to: Receiver,
        Shape {
            count,
            longest_b,
            is_checked,
        }: Shape,
        mut fill: impl FnMut(usize, &mut [u8]) -> usize,
        outlet: &impl Outlet,
        counters: &Outbound,
    ) -> Result<(), Unsendable> {
        let (station, mut header) = match to {
            Receiver::Station(station) => {
                let address = table.stations()[station].address;
                (Some(station), self.end.header(address))
            }
            Receiver::Group { address, source } => (None, self.end.group_header(address, source)),
        };
        wire::put_tid(&mut header, self.tid, is_checked);
        let sealer = sealer_of(table, station).ok_or(Unsendable::NoKey)?;
        let mic_b = sealer.key.suite().mic_len();
        if BODY_AT + longest_b + mic_b > self.mpdu_b {
            return Err(Unsendable::TooLong);
        }
        if count > self.frames.remaining_capacity() {
            self.flush(table, outlet, counters);
        }
        for index in 0..count {
            if self.frames.is_full() {
                self.flush(table, outlet, counters);
            }
            let at = self.filled_b;
            let mpdu = &mut self.octets[at..at + self.mpdu_b];
            mpdu[..HEADER_B].copy_from_slice(&header);
            let len_b = BODY_AT + fill(index, &mut mpdu[BODY_AT..BODY_AT + longest_b]) + mic_b;
            self.frames.push(Placed { at, len_b, station });
            self.filled_b = at + len_b;
        }
        Ok(())
    }

    /// Numbers, seals and sends all frames of the batch.
    pub fn flush(&mut self, table: &Table, outlet: &impl Outlet, counters: &Outbound) {
        let mut messages: ArrayVec<Message, BATCH> = ArrayVec::new();
        let most = if outlet.splits() { SEGMENTS } else { 1 };
        for of_one in self.frames.chunk_by(|a, b| a.station == b.station) {
            let sealer = sealer_of(table, of_one[0].station).expect("frames are only built with a key");
            let from = of_one[0].at;
            let octets = of_one.iter().map(|frame| frame.len_b).sum();
            if !seal(sealer, of_one, &mut self.octets[from..from + octets], counters) {
                continue;
            }
            counters.sealed.add(of_one.len());
            counters.sealed_octets.add(octets);
            let mut queue = |to: Endpoint| {
                if of_one.len() > messages.remaining_capacity() {
                    counters.unsent.add(outlet.send(&self.octets, &messages));
                    messages.clear();
                }
                append(&mut messages, to, of_one, most);
            };
            let everyone = match of_one[0].station {
                Some(_) => None,
                None => outlet.broadcast(),
            };
            if let Some(everyone) = everyone {
                queue(everyone);
            }
            for station in receivers(table, of_one[0].station) {
                station.count_sent(of_one.len());
                if everyone.is_none() {
                    queue(station.endpoint());
                }
            }
        }
        self.frames.clear();
        self.filled_b = 0;
        if !messages.is_empty() {
            counters.unsent.add(outlet.send(&self.octets, &messages));
        }
    }
}

/// The key for frames to a station, or to the group.
fn sealer_of(table: &Table, station: Option<usize>) -> Option<&Sealer> {
    match station {
        Some(station) => table.stations()[station].transmit.as_deref(),
        None => table.group(),
    }
}

/// The stations that receive a frame: one station, or all stations of the group, which have a key.
fn receivers(table: &Table, station: Option<usize>) -> impl Iterator<Item = &Station> {
    let stations = match station {
        Some(station) => &table.stations()[station..=station],
        None => table.stations(),
    };
    stations.iter().filter(|station| station.transmit.is_some())
}

/// Numbers and seals frames under one key, contiguous in `octets`. Returns `false` if the packet numbers run out.
fn seal(sealer: &Sealer, frames: &[Placed], octets: &mut [u8], counters: &Outbound) -> bool {
    let Some(first) = sealer.take(frames.len()) else {
        counters.exhausted.add(frames.len());
        return false;
    };
    let mut batch: ArrayVec<SealJob<'_>, BATCH> = ArrayVec::new();
    let (mut rest, mut pn) = (octets, Some(first));
    for frame in frames {
        let (mpdu, behind) = rest.split_at_mut(frame.len_b);
        rest = behind;
        let own = pn.expect("all packet numbers were allocated");
        wire::number(mpdu, own);
        batch.push(SealJob {
            mpdu,
            header_len: HEADER_B,
            pn: own,
            key_id: sealer.key_id,
        });
        pn = own.next().ok();
    }
    counters
        .crypto_ns
        .time(|| sealer.key.seal(&mut batch))
        .expect("frames built here are complete data frames");
    true
}

/// Groups frames to one endpoint into messages of frames of equal length; the last frame may be shorter.
fn append(messages: &mut ArrayVec<Message, BATCH>, to: Endpoint, frames: &[Placed], most: usize) {
    let mut frames = frames.iter().peekable();
    while let Some(first) = frames.next() {
        let mut message = Message {
            to,
            at: first.at,
            len_b: first.len_b,
            segment_b: first.len_b,
        };
        let (mut count, mut is_open) = (1, true);
        while let Some(next) = frames.next_if(|next| {
            is_open
                && count < most
                && next.len_b <= message.segment_b
                && message.len_b + next.len_b <= MESSAGE_B
        }) {
            message.len_b += next.len_b;
            is_open = next.len_b == message.segment_b;
            count += 1;
        }
        messages.push(message);
    }
}
