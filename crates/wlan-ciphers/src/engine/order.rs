//! The order in which the kernels process the frames of a batch.
//!
//! The kernels stop at the end of each frame only if no frame is longer than the frame before it, so memory safety
//! depends on the order. Only this module creates it.
#![allow(unsafe_code)]

use arrayvec::ArrayVec;

use super::pass::Pass;
use super::{Frame, protect_ordered};

/// Maximum octets of a payload: the length field of CCM has L = 2 octets (RFC 3610 section 2). All MPDUs that 802.11
/// can carry are far shorter (9.2.4.7.1), so GCMP has the same limit.
pub(crate) const MAX_PAYLOAD_LEN: usize = 0xffff;

/// Maximum frames that are processed together.
pub(crate) const WINDOW: usize = 128;

/// The indices of a window, in order.
const IN_PLACE: [u8; WINDOW] = {
    let mut places = [0; WINDOW];
    let mut i = 0;
    while i < WINDOW {
        places[i] = i as u8;
        i += 1;
    }
    places
};
const _: () = assert!(WINDOW <= 1 << u8::BITS);

/// Up to [`WINDOW`] frames that are processed together.
pub(crate) struct Window<'a, 'k> {
    frames: ArrayVec<Frame<'a, 'k>, WINDOW>,
}

impl<'a, 'k> Window<'a, 'k> {
    /// No frames.
    #[inline(always)]
    pub(crate) fn new() -> Window<'a, 'k> {
        Window {
            frames: ArrayVec::new(),
        }
    }

    /// Adds a frame.
    ///
    /// # Panics
    /// If the window is full.
    #[inline(always)]
    pub(crate) fn push(&mut self, frame: Frame<'a, 'k>) {
        self.frames.push(frame);
    }

    /// The frames, in the order in which they were added.
    #[inline(always)]
    pub(crate) fn frames(&mut self) -> &mut [Frame<'a, 'k>] {
        &mut self.frames
    }

    /// Makes a pass over each frame.
    ///
    /// # Panics
    /// If frames of several lengths or kinds have a payload longer than [`MAX_PAYLOAD_LEN`].
    pub(crate) fn protect<const PASS: Pass>(&mut self) {
        let frames = &mut self.frames[..];
        let Some(first) = frames.first() else {
            return;
        };
        let kind = first.kind();
        let one_key = frames.iter().all(|frame| core::ptr::eq(frame.key, first.key));
        let one_len = frames.iter().all(|frame| frame.len == first.len);
        let one_kind = one_key || frames.iter().all(|frame| frame.kind() == kind);
        // Most windows have frames of one kind and length, which require no sorting.
        if one_kind && one_len {
            let order = &IN_PLACE[..frames.len()];
            // SAFETY: the indices are distinct, and all payloads have the same length.
            return unsafe { protect_ordered::<PASS>(frames, order, one_key) };
        }
        // Sort by kind, then length from long to short, then index.
        let mut order: ArrayVec<u32, WINDOW> = ArrayVec::new();
        for (frame, place) in frames.iter().zip(0..) {
            let shortness = MAX_PAYLOAD_LEN.checked_sub(frame.len);
            let shortness = shortness.expect("no payload is longer than 65535 octets") as u32;
            order.push(u32::from(frame.kind().rank()) << 24 | shortness << 8 | place);
        }
        order.sort_unstable();
        let mut places: ArrayVec<u8, WINDOW> = ArrayVec::new();
        for rank in order {
            places.push(rank.to_le_bytes()[0]);
        }
        let mut rest = &places[..];
        while let [first, ..] = rest {
            let kind = frames[usize::from(*first)].kind();
            let alike = if one_kind {
                rest.len()
            } else {
                rest.iter()
                    .take_while(|&&place| frames[usize::from(place)].kind() == kind)
                    .count()
            };
            let (of_kind, others) = rest.split_at(alike);
            // SAFETY: the indices are distinct. Within a kind they are sorted from the longest payload to the shortest.
            unsafe { protect_ordered::<PASS>(frames, of_kind, one_key) };
            rest = others;
        }
    }
}
