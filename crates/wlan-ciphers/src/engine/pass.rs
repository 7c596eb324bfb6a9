//! What a kernel does to a frame, known when it is compiled: seal, open, or one half of sealing alone.
//!
//! The halves are for measuring: they are the same kernel with the other half left out. In the whole the two overlap,
//! MIC and key stream side by side in the CPU, so that they take less time together than one after the other.

/// A kind of pass over a frame.
pub(crate) type Pass = u8;

/// MIC and key stream of a plaintext.
pub(crate) const SEAL: Pass = 0;
/// MIC and key stream of a ciphertext.
pub(crate) const OPEN: Pass = 1;
/// The MIC alone; the payload stays as it is. CCM takes it for the plaintext, GCM for the ciphertext: each what its MIC
/// is of.
pub(crate) const MIC: Pass = 2;
/// The key stream alone, of sealing; it leaves no MIC.
pub(crate) const CTR: Pass = 3;

/// Whether a pass computes the MIC.
pub(super) const fn authenticates(pass: Pass) -> bool {
    pass != CTR
}

/// Whether a pass changes the payload.
pub(super) const fn enciphers(pass: Pass) -> bool {
    pass != MIC
}
