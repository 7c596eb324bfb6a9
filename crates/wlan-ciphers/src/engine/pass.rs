//! The operation that a kernel performs on a frame, a compile-time constant: seal, open, or a part of sealing.
//!
//! The parts are for measurements. Each half is the same kernel without the other half. Sealing interleaves MIC and key
//! stream in the CPU, so it takes less time than the two halves in sequence.

/// A kind of pass over a frame.
pub(crate) type Pass = u8;

/// MIC and key stream for a plaintext.
pub(crate) const SEAL: Pass = 0;
/// MIC and key stream for a ciphertext.
pub(crate) const OPEN: Pass = 1;
/// The MIC alone; the payload is unchanged. The payload is the input of the MIC: plaintext for CCM, ciphertext for GCM.
pub(crate) const MIC: Pass = 2;
/// The key stream of sealing alone, without a MIC.
pub(crate) const CTR: Pass = 3;

/// Whether a pass computes the MIC.
pub(super) const fn authenticates(pass: Pass) -> bool {
    pass != CTR
}

/// Whether a pass changes the payload.
pub(super) const fn enciphers(pass: Pass) -> bool {
    pass != MIC
}
