//! The configuration of a simulation.

use super::{Processor, UdpSockets};
use crate::tcp::{CongestionControl, IpVersion, TcpError, Window};
use crate::traffic::{Pace, TrafficError, VideoConfig};
use crate::{ConfigError, Cpu, MediumConfig, Nanos};

/// Octets of LLC/SNAP before an IP packet (IEEE Std 802, 9.4; RFC 1042).
pub(super) const LLC_SNAP_LEN_B: usize = 8;
/// Octets of a UDP header.
pub(super) const UDP_LEN_B: usize = 8;
/// Octets of the fragment header of IPv6 (RFC 8200, 4.5).
const FRAGMENT_HEADER_LEN_B: usize = 8;
/// Octets of the shortest MTU that every link has (RFC 791, 3.1).
pub(super) const MTU_LEAST_B: usize = 68;
/// Octets of the longest MSDU (Table 9-25).
pub(super) const MSDU_MAX_B: usize = 2304;

/// Flows over a medium.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The air. Station 0 is the access point. It forwards frames between other stations, and opens and seals
    /// these frames again.
    pub medium: MediumConfig,
    /// The processor of each station, which protects the frames. The frames that it seals and the frames that wait for
    /// the air share the buffers of a card, as many as the queue limit of the station: security does not add buffers.
    pub processors: Vec<Processor>,
    /// Number of received packets that each processor holds.
    pub receive_limit: usize,
    /// The wired segment between the server and the access point.
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
    /// Bit rate.
    pub rate_bps: u64,
    /// Propagation delay and any other constant delay of all frames.
    pub delay: Nanos,
    /// Queue limit at each end, in frames.
    pub queue_limit: usize,
}

impl Wired {
    /// Gigabit Ethernet without delay, with a queue of 1000 frames at each end.
    #[must_use]
    pub const fn gigabit() -> Wired {
        Wired {
            rate_bps: 1_000_000_000,
            delay: Nanos::ZERO,
            queue_limit: 1000,
        }
    }

    /// Octets that Ethernet adds to an IP packet: header 14, FCS 4, preamble 8, gap 12 (IEEE Std 802.3,
    /// 3.1.1).
    const FRAMING_B: usize = 14 + 4 + 8 + 12;

    /// Duration of an IP packet of `ip_len_b` octets on the wire.
    #[must_use]
    pub fn frame(&self, ip_len_b: usize) -> Nanos {
        let bits = 8 * (ip_len_b + Wired::FRAMING_B) as u128;
        Nanos(u64::try_from(bits * 1_000_000_000 / u128::from(self.rate_bps)).unwrap_or(u64::MAX))
    }
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The host of a station; 0 is the access point.
    Station(usize),
    /// The server behind the access point.
    Server,
}

impl End {
    /// The station that connects this end to the air.
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
    /// The end that sends.
    pub from: End,
    /// The end that receives.
    pub to: End,
    /// The traffic of the flow.
    pub source: Source,
    /// The IP version of its packets.
    pub ip: IpVersion,
    /// Index of the access category at every station on its path.
    pub contender: usize,
    /// Octets of the longest IP packet: IP fragments longer datagrams. `None`: no limit.
    pub mtu_b: Option<usize>,
    /// The sockets of its datagrams.
    pub sockets: UdpSockets,
    /// The CPU of the host that sends saturated or paced datagrams, or TCP.
    pub cpu: Cpu,
}

impl Flow {
    /// Lengths in octets of the IP packets that carry an IP packet of `ip_len_b` octets: the packet, or its fragments.
    /// Fragments carry multiples of 8 octets except the last one (RFC 791, 2.3; RFC 8200, 4.5).
    pub(super) fn fragments(&self, ip_len_b: usize) -> impl Iterator<Item = usize> + use<> {
        let header_b = self.fragment_header_b();
        let whole = self.mtu_b.is_none_or(|mtu_b| ip_len_b <= mtu_b);
        let most_b = self
            .mtu_b
            .map_or(0, |mtu_b| mtu_b.saturating_sub(header_b) / 8 * 8);
        let mut left_b = ip_len_b - self.ip.header_len_b();
        std::iter::from_fn(move || {
            if left_b == 0 {
                return None;
            }
            if whole {
                left_b = 0;
                return Some(ip_len_b);
            }
            let payload_b = left_b.min(most_b);
            left_b -= payload_b;
            Some(header_b + payload_b)
        })
    }

    /// Octets of the IP headers of a fragment.
    pub(super) fn fragment_header_b(&self) -> usize {
        let fragment_b = match self.ip {
            IpVersion::V4 => 0,
            IpVersion::V6 => FRAGMENT_HEADER_LEN_B,
        };
        self.ip.header_len_b() + fragment_b
    }
}

