//! Extracts the MPDU from a capture record of any 802.11 link type (tcpdump.org/linktypes).
//!
//! ```text
//!  105  MPDU
//!  119  Prism: octet 0 message code (41 or 44)   4 octets of this header   ...   or AVS
//!  127  radiotap, see [`crate::radiotap`]
//!  163  AVS: octet 0 version (80 21 1x xx)   4 octets of this header, most significant first   ...
//!  192  PPI: octet 0 version   1 flags   2-3 octets of this header   4-7 link type of what follows (105)   ...
//! ```
//! Prism headers use the byte order of the capturing machine, AVS headers are big-endian, and all other headers are
//! little-endian.

use alloc::borrow::Cow;
use core::ops::Range;

use crate::bytes::{array, get_u16};
use crate::error::need;
use crate::fcs::{self, FCS_LEN};
use crate::pcap::{
    LINKTYPE_IEEE802_11, LINKTYPE_IEEE802_11_AVS, LINKTYPE_IEEE802_11_PRISM, LINKTYPE_IEEE802_11_RADIOTAP,
    LINKTYPE_PPI,
};
use crate::radiotap::{FLAG_BAD_FCS, FLAG_DATA_PAD, FLAG_FCS, Radiotap};
use crate::{FrameControl, FrameError};

/// Message codes of Prism headers.
const PRISM_CODES: [u32; 2] = [0x41, 0x44];
/// Magic of an AVS header, without its version.
const AVS_MAGIC: u32 = 0x8021_1000;
const AVS_MAGIC_MASK: u32 = 0xffff_f000;
/// Length in octets of the part of Prism, AVS and PPI headers that is read.
const FIXED_LEN: usize = 8;
const PPI_LINK_TYPE: usize = 4;

/// Returns whether [`mpdu`] supports records of this link type.
#[must_use]
pub fn is_known(link_type: u32) -> bool {
    matches!(
        link_type,
        LINKTYPE_IEEE802_11
            | LINKTYPE_IEEE802_11_PRISM
            | LINKTYPE_IEEE802_11_RADIOTAP
            | LINKTYPE_IEEE802_11_AVS
            | LINKTYPE_PPI
    )
}

/// Returns the MPDU of a record, without its FCS. The MPDU is copied only to remove padding after the MAC header
/// ([`FLAG_DATA_PAD`]).
///
/// Only a radiotap header can state that an FCS is present. Without that statement, the last four octets are removed
/// if they match the FCS, which happens by chance once in 2^32 frames.
///
/// # Errors
/// [`FrameError::Truncated`], [`FrameError::Version`]; [`FrameError::Field`] for an unsupported link type, an invalid
/// capture header, or a wrong FCS.
pub fn mpdu(link_type: u32, record: &[u8]) -> Result<Cow<'_, [u8]>, FrameError> {
    match link_type {
        LINKTYPE_IEEE802_11 => Ok(without_fcs(record).into()),
        LINKTYPE_IEEE802_11_PRISM | LINKTYPE_IEEE802_11_AVS => {
            let frame = after("a Prism or AVS header", record, prism_len(record)?)?;
            Ok(without_fcs(frame).into())
        }
        LINKTYPE_IEEE802_11_RADIOTAP => {
            let (radiotap, len) = Radiotap::parse(record)?;
            let (frame, flags) = (
                after("a radiotap header", record, len)?,
                radiotap.flags.unwrap_or_default(),
            );
            if flags & FLAG_BAD_FCS != 0 {
                return Err(FrameError::Field("the frame check sequence is wrong"));
            }
            let has_fcs = flags & FLAG_FCS != 0;
            match padding(frame).filter(|_| flags & FLAG_DATA_PAD != 0) {
                Some(padding) => {
                    let mut unpadded = frame.to_vec();
                    unpadded.drain(padding);
                    let len = checked(&unpadded, has_fcs)?.len();
                    unpadded.truncate(len);
                    Ok(unpadded.into())
                }
                None => Ok(checked(frame, has_fcs)?.into()),
            }
        }
        LINKTYPE_PPI => {
            need("a PPI header", record, FIXED_LEN)?;
            if record[0] != 0 {
                return Err(FrameError::Version(record[0]));
            }
            if u32::from_le_bytes(array(record, PPI_LINK_TYPE)) != LINKTYPE_IEEE802_11 {
                return Err(FrameError::Field(
                    "the PPI header does not announce an 802.11 frame (link type 105)",
                ));
            }
            let len = usize::from(get_u16(record, 2));
            Ok(without_fcs(after("a PPI header", record, len)?).into())
        }
        _ => Err(FrameError::Field(
            "unsupported link type: the records are not 802.11 frames",
        )),
    }
}

