//! Capture files: classic pcap, as described in pcap-savefile(5), and pcapng.
//!
//! ```text
//!  file header    octet 0 magic  4 major 2  6 minor 4  8 zone  12 accuracy  16 snap length  20 link type   (24)
//!  record header  octet 0 seconds  4 nanoseconds (or microseconds)  8 octets kept  12 octets on the air    (16)
//! ```
//! Files are written little-endian with nanosecond timestamps. [`Decoder`] reads both byte orders, both resolutions and
//! pcapng in pieces, so that a file may be larger than memory; [`records`] reads a file in memory.

mod ng;

use alloc::collections::BTreeSet;
use core::iter;

use crate::bytes::{array, put};

/// Magic of a file with nanosecond timestamps.
const MAGIC_NS: u32 = 0xa1b2_3c4d;
/// Magic of a file with microsecond timestamps.
const MAGIC_US: u32 = 0xa1b2_c3d4;
/// First octets of a pcapng file.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const MAGIC_LEN: usize = 4;
const FILE_HEADER_LEN: usize = 24;
const RECORD_HEADER_LEN: usize = 16;
/// The snap length that tcpdump and Wireshark use for "no limit", and the longest record that they accept.
const MAX_SNAP_LEN: u32 = 262_144;
/// Maximum length of a record in octets.
pub const MAX_RECORD_LEN: usize = MAX_SNAP_LEN as usize;

/// LINKTYPE_ETHERNET: an Ethernet frame without its FCS.
pub const LINKTYPE_ETHERNET: u32 = 1;
/// LINKTYPE_IEEE802_11: the frame alone.
pub const LINKTYPE_IEEE802_11: u32 = 105;
/// LINKTYPE_IEEE802_11_PRISM: a Prism or AVS header, then the frame.
pub const LINKTYPE_IEEE802_11_PRISM: u32 = 119;
/// LINKTYPE_IEEE802_11_RADIOTAP: a radiotap header, then the frame.
pub const LINKTYPE_IEEE802_11_RADIOTAP: u32 = 127;
/// LINKTYPE_IEEE802_11_AVS: an AVS header, then the frame.
pub const LINKTYPE_IEEE802_11_AVS: u32 = 163;
/// LINKTYPE_PPI: a PPI header, which contains the link type of the data after it.
pub const LINKTYPE_PPI: u32 = 192;

/// A name for common link types.
#[must_use]
pub const fn link_type_name(link_type: u32) -> Option<&'static str> {
    Some(match link_type {
        0 | 108 => "loopback",
        LINKTYPE_ETHERNET => "Ethernet",
        9 => "PPP",
        12 | 14 | 101 | 228 | 229 => "raw IP",
        LINKTYPE_IEEE802_11 => "802.11",
        113 | 276 => "Linux cooked capture",
        LINKTYPE_IEEE802_11_PRISM => "802.11 with Prism header",
        LINKTYPE_IEEE802_11_RADIOTAP => "802.11 with radiotap header",
        LINKTYPE_IEEE802_11_AVS => "802.11 with AVS header",
        187 | 201 | 251 | 256 => "Bluetooth",
        189 | 220 | 249 => "USB",
        LINKTYPE_PPI => "PPI",
        195 | 215 | 230 | 283 => "802.15.4",
        227 => "CAN",
        _ => return None,
    })
}

/// Header of a file with nanosecond timestamps and link type [`LINKTYPE_IEEE802_11_RADIOTAP`].
#[must_use]
pub fn file_header() -> [u8; FILE_HEADER_LEN] {
    file_header_of(LINKTYPE_IEEE802_11_RADIOTAP)
}

/// Header of a file with nanosecond timestamps and the given link type.
#[must_use]
pub fn file_header_of(link_type: u32) -> [u8; FILE_HEADER_LEN] {
    let mut header = [0; FILE_HEADER_LEN];
    put(&mut header, 0, MAGIC_NS.to_le_bytes());
    put(&mut header, 4, 2u16.to_le_bytes());
    put(&mut header, 6, 4u16.to_le_bytes());
    put(&mut header, 16, MAX_SNAP_LEN.to_le_bytes());
    put(&mut header, 20, link_type.to_le_bytes());
    header
}

/// Header of a complete record of `caplen` octets at `ts_ns` nanoseconds after the epoch. The format stores seconds in
/// 32 bits: the seconds of later times saturate.
///
/// # Panics
/// If `caplen` is over 262144, because readers reject such records.
#[must_use]
pub fn record_header(ts_ns: u64, caplen: usize) -> [u8; RECORD_HEADER_LEN] {
    let octets = u32::try_from(caplen)
        .ok()
        .filter(|&len| len <= MAX_SNAP_LEN)
        .expect("a record has at most 262144 octets");
    let seconds = u32::try_from(ts_ns / 1_000_000_000).unwrap_or(u32::MAX);
    let nanoseconds = u32::try_from(ts_ns % 1_000_000_000).expect("a remainder below 10^9 fits 32 bits");
    let mut header = [0; RECORD_HEADER_LEN];
    put(&mut header, 0, seconds.to_le_bytes());
    put(&mut header, 4, nanoseconds.to_le_bytes());
    put(&mut header, 8, octets.to_le_bytes());
    put(&mut header, 12, octets.to_le_bytes());
    header
}