/// The traffic of a flow.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Source {
    /// Datagrams as fast as the first station on the path accepts them. A datagram that would be lost at a
    /// full queue is not offered.
    Saturated {
        /// UDP payload per datagram, in octets.
        payload_b: usize,
    },
    /// Datagrams at a constant rate.
    Cbr {
        /// Bits of UDP payload per second.
        rate_bps: u64,
        /// UDP payload per datagram, in octets.
        payload_b: usize,
        /// The program that spaces them.
        pace: Pace,
    },
    /// Datagrams at independent, exponentially distributed intervals.
    Poisson {
        /// Mean bits of UDP payload per second.
        rate_bps: u64,
        /// UDP payload per datagram, in octets.
        payload_b: usize,
    },
    /// Request datagrams, one at a time: a request, its response, a pause, the next request.
    RequestResponse {
        /// UDP payload of a request.
        request_b: usize,
        /// UDP payload of a response.
        response_b: usize,
        /// Pause between a response and the next request.
        think: Nanos,
    },
    /// Video over RTP.
    Video(VideoConfig),
    /// A bulk transfer.
    Tcp(Tcp),
}

impl Source {
    /// UDP payload of the longest datagram; 0 with TCP, whose segments always fit.
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
#[allow(clippy::struct_excessive_bools)] // independent settings
pub struct Tcp {
    /// Congestion control of the sender.
    pub congestion: CongestionControl,
    /// Receive window.
    pub window: Window,
    /// Whether a delayed ACK is allowed.
    pub delayed_ack: bool,
    /// Whether segments that arrive in one A-MPDU are delivered as one segment, as with receive offload; this
    /// at least halves the number of ACKs.
    pub coalesce: bool,
    /// Whether segments carry timestamps (RFC 7323).
    pub timestamps: bool,
    /// Whether the sender's device splits super-packets, as with TSO.
    pub segmentation_offload: bool,
    /// Octets that the applications write and read per call.
    pub call_b: u64,
}

impl Tcp {
    /// Linux's defaults.
    #[must_use]
    pub const fn linux() -> Tcp {
        Tcp {
            congestion: CongestionControl::Cubic,
            window: Window::linux(),
            delayed_ack: true,
            coalesce: true,
            timestamps: true,
            segmentation_offload: true,
            call_b: 128 << 10,
        }
    }
}

/// An invalid [`Scenario`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The medium is invalid.
    #[error(transparent)]
    Medium(#[from] ConfigError),
    /// A source is invalid.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    /// An end of a TCP connection is invalid.
    #[error(transparent)]
    Tcp(#[from] TcpError),
    /// A flow names a station that does not exist.
    #[error("a flow names station {station}, but the medium has {stations} stations, numbered from 0")]
    NoStation {
        /// The station.
        station: usize,
        /// Number of stations.
        stations: usize,
    },
    /// A flow names an access category that a station on its path does not have.
    #[error(
        "a flow uses access category {contender} of station {station}, which has {categories} categories, \
         numbered from 0"
    )]
    NoContender {
        /// The category.
        contender: usize,
        /// The station.
        station: usize,
        /// Number of categories of the station.
        categories: usize,
    },
    /// A datagram does not fit into an MSDU.
    #[error(
        "a datagram of {payload_b} octets gives an MSDU of {msdu_b} octets: the maximum is {MSDU_MAX_B} \
         (IEEE Std 802.11-2020, Table 9-25)"
    )]
    Payload {
        /// UDP payload.
        payload_b: usize,
        /// Length of the MSDU, including UDP, IP and LLC/SNAP headers.
        msdu_b: usize,
    },
    /// An MTU is too short.
    #[error("an MTU of {0} octets: must be at least {MTU_LEAST_B} (RFC 791, 3.1)")]
    Mtu(usize),
    /// A flow starts and ends at the same station.
    #[error("a flow starts and ends at the same station")]
    Nowhere,
    /// The number of processors differs from the number of stations.
    #[error("{processors} processors for {stations} stations: one per station is required")]
    Processors {
        /// Number of processors.
        processors: usize,
        /// Number of stations.
        stations: usize,
    },
    /// The time per octet of a processor is negative or not finite.
    #[error("a processor takes {0} ns per octet: it must be 0 or more")]
    Processor(f64),
    /// The measured window has no duration.
    #[error("the measured window must be longer than 0")]
    Duration,
    /// The wired segment has no rate or holds no frame.
    #[error("the wired segment requires a rate above 0 and a queue of at least one frame")]
    Wired,
    /// The processors hold no received packet.
    #[error("a processor must hold at least one received packet")]
    ReceiveLimit,
}
