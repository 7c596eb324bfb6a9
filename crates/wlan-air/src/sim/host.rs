//! The hosts at the ends of a flow.

use super::scenario::{Flow, ScenarioError, Source};
use crate::tcp::{Receiver, ReceiverConfig, SendBuffer, Sender, SenderConfig, Window};
use crate::traffic::{Cbr, Departure, FrameMeter, Pace, Poisson, RequestResponse, Video, VideoPacket};
use crate::{Cpu, Nanos};

/// Octets of the cookie by which iperf3 identifies a connection. Its short round trip is the smallest one, so slow start
/// ends earlier than without it.
const COOKIE_B: u64 = 37;

/// The state of a flow's ends.
pub(super) enum Host {
    Saturated {
        payload_b: usize,
        next: u64,
    },
    Paced {
        departures: Box<dyn Iterator<Item = Departure>>,
        due: Departure,
        next: u64,
    },
    Playing(Box<Playing>),
    Asking {
        client: RequestResponse,
        asked: u64,
        at: Nanos,
        waiting: bool,
    },
    Tcp(Box<Connection>),
}

/// The ends of a video stream. The receiver answers the last packet of each frame with its header, as
/// airtoll's own receiver does, to measure round trips.
pub(super) struct Playing {
    pub video: Video,
    pub due: VideoPacket,
    pub next: u64,
    pub frames: FrameMeter,
}

pub(super) struct Connection {
    pub sender: Sender,
    pub receiver: Receiver,
    pub coalesce: bool,
    /// Octets received before the window.
    pub before_b: u64,
    /// Times of the scheduled timer events of the sender and of the receiver.
    pub scheduled: [Nanos; 2],
    /// Time of the scheduled write of the sender's application.
    pub write_at: Nanos,
}

impl Host {
    /// Creates the ends of a flow, whose source draws from this seed.
    pub fn new(flow: &Flow, seed: u64) -> Result<Host, ScenarioError> {
        let paced = |mut departures: Box<dyn Iterator<Item = Departure>>| {
            let due = departures.next().expect("sources do not end");
            Host::Paced {
                departures,
                due,
                next: 0,
            }
        };
        Ok(match flow.source {
            Source::Saturated { payload_b } => {
                Cbr::new(1, payload_b, Nanos::ZERO, Pace::Even)?; // checks that the payload is not empty
                Host::Saturated { payload_b, next: 0 }
            }
            Source::Cbr {
                rate_bps,
                payload_b,
                pace,
            } => paced(Box::new(
                Cbr::new(rate_bps, payload_b, Nanos::ZERO, pace)?.with_wake_ups(flow.cpu.wake_up, seed),
            )),
            Source::Poisson { rate_bps, payload_b } => {
                paced(Box::new(Poisson::new(rate_bps, payload_b, Nanos::ZERO, seed)?))
            }
            Source::Video(config) => {
                let mut video = Video::new(config, Nanos::ZERO, seed)?;
                let due = video.next().expect("sources do not end");
                Host::Playing(Box::new(Playing {
                    video,
                    due,
                    next: 0,
                    frames: FrameMeter::default(),
                }))
            }
            Source::RequestResponse {
                request_b,
                response_b,
                think,
            } => Host::Asking {
                client: RequestResponse::new(request_b, response_b, think)?,
                asked: 0,
                at: Nanos::ZERO,
                waiting: false,
            },
            Source::Tcp(tcp) => {
                let mss_b = flow.ip.mss_b(tcp.timestamps);
                let sender = SenderConfig {
                    mss_b,
                    timestamps: tcp.timestamps,
                    greeting_b: COOKIE_B,
                    segmentation_offload: tcp.segmentation_offload,
                    buffer: match tcp.window {
                        Window::Socket(size_b) => Some(SendBuffer::iperf3(size_b, tcp.call_b)),
                        Window::Fixed(_) | Window::Auto { .. } => (flow.cpu != Cpu::NONE)
                            .then(|| SendBuffer::iperf3(SendBuffer::LINUX_MAX_B, tcp.call_b)),
                    },
                    cpu: flow.cpu,
                    ..SenderConfig::bulk(tcp.congestion)
                };
                let linux = ReceiverConfig::linux();
                let receiver = ReceiverConfig {
                    mss_b,
                    window: tcp.window,
                    read_b: tcp.call_b,
                    timestamps: tcp.timestamps,
                    delayed_ack: linux.delayed_ack.filter(|_| tcp.delayed_ack),
                    ..linux
                };
                Host::Tcp(Box::new(Connection {
                    sender: Sender::new(sender)?,
                    receiver: Receiver::new(receiver)?,
                    coalesce: tcp.coalesce,
                    before_b: 0,
                    scheduled: [Nanos::MAX; 2],
                    write_at: Nanos::MAX,
                }))
            }
        })
    }
}
