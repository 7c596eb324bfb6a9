//! Additional authenticated data and nonces, IEEE 802.11-2020 12.5.3.3.3, 12.5.3.3.4, 12.5.5.3.3 and 12.5.5.3.4.
//!
//! ```text
//!  AAD         octet 0 FC, masked   2 A1   8 A2   14 A3   20 SC, masked   22 [A4]   22/28 [QC, masked]
//!  CCM nonce   octet 0 priority (bits 0-3), management (bit 4)   1 A2   7 PN5 ... PN0
//!  GCM nonce   octet 0 A2   6 PN5 ... PN0
//! ```
//! Duration is left out and the masks clear what a retransmission may change. The HT Control field is not covered.
//! The AAD has 22 to 30 octets, so it is always two AES blocks, also with the length that CCM puts in front.

// The length of a payload fits the octets that RFC 3610 gives it.
#![allow(clippy::cast_possible_truncation)]

use wlan_frames::{FrameControl, FrameType, QosControl};

use crate::PacketNumber;
use crate::engine::Blocks;

/// Flags of the counter blocks: L = 2 (RFC 3610 section 2.3).
const COUNTER_FLAGS: u8 = 0x01;

const ADDR4: std::ops::Range<usize> = 24..30;
const TID_MASK: u8 = QosControl::TID_MASK.to_le_bytes()[0];

/// Frame Control bits 4 to 6: the subtype without its QoS bit.
const FC_SUBTYPE_LOW: u16 = 0x0070;
/// In the first octet of a CCM nonce (12.5.3.3.4).
const MANAGEMENT_FLAG: u8 = 0x10;

/// Subtypes of management frames that can be robust: Disassociation, Deauthentication, Action (12.2.8).
const ROBUST_MANAGEMENT: [u8; 3] = [10, 12, 13];

/// What a frame is numbered and replay-checked among: a TID, or robust management frames (12.5.3.4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Priority {
    /// Data frames of one TID, 0 to 15; those without QoS are of TID 0.
    Tid(u8),
    /// Individually addressed robust management frames.
    Management,
}

/// What Frame Control says of a header. Frames of a batch mostly have the same, so it is worth keeping.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    fc: FrameControl,
    /// Octets, HT Control included.
    len: usize,
    is_management: bool,
    has_addr4: bool,
    /// Where QoS Control is, or 0.
    qos_at: usize,
    /// Frame Control as the AAD has it, the same whether or not the Protected bit is set yet.
    masked_fc: u64,
}

impl Layout {
    /// The layout of no frame: its protocol version is none that is protected.
    pub(crate) const NONE: Layout = Layout {
        fc: FrameControl(0xffff),
        len: usize::MAX,
        is_management: false,
        has_addr4: false,
        qos_at: 0,
        masked_fc: 0,
    };

    /// That of the frame in `mpdu`, which holds at least the header; `last` is any, and is returned if it is the same.
    #[inline(always)]
    pub(crate) fn of(mpdu: &[u8], last: Layout) -> Result<Layout, HeaderError> {
        let Some(&fc) = mpdu.first_chunk() else {
            return Err(HeaderError::Short);
        };
        let layout = if u16::from_le_bytes(fc) == last.fc.0 {
            last
        } else {
            Layout::new(fc)?
        };
        if mpdu.len() < layout.len {
            return Err(HeaderError::Short);
        }
        Ok(layout)
    }

    fn new(fc: [u8; 2]) -> Result<Layout, HeaderError> {
        let fc = FrameControl::parse(&fc).map_err(|_| HeaderError::NotProtectable)?;
        let (is_data, is_management) = (
            fc.is_data_with_body(),
            fc.frame_type() == FrameType::Management && ROBUST_MANAGEMENT.contains(&fc.subtype()),
        );
        let mut clear = FrameControl::RETRY | FrameControl::POWER_MGMT | FrameControl::MORE_DATA;
        if is_data {
            clear |= FC_SUBTYPE_LOW;
        }
        if fc.is_qos_data() {
            clear |= FrameControl::HTC_ORDER;
        }
        match fc.header_len() {
            Some(len) if is_data || is_management => Ok(Layout {
                fc,
                len,
                is_management,
                has_addr4: fc.has_addr4(),
                qos_at: fc.qos_offset().unwrap_or(0),
                masked_fc: u64::from(fc.0 & !clear | FrameControl::PROTECTED),
            }),
            _ => Err(HeaderError::NotProtectable),
        }
    }

    /// Length of the header in octets, HT Control included.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

/// The MAC header of a frame that can be protected.
#[derive(Clone, Copy)]
pub(crate) struct Header<'a> {
    layout: Layout,
    /// All but what only some frames have.
    fixed: &'a [u8; 24],
    /// What the AAD has after Sequence Control: A4 if there is one, TID if there is one, least significant octet first.
    aad_tail: u64,
    aad_len: u8,
    tid: u8,
}

