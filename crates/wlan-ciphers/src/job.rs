//! The jobs of a batch. Each holds one MPDU in the caller's buffer, without FCS.

use core::ops::Range;

use crate::{KeyId, PacketNumber, Priority};

/// An MPDU to be sealed in place.
///
/// `mpdu` has the layout in which it will be sent, with space for the suite's header and MIC:
///
/// ```text
///  MAC header      suite header (8)   plaintext   MIC (8)
///  header_len      any octets                     any octets
/// ```
/// The Protected bit of the header need not be set: sealing sets it. The other fields must be final, except the fields
/// that the MIC does not cover: Duration and those changed by retransmission (retry, power management, more data,
/// sequence number).
#[derive(Debug)]
pub struct SealJob<'a> {
    /// The MPDU, in the layout above.
    pub mpdu: &'a mut [u8],
    /// Length of the MAC header in octets, as implied by its Frame Control.
    pub header_len: usize,
    /// Packet number, never used before under this key.
    pub pn: PacketNumber,
    /// Identifier of the key with which the receiver must open the frame.
    pub key_id: KeyId,
}

/// Why a job cannot be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealFault {
    /// The suite never protects frames of this kind: control, Null, beacons and other public management frames, or
    /// another protocol version.
    #[error("frames of this kind cannot be protected")]
    NotProtectable,
    /// `header_len` contradicts the frame's own Frame Control.
    #[error("header length: expected {implied} octets, as implied by Frame Control, got {given}")]
    HeaderLen {
        /// Octets given.
        given: usize,
        /// Octets implied by Frame Control.
        implied: usize,
    },
    /// The MPDU is too short for its header, the suite's header and MIC.
    #[error("the MPDU is too short for its header, the suite's header and MIC")]
    Short,
    /// The frame is a fragment, but the operation requires a complete MSDU.
    #[error("the frame is a fragment; only complete MSDUs can be sealed")]
    Fragment,
    /// The packet number does not fit the 24-bit IV of WEP.
    #[error("the IV is out of range: WEP has a 24-bit IV")]
    Iv,
    /// The plaintext is longer than 65535 octets, the maximum of CCM with a 13-octet nonce.
    #[error("the plaintext is longer than 65535 octets")]
    Long,
}

/// The batch was rejected and is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("job {job} of the batch: {fault}")]
pub struct SealError {
    /// Index in the batch of the first invalid job.
    pub job: usize,
    /// The fault of that job.
    pub fault: SealFault,
}

/// The contents of an opened MPDU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Packet number, not yet checked for replay.
    pub pn: PacketNumber,
    /// Identifier of the key that sealed the MPDU.
    pub key_id: KeyId,
    /// Priority, which selects the replay counter.
    pub priority: Priority,
    /// Range of the plaintext in the job's `mpdu`.
    pub payload: Range<usize>,
}

/// Why an MPDU was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The job has not been in a batch yet.
    #[error("not opened yet")]
    Pending,
    /// Too short for its header, the suite's header and MIC.
    #[error("the MPDU is too short to be protected")]
    Short,
    /// Longer than the suite can protect.
    #[error("the MPDU is too long to be protected")]
    Long,
    /// The Protected bit is clear.
    #[error("the MPDU is not protected")]
    NotProtected,
    /// The suite never protects frames with this MAC header, or the suite's header is invalid.
    #[error("the MPDU has no valid header of this cipher suite")]
    BadHeader,
    /// The MPDU was sealed with another key identifier than the job's.
    #[error("the MPDU is sealed with key ID {}, expected {}", found.get(), expected.get())]
    KeyMismatch {
        /// The job's key identifier.
        expected: KeyId,
        /// The frame's key identifier.
        found: KeyId,
    },
    /// The ICV of WEP or TKIP is wrong: the frame was damaged, or sealed with another key. The payload is zeroed.
    #[error("the ICV is wrong")]
    Icv,
    /// The MIC is wrong: the frame was forged, damaged, or sealed with another key. The payload is zeroed.
    #[error("the MIC is wrong")]
    Mic,
}

/// An MPDU to be opened in place.
///
/// The MAC header keeps its Protected bit. If the MIC is wrong, the payload is zeroed. An MPDU rejected before the MIC
/// check is unchanged.
#[derive(Debug)]
pub struct OpenJob<'a> {
    /// The MPDU as received, without FCS.
    pub mpdu: &'a mut [u8],
    /// Identifier of the key that opens the batch. A frame sealed with another identifier is rejected. The MIC does not
    /// cover the identifier, so this check is what binds a frame to its key slot.
    pub key_id: KeyId,
    verdict: Result<Opened, OpenError>,
}

impl<'a> OpenJob<'a> {
    /// Creates a job whose verdict is [`OpenError::Pending`] until the job has been in a batch.
    #[must_use]
    pub fn new(mpdu: &'a mut [u8], key_id: KeyId) -> OpenJob<'a> {
        OpenJob {
            mpdu,
            key_id,
            verdict: Err(OpenError::Pending),
        }
    }

    /// The MPDU, the expected key identifier and the verdict.
    pub(crate) fn parts(&mut self) -> (&mut [u8], KeyId, &mut Result<Opened, OpenError>) {
        (self.mpdu, self.key_id, &mut self.verdict)
    }

    /// The result of opening the frame.
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
