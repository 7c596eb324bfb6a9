//! Grouping of a batch's texts for multi-buffer kernels.
//!
//! A kernel runs for as long as its longest text, so texts of similar length are grouped. A batch is processed in
//! windows of [`WINDOW`] texts. Each window is sorted by length, longest first, on the stack.

/// Texts per window: a multiple of 6, 8 and 16 lanes.
pub(crate) const WINDOW: usize = 96;

/// The texts of one window, longest first, without empty texts.
#[cfg(any(target_arch = "x86_64", test))]
pub(crate) struct ByLength {
    order: [u8; WINDOW],
    len: usize,
}

#[cfg(any(target_arch = "x86_64", test))]
impl ByLength {
    /// Sorts texts with these lengths in octets, at most [`WINDOW`] of them.
    pub(crate) fn new(lengths: impl ExactSizeIterator<Item = usize> + Clone) -> ByLength {
        assert!(lengths.len() <= WINDOW, "{} texts in one window", lengths.len());
        let mut keyed = [(0, 0); WINDOW];
        let mut len = 0;
        for (index, length) in (0u8..).zip(lengths).filter(|&(_, length)| length > 0) {
            keyed[len] = (length, index);
            len += 1;
        }
        // Usually all frames have the same length and need no sorting.
        if !keyed[..len].is_sorted_by(|a, b| a.0 >= b.0) {
            keyed[..len].sort_unstable_by_key(|&(length, _)| core::cmp::Reverse(length));
        }
        let mut order = [0; WINDOW];
        for (place, (_, index)) in keyed[..len].iter().enumerate() {
            order[place] = *index;
        }
        ByLength { order, len }
    }

    /// The indices in groups of `lanes`; the last group may be smaller.
    pub(crate) fn groups(&self, lanes: usize) -> core::slice::Chunks<'_, u8> {
        self.order[..self.len].chunks(lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_ordered_longest_first_without_empty_ones() {
        let order = ByLength::new([5, 0, 9, 9, 1].into_iter());
        let groups: Vec<_> = order.groups(3).map(<[u8]>::to_vec).collect();
        assert!(
            groups == [vec![2, 3, 0], vec![4]] || groups == [vec![3, 2, 0], vec![4]],
            "{groups:?}"
        );
    }
}
