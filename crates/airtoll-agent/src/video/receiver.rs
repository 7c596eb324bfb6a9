//! The receiving end of a stream.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroU32;
use std::time::Duration;

use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use wlan_air::Nanos;
use wlan_air::traffic::{Delays, Jitter, Loss};
use wlan_host::clock::monotonic_ns;

use super::packet::{Datagram, Header};
use super::report::{Distribution, Interval, Received, ReceivedFrame};
use super::{VideoError, Window};
use crate::program::{ProgramError, is_passing, is_timeout, while_doing};

/// Time of arrival that is counted together.
const INTERVAL: Nanos = Nanos::from_ms(100);
/// For so long after its window a stream is looked at.
const PATIENCE: Nanos = Nanos::from_secs(60);
/// Half a second at 64 Mbit/s, of which the kernel grants what net.core.rmem_max allows.
const BUFFER_B: usize = 4 << 20;
/// How long after the sender has said that the stream is over it may say so again, as the answer was lost.
const FAREWELL: Duration = Duration::from_millis(100);

/// What of a stream came, and when: no more is kept than the window asks for, however much comes.
#[derive(Clone, Debug)]
pub struct Log {
    fps: NonZeroU32,
    window: Window,
    stream: Option<Stream>,
    loss: Loss,
    delays: Delays,
    jitter: Jitter,
    rtp_jitter: Jitter,
    rtp_jitter_sum_ns: u128,
    frames: BTreeMap<u32, ReceivedFrame>,
    intervals: Vec<Interval>,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    ssrc: u32,
    /// When frame 0 was captured, by the sender's clock.
    start: Nanos,
    /// The sequence number of the last packet, with the times that it went round (RFC 3550, A.1).
    sequence: u64,
}

impl Stream {
    /// A first packet, with so many numbers before it that none below it is negative.
    fn new(header: &Header, fps: NonZeroU32) -> Stream {
        let after_ns = u64::from(header.frame) * 1_000_000_000 / u64::from(fps.get());
        Stream {
            ssrc: header.ssrc,
            start: header.captured.saturating_sub(Nanos(after_ns)),
            sequence: 1 << 32 | u64::from(header.sequence),
        }
    }

    /// The extended number of a packet: of those that end so, the one nearest to the last packet's.
    #[allow(clippy::cast_possible_truncation)] // the number without the times that it went round
    fn extended(&self, sequence: u16) -> u64 {
        let ahead = sequence.wrapping_sub(self.sequence as u16).cast_signed();
        self.sequence.saturating_add_signed(i64::from(ahead))
    }
}

impl Log {
    /// Nothing yet.
    #[must_use]
    pub fn new(fps: NonZeroU32, window: Window) -> Log {
        Log {
            fps,
            window,
            stream: None,
            loss: Loss::default(),
            delays: Delays::default(),
            jitter: Jitter::default(),
            rtp_jitter: Jitter::default(),
            rtp_jitter_sum_ns: 0,
            frames: BTreeMap::new(),
            intervals: Vec::new(),
        }
    }

    /// A packet with so many octets of picture arrived. Whether it belongs to the stream: another than the first to
    /// come is none of ours, nor are frames from before it or long after its window.
    pub fn record(&mut self, header: &Header, picture_b: usize, arrived: Nanos) -> bool {
        let stream = self.stream.get_or_insert_with(|| Stream::new(header, self.fps));
        let since_start = |moment: Nanos| moment.0.checked_sub(stream.start.0).map(Nanos);
        let (Some(captured), Some(after)) = (since_start(header.captured), since_start(arrived)) else {
            return false;
        };
        let latest = self.window.closes + PATIENCE;
        if header.ssrc != stream.ssrc || captured > latest || after > latest {
            return false;
        }
        let sequence = stream.extended(header.sequence);
        stream.sequence = stream.sequence.max(sequence);
        self.loss.record(sequence);
        self.jitter.record(header.sent, arrived);
        self.rtp_jitter.record(header.captured, arrived);
        self.rtp_jitter_sum_ns += u128::from(self.rtp_jitter.value().0);
        if (self.window.opens..self.window.closes).contains(&captured) {
            self.delays.record(arrived.saturating_sub(header.sent));
        }
        let frame = self.frames.entry(header.frame).or_insert(ReceivedFrame {
            frame: header.frame,
            packets: 0,
            delay: Nanos::ZERO,
        });
        frame.packets += 1;
        frame.delay = frame.delay.max(arrived.saturating_sub(header.captured));
        let index = usize::try_from(after.0 / INTERVAL.0).unwrap_or(usize::MAX);
        if self.intervals.len() <= index {
            // Where nothing came the jitter stays what it was.
            let last = self.intervals.last().map_or(Nanos::ZERO, |last| last.jitter);
            let silent = Interval {
                jitter: last,
                ..Interval::default()
            };
            self.intervals.resize(index + 1, silent);
        }
        // A clock that all share never goes back, so this is the last.
        let interval = &mut self.intervals[index];
        interval.packets += 1;
        interval.octets += picture_b as u64;
        interval.jitter = self.jitter.value();
        true
    }

