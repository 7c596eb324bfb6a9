//! What a driver sees of the medium.

use crate::Nanos;
use crate::phy::Mode;

/// What a PPDU carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// So many MPDUs with data.
    Data {
        /// 1: one MPDU, answered by an Ack; more: an A-MPDU, answered by a `BlockAck`.
        mpdus: usize,
    },
    /// Asks the receiver whether the medium is free at its place.
    Rts,
    /// Answers an RTS.
    Cts,
    /// Keeps others off the air before a PPDU that they cannot read.
    CtsToSelf,
    /// Acknowledges one MPDU.
    Ack,
    /// Acknowledges the MPDUs of an A-MPDU, each by itself.
    BlockAck,
    /// The access point's beacon.
    Beacon,
}

/// A PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ppdu {
    /// The station that sends it.
    pub sender: usize,
    /// The station that it is for; none: all.
    pub receiver: Option<usize>,
    /// What it carries.
    pub kind: Kind,
    /// Its rate.
    pub mode: Mode,
    /// Octets of its PSDU.
    pub psdu_len_b: usize,
    /// When it starts.
    pub start: Nanos,
    /// When it ends.
    pub end: Nanos,
}

/// What happened on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A PPDU starts. The frames of a data PPDU are in [`crate::Medium::on_air`] until it ends.
    PpduStart(Ppdu),
    /// A PPDU ends.
    PpduEnd {
        /// Which.
        ppdu: Ppdu,
        /// Whether its receiver could read it, at least one MPDU of it; for one that is for all, whether nothing fell
        /// into it.
        received: bool,
    },
    /// Time passed that only stations noticed: a timeout, a beacon that falls due.
    Elapsed {
        /// Until when.
        at: Nanos,
    },
}

/// Where an MSDU is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The station that sends it.
    pub from: usize,
    /// The station that receives it.
    pub to: usize,
    /// The sender's contender, an index into [`crate::StationConfig::access`].
    pub contender: usize,
}

/// An MSDU that its receiver hands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its way.
    pub route: Route,
    /// When it was queued.
    pub arrival: Nanos,
    /// Times that its MPDU was sent before; above zero, the Retry bit was set.
    pub retries: u8,
}

/// Why a frame left the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was acknowledged.
    Sent,
    /// The queue was full, or its discipline dropped it.
    Queue,
    /// It was given up at the retry limit. It may have arrived all the same.
    Retries,
}

/// A frame that left the medium.
#[derive(Debug)]
pub struct Gone<F> {
    /// The station that sent it.
    pub station: usize,
    /// The frame.
    pub frame: F,
    /// Why.
    pub outcome: Outcome,
}
