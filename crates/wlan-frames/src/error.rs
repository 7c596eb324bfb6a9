//! Parse errors of frames.

use crate::FrameType;

/// The reason why octets do not parse as the expected frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The octets end before the end of a field.
    #[error("{what} requires {needed} octets, got {have}")]
    Truncated {
        /// The wire type being read.
        what: &'static str,
        /// Octets required.
        needed: usize,
        /// Octets available.
        have: usize,
    },
    /// The protocol version is not 0 (IEEE 802.11-2020 9.2.4.1.2).
    #[error("unsupported protocol version {0} (expected 0)")]
    Version(u8),
    /// The frame has another type (IEEE 802.11-2020 9.2.4.1.3).
    #[error("expected frame type {expected}, got {found}")]
    Type {
        /// The expected type.
        expected: FrameType,
        /// The actual type.
        found: FrameType,
    },
    /// The type is correct, but the wire type does not cover this subtype (for instance a Null frame, which carries no
    /// MSDU).
    #[error("unexpected {frame_type} frame subtype {subtype}")]
    Subtype {
        /// The type of the frame.
        frame_type: FrameType,
        /// The subtype of the frame, 0 to 15.
        subtype: u8,
    },
    /// A field has an invalid value; the text names the field.
    #[error("{0}")]
    Field(&'static str),
}

/// Returns an error unless `bytes` holds at least `needed` octets of `what`.
#[inline]
pub(crate) fn need(what: &'static str, bytes: &[u8], needed: usize) -> Result<(), FrameError> {
    if bytes.len() < needed {
        return Err(FrameError::Truncated {
            what,
            needed,
            have: bytes.len(),
        });
    }
    Ok(())
}
