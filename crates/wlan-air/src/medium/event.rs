//! The medium's interface to its driver: PPDUs, events, routes, deliveries.

use crate::Nanos;
use crate::phy::Mode;

/// The content of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data MPDUs.
    Data {
        /// Number of MPDUs: 1 is a single MPDU, answered by an Ack; more form an A-MPDU, answered by a
        /// `BlockAck`.
        mpdus: usize,
    },
    /// Requests an answer if the medium is idle at the receiver.
    Rts,
    /// Answers an RTS.
    Cts,
    /// Reserves the medium for a PPDU that other stations cannot decode.
    CtsToSelf,
    /// Acknowledges one MPDU.
    Ack,
    /// Acknowledges each MPDU of an A-MPDU separately.
    BlockAck,
    /// The access point's beacon.
    Beacon,
}

/// A PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ppdu {
    /// The sending station.
    pub sender: usize,
    /// The receiving station; none for all stations.
    pub receiver: Option<usize>,
    /// The content.
    pub kind: Kind,
    /// The PHY rate.
    pub mode: Mode,
    /// Length of the PSDU in octets.
    pub psdu_len_b: usize,
    /// Start of the PPDU.
    pub start: Nanos,
    /// End of the PPDU.
    pub end: Nanos,
}

/// An event of the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A PPDU starts. The frames of a data PPDU are in [`crate::Medium::on_air`] until it ends.
    PpduStart(Ppdu),
    /// A PPDU ends.
    PpduEnd {
        /// The PPDU.
        ppdu: Ppdu,
        /// Whether the receiver decoded at least one MPDU of the PPDU; for a group-addressed PPDU, whether no
        /// other PPDU overlapped it at any station.
        received: bool,
    },
    /// Time passed without a PPDU event: a timeout, or a beacon became due.
    Elapsed {
        /// The current time.
        at: Nanos,
    },
}

/// The path of an MSDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The sending station.
    pub from: usize,
    /// The receiving station; none for a group-addressed frame, which every station that hears the sender
    /// receives. A frame to a number without a station is valid: it is sent, and no station answers.
    pub to: Option<usize>,
    /// The sender's contender, an index into [`crate::StationConfig::access`].
    pub contender: usize,
}

/// An MSDU that its receivers deliver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<'m> {
    /// Its path.
    pub route: Route,
    /// The stations that received it, in ascending order: the station of its route, or for a group-addressed
    /// frame at least one station.
    pub receivers: &'m [usize],
    /// Time at which it was queued.
    pub arrival: Nanos,
    /// Number of previous transmissions of its MPDU; above zero, the Retry bit was set.
    pub retries: u8,
}

/// The reason why a frame left the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The frame was acknowledged, or the PPDU of a group-addressed frame ended.
    Sent,
    /// The queue was full, or its discipline dropped the frame.
    Queue,
    /// The frame was dropped at the retry limit, or because its driver requested no further transmission. Its
    /// receiver may have received it.
    Retries,
}

/// A frame that left the medium.
#[derive(Debug)]
pub struct Completion<F> {
    /// The sending station.
    pub station: usize,
    /// The frame.
    pub frame: F,
    /// The reason.
    pub outcome: Outcome,
    /// Number of times that its MPDU was transmitted, at most 255; zero if the frame was never on the air. For
    /// a fragmented MSDU, it counts the transmissions of the fragment that was sent last.
    pub transmissions: u8,
}
