//! pcapng files (draft-ietf-opsawg-pcapng), as written by dumpcap, tshark and Wireshark.
//!
//! ```text
//!  every block     octet 0 type   4 length (of all)   8 body   ...   length again; a multiple of 4 octets
//!
//!  section header  0a0d0d0a   body: 0 byte-order magic  4 major 1  6 minor  8 section length  16 options
//!  interface       1          body: 0 link type  2 reserved  4 snap length  8 options
//!  packet          2          body: 0 interface  2 drops  4 time, high  8 time, low  12 kept  16 on the air  20 data
//!  simple packet   3          body: 0 on the air  4 data
//!  enhanced packet 6          body: 0 interface  4 time, high  8 time, low  12 kept  16 on the air  20 data
//!  option          octet 0 code  2 length  4 value, padded to a multiple of 4
//! ```
//! A section has the byte order of its header and numbers its interfaces from 0. Blocks of other types are skipped.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::{MAX_SNAP_LEN, PcapError, Record, Step, word};
use crate::bytes::array;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const MAJOR: u16 = 1;

const BODY: usize = 8;
/// Type and length in front of the body, and the length behind it.
const AROUND_BODY: usize = BODY + 4;
/// Wireshark's limit for a block that it must hold in memory.
const MAX_BLOCK_LEN: u32 = 16 << 20;

/// Limit of the interfaces of a section, as many as 16 bits number. An interface in memory is longer than its block.
const MAX_INTERFACES: usize = 1 << 16;

const SECTION_BODY_LEN: usize = 16;
const INTERFACE_BODY_LEN: usize = 8;
const PACKET_BODY_LEN: usize = 20;
const SIMPLE_PACKET_BODY_LEN: usize = 4;

const END_OF_OPTIONS: u16 = 0;
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;

const NS_PER_S: u128 = 1_000_000_000;

/// The state of the reader.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    big_endian: bool,
    /// The interfaces of the current section.
    interfaces: Vec<Interface>,
    /// Offset and length of the block being skipped, and the number of its octets still to skip.
    skipped: (u64, u64, u64),
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    link_type: u32,
    /// 0 for no limit.
    snap_len: u32,
    ticks_per_s: u128,
    /// Offset added to all timestamps, in seconds.
    offset_s: i64,
}

impl Interface {
    fn time_ns(&self, ticks: u64) -> u64 {
        let after_offset = u128::from(ticks) * NS_PER_S / self.ticks_per_s;
        let ns =
            i128::try_from(after_offset).unwrap_or(i128::MAX) + i128::from(self.offset_s) * 1_000_000_000;
        u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
    }
}

