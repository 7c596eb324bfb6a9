//! Classic capture files, as pcap-savefile(5) describes them.
//!
//! ```text
//!  file header    octet 0 magic  4 major 2  6 minor 4  8 zone  12 accuracy  16 snap length  20 link type   (24)
//!  record header  octet 0 seconds  4 nanoseconds (or microseconds)  8 octets kept  12 octets on the air    (16)
//! ```
//! We write little-endian with nanosecond times. [`Capture`] reads both orders and both resolutions.

use crate::bytes::{array, put};

/// Magic of a file with nanosecond times.
const MAGIC_NS: u32 = 0xa1b2_3c4d;
/// Magic of a file with microsecond times.
const MAGIC_US: u32 = 0xa1b2_c3d4;
/// First octets of the block-structured successor format, which is another one.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const FILE_HEADER_LEN: usize = 24;
const RECORD_HEADER_LEN: usize = 16;
/// What tcpdump and Wireshark use for "no limit", and the longest record that they accept.
const MAX_SNAP_LEN: u32 = 262_144;

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
/// LINKTYPE_PPI: a PPI header, which names the link type of what follows.
pub const LINKTYPE_PPI: u32 = 192;

/// The header of a file with nanosecond times and link type [`LINKTYPE_IEEE802_11_RADIOTAP`].
#[must_use]
pub fn file_header() -> [u8; FILE_HEADER_LEN] {
    file_header_of(LINKTYPE_IEEE802_11_RADIOTAP)
}

/// The header of a file with nanosecond times and another link type.
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

/// The header of a record of `caplen` octets, kept whole, at `ts_ns` nanoseconds after the epoch. The format counts
/// seconds in 32 bits: later times are written as the last second it knows.
///
/// # Panics
/// If `caplen` is over 262144, which readers refuse.
#[must_use]
pub fn record_header(ts_ns: u64, caplen: usize) -> [u8; RECORD_HEADER_LEN] {
    let octets = u32::try_from(caplen)
        .ok()
        .filter(|&len| len <= MAX_SNAP_LEN)
        .expect("record over 262144 octets");
    let seconds = u32::try_from(ts_ns / 1_000_000_000).unwrap_or(u32::MAX);
    let nanoseconds = u32::try_from(ts_ns % 1_000_000_000).expect("a remainder below 10^9 fits 32 bits");
    let mut header = [0; RECORD_HEADER_LEN];
    put(&mut header, 0, seconds.to_le_bytes());
    put(&mut header, 4, nanoseconds.to_le_bytes());
    put(&mut header, 8, octets.to_le_bytes());
    put(&mut header, 12, octets.to_le_bytes());
    header
}

/// Why octets are not a capture file, or where it breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PcapError {
    /// The first octets are of no known format.
    #[error("not a pcap capture: it starts with {0:02x?}")]
    NotACapture([u8; 4]),
    /// The newer, block-structured format.
    #[error("this is a pcapng capture; convert it with: editcap -F pcap IN OUT")]
    PcapNg,
    /// The file ends within its own header.
    #[error("not a pcap capture: {have} octets, and the file header alone has 24")]
    NoHeader {
        /// Octets in the file.
        have: usize,
    },
    /// The file ends within a record.
    #[error("capture cut short: record {record} at octet {offset} needs {needed} octets, {have} are left")]
    Truncated {
        /// Number of the record, from 1.
        record: usize,
        /// Offset of its header in the file, in octets.
        offset: usize,
        /// Octets of its header and, where that is there, its data.
        needed: usize,
        /// Octets left in the file.
        have: usize,
    },
    /// A record longer than any reader accepts: the file is damaged.
    #[error("capture damaged: record {record} at octet {offset} claims {len} octets")]
    Length {
        /// Number of the record, from 1.
        record: usize,
        /// Offset of its header in the file, in octets.
        offset: usize,
        /// Octets it claims.
        len: u32,
    },
}