/// Why octets are no such header.
pub(crate) enum HeaderError {
    /// The octets end within it.
    Short,
    /// The frame is of a kind that is never protected.
    NotProtectable,
}

impl<'a> Header<'a> {
    /// Takes the header off the front of `mpdu`.
    #[inline]
    pub(crate) fn parse(mpdu: &'a [u8]) -> Result<Header<'a>, HeaderError> {
        Header::parse_as(mpdu, Layout::of(mpdu, Layout::NONE)?)
    }

    /// Takes the header off the front of `mpdu`, whose layout is known.
    #[inline(always)]
    pub(crate) fn parse_as(mpdu: &'a [u8], layout: Layout) -> Result<Header<'a>, HeaderError> {
        let Some(fixed) = mpdu.first_chunk() else {
            return Err(HeaderError::Short);
        };
        let (mut aad_tail, mut aad_len, mut tid) = (0, 22, 0);
        if layout.has_addr4 {
            let mut octets = [0; 8];
            octets.copy_from_slice(&mpdu[ADDR4.end - 8..ADDR4.end]);
            aad_tail = u64::from_le_bytes(octets) >> 16;
            aad_len = 28;
        }
        if layout.qos_at > 0 {
            // A-MSDU Present is masked too, as between stations that did not both announce SPP A-MSDUs.
            tid = mpdu[layout.qos_at] & TID_MASK;
            aad_tail |= u64::from(tid) << (8 * (aad_len - 22));
            aad_len += 2;
        }
        Ok(Header {
            layout,
            fixed,
            aad_tail,
            aad_len,
            tid,
        })
    }

    /// Length in octets, HT Control included.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.layout.len
    }

    /// The frame's Protected bit.
    #[inline(always)]
    pub(crate) fn is_protected(&self) -> bool {
        self.layout.fc.has(FrameControl::PROTECTED)
    }

    /// What the frame is numbered among.
    #[inline(always)]
    pub(crate) fn priority(&self) -> Priority {
        if self.layout.is_management {
            Priority::Management
        } else {
            Priority::Tid(self.tid)
        }
    }

    /// Eight octets of the header from `at` on, as a number.
    #[inline(always)]
    fn eight(&self, at: usize) -> u64 {
        let mut octets = [0; 8];
        octets.copy_from_slice(&self.fixed[at..at + 8]);
        u64::from_le_bytes(octets)
    }

    /// A3 and Sequence Control as the AAD has them: the sequence number is masked, the fragment number is not.
    #[inline(always)]
    fn addr3_fragment(&self) -> u64 {
        self.eight(16) & 0x000f_ffff_ffff_ffff
    }

    /// What CCM takes, for these flags of B0 and a payload of `payload_len`, at most 65535 (RFC 3610 section 2).
    #[inline(always)]
    pub(crate) fn ccm_blocks(&self, pn: PacketNumber, b0_flags: u8, payload_len: usize) -> Blocks {
        let priority = match self.priority() {
            Priority::Tid(tid) => tid,
            Priority::Management => MANAGEMENT_FLAG,
        };
        // Flags, priority, A2; then PN from its most significant octet on, count or length likewise.
        let nonce = u64::from(priority) << 8 | self.eight(8) & !0xffff;
        let block = |flags: u8, last: u16| {
            let high = pn.get() << 16 | u64::from(last);
            join(nonce | u64::from(flags), high.swap_bytes())
        };
        // Length from its most significant octet on, Frame Control, A1, A2.
        let start = u64::from(self.aad_len) << 8 | self.layout.masked_fc << 16;
        Blocks {
            counter: block(COUNTER_FLAGS, 0),
            first: block(b0_flags, payload_len as u16),
            aad_1: join(start | self.eight(0) & !0xffff_ffff, self.eight(8)),
            aad_2: join(self.addr3_fragment(), self.aad_tail),
        }
    }

    /// What GCM takes (NIST SP 800-38D 7.1).
    #[inline(always)]
    pub(crate) fn gcm_blocks(&self, pn: PacketNumber, payload_len: usize) -> Blocks {
        let addr2_addr3 = self.eight(10);
        // PN from its most significant octet on.
        let number = pn.get().swap_bytes() >> 16;
        let bits = |octets: usize| (octets as u64 * 8).swap_bytes();
        Blocks {
            counter: join(addr2_addr3 & 0xffff_ffff_ffff | number << 48, number >> 16),
            first: join(bits(usize::from(self.aad_len)), bits(payload_len)),
            aad_1: join(self.layout.masked_fc | self.eight(2) & !0xffff, addr2_addr3),
            aad_2: join(
                self.addr3_fragment() >> 16 | self.aad_tail << 48,
                self.aad_tail >> 16,
            ),
        }
    }
}

/// A block of two halves, the first in front.
#[inline(always)]
fn join(first: u64, second: u64) -> u128 {
    u128::from(second) << 64 | u128::from(first)
}