/// The reason why a file is not a valid capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PcapError {
    /// The first octets match no known format.
    #[error("not a pcap capture: it starts with {0:02x?}")]
    NotACapture([u8; 4]),
    /// The file ends within the file header.
    #[error("not a pcap capture: {have} octets, but the file header has 24")]
    NoHeader {
        /// Octets in the file.
        have: usize,
    },
    /// The file ends within a record.
    #[error("capture cut short: record {record} at octet {offset} requires {needed} octets, {have} are left")]
    Truncated {
        /// Number of the record, from 1.
        record: u64,
        /// Offset of the record header in the file, in octets.
        offset: u64,
        /// Octets of the record header and, if the header is complete, of the data.
        needed: usize,
        /// Octets left in the file.
        have: usize,
    },
    /// A record claims to be longer than any reader accepts: the file is damaged.
    #[error("capture damaged: record {record} at octet {offset} claims {len} octets")]
    Length {
        /// Number of the record, from 1.
        record: u64,
        /// Offset of the record header, or of the block, in the file, in octets.
        offset: u64,
        /// Claimed length in octets.
        len: u32,
    },
    /// A pcapng file ends within a block.
    #[error("capture cut short: the block at octet {offset} requires {needed} octets, {have} are left")]
    TruncatedBlock {
        /// Offset of the block in the file, in octets.
        offset: u64,
        /// Octets of the block or, if its length is missing, of its first fields.
        needed: u64,
        /// Octets left in the file.
        have: u64,
    },
    /// A block of a pcapng file is inconsistent with itself or with earlier blocks.
    #[error("capture damaged: the block at octet {offset} {fault}")]
    Block {
        /// Offset of the block in the file, in octets.
        offset: u64,
        /// The fault of the block.
        fault: &'static str,
    },
}

/// One record of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Time in nanoseconds after the epoch.
    pub ts_ns: u64,
    /// The captured octets.
    pub data: &'a [u8],
    /// Length on the air in octets; longer than `data` if the snap length truncated it.
    pub original_len: u32,
}

/// The result of one step through a capture file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// A record with its link type. The last value is the number of input octets consumed.
    Record(u32, Record<'a>, usize),
    /// This number of input octets was consumed; they held no record.
    Skip(usize),
    /// The input must hold at least this number of octets, unless the file ends earlier.
    Need(usize),
}

/// Reads a capture file in pieces. The caller keeps the unread octets in a buffer and steps through them.
///
/// ```
/// use wlan_frames::pcap::{self, Decoder, Step};
/// let mut file = pcap::file_header().to_vec();
/// file.extend(pcap::record_header(1_500_000_000, 3));
/// file.extend(b"abc");
/// let mut decoder = Decoder::default();
/// assert_eq!(decoder.step(&file[..10])?, Step::Need(24));
/// assert_eq!(decoder.step(&file)?, Step::Skip(24));
/// assert_eq!(decoder.step(&file[24..40])?, Step::Need(19));
/// let Step::Record(link_type, record, 19) = decoder.step(&file[24..])? else { panic!() };
/// assert_eq!((link_type, record.data), (pcap::LINKTYPE_IEEE802_11_RADIOTAP, &b"abc"[..]));
/// decoder.finish(0)?;
/// # Ok::<(), pcap::PcapError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    format: Option<Format>,
    link_types: BTreeSet<u32>,
    /// Octets of the file consumed.
    offset: u64,
    records: u64,
    /// Octets that the last step required.
    needed: usize,
}

#[derive(Debug, Clone)]
enum Format {
    Classic(Classic),
    Ng(ng::Blocks),
}

impl Decoder {
    /// Takes the next step. `input` is the unconsumed rest of the file, or the start of that rest.
    ///
    /// # Errors
    /// Any [`PcapError`] except `NoHeader`, `Truncated` and `TruncatedBlock`. The rest of the file is then unusable.
    pub fn step<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, PcapError> {
        let (offset, record) = (self.offset, self.records + 1);
        let step = match &mut self.format {
            None => self.start(input)?,
            Some(Format::Classic(classic)) => classic.step(input, offset, record)?,
            Some(Format::Ng(blocks)) => blocks.step(input, offset, record, &mut self.link_types)?,
        };
        match step {
            Step::Record(_, _, len) => {
                self.records = record;
                self.offset += len as u64;
            }
            Step::Skip(len) => self.offset += len as u64,
            Step::Need(len) => self.needed = len,
        }
        Ok(step)
    }