impl Blocks {
    /// Takes one step like [`Decoder::step`](super::Decoder::step), and adds interface link types to `link_types`.
    pub(super) fn step<'a>(
        &mut self,
        input: &'a [u8],
        offset: u64,
        record: u64,
        link_types: &mut BTreeSet<u32>,
    ) -> Result<Step<'a>, PcapError> {
        if self.skipped.2 > 0 {
            return Ok(self.skip(input));
        }
        if input.len() < AROUND_BODY {
            return Ok(Step::Need(AROUND_BODY));
        }
        let (kind, len) = self.header(input, offset)?;
        if !matches!(
            kind,
            SECTION | INTERFACE | PACKET | SIMPLE_PACKET | ENHANCED_PACKET
        ) {
            self.skipped = (offset, u64::from(len), u64::from(len));
            return Ok(self.skip(input));
        }
        if len > MAX_BLOCK_LEN {
            return Err(damaged(offset, "is longer than 16 MiB"));
        }
        let len = len as usize;
        if input.len() < len {
            return Ok(Step::Need(len));
        }
        let body = self.body(kind, &input[..len], offset)?;
        match kind {
            SECTION => {
                if self.half(body, 4) != MAJOR {
                    return Err(damaged(offset, "has an unsupported pcapng version"));
                }
                self.interfaces.clear();
                Ok(Step::Skip(len))
            }
            INTERFACE => {
                if self.interfaces.len() == MAX_INTERFACES {
                    return Err(damaged(
                        offset,
                        "defines more than 65536 interfaces in its section",
                    ));
                }
                let interface = self.interface(body);
                link_types.insert(interface.link_type);
                self.interfaces.push(interface);
                Ok(Step::Skip(len))
            }
            _ => {
                let (link_type, packet) = self.packet(kind, body, offset, record)?;
                Ok(Step::Record(link_type, packet, len))
            }
        }
    }

    /// Reads the type and length of a block. A section header sets the byte order.
    fn header(&mut self, input: &[u8], offset: u64) -> Result<(u32, u32), PcapError> {
        // The section type is a palindrome, so it reads the same in both byte orders.
        let is_section = word(input, 0, false) == SECTION;
        if is_section {
            self.big_endian = word(input, BODY, true) == BYTE_ORDER_MAGIC;
            if word(input, BODY, self.big_endian) != BYTE_ORDER_MAGIC {
                return Err(damaged(offset, "starts a section with an unknown byte order"));
            }
        }
        let (kind, len) = (self.word(input, 0), self.word(input, 4));
        if !len.is_multiple_of(4) || (len as usize) < AROUND_BODY {
            return Err(damaged(offset, "has an invalid length"));
        }
        Ok((kind, len))
    }

    /// The body of a complete block, with at least the fixed fields of its type.
    fn body<'a>(&self, kind: u32, block: &'a [u8], offset: u64) -> Result<&'a [u8], PcapError> {
        let end = block.len() - 4;
        if self.word(block, end) as usize != block.len() {
            return Err(damaged(offset, "has different lengths at its start and end"));
        }
        let body = &block[BODY..end];
        let least = match kind {
            SECTION => SECTION_BODY_LEN,
            INTERFACE => INTERFACE_BODY_LEN,
            SIMPLE_PACKET => SIMPLE_PACKET_BODY_LEN,
            _ => PACKET_BODY_LEN,
        };
        if body.len() < least {
            return Err(damaged(offset, "is shorter than its fields"));
        }
        Ok(body)
    }

    /// The record in the body of a packet block, with its link type.
    fn packet<'a>(
        &self,
        kind: u32,
        body: &'a [u8],
        offset: u64,
        record: u64,
    ) -> Result<(u32, Record<'a>), PcapError> {
        let (index, fixed, original_len) = match kind {
            SIMPLE_PACKET => (0, SIMPLE_PACKET_BODY_LEN, self.word(body, 0)),
            PACKET => (
                u32::from(self.half(body, 0)),
                PACKET_BODY_LEN,
                self.word(body, 16),
            ),
            _ => (self.word(body, 0), PACKET_BODY_LEN, self.word(body, 16)),
        };
        let interface = self
            .interfaces
            .get(index as usize)
            .ok_or_else(|| damaged(offset, "refers to an interface that the section does not define"))?;
        let (kept, ts_ns) = if kind == SIMPLE_PACKET {
            let limit = match interface.snap_len {
                0 => u32::MAX,
                limit => limit,
            };
            // Simple packets have no timestamp.
            (original_len.min(limit), 0)
        } else {
            let ticks = u64::from(self.word(body, 4)) << 32 | u64::from(self.word(body, 8));
            (self.word(body, 12), interface.time_ns(ticks))
        };
        if kept > MAX_SNAP_LEN {
            return Err(PcapError::Length {
                record,
                offset,
                len: kept,
            });
        }
        let data = body[fixed..]
            .get(..kept as usize)
            .ok_or_else(|| damaged(offset, "is shorter than its packet"))?;
        let record = Record {
            ts_ns,
            data,
            original_len,
        };
        Ok((interface.link_type, record))
    }

    /// Checks the end of the file like [`Decoder::finish`](super::Decoder::finish).
    pub(super) fn finish(&self, offset: u64, needed: usize, rest: usize) -> Result<(), PcapError> {
        match (self.skipped, rest) {
            ((offset, len, left), _) if left > 0 => Err(PcapError::TruncatedBlock {
                offset,
                needed: len,
                have: len - left + rest as u64,
            }),
            (_, 0) => Ok(()),
            _ => Err(PcapError::TruncatedBlock {
                offset,
                needed: needed as u64,
                have: rest as u64,
            }),
        }
    }

    fn skip<'a>(&mut self, input: &'a [u8]) -> Step<'a> {
        if input.is_empty() {
            return Step::Need(1);
        }
        let left = &mut self.skipped.2;
        let now = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
        *left -= now as u64;
        Step::Skip(now)
    }

    fn interface(&self, body: &[u8]) -> Interface {
        let mut interface = Interface {
            link_type: u32::from(self.half(body, 0)),
            snap_len: self.word(body, 4),
            ticks_per_s: 1_000_000,
            offset_s: 0,
        };
        let mut options = &body[INTERFACE_BODY_LEN..];
        while options.len() >= 4 {
            let (code, len) = (self.half(options, 0), usize::from(self.half(options, 2)));
            // An option that does not fit is ignored; no option can follow it.
            let Some(value) = options.get(4..4 + len).filter(|_| code != END_OF_OPTIONS) else {
                break;
            };
            match (code, value) {
                (IF_TSRESOL, &[resolution]) => {
                    let (base, power) = (
                        if resolution & 0x80 == 0 { 10u128 } else { 2 },
                        u32::from(resolution & 0x7f),
                    );
                    // On overflow the resolution is finer than any clock: all times become 0.
                    interface.ticks_per_s = base.checked_pow(power).unwrap_or(u128::MAX);
                }
                (IF_TSOFFSET, _) if len == 8 => {
                    let octets = array(value, 0);
                    interface.offset_s = if self.big_endian {
                        i64::from_be_bytes(octets)
                    } else {
                        i64::from_le_bytes(octets)
                    };
                }
                _ => {}
            }
            options = options.get(4 + len.next_multiple_of(4)..).unwrap_or_default();
        }
        interface
    }

    fn word(&self, octets: &[u8], at: usize) -> u32 {
        word(octets, at, self.big_endian)
    }

    fn half(&self, octets: &[u8], at: usize) -> u16 {
        let octets = array(octets, at);
        if self.big_endian {
            u16::from_be_bytes(octets)
        } else {
            u16::from_le_bytes(octets)
        }
    }
}

fn damaged(offset: u64, fault: &'static str) -> PcapError {
    PcapError::Block { offset, fault }
}
