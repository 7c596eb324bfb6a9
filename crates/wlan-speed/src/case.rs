//! Benchmark cases, and the errors that prevent a measurement.

use wlan_ciphers::{KeyError, OpenError, SealError, Suite};

use crate::frames::Sizes;

/// Frames per batch.
pub const BATCH: usize = 96;

/// A benchmark case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// One of [`suites`](crate::suites).
    pub suite: Suite,
    /// Sizes of the payloads.
    pub sizes: Sizes,
    /// Whether frames are opened instead of sealed.
    pub open: bool,
    /// Whether each frame has its own key.
    pub key_each: bool,
    /// Whether each frame completes before the next starts, instead of a batch of [`BATCH`].
    pub one_by_one: bool,
}

/// Why a case cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Two outputs differ, so one of them is wrong.
    #[error("{case:?}: the output of {who} differs from the portable engine's in frame {frame}")]
    Differs {
        /// The case.
        case: Case,
        /// The contestant with the differing output.
        who: String,
        /// Index of the frame in the batch.
        frame: usize,
    },
    /// A library returned an error.
    #[error("{who} failed at line {line} of its shim")]
    Failed {
        /// The library and its interface.
        who: String,
        /// Line of the shim.
        line: i32,
    },
    /// The engine cannot create the key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The engine cannot seal the frames.
    #[error(transparent)]
    Seal(SealError),
    /// The engine cannot open the frames.
    #[error("a sealed frame does not open: {0}")]
    Open(OpenError),
}

/// Every suite that can be measured: all except BIP, which does not protect data.
pub fn suites() -> impl Iterator<Item = Suite> {
    Suite::ALL.into_iter().filter(|suite| !suite.is_bip())
}
