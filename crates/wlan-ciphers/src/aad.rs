//! Additional authenticated data and nonces, IEEE 802.11-2020 12.5.3.3.3, 12.5.3.3.4, 12.5.5.3.3 and 12.5.5.3.4.
//!
//! ```text
//!  AAD         octet 0 FC, masked   2 A1   8 A2   14 A3   20 SC, masked   22 [A4]   22/28 [QC, masked]
//!  CCM nonce   octet 0 priority (bits 0-3), management (bit 4)   1 A2   7 PN5 ... PN0
//!  GCM nonce   octet 0 A2   6 PN5 ... PN0
//! ```
//! Duration is omitted, and the masks clear the bits that a retransmission may change. The HT Control field is not
//! covered. QC keeps the TID, and A-MSDU Present if both stations are SPP A-MSDU capable. The AAD has 22 to 30 octets:
//! always two AES blocks, even with the length field that CCM prepends.

// A payload length fits the two octets that RFC 3610 gives it.
#![allow(clippy::cast_possible_truncation)]

mod permutation;

use wlan_frames::frame_control::{SUBTYPE_ACTION, SUBTYPE_DEAUTHENTICATION, SUBTYPE_DISASSOCIATION};
use wlan_frames::{FrameControl, FrameError, FrameType, QosControl};

use crate::PacketNumber;
use crate::engine::{Blocks, BlocksInOrder, Machine, Mode, Permutation};

/// Flags of the counter blocks: L = 2 (RFC 3610 section 2.3).
const COUNTER_FLAGS: u8 = 0x01;

/// Octets from which all fields of the AAD and of the nonce come. A protected MPDU is at least as long.
const PARSED_LEN: usize = 32;

/// Offset of A4 if present, else of the first field after Sequence Control.
const ADDR4_AT: usize = 24;

/// Bits of the first octet of Sequence Control.
const FRAGMENT_NUMBER: u8 = 0x0f;

/// Frame Control bits 4 to 6: the subtype without its QoS bit.
const FC_SUBTYPE_LOW: u16 = 0x0070;
/// Management bit of the first octet of a CCM nonce (12.5.3.3.4).
const MANAGEMENT_FLAG: u8 = 0x10;

/// Bit of QoS Control (9.2.4.5.9).
const AMSDU_PRESENT: u64 = 1 << 7;

/// The sequence in which a frame is numbered and checked for replay: a TID, or robust management frames (12.5.3.4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Priority {
    /// Data frames of one TID, 0 to 15. Frames without QoS have TID 0.
    Tid(u8),
    /// Individually addressed robust management frames.
    Management,
}

/// How to process a header with a given Frame Control.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// Octets, HT Control included; 0 for kinds of frames that are never protected.
    len: u8,
    /// Octets of the AAD.
    aad_len: u8,
    /// Bits of the AAD, most significant octet first.
    aad_bits: u64,
    /// Bit offset of the TID in octets 24 to 31; 64 if there is no TID.
    tid_at: u8,
    /// First octet of a CCM nonce, without the TID.
    nonce_flags: u8,
    /// The bits of Frame Control that the AAD keeps.
    fc_mask: u16,
    /// The bits of octets 24 to 31 that the AAD keeps: A4 and the TID, where present. The second mask, for two SPP
    /// A-MSDU capable stations, also keeps A-MSDU Present.
    tail_masks: [u64; 2],
    /// Index of its permutation.
    shape: u8,
}

/// Indexed by type and subtype, ToDS and FromDS, +HTC.
static LAYOUTS: [Layout; 512] = {
    let mut layouts = [Layout::of(FrameControl(0)); 512];
    let mut index = 0;
    while index < layouts.len() as u16 {
        layouts[index as usize] = Layout::of(FrameControl(
            (index & 0x3f) << 2 | (index >> 6 & 3) << 8 | (index >> 8) << 15,
        ));
        index += 1;
    }
    layouts
};

