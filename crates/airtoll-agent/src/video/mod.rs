//! A video stream over real sockets: RTP over UDP, IPv4 or IPv6, with the frames of [`wlan_air::traffic::Video`].
//!
//! The sender passes each packet to the network stack when it is due and reports its lateness. Per frame, the
//! receiver records the number of packets received and the arrival of the last one; over all packets, it records
//! delay, interarrival jitter and loss. It returns the header of each frame's last packet, so that the sender obtains
//! a round-trip time per frame from its own clock. One-way delays compare the clocks of both ends. The receiver subtracts
//! the difference of the clocks that it is given: 0 on one machine.
//!
//! [`Sender`] and [`Receiver`] are the two ends; [`run`] is the command.

mod packet;
mod receiver;
mod report;
mod sender;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::Serialize;
use wlan_air::Nanos;
use wlan_air::traffic::{Pacing, TrafficError, VideoConfig};
use wlan_host::clock::monotonic_ns;

use crate::program::{self, ProgramError, milliseconds, parse, while_doing};

pub use packet::{Bye, Datagram, Header};
pub use receiver::{Log, Receiver};
pub use report::{Distribution, Received, Sent, SentFrame};
pub use sender::Sender;

/// Reason why a stream could not be sent or received.
#[derive(Debug, thiserror::Error)]
pub enum VideoError {
    /// The command line is invalid, or a system call failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The parameters of the stream are invalid.
    #[error(transparent)]
    Stream(#[from] TrafficError),
    /// An ICMP message reported that no socket is bound to the receiver's port.
    #[error("no receiver at {0}")]
    Nobody(SocketAddr),
}

impl From<VideoError> for ProgramError {
    fn from(error: VideoError) -> ProgramError {
        match error {
            VideoError::Program(error) => error,
            own => ProgramError::Own(Box::new(own)),
        }
    }
}

/// The frames to evaluate, by the time from the start of the stream to their capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Start, inclusive.
    pub opens: Nanos,
    /// End, exclusive.
    pub closes: Nanos,
}

const USAGE: &str = "receive ADDRESS:PORT OPENS_MS CLOSES_MS FRAMES_PER_S IDLE_MS AHEAD_NS, or send ADDRESS:PORT OPENS_MS CLOSES_MS \
                     FRAMES_PER_S START_NS RATE_BIT_PER_S PACKET_OCTETS smooth|burst SEED";

/// The command: `receive ADDRESS:PORT OPENS_MS CLOSES_MS FRAMES_PER_S IDLE_MS AHEAD_NS`, or
/// `send ADDRESS:PORT OPENS_MS CLOSES_MS FRAMES_PER_S START_NS RATE_BIT_PER_S PACKET_OCTETS smooth|burst SEED`.
/// Returns the exit status: 0, 1 for a failure, 2 for an invalid command line. The reason is printed to stderr on one
/// line.
///
/// The window from `OPENS_MS` to `CLOSES_MS` is relative to the start of the stream. For the sender, the start is
/// `START_NS` of `CLOCK_MONOTONIC` (0 means now). For the receiver, the start is the capture of frame 0, less than
/// one frame period later. `AHEAD_NS` is the receiver's `CLOCK_MONOTONIC` minus the sender's, and is subtracted from the
/// times of arrival. The rate is that of the pictures; the packet length is the UDP payload. At the end, each
/// end prints one line of JSON: [`Received`] or [`Sent`]. An incomplete line is not valid JSON.
pub fn run(args: impl IntoIterator<Item = String>) -> i32 {
    program::run("video", USAGE, args, command)
}

fn command(args: &[String]) -> Result<(), ProgramError> {
    let [action, address, opens, closes, fps, more @ ..] = args else {
        return Err(ProgramError::usage("too few arguments"));
    };
    let address: SocketAddr = parse(address, "an address with a port")?;
    let window = Window {
        opens: Nanos::from_ms(parse::<u32>(opens, "a number of milliseconds")?.into()),
        closes: nanos(milliseconds(closes)?),
    };
    if window.opens >= window.closes {
        return Err(ProgramError::usage("the window must close after it opens"));
    }
    let fps: NonZeroU32 = parse(fps, "a number of frames per second")?;
    match (action.as_str(), more) {
        ("receive", [idle, ahead]) => {
            let idle = milliseconds(idle)?;
            let ahead_ns = parse(ahead, "a number of nanoseconds")?;
            print(&Receiver::bind(address, fps, window, ahead_ns)?.receive(idle)?)
        }
        ("send", [start, rate, packet, pacing, seed]) => {
            let config = VideoConfig {
                rate_bps: parse(rate, "a number of bit/s")?,
                fps: fps.get(),
                payload_b: parse(packet, "a number of octets")?,
                pacing: match pacing.as_str() {
                    "smooth" => Pacing::Smooth,
                    "burst" => Pacing::Burst,
                    other => return Err(ProgramError::usage(format!("'{other}' is not smooth or burst"))),
                },
                ..VideoConfig::high_rate()
            };
            let config = config.with_clip_of(window.closes - window.opens);
            let start = Nanos(match parse(start, "a number of nanoseconds")? {
                0 => monotonic_ns(),
                moment => moment,
            });
            let seed = parse(seed, "a seed")?;
            print(&Sender::connect(address, config, start, window, seed)?.send()?)
        }
        _ => Err(ProgramError::usage(format!(
            "'{action}' with {} arguments",
            args.len() - 1
        ))),
    }
}

fn print(report: &impl Serialize) -> Result<(), ProgramError> {
    let mut line = serde_json::to_vec(report)
        .map_err(io::Error::from)
        .map_err(while_doing("writing"))?;
    line.push(b'\n');
    io::stdout().write_all(&line).map_err(while_doing("writing"))
}

fn nanos(span: Duration) -> Nanos {
    Nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
