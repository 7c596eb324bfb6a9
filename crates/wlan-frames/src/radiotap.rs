//! Radiotap: capture metadata in front of a frame (radiotap.org).
//!
//! ```text
//!  octet  0        1    2-3            4-7           then
//!         version  pad  header length  present bits  the fields in the order of their bits, each aligned to its own
//!         0        0    octets                       natural alignment counted from octet 0; all little-endian
//! ```
//! | bit | field | octets | alignment |
//! |---|---|---|---|
//! | 0 | TSFT, us | 8 | 8 |
//! | 1 | flags | 1 | 1 |
//! | 2 | rate, 500 kb/s | 1 | 1 |
//! | 3 | channel: MHz, flags | 4 | 2 |
//! | 5 | antenna signal, dBm | 1 | 1 |
//! | 6 | antenna noise, dBm | 1 | 1 |
//! | 19 | MCS: known, flags, index | 3 | 1 |
//! | 20 | A-MPDU status: reference, flags, CRC, reserved | 8 | 4 |
//! | 21 | VHT: known, flags, bandwidth, MCS and NSS of 4 users, coding, group, partial AID | 12 | 2 |

use crate::FrameError;
use crate::bytes::{array, get_u16, put};
use crate::error::need;

const BIT_TSFT: u32 = 0;
const BIT_FLAGS: u32 = 1;
const BIT_RATE: u32 = 2;
const BIT_CHANNEL: u32 = 3;
const BIT_ANTENNA_SIGNAL: u32 = 5;
const BIT_ANTENNA_NOISE: u32 = 6;
const BIT_MCS: u32 = 19;
const BIT_AMPDU: u32 = 20;
const BIT_VHT: u32 = 21;
/// Bits from 29 on are not fields: 29 and 30 switch the namespace, 31 adds a present word.
const BIT_EXTENDED: u32 = 31;

/// Length of the fixed part: version, padding, length, one word of present bits.
const FIXED_LEN: usize = 8;

/// (alignment, size) in octets of the fields of bits 0 to 21. Fields without a constant above are skipped.
const LAYOUT: [(usize, usize); 22] = [
    (8, 8),  // TSFT
    (1, 1),  // flags
    (1, 1),  // rate
    (2, 4),  // channel
    (2, 2),  // FHSS
    (1, 1),  // antenna signal, dBm
    (1, 1),  // antenna noise, dBm
    (2, 2),  // lock quality
    (2, 2),  // transmit attenuation
    (2, 2),  // transmit attenuation, dB
    (1, 1),  // transmit power, dBm
    (1, 1),  // antenna
    (1, 1),  // antenna signal, dB
    (1, 1),  // antenna noise, dB
    (2, 2),  // receive flags
    (2, 2),  // transmit flags
    (1, 1),  // RTS retries
    (1, 1),  // data retries
    (4, 8),  // extended channel
    (1, 3),  // MCS
    (4, 8),  // A-MPDU status
    (2, 12), // VHT
];

/// Flag: the frame was sent with the DSSS short preamble.
pub const FLAG_SHORT_PREAMBLE: u8 = 0x02;
/// Flag: the frame ends with its FCS.
pub const FLAG_FCS: u8 = 0x10;
/// Flag: padding follows the MAC header, up to a multiple of four octets; the FCS does not cover the padding.
pub const FLAG_DATA_PAD: u8 = 0x20;
/// Flag: the FCS of the frame was wrong.
pub const FLAG_BAD_FCS: u8 = 0x40;

/// Channel flag: DSSS or CCK.
pub const CHANNEL_CCK: u16 = 0x0020;
/// Channel flag: OFDM.
pub const CHANNEL_OFDM: u16 = 0x0040;
/// Channel flag: 2.4 GHz.
pub const CHANNEL_2GHZ: u16 = 0x0080;
/// Channel flag: 5 GHz.
pub const CHANNEL_5GHZ: u16 = 0x0100;
/// Channel flag: CCK and OFDM on one channel, as with HT in the 2.4 GHz band.
pub const CHANNEL_DYNAMIC: u16 = 0x0400;

/// The channel of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel {
    /// Centre frequency of the primary 20 MHz channel in MHz.
    pub freq_mhz: u16,
    /// Channel flags: the sum of `CHANNEL_` constants.
    pub flags: u16,
}

impl Channel {
    /// An OFDM channel of the 5 GHz band.
    #[must_use]
    pub fn ofdm_5ghz(freq_mhz: u16) -> Channel {
        Channel {
            freq_mhz,
            flags: CHANNEL_OFDM | CHANNEL_5GHZ,
        }
    }
}

