//! The jobs of a batch: one MPDU each, in the caller's buffer and without FCS.

use std::ops::Range;

use crate::{KeyId, PacketNumber, Priority};

/// An MPDU to be sealed in place.
///
/// `mpdu` is laid out as it will be sent, with the suite's header and MIC left to fill:
///
/// ```text
///  MAC header      suite header (8)   plaintext   MIC (8)
///  header_len      any octets                     any octets
/// ```
/// The Protected bit of the header need not be set: sealing sets it. The other fields must be final, except Duration
/// and those that a retransmission changes (retry, power management, more data, sequence number), which the MIC does
/// not cover.
#[derive(Debug)]
pub struct SealJob<'a> {
    /// The MPDU, in the layout above.
    pub mpdu: &'a mut [u8],
    /// Length of the MAC header in octets, as its Frame Control implies it.
    pub header_len: usize,
    /// Packet number, never used before under this key.
    pub pn: PacketNumber,
    /// Identifier of the key that the receiver shall use.
    pub key_id: KeyId,
}

/// What is wrong with a job to be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealFault {
    /// The frame is of a kind that is never protected so: control, Null, beacons and other public management frames,
    /// or another protocol version.
    #[error("frames of this kind cannot be protected")]
    NotProtectable,
    /// `header_len` contradicts the frame's own Frame Control.
    #[error("header length {given} given, Frame Control implies {implied}")]
    HeaderLen {
        /// Octets given.
        given: usize,
        /// Octets that Frame Control implies.
        implied: usize,
    },
    /// No room for header, suite header and MIC.
    #[error("the MPDU is too short for its header, the suite's header and MIC")]
    Short,
    /// A part of an MSDU was given where the whole is asked for.
    #[error("the frame is a fragment, and only whole MSDUs can be sealed so")]
    Fragment,
    /// The number does not fit the 24-bit IV of WEP.
    #[error("the IV of WEP has 24 bits")]
    Iv,
    /// The plaintext is longer than 65535 octets, the most that CCM with a 13-octet nonce takes.
    #[error("the plaintext is longer than 65535 octets")]
    Long,
}

/// A batch was refused: nothing in it was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("job {job} of the batch: {fault}")]
pub struct SealError {
    /// Index in the batch of the first job that is wrong.
    pub job: usize,
    /// What is wrong with it.
    pub fault: SealFault,
}

/// What an opened MPDU holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Its packet number, not yet checked against replay.
    pub pn: PacketNumber,
    /// Identifier of the key it was sealed with.
    pub key_id: KeyId,
    /// Which replay counter it belongs to.
    pub priority: Priority,
    /// Where the plaintext lies in the job's `mpdu`.
    pub payload: Range<usize>,
}

/// Why an MPDU was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The job was not in a batch yet.
    #[error("not opened yet")]
    Pending,
    /// Too short for its header, the suite's header and MIC.
    #[error("the MPDU is too short to be protected")]
    Short,
    /// Longer than the suite can protect.
    #[error("the MPDU is too long to be protected")]
    Long,
    /// The Protected bit is clear: the frame came in the open.
    #[error("the MPDU is not protected")]
    NotProtected,
    /// The MAC header is of a kind that is never protected so, or the suite's header is not one.
    #[error("the MPDU has no header of this cipher suite")]
    BadHeader,
    /// Sealed under another key identifier than the job's.
    #[error("the MPDU is sealed under key {}, not {}", found.get(), expected.get())]
    KeyMismatch {
        /// The job's key identifier.
        expected: KeyId,
        /// The one in the frame.
        found: KeyId,
    },
    /// The ICV of WEP or TKIP does not fit: the frame was damaged, or sealed with another key. The payload is zeroed.
    #[error("the ICV is wrong")]
    Icv,
    /// The MIC does not fit: the frame was forged, damaged, or sealed with another key. The payload is zeroed.
    #[error("the MIC is wrong")]
    Mic,
}

/// An MPDU to be opened in place.
///
/// The MAC header keeps its Protected bit. A frame with a wrong MIC has its payload zeroed; one refused before that
/// is left as it came.
#[derive(Debug)]
pub struct OpenJob<'a> {
    /// The MPDU as received, without FCS.
    pub mpdu: &'a mut [u8],
    /// Identifier of the key the batch is opened with; a frame sealed under another is refused. The MIC does not
    /// cover the identifier, so this is what binds a frame to its key slot.
    pub key_id: KeyId,
    verdict: Result<Opened, OpenError>,
}

impl<'a> OpenJob<'a> {
    /// A job whose verdict is [`OpenError::Pending`] until it was in a batch.
    #[must_use]
    pub fn new(mpdu: &'a mut [u8], key_id: KeyId) -> OpenJob<'a> {
        OpenJob {
            mpdu,
            key_id,
            verdict: Err(OpenError::Pending),
        }
    }

    /// The MPDU, the expected key identifier and the place of the verdict.
    pub(crate) fn parts(&mut self) -> (&mut [u8], KeyId, &mut Result<Opened, OpenError>) {
        (self.mpdu, self.key_id, &mut self.verdict)
    }

    /// What became of the frame.
    ///
    /// # Errors
    /// Each kind of [`OpenError`].
    pub fn verdict(&self) -> Result<&Opened, OpenError> {
        self.verdict.as_ref().map_err(|&error| error)
    }

    /// The plaintext, if the frame opened.
    ///
    /// # Errors
    /// Each kind of [`OpenError`].
    pub fn payload(&self) -> Result<&[u8], OpenError> {
        self.verdict().map(|opened| &self.mpdu[opened.payload.clone()])
    }
}
