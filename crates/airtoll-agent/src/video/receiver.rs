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

/// Length of an interval of arrival time.
const INTERVAL: Nanos = Nanos::from_ms(100);
/// Packets of a stream are accepted until this time after its window.
const PATIENCE: Nanos = Nanos::from_secs(60);
/// Requested size of the receive buffer: half a second at 64 Mbit/s. The kernel limits it to net.core.rmem_max.
const BUFFER_B: usize = 4 << 20;
/// Time after the sender's BYE during which a repeated BYE is answered, in case the answer was lost.
const FAREWELL: Duration = Duration::from_millis(100);

/// The arrivals of a stream. Memory use is bounded by the window, regardless of the number of packets.
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
    /// Time of the capture of frame 0, by the sender's clock.
    start: Nanos,
    /// Extended sequence number of the last packet, which includes the number of wraparounds (RFC 3550, A.1).
    sequence: u64,
}

impl Stream {
    /// Starts with the first packet. Its extended number is large enough for packets that were sent before it.
    fn new(header: &Header, fps: NonZeroU32) -> Stream {
        let after_ns = u64::from(header.frame) * 1_000_000_000 / u64::from(fps.get());
        Stream {
            ssrc: header.ssrc,
            start: header.captured.saturating_sub(Nanos(after_ns)),
            sequence: 1 << 32 | u64::from(header.sequence),
        }
    }

    /// The extended sequence number of a packet: the candidate nearest to the last packet's number.
    #[allow(clippy::cast_possible_truncation)] // without the wraparounds
    fn extended(&self, sequence: u16) -> u64 {
        let ahead = sequence.wrapping_sub(self.sequence as u16).cast_signed();
        self.sequence.saturating_add_signed(i64::from(ahead))
    }
}

impl Log {
    /// An empty log.
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

    /// Records a packet with `picture_b` octets of picture data. Returns `false` if the packet belongs to another
    /// stream than the first packet, or if its frame is from before the stream or long after its window.
    pub fn record(&mut self, header: &Header, picture_b: usize, arrived: Nanos) -> bool {
        let latest = self.window.closes + PATIENCE;
        let frames_max =
            u128::from(latest.0) * u128::from(self.fps.get()) / u128::from(Nanos::from_secs(1).0);
        if u128::from(header.frame) > frames_max {
            return false;
        }
        let stream = self.stream.get_or_insert_with(|| Stream::new(header, self.fps));
        let since_start = |moment: Nanos| moment.0.checked_sub(stream.start.0).map(Nanos);
        let (Some(captured), Some(after)) = (since_start(header.captured), since_start(arrived)) else {
            return false;
        };
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
            // The jitter does not change during an interval without packets.
            let last = self.intervals.last().map_or(Nanos::ZERO, |last| last.jitter);
            let silent = Interval {
                jitter: last,
                ..Interval::default()
            };
            self.intervals.resize(index + 1, silent);
        }
        // Arrival times never decrease, so this is the last interval.
        let interval = &mut self.intervals[index];
        interval.packets += 1;
        interval.octets += picture_b as u64;
        interval.jitter = self.jitter.value();
        true
    }

    /// The report of all arrivals.
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

/// The receiving end of a stream.
pub struct Receiver {
    socket: UdpSocket,
    fps: NonZeroU32,
    window: Window,
    ahead_ns: i64,
    buffer_b: usize,
}

impl Receiver {
    /// Binds to `address`. A stream with `fps` frames per second may arrive from now on. This host's clock is `ahead_ns`
    /// ahead of the sender's.
    ///
    /// # Errors
    /// The address does not belong to this host, or the port is in use.
    pub fn bind(
        address: SocketAddr,
        fps: NonZeroU32,
        window: Window,
        ahead_ns: i64,
    ) -> Result<Receiver, VideoError> {
        let listening = |error| ProgramError::listening(address, error);
        let socket = UdpSocket::bind(address).map_err(listening)?;
        setsockopt(&socket, sockopt::RcvBuf, &BUFFER_B).map_err(|errno| listening(errno.into()))?;
        let buffer_b = getsockopt(&socket, sockopt::RcvBuf).map_err(|errno| listening(errno.into()))?;
        Ok(Receiver {
            socket,
            fps,
            window,
            ahead_ns,
            buffer_b,
        })
    }

    /// The bound address, with the port that the system chose if port 0 was requested.
    ///
    /// # Errors
    /// The system call fails.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Receives until the sender ends the stream or nothing has arrived for `idle`: an abandoned receiver exits.
    ///
    /// # Errors
    /// A system call fails.
    pub fn receive(&self, idle: Duration) -> Result<Received, VideoError> {
        let mut log = Log::new(self.fps, self.window);
        let bye = self.log(&mut log, idle).map_err(while_doing("receiving"))?;
        Ok(log.report(bye, self.buffer_b))
    }

    /// Receives into `log`. Returns whether the end of the stream was received.
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
            let now = Nanos(monotonic_ns().saturating_add_signed(self.ahead_ns.saturating_neg()));
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
            // A sender that has exited answers with ICMP, and a forged address, such as port 0, is that of nobody.
            let _ = self.socket.send_to(answer, sender);
        }
    }
}
