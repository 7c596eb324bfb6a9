//! The sending end of a stream.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{self, MsgFlags};
use wlan_air::Nanos;
use wlan_air::traffic::{PLAYOUT_DEADLINE, Pacing, Video, VideoConfig, VideoPacket};
use wlan_host::clock::monotonic_ns;

use super::packet::{Bye, Datagram, Header};
use super::report::{Sent, SentFrame};
use super::{VideoError, Window};
use crate::program::{is_timeout, while_doing};

/// Units of video RTP time stamps per second (RFC 3551, 5).
const TIMESTAMP_HZ: u64 = 90_000;
/// Maximum number and interval of BYE packets at the end of the stream.
const BYES: u32 = 40;
const BYE_DISTANCE: Duration = Duration::from_millis(50);
/// Maximum delay until the thread that receives answers notices the end.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(50);

/// The initial numbers of a stream, which should be random (RFC 3550, 5.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    ssrc: u32,
    sequence: u16,
    timestamp: u32,
    fps: u32,
}

impl Stream {
    #[allow(clippy::cast_possible_truncation)] // parts of a hash
    pub fn new(seed: u64, fps: u32) -> Stream {
        // Steele, Lea and Flood's SplitMix64, so that consecutive seeds give unrelated streams.
        let mix = |state: u64| {
            let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            state ^ (state >> 31)
        };
        let first = mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
        let second = mix(seed.wrapping_add(0x3c6e_f372_fe94_f82a));
        Stream {
            ssrc: first as u32,
            sequence: second as u16,
            timestamp: (first >> 32) as u32,
            fps,
        }
    }

    /// The header of packet `number`, passed to the network stack at `sent`.
    #[allow(clippy::cast_possible_truncation)] // all three numbers wrap around
    pub fn header(&self, packet: &VideoPacket, number: u64, sent: Nanos) -> Header {
        let after = packet.frame * TIMESTAMP_HZ / u64::from(self.fps);
        Header {
            marker: packet.is_last(),
            sequence: self.sequence.wrapping_add(number as u16),
            timestamp: self.timestamp.wrapping_add(after as u32),
            ssrc: self.ssrc,
            frame: packet.frame as u32,
            captured: packet.captured,
            sent,
        }
    }
}

/// The sending end of a stream.
pub struct Sender {
    socket: UdpSocket,
    receiver: SocketAddr,
    config: VideoConfig,
    start: Nanos,
    window: Window,
    video: Video,
    stream: Stream,
    /// Whether an ICMP message reported that the receiver's port is closed; either thread may receive the error.
    refused: AtomicBool,
}

