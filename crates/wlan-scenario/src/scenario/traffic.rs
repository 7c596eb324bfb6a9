//! The traffic: direction, transport and sources.

use serde::Deserialize;
use wlan_air::sim::{End, Flow, Source, Tcp, UdpSockets};
use wlan_air::tcp::{CongestionControl, IpVersion, Window};
use wlan_air::traffic::{Pace, VideoConfig, WakeUp};
use wlan_air::{Cpu, Nanos};
use wlan_frames::LlcSnap;

use super::BadScenario;
use super::error::{rate_bps, span};
use crate::words::{Direction, Kind, Pacing, Transport, WakeUps, Word};

/// Octets of a UDP header, and of a TCP header with timestamps.
const UDP_LEN_B: usize = 8;
const TCP_LEN_B: usize = 32;
/// iperf3's timer between two decisions on how much to send (its option `--pacing-timer`).
const PACING_TIMER_US: f64 = 1000.0;
/// Resolution of the clock that iperf 2 reads on Linux (`gettimeofday`).
const CLOCK_RESOLUTION_US: f64 = 1.0;
/// The MTU of the hosts' devices in lab air, which IP fragments datagrams to.
const MTU_B: usize = 1500;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Traffic {
    direction: Direction,
    pub transport: Transport,
    pub ip: Word<IpVersion>,
    /// Octets of the payload of a packet.
    pub packet_size: usize,
    #[serde(rename = "traffic")]
    pub kind: Kind,
    offered_mbps: Option<f64>,
    pacing: Option<Pacing>,
    pacing_timer_us: Option<f64>,
    clock_resolution_us: Option<f64>,
    write_time_us: Option<f64>,
    packet_time_us: Option<f64>,
    wake_up: Option<WakeUps>,
    wake_up_mean_us: Option<f64>,
    wake_up_deviation_us: Option<f64>,
    /// Between a response and the next request.
    pause_us: Option<f64>,
    congestion_control: Option<Word<CongestionControl>>,
    pub window_bytes: Option<u64>,
    receive_buffer_bytes: Option<u64>,
    delayed_ack: Option<bool>,
    coalesce: Option<bool>,
    timestamps: Option<bool>,
    segmentation_offload: Option<bool>,
    ip_fragments: Option<bool>,
    pub udp_buffer_bytes: Option<u64>,
    udp_tun: Option<bool>,
}

impl Traffic {
    /// Whether packets that arrive together are delivered to a host as one.
    pub fn coalesce(&self) -> bool {
        self.coalesce.unwrap_or(true)
    }

    /// The flows between each of `ends`: a station and its peer.
    pub fn flows(
        &self,
        ends: impl Iterator<Item = (End, End)>,
        duration: Nanos,
    ) -> Result<Vec<Flow>, BadScenario> {
        let (source, cpu, Word(ip)) = (self.source(duration)?, self.cpu()?, self.ip);
        let flow = |from, to| Flow {
            from,
            to,
            source,
            ip,
            contender: 0,
            mtu_b: self.fragments().then_some(MTU_B),
            sockets: self.sockets(),
            cpu,
        };
        let between = |(station, peer)| match self.direction {
            Direction::Up => vec![flow(station, peer)],
            Direction::Down => vec![flow(peer, station)],
            Direction::Both => vec![flow(station, peer), flow(peer, station)],
        };
        Ok(ends.flat_map(between).collect())
    }

    fn source(&self, duration: Nanos) -> Result<Source, BadScenario> {
        let payload_b = self.packet_size;
        let pause = span("pause", self.pause_us.unwrap_or(0.0), 1e-6)?;
        let request_response = |payload_b| Source::RequestResponse {
            request_b: payload_b,
            response_b: payload_b,
            think: pause,
        };
        let offered_bps = self.offered_mbps.map(|mbps| rate_bps("offered", mbps));
        match (self.transport, self.kind) {
            (Transport::Tcp, Kind::Saturated) => Ok(Source::Tcp(self.tcp())),
            (Transport::Tcp, Kind::RequestResponse) => {
                // Each segment also acknowledges the previous one, so the number of packets is that of UDP.
                Ok(request_response(payload_b + TCP_LEN_B - UDP_LEN_B))
            }
            (Transport::Tcp, Kind::Cbr | Kind::Video) => Err(BadScenario::together(
                "transport tcp supports only traffic saturated and request-response; use udp for cbr and video",
            )),
            (Transport::Udp, Kind::Saturated) => Ok(Source::Saturated { payload_b }),
            (Transport::Udp, Kind::RequestResponse) => Ok(request_response(payload_b)),
            (Transport::Udp, Kind::Cbr) => match offered_bps.transpose()? {
                Some(rate_bps) => Ok(Source::Cbr {
                    rate_bps,
                    payload_b,
                    pace: self.pace()?,
                }),
                None => Err(BadScenario::together("traffic cbr requires a load: set offered")),
            },
            (Transport::Udp, Kind::Video) => {
                let usual = VideoConfig::high_rate();
                let config = VideoConfig {
                    rate_bps: offered_bps.transpose()?.unwrap_or(usual.rate_bps),
                    payload_b,
                    ..usual
                };
                Ok(Source::Video(config.with_clip_of(duration)))
            }
        }
    }

