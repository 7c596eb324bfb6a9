//! The order in which the kernels take the frames of a batch.
//!
//! The kernels stop at a frame's end only where shorter frames follow longer ones, so the order is a matter of memory
//! safety. It is made here and nowhere else.
#![allow(unsafe_code)]

use arrayvec::ArrayVec;

use super::pass::Pass;
use super::{Frame, protect_ordered};

/// The most octets of a payload: the length field of CCM has L = 2 octets (RFC 3610 section 2). No MPDU that 802.11
/// can carry comes near (9.2.4.7.1), so GCMP is held to it too.
pub(crate) const MAX_PAYLOAD_LEN: usize = 0xffff;

/// The most frames that are ordered together.
pub(crate) const WINDOW: usize = 128;

/// The places of a window, in order.
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

/// Orders up to [`WINDOW`] frames by kind and length, and makes a pass over each.
///
/// # Panics
/// If there are more frames, or if a payload is longer than [`MAX_PAYLOAD_LEN`] in a batch of several lengths.
pub(crate) fn protect<const PASS: Pass>(frames: &mut [Frame<'_, '_>]) {
    let [first, rest @ ..] = &*frames else {
        return;
    };
    // Most batches have frames of one kind and length, which are in order.
    if rest.iter().all(|frame| frame.is_like(first)) {
        let order = &IN_PLACE[..frames.len()];
        // SAFETY: the places are distinct, and all payloads have the same length.
        return unsafe { protect_ordered::<PASS>(frames, order) };
    }
    // Kind, then length from long to short, then place.
    let mut order: ArrayVec<u32, WINDOW> = ArrayVec::new();
    for (frame, place) in frames.iter().zip(0..) {
        let shortness = MAX_PAYLOAD_LEN.checked_sub(frame.payload_len());
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
        let alike = rest
            .iter()
            .take_while(|&&place| frames[usize::from(place)].kind() == kind)
            .count();
        let (of_kind, others) = rest.split_at(alike);
        // SAFETY: the places are distinct. Within a kind they were sorted from the longest payload to the shortest.
        unsafe { protect_ordered::<PASS>(frames, of_kind) };
        rest = others;
    }
}