impl Sender {
    /// Prepares a stream to `receiver` that starts at `start` of `CLOCK_MONOTONIC`. It sends frames until the window
    /// closes, and further frames until the deadline of the last frame in the window, so that the load is equal for
    /// all evaluated frames.
    ///
    /// # Errors
    /// The parameters of the stream are invalid, or there is no route to the receiver.
    pub fn connect(
        receiver: SocketAddr,
        config: VideoConfig,
        start: Nanos,
        window: Window,
        seed: u64,
    ) -> Result<Sender, VideoError> {
        let any = match receiver {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let video = Video::new(config, start, seed)?;
        let socket = UdpSocket::bind(SocketAddr::new(any, 0))
            .and_then(|socket| socket.connect(receiver).map(|()| socket))
            .and_then(|socket| socket.set_read_timeout(Some(ANSWER_TIMEOUT)).map(|()| socket))
            .map_err(while_doing(format!("sending to {receiver}")))?;
        Ok(Sender {
            socket,
            receiver,
            config,
            start,
            window,
            video,
            stream: Stream::new(seed, config.fps),
            refused: AtomicBool::new(false),
        })
    }

    /// Sends the stream.
    ///
    /// # Errors
    /// The receiver's port is closed, or a system call fails.
    pub fn send(self) -> Result<Sent, VideoError> {
        // Otherwise the kernel may wake the thread 50 us late to save power.
        let _ = nix::sys::prctl::set_timerslack(1);
        let over = AtomicBool::new(false);
        let (farewell, farewells) = mpsc::sync_channel(1);
        let (frames, bye_answered, round_trips) = thread::scope(|scope| {
            let answers = scope.spawn(|| self.answers(&over, &farewell));
            let sent = self
                .play()
                .and_then(|frames| Ok((frames, self.say_goodbye(&farewells)?)));
            over.store(true, Ordering::Relaxed);
            let round_trips = answers.join().expect("the thread does not panic");
            sent.map(|(frames, bye_answered)| (frames, bye_answered, round_trips))
        })?;
        let mut report = Sent {
            video: env!("CARGO_PKG_VERSION"),
            rate_bit_per_s: self.config.rate_bps,
            frames_per_s: self.config.fps,
            packet_octets: self.config.payload_b,
            clip_frames: self.config.clip,
            smooth: self.config.pacing == Pacing::Smooth,
            ssrc: self.stream.ssrc,
            start_ns: self.start.0,
            bye_answered,
            frames,
        };
        for (frame, rtt) in round_trips {
            let frame = usize::try_from(frame)
                .ok()
                .and_then(|frame| report.frames.get_mut(frame));
            if let Some(frame) = frame {
                frame.rtt = Some(rtt);
            }
        }
        Ok(report)
    }

    /// Sends all frames and returns them.
    fn play(&self) -> Result<Vec<SentFrame>, VideoError> {
        let end = self.start + self.window.closes + PLAYOUT_DEADLINE;
        let mut octets = vec![0; self.config.payload_b];
        let mut frames: Vec<SentFrame> = Vec::new();
        let packets = self.video.clone().take_while(|packet| packet.captured < end);
        for (packet, number) in packets.zip(0_u64..) {
            let now = wait_until(packet.at);
            let header = self.stream.header(&packet, number, now);
            octets[..Header::LEN].copy_from_slice(&header.to_bytes());
            self.give(&octets[..packet.len_b])?;
            if packet.index == 0 {
                frames.push(SentFrame {
                    captured: packet.captured - self.start,
                    packets: packet.of,
                    octets: 0,
                    late: Nanos::ZERO,
                    rtt: None,
                });
            }
            if let Some(frame) = frames.last_mut() {
                frame.octets += packet.picture_b() as u64;
                frame.late = frame.late.max(now.saturating_sub(packet.at));
            }
        }
        Ok(frames)
    }

    /// Passes a datagram to the network stack. A datagram is lost if the stack has no buffer space.
    fn give(&self, octets: &[u8]) -> Result<(), VideoError> {
        loop {
            // A sender that waits for its own stack would fall behind the encoder.
            let sent = socket::send(self.socket.as_raw_fd(), octets, MsgFlags::MSG_DONTWAIT);
            match sent {
                _ if self.refused.load(Ordering::Relaxed) => return Err(VideoError::Nobody(self.receiver)),
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(Errno::ECONNREFUSED) => return Err(VideoError::Nobody(self.receiver)),
                Err(Errno::ENOBUFS | Errno::EAGAIN) => return Ok(()),
                Err(errno) => {
                    return Err(while_doing(format!("sending to {}", self.receiver))(errno.into()).into());
                }
            }
        }
    }

    /// Ends the stream. Returns whether the receiver acknowledged the end. A receiver that has exited is not an error.
    fn say_goodbye(&self, farewells: &mpsc::Receiver<()>) -> Result<bool, VideoError> {
        let bye = Bye {
            ssrc: self.stream.ssrc,
        };
        for _ in 0..BYES {
            match self.give(&bye.to_bytes()) {
                Err(VideoError::Nobody(_)) => break,
                given => given?,
            }
            if farewells.recv_timeout(BYE_DISTANCE).is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Receives answers until the stream is over. Returns the round-trip time of the first answer to each frame. Anyone
    /// can answer in the name of the receiver, so answers to later frames do not count.
    fn answers(&self, over: &AtomicBool, farewell: &mpsc::SyncSender<()>) -> BTreeMap<u32, Nanos> {
        let mut octets = [0; Header::LEN + 1];
        let mut round_trips = BTreeMap::new();
        while !over.load(Ordering::Relaxed) {
            let len = match self.socket.recv(&mut octets) {
                Ok(len) => len,
                Err(error) if is_timeout(&error) || error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    self.refused.store(true, Ordering::Relaxed);
                    break;
                }
                // The sending thread gets the same error and reports it.
                Err(_) => break,
            };
            let now = Nanos(monotonic_ns());
            match Datagram::parse(&octets[..len]) {
                Some(Datagram::Picture(header, 0)) if header.ssrc == self.stream.ssrc => {
                    let after_ns = u64::from(header.frame) * 1_000_000_000 / u64::from(self.config.fps);
                    if self.start + Nanos(after_ns) <= now {
                        let rtt = now.saturating_sub(header.sent);
                        round_trips.entry(header.frame).or_insert(rtt);
                    }
                }
                Some(Datagram::Bye(bye)) if bye.ssrc == self.stream.ssrc => {
                    // Fails harmlessly for a second answer.
                    let _ = farewell.try_send(());
                }
                _ => {}
            }
        }
        round_trips
    }
}

/// Sleeps until `moment` of `CLOCK_MONOTONIC`. Returns the time after waking.
fn wait_until(moment: Nanos) -> Nanos {
    loop {
        let now = Nanos(monotonic_ns());
        if now >= moment {
            return now;
        }
        thread::sleep(Duration::from_nanos(moment.0 - now.0));
    }
}