fn prism_len(record: &[u8]) -> Result<usize, FrameError> {
    need("a Prism or AVS header", record, FIXED_LEN)?;
    let (code, len) = (array(record, 0), array(record, 4));
    let big = u32::from_be_bytes(code);
    let len = if PRISM_CODES.contains(&u32::from_le_bytes(code)) {
        u32::from_le_bytes(len)
    } else if PRISM_CODES.contains(&big) || big & AVS_MAGIC_MASK == AVS_MAGIC {
        u32::from_be_bytes(len)
    } else {
        return Err(FrameError::Field(
            "the capture header is neither a Prism nor an AVS header",
        ));
    };
    Ok(usize::try_from(len).unwrap_or(usize::MAX))
}

/// Returns the octets after a capture header that claims a length of `len` octets. The caller has read its fixed part.
fn after<'a>(what: &'static str, record: &'a [u8], len: usize) -> Result<&'a [u8], FrameError> {
    if len < FIXED_LEN {
        return Err(FrameError::Field("the capture header is shorter than its fields"));
    }
    need(what, record, len)?;
    Ok(&record[len..])
}

/// Removes the FCS, which is checked if `has_fcs` states that it is present.
fn checked(frame: &[u8], has_fcs: bool) -> Result<&[u8], FrameError> {
    if has_fcs {
        fcs::check(frame)
    } else {
        Ok(without_fcs(frame))
    }
}

/// Returns the range of the padding of a frame with [`FLAG_DATA_PAD`]: empty if the header length is a multiple of 4
/// octets, `None` if the frame ends before the padding does.
fn padding(frame: &[u8]) -> Option<Range<usize>> {
    let header_len = FrameControl::parse(frame).ok()?.header_len()?;
    let padded_len = header_len.next_multiple_of(4);
    (padded_len <= frame.len()).then_some(header_len..padded_len)
}