impl Layout {
    const fn of(fc: FrameControl) -> Layout {
        // The frames that can be robust (12.2.8).
        let is_management = matches!(fc.frame_type(), FrameType::Management)
            && matches!(
                fc.subtype(),
                SUBTYPE_DISASSOCIATION | SUBTYPE_DEAUTHENTICATION | SUBTYPE_ACTION
            );
        let mut fc_mask = !(FrameControl::RETRY | FrameControl::POWER_MGMT | FrameControl::MORE_DATA);
        if fc.is_data_with_body() {
            fc_mask &= !FC_SUBTYPE_LOW;
        }
        if fc.is_qos_data() {
            fc_mask &= !FrameControl::HTC_ORDER;
        }
        let (mut aad_len, mut tail_masks, mut tid_at) = (22, [0; 2], 64);
        if fc.has_addr4() {
            aad_len += 6;
            tail_masks = [0xffff_ffff_ffff; 2];
        }
        if let Some(qos_at) = fc.qos_offset() {
            aad_len += 2;
            tid_at = 8 * (qos_at - ADDR4_AT) as u8;
            let tid = (QosControl::TID_MASK as u64) << tid_at;
            tail_masks[0] |= tid;
            tail_masks[1] |= tid | AMSDU_PRESENT << tid_at;
        }
        Layout {
            len: match fc.header_len() {
                Some(len) if fc.is_data_with_body() || is_management => len as u8,
                _ => 0,
            },
            aad_len,
            aad_bits: (aad_len as u64 * 8).swap_bytes(),
            tid_at,
            nonce_flags: if is_management { MANAGEMENT_FLAG } else { 0 },
            fc_mask,
            tail_masks,
            shape: permutation::shape(fc, is_management),
        }
    }
}

/// The MAC header of a frame that can be protected.
#[derive(Clone, Copy)]
pub(crate) struct Header<'a> {
    fc: FrameControl,
    layout: &'static Layout,
    /// The fields of the AAD. The header may end after octet 23.
    octets: &'a [u8; PARSED_LEN],
}

/// The properties of a key on which the parsing of its frames and their input blocks depend.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Profile(u32);

impl Profile {
    const GCM: u32 = 1 << 16;
    const SPP_AMSDU: u32 = 1 << 17;

    /// `b0_flags`: flags of B0 (RFC 3610 section 2.2), unused by GCM. `mic_len` is at most 255.
    pub(crate) const fn new(mode: Mode, b0_flags: u8, mic_len: usize) -> Profile {
        let gcm = if matches!(mode, Mode::Gcm) {
            Profile::GCM
        } else {
            0
        };
        Profile(b0_flags as u32 | (mic_len as u32) << 8 | gcm)
    }

    /// Whether both stations are SPP A-MSDU capable.
    pub(crate) fn with_spp_amsdu(self, on: bool) -> Profile {
        Profile(self.0 & !Profile::SPP_AMSDU | if on { Profile::SPP_AMSDU } else { 0 })
    }

    #[inline(always)]
    pub(crate) fn mic_len(self) -> usize {
        usize::from(self.0.to_le_bytes()[1])
    }

    #[inline(always)]
    fn b0_flags(self) -> u8 {
        self.0.to_le_bytes()[0]
    }

    #[inline(always)]
    fn is_gcm(self) -> bool {
        self.0 & Profile::GCM != 0
    }

    #[inline(always)]
    fn is_spp_amsdu(self) -> bool {
        self.0 & Profile::SPP_AMSDU != 0
    }
}

/// How to build the input blocks of the frames that have one Frame Control and keys of one profile.
#[derive(Clone, Copy)]
pub(crate) struct Recipe {
    profile: Profile,
    fc: FrameControl,
    layout: &'static Layout,
    permutation: &'static Permutation,
}

/// Why octets are not a header that can be protected.
pub(crate) enum HeaderError {
    /// The octets end within the header.
    Short,
    /// Frames of this kind are never protected.
    NotProtectable,
}

impl From<FrameError> for HeaderError {
    #[inline]
    fn from(error: FrameError) -> HeaderError {
        match error {
            FrameError::Truncated { .. } => HeaderError::Short,
            _ => HeaderError::NotProtectable,
        }
    }
}

impl Recipe {
    /// A recipe that no frame matches.
    pub(crate) fn none() -> Recipe {
        Recipe {
            profile: Profile(u32::MAX),
            fc: FrameControl(0),
            layout: &LAYOUTS[0],
            permutation: permutation::of(&LAYOUTS[0], Profile(0)),
        }
    }

    /// The header at the start of `mpdu`, if it and the profile match the recipe.
    #[inline(always)]
    pub(crate) fn header<'a>(&self, profile: Profile, mpdu: &'a [u8]) -> Option<Header<'a>> {
        let (fc, layout) = (self.fc, self.layout);
        let octets: &[u8; PARSED_LEN] = mpdu.first_chunk()?;
        let [low, high, ..] = *octets;
        let matches = u16::from_le_bytes([low, high]) == fc.0 && profile == self.profile;
        (matches && mpdu.len() >= usize::from(layout.len)).then_some(Header { fc, layout, octets })
    }

    /// The input blocks of a frame with a matching header, for a payload of `payload_len` octets, at most 65535.
    #[inline(always)]
    pub(crate) fn blocks<M: Machine>(
        &self,
        m: M,
        header: &Header<'_>,
        pn: PacketNumber,
        payload_len: usize,
    ) -> BlocksInOrder {
        if M::PERMUTES {
            let numbers = permutation::numbers(self.profile, pn, payload_len);
            m.permute(header.octets, numbers, self.permutation)
        } else {
            header.blocks(self.profile, pn, payload_len)
        }
    }
}

