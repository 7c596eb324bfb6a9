//! Why a frame was refused.

use crate::FrameType;

/// Why octets are not the frame that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The octets end before the field does.
    #[error("{what} needs {needed} octets, only {have} are there")]
    Truncated {
        /// The wire type being read.
        what: &'static str,
        /// Octets it takes.
        needed: usize,
        /// Octets given.
        have: usize,
    },
    /// The protocol version is not 0 (IEEE 802.11-2020 9.2.4.1.2).
    #[error("protocol version {0} is not known, only 0 is")]
    Version(u8),
    /// A frame of another type (IEEE 802.11-2020 9.2.4.1.3).
    #[error("{found} frame where a {expected} frame was expected")]
    Type {
        /// The type asked for.
        expected: FrameType,
        /// The type found.
        found: FrameType,
    },
    /// The right type, but a subtype that the asked-for wire type does not cover (for instance a Null frame, which
    /// carries no MSDU).
    #[error("{frame_type} frame of subtype {subtype} is not the one expected")]
    Subtype {
        /// The type of the frame.
        frame_type: FrameType,
        /// Its subtype, 0 to 15.
        subtype: u8,
    },
    /// A field holds a value that the wire type forbids; the text names the field.
    #[error("{0}")]
    Field(&'static str),
}

/// Checks that `bytes` holds at least `needed` octets of `what`.
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