/// One record of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Time in nanoseconds after the epoch.
    pub ts_ns: u64,
    /// The octets kept.
    pub data: &'a [u8],
    /// Octets that were on the air; more than `data` holds if the capture was limited.
    pub original_len: u32,
}

/// A whole capture file in memory; iterating gives its records in order, and an error ends it.
///
/// ```
/// use wlan_frames::pcap::{self, Capture};
/// let mut file = pcap::file_header().to_vec();
/// file.extend(pcap::record_header(1_500_000_000, 3));
/// file.extend(b"abc");
/// let record = Capture::parse(&file)?.next().unwrap()?;
/// assert_eq!((record.ts_ns, record.data), (1_500_000_000, &b"abc"[..]));
/// # Ok::<(), pcap::PcapError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Capture<'a> {
    file: &'a [u8],
    at: usize,
    records: usize,
    big_endian: bool,
    ns_per_tick: u64,
    link_type: u32,
}

impl<'a> Capture<'a> {
    /// Checks the file header.
    ///
    /// # Errors
    /// [`PcapError::NotACapture`], [`PcapError::PcapNg`], [`PcapError::NoHeader`].
    pub fn parse(file: &'a [u8]) -> Result<Capture<'a>, PcapError> {
        if file.len() < 4 {
            return Err(PcapError::NoHeader { have: file.len() });
        }
        let magic = array(file, 0);
        let (big_endian, ns_per_tick) = match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
            (MAGIC_NS, _) => (false, 1),
            (MAGIC_US, _) => (false, 1000),
            (_, MAGIC_NS) => (true, 1),
            (_, MAGIC_US) => (true, 1000),
            _ if magic == PCAPNG => return Err(PcapError::PcapNg),
            _ => return Err(PcapError::NotACapture(magic)),
        };
        if file.len() < FILE_HEADER_LEN {
            return Err(PcapError::NoHeader { have: file.len() });
        }
        let mut capture = Capture {
            file,
            at: FILE_HEADER_LEN,
            records: 0,
            big_endian,
            ns_per_tick,
            link_type: 0,
        };
        // The upper bits of the word tell whether frames carry an FCS; the link type is in the lower 16.
        capture.link_type = capture.word(20) & 0xffff;
        Ok(capture)
    }

    /// What the records are, as the registry at tcpdump.org numbers it: see the constants of this module.
    #[must_use]
    pub fn link_type(&self) -> u32 {
        self.link_type
    }

    fn word(&self, at: usize) -> u32 {
        let octets = array(self.file, at);
        if self.big_endian {
            u32::from_be_bytes(octets)
        } else {
            u32::from_le_bytes(octets)
        }
    }

    fn read(&mut self) -> Result<Record<'a>, PcapError> {
        let (record, offset) = (self.records + 1, self.at);
        let have = self.file.len() - offset;
        if have < RECORD_HEADER_LEN {
            return Err(PcapError::Truncated {
                record,
                offset,
                needed: RECORD_HEADER_LEN,
                have,
            });
        }
        let len = self.word(offset + 8);
        if len > MAX_SNAP_LEN {
            return Err(PcapError::Length { record, offset, len });
        }
        let needed = RECORD_HEADER_LEN + len as usize;
        if have < needed {
            return Err(PcapError::Truncated {
                record,
                offset,
                needed,
                have,
            });
        }
        self.at += needed;
        self.records = record;
        Ok(Record {
            ts_ns: u64::from(self.word(offset)) * 1_000_000_000
                + u64::from(self.word(offset + 4)) * self.ns_per_tick,
            data: &self.file[offset + RECORD_HEADER_LEN..offset + needed],
            original_len: self.word(offset + 12),
        })
    }
}

impl<'a> Iterator for Capture<'a> {
    type Item = Result<Record<'a>, PcapError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.file.len() {
            return None;
        }
        let item = self.read();
        if item.is_err() {
            self.at = self.file.len();
        }
        Some(item)
    }
}
