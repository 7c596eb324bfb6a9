//! Benchmark cases, their contestants, and the errors that prevent a measurement.

use std::fmt;

use wlan_ciphers::{Backend, KeyError, OpenError, SealError, Suite};

use crate::frames::Sizes;
use crate::library::Interface;

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

/// A contestant: the engine or a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The engine with a backend. WEP and TKIP do not depend on it.
    Airtoll(Backend),
    /// The engine's GCM with a backend on packets whose nonce and AAD are prepared, as the libraries take them.
    Prepared(Backend),
    /// Everything in the engine's sealing of a batch that precedes AES.
    FrontEnd(Backend),
    /// A library through one of its interfaces.
    Peer(Interface),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Airtoll(backend) => write!(f, "airtoll {backend}"),
            Who::Prepared(backend) => write!(f, "airtoll {backend}, prepared packets"),
            Who::FrontEnd(backend) => write!(f, "airtoll {backend}, front end"),
            Who::Peer(interface) => interface.fmt(f),
        }
    }
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
        who: Who,
        /// Index of the frame in the batch.
        frame: usize,
    },
    /// A library returned an error.
    #[error("{who} failed at line {line} of its shim")]
    Failed {
        /// The library's interface.
        who: Who,
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
