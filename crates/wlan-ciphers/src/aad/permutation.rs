//! The blocks of a frame as a permutation of the octets of its header and of two numbers: the PN (6 octets) and the flags
//! of B0, then the length of the payload (CCM: 2 octets; GCM: 3, in bits), all least significant octet first.

use wlan_frames::frame_control::SUBTYPE_ACTION;
use wlan_frames::{FrameControl, QosControl};

use super::{ADDR4_AT, COUNTER_FLAGS, FRAGMENT_NUMBER, Layout, PARSED_LEN, Profile};
use crate::PacketNumber;
use crate::engine::{Numbers, Permutation};

/// A Frame Control of each shape of the AAD: Data, QoS Data, and both with A4; management.
const SHAPES: [FrameControl; 5] = [
    FrameControl(0x0008),
    FrameControl(0x0088),
    FrameControl(0x0308),
    FrameControl(0x0388),
    FrameControl((SUBTYPE_ACTION as u16) << 4),
];

/// The index of the Frame Control of the same shape in [`SHAPES`].
pub(super) const fn shape(fc: FrameControl, is_management: bool) -> u8 {
    if is_management {
        SHAPES.len() as u8 - 1
    } else {
        fc.is_qos_data() as u8 | (fc.has_addr4() as u8) << 1
    }
}

/// Without and with two SPP A-MSDU capable stations, by shape.
type Permutations = [[Permutation; SHAPES.len()]; 2];

static CCM_PERMUTATIONS: Permutations = Permutation::of_mode(false);
static GCM_PERMUTATIONS: Permutations = Permutation::of_mode(true);

impl Permutation {
    const COUNTER: usize = 0;
    const FIRST: usize = 16;
    const AAD: usize = 32;
    const PN: usize = PARSED_LEN;
    const B0_FLAGS: usize = Self::PN + 6;
    const LEN: usize = Self::PN + 8;

    const fn of_mode(gcm: bool) -> Permutations {
        let mut all = [const { [const { Permutation::none() }; SHAPES.len()] }; 2];
        let mut index = 0;
        while index < 2 * SHAPES.len() {
            let (spp, shape) = (index / SHAPES.len(), index % SHAPES.len());
            let layout = Layout::of(SHAPES[shape]);
            all[spp][shape] = if gcm {
                Self::of_gcm(&layout, spp)
            } else {
                Self::of_ccm(&layout, spp)
            };
            index += 1;
        }
        all
    }

    /// Zeros.
    const fn none() -> Permutation {
        Permutation {
            pick: [0; 64],
            keep: [0; 64],
            set: [0; 64],
        }
    }

    const fn of_ccm(layout: &Layout, spp: usize) -> Permutation {
        let mut all = Permutation::none();
        let blocks = [Self::COUNTER, Self::FIRST];
        let mut i = 0;
        while i < blocks.len() {
            if layout.tid_at < 64 {
                all.copy(blocks[i] + 1, ADDR4_AT + layout.tid_at as usize / 8, 1);
                all.keep[blocks[i] + 1] = QosControl::TID_MASK as u8;
            }
            all.set[blocks[i] + 1] = layout.nonce_flags;
            all.copy(blocks[i] + 2, 10, 6);
            all.reverse(blocks[i] + 8, Self::PN, 6);
            i += 1;
        }
        all.set[Self::COUNTER] = COUNTER_FLAGS;
        all.copy(Self::FIRST, Self::B0_FLAGS, 1);
        all.reverse(Self::FIRST + 14, Self::LEN, 2);
        all.set[Self::AAD + 1] = layout.aad_len;
        all.copy_aad(Self::AAD + 2, layout, spp);
        all
    }

    const fn of_gcm(layout: &Layout, spp: usize) -> Permutation {
        let mut all = Permutation::none();
        all.copy(Self::COUNTER, 10, 6);
        all.reverse(Self::COUNTER + 6, Self::PN, 6);
        all.set[Self::FIRST + 7] = 8 * layout.aad_len;
        all.reverse(Self::FIRST + 13, Self::LEN, 3);
        all.copy_aad(Self::AAD, layout, spp);
        all
    }

    /// The AAD from octet `at` on.
    const fn copy_aad(&mut self, at: usize, layout: &Layout, spp: usize) {
        let fc_mask = layout.fc_mask.to_le_bytes();
        self.copy(at, 0, 2);
        (self.keep[at], self.keep[at + 1]) = (fc_mask[0], fc_mask[1]);
        self.set[at + 1] = FrameControl::PROTECTED.to_le_bytes()[1];
        self.copy(at + 2, 4, 18);
        self.copy(at + 20, 22, 1);
        self.keep[at + 20] = FRAGMENT_NUMBER;
        let tail_mask = layout.tail_masks[spp].to_le_bytes();
        let mut i = 0;
        while i < tail_mask.len() {
            self.copy(at + 22 + i, ADDR4_AT + i, 1);
            self.keep[at + 22 + i] = tail_mask[i];
            i += 1;
        }
    }

    const fn copy(&mut self, at: usize, from: usize, len: usize) {
        let mut i = 0;
        while i < len {
            self.pick[at + i] = (from + i) as u8;
            self.keep[at + i] = 0xff;
            i += 1;
        }
    }

    const fn reverse(&mut self, at: usize, from: usize, len: usize) {
        let mut i = 0;
        while i < len {
            self.copy(at + i, from + len - 1 - i, 1);
            i += 1;
        }
    }
}

/// The numbers after the header in the source of the permutation.
#[inline(always)]
pub(super) fn numbers(profile: Profile, pn: PacketNumber, payload_len: usize) -> Numbers {
    let len = payload_len as u64;
    let len = if profile.is_gcm() { 8 * len } else { len };
    [pn.get() | u64::from(profile.b0_flags()) << 48, len]
}

/// The permutation that gives the blocks of a frame with this layout.
#[inline(always)]
pub(super) fn of(layout: &Layout, profile: Profile) -> &'static Permutation {
    let permutations = if profile.is_gcm() {
        &GCM_PERMUTATIONS
    } else {
        &CCM_PERMUTATIONS
    };
    &permutations[usize::from(profile.is_spp_amsdu())][usize::from(layout.shape)]
}