/// Modulation of an HT frame. Only bandwidth, guard interval and index are marked as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mcs {
    /// The bandwidth is 40 MHz, not 20 MHz.
    pub forty_mhz: bool,
    /// The guard interval is 400 ns, not 800 ns.
    pub short_gi: bool,
    /// MCS index of IEEE 802.11-2020 19.5, 0 to 76.
    pub index: u8,
}

impl Mcs {
    const KNOWN_BANDWIDTH: u8 = 0x01;
    const KNOWN_INDEX: u8 = 0x02;
    const KNOWN_GI: u8 = 0x04;
    const KNOWN: u8 = Self::KNOWN_BANDWIDTH | Self::KNOWN_INDEX | Self::KNOWN_GI;
    const SHORT_GI: u8 = 0x04;
    /// Values 2 and 3 are the lower and upper 20 MHz halves of a 40 MHz channel.
    const BANDWIDTH_MASK: u8 = 0x03;
    const BANDWIDTH_40: u8 = 0x01;
}

/// Modulation of a single-user VHT frame with the convolutional code. Only bandwidth and guard interval are marked as
/// known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vht {
    /// Bandwidth.
    pub bandwidth: VhtBandwidth,
    /// The guard interval is 400 ns, not 800 ns.
    pub short_gi: bool,
    /// VHT-MCS index of IEEE 802.11-2020 21.5, 0 to 9.
    pub mcs: u8,
    /// Number of spatial streams, 1 to 8.
    pub streams: u8,
}

impl Vht {
    const KNOWN_GI: u16 = 0x0004;
    const KNOWN_BANDWIDTH: u16 = 0x0040;
    const KNOWN: u16 = Self::KNOWN_GI | Self::KNOWN_BANDWIDTH;
    const SHORT_GI: u8 = 0x04;
    const FLAGS: usize = 2;
    const BANDWIDTH: usize = 3;
    const MCS_NSS: usize = 4;
    /// The first user's bit is 0 for the convolutional code and 1 for LDPC.
    const CODING: usize = 8;

    /// Reads the field of a single-user frame with the convolutional code over the full channel; otherwise `None`.
    fn parse(field: &[u8]) -> Option<Vht> {
        let known = get_u16(field, 0) & Self::KNOWN == Self::KNOWN;
        let one_user = field[Self::MCS_NSS + 1..Self::CODING]
            .iter()
            .all(|&user| user & 0xf == 0);
        let streams = field[Self::MCS_NSS] & 0xf;
        if !known || !one_user || field[Self::CODING] & 1 == 1 || streams == 0 {
            return None;
        }
        Some(Vht {
            bandwidth: VhtBandwidth::ALL
                .into_iter()
                .find(|bandwidth| bandwidth.number() == field[Self::BANDWIDTH])?,
            short_gi: field[Self::FLAGS] & Self::SHORT_GI != 0,
            mcs: field[Self::MCS_NSS] >> 4,
            streams,
        })
    }

    fn emit(&self, field: &mut [u8]) {
        assert!(
            self.mcs < 16 && (1..16).contains(&self.streams),
            "VHT-MCS {} or {} streams do not fit 4 bits",
            self.mcs,
            self.streams
        );
        put(field, 0, Self::KNOWN.to_le_bytes());
        field[Self::FLAGS] = if self.short_gi { Self::SHORT_GI } else { 0 };
        field[Self::BANDWIDTH] = self.bandwidth.number();
        field[Self::MCS_NSS] = self.mcs << 4 | self.streams;
    }
}

/// Bandwidth of a VHT frame that occupies the full channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VhtBandwidth {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz, contiguous.
    Mhz160,
}

impl VhtBandwidth {
    /// All bandwidths.
    pub const ALL: [VhtBandwidth; 4] = [
        VhtBandwidth::Mhz20,
        VhtBandwidth::Mhz40,
        VhtBandwidth::Mhz80,
        VhtBandwidth::Mhz160,
    ];

    /// The number of radiotap. Numbers in between denote parts of a wider channel.
    const fn number(self) -> u8 {
        match self {
            VhtBandwidth::Mhz20 => 0,
            VhtBandwidth::Mhz40 => 1,
            VhtBandwidth::Mhz80 => 4,
            VhtBandwidth::Mhz160 => 11,
        }
    }
}

/// The A-MPDU that contained a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AmpduStatus {
    /// The same number for every subframe of one A-MPDU.
    pub reference: u32,
    /// Whether this is the last subframe, if known.
    pub last: Option<bool>,
    /// The EOF bit of the delimiter, if known: set before the single MPDU of a VHT S-MPDU (9.7.1).
    pub eof: Option<bool>,
}

