//! Ping-pong: the round-trip time of one message at a time, over UDP or TCP, IPv4 or IPv6.
//!
//! The method is that of sockperf's `ping-pong`: a client sends a message, waits for the server to send it back, then
//! sends the next message. The clock is read directly before the send and directly after the receive, so a round trip
//! includes the network stacks of both hosts and two wake-ups. There are two differences from sockperf 3.7: IPv6
//! works, and a lost datagram is counted instead of being waited for indefinitely.
//!
//! [`Server`] and [`ping`] are the two ends; [`run`] is the command.

use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::json;

use crate::program::{self, ProgramError, is_passing, is_timeout, milliseconds, parse, while_doing};

/// Minimum message length in octets: the sequence number at the start of a UDP message.
pub const MESSAGE_MIN_B: usize = size_of::<u64>();

/// Maximum message length in octets: the longest UDP payload over IPv4 (RFC 768, RFC 791: 65535 - 8 - 20 octets).
pub const MESSAGE_MAX_B: usize = 65_507;

/// Timeout for TCP. TCP retransmits lost segments, so a round trip may take long; later the peer counts as gone.
const TCP_PATIENCE: Duration = Duration::from_secs(10);

/// The first port that is not reserved for services (RFC 6335, 6).
const SERVICES_UNTIL: u16 = 1024;

/// The transport of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A connection with `TCP_NODELAY`.
    Tcp,
    /// One datagram per message.
    Udp,
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

/// The round trip of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping {
    /// Time of sending, relative to the start of the measurement.
    pub start: Duration,
    /// Round-trip time; `None` if no reply arrived within the reply timeout (UDP only).
    pub rtt: Option<Duration>,
}

/// Reason why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum PingPongError {
    /// The command line is invalid, or a system call failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The message is too short for the sequence number or too long for a datagram.
    #[error("a message of {0} octets is out of range ({MESSAGE_MIN_B} to {MESSAGE_MAX_B})")]
    MessageLength(usize),
}

impl From<PingPongError> for ProgramError {
    fn from(error: PingPongError) -> ProgramError {
        match error {
            PingPongError::Program(error) => error,
            own @ PingPongError::MessageLength(_) => ProgramError::Own(Box::new(own)),
        }
    }
}

const USAGE: &str = "serve tcp|udp ADDRESS:PORT IDLE_MS, or ping tcp|udp ADDRESS:PORT OCTETS WINDOW_MS REPLY_TIMEOUT_MS PAUSE_MS";

/// The end that returns every message.
pub struct Server(Socket);

enum Socket {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

impl Server {
    /// Binds to `address`. Clients may send from now on.
    ///
    /// # Errors
    /// The address does not belong to this host, or the port is in use.
    pub fn bind(address: SocketAddr, transport: Transport) -> Result<Self, PingPongError> {
        match transport {
            Transport::Tcp => TcpListener::bind(address).map(Socket::Tcp),
            Transport::Udp => UdpSocket::bind(address).map(Socket::Udp),
        }
        .map(Self)
        .map_err(|error| ProgramError::listening(address, error).into())
    }

    /// The bound address, with the port that the system chose if port 0 was requested.
    ///
    /// # Errors
    /// The system call fails.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.0 {
            Socket::Tcp(listener) => listener.local_addr(),
            Socket::Udp(socket) => socket.local_addr(),
        }
    }

    /// Returns messages until none has arrived for `idle`, so that an abandoned server exits. With TCP, serves one
    /// client and also returns when the client disconnects.
    ///
    /// # Errors
    /// A system call fails.
    pub fn serve(&self, idle: Duration) -> io::Result<()> {
        match &self.0 {
            Socket::Udp(socket) => serve_udp(socket, idle),
            Socket::Tcp(listener) => {
                let timeout = PollTimeout::try_from(idle).unwrap_or(PollTimeout::MAX);
                if poll(&mut [PollFd::new(listener.as_fd(), PollFlags::POLLIN)], timeout)? == 0 {
                    return Ok(());
                }
                serve_tcp(listener.accept()?.0, idle)
            }
        }
    }
}

