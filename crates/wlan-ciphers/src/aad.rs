//! Additional authenticated data and nonce, IEEE 802.11-2020 12.5.3.3.3 and 12.5.3.3.4.
//!
//! ```text
//!  AAD    octet 0 FC, masked   2 A1   8 A2   14 A3   20 SC, masked   22 [A4]   22/28 [QC, masked]
//!  nonce  octet 0 priority (bits 0-3), management (bit 4)   1 A2   7 PN5 ... PN0
//! ```
//! Duration is left out and the masks clear what a retransmission may change. The HT Control field is not covered.

use wlan_frames::{FrameControl, FrameType, QosControl};

use crate::PacketNumber;

/// Octets of a nonce.
pub(crate) const NONCE_LEN: usize = 13;

const ADDRESSES: std::ops::Range<usize> = 4..22;
const ADDR2: std::ops::Range<usize> = 10..16;
const SEQUENCE: usize = 22;
const ADDR4: std::ops::Range<usize> = 24..30;

/// Frame Control bits 4 to 6: the subtype without its QoS bit.
const FC_SUBTYPE_LOW: u16 = 0x0070;
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

impl Priority {
    /// The nonce's first octet (12.5.3.3.4).
    fn nonce_flags(self) -> u8 {
        match self {
            Priority::Tid(tid) => tid,
            Priority::Management => MANAGEMENT_FLAG,
        }
    }
}

/// The MAC header of a frame that can be protected.
#[derive(Clone, Copy)]
pub(crate) struct Header<'a> {
    fc: FrameControl,
    octets: &'a [u8],
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
    pub(crate) fn parse(mpdu: &'a [u8]) -> Result<Header<'a>, HeaderError> {
        if mpdu.len() < 2 {
            return Err(HeaderError::Short);
        }
        let fc = FrameControl::parse(mpdu).map_err(|_| HeaderError::NotProtectable)?;
        let robust = fc.frame_type() == FrameType::Management && ROBUST_MANAGEMENT.contains(&fc.subtype());
        match fc.header_len() {
            Some(len) if fc.is_data_with_body() || robust => mpdu
                .get(..len)
                .map(|octets| Header { fc, octets })
                .ok_or(HeaderError::Short),
            _ => Err(HeaderError::NotProtectable),
        }
    }

    /// Length in octets, HT Control included.
    pub(crate) fn len(&self) -> usize {
        self.octets.len()
    }

    /// The frame's Protected bit.
    pub(crate) fn is_protected(&self) -> bool {
        self.fc.has(FrameControl::PROTECTED)
    }

    /// What the frame is numbered among.
    pub(crate) fn priority(&self) -> Priority {
        match self.fc.qos_offset() {
            Some(at) => Priority::Tid(QosControl(self.u16_at(at)).tid()),
            None if self.fc.frame_type() == FrameType::Management => Priority::Management,
            None => Priority::Tid(0),
        }
    }

    /// The AAD, the same whether or not the Protected bit is set yet.
    pub(crate) fn aad(&self) -> Aad {
        let mut aad = Aad {
            octets: [0; Aad::MAX_LEN],
            len: 0,
        };
        let mut clear = FrameControl::RETRY | FrameControl::POWER_MGMT | FrameControl::MORE_DATA;
        if self.fc.frame_type() == FrameType::Data {
            clear |= FC_SUBTYPE_LOW;
        }
        if self.fc.is_qos_data() {
            clear |= FrameControl::HTC_ORDER;
        }
        aad.push(&(self.fc.0 & !clear | FrameControl::PROTECTED).to_le_bytes());
        aad.push(&self.octets[ADDRESSES]);
        let fragment = self.u16_at(SEQUENCE) & 0xf;
        aad.push(&fragment.to_le_bytes());
        if self.fc.has_addr4() {
            aad.push(&self.octets[ADDR4]);
        }
        if let Some(at) = self.fc.qos_offset() {
            // A-MSDU Present is masked too, as between stations that did not both announce SPP A-MSDUs.
            aad.push(&(self.u16_at(at) & QosControl::TID_MASK).to_le_bytes());
        }
        aad
    }

    /// The nonce of the frame under this packet number.
    pub(crate) fn nonce(&self, pn: PacketNumber) -> [u8; NONCE_LEN] {
        let mut nonce = [0; NONCE_LEN];
        nonce[0] = self.priority().nonce_flags();
        nonce[1..7].copy_from_slice(&self.octets[ADDR2]);
        nonce[7..].copy_from_slice(&pn.be_octets());
        nonce
    }

    fn u16_at(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.octets[at], self.octets[at + 1]])
    }
}

/// Additional authenticated data: 22, 24, 28 or 30 octets.
pub(crate) struct Aad {
    octets: [u8; Self::MAX_LEN],
    len: usize,
}

impl Aad {
    const MAX_LEN: usize = 30;

    fn push(&mut self, octets: &[u8]) {
        self.octets[self.len..][..octets.len()].copy_from_slice(octets);
        self.len += octets.len();
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.octets[..self.len]
    }
}