impl AmpduStatus {
    const LAST_KNOWN: u16 = 0x04;
    const IS_LAST: u16 = 0x08;
    const EOF: u16 = 0x40;
    const EOF_KNOWN: u16 = 0x80;

    /// Encodes an optional bit: `known` marks it as known, `set` is its value.
    fn flag(of: Option<bool>, known: u16, set: u16) -> u16 {
        match of {
            None => 0,
            Some(false) => known,
            Some(true) => known | set,
        }
    }
}

/// A radiotap header with the fields that the emulated air uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Radiotap {
    /// MAC time at which the first octet of the frame arrived, in microseconds.
    pub tsft_us: Option<u64>,
    /// Properties of the frame: the sum of `FLAG_` constants.
    pub flags: Option<u8>,
    /// Rate of a frame that is neither HT nor VHT, in units of 500 kb/s: 12 is 6 Mb/s.
    pub rate_500kbps: Option<u8>,
    /// Channel of the frame.
    pub channel: Option<Channel>,
    /// Antenna signal power in dBm.
    pub antenna_signal_dbm: Option<i8>,
    /// Antenna noise power in dBm.
    pub antenna_noise_dbm: Option<i8>,
    /// Modulation of an HT frame.
    pub mcs: Option<Mcs>,
    /// The A-MPDU that contained the frame.
    pub ampdu: Option<AmpduStatus>,
    /// Modulation of a VHT frame.
    pub vht: Option<Vht>,
}

impl Radiotap {
    /// Length in octets of the longest header of this type, for buffers on the stack.
    pub const MAX_LEN: usize = 48;

    /// The word of present bits.
    fn present(&self) -> u32 {
        u32::from(self.tsft_us.is_some()) << BIT_TSFT
            | u32::from(self.flags.is_some()) << BIT_FLAGS
            | u32::from(self.rate_500kbps.is_some()) << BIT_RATE
            | u32::from(self.channel.is_some()) << BIT_CHANNEL
            | u32::from(self.antenna_signal_dbm.is_some()) << BIT_ANTENNA_SIGNAL
            | u32::from(self.antenna_noise_dbm.is_some()) << BIT_ANTENNA_NOISE
            | u32::from(self.mcs.is_some()) << BIT_MCS
            | u32::from(self.ampdu.is_some()) << BIT_AMPDU
            | u32::from(self.vht.is_some()) << BIT_VHT
    }

    /// Length in octets.
    #[allow(clippy::len_without_is_empty)]
    #[must_use]
    pub fn len(&self) -> usize {
        Fields::new(self.present(), FIXED_LEN)
            .last()
            .map_or(FIXED_LEN, |field| field.at + field.len)
    }

    /// Writes the header at the start of `buf` and returns its length in octets.
    ///
    /// # Panics
    /// If `buf` is shorter than [`len`](Self::len), or the VHT-MCS or number of streams does not fit 4 bits.
    pub fn emit(&self, buf: &mut [u8]) -> usize {
        let present = self.present();
        let len = self.len();
        buf[..len].fill(0);
        put(
            buf,
            2,
            u16::try_from(len).expect("at most 48 octets").to_le_bytes(),
        );
        put(buf, 4, present.to_le_bytes());
        for Field { bit, at, len } in Fields::new(present, FIXED_LEN) {
            match bit {
                BIT_TSFT => put(buf, at, self.tsft_us.unwrap_or_default().to_le_bytes()),
                BIT_FLAGS => buf[at] = self.flags.unwrap_or_default(),
                BIT_RATE => buf[at] = self.rate_500kbps.unwrap_or_default(),
                BIT_CHANNEL => {
                    if let Some(channel) = self.channel {
                        put(buf, at, channel.freq_mhz.to_le_bytes());
                        put(buf, at + 2, channel.flags.to_le_bytes());
                    }
                }
                BIT_ANTENNA_SIGNAL => put(buf, at, self.antenna_signal_dbm.unwrap_or_default().to_le_bytes()),
                BIT_ANTENNA_NOISE => put(buf, at, self.antenna_noise_dbm.unwrap_or_default().to_le_bytes()),
                BIT_MCS => {
                    if let Some(mcs) = self.mcs {
                        let bandwidth = if mcs.forty_mhz { Mcs::BANDWIDTH_40 } else { 0 };
                        let gi = if mcs.short_gi { Mcs::SHORT_GI } else { 0 };
                        put(buf, at, [Mcs::KNOWN, bandwidth | gi, mcs.index]);
                    }
                }
                BIT_AMPDU => {
                    if let Some(ampdu) = self.ampdu {
                        let last =
                            AmpduStatus::flag(ampdu.last, AmpduStatus::LAST_KNOWN, AmpduStatus::IS_LAST);
                        let eof = AmpduStatus::flag(ampdu.eof, AmpduStatus::EOF_KNOWN, AmpduStatus::EOF);
                        let flags = last | eof;
                        put(buf, at, ampdu.reference.to_le_bytes());
                        put(buf, at + 4, flags.to_le_bytes());
                    }
                }
                BIT_VHT => {
                    if let Some(vht) = self.vht {
                        vht.emit(&mut buf[at..at + len]);
                    }
                }
                _ => {}
            }
        }
        len
    }