fn serve_udp(socket: &UdpSocket, idle: Duration) -> io::Result<()> {
    socket.set_read_timeout(Some(idle))?;
    let own = socket.local_addr()?.port();
    let mut message = vec![0; MESSAGE_MAX_B + 1];
    loop {
        match socket.recv_from(&mut message) {
            // A source is easily forged, and two servers would send a message to one another for ever. Clients have
            // ports above those of services.
            Ok((_, client)) if client.port() < SERVICES_UNTIL || client.port() == own => {}
            Ok((len, client)) => match socket.send_to(&message[..len], client) {
                // A client that has closed its port answers with ICMP, which must not affect the next client.
                Err(error) if error.kind() != ErrorKind::ConnectionRefused => return Err(error),
                _ => {}
            },
            Err(error) if is_timeout(&error) => return Ok(()),
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

fn serve_tcp(mut stream: TcpStream, idle: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(idle))?;
    let mut octets = vec![0; MESSAGE_MAX_B];
    loop {
        match stream.read(&mut octets) {
            Ok(0) => return Ok(()),
            Ok(len) => stream.write_all(&octets[..len])?,
            Err(error) if is_timeout(&error) => return Ok(()),
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Sends messages of `message_len_b` octets to `server`, one at a time, for the duration `window`, and waits for the
/// last reply. A `pause` separates a reply from the next message. A datagram without a reply within `reply_timeout`
/// counts as lost, even if the reply arrives later.
///
/// # Errors
/// The message length is out of range, or `server` does not answer (UDP: no socket is bound to the port).
pub fn ping(
    server: SocketAddr,
    transport: Transport,
    message_len_b: usize,
    window: Duration,
    reply_timeout: Duration,
    pause: Duration,
) -> Result<Vec<Ping>, PingPongError> {
    if !(MESSAGE_MIN_B..=MESSAGE_MAX_B).contains(&message_len_b) {
        return Err(PingPongError::MessageLength(message_len_b));
    }
    let mut message = vec![0; message_len_b];
    let mut reply = vec![0; MESSAGE_MAX_B + 1];
    match transport {
        Transport::Udp => {
            let any = match server {
                SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            let socket = UdpSocket::bind(SocketAddr::new(any, 0))
                .and_then(|socket| socket.connect(server).map(|()| socket))
                .and_then(|socket| socket.set_read_timeout(Some(reply_timeout)).map(|()| socket))
                .map_err(while_doing(format!("sending to {server}")))?;
            repeat(window, pause, |sequence, clock| {
                message[..MESSAGE_MIN_B].copy_from_slice(&sequence.to_be_bytes());
                exchange_datagram(&socket, &message, &mut reply, reply_timeout, clock)
            })
        }
        Transport::Tcp => {
            let mut stream = TcpStream::connect_timeout(&server, TCP_PATIENCE)
                .and_then(|stream| stream.set_nodelay(true).map(|()| stream))
                .and_then(|stream| stream.set_read_timeout(Some(TCP_PATIENCE)).map(|()| stream))
                .map_err(while_doing(format!("connecting to {server}")))?;
            repeat(window, pause, |_, clock| {
                stream.write_all(&message)?;
                stream.read_exact(&mut reply[..message_len_b])?;
                Ok(Some(clock.elapsed()))
            })
        }
    }
    .map_err(|error| while_doing(format!("waiting for {server}"))(error).into())
}

/// Calls `exchange` with a sequence number and the start time of the call, and pauses, until `window` is over.
fn repeat(
    window: Duration,
    pause: Duration,
    mut exchange: impl FnMut(u64, Instant) -> io::Result<Option<Duration>>,
) -> io::Result<Vec<Ping>> {
    let origin = Instant::now();
    let mut pings = Vec::new();
    for sequence in 0.. {
        let now = Instant::now();
        let start = now - origin;
        if start >= window {
            break;
        }
        pings.push(Ping {
            start,
            rtt: exchange(sequence, now)?,
        });
        if !pause.is_zero() {
            thread::sleep(pause);
        }
    }
    Ok(pings)
}

/// Sends one datagram and waits for a reply with identical octets. Late replies to earlier datagrams are skipped.
/// Such a reply can extend the wait to at most twice the timeout; avoiding this would cost a system call per reply.
/// The same holds for a receive that times out early: the kernel counts the timeout in ticks, and a virtual machine
/// can lose ticks and make up for them during the wait.
fn exchange_datagram(
    socket: &UdpSocket,
    message: &[u8],
    reply: &mut [u8],
    timeout: Duration,
    clock: Instant,
) -> io::Result<Option<Duration>> {
    socket.send(message)?;
    loop {
        let received = socket.recv(reply);
        let elapsed = clock.elapsed();
        match received {
            Ok(len) if &reply[..len] == message => return Ok((elapsed < timeout).then_some(elapsed)),
            Err(error) if !is_timeout(&error) && error.kind() != ErrorKind::Interrupted => return Err(error),
            _ if elapsed >= timeout => return Ok(None),
            _ => {}
        }
    }
}

/// The command: `serve tcp|udp ADDRESS:PORT IDLE_MS`, or
/// `ping tcp|udp ADDRESS:PORT OCTETS WINDOW_MS REPLY_TIMEOUT_MS PAUSE_MS`. Returns the exit status: 0, 1 for a failure, 2 for
/// an invalid command line. The reason is printed to stderr on one line.
///
/// `ping` prints JSON lines. The first is an object with the arguments. Then follows `[start_ns, rtt_ns]` per
/// message, with null as the round-trip time of a lost message. The last line, an object with the number of messages
/// sent and lost, shows that the output is complete.
pub fn run(args: impl IntoIterator<Item = String>) -> i32 {
    program::run("pingpong", USAGE, args, command)
}

fn command(args: &[String]) -> Result<(), ProgramError> {
    let [action, transport, address, numbers @ ..] = args else {
        return Err(ProgramError::usage("too few arguments"));
    };
    let transport = match transport.as_str() {
        "tcp" => Transport::Tcp,
        "udp" => Transport::Udp,
        other => return Err(ProgramError::usage(format!("'{other}' is not tcp or udp"))),
    };
    let address: SocketAddr = parse(address, "an address with a port")?;
    match (action.as_str(), numbers) {
        ("serve", [idle_ms]) => Server::bind(address, transport)?
            .serve(milliseconds(idle_ms)?)
            .map_err(while_doing(format!("serving on {address}"))),
        ("ping", [message_len_b, window_ms, reply_timeout_ms, pause_ms]) => {
            let message_len_b = parse(message_len_b, "a number of octets")?;
            let (window, timeout) = (milliseconds(window_ms)?, milliseconds(reply_timeout_ms)?);
            let pause = Duration::from_millis(parse(pause_ms, "a number of milliseconds")?);
            let pings = ping(address, transport, message_len_b, window, timeout, pause)?;
            let asked = json!({
                "pingpong": env!("CARGO_PKG_VERSION"),
                "transport": transport.name(),
                "server": address.to_string(),
                "message_len_b": message_len_b,
                "window_ns": nanoseconds(window),
                "reply_timeout_ns": nanoseconds(timeout),
                "pause_ns": nanoseconds(pause),
            });
            write(&asked, &pings, io::stdout().lock()).map_err(while_doing("writing"))
        }
        _ => Err(ProgramError::usage(format!(
            "'{action}' with {} arguments",
            args.len() - 1
        ))),
    }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

fn write(asked: &serde_json::Value, pings: &[Ping], output: impl Write) -> io::Result<()> {
    let mut output = BufWriter::new(output);
    writeln!(output, "{asked}")?;
    for ping in pings {
        writeln!(
            output,
            "{}",
            json!([nanoseconds(ping.start), ping.rtt.map(nanoseconds)])
        )?;
    }
    let lost = pings.iter().filter(|ping| ping.rtt.is_none()).count();
    writeln!(output, "{}", json!({"sent": pings.len(), "lost": lost}))?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACKS: [&str; 2] = ["127.0.0.1:0", "[::1]:0"];
    const WINDOW: Duration = Duration::from_millis(20);
    const TIMEOUT: Duration = Duration::from_millis(500);

    /// Pings a server in this process for `WINDOW`. The server must exit by itself afterwards.
    fn measure(address: &str, transport: Transport, message_len_b: usize) -> Vec<Ping> {
        let server = Server::bind(address.parse().unwrap(), transport).unwrap();
        let address = server.local_addr().unwrap();
        thread::scope(|scope| {
            let serving = scope.spawn(|| server.serve(TIMEOUT));
            let pings = ping(address, transport, message_len_b, WINDOW, TIMEOUT, Duration::ZERO).unwrap();
            serving.join().unwrap().unwrap();
            pings
        })
    }

    #[test]
    fn every_message_is_echoed_before_the_next_is_sent() {
        for address in LOOPBACKS {
            for transport in [Transport::Udp, Transport::Tcp] {
                for message_len_b in [MESSAGE_MIN_B, 1408, MESSAGE_MAX_B] {
                    let pings = measure(address, transport, message_len_b);
                    assert!(!pings.is_empty());
                    for pair in pings.windows(2) {
                        let rtt = pair[0].rtt.expect("loopback loses nothing");
                        assert!(!rtt.is_zero() && pair[0].start + rtt <= pair[1].start);
                    }
                    assert!(pings.iter().all(|ping| ping.start < WINDOW));
                }
            }
        }
    }

    #[test]
    fn no_message_returns_to_another_server() {
        let server = Server::bind("127.0.0.1:0".parse().unwrap(), Transport::Udp).unwrap();
        let address = server.local_addr().unwrap();
        thread::scope(|scope| {
            let serving = scope.spawn(|| server.serve(TIMEOUT));
            // Another server of ping-pong, on another host.
            let other = UdpSocket::bind(("127.0.0.2", address.port())).unwrap();
            let client = UdpSocket::bind("127.0.0.2:0").unwrap();
            client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            other.set_nonblocking(true).unwrap();
            other.send_to(&[1; 8], address).unwrap();
            client.send_to(&[2; 8], address).unwrap();
            let mut message = [0; 100];
            assert_eq!(client.recv(&mut message).unwrap(), 8);
            assert_eq!(message[..8], [2; 8]);
            // The server has processed the earlier message, too.
            assert_eq!(
                other.recv(&mut message).unwrap_err().kind(),
                ErrorKind::WouldBlock
            );
            serving.join().unwrap().unwrap();
        });
    }

    /// Pings a server that calls `act` with the datagram's index from 0, the socket, the datagram and its sender.
    fn with_udp_server(
        timeout: Duration,
        act: impl Fn(u64, &UdpSocket, &[u8], SocketAddr) + Send,
    ) -> Vec<Ping> {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                socket.set_read_timeout(Some(TIMEOUT)).unwrap();
                let mut message = [0; 2048];
                let mut number = 0;
                while let Ok((len, client)) = socket.recv_from(&mut message) {
                    act(number, &socket, &message[..len], client);
                    number += 1;
                }
            });
            ping(
                address,
                Transport::Udp,
                64,
                Duration::from_millis(100),
                timeout,
                Duration::ZERO,
            )
            .unwrap()
        })
    }

    #[test]
    fn a_lost_datagram_is_counted_and_the_next_is_sent() {
        let pings = with_udp_server(Duration::from_millis(20), |number, socket, message, client| {
            if number != 3 {
                socket.send_to(message, client).unwrap();
            }
        });
        assert_eq!(pings[3].rtt, None);
        assert!(pings[4].start - pings[3].start >= Duration::from_millis(20));
        assert!(pings.len() > 4);
    }

    #[test]
    fn a_late_reply_is_not_matched_to_the_next_message() {
        let held = std::sync::Mutex::new(Vec::new());
        let pings = with_udp_server(Duration::from_millis(20), |number, socket, message, client| {
            let mut held = held.lock().unwrap();
            if number == 0 {
                held.extend_from_slice(message);
            } else if number == 1 {
                // Only the late reply to the first message; the second message has no reply.
                socket.send_to(&held, client).unwrap();
            } else {
                socket.send_to(message, client).unwrap();
            }
        });
        assert_eq!((pings[0].rtt, pings[1].rtt), (None, None));
        assert!(pings[1].start + Duration::from_millis(20) <= pings[2].start);
    }

    #[test]
    fn a_server_without_a_client_times_out() {
        for transport in [Transport::Udp, Transport::Tcp] {
            let server = Server::bind("127.0.0.1:0".parse().unwrap(), transport).unwrap();
            server.serve(Duration::from_millis(1)).unwrap();
        }
    }

    #[test]
    fn failures_are_reported_in_one_line() {
        for transport in [Transport::Udp, Transport::Tcp] {
            let server = Server::bind("127.0.0.1:0".parse().unwrap(), transport).unwrap();
            let address = server.local_addr().unwrap();
            let error = Server::bind(address, transport).err().unwrap().to_string();
            assert_eq!(error, format!("port {} is in use", address.port()));
            drop(server);
            let error = ping(address, transport, 64, WINDOW, TIMEOUT, Duration::ZERO)
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("Connection refused") && !error.contains('\n'),
                "{error}"
            );
            for message_len_b in [MESSAGE_MIN_B - 1, MESSAGE_MAX_B + 1] {
                let error =
                    ping(address, transport, message_len_b, WINDOW, TIMEOUT, Duration::ZERO).unwrap_err();
                assert!(matches!(error, PingPongError::MessageLength(len) if len == message_len_b));
            }
        }
    }

    #[test]
    fn the_output_has_the_settings_the_replies_and_an_end_mark() {
        let ping = |start, rtt: Option<u64>| Ping {
            start: Duration::from_nanos(start),
            rtt: rtt.map(Duration::from_nanos),
        };
        let mut output = Vec::new();
        write(
            &json!({"transport": "udp"}),
            &[ping(5, Some(700)), ping(900, None)],
            &mut output,
        )
        .unwrap();
        let expected = "{\"transport\":\"udp\"}\n[5,700]\n[900,null]\n{\"lost\":1,\"sent\":2}\n";
        assert_eq!(String::from_utf8(output).unwrap(), expected);
    }

    #[test]
    fn usage_errors_exit_with_2_and_failures_with_1() {
        let run = |line: &str| run(line.split_whitespace().map(String::from));
        for line in [
            "",
            "serve",
            "serve sctp 127.0.0.1:1 9",
            "ping udp localhost 64 9 9 0",
            "ping udp 127.0.0.1:1 64 0 9 0",
            "pong tcp 127.0.0.1:1 9",
        ] {
            assert_eq!(run(line), 2, "{line}");
        }
        assert_eq!(run("ping tcp 127.0.0.1:1 3 9 9 0"), 1);
    }
}