    /// The program that sends datagrams: iperf3, which lab air runs, unless set.
    pub fn program(&self) -> Pacing {
        self.pacing.unwrap_or(Pacing::Iperf3)
    }

    /// The spacing of the datagrams of a constant bit rate.
    fn pace(&self) -> Result<Pace, BadScenario> {
        Ok(match self.program() {
            Pacing::Even => Pace::Even,
            Pacing::Iperf3 => {
                let timer_us = self.pacing_timer_us.unwrap_or(PACING_TIMER_US);
                Pace::Timer(period("pacing_timer", timer_us)?)
            }
            Pacing::Iperf2 => {
                let resolution_us = self.clock_resolution_us.unwrap_or(CLOCK_RESOLUTION_US);
                Pace::Clock(period("clock_resolution", resolution_us)?)
            }
        })
    }

    /// The CPU of the hosts.
    fn cpu(&self) -> Result<Cpu, BadScenario> {
        Ok(Cpu {
            write: span("write_time", self.write_time_us.unwrap_or(0.0), 1e-6)?,
            packet: span("packet_time", self.packet_time_us.unwrap_or(0.0), 1e-6)?,
            wake_up: self.wake_up()?,
        })
    }

    /// The time until a program runs that waited.
    fn wake_up(&self) -> Result<WakeUp, BadScenario> {
        let distribution = self.wake_up.unwrap_or(WakeUps::Instant);
        let times = (self.wake_up_mean_us, self.wake_up_deviation_us);
        match (distribution, times) {
            (WakeUps::Instant, (None, None)) => Ok(WakeUp::Instant),
            (WakeUps::Exponential, (Some(mean_us), None)) => Ok(WakeUp::Exponential {
                mean: period("wake_up_mean", mean_us)?,
            }),
            (WakeUps::Lognormal, (Some(mean_us), Some(deviation_us))) => Ok(WakeUp::Lognormal {
                mean: period("wake_up_mean", mean_us)?,
                deviation: span("wake_up_deviation", deviation_us, 1e-6)?,
            }),
            (WakeUps::Instant, _) => Err(BadScenario::together(
                "wake_up_mean and wake_up_deviation require a wake_up other than instant",
            )),
            (WakeUps::Exponential, _) => Err(BadScenario::together(
                "wake_up exponential requires wake_up_mean, which is also its deviation, without wake_up_deviation",
            )),
            (WakeUps::Lognormal, _) => Err(BadScenario::together(
                "wake_up lognormal requires wake_up_mean and wake_up_deviation",
            )),
        }
    }

    fn timestamps(&self) -> bool {
        self.timestamps.unwrap_or(true)
    }

    /// Whether IP fragments datagrams that exceed the hosts' MTU. Otherwise, the hosts have no MTU.
    fn fragments(&self) -> bool {
        self.transport == Transport::Udp && self.ip_fragments.unwrap_or(false)
    }

    /// The sockets of datagrams. Those of TCP have a window.
    fn sockets(&self) -> UdpSockets {
        UdpSockets {
            buffer_b: self.udp_buffer_bytes.filter(|_| self.transport == Transport::Udp),
            tun: self.udp_tun.unwrap_or(false),
            select: self.program() == Pacing::Iperf3,
        }
    }

    fn tcp(&self) -> Tcp {
        let congestion = self.congestion_control;
        Tcp {
            congestion: congestion.map_or(CongestionControl::Cubic, |Word(congestion)| congestion),
            window: match (self.window_bytes, self.receive_buffer_bytes) {
                (Some(size_b), _) => Window::Socket(size_b),
                (None, Some(size_b)) => Window::starting_with(size_b),
                (None, None) => Window::linux(),
            },
            delayed_ack: self.delayed_ack.unwrap_or(true),
            coalesce: self.coalesce(),
            timestamps: self.timestamps(),
            segmentation_offload: self.segmentation_offload.unwrap_or(true),
            call_b: self.packet_size as u64,
        }
    }

    /// Octets of the MSDU of a data packet; for TCP, of a full segment.
    pub fn msdu_b(&self) -> usize {
        let Word(ip) = self.ip;
        match (self.transport, self.kind) {
            (Transport::Tcp, Kind::Saturated) => {
                LlcSnap::LEN + ip.header_len_b() + TCP_LEN_B + ip.mss_b(true) as usize
            }
            (Transport::Tcp, _) => LlcSnap::LEN + ip.header_len_b() + TCP_LEN_B + self.packet_size,
            (Transport::Udp, _) => self.datagram_msdu_b(),
        }
    }

    /// Octets of the MSDU of a UDP datagram of this packet size.
    pub fn datagram_msdu_b(&self) -> usize {
        LlcSnap::LEN + self.ip.0.header_len_b() + UDP_LEN_B + self.packet_size
    }
}

/// Converts a period in us.
fn period(key: &'static str, us: f64) -> Result<Nanos, BadScenario> {
    match span(key, us, 1e-6)? {
        Nanos::ZERO => Err(BadScenario::number(key, us, "expected at least 0.001 us")),
        period => Ok(period),
    }
}