    /// Reads the header at the start of `bytes` and returns it with its length in octets; the frame starts at that
    /// offset. Fields that this type lacks are skipped. An MCS field is dropped unless bandwidth, guard interval and
    /// index are known. A VHT field that [`Vht`] cannot represent is also dropped.
    ///
    /// # Errors
    /// [`FrameError::Truncated`]; [`FrameError::Version`]; [`FrameError::Field`] if the fields do not fit the length.
    pub fn parse(bytes: &[u8]) -> Result<(Radiotap, usize), FrameError> {
        const WHAT: &str = "a radiotap header";
        need(WHAT, bytes, FIXED_LEN)?;
        if bytes[0] != 0 {
            return Err(FrameError::Version(bytes[0]));
        }
        let len = usize::from(get_u16(bytes, 2));
        need(WHAT, bytes, len)?;
        let header = &bytes[..len];
        const OVERRUN: FrameError = FrameError::Field("the radiotap header is shorter than its fields");
        let mut start = 4;
        let present = word(header, start).ok_or(OVERRUN)?;
        let mut more = present;
        while more >> BIT_EXTENDED & 1 == 1 {
            start += 4;
            more = word(header, start).ok_or(OVERRUN)?;
        }
        let mut out = Radiotap::default();
        for Field { bit, at, len } in Fields::new(present, start + 4) {
            let field = header.get(at..at + len).ok_or(OVERRUN)?;
            match bit {
                BIT_TSFT => out.tsft_us = Some(u64::from_le_bytes(array(field, 0))),
                BIT_FLAGS => out.flags = Some(field[0]),
                BIT_RATE => out.rate_500kbps = Some(field[0]),
                BIT_CHANNEL => {
                    out.channel = Some(Channel {
                        freq_mhz: get_u16(field, 0),
                        flags: get_u16(field, 2),
                    });
                }
                BIT_ANTENNA_SIGNAL => out.antenna_signal_dbm = Some(i8::from_le_bytes([field[0]])),
                BIT_ANTENNA_NOISE => out.antenna_noise_dbm = Some(i8::from_le_bytes([field[0]])),
                BIT_MCS if field[0] & Mcs::KNOWN == Mcs::KNOWN => {
                    out.mcs = Some(Mcs {
                        forty_mhz: field[1] & Mcs::BANDWIDTH_MASK == Mcs::BANDWIDTH_40,
                        short_gi: field[1] & Mcs::SHORT_GI != 0,
                        index: field[2],
                    });
                }
                BIT_AMPDU => {
                    let flags = get_u16(field, 4);
                    let flag = |known, set| (flags & known != 0).then_some(flags & set != 0);
                    out.ampdu = Some(AmpduStatus {
                        reference: u32::from_le_bytes(array(field, 0)),
                        last: flag(AmpduStatus::LAST_KNOWN, AmpduStatus::IS_LAST),
                        eof: flag(AmpduStatus::EOF_KNOWN, AmpduStatus::EOF),
                    });
                }
                BIT_VHT => out.vht = Vht::parse(field),
                _ => {}
            }
        }
        Ok((out, len))
    }
}

/// Reads the little-endian word at `at`, or returns `None` past the end.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..at + 4)
        .map(|octets| u32::from_le_bytes(array(octets, 0)))
}

/// One field with its offset and length in octets.
struct Field {
    bit: u32,
    at: usize,
    len: usize,
}

/// Iterates over the fields of a present word in order, up to the last field in [`LAYOUT`].
struct Fields {
    present: u32,
    bit: u32,
    at: usize,
}

impl Fields {
    fn new(present: u32, first: usize) -> Fields {
        Fields {
            present,
            bit: 0,
            at: first,
        }
    }
}

impl Iterator for Fields {
    type Item = Field;

    fn next(&mut self) -> Option<Field> {
        while let Some(&(align, len)) = LAYOUT.get(self.bit as usize) {
            let bit = self.bit;
            self.bit += 1;
            if self.present >> bit & 1 == 1 {
                let at = self.at.next_multiple_of(align);
                self.at = at + len;
                return Some(Field { bit, at, len });
            }
        }
        None
    }
}
