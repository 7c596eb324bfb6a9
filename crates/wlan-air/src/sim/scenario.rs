//! What is simulated.

use super::Processor;
use crate::tcp::{CongestionControl, IpVersion, TcpError, Window};
use crate::traffic::{TrafficError, VideoConfig};
use crate::{ConfigError, MediumConfig, Nanos};

/// Octets of LLC/SNAP in front of an IP packet (IEEE Std 802, 9.4; RFC 1042).
pub(super) const LLC_SNAP_LEN_B: usize = 8;
/// Octets of a UDP header.
pub(super) const UDP_LEN_B: usize = 8;
/// Octets of the longest MSDU (Table 9-25).
pub(super) const MSDU_MAX_B: usize = 2304;

/// Flows over a medium.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The air. Station 0 is the access point: what goes from one other station to another goes through it, opened and
    /// sealed again there.
    pub medium: MediumConfig,
    /// What protects the frames, by station.
    pub processors: Vec<Processor>,
    /// Frames that each processor holds.
    pub processor_limit: usize,
    /// What joins the server to the access point.
    pub wired: Wired,
    /// The traffic.
    pub flows: Vec<Flow>,
    /// Time before the measured window.
    pub warmup: Nanos,
    /// The measured window.
    pub duration: Nanos,
}

/// The wired segment between the access point and a server, full duplex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wired {
    /// Its rate.
    pub rate_bps: u64,
    /// Propagation and whatever else delays all frames alike.
    pub delay: Nanos,
    /// Frames that wait at each end.
    pub queue_limit: usize,
}

impl Wired {
    /// Gigabit Ethernet of no length, with 1000 frames at each end.
    #[must_use]
    pub const fn gigabit() -> Wired {
        Wired {
            rate_bps: 1_000_000_000,
            delay: Nanos::ZERO,
            queue_limit: 1000,
        }
    }

    /// Octets of an Ethernet frame beyond its IP packet: header 14, FCS 4, preamble 8, gap 12 (IEEE Std 802.3, 3.1.1).
    const FRAMING_B: usize = 14 + 4 + 8 + 12;

    /// Time on the wire of an IP packet of `ip_len_b` octets.
    #[must_use]
    pub fn frame(&self, ip_len_b: usize) -> Nanos {
        let bits = 8 * (ip_len_b + Wired::FRAMING_B) as u128;
        Nanos(u64::try_from(bits * 1_000_000_000 / u128::from(self.rate_bps)).unwrap_or(u64::MAX))
    }
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The host that a station is; 0 is the access point.
    Station(usize),
    /// The server behind the access point.
    Server,
}

impl End {
    /// The station that takes part in the air for it.
    #[must_use]
    pub fn station(self) -> usize {
        match self {
            End::Station(station) => station,
            End::Server => 0,
        }
    }
}

/// Traffic from one end to another.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Where it starts.
    pub from: End,
    /// Where it goes.
    pub to: End,
    /// What it sends.
    pub source: Source,
    /// In which IP packets.
    pub ip: IpVersion,
    /// Index of the access category at every station on its way.
    pub contender: usize,
}

/// What a flow sends.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// Datagrams as fast as the first station on the way takes them. What a faster source would lose at its full queue
    /// is not offered.
    Saturated {
        /// UDP payload of each.
        payload_b: usize,
    },
    /// Datagrams at even distances.
    Cbr {
        /// Bits of UDP payload a second.
        rate_bps: u64,
        /// UDP payload of each.
        payload_b: usize,
    },
    /// Datagrams at independent, exponential distances.
    Poisson {
        /// Bits of UDP payload a second, on average.
        rate_bps: u64,
        /// UDP payload of each.
        payload_b: usize,
    },
    /// A request as a datagram, its answer, a pause, the next request.
    RequestResponse {
        /// UDP payload of a request.
        request_b: usize,
        /// UDP payload of a response.
        response_b: usize,
        /// Pause between an answer and the next request.
        think: Nanos,
    },
    /// Video over RTP.
    Video(VideoConfig),
    /// A bulk transfer.
    Tcp(Tcp),
}

impl Source {
    /// UDP payload of its longest datagram; 0 with TCP, whose segments always fit.
    pub(super) fn largest_payload_b(&self) -> usize {
        match *self {
            Source::Saturated { payload_b }
            | Source::Cbr { payload_b, .. }
            | Source::Poisson { payload_b, .. } => payload_b,
            Source::RequestResponse {
                request_b,
                response_b,
                ..
            } => request_b.max(response_b),
            Source::Video(video) => video.payload_b,
            Source::Tcp(_) => 0,
        }
    }
}

/// A bulk transfer over TCP.
#[derive(Clone, Copy, Debug)]
pub struct Tcp {
    /// Congestion control of the sender.
    pub congestion: CongestionControl,
    /// Receive window.
    pub window: Window,
    /// Whether a delayed ACK is allowed.
    pub delayed_ack: bool,
    /// Whether segments that arrive in one A-MPDU are handed on as one, as receive offload does; it halves the number
    /// of ACKs and more.
    pub coalesce: bool,
}

/// What can be wrong with a [`Scenario`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    /// The medium.
    #[error(transparent)]
    Medium(#[from] ConfigError),
    /// A source.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    /// An end of a TCP connection.
    #[error(transparent)]
    Tcp(#[from] TcpError),
    /// A flow from or to a station that there is not.
    #[error("a flow names station {station}, but there are {stations}, numbered from 0")]
    NoStation {
        /// The station.
        station: usize,
        /// How many there are.
        stations: usize,
    },
    /// An access category that a station on the way has not.
    #[error(
        "a flow uses access category {contender} of station {station}, which has {categories}, numbered from 0"
    )]
    NoContender {
        /// The category.
        contender: usize,
        /// The station.
        station: usize,
        /// How many it has.
        categories: usize,
    },
    /// A datagram that no MSDU holds.
    #[error(
        "a datagram of {payload_b} octets makes an MSDU of {msdu_b}: at most {MSDU_MAX_B} are allowed \
         (IEEE Std 802.11-2020, Table 9-25)"
    )]
    Payload {
        /// UDP payload.
        payload_b: usize,
        /// With UDP, IP and LLC/SNAP headers.
        msdu_b: usize,
    },
    /// A flow that goes nowhere.
    #[error("a flow starts and ends at the same station")]
    Nowhere,
    /// A processor for each station.
    #[error("{processors} processors for {stations} stations: each needs one")]
    Processors {
        /// How many are given.
        processors: usize,
        /// How many are needed.
        stations: usize,
    },
    /// A processor that takes less than no time.
    #[error("a processor takes {0} ns for an octet: it must be 0 or more")]
    Processor(f64),
    /// Nothing to measure in.
    #[error("the measured window must be longer than nothing")]
    Duration,
    /// No wire.
    #[error("the wired segment needs a rate, and room for a frame")]
    Wired,
    /// No room in the processors.
    #[error("a processor must hold at least one frame")]
    ProcessorLimit,
}
