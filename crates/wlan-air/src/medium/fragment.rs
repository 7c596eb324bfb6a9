//! Fragmentation of MSDUs (10.4).

use crate::access::Framing;

/// A part of an MSDU that is sent as a separate MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Fragment number, from 0.
    pub number: usize,
    /// Octets of the MSDU before this part. The MIC of TKIP belongs to the MSDU and is fragmented with it.
    pub start_b: usize,
    /// Octets of this part.
    pub len_b: usize,
    /// Whether this is the last fragment.
    pub last: bool,
}

impl Fragment {
    /// Part `number` of an MSDU of `msdu_b` octets; none if its MPDU does not exceed the threshold. All parts
    /// except the last have the same, even length. The octets that security adds to each MPDU are not counted
    /// against the threshold (10.4).
    pub(super) fn of(
        framing: &Framing,
        msdu_b: usize,
        number: usize,
        threshold_b: Option<usize>,
    ) -> Option<Fragment> {
        let all_b = msdu_b + framing.security_of_msdu_b;
        let room_b = threshold_b?.checked_sub(framing.mac_b)?;
        if all_b <= room_b {
            return None;
        }
        let chunk_b = room_b & !1;
        let start_b = number * chunk_b;
        let left_b = all_b.saturating_sub(start_b);
        Some(Fragment {
            number,
            start_b,
            len_b: left_b.min(chunk_b),
            last: left_b <= chunk_b,
        })
    }
}

/// The rule by which the MSDUs of a flow become MPDUs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragmentation<'c> {
    pub framing: &'c Framing,
    /// None if MSDUs are never fragmented.
    pub threshold_b: Option<usize>,
}

impl Fragmentation<'_> {
    /// Part `number` of an MSDU of `msdu_b` octets; none if the MSDU is sent as a whole.
    pub fn part(&self, msdu_b: usize, number: usize) -> Option<Fragment> {
        Fragment::of(self.framing, msdu_b, number, self.threshold_b)
    }

    /// The next MPDU of a frame body: its length in octets, and whether it is the last MPDU.
    pub fn mpdu(&self, body_b: usize, fragments_done: usize) -> (usize, bool) {
        match self.part(body_b, fragments_done) {
            Some(fragment) => (self.framing.fragment_len_b(fragment.len_b), fragment.last),
            None => (self.framing.mpdu_len_b(body_b), true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::Mode;

    fn parts(framing: &Framing, msdu_b: usize, threshold_b: usize) -> Vec<Fragment> {
        let mut parts = Vec::new();
        while let Some(part) = Fragment::of(framing, msdu_b, parts.len(), Some(threshold_b)) {
            parts.push(part);
            if part.last {
                break;
            }
        }
        parts
    }

    #[test]
    fn all_fragments_but_the_last_have_the_longest_even_length() {
        let mode = Mode::ofdm(54).unwrap();
        // A header of 24 octets and an FCS of 4 leave 473 of 501 octets.
        let framing = Framing::new(&mode, 16);
        let lens: Vec<_> = parts(&framing, 1500, 501).iter().map(|part| part.len_b).collect();
        assert_eq!(lens, [472, 472, 472, 84]);
        assert_eq!(parts(&framing, 473, 501), []);
        assert_eq!(parts(&framing, 474, 501).len(), 2);
        // The MPDU also has the security fields: CCMP's 16 octets.
        assert_eq!(framing.fragment_len_b(472), 28 + 472 + 16);
    }

    #[test]
    fn the_mic_of_a_tkip_msdu_is_fragmented_with_it() {
        let mode = Mode::ofdm(54).unwrap();
        let framing = Framing {
            security_of_msdu_b: 8,
            ..Framing::new(&mode, 20)
        };
        let parts = parts(&framing, 940, 500);
        let spans: Vec<_> = parts.iter().map(|part| (part.start_b, part.len_b)).collect();
        // 940 octets and 8 of Michael: the last four octets of the MIC are sent alone.
        assert_eq!(spans, [(0, 472), (472, 472), (944, 4)]);
        // Each fragment has TKIP's header of 8 octets and an ICV of 4; an unfragmented MPDU also has the MIC.
        assert_eq!(framing.fragment_len_b(472), 28 + 472 + 12);
        assert_eq!(framing.mpdu_len_b(100), 28 + 100 + 20);
    }
}
