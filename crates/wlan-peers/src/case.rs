//! What is measured, who does it, and why it cannot be measured.

use std::fmt;

use wlan_ciphers::{Backend, KeyError, OpenError, SealError, Suite};

use crate::frames::Sizes;
use crate::library::Interface;

/// Frames of a batch.
pub const BATCH: usize = 96;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// One of [`suites`](crate::suites).
    pub suite: Suite,
    /// Sizes of the payloads.
    pub sizes: Sizes,
    /// Opening instead of sealing.
    pub open: bool,
    /// A key for each frame instead of one.
    pub key_each: bool,
    /// Each frame is done before the next starts, instead of a batch of [`BATCH`].
    pub one_by_one: bool,
}

/// Who does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The engine with a backend; WEP and TKIP have none of their own choosing.
    Airtoll(Backend),
    /// A library through one of its interfaces.
    Peer(Interface),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Airtoll(backend) => write!(f, "airtoll {backend}"),
            Who::Peer(interface) => interface.fmt(f),
        }
    }
}

/// Why a case cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Outputs are not the same: one of the two is wrong.
    #[error("{case:?}: the output of {who} differs from the portable engine's in frame {frame}")]
    Differs {
        /// The case.
        case: Case,
        /// Whose output.
        who: Who,
        /// Index in the batch.
        frame: usize,
    },
    /// A library refused.
    #[error("{who} failed at line {line} of its shim")]
    Failed {
        /// Which.
        who: Who,
        /// Where.
        line: i32,
    },
    /// The engine has no such key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The engine does not seal the frames.
    #[error(transparent)]
    Seal(SealError),
    /// The engine does not open the frames.
    #[error("a sealed frame does not open: {0}")]
    Open(OpenError),
}