    /// What there is to say.
    #[must_use]
    pub fn report(&self, bye: bool, buffer_b: usize) -> Received {
        let packets = self.loss.received();
        let mean_ns = self
            .rtp_jitter_sum_ns
            .checked_div(u128::from(packets))
            .unwrap_or(0);
        Received {
            video: env!("CARGO_PKG_VERSION"),
            ssrc: self.stream.map(|stream| stream.ssrc),
            start_ns: self.stream.map(|stream| stream.start.0),
            buffer_octets: buffer_b,
            bye,
            packets,
            expected: self.loss.expected(),
            delay_ns: Distribution::of(&self.delays),
            rtp_jitter_mean_ns: u64::try_from(mean_ns).unwrap_or(u64::MAX),
            frames: self.frames.values().copied().collect(),
            intervals: self.intervals.clone(),
            interval_ns: INTERVAL.0,
        }
    }
}

/// The end that a stream goes to.
pub struct Receiver {
    socket: UdpSocket,
    fps: NonZeroU32,
    window: Window,
    buffer_b: usize,
}

impl Receiver {
    /// Takes the address; from here on a stream with so many frames a second may come.
    ///
    /// # Errors
    /// The address is not this host's, or the port is in use.
    pub fn bind(address: SocketAddr, fps: NonZeroU32, window: Window) -> Result<Receiver, VideoError> {
        let listening = |error| ProgramError::listening(address, error);
        let socket = UdpSocket::bind(address).map_err(listening)?;
        setsockopt(&socket, sockopt::RcvBuf, &BUFFER_B).map_err(|errno| listening(errno.into()))?;
        let buffer_b = getsockopt(&socket, sockopt::RcvBuf).map_err(|errno| listening(errno.into()))?;
        Ok(Receiver {
            socket,
            fps,
            window,
            buffer_b,
        })
    }

    /// The address with the port that the system chose if 0 was asked for.
    ///
    /// # Errors
    /// The system's.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Receives until the sender says that the stream is over, or nothing has come for `idle`: a receiver that is
    /// forgotten ends by itself.
    ///
    /// # Errors
    /// The system's.
    pub fn receive(&self, idle: Duration) -> Result<Received, VideoError> {
        let mut log = Log::new(self.fps, self.window);
        let bye = self.log(&mut log, idle).map_err(while_doing("receiving"))?;
        Ok(log.report(bye, self.buffer_b))
    }

    /// Whether the end was seen.
    fn log(&self, log: &mut Log, idle: Duration) -> std::io::Result<bool> {
        let mut octets = vec![0; usize::from(u16::MAX)];
        let mut bye = false;
        self.socket.set_read_timeout(Some(idle))?;
        loop {
            let (len, sender) = match self.socket.recv_from(&mut octets) {
                Ok(received) => received,
                Err(error) if is_timeout(&error) => return Ok(bye),
                Err(error) if is_passing(&error) => continue,
                Err(error) => return Err(error),
            };
            let now = Nanos(monotonic_ns());
            let answer = match Datagram::parse(&octets[..len]) {
                Some(Datagram::Picture(header, picture_b)) => {
                    if log.record(&header, picture_b, now) && header.marker {
                        &octets[..Header::LEN]
                    } else {
                        continue;
                    }
                }
                Some(Datagram::Bye(end)) if log.stream.is_none_or(|stream| stream.ssrc == end.ssrc) => {
                    bye = true;
                    self.socket.set_read_timeout(Some(FAREWELL))?;
                    &octets[..len]
                }
                _ => continue,
            };
            match self.socket.send_to(answer, sender) {
                // A sender that has gone answers with ICMP.
                Err(error) if !is_passing(&error) => return Err(error),
                _ => {}
            }
        }
    }
}