impl<'a> Header<'a> {
    /// Parses the header at the start of `mpdu`.
    #[inline(always)]
    pub(crate) fn parse(mpdu: &'a [u8]) -> Result<Header<'a>, HeaderError> {
        let Some(&fc) = mpdu.first_chunk() else {
            return Err(HeaderError::Short);
        };
        let fc = FrameControl(u16::from_le_bytes(fc));
        let layout = &LAYOUTS[usize::from(fc.0 >> 2 & 0x3f | (fc.0 >> 8 & 3) << 6 | (fc.0 >> 15) << 8)];
        if layout.len == 0 || fc.version() != 0 {
            return Err(HeaderError::NotProtectable);
        }
        if mpdu.len() < usize::from(layout.len) {
            return Err(HeaderError::Short);
        }
        // A header that ends before, with a cipher header and a MIC after it, has more octets.
        let octets = mpdu.first_chunk().ok_or(HeaderError::Short)?;
        Ok(Header { fc, layout, octets })
    }

    /// Length in octets, HT Control included.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.layout.len)
    }

    /// The frame's Protected bit.
    #[inline(always)]
    pub(crate) fn is_protected(&self) -> bool {
        self.fc.has(FrameControl::PROTECTED)
    }

    /// The priority whose packet number sequence the frame belongs to.
    #[inline(always)]
    pub(crate) fn priority(&self) -> Priority {
        if self.layout.nonce_flags == MANAGEMENT_FLAG {
            Priority::Management
        } else {
            Priority::Tid(self.tid() as u8)
        }
    }

    /// The TID, or 0 without QoS.
    #[inline(always)]
    fn tid(&self) -> u64 {
        // The mask clears the bits above the TID.
        (self.tail() & self.layout.tail_masks[0])
            .checked_shr(u32::from(self.layout.tid_at))
            .unwrap_or(0)
    }

    /// Octets 24 to 31, least significant octet first.
    #[inline(always)]
    fn tail(&self) -> u64 {
        self.eight(ADDR4_AT)
    }

    /// The AAD after Sequence Control: A4 if present, the TID of QoS Control and, for SPP A-MSDUs, A-MSDU Present
    /// (12.5.3.3.3).
    #[inline(always)]
    fn aad_tail(&self, spp_amsdu: bool) -> u64 {
        self.tail() & self.layout.tail_masks[usize::from(spp_amsdu)]
    }

    /// Frame Control as in the AAD. The result does not depend on the Protected bit.
    #[inline(always)]
    fn masked_fc(&self) -> u64 {
        u64::from(self.fc.0 & self.layout.fc_mask | FrameControl::PROTECTED)
    }

    /// Eight octets of the header, starting at `at`, as a little-endian number.
    #[inline(always)]
    fn eight(&self, at: usize) -> u64 {
        let mut octets = [0; 8];
        octets.copy_from_slice(&self.octets[at..at + 8]);
        u64::from_le_bytes(octets)
    }

    /// A3 and Sequence Control as in the AAD: the sequence number is masked, the fragment number is not.
    #[inline(always)]
    fn addr3_fragment(&self) -> u64 {
        self.eight(16) & (u64::from(FRAGMENT_NUMBER) << 48 | 0xffff_ffff_ffff)
    }

    /// The recipe for frames with this Frame Control.
    #[inline(always)]
    pub(crate) fn recipe(&self, profile: Profile) -> Recipe {
        Recipe {
            profile,
            fc: self.fc,
            layout: self.layout,
            permutation: permutation::of(self.layout, profile),
        }
    }

    /// The input blocks of a frame with this header, for a payload of `payload_len` octets, at most 65535.
    #[inline(always)]
    pub(crate) fn blocks(&self, profile: Profile, pn: PacketNumber, payload_len: usize) -> BlocksInOrder {
        let spp_amsdu = profile.is_spp_amsdu();
        if profile.is_gcm() {
            self.gcm_blocks(pn, payload_len, spp_amsdu).into()
        } else {
            self.ccm_blocks(pn, profile.b0_flags(), payload_len, spp_amsdu)
                .into()
        }
    }

