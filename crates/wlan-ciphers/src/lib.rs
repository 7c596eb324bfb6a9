//! Frame protection: sealing and opening whole 802.11 MPDUs, in batches and in place.
//!
//! # Architecture
//!
//! A batch is a slice of jobs, each holding one MPDU in the caller's buffer. Nothing is allocated on the way.
//!
//! 1. (sequential, caller) number the frame: [`PacketNumber::next`];
//! 2. (parallel over frames) [`Ccmp::seal`]: cipher header, ciphertext and MIC are written into the MPDU;
//! 3. the air;
//! 4. (parallel over frames) [`Ccmp::open`]: every job gets its own verdict, [`Opened`] or [`OpenError`];
//! 5. (sequential, caller) [`ReplayWindow::accept`], in the order of reception and only for frames that opened.
//!
//! Replay is checked after opening, so that a forged frame cannot move the window.
//!
//! | module | what | source |
//! |---|---|---|
//! | [`ccmp`] | CCMP-128 | IEEE 802.11-2020 12.5.3 |
//! | [`job`] | the jobs of a batch, their verdicts and errors | |
//! | [`pn`] | packet numbers and key identifiers | 12.5.3.2 |
//! | [`replay`] | the receiver's replay counters | 12.5.3.4.4 |
//!
//! AAD and nonce, which CCMP shares with its kin, are built by a module of their own (12.5.3.3.3, 12.5.3.3.4).
//!
//! # What is not claimed
//!
//! The key schedule is wiped when a key is dropped, MICs are compared in constant time and the AES of the `aes` crate
//! runs in constant time. Copies of the key that the caller keeps are the caller's, and nothing here hides how long
//! frames are or when they are sent.

mod aad;
pub mod ccmp;
pub mod job;
pub mod pn;
pub mod replay;

#[cfg(test)]
mod vectors;

pub use aad::Priority;
pub use ccmp::Ccmp;
pub use job::{OpenError, OpenJob, Opened, SealError, SealFault, SealJob};
pub use pn::{KeyId, PacketNumber, PnExhausted};
pub use replay::{Replay, ReplayWindow};

/// A way to protect frames, as the RSN element names it (IEEE 802.11-2020 9.4.2.24.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suite {
    /// CCMP with a 128-bit key and a MIC of 8 octets: WPA2.
    Ccmp128,
}

impl Suite {
    /// Octets between the MAC header and the ciphertext.
    #[must_use]
    pub const fn header_len(self) -> usize {
        match self {
            Suite::Ccmp128 => 8,
        }
    }

    /// Octets between the ciphertext and the FCS.
    #[must_use]
    pub const fn mic_len(self) -> usize {
        match self {
            Suite::Ccmp128 => 8,
        }
    }

    /// Octets that protection adds to an MPDU.
    #[must_use]
    pub const fn overhead(self) -> usize {
        self.header_len() + self.mic_len()
    }

    /// Octets of the temporal key.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            Suite::Ccmp128 => 16,
        }
    }

    /// Suite selector: OUI and type (9.4.2.24.2).
    #[must_use]
    pub const fn selector(self) -> [u8; 4] {
        match self {
            Suite::Ccmp128 => [0x00, 0x0f, 0xac, 4],
        }
    }
}