    /// Checks that the file may end here, with `rest` octets left after the last step.
    ///
    /// # Errors
    /// [`PcapError::NoHeader`], [`PcapError::Truncated`], [`PcapError::TruncatedBlock`].
    pub fn finish(&self, rest: usize) -> Result<(), PcapError> {
        match &self.format {
            None => Err(PcapError::NoHeader { have: rest }),
            Some(Format::Classic(_)) if rest > 0 => Err(PcapError::Truncated {
                record: self.records + 1,
                offset: self.offset,
                needed: self.needed,
                have: rest,
            }),
            Some(Format::Classic(_)) => Ok(()),
            Some(Format::Ng(blocks)) => blocks.finish(self.offset, self.needed, rest),
        }
    }

    /// The link types of the file, as far as it has been read. Numbers are from the tcpdump.org registry: see the
    /// constants of this module. A pcapng file may have several link types.
    #[must_use]
    pub fn link_types(&self) -> &BTreeSet<u32> {
        &self.link_types
    }

    /// Reads the magic of the file and, in a classic file, the file header.
    fn start<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, PcapError> {
        if input.len() < MAGIC_LEN {
            return Ok(Step::Need(MAGIC_LEN));
        }
        let magic = array(input, 0);
        let (big_endian, ns_per_tick) = match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
            (MAGIC_NS, _) => (false, 1),
            (MAGIC_US, _) => (false, 1000),
            (_, MAGIC_NS) => (true, 1),
            (_, MAGIC_US) => (true, 1000),
            _ if magic == PCAPNG => {
                let mut blocks = ng::Blocks::default();
                let step = blocks.step(input, 0, 1, &mut self.link_types);
                self.format = Some(Format::Ng(blocks));
                return step;
            }
            _ => return Err(PcapError::NotACapture(magic)),
        };
        if input.len() < FILE_HEADER_LEN {
            return Ok(Step::Need(FILE_HEADER_LEN));
        }
        // The upper 16 bits state whether frames have an FCS; the link type is in the lower 16.
        let link_type = word(input, 20, big_endian) & 0xffff;
        self.link_types.insert(link_type);
        self.format = Some(Format::Classic(Classic {
            big_endian,
            ns_per_tick,
            link_type,
        }));
        Ok(Step::Skip(FILE_HEADER_LEN))
    }
}

/// Contents of the header of a classic file.
#[derive(Debug, Clone)]
struct Classic {
    big_endian: bool,
    ns_per_tick: u64,
    link_type: u32,
}

impl Classic {
    fn step<'a>(&self, input: &'a [u8], offset: u64, record: u64) -> Result<Step<'a>, PcapError> {
        if input.len() < RECORD_HEADER_LEN {
            return Ok(Step::Need(RECORD_HEADER_LEN));
        }
        let word = |at| word(input, at, self.big_endian);
        let len = word(8);
        if len > MAX_SNAP_LEN {
            return Err(PcapError::Length { record, offset, len });
        }
        let end = RECORD_HEADER_LEN + len as usize;
        if input.len() < end {
            return Ok(Step::Need(end));
        }
        let record = Record {
            ts_ns: u64::from(word(0)) * 1_000_000_000 + u64::from(word(4)) * self.ns_per_tick,
            data: &input[RECORD_HEADER_LEN..end],
            original_len: word(12),
        };
        Ok(Step::Record(self.link_type, record, end))
    }
}

/// Reads the 32-bit number at `at`.
fn word(octets: &[u8], at: usize, big_endian: bool) -> u32 {
    let octets = array(octets, at);
    if big_endian {
        u32::from_be_bytes(octets)
    } else {
        u32::from_le_bytes(octets)
    }
}

/// Iterates over the records of a pcap or pcapng file in memory, each with its link type. An error ends the iteration.
///
/// ```
/// use wlan_frames::pcap;
/// let mut file = pcap::file_header().to_vec();
/// file.extend(pcap::record_header(1_500_000_000, 3));
/// file.extend(b"abc");
/// let (link_type, record) = pcap::records(&file).next().unwrap()?;
/// assert_eq!((link_type, record.data), (pcap::LINKTYPE_IEEE802_11_RADIOTAP, &b"abc"[..]));
/// # Ok::<(), pcap::PcapError>(())
/// ```
pub fn records(file: &[u8]) -> impl Iterator<Item = Result<(u32, Record<'_>), PcapError>> {
    let mut decoder = Decoder::default();
    let mut rest = Some(file);
    iter::from_fn(move || {
        loop {
            let input = rest?;
            match decoder.step(input) {
                Ok(Step::Skip(len)) => rest = Some(&input[len..]),
                Ok(Step::Record(link_type, record, len)) => {
                    rest = Some(&input[len..]);
                    return Some(Ok((link_type, record)));
                }
                Ok(Step::Need(_)) => {
                    rest = None;
                    return decoder.finish(input.len()).err().map(Err);
                }
                Err(error) => {
                    rest = None;
                    return Some(Err(error));
                }
            }
        }
    })
}