    /// The input blocks of CCM for these flags of B0 and a payload of `payload_len` octets, at most 65535 (RFC 3610
    /// section 2). `spp_amsdu`: both stations are SPP A-MSDU capable.
    #[inline(always)]
    pub(crate) fn ccm_blocks(
        &self,
        pn: PacketNumber,
        b0_flags: u8,
        payload_len: usize,
        spp_amsdu: bool,
    ) -> Blocks {
        // Flags, priority, A2; then the PN and the count or length, each with the most significant octet first.
        let nonce = (self.tid() | u64::from(self.layout.nonce_flags)) << 8 | self.eight(8) & !0xffff;
        let block = |flags: u8, last: u16| {
            let high = pn.get() << 16 | u64::from(last);
            join(nonce | u64::from(flags), high.swap_bytes())
        };
        // Length with the most significant octet first, Frame Control, A1, A2.
        let start = u64::from(self.layout.aad_len) << 8 | self.masked_fc() << 16;
        Blocks {
            counter: block(COUNTER_FLAGS, 0),
            first: block(b0_flags, payload_len as u16),
            aad_1: join(start | self.eight(0) & !0xffff_ffff, self.eight(8)),
            aad_2: join(self.addr3_fragment(), self.aad_tail(spp_amsdu)),
        }
    }

    /// The input blocks of GCM (NIST SP 800-38D 7.1) for a payload of `payload_len` octets. `spp_amsdu`: both stations
    /// are SPP A-MSDU capable.
    #[inline(always)]
    pub(crate) fn gcm_blocks(&self, pn: PacketNumber, payload_len: usize, spp_amsdu: bool) -> Blocks {
        let aad_tail = self.aad_tail(spp_amsdu);
        let addr2_addr3 = self.eight(10);
        // PN with the most significant octet first.
        let number = pn.get().swap_bytes() >> 16;
        Blocks {
            counter: join(addr2_addr3 & 0xffff_ffff_ffff | number << 48, number >> 16),
            first: join(self.layout.aad_bits, (payload_len as u64 * 8).swap_bytes()),
            aad_1: join(self.masked_fc() | self.eight(2) & !0xffff, addr2_addr3),
            aad_2: join(self.addr3_fragment() >> 16 | aad_tail << 48, aad_tail >> 16),
        }
    }
}

/// A block from its first and second half, each little-endian.
#[inline(always)]
fn join(first: u64, second: u64) -> u128 {
    u128::from(second) << 64 | u128::from(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::{Backend, Schedule, Task, perform};

    struct Build<'h>(Recipe, Header<'h>, PacketNumber, usize);

    impl Task for Build<'_> {
        type Output = [[u8; 16]; 4];

        fn run<M: Machine>(self, m: M) -> [[u8; 16]; 4] {
            let Build(recipe, header, pn, payload_len) = self;
            *recipe.blocks(m, &header, pn, payload_len).as_octets()
        }
    }

    proptest! {
        #[test]
        fn all_machines_build_the_same_blocks(
            mut mpdu: [[u8; 16]; 4],
            flags in (0_u16..16).prop_map(|bits| bits << 11),
            pn in 0..=PacketNumber::MAX.get(),
            b0_flags: u8,
            payload_len in 0_usize..=0xffff,
            spp_amsdu: bool,
        ) {
            let mpdu = mpdu.as_flattened_mut();
            let kinds: Vec<_> = Backend::available()
                .map(|backend| Schedule::new(&[0; 16], Mode::Ccm, backend).unwrap().kind)
                .collect();
            let pn = PacketNumber::new(pn).unwrap();
            for of_layout in 0..LAYOUTS.len() as u16 {
                let fc = (of_layout & 0x3f) << 2 | (of_layout >> 6 & 3) << 8 | (of_layout >> 8) << 15 | flags;
                mpdu[..2].copy_from_slice(&fc.to_le_bytes());
                let Ok(header) = Header::parse(mpdu) else { continue };
                for mode in [Mode::Ccm, Mode::Lanes(4), Mode::Gcm] {
                    let profile = Profile::new(mode, b0_flags, 8).with_spp_amsdu(spp_amsdu);
                    let (expected, recipe) = (header.blocks(profile, pn, payload_len), header.recipe(profile));
                    for &kind in &kinds {
                        let header = recipe.header(profile, mpdu).unwrap();
                        let found = perform(kind, Build(recipe, header, pn, payload_len));
                        prop_assert_eq!(&found, expected.as_octets(), "{:04x} {:?}", fc, kind);
                    }
                }
            }
        }
    }
}