fn without_fcs(frame: &[u8]) -> &[u8] {
    // Shorter frames are invalid, and four zero octets would match the FCS of an empty frame.
    if frame.len() < FCS_LEN + 2 || FrameControl::parse(frame).is_err() {
        return frame;
    }
    fcs::check(frame).unwrap_or(frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radiotap::Radiotap;

    const FRAME: &[u8] = b"\x08\x01any data frame";

    fn with_fcs() -> Vec<u8> {
        let mut frame = FRAME.to_vec();
        fcs::append(&mut frame);
        frame
    }

    fn behind(header: &[u8], frame: &[u8]) -> Vec<u8> {
        [header, frame].concat()
    }

    /// Returns the MPDU of a record that has a radiotap header with `flags`.
    fn with_radiotap(flags: u8, frame: &[u8]) -> Result<Vec<u8>, FrameError> {
        let radiotap = Radiotap {
            flags: Some(flags),
            ..Radiotap::default()
        };
        let mut header = vec![0; radiotap.len()];
        radiotap.emit(&mut header);
        mpdu(LINKTYPE_IEEE802_11_RADIOTAP, &behind(&header, frame)).map(Cow::into_owned)
    }

    #[test]
    fn the_frame_is_found_after_every_capture_header_with_and_without_fcs() {
        let mut prism = [0; 144];
        prism[0] = 0x44;
        prism[4] = 144;
        let mut prism_big = prism;
        prism_big[..8].copy_from_slice(&[0, 0, 0, 0x44, 0, 0, 0, 144]);
        let mut avs = [0; 64];
        avs[..8].copy_from_slice(&[0x80, 0x21, 0x10, 0x01, 0, 0, 0, 64]);
        let ppi = [0, 0, 8, 0, 105, 0, 0, 0];
        let cases: [(u32, &[u8]); 7] = [
            (LINKTYPE_IEEE802_11, &[]),
            (LINKTYPE_IEEE802_11_PRISM, &prism),
            (LINKTYPE_IEEE802_11_PRISM, &prism_big),
            (LINKTYPE_IEEE802_11_PRISM, &avs),
            (LINKTYPE_IEEE802_11_AVS, &avs),
            (LINKTYPE_PPI, &ppi),
            (LINKTYPE_IEEE802_11_RADIOTAP, &[0, 0, 8, 0, 0, 0, 0, 0]),
        ];
        for (link_type, header) in cases {
            assert!(is_known(link_type));
            for frame in [FRAME.to_vec(), with_fcs()] {
                let record = behind(header, &frame);
                assert_eq!(mpdu(link_type, &record).as_deref(), Ok(FRAME), "{link_type}");
            }
        }
    }

    #[test]
    fn radiotap_states_whether_the_fcs_is_present_and_correct() {
        let wrong = Err(FrameError::Field("the frame check sequence is wrong"));
        assert_eq!(with_radiotap(FLAG_FCS, &with_fcs()), Ok(FRAME.to_vec()));
        assert_eq!(with_radiotap(FLAG_FCS, FRAME), wrong);
        assert_eq!(with_radiotap(FLAG_BAD_FCS, &with_fcs()), wrong);
        assert_eq!(with_radiotap(0, FRAME), Ok(FRAME.to_vec()));
    }

    #[test]
    fn padding_after_the_header_is_removed_only_if_radiotap_flags_it() {
        const QOS_HEADER: [u8; 26] = {
            let mut header = [0; 26];
            header[0] = 0x88;
            header
        };
        let padded = [&QOS_HEADER[..], b"\0\0body"].concat();
        let unpadded = [&QOS_HEADER[..], b"body"].concat();
        assert_eq!(with_radiotap(FLAG_DATA_PAD, &padded), Ok(unpadded));
        assert_eq!(with_radiotap(0, &padded), Ok(padded.clone()));
        // The frame ends within the padding, so nothing is removed.
        for len in [26, 27] {
            assert_eq!(
                with_radiotap(FLAG_DATA_PAD, &padded[..len]),
                Ok(padded[..len].to_vec())
            );
        }
        assert_eq!(
            with_radiotap(FLAG_DATA_PAD, &padded[..28]),
            Ok(QOS_HEADER.to_vec())
        );
        // A header of 24 octets requires no padding.
        let data = [&[0x08; 1][..], &[0; 23], b"body"].concat();
        assert_eq!(with_radiotap(FLAG_DATA_PAD, &data), Ok(data));
    }

    #[test]
    fn a_frame_too_short_for_frame_control_and_fcs_is_unchanged() {
        // Four zero octets are the FCS of an empty frame.
        let empty = [0; 4];
        let mut one_octet = vec![0x08];
        fcs::append(&mut one_octet);
        let mut frame_control = vec![0x08, 0];
        fcs::append(&mut frame_control);
        for frame in [&empty[..], &one_octet] {
            assert_eq!(mpdu(LINKTYPE_IEEE802_11, frame).as_deref(), Ok(frame));
        }
        assert_eq!(
            mpdu(LINKTYPE_IEEE802_11, &frame_control).as_deref(),
            Ok(&[0x08, 0][..])
        );
    }

    #[test]
    fn invalid_headers_are_refused() {
        for (link_type, record) in [
            (LINKTYPE_IEEE802_11_PRISM, &[1u8, 2, 3, 4, 0, 0, 0, 8, 0][..]),
            (LINKTYPE_IEEE802_11_PRISM, &[0x44, 0, 0, 0, 7, 0, 0, 0, 0]),
            (
                LINKTYPE_IEEE802_11_PRISM,
                &[0x44, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0],
            ),
            (LINKTYPE_PPI, &[0, 0, 9, 0, 105, 0, 0, 0]),
            (LINKTYPE_PPI, &[0, 0, 8, 0, 1, 0, 0, 0]),
            (LINKTYPE_PPI, &[0, 0, 8]),
            (1, FRAME),
        ] {
            assert!(mpdu(link_type, record).is_err(), "{link_type}: {record:02x?}");
        }
        assert!(!is_known(1));
    }
}
